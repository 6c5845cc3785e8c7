/* A window to the last event, record and byte: small journals whose windows are known beforehand. */
#include "support.h"

#include <malloc.h>

#include "history/open_decisions.h"
#include "refit/refit_window.h"
#include "refit_fixture.h"

#define EVENT_BYTES ((sizeof(cop_refit_event) + 15) / 16 * 16)

static cop_refit_window window_of(const cop_refit_settings *set)
{
	cop_refit_window w;
	cop_diag diag = { .message = "" };
	if (cop_refit_window_read(set, folder, NULL, &w, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	return w;
}

static void put_pair(book *b, uint64_t id, double loss)
{
	put_decision(b, (double)id, id);
	put_feedback(b, (double)id, id, loss, COP_WIRE_APPLIED);
}

/* Decisions 1, 3, 5, ..., each answered at once. */
static void write_pairs(uint64_t pairs)
{
	const cop_wire_model model = told("m");
	book b;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < pairs; id++)
		put_pair(&b, id, 0.25);
	close_book(&b);
}

static void test_shape_follows_from_the_model(void **state)
{
	(void)state;
	const struct {
		size_t features, candidate_features, max_candidates, arms, rows, outputs;
		unsigned bits;
	} cases[] = { { 3, 0, 0, 4, 3, 4, 0 }, { 3, 2, 1, 0, 5, 1, 0 }, { 3, 2, 7, 0, 5, 1, 0 },
		{ 3, 2, 0, 2, 3, 2, 0 }, { 0, 0, 0, 4, 16, 4, 4 }, { 0, 0, 1, 0, 32, 1, 4 }, { 0, 0, 9, 0, 32, 1, 4 },
		{ 1, 0, 0, 1, 1, 1, 0 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const cop_journal_history_model m = { .features = cases[i].features,
			.bits = cases[i].bits,
			.candidate_features = cases[i].candidate_features,
			.max_candidates = cases[i].max_candidates,
			.arms = cases[i].arms };
		assert_int_equal(cop_refit_window_features(&m), cases[i].rows);
		assert_int_equal(cop_refit_window_outputs(&m), cases[i].outputs);
	}
}

/* Contexts of three floats take 16 bytes. A fit: three times as many and 128, four floats an arm; laptao 8 doubles an
 * arm as well, and 32 bytes a neighbour. */
static void test_memory_of_dense_events_is_theirs_and_their_fits(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	write_pairs(5);
	for (int lap = 0; lap < 2; lap++) {
		set.method = lap ? COP_REFIT_LAPTAO : COP_REFIT_TAO;
		size_t fit = 3 * 3 * 4 + 128 + 4 * ARMS * 4 + (lap ? 8 * ARMS * 8 + set.neighbours * 32 : 0);
		cop_refit_window w = window_of(&set);
		assert_int_equal(w.n, 5);
		assert_int_equal(w.room, 256);
		assert_int_equal(w.bytes, 5 * (EVENT_BYTES + 16));
		assert_int_equal(w.memory, w.bytes + 5 * fit + 256 * sizeof(void *));
		cop_refit_window_fini(&w);
		assert_int_equal(w.n, 0);
		assert_null(w.event);
	}
}

/* Four floats take no more than three, and a flag for each arm as much as 16 of them. */
static void test_memory_of_masks_and_wider_rows_is_counted(void **state)
{
	(void)state;
	static const uint8_t mask[17] = { 1, 1, 1, 0, 1 };
	static const float x[] = { 1.0f, 2.0f, 3.0f, 4.0f };
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	float room[FEATURES];
	book b;
	model.features = 4;
	model.arms = 17;
	open_book(&b, 1, &model, 1);
	cop_wire_record r = decision_of("m", 1.0, 1, room);
	r.x = (cop_row){ .d = 4, .dense = x };
	r.arms = 17;
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	r = decision_of("m", 2.0, 2, room);
	r.x = (cop_row){ .d = 4, .dense = x };
	r.arms = 17;
	r.mask = mask;
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	close_book(&b);
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.bytes, 2 * (EVENT_BYTES + 16) + 32);
	assert_memory_equal(w.event[0]->x.dense, x, sizeof x);
	assert_memory_equal(w.event[1]->x.dense, x, sizeof x);
	assert_memory_equal(w.event[1]->mask, mask, sizeof mask);
	cop_refit_window_fini(&w);
}

static void test_memory_that_is_enough_is_enough(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_window w;
	cop_diag diag = { .message = "" };
	write_pairs(300);
	w = window_of(&set);
	assert_true(w.n == 300 && w.room == 512 && w.memory == w.bytes + 300 * 228 + 512 * sizeof(void *));
	cop_refit_window_fini(&w);
	set.window = 290;
	w = window_of(&set);
	assert_int_equal(w.room, 290);
	set.memory = w.memory;
	cop_refit_window_fini(&w);
	w = window_of(&set);
	assert_int_equal(w.n, 290);
	set.memory--;
	cop_refit_window_fini(&w);
	assert_int_equal(cop_refit_window_read(&set, folder, NULL, &w, &diag), COP_EFULL);
	assert_non_null(strstr(diag.message, "290 events of model \"m\""));
	cop_refit_window_fini(&w);
}

/* Of so many nonzeros: 1 + id % 7. */
static void put_sparse(book *b, uint64_t id)
{
	static const uint32_t index[] = { 1, 3, 5, 7, 9, 11, 13 };
	static const float value[] = { 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f };
	float room[FEATURES];
	cop_wire_record r = decision_of("m", (double)id, id, room);
	r.x = (cop_row){ .d = 1u << WORLD_BITS, .nnz = 1 + id % 7, .index = index, .value = value };
	put(b, COP_WIRE_RECORD_DECISION, &r);
}

/* Also when events gave way to newer, larger or smaller ones. */
static void test_memory_of_sparse_events_is_of_those_that_stay(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	book b;
	size_t bytes = 0, fit = 0;
	model.features = 0;
	model.bits = WORLD_BITS;
	model.max_nonzeros = 7;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < 30; id++)
		put_sparse(&b, id);
	close_book(&b);
	set.window = 10;
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 10);
	for (size_t i = 0; i < 10; i++) {
		size_t nonzeros = 1 + (20 + i) % 7;
		assert_int_equal(w.event[i]->sequence, 21 + i);
		assert_int_equal(w.event[i]->x.nnz, nonzeros);
		for (size_t k = 0; k < nonzeros; k++)
			assert_true(w.event[i]->x.index[k] == 2 * k + 1 && w.event[i]->x.value[k] == (float)(k + 1));
		bytes += EVENT_BYTES + (nonzeros * 8 + 15) / 16 * 16;
		fit += 3 * nonzeros * 8 + 128 + 4 * ARMS * 4;
	}
	assert_int_equal(w.room, 10);
	assert_int_equal(w.bytes, bytes);
	assert_int_equal(w.memory, bytes + fit + 10 * sizeof(void *));
	cop_refit_window_fini(&w);
}

/* Decisions of 1 to 3 candidates, with flags. */
static void test_memory_of_candidates_is_of_all_and_of_one_in_the_fit(void **state)
{
	(void)state;
	static const uint8_t mask[] = { 1, 1, 1 };
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	book b;
	float x[FEATURES], c[3] = { 1.0f, 2.0f, 3.0f };
	const cop_row candidates[] = { { .d = 1, .dense = c }, { .d = 1, .dense = c + 1 }, { .d = 1, .dense = c + 2 } };
	size_t bytes = 0;
	set.method = COP_REFIT_LAPTAO; /* which is of arms alone */
	model.arms = 0;
	model.max_candidates = 3;
	model.candidate_features = 1;
	open_book(&b, 1, &model, 1);
	for (uint32_t n = 1; n <= 3; n++) {
		cop_wire_record r = decision_of("m", 1.0, n, x);
		r.arms = n;
		r.mask = mask;
		r.candidate = candidates;
		r.candidates = n;
		r.a = n - 1;
		put(&b, COP_WIRE_RECORD_DECISION, &r);
		bytes += EVENT_BYTES + 16 + 16 + (n * sizeof(cop_row) + 15) / 16 * 16 + n * 16;
	}
	close_book(&b);
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.bytes, bytes);
	assert_int_equal(w.memory, w.bytes + 3 * (3 * 4 * 4 + 128 + 4 * 4) + 256 * sizeof(void *));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(w.event[i]->candidates, i + 1);
		assert_memory_equal(w.event[i]->mask, mask, i + 1);
		assert_memory_equal(w.event[i]->x.dense, ((const float[]){ (float)(i + 1), 0.0f, 1.0f }), sizeof x);
		for (size_t k = 0; k <= i; k++)
			assert_true(w.event[i]->candidate[k].dense[0] == c[k]);
	}
	cop_refit_window_fini(&w);
}

static void test_event_takes_the_memory_that_is_counted(void **state)
{
	(void)state;
	static uint8_t mask[10000];
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	float x[FEATURES];
	book b;
	memset(mask, 1, sizeof mask);
	model.arms = sizeof mask;
	open_book(&b, 1, &model, 1);
	cop_wire_record r = decision_of("m", 1.0, 1, x);
	r.arms = sizeof mask;
	r.mask = mask;
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	close_book(&b);
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.bytes, w.event[0]->size);
	assert_true(w.bytes >= sizeof mask && malloc_usable_size(w.event[0]) >= w.bytes);
	assert_true(malloc_usable_size(w.event[0]) < w.bytes + 1000);
	cop_refit_window_fini(&w);
}

static void test_losses_are_scaled_and_cut_to_their_range(void **state)
{
	(void)state;
	static const double losses[] = { -1.0, 1.0, 3.0, 0.0, 5.0, -2.0 }, want[] = { 0.0, 0.5, 1.0, 0.25, 1.0, 0.0 };
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	book b;
	model.loss_range[0] = -1.0;
	model.loss_range[1] = 3.0;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < 6; id++)
		put_pair(&b, id, losses[id]);
	put_decision(&b, 6.0, 6);
	close_book(&b);
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 7);
	for (size_t i = 0; i < 6; i++) {
		assert_true(w.event[i]->answered && w.event[i]->loss == want[i]);
		assert_true(w.event[i]->action == i % ARMS && w.event[i]->p == 1.0 / (1.0 + (double)i));
		assert_true(w.event[i]->x.dense[0] == (float)i && w.event[i]->x.dense[2] == 1.0f);
	}
	assert_true(!w.event[6]->answered && w.event[6]->loss == 0.0);
	cop_refit_window_fini(&w);
}

static void test_default_loss_beyond_the_range_is_cut_to_it(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	for (int below = 0; below < 2; below++) {
		cop_wire_model model = told("m");
		book b;
		model.has_default_loss = true;
		model.default_loss = below ? -5.0 : 5.0;
		empty_folder();
		open_book(&b, 1, &model, 1);
		put_decision(&b, 1.0, 1);
		EXPIRE(&b, 500.0, { 1, COP_WIRE_OUTCOME_DEFAULT, model.default_loss });
		close_book(&b);
		cop_refit_window w = window_of(&set);
		assert_int_equal(w.n, 1);
		assert_true(w.event[0]->answered && w.event[0]->loss == (below ? 0.0 : 1.0));
		cop_refit_window_fini(&w);
	}
}

/* Of two losses at 1/4 and 3/4 of the way, and of values beyond their range. */
static void test_values_are_cut_to_their_range_and_losses_scaled(void **state)
{
	(void)state;
	static const double y[] = { 0.5, 1.5, -0.5 }, want[] = { 0.5, 1.0, 0.0 };
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	float room[FEATURES];
	book b;
	model.arms = 0;
	model.learner = "value";
	model.learner_length = 5;
	model.losses = 2;
	model.value_range[1] = 1.0;
	model.delta = 0.1;
	model.loss_range[1] = 4.0;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < 3; id++) {
		cop_wire_record r = decision_of("m", (double)id, id, room);
		r.values = true;
		r.arms = 0;
		r.y = y[id];
		r.u = id == 1 ? 1 : -1;
		put(&b, COP_WIRE_RECORD_DECISION, &r);
	}
	put_answer(&b, 3.0, 0, (const double[]){ 1.0, 3.0 }, 2);
	close_book(&b);
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(w.event[i]->y == want[i] && w.event[i]->u == (i == 1 ? 1 : -1));
		assert_int_equal(w.event[i]->answered, i == 0);
		assert_true(w.event[i]->loss == (i == 0 ? 0.5 : 0.0));
		assert_true(w.event[i]->losses[0] == (i == 0 ? 0.25 : 0.0));
		assert_true(w.event[i]->losses[1] == (i == 0 ? 0.75 : 0.0));
	}
	cop_refit_window_fini(&w);
}

/* Whatever the order of their answers, these are the decisions 13 to 19 of 20. */
static void test_window_is_of_the_newest_decisions_in_their_order(void **state)
{
	(void)state;
	const cop_wire_model model = told("m");
	cop_refit_settings set = quick();
	cop_rng rng;
	set.window = 7;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t order[20];
		book b;
		empty_folder();
		open_book(&b, 1, &model, 1);
		for (uint32_t id = 0; id < 20; id++) {
			order[id] = id;
			put_decision(&b, 1.0, id);
		}
		cop_rng_init(&rng, seed, 0);
		cop_rng_shuffle(&rng, 20, order);
		for (size_t i = 0; i < 20; i++)
			put_feedback(&b, 2.0, order[i], 0.5, COP_WIRE_APPLIED);
		close_book(&b);
		cop_refit_window w = window_of(&set);
		assert_int_equal(w.n, 7);
		assert_int_equal(w.answered, 7);
		for (size_t i = 0; i < 7; i++)
			if (w.event[i]->sequence != 14 + i)
				fail_msg("seed %d: event %zu is of record %d", (int)seed, i, (int)w.event[i]->sequence);
		cop_refit_window_fini(&w);
	}
}

/* Record 5 is the third decision, record 6 its answer. */
static void test_records_behind_until_are_not_there_yet(void **state)
{
	(void)state;
	static const struct {
		uint64_t until, n, answered, learned;
	} cases[] = { { 0, 5, 5, 10 }, { 4, 2, 2, 4 }, { 5, 3, 2, 4 }, { 6, 3, 3, 6 }, { 10, 5, 5, 10 },
		{ 1, 1, 0, 0 } };
	cop_refit_settings set = quick();
	write_pairs(5);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		set.until = cases[i].until;
		cop_refit_window w = window_of(&set);
		assert_int_equal(w.n, cases[i].n);
		assert_int_equal(w.answered, cases[i].answered);
		assert_int_equal(w.learned, cases[i].learned);
		cop_refit_window_fini(&w);
	}
}

static void test_answers_after_the_last_run_are_fresh_and_the_newest_are_held_out(void **state)
{
	(void)state;
	static const struct {
		uint64_t after, fresh;
		double holdout;
		size_t fitted;
	} cases[] = { { 0, 5, 0.0, 5 }, { 1, 5, 0.2, 4 }, { 2, 4, 0.25, 3 }, { 9, 1, 0.5, 2 }, { 10, 0, 0.9, 0 } };
	cop_refit_settings set = quick();
	write_pairs(5);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		set.after = cases[i].after;
		set.holdout = cases[i].holdout;
		cop_refit_window w = window_of(&set);
		assert_int_equal(w.fresh, cases[i].fresh);
		assert_int_equal(w.fitted, cases[i].fitted);
		cop_refit_window_fini(&w);
	}
}

static void test_what_makes_no_sense_is_passed_over_and_counted(void **state)
{
	(void)state;
	static const uint8_t masks[2][ARMS] = { { 1, 0, 1, 1 }, { 0, 1, 0, 0 } };
	cop_refit_settings set = quick();
	const cop_wire_model model = told("m");
	book b;
	float x[FEATURES];
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id < 3; id++) {
		cop_wire_record r = decision_of("m", (double)id, id, x);
		r.a = 1;
		r.mask = masks[id - 1];
		put(&b, COP_WIRE_RECORD_DECISION, &r);
	}
	put_body(&b, COP_WIRE_RECORD_DECISION, "\x81\xa1m\xa1m", 5);
	put_decision(&b, 9.0, 9);
	close_book(&b);
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.passed, 2);
	assert_int_equal(w.event[0]->sequence, 2);
	assert_memory_equal(w.event[0]->mask, masks[1], ARMS);
	assert_null(w.event[1]->mask);
	cop_refit_window_fini(&w);
}

static void test_action_that_is_not_there_is_passed_over(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	for (size_t most = 0; most < 3; most++) {
		const float c[] = { 1.0f, 2.0f };
		const cop_row candidates[] = { { .d = 1, .dense = c }, { .d = 1, .dense = c + 1 } };
		size_t choices = most == 0 ? ARMS : most;
		cop_wire_model model = told("m");
		float x[FEATURES];
		book b;
		model.arms = most == 0 ? ARMS : 0;
		model.max_candidates = most;
		model.candidate_features = most == 0 ? 0 : 1;
		empty_folder();
		open_book(&b, 1, &model, 1);
		for (uint64_t id = 1; id <= 2; id++) {
			cop_wire_record r = decision_of("m", (double)id, id, x);
			r.arms = most == 0 ? ARMS : 0;
			r.candidate = candidates;
			r.candidates = most;
			r.a = (uint32_t)(choices - 2 + id);
			put(&b, COP_WIRE_RECORD_DECISION, &r);
		}
		close_book(&b);
		cop_refit_window w = window_of(&set);
		assert_int_equal(w.n, 1);
		assert_int_equal(w.passed, 1);
		assert_int_equal(w.event[0]->action, choices - 1);
		cop_refit_window_fini(&w);
	}
}

static void test_model_that_no_header_holds_is_refused(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_window w;
	cop_diag diag = { .message = "" };
	book b;
	open_book(&b, 1, NULL, 0);
	put_pair(&b, 1, 0.5);
	close_book(&b);
	assert_int_equal(cop_refit_window_read(&set, folder, NULL, &w, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "model \"m\" is not in the journal"));
	cop_refit_window_fini(&w);
}

/* Steps that were told of; what the listener answers. */
typedef struct listener {
	unsigned heard;
	bool go_on;
} listener;

static bool hear(void *context, double share, const char *what)
{
	listener *l = context;
	assert_true(share == 0.0);
	assert_string_equal(what, "reading");
	l->heard++;
	return l->go_on;
}

static void test_progress_is_told_at_every_4096th_step(void **state)
{
	(void)state;
	const cop_wire_model model = told("m");
	cop_refit_settings set = quick();
	for (uint64_t events = 4094; events < 4096; events++) {
		listener l = { .go_on = true };
		const cop_progress progress = { .report = hear, .context = &l };
		cop_refit_window w;
		book b;
		empty_folder();
		open_book(&b, 1, &model, 1);
		for (uint64_t id = 0; id < events; id++)
			put_decision(&b, 1.0, id);
		close_book(&b);
		assert_int_equal(cop_refit_window_read(&set, folder, &progress, &w, NULL), COP_OK);
		assert_int_equal(l.heard, events - 4094);
		assert_true(!w.stopped && w.n == events);
		cop_refit_window_fini(&w);
	}
	listener l = { .go_on = false };
	const cop_progress progress = { .report = hear, .context = &l };
	cop_refit_window w;
	assert_int_equal(cop_refit_window_read(&set, folder, &progress, &w, NULL), COP_EEND);
	assert_true(w.stopped && l.heard == 1);
	cop_refit_window_fini(&w);
}

/* What each of these decisions takes while it waits; their ids are of one length. */
#define FIRST_ID 256

static size_t waiting_bytes(void)
{
	float x[FEATURES];
	cop_bytes body;
	const cop_wire_record r = decision_of("m", 1.0, FIRST_ID, x);
	cop_bytes_init(&body);
	cop_wire_record_put(&body, COP_WIRE_RECORD_DECISION, &r);
	size_t bytes = sizeof(cop_open_decisions_entry) + body.length;
	cop_bytes_fini(&body);
	return bytes;
}

/* Of so many decisions that wait at once, the first one is answered then: unless it had to give way. */
static bool first_is_kept(size_t decisions, size_t memory)
{
	const cop_wire_model model = told("m");
	cop_refit_settings set = quick();
	book b;
	empty_folder();
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < decisions; id++)
		put_decision(&b, 1.0, FIRST_ID + id);
	put_feedback(&b, 1.0, FIRST_ID, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	set.window = decisions;
	set.memory = memory;
	set.until = 0;
	cop_refit_window w = window_of(&set);
	bool kept = w.answered == 1;
	cop_refit_window_fini(&w);
	return kept;
}

/* And 1 MiB at least. */
static void test_decisions_that_wait_have_a_quarter_of_the_memory(void **state)
{
	(void)state;
	size_t each = waiting_bytes(), most = ((size_t)4 << 20) / each, least = ((size_t)1 << 20) / each;
	assert_true(first_is_kept(least, (size_t)3 << 20)); /* of which a quarter would be less */
	assert_true(!first_is_kept(least + 1, (size_t)3 << 20));
	assert_true(first_is_kept(most, (size_t)16 << 20));
	assert_true(!first_is_kept(most + 1, (size_t)16 << 20));
	assert_true(first_is_kept(most + 1, 4 * (most + 1) * each));
	assert_true(!first_is_kept(most + 1, 4 * (most + 1) * each - 4));
}

/* Segments of ten records: pairs, or one pair and what ends no window. */
static void write_segments(uint64_t segments, uint64_t pairs_each)
{
	const cop_wire_model model = told("m");
	book b;
	open_book(&b, 1, &model, 1);
	for (uint64_t s = 0; s < segments; s++) {
		if (s > 0)
			assert_int_equal(cop_journal_writer_roll(b.writer, NULL), COP_OK);
		for (uint64_t k = 0; k < pairs_each; k++)
			put_pair(&b, s * pairs_each + k, 0.5);
		while (b.next <= 10 * (s + 1))
			put_expiry(&b, (double)s, NULL, 0);
	}
	close_book(&b);
}

/* The newest one begins with record 391. */
static void test_reading_begins_three_records_an_event_back_and_then_four_times_as_far(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	set.window = 10;
	write_segments(40, 5);
	cop_refit_window w = window_of(&set);
	assert_true(w.n == 10 && w.from == 361);
	cop_refit_window_fini(&w);
	set.until = 201; /* 30 behind 171 */
	w = window_of(&set);
	assert_true(w.n == 10 && w.from == 171);
	assert_int_equal(w.event[9]->sequence, 201);
	cop_refit_window_fini(&w);
	set.until = 200;
	w = window_of(&set);
	assert_true(w.n == 10 && w.from == 161);
	cop_refit_window_fini(&w);
	set.until = 0;
	empty_folder();
	write_segments(40, 1); /* four events are not enough, those of the last 120 records are */
	w = window_of(&set);
	assert_true(w.n == 10 && w.from == 271);
	assert_int_equal(w.event[0]->sequence, 301);
	cop_refit_window_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shape_follows_from_the_model),
		TEST(test_memory_of_dense_events_is_theirs_and_their_fits),
		TEST(test_memory_of_masks_and_wider_rows_is_counted),
		TEST(test_memory_that_is_enough_is_enough),
		TEST(test_memory_of_sparse_events_is_of_those_that_stay),
		TEST(test_memory_of_candidates_is_of_all_and_of_one_in_the_fit),
		TEST(test_event_takes_the_memory_that_is_counted),
		TEST(test_losses_are_scaled_and_cut_to_their_range),
		TEST(test_default_loss_beyond_the_range_is_cut_to_it),
		TEST(test_values_are_cut_to_their_range_and_losses_scaled),
		TEST(test_window_is_of_the_newest_decisions_in_their_order),
		TEST(test_records_behind_until_are_not_there_yet),
		TEST(test_answers_after_the_last_run_are_fresh_and_the_newest_are_held_out),
		TEST(test_what_makes_no_sense_is_passed_over_and_counted),
		TEST(test_action_that_is_not_there_is_passed_over),
		TEST(test_model_that_no_header_holds_is_refused),
		TEST(test_progress_is_told_at_every_4096th_step),
		TEST(test_decisions_that_wait_have_a_quarter_of_the_memory),
		TEST(test_reading_begins_three_records_an_event_back_and_then_four_times_as_far),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
