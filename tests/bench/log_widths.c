/* How much logs can answer by least_propensity: a model plays a made-up stream with each of several floors, and the log
 * that it writes is asked what always playing one arm would cost.
 *
 *     log_widths [EVENTS] [SEEDS]                        12000 and 5
 *
 * Rows: a floor f; the least propensity of any arm at any event; how much more the played arms cost under the truth
 * than with f = 0; the mean width of the 95 % intervals (robust) of ips, snips and dr, over the constant policies, in
 * ranges of the loss; and how many of them hold the truth. Worlds, of K arms: 10 features N(0, 1), directions t_k N(0,
 * I / 10); losses 0 and 1, `even` with P(loss of k) = sigma(3 x.t_k), `clicks` with P = 1 - 0.05 sigma(3 x.t_k). dr
 * takes the model's predictions from before it learned. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "evaluate/offpolicy.h"
#include "learn/learner.h"

enum { FEATURES = 10, MOST_ARMS = 10, ESTIMATORS = 3 };

static const char *const estimators[ESTIMATORS] = { "ips", "snips", "dr" };
static const double floors[] = { 0, 0.001, 0.004, 0.01, 0.02, 0.05, 0.1, 0.2 };

typedef struct world {
	const char *name;
	size_t arms;
	double rate; /* of what is not lost, at most; 1: even */
} world;

static const world worlds[] = { { "even", 2, 1 }, { "even", 5, 1 }, { "even", 10, 1 }, { "clicks", 5, 0.05 } };

typedef struct figures {
	double least, cost;
	double width[ESTIMATORS];
	size_t intervals, held[ESTIMATORS];
} figures;

typedef struct run {
	const world *world;
	double direction[MOST_ARMS][FEATURES];
	float x[FEATURES];
	double expected[MOST_ARMS];
	double truth[MOST_ARMS]; /* sums of expected */
	cop_offpolicy log[MOST_ARMS];
} run;

static void stop(const char *what)
{
	(void)fprintf(stderr, "log_widths: %s\n", what);
	exit(1);
}

static void draw(run *r, cop_rng *rng)
{
	for (size_t j = 0; j < FEATURES; j++)
		r->x[j] = (float)cop_rng_normal(rng);
	for (size_t k = 0; k < r->world->arms; k++) {
		double along = 0.0;
		for (size_t j = 0; j < FEATURES; j++)
			along += r->direction[k][j] * (double)r->x[j];
		r->expected[k] = 1.0 - r->world->rate / (1.0 + exp(3.0 * along));
		r->truth[k] += r->expected[k];
	}
}

static void begin(run *r, cop_rng *rng)
{
	cop_offpolicy_settings set;
	cop_offpolicy_defaults(&set);
	set.cost_low = 0.0;
	set.cost_high = 1.0;
	for (size_t k = 0; k < r->world->arms; k++) {
		r->truth[k] = 0.0;
		for (size_t j = 0; j < FEATURES; j++)
			r->direction[k][j] = sqrt(1.0 / FEATURES) * cop_rng_normal(rng);
		if (cop_offpolicy_init(&r->log[k], &set) != COP_OK)
			stop("settings");
	}
}

/* What the event says of always playing each arm. */
static void note(run *r, const cop_decision *d, double loss, const cop_policy_view *view)
{
	for (size_t k = 0; k < r->world->arms; k++) {
		cop_offpolicy_event e = { .p = d->p,
			.cost = loss,
			.weight = 1.0,
			.target = d->arm == k,
			.target_max = 1.0,
			.has_model = true,
			.model_logged = (double)view->loss[d->arm],
			.model_target = (double)view->loss[k] };
		if (cop_offpolicy_add(&r->log[k], &e) != COP_OK)
			stop("an event was refused");
	}
}

static void play(run *r, cop_learner *learner, size_t events, cop_rng *rng, figures *out)
{
	for (size_t i = 0; i < events; i++) {
		cop_decision d;
		draw(r, rng);
		const cop_row row = { .d = FEATURES, .dense = r->x };
		if (cop_learner_decide(learner, &row, NULL, &d) != COP_OK)
			stop("no decision");
		cop_policy_view view = cop_learner_last_policy(learner);
		double loss = cop_rng_unit(rng) < r->expected[d.arm] ? 1.0 : 0.0;
		for (size_t k = 0; k < r->world->arms; k++) {
			out->least = fmin(out->least, view.p[k]);
			out->cost += view.p[k] * r->expected[k] / (double)events;
		}
		note(r, &d, loss, &view);
		if (cop_learner_learn(learner, &row, NULL, &d, &loss, true) != COP_OK)
			stop("not learned");
	}
}

static void ask(const run *r, size_t events, figures *out)
{
	for (size_t k = 0; k < r->world->arms; k++) {
		double truth = r->truth[k] / (double)events;
		for (size_t i = 0; i < ESTIMATORS; i++) {
			cop_estimate e;
			(void)!cop_offpolicy_estimate(&r->log[k], cop_offpolicy_find(estimators[i]), NULL, 0.95, &e);
			out->width[i] += e.high - e.low; /* the whole range where an arm was never played */
			out->held[i] += e.low <= truth && truth <= e.high;
		}
		out->intervals++;
	}
}

static figures measure(const world *w, double floor, size_t events, unsigned seeds)
{
	figures out = { .least = 1.0 };
	for (unsigned seed = 1; seed <= seeds; seed++) {
		cop_learner_settings s;
		cop_learner *learner;
		cop_rng rng;
		run r = { .world = w };
		cop_learner_settings_init(&s);
		s.features = FEATURES;
		s.arms = w->arms;
		s.seed = seed;
		s.exploration.shares.least_propensity = floor;
		if (cop_learner_new(&s, &learner, NULL) != COP_OK)
			stop("no learner");
		cop_rng_init(&rng, seed, 0);
		begin(&r, &rng);
		play(&r, learner, events, &rng, &out);
		ask(&r, events, &out);
		cop_learner_free(learner);
	}
	out.cost /= seeds;
	return out;
}

int main(int argc, char **argv)
{
	size_t events = argc > 1 ? strtoul(argv[1], NULL, 10) : 12000;
	unsigned seeds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
	if (events == 0 || seeds == 0 || argc > 3)
		stop("usage: log_widths [EVENTS] [SEEDS]");
	(void)printf("%zu events, %u seeds\n\n| world | arms | f | least p | cost | ips | snips | dr | held |\n"
	             "|---|---|---|---|---|---|---|---|---|\n",
	        events, seeds);
	for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
		double without = 0.0;
		for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
			figures m = measure(&worlds[w], floors[i], events, seeds);
			double n = (double)m.intervals;
			without = i == 0 ? m.cost : without;
			(void)printf("| %s | %zu | %g | %.2g | %+.4f | %.3f | %.3f | %.3f | %zu, %zu, %zu of %zu |\n",
			        worlds[w].name, worlds[w].arms, floors[i], m.least, m.cost - without, m.width[0] / n,
			        m.width[1] / n, m.width[2] / n, m.held[0], m.held[1], m.held[2], m.intervals);
			(void)fflush(stdout);
		}
	}
	return 0;
}
