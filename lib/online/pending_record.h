/* online/pending_record.h: one waiting decision as packed bytes, for pending.c alone.
 *
 *     head | losses (only where they are recorded) with a number for each name | predictions
 *          | shadow (if there was one) | own_p (only observed) | owner and its chain (only owned) | nnz (only sparse)
 *          | context | the same of the candidate | id | a bit for each arm (only masked)
 *
 * A record is of the size that the shape had when it was filled. The mask has a bit for each arm that there was then;
 * arms that came later were not eligible. Features that came later are unknown in a context. A dense context of d
 * floats costs 40 bytes and 4 for each prediction beside itself and its id. */
#ifndef COP_ONLINE_PENDING_RECORD_H
#define COP_ONLINE_PENDING_RECORD_H

#include "online/pending.h"

#define COP_PENDING_SIZES ((size_t)UINT16_MAX + 1)

typedef struct cop_pending_record {
	double time;
	double action; /* arms: p; values: y */
	uint64_t rev;
	uint32_t older, younger; /* handles */
	uint16_t arm;            /* and in its highest two bits the decision's limit */
	uint16_t size;           /* of the shape's sizes: that when the record was filled */
	int8_t u; /* of arms and candidates: the cluster of the decision's unit, -1 where none was told */
	uint8_t flags;
	uint8_t id_kind; /* and what stands beside it */
	uint8_t id_length;
} cop_pending_record;

/* Behind the head of a record that is owned. */
typedef struct cop_pending_owned {
	uint32_t owner;
	uint32_t older, younger; /* handles, of the same owner's */
} cop_pending_owned;

enum {
	COP_PENDING_GREEDY = 1,
	COP_PENDING_RECORDS = 2,
	COP_PENDING_DEFERRED = 4,
	COP_PENDING_REFITTED = 8,
	COP_PENDING_SHADOW = 16,
	COP_PENDING_SECOND = 32,
	COP_PENDING_OBSERVED = 64,
	COP_PENDING_COMPARED = 128, /* shadow: with losses and weight_most, which values have not */
	/* In the record these stand beside the id's kind. */
	COP_PENDING_MASKED = 256,
	COP_PENDING_MEASURED = 512, /* compared, and with the policies' difference */
	COP_PENDING_OWNED = 1024,   /* of an owner other than 0 */
	COP_PENDING_EXTENSIONS = COP_PENDING_RECORDS | COP_PENDING_REFITTED | COP_PENDING_SHADOW |
	                         COP_PENDING_OBSERVED | COP_PENDING_COMPARED | COP_PENDING_MEASURED |
	                         COP_PENDING_OWNED /* cost bytes */
};

/* Beside the id's kind: flags are full. */
#define COP_PENDING_UNHEARD       128
#define COP_PENDING_MASKED_HERE   64
#define COP_PENDING_MEASURED_HERE 32
#define COP_PENDING_OWNED_HERE    16
#define COP_PENDING_SPLIT         8
#define COP_PENDING_KEPT          4
#define COP_PENDING_KIND          (COP_PENDING_KEPT - 1) /* the kind alone, less 1 */

/* Another system decided, and not the baseline of a control group. */
static inline bool cop_pending_record_is_observed(const cop_pending_record *r)
{
	return (r->flags & COP_PENDING_OBSERVED) != 0 && (r->id_kind & COP_PENDING_SPLIT) == 0;
}

/* Whether a record keeps that mask: the shape wants it, and it excludes an arm. */
bool cop_pending_record_keeps(const cop_pending_shape *shape, const uint8_t *mask);
unsigned cop_pending_record_flags(const cop_pending_shape *shape, const cop_pending_entry *entry);
/* Bytes of a record with such an id, context, candidate (if the shape has one) and flags, without named losses. */
size_t cop_pending_record_size(
        const cop_pending_shape *shape, size_t id_length, size_t nnz, size_t candidate_nnz, unsigned flags);
size_t cop_pending_record_bytes(const cop_pending_shape *shape, const cop_pending_record *r);
/* Whether not all arms were eligible: those that are newer than the record were not, though its mask says nothing of
 * them, and may be none. */
bool cop_pending_record_masked(const cop_pending_shape *shape, const cop_pending_record *r);
/* As large as a record counts: with all features that there are, and with a bit for each arm if it is masked. */
size_t cop_pending_record_counted(const cop_pending_shape *shape, const cop_pending_record *r);
/* Fills a fresh record of that size; older and younger are the caller's. */
void cop_pending_record_fill(
        const cop_pending_shape *shape, cop_pending_record *r, const cop_event_id *id, const cop_pending_entry *entry);
/* mask: room for the shape's arms, which the entry points to if the record is masked; its context may be in the shape's
 * row. */
void cop_pending_record_view(
        const cop_pending_shape *shape, const cop_pending_record *r, uint8_t *mask, cop_pending_entry *out);
void cop_pending_record_id(const cop_pending_shape *shape, const cop_pending_record *r, cop_event_id *id);
bool cop_pending_record_has_id(const cop_pending_shape *shape, const cop_pending_record *r, const cop_event_id *id);

/* Of a record that is owned; it may be unaligned. */
cop_pending_owned cop_pending_record_owned(const cop_pending_shape *shape, const cop_pending_record *r);
void cop_pending_record_set_owned(
        const cop_pending_shape *shape, cop_pending_record *r, const cop_pending_owned *owned);

void cop_pending_record_save(const cop_pending_shape *shape, const cop_pending_record *r, cop_bytes *bytes);
/* The next saved record as id and entry, its context a view of the cursor's bytes that is good for
 * cop_pending_record_fill only (it may be unaligned), its mask in the room for one. COP_ESHAPE, COP_EFORMAT,
 * COP_ENONFINITE. */
COP_CHECK cop_err cop_pending_record_load(
        const cop_pending_shape *shape, cop_cursor *cursor, uint8_t *mask, cop_event_id *id, cop_pending_entry *entry);

#endif
