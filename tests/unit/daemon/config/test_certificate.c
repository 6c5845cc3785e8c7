/* Pairs of certificate and key: what is read, when it ends, what is refused by which file, and memory that runs out. */
#include "daemon/config/certificate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

#define PAIRS COP_TEST_DATA "/tls/"

static char path[] = "/tmp/test_certificate_XXXXXX";

/* The file's text, `times` over, in a file that others may read as `mode` says. */
static const char *copy(const char *from, size_t times, mode_t mode)
{
	char text[4096];
	FILE *in = fopen(from, "r"), *out = fopen(path, "w");
	assert_non_null(in);
	assert_non_null(out);
	size_t length = fread(text, 1, sizeof text, in);
	for (size_t i = 0; i < times; i++)
		assert_int_equal(fwrite(text, 1, length, out), length);
	assert_int_equal(fclose(in), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static const char *key_of(const char *name)
{
	char from[256];
	(void)snprintf(from, sizeof from, PAIRS "%s.key", name);
	return copy(from, 1, 0600);
}

static void test_certificate_of_a_pair_tells_its_end(void **state)
{
	(void)state;
	cop_certificate *c;
	struct gnutls_pcert_st *chain = NULL;
	assert_int_equal(cop_certificate_read(PAIRS "server.crt", key_of("server"), &c, NULL), COP_OK);
	assert_int_equal(cop_certificate_ends(c), 4949265224); /* openssl x509 -enddate */
	assert_int_equal(cop_certificate_chain(c, &chain), 1);
	assert_non_null(chain);
	assert_non_null(cop_certificate_key(c));
	cop_certificate_free(c);
	assert_int_equal(cop_certificate_read(PAIRS "ended.crt", key_of("ended"), &c, NULL), COP_OK);
	assert_int_equal(cop_certificate_ends(c), 1580428800);
	cop_certificate_free(c);
	cop_certificate_free(NULL);
}

/* The earliest end of a chain counts, and sixteen certificates are not too many. */
static void test_certificate_chain_ends_with_its_first_to_end(void **state)
{
	(void)state;
	char chain[] = "/tmp/test_chain_XXXXXX", command[1024];
	cop_certificate *c;
	struct gnutls_pcert_st *first;
	int fd = mkstemp(chain);
	assert_true(fd >= 0 && close(fd) == 0);
	(void)snprintf(command, sizeof command, "cat %sserver.crt %sended.crt > %s", PAIRS, PAIRS, chain);
	assert_int_equal(system(command), 0);
	assert_int_equal(cop_certificate_read(chain, key_of("server"), &c, NULL), COP_OK);
	assert_int_equal(cop_certificate_chain(c, &first), 2);
	assert_int_equal(cop_certificate_ends(c), 1580428800);
	cop_certificate_free(c);
	assert_int_equal(remove(chain), 0);
}

static void assert_wrong(const char *chain, const char *key, cop_err err, const char *source, const char *message)
{
	cop_certificate *c;
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_certificate_read(chain, key, &c, &diag), err);
	assert_null(c);
	assert_string_equal(diag.source, source);
	if (strstr(diag.message, message) == NULL)
		fail_msg("%s: %s", source, diag.message);
}

static void test_certificate_refuses_wrong_files_by_name(void **state)
{
	(void)state;
	static const char good[] = PAIRS "server.crt", none[] = "/nowhere/a.pem";
	assert_wrong(none, key_of("server"), COP_EIO, none, "No such file");
	assert_wrong(good, none, COP_EIO, none, "No such file");
	assert_wrong(good, copy(PAIRS "server.key", 1, 0644), COP_EIO, path, "everybody");
	assert_wrong(good, key_of("renewed"), COP_EFORMAT, path, "another certificate");
	assert_wrong(good, key_of("locked"), COP_EFORMAT, path, "without a password");
	assert_wrong(good, copy(good, 1, 0600), COP_EFORMAT, path, "a private key in PEM");
	assert_wrong(copy(PAIRS "server.key", 1, 0600), path, COP_EFORMAT, path, "certificates in PEM");
	assert_wrong(copy(good, 0, 0600), path, COP_EFORMAT, path, "certificates in PEM");
	assert_wrong(copy(good, COP_CERTIFICATE_CHAIN + 1, 0600), path, COP_EFORMAT, path, "certificates in PEM");
	assert_wrong(copy(good, 2000, 0600), path, COP_EFORMAT, path, "too long");
	assert_wrong("/tmp", path, COP_EIO, "/tmp", "directory");
}

static void test_certificate_without_memory_fails_each_time(void **state)
{
	(void)state;
	const char *key = key_of("server");
	unsigned long n = 1;
	for (;; n++) {
		cop_certificate *c;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_certificate_read(PAIRS "server.crt", key, &c, NULL);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		cop_certificate_free(c);
		assert_int_equal(err, reached ? COP_ENOMEM : COP_OK);
		if (!reached)
			break;
	}
	assert_true(n > 3);
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
		cmocka_unit_test(test_certificate_of_a_pair_tells_its_end),
		cmocka_unit_test(test_certificate_chain_ends_with_its_first_to_end),
		cmocka_unit_test(test_certificate_refuses_wrong_files_by_name),
		cmocka_unit_test(test_certificate_without_memory_fails_each_time),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
