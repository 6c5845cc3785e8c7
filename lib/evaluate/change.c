/* A detector finds; which findings become alarms is decided here. adwin's are in adwin.c, page-hinkley's below. */
#include "evaluate/change.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "evaluate/change_kind.h"

#define SAVED_VERSION 1
#define LARGEST       1e12 /* threshold */
#define COUNTED       (UINT64_C(1) << 53)

struct cop_change {
	cop_change_settings settings;
	const cop_change_kind *kind;
	void *state;
	cop_change_alarm last; /* finding */
	uint64_t since;        /* losses since then; 0 when there was none */
};

typedef struct hinkley {
	double tolerance, threshold;
	uint64_t burn_in;
	uint64_t n;
	double sum, up, down;
} hinkley;

static cop_err hinkley_new(const cop_change_settings *settings, void **out)
{
	hinkley *h = cop_mem_alloc(1, sizeof *h);
	*out = h;
	if (h == NULL)
		return COP_ENOMEM;
	*h = (hinkley){ settings->tolerance, settings->threshold, settings->burn_in, 0, 0.0, 0.0, 0.0 };
	return COP_OK;
}

static void hinkley_restart(hinkley *h)
{
	h->n = 0;
	h->sum = h->up = h->down = 0.0;
}

static cop_change_alarm hinkley_add(void *state, double loss)
{
	hinkley *h = state;
	h->n++;
	h->sum += loss;
	if (h->n <= h->burn_in)
		return COP_CHANGE_NONE;
	double off = loss - h->sum / (double)h->n;
	h->up = fmax(0.0, h->up + off - h->tolerance);
	h->down = fmax(0.0, h->down - off - h->tolerance);
	if (h->up <= h->threshold && h->down <= h->threshold)
		return COP_CHANGE_NONE;
	cop_change_alarm found = h->up > h->threshold ? COP_CHANGE_RISE : COP_CHANGE_FALL;
	hinkley_restart(h);
	return found;
}

static void hinkley_window(const void *state, uint64_t *width, double *sum)
{
	const hinkley *h = state;
	*width = h->n;
	*sum = h->sum;
}

static void hinkley_save(const void *state, cop_bytes *out)
{
	const hinkley *h = state;
	cop_bytes_put_u64(out, h->n);
	cop_bytes_put_f64(out, h->sum);
	cop_bytes_put_f64(out, h->up);
	cop_bytes_put_f64(out, h->down);
}

static void hinkley_load(void *state, cop_cursor *in)
{
	hinkley *h = state;
	h->n = cop_cursor_u64(in);
	h->sum = cop_cursor_f64(in);
	h->up = cop_cursor_f64(in);
	h->down = cop_cursor_f64(in);
	if (h->n > COUNTED || h->sum < 0.0 || h->sum > (double)h->n || h->up < 0.0 || h->up > h->threshold ||
	        h->down < 0.0 || h->down > h->threshold)
		in->err = in->err == COP_OK ? COP_EFORMAT : in->err;
}

static const cop_change_kind page_hinkley = { "page-hinkley", hinkley_new, cop_mem_free, hinkley_add, hinkley_window,
	hinkley_save, hinkley_load };

static const cop_change_kind *const kinds[] = { &cop_change_adwin, &page_hinkley };

static const cop_change_kind *find(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

void cop_change_defaults(cop_change_settings *settings)
{
	*settings = (cop_change_settings){ .detector = "adwin",
		.quiet = 1000,
		.delta = 0.002,
		.buckets = 5,
		.rows = 20,
		.every = 32,
		.tolerance = 0.05,
		.threshold = 25.0,
		.burn_in = 100 };
}

static cop_err check_settings(const cop_change_settings *s)
{
	if (!isfinite(s->delta) || !isfinite(s->tolerance) || !isfinite(s->threshold))
		return COP_ENONFINITE;
	bool valid = s->delta > 0.0 && s->delta < 1.0 && s->buckets >= 2 && s->buckets <= COP_CHANGE_MAX_BUCKETS &&
	             s->rows >= 1 && s->rows <= COP_CHANGE_MAX_ROWS && s->every >= 1 && s->tolerance >= 0.0 &&
	             s->tolerance <= 1.0 && s->threshold > 0.0 && s->threshold <= LARGEST;
	return valid ? COP_OK : COP_EINVAL;
}

cop_err cop_change_new(const cop_change_settings *settings, cop_change **out)
{
	*out = NULL;
	if (memchr(settings->detector, 0, sizeof settings->detector) == NULL)
		return COP_ENOTFOUND;
	const cop_change_kind *kind = find(settings->detector);
	if (kind == NULL)
		return COP_ENOTFOUND;
	cop_err err = check_settings(settings);
	if (err != COP_OK)
		return err;
	cop_change *change = cop_mem_alloc(1, sizeof *change);
	if (change == NULL)
		return COP_ENOMEM;
	change->settings = *settings;
	change->kind = kind;
	err = kind->create(settings, &change->state);
	if (err != COP_OK) {
		cop_mem_free(change);
		return err;
	}
	*out = change;
	return COP_OK;
}

void cop_change_free(cop_change *change)
{
	if (change == NULL)
		return;
	change->kind->destroy(change->state);
	cop_mem_free(change);
}

const cop_change_settings *cop_change_settings_of(const cop_change *change) { return &change->settings; }

cop_change_alarm cop_change_add(cop_change *change, double loss)
{
	if (isnan(loss))
		return COP_CHANGE_NONE;
	cop_change_alarm found = change->kind->add(change->state, fmin(fmax(loss, 0.0), 1.0));
	if (change->last != COP_CHANGE_NONE)
		change->since++;
	if (found == COP_CHANGE_NONE)
		return COP_CHANGE_NONE;
	bool same = found == change->last && change->since < change->settings.quiet;
	change->last = found;
	change->since = 0;
	return same ? COP_CHANGE_NONE : found;
}

uint64_t cop_change_width(const cop_change *change)
{
	uint64_t width;
	double sum;
	change->kind->window(change->state, &width, &sum);
	return width;
}

double cop_change_mean(const cop_change *change)
{
	uint64_t width;
	double sum;
	change->kind->window(change->state, &width, &sum);
	return width > 0 ? sum / (double)width : 0.0;
}

void cop_change_save(const cop_change *change, cop_bytes *out)
{
	const cop_change_settings *s = &change->settings;
	cop_bytes_put_u32(out, SAVED_VERSION);
	cop_bytes_put_text(out, s->detector);
	cop_bytes_put_u64(out, s->quiet);
	cop_bytes_put_f64(out, s->delta);
	cop_bytes_put_u32(out, s->buckets);
	cop_bytes_put_u32(out, s->rows);
	cop_bytes_put_u32(out, s->every);
	cop_bytes_put_f64(out, s->tolerance);
	cop_bytes_put_f64(out, s->threshold);
	cop_bytes_put_u64(out, s->burn_in);
	cop_bytes_put_u8(out, (uint8_t)change->last);
	cop_bytes_put_u64(out, change->since);
	change->kind->save(change->state, out);
}

static void load_settings(cop_change_settings *s, cop_cursor *in)
{
	*s = (cop_change_settings){ 0 };
	cop_cursor_text(in, s->detector, sizeof s->detector);
	s->quiet = cop_cursor_u64(in);
	s->delta = cop_cursor_f64(in);
	s->buckets = cop_cursor_u32(in);
	s->rows = cop_cursor_u32(in);
	s->every = cop_cursor_u32(in);
	s->tolerance = cop_cursor_f64(in);
	s->threshold = cop_cursor_f64(in);
	s->burn_in = cop_cursor_u64(in);
}

/* What was saved before the state: version, settings, last finding. */
static cop_err load_head(cop_change *head, cop_cursor *in)
{
	if (cop_cursor_u32(in) > SAVED_VERSION && in->err == COP_OK)
		return COP_EVERSION;
	load_settings(&head->settings, in);
	uint8_t last = cop_cursor_u8(in);
	head->since = cop_cursor_u64(in);
	head->last = last == 0 ? COP_CHANGE_NONE : last == 1 ? COP_CHANGE_RISE : COP_CHANGE_FALL;
	if (in->err != COP_OK)
		return in->err;
	return last > COP_CHANGE_FALL || (last == COP_CHANGE_NONE && head->since != 0) ? COP_EFORMAT : COP_OK;
}

static void load_rest(cop_change *change, const cop_change *head, cop_cursor *in)
{
	change->last = head->last;
	change->since = head->since;
	change->kind->load(change->state, in);
}

cop_err cop_change_load(cop_cursor *in, cop_change **out)
{
	cop_change head;
	*out = NULL;
	cop_err err = load_head(&head, in);
	if (err == COP_OK)
		err = cop_change_new(&head.settings, out);
	if (err != COP_OK)
		return err;
	load_rest(*out, &head, in);
	if (in->err != COP_OK) {
		cop_change_free(*out);
		*out = NULL;
	}
	return in->err;
}

static bool are_equal(const cop_change_settings *a, const cop_change_settings *b)
{
	return strcmp(a->detector, b->detector) == 0 && a->quiet == b->quiet && a->delta == b->delta &&
	       a->buckets == b->buckets && a->rows == b->rows && a->every == b->every && a->tolerance == b->tolerance &&
	       a->threshold == b->threshold && a->burn_in == b->burn_in;
}

cop_err cop_change_load_into(cop_change *change, cop_cursor *in)
{
	cop_change head;
	cop_err err = load_head(&head, in);
	if (err == COP_OK && !are_equal(&head.settings, &change->settings))
		err = COP_ESHAPE;
	if (err != COP_OK)
		return err;
	load_rest(change, &head, in);
	return in->err;
}
