/* Ranks against counting the distinct lesser values. */
#include "train/cart_ranks.h"

#include "batch_fixture.h"

static uint32_t rank_at(const cop_cart_column *column, size_t place)
{
	if (column->rank == NULL)
		return 0;
	return column->width == 1   ? ((const uint8_t *)column->rank)[place]
	       : column->width == 2 ? ((const uint16_t *)column->rank)[place]
	                            : ((const uint32_t *)column->rank)[place];
}

/* Distinct values of the column among the places that are less than this place's. */
static uint32_t count_less(const cop_dataset *rows, size_t n, const uint32_t *row, size_t place, size_t j)
{
	float x = rows->x[row[place] * rows->d + j];
	uint32_t less = 0;
	for (size_t i = 0; i < n; i++) {
		float other = rows->x[row[i] * rows->d + j];
		bool first = other < x;
		for (size_t before = 0; before < i && first; before++)
			first = rows->x[row[before] * rows->d + j] != other;
		less += first;
	}
	return less;
}

static void test_cart_ranks_count_the_lesser_values(void **state)
{
	(void)state;
	static const uint64_t values[] = { 1, 2, 200, 100000 };
	for (uint64_t seed = 0; seed < 4; seed++) {
		batch_fixture f;
		cop_cart_ranks ranks, all, copy;
		uint32_t row[400], each[300];
		batch_fixture_make(&f, COP_TASK_CLASSES, 300, 5, 2, values[seed], 0, false, seed);
		for (size_t i = 0; i < 400; i++)
			row[i] = (uint32_t)(i * 7 % 300);
		for (size_t i = 0; i < 300; i++)
			each[i] = (uint32_t)i;
		assert_int_equal(cop_cart_ranks_init(&ranks, f.rows, 400, row, NULL), COP_OK);
		assert_int_equal(cop_cart_ranks_init(&all, f.rows, 300, NULL, NULL), COP_OK);
		assert_int_equal(cop_cart_ranks_copy(&all, 400, row, &copy), COP_OK);
		for (size_t j = 0; j < 5; j++) {
			assert_true(ranks.column[j].values <= 256 ? ranks.column[j].width <= 1
			                                          : ranks.column[j].width == 2);
			for (size_t i = 0; i < 400; i += 13) {
				assert_int_equal(rank_at(&ranks.column[j], i), count_less(f.rows, 400, row, i, j));
				assert_int_equal(
				        rank_at(&all.column[j], row[i]), count_less(f.rows, 300, each, row[i], j));
				assert_int_equal(rank_at(&copy.column[j], i), rank_at(&all.column[j], row[i]));
			}
		}
		cop_cart_ranks_fini(&ranks);
		cop_cart_ranks_fini(&all);
		cop_cart_ranks_fini(&copy);
		batch_fixture_end(&f);
	}
}

static void test_cart_ranks_without_memory_fail(void **state)
{
	(void)state;
	batch_fixture f;
	cop_cart_ranks all, ranks;
	static const uint32_t row[] = { 4, 4, 9, 50 };
	batch_fixture_make(&f, COP_TASK_CLASSES, 60, 3, 2, 9, 0, false, 1);
	assert_int_equal(cop_cart_ranks_init(&all, f.rows, 60, NULL, NULL), COP_OK);
	for (int copies = 0; copies < 2; copies++) {
		cop_err err = COP_ENOMEM;
		for (unsigned long nth = 1; err == COP_ENOMEM; nth++) {
			cop_test_alloc_fail(nth, 0);
			err = copies ? cop_cart_ranks_copy(&all, 4, row, &ranks)
			             : cop_cart_ranks_init(&ranks, f.rows, 4, row, NULL);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			cop_cart_ranks_fini(&ranks);
		}
		assert_int_equal(err, COP_OK);
	}
	cop_cart_ranks_fini(&all);
	batch_fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cart_ranks_count_the_lesser_values),
		cmocka_unit_test(test_cart_ranks_without_memory_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
