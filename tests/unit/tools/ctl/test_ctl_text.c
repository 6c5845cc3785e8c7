/* A daemon's replies as text: every kind of value at every place, and what is missing. */
#include "tools/ctl/ctl_text.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

typedef void printer(const cop_json *reply, FILE *out);

static void table(const cop_json *reply, FILE *out) { cop_ctl_text_table(reply, 1, out); }

static void expect(printer *print, const char *reply, const char *expected)
{
	cop_json *json;
	char *text = NULL;
	size_t length;
	assert_int_equal(cop_json_parse(reply, strlen(reply), &json, NULL), COP_OK);
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	print(json, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
	cop_json_free(json);
}

static void test_table_has_a_line_for_each_member(void **state)
{
	(void)state;
	expect(table, "{}", "");
	expect(table,
	        "{\"whole\":-3,\"number\":0.1234567,\"yes\":true,\"no\":false,\"text\":\"a b\",\"nothing\":null,"
	        "\"row\":{\"a\":1,\"b\":true,\"c\":\"d\"},\"list\":[1,2.5,\"x\"],\"empty\":{},\"no_list\":[],"
	        "\"seventeen_letters\":1}",
	        " whole           -3\n"
	        " number          0.123457\n"
	        " yes             yes\n"
	        " no              no\n"
	        " text            a b\n"
	        " nothing         none\n"
	        " row             a 1, b yes, c d\n"
	        " list            1, 2.5, x\n"
	        " empty           none\n"
	        " no_list         none\n"
	        " seventeen_letters 1\n");
}

static void test_table_has_maps_of_maps_below_their_key(void **state)
{
	(void)state;
	expect(table,
	        "{\"m\":{\"a\":{\"b\":1},\"c\":2},\"l\":[{\"x\":1,\"y\":{\"z\":2}},{\"x\":3}],\"n\":[[1],[2]],\"e\":4}",
	        " m               \n"
	        "   a               b 1\n"
	        "   c               2\n"
	        " l               \n"
	        "   x               1\n"
	        "   y               z 2\n"
	        "   x               3\n"
	        " n               \n"
	        "   1\n"
	        "   2\n"
	        " e               4\n");
}

static void test_table_has_a_row_for_each_array_of_an_array(void **state)
{
	(void)state;
	expect(table,
	        "{\"positions\":[[\"rewards\",0,1795944873712],[\"visits\",3,1795944872687,2]],\"version\":\"1\"}",
	        " positions       \n"
	        "   rewards, 0, 1795944873712\n"
	        "   visits, 3, 1795944872687, 2\n"
	        " version         1\n");
}

static void test_table_of_a_mixed_list_has_all_of_it(void **state)
{
	(void)state;
	expect(table, "{\"p\":[{\"q\":1},2]}", " p               \n   q               1\n   2\n");
}

static void test_status_has_the_daemon_and_then_each_model(void **state)
{
	(void)state;
	expect(cop_ctl_text_status,
	        "{\"version\":\"1.2\",\"models\":[{\"name\":\"m\",\"arms\":2,\"counts\":{\"a\":1,\"b\":2}},{\"arms\":3}"
	        "],"
	        "\"requests\":{\"received\":4}}",
	        "version           1.2\n"
	        "requests          received 4\n"
	        "\nmodel m\n"
	        "  arms            2\n"
	        "  counts          a 1, b 2\n"
	        "\nmodel ?\n"
	        "  arms            3\n");
	expect(cop_ctl_text_status,
	        "{\"models\":[{\"name\":\"m\",\"holdout\":{\"share\":0.5,\"policy\":{\"losses\":3}},\"losses\":["
	        "{\"name\":\"click\",\"range\":[0,1]},{\"name\":\"revenue\",\"control\":{\"losses\":2}}]}]}",
	        "\nmodel m\n"
	        "  holdout         share 0.5, policy {losses 3}\n"
	        "  losses          \n"
	        "    name click, range [0, 1]\n"
	        "    name revenue, control {losses 2}\n");
	expect(cop_ctl_text_status, "{\"up\":1}", "up                1\n");
}

static void test_explain_has_action_experts_and_paths(void **state)
{
	(void)state;
	expect(cop_ctl_text_explain,
	        "{\"model\":\"m\",\"id\":7,\"state\":\"decision\",\"rev\":12,\"a\":2,\"arm\":\"red\",\"p\":0.5,"
	        "\"greedy\":true,"
	        "\"prediction\":0.25,\"experts\":[{\"name\":\"linear\",\"weight\":0.75,\"prediction\":0.5,"
	        "\"contribution\":0.375,"
	        "\"linear\":-0.125,\"features\":[{\"feature\":\"x\",\"value\":1,\"weight\":-2,\"contribution\":-2},{"
	        "\"value\":3}],"
	        "\"trees\":[{\"leaf\":3,\"value\":0.5,\"path\":[{\"node\":0,\"margin\":1.5,\"right\":true,\"features\":"
	        "["
	        "{\"feature\":\"x\",\"contribution\":1},{\"feature\":\"y\",\"contribution\":0.5}]},{\"node\":2,"
	        "\"margin\":-1,"
	        "\"right\":false}]},{\"leaf\":0,\"value\":-1}]},{\"name\":\"forest\",\"resting\":true}]}",
	        "model m, decision 7, as it was when it decided (revision 12)\n"
	        "arm 2 (red), propensity 0.5000, the best predicted, predicted loss 0.2500\n"
	        "\nexpert linear: weight 0.7500, prediction 0.5000, contribution 0.3750, linear term -0.1250\n"
	        "    feature                   value     weight contribution\n"
	        "    x                             1         -2           -2\n"
	        "    ?                             3        nan         +nan\n"
	        "    tree 0: leaf 3, value +0.5\n"
	        "      node 0    margin   +1.5000  right  x +1, y +0.5\n"
	        "      node 2    margin   -1.0000  left  \n"
	        "    tree 1: leaf 0, value -1\n"
	        "\nexpert forest: resting\n");
}

static void test_explain_without_a_decision_is_of_now(void **state)
{
	(void)state;
	expect(cop_ctl_text_explain,
	        "{\"model\":\"m\",\"state\":\"now\",\"rev\":1,\"a\":0,\"p\":1,\"greedy\":false,\"prediction\":0}",
	        "model m, as it is now (revision 1)\narm 0, propensity 1.0000, explored, predicted loss 0.0000\n");
	expect(cop_ctl_text_explain, "{\"rev\":1,\"id\":\"a\",\"y\":0.5}",
	        "model ?, decision a, as it is now (revision 1)\nvalue 0.5\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_has_a_line_for_each_member),
		cmocka_unit_test(test_table_has_maps_of_maps_below_their_key),
		cmocka_unit_test(test_table_has_a_row_for_each_array_of_an_array),
		cmocka_unit_test(test_table_of_a_mixed_list_has_all_of_it),
		cmocka_unit_test(test_status_has_the_daemon_and_then_each_model),
		cmocka_unit_test(test_explain_has_action_experts_and_paths),
		cmocka_unit_test(test_explain_without_a_decision_is_of_now),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
