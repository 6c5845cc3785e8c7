/* A window read from the journal's newest segments is the one that all of it gives. A small daemon writes each journal
 * twice, in one segment, which is read whole, and in many: late and lacking feedback, windows that end in time or far
 * behind, decisions shown later, feedback that carries its context, decisions that give way. */
#include "support.h"

#include "refit/refit_window.h"
#include "refit_fixture.h"

#define MOST_WAITING 4096

typedef struct waiting_one {
	uint64_t id;
	double begin;
	uint32_t arm;
	bool deferred;
} waiting_one;

typedef struct scenario {
	const char *name;
	double window;      /* seconds */
	double answered;    /* share of decisions */
	double delay;       /* seconds to feedback, at most */
	double contained;   /* share of feedback that carries its context */
	double foreign;     /* of decisions: feedback for one that was never made, with its context */
	double deferred;    /* share of decisions */
	size_t pending_max; /* MOST_WAITING: none gives way */
	double pause;       /* chance at each event of a long one, in which more windows end than fit into an expiry */
	bool skips;         /* the oldest segments are not needed */
} scenario;

static const scenario scenarios[] = {
	{ "plain", 20.0, 0.7, 10.0, 0.0, 0.0, 0.0, MOST_WAITING, 0.0, true },
	{ "contained", 20.0, 0.7, 10.0, 0.5, 0.3, 0.0, MOST_WAITING, 0.0, true },
	{ "late", 20.0, 0.5, 30.0, 0.3, 0.1, 0.0, MOST_WAITING, 0.0, true },
	{ "deferred", 20.0, 0.6, 15.0, 0.2, 0.1, 0.3, MOST_WAITING, 0.0, true },
	{ "pauses", 20.0, 0.2, 10.0, 0.2, 0.1, 0.1, MOST_WAITING, 0.002, true },
	{ "gives way", 20.0, 0.5, 10.0, 0.2, 0.1, 0.1, 10, 0.0, false },
	{ "gives way rarely", 20.0, 0.9, 10.0, 0.0, 0.0, 0.0, 14, 0.0, false },
	{ "long windows", 1e6, 0.8, 10.0, 0.0, 0.0, 0.0, MOST_WAITING, 0.0, true },
	{ "long windows, contained", 1e6, 0.8, 10.0, 0.5, 0.0, 0.0, MOST_WAITING, 0.0, false },
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

typedef struct small_daemon {
	const scenario *set;
	book b;
	cop_rng rng;
	waiting_one waiting[MOST_WAITING]; /* the longest first */
	size_t count;
	double now;
} small_daemon;

static void forget(small_daemon *d, size_t at)
{
	d->count--;
	memmove(&d->waiting[at], &d->waiting[at + 1], (d->count - at) * sizeof *d->waiting);
}

static size_t find(const small_daemon *d, uint64_t id)
{
	size_t at = 0;
	while (at < d->count && d->waiting[at].id != id)
		at++;
	return at;
}

static void end_windows(small_daemon *d)
{
	size_t ended = 0;
	ending endings[MOST_WAITING];
	for (; d->count > 0 && d->waiting[0].begin + d->set->window <= d->now; ended++) {
		endings[ended] = (ending){ d->waiting[0].id, COP_WIRE_OUTCOME_UNANSWERED, 0.0 };
		forget(d, 0);
	}
	if (ended > 0)
		put_expiry(&d->b, d->now, endings, ended);
}

static void fill_context(uint64_t id, float x[FEATURES], cop_wire_record *r)
{
	x[0] = (float)(id % 17);
	x[1] = (float)(id % 5);
	x[2] = 1.0f;
	r->x = (cop_row){ .d = FEATURES, .dense = x };
	r->has_x = true;
	r->arms = ARMS;
	r->a = (uint32_t)(id % ARMS);
	r->p = 0.25;
}

static void decide(small_daemon *d, uint64_t id)
{
	float x[FEATURES];
	cop_wire_record r = record_of("m", d->now, id);
	fill_context(id, x, &r);
	r.defer = cop_rng_unit(&d->rng) < d->set->deferred;
	ending oldest = { d->waiting[0].id, COP_WIRE_OUTCOME_GAVE_WAY, 0.0 };
	bool full = d->count == d->set->pending_max;
	if (full)
		forget(d, 0);
	assert_true(d->count < MOST_WAITING);
	d->waiting[d->count++] = (waiting_one){ id, d->now, r.a, r.defer };
	put_ending(&d->b, COP_WIRE_RECORD_DECISION, &r, &oldest, full);
}

static void show(small_daemon *d, size_t at)
{
	waiting_one one = d->waiting[at];
	put_activation(&d->b, d->now, one.id, COP_WIRE_APPLIED);
	forget(d, at);
	one.deferred = false;
	one.begin = d->now;
	d->waiting[d->count++] = one;
}

static void feed_back(small_daemon *d, uint64_t id)
{
	float x[FEATURES];
	size_t at = find(d, id);
	bool over = at < d->count && d->waiting[at].begin + d->set->window <= d->now;
	cop_wire_record r = record_of("m", d->now, id);
	if (cop_rng_unit(&d->rng) < d->set->contained)
		fill_context(id, x, &r);
	r.loss[0] = (double)(id % 3) / 2.0;
	r.losses = 1;
	r.result = at < d->count && !over ? COP_WIRE_APPLIED : over ? COP_WIRE_LATE : COP_WIRE_UNKNOWN;
	r.joined = r.has_x && r.result == COP_WIRE_APPLIED;
	if (r.result == COP_WIRE_UNKNOWN && r.has_x)
		r.result = COP_WIRE_APPLIED;
	if (at < d->count)
		forget(d, at);
	const ending late = { id, COP_WIRE_OUTCOME_UNANSWERED, 0.0 };
	put_ending(&d->b, COP_WIRE_RECORD_FEEDBACK, &r, &late, over);
}

/* The id is nobody's. */
static void feed_foreign(small_daemon *d, uint64_t id)
{
	float x[FEATURES];
	cop_wire_record r = record_of("m", d->now, 1000000 + id);
	fill_context(id, x, &r);
	r.loss[0] = 0.5;
	r.losses = 1;
	r.result = COP_WIRE_APPLIED;
	put(&d->b, COP_WIRE_RECORD_FEEDBACK, &r);
}

static void step(small_daemon *d, uint64_t id, uint64_t delay)
{
	const scenario *s = d->set;
	d->now += cop_rng_unit(&d->rng) < s->pause ? 10.0 * s->window : cop_rng_unit(&d->rng);
	end_windows(d);
	decide(d, id);
	for (size_t i = 0; i < d->count; i++)
		if (d->waiting[i].deferred && cop_rng_unit(&d->rng) < 0.1) {
			show(d, i);
			break;
		}
	if (id >= delay && cop_rng_unit(&d->rng) < s->answered)
		feed_back(d, id - delay);
	if (cop_rng_unit(&d->rng) < s->foreign)
		feed_foreign(d, id);
}

/* per_segment: records; 0: all in one. */
static void write_journal(const scenario *set, size_t events, uint64_t per_segment)
{
	static small_daemon d;
	cop_wire_model model = told("m");
	empty_folder();
	model.reward_window = set->window;
	model.has_default_loss = true;
	model.default_loss = 1.0;
	d = (small_daemon){ .set = set };
	cop_rng_init(&d.rng, 11, 0);
	open_book(&d.b, 1, &model, 1);
	uint64_t base = 1;
	for (uint64_t id = 0; id < events; id++) {
		step(&d, id, cop_rng_below(&d.rng, 1 + (uint64_t)(2.0 * set->delay)));
		if (per_segment > 0 && d.b.next - base >= per_segment) {
			assert_int_equal(cop_journal_writer_roll(d.b.writer, NULL), COP_OK);
			base = d.b.next;
		}
	}
	close_book(&d.b);
}

static void assert_same_event(const char *name, const cop_refit_event *a, const cop_refit_event *b)
{
	bool same = a->sequence == b->sequence && a->learned == b->learned && a->answered == b->answered &&
	            a->loss == b->loss && a->p == b->p && a->action == b->action && a->x.d == b->x.d &&
	            memcmp(a->x.dense, b->x.dense, a->x.d * sizeof(float)) == 0;
	if (!same)
		fail_msg("%s: records %llu and %llu: learned %llu and %llu, answered %d and %d, losses %g and %g", name,
		        (unsigned long long)a->sequence, (unsigned long long)b->sequence,
		        (unsigned long long)a->learned, (unsigned long long)b->learned, a->answered, b->answered,
		        a->loss, b->loss);
}

static cop_refit_window window_of(const cop_refit_settings *set)
{
	cop_refit_window w;
	cop_diag diag = { .message = "" };
	if (cop_refit_window_read(set, folder, NULL, &w, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	return w;
}

static void test_window_of_many_segments_is_that_of_one(void **state)
{
	(void)state;
	static const size_t windows[] = { 20, 100, 400, 5000 };
	for (size_t i = 0; i < SCENARIOS; i++)
		for (size_t k = 0; k < sizeof windows / sizeof *windows; k++) {
			const scenario *s = &scenarios[i];
			cop_refit_settings set = quick();
			set.window = windows[k];
			set.after = 2500;
			write_journal(s, 3000, 0);
			cop_refit_window whole = window_of(&set);
			assert_int_equal(whole.from, 1);
			write_journal(s, 3000, 61);
			cop_refit_window newest = window_of(&set);
			assert_int_equal(newest.n, whole.n);
			assert_true(whole.n == windows[k] || windows[k] == 5000);
			for (size_t e = 0; e < whole.n; e++)
				assert_same_event(s->name, whole.event[e], newest.event[e]);
			assert_int_equal(newest.answered, whole.answered);
			assert_int_equal(newest.fresh, whole.fresh);
			assert_int_equal(newest.learned, whole.learned);
			if (s->skips && windows[k] < 400 && newest.from == 1)
				fail_msg("%s: all of it was read", s->name);
			if (windows[k] == 5000)
				assert_int_equal(newest.from, 1);
			cop_refit_window_fini(&whole);
			cop_refit_window_fini(&newest);
		}
}

static void test_trees_of_many_segments_are_those_of_one(void **state)
{
	(void)state;
	const scenario *s = &scenarios[1];
	cop_refit_report whole, newest;
	cop_refit_settings set = quick();
	set.window = 500;
	write_journal(s, 6000, 0);
	cop_trees *a = refit_with(&set, NULL, NULL, &whole);
	write_journal(s, 6000, 100);
	cop_trees *b = refit_with(&set, NULL, NULL, &newest);
	assert_true(same_trees(a, b));
	assert_true(whole.from == 1 && newest.from > 5000 && newest.learned == whole.learned);
	cop_trees_free(a);
	cop_trees_free(b);
}

/* Few decisions among many other records: steps back that end in the same segment are not read again. */
static void test_window_that_is_never_full_goes_back_to_the_beginning(void **state)
{
	(void)state;
	static const uint64_t ends[] = { 100, 1100, 1110 };
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	book b = { .next = 1 };
	for (size_t i = 0; i < 3; i++) {
		open_book(&b, b.next, &model, 1);
		put_decision(&b, (double)b.next, b.next);
		while (b.next <= ends[i])
			put_expiry(&b, (double)b.next, NULL, 0);
		close_book(&b);
	}
	set.window = 10;
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.from, 1);
	assert_int_equal(w.event[0]->sequence, 1);
	cop_refit_window_fini(&w);
}

/* Nobody knows which candidate was played. */
static void test_decision_without_an_action_is_no_event(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_wire_model model = told("m");
	book b;
	float x[FEATURES], c[2] = { 1.0f, 2.0f };
	cop_row candidates[2] = { { .d = 1, .dense = c }, { .d = 1, .dense = c + 1 } };
	model.arms = 0;
	model.max_candidates = 2;
	model.candidate_features = 1;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < 4; id++) {
		cop_wire_record r = decision_of("m", 1.0, id, x);
		r.arms = 0;
		r.candidate = candidates;
		r.candidates = 2;
		r.a = id == 2 ? COP_WIRE_RECORD_ANY_ARM : (uint32_t)(id % 2);
		put(&b, COP_WIRE_RECORD_DECISION, &r);
	}
	close_book(&b);
	cop_refit_window w = window_of(&set);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.passed, 1);
	cop_refit_window_fini(&w);
}

/* Records behind `until` are not counted either when it is told how far back to begin. */
static void test_window_before_a_record_is_the_same(void **state)
{
	(void)state;
	const scenario *s = &scenarios[0];
	cop_refit_settings set = quick();
	set.window = 100;
	set.until = 2000;
	write_journal(s, 3000, 0);
	cop_refit_window whole = window_of(&set);
	write_journal(s, 3000, 61);
	cop_refit_window newest = window_of(&set);
	assert_int_equal(newest.n, 100);
	for (size_t e = 0; e < whole.n; e++)
		assert_same_event(s->name, whole.event[e], newest.event[e]);
	assert_true(newest.event[99]->sequence <= 2000 && newest.from > 1 && newest.learned <= 2000);
	cop_refit_window_fini(&whole);
	cop_refit_window_fini(&newest);
}

/* What is damaged and older than the window is nobody's business. */
static void test_segments_before_the_window_are_not_read(void **state)
{
	(void)state;
	char path[128], name[COP_JOURNAL_NAME_ROOM];
	cop_refit_settings set = quick();
	cop_refit_window w;
	set.window = 100;
	write_journal(&scenarios[0], 3000, 61);
	cop_journal_name(1, false, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, 1000, SEEK_SET), 0);
	assert_int_equal(fwrite("damage", 1, 6, file), 6);
	assert_int_equal(fclose(file), 0);
	w = window_of(&set);
	assert_int_equal(w.n, 100);
	cop_refit_window_fini(&w);
	set.window = 5000;
	assert_int_equal(cop_refit_window_read(&set, folder, NULL, &w, NULL), COP_EIO);
	cop_refit_window_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_window_of_many_segments_is_that_of_one),
		TEST(test_trees_of_many_segments_are_those_of_one),
		TEST(test_window_before_a_record_is_the_same),
		TEST(test_window_that_is_never_full_goes_back_to_the_beginning),
		TEST(test_decision_without_an_action_is_no_event),
		TEST(test_segments_before_the_window_are_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
