/* Ranks as threads that meet at a barrier: what they divide is, to the byte, what one alone makes. */
#include "unit/train/tao_problem.h"

#include <pthread.h>
#include <string.h>

#include "train/cart.h"
#include "train/forest_fit.h"
#include "train/lend.h"

#define MOST 5

typedef struct group {
	unsigned count;
	pthread_barrier_t meet;
	const cop_bytes *part[MOST];
	bool damaged; /* what one rank hands over */
} group;

typedef struct member {
	group *group;
	cop_ranks ranks;
	pthread_t thread;
	void (*work)(struct member *member);
	const void *problem;
	cop_err err;
	cop_bytes made; /* what it fitted, saved */
	size_t trees, seen;
} member;

static cop_err gather(void *context, const cop_bytes *mine, cop_bytes *all)
{
	member *m = context;
	group *g = m->group;
	g->part[m->ranks.rank] = mine;
	(void)pthread_barrier_wait(&g->meet);
	for (unsigned r = 0; r < g->count; r++)
		cop_bytes_put(all, g->part[r]->data, g->part[r]->length);
	(void)pthread_barrier_wait(&g->meet);
	if (g->damaged)
		all->length--;
	return all->err;
}

static void *run_member(void *context)
{
	member *m = context;
	m->work(m);
	return NULL;
}

static void meet(group *g, member *members, unsigned count, void (*work)(member *), const void *problem)
{
	g->count = count;
	assert_int_equal(pthread_barrier_init(&g->meet, NULL, count), 0);
	for (unsigned r = 0; r < count; r++) {
		member *m = &members[r];
		*m = (member){ .group = g, .work = work, .problem = problem };
		m->ranks = (cop_ranks){ .rank = r, .count = count, .context = m, .gather = gather };
		cop_bytes_init(&m->made);
		assert_int_equal(pthread_create(&m->thread, NULL, run_member, m), 0);
	}
	for (unsigned r = 0; r < count; r++)
		assert_int_equal(pthread_join(members[r].thread, NULL), 0);
	(void)pthread_barrier_destroy(&g->meet);
}

static void part(member *members, unsigned count)
{
	for (unsigned r = 0; r < count; r++)
		cop_bytes_fini(&members[r].made);
}

static void assert_all_made(const member *members, unsigned count, const cop_bytes *alone)
{
	for (unsigned r = 0; r < count; r++) {
		assert_int_equal(members[r].err, COP_OK);
		assert_int_equal(members[r].made.length, alone->length);
		assert_memory_equal(members[r].made.data, alone->data, alone->length);
	}
}

static void test_tasks_are_divided_and_each_is_some_ranks(void **unused)
{
	(void)unused;
	assert_int_equal(cop_ranks_tasks(NULL, 7), 7);
	assert_int_equal(cop_ranks_task(NULL, 3), 3);
	for (unsigned count = 1; count <= MOST; count++) {
		for (size_t tasks = 0; tasks < 4 * MOST; tasks++) {
			unsigned times[4 * MOST] = { 0 };
			for (unsigned r = 0; r < count; r++) {
				const cop_ranks ranks = { .rank = r, .count = count };
				size_t own = cop_ranks_tasks(&ranks, tasks);
				assert_in_range(own, tasks / count, (tasks + count - 1) / count);
				for (size_t i = 0; i < own; i++) {
					assert_in_range(cop_ranks_task(&ranks, i), i * count, tasks - 1);
					times[cop_ranks_task(&ranks, i)]++;
				}
			}
			for (size_t t = 0; t < tasks; t++)
				assert_int_equal(times[t], 1);
		}
	}
}

/* ---- exchanges ---- */

static cop_err take(void *context, cop_cursor *cursor)
{
	member *m = context;
	m->seen = 100 * m->seen + cop_cursor_u32(cursor);
	return COP_OK;
}

static void exchange(member *m)
{
	const unsigned *fails = m->problem; /* by rank: the error that it meets */
	cop_bytes_put_u32(&m->made, m->ranks.rank + 1);
	m->err = cop_ranks_exchange(&m->ranks, (cop_err)fails[m->ranks.rank], &m->made, take, m);
}

static void test_exchange_gives_each_rank_what_the_others_have_in_their_order(void **unused)
{
	(void)unused;
	const unsigned none[MOST] = { 0 };
	group g = { 0 };
	member members[MOST];
	meet(&g, members, 3, exchange, none);
	for (unsigned r = 0; r < 3; r++)
		assert_int_equal(members[r].err, COP_OK);
	assert_int_equal(members[0].seen, 203);
	assert_int_equal(members[1].seen, 103);
	assert_int_equal(members[2].seen, 102);
	part(members, 3);
}

static void test_exchange_an_error_of_one_is_an_error_of_all(void **unused)
{
	(void)unused;
	const unsigned fails[MOST] = { 0, COP_ENOMEM, 0, COP_EDIVERGED };
	group g = { 0 };
	member members[MOST];
	meet(&g, members, 4, exchange, fails);
	for (unsigned r = 0; r < 4; r++) {
		assert_int_equal(members[r].err, COP_ENOMEM);
		assert_int_equal(members[r].seen, 0);
	}
	part(members, 4);
}

static void test_exchange_that_is_cut_is_refused(void **unused)
{
	(void)unused;
	const unsigned none[MOST] = { 0 };
	group g = { .damaged = true };
	member members[MOST];
	meet(&g, members, 2, exchange, none);
	assert_int_equal(members[0].err, COP_EFORMAT);
	assert_int_equal(members[1].err, COP_EFORMAT);
	part(members, 2);
}

static void test_exchange_of_one_alone_is_its_own_error(void **unused)
{
	(void)unused;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	assert_int_equal(cop_ranks_exchange(NULL, COP_OK, &bytes, take, NULL), COP_OK);
	assert_int_equal(cop_ranks_exchange(NULL, COP_EIO, &bytes, take, NULL), COP_EIO);
	bytes.err = COP_ENOMEM;
	assert_int_equal(cop_ranks_exchange(NULL, COP_OK, &bytes, take, NULL), COP_ENOMEM);
	cop_bytes_fini(&bytes);
}

/* ---- trees ---- */

static cop_err fit_tree_from(
        const tao_problem *p, const cop_tree *start, unsigned threads, const cop_ranks *ranks, cop_tree **out)
{
	cop_pool *pool;
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	cop_err err = cop_pool_new(threads, &pool);
	if (err != COP_OK)
		return err;
	cop_pool_set_ranks(pool, ranks);
	err = cop_tao_fit(&p->set, &p->sample, start, pool, &rng, NULL, NULL, out);
	cop_pool_free(pool);
	return err;
}

static cop_err fit_tree(const tao_problem *p, unsigned threads, const cop_ranks *ranks, cop_bytes *made)
{
	cop_tree *tree = NULL;
	cop_err err = fit_tree_from(p, NULL, threads, ranks, &tree);
	if (err == COP_OK)
		cop_tree_save(tree, made);
	cop_tree_free(tree);
	return err;
}

/* One fit, and another one that starts from its tree. */
static cop_err fit_twice(const tao_problem *p, const cop_ranks *ranks, cop_bytes *made)
{
	cop_tree *first = NULL, *second = NULL;
	cop_err err = fit_tree_from(p, NULL, 1, ranks, &first);
	if (err == COP_OK)
		err = fit_tree_from(p, first, 2, ranks, &second);
	if (err == COP_OK)
		cop_tree_save(second, made);
	cop_tree_free(first);
	cop_tree_free(second);
	return err;
}

static void fit_tree_together(member *m) { m->err = fit_tree(m->problem, 1 + m->ranks.rank % 2, &m->ranks, &m->made); }

static void check_tree(cop_tao_loss loss, cop_tao_leaves leaves, cop_tao_order order, bool monotone, bool sparse)
{
	tao_problem p;
	cop_bytes alone;
	tao_make(&p, loss, TAO_ROWS, sparse, 11);
	p.set.depth = 4;
	p.set.leaves = leaves;
	p.set.order = order;
	p.set.monotone = monotone;
	p.set.alpha = 0.05;
	cop_bytes_init(&alone);
	assert_int_equal(fit_tree(&p, 2, NULL, &alone), COP_OK);
	assert_true(alone.length > 100);
	for (unsigned count = 1; count <= MOST; count += 2) {
		group g = { 0 };
		member members[MOST];
		meet(&g, members, count, fit_tree_together, &p);
		assert_all_made(members, count, &alone);
		part(members, count);
	}
	cop_bytes_fini(&alone);
	tao_end(&p);
}

static void test_tree_of_every_loss_is_that_of_one_rank(void **unused)
{
	(void)unused;
	for (cop_tao_loss loss = COP_TAO_ZERO_ONE; loss < COP_TAO_LOSSES; loss++) {
		check_tree(loss, COP_TAO_CONSTANT, COP_TAO_LEAVES_FIRST, false, false);
		if (loss != COP_TAO_ABSOLUTE)
			check_tree(loss, COP_TAO_LINEAR, COP_TAO_ROOT_FIRST, loss == COP_TAO_SQUARED, false);
	}
	check_tree(COP_TAO_ZERO_ONE, COP_TAO_LINEAR, COP_TAO_LEAVES_FIRST, true, true);
}

/* ---- ranks that are led ---- */

/* Two fits, one after the other, whose sample the first rank alone has. */
static void fit_led(member *m)
{
	const tao_problem *p = m->problem;
	cop_pool *pool;
	m->ranks.led = true;
	if (m->ranks.rank == 0) {
		m->err = fit_twice(p, &m->ranks, &m->made);
		assert_int_equal(cop_lend_end(&m->ranks), COP_OK);
		return;
	}
	assert_int_equal(cop_pool_new(1, &pool), COP_OK);
	cop_pool_set_ranks(pool, &m->ranks);
	m->err = cop_lend_help(pool);
	cop_pool_free(pool);
}

static void fit_cut(member *m)
{
	const tao_problem *p = m->problem;
	cop_pool *pool;
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	m->ranks.led = true;
	assert_int_equal(cop_pool_new(1, &pool), COP_OK);
	cop_pool_set_ranks(pool, &m->ranks);
	m->err = m->ranks.rank == 0 ? cop_lend_tao(&m->ranks, &p->set, &p->sample, NULL, &rng) : cop_lend_help(pool);
	cop_pool_free(pool);
}

static void check_led(cop_tao_loss loss, cop_tao_leaves leaves, bool sparse)
{
	tao_problem p;
	cop_bytes alone;
	tao_make(&p, loss, TAO_ROWS, sparse, 11);
	p.set.leaves = leaves;
	p.set.depth = 3;
	p.set.alpha = 0.05;
	cop_bytes_init(&alone);
	assert_int_equal(fit_twice(&p, NULL, &alone), COP_OK);
	for (unsigned count = 1; count <= 3; count++) {
		group g = { 0 };
		member members[MOST];
		meet(&g, members, count, fit_led, &p);
		assert_all_made(members, 1, &alone);
		for (unsigned r = 0; r < count; r++)
			assert_int_equal(members[r].err, COP_OK);
		part(members, count);
	}
	cop_bytes_fini(&alone);
	tao_end(&p);
}

static void test_led_ranks_fit_what_the_first_has(void **unused)
{
	(void)unused;
	check_led(COP_TAO_ZERO_ONE, COP_TAO_LINEAR, false);
	check_led(COP_TAO_ZERO_ONE, COP_TAO_CONSTANT, true);
	check_led(COP_TAO_SQUARED, COP_TAO_LINEAR, false);
	check_led(COP_TAO_COST, COP_TAO_CONSTANT, false);
}

static void test_led_rank_refuses_what_is_cut(void **unused)
{
	(void)unused;
	tao_problem p;
	group g = { .damaged = true };
	member members[MOST];
	tao_make(&p, COP_TAO_SQUARED, TAO_ROWS, false, 11);
	meet(&g, members, 2, fit_cut, &p);
	assert_int_equal(members[1].err, COP_EFORMAT);
	part(members, 2);
	tao_end(&p);
}

/* ---- random trees ---- */

static void make_random(const tao_problem *p, cop_random_trees_sample *sample, uint32_t *action, double *loss)
{
	for (size_t i = 0; i < p->sample.rows->n; i++) {
		action[i] = (uint32_t)(i % 3);
		loss[i] = p->sample.rows->x[i * p->sample.rows->d] > 0.0F ? 0.25 * (double)action[i] : 0.5;
	}
	*sample = (cop_random_trees_sample){ p->sample.rows, 3, action, loss };
}

/* All trees, in rounds. */
static cop_err grow_random(const tao_problem *p, const cop_ranks *ranks, cop_bytes *made)
{
	static const cop_random_trees_settings set = { 7, 3, 5 };
	uint32_t action[TAO_ROWS];
	double loss[TAO_ROWS];
	cop_tree *tree[MOST];
	cop_random_trees_sample sample;
	make_random(p, &sample, action, loss);
	cop_err err = cop_lend_random_trees(ranks, &set, &sample);
	for (size_t first = 0, count; err == COP_OK && first < set.trees; first += count) {
		err = cop_random_trees_round(&set, &sample, ranks, first, tree, &count);
		for (size_t i = 0; err == COP_OK && i < count; i++) {
			cop_tree_save(tree[i], made);
			cop_tree_free(tree[i]);
		}
	}
	return err;
}

static void grow_random_together(member *m) { m->err = grow_random(m->problem, &m->ranks, &m->made); }

static void grow_random_led(member *m)
{
	cop_pool *pool;
	m->ranks.led = true;
	if (m->ranks.rank == 0) {
		m->err = grow_random(m->problem, &m->ranks, &m->made);
		assert_int_equal(cop_lend_end(&m->ranks), COP_OK);
		return;
	}
	assert_int_equal(cop_pool_new(1, &pool), COP_OK);
	cop_pool_set_ranks(pool, &m->ranks);
	m->err = cop_lend_help(pool);
	cop_pool_free(pool);
}

static void test_random_trees_are_those_of_one_rank(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_bytes alone;
	tao_make(&p, COP_TAO_ZERO_ONE, TAO_ROWS, false, 4);
	cop_bytes_init(&alone);
	assert_int_equal(grow_random(&p, NULL, &alone), COP_OK);
	assert_true(alone.length > 1000);
	for (unsigned count = 1; count <= MOST; count++) {
		group g = { 0 };
		member members[MOST];
		meet(&g, members, count, grow_random_together, &p);
		assert_all_made(members, count, &alone);
		part(members, count);
		meet(&g, members, count, grow_random_led, &p);
		assert_all_made(members, 1, &alone);
		for (unsigned r = 0; r < count; r++)
			assert_int_equal(members[r].err, COP_OK);
		part(members, count);
	}
	cop_bytes_fini(&alone);
	tao_end(&p);
}

/* ---- forests ---- */

static cop_err learn(void *context, size_t t, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_cart_settings cart;
	const size_t *fails_at = context;
	*out = NULL;
	if (t == *fails_at)
		return COP_EDIVERGED;
	cop_cart_defaults(&cart);
	return cop_cart_fit(&cart, sample, pool, rng, out);
}

typedef struct forest {
	tao_problem problem;
	cop_forest_settings set;
	size_t fails_at;
} forest;

static cop_err fit_forest(const forest *f, const cop_ranks *ranks, cop_bytes *made, size_t *trees)
{
	cop_pool *pool;
	cop_trees *fitted = NULL;
	size_t fails_at = f->fails_at;
	cop_err err = cop_pool_new(1, &pool);
	if (err != COP_OK)
		return err;
	cop_pool_set_ranks(pool, ranks);
	err = cop_forest_fit(&f->set, &f->problem.sample, learn, &fails_at, pool, NULL, &fitted);
	if (err == COP_OK) {
		cop_trees_save(fitted, made);
		*trees = cop_trees_count(fitted);
	}
	cop_trees_free(fitted);
	cop_pool_free(pool);
	return err;
}

static void fit_forest_together(member *m) { m->err = fit_forest(m->problem, &m->ranks, &m->made, &m->trees); }

static void begin_forest(forest *f, cop_forest_kind kind, size_t trees)
{
	*f = (forest){ .fails_at = SIZE_MAX };
	tao_make(&f->problem, COP_TAO_ZERO_ONE, TAO_ROWS, false, 4);
	f->set = (cop_forest_settings){
		.kind = kind, .trees = trees, .share = 0.7, .replace = true, .shrinkage = 0.3, .seed = 5
	};
}

static void test_forest_of_every_kind_is_that_of_one_rank(void **unused)
{
	(void)unused;
	for (cop_forest_kind kind = COP_FOREST_BAGGING; kind < COP_FOREST_KINDS; kind++) {
		forest f;
		cop_bytes alone;
		size_t trees;
		begin_forest(&f, kind, 7);
		cop_bytes_init(&alone);
		assert_int_equal(fit_forest(&f, NULL, &alone, &trees), COP_OK);
		for (unsigned count = 2; count <= MOST; count++) {
			group g = { 0 };
			member members[MOST];
			meet(&g, members, count, fit_forest_together, &f);
			assert_all_made(members, count, &alone);
			assert_int_equal(members[0].trees, trees);
			part(members, count);
		}
		cop_bytes_fini(&alone);
		tao_end(&f.problem);
	}
}

static void test_forest_whose_tree_fails_on_one_rank_fails_on_all(void **unused)
{
	(void)unused;
	forest f;
	group g = { 0 };
	member members[MOST];
	begin_forest(&f, COP_FOREST_BAGGING, 6);
	f.fails_at = 4;
	meet(&g, members, 3, fit_forest_together, &f);
	for (unsigned r = 0; r < 3; r++)
		assert_int_equal(members[r].err, COP_EDIVERGED);
	part(members, 3);
	tao_end(&f.problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks_are_divided_and_each_is_some_ranks),
		cmocka_unit_test(test_exchange_gives_each_rank_what_the_others_have_in_their_order),
		cmocka_unit_test(test_exchange_an_error_of_one_is_an_error_of_all),
		cmocka_unit_test(test_exchange_that_is_cut_is_refused),
		cmocka_unit_test(test_exchange_of_one_alone_is_its_own_error),
		cmocka_unit_test(test_tree_of_every_loss_is_that_of_one_rank),
		cmocka_unit_test(test_led_ranks_fit_what_the_first_has),
		cmocka_unit_test(test_led_rank_refuses_what_is_cut),
		cmocka_unit_test(test_random_trees_are_those_of_one_rank),
		cmocka_unit_test(test_forest_of_every_kind_is_that_of_one_rank),
		cmocka_unit_test(test_forest_whose_tree_fails_on_one_rank_fails_on_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
