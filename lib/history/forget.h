/* history/forget.h: all that a journal holds of one unit, or under one id: found, and erased.
 *
 * A plan notes of every model under which ids the unit's decisions stand, each with the records between which the id is
 * the unit's: [its decision, the next decision of another unit under the same id). Feedback that brings its context and
 * the unit begins the same. What stands under such an id then, or names the unit, is the unit's: decisions, feedback,
 * activations, unheard. It becomes a record of type 8 (docs/reference/journal.md) that keeps time and model alone, and,
 * where other decisions were ended by it, these endings, without which they would wait for ever. Other records lose
 * what they list of the unit's endings. Records of a challenger that is dropped (cop_forget_drop_challenger) become of
 * type 8 as well. So what is left can be recovered from, from before the unit's first record on. A plan is of one
 * thread at a time; once it has been scanned, edits may be on several. */
#ifndef COP_HISTORY_FORGET_H
#define COP_HISTORY_FORGET_H

#include "events/event_id.h"
#include "store/journal_rewrite.h"
#include "wire/wire_record.h"

typedef struct cop_forget_whom {
	bool unit;         /* name is a unit's; else a decision's id */
	cop_event_id name; /* kind 0: whom text names */
	const char *text;  /* a text, or, where no record has that, a whole number; borrowed */
	const char *model; /* of all its lives, NAME and NAME#LIFE; NULL: all models; borrowed */
} cop_forget_whom;

/* What is concerned, of one model. */
typedef struct cop_forget_model {
	char name[COP_WIRE_RECORD_MODEL + 1];
	uint64_t first, last; /* sequence numbers of the first and last record concerned */
	uint64_t decisions, feedback, activations, unheard;
	uint64_t endings;             /* of the unit's decisions, listed in other records */
	double first_time, last_time; /* of the records that are the unit's, seconds since 1970 */
} cop_forget_model;

typedef struct cop_forget_plan cop_forget_plan;

/* Caller frees with cop_forget_plan_free; on error *out is NULL. COP_EINVAL: text is empty or has more than 64 bytes.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_forget_plan_new(const cop_forget_whom *whom, cop_forget_plan **out);
void cop_forget_plan_free(cop_forget_plan *plan);
/* Asked now and then while the journal is read or rewritten (NULL: nobody is); false ends that with COP_EEND. */
void cop_forget_ask(cop_forget_plan *plan, bool (*goes_on)(void *context), void *context);

/* Reads the journal up to this record, each record once: again, with a later one, it goes on where it ended. Gaps are
 * passed over. COP_EFORMAT, COP_EVERSION: damage, or a newer journal. COP_ENOTFOUND, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_forget_scan(cop_forget_plan *plan, const char *folder, uint64_t up_to, cop_diag *diag);

/* The same of one record, which the journal holds behind all that was scanned. COP_ENOMEM. */
COP_CHECK cop_err cop_forget_take(cop_forget_plan *plan, const cop_journal_record *record);

/* The ids that are theirs to the end of what was scanned, of the model of that stored name; caller frees *ids with
 * cop_mem_free. COP_ENOMEM. */
COP_CHECK cop_err cop_forget_ids(const cop_forget_plan *plan, const char *stored, cop_event_id **ids, size_t *count);

/* Models in which records are concerned; 0: none is. Borrowed until the next scan. */
const cop_forget_model *cop_forget_models(const cop_forget_plan *plan, size_t *count);
/* Whether the name that counts is the whole number. */
bool cop_forget_is_number(const cop_forget_plan *plan);
/* Records whose bodies could not be read: they stay as they are. */
uint64_t cop_forget_unread(const cop_forget_plan *plan);
/* The first and last record concerned, of all models; 0: none. */
uint64_t cop_forget_first(const cop_forget_plan *plan);
uint64_t cop_forget_last(const cop_forget_plan *plan);

/* A challenger of the model, by its stored name, is dropped: so are the records that speak of it. */
void cop_forget_drop_challenger(cop_forget_plan *plan, const char *model, uint64_t number);
/* cop_forget_promotions_serving, of the records that were scanned. */
bool cop_forget_serving(const cop_forget_plan *plan, const char *model, uint64_t *serving, uint64_t *shadow);

typedef enum cop_forget_fate {
	COP_FORGET_KEEP,   /* the record stays as it is */
	COP_FORGET_EDITED, /* it lists fewer endings */
	COP_FORGET_ERASED, /* it is of type 8 now */
} cop_forget_fate;

/* What is to become of one record that the scan has read; where it is to be another, *out has type, body and length.
 * The body is put into room, which is cleared. COP_ENOMEM. */
COP_CHECK cop_err cop_forget_edit(const cop_forget_plan *plan, const cop_journal_record *record, cop_bytes *room,
        cop_journal_record *out, cop_forget_fate *fate);

/* Rewrites the segments that hold what is concerned, as cop_journal_rewrite does, whose contract holds. *done: also on
 * error, after which all of it can be done again, with a new plan. COP_EINVAL: some of what is concerned is in the
 * newest segment, which is still written to; nothing is changed. COP_EFORMAT, COP_EVERSION, COP_EIO, COP_ENOTFOUND,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_forget_erase(
        const cop_forget_plan *plan, const char *folder, cop_journal_rewritten *done, cop_diag *diag);

#endif
