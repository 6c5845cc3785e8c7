/* The model's own members come first, then those of each tree, which view/tree_json.h writes. */
#include "base/mem.h"
#include "view/tree_json.h"
#include "view/view.h"

static void put_features(const cop_encoder *preparation, cop_json_writer *json)
{
	cop_json_put_array(json, "features");
	for (size_t j = 0; j < cop_encoder_features(preparation); j++) {
		double shift, scale;
		cop_encoder_scale(preparation, j, &shift, &scale);
		cop_json_begin_object(json);
		cop_json_put_text(json, "name", cop_encoder_feature(preparation, j));
		cop_json_put_number(json, "shift", shift);
		cop_json_put_number(json, "scale", scale);
		cop_json_end_object(json);
	}
	cop_json_end_array(json);
}

static void put_classes(const cop_encoder *preparation, cop_json_writer *json)
{
	if (cop_encoder_classes(preparation) == 0)
		return;
	cop_json_put_array(json, "classes");
	for (size_t k = 0; k < cop_encoder_classes(preparation); k++)
		cop_json_text(json, cop_encoder_class(preparation, k));
	cop_json_end_array(json);
}

static cop_err put_importance(const cop_trained *model, cop_json_writer *json)
{
	size_t d = cop_trees_features(model->trees);
	if (model->census == NULL)
		return COP_OK;
	double *share = cop_mem_alloc(d, sizeof *share);
	cop_err err = share == NULL ? COP_ENOMEM : cop_trained_importance(model, NULL, share);
	if (err == COP_OK) {
		cop_json_put_array(json, "importance");
		for (size_t j = 0; j < d; j++)
			cop_json_number(json, share[j]);
		cop_json_end_array(json);
	}
	cop_mem_free(share);
	return err;
}

static void put_sum(const cop_trained *model, cop_json_writer *json)
{
	static const char *const rules[COP_TREES_RULES] = { "mean", "vote", "sum", "latent", "softmax" };
	bool values = cop_encoder_classes(model->preparation) == 0;
	cop_json_put_text(json, "rule", rules[cop_trees_how(model->trees)]);
	if (!cop_trees_adds(model->trees))
		return;
	cop_json_put_array(json, "base");
	for (size_t k = 0; k < cop_trees_outputs(model->trees); k++) {
		double base = cop_trees_base(model->trees)[k];
		cop_json_number(json, values ? cop_encoder_from_scale(model->preparation, base) : base);
	}
	cop_json_end_array(json);
}

static cop_err put_trees(const cop_trained *model, const cop_view_scope *scope, cop_json_writer *json)
{
	cop_err err = COP_OK;
	cop_json_put_array(json, "trees");
	for (size_t i = scope->from; i < scope->to && err == COP_OK; i++) {
		cop_tree_phrases words = cop_tree_phrases_of(model, i, scope->top);
		cop_json_begin_object(json);
		cop_json_put_unsigned(json, "tree", i);
		cop_json_put_number(json, "weight", cop_trees_weight(model->trees, i));
		err = cop_tree_json_members(&words, false, json);
		if (err == COP_OK)
			cop_json_end_object(json);
	}
	if (err == COP_OK)
		cop_json_end_array(json);
	return err;
}

static cop_err put_model(const cop_trained *model, const cop_view_scope *scope, cop_json_writer *json)
{
	const cop_encoder *preparation = model->preparation;
	cop_json_begin_object(json);
	cop_json_put_text(json, "model", scope->title);
	cop_json_put_text(json, "learner", model->learner);
	cop_json_put_text(json, "settings", model->settings);
	cop_json_put_text(json, "task", cop_encoder_classes(preparation) > 0 ? "classification" : "regression");
	cop_json_put_text(json, "target", cop_encoder_target(preparation));
	put_classes(preparation, json);
	put_features(preparation, json);
	cop_json_put_unsigned(json, "parameters", cop_trees_parameters(model->trees));
	put_sum(model, json);
	cop_err err = put_importance(model, json);
	if (err == COP_OK)
		err = put_trees(model, scope, json);
	if (err == COP_OK)
		cop_json_end_object(json);
	return err;
}

cop_err cop_view_json(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out)
{
	cop_view_scope scope;
	cop_json_writer *json;
	const char *text;
	size_t length;
	cop_err err = cop_view_begin(model, settings, &scope);
	if (err == COP_OK)
		err = cop_json_writer_new(COP_JSON_COMPACT, &json);
	if (err != COP_OK)
		return err;
	err = put_model(model, &scope, json);
	if (err == COP_OK)
		err = cop_json_writer_finish(json, &text, &length);
	if (err == COP_OK) {
		cop_bytes_put(out, text, length);
		cop_bytes_put(out, "\n", 1);
		err = out->err;
	}
	cop_json_writer_free(json);
	return err;
}
