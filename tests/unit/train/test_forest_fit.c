/* forest_fit with cart as its learner: what the kinds promise, and that threads make no difference. */
#include "batch_fixture.h"

#include <math.h>
#include <stdio.h>

#include "train/cart.h"
#include "train/forest_fit.h"

/* A learner, what it was given, and what it is to do. */
typedef struct watched {
	cop_cart_settings cart;
	size_t fails_at; /* tree whose fit fails; SIZE_MAX: none */
	size_t constant; /* tree that is a lone leaf of the wrong class; SIZE_MAX: none */
	bool pool_seen;
	double weight_sum; /* of the last sample */
	size_t n;
} watched;

static cop_err learn(void *context, size_t t, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	watched *w = context;
	*out = NULL;
	if (t == w->fails_at)
		return COP_EDIVERGED;
	return cop_cart_fit(&w->cart, sample, pool, rng, out);
}

/* Only with one thread: it writes what it saw. */
static cop_err learn_watched(
        void *context, size_t t, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	watched *w = context;
	w->pool_seen = pool != NULL;
	w->n = sample->n;
	w->weight_sum = 0;
	for (size_t i = 0; i < sample->n; i++)
		w->weight_sum += sample->weight != NULL ? (double)sample->weight[cop_sample_row(sample, i)] : 1.0;
	if (t == w->constant) {
		cop_sample first = *sample;
		uint32_t row = 0;
		first.n = 1;
		first.row = &row;
		return cop_cart_fit(&w->cart, &first, pool, rng, out);
	}
	return learn(context, t, sample, pool, rng, out);
}

static watched watch(unsigned depth)
{
	watched w = { .fails_at = SIZE_MAX, .constant = SIZE_MAX };
	cop_cart_defaults(&w.cart);
	w.cart.max_depth = depth;
	return w;
}

static cop_forest_settings settings_of(cop_forest_kind kind, size_t trees)
{
	return (cop_forest_settings){
		.kind = kind, .trees = trees, .share = 0.7, .replace = true, .shrinkage = 0.3, .seed = 5
	};
}

static cop_trees *fit(const cop_forest_settings *set, const cop_sample *sample, watched *w, cop_pool *pool)
{
	cop_trees *trees;
	assert_int_equal(
	        cop_forest_fit(set, sample, pool == NULL ? learn_watched : learn, w, pool, NULL, &trees), COP_OK);
	return trees;
}

static bool same(const cop_trees *a, const cop_trees *b)
{
	bool equal = cop_trees_count(a) == cop_trees_count(b) && cop_trees_how(a) == cop_trees_how(b);
	for (size_t t = 0; equal && t < cop_trees_count(a); t++)
		equal = cop_trees_weight(a, t) == cop_trees_weight(b, t) &&
		        batch_fixture_same(cop_trees_at(a, t), cop_trees_at(b, t));
	return equal;
}

/* Share wrong, or mean squared error over all outputs, on the sample itself. */
static double training_error(const cop_trees *trees, const cop_sample *s)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++) {
		cop_row row;
		float work[8];
		double out[8];
		size_t at = cop_sample_row(s, i), best = 0;
		cop_dataset_row(s->rows, at, &row);
		cop_trees_predict(trees, &row, work, out);
		for (size_t k = 0; k < s->outputs; k++) {
			best = out[k] > out[best] ? k : best;
			double off = s->task == COP_TASK_CLASSES ? 0 : out[k] - (double)s->target[at * s->outputs + k];
			sum += off * off;
		}
		sum += s->task == COP_TASK_CLASSES && best != s->label[at];
	}
	return sum / (double)s->n;
}

static void test_forest_any_threads_give_the_same_forest(void **state)
{
	(void)state;
	for (int run = 0; run <= COP_FOREST_KINDS; run++) {
		batch_fixture f;
		int kind = run < COP_FOREST_KINDS ? run : COP_FOREST_GRADIENT;
		cop_task task = run == COP_FOREST_GRADIENT ? COP_TASK_VALUES : COP_TASK_CLASSES;
		batch_fixture_make(&f, task, 1100, 30, 3, 9, 3, kind == 1, 1);
		cop_forest_settings set = settings_of((cop_forest_kind)kind, 7);
		watched w = watch(4);
		w.cart.features = 12;
		cop_trees *one = fit(&set, &f.sample, &w, NULL);
		assert_int_equal(cop_trees_count(one), 7);
		for (unsigned threads = 1; threads <= 3; threads++) {
			cop_pool *pool;
			assert_int_equal(cop_pool_new(threads, &pool), COP_OK);
			cop_trees *more = fit(&set, &f.sample, &w, pool);
			assert_true(same(one, more));
			cop_trees_free(more);
			cop_pool_free(pool);
		}
		set.seed++;
		cop_trees *other = fit(&set, &f.sample, &w, NULL);
		assert_false(same(one, other));
		cop_trees_free(other);
		cop_trees_free(one);
		batch_fixture_end(&f);
	}
}

static void test_forest_bagging_draws_the_share(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_COSTS, 201, 4, 3, 9, 3, false, 2);
	cop_forest_settings set = settings_of(COP_FOREST_BAGGING, 3);
	watched w = watch(5);
	static const struct {
		double share;
		bool replace;
		size_t rows;
	} cases[] = { { 0.7, true, 141 }, { 0.1, false, 20 }, { 1, false, 201 }, { 1, true, 201 }, { 1e-9, true, 1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		set.share = cases[i].share;
		set.replace = cases[i].replace;
		cop_trees *trees = fit(&set, &f.sample, &w, NULL);
		assert_int_equal(w.n, cases[i].rows);
		assert_int_equal(cop_trees_how(trees), COP_TREES_MEAN);
		/* All rows without replacement: always the same tree. */
		bool equal = batch_fixture_same(cop_trees_at(trees, 0), cop_trees_at(trees, 1));
		assert_int_equal(equal, i == 2 || (i == 4 && equal));
		cop_trees_free(trees);
	}
	batch_fixture_end(&f);
}

static void test_forest_bagging_rows_are_the_samples(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 100, 3, 3, 9, 0, false, 3);
	uint32_t row[40];
	for (uint32_t i = 0; i < 40; i++)
		row[i] = 99 - 2 * i;
	for (uint32_t i = 0; i < 100; i += 2)
		f.label[i] = 2; /* not among them */
	for (uint32_t i = 1; i < 100; i += 2)
		f.label[i] %= 2;
	f.sample.row = row;
	f.sample.n = 40;
	cop_forest_settings set = settings_of(COP_FOREST_BAGGING, 9);
	set.vote = true;
	watched w = watch(20);
	cop_trees *trees = fit(&set, &f.sample, &w, NULL);
	assert_int_equal(cop_trees_how(trees), COP_TREES_VOTE);
	for (size_t i = 0; i < 100; i++) {
		cop_row x;
		float work[3];
		double out[3];
		cop_dataset_row(f.rows, i, &x);
		cop_trees_predict(trees, &x, work, out);
		assert_true(out[2] == 0.0);
	}
	assert_true(training_error(trees, &f.sample) < 0.2);
	cop_trees_free(trees);
	batch_fixture_end(&f);
}

static void test_forest_adaboost_lowers_the_training_error(void **state)
{
	(void)state;
	for (int repeated = 0; repeated < 2; repeated++) {
		batch_fixture f;
		batch_fixture_make(&f, COP_TASK_CLASSES, 500, 4, 4, 20, 10, false, 4);
		uint32_t row[700];
		for (uint32_t i = 0; i < 700; i++)
			row[i] = i % 500;
		if (repeated) {
			f.sample.row = row;
			f.sample.n = 700;
		}
		cop_forest_settings set = settings_of(COP_FOREST_ADABOOST, 1);
		watched w = watch(1);
		cop_trees *one = fit(&set, &f.sample, &w, NULL);
		set.trees = 60;
		cop_trees *many = fit(&set, &f.sample, &w, NULL);
		assert_int_equal(cop_trees_how(many), COP_TREES_VOTE);
		assert_true(cop_trees_count(many) > 10);
		assert_true(training_error(many, &f.sample) < 0.8 * training_error(one, &f.sample));
		assert_true(fabs(w.weight_sum - (double)f.sample.n) < 1e-3 * (double)f.sample.n);
		cop_trees_free(one);
		cop_trees_free(many);
		batch_fixture_end(&f);
	}
}

/* SAMME by hand: a stump that has w of the weight wrong gets log((1 - w) / w) + log(K - 1). */
static void test_forest_adaboost_weighs_trees_by_their_error(void **state)
{
	(void)state;
	cop_dataset *rows;
	assert_int_equal(cop_dataset_new_dense(1, &rows), COP_OK);
	for (int i = 0; i < 8; i++)
		assert_int_equal(cop_dataset_push_dense(rows, (float[]){ (float)i }, 0.0), COP_OK);
	uint32_t label[8] = { 0, 0, 0, 0, 1, 1, 1, 2 };
	cop_sample s = { .rows = rows, .n = 8, .task = COP_TASK_CLASSES, .outputs = 3, .label = label };
	cop_forest_settings set = settings_of(COP_FOREST_ADABOOST, 2);
	watched w = watch(1);
	cop_trees *trees = fit(&set, &s, &w, NULL);
	assert_int_equal(cop_trees_count(trees), 2);
	assert_true(fabs(cop_trees_weight(trees, 0) - log(7) - log(2)) < 1e-6);
	/* The wrong row's weight is now 14 times the others': it is parted off. Half of the rest is wrong. */
	assert_true(cop_tree_view(cop_trees_at(trees, 1))->nodes.bias[0] == -6.5F);
	assert_true(fabs(cop_trees_weight(trees, 1) - log(18.0 / 3.0) - log(2)) < 1e-5);
	cop_trees_free(trees);
	cop_dataset_free(rows);
}

/* -log of the probability of each row's class, summed by weight. */
static double cross_entropy(const cop_trees *trees, const cop_sample *s)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++) {
		cop_row row;
		float work[8];
		double out[8];
		size_t at = cop_sample_row(s, i);
		cop_dataset_row(s->rows, at, &row);
		cop_trees_predict(trees, &row, work, out);
		sum -= cop_sample_weight(s, at) * log(out[s->label[at]]);
	}
	return sum;
}

static void test_forest_gradient_of_classes_lowers_the_cross_entropy(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 400, 4, 3, 20, 0, false, 7);
	f.sample.weight = f.weight;
	for (size_t i = 0; i < 400; i++)
		f.weight[i] += 1;
	double last = (double)INFINITY, first = 0;
	for (size_t trees = 1; trees <= 25; trees++) {
		cop_forest_settings set = settings_of(COP_FOREST_GRADIENT, trees);
		watched w = watch(3);
		cop_trees *forest = fit(&set, &f.sample, &w, NULL);
		assert_int_equal(cop_trees_how(forest), COP_TREES_SOFTMAX);
		double loss = cross_entropy(forest, &f.sample);
		assert_true(loss < last);
		last = loss;
		first = trees == 1 ? loss : first;
		cop_trees_free(forest);
	}
	assert_true(last < 0.5 * first);
	batch_fixture_end(&f);
}

/* Eight rows at 0 to 7, classes A A A B | B B C C, one split: leaves by hand. */
static void test_forest_gradient_of_classes_takes_newton_steps(void **state)
{
	(void)state;
	cop_dataset *rows;
	assert_int_equal(cop_dataset_new_dense(1, &rows), COP_OK);
	for (int i = 0; i < 8; i++)
		assert_int_equal(cop_dataset_push_dense(rows, &(float){ (float)i }, 0), COP_OK);
	uint32_t label[8] = { 0, 0, 0, 1, 1, 1, 2, 2 };
	cop_sample s = { .rows = rows, .n = 8, .task = COP_TASK_CLASSES, .outputs = 3, .label = label };
	cop_forest_settings set = settings_of(COP_FOREST_GRADIENT, 1);
	watched w = watch(1);
	cop_trees *trees = fit(&set, &s, &w, NULL);
	const double share[3] = { 3.0 / 8, 3.0 / 8, 2.0 / 8 };
	const cop_tree_parts *parts = cop_tree_view(cop_trees_at(trees, 0));
	assert_int_equal(parts->nodes.count, 1);
	double cut = -(double)parts->nodes.bias[0];
	for (size_t side = 0; side < 2; side++) {
		float got[3];
		cop_tree_leaf_outputs(cop_trees_at(trees, 0), side, NULL, got);
		for (size_t k = 0; k < 3; k++) {
			double slope = 0, curvature = 1;
			for (size_t i = 0; i < 8; i++) {
				if (((double)i >= cut) != (side == 1))
					continue;
				slope += (label[i] == k) - share[k];
				curvature += share[k] * (1 - share[k]);
			}
			assert_true(fabs((double)got[k] - slope / curvature) < 1e-5);
		}
	}
	for (size_t k = 0; k < 3; k++)
		assert_true(fabs(cop_trees_base(trees)[k] - log(share[k])) < 1e-12);
	assert_true(cop_trees_weight(trees, 0) == set.shrinkage);
	cop_trees_free(trees);
	cop_dataset_free(rows);
}

static void test_forest_adaboost_ends_early(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 300, 4, 4, 20, 0, false, 6);
	cop_forest_settings set = settings_of(COP_FOREST_ADABOOST, 20);
	cop_forest_end end = COP_FOREST_STOPPED;
	set.end = &end;
	watched w = watch(8); /* the rule can be learned: the first tree is perfect */
	cop_trees *trees = fit(&set, &f.sample, &w, NULL);
	assert_int_equal(cop_trees_count(trees), 1);
	assert_true(training_error(trees, &f.sample) == 0.0);
	assert_int_equal(end, COP_FOREST_PERFECT);
	cop_trees_free(trees);

	w = watch(1);
	w.constant = 3; /* no better than guessing: not taken */
	trees = fit(&set, &f.sample, &w, NULL);
	assert_int_equal(cop_trees_count(trees), 3);
	assert_int_equal(end, COP_FOREST_GUESSING);
	cop_trees_free(trees);
	w.constant = 0; /* but the first one is */
	for (size_t i = 1; i < 300; i++)
		f.label[i] = f.label[0] == 0; /* all others are of another class */
	trees = fit(&set, &f.sample, &w, NULL);
	assert_int_equal(cop_trees_count(trees), 1);
	assert_true(cop_trees_weight(trees, 0) == 1.0);
	cop_trees_free(trees);
	batch_fixture_end(&f);
}

static void test_forest_gradient_lowers_the_squared_error_with_every_tree(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_VALUES, 400, 4, 2, 20, 5, false, 7);
	uint32_t row[500];
	for (uint32_t i = 0; i < 500; i++)
		row[i] = i % 390; /* some twice, some not at all */
	f.sample.row = row;
	f.sample.n = 500;
	double last = (double)INFINITY, first = 0;
	for (size_t trees = 1; trees <= 25; trees++) {
		cop_forest_settings set = settings_of(COP_FOREST_GRADIENT, trees);
		watched w = watch(2);
		cop_trees *forest = fit(&set, &f.sample, &w, NULL);
		assert_int_equal(cop_trees_how(forest), COP_TREES_SUM);
		double error = training_error(forest, &f.sample);
		assert_true(error < last);
		last = error;
		first = trees == 1 ? error : first;
		cop_trees_free(forest);
	}
	assert_true(last < 0.7 * first);
	batch_fixture_end(&f);
}

/* An unlimited tree with shrinkage 1 leaves nothing; the base is the weighted mean. */
static void test_forest_gradient_of_one_whole_tree_is_exact(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_VALUES, 200, 4, 2, 5000, 2, false, 8);
	f.sample.weight = f.weight;
	for (size_t i = 0; i < 200; i++)
		f.weight[i] += 1;
	cop_forest_settings set = settings_of(COP_FOREST_GRADIENT, 1);
	set.shrinkage = 1;
	watched w = watch(COP_TREE_MAX_DEPTH);
	cop_trees *forest = fit(&set, &f.sample, &w, NULL);
	double mean = 0, sum = 0;
	for (size_t i = 0; i < 200; i++) {
		mean += (double)f.weight[i] * (double)f.target[2 * i + 1];
		sum += (double)f.weight[i];
	}
	assert_true(fabs(cop_trees_base(forest)[1] - mean / sum) < 1e-9);
	assert_true(training_error(forest, &f.sample) < 1e-12);
	cop_trees_free(forest);
	batch_fixture_end(&f);
}

typedef struct told {
	size_t calls, stop_at;
	double last;
} told;

static bool tell(void *context, double share, const char *text)
{
	told *t = context;
	assert_true(share > t->last && share <= 1.0 && text[0] == 't');
	t->last = share;
	return ++t->calls < t->stop_at;
}

static void test_forest_stops_when_told_to(void **state)
{
	(void)state;
	cop_pool *pool;
	assert_int_equal(cop_pool_new(2, &pool), COP_OK);
	for (int run = 0; run < 2 * COP_FOREST_KINDS; run++) {
		batch_fixture f;
		cop_forest_kind kind = (cop_forest_kind)(run / 2);
		cop_task task = kind == COP_FOREST_GRADIENT ? COP_TASK_VALUES : COP_TASK_CLASSES;
		batch_fixture_make(&f, task, 300, 4, 3, 9, 3, false, 1);
		cop_forest_settings set = settings_of(kind, 30);
		watched w = watch(2);
		told t = { .stop_at = 2 };
		cop_progress progress = { tell, &t };
		cop_trees *trees, *all = fit(&set, &f.sample, &w, NULL);
		assert_int_equal(
		        cop_forest_fit(&set, &f.sample, learn, &w, run % 2 ? pool : NULL, &progress, &trees), COP_OK);
		assert_int_equal(t.calls, 2);
		assert_true(cop_trees_count(trees) < 30);
		for (size_t i = 0; i < cop_trees_count(trees); i++)
			assert_true(batch_fixture_same(cop_trees_at(trees, i), cop_trees_at(all, i)));
		cop_trees_free(all);
		cop_trees_free(trees);
		batch_fixture_end(&f);
	}
	cop_pool_free(pool);
}

static void test_forest_hands_the_pool_on_where_trees_follow_each_other(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 100, 4, 3, 9, 3, false, 1);
	cop_pool *pool;
	assert_int_equal(cop_pool_new(2, &pool), COP_OK);
	cop_forest_settings set = settings_of(COP_FOREST_ADABOOST, 1);
	watched w = watch(2);
	for (int run = 0; run < 2; run++) {
		cop_trees *trees;
		set.kind = run == 0 ? COP_FOREST_ADABOOST : COP_FOREST_BAGGING;
		w.pool_seen = false;
		assert_int_equal(cop_forest_fit(&set, &f.sample, learn_watched, &w, pool, NULL, &trees), COP_OK);
		assert_true(w.pool_seen);
		cop_trees_free(trees);
	}
	cop_pool_free(pool);
	batch_fixture_end(&f);
}

static void expect(const cop_forest_settings *set, const cop_sample *sample, watched *w, cop_err expected)
{
	cop_trees *trees;
	assert_int_equal(cop_forest_fit(set, sample, learn, w, NULL, NULL, &trees), expected);
	assert_null(trees);
}

static void test_forest_what_does_not_fit_is_refused(void **state)
{
	(void)state;
	batch_fixture classes, values;
	batch_fixture_make(&classes, COP_TASK_CLASSES, 20, 3, 3, 9, 3, false, 3);
	batch_fixture_make(&values, COP_TASK_VALUES, 20, 3, 3, 9, 3, false, 3);
	watched w = watch(2);
	cop_forest_settings set = settings_of(COP_FOREST_ADABOOST, 3);
	expect(&set, &values.sample, &w, COP_EINVAL);
	set.kind = COP_FOREST_GRADIENT;
	set.shrinkage = 0;
	expect(&set, &values.sample, &w, COP_EINVAL);
	expect(&set, &classes.sample, &w, COP_EINVAL);
	set = settings_of(COP_FOREST_BAGGING, 3);
	set.vote = true;
	expect(&set, &values.sample, &w, COP_EINVAL);
	for (int i = 0; i < 3; i++) {
		set = settings_of(COP_FOREST_BAGGING, 3);
		set.share = (double[]){ 0, 1.5, (double)NAN }[i];
		expect(&set, &classes.sample, &w, COP_EINVAL);
	}
	set = settings_of(COP_FOREST_KINDS, 3);
	expect(&set, &classes.sample, &w, COP_EINVAL);
	set = settings_of(COP_FOREST_BAGGING, 0);
	expect(&set, &classes.sample, &w, COP_EINVAL);
	set = settings_of(COP_FOREST_ADABOOST, 3);
	memset(classes.weight, 0, 20 * sizeof *classes.weight);
	classes.sample.weight = classes.weight;
	expect(&set, &classes.sample, &w, COP_EINVAL);
	classes.sample.n = 0;
	expect(&set, &classes.sample, &w, COP_EINVAL);
	batch_fixture_end(&classes);
	batch_fixture_end(&values);
}

static void test_forest_settings_at_the_ends_of_their_range_are_taken(void **state)
{
	(void)state;
	batch_fixture two, values;
	batch_fixture_make(&two, COP_TASK_CLASSES, 40, 3, 2, 9, 3, false, 3);
	batch_fixture_make(&values, COP_TASK_VALUES, 40, 3, 1, 9, 3, false, 3);
	watched w = watch(2);
	cop_forest_settings set = settings_of(COP_FOREST_GRADIENT, 1);
	set.shrinkage = 1;
	cop_trees_free(fit(&set, &values.sample, &w, NULL));
	set.shrinkage = 1.5;
	expect(&set, &values.sample, &w, COP_EINVAL);
	set.shrinkage = (double)NAN;
	expect(&set, &values.sample, &w, COP_EINVAL);
	set = settings_of(COP_FOREST_BAGGING, 1);
	set.share = 1;
	cop_trees_free(fit(&set, &values.sample, &w, NULL));
	set.trees = (size_t)COP_TREES_MOST + 1;
	expect(&set, &values.sample, &w, COP_EINVAL);
	set = settings_of(COP_FOREST_ADABOOST, 1);
	cop_trees *trees = fit(&set, &two.sample, &w, NULL);
	assert_int_equal(cop_trees_outputs(trees), 2);
	cop_trees_free(trees);
	two.sample.outputs = 1;
	for (size_t i = 0; i < 40; i++)
		two.label[i] = 0;
	expect(&set, &two.sample, &w, COP_EINVAL);
	set = settings_of(COP_FOREST_BAGGING, 1);
	two.sample.n = 1;
	cop_trees_free(fit(&set, &two.sample, &w, NULL)); /* one row of one class */
	two.sample.outputs = 0;
	expect(&set, &two.sample, &w, COP_EINVAL);
	batch_fixture_end(&two);
	batch_fixture_end(&values);
}

static void test_forest_learners_error_comes_back(void **state)
{
	(void)state;
	for (int kind = 0; kind < COP_FOREST_KINDS; kind++) {
		batch_fixture f;
		cop_task task = kind == COP_FOREST_GRADIENT ? COP_TASK_VALUES : COP_TASK_CLASSES;
		batch_fixture_make(&f, task, 100, 3, 3, 9, 3, false, 3);
		cop_forest_settings set = settings_of((cop_forest_kind)kind, 5);
		watched w = watch(1);
		w.fails_at = 2;
		expect(&set, &f.sample, &w, COP_EDIVERGED);
		batch_fixture_end(&f);
	}
}

static void test_forest_without_memory_fails(void **state)
{
	(void)state;
	for (int run = 0; run <= COP_FOREST_KINDS; run++) {
		batch_fixture f;
		int kind = run < COP_FOREST_KINDS ? run : COP_FOREST_GRADIENT;
		cop_task task = run == COP_FOREST_GRADIENT ? COP_TASK_VALUES : COP_TASK_CLASSES;
		batch_fixture_make(&f, task, 30, 2, 3, 9, 3, false, 3);
		cop_forest_settings set = settings_of((cop_forest_kind)kind, 2);
		watched w = watch(1);
		cop_err err = COP_ENOMEM;
		unsigned long n = 1;
		for (; err != COP_OK && n < 10000; n++) {
			cop_trees *trees;
			cop_test_alloc_fail(n, 0);
			err = cop_forest_fit(&set, &f.sample, learn, &w, NULL, NULL, &trees);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK ? trees != NULL : err == COP_ENOMEM && trees == NULL);
			cop_trees_free(trees);
		}
		assert_int_equal(err, COP_OK);
		assert_true(n > 40);
		batch_fixture_end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forest_any_threads_give_the_same_forest),
		cmocka_unit_test(test_forest_bagging_draws_the_share),
		cmocka_unit_test(test_forest_bagging_rows_are_the_samples),
		cmocka_unit_test(test_forest_adaboost_lowers_the_training_error),
		cmocka_unit_test(test_forest_adaboost_weighs_trees_by_their_error),
		cmocka_unit_test(test_forest_gradient_of_classes_lowers_the_cross_entropy),
		cmocka_unit_test(test_forest_gradient_of_classes_takes_newton_steps),
		cmocka_unit_test(test_forest_adaboost_ends_early),
		cmocka_unit_test(test_forest_gradient_lowers_the_squared_error_with_every_tree),
		cmocka_unit_test(test_forest_gradient_of_one_whole_tree_is_exact),
		cmocka_unit_test(test_forest_stops_when_told_to),
		cmocka_unit_test(test_forest_hands_the_pool_on_where_trees_follow_each_other),
		cmocka_unit_test(test_forest_what_does_not_fit_is_refused),
		cmocka_unit_test(test_forest_settings_at_the_ends_of_their_range_are_taken),
		cmocka_unit_test(test_forest_learners_error_comes_back),
		cmocka_unit_test(test_forest_without_memory_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
