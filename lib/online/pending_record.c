/* Every part's place follows from the head's flags and the shape alone: each `*_at` is the one before plus its size,
 * so parts must be written in order, those with a length of their own (rows) before what lies behind them. A flag that
 * does not fit into the eight bits of `flags` stands in the unused bits of the id's kind. A saved record has the same
 * parts, the id first, without the chain; loading checks all that a learner relies on. */
#include "online/pending_record.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "online/pending_losses.h"

_Static_assert(sizeof(cop_pending_record) == 40, "the head is as small as its fields");

/* As it lies in the record, before its predictions. */
typedef struct shadow_head {
	double p;
	uint64_t rev;
	uint32_t pair;
} __attribute__((packed)) shadow_head;

/* Behind it, if they were compared. */
typedef struct comparison {
	float loss, expected[2], weight_most;
	float difference; /* only measured */
} comparison;

static size_t comparison_size(unsigned flags)
{
	size_t without = offsetof(comparison, difference);
	return flags & COP_PENDING_MEASURED ? sizeof(comparison) : flags & COP_PENDING_COMPARED ? without : 0;
}

#define SAVED_KIND 7
#define SAVED_KEPT 128 /* of the length, which is 64 at most */

static const cop_pending_size *size_of(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return &shape->sizes[r->size];
}

static uint8_t kind_of(const cop_pending_record *r) { return (uint8_t)((r->id_kind & COP_PENDING_KIND) + 1); }

static unsigned flags_of(const cop_pending_record *r)
{
	return r->flags | (r->id_kind & COP_PENDING_MASKED_HERE ? COP_PENDING_MASKED : 0u) |
	       (r->id_kind & COP_PENDING_MEASURED_HERE ? COP_PENDING_MEASURED : 0u) |
	       (r->id_kind & COP_PENDING_OWNED_HERE ? COP_PENDING_OWNED : 0u);
}

static uint8_t *predictions_at(const cop_pending_record *r)
{
	return (uint8_t *)(uintptr_t)(r + 1) + cop_pending_losses_size(r);
}

static size_t predictions_size(const cop_pending_shape *shape, unsigned flags)
{
	return (shape->predictions + (flags & COP_PENDING_REFITTED ? 1 : 0)) * sizeof(float);
}

static size_t shadow_size(const cop_pending_shape *shape, unsigned flags)
{
	return (flags & COP_PENDING_SHADOW ? sizeof(shadow_head) + (shape->predictions + 1) * sizeof(float) : 0) +
	       comparison_size(flags);
}

static uint8_t *shadow_at(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return predictions_at(r) + predictions_size(shape, r->flags);
}

static uint8_t *own_at(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return shadow_at(shape, r) + shadow_size(shape, flags_of(r));
}

static size_t own_size(unsigned flags) { return flags & COP_PENDING_OBSERVED ? sizeof(double) : 0; }

static uint8_t *owned_at(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return own_at(shape, r) + own_size(r->flags);
}

static size_t owned_size(unsigned flags) { return flags & COP_PENDING_OWNED ? sizeof(cop_pending_owned) : 0; }

/* Of a context, or with d = candidate_d of a candidate, which may be none. */
static size_t row_size(const cop_pending_shape *shape, size_t d, size_t nnz)
{
	if (d == 0)
		return 0;
	return shape->sparse ? sizeof(uint32_t) + nnz * (sizeof(uint32_t) + sizeof(float)) : d * sizeof(float);
}

static uint8_t *context_at(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return owned_at(shape, r) + owned_size(flags_of(r));
}

/* Of the row of d features at `at`. */
static uint32_t nnz_at(const cop_pending_shape *shape, size_t d, const uint8_t *at)
{
	uint32_t nnz = 0;
	if (shape->sparse && d != 0)
		memcpy(&nnz, at, sizeof nnz);
	return nnz;
}

static uint8_t *behind_row(const cop_pending_shape *shape, size_t d, uint8_t *at)
{
	return at + row_size(shape, d, nnz_at(shape, d, at));
}

static uint8_t *candidate_at(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return behind_row(shape, size_of(shape, r)->d, context_at(shape, r));
}

static uint8_t *id_at(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return behind_row(shape, shape->candidate_d, candidate_at(shape, r));
}

/* ---- the mask ---- */

#define ARM_BITS 14
#define ARM_MOST ((1u << ARM_BITS) - 1)

_Static_assert(COP_LEARNER_MAX_ARMS <= ARM_MOST && COP_LEARNER_MAX_CANDIDATES <= ARM_MOST, "heads have 14 bits");
_Static_assert(COP_SHARES_LIMITS <= 1 << (16 - ARM_BITS), "and two for the limit");

static size_t bits_size(size_t arms) { return (arms + 7) / 8; }

static size_t mask_size(size_t arms, unsigned flags) { return flags & COP_PENDING_MASKED ? bits_size(arms) : 0; }

static uint8_t *mask_at(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return id_at(shape, r) + r->id_length;
}

bool cop_pending_record_keeps(const cop_pending_shape *shape, const uint8_t *mask)
{
	return shape->masks && mask != NULL && memchr(mask, 0, shape->arms) != NULL;
}

static void pack(const uint8_t *mask, size_t arms, uint8_t *bits)
{
	memset(bits, 0, (arms + 7) / 8);
	for (size_t k = 0; k < arms; k++)
		bits[k / 8] |= (uint8_t)((mask[k] != 0) << k % 8);
}

static void unpack(const uint8_t *bits, size_t arms, uint8_t *mask)
{
	for (size_t k = 0; k < arms; k++)
		mask[k] = bits[k / 8] >> k % 8 & 1;
}

/* Of all arms that there are now. */
static void unpack_all(const cop_pending_shape *shape, const cop_pending_record *r, uint8_t *mask)
{
	const size_t arms = size_of(shape, r)->arms;
	if (r->id_kind & COP_PENDING_MASKED_HERE)
		unpack(mask_at(shape, r), arms, mask);
	else
		memset(mask, 1, arms);
	memset(mask + arms, 0, shape->arms - arms);
}

/* As pack would write it. */
static void put_mask(const cop_pending_shape *shape, const cop_pending_record *r, cop_bytes *bytes)
{
	const bool kept = (r->id_kind & COP_PENDING_MASKED_HERE) != 0;
	const uint8_t *bits = mask_at(shape, r);
	const size_t arms = size_of(shape, r)->arms;
	for (size_t i = 0; i < bits_size(shape->arms); i++) {
		const size_t first = 8 * i, left = arms > first ? arms - first : 0;
		const unsigned all = left >= 8 ? 255u : (1u << left) - 1;
		cop_bytes_put_u8(bytes, (uint8_t)(left > 0 && kept ? bits[i] : all));
	}
}

/* ---- whole records ---- */

size_t cop_pending_record_size(
        const cop_pending_shape *shape, size_t id_length, size_t nnz, size_t candidate_nnz, unsigned flags)
{
	return sizeof(cop_pending_record) + (flags & COP_PENDING_RECORDS ? COP_PENDING_LOSSES_BYTES : 0) +
	       predictions_size(shape, flags) + shadow_size(shape, flags) + own_size(flags) + owned_size(flags) +
	       row_size(shape, shape->d, nnz) + row_size(shape, shape->candidate_d, candidate_nnz) + id_length +
	       mask_size(shape->arms, flags);
}

size_t cop_pending_record_bytes(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return (size_t)(mask_at(shape, r) - (const uint8_t *)r) + mask_size(size_of(shape, r)->arms, flags_of(r));
}

bool cop_pending_record_masked(const cop_pending_shape *shape, const cop_pending_record *r)
{
	return (r->id_kind & COP_PENDING_MASKED_HERE) != 0 || (shape->masks && size_of(shape, r)->arms < shape->arms);
}

size_t cop_pending_record_counted(const cop_pending_shape *shape, const cop_pending_record *r)
{
	const size_t own = (size_t)(mask_at(shape, r) - (const uint8_t *)r) +
	                   (shape->sparse ? 0 : (shape->d - size_of(shape, r)->d) * sizeof(float));
	return own + (cop_pending_record_masked(shape, r) ? bits_size(shape->arms) : 0);
}

static void fill_row(const cop_pending_shape *shape, size_t d, uint8_t *at, const cop_row *x)
{
	if (d == 0)
		return;
	if (!shape->sparse) {
		memcpy(at, x->dense, d * sizeof(float));
		return;
	}
	uint32_t nnz = (uint32_t)x->nnz;
	memcpy(at, &nnz, sizeof nnz);
	if (nnz == 0)
		return;
	memcpy(at + sizeof nnz, x->index, x->nnz * sizeof(uint32_t));
	memcpy(at + sizeof nnz + x->nnz * sizeof(uint32_t), x->value, x->nnz * sizeof(float));
}

unsigned cop_pending_record_flags(const cop_pending_shape *shape, const cop_pending_entry *entry)
{
	return (entry->decision.greedy ? COP_PENDING_GREEDY : 0u) | (entry->records ? COP_PENDING_RECORDS : 0u) |
	       (entry->deferred ? COP_PENDING_DEFERRED : 0u) | (entry->refitted ? COP_PENDING_REFITTED : 0u) |
	       (entry->observed ? COP_PENDING_OBSERVED : 0u) | (entry->shadow.is ? COP_PENDING_SHADOW : 0u) |
	       (entry->shadow.is && entry->shadow.second ? COP_PENDING_SECOND : 0u) |
	       (entry->shadow.is && entry->shadow.compared ? COP_PENDING_COMPARED : 0u) |
	       (entry->shadow.is && entry->shadow.compared && entry->shadow.measured ? COP_PENDING_MEASURED : 0u) |
	       (cop_pending_record_keeps(shape, entry->mask) ? COP_PENDING_MASKED : 0u) |
	       (entry->owner != 0 ? COP_PENDING_OWNED : 0u);
}

static void fill_shadow(const cop_pending_shape *shape, cop_pending_record *r, const cop_pending_shadow *shadow)
{
	if (!shadow->is)
		return;
	const shadow_head head = { shadow->p, shadow->rev, shadow->pair };
	uint8_t *at = shadow_at(shape, r);
	memcpy(at, &head, sizeof head);
	at += sizeof head;
	memcpy(at, shadow->prediction, (shape->predictions + 1) * sizeof(float));
	const comparison c = { shadow->loss, { shadow->expected[0], shadow->expected[1] }, shadow->weight_most,
		shadow->difference };
	memcpy(at + (shape->predictions + 1) * sizeof(float), &c, comparison_size(flags_of(r)));
}

static void view_shadow(const cop_pending_shape *shape, const cop_pending_record *r, cop_pending_shadow *out)
{
	if (!(r->flags & COP_PENDING_SHADOW))
		return;
	shadow_head head;
	const uint8_t *at = shadow_at(shape, r);
	memcpy(&head, at, sizeof head);
	*out = (cop_pending_shadow){
		.is = true,
		.second = (r->flags & COP_PENDING_SECOND) != 0,
		.pair = head.pair,
		.p = head.p,
		.rev = head.rev,
	};
	at += sizeof head;
	memcpy(out->prediction, at, (shape->predictions + 1) * sizeof(float));
	if (!(r->flags & COP_PENDING_COMPARED))
		return;
	comparison c = { .difference = 0.0f };
	memcpy(&c, at + (shape->predictions + 1) * sizeof(float), comparison_size(flags_of(r)));
	out->compared = true;
	out->loss = c.loss;
	memcpy(out->expected, c.expected, sizeof out->expected);
	out->weight_most = c.weight_most;
	out->measured = (r->id_kind & COP_PENDING_MEASURED_HERE) != 0;
	out->difference = c.difference;
}

void cop_pending_record_fill(
        const cop_pending_shape *shape, cop_pending_record *r, const cop_event_id *id, const cop_pending_entry *entry)
{
	const cop_decision *decision = &entry->decision;
	const unsigned flags = cop_pending_record_flags(shape, entry);
	const bool masked = (flags & COP_PENDING_MASKED) != 0;
	*r = (cop_pending_record){
		.time = entry->time,
		.action = shape->arms == 0 ? decision->y : decision->p,
		.rev = decision->rev,
		.arm = (uint16_t)(decision->arm | (unsigned)decision->limit << ARM_BITS),
		.size = (uint16_t)(shape->size_count - 1),
		.u = shape->arms > 0 ? (int8_t)entry->cluster : decision->u,
		.flags = (uint8_t)(flags & 0xff),
		.id_kind = (uint8_t)((id->kind - 1) | (entry->kept ? COP_PENDING_KEPT : 0) |
		                     (entry->unheard ? COP_PENDING_UNHEARD : 0) |
		                     (entry->split ? COP_PENDING_SPLIT : 0) | (masked ? COP_PENDING_MASKED_HERE : 0) |
		                     (flags & COP_PENDING_MEASURED ? COP_PENDING_MEASURED_HERE : 0) |
		                     (flags & COP_PENDING_OWNED ? COP_PENDING_OWNED_HERE : 0)),
		.id_length = id->length,
	};
	cop_pending_losses_fill(r, entry);
	memcpy(predictions_at(r), decision->prediction, predictions_size(shape, r->flags));
	fill_shadow(shape, r, &entry->shadow);
	memcpy(own_at(shape, r), &entry->own_p, own_size(r->flags));
	const cop_pending_owned owned = { .owner = entry->owner };
	memcpy(owned_at(shape, r), &owned, owned_size(flags));
	fill_row(shape, shape->d, context_at(shape, r), &entry->x);
	fill_row(shape, shape->candidate_d, candidate_at(shape, r), &entry->candidate);
	memcpy(id_at(shape, r), id->bytes, id->length);
	if (masked)
		pack(entry->mask, shape->arms, mask_at(shape, r));
}

cop_pending_owned cop_pending_record_owned(const cop_pending_shape *shape, const cop_pending_record *r)
{
	cop_pending_owned owned = { 0 };
	memcpy(&owned, owned_at(shape, r), owned_size(flags_of(r)));
	return owned;
}

void cop_pending_record_set_owned(const cop_pending_shape *shape, cop_pending_record *r, const cop_pending_owned *owned)
{
	memcpy(owned_at(shape, r), owned, owned_size(flags_of(r)));
}

static void view_row(const cop_pending_shape *shape, size_t d, const uint8_t *at, cop_row *x)
{
	*x = (cop_row){ .d = d };
	if (d == 0)
		return;
	if (!shape->sparse) {
		x->dense = (const float *)(const void *)at;
		return;
	}
	x->nnz = nnz_at(shape, d, at);
	x->index = (const uint32_t *)(const void *)(at + sizeof(uint32_t));
	x->value = (const float *)(const void *)(at + sizeof(uint32_t) + x->nnz * sizeof(uint32_t));
}

/* What the record lacks of its context is unknown. */
static void view_context(const cop_pending_shape *shape, const cop_pending_record *r, cop_row *x)
{
	const size_t d = size_of(shape, r)->d;
	view_row(shape, shape->d, context_at(shape, r), x);
	if (shape->sparse || d == shape->d)
		return;
	memcpy(shape->row, context_at(shape, r), d * sizeof *shape->row);
	for (size_t j = d; j < shape->d; j++)
		shape->row[j] = NAN;
	x->dense = shape->row;
}

void cop_pending_record_view(
        const cop_pending_shape *shape, const cop_pending_record *r, uint8_t *mask, cop_pending_entry *out)
{
	bool values = shape->arms == 0;
	*out = (cop_pending_entry){
		.time = r->time,
		.records = (r->flags & COP_PENDING_RECORDS) != 0,
		.deferred = (r->flags & COP_PENDING_DEFERRED) != 0,
		.unheard = (r->id_kind & COP_PENDING_UNHEARD) != 0,
		.observed = (r->flags & COP_PENDING_OBSERVED) != 0,
		.split = (r->id_kind & COP_PENDING_SPLIT) != 0,
		.kept = (r->id_kind & COP_PENDING_KEPT) != 0,
		.cluster = values ? COP_PENDING_ALONE : (uint8_t)r->u,
		.refitted = (r->flags & COP_PENDING_REFITTED) != 0,
		.decision = {
		        .arm = r->arm & ARM_MOST,
		        .limit = (uint8_t)(r->arm >> ARM_BITS),
		        .greedy = (r->flags & COP_PENDING_GREEDY) != 0,
		        .u = values ? r->u : 0,
		        .p = values ? 1.0 : r->action,
		        .y = values ? r->action : 0.0,
		        .rev = r->rev,
		},
	};
	cop_pending_losses_view(r, out);
	memcpy(out->decision.prediction, predictions_at(r), predictions_size(shape, r->flags));
	view_shadow(shape, r, &out->shadow);
	memcpy(&out->own_p, own_at(shape, r), own_size(r->flags));
	out->owner = cop_pending_record_owned(shape, r).owner;
	view_context(shape, r, &out->x);
	view_row(shape, shape->candidate_d, candidate_at(shape, r), &out->candidate);
	if (cop_pending_record_masked(shape, r)) {
		unpack_all(shape, r, mask);
		out->mask = mask;
	}
}

void cop_pending_record_id(const cop_pending_shape *shape, const cop_pending_record *r, cop_event_id *id)
{
	memset(id, 0, sizeof *id);
	id->kind = kind_of(r);
	id->length = r->id_length;
	memcpy(id->bytes, id_at(shape, r), r->id_length);
}

bool cop_pending_record_has_id(const cop_pending_shape *shape, const cop_pending_record *r, const cop_event_id *id)
{
	return kind_of(r) == id->kind && r->id_length == id->length &&
	       memcmp(id_at(shape, r), id->bytes, id->length) == 0;
}

/* Saved as it lies in memory, but for the chains and the id's kind: whole, in three bits, which leaves the length's
 * first bit for a kept one. */
void cop_pending_record_save(const cop_pending_shape *shape, const cop_pending_record *r, cop_bytes *bytes)
{
	bool kept = (r->id_kind & COP_PENDING_KEPT) != 0;
	bool masked = cop_pending_record_masked(shape, r);
	unsigned beside = (r->id_kind & ~(unsigned)(COP_PENDING_KEPT | COP_PENDING_KIND)) |
	                  (masked ? COP_PENDING_MASKED_HERE : 0u);
	cop_bytes_put_u8(bytes, (uint8_t)(beside | kind_of(r)));
	cop_bytes_put_u8(bytes, (uint8_t)(r->id_length | (kept ? SAVED_KEPT : 0)));
	cop_bytes_put(bytes, id_at(shape, r), r->id_length);
	cop_bytes_put_u8(bytes, r->flags);
	cop_bytes_put_u8(bytes, (uint8_t)r->u);
	cop_bytes_put_f64(bytes, r->time);
	cop_bytes_put_f64(bytes, r->action);
	cop_bytes_put_u64(bytes, r->rev);
	cop_bytes_put_u32(bytes, r->arm);
	cop_bytes_put(bytes, r + 1, cop_pending_losses_size(r));
	cop_bytes_put(bytes, predictions_at(r), (size_t)(owned_at(shape, r) - predictions_at(r)));
	if (r->id_kind & COP_PENDING_OWNED_HERE)
		cop_bytes_put_u32(bytes, cop_pending_record_owned(shape, r).owner);
	cop_bytes_put(bytes, context_at(shape, r), (size_t)(candidate_at(shape, r) - context_at(shape, r)));
	const float unknown = NAN;
	for (size_t j = size_of(shape, r)->d; !shape->sparse && j < shape->d; j++)
		cop_bytes_put(bytes, &unknown, sizeof unknown);
	cop_bytes_put(bytes, candidate_at(shape, r), (size_t)(id_at(shape, r) - candidate_at(shape, r)));
	if (masked)
		put_mask(shape, r, bytes);
}

/* *beside: what stands beside the kind. */
static cop_err load_id(cop_cursor *cursor, cop_event_id *id, unsigned *beside)
{
	uint8_t kind = cop_cursor_u8(cursor);
	*beside = kind & ~(unsigned)SAVED_KIND;
	kind &= SAVED_KIND;
	uint8_t length = cop_cursor_u8(cursor);
	*beside |= length & SAVED_KEPT ? COP_PENDING_KEPT : 0u;
	length &= (uint8_t)~SAVED_KEPT;
	const uint8_t *bytes = cop_cursor_take(cursor, length);
	if (bytes == NULL || kind < COP_EVENT_ID_STRING || kind > COP_EVENT_ID_NEGATIVE ||
	        !cop_event_id_from_bytes(id, (cop_event_id_kind)kind, bytes, length))
		return COP_EFORMAT;
	return COP_OK;
}

static cop_err load_shadow(
        const cop_pending_shape *shape, cop_cursor *cursor, unsigned flags, cop_pending_shadow *shadow)
{
	shadow->is = true;
	shadow->second = (flags & COP_PENDING_SECOND) != 0;
	shadow->p = cop_cursor_f64(cursor);
	shadow->rev = cop_cursor_u64(cursor);
	shadow->pair = cop_cursor_u32(cursor);
	cop_cursor_f32s(cursor, shadow->prediction, shape->predictions + 1);
	float told[5] = { 0 };
	shadow->compared = (flags & COP_PENDING_COMPARED) != 0;
	shadow->measured = (flags & COP_PENDING_MEASURED) != 0;
	cop_cursor_f32s(cursor, told, comparison_size(flags) / sizeof *told);
	if (cursor->err != COP_OK)
		return cursor->err;
	shadow->loss = told[0];
	shadow->expected[0] = told[1];
	shadow->expected[1] = told[2];
	shadow->weight_most = told[3];
	shadow->difference = told[4];
	bool shares = shadow->p >= 0.0 && shadow->p <= 1.0;
	for (size_t i = 0; i < 3; i++)
		shares = shares && told[i] >= 0.0f && told[i] <= 1.0f;
	shares = shares && told[4] >= 0.0f && told[4] <= 1.0f;
	return shares && told[3] >= 0.0f ? COP_OK : COP_EFORMAT;
}

/* What a learner relies on in the decisions that it gets back. */
static cop_err load_decision(
        const cop_pending_shape *shape, cop_cursor *cursor, unsigned beside, cop_pending_entry *entry)
{
	cop_decision *decision = &entry->decision;
	unsigned flags = cop_cursor_u8(cursor) | (beside & COP_PENDING_MEASURED_HERE ? COP_PENDING_MEASURED : 0u);
	const int8_t u = (int8_t)cop_cursor_u8(cursor);
	const int8_t least = entry->split ? 0 : -1, most = shape->arms == 0 ? 1 : INT8_MAX;
	decision->u = shape->arms == 0 ? u : 0;
	entry->cluster = shape->arms == 0 ? COP_PENDING_ALONE : (uint8_t)u;
	entry->time = cop_cursor_f64(cursor);
	double action = cop_cursor_f64(cursor);
	decision->rev = cop_cursor_u64(cursor);
	const uint32_t arm = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	decision->arm = arm & ARM_MOST;
	decision->limit = (uint8_t)(arm >> ARM_BITS & 3u);
	decision->greedy = (flags & COP_PENDING_GREEDY) != 0;
	entry->records = (flags & COP_PENDING_RECORDS) != 0;
	entry->deferred = (flags & COP_PENDING_DEFERRED) != 0;
	decision->p = shape->arms == 0 ? 1.0 : action;
	decision->y = shape->arms == 0 ? action : 0.0;
	if (((flags & (COP_PENDING_SECOND | COP_PENDING_COMPARED)) != 0 && (flags & COP_PENDING_SHADOW) == 0) ||
	        ((flags & COP_PENDING_MEASURED) != 0 && (flags & COP_PENDING_COMPARED) == 0) ||
	        !(decision->p > 0.0 && decision->p <= 1.0) || u < least || u > most ||
	        (shape->arms == 0 ? arm != 0 : decision->arm >= shape->arms || arm > UINT16_MAX))
		return COP_EFORMAT;
	cop_err err = entry->records ? cop_pending_losses_load(cursor, entry) : COP_OK;
	if (err != COP_OK)
		return err;
	cop_cursor_f32s(cursor, decision->prediction, predictions_size(shape, flags) / sizeof(float));
	entry->refitted = (flags & COP_PENDING_REFITTED) != 0;
	entry->observed = (flags & COP_PENDING_OBSERVED) != 0;
	return flags & COP_PENDING_SHADOW ? load_shadow(shape, cursor, flags, &entry->shadow) : cursor->err;
}

static cop_err load_own(const cop_pending_shape *shape, cop_cursor *cursor, cop_pending_entry *entry)
{
	if (!entry->observed)
		return COP_OK;
	entry->own_p = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	return shape->arms > 0 && entry->own_p >= 0.0 && entry->own_p <= 1.0 ? COP_OK : COP_EFORMAT;
}

static cop_err load_owner(cop_cursor *cursor, unsigned beside, cop_pending_entry *entry)
{
	if (!(beside & COP_PENDING_OWNED_HERE))
		return COP_OK;
	entry->owner = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	return entry->owner != 0 ? COP_OK : COP_EFORMAT;
}

/* A row is checked in place, to be copied into its record. */
static cop_err load_row(const cop_pending_shape *shape, size_t d, bool may_lack, cop_cursor *cursor, cop_row *x)
{
	if (d == 0)
		return COP_OK;
	uint32_t nnz = shape->sparse ? cop_cursor_u32(cursor) : 0;
	if (shape->sparse && nnz > shape->max_nonzeros)
		return COP_ESHAPE;
	size_t words = shape->sparse ? nnz : d;
	const uint8_t *index = cop_cursor_take(cursor, shape->sparse ? words * sizeof(uint32_t) : 0);
	const uint8_t *value = cop_cursor_take(cursor, words * sizeof(float));
	if (index == NULL || value == NULL)
		return cursor->err;
	uint32_t last = 0;
	for (size_t i = 0; i < words; i++) {
		float number;
		uint32_t at = 0;
		memcpy(&number, value + i * sizeof number, sizeof number);
		if (shape->sparse)
			memcpy(&at, index + i * sizeof at, sizeof at);
		const bool unknown = may_lack && i >= shape->known && isnan(number);
		if (!isfinite(number) && !unknown)
			return COP_ENONFINITE;
		if (at >= d || (i > 0 && shape->sparse && at <= last))
			return COP_EFORMAT;
		last = at;
	}
	*x = (cop_row){ .d = d, .nnz = nnz };
	if (shape->sparse) {
		x->index = (const uint32_t *)(const void *)index;
		x->value = (const float *)(const void *)value;
	} else {
		x->dense = (const float *)(const void *)value;
	}
	return COP_OK;
}

/* A context; of one with fewer values the others are unknown. */
static cop_err load_context(const cop_pending_shape *shape, cop_cursor *cursor, cop_row *x)
{
	const size_t saved = shape->saved_d != 0 ? shape->saved_d : shape->d;
	cop_err err = load_row(shape, saved, shape->known != 0, cursor, x);
	if (err != COP_OK || saved == shape->d)
		return err;
	memcpy(shape->row, x->dense, saved * sizeof *shape->row);
	for (size_t j = saved; j < shape->d; j++)
		shape->row[j] = NAN;
	*x = (cop_row){ .d = shape->d, .dense = shape->row };
	return COP_OK;
}

static size_t saved_arms(const cop_pending_shape *shape)
{
	return shape->saved_arms == 0 ? shape->arms : shape->saved_arms;
}

/* Arms that are new were not eligible. */
static void mask_new_arms(const cop_pending_shape *shape, uint8_t *mask, cop_pending_entry *entry)
{
	if (!shape->masks || saved_arms(shape) == shape->arms)
		return;
	memset(mask, 0, shape->arms);
	memset(mask, 1, saved_arms(shape));
	entry->mask = mask;
}

/* As fill writes it: some arm is eligible, some is not, and no bit is set beyond the last. */
static cop_err load_mask(const cop_pending_shape *shape, cop_cursor *cursor, uint8_t *mask, cop_pending_entry *entry)
{
	const size_t arms = saved_arms(shape);
	const uint8_t *bits = shape->masks ? cop_cursor_take(cursor, (arms + 7) / 8) : NULL;
	if (bits == NULL)
		return COP_EFORMAT;
	memset(mask, 0, shape->arms);
	unpack(bits, arms, mask);
	entry->mask = mask;
	bool beyond = arms % 8 != 0 && bits[arms / 8] >> arms % 8 != 0;
	bool mixed = memchr(mask, 1, arms) != NULL && memchr(mask, 0, arms) != NULL;
	return mixed && !beyond ? COP_OK : COP_EFORMAT;
}

cop_err cop_pending_record_load(
        const cop_pending_shape *shape, cop_cursor *cursor, uint8_t *mask, cop_event_id *id, cop_pending_entry *entry)
{
	unsigned beside = 0;
	*entry = (cop_pending_entry){ 0 };
	cop_err err = load_id(cursor, id, &beside);
	entry->unheard = (beside & COP_PENDING_UNHEARD) != 0;
	entry->split = (beside & COP_PENDING_SPLIT) != 0;
	entry->kept = (beside & COP_PENDING_KEPT) != 0;
	if (err == COP_OK)
		err = load_decision(shape, cursor, beside, entry);
	if (err == COP_OK)
		err = load_own(shape, cursor, entry);
	if (err == COP_OK)
		err = load_owner(cursor, beside, entry);
	if (err == COP_OK)
		err = load_context(shape, cursor, &entry->x);
	if (err == COP_OK)
		err = load_row(shape, shape->candidate_d, false, cursor, &entry->candidate);
	if (err == COP_OK && (beside & COP_PENDING_MASKED_HERE) != 0)
		return load_mask(shape, cursor, mask, entry);
	if (err == COP_OK)
		mask_new_arms(shape, mask, entry);
	return err;
}
