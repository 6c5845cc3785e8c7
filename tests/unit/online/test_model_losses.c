/* Named losses of models: accounts against a plain oracle that knows the rules, recovery from records and from saved
 * state to the byte, also while the names change, and what the intervals say of the true means and gains at all
 * times. */
#include "model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMES  5 /* that ever are */
#define EVENTS 1200
#define IDS    60

/* ---- an oracle: what each decision was told, and what it came to ---- */

typedef struct told {
	bool is[NAMES];
	double value[NAMES];
} told;

typedef struct sums {
	uint64_t n[3]; /* all, policy, control */
	double sum[3];
} sums;

typedef struct oracle {
	told waiting[IDS];
	bool waits[IDS];
	cop_control_by by[IDS];
	double decided[IDS];
	size_t room[IDS]; /* names that there were when it was decided: as many values can wait */
	sums of[NAMES];
	bool named[NAMES]; /* those that are now */
	double since;      /* of the control group's figures */
} oracle;

static const char *const names[NAMES] = { "click", "revenue", "seconds", "basket", "late" };
static const double lows[NAMES] = { 0.0, 0.0, 0.0, -5.0, 0.0 }, highs[NAMES] = { 1.0, 50.0, 600.0, 5.0, 1.0 };

static double cut(size_t k, double value) { return fmin(fmax(value, lows[k]), highs[k]); }

static void count(oracle *o, size_t id, const told *t, bool held)
{
	for (size_t k = 0; k < NAMES; k++) {
		if (!t->is[k] || !o->named[k])
			continue;
		bool compared = held && o->by[id] != COP_CONTROL_KEPT && o->decided[id] >= o->since;
		size_t group = o->by[id] == COP_CONTROL_POLICY ? 1 : 2;
		for (size_t g = 0; g < 3; g++) {
			bool in = g == 0 || (compared && g == group);
			o->of[k].n[g] += in;
			o->of[k].sum[g] += in ? cut(k, t->value[k]) : 0.0;
		}
	}
}

static void tell(oracle *o, size_t id, const told *t, cop_reward_rule rule, const size_t *place)
{
	told *w = &o->waiting[id];
	for (size_t k = 0; k < NAMES; k++) {
		if (place[k] >= o->room[id])
			continue;
		bool adds = rule == COP_REWARD_SUM && w->is[k] && t->is[k];
		if (rule == COP_REWARD_LAST || t->is[k]) {
			w->value[k] = adds ? w->value[k] + t->value[k] : t->value[k];
			w->is[k] = t->is[k] || (rule == COP_REWARD_SUM && w->is[k]);
		}
	}
}

/* ---- a run ---- */

typedef struct logged {
	cop_wire_record_type type; /* 0: other settings */
	size_t at, length;
	cop_model_settings settings;
} logged;

typedef struct run {
	cop_model *model;
	cop_model_settings settings;
	size_t place[NAMES]; /* of a name among the settings' */
	cop_rng rng;
	double now;
	oracle o;
	cop_bytes journal;
	logged log[2 * EVENTS];
	size_t count;
} run;

static void name(run *r, const bool *is, const size_t *order)
{
	cop_named_losses *l = &r->settings.losses;
	*l = (cop_named_losses){ .weights.count = 0 };
	for (size_t i = 0; i < NAMES; i++) {
		size_t k = order[i];
		if (!is[k])
			continue;
		r->place[k] = (size_t)l->weights.count;
		assert_null(cop_named_losses_put_weight(&l->weights, names[k], strlen(names[k]),
		        k == 0   ? 1.0
		        : k == 1 ? -0.02
		                 : 0.0));
		assert_null(cop_named_losses_put_range(&l->ranges, names[k], strlen(names[k]), lows[k], highs[k]));
	}
}

static void record(run *r, cop_wire_record_type type, cop_wire_record *record)
{
	logged *l = &r->log[r->count++];
	record->model = "m";
	record->model_length = 1;
	record->time = r->now;
	cop_model_record_ended(r->model, record);
	l->type = type;
	l->at = r->journal.length;
	cop_wire_record_put(&r->journal, type, record);
	l->length = r->journal.length - l->at;
}

/* The decisions that the event ended, by what the record lists of them. */
static void settle(run *r)
{
	cop_wire_record ended = { .time = 0.0 };
	cop_wire_settlement is;
	cop_model_record_ended(r->model, &ended);
	while (cop_wire_settled_next(&ended.settled, &is)) {
		size_t id = is.id.bytes[0];
		assert_true(r->o.waits[id]);
		if (is.outcome == COP_WIRE_OUTCOME_RECORDED || is.outcome == COP_WIRE_OUTCOME_LEARNED_WAY)
			count(&r->o, id, &r->o.waiting[id], true);
		r->o.waits[id] = false;
	}
}

static void decide(run *r, size_t n)
{
	fixture_event e;
	cop_decision d;
	bool repeated;
	const cop_event_id id = model_id(n);
	fixture_draw(&e, &r->rng, false);
	const cop_model_context context = { .id = &id, .x = &e.row };
	assert_int_equal(cop_model_decide(r->model, &context, r->now, &d, &repeated), COP_OK);
	settle(r);
	if (repeated)
		return;
	cop_wire_record rec = { .time = r->now };
	cop_model_record_decision(r->model, &context, &d, &rec);
	const cop_model_maker *maker = cop_model_made_by(r->model);
	if (maker->split && cop_model_control(r->model)->since == r->now && r->o.since != r->now) {
		r->o.since = r->now; /* it began again */
		for (size_t k = 0; k < NAMES; k++)
			for (size_t g = 1; g < 3; g++) {
				r->o.of[k].n[g] = 0;
				r->o.of[k].sum[g] = 0.0;
			}
	}
	r->o.waits[n] = true;
	r->o.room[n] = (size_t)r->settings.losses.weights.count;
	r->o.waiting[n] = (told){ .is = { false } };
	r->o.by[n] = maker->split_by.by;
	r->o.decided[n] = maker->split ? r->now : -1.0;
	record(r, COP_WIRE_RECORD_DECISION, &rec);
}

static told draw_told(run *r, cop_loss_values *values)
{
	told t = { .is = { false } };
	*values = (cop_loss_values){ .told = 0 };
	for (size_t k = 0; k < NAMES; k++) {
		bool needed = k < 2;
		if (!r->o.named[k] || (!needed && cop_rng_below(&r->rng, 3) == 0))
			continue;
		t.is[k] = true;
		t.value[k] = lows[k] + cop_rng_unit(&r->rng) * (highs[k] - lows[k]);
		values->told |= 1u << r->place[k];
		values->value[r->place[k]] = t.value[k];
	}
	return t;
}

static void feedback(run *r, size_t n, bool full)
{
	cop_loss_values values;
	fixture_event e;
	cop_feedback_result result;
	uint8_t room[COP_WIRE_NAMED_ROOM];
	const cop_event_id id = model_id(n);
	const told t = draw_told(r, &values);
	double loss = fmin(fmax(cop_named_losses_weigh(&r->settings.losses, &values), -1.0), 1.0);
	uint32_t arm = (uint32_t)cop_rng_below(&r->rng, FIXTURE_ARMS);
	fixture_draw(&e, &r->rng, false);
	bool plain = values.told == 0;
	cop_model_tell_losses(r->model, plain ? NULL : &values);
	cop_err err = full ? cop_model_feedback_full(r->model, &id, &e.row, arm, 0.5, &loss, 1, r->now, &result)
	                   : cop_model_feedback(r->model, &id, &loss, 1, r->now, &result);
	assert_int_equal(err, COP_OK);
	bool waited = r->o.waits[n];
	settle(r);
	cop_wire_record rec = { .id = id,
		.x = e.row,
		.has_x = full,
		.a = arm,
		.p = 0.5,
		.losses = 1,
		.loss = { loss },
		.result = cop_model_record_result(result) };
	cop_wire_named_encode(&r->settings.losses.weights, &values, room, &rec.named);
	record(r, COP_WIRE_RECORD_FEEDBACK, &rec);
	bool joined = full ? rec.joined : waited && r->o.waits[n];
	if (result == COP_FEEDBACK_RECORDED)
		tell(&r->o, n, &t, r->settings.reward, r->place);
	if (result == COP_FEEDBACK_APPLIED)
		count(&r->o, n, &t, joined);
	if (result == COP_FEEDBACK_APPLIED && joined)
		r->o.waits[n] = false;
}

static void adjust(run *r)
{
	logged *l = &r->log[r->count++];
	size_t order[NAMES] = { 0, 1, 2, 3, 4 };
	bool is[NAMES];
	for (size_t i = NAMES - 1; i > 0; i--) {
		size_t k = (size_t)cop_rng_below(&r->rng, i + 1), was = order[i];
		order[i] = order[k];
		order[k] = was;
	}
	for (size_t k = 0; k < NAMES; k++)
		is[k] = k == 0 || cop_rng_below(&r->rng, 4) != 0;
	for (size_t k = 0; k < NAMES; k++) {
		if (!is[k]) /* forgotten, by what waits too */
			r->o.of[k] = (sums){ .n = { 0 } };
		r->o.named[k] = is[k];
	}
	name(r, is, order);
	for (size_t k = 0; k < NAMES; k++)
		for (size_t id = 0; id < IDS; id++)
			r->o.waiting[id].is[k] &= is[k] && r->place[k] < r->o.room[id];
	r->settings.reward = (cop_reward_rule)cop_rng_below(&r->rng, 4);
	r->settings.holdout = cop_rng_below(&r->rng, 3) == 0 ? 0.5 : 0.3;
	assert_int_equal(cop_model_adjust(r->model, &r->settings, NULL), COP_OK);
	*l = (logged){ .settings = r->settings };
}

static void expire(run *r)
{
	cop_wire_record rec = { .time = r->now };
	if (cop_model_expire(r->model, r->now, 5) == 0)
		return;
	settle(r);
	record(r, COP_WIRE_RECORD_EXPIRY, &rec);
}

static void check(const run *r)
{
	const cop_named_accounts *accounts = cop_model_named_losses(r->model);
	assert_int_equal(accounts->count, r->settings.losses.weights.count);
	for (size_t k = 0; k < NAMES; k++) {
		cop_named_summary is;
		if (!r->o.named[k])
			continue;
		cop_named_accounts_get(accounts, &r->settings.losses, r->place[k], false, &is);
		assert_string_equal(is.name, names[k]);
		const cop_unit_mean_figures *figures[3] = { &is.all, &is.group[0], &is.group[1] };
		for (size_t g = 0; g < 3; g++) {
			const sums *want = &r->o.of[k];
			assert_int_equal(figures[g]->n, want->n[g]);
			double mean = want->sum[g] / (double)want->n[g], near = 1e-9 * (highs[k] - lows[k]);
			assert_true(want->n[g] == 0 || fabs(figures[g]->mean - mean) < near);
			assert_true(
			        want->n[g] == 0 || (figures[g]->low <= mean + near && mean - near <= figures[g]->high));
		}
		bool both = is.group[0].n > 0 && is.group[1].n > 0;
		double gain = is.group[1].mean - is.group[0].mean;
		assert_true(!both || fabs(is.gain - (k == 1 ? -gain : gain)) < 1e-9);
		assert_true(both ? is.low <= is.gain && is.gain <= is.high : isnan(is.gain) && isnan(is.low));
	}
}

static void apply(cop_model *model, const run *r, const logged *l)
{
	static float dense[FIXTURE_D];
	static uint8_t mask[FIXTURE_ARMS];
	const cop_learner_settings *s = &cop_model_get_settings(model)->learner;
	const cop_wire_shape shape = { .features = s->features, .arms = s->arms };
	const cop_wire_workspace room = { .dense = dense, .mask = mask };
	cop_wire_record rec;
	if (l->type == 0) {
		assert_int_equal(cop_model_adjust(model, &l->settings, NULL), COP_OK);
		return;
	}
	assert_int_equal(
	        cop_wire_record_decode(l->type, r->journal.data + l->at, l->length, &shape, &room, &rec, NULL), COP_OK);
	assert_int_equal(cop_model_apply(model, l->type, &rec), COP_OK);
}

static void check_replay(const run *r, const cop_model_settings *s, const cop_bytes *begin, size_t from)
{
	cop_bytes want, got;
	cop_bytes_init(&want);
	cop_bytes_init(&got);
	cop_model *model = model_new(s);
	if (begin != NULL)
		assert_int_equal(cop_model_load(model, begin->data, begin->length, NULL), COP_OK);
	for (size_t i = from; i < r->count; i++)
		apply(model, r, &r->log[i]);
	model_save(r->model, &want);
	model_save(model, &got);
	assert_bytes_equal(&want, &got);
	assert_int_equal(cop_model_pending_bytes(r->model), cop_model_pending_bytes(model));
	cop_bytes_fini(&want);
	cop_bytes_fini(&got);
	cop_model_free(model);
}

static void begin(run *r, unsigned variant)
{
	static const size_t order[NAMES] = { 0, 1, 2, 3, 4 };
	const bool all[NAMES] = { true, true, true, true, false };
	const cop_bytes journal = r->journal;
	memset(r, 0, sizeof *r);
	r->journal = journal;
	cop_bytes_clear(&r->journal);
	model_settings(&r->settings, "dgt", false);
	memcpy(r->o.named, all, sizeof all);
	name(r, all, order);
	r->settings.loss_low = -1.0;
	r->settings.reward = (cop_reward_rule)(variant % 4);
	r->settings.has_default_loss = variant / 4 % 2 != 0;
	r->settings.holdout = 0.3;
	r->settings.pending_max = 30;
	r->o.since = -1.0;
	r->model = model_new(&r->settings);
	cop_rng_init(&r->rng, FIXTURE_SEED, 300 + variant);
}

static void play(unsigned variant)
{
	static run r;
	cop_bytes middle;
	size_t from = 0;
	cop_bytes_init(&middle);
	begin(&r, variant);
	const cop_model_settings first = r.settings;
	bool adjusts = variant >= 8;
	for (size_t n = 0; n < EVENTS; n++) {
		r.now += 0.5 * cop_rng_unit(&r.rng);
		size_t id = (size_t)cop_rng_below(&r.rng, IDS);
		unsigned what = (unsigned)cop_rng_below(&r.rng, 100);
		if (what < 45)
			decide(&r, id);
		else if (what < 85)
			feedback(&r, id, what < 50);
		else if (what < 97)
			expire(&r);
		else if (adjusts)
			adjust(&r);
		if (n % 10 == 0)
			check(&r);
		if (n == EVENTS / 2) {
			model_save(r.model, &middle);
			from = r.count;
		}
	}
	check(&r);
	assert_true(r.o.of[0].n[0] > 60);
	assert_true(adjusts || (r.o.of[0].n[1] > 40 && r.o.of[0].n[2] > 10));
	check_replay(&r, &first, NULL, 0);
	check_replay(&r, &first, &middle, from);
	cop_model_free(r.model);
	cop_bytes_fini(&middle);
}

static void test_accounts_equal_the_oracle_and_come_back(void **state)
{
	(void)state;
	printf("seed %u\n", FIXTURE_SEED);
	for (unsigned variant = 0; variant < 8; variant++)
		play(variant);
}

static void test_names_change_while_decisions_wait(void **state)
{
	(void)state;
	for (unsigned variant = 8; variant < 24; variant++)
		play(variant);
}

/* ---- intervals ---- */

#define TIMES 800

static size_t launches(void) { return getenv("COPPICE_TORTURE") != NULL ? 1000 : 120; }

/* Of arm a the revenue is 50 with this probability; it drifts with the time. */
static double paid(uint32_t arm, size_t t) { return 0.1 + 0.15 * (double)arm + 0.2 * (double)(t % 200 < 100); }

typedef struct misses {
	size_t mean, gain, sure, wrong;
} misses;

static void launch(uint64_t number, misses *out)
{
	cop_model_settings s;
	cop_rng rng;
	double sum[2] = { 0.0 }, n[2] = { 0.0 };
	bool mean_missed = false, gain_missed = false;
	cop_named_summary is = { .gain = 0.0 };
	model_settings(&s, "dgt", false);
	s.learner.features = 1;
	s.learner.arms = 3;
	s.learner.seed = number + 1;
	s.holdout = 0.3;
	s.has_baseline = true;
	s.loss_low = -1.0;
	s.loss_high = 0.0;
	assert_null(cop_named_losses_add_weight(&s.losses.weights, "revenue=-0.02"));
	assert_null(cop_named_losses_add_range(&s.losses.ranges, "revenue=0:50"));
	cop_model *model = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 5000 + number);
	for (size_t t = 0; t < TIMES; t++) {
		const float value = (float)cop_rng_unit(&rng);
		const cop_row x = { .d = 1, .dense = &value };
		const cop_event_id id = model_id(t);
		cop_decision d;
		bool repeated;
		assert_int_equal(decide_context(model, &id, &x, NULL, (double)t, &d, &repeated), COP_OK);
		cop_control_by by = cop_model_made_by(model)->split_by.by;
		sum[by] += 50.0 * paid(d.arm, t);
		n[by] += 1.0;
		const cop_loss_values now = { 1, { cop_rng_unit(&rng) < paid(d.arm, t) ? 50.0 : 0.0 } };
		cop_model_tell_losses(model, &now);
		(void)model_feedback(model, t, -0.02 * now.value[0], (double)t);
		cop_named_accounts_get(
		        cop_model_named_losses(model), &cop_model_get_settings(model)->losses, 0, false, &is);
		double all = (sum[0] + sum[1]) / (n[0] + n[1]), gain = sum[0] / n[0] - sum[1] / n[1];
		mean_missed |= is.all.low > all || is.all.high < all;
		gain_missed |= is.low > gain || is.high < gain; /* false while unknown */
	}
	out->mean += mean_missed;
	out->gain += gain_missed;
	out->sure += is.low > 0.0;
	out->wrong += is.high < 0.0;
	cop_model_free(model);
}

static void test_intervals_cover_at_all_times(void **state)
{
	(void)state;
	misses m = { 0 };
	size_t total = launches();
	for (uint64_t i = 0; i < total; i++)
		launch(i, &m);
	printf("means missed %zu, gains missed %zu, sure %zu of %zu\n", m.mean, m.gain, m.sure, total);
	assert_true((double)m.mean <= 0.05 * (double)total && (double)m.gain <= 0.05 * (double)total);
	assert_true(m.wrong == 0 && 4 * m.sure > total);
}

/* ---- settings and saved state ---- */

static void test_wrong_settings_are_refused(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_model *model;
	cop_diag diag = { 0 };
	model_settings(&s, "dgt", false);
	assert_null(cop_named_losses_add_weight(&s.losses.weights, "click=2"));
	assert_int_equal(cop_model_new(&s, &model, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "goes from 0 to 2"));
	s.loss_high = 2.0;
	model = model_new(&s);
	cop_model_settings other = s;
	other.losses.weights.weight[0] = 3.0;
	assert_int_equal(cop_model_adjust(model, &other, &diag), COP_EINVAL);
	assert_true(cop_model_get_settings(model)->losses.weights.weight[0] == 2.0);
	cop_model_free(model);
	model_settings(&s, "value", false);
	assert_null(cop_named_losses_add_weight(&s.losses.weights, "click=1"));
	assert_int_equal(cop_model_new(&s, &model, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "models of values"));
}

static void test_damaged_accounts_are_refused(void **state)
{
	(void)state;
	cop_named_losses one = { .weights.count = 0 }, none = one, two;
	cop_named_accounts a = { .count = 0 }, b = { .count = 0 };
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	assert_null(cop_named_losses_add_weight(&one.weights, "click=1"));
	two = one;
	assert_null(cop_named_losses_add_weight(&two.weights, "revenue"));
	assert_int_equal(cop_named_accounts_change(&a, &none, &one), COP_OK);
	assert_int_equal(cop_named_accounts_change(&b, &none, &two), COP_OK);
	const cop_loss_values half = { 1, { 0.5 } };
	cop_named_accounts_add(&a, &one, &half, COP_NAMED_OF_POLICY, 5);
	cop_named_accounts_save(&a, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_named_accounts_load(&b, &cursor);
	assert_int_equal(cursor.err, COP_EFORMAT);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_named_accounts_load(&a, &cursor);
	assert_int_equal(cursor.err, COP_OK);
	for (size_t length = 0; length < bytes.length; length += 7) {
		cop_cursor_init(&cursor, bytes.data, length);
		cop_named_accounts_load(&a, &cursor);
		assert_true(cursor.err != COP_OK);
	}
	cop_named_accounts_add(&b, &two, &half, COP_NAMED_OF_CONTROL, 5);
	cop_unit_mean_add(&b.item[0].group[1], 1.0); /* more than of all */
	cop_bytes_clear(&bytes);
	cop_named_accounts_save(&b, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_named_accounts_load(&b, &cursor);
	assert_int_equal(cursor.err, COP_EFORMAT);
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_named_accounts_change(&a, &one, &two), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(a.count, 1);
	cop_named_accounts_fini(&a);
	cop_named_accounts_fini(&b);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accounts_equal_the_oracle_and_come_back),
		cmocka_unit_test(test_names_change_while_decisions_wait),
		cmocka_unit_test(test_intervals_cover_at_all_times),
		cmocka_unit_test(test_wrong_settings_are_refused),
		cmocka_unit_test(test_damaged_accounts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
