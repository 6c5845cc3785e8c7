/* The document is built in memory and then written as a whole, so that an error leaves an older file as it was. */
#include "inspect_trained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/stream.h"
#include "tools/common/command.h"
#include "view/tree_phrases.h"

typedef struct share {
	size_t feature;
	double share;
} share;

static int by_share(const void *a, const void *b)
{
	const share *x = a;
	const share *y = b;
	int order = (x->share < y->share) - (x->share > y->share);
	return order != 0 ? order : (x->feature > y->feature) - (x->feature < y->feature);
}

void cop_inspect_trained_view_names(char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; cop_view_at(i) != NULL && used < size; i++) {
		int length = snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", cop_view_at(i)->name);
		used += length > 0 ? (size_t)length : 0;
	}
}

cop_err cop_inspect_trained_write(const char *path, const cop_bytes *bytes, cop_diag *diag)
{
	cop_stream *stream;
	cop_err err = cop_stream_open_replace(path, &stream, diag);
	if (err != COP_OK)
		return err;
	cop_err wrote = cop_stream_write(stream, bytes->data, bytes->length);
	err = cop_stream_close(stream, diag);
	return err != COP_OK ? err : wrote;
}

static cop_err importance_json(const cop_trained *model, const share *shares, size_t d, cop_bytes *out)
{
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	cop_json_put_array(json, "importance");
	for (size_t i = 0; i < d; i++) {
		cop_json_begin_object(json);
		cop_json_put_text(json, "feature", cop_encoder_feature(model->preparation, shares[i].feature));
		cop_json_put_number(json, "share", shares[i].share);
		cop_json_end_object(json);
	}
	cop_json_end_array(json);
	return cop_command_json_line(json, out);
}

static void importance_text(const cop_trained *model, const share *shares, size_t d, cop_bytes *out)
{
	for (size_t i = 0; i < d && shares[i].share > 0.0; i++) {
		char number[32];
		int length = snprintf(number, sizeof number, "%8.4f  ", shares[i].share);
		cop_bytes_put(out, number, (size_t)length);
		cop_tree_phrases_clean(cop_encoder_feature(model->preparation, shares[i].feature), out);
		cop_bytes_put(out, "\n", 1);
	}
}

static cop_err put_importance(const cop_inspect_trained *in, const cop_trained *model, cop_bytes *out)
{
	size_t d = cop_trees_features(model->trees);
	double *value = cop_mem_alloc(d, sizeof *value);
	share *shares = cop_mem_alloc(d, sizeof *shares);
	cop_err err = value != NULL && shares != NULL ? cop_trained_importance(model, NULL, value) : COP_ENOMEM;
	for (size_t j = 0; j < d && err == COP_OK; j++)
		shares[j] = (share){ j, value[j] };
	if (err == COP_OK) {
		qsort(shares, d, sizeof *shares, by_share);
		if (in->json)
			err = importance_json(model, shares, d, out);
		else
			importance_text(model, shares, d, out);
	}
	cop_mem_free(value);
	cop_mem_free(shares);
	return err;
}

/* Replaces the source in out by an object that holds it. */
static cop_err wrap_source(const cop_inspect_trained *in, cop_bytes *out)
{
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	cop_json_put_text(json, "function", in->settings.function != NULL ? in->settings.function : "predict");
	cop_json_put_text_length(json, "source", (const char *)out->data, out->length);
	cop_bytes_clear(out);
	return cop_command_json_line(json, out);
}

cop_err cop_inspect_trained_show(const cop_inspect_trained *in, const cop_bytes *bytes, cop_diag *diag)
{
	cop_trained *model;
	cop_bytes out;
	cop_err err = cop_trained_open(bytes->data, bytes->length, in->path, &model, diag);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&out);
	err = in->importance ? put_importance(in, model, &out) : in->view->put(model, &in->settings, &out);
	if (err == COP_OK && out.err != COP_OK)
		err = out.err;
	if (err == COP_OK && in->source_json)
		err = wrap_source(in, &out);
	if (err == COP_ENOTFOUND)
		cop_diag_of(
		        diag, in->path, "no tree %zu, it has %zu", in->settings.tree, cop_trees_count(model->trees));
	else if (err == COP_ESHAPE)
		cop_diag_of(diag, in->path,
		        "a latent tree predicts by how far a row reaches its nodes, which this view cannot show; "
		        "expected a "
		        "hard tree, as train --learner tao --start-model %s makes",
		        in->path);
	else if (err == COP_EINVAL && in->settings.function != NULL)
		cop_diag_of(diag, in->path, "'%s' cannot name a function of C", in->settings.function);
	else if (err != COP_OK)
		cop_diag_of(diag, in->path, "%s", cop_err_text(err));
	else
		err = cop_inspect_trained_write(in->out, &out, diag);
	cop_bytes_fini(&out);
	cop_trained_free(model);
	return err;
}
