/* Learning curves as SVG. The plot is WIDTH by HEIGHT units inside margins; x is the logarithm of the events, y the
 * mean loss, cut at what the curves reach after a twentieth of the events, so that the start does not flatten the rest:
 * a curve is drawn from where it enters the plot, and ends where it leaves it.
 * Colours are those of Okabe and Ito, which colour-blind people can distinguish; dashes differ too. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bakeoff_report.h"

enum { LEFT = 44, TOP = 10, WIDTH = 300, HEIGHT = 160, BELOW = 26, LINE = 16, MOST_POINTS = 64 };

typedef struct curve {
	size_t count;
	uint64_t at[MOST_POINTS]; /* ascending */
	double sum[MOST_POINTS];
	size_t runs[MOST_POINTS];
} curve;

typedef struct scale {
	double first, last; /* logarithms of events */
	double top;         /* loss */
} scale;

void cop_bakeoff_report_escaped(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		const char *name = *text == '&'    ? "&amp;"
		                   : *text == '<'  ? "&lt;"
		                   : *text == '>'  ? "&gt;"
		                   : *text == '"'  ? "&quot;"
		                   : *text == '\'' ? "&#39;"
		                                   : NULL;
		if (name != NULL)
			(void)fputs(name, out);
		else
			(void)fputc(*text, out);
	}
}

static void add_point(curve *c, uint64_t at, double loss)
{
	size_t i = 0;
	while (i < c->count && c->at[i] < at)
		i++;
	if (i == c->count || c->at[i] != at) {
		if (c->count == MOST_POINTS)
			return;
		size_t behind = c->count++ - i;
		memmove(&c->at[i + 1], &c->at[i], behind * sizeof *c->at);
		memmove(&c->sum[i + 1], &c->sum[i], behind * sizeof *c->sum);
		memmove(&c->runs[i + 1], &c->runs[i], behind * sizeof *c->runs);
		c->at[i] = at;
		c->sum[i] = 0.0;
		c->runs[i] = 0;
	}
	c->sum[i] += loss;
	c->runs[i]++;
}

/* The mean over the runs that are compared. */
static void gather(const cop_bakeoff_report *r, size_t field, size_t contender, curve *out)
{
	const cop_bakeoff_score *s = r->score;
	out->count = 0;
	if (s->contender[contender].origin != COP_BAKEOFF_OWN)
		return;
	for (size_t i = 0; i < r->points->count; i++) {
		const cop_bakeoff_point *p = &r->points->point[i];
		if (strcmp(p->dataset, s->field[field].name) == 0 &&
		        strcmp(p->setting, s->contender[contender].name) == 0 &&
		        cop_bakeoff_rows_find(r->rows, p->dataset, p->setting, p->seed, p->events) != NULL)
			add_point(out, p->at, p->loss);
	}
}

static double mean_at(const curve *c, size_t i) { return c->sum[i] / (double)c->runs[i]; }

static double place_x(const scale *s, double events)
{
	double width = s->last > s->first ? s->last - s->first : 1.0;
	return LEFT + WIDTH * (log10(events) - s->first) / width;
}

static double place_y(const scale *s, double loss) { return TOP + HEIGHT * (1.0 - loss / s->top); }

/* False: no own setting has a point. */
static bool measure(const cop_bakeoff_report *r, size_t field, scale *out)
{
	uint64_t first = UINT64_MAX;
	uint64_t last = 0;
	double most = 0.0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < r->score->contenders; i++) {
			curve c;
			gather(r, field, i, &c);
			for (size_t j = 0; j < c.count; j++) {
				first = c.at[j] < first ? c.at[j] : first;
				last = c.at[j] > last ? c.at[j] : last;
				if (pass == 1 && c.at[j] >= last / 20 && mean_at(&c, j) > most)
					most = mean_at(&c, j);
			}
		}
	if (last == 0)
		return false;
	for (size_t i = 0; i < r->score->contenders; i++) {
		const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(r->score, field, i);
		bool drawn = r->score->contender[i].origin == COP_BAKEOFF_HINDSIGHT && cell->seeds > 0;
		most = drawn && cell->loss > most ? cell->loss : most;
	}
	double step = most > 0.5 ? 0.1 : most > 0.1 ? 0.05 : 0.01;
	out->first = log10((double)first);
	out->last = log10((double)last);
	out->top = step * ceil(most / step + 1e-9);
	return true;
}

static void print_axes(const scale *s, FILE *out)
{
	(void)fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, TOP + HEIGHT, LEFT + WIDTH);
	for (int i = 0; i <= 2; i++) {
		double loss = s->top * i / 2.0;
		double y = place_y(s, loss);
		if (i > 0)
			(void)fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, LEFT + WIDTH);
		(void)fprintf(
		        out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", LEFT - 5, y + 4, loss);
	}
	for (double decade = ceil(s->first - 1e-9); decade <= s->last + 1e-9; decade += 1.0) {
		double events = pow(10.0, decade);
		double x = place_x(s, events);
		(void)fprintf(out, "<path class=\"axis\" d=\"M%.1f %dv4\"/>\n", x, TOP + HEIGHT);
		(void)fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", x,
		        TOP + HEIGHT + 16, events);
	}
}

typedef struct point {
	double x, y; /* y < TOP: above the plot */
} point;

static point place_of(const scale *s, const curve *c, size_t i)
{
	return (point){ place_x(s, (double)c->at[i]), place_y(s, mean_at(c, i)) };
}

/* Where the line between a place above the plot and one inside crosses its upper edge. */
static point crossing(point a, point b) { return (point){ a.x + (b.x - a.x) * (TOP - a.y) / (b.y - a.y), TOP }; }

static void print_place(char command, point at, FILE *out) { (void)fprintf(out, "%c%.1f %.1f", command, at.x, at.y); }

static void print_curve(const scale *s, const curve *c, size_t number, FILE *out)
{
	point before = { 0.0, -1.0 };
	(void)fprintf(out, "<path class=\"line c%zu d%zu\" d=\"", number % 7, number % 5);
	for (size_t i = 0; i < c->count; i++) {
		point now = place_of(s, c, i);
		bool above = now.y < TOP;
		bool was_above = i == 0 || before.y < TOP;
		if (i > 0 && above != was_above)
			print_place(above ? 'L' : 'M', crossing(before, now), out);
		if (!above)
			print_place(i == 0 ? 'M' : 'L', now, out);
		before = now;
	}
	(void)fputs("\"/>\n", out);
}

static void print_key(const char *classes, const char *name, double loss, size_t place, FILE *out)
{
	int y = TOP + HEIGHT + BELOW + LINE * (int)place + LINE / 2;
	(void)fprintf(out, "<path class=\"line %s\" d=\"M%d %dh30\"/><text x=\"%d\" y=\"%d\">%.4f ", classes, LEFT, y,
	        LEFT + 38, y + 4, loss);
	cop_bakeoff_report_escaped(name, out);
	(void)fputs("</text>\n", out);
}

/* Curves of own settings, and where the peers' best ended; keys below. */
static void print_lines(const cop_bakeoff_report *r, size_t field, const scale *s, FILE *out)
{
	const cop_bakeoff_score *score = r->score;
	size_t own = 0;
	for (size_t i = 0; i < score->contenders; i++) {
		const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(score, field, i);
		curve c;
		gather(r, field, i, &c);
		if (score->contender[i].origin == COP_BAKEOFF_OWN)
			own++;
		if (c.count > 0)
			print_curve(s, &c, own - 1, out);
		if (score->contender[i].origin == COP_BAKEOFF_HINDSIGHT && cell->seeds > 0)
			(void)fprintf(out, "<path class=\"line peer\" d=\"M%d %.1fh%d\"/>\n", LEFT,
			        place_y(s, cell->loss), WIDTH);
	}
}

static size_t print_keys(const cop_bakeoff_report *r, size_t field, FILE *out)
{
	const cop_bakeoff_score *score = r->score;
	size_t own = 0;
	size_t keys = 0;
	for (size_t i = 0; i < score->contenders; i++) {
		const cop_bakeoff_contender *c = &score->contender[i];
		const cop_bakeoff_cell *cell = cop_bakeoff_score_cell(score, field, i);
		char classes[32];
		own += c->origin == COP_BAKEOFF_OWN;
		if (c->origin == COP_BAKEOFF_PEER || cell->seeds == 0)
			continue;
		if (c->origin == COP_BAKEOFF_OWN)
			(void)snprintf(classes, sizeof classes, "c%zu d%zu", (own - 1) % 7, (own - 1) % 5);
		else
			(void)snprintf(classes, sizeof classes, "peer");
		if (out != NULL)
			print_key(classes, c->name, cell->loss, keys, out);
		keys++;
	}
	return keys;
}

void cop_bakeoff_report_curves(const cop_bakeoff_report *r, size_t field, FILE *out)
{
	const cop_bakeoff_field *f = &r->score->field[field];
	scale s;
	if (!measure(r, field, &s))
		return;
	int height = TOP + HEIGHT + BELOW + LINE * (int)print_keys(r, field, NULL) + 4;
	(void)fprintf(out,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" "
	        "aria-labelledby=\"t%zu d%zu\">\n<title id=\"t%zu\">",
	        LEFT + WIDTH + 20, height, field, field, field);
	cop_bakeoff_report_escaped(f->name, out);
	(void)fprintf(out,
	        ": learning curves</title>\n<desc id=\"d%zu\">Mean loss so far against events, from %.0f to %.0f",
	        field, pow(10.0, s.first), pow(10.0, s.last));
	(void)fputs(" on a scale of logarithms. The keys name each line and the loss at its end.</desc>\n", out);
	print_axes(&s, out);
	print_lines(r, field, &s, out);
	(void)print_keys(r, field, out);
	(void)fputs("</svg>\n", out);
}
