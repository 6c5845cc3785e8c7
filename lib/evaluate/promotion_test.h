/* evaluate/promotion_test.h: is the challenger better than the champion? Evidence that may be looked at after every
 * event.
 *
 * An event of the log, in time order: an action drawn with propensity p, its loss l in [0, 1]; the champion would play
 * it with probability pi_c, the challenger with pi_n. Weights w_c = pi_c / p, w_n = pi_n / p. With a model of losses:
 * q its loss of the action, m_c and m_n its expected losses under either policy. The gain g = V_c - V_n is by how much
 * the challenger's loss is lower, averaged over the events so far (policies and world may drift). Point estimates:
 *   ips    mean((w_c - w_n) l)
 *   snips  sum(w_c l) / sum(w_c) - sum(w_n l) / sum(w_n)
 *   dr     mean(m_c - m_n + (w_c - w_n)(l - q)); without a model q = m_c = m_n = the mean loss of earlier events
 * [low, high] covers g at all times at once with probability 1 - risk (each end by half of it): running_bound.h has by
 * which theorem. It bounds means of terms that never fall below a known number. W is the event's `weight_most`, a
 * function of the context alone (so the form of a term is settled before its action is drawn), C `difference_most` and
 * M `clip`. Terms, where E[term] <= g for the lower end, and alike <= -g for the upper one:
 *                       lower end                                             upper end
 *   ips, W <= C         (w_n - w_c)(1 - l)                        >= -W       (w_n - w_c) l
 *   dr, W <= C          (m_c - m_n) + (w_c - w_n)(l - q)          >= -W - 1   the same, negated
 *   else                w_n' (1 - l) + w_c' l - 1                 >= -1       w_n' l + w_c' (1 - l) - 1
 * with w' = min(w, M). All use that weights have mean 1, so log and policies must share support. The clip leaves out
 * what is not negative, from the challenger's gains and the champion's losses at the lower end (the other way round at
 * the upper one): whatever M is, both ends move outward only, and the interval stays valid; the clip's price is power.
 *
 * With what either learner had predicted for the played action, f_c and f_n, before the loss was known, also evidence
 * on predictions: error   sum of e = (l - f_c)^2 - (l - f_n)^2; exp(-2 error) are the odds against the challenger
 *   wealth  W, the mean over k in { 3/4, 3/2, 3 } of the products of 1 + s (l - b), with f_c' and f_n' the predictions
 *           less their mean errors so far, b = f_c' + t where f_n' > b, b = f_c' - t where f_n' < b, else no bet, and
 *           the bet s = k (f_n' - b) / (m (1 - m)), m the mean loss so far, so small that no factor is below 0.1. (k =
 *           1 is about what a learner that is sure of f_n' would choose; what a challenger has learned shows in f_n'
 *           little by little, so more pays mostly, and is too much sometimes.) The tolerance t is 0.2 m (1 - m), and
 *           0.04 at most.
 * If f_c' is within t of the mean of l at each event, whatever the sign, then W is a non-negative supermartingale that
 * starts at 1, so by Ville's inequality it ever reaches 1 / r with probability at most r: a champion whose predictions
 * are biased, by a constant or by no more than t, is not displaced for that. Predictions prove nothing about policies.
 * With R = 0.8 risk, a challenger takes over by predictions alone when W >= 1 / R and stake W + carried >= 1 / R (see
 * below), or when stake exp(2 error) >= 1 / R and its policy is surely not worse by 0.01: low > -0.01, or the mean of
 * min(d, m_n - m_c + 2 t d) is below 0.01, d the distance of the policies and the model the champion's. With all of its
 * predictions within t of a constant off the truth, that mean bounds -g without any doubt: who does nearly the same
 * cannot lose much. It goes at exp(2 error) <= risk, unless the interval of dr decides before. For challengers that
 * differ from the champion by better predictions, and not by what they do.
 *
 * Many challengers: `share` is what this one may spend of the risk, for verdicts BETTER and the lower end (the upper
 * one, which only makes challengers go, has half of it all; where predictions are judged, the lower one has 0.2 risk
 * share). Shares that sum to 1 keep the risk of all together. Wealth is evidence on the champion alone: of one that is
 * within the tolerance every bet is fair at best, whoever advises it. So `stake` is this challenger's part of 1 that
 * all challengers of one champion divide, `carried` what stakes and wealth of those before it came to, and a champion
 * that won by wealth begins with the whole 1 again: the first one in a row that is within the tolerance is displaced
 * with probability R at most, and those before it were not.
 *
 * Rollback: go on with the roles turned. The promoted policy, which now logs, is the champion (w_c = 1), the one it
 * took over from the challenger: `better` is evidence to roll back. That is fair under drift.
 *
 * Constant memory. Plain structs; distinct objects on distinct threads. */
#ifndef COP_EVALUATE_PROMOTION_TEST_H
#define COP_EVALUATE_PROMOTION_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "evaluate/running_bound.h"

typedef enum cop_promotion_test_estimator {
	COP_PROMOTION_TEST_IPS = 0,
	COP_PROMOTION_TEST_DR,
	COP_PROMOTION_TEST_ERROR /* of predicted losses; has no interval */
} cop_promotion_test_estimator;
#define COP_PROMOTION_TEST_ESTIMATORS 2 /* with intervals */
#define COP_PROMOTION_TEST_BETS       3
#define COP_PROMOTION_TEST_WEALTH     1e18 /* more counts as so much */

typedef enum cop_promotion_test_verdict {
	COP_PROMOTION_TEST_OPEN = 0,
	COP_PROMOTION_TEST_BETTER, /* low > margin */
	COP_PROMOTION_TEST_WORSE   /* high < -worse_margin */
} cop_promotion_test_verdict;

/* A model with a second learner beside the serving one, at one moment. */
typedef struct cop_promotion_test_roles {
	bool shadow;                        /* there is a second learner */
	bool promoted;                      /* a challenger serves, and the second learner is its predecessor */
	bool frozen;                        /* neither of them learns */
	cop_promotion_test_verdict verdict; /* on the second learner; open without one */
	uint64_t learned;                   /* losses that the model has learned so far */
} cop_promotion_test_roles;

typedef struct cop_promotion_test_settings {
	cop_promotion_test_estimator estimator; /* whose interval the verdict goes by */
	double margin;                          /* [0, 1] */
	double worse_margin;                    /* [0, 1] */
	double risk;                            /* (0, 1) */
	double difference_most;                 /* C, [1, clip] */
	double clip;                            /* M, [1, 1e6]; best the largest 1 / p there is */
	uint64_t least_events;                  /* open before so many */
	double share;                           /* (0, 1] */
	double stake;                           /* [0, 1]; 0: share */
	double carried;                         /* [0, COP_PROMOTION_TEST_WEALTH] */
} cop_promotion_test_settings;

typedef struct cop_promotion_test_event {
	double p;          /* (0, 1] */
	double loss;       /* [0, 1] */
	double champion;   /* pi_c, [0, 1] */
	double challenger; /* pi_n, [0, 1] */
	/* At least max over arms of max(pi_c(k), pi_n(k)) / p(k) in this context (1 / the least propensity will do); 0:
	 * not known. It must not depend on which action was drawn. */
	double weight_most;
	bool has_model;
	double model_logged;     /* q, [0, 1] */
	double model_champion;   /* m_c, sum over arms of pi_c(k) q(k), [0, 1] */
	double model_challenger; /* m_n */
	bool has_said;
	double said_champion, said_challenger; /* f_c, f_n, in [0, 1] */
	bool has_difference;                   /* known, and the model is the champion's, clipped to [0, 1] */
	double difference; /* total variation distance of the policies, sum over arms of |pi_c(k) - pi_n(k)| / 2 */
} cop_promotion_test_event;

typedef struct cop_promotion_test {
	cop_promotion_test_settings settings;
	uint64_t n, models, clipped;                               /* clipped: events with a weight beyond M */
	cop_sum loss, champion, challenger;                        /* sums of l, w_c, w_n */
	cop_sum champion_loss, challenger_loss, challenger_square; /* of w_c l, w_n l, w_n^2 */
	cop_sum difference[COP_PROMOTION_TEST_ESTIMATORS];         /* of point estimates, not clipped */
	cop_sum error;                                             /* of e */
	cop_sum champion_gap, challenger_gap;                      /* of l - f_c, l - f_n */
	cop_sum wealth[COP_PROMOTION_TEST_BETS];                   /* of each k; logarithms */
	cop_sum worst;                                             /* of what the challenger may lose, see above */
	cop_running_bound below[COP_PROMOTION_TEST_ESTIMATORS], above[COP_PROMOTION_TEST_ESTIMATORS]; /* of g, of -g */
} cop_promotion_test;

typedef struct cop_promotion_test_summary {
	uint64_t events, models, clipped;
	double value[COP_PROMOTION_TEST_ESTIMATORS]; /* gain; may lie outside [-1, 1] */
	double low[COP_PROMOTION_TEST_ESTIMATORS], high[COP_PROMOTION_TEST_ESTIMATORS]; /* within [-1, 1] */
	double champion_snips, challenger_snips;   /* losses; NaN without a match */
	double mean_loss;                          /* as logged; NaN without events */
	double error;                              /* sum of e */
	double effective_sample_size;              /* of the challenger's weights */
	double champion_weight, challenger_weight; /* means, about 1 */
	cop_promotion_test_verdict verdict;
} cop_promotion_test_summary;

/* DR, margins 0, risk 0.05, C 6 (beyond which losing a part costs less than terms that may be so low), M 100, 100
 * events.
 */
void cop_promotion_test_defaults(cop_promotion_test_settings *settings);
/* COP_ENONFINITE, COP_EINVAL: settings outside what is allowed. */
COP_CHECK cop_err cop_promotion_test_init(cop_promotion_test *promotion, const cop_promotion_test_settings *settings);

/* On error nothing has changed. COP_ENONFINITE. COP_EINVAL: outside the struct's ranges, a weight above weight_most or
 * 1e12. An event refused for what its action was is missing from the evidence, which is no longer fair then. */
COP_CHECK cop_err cop_promotion_test_add(cop_promotion_test *promotion, const cop_promotion_test_event *event);
/* Two looks at the mixture; cheap enough for every event. */
cop_promotion_test_verdict cop_promotion_test_judge(const cop_promotion_test *promotion);
/* carried and stake times wealth; of the latter alone what predictions decided by (of estimator ERROR). */
double cop_promotion_test_winnings(const cop_promotion_test *promotion);
bool cop_promotion_test_is_won(const cop_promotion_test *promotion);
void cop_promotion_test_summarise(const cop_promotion_test *promotion, cop_promotion_test_summary *out);

void cop_promotion_test_save(const cop_promotion_test *promotion, cop_bytes *out);
/* Leaves *promotion alone on error: COP_EFORMAT, COP_ENONFINITE; COP_EVERSION: written by a newer version. */
COP_CHECK cop_err cop_promotion_test_load(cop_promotion_test *promotion, cop_cursor *in);

#endif
