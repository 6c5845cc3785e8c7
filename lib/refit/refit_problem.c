/* Rows and their scaling. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "refit/refit_parts.h"

#define LEAST_SPREAD 1e-9 /* of the largest size: what lies closer together is rounding */

/* ---- raw rows ---- */

void cop_refit_joined_fini(cop_refit_joined *joined)
{
	cop_mem_free(joined->value);
	cop_mem_free(joined->index);
	*joined = (cop_refit_joined){ .room = 0 };
}

static cop_err make_room(cop_refit_joined *joined, size_t entries)
{
	if (entries <= joined->room)
		return COP_OK;
	cop_refit_joined_fini(joined);
	joined->value = cop_mem_alloc(entries, sizeof *joined->value);
	joined->index = cop_mem_alloc(entries, sizeof *joined->index);
	if (joined->value == NULL || joined->index == NULL)
		return COP_ENOMEM;
	joined->room = entries;
	return COP_OK;
}

static void lay(cop_refit_joined *joined, const cop_row *row, size_t at, size_t first)
{
	size_t n = cop_row_entries(row);
	for (size_t i = 0; i < n; i++) {
		joined->value[at + i] = cop_row_value(row, i);
		joined->index[at + i] = (uint32_t)(first + cop_row_index(row, i));
	}
}

cop_err cop_refit_row(cop_refit_joined *joined, const cop_journal_history_model *model, const cop_refit_event *e,
        size_t candidate, cop_row *out)
{
	*out = e->x;
	if (e->candidates == 0)
		return COP_OK;
	const cop_row *c = &e->candidate[candidate];
	size_t a = cop_row_entries(&e->x), b = cop_row_entries(c);
	cop_err err = make_room(joined, a + b + 1);
	if (err != COP_OK)
		return err;
	lay(joined, &e->x, 0, 0);
	lay(joined, c, a, e->x.d);
	*out = (cop_row){ .d = cop_refit_window_features(model) };
	if (e->x.dense != NULL) {
		out->dense = joined->value;
		return COP_OK;
	}
	out->nnz = a + b;
	out->index = joined->index;
	out->value = joined->value;
	return COP_OK;
}

/* ---- scaling ---- */

typedef struct spreads {
	size_t *count;
	double *square, *largest;
} spreads;

static cop_err each_row(
        cop_refit_problem *p, cop_err (*visit)(cop_refit_problem *p, const cop_row *row, void *context), void *context)
{
	cop_refit_joined joined = { .room = 0 };
	cop_err err = COP_OK;
	for (size_t i = 0; i < p->n && err == COP_OK; i++) {
		const cop_refit_event *e = cop_refit_problem_event(p, i);
		cop_row row;
		err = cop_refit_row(&joined, &p->window->model, e, e->action, &row);
		if (err == COP_OK)
			err = visit(p, &row, context);
	}
	cop_refit_joined_fini(&joined);
	return err;
}

static cop_err add_mean(cop_refit_problem *p, const cop_row *row, void *context)
{
	(void)context;
	for (size_t j = 0; j < row->d; j++)
		p->mean[j] += (double)row->dense[j] / (double)p->n;
	return COP_OK;
}

static cop_err add_spread(cop_refit_problem *p, const cop_row *row, void *context)
{
	spreads *s = context;
	for (size_t i = 0; i < cop_row_entries(row); i++) {
		size_t j = cop_row_index(row, i);
		double v = (double)cop_row_value(row, i), d = p->mean != NULL ? v - p->mean[j] : v;
		s->count[j]++;
		s->square[j] += d * d;
		s->largest[j] = fmax(s->largest[j], fabs(v));
	}
	return COP_OK;
}

static cop_err measure(cop_refit_problem *p, size_t d)
{
	spreads s = { cop_mem_alloc(d, sizeof *s.count), cop_mem_alloc(d, sizeof *s.square),
		cop_mem_alloc(d, sizeof *s.largest) };
	cop_err err = s.count == NULL || s.square == NULL || s.largest == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK && p->mean != NULL)
		err = each_row(p, add_mean, NULL);
	if (err == COP_OK)
		err = each_row(p, add_spread, &s);
	for (size_t j = 0; j < d && err == COP_OK; j++) {
		double spread = s.count[j] > 0 ? sqrt(s.square[j] / (double)s.count[j]) : 0.0;
		bool varies = spread > LEAST_SPREAD * s.largest[j] && spread > 1e-30 && isfinite(spread);
		p->inverse[j] = varies ? 1.0 / spread : 0.0;
	}
	cop_mem_free(s.count);
	cop_mem_free(s.square);
	cop_mem_free(s.largest);
	return err;
}

/* ---- rows ---- */

/* context: room for a row's values. */
static cop_err push_row(cop_refit_problem *p, const cop_row *row, void *context)
{
	float *value = context;
	size_t n = cop_row_entries(row);
	for (size_t i = 0; i < n; i++) {
		size_t j = cop_row_index(row, i);
		double v = (double)cop_row_value(row, i) - (p->mean != NULL ? p->mean[j] : 0.0);
		value[i] = (float)(v * p->inverse[j]);
	}
	return row->dense != NULL ? cop_dataset_push_dense(p->rows, value, 0.0)
	                          : cop_dataset_push_sparse(p->rows, n, row->index, value, 0.0);
}

static cop_err lay_rows(cop_refit_problem *p, size_t d, bool sparse)
{
	size_t widest = d;
	if (sparse) {
		widest = 1;
		for (size_t i = 0; i < p->n; i++) {
			const cop_refit_event *e = cop_refit_problem_event(p, i);
			size_t entries = e->x.nnz + (e->candidates > 0 ? e->candidate[e->action].nnz : 0);
			widest = entries > widest ? entries : widest;
		}
	}
	float *value = cop_mem_alloc(widest, sizeof *value);
	cop_err err = value == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK)
		err = sparse ? cop_dataset_new_sparse(&p->rows) : cop_dataset_new_dense(d, &p->rows);
	if (err == COP_OK)
		err = cop_dataset_reserve(p->rows, p->n);
	if (err == COP_OK)
		err = each_row(p, push_row, value);
	cop_mem_free(value);
	if (err == COP_OK && sparse)
		err = cop_dataset_conform(p->rows, d, p->rows->index_base);
	return err;
}

static cop_err choose_rows(cop_refit_problem *p)
{
	const cop_refit_window *w = p->window;
	p->source = cop_mem_alloc(w->fitted, sizeof *p->source);
	if (p->source == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < w->fitted; i++)
		if (w->event[i]->answered || p->kind->unanswered)
			p->source[p->n++] = (uint32_t)i;
	p->train = p->n - (size_t)(p->settings->validation * (double)p->n);
	return COP_OK;
}

cop_err cop_refit_problem_init(cop_refit_problem *p)
{
	size_t d = cop_refit_window_features(&p->window->model);
	bool sparse = p->window->model.features == 0;
	p->outputs = cop_refit_window_outputs(&p->window->model);
	p->spread = 1.0;
	cop_err err = choose_rows(p);
	if (err != COP_OK)
		return err;
	p->inverse = cop_mem_alloc(d, sizeof *p->inverse);
	p->mean = sparse ? NULL : cop_mem_alloc(d, sizeof *p->mean);
	if (p->inverse == NULL || (p->mean == NULL && !sparse))
		return COP_ENOMEM;
	err = measure(p, d);
	if (err == COP_OK)
		err = lay_rows(p, d, sparse);
	return err == COP_OK ? p->kind->prepare(p) : err;
}

void cop_refit_problem_fini(cop_refit_problem *p)
{
	void *const arrays[] = { p->source, p->mean, p->inverse, p->target, p->weight, p->model, p->mean_loss,
		p->played };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
	cop_dataset_free(p->rows);
	cop_graph_free(p->graph);
}

/* ---- settings of the fits ---- */

double cop_refit_penalty(double alpha, const double *noise, size_t n)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++)
		sum += noise[i] * noise[i];
	return alpha * sqrt(sum);
}

void cop_refit_tao(const cop_refit_problem *p, cop_task task, double alpha, cop_tao_settings *out)
{
	cop_tao_defaults(task, out);
	out->depth = p->settings->height;
	out->iterations = p->settings->iterations;
	out->alpha = alpha;
	out->leaf_alpha = alpha;
	out->tolerance = 1e-3;
}

cop_rng cop_refit_rng(const cop_refit_problem *p)
{
	cop_rng rng;
	cop_rng_init(&rng, p->settings->seed, 0x72656669); /* a stream of its own */
	return rng;
}
