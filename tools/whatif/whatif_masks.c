/* A decision without a mask gets one as soon as there are arms that it could not have played; zeroed, none is
 * lengthened. */
#include "whatif_masks.h"

#include <string.h>

#include "base/mem.h"

void cop_whatif_masks_fini(cop_whatif_masks *masks) { cop_mem_free(masks->mask); }

cop_err cop_whatif_masks_new(cop_whatif_masks *masks, size_t arms)
{
	masks->mask = cop_mem_alloc(arms, 1);
	masks->arms = masks->then = arms;
	return masks->mask == NULL ? COP_ENOMEM : COP_OK;
}

void cop_whatif_masks_lengthen(cop_whatif_masks *masks, cop_wire_record *decision)
{
	if (decision->candidates > 0 || !cop_whatif_masks_lengthens(masks))
		return;
	memset(masks->mask, 0, masks->arms);
	if (decision->mask != NULL)
		memcpy(masks->mask, decision->mask, masks->then);
	else
		memset(masks->mask, 1, masks->then);
	decision->mask = masks->mask;
	decision->arms = masks->arms;
}
