/* Whole fits on small data: one step against Algorithm 2, what is learned, what is kept, what is refused. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/blas.h"
#include "train/dgt_fit.h"
#include "train/dgt_network.h"
#include "unit/train/naive_tree.h"

#define N 240

typedef struct problem {
	cop_dataset *rows;
	uint32_t label[N];
	float target[2 * N], weight[N];
	uint32_t order[N];
	cop_sample sample, validation;
	cop_dgt_fit_settings settings;
} problem;

/* Points in a square; the class is whether both coordinates have the same sign, the values are smooth and not. */
static void make(problem *p, cop_task task, bool sparse)
{
	cop_rng rng;
	cop_rng_init(&rng, 61, 0);
	*p = (problem){ .rows = NULL };
	assert_int_equal(sparse ? cop_dataset_new_sparse(&p->rows) : cop_dataset_new_dense(3, &p->rows), COP_OK);
	for (uint32_t i = 0; i < N; i++) {
		static const uint32_t index[] = { 0, 1, 2 };
		float x[3] = { (float)(2.0 * cop_rng_unit(&rng) - 1.0), (float)(2.0 * cop_rng_unit(&rng) - 1.0),
			0.25f };
		assert_int_equal(sparse ? cop_dataset_push_sparse(p->rows, 3, index, x, 0.0)
		                        : cop_dataset_push_dense(p->rows, x, 0.0),
		        COP_OK);
		p->label[i] = (x[0] > 0.0f) == (x[1] > 0.0f);
		p->target[2 * i] = 0.5f + 0.4f * x[0];
		p->target[2 * i + 1] = p->label[i] ? 0.9f : 0.1f;
		p->weight[i] = 1.0f;
		p->order[i] = i;
	}
	p->sample = (cop_sample){
		.rows = p->rows, .n = N, .task = task, .outputs = 2, .label = p->label, .target = p->target
	};
	p->validation = p->sample;
	cop_dgt_fit_defaults(task, &p->settings);
	p->settings.height = 3;
	p->settings.width = 12;
	p->settings.batch = 16;
	p->settings.epochs = 60;
}

static void divide(problem *p, size_t validation)
{
	p->sample.row = p->order + validation;
	p->sample.n = N - validation;
	p->validation.row = p->order;
	p->validation.n = validation;
}

static cop_err try_fit(problem *p, uint64_t seed, cop_dgt_fit_report *report, cop_tree **tree)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	return cop_dgt_fit(
	        &p->settings, &p->sample, p->validation.row != NULL ? &p->validation : NULL, &rng, NULL, report, tree);
}

static cop_tree *fit(problem *p, uint64_t seed, cop_dgt_fit_report *report)
{
	cop_tree *tree;
	assert_int_equal(try_fit(p, seed, report, &tree), COP_OK);
	assert_non_null(tree);
	return tree;
}

/* Share of wrong classes, or root mean squared error over both outputs. */
static double error_of(const problem *p, const cop_tree *tree)
{
	double sum = 0.0;
	for (size_t i = 0; i < N; i++) {
		cop_row row;
		float out[2];
		cop_dataset_row(p->rows, i, &row);
		if (p->sample.task == COP_TASK_CLASSES) {
			sum += cop_tree_class(tree, &row) != p->label[i];
			continue;
		}
		cop_tree_predict(tree, &row, out);
		for (size_t k = 0; k < 2; k++)
			sum += pow((double)out[k] - (double)p->target[2 * i + k], 2.0);
	}
	return p->sample.task == COP_TASK_CLASSES ? sum / N : sqrt(sum / (2.0 * N));
}

static void assert_same_tree(const cop_tree *a, const cop_tree *b, bool same)
{
	cop_bytes one, other;
	cop_bytes_init(&one);
	cop_bytes_init(&other);
	cop_tree_save(a, &one);
	cop_tree_save(b, &other);
	assert_int_equal(one.err, COP_OK);
	assert_int_equal(one.length == other.length && memcmp(one.data, other.data, one.length) == 0, same);
	cop_bytes_fini(&one);
	cop_bytes_fini(&other);
}

enum {
	H = 3,
	NODES = 7,
	LEAVES = 8,
	D = 3,
	WIDTH = 5,
	FACTORS = WIDTH * (D + 1) + WIDTH * (WIDTH + 1) + NODES * (WIDTH + 1)
};

static void make_one_step(problem *p, bool collapsed)
{
	cop_dgt_fit_settings *s = &p->settings;
	make(p, COP_TASK_CLASSES, false);
	s->layers = 3;
	s->width = WIDTH;
	s->gradients = collapsed ? COP_DGT_COLLAPSED : COP_DGT_LAYERED;
	s->optimiser = "sgd";
	s->lr = s->minimum_lr = 0.5;
	s->clip = 0.0;
	s->l2 = 0.01;
	s->batch = N;
	s->epochs = 1;
	p->sample.weight = p->weight;
	for (size_t i = 0; i < N; i++)
		p->weight[i] = (float)(i % 4);
}

/* Row i's part: gradients da of its margins, added to dtheta those of the leaves; by sums over all leaves. */
static void naive_row(
        const problem *p, size_t i, const float *w, const float *theta, float *x, float *da, double *dtheta)
{
	memcpy(x, p->rows->x + D * i, D * sizeof *x);
	x[D] = 1.0f;
	double margin[NAIVE_LEAVES], u[LEAVES], slope[NODES], g[2], share = (double)p->weight[i] / (1.5 * N);
	naive_margins(D, WIDTH, NODES, 3, w, x, margin);
	size_t leaf = naive_leaf(H, margin);
	double odds = exp((double)theta[2 * leaf + 1] - (double)theta[2 * leaf]);
	g[1] = share * (odds / (1.0 + odds) - (double)p->label[i]);
	g[0] = -g[1];
	for (size_t l = 0; l < LEAVES; l++)
		u[l] = g[0] * (double)theta[2 * l] + g[1] * (double)theta[2 * l + 1];
	dtheta[2 * leaf] += g[0];
	dtheta[2 * leaf + 1] += g[1];
	naive_backward(H, 1.0, margin, u, slope);
	for (size_t t = 0; t < NODES; t++)
		da[t * N + i] = (float)slope[t];
}

/* The tree after one full batch by plain SGD, from starting weights drawn as the fit draws them. */
static void naive_step(const problem *p, cop_rng *rng, float *product, double *theta)
{
	static float x[N * (D + 1)], a[N * NODES], da[N * NODES];
	float w[FACTORS], g[FACTORS], start[2 * LEAVES];
	double dtheta[2 * LEAVES] = { 0.0 };
	cop_dgt_network_shape shape = { .d = D, .width = WIDTH, .nodes = NODES, .layers = 3, .rows = N };
	cop_dgt_network *network;
	assert_int_equal(cop_dgt_network_new(&shape, &network), COP_OK);
	cop_dgt_network_start(network, rng, w);
	for (size_t i = 0; i < 2 * LEAVES; i++)
		start[i] = (float)(pow(2.0, -1.5) * (2.0 * cop_rng_unit(rng) - 1.0));
	for (size_t i = 0; i < N; i++)
		naive_row(p, i, w, start, x + (D + 1) * i, da, dtheta);
	cop_dgt_network_forward(network, w, N, x, a);
	cop_dgt_network_backward(network, w, N, x, da, g);
	for (size_t k = 0; k < FACTORS; k++)
		w[k] -= 0.5f * (g[k] + 0.01f * w[k]);
	cop_dgt_network_collapse(network, w, product);
	for (size_t i = 0; i < 2 * LEAVES; i++)
		theta[i] = (double)start[i] - 0.5 * dtheta[i];
	cop_dgt_network_free(network);
}

static void check_step(problem *p)
{
	float product[NODES * (D + 1)];
	double theta[2 * LEAVES];
	cop_rng rng;
	cop_rng_init(&rng, 7, 0);
	naive_step(p, &rng, product, theta);
	cop_tree *tree = fit(p, 7, NULL);
	const cop_tree_parts *parts = cop_tree_view(tree);
	assert_int_equal(parts->nodes.count, NODES);
	for (size_t t = 0; t < NODES; t++) {
		const float *weight = parts->nodes.weight + parts->nodes.start[t];
		for (size_t j = 0; j < D; j++)
			assert_true(fabsf(weight[j] - product[t * (D + 1) + j]) < 1e-5f);
		assert_true(fabsf(parts->nodes.bias[t] - product[t * (D + 1) + D]) < 1e-5f);
	}
	for (size_t i = 0; i < 2 * LEAVES; i++)
		assert_true(fabs((double)parts->rows.bias[i] - theta[i]) < 1e-5);
	cop_tree_free(tree);
}

static void test_fit_one_step_equals_algorithm_2(void **state)
{
	(void)state;
	static problem p;
	for (int collapsed = 0; collapsed < 2; collapsed++) {
		make_one_step(&p, collapsed);
		check_step(&p);
		cop_dataset_free(p.rows);
	}
}

static void test_fit_exclusive_or_is_learned(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	for (unsigned layers = 1; layers <= 3; layers += 2)
		for (int bias = 0; bias < 2; bias++) {
			p.settings.layers = layers;
			p.settings.shared_bias = p.settings.scaled_quantiser = bias;
			cop_tree *tree = fit(&p, 1, NULL);
			if (error_of(&p, tree) > 0.05)
				fail_msg("layers %u bias %d: error %g", layers, bias, error_of(&p, tree));
			cop_tree_free(tree);
		}
	cop_dataset_free(p.rows);
}

static void test_fit_several_values_are_learned_with_either_loss(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_VALUES, false);
	p.settings.height = 4;
	p.settings.l1 = 1e-5;
	p.settings.momentum = 0.3;
	p.settings.epochs = 100;
	for (int huber = 0; huber < 2; huber++) {
		p.settings.loss = huber ? COP_DGT_HUBER : COP_DGT_SQUARED;
		p.settings.shared_bias = huber;
		cop_tree *tree = fit(&p, 2, NULL);
		assert_int_equal(cop_tree_view(tree)->link, COP_TREE_VALUES);
		if (error_of(&p, tree) > 0.2)
			fail_msg("huber %d: error %g", huber, error_of(&p, tree));
		cop_tree_free(tree);
	}
	cop_dataset_free(p.rows);
}

static void test_fit_ablations_learn(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_VALUES, false);
	for (int form = 1; form < 4; form++) {
		p.settings.product_paths = form & 1;
		p.settings.anneal = form & 2;
		cop_tree *tree = fit(&p, 3, NULL);
		if (error_of(&p, tree) > 0.28)
			fail_msg("form %d: error %g", form, error_of(&p, tree));
		cop_tree_free(tree);
	}
	cop_dataset_free(p.rows);
}

/* The squared loss, as a caller may write it. */
static double own_loss(void *context, size_t row, const float *f, float *g)
{
	const problem *p = context;
	double sum = 0.0;
	for (size_t k = 0; k < 2; k++) {
		double error = (double)f[k] - (double)p->target[2 * row + k];
		sum += error * error;
		g[k] = (float)(2.0 * error * 0.5);
	}
	return 0.5 * sum;
}

static void test_fit_custom_loss_equals_the_library_s_own(void **state)
{
	(void)state;
	static problem p;
	cop_dgt_fit_report want, got;
	make(&p, COP_TASK_VALUES, false);
	divide(&p, 60);
	p.settings.epochs = 5;
	cop_tree *own = fit(&p, 4, &want);
	p.settings.loss = COP_DGT_CUSTOM;
	p.settings.custom = own_loss;
	p.settings.custom_context = &p;
	cop_tree *custom = fit(&p, 4, &got);
	assert_same_tree(own, custom, true);
	assert_true(want.validation_loss == got.validation_loss && want.best_epoch == got.best_epoch);
	cop_tree_free(own);
	cop_tree_free(custom);
	cop_dataset_free(p.rows);
}

static double broken_loss(void *context, size_t row, const float *f, float *g)
{
	(void)row;
	(void)f;
	bool loss = *(const bool *)context;
	g[0] = g[1] = loss ? 0.0f : INFINITY;
	return loss ? (double)NAN : 0.0;
}

static void test_fit_nonfinite_loss_or_gradient_is_diverged(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_VALUES, false);
	p.settings.loss = COP_DGT_CUSTOM;
	p.settings.custom = broken_loss;
	for (int kind = 0; kind < 2; kind++)
		for (int clip = 0; clip < 2; clip++) {
			bool loss = kind;
			cop_tree *tree;
			p.settings.custom_context = &loss;
			p.settings.clip = clip ? 0.01 : 0.0;
			assert_int_equal(try_fit(&p, 1, NULL, &tree), COP_EDIVERGED);
			assert_null(tree);
		}
	cop_dataset_free(p.rows);
}

static void test_fit_equal_seeds_give_equal_trees(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	p.settings.epochs = 5;
	cop_tree *one = fit(&p, 5, NULL), *again = fit(&p, 5, NULL), *other = fit(&p, 6, NULL);
	assert_same_tree(one, again, true);
	assert_same_tree(one, other, false);
	cop_tree_free(one);
	cop_tree_free(again);
	cop_tree_free(other);
	cop_dataset_free(p.rows);
}

/* A warm restart comes every other move of the rate at the most often, however many are asked for; few come more
 * seldom. */
static void test_fit_restarts_divide_the_moves_of_the_rate(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	cop_tree *tree[4];
	static const unsigned restarts[4] = { 0, 1, 1000, 2000 };
	for (size_t i = 0; i < 4; i++) {
		p.settings.restarts = restarts[i];
		tree[i] = fit(&p, 5, NULL);
	}
	assert_same_tree(tree[0], tree[1], false);
	assert_same_tree(tree[1], tree[2], false);
	assert_same_tree(tree[2], tree[3], true);
	for (size_t i = 0; i < 4; i++)
		cop_tree_free(tree[i]);
	cop_dataset_free(p.rows);
}

/* The rate of ten mini-batches is one, however low the least is; that of the eleventh is another. */
static void test_fit_rate_moves_every_ten_mini_batches(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	divide(&p, 80); /* ten mini-batches of an epoch */
	for (unsigned epochs = 1; epochs <= 2; epochs++) {
		cop_tree *tree[2];
		p.settings.epochs = epochs;
		for (size_t i = 0; i < 2; i++) {
			p.settings.minimum_lr = i == 0 ? p.settings.lr : 0.1 * p.settings.lr;
			tree[i] = fit(&p, 5, NULL);
		}
		assert_same_tree(tree[0], tree[1], epochs == 1);
		cop_tree_free(tree[0]);
		cop_tree_free(tree[1]);
	}
	cop_dataset_free(p.rows);
}

static void test_fit_sparse_rows_give_the_tree_of_dense_ones(void **state)
{
	(void)state;
	static problem dense, sparse;
	cop_dgt_fit_report a, b;
	make(&dense, COP_TASK_CLASSES, false);
	make(&sparse, COP_TASK_CLASSES, true);
	divide(&dense, 50);
	divide(&sparse, 50);
	dense.settings.epochs = sparse.settings.epochs = 4;
	cop_tree *one = fit(&dense, 7, &a), *other = fit(&sparse, 7, &b);
	assert_same_tree(one, other, true);
	assert_true(fabs(a.validation_loss - b.validation_loss) < 1e-5);
	cop_tree_free(one);
	cop_tree_free(other);
	cop_dataset_free(dense.rows);
	cop_dataset_free(sparse.rows);
}

/* A row of weight 0 says nothing, so its label may be anything. */
static void test_fit_rows_without_weight_do_not_count(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	p.settings.epochs = 3;
	p.sample.weight = p.weight;
	for (size_t i = 0; i < N; i += 3)
		p.weight[i] = 0.0f;
	cop_tree *one = fit(&p, 8, NULL);
	for (size_t i = 0; i < N; i += 3)
		p.label[i] = 1 - p.label[i];
	cop_tree *other = fit(&p, 8, NULL);
	assert_same_tree(one, other, true);
	p.label[1] = 1 - p.label[1];
	cop_tree *third = fit(&p, 8, NULL);
	assert_same_tree(one, third, false);
	cop_tree_free(one);
	cop_tree_free(other);
	cop_tree_free(third);
	cop_dataset_free(p.rows);
}

typedef struct watch {
	unsigned calls, stop_at;
	double share, best;
	char text[128];
} watch;

static bool see(void *context, double share, const char *text)
{
	watch *w = context;
	const char *validation = strstr(text, "validation ");
	double loss;
	assert_true(share > w->share && share <= 1.0 && strchr(text, '\n') == NULL);
	w->share = share;
	snprintf(w->text, sizeof w->text, "%s", text);
	if (validation != NULL && sscanf(validation, "validation %lf", &loss) == 1 && loss < w->best)
		w->best = loss;
	return ++w->calls != w->stop_at;
}

/* What the tree itself loses on the validation rows is the least that any epoch did, and what is reported. */
static void test_fit_validation_keeps_the_best_epoch(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_VALUES, false);
	divide(&p, 80);
	p.settings.lr = 0.03; /* restless, but what is learned tells the rows apart */
	p.settings.minimum_lr = 0.01;
	p.settings.epochs = 60;
	watch w = { .best = 1e9 };
	cop_progress progress = { see, &w };
	cop_dgt_fit_report report;
	cop_tree *tree;
	cop_rng rng;
	cop_rng_init(&rng, 9, 0);
	assert_int_equal(cop_dgt_fit(&p.settings, &p.sample, &p.validation, &rng, &progress, &report, &tree), COP_OK);
	double loss = 0.0;
	for (size_t i = 0; i < 80; i++) {
		cop_row row;
		float out[2], g[2];
		cop_dataset_row(p.rows, i, &row);
		cop_tree_predict(tree, &row, out);
		loss += own_loss(&p, i, out, g) / 80.0;
	}
	assert_true(loss < 0.06); /* of one leaf it is above 0.1 */
	assert_true(fabs(loss - report.validation_loss) < 1e-6);
	assert_true(fabs(w.best - report.validation_loss) < 1e-5);
	assert_int_equal(w.calls, 60);
	assert_true(w.share == 1.0);
	assert_int_equal(report.epochs, 60);
	assert_int_equal(report.updates, 60 * 10);
	assert_true(report.best_epoch >= 1 && report.best_epoch < 60);
	cop_tree_free(tree);
	cop_dataset_free(p.rows);
}

static void test_fit_patience_and_progress_end_it_early(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_VALUES, false);
	divide(&p, 80);
	cop_dgt_fit_report report;
	cop_rng rng;
	p.settings.patience = 2;
	p.settings.lr = 0.3;
	p.settings.minimum_lr = 0.3;
	p.settings.epochs = 1000;
	cop_tree_free(fit(&p, 9, &report));
	assert_true(report.epochs == report.best_epoch + 2 && report.epochs < 1000);
	watch w = { .stop_at = 3 };
	cop_progress progress = { see, &w };
	cop_tree *tree;
	cop_rng_init(&rng, 1, 0);
	p.settings.patience = 0;
	assert_int_equal(cop_dgt_fit(&p.settings, &p.sample, NULL, &rng, &progress, &report, &tree), COP_OK);
	assert_int_equal(report.epochs, 3);
	assert_int_equal(report.best_epoch, 3);
	assert_true(isnan(report.validation_loss));
	assert_null(strstr(w.text, "validation"));
	cop_tree_free(tree);
	cop_dataset_free(p.rows);
}

/* One fit with something spoilt, then as it was. */
#define REFUSED(...)                                                                                                   \
	do {                                                                                                           \
		cop_dgt_fit_settings good = p.settings;                                                                \
		cop_tree *tree;                                                                                        \
		p.settings.__VA_ARGS__;                                                                                \
		assert_int_equal(try_fit(&p, 1, NULL, &tree), COP_EINVAL);                                             \
		assert_null(tree);                                                                                     \
		p.settings = good;                                                                                     \
	} while (0)

static void test_fit_bad_settings_are_refused(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	REFUSED(height = 0);
	REFUSED(height = 13);
	REFUSED(layers = 0);
	REFUSED(layers = COP_DGT_FIT_MAX_LAYERS + 1);
	REFUSED(loss = COP_DGT_SQUARED);
	REFUSED(loss = COP_DGT_HUBER);
	REFUSED(loss = COP_DGT_CUSTOM);
	REFUSED(loss = COP_DGT_LOSSES);
	REFUSED(batch = 0);
	REFUSED(batch = SIZE_MAX);
	REFUSED(epochs = 0);
	REFUSED(optimiser = NULL);
	REFUSED(optimiser = "none");
	REFUSED(lr = -1.0);
	REFUSED(lr = (double)INFINITY);
	REFUSED(minimum_lr = 1.0);
	REFUSED(momentum = 1.0);
	REFUSED(clip = -1.0);
	REFUSED(clip = (double)NAN);
	REFUSED(l1 = -1e-6);
	REFUSED(l2 = -1e-6);
	REFUSED(lr = 1.1e6);
	REFUSED(minimum_lr = -1e-9);
	REFUSED(anneal_last = 1.1e6, p.settings.anneal = true);
	REFUSED(l1 = p.settings.l2 = 1e-6);
	REFUSED(l1 = (double)INFINITY);
	REFUSED(anneal_first = 0.0, p.settings.anneal = true);
	REFUSED(anneal_last = 0.5, p.settings.anneal = true);
	REFUSED(anneal = p.settings.scaled_quantiser = true);
	REFUSED(product_paths = p.settings.scaled_quantiser = true);
	REFUSED(width = SIZE_MAX / 2);
	REFUSED(gradients = (cop_dgt_gradients)9);
	cop_dataset_free(p.rows);
}

/* One epoch with a setting at the end of its range; what is learned does not matter. */
#define TAKEN(...)                                                                                                     \
	do {                                                                                                           \
		cop_dgt_fit_settings good = p.settings;                                                                \
		cop_tree *tree;                                                                                        \
		p.settings.epochs = 1;                                                                                 \
		p.settings.__VA_ARGS__;                                                                                \
		assert_int_equal(try_fit(&p, 1, NULL, &tree), COP_OK);                                                 \
		cop_tree_free(tree);                                                                                   \
		p.settings = good;                                                                                     \
	} while (0)

static void test_fit_settings_at_the_ends_of_their_range_are_taken(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	TAKEN(height = 1);
	TAKEN(layers = 1);
	TAKEN(layers = COP_DGT_FIT_MAX_LAYERS);
	TAKEN(batch = 1);
	TAKEN(lr = p.settings.minimum_lr = 0.0);
	TAKEN(minimum_lr = p.settings.lr);
	TAKEN(clip = 0.0);
	TAKEN(l1 = 1e-6);
	TAKEN(l2 = 1e-6);
	TAKEN(anneal_last = p.settings.anneal_first, p.settings.anneal = true);
	TAKEN(anneal_last = 1e6, p.settings.anneal = true);
	TAKEN(gradients = COP_DGT_LAYERED);
	cop_dataset_free(p.rows);
}

#define REFUSED_SAMPLE(...)                                                                                            \
	do {                                                                                                           \
		cop_tree *tree;                                                                                        \
		make(&p, COP_TASK_CLASSES, false);                                                                     \
		divide(&p, 20);                                                                                        \
		p.__VA_ARGS__;                                                                                         \
		assert_int_equal(try_fit(&p, 1, NULL, &tree), COP_EINVAL);                                             \
		assert_null(tree);                                                                                     \
		cop_dataset_free(p.rows);                                                                              \
	} while (0)

static void test_fit_bad_samples_are_refused(void **state)
{
	(void)state;
	static problem p;
	REFUSED_SAMPLE(sample.n = 0);
	REFUSED_SAMPLE(sample.outputs = 0);
	REFUSED_SAMPLE(sample.label = NULL);
	REFUSED_SAMPLE(sample.outputs = p.validation.outputs = 1);
	REFUSED_SAMPLE(sample.task = p.validation.task = COP_TASK_COSTS);
	REFUSED_SAMPLE(validation.task = COP_TASK_VALUES);
	REFUSED_SAMPLE(validation.outputs = 3);
	REFUSED_SAMPLE(validation.n = 0);
	REFUSED_SAMPLE(order[30] = N);
	REFUSED_SAMPLE(sample.weight = p.weight, p.weight[40] = -1.0f);
	REFUSED_SAMPLE(sample.weight = p.weight, memset(p.weight, 0, sizeof p.weight));
}

static void test_fit_allocation_failure_every_one_is_enomem(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	divide(&p, 40);
	p.settings.epochs = 2;
	cop_tree *tree = NULL;
	cop_err err = COP_ENOMEM;
	unsigned long n = 0;
	while (err != COP_OK) {
		cop_test_alloc_fail(++n, 0);
		err = try_fit(&p, 1, NULL, &tree);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && tree == NULL));
	}
	assert_true(n > 25);
	cop_tree_free(tree);
	cop_dataset_free(p.rows);
}

/* A fit asks for its parameters and one batch, not for the rows again. */
static void test_fit_does_not_copy_the_rows(void **state)
{
	(void)state;
	static problem p;
	make(&p, COP_TASK_CLASSES, false);
	cop_dataset *wide;
	float x[1000] = { 0.0f };
	assert_int_equal(cop_dataset_new_dense(1000, &wide), COP_OK);
	for (size_t i = 0; i < N; i++) {
		x[i] = 1.0f;
		assert_int_equal(cop_dataset_push_dense(wide, x, 0.0), COP_OK);
		x[i] = 0.0f;
	}
	p.sample.rows = wide;
	p.settings.height = 2;
	p.settings.layers = 1;
	p.settings.batch = 8;
	p.settings.epochs = 2;
	cop_test_alloc_fail(0, 0);
	cop_tree_free(fit(&p, 1, NULL));
	assert_true(cop_test_alloc_bytes() < (size_t)N * 1000 * sizeof(float) / 4);
	cop_dataset_free(wide);
	cop_dataset_free(p.rows);
}

static void test_fit_defaults_are_those_that_the_documents_name(void **state)
{
	(void)state;
	for (int classes = 0; classes < 2; classes++) {
		cop_dgt_fit_settings s;
		cop_dgt_fit_defaults(classes ? COP_TASK_CLASSES : COP_TASK_VALUES, &s);
		assert_int_equal(s.loss, classes ? COP_DGT_CROSS_ENTROPY : COP_DGT_SQUARED);
		assert_true(s.height == 6 && s.layers == 3 && s.width == 0 && s.huber == 0.2 && s.batch == 128);
		assert_true(s.epochs == 100 && s.patience == 0 && s.restarts == 3);
		assert_string_equal(s.optimiser, "rmsprop");
		assert_true(s.lr == 1e-2 && s.minimum_lr == 1e-4 && s.momentum == 0.0 && s.clip == 1e-2);
		assert_true(s.l1 == 0.0 && s.l2 == 0.0 && !s.anneal);
		assert_true(s.anneal_first == 1.0 && s.anneal_last == 100.0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit_defaults_are_those_that_the_documents_name),
		cmocka_unit_test(test_fit_one_step_equals_algorithm_2),
		cmocka_unit_test(test_fit_exclusive_or_is_learned),
		cmocka_unit_test(test_fit_several_values_are_learned_with_either_loss),
		cmocka_unit_test(test_fit_ablations_learn),
		cmocka_unit_test(test_fit_custom_loss_equals_the_library_s_own),
		cmocka_unit_test(test_fit_nonfinite_loss_or_gradient_is_diverged),
		cmocka_unit_test(test_fit_equal_seeds_give_equal_trees),
		cmocka_unit_test(test_fit_restarts_divide_the_moves_of_the_rate),
		cmocka_unit_test(test_fit_rate_moves_every_ten_mini_batches),
		cmocka_unit_test(test_fit_sparse_rows_give_the_tree_of_dense_ones),
		cmocka_unit_test(test_fit_rows_without_weight_do_not_count),
		cmocka_unit_test(test_fit_validation_keeps_the_best_epoch),
		cmocka_unit_test(test_fit_patience_and_progress_end_it_early),
		cmocka_unit_test(test_fit_bad_settings_are_refused),
		cmocka_unit_test(test_fit_settings_at_the_ends_of_their_range_are_taken),
		cmocka_unit_test(test_fit_bad_samples_are_refused),
		cmocka_unit_test(test_fit_allocation_failure_every_one_is_enomem),
		cmocka_unit_test(test_fit_does_not_copy_the_rows),
	};
	cop_blas_threads(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
