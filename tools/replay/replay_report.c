#include "replay_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "tools/common/command.h"

/* ---- ranking ---- */

/* By which settings are ranked. */
static const char *estimator_of(const cop_replay_run *run, size_t setting)
{
	return cop_policy_run_model(run->player[setting]) != NULL ? "dr" : "ips";
}

static double value_of(const cop_replay_run *run, size_t setting)
{
	cop_estimate estimate;
	const cop_offpolicy *o = &run->tally[setting].seen;
	const char *name = estimator_of(run, setting);
	cop_err err = cop_offpolicy_estimate(o, cop_offpolicy_find(name), "delta", run->options->level, &estimate);
	if (err == COP_OK)
		return estimate.value;
	return o->n > 0 ? 0.0 : (double)NAN; /* no match: nothing of ips but zeros */
}

void cop_replay_rank(const cop_replay_run *run, size_t order[COP_REPLAY_MOST_SETTINGS])
{
	double value[COP_REPLAY_MOST_SETTINGS];
	for (size_t s = 0; s < run->options->settings; s++) {
		value[s] = value_of(run, s);
		size_t at = s;
		for (; at > 0 && value[order[at - 1]] > value[s]; at--)
			order[at] = order[at - 1];
		order[at] = s;
	}
}

void cop_replay_differ(const cop_replay_run *run, size_t i, size_t j, cop_replay_difference *out)
{
	cop_estimate e;
	size_t first = i < j ? i : j, second = i < j ? j : i;
	*out = (cop_replay_difference){ (double)NAN, (double)NAN, (double)NAN };
	if (i == j || cop_offpolicy_pair_estimate(&run->pair[first * run->options->settings + second],
	                      cop_offpolicy_find("dr"), NULL, run->options->level, &e) != COP_OK)
		return;
	*out = i < j ? (cop_replay_difference){ e.value, e.low, e.high }
	             : (cop_replay_difference){ -e.value, -e.high, -e.low };
}

/* ---- what both forms say ---- */

static const char *const kind_names[] = { [COP_REPLAY_LEARNS] = "learned",
	[COP_REPLAY_FROZEN] = "saved",
	[COP_REPLAY_CONSTANT] = "constant",
	[COP_REPLAY_LOGGED] = "logged",
	[COP_REPLAY_UNIFORM] = "uniform" };

static bool exploring(const cop_replay_run *run, size_t setting)
{
	return cop_policy_run_get_settings(run->player[setting])->exploring;
}

static const char *policy_name(const cop_replay_run *run, size_t setting, char *out, size_t size)
{
	const cop_policy_run_settings *p = cop_policy_run_get_settings(run->player[setting]);
	if (p->kind == COP_REPLAY_CONSTANT)
		(void)snprintf(out, size, "constant:%" PRIu32, p->constant);
	else
		(void)snprintf(out, size, "%s",
		        p->kind >= COP_REPLAY_CONSTANT ? kind_names[p->kind]
		        : exploring(run, setting)      ? "exploring"
		                                       : "greedy");
	return out;
}

/* The estimate; false: it does not apply. Its interval by the wanted method, or where that does not apply, none. */
static bool estimate(const cop_replay_run *run, const cop_offpolicy *o, const cop_offpolicy_estimator *estimator,
        cop_estimate *out, bool *has_interval)
{
	const cop_replay_options *options = run->options;
	cop_err err = cop_offpolicy_estimate(o, estimator, options->interval, options->level, out);
	*has_interval = err == COP_OK;
	return !isnan(out->value);
}

/* ---- JSON ---- */

static void put_text(cop_json_writer *json, const char *key, const char *text)
{
	cop_json_key(json, key);
	cop_json_text(json, text);
}

static void put_estimates(const cop_replay_run *run, const cop_offpolicy *o, cop_json_writer *json)
{
	const cop_offpolicy_estimator *estimator;
	cop_offpolicy_summary summary;
	for (size_t i = 0; (estimator = cop_offpolicy_estimator_at(i)) != NULL; i++) {
		cop_estimate e;
		bool has_interval;
		char key[64];
		const char *name = strcmp(estimator->name, "logged") == 0 ? "average_loss" : estimator->name;
		if (!estimate(run, o, estimator, &e, &has_interval))
			continue;
		cop_json_put_number(json, name, e.value);
		(void)snprintf(key, sizeof key, "%s_low", name);
		if (has_interval)
			cop_json_put_number(json, key, e.low);
		(void)snprintf(key, sizeof key, "%s_high", name);
		if (has_interval)
			cop_json_put_number(json, key, e.high);
	}
	if (o->n == 0)
		return;
	cop_offpolicy_summarise(o, &summary);
	cop_json_put_number(json, "effective_sample_size", summary.effective_sample_size);
	cop_json_put_number(json, "matched", summary.matched_share);
	cop_json_put_number(json, "mean_weight", summary.mean_weight);
	cop_json_put_number(json, "mean_weight_z", summary.mean_weight_z);
	cop_json_put_number(json, "largest_weight", summary.largest_weight);
}

static void put_setting(const cop_replay_run *run, size_t setting, cop_json_writer *json)
{
	char policy[64];
	const cop_estimates *tally = &run->tally[setting];
	const cop_model *model = cop_policy_run_model(run->player[setting]);
	put_text(json, "policy", policy_name(run, setting, policy, sizeof policy));
	if (model != NULL) {
		const cop_learner_settings *l = &cop_model_get_settings(model)->learner;
		put_text(json, "learner", l->learner);
		put_text(json, "exploration", l->policy);
	}
	cop_json_put_unsigned(json, "labelled", tally->seen.n + tally->held.n);
	put_estimates(run, &tally->seen, json);
	if (tally->refused > 0)
		cop_json_put_unsigned(json, "refused", tally->refused);
	if (!run->options->holds_out)
		return;
	cop_json_key(json, "holdout");
	cop_json_begin_object(json);
	cop_json_put_unsigned(json, "events", tally->held_examples);
	put_estimates(run, &tally->held, json);
	cop_json_end_object(json);
}

static void put_skipped(const cop_replay_run *run, cop_json_writer *json)
{
	cop_json_key(json, "skipped");
	cop_json_begin_object(json);
	uint64_t all = run->fed.skipped_all;
	for (size_t i = 0; i < COP_REPLAY_SKIPS; i++)
		all += run->resumed.skipped[i];
	cop_json_put_unsigned(json, "events", all);
	for (size_t i = 0; i < COP_REPLAY_SKIPS; i++)
		if (run->fed.skipped[i] + run->resumed.skipped[i] > 0)
			cop_json_put_unsigned(
			        json, cop_replay_skip_names[i], run->fed.skipped[i] + run->resumed.skipped[i]);
	cop_json_end_object(json);
}

static void put_difference(const cop_replay_run *run, const char *key, size_t i, size_t j, cop_json_writer *json)
{
	cop_replay_difference d;
	cop_replay_differ(run, i, j, &d);
	if (isnan(d.value))
		return;
	cop_json_key(json, key);
	cop_json_begin_object(json);
	cop_json_put_number(json, "value", d.value);
	cop_json_put_number(json, "low", d.low);
	cop_json_put_number(json, "high", d.high);
	cop_json_end_object(json);
}

static void put_ranking(const cop_replay_run *run, cop_json_writer *json)
{
	size_t order[COP_REPLAY_MOST_SETTINGS];
	cop_replay_rank(run, order);
	cop_json_key(json, "compare");
	cop_json_begin_array(json);
	for (size_t i = 0; i < run->options->settings; i++) {
		size_t s = order[i];
		cop_json_begin_object(json);
		put_text(json, "name", run->options->setting[s].name);
		cop_json_put_unsigned(json, "rank", i + 1);
		put_text(json, "ranked_by", estimator_of(run, s));
		put_setting(run, s, json);
		put_difference(run, "less_best", s, order[0], json);
		put_difference(run, "less_first", s, 0, json);
		cop_json_end_object(json);
	}
	cop_json_end_array(json);
}

cop_err cop_replay_print_json(const cop_replay_run *run)
{
	cop_json_writer *json;
	uint64_t events = run->resumed.events + run->fed.events;
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &json);
	if (err != COP_OK)
		return err;
	cop_json_begin_object(json);
	cop_json_put_unsigned(json, "events", events);
	put_setting(run, 0, json);
	cop_json_put_number(json, "events_per_second", (double)run->fed.events / run->seconds);
	cop_json_put_number(json, "seconds", run->seconds);
	if (run->limits.candidates > 0)
		cop_json_put_unsigned(json, "candidates", run->limits.candidates);
	else
		cop_json_put_unsigned(json, "arms", run->limits.arms);
	cop_json_put_unsigned(json, "features", run->limits.dimension);
	put_text(json, "features_kind", cop_feature_space_is_dense(run->space) ? "dense" : "hashed");
	cop_json_key(json, "loss_range");
	cop_json_begin_array(json);
	cop_json_number(json, run->limits.low);
	cop_json_number(json, run->limits.high);
	cop_json_end_array(json);
	put_skipped(run, json);
	if (run->options->compares)
		put_ranking(run, json);
	return cop_command_json(json);
}

/* ---- text ---- */

static const char *const meanings[][2] = {
	{ "logged", "mean cost of the log" },
	{ "ips", "inverse propensity" },
	{ "snips", "self-normalised" },
	{ "dm", "predicted by the model" },
	{ "dr", "doubly robust" },
	{ "switch", "doubly robust, heavy weights cut off" },
	{ "clipped", "inverse propensity, weights clipped" },
};

static const char *meaning_of(const char *name)
{
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
		if (strcmp(meanings[i][0], name) == 0)
			return meanings[i][1];
	return "";
}

/* No minus before what is printed as zero. */
static double tidy(double value) { return fabs(value) < 5e-7 ? 0.0 : value; }

/* Why a value may lie outside its own interval, or NULL when it does not. */
static const char *outside(const cop_offpolicy_estimator *estimator, const cop_estimate *e)
{
	if (e->value >= e->low && e->value <= e->high)
		return NULL;
	return estimator->truncated ? "the value lacks what was cut off, the interval counts it"
	                            : "the value is beyond the range of costs, in which intervals lie";
}

/* One line for each reason, below the table whose rows are marked. */
static void print_outside(const char *const why[], size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		bool told = why[i] == NULL;
		for (size_t k = 0; k < i && !told; k++)
			told = why[k] != NULL && strcmp(why[k], why[i]) == 0;
		if (!told)
			(void)printf("* outside its interval: %s\n", why[i]);
	}
}

static void print_estimates(const cop_replay_run *run, const cop_offpolicy *o)
{
	const cop_offpolicy_estimator *estimator;
	const char *why[sizeof meanings / sizeof *meanings] = { NULL };
	size_t rows = 0;
	(void)printf("%-9s %10s  %g %% interval\n", "estimate", "value", 100.0 * run->options->level);
	for (size_t i = 0; (estimator = cop_offpolicy_estimator_at(i)) != NULL; i++) {
		cop_estimate e;
		bool has_interval;
		char interval[64] = "";
		if (!estimate(run, o, estimator, &e, &has_interval))
			continue;
		if (has_interval)
			(void)snprintf(interval, sizeof interval, "%.6f to %.6f", tidy(e.low), tidy(e.high));
		const char *reason = has_interval ? outside(estimator, &e) : NULL;
		(void)printf("%-9s %10.6f%c %-24s %s\n", estimator->name, tidy(e.value), reason == NULL ? ' ' : '*',
		        interval, meaning_of(estimator->name));
		if (rows < sizeof why / sizeof *why)
			why[rows++] = reason;
	}
	print_outside(why, rows);
}

static void print_support(const cop_offpolicy *o)
{
	cop_offpolicy_summary s;
	cop_offpolicy_summarise(o, &s);
	(void)printf("effective sample size %.1f of %" PRIu64 ", matched %.4f, mean weight %.4f, largest %.4g\n",
	        s.effective_sample_size, s.events, s.matched_share, s.mean_weight, s.largest_weight);
	if (fabs(s.mean_weight_z) > 4.0)
		(void)printf("mean weight %.4f, expected 1: propensities are wrong, or the log leaves actions out\n",
		        s.mean_weight);
}

static void print_difference(const cop_replay_run *run, size_t i, size_t j)
{
	cop_replay_difference d;
	char text[96] = "";
	cop_replay_differ(run, i, j, &d);
	if (!isnan(d.value))
		(void)snprintf(text, sizeof text, "%+.6f (%+.6f to %+.6f)", tidy(d.value), tidy(d.low), tidy(d.high));
	(void)printf("  %-34s", text[0] != '\0' ? text : "-");
}

static void print_ranking(const cop_replay_run *run)
{
	size_t order[COP_REPLAY_MOST_SETTINGS];
	int width = 7;
	cop_replay_rank(run, order);
	for (size_t s = 0; s < run->options->settings; s++)
		if ((int)strlen(run->options->setting[s].name) > width)
			width = (int)strlen(run->options->setting[s].name);
	(void)printf("\n%-*s %10s %-3s  %-34s  %s\n", width, "setting", "value", "by", "less the best's",
	        "less the first's");
	for (size_t i = 0; i < run->options->settings; i++) {
		size_t s = order[i];
		(void)printf("%-*s %10.6f %-3s", width, run->options->setting[s].name, tidy(value_of(run, s)),
		        estimator_of(run, s));
		print_difference(run, s, order[0]);
		print_difference(run, s, 0);
		(void)putchar('\n');
	}
}

static void print_skipped(const cop_replay_run *run)
{
	if (run->fed.skipped_all == 0)
		return;
	(void)printf("events passed over = %" PRIu64, run->fed.skipped_all);
	const char *between = " (";
	for (size_t i = 0; i < COP_REPLAY_SKIPS; i++) {
		if (run->fed.skipped[i] == 0)
			continue;
		(void)printf("%s%s %" PRIu64, between, cop_replay_skip_names[i], run->fed.skipped[i]);
		between = ", ";
	}
	(void)printf("%s\n", strcmp(between, ", ") == 0 ? ")" : "");
}

void cop_replay_print_text(const cop_replay_run *run)
{
	const cop_estimates *tally = &run->tally[0];
	double average = cop_estimates_average(tally);
	char policy[64];
	(void)printf("finished run\nnumber of examples = %" PRIu64 "\nweighted example sum = %.6f\n", tally->examples,
	        tally->weight);
	if (isnan(average))
		(void)printf("average loss = n.a.\n");
	else
		(void)printf("average loss = %.6f\n", average);
	(void)printf("total feature number = %" PRIu64 "\n", tally->features);
	if (run->limits.dense)
		(void)printf("inputs = %zu columns\n", run->limits.dimension);
	else
		(void)printf("inputs = hashed to %zu places\n", run->limits.dimension);
	print_skipped(run);
	if (tally->refused > 0)
		(void)printf("updates refused = %" PRIu64 "\n", tally->refused);
	(void)printf("\nvalue of %s (%s)\n", run->options->compares ? run->options->setting[0].name : "the policy",
	        policy_name(run, 0, policy, sizeof policy));
	print_estimates(run, &tally->seen);
	print_support(&tally->seen);
	if (run->options->holds_out) {
		(void)printf("\nheld-out events, %" PRIu64 " of the last pass\n", tally->held_examples);
		print_estimates(run, &tally->held);
		print_support(&tally->held);
	}
	if (run->options->compares)
		print_ranking(run);
	(void)printf("\nevents per second %.0f\n", (double)run->fed.events / run->seconds);
}
