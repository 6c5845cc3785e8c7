/* The joint fit ends below the direct fit, what it reports is what its trees give, and wrong settings are refused. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graph/affinity.h"
#include "train/tree_embedding.h"

#define SEED 3U
#define N    150
#define D    5
#define K    15

typedef struct scene {
	cop_dataset *rows;
	cop_graph *graph;
} scene;

static void begin(scene *s)
{
	static float weight[N * K];
	cop_neighbours near;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	assert_int_equal(cop_dataset_new_dense(D, &s->rows), COP_OK);
	for (size_t i = 0; i < N; i++) {
		float x[D];
		for (size_t j = 0; j < D; j++)
			x[j] = (float)(0.4 * cop_rng_normal(&rng) + (i % D == j ? 2.0 : 0.0));
		assert_int_equal(cop_dataset_push_dense(s->rows, x, 0.0), COP_OK);
	}
	const cop_points points = { .n = N, .d = D, .x = s->rows->x };
	assert_int_equal(cop_neighbours_exact(&points, NULL, K, NULL, &near), COP_OK);
	assert_int_equal(cop_affinity_entropic(&near, 5.0, NULL, weight), COP_OK);
	assert_int_equal(cop_graph_new(&near, weight, &s->graph), COP_OK);
	cop_neighbours_fini(&near);
}

static void end(scene *s)
{
	cop_dataset_free(s->rows);
	cop_graph_free(s->graph);
}

static cop_tree_embedding_settings settings(int method)
{
	cop_tree_embedding_settings set;
	cop_tree_embedding_defaults((cop_embedding_method)method, &set);
	set.tree.depth = 2;
	set.tree.iterations = 5;
	set.steps = 30;
	return set;
}

static cop_tree_embedding_result fit(const scene *s, const cop_tree_embedding_settings *set, cop_pool *pool)
{
	cop_tree_embedding_result result;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	assert_int_equal(cop_tree_embedding_fit(set, s->rows, s->graph, pool, &rng, NULL, &result), COP_OK);
	return result;
}

static double norm1(const cop_tree_vectors *v)
{
	double sum = 0.0;
	for (size_t e = 0; e < v->start[v->count]; e++)
		sum += fabs((double)v->weight[e]);
	return sum;
}

/* P by the header's definition. */
static double objective(const scene *s, const cop_tree_embedding_settings *set, const cop_tree *tree, const double *z)
{
	cop_embedding *e;
	const cop_tree_parts *parts = cop_tree_view(tree);
	for (size_t i = 0; i < N; i++) {
		float out[2];
		cop_row row;
		cop_dataset_row(s->rows, i, &row);
		(void)cop_tree_predict(tree, &row, out);
		assert_true((double)out[0] == z[2 * i] && (double)out[1] == z[2 * i + 1]);
	}
	assert_int_equal(cop_embedding_new(set->method, s->graph, NULL, &e), COP_OK);
	double b = set->method == COP_EMBEDDING_TSNE ? 1.0 : set->repulsion;
	double value = cop_embedding_objective(e, b, 0.0, z, NULL);
	cop_embedding_free(e);
	return value + set->lambda * (norm1(&parts->nodes) + norm1(&parts->rows));
}

static void test_joint_fit_is_below_the_direct_fit(void **state)
{
	scene s;
	(void)state;
	begin(&s);
	for (int method = 0; method < COP_EMBEDDING_METHODS; method++) {
		const cop_tree_embedding_settings set = settings(method);
		cop_tree_embedding_result r = fit(&s, &set, NULL);
		printf("method %d: free %.4f, direct %.4f, joint %.4f of round %u\n", method, r.free_objective,
		        r.direct_part.objective, r.joint_part.objective, r.best);
		assert_true(r.joint_part.objective < 0.9 * r.direct_part.objective);
		assert_true(r.free_objective < r.direct_part.embedding && r.rounds == set.rounds);
		assert_true(r.best > 0 && r.round[r.best - 1].objective == r.joint_part.objective);
		for (unsigned i = 0; i < r.rounds; i++)
			assert_true(r.round[i].objective >= r.joint_part.objective);
		double direct = objective(&s, &set, r.direct, r.direct_z),
		       joint = objective(&s, &set, r.joint, r.joint_z);
		assert_true(fabs(direct - r.direct_part.objective) < 1e-9 * direct);
		assert_true(fabs(joint - r.joint_part.objective) < 1e-9 * joint);
		cop_tree_embedding_fini(&r);
	}
	end(&s);
}

static void test_rounds_tie_embedding_and_tree(void **state)
{
	scene s;
	(void)state;
	begin(&s);
	const cop_tree_embedding_settings set = settings(COP_EMBEDDING_TSNE);
	cop_tree_embedding_result r = fit(&s, &set, NULL);
	printf("gap %.4f, at last %.4f\n", r.gap[0], r.gap[r.rounds - 1]);
	assert_true(r.gap[r.rounds - 1] < 0.3 * r.gap[0]);
	cop_tree_embedding_fini(&r);
	end(&s);
}

static void test_no_rounds_are_the_direct_fit_and_threads_do_not_matter(void **state)
{
	scene s;
	cop_pool *pool;
	(void)state;
	begin(&s);
	assert_int_equal(cop_pool_new(3, &pool), COP_OK);
	cop_tree_embedding_settings set = settings(COP_EMBEDDING_ELASTIC);
	set.rounds = 2;
	cop_tree_embedding_result one = fit(&s, &set, NULL), two = fit(&s, &set, pool);
	assert_memory_equal(one.joint_z, two.joint_z, 2 * N * sizeof(double));
	set.rounds = 0;
	cop_tree_embedding_result none = fit(&s, &set, NULL);
	assert_memory_equal(none.joint_z, one.direct_z, 2 * N * sizeof(double));
	assert_true(none.best == 0 && none.joint_part.objective == one.direct_part.objective);
	cop_tree_embedding_fini(&one);
	cop_tree_embedding_fini(&two);
	cop_tree_embedding_fini(&none);
	cop_pool_free(pool);
	end(&s);
}

static void test_wrong_settings_and_graphs_are_refused(void **state)
{
	scene s;
	cop_rng rng;
	cop_tree_embedding_result r;
	const cop_tree_embedding_settings good = settings(COP_EMBEDDING_TSNE);
	cop_tree_embedding_settings bad[] = { good, good, good, good, good };
	(void)state;
	begin(&s);
	cop_rng_init(&rng, SEED, 2);
	bad[0].theta = -0.1;
	bad[1].lambda = (double)NAN;
	bad[2].mu = -1.0;
	bad[3].growth = 0.5;
	bad[4].repulsion = 0.0;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(cop_tree_embedding_fit(&bad[i], s.rows, s.graph, NULL, &rng, NULL, &r), COP_EINVAL);
		assert_null(r.joint);
	}
	assert_int_equal(cop_dataset_push_dense(s.rows, (const float[D]){ 0 }, 0.0), COP_OK);
	assert_int_equal(cop_tree_embedding_fit(&good, s.rows, s.graph, NULL, &rng, NULL, &r), COP_ESHAPE);
	end(&s);
}

static void test_memory_failures_are_reported(void **state)
{
	scene s;
	(void)state;
	begin(&s);
	cop_tree_embedding_settings set = settings(COP_EMBEDDING_TSNE);
	set.rounds = 1;
	set.steps = 1;
	set.free_steps = 1;
	set.tree.iterations = 1;
	for (unsigned long n = 1;; n++) {
		cop_tree_embedding_result r;
		cop_rng rng;
		cop_rng_init(&rng, SEED, 2);
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_tree_embedding_fit(&set, s.rows, s.graph, NULL, &rng, NULL, &r);
		cop_test_alloc_fail(0, 0);
		if (err != COP_OK)
			assert_null(r.joint_z);
		cop_tree_embedding_fini(&r);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joint_fit_is_below_the_direct_fit),
		cmocka_unit_test(test_rounds_tie_embedding_and_tree),
		cmocka_unit_test(test_no_rounds_are_the_direct_fit_and_threads_do_not_matter),
		cmocka_unit_test(test_wrong_settings_and_graphs_are_refused),
		cmocka_unit_test(test_memory_failures_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
