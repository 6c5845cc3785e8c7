/* Who rests, on made-up predictions: those who add nothing do, at the losses that the header says, and nobody else. */
#include "rows.h"

#include <math.h>
#include <stdio.h>

#include "learn/dormancy.h"

#define SEED    907U
#define MEMBERS 3

typedef struct bench {
	cop_dormancy rest;
	cop_stacking stack;
	cop_rng rng;
	uint64_t rev;
} bench;

/* What a member says of y: y half of the way and noise of its own, or noise alone. */
typedef enum talent { USEFUL, USELESS } talent;

static void bench_init(bench *b, const double *cost, uint64_t stream)
{
	assert_int_equal(cop_dormancy_init(&b->rest), COP_OK);
	cop_stacking_begin(&b->stack, MEMBERS);
	cop_rng_init(&b->rng, SEED, stream);
	b->rev = 0;
	for (size_t i = 0; i < MEMBERS; i++)
		b->rest.member[i].cost = cost[i];
}

static void bench_fini(bench *b) { cop_dormancy_fini(&b->rest); }

static cop_dormancy_event draw(bench *b, const talent *talents, double regret)
{
	cop_dormancy_event event = { .choice = { regret, 0.2 }, .since = ++b->rev };
	event.y = cop_rng_unit(&b->rng) - 0.5;
	for (size_t i = 0; i < MEMBERS; i++) {
		double noise = 0.2 * cop_rng_normal(&b->rng);
		event.z[i] = talents[i] == USEFUL ? 0.5 * event.y + noise : noise;
	}
	return event;
}

/* n losses; the mean of the mixture's squared errors before each was taken in. */
static double run(bench *b, const talent *talents, double regret, size_t n)
{
	double sum = 0.0;
	for (size_t t = 0; t < n; t++) {
		const cop_dormancy_event event = draw(b, talents, regret);
		double error = event.y;
		for (size_t i = 0; i < MEMBERS; i++)
			error -= b->stack.weight[i] * event.z[i];
		sum += error * error;
		cop_dormancy_settle(&b->rest, &b->stack, &event);
	}
	return sum / (double)n;
}

static void check_away(const bench *b, bool first, bool second, bool third)
{
	const bool want[MEMBERS] = { first, second, third };
	for (size_t i = 0; i < MEMBERS; i++) {
		if (b->stack.away[i] != want[i])
			fail_msg(
			        "after %d losses member %zu is %s", (int)b->rest.losses, i, want[i] ? "awake" : "away");
		assert_true(!want[i] || b->stack.weight[i] == 0.0);
	}
}

static const talent last_useless[MEMBERS] = { USEFUL, USEFUL, USELESS };
static const double equal_cost[MEMBERS] = { 1.0, 1.0, 1.0 };
static const double last_first[MEMBERS] = { 1.0, 1.0, 2.0 };

/* ---- the stack without one ---- */

/* v is best with v_i = 0: the derivative of (v - w)ᵀ R (v - w) by every other v_j is 0. */
static void test_leave_leaves_the_best_weights_without_it(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (size_t count = 2; count <= COP_STACKING_MOST; count++)
		for (size_t i = 0; i < count; i++) {
			cop_stacking stack;
			cop_stacking_begin(&stack, count);
			for (size_t n = 0; n < 500; n++) {
				double z[COP_STACKING_MOST], y = cop_rng_unit(&rng);
				for (size_t j = 0; j < count; j++)
					z[j] = y + 0.3 * cop_rng_normal(&rng);
				(void)cop_stacking_settle(&stack, z, y);
			}
			const cop_stacking whole = stack;
			cop_stacking_leave(&stack, i);
			assert_true(stack.away[i] && stack.weight[i] == 0.0);
			for (size_t j = 0; j < count; j++) {
				double slope = 0.0;
				for (size_t k = 0; k < count; k++)
					slope += whole.r[j][k] * (stack.weight[k] - whole.weight[k]);
				assert_true(j == i || fabs(slope) < 1e-9 * whole.r[j][j]);
				assert_true(j == i || (stack.r[i][j] == 0.0 && stack.r[j][i] == 0.0));
			}
			cop_stacking_return(&stack, i);
			assert_true(!stack.away[i] && stack.weight[i] == 0.0 && stack.r[i][i] > 0.0);
		}
}

static void test_settle_what_is_away_says_nothing(void **state)
{
	(void)state;
	cop_stacking a, b;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	cop_stacking_begin(&a, MEMBERS);
	cop_stacking_leave(&a, 1);
	b = a;
	for (size_t n = 0; n < 2000; n++) {
		double y = cop_rng_unit(&rng), z[MEMBERS] = { y, cop_rng_normal(&rng), 0.5 * y };
		double error = cop_stacking_settle(&a, z, y);
		z[1] = 1e9;
		assert_true(error == cop_stacking_settle(&b, z, y));
		assert_true(a.weight[1] == 0.0 && a.r[1][0] == 0.0 && a.r[2][1] == 0.0);
	}
	assert_memory_equal(&a, &b, sizeof a);
}

/* ---- who rests ---- */

/* Until somebody rests, the stack is the one that there would be without all this. */
static void test_settle_before_the_first_rest_is_plain_stacking(void **state)
{
	(void)state;
	bench b;
	cop_stacking plain;
	bench_init(&b, equal_cost, 3);
	cop_stacking_begin(&plain, MEMBERS);
	for (size_t n = 1; n < 3000; n++) {
		const cop_dormancy_event event = draw(&b, last_useless, 0.0);
		cop_dormancy_settle(&b.rest, &b.stack, &event);
		(void)cop_stacking_settle(&plain, event.z, event.y);
		assert_memory_equal(plain.weight, b.stack.weight, sizeof plain.weight);
		assert_memory_equal(plain.r, b.stack.r, sizeof plain.r);
		assert_int_equal(b.rest.tried < COP_STACKING_MOST, n >= 2000);
	}
	bench_fini(&b);
}

static void test_useless_member_rests_and_nothing_is_lost(void **state)
{
	(void)state;
	static const double none[MEMBERS] = { 0.0, 0.0, 0.0 };
	bench b, awake;
	bench_init(&b, last_first, 4);
	bench_init(&awake, none, 4);
	(void)run(&b, last_useless, 0.0, 2999);
	check_away(&b, false, false, false);
	(void)run(&b, last_useless, 0.0, 1);
	check_away(&b, false, false, true);
	(void)run(&awake, last_useless, 0.0, 3000);
	double with = run(&awake, last_useless, 0.0, 9000), without = run(&b, last_useless, 0.0, 9000);
	printf("squared error with all %.6f, while one rests %.6f\n", with, without);
	assert_true(without < 1.002 * with);
	check_away(&awake, false, false, false);
	check_away(&b, false, false, true);
	bench_fini(&b);
	bench_fini(&awake);
}

static void test_useful_members_stay(void **state)
{
	(void)state;
	static const talent useful[MEMBERS] = { USEFUL, USEFUL, USEFUL };
	bench b;
	bench_init(&b, equal_cost, 5);
	for (size_t n = 0; n < 40000; n += 100) {
		(void)run(&b, useful, 0.0, 100);
		check_away(&b, false, false, false);
	}
	bench_fini(&b);
}

/* What the tried member is worth, 1 / 24.5 - 1 / 30.75 of squared error, is just what it has to be: while that is
 * within the noise nothing is decided, and in the end the member stays. */
static void test_member_at_the_margin_is_tried_to_the_end_and_stays(void **state)
{
	(void)state;
	static const talent useful[MEMBERS] = { USEFUL, USEFUL, USEFUL };
	static const double cost[MEMBERS] = { 0.0, 0.0, 1.0 };
	bench b;
	bench_init(&b, cost, 13);
	for (size_t n = 1; n < 2000 + 8000; n++) {
		cop_dormancy_event event = draw(&b, useful, 0.0);
		event.choice.spread = (1.0 / 24.5 - 1.0 / 30.75) / 0.01;
		cop_dormancy_settle(&b.rest, &b.stack, &event);
		assert_int_equal(b.rest.tried, n < 2000 ? COP_STACKING_MOST : 2);
		check_away(&b, false, false, false);
	}
	(void)run(&b, useful, 0.0, 1);
	assert_int_equal(b.rest.tried, COP_STACKING_MOST);
	check_away(&b, false, false, false);
	bench_fini(&b);
}

/* Whatever the errors on what was played say. */
static void test_member_whose_lack_would_change_choices_stays(void **state)
{
	(void)state;
	bench rests, stays;
	bench_init(&rests, equal_cost, 6);
	bench_init(&stays, equal_cost, 6);
	(void)run(&rests, last_useless, -1e-6, 9000);
	(void)run(&stays, last_useless, 1e-6, 30000);
	check_away(&rests, false, false, true);
	check_away(&stays, false, false, false);
	bench_fini(&rests);
	bench_fini(&stays);
}

static void test_members_without_cost_never_rest(void **state)
{
	(void)state;
	static const double cost[MEMBERS] = { 1.0, 1.0, 0.0 };
	bench b;
	bench_init(&b, cost, 7);
	(void)run(&b, last_useless, 0.0, 30000);
	check_away(&b, false, false, false);
	bench_fini(&b);
}

static void test_costliest_member_is_tried_first(void **state)
{
	(void)state;
	static const talent talents[MEMBERS] = { USELESS, USEFUL, USELESS };
	static const double cost[2][MEMBERS] = { { 3.0, 0.0, 2.0 }, { 2.0, 0.0, 3.0 } };
	for (size_t last = 0; last < 2; last++) {
		bench b;
		bench_init(&b, cost[last], 8);
		(void)run(&b, talents, 0.0, 3000);
		check_away(&b, last == 0, false, last == 1);
		(void)run(&b, talents, 0.0, 1000);
		check_away(&b, true, false, true);
		bench_fini(&b);
	}
}

static void test_one_member_is_always_awake(void **state)
{
	(void)state;
	static const talent useless[MEMBERS] = { USELESS, USELESS, USELESS };
	bench b;
	bench_init(&b, equal_cost, 9);
	for (size_t n = 0; n < 20000; n += 100) {
		(void)run(&b, useless, 0.0, 100);
		assert_true(!b.stack.away[0] || !b.stack.away[1] || !b.stack.away[2]);
	}
	bench_fini(&b);
}

/* ---- who wakes ---- */

static void test_naps_double_while_it_is_useless(void **state)
{
	(void)state;
	static const double cost[MEMBERS] = { 0.0, 0.0, 1.0 };
	bench b;
	bench_init(&b, cost, 10);
	for (uint64_t nap = 10000, n = 3000; n < 80000; nap *= 2) {
		(void)run(&b, last_useless, 0.0, n - b.rest.losses);
		check_away(&b, false, false, true);
		(void)run(&b, last_useless, 0.0, nap - 1);
		check_away(&b, false, false, true);
		(void)run(&b, last_useless, 0.0, 1);
		check_away(&b, false, false, false);
		assert_int_equal(b.rest.member[2].woke, b.rev);
		assert_true(b.stack.weight[2] == 0.0);
		n = b.rest.losses + 2000; /* tried after 1000 and found useless after as many */
	}
	bench_fini(&b);
}

/* The others lose their talent, the sleeper finds it. */
static void test_sleeper_wakes_when_errors_rise_and_helps(void **state)
{
	(void)state;
	static const talent changed[MEMBERS] = { USELESS, USELESS, USEFUL };
	bench b;
	bench_init(&b, last_first, 11);
	(void)run(&b, last_useless, 0.0, 4000);
	check_away(&b, false, false, true);
	size_t n = 0;
	for (; b.stack.away[2] && n < 5000; n++)
		(void)run(&b, changed, 0.0, 1);
	printf("awake after %zu losses\n", n);
	assert_true(n < 1000);
	for (size_t quiet = 1; quiet < 5000; quiet++) { /* while the stream settles nobody is judged */
		assert_int_equal(b.rest.tried, COP_STACKING_MOST);
		(void)run(&b, changed, 0.0, 1);
	}
	double best = 0.5 / (0.25 + 0.04 * 12.0); /* least squares: E zy / E zz, E yy = 1/12 */
	printf("weight %.3f, best %.3f\n", b.stack.weight[2], best);
	assert_true(fabs(b.stack.weight[2] - best) < 0.15 && fabs(b.stack.weight[0]) < 0.2);
	bench_fini(&b);
}

static void test_not_finite_counts_but_moves_nothing(void **state)
{
	(void)state;
	bench b;
	bench_init(&b, equal_cost, 12);
	(void)run(&b, last_useless, 0.0, 2500);
	const bench before = b;
	for (size_t n = 0; n < 100; n++) {
		cop_dormancy_event event = draw(&b, last_useless, 0.0);
		event.z[n % MEMBERS] = n % 2 == 0 ? (double)NAN : (double)INFINITY;
		cop_dormancy_settle(&b.rest, &b.stack, &event);
	}
	assert_memory_equal(&before.stack, &b.stack, sizeof b.stack);
	assert_memory_equal(&before.rest.without, &b.rest.without, sizeof b.rest.without);
	assert_int_equal(b.rest.n, before.rest.n);
	assert_int_equal(b.rest.losses, before.rest.losses + 100);
	bench_fini(&b);
}

/* ---- saved ---- */

static void save(const bench *b, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_dormancy_save(&b->rest, &b->stack, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static cop_err load(bench *b, const cop_bytes *bytes, size_t length)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, bytes->data, length);
	cop_err err = cop_dormancy_load(&b->rest, &b->stack, &cursor);
	assert_true(err != COP_OK || cop_cursor_left(&cursor) == 0);
	return err;
}

/* Before the first trial, in one, asleep, awake again and after a rise. */
static void test_loaded_goes_on_bit_for_bit(void **state)
{
	(void)state;
	static const size_t moments[] = { 0, 1, 1999, 2000, 2001, 2999, 3000, 9000, 12999, 13000, 14500, 16000 };
	static const talent changed[MEMBERS] = { USELESS, USELESS, USEFUL };
	cop_bytes at, one, other;
	cop_bytes_init(&at);
	cop_bytes_init(&one);
	cop_bytes_init(&other);
	for (size_t m = 0; m < sizeof moments / sizeof *moments; m++) {
		bench a, b;
		bench_init(&a, last_first, 13);
		bench_init(&b, last_first, 99);
		(void)run(&b, changed, 0.0, 7000); /* what it was is overwritten */
		(void)run(&a, last_useless, 0.0, moments[m]);
		save(&a, &at);
		assert_int_equal(load(&b, &at, at.length), COP_OK);
		save(&b, &other);
		assert_bytes_equal(&at, &other);
		b.rng = a.rng;
		b.rev = a.rev;
		(void)run(&a, last_useless, 0.0, 3000);
		(void)run(&b, last_useless, 0.0, 3000);
		(void)run(&a, changed, 0.0, 3000);
		(void)run(&b, changed, 0.0, 3000);
		save(&a, &one);
		save(&b, &other);
		assert_bytes_equal(&one, &other);
		for (size_t cut = 0; cut < at.length; cut++)
			assert_int_not_equal(load(&b, &at, cut), COP_OK);
		bench_fini(&a);
		bench_fini(&b);
	}
	cop_bytes_fini(&at);
	cop_bytes_fini(&one);
	cop_bytes_fini(&other);
}

/* The sums of a trial stand before the stack without the tried member, which is the last. */
static void test_load_of_a_trial_that_is_not_finite_is_refused(void **state)
{
	(void)state;
	bench a, b;
	cop_bytes bytes, without;
	cop_bytes_init(&bytes);
	cop_bytes_init(&without);
	bench_init(&a, last_first, 17);
	bench_init(&b, last_first, 17);
	(void)run(&a, last_useless, 0.0, 2500);
	save(&a, &bytes);
	cop_stacking_save(&a.rest.without, &without);
	for (size_t i = 1; i <= 3; i++) {
		const double wrong = i == 2 ? (double)INFINITY : (double)NAN;
		double right;
		uint8_t *place = bytes.data + bytes.length - without.length - i * sizeof wrong;
		memcpy(&right, place, sizeof right);
		memcpy(place, &wrong, sizeof wrong);
		assert_int_equal(load(&b, &bytes, bytes.length), COP_ENONFINITE);
		memcpy(place, &right, sizeof right);
		assert_int_equal(load(&b, &bytes, bytes.length), COP_OK);
	}
	uint8_t *tried = bytes.data + bytes.length - without.length - 4 * sizeof(double);
	const uint64_t events = a.rest.n, last = 7999, beyond = 8000;
	const double below = -1e-300;
	memcpy(tried, &last, sizeof last);
	assert_int_equal(load(&b, &bytes, bytes.length), COP_OK);
	memcpy(tried, &beyond, sizeof beyond);
	assert_int_equal(load(&b, &bytes, bytes.length), COP_EFORMAT);
	memcpy(tried, &events, sizeof events);
	memcpy(tried + 2 * sizeof(double), &below, sizeof below); /* squares */
	assert_int_equal(load(&b, &bytes, bytes.length), COP_EFORMAT);
	bench_fini(&a);
	bench_fini(&b);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&without);
}

static void test_load_of_a_stack_alone_begins_with_nobody_at_rest(void **state)
{
	(void)state;
	bench a, b;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	bench_init(&a, equal_cost, 14);
	bench_init(&b, last_first, 15);
	(void)run(&a, last_useless, 0.0, 1000);
	(void)run(&b, last_useless, 0.0, 4000);
	check_away(&b, false, false, true);
	cop_stacking_save(&a.stack, &bytes);
	assert_int_equal(load(&b, &bytes, bytes.length), COP_OK);
	assert_memory_equal(&a.stack, &b.stack, sizeof a.stack);
	assert_int_equal(b.rest.losses, 0);
	assert_int_equal(b.rest.tried, COP_STACKING_MOST);
	assert_int_equal(cop_change_width(b.rest.change), 0);
	bench_fini(&a);
	bench_fini(&b);
	cop_bytes_fini(&bytes);
}

static void test_load_of_one_asleep_who_may_not_is_refused(void **state)
{
	(void)state;
	static const double cost[MEMBERS] = { 1.0, 1.0, 0.0 };
	bench a, b;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	bench_init(&a, last_first, 16);
	bench_init(&b, cost, 16);
	(void)run(&a, last_useless, 0.0, 4000);
	check_away(&a, false, false, true);
	save(&a, &bytes);
	assert_int_equal(load(&b, &bytes, bytes.length), COP_EFORMAT);
	bench_fini(&a);
	bench_fini(&b);
	cop_bytes_fini(&bytes);
}

/* Every byte of a state with a sleeper and a trial: refused, or something that goes on and saves soundly. */
static void test_load_of_spoiled_bytes_is_refused_or_goes_on(void **state)
{
	(void)state;
	static const uint8_t spoil[] = { 0x01, 0x80, 0xff, 0x7f };
	static const double cost[MEMBERS] = { 0.0, 1.0, 2.0 };
	bench a, b;
	cop_bytes good, bytes;
	size_t refused = 0;
	cop_bytes_init(&good);
	cop_bytes_init(&bytes);
	bench_init(&a, cost, 17);
	bench_init(&b, cost, 18);
	(void)run(&a, last_useless, 0.0, 3500);
	check_away(&a, false, false, true);
	assert_int_equal(a.rest.tried, 1);
	save(&a, &good);
	for (size_t at = 0; at < good.length; at++)
		for (size_t s = 0; s < sizeof spoil; s++) {
			good.data[at] ^= spoil[s];
			cop_err err = load(&b, &good, good.length);
			good.data[at] ^= spoil[s];
			refused += err != COP_OK;
			if (err != COP_OK)
				continue;
			(void)run(&b, last_useless, 0.0, 20);
			for (size_t i = 0; i < MEMBERS; i++)
				assert_true(isfinite(b.stack.weight[i]));
			save(&b, &bytes);
			assert_int_equal(load(&b, &bytes, bytes.length), COP_OK);
		}
	printf("%zu of %zu refused\n", refused, good.length * sizeof spoil);
	assert_true(refused > 0);
	bench_fini(&a);
	bench_fini(&b);
	cop_bytes_fini(&good);
	cop_bytes_fini(&bytes);
}

/* ---- memory ---- */

static void test_init_short_of_memory_can_be_finished(void **state)
{
	(void)state;
	bool done = false;
	for (unsigned long n = 1; !done; n++) {
		cop_dormancy rest;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_dormancy_init(&rest);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		done = err == COP_OK;
		cop_dormancy_fini(&rest);
	}
}

static void test_settle_allocates_nothing(void **state)
{
	(void)state;
	static const talent changed[MEMBERS] = { USELESS, USELESS, USEFUL };
	bench b;
	bench_init(&b, equal_cost, 19);
	cop_test_alloc_fail(0, 0);
	(void)run(&b, last_useless, 0.0, 16000);
	(void)run(&b, changed, 0.0, 4000);
	assert_int_equal(cop_test_alloc_count(), 0);
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leave_leaves_the_best_weights_without_it),
		cmocka_unit_test(test_settle_what_is_away_says_nothing),
		cmocka_unit_test(test_settle_before_the_first_rest_is_plain_stacking),
		cmocka_unit_test(test_useless_member_rests_and_nothing_is_lost),
		cmocka_unit_test(test_useful_members_stay),
		cmocka_unit_test(test_member_at_the_margin_is_tried_to_the_end_and_stays),
		cmocka_unit_test(test_member_whose_lack_would_change_choices_stays),
		cmocka_unit_test(test_members_without_cost_never_rest),
		cmocka_unit_test(test_costliest_member_is_tried_first),
		cmocka_unit_test(test_one_member_is_always_awake),
		cmocka_unit_test(test_naps_double_while_it_is_useless),
		cmocka_unit_test(test_sleeper_wakes_when_errors_rise_and_helps),
		cmocka_unit_test(test_not_finite_counts_but_moves_nothing),
		cmocka_unit_test(test_loaded_goes_on_bit_for_bit),
		cmocka_unit_test(test_load_of_a_trial_that_is_not_finite_is_refused),
		cmocka_unit_test(test_load_of_a_stack_alone_begins_with_nobody_at_rest),
		cmocka_unit_test(test_load_of_one_asleep_who_may_not_is_refused),
		cmocka_unit_test(test_load_of_spoiled_bytes_is_refused_or_goes_on),
		cmocka_unit_test(test_init_short_of_memory_can_be_finished),
		cmocka_unit_test(test_settle_allocates_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
