/* sim/sim_client.h: clients of the simulated daemons, and the lines that tell what each of them asked and saw.
 *
 * A line is one entry of a history of tests/fault/crowd.py; its second word is the entry's number. */
#ifndef COP_SIM_SIM_CLIENT_H
#define COP_SIM_SIM_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_REPLY 65536

typedef struct sim_reply {
	bool ok;
	size_t length;
	unsigned char body[SIM_REPLY];
} sim_reply;

/* `what` and a number, without the line's end: the entry's number. */
uint64_t sim_note(const char *what);
/* One request of administration; false: no answer within that time. */
bool sim_request(const char *endpoint, const char *verb, uint64_t patience, sim_reply *out);
/* The unsigned integer behind the first such key at or behind *at, which moves behind it; false: there is none. */
bool sim_reply_number(const sim_reply *reply, const char *key, size_t *at, uint64_t *out);
bool sim_reply_find(const sim_reply *reply, const char *text, size_t *at);
void sim_print_hex(const void *data, size_t length);

/* They work until told to end, then ask for everything once more. endpoint: of each daemon's requests. */
void sim_clients_start(size_t count, size_t daemons);
void sim_clients_end(void);
bool sim_clients_ended(void);
uint64_t sim_clients_told(void); /* answers so far */

#endif
