/* online/pending_losses.h: the losses recorded of a waiting decision, for pending.c and pending_record.c alone.
 *
 * They lie behind the head of a record that records: COP_PENDING_LOSSES_BYTES, then a number for each named loss
 * (events/named_losses.h) that there was room for when the decision was made. A record that does not record has none.
 */
#ifndef COP_ONLINE_PENDING_LOSSES_H
#define COP_ONLINE_PENDING_LOSSES_H

#include "online/pending_record.h"

#define COP_PENDING_LOSSES_BYTES 24

/* Bytes of so many named losses. */
static inline size_t cop_pending_losses_named(unsigned names) { return names * sizeof(double); }

size_t cop_pending_losses_size(const cop_pending_record *r);
/* The entry's, of a fresh record; its named ones as they were saved. */
void cop_pending_losses_fill(cop_pending_record *r, const cop_pending_entry *entry);
/* The entry's, but for named ones, which stay. */
void cop_pending_losses_put(cop_pending_record *r, const cop_pending_entry *entry);
void cop_pending_losses_view(const cop_pending_record *r, cop_pending_entry *out);
void cop_pending_losses_get_named(const cop_pending_record *r, cop_loss_values *out);
void cop_pending_losses_put_named(cop_pending_record *r, const cop_loss_values *named);
/* Saved ones, as they lie in the record; entry->named points into the cursor's bytes. COP_EFORMAT, COP_ENONFINITE. */
COP_CHECK cop_err cop_pending_losses_load(cop_cursor *cursor, cop_pending_entry *entry);

#endif
