/* The shape is that of the newest model set that held the model. Sets must agree, since rows of two shapes cannot be
 * read together. The workspace only grows: what still waits may have more nonzeros or candidates than are allowed now.
 */
#include "history/recorded_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/wire_keys.h"

#define NAMES_SHOWN  300               /* characters of a list of names */
#define MOST_ENTRIES ((size_t)1 << 27) /* of all candidates of a decision */
#define PARTS        COP_RECORDED_MODEL_PARTS

/* ---- names ---- */

typedef struct name_list {
	char (*items)[COP_WIRE_MODEL_NAME + 1];
	size_t count, room;
} name_list;

static bool listed(const name_list *list, const char *name, size_t length)
{
	for (size_t i = 0; i < list->count; i++)
		if (strlen(list->items[i]) == length && memcmp(list->items[i], name, length) == 0)
			return true;
	return false;
}

static cop_err add_name(name_list *list, const char *name, size_t length)
{
	if (listed(list, name, length))
		return COP_OK;
	if (list->count == list->room) {
		size_t room = list->room == 0 ? 8 : 2 * list->room;
		void *items = cop_mem_resize(list->items, list->room, room, sizeof *list->items);
		if (items == NULL)
			return COP_ENOMEM;
		list->items = items;
		list->room = room;
	}
	(void)snprintf(list->items[list->count++], sizeof *list->items, "%.*s", (int)length, name);
	return COP_OK;
}

static void names_text(const name_list *list, char out[NAMES_SHOWN])
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < list->count && used < NAMES_SHOWN; i++) {
		char clean[3 * COP_WIRE_MODEL_NAME + 1];
		cop_wire_text_clean(clean, sizeof clean, list->items[i], strlen(list->items[i]));
		int more = snprintf(out + used, NAMES_SHOWN - used, "%s%s", i == 0 ? "" : ", ", clean);
		used += more < 0 ? 0 : (size_t)more;
	}
}

/* All names that headers hold; *short_of: some have no room for all, or cannot be read. */
static cop_err collect_names(const cop_record_source *source, name_list *list, bool *short_of)
{
	cop_bytes set;
	cop_err err = COP_OK;
	cop_bytes_init(&set);
	*short_of = false;
	for (size_t i = 0; i < source->count && err == COP_OK; i++) {
		cop_wire_models models;
		cop_wire_model model;
		cop_bytes_clear(&set);
		err = cop_journal_reader_models(source->folder, &source->files[i], &set);
		if (err == COP_ENOMEM)
			break;
		if (err != COP_OK || cop_wire_models_open(&models, set.data, set.length, NULL) != COP_OK) {
			*short_of = true;
			err = COP_OK;
			continue;
		}
		*short_of = *short_of || models.left_out > 0;
		while (err == COP_OK && cop_wire_models_next(&models, &model, NULL) == COP_OK)
			err = add_name(list, model.name, model.name_length);
	}
	cop_bytes_fini(&set);
	return err;
}

/* And those of configurations within segments: models that came since a segment was begun, or went. */
static cop_err collect_configured(const cop_record_source *source, name_list *list)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_record_source all = { 0 };
	cop_journal_record raw;
	cop_err err = cop_record_source_open(&all, source->folder, 0, true, NULL, NULL);
	while (err == COP_OK && (err = cop_record_source_next(&all, &raw, NULL)) == COP_OK) {
		cop_wire_record r;
		cop_wire_models models;
		cop_wire_model model;
		if (raw.type != COP_WIRE_RECORD_CONFIG ||
		        cop_wire_record_decode(COP_WIRE_RECORD_CONFIG, raw.body, raw.length, &no_shape, &no_workspace,
		                &r, NULL) != COP_OK ||
		        r.models == NULL || cop_wire_models_open(&models, r.models, r.models_length, NULL) != COP_OK)
			continue;
		while (err == COP_OK && cop_wire_models_next(&models, &model, NULL) == COP_OK)
			err = add_name(list, model.name, model.name_length);
	}
	cop_record_source_fini(&all);
	return err == COP_ENOMEM ? err : COP_OK; /* whatever else is wrong is found by who reads it */
}

static cop_err choose(cop_recorded_model *told, const char *name, const name_list *list, bool short_of, cop_diag *diag)
{
	char all[NAMES_SHOWN];
	names_text(list, all);
	if (name[0] != '\0' && !short_of && !listed(list, name, strlen(name))) {
		cop_diag_message(diag, "model \"%.64s\" is not in the journal; expected one of: %s", name, all);
		return COP_ENOTFOUND;
	}
	if (name[0] == '\0' && list->count > 1) {
		cop_diag_message(diag, "the journal is of several models; expected one of them to be named: %s", all);
		return COP_EINVAL;
	}
	const char *chosen = name[0] == '\0' && list->count == 1 ? list->items[0] : name;
	told->named = chosen[0] != '\0';
	(void)snprintf(told->model.name, sizeof told->model.name, "%s", chosen);
	return COP_OK;
}

void cop_recorded_model_fini(cop_recorded_model *told)
{
	cop_wire_workspace *w = &told->workspace;
	void *const parts[] = { w->dense, w->index, w->value, w->mask, w->candidate, w->candidate_value,
		w->candidate_index };
	for (size_t i = 0; i < PARTS; i++)
		cop_mem_free(parts[i]);
}

/* ---- shapes ---- */

/* Room for at least that many elements; what was there is not kept. */
static cop_err make_room(void **array, size_t *room, size_t wanted, size_t size)
{
	if (*array != NULL && *room >= wanted)
		return COP_OK;
	void *fresh = cop_mem_alloc(wanted, size);
	if (fresh == NULL)
		return COP_ENOMEM;
	cop_mem_free(*array);
	*array = fresh;
	*room = wanted;
	return COP_OK;
}

/* What waits may have been allowed more than is allowed now. */
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static cop_err make_workspace(cop_recorded_model *told, const cop_wire_shape *shape)
{
	cop_wire_workspace *w = &told->workspace;
	size_t wide = shape->features != 0 ? shape->candidate_features : shape->max_nonzeros;
	size_t entries;
	if (__builtin_mul_overflow(shape->max_candidates, wide, &entries) || entries > MOST_ENTRIES)
		return COP_EFULL;
	struct {
		void *array;
		size_t wanted, size;
	} parts[] = {
		{ w->dense, shape->features, sizeof *w->dense },
		{ w->index, shape->max_nonzeros, sizeof *w->index },
		{ w->value, shape->max_nonzeros, sizeof *w->value },
		{ w->mask, larger(shape->arms, shape->max_candidates), sizeof *w->mask },
		{ w->candidate, shape->max_candidates, sizeof *w->candidate },
		{ w->candidate_value, entries, sizeof *w->candidate_value },
		{ w->candidate_index, shape->features != 0 ? 0 : entries, sizeof *w->candidate_index },
	};
	cop_err err = COP_OK;
	for (size_t i = 0; i < PARTS && err == COP_OK; i++)
		err = make_room(&parts[i].array, &told->room[i], parts[i].wanted, parts[i].size);
	*w = (cop_wire_workspace){
		.dense = parts[0].array,
		.index = parts[1].array,
		.value = parts[2].array,
		.mask = parts[3].array,
		.candidate = parts[4].array,
		.candidate_value = parts[5].array,
		.candidate_index = parts[6].array,
	};
	return err;
}

cop_err cop_recorded_model_shape(cop_recorded_model *told, const cop_wire_shape *wanted, cop_diag *diag)
{
	cop_wire_shape shape = *wanted;
	shape.max_nonzeros = larger(shape.max_nonzeros, told->shape.max_nonzeros);
	shape.max_candidates = larger(shape.max_candidates, told->shape.max_candidates);
	shape.least_features = shape.features != 0 ? 1 : 0; /* some may have come later */
	cop_err err = make_workspace(told, &shape);
	if (err == COP_EFULL)
		cop_diag_message(diag, "model \"%s\": %zu candidates of that many features are too much to read",
		        told->model.name, shape.max_candidates);
	else if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	if (err == COP_OK)
		told->shape = shape;
	return err;
}

/* What the shape says of contexts is known. */
static void publish(cop_recorded_model *told)
{
	const cop_wire_shape *shape = &told->shape;
	cop_journal_history_model *m = &told->model;
	m->features = shape->features;
	m->bits = shape->features == 0 ? shape->bits : 0;
	m->max_nonzeros = shape->features == 0 ? shape->max_nonzeros : 0;
	m->max_candidates = shape->max_candidates;
	m->candidate_features = shape->candidate_features;
}

cop_err cop_recorded_model_choose(
        cop_recorded_model *told, const char *name, const cop_record_source *source, cop_diag *diag)
{
	name_list list = { 0 };
	bool short_of = false;
	told->model.loss_range[1] = told->model.cost_range[1] = 1.0;
	const cop_wire_shape smallest = { .features = 1, .arms = 1, .losses = 1 }; /* until one is known */
	cop_err err = cop_recorded_model_shape(told, &smallest, diag);
	if (err == COP_OK)
		err = collect_names(source, &list, &short_of);
	if (err == COP_OK && name[0] != '\0' && !listed(&list, name, strlen(name)))
		err = collect_configured(source, &list);
	if (err == COP_OK)
		err = choose(told, name, &list, short_of, diag);
	else
		cop_diag_message(diag, "%s", cop_err_text(err));
	cop_mem_free(list.items);
	return err;
}

static cop_err refuse_values(const cop_recorded_model *told, cop_diag *diag)
{
	cop_diag_message(diag,
	        "model \"%s\" chooses values (learner value); expected a model with arms or candidates, whose logged "
	        "actions have "
	        "propensities",
	        told->model.name);
	return COP_EINVAL;
}

static bool fits_values(const cop_journal_history_model *m, const cop_wire_model *model)
{
	return m->losses == model->losses && m->delta == model->delta && m->value_range[0] == model->value_range[0] &&
	       m->value_range[1] == model->value_range[1];
}

static bool fits(const cop_recorded_model *told, const cop_wire_model *model)
{
	const cop_journal_history_model *m = &told->model;
	bool more = m->features != 0 && m->features < model->features; /* some were added */
	bool same_input = more || (m->features == model->features && (m->features != 0 || m->bits == model->bits));
	bool same_arms = m->arms == model->arms || (m->arms > 0 && m->arms < model->arms); /* some were added */
	return same_input && same_arms && (m->max_candidates != 0) == (model->max_candidates != 0) &&
	       m->candidate_features == model->candidate_features && m->loss_range[0] == model->loss_range[0] &&
	       m->loss_range[1] == model->loss_range[1] && (!m->values || fits_values(m, model));
}

static cop_err refuse_shape(const cop_recorded_model *told, const cop_wire_model *model, cop_diag *diag)
{
	const cop_journal_history_model *m = &told->model;
	cop_diag_message(diag,
	        "model \"%s\" changes its shape here, from features %zu, bits %u, arms %zu, candidates %zu, loss_range "
	        "{%g, %g} to features %zu, bits %u, arms %zu, candidates %zu, loss_range {%g, %g}; expected the "
	        "segments before and after it to be read apart",
	        m->name, m->features, m->bits, m->arms, m->max_candidates, m->loss_range[0], m->loss_range[1],
	        model->features, model->bits, model->arms, model->max_candidates, model->loss_range[0],
	        model->loss_range[1]);
	return COP_ESHAPE;
}

/* The ranges of a set's named losses, as far as they are asked for. */
static void widen_cost(cop_recorded_model *told, const cop_wire_model *model)
{
	cop_named_losses set;
	cop_loss_ranges *ranges = &told->cost.ranges;
	cop_wire_models_losses(model, &set);
	for (size_t i = 0; i < set.weights.count; i++) {
		const char *name = set.ranges.name[i];
		double low = set.ranges.low[i], high = set.ranges.high[i];
		if (cop_named_losses_find(&told->cost.weights, name, strlen(name)) == COP_NAMED_LOSSES_MOST ||
		        cop_named_losses_put_range(ranges, name, strlen(name), low, high) == NULL)
			continue;
		for (size_t k = 0; k < ranges->count; k++) {
			if (strcmp(ranges->name[k], name) != 0)
				continue;
			ranges->low[k] = fmin(ranges->low[k], low);
			ranges->high[k] = fmax(ranges->high[k], high);
		}
	}
}

static void set_range(cop_recorded_model *told, const cop_wire_model *model)
{
	cop_journal_history_model *m = &told->model;
	memcpy(m->loss_range, model->loss_range, sizeof m->loss_range);
	memcpy(m->cost_range, m->loss_range, sizeof m->cost_range);
	if (told->cost.weights.count == 0)
		return;
	widen_cost(told, model);
	cop_named_losses_span(&told->cost, &m->cost_range[0], &m->cost_range[1]);
}

static cop_err take(cop_recorded_model *told, const cop_wire_model *model, cop_diag *diag)
{
	cop_wire_shape shape;
	bool values = model->arms == 0 && model->max_candidates == 0;
	if (values && !told->values)
		return refuse_values(told, diag);
	if (told->model.told && !fits(told, model))
		return refuse_shape(told, model, diag);
	cop_wire_models_shape(model, &shape);
	cop_err err = cop_recorded_model_shape(told, &shape, diag);
	if (err != COP_OK)
		return err;
	publish(told);
	cop_journal_history_model *m = &told->model;
	(void)snprintf(m->learner, sizeof m->learner, "%.*s", (int)model->learner_length, model->learner);
	m->arms = model->arms;
	set_range(told, model);
	m->values = values;
	if (values) {
		m->losses = model->losses;
		m->delta = model->delta;
		memcpy(m->value_range, model->value_range, sizeof m->value_range);
	}
	m->told = true;
	return COP_OK;
}

cop_err cop_recorded_model_take(cop_recorded_model *told, const uint8_t *set, size_t length, cop_diag *diag)
{
	cop_wire_models models;
	cop_wire_model model;
	if (!told->named || length == 0 || cop_wire_models_open(&models, set, length, NULL) != COP_OK)
		return COP_OK;
	while (cop_wire_models_next(&models, &model, NULL) == COP_OK)
		if (model.name_length == strlen(told->model.name) &&
		        memcmp(model.name, told->model.name, model.name_length) == 0)
			return take(told, &model, diag);
	return COP_OK;
}

cop_err cop_recorded_model_match(cop_recorded_model *told, const cop_journal_record *record, cop_diag *diag)
{
	const char *name;
	size_t length;
	if (cop_wire_record_model(record->body, record->length, &name, &length) != COP_OK) {
		cop_diag_message(diag, "malformed body");
		return COP_EFORMAT;
	}
	if (name == NULL || length == 0 || length > COP_WIRE_MODEL_NAME)
		return COP_EEND;
	if (!told->named || strlen(told->model.name) != length || memcmp(told->model.name, name, length) != 0)
		return COP_EEND;
	if (told->model.told)
		return COP_OK;
	cop_diag_message(diag, "no header describes model \"%s\": there was no room for it", told->model.name);
	return COP_ESHAPE;
}
