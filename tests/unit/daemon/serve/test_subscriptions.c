/* Which topics are covered, while subscriptions come and go. */
#include "support.h"

#include <string.h>

#include "daemon/serve/subscriptions.h"

static cop_config_model models[2];
static const cop_config config = { .model_count = 2, .models = models };

static void begin(cop_subscriptions *s)
{
	strcpy(models[0].name, "front");
	strcpy(models[1].name, "front-page");
	cop_subscriptions_init(s, &config);
}

static void add(cop_subscriptions *s, const char *prefix) { cop_subscriptions_add(s, prefix, strlen(prefix)); }
static void drop(cop_subscriptions *s, const char *prefix) { cop_subscriptions_remove(s, prefix, strlen(prefix)); }

static void expect(const cop_subscriptions *s, bool front, bool page)
{
	assert_int_equal(cop_subscriptions_cover(s, "act.front"), front);
	assert_int_equal(cop_subscriptions_cover(s, "act.front-page"), page);
}

static void test_prefix_of_the_topic_covers_it(void **state)
{
	(void)state;
	static const struct {
		const char *prefix;
		bool front, page;
	} cases[] = { { "", true, true }, { "a", true, true }, { "act.", true, true }, { "act.fro", true, true },
		{ "act.front", true, true }, { "act.front-", false, true }, { "act.front-page", false, true },
		{ "act.front-page2", false, false }, { "act.other", false, false }, { "b", false, false },
		{ "act,", false, false }, { "ctx.front", false, false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_subscriptions s;
		begin(&s);
		expect(&s, false, false);
		add(&s, cases[i].prefix);
		expect(&s, cases[i].front, cases[i].page);
		assert_int_equal(s.count, cases[i].front || cases[i].page); /* others take no room */
		drop(&s, cases[i].prefix);
		expect(&s, false, false);
		cop_subscriptions_fini(&s);
	}
}

static void test_count_of_equal_ones_is_kept(void **state)
{
	(void)state;
	cop_subscriptions s;
	begin(&s);
	add(&s, "act.front-page");
	add(&s, "act.front-page");
	add(&s, "act.");
	add(&s, "act.f");
	drop(&s, "act.");
	drop(&s, "act."); /* never came: nothing */
	expect(&s, true, true);
	drop(&s, "act.f");
	expect(&s, false, true);
	drop(&s, "act.front-page");
	expect(&s, false, true);
	drop(&s, "act.front-page");
	expect(&s, false, false);
	assert_int_equal(s.count, 0);
	cop_subscriptions_fini(&s);
}

static void test_bytes_of_any_kind_are_prefixes_or_not(void **state)
{
	(void)state;
	cop_subscriptions s;
	begin(&s);
	cop_subscriptions_add(&s, "act.front\0", 10);
	cop_subscriptions_add(&s, "\0", 1);
	static const char large[100000] = "act.";
	cop_subscriptions_add(&s, large, sizeof large);
	expect(&s, false, false);
	assert_int_equal(s.count, 0);
	cop_subscriptions_fini(&s);
}

/* Rather all are decided than any waits for ever. */
static void test_short_of_memory_covers_everything_until_it_goes(void **state)
{
	(void)state;
	cop_subscriptions s;
	begin(&s);
	cop_test_alloc_fail(1, 0);
	add(&s, "act.front-page");
	cop_test_alloc_fail(0, 0);
	expect(&s, true, true);
	drop(&s, "act.front-page");
	expect(&s, false, false);
	cop_subscriptions_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefix_of_the_topic_covers_it),
		cmocka_unit_test(test_count_of_equal_ones_is_kept),
		cmocka_unit_test(test_bytes_of_any_kind_are_prefixes_or_not),
		cmocka_unit_test(test_short_of_memory_covers_everything_until_it_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
