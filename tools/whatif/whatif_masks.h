/* tools/whatif/whatif_masks.h: masks of decisions that were made when there were fewer arms. One thread per object. */
#ifndef COP_TOOLS_WHATIF_WHATIF_MASKS_H
#define COP_TOOLS_WHATIF_WHATIF_MASKS_H

#include "wire/wire_record.h"

/* Where both models begin anew they have all arms from the beginning, and records those of then. */
typedef struct cop_whatif_masks {
	uint8_t *mask;     /* owned */
	size_t arms, then; /* then: as the journal has it at this record */
} cop_whatif_masks;

/* COP_ENOMEM. */
COP_CHECK cop_err cop_whatif_masks_new(cop_whatif_masks *masks, size_t arms);
void cop_whatif_masks_fini(cop_whatif_masks *masks);
/* Whether masks are lengthened at this record. */
static inline bool cop_whatif_masks_lengthens(const cop_whatif_masks *masks) { return masks->then < masks->arms; }
/* A decision's mask gets the arms that there were not then; they are not eligible. */
void cop_whatif_masks_lengthen(cop_whatif_masks *masks, cop_wire_record *decision);

#endif
