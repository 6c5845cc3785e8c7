/* docs/reference/options.md is what the tables say. */
#include "support.h"

#include <string.h>

#include "daemon/config/config_rules.h"
#include "support_page.h"

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

static void test_config_reference_is_what_the_tables_say(void **state)
{
	static const char *const titles[] = { "option", "models of learner", "value", "default", "command line",
		"notes", "meaning" };
	(void)state;
	cop_bytes table;
	cop_bytes_init(&table);
	cop_test_page_head(&table, titles, 7);
	for (size_t i = 0; cop_model_options[i].name != NULL; i++)
		put_row(i, &table);
	cop_test_page_check("options.md", "# Options of a model", &table);
	cop_bytes_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_reference_is_what_the_tables_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
