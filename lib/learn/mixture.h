/* learn/mixture.h: experts that predict the same losses, added up as experience says.
 *
 * The mixture's prediction is o + sum of w_i (f_i - o) over its members' predictions f_i, with weights stacked
 * (learn/stacking.h) on the losses of what was played and what the members predicted for it: over arms when the loss
 * comes, before they learn it, over candidates at decide. The origin o is what one member says of the same loss (over
 * arms: their averages, so that the others only say how a context differs from them), or 1/2 where no member is the
 * origin. That one's own weight means nothing. A refit (learn/refit.h) may come later as one further member behind
 * the others: with weight 0, so that predictions change only as losses show that it knows better, or in the place of
 * an earlier one with that one's weight, since both predict the same losses and the sum would fall short without.
 * Members without which the mixture is no worse rest (learn/dormancy.h): they are neither asked nor taught, and count
 * as one that predicts the origin. This is what the ensembles over arms and over candidates share; how members are
 * asked and taught is theirs. One thread per object; nothing is allocated after the members joined. */
#ifndef COP_LEARN_MIXTURE_H
#define COP_LEARN_MIXTURE_H

#include "learn/dormancy.h"
#include "learn/learner.h"
#include "learn/refit.h"
#include "learn/stacking.h"

/* What any member can do. */
typedef struct cop_member_class {
	const char *name;
	void (*destroy)(void *member);
	void (*save)(const void *member, cop_bytes *bytes);
	cop_err (*load)(void *member, cop_cursor *cursor);
	/* As learn/learner.h's; both NULL: its size is that of its settings. */
	size_t (*grown)(const void *member);
	cop_err (*hold)(void *member, size_t leaves);
	/* As learn/learner.h's; NULL: none has more arms than another. */
	cop_err (*make_room)(void *member, const void *from);
	void (*inherit)(void *member, void *from);
	bool widens; /* these two take one of fewer inputs, too; else that is saved and loaded */
	size_t (*trees)(const void *member); /* with tree; NULL: none */
	cop_err (*tree)(const void *member, size_t m, cop_oblique_tree **out);
	void (*anatomy)(const void *member, cop_anatomy_part *out); /* unit, linear and forest */
} cop_member_class;

typedef struct cop_mixture {
	size_t count;     /* members, at most COP_LEARNER_EXPERTS */
	size_t own;       /* of them without the refit */
	size_t origin;    /* member; COP_LEARNER_EXPERTS: none is */
	cop_refit *refit; /* member `own`; NULL: none */
	size_t room;      /* losses of an event, at most */
	const cop_member_class *class[COP_LEARNER_EXPERTS];
	void *member[COP_LEARNER_EXPERTS];
	cop_stacking stack; /* w */
	cop_dormancy rest;
	float *loss[COP_LEARNER_EXPERTS]; /* each member's predictions, 64-byte aligned; the learner fills them */
	float *mixed;                     /* the mixture's */
} cop_mixture;

/* COP_ENOMEM. Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_mixture_init(cop_mixture *mixture, size_t room);
void cop_mixture_fini(cop_mixture *mixture);
/* member is taken, also on error: COP_ENOMEM. */
COP_CHECK cop_err cop_mixture_join(cop_mixture *mixture, const cop_member_class *class, void *member);

/* Member i is the origin. */
void cop_mixture_originate(cop_mixture *mixture, size_t i);
/* Member i may rest, for an event of it costs so much, in any unit: those that cost most are tried first. */
void cop_mixture_may_rest(cop_mixture *mixture, size_t i, double cost);

/* Once all have joined: equal weights. */
void cop_mixture_begin(cop_mixture *mixture);

/* Whether member i rests. */
bool cop_mixture_rests(const cop_mixture *mixture, size_t i);

/* Takes refit in, also on error: COP_ENOMEM, nothing changed then. */
COP_CHECK cop_err cop_mixture_take(cop_mixture *mixture, cop_refit *refit);
/* Has a refit of that shape, or none, as the saved weights at the cursor say; they may be loaded then. COP_ENOMEM. */
COP_CHECK cop_err cop_mixture_expect(cop_mixture *mixture, const cop_cursor *cursor, size_t features, size_t outputs);
/* What cop_refit_expect_saved is told of its refit in that state. After cop_mixture_expect. */
void cop_mixture_expect_refit(cop_mixture *mixture, size_t outputs, size_t features);
/* Whether a decision made at revision rev lacks what member i said: a refit that came later. It has not seen the
 * decision's loss either, and may be asked now. (Over arms every member is asked when the loss comes.) */
bool cop_mixture_lacks(const cop_mixture *mixture, size_t i, uint64_t rev);

/* What member i says counts so much in the mixture: w_i; of the origin what the others leave of 1. */
double cop_mixture_weight(const cop_mixture *mixture, size_t i);
/* From the members' first n losses to the mixture's; one that is not finite, or of a member that rests, is the origin's
 * from here on. */
void cop_mixture_mix(cop_mixture *mixture, size_t n);
/* What the members predict for one of the n into prediction[0, count). */
void cop_mixture_predictions(const cop_mixture *mixture, size_t which, float *prediction);
/* What the members' predictions of one loss add up to. */
double cop_mixture_sum(const cop_mixture *mixture, const float *prediction);
/* Whether somebody is on trial, so that settle wants the choice among the first n losses (of those eligible: mask, NULL
 * all), as the whole mixture predicts them: their variance, and what the mixture without him would lose by its choice,
 * less 0.15 % of what choosing is worth, the mean less the least. All awake members have predicted for it. */
bool cop_mixture_tries(const cop_mixture *mixture);
cop_dormancy_choice cop_mixture_choice(const cop_mixture *mixture, const uint8_t *mask, size_t n);
/* The loss came for what they predicted, by which the weights move unless something is not finite. since: the revision
 * from here on. */
void cop_mixture_settle(
        cop_mixture *mixture, const float *prediction, double loss, const cop_dormancy_choice *choice, uint64_t since);

/* And who rests. */
void cop_mixture_save_weights(const cop_mixture *mixture, cop_bytes *bytes);
/* Earlier versions', who knew no rest, too. COP_ESHAPE: another number of members. COP_EFORMAT, COP_ENONFINITE,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_mixture_load_weights(cop_mixture *mixture, cop_cursor *cursor);
void cop_mixture_save_members(const cop_mixture *mixture, cop_bytes *bytes);
/* COP_ESHAPE: another member. Errors of the members' load. */
COP_CHECK cop_err cop_mixture_load_members(cop_mixture *mixture, cop_cursor *cursor);

/* Of its members, in order; how many. */
size_t cop_mixture_anatomy(const cop_mixture *mixture, cop_anatomy_part *parts);
size_t cop_mixture_trees(const cop_mixture *mixture);
/* COP_ENOTFOUND, and errors of the member's. */
COP_CHECK cop_err cop_mixture_tree(const cop_mixture *mixture, size_t m, cop_oblique_tree **out);
/* What a mixture is, of which another one was less. */
typedef struct cop_mixture_growth {
	size_t features, outputs;     /* of a refit */
	bool wider;                   /* by features */
	size_t known, outputs_before; /* wider: cop_mixture_expect_refit's */
} cop_mixture_growth;

/* As learn/learner.h's, of members that have them. */
size_t cop_mixture_grown(const cop_mixture *mixture);
COP_CHECK cop_err cop_mixture_hold(cop_mixture *mixture, size_t leaves);
COP_CHECK cop_err cop_mixture_make_room(
        cop_mixture *mixture, const cop_mixture *from, const cop_mixture_growth *growth);
void cop_mixture_inherit(cop_mixture *mixture, cop_mixture *from, bool wider);

#endif
