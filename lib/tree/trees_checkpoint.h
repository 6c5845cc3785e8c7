/* tree/trees_checkpoint.h: trees in a durable file (store/checkpoint_file.h), as a refit's challenger is. Distinct
 * objects on distinct threads. */
#ifndef COP_TREE_TREES_CHECKPOINT_H
#define COP_TREE_TREES_CHECKPOINT_H

#include "tree/trees.h"

/* Caller frees *out; *crc: CRC32C of the file's body. COP_ENOTFOUND: no such file. COP_EFORMAT, COP_EVERSION,
 * COP_ENONFINITE, COP_EIO, COP_ENOMEM; on error *out is NULL. */
COP_CHECK cop_err cop_trees_checkpoint_read(const char *path, cop_trees **out, uint32_t *crc, cop_diag *diag);

/* A section of the journal's records between which all lies that the trees were fitted to and judged by: two u64, the
 * first and the last. Failure: bytes->err. */
void cop_trees_checkpoint_put_window(cop_bytes *bytes, uint64_t first, uint64_t last);
/* Of a file: first and last. COP_ENOTFOUND: no such file. COP_EFORMAT, COP_EVERSION: it does not say. COP_EIO,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_trees_checkpoint_window(const char *path, uint64_t window[2], cop_diag *diag);

#endif
