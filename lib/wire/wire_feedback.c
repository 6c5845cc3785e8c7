/* One walk over the map, each key into its field; which keys may stand together is checked when all are read. */
#include "wire/wire_feedback.h"

#include <string.h>

#include "wire/wire_named.h"
#include "wire/wire_put.h"

enum { ID, LOSS, LOSSES, X, C, A, P, Y, UNIT, FROM, SRC, N, SEQ, KEYS };

static const char *const names[KEYS] = { "id", "loss", "losses", "x", "c", "a", "p", "y", "unit", "from", "src", "n",
	"seq" };

static cop_err read_pair(cop_wire_cursor *cursor, cop_wire_feedback *out, cop_wire_fault *fault)
{
	size_t count;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_LOSS, err, cursor, "loss", "a number, or two in an array");
	if (count != 2)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_LOSS, "loss: got an array of %zu, expected 2 numbers", count);
	for (size_t i = 0; i < 2; i++) {
		err = cop_wire_cursor_double(cursor, &out->loss[i]);
		if (err != COP_OK)
			return cop_wire_refuse(
			        fault, COP_WIRE_BAD_LOSS, err, cursor, i == 0 ? "loss[0]" : "loss[1]", "a number");
	}
	out->losses = 2;
	return COP_OK;
}

static cop_err read_loss(
        cop_wire_cursor *cursor, const cop_wire_shape *shape, cop_wire_feedback *out, cop_wire_fault *fault)
{
	cop_err err = cop_wire_cursor_double(cursor, &out->loss[0]);
	if (err == COP_OK)
		out->losses = 1;
	else if (err == COP_ENONFINITE)
		return cop_wire_refuse(fault, COP_WIRE_BAD_LOSS, err, cursor, "loss", "a number");
	else
		err = read_pair(cursor, out, fault);
	if (err != COP_OK)
		return err;
	if (shape->losses != 0 && out->losses != shape->losses)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS, "loss: got %s, expected %s",
		        out->losses == 1 ? "one number" : "two numbers",
		        shape->losses == 1 ? "one number" : "an array of two numbers, one for each probe");
	return COP_OK;
}

static cop_err refuse_loss(const cop_wire_shape *shape, cop_wire_fault *fault)
{
	char list[120];
	cop_wire_named_list(&shape->named->weights, list, sizeof list);
	return cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS,
	        "loss: losses of this model have names, expected losses, a map, and no loss: %s", list);
}

/* Their weighted sum is the loss. */
static cop_err read_losses(
        cop_wire_cursor *cursor, const cop_wire_shape *shape, cop_wire_feedback *out, cop_wire_fault *fault)
{
	if (shape->named == NULL)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_LOSS, "losses: those of this model have no names, expected loss alone");
	cop_err err = cop_wire_named_decode(cursor, shape->named, &out->named, fault);
	out->loss[0] = cop_named_losses_weigh(shape->named, &out->named);
	out->losses = 1;
	return err;
}

static cop_err read_a(
        cop_wire_cursor *cursor, const cop_wire_shape *shape, cop_wire_feedback *out, cop_wire_fault *fault)
{
	uint64_t a;
	cop_err err = cop_wire_features_read_action(cursor, shape, &a, fault);
	if (err != COP_OK)
		return err;
	bool ranks = shape->max_candidates != 0;
	size_t arms = ranks ? shape->max_candidates : shape->arms;
	if (a >= arms)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "a: got %llu, expected %s below %zu (they count from 0)", (unsigned long long)a,
		        ranks ? "a candidate" : "an arm", arms);
	out->a = (size_t)a;
	out->has_a = true;
	return COP_OK;
}

static cop_err read_y(cop_wire_cursor *cursor, cop_wire_feedback *out, cop_wire_fault *fault)
{
	cop_err err = cop_wire_cursor_double(cursor, &out->y);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "y", "a number");
	out->has_y = true;
	return COP_OK;
}

/* What is being decoded. */
typedef struct reading {
	const cop_wire_shape *shape;
	const cop_wire_workspace *workspace;
	cop_wire_feedback *out;
	cop_wire_cursor c; /* a candidate that came before x and waits for it; at NULL: none */
} reading;

static cop_err read_c(cop_wire_cursor *cursor, reading *r, cop_wire_fault *fault)
{
	r->out->has_c = true;
	if (r->out->has_x || !cop_wire_features_candidates_wait(r->shape))
		return cop_wire_features_read_candidate(cursor, r->shape, r->workspace, &r->out->candidate, fault);
	r->c = *cursor;
	cop_err err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	return err == COP_OK ? COP_OK : cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, "c", "a candidate");
}

static cop_err read_x(cop_wire_cursor *cursor, reading *r, cop_wire_fault *fault)
{
	r->out->has_x = true;
	cop_err err = cop_wire_features_read(cursor, r->shape, r->workspace, &r->out->x, fault);
	return err == COP_OK && r->c.at != NULL ? read_c(&r->c, r, fault) : err;
}

static cop_err read_field(cop_wire_cursor *cursor, unsigned which, reading *r, cop_wire_fault *fault)
{
	const cop_wire_shape *shape = r->shape;
	cop_wire_feedback *out = r->out;
	switch (which) {
	case ID:
		return cop_wire_read_id(cursor, &out->id, fault);
	case LOSS:
		return shape->named != NULL ? refuse_loss(shape, fault) : read_loss(cursor, shape, out, fault);
	case LOSSES:
		return read_losses(cursor, shape, out, fault);
	case X:
		return read_x(cursor, r, fault);
	case C:
		return read_c(cursor, r, fault);
	case A:
		return read_a(cursor, shape, out, fault);
	case P:
		out->has_p = true;
		return cop_wire_read_p(cursor, &out->p, fault);
	case Y:
		return read_y(cursor, out, fault);
	case UNIT:
		return cop_wire_keys_read_id(cursor, "unit", &out->unit, fault);
	case FROM:
		return cop_wire_position_read(cursor, "from", &out->from, fault);
	case SRC:
		return cop_wire_read_src(cursor, &out->source, fault);
	case N:
		return cop_wire_read_n(cursor, &out->source, fault);
	default:
		return cop_wire_read_seq(cursor, &out->seq, fault);
	}
}

static cop_err decode(
        cop_wire_keys *keys, const cop_wire_shape *shape, const cop_wire_workspace *workspace, cop_wire_feedback *out)
{
	reading r = { .shape = shape, .workspace = workspace, .out = out };
	unsigned which;
	cop_err err;
	while ((err = cop_wire_keys_next(keys, &which)) == COP_OK) {
		err = read_field(keys->cursor, which, &r, keys->fault);
		if (err != COP_OK)
			return err;
	}
	if (err == COP_EEND && r.c.at != NULL && !out->has_x) {
		cop_feature_space_abandon(shape->naming->space); /* nothing is shared */
		err = cop_wire_features_read_candidate(&r.c, shape, workspace, &out->candidate, keys->fault);
	}
	if (err != COP_EEND && err != COP_OK)
		return err;
	uint32_t need = 1U << ID | (shape->named != NULL ? 1U << LOSSES : 1U << LOSS);
	if (out->has_x && shape->max_candidates != 0)
		need |= 1U << C | 1U << P;
	else if (out->has_x)
		need |= shape->arms != 0 ? 1U << A | 1U << P : 1U << Y;
	return cop_wire_keys_need(keys, need);
}

cop_err cop_wire_feedback_decode(const void *body, size_t length, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_feedback *out, cop_wire_fault *fault)
{
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	cop_wire_cursor_init(&cursor, body, length);
	*out = (cop_wire_feedback){ 0 };
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, KEYS, fault);
	return err != COP_OK ? err : decode(&keys, shape, workspace, out);
}

static void put_loss(cop_bytes *bytes, const cop_wire_feedback *feedback)
{
	cop_wire_put_text(bytes, "loss");
	if (feedback->losses == 2)
		cop_wire_put_array(bytes, 2);
	for (unsigned i = 0; i < feedback->losses; i++)
		cop_wire_put_double(bytes, feedback->loss[i]);
}

void cop_wire_feedback_put(cop_bytes *bytes, const cop_wire_feedback *feedback, cop_wire_form form)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_text(bytes, "id");
	cop_wire_id_put(bytes, &feedback->id);
	put_loss(bytes, feedback);
	if (feedback->has_x) {
		cop_wire_put_text(bytes, "x");
		cop_wire_features_put(bytes, &feedback->x, form);
	}
	if (feedback->has_c) {
		cop_wire_put_text(bytes, "c");
		cop_wire_features_put(bytes, &feedback->candidate, form);
	}
	if (feedback->has_a)
		cop_wire_put_key_unsigned(bytes, "a", feedback->a);
	if (feedback->has_p)
		cop_wire_put_key_double(bytes, "p", feedback->p);
	if (feedback->has_y)
		cop_wire_put_key_double(bytes, "y", feedback->y);
	if (feedback->unit.kind != 0) {
		cop_wire_put_text(bytes, "unit");
		cop_wire_id_put(bytes, &feedback->unit);
	}
	cop_wire_position_put_key(bytes, &feedback->from);
	cop_wire_source_put(bytes, &feedback->source);
	cop_wire_seq_put(bytes, &feedback->seq);
	cop_wire_put_map_close(bytes, map);
}
