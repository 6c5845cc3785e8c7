/* What an instance of a group says to another: what is read and put again is read as the same. */
#include "daemon/replica/replica_message.h"
#include "message_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(cop_bytes *out, const void *message) { cop_replica_message_put(out, message); }

static cop_err read_message(const void *data, size_t length, void *out, cop_wire_fault *fault)
{
	return cop_replica_message_read(data, length, out, fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const message_codec codec = { put, read_message };
	cop_replica_message message, again;
	(void)message_again(&codec, data, size, &message, &again);
	return 0;
}
