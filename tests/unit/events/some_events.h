/* tests/unit/events/some_events.h: random events of every shape, and their comparison. */
#ifndef COP_TESTS_SOME_EVENTS_H
#define COP_TESTS_SOME_EVENTS_H

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "events/logged_event.h"

enum {
	SOME_DENSE = 1,       /* rows; else sparse over 2^10 */
	SOME_CANDIDATES = 2,  /* 1 to 6 of them */
	SOME_MASKS = 4,       /* some of the events */
	SOME_UNLABELLED = 8,  /* some */
	SOME_IDS = 16,        /* some: strings of letters and digits */
	SOME_OTHER_IDS = 32,  /* some: binary and integers */
	SOME_WEIGHTS = 64,    /* some */
	SOME_UNLEARNED = 128, /* some */
	SOME_ALL = 255
};

#define SOME_MOST_CANDIDATES 6
#define SOME_D               17
#define SOME_DIMENSION       1024
#define SOME_ARMS            9

typedef struct some_events {
	cop_rng rng;
	unsigned kinds;
	uint64_t line;
	float value[SOME_MOST_CANDIDATES + 1][SOME_D];
	uint32_t index[SOME_MOST_CANDIDATES + 1][SOME_D];
	cop_row rows[SOME_MOST_CANDIDATES];
	uint8_t mask[SOME_ARMS];
} some_events;

static inline void some_events_init(some_events *s, unsigned kinds, uint64_t seed)
{
	memset(s, 0, sizeof *s);
	cop_rng_init(&s->rng, seed, 0);
	s->kinds = kinds;
}

static inline bool some_times(some_events *s, unsigned kind)
{
	bool yes = cop_rng_below(&s->rng, 3) == 0;
	return (s->kinds & kind) != 0 && yes;
}

/* Whole, short, long and tiny ones, never 0. */
static inline float some_value(some_events *s)
{
	double v = cop_rng_unit(&s->rng) + 1e-3;
	switch (cop_rng_below(&s->rng, 5)) {
	case 0:
		return (float)(1 + cop_rng_below(&s->rng, 300));
	case 1:
		return (float)((double)(1 + cop_rng_below(&s->rng, 999)) / 100.0);
	case 2:
		return (float)-v;
	case 3:
		return (float)(v * 1e-30);
	default:
		return (float)(v * 1e9);
	}
}

static inline void some_row(some_events *s, size_t place, cop_row *row)
{
	size_t n = (s->kinds & SOME_DENSE) != 0 ? SOME_D : cop_rng_below(&s->rng, SOME_D);
	for (size_t i = 0; i < n; i++) {
		s->value[place][i] = some_value(s);
		s->index[place][i] = (uint32_t)(60 * i + cop_rng_below(&s->rng, 60));
	}
	if ((s->kinds & SOME_DENSE) != 0)
		*row = (cop_row){ .d = SOME_D, .dense = s->value[place] };
	else
		*row = (cop_row){ .d = SOME_DIMENSION, .nnz = n, .index = s->index[place], .value = s->value[place] };
}

static inline void some_id(some_events *s, cop_event_id *id)
{
	char text[COP_EVENT_ID_MAX + 1];
	(void)snprintf(text, sizeof text, "e%llu-x", (unsigned long long)cop_rng_below(&s->rng, 1u << 30));
	if (some_times(s, SOME_IDS))
		assert_true(cop_event_id_from_bytes(id, COP_EVENT_ID_STRING, text, strlen(text)));
	if (some_times(s, SOME_OTHER_IDS))
		cop_event_id_from_signed(id, (int64_t)cop_rng_below(&s->rng, 1000) - 500);
	if (some_times(s, SOME_OTHER_IDS))
		assert_true(cop_event_id_from_bytes(id, COP_EVENT_ID_BINARY, "\0\1\2 \377\"", 6));
}

static inline void some_label(some_events *s, cop_logged_event *event, size_t actions)
{
	event->action = (uint32_t)cop_rng_below(&s->rng, actions);
	event->cost = cop_rng_below(&s->rng, 2) == 0 ? (double)cop_rng_below(&s->rng, 3) - 1.0
	                                             : cop_rng_unit(&s->rng) * 1e3 - 5e2;
	event->p = cop_rng_below(&s->rng, 2) == 0 ? 0.25 : 1.0 - 0.999 * cop_rng_unit(&s->rng);
	event->labelled = true;
	event->learn = !some_times(s, SOME_UNLEARNED);
	if (some_times(s, SOME_UNLABELLED)) {
		event->labelled = event->learn = false;
		event->action = 0;
		event->cost = event->p = 0.0;
	}
}

/* The next one, valid until the one after. */
static inline void some_event(some_events *s, cop_logged_event *event)
{
	*event = (cop_logged_event){ .line = ++s->line, .weight = 1.0, .features = 3, .text = 100 };
	some_row(s, 0, &event->x);
	if ((s->kinds & SOME_CANDIDATES) != 0) {
		event->candidates = 1 + cop_rng_below(&s->rng, SOME_MOST_CANDIDATES);
		event->candidate = s->rows;
		for (size_t i = 0; i < event->candidates; i++)
			some_row(s, 1 + i, &s->rows[i]);
	}
	size_t actions = event->candidates > 0 ? event->candidates : SOME_ARMS;
	some_label(s, event, actions);
	some_id(s, &event->id);
	if (some_times(s, SOME_MASKS)) {
		for (size_t i = 0; i < actions; i++)
			s->mask[i] = cop_rng_below(&s->rng, 2) == 0 || i == event->action ||
			             i == (event->action + 1) % actions;
		event->mask = s->mask;
		event->arms = actions;
	}
	if (some_times(s, SOME_WEIGHTS))
		event->weight = 1.0 + cop_rng_unit(&s->rng);
}

static inline void assert_same_row(const cop_row *a, const cop_row *b)
{
	assert_int_equal(a->dense != NULL, b->dense != NULL);
	assert_int_equal(a->d, b->d);
	size_t n = cop_row_entries(a);
	assert_int_equal(n, cop_row_entries(b));
	if (n == 0)
		return;
	if (a->dense != NULL) {
		assert_memory_equal(a->dense, b->dense, n * sizeof(float));
		return;
	}
	assert_memory_equal(a->index, b->index, n * sizeof(uint32_t));
	assert_memory_equal(a->value, b->value, n * sizeof(float));
}

/* All but line, features and text. */
static inline void assert_same_event(const cop_logged_event *a, const cop_logged_event *b)
{
	assert_true(cop_event_id_equal(&a->id, &b->id));
	assert_same_row(&a->x, &b->x);
	assert_int_equal(a->candidates, b->candidates);
	for (size_t i = 0; i < a->candidates; i++)
		assert_same_row(&a->candidate[i], &b->candidate[i]);
	assert_int_equal(a->mask != NULL, b->mask != NULL);
	if (a->mask != NULL) {
		assert_int_equal(a->arms, b->arms);
		assert_memory_equal(a->mask, b->mask, a->arms);
	}
	assert_int_equal(a->labelled, b->labelled);
	assert_int_equal(a->learn, b->learn);
	assert_true(a->weight == b->weight);
	if (!a->labelled)
		return;
	assert_int_equal(a->action, b->action);
	assert_true(a->cost == b->cost);
	assert_true(a->p == b->p);
}

#endif
