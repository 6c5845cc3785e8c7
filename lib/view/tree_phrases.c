/* A test of one feature j, w x + b >= 0 with x = (raw - shift) scale, is raw >= shift - b / (w scale), or <= where w is
 * below 0. A one-hot feature knows two raw values, 0 and 1: the test is about the category where they part. */
#include "view/tree_phrases.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/json.h"

#define SAID_CLASSES 3 /* of a mix, and rows of a linear leaf */

cop_tree_phrases cop_tree_phrases_of(const cop_trained *model, size_t i, size_t top)
{
	return (cop_tree_phrases){ .tree = cop_trees_at(model->trees, i),
		.preparation = model->preparation,
		.census = model->census != NULL ? &model->census[i] : NULL,
		.part = cop_trees_adds(model->trees),
		.top = top };
}

/* ---- text ---- */

void cop_tree_phrases_put(cop_bytes *out, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	COP_ASSERT(length >= 0 && (size_t)length < sizeof text);
	cop_bytes_put(out, text, (size_t)length);
}

/* Does this well-formed sequence steer what shows it: C0, DEL, C1, line ends, directions? */
static bool steers(const uint8_t *at, size_t length)
{
	if (length == 1)
		return at[0] < 0x20 || at[0] == 0x7f;
	if (length == 2)
		return at[0] == 0xc2 && at[1] < 0xa0;
	if (length != 3 || at[0] != 0xe2)
		return length == 3 && at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf; /* byte order mark */
	/* U+200B-200F, 2028-202E; U+2060-206F */
	return (at[1] == 0x80 && ((at[2] >= 0x8b && at[2] <= 0x8f) || (at[2] >= 0xa8 && at[2] <= 0xae))) ||
	       (at[1] == 0x81 && at[2] >= 0xa0 && at[2] <= 0xaf);
}

static void clean(const char *text, size_t left, cop_bytes *out)
{
	for (const uint8_t *at = (const uint8_t *)text; left > 0;) {
		size_t length = cop_json_utf8_length(at, left), taken = length == 0 ? 1 : length;
		if (length > 0 && !steers(at, length))
			cop_bytes_put(out, at, length);
		else
			for (size_t i = 0; i < taken; i++)
				cop_tree_phrases_put(out, "\\x%02x", at[i]);
		at += taken;
		left -= taken;
	}
}

void cop_tree_phrases_clean(const char *text, cop_bytes *out) { clean(text, strlen(text), out); }

void cop_tree_phrases_number(double value, cop_bytes *out)
{
	char text[40];
	double size = fabs(value);
	int length = snprintf(text, sizeof text, size >= 1e5 && size < 1e15 ? "%.1f" : "%.6g", value + 0.0);
	if (length > 2 && strcmp(text + length - 2, ".0") == 0)
		text[length - 2] = '\0';
	cop_bytes_put(out, text, strlen(text));
}

/* With its sign, as a summand. */
static void put_summand(const cop_tree_phrases *words, double value, cop_bytes *out)
{
	if (value == 0.0)
		value = 0.0; /* no -0 */
	cop_bytes_put(out, value < 0.0 ? words->mathematical ? "−" : "-" : "+",
	        value < 0.0 && words->mathematical ? sizeof "−" - 1 : 1);
	cop_tree_phrases_put(out, "%.4g", fabs(value));
}

void cop_tree_phrases_feature(const cop_tree_phrases *words, size_t j, cop_bytes *out)
{
	if (words->features != NULL)
		cop_tree_phrases_clean(words->features[j], out);
	else if (words->preparation != NULL)
		cop_tree_phrases_clean(cop_encoder_feature(words->preparation, j), out);
	else
		cop_tree_phrases_put(out, "x%zu", j);
}

/* A name that is a number gets a word before it. */
static void put_class(const char *name, cop_bytes *out)
{
	if (name[strspn(name, "+-.0123456789")] == '\0')
		cop_tree_phrases_put(out, "class ");
	cop_tree_phrases_clean(name, out);
}

void cop_tree_phrases_output(const cop_tree_phrases *words, size_t k, cop_bytes *out)
{
	if (words->outputs != NULL)
		cop_tree_phrases_clean(words->outputs[k], out);
	else if (words->preparation != NULL && cop_encoder_classes(words->preparation) > 0)
		put_class(cop_encoder_class(words->preparation, k), out);
	else
		cop_tree_phrases_put(out, "output %zu", k);
}

/* ---- heaviest ---- */

/* Places kept so far, by descending size. */
typedef struct heaviest_list {
	size_t top, kept;
	double size[COP_TREE_PHRASES_MOST];
	uint32_t *place;
} heaviest_list;

static void keep(heaviest_list *list, size_t j, double size)
{
	size_t at = list->kept;
	if (!(size > 0.0) || list->top == 0 || (at == list->top && size <= list->size[at - 1]))
		return;
	if (at == list->top)
		at--;
	else
		list->kept++;
	for (; at > 0 && list->size[at - 1] < size; at--) {
		list->size[at] = list->size[at - 1];
		list->place[at] = list->place[at - 1];
	}
	list->size[at] = size;
	list->place[at] = (uint32_t)j;
}

size_t cop_tree_phrases_heaviest(size_t count, const float *w, size_t top, uint32_t *place)
{
	heaviest_list list = { .top = top, .place = place };
	COP_ASSERT(top <= COP_TREE_PHRASES_MOST);
	for (size_t j = 0; j < count; j++)
		keep(&list, j, fabs((double)w[j]));
	return list.kept;
}

size_t cop_tree_phrases_commonest(size_t count, const double *rows, size_t top, uint32_t *place)
{
	heaviest_list list = { .top = top, .place = place };
	COP_ASSERT(top <= COP_TREE_PHRASES_MOST);
	for (size_t j = 0; j < count; j++)
		keep(&list, j, rows[j]);
	return list.kept;
}

/* ---- tests ---- */

/* Length of the column's name in that of a feature that is 0 or 1; else 0. */
static size_t stem(const cop_tree_phrases *words, size_t j)
{
	return words->preparation == NULL || words->features != NULL ? 0 : cop_encoder_stem(words->preparation, j);
}

/* Whether a row whose feature j is `raw` goes right, to the last bit. */
static bool goes_right(const cop_tree_phrases *words, size_t j, double raw, float w, float bias)
{
	double shift, scale;
	cop_encoder_scale(words->preparation, j, &shift, &scale);
	return w * (float)((raw - shift) * scale) + bias >= 0.0f;
}

static double raw_of(const cop_tree_phrases *words, size_t j, double prepared)
{
	double shift = 0.0, scale = 1.0;
	if (words->preparation != NULL)
		cop_encoder_scale(words->preparation, j, &shift, &scale);
	double raw = prepared / scale + shift;
	return isfinite(raw) ? raw : prepared;
}

/* Of one feature. */
static void simple_test(const cop_tree_phrases *words, float w, float bias, cop_tree_test *test)
{
	size_t j = test->feature;
	test->kind = COP_TREE_TEST_NUMBER;
	test->turned = w < 0.0f;
	test->threshold = raw_of(words, j, -(double)bias / (double)w);
	if (stem(words, j) == 0)
		return;
	bool without = goes_right(words, j, 0.0, w, bias), with = goes_right(words, j, 1.0, w, bias);
	if (without == with)
		return;
	test->kind = COP_TREE_TEST_CATEGORY;
	test->turned = without;
}

cop_tree_test cop_tree_phrases_test_of(const cop_tree_phrases *words, size_t node)
{
	const cop_tree_vectors *nodes = &cop_tree_view(words->tree)->nodes;
	size_t from = nodes->start[node], to = nodes->start[node + 1], stored = 0;
	cop_tree_test test = { .kind = COP_TREE_TEST_OBLIQUE, .node = node };
	float w = 0.0f;
	for (size_t e = from; e < to; e++)
		if (nodes->weight[e] != 0.0f) {
			test.feature = nodes->index[e];
			w = nodes->weight[e];
			stored++;
		}
	if (stored == 1)
		simple_test(words, w, nodes->bias[node], &test);
	if (cop_tree_parts_facets(cop_tree_view(words->tree), node) > 0) {
		test.kind = COP_TREE_TEST_POLYTOPE;
	} else if (stored == 0) {
		test.kind = COP_TREE_TEST_ALWAYS;
		test.right = nodes->bias[node] >= 0.0f;
	}
	return test;
}

/* Terms of entries [from, to), heaviest first, then how many were left out, then the bias; all times `unit`. */
static void put_sum(
        const cop_tree_phrases *words, const cop_tree_vectors *vectors, size_t i, double unit, cop_bytes *out)
{
	uint32_t place[COP_TREE_PHRASES_MOST];
	size_t from = vectors->start[i], count = vectors->start[i + 1] - from, present = 0;
	const float *w = vectors->weight + from;
	size_t said = cop_tree_phrases_heaviest(count, w, words->top, place);
	for (size_t e = 0; e < count; e++)
		present += w[e] != 0.0f;
	for (size_t s = 0; s < said; s++) {
		put_summand(words, unit * (double)w[place[s]], out);
		cop_tree_phrases_put(out, " ");
		cop_tree_phrases_feature(words, vectors->index[from + place[s]], out);
		cop_tree_phrases_put(out, " ");
	}
	if (present > said)
		cop_tree_phrases_put(out, "(%zu lighter) ", present - said);
}

static const char *sign_of(const cop_tree_phrases *words, bool greater, bool equal)
{
	if (!equal)
		return greater ? " > " : " < ";
	if (words->mathematical)
		return greater ? " ≥ " : " ≤ ";
	return greater ? " >= " : " <= ";
}

void cop_tree_phrases_polytope(const cop_tree_phrases *words, size_t node, bool outside, cop_bytes *out)
{
	const size_t facets = cop_tree_parts_facets(cop_tree_view(words->tree), node);
	cop_tree_phrases_put(
	        out, "%s a polytope of %zu facet%s", outside ? "outside" : "inside", facets, facets == 1 ? "" : "s");
}

size_t cop_tree_phrases_heaviest_facets(const cop_tree_phrases *words, size_t node, uint32_t *place)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	const size_t from = parts->facet[node], count = parts->facet[node + 1] - from;
	const size_t shown = cop_tree_phrases_heaviest(count, parts->r + from, words->top, place);
	for (size_t i = 0; i < shown; i++)
		place[i] += (uint32_t)from;
	return shown;
}

static void put_polytope(const cop_tree_phrases *words, size_t node, bool outside, cop_bytes *out)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	const size_t facets = cop_tree_parts_facets(parts, node);
	uint32_t place[COP_TREE_PHRASES_MOST];
	const size_t shown = cop_tree_phrases_heaviest_facets(words, node, place);
	cop_tree_phrases_polytope(words, node, outside, out);
	cop_tree_phrases_put(out, ": ");
	for (size_t i = 0; i < shown; i++) {
		put_summand(words, (double)parts->r[place[i]], out);
		cop_tree_phrases_put(out, " s(");
		put_sum(words, &parts->facets, place[i], 1.0, out);
		put_summand(words, (double)parts->facets.bias[place[i]], out);
		cop_tree_phrases_put(out, ") ");
	}
	if (facets > shown)
		cop_tree_phrases_put(out, "(%zu lighter) ", facets - shown);
	cop_tree_phrases_put(out, "%s", sign_of(words, outside, outside) + 1);
	cop_tree_phrases_number(-(double)parts->nodes.bias[node], out);
}

static void put_category(const cop_tree_phrases *words, size_t j, bool is, cop_bytes *out)
{
	const char *name = cop_encoder_feature(words->preparation, j);
	size_t column = stem(words, j);
	clean(name, column, out);
	cop_tree_phrases_put(out, is ? " is " : " is not ");
	cop_tree_phrases_clean(strcmp(name + column, "=?") == 0 ? "missing" : name + column + 1, out);
}

void cop_tree_phrases_test(const cop_tree_phrases *words, const cop_tree_test *test, bool holds, cop_bytes *out)
{
	const cop_tree_vectors *nodes = &cop_tree_view(words->tree)->nodes;
	switch (test->kind) {
	case COP_TREE_TEST_ALWAYS:
		cop_tree_phrases_put(out, test->right == holds ? "always" : "never");
		break;
	case COP_TREE_TEST_CATEGORY:
		put_category(words, test->feature, test->turned != holds, out);
		break;
	case COP_TREE_TEST_NUMBER:
		cop_tree_phrases_feature(words, test->feature, out);
		cop_tree_phrases_put(out, "%s", sign_of(words, test->turned != holds, holds));
		cop_tree_phrases_number(test->threshold, out);
		break;
	case COP_TREE_TEST_POLYTOPE:
		put_polytope(words, test->node, holds, out);
		break;
	case COP_TREE_TEST_OBLIQUE:
	default:
		put_sum(words, nodes, test->node, 1.0, out);
		put_summand(words, (double)nodes->bias[test->node], out);
		cop_tree_phrases_put(out, "%s0", sign_of(words, holds, holds));
		break;
	}
}

/* ---- leaves ---- */

double cop_tree_phrases_value(const cop_tree_phrases *words, double value)
{
	if (words->preparation == NULL || cop_encoder_classes(words->preparation) > 0)
		return value;
	double said = cop_encoder_from_scale(words->preparation, value);
	return words->part ? said - cop_encoder_from_scale(words->preparation, 0.0) : said;
}

/* One unit of a leaf's value in the file's. */
static double value_unit(const cop_tree_phrases *words)
{
	return cop_tree_phrases_value(words, 1.0) - cop_tree_phrases_value(words, 0.0);
}

double cop_tree_phrases_output_of(const cop_tree_phrases *words, size_t leaf, size_t k)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	double value = 0.0, most = (double)-INFINITY, sum = 0.0;
	bool found = false;
	for (size_t r = parts->leaf[leaf]; r < parts->leaf[leaf + 1]; r++) {
		most = fmax(most, (double)parts->rows.bias[r]);
		if (parts->output[r] == k) {
			value = (double)parts->rows.bias[r];
			found = true;
		}
	}
	if (parts->link != COP_TREE_LOGITS)
		return value;
	for (size_t r = parts->leaf[leaf]; r < parts->leaf[leaf + 1]; r++)
		sum += exp((double)parts->rows.bias[r] - most);
	return found ? exp(value - most) / sum : 0.0;
}

/* A leaf whose scores are linear: each row's sum, of the first rows. */
static void put_linear(const cop_tree_phrases *words, size_t leaf, cop_bytes *out)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	size_t from = parts->leaf[leaf], rows = parts->leaf[leaf + 1] - from;
	bool values = parts->link == COP_TREE_VALUES, one = values && parts->outputs == 1;
	if (!one)
		cop_tree_phrases_put(out, values                           ? ""
		                          : parts->link == COP_TREE_LOGITS ? "softmax of "
		                                                           : "greatest of ");
	for (size_t r = from; r < from + rows && r < from + SAID_CLASSES; r++) {
		cop_tree_phrases_put(out, r > from ? "; " : "");
		if (!one) {
			cop_tree_phrases_output(words, parts->output[r], out);
			cop_tree_phrases_put(out, ": ");
		}
		put_sum(words, &parts->rows, r, value_unit(words), out);
		put_summand(words, cop_tree_phrases_value(words, (double)parts->rows.bias[r]), out);
	}
	if (rows > SAID_CLASSES)
		cop_tree_phrases_put(out, "; %zu more", rows - SAID_CLASSES);
}

static void put_values(const cop_tree_phrases *words, size_t leaf, cop_bytes *out)
{
	size_t outputs = cop_tree_view(words->tree)->outputs;
	for (size_t k = 0; k < outputs && k < words->top; k++) {
		cop_tree_phrases_put(out, k > 0 ? ", " : "");
		cop_tree_phrases_number(cop_tree_phrases_value(words, cop_tree_phrases_output_of(words, leaf, k)), out);
	}
	if (outputs > words->top)
		cop_tree_phrases_put(out, " and %zu more", outputs - words->top);
}

void cop_tree_phrases_leaf(const cop_tree_phrases *words, size_t leaf, cop_bytes *out)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	if (!cop_tree_leaf_constant(words->tree, leaf)) {
		put_linear(words, leaf, out);
		return;
	}
	bool regression = words->preparation != NULL && cop_encoder_classes(words->preparation) == 0;
	if (parts->link == COP_TREE_VALUES && (regression || parts->outputs == 1)) {
		put_values(words, leaf, out);
		return;
	}
	size_t best = cop_tree_leaf_class(words->tree, leaf, NULL);
	cop_tree_phrases_output(words, best, out);
	cop_tree_phrases_put(out, " (%.4g)", cop_tree_phrases_output_of(words, leaf, best) + 0.0);
}

/* ---- census ---- */

bool cop_tree_phrases_census(const cop_tree_phrases *words, int32_t child, uint64_t *rows, const double **mix)
{
	const cop_node_counts *census = words->census;
	if (census == NULL)
		return false;
	size_t place = (size_t)(child >= 0 ? child : ~child);
	size_t width = census->classes ? census->outputs : 2 * census->outputs;
	*rows = child >= 0 ? census->node_rows[place] : census->leaf_rows[place];
	if (mix != NULL)
		*mix = (child >= 0 ? census->node_mix : census->leaf_mix) + place * width;
	return true;
}

bool cop_tree_phrases_rows(const cop_tree_phrases *words, int32_t child, cop_bytes *out)
{
	uint32_t place[SAID_CLASSES + 1];
	uint64_t rows;
	const double *mix;
	if (!cop_tree_phrases_census(words, child, &rows, &mix))
		return false;
	cop_tree_phrases_put(out, "%llu row%s", (unsigned long long)rows, rows == 1 ? "" : "s");
	if (!words->census->classes && rows > 0 && words->census->outputs == 1) {
		cop_tree_phrases_put(out, ", ");
		cop_tree_phrases_number(mix[0], out);
		cop_tree_phrases_put(out, " sd %.4g", mix[1]);
	}
	if (!words->census->classes || rows == 0)
		return true;
	size_t classes = cop_tree_phrases_commonest(words->census->outputs, mix, SAID_CLASSES + 1, place);
	for (size_t i = 0; i < classes && i < SAID_CLASSES; i++) {
		cop_tree_phrases_put(out, i == 0 ? ": " : ", ");
		cop_tree_phrases_output(words, place[i], out);
		cop_tree_phrases_put(out, " %.0f", mix[place[i]]);
	}
	if (classes > SAID_CLASSES)
		cop_tree_phrases_put(out, " ...");
	return true;
}
