/* One walk over the map, each key into its field. Candidates need the width of x, and a mask the number of candidates;
 * what comes before what it needs is skipped at first and read from its place once that is known. */
#include "wire/wire_context.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "wire/wire_put.h"

/* The last two are an apprentice's, or its caller's. */
enum { ID, X, C, MASK, NAMES, ORDER, PROBABILITIES, T, UNIT, DEFER, FROM, SRC, N, SEQ, A, P, KEYS };
#define OWN_KEYS A
#define LOOKS    ((size_t)1 << 20) /* at names for one mask; beyond, the loop would be held up for long */

static const char *const names[KEYS] = { "id", "x", "c", "mask", "names", "order", "probabilities", "t", "unit",
	"defer", "from", "src", "n", "seq", "a", "p" };

/* What is being decoded. */
typedef struct reading {
	const cop_wire_shape *shape;
	const cop_wire_workspace *workspace;
	cop_wire_context *out;
	cop_wire_cursor mask; /* of candidates: read when their number is known */
	cop_wire_cursor c;    /* of candidates that came before x and wait for it; at NULL: none */
	cop_wire_cursor a;    /* a candidate's name: found when the names are known; at NULL: none */
} reading;

static cop_err read_t(cop_wire_cursor *cursor, cop_wire_context *out, cop_wire_fault *fault)
{
	cop_err err = cop_wire_cursor_double(cursor, &out->t);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "t", "a number of seconds");
	out->has_t = true;
	return COP_OK;
}

static cop_err read_flag(cop_wire_cursor *cursor, const char *name, bool *out, cop_wire_fault *fault)
{
	cop_err err = cop_wire_cursor_bool(cursor, out);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, name, "a boolean");
	return COP_OK;
}

static cop_err read_mask(cop_wire_cursor *cursor, reading *r, cop_wire_fault *fault)
{
	r->out->has_mask = true;
	if (r->shape->max_candidates == 0)
		return cop_wire_features_read_mask(cursor, r->shape, r->workspace, fault);
	r->mask = *cursor;
	cop_err err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "mask", "an array of booleans");
	return COP_OK;
}

/* Those of a model that does not rank mean nothing. */
static cop_err read_names(cop_wire_cursor *cursor, reading *r, cop_wire_fault *fault)
{
	if (r->shape->max_candidates != 0)
		r->out->names = *cursor;
	cop_err err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	return err == COP_OK ? COP_OK
	                     : cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "names", "an array of texts");
}

static cop_err read_candidates(cop_wire_cursor *cursor, reading *r, cop_wire_fault *fault)
{
	cop_wire_context *out = r->out;
	if (!out->has_x && cop_wire_features_candidates_wait(r->shape)) {
		r->c = *cursor;
		cop_err skipped = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
		return skipped == COP_OK ? COP_OK
		                         : cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, skipped, cursor, "c",
		                                   "an array of candidates");
	}
	cop_err err = cop_wire_features_read_candidates(cursor, r->shape, r->workspace, &out->candidates, fault);
	out->candidate = r->workspace->candidate;
	out->arms = out->candidates;
	return err;
}

/* And of candidates that wait for it. */
static cop_err read_x(cop_wire_cursor *cursor, reading *r, cop_wire_fault *fault)
{
	r->out->has_x = true;
	cop_err err = cop_wire_features_read(cursor, r->shape, r->workspace, &r->out->x, fault);
	return err == COP_OK && r->c.at != NULL ? read_candidates(&r->c, r, fault) : err;
}

/* Whether there is such an arm is looked at when the candidates are known. */
static cop_err read_a(cop_wire_cursor *cursor, reading *r, cop_wire_fault *fault)
{
	uint64_t a;
	if (r->shape->max_candidates != 0 && cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_STRING) {
		r->a = *cursor;
		return cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	}
	cop_err err = cop_wire_features_read_action(cursor, r->shape, &a, fault);
	if (err != COP_OK)
		return err;
	r->out->a = a < UINT32_MAX ? (uint32_t)a : UINT32_MAX;
	return COP_OK;
}

cop_err cop_wire_read_p(cop_wire_cursor *cursor, double *p, cop_wire_fault *fault)
{
	cop_wire_cursor at = *cursor;
	cop_err err = cop_wire_cursor_double(&at, p);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "p", "a propensity in (0, 1]");
	if (!(*p > 0.0 && *p <= 1.0))
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "p: got %g, expected a propensity in (0, 1]", *p);
	*cursor = at;
	return COP_OK;
}

static cop_err read_field(cop_wire_cursor *cursor, unsigned which, reading *r, cop_wire_fault *fault)
{
	cop_wire_context *out = r->out;
	switch (which) {
	case ID:
		return cop_wire_read_id(cursor, &out->id, fault);
	case X:
		return read_x(cursor, r, fault);
	case C:
		return read_candidates(cursor, r, fault);
	case MASK:
		return read_mask(cursor, r, fault);
	case NAMES:
		return read_names(cursor, r, fault);
	case ORDER:
		return read_flag(cursor, "order", &out->order, fault);
	case PROBABILITIES:
		return read_flag(cursor, "probabilities", &out->probabilities, fault);
	case T:
		return read_t(cursor, out, fault);
	case UNIT:
		return cop_wire_keys_read_id(cursor, "unit", &out->unit, fault);
	case DEFER:
		return read_flag(cursor, "defer", &out->defer, fault);
	case FROM:
		return cop_wire_position_read(cursor, "from", &out->from, fault);
	case SRC:
		return cop_wire_read_src(cursor, &out->source, fault);
	case N:
		return cop_wire_read_n(cursor, &out->source, fault);
	case A:
		return read_a(cursor, r, fault);
	case P:
		return cop_wire_read_p(cursor, &out->p, fault);
	default:
		return cop_wire_read_seq(cursor, &out->seq, fault);
	}
}

static void start(reading *r)
{
	const cop_wire_shape *shape = r->shape;
	bool masked = shape->arms != 0 || shape->max_candidates != 0;
	*r->out = (cop_wire_context){ .mask = masked ? r->workspace->mask : NULL, .arms = shape->arms };
}

bool cop_wire_context_name(const cop_wire_context *context, size_t candidate, const char **text, size_t *length)
{
	size_t count;
	cop_wire_cursor at = context->names;
	if (at.at == NULL || cop_wire_cursor_array(&at, &count) != COP_OK || candidate >= count)
		return false;
	for (size_t i = 0; i <= candidate; i++)
		if (cop_wire_cursor_string(&at, text, length) != COP_OK)
			return false;
	return true;
}

/* One text of 1 to 64 bytes for each candidate. */
static cop_err check_names(const reading *r, cop_wire_fault *fault)
{
	const char *text;
	size_t count = 0, length = 0;
	const cop_wire_context *out = r->out;
	cop_wire_cursor at = out->names;
	if (at.at == NULL || out->candidates == 0)
		return COP_OK;
	if (cop_wire_cursor_array(&at, &count) != COP_OK || count != out->candidates)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "names: expected an array of %zu texts, one for each candidate", out->candidates);
	for (size_t i = 0; i < count; i++)
		if (cop_wire_cursor_string(&at, &text, &length) != COP_OK || length < 1 ||
		        length > COP_WIRE_CANDIDATE_NAME)
			return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
			        "names[%zu]: expected a text of 1 to %d bytes", i, COP_WIRE_CANDIDATE_NAME);
	return COP_OK;
}

/* The first candidate of the name at the cursor, which is behind it afterwards. One walk over the names, which were
 * checked. */
static cop_err find_named(
        const reading *r, cop_wire_cursor *cursor, const char *key, size_t *out, cop_wire_fault *fault)
{
	const char *text, *name;
	size_t length, size, count = 0;
	cop_wire_cursor names_at = r->out->names;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, key, "a candidate's name");
	if (names_at.at != NULL && cop_wire_cursor_array(&names_at, &count) != COP_OK)
		count = 0;
	for (*out = 0; *out < count && cop_wire_cursor_string(&names_at, &name, &size) == COP_OK; ++*out)
		if (size == length && memcmp(name, text, size) == 0)
			return COP_OK;
	char clean[COP_WIRE_CANDIDATE_NAME + 1];
	cop_wire_text_clean(clean, sizeof clean, text, length);
	return cop_wire_fault_set(
	        fault, COP_WIRE_BAD_REQUEST, "%s: \"%s\" is none of the candidates' names", key, clean);
}

/* A mask that lists the eligible candidates' names; false: it is another one. */
static bool lists_names(const reading *r, size_t *count, cop_wire_cursor *inner)
{
	*inner = r->mask;
	return r->out->names.at != NULL && cop_wire_cursor_peek(inner) == COP_WIRE_TYPE_ARRAY &&
	       cop_wire_cursor_array(inner, count) == COP_OK && *count > 0 &&
	       cop_wire_cursor_peek(inner) == COP_WIRE_TYPE_STRING;
}

static cop_err read_named_mask(reading *r, size_t count, cop_wire_cursor *inner, cop_wire_fault *fault)
{
	if (count * r->out->candidates > LOOKS)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "mask: %zu names among %zu candidates are too many to look for; expected booleans or bits",
		        count, r->out->candidates);
	memset(r->workspace->mask, 0, r->out->candidates);
	for (size_t i = 0; i < count; i++) {
		char key[32];
		size_t candidate = 0;
		(void)snprintf(key, sizeof key, "mask[%zu]", i);
		cop_err err = find_named(r, inner, key, &candidate, fault);
		if (err != COP_OK)
			return err;
		if (r->workspace->mask[candidate] != 0)
			return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%s: the name stands twice", key);
		r->workspace->mask[candidate] = 1;
	}
	return COP_OK;
}

static cop_err finish_mask(reading *r, cop_wire_fault *fault)
{
	const cop_wire_context *out = r->out;
	size_t count = 0;
	cop_wire_cursor inner;
	cop_err err = check_names(r, fault);
	if (err != COP_OK)
		return err;
	if (out->has_mask && out->candidates > 0 && lists_names(r, &count, &inner))
		return read_named_mask(r, count, &inner, fault);
	if (r->shape->max_candidates != 0 && out->has_mask && out->candidates > 0)
		return cop_wire_features_read_candidates_mask(&r->mask, out->candidates, r->workspace, fault);
	if (!out->has_mask && out->arms != 0)
		memset(r->workspace->mask, 1, out->arms);
	return COP_OK;
}

static cop_err decode(cop_wire_keys *keys, reading *r)
{
	unsigned which;
	cop_err err;
	start(r);
	while ((err = cop_wire_keys_next(keys, &which)) == COP_OK) {
		err = read_field(keys->cursor, which, r, keys->fault);
		if (err != COP_OK)
			return err;
	}
	return err != COP_EEND ? err : finish_mask(r, keys->fault);
}

/* What the system decided, or the caller would, must be there, and be something that can be decided. */
static cop_err finish_action(const cop_wire_keys *keys, reading *r)
{
	cop_wire_context *out = r->out;
	cop_wire_fault *fault = keys->fault;
	const uint32_t need = r->shape->apprentice ? 1U << A | 1U << P : 1U << A;
	if ((keys->seen & need) != need && r->shape->apprentice)
		return cop_wire_fault_set(fault, COP_WIRE_APPRENTICE,
		        "%s: missing; the model is an apprentice, which does not decide: expected a and p, the action "
		        "that was decided and its propensity",
		        (keys->seen & 1U << A) == 0 ? "a" : "p");
	if ((keys->seen & need) != need)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "a: missing; the model's baseline is the caller: expected the action that it would play");
	size_t named = 0;
	cop_err err = r->a.at == NULL ? COP_OK : find_named(r, &r->a, "a", &named, fault);
	if (err != COP_OK)
		return err;
	out->a = r->a.at == NULL ? out->a : (uint32_t)named;
	if (out->a >= out->arms)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "a: got %lu, expected %s below %zu (they count from 0)", (unsigned long)out->a,
		        r->shape->max_candidates != 0 ? "a candidate" : "an arm", out->arms);
	if (out->mask[out->a] == 0)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "a: got %lu, which the mask excludes; expected an eligible action", (unsigned long)out->a);
	out->observed = r->shape->apprentice;
	out->caller = !out->observed;
	if ((keys->seen & 1U << P) == 0)
		out->p = 1.0;
	return COP_OK;
}

cop_err cop_wire_context_decode(const void *body, size_t length, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_context *out, cop_wire_fault *fault)
{
	bool acts = (shape->apprentice || shape->caller) && !cop_wire_features_has_values(shape);
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	reading r = { .shape = shape, .workspace = workspace, .out = out };
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, acts ? KEYS : OWN_KEYS, fault);
	if (err == COP_OK)
		err = decode(&keys, &r);
	if (err == COP_OK)
		err = cop_wire_keys_need(&keys, 1U << ID | 1U << X | (shape->max_candidates != 0 ? 1U << C : 0));
	return err == COP_OK && acts ? finish_action(&keys, &r) : err;
}

cop_err cop_wire_explain_decode(const void *body, size_t length, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_context *out, cop_wire_fault *fault)
{
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	reading r = { .shape = shape, .workspace = workspace, .out = out };
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, OWN_KEYS, fault);
	if (err == COP_OK)
		err = decode(&keys, &r);
	if (err == COP_OK && out->has_x == (out->id.kind != 0))
		err = cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "id: expected either id (a decision that was made) or x (what would be decided)");
	if (err == COP_OK && out->has_x && shape->max_candidates != 0)
		err = cop_wire_keys_need(&keys, 1U << C);
	return err;
}

void cop_wire_features_put(cop_bytes *bytes, const cop_row *x, cop_wire_form form)
{
	if (x->dense != NULL && form == COP_WIRE_FORM_PACKED) {
		cop_wire_put_packed(bytes, x->dense, x->d);
	} else if (x->dense != NULL) {
		cop_wire_put_array(bytes, x->d);
		for (size_t i = 0; i < x->d; i++)
			cop_wire_put_float(bytes, x->dense[i]);
	} else {
		cop_wire_put_map(bytes, x->nnz);
		for (size_t i = 0; i < x->nnz; i++) {
			cop_wire_put_unsigned(bytes, x->index[i]);
			cop_wire_put_float(bytes, x->value[i]);
		}
	}
}

void cop_wire_candidates_put(cop_bytes *bytes, const cop_row *candidate, size_t count, cop_wire_form form)
{
	cop_wire_put_text(bytes, "c");
	cop_wire_put_array(bytes, count);
	for (size_t i = 0; i < count; i++)
		cop_wire_features_put(bytes, &candidate[i], form);
}

void cop_wire_id_put(cop_bytes *bytes, const cop_event_id *id)
{
	uint64_t word = 0;
	switch (id->kind) {
	case COP_EVENT_ID_STRING:
		cop_wire_put_string(bytes, (const char *)id->bytes, id->length);
		return;
	case COP_EVENT_ID_BINARY:
		cop_wire_put_binary(bytes, id->bytes, id->length);
		return;
	default:
		memcpy(&word, id->bytes, sizeof word);
		break;
	}
	if (id->kind == COP_EVENT_ID_NEGATIVE)
		cop_wire_put_signed(bytes, (int64_t)word);
	else
		cop_wire_put_unsigned(bytes, word);
}

void cop_wire_seq_put(cop_bytes *bytes, const cop_wire_seq *seq)
{
	if (seq == NULL || seq->length == 0)
		return;
	cop_wire_put_text(bytes, "seq");
	cop_wire_put_raw(bytes, seq->bytes, seq->length);
}

void cop_wire_seq_from_unsigned(cop_wire_seq *seq, uint64_t value)
{
	uint64_t word = __builtin_bswap64(value);
	seq->length = 9;
	seq->bytes[0] = 0xcf;
	memcpy(seq->bytes + 1, &word, sizeof word);
}

static void put_mask(cop_bytes *bytes, const uint8_t *mask, size_t arms)
{
	cop_wire_put_binary_head(bytes, (arms + 7) / 8);
	for (size_t i = 0; i < arms; i += 8) {
		unsigned bits = 0;
		for (size_t j = i; j < arms && j < i + 8; j++)
			bits |= (mask[j] != 0 ? 1U : 0U) << (j - i);
		cop_bytes_put_u8(bytes, (uint8_t)bits);
	}
}

void cop_wire_source_put(cop_bytes *bytes, const cop_wire_source *source)
{
	if (source->name != NULL) {
		cop_wire_put_text(bytes, "src");
		cop_wire_put_string(bytes, source->name, source->length);
	}
	if (source->has_n)
		cop_wire_put_key_unsigned(bytes, "n", source->n);
}

void cop_wire_context_put(cop_bytes *bytes, const cop_wire_context *context, cop_wire_form form)
{
	bool mask = context->has_mask && context->arms != 0;
	size_t map = cop_wire_put_map_open(bytes);
	if (context->id.kind != 0) {
		cop_wire_put_text(bytes, "id");
		cop_wire_id_put(bytes, &context->id);
	}
	if (context->has_x) {
		cop_wire_put_text(bytes, "x");
		cop_wire_features_put(bytes, &context->x, form);
	}
	if (context->candidates > 0)
		cop_wire_candidates_put(bytes, context->candidate, context->candidates, form);
	if (mask) {
		cop_wire_put_text(bytes, "mask");
		put_mask(bytes, context->mask, context->arms);
	}
	if (context->order)
		cop_wire_put_key_bool(bytes, "order", true);
	if (context->probabilities)
		cop_wire_put_key_bool(bytes, "probabilities", true);
	if (context->has_t)
		cop_wire_put_key_double(bytes, "t", context->t);
	if (context->unit.kind != 0) {
		cop_wire_put_text(bytes, "unit");
		cop_wire_id_put(bytes, &context->unit);
	}
	if (context->defer)
		cop_wire_put_key_bool(bytes, "defer", true);
	if (context->observed || context->caller) {
		cop_wire_put_key_unsigned(bytes, "a", context->a);
		cop_wire_put_key_double(bytes, "p", context->p);
	}
	cop_wire_position_put_key(bytes, &context->from);
	cop_wire_source_put(bytes, &context->source);
	cop_wire_seq_put(bytes, &context->seq);
	cop_wire_put_map_close(bytes, map);
}
