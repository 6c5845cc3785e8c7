/* The first row is read with the reader, as only then the columns are known; it waits for the first call of next, and
 * so does an error that it is.
 *
 * A context column holds numbers or text, as its first row does. Rows go through the feature space by name; once the
 * space is seen to have given the context's columns of numbers its own first columns in the same order, values are
 * written into the row directly. Candidates of an items file are made once: dense ones have columns of their own,
 * hashed ones are features of the namespace "item". */
#include "events/event_csv_private.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/name_table.h"

#define NAME_ROOM     24 /* "x" and a number */
#define MAX_ACTION    65535
#define ROUNDING_ROOM 1e-6 /* sums of logged floats may be this much above 1 */

typedef struct csv_reader {
	cop_event_reader base;
	cop_stream *stream;
	cop_csv *csv;
	cop_feature_space *space;
	cop_csv_roles roles;
	bool from_one;
	double assumed_probability;

	const double *values; /* the row that was read last */
	cop_err waiting;      /* what the first row's reading said */
	cop_diag waiting_diag;
	bool first;

	bool *text; /* of each context column */
	bool any_text, kinds_known;
	bool direct;      /* rows need not go through the space */
	bool tried;       /* whether they need not was looked at */
	bool one_run;     /* the context's columns stand side by side */
	float *x;         /* context_count: the row, when direct */
	double *gathered; /* likewise: its values side by side, when they do not stand so */
	size_t *start;    /* context_count + 1: into names */
	char *names;
	char *word; /* room for a feature's name, word_room bytes */
	size_t word_room;
	cop_feature_room room;
	cop_csv_items items;
} csv_reader;

/* ---- the label of a row ---- */

__attribute__((format(printf, 5, 6))) static cop_err refuse(
        const csv_reader *r, size_t column, cop_err err, cop_diag *diag, const char *format, ...)
{
	char what[256];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(what, sizeof what, format, args);
	va_end(args);
	cop_diag_at_line(
	        diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream), "field %zu: %s", column + 1, what);
	return err;
}

static bool is_empty(const csv_reader *r, size_t column)
{
	size_t length;
	return isnan(r->values[column]) && (cop_csv_field(r->csv, column, &length), length == 0);
}

static cop_err read_label(csv_reader *r, cop_logged_event *event, cop_diag *diag)
{
	const cop_csv_roles *roles = &r->roles;
	double action = r->values[roles->action];
	double cost = r->values[roles->cost];
	double p = r->assumed_probability;
	event->weight = 1;
	if (is_empty(r, roles->action) || is_empty(r, roles->cost))
		return COP_OK; /* nothing is known yet */
	if (isnan(action))
		return cop_csv_wrong_field(r->csv, roles->action, diag);
	if (isnan(cost))
		return cop_csv_wrong_field(r->csv, roles->cost, diag);
	if (roles->probability != COP_CSV_NO_COLUMN &&
	        (r->assumed_probability == 0 || !is_empty(r, roles->probability)))
		p = r->values[roles->probability];
	if (isnan(p))
		return cop_csv_wrong_field(r->csv, roles->probability, diag);
	if (action < r->from_one || action > MAX_ACTION || action != floor(action))
		return refuse(r, roles->action, COP_EFORMAT, diag, "action %g; expected a whole number from %d to %d",
		        action, r->from_one, MAX_ACTION);
	action -= r->from_one;
	if (r->items.count > 0 && action >= (double)r->items.count)
		return refuse(r, roles->action, COP_EFORMAT, diag, "action %g; expected one of %zu candidates",
		        action + r->from_one, r->items.count);
	cost = roles->reward ? 1 - cost : cost;
	if (fabs(cost) > COP_LOGGED_COST_MAX)
		return refuse(r, roles->cost, COP_EFORMAT, diag, "cost %g; expected at most %g in size", cost,
		        COP_LOGGED_COST_MAX);
	p = p > 1 && p <= 1 + ROUNDING_ROOM ? 1 : p;
	if (p < COP_LOGGED_PROBABILITY_MIN || p > 1)
		return refuse(r, roles->probability, COP_EFORMAT, diag, "probability %g; expected %g to 1", p,
		        COP_LOGGED_PROBABILITY_MIN);
	event->labelled = event->learn = true;
	event->action = (uint32_t)action;
	event->cost = cost;
	event->p = p;
	return COP_OK;
}

/* ---- context ---- */

static cop_err too_large(const csv_reader *r, size_t column, cop_diag *diag)
{
	return refuse(r, column, COP_ENONFINITE, diag, "%g is too large; expected at most 3.4e38", r->values[column]);
}

/* A number that is none, or beyond a float's; COP_OK when all is well with it. */
static cop_err check_number(const csv_reader *r, size_t column, cop_diag *diag)
{
	double value = r->values[column];
	if (isnan(value))
		return cop_csv_wrong_field(r->csv, column, diag);
	return isfinite((float)value) ? COP_OK : too_large(r, column, diag);
}

/* Doubles to floats; how many are not zero, and whether some are not finite. */
static size_t to_floats(const double *values, size_t count, float *x, bool *bad)
{
	unsigned nonzero = 0;
	unsigned wrong = 0;
#pragma omp simd reduction(+ : nonzero, wrong)
	for (size_t i = 0; i < count; i++) {
		x[i] = (float)values[i];
		nonzero += x[i] != 0.0F;
		wrong += !(fabsf(x[i]) <= FLT_MAX);
	}
	*bad = wrong > 0;
	return nonzero;
}

/* Straight into the row. */
static cop_err direct_context(csv_reader *r, cop_logged_event *event, cop_diag *diag)
{
	size_t count = r->roles.context_count;
	const size_t *context = r->roles.context;
	const double *values = r->values + (count == 0 ? 0 : context[0]);
	bool bad;
	if (!r->one_run) {
		for (size_t i = 0; i < count; i++)
			r->gathered[i] = r->values[context[i]];
		values = r->gathered;
	}
	event->features = to_floats(values, count, r->x, &bad);
	for (size_t i = 0; i < count && bad; i++) {
		cop_err err = check_number(r, context[i], diag);
		if (err != COP_OK)
			return err;
	}
	event->x = (cop_row){ .d = count, .dense = r->x };
	return COP_OK;
}

/* Room for a name. COP_ENOMEM. */
static cop_err word_room(csv_reader *r, size_t length)
{
	if (length <= r->word_room)
		return COP_OK;
	cop_mem_free(r->word);
	r->word = cop_mem_alloc(length * 2, 1);
	r->word_room = r->word == NULL ? 0 : length * 2;
	return r->word == NULL ? COP_ENOMEM : COP_OK;
}

/* The feature column=text; none when the field is empty. */
static cop_err put_text(csv_reader *r, size_t i)
{
	const char *name = r->names + r->start[i];
	size_t length = strlen(name);
	size_t more;
	const char *text = cop_csv_field(r->csv, r->roles.context[i], &more);
	if (more == 0)
		return COP_OK;
	cop_err err = word_room(r, length + 1 + more);
	if (err != COP_OK)
		return err;
	memcpy(r->word, name, length);
	r->word[length] = '=';
	memcpy(r->word + length + 1, text, more);
	for (size_t k = 0; k < length + 1 + more; k++)
		if (r->word[k] == '\0')
			r->word[k] = '?'; /* names of columns are terminated by it */
	cop_feature_space_put(r->space, r->word, length + 1 + more, 1);
	return COP_OK;
}

static cop_err put_context(csv_reader *r, cop_diag *diag)
{
	for (size_t i = 0; i < r->roles.context_count; i++) {
		size_t column = r->roles.context[i];
		const char *name = r->names + r->start[i];
		cop_err err = r->text[i] ? put_text(r, i) : check_number(r, column, diag);
		if (err == COP_ENOMEM)
			return refuse(r, column, err, diag, "out of memory");
		if (err != COP_OK)
			return err;
		if (!r->text[i])
			cop_feature_space_put(r->space, name, strlen(name), r->values[column]);
	}
	return COP_OK;
}

/* Through the space. */
static cop_err named_context(csv_reader *r, cop_logged_event *event, cop_diag *diag)
{
	cop_feature_span span;
	cop_feature_room_clear(&r->room);
	cop_feature_space_begin(r->space);
	cop_err err = put_context(r, diag);
	if (err != COP_OK) {
		cop_feature_space_abandon(r->space);
		return err;
	}
	err = cop_feature_space_end(r->space, &r->room, &span, &event->features);
	if (err != COP_OK) {
		cop_diag_at_line(diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream), "%s",
		        err == COP_EFULL ? "too many columns or words in them; features can be hashed instead"
		                         : cop_err_text(err));
		return err == COP_EFULL ? COP_EFORMAT : err;
	}
	cop_feature_space_row(r->space, &r->room, &span, &event->x);
	return COP_OK;
}

/* The space's columns are the context's, in order. */
static bool can_be_direct(const csv_reader *r)
{
	if (r->any_text || !cop_feature_space_is_dense(r->space) ||
	        cop_feature_space_dimension(r->space) != r->roles.context_count)
		return false;
	for (size_t i = 0; i < r->roles.context_count; i++)
		if (strcmp(cop_feature_space_column(r->space, i), r->names + r->start[i]) != 0)
			return false;
	return true;
}

/* By the first row: a field that is no number makes its column one of text. */
static cop_err learn_kinds(csv_reader *r, cop_diag *diag)
{
	for (size_t i = 0; i < r->roles.context_count; i++) {
		size_t column = r->roles.context[i];
		if (is_empty(r, column))
			return cop_csv_wrong_field(r->csv, column, diag);
	}
	for (size_t i = 0; i < r->roles.context_count; i++) {
		size_t column = r->roles.context[i];
		cop_diag ignored;
		r->text[i] = isnan(r->values[column]) && cop_csv_wrong_field(r->csv, column, &ignored) == COP_EFORMAT;
		r->any_text |= r->text[i];
	}
	r->kinds_known = true;
	return COP_OK;
}

static cop_err read_context(csv_reader *r, cop_logged_event *event, cop_diag *diag)
{
	if (r->direct)
		return direct_context(r, event, diag);
	if (!r->kinds_known) {
		cop_err err = learn_kinds(r, diag);
		if (err != COP_OK)
			return err;
	}
	cop_err err = named_context(r, event, diag);
	if (err == COP_OK && !r->tried) {
		r->direct = can_be_direct(r);
		r->tried = true;
	}
	return err;
}

/* ---- reading ---- */

/* The next row of numbers; an error of the file itself is COP_EIO, as no row behind it can be read. */
static cop_err next_row(csv_reader *r, cop_diag *diag)
{
	size_t count;
	cop_err err = cop_csv_next(r->csv, &r->values, &count, diag);
	return err == COP_EFORMAT && cop_stream_diag(r->stream)->message[0] != '\0' ? COP_EIO : err;
}

static cop_err next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag)
{
	csv_reader *r = (csv_reader *)reader;
	cop_err err;
	if (r->first) {
		err = r->waiting;
		*diag = r->waiting_diag;
		r->first = false;
	} else {
		err = next_row(r, diag);
	}
	if (err == COP_OK)
		err = read_context(r, event, diag);
	if (err == COP_OK) {
		err = read_label(r, event, diag);
		if (err != COP_OK && !r->direct)
			cop_feature_space_abandon(r->space);
	}
	if (err != COP_OK)
		return err;
	event->line = cop_stream_line_number(r->stream);
	event->text = cop_csv_row_length(r->csv) + 1;
	event->candidates = r->items.count;
	event->candidate = r->items.count > 0 ? r->items.rows : NULL;
	event->features =
	        r->items.count == 0 ? event->features + 1 : r->items.features + r->items.count * (event->features + 1);
	return COP_OK;
}

static void destroy(cop_event_reader *reader)
{
	csv_reader *r = (csv_reader *)reader;
	cop_csv_free(r->csv);
	cop_stream_free(r->stream);
	cop_csv_roles_fini(&r->roles);
	cop_mem_free(r->text);
	cop_mem_free(r->x);
	cop_mem_free(r->gathered);
	cop_mem_free(r->start);
	cop_mem_free(r->names);
	cop_mem_free(r->word);
	cop_feature_room_fini(&r->room);
	cop_csv_items_fini(&r->items);
	cop_mem_free(r);
}

static const cop_event_reader_class class = { next, destroy };

/* ---- making ---- */

static cop_err no_memory(const csv_reader *r, cop_diag *diag)
{
	cop_diag_of(diag, cop_stream_name(r->stream), "out of memory");
	return COP_ENOMEM;
}

/* Names of the context's features: the header's, or x0, x1, ... */
static cop_err name_context(csv_reader *r)
{
	size_t count = r->roles.context_count;
	size_t room = 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = cop_csv_column(r->csv, r->roles.context[i]);
		room += (name == NULL ? 0 : strlen(name)) + NAME_ROOM;
	}
	r->start = cop_mem_alloc(count, sizeof *r->start);
	r->names = cop_mem_alloc(room, 1);
	r->text = cop_mem_alloc(count, sizeof *r->text);
	r->x = cop_mem_alloc(count, sizeof *r->x);
	r->gathered = cop_mem_alloc(count, sizeof *r->gathered);
	if (r->start == NULL || r->names == NULL || r->text == NULL || r->x == NULL || r->gathered == NULL)
		return COP_ENOMEM;
	r->one_run = true;
	for (size_t i = 0, at = 0; i < count; i++) {
		const char *name = cop_csv_column(r->csv, r->roles.context[i]);
		r->start[i] = at;
		if (name != NULL && *name != '\0')
			(void)snprintf(r->names + at, room - at, "%s", name);
		else
			(void)snprintf(r->names + at, room - at, "x%zu", i);
		at += strlen(r->names + at) + 1;
		r->one_run &= r->roles.context[i] == r->roles.context[0] + i;
	}
	r->one_run &= count > 0;
	return COP_OK;
}

/* Values of two columns of one name would be added up. */
static cop_err refuse_equal_names(const csv_reader *r, cop_diag *diag)
{
	cop_name_table names = { 0 };
	cop_err err = COP_OK;
	for (size_t i = 0; i < r->roles.context_count && err == COP_OK; i++) {
		const char *name = r->names + r->start[i];
		uint32_t number = cop_name_table_find(&names, 0, name, strlen(name));
		if (number == COP_NAME_NONE) {
			err = cop_name_table_add(&names, 0, (cop_name_prefix){ NULL, 0 }, name, strlen(name), &number);
			if (err != COP_OK)
				cop_diag_of(
				        diag, cop_stream_name(r->stream), "names of columns: %s", cop_err_text(err));
			continue;
		}
		cop_diag_of(diag, cop_stream_name(r->stream),
		        "columns %zu and %zu of the context are both named \"%.60s\"; expected different names",
		        r->roles.context[number] + 1, r->roles.context[i] + 1, name);
		err = COP_EFORMAT;
	}
	cop_name_table_fini(&names);
	return err;
}

/* Reads the first row, finds the columns, and the candidates. */
static cop_err begin(csv_reader *r, const cop_event_reader_settings *settings, cop_diag *diag)
{
	const char *name = cop_stream_name(r->stream);
	if (cop_csv_new(r->stream, &r->csv) != COP_OK)
		return no_memory(r, diag);
	cop_csv_allow_text(r->csv);
	r->first = true;
	r->waiting = next_row(r, &r->waiting_diag);
	if (r->waiting == COP_ENOMEM)
		return no_memory(r, diag);
	if (cop_csv_columns(r->csv) > 0) {
		cop_err err = cop_csv_roles_find(
		        r->csv, name, &settings->columns, settings->assumed_probability == 0, &r->roles, diag);
		if (err != COP_OK)
			return err;
		if (name_context(r) != COP_OK)
			return no_memory(r, diag);
		err = refuse_equal_names(r, diag);
		if (err != COP_OK)
			return err;
	}
	return settings->columns.items == NULL ? COP_OK
	                                       : cop_csv_items_read(&r->items, r->space, settings->columns.items, diag);
}

static cop_err create(
        cop_stream **stream, const cop_event_reader_settings *settings, cop_event_reader **out, cop_diag *diag)
{
	csv_reader *r = cop_event_reader_make(sizeof *r, &class, stream, diag);
	*out = NULL;
	if (r == NULL)
		return COP_ENOMEM;
	r->stream = *stream;
	*stream = NULL;
	r->space = settings->space;
	r->from_one = settings->action_from_one;
	r->assumed_probability = settings->assumed_probability;
	cop_err err = begin(r, settings, diag);
	if (err == COP_OK)
		*out = &r->base;
	else
		destroy(&r->base);
	return err;
}

const cop_event_format cop_event_format_csv = { "csv", create };
