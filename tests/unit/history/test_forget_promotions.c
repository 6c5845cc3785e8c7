/* Records of who serves: which of them are a challenger's, and who is left. */
#include "history/forget_promotions.h"

#include <string.h>

#include "support.h"

#include "base/bytes.h"

static uint64_t sequence;

/* The record's sequence number. */
static uint64_t take(cop_forget_promotions *list, const char *model, cop_wire_promotion kind, uint64_t number)
{
	cop_bytes body;
	cop_wire_record r = { .model = model, .model_length = strlen(model), .time = 1.0, .promotion = kind };
	r.count = number;
	cop_bytes_init(&body);
	cop_wire_record_put(&body, COP_WIRE_RECORD_PROMOTION, &r);
	assert_int_equal(body.err, COP_OK);
	sequence += 10;
	const cop_journal_record record = { .sequence = sequence,
		.type = COP_WIRE_RECORD_PROMOTION,
		.body = body.data,
		.length = (uint32_t)body.length };
	assert_int_equal(cop_forget_promotions_take(list, &record), COP_OK);
	cop_bytes_fini(&body);
	return sequence;
}

static void expect(
        const cop_forget_promotions *list, const char *model, bool known, uint64_t serving, uint64_t in_shadow)
{
	uint64_t s, h;
	assert_int_equal(cop_forget_promotions_serving(list, model, &s, &h), known);
	assert_int_equal(s, serving);
	assert_int_equal(h, in_shadow);
}

static void test_records_of_a_challenger_go(void **state)
{
	(void)state;
	cop_forget_promotions list = { 0 };
	uint64_t goes[4], stays[7];
	stays[0] = take(&list, "m", COP_WIRE_PROMOTION_CHALLENGE, 1);
	stays[1] = take(&list, "n", COP_WIRE_PROMOTION_CHALLENGE, 2);
	goes[0] = take(&list, "m", COP_WIRE_PROMOTION_CHALLENGE, 2);
	goes[1] = take(&list, "m", COP_WIRE_PROMOTION_PROMOTE, 0);
	stays[2] = take(&list, "n", COP_WIRE_PROMOTION_PROMOTE, 0);
	stays[3] = take(&list, "m", COP_WIRE_PROMOTION_FREEZE, 0);
	goes[2] = take(&list, "m", COP_WIRE_PROMOTION_ROLLBACK, 0);
	stays[4] = take(&list, "m", COP_WIRE_PROMOTION_THAW, 0);
	goes[3] = take(&list, "m", COP_WIRE_PROMOTION_RETIRE, 0);
	stays[5] = take(&list, "m", COP_WIRE_PROMOTION_CHALLENGE, 3);
	stays[6] = take(&list, "m", COP_WIRE_PROMOTION_RETIRE, 0);
	assert_int_equal(cop_forget_promotions_last(&list), 0);
	cop_forget_promotions_drop(&list, "m", 9);
	cop_forget_promotions_drop(&list, "o", 2);
	assert_int_equal(cop_forget_promotions_last(&list), 0);
	cop_forget_promotions_drop(&list, "m", 2);
	assert_int_equal(cop_forget_promotions_last(&list), goes[3]);
	for (size_t i = 0; i < 4; i++)
		assert_true(cop_forget_promotions_is_gone(&list, goes[i]));
	for (size_t i = 0; i < 7; i++)
		assert_false(cop_forget_promotions_is_gone(&list, stays[i]));
	assert_false(cop_forget_promotions_is_gone(&list, goes[0] + 1));
	cop_forget_promotions_fini(&list);
}

static void test_who_serves(void **state)
{
	(void)state;
	cop_forget_promotions list = { 0 };
	expect(&list, "m", false, 0, 0);
	(void)take(&list, "m", COP_WIRE_PROMOTION_PROMOTE, 0); /* its challenge was in a segment that is gone */
	(void)take(&list, "m", COP_WIRE_PROMOTION_RETIRE, 0);
	expect(&list, "m", false, 0, 0);
	(void)take(&list, "m", COP_WIRE_PROMOTION_CHALLENGE, 1);
	expect(&list, "m", true, 0, 1);
	(void)take(&list, "m", COP_WIRE_PROMOTION_PROMOTE, 0);
	expect(&list, "m", true, 1, 0);
	(void)take(&list, "m", COP_WIRE_PROMOTION_CHALLENGE, 2);
	expect(&list, "m", true, 1, 2);
	(void)take(&list, "m", COP_WIRE_PROMOTION_PROMOTE, 0);
	expect(&list, "m", true, 2, 1);
	(void)take(&list, "m", COP_WIRE_PROMOTION_ROLLBACK, 0);
	(void)take(&list, "m", COP_WIRE_PROMOTION_RETIRE, 0);
	expect(&list, "m", true, 1, 0);
	expect(&list, "n", false, 0, 0);
	cop_forget_promotions_fini(&list);
}

static void test_other_records_are_passed_over(void **state)
{
	(void)state;
	cop_forget_promotions list = { 0 };
	const cop_journal_record other = { .sequence = 1, .type = COP_WIRE_RECORD_EXPIRY, .body = (const uint8_t *)"" };
	const cop_journal_record bad = {
		.sequence = 2, .type = COP_WIRE_RECORD_PROMOTION, .body = (const uint8_t *)"\xc1", .length = 1
	};
	assert_int_equal(cop_forget_promotions_take(&list, &other), COP_OK);
	assert_int_equal(cop_forget_promotions_take(&list, &bad), COP_OK);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_of_a_challenger_go),
		cmocka_unit_test(test_who_serves),
		cmocka_unit_test(test_other_records_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
