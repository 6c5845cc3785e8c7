/* Every field of the struct has its row, in the struct's order. A row of words is saved with their number before it, so
 * that another number of results is refused. */
#include "online/model_counters.h"

static const char *const results[COP_FEEDBACK_RESULTS] = { "applied", "recorded", "duplicate", "late", "unknown" };

const char *cop_feedback_result_text(cop_feedback_result result)
{
	return (unsigned)result < COP_FEEDBACK_RESULTS ? results[result] : "unknown";
}

#define AT(member) offsetof(cop_model_counters, member)

const cop_model_counter cop_model_counters_table[COP_MODEL_COUNTERS] = {
	{ .key = "decisions", .metric = "coppice_decisions_total", .offset = AT(decisions), .saved = true },
	{ .key = "repeated", .metric = "coppice_repeated_decisions_total", .offset = AT(repeated) },
	{ .key = "greedy", .metric = "coppice_greedy_decisions_total", .offset = AT(greedy), .saved = true },
	{ .key = "feedback",
	        .metric = "coppice_feedback_total",
	        .offset = AT(feedback),
	        .kind = COP_MODEL_COUNTER_WORDS,
	        .saved = true,
	        .label = "result",
	        .count = COP_FEEDBACK_RESULTS,
	        .words = results },
	{ .key = "learned", .metric = "coppice_learned_total", .offset = AT(learned), .saved = true },
	{ .key = "defaulted", .metric = "coppice_defaulted_decisions_total", .offset = AT(defaulted), .saved = true },
	{ .key = "dropped", .metric = "coppice_dropped_decisions_total", .offset = AT(dropped), .saved = true },
	{ .key = "evicted", .metric = "coppice_evicted_decisions_total", .offset = AT(evicted), .saved = true },
	{ .key = "refused", .metric = "coppice_refused_updates_total", .offset = AT(refused) },
	{ .key = "loss_sum",
	        .metric = "coppice_learned_loss",
	        .offset = AT(loss_sum),
	        .kind = COP_MODEL_COUNTER_SUM,
	        .saved = true },
	{ .offset = AT(awaited), .kind = COP_MODEL_COUNTER_SUM, .saved = true },
	{ .key = "position_repeats", .metric = "coppice_position_repeats_total", .offset = AT(passed) },
	{ .key = "short_contexts",
	        .metric = "coppice_short_contexts_total",
	        .offset = AT(shorter),
	        .saved = true,
	        .quiet = true },
};

static const void *at(const cop_model_counters *counters, const cop_model_counter *row)
{
	return (const char *)counters + row->offset;
}

uint64_t cop_model_counters_whole(const cop_model_counters *counters, const cop_model_counter *row, size_t i)
{
	const uint64_t *first = at(counters, row);
	return first[i];
}

double cop_model_counters_sum(const cop_model_counters *counters, const cop_model_counter *row)
{
	const double *sum = at(counters, row);
	return *sum;
}

void cop_model_counters_shift(
        cop_model_counters *counters, const cop_model_counters *was, const cop_model_counters *now)
{
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		void *field = (char *)counters + row->offset;
		double *sum = field;
		uint64_t *whole = field;
		if (row->kind == COP_MODEL_COUNTER_SUM)
			*sum += cop_model_counters_sum(now, row) - cop_model_counters_sum(was, row);
		for (size_t i = 0; row->kind != COP_MODEL_COUNTER_SUM && (i == 0 || i < row->count); i++)
			whole[i] += cop_model_counters_whole(now, row, i) - cop_model_counters_whole(was, row, i);
	}
}

void cop_model_counters_save(const cop_model_counters *counters, cop_bytes *bytes)
{
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		if (!row->saved || (row->quiet && cop_model_counters_whole(counters, row, 0) == 0))
			continue;
		if (row->kind == COP_MODEL_COUNTER_SUM)
			cop_bytes_put_f64(bytes, cop_model_counters_sum(counters, row));
		if (row->kind == COP_MODEL_COUNTER_WHOLE)
			cop_bytes_put_u64(bytes, cop_model_counters_whole(counters, row, 0));
		if (row->kind == COP_MODEL_COUNTER_WORDS)
			cop_bytes_put_u32(bytes, (uint32_t)row->count);
		for (size_t i = 0; i < row->count; i++)
			cop_bytes_put_u64(bytes, cop_model_counters_whole(counters, row, i));
	}
}

static cop_err load_row(void *field, const cop_model_counter *row, cop_cursor *cursor)
{
	uint64_t *whole = field;
	double *sum = field;
	if (row->kind == COP_MODEL_COUNTER_SUM)
		*sum = cop_cursor_f64(cursor);
	if (row->kind == COP_MODEL_COUNTER_WHOLE)
		*whole = row->quiet && cop_cursor_left(cursor) == 0 ? 0 : cop_cursor_u64(cursor);
	if (row->kind == COP_MODEL_COUNTER_WORDS && cop_cursor_u32(cursor) != row->count)
		return COP_EFORMAT;
	for (size_t i = 0; i < row->count; i++)
		whole[i] = cop_cursor_u64(cursor);
	return cursor->err;
}

cop_err cop_model_counters_load(cop_model_counters *counters, cop_cursor *cursor)
{
	cop_err err = COP_OK;
	for (size_t r = 0; r < COP_MODEL_COUNTERS && err == COP_OK; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		void *field = (char *)counters + row->offset;
		if (row->saved)
			err = load_row(field, row, cursor);
	}
	return err;
}
