/* train/tao_share.h: what fitting a node (what >= 0) or leaf (~what) of a tree on its rows[0..n) changed, as bytes for the
 * other ranks (base/ranks.h), which have the same rows and, before, the same tree. */
#ifndef COP_TRAIN_TAO_SHARE_H
#define COP_TRAIN_TAO_SHARE_H

#include "base/bytes.h"
#include "train/tao_parts.h"

void cop_tao_share_put(const cop_tao_state *state, int32_t what, const uint32_t *rows, size_t n, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_tao_share_take(
        cop_tao_state *state, int32_t what, const uint32_t *rows, size_t n, cop_cursor *cursor);

#endif
