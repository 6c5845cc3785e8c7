/* wire/wire_models.h: which models a journal is of, and what each one is like: in every segment's header and in the
 * records of configurations, so that a journal can be read without the configuration that wrote it.
 *
 * A MessagePack map {models: [map, ...], left_out?: n}; the keys of a model are in docs/reference/journal.md, unknown
 * keys are passed over. Reading allocates nothing; texts point into the bytes. No state: any thread. */
#ifndef COP_WIRE_WIRE_MODELS_H
#define COP_WIRE_WIRE_MODELS_H

#include "base/bytes.h"
#include "wire/wire_cursor.h"
#include "wire/wire_features.h"

#define COP_WIRE_MODEL_NAME   64         /* bytes of a name, and of a learner's */
#define COP_WIRE_MODEL_WIDEST (1u << 20) /* features, entries of a context, arms that are read back */

typedef enum cop_wire_reward {
	COP_WIRE_REWARD_EARLIEST = 0,
	COP_WIRE_REWARD_LAST,
	COP_WIRE_REWARD_SUM,
	COP_WIRE_REWARD_FIRST,
	COP_WIRE_REWARD_COUNT
} cop_wire_reward;

/* Names of losses, [weight, low, high] of each. */
typedef struct cop_wire_model_losses {
	const cop_named_losses *put; /* to be put; NULL: none */
	cop_wire_cursor pairs;       /* read: checked, behind the map's head */
	size_t count;
} cop_wire_model_losses;

typedef struct cop_wire_model {
	const char *name, *learner; /* borrowed, not terminated */
	size_t name_length, learner_length;
	size_t features;           /* dense dimension; 0: sparse, hashed to 2^bits with at most max_nonzeros entries */
	unsigned bits;             /* 1 to 31 */
	size_t max_nonzeros;       /* >= 1 */
	size_t arms;               /* 0: values, or candidates */
	size_t max_candidates;     /* above 0: it ranks up to so many candidates */
	size_t candidate_features; /* of them, of a dense model */
	unsigned losses;           /* numbers in a loss: 1 or 2 */
	double loss_range[2];      /* low < high */
	double value_range[2];     /* values: low < high */
	double delta;              /* values: distance of the probes, in units of value_range */
	cop_wire_reward reward;
	double reward_window; /* seconds, > 0 */
	bool has_default_loss;
	double default_loss;
	cop_wire_model_losses named; /* count 0: losses have no names */
	bool apart;                  /* in a record: the model is not what the records before lead to */
	bool anew;                   /* in a record: the model begins anew with it; apart is, too */
	bool has_began;              /* in a record: it began as a saved model, */
	uint32_t began;              /* whose file has this CRC-32C */
} cop_wire_model;

/* Appends the set, as many models from the first on as fit into `room` bytes (at least 64); returns how many those are.
 * Failure: bytes->err. */
size_t cop_wire_models_put(cop_bytes *bytes, const cop_wire_model *models, size_t count, size_t room);

typedef struct cop_wire_models {
	cop_wire_cursor cursor;
	size_t left;       /* models to come */
	uint64_t left_out; /* there was no room for them */
} cop_wire_models;

/* data (borrowed while reading) is checked as a whole. Length 0 is a set without models.
 * COP_EFORMAT, with the fault filled (NULL allowed). */
COP_CHECK cop_err cop_wire_models_open(cop_wire_models *models, const void *data, size_t length, cop_wire_fault *fault);
/* The next one. COP_EEND: there is none. COP_EFORMAT: as above; then the set cannot be read on. */
COP_CHECK cop_err cop_wire_models_next(cop_wire_models *models, cop_wire_model *out, cop_wire_fault *fault);

/* The named losses of a model that was read. */
void cop_wire_models_losses(const cop_wire_model *model, cop_named_losses *out);
/* What its contexts and losses are checked against. */
void cop_wire_models_shape(const cop_wire_model *model, cop_wire_shape *shape);
/* Whether events of both may stand side by side: the same contexts, actions, losses. */
bool cop_wire_models_same_shape(const cop_wire_model *a, const cop_wire_model *b);
const char *cop_wire_models_reward_text(cop_wire_reward reward);

#endif
