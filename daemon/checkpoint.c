#include "daemon/checkpoint.h"

#include <inttypes.h>

#include "daemon/clock.h"
#include "store/checkpoint_file.h"
#include "tree/model_file.h"

void cop_checkpoint_init(cop_checkpoint *checkpoint, const char *folder)
{
	*checkpoint = (cop_checkpoint){ .folder = folder };
	cop_bytes_init(&checkpoint->body);
}

void cop_checkpoint_fini(cop_checkpoint *checkpoint) { cop_bytes_fini(&checkpoint->body); }

typedef struct restoring {
	cop_checkpoint *checkpoint;
	cop_log *log;
} restoring;

/* The next file must come after the damaged ones too, or pruning would keep those and not it. */
static void skipped(void *context, uint64_t sequence, const cop_diag *why)
{
	const restoring *r = context;
	if (r->checkpoint->highest < sequence)
		r->checkpoint->highest = sequence;
	cop_log_line(r->log, COP_LOG_WARNING, "checkpoint_damaged", "sequence=%" PRIu64 " reason=\"%s\"", sequence,
	        why->message);
}

cop_err cop_checkpoint_restore(
        cop_checkpoint *checkpoint, cop_served_set *set, const char *const *reset, cop_log *log, cop_diag *diag)
{
	cop_bytes body;
	cop_bytes_init(&body);
	restoring context = { checkpoint, log };
	cop_checkpoint_listener listener = { .skipped = skipped, .context = &context };
	uint64_t sequence;
	cop_err err =
	        cop_checkpoint_newest(checkpoint->folder, COP_CHECKPOINT_PREFIX, &body, &sequence, &listener, diag);
	if (err == COP_ENOTFOUND) {
		cop_bytes_fini(&body);
		return COP_OK;
	}
	if (err == COP_OK)
		err = cop_served_load(set, &body, reset, diag);
	if (err == COP_OK) {
		checkpoint->sequence = sequence;
		if (checkpoint->highest < sequence)
			checkpoint->highest = sequence;
		checkpoint->bytes = body.length;
		cop_log_line(log, COP_LOG_NOTICE, "restored", "sequence=%" PRIu64 " bytes=%zu", sequence, body.length);
	}
	for (size_t i = 0; err == COP_OK && i < set->parked_count; i++)
		cop_log_line(log, COP_LOG_WARNING, "model_parked",
		        "model=%s reason=\"in the checkpoint but not in the configuration; kept as it is\"",
		        set->parked[i].name);
	cop_bytes_fini(&body);
	return err;
}

cop_err cop_checkpoint_save(
        cop_checkpoint *checkpoint, const cop_served_set *set, size_t keep, cop_log *log, cop_diag *diag)
{
	double started = cop_clock_monotonic();
	cop_diag why = { 0 };
	cop_bytes *body = &checkpoint->body;
	cop_bytes_clear(body);
	size_t mark = cop_model_file_begin(body);
	cop_served_save(set, body);
	cop_model_file_end(body, mark);
	cop_err err = body->err;
	if (err != COP_OK)
		cop_diag_set(&why, "", 0, 0, "%s", cop_err_text(err));
	else
		err = cop_checkpoint_write(checkpoint->folder, COP_CHECKPOINT_PREFIX, checkpoint->highest + 1,
		        body->data, body->length, &why);
	if (err != COP_OK) {
		checkpoint->failed++;
		cop_log_line(log, COP_LOG_ERROR, "checkpoint_failed", "reason=\"%s\"", why.message);
		if (diag != NULL)
			*diag = why;
		return err;
	}
	checkpoint->sequence = ++checkpoint->highest;
	checkpoint->written++;
	checkpoint->bytes = body->length;
	checkpoint->seconds = cop_clock_monotonic() - started;
	checkpoint->time = cop_clock_real();
	checkpoint->at = started + checkpoint->seconds;
	cop_histogram_observe(&checkpoint->durations, (uint64_t)(1e9 * checkpoint->seconds));
	cop_log_line(log, COP_LOG_INFO, "checkpoint", "sequence=%" PRIu64 " bytes=%zu seconds=%.3f",
	        checkpoint->sequence, body->length, checkpoint->seconds);
	if (cop_checkpoint_prune(checkpoint->folder, COP_CHECKPOINT_PREFIX, keep, &why) != COP_OK)
		cop_log_line(log, COP_LOG_WARNING, "checkpoint_prune_failed", "reason=\"%s\"", why.message);
	return COP_OK;
}
