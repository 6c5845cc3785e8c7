/* tools/whatif/whatif_config.h: one model's section of a configuration as a daemon prints it, and its journal records
 * it (docs/reference/journal.md): a line for each option. Any thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_CONFIG_H
#define COP_TOOLS_WHATIF_WHATIF_CONFIG_H

#include "evaluate/promotion_test.h"
#include "online/model_options.h"

typedef struct cop_whatif_config {
	cop_model_settings set;
	cop_promotion_test_settings rule; /* that challengers are judged by */
	bool starts_from;                 /* a saved model */
	bool has_delta;                   /* it is printed */
} cop_whatif_config;

/* name: as configured, not terminated. COP_ENOTFOUND: the text has no such section. COP_EFORMAT: an option is none of
 * this version, or its value is not. */
COP_CHECK cop_err cop_whatif_config_read(
        const char *text, size_t length, const char *name, size_t name_length, cop_whatif_config *out);

#endif
