/* What a record holds of the control group, there and back; who made a decision follows from it. */
#include "wire/wire_split.h"

#include <string.h>

#include "support.h"
#include "wire/wire_put.h"

static cop_err back(const cop_bytes *bytes, size_t length, cop_wire_split *out)
{
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, bytes->data, length);
	return cop_wire_split_read(&cursor, out);
}

static void test_split_is_read_as_it_was_put(void **state)
{
	static const cop_wire_split some[] = {
		{ .share = 0.05, .baseline = -2, .allowance = 1.0, .place = 65535 },
		{ .share = 0.5, .baseline = 7, .allowance = 0.25, .place = 0, .kept = true },
		{ .share = 0.99, .baseline = -1, .allowance = 0.0, .place = 1 },
	};
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		cop_bytes bytes;
		cop_wire_split got;
		cop_bytes_init(&bytes);
		cop_wire_split_put(&bytes, &some[i]);
		assert_int_equal(back(&bytes, bytes.length, &got), COP_OK);
		assert_true(got.share == some[i].share && got.allowance == some[i].allowance);
		assert_true(got.baseline == some[i].baseline && got.place == some[i].place && got.kept == some[i].kept);
		for (size_t cut = 0; cut < bytes.length; cut++)
			assert_int_not_equal(back(&bytes, cut, &got), COP_OK);
		cop_bytes_fini(&bytes);
	}
}

static void test_what_no_split_is_is_refused(void **state)
{
	static const double shares[] = { 0.0, 1.0, -0.5 };
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		cop_bytes bytes;
		cop_wire_split got;
		cop_bytes_init(&bytes);
		cop_wire_put_array(&bytes, i == 3 ? 4 : 3);
		cop_wire_put_double(&bytes, i == 3 ? 0.5 : shares[i]);
		cop_wire_put_signed(&bytes, 0);
		cop_wire_put_unsigned(&bytes, 0);
		cop_wire_put_unsigned(&bytes, 0);
		assert_int_equal(back(&bytes, bytes.length, &got), COP_EFORMAT);
		cop_bytes_fini(&bytes);
	}
}

static void test_maker_follows(void **state)
{
	const cop_wire_split held = { .share = 0.5, .allowance = 0.5 }, kept = { .share = 0.5, .kept = true };
	(void)state;
	assert_int_equal(cop_wire_split_maker(false, &held), COP_WIRE_BY_POLICY);
	assert_int_equal(cop_wire_split_maker(false, NULL), COP_WIRE_BY_POLICY);
	assert_int_equal(cop_wire_split_maker(true, &held), COP_WIRE_BY_HOLDOUT);
	assert_int_equal(cop_wire_split_maker(true, &kept), COP_WIRE_BY_CONSERVATIVE);
	assert_int_equal(cop_wire_split_maker(true, NULL), COP_WIRE_BY_OBSERVED);
	assert_string_equal(cop_wire_split_maker_text(COP_WIRE_BY_HOLDOUT), "holdout");
	assert_string_equal(cop_wire_split_maker_text(COP_WIRE_BY_OBSERVED), "observed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_is_read_as_it_was_put),
		cmocka_unit_test(test_what_no_split_is_is_refused),
		cmocka_unit_test(test_maker_follows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
