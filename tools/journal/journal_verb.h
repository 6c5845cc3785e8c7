/* tools/journal/journal_verb.h: the verbs of `coppice journal`.
 *
 * Each prints its answer on standard output, text or JSON, and complains on standard error; it returns the exit status
 * (command.h). */
#ifndef COP_TOOLS_JOURNAL_JOURNAL_VERB_H
#define COP_TOOLS_JOURNAL_JOURNAL_VERB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "store/journal_segment.h"
#include "wire/wire_models.h"

#define COP_JOURNAL_COMMAND "journal"

typedef struct cop_journal_request {
	const char *folder; /* the one with the segments */
	const char *out;    /* salvage: the new folder */
	bool json;
	uint64_t from, to; /* dump: sequence numbers */
	const char *model; /* dump: NULL: all */
	const char *id;    /* dump: NULL: all */
	const char *unit;  /* dump: NULL: all */
	unsigned type;     /* dump: 0: all */
} cop_journal_request;

int cop_journal_verb_ls(const cop_journal_request *request);
int cop_journal_verb_stat(const cop_journal_request *request);
int cop_journal_verb_verify(const cop_journal_request *request);
int cop_journal_verb_dump(const cop_journal_request *request);
int cop_journal_verb_salvage(const cop_journal_request *request);

/* Complains of records that are missing in a journal that is read over gaps. */
void cop_journal_verb_report_gap(uint64_t first, uint64_t last);
/* Complains of the damage and prints what to do about it; COP_EXIT_FAILED. */
int cop_journal_verb_report_damage(cop_err err, const cop_diag *diag);
/* A writer whose text is one object, begun; NULL when none is wanted. False, after a complaint: memory is short. */
bool cop_journal_verb_begin_json(bool wanted, cop_json_writer **json);
/* Ends the object, prints it and frees the writer; 0 or COP_EXIT_FAILED. */
int cop_journal_verb_print_json(cop_json_writer *json);
/* Key "models", the names in a segment's model set; nothing where there is none. */
void cop_journal_verb_json_models(cop_json_writer *json, const uint8_t *model_set, size_t length);
/* The same as text, "a,b"; "-" without one. */
void cop_journal_verb_model_names(const uint8_t *model_set, size_t length, char *out, size_t size);
/* A model of the set; out's texts point into it. */
bool cop_journal_verb_find_model(
        const uint8_t *model_set, size_t length, const char *name, size_t name_length, cop_wire_model *out);
/* What it is like, in words, or as keys of the object that is open. */
void cop_journal_verb_model_text(const cop_wire_model *model, char *out, size_t size);
void cop_journal_verb_json_model(cop_json_writer *json, const cop_wire_model *model);
/* A line on the terminal about the progress of long work; nothing where standard error is no terminal. */
typedef struct cop_journal_progress {
	bool on, shown;
	double next; /* not before */
} cop_journal_progress;

void cop_journal_verb_progress_begin(cop_journal_progress *progress);
void cop_journal_verb_progress_show(cop_journal_progress *progress, uint64_t records);
/* Takes the line away. */
void cop_journal_verb_progress_clear(cop_journal_progress *progress);

/* What was printed has arrived: status; else COP_EXIT_FAILED. */
int cop_journal_verb_finish(int status);

#endif
