/* tree/trees_checkpoint.h: trees in a durable file (store/checkpoint_file.h), as a refit's challenger is. Distinct
 * objects on distinct threads. */
#ifndef COP_TREE_TREES_CHECKPOINT_H
#define COP_TREE_TREES_CHECKPOINT_H

#include "tree/trees.h"

/* Caller frees *out; *crc: CRC32C of the file's body. COP_ENOTFOUND: no such file. COP_EFORMAT, COP_EVERSION,
 * COP_ENONFINITE, COP_EIO, COP_ENOMEM; on error *out is NULL. */
COP_CHECK cop_err cop_trees_checkpoint_read(const char *path, cop_trees **out, uint32_t *crc, cop_diag *diag);

#endif
