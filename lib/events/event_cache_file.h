/* events/event_cache_file.h: the fixed parts of a cache file. Internal to event_cache: little-endian, no padding. */
#ifndef COP_EVENTS_EVENT_CACHE_FILE_H
#define COP_EVENTS_EVENT_CACHE_FILE_H

#include <stdint.h>

#define COP_CACHE_MAGIC      "COPCACHE"
#define COP_CACHE_END_MARK   "COPEND\r\n"
#define COP_CACHE_BLOCK_MARK UINT32_C(0x4b4c4243) /* "CBLK" */

typedef struct cop_cache_start {
	char magic[8];
	uint32_t version;
	uint32_t summary_crc;
	uint64_t summary; /* where it lies */
	uint64_t length;  /* of it; the file ends there */
	uint32_t zero[7];
	uint32_t crc; /* of all before it */
} cop_cache_start;

_Static_assert(sizeof(cop_cache_start) == 64, "no padding");

typedef struct cop_cache_block {
	uint32_t mark;
	uint32_t crc; /* of events, zero, length and the data behind */
	uint32_t events;
	uint32_t zero;
	uint64_t length; /* of the data */
} cop_cache_block;

_Static_assert(sizeof(cop_cache_block) == 24, "no padding, and data aligned to 8");

uint32_t cop_cache_block_crc(const cop_cache_block *head, const void *data);

#endif
