/* learn/ranking.h: learners that choose among candidates with features of their own: learn/learner.h's calls, with
 * the candidates of each event in place of numbered arms.
 *
 * The number of candidates may change from event to event, from 1 to max_candidates; an action is a candidate's place
 * among them. Contexts and candidates are raw rows, both dense or both sparse. Statistics of the context and of every
 * candidate move at decide, eligible or not; learning is from the played candidate alone. Everything said in
 * learn/learner.h of bits, threads and memory holds here too. */
#ifndef COP_LEARN_RANKING_H
#define COP_LEARN_RANKING_H

#include "learn/learner.h"

typedef struct cop_candidates {
	size_t count;
	const cop_row *row;  /* count of them */
	const uint8_t *mask; /* count flags of 0 or 1; NULL: all are eligible */
} cop_candidates;

typedef struct cop_ranking_class {
	void (*observe)(cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t count);
	cop_err (*decide)(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out);
	cop_err (*view)(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision,
	        cop_policy_view *out);
	cop_err (*learn)(cop_learner *learner, const cop_row *x, const cop_row *candidate, const cop_decision *decision,
	        double loss);
	void (*explain)(cop_learner *learner, const cop_row *x, const cop_row *candidate, const cop_candidates *c,
	        const cop_decision *decision, cop_explanation *e);
	bool (*pair)(const cop_learner *learner, size_t input, size_t *feature, size_t *candidate_feature);
	bool (*find_pair)(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t input,
	        size_t skip, size_t pair[2]);
	size_t (*hashed)(const cop_learner *learner, size_t feature, size_t candidate_feature);
} cop_ranking_class;

/* Whether the learner wants candidates; then none of learner.h's calls that take a mask (and no advance, learn and
 * explain) may be made, else none of these. */
bool cop_ranking_is(const cop_learner *learner);
/* Dimension of candidates' raw rows; sparse: as of contexts. */
size_t cop_ranking_dimension(const cop_learner_settings *settings);
/* Whether it can decide among them: 1 .. max_candidates, one of them eligible. */
bool cop_ranking_can_decide(const cop_learner *learner, const cop_candidates *c);

/* COP_EINVAL: it cannot decide; nothing changed. */
COP_CHECK cop_err cop_ranking_decide(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out);
/* As cop_learner_advance. */
void cop_ranking_advance(cop_learner *learner, const cop_row *x, const cop_candidates *c);
/* As cop_learner_view and cop_learner_follow. COP_EINVAL also: the decision's arm is no candidate. */
COP_CHECK cop_err cop_ranking_view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out);
COP_CHECK cop_err cop_ranking_follow(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out);
/* As cop_learner_learn; candidate is the played one. */
COP_CHECK cop_err cop_ranking_learn(cop_learner *learner, const cop_row *x, const cop_row *candidate,
        const cop_decision *decision, double loss, bool decided_here);
/* Why the model as it is would give this candidate its predicted loss; with c (NULL allowed) also all of theirs. */
void cop_ranking_explain(cop_learner *learner, const cop_row *x, const cop_row *candidate, const cop_candidates *c,
        const cop_decision *decision, cop_explanation *e);

/* What an explanation's feature is: a context's (feature), a candidate's, both (their product) or neither (the
 * constant, *constant; or a hashed product). */
typedef struct cop_ranking_feature {
	bool constant;
	bool has_feature, has_candidate_feature;
	size_t feature, candidate_feature;
} cop_ranking_feature;
void cop_ranking_describe(const cop_learner *learner, size_t index, cop_ranking_feature *out);
/* Which features of these raw rows a hashed product is of: the skip-th pair of those that share its index; indices of
 * either row. false: there is none. Cost: all pairs. */
bool cop_ranking_find_pair(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t index,
        size_t skip, cop_ranking_feature *out);

/* Of sparse rows: the index of the product of two features. */
size_t cop_ranking_hashed(const cop_learner *learner, size_t feature, size_t candidate_feature);

#endif
