/* A row is checked while it is read, so what leaves here fits the model: dimension, finite values, ascending places. */
#include "door/door_rows.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

static bool is_sparse(const cop_door_rows *rows) { return rows->features == 0; }

static cop_err make_space(cop_door_rows *rows, unsigned bits)
{
	const cop_feature_space_settings hashed = { .bits = bits };
	cop_err err = cop_feature_space_new(&hashed, &rows->space, NULL);
	if (err == COP_OK)
		err = cop_feature_space_keep_names(rows->space, COP_PLACE_NAMES_BYTES);
	return err == COP_OK ? cop_feature_space_reserve(rows->space, rows->max_nonzeros) : err;
}

cop_err cop_door_rows_init(cop_door_rows *rows, const cop_learner_settings *settings)
{
	bool ranks = cop_learner_plays_candidates(settings);
	*rows = (cop_door_rows){
		.features = settings->features,
		.candidate_features = settings->candidate_features,
		.max_nonzeros = settings->max_nonzeros,
		.max_candidates = ranks ? settings->max_candidates : 0,
		.arms = settings->arms,
	};
	size_t choice = ranks ? rows->max_candidates : rows->arms;
	rows->dense = cop_mem_alloc(rows->features, sizeof *rows->dense);
	rows->candidate_dense = cop_mem_alloc(rows->max_candidates, rows->candidate_features * sizeof(float));
	rows->candidate = cop_mem_alloc(rows->max_candidates, sizeof *rows->candidate);
	rows->span = cop_mem_alloc(rows->max_candidates, sizeof *rows->span);
	rows->mask = cop_mem_alloc(choice, 1);
	if (rows->dense == NULL || rows->candidate_dense == NULL || rows->candidate == NULL || rows->span == NULL ||
	        rows->mask == NULL)
		return COP_ENOMEM;
	return is_sparse(rows) ? make_space(rows, settings->bits) : COP_OK;
}

void cop_door_rows_fini(cop_door_rows *rows)
{
	cop_feature_space_free(rows->space);
	cop_feature_room_fini(&rows->shared);
	cop_feature_room_fini(&rows->own);
	cop_mem_free(rows->dense);
	cop_mem_free(rows->candidate_dense);
	cop_mem_free(rows->candidate);
	cop_mem_free(rows->span);
	cop_mem_free(rows->mask);
	*rows = (cop_door_rows){ 0 };
}

void cop_door_rows_take_space(cop_door_rows *rows, cop_feature_space **space)
{
	cop_feature_space_free(rows->space);
	rows->space = *space;
	rows->named = true;
	*space = NULL;
}

/* ---- names ---- */

static cop_err refuse_name(cop_diag *diag, const char *name, const char *what)
{
	cop_diag_message(diag, "\"%.200s\": %s", name, what);
	return COP_ENOTFOUND;
}

cop_err cop_door_rows_name(cop_door_rows *rows, const char *const *name, cop_diag *diag)
{
	const cop_feature_space_settings settings = { .dense = true };
	cop_feature_space *space = NULL;
	if (is_sparse(rows)) {
		cop_diag_message(diag, "the model hashes the names of its features; expected one with features > 0");
		return COP_EINVAL;
	}
	cop_err err = cop_feature_space_new(&settings, &space, NULL);
	if (err == COP_OK)
		err = cop_feature_space_add_columns(space, name, rows->features);
	if (err == COP_OK && cop_feature_space_dimension(space) != rows->features) {
		cop_diag_message(diag, "two features have one name; expected each name once");
		err = COP_EINVAL;
	}
	if (err == COP_OK)
		cop_door_rows_take_space(rows, &space);
	cop_feature_space_free(space);
	return err;
}

/* The column of NAME or NAMESPACE^NAME, either of which may have more '^' in it. SIZE_MAX: there is none. */
static size_t find_column(const cop_feature_space *space, const char *name)
{
	size_t length = strlen(name);
	size_t column = cop_feature_space_find(space, "", 0, name, length);
	for (const char *c = strchr(name, '^'); c != NULL && column == SIZE_MAX; c = strchr(c + 1, '^')) {
		size_t before = (size_t)(c - name);
		column = cop_feature_space_find(space, name, before, c + 1, length - before - 1);
	}
	return column;
}

/* NAME, NAMESPACE^NAME, or NAMESPACE^NAME:TEXT, which is a text's hash, as explanations spell them. */
static void put_name(cop_feature_space *space, const char *name, double value)
{
	const char *caret = strchr(name, '^');
	const char *rest = caret == NULL ? name : caret + 1;
	const char *colon = caret == NULL ? NULL : strchr(rest, ':');
	size_t length = strlen(rest);
	double scale = colon == NULL ? 1.0 : value;
	cop_feature_space_namespace(space, name, caret == NULL ? 0 : (size_t)(caret - name), scale);
	if (colon == NULL)
		cop_feature_space_put(space, rest, length, value);
	else if (value != 0.0)
		cop_feature_space_put_text(space, rest, (size_t)(colon - rest), colon + 1, strlen(colon + 1));
}

/* ---- one row ---- */

static cop_err refuse_place(size_t i, size_t place, size_t d, cop_diag *diag)
{
	cop_diag_message(diag, "entry %zu: place %zu, expected one below %zu", i, place, d);
	return COP_ESHAPE;
}

static cop_err check_values(const coppice_row *in, cop_diag *diag)
{
	for (size_t i = 0; i < in->count; i++)
		if (!isfinite(in->value[i])) {
			cop_diag_message(diag, "entry %zu: expected a finite number", i);
			return COP_ENONFINITE;
		}
	if (in->place == NULL || in->name == NULL)
		return COP_OK;
	cop_diag_message(diag, "the row has places and names; expected one of them");
	return COP_ESHAPE;
}

/* Entry i's column in a dense row of d. */
static cop_err column_of(
        const cop_door_rows *rows, size_t d, const coppice_row *in, size_t i, size_t *column, cop_diag *diag)
{
	if (in->place != NULL) {
		*column = in->place[i];
		return *column < d ? COP_OK : refuse_place(i, *column, d, diag);
	}
	if (rows->space == NULL || cop_feature_space_dimension(rows->space) != d) {
		cop_diag_message(diag, "the model's features have no names; expected values or places");
		return COP_ESHAPE;
	}
	*column = find_column(rows->space, in->name[i]);
	return *column != SIZE_MAX ? COP_OK : refuse_name(diag, in->name[i], "no feature of the model has this name");
}

static cop_err read_dense(
        const cop_door_rows *rows, size_t d, const coppice_row *in, float *x, cop_row *out, cop_diag *diag)
{
	*out = (cop_row){ .d = d, .dense = x };
	if (in->place == NULL && in->name == NULL) {
		if (in->count != d) {
			cop_diag_message(diag, "%zu values, expected %zu", in->count, d);
			return COP_ESHAPE;
		}
		memcpy(x, in->value, d * sizeof *x);
		return COP_OK;
	}
	memset(x, 0, d * sizeof *x);
	for (size_t i = 0; i < in->count; i++) {
		size_t column;
		cop_err err = column_of(rows, d, in, i, &column, diag);
		if (err != COP_OK)
			return err;
		x[column] = in->value[i];
	}
	return COP_OK;
}

static cop_err refuse_many(const cop_door_rows *rows, cop_diag *diag)
{
	cop_diag_message(diag, "more features than the model takes, expected at most %zu", rows->max_nonzeros);
	return COP_ESHAPE;
}

/* Into the row that was begun. */
static cop_err put_entries(cop_door_rows *rows, const coppice_row *in, cop_diag *diag)
{
	size_t d = cop_feature_space_dimension(rows->space);
	for (size_t i = 0; i < in->count; i++) {
		size_t place = in->place != NULL ? in->place[i] : i;
		if (in->name != NULL)
			put_name(rows->space, in->name[i], (double)in->value[i]);
		else if (place >= d)
			return refuse_place(i, place, d, diag);
		else if (in->value[i] != 0.0f)
			cop_feature_space_put_place(rows->space, place, (double)in->value[i]);
		if (cop_feature_space_features(rows->space) > rows->max_nonzeros)
			return refuse_many(rows, diag);
	}
	return cop_feature_space_failure(rows->space);
}

static cop_err end_entries(
        cop_door_rows *rows, cop_feature_room *room, cop_feature_span *span, cop_row *out, cop_diag *diag)
{
	size_t features;
	cop_err err = cop_feature_space_end(rows->space, room, span, &features);
	if (err != COP_OK)
		return err;
	cop_feature_space_row(rows->space, room, span, out);
	return out->nnz <= rows->max_nonzeros ? COP_OK : refuse_many(rows, diag);
}

static cop_err read_sparse(cop_door_rows *rows, const coppice_row *in, cop_feature_room *room, cop_feature_span *span,
        cop_row *out, cop_diag *diag)
{
	cop_err err = put_entries(rows, in, diag);
	if (err == COP_OK)
		err = end_entries(rows, room, span, out, diag);
	if (err == COP_OK)
		return COP_OK;
	cop_feature_space_abandon(rows->space);
	if (err == COP_ENONFINITE)
		cop_diag_message(diag, "a feature, or the sum of some at one place, is not a finite number");
	return err;
}

cop_err cop_door_rows_context(cop_door_rows *rows, const coppice_row *in, cop_row *out, cop_diag *diag)
{
	cop_feature_span span;
	cop_err err = check_values(in, diag);
	if (err != COP_OK)
		return err;
	if (!is_sparse(rows))
		return read_dense(rows, rows->features, in, rows->dense, out, diag);
	cop_feature_room_clear(&rows->shared);
	cop_feature_space_begin(rows->space);
	return read_sparse(rows, in, &rows->shared, &span, out, diag);
}

/* ---- candidates ---- */

static cop_err read_candidate(cop_door_rows *rows, const coppice_row *in, size_t k, cop_diag *diag)
{
	size_t d = rows->candidate_features;
	cop_err err = check_values(in, diag);
	if (err != COP_OK)
		return err;
	if (!is_sparse(rows))
		return read_dense(rows, d, in, rows->candidate_dense + k * d, &rows->candidate[k], diag);
	cop_feature_space_begin_candidate(rows->space);
	return read_sparse(rows, in, &rows->own, &rows->span[k], &rows->candidate[k], diag);
}

cop_err cop_door_rows_candidates(cop_door_rows *rows, const coppice_candidates *in, cop_diag *diag)
{
	if (in->count < 1 || in->count > rows->max_candidates) {
		cop_diag_message(diag, "%zu candidates, expected 1 to %zu", in->count, rows->max_candidates);
		return COP_EINVAL;
	}
	cop_feature_room_clear(&rows->own);
	for (size_t k = 0; k < in->count; k++) {
		cop_diag why = { .message = "" };
		cop_err err = read_candidate(rows, &in->row[k], k, &why);
		if (err != COP_OK) {
			cop_diag_message(
			        diag, "candidate %zu: %s", k, why.message[0] != '\0' ? why.message : cop_err_text(err));
			return err;
		}
	}
	for (size_t k = 0; k < in->count && is_sparse(rows); k++) /* the room has grown */
		cop_feature_space_row(rows->space, &rows->own, &rows->span[k], &rows->candidate[k]);
	return COP_OK;
}

const uint8_t *cop_door_rows_mask(cop_door_rows *rows, const unsigned char *in, size_t count)
{
	if (in == NULL)
		return NULL;
	for (size_t k = 0; k < count; k++)
		rows->mask[k] = in[k] != 0;
	return rows->mask;
}
