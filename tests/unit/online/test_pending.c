/* The table of waiting decisions against a plain array, with ids of every kind and length. */
#include "unit/learn/rows.h"

#include <math.h>
#include <stdio.h>

#include "online/pending.h"

#define SEED 37U
#define D    12
#define MAX  200
#define OPS  40000

#define ARMS 100

typedef struct waiting {
	cop_event_id id;
	test_row x, a;
	uint8_t mask[ARMS];
	bool masked;             /* comes back with its mask */
	cop_pending_entry entry; /* as it must come back, but for handle, rows and mask */
	cop_loss_values named;   /* of one that records */
} waiting;

/* Arms and values, dense and sparse, every number of predictions. */
static const cop_pending_shape shapes[] = {
	{ .d = D, .arms = ARMS, .predictions = 4, .masks = true },
	{ .d = D, .arms = ARMS, .predictions = 1, .sparse = true, .max_nonzeros = D },
	{ .d = D, .arms = 0, .predictions = 0 },
	{ .d = D, .arms = 0, .predictions = 3, .sparse = true, .max_nonzeros = D },
	{ .d = D, .arms = ARMS, .predictions = 2 },
	{ .d = D, .arms = ARMS, .predictions = 0, .sparse = true, .max_nonzeros = D, .masks = true },
	{ .d = D, .arms = ARMS, .predictions = 2, .candidate_d = 5 },
	{ .d = D, .arms = ARMS, .predictions = 2, .candidate_d = D, .sparse = true, .max_nonzeros = D },
};

#define SHAPES (sizeof shapes / sizeof *shapes)

/* Oldest first. */
typedef struct reference {
	waiting items[MAX];
	size_t count;
} reference;

/* One of 4 kinds, 64 lengths, a handful of each: so that ids come again. */
static void any_id(cop_event_id *id, cop_rng *rng)
{
	char text[COP_EVENT_ID_MAX];
	size_t length = 1 + (size_t)cop_rng_below(rng, COP_EVENT_ID_MAX);
	uint64_t k = cop_rng_below(rng, 5);
	memset(text, (int)('a' + k), sizeof text);
	switch (cop_rng_below(rng, 4)) {
	case 0:
		assert_true(cop_event_id_from_bytes(id, COP_EVENT_ID_STRING, text, length));
		break;
	case 1:
		assert_true(cop_event_id_from_bytes(id, COP_EVENT_ID_BINARY, text, length));
		break;
	case 2:
		cop_event_id_from_unsigned(id, k << (length - 1));
		break;
	default:
		cop_event_id_from_signed(id, -(int64_t)(1 + k * length));
		break;
	}
}

/* Only what such a table keeps. */
static void any_decision(cop_decision *decision, const cop_pending_shape *shape, cop_rng *rng)
{
	*decision = (cop_decision){ .p = 1.0, .rev = cop_rng_u64(rng) };
	const int8_t sign = (int8_t)cop_rng_sign(rng);
	decision->u = shape->arms == 0 ? sign : 0;
	decision->greedy = cop_rng_below(rng, 2) != 0;
	if (shape->arms == 0) {
		decision->y = cop_rng_unit(rng);
	} else {
		decision->arm = (uint32_t)cop_rng_below(rng, shape->arms);
		decision->p = 1.0 - cop_rng_unit(rng);
		decision->limit = (uint8_t)cop_rng_below(rng, COP_SHARES_LIMITS);
	}
	for (size_t i = 0; i < shape->predictions; i++)
		decision->prediction[i] = (float)cop_rng_normal(rng);
}

static void check_decision(const cop_decision *a, const cop_decision *b)
{
	assert_int_equal(a->arm, b->arm);
	assert_int_equal(a->greedy, b->greedy);
	assert_int_equal(a->limit, b->limit);
	assert_int_equal(a->u, b->u);
	assert_true(a->p == b->p && a->y == b->y);
	assert_true(a->probe[0] == b->probe[0] && a->probe[1] == b->probe[1]);
	assert_true(a->rev == b->rev);
	assert_memory_equal(a->prediction, b->prediction, sizeof a->prediction);
}

static void check_row(const cop_row *row, const test_row *want, size_t d, bool sparse)
{
	assert_int_equal(row->d, d);
	if (d == 0)
		return;
	if (!sparse) {
		assert_non_null(row->dense);
		assert_memory_equal(row->dense, want->dense, d * sizeof(float));
		return;
	}
	assert_null(row->dense);
	assert_int_equal(row->nnz, want->nnz);
	if (want->nnz > 0) {
		assert_memory_equal(row->index, want->index, want->nnz * sizeof(uint32_t));
		assert_memory_equal(row->value, want->value, want->nnz * sizeof(float));
	}
}

static void check_entry(const cop_pending_entry *e, const waiting *w, const cop_pending_shape *shape)
{
	assert_true(e->time == w->entry.time);
	assert_int_equal(e->records, w->entry.records);
	assert_int_equal(e->deferred, w->entry.deferred);
	assert_int_equal(e->unheard, w->entry.unheard);
	assert_int_equal(e->losses, w->entry.losses);
	assert_true(e->loss[0] == w->entry.loss[0] && e->loss[1] == w->entry.loss[1]);
	assert_int_equal(e->observed, w->entry.observed);
	assert_true(e->split == w->entry.split && e->kept == w->entry.kept && e->cluster == w->entry.cluster);
	assert_int_equal(e->owner, w->entry.owner);
	assert_true(e->own_p == w->entry.own_p);
	check_decision(&e->decision, &w->entry.decision);
	check_row(&e->x, &w->x, shape->d, shape->sparse);
	check_row(&e->candidate, &w->a, shape->candidate_d, shape->sparse);
	assert_int_equal(e->names, w->entry.records ? w->entry.names : 0);
	assert_int_equal(e->told, w->named.told);
	assert_true((e->mask != NULL) == w->masked);
	if (w->masked)
		assert_memory_equal(e->mask, w->mask, ARMS);
}

static long find(const reference *ref, const cop_event_id *id)
{
	for (size_t i = 0; i < ref->count; i++)
		if (cop_event_id_equal(&ref->items[i].id, id))
			return (long)i;
	return -1;
}

static size_t observed_of(const reference *ref)
{
	size_t count = 0;
	for (size_t i = 0; i < ref->count; i++)
		count += ref->items[i].entry.observed && !ref->items[i].entry.split;
	return count;
}

static size_t unheard_of(const reference *ref)
{
	size_t count = 0;
	for (size_t i = 0; i < ref->count; i++)
		count += ref->items[i].entry.unheard;
	return count;
}

static size_t masked_of(const reference *ref)
{
	size_t count = 0;
	for (size_t i = 0; i < ref->count; i++)
		count += ref->items[i].masked;
	return count;
}

/* Number 0 is nobody; two of the others belong into the same place. */
static const uint32_t owners[] = { 0, 5, 21, 0x80000005, 3000000007 };
#define OWNERS (sizeof owners / sizeof *owners)

static size_t count_of(const reference *ref, uint32_t owner)
{
	size_t count = 0;
	for (size_t i = 0; i < ref->count; i++)
		count += ref->items[i].entry.owner == owner;
	return count;
}

static const waiting *oldest_of(const reference *ref, uint32_t owner)
{
	size_t i = 0;
	while (i < ref->count && ref->items[i].entry.owner != owner)
		i++;
	return i == ref->count ? NULL : &ref->items[i];
}

/* Each owner's count and oldest, and what gives way to a decision of his: his own oldest, unless somebody has more. */
static void check_owners(cop_pending *table, const reference *ref, const cop_pending_shape *shape)
{
	cop_pending_entry e;
	size_t most = 0;
	for (size_t i = 0; i < OWNERS; i++)
		most = count_of(ref, owners[i]) > most ? count_of(ref, owners[i]) : most;
	for (size_t i = 0; i < OWNERS; i++) {
		const waiting *oldest = oldest_of(ref, owners[i]);
		assert_int_equal(cop_pending_owned_count(table, owners[i]), count_of(ref, owners[i]));
		assert_int_equal(cop_pending_owned_oldest(table, owners[i], &e), oldest != NULL);
		if (oldest != NULL)
			check_entry(&e, oldest, shape);
		assert_int_equal(cop_pending_gives_way(table, owners[i], false, &e), ref->count > 0);
		if (ref->count == 0)
			continue;
		assert_int_equal(count_of(ref, e.owner), most);
		assert_true(e.owner == owners[i] || count_of(ref, owners[i]) < most);
		check_entry(&e, oldest_of(ref, e.owner), shape);
	}
}

static cop_pending *table_of(const cop_pending_shape *shape, size_t max)
{
	cop_pending *table;
	assert_int_equal(cop_pending_new(shape, max, 0x1234567, &table), COP_OK);
	return table;
}

/* Often all of the arms are eligible, or only one. */
static void any_mask(waiting *w, cop_rng *rng)
{
	uint64_t kind = cop_rng_below(rng, 4);
	for (size_t k = 0; k < ARMS; k++)
		w->mask[k] = kind == 0 || (kind == 1 ? k == ARMS - 1 : cop_rng_below(rng, 2) != 0);
	w->masked = kind != 0;
}

static void any_entry(waiting *w, const cop_pending_shape *shape, cop_rng *rng, double now)
{
	*w = (waiting){ .entry.time = now };
	any_id(&w->id, rng);
	any_decision(&w->entry.decision, shape, rng);
	w->entry.records = cop_rng_below(rng, 2) != 0;
	w->entry.names = (uint16_t)(cop_rng_below(rng, 2) == 0 ? 0 : cop_rng_below(rng, 6));
	w->entry.deferred = cop_rng_below(rng, 2) != 0;
	w->entry.unheard = cop_rng_below(rng, 2) != 0;
	w->entry.observed = shape->arms > 0 && cop_rng_below(rng, 2) != 0;
	w->entry.own_p = w->entry.observed ? cop_rng_unit(rng) : 0.0;
	w->entry.split = shape->arms > 0 && cop_rng_below(rng, 3) == 0;
	w->entry.cluster = COP_PENDING_ALONE; /* no decision with a control group is of values */
	if (w->entry.split || (shape->arms > 0 && cop_rng_below(rng, 2) == 0))
		w->entry.cluster = (uint8_t)cop_rng_below(rng, 128);
	w->entry.kept = w->entry.split && w->entry.observed && cop_rng_below(rng, 2) != 0;
	w->entry.owner = owners[cop_rng_below(rng, OWNERS)];
	row_random(&w->x, rng, D, 0.4, 0);
	row_random(&w->a, rng, shape->candidate_d, 0.4, 0);
	if (shape->masks)
		any_mask(w, rng);
}

/* The entry's rows and mask become views of where it lies now; a table that keeps no masks is given one, too. */
static void view_rows(waiting *w, const cop_pending_shape *shape)
{
	w->entry.x = shape->sparse ? row_sparse(&w->x) : row_dense(&w->x);
	if (shape->candidate_d != 0)
		w->entry.candidate = shape->sparse ? row_sparse(&w->a) : row_dense(&w->a);
	w->entry.mask = w->mask;
}

static void add(cop_pending *table, reference *ref, cop_rng *rng, double now, const cop_pending_shape *shape)
{
	waiting w;
	any_entry(&w, shape, rng, now);
	view_rows(&w, shape);
	cop_pending_entry entry = w.entry, found;
	uint32_t handle = 0;
	cop_err err = cop_pending_add(table, &w.id, &entry, &handle);
	if (find(ref, &w.id) >= 0)
		assert_int_equal(err, COP_EEXIST);
	else if (ref->count == cop_pending_max(table))
		assert_int_equal(err, COP_EFULL);
	else {
		assert_int_equal(err, COP_OK);
		assert_int_not_equal(handle, 0);
		assert_true(cop_pending_find(table, &w.id, &found));
		assert_int_equal(found.handle, handle);
		ref->items[ref->count++] = w;
	}
}

static void drop(reference *ref, size_t at)
{
	memmove(&ref->items[at], &ref->items[at + 1], (ref->count - at - 1) * sizeof *ref->items);
	ref->count--;
}

static void take_out(cop_pending *table, reference *ref, const cop_pending_entry *e, size_t at, double now)
{
	cop_recent_ids_why as = e->decision.rev % 2 ? COP_RECENT_IDS_ANSWERED : COP_RECENT_IDS_EXPIRED;
	cop_event_id id = ref->items[at].id;
	cop_pending_remove(table, e, as, now);
	cop_pending_entry gone;
	assert_false(cop_pending_find(table, &id, &gone));
	assert_int_equal(cop_pending_recall(table, &id), as);
	drop(ref, at);
}

/* More than there are names: those beyond are not kept. */
static void record_named(cop_pending *table, waiting *w, const cop_pending_entry *e, uint32_t told)
{
	cop_loss_values values = { told & 0xff, { 0.0 } };
	uint32_t kept = w->entry.records ? (1u << w->entry.names) - 1u : 0u;
	for (size_t i = 0; i < COP_NAMED_LOSSES_MOST; i++)
		values.value[i] = (double)(told * (i + 1));
	cop_pending_record_named(table, e, &values);
	w->named = (cop_loss_values){ values.told & kept, { 0.0 } };
	for (size_t i = 0; i < w->entry.names; i++)
		w->named.value[i] = (w->named.told >> i & 1u) != 0 ? values.value[i] : 0.0;
}

static void check_named(const cop_pending *table, const cop_pending_entry *e, const waiting *w)
{
	cop_loss_values is;
	cop_pending_get_named(table, e, &is);
	assert_int_equal(is.told, w->named.told);
	assert_memory_equal(is.value, w->named.value, sizeof is.value);
}

/* An entry that does not record has no room for losses and stays without. */
static void record(cop_pending *table, waiting *w, cop_pending_entry *e, double loss)
{
	e->losses++;
	e->loss[0] += 0.25;
	e->loss[1] = loss;
	if (w->entry.records) {
		w->entry.losses = e->losses;
		memcpy(w->entry.loss, e->loss, sizeof e->loss);
	}
	cop_pending_record_loss(table, e);
	record_named(table, w, e, (uint32_t)loss);
}

static void activate(cop_pending *table, reference *ref, const cop_pending_entry *e, size_t at, double now)
{
	waiting w = ref->items[at];
	w.entry.deferred = w.entry.unheard = false;
	w.entry.time = now;
	drop(ref, at);
	ref->items[ref->count++] = w;
	cop_pending_activate(table, e, now);
}

static void one_operation(
        cop_pending *table, reference *ref, cop_rng *rng, double now, uint64_t n, const cop_pending_shape *shape)
{
	cop_event_id id;
	cop_pending_entry e;
	any_id(&id, rng);
	long at = find(ref, &id);
	unsigned what = (unsigned)cop_rng_below(rng, 8);
	if (what <= 1) {
		add(table, ref, rng, now, shape);
	} else if (what == 7) {
		if (at < 0 || !cop_pending_find(table, &id, &e))
			return;
		cop_pending_mark_unheard(table, &e);
		ref->items[at].entry.unheard = true;
	} else if (what <= 5) {
		assert_int_equal(cop_pending_find(table, &id, &e), at >= 0);
		if (at < 0)
			return;
		check_entry(&e, &ref->items[at], shape);
		check_named(table, &e, &ref->items[at]);
		if (what <= 3)
			take_out(table, ref, &e, (size_t)at, now);
		else if (what == 4)
			record(table, &ref->items[at], &e, (double)n);
		else
			activate(table, ref, &e, (size_t)at, now);
	} else {
		assert_int_equal(cop_pending_oldest(table, &e), ref->count > 0);
		if (ref->count == 0)
			return;
		check_entry(&e, &ref->items[0], shape);
		if (n % 8 == 0)
			take_out(table, ref, &e, 0, now);
	}
	assert_int_equal(cop_pending_count(table), ref->count);
	if (n % 64 != 0)
		return;
	check_owners(table, ref, shape);
	assert_int_equal(cop_pending_observed(table), observed_of(ref));
	assert_int_equal(cop_pending_unheard(table), unheard_of(ref));
	assert_int_equal(cop_pending_masked(table), masked_of(ref));
}

static void random_operations(
        cop_pending *table, reference *ref, const cop_pending_shape *shape, size_t ops, uint64_t stream)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	for (size_t n = 0; n < ops; n++)
		one_operation(table, ref, &rng, (double)(stream * OPS + n), n, shape);
}

static void test_random_operations_equal_plain_array(void **state)
{
	(void)state;
	static reference ref;
	printf("seed %u\n", SEED);
	for (size_t k = 0; k < SHAPES; k++) {
		cop_pending *table = table_of(&shapes[k], MAX);
		size_t empty = cop_pending_bytes(table);
		ref.count = 0;
		random_operations(table, &ref, &shapes[k], OPS, 1);
		cop_pending_entry e;
		while (ref.count > 0) { /* the rest in order of time */
			assert_true(cop_pending_oldest(table, &e));
			check_entry(&e, &ref.items[0], &shapes[k]);
			take_out(table, &ref, &e, 0, 1e9);
		}
		assert_false(cop_pending_oldest(table, &e));
		assert_int_equal(cop_pending_bytes(table), empty);
		cop_pending_free(table);
	}
}

static cop_err add_plain(cop_pending *table, const cop_event_id *id, uint64_t rev, double time)
{
	const float x[D] = { 0 };
	uint32_t handle;
	const cop_pending_entry entry = {
		.time = time,
		.records = true,
		.decision = { .arm = 1, .p = 0.5, .rev = rev },
		.x = { .d = D, .dense = x },
	};
	return cop_pending_add(table, id, &entry, &handle);
}

static void test_ids_of_equal_look_and_other_kind_are_distinct(void **state)
{
	(void)state;
	cop_pending *table = table_of(&shapes[0], 100);
	cop_event_id ids[8];
	const uint8_t bytes[8] = { 17 };
	assert_true(cop_event_id_from_bytes(&ids[0], COP_EVENT_ID_STRING, "17", 2));
	assert_true(cop_event_id_from_bytes(&ids[1], COP_EVENT_ID_BINARY, "17", 2));
	cop_event_id_from_unsigned(&ids[2], 17);
	cop_event_id_from_signed(&ids[3], -17);
	assert_true(cop_event_id_from_bytes(&ids[4], COP_EVENT_ID_BINARY, bytes, 8));
	assert_true(cop_event_id_from_bytes(&ids[5], COP_EVENT_ID_STRING, bytes, 8));
	assert_true(cop_event_id_from_bytes(&ids[6], COP_EVENT_ID_STRING, "17\0", 3));
	cop_event_id_from_unsigned(&ids[7], (uint64_t)(int64_t)-17);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(add_plain(table, &ids[i], i, (double)i), COP_OK);
	for (uint64_t i = 0; i < 8; i++) {
		cop_pending_entry e;
		assert_true(cop_pending_find(table, &ids[i], &e));
		assert_int_equal(e.decision.rev, i);
		cop_pending_remove(table, &e, i % 2 ? COP_RECENT_IDS_EXPIRED : COP_RECENT_IDS_ANSWERED, (double)i);
	}
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(
		        cop_pending_recall(table, &ids[i]), i % 2 ? COP_RECENT_IDS_EXPIRED : COP_RECENT_IDS_ANSWERED);
	cop_event_id same;
	cop_event_id_from_signed(&same, 17); /* one integer, however it was made */
	assert_int_equal(cop_pending_recall(table, &same), COP_RECENT_IDS_ANSWERED);
	cop_pending_free(table);
}

static void test_remembered_ids_are_forgotten_by_time_and_bound(void **state)
{
	(void)state;
	cop_pending *table = table_of(&shapes[0], 50);
	cop_event_id id;
	for (uint64_t i = 0; i < 80; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(cop_pending_recall(table, &id), COP_RECENT_IDS_NOT);
		cop_pending_remember(table, &id, COP_RECENT_IDS_EXPIRED, (double)i);
	}
	for (uint64_t i = 0; i < 80; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(cop_pending_recall(table, &id), i < 30 ? COP_RECENT_IDS_NOT : COP_RECENT_IDS_EXPIRED);
	}
	cop_pending_forget(table, 60.0);
	cop_event_id_from_unsigned(&id, 59);
	assert_int_equal(cop_pending_recall(table, &id), COP_RECENT_IDS_NOT);
	cop_event_id_from_unsigned(&id, 60);
	assert_int_equal(cop_pending_recall(table, &id), COP_RECENT_IDS_EXPIRED);
	cop_pending_free(table);
}

static void test_lower_bound_keeps_what_waits(void **state)
{
	(void)state;
	cop_pending *table = table_of(&shapes[0], 10);
	cop_event_id id;
	for (uint64_t i = 0; i < 10; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(add_plain(table, &id, i, 0.0), COP_OK);
	}
	cop_pending_set_max(table, 4);
	assert_int_equal(cop_pending_max(table), 4);
	assert_int_equal(cop_pending_count(table), 10);
	cop_event_id_from_unsigned(&id, 99);
	assert_int_equal(add_plain(table, &id, 99, 1.0), COP_EFULL);
	cop_pending_set_max(table, 11);
	assert_int_equal(add_plain(table, &id, 99, 1.0), COP_OK);
	cop_pending_free(table);
}

static void save(const cop_pending *table, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_pending_save(table, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	static reference ref, copy;
	cop_bytes first, second;
	cop_cursor cursor;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	for (size_t k = 0; k < SHAPES; k++) {
		cop_pending *a = table_of(&shapes[k], MAX), *b = table_of(&shapes[k], MAX);
		ref.count = 0;
		random_operations(a, &ref, &shapes[k], 5000, 1);
		copy = ref;
		save(a, &first);
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_pending_load(b, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		assert_int_equal(cop_pending_bytes(a), cop_pending_bytes(b));
		random_operations(a, &ref, &shapes[k], 5000, 2);
		random_operations(b, &copy, &shapes[k], 5000, 2);
		save(a, &first);
		save(b, &second);
		assert_bytes_equal(&first, &second);
		cop_pending_free(a);
		cop_pending_free(b);
	}
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void test_load_damaged_bytes_is_error_or_valid(void **state)
{
	(void)state;
	static reference ref;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	for (size_t k = 0; k < SHAPES; k++) {
		cop_pending *a = table_of(&shapes[k], 6), *b;
		ref.count = 0;
		random_operations(a, &ref, &shapes[k], 60, 3);
		assert_true(ref.count > 2);
		save(a, &bytes);
		for (size_t length = 0; length < bytes.length; length += COP_TEST_STRIDE) {
			b = table_of(&shapes[k], 6);
			cop_cursor_init(&cursor, bytes.data, length);
			assert_int_not_equal(cop_pending_load(b, &cursor), COP_OK);
			cop_pending_free(b);
		}
		static const uint8_t flips[] = { 0x01, 0x80, 0xff, 0x10 };
		for (size_t at = 0; at < bytes.length * 4; at += COP_TEST_STRIDE) {
			bytes.data[at / 4] ^= flips[at % 4];
			b = table_of(&shapes[k], 6);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			if (cop_pending_load(b, &cursor) == COP_OK) {
				cop_pending_entry e;
				assert_true(cop_pending_count(b) <= 6);
				while (cop_pending_oldest(b, &e))
					cop_pending_remove(b, &e, COP_RECENT_IDS_EXPIRED, 1e9);
			}
			cop_pending_free(b);
			bytes.data[at / 4] ^= flips[at % 4];
		}
		b = table_of(&shapes[(k + 1) % SHAPES], 6);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_pending_load(b, &cursor), COP_ESHAPE);
		cop_pending_free(b);
		cop_pending_free(a);
	}
	cop_bytes_fini(&bytes);
}

static void test_failed_allocations_leave_table_as_it_was(void **state)
{
	(void)state;
	cop_pending *table = NULL;
	for (unsigned long n = 1; table == NULL; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_pending_new(&shapes[0], 5000, 1, &table);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && table == NULL));
	}
	cop_event_id id;
	size_t refused = 0;
	for (uint64_t i = 0; i < 5000; i++) {
		cop_event_id_from_unsigned(&id, i);
		for (unsigned long n = 1;; n++) {
			cop_pending_entry e;
			cop_test_alloc_fail(n, 0);
			cop_err err = add_plain(table, &id, i, 0.0);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			refused++;
			assert_int_equal(err, COP_ENOMEM);
			assert_int_equal(cop_pending_count(table), i);
			assert_false(cop_pending_find(table, &id, &e));
		}
	}
	assert_true(refused > 0);
	for (uint64_t i = 0; i < 5000; i++) {
		cop_pending_entry e;
		cop_event_id_from_unsigned(&id, i);
		assert_true(cop_pending_find(table, &id, &e));
		assert_int_equal(e.decision.rev, i);
	}
	cop_pending_free(table);
	cop_pending_free(NULL);
}

static void test_steady_load_allocates_nothing(void **state)
{
	(void)state;
	static reference ref;
	cop_pending *table = table_of(&shapes[1], MAX);
	ref.count = 0;
	random_operations(table, &ref, &shapes[1], 20000, 4);
	cop_test_alloc_fail(0, 0);
	random_operations(table, &ref, &shapes[1], 20000, 5);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_pending_free(table);
}

/* Records without losses, as under the default rule. */
static void test_overhead_is_at_most_64_bytes(void **state)
{
	(void)state;
	static const float x[54] = { 1.0f };
	static const size_t counts[] = { 10000, 100000 };
	for (size_t arms = 0; arms <= 7; arms += 7) {
		const cop_pending_shape shape = { .d = 54, .arms = arms, .predictions = 2 };
		cop_pending *table = table_of(&shape, 100000);
		size_t count = 0;
		for (size_t i = 0; i < 2; i++) {
			for (; count < counts[i]; count++) {
				const cop_pending_entry entry = { .decision.p = 1.0, .x = { .d = 54, .dense = x } };
				uint32_t handle;
				cop_event_id id;
				cop_event_id_from_unsigned(&id, count);
				assert_int_equal(cop_pending_add(table, &id, &entry, &handle), COP_OK);
			}
			size_t bytes = cop_pending_bytes(table), own = count * (sizeof x + 8);
			printf("%zu: %.1f bytes beside context and id\n", count, (double)(bytes - own) / (double)count);
			assert_true(bytes > own && bytes - own <= 64 * count);
		}
		cop_pending_free(table);
	}
}

/* Over many doublings of the index, with gaps closed between them, every id is found, and no other. */
static uint32_t add_owned(cop_pending *table, uint64_t number, uint32_t owner, size_t nnz)
{
	static const float x[D] = { 1.0f };
	static const uint32_t index[D] = { 0, 1, 2, 3 };
	uint32_t handle;
	cop_event_id id;
	const cop_pending_entry entry = {
		.owner = owner,
		.decision = { .p = 1.0, .rev = number },
		.x = { .d = D, .nnz = nnz, .index = index, .value = x },
	};
	cop_event_id_from_unsigned(&id, number);
	assert_int_equal(cop_pending_add(table, &id, &entry, &handle), COP_OK);
	return handle;
}

/* Few large ones take more room than many small ones. */
static void test_by_bytes_the_owner_of_most_bytes_gives_way(void **state)
{
	(void)state;
	const cop_pending_shape shape = { .d = D, .arms = 2, .sparse = true, .max_nonzeros = D };
	cop_pending *table = table_of(&shape, 100);
	cop_pending_entry e;
	for (uint64_t i = 0; i < 4; i++)
		(void)add_owned(table, i, 7, D);
	for (uint64_t i = 10; i < 15; i++)
		(void)add_owned(table, i, 9, 0);
	assert_true(cop_pending_gives_way(table, 11, false, &e) && e.decision.rev == 10);
	assert_true(cop_pending_gives_way(table, 11, true, &e) && e.decision.rev == 0);
	assert_true(cop_pending_gives_way(table, 9, true, &e) && e.decision.rev == 0);
	assert_true(cop_pending_gives_way(table, 7, false, &e) && e.decision.rev == 10);
	assert_true(cop_pending_gives_way(table, 0, false, &e) && e.decision.rev == 10);
	for (uint64_t i = 20; i < 26; i++)
		(void)add_owned(table, i, 0, 0);
	assert_true(cop_pending_gives_way(table, 9, false, &e) && e.decision.rev == 20);
	assert_true(cop_pending_gives_way(table, 9, true, &e) && e.decision.rev == 0);
	cop_pending_free(table);
}

static void test_growing_keeps_every_decision(void **state)
{
	(void)state;
	enum { MANY = 150000 };
	const cop_pending_shape shape = { .d = D, .arms = 2 };
	cop_pending *table = table_of(&shape, MANY);
	cop_pending_entry entry;
	cop_event_id id;
	for (uint64_t i = 0; i < MANY; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(add_plain(table, &id, i, (double)i), COP_OK);
		if (i % 3 == 2) { /* one of the last three goes */
			cop_event_id_from_unsigned(&id, i - 1);
			assert_true(cop_pending_find(table, &id, &entry));
			cop_pending_remove(table, &entry, COP_RECENT_IDS_ANSWERED, (double)i);
		}
	}
	assert_int_equal(cop_pending_count(table), MANY - MANY / 3);
	for (uint64_t i = 0; i < MANY + 1000; i++) {
		cop_event_id_from_unsigned(&id, i);
		bool waits = i < MANY && i % 3 != 1;
		assert_true(cop_pending_find(table, &id, &entry) == waits);
		assert_true(!waits || entry.decision.rev == i);
	}
	for (uint64_t i = 0; cop_pending_oldest(table, &entry); i += i % 3 == 0 ? 2 : 1) {
		assert_true(entry.decision.rev == i);
		cop_pending_remove(table, &entry, COP_RECENT_IDS_EXPIRED, (double)MANY);
	}
	assert_int_equal(cop_pending_count(table), 0);
	cop_pending_free(table);
}

static void test_add_after_reserve_allocates_nothing(void **state)
{
	(void)state;
	for (size_t k = 0; k < SHAPES; k++) {
		cop_pending *table = table_of(&shapes[k], 9000);
		cop_rng rng;
		cop_rng_init(&rng, SEED, 20 + k);
		size_t refused = 0, count = 0;
		for (uint64_t i = 0; i < 9000; i++) {
			waiting w;
			any_entry(&w, &shapes[k], &rng, 0.0);
			if (i % 2 == 0) /* else one of a few, which often waits already */
				cop_event_id_from_unsigned(&w.id, i + (1U << 30));
			view_rows(&w, &shapes[k]);
			size_t bytes = cop_pending_bytes(table);
			cop_err err = COP_ENOMEM;
			const cop_pending_need need = { &w.id, &w.entry.x, &w.entry.candidate, 1, w.entry.observed,
				w.entry.mask, w.entry.owner, w.entry.names };
			for (unsigned long n = 1; err != COP_OK; n++) {
				cop_test_alloc_fail(n, 0);
				err = cop_pending_reserve(table, &need);
				assert_int_equal(err != COP_OK, cop_test_alloc_failed());
				assert_true(err == COP_OK || err == COP_ENOMEM);
				refused += err != COP_OK;
				assert_int_equal(cop_pending_count(table), count);
				assert_int_equal(cop_pending_bytes(table), bytes);
			}
			uint32_t handle;
			cop_test_alloc_fail(1, 1);
			err = cop_pending_add(table, &w.id, &w.entry, &handle);
			assert_int_equal(cop_test_alloc_count(), 0);
			cop_test_alloc_fail(0, 0);
			assert_true(err == COP_OK || err == COP_EEXIST);
			count += err == COP_OK;
		}
		assert_true(refused > 6); /* index and chunks both grew */
		cop_pending_free(table);
	}
}

static void test_activated_entry_is_the_youngest(void **state)
{
	(void)state;
	cop_pending *table = table_of(&shapes[0], 10);
	for (uint64_t only = 0; only < 5; only++) {
		static const float x[D] = { 1.0f };
		cop_pending_entry e = { .time = (double)only, .x = { .d = D, .dense = x } };
		cop_event_id id;
		e.deferred = only < 3;
		e.decision = (cop_decision){ .p = 1.0, .rev = only };
		cop_event_id_from_unsigned(&id, only);
		assert_int_equal(cop_pending_add(table, &id, &e, &e.handle), COP_OK);
	}
	static const uint64_t activated[] = { 1, 0, 0, 4 }, want[] = { 2, 3, 1, 0, 4 };
	for (size_t i = 0; i < 4; i++) {
		cop_pending_entry e;
		cop_event_id id;
		cop_event_id_from_unsigned(&id, activated[i]);
		assert_true(cop_pending_find(table, &id, &e));
		cop_pending_activate(table, &e, 10.0 + (double)i);
		assert_true(cop_pending_find(table, &id, &e));
		assert_false(e.deferred);
		assert_true(e.time == 10.0 + (double)i);
	}
	for (size_t i = 0; i < 5; i++) {
		cop_pending_entry e;
		assert_true(cop_pending_oldest(table, &e));
		assert_int_equal(e.decision.rev, want[i]);
		assert_int_equal(e.deferred, i == 0);
		cop_pending_remove(table, &e, COP_RECENT_IDS_EXPIRED, 20.0);
	}
	cop_pending_free(table);
}

/* Offsets of one saved entry with an integer id in a table without predictions. */
enum {
	HEAD = 25,
	KIND = HEAD,
	LENGTH,
	ID,
	FLAGS = ID + 8,
	U,
	TIME,
	ACTION = TIME + 8,
	REV = ACTION + 8,
	ARM = REV + 8,
	CONTEXT = ARM + 4
};

static void test_load_forged_entry_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t arms, at, length;
		uint8_t bytes[8];
		cop_err want;
	} forged[] = {
		{ ARMS, KIND, 1, { 3 }, COP_OK },
		{ ARMS, KIND, 1, { 0 }, COP_EFORMAT },
		{ ARMS, KIND, 1, { 5 }, COP_EFORMAT },
		{ ARMS, KIND, 1, { 0x83 }, COP_OK }, /* unheard */
		{ ARMS, KIND, 1, { 0x80 }, COP_EFORMAT },
		{ ARMS, KIND, 1, { 0x43 }, COP_EFORMAT },
		{ ARMS, LENGTH, 1, { 7 }, COP_EFORMAT },
		{ ARMS, LENGTH, 1, { 65 }, COP_EFORMAT },
		{ ARMS, FLAGS, 1, { 8 }, COP_EFORMAT },
		{ ARMS, FLAGS, 1, { 5 }, COP_OK },
		{ ARMS, FLAGS, 1, { 2 }, COP_EFORMAT }, /* losses that are not there */
		{ ARMS, U, 1, { 127 }, COP_OK },        /* a cluster */
		{ ARMS, U, 1, { 0xfe }, COP_EFORMAT },
		{ ARMS, U, 1, { 0xff }, COP_OK },
		{ 0, U, 1, { 2 }, COP_EFORMAT },
		{ 0, U, 1, { 0xff }, COP_OK },
		{ ARMS, TIME, 8, { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f }, COP_ENONFINITE },
		{ ARMS, TIME, 8, { 0, 0, 0, 0, 0, 0, 0xf0, 0xff }, COP_ENONFINITE },
		{ ARMS, ACTION, 8, { 0 }, COP_EFORMAT },
		{ ARMS, ACTION, 8, { 0, 0, 0, 0, 0, 0, 0xe0, 0xbf }, COP_EFORMAT },
		{ ARMS, ACTION, 8, { 1, 0, 0, 0, 0, 0, 0xf0, 0x3f }, COP_EFORMAT },
		{ 0, ACTION, 8, { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f }, COP_ENONFINITE },
		{ 0, ACTION, 8, { 0 }, COP_OK },
		{ ARMS, ARM, 4, { ARMS }, COP_EFORMAT },
		{ ARMS, ARM, 4, { ARMS - 1 }, COP_OK },
		{ 0, ARM, 4, { 1 }, COP_EFORMAT },
		{ ARMS, CONTEXT + 4, 4, { 0, 0, 0xc0, 0x7f }, COP_ENONFINITE },
		{ ARMS, HEAD - 8, 1, { 0 }, COP_EFORMAT }, /* fewer entries than follow: their bytes are no memory */
		{ ARMS, HEAD - 8, 1, { 2 }, COP_EFORMAT },
	};
	static const float x[D] = { 1.0f };
	for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
		const cop_pending_shape shape = { .d = D, .arms = forged[i].arms };
		cop_pending *a = table_of(&shape, 4), *b = table_of(&shape, 4);
		cop_pending_entry e = { .time = 1.0, .decision = { .p = 1.0, .y = 1.0 }, .x = { .d = D, .dense = x } };
		cop_event_id id;
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		cop_event_id_from_unsigned(&id, 17);
		assert_int_equal(cop_pending_add(a, &id, &e, &e.handle), COP_OK);
		save(a, &bytes);
		assert_int_equal(bytes.length, CONTEXT + D * sizeof(float) + 8);
		memcpy(bytes.data + forged[i].at, forged[i].bytes, forged[i].length);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		cop_err err = cop_pending_load(b, &cursor);
		if (err == COP_OK && cop_cursor_left(&cursor) != 0)
			err = COP_EFORMAT; /* as for a section of a model file */
		if (err != forged[i].want)
			fail_msg("forged %zu: %s", i, cop_err_text(err));
		cop_bytes_fini(&bytes);
		cop_pending_free(a);
		cop_pending_free(b);
	}
}

/* The probability of an observed entry lies where else the context begins. */
static void test_load_forged_probability_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t arms;
		double own_p;
		cop_err want;
	} forged[] = { { ARMS, 0.0, COP_OK }, { ARMS, 1.0, COP_OK }, { ARMS, -0.25, COP_EFORMAT },
		{ ARMS, 1.25, COP_EFORMAT }, { ARMS, (double)NAN, COP_ENONFINITE }, { 0, 0.5, COP_EFORMAT } };
	static const float x[D] = { 1.0f };
	for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
		const cop_pending_shape shape = { .d = D, .arms = forged[i].arms };
		cop_pending *a = table_of(&shape, 4), *b = table_of(&shape, 4);
		const cop_pending_entry e = {
			.observed = true, .own_p = 0.5, .decision = { .p = 1.0 }, .x = { .d = D, .dense = x }
		};
		uint32_t handle;
		cop_event_id id;
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		cop_event_id_from_unsigned(&id, 17);
		assert_int_equal(cop_pending_add(a, &id, &e, &handle), COP_OK);
		save(a, &bytes);
		assert_int_equal(bytes.length, CONTEXT + 8 + D * sizeof(float) + 8);
		memcpy(bytes.data + CONTEXT, &forged[i].own_p, sizeof forged[i].own_p);
		for (size_t length = 0; length <= bytes.length; length++) {
			cop_cursor_init(&cursor, bytes.data, length);
			cop_err err = cop_pending_load(b, &cursor);
			assert_true(length < bytes.length ? err != COP_OK : err == forged[i].want);
			cop_pending_free(b);
			b = table_of(&shape, 4);
		}
		cop_bytes_fini(&bytes);
		cop_pending_free(a);
		cop_pending_free(b);
	}
}

/* Of 11 arms, behind the id; bits that no table of this shape writes are refused. */
static void test_load_forged_mask_is_refused(void **state)
{
	(void)state;
	static const struct {
		uint8_t bits[2];
		bool masks;
		cop_err want;
	} forged[] = { { { 0x05, 0x04 }, true, COP_OK }, { { 0xff, 0x06 }, true, COP_OK }, { { 0 }, true, COP_EFORMAT },
		{ { 0xff, 0x07 }, true, COP_EFORMAT }, { { 0x05, 0x08 }, true, COP_EFORMAT },
		{ { 0x05, 0x80 }, true, COP_EFORMAT }, { { 0x05, 0x04 }, false, COP_EFORMAT } };
	static const float x[D] = { 1.0f };
	static const uint8_t mask[11] = { 0, 1 };
	for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
		cop_pending_shape shape = { .d = D, .arms = 11, .masks = true };
		cop_pending *a = table_of(&shape, 4), *b;
		const cop_pending_entry e = { .decision = { .p = 1.0 }, .x = { .d = D, .dense = x }, .mask = mask };
		uint32_t handle;
		cop_event_id id;
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		cop_event_id_from_unsigned(&id, 17);
		assert_int_equal(cop_pending_add(a, &id, &e, &handle), COP_OK);
		save(a, &bytes);
		size_t at = CONTEXT + D * sizeof(float);
		assert_int_equal(bytes.length, at + 2 + 8);
		assert_true(bytes.data[KIND] == 0x43 && bytes.data[at] == 2 && bytes.data[at + 1] == 0);
		memcpy(bytes.data + at, forged[i].bits, 2);
		shape.masks = forged[i].masks;
		for (size_t length = 0; length <= bytes.length; length++) {
			b = table_of(&shape, 4);
			cop_cursor_init(&cursor, bytes.data, length);
			cop_err err = cop_pending_load(b, &cursor);
			assert_true(length < bytes.length ? err != COP_OK : err == forged[i].want);
			cop_pending_free(b);
		}
		cop_bytes_fini(&bytes);
		cop_pending_free(a);
	}
}

static void test_load_same_id_twice_is_refused(void **state)
{
	(void)state;
	cop_pending *a = table_of(&shapes[0], 4), *b = table_of(&shapes[0], 4);
	cop_bytes bytes;
	cop_cursor cursor;
	cop_event_id id;
	cop_bytes_init(&bytes);
	for (uint64_t i = 0; i < 2; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(add_plain(a, &id, i, 0.0), COP_OK);
	}
	save(a, &bytes);
	size_t record = (bytes.length - HEAD - 8) / 2;
	bytes.data[ID + record] = bytes.data[ID];
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_pending_load(b, &cursor), COP_EFORMAT);
	cop_bytes_fini(&bytes);
	cop_pending_free(a);
	cop_pending_free(b);
}

static void test_load_more_than_max_is_refused(void **state)
{
	(void)state;
	cop_pending *a = table_of(&shapes[0], 4), *b = table_of(&shapes[0], 3);
	cop_bytes bytes;
	cop_cursor cursor;
	cop_event_id id;
	cop_bytes_init(&bytes);
	for (uint64_t i = 0; i < 4; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(add_plain(a, &id, i, 0.0), COP_OK);
	}
	save(a, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_pending_load(b, &cursor), COP_EFULL);
	cop_bytes_fini(&bytes);
	cop_pending_free(a);
	cop_pending_free(b);
}

static void test_new_wrong_shape_is_refused(void **state)
{
	(void)state;
	cop_pending *table;
	cop_pending_shape shape = { .d = 0, .arms = 2 };
	assert_int_equal(cop_pending_new(&shape, 10, 1, &table), COP_EINVAL);
	assert_null(table);
	shape.d = 3;
	assert_int_equal(cop_pending_new(&shape, 0, 1, &table), COP_EINVAL);
	shape.predictions = COP_LEARNER_EXPERTS; /* no room for a refit's */
	assert_int_equal(cop_pending_new(&shape, 10, 1, &table), COP_EINVAL);
	shape.predictions = COP_LEARNER_EXPERTS - 1;
	assert_int_equal(cop_pending_new(&shape, 10, 1, &table), COP_OK);
	cop_pending_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations_equal_plain_array),
		cmocka_unit_test(test_ids_of_equal_look_and_other_kind_are_distinct),
		cmocka_unit_test(test_remembered_ids_are_forgotten_by_time_and_bound),
		cmocka_unit_test(test_lower_bound_keeps_what_waits),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_load_damaged_bytes_is_error_or_valid),
		cmocka_unit_test(test_failed_allocations_leave_table_as_it_was),
		cmocka_unit_test(test_steady_load_allocates_nothing),
		cmocka_unit_test(test_overhead_is_at_most_64_bytes),
		cmocka_unit_test(test_by_bytes_the_owner_of_most_bytes_gives_way),
		cmocka_unit_test(test_growing_keeps_every_decision),
		cmocka_unit_test(test_add_after_reserve_allocates_nothing),
		cmocka_unit_test(test_activated_entry_is_the_youngest),
		cmocka_unit_test(test_load_forged_entry_is_refused),
		cmocka_unit_test(test_load_forged_probability_is_refused),
		cmocka_unit_test(test_load_forged_mask_is_refused),
		cmocka_unit_test(test_load_same_id_twice_is_refused),
		cmocka_unit_test(test_load_more_than_max_is_refused),
		cmocka_unit_test(test_new_wrong_shape_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
