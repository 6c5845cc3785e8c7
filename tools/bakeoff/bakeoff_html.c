/* One page without scripts or anything from elsewhere: tables that scroll inside their frames, charts, definitions.
 * Colours follow the reader's light or dark scheme; nothing is shown by colour alone. */
#include <inttypes.h>
#include <math.h>

#include "bakeoff_report.h"

static const char head[] =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Bakeoff</title>\n<style>\n"
        ":root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --faint: #d4d4d4; --best: #e3f1e7;\n"
        "  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #56b4e9; --c5: #e69f00; --c6: #6b5b95; }\n"
        "@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --faint: #444; --best: "
        "#1e3a28;\n"
        "  --c0: #4aa8e0; --c1: #f08030; --c2: #2fc89a; --c3: #e49cc4; --c4: #8fd0f5; --c5: #f5bc40; --c6: #a895d8; } "
        "}\n"
        "body { font: 16px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;\n"
        "  max-width: 80rem; padding: 1rem; }\n"
        "h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }\n"
        ".scroll { overflow-x: auto; } .scroll:focus-visible, summary:focus-visible { outline: 3px solid var(--c0); }\n"
        "table { border-collapse: collapse; font-variant-numeric: tabular-nums; }\n"
        "caption { text-align: left; padding: .3rem 0; }\n"
        "th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--faint); text-align: right; white-space: nowrap; "
        "}\n"
        "thead th { vertical-align: bottom; white-space: normal; min-width: 4rem; }\n"
        "th[scope=row] { text-align: left; position: sticky; left: 0; background: var(--paper); }\n"
        "td.best { background: var(--best); font-weight: 600; }\n"
        ".charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); "
        "}\n"
        "figure { margin: 0; } figcaption { font-weight: 600; }\n"
        ".chart { width: 100%; height: auto; } .chart text { font-size: 11px; fill: var(--ink); }\n"
        ".axis { stroke: var(--ink); fill: none; } .grid { stroke: var(--faint); fill: none; }\n"
        ".line { fill: none; stroke-width: 2; } .peer { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 1 3; }\n"
        ".c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); }\n"
        ".c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); } .c6 { stroke: var(--c6); }\n"
        ".d1 { stroke-dasharray: 7 3; } .d2 { stroke-dasharray: 2 2; } .d3 { stroke-dasharray: 9 3 2 3; }\n"
        ".d4 { stroke-dasharray: 4 2; }\n"
        "@media print { .scroll { overflow: visible; } }\n"
        "</style>\n</head>\n<body>\n<main>\n<h1>Bakeoff</h1>\n";

static void escaped(const char *text, FILE *out) { cop_bakeoff_report_escaped(text, out); }

static void begin_table(const char *caption, FILE *out)
{
	(void)fprintf(out,
	        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table>\n"
	        "<caption>%s</caption>\n<thead><tr>",
	        caption, caption);
}

static void end_table(FILE *out) { (void)fputs("</tbody>\n</table>\n</div>\n", out); }

static void column(const char *name, FILE *out)
{
	(void)fputs("<th scope=\"col\">", out);
	escaped(name, out);
	(void)fputs("</th>", out);
}

static void row(const char *name, FILE *out)
{
	(void)fputs("<tr><th scope=\"row\">", out);
	escaped(name, out);
	(void)fputs("</th>", out);
}

/* A figure with so many digits behind the point; a dash when there is none. */
static void figure(double value, int digits, FILE *out)
{
	if (isnan(value))
		(void)fputs("<td>–</td>", out);
	else
		(void)fprintf(out, "<td>%.*f</td>", digits, value);
}

static bool is_in(const cop_bakeoff_score *s, size_t i, bool all) { return all || s->contender[i].shown; }

static size_t not_shown(const cop_bakeoff_score *s)
{
	size_t count = 0;
	for (size_t i = 0; i < s->contenders; i++)
		count += !s->contender[i].shown;
	return count;
}

/* ---- tables ---- */

static void print_summary(const cop_bakeoff_score *s, bool all, FILE *out)
{
	static const char *const columns[] = { "setting", "mean loss", "relative loss", "significant wins",
		"significant losses", "µs an event", "datasets without result" };
	begin_table(all ? "All settings" : "Settings", out);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		column(columns[i], out);
	(void)fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < s->contenders; i++) {
		const cop_bakeoff_contender *c = &s->contender[i];
		if (!is_in(s, i, all))
			continue;
		(void)fputs("<tr><th scope=\"row\">", out);
		escaped(c->name, out);
		(void)fputs(c->best_single ? " (best single)</th>" : "</th>", out);
		figure(c->mean, 4, out);
		figure(c->relative, 3, out);
		(void)fprintf(out, "<td>%zu</td><td>%zu</td>", c->wins, c->losses);
		figure(1e6 * c->seconds, 1, out);
		(void)fprintf(out, "<td>%zu</td></tr>\n", c->missing);
	}
	end_table(out);
}

static void print_heads(const cop_bakeoff_score *s, bool all, FILE *out)
{
	for (size_t i = 0; i < s->contenders; i++)
		if (is_in(s, i, all))
			column(s->contender[i].name, out);
	(void)fputs("</tr></thead>\n<tbody>\n", out);
}

static void print_losses(const cop_bakeoff_score *s, bool all, FILE *out)
{
	begin_table(all ? "Progressive loss of all settings" : "Progressive loss", out);
	column("dataset", out);
	column("events", out);
	column("features", out);
	column("classes", out);
	print_heads(s, all, out);
	for (size_t f = 0; f < s->fields; f++) {
		const cop_bakeoff_field *field = &s->field[f];
		row(field->name, out);
		(void)fprintf(out, "<td>%" PRIu64 "%s</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td>", field->events,
		        field->uneven ? " (uneven)" : "", field->features, field->classes);
		for (size_t i = 0; i < s->contenders; i++) {
			const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(s, f, i);
			if (!is_in(s, i, all))
				continue;
			if (s->best[f] == i)
				(void)fprintf(out, "<td class=\"best\">%.4f best</td>", cell->loss);
			else
				figure(cell->seeds > 0 ? cell->loss : (double)NAN, 4, out);
		}
		(void)fputs("</tr>\n", out);
	}
	row("mean", out);
	(void)fputs("<td></td><td></td><td></td>", out);
	for (size_t i = 0; i < s->contenders; i++)
		if (is_in(s, i, all))
			figure(s->contender[i].missing == 0 ? s->contender[i].mean : (double)NAN, 4, out);
	(void)fputs("</tr>\n", out);
	end_table(out);
}

static void print_errors(const cop_bakeoff_cell *cell, FILE *out)
{
	if (cell->seeds > 1)
		(void)fprintf(out, "<td>%.1f (%.1f)</td>", cell->errors, cop_bakeoff_score_deviation(cell));
	else
		figure(cell->seeds > 0 ? cell->errors : (double)NAN, 1, out);
}

static void print_time(const cop_bakeoff_cell *cell, FILE *out)
{
	figure(cell->seeds > 0 ? 1e6 * cell->seconds : (double)NAN, 1, out);
}

static void print_cells(const cop_bakeoff_score *s, const char *title,
        void (*print)(const cop_bakeoff_cell *cell, FILE *out), FILE *out)
{
	begin_table(title, out);
	column("dataset", out);
	print_heads(s, false, out);
	for (size_t f = 0; f < s->fields; f++) {
		row(s->field[f].name, out);
		for (size_t i = 0; i < s->contenders; i++)
			if (is_in(s, i, false))
				print(cop_bakeoff_score_cell(s, f, i), out);
		(void)fputs("</tr>\n", out);
	}
	end_table(out);
}

static void print_pairs(const cop_bakeoff_score *s, bool all, FILE *out)
{
	begin_table(all ? "Significant wins / losses of the row over the column; datasets with less loss; all settings"
	                : "Significant wins / losses of the row over the column; datasets with less loss",
	        out);
	column("setting", out);
	print_heads(s, all, out);
	for (size_t a = 0; a < s->contenders; a++) {
		if (!is_in(s, a, all))
			continue;
		row(s->contender[a].name, out);
		for (size_t b = 0; b < s->contenders; b++) {
			const cop_bakeoff_pair *pair = &s->pair[a * s->contenders + b];
			if (is_in(s, b, all) && a == b)
				(void)fputs("<td>–</td>", out);
			else if (is_in(s, b, all))
				(void)fprintf(out, "<td>%zu / %zu; %zu of %zu</td>", pair->wins, pair->losses,
				        pair->less, pair->both);
		}
		(void)fputs("</tr>\n", out);
	}
	end_table(out);
}

/* ---- the page ---- */

static void print_scope(const cop_bakeoff_report *r, FILE *out)
{
	const cop_bakeoff_score *s = r->score;
	(void)fprintf(out, "<p>%zu datasets; means are over the %zu of them that every compared setting has.",
	        s->fields, s->common);
	if (s->common < s->fields) {
		(void)fputs(" Not in means:", out);
		for (size_t f = 0; f < s->fields; f++)
			if (!s->field[f].common) {
				(void)fputc(' ', out);
				escaped(s->field[f].name, out);
			}
		(void)fputc('.', out);
	}
	(void)fputs(
	        r->partial ? " <strong>The bakeoff is not complete: runs are missing.</strong></p>\n" : "</p>\n", out);
}

static void print_definitions(const cop_bakeoff_report *r, FILE *out)
{
	(void)fputs(
	        "<h2>What the figures mean</h2>\n<dl>\n<dt>Progressive loss</dt><dd>Share of events in which the "
	        "action "
	        "that was played was not the label's, exploration counted: one pass, every event decided before it is "
	        "learned. Mean over the seeds.</dd>\n<dt>Relative loss</dt><dd>(loss − r) / r, where r is the loss "
	        "of ",
	        out);
	escaped(r->reference != NULL ? r->reference : "the best setting", out);
	(void)fprintf(out,
	        " on the dataset; mean over datasets.</dd>\n<dt>Significant</dt><dd>Setting b wins over a on a dataset "
	        "when "
	        "1 − Φ((p<sub>a</sub> − p<sub>b</sub>) / √(p<sub>a</sub>(1 − p<sub>a</sub>)/n<sub>a</sub> + "
	        "p<sub>b</sub>(1 − p<sub>b</sub>)/n<sub>b</sub>)) &lt; %g, with losses p and n events in a run "
	        "(Bietti, "
	        "Agarwal and Langford, “A contextual bandit bake-off”).</dd>\n<dt>Best per dataset</dt><dd>Of a file "
	        "of peers, the setting that turned out best on each dataset, chosen with hindsight.</dd>\n</dl>\n",
	        r->risk);
}

static void print_charts(const cop_bakeoff_report *r, FILE *out)
{
	(void)fputs("<h2>Learning curves</h2>\n<p>Mean loss so far against events; the dotted line is where the peers’ "
	            "best "
	            "for the dataset ended.</p>\n<div class=\"charts\">\n",
	        out);
	for (size_t f = 0; f < r->score->fields; f++) {
		(void)fputs("<figure><figcaption>", out);
		escaped(r->score->field[f].name, out);
		(void)fputs("</figcaption>\n", out);
		cop_bakeoff_report_curves(r, f, out);
		(void)fputs("</figure>\n", out);
	}
	(void)fputs("</div>\n", out);
}

void cop_bakeoff_report_html(const cop_bakeoff_report *r, FILE *out)
{
	const cop_bakeoff_score *s = r->score;
	(void)fputs(head, out);
	print_scope(r, out);
	(void)fputs("<h2>Summary</h2>\n", out);
	print_summary(s, false, out);
	(void)fputs("<h2>Losses</h2>\n", out);
	print_losses(s, false, out);
	print_cells(s, "Wrong events of a run, mean over the seeds (standard deviation)", print_errors, out);
	(void)fputs("<h2>Wins and losses</h2>\n", out);
	print_pairs(s, false, out);
	print_charts(r, out);
	(void)fputs("<h2>Time</h2>\n", out);
	print_cells(s, "Microseconds an event", print_time, out);
	if (not_shown(s) > 0) {
		(void)fprintf(out, "<h2>All settings</h2>\n<details><summary>The peers’ %zu other settings</summary>\n",
		        not_shown(s));
		print_summary(s, true, out);
		print_losses(s, true, out);
		print_pairs(s, true, out);
		(void)fputs("</details>\n", out);
	}
	print_definitions(r, out);
	(void)fputs("</main>\n</body>\n</html>\n", out);
}
