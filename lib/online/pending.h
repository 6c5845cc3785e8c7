/* online/pending.h: decisions that wait for their feedback, found by id, in order of time.
 *
 * Bounded by count and by bytes. A record holds what learning needs later: the context as given, the action and its
 * propensity, the experts' predictions, and losses recorded so far; at most 64 bytes beside its context and id, its
 * share of the index included. While a second learner runs beside the first (online/model_shadow.h), also what that one
 * would have done: 20 bytes and its predictions more; of an observed decision (online/model_apprentice.h) 8 more; where
 * the learner wants to know which arms were eligible and some were not, a bit for each arm; of a decision that has an
 * owner 12 more; where losses have names and are recorded, 8 for each name. Beside the waiting ones, ids that were
 * answered or have expired are remembered for a while by a 64-bit hash (two ids mixed up: one in 10^13 at a million
 * remembered), so that a duplicate or late feedback can be told from an unknown one. One thread; a steady load
 * allocates nothing. */
#ifndef COP_ONLINE_PENDING_H
#define COP_ONLINE_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "events/named_losses.h"
#include "base/bytes.h"
#include "base/err.h"
#include "events/event_id.h"
#include "learn/learner.h"
#include "linalg/row.h"

typedef struct cop_pending cop_pending;

/* Of what a record is: a model may be given more while records wait. */
typedef struct cop_pending_size {
	size_t d;    /* values of a dense context */
	size_t arms; /* that there were */
} cop_pending_size;

typedef struct cop_pending_shape {
	size_t d; /* of contexts */
	bool sparse;
	size_t max_nonzeros;           /* sparse: most entries of a context */
	size_t arms;                   /* 0: values, whose decisions have y and u instead of arm and p */
	size_t candidate_d;            /* of the played candidate's row, kept beside the context; 0: none is */
	bool masks;                    /* which arms were eligible is kept */
	size_t saved_arms;             /* of what is loaded next, at most arms; 0: the same */
	size_t saved_d;                /* the same of d: the values beyond are unknown */
	size_t known;                  /* dense values of a context from here on may be NaN, unknown; 0: none */
	float *row;                    /* d: room for one that has fewer, the table's */
	const cop_pending_size *sizes; /* that records have had, the table's; the newest last */
	size_t size_count;
	size_t predictions; /* of each decision that are kept, below COP_LEARNER_EXPERTS (a refit's may come beside) */
} cop_pending_shape;

/* What the learner in the shadow of the deciding one had to say of a decision. */
typedef struct cop_pending_shadow {
	bool is;                               /* there was one */
	bool second;                           /* the decision is of the second learner of the pair, not of the first */
	uint32_t pair;                         /* which two learners they were */
	double p;                              /* its probability of the played arm, in [0, 1]; values: 0 */
	uint64_t rev;                          /* its revision */
	bool compared;                         /* arms and candidates: the next four are known */
	float loss;                            /* of the played arm, as the deciding learner predicted */
	float expected[2];                     /* its predicted losses, averaged over its policy and over this one's */
	float weight_most;                     /* evaluate/promotion_test.h; 0: not known */
	bool measured;                         /* the next is known, too */
	float difference;                      /* of the policies: total variation distance */
	float prediction[COP_LEARNER_EXPERTS]; /* shape.predictions and one are kept */
} cop_pending_shadow;

#define COP_PENDING_ALONE UINT8_MAX /* a cluster: no unit was told */

/* One waiting decision. decision.probe is not kept, and for values p is 1. */
typedef struct cop_pending_entry {
	uint32_t handle; /* names it while it waits */
	double time;     /* seconds, when its reward window began */
	bool records;    /* its losses are recorded until the window ends (reward rules last, sum) */
	bool deferred;   /* not shown yet: its window has not begun */
	bool unheard;    /* no subscriber was given its action: no loss is no loss by default */
	uint32_t losses; /* feedbacks recorded so far */
	double loss[2];  /* last or sum of them, scaled */
	uint16_t names;  /* named losses (events/named_losses.h) that can be recorded, at most COP_NAMED_LOSSES_MOST */
	uint16_t told;   /* bits: which of them were */
	bool observed;   /* another system decided (online/model_apprentice.h); split: a baseline did */
	bool split;      /* there was a control group (online/control.h) */
	bool kept;       /* the baseline decided for want of allowance, not for the control group */
	uint8_t cluster; /* of its unit, below 128; not split: or COP_PENDING_ALONE; of values always that */
	uint32_t owner;  /* whose it is; 0: nobody's in particular */
	double own_p;    /* observed: probability with which the model would have played the arm; else 0 */
	bool refitted;   /* one prediction more is kept than the shape says: a refit's */
	cop_decision decision;
	cop_pending_shadow shadow;
	cop_row x;         /* points into the table, valid until it changes, or until another one is looked for */
	cop_row candidate; /* the same, when the shape has one */
	/* Flags of the eligible arms, NULL: all; of a found entry the table's, good until another one is looked for. */
	const uint8_t *mask;
	const uint8_t *named; /* to be added: its named losses as they are saved; NULL: none is told */
} cop_pending_entry;

/* With what probability the model itself would play the arm, or played it. */
static inline double cop_pending_own_p(const cop_pending_entry *entry)
{
	return entry->observed ? entry->own_p : entry->decision.p;
}

typedef enum cop_recent_ids_why {
	COP_RECENT_IDS_NOT = 0,
	COP_RECENT_IDS_ANSWERED = 1,
	COP_RECENT_IDS_EXPIRED = 2,
} cop_recent_ids_why;

/* At most `max` decisions wait and at most `max` ids are remembered. COP_EINVAL, COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_pending_new(const cop_pending_shape *shape, size_t max, uint64_t hash_key, cop_pending **out);
void cop_pending_free(cop_pending *table);
size_t cop_pending_count(const cop_pending *table);
size_t cop_pending_observed(const cop_pending *table); /* of them, by another system */
size_t cop_pending_unheard(const cop_pending *table);  /* of them */
size_t cop_pending_masked(const cop_pending *table);   /* of them, those whose mask is kept */
size_t cop_pending_max(const cop_pending *table);
/* Of the waiting records and their index; depends on what waits alone. */
size_t cop_pending_bytes(const cop_pending *table);
/* A lower bound than before does not drop what waits already. */
void cop_pending_set_max(cop_pending *table, size_t max);

/* Entries to come may be refitted, and have a shadow: reserve sees to it. */
void cop_pending_extend(cop_pending *table, bool refitted, bool shadow);
/* An entry to come. */
typedef struct cop_pending_need {
	const cop_event_id *id;
	const cop_row *x;
	const cop_row *candidate; /* any one of them */
	size_t candidates;        /* 0: none */
	bool observed;
	const uint8_t *mask; /* as the entry's */
	uint32_t owner;
	uint16_t names; /* if it records */
} cop_pending_need;

/* Makes sure that the next add of such an entry finds memory. COP_ENOMEM. */
COP_CHECK cop_err cop_pending_reserve(cop_pending *table, const cop_pending_need *need);
/* Adds entry (handle aside; rows are copied) at the young end; times should not fall. COP_EEXIST: the id waits already.
 * COP_EFULL: the bound is reached (take the oldest out first). COP_ENOMEM. */
COP_CHECK cop_err cop_pending_add(
        cop_pending *table, const cop_event_id *id, const cop_pending_entry *entry, uint32_t *handle);
/* Of an entry that was found. */
void cop_pending_id(const cop_pending *table, const cop_pending_entry *entry, cop_event_id *id);
bool cop_pending_find(const cop_pending *table, const cop_event_id *id, cop_pending_entry *out);
/* The one that has waited longest; false when none waits. */
bool cop_pending_oldest(const cop_pending *table, cop_pending_entry *out);
typedef bool cop_pending_visitor(void *context, const cop_event_id *id, const cop_pending_entry *entry);
/* The youngest `most` of those that wait, the youngest first, until the visitor, which changes nothing, gives false.
 * How many were visited. */
size_t cop_pending_visit(const cop_pending *table, size_t most, cop_pending_visitor *visitor, void *context);
/* How many of the owner's wait (0: of those without one). */
size_t cop_pending_owned_count(const cop_pending *table, uint32_t owner);
/* The owner's that has waited longest; false when none waits. */
bool cop_pending_owned_oldest(cop_pending *table, uint32_t owner, cop_pending_entry *out);
/* The one that gives way to a decision of the newcomer: the oldest of the owner that has most, by count or by bytes (of
 * the newcomer itself, if it has as much; those without an owner are one together). False when none waits. */
bool cop_pending_gives_way(cop_pending *table, uint32_t newcomer, bool by_bytes, cop_pending_entry *out);
/* Writes the losses of an entry that records back. */
void cop_pending_record_loss(cop_pending *table, const cop_pending_entry *entry);
/* The named losses of an entry that records; there, only those below its names are kept. */
void cop_pending_get_named(const cop_pending *table, const cop_pending_entry *entry, cop_loss_values *out);
void cop_pending_record_named(cop_pending *table, const cop_pending_entry *entry, const cop_loss_values *losses);
/* Name i was name from[i] until now, -1: none. */
void cop_pending_rename(cop_pending *table, const int8_t from[COP_NAMED_LOSSES_MOST]);
/* An entry's action was given to no subscriber. */
void cop_pending_mark_unheard(cop_pending *table, const cop_pending_entry *entry);
/* A deferred entry's window begins: it moves to the young end. Whoever shows it has heard of it. */
void cop_pending_activate(cop_pending *table, const cop_pending_entry *entry, double time);
/* Removes an entry and remembers its id as answered or expired from `time` on; when `max` are remembered
 * already the oldest is forgotten. Should memory be short, the id is not remembered. */
void cop_pending_remove(cop_pending *table, const cop_pending_entry *entry, cop_recent_ids_why as, double time);

/* Remembers an id that never waited. */
void cop_pending_remember(cop_pending *table, const cop_event_id *id, cop_recent_ids_why as, double time);
cop_recent_ids_why cop_pending_recall(const cop_pending *table, const cop_event_id *id);
/* Forgets what was remembered before `time`. */
void cop_pending_forget(cop_pending *table, double time);

/* All of it, oldest first: equal histories give equal bytes. */
void cop_pending_save(const cop_pending *table, cop_bytes *bytes);
/* Into an empty table of the same shape, or as expected. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE, COP_EFULL,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_pending_load(cop_pending *table, cop_cursor *cursor);
/* What is loaded next is of a model with so many arms and features, at most as many as the shape has: arms beyond were
 * not eligible, features beyond are unknown, as those from `known` on may be. 0: as the shape has. */
void cop_pending_expect(cop_pending *table, size_t arms, size_t features, size_t known);
/* Memory for inherit; `from` is as before. COP_ENOMEM; COP_ESHAPE: what waits has been given more too often. */
COP_CHECK cop_err cop_pending_make_room(cop_pending *table, const cop_pending *from);
/* After that, and before anything changes: an empty table of the same shape but for further arms and features, and the
 * same hash key, takes over all that waits or is remembered in another one, as saving and loading would: arms beyond
 * were not eligible, features beyond are unknown. In no time; `from` is empty then. */
void cop_pending_inherit(cop_pending *table, cop_pending *from);

#endif
