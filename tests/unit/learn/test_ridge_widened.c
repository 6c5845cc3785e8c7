/* Learner ridge that is given features, alone and among instances some of which have them earlier: against the normal
 * equations of the rows in which what was not known is as the instance's first values of it were on average. */
#include "ridge_fixture.h"

#include "support.h"

#define EVENTS 600
#define PARTS  3
#define D      RIDGE_D
#define FEW    (D - 2)
#define FIRST  32

/* What an instance was told, NAN where it was not. */
typedef struct instance {
	cop_learner *learner;
	ridge_event row[EVENTS];
	size_t rows;
} instance;

/* The feature that matters is the last one. */
static void draw(ridge_event *events, size_t count, uint64_t seed)
{
	ridge_draw(events, count, seed);
	for (size_t i = 0; i < count; i++) {
		float x[D];
		for (size_t j = 0; j < D; j++)
			x[j] = events[i].x[(j + 3) % D];
		memcpy(events[i].x, x, sizeof x);
	}
}

static cop_learner *make(size_t features)
{
	cop_learner_settings s;
	fixture_settings(&s, "ridge", false);
	s.features = features;
	return fixture_learner(&s);
}

static void widen(instance *t)
{
	cop_bytes saved;
	cop_cursor cursor;
	cop_learner *more = make(D);
	cop_bytes_init(&saved);
	fixture_save(t->learner, &saved);
	cop_cursor_init(&cursor, saved.data, saved.length);
	more->saved_features = FEW;
	assert_int_equal(cop_learner_load(more, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	assert_int_equal(more->known, FEW);
	cop_learner_free(t->learner);
	t->learner = more;
	cop_bytes_fini(&saved);
}

static void teach(instance *t, const ridge_event *e, bool last)
{
	ridge_event *row = &t->row[t->rows++];
	*row = *e;
	for (size_t j = t->learner->settings.features; j < D; j++)
		row->x[j] = NAN;
	if (!last)
		row->x[D - 1] = NAN;
	ridge_teach(t->learner, row);
}

/* Mean of the first values; false: they are fewer. */
static bool pin_of(const instance *t, size_t j, float *pin)
{
	double sum = 0.0;
	size_t known = 0;
	for (size_t i = 0; i < t->rows && known < FIRST; i++)
		if (!isnan(t->row[i].x[j])) {
			sum += (double)t->row[i].x[j];
			known++;
		}
	*pin = (float)(sum / FIRST);
	return known == FIRST;
}

/* Rows of t as they count at `at`. */
static size_t rows_at(const instance *t, const instance *at, ridge_event *out)
{
	memcpy(out, t->row, t->rows * sizeof *out);
	for (size_t j = FEW; j < D; j++) {
		float pin = 0.0f;
		const bool own = pin_of(t, j, &pin);
		double sum = 0.0;
		size_t known = 0;
		if (!own)
			assert_true(pin_of(at, j, &pin));
		for (size_t i = 0; i < t->rows; i++) {
			const float x = t->row[i].x[j];
			const size_t after = known + (isnan(x) ? 0 : 1);
			const bool early = !own || after <= FIRST;
			out[i].x[j] = early ? pin : isnan(x) ? (float)(sum / (double)known) : x;
			sum += isnan(x) ? 0.0 : (double)x;
			known = after;
		}
	}
	return t->rows;
}

static void assert_as(instance *at, const instance *of, size_t count, size_t d)
{
	static ridge_event rows[PARTS * EVENTS];
	ridge_event asked[20];
	size_t n = 0;
	draw(asked, 20, 99);
	for (size_t p = 0; p < count; p++) {
		if (d == D)
			n += rows_at(&of[p], at, rows + n);
		else
			for (size_t i = 0; i < of[p].rows; i++)
				rows[n++] = of[p].row[i];
	}
	for (uint32_t k = 0; k < FIXTURE_ARMS; k++)
		for (size_t i = 0; i < 20; i++) {
			const double is = ridge_prediction(at->learner, asked[i].x, k),
			             wanted = ridge_reference(rows, n, d, asked[i].x, k);
			if (!(fabs(is - wanted) < 3e-6))
				fail_msg("arm %u, row %zu of %zu: %.9f, expected %.9f", k, i, n, is, wanted);
		}
}

static void assert_same_state(const cop_learner *a, const cop_learner *b)
{
	cop_bytes one, other;
	cop_bytes_init(&one);
	cop_bytes_init(&other);
	fixture_save(a, &one);
	fixture_save(b, &other);
	assert_int_equal(one.length, other.length);
	assert_memory_equal(one.data, other.data, one.length);
	cop_bytes_fini(&one);
	cop_bytes_fini(&other);
}

static void test_features_that_come_count_from_their_first_values_on(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	static instance t;
	t = (instance){ .learner = make(FEW) };
	draw(events, EVENTS, 21);
	for (size_t i = 0; i < 200; i++)
		teach(&t, &events[i], true);
	assert_as(&t, &t, 1, FEW);
	widen(&t);
	assert_as(&t, &t, 1, FEW);
	for (size_t i = 200; i < 250; i++)
		teach(&t, &events[i], i < 200 + FIRST - 1); /* one is not there yet */
	ridge_event unknown = events[0];
	unknown.x[D - 1] = NAN;
	double before = ridge_prediction(t.learner, events[0].x, 3);
	assert_true(before == ridge_prediction(t.learner, unknown.x, 3));
	teach(&t, &events[250], true);
	assert_as(&t, &t, 1, D);
	for (size_t i = 251; i < EVENTS; i++)
		teach(&t, &events[i], i % 7 > 0);
	assert_as(&t, &t, 1, D);
	assert_true(fabs(ridge_prediction(t.learner, events[0].x, 3) - before) > 1e-3);
	cop_learner_free(t.learner);
}

/* All tell all. */
static void exchange(instance *parts, uint64_t number)
{
	cop_bytes room;
	cop_bytes_init(&room);
	for (uint32_t from = 0; from < PARTS; from++)
		for (uint32_t to = 0; to < PARTS; to++) {
			const cop_summary summary = ridge_summary(parts[from].learner, from, number, &room);
			const bool new = cop_sums_judge(cop_learner_sums(parts[to].learner), &summary) == COP_SUMS_NEW;
			assert_true(new || to == from || number == EVENTS); /* then some have learned nothing since */
			if (new)
				assert_int_equal(cop_learner_merge(parts[to].learner, &summary), COP_OK);
		}
	cop_bytes_fini(&room);
}

static void clone(instance *t)
{
	cop_learner *same;
	assert_int_equal(cop_learner_clone(t->learner, &same), COP_OK);
	assert_same_state(t->learner, same);
	cop_learner_free(t->learner);
	t->learner = same;
}

/* One after the other gets the features: none loses what the others learned, before or after they had them. */
static void test_instances_that_have_features_earlier_merge_with_others(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	static instance parts[PARTS];
	draw(events, EVENTS, 22);
	for (uint32_t p = 0; p < PARTS; p++) {
		parts[p] = (instance){ .learner = make(FEW) };
		ridge_life(parts[p].learner, 100 + p);
	}
	for (size_t i = 0; i < EVENTS - 120; i++) {
		if (i == 120 || i == 240)
			widen(&parts[i / 240]);
		teach(&parts[i % PARTS], &events[i], i % 5 > 0);
		if (i % 60 == 59) {
			exchange(parts, i);
			for (size_t p = 0; p < PARTS && i > 200; p++)
				clone(&parts[p]);
		}
	}
	assert_as(&parts[0], parts, PARTS, D);
	assert_as(&parts[1], parts, PARTS, D);
	assert_as(&parts[2], parts, PARTS, FEW);
	widen(&parts[2]); /* it knows all that the others told, and not yet how far its own rows are from that */
	assert_as(&parts[2], parts, PARTS, FEW);
	for (size_t i = EVENTS - 120; i < EVENTS - 60; i++)
		teach(&parts[2], &events[i], true);
	assert_as(&parts[2], parts, PARTS, D);
	exchange(parts, EVENTS);
	for (size_t p = 0; p < PARTS; p++) {
		clone(&parts[p]);
		assert_as(&parts[p], parts, PARTS, D);
		cop_learner_free(parts[p].learner);
	}
}

/* Its rows have all features from the beginning; those that it hears of lack some. */
static void test_instance_that_never_lacked_features_pins_them_for_others(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	static instance parts[2];
	cop_bytes room;
	cop_bytes_init(&room);
	draw(events, EVENTS, 23);
	parts[0] = (instance){ .learner = make(D) };
	parts[1] = (instance){ .learner = make(FEW) };
	ridge_life(parts[1].learner, 5);
	for (size_t i = 0; i < 100; i++)
		teach(&parts[1], &events[i], true);
	for (size_t i = 100; i < 100 + FIRST - 1; i++)
		teach(&parts[0], &events[i], true);
	const cop_summary summary = ridge_summary(parts[1].learner, 1, 1, &room);
	assert_int_equal(cop_learner_merge(parts[0].learner, &summary), COP_OK);
	assert_as(&parts[0], parts, 2, FEW);
	clone(&parts[0]);
	teach(&parts[0], &events[100 + FIRST - 1], true);
	const ridge_event *first = parts[0].row;
	static ridge_event rows[EVENTS];
	memcpy(rows, first, FIRST * sizeof *rows);
	memcpy(rows + FIRST, parts[1].row, 100 * sizeof *rows);
	for (size_t j = FEW; j < D; j++) {
		float pin;
		assert_true(pin_of(&parts[0], j, &pin));
		for (size_t i = 0; i < 100; i++)
			rows[FIRST + i].x[j] = pin;
	}
	for (uint32_t k = 0; k < FIXTURE_ARMS; k++)
		assert_true(fabs(ridge_prediction(parts[0].learner, events[0].x, k) -
		                    ridge_reference(rows, 100 + FIRST, D, events[0].x, k)) < 3e-6);
	cop_learner_free(parts[0].learner);
	cop_learner_free(parts[1].learner);
	cop_bytes_fini(&room);
}

/* A column begins anew: what rows lack of it is at its new middle. */
static void test_pin_moves_with_a_scale_that_begins_anew(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	static instance t;
	cop_outliers is;
	t = (instance){ .learner = make(FEW) };
	draw(events, EVENTS, 24);
	for (size_t i = 0; i < 96; i++)
		teach(&t, &events[i], true);
	widen(&t);
	for (size_t i = 96; i < 320; i++) {
		events[i].x[D - 1] += i < 192 ? 0.0f : 1000.0f; /* blocks are of 32 rows */
		teach(&t, &events[i], true);
	}
	cop_learner_outliers(t.learner, &is);
	assert_int_equal(is.rescaled, 1);
	float least = INFINITY, most = -INFINITY;
	for (size_t i = 192; i < 224; i++) {
		least = fminf(least, events[i].x[D - 1]);
		most = fmaxf(most, events[i].x[D - 1]);
	}
	for (size_t i = 0; i < 320; i++) {
		float pin;
		assert_true(pin_of(&t, FEW, &pin));
		events[i].x[FEW] = i < 96 + FIRST ? pin : events[i].x[FEW];
		events[i].x[D - 1] = i < 224 ? (float)(0.5 * ((double)least + (double)most)) : events[i].x[D - 1];
	}
	for (uint32_t k = 0; k < FIXTURE_ARMS; k++)
		for (size_t i = 300; i < 320; i++)
			assert_true(fabs(ridge_prediction(t.learner, events[i].x, k) -
			                    ridge_reference(events, 320, D, events[i].x, k)) < 1e-4);
	clone(&t);
	cop_learner_free(t.learner);
}

static void test_damaged_states_of_added_features_are_refused(void **state)
{
	(void)state;
	static ridge_event events[EVENTS];
	static instance t;
	cop_bytes saved;
	cop_cursor cursor;
	cop_bytes_init(&saved);
	t = (instance){ .learner = make(FEW) };
	draw(events, EVENTS, 25);
	for (size_t i = 0; i < 100; i++) {
		if (i == 40)
			widen(&t);
		teach(&t, &events[i], true);
	}
	fixture_save(t.learner, &saved);
	for (size_t cut = 0; cut <= saved.length; cut++) {
		cop_learner *fresh = make(D);
		cop_cursor_init(&cursor, saved.data, cut);
		assert_int_equal(cop_learner_load(fresh, &cursor) == COP_OK, cut == saved.length);
		cop_learner_free(fresh);
	}
	static const uint64_t grown = (uint64_t)1 << 63;
	size_t at = 0;
	while (memcmp(saved.data + at, &grown, sizeof grown) != 0)
		at++;
	for (uint8_t known = 0; known <= D; known++) { /* all, or none */
		cop_learner *fresh = make(D);
		saved.data[at + sizeof grown] = known;
		cop_cursor_init(&cursor, saved.data, saved.length);
		const bool fine = known > 0 && known < D;
		assert_int_equal(cop_learner_load(fresh, &cursor) == COP_OK, fine);
		cop_learner_free(fresh);
	}
	cop_learner_free(t.learner);
	cop_bytes_fini(&saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features_that_come_count_from_their_first_values_on),
		cmocka_unit_test(test_instances_that_have_features_earlier_merge_with_others),
		cmocka_unit_test(test_instance_that_never_lacked_features_pins_them_for_others),
		cmocka_unit_test(test_pin_moves_with_a_scale_that_begins_anew),
		cmocka_unit_test(test_damaged_states_of_added_features_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
