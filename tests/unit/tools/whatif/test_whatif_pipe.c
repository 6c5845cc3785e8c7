/* Items come to both takers whole and in order, whatever their size, with what their records have of their own, and to
 * the second one with what the first one left in them; an error of either comes back, and nothing is taken then. */
#include "tools/whatif/whatif_pipe.h"
#include "base/mem.h"
#include "support.h"

#include <string.h>

#define MANY 20000

typedef struct taken {
	uint64_t count, fails_at;
	const struct taken *before; /* NULL: it is the first one */
} taken;

static size_t length_of(uint64_t n) { return n % 997 == 0 ? 300000 : (size_t)(n * 7 % 90); }

static size_t arms_of(uint64_t n) { return (size_t)(n % 8); }

/* ---- records ---- */

#define TEXT 8 /* bytes of the body before each text, which is its next 4 bytes */

static size_t values_of(uint64_t n) { return (size_t)(n % 5); }

static bool has_view(uint64_t n) { return n % 11 != 5; } /* the others are not asked about */

static bool has_texts(uint64_t n) { return n % 13 != 0; }

static size_t candidates_of(uint64_t n) { return n % 17 < 3 ? (size_t)(n % 17) : 0; }

/* What item n's record has: nothing; dense or sparse values with texts in the body; candidates, a mask. */
static bool is_whole(uint64_t n) { return n % 4 != 0 && length_of(n) >= 6 * TEXT; }

static void describe(const cop_whatif_item *item, uint64_t n, float *values, uint32_t *index, uint8_t *mask,
        cop_row *candidate, cop_wire_record *out)
{
	const size_t d = values_of(n);
	for (size_t j = 0; j < d; j++) {
		values[j] = (float)(n + j);
		index[j] = (uint32_t)(n * 3 + j);
		mask[j] = (uint8_t)((n + j) % 2);
	}
	*out = (cop_wire_record){ .model = (const char *)item->body + TEXT,
		.model_length = 4,
		.played = !has_texts(n) || n % 2 == 0 ? NULL : (const char *)item->body + 2 * TEXT,
		.from = { .source = !has_texts(n) || n % 3 == 0 ? NULL : (const char *)item->body + 3 * TEXT },
		.named = { .pairs = !has_texts(n) || n % 5 == 0 ? NULL : item->body + 4 * TEXT },
		.settled = { .items = !has_texts(n) || n % 7 == 0 ? NULL : item->body + 5 * TEXT },
		.has_x = n % 4 != 3,
		.rev = n };
	if (n % 4 == 1)
		out->x = (cop_row){ .d = d, .dense = values };
	else if (n % 4 == 2)
		out->x = (cop_row){ .d = 1 << 20, .nnz = d, .index = index, .value = values };
	const cop_row dense = { .d = d, .dense = values };
	const cop_row sparse = { .d = 1 << 20, .nnz = d, .index = index, .value = values };
	for (size_t k = 0; k < candidates_of(n); k++)
		candidate[k] = k == 0 ? dense : sparse;
	out->candidates = candidates_of(n);
	out->candidate = out->candidates > 0 ? candidate : NULL;
	if (n % 3 == 0 && d > 0) {
		out->mask = mask;
		out->arms = d;
	}
}

static bool is_text(const void *text, bool there, const uint8_t *body, size_t at)
{
	return there ? text == body + at : text == NULL;
}

static bool is_as_described(const cop_whatif_item *item, uint64_t n)
{
	const cop_wire_record *r = item->record;
	const size_t d = values_of(n);
	bool good = r != NULL && r->rev == n && r->has_x == (n % 4 != 3) && r->model == NULL && r->model_length == 0 &&
	            is_text(r->played, has_texts(n) && n % 2 != 0, item->body, 2 * (size_t)TEXT) &&
	            is_text(r->from.source, has_texts(n) && n % 3 != 0, item->body, 3 * (size_t)TEXT) &&
	            is_text(r->named.pairs, has_texts(n) && n % 5 != 0, item->body, 4 * (size_t)TEXT) &&
	            is_text(r->settled.items, has_texts(n) && n % 7 != 0, item->body, 5 * (size_t)TEXT) &&
	            (r->mask != NULL) == (n % 3 == 0 && d > 0) && r->candidates == candidates_of(n) &&
	            (r->candidate != NULL) == (r->candidates > 0);
	for (size_t k = 0; good && k < r->candidates; k++) {
		const cop_row *x = &r->candidate[k];
		good = k == 0 ? x->d == d && x->dense != NULL : x->dense == NULL && x->nnz == d;
		for (size_t j = 0; good && j < d; j++)
			good = k == 0 ? x->dense[j] == (float)(n + j)
			              : x->index[j] == n * 3 + j && x->value[j] == (float)(n + j);
	}
	for (size_t j = 0; good && j < d; j++) {
		good = n % 4 != 1 || r->x.dense[j] == (float)(n + j);
		good = good && (n % 4 != 2 || (r->x.index[j] == n * 3 + j && r->x.value[j] == (float)(n + j)));
		good = good && (r->mask == NULL || r->mask[j] == (n + j) % 2);
	}
	return good;
}

static void fill_view(cop_whatif_item *item, uint64_t n)
{
	item->seen.time = (double)n;
	item->view.arms = arms_of(n);
	for (size_t k = 0; k < arms_of(n); k++) {
		item->view.p[k] = (double)(n + k);
		item->view.loss[k] = (float)k;
	}
}

static bool is_filled(const cop_whatif_item *item, uint64_t n)
{
	bool good = item->seen.time == (double)n && item->view.arms == arms_of(n);
	for (size_t k = 0; good && k < item->view.arms; k++)
		good = item->view.p[k] == (double)(n + k) && item->view.loss[k] == (float)k;
	return good;
}

static cop_err take(void *context, cop_whatif_item *item)
{
	taken *t = context;
	uint64_t n = t->count++;
	if (n == t->fails_at)
		return COP_ENOMEM;
	/* the body comes along where something points into it, or nothing else tells what it says */
	const bool body = !is_whole(n) || (has_texts(n) && n % (2 * 3 * 5 * 7) != 0);
	bool good = item->length == (body ? length_of(n) : 0) && item->number == n && item->asks == has_view(n);
	for (size_t i = 0; good && i < item->length; i++)
		good = item->body[i] == (uint8_t)(n + i);
	good = good && (is_whole(n) ? is_as_described(item, n) : item->record == NULL);
	good = good && item->saw == (t->before != NULL);
	item->saw = true;
	if (has_view(n) && t->before == NULL)
		fill_view(item, n);
	else if (has_view(n))
		good = good && is_filled(item, n);
	return good ? COP_OK : COP_EFORMAT;
}

static cop_err put(cop_whatif_pipe *pipe, uint64_t n, uint8_t *body)
{
	float values[8];
	uint32_t index[8];
	uint8_t mask[8];
	cop_row candidate[2];
	for (size_t i = 0; i < length_of(n); i++)
		body[i] = (uint8_t)(n + i);
	cop_whatif_item item = { .type = has_view(n) ? COP_WIRE_RECORD_DECISION : COP_WIRE_RECORD_FEEDBACK,
		.number = n,
		.length = length_of(n),
		.body = body,
		.asks = has_view(n),
		.room = has_view(n) ? arms_of(n) : 0 };
	cop_wire_record record;
	if (is_whole(n)) {
		describe(&item, n, values, index, mask, candidate, &record);
		item.record = &record;
	}
	return cop_whatif_pipe_put(pipe, &item);
}

static cop_whatif_pipe *make(taken *first, taken *second)
{
	cop_whatif_taker *const taker[2] = { take, take };
	void *const context[2] = { first, second };
	cop_whatif_pipe *pipe;
	second->before = first;
	assert_int_equal(cop_whatif_pipe_new(taker, context, &pipe), COP_OK);
	return pipe;
}

static void test_items_come_out_in_order(void **state)
{
	(void)state;
	taken first = { .fails_at = UINT64_MAX }, second = first;
	cop_whatif_pipe *pipe = make(&first, &second);
	uint8_t *body = cop_mem_alloc(300000, 1);
	for (uint64_t n = 0; n < MANY; n++) {
		assert_int_equal(put(pipe, n, body), COP_OK);
		if (n % 5000 == 4999) {
			assert_int_equal(cop_whatif_pipe_flush(pipe), COP_OK);
			assert_true(first.count == n + 1 && second.count == n + 1);
		}
	}
	assert_int_equal(cop_whatif_pipe_flush(pipe), COP_OK);
	cop_whatif_pipe_free(pipe);
	assert_true(first.count == MANY && second.count == MANY);
	cop_mem_free(body);
}

static void error_comes_back(taken *fails, taken *first, taken *second)
{
	cop_whatif_pipe *pipe = make(first, second);
	uint8_t *body = cop_mem_alloc(300000, 1);
	for (uint64_t n = 0; n < 200; n++)
		(void)!put(pipe, n, body);
	assert_int_equal(cop_whatif_pipe_flush(pipe), COP_ENOMEM);
	assert_int_equal(put(pipe, 200, body), COP_OK);
	assert_int_equal(cop_whatif_pipe_flush(pipe), COP_ENOMEM);
	assert_int_equal(fails->count, 101);
	assert_true(second->count <= first->count);
	cop_whatif_pipe_free(pipe);
	cop_mem_free(body);
}

static void test_error_of_a_taker_comes_back(void **state)
{
	(void)state;
	taken fails = { .fails_at = 100 }, other = { .fails_at = UINT64_MAX };
	error_comes_back(&fails, &fails, &other);
	fails = (taken){ .fails_at = 100 };
	other = (taken){ .fails_at = UINT64_MAX };
	error_comes_back(&fails, &other, &fails);
	cop_whatif_pipe_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items_come_out_in_order),
		cmocka_unit_test(test_error_of_a_taker_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
