/* Texts that are keys, and files that hold one: white space, other content, and modes that give the secret away. */
#include "wire/curve_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

/* RFC 26's keys of its test, in Z85. */
static const char secret[] = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";
static const char public[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";

static char path[] = "/tmp/test_curve_key_XXXXXX";

static cop_err read_text(const char *text, size_t length, mode_t mode, char *key, cop_diag *diag)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
	memset(key, 'x', COP_CURVE_KEY_ROOM);
	return cop_curve_key_read(path, true, key, diag);
}

static void test_curve_key_is_forty_letters_of_z85(void **state)
{
	(void)state;
	char text[COP_CURVE_KEY + 2];
	assert_true(cop_curve_key_is(secret) && cop_curve_key_is(public));
	assert_false(cop_curve_key_is("") || cop_curve_key_is(secret + 1));
	(void)snprintf(text, sizeof text, "%s0", secret);
	assert_false(cop_curve_key_is(text));
	for (int c = 1; c < 256; c++) {
		(void)snprintf(text, sizeof text, "%s", secret);
		text[7] = (char)c;
		bool good = c > 0x20 && c < 0x7f && strchr("\"'\\,;_`|~", c) == NULL;
		assert_int_equal(cop_curve_key_is(text), good);
	}
}

static void test_curve_key_read_takes_the_only_word_of_a_private_file(void **state)
{
	(void)state;
	char key[COP_CURVE_KEY_ROOM], text[400];
	assert_int_equal(read_text(secret, strlen(secret), 0600, key, NULL), COP_OK);
	assert_string_equal(key, secret);
	(void)snprintf(text, sizeof text, "\n \t%s\r\n\n", secret);
	assert_int_equal(read_text(text, strlen(text), 0440, key, NULL), COP_OK);
	assert_string_equal(key, secret);
	assert_int_equal(read_text(public, strlen(public), 0644, key, NULL), COP_EIO);
	assert_int_equal(cop_curve_key_read(path, false, key, NULL), COP_OK);
	assert_string_equal(key, public);
}

static void assert_wrong(const char *text, size_t length, mode_t mode, cop_err err)
{
	char key[COP_CURVE_KEY_ROOM];
	cop_diag diag = { .message = "" };
	assert_int_equal(read_text(text, length, mode, key, &diag), err);
	assert_string_equal(key, "");
	assert_string_equal(diag.source, path);
	assert_true(diag.message[0] != '\0' && strstr(diag.message, "JTKV") == NULL);
}

static void test_curve_key_read_refuses_other_files_and_gives_nothing_away(void **state)
{
	(void)state;
	char text[400];
	assert_wrong("", 0, 0600, COP_EFORMAT);
	assert_wrong(secret, strlen(secret) - 1, 0600, COP_EFORMAT);
	(void)snprintf(text, sizeof text, "%s %s", secret, public);
	assert_wrong(text, strlen(text), 0600, COP_EFORMAT);
	memset(text, ' ', sizeof text);
	memcpy(text, secret, strlen(secret));
	assert_wrong(text, sizeof text, 0600, COP_EFORMAT);
	assert_wrong("JTKV\0", 5, 0600, COP_EFORMAT);
	assert_wrong(secret, strlen(secret), 0604, COP_EIO);
	assert_wrong(secret, strlen(secret), 0602, COP_EIO);
	char key[COP_CURVE_KEY_ROOM];
	(void)remove(path);
	assert_int_equal(cop_curve_key_read(path, true, key, NULL), COP_EIO);
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
	(void)remove(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_curve_key_is_forty_letters_of_z85),
		cmocka_unit_test(test_curve_key_read_takes_the_only_word_of_a_private_file),
		cmocka_unit_test(test_curve_key_read_refuses_other_files_and_gives_nothing_away),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
