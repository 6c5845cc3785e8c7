/* daemon/durable/forget_report.h: what became of an order to forget somebody. Plain data; the loop's thread. */
#ifndef COP_DAEMON_DURABLE_FORGET_REPORT_H
#define COP_DAEMON_DURABLE_FORGET_REPORT_H

#include "daemon/common/log.h"
#include "history/forget.h"

#define COP_FORGET_REPORT_MODELS 16 /* that a report names */

typedef struct cop_forget_report {
	uint64_t order; /* its number; 0: none was carried out yet */
	size_t models;  /* in which there was something; of the first COP_FORGET_REPORT_MODELS there is more: */
	cop_forget_model of[COP_FORGET_REPORT_MODELS];
	bool again[COP_FORGET_REPORT_MODELS]; /* whether it was learned again */
	uint64_t waiting;                     /* decisions that waited, and were ended */
	uint64_t contexts;                    /* that waited for a subscriber, and were dropped */
	bool relearned;                       /* the models were learned again; false: there was nothing, or see why */
	const char *why;  /* why they were not: "nothing", "journal", "start", "gap", "records"; NULL: they were */
	uint64_t from;    /* record that learning began with */
	uint64_t records; /* erased, or with less in them */
	uint64_t segments, checkpoints;
	uint64_t refits;         /* challengers whose window had something, and that are gone */
	uint64_t refits_serving; /* models that were not learned again and are served by such trees still */
	uint64_t followers;      /* that began anew from here */
	uint64_t followers_left; /* that were told to, and did not come back in time */
	uint64_t parked;         /* models that are not served, had something, and were not learned again */
	double seconds;
} cop_forget_report;

/* What the plan found. */
void cop_forget_report_fill(cop_forget_report *report, const cop_forget_plan *plan);
/* A model, by its stored name, was learned again. */
void cop_forget_report_again(cop_forget_report *report, const char *stored);
/* Into the log, when all is done. */
void cop_forget_report_tell(const cop_forget_report *report, cop_log *log);

#endif
