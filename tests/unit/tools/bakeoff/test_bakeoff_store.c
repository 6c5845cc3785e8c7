#include "tools/bakeoff/bakeoff_store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"
#include "support_io.h"

static char folder[] = "/tmp/test_bakeoff_XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

static size_t size_of(const char *name)
{
	struct stat status;
	assert_int_equal(stat(in_folder(name), &status), 0);
	return (size_t)status.st_size;
}

static int begin(void **state)
{
	(void)state;
	(void)unlink(in_folder("o.csv"));
	(void)unlink(in_folder("o.curves.csv"));
	(void)unlink(in_folder("o.settings.csv"));
	return 0;
}

static cop_bakeoff_settings settings_of(const char *text)
{
	cop_bakeoff_settings settings = { .count = 0 };
	cop_diag diag;
	assert_true(cop_bakeoff_settings_add(&settings, text));
	assert_int_equal(cop_bakeoff_settings_finish(&settings, &diag), COP_OK);
	return settings;
}

static cop_bakeoff_row row_of(const char *setting, uint64_t seed, double loss)
{
	cop_bakeoff_row row = {
		.seed = seed, .events = 100, .features = 3, .classes = 2, .loss = loss, .seconds = 0.25
	};
	strcpy(row.dataset, "toy");
	(void)snprintf(row.setting, sizeof row.setting, "%s", setting);
	return row;
}

static void add(cop_bakeoff_store *store, const char *setting, uint64_t seed, double loss)
{
	cop_diag diag;
	cop_bakeoff_row row = row_of(setting, seed, loss);
	cop_bakeoff_point points[2] = { { .seed = seed, .events = 100, .at = 10, .loss = 0.5 },
		{ .seed = seed, .events = 100, .at = 100, .loss = loss } };
	for (size_t i = 0; i < 2; i++) {
		strcpy(points[i].dataset, row.dataset);
		strcpy(points[i].setting, row.setting);
	}
	assert_int_equal(cop_bakeoff_store_add(store, &row, points, 2, &diag), COP_OK);
}

static cop_err open_store(const char *settings, bool replace, cop_bakeoff_store *store, cop_diag *diag)
{
	cop_bakeoff_settings set = settings_of(settings);
	return cop_bakeoff_store_open(in_folder("o.csv"), &set, replace, store, diag);
}

/* A file with two rows of default. */
static void make_two(void)
{
	cop_bakeoff_store store;
	cop_diag diag;
	assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
	add(&store, "default", 1, 0.125);
	add(&store, "default", 2, 1.0 / 3.0);
	cop_bakeoff_store_close(&store);
}

/* ---- rows ---- */

static void test_rows_what_is_written_reads_back(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag;
	make_two();
	assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
	assert_int_equal(store.rows.count, 2);
	assert_int_equal(store.points.count, 4);
	const cop_bakeoff_row *row = cop_bakeoff_rows_find(&store.rows, "toy", "default", 2, 100);
	assert_non_null(row);
	assert_true(row->loss == 1.0 / 3.0);
	assert_true(row->seconds == 0.25);
	assert_int_equal(row->features, 3);
	assert_int_equal(row->classes, 2);
	assert_null(cop_bakeoff_rows_find(&store.rows, "toy", "default", 3, 100));
	assert_null(cop_bakeoff_rows_find(&store.rows, "toy", "default", 2, 99));
	assert_null(cop_bakeoff_rows_find(&store.rows, "to", "default", 2, 100));
	assert_int_equal(store.points.point[3].at, 100);
	cop_bakeoff_store_close(&store);
}

static void test_rows_half_a_last_line_is_dropped_at_every_cut(void **state)
{
	(void)state;
	make_two();
	size_t whole = size_of("o.csv");
	size_t header = strlen(COP_BAKEOFF_HEADER) + 1;
	for (size_t length = whole; length >= header; length--) {
		cop_bakeoff_store store;
		cop_diag diag;
		assert_int_equal(truncate(in_folder("o.csv"), (off_t)length), 0);
		assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
		size_t rows = store.rows.count;
		assert_true(rows <= 2 && rows == store.rows.count);
		cop_bakeoff_store_close(&store);
		assert_true(length == whole ? rows == 2 : rows < 2);
		assert_true(size_of("o.csv") <= length);
		if (size_of("o.csv") < length)
			length = size_of("o.csv") + 1; /* the next whole line's end */
	}
	assert_int_equal(size_of("o.csv"), header);
}

static void test_rows_half_a_row_is_run_again_behind_whole_ones(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag;
	make_two();
	assert_int_equal(truncate(in_folder("o.csv"), (off_t)size_of("o.csv") - 3), 0);
	assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
	assert_int_equal(store.rows.count, 1);
	add(&store, "default", 2, 0.5);
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
	assert_int_equal(store.rows.count, 2);
	assert_true(store.rows.row[1].loss == 0.5);
	cop_bakeoff_store_close(&store);
}

static void test_rows_wrong_files_are_refused_and_left_alone(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"dataset,seed\n",
		"hello\n",
		"1,2,3\n",
		"half a line of something else",
		"dataset,seed,events,features,classes,setting,loss,seconds\n",
		COP_BAKEOFF_HEADER ",more\n",
		COP_BAKEOFF_HEADER "\ntoy,1,100,3,2,default,0.5\n",
		COP_BAKEOFF_HEADER "\ntoy,x,100,3,2,default,0.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,0,3,2,default,0.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,1.5,3,2,default,0.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,-1,100,3,2,default,0.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,100,3,2,default,1.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,100,3,2,default,nan,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,100,3,2,default,0.5,-1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,1e300,3,2,default,0.5,1\n",
		COP_BAKEOFF_HEADER "\n,1,100,3,2,default,0.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,100,3,2,\"a,b\",0.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,100,3,2,a\x01,0.5,1\n",
		COP_BAKEOFF_HEADER "\ntoy,1,100,3,2,\xff,0.5,1\n",
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_bakeoff_store store;
		cop_diag diag = { 0 };
		write_text("o.csv", wrong[i]);
		if (open_store("default", false, &store, &diag) != COP_EFORMAT)
			fail_msg("'%s' was taken", wrong[i]);
		assert_non_null(strstr(diag.source, "o.csv"));
		assert_int_equal(size_of("o.csv"), strlen(wrong[i]));
		cop_bakeoff_store_close(&store);
		assert_int_equal(cop_bakeoff_store_read(in_folder("o.csv"), &store, &diag), COP_EFORMAT);
		cop_bakeoff_store_close(&store);
	}
}

static void test_rows_header_alone_and_nothing_are_empty(void **state)
{
	(void)state;
	static const char *const empty[] = { "", COP_BAKEOFF_HEADER "\n" };
	for (size_t i = 0; i < 2; i++) {
		cop_bakeoff_store store;
		cop_diag diag;
		write_text("o.csv", empty[i]);
		assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
		assert_int_equal(store.rows.count, 0);
		cop_bakeoff_store_close(&store);
		assert_int_equal(size_of("o.csv"), strlen(COP_BAKEOFF_HEADER) + 1);
	}
}

static void test_rows_peers_names_may_stand_in_quotes(void **state)
{
	(void)state;
	cop_bakeoff_rows rows = { .row = NULL };
	cop_diag diag;
	write_text(
	        "p.csv", COP_BAKEOFF_HEADER "\r\ntoy,1,100,3,2,\"eps.1 (rates)\",0.5,1\r\ntoy,2,100,3,2,17,.25,0\r\n");
	assert_int_equal(cop_bakeoff_rows_read(in_folder("p.csv"), &rows, &diag), COP_OK);
	assert_int_equal(rows.count, 2);
	assert_string_equal(rows.row[0].setting, "eps.1 (rates)");
	assert_string_equal(rows.row[1].setting, "17");
	cop_bakeoff_rows_fini(&rows);
	(void)unlink(in_folder("p.csv"));
}

static void test_rows_name_is_no_csv_is_refused(void **state)
{
	(void)state;
	cop_bakeoff_settings set = settings_of("default");
	static const char *const wrong[] = { "", ".csv", "o.csv.gz", "o.txt" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_bakeoff_store store;
		cop_diag diag;
		assert_int_equal(cop_bakeoff_store_open(wrong[i], &set, false, &store, &diag), COP_EINVAL);
		cop_bakeoff_store_close(&store);
	}
}

static void test_rows_second_writer_is_refused(void **state)
{
	(void)state;
	cop_bakeoff_store first;
	cop_bakeoff_store second;
	cop_diag diag;
	assert_int_equal(open_store("default", false, &first, &diag), COP_OK);
	assert_int_equal(open_store("default", false, &second, &diag), COP_EEXIST);
	cop_bakeoff_store_close(&second);
	cop_bakeoff_store_close(&first);
}

/* ---- settings ---- */

static void test_settings_of_a_changed_one_are_refused_or_replaced(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag;
	assert_int_equal(open_store("mine=dgt:height=3,default", false, &store, &diag), COP_OK);
	add(&store, "mine", 1, 0.5);
	add(&store, "default", 1, 0.25);
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("mine=dgt:height=4", false, &store, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "height 4"));
	assert_non_null(strstr(diag.message, "height 3"));
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("mine=dgt:height=4", true, &store, &diag), COP_OK);
	assert_int_equal(store.rows.count, 1);
	assert_int_equal(store.points.count, 2);
	add(&store, "mine", 1, 0.75);
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("mine=dgt:height=4,default", false, &store, &diag), COP_OK);
	assert_int_equal(store.rows.count, 2);
	assert_true(cop_bakeoff_rows_find(&store.rows, "toy", "mine", 1, 100)->loss == 0.75);
	cop_bakeoff_store_close(&store);
}

static void test_settings_without_rows_may_change(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag;
	assert_int_equal(open_store("mine=dgt:height=3", false, &store, &diag), COP_OK);
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("mine=dgt:height=4", false, &store, &diag), COP_OK);
	add(&store, "mine", 1, 0.5);
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("mine=dgt:height=4", false, &store, &diag), COP_OK);
	cop_bakeoff_store_close(&store);
}

static void test_settings_that_nothing_is_known_of_are_refused(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag;
	make_two();
	(void)unlink(in_folder("o.settings.csv"));
	assert_int_equal(open_store("default", false, &store, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "not written down"));
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("epsilon", false, &store, &diag), COP_OK);
	cop_bakeoff_store_close(&store);
}

static void test_settings_another_fingerprint_is_refused(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag;
	make_two();
	write_text("o.settings.csv", "setting,fingerprint,options\ndefault,00000000,--learner ensemble\n");
	assert_int_equal(open_store("default", false, &store, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "another build"));
	cop_bakeoff_store_close(&store);
}

static void test_settings_record_of_something_else_is_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = { "hello\n", "setting,fingerprint,options\ndefault\n",
		"setting,fingerprint,options\ndefault,00000000\n", "setting,fingerprint,options\ndefault,00000000;x\n",
		"setting,fingerprint,options\ndefault,xyz,--learner dgt\n", "setting,fingerprint,options\n\n" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_bakeoff_store store;
		cop_diag diag;
		write_text("o.settings.csv", wrong[i]);
		assert_int_equal(open_store("default", false, &store, &diag), COP_EFORMAT);
		cop_bakeoff_store_close(&store);
	}
}

static void test_settings_texts_name_and_fill_them(void **state)
{
	(void)state;
	cop_bakeoff_settings s = settings_of("default,epsilon,dgt,dgt:height=4,tall=dgt:height=8:literal,same=default");
	static const char *const names[] = { "default", "epsilon", "dgt", "dgt:height=4", "tall", "same" };
	assert_int_equal(s.count, 6);
	for (size_t i = 0; i < s.count; i++)
		assert_string_equal(s.setting[i].name, names[i]);
	assert_string_equal(s.setting[4].options, "--learner dgt --height 8 --literal");
	assert_string_equal(s.setting[1].learner.policy, "epsilon");
	assert_int_equal(s.setting[0].fingerprint, s.setting[5].fingerprint);
	assert_int_not_equal(s.setting[0].fingerprint, s.setting[1].fingerprint);
	s = settings_of("my own: --rate 0.5 --learner ensemble");
	assert_string_equal(s.setting[0].name, "my own");
	assert_string_equal(s.setting[0].options, "--learner ensemble --rate 0.5");
	assert_int_not_equal(s.setting[0].fingerprint, 0);
	s = settings_of("a=ensemble:share-max=3=0.5:least-propensity=0.10:share-min=1=0.2+0=0.1");
	assert_string_equal(s.setting[0].options,
	        "--learner ensemble --least-propensity 0.1 --share-min 0=0.1+1=0.2 --share-max 3=0.5");
	s = settings_of("a=ensemble:experts=forest+trees:optimism=0.50:policy=fastcb");
	assert_string_equal(
	        s.setting[0].options, "--learner ensemble --policy fastcb --optimism 0.5 --experts trees+forest");
	s = settings_of("a: --epsilon-floor 0.01 --epsilon-decay 0.1 --policy epsilon");
	assert_string_equal(
	        s.setting[0].options, "--learner ensemble --policy epsilon --epsilon-decay 0.1 --epsilon-floor 0.01");
	s = settings_of("ranked=rank");
	assert_string_equal(s.setting[0].learner.learner, "rank");
}

static void test_settings_wrong_texts_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", ",", "forest", "default,default", "a=dgt:", "=dgt", "dgt:height=0",
		"value", "--learner dgt", "a: --learner", "a: --learner value", "x=dgt:gamma=3", "a\"b: --learner dgt",
		"a,b: --learner dgt", "uniform", "a\x01: --learner dgt" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_bakeoff_settings s = { .count = 0 };
		bool taken = cop_bakeoff_settings_add(&s, wrong[i]);
		if (taken && strcmp(wrong[i], "a=dgt:") != 0)
			fail_msg("'%s' was taken", wrong[i]);
	}
}

static void test_settings_of_another_are_replaced_wherever_their_rows_stand(void **state)
{
	(void)state;
	for (size_t place = 0; place < 3; place++) {
		static const char *const others[] = { "default", "epsilon" };
		cop_bakeoff_store store, second;
		cop_diag diag;
		(void)begin(NULL);
		assert_int_equal(open_store("default,mine=dgt:height=3,epsilon", false, &store, &diag), COP_OK);
		for (size_t i = 0, other = 0; i < 3; i++)
			add(&store, i == place ? "mine" : others[other++], 1 + i, 0.125 * (double)(1 + i));
		cop_bakeoff_store_close(&store);
		unsigned before = cop_test_io_descriptors();
		assert_int_equal(open_store("mine=dgt:height=4", true, &store, &diag), COP_OK);
		assert_int_equal(store.rows.count, 2);
		assert_int_equal(store.points.count, 4);
		for (size_t i = 0; i < 2; i++) {
			assert_string_equal(store.rows.row[i].setting, others[i]);
			assert_string_equal(store.points.point[2 * i].setting, others[i]);
			assert_string_equal(store.points.point[2 * i + 1].setting, others[i]);
		}
		assert_int_equal(open_store("default", false, &second, &diag), COP_EEXIST); /* still locked */
		cop_bakeoff_store_close(&second);
		cop_bakeoff_store_close(&store);
		assert_int_equal(cop_test_io_descriptors(), before);
		assert_int_equal(cop_bakeoff_store_read(in_folder("o.csv"), &store, &diag), COP_OK);
		assert_int_equal(store.rows.count, 2);
		assert_int_equal(store.points.count, 4);
		cop_bakeoff_store_close(&store);
	}
}

/* So many that the record of them grows twice; each is known again. */
static void test_settings_of_any_number_are_written_down(void **state)
{
	(void)state;
	char text[2048] = "";
	cop_bakeoff_store store;
	cop_diag diag;
	for (int i = 0, used = 0; i < 40; i++)
		used += snprintf(text + used, sizeof text - (size_t)used, "%ss%d=dgt:height=%d", i == 0 ? "" : ",", i,
		        1 + i % 3);
	assert_int_equal(open_store(text, false, &store, &diag), COP_OK);
	for (int i = 0; i < 40; i++) {
		char name[16];
		(void)snprintf(name, sizeof name, "s%d", i);
		add(&store, name, 1, 0.5);
	}
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store(text, false, &store, &diag), COP_OK);
	assert_int_equal(store.rows.count, 40);
	cop_bakeoff_store_close(&store);
	assert_int_equal(open_store("s39=dgt:height=3", false, &store, &diag), COP_EINVAL);
	cop_bakeoff_store_close(&store);
}

/* ---- files that fail ---- */

/* Longer than what is looked at at once. */
static void test_rows_half_a_line_of_any_length_is_dropped(void **state)
{
	(void)state;
	static const size_t lengths[] = { 1, 4095, 4096, 4097, 8191, 8192, 8193, 20000 };
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		cop_bakeoff_store store;
		cop_diag diag;
		(void)begin(NULL);
		make_two();
		size_t whole = size_of("o.csv");
		FILE *file = fopen(in_folder("o.csv"), "a");
		assert_non_null(file);
		for (size_t j = 0; j < lengths[i]; j++)
			assert_int_equal(fputc('x', file), 'x');
		assert_int_equal(fclose(file), 0);
		assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
		assert_int_equal(store.rows.count, 2);
		cop_bakeoff_store_close(&store);
		assert_int_equal(size_of("o.csv"), whole);
	}
}

static void test_points_of_something_else_are_refused(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag = { .message = "" };
	make_two();
	write_text("o.curves.csv", "hello\n");
	assert_int_equal(open_store("default", false, &store, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.source, "o.curves.csv"));
	cop_bakeoff_store_close(&store);
	assert_int_equal(cop_bakeoff_store_read(in_folder("o.csv"), &store, &diag), COP_EFORMAT);
	cop_bakeoff_store_close(&store);
	(void)unlink(in_folder("o.curves.csv"));
	assert_int_equal(cop_bakeoff_store_read(in_folder("o.csv"), &store, &diag), COP_OK); /* rows alone */
	assert_int_equal(store.rows.count, 2);
	assert_int_equal(store.points.count, 0);
	cop_bakeoff_store_close(&store);
	assert_int_equal(mkdir(in_folder("o.curves.csv"), 0700), 0);
	assert_int_equal(open_store("default", false, &store, &diag), COP_EIO);
	assert_non_null(strstr(diag.source, "o.curves.csv"));
	cop_bakeoff_store_close(&store);
	assert_int_equal(rmdir(in_folder("o.curves.csv")), 0);
}

static void test_points_second_writer_is_refused(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag = { .message = "" };
	make_two();
	int held = open(in_folder("o.curves.csv"), O_RDONLY | O_CLOEXEC);
	assert_true(held >= 0 && flock(held, LOCK_EX) == 0);
	assert_int_equal(open_store("default", false, &store, &diag), COP_EEXIST);
	assert_non_null(strstr(diag.source, "o.curves.csv"));
	cop_bakeoff_store_close(&store);
	(void)close(held);
	assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
	cop_bakeoff_store_close(&store);
}

/* There is room for the rows, but not for the points, which come first. */
static void test_replaced_points_that_cannot_be_written_leave_the_rows(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag = { .message = "" };
	struct rlimit before, limit;
	assert_int_equal(open_store("mine=dgt:height=3,default", false, &store, &diag), COP_OK);
	add(&store, "mine", 1, 0.5);
	for (uint64_t seed = 1; seed <= 20; seed++)
		add(&store, "default", seed, 0.25);
	cop_bakeoff_store_close(&store);
	size_t rows = size_of("o.csv"), points = size_of("o.curves.csv");
	assert_true(rows + 100 < points); /* also without those of mine */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = rows;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cop_err err = open_store("mine=dgt:height=4", true, &store, &diag);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(err, COP_EIO);
	assert_non_null(strstr(diag.source, "o.curves.csv"));
	cop_bakeoff_store_close(&store);
	assert_int_equal(size_of("o.csv"), rows);
	assert_int_equal(size_of("o.curves.csv"), points);
}

/* Each call that fails is told of, and what is left can be read: the rows and points of before, or of behind. */
static void test_replacing_under_each_failure_loses_nothing_else(void **state)
{
	(void)state;
	static const unsigned kinds[] = { COP_TEST_IO_OPEN, COP_TEST_IO_RENAME, COP_TEST_IO_READ, COP_TEST_IO_STAT };
	for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
		unsigned long n = 0;
		for (bool failed = true; failed;) {
			cop_bakeoff_store store;
			cop_diag diag = { .message = "" };
			(void)begin(NULL);
			assert_int_equal(open_store("mine=dgt:height=3,default", false, &store, &diag), COP_OK);
			add(&store, "mine", 1, 0.5);
			add(&store, "default", 1, 0.25);
			cop_bakeoff_store_close(&store);
			unsigned before = cop_test_io_descriptors();
			cop_bakeoff_settings set = settings_of("mine=dgt:height=4");
			const char *path = in_folder("o.csv");
			diag.message[0] = '\0';
			cop_test_io_fail(kinds[kind], ++n, false, EIO);
			cop_err err = cop_bakeoff_store_open(path, &set, true, &store, &diag);
			failed = cop_test_io_failed();
			cop_test_io_fail(0, 0, false, 0);
			assert_int_equal(err != COP_OK, failed);
			assert_int_equal(diag.message[0] != '\0', failed);
			cop_bakeoff_store_close(&store);
			assert_int_equal(cop_test_io_descriptors(), before);
			assert_int_equal(cop_bakeoff_store_read(in_folder("o.csv"), &store, &diag), COP_OK);
			assert_non_null(cop_bakeoff_rows_find(&store.rows, "toy", "default", 1, 100));
			assert_true(failed || store.rows.count == 1);
			cop_bakeoff_store_close(&store);
		}
		assert_true(n > 1);
	}
}

static void use_full_disk(int *fd)
{
	(void)close(*fd);
	*fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(*fd >= 0);
}

/* What is not written whole is not taken for a run. */
static void test_run_that_cannot_be_written_is_told_and_not_kept(void **state)
{
	(void)state;
	for (unsigned rows = 0; rows < 2; rows++) {
		cop_bakeoff_store store;
		cop_diag diag = { .message = "" };
		cop_bakeoff_row row = row_of("default", 3, 0.5);
		cop_bakeoff_point point = {
			.dataset = "toy", .setting = "default", .seed = 3, .events = 100, .at = 10, .loss = 0.5
		};
		(void)begin(NULL);
		make_two();
		size_t whole = size_of("o.csv");
		assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
		use_full_disk(rows ? &store.csv : &store.curves);
		assert_int_equal(cop_bakeoff_store_add(&store, &row, &point, 1, &diag), COP_EIO);
		assert_non_null(strstr(diag.source, rows ? "o.csv" : "o.curves.csv"));
		assert_non_null(strstr(diag.message, "No space left"));
		assert_int_equal(store.rows.count, 2);
		assert_int_equal(store.points.count, 4);
		cop_bakeoff_store_close(&store);
		assert_int_equal(size_of("o.csv"), whole);
	}
}

static void test_run_is_kept_in_memory_as_in_the_files(void **state)
{
	(void)state;
	cop_bakeoff_store store;
	cop_diag diag;
	assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
	for (uint64_t seed = 1; seed <= 40; seed++) {
		add(&store, "default", seed, 0.01 * (double)seed);
		assert_int_equal(store.rows.count, seed);
		assert_int_equal(store.points.count, 2 * seed);
		assert_int_equal(store.points.point[2 * seed - 2].at, 10);
		assert_int_equal(store.points.point[2 * seed - 1].at, 100);
		assert_int_equal(store.points.point[2 * seed - 1].seed, seed);
	}
	cop_bakeoff_store_close(&store);
}

/* ---- memory ---- */

static void test_run_out_of_memory_is_told(void **state)
{
	(void)state;
	cop_bakeoff_row row = row_of("default", 3, 0.5);
	cop_bakeoff_point point = { .dataset = "toy", .setting = "default", .seed = 3, .events = 100, .at = 10 };
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err == COP_ENOMEM; n++) {
		cop_bakeoff_store store;
		cop_diag diag = { .message = "" };
		(void)begin(NULL);
		assert_int_equal(open_store("default", false, &store, &diag), COP_OK);
		cop_test_alloc_fail(n, 0);
		err = cop_bakeoff_store_add(&store, &row, &point, 1, &diag);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err != COP_OK)
			assert_string_equal(diag.message, cop_err_text(COP_ENOMEM));
		cop_bakeoff_store_close(&store);
	}
	assert_int_equal(err, COP_OK);
}

static void test_store_out_of_memory_is_told(void **state)
{
	(void)state;
	cop_bakeoff_settings set = settings_of("default,dgt");
	make_two();
	for (unsigned long n = 1;; n++) {
		cop_bakeoff_store store;
		cop_diag diag = { .message = "" };
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_bakeoff_store_open(in_folder("o.csv"), &set, false, &store, &diag);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_bakeoff_store_close(&store);
		if (!reached)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_true(diag.message[0] != '\0');
	}
}

static void test_settings_out_of_memory_is_told(void **state)
{
	(void)state;
	const cop_bakeoff_settings whole = settings_of("dgt,ranked=rank:trees=0");
	for (unsigned long n = 1;; n++) {
		cop_bakeoff_settings set = whole;
		cop_diag diag;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_bakeoff_settings_finish(&set, &diag);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		if (!reached)
			break;
		if (err == COP_OK) /* a model may forget who answered, and decides as before */
			assert_memory_equal(&set, &whole, sizeof set);
		else
			assert_int_equal(err, COP_ENOMEM);
	}
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)begin(state);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_rows_what_is_written_reads_back, begin),
		cmocka_unit_test_setup(test_rows_half_a_last_line_is_dropped_at_every_cut, begin),
		cmocka_unit_test_setup(test_rows_half_a_row_is_run_again_behind_whole_ones, begin),
		cmocka_unit_test_setup(test_rows_wrong_files_are_refused_and_left_alone, begin),
		cmocka_unit_test_setup(test_rows_header_alone_and_nothing_are_empty, begin),
		cmocka_unit_test_setup(test_rows_peers_names_may_stand_in_quotes, begin),
		cmocka_unit_test_setup(test_rows_name_is_no_csv_is_refused, begin),
		cmocka_unit_test_setup(test_rows_second_writer_is_refused, begin),
		cmocka_unit_test_setup(test_settings_of_a_changed_one_are_refused_or_replaced, begin),
		cmocka_unit_test_setup(test_settings_without_rows_may_change, begin),
		cmocka_unit_test_setup(test_settings_that_nothing_is_known_of_are_refused, begin),
		cmocka_unit_test_setup(test_settings_another_fingerprint_is_refused, begin),
		cmocka_unit_test_setup(test_settings_record_of_something_else_is_refused, begin),
		cmocka_unit_test_setup(test_settings_texts_name_and_fill_them, begin),
		cmocka_unit_test_setup(test_settings_wrong_texts_are_refused, begin),
		cmocka_unit_test_setup(test_settings_of_another_are_replaced_wherever_their_rows_stand, begin),
		cmocka_unit_test_setup(test_settings_of_any_number_are_written_down, begin),
		cmocka_unit_test_setup(test_rows_half_a_line_of_any_length_is_dropped, begin),
		cmocka_unit_test_setup(test_points_of_something_else_are_refused, begin),
		cmocka_unit_test_setup(test_points_second_writer_is_refused, begin),
		cmocka_unit_test_setup(test_replaced_points_that_cannot_be_written_leave_the_rows, begin),
		cmocka_unit_test_setup(test_replacing_under_each_failure_loses_nothing_else, begin),
		cmocka_unit_test_setup(test_run_that_cannot_be_written_is_told_and_not_kept, begin),
		cmocka_unit_test_setup(test_run_is_kept_in_memory_as_in_the_files, begin),
		cmocka_unit_test_setup(test_run_out_of_memory_is_told, begin),
		cmocka_unit_test_setup(test_store_out_of_memory_is_told, begin),
		cmocka_unit_test_setup(test_settings_out_of_memory_is_told, begin),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
