/* Dense: names that come as in the line before are compared in place with the lane's hints. All other names are cut out
 * and put. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/number_short.h"
#include "events/event_vw_private.h"

#define SHOWN 40 /* characters of a wrong text in a message */

cop_err cop_vw_wrong(const cop_vw_line *line, const char *at, cop_err err, const char *format, ...)
{
	char message[256];
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	cop_diag_at_line(
	        line->diag, line->source, line->number, "column %zu: %s", (size_t)(at - line->start) + 1, message);
	return err;
}

cop_err cop_vw_wrong_text(const cop_vw_line *line, const char *at, const char *end, cop_err err, const char *expected)
{
	char shown[SHOWN + 1];
	size_t length = (size_t)(end - at) < SHOWN ? (size_t)(end - at) : SHOWN;
	for (size_t i = 0; i < length; i++)
		shown[i] = (char)(isprint((unsigned char)at[i]) ? at[i] : '?');
	shown[length] = '\0';
	return cop_vw_wrong(line, at, err, "\"%s\" %s", shown, expected);
}

/* Nothing of a name, number or namespace goes on here. */
static inline bool is_end(const char *at, const char *end) { return at == end || cop_vw_is_blank(*at) || *at == '|'; }

static const char *name_end(const char *at, const char *end)
{
	while (!is_end(at, end) && *at != ':')
		at++;
	return at;
}

static const char *blank_or_end(const char *at, const char *end)
{
	while (at < end && !cop_vw_is_blank(*at))
		at++;
	return at;
}

typedef struct reading {
	cop_feature_space *space;
	cop_name_order *lane;
	const cop_vw_line *line;
	const char *at; /* what comes next */
	size_t unnamed; /* features without a name in this namespace */
} reading;

/* [NAME[:WEIGHT]] behind a bar. */
static cop_err read_namespace(reading *r)
{
	const char *end = r->line->end;
	const char *name = r->at;
	const char *stop = name_end(name, end);
	double weight = 1.0;
	r->at = stop;
	if (stop < end && *stop == ':') {
		if (stop == name)
			return cop_vw_wrong(r->line, name, COP_EFORMAT,
			        "':' behind '|'; expected a namespace's name, or a space and features");
		const char *number = stop + 1;
		r->at = cop_number_scan(number, end, &weight);
		if (r->at == NULL || !is_end(r->at, end)) {
			const char *until = blank_or_end(number, end);
			double unused;
			bool infinite = cop_number_parse(number, (size_t)(until - number), &unused) == COP_ENONFINITE;
			return cop_vw_wrong_text(r->line, number, until, infinite ? COP_ENONFINITE : COP_EFORMAT,
			        "is no weight of a namespace; expected a finite number");
		}
		if (!isfinite((float)weight))
			return cop_vw_wrong_text(
			        r->line, number, r->at, COP_ENONFINITE, "is too large for a namespace's weight");
	}
	cop_feature_space_namespace(r->space, name, (size_t)(stop - name), weight);
	r->unnamed = 0;
	return COP_OK;
}

static cop_err too_large(const reading *r, const char *value)
{
	return cop_vw_wrong_text(r->line, value, blank_or_end(value, r->line->end), COP_ENONFINITE,
	        "is too large; expected a number that fits a float");
}

/* The value at `value` is no number that ends where it should. */
static cop_err read_text(reading *r, const char *name, size_t length, const char *value)
{
	const char *end = blank_or_end(value, r->line->end);
	double unused;
	if (end == value)
		return cop_vw_wrong(
		        r->line, value, COP_EFORMAT, "no value stands behind ':'; expected a number or a text");
	if (cop_number_parse(value, (size_t)(end - value), &unused) == COP_ENONFINITE)
		return cop_vw_wrong_text(
		        r->line, value, end, COP_ENONFINITE, "is not finite; expected a finite number");
	if (strchr("+-.0123456789:|", *value) != NULL)
		return cop_vw_wrong_text(r->line, value, end, COP_EFORMAT,
		        "is no number; expected one (a text that is a value begins with something else)");
	cop_feature_space_put_text(r->space, name, length, value, (size_t)(end - value));
	r->unnamed += length == 0;
	r->at = end;
	return COP_OK;
}

static cop_err read_feature(reading *r)
{
	const char *end = r->line->end;
	const char *name = r->at;
	const char *stop = name_end(name, end);
	double value = 1.0;
	r->at = stop;
	if (stop < end && *stop == ':') {
		r->at = cop_number_scan(stop + 1, end, &value);
		if (r->at == NULL || !is_end(r->at, end))
			return read_text(r, name, (size_t)(stop - name), stop + 1);
		if (!isfinite((float)(value * r->lane->scale)))
			return too_large(r, stop + 1);
	}
	if (stop == name)
		cop_feature_space_put_unnamed(r->space, r->unnamed++, value);
	else
		cop_feature_space_put(r->space, name, (size_t)(stop - name), value);
	return COP_OK;
}

/* A short number at `at` that ends where it should, and fits a float; NULL: none. It never reaches over the line's end,
 * where a zero byte stands; what is read behind that is slack. */
static inline __attribute__((always_inline)) const char *read_short(
        const char *at, const char *end, double scale, float *value)
{
	double wide;
	const char *stop = cop_number_short_scan(at, &wide);
	if (stop == NULL || stop > end || !is_end(stop, end))
		return NULL;
	*value = (float)(wide * scale);
	return isfinite(*value) ? stop : NULL;
}

/* An open lane in registers. */
typedef struct run {
	const cop_name_order_hint *hint, *last;
	float *slot;
	size_t features;
	uint32_t space;
	double scale;
} run;

static inline run run_begin(const cop_name_order *lane)
{
	return (run){ .hint = lane->hint + lane->at,
		.last = lane->hint + lane->count,
		.slot = lane->slot,
		.space = lane->space,
		.scale = lane->scale };
}

static inline void run_put(run *u, float value)
{
	u->slot[u->hint->slot] += value;
	u->features += value != 0.0F;
	u->hint++;
}

/* false: the run went nowhere. */
static inline bool run_end(const run *u, reading *r, const char *at)
{
	r->lane->at = (size_t)(u->hint - r->lane->hint);
	r->lane->features += u->features;
	bool some = at > r->at;
	r->at = at;
	return some;
}

/* As many features as the lane expects and the line has, a space between them, each with a short number. That a space
 * follows is a branch, predicted well: so the next feature need not wait for that byte. */
static bool read_run(reading *r)
{
	const char *end = r->line->end;
	const char *at = r->at;
	if (!r->lane->open || r->lane->at >= r->lane->count)
		return false;
	run u = run_begin(r->lane);
	while (at < end && u.hint < u.last) {
		size_t left = (size_t)(end - at);
		size_t length = u.hint->length;
		if (!cop_name_order_hint_match(u.hint, u.space, at, left + COP_STREAM_SLACK) || length >= left ||
		        at[length] != ':')
			break;
		float value;
		const char *stop = read_short(at + length + 1, end, u.scale, &value);
		if (stop == NULL)
			break;
		run_put(&u, value);
		at = stop;
		if (*stop != ' ')
			break;
		at = stop + 1;
	}
	return run_end(&u, r, at);
}

/* The same for features without names. */
static bool read_run_unnamed(reading *r)
{
	const char *end = r->line->end;
	const char *at = r->at;
	if (!r->lane->open || r->lane->at >= r->lane->count)
		return false;
	run u = run_begin(r->lane);
	while (at < end && u.hint < u.last && *at == ':' && u.hint->ordinal == r->unnamed && u.hint->space == u.space) {
		float value;
		const char *stop = read_short(at + 1, end, u.scale, &value);
		if (stop == NULL)
			break;
		run_put(&u, value);
		r->unnamed++;
		at = stop;
		if (*stop != ' ')
			break;
		at = stop + 1;
	}
	return run_end(&u, r, at);
}

cop_err cop_vw_features_read(cop_feature_space *space, const cop_vw_line *line)
{
	reading r = { .space = space, .lane = cop_feature_space_lane(space), .line = line, .at = line->bar };
	cop_err err = COP_OK;
	while (r.at < line->end && err == COP_OK) {
		if (cop_vw_is_blank(*r.at)) {
			r.at++;
		} else if (*r.at == '|') {
			r.at++;
			err = read_namespace(&r);
		} else if (!read_run(&r) && !read_run_unnamed(&r)) {
			err = read_feature(&r);
		}
	}
	return err;
}
