/* Label steps against a dense solve by elimination. */
#include "unit/train/laptao_problem.h"

#include "train/laptao_parts.h"

#define POINTS 36
#define EACH   (POINTS * LAP_OUTPUTS)

typedef struct dense {
	double w[POINTS * POINTS];
	cop_graph graph;
	double seen[EACH], right[EACH], z[EACH];
	cop_laptao_system system;
} dense;

/* A random graph of two components, of which the second is the last third of the points. */
static void make(dense *p, bool shared, uint64_t seed)
{
	cop_rng rng;

	*p = (dense){ 0 };
	cop_rng_init(&rng, seed, 0);
	for (size_t i = 0; i < POINTS; i++)
		for (size_t j = 0; j < i; j++)
			if ((i < 24) == (j < 24) && (j + 1 == i || cop_rng_below(&rng, 6) == 0))
				p->w[i * POINTS + j] = p->w[j * POINTS + i] = (double)(float)cop_rng_unit(&rng);
	laptao_graph_make(&p->graph, POINTS, p->w);
	assert_int_equal(p->graph.parts, 2);
	for (size_t e = 0; e < EACH; e++) {
		p->seen[e] = cop_rng_below(&rng, 4) == 0 ? 0.5 + cop_rng_unit(&rng) : 0;
		p->right[e] = cop_rng_normal(&rng);
		p->z[e] = cop_rng_normal(&rng);
	}
	for (size_t k = 0; k < LAP_OUTPUTS; k++) /* each component has something to hold on to */
		p->seen[k * POINTS] = p->seen[k * POINTS + 30] = 1;
	p->system = (cop_laptao_system){ .graph = &p->graph,
		.n = POINTS,
		.outputs = LAP_OUTPUTS,
		.gamma = 0.7,
		.weight = p->seen,
		.shared = shared,
		.tolerance = 1e-12,
		.steps = 500 };
}

static void end(dense *p)
{
	cop_laptao_system_fini(&p->system);
	laptao_graph_end(&p->graph);
}

/* a x = b by elimination with pivots; a and b are spoilt, b is x then. */
static void eliminate(size_t n, double *a, double *b)
{
	for (size_t c = 0; c < n; c++) {
		size_t best = c;
		for (size_t r = c + 1; r < n; r++)
			best = fabs(a[r * n + c]) > fabs(a[best * n + c]) ? r : best;
		for (size_t j = 0; j < n; j++) {
			double kept = a[c * n + j];
			a[c * n + j] = a[best * n + j];
			a[best * n + j] = kept;
		}
		double kept = b[c];
		b[c] = b[best];
		b[best] = kept;
		for (size_t r = 0; r < n; r++) {
			double factor = a[r * n + c] / a[c * n + c];
			if (r == c)
				continue;
			for (size_t j = c; j < n; j++)
				a[r * n + j] -= factor * a[c * n + j];
			b[r] -= factor * b[c];
		}
	}
	for (size_t c = 0; c < n; c++)
		b[c] /= a[c * n + c];
}

/* Largest distance of p->z from (J + mu I + gamma L)^-1 right; from `alone` on nothing is seen and right is 0. */
static double distance(const dense *p, double mu, size_t alone)
{
	double most = 0;

	for (size_t k = 0; k < LAP_OUTPUTS; k++) {
		double a[POINTS * POINTS] = { 0 }, b[POINTS];
		for (size_t i = 0; i < POINTS; i++) {
			b[i] = p->right[k * POINTS + i];
			a[i * POINTS + i] +=
			        p->seen[(p->system.shared ? 0 : k * POINTS) + i] + mu + (i >= alone ? 1 : 0);
			for (size_t j = 0; j < POINTS; j++) {
				a[i * POINTS + i] += p->system.gamma * p->w[i * POINTS + j];
				a[i * POINTS + j] -= p->system.gamma * p->w[i * POINTS + j];
			}
		}
		eliminate(POINTS, a, b);
		for (size_t i = 0; i < POINTS; i++)
			most = fmax(most, fabs(b[i] - p->z[k * POINTS + i]));
	}
	return most;
}

static void test_label_step_gradients_equal_dense_solve(void **unused)
{
	(void)unused;
	for (unsigned c = 0; c < 8; c++) {
		dense p;
		make(&p, (c & 1) != 0, c);
		assert_int_equal(cop_laptao_system_init(&p.system, COP_LAPTAO_GRADIENTS), COP_OK);
		assert_null(p.system.vector);
		for (double mu = 0; mu < 2; mu = 1.5 * mu + 0.1) {
			assert_int_equal(cop_laptao_solve(&p.system, mu, p.right, NULL, p.z), COP_OK);
			assert_true(distance(&p, mu, POINTS) < 1e-8);
		}
		end(&p);
	}
}

static void test_label_step_eigenvectors_equal_dense_solve(void **unused)
{
	(void)unused;
	for (unsigned c = 0; c < 8; c++) {
		dense p;
		make(&p, (c & 1) != 0, c);
		for (size_t e = POINTS; e < EACH; e++) /* one mask, be it shared or not */
			p.seen[e] = p.seen[e % POINTS];
		assert_int_equal(cop_laptao_system_init(&p.system, COP_LAPTAO_EITHER), COP_OK);
		assert_non_null(p.system.vector);
		for (double mu = 0; mu < 2; mu = 1.5 * mu + 0.1) {
			assert_int_equal(cop_laptao_solve(&p.system, mu, p.right, NULL, p.z), COP_OK);
			assert_true(distance(&p, mu, POINTS) < 1e-8);
		}
		end(&p);
	}
}

static void test_label_step_several_masks_take_gradients(void **unused)
{
	(void)unused;
	dense p;
	make(&p, false, 3);
	assert_int_equal(cop_laptao_system_init(&p.system, COP_LAPTAO_EITHER), COP_OK);
	assert_null(p.system.vector);
	assert_int_equal(cop_laptao_system_init(&p.system, COP_LAPTAO_EIGENVECTORS), COP_EINVAL);
	end(&p);
}

static void test_label_step_component_without_label_is_0_at_the_start(void **unused)
{
	(void)unused;
	for (int c = 0; c < 2; c++) {
		dense p;
		make(&p, true, 9);
		memset(p.z, 0, sizeof p.z);
		for (size_t i = 24; i < POINTS; i++) {
			p.seen[i] = 0;
			for (size_t k = 0; k < LAP_OUTPUTS; k++)
				p.right[k * POINTS + i] = 0;
		}
		assert_int_equal(
		        cop_laptao_system_init(&p.system, c == 0 ? COP_LAPTAO_GRADIENTS : COP_LAPTAO_EIGENVECTORS),
		        COP_OK);
		assert_int_equal(cop_laptao_solve(&p.system, 0, p.right, NULL, p.z), COP_OK);
		assert_true(distance(&p, 0, 24) < 1e-8);
		for (size_t i = 24; i < POINTS; i++)
			assert_true(fabs(p.z[i]) < 1e-8);
		end(&p);
	}
}

/* Points that nothing joins to anything: rows of zeros. */
static void test_label_step_without_graph_gives_what_was_seen(void **unused)
{
	(void)unused;
	dense p;
	make(&p, true, 10);
	memset(p.z, 0, sizeof p.z);
	p.system.gamma = 0;
	for (size_t e = 0; e < EACH; e++)
		p.right[e] *= p.seen[e % POINTS];
	assert_int_equal(cop_laptao_system_init(&p.system, COP_LAPTAO_GRADIENTS), COP_OK);
	assert_int_equal(cop_laptao_solve(&p.system, 0, p.right, NULL, p.z), COP_OK);
	for (size_t e = 0; e < EACH; e++) {
		double seen = p.seen[e % POINTS];
		assert_true(fabs(p.z[e] - (seen > 0 ? p.right[e] / seen : 0)) < 1e-9);
	}
	end(&p);
}

/* Six points in a ring, the first and the fourth labelled; z of mu = 0, and a label step, of an independent program in
 * numpy. */
static void test_label_step_equals_another_program(void **unused)
{
	static const double ring[6] = { 0.5, 1, 0.25, 0.75, 0.5, 0.125 };
	static const double seen[6] = { 1, 0, 0, 1, 0, 0 }, y[6] = { 1, 0, 0, -2, 0, 0 };
	static const double t[6] = { 0.5, -0.25, 1, -1.5, 0.75, 2 }, lambda[6] = { 0.25, -0.5, 0, 1, -0.125, 0.5 };
	static const double begun[6] = { 0.933734939759, 0.114457831325, -0.295180722892, -1.933734939759,
		-1.596385542169, -1.090361445783 };
	static const double stepped[6] = { 0.939593830163, -0.505162524145, 0.506971726267, -1.360830556890,
		0.428839029301, 2.436377584392 };
	double w[36] = { 0 }, right[6], z[6] = { 0 };
	cop_graph graph;

	(void)unused;
	for (size_t i = 0; i < 6; i++)
		w[i * 6 + (i + 1) % 6] = w[(i + 1) % 6 * 6 + i] = ring[i];
	laptao_graph_make(&graph, 6, w);
	for (int c = 0; c < 2; c++) {
		cop_laptao_system system = { .graph = &graph,
			.n = 6,
			.outputs = 1,
			.gamma = 0.1,
			.weight = seen,
			.shared = true,
			.tolerance = 1e-13,
			.steps = 100 };
		assert_int_equal(
		        cop_laptao_system_init(&system, c == 0 ? COP_LAPTAO_GRADIENTS : COP_LAPTAO_EIGENVECTORS),
		        COP_OK);
		for (size_t i = 0; i < 6; i++)
			right[i] = seen[i] * y[i];
		assert_int_equal(cop_laptao_solve(&system, 0, right, NULL, z), COP_OK);
		for (size_t i = 0; i < 6; i++)
			assert_true(fabs(z[i] - begun[i]) < 1e-9);
		for (size_t i = 0; i < 6; i++)
			right[i] = seen[i] * y[i] + 0.3 * t[i] + 0.5 * lambda[i];
		assert_int_equal(cop_laptao_solve(&system, 0.3, right, NULL, z), COP_OK);
		for (size_t i = 0; i < 6; i++)
			assert_true(fabs(z[i] - stepped[i]) < 1e-9);
		cop_laptao_system_fini(&system);
	}
	laptao_graph_end(&graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_label_step_equals_another_program),
		cmocka_unit_test(test_label_step_gradients_equal_dense_solve),
		cmocka_unit_test(test_label_step_eigenvectors_equal_dense_solve),
		cmocka_unit_test(test_label_step_several_masks_take_gradients),
		cmocka_unit_test(test_label_step_component_without_label_is_0_at_the_start),
		cmocka_unit_test(test_label_step_without_graph_gives_what_was_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
