/* Decoders with workspaces of exactly the size that wire_features.h names (support_guard.h), at the shape's limits and
 * one beyond them. */
#include "support.h"

#include <string.h>

#include "support_guard.h"
#include "wire/wire_context.h"

#define MOST 20

static cop_wire_workspace make(const cop_wire_shape *s)
{
	cop_wire_workspace w = { .dense = NULL };
	size_t wide = s->features != 0 ? s->candidate_features : s->max_nonzeros;
	if (s->features != 0)
		COP_TEST_GUARD(w.dense, s->features);
	if (s->features == 0) {
		COP_TEST_GUARD(w.index, s->max_nonzeros);
		COP_TEST_GUARD(w.value, s->max_nonzeros);
	}
	if (s->arms != 0 || s->max_candidates != 0)
		COP_TEST_GUARD(w.mask, s->arms != 0 ? s->arms : s->max_candidates);
	if (s->max_candidates == 0)
		return w;
	COP_TEST_GUARD(w.candidate, s->max_candidates);
	COP_TEST_GUARD(w.candidate_value, s->max_candidates * wide);
	if (s->features == 0)
		COP_TEST_GUARD(w.candidate_index, s->max_candidates * wide);
	return w;
}

static void drop(const cop_wire_workspace *w)
{
	void *const arrays[] = { w->dense, w->index, w->value, w->mask, w->candidate, w->candidate_value,
		w->candidate_index };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_test_guard_free(arrays[i]);
}

static const float ones[MOST + 1] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21 };
static const uint32_t places[MOST + 1] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
static uint8_t flags[MOST + 8]; /* all 1 */

static cop_row row_of(bool sparse, size_t n)
{
	return sparse ? (cop_row){ .d = 32, .nnz = n, .index = places, .value = ones }
	              : (cop_row){ .d = n, .dense = ones };
}

/* A message with n entries, `arms` flags (0: no mask) and `count` candidates of m entries, against the shape. */
static cop_err decode(const cop_wire_shape *s, size_t n, size_t arms, size_t count, size_t m, cop_wire_form form)
{
	cop_row candidate[MOST + 1];
	cop_wire_context c = { .has_x = true, .x = row_of(s->features == 0, n), .candidates = count }, out;
	cop_wire_workspace w = make(s);
	cop_bytes bytes;
	memset(flags, 1, sizeof flags);
	cop_event_id_from_unsigned(&c.id, 1);
	for (size_t i = 0; i < count; i++)
		candidate[i] = row_of(s->features == 0, m);
	c.candidate = count > 0 ? candidate : NULL;
	c.has_mask = arms > 0;
	c.mask = flags;
	c.arms = arms;
	cop_bytes_init(&bytes);
	cop_wire_context_put(&bytes, &c, form);
	assert_int_equal(bytes.err, COP_OK);
	uint8_t *message;
	COP_TEST_GUARD(message, bytes.length);
	memcpy(message, bytes.data, bytes.length);
	cop_err err = cop_wire_context_decode(message, bytes.length, s, &w, &out, NULL);
	if (err == COP_OK) {
		assert_int_equal(cop_row_entries(&out.x), n);
		assert_true(cop_row_value(&out.x, n - 1) == ones[n - 1]);
		assert_int_equal(out.candidates, count);
		if (count > 0)
			assert_true(cop_row_value(&out.candidate[count - 1], m - 1) == ones[m - 1]);
	}
	cop_test_guard_free(message);
	cop_bytes_fini(&bytes);
	drop(&w);
	return err;
}

static void test_contexts_at_the_limits_touch_nothing_around_the_workspace(void **state)
{
	(void)state;
	for (int form = COP_WIRE_FORM_PACKED; form <= COP_WIRE_FORM_ARRAY; form++)
		for (size_t n = 1; n <= MOST; n++) {
			const cop_wire_form f = (cop_wire_form)form;
			const cop_wire_shape dense = { .features = n, .arms = n, .losses = 1 };
			const cop_wire_shape sparse = { .bits = 5, .max_nonzeros = n, .arms = n, .losses = 1 };
			assert_int_equal(decode(&dense, n, 0, 0, 0, f), COP_OK);
			assert_int_equal(decode(&dense, n, n, 0, 0, f), COP_OK);
			assert_int_equal(decode(&dense, n + 1, n, 0, 0, f), COP_ESHAPE);
			assert_int_equal(decode(&dense, n, n + 8, 0, 0, f), COP_EFORMAT);
			assert_int_equal(decode(&sparse, n, n, 0, 0, f), COP_OK);
			assert_int_equal(decode(&sparse, n + 1, 0, 0, 0, f), COP_ESHAPE);
		}
}

static void test_candidates_at_the_limits_touch_nothing_around_the_workspace(void **state)
{
	(void)state;
	for (size_t count = 1; count < MOST; count += 3)
		for (size_t n = 1; n <= MOST; n += 2) {
			const cop_wire_form f = COP_WIRE_FORM_PACKED;
			const cop_wire_shape dense = {
				.features = 3, .max_candidates = count, .candidate_features = n, .losses = 1
			};
			const cop_wire_shape sparse = {
				.bits = 5, .max_nonzeros = n, .max_candidates = count, .losses = 1
			};
			assert_int_equal(decode(&dense, 3, count, count, n, f), COP_OK);
			assert_int_equal(decode(&dense, 3, 0, count + 1, n, f), COP_ESHAPE);
			assert_int_equal(decode(&dense, 3, 0, count, n + 1, f), COP_ESHAPE);
			assert_int_equal(decode(&sparse, n, count, count, n, f), COP_OK);
			assert_int_equal(decode(&sparse, 1, 0, count + 1, n, f), COP_ESHAPE);
			assert_int_equal(decode(&sparse, 1, 0, count, n + 1, f), COP_ESHAPE);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contexts_at_the_limits_touch_nothing_around_the_workspace),
		cmocka_unit_test(test_candidates_at_the_limits_touch_nothing_around_the_workspace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
