#include "daemon/serve/ipc_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support.h"

typedef struct place {
	char folder[64], path[80], endpoint[96];
} place;

static int set_up(void **state)
{
	place *p = calloc(1, sizeof *p);
	(void)snprintf(p->folder, sizeof p->folder, "/tmp/cop-ipc-XXXXXX");
	if (mkdtemp(p->folder) == NULL)
		return -1;
	(void)snprintf(p->path, sizeof p->path, "%s/s", p->folder);
	(void)snprintf(p->endpoint, sizeof p->endpoint, "ipc://%s", p->path);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	place *p = *state;
	(void)unlink(p->path);
	int failed = rmdir(p->folder);
	free(p);
	return failed;
}

static int serve(const place *p)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(where.sun_path, sizeof where.sun_path, "%s", p->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&where, sizeof where), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static bool there(const place *p) { return access(p->path, F_OK) == 0; }

static void test_clear_left_socket_is_removed(void **state)
{
	place *p = *state;
	cop_diag diag = { 0 };
	assert_int_equal(cop_ipc_file_clear(p->endpoint, &diag), COP_OK); /* nothing there */
	(void)close(serve(p));
	assert_true(there(p));
	assert_int_equal(cop_ipc_file_clear(p->endpoint, &diag), COP_OK);
	assert_false(there(p));
}

static void test_clear_served_socket_stays(void **state)
{
	place *p = *state;
	cop_diag diag = { 0 };
	int fd = serve(p);
	for (unsigned i = 0; i < 5; i++) /* also when as many wait as may */
		assert_int_equal(cop_ipc_file_clear(p->endpoint, &diag), COP_EEXIST);
	assert_non_null(strstr(diag.message, p->path));
	assert_non_null(strstr(diag.message, "another process serves it"));
	assert_true(there(p));
	(void)close(fd);
}

static void test_clear_other_files_stay(void **state)
{
	place *p = *state;
	cop_diag diag = { 0 };
	(void)close(open(p->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(cop_ipc_file_clear(p->endpoint, &diag), COP_EEXIST);
	assert_non_null(strstr(diag.message, "no socket"));
	assert_true(there(p));
}

static void test_clear_other_transports_have_no_file(void **state)
{
	cop_diag diag = { 0 };
	(void)state;
	assert_int_equal(cop_ipc_file_clear("tcp://127.0.0.1:1", &diag), COP_OK);
	assert_int_equal(cop_ipc_file_clear("ipc://@name", &diag), COP_OK);
}

static void test_clear_path_may_be_of_the_working_folder(void **state)
{
	place *p = *state;
	cop_diag diag = { 0 };
	char before[1024];
	assert_non_null(getcwd(before, sizeof before));
	(void)close(serve(p));
	assert_int_equal(chdir(p->folder), 0);
	assert_int_equal(cop_ipc_file_clear("ipc://s", &diag), COP_OK);
	assert_int_equal(chdir(before), 0);
	assert_false(there(p));
}

static void test_remove_own_file_goes_and_another_stays(void **state)
{
	place *p = *state;
	cop_ipc_file file;
	int fd = serve(p);
	cop_ipc_file_note(&file, p->endpoint);
	cop_ipc_file_remove(&file);
	assert_false(there(p));
	(void)close(fd);
	fd = serve(p);
	cop_ipc_file_note(&file, p->endpoint);
	char aside[96];
	(void)snprintf(aside, sizeof aside, "%s2", p->path);
	assert_int_equal(rename(p->path, aside), 0);
	int other = serve(p);
	cop_ipc_file_remove(&file);
	assert_true(there(p));
	assert_int_equal(unlink(aside), 0);
	(void)close(fd);
	(void)close(other);
	cop_ipc_file_note(&file, "tcp://127.0.0.1:1");
	cop_ipc_file_remove(&file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_clear_left_socket_is_removed),
		TEST(test_clear_served_socket_stays),
		TEST(test_clear_other_files_stay),
		TEST(test_clear_other_transports_have_no_file),
		TEST(test_clear_path_may_be_of_the_working_folder),
		TEST(test_remove_own_file_goes_and_another_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
