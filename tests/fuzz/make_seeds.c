/* make_seeds CORPUS: writes the seeds of the fuzz targets that change with a format: CORPUS/forest/ (four bytes of
 * shape, then what cop_forest_save gives), CORPUS/checkpoint/ those of `models` (a checkpoint file of one model),
 * CORPUS/refit/ (bodies of refit files), CORPUS/refit_state/state*, and CORPUS/merge/ (a message, and its sums). Every
 * run writes the same bytes, on the same kind of processor. tests/unit/online/test_fuzz_seeds.c and
 * tests/unit/refit/test_refit_file.c tell when it is time for a run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/merge/merge_message.h"
#include "daemon/models/refit_state.h"
#include "forest_shape.h"
#include "online/model_apprentice.h"
#include "online/model_shadow.h"
#include "refit/refit_file.h"
#include "store/checkpoint_file.h"
#include "store/section_file.h"
#include "tree/tree_build.h"

#define PATH_ROOM     4096
#define MOST_BYTES    ((size_t)60 << 10) /* of a seed */
#define BEGIN         1.8e9              /* the time of the first event */
#define CANDIDATES    3
#define SPARSE_BITS   3
#define SPARSE_VALUES 4
#define MOST_FEATURES 16 /* of a refit */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "make_seeds: %s\n", what);
	exit(EXIT_FAILURE);
}

static void write_file(const char *path, const cop_bytes *bytes)
{
	must(bytes->err == COP_OK && bytes->length <= MOST_BYTES, path);
	FILE *file = fopen(path, "wb");
	must(file != NULL, path);
	bool written = fwrite(bytes->data, 1, bytes->length, file) == bytes->length;
	must(fclose(file) == 0 && written, path);
	(void)printf("%s: %zu bytes\n", path, bytes->length);
}

/* ---- forests ---- */

typedef struct forest_seed {
	const char *name;
	uint8_t shape[SHAPE_BYTES];
	size_t events;
} forest_seed;

static const forest_seed forests[] = {
	{ "fresh", { 3, 1, 1, 0 }, 0 },
	{ "one_arm", { 0, 0, 0, 0 }, 40 },
	{ "dense_12", { 3, 1, 1, 0 }, 12 },
	{ "dense_60", { 3, 1, 1, 0 }, 60 },
	{ "dense_200", { 7, 3, 2, 0 }, 200 },
	{ "sparse_60", { 3, 1, 1, 1 }, 60 },
	{ "sparse_400", { 7, 2, 2, 1 }, 400 },
};

/* Arm 0 is good where input 0 is above 0, the others where it is not. */
static void teach(cop_forest *forest, const uint8_t *shape, size_t events)
{
	size_t arms = shape_settings(shape).arms;
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	for (size_t n = 0; n < events; n++) {
		float value[SHAPE_INPUTS], loss[SHAPE_ARMS];
		uint32_t index[SHAPE_INPUTS];
		cop_row x = shape_row(shape, &rng, value, index);
		bool above = cop_row_index(&x, 0) == 0 && cop_row_value(&x, 0) > 0.0f;
		size_t arm = (size_t)cop_rng_below(&rng, arms);
		cop_forest_predict(forest, &x, loss);
		cop_forest_learn(forest, &x, arm, above == (arm == 0) ? 0.1 : 0.9, true);
	}
}

static void make_forest(const char *corpus, const forest_seed *seed)
{
	char path[PATH_ROOM];
	cop_bytes bytes;
	cop_forest *forest = shape_forest(seed->shape);
	cop_bytes_init(&bytes);
	teach(forest, seed->shape, seed->events);
	cop_bytes_put(&bytes, seed->shape, SHAPE_BYTES);
	cop_forest_save(forest, &bytes);
	must(snprintf(path, sizeof path, "%s/forest/%s", corpus, seed->name) < PATH_ROOM, seed->name);
	write_file(path, &bytes);
	cop_bytes_fini(&bytes);
	cop_forest_free(forest);
}

/* A node and two leaves. */
static cop_trees *trees_of(const char *name, size_t d, size_t outputs, bool linear)
{
	static const float w[MOST_FEATURES] = { 0.5f, -1.0f, 0.25f, 0.0f, 0.0f, 1.0f, 0.0f, 2.0f },
	                   losses[] = { 0.25f, 0.75f, 0.5f };
	static const uint32_t first = 0;
	must(d <= MOST_FEATURES && outputs <= 3, name);
	cop_tree_build *build;
	cop_tree *tree;
	cop_trees *trees;
	must(cop_tree_build_new(d, outputs, COP_TREE_VALUES, &build) == COP_OK, name);
	int32_t node = cop_tree_build_node(build, w, 0.125f), right = cop_tree_build_constant(build, losses);
	int32_t left = linear ? cop_tree_build_linear(build, 1, &first, w, losses)
	                      : cop_tree_build_constant(build, losses + (outputs < 3));
	cop_tree_build_children(build, node, left, right);
	must(cop_tree_build_finish(build, node, &tree) == COP_OK, name);
	cop_tree_build_free(build);
	must(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees) == COP_OK, name);
	return trees;
}

/* ---- models ---- */

/* What has become of a challenger that came half way. */
typedef enum shadow_stage { NONE, CHALLENGED, PROMOTED, ROLLED_BACK, RETIRED, FROZEN } shadow_stage;

typedef struct model_seed {
	const char *name;
	const char *learner, *policy;
	size_t features; /* 0: sparse */
	size_t arms;     /* 0: candidates */
	unsigned experts;
	cop_reward_rule reward;
	size_t events;
	bool observes; /* another system decides */
	shadow_stage shadow;
	cop_value_feedback feedback; /* of values */
	bool literal;                /* of dgt */
} model_seed;

static const model_seed models[] = {
	{ "mixture", "ensemble", "fastcb", 2, 2, 0, COP_REWARD_EARLIEST, 40, false, NONE, COP_VALUE_BINS, false },
	{ "mixture_observed", "ensemble", "fastcb", 2, 2, 0, COP_REWARD_EARLIEST, 40, true, NONE, COP_VALUE_BINS,
	        false },
	{ "mixture_rank_observed", "rank", "fastcb", 2, 0, 0, COP_REWARD_LAST, 40, true, NONE, COP_VALUE_BINS, false },
	{ "mixture_some", "ensemble", "epsilon", 3, 3, COP_EXPERT_LINEAR | COP_EXPERT_FOREST, COP_REWARD_SUM, 40, false,
	        NONE, COP_VALUE_BINS, false },
	{ "mixture_sparse", "ensemble", "fastcb", 0, 2, 0, COP_REWARD_EARLIEST, 32, false, NONE, COP_VALUE_BINS,
	        false },
	{ "mixture_rank", "rank", "fastcb", 2, 0, 0, COP_REWARD_EARLIEST, 40, false, NONE, COP_VALUE_BINS, false },
	{ "mixture_rank_sparse", "rank", "squarecb", 0, 0, 0, COP_REWARD_LAST, 40, false, NONE, COP_VALUE_BINS, false },
	{ "mixture_challenged", "ensemble", "epsilon", 2, 2, COP_EXPERT_LINEAR, COP_REWARD_EARLIEST, 40, false,
	        CHALLENGED, COP_VALUE_BINS, false },
	{ "mixture_promoted", "ensemble", "epsilon", 2, 2, COP_EXPERT_LINEAR, COP_REWARD_SUM, 40, false, PROMOTED,
	        COP_VALUE_BINS, false },
	{ "mixture_rolled_back", "ensemble", "fastcb", 0, 2, COP_EXPERT_LINEAR, COP_REWARD_EARLIEST, 40, false,
	        ROLLED_BACK, COP_VALUE_BINS, false },
	{ "mixture_retired", "ensemble", "fastcb", 2, 3, COP_EXPERT_LINEAR, COP_REWARD_EARLIEST, 40, false, RETIRED,
	        COP_VALUE_BINS, false },
	{ "mixture_rank_promoted", "rank", "fastcb", 2, 0, COP_EXPERT_LINEAR, COP_REWARD_EARLIEST, 40, false, PROMOTED,
	        COP_VALUE_BINS, false },
	{ "dgt", "dgt", "epsilon", 2, 2, 0, COP_REWARD_EARLIEST, 24, false, NONE, COP_VALUE_BINS, false },
	{ "dgt_literal", "dgt", "epsilon", 2, 2, 0, COP_REWARD_EARLIEST, 24, false, NONE, COP_VALUE_BINS, true },
	{ "dgt_challenged", "dgt", "epsilon", 3, 3, 0, COP_REWARD_EARLIEST, 40, false, CHALLENGED, COP_VALUE_BINS,
	        false },
	{ "dgt_units", "dgt", "epsilon", 2, 2, 0, COP_REWARD_EARLIEST, 24, false, NONE, COP_VALUE_BINS, false },
	{ "dgt_held", "dgt", "epsilon", 2, 2, 0, COP_REWARD_EARLIEST, 40, false, NONE, COP_VALUE_BINS, false },
	{ "mixture_held_challenged", "ensemble", "epsilon", 2, 2, COP_EXPERT_LINEAR, COP_REWARD_LAST, 40, false,
	        CHALLENGED, COP_VALUE_BINS, false },
	{ "dgt_frozen", "dgt", "epsilon", 3, 3, 0, COP_REWARD_EARLIEST, 40, false, FROZEN, COP_VALUE_BINS, false },
	{ "value", "value", "", 2, 0, 0, COP_REWARD_EARLIEST, 24, false, NONE, COP_VALUE_TWO, false },
	{ "value_one", "value", "", 2, 0, 0, COP_REWARD_EARLIEST, 24, false, NONE, COP_VALUE_ONE, false },
	{ "value_promoted", "value", "", 2, 0, 0, COP_REWARD_EARLIEST, 40, false, PROMOTED, COP_VALUE_TWO, false },
	{ "value_bins", "value", "", 2, 0, 0, COP_REWARD_EARLIEST, 40, false, NONE, COP_VALUE_BINS, false },
	{ "value_bins_sparse", "value", "", 0, 0, 0, COP_REWARD_EARLIEST, 40, false, NONE, COP_VALUE_BINS, false },
};

static bool ranks(const model_seed *seed) { return strcmp(seed->learner, "rank") == 0; }

static cop_model *model_of(const model_seed *seed)
{
	cop_model_settings set;
	cop_model *model;
	cop_diag diag = { .message = "" };
	cop_model_settings_init(&set);
	(void)snprintf(set.learner.learner, sizeof set.learner.learner, "%s", seed->learner);
	(void)snprintf(set.learner.policy, sizeof set.learner.policy, "%s", seed->policy);
	set.learner.features = seed->features;
	set.learner.arms = seed->arms;
	set.learner.experts = seed->experts;
	set.learner.height = 1;
	set.learner.trees = 1;
	set.learner.seed = 1;
	set.learner.feedback = seed->feedback;
	set.learner.literal = seed->literal;
	set.reward = seed->reward;
	set.reward_window = 10.0;
	set.holdout = strstr(seed->name, "held") != NULL ? 0.5 : 0.0;
	set.conservative = set.holdout > 0.0 && seed->shadow != NONE ? 0.9 : 0.0;
	if (seed->features == 0) {
		set.learner.bits = SPARSE_BITS;
		set.learner.max_nonzeros = SPARSE_VALUES;
	}
	if (ranks(seed)) {
		set.learner.candidate_features = seed->features;
		set.learner.max_candidates = CANDIDATES;
	}
	must(cop_model_new(&set, &model, &diag) == COP_OK, diag.message);
	return model;
}

typedef struct seed_row {
	float value[SPARSE_VALUES];
	uint32_t index[SPARSE_VALUES];
} seed_row;

static cop_row draw_row(size_t features, cop_rng *rng, seed_row *row)
{
	cop_row x = { .d = (size_t)1 << SPARSE_BITS, .nnz = SPARSE_VALUES, .index = row->index, .value = row->value };
	for (size_t i = 0; i < SPARSE_VALUES; i++) {
		row->value[i] = (float)(4.0 * cop_rng_unit(rng) - 2.0);
		row->index[i] = (uint32_t)(2 * i + cop_rng_below(rng, 2));
	}
	return features == 0 ? x : (cop_row){ .d = features, .dense = row->value };
}

/* A challenger comes half way; what becomes of it follows three quarters of the way. */
static void change_places(cop_model *model, const model_seed *seed, size_t event)
{
	size_t features = seed->features == 0 ? (size_t)1 << SPARSE_BITS : seed->features;
	if (seed->shadow == NONE)
		return;
	if (event == seed->events / 2) {
		cop_trees *trees = trees_of(
		        seed->name, ranks(seed) ? 2 * features : features, seed->arms == 0 ? 1 : seed->arms, false);
		must(cop_model_challenge(model, trees, NULL) == COP_OK, "challenge");
		cop_trees_free(trees);
	}
	bool turns = event == 3 * seed->events / 4 && seed->shadow != CHALLENGED;
	if (turns && seed->shadow == FROZEN)
		cop_model_freeze(model, true);
	else if (turns)
		must(cop_model_promote(model) == COP_OK, "promote");
	if (event == 7 * seed->events / 8 && seed->shadow == ROLLED_BACK)
		must(cop_model_rollback(model) == COP_OK, "rollback");
	if (event == 7 * seed->events / 8 && seed->shadow == RETIRED)
		must(cop_model_retire(model) == COP_OK, "retire");
}

/* Of an arm or candidate the first is good for half of the contexts; of a value what is near to the context. */
static void loss_of(const model_seed *seed, const cop_row *x, const cop_decision *decision, double loss[2])
{
	double first = (double)(x->dense != NULL ? x->dense[0] : x->value[0]);
	loss[0] = loss[1] = (first > 0.0) == (decision->arm == 0) ? 0.25 : 0.75;
	for (size_t i = 0; i < 2 && strcmp(seed->learner, "value") == 0; i++)
		loss[i] = (decision->probe[i] - first / 4.0) * (decision->probe[i] - first / 4.0);
}

/* One event of each second; the last four go on waiting, the very last one not yet shown. */
static void live(cop_model *model, const model_seed *seed)
{
	cop_rng rng;
	cop_rng_init(&rng, 4, 0);
	for (size_t i = 0; i < seed->events; i++) {
		seed_row rows[1 + CANDIDATES];
		cop_row candidate[CANDIDATES];
		cop_event_id id;
		cop_decision decision;
		cop_feedback_result result;
		bool repeated;
		double now = BEGIN + (double)i;
		cop_row x = draw_row(seed->features, &rng, &rows[0]);
		cop_event_id_from_unsigned(&id, i);
		cop_model_context context = { .id = &id, .x = &x, .defer = i + 1 == seed->events };
		cop_event_id unit;
		cop_event_id_from_unsigned(&unit, i % 5);
		if (strstr(seed->name, "units") != NULL)
			context.unit = &unit;
		if (ranks(seed)) {
			context.candidate = candidate;
			context.candidates = 1 + i % CANDIDATES;
			for (size_t c = 0; c < CANDIDATES; c++)
				candidate[c] = draw_row(seed->features, &rng, &rows[1 + c]);
		}
		if (seed->observes) {
			cop_model_observed made = { .decision = { .arm = 0, .p = 0.5 } };
			must(cop_model_observe(model, &context, now, &made, &repeated) == COP_OK, "observe");
			decision = made.decision;
		} else {
			must(cop_model_decide(model, &context, now, &decision, &repeated) == COP_OK, "decide");
		}
		double loss[2];
		loss_of(seed, &x, &decision, loss);
		size_t losses = cop_learner_losses(&cop_model_get_settings(model)->learner);
		if (i + 4 < seed->events)
			must(cop_model_feedback(model, &id, loss, losses, now, &result) == COP_OK, "feedback");
		(void)cop_model_expire(model, now, seed->events);
		change_places(model, seed, i);
	}
}

/* The body of a checkpoint, as the daemon writes it. */
static void put_body(const cop_model *model, const model_seed *seed, cop_bytes *body)
{
	size_t file = cop_section_file_begin(body);
	size_t section = cop_section_file_begin_section(body, "daemon", 1);
	cop_bytes_put_f64(body, BEGIN + (double)seed->events);
	cop_bytes_put_u64(body, 2 * seed->events);
	cop_section_file_end_section(body, section);
	section = cop_section_file_begin_section(body, "model", 1);
	cop_bytes_put_text(body, "m");
	size_t inner = cop_section_file_begin(body);
	cop_model_save(model, body);
	cop_section_file_end(body, inner);
	cop_section_file_end_section(body, section);
	cop_section_file_end(body, file);
}

static void make_model(const char *corpus, const model_seed *seed)
{
	char folder[PATH_ROOM - COP_CHECKPOINT_NAME_ROOM], from[PATH_ROOM], to[PATH_ROOM],
	        name[COP_CHECKPOINT_NAME_ROOM];
	cop_bytes body;
	cop_diag diag = { .message = "" };
	cop_model *model = model_of(seed);
	cop_bytes_init(&body);
	live(model, seed);
	put_body(model, seed, &body);
	must(body.err == COP_OK && body.length <= MOST_BYTES, seed->name);
	must((size_t)snprintf(folder, sizeof folder, "%s/checkpoint", corpus) < sizeof folder, seed->name);
	must(cop_checkpoint_write(folder, seed->name, 1, body.data, body.length, &diag) == COP_OK, diag.message);
	cop_checkpoint_name(seed->name, 1, name);
	(void)snprintf(from, sizeof from, "%s/%s", folder, name);
	(void)snprintf(to, sizeof to, "%s/%s", folder, seed->name);
	must(rename(from, to) == 0, to);
	(void)printf("%s: %zu bytes\n", to, body.length);
	cop_bytes_fini(&body);
	cop_model_free(model);
}

/* ---- refits ---- */

typedef struct refit_seed {
	const char *name;
	cop_journal_history_model model;
	bool linear;
} refit_seed;

static const refit_seed refits[] = {
	{ "arms", { .name = "m", .learner = "ensemble", .features = 3, .arms = 2, .loss_range = { 0.0, 1.0 } }, false },
	{ "arms_sparse",
	        { .name = "m", .learner = "dgt", .bits = 3, .max_nonzeros = 4, .arms = 3, .loss_range = { -1.0, 1.0 } },
	        false },
	{ "values",
	        { .name = "m",
	                .learner = "value",
	                .features = 2,
	                .values = true,
	                .losses = 2,
	                .value_range = { 0.0, 5.0 },
	                .delta = 0.1,
	                .loss_range = { 0.0, 1.0 } },
	        false },
	{ "candidates",
	        { .name = "m",
	                .learner = "rank",
	                .features = 2,
	                .max_candidates = 4,
	                .candidate_features = 1,
	                .loss_range = { 0.0, 1.0 } },
	        true },
};

static void make_refit(const char *corpus, const refit_seed *seed)
{
	char path[PATH_ROOM];
	cop_bytes bytes;
	const cop_journal_history_model *m = &seed->model;
	size_t d = (m->features != 0 ? m->features : (size_t)1 << m->bits) + m->candidate_features;
	cop_refit_file file = { .report = { .model = *m,
		                        .fitted = { 40, 30, 1, 70 },
		                        .judged = { 10, 8, 72, 90 },
		                        .learned = 95,
		                        .alpha = 0.1 } };
	cop_refit_defaults(&file.settings);
	must(cop_promotion_test_init(&file.report.promotion, &file.settings.promotion) == COP_OK, seed->name);
	for (size_t i = 0; i < 8; i++) {
		const cop_promotion_test_event event = {
			.p = 0.5, .loss = (double)(i % 2), .champion = 0.5, .challenger = 0.75
		};
		must(cop_promotion_test_add(&file.report.promotion, &event) == COP_OK, seed->name);
	}
	file.trees = trees_of(seed->name, d, m->arms > 0 ? m->arms : 1, seed->linear);
	cop_bytes_init(&bytes);
	cop_refit_file_put(&file, &bytes);
	must(snprintf(path, sizeof path, "%s/refit/%s", corpus, seed->name) < PATH_ROOM, seed->name);
	write_file(path, &bytes);
	cop_bytes_fini(&bytes);
	cop_trees_free(file.trees);
}

/* ---- states of refits ---- */

typedef struct state_seed {
	const char *name;
	cop_config_drift drift;
	size_t challenges, marks, losses;
} state_seed;

static const state_seed states[] = {
	{ "state_new", COP_DRIFT_NONE, 0, 0, 0 },
	{ "state_adwin", COP_DRIFT_ADWIN, 3, 5, 300 },
	{ "state_page_hinkley", COP_DRIFT_PAGE_HINKLEY, 1, COP_REFIT_STATE_MARKS, 300 },
};

static void make_state(const char *corpus, const state_seed *seed)
{
	char path[PATH_ROOM];
	cop_bytes bytes;
	cop_refit_state state;
	const cop_config_refit config = { .enabled = true, .on_drift = seed->drift };
	cop_refit_state_init(&state);
	cop_refit_state_configure(&state, &config);
	state.controller.began = BEGIN;
	state.controller.number = state.controller.current = seed->challenges;
	state.controller.drifted = seed->challenges > 1;
	for (uint64_t i = 1; i <= seed->challenges; i++)
		must(cop_refit_state_need(&state, 1000 * i, i) == COP_OK, seed->name);
	for (uint64_t i = 1; i <= seed->marks; i++)
		cop_refit_state_mark(&state, 200 * i, 100 * i, 1000000);
	for (size_t i = 0; i < seed->losses && state.controller.detector != NULL; i++)
		(void)cop_change_add(state.controller.detector, (double)(i % 7) / 7.0);
	cop_bytes_init(&bytes);
	cop_bytes_put_u8(&bytes, 0);
	cop_refit_state_save(&state, &bytes);
	must(snprintf(path, sizeof path, "%s/refit_state/%s", corpus, seed->name) < PATH_ROOM, seed->name);
	write_file(path, &bytes);
	cop_bytes_fini(&bytes);
	cop_refit_state_fini(&state);
}

/* ---- what instances say to merge ---- */

typedef struct merge_seed {
	const char *name;
	cop_merge_kind kind;
	size_t cut;   /* bytes of the message that are missing */
	double first; /* of its sums */
} merge_seed;

static const merge_seed merges[] = {
	{ "ask", COP_MERGE_ASK, 0, 0.0 },
	{ "summary", COP_MERGE_SUMMARY, 0, 3.0 },
	{ "summary_infinite", COP_MERGE_SUMMARY, 0, (double)INFINITY },
	{ "end", COP_MERGE_END, 0, 0.0 },
	{ "refused", COP_MERGE_REFUSED, 0, 0.0 },
	{ "cut", COP_MERGE_SUMMARY, 20, 0.0 },
};

/* As tests/fuzz/fuzz_merge.c takes it: two arms of two numbers. */
static void make_merge(const char *corpus, const merge_seed *seed)
{
	char path[PATH_ROOM];
	cop_bytes message, bytes;
	const double sums[] = { seed->first, 0.5, 0.0, -1.25 };
	const cop_merge_message told = { .kind = seed->kind,
		.version = COP_MERGE_VERSION,
		.of = 3,
		.part = 2,
		.own = 1,
		.life = UINT64_C(0x0123456789abcdef),
		.number = 5,
		.features = 1,
		.arms = 2,
		.crc = 1,
		.time = BEGIN,
		.model = cop_merge_message_text("m"),
		.learner = cop_merge_message_text("ridge"),
		.reason = cop_merge_message_text("expected an ask"),
		.known = { "0123456789abcdef", 16 } };
	cop_bytes_init(&message);
	cop_bytes_init(&bytes);
	cop_merge_message_put(&message, &told);
	message.length -= seed->cut;
	must(message.length <= UINT8_MAX, seed->name);
	cop_bytes_put_u8(&bytes, (uint8_t)message.length);
	cop_bytes_put(&bytes, message.data, message.length);
	if (seed->kind == COP_MERGE_SUMMARY && seed->cut == 0)
		cop_bytes_put_f64s(&bytes, sums, sizeof sums / sizeof *sums);
	must(snprintf(path, sizeof path, "%s/merge/%s", corpus, seed->name) < PATH_ROOM, seed->name);
	write_file(path, &bytes);
	cop_bytes_fini(&message);
	cop_bytes_fini(&bytes);
}

int main(int argc, char **argv)
{
	must(argc == 2, "usage: make_seeds CORPUS");
	for (size_t i = 0; i < sizeof forests / sizeof *forests; i++)
		make_forest(argv[1], &forests[i]);
	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		make_model(argv[1], &models[i]);
	for (size_t i = 0; i < sizeof refits / sizeof *refits; i++)
		make_refit(argv[1], &refits[i]);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		make_state(argv[1], &states[i]);
	for (size_t i = 0; i < sizeof merges / sizeof *merges; i++)
		make_merge(argv[1], &merges[i]);
	return EXIT_SUCCESS;
}
