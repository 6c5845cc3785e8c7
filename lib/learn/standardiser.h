/* learn/standardiser.h: online standardisation of features, from raw contexts to what the learners see.
 *
 * d raw features become d + 1 inputs, the last the constant 1. Dense: (x - mean) / sd by the running statistics of
 * learn/dense_scale.h, clipped at +-COP_STANDARDISER_CLIP; a feature that never varied (or by less than the smallest
 * normal float) gives 0. Sparse: x / rms over the events in which the feature was present (learn/sparse_scale.h), not
 * centred (absent stays 0), clipped alike; a smaller rms than that float counts as 1. A value hundreds of times as far
 * away as usual is an error or stands for no value (-9999): it gives 0, as the mean does (dense) or what is absent; so
 * does NaN, unknown, where features were added to a saved state. Whatever finite rows come, outputs are finite.
 * Statistics move only in observe; rows made from one state depend on that state alone. One thread per object. */
#ifndef COP_LEARN_STANDARDISER_H
#define COP_LEARN_STANDARDISER_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "learn/outliers.h"
#include "linalg/row.h"

#define COP_STANDARDISER_CLIP 5.0f

typedef struct cop_standardiser cop_standardiser;

/* d features (sparse: 2^bits); rows of at most max_nonzeros entries when sparse. Caller frees; NULL on error.
 * COP_EINVAL: d is 0, or sparse with max_nonzeros 0. COP_ENOMEM. */
COP_CHECK cop_err cop_standardiser_new(size_t d, bool sparse, size_t max_nonzeros, cop_standardiser **out);
/* Bytes that one takes, about. */
double cop_standardiser_footprint(size_t d, bool sparse, size_t max_nonzeros);
void cop_standardiser_free(cop_standardiser *s);

/* Lets the statistics take in a raw row (of the kind and dimension given at new). */
void cop_standardiser_observe(cop_standardiser *s, const cop_row *raw);
/* The same for several rows, one after the other. */
void cop_standardiser_observe_all(cop_standardiser *s, const cop_row *raw, size_t count);
/* The standardised row, d + 1 inputs; a view into s, valid until the next call. */
void cop_standardiser_apply(cop_standardiser *s, const cop_row *raw, cop_row *out);

/* Features that rows always have, of a dense standardiser: the first ones. Those behind may be NaN. */
size_t cop_standardiser_known(const cop_standardiser *s);
/* From here on these are the first `known`, of a dense one, 1 .. d. COP_ENOMEM: as it was. */
COP_CHECK cop_err cop_standardiser_know(cop_standardiser *s, size_t known);
/* Whether some of a raw row are unknown; *out is then the row with their means, a view into s, valid until the next
 * call. */
bool cop_standardiser_fill(cop_standardiser *s, const cop_row *raw, cop_row *out);

/* Of the values observed so far. */
void cop_standardiser_outliers(const cop_standardiser *s, cop_outliers *out);

/* Feature j is standardised to (x - *shift) * *scale before it is clipped; sparse: shift 0. A scale of 0: it gives 0.
 */
void cop_standardiser_way(const cop_standardiser *s, size_t j, double *shift, double *scale);

void cop_standardiser_save(const cop_standardiser *s, cop_bytes *bytes);
/* Into an object of the same shape, or a dense one of more features. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE,
 * COP_ENOMEM; then the object's state is undefined. */
COP_CHECK cop_err cop_standardiser_load(cop_standardiser *s, cop_cursor *cursor);

#endif
