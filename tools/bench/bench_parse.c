/* The log is scanned as `coppice replay` does it, for its columns, and then read through again and again, each time
 * from the file; the figure is the median pass. */
#include <signal.h>
#include <stdio.h>

#include "bench.h"
#include "tools/common/command.h"
#include "tools/replay/replay_options.h"
#include "tools/replay/replay_reader.h"
#include "tools/replay/replay_scan.h"

enum { LEAST = 3, MOST = 101 };
#define LONG_ENOUGH 1.0 /* seconds of all passes */

typedef struct pass {
	uint64_t events, bad, bytes, features;
} pass;

static cop_err read_once(const cop_replay_options *options, cop_feature_space *space, pass *p, cop_diag *diag)
{
	cop_event_reader *reader;
	cop_err err = cop_replay_reader_open(options, space, &reader, diag);
	*p = (pass){ 0 };
	while (err == COP_OK) {
		cop_logged_event event;
		err = cop_event_reader_next(reader, &event, diag);
		if (err == COP_EFORMAT || err == COP_ENONFINITE) {
			p->bad++;
			err = COP_OK;
		} else if (err == COP_OK) {
			p->events++;
			p->bytes += event.text;
			p->features += event.features;
		}
	}
	cop_event_reader_free(reader);
	return err == COP_EEND ? COP_OK : err;
}

static void show(const pass *p, const cop_feature_space *space, double seconds, double fastest, cop_json_writer *json)
{
	double events = (double)p->events / seconds;
	double megabytes = 1e-6 * (double)p->bytes / seconds;
	double most = 1e-6 * (double)p->bytes / fastest;
	bool dense = cop_feature_space_is_dense(space);
	size_t dimension = cop_feature_space_dimension(space);
	if (json == NULL) {
		(void)printf("%llu events (%llu bad), %.1f MB, %llu features, %s rows of dimension %zu\n"
		             "%.0f events/s, %.0f MB/s (fastest pass: %.0f MB/s)\n",
		        (unsigned long long)p->events, (unsigned long long)p->bad, 1e-6 * (double)p->bytes,
		        (unsigned long long)p->features, dense ? "dense" : "hashed", dimension, events, megabytes,
		        most);
		return;
	}
	cop_json_put_unsigned(json, "events", p->events);
	cop_json_put_unsigned(json, "bad", p->bad);
	cop_json_put_unsigned(json, "bytes", p->bytes);
	cop_json_put_unsigned(json, "features", p->features);
	cop_json_put_boolean(json, "dense", dense);
	cop_json_put_unsigned(json, "dimension", dimension);
	cop_json_key(json, "seconds");
	cop_json_number(json, seconds);
	cop_json_key(json, "events_per_second");
	cop_json_number(json, events);
	cop_json_key(json, "mb_per_second");
	cop_json_number(json, megabytes);
	cop_json_key(json, "fastest_mb_per_second");
	cop_json_number(json, most);
}

cop_err cop_bench_parse_run(const cop_bench_parse *settings, cop_json_writer *json, cop_diag *diag)
{
	static const volatile sig_atomic_t never = 0;
	cop_replay_options options = { .path = settings->path };
	cop_replay_shape shape;
	cop_feature_space *space;
	cop_reader_options_init(&options.reader, "bench");
	options.reader.format = settings->format;
	options.reader.features = settings->features;
	options.reader.skip = true;
	cop_err err = cop_replay_scan(&options, COP_REPLAY_SCAN_BEGINNING, &never, &space, &shape, diag);
	if (err != COP_OK)
		return err;
	pass p = { 0 };
	double seconds[MOST];
	double begin = cop_command_now();
	size_t passes = 0;
	while (err == COP_OK && passes < MOST && (passes < LEAST || cop_command_now() - begin < LONG_ENOUGH)) {
		double start = cop_command_now();
		err = read_once(&options, space, &p, diag);
		seconds[passes++] = cop_command_now() - start;
	}
	if (err == COP_OK) {
		double median = cop_bench_measures_quantile(seconds, passes, 0.5);
		show(&p, space, median, seconds[0], json); /* which are sorted now */
	}
	cop_feature_space_free(space);
	return err;
}
