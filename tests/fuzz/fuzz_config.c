/* Any text as a configuration: refused with a report, or accepted and then printed, read back and found equal.
 * No file is read: the grammar has no include and name files are off without a folder. */
#include <stdint.h>
#include <stdlib.h>

#include "daemon/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void print_and_read_back(const cop_config *config)
{
	cop_bytes text;
	cop_bytes_init(&text);
	cop_config_print(config, &text);
	require(text.err == COP_OK);
	cop_config *again;
	cop_config_report report;
	cop_config_report_init(&report);
	require(cop_config_parse((const char *)text.data, text.length, "printed", NULL, &again, &report) == COP_OK);
	cop_config_changes changes;
	require(cop_config_diff(config, again, &changes) == COP_OK);
	require(changes.count == 0);
	cop_config_changes_free(&changes);
	cop_config_free(again);
	cop_config_report_fini(&report);
	cop_bytes_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse((const char *)data, size, "fuzz", NULL, &config, &report);
	require((err == COP_OK) == (config != NULL));
	require(err == COP_OK || report.count != 0);
	if (config != NULL)
		print_and_read_back(config);
	cop_config_free(config);
	cop_config_report_fini(&report);
	return 0;
}
