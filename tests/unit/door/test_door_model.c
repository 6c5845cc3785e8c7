/* Models of the front door: what each call does, what it refuses, and what a file keeps. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "door_fixture.h"
#include "online/model.h"

static char folder[] = "/tmp/cop_door_XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[128];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static coppice_counters counters_of(const coppice_model *model)
{
	coppice_counters counters;
	coppice_model_counters(model, &counters);
	return counters;
}

static coppice_result answer(coppice_model *model, coppice_id id, double loss, double now)
{
	coppice_result result = COPPICE_UNKNOWN;
	coppice_err err = coppice_model_feedback(model, id, loss, now, &result);
	if (err != COPPICE_OK)
		fail_msg("%s", coppice_model_message(model));
	return result;
}

static coppice_decision ask(coppice_model *model, coppice_id id, const float x[2], double now)
{
	coppice_decision d;
	coppice_row row = coppice_row_dense(x, 2);
	if (coppice_model_decide(model, id, &row, NULL, now, &d) != COPPICE_OK)
		fail_msg("%s", coppice_model_message(model));
	return d;
}

static void same_decision(const coppice_decision *a, const coppice_decision *b)
{
	assert_int_equal(a->action, b->action);
	assert_true(a->p == b->p && a->value == b->value && a->probe[0] == b->probe[0] && a->rev == b->rev);
}

/* ---- versions and errors ---- */

static void test_door_version_is_one(void **state)
{
	(void)state;
	char text[32];
	(void)snprintf(
	        text, sizeof text, "%d.%d.%d", COPPICE_VERSION_MAJOR, COPPICE_VERSION_MINOR, COPPICE_VERSION_PATCH);
	assert_string_equal(text, COPPICE_VERSION);
	assert_string_equal(text, coppice_version());
}

static void test_door_errors_and_results_have_texts(void **state)
{
	(void)state;
	for (int i = COPPICE_OK; i <= COPPICE_EEND; i++) {
		assert_string_not_equal(coppice_err_text((coppice_err)i), "unknown error");
		for (int j = COPPICE_OK; j < i; j++)
			assert_string_not_equal(coppice_err_text((coppice_err)i), coppice_err_text((coppice_err)j));
	}
	assert_string_equal(coppice_err_text((coppice_err)99), "unknown error");
	assert_string_equal(coppice_result_text(COPPICE_APPLIED), "applied");
	assert_string_equal(coppice_result_text(COPPICE_RECORDED), "recorded");
	assert_string_equal(coppice_result_text(COPPICE_DUPLICATE), "duplicate");
	assert_string_equal(coppice_result_text(COPPICE_LATE), "late");
	assert_string_equal(coppice_result_text(COPPICE_UNKNOWN), "unknown");
}

/* ---- arms ---- */

static void test_door_model_learns_arms(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	cop_rng rng;
	cop_rng_init(&rng, 11, 0);
	assert_int_equal(coppice_model_actions(model), COPPICE_ARMS);
	assert_int_equal(coppice_model_arms(model), 3);
	assert_int_equal(coppice_model_features(model), 2);
	assert_int_equal(coppice_model_max_candidates(model), 0);
	assert_int_equal(coppice_model_losses(model), 1);
	assert_string_equal(coppice_model_message(model), "");
	for (uint64_t n = 0; n < 3000; n++) {
		coppice_decision d = door_step(model, &rng, n, (double)n, false);
		assert_true(d.p > 0.0 && d.p <= 1.0 && d.action < 3 && d.repeated == 0 && d.rev == n);
	}
	double before = counters_of(model).loss_sum;
	for (uint64_t n = 3000; n < 4000; n++)
		(void)door_step(model, &rng, n, (double)n, false);
	coppice_counters c = counters_of(model);
	assert_true(c.loss_sum - before < 250.0); /* of 1000; a uniform choice has 667 */
	assert_int_equal(c.decisions, 4000);
	assert_int_equal(c.learned, 4000);
	assert_int_equal(c.feedback[COPPICE_APPLIED], 4000);
	assert_int_equal(c.waiting, 0);
	assert_true(c.greedy > 2000);
	coppice_model_free(model);
}

static void test_door_ids_join_and_their_kinds_are_distinct(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	const float x[2] = { 0.25f, 0.5f };
	const coppice_id bytes = { COPPICE_ID_BYTES, 0, "17", 2 };
	coppice_decision first = ask(model, coppice_id_number(17), x, 0.0);
	coppice_decision again = ask(model, coppice_id_number(17), x, 1.0);
	assert_int_equal(first.repeated, 0);
	assert_int_equal(again.repeated, 1);
	assert_int_equal(again.action, first.action);
	assert_true(again.p == first.p);
	assert_int_equal(ask(model, coppice_id_text("17"), x, 1.0).repeated, 0);
	assert_int_equal(ask(model, bytes, x, 1.0).repeated, 0);
	assert_int_equal(counters_of(model).waiting, 3);
	assert_int_equal(answer(model, coppice_id_text("17"), 0.5, 2.0), COPPICE_APPLIED);
	assert_int_equal(answer(model, coppice_id_text("17"), 0.5, 2.0), COPPICE_DUPLICATE);
	assert_int_equal(answer(model, bytes, 0.5, 2.0), COPPICE_APPLIED);
	assert_int_equal(answer(model, coppice_id_text("18"), 0.5, 2.0), COPPICE_UNKNOWN);
	assert_int_equal(counters_of(model).waiting, 1);
	assert_int_equal(answer(model, coppice_id_number(17), 0.5, 11.0), COPPICE_LATE);
	coppice_counters c = counters_of(model);
	assert_int_equal(c.repeated, 1);
	assert_int_equal(c.dropped, 1);
	assert_int_equal(c.learned, 2);
	coppice_model_free(model);
}

static void test_door_time_never_falls(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	const float x[2] = { 0.25f, 0.5f };
	(void)ask(model, coppice_id_number(1), x, 100.0);
	(void)ask(model, coppice_id_number(2), x, 50.0); /* counts as 100 */
	assert_int_equal(coppice_model_expire(model, 109.0), 0);
	assert_int_equal(coppice_model_expire(model, (double)NAN), 0);
	assert_int_equal(coppice_model_expire(model, 0.0), 0);
	assert_int_equal(coppice_model_expire(model, 111.0), 2);
	coppice_model_free(model);
}

static void test_door_mask_keeps_arms_out(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	const unsigned char mask[3] = { 7, 0, 255 };
	const float x[2] = { 0.5f, 0.5f };
	coppice_row row = coppice_row_dense(x, 2);
	unsigned seen = 0;
	for (uint64_t n = 0; n < 300; n++) {
		coppice_decision d;
		assert_int_equal(coppice_model_decide(model, coppice_id_number(n), &row, mask, 0.0, &d), COPPICE_OK);
		seen |= 1u << d.action;
		assert_int_equal(answer(model, coppice_id_number(n), 0.5, 0.0), COPPICE_APPLIED);
	}
	assert_int_equal(seen, 5);
	coppice_model_free(model);
}

static void test_door_rewards_recorded_until_the_window_ends(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT "  reward = last  default_loss = 1");
	const float x[2] = { 0.25f, 0.5f };
	(void)ask(model, coppice_id_number(1), x, 0.0);
	(void)ask(model, coppice_id_number(2), x, 0.0);
	assert_int_equal(answer(model, coppice_id_number(1), 1.0, 1.0), COPPICE_RECORDED);
	assert_int_equal(answer(model, coppice_id_number(1), 0.25, 2.0), COPPICE_RECORDED);
	assert_int_equal(coppice_model_expire(model, 11.0), 2);
	coppice_counters c = counters_of(model);
	assert_int_equal(c.learned, 2);
	assert_int_equal(c.defaulted, 1);
	assert_true(c.loss_sum == 1.25);
	coppice_model_free(model);
}

static void test_door_oldest_decision_gives_way(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	const float x[2] = { 0.25f, 0.5f };
	for (uint64_t n = 0; n < 60; n++)
		(void)ask(model, coppice_id_number(n), x, 0.0);
	assert_int_equal(counters_of(model).waiting, 50);
	assert_int_equal(counters_of(model).evicted, 10);
	coppice_model_free(model);
}

static void test_door_refused_contexts_change_nothing(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	const float x[3] = { 0.25f, 0.5f, 1.0f };
	const float bad[2] = { 0.25f, (float)INFINITY };
	const uint32_t place[2] = { 0, 2 };
	const char *name[2] = { "a", "b" };
	const unsigned char none[3] = { 0, 0, 0 };
	char longest[66];
	memset(longest, 'x', 65);
	longest[65] = '\0';
	const coppice_row good = coppice_row_dense(x, 2);
	const coppice_row both = { 2, x, place, name };
	const coppice_row rows[] = { coppice_row_dense(x, 3), coppice_row_dense(bad, 2),
		coppice_row_places(place, x, 2), coppice_row_names(name, x, 2), both };
	const coppice_err errs[] = { COPPICE_ESHAPE, COPPICE_ENONFINITE, COPPICE_ESHAPE, COPPICE_ESHAPE,
		COPPICE_ESHAPE };
	const char *const words[] = { "3 values, expected 2", "entry 1: expected a finite number",
		"entry 1: place 2, expected one below 2", "no names", "places and names" };
	const coppice_id kind = { (coppice_id_kind)9, 1, "x", 1 };
	const coppice_id null = { COPPICE_ID_BYTES, 0, NULL, 3 };
	const coppice_id ids[] = { coppice_id_text(""), coppice_id_text(longest), kind, null };
	const coppice_candidates candidates = { 1, &good, NULL };
	coppice_decision d;
	for (size_t i = 0; i < 5; i++)
		door_expect(model, coppice_model_decide(model, coppice_id_number(1), &rows[i], NULL, 0.0, &d), errs[i],
		        words[i]);
	for (size_t i = 0; i < 4; i++)
		door_expect(model, coppice_model_decide(model, ids[i], &good, NULL, 0.0, &d), COPPICE_EINVAL, "id:");
	door_expect(model, coppice_model_decide(model, coppice_id_number(1), &good, NULL, (double)NAN, &d),
	        COPPICE_ENONFINITE, "now:");
	door_expect(model, coppice_model_decide(model, coppice_id_number(1), &good, none, 0.0, &d), COPPICE_EINVAL,
	        "mask:");
	door_expect(model, coppice_model_rank(model, coppice_id_number(1), &good, &candidates, 0.0, &d), COPPICE_EINVAL,
	        "no candidates");
	assert_int_equal(counters_of(model).decisions, 0);
	coppice_model *untouched = door_model(ARMS_TEXT);
	for (uint64_t n = 0; n < 20; n++) {
		coppice_decision c = ask(model, coppice_id_number(n), x, 0.0);
		d = ask(untouched, coppice_id_number(n), x, 0.0);
		same_decision(&c, &d);
	}
	coppice_model_free(untouched);
	coppice_model_free(model);
}

static void test_door_refused_losses_leave_the_decision_waiting(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	const float x[2] = { 0.25f, 0.5f };
	const double two[2] = { 0.5, 0.5 };
	const coppice_id id = coppice_id_number(1);
	(void)ask(model, id, x, 0.0);
	door_expect(model, coppice_model_feedback(model, id, 1.5, 0.0, NULL), COPPICE_EINVAL,
	        "loss: expected a number from 0 to 1");
	door_expect(model, coppice_model_feedback(model, id, (double)NAN, 0.0, NULL), COPPICE_ENONFINITE, "loss:");
	door_expect(model, coppice_model_feedback_two(model, id, two, 0.0, NULL), COPPICE_EINVAL, "takes 1 numbers");
	door_expect(model, coppice_model_feedback(model, id, 0.5, (double)INFINITY, NULL), COPPICE_ENONFINITE, "now:");
	door_expect(model, coppice_model_feedback(model, coppice_id_text(""), 0.5, 0.0, NULL), COPPICE_EINVAL, "id:");
	assert_int_equal(counters_of(model).waiting, 1);
	assert_int_equal(answer(model, id, 0.5, 0.0), COPPICE_APPLIED);
	coppice_model_free(model);
}

/* ---- rows ---- */

/* The twins decide alike, and learn. */
static void same_step(coppice_model *one, const coppice_row *a, coppice_model *other, const coppice_row *b, uint64_t n)
{
	coppice_decision c, d;
	const coppice_id id = coppice_id_number(n);
	assert_int_equal(coppice_model_decide(one, id, a, NULL, 0.0, &c), COPPICE_OK);
	if (coppice_model_decide(other, id, b, NULL, 0.0, &d) != COPPICE_OK)
		fail_msg("%s", coppice_model_message(other));
	same_decision(&c, &d);
	double loss = (double)(n % 3 == c.action);
	assert_int_equal(answer(one, id, loss, 0.0), COPPICE_APPLIED);
	assert_int_equal(answer(other, id, loss, 0.0), COPPICE_APPLIED);
}

static void test_door_dense_rows_by_places_and_names_are_the_same(void **state)
{
	(void)state;
	static const char *const names[2] = { "age", "shop^price^net" };
	coppice_model *dense = door_model(ARMS_TEXT), *placed = door_model(ARMS_TEXT), *named = door_model(ARMS_TEXT);
	coppice_model *again = door_model(ARMS_TEXT);
	cop_rng rng;
	cop_rng_init(&rng, 12, 0);
	assert_int_equal(coppice_model_name_features(named, names), COPPICE_OK);
	for (uint64_t n = 0; n < 100; n++) {
		float x[2];
		door_draw(&rng, x, 2);
		if (n % 4 == 0)
			x[0] = 0.0f;
		const float turned[2] = { x[1], x[0] };
		const uint32_t place[2] = { 1, 0 };
		const char *name[2] = { names[1], names[0] };
		size_t count = n % 4 == 0 ? 1 : 2; /* what is not there is 0 */
		coppice_row a = coppice_row_dense(x, 2), b = coppice_row_places(place, turned, count);
		coppice_row c = coppice_row_names(name, turned, count);
		same_step(dense, &a, named, &c, n);
		same_step(again, &a, placed, &b, n);
	}
	const float one[1] = { 1.0f };
	const char *other[1] = { "weight" };
	coppice_row row = coppice_row_names(other, one, 1);
	coppice_decision d;
	door_expect(named, coppice_model_decide(named, coppice_id_number(1), &row, NULL, 0.0, &d), COPPICE_ENOTFOUND,
	        "\"weight\": no feature of the model has this name");
	static const char *const twice[2] = { "age", "age" };
	door_expect(named, coppice_model_name_features(named, twice), COPPICE_EINVAL, "each name once");
	row = coppice_row_names(names, one, 1);
	assert_int_equal(coppice_model_decide(named, coppice_id_number(1), &row, NULL, 0.0, &d), COPPICE_OK);
	coppice_model_free(again);
	coppice_model_free(named);
	coppice_model_free(placed);
	coppice_model_free(dense);
}

static uint32_t place_of(const char *space, const char *name)
{
	return cop_hash_feature(name, strlen(name), cop_hash_feature(space, strlen(space), 0)) & 63;
}

static void test_door_sparse_names_are_hashed_places(void **state)
{
	(void)state;
	coppice_model *named = door_model(SPARSE_TEXT), *placed = door_model(SPARSE_TEXT);
	static const char *const names[] = { "red", "shop^red", "small", "42" };
	const uint32_t places[] = { place_of("", "red"), place_of("shop", "red"), place_of("", "small"), 42 };
	for (uint64_t n = 0; n < 100; n++) {
		/* Equal names add up. */
		const char *name[3] = { names[n % 4], names[(n + 1) % 4], names[n % 4] };
		const float apart[3] = { 0.5f, 2.0f, 0.25f };
		const uint32_t place[2] = { places[n % 4], places[(n + 1) % 4] };
		const float together[2] = { 0.75f, 2.0f };
		coppice_row a = coppice_row_names(name, apart, 3), b = coppice_row_places(place, together, 2);
		same_step(named, &a, placed, &b, n);
	}
	float dense[64] = { 0 };
	dense[places[0]] = 1.0f;
	const float one[1] = { 1.0f };
	coppice_row a = coppice_row_names(names, one, 1), b = coppice_row_dense(dense, 64);
	same_step(named, &a, placed, &b, 200);
	coppice_model_free(placed);
	coppice_model_free(named);
}

static void test_door_sparse_rows_refused(void **state)
{
	(void)state;
	coppice_model *model = door_model(SPARSE_TEXT);
	const float huge[5] = { 3e38f, 3e38f, 1.0f, 1.0f, 1.0f };
	const uint32_t same[2] = { 7, 7 }, beyond[1] = { 64 }, many[5] = { 1, 2, 3, 4, 5 };
	const coppice_row rows[] = { coppice_row_places(same, huge, 2), coppice_row_places(beyond, huge, 1),
		coppice_row_places(many, huge, 5) };
	const coppice_err errs[] = { COPPICE_ENONFINITE, COPPICE_ESHAPE, COPPICE_ESHAPE };
	const char *const words[] = { "not a finite number", "place 64, expected one below 64",
		"more features than the model takes, expected at most 4" };
	static const char *const names[2] = { "a", "b" };
	coppice_decision d;
	for (size_t i = 0; i < 3; i++)
		door_expect(model, coppice_model_decide(model, coppice_id_number(1), &rows[i], NULL, 0.0, &d), errs[i],
		        words[i]);
	coppice_row four = coppice_row_places(many, huge, 4);
	assert_int_equal(coppice_model_decide(model, coppice_id_number(1), &four, NULL, 0.0, &d), COPPICE_OK);
	door_expect(model, coppice_model_name_features(model, names), COPPICE_EINVAL, "features > 0");
	coppice_model_free(model);
}

/* ---- candidates ---- */

static void test_door_rank_learns_and_orders(void **state)
{
	(void)state;
	coppice_model *model = door_model(RANK_TEXT);
	cop_rng rng;
	cop_rng_init(&rng, 13, 0);
	assert_int_equal(coppice_model_actions(model), COPPICE_CANDIDATES);
	assert_int_equal(coppice_model_max_candidates(model), 4);
	float x[2] = { 0.5f, 0.5f }, c[4][2];
	coppice_row row = coppice_row_dense(x, 2), rows[4];
	for (size_t k = 0; k < 4; k++)
		rows[k] = coppice_row_dense(c[k], 2);
	unsigned char mask[4] = { 1, 1, 1, 0 };
	const coppice_candidates candidates = { 4, rows, mask };
	for (uint64_t n = 0; n < 800; n++) {
		coppice_decision d;
		door_draw(&rng, x, 2);
		for (size_t k = 0; k < 4; k++)
			door_draw(&rng, c[k], 2);
		assert_int_equal(
		        coppice_model_rank(model, coppice_id_number(n), &row, &candidates, 0.0, &d), COPPICE_OK);
		assert_true(d.action < 3);
		assert_int_equal(answer(model, coppice_id_number(n), (double)c[d.action][0], 0.0), COPPICE_APPLIED);
	}
	const float lowest[4] = { 0.9f, 0.1f, 0.5f, 0.0f };
	for (size_t k = 0; k < 4; k++)
		c[k][0] = lowest[k], c[k][1] = 0.5f;
	uint32_t order[4];
	size_t count;
	assert_int_equal(coppice_model_order(model, &row, &candidates, order, &count), COPPICE_OK);
	const uint32_t expected[3] = { 1, 2, 0 };
	assert_int_equal(count, 3);
	assert_memory_equal(order, expected, sizeof expected);
	coppice_model_free(model);
}

static void test_door_rank_refusals(void **state)
{
	(void)state;
	coppice_model *model = door_model(RANK_TEXT);
	const float x[3] = { 0.5f, 0.5f, 0.5f };
	const coppice_row row = coppice_row_dense(x, 2);
	const coppice_row rows[5] = { row, coppice_row_dense(x, 3), row, row, row };
	const unsigned char none[1] = { 0 }, mask[3] = { 1, 1, 1 };
	const coppice_candidates empty = { 0, rows, NULL }, many = { 5, rows, NULL }, wide = { 2, rows, NULL };
	const coppice_candidates masked = { 1, rows, none }, one = { 1, rows, NULL };
	const coppice_id id = coppice_id_number(1);
	const char *json;
	uint32_t order[4];
	size_t count;
	coppice_decision d;
	door_expect(model, coppice_model_decide(model, id, &row, NULL, 0.0, &d), COPPICE_EINVAL, "expected some");
	door_expect(model, coppice_model_rank(model, id, &row, &empty, 0.0, &d), COPPICE_EINVAL, "0 candidates");
	door_expect(model, coppice_model_rank(model, id, &row, &many, 0.0, &d), COPPICE_EINVAL, "expected 1 to 4");
	door_expect(model, coppice_model_rank(model, id, &row, &wide, 0.0, &d), COPPICE_ESHAPE,
	        "candidate 1: 3 values, expected 2");
	door_expect(model, coppice_model_rank(model, id, &row, &masked, 0.0, &d), COPPICE_EINVAL, "mask:");
	door_expect(model, coppice_model_order(model, &row, &masked, order, &count), COPPICE_EINVAL, "mask:");
	door_expect(model, coppice_model_explain_row(model, &row, mask, &one, &json), COPPICE_EINVAL, "no arms");
	assert_int_equal(counters_of(model).decisions, 0);
	coppice_model_free(model);
}

static void test_door_rank_sparse_candidates_by_name(void **state)
{
	(void)state;
	coppice_model *model = door_model("learner = rank features = 0 bits = 8 max_candidates = 3 seed = 2");
	static const char *const user[1] = { "user^ann" };
	static const char *const items[3] = { "item^tea", "item^ink", "item^oak" };
	const float one[1] = { 1.0f };
	const coppice_row row = coppice_row_names(user, one, 1);
	coppice_row rows[3];
	for (size_t k = 0; k < 3; k++)
		rows[k] = coppice_row_names(&items[k], one, 1);
	const coppice_candidates candidates = { 3, rows, NULL };
	for (uint64_t n = 0; n < 300; n++) {
		coppice_decision d;
		assert_int_equal(
		        coppice_model_rank(model, coppice_id_number(n), &row, &candidates, 0.0, &d), COPPICE_OK);
		assert_int_equal(answer(model, coppice_id_number(n), d.action == 2 ? 0.0 : 1.0, 0.0), COPPICE_APPLIED);
	}
	uint32_t order[3];
	size_t count;
	const char *json;
	assert_int_equal(coppice_model_order(model, &row, &candidates, order, &count), COPPICE_OK);
	assert_int_equal(count, 3);
	assert_int_equal(order[0], 2);
	assert_int_equal(coppice_model_explain_row(model, &row, NULL, &candidates, &json), COPPICE_OK);
	assert_non_null(strstr(json, "\"a\":2,"));
	assert_non_null(strstr(json, "item^oak"));
	assert_non_null(strstr(json, "user^ann*item^oak"));
	assert_non_null(strstr(json, "\"candidates\":["));
	coppice_model_free(model);
}

/* ---- values ---- */

static void test_door_values_stay_in_their_range(void **state)
{
	(void)state;
	coppice_model *bins = door_model(BINS_TEXT), *two = door_model(TWO_TEXT);
	cop_rng rng;
	cop_rng_init(&rng, 14, 0);
	assert_int_equal(coppice_model_actions(bins), COPPICE_VALUES);
	assert_int_equal(coppice_model_losses(bins), 1);
	assert_int_equal(coppice_model_losses(two), 2);
	for (uint64_t n = 0; n < 200; n++) {
		coppice_decision d = door_step(bins, &rng, n, 0.0, false);
		assert_true(d.probe[0] >= -10.0 && d.probe[0] <= 30.0 && d.p > 0.0 && d.action == 0);
		d = door_step(two, &rng, n, 0.0, false);
		assert_true(d.probe[0] >= -10.0 && d.probe[1] <= 30.0 && d.p == 1.0);
		assert_true(fabs(d.probe[0] - d.probe[1]) > 3.9 && fabs(d.probe[0] - d.probe[1]) < 4.1);
		assert_true(fabs(d.value - (d.probe[0] + d.probe[1]) / 2.0) < 0.01);
	}
	assert_int_equal(counters_of(two).learned, 200);
	const float x[2] = { 0.5f, 0.5f };
	const unsigned char mask[1] = { 1 };
	coppice_row row = coppice_row_dense(x, 2);
	coppice_decision d;
	(void)ask(two, coppice_id_number(999), x, 0.0);
	door_expect(two, coppice_model_feedback(two, coppice_id_number(999), 0.5, 0.0, NULL), COPPICE_EINVAL,
	        "takes 2 numbers");
	door_expect(bins, coppice_model_decide(bins, coppice_id_number(999), &row, mask, 0.0, &d), COPPICE_EINVAL,
	        "mask: the model has no arms");
	coppice_logged logged = { &row, NULL, NULL, 0, 0.5, 0.5 };
	door_expect(bins, coppice_model_learn(bins, &logged), COPPICE_EINVAL, "values");
	coppice_model_free(two);
	coppice_model_free(bins);
}

/* ---- others' decisions ---- */

static void test_door_learns_from_logged_decisions(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	cop_rng rng;
	cop_rng_init(&rng, 15, 0);
	float x[2];
	coppice_row row = coppice_row_dense(x, 2);
	coppice_logged logged = { .x = &row, .p = 1.0 / 3.0 };
	for (uint64_t n = 0; n < 1500; n++) {
		door_draw(&rng, x, 2);
		logged.action = (uint32_t)(n % 3);
		logged.loss = door_loss(x, logged.action);
		assert_int_equal(coppice_model_learn(model, &logged), COPPICE_OK);
	}
	assert_int_equal(counters_of(model).learned, 1500);
	const char *json;
	for (uint32_t arm = 0; arm < 3; arm++) {
		char expected[16];
		x[0] = 0.17f + 0.33f * (float)arm;
		(void)snprintf(expected, sizeof expected, "\"a\":%u,", arm);
		assert_int_equal(coppice_model_explain_row(model, &row, NULL, NULL, &json), COPPICE_OK);
		assert_non_null(strstr(json, expected));
	}
	const unsigned char mask[3] = { 1, 0, 1 };
	coppice_logged refused = { &row, NULL, mask, 1, 0.5, 0.5 };
	door_expect(model, coppice_model_learn(model, &refused), COPPICE_EINVAL, "action:");
	refused.action = 3;
	refused.mask = NULL;
	door_expect(model, coppice_model_learn(model, &refused), COPPICE_EINVAL, "action:");
	refused.action = 0;
	refused.p = 0.0;
	door_expect(model, coppice_model_learn(model, &refused), COPPICE_EINVAL, "p: expected a propensity");
	refused.p = (double)NAN;
	door_expect(model, coppice_model_learn(model, &refused), COPPICE_EINVAL, "p: expected a propensity");
	refused.p = 0.5;
	refused.loss = 2.0;
	door_expect(model, coppice_model_learn(model, &refused), COPPICE_EINVAL, "loss: expected a number from 0 to 1");
	refused.loss = (double)NAN;
	door_expect(model, coppice_model_learn(model, &refused), COPPICE_ENONFINITE, "loss:");
	assert_int_equal(counters_of(model).learned, 1500);
	coppice_model_free(model);
}

/* ---- explanations ---- */

static void test_door_explains_waiting_decisions(void **state)
{
	(void)state;
	static const char *const names[2] = { "mood", "hour" };
	coppice_model *model = door_model(ARMS_TEXT "  explain_keep = 2");
	cop_rng rng;
	cop_rng_init(&rng, 16, 0);
	const char *json;
	assert_int_equal(coppice_model_name_features(model, names), COPPICE_OK);
	for (uint64_t n = 0; n < 200; n++)
		(void)door_step(model, &rng, n, 0.0, false);
	for (uint64_t n = 300; n < 303; n++)
		(void)door_step(model, &rng, n, 0.0, true);
	assert_int_equal(coppice_model_explain(model, coppice_id_number(302), &json), COPPICE_OK);
	assert_non_null(strstr(json, "{\"id\":302,\"rev\":200,\"state\":\"decision\",\"a\":"));
	assert_non_null(strstr(json, "\"feature\":\"mood\""));
	assert_non_null(strstr(json, "\"feature\":\"constant\""));
	assert_non_null(strstr(json, "\"feature\":\"mood*hour\""));
	assert_int_equal(coppice_model_explain(model, coppice_id_number(300), &json), COPPICE_OK);
	assert_non_null(strstr(json, "\"state\":\"current\""));
	door_expect(model, coppice_model_explain(model, coppice_id_number(1), &json), COPPICE_ENOTFOUND, "no decision");
	assert_null(json);
	door_expect(model, coppice_model_explain(model, coppice_id_text(""), &json), COPPICE_EINVAL, "id:");
	const float x[2] = { 0.5f, 0.5f };
	const coppice_id text = coppice_id_text("u1-\"17\"");
	(void)ask(model, text, x, 0.0);
	assert_int_equal(coppice_model_explain(model, text, &json), COPPICE_OK);
	assert_non_null(strstr(json, "{\"id\":\"u1-\\\"17\\\"\","));
	const unsigned char none[3] = { 0, 0, 0 };
	coppice_row row = coppice_row_dense(x, 2);
	door_expect(model, coppice_model_explain_row(model, &row, none, NULL, &json), COPPICE_EINVAL, "mask:");
	coppice_model_free(model);
	model = door_model(BINS_TEXT);
	(void)ask(model, text, x, 0.0);
	assert_int_equal(coppice_model_explain(model, text, &json), COPPICE_OK);
	assert_non_null(strstr(json, "\"y\":"));
	assert_non_null(strstr(json, "\"p\":"));
	coppice_model_free(model);
}

/* ---- files ---- */

static void test_door_loaded_model_decides_as_the_saved_one(void **state)
{
	(void)state;
	static const char *const texts[] = { ARMS_TEXT "  explain_keep = 3", ARMS_TEXT "  learner = dgt", BINS_TEXT,
		TWO_TEXT };
	static const char *const names[2] = { "mood", "hour" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		coppice_model *model = door_model(texts[i]), *loaded;
		coppice_message message = { "" };
		cop_rng one, other;
		cop_rng_init(&one, 17, 0);
		assert_int_equal(coppice_model_name_features(model, names), COPPICE_OK);
		for (uint64_t n = 0; n < 300; n++)
			(void)door_step(model, &one, n, (double)n, n % 50 == 49);
		assert_int_equal(coppice_model_save(model, in_folder("m.model")), COPPICE_OK);
		if (coppice_model_load(in_folder("m.model"), &loaded, &message) != COPPICE_OK)
			fail_msg("%s", message.text);
		const coppice_counters a = counters_of(model), b = counters_of(loaded);
		assert_memory_equal(&a, &b, sizeof a);
		other = one;
		for (uint64_t n = 300; n < 500; n++) {
			coppice_decision c = door_step(model, &one, n, (double)n, false);
			coppice_decision d = door_step(loaded, &other, n, (double)n, false);
			same_decision(&c, &d);
		}
		const float value[1] = { 0.5f };
		coppice_row row = coppice_row_names(names, value, 1);
		coppice_decision d;
		assert_int_equal(
		        coppice_model_decide(loaded, coppice_id_number(600), &row, NULL, 500.0, &d), COPPICE_OK);
		coppice_model_free(loaded);
		coppice_model_free(model);
	}
}

static void test_door_file_keeps_waiting_decisions_and_names_of_places(void **state)
{
	(void)state;
	coppice_model *model = door_model(SPARSE_TEXT), *loaded;
	static const char *const names[2] = { "shop^tea", "red" };
	const float values[2] = { 1.0f, 2.0f };
	const coppice_row row = coppice_row_names(names, values, 2);
	coppice_decision d, e;
	const char *json;
	assert_int_equal(coppice_model_decide(model, coppice_id_text("a"), &row, NULL, 5.0, &d), COPPICE_OK);
	assert_int_equal(coppice_model_save(model, in_folder("s.model")), COPPICE_OK);
	assert_int_equal(coppice_model_load(in_folder("s.model"), &loaded, NULL), COPPICE_OK);
	assert_int_equal(coppice_model_decide(loaded, coppice_id_text("a"), &row, NULL, 6.0, &e), COPPICE_OK);
	assert_int_equal(e.repeated, 1);
	assert_int_equal(e.action, d.action);
	assert_int_equal(coppice_model_explain(loaded, coppice_id_text("a"), &json), COPPICE_OK);
	assert_int_equal(answer(loaded, coppice_id_text("a"), 0.5, 6.0), COPPICE_APPLIED);
	const uint32_t places[2] = { place_of("shop", "tea"), place_of("", "red") };
	const coppice_row placed = coppice_row_places(places, values, 2);
	assert_int_equal(coppice_model_explain_row(loaded, &placed, NULL, NULL, &json), COPPICE_OK);
	assert_non_null(strstr(json, "\"shop^tea\""));
	assert_non_null(strstr(json, "\"red\""));
	coppice_model_free(loaded);
	coppice_model_free(model);
}

static void write_file(const char *path, const void *data, size_t length)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static void refuse_load(const char *path, coppice_err expected, const char *words)
{
	coppice_model *model = (coppice_model *)&model;
	coppice_message message = { "" };
	coppice_err err = coppice_model_load(path, &model, &message);
	if (err != expected || strstr(message.text, words) == NULL || strstr(message.text, path) == NULL ||
	        model != NULL)
		fail_msg("error %d (%s), expected %d (%s)", (int)err, message.text, (int)expected, words);
}

static void test_door_load_refuses_what_is_no_model(void **state)
{
	(void)state;
	static uint8_t bytes[1 << 20];
	coppice_model *model = door_model(ARMS_TEXT);
	assert_int_equal(coppice_model_save(model, in_folder("whole")), COPPICE_OK);
	FILE *file = fopen(in_folder("whole"), "rb");
	assert_non_null(file);
	size_t length = fread(bytes, 1, sizeof bytes, file);
	(void)fclose(file);
	assert_true(length > 100 && length < sizeof bytes);
	refuse_load(in_folder("missing"), COPPICE_ENOTFOUND, "No such file");
	refuse_load(folder, COPPICE_EFORMAT, "");
	write_file(in_folder("text"), "arms = 3", 8);
	refuse_load(in_folder("text"), COPPICE_EFORMAT, "");
	write_file(in_folder("cut"), bytes, length - 1);
	refuse_load(in_folder("cut"), COPPICE_EFORMAT, "");
	bytes[length / 2] ^= 1;
	write_file(in_folder("flipped"), bytes, length);
	refuse_load(in_folder("flipped"), COPPICE_EFORMAT, "");
	bytes[length / 2] ^= 1;
	bytes[4] = 200;
	write_file(in_folder("newer"), bytes, length);
	refuse_load(in_folder("newer"), COPPICE_EVERSION, "");
	door_expect(model, coppice_model_save(model, in_folder("no/folder")), COPPICE_EIO, "No such file");
	coppice_model_free(model);
}

static void test_door_null_is_freed(void **state)
{
	(void)state;
	coppice_model_free(NULL);
	coppice_trained_free(NULL);
	coppice_table_free(NULL);
}

static void test_door_steady_events_allocate_nothing(void **state)
{
	(void)state;
	coppice_model *model = door_model(ARMS_TEXT);
	cop_rng rng;
	cop_rng_init(&rng, 18, 0);
	for (uint64_t n = 0; n < 200; n++)
		(void)door_step(model, &rng, n, (double)n, n % 10 == 0);
	cop_test_alloc_fail(0, 0);
	for (uint64_t n = 200; n < 400; n++)
		(void)door_step(model, &rng, n, (double)n, n % 10 == 0);
	assert_int_equal(cop_test_alloc_count(), 0);
	coppice_model_free(model);
}

/* ---- threads ---- */

enum { THREADS = 2, EVENTS = 300 };

typedef struct twin {
	coppice_model *model;
	coppice_decision made[EVENTS];
} twin;

static void *live(void *context)
{
	twin *t = context;
	cop_rng rng;
	cop_rng_init(&rng, 19, 0);
	for (uint64_t n = 0; n < EVENTS; n++) {
		float x[2];
		door_draw(&rng, x, 2);
		coppice_row row = coppice_row_dense(x, 2);
		if (coppice_model_decide(t->model, coppice_id_number(n), &row, NULL, 0.0, &t->made[n]) != COPPICE_OK ||
		        coppice_model_feedback(t->model, coppice_id_number(n), door_loss(x, t->made[n].action), 0.0,
		                NULL) != COPPICE_OK)
			return NULL;
	}
	return t;
}

static void test_door_models_of_two_threads_do_not_meet(void **state)
{
	(void)state;
	static twin twins[THREADS];
	pthread_t thread[THREADS];
	for (size_t i = 0; i < THREADS; i++) {
		twins[i].model = door_model(ARMS_TEXT);
		assert_int_equal(pthread_create(&thread[i], NULL, live, &twins[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		void *done;
		assert_int_equal(pthread_join(thread[i], &done), 0);
		assert_ptr_equal(done, &twins[i]);
		coppice_model_free(twins[i].model);
	}
	for (size_t n = 0; n < EVENTS; n++)
		same_decision(&twins[0].made[n], &twins[1].made[n]);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	char command[64];
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_door_version_is_one),
		cmocka_unit_test(test_door_errors_and_results_have_texts),
		cmocka_unit_test(test_door_model_learns_arms),
		cmocka_unit_test(test_door_ids_join_and_their_kinds_are_distinct),
		cmocka_unit_test(test_door_time_never_falls),
		cmocka_unit_test(test_door_mask_keeps_arms_out),
		cmocka_unit_test(test_door_rewards_recorded_until_the_window_ends),
		cmocka_unit_test(test_door_oldest_decision_gives_way),
		cmocka_unit_test(test_door_refused_contexts_change_nothing),
		cmocka_unit_test(test_door_refused_losses_leave_the_decision_waiting),
		cmocka_unit_test(test_door_dense_rows_by_places_and_names_are_the_same),
		cmocka_unit_test(test_door_sparse_names_are_hashed_places),
		cmocka_unit_test(test_door_sparse_rows_refused),
		cmocka_unit_test(test_door_rank_learns_and_orders),
		cmocka_unit_test(test_door_rank_refusals),
		cmocka_unit_test(test_door_rank_sparse_candidates_by_name),
		cmocka_unit_test(test_door_values_stay_in_their_range),
		cmocka_unit_test(test_door_learns_from_logged_decisions),
		cmocka_unit_test(test_door_explains_waiting_decisions),
		cmocka_unit_test(test_door_loaded_model_decides_as_the_saved_one),
		cmocka_unit_test(test_door_file_keeps_waiting_decisions_and_names_of_places),
		cmocka_unit_test(test_door_load_refuses_what_is_no_model),
		cmocka_unit_test(test_door_null_is_freed),
		cmocka_unit_test(test_door_steady_events_allocate_nothing),
		cmocka_unit_test(test_door_models_of_two_threads_do_not_meet),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
