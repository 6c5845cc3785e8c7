/* All parameters lie in one array w as a cop_latent takes them, their gradients in g, stepped by one optimiser.
 *
 * An update: gather the rows [x; 1], values of the splits, routing of the batch, predictor of [x; z], loss gradients,
 * and back. After an epoch the reference rows give a, with which the model is judged as it would be used; `best` is the
 * best so far. */
#include "train/latent_fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/blas.h"
#include "optim/optim.h"
#include "train/latent_routing.h"
#include "train/mlp.h"
#include "train/row_loss.h"

#define REFERENCE  4096 /* rows, at most, by which splits start and a is found */
#define MAX_BATCH  ((size_t)1 << 16)
#define PROGRESS   2    /* epochs without any, after which the rate falls */
#define LEAST_RATE 1e-3 /* of the first one */

typedef struct training {
	const cop_latent_settings *settings;
	const cop_sample *sample, *validation;
	cop_pool *pool;
	cop_latent_shape shape;
	size_t splits, nodes, inputs; /* B, T, d + T */
	size_t batch, reference;
	size_t weights, split_weights; /* numbers in w: all, of the splits */
	double mean_weight;            /* of the sample's rows */
	cop_latent_routing *routing;
	cop_mlp *mlp;
	cop_optim *optim;
	cop_latent *best;
	uint32_t *order, *fixed; /* n rows of the sample; the reference's */
	float *w, *g;
	float *x;              /* most x (d + 1), most of batch and reference */
	float *split, *dsplit; /* B x most */
	float *input, *dinput; /* most x inputs */
	float *f, *gf;         /* batch x K */
	double *a;
	double best_loss;
	unsigned best_epoch, epoch, stale;
	double lr;
} training;

void cop_latent_fit_defaults(cop_latent_settings *settings)
{
	*settings = (cop_latent_settings){ .depth = 5,
		.lambda = 1.0,
		.layers = 3,
		.width = 64,
		.batch = 64,
		.epochs = 100,
		.patience = 10,
		.lr = 1e-2 };
}

static bool settings_are_valid(const cop_latent_settings *s)
{
	return s->depth >= 1 && s->depth <= COP_LATENT_MAX_DEPTH && s->lambda > 0.0 && isfinite(s->lambda) &&
	       s->layers >= 1 && s->batch >= 1 && s->batch <= MAX_BATCH && s->epochs >= 1 && s->lr >= 0.0 &&
	       s->lr <= 1e3;
}

static bool samples_fit(const cop_sample *sample, const cop_sample *validation)
{
	if (sample->task == COP_TASK_COSTS || !cop_sample_is_valid(sample))
		return false;
	return validation == NULL || (validation->task == sample->task && validation->outputs == sample->outputs &&
	                                     validation->rows->d == sample->rows->d && cop_sample_is_valid(validation));
}

static void fit_fini(training *fit)
{
	float *arrays[] = { fit->w, fit->g, fit->x, fit->split, fit->dsplit, fit->input, fit->dinput, fit->f, fit->gf };
	cop_latent_routing_free(fit->routing);
	cop_mlp_free(fit->mlp);
	cop_optim_free(fit->optim);
	cop_latent_free(fit->best);
	cop_mem_free(fit->order);
	cop_mem_free(fit->fixed);
	cop_mem_free(fit->a);
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
}

static bool allocate(training *fit, size_t most)
{
	const size_t outputs = fit->shape.outputs;
	return (fit->order = cop_mem_alloc(fit->sample->n, sizeof *fit->order)) != NULL &&
	       (fit->fixed = cop_mem_alloc(fit->reference, sizeof *fit->fixed)) != NULL &&
	       (fit->w = cop_mem_alloc(fit->weights, sizeof *fit->w)) != NULL &&
	       (fit->g = cop_mem_alloc(fit->weights, sizeof *fit->g)) != NULL &&
	       (fit->x = cop_mem_alloc(most, (fit->shape.d + 1) * sizeof *fit->x)) != NULL &&
	       (fit->split = cop_mem_alloc(most, fit->splits * sizeof *fit->split)) != NULL &&
	       (fit->dsplit = cop_mem_alloc(most, fit->splits * sizeof *fit->dsplit)) != NULL &&
	       (fit->input = cop_mem_alloc(most, fit->inputs * sizeof *fit->input)) != NULL &&
	       (fit->dinput = cop_mem_alloc(most, fit->inputs * sizeof *fit->dinput)) != NULL &&
	       (fit->f = cop_mem_alloc(fit->batch, outputs * sizeof *fit->f)) != NULL &&
	       (fit->gf = cop_mem_alloc(fit->batch, outputs * sizeof *fit->gf)) != NULL &&
	       (fit->a = cop_mem_alloc(fit->nodes, sizeof *fit->a)) != NULL;
}

static cop_err make_parts(training *fit, size_t most)
{
	const cop_latent_settings *s = fit->settings;
	cop_mlp_shape mlp = { .layers = s->layers, .dropout = s->dropout, .rows = fit->batch };
	cop_optim_settings optim;
	cop_err err = cop_latent_weights(&fit->shape, &fit->weights);
	for (unsigned l = 0; err == COP_OK && l <= s->layers; l++)
		mlp.size[l] = cop_latent_layer_inputs(&fit->shape, l);
	if (err == COP_OK)
		err = cop_mlp_new(&mlp, &fit->mlp);
	if (err == COP_OK)
		err = cop_latent_routing_new(s->depth, most, s->elu, &fit->routing);
	if (err == COP_OK)
		err = cop_optim_defaults("qhadam", &optim);
	optim.lr = fit->lr = s->lr;
	return err == COP_OK ? cop_optim_new("qhadam", &optim, 1, fit->weights, &fit->optim) : err;
}

static cop_err fit_init(training *fit)
{
	const cop_latent_settings *s = fit->settings;
	const cop_sample *sample = fit->sample;
	fit->shape = (cop_latent_shape){ .d = sample->rows->d,
		.outputs = sample->outputs,
		.link = sample->task == COP_TASK_CLASSES ? COP_TREE_LOGITS : COP_TREE_VALUES,
		.depth = s->depth,
		.elu = s->elu,
		.layers = s->layers,
		.width = s->width };
	fit->splits = ((size_t)1 << s->depth) - 1;
	fit->nodes = 2 * fit->splits + 1;
	fit->inputs = fit->shape.d + fit->nodes;
	fit->split_weights = fit->splits * (fit->shape.d + 1);
	fit->batch = s->batch < sample->n ? s->batch : sample->n;
	fit->reference = sample->n < REFERENCE ? sample->n : REFERENCE;
	fit->best_loss = (double)INFINITY;
	const size_t most = fit->batch > fit->reference ? fit->batch : fit->reference;
	cop_err err = make_parts(fit, most);
	if (err != COP_OK)
		return err;
	return allocate(fit, most) ? COP_OK : COP_ENOMEM;
}

/* ---- the start ---- */

/* A random direction for split t, by the rows that reach it (place[i] == t, of fit->reference): mean 0, deviation 1.
 * They go on to its children. */
static void start_split(training *fit, size_t t, uint32_t *place, cop_rng *rng)
{
	const size_t d = fit->shape.d;
	float *w = fit->w + t * (d + 1), *s = fit->split;
	double sum = 0.0, squares = 0.0, n = 0.0;
	for (size_t j = 0; j < d; j++)
		w[j] = (float)cop_rng_normal(rng);
	w[d] = 0.0f;
	cop_blas_gemv(fit->reference, d + 1, 1.0f, fit->x, w, 0.0f, s);
	for (size_t i = 0; i < fit->reference; i++)
		if (place[i] == t) {
			n += 1.0;
			sum += (double)s[i];
			squares += (double)s[i] * (double)s[i];
		}
	const double mean = n > 0.0 ? sum / n : 0.0, variance = n > 0.0 ? squares / n - mean * mean : 0.0;
	const double scale = variance > 1e-12 ? 1.0 / sqrt(variance) : 1.0 / sqrt((double)d);
	for (size_t j = 0; j < d; j++)
		w[j] *= (float)scale;
	w[d] = (float)(-mean * scale);
	for (size_t i = 0; i < fit->reference; i++)
		if (place[i] == t)
			place[i] = (uint32_t)(2 * t + 1 + ((double)s[i] >= mean));
}

static cop_err start(training *fit, cop_rng *rng)
{
	uint32_t *place = cop_mem_alloc(fit->reference, sizeof *place);
	if (place == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < fit->sample->n; i++) {
		fit->order[i] = (uint32_t)cop_sample_row(fit->sample, i);
		fit->mean_weight += cop_sample_weight(fit->sample, fit->order[i]) / (double)fit->sample->n;
	}
	cop_rng_shuffle(rng, fit->sample->n, fit->order);
	memcpy(fit->fixed, fit->order, fit->reference * sizeof *fit->fixed);
	cop_sample_gather(fit->sample, fit->reference, fit->fixed, fit->x);
	for (size_t t = 0; t < fit->splits; t++)
		start_split(fit, t, place, rng);
	cop_mlp_start(fit->mlp, rng, fit->w + fit->split_weights);
	cop_mem_free(place);
	return COP_OK;
}

/* ---- updates ---- */

static double row_loss(const training *fit, size_t row, const float *f, float *g)
{
	const cop_sample *s = fit->sample;
	if (s->task == COP_TASK_CLASSES)
		return cop_row_loss_cross_entropy(s->outputs, s->label[row], f, g);
	return cop_row_loss_squared(s->outputs, s->target + row * s->outputs, f, g);
}

/* Weighted mean loss of the batch's predictions; gf becomes its gradient. */
static double batch_loss(training *fit, size_t rows, const uint32_t *row)
{
	const size_t outputs = fit->shape.outputs;
	double loss = 0.0;
	for (size_t i = 0; i < rows; i++) {
		float *g = fit->gf + i * outputs;
		const double share = cop_sample_weight(fit->sample, row[i]) / (fit->mean_weight * (double)rows);
		loss += share * row_loss(fit, row[i], fit->f + i * outputs, g);
		for (size_t k = 0; k < outputs; k++)
			g[k] *= (float)share;
	}
	return loss;
}

static void find_splits(training *fit, size_t rows, const uint32_t *row)
{
	cop_sample_gather(fit->sample, rows, row, fit->x);
	cop_blas_gemm(false, true, fit->splits, rows, fit->shape.d + 1, 1.0f, fit->w, fit->x, 0.0f, fit->split);
}

static cop_err update(training *fit, size_t rows, const uint32_t *row, cop_rng *rng, double *loss)
{
	const size_t d = fit->shape.d;
	float *predictor = fit->w + fit->split_weights;
	/* A batch that is cut short has a penalty in proportion. */
	const double lambda = fit->settings->lambda * (double)rows / (double)fit->batch;
	find_splits(fit, rows, row);
	cop_latent_routing_solve(
	        fit->routing, rows, fit->split, lambda, fit->pool, fit->a, fit->input + d, fit->inputs);
	for (size_t i = 0; i < rows; i++)
		memcpy(fit->input + i * fit->inputs, fit->x + i * (d + 1), d * sizeof *fit->x);
	cop_mlp_forward(fit->mlp, predictor, rows, fit->input, rng, fit->f);
	*loss += batch_loss(fit, rows, row) * (double)rows;
	cop_mlp_backward(fit->mlp, predictor, rows, fit->input, fit->gf, fit->g + fit->split_weights, fit->dinput);
	cop_latent_routing_gradient(fit->routing, fit->split, fit->a, fit->dinput + d, fit->inputs, fit->dsplit);
	cop_blas_gemm(false, false, fit->splits, d + 1, rows, 1.0f, fit->dsplit, fit->x, 0.0f, fit->g);
	return cop_optim_step(fit->optim, fit->w, fit->g);
}

static cop_err run_epoch(training *fit, cop_rng *rng, double *loss)
{
	const size_t n = fit->sample->n;
	cop_err err = COP_OK;
	cop_rng_shuffle(rng, n, fit->order);
	for (size_t from = 0; from < n && err == COP_OK; from += fit->batch)
		err = update(fit, n - from < fit->batch ? n - from : fit->batch, fit->order + from, rng, loss);
	*loss /= (double)n;
	return err;
}

/* ---- judging ---- */

/* The model of now, with a of the reference rows. */
static cop_err make_model(training *fit, cop_latent **out)
{
	const double lambda = fit->settings->lambda * (double)fit->reference / (double)fit->batch;
	find_splits(fit, fit->reference, fit->fixed);
	cop_latent_routing_solve(fit->routing, fit->reference, fit->split, lambda, fit->pool, fit->a,
	        fit->input + fit->shape.d, fit->inputs);
	return cop_latent_new(&fit->shape, fit->w, fit->a, out);
}

/* Mean loss of the validation's rows. */
static double judge(training *fit, const cop_latent *model)
{
	const cop_sample *v = fit->validation;
	const size_t outputs = fit->shape.outputs;
	double sum = 0.0, weights = 0.0;
	for (size_t i = 0; i < v->n; i++) {
		const size_t number = cop_sample_row(v, i);
		const double weight = cop_sample_weight(v, number);
		cop_row row;
		cop_dataset_row(v->rows, number, &row);
		cop_latent_predict(model, &row, fit->f);
		const double loss =
		        v->task == COP_TASK_CLASSES
		                ? -log(fmax((double)fit->f[v->label[number]], 1e-30))
		                : cop_row_loss_squared(outputs, v->target + number * outputs, fit->f, fit->gf);
		sum += weight * loss;
		weights += weight;
	}
	return sum / weights;
}

/* After an epoch: keeps the model if it is the best, lowers the rate when progress has stopped. */
static cop_err keep_if_better(training *fit, double *loss)
{
	cop_latent *model;
	cop_err err = make_model(fit, &model);
	if (err != COP_OK)
		return err == COP_ENONFINITE ? COP_EDIVERGED : err;
	*loss = fit->validation != NULL ? judge(fit, model) : (double)NAN;
	if (fit->validation == NULL || *loss < fit->best_loss) {
		cop_latent_free(fit->best);
		fit->best = model;
		fit->best_loss = *loss;
		fit->best_epoch = fit->epoch;
		fit->stale = 0;
		return COP_OK;
	}
	cop_latent_free(model);
	if (++fit->stale % PROGRESS == 0 && fit->lr > LEAST_RATE * fit->settings->lr)
		cop_optim_set_lr(fit->optim, fit->lr *= 0.1);
	return COP_OK;
}

static bool report_progress(const training *fit, const cop_progress *progress, double loss)
{
	char text[128], more[64] = "";
	if (progress == NULL || progress->report == NULL)
		return true;
	if (fit->validation != NULL)
		snprintf(more, sizeof more, ", validation at best %.6g", fit->best_loss);
	snprintf(text, sizeof text, "epoch %u of %u: loss %.6g%s", fit->epoch, fit->settings->epochs, loss, more);
	return progress->report(progress->context, (double)fit->epoch / (double)fit->settings->epochs, text);
}

static cop_err run(training *fit, cop_rng *rng, const cop_progress *progress)
{
	const unsigned patience = fit->settings->patience;
	for (fit->epoch = 1;; fit->epoch++) {
		double loss = 0.0, validated = 0.0;
		cop_err err = run_epoch(fit, rng, &loss);
		if (err == COP_OK)
			err = keep_if_better(fit, &validated);
		if (err != COP_OK)
			return err;
		if (!report_progress(fit, progress, loss) || fit->epoch == fit->settings->epochs ||
		        (patience > 0 && fit->stale >= patience))
			return COP_OK;
	}
}

static double share_kept(const cop_latent *model)
{
	size_t kept = 0;
	for (size_t t = 0; t < cop_latent_nodes(model); t++)
		kept += cop_latent_kept(model)[t] > 0.0f;
	return (double)kept / (double)cop_latent_nodes(model);
}

cop_err cop_latent_fit(const cop_latent_settings *settings, const cop_sample *sample, const cop_sample *validation,
        cop_pool *pool, cop_rng *rng, const cop_progress *progress, cop_latent_report *report, cop_latent **out)
{
	*out = NULL;
	if (!settings_are_valid(settings) || !samples_fit(sample, validation))
		return COP_EINVAL;
	training fit = { .settings = settings, .sample = sample, .validation = validation, .pool = pool };
	cop_err err = fit_init(&fit);
	if (err == COP_OK)
		err = start(&fit, rng);
	if (err == COP_OK)
		err = run(&fit, rng, progress);
	if (err == COP_OK && fit.best == NULL) /* no validation loss was a number */
		err = COP_EDIVERGED;
	if (err == COP_OK && report != NULL)
		*report = (cop_latent_report){ .validation_loss = fit.best_loss,
			.best_epoch = fit.best_epoch,
			.epochs = fit.epoch,
			.kept = share_kept(fit.best) };
	if (err == COP_OK) {
		*out = fit.best;
		fit.best = NULL;
	}
	fit_fini(&fit);
	return err;
}
