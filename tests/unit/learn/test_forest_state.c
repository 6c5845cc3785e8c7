/* Forests of every shape: saved, loaded, cut, spoiled, short of memory; sparse rows; explanations. */
#include "forest_fixture.h"

#include <float.h>
#include <stdlib.h>

/* ---- saving ---- */

static void save(const cop_forest *forest, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_forest_save(forest, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static cop_err load(cop_forest *forest, const uint8_t *data, size_t length, size_t *left)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, data, length);
	cop_err err = cop_forest_load(forest, &cursor);
	*left = cop_cursor_left(&cursor);
	return err;
}

static void test_same_seed_gives_same_bits_another_seed_others(void **state)
{
	(void)state;
	cop_bytes bytes[3];
	for (size_t i = 0; i < 3; i++) {
		cop_forest *forest = forest_of(FOREST_D, 0, 3, 5, i == 2 ? 4 : 3);
		forest_events e;
		forest_begin(&e, forest_band, 3, 1);
		(void)forest_run(forest, &e, 1500);
		cop_bytes_init(&bytes[i]);
		save(forest, &bytes[i]);
		cop_forest_free(forest);
	}
	assert_bytes_equal(&bytes[0], &bytes[1]);
	assert_true(bytes[0].length != bytes[2].length || memcmp(bytes[0].data, bytes[2].data, bytes[0].length) != 0);
	for (size_t i = 0; i < 3; i++)
		cop_bytes_fini(&bytes[i]);
}

/* Learns the same events with `again` as told; every third row nobody had asked about. */
static void run_asking(cop_forest *forest, forest_events *e, size_t n, bool again)
{
	for (size_t i = 0; i < n; i++) {
		float loss[FOREST_ARMS];
		forest_draw(e);
		if (i % 3 != 0)
			cop_forest_predict(forest, &e->x, loss);
		cop_forest_learn(forest, &e->x, e->arm, e->y, again && i % 3 != 0);
	}
}

static void test_again_gives_the_same_bits(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_bytes bytes[2];
		for (size_t i = 0; i < 2; i++) {
			cop_forest *forest = forest_of(FOREST_D, sparse ? FOREST_D : 0, 3, 5, 3);
			forest_events e;
			forest_begin(&e, forest_band, 3, 2);
			e.sparse = sparse;
			run_asking(forest, &e, 1500, i == 0);
			cop_bytes_init(&bytes[i]);
			save(forest, &bytes[i]);
			cop_forest_free(forest);
		}
		assert_bytes_equal(&bytes[0], &bytes[1]);
		cop_bytes_fini(&bytes[0]);
		cop_bytes_fini(&bytes[1]);
	}
}

static void check_continues(size_t arms, int sparse, size_t before)
{
	cop_forest *a = forest_of(FOREST_D, sparse ? FOREST_D : 0, arms, 4, 1);
	cop_forest *b = forest_of(FOREST_D, sparse ? FOREST_D : 0, arms, 4, 2);
	cop_bytes first, second;
	forest_events e, same;
	size_t left;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	forest_begin(&e, forest_noise, arms, 3);
	e.sparse = sparse;
	(void)forest_run(b, &e, 700); /* all that goes */
	e.loss = forest_corner;
	(void)forest_run(a, &e, before);
	save(a, &first);
	assert_int_equal(load(b, first.data, first.length, &left), COP_OK);
	assert_int_equal(left, 0);
	assert_int_equal(cop_forest_leaves(a), cop_forest_leaves(b));
	save(b, &second);
	assert_bytes_equal(&first, &second);
	same = e;
	double one = forest_run(a, &e, 400), other = forest_run(b, &same, 400);
	assert_true(one == other);
	save(a, &first);
	save(b, &second);
	assert_bytes_equal(&first, &second);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	cop_forest_free(a);
	cop_forest_free(b);
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	for (size_t before = 0; before < 40; before++)
		check_continues(2, before % 2, before);
	for (size_t before = 50; before < 3000; before += before / 3)
		for (int sparse = 0; sparse < 2; sparse++) {
			check_continues(1, sparse, before);
			check_continues(5, sparse, before);
		}
}

static void test_load_other_shape_is_refused(void **state)
{
	(void)state;
	static const cop_forest_settings shapes[] = { { 9, 0, 3, 4 }, { 10, 0, 3, 4 }, { 9, 9, 3, 4 }, { 9, 0, 2, 4 },
		{ 9, 0, 3, 5 }, { 9, 9, 3, 5 } };
	const size_t count = sizeof shapes / sizeof *shapes;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			const cop_forest_settings *s = &shapes[i], *o = &shapes[k];
			cop_forest *from = forest_of(s->inputs, s->entries, s->arms, s->trees, 1);
			cop_forest *to = forest_of(o->inputs, o->entries, o->arms, o->trees, 1);
			size_t left;
			save(from, &bytes);
			bool wider = s->inputs == o->inputs || (s->inputs < o->inputs && s->entries == 0);
			bool grown = wider && s->entries == o->entries && s->trees == o->trees && s->arms <= o->arms;
			assert_int_equal(load(to, bytes.data, bytes.length, &left), grown ? COP_OK : COP_ESHAPE);
			cop_forest_free(from);
			cop_forest_free(to);
		}
	cop_bytes_fini(&bytes);
}

static void test_load_cut_anywhere_is_refused(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_forest *forest = forest_of(FOREST_D, sparse ? FOREST_D : 0, 2, 2, 1);
		forest_events e;
		cop_bytes bytes;
		size_t left;
		cop_bytes_init(&bytes);
		forest_begin(&e, forest_corner, 2, 4);
		e.sparse = sparse;
		(void)forest_run(forest, &e, 120);
		save(forest, &bytes);
		for (size_t length = 0; length < bytes.length; length++) {
			/* In memory of its own size, so that reading past it is seen. */
			uint8_t *copy = malloc(length + 1);
			assert_non_null(copy);
			memcpy(copy + 1, bytes.data, length);
			assert_int_not_equal(load(forest, copy + 1, length, &left), COP_OK);
			free(copy);
		}
		assert_int_equal(load(forest, bytes.data, bytes.length, &left), COP_OK);
		cop_bytes_fini(&bytes);
		cop_forest_free(forest);
	}
}

/* Whatever loads must work: predictions, learning, explanations, and saving what loads again to the same bytes. */
static void check_works(cop_forest *forest, forest_events *e, cop_bytes *bytes)
{
	size_t left;
	for (size_t i = 0; i < 40; i++) {
		float loss[FOREST_ARMS], doubt[FOREST_ARMS];
		cop_explained_expert why = { .name = "forest" };
		forest_draw(e);
		cop_forest_predict(forest, &e->x, loss);
		cop_forest_doubt(forest, doubt);
		cop_forest_explain(forest, &e->x, e->arm, &why);
		assert_in_range(why.count, 0, COP_EXPLANATION_LINEAR);
		cop_forest_learn(forest, &e->x, e->arm, e->y, false);
	}
	(void)cop_forest_leaves(forest);
	save(forest, bytes);
	cop_err err = load(forest, bytes->data, bytes->length, &left);
	assert_int_equal(err, COP_OK);
}

static void flip(cop_forest *forest, const cop_bytes *good, int sparse)
{
	size_t loaded = 0, left;
	forest_events e;
	cop_bytes again;
	cop_rng rng;
	uint8_t *bad = malloc(good->length);
	assert_non_null(bad);
	cop_bytes_init(&again);
	cop_rng_init(&rng, FOREST_SEED, 5);
	forest_begin(&e, forest_corner, 2, 6);
	e.sparse = sparse;
	for (size_t i = 0; i < 12000; i++) {
		memcpy(bad, good->data, good->length);
		size_t at = i < 2 * good->length ? i / 2 : (size_t)cop_rng_below(&rng, good->length);
		for (uint64_t n = 1 + cop_rng_below(&rng, 3); n > 0; n--) {
			static const uint8_t strange[] = { 0, 1, 2, 0x7f, 0x80, 0xff };
			if (i % 2 == 0)
				bad[at] ^= (uint8_t)(1u << cop_rng_below(&rng, 8));
			else
				bad[at] = strange[cop_rng_below(&rng, sizeof strange)];
			at = at + 1 < good->length ? at + 1 : 0;
		}
		cop_err err = load(forest, bad, good->length, &left);
		assert_true(err == COP_OK || err == COP_EFORMAT || err == COP_ESHAPE || err == COP_ENONFINITE);
		if (err == COP_OK)
			check_works(forest, &e, &again);
		loaded += err == COP_OK;
	}
	printf("%zu of 12000 spoiled states load\n", loaded);
	assert_true(loaded > 1000);
	cop_bytes_fini(&again);
	free(bad);
}

static void test_load_spoiled_is_refused_or_works(void **state)
{
	(void)state;
	printf("seed %u\n", FOREST_SEED);
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_forest *forest = forest_of(FOREST_D, sparse ? FOREST_D : 0, 2, 2, 1);
		forest_events e;
		cop_bytes good;
		cop_bytes_init(&good);
		forest_begin(&e, forest_corner, 2, 7);
		e.sparse = sparse;
		(void)forest_run(forest, &e, 100);
		save(forest, &good);
		flip(forest, &good, sparse);
		cop_bytes_fini(&good);
		cop_forest_free(forest);
	}
}

/* Every number that may be as large as floats are, is, at once. */
static void test_load_all_largest_numbers_is_refused_or_works(void **state)
{
	(void)state;
	static const float large[] = { FLT_MAX, -FLT_MAX, 1e30f, -1e20f };
	for (size_t l = 0; l < sizeof large / sizeof *large; l++) {
		cop_forest *forest = forest_of(FOREST_D, 0, 2, 3, 1);
		forest_events e;
		cop_bytes good, bad, again;
		size_t left, taken = 0;
		cop_bytes_init(&good);
		cop_bytes_init(&bad);
		cop_bytes_init(&again);
		forest_begin(&e, forest_corner, 2, 90);
		(void)forest_run(forest, &e, 60);
		save(forest, &good);
		cop_bytes_put(&bad, good.data, good.length);
		for (size_t at = 0; at + sizeof(float) <= good.length; at++) {
			uint8_t was[sizeof(float)];
			memcpy(was, bad.data + at, sizeof was);
			memcpy(bad.data + at, &large[l], sizeof was);
			if (load(forest, bad.data, bad.length, &left) != COP_OK) {
				memcpy(bad.data + at, was, sizeof was);
				continue;
			}
			taken++;
			at += sizeof was - 1;
		}
		printf("%zu numbers of %g\n", taken, (double)large[l]);
		assert_int_equal(load(forest, bad.data, bad.length, &left), COP_OK);
		check_works(forest, &e, &again);
		cop_bytes_fini(&good);
		cop_bytes_fini(&bad);
		cop_bytes_fini(&again);
		cop_forest_free(forest);
	}
}

/* ---- shapes and memory ---- */

static void test_new_wrong_or_short_of_memory_is_refused(void **state)
{
	(void)state;
	static const cop_forest_settings wrong[] = { { 1, 0, 2, 4 }, { 0, 0, 2, 4 }, { 9, 0, 0, 4 }, { 9, 0, 2, 0 },
		{ ((size_t)1 << 30) + 1, 10, 2, 4 }, { 9, 0, (size_t)1 << 28, 4 } };
	static const cop_forest_settings right[] = { { 9, 0, 3, 4 }, { 9, 9, 3, 4 } };
	cop_forest *forest;
	cop_rng rng;
	cop_rng_init(&rng, FOREST_SEED, 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(cop_forest_new(&wrong[i], &rng, &forest), COP_EINVAL);
		assert_null(forest);
	}
	for (size_t i = 0; i < 2; i++) {
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_forest_new(&right[i], &rng, &forest);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && forest == NULL));
		}
		cop_forest_free(forest);
	}
	cop_forest_free(NULL);
}

static void test_after_new_nothing_is_allocated(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_forest *forest = forest_of(FOREST_D, sparse ? FOREST_D : 0, 3, 8, 1);
		forest_events e;
		cop_bytes bytes;
		size_t left;
		cop_bytes_init(&bytes);
		cop_bytes_reserve(&bytes, (size_t)16 << 20);
		forest_begin(&e, forest_noise, 3, 8);
		e.sparse = sparse;
		cop_test_alloc_fail(1, 1);
		(void)forest_run(forest, &e, 6000);
		check_works(forest, &e, &bytes);
		save(forest, &bytes);
		assert_int_equal(load(forest, bytes.data, bytes.length, &left), COP_OK);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_test_alloc_fail(0, 0);
		cop_bytes_fini(&bytes);
		cop_forest_free(forest);
	}
}

/* A row of `inputs` numbers; every arm's loss tells whether input 0 is above 0. */
static void check_shape(size_t inputs, size_t arms, size_t trees)
{
	cop_forest_settings set = { .inputs = inputs, .arms = arms, .trees = trees };
	cop_forest *forest;
	cop_rng rng;
	float *x = calloc(inputs, sizeof *x), *loss = calloc(arms, sizeof *loss), *doubt = calloc(arms, sizeof *doubt);
	assert_true(x != NULL && loss != NULL && doubt != NULL);
	cop_rng_init(&rng, FOREST_SEED, 9);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_forest_new(&set, &rng, &forest), COP_OK);
	double bytes = (double)cop_test_alloc_bytes(), told = cop_forest_footprint(&set);
	printf("%zu inputs, %zu arms: %zu trees, %.1f MB\n", inputs, arms, cop_forest_trees(&set), bytes / 1e6);
	if (!(fabs(told - bytes) <= 0.05 * bytes + 8192.0))
		fail_msg("%zu inputs, %zu arms: %.0f bytes, told %.0f", inputs, arms, bytes, told);
	assert_in_range(cop_forest_trees(&set), 1, trees);
	assert_int_equal(cop_forest_leaves(forest), cop_forest_trees(&set));
	const cop_row row = { .d = inputs, .dense = x };
	for (size_t i = 0; i < 1500; i++) {
		size_t arm = (size_t)cop_rng_below(&rng, arms < 4 ? arms : 4) * (arms / 4);
		arm = arm < arms ? arm : arms - 1;
		for (size_t j = 0; j < inputs; j++)
			x[j] = (float)cop_rng_normal(&rng);
		x[inputs - 1] = 1.0f;
		cop_forest_learn(forest, &row, arm, x[0] > 0.0f ? 1.0 : 0.0, false);
	}
	cop_forest_predict(forest, &row, loss);
	cop_forest_doubt(forest, doubt);
	for (size_t k = 0; k < arms; k++)
		assert_true(isfinite(loss[k]) && doubt[k] > 0.0f && doubt[k] <= 1.0f);
	if (arms >= 100) /* arm 1 was never played */
		assert_true(loss[1] == 0.5f && doubt[1] == 1.0f);
	cop_forest_free(forest);
	free(x);
	free(loss);
	free(doubt);
}

static void test_any_shape_works_and_takes_what_footprint_tells(void **state)
{
	(void)state;
	check_shape(2, 1, 1);
	check_shape(2, 2, 64);
	check_shape(9, 1, 16);
	check_shape(9, 100, 16);
	check_shape(9, 1000, 64);
	check_shape(3, 10000, 64);
	check_shape(5000, 3, 16);
	cop_forest_settings few = { .inputs = 9, .arms = 10, .trees = 64 }, many = few;
	many.arms = 10000;
	assert_int_equal(cop_forest_trees(&few), 64);
	assert_true(cop_forest_trees(&many) < 64);
	assert_true(cop_forest_footprint(&many) < 3.0 * cop_forest_footprint(&few) + 1e8);
	many.arms = (size_t)1 << 28;
	assert_int_equal(cop_forest_trees(&many), 0);
}

/* ---- sparse rows ---- */

static double run_kind(double (*loss)(const float *, size_t, cop_rng *), bool present, bool sparse, uint64_t seed)
{
	cop_forest *forest = forest_of(FOREST_D, sparse ? FOREST_D : 0, 2, 16, seed);
	forest_events e;
	forest_begin(&e, loss, 2, 40 + seed);
	e.present = present;
	e.sparse = sparse;
	(void)forest_run(forest, &e, 3000);
	double error = forest_run(forest, &e, 3000);
	cop_forest_free(forest);
	return error;
}

static void test_sparse_rows_learn_about_as_well_as_dense(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 4; seed++) {
		double dense = run_kind(forest_corner, true, false, seed);
		double sparse = run_kind(forest_corner, true, true, seed);
		printf("corner of features that are there or not: dense %.4f, sparse %.4f\n", dense, sparse);
		assert_true(dense < 0.05 && sparse < 0.05);
		dense = run_kind(forest_xor, true, false, seed);
		sparse = run_kind(forest_xor, true, true, seed);
		printf("xor: dense %.4f, sparse %.4f\n", dense, sparse);
		assert_true(dense < 0.12 && sparse < 0.12);
	}
}

/* Wide rows: 10 of 2^18 features, of which feature 77777 tells the loss; it is there every second time. */
static void test_sparse_wide_rows_find_the_feature_that_tells(void **state)
{
	(void)state;
	enum { BITS = 18, ENTRIES = 12, TELLS = 77777 };
	const size_t inputs = ((size_t)1 << BITS) + 1;
	cop_forest *forest = forest_of(inputs, ENTRIES, 2, 16, 1);
	cop_rng rng;
	double late = 0.0;
	cop_rng_init(&rng, FOREST_SEED, 50);
	for (size_t i = 0; i < 4000; i++) {
		uint32_t index[ENTRIES];
		float value[ENTRIES], loss[2];
		size_t nnz = 0;
		bool told = cop_rng_below(&rng, 2) == 0;
		for (uint32_t j = 0; j < 10; j++) {
			uint32_t at = j * 26214 + (uint32_t)cop_rng_below(&rng, 26214);
			if (at == TELLS || (told && j == TELLS / 26214))
				at = told ? TELLS : TELLS + 1;
			index[nnz] = at;
			value[nnz++] = 1.0f;
		}
		index[nnz] = (uint32_t)inputs - 1;
		value[nnz++] = 1.0f;
		const cop_row x = { .d = inputs, .nnz = nnz, .index = index, .value = value };
		size_t arm = i % 2;
		double y = told == (arm == 0) ? 1.0 : 0.0;
		cop_forest_predict(forest, &x, loss);
		late += i >= 3000 ? (y - (double)loss[arm]) * (y - (double)loss[arm]) : 0.0;
		cop_forest_learn(forest, &x, arm, y, true);
	}
	printf("one feature of 2^18 tells: mean squared error %.4f\n", late / 1000.0);
	assert_true(late / 1000.0 < 0.1);
	cop_forest_free(forest);
}

/* Rows without entries, and of the constant alone, among others or by themselves. */
static void test_sparse_empty_rows_are_rows(void **state)
{
	(void)state;
	static const uint32_t constant = FOREST_D - 1, feature = 2;
	static const float one = 1.0f, zero = 0.0f;
	const cop_row rows[] = { { .d = FOREST_D }, { .d = FOREST_D, .nnz = 1, .index = &constant, .value = &one },
		{ .d = FOREST_D, .nnz = 1, .index = &feature, .value = &zero },
		{ .d = FOREST_D, .nnz = 1, .index = &feature, .value = &one } };
	cop_forest *forest = forest_of(FOREST_D, FOREST_D, 1, 8, 1);
	float loss, first;
	for (size_t i = 0; i < 600; i++)
		cop_forest_learn(forest, &rows[i % 3], 0, i % 2 == 0 ? 0.0 : 1.0, false);
	assert_int_equal(cop_forest_leaves(forest), 8); /* nothing to divide between */
	for (size_t i = 0; i < 2000; i++)
		cop_forest_learn(forest, &rows[i % 4], 0, i % 4 == 3 ? 1.0 : 0.0, false);
	assert_true(cop_forest_leaves(forest) > 8);
	cop_forest_predict(forest, &rows[0], &first);
	assert_true(first < 0.2f);
	for (size_t i = 1; i < 3; i++) { /* absent is 0 */
		cop_forest_predict(forest, &rows[i], &loss);
		assert_true(loss == first);
	}
	cop_forest_predict(forest, &rows[3], &loss);
	assert_true(loss > 0.8f);
	cop_forest_free(forest);
}

/* ---- explanations ---- */

static double explain(cop_forest *forest, const cop_row *x, size_t arm, cop_explained_expert *why)
{
	float loss[FOREST_ARMS];
	*why = (cop_explained_expert){ .name = "forest" };
	cop_forest_predict(forest, x, loss);
	cop_forest_explain(forest, x, arm, why);
	return (double)loss[arm];
}

static void check_features(const cop_explained_expert *why, const test_row *row)
{
	double sum = 0.0;
	bool seen[FOREST_D] = { false };
	for (size_t i = 0; i < why->count; i++) {
		const cop_explained_feature *f = &why->features[i];
		assert_true(f->index < FOREST_D - 1 && !seen[f->index]);
		seen[f->index] = true;
		assert_true(f->weight == 0.0f && f->value == row->dense[f->index]);
		if (i > 0)
			assert_true(fabsf(f->contribution) <= fabsf(f[-1].contribution));
		sum += (double)f->contribution;
	}
	assert_true(fabs(sum - why->linear) < 1e-5); /* 8 features: all are shown */
}

/* prediction = 1/2 + what the roots said + contributions: what is left of it without them is the same for all rows. */
static void test_explain_contributions_and_roots_sum_to_prediction(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 4, 16 };
	for (size_t t = 0; t < 6; t++) {
		bool sparse = t >= 3;
		cop_forest *forest = forest_of(FOREST_D, sparse ? FOREST_D : 0, 3, sizes[t % 3], 1);
		forest_events e;
		forest_begin(&e, forest_corner, 3, 60 + t);
		e.sparse = sparse;
		for (size_t round = 0; round < 20; round++) {
			double roots[3];
			for (size_t i = 0; i < 60; i++) {
				cop_explained_expert why;
				forest_draw(&e);
				size_t arm = i % 3;
				double rest = explain(forest, &e.x, arm, &why) - why.linear;
				check_features(&why, &e.row);
				if (i < 3)
					roots[arm] = rest;
				assert_true(fabs(rest - roots[arm]) < 1e-5);
				if (round == 0)
					assert_true(why.count == 0 && why.linear == 0.0 && rest == 0.5);
			}
			(void)forest_run(forest, &e, round < 5 ? 20 : 200);
		}
		cop_forest_free(forest);
	}
}

static void test_explain_credits_what_tells_the_loss(void **state)
{
	(void)state;
	cop_forest *forest = forest_of(FOREST_D, 0, 1, 16, 1);
	forest_events e;
	double credit[FOREST_D] = { 0 }, others = 0.0;
	forest_begin(&e, forest_threshold, 1, 70); /* of feature 0 */
	(void)forest_run(forest, &e, 3000);
	for (size_t i = 0; i < 500; i++) {
		cop_explained_expert why;
		forest_draw(&e);
		(void)explain(forest, &e.x, 0, &why);
		for (size_t k = 0; k < why.count; k++)
			credit[why.features[k].index] += fabs((double)why.features[k].contribution);
		if (fabs((double)e.row.dense[0] - 0.3) > 0.2)
			assert_true(why.count > 0 && why.features[0].index == 0);
	}
	for (size_t j = 1; j < FOREST_D; j++)
		others = fmax(others, credit[j]);
	printf("credit: %.3f to the feature that tells, %.3f at most to another\n", credit[0] / 500.0, others / 500.0);
	assert_true(credit[0] > 3.0 * others);
	cop_forest_free(forest);
}

/* Asking why changes nothing, not even the row of the last predict's leaves. */
static void test_explain_and_predict_change_nothing(void **state)
{
	(void)state;
	cop_forest *forest = forest_of(FOREST_D, 0, 2, 8, 1);
	forest_events e;
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	forest_begin(&e, forest_xor, 2, 80);
	(void)forest_run(forest, &e, 1000);
	save(forest, &before);
	for (size_t i = 0; i < 200; i++) {
		cop_explained_expert why;
		float doubt[2];
		forest_draw(&e);
		(void)explain(forest, &e.x, i % 2, &why);
		cop_forest_doubt(forest, doubt);
	}
	save(forest, &after);
	assert_bytes_equal(&before, &after);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_forest_free(forest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_gives_same_bits_another_seed_others),
		cmocka_unit_test(test_again_gives_the_same_bits),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_load_other_shape_is_refused),
		cmocka_unit_test(test_load_cut_anywhere_is_refused),
		cmocka_unit_test(test_load_spoiled_is_refused_or_works),
		cmocka_unit_test(test_load_all_largest_numbers_is_refused_or_works),
		cmocka_unit_test(test_new_wrong_or_short_of_memory_is_refused),
		cmocka_unit_test(test_after_new_nothing_is_allocated),
		cmocka_unit_test(test_any_shape_works_and_takes_what_footprint_tells),
		cmocka_unit_test(test_sparse_rows_learn_about_as_well_as_dense),
		cmocka_unit_test(test_sparse_wide_rows_find_the_feature_that_tells),
		cmocka_unit_test(test_sparse_empty_rows_are_rows),
		cmocka_unit_test(test_explain_contributions_and_roots_sum_to_prediction),
		cmocka_unit_test(test_explain_credits_what_tells_the_loss),
		cmocka_unit_test(test_explain_and_predict_change_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
