/* Plays a stream (traffic_stream.h) with the library's model as the daemon does: before event i comes the feedback that
 * is due, in order of time, then windows that are over end, then it decides. The clock is the event's number.
 *
 *     traffic_drive STREAM OUT [--set OPTION=VALUE]... [--seed N] [--skyline]
 *
 * OUT: uint32 arms that were played, one an event, then float32 every arm's probability, K an event; of values float32
 * both probes. --skyline (arms, items): when feedback would come every arm's loss is told, whatever was played, and the
 * best predicted arm is played (learn/skyline.h); of conversions when the window ends. Counters go to standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "learn/skyline.h"
#include "online/model.h"
#include "tools/common/command.h"
#include "tools/common/learner_options.h"
#include "traffic_stream.h"

#define PROGRAM   "traffic_drive"
#define NO_WINDOW 1e12 /* a reward window that no stream outlasts */

typedef struct run {
	traffic_stream stream;
	cop_model *model;
	uint32_t *order; /* events by the time of their feedback */
	uint32_t next;   /* of order, that was not told yet */
	uint32_t *place; /* sparse: of each name */
	uint32_t *index; /* of one event */
	float *entry;
	cop_row *candidate;
	uint32_t *played; /* events */
	float *p;         /* events x arms */
	float *probe;     /* values: events x 2 */
	bool skyline;
	double *loss; /* skyline: arms; of one event */
	uint64_t learned, refused;
} run;

static int complain(const char *what, const char *why)
{
	(void)fprintf(stderr, PROGRAM ": %s: %s\n", what, why);
	return COP_EXIT_FAILED;
}

/* ---- the stream ---- */

/* The next part of the file, or NULL when count is 0; *left shrinks, below 0 when the file is short. */
static const void *part(const char **at, int64_t *left, uint64_t count, size_t size)
{
	const void *begin = *at;
	if (count == 0)
		return NULL;
	*at += count * size;
	*left -= (int64_t)(count * size);
	return begin;
}

static bool split(traffic_stream *s, const char *data, int64_t length)
{
	if (length < (int64_t)sizeof *s->head || memcmp(data, TRAFFIC_MAGIC, 8) != 0)
		return false;
	s->head = part(&data, &length, 1, sizeof *s->head);
	const traffic_header *h = s->head;
	uint64_t n = h->events, choices = n * h->arms, grid = n * h->grid;
	bool ranks = h->kind == TRAFFIC_RANK;
	s->x = part(&data, &length, n * h->features, sizeof *s->x);
	s->name = part(&data, &length, n * h->nonzeros, sizeof *s->name);
	s->value = part(&data, &length, n * h->nonzeros, sizeof *s->value);
	s->loss = part(&data, &length, h->kind == TRAFFIC_VALUES ? grid : choices, sizeof *s->loss);
	s->noise = part(&data, &length, h->kind == TRAFFIC_VALUES ? 2 * n : 0, sizeof *s->noise);
	s->due = part(&data, &length, n, sizeof *s->due);
	s->candidate = part(&data, &length, ranks ? choices : 0, sizeof *s->candidate);
	s->item = part(&data, &length, ranks ? (uint64_t)h->items * h->item_features : 0, sizeof *s->item);
	s->eligible = part(&data, &length, (h->flags & TRAFFIC_MASKED) != 0 ? choices : 0, 1);
	s->names = length > 0 ? data : NULL;
	return n > 0 && length >= (int64_t)h->names && (length == 0 || data[length - 1] == '\0');
}

static int map_stream(const char *path, traffic_stream *s)
{
	struct stat about;
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &about) != 0)
		return complain(path, strerror(errno));
	void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	(void)close(file);
	if (data == MAP_FAILED)
		return complain(path, strerror(errno));
	return split(s, data, (int64_t)about.st_size) ? 0 : complain(path, "expected a whole stream of events");
}

/* ---- rows ---- */

static void hash_names(run *r, unsigned bits)
{
	const char *name = r->stream.names;
	for (uint32_t k = 0; k < r->stream.head->names; k++) {
		r->place[k] = cop_hash_feature(name, strlen(name), 0) & ((1u << bits) - 1);
		name += strlen(name) + 1;
	}
}

/* Entries in ascending order, those of one place added up. */
static uint32_t gather(run *r, uint32_t event)
{
	uint32_t most = r->stream.head->nonzeros, count = 0;
	for (uint32_t k = 0; k < most; k++) {
		uint32_t place = r->place[r->stream.name[(size_t)event * most + k]], at = count;
		float value = r->stream.value[(size_t)event * most + k];
		while (at > 0 && r->index[at - 1] > place)
			at--;
		if (at > 0 && r->index[at - 1] == place) {
			r->entry[at - 1] += value;
			continue;
		}
		memmove(&r->index[at + 1], &r->index[at], (count - at) * sizeof *r->index);
		memmove(&r->entry[at + 1], &r->entry[at], (count - at) * sizeof *r->entry);
		r->index[at] = place;
		r->entry[at] = value;
		count++;
	}
	return count;
}

static cop_row row_of(run *r, uint32_t event)
{
	const traffic_header *h = r->stream.head;
	size_t d = cop_learner_dimension(&cop_model_get_settings(r->model)->learner);
	if (h->nonzeros > 0)
		return (cop_row){ .d = d, .nnz = gather(r, event), .index = r->index, .value = r->entry };
	return (cop_row){ .d = d, .dense = r->stream.x + (size_t)event * h->features };
}

static void find_candidates(run *r, uint32_t event)
{
	const traffic_header *h = r->stream.head;
	for (uint32_t k = 0; k < h->arms; k++) {
		size_t item = r->stream.candidate[(size_t)event * h->arms + k];
		r->candidate[k] = (cop_row){ .d = h->item_features, .dense = r->stream.item + item * h->item_features };
	}
}

/* ---- events ---- */

static double value_loss(const traffic_stream *s, uint32_t event, double y, size_t probe)
{
	uint32_t last = s->head->grid - 1;
	double at = y * last;
	uint32_t low = at >= last ? last - 1 : (uint32_t)at;
	const float *loss = s->loss + (size_t)event * s->head->grid + low;
	return (double)loss[0] + (at - low) * (double)(loss[1] - loss[0]) + (double)s->noise[2 * (size_t)event + probe];
}

/* The sampled losses of what was played; false: it is never told. */
static bool losses_of(run *r, uint32_t event, double *loss, size_t *count)
{
	const traffic_header *h = r->stream.head;
	*count = 1;
	if (h->kind == TRAFFIC_VALUES) {
		size_t probes = cop_learner_losses(&cop_model_get_settings(r->model)->learner);
		for (*count = 0; *count < probes; ++*count)
			loss[*count] =
			        value_loss(&r->stream, event, (double)r->probe[2 * (size_t)event + *count], *count);
		return true;
	}
	loss[0] = (double)r->stream.loss[(size_t)event * h->arms + r->played[event]];
	return (h->flags & TRAFFIC_CONVERSIONS) == 0 || loss[0] < 1.0;
}

static int tell(run *r, uint32_t event, double now)
{
	double loss[2];
	size_t count;
	cop_event_id id;
	cop_feedback_result result;
	if (!losses_of(r, event, loss, &count))
		return 0;
	cop_event_id_from_unsigned(&id, event);
	cop_err err = cop_model_feedback(r->model, &id, loss, count, now, &result);
	return err == COP_OK || err == COP_EDIVERGED ? 0 : complain("feedback", cop_err_text(err));
}

static cop_candidates choice_of(run *r, uint32_t event)
{
	const traffic_header *h = r->stream.head;
	cop_candidates choice = { .count = h->arms };
	if (r->stream.eligible != NULL)
		choice.mask = r->stream.eligible + (size_t)event * h->arms;
	if (h->kind == TRAFFIC_RANK) {
		find_candidates(r, event);
		choice.row = r->candidate;
	}
	return choice;
}

/* As skyline: the losses of the arms that are there, as they are known once the window is over. */
static size_t find_losses(run *r, uint32_t event, const uint8_t *mask)
{
	const traffic_header *h = r->stream.head;
	bool late = h->window > 0.0 && (double)r->stream.due[event] >= (double)event + h->window;
	size_t count = 0;
	for (uint32_t k = 0; k < h->arms; k++) {
		r->loss[k] = late ? 1.0 : (double)r->stream.loss[(size_t)event * h->arms + k];
		count += mask == NULL || mask[k] != 0;
	}
	return count;
}

static int tell_all(run *r, uint32_t event)
{
	size_t learned;
	cop_row x = row_of(r, event);
	const cop_candidates choice = choice_of(r, event);
	size_t told = find_losses(r, event, choice.mask);
	cop_err err = cop_skyline_learn(cop_model_learner(r->model), &x, &choice, r->loss, &learned);
	r->learned += learned;
	r->refused += told - learned;
	return err == COP_OK ? 0 : complain("losses", cop_err_text(err));
}

/* Before which event an event's feedback comes; of conversions every arm's loss is known at the window's end. */
static uint32_t due_of(const run *r, uint32_t event)
{
	const traffic_header *h = r->stream.head;
	double end = (double)event + h->window;
	if (!r->skyline || h->window <= 0.0)
		return r->stream.due[event];
	return end < (double)h->events ? (uint32_t)end : TRAFFIC_NEVER;
}

static int tell_due(run *r, uint32_t event)
{
	uint32_t n = r->stream.head->events;
	for (; r->next < n && due_of(r, r->order[r->next]) <= event; r->next++) {
		uint32_t of = r->order[r->next];
		if ((r->skyline ? tell_all(r, of) : tell(r, of, (double)event)) != 0)
			return COP_EXIT_FAILED;
	}
	(void)cop_model_expire(r->model, (double)event, SIZE_MAX);
	return 0;
}

/* What the policy drew from. */
static void note(run *r, uint32_t event, const cop_decision *decision)
{
	const traffic_header *h = r->stream.head;
	if (h->kind == TRAFFIC_VALUES) {
		bool single = cop_learner_losses(&cop_model_get_settings(r->model)->learner) == 1;
		for (size_t k = 0; k < 2; k++)
			r->probe[2 * (size_t)event + k] = (float)decision->probe[single ? 0 : k];
		return;
	}
	cop_policy_view view = cop_learner_last_policy(cop_model_learner(r->model));
	r->played[event] = decision->arm;
	for (uint32_t k = 0; k < h->arms; k++)
		r->p[(size_t)event * h->arms + k] = (float)view.p[k];
}

static int play_skyline(run *r, uint32_t event, const cop_row *x, const cop_candidates *choice)
{
	cop_err err = cop_skyline_decide(cop_model_learner(r->model), x, choice, &r->played[event]);
	if (err != COP_OK)
		return complain("decide", cop_err_text(err));
	r->p[(size_t)event * choice->count + r->played[event]] = 1.0f;
	return 0;
}

static int play(run *r, uint32_t event)
{
	cop_event_id id;
	cop_decision decision;
	bool repeated;
	if (tell_due(r, event) != 0)
		return COP_EXIT_FAILED;
	cop_row x = row_of(r, event);
	const cop_candidates choice = choice_of(r, event);
	if (r->skyline)
		return play_skyline(r, event, &x, &choice);
	cop_event_id_from_unsigned(&id, event);
	cop_model_context context = { .id = &id, .x = &x, .mask = choice.mask, .candidate = choice.row };
	context.candidates = choice.row != NULL ? choice.count : 0;
	cop_err err = cop_model_decide(r->model, &context, (double)event, &decision, &repeated);
	if (err != COP_OK)
		return complain("decide", cop_err_text(err));
	note(r, event, &decision);
	return 0;
}

/* Events by the time of their feedback, those of the same time in their order: a counting sort. */
static int sort_feedback(run *r)
{
	uint32_t n = r->stream.head->events;
	uint32_t *begin = cop_mem_alloc((size_t)n + 2, sizeof *begin);
	if (begin == NULL)
		return complain("feedback", cop_err_text(COP_ENOMEM));
	for (uint32_t i = 0; i < n; i++)
		begin[(due_of(r, i) < n ? due_of(r, i) : n) + 1]++;
	for (uint32_t t = 0; t <= n; t++)
		begin[t + 1] += begin[t];
	for (uint32_t i = 0; i < n; i++)
		r->order[begin[due_of(r, i) < n ? due_of(r, i) : n]++] = i;
	cop_mem_free(begin);
	return 0;
}

/* ---- the model ---- */

static void shape(const traffic_header *h, cop_model_settings *s)
{
	s->learner.features = h->features;
	s->learner.arms = h->kind == TRAFFIC_ARMS ? h->arms : 0;
	s->learner.candidate_features = h->kind == TRAFFIC_RANK ? h->item_features : 0;
	s->learner.max_candidates = h->kind == TRAFFIC_RANK ? h->arms : s->learner.max_candidates;
	if (h->nonzeros > 0)
		s->learner.max_nonzeros = h->nonzeros;
	s->reward_window = h->window > 0.0 ? h->window : NO_WINDOW;
	s->has_default_loss = h->window > 0.0;
	s->default_loss = h->window > 0.0 ? 1.0 : 0.0;
}

static int make_room(run *r)
{
	const traffic_header *h = r->stream.head;
	bool values = h->kind == TRAFFIC_VALUES;
	r->order = cop_mem_alloc(h->events, sizeof *r->order);
	r->place = cop_mem_alloc(h->names, sizeof *r->place);
	r->index = cop_mem_alloc((size_t)h->nonzeros + 1, sizeof *r->index);
	r->entry = cop_mem_alloc((size_t)h->nonzeros + 1, sizeof *r->entry);
	r->candidate = cop_mem_alloc(h->arms, sizeof *r->candidate);
	r->played = cop_mem_alloc(h->events, sizeof *r->played);
	r->p = cop_mem_alloc(values ? 0 : (size_t)h->events * h->arms, sizeof *r->p);
	r->probe = cop_mem_alloc(values ? 2 * (size_t)h->events : 0, sizeof *r->probe);
	r->loss = cop_mem_alloc(h->arms, sizeof *r->loss);
	if (r->loss == NULL || r->order == NULL || r->place == NULL || r->index == NULL || r->entry == NULL ||
	        r->candidate == NULL || r->played == NULL || r->p == NULL || r->probe == NULL)
		return complain("events", cop_err_text(COP_ENOMEM));
	return 0;
}

static void free_room(run *r)
{
	cop_model_free(r->model);
	void *rooms[] = { r->order, r->place, r->index, r->entry, r->candidate, r->played, r->p, r->probe, r->loss };
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
		cop_mem_free(rooms[i]);
}

static int prepare(run *r, const cop_learner_settings *learner)
{
	cop_model_settings settings;
	cop_diag diag = { 0 };
	cop_model_settings_init(&settings);
	settings.learner = *learner;
	shape(r->stream.head, &settings);
	if (r->skyline && r->stream.head->kind == TRAFFIC_VALUES)
		return complain("--skyline", "expected a stream of arms or items");
	if (cop_model_new(&settings, &r->model, &diag) != COP_OK)
		return complain("model", diag.message);
	if (make_room(r) != 0)
		return COP_EXIT_FAILED;
	if (r->stream.head->names > 0)
		hash_names(r, settings.learner.bits > 0 ? settings.learner.bits
		                                        : cop_model_get_settings(r->model)->learner.bits);
	return sort_feedback(r);
}

/* ---- the program ---- */

static int write_out(const run *r, const char *path)
{
	const traffic_header *h = r->stream.head;
	FILE *out = fopen(path, "wb");
	size_t n = h->events, choices = n * h->arms;
	if (out == NULL)
		return complain(path, strerror(errno));
	bool ok = h->kind == TRAFFIC_VALUES ? fwrite(r->probe, sizeof *r->probe, 2 * n, out) == 2 * n
	                                    : fwrite(r->played, sizeof *r->played, n, out) == n &&
	                                              fwrite(r->p, sizeof *r->p, choices, out) == choices;
	if (fclose(out) != 0 || !ok)
		return complain(path, "not written");
	const cop_model_counters *c = cop_model_get_counters(r->model); /* skyline: none */
	(void)printf("{\"events\": %zu, \"learned\": %" PRIu64 ", \"defaulted\": %" PRIu64 ", \"refused\": %" PRIu64
	             "}\n",
	        n, c->learned + r->learned, c->defaulted, c->refused + r->refused);
	return 0;
}

/* "name=value", a learner's option without its dashes. */
static int read_setting(cop_learner_options *options, const char *text)
{
	if (strncmp(text, "feedback=", 9) == 0) {
		for (int i = 0; i < COP_VALUE_FEEDBACKS; i++)
			if (strcmp(text + 9, cop_value_feedback_words[i]) == 0)
				options->settings.feedback = (cop_value_feedback)i;
		return 0;
	}
	size_t length = strcspn(text, "=");
	bool takes = false;
	int option = cop_learner_options_find(text, length, &takes);
	if (option == 0 || takes != (text[length] == '='))
		return complain(text, "expected a learner's option, as optimism=0");
	return cop_learner_options_read(options, option, takes ? text + length + 1 : NULL) ? 0 : COP_EXIT_USAGE;
}

static int read_arguments(int argc, char **argv, cop_learner_options *options, bool *skyline)
{
	uint64_t seed = 1;
	for (int i = 3; i < argc; i++) {
		bool more = i + 1 < argc;
		if (strcmp(argv[i], "--skyline") == 0)
			*skyline = true;
		else if (strcmp(argv[i], "--set") == 0 && more) {
			if (read_setting(options, argv[++i]) != 0)
				return COP_EXIT_USAGE;
		} else if (strcmp(argv[i], "--seed") != 0 || !more ||
		           !cop_command_whole(PROGRAM, "--seed", argv[++i], 0, UINT64_MAX, &seed))
			return COP_EXIT_USAGE;
	}
	options->settings.seed = seed;
	char text[COP_LEARNER_WRONG_ROOM];
	const char *wrong = cop_learner_options_wrong(options, false, text);
	return wrong == NULL ? 0 : complain("--set", wrong);
}

int main(int argc, char **argv)
{
	static const char *const learners[] = { "ensemble", "dgt", "value", "rank", NULL };
	cop_learner_options options;
	run r = { 0 };
	cop_learner_options_init(&options, PROGRAM, learners);
	int status = argc < 3 ? COP_EXIT_USAGE : map_stream(argv[1], &r.stream);
	if (status == 0) {
		static const char *const usual[] = { "ensemble", "rank", "value" };
		uint32_t kind = r.stream.head->kind;
		(void)snprintf(
		        options.settings.learner, sizeof options.settings.learner, "%s", usual[kind < 3 ? kind : 0]);
		status = read_arguments(argc, argv, &options, &r.skyline);
	}
	if (status == COP_EXIT_USAGE) {
		(void)fprintf(stderr, "usage: " PROGRAM " STREAM OUT [--set OPTION=VALUE]... [--seed N] [--skyline]\n");
		return status;
	}
	if (status == 0)
		status = prepare(&r, &options.settings);
	for (uint32_t i = 0; status == 0 && i < r.stream.head->events; i++)
		status = play(&r, i);
	if (status == 0)
		status = write_out(&r, argv[2]);
	free_room(&r);
	return status;
}
