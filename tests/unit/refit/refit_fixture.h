/* Journals for refits: made-up worlds, logged by the journal's own writer. Include after support.h. */
#ifndef COP_TESTS_UNIT_REFIT_REFIT_FIXTURE_H
#define COP_TESTS_UNIT_REFIT_REFIT_FIXTURE_H

#include <math.h>

#include "base/rng.h"
#include "refit/refit_run.h"
#include "unit/history/history_fixture.h"

#define WORLD_FEATURES 5
#define WORLD_ARMS     4
#define WORLD_BITS     4

typedef struct world {
	uint64_t seed;
	size_t events;
	bool sparse, dgt;
	bool masks;      /* in every second event one arm, or candidate, may not be played */
	double answered; /* share of the events */
	size_t poisoned; /* of the newest events: all losses turned round, contexts far out */
	double constant; /* what the dense contexts' last feature is near */
	size_t never;    /* arm that is never played; WORLD_ARMS: none */
	unsigned losses; /* values: one or two */
	double delta;    /* values */
	double epsilon;  /* of logging: how often it is uniform and not arm 0; 1: always */
} world;

static const world plain_world = {
	.seed = 1, .events = 1500, .answered = 0.8, .never = WORLD_ARMS, .epsilon = 1.0, .losses = 2, .delta = 0.1
};

/* Contexts: the signs of features 0 and 1 tell the best arm; the third is noise of another scale, the fourth lies far
 * from 0, the fifth never changes. */
static inline void draw_context(const world *w, cop_rng *rng, float *x)
{
	for (size_t j = 0; j < 3; j++)
		x[j] = (float)(cop_rng_unit(rng) * 2.0 - 1.0);
	x[2] *= 100.0f;
	x[3] = (float)(1000.0 + cop_rng_unit(rng));
	x[4] = (float)w->constant;
}

static inline size_t best_arm(const float *x) { return (x[0] > 0.0f ? 1u : 0u) + (x[1] > 0.0f ? 2u : 0u); }

static inline double mean_loss_of(const float *x, size_t arm) { return arm == best_arm(x) ? 0.2 : 0.8; }

static inline void put_context(const world *w, cop_wire_record *r, const float *x, float *value, uint32_t *index)
{
	if (!w->sparse) {
		r->x = (cop_row){ .d = WORLD_FEATURES, .dense = x };
		return;
	}
	size_t n = 0;
	for (size_t j = 0; j < 3; j++) {
		index[n] = (uint32_t)(3 * j + 1);
		value[n++] = x[j];
	}
	r->x = (cop_row){ .d = 1u << WORLD_BITS, .nnz = n, .index = index, .value = value };
}

static inline cop_wire_model world_model(const world *w)
{
	cop_wire_model m = told("m");
	m.learner = w->dgt ? "dgt" : "ensemble";
	m.learner_length = strlen(m.learner);
	m.features = w->sparse ? 0 : WORLD_FEATURES;
	m.bits = w->sparse ? WORLD_BITS : 0;
	m.max_nonzeros = w->sparse ? WORLD_FEATURES : 0;
	m.arms = WORLD_ARMS;
	m.loss_range[0] = -1.0;
	m.loss_range[1] = 3.0;
	m.reward_window = 1e6;
	return m;
}

static inline void put_answer(book *b, double time, uint64_t id, const double *loss, unsigned losses)
{
	cop_wire_record r = record_of("m", time, id);
	memcpy(r.loss, loss, losses * sizeof *loss);
	r.losses = losses;
	r.result = COP_WIRE_APPLIED;
	put(b, COP_WIRE_RECORD_FEEDBACK, &r);
}

/* Plays an eligible arm; its propensity. */
static inline double play(const world *w, const uint8_t *mask, cop_rng *rng, uint32_t *arm)
{
	size_t eligible[WORLD_ARMS], n = 0;
	for (size_t k = 0; k < WORLD_ARMS; k++)
		if (mask[k] != 0 && k != w->never)
			eligible[n++] = k;
	size_t at = cop_rng_unit(rng) < w->epsilon ? (size_t)cop_rng_below(rng, n) : 0;
	*arm = (uint32_t)eligible[at];
	return (at == 0 ? 1.0 - w->epsilon : 0.0) + w->epsilon / (double)n;
}

/* Decisions 1, 3, 5, ... with their feedback right behind them where there is any; the mean loss of all decisions. */
static inline double write_arms(const world *w)
{
	book b;
	cop_rng rng;
	double sum = 0.0;
	const cop_wire_model model = world_model(w);
	cop_rng_init(&rng, w->seed, 0);
	open_book(&b, 1, &model, 1);
	for (size_t i = 0; i < w->events; i++) {
		float x[WORLD_FEATURES], value[WORLD_FEATURES];
		uint32_t index[WORLD_FEATURES];
		uint8_t mask[WORLD_ARMS] = { 1, 1, 1, 1 };
		bool poisoned = i + w->poisoned >= w->events;
		draw_context(w, &rng, x);
		cop_wire_record r = record_of("m", (double)i, i);
		if (w->masks && i % 2 == 1) {
			mask[cop_rng_below(&rng, WORLD_ARMS)] = 0;
			r.mask = mask;
		}
		r.arms = WORLD_ARMS;
		r.p = play(w, mask, &rng, &r.a);
		double mean = mean_loss_of(x, r.a), loss = cop_rng_unit(&rng) < mean ? 3.0 : -1.0;
		for (size_t j = 0; j < 3 && poisoned; j++)
			x[j] = 1e6f - x[j];
		loss = poisoned ? 2.0 - loss : loss;
		put_context(w, &r, x, value, index);
		r.has_x = true;
		put(&b, COP_WIRE_RECORD_DECISION, &r);
		if (cop_rng_unit(&rng) < w->answered)
			put_answer(&b, (double)i, i, &loss, 1);
		sum += mean;
	}
	close_book(&b);
	return sum / (double)w->events;
}

/* Quick settings for small journals. */
static inline cop_refit_settings quick(void)
{
	cop_refit_settings set;
	cop_refit_defaults(&set);
	set.model = "m";
	set.height = 3;
	set.iterations = 10;
	set.rounds = 5;
	set.neighbours = 8;
	set.perplexity = 4.0;
	return set;
}

static inline cop_trees *refit_with(
        const cop_refit_settings *set, const cop_refit_estimate *serving, cop_pool *pool, cop_refit_report *report)
{
	cop_trees *trees;
	cop_diag diag = { .message = "" };
	cop_err err = cop_refit_run(set, folder, serving, pool, NULL, report, &trees, &diag);
	if (err != COP_OK)
		fail_msg("%s: %s", cop_err_text(err), diag.message);
	assert_non_null(trees);
	return trees;
}

/* Expected loss of the greedy policy over fresh contexts. */
static inline double policy_loss(const world *w, const cop_trees *trees)
{
	cop_rng rng;
	double sum = 0.0, out[WORLD_ARMS];
	float x[WORLD_FEATURES], value[WORLD_FEATURES], work[WORLD_ARMS];
	uint32_t index[WORLD_FEATURES];
	cop_rng_init(&rng, 77, 0);
	for (size_t i = 0; i < 1000; i++) {
		cop_wire_record r = { .time = 0.0 };
		draw_context(w, &rng, x);
		put_context(w, &r, x, value, index);
		cop_trees_predict(trees, &r.x, work, out);
		size_t best = 0;
		for (size_t k = 1; k < WORLD_ARMS; k++)
			best = out[k] < out[best] ? k : best;
		sum += mean_loss_of(x, best) / 1000.0;
	}
	return sum;
}

static inline void bytes_of(const cop_trees *trees, cop_bytes *out)
{
	cop_bytes_init(out);
	cop_trees_save(trees, out);
	assert_int_equal(out->err, COP_OK);
}

static inline bool same_trees(const cop_trees *a, const cop_trees *b)
{
	cop_bytes x, y;
	bytes_of(a, &x);
	bytes_of(b, &y);
	bool same = x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
	cop_bytes_fini(&x);
	cop_bytes_fini(&y);
	return same;
}

#endif
