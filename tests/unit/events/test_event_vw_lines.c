#include "vw_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/number.h"
#include "base/rng.h"

/* ---- one line or several ---- */

static void test_event_vw_lines_of_an_event_are_told_from_the_first(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t events, candidates; /* of the first */
	} cases[] = {
		{ "1:0:.5 | a\n2:0:.5 | b\n", 2, 0 },
		{ "1:0:.5 | a\n2:0:.5 | b\n\n", 2, 0 },
		{ "1:0:.5 | a\n\n2:0:.5 | b\n\n", 2, 0 },
		{ "| a\n| b", 2, 0 },
		{ "| a\n| b\n\n", 1, 2 },
		{ "\n\n| a\n| b\n\n\n\n| c\n", 2, 2 },
		{ "1:-3:0.2 | a\n| b\n\n", 1, 2 },
		{ "0:-3:0.2 | a\n| b", 1, 2 },
		{ "| a\n000:-3:0.2 | b", 1, 2 },
		{ "shared | a\n| b", 1, 1 },
		{ "shared |\n| b\n| c\n\nshared | a\n| c\n", 2, 2 },
		{ "\xef\xbb\xbf"
		  "1:0:.5 | a\n2:1:.5 | b",
		        2, 0 },
		{ "| a\n\n| b\n\n| c\n| d\n\n", 3, 1 },
		{ "1:0:.5 | a", 1, 0 },
		{ "", 0, 0 },
		{ "\n \n", 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		opened o = open_text(cases[i].text);
		for (size_t k = 0; k < cases[i].events; k++) {
			cop_logged_event event;
			read_on(&o, &event);
			if (k == 0 && event.candidates != cases[i].candidates)
				fail_msg("%s: %zu candidates", cases[i].text, event.candidates);
		}
		at_end(&o);
	}
}

static void test_event_vw_of_many_lines_without_labels_is_of_one_line_each(void **state)
{
	(void)state;
	static char text[400000];
	char *to = text;
	for (int i = 0; i < 300; i++) { /* of which the first look sees a part */
		to += sprintf(to, "| ");
		for (int k = 0; k < 200; k++)
			to += sprintf(to, "f%d ", k);
		to += sprintf(to, "\n");
	}
	(void)sprintf(to, "\n");
	opened o = open_text(text);
	for (int i = 0; i < 300; i++) {
		cop_logged_event event;
		read_on(&o, &event);
		assert_int_equal(event.candidates, 0);
		assert_int_equal(event.text, to - text > 0 ? (size_t)(to - text) / 300 : 0);
	}
	at_end(&o);
}

/* ---- written, then read ---- */

#define MOST 30

typedef struct written {
	bool labelled;
	size_t rows; /* candidates; 1 without */
	uint32_t action;
	double cost, p;
	char tag[16];
	size_t count[8]; /* features of each row; the last is the shared one's */
	int name[8][MOST];
	float value[8][MOST];
} written;

static void random_row(cop_rng *rng, written *w, size_t row)
{
	w->count[row] = cop_rng_below(rng, MOST);
	size_t start = cop_rng_below(rng, 3);
	for (size_t i = 0; i < w->count[row]; i++) {
		w->name[row][i] = (int)(cop_rng_below(rng, 9) == 0 ? cop_rng_below(rng, 60) : start + i);
		float value = (float)cop_rng_below(rng, 2000) / 8.0F - 100;
		switch (cop_rng_below(rng, 4)) {
		case 0:
			value = ldexpf((float)cop_rng_below(rng, 1 << 24), (int)cop_rng_below(rng, 60) - 50);
			break;
		case 1:
			value = (float)(int)cop_rng_below(rng, 3) - 1;
			break;
		default:
			break;
		}
		w->value[row][i] = value;
	}
}

static size_t write_row(cop_rng *rng, const written *w, size_t row, char *out)
{
	static const char *const spaces[] = { " |", " |ns ", " |ns:1 ", " | " };
	size_t at = 0;
	for (size_t i = 0; i < w->count[row]; i++) {
		char number[COP_NUMBER_ROOM];
		bool in_ns = w->name[row][i] % 2 == 1;
		bool was_ns = i > 0 && w->name[row][i - 1] % 2 == 1;
		if (i == 0 || in_ns != was_ns)
			at += (size_t)sprintf(out + at, "%s", spaces[in_ns ? 1 + cop_rng_below(rng, 2) : 3]);
		(void)cop_number_format_float(w->value[row][i], number);
		bool bare = w->value[row][i] == 1 && cop_rng_below(rng, 2) == 0;
		at += (size_t)sprintf(out + at, "%sf%d%s%s", cop_rng_below(rng, 9) == 0 ? "\t " : " ", w->name[row][i],
		        bare ? "" : ":", bare ? "" : number);
	}
	if (w->count[row] == 0)
		at += (size_t)sprintf(out + at, "|");
	return at + (size_t)sprintf(out + at, "%s\n", cop_rng_below(rng, 5) == 0 ? " \r" : "");
}

static size_t write_event(cop_rng *rng, written *w, bool several, char *out)
{
	size_t at = 0;
	memset(w, 0, sizeof *w);
	w->labelled = cop_rng_below(rng, 4) > 0;
	w->rows = several ? 1 + cop_rng_below(rng, 6) : 1;
	w->action = (uint32_t)cop_rng_below(rng, several ? w->rows : 20);
	w->cost = (double)(int)cop_rng_below(rng, 4001) / 1000 - 2;
	w->p = (double)(1 + cop_rng_below(rng, 1000)) / 1000;
	if (cop_rng_below(rng, 2) == 0)
		(void)snprintf(w->tag, sizeof w->tag, "t%d", (int)cop_rng_below(rng, 1000));
	if (several) {
		random_row(rng, w, 7);
		at += (size_t)sprintf(out + at, "shared %s%s", *w->tag != '\0' ? "'" : "", w->tag);
		at += write_row(rng, w, 7, out + at);
	}
	for (size_t i = 0; i < w->rows; i++) {
		char cost[COP_NUMBER_ROOM];
		char p[COP_NUMBER_ROOM];
		(void)cop_number_format(w->cost, cost);
		(void)cop_number_format(w->p, p);
		random_row(rng, w, i);
		if (w->labelled && (!several || i == w->action))
			at += (size_t)sprintf(out + at, "%u:%s:%s ", several ? 0 : w->action + 1, cost, p);
		if (!several && *w->tag != '\0')
			at += (size_t)sprintf(out + at, "'%s", w->tag);
		at += write_row(rng, w, i, out + at);
	}
	return at + (several ? (size_t)sprintf(out + at, "\n") : 0);
}

/* The row has exactly what was written. */
static void check_row(const opened *o, const cop_row *row, const written *w, size_t r)
{
	double sum = 0;
	for (size_t i = 0; i < w->count[r]; i++) {
		float expected = 0;
		char column[24];
		for (size_t k = 0; k < w->count[r]; k++)
			expected += w->name[r][k] == w->name[r][i] ? w->value[r][k] : 0;
		(void)snprintf(column, sizeof column, "%sf%d", w->name[r][i] % 2 == 1 ? "ns^" : "", w->name[r][i]);
		size_t c = 0;
		while (c < row->d && strcmp(cop_feature_space_column(o->space, c), column) != 0)
			c++;
		if (c >= row->d || row->dense[c] != expected)
			fail_msg("%s is %.9g instead of %.9g", column, c < row->d ? (double)row->dense[c] : (double)NAN,
			        (double)expected);
		bool again = false;
		for (size_t k = 0; k < i; k++)
			again |= w->name[r][k] == w->name[r][i];
		sum += again ? 0 : (double)fabsf(expected);
	}
	for (size_t c = 0; c < row->d; c++)
		sum -= (double)fabsf(row->dense[c]);
	assert_true(fabs(sum) < 1e-3);
}

static void check_written(bool several, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, several);
	written *w = cop_mem_alloc(200, sizeof *w);
	char *text = cop_mem_alloc(1 << 20, 1);
	size_t length = 0;
	for (size_t i = 0; i < 200; i++)
		length += write_event(&rng, &w[i], several, text + length);
	opened o = open_text_as(text, length, &vw_dense, several ? COP_EVENT_LINES_SEVERAL : COP_EVENT_LINES_ONE, 0);
	for (size_t i = 0; i < 200; i++) {
		cop_logged_event event;
		read_on(&o, &event);
		assert_int_equal(event.labelled, w[i].labelled);
		if (w[i].labelled)
			assert_true(is_labelled(&event, w[i].action, w[i].cost, w[i].p));
		assert_true(*w[i].tag == '\0' ? event.id.kind == 0 : has_id(&event, w[i].tag));
		assert_int_equal(event.candidates, several ? w[i].rows : 0);
		check_row(&o, &event.x, &w[i], several ? 7 : 0);
		for (size_t k = 0; k < event.candidates; k++)
			check_row(&o, &event.candidate[k], &w[i], k);
	}
	at_end(&o);
	cop_mem_free(text);
	cop_mem_free(w);
}

static void test_event_vw_written_is_read_equal(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		check_written(false, seed);
		check_written(true, seed);
	}
}

/* ---- memory ---- */

static cop_err read_all(const char *text, bool as_columns, cop_event_lines lines)
{
	opened o = { 0 };
	cop_stream *stream;
	cop_err err = cop_feature_space_new(as_columns ? &vw_dense : &vw_hashed, &o.space, &o.diag);
	if (err != COP_OK)
		return err;
	err = cop_stream_open_memory("t.vw", text, strlen(text), &stream, &o.diag);
	cop_event_reader_settings settings = { .space = o.space, .lines = lines };
	if (err == COP_OK)
		err = cop_event_format_vw.create(&stream, &settings, &o.reader, &o.diag);
	while (err == COP_OK) {
		cop_logged_event event;
		err = next(&o, &event);
	}
	shut(&o);
	return err;
}

static void test_event_vw_without_memory_fails_cleanly(void **state)
{
	(void)state;
	static const char several[] = "shared | a b\n0:1:.5 | c d\n| e f:text\n\nshared |\n| a\n| b\n";
	static const char one[] = "1:0:.5 2 | a b\n3:1:.25 |ns a b c d e f g\n";
	for (int kind = 0; kind < 4; kind++) {
		unsigned long all = 0;
		size_t passed_over = 0;
		for (unsigned long n = 0; n <= all; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = read_all(kind % 2 == 0 ? one : several, kind / 2 == 0, COP_EVENT_LINES_AUTO);
			all = n == 0 ? cop_test_alloc_count() : all;
			cop_test_alloc_fail(0, 0);
			assert_true(err == COP_EEND || (n > 0 && err == COP_ENOMEM));
			passed_over += n > 0 && err == COP_EEND && cop_test_alloc_failed();
		}
		assert_true(passed_over <= (kind / 2 == 0 ? 0 : 4)); /* what only makes rows faster may go without */
	}
}

/* Not an event without what the line would have said. */
static void test_event_vw_line_without_memory_fails_its_event(void **state)
{
	(void)state;
	enum { LONG = 600000 }; /* more than is read at once */
	char path[] = "/tmp/test_event_vw_XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	FILE *file = fdopen(fd, "w");
	assert_non_null(file);
	assert_true(fprintf(file, "shared | a\n0:1:.5 | b\n| %0*d\n\n0:1:.25 | d\n", LONG, 1) > LONG);
	assert_int_equal(fclose(file), 0);
	bool met = true;
	unsigned long n = 1;
	for (; met; n++) {
		opened o = open_file(path, COP_EVENT_LINES_SEVERAL);
		cop_logged_event event;
		cop_test_alloc_fail(n, 0);
		cop_err err = next(&o, &event);
		met = cop_test_alloc_failed();
		cop_test_alloc_fail(0, 0);
		assert_true(
		        err == COP_OK || (met && err == COP_ENOMEM)); /* what only makes rows faster is not missed */
		assert_int_equal(event.candidates, err == COP_OK ? 2 : 0);
		shut(&o);
	}
	assert_true(n > 4);
	assert_int_equal(remove(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_vw_lines_of_an_event_are_told_from_the_first),
		cmocka_unit_test(test_event_vw_of_many_lines_without_labels_is_of_one_line_each),
		cmocka_unit_test(test_event_vw_written_is_read_equal),
		cmocka_unit_test(test_event_vw_without_memory_fails_cleanly),
		cmocka_unit_test(test_event_vw_line_without_memory_fails_its_event),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
