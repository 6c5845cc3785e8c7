/* All parameters lie in one array w, their gradients in one array g, stepped by one optimiser:
 *     factors W^(1) ... W^(L) with their biases (train/dgt_network.h), theta (2^h x K), the shared leaf bias (1)
 * An update: gather the rows [x; 1], margins up the network, predictions of the tree, loss gradients, back through tree
 * and network; then one pass over g adds the regulariser and takes the norm, and one pass steps.
 *
 * Invariant: after each epoch `product` and w's leaves are a plain tree, by which validation is judged; `best` is a
 * copy of the best of them. */
#include "train/dgt_fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "linalg/kernel.h"
#include "optim/clip.h"
#include "optim/optim.h"
#include "optim/schedule.h"
#include "train/dgt_loss.h"
#include "train/dgt_network.h"
#include "train/dgt_paths.h"
#include "tree/dgt.h"

_Static_assert(COP_DGT_FIT_MAX_LAYERS == COP_DGT_NETWORK_MAX_LAYERS, "one bound of layers");

#define MAX_BATCH       ((size_t)1 << 20)
#define MAX_WIDTH       ((size_t)1 << 16)
#define PIECE           2048 /* gradients that stay in the nearest cache between regulariser and norm */
#define STEPS_OF_A_RATE 10   /* mini-batches between two moves of the schedule (the authors' program) */

typedef struct training {
	const cop_dgt_fit_settings *settings;
	const cop_sample *sample, *validation;
	const cop_kernel *kernel;
	size_t d, nodes, leaves, outputs;
	size_t batch, updates_of_an_epoch;
	size_t factors, total; /* numbers in w: of the network, of all */
	double weight;         /* mean of the sample's */
	cop_schedule schedule;
	cop_dgt_network *network;
	cop_dgt_paths *paths;
	cop_optim *optim;
	uint32_t *order;     /* n row numbers */
	float *w, *g;        /* total */
	float *x;            /* batch x (d + 1) */
	float *a, *da;       /* nodes x batch */
	float *f, *gf;       /* batch x K */
	float *product;      /* nodes x (d + 1) */
	float *best_product; /* with validation: of the best epoch */
	float *best_leaves;  /* leaves x K + 1 */
	double best_loss;
	unsigned best_epoch, epoch;
	uint64_t updates;
} training;

void cop_dgt_fit_defaults(cop_task task, cop_dgt_fit_settings *settings)
{
	*settings = (cop_dgt_fit_settings){
		.height = 6,
		.layers = 3,
		.loss = task == COP_TASK_CLASSES ? COP_DGT_CROSS_ENTROPY : COP_DGT_SQUARED,
		.huber = 0.2,
		.batch = 128,
		.epochs = 100,
		.optimiser = "rmsprop",
		.lr = 1e-2,
		.minimum_lr = 1e-4,
		.restarts = 3,
		.clip = 1e-2,
		.anneal_first = 1.0,
		.anneal_last = 100.0,
	};
}

static bool loss_fits(const cop_dgt_fit_settings *s, cop_task task)
{
	switch (s->loss) {
	case COP_DGT_CROSS_ENTROPY:
		return task == COP_TASK_CLASSES;
	case COP_DGT_SQUARED:
		return task == COP_TASK_VALUES;
	case COP_DGT_HUBER:
		return task == COP_TASK_VALUES && s->huber > 0.0 && isfinite(s->huber);
	case COP_DGT_CUSTOM:
		return task != COP_TASK_COSTS && s->custom != NULL;
	case COP_DGT_LOSSES:
		break;
	}
	return false;
}

static bool not_negative(double value) { return value >= 0.0 && isfinite(value); }

static bool settings_are_valid(const cop_dgt_fit_settings *s)
{
	bool sizes = s->height >= 1 && s->height <= COP_DGT_MAX_HEIGHT && s->layers >= 1 &&
	             s->layers <= COP_DGT_FIT_MAX_LAYERS && s->width <= MAX_WIDTH && s->batch >= 1 &&
	             s->batch <= MAX_BATCH && s->epochs >= 1 && (unsigned)s->gradients <= COP_DGT_LAYERED;
	bool rates = s->optimiser != NULL && not_negative(s->lr) && s->lr <= 1e6 && not_negative(s->minimum_lr) &&
	             s->minimum_lr <= s->lr && not_negative(s->clip);
	bool penalties = not_negative(s->l1) && not_negative(s->l2) && (s->l1 == 0.0 || s->l2 == 0.0);
	bool paths =
	        !s->anneal || (s->anneal_first > 0.0 && s->anneal_last >= s->anneal_first && s->anneal_last <= 1e6);
	return sizes && rates && penalties && paths;
}

/* Table 12, and straight lines between its heights. */
static size_t hidden_width(const cop_dgt_fit_settings *s)
{
	static const size_t widths[] = { 240, 600, 1008, 1530, 2046 }; /* of heights 2, 4, 6, 8, 10 */
	if (s->width > 0)
		return s->width;
	if (s->height <= 2)
		return widths[0];
	if (s->height >= 10)
		return widths[4];
	size_t i = s->height / 2 - 1;
	return s->height % 2 == 0 ? widths[i] : (widths[i] + widths[i + 1]) / 2;
}

static void fit_fini(training *fit)
{
	float *arrays[] = { fit->w, fit->g, fit->x, fit->a, fit->da, fit->f, fit->gf, fit->product, fit->best_product,
		fit->best_leaves };
	cop_dgt_network_free(fit->network);
	cop_dgt_paths_free(fit->paths);
	cop_optim_free(fit->optim);
	cop_mem_free(fit->order);
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
}

static cop_err make_network(training *fit)
{
	const cop_dgt_fit_settings *s = fit->settings;
	cop_dgt_network_shape shape = {
		.d = fit->d, .width = hidden_width(s), .nodes = fit->nodes, .layers = s->layers, .rows = fit->batch
	};
	shape.collapsed = s->gradients == COP_DGT_COLLAPSED ||
	                  (s->gradients == COP_DGT_CHEAPER && cop_dgt_network_collapsed_is_cheaper(&shape));
	cop_err err = cop_dgt_network_new(&shape, &fit->network);
	if (err != COP_OK)
		return err;
	fit->factors = cop_dgt_network_weights(fit->network);
	return __builtin_add_overflow(fit->factors, fit->leaves * fit->outputs + 1, &fit->total) ? COP_ENOMEM : COP_OK;
}

static cop_err make_paths(training *fit)
{
	const cop_dgt_fit_settings *s = fit->settings;
	cop_dgt_paths_shape shape = { .height = s->height,
		.outputs = fit->outputs,
		.rows = fit->batch,
		.product = s->product_paths,
		.annealed = s->anneal,
		.scaled = s->scaled_quantiser };
	return cop_dgt_paths_new(&shape, &fit->paths);
}

static cop_err make_optimiser(training *fit)
{
	const cop_dgt_fit_settings *s = fit->settings;
	cop_optim_settings optim;
	if (cop_optim_defaults(s->optimiser, &optim) != COP_OK)
		return COP_EINVAL;
	optim.lr = s->lr;
	optim.momentum = s->momentum;
	uint64_t rates = (uint64_t)s->epochs * fit->updates_of_an_epoch / STEPS_OF_A_RATE + 1;
	fit->schedule = (cop_schedule){ s->lr, s->minimum_lr, .period = rates / ((uint64_t)s->restarts + 1) + 2 };
	return cop_optim_new(s->optimiser, &optim, 1, fit->total, &fit->optim);
}

static bool allocate(training *fit)
{
	size_t inputs = fit->d + 1, margins, coefficients;
	if (__builtin_mul_overflow(fit->nodes, fit->batch, &margins) ||
	        __builtin_mul_overflow(fit->nodes, inputs, &coefficients))
		return false;
	size_t leaves = fit->leaves * fit->outputs + 1;
	bool ok = (fit->order = cop_mem_alloc(fit->sample->n, sizeof *fit->order)) != NULL &&
	          (fit->w = cop_mem_alloc(fit->total, sizeof *fit->w)) != NULL &&
	          (fit->g = cop_mem_alloc(fit->total, sizeof *fit->g)) != NULL &&
	          (fit->x = cop_mem_alloc(fit->batch, inputs * sizeof *fit->x)) != NULL &&
	          (fit->a = cop_mem_alloc(margins, sizeof *fit->a)) != NULL &&
	          (fit->da = cop_mem_alloc(margins, sizeof *fit->da)) != NULL &&
	          (fit->f = cop_mem_alloc(fit->batch, fit->outputs * sizeof *fit->f)) != NULL &&
	          (fit->gf = cop_mem_alloc(fit->batch, fit->outputs * sizeof *fit->gf)) != NULL &&
	          (fit->product = cop_mem_alloc(coefficients, sizeof *fit->product)) != NULL;
	if (ok && fit->validation != NULL)
		ok = (fit->best_product = cop_mem_alloc(coefficients, sizeof *fit->best_product)) != NULL &&
		     (fit->best_leaves = cop_mem_alloc(leaves, sizeof *fit->best_leaves)) != NULL;
	return ok;
}

static cop_err fit_init(training *fit)
{
	const cop_sample *sample = fit->sample;
	fit->kernel = cop_kernel_best();
	fit->d = sample->rows->d;
	fit->outputs = sample->outputs;
	fit->leaves = (size_t)1 << fit->settings->height;
	fit->nodes = fit->leaves - 1;
	fit->batch = fit->settings->batch < sample->n ? fit->settings->batch : sample->n;
	fit->updates_of_an_epoch = (sample->n + fit->batch - 1) / fit->batch;
	fit->best_loss = (double)INFINITY;
	cop_err err = make_network(fit);
	if (err == COP_OK)
		err = make_paths(fit);
	if (err == COP_OK)
		err = make_optimiser(fit);
	if (err != COP_OK)
		return err;
	return allocate(fit) ? COP_OK : COP_ENOMEM;
}

static void start(training *fit, cop_rng *rng)
{
	double bound = pow(2.0, -0.5 * (double)fit->settings->height), sum = 0.0;
	cop_dgt_network_start(fit->network, rng, fit->w);
	size_t leaves = fit->leaves * fit->outputs + (fit->settings->shared_bias ? 1 : 0);
	for (size_t i = 0; i < leaves; i++)
		fit->w[fit->factors + i] = (float)(bound * (2.0 * cop_rng_unit(rng) - 1.0));
	for (size_t i = 0; i < fit->sample->n; i++) {
		fit->order[i] = (uint32_t)cop_sample_row(fit->sample, i);
		sum += cop_sample_weight(fit->sample, fit->order[i]);
	}
	fit->weight = sum / (double)fit->sample->n;
}

/* Mean loss of the batch's predictions; gf becomes its gradient, and g's last entry that by the shared bias. */
static double batch_loss(training *fit, size_t rows, const uint32_t *row)
{
	size_t outputs = fit->outputs;
	float shared = fit->w[fit->total - 1];
	double loss = 0.0, by_shared = 0.0;
	for (size_t i = 0; i < rows; i++) {
		float *f = fit->f + i * outputs, *g = fit->gf + i * outputs;
		double share = cop_sample_weight(fit->sample, row[i]) / (fit->weight * (double)rows);
		for (size_t k = 0; k < outputs; k++)
			f[k] += shared;
		loss += share * cop_dgt_loss_row(fit->settings, fit->sample, row[i], f, g);
		for (size_t k = 0; k < outputs; k++) {
			g[k] *= (float)share;
			by_shared += (double)g[k];
		}
	}
	fit->g[fit->total - 1] = fit->settings->shared_bias ? (float)by_shared : 0.0f;
	return loss;
}

/* g += the regulariser's gradient, l1 sign(w) or l2 w. */
static void add_penalty(size_t n, float l1, float l2, const float *restrict w, float *restrict g)
{
	if (l1 > 0.0f) {
#pragma omp simd
		for (size_t i = 0; i < n; i++)
			g[i] += l1 * (float)((w[i] > 0.0f) - (w[i] < 0.0f));
	} else if (l2 > 0.0f) {
#pragma omp simd
		for (size_t i = 0; i < n; i++)
			g[i] += l2 * w[i];
	}
}

/* Adds the regulariser to the factors' gradient; returns the sum of squares of the whole. */
static double finish_gradient(training *fit)
{
	const cop_dgt_fit_settings *s = fit->settings;
	bool penalised = s->layers > 1 || s->regularise_one;
	size_t end = penalised ? fit->factors : 0;
	double squares = 0.0;
	for (size_t from = 0; from < fit->total; from += PIECE) {
		size_t n = fit->total - from < PIECE ? fit->total - from : PIECE;
		float *g = fit->g + from;
		if (from < end)
			add_penalty(end - from < n ? end - from : n, (float)s->l1, (float)s->l2, fit->w + from, g);
		squares += (double)fit->kernel->dot(n, g, g);
	}
	return squares;
}

static cop_err step(training *fit)
{
	double scale = 1.0, squares = finish_gradient(fit);
	if (fit->settings->clip > 0.0)
		scale = cop_clip_scale(squares, fit->settings->clip);
	if (!isfinite(squares) || isnan(scale))
		return COP_EDIVERGED;
	cop_optim_set_lr(fit->optim, cop_schedule_rate(&fit->schedule, fit->updates / STEPS_OF_A_RATE));
	return cop_optim_step_scaled(fit->optim, fit->w, fit->g, scale);
}

static void sharpen(training *fit)
{
	const cop_dgt_fit_settings *s = fit->settings;
	if (!s->anneal)
		return;
	double done = (double)fit->updates / (double)(s->epochs * (uint64_t)fit->updates_of_an_epoch);
	cop_dgt_paths_set_steepness(fit->paths, s->anneal_first * pow(s->anneal_last / s->anneal_first, done));
}

static cop_err update(training *fit, size_t rows, const uint32_t *row, double *loss)
{
	const float *theta = fit->w + fit->factors;
	float *dtheta = fit->g + fit->factors;
	sharpen(fit);
	cop_sample_gather(fit->sample, rows, row, fit->x);
	cop_dgt_network_forward(fit->network, fit->w, rows, fit->x, fit->a);
	cop_dgt_paths_forward(fit->paths, rows, fit->a, theta, fit->f);
	*loss = batch_loss(fit, rows, row);
	if (!isfinite(*loss))
		return COP_EDIVERGED;
	memset(dtheta, 0, fit->leaves * fit->outputs * sizeof *dtheta);
	cop_dgt_paths_backward(fit->paths, rows, fit->a, theta, fit->gf, fit->da, dtheta);
	cop_dgt_network_backward(fit->network, fit->w, rows, fit->x, fit->da, fit->g);
	cop_err err = step(fit);
	fit->updates++;
	return err;
}

/* All rows once, in random order; *loss is the mean over the updates. */
static cop_err run_epoch(training *fit, cop_rng *rng, double *loss)
{
	double sum = 0.0;
	cop_rng_shuffle(rng, fit->sample->n, fit->order);
	for (size_t from = 0; from < fit->sample->n; from += fit->batch) {
		size_t left = fit->sample->n - from, rows = left < fit->batch ? left : fit->batch;
		double part;
		cop_err err = update(fit, rows, fit->order + from, &part);
		if (err != COP_OK)
			return err;
		sum += part * (double)rows;
	}
	*loss = sum / (double)fit->sample->n;
	cop_dgt_network_collapse(fit->network, fit->w, fit->product);
	return COP_OK;
}

static float margin(const training *fit, size_t node, const cop_row *row)
{
	const float *w = fit->product + node * (fit->d + 1);
	if (row->dense != NULL)
		return fit->kernel->dot(fit->d, w, row->dense) + w[fit->d];
	float sum = w[fit->d];
	for (size_t e = 0; e < row->nnz; e++)
		sum += w[row->index[e]] * row->value[e];
	return sum;
}

/* Mean loss of the hard tree as it is now. */
static double validation_loss(training *fit)
{
	const cop_sample *sample = fit->validation;
	double loss = 0.0, weights = 0.0;
	float shared = fit->w[fit->total - 1];
	for (size_t i = 0; i < sample->n; i++) {
		size_t number = cop_sample_row(sample, i), t = 0;
		cop_row row;
		cop_dataset_row(sample->rows, number, &row);
		while (t < fit->nodes)
			t = 2 * t + 1 + (margin(fit, t, &row) >= 0.0f);
		const float *theta = fit->w + fit->factors + (t - fit->nodes) * fit->outputs;
		for (size_t k = 0; k < fit->outputs; k++)
			fit->f[k] = theta[k] + shared;
		double weight = cop_sample_weight(sample, number);
		loss += weight * cop_dgt_loss_row(fit->settings, sample, number, fit->f, fit->gf);
		weights += weight;
	}
	return loss / weights;
}

static void keep_if_better(training *fit, double loss)
{
	if (!(loss < fit->best_loss))
		return;
	fit->best_loss = loss;
	fit->best_epoch = fit->epoch;
	memcpy(fit->best_product, fit->product, fit->nodes * (fit->d + 1) * sizeof *fit->product);
	memcpy(fit->best_leaves, fit->w + fit->factors, (fit->leaves * fit->outputs + 1) * sizeof *fit->w);
}

/* Whether to go on. */
static bool report_progress(const training *fit, const cop_progress *progress, double loss, double validated)
{
	char text[128], more[64] = "";
	if (progress == NULL || progress->report == NULL)
		return true;
	if (fit->validation != NULL)
		snprintf(more, sizeof more, ", validation %.6g (best %.6g)", validated, fit->best_loss);
	snprintf(text, sizeof text, "epoch %u of %u: loss %.6g%s", fit->epoch, fit->settings->epochs, loss, more);
	return progress->report(progress->context, (double)fit->epoch / (double)fit->settings->epochs, text);
}

static cop_err run(training *fit, cop_rng *rng, const cop_progress *progress)
{
	unsigned patience = fit->settings->patience;
	for (fit->epoch = 1;; fit->epoch++) {
		double loss = 0.0, validated = 0.0;
		cop_err err = run_epoch(fit, rng, &loss);
		if (err != COP_OK)
			return err;
		if (fit->validation != NULL)
			keep_if_better(fit, validated = validation_loss(fit));
		bool tired = fit->validation != NULL && patience > 0 && fit->epoch - fit->best_epoch >= patience;
		if (!report_progress(fit, progress, loss, validated) || tired || fit->epoch == fit->settings->epochs)
			break;
	}
	return COP_OK;
}

/* The tree of the best epoch, or of the last one where none is kept. */
static cop_err make_tree(const training *fit, cop_tree **out)
{
	bool kept = fit->best_epoch > 0;
	const float *product = kept ? fit->best_product : fit->product;
	const float *leaves = kept ? fit->best_leaves : fit->w + fit->factors;
	float shared = leaves[fit->leaves * fit->outputs];
	cop_oblique_tree *tree;
	cop_err err = cop_oblique_tree_new(fit->d, fit->settings->height, fit->outputs, &tree);
	if (err != COP_OK)
		return err;
	for (size_t t = 0; t < fit->nodes; t++) {
		const float *w = product + t * (fit->d + 1);
		memcpy(cop_oblique_tree_weights(tree, t), w, fit->d * sizeof *w);
		*cop_oblique_tree_bias(tree, t) = w[fit->d];
	}
	for (size_t l = 0; l < fit->leaves; l++) {
		float *values = cop_oblique_tree_values(tree, l);
		for (size_t k = 0; k < fit->outputs; k++)
			values[k] = leaves[l * fit->outputs + k] + shared;
	}
	bool classes = fit->sample->task == COP_TASK_CLASSES;
	err = cop_tree_from_oblique(tree, classes ? COP_TREE_LOGITS : COP_TREE_VALUES, out);
	cop_oblique_tree_free(tree);
	return err == COP_ENONFINITE ? COP_EDIVERGED : err;
}

cop_err cop_dgt_fit(const cop_dgt_fit_settings *settings, const cop_sample *sample, const cop_sample *validation,
        cop_rng *rng, const cop_progress *progress, cop_dgt_fit_report *report, cop_tree **out)
{
	*out = NULL;
	if (!settings_are_valid(settings) || !loss_fits(settings, sample->task) || !cop_sample_is_valid(sample))
		return COP_EINVAL;
	if (validation != NULL && (validation->task != sample->task || validation->outputs != sample->outputs ||
	                                  validation->rows->d != sample->rows->d || !cop_sample_is_valid(validation)))
		return COP_EINVAL;
	training fit = { .settings = settings, .sample = sample, .validation = validation };
	cop_err err = fit_init(&fit);
	if (err == COP_OK) {
		start(&fit, rng);
		err = run(&fit, rng, progress);
	}
	if (err == COP_OK)
		err = make_tree(&fit, out);
	if (err == COP_OK && report != NULL)
		*report = (cop_dgt_fit_report){ .validation_loss = validation != NULL ? fit.best_loss : (double)NAN,
			.best_epoch = fit.best_epoch > 0 ? fit.best_epoch : fit.epoch,
			.epochs = fit.epoch,
			.updates = fit.updates };
	fit_fini(&fit);
	return err;
}
