/* One item runs at most. One whose asker has gone is killed at once and its end taken in later, so that nothing waits.
 * An answer stays for a moment, for all who asked the same. */
#include "daemon/report/past_desk.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/common/clock.h"
#include "wire/wire_code.h"

#define PROGRAM      "/proc/self/exe" /* also when its file was replaced */
#define LOOK_SECONDS 0.01
#define MOST_ANSWER  (8u << 20) /* bytes */
#define PIECE        65536u
#define FRESH        2.0 /* seconds that an answer is good for who asks the same */
#define FAILED_RATE  1.0 /* lines of the log a second */
#define FAILED_BURST 5.0

void cop_past_desk_init(cop_past_desk *desk, const char *config_path, cop_log *log)
{
	*desk = (cop_past_desk){ .config_path = config_path, .log = log };
	cop_side_process_init(&desk->process);
	cop_log_limiter_init(&desk->limiter, FAILED_RATE, FAILED_BURST);
	for (size_t i = 0; i < COP_PAST_DESK_ITEMS; i++)
		cop_bytes_init(&desk->items[i].answer);
}

static void set_free(cop_past_desk *desk, cop_past_desk_item *item)
{
	cop_bytes_fini(&item->answer);
	cop_bytes_init(&item->answer);
	item->state = COP_PAST_DESK_FREE;
	desk->used--;
}

void cop_past_desk_fini(cop_past_desk *desk)
{
	(void)cop_side_process_stop(&desk->process);
	for (size_t i = 0; i < COP_PAST_DESK_ITEMS; i++)
		cop_bytes_fini(&desk->items[i].answer);
}

/* ---- asking ---- */

static bool is_same(const cop_past_desk_item *item, const cop_past_desk_question *q, double now)
{
	if (item->state >= COP_PAST_DESK_FOUND && now - item->at > FRESH)
		return false;
	return item->state != COP_PAST_DESK_FREE && item->state != COP_PAST_DESK_DROPPED && item->verb == q->verb &&
	       strcmp(item->stored, q->stored) == 0 && item->length == q->body->length &&
	       memcmp(item->body, q->body->data, item->length) == 0;
}

/* A free one, or that of the answer that was asked for longest ago. */
static cop_past_desk_item *find_place(cop_past_desk *desk)
{
	cop_past_desk_item *place = NULL;
	for (size_t i = 0; i < COP_PAST_DESK_ITEMS; i++) {
		cop_past_desk_item *item = &desk->items[i];
		if (item->state == COP_PAST_DESK_FREE)
			return item;
		if (item->state >= COP_PAST_DESK_FOUND && (place == NULL || item->asked < place->asked))
			place = item;
	}
	return place;
}

static size_t count_queued(const cop_past_desk *desk)
{
	size_t queued = 0;
	for (size_t i = 0; i < COP_PAST_DESK_ITEMS; i++)
		queued += desk->items[i].state == COP_PAST_DESK_QUEUED;
	return queued;
}

const cop_past_desk_item *cop_past_desk_ask(cop_past_desk *desk, const cop_past_desk_question *q, double now)
{
	COP_ASSERT(q->body->length <= COP_PAST_DESK_BODY);
	for (size_t i = 0; i < COP_PAST_DESK_ITEMS; i++) {
		if (!is_same(&desk->items[i], q, now))
			continue;
		desk->items[i].asked = now;
		return &desk->items[i];
	}
	cop_past_desk_item *item = count_queued(desk) < COP_PAST_DESK_WAITING ? find_place(desk) : NULL;
	if (item == NULL) {
		desk->counts.refused++;
		return NULL;
	}
	if (item->state != COP_PAST_DESK_FREE)
		set_free(desk, item);
	item->state = COP_PAST_DESK_QUEUED;
	item->verb = q->verb;
	item->order = desk->orders++;
	item->asked = now;
	item->length = q->body->length;
	memcpy(item->body, q->body->data, item->length);
	(void)snprintf(item->model, sizeof item->model, "%s", q->model);
	(void)snprintf(item->stored, sizeof item->stored, "%s", q->stored);
	desk->used++;
	desk->next_look = 0.0;
	return item;
}

/* ---- the process ---- */

static void tell_failure(cop_past_desk *desk, const cop_past_desk_item *item)
{
	char why[320];
	cop_wire_text_clean(why, sizeof why, (const char *)item->answer.data, item->answer.length);
	cop_log_limited(desk->log, &desk->limiter, cop_clock_monotonic_us(), COP_LOG_EVENT(past_failed),
	        "verb=%s model=%s reason=\"%s\"", item->verb, item->model, why);
}

static void fail(cop_past_desk *desk, cop_past_desk_item *item, const char *why)
{
	item->state = COP_PAST_DESK_FAILED;
	cop_bytes_clear(&item->answer);
	cop_bytes_put(&item->answer, why, strlen(why));
	desk->counts.failed++;
	tell_failure(desk, item);
}

static void start(cop_past_desk *desk, cop_past_desk_item *item, double now)
{
	char parent[16], verb[16], program[] = "coppiced", config[] = "--config", aside[] = "--aside", end[] = "--";
	char path[4096];
	char *argv[9];
	size_t count = 0;
	cop_diag diag = { 0 };
	(void)snprintf(parent, sizeof parent, "%d", (int)getpid());
	(void)snprintf(verb, sizeof verb, "%s", item->verb);
	argv[count++] = program;
	if (desk->config_path != NULL) {
		(void)snprintf(path, sizeof path, "%s", desk->config_path);
		argv[count++] = config;
		argv[count++] = path;
	}
	argv[count++] = aside;
	argv[count++] = parent;
	argv[count++] = end;
	argv[count++] = item->model;
	argv[count++] = verb;
	argv[count] = NULL;
	const cop_side_process_input input = { item->body, item->length };
	desk->counts.started++;
	if (cop_side_process_start(&desk->process, PROGRAM, argv, &input, now, COP_PAST_DESK_SECONDS, &diag) !=
	        COP_OK) {
		fail(desk, item, diag.message);
		item->at = now;
		return;
	}
	item->state = COP_PAST_DESK_RUNNING;
	desk->running = item;
}

/* Takes what it wrote; what is too long is not kept. */
static void read_answer(cop_past_desk *desk)
{
	uint8_t piece[PIECE];
	size_t n;
	cop_bytes *answer = &desk->running->answer;
	while ((n = cop_side_process_read(&desk->process, piece, sizeof piece)) > 0)
		if (answer->length <= MOST_ANSWER)
			cop_bytes_put(answer, piece, n);
}

static void conclude(cop_past_desk *desk, int status, double now)
{
	cop_past_desk_item *item = desk->running;
	const cop_bytes *answer = &item->answer;
	bool timely = desk->process.told == 0, whole = answer->err == COP_OK && answer->length <= MOST_ANSWER;
	int exited = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	char why[96];
	desk->running = NULL;
	item->at = now;
	if (item->state == COP_PAST_DESK_DROPPED) {
		set_free(desk, item);
	} else if (!timely) {
		(void)snprintf(why, sizeof why, "it took longer than %.0f seconds", COP_PAST_DESK_SECONDS);
		fail(desk, item, why);
	} else if (!whole) {
		fail(desk, item, "the answer is too long");
	} else if (exited == 0 && answer->length > 0) {
		item->state = COP_PAST_DESK_FOUND;
		desk->counts.found++;
	} else if (exited == COP_PAST_DESK_NOTHING) {
		item->state = COP_PAST_DESK_NOT_FOUND;
		desk->counts.not_found++;
	} else if (exited > 0 && answer->length > 0) {
		item->state = COP_PAST_DESK_FAILED;
		desk->counts.failed++;
		tell_failure(desk, item);
	} else {
		(void)snprintf(why, sizeof why, "the process ended with status %d", status);
		fail(desk, item, why);
	}
}

static void attend(cop_past_desk *desk, double now)
{
	int status = 0;
	struct rusage used;
	read_answer(desk);
	if (!cop_side_process_ended(&desk->process, now, &status, &used))
		return;
	read_answer(desk); /* what it wrote last */
	conclude(desk, status, now);
	cop_side_process_close(&desk->process);
}

/* ---- turns ---- */

/* Nobody asks any more. */
static void drop(cop_past_desk *desk, cop_past_desk_item *item)
{
	if (item->state == COP_PAST_DESK_QUEUED || item->state == COP_PAST_DESK_RUNNING)
		desk->counts.dropped++;
	if (item->state != COP_PAST_DESK_RUNNING) {
		set_free(desk, item);
		return;
	}
	item->state = COP_PAST_DESK_DROPPED;
	(void)kill(desk->process.pid, SIGKILL);
}

static cop_past_desk_item *next_of(cop_past_desk *desk)
{
	cop_past_desk_item *next = NULL;
	for (size_t i = 0; i < COP_PAST_DESK_ITEMS; i++) {
		cop_past_desk_item *item = &desk->items[i];
		if (item->state == COP_PAST_DESK_QUEUED && (next == NULL || item->order < next->order))
			next = item;
	}
	return next;
}

void cop_past_desk_turn(cop_past_desk *desk, double now)
{
	if (desk->used == 0 || now < desk->next_look)
		return;
	desk->next_look = now + LOOK_SECONDS;
	for (size_t i = 0; i < COP_PAST_DESK_ITEMS; i++) {
		cop_past_desk_item *item = &desk->items[i];
		if (item->state != COP_PAST_DESK_FREE && item->state != COP_PAST_DESK_DROPPED &&
		        now - item->asked > COP_PAST_DESK_PATIENT)
			drop(desk, item);
	}
	if (desk->running != NULL)
		attend(desk, now);
	cop_past_desk_item *next = desk->running == NULL ? next_of(desk) : NULL;
	if (next != NULL)
		start(desk, next, now);
}
