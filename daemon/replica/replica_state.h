/* daemon/replica/replica_state.h: a checksum of each part of what the models are, to be compared between instances that
 * took the same records.
 *
 * A part is a section of a model as a checkpoint has it; its name is MODEL/SECTION, with a number behind sections that
 * come again. What refits keep is no part: it tells when checkpoints were written. The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_STATE_H
#define COP_DAEMON_REPLICA_REPLICA_STATE_H

#include "daemon/models/model_table.h"

#define COP_REPLICA_STATE_NAME 128

/* Appends an array of [name, checksum]. work: room, its content is lost. Failure: out->err. */
void cop_replica_state_put(const cop_model_table *models, cop_bytes *work, cop_bytes *out);
/* Whether both encoded arrays are equal; else the name of the first part that differs, or that only one has. */
bool cop_replica_state_equal(
        const cop_bytes *mine, const void *theirs, size_t length, char differs[COP_REPLICA_STATE_NAME]);

#endif
