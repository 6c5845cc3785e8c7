/* Orders in a state folder: numbered, read back whole, oldest first, until they are ended. */
#include "daemon/durable/forget_order.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/test_forget_order_XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static void test_orders_are_read_back_oldest_first(void **state)
{
	(void)state;
	cop_forget_order read;
	size_t count = 7;
	assert_int_equal(cop_forget_order_first(folder, &read, &count, NULL), COP_EEND);
	assert_int_equal(count, 0);
	cop_forget_order unit = { .number = 4, .model = "front", .time = 1e9 };
	cop_forget_order id = { .by_id = true };
	assert_true(cop_event_id_from_bytes(&unit.whom, COP_EVENT_ID_BINARY, "\0\xff tom", 6));
	cop_event_id_from_signed(&id.whom, -17);
	assert_int_equal(cop_forget_order_put(folder, &unit, NULL), COP_OK);
	assert_int_equal(unit.number, 4); /* none was as high */
	assert_int_equal(cop_forget_order_put(folder, &id, NULL), COP_OK);
	assert_int_equal(id.number, 5);
	assert_int_equal(cop_forget_order_first(folder, &read, &count, NULL), COP_OK);
	assert_true(count == 2 && read.number == 4 && !read.by_id && read.time == 1e9);
	assert_true(cop_event_id_equal(&read.whom, &unit.whom));
	assert_string_equal(read.model, "front");
	assert_int_equal(cop_forget_order_end(folder, 4, NULL), COP_OK);
	assert_int_equal(cop_forget_order_end(folder, 4, NULL), COP_OK); /* again is nothing */
	assert_int_equal(cop_forget_order_first(folder, &read, &count, NULL), COP_OK);
	assert_true(count == 1 && read.number == 5 && read.by_id && cop_event_id_equal(&read.whom, &id.whom));
	assert_string_equal(read.model, "");
}

static void test_damaged_order_is_named(void **state)
{
	(void)state;
	cop_diag why = { 0 };
	cop_forget_order order = { .by_id = true };
	size_t count;
	char path[160];
	cop_event_id_from_unsigned(&order.whom, 5);
	assert_int_equal(cop_forget_order_put(folder, &order, NULL), COP_OK);
	(void)snprintf(path, sizeof path, "%s/forget.%020d.checkpoint", folder, 1);
	assert_int_equal(truncate(path, 40), 0);
	assert_int_equal(cop_forget_order_first(folder, &order, &count, &why), COP_EFORMAT);
	assert_non_null(strstr(why.source, "forget.00000000000000000001.checkpoint"));
	assert_int_equal(cop_forget_order_put("/nowhere", &order, NULL), COP_ENOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_orders_are_read_back_oldest_first, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_damaged_order_is_named, make_folder, drop_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
