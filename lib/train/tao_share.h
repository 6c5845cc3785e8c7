/* train/tao_share.h: what fitting a node (what >= 0) or leaf (~what) of a tree on its rows[0..n) changed, as bytes for
 * the other ranks (base/ranks.h), which have the same rows and, before, the same tree. */
#ifndef COP_TRAIN_TAO_SHARE_H
#define COP_TRAIN_TAO_SHARE_H

#include "base/bytes.h"
#include "train/tao_parts.h"

/* An array, or that there is none (NULL, which is not an empty one). What is taken is the caller's, to be freed by
 * cop_mem_free; errors are the cursor's. */
void cop_tao_share_put_array(cop_bytes *bytes, const void *array, size_t count, size_t size);
void *cop_tao_share_take_array(cop_cursor *cursor, size_t *count, size_t size);

void cop_tao_share_put(const cop_tao_state *state, int32_t what, const uint32_t *rows, size_t n, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_tao_share_take(
        cop_tao_state *state, int32_t what, const uint32_t *rows, size_t n, cop_cursor *cursor);

#endif
