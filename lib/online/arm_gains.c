/* An arm that comes later was not eligible in what is there, so it begins as if all of that had been without it. */
#include "online/arm_gains.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define LEAST   (-1.0)
#define LEVEL   (COP_CONSTANT_ARMS_RISK / 2.0)
#define SLACK   1e-6 /* of rounding, in sums */
#define HEAVIER 1e30 /* than any sum of squares of a block */

static size_t arms_of(const cop_arm_gains *gains) { return gains->whole.count; }

cop_err cop_arm_gains_init(cop_arm_gains *gains, size_t count)
{
	*gains = (cop_arm_gains){ .losses = 0 };
	cop_err err = cop_constant_arms_init(&gains->whole, count);
	if (err != COP_OK)
		return err;
	gains->plays = cop_mem_alloc(arms_of(gains), sizeof *gains->plays);
	gains->arm_visits = cop_mem_alloc(arms_of(gains), sizeof *gains->arm_visits);
	if (gains->plays != NULL && gains->arm_visits != NULL)
		return COP_OK;
	cop_arm_gains_fini(gains);
	return COP_ENOMEM;
}

void cop_arm_gains_fini(cop_arm_gains *gains)
{
	cop_constant_arms_fini(&gains->whole);
	cop_mem_free(gains->plays);
	cop_mem_free(gains->arm_visits);
	*gains = (cop_arm_gains){ .losses = 0 };
}

static void begin_block(cop_arm_gains *gains)
{
	gains->block = (cop_arm_gains_sums){ .n = 0.0 };
	if (arms_of(gains) > 0)
		memset(gains->plays, 0, arms_of(gains) * sizeof *gains->plays);
}

void cop_arm_gains_clear(cop_arm_gains *gains, double since)
{
	gains->since = since;
	gains->losses = 0;
	gains->units = false;
	cop_constant_arms_clear(&gains->whole);
	begin_block(gains);
	memset(&gains->visits, 0, sizeof gains->visits);
	if (arms_of(gains) > 0)
		memset(gains->arm_visits, 0, arms_of(gains) * sizeof *gains->arm_visits);
}

bool cop_arm_gains_is_used(const cop_arm_gains *gains)
{
	return arms_of(gains) > 0 && (gains->losses > 0 || gains->since > 0.0);
}

/* ---- sums ---- */

static void add_sums(cop_arm_gains_sums *sums, double loss)
{
	sums->n += 1.0;
	sums->loss += loss;
	sums->squares += loss * loss;
}

static void add_visit(cop_arm_gains_clusters *visits, size_t cluster, double loss)
{
	visits->n[cluster] += 1.0;
	visits->loss[cluster] += loss;
}

static void leave_out(cop_arm_gains *gains, const cop_arm_gains_loss *told, size_t cluster)
{
	for (size_t k = 0; k < arms_of(gains); k++) {
		if (told->mask[k] != 0)
			continue;
		add_sums(&gains->plays[k].without, told->loss);
		if (gains->units)
			add_visit(&gains->arm_visits[k].without, cluster, told->loss);
	}
}

/* The block, as one arm has it, is over. */
static void fold(const cop_arm_gains *gains, size_t k, cop_constant_arm *into)
{
	const cop_arm_gains_plays *is = &gains->plays[k];
	const double n = gains->block.n - is->without.n;
	const double loss = fmin(fmax(gains->block.loss - is->without.loss, 0.0), n);
	const double squares = fmax(gains->block.squares - is->without.squares, 0.0);
	const double rest = n - loss, rests = fmax(rest - loss + squares, 0.0);
	if (n < 1.0)
		return;
	cop_running_bound_add_block(&into->over, (uint64_t)n, is->loss - loss, fmax(is->over + squares, 0.0), LEAST);
	cop_running_bound_add_block(&into->under, (uint64_t)n, fmax(is->weight - is->loss, 0.0) - rest,
	        fmax(is->under + rests, 0.0), LEAST);
	into->weight += is->weight;
	into->square += is->square;
}

static void end_block(cop_arm_gains *gains)
{
	for (size_t k = 0; k < arms_of(gains); k++)
		fold(gains, k, &gains->whole.arm[k]);
	begin_block(gains);
}

void cop_arm_gains_add(cop_arm_gains *gains, const cop_arm_gains_loss *told)
{
	if (arms_of(gains) == 0)
		return;
	if (told->cluster != COP_ARM_GAINS_ALONE && !gains->units) {
		if (gains->losses > 0)
			cop_arm_gains_clear(gains, gains->since);
		gains->units = true;
	}
	const double w = cop_constant_arms_weight(told->p), l = told->loss, rest = 1.0 - l;
	cop_arm_gains_plays *plays = &gains->plays[told->arm];
	const size_t cluster =
	        told->cluster != COP_ARM_GAINS_ALONE ? told->cluster : (size_t)(gains->losses % COP_CLUSTERS);
	gains->losses++;
	add_sums(&gains->block, l);
	plays->weight += w;
	plays->square += w * w;
	plays->loss += w * l;
	plays->over += w * (w - 2.0) * l * l;
	plays->under += w * (w - 2.0) * rest * rest;
	if (gains->units) {
		add_visit(&gains->visits, cluster, l);
		gains->arm_visits[told->arm].weight[cluster] += w;
		gains->arm_visits[told->arm].loss[cluster] += w * l;
	}
	if (told->mask != NULL)
		leave_out(gains, told, cluster);
	if (gains->block.n >= COP_ARM_GAINS_BLOCK)
		end_block(gains);
}

/* ---- figures ---- */

/* Over clusters of units. */
static void widen(const cop_arm_gains *gains, size_t k, cop_constant_gain *out)
{
	enum { N, LOSS, REST, WEIGHT, LOSSES, RESTS, SUMS };
	const cop_arm_gains_visits *is = &gains->arm_visits[k];
	double w[SUMS][COP_CLUSTERS], s[COP_CLUSTERS], n = 0.0, sum = 0.0, clusters = COP_CLUSTERS;
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		w[N][c] = gains->visits.n[c] - is->without.n[c];
		w[LOSS][c] = fmax(gains->visits.loss[c] - is->without.loss[c], 0.0);
		w[REST][c] = fmax(w[N][c] - w[LOSS][c], 0.0);
		w[WEIGHT][c] = is->weight[c];
		w[LOSSES][c] = is->loss[c];
		w[RESTS][c] = fmax(is->weight[c] - is->loss[c], 0.0);
		s[c] = w[LOSSES][c] - w[LOSS][c];
		n += w[N][c];
		sum += s[c];
	}
	for (size_t i = 0; i < SUMS; i++)
		clusters = fmin(clusters, cop_cluster_mean_effective(w[i]));
	const double wide = cop_cluster_mean_radius(w[N], s, clusters, LEVEL);
	out->low = fmax(fmin(out->low, sum / n - wide), -1.0);
	out->high = fmin(fmax(out->high, sum / n + wide), 1.0);
}

void cop_arm_gains_get(const cop_arm_gains *gains, size_t k, cop_constant_gain *out)
{
	cop_constant_arm is = gains->whole.arm[k];
	fold(gains, k, &is);
	cop_constant_arms_figures(&is, out);
	if (out->losses > 0 && gains->units)
		widen(gains, k, out);
	if (is.weight <= 0.0)
		out->gain = (double)NAN;
}

/* ---- saved ---- */

static void put_sums(const cop_arm_gains_sums *sums, cop_bytes *out)
{
	const double values[] = { sums->n, sums->loss, sums->squares };
	cop_bytes_put_f64s(out, values, 3);
}

static void put_visits(const cop_arm_gains_clusters *visits, cop_bytes *out)
{
	cop_bytes_put_f64s(out, visits->n, COP_CLUSTERS);
	cop_bytes_put_f64s(out, visits->loss, COP_CLUSTERS);
}

void cop_arm_gains_save(const cop_arm_gains *gains, cop_bytes *out)
{
	cop_constant_arms_save(&gains->whole, out);
	cop_bytes_put_f64(out, gains->since);
	cop_bytes_put_u64(out, gains->losses);
	put_sums(&gains->block, out);
	for (size_t k = 0; k < arms_of(gains); k++) {
		const cop_arm_gains_plays *is = &gains->plays[k];
		const double values[] = { is->weight, is->square, is->loss, is->over, is->under };
		cop_bytes_put_f64s(out, values, sizeof values / sizeof *values);
		put_sums(&is->without, out);
	}
	cop_bytes_put_u8(out, gains->units);
	if (!gains->units)
		return;
	put_visits(&gains->visits, out);
	for (size_t k = 0; k < arms_of(gains); k++) {
		cop_bytes_put_f64s(out, gains->arm_visits[k].weight, COP_CLUSTERS);
		cop_bytes_put_f64s(out, gains->arm_visits[k].loss, COP_CLUSTERS);
		put_visits(&gains->arm_visits[k].without, out);
	}
}

static bool within(double value, double most) { return value >= 0.0 && value <= most * (1.0 + SLACK); }

static bool get_sums(cop_cursor *in, double most, cop_arm_gains_sums *out)
{
	double values[3] = { 0 };
	cop_cursor_f64s(in, values, 3);
	*out = (cop_arm_gains_sums){ values[0], values[1], values[2] };
	return out->n >= 0.0 && out->n <= most && out->n == floor(out->n) && within(out->loss, out->n) &&
	       within(out->squares, out->loss);
}

static bool get_plays(cop_cursor *in, double most, cop_arm_gains_plays *out)
{
	double v[5] = { 0 };
	cop_cursor_f64s(in, v, 5);
	*out = (cop_arm_gains_plays){ .weight = v[0], .square = v[1], .loss = v[2], .over = v[3], .under = v[4] };
	const bool sound = get_sums(in, most, &out->without) && within(out->square, HEAVIER) &&
	                   fabs(out->over) <= HEAVIER && fabs(out->under) <= HEAVIER;
	return sound && within(out->weight, COP_CONSTANT_ARMS_WEIGHT * (most - out->without.n)) &&
	       within(out->loss, out->weight);
}

/* In each cluster at most as much as in `all`; NULL: any amount. */
static bool get_visits(cop_cursor *in, const cop_arm_gains_clusters *all, cop_arm_gains_clusters *out)
{
	bool sound = true;
	cop_cursor_f64s(in, out->n, COP_CLUSTERS);
	cop_cursor_f64s(in, out->loss, COP_CLUSTERS);
	for (size_t c = 0; c < COP_CLUSTERS && in->err == COP_OK; c++)
		sound = sound && out->n[c] <= (all != NULL ? all->n[c] : HEAVIER) && out->n[c] >= 0.0 &&
		        within(out->loss[c], out->n[c]);
	return sound;
}

static bool get_arm_visits(cop_cursor *in, const cop_arm_gains_clusters *all, cop_arm_gains_visits *out)
{
	bool sound = true;
	cop_cursor_f64s(in, out->weight, COP_CLUSTERS);
	cop_cursor_f64s(in, out->loss, COP_CLUSTERS);
	for (size_t c = 0; c < COP_CLUSTERS && in->err == COP_OK; c++)
		sound = sound && within(out->weight[c], HEAVIER) && within(out->loss[c], out->weight[c]);
	return get_visits(in, all, &out->without) && sound;
}

/* Arms from `count` on were not eligible until now. */
static void begin_arms(cop_arm_gains *gains, size_t count)
{
	for (size_t k = count; k < arms_of(gains); k++) {
		gains->plays[k] = (cop_arm_gains_plays){ .without = gains->block };
		gains->arm_visits[k] = (cop_arm_gains_visits){ .without = gains->visits };
	}
}

void cop_arm_gains_load(cop_arm_gains *gains, cop_cursor *in)
{
	cop_arm_gains_plays plays; /* arms that have become too many are no longer followed */
	cop_arm_gains_visits visits;
	cop_arm_gains_clear(gains, 0.0);
	const size_t count = cop_constant_arms_load(&gains->whole, in);
	gains->since = cop_cursor_f64(in);
	gains->losses = cop_cursor_u64(in);
	bool sound = get_sums(in, COP_ARM_GAINS_BLOCK - 1, &gains->block) && isfinite(gains->since);
	for (size_t k = 0; k < count && in->err == COP_OK; k++)
		sound = get_plays(in, gains->block.n, k < arms_of(gains) ? &gains->plays[k] : &plays) && sound;
	gains->units = cop_cursor_u8(in) != 0;
	if (gains->units)
		sound = get_visits(in, NULL, &gains->visits) && sound;
	for (size_t k = 0; gains->units && k < count && in->err == COP_OK; k++)
		sound = get_arm_visits(in, &gains->visits, k < arms_of(gains) ? &gains->arm_visits[k] : &visits) &&
		        sound;
	if (in->err == COP_OK && !sound)
		in->err = COP_EFORMAT;
	begin_arms(gains, count);
}

void cop_arm_gains_inherit(cop_arm_gains *gains, const cop_arm_gains *from)
{
	const size_t count = arms_of(from) < arms_of(gains) ? arms_of(from) : arms_of(gains);
	cop_constant_arms_inherit(&gains->whole, &from->whole);
	gains->since = from->since;
	gains->losses = from->losses;
	gains->block = from->block;
	gains->units = from->units;
	gains->visits = from->visits;
	for (size_t k = 0; k < count; k++) {
		gains->plays[k] = from->plays[k];
		gains->arm_visits[k] = from->arm_visits[k];
	}
	begin_arms(gains, count);
}
