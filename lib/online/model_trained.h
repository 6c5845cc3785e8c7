/* online/model_trained.h: a file of `coppice train` as a model that serves it, frozen.
 *
 * Classes become arms, in their order, or the value becomes the model's; features are those that training made of the
 * columns, under the names that the file has: {"age": 31, "colour": "red"} sets "age" and "colour=red".
 * Pure functions; the same file gives the same bytes. */
#ifndef COP_ONLINE_MODEL_TRAINED_H
#define COP_ONLINE_MODEL_TRAINED_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"

/* Whether these are the bytes of such a file. */
bool cop_model_trained_is(const void *data, size_t length);
/* The bytes of such a file become those that cop_model_save and cop_model_names_save write of the model. COP_ESHAPE: it
 * cannot be served, *diag says why. COP_EFORMAT and others of cop_trained_open; *bytes is then as it was. COP_ENOMEM.
 */
COP_CHECK cop_err cop_model_trained_convert(cop_bytes *bytes, const char *source, cop_diag *diag);
/* cop_section_file_load of a saved model of either kind; one of `coppice train` is converted. */
COP_CHECK cop_err cop_model_trained_load(const char *path, cop_bytes *bytes, cop_diag *diag);

/* Names of arms of the model in the file that cop_model_save wrote, if it is such a one: count 0 of any other. Caller
 * frees each of *names and them all with cop_mem_free. COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_model_trained_arms(const void *data, size_t length, char ***names, size_t *count);

#endif
