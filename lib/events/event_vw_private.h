/* events/event_vw_private.h: one line of Vowpal Wabbit text: its label part, and its features. For event_vw*.c only.
 *
 *   LABEL ['TAG]|[NAMESPACE[:WEIGHT]] FEATURE[:VALUE] ... |...
 *
 * Label and tag are as Vowpal Wabbit's cb labels: words ACTION[:COST[:PROBABILITY]], or `shared`; the last word is the
 * tag when it begins with ' or touches the bar; what stands before a tab, with more behind it, is passed over. A
 * feature without a value is 1, one without a name is numbered, a value that does not begin like a number is a text,
 * whose hash has the name's as seed. Blanks are spaces, tabs and carriage returns. */
#ifndef COP_EVENTS_EVENT_VW_PRIVATE_H
#define COP_EVENTS_EVENT_VW_PRIVATE_H

#include "events/event_reader.h"

#define COP_VW_MAX_ACTIONS    65536
#define COP_VW_MAX_CANDIDATES 65536

typedef struct cop_vw_line {
	const char *start, *end; /* borrowed */
	const char *bar;         /* the first one; end when there is none */
	const char *source;      /* for diagnostics */
	uint64_t number;
	cop_diag *diag;
} cop_vw_line;

/* What is wrong at `at`, and what was expected; gives `err` back. */
cop_err cop_vw_wrong(const cop_vw_line *line, const char *at, cop_err err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* The same with the text from `at` to `end` in front of the message. */
cop_err cop_vw_wrong_text(const cop_vw_line *line, const char *at, const char *end, cop_err err, const char *expected);

typedef struct cop_vw_cost {
	const char *at;  /* where it stands */
	uint32_t action; /* as written */
	bool has_cost, has_p;
	double cost, p;
} cop_vw_cost;

typedef struct cop_vw_label {
	bool shared;
	cop_vw_cost *cost; /* count of them; owned, grown as needed */
	size_t count, capacity;
	const char *tag; /* borrowed from the line */
	size_t tag_length;
} cop_vw_label;

/* COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. All zero is an empty label, which may be read into again and again. */
COP_CHECK cop_err cop_vw_label_read(cop_vw_label *label, const cop_vw_line *line);
void cop_vw_label_fini(cop_vw_label *label);
/* The one that was played; NULL: none was. assumed_p: probability when none is written, 0: that is an error.
 * COP_EFORMAT. */
COP_CHECK cop_err cop_vw_label_played(
        const cop_vw_label *label, const cop_vw_line *line, double assumed_p, const cop_vw_cost **played, double *p);

/* The features from the bar on into the row that the space has begun. COP_EFORMAT, COP_ENONFINITE. */
COP_CHECK cop_err cop_vw_features_read(cop_feature_space *space, const cop_vw_line *line);

static inline bool cop_vw_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

#endif
