/* view/trained_census.h: the census of one tree, and its section of a model file. What it tells is in view/trained.h.
 *
 * Distinct objects on distinct threads. */
#ifndef COP_VIEW_TRAINED_CENSUS_H
#define COP_VIEW_TRAINED_CENSUS_H

#include "view/trained.h"

#define COP_CENSUS_SECTION "census"
#define COP_CENSUS_VERSION 1

/* Of that tree's shape, all zero. COP_ENOMEM: *census is zero. */
COP_CHECK cop_err cop_census_init(cop_census *census, const cop_tree *tree, bool classes);
void cop_census_fini(cop_census *census);

/* Numbers of a mix: outputs, or 2 outputs. */
size_t cop_census_width(const cop_census *census);

/* Errors stay in bytes->err. */
void cop_census_save(const cop_census *census, cop_bytes *bytes);
/* Into a zero *census. COP_EFORMAT: malformed, or of a tree of another shape. COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_census_load(const void *payload, size_t length, const cop_tree *tree, cop_census *census);

#endif
