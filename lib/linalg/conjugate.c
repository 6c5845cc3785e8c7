/* Each output has its own scalars; one that has converged keeps its x and waits for the others. The residual r is
 * carried along, and drifts from b - A x by rounding: when all outputs seem to be done it is computed anew, and those
 * that are not begin again from there. */
#include "linalg/conjugate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

typedef struct scalars {
	double right;   /* |b|^2 */
	double square;  /* |r|^2 */
	double product; /* r'z, z the preconditioned r */
	double curve;   /* p'Ap */
	double step;
	double turn;
	bool done;
} scalars;

struct cop_conjugate {
	size_t n, outputs;
	double *r, *z, *p, *ap; /* n x outputs; ap is also A x */
	scalars *of;            /* outputs */
};

cop_err cop_conjugate_new(size_t n, size_t outputs, cop_conjugate **out)
{
	size_t all;
	*out = NULL;
	COP_ASSERT(n > 0 && outputs > 0);
	cop_conjugate *c = cop_mem_alloc(1, sizeof *c);
	if (c == NULL || __builtin_mul_overflow(n, outputs, &all)) {
		cop_mem_free(c);
		return COP_ENOMEM;
	}
	c->n = n;
	c->outputs = outputs;
	c->r = cop_mem_alloc(all, sizeof *c->r);
	c->z = cop_mem_alloc(all, sizeof *c->z);
	c->p = cop_mem_alloc(all, sizeof *c->p);
	c->ap = cop_mem_alloc(all, sizeof *c->ap);
	c->of = cop_mem_alloc(outputs, sizeof *c->of);
	if (c->r == NULL || c->z == NULL || c->p == NULL || c->ap == NULL || c->of == NULL) {
		cop_conjugate_free(c);
		return COP_ENOMEM;
	}
	*out = c;
	return COP_OK;
}

void cop_conjugate_free(cop_conjugate *conjugate)
{
	if (conjugate == NULL)
		return;
	cop_mem_free(conjugate->r);
	cop_mem_free(conjugate->z);
	cop_mem_free(conjugate->p);
	cop_mem_free(conjugate->ap);
	cop_mem_free(conjugate->of);
	cop_mem_free(conjugate);
}

/* NaN when something is not finite. */
static double share_left(const scalars *s) { return s->right == 0.0 ? 0.0 : sqrt(s->square / s->right); }

/* r = b - A x; which outputs are done. Whether all are. */
static bool take_residual(cop_conjugate *c, const cop_conjugate_system *system, const double *x)
{
	bool all = true;
	system->apply(system->context, x, c->ap);
	for (size_t o = 0; o < c->outputs; o++)
		c->of[o].square = 0.0;
	for (size_t i = 0; i < c->n; i++)
		for (size_t o = 0; o < c->outputs; o++) {
			size_t at = i * c->outputs + o;
			double r = system->right[at] - c->ap[at];
			c->r[at] = r;
			c->of[o].square += r * r;
		}
	for (size_t o = 0; o < c->outputs; o++) {
		c->of[o].done = share_left(&c->of[o]) <= system->tolerance;
		all = all && c->of[o].done;
	}
	return all;
}

/* z = r / diagonal, r'z, and how much of the last direction the next one keeps: none at a fresh start. */
static void precondition(cop_conjugate *c, const cop_conjugate_system *system, bool fresh)
{
	for (size_t o = 0; o < c->outputs; o++) {
		c->of[o].turn = c->of[o].product;
		c->of[o].product = 0.0;
	}
	for (size_t i = 0; i < c->n; i++)
		for (size_t o = 0; o < c->outputs; o++) {
			size_t at = i * c->outputs + o;
			c->z[at] = system->diagonal != NULL ? c->r[at] / system->diagonal[at] : c->r[at];
			c->of[o].product += c->r[at] * c->z[at];
		}
	for (size_t o = 0; o < c->outputs; o++) {
		scalars *s = &c->of[o];
		s->turn = fresh || s->done || !(s->turn > 0.0) ? 0.0 : s->product / s->turn;
	}
}

/* The next direction and its length for each output. */
static cop_err aim(cop_conjugate *c, const cop_conjugate_system *system)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t o = 0; o < c->outputs; o++) {
			size_t at = i * c->outputs + o;
			c->p[at] = c->of[o].done ? 0.0 : c->z[at] + c->of[o].turn * c->p[at];
		}
	system->apply(system->context, c->p, c->ap);
	for (size_t o = 0; o < c->outputs; o++)
		c->of[o].curve = 0.0;
	for (size_t i = 0; i < c->n; i++)
		for (size_t o = 0; o < c->outputs; o++)
			c->of[o].curve += c->p[i * c->outputs + o] * c->ap[i * c->outputs + o];
	for (size_t o = 0; o < c->outputs; o++) {
		scalars *s = &c->of[o];
		s->step = s->done ? 0.0 : s->product / s->curve;
		if (!s->done && !(s->curve > 0.0 && isfinite(s->step)))
			return COP_EDIVERGED;
	}
	return COP_OK;
}

/* Whether all outputs seem to be done. */
static bool go(cop_conjugate *c, const cop_conjugate_system *system, double *x)
{
	bool all = true;
	for (size_t o = 0; o < c->outputs; o++)
		if (!c->of[o].done)
			c->of[o].square = 0.0;
	for (size_t i = 0; i < c->n; i++)
		for (size_t o = 0; o < c->outputs; o++) {
			size_t at = i * c->outputs + o;
			if (c->of[o].done)
				continue;
			x[at] += c->of[o].step * c->p[at];
			c->r[at] -= c->of[o].step * c->ap[at];
			c->of[o].square += c->r[at] * c->r[at];
		}
	for (size_t o = 0; o < c->outputs; o++) {
		c->of[o].done = c->of[o].done || share_left(&c->of[o]) <= system->tolerance;
		all = all && c->of[o].done;
	}
	return all;
}

/* |b|^2; x is 0 where b is. */
static void take_right(cop_conjugate *c, const cop_conjugate_system *system, double *x)
{
	for (size_t o = 0; o < c->outputs; o++)
		c->of[o] = (scalars){ .right = 0.0 };
	for (size_t i = 0; i < c->n; i++)
		for (size_t o = 0; o < c->outputs; o++) {
			double b = system->right[i * c->outputs + o];
			c->of[o].right += b * b;
		}
	for (size_t i = 0; i < c->n; i++)
		for (size_t o = 0; o < c->outputs; o++)
			if (c->of[o].right == 0.0)
				x[i * c->outputs + o] = 0.0;
}

static double worst(const cop_conjugate *c)
{
	double most = 0.0;
	for (size_t o = 0; o < c->outputs; o++) {
		double share = share_left(&c->of[o]);
		most = share > most || isnan(share) ? share : most;
	}
	return most;
}

cop_err cop_conjugate_solve(
        cop_conjugate *conjugate, const cop_conjugate_system *system, double *x, cop_conjugate_report *report)
{
	cop_conjugate *c = conjugate;
	cop_err err = COP_OK;
	size_t steps = 0;
	take_right(c, system, x);
	bool done = take_residual(c, system, x);
	bool fresh = true;
	while (!done && steps < system->most && err == COP_OK) {
		precondition(c, system, fresh);
		err = aim(c, system);
		if (err != COP_OK)
			break;
		steps++;
		fresh = false;
		if (go(c, system, x)) {
			done = take_residual(c, system, x);
			fresh = true;
		}
	}
	if (!done && err == COP_OK)
		(void)take_residual(c, system, x);
	if (report != NULL)
		*report = (cop_conjugate_report){ .steps = steps, .residual = worst(c) };
	return err;
}
