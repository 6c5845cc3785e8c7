/* The part in front of the first bar, word by word. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "events/event_vw_private.h"

typedef struct word {
	const char *at, *end;
} word;

static bool next_word(const char **at, const char *end, word *out)
{
	while (*at < end && cop_vw_is_blank(**at))
		(*at)++;
	out->at = *at;
	while (*at < end && !cop_vw_is_blank(**at))
		(*at)++;
	out->end = *at;
	return out->end > out->at;
}

static bool is_word(word w, const char *text)
{
	size_t length = strlen(text);
	return (size_t)(w.end - w.at) == length && memcmp(w.at, text, length) == 0;
}

/* The part that ends at `end` or at the next colon, behind which *at moves. */
static word next_part(const char **at, const char *end)
{
	word part = { *at, *at };
	while (part.end < end && *part.end != ':')
		part.end++;
	*at = part.end < end ? part.end + 1 : end;
	return part;
}

static cop_err read_action(const cop_vw_line *line, word part, uint32_t *action)
{
	static const char expected[] = "is no action; expected ACTION:COST:PROBABILITY, a tag behind ', or shared";
	uint64_t value = 0;
	if (part.at == part.end)
		return cop_vw_wrong(line, part.at, COP_EFORMAT, "no action stands before ':'; expected a number");
	for (const char *at = part.at; at < part.end; at++) {
		if ((unsigned char)(*at - '0') > 9)
			return cop_vw_wrong_text(line, part.at, part.end, COP_EFORMAT, expected);
		value = value * 10 + (uint64_t)(*at - '0');
		if (value > COP_VW_MAX_ACTIONS)
			return cop_vw_wrong_text(line, part.at, part.end, COP_EFORMAT,
			        "is too large for an action; expected at most 65536");
	}
	*action = (uint32_t)value;
	return COP_OK;
}

static cop_err read_number(const cop_vw_line *line, word part, const char *what, double low, double high, double *out)
{
	char expected[96];
	const char *stop = cop_number_scan(part.at, line->end, out);
	if (stop == part.end && *out >= low && *out <= high)
		return COP_OK;
	cop_err err = cop_number_parse(part.at, (size_t)(part.end - part.at), out);
	cop_diag text = { 0 };
	cop_diag_message(&text, "is no %s; expected a number from %g to %g", what, low, high);
	memcpy(expected, text.message, sizeof expected - 1);
	expected[sizeof expected - 1] = '\0';
	return cop_vw_wrong_text(line, part.at, part.end, err == COP_ENONFINITE ? err : COP_EFORMAT, expected);
}

static cop_err read_cost(const cop_vw_line *line, word w, cop_vw_cost *cost)
{
	const char *at = w.at;
	*cost = (cop_vw_cost){ .at = w.at };
	cop_err err = read_action(line, next_part(&at, w.end), &cost->action);
	if (err != COP_OK || (at == w.end && w.end[-1] != ':'))
		return err;
	cost->has_cost = true;
	err = read_number(line, next_part(&at, w.end), "cost", -COP_LOGGED_COST_MAX, COP_LOGGED_COST_MAX, &cost->cost);
	if (err != COP_OK || (at == w.end && at[-1] != ':'))
		return err;
	cost->has_p = true;
	return read_number(line, (word){ at, w.end }, "probability", COP_LOGGED_PROBABILITY_MIN, 1.0, &cost->p);
}

static cop_err add_cost(cop_vw_label *label, const cop_vw_line *line, word w)
{
	if (label->count == label->capacity) {
		size_t capacity = label->capacity == 0 ? 8 : label->capacity * 2;
		cop_vw_cost *grown = cop_mem_resize(label->cost, label->count, capacity, sizeof *grown);
		if (grown == NULL)
			return cop_vw_wrong(line, w.at, COP_ENOMEM, "out of memory");
		label->cost = grown;
		label->capacity = capacity;
	}
	cop_err err = read_cost(line, w, &label->cost[label->count]);
	if (err == COP_OK)
		label->count++;
	return err;
}

static cop_err add_word(cop_vw_label *label, const cop_vw_line *line, word w)
{
	if (is_word(w, "shared") && label->count == 0 && !label->shared) {
		label->shared = true;
		return COP_OK;
	}
	if (label->shared)
		return cop_vw_wrong_text(line, w.at, w.end, COP_EFORMAT, "behind shared; expected '|' or a tag");
	return add_cost(label, line, w);
}

/* Whether the word, which would be a tag, is likely meant as the label: it is `shared` or N:... */
static bool is_misplaced_label(word w)
{
	const char *at = w.at;
	while (at < w.end && (unsigned char)(*at - '0') <= 9)
		at++;
	return is_word(w, "shared") || (at > w.at && at < w.end && *at == ':');
}

static cop_err set_tag(cop_vw_label *label, const cop_vw_line *line, word w)
{
	bool quoted = *w.at == '\'';
	if (!quoted && label->count == 0 && !label->shared && is_misplaced_label(w))
		return cop_vw_wrong_text(line, w.at, w.end, COP_EFORMAT,
		        "touches '|' and would be a tag; expected a space between label and '|'");
	label->tag = w.at + quoted;
	label->tag_length = (size_t)(w.end - label->tag);
	return COP_OK;
}

/* Behind the first tab, when something is there. */
static const char *behind_tab(const cop_vw_line *line)
{
	const char *tab = memchr(line->start, '\t', (size_t)(line->bar - line->start));
	word rest;
	const char *at = tab;
	return tab != NULL && next_word(&at, line->bar, &rest) ? tab + 1 : line->start;
}

cop_err cop_vw_label_read(cop_vw_label *label, const cop_vw_line *line)
{
	label->shared = false;
	label->count = 0;
	label->tag = NULL;
	label->tag_length = 0;
	const char *at = behind_tab(line);
	word w;
	cop_err err = COP_OK;
	for (bool more = next_word(&at, line->bar, &w); more && err == COP_OK;) {
		word next;
		more = next_word(&at, line->bar, &next);
		bool tag = !more && (w.end == line->bar || *w.at == '\'');
		err = tag ? set_tag(label, line, w) : add_word(label, line, w);
		w = next;
	}
	return err;
}

void cop_vw_label_fini(cop_vw_label *label)
{
	cop_mem_free(label->cost);
	memset(label, 0, sizeof *label);
}

cop_err cop_vw_label_played(
        const cop_vw_label *label, const cop_vw_line *line, double assumed_p, const cop_vw_cost **played, double *p)
{
	const cop_vw_cost *with_p = NULL;
	const cop_vw_cost *with_cost = NULL;
	size_t costs = 0;
	*played = NULL;
	*p = 0;
	for (size_t i = 0; i < label->count; i++) {
		const cop_vw_cost *cost = &label->cost[i];
		if (cost->has_p && with_p != NULL)
			return cop_vw_wrong(line, cost->at, COP_EFORMAT,
			        "a second action has a probability; expected it for the played one only");
		with_p = cost->has_p ? cost : with_p;
		with_cost = cost->has_cost ? cost : with_cost;
		costs += cost->has_cost;
	}
	if (with_p == NULL && with_cost != NULL && !(assumed_p > 0 && costs == 1))
		return cop_vw_wrong(line, with_cost->at, COP_EFORMAT,
		        "no probability stands behind a cost; expected ACTION:COST:PROBABILITY for the played action%s",
		        costs == 1 ? " (or one to assume)" : "");
	*played = with_p != NULL ? with_p : with_cost;
	if (*played != NULL)
		*p = with_p != NULL ? with_p->p : assumed_p;
	return COP_OK;
}
