/* Refits on disk: what is written is read; cut, bent and foreign bytes are refused. */
#include "support.h"

#include "refit/refit_file.h"
#include "refit_fixture.h"
#include "store/checkpoint_file.h"
#include "tree/trees_checkpoint.h"

/* A refit of a small journal; trees are the caller's. */
static cop_refit_file make(const world *w)
{
	cop_refit_file file = { .settings = quick() };
	(void)write_arms(w);
	file.settings.height = 2;
	file.settings.least_p = 0.1;
	file.trees = refit_with(&file.settings, NULL, NULL, &file.report);
	return file;
}

static world small_world(void)
{
	world w = plain_world;
	w.events = 200;
	return w;
}

static void check_same(const cop_refit_file *a, const cop_refit_file *b)
{
	assert_true(same_trees(a->trees, b->trees));
	assert_string_equal(a->report.model.name, b->report.model.name);
	assert_string_equal(a->report.model.learner, b->report.model.learner);
	assert_true(
	        a->report.model.features == b->report.model.features && a->report.model.bits == b->report.model.bits);
	assert_int_equal(a->report.model.arms, b->report.model.arms);
	assert_true(a->report.model.loss_range[0] == b->report.model.loss_range[0]);
	assert_memory_equal(&a->report.fitted, &b->report.fitted, sizeof a->report.fitted);
	assert_memory_equal(&a->report.judged, &b->report.judged, sizeof a->report.judged);
	assert_true(a->report.learned == b->report.learned && a->report.leaves == b->report.leaves);
	assert_true(a->report.depth == b->report.depth && a->report.parameters == b->report.parameters);
	assert_true(a->report.alpha == b->report.alpha && a->report.tried == b->report.tried);
	assert_memory_equal(&a->report.tried_value, &b->report.tried_value, sizeof a->report.tried_value);
	assert_memory_equal(&a->report.summary, &b->report.summary, sizeof a->report.summary);
	assert_true(a->settings.window == b->settings.window && a->settings.least_p == b->settings.least_p);
	assert_true(a->settings.promotion.risk == b->settings.promotion.risk && a->settings.seed == b->settings.seed);
	assert_null(b->settings.model);
}

static void test_written_refit_is_read(void **state)
{
	(void)state;
	world w = small_world();
	for (int sparse = 0; sparse < 2; sparse++) {
		char path[256], name[COP_CHECKPOINT_NAME_ROOM];
		cop_refit_file read;
		cop_diag diag = { .message = "" };
		w.sparse = sparse != 0;
		empty_folder();
		cop_refit_file file = make(&w);
		assert_int_equal(cop_refit_file_write(folder, "m.refit", 42, &file, &diag), COP_OK);
		cop_checkpoint_name("m.refit", 42, name);
		(void)snprintf(path, sizeof path, "%s/%.180s", folder, name);
		assert_int_equal(cop_refit_file_read(path, &read, &diag), COP_OK);
		check_same(&file, &read);
		cop_refit_file_fini(&read);
		assert_null(read.trees);
		cop_trees_free(file.trees);
	}
	cop_refit_file read;
	assert_int_equal(cop_refit_file_read("/nowhere/m.refit", &read, NULL), COP_ENOTFOUND);
}

static void body_of(const cop_refit_file *file, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	cop_refit_file_put(file, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void test_window_stands_for_itself(void **state)
{
	(void)state;
	const world w = small_world();
	char path[256], name[COP_CHECKPOINT_NAME_ROOM];
	uint64_t window[2];
	empty_folder();
	cop_refit_file file = make(&w);
	assert_int_equal(cop_refit_file_write(folder, "m.refit", 7, &file, NULL), COP_OK);
	cop_checkpoint_name("m.refit", 7, name);
	(void)snprintf(path, sizeof path, "%s/%.180s", folder, name);
	assert_int_equal(cop_trees_checkpoint_window(path, window, NULL), COP_OK);
	const cop_refit_report *r = &file.report;
	assert_true(r->fitted.events > 0 && r->judged.events > 0);
	assert_int_equal(window[0], r->fitted.first);
	assert_int_equal(window[1], r->learned > r->judged.last ? r->learned : r->judged.last);
	assert_int_equal(cop_trees_checkpoint_window("/nowhere/m.refit", window, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_checkpoint_write(folder, "m.refit", 7, "x", 1, NULL), COP_OK);
	assert_int_equal(cop_trees_checkpoint_window(path, window, NULL), COP_EFORMAT);
	cop_trees_free(file.trees);
}

static void test_cut_and_bent_bytes_are_refused(void **state)
{
	(void)state;
	const world w = small_world();
	cop_refit_file file = make(&w), read;
	cop_bytes bytes;
	body_of(&file, &bytes);
	for (size_t length = 0; length < bytes.length; length++) {
		cop_diag diag = { .message = "" };
		assert_int_equal(cop_refit_file_open(bytes.data, length, "s", &read, &diag), COP_EFORMAT);
		assert_true(diag.message[0] != '\0' && read.trees == NULL);
	}
	for (size_t bit = 0; bit < 8 * bytes.length; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cop_err err = cop_refit_file_open(bytes.data, bytes.length, NULL, &read, NULL);
		assert_true(err == COP_EFORMAT || err == COP_EVERSION);
		bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	cop_bytes_fini(&bytes);
	cop_trees_free(file.trees);
}

static cop_err reopened(const cop_refit_file *file)
{
	cop_bytes bytes;
	cop_refit_file read;
	body_of(file, &bytes);
	cop_err err = cop_refit_file_open(bytes.data, bytes.length, NULL, &read, NULL);
	cop_refit_file_fini(&read);
	cop_bytes_fini(&bytes);
	return err;
}

/* Whole bytes with contents that cannot be. */
static void test_parts_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	const world w = small_world();
	cop_refit_file file = make(&w);
	assert_int_equal(reopened(&file), COP_OK);
#define REFUSED(change)                                                                                                \
	do {                                                                                                           \
		cop_refit_file bad = file;                                                                             \
		bad.change;                                                                                            \
		assert_int_equal(reopened(&bad), COP_EFORMAT);                                                         \
	} while (0)
	REFUSED(report.model.features = WORLD_FEATURES + 1);
	REFUSED(report.model.features = 0);
	REFUSED(report.model.arms = WORLD_ARMS - 1);
	REFUSED(report.model.arms = 0);
	REFUSED(report.model.values = true);
	REFUSED(report.model.max_candidates = 2);
	REFUSED(report.model.name[0] = '\0');
	REFUSED(report.model.name[0] = '\n');
	REFUSED(report.model.loss_range[1] = -1.0);
	REFUSED(report.fitted.answered = 1000);
	REFUSED(report.fitted.last = file.report.judged.first);
	REFUSED(report.judged.events = 0);
	REFUSED(report.tried = COP_REFIT_PATH + 1);
	REFUSED(report.alpha = -1.0);
	REFUSED(settings.height = 21);
	REFUSED(settings.method = COP_REFIT_METHODS);
	REFUSED(settings.clip = 0.0);
	cop_refit_file odd = file;
	odd.report.gain = (double)NAN;
	assert_int_equal(reopened(&odd), COP_ENONFINITE);
	cop_trees_free(file.trees);
}

static void test_newer_version_is_refused_by_name(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_refit_file read;
	cop_diag diag = { .message = "" };
	cop_bytes_init(&bytes);
	size_t whole = cop_section_file_begin(&bytes);
	size_t mark = cop_section_file_begin_section(&bytes, COP_REFIT_FILE_SECTION, COP_REFIT_FILE_VERSION + 1);
	cop_section_file_end_section(&bytes, mark);
	cop_section_file_end(&bytes, whole);
	assert_int_equal(cop_refit_file_open(bytes.data, bytes.length, "s", &read, &diag), COP_EVERSION);
	assert_non_null(strstr(diag.message, "newer version"));
	cop_bytes_clear(&bytes);
	whole = cop_section_file_begin(&bytes);
	cop_section_file_end(&bytes, whole);
	assert_int_equal(cop_refit_file_open(bytes.data, bytes.length, "s", &read, &diag), COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

static void test_short_memory_is_an_error_each_time(void **state)
{
	(void)state;
	const world w = small_world();
	cop_refit_file file = make(&w), read;
	char path[256], name[COP_CHECKPOINT_NAME_ROOM];
	cop_err err;
	unsigned long n = 0;
	cop_checkpoint_name("m", 1, name);
	(void)snprintf(path, sizeof path, "%s/%.180s", folder, name);
	do {
		cop_test_alloc_fail(++n, 0);
		err = cop_refit_file_write(folder, "m", 1, &file, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
	} while (err != COP_OK);
	assert_true(n > 1);
	n = 0;
	do {
		cop_test_alloc_fail(++n, 0);
		err = cop_refit_file_read(path, &read, NULL);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && read.trees == NULL));
	} while (err != COP_OK);
	assert_true(n > 5);
	cop_refit_file_fini(&read);
	cop_trees_free(file.trees);
}

/* All sections of `bytes`, the report's with its last number, a truth value, replaced. */
static void bend_last(const cop_bytes *bytes, uint32_t value, cop_bytes *out)
{
	cop_section_file parts;
	cop_model_section section;
	size_t at = 0;
	assert_int_equal(cop_section_file_open(&parts, bytes->data, bytes->length, NULL, NULL), COP_OK);
	cop_bytes_clear(out);
	size_t whole = cop_section_file_begin(out);
	while (cop_section_file_next(&parts, &at, &section)) {
		size_t mark = cop_section_file_begin_section(out, section.name, section.version);
		cop_bytes_put(out, section.data, section.length);
		if (strcmp(section.name, COP_REFIT_FILE_SECTION) == 0)
			memcpy(out->data + out->length - sizeof value, &value, sizeof value);
		cop_section_file_end_section(out, mark);
	}
	cop_section_file_end(out, whole);
	assert_int_equal(out->err, COP_OK);
}

static void test_truth_that_is_neither_is_refused(void **state)
{
	(void)state;
	const world w = small_world();
	cop_refit_file file = make(&w), read;
	cop_bytes bytes, bent;
	body_of(&file, &bytes);
	cop_bytes_init(&bent);
	for (uint32_t value = 0; value < 3; value++) {
		bend_last(&bytes, value, &bent);
		cop_err err = cop_refit_file_open(bent.data, bent.length, "s", &read, NULL);
		assert_int_equal(err, value < 2 ? COP_OK : COP_EFORMAT);
		assert_true(err != COP_OK || read.report.stopped == (value == 1));
		cop_refit_file_fini(&read);
	}
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&bent);
	cop_trees_free(file.trees);
}

/* Every field has a value of its own, so that one that is left out, or put twice, shows. */
static void test_every_setting_and_count_of_a_refit_is_kept(void **state)
{
	(void)state;
	const world w = small_world();
	cop_refit_file file = make(&w), read;
	cop_bytes bytes;
	cop_refit_settings *s = &file.settings;
	cop_refit_report *r = &file.report;
	size_t *const wholes[] = { &s->window, &s->memory, &s->trees };
	uint64_t *const counts[] = { &s->after, &s->until, &s->least, &s->seed, &r->learned, &r->passed, &r->memory };
	unsigned *const small[] = { &s->height, &s->iterations, &s->neighbours, &s->rounds };
	double *const shares[] = { &s->holdout, &s->alpha, &s->validation, &s->prior, &s->gamma, &s->step, &s->trust,
		&s->mix, &s->least_p, &r->alpha, &r->gain, &r->gain_error, &r->moved, &r->tried_alpha[0],
		&r->tried_alpha[1], &r->tried_alpha[2], &r->tried_value[0], &r->tried_value[1], &r->tried_value[2] };
#define COUNT(array) (sizeof(array) / sizeof *(array))
	for (size_t i = 0; i < COUNT(wholes); i++)
		*wholes[i] = 101 + i;
	for (size_t i = 0; i < COUNT(counts); i++)
		*counts[i] = 201 + i;
	for (size_t i = 0; i < COUNT(small); i++)
		*small[i] = 11 + (unsigned)i;
	for (size_t i = 0; i < COUNT(shares); i++)
		*shares[i] = 0.01 * (double)(i + 1);
	s->clip = 37.0;
	s->perplexity = 9.0;
	s->method = COP_REFIT_LAPTAO;
	s->costs = COP_REFIT_IPS;
	r->tried = 2;
	body_of(&file, &bytes);
	assert_int_equal(cop_refit_file_open(bytes.data, bytes.length, NULL, &read, NULL), COP_OK);
	const cop_refit_settings *t = &read.settings;
	const cop_refit_report *u = &read.report;
	const size_t got_wholes[] = { t->window, t->memory, t->trees };
	const uint64_t got_counts[] = { t->after, t->until, t->least, t->seed, u->learned, u->passed, u->memory };
	const unsigned got_small[] = { t->height, t->iterations, t->neighbours, t->rounds };
	const double got_shares[] = { t->holdout, t->alpha, t->validation, t->prior, t->gamma, t->step, t->trust,
		t->mix, t->least_p, u->alpha, u->gain, u->gain_error, u->moved, u->tried_alpha[0], u->tried_alpha[1],
		u->tried_alpha[2], u->tried_value[0], u->tried_value[1], u->tried_value[2] };
	for (size_t i = 0; i < COUNT(wholes); i++)
		assert_int_equal(got_wholes[i], *wholes[i]);
	for (size_t i = 0; i < COUNT(counts); i++)
		assert_int_equal(got_counts[i], *counts[i]);
	for (size_t i = 0; i < COUNT(small); i++)
		assert_int_equal(got_small[i], *small[i]);
	for (size_t i = 0; i < COUNT(shares); i++)
		assert_true(got_shares[i] == *shares[i]);
	assert_true(t->clip == 37.0 && t->perplexity == 9.0 && u->tried == 2);
	assert_true(t->method == COP_REFIT_LAPTAO && t->costs == COP_REFIT_IPS);
	cop_refit_file_fini(&read);
	cop_bytes_fini(&bytes);
	cop_trees_free(file.trees);
}

/* Where one does not, the format has changed: `cmake --build <build> --target fuzz_seeds` writes them anew. */
static void test_seeds_of_the_fuzzer_are_read(void **state)
{
	(void)state;
	static const char *const seeds[] = { "arms", "arms_sparse", "values", "candidates" };
	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
		char path[4096];
		cop_bytes bytes, again;
		cop_refit_file file;
		cop_diag diag = { .message = "" };
		(void)snprintf(path, sizeof path, "%s/../fuzz/corpus/refit/%s", COP_TEST_DATA, seeds[i]);
		cop_bytes_init(&bytes);
		assert_int_equal(cop_section_file_load(path, &bytes, &diag), COP_OK);
		if (cop_refit_file_open(bytes.data, bytes.length, path, &file, &diag) != COP_OK)
			fail_msg("%s: %s", path, diag.message);
		body_of(&file, &again);
		assert_int_equal(again.length, bytes.length);
		assert_memory_equal(again.data, bytes.data, bytes.length);
		cop_refit_file_fini(&file);
		cop_bytes_fini(&again);
		cop_bytes_fini(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_written_refit_is_read),
		TEST(test_window_stands_for_itself),
		TEST(test_cut_and_bent_bytes_are_refused),
		TEST(test_parts_that_do_not_fit_are_refused),
		TEST(test_newer_version_is_refused_by_name),
		TEST(test_short_memory_is_an_error_each_time),
		TEST(test_seeds_of_the_fuzzer_are_read),
		TEST(test_truth_that_is_neither_is_refused),
		TEST(test_every_setting_and_count_of_a_refit_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
