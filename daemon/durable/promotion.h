/* daemon/durable/promotion.h: who serves: challengers, promotions, rollbacks, freezing, as events of a model.
 *
 * Each happens between two other events and is recorded in the journal (wire/wire_record.h, promotion), so that
 * recovery does the same at the same place: a challenge names its file and the checksum of what it holds. The loop's
 * thread. */
#ifndef COP_DAEMON_DURABLE_PROMOTION_H
#define COP_DAEMON_DURABLE_PROMOTION_H

#include "daemon/durable/challenger_load.h"
#include "daemon/durable/durability.h"

typedef struct cop_promotion {
	cop_durability *durable;
	cop_model_slot *slot; /* one of its models */
	const char *by;       /* who wants it: a word for the log */
	bool held_too;        /* also while others are held up (durability.h) */
	/* Of a challenge: ready and not failed, else NULL: the file is read and the room made here, which takes time.
	 */
	cop_challenger_load *load;
} cop_promotion;

/* Does it and records it; number: of the challenger, for a challenge. *sequence (NULL allowed): the record's, 0 without
 * a journal. Nothing changed on error, with *diag: COP_ENOTFOUND: there is no challenger (no predecessor, no such
 * file). COP_EEXIST: frozen, or not, already. COP_EIO: also, the journal is broken, or an
 * order to forget is carried out, during which models only freeze and thaw. COP_ESHAPE, COP_EFORMAT,
 * COP_EVERSION, COP_ENONFINITE, COP_EINVAL: the challenger does not fit. COP_ENOMEM. */
COP_CHECK cop_err cop_promotion_do(
        const cop_promotion *promotion, cop_wire_promotion kind, uint64_t number, uint64_t *sequence, cop_diag *diag);
/* The same from record `sequence`. COP_EFORMAT also: the file is not the one that was recorded. */
COP_CHECK cop_err cop_promotion_replay(
        cop_model_slot *slot, const char *state_dir, const cop_wire_record *record, uint64_t sequence, cop_diag *diag);

/* Looks which challengers of a model are kept, for status; what cannot be read leaves none. */
void cop_promotion_look(cop_model_slot *slot, const char *state_dir);

#endif
