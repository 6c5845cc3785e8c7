/* What the daemon reads of refits but their files: an even first byte, the state that a checkpoint keeps of a model's
 * refits; an odd one, a worker's line. What was accepted is written and read back the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/models/refit_state.h"
#include "daemon/common/worker_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_state(const uint8_t *data, size_t size)
{
	cop_refit_state state, back;
	cop_bytes first, second;
	cop_cursor cursor;
	cop_refit_state_init(&state);
	cop_refit_state_init(&back);
	cop_cursor_init(&cursor, data, size);
	if (cop_refit_state_load(&state, &cursor) != COP_OK) {
		COP_ASSERT(!cop_refit_state_used(&state));
		return;
	}
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_refit_state_save(&state, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	COP_ASSERT(cop_refit_state_load(&back, &cursor) == COP_OK && cop_cursor_left(&cursor) == 0);
	cop_refit_state_save(&back, &second);
	COP_ASSERT(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	(void)cop_refit_state_needs(&state, 1);
	(void)cop_refit_state_window(&state, 1000, 100);
	for (uint64_t i = 1; i <= 300; i++)
		cop_refit_state_mark(&state, 1000 * i, 10 * i, 100);
	cop_refit_state_release(&state, UINT64_MAX);
	COP_ASSERT(cop_refit_state_need(&state, UINT64_MAX, 5) == COP_OK && cop_refit_state_needs(&state, 5));
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	cop_refit_state_fini(&state);
	cop_refit_state_fini(&back);
}

static void fuzz_line(const uint8_t *data, size_t size)
{
	cop_worker_line line, back;
	char text[COP_WORKER_LINE];
	if (size >= sizeof text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!cop_worker_line_parse(text, &line))
		return;
	COP_ASSERT(line.share >= 0.0 && line.share <= 1.0 && isfinite(line.gain));
	COP_ASSERT(line.outcome < COP_WORKER_OUTCOMES && strlen(line.text) < COP_WORKER_TEXT);
	size_t length = cop_worker_line_put(&line, text);
	COP_ASSERT(length > 0 && length <= COP_WORKER_LINE && text[length - 1] == '\n');
	text[length - 1] = '\0';
	COP_ASSERT(cop_worker_line_parse(text, &back));
	COP_ASSERT(back.result == line.result && back.outcome == line.outcome && back.number == line.number);
	COP_ASSERT(strcmp(back.text, line.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		(data[0] % 2 == 0 ? fuzz_state : fuzz_line)(data + 1, size - 1);
	return 0;
}
