/* tests/unit/learn/rank_fixture.h: contexts with sets of candidates of changing size, whose losses depend on products
 * of context and candidate features alone: neither orders the candidates by itself. */
#ifndef COP_TESTS_ONLINE_RANK_FIXTURE_H
#define COP_TESTS_ONLINE_RANK_FIXTURE_H

#include <math.h>
#include <string.h>

#include "learn/learner.h"
#include "rows.h"

#define RANK_D    4 /* of contexts */
#define RANK_A    3 /* of candidates */
#define RANK_MOST 8
#define RANK_BITS 7

typedef struct rank_event {
	float x[RANK_D];
	uint32_t x_index[RANK_D];
	float a[RANK_MOST][RANK_A];
	uint32_t a_index[RANK_A];
	double loss[RANK_MOST]; /* in [0, 1] */
	size_t best;
	cop_row row;
	cop_row candidate[RANK_MOST];
	cop_candidates set; /* no mask */
} rank_event;

static inline void rank_settings(cop_learner_settings *s, bool sparse)
{
	cop_learner_settings_init(s);
	strcpy(s->learner, "rank");
	s->features = sparse ? 0 : RANK_D;
	s->candidate_features = sparse ? 0 : RANK_A;
	s->bits = RANK_BITS;
	s->max_nonzeros = RANK_D;
	s->max_candidates = RANK_MOST;
	s->height = 3;
	s->trees = 3;
	s->seed = 7;
}

static inline void rank_rows(rank_event *e, bool sparse)
{
	size_t d = (size_t)1 << RANK_BITS;
	for (size_t j = 0; j < RANK_D; j++)
		e->x_index[j] = (uint32_t)(j * 17 + 3);
	for (size_t j = 0; j < RANK_A; j++)
		e->a_index[j] = (uint32_t)(j * 29 + 11);
	e->row = sparse ? (cop_row){ .d = d, .nnz = RANK_D, .index = e->x_index, .value = e->x }
	                : (cop_row){ .d = RANK_D, .dense = e->x };
	for (size_t k = 0; k < e->set.count; k++)
		e->candidate[k] = sparse ? (cop_row){ .d = d, .nnz = RANK_A, .index = e->a_index, .value = e->a[k] }
		                         : (cop_row){ .d = RANK_A, .dense = e->a[k] };
	e->set.row = e->candidate;
}

/* `count` candidates; 0: as many as the generator says. */
static inline void rank_draw(rank_event *e, cop_rng *rng, bool sparse, size_t count)
{
	size_t drawn = 1 + (size_t)cop_rng_below(rng, RANK_MOST);
	e->set = (cop_candidates){ .count = count == 0 ? drawn : count };
	for (size_t j = 0; j < RANK_D; j++)
		e->x[j] = (float)cop_rng_normal(rng);
	e->best = 0;
	for (size_t k = 0; k < e->set.count; k++) {
		for (size_t j = 0; j < RANK_A; j++)
			e->a[k][j] = (float)cop_rng_normal(rng);
		double fit = (double)(e->x[0] * e->a[k][0] - e->x[1] * e->a[k][1] + e->x[2] * e->a[k][2]);
		e->loss[k] = 0.5 - 0.5 * tanh(fit);
		if (e->loss[k] < e->loss[e->best])
			e->best = k;
	}
	rank_rows(e, sparse);
}

static inline cop_learner *rank_learner(const cop_learner_settings *s)
{
	cop_learner *learner;
	cop_diag diag = { 0 };
	cop_err err = cop_learner_new(s, &learner, &diag);
	if (err != COP_OK)
		fail_msg("%s: %s", cop_err_text(err), diag.message);
	return learner;
}

/* From the played candidate alone. */
static inline cop_err rank_learn(cop_learner *learner, const cop_row *x, const cop_row *played, const cop_decision *d,
        double loss, bool decided_here)
{
	const cop_candidates c = { .row = played };
	return cop_learner_learn(learner, x, &c, d, &loss, decided_here);
}

/* n events: decide, then learn; returns the mean excess of the played loss over the least. */
static inline double rank_run(cop_learner *learner, cop_rng *rng, bool sparse, size_t count, size_t n)
{
	double total = 0.0;
	for (size_t i = 0; i < n; i++) {
		rank_event e;
		cop_decision d;
		rank_draw(&e, rng, sparse, count);
		assert_int_equal(cop_learner_decide(learner, &e.row, &e.set, &d), COP_OK);
		assert_true(d.arm < e.set.count && d.p > 0.0 && d.p <= 1.0);
		total += e.loss[d.arm] - e.loss[e.best];
		assert_int_equal(rank_learn(learner, &e.row, &e.candidate[d.arm], &d, e.loss[d.arm], true), COP_OK);
	}
	return total / (double)n;
}

static inline void rank_save(const cop_learner *learner, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_learner_save(learner, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

#endif
