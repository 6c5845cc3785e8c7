/* Estimates are doubly robust, from what the first model expected of losses. */
#include "whatif_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SHOWN 8 /* changes from arm to arm */

typedef struct answer {
	cop_estimate was, would, gain;
	double logged;
} answer;

static void estimate(const cop_whatif_figures *f, double level, answer *out)
{
	const cop_offpolicy_estimator *dr = cop_offpolicy_find("dr");
	cop_estimate logged;
	(void)!cop_offpolicy_estimate(&f->was, cop_offpolicy_find("logged"), NULL, level, &logged);
	(void)!cop_offpolicy_estimate(&f->was, dr, NULL, level, &out->was);
	(void)!cop_offpolicy_estimate(&f->would, dr, NULL, level, &out->would);
	(void)!cop_offpolicy_pair_estimate(&f->gain, dr, NULL, level, &out->gain);
	out->logged = logged.value;
}

static void put_estimate(cop_json_writer *json, const char *key, const cop_estimate *e)
{
	cop_json_put_object(json, key);
	cop_json_put_number(json, "value", e->value);
	cop_json_put_number(json, "low", e->low);
	cop_json_put_number(json, "high", e->high);
	cop_json_end_object(json);
}

/* The most frequent changes that are left in `from`; false: there are none. */
static bool next_change(const cop_whatif_figures *f, uint64_t *before, size_t *was, size_t *would, uint64_t *count)
{
	*count = 0;
	size_t place = 0, last = *was * f->arms + *would;
	for (size_t i = 0; i < f->arms * f->arms; i++) {
		uint64_t n = f->change[i];
		bool left = n < *before || (n == *before && i > last);
		if (i / f->arms == i % f->arms || !left || n <= *count)
			continue;
		*count = n;
		place = i;
	}
	*was = f->arms > 0 ? place / f->arms : 0;
	*would = f->arms > 0 ? place % f->arms : 0;
	*before = *count;
	return *count > 0;
}

static void put_changes(const cop_whatif_figures *f, cop_json_writer *json)
{
	uint64_t before = UINT64_MAX, count;
	size_t was = 0, would = 0;
	if (json != NULL)
		cop_json_put_array(json, "changes");
	for (size_t i = 0; i < SHOWN && next_change(f, &before, &was, &would, &count); i++) {
		if (json == NULL) {
			(void)printf("    arm %zu -> arm %zu: %" PRIu64 "\n", was, would, count);
			continue;
		}
		cop_json_begin_object(json);
		cop_json_put_unsigned(json, "was", was);
		cop_json_put_unsigned(json, "would", would);
		cop_json_put_unsigned(json, "decisions", count);
		cop_json_end_object(json);
	}
	if (json != NULL)
		cop_json_end_array(json);
}

static void put_beginning(const cop_whatif_figures *f, cop_json_writer *json)
{
	static const char *const words[] = { "anew", "journal", "checkpoint" };
	cop_json_put_text(json, "begun", words[f->begun]);
	if (f->begun == COP_WHATIF_CHECKPOINT)
		cop_json_put_unsigned(json, "checkpoint", f->checkpoint);
	cop_json_put_unsigned(json, "record", f->record);
	if (f->live != COP_WHATIF_UNKNOWN)
		cop_json_put_boolean(json, "live", f->live == COP_WHATIF_LIVE);
}

static void put_json(const char *model, const cop_whatif_figures *f, const answer *a, cop_json_writer *json)
{
	cop_json_put_text(json, "model", model);
	put_beginning(f, json);
	cop_json_put_unsigned(json, "events", f->events);
	cop_json_put_unsigned(json, "bad", f->bad);
	cop_json_put_unsigned(json, "held", f->held);
	cop_json_put_unsigned(json, "late", f->late);
	cop_json_put_unsigned(json, "refused", f->refused);
	cop_json_put_number(json, "from", f->first);
	cop_json_put_number(json, "to", f->last);
	cop_json_put_number(json, "mean_loss", a->logged);
	if (f->estimated) {
		put_estimate(json, "was", &a->was);
		put_estimate(json, "would", &a->would);
		put_estimate(json, "gain", &a->gain);
	}
	cop_json_put_unsigned(json, "changed", f->changed);
	if (f->values)
		cop_json_put_number(json, "moved", f->moved / (double)f->events);
	else
		put_changes(f, json);
}

static void put_time(const char *word, double time)
{
	char text[32] = "?";
	time_t seconds = (time_t)time;
	struct tm utc;
	if (gmtime_r(&seconds, &utc) != NULL)
		(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
	(void)printf(" %s %s", word, text);
}

static void put_line(const char *what, const cop_estimate *e)
{
	(void)printf("  %-13s%.4f [%.4f, %.4f]\n", what, e->value, e->low, e->high);
}

static const char *verdict(const cop_estimate *gain)
{
	if (gain->low == 0.0 && gain->high == 0.0)
		return "none";
	return gain->high < 0.0 ? "better" : gain->low > 0.0 ? "worse" : "neither is surely better";
}

static void put_counts(const cop_whatif_figures *f)
{
	if (f->held > 0)
		(void)printf(
		        "  %" PRIu64 " decisions of the control group were learned, and are not counted\n", f->held);
	if (f->late > 0)
		(void)printf("  %" PRIu64 " losses took longer than the window\n", f->late);
	if (f->bad > 0)
		(void)printf("  %" PRIu64 " events made no sense\n", f->bad);
	if (f->refused > 0)
		(void)printf("  %" PRIu64 " updates were refused: they would have diverged\n", f->refused);
}

static void put_begun(const cop_whatif_figures *f)
{
	if (f->begun == COP_WHATIF_CHECKPOINT)
		(void)printf("  both go on from checkpoint %" PRIu64 ", with record %" PRIu64 "\n", f->checkpoint,
		        f->record);
	else
		(void)printf("  both begin %s, with record %" PRIu64 "\n",
		        f->begun == COP_WHATIF_JOURNAL ? "as the model did" : "anew", f->record);
	if (f->live == COP_WHATIF_LIVE)
		(void)printf("  the first one is what the newest checkpoint has, byte for byte\n");
	if (f->live == COP_WHATIF_NOT_LIVE)
		(void)printf("  the first one is not what the newest checkpoint has: it changed otherwise than by the "
		             "journal\n");
}

static void put_estimates(const cop_whatif_figures *f, const answer *a)
{
	if (!f->estimated) {
		(void)printf("  what was played has no density (feedback one or two), so nothing can be estimated\n");
		return;
	}
	put_line("as it is", &a->was);
	put_line("what if", &a->would);
	(void)printf("  %-13s%+.4f [%+.4f, %+.4f]: %s\n", "difference", a->gain.value + 0.0, a->gain.low + 0.0,
	        a->gain.high + 0.0, verdict(&a->gain));
}

static void put_text(const char *model, const cop_whatif_figures *f, const answer *a)
{
	(void)printf("model %s: %" PRIu64 " decisions whose loss is known", model, f->events);
	put_time("from", f->first);
	put_time("to", f->last);
	(void)printf("\n  %-13s%.4f\n", "mean loss", a->logged);
	put_estimates(f, a);
	(void)printf("  another best %s in %" PRIu64 " decisions (%.1f %%)\n", f->values ? "value" : "action",
	        f->changed, 100.0 * (double)f->changed / (double)f->events);
	if (f->values)
		(void)printf("    %.4f of value_range away, on average\n", f->moved / (double)f->events);
	else
		put_changes(f, NULL);
	put_counts(f);
	put_begun(f);
}

void cop_whatif_answer(const char *model, const cop_whatif_figures *figures, double level, cop_json_writer *json)
{
	answer a;
	estimate(figures, level, &a);
	if (json != NULL)
		put_json(model, figures, &a, json);
	else
		put_text(model, figures, &a);
}
