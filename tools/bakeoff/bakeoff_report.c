/* The text report, JSON and files show the same score. Only contenders that are `shown` have a column, under a
 * letter. */
#include "bakeoff_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bakeoff_store.h"
#include "base/json.h"
#include "tools/common/command.h"
#include "tools/common/whole_file.h"

/* ---- text ---- */

enum { NAME_WIDTH = 14, COLUMN_WIDTH = 11, ERRORS_WIDTH = 16 };

/* Columns of shown contenders carry letters, explained above the tables. */
static void print_heads(const cop_bakeoff_score *s, const char *first, int width, FILE *out)
{
	char letter = 'A';
	(void)fprintf(out, "%-*s", NAME_WIDTH, first);
	for (size_t i = 0; i < s->contenders; i++)
		if (s->contender[i].shown)
			(void)fprintf(out, "%*s%c", width - 1, "", letter <= 'Z' ? letter++ : '?');
	(void)fputc('\n', out);
}

static void print_summary(const cop_bakeoff_score *s, FILE *out)
{
	char letter = 'A';
	(void)fprintf(out, "   %-40s %9s %9s %6s %6s %9s\n", "", "mean", "relative", "wins", "losses", "us an");
	(void)fprintf(out, "   %-40s %9s %9s %6s %6s %9s\n", "setting", "loss", "loss", "", "", "event");
	for (size_t i = 0; i < s->contenders; i++) {
		const cop_bakeoff_contender *c = &s->contender[i];
		if (!c->shown)
			continue;
		(void)fprintf(out, "%c  %-40s %9.4f %9.3f %6zu %6zu %9.1f%s\n", letter <= 'Z' ? letter++ : '?', c->name,
		        c->mean, c->relative, c->wins, c->losses, 1e6 * c->seconds,
		        c->best_single ? "  (best single)" : "");
	}
}

/* A row for each dataset; `write` is for contenders that have results of it. */
static void print_grid(const cop_bakeoff_score *s, int width, bool lengths,
        void (*write)(const cop_bakeoff_score *s, size_t field, size_t contender, char text[64]), FILE *out)
{
	print_heads(s, "dataset", width, out);
	for (size_t f = 0; f < s->fields; f++) {
		(void)fprintf(out, "%-*s", NAME_WIDTH, s->field[f].name);
		for (size_t i = 0; i < s->contenders; i++) {
			char text[64] = "-";
			if (!s->contender[i].shown)
				continue;
			if (cop_bakeoff_score_cell(s, f, i)->seeds > 0)
				write(s, f, i, text);
			(void)fprintf(out, "%*s", width, text);
		}
		(void)fprintf(out, "%s\n", lengths && s->field[f].uneven ? "  runs of different lengths" : "");
	}
}

static void write_loss(const cop_bakeoff_score *s, size_t field, size_t contender, char text[64])
{
	(void)snprintf(text, 64, "%.4f%c", cop_bakeoff_score_cell(s, field, contender)->loss,
	        s->best[field] == contender ? '*' : ' ');
}

static void print_losses(const cop_bakeoff_score *s, FILE *out)
{
	(void)fputs("\nProgressive loss (* the least of all settings but those per dataset)\n", out);
	print_grid(s, COLUMN_WIDTH, true, write_loss, out);
	(void)fprintf(out, "%-*s", NAME_WIDTH, "mean");
	for (size_t i = 0; i < s->contenders; i++)
		if (s->contender[i].shown)
			(void)fprintf(out, "%*.4f ", COLUMN_WIDTH - 1, s->contender[i].mean);
	(void)fputc('\n', out);
}

static void write_errors(const cop_bakeoff_score *s, size_t field, size_t contender, char text[64])
{
	const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(s, field, contender);
	if (cell->seeds > 1)
		(void)snprintf(text, 64, "%.1f (%.1f)", cell->errors, cop_bakeoff_score_deviation(cell));
	else
		(void)snprintf(text, 64, "%.1f", cell->errors);
}

static void write_time(const cop_bakeoff_score *s, size_t field, size_t contender, char text[64])
{
	(void)snprintf(text, 64, "%.1f ", 1e6 * cop_bakeoff_score_cell(s, field, contender)->seconds);
}

static void print_pairs(const cop_bakeoff_score *s, bool significant, FILE *out)
{
	char letter = 'A';
	print_heads(s, "", COLUMN_WIDTH, out);
	for (size_t a = 0; a < s->contenders; a++) {
		if (!s->contender[a].shown)
			continue;
		(void)fprintf(out, "%-*c", NAME_WIDTH, letter <= 'Z' ? letter++ : '?');
		for (size_t b = 0; b < s->contenders; b++) {
			char text[48];
			const cop_bakeoff_pair *pair = &s->pair[a * s->contenders + b];
			(void)snprintf(text, sizeof text, "%zu/%zu", significant ? pair->wins : pair->less,
			        significant ? pair->losses : pair->both);
			if (s->contender[b].shown)
				(void)fprintf(out, "%*s", COLUMN_WIDTH, a == b ? "." : text);
		}
		(void)fputc('\n', out);
	}
}

static void print_missing(const cop_bakeoff_report *r, FILE *out)
{
	const cop_bakeoff_score *s = r->score;
	size_t incomplete = 0;
	if (s->common < s->fields)
		(void)fputs("Not in means, as not all have results:", out);
	for (size_t f = 0; f < s->fields && s->common < s->fields; f++)
		(void)fprintf(out, "%s%s", s->field[f].common ? "" : " ", s->field[f].common ? "" : s->field[f].name);
	(void)fputs(s->common < s->fields ? "\n" : "", out);
	for (size_t i = 0; i < s->contenders; i++)
		incomplete += s->contender[i].missing > 0;
	if (incomplete > 0)
		(void)fprintf(out,
		        "%zu peers' settings lack some of these datasets and cannot be the best single one.\n",
		        incomplete);
	if (r->partial)
		(void)fputs("The bakeoff is not complete: runs are missing.\n", out);
}

void cop_bakeoff_report_text(const cop_bakeoff_report *r, FILE *out)
{
	const cop_bakeoff_score *s = r->score;
	(void)fprintf(out, "Bakeoff over %zu datasets; means over the %zu that all have\n", s->fields, s->common);
	print_missing(r, out);
	(void)fputc('\n', out);
	print_summary(s, out);
	print_losses(s, out);
	(void)fputs("\nWrong events of a run, mean over the seeds (standard deviation)\n", out);
	print_grid(s, ERRORS_WIDTH, true, write_errors, out);
	(void)fprintf(out, "\nSignificant wins/losses of the row over the column (Z-test, each side at %g)\n", r->risk);
	print_pairs(s, true, out);
	(void)fputs("\nDatasets on which the row has less loss than the column, of those both have\n", out);
	print_pairs(s, false, out);
	(void)fputs("\nMicroseconds an event\n", out);
	print_grid(s, COLUMN_WIDTH, false, write_time, out);
	(void)fprintf(out, "\nRelative loss: (loss - r) / r, r the loss of %s on the dataset.\n",
	        r->reference != NULL ? r->reference : "the best setting");
}

/* ---- json ---- */

static void put_errors(cop_json_writer *json, const cop_bakeoff_score *s, size_t i)
{
	cop_json_put_object(json, "errors");
	for (size_t f = 0; f < s->fields; f++) {
		const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(s, f, i);
		if (cell->seeds == 0)
			continue;
		cop_json_put_object(json, s->field[f].name);
		cop_json_put_unsigned(json, "seeds", cell->seeds);
		cop_json_put_number(json, "mean", cell->errors);
		if (cell->seeds > 1)
			cop_json_put_number(json, "deviation", cop_bakeoff_score_deviation(cell));
		cop_json_end_object(json);
	}
	cop_json_end_object(json);
}

static void put_contender(cop_json_writer *json, const cop_bakeoff_score *s, size_t i)
{
	const cop_bakeoff_contender *c = &s->contender[i];
	static const char *const origins[] = { "own", "peer", "peers_best_per_dataset" };
	cop_json_begin_object(json);
	cop_json_put_text(json, "setting", c->name);
	cop_json_put_text(json, "origin", origins[c->origin]);
	cop_json_put_boolean(json, "best_single", c->best_single);
	cop_json_put_unsigned(json, "missing", c->missing);
	cop_json_put_number(json, "mean_loss", c->mean);
	cop_json_put_number(json, "relative_loss", c->relative);
	cop_json_put_number(json, "microseconds", 1e6 * c->seconds);
	cop_json_put_object(json, "losses");
	for (size_t f = 0; f < s->fields; f++)
		if (cop_bakeoff_score_cell(s, f, i)->seeds > 0)
			cop_json_put_number(json, s->field[f].name, cop_bakeoff_score_cell(s, f, i)->loss);
	cop_json_end_object(json);
	put_errors(json, s, i);
	cop_json_put_array(json, "against");
	for (size_t b = 0; b < s->contenders; b++)
		if (b != i && s->contender[b].shown) {
			const cop_bakeoff_pair *pair = &s->pair[i * s->contenders + b];
			cop_json_begin_object(json);
			cop_json_put_text(json, "setting", s->contender[b].name);
			cop_json_put_unsigned(json, "wins", pair->wins);
			cop_json_put_unsigned(json, "losses", pair->losses);
			cop_json_put_unsigned(json, "less", pair->less);
			cop_json_put_unsigned(json, "both", pair->both);
			cop_json_end_object(json);
		}
	cop_json_end_array(json);
	cop_json_end_object(json);
}

cop_err cop_bakeoff_report_json(const cop_bakeoff_report *r)
{
	const cop_bakeoff_score *s = r->score;
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	cop_json_put_unsigned(json, "datasets", s->fields);
	cop_json_put_unsigned(json, "common", s->common);
	cop_json_put_boolean(json, "complete", !r->partial);
	cop_json_put_array(json, "settings");
	for (size_t i = 0; i < s->contenders; i++)
		put_contender(json, s, i);
	cop_json_end_array(json);
	return cop_command_json(json);
}

/* ---- files ---- */

static cop_err write_file(const cop_bakeoff_report *report, const char *base, const char *ending,
        void (*print)(const cop_bakeoff_report *report, FILE *out), cop_diag *diag)
{
	char path[COP_BAKEOFF_PATH_ROOM];
	if (strlen(base) + strlen(ending) >= sizeof path) {
		cop_diag_of(diag, base, "the name is too long");
		return COP_EINVAL;
	}
	strcpy(path, base);
	strcat(path, ending);
	cop_whole_file whole;
	cop_err err = cop_whole_file_begin(&whole, path, diag);
	if (err != COP_OK)
		return err;
	print(report, whole.out);
	return cop_whole_file_end(&whole, path, diag);
}

cop_err cop_bakeoff_report_write(const cop_bakeoff_report *report, const char *base, cop_diag *diag)
{
	cop_err err = write_file(report, base, ".txt", cop_bakeoff_report_text, diag);
	return err != COP_OK ? err : write_file(report, base, ".html", cop_bakeoff_report_html, diag);
}
