/* online/control.h: the control group: units that a baseline decides for, and what the policy gains over it.
 *
 * A unit (a person, a session; without one, the decision itself) is held out when a keyed hash of its name, as a number
 * in [0, 1), is below the share. So a unit stays where it is, a larger share only adds to the group, and who decided
 * is known without a draw. Its decisions are the baseline's: an arm (of candidates: a place), one drawn evenly from the
 * eligible ones by a hash of the decision's id, or what the caller sends. Where the baseline's arm is not eligible one
 * is drawn evenly.
 *
 * Losses l in [0, 1] of either group are counted apart: a running lower bound for the mean of l and one for that of
 * 1 - l (evaluate/unit_mean.h), each with a quarter of the risk. So the interval of
 *     gain = mean loss of the control group - mean loss of the policy
 * holds at all times at once with probability 1 - COP_CONTROL_RISK, for the means given all that came before, which may
 * drift. Where units come again, those are means of the very units that came, and a group of few units differs from
 * another by chance: each bound is then the farther one of this and of that over clusters of units
 * (evaluate/cluster_mean.h). Units come again when there are 5 % more decisions than units. Both are means over the
 * losses that came; where one group is told less often than the other they mislead, so the shares of ended decisions
 * whose loss came are compared over clusters too: `uneven` says that their bounds, with a risk of 0.001 together, lie
 * apart.
 *
 * Whether units are split as promised: of each unit that falls on a place (of 65,536, by another hash) on which none
 * fell before, it counts whether it is held out. With share h these are independent draws, so for any a, b > 0
 *     odds = B(a + held, b + units - held) / B(a, b) / (h^held (1 - h)^(units - held))
 * is a martingale that starts at 1 (here a = 100 h, b = 100 (1 - h)), and ever reaches 1,000 with probability 0.001 at
 * most. Where units come again, or three quarters of the places are taken, the odds are the mean of these and of those
 * of decisions: with d_c = held out - h all of cluster c, S = sum d_c, V = the larger one of sum d_c^2 and what h
 * promises of so many units, and t = 100 units,
 *     odds = sqrt(t / (V + t)) exp(S^2 / (2 (V + t)))
 * so that a group whose units do not come back is seen, and what happens after all places are taken.
 *
 * Conservative terms give the policy an allowance a: the mean loss of all decisions since the terms began shall be at
 * most a above the baseline's. Of n decisions the policy made those with t losses told, u that ended without one and w
 * that wait. With U the upper bound of its mean loss and L the lower one of the control group's, as they were at an
 * earlier t' <= t (they are found anew with every few losses), it decides the next one only if
 *     (t' + u) U + (t - t' + w + 1) <= (t + u + w + 1) L + a (n + 1),
 * else the baseline does. So what waits, or is not in the bounds yet, counts as a loss of 1, and what is never told as
 * the rest. With probability 1 - COP_CONTROL_RISK the promise holds at all times, where the baseline's mean loss does
 * not hang on the time. These decisions are kept back: they are not of the control group, whose comparison they would
 * spoil.
 *
 * Other terms begin everything again. Constant memory. Plain structs; distinct objects on distinct
 * threads. */
#ifndef COP_ONLINE_CONTROL_H
#define COP_ONLINE_CONTROL_H

#include "evaluate/cluster_mean.h"
#include "evaluate/unit_mean.h"
#include "events/event_id.h"

#define COP_CONTROL_RISK    0.05
#define COP_CONTROL_PLACES  65536
#define COP_CONTROL_SUSPECT 1000.0 /* odds from which on the split is not taken for the promised one */
#define COP_CONTROL_UNIFORM (-1)   /* baselines that are no arm */
#define COP_CONTROL_CALLER  (-2)

typedef struct cop_control_terms {
	double share;     /* in [0, 1); 0: there is no control group */
	int64_t baseline; /* an arm, or COP_CONTROL_* */
	double allowance; /* in [0, 1]; 1: no bound */
} cop_control_terms;

typedef enum cop_control_by {
	COP_CONTROL_POLICY = 0,
	COP_CONTROL_HELD = 1, /* the baseline, for the control group */
	COP_CONTROL_KEPT = 2, /* the baseline, since the policy's allowance is used up */
} cop_control_by;
#define COP_CONTROL_MAKERS 3

/* Who decided, and under which terms. */
typedef struct cop_control_split {
	cop_control_terms terms;
	uint32_t place; /* of the unit, below COP_CONTROL_PLACES; it gives its cluster */
	cop_control_by by;
} cop_control_split;

/* key: the model's own. terms->share > 0. */
cop_control_split cop_control_find(const cop_control_terms *terms, const cop_event_id *unit, uint64_t key);

/* Of a unit. */
uint32_t cop_control_place(const cop_event_id *unit, uint64_t key);

/* What the caller would play. */
typedef struct cop_control_caller {
	uint32_t arm;
	double p; /* in (0, 1]; 0: it is not told */
} cop_control_caller;

/* The baseline's arm of `arms`, of which mask (NULL: all) leaves at least one; returns its propensity. */
double cop_control_play(int64_t baseline, const cop_control_caller *caller, const cop_event_id *id, uint64_t key,
        size_t arms, const uint8_t *mask, uint32_t *arm);
/* With what probability cop_control_play gives each of the arms; p: room for all. */
void cop_control_probabilities(
        int64_t baseline, const cop_control_caller *caller, size_t arms, const uint8_t *mask, double *p);

typedef struct cop_control_group {
	uint64_t decisions;
	cop_unit_mean loss;
	cop_cluster_mean losses;      /* the same, by clusters */
	cop_cluster_mean told;        /* of decisions that ended: 1 if their loss came */
	uint64_t units[COP_CLUSTERS]; /* decisions for units of that side; the policy's: those kept back too */
} cop_control_group;

typedef struct cop_control {
	cop_control_terms terms;    /* share 0: nothing has come */
	double since;               /* seconds, time of the first decision */
	cop_control_group group[2]; /* the policy, and the control group */
	uint64_t kept;              /* decisions kept back */
	uint64_t waiting;           /* the policy's */
	uint64_t judged;            /* losses of the policy when the bounds were found */
	double high, low;           /* the policy's upper one, the control group's lower one */
	uint64_t units, held;       /* that were counted */
	double log_odds;
	uint8_t seen[COP_CONTROL_PLACES / 8]; /* a bit for each place */
} cop_control;

void cop_control_init(cop_control *control);
/* A decision; other terms than the last one's begin again, which it returns. */
bool cop_control_note(cop_control *control, const cop_control_split *split, double now);
/* Whether the policy may decide the next one under these terms. */
bool cop_control_allows(const cop_control *control, const cop_control_terms *terms);
/* Of a place. */
static inline unsigned cop_control_cluster(uint32_t place) { return place % COP_CLUSTERS; }
/* A decision for a unit of that cluster that was made at `decided` ended, with this loss in [0, 1] or (NULL) without;
 * one before the terms of now began is passed over. */
void cop_control_end(cop_control *control, cop_control_by by, unsigned cluster, double decided, const double *loss);
/* Whether units come again. */
bool cop_control_returning(const cop_control *control);

typedef struct cop_control_figures {
	uint64_t decisions, losses;
	double loss, low, high; /* its mean, NaN without any, and bounds of it, each with a quarter of the risk */
	double told;            /* share of the ended decisions whose loss came; NaN: none ended */
} cop_control_figures;

typedef struct cop_control_summary {
	cop_control_figures group[2];
	double gain, low, high; /* NaN unless both groups have losses */
	uint64_t kept;
	uint64_t units, held;
	double odds;     /* at most 1e300 */
	bool suspicious; /* odds of COP_CONTROL_SUSPECT or more */
	bool uneven;     /* one group is told less often than the other */
} cop_control_summary;

void cop_control_summarise(const cop_control *control, cop_control_summary *out);

void cop_control_save(const cop_control *control, cop_bytes *out);
/* Errors stay in the cursor's err; COP_EFORMAT: nothing gives such figures. */
void cop_control_load(cop_control *control, cop_cursor *in);

#endif
