/* daemon/models/sequence_gaps.h: what streams lost: senders may number their messages (`src`, `n`), and missing numbers
 * are counted.
 *
 * A bounded table of senders; when it is full the one that was silent longest makes room. A sender that counts from
 * anew (a lower number) is taken as restarted, not as a gap. One thread. */
#ifndef COP_DAEMON_MODELS_SEQUENCE_GAPS_H
#define COP_DAEMON_MODELS_SEQUENCE_GAPS_H

#include <stddef.h>
#include <stdint.h>

#define COP_SEQUENCE_GAPS_SENDERS 64
#define COP_SEQUENCE_GAPS_NAME    64

typedef struct cop_sequence_gaps_sender {
	char name[COP_SEQUENCE_GAPS_NAME];
	uint8_t length;
	uint64_t last;    /* number of its newest message */
	uint64_t missing; /* numbers never seen */
	uint64_t used;    /* order of use */
} cop_sequence_gaps_sender;

typedef struct cop_sequence_gaps {
	cop_sequence_gaps_sender sender[COP_SEQUENCE_GAPS_SENDERS];
	size_t count;
	uint64_t uses;
	uint64_t missing; /* over all senders, also those that made room */
} cop_sequence_gaps;

/* Notes message number n of a sender (length 1 to COP_SEQUENCE_GAPS_NAME); returns how many are missing before it. */
uint64_t cop_sequence_gaps_note(cop_sequence_gaps *gaps, const char *name, size_t length, uint64_t n);

#endif
