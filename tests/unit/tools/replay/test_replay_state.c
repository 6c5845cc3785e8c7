/* A replayed model in a file: all comes back, and what does not fit together is refused. */
#include "tools/replay/replay_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "online/model_names.h"
#include "support.h"

static char folder[64], path[96];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/test_replay_state_XXXXXX");
	if (mkdtemp(folder) == NULL)
		return 1;
	(void)snprintf(path, sizeof path, "%s/m.model", folder);
	return 0;
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

/* A space with columns a and bc, or of 2^4 places. */
static cop_feature_space *space_of(bool dense)
{
	const cop_feature_space_settings settings = { .dense = dense, .bits = dense ? 0 : 4 };
	cop_feature_space *space;
	cop_feature_room room = { 0 };
	cop_feature_span span;
	size_t features;
	assert_int_equal(cop_feature_space_new(&settings, &space, NULL), COP_OK);
	cop_feature_space_begin(space);
	cop_feature_space_put(space, "a", 1, 1.0);
	cop_feature_space_put(space, "bc", 2, 1.0);
	assert_int_equal(cop_feature_space_end(space, &room, &span, &features), COP_OK);
	if (dense)
		cop_feature_space_freeze(space);
	cop_feature_room_fini(&room);
	return space;
}

static cop_replay_state made(const char *learner, bool dense)
{
	cop_replay_state state = { .events = 1000, .in_pass = 37, .exploring = true };
	cop_model_settings settings;
	cop_diag diag;
	bool ranks = strcmp(learner, "rank") == 0;
	assert_int_equal(cop_estimates_init(&state.tally, -1.0, 2.0, 100.0), COP_OK);
	state.tally.examples = 77;
	state.space = space_of(dense);
	cop_model_settings_init(&settings);
	(void)snprintf(settings.learner.learner, sizeof settings.learner.learner, "%s", learner);
	settings.learner.features = dense ? cop_feature_space_dimension(state.space) : 0;
	settings.learner.bits = dense ? settings.learner.bits : 4;
	settings.learner.max_nonzeros = 8;
	settings.learner.height = 1;
	settings.loss_low = -1.0;
	settings.loss_high = 2.0;
	if (ranks) {
		settings.learner.max_candidates = 5;
		settings.learner.candidate_features = dense ? 3 : 0;
	} else {
		settings.learner.arms = 3;
	}
	if (cop_model_new(&settings, &state.model, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	const cop_learner_settings *l = &cop_model_get_settings(state.model)->learner;
	state.limits = (cop_replay_limits){
		.arms = l->arms, .candidates = ranks ? 5 : 0, .entries = 8, .low = -1.0, .high = 2.0
	};
	for (size_t i = 0; i < COP_REPLAY_SKIPS; i++)
		state.skipped[i] = 10 + i;
	return state;
}

static void test_state_comes_back(void **unused)
{
	(void)unused;
	static const char *const learners[] = { "dgt", "rank" };
	for (size_t i = 0; i < 4; i++) {
		bool dense = i % 2 == 0;
		cop_replay_state state = made(learners[i / 2], dense), back;
		cop_diag diag = { .message = "" };
		assert_int_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
		assert_int_equal(cop_replay_state_load(path, &back, &diag), COP_OK);
		assert_true(back.events == 1000 && back.in_pass == 37 && back.exploring);
		assert_int_equal(back.tally.examples, 77);
		assert_memory_equal(back.skipped, state.skipped, sizeof state.skipped);
		assert_true(back.limits.arms == state.limits.arms && back.limits.candidates == state.limits.candidates);
		assert_true(back.limits.entries == 8 && back.limits.low == -1.0 && back.limits.high == 2.0);
		assert_true(back.limits.dense == dense && !back.limits.values);
		size_t dimension = cop_feature_space_dimension(state.space);
		assert_int_equal(back.limits.dimension, dimension);
		assert_int_equal(back.limits.candidate_dimension, i == 2 ? 3 : dimension);
		assert_int_equal(cop_feature_space_dimension(back.space), dimension);
		cop_replay_state_fini(&back);
		assert_true(back.model == NULL && back.space == NULL);
		state.exploring = false;
		assert_int_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
		assert_int_equal(cop_replay_state_load(path, &back, &diag), COP_OK);
		assert_false(back.exploring);
		cop_replay_state_fini(&back);
		cop_replay_state_fini(&state);
	}
}

static void test_columns_are_in_a_file_beside_it(void **unused)
{
	(void)unused;
	char name[128], text[64] = "", expected[64] = "";
	cop_diag diag = { .message = "" };
	cop_replay_state state = made("dgt", false);
	struct stat status;
	(void)snprintf(name, sizeof name, "%s.features.txt", path);
	assert_int_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
	assert_int_equal(stat(name, &status), -1);
	cop_replay_state_fini(&state);
	state = made("dgt", true);
	assert_int_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
	FILE *file = fopen(name, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
	for (size_t i = 0; i < cop_feature_space_dimension(state.space); i++) {
		strcat(expected, cop_feature_space_column(state.space, i));
		strcat(expected, "\n");
	}
	assert_non_null(strstr(expected, "bc\n"));
	assert_string_equal(text, expected);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkdir(name, 0700), 0); /* in its place */
	assert_int_not_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
	assert_int_equal(rmdir(name), 0);
	assert_int_equal(cop_replay_state_save("/nonexistent/m.model", &state, &diag), COP_EIO);
	cop_replay_state_fini(&state);
}

static void test_sections_that_do_not_fit_together_are_refused(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 8; i++) {
		cop_replay_state state = made(i == 6 ? "rank" : "dgt", i != 4), back;
		cop_diag diag = { .message = "" };
		cop_feature_space *other = NULL;
		switch (i) {
		case 1:
			state.limits.arms++;
			break;
		case 2:
			state.limits.low = -2.0;
			break;
		case 3:
			state.limits.high = 3.0;
			break;
		case 4:
			state.limits.entries++;
			break;
		case 5:
			state.limits.candidates = 4;
			break;
		case 6:
			state.limits.candidates++;
			break;
		case 7:
			other = state.space;
			state.space = space_of(false);
			break;
		default:
			state.limits.entries++; /* of dense rows there are no entries */
		}
		assert_int_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
		cop_err err = cop_replay_state_load(path, &back, &diag);
		assert_int_equal(err, i == 0 ? COP_OK : COP_EFORMAT);
		if (i > 0) {
			assert_string_equal(diag.message, "its sections do not fit together");
			assert_string_equal(diag.source, path);
			assert_true(back.model == NULL && back.space == NULL);
		}
		cop_replay_state_fini(&back);
		cop_replay_state_fini(&state);
		cop_feature_space_free(other);
	}
}

/* A file with the model, with its names, and with so many bytes of the replay's section (0: none). */
static void write_file(const cop_replay_state *state, bool names, const void *replay, size_t length)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t file = cop_section_file_begin(&bytes);
	cop_model_save(state->model, &bytes);
	if (names)
		cop_model_names_save(state->space, &bytes);
	if (length > 0) {
		size_t section = cop_section_file_begin_section(&bytes, COP_REPLAY_SECTION, 1);
		cop_bytes_put(&bytes, replay, length);
		cop_section_file_end_section(&bytes, section);
	}
	cop_section_file_end(&bytes, file);
	assert_int_equal(cop_section_file_save(path, &bytes, NULL), COP_OK);
	cop_bytes_fini(&bytes);
}

static void expect_refused(const char *says)
{
	cop_replay_state back;
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_replay_state_load(path, &back, &diag), COP_EFORMAT);
	assert_string_equal(diag.message, says);
	assert_string_equal(diag.source, path);
	assert_true(back.model == NULL && back.space == NULL);
}

static void test_file_of_another_kind_is_refused(void **unused)
{
	(void)unused;
	static const char none[] = "no feature space and no replay in it, expected a file of coppice replay --save";
	cop_replay_state state = made("dgt", true), back;
	cop_diag diag = { .message = "" };
	write_file(&state, false, NULL, 0);
	expect_refused(none);
	write_file(&state, true, NULL, 0);
	expect_refused(none);
	assert_int_equal(cop_replay_state_load("/nonexistent/m.model", &back, &diag), COP_ENOTFOUND);
	cop_replay_state_fini(&state);
}

static void test_section_that_is_cut_or_too_long_is_refused(void **unused)
{
	(void)unused;
	cop_replay_state state = made("dgt", true), back;
	cop_diag diag = { .message = "" };
	cop_bytes bytes;
	cop_section_file file;
	cop_model_section section;
	assert_int_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
	cop_bytes_init(&bytes);
	assert_int_equal(cop_section_file_load(path, &bytes, &diag), COP_OK);
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, path, &diag), COP_OK);
	assert_int_equal(cop_replay_state_peek(&file, &back, &diag), COP_OK);
	assert_true(back.model == NULL && back.space != NULL && back.events == 1000);
	cop_replay_state_fini(&back);
	assert_int_equal(cop_section_file_find(&file, COP_REPLAY_SECTION, 0, 1, &section), COP_OK);
	uint8_t *whole = calloc(section.length + 1, 1);
	assert_non_null(whole);
	memcpy(whole, section.data, section.length);
	size_t length = section.length;
	cop_bytes_fini(&bytes);
	for (size_t cut = 1; cut <= length + 1; cut++) {
		write_file(&state, true, whole, cut);
		if (cut == length) {
			assert_int_equal(cop_replay_state_load(path, &back, &diag), COP_OK);
			cop_replay_state_fini(&back);
		} else {
			char says[100];
			(void)snprintf(says, sizeof says, "section 'replay': %s", cop_err_text(COP_EFORMAT));
			expect_refused(says);
		}
	}
	whole[57]++; /* the number of reasons to skip */
	write_file(&state, true, whole, length);
	assert_int_equal(cop_replay_state_load(path, &back, &diag), COP_EFORMAT);
	free(whole);
	cop_replay_state_fini(&state);
}

static void test_state_without_memory_is_none(void **unused)
{
	(void)unused;
	cop_replay_state state = made("dgt", true);
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_replay_state_save(path, &state, &diag), COP_OK);
	bool failed = true;
	for (unsigned long n = 1; failed; n++) {
		cop_replay_state back;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_replay_state_load(path, &back, &diag);
		failed = cop_test_alloc_failed() != 0;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err, failed ? COP_ENOMEM : COP_OK);
		assert_int_equal(back.model == NULL && back.space == NULL, failed);
		cop_replay_state_fini(&back);
	}
	cop_replay_state_fini(&state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_state_comes_back),
		TEST(test_columns_are_in_a_file_beside_it),
		TEST(test_sections_that_do_not_fit_together_are_refused),
		TEST(test_file_of_another_kind_is_refused),
		TEST(test_section_that_is_cut_or_too_long_is_refused),
		TEST(test_state_without_memory_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
