/* online/model_page_names.h: what the features of a saved model are called: by a file of names, the columns of its
 * log, the names that a sparse model keeps, or x<i> (candidates' c<i>). One thread. */
#ifndef COP_ONLINE_MODEL_PAGE_NAMES_H
#define COP_ONLINE_MODEL_PAGE_NAMES_H

#include "base/bytes.h"
#include "events/feature_space.h"
#include "learn/learner.h"

#define COP_MODEL_PAGE_NAME_ROOM COP_PLACE_NAMES_ROOM

/* A place and how often it was met. */
typedef struct cop_model_page_often {
	uint64_t uses;
	size_t place;
} cop_model_page_often;

/* Names from a file, one a line, of features, of candidates' features or of arms. */
typedef struct cop_model_page_given {
	const char *file; /* NULL: none */
	char **name;
	size_t count, room;
} cop_model_page_given;

enum { COP_MODEL_PAGE_FEATURES, COP_MODEL_PAGE_CANDIDATES, COP_MODEL_PAGE_ARMS, COP_MODEL_PAGE_GIVEN };

typedef struct cop_model_page_names {
	const cop_model_page_given *given; /* kept; COP_MODEL_PAGE_GIVEN of them */
	size_t contexts;                   /* features of contexts, behind which candidates' come */
	bool ranks, same;                  /* there are candidates; they have the contexts' columns */
	cop_feature_space *space;          /* dense, of the log; NULL: none */
	cop_place_names *places;           /* sparse; NULL: none */
	cop_model_page_often *often;       /* places with names, often_count of them, those that came most first */
	size_t often_count;
} cop_model_page_names;

typedef struct cop_model_page_name_list {
	const char **name;
	char *texts;
	uint8_t *known;
	size_t count;
} cop_model_page_name_list;

/* Reads the file, if there is one. Errors of cop_stream_open_read, COP_ENOMEM. Finish with fini, also after an error.
 */
COP_CHECK cop_err cop_model_page_names_given_read(cop_model_page_given *given, cop_diag *diag);
void cop_model_page_names_given_fini(cop_model_page_given *given);
/* COP_ESHAPE: there are names, and not as many as the model needs. */
COP_CHECK cop_err cop_model_page_names_check(
        const cop_model_page_names *names, const cop_learner_settings *settings, cop_diag *diag);

/* From a model's file. Finish with fini, also after an error. Errors of cop_model_names_load. */
COP_CHECK cop_err cop_model_page_names_read(cop_model_page_names *names, const cop_learner_settings *settings,
        const void *data, size_t length, cop_diag *diag);
void cop_model_page_names_fini(cop_model_page_names *names);

/* Feature i of a raw row, of contexts or candidates joined. Whether it is more than its number. */
bool cop_model_page_names_feature(const cop_model_page_names *names, size_t i, char *out, size_t size);
/* Arm k: its name, or "arm 0". */
void cop_model_page_names_arm(const cop_model_page_names *names, size_t k, char *out, size_t size);
/* Input i of a linear term: a feature, "constant", "a*b" of a product. Of hashed products the one that comes most among
 * those of its place, and a second where it comes more than half as often; "product": none is known. */
void cop_model_page_names_input(
        const cop_model_page_names *names, const cop_learner *learner, size_t i, char *out, size_t size);
/* Of features from, from + 1 ...: `count` texts and what they lie in, and whether each is known: it has a name, of a
 * sparse model one that came in at least every hundredth row, about. COP_ENOMEM. Finish with free, also after an error.
 */
COP_CHECK cop_err cop_model_page_names_list(
        const cop_model_page_names *names, size_t from, size_t count, cop_model_page_name_list *out);
void cop_model_page_names_list_free(cop_model_page_name_list *list);

#endif
