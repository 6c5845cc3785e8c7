/* Peers stand in the order of part and life. What can fail comes before the first change: a peer's room is made before
 * it takes its place. The sums of all others are added up anew with each summary, so they hang on what is known alone:
 * the summaries and the pins, which are saved. Own rows lack a feature in all arms or in none.
 */
#include "learn/sums.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "learn/arm_sums.h"
#include "learn/learner.h"

/* Saved beside the number of peers. */
#define MIXED  ((uint64_t)1 << 32) /* each peer's features follow its part */
#define PINNED ((uint64_t)1 << 33) /* pins come before the peers */

static size_t size_of(const cop_sums *sums) { return sums->arms * sums->width; }

static size_t size_at(const cop_sums *sums, size_t features) { return sums->arms * cop_arm_sums_width(features); }

static void forget_peers(cop_sums *sums)
{
	for (size_t i = 0; i < sums->peers; i++)
		cop_mem_free(sums->peer[i].value);
	sums->peers = 0;
}

cop_err cop_sums_init(cop_sums *sums, size_t arms, size_t features)
{
	*sums = (cop_sums){ .arms = arms, .features = features, .width = cop_arm_sums_width(features) };
	sums->own = cop_mem_alloc(size_of(sums), sizeof *sums->own);
	sums->others = cop_mem_alloc(size_of(sums), sizeof *sums->others);
	sums->peer = cop_mem_alloc(COP_SUMS_PEERS, sizeof *sums->peer);
	sums->pin = cop_mem_alloc(features, sizeof *sums->pin);
	sums->pinned = cop_mem_alloc(features, sizeof *sums->pinned);
	sums->lacked = cop_mem_alloc(features, sizeof *sums->lacked);
	sums->room = cop_mem_alloc(sums->width, sizeof *sums->room);
	const bool first = sums->own != NULL && sums->others != NULL && sums->peer != NULL;
	return first && sums->pin != NULL && sums->pinned != NULL && sums->lacked != NULL && sums->room != NULL
	               ? COP_OK
	               : COP_ENOMEM;
}

void cop_sums_fini(cop_sums *sums)
{
	if (sums->peer != NULL)
		forget_peers(sums);
	cop_mem_free(sums->peer);
	cop_mem_free(sums->own);
	cop_mem_free(sums->others);
	cop_mem_free(sums->pin);
	cop_mem_free(sums->pinned);
	cop_mem_free(sums->lacked);
	cop_mem_free(sums->room);
	*sums = (cop_sums){ .arms = 0 };
}

double cop_sums_footprint(size_t arms, size_t features)
{
	const double width = (double)cop_arm_sums_width(features);
	return (2.0 * (double)arms * width + width + (double)features) * sizeof(double);
}

void cop_sums_put_own(const cop_sums *sums, cop_bytes *bytes) { cop_bytes_put_f64s(bytes, sums->own, size_of(sums)); }

void cop_sums_put_peer(const cop_sums *sums, const cop_sums_peer *peer, cop_bytes *bytes)
{
	cop_bytes_put_f64s(bytes, peer->value, size_at(sums, peer->features));
}

/* ---- features that rows lack ---- */

bool cop_sums_lacks(const cop_sums *sums, size_t j) { return cop_arm_sums_lacks(sums->own, sums->features, j); }

bool cop_sums_is_open(const cop_sums *sums, size_t j)
{
	return !sums->pinned[j] && (sums->lacked[j] || cop_sums_lacks(sums, j));
}

/* In the room: an arm of a peer's, its rows with all features of this instance. */
static void complete(cop_sums *sums, const cop_sums_peer *peer, size_t arm)
{
	const double *value = peer->value + arm * cop_arm_sums_width(peer->features);
	cop_arm_sums_place(value, peer->features, sums->room, sums->features);
	for (size_t j = 0; j < sums->features; j++) {
		if (!cop_arm_sums_lacks(sums->room, sums->features, j))
			continue;
		sums->lacked[j] = 1;
		cop_arm_sums_fix(sums->room, sums->features, j, sums->pinned[j] ? sums->pin[j] : 0.0);
	}
}

void cop_sums_add_up(cop_sums *sums)
{
	memset(sums->others, 0, size_of(sums) * sizeof *sums->others);
	memset(sums->lacked, 0, sums->features);
	for (size_t p = 0; p < sums->peers; p++)
		for (size_t k = 0; k < sums->arms; k++) {
			double *to = sums->others + k * sums->width;
			complete(sums, &sums->peer[p], k);
			for (size_t i = 0; i < sums->width; i++)
				to[i] += sums->room[i];
		}
	sums->open = 0;
	for (size_t j = 0; j < sums->features; j++)
		sums->open += cop_sums_is_open(sums, j);
}

static void fix_own(cop_sums *sums, size_t j, double value)
{
	for (size_t k = 0; k < sums->arms; k++)
		cop_arm_sums_fix(sums->own + k * sums->width, sums->features, j, value);
}

void cop_sums_pin(cop_sums *sums, size_t j, double value)
{
	if (cop_sums_lacks(sums, j))
		fix_own(sums, j, value);
	sums->pinned[j] = 1;
	sums->pin[j] = value;
}

bool cop_sums_begin_anew(cop_sums *sums, size_t j, double value)
{
	if (cop_sums_lacks(sums, j))
		return false;
	fix_own(sums, j, value);
	if (sums->pinned[j])
		sums->pin[j] = value;
	return sums->pinned[j] != 0;
}

/* ---- summaries ---- */

static size_t find_life(const cop_sums *sums, uint64_t life)
{
	size_t i = 0;
	while (i < sums->peers && sums->peer[i].life != life)
		i++;
	return i;
}

static bool all_finite(const cop_summary *summary)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, summary->sums, summary->length);
	bool finite = true;
	for (size_t i = 0; i < summary->length / sizeof(double); i++)
		finite = isfinite(cop_cursor_f64(&cursor)) && finite;
	return finite && cursor.err == COP_OK;
}

bool cop_sums_features(const cop_sums *sums, size_t length, size_t *features)
{
	const size_t one = sums->arms * sizeof(double);
	return length % one == 0 && length / sizeof(double) <= COP_LEARNER_MAX_RIDGE_SUMS &&
	       cop_arm_sums_features(length / one, features);
}

static bool says_the_same(const cop_sums *sums, const cop_sums_peer *peer, const cop_summary *summary)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, summary->sums, summary->length);
	const size_t count = size_at(sums, peer->features);
	size_t i = 0;
	if (summary->length != count * sizeof(double))
		return false;
	while (i < count && cop_cursor_f64(&cursor) == peer->value[i])
		i++;
	return i == count;
}

static cop_sums_verdict judge_known(const cop_sums *sums, const cop_sums_peer *peer, const cop_summary *summary)
{
	if (peer->part != summary->part)
		return COP_SUMS_MOVED;
	if (summary->number < peer->number)
		return COP_SUMS_OLD;
	if (says_the_same(sums, peer, summary))
		return COP_SUMS_SAME;
	return summary->number == peer->number ? COP_SUMS_OLD : COP_SUMS_NEW;
}

cop_sums_verdict cop_sums_judge(const cop_sums *sums, const cop_summary *summary)
{
	if (summary->life == 0 || summary->number == 0 || !isfinite(summary->time))
		return COP_SUMS_BROKEN;
	if (summary->life == sums->life)
		return COP_SUMS_OWN;
	size_t features;
	if (!cop_sums_features(sums, summary->length, &features))
		return COP_SUMS_SHAPE;
	if (!all_finite(summary))
		return COP_SUMS_BROKEN;
	const size_t at = find_life(sums, summary->life);
	if (at < sums->peers)
		return judge_known(sums, &sums->peer[at], summary);
	return sums->peers < COP_SUMS_PEERS ? COP_SUMS_NEW : COP_SUMS_FULL;
}

static bool stands_before(const cop_sums_peer *a, const cop_sums_peer *b)
{
	return a->part != b->part ? a->part < b->part : a->life < b->life;
}

static void put_in_order(cop_sums *sums, const cop_sums_peer *peer)
{
	size_t at = sums->peers++;
	for (; at > 0 && stands_before(peer, &sums->peer[at - 1]); at--)
		sums->peer[at] = sums->peer[at - 1];
	sums->peer[at] = *peer;
}

/* Room for the sums of that many features, whatever is in it. */
static cop_err make_value(const cop_sums *sums, cop_sums_peer *peer, size_t features)
{
	if (peer->value != NULL && peer->features == features)
		return COP_OK;
	double *value = cop_mem_alloc(size_at(sums, features), sizeof *value);
	if (value == NULL)
		return COP_ENOMEM;
	cop_mem_free(peer->value);
	peer->value = value;
	peer->features = features;
	return COP_OK;
}

cop_err cop_sums_take(cop_sums *sums, const cop_summary *summary)
{
	cop_cursor cursor;
	size_t features;
	if (cop_sums_judge(sums, summary) != COP_SUMS_NEW || !cop_sums_features(sums, summary->length, &features))
		return COP_EINVAL;
	size_t at = find_life(sums, summary->life);
	cop_sums_peer peer = { .part = summary->part, .life = summary->life };
	cop_err err = make_value(sums, at < sums->peers ? &sums->peer[at] : &peer, features);
	if (err != COP_OK)
		return err;
	if (at == sums->peers) {
		put_in_order(sums, &peer);
		at = find_life(sums, summary->life);
	}
	sums->peer[at].number = summary->number;
	sums->peer[at].time = summary->time;
	cop_cursor_init(&cursor, summary->sums, summary->length);
	cop_cursor_f64s(&cursor, sums->peer[at].value, size_at(sums, features));
	cop_sums_add_up(sums);
	return COP_OK;
}

/* ---- the state ---- */

/* What beside the number of peers is saved. */
static uint64_t extras_of(const cop_sums *sums)
{
	uint64_t extras = 0;
	for (size_t i = 0; i < sums->peers; i++)
		extras |= sums->peer[i].features != sums->features ? MIXED : 0;
	for (size_t j = 0; j < sums->features; j++)
		extras |= sums->pinned[j] ? PINNED : 0;
	return extras;
}

void cop_sums_save(const cop_sums *sums, cop_bytes *bytes)
{
	const uint64_t extras = extras_of(sums);
	cop_bytes_put_u64(bytes, sums->life);
	cop_sums_put_own(sums, bytes);
	cop_bytes_put_u64(bytes, sums->peers | extras);
	if (extras & PINNED) {
		cop_bytes_put(bytes, sums->pinned, sums->features);
		cop_bytes_put_f64s(bytes, sums->pin, sums->features);
	}
	for (size_t i = 0; i < sums->peers; i++) {
		const cop_sums_peer *peer = &sums->peer[i];
		cop_bytes_put_u32(bytes, peer->part);
		if (extras & MIXED)
			cop_bytes_put_u32(bytes, (uint32_t)peer->features);
		cop_bytes_put_u64(bytes, peer->life);
		cop_bytes_put_u64(bytes, peer->number);
		cop_bytes_put_f64(bytes, peer->time);
		cop_sums_put_peer(sums, peer, bytes);
	}
}

/* What a saved state was like. */
typedef struct saved_form {
	size_t arms, features;
	uint64_t extras;
} saved_form;

static cop_err load_peer(cop_sums *sums, const saved_form *saved, cop_cursor *cursor)
{
	cop_sums_peer peer = { .part = cop_cursor_u32(cursor) };
	const size_t features = saved->extras & MIXED ? cop_cursor_u32(cursor) : saved->features;
	peer.life = cop_cursor_u64(cursor);
	peer.number = cop_cursor_u64(cursor);
	peer.time = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	const bool ordered = sums->peers == 0 || stands_before(&sums->peer[sums->peers - 1], &peer);
	if (!ordered || peer.life == 0 || peer.number == 0 || !isfinite(peer.time) || features > COP_ARM_SUMS_FEATURES)
		return COP_EFORMAT;
	const size_t count = saved->arms * cop_arm_sums_width(features);
	if (cop_cursor_left(cursor) / sizeof(double) < count)
		return COP_EFORMAT;
	cop_err err = make_value(sums, &peer, features);
	if (err != COP_OK)
		return err;
	cop_cursor_f64s(cursor, peer.value, count);
	sums->peer[sums->peers++] = peer;
	return cursor->err;
}

/* Arms that came later lack what the others do. */
static void begin_arms(cop_sums *sums, size_t from)
{
	for (size_t j = 0; j < sums->features; j++)
		for (size_t k = from; k < sums->arms && cop_sums_lacks(sums, j); k++)
			cop_arm_sums_miss(sums->own + k * sums->width, sums->features, j);
}

static void load_own(cop_sums *sums, const saved_form *saved, cop_cursor *cursor)
{
	memset(sums->own, 0, size_of(sums) * sizeof *sums->own);
	for (size_t k = 0; k < saved->arms; k++) {
		cop_cursor_f64s(cursor, sums->room, cop_arm_sums_width(saved->features));
		cop_arm_sums_place(sums->room, saved->features, sums->own + k * sums->width, sums->features);
	}
	begin_arms(sums, saved->arms);
}

static cop_err load_pins(cop_sums *sums, const saved_form *saved, cop_cursor *cursor)
{
	memset(sums->pinned, 0, sums->features);
	memset(sums->pin, 0, sums->features * sizeof *sums->pin);
	if ((saved->extras & PINNED) == 0)
		return cursor->err;
	const uint8_t *pinned = cop_cursor_take(cursor, saved->features);
	bool any = false, flags = true;
	for (size_t j = 0; pinned != NULL && j < saved->features; j++) {
		flags = flags && pinned[j] <= 1;
		any = any || pinned[j] != 0;
		sums->pinned[j] = pinned[j];
	}
	cop_cursor_f64s(cursor, sums->pin, saved->features);
	return cursor->err == COP_OK && !(any && flags) ? COP_EFORMAT : cursor->err;
}

cop_err cop_sums_load(cop_sums *sums, size_t arms, size_t features, cop_cursor *cursor)
{
	COP_ASSERT(arms <= sums->arms && features <= sums->features);
	saved_form saved = { .arms = arms, .features = features };
	forget_peers(sums);
	sums->life = cop_cursor_u64(cursor);
	load_own(sums, &saved, cursor);
	uint64_t count = cop_cursor_u64(cursor);
	saved.extras = count & (MIXED | PINNED);
	count ^= saved.extras;
	if (cursor->err == COP_OK && count > COP_SUMS_PEERS)
		return COP_EFORMAT;
	cop_err err = load_pins(sums, &saved, cursor);
	for (uint64_t i = 0; i < count && err == COP_OK; i++)
		err = load_peer(sums, &saved, cursor);
	if (err == COP_OK)
		cop_sums_add_up(sums);
	return err;
}

cop_err cop_sums_make_room(cop_sums *sums, const cop_sums *from)
{
	if (sums->width != from->width || from->arms > sums->arms)
		return COP_ESHAPE;
	for (size_t i = 0; i < from->peers; i++) {
		cop_sums_peer fresh = { .value = NULL };
		if (i == sums->peers)
			sums->peer[sums->peers++] = fresh;
		cop_err err = make_value(sums, &sums->peer[i], from->peer[i].features);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

void cop_sums_inherit(cop_sums *sums, const cop_sums *from)
{
	COP_ASSERT(sums->peers == from->peers);
	memcpy(sums->own, from->own, size_of(from) * sizeof *sums->own);
	begin_arms(sums, from->arms);
	memcpy(sums->pin, from->pin, sums->features * sizeof *sums->pin);
	memcpy(sums->pinned, from->pinned, sums->features);
	sums->life = from->life;
	for (size_t i = 0; i < from->peers; i++) {
		double *value = sums->peer[i].value;
		COP_ASSERT(sums->peer[i].features == from->peer[i].features);
		sums->peer[i] = from->peer[i];
		sums->peer[i].value = value;
		memcpy(value, from->peer[i].value, size_at(from, from->peer[i].features) * sizeof *value);
	}
	cop_sums_add_up(sums);
}
