/* How long a softmax tree and a plain softmax take for the class of a row, in one run and on the same rows:
 *
 *     softmax_speed PLAIN TREE FILE [REPEATS]            models of `coppice train`, rows with classes; 5
 *
 * Lines: wrong classes (%), microseconds a row, and how many times faster than the first. The plain softmax is a lone
 * leaf; it is timed with its weights turned in one piece, feature by feature, so that a sparse row reads only what is
 * in it, and as the model stores it, by blocks of classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "tools/common/labelled_rows.h"
#include "view/trained.h"

/* A lone leaf's weights by feature. */
typedef struct turned {
	size_t rows;
	const float *bias;
	const uint32_t *output;
	size_t *start; /* d + 1 */
	uint32_t *row;
	float *weight;
	float *score; /* rows: scratch */
} turned;

#define SUBJECTS 3
#define PART     100 /* rows */

typedef struct subject {
	const char *name;
	const cop_tree *tree;
	turned *turned; /* NULL: the tree as it is */
	size_t wrong;
	double took;
} subject;

static void turn(const cop_tree *tree, turned *t)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	size_t entries = parts->rows.start[parts->rows.count];
	*t = (turned){ .rows = parts->rows.count, .bias = parts->rows.bias, .output = parts->output };
	t->start = cop_mem_alloc(parts->d + 2, sizeof *t->start);
	t->row = cop_mem_alloc(entries, sizeof *t->row);
	t->weight = cop_mem_alloc(entries, sizeof *t->weight);
	t->score = cop_mem_alloc(t->rows, sizeof *t->score);
	if (t->start == NULL || t->row == NULL || t->weight == NULL || t->score == NULL)
		exit(1);
	for (size_t e = 0; e < entries; e++)
		t->start[parts->rows.index[e] + 2]++;
	for (size_t j = 2; j <= parts->d + 1; j++)
		t->start[j] += t->start[j - 1];
	for (size_t r = 0; r < t->rows; r++)
		for (size_t e = parts->rows.start[r]; e < parts->rows.start[r + 1]; e++) {
			size_t at = t->start[parts->rows.index[e] + 1]++;
			t->row[at] = (uint32_t)r;
			t->weight[at] = parts->rows.weight[e];
		}
}

static void turned_fini(turned *t)
{
	cop_mem_free(t->start);
	cop_mem_free(t->row);
	cop_mem_free(t->weight);
	cop_mem_free(t->score);
}

static size_t class_of(const subject *s, const cop_row *row)
{
	turned *t = s->turned;
	size_t best = 0;
	if (t == NULL)
		return cop_tree_class(s->tree, row);
	memcpy(t->score, t->bias, t->rows * sizeof *t->score);
	for (size_t k = 0; k < cop_row_entries(row); k++) {
		float x = cop_row_value(row, k);
		size_t j = cop_row_index(row, k);
		for (size_t e = t->start[j]; e < t->start[j + 1]; e++)
			t->score[t->row[e]] += x * t->weight[e];
	}
	for (size_t r = 1; r < t->rows; r++)
		best = t->score[r] > t->score[best] ? r : best;
	return t->output[best];
}

static double seconds(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One after another on the same rows, a few at a time, so that whatever else the machine does meets all alike; of each
 * such part the least time of the repeats counts. */
static void measure(subject *s, size_t subjects, const cop_labelled *rows, unsigned repeats)
{
	for (size_t from = 0; from < rows->data->n; from += PART) {
		size_t to = rows->data->n - from < PART ? rows->data->n : from + PART;
		double least[SUBJECTS] = { 1e300, 1e300, 1e300 };
		for (size_t k = 0; k < subjects * repeats; k++) {
			subject *at = &s[k % subjects];
			size_t wrong = 0;
			double begin = seconds();
			for (size_t i = from; i < to; i++) {
				cop_row row;
				cop_dataset_row(rows->data, i, &row);
				wrong += class_of(at, &row) != rows->label[i];
			}
			double took = seconds() - begin;
			least[k % subjects] = took < least[k % subjects] ? took : least[k % subjects];
			at->wrong += k < subjects ? wrong : 0;
		}
		for (size_t k = 0; k < subjects; k++)
			s[k].took += least[k];
	}
}

static void report(const subject *s, size_t subjects, size_t rows)
{
	for (size_t k = 0; k < subjects; k++)
		(void)printf("%-28s %6.2f %% wrong %10.3f us a row %8.1f times as fast\n", s[k].name,
		        100.0 * (double)s[k].wrong / (double)rows, 1e6 * s[k].took / (double)rows,
		        s[0].took / s[k].took);
}

static cop_err run(char **argv, unsigned repeats, cop_diag *diag)
{
	cop_trained *plain = NULL;
	cop_trained *tree = NULL;
	cop_labelled rows = { 0 };
	turned t = { 0 };
	cop_err err = cop_trained_load(argv[1], &plain, diag);
	if (err == COP_OK)
		err = cop_trained_load(argv[2], &tree, diag);
	if (err == COP_OK)
		err = cop_labelled_rows_read(argv[3], plain->preparation, true, &rows, diag);
	if (err == COP_OK) {
		turn(cop_trees_at(plain->trees, 0), &t);
		subject s[SUBJECTS] = {
			{ .name = "plain, turned", .tree = cop_trees_at(plain->trees, 0), .turned = &t },
			{ .name = "plain, as stored", .tree = cop_trees_at(plain->trees, 0) },
			{ .name = "softmax tree", .tree = cop_trees_at(tree->trees, 0) },
		};
		measure(s, SUBJECTS, &rows, repeats);
		report(s, SUBJECTS, rows.data->n);
	}
	turned_fini(&t);
	cop_labelled_rows_fini(&rows);
	cop_trained_free(plain);
	cop_trained_free(tree);
	return err;
}

int main(int argc, char **argv)
{
	cop_diag diag = { 0 };
	if (argc < 4 || argc > 5) {
		(void)fputs("usage: softmax_speed PLAIN TREE FILE [REPEATS]\n", stderr);
		return 2;
	}
	long repeats = argc > 4 ? strtol(argv[4], NULL, 10) : 5;
	cop_err err = run(argv, repeats > 0 ? (unsigned)repeats : 1, &diag);
	if (err != COP_OK)
		(void)fprintf(stderr, "softmax_speed: %s: %s\n", cop_err_text(err), diag.message);
	return err == COP_OK ? 0 : 1;
}
