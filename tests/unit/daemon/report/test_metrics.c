#include "daemon/report/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "support.h"

#define MOST_FAMILIES 128

static const char conf[] = "state_dir = \"x\"\n"
                           "sockets { requests = { \"tcp://127.0.0.1:5590\" } }\n"
                           "model \"a\" { features = 2 arms = 2 holdout = 0.5 losses = { \"x=1\" } }\n"
                           "model \"b.c-d_9\" { learner = \"value\" features = 2 }\n";

/* What the page is of. */
typedef struct page_server {
	cop_durability durable;
	cop_serving serving;
	cop_refits refits;
	cop_forgetting forgetting;
	cop_past_desk past;
	cop_replica replica;
	cop_report report;
	cop_config *config;
} page_server;

/* Figures of a control group are there from the first decision on. */
static void decide_once(cop_model *model)
{
	static const float values[] = { 0.5f, 1.0f };
	const cop_row x = { .d = 2, .dense = values };
	cop_event_id id;
	cop_decision decision;
	bool repeated;
	cop_event_id_from_unsigned(&id, 1);
	const cop_model_context context = { .id = &id, .x = &x };
	assert_int_equal(cop_model_decide(model, &context, 1.0, &decision, &repeated), COP_OK);
}

static int server_start(void **state)
{
	static page_server server;
	cop_config_report report;
	cop_diag diag;
	memset(&server, 0, sizeof server);
	server.report = (cop_report){ &server.durable, &server.serving, &server.refits,
		.forgetting = &server.forgetting, .past = &server.past, .replica = &server.replica };
	server.serving.durable = &server.durable;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(conf, sizeof conf - 1, "test.conf", NULL, &server.config, &report);
	cop_config_report_fini(&report);
	server.durable.config = server.config;
	if (err != COP_OK || cop_model_table_init(&server.durable.models, server.config, &diag) != COP_OK)
		return -1;
	decide_once(server.durable.models.items[0]->model);
	cop_model_table_begin(&server.durable.models, 0.0);
	*state = &server;
	return 0;
}

static int server_stop(void **state)
{
	page_server *server = *state;
	cop_model_table_fini(&server->durable.models);
	cop_config_free(server->config);
	return 0;
}

/* The page as text; caller frees with cop_bytes_fini. */
static const char *render(const page_server *server, cop_bytes *out)
{
	cop_bytes_init(out);
	cop_metrics_put(&server->report, out);
	cop_bytes_put_u8(out, 0);
	assert_int_equal(out->err, COP_OK);
	return (const char *)out->data;
}

static double value_of(const char *page, const char *sample)
{
	char start[160];
	(void)snprintf(start, sizeof start, "\n%s ", sample);
	const char *at = strstr(page, start);
	if (at == NULL)
		fail_msg("no sample %s", sample);
	return strtod(at + strlen(start), NULL);
}

/* Is `sample` of this family: its name, or a histogram's three, then labels or the value. */
static bool belongs(const char *sample, const char *family, bool histogram)
{
	static const char *const endings[] = { "", "_bucket", "_sum", "_count" };
	size_t length = strlen(family);
	if (strncmp(sample, family, length) != 0)
		return false;
	for (size_t i = histogram ? 1 : 0; i < (histogram ? 4 : 1); i++) {
		size_t more = strlen(endings[i]);
		if (strncmp(sample + length, endings[i], more) == 0 && strchr("{ ", sample[length + more]) != NULL)
			return true;
	}
	return false;
}

static void test_page_every_sample_stands_under_its_family(void **state)
{
	cop_bytes out;
	char family[80] = "", type[16] = "", seen[MOST_FAMILIES][80];
	size_t families = 0, samples = 0;
	char *page = strdup(render(*state, &out));
	assert_non_null(page);
	for (char *rest = page, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;) {
		char name[80];
		if (sscanf(line, "# HELP %79s", name) == 1) {
			assert_true(families == 0 || samples > 0);
			for (size_t i = 0; i < families; i++)
				assert_string_not_equal(seen[i], name);
			assert_true(families < MOST_FAMILIES);
			(void)snprintf(seen[families++], sizeof seen[0], "%s", name);
			(void)snprintf(family, sizeof family, "%s", name);
			samples = 0;
		} else if (sscanf(line, "# TYPE %79s %15s", name, type) == 2) {
			assert_string_equal(name, family);
			bool total = strcmp(family + strlen(family) - 6, "_total") == 0;
			assert_int_equal(total, strcmp(type, "counter") == 0);
		} else {
			char *end;
			assert_true(belongs(line, family, strcmp(type, "histogram") == 0));
			(void)strtod(strrchr(line, ' '), &end);
			assert_int_equal(*end, '\0');
			samples++;
		}
	}
	assert_true(families > 30);
	free(page);
	cop_bytes_fini(&out);
}

static void test_page_shows_what_was_counted(void **state)
{
	page_server *server = *state;
	cop_bytes out;
	server->serving.counts.requests = UINT64_MAX;
	server->serving.counts.codes[COP_WIRE_BAD_LOSS] = 3;
	server->serving.counts.item_codes[COP_WIRE_TOO_LARGE] = 4;
	server->durable.models.items[1]->contexts.gaps.missing = 5;
	server->durable.models.items[1]->feedback.refused = 6;
	server->durable.checkpoint.failed = 7;
	server->durable.checkpoint.at = cop_clock_monotonic();
	cop_histogram_observe(&server->serving.decide_durations, 1500000000);
	const char *page = render(server, &out);
	assert_non_null(strstr(page, "\ncoppice_requests_total 18446744073709551615\n"));
	assert_int_equal(value_of(page, "coppice_request_errors_total{code=\"bad_loss\"}"), 3);
	assert_int_equal(value_of(page, "coppice_request_errors_total{code=\"internal\"}"), 0);
	assert_int_equal(value_of(page, "coppice_request_item_errors_total{code=\"too_large\"}"), 4);
	assert_int_equal(value_of(page, "coppice_stream_lost_total{model=\"b.c-d_9\",stream=\"contexts\"}"), 5);
	assert_int_equal(value_of(page, "coppice_stream_malformed_total{model=\"b.c-d_9\",stream=\"feedback\"}"), 6);
	assert_int_equal(value_of(page, "coppice_stream_malformed_total{model=\"a\",stream=\"feedback\"}"), 0);
	assert_int_equal(value_of(page, "coppice_checkpoints_failed_total"), 7);
	assert_true(value_of(page, "coppice_checkpoint_age_seconds") >= 0.0);
	assert_true(value_of(page, "coppice_decide_duration_seconds_sum") == 1.5);
	assert_true(value_of(page, "process_resident_memory_bytes") > 0.0);
	cop_bytes_fini(&out);
}

/* Each of a kind has a number of its own. */
static void test_page_has_a_number_for_each_label(void **state)
{
	page_server *server = *state;
	static const char *const models[] = { "a", "b.c-d_9" };
	char sample[160];
	cop_bytes out;
	for (unsigned code = COP_WIRE_OK; code < COP_WIRE_CODE_COUNT; code++) {
		server->serving.counts.codes[code] = 100 + code;
		server->serving.counts.item_codes[code] = 200 + code;
	}
	for (uint64_t i = 0; i < 2; i++) {
		for (uint64_t reason = 0; reason < COP_UNHEARD_REASONS; reason++)
			server->durable.models.items[i]->unheard.dropped[reason] = 300 + 10 * i + reason;
		server->durable.models.items[i]->unheard.bytes = 400 + i;
		server->durable.models.items[i]->outliers_before.values = 7 * i; /* more than there are now */
	}
	server->durable.checkpoint.written = 8;
	server->durable.checkpoint.failed = 9;
	server->durable.checkpoint.bytes = 10;
	server->durable.clock.ahead = 2.5;
	server->report.born = 1234567890.5;
	const char *page = render(server, &out);
	for (unsigned code = COP_WIRE_OK + 1; code < COP_WIRE_CODE_COUNT; code++) {
		const char *text = cop_wire_code_text((cop_wire_code)code);
		(void)snprintf(sample, sizeof sample, "coppice_request_errors_total{code=\"%s\"}", text);
		assert_int_equal(value_of(page, sample), 100 + code);
		(void)snprintf(sample, sizeof sample, "coppice_request_item_errors_total{code=\"%s\"}", text);
		assert_int_equal(value_of(page, sample), 200 + code);
	}
	for (uint64_t i = 0; i < 2; i++)
		for (uint64_t reason = 0; reason < COP_UNHEARD_REASONS; reason++) {
			(void)snprintf(sample, sizeof sample,
			        "coppice_stream_unheard_total{model=\"%s\",reason=\"%s\"}", models[i],
			        cop_unheard_reason_text((cop_unheard_reason)reason));
			assert_int_equal(value_of(page, sample), 300 + 10 * i + reason);
		}
	assert_int_equal(value_of(page, "coppice_queued_bytes{queue=\"waiting\"}"), 801);
	static const char *const empty[] = { "unfinished", "received", "answers", "actions" };
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		(void)snprintf(sample, sizeof sample, "coppice_queued_bytes{queue=\"%s\"}", empty[i]);
		assert_int_equal(value_of(page, sample), 0);
	}
	for (unsigned reason = 0; reason < COP_INLET_REASONS; reason++) {
		(void)snprintf(sample, sizeof sample, "coppice_connections_closed_total{reason=\"%s\"}",
		        cop_inlet_reason_text((cop_inlet_reason)reason));
		assert_int_equal(value_of(page, sample), 0);
	}
	assert_int_equal(value_of(page, "coppice_outliers_total{model=\"a\"}"), 0);
	assert_int_equal(value_of(page, "coppice_outliers_total{model=\"b.c-d_9\"}"), 0);
	assert_int_equal(value_of(page, "coppice_queue_limit_bytes"), 256 << 20);
	assert_int_equal(value_of(page, "coppice_connections"), 0);
	assert_int_equal(value_of(page, "coppice_subscriptions_ignored_total"), 0);
	assert_int_equal(value_of(page, "coppice_checkpoints_written_total"), 8);
	assert_int_equal(value_of(page, "coppice_checkpoints_failed_total"), 9);
	assert_int_equal(value_of(page, "coppice_checkpoint_size_bytes"), 10);
	assert_int_equal(value_of(page, "coppice_parked_models"), 0);
	assert_int_equal(value_of(page, "coppice_refit_running"), 0);
	assert_int_equal(value_of(page, "coppice_log_dropped_total"), 0);
	assert_int_equal(value_of(page, "coppice_scrapes_missed_total"), 0);
	assert_true(value_of(page, "coppice_clock_ahead_seconds") == 2.5);
	assert_true(value_of(page, "process_start_time_seconds") == 1234567890.5);
	assert_null(strstr(page, "coppice_journal_")); /* there is none */
	cop_bytes_fini(&out);
}

static double processor_seconds(void) { return cop_clock_read(CLOCK_PROCESS_CPUTIME_ID); }

/* Ages and what the process has used, against the same clocks before and behind. */
static void test_page_measures_lie_between_those_around_it(void **state)
{
	page_server *server = *state;
	cop_bytes out;
	for (unsigned written = 0; written < 2; written++) {
		double now = cop_clock_monotonic(), spent = processor_seconds();
		server->report.started = now - 1000.0;
		server->durable.checkpoint.at = written ? now - 10.0 : 0.0;
		const char *page = render(server, &out);
		double later = cop_clock_monotonic() - now, age = value_of(page, "coppice_checkpoint_age_seconds");
		double processor = value_of(page, "process_cpu_seconds_total");
		assert_true(age >= (written ? 10.0 : 1000.0) - 1e-6 && age <= (written ? 10.0 : 1000.0) + later + 1e-6);
		assert_true(processor >= spent - 1e-6 && processor <= processor_seconds() + 1e-6);
		double resident = value_of(page, "process_resident_memory_bytes");
		assert_true(resident > 0.0 && value_of(page, "process_virtual_memory_bytes") > resident);
		cop_bytes_fini(&out);
	}
}

static void test_page_counts_from_begin(void **state)
{
	page_server *server = *state;
	static const float values[] = { 0.5f, -0.5f };
	cop_row x = { .d = 2, .dense = values };
	cop_model *model = server->durable.models.items[0]->model;
	double loss = 0.25;
	cop_bytes out;
	for (uint64_t i = 0; i < 3; i++) {
		cop_event_id id;
		cop_decision decision;
		cop_feedback_result result;
		bool repeated;
		const cop_model_context context = { .id = &id, .x = &x };
		cop_event_id_from_unsigned(&id, i);
		assert_int_equal(cop_model_decide(model, &context, 1.0, &decision, &repeated), COP_OK);
		assert_int_equal(cop_model_feedback(model, &id, &loss, 1, 1.0, &result), COP_OK);
		if (i == 1)
			cop_model_table_begin(&server->durable.models, 0.0);
	}
	const char *page = render(server, &out);
	assert_int_equal(value_of(page, "coppice_decisions_total{model=\"a\"}"), 1);
	assert_int_equal(value_of(page, "coppice_learned_total{model=\"a\"}"), 1);
	assert_int_equal(value_of(page, "coppice_feedback_total{model=\"a\",result=\"applied\"}"), 1);
	assert_true(value_of(page, "coppice_learned_loss{model=\"a\"}") == 0.25);
	assert_int_equal(value_of(page, "coppice_revision{model=\"a\"}"), 3);
	assert_int_equal(value_of(page, "coppice_decisions_total{model=\"b.c-d_9\"}"), 0);
	cop_bytes_fini(&out);
}

static void test_page_without_memory_says_so(void **state)
{
	cop_bytes out;
	bool done = false;
	for (unsigned long n = 1; !done; n++) {
		cop_bytes_init(&out);
		cop_test_alloc_fail(n, 0);
		cop_metrics_put(&((page_server *)*state)->report, &out);
		done = cop_test_alloc_count() < n;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(out.err, done ? COP_OK : COP_ENOMEM);
		cop_bytes_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_page_every_sample_stands_under_its_family, server_start, server_stop),
		cmocka_unit_test_setup_teardown(test_page_shows_what_was_counted, server_start, server_stop),
		cmocka_unit_test_setup_teardown(test_page_has_a_number_for_each_label, server_start, server_stop),
		cmocka_unit_test_setup_teardown(
		        test_page_measures_lie_between_those_around_it, server_start, server_stop),
		cmocka_unit_test_setup_teardown(test_page_counts_from_begin, server_start, server_stop),
		cmocka_unit_test_setup_teardown(test_page_without_memory_says_so, server_start, server_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
