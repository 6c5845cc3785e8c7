/* Leaves of many classes over a wide space: what they give at sparse rows is compared with plain sums over the features
 * in ascending order, to the bit, whatever the number of rows, blocks and stored features. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tree/tree_columns.h"

#define D    4000
#define ROWS 2500 /* three blocks */
#define NNZ  40

/* Weights of `rows` classes and their tree: a lone leaf. */
typedef struct subject {
	size_t rows, entries;
	size_t *start;
	uint32_t *index, *output;
	float *weight, *bias;
	cop_tree *tree;
} subject;

static void subject_init(subject *s, size_t rows, size_t outputs, uint64_t rarity, cop_tree_link link, cop_rng *rng)
{
	*s = (subject){ .rows = rows };
	s->start = cop_mem_alloc(rows + 1, sizeof *s->start);
	s->index = cop_mem_alloc(rows * D / (size_t)rarity * 2 + 100, sizeof *s->index);
	s->weight = cop_mem_alloc(rows * D / (size_t)rarity * 2 + 100, sizeof *s->weight);
	s->bias = cop_mem_alloc(rows, sizeof *s->bias);
	s->output = cop_mem_alloc(rows, sizeof *s->output);
	assert_true(s->start != NULL && s->index != NULL && s->weight != NULL && s->bias != NULL && s->output != NULL);
	for (size_t r = 0; r < rows; r++) {
		s->start[r] = s->entries;
		for (uint32_t j = 0; j < D; j++)
			if (cop_rng_below(rng, rarity) == 0) {
				s->index[s->entries] = j;
				s->weight[s->entries++] = r % 3 == 0 ? 1.0f : (float)cop_rng_normal(rng);
			}
		s->bias[r] = (float)cop_rng_normal(rng);
		s->output[r] = (uint32_t)(r + (outputs - rows) / 2);
	}
	s->start[rows] = s->entries;
	const size_t leaf[] = { 0, rows };
	const size_t none[] = { 0 };
	const cop_tree_parts parts = {
		.d = D,
		.outputs = outputs,
		.link = link,
		.nodes = { .start = none },
		.rows = { rows, s->start, s->index, s->weight, s->bias },
		.leaf = leaf,
		.output = s->output,
	};
	assert_int_equal(cop_tree_new(&parts, &s->tree), COP_OK);
}

static void subject_fini(subject *s)
{
	cop_tree_free(s->tree);
	cop_mem_free(s->start);
	cop_mem_free(s->index);
	cop_mem_free(s->weight);
	cop_mem_free(s->bias);
	cop_mem_free(s->output);
}

typedef struct sparse_row {
	uint32_t index[NNZ];
	float value[NNZ];
	float dense[D];
	cop_row row;
} sparse_row;

static void draw_row(sparse_row *s, size_t nnz, cop_rng *rng)
{
	memset(s->dense, 0, sizeof s->dense);
	size_t count = 0;
	for (uint32_t j = 0; j < D && count < nnz; j++)
		if (cop_rng_below(rng, D / NNZ) == 0) {
			s->index[count] = j;
			s->value[count] = (float)cop_rng_normal(rng);
			s->dense[j] = s->value[count++];
		}
	s->row = (cop_row){ .d = D, .nnz = count, .index = s->index, .value = s->value };
}

static float plain_score(const subject *s, size_t r, const float *x)
{
	float sum = 0.0f;
	for (size_t e = s->start[r]; e < s->start[r + 1]; e++)
		if (x[s->index[e]] != 0.0f)
			sum += s->weight[e] * x[s->index[e]];
	return sum + s->bias[r];
}

static void expect_as_plain(const subject *s, const sparse_row *x, size_t outputs)
{
	static float out[ROWS + 10];
	size_t best = 0;
	float most = -INFINITY;
	assert_int_equal(cop_tree_predict(s->tree, &x->row, out), 0);
	for (size_t r = 0; r < s->rows; r++) {
		float expected = plain_score(s, r, x->dense);
		assert_memory_equal(&out[s->output[r]], &expected, sizeof expected);
		best = expected > most ? r : best;
		most = fmaxf(expected, most);
	}
	for (size_t k = 0; k < outputs; k++)
		if (k < s->output[0] || k > s->output[s->rows - 1])
			assert_true(out[k] == 0.0f);
	if (most > 0.0f)
		assert_int_equal(cop_tree_class(s->tree, &x->row), s->output[best]);
}

static void test_scores_equal_plain_sums_to_the_bit(void **state)
{
	(void)state;
	static const struct {
		size_t rows, outputs;
		uint64_t rarity;
	} shapes[] = { { 3, 3, 50 }, { 8, 8, 20 }, { 200, 210, 100 }, { 1024, 1024, 400 }, { 1025, 1030, 400 },
		{ ROWS, ROWS, 800 }, { 100, 100, 20000 } };
	static sparse_row x;
	cop_rng rng;
	cop_rng_init(&rng, 21, 0);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		subject s;
		subject_init(&s, shapes[i].rows, shapes[i].outputs, shapes[i].rarity, COP_TREE_VALUES, &rng);
		assert_int_equal(cop_tree_columns_has(s.tree->columns, 0), shapes[i].rows >= 8);
		for (size_t k = 0; k < 20; k++) {
			draw_row(&x, k * NNZ / 19, &rng);
			expect_as_plain(&s, &x, shapes[i].outputs);
		}
		subject_fini(&s);
	}
}

static void test_softmax_over_blocks_sums_to_one(void **state)
{
	(void)state;
	static float out[ROWS];
	static sparse_row x;
	cop_rng rng;
	subject s;
	cop_rng_init(&rng, 22, 0);
	subject_init(&s, ROWS, ROWS, 500, COP_TREE_LOGITS, &rng);
	assert_true(cop_tree_columns_has(s.tree->columns, 0));
	for (size_t k = 0; k < 10; k++) {
		double sum = 0.0, expected = 0.0;
		draw_row(&x, NNZ, &rng);
		(void)cop_tree_predict(s.tree, &x.row, out);
		for (size_t r = 0; r < ROWS; r++)
			expected += exp((double)plain_score(&s, r, x.dense));
		for (size_t r = 0; r < ROWS; r++) {
			sum += (double)out[r];
			assert_true(fabs((double)out[r] - exp((double)plain_score(&s, r, x.dense)) / expected) < 1e-6);
		}
		assert_true(fabs(sum - 1.0) < 1e-4);
		size_t class = cop_tree_class(s.tree, &x.row);
		for (size_t r = 0; r < ROWS; r++)
			assert_true(out[r] <= out[class]);
	}
	subject_fini(&s);
}

static void test_leaves_that_gain_nothing_have_none(void **state)
{
	(void)state;
	cop_rng rng;
	subject s;
	cop_rng_init(&rng, 23, 0);
	subject_init(&s, 30, 30, 4, COP_TREE_VALUES, &rng); /* a quarter of all features */
	assert_false(cop_tree_columns_has(s.tree->columns, 0));
	subject_fini(&s);
}

static void test_dense_rows_go_by_the_rows_themselves(void **state)
{
	(void)state;
	static float by_dense[200], by_sparse[200];
	static sparse_row x;
	cop_rng rng;
	subject s;
	cop_rng_init(&rng, 24, 0);
	subject_init(&s, 200, 200, 100, COP_TREE_VALUES, &rng);
	draw_row(&x, NNZ, &rng);
	const cop_row dense = { .d = D, .dense = x.dense };
	(void)cop_tree_predict(s.tree, &dense, by_dense);
	(void)cop_tree_predict(s.tree, &x.row, by_sparse);
	for (size_t r = 0; r < s.rows; r++)
		assert_true(fabs((double)by_dense[r] - (double)by_sparse[r]) < 1e-4);
	subject_fini(&s);
}

static void test_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	cop_rng rng;
	subject s;
	cop_err err = COP_ENOMEM;
	cop_rng_init(&rng, 25, 0);
	subject_init(&s, 20, 20, 100, COP_TREE_VALUES, &rng);
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_tree_columns *columns;
		assert_true(n < 100);
		cop_test_alloc_fail(n, 0);
		err = cop_tree_columns_new(s.tree, &columns);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_int_equal(columns == NULL, err != COP_OK);
		cop_tree_columns_free(columns);
	}
	subject_fini(&s);
}

/* Both searches beside a look at one index after the other. */
static void test_searches_find_the_first_place_not_below(void **state)
{
	(void)state;
	uint32_t index[40], want[COP_TREE_FINDS];
	size_t at[COP_TREE_FINDS];
	for (size_t n = 0; n <= 40; n++) {
		for (uint32_t i = 0; i < n; i++)
			index[i] = 3 * i + 2;
		for (uint32_t first = 0; first < 3 * n + 6; first++) {
			for (uint32_t i = 0; i < COP_TREE_FINDS; i++)
				want[i] = (first + 7 * i) % (3 * (uint32_t)n + 6);
			for (size_t count = 1; count <= COP_TREE_FINDS; count++) {
				cop_tree_find_each(index, n, count, want, at);
				for (size_t i = 0; i < count; i++) {
					size_t place = 0;
					while (place < n && index[place] < want[i])
						place++;
					assert_int_equal(at[i], place);
					for (size_t from = 0; from <= n; from++)
						assert_int_equal(cop_tree_find(index, from, n, want[i]),
						        place > from ? place : from);
				}
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scores_equal_plain_sums_to_the_bit),
		cmocka_unit_test(test_softmax_over_blocks_sums_to_one),
		cmocka_unit_test(test_leaves_that_gain_nothing_have_none),
		cmocka_unit_test(test_dense_rows_go_by_the_rows_themselves),
		cmocka_unit_test(test_allocation_fails_gives_enomem),
		cmocka_unit_test(test_searches_find_the_first_place_not_below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
