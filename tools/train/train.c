/* coppice train: labelled rows into a tree or a forest, and figures of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/command.h"
#include "tools/common/trained_score.h"
#include "train_baselines.h"
#include "train_hint.h"
#include "train_labels.h"
#include "train_look.h"
#include "train_options.h"
#include "train_search.h"
#include "view/trained.h"

#define NAME COP_TRAIN_NAME

typedef struct training {
	cop_train_options *o;
	cop_labelled rows;
	size_t rows_read;
	cop_train_labels labels;
	cop_encoder *preparation;
	cop_neighbours neighbours[COP_GRAPHS];
	cop_trained *start;
	cop_trees *trees;
	cop_trained *model; /* owns preparation and trees once it is there */
	cop_train_outcome outcome;
	cop_trained_score train, hidden, test;
	cop_train_job asked; /* before the search */
	cop_train_baseline baseline[COP_BASELINES];
	cop_train_found found; /* by the search, or a look */
	bool looked;
	double seconds; /* of the fit */
	double search_seconds;
	double shown; /* when the progress line was written last */
} training;

static bool shows_progress(void) { return isatty(STDERR_FILENO) && cop_command_leads(); }

static bool report_progress(void *context, double share, const char *text)
{
	training *t = context;
	double now = cop_command_now();
	if (now - t->shown > 0.2) {
		(void)fprintf(stderr, "\r\033[K%3.0f %%  %.100s", 100.0 * share, text);
		t->shown = now;
	}
	return true;
}

static cop_err load_start(training *t, cop_diag *diag)
{
	cop_train_options *o = t->o;
	if (o->start_model == NULL)
		return COP_OK;
	cop_err err = cop_trained_load(o->start_model, &t->start, diag);
	if (err != COP_OK)
		return err;
	size_t outputs = t->rows.classes > 0 ? t->rows.classes : 1;
	if (cop_trees_features(t->start->trees) != t->rows.data->d || cop_trees_outputs(t->start->trees) != outputs) {
		cop_diag_of(diag, o->start_model, "%zu features and %zu outputs, expected %zu and %zu",
		        cop_trees_features(t->start->trees), cop_trees_outputs(t->start->trees), t->rows.data->d,
		        outputs);
		return COP_ESHAPE;
	}
	o->job.start = cop_trees_at(t->start->trees, 0);
	if (cop_tree_facets(o->job.start) > 0) {
		cop_diag_of(diag, o->start_model, "its splits are polytopes, expected linear ones");
		return COP_ESHAPE;
	}
	return COP_OK;
}

static cop_train_search search_settings(const cop_train_options *o)
{
	return (cop_train_search){
		.folds = o->folds,
		.validation = o->job.validation > 0.0 ? o->job.validation : 0.2,
		.trials = o->trials,
		.repeats = o->repeats,
		.progress = shows_progress() ? stderr : NULL,
	};
}

static cop_err run_search(const training *t, cop_train_search *set, cop_train_found *found, cop_diag *diag)
{
	const char *path = cop_command_leads() ? t->o->search_log : NULL;
	if (path == NULL)
		return cop_train_search_run(set, &t->o->job, found, diag);
	set->log = fopen(path, "w");
	if (set->log == NULL) {
		cop_diag_of(diag, path, "cannot be written");
		return COP_EIO;
	}
	cop_err err = cop_train_search_run(set, &t->o->job, found, diag);
	bool failed = ferror(set->log) != 0;
	failed |= fclose(set->log) != 0;
	if (err == COP_OK && failed) {
		cop_diag_of(diag, path, "not all of it could be written");
		err = COP_EIO;
	}
	return err;
}

/* What was not given, by a search, or by a look where that is the default. */
static cop_err search(training *t, cop_diag *diag)
{
	cop_train_options *o = t->o;
	cop_train_search set = search_settings(o);
	double start = cop_command_now();
	cop_err err = COP_OK;
	t->looked = !o->search && cop_train_look_wanted(&o->job);
	if (o->search)
		err = run_search(t, &set, &t->found, diag);
	else if (t->looked)
		err = cop_train_look(&o->job, set.progress, &t->found, diag);
	t->search_seconds = cop_command_now() - start;
	return err;
}

/* Of the rows whose labels are used, and of those whose labels are hidden. */
static cop_err rate_training(training *t)
{
	const cop_train_job *job = &t->o->job;
	const cop_train_labels *labels = &t->labels;
	cop_err err = cop_trained_score_rate(
	        t->trees, t->preparation, &t->rows, job->n, job->row, true, job->pool, &t->train);
	if (err == COP_OK && labels->hidden > 0)
		err = cop_trained_score_rate(t->trees, t->preparation, &t->rows, labels->hidden, labels->known, false,
		        job->pool, &t->hidden);
	return err;
}

static cop_err begin(training *t, cop_diag *diag)
{
	cop_train_job *job = &t->o->job;
	cop_err err = cop_train_labels_choose(&t->rows, t->o->labelled, job->seed, &t->labels);
	if (err != COP_OK) {
		cop_diag_of(diag, t->o->train, "%s", cop_err_text(err));
		return err;
	}
	job->rows = &t->rows;
	job->preparation = t->preparation;
	job->n = t->labels.used;
	job->row = t->labels.some_lack ? cop_train_labels_used(&t->labels) : NULL;
	job->neighbours = t->neighbours;
	return load_start(t, diag);
}

static cop_err fit(training *t, cop_diag *diag)
{
	cop_train_job *job = &t->o->job;
	const cop_progress progress = { report_progress, t };
	cop_err err = begin(t, diag);
	t->asked = *job;
	job->progress = shows_progress() ? &progress : NULL;
	if (err == COP_OK)
		err = search(t, diag);
	double start = cop_command_now();
	if (err == COP_OK)
		err = cop_train_fit(job, &t->trees, &t->outcome, diag);
	t->seconds = cop_command_now() - start;
	if (job->progress != NULL)
		(void)fputs("\r\033[K", stderr);
	job->progress = NULL;
	for (size_t g = 0; g < COP_GRAPHS; g++)
		cop_neighbours_fini(&t->neighbours[g]);
	if (err != COP_OK)
		return err;
	err = rate_training(t);
	if (err != COP_OK)
		cop_diag_of(diag, t->o->train, "%s", cop_err_text(err));
	return err;
}

/* Features are scaled like this. */
static const char *scale_of(const training *t) { return cop_scaling_names[cop_encoder_scaling(t->preparation)]; }

/* The learner's settings as options; of a path of penalties the one that was chosen. */
static void take_words(const training *t, char *out, size_t size)
{
	const cop_train_job *job = &t->o->job;
	cop_hyperparameters_values knobs = job->knobs;
	int used = snprintf(out, size, "--learner %s%s --seed %llu --scale %s ", cop_train_learner_name(job->learner),
	        t->o->table.regression ? " --task regression" : "", (unsigned long long)job->seed, scale_of(t));
	if (t->o->labelled > 0.0)
		used += snprintf(out + used, size - (size_t)used, "--labelled %.10g ", t->o->labelled);
	if ((cop_train_learner_for(job->learner) & COP_FOR_LAPTAO) != 0) {
		knobs.value[COP_HYPERPARAMETER_GRAPH] = (double)t->outcome.graph;
		knobs.given[COP_HYPERPARAMETER_GRAPH] = true;
	}
	if (!isnan(t->outcome.alpha))
		knobs.value[COP_HYPERPARAMETER_ALPHA] = t->outcome.alpha;
	cop_hyperparameters_words(&knobs, out + used, size - (size_t)used);
	if (out[used] == '\0') /* nothing behind the last space */
		out[used - 1] = '\0';
}

/* Labels that are hidden leave no trace in the model. */
static cop_err take_census(training *t)
{
	cop_labelled picked;
	const cop_train_job *job = &t->o->job;
	if (job->row == NULL)
		return cop_trained_take_census(t->model, t->rows.data, t->rows.label, t->rows.target);
	cop_err err = cop_train_labels_pick(&t->rows, job->n, job->row, &picked);
	if (err == COP_OK)
		err = cop_trained_take_census(t->model, picked.data, picked.label, picked.target);
	cop_labelled_rows_fini(&picked);
	return err;
}

static cop_err make_model(training *t)
{
	char words[1024];
	cop_trained *model = cop_mem_alloc(1, sizeof *model);
	t->model = model;
	if (model == NULL)
		return COP_ENOMEM;
	take_words(t, words, sizeof words);
	model->preparation = t->preparation;
	model->trees = t->trees;
	model->learner = cop_mem_strdup(cop_train_learner_name(t->o->job.learner));
	model->settings = cop_mem_strdup(words);
	return model->learner != NULL && model->settings != NULL ? take_census(t) : COP_ENOMEM;
}

static cop_err save(training *t, cop_diag *diag)
{
	cop_err err = make_model(t);
	if (err == COP_OK)
		return cop_trained_save(t->model, t->o->model, diag);
	cop_diag_of(diag, t->o->model, "%s", cop_err_text(err));
	return err;
}

static cop_err compare(training *t, const cop_labelled *test, cop_diag *diag)
{
	const cop_train_options *o = t->o;
	const cop_train_search search = search_settings(o);
	t->asked.row = cop_train_labels_used(&t->labels);
	t->asked.neighbours = NULL;
	const cop_train_comparison what = {
		.baselines = o->baselines,
		.job = &t->asked,
		.known = t->labels.hidden + t->labels.used,
		.known_row = t->labels.known,
		.test = test,
		.search = o->search ? &search : NULL,
	};
	return cop_train_baselines_compare(&what, t->baseline, diag);
}

static cop_err judge(training *t, cop_diag *diag)
{
	cop_labelled rows;
	if (t->o->baselines == 0)
		cop_labelled_rows_fini(&t->rows); /* no longer needed */
	cop_err err = cop_labelled_rows_read(t->o->test, t->preparation, true, &rows, diag);
	if (err == COP_OK)
		err = cop_trained_score_rate(
		        t->trees, t->preparation, &rows, rows.data->n, NULL, false, t->o->job.pool, &t->test);
	if (err == COP_OK && t->o->baselines != 0)
		err = compare(t, &rows, diag);
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_of(diag, t->o->test, "%s", cop_err_text(err));
	cop_labelled_rows_fini(&rows);
	return err;
}

typedef struct shape {
	size_t leaves, facets, splits;
	unsigned depth;
} shape;

/* Leaves of all trees, depth of the deepest. */
static shape shape_of(const cop_trees *trees)
{
	shape s = { 0 };
	for (size_t i = 0; i < cop_trees_count(trees); i++) {
		unsigned depth = cop_tree_depth(cop_trees_at(trees, i));
		s.leaves += cop_tree_leaves(cop_trees_at(trees, i));
		s.facets += cop_tree_facets(cop_trees_at(trees, i));
		s.splits += cop_tree_leaves(cop_trees_at(trees, i)) - 1;
		s.depth = depth > s.depth ? depth : s.depth;
	}
	return s;
}

static bool is_laptao(const training *t) { return (cop_train_learner_for(t->o->job.learner) & COP_FOR_LAPTAO) != 0; }

static void put_laptao(const training *t, cop_json_writer *json)
{
	cop_json_put_unsigned(json, "labelled", t->labels.used);
	cop_json_put_unsigned(json, "unlabelled", t->rows_read - t->labels.used);
	cop_json_put_unsigned(json, "unlabelled_components", t->outcome.unlabelled_parts);
	cop_json_put_unsigned(json, "rounds", t->outcome.rounds);
	cop_json_put_number(json, "gap", t->outcome.gap);
	if (t->o->baselines == 0)
		return;
	cop_json_put_object(json, "baselines");
	for (size_t i = 0; i < COP_BASELINES; i++) {
		const cop_train_baseline *b = &t->baseline[i];
		if (!b->there)
			continue;
		cop_json_put_object(json, cop_train_baselines_name(i));
		cop_trained_score_put(&b->test, "test", json);
		cop_json_put_number(json, "seconds", b->seconds);
		cop_json_put_unsigned(json, "rows", b->rows);
		if (b->rounds > 0)
			cop_json_put_unsigned(json, "rounds", b->rounds);
		if (b->k > 0)
			cop_json_put_unsigned(json, "k", b->k);
		cop_json_end_object(json);
	}
	cop_json_end_object(json);
}

static const char *const ends[] = {
	[COP_FOREST_WHOLE] = "",
	[COP_FOREST_STOPPED] = "it was stopped",
	[COP_FOREST_PERFECT] = "the last tree is right on every row that it was fitted to",
	[COP_FOREST_GUESSING] = "a tree was no better than guessing",
};

static cop_err show_json(const training *t)
{
	cop_json_writer *json;
	char words[1024];
	shape s = shape_of(t->trees);
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	cop_trained_score_put(&t->train, "train", json);
	cop_trained_score_put(&t->hidden, "hidden", json);
	cop_trained_score_put(&t->test, "test", json);
	cop_json_put_number(json, "seconds", t->seconds);
	cop_json_put_unsigned(json, "leaves", s.leaves);
	cop_json_put_unsigned(json, "depth", s.depth);
	if (s.facets > 0) {
		cop_json_put_unsigned(json, "facets", s.facets);
		cop_json_put_number(json, "facets_per_split", (double)s.facets / (double)s.splits);
	}
	cop_json_put_unsigned(json, "parameters", cop_trees_parameters(t->trees));
	cop_json_put_number(json, "flops", t->train.flops);
	cop_json_put_text(json, "scale", scale_of(t));
	cop_json_put_number(json, "objective", t->outcome.objective);
	cop_json_put_number(json, "alpha", t->outcome.alpha);
	if (is_laptao(t))
		put_laptao(t, json);
	if (cop_trees_count(t->trees) > 1 || t->outcome.end != COP_FOREST_WHOLE)
		cop_json_put_unsigned(json, "trees", cop_trees_count(t->trees));
	if (t->outcome.end != COP_FOREST_WHOLE)
		cop_json_put_text(json, "ended_early", ends[t->outcome.end]);
	if (t->o->search || t->looked) {
		cop_json_put_unsigned(json, "trials", t->found.trials);
		cop_json_put_number(
		        json, t->o->table.regression ? "search_rmse" : "search_error", t->found.rating.mean);
		cop_json_put_number(json, "search_standard_error", t->found.rating.error);
		cop_json_put_number(json, "search_seconds", t->search_seconds);
	}
	take_words(t, words, sizeof words);
	cop_json_put_text(json, "settings", words);
	return cop_command_json(json);
}

static void show_score(const char *of, const cop_trained_score *score)
{
	if (!isnan(score->rmse))
		(void)printf("%-6s RMSE %.6g\n", of, score->rmse);
	else if (!isnan(score->auc))
		(void)printf("%-6s error %.2f %%, AUC %.4f\n", of, 100.0 * score->error, score->auc);
	else if (!isnan(score->error))
		(void)printf("%-6s error %.2f %%\n", of, 100.0 * score->error);
}

static void show_found(const training *t)
{
	char words[1024];
	const cop_train_rating *rating = &t->found.rating;
	bool values = t->o->table.regression;
	double unit = values ? 1.0 : 100.0;
	take_words(t, words, sizeof words);
	(void)printf("chosen in %zu trials (%.0f s), on rows held back %s %.4g", t->found.trials, t->search_seconds,
	        values ? "RMSE" : "error", unit * rating->mean);
	if (!isnan(rating->error))
		(void)printf(" +- %.2g", unit * rating->error);
	(void)printf("%s: %s\n", values ? "" : " %", words);
}

static void show_laptao(const training *t)
{
	(void)printf("%zu of %zu rows labelled; %u rounds, gap %.3g\n", t->labels.used, t->rows_read, t->outcome.rounds,
	        t->outcome.gap);
	if (t->outcome.unlabelled_parts > 0)
		(void)printf("%u components of the graph hold no labelled row: little is known of their rows\n",
		        t->outcome.unlabelled_parts);
}

static void show_baselines(const training *t)
{
	bool values = t->o->table.regression;
	(void)printf("\n%-14s %12s %9s\n", "", values ? "test RMSE" : "test error", "seconds");
	for (size_t i = 0; i <= COP_BASELINES; i++) {
		const cop_train_baseline *b = i > 0 ? &t->baseline[i - 1] : NULL;
		const cop_trained_score *score = b != NULL ? &b->test : &t->test;
		char figure[32], note[64] = "";
		if (b != NULL && !b->there)
			continue;
		(void)snprintf(figure, sizeof figure, values ? "%.6g" : "%.2f %%",
		        values ? score->rmse : 100.0 * score->error);
		if (b != NULL && b->rounds > 0)
			(void)snprintf(note, sizeof note, "  (%zu fits, the last of %zu rows)", b->rounds, b->rows);
		else if (b != NULL && b->k > 0)
			(void)snprintf(note, sizeof note, "  (k = %zu)", b->k);
		(void)printf("%-14s %12s %9.2f%s\n", b != NULL ? cop_train_baselines_name(i - 1) : "laptao", figure,
		        b != NULL ? b->seconds : t->seconds, note);
	}
}

static void show_text(const training *t)
{
	shape s = shape_of(t->trees);
	show_score("train", &t->train);
	show_score("hidden", &t->hidden);
	show_score("test", &t->test);
	(void)printf("%zu tree%s, %zu leaves, depth %u, %zu parameters, %.0f FLOPs a row; scale %s; fitted in %.2f s\n",
	        cop_trees_count(t->trees), cop_trees_count(t->trees) == 1 ? "" : "s", s.leaves, s.depth,
	        cop_trees_parameters(t->trees), t->train.flops, scale_of(t), t->seconds);
	if (s.facets > 0)
		(void)printf("%zu facets, %.1f a split\n", s.facets, (double)s.facets / (double)s.splits);
	if (t->outcome.end != COP_FOREST_WHOLE)
		(void)printf("boosting ended early: %s\n", ends[t->outcome.end]);
	if (!isnan(t->outcome.objective))
		(void)printf("objective %.6g\n", t->outcome.objective);
	if (is_laptao(t))
		show_laptao(t);
	if (!isnan(t->outcome.alpha))
		(void)printf("alpha %g, chosen from %zu\n", t->outcome.alpha, t->o->job.alphas);
	if (t->o->search || t->looked)
		show_found(t);
	if (t->o->baselines != 0)
		show_baselines(t);
}

static void hint_at_categories(const training *t)
{
	const char *column;
	size_t place, texts;
	cop_train_mixed mixed;
	if (cop_train_hint_mixed(t->preparation, &mixed)) {
		cop_command_complain(NAME,
		        "column \"%.*s\" of %s has %zu different numbers, and text (\"%.40s\") among them: each value "
		        "is "
		        "a feature; if the text is for missing numbers, leave such fields empty",
		        (int)mixed.length, mixed.column, t->o->train, mixed.numbers, mixed.text);
		return;
	}
	if (!cop_train_hint_name(&t->rows, t->preparation, &column, &place, &texts))
		return;
	const bool named = column[0] != '\0';
	cop_command_complain(NAME,
	        "column %zu%s%s%s of %s has %zu different texts in %zu rows, each a feature; if they name the rows: "
	        "--ignore %zu",
	        place, named ? " (" : "", column, named ? ")" : "", t->o->train, texts, t->rows_read, place);
}

static void give_hints(const training *t)
{
	size_t feature;
	double value, step;
	if (t->rows.classes == 1)
		cop_command_complain(NAME,
		        "all rows of %s are of one class, \"%.60s\": there is nothing to tell apart; "
		        "if another column is the target: --target COLUMN",
		        t->o->train, cop_encoder_class(t->preparation, 0));
	if (cop_train_hint_numbers(&t->rows, t->preparation))
		cop_command_complain(NAME,
		        "the %zu classes of %s seem to be numbers that were counted or measured; to predict their "
		        "value: --task regression",
		        t->rows.classes, t->o->train);
	if (cop_train_hint_lost(&t->rows, t->preparation, &feature, &value, &step))
		cop_command_complain(NAME,
		        "\"%.60s\" of %s has values close to %.3g, where differences below %g are lost; subtract a "
		        "number from all of them first",
		        cop_encoder_feature(t->preparation, feature), t->o->train, value, step);
	if (t->o->table.categories == NULL)
		hint_at_categories(t);
}

static cop_err run(training *t, cop_diag *diag)
{
	cop_train_options *o = t->o;
	cop_err err = cop_pool_new(o->threads, &o->job.pool);
	if (err != COP_OK)
		cop_diag_message(diag, "threads: %s", cop_err_text(err));
	else
		cop_pool_set_ranks(o->job.pool, cop_command_ranks());
	if (err == COP_OK)
		err = cop_labelled_rows_train(o->train, &o->table, &t->rows, &t->preparation, diag);
	t->rows_read = err == COP_OK ? t->rows.data->n : 0;
	if (err == COP_OK)
		give_hints(t);
	if (err == COP_OK)
		err = fit(t, diag);
	if (err == COP_OK && o->model != NULL && cop_command_leads())
		err = save(t, diag);
	if (err == COP_OK && o->test != NULL)
		err = judge(t, diag);
	if (err == COP_OK && o->json)
		err = show_json(t);
	else if (err == COP_OK)
		show_text(t);
	cop_labelled_rows_fini(&t->rows);
	cop_train_labels_fini(&t->labels);
	if (t->model == NULL) {
		cop_encoder_free(t->preparation);
		cop_trees_free(t->trees);
	}
	cop_trained_free(t->model);
	cop_trained_free(t->start);
	cop_pool_free(o->job.pool);
	return err;
}

int cop_command_train(int argc, char **argv)
{
	cop_train_options options;
	int status = cop_train_options_read(argc, argv, &options);
	if (status >= 0)
		return status;
	const cop_trained_score none = { (double)NAN, (double)NAN, (double)NAN, (double)NAN };
	training t = { .o = &options, .train = none, .hidden = none, .test = none };
	cop_diag diag = { 0 };
	return cop_command_end(NAME, run(&t, &diag), NULL, &diag);
}
