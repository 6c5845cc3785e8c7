/* A model made again from what a journal would hold of another one is the same to the byte: every learner, reward rule
 * and kind of event, observed ones too, from the start and from a save in the middle. */
#include "model_fixture.h"

#include "online/model_apprentice.h"
#include "online/model_positions.h"
#include "online/model_relearn.h"
#include "online/model_shadow.h"
#include "unit/learn/refitted_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENTS 1500
#define IDS    40

static const struct {
	const char *learner, *policy;
	bool sparse, one_point;
} kinds[] = {
	{ "ensemble", "squarecb", false, false },
	{ "ensemble", "epsilon", true, false },
	{ "dgt", "epsilon", false, false },
	{ "dgt", "squarecb", true, false },
	{ "value", "", false, false },
	{ "value", "", true, true },
};

#define KINDS (sizeof kinds / sizeof *kinds)

typedef enum what { DECISION, FEEDBACK, FULL, ACTIVATION, UNHEARD, EXPIRY, ADJUSTMENT, SHADOW, WHATS } what;

typedef enum turn { CHALLENGE, PROMOTION, ROLLBACK, RETIREMENT, FREEZE, THAW, TURNS } turn;

typedef struct logged {
	what what;
	double time;
	cop_event_id id;
	fixture_event event; /* event.row.nnz counts, the pointers do not */
	bool defer;
	cop_decision decision;
	double loss[2];
	size_t losses;
	uint32_t arm;
	double p;
	size_t count;
	cop_model_settings settings;
	uint8_t mask[FIXTURE_ARMS];
	bool masked;
	turn turn;
	uint64_t seed; /* of a challenge's trees */
	bool observed;
	double own_p;
	bool agrees;
	cop_wire_record_type type; /* of its record, whose body lies in the run's journal */
	size_t at, length;
} logged;

typedef struct run {
	bool sparse;
	cop_model *model;
	cop_model_settings settings;
	cop_rng rng;
	double now;
	bool shadows;
	bool observes; /* an existing system decides, most of the time */
	size_t observed, answered;
	size_t turns[TURNS];
	size_t seen[WHATS], results[COP_FEEDBACK_RESULTS], repeated, refused;
	logged log[EVENTS];
	size_t count;
	cop_bytes journal;
} run;

static bool holds; /* there is a control group */

/* How records are applied: as recovery does, or looked at, with what was recorded or what the model has itself. */
static enum { RECOVERED, LOOKED_AT, OWN, WAYS } way;
static size_t looked_at;

static cop_row row_of(const fixture_event *e, bool sparse)
{
	if (sparse)
		return (cop_row){ .d = e->row.d, .nnz = e->row.nnz, .index = e->index, .value = e->dense };
	return (cop_row){ .d = e->row.d, .dense = e->dense };
}

static void draw(run *r, fixture_event *e)
{
	fixture_draw(e, &r->rng, r->sparse);
	if (r->sparse)
		e->row.nnz = (size_t)cop_rng_below(&r->rng, FIXTURE_D + 1);
}

/* What happened stays in the log. */
static void keep(run *r, what kind)
{
	r->log[r->count].what = kind;
	r->log[r->count].time = r->now;
	r->count++;
	r->seen[kind]++;
}

/* And its record in the journal. */
static void keep_record(run *r, what kind, cop_wire_record_type type, cop_wire_record *record)
{
	logged *l = &r->log[r->count];
	record->model = "m";
	record->model_length = 1;
	record->time = r->now;
	record->id = kind == EXPIRY ? (cop_event_id){ 0 } : l->id;
	cop_model_record_ended(r->model, record);
	if (type <= COP_WIRE_RECORD_FEEDBACK && r->count % 3 != 0) { /* most events come out of a log */
		bool passed;
		record->from = (cop_wire_position){ "log", 3, r->count % 5, r->count, 0 };
		assert_int_equal(cop_model_positions_check(r->model, &record->from, &passed), COP_OK);
		assert_false(passed);
		cop_model_positions_note(r->model, &record->from);
	}
	l->type = type;
	l->at = r->journal.length;
	cop_wire_record_put(&r->journal, type, record);
	assert_int_equal(r->journal.err, COP_OK);
	l->length = r->journal.length - l->at;
	keep(r, kind);
}

/* Sometimes an arm that the mask excludes. */
static cop_err observe(run *r, const cop_model_context *context, logged *l, bool *repeated)
{
	cop_model_observed made = { .decision = { .arm = (uint32_t)cop_rng_below(&r->rng, FIXTURE_ARMS),
		                            .p = 1.0 - cop_rng_unit(&r->rng) } };
	const cop_decision asked = made.decision;
	cop_err err = cop_model_observe(r->model, context, r->now, &made, repeated);
	if (err == COP_OK && !*repeated)
		assert_true(made.decision.arm == asked.arm && made.decision.p == asked.p);
	l->decision = made.decision;
	l->own_p = made.own_p;
	r->observed += err == COP_OK && !*repeated;
	return err;
}

static void decide(run *r, logged *l)
{
	for (size_t k = 0; k < FIXTURE_ARMS; k++)
		l->mask[k] = cop_rng_below(&r->rng, 3) != 0;
	draw(r, &l->event);
	cop_row x = row_of(&l->event, r->sparse);
	l->defer = cop_rng_below(&r->rng, 4) == 0;
	l->masked = cop_rng_below(&r->rng, 2) != 0;
	cop_model_context context = { .id = &l->id, .x = &x, .mask = l->masked ? l->mask : NULL, .defer = l->defer };
	cop_event_id unit = model_id(cop_rng_below(&r->rng, 50));
	bool repeated = false;
	if (cop_rng_below(&r->rng, 2) == 0)
		context.unit = &unit;
	if (holds && cop_rng_below(&r->rng, 2) == 0)
		context.caller = (cop_control_caller){ (uint32_t)cop_rng_below(&r->rng, FIXTURE_ARMS), 0.5 };
	cop_err err = COP_OK;
	l->observed = r->observes && cop_rng_below(&r->rng, 4) != 0;
	if (l->observed)
		err = observe(r, &context, l, &repeated);
	else
		err = cop_model_decide(r->model, &context, r->now, &l->decision, &repeated);
	assert_true(err == COP_OK || err == COP_EINVAL);
	r->refused += err != COP_OK;
	r->repeated += repeated;
	if (err != COP_OK || repeated)
		return;
	cop_wire_record record = { .observed = l->observed, .own_p = l->own_p };
	cop_model_record_decision(r->model, &context, &l->decision, &record);
	if (record.values)
		record.mask = NULL; /* of arms alone */
	keep_record(r, DECISION, COP_WIRE_RECORD_DECISION, &record);
}

static cop_err answer(run *r, logged *l, const cop_row *x, cop_feedback_result *result)
{
	cop_model_answered answered = { .x = x, .arm = l->arm, .p = l->p, .loss = l->loss[0] };
	cop_err err = cop_model_observe_answered(r->model, &l->id, &answered, r->now, result);
	l->observed = answered.observed;
	l->own_p = answered.own_p;
	l->agrees = answered.agrees;
	r->answered += answered.observed;
	return err;
}

static void feedback(run *r, logged *l, bool full)
{
	bool values = r->settings.learner.arms == 0;
	cop_feedback_result result = COP_FEEDBACK_RESULTS;
	l->losses = (unsigned)cop_learner_losses(&r->settings.learner);
	for (size_t i = 0; i < 2; i++)
		l->loss[i] =
		        r->settings.loss_low + cop_rng_unit(&r->rng) * (r->settings.loss_high - r->settings.loss_low);
	if (cop_rng_below(&r->rng, 20) == 0) /* refused by arms; by values, one that would run away */
		l->loss[0] = values ? 1e300 : 99.0;
	draw(r, &l->event);
	cop_row x = row_of(&l->event, r->sparse);
	l->arm = (uint32_t)cop_rng_below(&r->rng, FIXTURE_ARMS);
	l->p = 1.0 - cop_rng_unit(&r->rng);
	cop_err err = !full         ? cop_model_feedback(r->model, &l->id, l->loss, l->losses, r->now, &result)
	              : r->observes ? answer(r, l, &x, &result)
	                            : cop_model_feedback_full(
	                                      r->model, &l->id, &x, l->arm, l->p, l->loss, l->losses, r->now, &result);
	assert_true(err == COP_OK || err == COP_EINVAL || err == COP_EDIVERGED);
	r->refused += err != COP_OK;
	if (err != COP_OK)
		return;
	r->results[result]++;
	cop_wire_record record = {
		.x = x,
		.has_x = full,
		.values = values,
		.a = l->arm,
		.p = l->p,
		.losses = (unsigned)l->losses,
		.loss = { l->loss[0], l->loss[1] },
		.result = cop_model_record_result(result),
		.observed = full && l->observed,
		.own_p = l->own_p,
		.greedy = l->agrees,
	};
	keep_record(r, full ? FULL : FEEDBACK, COP_WIRE_RECORD_FEEDBACK, &record);
}

static void adjust(run *r, logged *l)
{
	cop_model_settings *s = &r->settings;
	s->reward = (cop_reward_rule)cop_rng_below(&r->rng, 3);
	s->reward_window = 5.0 + 10.0 * cop_rng_unit(&r->rng);
	s->has_default_loss = cop_rng_below(&r->rng, 2) != 0;
	s->pending_max = 10 + (size_t)cop_rng_below(&r->rng, 20);
	s->learner.exploration.epsilon = cop_rng_unit(&r->rng);
	if (holds) {
		s->holdout = cop_rng_below(&r->rng, 4) == 0 ? 0.0 : 0.5 * cop_rng_unit(&r->rng);
		s->has_baseline = cop_rng_below(&r->rng, 2) == 0;
		s->baseline = (double)cop_rng_below(&r->rng, 2);
		s->conservative = s->holdout > 0.0 && cop_rng_below(&r->rng, 2) == 0 ? cop_rng_unit(&r->rng) : 0.0;
	}
	l->settings = *s;
	assert_int_equal(cop_model_adjust(r->model, s, NULL), COP_OK);
	keep(r, ADJUSTMENT);
}

static cop_err turn_model(cop_model *model, const logged *l)
{
	const cop_learner_settings *s = &cop_model_get_settings(model)->learner;
	bool values = s->arms == 0;
	const refit_shape shape = { .d = cop_learner_dimension(s),
		.outputs = values ? 1 : FIXTURE_ARMS,
		.depth = 3,
		.sparse = s->features == 0 };
	cop_err err = COP_OK;
	switch (l->turn) {
	case CHALLENGE: {
		cop_trees *trees = refit_trees(&shape, 1, l->seed);
		err = cop_model_challenge(model, trees, NULL);
		cop_trees_free(trees);
		assert_int_equal(err, COP_OK);
		return err;
	}
	case PROMOTION:
		return cop_model_promote(model);
	case ROLLBACK:
		return cop_model_rollback(model);
	case RETIREMENT:
		return cop_model_retire(model);
	case FREEZE:
	case THAW:
		cop_model_freeze(model, l->turn == FREEZE);
		break;
	case TURNS:
		break;
	}
	return err;
}

static void turn_live(run *r, logged *l)
{
	static const turn often[] = { CHALLENGE, PROMOTION, CHALLENGE, PROMOTION, ROLLBACK, PROMOTION, RETIREMENT,
		FREEZE, THAW, THAW };
	l->turn = often[cop_rng_below(&r->rng, sizeof often / sizeof *often)];
	l->seed = cop_rng_below(&r->rng, 1000);
	if (turn_model(r->model, l) != COP_OK)
		return;
	r->turns[l->turn]++;
	keep(r, SHADOW);
}

static void step(run *r, bool adjusts)
{
	logged *l = &r->log[r->count];
	cop_feedback_result result;
	cop_wire_record record = { .count = 0 };
	memset(l, 0, sizeof *l);
	if (r->shadows && cop_rng_below(&r->rng, 25) == 0) {
		turn_live(r, l);
		return;
	}
	if (cop_rng_below(&r->rng, 3) != 0)
		r->now += 1.5 * cop_rng_unit(&r->rng);
	l->id = model_id(cop_rng_below(&r->rng, IDS));
	unsigned which = (unsigned)cop_rng_below(&r->rng, 100);
	if (which < 50) {
		decide(r, l);
	} else if (which < 75) {
		feedback(r, l, false);
	} else if (which < 80) {
		feedback(r, l, true);
	} else if (which < 90) {
		cop_model_activate(r->model, &l->id, r->now, &result);
		record.result = cop_model_record_result(result);
		keep_record(r, ACTIVATION, COP_WIRE_RECORD_ACTIVATION, &record);
	} else if (which < 92) {
		if (cop_model_unheard(r->model, &l->id, NULL))
			keep_record(r, UNHEARD, COP_WIRE_RECORD_UNHEARD, &record);
	} else if (which < 99) {
		l->count = cop_model_expire(r->model, r->now, (size_t)cop_rng_below(&r->rng, 6));
		if (l->count > 0)
			keep_record(r, EXPIRY, COP_WIRE_RECORD_EXPIRY, &record);
	} else if (adjusts) {
		adjust(r, l);
	}
}

static void look(void *context, const cop_policy_view *view)
{
	const cop_model *model = context;
	double sum = 0.0;
	for (size_t k = 0; k < view->arms; k++)
		sum += view->p[k];
	assert_true(view->arms > 0 && fabs(sum - 1.0) < 1e-6);
	assert_int_equal(cop_model_get_settings(model)->learner.arms, view->arms);
	looked_at++;
}

static cop_err relearn(cop_model *model, cop_wire_record_type type, const cop_wire_record *record)
{
	cop_model_relearning how = { .own = way == OWN, .see = look, .context = model };
	return way == RECOVERED ? cop_model_apply(model, type, record) : cop_model_relearn(model, type, record, &how);
}

static void apply_record(cop_model *model, const run *r, const logged *l)
{
	static float dense[FIXTURE_D];
	static uint32_t index[FIXTURE_D];
	static uint8_t mask[FIXTURE_ARMS];
	const cop_learner_settings *s = &cop_model_get_settings(model)->learner;
	const cop_wire_shape shape = {
		.features = s->features, .bits = s->bits, .max_nonzeros = FIXTURE_D, .arms = s->arms
	};
	const cop_wire_workspace room = { .dense = dense, .index = index, .value = dense, .mask = mask };
	cop_wire_record record;
	cop_wire_fault fault = { .message = "" };
	cop_err err =
	        cop_wire_record_decode(l->type, r->journal.data + l->at, l->length, &shape, &room, &record, &fault);
	if (err != COP_OK)
		fail_msg("%s: %s", cop_err_text(err), fault.message);
	assert_int_equal(relearn(model, l->type, &record), COP_OK);
}

static void apply(cop_model *model, const run *r, const logged *l)
{
	if (l->what == ADJUSTMENT)
		assert_int_equal(cop_model_adjust(model, &l->settings, NULL), COP_OK);
	else if (l->what == SHADOW)
		assert_int_equal(turn_model(model, l), COP_OK);
	else
		apply_record(model, r, l);
}

/* Makes a model from `begin` (none: the start) and the log's rest, and compares. */
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

static void settings_of(cop_model_settings *s, size_t kind, unsigned variant)
{
	model_settings(s, kinds[kind].learner, kinds[kind].sparse);
	strcpy(s->learner.policy, kinds[kind].policy);
	s->learner.feedback = kinds[kind].one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
	s->reward = (cop_reward_rule)(variant % 3);
	s->has_default_loss = variant / 3 % 2 != 0;
	s->default_loss = 0.5;
	s->loss_low = -1.0;
	s->loss_high = 3.0;
	s->pending_max = variant / 6 % 2 != 0 ? 12 : 100;
	s->pending_bytes = variant / 6 % 2 != 0 ? (size_t)1 << 30 : 2712;
	s->explain_keep = 3;
	s->holdout = holds ? 0.3 : 0.0;
	s->has_baseline = variant % 2 != 0;
	s->baseline = holds ? variant / 2 % 2 : 0.0;
	s->conservative = holds && variant % 3 != 0 ? 0.4 : 0.0;
}

/* Whether the run had enough of everything. */
static void check_coverage(const run *r, bool adjusts)
{
	const cop_model_settings *s = cop_model_get_settings(r->model);
	const cop_model_counters *c = cop_model_get_counters(r->model);
	assert_true(r->seen[DECISION] > 100 && r->seen[FEEDBACK] > 100);
	assert_true(r->seen[FULL] > 10 || s->learner.feedback == COP_VALUE_ONE);
	assert_true(r->seen[ACTIVATION] > 50 && r->seen[EXPIRY] > 5 && r->repeated > 10);
	assert_true(r->seen[UNHEARD] > 0 || r->observes);
	assert_true(r->refused > 0 || s->learner.arms == 0);
	assert_true(r->results[COP_FEEDBACK_APPLIED] + r->results[COP_FEEDBACK_RECORDED] > 50);
	assert_true(r->results[COP_FEEDBACK_DUPLICATE] > 0 && r->results[COP_FEEDBACK_LATE] > 0);
	assert_true(r->results[COP_FEEDBACK_UNKNOWN] > 0 && c->learned > 20 && c->evicted > 20 && c->dropped > 20);
	assert_true(adjusts ? r->seen[ADJUSTMENT] > 3 : (c->defaulted > 20) == s->has_default_loss);
}

static size_t turns[TURNS]; /* of all runs */

/* Of a run that observes. */
static void check_observed(const run *r)
{
	cop_apprentice_summary is;
	cop_model_get_apprentice(r->model, &is);
	assert_int_equal(is.observed, r->observed + r->answered);
	assert_true(r->observed > 100 && r->answered > 5 && is.losses > r->answered && is.agreed > 10);
}

static void check_run(size_t kind, unsigned variant, bool adjusts, bool shadows, bool observes)
{
	static run r;
	static cop_model_settings s;
	cop_bytes middle;
	size_t from = 0;
	cop_bytes_init(&middle);
	cop_bytes_clear(&r.journal);
	const cop_bytes journal = r.journal;
	memset(&r, 0, sizeof r);
	r.journal = journal;
	settings_of(&s, kind, variant);
	if (shadows && s.pending_bytes < 10000)
		s.pending_bytes += 800; /* waiting takes more */
	r.sparse = kinds[kind].sparse;
	r.shadows = shadows;
	r.observes = observes;
	r.settings = s;
	r.model = model_new(&s);
	cop_rng_init(&r.rng, FIXTURE_SEED, 80 + 100 * kind + variant);
	for (size_t n = 0; n < EVENTS - 1; n++) {
		step(&r, adjusts);
		if (n == EVENTS / 2) {
			model_save(r.model, &middle);
			from = r.count;
		}
	}
	if (shadows)
		assert_true(r.turns[CHALLENGE] > 0 && r.turns[PROMOTION] > 0 && r.seen[SHADOW] > 10);
	else
		check_coverage(&r, adjusts);
	if (observes)
		check_observed(&r);
	for (size_t i = 0; i < TURNS; i++)
		turns[i] += r.turns[i];
	looked_at = 0;
	for (way = RECOVERED; way < (variant % 4 == 0 ? WAYS : LOOKED_AT); way++) {
		check_replay(&r, &s, NULL, 0);
		check_replay(&r, &s, &middle, from);
	}
	way = RECOVERED;
	assert_true(s.learner.arms == 0 || variant % 4 != 0 ? looked_at == 0 : looked_at > 2 * r.seen[DECISION]);
	cop_model_free(r.model);
	cop_bytes_fini(&middle);
}

static void test_replay_of_the_log_gives_the_same_bytes(void **state)
{
	(void)state;
	printf("seed %u\n", FIXTURE_SEED);
	for (size_t kind = 0; kind < KINDS; kind++)
		for (unsigned variant = 0; variant < 12; variant++)
			check_run(kind, variant, false, false, false);
}

static void test_replay_with_adjustments_gives_the_same_bytes(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++)
		for (unsigned variant = 0; variant < 4; variant++)
			check_run(kind, variant, true, false, false);
}

static void test_replay_with_challenges_and_swaps_gives_the_same_bytes(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++)
		for (unsigned variant = 0; variant < 12; variant++)
			check_run(kind, variant, variant % 2 != 0, true, false);
	for (size_t i = 0; i < TURNS; i++)
		assert_true(turns[i] > 20);
}

static void test_replay_of_observed_decisions_gives_the_same_bytes(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++)
		for (unsigned variant = 0; variant < 24 && strcmp(kinds[kind].learner, "value") != 0; variant++)
			check_run(kind, variant % 12, false, variant >= 12, true);
}

/* The baseline's decisions among the policy's, with and without others in the shadow. */
static void test_replay_with_a_control_group_gives_the_same_bytes(void **state)
{
	(void)state;
	holds = true;
	for (size_t kind = 0; kind < KINDS; kind++)
		for (unsigned variant = 0; variant < 24 && strcmp(kinds[kind].learner, "value") != 0; variant++)
			check_run(kind, variant % 12, variant % 3 == 0, variant >= 12, false);
	holds = false;
}

/* The index has grown to many and only few wait when the model is saved: what gives way afterwards is the same. */
static void test_replay_after_load_evicts_the_same_under_a_byte_bound(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng, again;
	cop_bytes first, second;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_rng_init(&rng, FIXTURE_SEED, 99);
	model_settings(&s, "dgt", false);
	s.pending_max = 10000;
	cop_model *a = model_new(&s), *b = model_new(&s);
	for (uint64_t i = 0; i < 3000; i++)
		(void)model_decide(a, &rng, false, i, 0.0);
	size_t each = cop_model_pending_bytes(a) / 3000;
	s.pending_bytes = 100 * each;
	assert_int_equal(cop_model_adjust(a, &s, NULL), COP_OK);
	(void)model_decide(a, &rng, false, 5000, 1.0);
	assert_in_range(cop_model_pending(a), 50, 101);
	model_save(a, &first);
	assert_int_equal(cop_model_load(b, first.data, first.length, NULL), COP_OK);
	again = rng;
	for (uint64_t i = 0; i < 500; i++) {
		(void)model_decide(a, &rng, false, i, 2.0);
		(void)model_decide(b, &again, false, i, 2.0);
	}
	model_save(a, &first);
	model_save(b, &second);
	assert_bytes_equal(&first, &second);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	cop_model_free(a);
	cop_model_free(b);
}

/* An ensemble's trials ask, when the loss comes, which arms were eligible: as the journal has it, and as a saved model
 * whose decisions wait. */
static void test_replay_of_masked_decisions_in_trials_gives_the_same_bytes(void **state)
{
	(void)state;
	enum { MANY = 4500, LATE = 30 };
	static logged kept[MANY];
	cop_model_settings s;
	cop_rng rng;
	cop_bytes want, got;
	cop_bytes_init(&want);
	cop_bytes_init(&got);
	cop_rng_init(&rng, FIXTURE_SEED, 97);
	model_settings(&s, "ensemble", false);
	cop_model *live = model_new(&s), *replay = model_new(&s), *loaded = model_new(&s);
	for (size_t n = 0; n < MANY; n++) {
		logged *l = &kept[n];
		bool repeated;
		double now = (double)n / LATE;
		*l = (logged){ .time = now, .id = model_id(n), .masked = n % 3 != 0 };
		fixture_draw(&l->event, &rng, false);
		for (size_t k = 0; k < FIXTURE_ARMS; k++)
			l->mask[k] = k == n % FIXTURE_ARMS || cop_rng_below(&rng, 3) == 0;
		const cop_row x = row_of(&l->event, false);
		const cop_model_context context = { .id = &l->id, .x = &x, .mask = l->masked ? l->mask : NULL };
		assert_int_equal(cop_model_decide(live, &context, now, &l->decision, &repeated), COP_OK);
		assert_int_equal(model_replay(live, replay, &context, now, &l->decision, NULL), COP_OK);
		if (n > MANY / 2)
			assert_int_equal(model_replay(live, loaded, &context, now, &l->decision, NULL), COP_OK);
		if (n >= LATE) {
			const logged *then = &kept[n - LATE];
			double loss = then->decision.arm == then->event.best ? 0.0 : 1.0;
			(void)model_feedback(live, n - LATE, loss, now);
			(void)model_feedback(replay, n - LATE, loss, now);
			if (n > MANY / 2)
				(void)model_feedback(loaded, n - LATE, loss, now);
		}
		if (n == MANY / 2) {
			model_save(live, &want);
			assert_int_equal(cop_model_load(loaded, want.data, want.length, NULL), COP_OK);
		}
	}
	model_save(live, &want);
	model_save(replay, &got);
	assert_bytes_equal(&want, &got);
	model_save(loaded, &got);
	assert_bytes_equal(&want, &got);
	cop_model_free(live);
	cop_model_free(replay);
	cop_model_free(loaded);
	cop_bytes_fini(&want);
	cop_bytes_fini(&got);
}

static void test_replay_of_what_does_not_fit_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	static const cop_decision wrong[] = {
		{ .arm = FIXTURE_ARMS, .p = 0.5 },
		{ .arm = 0, .p = 0.0 },
		{ .arm = 0, .p = -0.5 },
		{ .arm = 0, .p = 1.5 },
		{ .arm = 0, .p = (double)NAN },
		{ .arm = 0, .p = 0.5 }, /* right, but it waits already */
		{ .y = (double)NAN, .p = 1.0 },
		{ .y = (double)INFINITY, .p = 1.0 },
		{ .y = 0.5, .u = 2, .p = 1.0 },
		{ .y = 0.5, .u = -2, .p = 1.0 },
		{ .y = 0.5, .u = 1, .p = 1.0 },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_model_settings s;
		cop_bytes before, after;
		cop_rng rng;
		fixture_event e;
		cop_rng_init(&rng, FIXTURE_SEED, 98);
		cop_bytes_init(&before);
		cop_bytes_init(&after);
		model_settings(&s, i < 6 ? "ensemble" : "value", false);
		s.learner.feedback = i >= 6 ? COP_VALUE_ONE : COP_VALUE_TWO;
		cop_model *model = model_new(&s);
		(void)model_decide(model, &rng, false, 1, 0.0);
		model_save(model, &before);
		fixture_draw(&e, &rng, false);
		cop_event_id id = model_id(i == 5 || i == 10 ? 1 : 2);
		const cop_model_context context = { .id = &id, .x = &e.row };
		assert_int_equal(model_replay(model, model, &context, 1.0, &wrong[i], NULL), COP_EINVAL);
		model_save(model, &after);
		assert_bytes_equal(&before, &after);
		cop_bytes_fini(&before);
		cop_bytes_fini(&after);
		cop_model_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay_of_the_log_gives_the_same_bytes),
		cmocka_unit_test(test_replay_with_adjustments_gives_the_same_bytes),
		cmocka_unit_test(test_replay_with_challenges_and_swaps_gives_the_same_bytes),
		cmocka_unit_test(test_replay_of_observed_decisions_gives_the_same_bytes),
		cmocka_unit_test(test_replay_with_a_control_group_gives_the_same_bytes),
		cmocka_unit_test(test_replay_after_load_evicts_the_same_under_a_byte_bound),
		cmocka_unit_test(test_replay_of_masked_decisions_in_trials_gives_the_same_bytes),
		cmocka_unit_test(test_replay_of_what_does_not_fit_is_refused_and_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
