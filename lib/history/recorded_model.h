/* history/recorded_model.h: what a journal tells of the one model whose events are read.
 *
 * Model sets (wire/wire_models.h) tell all of it; from the records of older journals the shape of contexts is taken.
 * One thread. */
#ifndef COP_HISTORY_RECORDED_MODEL_H
#define COP_HISTORY_RECORDED_MODEL_H

#include "history/journal_history.h"
#include "history/record_source.h"
#include "wire/wire_models.h"
#include "wire/wire_record.h"

#define COP_RECORDED_MODEL_PARTS 7

typedef struct cop_recorded_model {
	cop_journal_history_model model;
	bool named;    /* model.name is whose records are read */
	bool guessed;  /* the name is the first record's */
	bool inferred; /* the shape is a record's */
	bool values;   /* a model of values is welcome */
	unsigned bits; /* for inferred sparse shapes */
	cop_wire_reward reward;
	double window; /* seconds; 0: not told */
	bool has_default_loss;
	double default_loss;
	cop_wire_shape shape;
	cop_wire_workspace workspace;          /* owned */
	size_t room[COP_RECORDED_MODEL_PARTS]; /* of the workspace's arrays, in elements */
} cop_recorded_model;

/* Whose records are to be read: `name`, or with "" the only one that all segments' headers tell of; when they tell of
 * none, the first that a record names. COP_EINVAL: several, or one of values. COP_ENOTFOUND: none of that name.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_recorded_model_choose(
        cop_recorded_model *told, const char *name, const cop_record_source *source, cop_diag *diag);
void cop_recorded_model_fini(cop_recorded_model *told);

/* From a model set on. A set without the model, or that is none, changes nothing. COP_ESHAPE: another shape than
 * before. COP_EINVAL: values. COP_EFULL: too large to be read. COP_ENOMEM. */
COP_CHECK cop_err cop_recorded_model_take(cop_recorded_model *told, const uint8_t *set, size_t length, cop_diag *diag);

/* Whether the record is the model's, whose name and shape are taken from it when they are not known. COP_EEND: it is
 * another's. COP_EFORMAT: no record. COP_EINVAL: another's too, but the name was nobody's choice; or one of values.
 * COP_ESHAPE, COP_ENOMEM. */
COP_CHECK cop_err cop_recorded_model_match(cop_recorded_model *told, const cop_journal_record *record, cop_diag *diag);
/* Before a record of the model is decoded: the shape fits it, as far as records tell. COP_EINVAL: it is one of values.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_recorded_model_ready(
        cop_recorded_model *told, cop_wire_record_type type, const uint8_t *body, size_t length, cop_diag *diag);

#endif
