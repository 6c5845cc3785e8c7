/* The table of waiting decisions against a plain array, with ids of every kind and length. */
#include "rows.h"

#include <math.h>
#include <stdio.h>

#include "online/pending.h"

#define SEED 37U
#define D    12
#define MAX  200
#define OPS  100000

typedef struct waiting {
	cop_event_id id;
	test_row x;
	cop_decision decision;
	uint64_t serial;
	double time;
	uint32_t losses;
	double loss[2];
} waiting;

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

static void any_decision(cop_decision *decision, cop_rng *rng)
{
	memset(decision, 0, sizeof *decision);
	decision->arm = (uint32_t)cop_rng_below(rng, 100);
	decision->greedy = cop_rng_below(rng, 2) != 0;
	decision->u = (int8_t)cop_rng_sign(rng);
	decision->p = 1.0 - cop_rng_unit(rng);
	decision->y = cop_rng_unit(rng);
	decision->probe[0] = cop_rng_unit(rng);
	decision->probe[1] = cop_rng_unit(rng);
	decision->rev = cop_rng_u64(rng);
	for (size_t i = 0; i < COP_LEARNER_EXPERTS; i++)
		decision->prediction[i] = (float)cop_rng_unit(rng);
}

static void check_decision(const cop_decision *a, const cop_decision *b)
{
	assert_int_equal(a->arm, b->arm);
	assert_int_equal(a->greedy, b->greedy);
	assert_int_equal(a->u, b->u);
	assert_true(a->p == b->p && a->y == b->y);
	assert_true(a->probe[0] == b->probe[0] && a->probe[1] == b->probe[1]);
	assert_true(a->rev == b->rev);
	assert_memory_equal(a->prediction, b->prediction, sizeof a->prediction);
}

static void check_entry(const cop_pending_entry *e, const waiting *w, bool sparse)
{
	assert_true(e->time == w->time);
	assert_true(e->serial == w->serial);
	assert_int_equal(e->losses, w->losses);
	assert_true(e->loss[0] == w->loss[0] && e->loss[1] == w->loss[1]);
	check_decision(&e->decision, &w->decision);
	assert_int_equal(e->x.d, D);
	if (!sparse) {
		assert_non_null(e->x.dense);
		assert_memory_equal(e->x.dense, w->x.dense, D * sizeof(float));
		return;
	}
	assert_null(e->x.dense);
	assert_int_equal(e->x.nnz, w->x.nnz);
	if (w->x.nnz > 0) {
		assert_memory_equal(e->x.index, w->x.index, w->x.nnz * sizeof(uint32_t));
		assert_memory_equal(e->x.value, w->x.value, w->x.nnz * sizeof(float));
	}
}

static long find(const reference *ref, const cop_event_id *id)
{
	for (size_t i = 0; i < ref->count; i++)
		if (cop_event_id_equal(&ref->items[i].id, id))
			return (long)i;
	return -1;
}

static cop_pending *table_of(bool sparse, size_t max)
{
	cop_pending *table;
	assert_int_equal(cop_pending_new(D, sparse, sparse ? D : 0, max, 0x1234567, &table), COP_OK);
	return table;
}

static void add(cop_pending *table, reference *ref, cop_rng *rng, double now, uint64_t serial, bool sparse)
{
	waiting w = { .time = now, .serial = serial };
	any_id(&w.id, rng);
	any_decision(&w.decision, rng);
	row_random(&w.x, rng, D, 0.4, 0);
	cop_row row = sparse ? row_sparse(&w.x) : row_dense(&w.x);
	cop_err err = cop_pending_add(table, &w.id, &row, &w.decision, serial, now);
	if (find(ref, &w.id) >= 0)
		assert_int_equal(err, COP_EEXIST);
	else if (ref->count == cop_pending_max(table))
		assert_int_equal(err, COP_EFULL);
	else {
		assert_int_equal(err, COP_OK);
		ref->items[ref->count++] = w;
	}
}

static void take_out(cop_pending *table, reference *ref, const cop_pending_entry *e, size_t at, double now)
{
	cop_remembered as = e->serial % 2 ? COP_REMEMBERED_ANSWERED : COP_REMEMBERED_EXPIRED;
	cop_event_id id = ref->items[at].id;
	cop_pending_remove(table, e, as, now);
	cop_pending_entry gone;
	assert_false(cop_pending_find(table, &id, &gone));
	assert_int_equal(cop_pending_recall(table, &id), as);
	memmove(&ref->items[at], &ref->items[at + 1], (ref->count - at - 1) * sizeof *ref->items);
	ref->count--;
}

static void one_operation(cop_pending *table, reference *ref, cop_rng *rng, double now, uint64_t serial, bool sparse)
{
	cop_event_id id;
	cop_pending_entry e;
	any_id(&id, rng);
	long at = find(ref, &id);
	switch (cop_rng_below(rng, 6)) {
	case 0:
	case 1:
		add(table, ref, rng, now, serial, sparse);
		break;
	case 2:
	case 3:
		assert_int_equal(cop_pending_find(table, &id, &e), at >= 0);
		if (at < 0)
			break;
		check_entry(&e, &ref->items[at], sparse);
		take_out(table, ref, &e, (size_t)at, now);
		break;
	case 4:
		assert_int_equal(cop_pending_find(table, &id, &e), at >= 0);
		if (at < 0)
			break;
		e.losses++;
		e.loss[0] += 0.25;
		e.loss[1] = (double)serial;
		ref->items[at].losses = e.losses;
		memcpy(ref->items[at].loss, e.loss, sizeof e.loss);
		cop_pending_record(table, &e);
		break;
	default:
		assert_int_equal(cop_pending_oldest(table, &e), ref->count > 0);
		if (ref->count == 0)
			break;
		check_entry(&e, &ref->items[0], sparse);
		if (serial % 8 == 0)
			take_out(table, ref, &e, 0, now);
		break;
	}
	assert_int_equal(cop_pending_count(table), ref->count);
}

static void random_operations(cop_pending *table, reference *ref, bool sparse, size_t ops, uint64_t stream)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	for (size_t n = 0; n < ops; n++)
		one_operation(table, ref, &rng, (double)(stream * OPS + n), n, sparse);
}

static void test_random_operations_equal_plain_array(void **state)
{
	(void)state;
	static reference ref;
	printf("seed %u\n", SEED);
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_pending *table = table_of(sparse, MAX);
		ref.count = 0;
		random_operations(table, &ref, sparse, OPS, 1);
		cop_pending_entry e;
		while (ref.count > 0) { /* the rest in order of time */
			assert_true(cop_pending_oldest(table, &e));
			check_entry(&e, &ref.items[0], sparse);
			take_out(table, &ref, &e, 0, 1e9);
		}
		assert_false(cop_pending_oldest(table, &e));
		cop_pending_free(table);
	}
}

static cop_decision plain_decision(void) { return (cop_decision){ .arm = 1, .p = 0.5 }; }

static cop_err add_plain(cop_pending *table, const cop_event_id *id, uint64_t serial, double time)
{
	const float x[D] = { 0 };
	cop_row row = { .d = D, .dense = x };
	cop_decision decision = plain_decision();
	return cop_pending_add(table, id, &row, &decision, serial, time);
}

static void test_ids_of_equal_look_and_other_kind_are_distinct(void **state)
{
	(void)state;
	cop_pending *table = table_of(false, 100);
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
		assert_int_equal(e.serial, i);
		cop_pending_remove(table, &e, i % 2 ? COP_REMEMBERED_EXPIRED : COP_REMEMBERED_ANSWERED, (double)i);
	}
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(
		        cop_pending_recall(table, &ids[i]), i % 2 ? COP_REMEMBERED_EXPIRED : COP_REMEMBERED_ANSWERED);
	cop_event_id same;
	cop_event_id_from_signed(&same, 17); /* one integer, however it was made */
	assert_int_equal(cop_pending_recall(table, &same), COP_REMEMBERED_ANSWERED);
	cop_pending_free(table);
}

static void test_remembered_ids_are_forgotten_by_time_and_bound(void **state)
{
	(void)state;
	cop_pending *table = table_of(false, 50);
	cop_event_id id;
	for (uint64_t i = 0; i < 80; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(cop_pending_recall(table, &id), COP_REMEMBERED_NOT);
		cop_pending_remember(table, &id, COP_REMEMBERED_EXPIRED, (double)i);
	}
	for (uint64_t i = 0; i < 80; i++) {
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(cop_pending_recall(table, &id), i < 30 ? COP_REMEMBERED_NOT : COP_REMEMBERED_EXPIRED);
	}
	cop_pending_forget(table, 60.0);
	cop_event_id_from_unsigned(&id, 59);
	assert_int_equal(cop_pending_recall(table, &id), COP_REMEMBERED_NOT);
	cop_event_id_from_unsigned(&id, 60);
	assert_int_equal(cop_pending_recall(table, &id), COP_REMEMBERED_EXPIRED);
	cop_pending_free(table);
}

static void test_lower_bound_keeps_what_waits(void **state)
{
	(void)state;
	cop_pending *table = table_of(false, 10);
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
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_pending *a = table_of(sparse, MAX), *b = table_of(sparse, MAX);
		ref.count = 0;
		random_operations(a, &ref, sparse, 5000, 1);
		copy = ref;
		save(a, &first);
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_pending_load(b, 100, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		random_operations(a, &ref, sparse, 5000, 2);
		random_operations(b, &copy, sparse, 5000, 2);
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
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_pending *a = table_of(sparse, 6), *b;
		ref.count = 0;
		random_operations(a, &ref, sparse, 60, 3);
		assert_true(ref.count > 2);
		save(a, &bytes);
		for (size_t length = 0; length < bytes.length; length++) {
			b = table_of(sparse, 6);
			cop_cursor_init(&cursor, bytes.data, length);
			assert_int_not_equal(cop_pending_load(b, 100, &cursor), COP_OK);
			cop_pending_free(b);
		}
		static const uint8_t flips[] = { 0x01, 0x80, 0xff, 0x10 };
		for (size_t at = 0; at < bytes.length * 4; at++) {
			bytes.data[at / 4] ^= flips[at % 4];
			b = table_of(sparse, 6);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			if (cop_pending_load(b, 100, &cursor) == COP_OK) {
				cop_pending_entry e;
				assert_true(cop_pending_count(b) <= 6);
				while (cop_pending_oldest(b, &e))
					cop_pending_remove(b, &e, COP_REMEMBERED_EXPIRED, 1e9);
			}
			cop_pending_free(b);
			bytes.data[at / 4] ^= flips[at % 4];
		}
		b = table_of(!sparse, 6);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_pending_load(b, 100, &cursor), COP_ESHAPE);
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
		cop_err err = cop_pending_new(D, false, 0, 5000, 1, &table);
		cop_test_alloc_fail(0, 0);
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
		assert_int_equal(e.serial, i);
	}
	cop_pending_free(table);
	cop_pending_free(NULL);
}

static void test_steady_load_allocates_nothing(void **state)
{
	(void)state;
	static reference ref;
	cop_pending *table = table_of(true, MAX);
	ref.count = 0;
	random_operations(table, &ref, true, 20000, 4);
	cop_test_alloc_fail(0, 0);
	random_operations(table, &ref, true, 20000, 5);
	assert_int_equal(cop_test_alloc_count(), 0);
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
