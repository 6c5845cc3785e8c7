/* Invariant of the ring: blocks accounted <= blocks done by each consumer <= blocks filled <= accounted + SLOTS. Only
 * the feeding thread moves `accounted` and `filled`. A block never holds events of two passes. */
#include "replay_feed.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "replay_options.h"
#include "replay_reader.h"
#include "tools/common/command.h"

#define SLOTS      4
#define BLOCK_FULL ((size_t)256 << 10) /* bytes: a consumer's cache holds it */
#define MOST_TOLD  10                  /* complaints about events passed over; the others are only counted */

const char *const cop_replay_skip_names[COP_REPLAY_SKIPS] = { "format", "number", "action", "cost", "candidates",
	"features" };

struct cop_replay_feed {
	cop_replay_feed_settings set;
	cop_replay_slot slot[SLOTS];
	cop_replay_fed fed;
	uint64_t in_pass, pass, to_skip;
	uint8_t *mask; /* arms: a shorter mask, lengthened */
	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint64_t filled, accounted;
	uint64_t *next; /* consumers: blocks done */
	bool ended, given_up;
};

cop_err cop_replay_feed_new(const cop_replay_feed_settings *settings, cop_replay_feed **out)
{
	cop_replay_feed *feed = cop_mem_alloc(1, sizeof *feed);
	*out = feed;
	if (feed == NULL)
		return COP_ENOMEM;
	feed->set = *settings;
	feed->to_skip = settings->skip;
	(void)pthread_mutex_init(&feed->lock, NULL);
	(void)pthread_cond_init(&feed->moved, NULL);
	for (size_t i = 0; i < SLOTS; i++)
		cop_event_block_init(&feed->slot[i].block);
	feed->next = cop_mem_alloc(settings->consumers, sizeof *feed->next);
	feed->mask = cop_mem_alloc(settings->limits.arms, sizeof *feed->mask);
	if (feed->next != NULL && feed->mask != NULL)
		return COP_OK;
	cop_replay_feed_free(feed);
	*out = NULL;
	return COP_ENOMEM;
}

void cop_replay_feed_free(cop_replay_feed *feed)
{
	if (feed == NULL)
		return;
	for (size_t i = 0; i < SLOTS; i++) {
		cop_event_block_fini(&feed->slot[i].block);
		cop_mem_free(feed->slot[i].seen);
	}
	(void)pthread_mutex_destroy(&feed->lock);
	(void)pthread_cond_destroy(&feed->moved);
	cop_mem_free(feed->next);
	cop_mem_free(feed->mask);
	cop_mem_free(feed);
}

/* ---- consumers ---- */

cop_replay_slot *cop_replay_feed_next(cop_replay_feed *feed, unsigned c)
{
	cop_replay_slot *slot = NULL;
	(void)pthread_mutex_lock(&feed->lock);
	while (feed->next[c] == feed->filled && !feed->ended && !feed->given_up)
		(void)pthread_cond_wait(&feed->moved, &feed->lock);
	if (feed->next[c] < feed->filled && !feed->given_up)
		slot = &feed->slot[feed->next[c] % SLOTS];
	(void)pthread_mutex_unlock(&feed->lock);
	return slot;
}

void cop_replay_feed_done(cop_replay_feed *feed, unsigned c)
{
	(void)pthread_mutex_lock(&feed->lock);
	cop_replay_slot *slot = &feed->slot[feed->next[c]++ % SLOTS];
	if (--slot->working == 0)
		(void)pthread_cond_broadcast(&feed->moved);
	(void)pthread_mutex_unlock(&feed->lock);
}

void cop_replay_feed_give_up(cop_replay_feed *feed)
{
	(void)pthread_mutex_lock(&feed->lock);
	feed->given_up = true;
	(void)pthread_cond_broadcast(&feed->moved);
	(void)pthread_mutex_unlock(&feed->lock);
}

/* ---- the feeding thread ---- */

static bool has_given_up(cop_replay_feed *feed)
{
	(void)pthread_mutex_lock(&feed->lock);
	bool given_up = feed->given_up;
	(void)pthread_mutex_unlock(&feed->lock);
	return given_up;
}

/* Accounts for blocks that are done; waits until at most `most` are not. False: a consumer gave up. */
static bool settle(cop_replay_feed *feed, uint64_t most)
{
	for (;;) {
		(void)pthread_mutex_lock(&feed->lock);
		cop_replay_slot *slot = &feed->slot[feed->accounted % SLOTS];
		while (feed->filled - feed->accounted > most && slot->working > 0 && !feed->given_up)
			(void)pthread_cond_wait(&feed->moved, &feed->lock);
		bool given_up = feed->given_up;
		bool is_done = feed->accounted < feed->filled && slot->working == 0;
		(void)pthread_mutex_unlock(&feed->lock);
		if (given_up || !is_done)
			return !given_up;
		feed->set.account(feed->set.state, slot);
		feed->accounted++;
	}
}

/* An empty block; NULL: a consumer gave up. */
static cop_replay_slot *take_slot(cop_replay_feed *feed)
{
	if (!settle(feed, SLOTS - 1))
		return NULL;
	cop_replay_slot *slot = &feed->slot[feed->filled % SLOTS];
	cop_event_block_clear(&slot->block);
	slot->first = feed->fed.events;
	slot->first_in_pass = feed->in_pass;
	slot->pass = feed->pass;
	return slot;
}

/* Room for the results, and the block is everybody's. */
static cop_err give(cop_replay_feed *feed, cop_replay_slot *slot)
{
	const cop_replay_feed_settings *set = &feed->set;
	size_t room = slot->block.count * set->settings;
	if (slot->block.count == 0)
		return COP_OK;
	if (room > slot->seen_room) {
		cop_mem_free(slot->seen);
		slot->seen = cop_mem_alloc(room, sizeof *slot->seen);
		slot->seen_room = slot->seen == NULL ? 0 : room;
		if (slot->seen == NULL)
			return COP_ENOMEM;
	}
	(void)pthread_mutex_lock(&feed->lock);
	slot->working = set->consumers;
	feed->filled++;
	(void)pthread_cond_broadcast(&feed->moved);
	(void)pthread_mutex_unlock(&feed->lock);
	return COP_OK;
}

/* ---- what an event must be ---- */

typedef struct verdict {
	bool wrong;
	bool other; /* had all of the log been looked at, it would be right */
	cop_replay_skip skip;
} verdict;

static verdict complain(const cop_replay_feed *feed, const cop_logged_event *event, cop_replay_skip skip,
        cop_diag *diag, const char *format, ...) __attribute__((format(printf, 5, 6)));

static verdict complain(const cop_replay_feed *feed, const cop_logged_event *event, cop_replay_skip skip,
        cop_diag *diag, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	cop_diag_at_line(diag, feed->set.options->path, event->line, "%s", text);
	return (verdict){ .wrong = true, .other = feed->set.limits.open[skip], .skip = skip };
}

static verdict check_candidates(const cop_replay_feed *feed, const cop_logged_event *event, cop_diag *diag)
{
	const cop_replay_limits *l = &feed->set.limits;
	if (l->candidates == 0)
		return complain(feed, event, COP_REPLAY_SKIP_CANDIDATES, diag,
		        "%zu candidates, expected numbered arms as in the events before", event->candidates);
	if (event->candidates == 0)
		return complain(feed, event, COP_REPLAY_SKIP_CANDIDATES, diag,
		        "no candidates, expected some as in the events before");
	if (event->candidates > l->candidates)
		return complain(feed, event, COP_REPLAY_SKIP_CANDIDATES, diag,
		        "%zu candidates, expected at most %zu (--candidates)", event->candidates, l->candidates);
	return (verdict){ 0 };
}

static verdict check_arm(const cop_replay_feed *feed, const cop_logged_event *event, cop_diag *diag)
{
	size_t arms = feed->set.limits.arms;
	unsigned base =
	        strcmp(feed->set.options->reader.format, "vw") == 0 || feed->set.options->reader.reader.action_from_one;
	size_t arm = event->labelled ? event->action : 0;
	if (event->mask != NULL && event->arms > arms && event->arms > arm)
		arm = event->arms - 1;
	if (arm < arms)
		return (verdict){ 0 };
	return complain(feed, event, COP_REPLAY_SKIP_ACTION, diag, "action %zu, expected %u to %zu (--arms %zu)",
	        arm + base, base, arms - 1 + base, arms);
}

static verdict check_rows(const cop_replay_feed *feed, const cop_logged_event *event, cop_diag *diag)
{
	const cop_replay_limits *l = &feed->set.limits;
	size_t most = event->x.dense != NULL ? 0 : event->x.nnz;
	for (size_t i = 0; i < event->candidates; i++)
		if (event->candidate[i].dense == NULL && event->candidate[i].nnz > most)
			most = event->candidate[i].nnz;
	if (most <= l->entries)
		return (verdict){ 0 };
	return complain(feed, event, COP_REPLAY_SKIP_FEATURES, diag,
	        "%zu features, expected at most %zu (--max-nonzeros)", most, l->entries);
}

static bool is_row(const cop_replay_limits *l, const cop_row *row, size_t dimension)
{
	return row->d == dimension && (row->dense != NULL) == l->dense;
}

/* Rows that the models could not take, whatever is skipped: the log, or a file beside it, is another one. */
static cop_err check_shape(const cop_replay_feed *feed, const cop_logged_event *event, cop_diag *diag)
{
	const cop_replay_limits *l = &feed->set.limits;
	bool fits = is_row(l, &event->x, l->dimension) || (event->x.d == 0 && !l->dense);
	for (size_t i = 0; fits && i < event->candidates; i++)
		fits = is_row(l, &event->candidate[i], l->candidate_dimension);
	if (fits)
		return COP_OK;
	cop_diag_at_line(diag, feed->set.options->path, event->line,
	        "its features are not those of the model: expected %zu %s ones%s", l->dimension,
	        l->dense ? "dense" : "hashed", event->candidates > 0 ? ", and candidates alike" : "");
	return COP_ESHAPE;
}

static verdict check(const cop_replay_feed *feed, const cop_logged_event *event, cop_diag *diag)
{
	const cop_replay_limits *l = &feed->set.limits;
	verdict v = event->candidates > 0 || l->candidates > 0 ? check_candidates(feed, event, diag)
	                                                       : check_arm(feed, event, diag);
	if (!v.wrong)
		v = check_rows(feed, event, diag);
	if (!v.wrong && event->labelled && !(event->cost >= l->low && event->cost <= l->high))
		v = complain(feed, event, COP_REPLAY_SKIP_COST, diag,
		        "cost %.9g is outside the loss range, expected %g to %g (--loss-range)", event->cost, l->low,
		        l->high);
	if (!v.wrong && l->columns_open && cop_feature_space_dropped(feed->set.space) > 0) {
		v = complain(feed, event, COP_REPLAY_SKIP_FEATURES, diag, "a feature that no event before had");
		v.other = true;
	}
	return v;
}

/* A journal's model may have been given features: rows of more of them than was seen at first, or that lack some. */
static verdict check_features(const cop_replay_feed *feed, const cop_logged_event *event, cop_diag *diag)
{
	const cop_replay_limits *l = &feed->set.limits;
	const cop_row *x = &event->x;
	size_t known = 0;
	if (!l->dense || x->dense == NULL || !cop_replay_is_journal(feed->set.options))
		return (verdict){ 0 };
	while (known < x->d && !isnan(x->dense[known]))
		known++;
	if (x->d <= l->dimension && known >= l->known)
		return (verdict){ 0 };
	verdict v = complain(feed, event, COP_REPLAY_SKIP_FEATURES, diag,
	        "%zu features, of which %zu are known, expected %zu, at least %zu of them known", x->d, known,
	        l->dimension, l->known);
	v.other = l->features_open;
	return v;
}

/* COP_OK: passed over, or a misfit that ends the feed. Else the error that ends it. */
static cop_err pass_over(cop_replay_feed *feed, cop_err err, verdict v, const cop_diag *diag)
{
	const cop_reader_options *reader = &feed->set.options->reader;
	if (*feed->set.stop != 0) /* what the interrupt cut off is no fault */
		return COP_OK;
	feed->fed.misfit = v.other;
	if (v.other)
		return COP_OK;
	if (!reader->skip)
		return err;
	feed->fed.skipped[v.skip] += feed->pass == 0;
	if (feed->pass == 0 && ++feed->fed.skipped_all <= MOST_TOLD)
		(void)cop_command_failed(reader->command, diag);
	if (feed->pass == 0 && feed->fed.skipped_all == MOST_TOLD)
		cop_command_complain(reader->command, "further bad events are counted, not shown");
	return COP_OK;
}

static bool is_over(const cop_replay_feed *feed)
{
	const cop_replay_feed_settings *set = &feed->set;
	return *set->stop != 0 || feed->fed.misfit || (set->events != 0 && feed->fed.events == set->events);
}

/* A mask of its own length becomes one of all arms. */
static void lengthen_mask(cop_replay_feed *feed, cop_logged_event *event)
{
	size_t arms = feed->set.limits.arms;
	if (event->mask == NULL || event->candidates > 0 || event->arms == arms)
		return;
	memset(feed->mask, 0, arms);
	memcpy(feed->mask, event->mask, event->arms);
	event->mask = feed->mask;
	event->arms = arms;
}

/* The next good event into the slot. *added: there was one. */
static cop_err add_event(
        cop_replay_feed *feed, cop_event_reader *reader, cop_replay_slot *slot, bool *added, cop_diag *diag)
{
	cop_logged_event event;
	*added = false;
	cop_err err = cop_event_reader_next(reader, &event, diag);
	if (err == COP_EFORMAT || err == COP_ENONFINITE)
		return pass_over(feed, err,
		        (verdict){ .skip = err == COP_EFORMAT ? COP_REPLAY_SKIP_FORMAT : COP_REPLAY_SKIP_NUMBER },
		        diag);
	if (err != COP_OK)
		return err;
	verdict v = check_features(feed, &event, diag);
	err = v.wrong ? COP_OK : check_shape(feed, &event, diag);
	if (err != COP_OK)
		return err;
	if (!v.wrong)
		v = check(feed, &event, diag);
	if (v.wrong)
		return pass_over(feed, COP_EINVAL, v, diag);
	if (feed->to_skip > 0) {
		feed->to_skip--;
		return COP_OK;
	}
	lengthen_mask(feed, &event);
	err = cop_event_block_add(&slot->block, &event);
	if (err != COP_OK)
		cop_diag_at_line(diag, feed->set.options->path, event.line, "%s", cop_err_text(err));
	*added = err == COP_OK;
	return err;
}

static cop_err feed_pass(cop_replay_feed *feed, cop_event_reader *reader, cop_diag *diag)
{
	cop_err err = COP_OK;
	while (err == COP_OK && !is_over(feed)) {
		cop_replay_slot *slot = take_slot(feed);
		if (slot == NULL)
			return COP_EEND;
		while (err == COP_OK && !is_over(feed) && slot->block.bytes.length < BLOCK_FULL &&
		        !cop_event_block_is_full(&slot->block)) {
			bool added;
			err = add_event(feed, reader, slot, &added, diag);
			feed->fed.events += added;
			feed->in_pass += added;
		}
		bool whole = err == COP_OK || err == COP_EEND;
		cop_err given = whole && !feed->fed.misfit ? give(feed, slot) : COP_OK;
		err = given != COP_OK ? given : err;
	}
	return err;
}

static cop_err one_pass(cop_replay_feed *feed, cop_diag *diag)
{
	cop_event_reader *reader;
	cop_err err = cop_replay_reader_open(feed->set.options, feed->set.space, &reader, diag);
	if (err != COP_OK)
		return err;
	err = feed_pass(feed, reader, diag);
	cop_event_reader_free(reader);
	return err;
}

static void end(cop_replay_feed *feed, bool give_up)
{
	(void)pthread_mutex_lock(&feed->lock);
	feed->ended = true;
	feed->given_up = feed->given_up || give_up;
	(void)pthread_cond_broadcast(&feed->moved);
	(void)pthread_mutex_unlock(&feed->lock);
}

cop_err cop_replay_feed_run(cop_replay_feed *feed, cop_replay_fed *out, cop_diag *diag)
{
	cop_err err = COP_OK;
	for (feed->pass = 0; err == COP_OK && feed->pass < feed->set.passes && !is_over(feed); feed->pass++) {
		feed->in_pass = 0;
		feed->fed.passes++;
		err = one_pass(feed, diag);
		if (err == COP_EEND)
			err = COP_OK;
		if (has_given_up(feed) || feed->fed.events == 0)
			break;
	}
	bool fails = err != COP_OK || feed->fed.misfit;
	feed->fed.stopped = *feed->set.stop != 0;
	end(feed, fails);
	if (!fails)
		(void)settle(feed, 0);
	feed->fed.in_pass = feed->in_pass;
	*out = feed->fed;
	return err;
}
