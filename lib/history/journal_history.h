/* history/journal_history.h: a journal as bandit events: what was decided, joined with what it cost.
 *
 * The records are joined as the daemon joined them, for they report it: what a decision ended with, default losses,
 * self-contained feedback, and decisions that were deferred, or whose action no subscriber was given, only if they were
 * shown or answered. Events come in the order in which they were learned, so that learning them again in this order
 * moves a model as the daemon's moved. A model may be given further arms or features; masks are as long as there were
 * arms then, and dense contexts have as many values as there were features then, or more; NaN is unknown. Their cost is
 * the loss that was learned, in the model's loss_range; of values, as it was sent. Memory is that of the decisions that
 * wait. The reader is one of events/event_reader.h; a journal that is still being written is read as far as it was at
 * the opening. One thread per reader. */
#ifndef COP_HISTORY_JOURNAL_HISTORY_H
#define COP_HISTORY_JOURNAL_HISTORY_H

#include "events/event_reader.h"
#include "events/named_losses.h"
#include "store/journal_intact.h"

#define COP_JOURNAL_HISTORY_WAITING ((size_t)1 << 22) /* decisions */
#define COP_JOURNAL_HISTORY_BYTES   ((size_t)2 << 30)

typedef struct cop_journal_history_settings {
	const char *model; /* name; NULL or "": the journal's only one */
	bool unanswered;   /* decisions that were shown and have no loss are events too, unlabelled; else left out */
	bool values;       /* a model of values is taken too, when the journal tells what it is like */
	/* As `values`, but its actions are the bins of [0, 1] that the values lie in, so many of equal width, and p a
	 * bin's probability, as the decision's density has it: y was drawn evenly within the bin. Decisions without a
	 * density are an error. 0: not so */
	size_t bins;
	size_t features; /* dense contexts that are shorter are widened to so many values, NaN; 0: none are */
	bool skip;       /* what is damaged is passed over; else it is an error */
	/* In place of what was learned, the cost is the weighted sum of these named losses (events/named_losses.h);
	 * events that were not told of one with a weight have no cost. count 0: what was learned. Not of values */
	cop_loss_weights losses;
	/* decisions that a baseline made (online/control.h) are left out: their p is not the policy's */
	bool leave_held;
	uint64_t from;        /* record to begin with; 0: the oldest. Not together with skip */
	size_t waiting_max;   /* decisions that may wait, the oldest gives way; 0: COP_JOURNAL_HISTORY_WAITING */
	size_t waiting_bytes; /* memory that they may take; 0: COP_JOURNAL_HISTORY_BYTES */
	cop_journal_skip_listener skips; /* with skip: hears what was passed over */
} cop_journal_history_settings;

/* path: the journal's folder, or one segment's file. Caller frees with cop_event_reader_free; on error *out is NULL.
 * COP_ENOTFOUND: no such path, or the journal has no such model. COP_EINVAL: several models and none named (the message
 * lists them), or one of values, whose logged actions have no propensities, and settings->values is not set. COP_EIO,
 * COP_EFORMAT, COP_EVERSION, COP_ENOMEM.
 *
 * Of the reader's next: COP_EFORMAT is a record whose body makes no sense, or a label that no reader takes; the next
 * event may be asked for. COP_EIO is damage (of the segment and offset in *diag). COP_ESHAPE: the model's shape changes
 * within the journal. COP_EINVAL: as above, when it shows only now; or, at the end, the model never had such a
 * name as settings->losses has. */
COP_CHECK cop_err cop_journal_history_open(
        const char *path, const cop_journal_history_settings *settings, cop_event_reader **out, cop_diag *diag);

/* The model whose events they are. Until a header or configuration with it was read all is 0 or empty. */
typedef struct cop_journal_history_model {
	char name[65], learner[65];
	size_t features; /* dense dimension; 0: sparse, of dimension 2^bits */
	unsigned bits;
	size_t max_nonzeros;
	size_t arms;               /* 0: it ranks, or its actions are values */
	size_t max_candidates;     /* above 0: it ranks candidates */
	size_t candidate_features; /* dense ones; sparse ones are hashed as the context is */
	double loss_range[2];
	double cost_range[2]; /* loss_range, or that of the sum of settings->losses, as far as their names are known */
	bool values;          /* its actions are values */
	unsigned losses;      /* of them: numbers in a loss, 1 or 2 */
	double value_range[2];
	double delta; /* distance of the probes, in units of value_range */
	bool told;
} cop_journal_history_model;

/* As far as it is known; all of it once an event was read. Borrowed. */
const cop_journal_history_model *cop_journal_history_get_model(const cop_event_reader *reader);

/* Where the last event came from. */
typedef struct cop_journal_history_origin {
	uint64_t sequence; /* of the decision, or of the self-contained feedback */
	uint64_t learned;  /* of the record that ended its waiting; 0: it waits still */
	double time;       /* seconds since 1970: of the decision, or when it was shown */
	double learned_time;
	bool defaulted; /* the cost is the model's default loss */
	bool self_contained;
} cop_journal_history_origin;

const cop_journal_history_origin *cop_journal_history_get_origin(const cop_event_reader *reader);

/* What was played by a model of values; its event has action 0, p 1 (unless settings->bins), and the mean of the losses
 * as its cost. */
typedef struct cop_journal_history_value {
	double y;       /* in [0, 1], of value_range */
	double density; /* at y, per unit of [0, 1]; 0: none was recorded */
	int8_t u;       /* one loss: y + delta u was played; two: y + delta and y - delta */
	double loss[2]; /* as sent, when the event is labelled */
} cop_journal_history_value;

/* Of the last event of such a model. Borrowed. */
const cop_journal_history_value *cop_journal_history_get_value(const cop_event_reader *reader);

typedef struct cop_journal_history_counts {
	uint64_t records; /* of the model */
	uint64_t decisions, feedback;
	uint64_t labelled;  /* events with a cost ... */
	uint64_t defaulted; /* ... of them by default, */
	uint64_t self_contained;
	uint64_t unanswered; /* shown, and their window or the journal ended without a loss */
	uint64_t not_shown;  /* deferred to the end, or heard of by nobody, and not answered */
	uint64_t unjoined;   /* feedback that was learned, of decisions that the journal no longer has */
	uint64_t ignored;    /* feedback that was duplicate, late or unknown */
	uint64_t held;       /* left out by leave_held */
	uint64_t forgotten;  /* records that were erased */
	uint64_t gave_way;   /* at waiting_max or waiting_bytes: their feedback comes to be unjoined */
	uint64_t bad;        /* records and events given as COP_EFORMAT */
} cop_journal_history_counts;

const cop_journal_history_counts *cop_journal_history_get_counts(const cop_event_reader *reader);

#endif
