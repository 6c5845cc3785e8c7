/* Contenders are the own settings, the peers' settings, and for each peer's file the best of it on each dataset. A
 * cell is one contender on one dataset; its means over the seeds are updated run by run (Welford). */
#include "bakeoff_score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_CONTENDERS = 256 };

/* ---- two cells ---- */

static double variance(const cop_bakeoff_cell *cell) { return cell->loss * (1.0 - cell->loss) / (double)cell->events; }

double cop_bakeoff_score_tail(const cop_bakeoff_cell *a, const cop_bakeoff_cell *b)
{
	double difference = a->loss - b->loss;
	double error = sqrt(variance(a) + variance(b));
	if (difference == 0.0)
		return 0.5;
	if (!(error > 0.0)) /* one was always right, the other always wrong */
		return difference > 0.0 ? 0.0 : 1.0;
	return 0.5 * erfc(difference / error * sqrt(0.5));
}

int cop_bakeoff_score_compare(const cop_bakeoff_cell *a, const cop_bakeoff_cell *b, double risk)
{
	return cop_bakeoff_score_tail(b, a) < risk ? 1 : cop_bakeoff_score_tail(a, b) < risk ? -1 : 0;
}

double cop_bakeoff_score_deviation(const cop_bakeoff_cell *cell)
{
	return cell->seeds < 2 ? (double)NAN : sqrt(cell->squares / (double)(cell->seeds - 1));
}

double cop_bakeoff_score_relative(const cop_bakeoff_cell *cell, const cop_bakeoff_cell *reference)
{
	double least = 1.0 / (double)reference->events;
	double to = reference->loss > least ? reference->loss : least;
	return (cell->loss - reference->loss) / to;
}

/* ---- who and what ---- */

typedef struct builder {
	cop_bakeoff_score *score;
	const cop_bakeoff_score_settings *set;
	cop_diag *diag;
} builder;

static size_t find_field(const cop_bakeoff_score *s, const char *name)
{
	for (size_t i = 0; i < s->fields; i++)
		if (strcmp(s->field[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

static size_t find_contender(const cop_bakeoff_score *s, const char *name, cop_bakeoff_origin origin, size_t file)
{
	for (size_t i = 0; i < s->contenders; i++)
		if (s->contender[i].origin == origin && s->contender[i].file == file &&
		        strcmp(s->contender[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

static cop_err add_contender(builder *b, const char *name, cop_bakeoff_origin origin, size_t file)
{
	cop_bakeoff_score *s = b->score;
	if (find_contender(s, name, origin, file) != SIZE_MAX)
		return COP_OK;
	if (s->contenders == MOST_CONTENDERS) {
		cop_diag_message(b->diag, "more than %d settings to compare", MOST_CONTENDERS);
		return COP_EFULL;
	}
	cop_bakeoff_contender *c = &s->contender[s->contenders++];
	*c = (cop_bakeoff_contender){ .origin = origin, .file = file, .shown = origin != COP_BAKEOFF_PEER };
	(void)snprintf(c->name, sizeof c->name, "%s", name);
	return COP_OK;
}

static bool has_rows(const cop_bakeoff_rows *rows, const char *dataset)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->row[i].dataset, dataset) == 0)
			return true;
	return false;
}

static cop_err add_fields(builder *b)
{
	cop_bakeoff_score *s = b->score;
	s->field = cop_mem_alloc(b->set->datasets_count, sizeof *s->field);
	if (s->field == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < b->set->datasets_count; i++)
		if (has_rows(b->set->own, b->set->datasets[i]))
			(void)snprintf(s->field[s->fields++].name, sizeof s->field->name, "%s", b->set->datasets[i]);
	return COP_OK;
}

/* Own settings in the order of their rows; then file by file its settings, and its best in hindsight. */
static cop_err add_contenders(builder *b)
{
	cop_err err = COP_OK;
	b->score->contender = cop_mem_alloc(MOST_CONTENDERS, sizeof *b->score->contender);
	if (b->score->contender == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < b->set->own->count && err == COP_OK; i++)
		err = add_contender(b, b->set->own->row[i].setting, COP_BAKEOFF_OWN, 0);
	for (size_t f = 0; f < b->set->files && err == COP_OK; f++) {
		size_t before = b->score->contenders;
		const cop_bakeoff_rows *rows = &b->set->peers[f];
		for (size_t i = 0; i < rows->count && err == COP_OK; i++)
			if (find_field(b->score, rows->row[i].dataset) != SIZE_MAX)
				err = add_contender(b, rows->row[i].setting, COP_BAKEOFF_PEER, f);
		if (err == COP_OK && b->score->contenders > before)
			err = add_contender(b, "best per dataset", COP_BAKEOFF_HINDSIGHT, f);
	}
	return err;
}

/* ---- cells ---- */

static void add_row(cop_bakeoff_score *s, const cop_bakeoff_row *row, size_t contender)
{
	size_t at = find_field(s, row->dataset);
	if (at == SIZE_MAX)
		return;
	cop_bakeoff_field *field = &s->field[at];
	cop_bakeoff_cell *cell = &s->cell[at * s->contenders + contender];
	field->uneven = field->uneven || (field->events != 0 && field->events != row->events);
	if (row->events > field->events)
		field->events = row->events;
	if (row->features > field->features)
		field->features = row->features;
	if (row->classes > field->classes)
		field->classes = row->classes;
	cell->events = cell->seeds == 0 || row->events < cell->events ? row->events : cell->events;
	cell->seeds++;
	double share = 1.0 / (double)cell->seeds;
	double away = row->loss * (double)row->events - cell->errors;
	cell->errors += share * away;
	cell->squares += (1.0 - share) * away * away;
	cell->loss += share * (row->loss - cell->loss);
	cell->seconds += share * (row->seconds / (double)row->events - cell->seconds);
}

/* The best of a file on each dataset. */
static void fill_hindsight(cop_bakeoff_score *s, size_t contender)
{
	const cop_bakeoff_contender *c = &s->contender[contender];
	for (size_t f = 0; f < s->fields; f++) {
		cop_bakeoff_cell *cell = &s->cell[f * s->contenders + contender];
		for (size_t i = 0; i < s->contenders; i++) {
			const cop_bakeoff_cell *other = cop_bakeoff_score_cell(s, f, i);
			bool same = s->contender[i].origin == COP_BAKEOFF_PEER && s->contender[i].file == c->file;
			if (same && other->seeds > 0 && (cell->seeds == 0 || other->loss < cell->loss))
				*cell = *other;
		}
	}
}

static cop_err fill_cells(builder *b)
{
	cop_bakeoff_score *s = b->score;
	s->cell = cop_mem_alloc(s->fields * s->contenders, sizeof *s->cell);
	s->best = cop_mem_alloc(s->fields, sizeof *s->best);
	s->pair = cop_mem_alloc(s->contenders * s->contenders, sizeof *s->pair);
	if (s->cell == NULL || s->best == NULL || s->pair == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < b->set->own->count; i++) {
		const cop_bakeoff_row *row = &b->set->own->row[i];
		add_row(s, row, find_contender(s, row->setting, COP_BAKEOFF_OWN, 0));
	}
	for (size_t f = 0; f < b->set->files; f++)
		for (size_t i = 0; i < b->set->peers[f].count; i++) {
			const cop_bakeoff_row *row = &b->set->peers[f].row[i];
			if (find_field(s, row->dataset) != SIZE_MAX)
				add_row(s, row, find_contender(s, row->setting, COP_BAKEOFF_PEER, f));
		}
	for (size_t i = 0; i < s->contenders; i++)
		if (s->contender[i].origin == COP_BAKEOFF_HINDSIGHT)
			fill_hindsight(s, i);
	for (size_t f = 0; f < s->fields; f++) {
		s->best[f] = SIZE_MAX;
		for (size_t i = 0; i < s->contenders; i++) {
			const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(s, f, i);
			bool counts = cell->seeds > 0 && s->contender[i].origin != COP_BAKEOFF_HINDSIGHT;
			if (counts &&
			        (s->best[f] == SIZE_MAX || cell->loss < cop_bakeoff_score_cell(s, f, s->best[f])->loss))
				s->best[f] = i;
		}
	}
	return COP_OK;
}

/* ---- summaries ---- */

/* All own settings have a result, and of each file any has one: its hindsight. A file without a dataset of these is
 * not asked. */
static void find_common(cop_bakeoff_score *s)
{
	for (size_t f = 0; f < s->fields; f++) {
		s->field[f].common = true;
		for (size_t i = 0; i < s->contenders; i++)
			if (s->contender[i].origin != COP_BAKEOFF_PEER && cop_bakeoff_score_cell(s, f, i)->seeds == 0)
				s->field[f].common = false;
		s->common += s->field[f].common;
	}
}

static void sum_up(cop_bakeoff_score *s, size_t contender, size_t reference)
{
	cop_bakeoff_contender *c = &s->contender[contender];
	size_t count = 0;
	size_t relatives = 0;
	for (size_t f = 0; f < s->fields; f++) {
		const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(s, f, contender);
		const cop_bakeoff_cell *to =
		        cop_bakeoff_score_cell(s, f, reference == SIZE_MAX ? s->best[f] : reference);
		if (!s->field[f].common)
			continue;
		if (cell->seeds == 0) {
			c->missing++;
			continue;
		}
		count++;
		c->mean += cell->loss;
		c->seconds += cell->seconds;
		if (to->seeds > 0) {
			relatives++;
			c->relative += cop_bakeoff_score_relative(cell, to);
		}
	}
	c->mean = count > 0 ? c->mean / (double)count : (double)NAN;
	c->seconds = count > 0 ? c->seconds / (double)count : (double)NAN;
	c->relative = relatives > 0 ? c->relative / (double)relatives : (double)NAN;
}

static void mark_best_singles(cop_bakeoff_score *s, size_t files)
{
	for (size_t f = 0; f < files; f++) {
		cop_bakeoff_contender *best = NULL;
		for (size_t i = 0; i < s->contenders; i++) {
			cop_bakeoff_contender *c = &s->contender[i];
			bool counts = c->origin == COP_BAKEOFF_PEER && c->file == f && c->missing == 0 && s->common > 0;
			if (counts && (best == NULL || c->mean < best->mean))
				best = c;
		}
		if (best != NULL)
			best->best_single = best->shown = true;
	}
}

static void compare_all(cop_bakeoff_score *s, double risk)
{
	for (size_t a = 0; a < s->contenders; a++)
		for (size_t b = 0; b < s->contenders; b++) {
			cop_bakeoff_pair *pair = &s->pair[a * s->contenders + b];
			for (size_t f = 0; f < s->fields && a != b; f++) {
				const cop_bakeoff_cell *x = cop_bakeoff_score_cell(s, f, a);
				const cop_bakeoff_cell *y = cop_bakeoff_score_cell(s, f, b);
				if (x->seeds == 0 || y->seeds == 0)
					continue;
				int verdict = cop_bakeoff_score_compare(x, y, risk);
				pair->both++;
				pair->less += x->loss < y->loss;
				pair->wins += verdict > 0;
				pair->losses += verdict < 0;
			}
			if (s->contender[b].shown && s->contender[b].origin != COP_BAKEOFF_HINDSIGHT) {
				s->contender[a].wins += pair->wins;
				s->contender[a].losses += pair->losses;
			}
		}
}

/* "FILE: " goes before what would be mistaken: hindsight always, others when an own setting has the name. */
static void name_peers(cop_bakeoff_score *s, const cop_bakeoff_score_settings *set)
{
	for (size_t i = 0; i < s->contenders; i++) {
		cop_bakeoff_contender *c = &s->contender[i];
		char name[sizeof c->name];
		bool twin = find_contender(s, c->name, COP_BAKEOFF_OWN, 0) != SIZE_MAX || set->files > 1;
		if (c->origin == COP_BAKEOFF_OWN || (c->origin == COP_BAKEOFF_PEER && !twin))
			continue;
		(void)snprintf(name, sizeof name, "%.60s: %.*s", set->peer_names[c->file],
		        (int)(COP_BAKEOFF_NAME_ROOM - 1), c->name);
		memcpy(c->name, name, sizeof name);
	}
}

static cop_err find_reference(const builder *b, size_t *out)
{
	*out = SIZE_MAX;
	if (b->set->reference == NULL)
		return COP_OK;
	for (size_t i = 0; i < b->score->contenders; i++)
		if (strcmp(b->score->contender[i].name, b->set->reference) == 0)
			*out = i;
	if (*out != SIZE_MAX)
		return COP_OK;
	cop_diag_message(b->diag, "--reference: no setting '%s' among the results", b->set->reference);
	return COP_EINVAL;
}

cop_err cop_bakeoff_score_init(cop_bakeoff_score *score, const cop_bakeoff_score_settings *settings, cop_diag *diag)
{
	builder b = { score, settings, diag };
	size_t reference;
	*score = (cop_bakeoff_score){ .fields = 0 };
	cop_err err = add_fields(&b);
	if (err == COP_OK)
		err = add_contenders(&b);
	if (err == COP_OK)
		err = fill_cells(&b);
	if (err == COP_ENOMEM)
		cop_diag_message(diag, "%s", cop_err_text(err));
	if (err != COP_OK)
		return err;
	name_peers(score, settings);
	find_common(score);
	err = find_reference(&b, &reference);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < score->contenders; i++)
		sum_up(score, i, reference);
	mark_best_singles(score, settings->files);
	compare_all(score, settings->risk);
	return COP_OK;
}

void cop_bakeoff_score_fini(cop_bakeoff_score *score)
{
	cop_mem_free(score->field);
	cop_mem_free(score->contender);
	cop_mem_free(score->cell);
	cop_mem_free(score->best);
	cop_mem_free(score->pair);
	*score = (cop_bakeoff_score){ .fields = 0 };
}
