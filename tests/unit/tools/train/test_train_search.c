#include "tools/train/train_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static void test_rating_of_one_loss_has_no_standard_error(void **state)
{
	(void)state;
	cop_train_rating r = { 0 };
	cop_train_search_rate(1, (const double[]){ 0.25 }, &r);
	assert_true(r.mean == 0.25 && isnan(r.error));
}

static void test_rating_of_several_losses_is_mean_and_standard_error(void **state)
{
	(void)state;
	cop_train_rating r = { 0 };
	cop_train_search_rate(4, (const double[]){ 1, 3, 5, 7 }, &r); /* variance 20 / 3 */
	assert_true(fabs(r.mean - 4.0) < 1e-12 && fabs(r.error - sqrt(5.0 / 3.0)) < 1e-12);
}

static void test_rating_better_is_less_loss_and_among_equals_fewer_parameters(void **state)
{
	(void)state;
	const cop_train_rating now = { .mean = 0.3, .error = 0.1, .parameters = 50 };
	cop_train_rating other = { .mean = 0.29, .error = 0.1, .parameters = 500 };
	assert_true(cop_train_search_better(&other, &now));
	assert_false(cop_train_search_better(&now, &other));
	other.mean = 0.1 + 0.2; /* not 0.3, but by rounding */
	assert_false(cop_train_search_better(&other, &now));
	other.parameters = 49;
	assert_true(cop_train_search_better(&other, &now));
	other.parameters = 50;
	assert_false(cop_train_search_better(&other, &now)); /* the earlier one stays */
	const cop_train_rating none = { .mean = 0.0, .parameters = 3 };
	other.mean = 0.0;
	assert_true(cop_train_search_better(&none, &other) && !cop_train_search_better(&other, &none));
}

/* ---- what is searched ---- */

/* 12 rows of two classes, in a file of this ending. */
static void write_rows(const char *path, bool sparse)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < 12; i++)
		(void)fprintf(file, sparse ? "%d 1:%d 3:%d\n" : "%d,%d,%d\n", sparse ? i % 2 : i * 7 % 11,
		        sparse ? 1 + i * 7 % 11 : i * 5 % 13, sparse ? 1 + i * 5 % 13 : i % 2);
	assert_int_equal(fclose(file), 0);
}

typedef struct searched {
	const char *learner;
	bool sparse;
	cop_hyperparameter given; /* at 1, as epochs and height but of cart; COP_HYPERPARAMETERS: none */
	size_t alphas;
	const char *some, *never; /* knobs that some trials have, and none has */
} searched;

/* What a job over a file's rows has on loan, and the lines of a search's trials. */
typedef struct loan {
	cop_labelled rows;
	cop_encoder *preparation;
} loan;

static void take_rows(const char *path, const cop_table_settings *table, loan *of, cop_train_job *job, cop_diag *diag)
{
	of->preparation = NULL;
	assert_int_equal(cop_pool_new(1, &job->pool), COP_OK);
	assert_int_equal(cop_labelled_rows_train(path, table, &of->rows, &of->preparation, diag), COP_OK);
	job->rows = &of->rows;
	job->preparation = of->preparation;
	job->n = of->rows.data->n;
}

static void give_rows_back(loan *of, cop_train_job *job)
{
	cop_labelled_rows_fini(&of->rows);
	cop_encoder_free(of->preparation);
	cop_pool_free(job->pool);
}

static void take_lines(FILE *progress, char *lines, size_t room)
{
	rewind(progress);
	lines[fread(lines, 1, room - 1, progress)] = '\0';
	(void)fclose(progress);
}

/* The trials' lines. */
static void run_search(const searched *s, char *out, size_t room)
{
	char path[] = "/tmp/test_search_XXXXXX.libsvm";
	cop_train_found found;
	loan of;
	cop_diag diag = { .message = "" };
	cop_train_job job = { .learner = cop_train_learner_find(s->learner), .validation = -1.0, .alphas = s->alphas };
	const cop_train_search search = { .validation = 0.25, .trials = 40, .repeats = 1, .progress = tmpfile() };
	const cop_table_settings table = { .scaling = cop_train_learner_scaling(job.learner) };
	if (!s->sparse)
		strcpy(strrchr(path, '.'), ".csv");
	int fd = mkstemps(path, s->sparse ? 7 : 4);
	assert_true(fd >= 0 && search.progress != NULL);
	(void)close(fd);
	write_rows(path, s->sparse);
	take_rows(path, &table, &of, &job, &diag);
	job.seed = 1;
	job.alpha[0] = 0.1;
	job.alpha[1] = 1.0;
	const cop_hyperparameter given[] = { COP_HYPERPARAMETER_EPOCHS, COP_HYPERPARAMETER_HEIGHT, s->given };
	for (size_t i = strcmp(s->learner, "cart") == 0 ? 2 : 0; i < 3 && given[i] < COP_HYPERPARAMETERS; i++) {
		job.knobs.given[given[i]] = true;
		job.knobs.value[given[i]] = 1.0;
	}
	if (cop_train_search_run(&search, &job, &found, &diag) != COP_OK)
		fail_msg("%s: %s", s->learner, diag.message);
	take_lines(search.progress, out, room);
	give_rows_back(&of, &job);
	assert_int_equal(remove(path), 0);
}

static bool any(const char *lines, const char *knob)
{
	char word[32];
	(void)snprintf(word, sizeof word, "--%s ", knob);
	return strstr(lines, word) != NULL;
}

/* What was given is not searched, nor what goes not with it or with the rows. */
static void test_search_tries_each_knob_that_means_something(void **state)
{
	(void)state;
	static const searched cases[] = {
		{ "cart", false, COP_HYPERPARAMETERS, 0, "height", "alpha" },
		{ "cart", true, COP_HYPERPARAMETERS, 0, "min-leaf", "graph" },
		{ "tao", false, COP_HYPERPARAMETERS, 0, "alpha", "leaf-alpha" },
		{ "tao", false, COP_HYPERPARAMETERS, 1, "alpha", "leaf-alpha" },
		{ "tao", false, COP_HYPERPARAMETERS, 2, "order", "alpha" },
		{ "tao", false, COP_HYPERPARAMETER_LEAVES, 0, "leaf-alpha", "min-leaf" },
		{ "laptao", false, COP_HYPERPARAMETERS, 0, "graph", "start" },
		{ "laptao", true, COP_HYPERPARAMETERS, 0, "gamma", "graph" },
		{ "dgt", false, COP_HYPERPARAMETERS, 0, "l1", "epochs 50" },
		{ "dgt", false, COP_HYPERPARAMETERS, 0, "width", "epochs 50" },
		{ "dgt", false, COP_HYPERPARAMETER_L2, 0, "momentum", "l1" },
		{ "dgt", false, COP_HYPERPARAMETER_LAYERS, 0, "momentum", "width" },
		{ "latent", false, COP_HYPERPARAMETERS, 0, "lambda", "momentum" },
		{ "latent", false, COP_HYPERPARAMETER_LAYERS, 0, "dropout", "width" },
		{ "polytope", true, COP_HYPERPARAMETERS, 0, "facets", "alpha" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char lines[1 << 14];
		run_search(&cases[i], lines, sizeof lines);
		if (strstr(lines, "trial 20: ") == NULL || !any(lines, cases[i].some) || any(lines, cases[i].never))
			fail_msg("%zu, %s: expected %s and not %s in\n%s", i, cases[i].learner, cases[i].some,
			        cases[i].never, lines);
	}
}

/* A knob's list: what else is given, so that the trials differ by this knob alone. */
typedef struct list {
	const char *learner;
	bool values; /* the target is a number */
	cop_hyperparameter knob;
	const char *tried[9];
} list;

static const list lists[] = {
	{ "cart", false, COP_HYPERPARAMETER_HEIGHT, { "4", "6", "8", "10", "14", "20" } },
	{ "cart", true, COP_HYPERPARAMETER_MIN_LEAF, { "1", "3", "10", "30" } },
	{ "tao", false, COP_HYPERPARAMETER_ALPHA, { "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "30" } },
	{ "tao", true, COP_HYPERPARAMETER_ALPHA, { "0.01", "0.03", "0.1", "0.2", "0.5", "1", "2", "5" } },
	{ "tao", false, COP_HYPERPARAMETER_HEIGHT, { "3", "4", "5", "6", "7", "8", "9", "11" } },
	{ "tao", false, COP_HYPERPARAMETER_LEAF_ALPHA, { "0.03", "0.1", "0.3", "1", "3", "10", "30" } },
	{ "tao", true, COP_HYPERPARAMETER_LEAF_ALPHA, { "0.03", "0.1", "0.3", "1", "2", "3", "5", "10" } },
	{ "tao", false, COP_HYPERPARAMETER_START, { "random", "cart" } },
	{ "tao", true, COP_HYPERPARAMETER_ORDER, { "root-first", "leaves-first" } },
	{ "tao", false, COP_HYPERPARAMETER_ITERATIONS, { "20", "30", "40" } },
	{ "laptao", false, COP_HYPERPARAMETER_GAMMA, { "0.003", "0.01", "0.03", "0.1", "0.3", "1" } },
	{ "laptao", false, COP_HYPERPARAMETER_GRAPH, { "features", "logs" } },
	{ "laptao", true, COP_HYPERPARAMETER_ALPHA, { "0.003", "0.01", "0.03", "0.1", "0.3", "1" } },
	{ "laptao", false, COP_HYPERPARAMETER_HEIGHT, { "3", "4", "5", "6", "7", "8" } },
	{ "laptao", false, COP_HYPERPARAMETER_NEIGHBOURS, { "5", "10", "15", "25" } },
	{ "laptao", false, COP_HYPERPARAMETER_LEAF_ALPHA, { "0.01", "0.03", "0.1", "0.3", "1", "3" } },
	{ "dgt", false, COP_HYPERPARAMETER_HEIGHT, { "2", "4", "6", "8", "10" } },
	{ "dgt", false, COP_HYPERPARAMETER_LAYERS, { "1", "3" } },
	{ "dgt", false, COP_HYPERPARAMETER_WIDTH, { "0", "64", "256" } },
	{ "dgt", true, COP_HYPERPARAMETER_MOMENTUM, { "0", "0.3", "0.8" } },
	{ "dgt", false, COP_HYPERPARAMETER_LR, { "0.001", "0.002", "0.005", "0.01", "0.02" } },
	{ "dgt", false, COP_HYPERPARAMETER_RESTARTS, { "1", "3" } },
	{ "dgt", false, COP_HYPERPARAMETER_EPOCHS, { "50", "100", "200", "400" } },
	{ "dgt", false, COP_HYPERPARAMETER_L1, { "0", "1e-06", "5e-06", "1e-05", "5e-05" } },
	{ "dgt", false, COP_HYPERPARAMETER_SCALED_QUANTISER, { "off", "on" } },
	{ "dgt", true, COP_HYPERPARAMETER_SHARED_BIAS, { "off", "on" } },
	{ "latent", false, COP_HYPERPARAMETER_LAYERS, { "1", "2", "3", "4" } },
	{ "latent", true, COP_HYPERPARAMETER_HEIGHT, { "2", "3", "4", "5", "6" } },
	{ "latent", false, COP_HYPERPARAMETER_LR, { "0.001", "0.003", "0.01", "0.02" } },
	{ "latent", true, COP_HYPERPARAMETER_BATCH, { "32", "64", "128", "512" } },
	{ "latent", false, COP_HYPERPARAMETER_LAMBDA, { "0.001", "0.01", "0.1", "1", "10", "100", "1000" } },
	{ "latent", false, COP_HYPERPARAMETER_WIDTH, { "32", "64", "128" } },
	{ "latent", true, COP_HYPERPARAMETER_DROPOUT, { "0", "0.1", "0.25", "0.5" } },
};

/* Everything that is searched for the learner but this knob, at cheap values. */
static void give_others(const char *learner, cop_hyperparameter but, cop_hyperparameters_values *knobs)
{
	static const struct {
		const char *learner, *value;
		cop_hyperparameter knob;
	} others[] = {
		{ "cart", "3", COP_HYPERPARAMETER_HEIGHT },
		{ "cart", "1", COP_HYPERPARAMETER_MIN_LEAF },
		{ "tao", "0.1", COP_HYPERPARAMETER_ALPHA },
		{ "tao", "2", COP_HYPERPARAMETER_HEIGHT },
		{ "tao", "random", COP_HYPERPARAMETER_START },
		{ "tao", "root-first", COP_HYPERPARAMETER_ORDER },
		{ "tao", "2", COP_HYPERPARAMETER_ITERATIONS },
		{ "laptao", "0.1", COP_HYPERPARAMETER_GAMMA },
		{ "laptao", "features", COP_HYPERPARAMETER_GRAPH },
		{ "laptao", "0.1", COP_HYPERPARAMETER_ALPHA },
		{ "laptao", "2", COP_HYPERPARAMETER_HEIGHT },
		{ "laptao", "3", COP_HYPERPARAMETER_NEIGHBOURS },
		{ "dgt", "2", COP_HYPERPARAMETER_HEIGHT },
		{ "dgt", "2", COP_HYPERPARAMETER_LAYERS },
		{ "dgt", "8", COP_HYPERPARAMETER_WIDTH },
		{ "dgt", "0", COP_HYPERPARAMETER_MOMENTUM },
		{ "dgt", "0.01", COP_HYPERPARAMETER_LR },
		{ "dgt", "1", COP_HYPERPARAMETER_RESTARTS },
		{ "dgt", "1", COP_HYPERPARAMETER_EPOCHS },
		{ "dgt", "0", COP_HYPERPARAMETER_L1 },
		{ "dgt", "on", COP_HYPERPARAMETER_SCALED_QUANTISER },
		{ "dgt", "on", COP_HYPERPARAMETER_SHARED_BIAS },
		{ "latent", "2", COP_HYPERPARAMETER_LAYERS },
		{ "latent", "2", COP_HYPERPARAMETER_HEIGHT },
		{ "latent", "0.01", COP_HYPERPARAMETER_LR },
		{ "latent", "8", COP_HYPERPARAMETER_BATCH },
		{ "latent", "1", COP_HYPERPARAMETER_LAMBDA },
		{ "latent", "4", COP_HYPERPARAMETER_WIDTH },
		{ "latent", "0", COP_HYPERPARAMETER_DROPOUT },
		{ "latent", "on", COP_HYPERPARAMETER_ELU },
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i].learner, learner) == 0 && others[i].knob != but)
			assert_true(cop_hyperparameters_read(others[i].knob, others[i].value, knobs));
	if (but == COP_HYPERPARAMETER_LEAF_ALPHA)
		assert_true(cop_hyperparameters_read(COP_HYPERPARAMETER_LEAVES, "linear", knobs));
}

/* Each word or number behind the knob in the trials' lines is in the list, and each of the list is there. */
static void expect_tried(const list *l, const char *lines)
{
	char word[40];
	bool seen[9] = { false };
	(void)snprintf(word, sizeof word, "--%s ", cop_hyperparameters_name(l->knob));
	for (const char *at = lines; (at = strstr(at, word)) != NULL;) {
		size_t i = 0, length;
		at += strlen(word);
		length = strcspn(at, " \n");
		while (l->tried[i] != NULL && (strlen(l->tried[i]) != length || memcmp(l->tried[i], at, length) != 0))
			i++;
		if (l->tried[i] == NULL)
			fail_msg("%s %s%.*s", l->learner, word, (int)length, at);
		seen[i] = true;
	}
	for (size_t i = 0; l->tried[i] != NULL; i++)
		if (!seen[i])
			fail_msg("%s %s%s is not tried:\n%s", l->learner, word, l->tried[i], lines);
}

static void test_search_tries_every_value_of_a_knobs_list(void **state)
{
	(void)state;
	char path[] = "/tmp/test_search_XXXXXX.csv", lines[1 << 14];
	int fd = mkstemps(path, 4);
	assert_true(fd >= 0);
	(void)close(fd);
	write_rows(path, false);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const list *l = &lists[i];
		cop_train_found found;
		loan of;
		cop_diag diag = { .message = "" };
		cop_train_job job = { .learner = cop_train_learner_find(l->learner), .validation = -1.0, .seed = 1 };
		const cop_train_search search = {
			.validation = 0.25, .trials = 24, .repeats = 1, .progress = tmpfile()
		};
		const cop_table_settings table = { .regression = l->values,
			.scaling = cop_train_learner_scaling(job.learner) };
		take_rows(path, &table, &of, &job, &diag);
		give_others(l->learner, l->knob, &job.knobs);
		if (cop_train_search_run(&search, &job, &found, &diag) != COP_OK)
			fail_msg("%s: %s", l->learner, diag.message);
		take_lines(search.progress, lines, sizeof lines);
		expect_tried(l, lines);
		give_rows_back(&of, &job);
	}
	assert_int_equal(remove(path), 0);
}

enum { NUMBERS = 8 };
static const double number[NUMBERS] = { 1, 2, 4, 8, 16, 32, 64, 128 };

static char found_words[512]; /* of the last search */
static unsigned long fail_at; /* this allocation of it fails; 0: none */

/* By cart on those numbers, with this knobs' text for each of up to three knobs; the trials' lines too. */
static cop_err rate_numbers(const cop_train_search *how, uint64_t seed, const char *learner, const char *knobs,
        cop_train_found *found, char *lines, size_t room, cop_diag *diag)
{
	char path[] = "/tmp/test_search_XXXXXX.csv", name[32], value[32];
	cop_train_search search = *how;
	loan of;
	cop_train_job job = { .learner = cop_train_learner_find(learner), .validation = -1.0, .seed = seed };
	const cop_table_settings table = { .regression = true, .scaling = cop_train_learner_scaling(job.learner) };
	int fd = mkstemps(path, 4), used;
	FILE *file = fdopen(fd, "w");
	assert_non_null(file);
	for (int i = 0; i < NUMBERS; i++)
		(void)fprintf(file, "%d,%g\n", i, number[i]);
	assert_int_equal(fclose(file), 0);
	take_rows(path, &table, &of, &job, diag);
	for (; sscanf(knobs, " --%31s %31s%n", name, value, &used) == 2; knobs += used)
		for (cop_hyperparameter which = 0; which < COP_HYPERPARAMETERS; which++)
			if (strcmp(cop_hyperparameters_name(which), name) == 0)
				assert_true(cop_hyperparameters_read(which, value, &job.knobs));
	search.progress = tmpfile();
	assert_non_null(search.progress);
	cop_test_alloc_fail(fail_at, 0);
	cop_err err = cop_train_search_run(&search, &job, found, diag);
	cop_test_alloc_fail(0, 0);
	cop_hyperparameters_words(&job.knobs, found_words, sizeof found_words);
	take_lines(search.progress, lines, room);
	give_rows_back(&of, &job);
	assert_int_equal(remove(path), 0);
	return err;
}

/* A single leaf predicts the mean of the rows that it was fitted to. */
#define LEAF "--height 3 --min-leaf 1000 --complexity 0"

static void test_search_leaves_each_fold_out_once(void **state)
{
	(void)state;
	const cop_train_search search = { .folds = NUMBERS, .trials = 1, .repeats = 1 };
	double sum = 0.0, apart[NUMBERS];
	cop_train_found found;
	cop_train_rating expected;
	cop_diag diag = { .message = "" };
	char lines[1024], line[256];
	for (size_t i = 0; i < NUMBERS; i++)
		sum += number[i];
	for (size_t i = 0; i < NUMBERS; i++)
		apart[i] = fabs(number[i] - (sum - number[i]) / (NUMBERS - 1));
	cop_train_search_rate(NUMBERS, apart, &expected);
	assert_int_equal(rate_numbers(&search, 1, "cart", LEAF, &found, lines, sizeof lines, &diag), COP_OK);
	assert_int_equal(found.trials, 1);
	assert_true(fabs(found.rating.mean - expected.mean) < 1e-4 * expected.mean);
	assert_true(fabs(found.rating.error - expected.error) < 1e-4 * expected.error);
	assert_true(found.rating.parameters == 1.0);
	(void)snprintf(line, sizeof line, "\r\033[Ktrial 1: %.5g +- %.2g  " LEAF "\n", expected.mean, expected.error);
	assert_non_null(strstr(lines, "trial 1: "));
	assert_non_null(strstr(lines, " +- "));
	assert_string_equal(lines, line);
}

/* Each repeat divides by the next seed. */
static void test_search_repeats_by_other_divisions(void **state)
{
	(void)state;
	cop_train_search search = { .validation = 0.25, .trials = 1, .repeats = 1 };
	cop_train_found one[3], both;
	cop_diag diag = { .message = "" };
	char lines[1024];
	bool differ = false;
	for (uint64_t seed = 5; seed < 25; seed++) {
		search.repeats = 1;
		for (uint64_t i = 0; i < 3; i++) {
			assert_int_equal(
			        rate_numbers(&search, seed + i, "cart", LEAF, &one[i], lines, sizeof lines, &diag),
			        COP_OK);
			assert_true(isnan(one[i].rating.error));
			assert_null(strstr(lines, "+-"));
		}
		search.repeats = 3;
		assert_int_equal(rate_numbers(&search, seed, "cart", LEAF, &both, lines, sizeof lines, &diag), COP_OK);
		double mean = (one[0].rating.mean + one[1].rating.mean + one[2].rating.mean) / 3.0;
		assert_true(fabs(both.rating.mean - mean) < 1e-9 * mean);
		differ |= one[0].rating.mean != one[1].rating.mean;
	}
	assert_true(differ);
}

/* While searching, a forest of more than five trees is one of five. */
static void test_search_fits_forests_of_at_most_five_trees(void **state)
{
	(void)state;
	static const char *const forests[] = { "4", "5", "6", "50" };
	const cop_train_search search = { .validation = 0.25, .trials = 1, .repeats = 1 };
	double parameters[4];
	cop_diag diag = { .message = "" };
	char lines[1024], knobs[128];
	for (size_t i = 0; i < 4; i++) {
		cop_train_found found;
		(void)snprintf(knobs, sizeof knobs, LEAF " --trees %s", forests[i]);
		assert_int_equal(rate_numbers(&search, 1, "cart", knobs, &found, lines, sizeof lines, &diag), COP_OK);
		parameters[i] = found.rating.parameters;
	}
	assert_true(parameters[0] < parameters[1]);
	assert_true(parameters[1] == parameters[2] && parameters[1] == parameters[3]);
}

/* Half of the trials by lot, then rounds over the lists until one changes nothing; the best is found. */
static void test_search_finds_the_best_trial_and_ends_when_nothing_changes(void **state)
{
	(void)state;
	enum { TRIALS = 60 };
	static const char *const given[] = { "--min-leaf 1 --complexity 0", "--complexity 0" };
	for (size_t i = 0; i < 2; i++) {
		const cop_train_search search = { .folds = 2, .trials = TRIALS, .repeats = 1 };
		cop_train_found found;
		cop_diag diag = { .message = "" };
		char lines[1 << 14], words[TRIALS][128];
		double mean[TRIALS], least = HUGE_VAL;
		size_t count = 0, listed = 0, trial;
		assert_int_equal(
		        rate_numbers(&search, 3, "cart", given[i], &found, lines, sizeof lines, &diag), COP_OK);
		for (const char *line = lines; *line != '\0'; line = strchr(line, '\n') + 1) {
			assert_true(count < TRIALS);
			assert_int_equal(sscanf(line, "\r\033[Ktrial %zu: %lf", &trial, &mean[count]), 2);
			(void)snprintf(words[count], sizeof words[count], "%.*s",
			        (int)strcspn(strstr(line, "  --") + 2, "\n"), strstr(line, "  --") + 2);
			least = fmin(least, mean[count]);
			count++;
			assert_int_equal(trial, count);
			listed += count > TRIALS / 2 && strstr(words[count - 1], "--height ") != NULL;
		}
		assert_string_equal(words[0], given[i]);
		assert_int_equal(found.trials, count);
		assert_true(count >= TRIALS / 2 + 3 && count < TRIALS);
		assert_true(listed >= 5);
		assert_true(fabs(found.rating.mean - least) <= 1e-4 * least);
		for (trial = 0; trial < count && strcmp(words[trial], found_words) != 0;)
			trial++;
		assert_true(trial < count && fabs(mean[trial] - least) <= 1e-4 * least);
	}
}

static void test_search_never_exceeds_its_trials(void **state)
{
	(void)state;
	static const char *const learners[][2] = { { "tao", "--iterations 1" }, { "dgt", "--epochs 5 --height 2" } };
	for (size_t i = 0; i < 24; i++) {
		size_t trials = 1 + i / 2;
		const cop_train_search search = { .validation = 0.25, .trials = trials, .repeats = 1 };
		cop_train_found found;
		cop_diag diag = { .message = "" };
		char lines[1 << 14];
		assert_int_equal(rate_numbers(&search, 1, learners[i % 2][0], learners[i % 2][1], &found, lines,
		                         sizeof lines, &diag),
		        COP_OK);
		assert_int_equal(found.trials, trials);
		double least = HUGE_VAL, mean;
		for (const char *line = lines; *line != '\0'; line = strchr(line, '\n') + 1) {
			assert_int_equal(sscanf(line, "\r\033[Ktrial %*u: %lf", &mean), 1);
			least = fmin(least, mean);
		}
		assert_true(fabs(found.rating.mean - least) <= 1e-4 * least); /* whichever trial it was */
	}
}

static void test_search_nth_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	const cop_train_search search = { .folds = 2, .trials = 6, .repeats = 1 };
	cop_err err = COP_ENOMEM;
	for (fail_at = 1; err == COP_ENOMEM; fail_at++) {
		cop_train_found found;
		cop_diag diag = { .message = "" };
		char lines[1 << 14];
		err = rate_numbers(
		        &search, 3, "cart", "--complexity 0 --min-leaf 1", &found, lines, sizeof lines, &diag);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_int_equal(err != COP_OK, diag.message[0] != '\0');
	}
	fail_at = 0;
	assert_int_equal(err, COP_OK);
}

/* The log holds what the terminal shows, without its control characters. */
static void test_search_log_has_a_plain_line_for_each_trial(void **state)
{
	(void)state;
	const cop_train_search search = { .validation = 0.25, .trials = 5, .repeats = 2, .log = tmpfile() };
	cop_train_found found;
	cop_diag diag = { .message = "" };
	char lines[1 << 14], plain[1 << 14], *to = plain, logged[1 << 14];
	assert_non_null(search.log);
	assert_int_equal(
	        rate_numbers(&search, 3, "cart", "--complexity 0", &found, lines, sizeof lines, &diag), COP_OK);
	for (const char *at = lines; *at != '\0';) {
		if (strncmp(at, "\r\033[K", 4) == 0)
			at += 4;
		else
			*to++ = *at++;
	}
	*to = '\0';
	rewind(search.log);
	logged[fread(logged, 1, sizeof logged - 1, search.log)] = '\0';
	(void)fclose(search.log);
	assert_non_null(strstr(logged, "trial 5: "));
	assert_string_equal(logged, plain);
}

static void test_search_that_cannot_fit_says_why(void **state)
{
	(void)state;
	cop_train_search search = { .folds = NUMBERS + 1, .trials = 9, .repeats = 1 };
	cop_train_found found;
	cop_diag diag = { .message = "" };
	char lines[1024];
	assert_int_equal(rate_numbers(&search, 1, "cart", LEAF, &found, lines, sizeof lines, &diag), COP_EINVAL);
	assert_string_equal(diag.message, "8 rows are too few for 9 folds");
	assert_string_equal(lines, "");
	search.folds = 2;
	diag = (cop_diag){ .message = "" };
	assert_int_equal(
	        rate_numbers(&search, 1, "dgt", "--l1 1 --l2 1", &found, lines, sizeof lines, &diag), COP_EINVAL);
	assert_true(diag.message[0] != '\0');
	assert_string_equal(lines, "");
}

/* ---- a race ---- */

#define CHOICES 6

/* Heights 1 to CHOICES on the numbers 0 to 99 times themselves, by a race or, without one, by a search among them; the
 * trials' lines. */
static cop_err run_race(const cop_train_race *race, cop_train_found *found, size_t *best, char *lines, size_t room)
{
	char path[] = "/tmp/test_search_XXXXXX.csv";
	cop_diag diag = { .message = "" };
	loan of;
	cop_train_choice choices[CHOICES] = { { NULL, { .given = { false } } } };
	cop_train_job job = { .validation = -1.0, .seed = 4 };
	const cop_train_search search = { .folds = 5, .trials = CHOICES, .repeats = 1, .progress = tmpfile() };
	const cop_table_settings table = { .regression = true };
	int fd = mkstemps(path, 4);
	FILE *file = fdopen(fd, "w");
	assert_true(file != NULL && search.progress != NULL);
	for (int i = 0; i < 100; i++)
		(void)fprintf(file, "%d,%d\n", i, i * i);
	assert_int_equal(fclose(file), 0);
	take_rows(path, &table, &of, &job, &diag);
	for (size_t i = 0; i < CHOICES; i++) {
		char height[8];
		(void)snprintf(height, sizeof height, "%zu", i + 1);
		choices[i].learner = cop_train_learner_find("cart");
		assert_true(cop_hyperparameters_read(COP_HYPERPARAMETER_HEIGHT, height, &choices[i].knobs));
		assert_true(cop_hyperparameters_read(COP_HYPERPARAMETER_COMPLEXITY, "0", &choices[i].knobs));
	}
	cop_test_alloc_fail(fail_at, 0);
	cop_err err = race != NULL ? cop_train_search_race(&search, race, &job, CHOICES, choices, best, found, &diag)
	                           : cop_train_search_among(&search, &job, CHOICES, choices, best, found, &diag);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(err != COP_OK, diag.message[0] != '\0');
	take_lines(search.progress, lines, room);
	give_rows_back(&of, &job);
	assert_int_equal(remove(path), 0);
	return err;
}

/* The choices and their means in the order of the lines; how many lines have an error of the mean. */
static size_t read_lines(const char *lines, size_t *trial, double *mean, size_t *errors)
{
	size_t count = 0;
	*errors = 0;
	for (const char *line = lines; *line != '\0'; line = strchr(line, '\n') + 1) {
		assert_int_equal(sscanf(line, "\r\033[Ktrial %zu: %lf", &trial[count], &mean[count]), 2);
		*errors += strstr(line, " +- ") != NULL && strstr(line, " +- ") < strchr(line, '\n');
		count++;
	}
	return count;
}

static void test_race_lets_the_best_go_on(void **state)
{
	(void)state;
	static const size_t field[] = { 99, 3, 2 };
	static const double warm_up[] = { 1.0, 0.3 };
	for (size_t w = 0; w < 2; w++) {
		const cop_train_race race = { 3, field, warm_up[w] };
		cop_train_found found;
		char lines[1 << 12];
		size_t trial[32], best = 99, errors;
		double mean[32];
		assert_int_equal(run_race(&race, &found, &best, lines, sizeof lines), COP_OK);
		assert_int_equal(read_lines(lines, trial, mean, &errors), CHOICES + 3 + 2);
		for (size_t i = 0; i < CHOICES; i++)
			assert_int_equal(trial[i], i + 1);
		for (size_t i = 0; i < CHOICES; i++) { /* who goes on is better than who does not */
			bool on = trial[6] == i + 1 || trial[7] == i + 1 || trial[8] == i + 1;
			for (size_t j = 6; j < 9 && !on; j++)
				assert_true(mean[trial[j] - 1] <= mean[i]);
		}
		assert_true(mean[trial[6] - 1] <= mean[trial[7] - 1] && mean[trial[7] - 1] <= mean[trial[8] - 1]);
		assert_int_equal(errors, w == 0 ? 5 : 2); /* the warm-up does not count */
		assert_int_equal(best + 1, mean[9] <= mean[10] ? trial[9] : trial[10]);
		assert_int_equal(found.trials, CHOICES);
		assert_true(fabs(found.rating.mean - fmin(mean[9], mean[10])) < 1e-4 * mean[9]);
	}
}

/* Without dropping any, a race over all folds judges as a search by folds does. */
static void test_race_of_all_is_a_search_among_them(void **state)
{
	(void)state;
	static const size_t field[] = { 99, 99, 99, 99, 99 };
	const cop_train_race race = { 5, field, 1.0 };
	cop_train_found found, among;
	char lines[1 << 12];
	size_t trial[32], best, best_among, errors;
	double mean[32], least = HUGE_VAL;
	assert_int_equal(run_race(&race, &found, &best, lines, sizeof lines), COP_OK);
	assert_int_equal(read_lines(lines, trial, mean, &errors), (size_t)5 * CHOICES);
	for (size_t i = (size_t)4 * CHOICES; i < (size_t)5 * CHOICES; i++)
		least = fmin(least, mean[i]);
	assert_true(fabs(found.rating.mean - least) < 1e-4 * least && found.rating.error > 0.0);
	assert_int_equal(run_race(NULL, &among, &best_among, lines, sizeof lines), COP_OK);
	assert_int_equal(best_among, best);
	assert_true(among.rating.mean == found.rating.mean && among.rating.error == found.rating.error);
}

static void test_race_nth_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	static const size_t field[] = { 99, 2 };
	const cop_train_race race = { 2, field, 0.5 };
	for (int among = 0; among < 2; among++) {
		cop_err err = COP_ENOMEM;
		for (fail_at = 1; err == COP_ENOMEM; fail_at++) {
			cop_train_found found;
			char lines[1 << 12];
			size_t best;
			err = run_race(among ? NULL : &race, &found, &best, lines, sizeof lines);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		}
		fail_at = 0;
		assert_int_equal(err, COP_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rating_of_one_loss_has_no_standard_error),
		cmocka_unit_test(test_rating_of_several_losses_is_mean_and_standard_error),
		cmocka_unit_test(test_rating_better_is_less_loss_and_among_equals_fewer_parameters),
		cmocka_unit_test(test_search_tries_each_knob_that_means_something),
		cmocka_unit_test(test_search_leaves_each_fold_out_once),
		cmocka_unit_test(test_search_repeats_by_other_divisions),
		cmocka_unit_test(test_search_fits_forests_of_at_most_five_trees),
		cmocka_unit_test(test_search_that_cannot_fit_says_why),
		cmocka_unit_test(test_search_log_has_a_plain_line_for_each_trial),
		cmocka_unit_test(test_search_finds_the_best_trial_and_ends_when_nothing_changes),
		cmocka_unit_test(test_search_never_exceeds_its_trials),
		cmocka_unit_test(test_search_nth_allocation_fails_gives_enomem),
		cmocka_unit_test(test_search_tries_every_value_of_a_knobs_list),
		cmocka_unit_test(test_race_lets_the_best_go_on),
		cmocka_unit_test(test_race_of_all_is_a_search_among_them),
		cmocka_unit_test(test_race_nth_allocation_fails_gives_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
