/* Files of tokens: what is read, what is refused with its line, who may do what, and memory that runs out. */
#include "daemon/config/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static char path[] = "/tmp/test_access_XXXXXX";

static void write_file(const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static const char good[] = "# names\n\n"
                           "  shop  0123456789abcdef  decide,feedback  m,front-page\n"
                           "\tgrafana\tABCDEFGHIJKLMNOP\tread\n"
                           "boss ~~~~~~~~~~~~~~~~~~~~ all rate=9\n";

static const cop_access_entry *find(const cop_access *access, const char *token)
{
	return cop_access_find(access, token, strlen(token));
}

static void test_access_reads_names_tokens_rights_and_models(void **state)
{
	(void)state;
	cop_access *access;
	write_file(good, 0640);
	assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &access, NULL), COP_OK);
	assert_int_equal(access->count, 3);
	const cop_access_entry *shop = find(access, "0123456789abcdef"), *grafana = find(access, "ABCDEFGHIJKLMNOP");
	const cop_access_entry *boss = find(access, "~~~~~~~~~~~~~~~~~~~~");
	assert_string_equal(shop->name, "shop");
	assert_string_equal(grafana->name, "grafana");
	assert_true(cop_access_allows(shop, COP_ACCESS_DECIDE, "m") &&
	            cop_access_allows(shop, COP_ACCESS_FEEDBACK, "front-page"));
	assert_false(cop_access_allows(shop, COP_ACCESS_READ, "m"));
	assert_false(cop_access_allows(shop, COP_ACCESS_DECIDE, "front"));
	assert_false(cop_access_allows(shop, COP_ACCESS_DECIDE, "front-page2"));
	assert_false(cop_access_allows(shop, COP_ACCESS_DECIDE, ""));
	assert_true(
	        cop_access_allows(grafana, COP_ACCESS_READ, "m") && cop_access_allows(grafana, COP_ACCESS_READ, ""));
	assert_false(cop_access_allows(grafana, COP_ACCESS_ADMIN, "m"));
	assert_true(cop_access_allows(boss, COP_ACCESS_ALL, "") && cop_access_allows(boss, COP_ACCESS_ADMIN, "m"));
	cop_access_free(access);
}

static void test_access_reads_limits(void **state)
{
	(void)state;
	cop_access *access;
	write_file("a 0123456789abcdef all m,n rate=20 bytes=4MiB pending=7\n"
	           "b 0123456789abcdeg all pending=1\nc 0123456789abcdeh all m\n",
	        0600);
	assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &access, NULL), COP_OK);
	const cop_access_entry *a = cop_access_named(access, "a"), *b = cop_access_named(access, "b");
	const cop_access_entry *c = cop_access_named(access, "c");
	assert_string_equal(a->models, "m,n");
	assert_int_equal(a->limits.rate, 20);
	assert_int_equal(a->limits.bytes, 4 << 20);
	assert_int_equal(a->limits.pending, 7);
	assert_null(b->models);
	assert_int_equal(b->limits.rate + b->limits.bytes, 0);
	assert_int_equal(b->limits.pending, 1);
	assert_null(c->quota);
	assert_true(a->quota != NULL && b->quota != NULL && a->quota != b->quota);
	assert_true(a->owner != 0 && b->owner != 0 && a->owner != b->owner);
	cop_access_free(access);
}

static void test_access_finds_whole_tokens_alone(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg",
		"0123456789ABCDEF", "~~~~~~~~~~~~~~~~" };
	cop_access *access;
	char longest[COP_ACCESS_MOST + 2];
	write_file(good, 0600);
	assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &access, NULL), COP_OK);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_null(find(access, wrong[i]));
	memset(longest, 'a', sizeof longest);
	assert_null(cop_access_find(access, longest, COP_ACCESS_MOST));
	assert_null(cop_access_find(access, longest, COP_ACCESS_MOST + 1));
	cop_access_free(access);
}

static void assert_wrong(const char *text, mode_t mode, cop_err err, uint64_t line, const char *message)
{
	cop_access *access;
	cop_diag diag = { .message = "" };
	write_file(text, mode);
	assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &access, &diag), err);
	assert_null(access);
	assert_string_equal(diag.source, path);
	if (diag.line != line || strstr(diag.message, message) == NULL)
		fail_msg("'%s': line %llu, %s", text, (unsigned long long)diag.line, diag.message);
}

static void test_access_refuses_wrong_files_with_the_line(void **state)
{
	(void)state;
	char text[6000];
	assert_wrong("# nothing\n", 0600, COP_EFORMAT, 0, "no name");
	assert_wrong("a\n", 0600, COP_EFORMAT, 1, "number of words");
	assert_wrong("a 0123456789abcdef\n", 0600, COP_EFORMAT, 1, "number of words");
	assert_wrong("a 0123456789abcdef all m n\n", 0600, COP_EFORMAT, 1, "a limit is wrong");
	assert_wrong("a 0123456789abcdef all rate=1 m\n", 0600, COP_EFORMAT, 1, "a limit is wrong");
	assert_wrong("a 0123456789abcdef all rate=0\n", 0600, COP_EFORMAT, 1, "a limit is wrong");
	assert_wrong("a 0123456789abcdef all rate=many\n", 0600, COP_EFORMAT, 1, "a limit is wrong");
	assert_wrong(
	        "a 0123456789abcdef all rate=1 pending=2 rate=1\n", 0600, COP_EFORMAT, 1, "a limit stands there twice");
	assert_wrong("a 0123456789abcdef all rat=1\n", 0600, COP_EFORMAT, 1, "a limit is wrong");
	assert_wrong("a 0123456789abcdef all bytes=4MB\n", 0600, COP_EFORMAT, 1, "a limit is wrong");
	assert_wrong("\na/b 0123456789abcdef all\n", 0600, COP_EFORMAT, 2, "the name is wrong");
	assert_wrong("a 0123456789abcde all\n", 0600, COP_EFORMAT, 1, "the token is wrong");
	assert_wrong("a 0123456789abcd\xc3\xbc all\n", 0600, COP_EFORMAT, 1, "the token is wrong");
	assert_wrong("a 0123456789abcdef write\n", 0600, COP_EFORMAT, 1, "the rights are wrong");
	assert_wrong("a 0123456789abcdef ,\n", 0600, COP_EFORMAT, 1, "the rights are wrong");
	assert_wrong("a 0123456789abcdef all m,x/y\n", 0600, COP_EFORMAT, 1, "a model's name is wrong");
	assert_wrong(
	        "a 0123456789abcdef all\na 0123456789abcdeg all\n", 0600, COP_EFORMAT, 2, "name stands there twice");
	assert_wrong(
	        "a 0123456789abcdef all\nb 0123456789abcdef all\n", 0600, COP_EFORMAT, 2, "token stands there twice");
	assert_wrong(good, 0644, COP_EIO, 0, "everybody");
	assert_wrong(good, 0602, COP_EIO, 0, "everybody");
	memset(text, ' ', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	assert_wrong(text, 0600, COP_EFORMAT, 1, "too long");
	(void)remove(path);
	cop_access *access;
	assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &access, NULL), COP_EIO);
	assert_null(access);
}

static void test_access_without_memory_fails_each_time(void **state)
{
	(void)state;
	write_file(good, 0600);
	unsigned long n = 1;
	for (;; n++) {
		cop_access *access;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_access_read(path, COP_ACCESS_TOKENS, &access, NULL);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		cop_access_free(access);
		assert_int_equal(err, reached ? COP_ENOMEM : COP_OK);
		if (!reached)
			break;
	}
	assert_true(n > 3);
}

#define KEY_A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_B "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

static void test_access_reads_keys_from_a_file_that_anybody_may_read(void **state)
{
	(void)state;
	cop_access *access;
	cop_diag diag = { .message = "" };
	write_file("zoe " KEY_A " read\nab " KEY_B " decide m\n", 0644);
	assert_int_equal(cop_access_read(path, COP_ACCESS_KEYS, &access, NULL), COP_OK);
	assert_ptr_equal(cop_access_named(access, "zoe"), find(access, KEY_A));
	assert_ptr_equal(cop_access_named(access, "ab"), find(access, KEY_B));
	assert_null(cop_access_named(access, "a"));
	assert_null(cop_access_named(access, "zoey"));
	cop_access_free(access);
	write_file("zoe " KEY_A "0 read\n", 0600);
	assert_int_equal(cop_access_read(path, COP_ACCESS_KEYS, &access, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "the key is wrong"));
	write_file("zoe " KEY_A " read\nann " KEY_A " read\n", 0600);
	assert_int_equal(cop_access_read(path, COP_ACCESS_KEYS, &access, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "the key stands there twice"));
	write_file("zoe " KEY_A "\n", 0600);
	assert_int_equal(cop_access_read(path, COP_ACCESS_KEYS, &access, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "NAME KEY RIGHTS"));
	write_file("zoe " KEY_A " read\n", 0602);
	assert_int_equal(cop_access_read(path, COP_ACCESS_KEYS, &access, &diag), COP_EIO);
	assert_non_null(strstr(diag.message, "write"));
}

static void tell(void *context, const char *name, const char *how)
{
	char *text = context;
	(void)snprintf(text + strlen(text), 256 - strlen(text), "%s %s\n", name, how);
}

static void test_access_compares_two_files_by_names(void **state)
{
	(void)state;
	static const struct {
		const char *was, *is, *told;
	} cases[] = {
		{ good, good, "" },
		{ good, "boss ~~~~~~~~~~~~~~~~~~~~ all rate=9\n", "grafana removed\nshop removed\n" },
		{ "boss ~~~~~~~~~~~~~~~~~~~~ all rate=9\n", good, "grafana added\nshop added\n" },
		{ "b 0123456789abcdef read\n", "a 0123456789abcdef read\n", "a added\nb removed\n" },
		{ "b 0123456789abcdef read\n", "b 0123456789abcdeg read\n", "b changed\n" },
		{ "b 0123456789abcdef read\n", "b 0123456789abcdef read,admin\n", "b changed\n" },
		{ "b 0123456789abcdef read\n", "b 0123456789abcdef read m\n", "b changed\n" },
		{ "b 0123456789abcdef read m\n", "b 0123456789abcdef read m,n\n", "b changed\n" },
		{ "b 0123456789abcdef read m pending=3\n", "b 0123456789abcdef read m pending=4\n", "b changed\n" },
		{ "b 0123456789abcdef read m\n", "# another text\nb  0123456789abcdef\tread m\n", "" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_access *was, *is;
		char told[256] = "";
		write_file(cases[i].was, 0600);
		assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &was, NULL), COP_OK);
		write_file(cases[i].is, 0600);
		assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &is, NULL), COP_OK);
		cop_access_compare(was, is, tell, told);
		assert_string_equal(told, cases[i].told);
		cop_access_free(was);
		told[0] = '\0';
		if (i == 1) {
			cop_access_compare(NULL, is, tell, told);
			cop_access_compare(is, NULL, tell, told);
			cop_access_compare(NULL, NULL, tell, told);
			assert_string_equal(told, "boss added\nboss removed\n");
		}
		cop_access_free(is);
	}
}

static void test_access_finds_every_name_of_many(void **state)
{
	(void)state;
	static char text[64 * 200];
	cop_access *access;
	size_t length = 0;
	for (int i = 0; i < 200; i++)
		length += (size_t)snprintf(
		        text + length, sizeof text - length, "n%d 0123456789abcdef%d all\n", i * 7 % 200, i * 7 % 200);
	write_file(text, 0600);
	assert_int_equal(cop_access_read(path, COP_ACCESS_TOKENS, &access, NULL), COP_OK);
	for (int i = 0; i < 200; i++) {
		char name[16];
		(void)snprintf(name, sizeof name, "n%d", i);
		assert_string_equal(cop_access_named(access, name)->name, name);
	}
	cop_access_free(access);
}

static int make_path(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access_reads_keys_from_a_file_that_anybody_may_read),
		cmocka_unit_test(test_access_compares_two_files_by_names),
		cmocka_unit_test(test_access_finds_every_name_of_many),
		cmocka_unit_test(test_access_reads_names_tokens_rights_and_models),
		cmocka_unit_test(test_access_reads_limits),
		cmocka_unit_test(test_access_finds_whole_tokens_alone),
		cmocka_unit_test(test_access_refuses_wrong_files_with_the_line),
		cmocka_unit_test(test_access_without_memory_fails_each_time),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
