/* docs/reference/options.md is what the tables say. COPPICE_OPTIONS=renew writes it anew. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/config_rules.h"

#define PAGE COP_TEST_DATA "/../../docs/reference/options.md"

static const char head[] =
        "# Options of a model\n\n"
        "Every option of a section `model` of [coppice.conf(5)](coppice.conf.5.scd), in short. This page is written "
        "from the\n"
        "program's own table (`lib/online/model_options.c`) by the test `test_config_reference`, when "
        "`COPPICE_OPTIONS=renew`\nis in its environment.\n"
        "Options with a name for the command line are those of `coppice simulate`, `replay` and `bakeoff`; options "
        "marked\n"
        "\"daemon\" are not in texts for [the library](library.md). A running daemon applies an option marked \"live\" "
        "when it\n"
        "reads its configuration again.\n\n"
        "| option | models of learner | value | default | command line | notes | meaning |\n"
        "|---|---|---|---|---|---|---|\n";

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

static void put_value(const cop_setting *rule, cop_bytes *out)
{
	char text[192] = "a file";
	if (rule->kind < COP_SETTING_OTHER)
		cop_setting_describe(rule, text, sizeof text);
	put(out, text);
}

static void put_own_default(const cop_setting *rule, const cop_config_model *model, cop_bytes *out)
{
	if (rule->kind < COP_SETTING_OTHER)
		cop_setting_print(rule, &cop_setting_on_line, model, out);
	else
		put(out, "none");
}

static void put_default(const cop_setting *row, const cop_setting *rule, cop_bytes *out)
{
	cop_config_model model;
	memset(&model, 0, sizeof model);
	cop_model_settings_init(&model.set);
	cop_config_model_defaults(&model);
	if (strcmp(row->name, "features") == 0 || strcmp(row->name, "arms") == 0)
		put(out, "must be given");
	else if (row->kind == COP_SETTING_OTHER || strcmp(row->name, "explain_keep") == 0) /* the daemon's own */
		put_own_default(rule, &model, out);
	else
		cop_model_options_default(row, COP_SETTING_OF_ALL, out);
}

static void put_row(size_t i, cop_bytes *out)
{
	char learners[64];
	const cop_setting *row = &cop_model_options[i];
	const cop_setting rule = cop_config_rules_at(&cop_config_model_section, i);
	bool live = (rule.flags & COP_SETTING_IS_LIVE) != 0, own = row->kind == COP_SETTING_OTHER;
	cop_setting_name_words(cop_model_options_learners, row->learners, ", ", ", ", learners, sizeof learners);
	put(out, "| `");
	put(out, row->name);
	put(out, "` | ");
	put(out, row->learners == COP_SETTING_OF_ALL ? "all" : learners);
	put(out, " | ");
	put_value(&rule, out);
	put(out, " | ");
	put_default(row, &rule, out);
	put(out, " | ");
	if (row->line != NULL) {
		put(out, "`--");
		put(out, row->line);
		put(out, "`");
	}
	put(out, " | ");
	put(out, own ? "daemon" : "");
	put(out, own && live ? ", " : "");
	put(out, live ? "live" : "");
	put(out, " | ");
	put(out, row->policies == 0 ? "" : row->policies == 1 ? "policy epsilon: " : "policies other than epsilon: ");
	put(out, row->text);
	put(out, " |\n");
}

static void read_page(cop_bytes *out)
{
	FILE *file = fopen(PAGE, "re");
	for (int c; file != NULL && (c = getc(file)) != EOF;)
		cop_bytes_put_u8(out, (uint8_t)c);
	if (file != NULL)
		(void)fclose(file);
}

static void test_config_reference_is_what_the_tables_say(void **state)
{
	(void)state;
	cop_bytes expected, found;
	cop_bytes_init(&expected);
	cop_bytes_init(&found);
	put(&expected, head);
	for (size_t i = 0; cop_model_options[i].name != NULL; i++)
		put_row(i, &expected);
	const char *renew = getenv("COPPICE_OPTIONS");
	if (renew != NULL && strcmp(renew, "renew") == 0) {
		FILE *file = fopen(PAGE, "we");
		assert_non_null(file);
		assert_int_equal(fwrite(expected.data, 1, expected.length, file), expected.length);
		assert_int_equal(fclose(file), 0);
	}
	read_page(&found);
	cop_bytes_put_u8(&expected, 0);
	cop_bytes_put_u8(&found, 0);
	assert_string_equal((const char *)found.data, (const char *)expected.data);
	cop_bytes_fini(&expected);
	cop_bytes_fini(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_reference_is_what_the_tables_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
