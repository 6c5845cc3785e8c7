/* coppice.h: learning from decisions, and predicting with trained trees, inside your own program.
 *
 * A coppice_model decides and learns as one model of the daemon coppiced does: a context comes, the model returns an
 * action with its propensity, later the loss comes under the same id, and the model has learned. A coppice_trained
 * predicts with the trees that `coppice train --model` wrote. docs/reference/library.md shows both.
 *
 *     coppice_model *model;
 *     coppice_decision decision;
 *     coppice_model_new("arms = 3  features = 2", &model, NULL);
 *     const float x[2] = { 0.5f, 1.0f };
 *     coppice_row row = coppice_row_dense(x, 2);
 *     coppice_model_decide(model, coppice_id_number(17), &row, NULL, now, &decision);
 *     ... play decision.action, see what comes of it ...
 *     coppice_model_feedback(model, coppice_id_number(17), 0.0, now, NULL);
 *     coppice_model_free(model);
 *
 * Names. All that is exported begins with coppice_ or COPPICE_; the library's own names begin with cop_ and are not
 * exported.
 *
 * Time is an argument: seconds of any clock, finite. A time before the latest one that the model was given counts as
 * that one. A saved model goes on with the times that it has seen, so use a clock that goes on as well.
 *
 * Ownership. A pointer that is passed in is borrowed until the function returns. An object that a function makes is
 * freed with the object's _free; NULL may be freed. A text that a function returns belongs to the object and stays
 * until the next call for the object. Where a function fails, what it would have made is NULL, other results are
 * undefined, and the object is as it was. Pointers must not be NULL unless the function allows it.
 *
 * Threads. Distinct objects may be used on distinct threads; one object by one thread at a time. The library starts no
 * threads, has no global state, prints nothing, reads neither clock nor environment, and opens the files alone that the
 * caller names. (A defect of the library that its own checks find ends the program with a line on standard error.)
 *
 * Compatibility. Within one soname (libcoppice.so.1) a program that was built with a version runs with every later one:
 * functions keep their meaning, structures their layout, enumerations their numbers. A new minor version may add
 * functions, numbers at the end of enumerations, options of models, and keys in JSON texts; a new patch version
 * only repairs. Model files of every version since 0.1.0 are read; files of newer versions are refused. What a model
 * decides and learns may differ between versions; a model of one version, with the same seed and the same calls on the
 * same kind of processor, gives the same bits. */
#ifndef COPPICE_H
#define COPPICE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COPPICE_VERSION_MAJOR 0
#define COPPICE_VERSION_MINOR 1
#define COPPICE_VERSION_PATCH 0
#define COPPICE_VERSION       "0.1.0"

/* COPPICE_VERSION of the library that the program runs with. */
const char *coppice_version(void);

/* ---- errors ---- */

typedef enum coppice_err {
	COPPICE_OK = 0,
	COPPICE_EINVAL = 1,     /* an argument, setting or value is outside what is allowed */
	COPPICE_ENOMEM = 2,     /* memory could not be had */
	COPPICE_EIO = 3,        /* the operating system refused to read or write */
	COPPICE_EFORMAT = 4,    /* a file or text is malformed */
	COPPICE_EVERSION = 5,   /* the file is of a newer version */
	COPPICE_ESHAPE = 6,     /* dimensions or kinds do not fit */
	COPPICE_ENONFINITE = 7, /* NaN or infinity where a number was expected */
	COPPICE_EDIVERGED = 8,  /* the step would have made a parameter non-finite; it was refused */
	COPPICE_ENOTFOUND = 9,  /* no such file, name or id */
	COPPICE_EEXIST = 10,    /* there already */
	COPPICE_EFULL = 11,     /* a bound is reached */
	COPPICE_EEND = 12       /* there is no more */
} coppice_err;

/* Short text of an error, for example "out of memory"; never NULL. */
const char *coppice_err_text(coppice_err err);

/* What was wrong and what was expected, of a function that makes an object: "FILE:LINE: ...", "OPTION: ...". */
typedef struct coppice_message {
	char text[1024];
} coppice_message;

/* ---- rows ---- */

/* One input in one of three forms, of `count` entries:
 *     dense   value[i] is the value of feature i
 *     places  value[i] is that of feature place[i], in any order; what is not there is 0
 *     names   value[i] is that of the feature name[i], in any order; what is not there is 0
 * Values are finite. A model with features > 0 takes each form, names where it knows its features' names; dense rows
 * have exactly `features` values, and of entries of one feature the last counts. A model with features = 0 (sparse)
 * hashes names to its 2^bits places, and values of one place add up. A name is NAME, or NAMESPACE^NAME. */
typedef struct coppice_row {
	size_t count;
	const float *value;
	const uint32_t *place;   /* NULL: the row has another form */
	const char *const *name; /* the same */
} coppice_row;

static inline coppice_row coppice_row_dense(const float *value, size_t count)
{
	coppice_row row = { count, value, NULL, NULL };
	return row;
}
static inline coppice_row coppice_row_places(const uint32_t *place, const float *value, size_t count)
{
	coppice_row row = { count, value, place, NULL };
	return row;
}
static inline coppice_row coppice_row_names(const char *const *name, const float *value, size_t count)
{
	coppice_row row = { count, value, NULL, name };
	return row;
}

/* ---- ids ---- */

/* The name of a decision, under which its loss comes. The kinds are distinct: the number 17 is not the text "17". */
typedef enum coppice_id_kind { COPPICE_ID_NUMBER = 0, COPPICE_ID_TEXT = 1, COPPICE_ID_BYTES = 2 } coppice_id_kind;

typedef struct coppice_id {
	coppice_id_kind kind;
	uint64_t number;   /* COPPICE_ID_NUMBER */
	const void *bytes; /* the others: length bytes, 1 to 64 */
	size_t length;
} coppice_id;

static inline coppice_id coppice_id_number(uint64_t number)
{
	coppice_id id = { COPPICE_ID_NUMBER, number, NULL, 0 };
	return id;
}
static inline coppice_id coppice_id_text(const char *text)
{
	coppice_id id = { COPPICE_ID_TEXT, 0, text, strlen(text) };
	return id;
}

/* ---- models that learn from their decisions ---- */

typedef struct coppice_model coppice_model;

/* settings: what a configuration has between the braces of a section `model` (coppice.conf(5)): OPTION = VALUE, with
 * white space between options, for example
 *     "arms = 6  features = 36  seed = 7  reward_window = 10min  share_min = { 0=0.1 }"
 * Options that are not there have the configuration's defaults, but explain_keep, whose default is 0 here. Options that
 * need a daemon (apprentice, names of files, refit, unheard) are refused. message may be NULL. Caller frees.
 * COPPICE_EFORMAT: the text is malformed, or has an unknown option. COPPICE_EINVAL: a value is outside what is allowed.
 * COPPICE_ENOMEM. */
coppice_err coppice_model_new(const char *settings, coppice_model **out, coppice_message *message);
void coppice_model_free(coppice_model *model);

/* Of the last call for the model that failed: what was wrong and what was expected; "" before. */
const char *coppice_model_message(const coppice_model *model);

/* Changes options of a living model, written as above: epsilon, epsilon_decay, epsilon_floor, gamma, explore_first,
 * optimism, least_propensity, share_min, share_max, reward_window, default_loss, reward, pending_max, pending_bytes,
 * explain_keep. Options that are not there stay. COPPICE_EFORMAT, COPPICE_EINVAL (another option, too),
 * COPPICE_ENOMEM. */
coppice_err coppice_model_adjust(coppice_model *model, const char *settings);

/* What the features of a model with features > 0 are called, all of them in order (`features` texts, no two alike):
 * rows of names and explanations know them, and the file has them. Names that were there are replaced.
 * COPPICE_EINVAL: the model is sparse, or a name is there twice. COPPICE_EFULL: the names are too long in all.
 * COPPICE_ENOMEM. */
coppice_err coppice_model_name_features(coppice_model *model, const char *const *name);

typedef enum coppice_actions {
	COPPICE_ARMS = 0,       /* learners ensemble and dgt: one of `arms` actions */
	COPPICE_CANDIDATES = 1, /* learner rank: one of the candidates that come with the context */
	COPPICE_VALUES = 2      /* learner value: a number in value_range */
} coppice_actions;

/* What the model is like. */
coppice_actions coppice_model_actions(const coppice_model *model);
size_t coppice_model_arms(const coppice_model *model);           /* 0 but for COPPICE_ARMS */
size_t coppice_model_features(const coppice_model *model);       /* 0: sparse */
size_t coppice_model_max_candidates(const coppice_model *model); /* 0 but for COPPICE_CANDIDATES */
size_t coppice_model_losses(const coppice_model *model);         /* numbers in a loss: 2 with feedback = two, else 1 */

typedef struct coppice_decision {
	uint32_t action; /* arm, or the candidate's place, from 0; 0 of values */
	int greedy;      /* 1: the action of lowest predicted loss; 0 of values */
	int repeated;    /* 1: the id was waiting, and this is the decision that it had */
	double p;     /* the action's propensity, in (0, 1]; feedback = bins: the density at value, per unit; else 1 */
	double value; /* values: the centre, in value_range */
	double probe[2]; /* values: play probe[0]; feedback = two: play both, and report the loss of each */
	uint64_t rev;    /* steps that the model had learned when it decided */
} coppice_decision;

/* An action for x, drawn by the model's policy; it waits for its loss under the id. An id that waits already gets its
 * first decision again, and nothing else happens. mask: `arms` flags, those that are not 0 are eligible; NULL: all
 * (values: NULL). Learns the inputs' scale at once, and allocates nothing in the long run. When pending_max decisions
 * wait, the oldest one ends.
 * COPPICE_EINVAL: the model decides about candidates, no arm is eligible, or the id is none. COPPICE_ESHAPE: x does not
 * fit. COPPICE_ENOTFOUND: a name of x is none of the model's. COPPICE_ENONFINITE: a value of x, or now.
 * COPPICE_EFULL: products of x's features are too many. COPPICE_ENOMEM.
 */
coppice_err coppice_model_decide(coppice_model *model, coppice_id id, const coppice_row *x, const unsigned char *mask,
        double now, coppice_decision *out);

typedef struct coppice_candidates {
	size_t count;              /* 1 to max_candidates */
	const coppice_row *row;    /* count rows: candidate_features values each, or sparse as the context */
	const unsigned char *mask; /* count flags; NULL: all are eligible */
} coppice_candidates;

/* The same for COPPICE_CANDIDATES: one of them, with features of their own. Errors as decide. */
coppice_err coppice_model_rank(coppice_model *model, coppice_id id, const coppice_row *x,
        const coppice_candidates *candidates, double now, coppice_decision *out);
/* The places of the eligible candidates into order (room for all), the lowest predicted loss first, and their number;
 * the model stays as it is. Errors as decide. */
coppice_err coppice_model_order(coppice_model *model, const coppice_row *x, const coppice_candidates *candidates,
        uint32_t *order, size_t *count);

typedef enum coppice_result {
	COPPICE_APPLIED = 0,   /* learned */
	COPPICE_RECORDED = 1,  /* learned when the reward window ends (option reward) */
	COPPICE_DUPLICATE = 2, /* the decision had its loss already */
	COPPICE_LATE = 3,      /* the reward window was over */
	COPPICE_UNKNOWN = 4    /* no decision of this id is known */
} coppice_result;

/* "applied" ...; never NULL. */
const char *coppice_result_text(coppice_result result);

/* The loss, in loss_range, of the decision with that id; values: any finite number. result may be NULL.
 * COPPICE_EINVAL: outside loss_range, the model takes two losses, or the id is none. COPPICE_ENONFINITE.
 * COPPICE_EDIVERGED. After an error the decision goes on waiting. */
coppice_err coppice_model_feedback(
        coppice_model *model, coppice_id id, double loss, double now, coppice_result *result);
/* The same for feedback = two: losses at probe[0] and probe[1]. */
coppice_err coppice_model_feedback_two(
        coppice_model *model, coppice_id id, const double loss[2], double now, coppice_result *result);

/* A decision that somebody else made, an event of a log. */
typedef struct coppice_logged {
	const coppice_row *x;
	const coppice_candidates *candidates;
	const unsigned char *mask; /* of arms; NULL: all */
	uint32_t action;           /* an eligible one */
	double p, loss;
} coppice_logged;

/* Learns from one: an arm (or candidate's place; candidates NULL but for
 * COPPICE_CANDIDATES) with propensity p in (0, 1] and its loss. Not for values. Errors as decide and feedback. */
coppice_err coppice_model_learn(coppice_model *model, const coppice_logged *event);

/* Ends the reward windows that are over: their decisions learn default_loss, or are dropped. To be called now and then;
 * returns how many ended. */
size_t coppice_model_expire(coppice_model *model, double now);

typedef struct coppice_counters {
	uint64_t waiting;   /* decisions without their loss */
	uint64_t decisions; /* and these since the model was new, loading aside: */
	uint64_t repeated, greedy;
	uint64_t feedback[5]; /* by coppice_result */
	uint64_t learned;     /* steps */
	uint64_t defaulted;   /* windows that ended with the default loss */
	uint64_t dropped;     /* windows that ended without any */
	uint64_t evicted;     /* decisions that ended because pending_max or pending_bytes was reached */
	uint64_t refused;     /* COPPICE_EDIVERGED */
	double loss_sum;      /* of the learned losses */
} coppice_counters;

void coppice_model_counters(const coppice_model *model, coppice_counters *out);

/* Why, as JSON text with the keys of the daemon's `explain` (docs/reference/protocol.md): of a decision that waits, as
 * it was made if explain_keep covers it, else by the model as it is now. COPPICE_ENOTFOUND: the id does not wait.
 * COPPICE_EINVAL: the id is none. COPPICE_ENOMEM. */
coppice_err coppice_model_explain(coppice_model *model, coppice_id id, const char **json);
/* The same for a context: of the action of lowest predicted loss. candidates: NULL but for COPPICE_CANDIDATES, whose
 * mask is their own. Errors as decide. */
coppice_err coppice_model_explain_row(coppice_model *model, const coppice_row *x, const unsigned char *mask,
        const coppice_candidates *candidates, const char **json);

/* Replaces the file at path as a whole by the model: what it has learned, the decisions that wait, counters and names.
 * `start_from` of a daemon's configuration and coppice_model_load read it. COPPICE_EIO, COPPICE_ENOMEM. */
coppice_err coppice_model_save(coppice_model *model, const char *path);
/* A model from such a file, or from one of `coppice replay --save`, with its settings. message may be NULL. Caller
 * frees. COPPICE_ENOTFOUND, COPPICE_EIO, COPPICE_EFORMAT, COPPICE_EVERSION, COPPICE_ENONFINITE, COPPICE_ESHAPE,
 * COPPICE_ENOMEM. */
coppice_err coppice_model_load(const char *path, coppice_model **out, coppice_message *message);

/* ---- trained trees ---- */

typedef struct coppice_trained coppice_trained;

/* From a file of `coppice train --model`. message may be NULL. Caller frees. Errors as coppice_model_load;
 * COPPICE_ENOTFOUND also: the file holds no trained model. */
coppice_err coppice_trained_load(const char *path, coppice_trained **out, coppice_message *message);
void coppice_trained_free(coppice_trained *trained);
/* As coppice_model_message. */
const char *coppice_trained_message(const coppice_trained *trained);

/* d features, as training made them of the columns: "age" of numbers, "colour=red" for each category. */
size_t coppice_trained_features(const coppice_trained *trained);
/* The name of feature j < d: the column's, or x0, x1 ... by its place (libsvm: by its index in the file). */
const char *coppice_trained_feature(const coppice_trained *trained, size_t j);
/* K classes, 0 of a regression; the name of class k < K; that of the target. */
size_t coppice_trained_classes(const coppice_trained *trained);
const char *coppice_trained_class(const coppice_trained *trained, size_t k);
const char *coppice_trained_target(const coppice_trained *trained);
size_t coppice_trained_trees(const coppice_trained *trained);
/* Numbers of a prediction: K probabilities of the classes; of a regression 1 value, in the unit of training's file. */
size_t coppice_trained_outputs(const coppice_trained *trained);

/* The prediction for a row of features as they are in files, before any scaling, in one of the forms above; out has
 * room for `outputs` numbers. best: the class of greatest probability, the first among equals (a regression: 0); may be
 * NULL. COPPICE_ESHAPE: a dense row has not d values, or a place is not below d. COPPICE_ENOTFOUND: a name is none of
 * the features'. COPPICE_ENONFINITE. */
coppice_err coppice_trained_predict(coppice_trained *trained, const coppice_row *x, double *out, size_t *best);

/* Rows of a table that a trained model may be asked about. */
typedef struct coppice_table coppice_table;

/* Reads a csv or libsvm file as `coppice predict` does, with the columns of training, categories and missing fields;
 * the target may be left out. message may be NULL. Caller frees. Errors as coppice_model_load; COPPICE_ESHAPE: other
 * columns. */
coppice_err coppice_table_load(
        const coppice_trained *trained, const char *path, coppice_table **out, coppice_message *message);
/* The same from csv in memory. */
coppice_err coppice_table_parse(
        const coppice_trained *trained, const char *csv, size_t length, coppice_table **out, coppice_message *message);
void coppice_table_free(coppice_table *table);
size_t coppice_table_rows(const coppice_table *table);
/* As coppice_trained_predict, for row i < rows of a table that was read with this model. COPPICE_EINVAL: there is no
 * such row. COPPICE_ESHAPE: the table was read with a model of other features. */
coppice_err coppice_table_predict(
        const coppice_table *table, size_t i, coppice_trained *trained, double *out, size_t *best);

#ifdef __cplusplus
}
#endif

#endif
