/* A configuration back into the file's syntax, by the same tables that read it. */
#include <stdio.h>
#include <string.h>

#include "daemon/config/config_rules.h"

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

/* model: whose section it is, NULL: no model's. */
static void print_rules(const cop_config_section *section, const cop_config_model *model, const char *indent,
        const void *base, cop_bytes *out)
{
	for (size_t i = 0; section->rules[i].name != NULL; i++) {
		const cop_setting rule = cop_config_rules_at(section, i);
		if (!cop_config_value_set(&rule, base) || (model != NULL && !cop_model_options_has(&model->set, &rule)))
			continue;
		put(out, indent);
		put(out, rule.name);
		put(out, " = ");
		cop_config_value_print(&rule, base, out);
		put(out, "\n");
	}
}

void cop_config_print(const cop_config *config, cop_bytes *out)
{
	print_rules(&cop_config_sections[0], NULL, "", config, out);
	for (size_t i = 1; i < COP_CONFIG_SECTIONS; i++) {
		const cop_config_section *section = &cop_config_sections[i];
		if (!cop_config_section_shown(section, config))
			continue;
		put(out, section->name);
		put(out, " {\n");
		print_rules(section, NULL, "\t", config, out);
		put(out, "}\n");
	}
	for (size_t i = 0; i < config->model_count; i++) {
		const cop_config_model *model = &config->models[i];
		put(out, "model \"");
		put(out, model->name);
		put(out, "\" {\n");
		print_rules(&cop_config_model_section, model, "\t", model, out);
		if (model->refit.given || model->refit.enabled) {
			put(out, "\trefit {\n");
			print_rules(&cop_config_refit_section, NULL, "\t\t", model, out);
			put(out, "\t}\n");
		}
		put(out, "}\n");
	}
}
