#include "wire/wire_record.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "wire/wire_put.h"

/* In the order in which they are put, so that the next one is seldom far (wire/wire_keys.c). */
enum {
	TIME,
	MODEL,
	ID,
	FROM,
	UNIT,
	X,
	CANDIDATES,
	REV,
	PREDICTIONS,
	MASK,
	DEFER,
	OWNER,
	LOSS,
	NAMED,
	RESULT,
	JOINED,
	Y,
	U,
	ARM,
	P,
	GREEDY,
	LIMIT,
	PLAYED,
	OWN,
	SPLIT,
	SETTLED,
	PROMOTION,
	COUNT,
	CRC,
	SUMS,
	TEXT,
	MODELS,
	LIVE,
	LISTED,
	KEYS
};

static const char *const names[KEYS] = { "t", "m", "id", "from", "unit", "x", "c", "rev", "e", "mask", "defer", "w",
	"loss", "l", "r", "j", "y", "u", "a", "p", "g", "b", "arm", "o", "h", "s", "k", "n", "crc", "sums", "text",
	"models", "live", "names" };

const char *cop_wire_promotion_text(cop_wire_promotion kind)
{
	static const char *const texts[COP_WIRE_PROMOTIONS] = { "none", "challenge", "promote", "rollback", "retire",
		"freeze", "thaw" };
	return texts[kind];
}

/* What each type cannot be without. */
static uint32_t needed(cop_wire_record_type type, const cop_wire_shape *shape, bool has_x)
{
	const uint32_t event = 1u << MODEL | 1u << TIME | 1u << ID;
	const uint32_t candidates = shape->max_candidates != 0 ? 1u << CANDIDATES : 0;
	const uint32_t arm = shape->max_candidates != 0 ? 0 : 1u << ARM;
	bool values = cop_wire_features_has_values(shape);
	switch (type) {
	case COP_WIRE_RECORD_DECISION:
		return event | 1u << X | 1u << REV | candidates |
		       (values ? 1u << Y | 1u << U : 1u << ARM | 1u << P | 1u << GREEDY);
	case COP_WIRE_RECORD_FEEDBACK:
		return event | 1u << LOSS | 1u << RESULT | (has_x && !values ? candidates | arm | 1u << P : 0);
	case COP_WIRE_RECORD_EXPIRY:
		return 1u << MODEL | 1u << TIME | 1u << SETTLED;
	case COP_WIRE_RECORD_ACTIVATION:
		return event | 1u << RESULT;
	case COP_WIRE_RECORD_UNHEARD:
		return event;
	case COP_WIRE_RECORD_CONFIG:
		return 1u << TIME | 1u << TEXT;
	case COP_WIRE_RECORD_PROMOTION:
	case COP_WIRE_RECORD_FORGOTTEN:
		return 1u << MODEL | 1u << TIME;
	case COP_WIRE_RECORD_POSITION:
		return 1u << MODEL | 1u << TIME | 1u << FROM;
	case COP_WIRE_RECORD_MERGE:
		return 1u << MODEL | 1u << TIME | 1u << SUMS;
	}
	return 0;
}

static void put_mask(cop_bytes *bytes, const uint8_t *mask, size_t arms)
{
	cop_wire_put_text(bytes, "mask");
	cop_wire_put_array(bytes, arms);
	for (size_t k = 0; k < arms; k++)
		cop_wire_put_unsigned(bytes, mask[k] != 0);
}

static void put_floats(cop_bytes *bytes, const char *key, const float *values, size_t count)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_packed(bytes, values, count);
}

static void put_own(cop_bytes *bytes, const cop_wire_record *r)
{
	if (r->observed)
		cop_wire_put_key_double(bytes, "o", r->own_p);
}

static void put_decision(cop_bytes *bytes, const cop_wire_record *r)
{
	cop_wire_put_key_unsigned(bytes, "rev", r->rev);
	put_floats(bytes, "e", r->prediction, r->predictions);
	if (r->mask != NULL)
		put_mask(bytes, r->mask, r->arms);
	if (r->defer)
		cop_wire_put_key_bool(bytes, "defer", true);
	if (r->owner != 0)
		cop_wire_put_key_unsigned(bytes, "w", r->owner);
	if (r->values) {
		cop_wire_put_key_double(bytes, "y", r->y);
		cop_wire_put_key_signed(bytes, "u", r->u);
		if (r->density)
			cop_wire_put_key_double(bytes, "p", r->p);
		return;
	}
	cop_wire_put_key_unsigned(bytes, "a", r->a);
	cop_wire_put_key_double(bytes, "p", r->p);
	cop_wire_put_key_bool(bytes, "g", r->greedy);
	if (r->limit != COP_WIRE_LIMIT_NONE)
		cop_wire_put_key_unsigned(bytes, names[LIMIT], r->limit);
	if (r->played != NULL)
		cop_wire_put_key_string(bytes, names[PLAYED], r->played, r->played_length);
	put_own(bytes, r);
	if (r->split) {
		cop_wire_put_text(bytes, "h");
		cop_wire_split_put(bytes, &r->split_by);
	}
}

static void put_feedback(cop_bytes *bytes, const cop_wire_record *r)
{
	cop_wire_put_text(bytes, "loss");
	cop_wire_put_array(bytes, r->losses);
	for (unsigned i = 0; i < r->losses; i++)
		cop_wire_put_double(bytes, r->loss[i]);
	if (r->named.count > 0) {
		cop_wire_put_text(bytes, "l");
		cop_wire_named_put(bytes, &r->named);
	}
	cop_wire_put_key_unsigned(bytes, "r", r->result);
	if (r->joined)
		cop_wire_put_key_bool(bytes, "j", true);
	if (!r->has_x || r->values)
		return;
	if (r->a != COP_WIRE_RECORD_ANY_ARM)
		cop_wire_put_key_unsigned(bytes, "a", r->a);
	cop_wire_put_key_double(bytes, "p", r->p);
	if (r->observed)
		cop_wire_put_key_bool(bytes, "g", r->greedy);
	put_own(bytes, r);
}

static void put_promotion(cop_bytes *bytes, const cop_wire_record *r)
{
	cop_wire_put_key_unsigned(bytes, "k", r->promotion);
	if (r->promotion != COP_WIRE_PROMOTION_CHALLENGE)
		return;
	cop_wire_put_key_unsigned(bytes, "n", r->count);
	cop_wire_put_key_unsigned(bytes, "crc", r->crc);
}

static void put_merge(cop_bytes *bytes, const cop_wire_record *r)
{
	cop_wire_put_text(bytes, names[SUMS]);
	cop_wire_put_array(bytes, r->sums == NULL ? 1 : 5);
	cop_wire_put_unsigned(bytes, r->life);
	if (r->sums == NULL)
		return;
	cop_wire_put_unsigned(bytes, r->part);
	cop_wire_put_unsigned(bytes, r->count);
	cop_wire_put_double(bytes, r->at);
	cop_wire_put_binary(bytes, r->sums, r->sums_length);
}

/* What is recorded of a model that was given features: those that its context lacks at the end are left out, as they
 * came; others are NaN. */
static cop_row recorded(const cop_row *x)
{
	cop_row row = *x;
	while (row.dense != NULL && row.d > 1 && isnan(row.dense[row.d - 1]))
		row.d--;
	return row;
}

void cop_wire_record_put(cop_bytes *bytes, cop_wire_record_type type, const cop_wire_record *r)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_key_double(bytes, "t", r->time);
	if (r->model != NULL) {
		cop_wire_put_text(bytes, "m");
		cop_wire_put_string(bytes, r->model, r->model_length);
	}
	if (r->id.kind != 0) {
		cop_wire_put_text(bytes, "id");
		cop_wire_id_put(bytes, &r->id);
	}
	cop_wire_position_put_key(bytes, &r->from);
	if (r->unit.kind != 0) {
		cop_wire_put_text(bytes, names[UNIT]);
		cop_wire_id_put(bytes, &r->unit);
	}
	if (r->has_x) {
		cop_wire_put_text(bytes, "x");
		const cop_row x = recorded(&r->x);
		cop_wire_features_put(bytes, &x, COP_WIRE_FORM_PACKED);
	}
	if (r->candidates > 0)
		cop_wire_candidates_put(bytes, r->candidate, r->candidates, COP_WIRE_FORM_PACKED);
	if (type == COP_WIRE_RECORD_DECISION) {
		put_decision(bytes, r);
	} else if (type == COP_WIRE_RECORD_FEEDBACK) {
		put_feedback(bytes, r);
	} else if (type == COP_WIRE_RECORD_ACTIVATION) {
		cop_wire_put_key_unsigned(bytes, "r", r->result);
	} else if (type == COP_WIRE_RECORD_PROMOTION) {
		put_promotion(bytes, r);
	} else if (type == COP_WIRE_RECORD_MERGE) {
		put_merge(bytes, r);
	} else if (type == COP_WIRE_RECORD_CONFIG) {
		cop_wire_put_text(bytes, "text");
		cop_wire_put_string(bytes, r->text, r->text_length);
		if (r->models != NULL) {
			cop_wire_put_text(bytes, "models");
			cop_wire_put_binary(bytes, r->models, r->models_length);
		}
		if (r->live != NULL)
			cop_wire_put_key_string(bytes, "live", r->live, r->live_length);
		if (r->listed != NULL) {
			cop_wire_put_text(bytes, "names");
			cop_wire_put_binary(bytes, r->listed, r->listed_length);
		}
	}
	if (r->settled.count > 0 || type == COP_WIRE_RECORD_EXPIRY) {
		cop_wire_put_text(bytes, "s");
		cop_wire_settled_put(bytes, &r->settled);
	}
	cop_wire_put_map_close(bytes, map);
}

static cop_err bad(cop_wire_fault *fault, cop_err err, const char *key)
{
	if (err != COP_OK)
		(void)cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "record: %s: %s", key, cop_err_text(err));
	return err;
}

static cop_err read_predictions(cop_wire_cursor *cursor, cop_wire_record *out)
{
	const uint8_t *bytes;
	size_t length;
	size_t wrong;
	cop_err err = cop_wire_cursor_binary(cursor, &bytes, &length);
	if (err != COP_OK)
		return err;
	if (length % sizeof(float) != 0 || length > sizeof out->prediction)
		return COP_EFORMAT;
	out->predictions = (unsigned)(length / sizeof(float));
	return cop_wire_cursor_packed(bytes, out->prediction, out->predictions, &wrong);
}

static cop_err read_loss(cop_wire_cursor *cursor, cop_wire_record *out)
{
	size_t count;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && (count < 1 || count > 2))
		err = COP_EFORMAT;
	out->losses = (unsigned)count;
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = cop_wire_cursor_double(cursor, &out->loss[i]);
	return err;
}

static cop_err read_played(cop_wire_cursor *cursor, cop_wire_record *out)
{
	cop_err err = cop_wire_cursor_string(cursor, &out->played, &out->played_length);
	return err == COP_OK && (out->played_length == 0 || out->played_length > COP_WIRE_CANDIDATE_NAME) ? COP_EFORMAT
	                                                                                                  : err;
}

static cop_err read_sums(cop_wire_cursor *cursor, cop_wire_record *out)
{
	size_t count;
	uint64_t part = 0;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && count != 1 && count != 5)
		err = COP_EFORMAT;
	if (err == COP_OK)
		err = cop_wire_cursor_unsigned(cursor, &out->life);
	if (err != COP_OK || count == 1)
		return err;
	err = cop_wire_cursor_unsigned(cursor, &part);
	if (err == COP_OK)
		err = cop_wire_cursor_unsigned(cursor, &out->count);
	if (err == COP_OK)
		err = cop_wire_cursor_double(cursor, &out->at);
	if (err == COP_OK)
		err = cop_wire_cursor_binary(cursor, &out->sums, &out->sums_length);
	out->part = (uint32_t)part;
	return err == COP_OK && part > UINT32_MAX ? COP_EFORMAT : err;
}

static cop_err read_small(cop_wire_cursor *cursor, unsigned which, cop_wire_record *out)
{
	uint64_t word = 0;
	int64_t sign = 0;
	cop_err err;
	switch (which) {
	case ARM:
		err = cop_wire_cursor_unsigned(cursor, &word);
		out->a = (uint32_t)word;
		return err == COP_OK && word > UINT32_MAX ? COP_EFORMAT : err;
	case P:
		err = cop_wire_cursor_double(cursor, &out->p);
		return err == COP_OK && !(out->p > 0.0 && out->p <= (out->values ? DBL_MAX : 1.0)) ? COP_EFORMAT : err;
	case GREEDY:
		return cop_wire_cursor_bool(cursor, &out->greedy);
	case LIMIT:
		err = cop_wire_cursor_unsigned(cursor, &word);
		out->limit = word < COP_WIRE_LIMITS ? (cop_wire_limit)word : COP_WIRE_LIMIT_NONE;
		return err == COP_OK && word >= COP_WIRE_LIMITS ? COP_EFORMAT : err;
	case Y:
		return cop_wire_cursor_double(cursor, &out->y);
	case U:
		err = cop_wire_cursor_signed(cursor, &sign);
		out->u = (int8_t)sign;
		return err == COP_OK && (sign < -1 || sign > 1) ? COP_EFORMAT : err;
	case REV:
		return cop_wire_cursor_unsigned(cursor, &out->rev);
	case DEFER:
		return cop_wire_cursor_bool(cursor, &out->defer);
	case RESULT:
		err = cop_wire_cursor_unsigned(cursor, &word);
		out->result = word < COP_WIRE_RESULT_COUNT ? (cop_wire_result)word : COP_WIRE_UNKNOWN;
		return err == COP_OK && word >= COP_WIRE_RESULT_COUNT ? COP_EFORMAT : err;
	case JOINED:
		return cop_wire_cursor_bool(cursor, &out->joined);
	case SETTLED:
		return cop_wire_settled_read(cursor, &out->settled);
	case COUNT:
		return cop_wire_cursor_unsigned(cursor, &out->count);
	case PROMOTION:
		err = cop_wire_cursor_unsigned(cursor, &word);
		out->promotion = word < COP_WIRE_PROMOTIONS ? (cop_wire_promotion)word : COP_WIRE_PROMOTION_NONE;
		return err == COP_OK && word >= COP_WIRE_PROMOTIONS ? COP_EFORMAT : err;
	case CRC:
		err = cop_wire_cursor_unsigned(cursor, &word);
		out->crc = (uint32_t)word;
		return err == COP_OK && word > UINT32_MAX ? COP_EFORMAT : err;
	case OWN:
		out->observed = true;
		err = cop_wire_cursor_double(cursor, &out->own_p);
		return err == COP_OK && !(out->own_p >= 0.0 && out->own_p <= 1.0) ? COP_EFORMAT : err;
	case OWNER:
		err = cop_wire_cursor_unsigned(cursor, &word);
		out->owner = (uint32_t)word;
		return err == COP_OK && (word == 0 || word > UINT32_MAX) ? COP_EFORMAT : err;
	case TIME:
		return cop_wire_cursor_double(cursor, &out->time);
	default:
		return COP_EFORMAT;
	}
}

static cop_err read_x(
        cop_wire_keys *keys, const cop_wire_shape *shape, const cop_wire_workspace *workspace, cop_wire_record *out)
{
	cop_wire_shape then = *shape;
	then.recorded = true;
	out->has_x = true;
	return cop_wire_features_read(keys->cursor, &then, workspace, &out->x, keys->fault);
}

/* As long as the model had arms then: those that it was given since were not eligible. */
static cop_err read_arms(cop_wire_keys *keys, const cop_wire_shape *shape, const cop_wire_workspace *workspace)
{
	cop_wire_shape then = *shape;
	then.least_mask = 1;
	return cop_wire_features_read_mask(keys->cursor, &then, workspace, keys->fault);
}

/* A mask of candidates is read when their number is known, from *later. */
static cop_err read_mask(cop_wire_keys *keys, const cop_wire_shape *shape, const cop_wire_workspace *workspace,
        cop_wire_cursor *later, cop_wire_record *out)
{
	out->mask = workspace->mask;
	if (shape->max_candidates == 0)
		return read_arms(keys, shape, workspace);
	*later = *keys->cursor;
	return bad(keys->fault, cop_wire_cursor_skip(keys->cursor, COP_WIRE_DEPTH - 1), names[MASK]);
}

static cop_err read_field(cop_wire_keys *keys, unsigned which, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_cursor *mask, cop_wire_record *out)
{
	cop_wire_cursor *cursor = keys->cursor;
	switch (which) {
	case MODEL:
		return bad(keys->fault, cop_wire_cursor_string(cursor, &out->model, &out->model_length), names[which]);
	case ID:
		return cop_wire_read_id(cursor, &out->id, keys->fault);
	case UNIT:
		return cop_wire_keys_read_id(cursor, names[which], &out->unit, keys->fault);
	case FROM:
		return cop_wire_position_read(cursor, "from", &out->from, keys->fault);
	case X:
		return read_x(keys, shape, workspace, out);
	case CANDIDATES:
		out->candidate = workspace->candidate;
		return cop_wire_features_read_candidates(cursor, shape, workspace, &out->candidates, keys->fault);
	case MASK:
		return read_mask(keys, shape, workspace, mask, out);
	case PREDICTIONS:
		return bad(keys->fault, read_predictions(cursor, out), names[which]);
	case LOSS:
		return bad(keys->fault, read_loss(cursor, out), names[which]);
	case NAMED:
		return bad(keys->fault, cop_wire_named_read(cursor, &out->named), names[which]);
	case TEXT:
		return bad(keys->fault, cop_wire_cursor_string(cursor, &out->text, &out->text_length), names[which]);
	case LIVE:
		return bad(keys->fault, cop_wire_cursor_string(cursor, &out->live, &out->live_length), names[which]);
	case LISTED:
		return bad(
		        keys->fault, cop_wire_cursor_binary(cursor, &out->listed, &out->listed_length), names[which]);
	case PLAYED:
		return bad(keys->fault, read_played(cursor, out), names[which]);
	case SUMS:
		return bad(keys->fault, read_sums(cursor, out), names[which]);
	case SPLIT:
		out->split = true;
		return bad(keys->fault, cop_wire_split_read(cursor, &out->split_by), names[which]);
	case MODELS:
		return bad(
		        keys->fault, cop_wire_cursor_binary(cursor, &out->models, &out->models_length), names[which]);
	default:
		return bad(keys->fault, read_small(cursor, which, out), names[which]);
	}
}

/* Contexts are of decisions and feedback; elsewhere they are passed over, for there may be no room for them. */
static bool is_foreign(cop_wire_record_type type, unsigned which)
{
	bool event = type == COP_WIRE_RECORD_DECISION || type == COP_WIRE_RECORD_FEEDBACK;
	return !event && (which == X || which == CANDIDATES || which == MASK);
}

static bool accepted(cop_wire_result result) { return result == COP_WIRE_APPLIED || result == COP_WIRE_RECORDED; }

/* What the fields must be to one another. */
static cop_err check_action(cop_wire_record_type type, const cop_wire_shape *shape, const cop_wire_workspace *workspace,
        cop_wire_cursor *mask, cop_wire_record *out, cop_wire_fault *fault)
{
	if (out->promotion == COP_WIRE_PROMOTION_CHALLENGE && out->count == 0)
		return bad(fault, COP_EFORMAT, "n");
	if (out->joined && !(type == COP_WIRE_RECORD_FEEDBACK && out->has_x && accepted(out->result)))
		return bad(fault, COP_EFORMAT, "j");
	bool answered = type == COP_WIRE_RECORD_FEEDBACK && out->has_x && shape->max_candidates == 0;
	if (out->observed && (out->values || (type != COP_WIRE_RECORD_DECISION && !answered)))
		return bad(fault, COP_EFORMAT, "o");
	if (shape->max_candidates == 0)
		return out->values || out->a < shape->arms ? COP_OK : bad(fault, COP_EFORMAT, "a");
	bool decision = type == COP_WIRE_RECORD_DECISION;
	if (out->a != COP_WIRE_RECORD_ANY_ARM && out->a >= (decision ? out->candidates : shape->max_candidates))
		return bad(fault, COP_EFORMAT, "a");
	if (type == COP_WIRE_RECORD_FEEDBACK && out->candidates > 1)
		return bad(fault, COP_EFORMAT, "c");
	out->arms = out->candidates;
	if (out->mask == NULL)
		return COP_OK;
	return out->candidates == 0 ? bad(fault, COP_EFORMAT, "mask")
	                            : cop_wire_features_read_candidates_mask(mask, out->candidates, workspace, fault);
}

cop_err cop_wire_record_decode(cop_wire_record_type type, const void *body, size_t length, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_record *out, cop_wire_fault *fault)
{
	cop_wire_cursor cursor;
	cop_wire_cursor mask = { 0 };
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, body, length);
	*out = (cop_wire_record){
		.arms = shape->arms,
		.values = cop_wire_features_has_values(shape),
		.a = shape->max_candidates != 0 ? COP_WIRE_RECORD_ANY_ARM : 0,
	};
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, KEYS, fault);
	if (err != COP_OK)
		return err;
	while ((err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		err = is_foreign(type, which)
		              ? bad(fault, cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH - 1), names[which])
		              : read_field(&keys, which, shape, workspace, &mask, out);
		if (err != COP_OK)
			return err;
	}
	if (err == COP_EEND)
		err = cop_wire_keys_need(&keys, needed(type, shape, out->has_x));
	out->density = out->values && type == COP_WIRE_RECORD_DECISION && (keys.seen & 1U << P) != 0;
	return err != COP_OK ? err : check_action(type, shape, workspace, &mask, out, fault);
}

cop_err cop_wire_record_model(const void *body, size_t length, const char **model, size_t *model_length)
{
	static const char *const only[] = { "m" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	*model = NULL;
	*model_length = 0;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, only, 1, NULL);
	if (err == COP_OK)
		err = cop_wire_keys_next(&keys, &which);
	if (err == COP_OK)
		err = cop_wire_cursor_string(&cursor, model, model_length);
	return err == COP_EEND ? COP_OK : err;
}
