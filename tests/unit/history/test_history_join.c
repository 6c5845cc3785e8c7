/* The same happenings through a live model, which learns, and into a journal, as the daemon writes it; then the journal
 * is read: what the model learned, in its order, is what the events report, from whichever record the reading begins.
 * Under every reward rule, with bounds so small that decisions give way, time that leaps over windows, ids that come
 * again, and rules that a reload changes. */
#include "support.h"

#include <math.h>

#include "history_fixture.h"
#include "online/model_record.h"

#define SEED   83u
#define STEPS  3000
#define IDS    60
#define WINDOW 20.0

typedef struct lesson {
	double loss;
} lesson;

typedef struct world {
	cop_model *model;
	cop_model_settings settings;
	book b;
	cop_rng rng;
	double now;
	lesson learned[2 * STEPS];
	size_t lessons;
	uint64_t taught; /* counters of the model, before */
	double sum;
} world;

static void settings_of(cop_model_settings *s, cop_reward_rule rule, bool defaults)
{
	cop_model_settings_init(s);
	(void)snprintf(s->learner.learner, sizeof s->learner.learner, "dgt");
	s->learner.features = FEATURES;
	s->learner.arms = ARMS;
	s->learner.height = 1;
	s->reward = rule;
	s->reward_window = WINDOW;
	s->has_default_loss = defaults;
	s->default_loss = 0.375;
	s->loss_low = -1.0;
	s->loss_high = 2.0;
	s->pending_max = 25;
}

static cop_wire_model told_of(const cop_model_settings *s)
{
	cop_wire_model model = told("m");
	model.loss_range[0] = s->loss_low;
	model.loss_range[1] = s->loss_high;
	model.reward_window = s->reward_window;
	model.reward = (cop_wire_reward)s->reward;
	model.has_default_loss = s->has_default_loss;
	model.default_loss = s->default_loss;
	return model;
}

/* One update at most since the last call; its loss. */
static void note_lessons(world *w)
{
	const cop_model_counters *c = cop_model_get_counters(w->model);
	assert_int_equal(c->refused, 0);
	assert_true(c->learned <= w->taught + 1);
	if (c->learned > w->taught)
		w->learned[w->lessons++].loss = c->loss_sum - w->sum;
	w->taught = c->learned;
	w->sum = c->loss_sum;
}

static void decide(world *w, uint64_t id)
{
	float room[FEATURES];
	cop_decision decision;
	bool repeated;
	cop_wire_record r = decision_of("m", w->now, id, room);
	const bool defer = cop_rng_below(&w->rng, 4) == 0;
	const cop_model_context context = { .id = &r.id, .x = &r.x, .defer = defer };
	assert_int_equal(cop_model_decide(w->model, &context, w->now, &decision, &repeated), COP_OK);
	if (repeated)
		return;
	cop_model_record_decision(w->model, &context, &decision, &r);
	put(&w->b, COP_WIRE_RECORD_DECISION, &r);
}

static void answer(world *w, uint64_t id)
{
	float room[FEATURES];
	cop_feedback_result result;
	bool full = cop_rng_below(&w->rng, 4) == 0;
	cop_wire_record r = decision_of("m", w->now, id, room);
	r.has_x = full;
	r.p = 0.5;
	r.loss[0] = -1.0 + 0.125 * (double)cop_rng_below(&w->rng, 25);
	r.losses = 1;
	cop_err err = full ? cop_model_feedback_full(w->model, &r.id, &r.x, r.a, r.p, r.loss, 1, w->now, &result)
	                   : cop_model_feedback(w->model, &r.id, r.loss, 1, w->now, &result);
	assert_int_equal(err, COP_OK);
	r.result = cop_model_record_result(result);
	cop_model_record_ended(w->model, &r);
	put(&w->b, COP_WIRE_RECORD_FEEDBACK, &r);
}

static void activate(world *w, uint64_t id)
{
	cop_feedback_result result;
	cop_wire_record r = record_of("m", w->now, id);
	cop_model_activate(w->model, &r.id, w->now, &result);
	r.result = cop_model_record_result(result);
	cop_model_record_ended(w->model, &r);
	put(&w->b, COP_WIRE_RECORD_ACTIVATION, &r);
}

static void lose_action(world *w, uint64_t id)
{
	cop_wire_record r = record_of("m", w->now, id);
	if (cop_model_unheard(w->model, &r.id, NULL))
		put(&w->b, COP_WIRE_RECORD_UNHEARD, &r);
}

static void expire(world *w, uint64_t most)
{
	for (uint64_t ended = 0; ended < most && cop_model_expire(w->model, w->now, 1) == 1; ended++) {
		cop_wire_record r = { .model = "m", .model_length = 1, .time = w->now };
		note_lessons(w);
		cop_model_record_ended(w->model, &r);
		put(&w->b, COP_WIRE_RECORD_EXPIRY, &r);
	}
}

static void reload(world *w)
{
	cop_bytes set;
	w->settings.reward = (cop_reward_rule)cop_rng_below(&w->rng, 4);
	w->settings.has_default_loss = cop_rng_below(&w->rng, 2) != 0;
	w->settings.reward_window = WINDOW / (double)(1 + cop_rng_below(&w->rng, 3));
	assert_int_equal(cop_model_adjust(w->model, &w->settings, NULL), COP_OK);
	const cop_wire_model model = told_of(&w->settings);
	cop_bytes_init(&set);
	assert_int_equal(cop_wire_models_put(&set, &model, 1, 65536), 1);
	cop_wire_record config = { .time = w->now, .text = "", .models = set.data, .models_length = set.length };
	put(&w->b, COP_WIRE_RECORD_CONFIG, &config);
	cop_bytes_fini(&set);
}

static void live(world *w, bool reloads)
{
	for (size_t i = 0; i < STEPS; i++) {
		uint64_t id = 1 + cop_rng_below(&w->rng, IDS);
		w->now += cop_rng_below(&w->rng, 50) == 0 ? 1.5 * WINDOW : 0.05 * (double)cop_rng_below(&w->rng, 20);
		switch (cop_rng_below(&w->rng, 9)) {
		case 0:
		case 1:
		case 2:
			decide(w, id);
			break;
		case 3:
		case 4:
			answer(w, id);
			break;
		case 5:
			activate(w, id);
			break;
		case 6:
			expire(w, 256);
			break;
		case 7:
			lose_action(w, id);
			break;
		default:
			if (reloads && cop_rng_below(&w->rng, 10) == 0)
				reload(w);
		}
		note_lessons(w);
	}
	expire(w, UINT64_MAX);
}

static void read_back(const world *w)
{
	const cop_journal_history_settings settings = { .model = "m" };
	cop_event_reader *reader = open_history(&settings);
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	for (size_t i = 0; i < w->lessons; i++) {
		cop_err err = cop_event_reader_next(reader, &event, &diag);
		if (err != COP_OK)
			fail_msg("lesson %zu of %zu: %s %s", i, w->lessons, cop_err_text(err), diag.message);
		if (fabs(event.cost - w->learned[i].loss) > 1e-9)
			fail_msg("lesson %zu of %zu: %.17g, not %.17g", i, w->lessons, event.cost, w->learned[i].loss);
		assert_true(event.labelled && event.x.dense[0] == (float)id_of(&event));
	}
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EEND);
	const cop_journal_history_counts *counts = cop_journal_history_get_counts(reader);
	const cop_model_counters *c = cop_model_get_counters(w->model);
	assert_int_equal(counts->labelled, c->learned);
	assert_int_equal(counts->defaulted, c->defaulted);
	assert_int_equal(counts->decisions, c->decisions);
	assert_int_equal(counts->unjoined, 0);
	assert_int_equal(counts->ignored, c->feedback[COP_FEEDBACK_DUPLICATE] + c->feedback[COP_FEEDBACK_LATE] +
	                                          c->feedback[COP_FEEDBACK_UNKNOWN]);
	cop_event_reader_free(reader);
}

/* Decisions from a record on: their events are those of the whole journal, in its order. */
static void read_from(uint64_t from, bool unanswered)
{
	const cop_journal_history_settings all = { .model = "m", .unanswered = unanswered };
	const cop_journal_history_settings suffix = { .model = "m", .unanswered = unanswered, .from = from };
	cop_event_reader *whole = open_history(&all), *part = open_history(&suffix);
	cop_logged_event want, got;
	cop_err err;
	size_t events = 0;
	while ((err = cop_event_reader_next(whole, &want, NULL)) == COP_OK) {
		if (cop_journal_history_get_origin(whole)->sequence < from)
			continue;
		assert_int_equal(cop_event_reader_next(part, &got, NULL), COP_OK);
		const cop_journal_history_origin *a = cop_journal_history_get_origin(whole);
		const cop_journal_history_origin *b = cop_journal_history_get_origin(part);
		assert_true(a->sequence == b->sequence && a->learned == b->learned && a->time == b->time);
		assert_true(a->learned_time == b->learned_time && a->defaulted == b->defaulted);
		assert_true(a->self_contained == b->self_contained);
		assert_true(id_of(&want) == id_of(&got) && want.labelled == got.labelled && want.cost == got.cost);
		assert_true(want.action == got.action && want.p == got.p && want.text == got.text);
		events++;
	}
	assert_int_equal(err, COP_EEND);
	assert_int_equal(cop_event_reader_next(part, &got, NULL), COP_EEND);
	assert_true(events > 0);
	cop_event_reader_free(whole);
	cop_event_reader_free(part);
}

static void check(cop_reward_rule rule, bool defaults, bool reloads, uint64_t seed)
{
	static world w;
	memset(&w, 0, sizeof w);
	cop_rng_init(&w.rng, seed, 0);
	settings_of(&w.settings, rule, defaults);
	assert_int_equal(cop_model_new(&w.settings, &w.model, NULL), COP_OK);
	const cop_wire_model model = told_of(&w.settings);
	open_book(&w.b, 1, &model, 1);
	live(&w, reloads);
	close_book(&w.b);
	assert_true(w.lessons > STEPS / 40);
	read_back(&w);
	for (int i = 0; i < 4; i++)
		read_from(1 + cop_rng_below(&w.rng, w.b.next * 9 / 10), i % 2 != 0);
	cop_model_free(w.model);
	empty_folder();
}

static void test_events_are_what_the_model_learned_in_its_order(void **state)
{
	(void)state;
	printf("seed %u\n", SEED);
	for (unsigned i = 0; i < 24; i++)
		check((cop_reward_rule)(i % 4), i / 4 % 2 != 0, false, SEED + i);
}

static void test_events_are_what_the_model_learned_over_reloads(void **state)
{
	(void)state;
	printf("seed %u\n", SEED);
	for (unsigned i = 0; i < 24; i++)
		check(COP_REWARD_EARLIEST, false, true, SEED + 100 + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events_are_what_the_model_learned_in_its_order),
		TEST(test_events_are_what_the_model_learned_over_reloads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
