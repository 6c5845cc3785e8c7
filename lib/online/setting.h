/* online/setting.h: one option as one row of a table: how its text becomes a field, and a field text; what is expected.
 *
 * A field is of the struct `base`, at the row's offset; its type follows from the kind. Tables are the model's
 * (online/model_options.h), and those of programs for settings of their own. Pure functions. */
#ifndef COP_ONLINE_SETTING_H
#define COP_ONLINE_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

typedef enum cop_setting_kind {
	COP_SETTING_NAME,    /* char[16], one of words; empty: the default */
	COP_SETTING_WORD,    /* an enum, the position in words */
	COP_SETTING_WORDS,   /* unsigned, a bit for each of several words; 0: all of them */
	COP_SETTING_COUNT,   /* uint32_t in [low, high] */
	COP_SETTING_WHOLE,   /* uint64_t or size_t in [low, high] */
	COP_SETTING_NUMBER,  /* double in [low, high] */
	COP_SETTING_MICROS,  /* a duration: uint64_t microseconds in [low, high] */
	COP_SETTING_SECONDS, /* the same, but the field is a double, seconds */
	COP_SETTING_SIZE,    /* uint64_t or size_t bytes in [low, high]; with words, words[0]: 0 */
	COP_SETTING_FLAG,    /* bool */
	COP_SETTING_UNLESS,  /* bool, the contrary of what is written */
	COP_SETTING_RANGE,   /* double[2] in [low, high], the first one less */
	COP_SETTING_MAYBE,   /* cop_setting_maybe: one of words, or a number in [low, high] */
	COP_SETTING_SHARES,  /* cop_arm_shares, ARM=SHARE each; none: not printed */
	COP_SETTING_WEIGHTS, /* cop_loss_weights, NAME=WEIGHT each; none: not printed */
	COP_SETTING_RANGES,  /* cop_loss_ranges, NAME=LOW:HIGH each; none: not printed */
	COP_SETTING_OTHER    /* from here on: for the table's owner to read and print */
} cop_setting_kind;

#define COP_SETTING_NAME_ROOM 16

typedef struct cop_setting_maybe {
	bool given;   /* a number */
	double value; /* it, or the position of a word */
} cop_setting_maybe;

typedef struct cop_setting {
	const char *name;
	int kind; /* cop_setting_kind */
	size_t offset;
	double low, high;         /* infinite: not described */
	const char *const *words; /* NULL-ended; an empty word is never written */
	unsigned learners;        /* COP_SETTING_OF_* (online/model_options.h): which models have it; 0: no model's */
	unsigned policies;        /* a bit for each place of cop_model_options_policies that has it; 0: all */
	unsigned flags;           /* COP_SETTING_IS_* */
	const char *line;         /* its name on the command line; NULL: it is not there */
	const char *argument;     /* what stands for its value there; NULL: it takes none */
	const char *text;         /* what it is, without its default */
} cop_setting;

#define COP_SETTING_IS_LIVE  1u  /* may change while the model lives, or the daemon runs */
#define COP_SETTING_IS_SHAPE 2u  /* saved state fits models alone that have the same */
#define COP_SETTING_IS_QUIET 8u  /* neither printed nor saved while it is 0, its default: added since 0.1.0 */
#define COP_SETTING_IS_ARMED 16u /* its values are of arms, which may have names */
#define COP_SETTING_IS_SAVED 4u  /* a model that begins with saved state has the saved value */

/* Options of more than one value: ranges, words, shares, named losses. */
bool cop_setting_is_list(const cop_setting *option);
/* Reads `count` texts into the field. False: a text is not allowed, *wrong is its place (count: too few), and the field
 * is as it was. Contract: the kind is below COP_SETTING_OTHER. */
bool cop_setting_read(const cop_setting *option, const char *const *texts, size_t count, void *base, size_t *wrong);
/* What is expected, "a number from 0 to 1". */
void cop_setting_describe(const cop_setting *option, char *out, size_t size);

/* "a, b or c", of the words whose bits are set, empty ones not among them. */
void cop_setting_name_words(
        const char *const *words, unsigned set, const char *between, const char *last, char *out, size_t size);

/* How values are written: in a file, "{ \"a\", \"b\" }", or on a command line, "a+b". */
typedef struct cop_setting_style {
	const char *begin, *between, *end; /* of several values */
	bool quotes;
} cop_setting_style;
extern const cop_setting_style cop_setting_in_file, cop_setting_on_line;
/* In double quotes as a file has it. */
void cop_setting_put_quoted(const char *text, cop_bytes *out);
void cop_setting_print(const cop_setting *option, const cop_setting_style *style, const void *base, cop_bytes *out);

size_t cop_setting_size(const cop_setting *option);
/* Whether the option is at a default that is neither printed nor saved. */
bool cop_setting_is_silent(const cop_setting *option, const void *base);
bool cop_setting_equal(const cop_setting *option, const void *a, const void *b);
/* b's value becomes a's. */
void cop_setting_copy(const cop_setting *option, void *a, const void *b);

#endif
