/* Arbitrary bytes as a csv log: the first byte chooses the space and the settings, the text before the first line end
 * is the list of context columns when it says so. Every event keeps what its header promises. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event_checks.h"
#include "events/event_reader.h"

#define LIST_ROOM 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char context[LIST_ROOM];
	if (size == 0)
		return 0;
	unsigned flags = data[0];
	data++;
	size--;
	cop_event_reader_settings settings = {
		.action_from_one = (flags & 8) != 0,
		.assumed_probability = (flags & 4) != 0 ? 0.5 : 0,
	};
	settings.columns.reward = (flags & 16) != 0;
	if ((flags & 32) != 0) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end == NULL ? size : (size_t)(end - data);
		if (length >= sizeof context)
			return 0;
		memcpy(context, data, length);
		context[length] = '\0';
		settings.columns.context = context;
		length += end != NULL;
		data += length;
		size -= length;
	}
	if ((flags & 64) != 0) {
		settings.columns.action = "2";
		settings.columns.cost = "c";
		settings.columns.probability = "1";
	}
	check_events(&cop_event_format_csv, flags & 1, &settings, data, size);
	return 0;
}
