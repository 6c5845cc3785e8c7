/* Guesses stand where there is no label, follow a rule that few labels show, and labels stay as they are. */
#include "tools/train/train_teacher.h"

#include "base/mem.h"
#include "support.h"

#define ROWS  60
#define KNOWN 20

typedef struct few {
	cop_dataset *rows;
	uint32_t known[KNOWN], label[ROWS];
	float target[ROWS];
	cop_sample sample;
	cop_train_job job;
} few;

/* x = 0 to 59, every third labelled: class x >= 30, value 10 of those and -10 of the others. */
static void make(few *f, cop_task task)
{
	*f = (few){ .job.seed = 3 };
	assert_int_equal(cop_dataset_new_dense(1, &f->rows), COP_OK);
	for (uint32_t i = 0; i < ROWS; i++) {
		assert_int_equal(cop_dataset_push_dense(f->rows, &(float){ (float)i }, 0), COP_OK);
		f->label[i] = i % 3 != 0 ? 7 : i >= 30;
		f->target[i] = i % 3 != 0 ? 1e9F : i >= 30 ? 10 : -10;
		if (i % 3 == 0)
			f->known[i / 3] = i;
	}
	f->sample = (cop_sample){ .rows = f->rows,
		.n = KNOWN,
		.row = f->known,
		.task = task,
		.outputs = task == COP_TASK_CLASSES ? 2 : 1,
		.label = f->label,
		.target = f->target };
}

static void test_teacher_guesses_follow_the_rule_and_labels_stay(void **state)
{
	(void)state;
	for (int task = COP_TASK_CLASSES; task <= COP_TASK_VALUES; task++) {
		few f;
		cop_train_teacher t;
		make(&f, (cop_task)task);
		assert_int_equal(cop_train_teacher_guess(&f.job, &f.sample, 20, 0.25, &t), COP_OK);
		assert_true((t.label != NULL) == (task == COP_TASK_CLASSES) && (t.target != NULL) == (t.label == NULL));
		for (size_t i = 0; i < ROWS; i++) {
			bool between = i > 27 && i < 30; /* the rule may be anywhere there */
			assert_true(i % 3 == 0 ? t.mask[i] == 1.0F : t.mask[i] > 0.0F && t.mask[i] <= 0.25F);
			if (!between && task == COP_TASK_CLASSES)
				assert_int_equal(t.label[i], i >= 30);
			if (!between && task == COP_TASK_VALUES)
				assert_true(t.target[i] == (i >= 30 ? 10.0F : -10.0F));
			assert_true(between || i % 3 == 0 || t.mask[i] == 0.25F); /* certain */
		}
		cop_train_teacher_fini(&t);
		cop_dataset_free(f.rows);
	}
}

static void test_teacher_without_trees_or_weight_guesses_nothing(void **state)
{
	(void)state;
	for (int run = 0; run < 2; run++) {
		few f;
		cop_train_teacher t;
		make(&f, COP_TASK_VALUES);
		assert_int_equal(
		        cop_train_teacher_guess(&f.job, &f.sample, run == 0 ? 0 : 5, run == 0 ? 1.0 : 0.0, &t), COP_OK);
		for (size_t i = 0; i < ROWS; i++)
			assert_true(t.mask[i] == (i % 3 == 0 ? 1.0F : 0.0F));
		cop_train_teacher_fini(&t);
		cop_dataset_free(f.rows);
	}
}

static void test_teacher_without_memory_fails(void **state)
{
	(void)state;
	for (int task = COP_TASK_CLASSES; task <= COP_TASK_VALUES; task++) {
		few f;
		cop_err err = COP_ENOMEM;
		unsigned long n = 1;
		make(&f, (cop_task)task);
		for (; err != COP_OK && n < 10000; n++) {
			cop_train_teacher t;
			cop_test_alloc_fail(n, 0);
			err = cop_train_teacher_guess(&f.job, &f.sample, 2, 1.0, &t);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || err == COP_ENOMEM);
			cop_train_teacher_fini(&t);
		}
		assert_int_equal(err, COP_OK);
		assert_true(n > 20);
		cop_dataset_free(f.rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_teacher_guesses_follow_the_rule_and_labels_stay),
		cmocka_unit_test(test_teacher_without_trees_or_weight_guesses_nothing),
		cmocka_unit_test(test_teacher_without_memory_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
