/* learn/dormancy.h: which members of a mixture rest because the mixture is no worse without them.
 *
 * One member at a time is on trial: beside the mixture's stack a second one without it (learn/stacking.h) predicts
 * every loss before either learns it. Their errors e are compared on what was played, in the mean of
 *
 *     v = e_without^2 - e_with^2 - 0.01 s
 *
 * where s is the variance of what the mixture predicts of the event's arms, that is, of what there is to choose by
 * (`spread`). What is played, however, is what the whole mixture chose, among arms that look alike. So there is a
 * second judge: how much more the choice of the lesser mixture would cost by the whole one's predictions, beside what
 * choosing is worth at all (`regret`; both by cop_mixture_choice). After 1,000, 2,000, 4,000 and 8,000 losses the trial
 * is looked at. The member rests if v is below 0 by two standard errors and the sum of regrets at most 0: it predicts
 * nothing, learns nothing and has weight 0, and the second stack takes the first one's place. It stays if v is above 0
 * by two standard errors, or at the end; its next trial comes after 5,000 losses, and each time it stays after twice as
 * many. Of members that are due the costliest is tried first, none before 2,000 losses.
 *
 * A resting member wakes after 10,000 losses, and each time it was found useless after twice as many. All wake at once
 * when the mixture's squared errors rise (ADWIN, evaluate/change.h); then nobody is tried for 5,000 losses. One that
 * wakes has weight 0 and knows what it knew when it fell asleep; it is tried 1,000 losses later. A trial is given up
 * when somebody wakes or joins. Everything follows from losses and what had been predicted for them. One thread; only
 * init and load allocate. */
#ifndef COP_LEARN_DORMANCY_H
#define COP_LEARN_DORMANCY_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "evaluate/change.h"
#include "learn/stacking.h"

typedef struct cop_dormancy_member {
	double cost;   /* of an event, in any unit; 0: it never rests */
	uint64_t due;  /* losses at which it may be tried, or wakes */
	uint64_t wait; /* until its next trial, once it has stayed */
	uint64_t nap;  /* until it wakes, once it rests */
	uint64_t woke; /* first revision that decided with it since it last rested */
} cop_dormancy_member;

typedef struct cop_dormancy {
	cop_dormancy_member member[COP_STACKING_MOST];
	uint64_t losses;
	cop_change *change; /* of the mixture's squared errors */
	size_t tried;       /* member; COP_STACKING_MOST: none */
	uint64_t n;         /* losses of the trial; over them: */
	double sum, square; /* of v and its squares, */
	double regret;
	cop_stacking without;
} cop_dormancy;

typedef struct cop_dormancy_choice {
	double regret, spread;
} cop_dormancy_choice;

typedef struct cop_dormancy_event {
	double z[COP_STACKING_MOST]; /* what members had said, away from the stack's origin */
	double y;                    /* the loss away from it */
	cop_dormancy_choice choice;  /* read during trials */
	uint64_t since;              /* the learner's revision from here on */
} cop_dormancy_event;

/* Nobody may rest until his cost is told. COP_ENOMEM. Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_dormancy_init(cop_dormancy *rest);
void cop_dormancy_fini(cop_dormancy *rest);
/* The trial under way, if any, is given up. */
void cop_dormancy_give_up(cop_dormancy *rest);

/* stack settles the event (what is not finite is passed over, but counts), with its consequences for who rests. */
void cop_dormancy_settle(cop_dormancy *rest, cop_stacking *stack, const cop_dormancy_event *event);

/* Both. */
void cop_dormancy_save(const cop_dormancy *rest, const cop_stacking *stack, cop_bytes *bytes);
/* Into ones with the same members and costs; also a stack alone, as versions saved it that knew no rest. Errors of
 * cop_stacking_load and cop_change_load_into, COP_EFORMAT, COP_ENONFINITE; then the state is undefined. */
COP_CHECK cop_err cop_dormancy_load(cop_dormancy *rest, cop_stacking *stack, cop_cursor *cursor);
/* Predictors of the stack that is saved where the cursor stands; 0: none is. */
size_t cop_dormancy_saved(const cop_cursor *cursor);
/* As learn/learner.h's; the stack is the caller's. */
void cop_dormancy_inherit(cop_dormancy *rest, cop_dormancy *from);

#endif
