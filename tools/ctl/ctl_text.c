/* Only what is present is printed: scalars as they are, maps and arrays of scalars in one row, everything else as a
 * table below its key. */
#include "ctl_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define KEY_WIDTH 15 /* and a space, also behind a longer key */

/* ---- values of any kind ---- */

static double number_of(const cop_json *object, const char *key)
{
	double number;
	return cop_json_get_number(cop_json_member(object, key), &number) == COP_OK ? number : (double)NAN;
}

static const char *text_of(const cop_json *object, const char *key, const char *otherwise)
{
	const char *text;
	return cop_json_get_text(cop_json_member(object, key), &text, NULL) == COP_OK ? text : otherwise;
}

static bool flag_of(const cop_json *object, const char *key)
{
	bool flag;
	return cop_json_get_boolean(cop_json_member(object, key), &flag) == COP_OK && flag;
}

static bool is_scalar(const cop_json *value)
{
	cop_json_type type = cop_json_type_of(value);
	return type != COP_JSON_OBJECT && type != COP_JSON_ARRAY;
}

static void print_scalar(const cop_json *value, FILE *out)
{
	int64_t whole;
	double number;
	bool flag;
	const char *text;
	if (cop_json_get_integer(value, &whole) == COP_OK)
		(void)fprintf(out, "%" PRId64, whole);
	else if (cop_json_get_number(value, &number) == COP_OK)
		(void)fprintf(out, fabs(number) < 1e6 ? "%.6g" : "%.10g", number); /* a time has seconds */
	else if (cop_json_get_boolean(value, &flag) == COP_OK)
		(void)fputs(flag ? "yes" : "no", out);
	else
		(void)fputs(cop_json_get_text(value, &text, NULL) == COP_OK ? text : "none", out);
}

static bool all_scalars(const cop_json *container)
{
	const char *key = NULL;
	const cop_json *value;
	if (cop_json_type_of(container) == COP_JSON_OBJECT) {
		while ((value = cop_json_next_member(container, &key)) != NULL)
			if (!is_scalar(value))
				return false;
		return true;
	}
	for (size_t i = 0; i < cop_json_size(container); i++)
		if (!is_scalar(cop_json_element(container, i)))
			return false;
	return true;
}

static void print_row(const cop_json *container, FILE *out);

/* A map or array in brackets. */
static void print_value(const cop_json *value, FILE *out)
{
	bool map = cop_json_type_of(value) == COP_JSON_OBJECT;
	if (is_scalar(value)) {
		print_scalar(value, out);
		return;
	}
	(void)fputc(map ? '{' : '[', out);
	print_row(value, out);
	(void)fputc(map ? '}' : ']', out);
}

/* A map or array in a row. */
static void print_row(const cop_json *container, FILE *out)
{
	const char *key = NULL;
	const char *between = "";
	const cop_json *value;
	if (cop_json_size(container) == 0)
		(void)fputs("none", out);
	while ((value = cop_json_next_member(container, &key)) != NULL) {
		(void)fprintf(out, "%s%s ", between, key);
		print_value(value, out);
		between = ", ";
	}
	for (size_t i = 0; (value = cop_json_element(container, i)) != NULL; i++) {
		(void)fputs(between, out);
		print_value(value, out);
		between = ", ";
	}
}

/* Seconds since 1970; false: it is none that can be written so. */
static bool print_time(const cop_json *value, FILE *out)
{
	double seconds;
	char text[32];
	struct tm utc;
	if (cop_json_get_number(value, &seconds) != COP_OK || !(fabs(seconds) < 1e11))
		return false;
	const time_t whole = (time_t)floor(seconds);
	if (gmtime_r(&whole, &utc) == NULL || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		return false;
	(void)fputs(text, out);
	return true;
}

static void print_elements(const cop_json *array, unsigned indent, const char *const *times, FILE *out);

/* times: keys whose numbers are times, NULL-terminated. */
static void print_table(const cop_json *reply, unsigned indent, const char *const *times, FILE *out)
{
	const char *key = NULL;
	const cop_json *value;
	while ((value = cop_json_next_member(reply, &key)) != NULL) {
		const char *const *time = times;
		(void)fprintf(out, "%*s%-*s ", (int)indent, "", KEY_WIDTH, key);
		while (*time != NULL && strcmp(*time, key) != 0)
			time++;
		if (is_scalar(value) && (*time == NULL || !print_time(value, out))) {
			print_scalar(value, out);
		} else if (!is_scalar(value) && all_scalars(value)) {
			print_row(value, out);
		} else if (cop_json_type_of(value) == COP_JSON_OBJECT) {
			(void)fputc('\n', out);
			print_table(value, indent + 2, times, out);
			continue;
		}
		(void)fputc('\n', out);
		if (!is_scalar(value) && !all_scalars(value))
			print_elements(value, indent + 2, times, out);
	}
}

/* Of an array, each below the one before: maps as tables, all else in a row. */
static void print_elements(const cop_json *array, unsigned indent, const char *const *times, FILE *out)
{
	for (size_t i = 0; i < cop_json_size(array); i++) {
		const cop_json *element = cop_json_element(array, i);
		if (cop_json_type_of(element) == COP_JSON_OBJECT) {
			print_table(element, indent, times, out);
			continue;
		}
		(void)fprintf(out, "%*s", (int)indent, "");
		if (is_scalar(element))
			print_scalar(element, out);
		else
			print_row(element, out);
		(void)fputc('\n', out);
	}
}

void cop_ctl_text_table(const cop_json *reply, unsigned indent, FILE *out)
{
	static const char *const no_times[] = { NULL };
	print_table(reply, indent, no_times, out);
}

void cop_ctl_text_forgotten(const cop_json *reply, FILE *out)
{
	static const char *const times[] = { "first", "last", NULL };
	print_table(reply, 0, times, out);
}

/* ---- status ---- */

static bool holds_maps(const cop_json *value)
{
	return cop_json_type_of(value) == COP_JSON_ARRAY && cop_json_size(value) > 0 &&
	       cop_json_type_of(cop_json_element(value, 0)) == COP_JSON_OBJECT;
}

/* Each of several maps in a row of its own, below their key. */
static void print_maps(const cop_json *maps, const char *before, FILE *out)
{
	for (size_t i = 0; i < cop_json_size(maps); i++) {
		(void)fprintf(out, "\n%s  ", before);
		print_row(cop_json_element(maps, i), out);
	}
}

/* Every member but `other`, one a line. */
static void print_members(const cop_json *map, const char *other, const char *before, const char *after, FILE *out)
{
	const char *key = NULL;
	const cop_json *value;
	while ((value = cop_json_next_member(map, &key)) != NULL) {
		if (strcmp(key, other) == 0)
			continue;
		(void)fprintf(out, "%s%-*s %s", before, KEY_WIDTH, key, after);
		if (is_scalar(value))
			print_scalar(value, out);
		else if (holds_maps(value))
			print_maps(value, before, out);
		else
			print_row(value, out);
		(void)fputc('\n', out);
	}
}

void cop_ctl_text_status(const cop_json *reply, FILE *out)
{
	print_members(reply, "models", "", "  ", out);
	const cop_json *models = cop_json_member(reply, "models");
	for (size_t i = 0; i < cop_json_size(models); i++) {
		const cop_json *model = cop_json_element(models, i);
		(void)fprintf(out, "\nmodel %s\n", text_of(model, "name", "?"));
		print_members(model, "name", "  ", "", out);
	}
}

/* ---- explain ---- */

static void print_features(const cop_json *features, FILE *out)
{
	if (cop_json_size(features) == 0)
		return;
	(void)fprintf(out, "    %-20s %10s %10s %12s\n", "feature", "value", "weight", "contribution");
	for (size_t i = 0; i < cop_json_size(features); i++) {
		const cop_json *f = cop_json_element(features, i);
		(void)fprintf(out, "    %-20s %10.4g %10.4g %+12.4g\n", text_of(f, "feature", "?"),
		        number_of(f, "value"), number_of(f, "weight"), number_of(f, "contribution"));
	}
}

static void print_node(const cop_json *node, FILE *out)
{
	const cop_json *features = cop_json_member(node, "features");
	(void)fprintf(out, "      node %-4.0f margin %+9.4f  %-5s ", number_of(node, "node"), number_of(node, "margin"),
	        flag_of(node, "right") ? "right" : "left");
	for (size_t i = 0; i < cop_json_size(features); i++) {
		const cop_json *f = cop_json_element(features, i);
		(void)fprintf(out, "%s%s %+.3g", i == 0 ? " " : ", ", text_of(f, "feature", "?"),
		        number_of(f, "contribution"));
	}
	(void)fputc('\n', out);
}

static void print_expert(const cop_json *expert, FILE *out)
{
	if (flag_of(expert, "resting")) {
		(void)fprintf(out, "\nexpert %s: resting\n", text_of(expert, "name", "?"));
		return;
	}
	(void)fprintf(out, "\nexpert %s: weight %.4f, prediction %.4f, contribution %.4f, linear term %+.4f\n",
	        text_of(expert, "name", "?"), number_of(expert, "weight"), number_of(expert, "prediction"),
	        number_of(expert, "contribution"), number_of(expert, "linear"));
	print_features(cop_json_member(expert, "features"), out);
	const cop_json *trees = cop_json_member(expert, "trees");
	for (size_t i = 0; i < cop_json_size(trees); i++) {
		const cop_json *tree = cop_json_element(trees, i);
		const cop_json *path = cop_json_member(tree, "path");
		(void)fprintf(out, "    tree %zu: leaf %.0f, value %+.4g\n", i, number_of(tree, "leaf"),
		        number_of(tree, "value"));
		for (size_t j = 0; j < cop_json_size(path); j++)
			print_node(cop_json_element(path, j), out);
	}
}

static void print_action(const cop_json *reply, FILE *out)
{
	const char *arm = text_of(reply, "arm", NULL);
	if (cop_json_member(reply, "y") != NULL) {
		(void)fprintf(out, "value %.6g\n", number_of(reply, "y"));
		return;
	}
	(void)fprintf(out, "arm %.0f%s%s%s, propensity %.4f, %s, predicted loss %.4f\n", number_of(reply, "a"),
	        arm != NULL ? " (" : "", arm != NULL ? arm : "", arm != NULL ? ")" : "", number_of(reply, "p"),
	        flag_of(reply, "greedy") ? "the best predicted" : "explored", number_of(reply, "prediction"));
}

void cop_ctl_text_explain(const cop_json *reply, FILE *out)
{
	const cop_json *id = cop_json_member(reply, "id");
	bool decided = strcmp(text_of(reply, "state", ""), "decision") == 0;
	(void)fprintf(out, "model %s", text_of(reply, "model", "?"));
	if (id != NULL) {
		(void)fputs(", decision ", out);
		print_scalar(id, out);
	}
	(void)fprintf(out, ", %s (revision %.0f)\n", decided ? "as it was when it decided" : "as it is now",
	        number_of(reply, "rev"));
	print_action(reply, out);
	const cop_json *experts = cop_json_member(reply, "experts");
	for (size_t i = 0; i < cop_json_size(experts); i++)
		print_expert(cop_json_element(experts, i), out);
}
