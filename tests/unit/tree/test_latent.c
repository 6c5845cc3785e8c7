/* A latent tree against its definition row by row, its hard tree where that is exact, and its bytes. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "store/section_file.h"
#include "tree/latent.h"

#define SEED  2021U
#define D     4
#define K     3
#define DEPTH 2
#define B     3
#define T     7
#define ROWS  300

static const cop_latent_shape linear = { .d = D, .outputs = K, .link = COP_TREE_VALUES, .depth = DEPTH, .layers = 1 };

typedef struct scene {
	cop_latent *latent;
	float *w, x[ROWS * (D + 1)];
	size_t weights;
	double a[T];
} scene;

static void begin(scene *s, const cop_latent_shape *shape, uint64_t stream)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	assert_int_equal(cop_latent_weights(shape, &s->weights), COP_OK);
	s->w = cop_mem_alloc(s->weights, sizeof *s->w);
	for (size_t i = 0; i < s->weights; i++)
		s->w[i] = 0.5f * (float)cop_rng_normal(&rng);
	for (size_t t = 0; t < T; t++)
		s->a[t] = t == 0 ? 1.0 : s->a[(t - 1) / 2] * (0.5 + 0.5 * cop_rng_unit(&rng));
	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j <= D; j++)
			s->x[i * (D + 1) + j] = j < D ? (float)cop_rng_normal(&rng) : 1.0f;
	assert_int_equal(cop_latent_new(shape, s->w, s->a, &s->latent), COP_OK);
}

static void end(scene *s)
{
	cop_latent_free(s->latent);
	cop_mem_free(s->w);
}

static double split(const scene *s, size_t t, const float *x)
{
	double sum = 0.0;
	for (size_t j = 0; j <= D; j++)
		sum += (double)s->w[t * (D + 1) + j] * (double)x[j];
	return sum;
}

/* [x; z] by definition. */
static void input_of(const scene *s, const float *x, double in[D + T])
{
	double q[T] = { 1.0 };
	for (size_t t = 0; t < B; t++) {
		q[2 * t + 1] = fmin(q[t], -split(s, t, x));
		q[2 * t + 2] = fmin(q[t], split(s, t, x));
	}
	for (size_t j = 0; j < D; j++)
		in[j] = (double)x[j];
	for (size_t t = 0; t < T; t++)
		in[D + t] = fmin(fmax(q[t] + 0.5, 0.0), s->a[t]);
}

static void naive(const scene *s, const cop_latent_shape *shape, const float *x, double out[K])
{
	const size_t hidden = shape->layers == 1 ? 0 : shape->width;
	const float *w = s->w + (size_t)B * (D + 1);
	double in[D + T], h[16], sum = 0.0;
	input_of(s, x, in);
	for (size_t k = 0; k < hidden; k++) {
		double v = (double)w[hidden * (D + T) + k];
		for (size_t j = 0; j < D + T; j++)
			v += (double)w[k * (D + T) + j] * in[j];
		h[k] = v < 0.0 ? expm1(v) : v;
	}
	const size_t width = hidden > 0 ? hidden : D + T;
	const double *from = hidden > 0 ? h : in;
	w += hidden > 0 ? hidden * (D + T + 1) : 0;
	for (size_t k = 0; k < K; k++) {
		out[k] = (double)w[K * width + k];
		for (size_t j = 0; j < width; j++)
			out[k] += (double)w[k * width + j] * from[j];
	}
	for (size_t k = 0; k < K && shape->link == COP_TREE_LOGITS; k++)
		sum += out[k] = exp(out[k]);
	for (size_t k = 0; k < K && shape->link == COP_TREE_LOGITS; k++)
		out[k] /= sum;
}

static void check_predictions(const cop_latent_shape *shape, uint64_t stream)
{
	scene s;
	float got[K], again[K], z[T];
	double want[K], in[D + T];
	begin(&s, shape, stream);
	for (size_t i = 0; i < ROWS; i++) {
		static const uint32_t index[D] = { 0, 1, 2, 3 };
		const float *x = s.x + i * (D + 1);
		const cop_row row = { .d = D, .dense = x }, sparse = { .d = D, .nnz = D, .index = index, .value = x };
		cop_latent_predict(s.latent, &row, got);
		cop_latent_predict(s.latent, &sparse, again);
		cop_latent_reach(s.latent, &row, z);
		naive(&s, shape, s.x + i * (D + 1), want);
		input_of(&s, s.x + i * (D + 1), in);
		for (size_t k = 0; k < K; k++)
			assert_true(fabs((double)got[k] - want[k]) < 1e-4 && fabsf(got[k] - again[k]) < 1e-4f);
		for (size_t t = 0; t < T; t++)
			assert_true(fabs((double)z[t] - in[D + t]) < 1e-5);
	}
	end(&s);
}

static void test_predictions_are_those_of_the_definition(void **state)
{
	(void)state;
	cop_latent_shape deep = linear, classes = linear;
	deep.layers = 2;
	deep.width = 16;
	classes.link = COP_TREE_LOGITS;
	check_predictions(&linear, 1);
	check_predictions(&deep, 2);
	check_predictions(&classes, 3);
}

/* Steep splits leave few rows with a margin below one half; all others are predicted alike, also where nodes are not
 * kept. */
static void test_hard_tree_is_exact_where_margins_are(void **state)
{
	(void)state;
	for (size_t dropped = 0; dropped < 3; dropped++) {
		scene s;
		cop_latent *steep;
		cop_tree *tree;
		size_t compared = 0;
		float soft[K], hard[K];
		begin(&s, &linear, 4);
		for (size_t i = 0; i < (size_t)B * (D + 1); i++)
			s.w[i] *= 20.0f;
		for (size_t t = 0; t < T; t++)
			if ((dropped > 0 && t == 3) || (dropped > 1 && (t == 4 || t == 6)))
				s.a[t] = 0.0;
		assert_int_equal(cop_latent_new(&linear, s.w, s.a, &steep), COP_OK);
		assert_int_equal(cop_latent_tree(steep, &tree), COP_OK);
		assert_int_equal(cop_tree_leaves(tree), dropped < 2 ? 4 : 3);
		for (size_t i = 0; i < ROWS; i++) {
			const float *x = s.x + i * (D + 1);
			const cop_row row = { .d = D, .dense = x };
			double margin = (double)INFINITY;
			for (size_t t = 0; t < B; t++)
				margin = fmin(margin, fabs(split(&s, t, x)));
			if (margin < 0.5)
				continue;
			compared++;
			(void)cop_tree_predict(tree, &row, hard);
			cop_latent_predict(steep, &row, soft);
			for (size_t k = 0; k < K; k++)
				assert_true(fabsf(hard[k] - soft[k]) < 1e-4f);
		}
		assert_true(compared > ROWS / 2);
		cop_tree_free(tree);
		cop_latent_free(steep);
		end(&s);
	}
}

/* Its splits are the soft one's; what a leaf predicts is for whoever fits it. */
static void test_hard_tree_of_a_perceptron_has_empty_leaves(void **state)
{
	(void)state;
	scene s;
	cop_tree *tree;
	cop_latent_shape deep = linear;
	deep.layers = 2;
	deep.width = 3;
	begin(&s, &deep, 5);
	assert_int_equal(cop_latent_tree(s.latent, &tree), COP_OK);
	assert_true(cop_tree_leaves(tree) == 4 && cop_tree_constant_leaves(tree));
	for (size_t i = 0; i < ROWS; i++) {
		const cop_row row = { .d = D, .dense = s.x + i * (D + 1) };
		float out[K];
		size_t at = 0;
		while (at < B)
			at = 2 * at + 1 + (split(&s, at, row.dense) >= 0.0);
		assert_int_equal(cop_tree_predict(tree, &row, out), at - B);
		assert_true(out[0] == 0.0f && out[1] == 0.0f && out[2] == 0.0f);
	}
	cop_tree_free(tree);
	end(&s);
}

static void save(const cop_latent *latent, cop_bytes *bytes, cop_model_section *section)
{
	cop_section_file file;
	cop_bytes_clear(bytes);
	size_t mark = cop_section_file_begin(bytes), at = 0;
	cop_latent_save(latent, bytes);
	cop_section_file_end(bytes, mark);
	assert_int_equal(cop_section_file_open(&file, bytes->data, bytes->length, NULL, NULL), COP_OK);
	assert_true(cop_section_file_next(&file, &at, section));
	assert_string_equal(section->name, COP_LATENT_SECTION);
}

static void test_saved_and_loaded_is_the_same_and_damage_is_refused(void **state)
{
	(void)state;
	scene s;
	cop_latent *again;
	cop_bytes bytes, other;
	cop_model_section section, copy;
	cop_latent_shape deep = linear;
	deep.layers = 3;
	deep.width = 2;
	deep.elu = true;
	cop_bytes_init(&bytes);
	cop_bytes_init(&other);
	begin(&s, &deep, 6);
	save(s.latent, &bytes, &section);
	assert_int_equal(cop_latent_load(section.data, section.length, &again), COP_OK);
	assert_memory_equal(cop_latent_get_shape(again), &deep, sizeof deep);
	save(again, &other, &copy);
	assert_true(copy.length == section.length && memcmp(copy.data, section.data, copy.length) == 0);
	cop_latent_free(again);
	uint8_t *payload = cop_mem_alloc(section.length, 1);
	for (size_t cut = 0; cut < section.length; cut++) {
		assert_int_equal(cop_latent_load(section.data, cut, &again), COP_EFORMAT);
		assert_null(again);
	}
	for (size_t at = 0; at < section.length; at++) { /* some flips are other weights */
		memcpy(payload, section.data, section.length);
		payload[at] ^= 0x80;
		if (cop_latent_load(payload, section.length, &again) == COP_OK)
			cop_latent_free(again);
		else
			assert_null(again);
	}
	cop_mem_free(payload);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&other);
	end(&s);
}

static void test_wrong_parts_are_refused_and_memory_is_reported(void **state)
{
	(void)state;
	scene s;
	cop_latent *latent;
	size_t weights;
	begin(&s, &linear, 7);
	cop_latent_shape bad[5] = { linear, linear, linear, linear, linear };
	bad[0].d = 0;
	bad[1].outputs = 0;
	bad[2].depth = COP_LATENT_MAX_DEPTH + 1;
	bad[3].layers = 0;
	bad[4].link = COP_TREE_PROBABILITIES;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(cop_latent_weights(&bad[i], &weights), COP_EINVAL);
	for (unsigned long n = 1;; n++) {
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_latent_new(&linear, s.w, s.a, &latent);
		cop_test_alloc_fail(0, 0);
		cop_latent_free(latent);
		if (err == COP_OK)
			break;
		assert_true(err == COP_ENOMEM && latent == NULL);
	}
	s.a[1] = 0.2;
	s.a[3] = 0.3;
	assert_int_equal(cop_latent_new(&linear, s.w, s.a, &latent), COP_EINVAL);
	s.a[3] = (double)NAN;
	assert_int_equal(cop_latent_new(&linear, s.w, s.a, &latent), COP_EINVAL);
	s.a[3] = 0.1;
	s.w[s.weights - 1] = INFINITY;
	assert_int_equal(cop_latent_new(&linear, s.w, s.a, &latent), COP_ENONFINITE);
	assert_null(latent);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_predictions_are_those_of_the_definition),
		cmocka_unit_test(test_hard_tree_is_exact_where_margins_are),
		cmocka_unit_test(test_hard_tree_of_a_perceptron_has_empty_leaves),
		cmocka_unit_test(test_saved_and_loaded_is_the_same_and_damage_is_refused),
		cmocka_unit_test(test_wrong_parts_are_refused_and_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
