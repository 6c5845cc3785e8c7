/* While the journal is read the events are a heap with the oldest on top, so that it gives way when the window is full:
 * they come in the order in which they were learned, not in that of their decisions.
 *
 * How many records make a window is not known beforehand: one decision and its feedback each are tried first, with some
 * more before them, then FURTHER times as many, until it is full. A full window is that of the whole journal: whatever
 * was decided before its oldest record is older than all of it. */
#include "refit/refit_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/journal_segment.h"

#define TELL_EVERY   ((size_t)4096)
#define LEAST_MEMORY ((size_t)1 << 20)
#define WAITING_PART 4 /* of the memory is the reader's */
#define FIRST_TRY    3 /* records for each event of the window */
#define FURTHER      4

typedef struct reading {
	const cop_refit_settings *settings;
	cop_event_reader *reader;
	cop_refit_window *window;
	size_t fit; /* bytes for which a fit will ask, for the events so far */
	cop_diag *diag;
} reading;

size_t cop_refit_window_features(const cop_journal_history_model *model)
{
	if (model->features != 0)
		return model->features + (model->max_candidates > 0 ? model->candidate_features : 0);
	size_t d = (size_t)1 << model->bits;
	return model->max_candidates > 0 ? 2 * d : d;
}

size_t cop_refit_window_outputs(const cop_journal_history_model *model) { return model->arms > 0 ? model->arms : 1; }

/* ---- one event ---- */

static size_t aligned(size_t bytes) { return (bytes + 15) & ~(size_t)15; }

static size_t row_bytes(const cop_row *row)
{
	size_t entry = sizeof(float) + (row->dense != NULL ? 0 : sizeof(uint32_t));
	return aligned(cop_row_entries(row) * entry);
}

static size_t mask_length(const cop_logged_event *e) { return e->mask == NULL ? 0 : e->arms; }

static size_t block_bytes(const cop_logged_event *e)
{
	size_t bytes = aligned(sizeof(cop_refit_event)) + row_bytes(&e->x) + aligned(mask_length(e));
	bytes += aligned(e->candidates * sizeof(cop_row));
	for (size_t i = 0; i < e->candidates; i++)
		bytes += row_bytes(&e->candidate[i]);
	return bytes;
}

/* Copies the entries of a row to *at, which moves on. */
static cop_row copy_row(const cop_row *row, uint8_t **at)
{
	cop_row copy = *row;
	size_t n = cop_row_entries(row);
	float *value = (float *)(void *)*at;
	*at += row_bytes(row);
	if (n > 0)
		memcpy(value, row->dense != NULL ? row->dense : row->value, n * sizeof *value);
	if (row->dense != NULL) {
		copy.dense = value;
		return copy;
	}
	uint32_t *index = (uint32_t *)(void *)(value + n);
	if (n > 0)
		memcpy(index, row->index, n * sizeof *index);
	copy.value = value;
	copy.index = index;
	return copy;
}

static double scaled(const cop_journal_history_model *m, double loss)
{
	return (loss - m->loss_range[0]) / (m->loss_range[1] - m->loss_range[0]);
}

static void fill_action(const reading *r, const cop_logged_event *e, cop_refit_event *out)
{
	const cop_journal_history_model *m = &r->window->model;
	out->answered = e->labelled;
	out->action = e->action;
	out->p = e->p;
	if (!m->values) {
		out->loss = e->labelled ? fmin(fmax(scaled(m, e->cost), 0.0), 1.0) : 0.0;
		return;
	}
	const cop_journal_history_value *value = cop_journal_history_get_value(r->reader);
	out->y = fmin(fmax(value->y, 0.0), 1.0);
	out->u = value->u;
	out->loss = e->labelled ? scaled(m, e->cost) : 0.0;
	for (size_t i = 0; i < 2; i++)
		out->losses[i] = e->labelled ? scaled(m, value->loss[i]) : 0.0;
}

/* NULL: no memory. */
static cop_refit_event *copy_event(const reading *r, const cop_logged_event *e)
{
	size_t size = block_bytes(e);
	uint8_t *block = cop_mem_alloc(1, size);
	if (block == NULL)
		return NULL;
	cop_refit_event *out = (cop_refit_event *)(void *)block;
	out->size = size;
	uint8_t *at = block + aligned(sizeof *out);
	out->sequence = cop_journal_history_get_origin(r->reader)->sequence;
	out->learned = cop_journal_history_get_origin(r->reader)->learned;
	fill_action(r, e, out);
	out->x = copy_row(&e->x, &at);
	if (e->mask != NULL) {
		memcpy(at, e->mask, mask_length(e));
		out->mask = at;
		at += aligned(mask_length(e));
	}
	out->arms = mask_length(e) > 0 ? e->arms : r->window->model.arms;
	cop_row *candidate = (cop_row *)(void *)at;
	at += aligned(e->candidates * sizeof *candidate);
	for (size_t i = 0; i < e->candidates; i++)
		candidate[i] = copy_row(&e->candidate[i], &at);
	out->candidates = e->candidates;
	out->candidate = candidate;
	return out;
}

/* What the fit will take for it: the scaled row, TAO's copies of it, costs and labels of each output. */
static size_t fit_bytes(const cop_refit_settings *set, const cop_journal_history_model *m, const cop_refit_event *e)
{
	size_t entries = cop_row_entries(&e->x);
	if (e->candidates > 0)
		entries += cop_row_entries(&e->candidate[e->action]);
	size_t bytes = 3 * entries * (e->x.dense != NULL ? sizeof(float) : sizeof(float) + sizeof(uint32_t)) + 128;
	size_t outputs = cop_refit_window_outputs(m);
	bytes += 4 * outputs * sizeof(float);
	if (m->arms > 0 && set->method == COP_REFIT_LAPTAO)
		bytes += 8 * outputs * sizeof(double) + (size_t)set->neighbours * 32;
	return bytes;
}

/* ---- the heap ---- */

static bool older(const cop_refit_event *a, const cop_refit_event *b) { return a->sequence < b->sequence; }

static void sift_up(cop_refit_event **heap, size_t at)
{
	for (size_t above; at > 0 && older(heap[at], heap[above = (at - 1) / 2]); at = above) {
		cop_refit_event *e = heap[at];
		heap[at] = heap[above];
		heap[above] = e;
	}
}

static void sift_down(cop_refit_event **heap, size_t n)
{
	for (size_t at = 0, child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && older(heap[child + 1], heap[child]))
			child++;
		if (!older(heap[child], heap[at]))
			return;
		cop_refit_event *e = heap[at];
		heap[at] = heap[child];
		heap[child] = e;
	}
}

static cop_err make_room(cop_refit_window *w, size_t most)
{
	if (w->n < w->room)
		return COP_OK;
	size_t room = w->room == 0 ? 256 : 2 * w->room;
	room = room < most ? room : most;
	void *event = cop_mem_resize(w->event, w->room, room, sizeof(cop_refit_event *));
	if (event == NULL)
		return COP_ENOMEM;
	w->event = event;
	w->room = room;
	return COP_OK;
}

static cop_err refuse_memory(const reading *r)
{
	const cop_refit_window *w = r->window;
	cop_diag_message(r->diag,
	        "%zu events of model \"%s\" and their fit take %zu bytes, above the memory of %zu; expected a smaller "
	        "window than %zu, or more memory",
	        w->n, w->model.name, w->memory, r->settings->memory, r->settings->window);
	return COP_EFULL;
}

/* The event is the window's, or nobody's; also on error. */
static cop_err keep(reading *r, cop_refit_event *e)
{
	cop_refit_window *w = r->window;
	size_t fit = fit_bytes(r->settings, &w->model, e);
	if (w->n == r->settings->window) {
		cop_refit_event *oldest = w->event[0];
		w->bytes += e->size - oldest->size;
		r->fit += fit - fit_bytes(r->settings, &w->model, oldest);
		cop_mem_free(oldest);
		w->event[0] = e;
		sift_down(w->event, w->n);
	} else {
		cop_err err = make_room(w, r->settings->window);
		if (err != COP_OK) {
			cop_mem_free(e);
			return err;
		}
		w->bytes += e->size;
		r->fit += fit;
		w->event[w->n++] = e;
		sift_up(w->event, w->n - 1);
	}
	w->memory = w->bytes + r->fit + w->room * sizeof(cop_refit_event *);
	return w->memory > r->settings->memory ? refuse_memory(r) : COP_OK;
}

/* ---- reading ---- */

/* What was played is known, and could be played. */
static bool makes_sense(const cop_journal_history_model *m, const cop_logged_event *e)
{
	if (m->values)
		return true;
	if (e->action >= (m->max_candidates > 0 ? e->candidates : m->arms))
		return false;
	return e->mask == NULL || (e->action < e->arms && e->mask[e->action] != 0);
}

static cop_err take(reading *r, cop_logged_event *logged)
{
	cop_refit_window *w = r->window;
	const cop_journal_history_origin *origin = cop_journal_history_get_origin(r->reader);
	uint64_t until = r->settings->until;
	if (until > 0 && origin->sequence > until)
		return COP_OK;
	if (until > 0 && origin->learned > until)
		logged->labelled = false;
	if (w->n == r->settings->window && origin->sequence < w->event[0]->sequence)
		return COP_OK;
	if (!makes_sense(&w->model, logged)) {
		w->passed++;
		return COP_OK;
	}
	cop_refit_event *e = copy_event(r, logged);
	return e == NULL ? COP_ENOMEM : keep(r, e);
}

static cop_err read_all(reading *r, const cop_progress *progress)
{
	cop_refit_window *w = r->window;
	cop_logged_event logged;
	for (size_t count = 1;; count++) {
		if (progress != NULL && count % TELL_EVERY == 0 &&
		        !progress->report(progress->context, 0.0, "reading")) {
			w->stopped = true;
			return COP_EEND;
		}
		cop_err err = cop_event_reader_next(r->reader, &logged, r->diag);
		if (err == COP_EFORMAT || err == COP_ENONFINITE) {
			w->passed++;
			continue;
		}
		w->model = *cop_journal_history_get_model(r->reader);
		if (err == COP_EEND)
			return COP_OK;
		if (err == COP_OK)
			err = take(r, &logged);
		if (err != COP_OK)
			return err;
	}
}

static int by_sequence(const void *a, const void *b)
{
	const cop_refit_event *const *x = a, *const *y = b;
	return older(*x, *y) ? -1 : older(*y, *x);
}

/* Masks of all events are of all arms, of which those were not eligible that were added later. */
static cop_err lengthen_masks(cop_refit_window *w)
{
	const size_t arms = w->model.arms;
	size_t count = 0;
	for (size_t i = 0; i < w->n; i++)
		count += w->event[i]->arms < arms;
	w->mask = cop_mem_alloc(count, arms);
	if (w->mask == NULL)
		return COP_ENOMEM;
	uint8_t *at = w->mask;
	for (size_t i = 0; i < w->n; i++) {
		cop_refit_event *e = w->event[i];
		if (e->arms >= arms)
			continue;
		if (e->mask != NULL)
			memcpy(at, e->mask, e->arms);
		else
			memset(at, 1, e->arms);
		e->mask = at;
		e->arms = arms;
		at += arms;
	}
	return COP_OK;
}

static bool lacks(const cop_refit_event *e, size_t features)
{
	bool any = e->x.dense != NULL && e->x.d < features;
	for (size_t j = 0; e->x.dense != NULL && j < e->x.d && !any; j++)
		any = isnan(e->x.dense[j]) != 0;
	return any;
}

/* Of each feature's known values; 0 of one that is never known. */
static void take_means(const cop_refit_window *w, double *mean, size_t *known)
{
	for (size_t i = 0; i < w->n; i++) {
		const cop_row *x = &w->event[i]->x;
		for (size_t j = 0; j < x->d; j++) {
			if (isnan(x->dense[j]))
				continue;
			mean[j] += ((double)x->dense[j] - mean[j]) / (double)++known[j];
		}
	}
}

static void fill(cop_refit_event *e, size_t features, const double *mean, float *value)
{
	for (size_t j = 0; j < features; j++)
		value[j] = j < e->x.d && !isnan(e->x.dense[j]) ? e->x.dense[j] : (float)mean[j];
	e->x = (cop_row){ .d = features, .dense = value };
}

/* Contexts of all events have all features; those that came later were unknown before, and are at their mean. */
static cop_err fill_features(cop_refit_window *w)
{
	const size_t features = w->model.features;
	size_t count = 0, at = 0;
	for (size_t i = 0; i < w->n; i++)
		count += lacks(w->event[i], features);
	if (count == 0)
		return COP_OK;
	double *mean = cop_mem_alloc(features, sizeof *mean);
	size_t *known = cop_mem_alloc(features, sizeof *known);
	w->value = cop_mem_alloc(count, features * sizeof *w->value);
	cop_err err = mean == NULL || known == NULL || w->value == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK)
		take_means(w, mean, known);
	for (size_t i = 0; i < w->n && err == COP_OK; i++)
		if (lacks(w->event[i], features))
			fill(w->event[i], features, mean, w->value + at++ * features);
	cop_mem_free(mean);
	cop_mem_free(known);
	return err;
}

/* The window of what is read from the segment `from` on. *sure: another beginning would give the same. */
static cop_err read_from(reading *r, const char *journal, uint64_t from, const cop_progress *progress, bool *sure)
{
	size_t waiting = r->settings->memory / WAITING_PART;
	const cop_journal_history_settings how = {
		.model = r->settings->model,
		.unanswered = true,
		.values = true,
		.from = from,
		.waiting_bytes = waiting > LEAST_MEMORY ? waiting : LEAST_MEMORY,
	};
	cop_refit_window_fini(r->window);
	r->window->from = from;
	r->fit = 0;
	cop_err err = cop_journal_history_open(journal, &how, &r->reader, r->diag);
	if (err != COP_OK)
		return err;
	err = read_all(r, progress);
	if (err == COP_OK)
		err = lengthen_masks(r->window);
	if (err == COP_OK)
		err = fill_features(r->window);
	*sure = r->window->n == r->settings->window;
	cop_event_reader_free(r->reader);
	return err;
}

/* The last segment that begins so many records before the newest one to be read, or before. */
static size_t segment_before(const cop_refit_settings *set, const cop_journal_file *files, size_t count, double records)
{
	uint64_t newest = set->until > 0 ? set->until : files[count - 1].base;
	size_t at = count - 1;
	while (at > 0 && (files[at].base > newest || (double)(newest - files[at].base) < records))
		at--;
	return at;
}

static cop_err read_back(reading *r, const char *journal, const cop_progress *progress)
{
	char *folder;
	cop_journal_file *files;
	size_t count;
	bool sure = false;
	cop_err err = cop_journal_segment_find(journal, &folder, &files, &count, r->diag);
	if (err != COP_OK || count == 0) {
		cop_mem_free(folder);
		return err == COP_OK ? read_from(r, journal, 0, progress, &sure) : err; /* which says what is wrong */
	}
	double records = FIRST_TRY * (double)r->settings->window;
	for (size_t at = count; err == COP_OK && at > 0 && !sure; records *= FURTHER) {
		size_t next = segment_before(r->settings, files, count, records);
		if (next == at)
			continue;
		at = next;
		err = read_from(r, journal, files[at].base, progress, &sure);
	}
	cop_mem_free(folder);
	cop_mem_free(files);
	return err;
}

static void count(const cop_refit_settings *settings, cop_refit_window *w)
{
	if (w->n > 0)
		qsort(w->event, w->n, sizeof(cop_refit_event *), by_sequence);
	for (size_t i = 0; i < w->n; i++) {
		const cop_refit_event *e = w->event[i];
		if (!e->answered)
			continue;
		w->answered++;
		w->fresh += e->learned > settings->after;
		w->learned = e->learned > w->learned ? e->learned : w->learned;
	}
	w->fitted = w->n - (size_t)ceil(settings->holdout * (double)w->n);
}

cop_err cop_refit_window_read(const cop_refit_settings *settings, const char *journal, const cop_progress *progress,
        cop_refit_window *window, cop_diag *diag)
{
	*window = (cop_refit_window){ .n = 0 };
	reading r = { .settings = settings, .window = window, .diag = diag };
	cop_err err = read_back(&r, journal, progress);
	if (err == COP_ENOMEM)
		cop_diag_message(diag, "%s", cop_err_text(err));
	if (err == COP_OK)
		count(settings, window);
	return err;
}

void cop_refit_window_fini(cop_refit_window *window)
{
	for (size_t i = 0; i < window->n; i++)
		cop_mem_free(window->event[i]);
	cop_mem_free(window->event);
	cop_mem_free(window->mask);
	cop_mem_free(window->value);
	*window = (cop_refit_window){ .n = 0 };
}
