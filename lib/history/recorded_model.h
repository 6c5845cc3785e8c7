/* history/recorded_model.h: what a journal holds about the one model whose events are read.
 *
 * The model sets of headers and configurations (wire/wire_models.h) hold all of it. One thread. */
#ifndef COP_HISTORY_RECORDED_MODEL_H
#define COP_HISTORY_RECORDED_MODEL_H

#include "history/journal_history.h"
#include "history/record_source.h"
#include "wire/wire_models.h"
#include "wire/wire_record.h"

#define COP_RECORDED_MODEL_PARTS 7

typedef struct cop_recorded_model {
	cop_journal_history_model model;
	bool named;  /* model.name is whose records are read */
	bool values; /* a model of values is welcome */
	cop_named_losses
	        cost; /* what is asked for in place of what was learned; its ranges are the widest of all sets */
	cop_wire_shape shape;
	cop_wire_workspace workspace;          /* owned */
	size_t room[COP_RECORDED_MODEL_PARTS]; /* of the workspace's arrays, in elements */
} cop_recorded_model;

/* Whose records are to be read: `name`, or with "" the only one of all segments' headers. COP_EINVAL: there are
 * several. COP_ENOTFOUND: none of that name. COP_ENOMEM. */
COP_CHECK cop_err cop_recorded_model_choose(
        cop_recorded_model *told, const char *name, const cop_record_source *source, cop_diag *diag);
void cop_recorded_model_fini(cop_recorded_model *told);

/* From a model set on. A set without the model, or that is none, changes nothing. COP_ESHAPE: another shape than
 * before. COP_EINVAL: values. COP_EFULL: too large to be read. COP_ENOMEM. */
COP_CHECK cop_err cop_recorded_model_take(cop_recorded_model *told, const uint8_t *set, size_t length, cop_diag *diag);

/* Of this shape from here on, as what the caller knows has it. COP_EFULL, COP_ENOMEM, as above. */
COP_CHECK cop_err cop_recorded_model_shape(cop_recorded_model *told, const cop_wire_shape *wanted, cop_diag *diag);

/* Whether the record is the model's. COP_EEND: it is another's. COP_EFORMAT: no record. COP_ESHAPE: no set so far has
 * had room for the model. */
COP_CHECK cop_err cop_recorded_model_match(cop_recorded_model *told, const cop_journal_record *record, cop_diag *diag);

#endif
