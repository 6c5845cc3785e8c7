/* `used` is the table's clock at a sender's last message, 0 for a new one; the lowest one is replaced when the table
 * is full. A search is linear, since the table is small. Only numbers above the last one can open a gap; the first
 * message of a sender and a lower number begin a count. */
#include "daemon/models/sequence_gaps.h"

#include <string.h>

static cop_sequence_gaps_sender *find(cop_sequence_gaps *gaps, const char *name, size_t length)
{
	cop_sequence_gaps_sender *oldest = &gaps->sender[0];
	for (size_t i = 0; i < gaps->count; i++) {
		cop_sequence_gaps_sender *sender = &gaps->sender[i];
		if (sender->length == length && memcmp(sender->name, name, length) == 0)
			return sender;
		if (sender->used < oldest->used)
			oldest = sender;
	}
	cop_sequence_gaps_sender *fresh =
	        gaps->count < COP_SEQUENCE_GAPS_SENDERS ? &gaps->sender[gaps->count++] : oldest;
	*fresh = (cop_sequence_gaps_sender){ .length = (uint8_t)length };
	memcpy(fresh->name, name, length);
	return fresh;
}

uint64_t cop_sequence_gaps_note(cop_sequence_gaps *gaps, const char *name, size_t length, uint64_t n)
{
	cop_sequence_gaps_sender *sender = find(gaps, name, length);
	uint64_t missing = sender->used != 0 && n > sender->last ? n - sender->last - 1 : 0;
	sender->used = ++gaps->uses;
	sender->last = n;
	sender->missing += missing;
	gaps->missing += missing;
	return missing;
}
