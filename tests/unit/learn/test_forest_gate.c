/* learn/forest_gate: a bet on noise is hardly ever won, one on a signal soon. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "learn/forest_parts.h"

enum { ARMS = 3 };

typedef struct game {
	cop_forest_gate gate;
	double n[ARMS], loss[ARMS];
} game;

static void begin(game *g)
{
	memset(g, 0, sizeof *g);
	g->gate.n = g->n;
	g->gate.loss = g->loss;
}

/* Losses of 1 with a chance of .5 - gain or .5 + gain, told apart: what is said is the arm's mean so far and the gain,
 * with noise added. Events until the gate opens, at most `most`. */
static size_t play(game *g, cop_rng *rng, double gain, double noise, size_t most)
{
	for (size_t i = 0; i < most; i++) {
		if (g->gate.open)
			return i;
		double sign = cop_rng_below(rng, 2) == 0 ? -1.0 : 1.0;
		double loss = cop_rng_unit(rng) < 0.5 + sign * gain ? 1.0 : 0.0;
		size_t arm = cop_rng_below(rng, ARMS);
		double mean = (g->loss[arm] + 0.5) / (g->n[arm] + 1.0);
		cop_forest_gate_learn(&g->gate, arm, loss, mean + sign * gain + noise * (cop_rng_unit(rng) - 0.5));
	}
	return most;
}

static void test_noise_is_hardly_ever_taken_for_a_signal(void **state)
{
	(void)state;
	enum { GAMES = 1000, EVENTS = 5000 };
	cop_rng rng;
	cop_rng_init(&rng, 4, 0);
	size_t opened = 0;
	for (size_t i = 0; i < GAMES; i++) {
		game g;
		begin(&g);
		opened += play(&g, &rng, 0.0, 0.05, EVENTS) < EVENTS;
	}
	printf("%zu of %d games on noise were won\n", opened, GAMES);
	assert_true(opened <= GAMES / 20);
}

static void test_signal_opens_it_and_the_sooner_the_stronger(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	size_t strong = 0, weak = 0;
	for (size_t i = 0; i < 50; i++) {
		game g;
		begin(&g);
		strong += play(&g, &rng, 0.3, 0.1, 100000);
		begin(&g);
		weak += play(&g, &rng, 0.1, 0.1, 100000);
	}
	printf("opened after %.0f events (gain .3) and %.0f (gain .1)\n", (double)strong / 50, (double)weak / 50);
	assert_true(strong < 50 * 200);
	assert_true(weak > 2 * strong && weak < 50 * 3000);
}

static void test_open_gate_stays_open(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 6, 0);
	game g;
	begin(&g);
	assert_true(play(&g, &rng, 0.4, 0.0, 10000) < 10000);
	uint64_t events = g.gate.events;
	for (size_t i = 0; i < 1000; i++)
		cop_forest_gate_learn(&g.gate, 0, 1.0, 0.0);
	assert_true(g.gate.open);
	assert_int_equal(g.gate.events, events);
}

/* The wealth of a player, by the game's definition. */
static void test_wealth_is_what_the_bets_have_won(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 8, 0);
	game g;
	begin(&g);
	double n[ARMS] = { 0 }, sum[ARMS] = { 0 }, wealth = 0.0, won_sum = 0.0, squares = 0.0;
	for (size_t t = 1; t <= 60; t++) {
		size_t arm = cop_rng_below(&rng, ARMS);
		double loss = cop_rng_unit(&rng), said = 1.5 * cop_rng_unit(&rng) - 0.25;
		double mean = (sum[arm] + 0.5) / (n[arm] + 1.0), clean = fmax(0.0, fmin(1.0, said));
		double won = pow(loss - mean, 2.0) - pow(loss - clean, 2.0);
		double stake = squares > 0.0 ? fmax(0.0, fmin(0.9, won_sum / squares)) : 0.0;
		wealth = (wealth + 1.0 / (double)(t * (t + 1))) * (1.0 + stake * won);
		won_sum = 0.995 * won_sum + won;
		squares = 0.995 * squares + won * won;
		n[arm]++;
		sum[arm] += loss;
		cop_forest_gate_learn(&g.gate, arm, loss, said);
		assert_true(fabs(g.gate.wealth - wealth) <= 1e-12 * wealth && g.gate.events == t);
		assert_true(fabs(g.gate.sum - won_sum) <= 1e-12 && fabs(g.gate.squares - squares) <= 1e-12);
	}
	for (size_t k = 0; k < ARMS; k++)
		assert_true(g.n[k] == n[k] && fabs(g.loss[k] - sum[k]) <= 1e-12);
}

/* 20 opens it, and what is won then counts. */
static void test_gate_opens_at_its_wealth(void **state)
{
	(void)state;
	static const double wealth[] = { 19.4, 19.5, 25.0 };
	for (size_t i = 0; i < sizeof wealth / sizeof *wealth; i++) {
		game g;
		begin(&g);
		g.gate.wealth = wealth[i];
		cop_forest_gate_learn(&g.gate, 0, 1.0, 0.5); /* no stake yet */
		assert_true(g.gate.wealth == wealth[i] + 0.5 && g.gate.open == (g.gate.wealth >= 20.0));
		cop_forest_gate_learn(&g.gate, 0, 1.0, 0.5);
		assert_int_equal(g.gate.events, g.gate.open && i > 0 ? 1 : 2);
	}
}

static void put(const game *g, cop_bytes *bytes) { cop_forest_gate_save(&g->gate, ARMS, bytes); }

static cop_err take(game *g, const cop_bytes *bytes)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, bytes->data, bytes->length);
	begin(g);
	cop_forest_gate_load(&g->gate, ARMS, ARMS, &cursor);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	return cursor.err;
}

static void test_saved_gate_goes_on_alike_and_a_wrong_one_is_refused(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 7, 0);
	game one, other;
	begin(&one);
	(void)play(&one, &rng, 0.05, 0.1, 300);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put(&one, &bytes);
	assert_int_equal(take(&other, &bytes), COP_OK);
	cop_rng again = rng;
	assert_int_equal(play(&one, &rng, 0.05, 0.1, 50000), play(&other, &again, 0.05, 0.1, 50000));
	assert_memory_equal(one.n, other.n, sizeof one.n);
	double *const wrong[] = { &one.gate.wealth, &one.gate.squares, &one.n[1], &one.loss[2] };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		double was = *wrong[i];
		*wrong[i] = -1.0;
		bytes.length = 0;
		put(&one, &bytes);
		assert_int_equal(take(&other, &bytes), COP_EFORMAT);
		*wrong[i] = was;
	}
	one.loss[0] = one.n[0] + 1.0;
	bytes.length = 0;
	put(&one, &bytes);
	assert_int_equal(take(&other, &bytes), COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

/* The first cannot be in a game, the second can. */
static void test_gate_beyond_what_a_game_can_have_is_refused(void **state)
{
	(void)state;
	game g, other;
	begin(&g);
	const struct {
		double *of, beyond, within;
	} ends[] = { { &g.gate.wealth, 42.001, 42.0 }, { &g.gate.sum, 1001.0, 1000.0 },
		{ &g.gate.sum, -1001.0, -1000.0 }, { &g.gate.squares, 1001.0, 1000.0 }, { &g.n[1], 1.001e18, 1e18 },
		{ &g.gate.wealth, -1e-300, 0.0 }, { &g.gate.squares, -1e-300, 0.0 }, { &g.loss[2], -1e-300, 0.0 },
		{ &g.loss[2], 3.001, 3.0 } };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	g.n[2] = 3.0;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		for (int within = 0; within < 2; within++) {
			*ends[i].of = within ? ends[i].within : ends[i].beyond;
			cop_bytes_clear(&bytes);
			put(&g, &bytes);
			assert_int_equal(take(&other, &bytes), within ? COP_OK : COP_EFORMAT);
		}
	for (int within = 0; within < 2; within++) {
		g.gate.events = ((uint64_t)1 << 62) + !within;
		cop_bytes_clear(&bytes);
		put(&g, &bytes);
		assert_int_equal(take(&other, &bytes), within ? COP_OK : COP_EFORMAT);
	}
	for (uint8_t open = 0; open < 3; open++) {
		bytes.data[0] = open;
		assert_int_equal(take(&other, &bytes), open < 2 ? COP_OK : COP_EFORMAT);
		assert_true(open == 2 || other.gate.open == (open == 1));
	}
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise_is_hardly_ever_taken_for_a_signal),
		cmocka_unit_test(test_signal_opens_it_and_the_sooner_the_stronger),
		cmocka_unit_test(test_open_gate_stays_open),
		cmocka_unit_test(test_wealth_is_what_the_bets_have_won),
		cmocka_unit_test(test_gate_opens_at_its_wealth),
		cmocka_unit_test(test_gate_beyond_what_a_game_can_have_is_refused),
		cmocka_unit_test(test_saved_gate_goes_on_alike_and_a_wrong_one_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
