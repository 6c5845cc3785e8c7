/* What a line may hold of the played action, and where: "_labelIndex" (from 0), "_label_Action" (from 1, where 0
 * stands for none), the first of "a" (from 1, unless the list holds a 0: then from 0). All that are there must agree.
 * Its propensity is "_label_probability", else the first of "p" (or "_p"), which goes with "a". Its cost is
 * "_label_cost", else "_original_label_cost". The words behind "_label_" are compared without case, as Vowpal Wabbit
 * does. */
#include "events/event_dsjson_private.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

#define SHOWN         40
#define MAX_ACTION    65535
#define ROUNDING_ROOM 1e-6 /* sums of logged floats may be this much above 1 */

/* False: it stood there before, which is a fault. */
static bool first_time(cop_json_scan *scan, const char **at, const cop_json_scan_span *name)
{
	if (*at != NULL)
		return cop_json_scan_fail(scan, name->at, COP_EFORMAT, "\"%.*s\" stands here again; expected it once",
		        name->length < SHOWN ? (int)name->length : SHOWN, name->at);
	*at = name->at;
	return true;
}

/* null stands for none. */
static void take_number(cop_json_scan *scan, const cop_json_scan_span *name, cop_dsjson_number *out)
{
	if (cop_json_scan_kind(scan) == COP_JSON_SCAN_NULL)
		(void)cop_json_scan_null(scan);
	else if (first_time(scan, &out->at, name))
		(void)cop_json_scan_number(scan, &out->value);
}

static void take_list(cop_json_scan *scan, const cop_json_scan_span *name, cop_dsjson_list *out)
{
	if (cop_json_scan_kind(scan) == COP_JSON_SCAN_NULL) {
		(void)cop_json_scan_null(scan);
		return;
	}
	if (!first_time(scan, &out->at, name))
		return;
	if (cop_json_scan_kind(scan) != COP_JSON_SCAN_ARRAY) {
		(void)cop_json_scan_fail(scan, NULL, COP_EFORMAT, "expected a list of numbers");
		return;
	}
	for ((void)cop_json_scan_open(scan); cop_json_scan_element(scan); out->count++) {
		double value;
		if (!cop_json_scan_number(scan, &value))
			return;
		if (out->count == 0)
			out->first = value;
		out->holds_zero |= value == 0;
	}
}

static void take_bool(cop_json_scan *scan, const cop_json_scan_span *name, cop_dsjson_label *label)
{
	if (first_time(scan, &label->skip_at, name))
		(void)cop_json_scan_bool(scan, &label->skip_learn);
}

/* The rest of "_label_..." or a member of "_label": {...}. */
static void take_part(cop_dsjson_label *label, cop_json_scan *scan, const cop_json_scan_span *name, const char *part)
{
	size_t length = (size_t)(name->at + name->length - part);
	const struct {
		const char *word;
		cop_dsjson_number *number;
	} parts[] = { { "cost", &label->cost }, { "probability", &label->probability }, { "action", &label->action } };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (length == strlen(parts[i].word) && strncasecmp(part, parts[i].word, length) == 0) {
			take_number(scan, name, parts[i].number);
			return;
		}
	(void)cop_json_scan_fail(scan, name->at, COP_EFORMAT,
	        "\"%.*s\" is no part of a label; expected cost, probability or action",
	        length < SHOWN ? (int)length : SHOWN, part);
}

/* "action:cost:probability" in quotes, or the same as an object. */
static void take_text_label(cop_dsjson_label *label, cop_json_scan *scan, const cop_json_scan_span *name)
{
	cop_json_scan_span text;
	if (!cop_json_scan_string(scan, &text) || !first_time(scan, &label->action.at, name) ||
	        !first_time(scan, &label->cost.at, name))
		return;
	double *const values[] = { &label->action.value, &label->cost.value, &label->probability.value };
	const char *at = text.at;
	const char *end = text.at + text.length;
	size_t count = 0;
	for (; at <= end && count < 3; count++) {
		const char *stop = memchr(at, ':', (size_t)(end - at));
		stop = stop == NULL ? end : stop;
		cop_err err = cop_number_parse(at, (size_t)(stop - at), values[count]);
		if (err != COP_OK) {
			(void)cop_json_scan_fail(scan, at, err, "expected a label \"action:cost:probability\"");
			return;
		}
		at = stop + 1;
	}
	if (at <= end || count < 2)
		(void)cop_json_scan_fail(scan, text.at, COP_EFORMAT, "expected a label \"action:cost:probability\"");
	else if (count == 3)
		(void)first_time(scan, &label->probability.at, name);
}

static void take_whole(cop_dsjson_label *label, cop_json_scan *scan, const cop_json_scan_span *name)
{
	cop_json_scan_type kind = cop_json_scan_kind(scan);
	if (kind == COP_JSON_SCAN_NULL) {
		(void)cop_json_scan_null(scan);
	} else if (kind == COP_JSON_SCAN_OBJECT) {
		cop_json_scan_span part;
		for ((void)cop_json_scan_open(scan); cop_json_scan_member(scan, &part);)
			take_part(label, scan, &part, part.at);
	} else {
		take_text_label(label, scan, name);
	}
}

cop_dsjson_taken cop_dsjson_label_member(cop_dsjson_label *label, cop_json_scan *scan, const cop_json_scan_span *name)
{
	static const char prefix[] = "_label";
	size_t length = sizeof prefix - 1;
	if (name->length >= length && memcmp(name->at, prefix, length) == 0) {
		if (name->length == length)
			take_whole(label, scan, name);
		else if (name->length == 11 && strncasecmp(name->at, "_labelIndex", 11) == 0)
			take_number(scan, name, &label->index);
		else
			take_part(label, scan, name, name->at + length + (name->at[length] == '_'));
	} else if (cop_json_scan_is(name, "_original_label_cost")) {
		take_number(scan, name, &label->original_cost);
	} else if (cop_json_scan_is(name, "_skipLearn")) {
		take_bool(scan, name, label);
	} else {
		return COP_DSJSON_NOT_TAKEN;
	}
	return COP_DSJSON_TAKEN;
}

void cop_dsjson_label_short(cop_dsjson_label *label, cop_json_scan *scan, const cop_json_scan_span *name)
{
	if (cop_json_scan_is(name, "a"))
		take_list(scan, name, &label->actions);
	else if (cop_json_scan_is(name, "pdrop"))
		take_number(scan, name, &label->drop);
	else if (cop_json_scan_is(name, "skipLearn"))
		take_bool(scan, name, label);
	else
		take_list(scan, name, &label->probabilities);
}

/* One way of naming the played action, `base` the number of the first; it must agree with *played (-1: not known). */
static bool agree(cop_json_scan *scan, const char *at, double value, int base, double *played)
{
	if (at == NULL)
		return true;
	if (value < base || value > MAX_ACTION || value != floor(value))
		return cop_json_scan_fail(scan, at, COP_EFORMAT, "action %g; expected a whole number from %d to %d",
		        value, base, MAX_ACTION);
	if (*played >= 0 && *played != value - base)
		return cop_json_scan_fail(scan, at, COP_EFORMAT,
		        "action %g (from %d), but the line has played action %g (from 0)", value, base, *played);
	*played = value - base;
	return true;
}

static bool find_action(const cop_dsjson_label *l, cop_json_scan *scan, size_t candidates, double *played)
{
	*played = -1;
	bool silent = l->action.value == 0 && (candidates > 0 || l->index.at != NULL);
	if (!agree(scan, l->index.at, l->index.value, 0, played) ||
	        !agree(scan, silent ? NULL : l->action.at, l->action.value, 1, played) ||
	        !agree(scan, l->actions.count == 0 ? NULL : l->actions.at, l->actions.first,
	                l->actions.holds_zero ? 0 : 1, played))
		return false;
	const char *at = l->index.at != NULL ? l->index.at : l->action.at != NULL ? l->action.at : l->actions.at;
	if (candidates > 0 && *played >= (double)candidates)
		return cop_json_scan_fail(scan, at, COP_EFORMAT, "action %g (from 0); expected one of %zu candidates",
		        *played, candidates);
	return true;
}

static bool find_probability(
        const cop_dsjson_label *l, cop_json_scan *scan, const char *cost_at, double assumed, double *p)
{
	const char *at = l->probability.at;
	*p = l->probability.value;
	if (at == NULL && l->actions.count > 0 && l->probabilities.count > 0) {
		at = l->probabilities.at;
		*p = l->probabilities.first;
		if (l->probabilities.count != l->actions.count)
			return cop_json_scan_fail(scan, at, COP_EFORMAT,
			        "%zu probabilities; expected as many as there are actions in \"a\", %zu",
			        l->probabilities.count, l->actions.count);
	}
	if (at == NULL) {
		*p = assumed;
		return assumed > 0 || cop_json_scan_fail(scan, cost_at, COP_EFORMAT,
		                              "a cost without a probability; expected \"_label_probability\"");
	}
	if (*p > 1 && *p <= 1 + ROUNDING_ROOM)
		*p = 1;
	return (*p >= COP_LOGGED_PROBABILITY_MIN && *p <= 1) ||
	       cop_json_scan_fail(
	               scan, at, COP_EFORMAT, "probability %g; expected %g to 1", *p, COP_LOGGED_PROBABILITY_MIN);
}

static bool find_weight(const cop_dsjson_label *l, cop_json_scan *scan, double *weight)
{
	double drop = l->drop.value;
	*weight = 1;
	if (l->drop.at == NULL)
		return true;
	if (!(drop >= 0 && drop <= 1 - COP_LOGGED_PROBABILITY_MIN))
		return cop_json_scan_fail(
		        scan, l->drop.at, COP_EFORMAT, "\"pdrop\" is %g; expected 0 to less than 1", drop);
	*weight = 1 / (1 - drop);
	return true;
}

bool cop_dsjson_label_apply(
        const cop_dsjson_label *label, double assumed_probability, cop_json_scan *scan, cop_logged_event *event)
{
	const cop_dsjson_number *cost = label->cost.at != NULL ? &label->cost : &label->original_cost;
	double played;
	if (!find_weight(label, scan, &event->weight) || !find_action(label, scan, event->candidates, &played))
		return false;
	if (cost->at == NULL)
		return scan->err == COP_OK;
	if (!(fabs(cost->value) <= COP_LOGGED_COST_MAX))
		return cop_json_scan_fail(scan, cost->at, COP_EFORMAT, "cost %g; expected at most %g in size",
		        cost->value, COP_LOGGED_COST_MAX);
	if (played < 0)
		return cop_json_scan_fail(
		        scan, cost->at, COP_EFORMAT, "a cost without an action; expected \"_labelIndex\"");
	if (!find_probability(label, scan, cost->at, assumed_probability, &event->p))
		return false;
	event->labelled = true;
	event->learn = !label->skip_learn;
	event->action = (uint32_t)played;
	event->cost = cost->value;
	return scan->err == COP_OK;
}
