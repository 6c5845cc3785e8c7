/* What an instance of a group says to another: what is read and put again is read as the same. */
#include "base/assert.h"
#include "daemon/replica/replica_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cop_replica_message message, again;
	cop_wire_fault fault = { .message = "" };
	cop_bytes first, second;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	if (cop_replica_message_read(data, size, &message, &fault) == COP_OK) {
		cop_replica_message_put(&first, &message);
		COP_ASSERT(cop_replica_message_read(first.data, first.length, &again, &fault) == COP_OK);
		cop_replica_message_put(&second, &again);
		COP_ASSERT(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	} else {
		COP_ASSERT(fault.message[0] != '\0');
	}
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	return 0;
}
