/* Row r holds up to M buckets of 2^r losses, the oldest first; higher rows are older. A row that gets one more than M
 * merges its two oldest into the next one's newest; the last row drops its oldest instead. So the window in time order
 * is: last row to first, each from its first bucket on. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "evaluate/change_kind.h"

#define LEAST_PART 5 /* losses on either side of a cut */

typedef struct bucket {
	double sum;
	double square; /* about the bucket's mean */
} bucket;

typedef struct adwin {
	double delta;
	uint32_t most, rows, every;
	uint32_t wait;  /* losses until the next look */
	uint32_t *used; /* rows: buckets in each */
	bucket *bucket; /* rows x (most + 1) */
} adwin;

/* A stretch of the window. */
typedef struct part {
	double n, sum, square;
} part;

static bucket *row_of(const adwin *a, size_t row) { return a->bucket + row * (a->most + 1); }

static void adwin_free(void *state)
{
	adwin *a = state;
	if (a == NULL)
		return;
	cop_mem_free(a->used);
	cop_mem_free(a->bucket);
	cop_mem_free(a);
}

static cop_err adwin_new(const cop_change_settings *settings, void **out)
{
	adwin *a = cop_mem_alloc(1, sizeof *a);
	*out = NULL;
	if (a == NULL)
		return COP_ENOMEM;
	a->delta = settings->delta;
	a->most = settings->buckets;
	a->rows = settings->rows;
	a->every = a->wait = settings->every;
	a->used = cop_mem_alloc(a->rows, sizeof *a->used);
	a->bucket = cop_mem_alloc((size_t)a->rows * (a->most + 1), sizeof *a->bucket);
	if (a->used == NULL || a->bucket == NULL) {
		adwin_free(a);
		return COP_ENOMEM;
	}
	*out = a;
	return COP_OK;
}

static part joined(part a, part b)
{
	if (a.n == 0.0)
		return b;
	double off = b.sum / b.n - a.sum / a.n;
	return (part){ a.n + b.n, a.sum + b.sum, a.square + b.square + off * off * a.n * b.n / (a.n + b.n) };
}

static part of_bucket(const bucket *b, size_t row) { return (part){ ldexp(1.0, (int)row), b->sum, b->square }; }

static part whole(const adwin *a)
{
	part all = { 0 };
	for (size_t row = a->rows; row-- > 0;)
		for (size_t i = 0; i < a->used[row]; i++)
			all = joined(all, of_bucket(&row_of(a, row)[i], row));
	return all;
}

static void drop_oldest(adwin *a, size_t row, size_t count)
{
	bucket *b = row_of(a, row);
	a->used[row] -= (uint32_t)count;
	memmove(b, b + count, a->used[row] * sizeof *b);
}

static void insert(adwin *a, double loss)
{
	part more = { 1.0, loss, 0.0 };
	for (size_t row = 0; row < a->rows; row++) {
		bucket *b = row_of(a, row);
		b[a->used[row]++] = (bucket){ more.sum, more.square };
		if (a->used[row] <= a->most)
			return;
		if (row + 1 == a->rows) {
			drop_oldest(a, row, 1);
			return;
		}
		more = joined(of_bucket(&b[0], row), of_bucket(&b[1], row));
		drop_oldest(a, row, 2);
	}
}

/* How many times the least difference that counts the parts differ; > 1: a cut. */
static double excess(const part *all, double log_term, const part *older)
{
	double n0 = older->n, n1 = all->n - n0;
	if (n0 < LEAST_PART || n1 < LEAST_PART)
		return 0.0;
	double m = n0 * n1 / all->n, variance = all->square / all->n;
	double least = sqrt(2.0 * variance * log_term / m) + 2.0 * log_term / (3.0 * m);
	return fabs((all->sum - older->sum) / n1 - older->sum / n0) / least;
}

typedef struct cut {
	size_t row, count; /* the older part: rows above `row`, and so many of its buckets */
	double excess;
	bool rise;
} cut;

static cut best_cut(const adwin *a)
{
	part all = whole(a), older = { 0 };
	cut best = { 0 };
	if (all.n < 2.0 * LEAST_PART)
		return best;
	double log_term = log(2.0 * log(all.n) / a->delta);
	for (size_t row = a->rows; row-- > 0;)
		for (size_t i = 0; i < a->used[row]; i++) {
			older = joined(older, of_bucket(&row_of(a, row)[i], row));
			double x = excess(&all, log_term, &older);
			if (x > best.excess)
				best = (cut){ row, i + 1, x,
					(all.sum - older.sum) * older.n > older.sum * (all.n - older.n) };
		}
	return best;
}

static cop_change_alarm adwin_add(void *state, double loss)
{
	adwin *a = state;
	insert(a, loss);
	if (--a->wait > 0)
		return COP_CHANGE_NONE;
	a->wait = a->every;
	cop_change_alarm found = COP_CHANGE_NONE;
	for (;;) { /* each cut shortens the window */
		cut best = best_cut(a);
		if (!(best.excess > 1.0))
			return found;
		if (found == COP_CHANGE_NONE)
			found = best.rise ? COP_CHANGE_RISE : COP_CHANGE_FALL;
		for (size_t row = a->rows; row-- > best.row + 1;)
			a->used[row] = 0;
		drop_oldest(a, best.row, best.count);
	}
}

static void adwin_window(const void *state, uint64_t *width, double *sum)
{
	const adwin *a = state;
	*width = 0;
	*sum = 0.0;
	for (size_t row = a->rows; row-- > 0;)
		for (size_t i = 0; i < a->used[row]; i++) {
			*width += UINT64_C(1) << row;
			*sum += row_of(a, row)[i].sum;
		}
}

static void adwin_save(const void *state, cop_bytes *out)
{
	const adwin *a = state;
	cop_bytes_put_u32(out, a->wait);
	for (size_t row = 0; row < a->rows; row++) {
		const bucket *b = row_of(a, row);
		cop_bytes_put_u32(out, a->used[row]);
		for (size_t i = 0; i < a->used[row]; i++) {
			cop_bytes_put_f64(out, b[i].sum);
			cop_bytes_put_f64(out, b[i].square);
		}
	}
}

static bool load_bucket(bucket *b, size_t row, cop_cursor *in)
{
	double n = ldexp(1.0, (int)row);
	b->sum = cop_cursor_f64(in);
	b->square = cop_cursor_f64(in);
	return b->sum >= 0.0 && b->sum <= n && b->square >= 0.0 && b->square <= n;
}

static void adwin_load(void *state, cop_cursor *in)
{
	adwin *a = state;
	bool valid = true;
	a->wait = cop_cursor_u32(in);
	valid = a->wait >= 1 && a->wait <= a->every;
	for (size_t row = 0; row < a->rows && valid && in->err == COP_OK; row++) {
		uint32_t used = cop_cursor_u32(in);
		valid = used <= a->most;
		for (size_t i = 0; i < used && valid; i++)
			valid = load_bucket(&row_of(a, row)[i], row, in);
		a->used[row] = valid ? used : 0;
	}
	if (!valid && in->err == COP_OK)
		in->err = COP_EFORMAT;
}

const cop_change_kind cop_change_adwin = { "adwin", adwin_new, adwin_free, adwin_add, adwin_window, adwin_save,
	adwin_load };
