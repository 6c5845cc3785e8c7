/* learn/slab.h: many small records of mixed sizes in few large chunks, addressed by 32-bit handles.
 *
 * Sizes are rounded to 8 bytes up to 1 KiB, beyond to steps of 1/8 of a power of two; freed records are reused within
 * their class. Chunks are taken as needed and kept, so a steady load allocates nothing. Handle 0 is none. One thread.
 */
#ifndef COP_LEARN_SLAB_H
#define COP_LEARN_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cop_slab cop_slab;

/* Records of up to `largest` bytes. COP_EINVAL: largest is 0 or beyond 1 GiB. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_slab_new(size_t largest, cop_slab **out);
void cop_slab_free(cop_slab *slab);
/* A record of size bytes in [1, largest], 8-byte aligned, not zeroed. COP_ENOMEM. */
COP_CHECK cop_err cop_slab_take(cop_slab *slab, size_t size, uint32_t *handle);
/* Makes sure that the next take of that size succeeds. COP_ENOMEM. */
COP_CHECK cop_err cop_slab_reserve(cop_slab *slab, size_t size);
/* Gives a record back; size as at take. */
void cop_slab_give(cop_slab *slab, uint32_t handle, size_t size);
void *cop_slab_at(const cop_slab *slab, uint32_t handle);
/* Bytes held in chunks. */
size_t cop_slab_bytes(const cop_slab *slab);
/* Records may be as large as this from here on. Contract: at least as large as so far, and at most 896
 * KiB, which every slab has chunks for. */
void cop_slab_widen(cop_slab *slab, size_t largest);

#endif
