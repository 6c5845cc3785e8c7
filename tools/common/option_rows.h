/* tools/common/option_rows.h: a table of options (online/setting.h) on the command line: getopt's rows, reading,
 * --help.
 *
 * Rows without a name for the command line are passed over; the last row has no name at all. An option's number is
 * `first` and its place in the table. One thread. */
#ifndef COP_TOOLS_COMMON_OPTION_ROWS_H
#define COP_TOOLS_COMMON_OPTION_ROWS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "online/setting.h"

#define COP_OPTION_ROWS_MOST 64 /* in one table */

/* Appends a row for each option to getopt's table, which ends with a row without a name; room: of the table. */
void cop_option_rows_join(const cop_setting *rows, int first, struct option *table, size_t room);
/* The number of the option of that name (length characters), 0 when there is none. */
int cop_option_rows_find(const cop_setting *rows, int first, const char *name, size_t length, bool *takes_argument);
/* Reads the text into the option's field; several values are divided by commas, or by + where commas divide whole
 * settings. On error says what was expected and returns false. */
bool cop_option_rows_read(const char *command, const cop_setting *option, const char *text, void *base);
/* One option of --help, its lines at most 79 characters wide. before: put before its text; standard: its default, ""
 * where there is none. */
void cop_option_rows_usage(const cop_setting *option, const char *before, const char *standard);
/* " --NAME VALUE" of each option given, the same text for the same values, as far as there is room. */
void cop_option_rows_write(const cop_setting *rows, const bool *given, const void *base, char *out, size_t size);

#endif
