/* tools/bakeoff/bakeoff_report.h: a bakeoff's results for people: text, one self-contained HTML page, and a JSON
 * object.
 *
 * Short tables (text) show the own settings and of each peers' file the best single setting and the best per dataset;
 * HTML has all. One thread. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_REPORT_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_REPORT_H

#include <stdio.h>

#include "bakeoff_score.h"

typedef struct cop_bakeoff_report {
	const cop_bakeoff_score *score;
	const cop_bakeoff_rows *rows;     /* the own ones that are compared */
	const cop_bakeoff_points *points; /* those of such rows are drawn */
	const char *reference;            /* of relative losses; NULL: the least loss */
	double risk;
	bool partial; /* runs are missing that were asked for */
} cop_bakeoff_report;

void cop_bakeoff_report_text(const cop_bakeoff_report *report, FILE *out);
void cop_bakeoff_report_html(const cop_bakeoff_report *report, FILE *out);
/* COP_ENOMEM. */
COP_CHECK cop_err cop_bakeoff_report_json(const cop_bakeoff_report *report);
/* BASE.txt and BASE.html, each written beside and renamed. COP_EIO. */
COP_CHECK cop_err cop_bakeoff_report_write(const cop_bakeoff_report *report, const char *base, cop_diag *diag);

/* One chart: the mean learning curves of a dataset's own settings; nothing without points. */
void cop_bakeoff_report_curves(const cop_bakeoff_report *report, size_t field, FILE *out);
/* Text for HTML: & < > " ' escaped. */
void cop_bakeoff_report_escaped(const char *text, FILE *out);

#endif
