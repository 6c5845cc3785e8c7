/* history/forget_promotions.h: records of who serves (type 6) of the models of a journal, and which of them go because
 * their challenger does.
 *
 * A challenge, and the promotions, rollbacks and retirements from there to the model's next challenge, are of the same
 * challenger; freezing is of none. Fed in the journal's order. One thread per list; what only reads may be on several.
 */
#ifndef COP_HISTORY_FORGET_PROMOTIONS_H
#define COP_HISTORY_FORGET_PROMOTIONS_H

#include "store/journal_segment.h"
#include "wire/wire_record.h"

typedef struct cop_forget_promotion {
	uint64_t sequence;
	uint64_t number; /* of the challenger, where its challenge was seen; else 0 */
	uint32_t model;
	cop_wire_promotion kind;
	bool gone;
} cop_forget_promotion;

typedef struct cop_forget_promotions {
	cop_forget_promotion *items; /* by rising sequence */
	size_t count, room;
	char (*models)[COP_WIRE_RECORD_MODEL + 1];
	size_t model_count;
} cop_forget_promotions;

/* Zeroed is an empty list. */
void cop_forget_promotions_fini(cop_forget_promotions *list);
/* Takes a record of type 6 in; one whose body cannot be read is passed over. COP_ENOMEM. */
COP_CHECK cop_err cop_forget_promotions_take(cop_forget_promotions *list, const cop_journal_record *record);
/* All that is of this challenger of the model goes. */
void cop_forget_promotions_drop(cop_forget_promotions *list, const char *model, uint64_t number);
bool cop_forget_promotions_is_gone(const cop_forget_promotions *list, uint64_t sequence);
/* The last record that goes; 0: none does. */
uint64_t cop_forget_promotions_last(const cop_forget_promotions *list);
/* The challengers that served the model, and were in its shadow, at the end; 0: none. False: no challenge of the model
 * is in the list, and nothing is known. */
bool cop_forget_promotions_serving(
        const cop_forget_promotions *list, const char *model, uint64_t *serving, uint64_t *shadow);

#endif
