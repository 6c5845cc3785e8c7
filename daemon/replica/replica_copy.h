/* daemon/replica/replica_copy.h: a file that a follower takes from its leader part by part, and what becomes of it: a
 * challenger in its place, or a checkpoint that the next start begins from.
 *
 * Parts go to a temporary file of the state folder, which takes its name when it is whole and its checksums are right.
 * The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_COPY_H
#define COP_DAEMON_REPLICA_REPLICA_COPY_H

#include "daemon/config/config.h"

typedef struct cop_replica_copy {
	char state_dir[4096];
	int file;                            /* -1: none is under way */
	char model[COP_CONFIG_NAME_MAX + 1]; /* of a challenger; "": a checkpoint */
	uint64_t number;                     /* of the challenger, or the checkpoint */
	uint64_t offset;                     /* of the part to come */
} cop_replica_copy;

void cop_replica_copy_init(cop_replica_copy *copy, const char *state_dir);
/* Drops what is unfinished. */
void cop_replica_copy_fini(cop_replica_copy *copy);
/* Begins with the first part. COP_EIO, COP_EFULL, with *diag. */
COP_CHECK cop_err cop_replica_copy_begin(cop_replica_copy *copy, const char *model, uint64_t number, cop_diag *diag);
/* The part at `offset` of a file of `size` bytes. COP_EEND: it is whole by now, and checked. COP_EFORMAT: it is
 * damaged, and dropped. COP_EIO, COP_EFULL, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_replica_copy_take(
        cop_replica_copy *copy, const void *data, size_t length, uint64_t size, cop_diag *diag);

/* The live changes of the checkpoint that is whole. COP_ENOTFOUND: it has none. COP_EIO, COP_EFORMAT, COP_ENOMEM, with
 * *diag. */
COP_CHECK cop_err cop_replica_copy_live(cop_replica_copy *copy, cop_bytes *out, cop_diag *diag);
/* The challenger that is whole goes where challengers are. COP_EIO. */
COP_CHECK cop_err cop_replica_copy_place_challenger(cop_replica_copy *copy, cop_diag *diag);
/* The checkpoint that is whole waits for a start, which settles it. forgot: since which record somebody is forgotten
 * here; where the checkpoint has a later one, what is here will be erased. Errors of cop_state_mark_glance; COP_EIO. */
COP_CHECK cop_err cop_replica_copy_keep_checkpoint(cop_replica_copy *copy, uint64_t forgot, cop_diag *diag);

typedef struct cop_replica_settled {
	bool done;     /* a checkpoint waited, and is in its place */
	bool erased;   /* what was there is gone */
	char to[4200]; /* the folder that it was moved to; "": none */
} cop_replica_settled;

/* At a start, before anything of the state folder is open: if such a checkpoint waits, moves journal, checkpoints and
 * challengers into a new folder diverged.N, if there are any, or erases them, and puts the checkpoint in their place.
 * COP_EIO, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_replica_copy_settle(const char *state_dir, cop_replica_settled *settled, cop_diag *diag);

#endif
