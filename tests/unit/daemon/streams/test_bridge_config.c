/* The example that is installed: an option that is left out has the value that the example shows, or the one that its
 * comment names, or is missed where the comment says that it is needed. */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/streams/bridge_config.h"

#define MOST 128
#define ROOM 512

static char lines[MOST][ROOM];
static size_t count;

static void read_example(void)
{
	FILE *file = fopen(COP_CONF_DIR "/coppiced-streams.conf", "r");
	assert_non_null(file);
	for (count = 0; count < MOST && fgets(lines[count], ROOM, file) != NULL; count++)
		if (strstr(lines[count], "engine = ") != NULL) /* one that was built in */
			(void)snprintf(lines[count], ROOM, "\tengine = \"%s\"\n", cop_broker_at(0)->name);
	assert_true(count < MOST);
	(void)fclose(file);
}

/* All that the configuration holds, as a text; errors are one that begins with "error". */
static void describe(const char *path, char out[4 * ROOM])
{
	char *errors;
	size_t length;
	cop_bridge_config *c;
	FILE *file = open_memstream(&errors, &length);
	assert_non_null(file);
	const cop_err err = cop_bridge_config_load(path, file, &c);
	(void)fclose(file);
	if (err != COP_OK) {
		(void)snprintf(out, 4 * ROOM, "error: %s", errors);
		free(errors);
		return;
	}
	free(errors);
	int used = snprintf(out, ROOM, "%s %s %s %g %s %s %d\n", c->daemon, c->key, c->server_key, c->timeout,
	        c->metrics, c->log_facility, (int)c->log_level);
	for (size_t i = 0; i < c->count; i++) {
		const cop_bridge_stream *s = &c->streams[i];
		used += snprintf(out + used, ROOM, "%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%" PRIu32 " %lu %zu %zu %d%d%d\n",
		        s->name, s->class->name, s->servers, s->user, s->password, s->topic, s->actions, s->model,
		        s->group, s->dead, s->partitions, s->actions_max, s->batch, s->option_count, s->feedback,
		        s->json, s->newest);
	}
	cop_bridge_config_free(c);
}

/* The example with another line in place of one. */
static void describe_changed(size_t changed, const char *line, char out[4 * ROOM])
{
	char path[64];
	const int fd = memfd_create("example", 0);
	assert_true(fd >= 0);
	for (size_t i = 0; i < count; i++) {
		const char *text = i == changed ? line : lines[i];
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	}
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	describe(path, out);
	(void)close(fd);
}

/* The line that means the same as none, by the comment above; false: the option is needed. */
static bool read_default(const char *comment, const char *shown, const char *name, char line[ROOM])
{
	const char *other = strcasestr(comment, "by default ");
	(void)snprintf(line, ROOM, "%s", shown);
	if (other != NULL) {
		char value[32];
		assert_int_equal(sscanf(other + strlen("by default "), "%31[a-z0-9]", value), 1);
		(void)snprintf(line, ROOM, "%s = %s\n", name, strcmp(value, "none") == 0 ? "\"\"" : value);
	}
	return strstr(comment, "Needed") == NULL;
}

static void compare(size_t at, const char *comment, const char *name)
{
	char line[ROOM], is[4 * ROOM], expected[4 * ROOM], complaint[64];
	const bool optional = read_default(comment, lines[at], name, line);
	describe_changed(at, "", is);
	if (optional) {
		describe_changed(at, line, expected);
		assert_string_equal(is, expected);
		assert_null(strstr(is, "error"));
	} else {
		(void)snprintf(complaint, sizeof complaint, "stream \"visits\": %s: ", name);
		assert_memory_equal(is, "error", 5);
		assert_non_null(strstr(is, complaint));
	}
}

static void test_options_that_are_left_out_are_as_the_example_has_it(void **state)
{
	(void)state;
	char comment[4 * ROOM] = "", name[32];
	size_t compared = 0;
	bool ended = false;
	read_example();
	for (size_t i = 0; i < count && strncmp(lines[i], "stream \"rewards\"", 16) != 0; i++) {
		const char *text = lines[i] + strspn(lines[i], "\t");
		if (sscanf(text, "%31[a-z_] = ", name) == 1 && strstr(text, " = ") != NULL) {
			compare(i, comment, name);
			compared++;
			ended = true;
			continue;
		}
		if (text[0] != '#' || ended)
			comment[0] = '\0';
		ended = false;
		if (text[0] == '#')
			(void)snprintf(comment + strlen(comment), ROOM, "%s ", text + 1);
	}
	assert_int_equal(compared, 23);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_that_are_left_out_are_as_the_example_has_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
