/* Peers stand in the order of part and life. What can fail comes before the first change: a peer's room is made before
 * it takes its place. The sums of all others are added up anew with each summary, so they hang on what is known alone.
 */
#include "learn/sums.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

const char *cop_sums_verdict_text(cop_sums_verdict verdict)
{
	static const char *const texts[COP_SUMS_VERDICTS] = { "new", "same", "old", "own", "moved", "shape", "broken",
		"full" };
	return texts[verdict];
}

static size_t size_of(const cop_sums *sums) { return sums->arms * sums->width; }

static void forget_peers(cop_sums *sums)
{
	for (size_t i = 0; i < sums->peers; i++)
		cop_mem_free(sums->peer[i].value);
	sums->peers = 0;
}

cop_err cop_sums_init(cop_sums *sums, size_t arms, size_t width)
{
	*sums = (cop_sums){ .arms = arms, .width = width };
	sums->own = cop_mem_alloc(size_of(sums), sizeof *sums->own);
	sums->others = cop_mem_alloc(size_of(sums), sizeof *sums->others);
	sums->peer = cop_mem_alloc(COP_SUMS_PEERS, sizeof *sums->peer);
	return sums->own != NULL && sums->others != NULL && sums->peer != NULL ? COP_OK : COP_ENOMEM;
}

void cop_sums_fini(cop_sums *sums)
{
	if (sums->peer != NULL)
		forget_peers(sums);
	cop_mem_free(sums->peer);
	cop_mem_free(sums->own);
	cop_mem_free(sums->others);
	*sums = (cop_sums){ .arms = 0 };
}

double cop_sums_footprint(size_t arms, size_t width) { return 2.0 * (double)arms * (double)width * sizeof(double); }

void cop_sums_put_own(const cop_sums *sums, cop_bytes *bytes) { cop_bytes_put_f64s(bytes, sums->own, size_of(sums)); }

void cop_sums_put_peer(const cop_sums *sums, const cop_sums_peer *peer, cop_bytes *bytes)
{
	cop_bytes_put_f64s(bytes, peer->value, size_of(sums));
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

static bool says_the_same(const cop_sums *sums, const cop_sums_peer *peer, const cop_summary *summary)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, summary->sums, summary->length);
	size_t i = 0;
	while (i < size_of(sums) && cop_cursor_f64(&cursor) == peer->value[i])
		i++;
	return i == size_of(sums);
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
	if (summary->length != size_of(sums) * sizeof(double))
		return COP_SUMS_SHAPE;
	if (!all_finite(summary))
		return COP_SUMS_BROKEN;
	const size_t at = find_life(sums, summary->life);
	if (at < sums->peers)
		return judge_known(sums, &sums->peer[at], summary);
	return sums->peers < COP_SUMS_PEERS ? COP_SUMS_NEW : COP_SUMS_FULL;
}

static void add_up(cop_sums *sums)
{
	memset(sums->others, 0, size_of(sums) * sizeof *sums->others);
	for (size_t p = 0; p < sums->peers; p++)
		for (size_t i = 0; i < size_of(sums); i++)
			sums->others[i] += sums->peer[p].value[i];
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

cop_err cop_sums_take(cop_sums *sums, const cop_summary *summary)
{
	cop_cursor cursor;
	if (cop_sums_judge(sums, summary) != COP_SUMS_NEW)
		return COP_EINVAL;
	size_t at = find_life(sums, summary->life);
	if (at == sums->peers) {
		cop_sums_peer peer = { .part = summary->part, .life = summary->life };
		peer.value = cop_mem_alloc(size_of(sums), sizeof *peer.value);
		if (peer.value == NULL)
			return COP_ENOMEM;
		put_in_order(sums, &peer);
		at = find_life(sums, summary->life);
	}
	sums->peer[at].number = summary->number;
	sums->peer[at].time = summary->time;
	cop_cursor_init(&cursor, summary->sums, summary->length);
	cop_cursor_f64s(&cursor, sums->peer[at].value, size_of(sums));
	add_up(sums);
	return COP_OK;
}

/* ---- the state ---- */

void cop_sums_save(const cop_sums *sums, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, sums->life);
	cop_sums_put_own(sums, bytes);
	cop_bytes_put_u64(bytes, sums->peers);
	for (size_t i = 0; i < sums->peers; i++) {
		const cop_sums_peer *peer = &sums->peer[i];
		cop_bytes_put_u32(bytes, peer->part);
		cop_bytes_put_u64(bytes, peer->life);
		cop_bytes_put_u64(bytes, peer->number);
		cop_bytes_put_f64(bytes, peer->time);
		cop_sums_put_peer(sums, peer, bytes);
	}
}

static cop_err load_peer(cop_sums *sums, size_t saved, cop_cursor *cursor)
{
	cop_sums_peer peer = { .part = cop_cursor_u32(cursor) };
	peer.life = cop_cursor_u64(cursor);
	peer.number = cop_cursor_u64(cursor);
	peer.time = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	const bool ordered = sums->peers == 0 || stands_before(&sums->peer[sums->peers - 1], &peer);
	if (!ordered || peer.life == 0 || peer.number == 0 || !isfinite(peer.time))
		return COP_EFORMAT;
	peer.value = cop_mem_alloc(size_of(sums), sizeof *peer.value);
	if (peer.value == NULL)
		return COP_ENOMEM;
	cop_cursor_f64s(cursor, peer.value, saved * sums->width);
	sums->peer[sums->peers++] = peer;
	return cursor->err;
}

cop_err cop_sums_load(cop_sums *sums, size_t saved, cop_cursor *cursor)
{
	COP_ASSERT(saved <= sums->arms);
	forget_peers(sums);
	memset(sums->own, 0, size_of(sums) * sizeof *sums->own);
	sums->life = cop_cursor_u64(cursor);
	cop_cursor_f64s(cursor, sums->own, saved * sums->width);
	const uint64_t count = cop_cursor_u64(cursor);
	if (cursor->err == COP_OK && count > COP_SUMS_PEERS)
		return COP_EFORMAT;
	cop_err err = cursor->err;
	for (uint64_t i = 0; i < count && err == COP_OK; i++)
		err = load_peer(sums, saved, cursor);
	if (err == COP_OK)
		add_up(sums);
	return err;
}

cop_err cop_sums_make_room(cop_sums *sums, const cop_sums *from)
{
	if (sums->width != from->width || from->arms > sums->arms)
		return COP_ESHAPE;
	for (size_t i = sums->peers; i < from->peers; i++) {
		sums->peer[i] = (cop_sums_peer){ .value = cop_mem_alloc(size_of(sums), sizeof(double)) };
		if (sums->peer[i].value == NULL)
			return COP_ENOMEM;
		sums->peers = i + 1;
	}
	return COP_OK;
}

void cop_sums_inherit(cop_sums *sums, const cop_sums *from)
{
	COP_ASSERT(sums->peers == from->peers);
	memcpy(sums->own, from->own, size_of(from) * sizeof *sums->own);
	sums->life = from->life;
	for (size_t i = 0; i < from->peers; i++) {
		double *value = sums->peer[i].value;
		sums->peer[i] = from->peer[i];
		sums->peer[i].value = value;
		memcpy(value, from->peer[i].value, size_of(from) * sizeof *value);
	}
	add_up(sums);
}
