/* Items come out whole and in order, whatever their size; an error of the taker comes back, and nothing is taken then.
 */
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

static cop_err take(void *context, const cop_whatif_item *item)
{
	taken *t = context;
	uint64_t n = t->count++;
	if (n == t->fails_at)
		return COP_ENOMEM;
	bool good = item->seen.time == (double)n && item->length == length_of(n) && item->view.arms == arms_of(n);
	for (size_t i = 0; good && i < item->length; i++)
		good = item->body[i] == (uint8_t)(n + i);
	for (size_t k = 0; good && k < item->view.arms; k++)
		good = item->view.p[k] == (double)(n + k) && item->view.loss[k] == (float)k;
	return good ? COP_OK : COP_EFORMAT;
}

static cop_err put(cop_whatif_pipe *pipe, uint64_t n, uint8_t *body)
{
	double p[8];
	float loss[8];
	for (size_t k = 0; k < 8; k++) {
		p[k] = (double)(n + k);
		loss[k] = (float)k;
	}
	for (size_t i = 0; i < length_of(n); i++)
		body[i] = (uint8_t)(n + i);
	const cop_whatif_item item = { .type = COP_WIRE_RECORD_DECISION,
		.length = length_of(n),
		.body = body,
		.view = { p, loss, arms_of(n) },
		.seen = { .time = (double)n } };
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
