/* Items come out whole and in order, whatever their size, with what their records have of their own; an error of the
 * taker comes back, and nothing is taken then. */
#include "tools/whatif/whatif_pipe.h"
#include "base/mem.h"
#include "support.h"

#include <string.h>

#define MANY 20000

typedef struct taken {
	uint64_t count, fails_at;
} taken;

static size_t length_of(uint64_t n) { return n % 997 == 0 ? 300000 : (size_t)(n * 7 % 90); }

static size_t arms_of(uint64_t n) { return (size_t)(n % 8); }

/* ---- records ---- */

#define TEXT 8 /* bytes of the body before each text, which is its next 4 bytes */

static size_t values_of(uint64_t n) { return (size_t)(n % 5); }

static bool has_view(uint64_t n) { return n % 11 != 5; } /* the others are feedback that saw nothing */

static bool has_texts(uint64_t n) { return n % 13 != 0; }

/* What item n's record has: nothing; dense or sparse values with texts in the body; a mask. */
static bool is_whole(uint64_t n) { return n % 4 != 0 && length_of(n) >= 6 * TEXT; }

static void describe(
        const cop_whatif_item *item, uint64_t n, float *values, uint32_t *index, uint8_t *mask, cop_wire_record *out)
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
	            (r->mask != NULL) == (n % 3 == 0 && d > 0);
	for (size_t j = 0; good && j < d; j++) {
		good = n % 4 != 1 || r->x.dense[j] == (float)(n + j);
		good = good && (n % 4 != 2 || (r->x.index[j] == n * 3 + j && r->x.value[j] == (float)(n + j)));
		good = good && (r->mask == NULL || r->mask[j] == (n + j) % 2);
	}
	return good;
}

static cop_err take(void *context, const cop_whatif_item *item)
{
	taken *t = context;
	uint64_t n = t->count++;
	if (n == t->fails_at)
		return COP_ENOMEM;
	/* the body comes along where something points into it, or nothing else tells what it says */
	const bool body = !is_whole(n) || (has_texts(n) && n % (2 * 3 * 5 * 7) != 0);
	bool good = item->length == (body ? length_of(n) : 0);
	if (has_view(n))
		good = good && item->seen.time == (double)n && item->view.arms == arms_of(n);
	for (size_t i = 0; good && i < item->length; i++)
		good = item->body[i] == (uint8_t)(n + i);
	for (size_t k = 0; good && has_view(n) && k < item->view.arms; k++)
		good = item->view.p[k] == (double)(n + k) && item->view.loss[k] == (float)k;
	good = good && (is_whole(n) ? is_as_described(item, n) : item->record == NULL);
	return good ? COP_OK : COP_EFORMAT;
}

static cop_err put(cop_whatif_pipe *pipe, uint64_t n, uint8_t *body)
{
	double p[8];
	float loss[8], values[8];
	uint32_t index[8];
	uint8_t mask[8];
	for (size_t k = 0; k < 8; k++) {
		p[k] = (double)(n + k);
		loss[k] = (float)k;
	}
	for (size_t i = 0; i < length_of(n); i++)
		body[i] = (uint8_t)(n + i);
	cop_whatif_item item = { .type = has_view(n) ? COP_WIRE_RECORD_DECISION : COP_WIRE_RECORD_FEEDBACK,
		.length = length_of(n),
		.body = body,
		.view = { p, loss, arms_of(n) },
		.seen = { .time = (double)n } };
	cop_wire_record record;
	if (is_whole(n)) {
		describe(&item, n, values, index, mask, &record);
		item.record = &record;
	}
	return cop_whatif_pipe_put(pipe, &item);
}

static void test_items_come_out_in_order(void **state)
{
	(void)state;
	taken t = { .fails_at = UINT64_MAX };
	cop_whatif_pipe *pipe;
	uint8_t *body = cop_mem_alloc(300000, 1);
	assert_int_equal(cop_whatif_pipe_new(take, &t, &pipe), COP_OK);
	for (uint64_t n = 0; n < MANY; n++) {
		assert_int_equal(put(pipe, n, body), COP_OK);
		if (n % 5000 == 4999) {
			assert_int_equal(cop_whatif_pipe_flush(pipe), COP_OK);
			assert_int_equal(t.count, n + 1);
		}
	}
	assert_int_equal(cop_whatif_pipe_flush(pipe), COP_OK);
	cop_whatif_pipe_free(pipe);
	assert_int_equal(t.count, MANY);
	cop_mem_free(body);
}

static void test_error_of_the_taker_comes_back(void **state)
{
	(void)state;
	taken t = { .fails_at = 100 };
	cop_whatif_pipe *pipe;
	uint8_t *body = cop_mem_alloc(300000, 1);
	assert_int_equal(cop_whatif_pipe_new(take, &t, &pipe), COP_OK);
	for (uint64_t n = 0; n < 200; n++)
		(void)!put(pipe, n, body);
	assert_int_equal(cop_whatif_pipe_flush(pipe), COP_ENOMEM);
	assert_int_equal(put(pipe, 200, body), COP_OK);
	assert_int_equal(cop_whatif_pipe_flush(pipe), COP_ENOMEM);
	assert_int_equal(t.count, 101);
	cop_whatif_pipe_free(pipe);
	cop_whatif_pipe_free(NULL);
	cop_mem_free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items_come_out_in_order),
		cmocka_unit_test(test_error_of_the_taker_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
