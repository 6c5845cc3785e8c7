/* tools/common/reader_options.h: the options about how a bandit log is to be read, in one place.
 *
 * Formats: vw, dsjson, csv (events/event_reader), journal (history). A subcommand reads these options beside its own
 * (tools/common/options.h), sets the format, checks once all are read, and opens its files. A command with a loop of
 * its own over getopt_long joins the options to its own and hands over those that it does not know.
 *
 * Texts given are kept (they are argv's). One thread. */
#ifndef COP_TOOLS_COMMON_READER_OPTIONS_H
#define COP_TOOLS_COMMON_READER_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "events/event_reader.h"
#include "events/feature_space.h"
#include "options.h"

#define COP_READER_SHORT_OPTIONS "q:"
#define COP_READER_MOST_PAIRS    64

/* getopt_long's numbers of these options; a subcommand's own are below COP_READER_FIRST. */
enum {
	COP_READER_FIRST = 2000,
	COP_READER_CONTEXT = COP_READER_FIRST,
	COP_READER_ACTION,
	COP_READER_COST,
	COP_READER_PROBABILITY,
	COP_READER_REWARD,
	COP_READER_ITEMS,
	COP_READER_FIRST_ACTION,
	COP_READER_ASSUME,
	COP_READER_LINES,
	COP_READER_FEATURES,
	COP_READER_BITS,
	COP_READER_HASH,
	COP_READER_KEEP,
	COP_READER_IGNORE,
	COP_READER_PAIR, /* -q */
	COP_READER_ON_ERROR,
	COP_READER_END
};

/* For --help, behind the subcommand's own options. */
#define COP_READER_USAGE                                                                                               \
	"  --context COLUMNS    csv: the context: a,b,c or first-last, names or places\n"                              \
	"                       from 1 (default: the others)\n"                                                        \
	"  --action COLUMN      csv: the action's column (default: action; without a\n"                                \
	"                       header the third from the end)\n"                                                      \
	"  --probability COLUMN\n"                                                                                     \
	"                       csv: the propensity's (default: probability, or\n"                                     \
	"                       propensity; else the last but one)\n"                                                  \
	"  --cost COLUMN        csv: the cost's (default: cost, or reward; without a\n"                                \
	"                       header the last)\n"                                                                    \
	"  --reward[=COLUMN]    csv: the cost's column holds rewards: cost = 1 - reward\n"                             \
	"  --items FILE         csv: features of the actions, a line for each, in order:\n"                            \
	"                       they become candidates\n"                                                              \
	"  --first-action 0|1   csv: what the first action is called (default 0)\n"                                    \
	"  --assume-probability P\n"                                                                                   \
	"                       propensity of labels that name none (default: such a\n"                                \
	"                       label is an error)\n"                                                                  \
	"  --lines one|several  vw: lines of an event; several end at a blank line\n"                                  \
	"                       (default: as the file begins)\n"                                                       \
	"  --features dense|hashed\n"                                                                                  \
	"                       a column for each name, in order of appearance, or places\n"                           \
	"                       by hash\n"                                                                             \
	"  --bits B             hashed: names go to 2^B places, 1 to 30 (default 18;\n"                                \
	"                       replay: fewer for few names)\n"                                                        \
	"  --hash all|strings   hashed: names of digits are hashed too, or are their own\n"                            \
	"                       place (default strings)\n"                                                             \
	"  --keep N             namespaces that begin with a character of N only; may be\n"                            \
	"                       repeated\n"                                                                            \
	"  --ignore N           no namespaces that begin with a character of N; may be\n"                              \
	"                       repeated\n"                                                                            \
	"  -q AB                hashed: products of the features of namespaces A and B,\n"                             \
	"                       ':' is any; may be repeated\n"                                                         \
	"  --on-error stop|skip\n"                                                                                     \
	"                       at a bad event, stop (default) or skip it; skipped ones\n"                             \
	"                       are counted\n"

typedef enum cop_reader_features {
	COP_READER_FEATURES_AUTO, /* not given: the subcommand chooses */
	COP_READER_FEATURES_DENSE,
	COP_READER_FEATURES_HASHED,
} cop_reader_features;

typedef struct cop_reader_options {
	const char *command;              /* for complaints */
	const char *format;               /* the caller's: vw, dsjson, csv, journal */
	const char *model;                /* the caller's: journal: whose events; NULL: there is only one */
	cop_event_reader_settings reader; /* but for its space */
	cop_reader_features features;
	bool hash_all;
	unsigned bits; /* 0: not given */
	char keep[256], ignore[256];
	const char *pairs[COP_READER_MOST_PAIRS];
	size_t pair_count;
	bool skip; /* --on-error skip */
	bool given[COP_READER_END - COP_READER_FIRST];
} cop_reader_options;

void cop_reader_options_init(cop_reader_options *options, const char *command);
/* A table of cop_options_read. */
extern const cop_option cop_reader_options_rows[];
cop_option_set cop_reader_options_set(cop_reader_options *options);
/* own (ended by a row of zeros), then these, then a row of zeros, into joined. room is enough for all. */
void cop_reader_options_join(const struct option *own, struct option *joined, size_t room);
/* Is it one of these (or -q)? */
bool cop_reader_options_has(int option);
/* Reads one option; false: complained of. */
bool cop_reader_options_read(cop_reader_options *options, int option, char *text);
bool cop_reader_options_given(const cop_reader_options *options, int option);
/* The format is known, and every option given means something for it (false: complained). */
bool cop_reader_options_check(const cop_reader_options *options);

/* Names of the formats, NULL at the end. */
extern const char *const cop_reader_formats[];

/* A space of these options; otherwise_dense: where they leave open whether it is dense or hashed. Caller frees with
 * cop_feature_space_free. Errors of cop_feature_space_new. */
COP_CHECK cop_err cop_reader_options_space_new(
        const cop_reader_options *options, bool otherwise_dense, cop_feature_space **out, cop_diag *diag);
/* The reader of the file, or journal folder. space is kept; a journal's rows do not go through it, they are as its
 * model had them. Caller frees with cop_event_reader_free. Errors of cop_event_reader_open, cop_journal_history_open.
 */
COP_CHECK cop_err cop_reader_options_open(const cop_reader_options *options, const char *path, cop_feature_space *space,
        cop_event_reader **out, cop_diag *diag);
/* The next event; bad ones are passed over when the options say skip, and counted in *skipped (never reset), the first
 * few with a complaint on standard error. COP_EEND and other errors of cop_event_reader_next. */
COP_CHECK cop_err cop_reader_options_next(const cop_reader_options *options, cop_event_reader *reader,
        cop_logged_event *event, uint64_t *skipped, cop_diag *diag);

#endif
