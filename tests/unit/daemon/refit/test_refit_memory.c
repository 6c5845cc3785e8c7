/* Folders that stand for the machine's root: texts of /proc and of control groups as Linux 6.1 writes them. */
#include "daemon/refit/refit_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define MIB (UINT64_C(1) << 20)

static char root[64];

static int make_root(void **state)
{
	char command[256];
	(void)state;
	(void)snprintf(root, sizeof root, "/tmp/cop-test-XXXXXX");
	assert_non_null(mkdtemp(root));
	(void)snprintf(command, sizeof command, "mkdir -p %s/proc/self %s/sys/fs/cgroup/a.slice/b.service", root, root);
	return system(command);
}

static int remove_root(void **state)
{
	char command[128];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

static void put(const char *name, const char *text)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void put_machine(void)
{
	put("proc/meminfo", "MemTotal:       24683520 kB\nMemFree:          100000 kB\nMemAvailable:    4194304 kB\n"
	                    "Buffers:           10000 kB\n");
	put("proc/self/cgroup", "12:cpu:/elsewhere\n0::/a.slice/b.service\n");
}

#define GROUP "sys/fs/cgroup/a.slice/b.service/"

static void test_free_is_what_the_machine_has_available(void **state)
{
	(void)state;
	put_machine();
	assert_int_equal(cop_refit_memory_free(root), 4096 * MIB);
	put(GROUP "memory.max", "max\n");
	put(GROUP "memory.high", "max\n");
	put(GROUP "memory.current", "1073741824\n");
	assert_int_equal(cop_refit_memory_free(root), 4096 * MIB);
	put("proc/self/cgroup", "0::/gone.service\n"); /* nor does a group that is not there bound it */
	assert_int_equal(cop_refit_memory_free(root), 4096 * MIB);
}

static void test_free_is_what_the_group_leaves(void **state)
{
	(void)state;
	put_machine();
	put(GROUP "memory.max", "1073741824\n");
	assert_int_equal(cop_refit_memory_free(root), 1024 * MIB); /* what it uses is not known */
	put(GROUP "memory.current", "629145600\n");
	assert_int_equal(cop_refit_memory_free(root), 424 * MIB);
	put(GROUP "memory.stat", "anon 1000\nfile 104857600\nkernel 5\ninactive_file 73400320\nactive_file 31457280\n");
	assert_int_equal(cop_refit_memory_free(root), 524 * MIB); /* files that were read do not count */
	put(GROUP "memory.high", "838860800\n");
	assert_int_equal(cop_refit_memory_free(root), 300 * MIB);
	put(GROUP "memory.high", "1048576\n"); /* less than is used */
	assert_int_equal(cop_refit_memory_free(root), 0);
}

static void test_free_is_bounded_by_groups_above(void **state)
{
	(void)state;
	put_machine();
	put("sys/fs/cgroup/a.slice/memory.max", "536870912\n");
	put("sys/fs/cgroup/a.slice/memory.current", "268435456\n");
	assert_int_equal(cop_refit_memory_free(root), 256 * MIB);
	put("sys/fs/cgroup/memory.max", "209715200\n"); /* a container's own root */
	assert_int_equal(cop_refit_memory_free(root), 200 * MIB);
	put("proc/self/cgroup", "0::/\n");
	assert_int_equal(cop_refit_memory_free(root), 200 * MIB);
}

/* Then the kernel is asked for unused pages: some, on a machine that runs this. */
static void test_free_without_proc_is_what_is_unused(void **state)
{
	(void)state;
	uint64_t unused = cop_refit_memory_free(root);
	assert_true(unused > 0 && unused < UINT64_MAX);
	put("proc/meminfo", "MemTotal: 1 kB\nMemAvailable:\n");
	assert_true(cop_refit_memory_free(root) > 0);
}

static void test_a_refit_takes_a_quarter_within_bounds(void **state)
{
	(void)state;
	assert_int_equal(cop_refit_memory_of(1000 * MIB), 250 * MIB);
	assert_int_equal(cop_refit_memory_of(4096 * MIB), 1024 * MIB);
	assert_int_equal(cop_refit_memory_of(65536 * MIB), 1024 * MIB);
	assert_int_equal(cop_refit_memory_of(UINT64_MAX), 1024 * MIB);
	assert_int_equal(cop_refit_memory_of(256 * MIB), 64 * MIB);
	assert_int_equal(cop_refit_memory_of(256 * MIB - 1), 0); /* too little */
	assert_int_equal(cop_refit_memory_of(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_free_is_what_the_machine_has_available, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_free_is_what_the_group_leaves, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_free_is_bounded_by_groups_above, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_free_without_proc_is_what_is_unused, make_root, remove_root),
		cmocka_unit_test(test_a_refit_takes_a_quarter_within_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
