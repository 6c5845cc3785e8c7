/* daemon/models/model_table.h: the models that the daemon serves.
 *
 * Made from the configuration; state comes from a checkpoint. Models that a checkpoint holds but the configuration does
 * not name are parked: kept as bytes and written into every later checkpoint, until a model of that stored name is
 * added or the model goes on in another life. Models that leave are served no longer and stay as they are, saved as if
 * they were, until they are gone or come back. The loop's thread. */
#ifndef COP_DAEMON_MODELS_MODEL_TABLE_H
#define COP_DAEMON_MODELS_MODEL_TABLE_H

#include "daemon/models/model_slot.h"
#include "wire/wire_models.h"

typedef struct cop_parked {
	cop_bytes section; /* payload of the checkpoint's section */
	bool refit;        /* it is of the model's refits */
	char stored[COP_CONFIG_NAME_MAX + 1];
} cop_parked;

/* Of a model that is about to be removed or begun anew (daemon/models/model_exchange.h). */
typedef struct cop_leaving {
	cop_model_slot *slot;
	size_t place; /* where it was among the items */
	const cop_bytes
	        *model; /* what it will be parked as, borrowed, once that is made; NULL: it is saved from the slot */
	const cop_bytes *refits; /* the same; NULL beside a model: there is nothing */
} cop_leaving;

typedef struct cop_model_table {
	cop_model_slot **items; /* a slot stays where it is as long as its model is served */
	size_t count;
	cop_parked *parked;
	size_t parked_count;
	cop_leaving *leaving; /* in the order of their places */
	size_t leaving_count;
	cop_bytes listed; /* of the checkpoint that was loaded: daemon/models/listed_names.h; empty: it has none */
} cop_model_table;

/* A fresh model for each of the configuration's (kept). COP_EINVAL or COP_ENOMEM with a message in *diag.
 * Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_model_table_init(cop_model_table *set, const cop_config *config, cop_diag *diag);
void cop_model_table_fini(cop_model_table *set);

/* By name (length characters); NULL when there is none. An empty name is the only model's, if there is only one. */
cop_model_slot *cop_model_table_find(cop_model_table *set, const char *name, size_t length);
/* Whether one of that name leaves, so that it is not found. */
bool cop_model_table_is_leaving(const cop_model_table *set, const char *name, size_t length);
/* By the name that it has in the state folder; one that leaves, too. */
cop_model_slot *cop_model_table_find_stored(const cop_model_table *set, const char *stored, size_t length);
/* What is parked of a model by that name; NULL: nothing. */
const cop_parked *cop_model_table_find_parked(const cop_model_table *set, const char *stored, bool refit);

/* Serving begins for all; now: monotonic seconds. */
void cop_model_table_begin(cop_model_table *set, double now);
/* Their timelines go on. */
void cop_model_table_tick(cop_model_table *set, double now);

/* cop_model_slot_adjust for each. */
void cop_model_table_adjust(cop_model_table *set, const cop_config *config);
/* cop_model_slot_reconfigure for each. */
void cop_model_table_reconfigure(cop_model_table *set, const cop_config *config, cop_log *log);

/* The model of this stored name, which both tables have, exchanges its slots. */
void cop_model_table_swap(cop_model_table *one, cop_model_table *other, const char *stored);

/* From here on a record is of a model of that size, by its stored name: if the model has fewer arms or features, and is
 * configured with so many, it gets them; one that nothing was done to yet may get fewer. Its slot is another one then.
 * What a model has none of, and models that are not there, stay. COP_ENOMEM ... */
COP_CHECK cop_err cop_model_table_set_size(
        cop_model_table *set, const char *stored, size_t length, const cop_model_size *size, cop_diag *diag);
/* From here on a record is of a model that was begun anew, of that size, by its stored name: fresh, or, if it began as
 * a saved one, from the file that it is configured to begin with, which must be of that checksum. Its slot is another
 * one then. A model that is not there stays. Errors of start_from. */
COP_CHECK cop_err cop_model_table_begin_anew(
        cop_model_table *set, const cop_wire_model *model, cop_log *log, cop_diag *diag);
/* All get the size that they are configured with. The same. */
COP_CHECK cop_err cop_model_table_complete(cop_model_table *set, cop_diag *diag);

/* Every model, parked ones too, as sections "model" of the model file that the caller has begun, and "refit" for those
 * that have had to do with refits; in "listed" the names that files give in those that are served. */
void cop_model_table_save(const cop_model_table *set, cop_bytes *bytes);
/* From a checkpoint's body. Models named in `reset` (NULL-terminated, NULL allowed) stay fresh.
 * COP_ESHAPE: a model no longer has the saved shape; *diag names it and both shapes. COP_EFORMAT, COP_EVERSION,
 * COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_model_table_load(
        cop_model_table *set, const cop_bytes *body, const char *const *reset, cop_diag *diag);
/* Models whose configuration names a saved model to begin with, and which no checkpoint holds, take its state; *count
 * of them. Errors as load, and COP_ENOTFOUND, COP_EIO. */
COP_CHECK cop_err cop_model_table_start_from(cop_model_table *set, cop_log *log, size_t *count, cop_diag *diag);

#endif
