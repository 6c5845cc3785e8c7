/* online/model_losses.h: a model's named losses (events/named_losses.h), from feedback to their accounts; for model*.c
 * alone. Those of the feedback in hand are model->told. */
#ifndef COP_ONLINE_MODEL_LOSSES_H
#define COP_ONLINE_MODEL_LOSSES_H

#include "online/model_state.h"

/* Those of a waiting decision (NULL: of one that is not known here), which was learned of. */
void cop_model_losses_count(cop_model *model, const cop_pending_entry *entry, const cop_loss_values *losses);
/* The told ones in place of an entry's, or (adds) on top of them. */
void cop_model_losses_record(cop_model *model, const cop_pending_entry *entry, bool adds);
/* An entry's, cut to their ranges; borrowed of the room. */
void cop_model_losses_recorded(
        const cop_model *model, const cop_pending_entry *entry, uint8_t room[COP_WIRE_NAMED_ROOM], cop_wire_named *out);
/* What waits keeps what it was told of names that stay. COP_ENOMEM: nothing changed. */
COP_CHECK cop_err cop_model_losses_change(cop_model *model, const cop_named_losses *losses);

#endif
