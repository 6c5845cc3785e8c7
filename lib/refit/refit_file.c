/* One list of fields is walked for both ways, so that what is written is what is read. */
#include "refit/refit_file.h"

#include <math.h>
#include <string.h>

#include "refit/refit_window.h"
#include "store/checkpoint_file.h"
#include "tree/trees_checkpoint.h"
#include "wire/wire_models.h"

#define PROMOTION_SECTION "promotion"
#define PROMOTION_VERSION 1

/* ---- fields ---- */

typedef struct walk {
	cop_bytes *out; /* one of the two */
	cop_cursor *in;
} walk;

static void walk_u64(walk *w, uint64_t *x)
{
	if (w->out != NULL)
		cop_bytes_put_u64(w->out, *x);
	else
		*x = cop_cursor_u64(w->in);
}

static void walk_size(walk *w, size_t *x)
{
	uint64_t wide = *x;
	walk_u64(w, &wide);
	*x = (size_t)wide;
}

static void walk_unsigned(walk *w, unsigned *x)
{
	if (w->out != NULL)
		cop_bytes_put_u32(w->out, *x);
	else
		*x = cop_cursor_u32(w->in);
}

static void walk_bool(walk *w, bool *x)
{
	unsigned wide = *x;
	walk_unsigned(w, &wide);
	*x = wide != 0;
	if (w->in != NULL && wide > 1 && w->in->err == COP_OK)
		w->in->err = COP_EFORMAT;
}

static void walk_f64s(walk *w, double *x, size_t count)
{
	if (w->out != NULL)
		cop_bytes_put_f64s(w->out, x, count);
	else
		cop_cursor_f64s(w->in, x, count);
}

static void walk_text(walk *w, char *x, size_t size)
{
	if (w->out != NULL)
		cop_bytes_put_text(w->out, x);
	else
		cop_cursor_text(w->in, x, size);
}

static void walk_model(walk *w, cop_journal_history_model *m)
{
	walk_text(w, m->name, sizeof m->name);
	walk_text(w, m->learner, sizeof m->learner);
	walk_size(w, &m->features);
	walk_unsigned(w, &m->bits);
	walk_size(w, &m->max_nonzeros);
	walk_size(w, &m->arms);
	walk_size(w, &m->max_candidates);
	walk_size(w, &m->candidate_features);
	walk_f64s(w, m->loss_range, 2);
	walk_bool(w, &m->values);
	walk_unsigned(w, &m->losses);
	walk_f64s(w, m->value_range, 2);
	walk_f64s(w, &m->delta, 1);
	m->told = true;
}

/* But for the promotion's, which its own section has. */
static void walk_settings(walk *w, cop_refit_settings *s)
{
	unsigned method = (unsigned)s->method, costs = (unsigned)s->costs;
	walk_unsigned(w, &method);
	walk_unsigned(w, &costs);
	s->method = method < COP_REFIT_METHODS ? (cop_refit_method)method : COP_REFIT_METHODS;
	s->costs = costs < COP_REFIT_COSTS ? (cop_refit_costs)costs : COP_REFIT_COSTS;
	walk_size(w, &s->window);
	walk_f64s(w, &s->holdout, 1);
	walk_u64(w, &s->after);
	walk_u64(w, &s->until);
	walk_u64(w, &s->least);
	walk_size(w, &s->memory);
	walk_f64s(w, &s->clip, 1);
	walk_unsigned(w, &s->height);
	walk_unsigned(w, &s->iterations);
	walk_f64s(w, &s->alpha, 1);
	walk_f64s(w, &s->validation, 1);
	walk_f64s(w, &s->prior, 1);
	walk_f64s(w, &s->gamma, 1);
	walk_unsigned(w, &s->neighbours);
	walk_f64s(w, &s->perplexity, 1);
	walk_unsigned(w, &s->rounds);
	walk_f64s(w, &s->step, 1);
	walk_f64s(w, &s->trust, 1);
	walk_f64s(w, &s->mix, 1);
	walk_f64s(w, &s->least_p, 1);
	walk_u64(w, &s->seed);
	walk_size(w, &s->trees);
}

static void walk_part(walk *w, cop_refit_part *part)
{
	walk_u64(w, &part->events);
	walk_u64(w, &part->answered);
	walk_u64(w, &part->first);
	walk_u64(w, &part->last);
}

/* But for what the trees and the promotion tell. */
static void walk_report(walk *w, cop_refit_report *r)
{
	walk_part(w, &r->fitted);
	walk_part(w, &r->judged);
	walk_u64(w, &r->learned);
	walk_u64(w, &r->passed);
	walk_u64(w, &r->memory);
	walk_f64s(w, &r->alpha, 1);
	walk_unsigned(w, &r->tried);
	walk_f64s(w, r->tried_alpha, COP_REFIT_PATH);
	walk_f64s(w, r->tried_value, COP_REFIT_PATH);
	walk_f64s(w, &r->gain, 1);
	walk_f64s(w, &r->gain_error, 1);
	walk_f64s(w, &r->moved, 1);
	walk_bool(w, &r->stopped);
}

static void walk_all(walk *w, cop_refit_settings *settings, cop_refit_report *report)
{
	walk_model(w, &report->model);
	walk_settings(w, settings);
	walk_report(w, report);
}

/* ---- writing ---- */

static void put_window(const cop_refit_report *r, cop_bytes *bytes)
{
	const uint64_t last = r->judged.last > r->fitted.last ? r->judged.last : r->fitted.last;
	cop_trees_checkpoint_put_window(
	        bytes, r->fitted.events > 0 ? r->fitted.first : r->judged.first, r->learned > last ? r->learned : last);
}

void cop_refit_file_put(const cop_refit_file *file, cop_bytes *bytes)
{
	cop_refit_settings settings = file->settings;
	cop_refit_report report = file->report;
	walk w = { .out = bytes };
	size_t whole = cop_section_file_begin(bytes);
	size_t mark = cop_section_file_begin_section(bytes, COP_REFIT_FILE_SECTION, COP_REFIT_FILE_VERSION);
	walk_all(&w, &settings, &report);
	cop_section_file_end_section(bytes, mark);
	mark = cop_section_file_begin_section(bytes, PROMOTION_SECTION, PROMOTION_VERSION);
	cop_promotion_test_save(&file->report.promotion, bytes);
	cop_section_file_end_section(bytes, mark);
	put_window(&report, bytes);
	cop_trees_save(file->trees, bytes);
	cop_section_file_end(bytes, whole);
}

cop_err cop_refit_file_write(
        const char *folder, const char *prefix, uint64_t sequence, const cop_refit_file *file, cop_diag *diag)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_refit_file_put(file, &bytes);
	cop_err err = bytes.err;
	if (err != COP_OK)
		cop_diag_of(diag, folder, "%s", cop_err_text(err));
	else
		err = cop_checkpoint_write(folder, prefix, sequence, bytes.data, bytes.length, diag);
	cop_bytes_fini(&bytes);
	return err;
}

/* ---- reading ---- */

static bool name_fits(const char *name)
{
	for (const char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return false;
	return true;
}

static bool model_fits(const cop_journal_history_model *m)
{
	bool input =
	        m->features != 0 ? m->features <= COP_WIRE_MODEL_WIDEST && m->bits == 0 : m->bits >= 1 && m->bits <= 30;
	bool ranks = m->max_candidates > 0;
	bool one = (m->arms > 0) + ranks + m->values == 1;
	bool candidates = ranks ? (m->features != 0) == (m->candidate_features != 0) : m->candidate_features == 0;
	bool values = !m->values ||
	              ((m->losses == 1 || m->losses == 2) && m->delta > 0.0 && m->value_range[0] < m->value_range[1]);
	return m->name[0] != '\0' && name_fits(m->name) && name_fits(m->learner) && input && one && candidates &&
	       m->candidate_features <= COP_WIRE_MODEL_WIDEST && m->arms <= COP_WIRE_MODEL_WIDEST && values &&
	       m->loss_range[0] < m->loss_range[1];
}

static bool part_fits(const cop_refit_part *p)
{
	return p->answered <= p->events && p->first <= p->last &&
	       (p->events == 0 ? p->last == 0 : p->first > 0 && p->last - p->first >= p->events - 1);
}

static bool report_fits(const cop_refit_report *r)
{
	return part_fits(&r->fitted) && part_fits(&r->judged) &&
	       (r->judged.events == 0 || r->fitted.last < r->judged.first) && r->tried <= COP_REFIT_PATH &&
	       r->alpha >= 0.0 && r->gain_error >= 0.0 && r->moved >= 0.0;
}

static bool trees_fit(const cop_trees *trees, const cop_journal_history_model *m)
{
	bool fits = cop_trees_features(trees) == cop_refit_window_features(m) &&
	            cop_trees_outputs(trees) == cop_refit_window_outputs(m);
	for (size_t i = 0; i < cop_trees_count(trees); i++)
		fits = fits && cop_tree_view(cop_trees_at(trees, i))->link == COP_TREE_VALUES;
	return fits;
}

static void count_trees(const cop_trees *trees, cop_refit_report *r)
{
	r->leaves = r->depth = 0;
	for (size_t i = 0; i < cop_trees_count(trees); i++) {
		const cop_tree *tree = cop_trees_at(trees, i);
		r->leaves += cop_tree_leaves(tree);
		r->depth = cop_tree_depth(tree) > r->depth ? cop_tree_depth(tree) : r->depth;
	}
	r->parameters = cop_trees_parameters(trees);
}

/* All of the section's payload, no less. */
static cop_err ended(const cop_cursor *cursor)
{
	return cursor->err == COP_OK && cop_cursor_left(cursor) > 0 ? COP_EFORMAT : cursor->err;
}

static cop_err read_head(const cop_section_file *file, cop_refit_file *out)
{
	cop_model_section section;
	cop_cursor cursor;
	walk w = { .in = &cursor };
	cop_err err = cop_section_file_find(file, COP_REFIT_FILE_SECTION, 0, COP_REFIT_FILE_VERSION, &section);
	if (err == COP_OK) {
		cop_cursor_init(&cursor, section.data, section.length);
		walk_all(&w, &out->settings, &out->report);
		err = ended(&cursor);
	}
	if (err == COP_OK)
		err = cop_section_file_find(file, PROMOTION_SECTION, 0, PROMOTION_VERSION, &section);
	if (err == COP_OK) {
		cop_cursor_init(&cursor, section.data, section.length);
		err = cop_promotion_test_load(&out->report.promotion, &cursor);
		err = err == COP_OK ? ended(&cursor) : err;
	}
	if (err != COP_OK)
		return err;
	out->settings.promotion = out->report.promotion.settings;
	if (!model_fits(&out->report.model) || !report_fits(&out->report))
		return COP_EFORMAT;
	return cop_refit_settings_check(&out->settings, NULL) == COP_OK ? COP_OK : COP_EFORMAT;
}

cop_err cop_refit_file_open(const void *data, size_t length, const char *source, cop_refit_file *out, cop_diag *diag)
{
	cop_section_file file;
	*out = (cop_refit_file){ .trees = NULL };
	cop_err err = cop_section_file_open(&file, data, length, source, diag);
	if (err != COP_OK)
		return err;
	err = read_head(&file, out);
	if (err == COP_OK)
		err = cop_trees_load(&file, &out->trees);
	if (err == COP_OK && !trees_fit(out->trees, &out->report.model))
		err = COP_EFORMAT;
	if (err == COP_ENOTFOUND) /* a section that belongs to it */
		err = COP_EFORMAT;
	if (err != COP_OK) {
		cop_refit_file_fini(out);
		cop_diag_of(diag, source == NULL ? "" : source, "no refit that can be read: %s",
		        err == COP_EVERSION ? "written by a newer version" : cop_err_text(err));
		return err;
	}
	count_trees(out->trees, &out->report);
	cop_promotion_test_summarise(&out->report.promotion, &out->report.summary);
	return COP_OK;
}

void cop_refit_file_fini(cop_refit_file *file)
{
	cop_trees_free(file->trees);
	*file = (cop_refit_file){ .trees = NULL };
}

cop_err cop_refit_file_read(const char *path, cop_refit_file *out, cop_diag *diag)
{
	cop_bytes bytes;
	*out = (cop_refit_file){ .trees = NULL };
	cop_bytes_init(&bytes);
	cop_err err = cop_checkpoint_read(path, &bytes, diag);
	if (err == COP_OK)
		err = cop_refit_file_open(bytes.data, bytes.length, path, out, diag);
	cop_bytes_fini(&bytes);
	return err;
}
