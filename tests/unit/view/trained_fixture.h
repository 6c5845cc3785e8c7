/* Trained models of any shape for tests: a table of people in CSV, its preparation, and trees that are grown on it by
 * trying a few random splits at each node. Equal shapes give equal models. What fails asserts. */
#ifndef COP_TESTS_TRAINED_FIXTURE_H
#define COP_TESTS_TRAINED_FIXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stream.h"
#include "table/table.h"
#include "tree/tree_build.h"
#include "view/trained.h"

#define PEOPLE_TRIES 24
#define PEOPLE_D     16 /* features, at most */
#define PEOPLE_K     26

typedef struct people_shape {
	size_t trees;
	unsigned depth;
	size_t classes; /* 0: regression */
	cop_trees_rule rule;
	cop_tree_link link;
	bool oblique, linear; /* splits, leaves */
	bool hostile;         /* names */
	bool no_census;
	size_t rows; /* 0: 400 */
} people_shape;

typedef struct people {
	people_shape shape;
	cop_trained *model;
	cop_dataset *raw;  /* features as in the file */
	cop_dataset *rows; /* prepared */
	uint32_t *label;   /* classes */
	float *target;     /* regression, scaled */
	cop_rng rng;
} people;

static const char *const people_plain[] = { "age", "height", "colour", "income", "city", "kind" };
static const char *const people_hostile[] = { "</script><script>document.title='owned'</script>",
	"\x1b[31m*/ int x; /* \\", "a=b?\?/\"'%s%n", "\xff\xfe<b>&lt;\xe2\x80\xae", "]]>-->${alert(1)}`", "\\\"};//" };

static inline const char *people_class(const people_shape *shape, size_t k, char room[64])
{
	static const char *const plain[] = { "keep", "drop", "wait" };
	if (shape->hostile)
		(void)snprintf(room, 64, "<img src=x onerror=alert(1)>\\\"*/%c?\?/", (char)('A' + (int)k));
	else if (shape->classes <= 3)
		(void)snprintf(room, 64, "%s", plain[k]);
	else
		(void)snprintf(room, 64, "%c", (char)('A' + (int)k));
	return room;
}

/* A field in quotes; fields hold none. */
static inline void people_field(cop_bytes *csv, const char *text)
{
	cop_bytes_put(csv, "\"", 1);
	for (; *text != '\0'; text++)
		cop_bytes_put(csv, *text == '"' ? "'" : text, 1);
	cop_bytes_put(csv, "\"", 1);
}

static inline void people_csv(people *f, cop_bytes *csv)
{
	static const char *const colours[] = { "red", "green", "blue" }, *const cities[] = { "Oslo", "Roma", "Wien",
		"York" };
	const char *const *names = f->shape.hostile ? people_hostile : people_plain;
	char text[160], room[64];
	for (size_t c = 0; c < 6; c++) {
		people_field(csv, names[c]);
		cop_bytes_put(csv, c < 5 ? "," : "\n", 1);
	}
	for (size_t i = 0; i < f->shape.rows; i++) {
		double age = floor(18.0 + 70.0 * cop_rng_unit(&f->rng)), height = 150.0 + 45.0 * cop_rng_unit(&f->rng);
		double income = floor(exp(9.0 + 2.0 * cop_rng_unit(&f->rng)));
		size_t colour = (size_t)cop_rng_below(&f->rng, 3), city = (size_t)cop_rng_below(&f->rng, 4);
		double what = (age > 45.0 ? 1.0 : 0.0) + (colour == 1 ? 0.7 : 0.0) + 0.00002 * income +
		              0.3 * cop_rng_unit(&f->rng);
		(void)snprintf(
		        text, sizeof text, "%.0f,%.2f,%s,%.0f,%s,", age, height, colours[colour], income, cities[city]);
		cop_bytes_put(csv, text, strlen(text));
		if (f->shape.classes == 0) {
			(void)snprintf(text, sizeof text, "%.3f", 100.0 + 20.0 * what);
			cop_bytes_put(csv, text, strlen(text));
		} else {
			size_t k = (size_t)(what * 1.1 * (double)f->shape.classes / 3.4) % f->shape.classes;
			people_field(csv, people_class(&f->shape, i < f->shape.classes ? i : k, room));
		}
		cop_bytes_put(csv, "\n", 1);
	}
}

static inline void people_read(people *f, cop_encoder **preparation)
{
	cop_bytes csv;
	cop_stream *stream;
	cop_diag diag = { .message = "" };
	cop_table_settings settings = {
		.regression = f->shape.classes == 0, .scaling = COP_SCALE_STANDARD, .scale_target = true
	};
	cop_bytes_init(&csv);
	people_csv(f, &csv);
	COP_ASSERT(csv.err == COP_OK);
	COP_ASSERT(cop_stream_open_memory("people", csv.data, csv.length, &stream, &diag) == COP_OK);
	cop_err err = cop_table_training_from(stream, false, &settings, &f->raw, preparation, &diag);
	if (err != COP_OK)
		(void)fprintf(stderr, "people:%d: %s\n", (int)diag.line, diag.message);
	COP_ASSERT(err == COP_OK);
	cop_stream_free(stream);
	cop_bytes_fini(&csv);
	COP_ASSERT(cop_encoder_fit(*preparation, f->raw, f->raw->n, NULL) == COP_OK);
	COP_ASSERT(cop_encoder_classes(*preparation) == f->shape.classes);
	COP_ASSERT(cop_dataset_new_dense(f->raw->d, &f->rows) == COP_OK);
	COP_ASSERT(cop_dataset_append(f->rows, f->raw) == COP_OK);
	cop_encoder_apply(*preparation, f->rows);
	f->label = cop_mem_alloc(f->rows->n, sizeof *f->label);
	f->target = cop_mem_alloc(f->rows->n, sizeof *f->target);
	for (size_t i = 0; i < f->rows->n; i++)
		if (f->shape.classes > 0)
			f->label[i] = (uint32_t)f->rows->target[i];
		else
			f->target[i] = (float)cop_encoder_to_scale(*preparation, f->rows->target[i]);
}

/* ---- growing ---- */

/* Sum of squared deviations, or Gini times rows, of rows[0..n). */
static inline double people_impurity(const people *f, size_t n, const uint32_t *rows)
{
	double of[PEOPLE_K] = { 0.0 }, sum = 0.0, squares = 0.0;
	for (size_t i = 0; i < n; i++) {
		double t = f->shape.classes > 0 ? 1.0 : (double)f->target[rows[i]];
		of[f->shape.classes > 0 ? f->label[rows[i]] : 0] += t;
		squares += t * t;
	}
	for (size_t k = 0; k < PEOPLE_K; k++)
		sum += n > 0 ? of[k] * of[k] / (double)n : 0.0;
	return squares - sum;
}

static inline void people_draw(people *f, size_t n, const uint32_t *rows, float *w, float *bias)
{
	size_t d = f->rows->d, features = f->shape.oblique ? 2 + (size_t)cop_rng_below(&f->rng, d - 1) : 1;
	const float *x = f->rows->x + rows[cop_rng_below(&f->rng, n)] * d;
	memset(w, 0, d * sizeof *w);
	*bias = 0.0f;
	for (size_t i = 0; i < features; i++) {
		size_t j = (size_t)cop_rng_below(&f->rng, d);
		w[j] = f->shape.oblique ? (float)(2.0 * cop_rng_unit(&f->rng) - 1.0) : 1.0f;
	}
	for (size_t j = 0; j < d; j++)
		*bias -= w[j] * x[j];
}

/* Moves the rows that go left to the front; their number. */
static inline size_t people_part(const people *f, size_t n, uint32_t *rows, const float *w, float bias)
{
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		float sum = bias;
		for (size_t j = 0; j < f->rows->d; j++)
			sum += w[j] * f->rows->x[rows[i] * f->rows->d + j];
		if (sum < 0.0f) {
			uint32_t row = rows[i];
			rows[i] = rows[left];
			rows[left++] = row;
		}
	}
	return left;
}

static inline int32_t people_leaf(people *f, cop_tree_build *build, size_t n, const uint32_t *rows)
{
	float values[PEOPLE_K] = { 0.0f }, v[PEOPLE_K * PEOPLE_D] = { 0.0f };
	uint32_t output[PEOPLE_K];
	size_t d = f->rows->d, outputs = f->shape.classes > 0 ? f->shape.classes : 1, present = 0;
	for (size_t i = 0; i < n; i++)
		values[f->shape.classes > 0 ? f->label[rows[i]] : 0] +=
		        (f->shape.classes > 0 ? 1.0f : f->target[rows[i]]) / (float)n;
	if (!f->shape.linear && f->shape.link != COP_TREE_LOGITS)
		return cop_tree_build_constant(build, values);
	for (uint32_t k = 0; k < outputs; k++) {
		if (f->shape.classes > 0 && values[k] == 0.0f)
			continue;
		for (size_t j = 0; j < d && f->shape.linear; j++)
			v[present * d + j] = j % 3 == k % 3 ? 0.0f : (float)(0.2 * cop_rng_unit(&f->rng) - 0.1);
		values[present] = f->shape.link == COP_TREE_LOGITS ? logf(values[k]) : values[k];
		output[present++] = k;
	}
	return cop_tree_build_linear(build, present, output, v, values);
}

static inline int32_t people_grow(people *f, cop_tree_build *build, size_t n, uint32_t *rows, unsigned depth)
{
	float w[PEOPLE_D], best_w[PEOPLE_D], bias, best_bias = 0.0f;
	double least = (double)INFINITY;
	for (size_t i = 0; i < PEOPLE_TRIES && depth > 0 && n > 1; i++) {
		people_draw(f, n, rows, w, &bias);
		size_t left = people_part(f, n, rows, w, bias);
		double impurity = people_impurity(f, left, rows) + people_impurity(f, n - left, rows + left);
		if (left == 0 || left == n || impurity >= least)
			continue;
		least = impurity;
		best_bias = bias;
		memcpy(best_w, w, sizeof w);
	}
	if (isinf(least))
		return people_leaf(f, build, n, rows);
	size_t left = people_part(f, n, rows, best_w, best_bias);
	int32_t node = cop_tree_build_node(build, best_w, best_bias);
	int32_t l = people_grow(f, build, left, rows, depth - 1);
	int32_t r = people_grow(f, build, n - left, rows + left, depth - 1);
	cop_tree_build_children(build, node, l, r);
	return node;
}

static inline cop_tree *people_tree(people *f)
{
	cop_tree_build *build;
	cop_tree *tree;
	size_t outputs = f->shape.classes > 0 ? f->shape.classes : 1;
	uint32_t *rows = cop_mem_alloc(f->rows->n, sizeof *rows);
	for (size_t i = 0; i < f->rows->n; i++)
		rows[i] = (uint32_t)i;
	COP_ASSERT(f->rows->d <= PEOPLE_D && outputs <= PEOPLE_K);
	COP_ASSERT(cop_tree_build_new(f->rows->d, outputs, f->shape.link, &build) == COP_OK);
	int32_t root = people_grow(f, build, f->rows->n, rows, f->shape.depth);
	COP_ASSERT(cop_tree_build_finish(build, root, &tree) == COP_OK);
	cop_tree_build_free(build);
	cop_mem_free(rows);
	return tree;
}

static inline void people_trees(people *f)
{
	cop_tree *tree[64];
	double weight[64], base[PEOPLE_K];
	COP_ASSERT(f->shape.trees <= 64);
	for (size_t i = 0; i < f->shape.trees; i++) {
		tree[i] = people_tree(f);
		weight[i] = f->shape.rule >= COP_TREES_SUM ? 0.1 : 1.0 + (double)(i % 3);
	}
	for (size_t k = 0; k < PEOPLE_K; k++)
		base[k] = f->shape.rule >= COP_TREES_SUM ? 0.25 : 0.0;
	COP_ASSERT(cop_trees_new(f->shape.rule, f->shape.trees, tree, weight, base, &f->model->trees) == COP_OK);
}

static inline void people_init(people *f, const people_shape *shape)
{
	*f = (people){ .shape = *shape };
	f->shape.rows = shape->rows == 0 ? 400 : shape->rows;
	cop_rng_init(&f->rng, 7, 0);
	f->model = cop_mem_alloc(1, sizeof *f->model);
	f->model->learner = cop_mem_strdup(shape->hostile ? "<i>tao</i>" : "tao");
	f->model->settings = cop_mem_strdup(shape->hostile ? "--x='\x07*/' </pre>" : "--height 4 --seed 7");
	people_read(f, &f->model->preparation);
	people_trees(f);
	if (!shape->no_census)
		COP_ASSERT(cop_trained_take_census(f->model, f->rows, shape->classes > 0 ? f->label : NULL,
		                   shape->classes > 0 ? NULL : f->target) == COP_OK);
}

static inline void people_fini(people *f)
{
	cop_trained_free(f->model);
	cop_dataset_free(f->raw);
	cop_dataset_free(f->rows);
	cop_mem_free(f->label);
	cop_mem_free(f->target);
}

#endif
