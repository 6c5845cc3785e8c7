/* A step first makes sure that its result is finite, then changes anything. The cheap way: magnitudes within bounds
 * from which no rule can overflow (settings are bounded for that). Only if they are not, the step is tried on copies in
 * small pieces.
 *
 * Invariants: steps is the number of steps done. While `ragged`, last[r] <= steps is the step after which row r's state
 * was brought up to date; otherwise every row is up to date and last means nothing. */
#include "optim/optim.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "optim/optim_private.h"

/* lr <= 1e6, eps >= 1e-12, 1 - beta1 >= 1e-4: then every move is below 1e6 * 1e15 * 1e4 / 1e-12 = 1e37. */
#define SAFE_WEIGHT 1e12f /* weights and gradients */
#define SAFE_STATE  1e14f
#define PIECE       256
#define POWERS      64 /* of the decays, kept: most rows missed few steps */

struct cop_optim {
	const cop_optim_rule *rule;
	const cop_kernel *kernel;
	cop_optim_settings settings;
	size_t rows, cols;
	unsigned states;
	float *s[2]; /* rows x cols; NULL when not used */
	uint64_t steps;
	bool ragged;
	bool decays;            /* a state loses something in a step without a gradient */
	uint64_t *last;         /* rows */
	float power[2][POWERS]; /* decay of a state after so many steps without a gradient */
};

const char *cop_optim_name(size_t i)
{
	size_t count;
	const cop_optim_rule *rules = cop_optim_rules(&count);
	return i < count ? rules[i].name : NULL;
}

static const cop_optim_rule *find(const char *name)
{
	size_t count;
	const cop_optim_rule *rules = cop_optim_rules(&count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}

cop_err cop_optim_defaults(const char *name, cop_optim_settings *settings)
{
	const cop_optim_rule *rule = find(name);
	if (rule == NULL)
		return COP_ENOTFOUND;
	*settings = rule->defaults;
	return COP_OK;
}

static bool settings_are_valid(const cop_optim_settings *s)
{
	return s->lr >= 0.0 && s->lr <= 1e6 && s->momentum >= 0.0 && s->momentum < 1.0 && s->alpha >= 0.0 &&
	       s->alpha < 1.0 && s->eps >= 1e-12 && s->eps <= 1.0 && s->beta1 >= 0.0 && s->beta1 <= 0.9999 &&
	       s->beta2 >= 0.0 && s->beta2 < 1.0 && s->nu1 >= 0.0 && s->nu1 <= 1.0 && s->nu2 >= 0.0 && s->nu2 <= 1.0;
}

void cop_optim_free(cop_optim *optim)
{
	if (optim == NULL)
		return;
	cop_mem_free(optim->s[0]);
	cop_mem_free(optim->s[1]);
	cop_mem_free(optim->last);
	cop_mem_free(optim);
}

/* What the states are multiplied by for so many steps without a gradient. */
static void decay_after(const cop_optim *optim, uint64_t steps, float *first, float *second)
{
	double decay[2];
	optim->rule->decay(&optim->settings, decay);
	*first = (float)pow(decay[0], (double)steps);
	*second = (float)pow(decay[1], (double)steps);
}

cop_err cop_optim_new(const char *name, const cop_optim_settings *settings, size_t rows, size_t cols, cop_optim **out)
{
	size_t n;
	*out = NULL;
	const cop_optim_rule *rule = find(name);
	if (rule == NULL)
		return COP_ENOTFOUND;
	if (!settings_are_valid(settings) || rows == 0 || cols == 0)
		return COP_EINVAL;
	if (__builtin_mul_overflow(rows, cols, &n))
		return COP_ENOMEM;
	cop_optim *optim = cop_mem_alloc(1, sizeof *optim);
	if (optim == NULL)
		return COP_ENOMEM;
	optim->rule = rule;
	optim->kernel = cop_kernel_best();
	optim->settings = *settings;
	optim->rows = rows;
	optim->cols = cols;
	optim->states = rule->states(settings);
	double decay[2];
	rule->decay(settings, decay);
	optim->decays = decay[0] < 1.0 || decay[1] < 1.0;
	for (size_t k = 0; k < POWERS; k++)
		decay_after(optim, k, &optim->power[0][k], &optim->power[1][k]);
	bool ok = (optim->last = cop_mem_alloc(rows, sizeof *optim->last)) != NULL;
	for (unsigned i = 0; i < optim->states && ok; i++)
		ok = (optim->s[i] = cop_mem_alloc(n, sizeof *optim->s[i])) != NULL;
	if (!ok) {
		cop_optim_free(optim);
		return COP_ENOMEM;
	}
	*out = optim;
	return COP_OK;
}

void cop_optim_set_lr(cop_optim *optim, double lr)
{
	COP_ASSERT(lr >= 0.0 && lr <= 1e6);
	optim->settings.lr = lr;
}

uint64_t cop_optim_steps(const cop_optim *optim) { return optim->steps; }

/* For the step after `steps` steps. */
static cop_optim_coefficients coefficients(const cop_optim *optim)
{
	const cop_optim_settings *s = &optim->settings;
	double t = (double)optim->steps + 1.0;
	return (cop_optim_coefficients){
		.kernel = optim->kernel,
		.lr = (float)s->lr,
		.momentum = (float)s->momentum,
		.alpha = (float)s->alpha,
		.rest_alpha = (float)(1.0 - s->alpha),
		.beta1 = (float)s->beta1,
		.rest_beta1 = (float)(1.0 - s->beta1),
		.beta2 = (float)s->beta2,
		.rest_beta2 = (float)(1.0 - s->beta2),
		.eps_in = s->eps_inside ? (float)s->eps : 0.0f,
		.eps_out = s->eps_inside ? 0.0f : (float)s->eps,
		.lr_unbiased = (float)(s->lr / (1.0 - pow(s->beta1, t))),
		.unbias2 = (float)(1.0 / (1.0 - pow(s->beta2, t))),
		.average1 = (float)(s->nu1 / (1.0 - pow(s->beta1, t))),
		.rest_nu1 = (float)(1.0 - s->nu1),
		.average2 = (float)(s->nu2 / (1.0 - pow(s->beta2, t))),
		.rest_nu2 = (float)(1.0 - s->nu2),
	};
}

/* Weights [at, at + n) of one step, and what their states are multiplied by beforehand. Below, w is all weights, g the
 * gradient of the span's. */
typedef struct span {
	size_t at, n;
	bool late;
	float decay[2];
} span;

static bool surely_finite(const cop_optim *optim, const span *part, const float *w, const float *g)
{
	const cop_kernel *k = optim->kernel;
	bool ok = k->within(part->n, w + part->at, SAFE_WEIGHT) && k->within(part->n, g, SAFE_WEIGHT);
	for (unsigned i = 0; i < optim->states && ok; i++)
		ok = k->within(part->n, optim->s[i] + part->at, SAFE_STATE);
	/* A gradient near its bound may square beyond the state's, but stays below the largest float. */
	return ok;
}

static void scale(size_t n, float *restrict x, float factor)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		x[i] *= factor;
}

/* Tries the step on copies. */
static bool finite_when_tried(
        const cop_optim *optim, const cop_optim_coefficients *c, const span *part, const float *w, const float *g)
{
	float copy[3][PIECE];
	for (size_t done = 0; done < part->n; done += PIECE) {
		size_t at = part->at + done, n = part->n - done < PIECE ? part->n - done : PIECE;
		memcpy(copy[2], w + at, n * sizeof *w);
		for (unsigned i = 0; i < optim->states; i++) {
			memcpy(copy[i], optim->s[i] + at, n * sizeof *w);
			if (part->late)
				scale(n, copy[i], part->decay[i]);
		}
		optim->rule->update(c, n, copy[2], g + done, optim->states > 0 ? copy[0] : NULL,
		        optim->states > 1 ? copy[1] : NULL);
		bool ok = optim->kernel->within(n, copy[2], 3.4028234e38f);
		for (unsigned i = 0; i < optim->states; i++)
			ok = ok && optim->kernel->within(n, copy[i], 3.4028234e38f);
		if (!ok)
			return false;
	}
	return true;
}

static bool stays_finite(
        const cop_optim *optim, const cop_optim_coefficients *c, const span *part, const float *w, const float *g)
{
	return surely_finite(optim, part, w, g) || finite_when_tried(optim, c, part, w, g);
}

static void commit(cop_optim *optim, const cop_optim_coefficients *c, const span *part, float *w, const float *g)
{
	float *s[2] = { NULL, NULL };
	for (unsigned i = 0; i < optim->states; i++) {
		s[i] = optim->s[i] + part->at;
		if (part->late)
			scale(part->n, s[i], part->decay[i]);
	}
	optim->rule->update(c, part->n, w + part->at, g, s[0], s[1]);
}

static bool missed_steps(const cop_optim *optim, size_t r)
{
	return optim->ragged && optim->states > 0 && optim->last[r] < optim->steps;
}

/* Row r with the decays of the steps that it missed. */
static span row_span(const cop_optim *optim, size_t r)
{
	span part = { .at = r * optim->cols, .n = optim->cols };
	if (!missed_steps(optim, r))
		return part;
	uint64_t missed = optim->steps - optim->last[r];
	part.late = optim->decays;
	if (!part.late)
		return part;
	if (missed < POWERS) {
		part.decay[0] = optim->power[0][missed];
		part.decay[1] = optim->power[1][missed];
	} else {
		decay_after(optim, missed, &part.decay[0], &part.decay[1]);
	}
	return part;
}

/* From rows[*i] on: one row, or as many that follow one another and missed nothing. *i moves behind them. */
static span next_span(const cop_optim *optim, const uint32_t *rows, size_t n_rows, size_t *i)
{
	COP_ASSERT(rows[*i] < optim->rows);
	span part = row_span(optim, rows[*i]);
	for (++*i; !part.late && *i < n_rows && rows[*i] == rows[*i - 1] + 1; ++*i) {
		COP_ASSERT(rows[*i] < optim->rows);
		if (missed_steps(optim, rows[*i]))
			break;
		part.n += optim->cols;
	}
	return part;
}

cop_err cop_optim_step(cop_optim *optim, float *w, const float *g)
{
	cop_optim_coefficients c = coefficients(optim);
	size_t parts = optim->ragged ? optim->rows : 1;
	span all = { .at = 0, .n = optim->rows * optim->cols };
	for (size_t r = 0; r < parts; r++) {
		span part = optim->ragged ? row_span(optim, r) : all;
		if (!stays_finite(optim, &c, &part, w, g + part.at))
			return COP_EDIVERGED;
	}
	for (size_t r = 0; r < parts; r++) {
		span part = optim->ragged ? row_span(optim, r) : all;
		commit(optim, &c, &part, w, g + part.at);
	}
	optim->ragged = false;
	optim->steps++;
	return COP_OK;
}

/* Every piece is judged and stepped while it is in the nearest cache. */
cop_err cop_optim_step_scaled(cop_optim *optim, float *w, const float *g, double factor)
{
	cop_optim_coefficients c = coefficients(optim);
	float scaled[PIECE];
	COP_ASSERT(factor >= 0.0 && factor <= 1.0);
	for (size_t r = 0; r < optim->rows; r++) {
		span part = row_span(optim, r);
		size_t end = part.at + part.n;
		for (; part.at < end; part.at += PIECE) {
			part.n = end - part.at < PIECE ? end - part.at : PIECE;
			memcpy(scaled, g + part.at, part.n * sizeof *g);
			scale(part.n, scaled, (float)factor);
			if (!stays_finite(optim, &c, &part, w, scaled))
				return COP_EDIVERGED;
			commit(optim, &c, &part, w, scaled);
		}
	}
	optim->ragged = false;
	optim->steps++;
	return COP_OK;
}

cop_err cop_optim_step_rows(cop_optim *optim, float *w, const float *g, const uint32_t *rows, size_t n_rows)
{
	cop_optim_coefficients c = coefficients(optim);
	for (size_t i = 0; i < n_rows;) {
		span part = next_span(optim, rows, n_rows, &i);
		if (!stays_finite(optim, &c, &part, w, g + part.at))
			return COP_EDIVERGED;
	}
	if (!optim->ragged) {
		for (size_t r = 0; r < optim->rows; r++)
			optim->last[r] = optim->steps;
		optim->ragged = true;
	}
	for (size_t i = 0; i < n_rows;) {
		span part = next_span(optim, rows, n_rows, &i);
		commit(optim, &c, &part, w, g + part.at);
	}
	optim->steps++;
	for (size_t i = 0; i < n_rows; i++)
		optim->last[rows[i]] = optim->steps;
	return COP_OK;
}

/* Text name, u64 rows, u64 cols, u32 states, u64 steps, u8 ragged, rows x u64 last if ragged, states x f32 arrays. */
void cop_optim_save(const cop_optim *optim, cop_bytes *bytes)
{
	cop_bytes_put_text(bytes, optim->rule->name);
	cop_bytes_put_u64(bytes, optim->rows);
	cop_bytes_put_u64(bytes, optim->cols);
	cop_bytes_put_u32(bytes, optim->states);
	cop_bytes_put_u64(bytes, optim->steps);
	cop_bytes_put_u8(bytes, optim->ragged);
	for (size_t r = 0; r < optim->rows && optim->ragged; r++)
		cop_bytes_put_u64(bytes, optim->last[r]);
	for (unsigned i = 0; i < optim->states; i++)
		cop_bytes_put_f32s(bytes, optim->s[i], optim->rows * optim->cols);
}

static bool never_negative(size_t n, const float *x)
{
	int negative = 0;
	for (size_t i = 0; i < n; i++)
		negative |= x[i] < 0.0f;
	return negative == 0;
}

/* Where row r of `saved` ones is. */
static size_t place_of(const cop_optim *optim, size_t r, size_t saved, size_t kept)
{
	return r + kept >= saved ? r + optim->rows - saved : r;
}

static void load_rows(const cop_optim *optim, float *s, size_t saved, size_t kept, cop_cursor *cursor)
{
	memset(s, 0, optim->rows * optim->cols * sizeof *s);
	for (size_t r = 0; r < saved && cursor->err == COP_OK; r++)
		cop_cursor_f32s(cursor, s + place_of(optim, r, saved, kept) * optim->cols, optim->cols);
}

/* rows: of the saved state; further ones are as they began. */
static cop_err load_state(cop_optim *optim, size_t rows, size_t kept, cop_cursor *cursor)
{
	optim->steps = cop_cursor_u64(cursor);
	uint8_t ragged = cop_cursor_u8(cursor);
	if (ragged > 1)
		return COP_EFORMAT;
	optim->ragged = ragged;
	for (size_t r = 0; r < optim->rows && ragged; r++)
		optim->last[r] = optim->steps;
	for (size_t r = 0; r < rows && ragged && cursor->err == COP_OK; r++) {
		const uint64_t last = cop_cursor_u64(cursor);
		optim->last[place_of(optim, r, rows, kept)] = last;
		if (last > optim->steps)
			return COP_EFORMAT;
	}
	for (unsigned i = 0; i < optim->states; i++) {
		bool squares = i == 0 ? optim->rule->squares1 : optim->rule->squares2;
		load_rows(optim, optim->s[i], rows, kept, cursor);
		if (cursor->err == COP_OK && squares && !never_negative(optim->rows * optim->cols, optim->s[i]))
			return COP_EFORMAT;
	}
	return cursor->err;
}

static void reset(cop_optim *optim)
{
	optim->steps = 0;
	optim->ragged = false;
	for (unsigned i = 0; i < optim->states; i++)
		memset(optim->s[i], 0, optim->rows * optim->cols * sizeof *optim->s[i]);
}

cop_err cop_optim_load(cop_optim *optim, size_t kept, cop_cursor *cursor)
{
	char name[32];
	bool room = cop_cursor_left(cursor) >= sizeof(uint32_t) + strlen(optim->rule->name);
	cop_cursor_text(cursor, name, sizeof name);
	if (room && cursor->err != COP_OK) { /* no name where one could be: the state of something else */
		reset(optim);
		return COP_ESHAPE;
	}
	uint64_t rows = cop_cursor_u64(cursor), cols = cop_cursor_u64(cursor);
	uint32_t states = cop_cursor_u32(cursor);
	cop_err err = cursor->err;
	if (err == COP_OK && (strcmp(name, optim->rule->name) != 0 || rows == 0 || rows > optim->rows || kept > rows ||
	                             cols != optim->cols || states != optim->states))
		err = COP_ESHAPE;
	if (err == COP_OK)
		err = load_state(optim, (size_t)rows, kept, cursor);
	if (err != COP_OK)
		reset(optim);
	return err;
}

void cop_optim_inherit(cop_optim *optim, const cop_optim *from)
{
	COP_ASSERT(from->rule == optim->rule && from->cols == optim->cols && from->rows <= optim->rows);
	optim->steps = from->steps;
	optim->ragged = from->ragged;
	for (size_t r = 0; r < optim->rows && optim->ragged; r++)
		optim->last[r] = r < from->rows ? from->last[r] : optim->steps;
	for (unsigned i = 0; i < optim->states; i++)
		memcpy(optim->s[i], from->s[i], from->rows * from->cols * sizeof *optim->s[i]);
}
