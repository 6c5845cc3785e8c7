/* base/crc32c.h: CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), the checksum of journal records and
 * checkpoints.
 *
 * Running value: start with 0 and hand each result to the next call; crc(ab) = crc(crc(0, a), b). Any thread. */
#ifndef COP_BASE_CRC32C_H
#define COP_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* With the processor's crc32 instruction where there is one, else by table; both give the same value. */
uint32_t cop_crc32c(uint32_t crc, const void *data, size_t length);

/* The portable way alone, for tests. */
uint32_t cop_crc32c_table(uint32_t crc, const void *data, size_t length);

#endif
