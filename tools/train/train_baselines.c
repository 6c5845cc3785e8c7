/* Each baseline is a fit of TAO or a vote of neighbours on rows of the same file. A search on the labelled rows
 * serves oblique-lbl and self-training; oblique-all has a search of its own. */
#include "train_baselines.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tools/common/command.h"
#include "train_knn.h"

#define SELF_ROUNDS   10
#define SURE_CLASS    0.8
#define SURE_VALUE    0.3
#define LEAST_IN_LEAF 3

static const char *const names[COP_BASELINES] = { "oblique-lbl", "oblique-all", "self-training", "knn" };

unsigned cop_train_baselines_find(const char *name)
{
	for (size_t i = 0; i < COP_BASELINES; i++)
		if (strcmp(names[i], name) == 0)
			return 1U << i;
	return strcmp(name, "all") == 0 ? (1U << COP_BASELINES) - 1 : 0;
}

const char *cop_train_baselines_name(size_t i) { return names[i]; }

typedef struct comparing {
	const cop_train_comparison *what;
	cop_train_job labelled; /* TAO's, of the labelled rows */
	bool ready;             /* its settings are found */
	cop_diag *diag;
} comparing;

/* ---- TAO ---- */

static cop_train_job tao_job(const cop_train_job *laptao)
{
	cop_train_job job = *laptao;
	job.learner = cop_train_learner_find("tao");
	for (cop_hyperparameter knob = 0; knob < COP_HYPERPARAMETERS; knob++)
		job.knobs.given[knob] &= (cop_hyperparameters_for(knob) & cop_train_learner_for(job.learner)) != 0;
	job.progress = NULL;
	job.neighbours = NULL;
	return job;
}

static cop_err find_settings(const comparing *c, cop_train_job *job)
{
	cop_train_found found;
	return c->what->search == NULL ? COP_OK : cop_train_search_run(c->what->search, job, &found, c->diag);
}

/* Those of oblique-lbl serve self-training too. */
static cop_err labelled_settings(comparing *c)
{
	cop_err err = c->ready ? COP_OK : find_settings(c, &c->labelled);
	c->ready = true;
	return err;
}

static cop_err rate(const comparing *c, const cop_trees *trees, cop_train_baseline *out)
{
	const cop_labelled *test = c->what->test;
	return cop_trained_score_rate(
	        trees, c->what->job->preparation, test, test->data->n, NULL, false, c->what->job->pool, &out->test);
}

static cop_err fit(const comparing *c, const cop_train_job *job, cop_trees **out)
{
	cop_train_outcome outcome;
	return cop_train_fit(job, out, &outcome, c->diag);
}

static cop_err fit_and_rate(const comparing *c, const cop_train_job *job, cop_train_baseline *out)
{
	cop_trees *trees;
	double start = cop_command_now();
	cop_err err = fit(c, job, &trees);
	out->seconds = cop_command_now() - start;
	out->rows = job->n;
	if (err != COP_OK)
		return err;
	err = rate(c, trees, out);
	cop_trees_free(trees);
	return err;
}

static cop_err run_labelled(comparing *c, cop_train_baseline *out)
{
	cop_err err = labelled_settings(c);
	return err == COP_OK ? fit_and_rate(c, &c->labelled, out) : err;
}

static cop_err run_all(comparing *c, cop_train_baseline *out)
{
	cop_train_job job = tao_job(c->what->job);
	job.n = c->what->known;
	job.row = c->what->known_row;
	cop_err err = find_settings(c, &job);
	return err == COP_OK ? fit_and_rate(c, &job, out) : err;
}

/* ---- self-training ---- */

typedef struct teaching {
	const comparing *c;
	const cop_dataset *data;
	const cop_labelled *truth;
	cop_labelled told; /* its labels or targets are our own: the truth of labelled rows, what is adopted else */
	uint8_t *taken;    /* of each row */
	uint32_t *row;     /* those, in the order in which they came */
	size_t count;
	double *sure; /* of each row: how many trees are */
	float *work;  /* outputs */
	double sd;    /* of the labelled targets */
} teaching;

static cop_err teaching_init(teaching *t)
{
	const cop_train_job *job = &t->c->labelled;
	size_t n = t->data->n, outputs = t->truth->classes > 0 ? t->truth->classes : 1;
	bool classes = t->truth->classes > 0;
	t->told = *t->truth;
	t->told.label = classes ? cop_mem_alloc(n, sizeof *t->told.label) : NULL;
	t->told.target = classes ? NULL : cop_mem_alloc(n, sizeof *t->told.target);
	t->taken = cop_mem_alloc(n, sizeof *t->taken);
	t->row = cop_mem_alloc(n, sizeof *t->row);
	t->sure = cop_mem_alloc(n, sizeof *t->sure);
	t->work = cop_mem_alloc(outputs, sizeof *t->work);
	if ((t->told.label == NULL && t->told.target == NULL) || t->taken == NULL || t->row == NULL ||
	        t->sure == NULL || t->work == NULL)
		return COP_ENOMEM;
	double sum = 0.0, squares = 0.0;
	for (size_t i = 0; i < job->n; i++) {
		size_t at = t->row[i] = job->row[i];
		t->taken[at] = 1;
		if (classes) {
			t->told.label[at] = t->truth->label[at];
			continue;
		}
		double target = (double)(t->told.target[at] = t->truth->target[at]);
		sum += target;
		squares += target * target;
	}
	double mean = sum / (double)job->n;
	t->sd = sqrt(fmax(squares / (double)job->n - mean * mean, 0.0));
	t->count = job->n;
	return COP_OK;
}

static void teaching_fini(teaching *t)
{
	cop_mem_free(t->told.label);
	cop_mem_free(t->told.target);
	cop_mem_free(t->taken);
	cop_mem_free(t->row);
	cop_mem_free(t->sure);
	cop_mem_free(t->work);
}

/* Adds 1 to each row whose leaf of the tree is sure. */
static cop_err add_sureness(teaching *t, const cop_tree *tree)
{
	size_t leaves = cop_tree_leaves(tree);
	size_t *rows = cop_mem_alloc(leaves, sizeof *rows);
	double *good = cop_mem_alloc(leaves, sizeof *good);
	bool classes = t->truth->classes > 0;
	cop_row row;
	for (size_t i = 0; rows != NULL && good != NULL && i < t->c->labelled.n; i++) {
		size_t at = t->c->labelled.row[i];
		cop_dataset_row(t->data, at, &row);
		size_t leaf = classes ? cop_tree_leaf(tree, &row) : cop_tree_predict(tree, &row, t->work);
		double miss = classes ? 0.0 : (double)(t->work[0] - t->truth->target[at]);
		good[leaf] += classes ? (double)(cop_tree_class(tree, &row) == t->truth->label[at]) : miss * miss;
		rows[leaf]++;
	}
	for (size_t i = 0; rows != NULL && good != NULL && i < t->data->n; i++) {
		cop_dataset_row(t->data, i, &row);
		size_t leaf = cop_tree_leaf(tree, &row);
		double count = (double)rows[leaf];
		t->sure[i] += classes ? (double)((good[leaf] + 1.0) / (count + 2.0) >= SURE_CLASS)
		                      : (double)(rows[leaf] >= LEAST_IN_LEAF &&
		                                 sqrt(good[leaf] / count) <= SURE_VALUE * t->sd);
	}
	cop_err err = rows != NULL && good != NULL ? COP_OK : COP_ENOMEM;
	cop_mem_free(rows);
	cop_mem_free(good);
	return err;
}

/* A row, with what the trees predict of it, joins those to fit. */
static void adopt(teaching *t, const cop_trees *trees, size_t at, double *outputs)
{
	cop_row row;
	cop_dataset_row(t->data, at, &row);
	cop_trees_predict(trees, &row, t->work, outputs);
	if (t->told.label != NULL)
		t->told.label[at] = cop_trained_score_best(t->truth->classes, outputs);
	else
		t->told.target[at] = (float)outputs[0];
	t->taken[at] = 1;
	t->row[t->count++] = (uint32_t)at;
}

static cop_err adopt_sure(teaching *t, const cop_trees *trees)
{
	size_t trees_count = cop_trees_count(trees), n = t->data->n;
	double *outputs = cop_mem_alloc(cop_trees_outputs(trees), sizeof *outputs);
	cop_err err = outputs != NULL ? COP_OK : COP_ENOMEM;
	memset(t->sure, 0, n * sizeof *t->sure);
	for (size_t i = 0; i < trees_count && err == COP_OK; i++)
		err = add_sureness(t, cop_trees_at(trees, i));
	for (size_t i = 0; i < n && err == COP_OK; i++)
		if (t->taken[i] == 0 && t->sure[i] > 0.5 * (double)trees_count)
			adopt(t, trees, i, outputs);
	cop_mem_free(outputs);
	return err;
}

static cop_err self_train(teaching *t, cop_trees **trees, cop_train_baseline *out)
{
	cop_train_job job = t->c->labelled;
	cop_err err = teaching_init(t);
	job.rows = &t->told;
	job.row = t->row;
	job.n = 0;
	*trees = NULL;
	while (err == COP_OK && t->count > job.n && out->rounds < SELF_ROUNDS) {
		cop_trees_free(*trees);
		job.n = out->rows = t->count;
		err = fit(t->c, &job, trees);
		out->rounds++;
		if (err == COP_OK)
			err = adopt_sure(t, *trees);
	}
	return err;
}

static cop_err run_self(comparing *c, cop_train_baseline *out)
{
	teaching t = { .c = c, .data = c->what->job->rows->data, .truth = c->what->job->rows };
	cop_trees *trees = NULL;
	cop_err err = labelled_settings(c);
	double start = cop_command_now();
	if (err == COP_OK)
		err = self_train(&t, &trees, out);
	out->seconds = cop_command_now() - start;
	if (err == COP_OK)
		err = rate(c, trees, out);
	cop_trees_free(trees);
	teaching_fini(&t);
	return err;
}

/* ---- knn ---- */

static cop_err run_knn(comparing *c, cop_train_baseline *out)
{
	const cop_train_job *job = c->what->job;
	const cop_encoder *preparation = job->preparation;
	double loss = 0.0;
	double unit = cop_encoder_from_scale(preparation, 1.0) - cop_encoder_from_scale(preparation, 0.0);
	double start = cop_command_now();
	cop_err err = cop_train_knn_choose(job, NULL, job->n, &out->k, &loss);
	if (err == COP_OK)
		err = cop_train_knn_judge(job, out->k, c->what->test, &loss);
	out->seconds = cop_command_now() - start;
	out->rows = job->n;
	*(c->what->test->classes > 0 ? &out->test.error : &out->test.rmse) =
	        c->what->test->classes > 0 ? loss : unit * sqrt(loss);
	return err;
}

cop_err cop_train_baselines_compare(
        const cop_train_comparison *what, cop_train_baseline out[COP_BASELINES], cop_diag *diag)
{
	static cop_err (*const run[COP_BASELINES])(
	        comparing *, cop_train_baseline *) = { run_labelled, run_all, run_self, run_knn };
	comparing c = { .what = what, .labelled = tao_job(what->job), .diag = diag };
	cop_err err = COP_OK;
	for (size_t i = 0; i < COP_BASELINES && err == COP_OK; i++) {
		out[i] = (cop_train_baseline){ .there = (what->baselines >> i & 1U) != 0,
			.test = { (double)NAN, (double)NAN, (double)NAN, (double)NAN } };
		if (out[i].there)
			err = run[i](&c, &out[i]);
		if (err != COP_OK && diag->message[0] == '\0')
			cop_diag_message(diag, "%s: %s", names[i], cop_err_text(err));
	}
	return err;
}
