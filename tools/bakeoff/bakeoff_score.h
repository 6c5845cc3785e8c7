/* tools/bakeoff/bakeoff_score.h: figures of results: mean losses, relative losses, wins and losses with significance.
 *
 * After Bietti, Agarwal and Langford, "A contextual bandit bake-off" (2021). With mean losses p_a, p_b over n_a, n_b
 * events, b wins over a on a dataset when
 *     1 - Phi((p_a - p_b) / sqrt(p_a (1 - p_a) / n_a + p_b (1 - p_b) / n_b)) < risk,
 * risk 0.05 there. Losses are means over the seeds; n stays the events of one run, as seeds share their rows.
 * The relative loss is (p - p*) / p*; p* is a reference's loss, by default the least on that dataset (the paper's: that
 * of a supervised learner). Pure functions of their arguments; any thread. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_SCORE_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_SCORE_H

#include "bakeoff_rows.h"

typedef struct cop_bakeoff_cell {
	uint64_t seeds;  /* 0: no result; the rest is unset then */
	uint64_t events; /* of a run, the least of the seeds' */
	double loss;     /* mean over the seeds */
	double seconds;  /* an event, mean over the seeds */
	double errors;   /* losses of a run added up: events whose action was wrong; mean over the seeds */
	double squares;  /* of the seeds' errors from that mean, added up */
} cop_bakeoff_cell;

/* 1 - Phi(z) for the hypothesis that a's loss is the greater; 0.5 when nothing is known. */
double cop_bakeoff_score_tail(const cop_bakeoff_cell *a, const cop_bakeoff_cell *b);
/* +1: a wins over b, -1: it loses, 0: neither. Both have results. */
int cop_bakeoff_score_compare(const cop_bakeoff_cell *a, const cop_bakeoff_cell *b, double risk);
/* Of the errors over the seeds, with seeds - 1; NaN for fewer than two. */
double cop_bakeoff_score_deviation(const cop_bakeoff_cell *cell);
/* A reference of no loss counts as one of a single wrong event. */
double cop_bakeoff_score_relative(const cop_bakeoff_cell *cell, const cop_bakeoff_cell *reference);

typedef enum cop_bakeoff_origin {
	COP_BAKEOFF_OWN,
	COP_BAKEOFF_PEER,      /* of a peers' file */
	COP_BAKEOFF_HINDSIGHT, /* of all in that file, the best on each dataset */
} cop_bakeoff_origin;

typedef struct cop_bakeoff_contender {
	char name[COP_BAKEOFF_NAME_ROOM + 64];
	cop_bakeoff_origin origin;
	size_t file;         /* peers: number of the file */
	bool best_single;    /* peers: least mean loss of its file */
	bool shown;          /* in short tables: own, best single and hindsight */
	size_t missing;      /* datasets of the common ones without a result */
	double mean;         /* loss, over the common datasets it has; NaN: none */
	double relative;     /* mean over the same */
	double seconds;      /* an event, mean over the same; NaN: none */
	size_t wins, losses; /* against all shown others but hindsight */
} cop_bakeoff_contender;

typedef struct cop_bakeoff_field {
	char name[COP_BAKEOFF_NAME_ROOM];
	uint64_t events, features, classes; /* most events of a run */
	bool common;                        /* every own setting has a result, and each peers' file any */
	bool uneven;                        /* runs of different lengths are compared */
} cop_bakeoff_field;

typedef struct cop_bakeoff_pair {
	size_t wins, losses; /* of the first over the second, on datasets that both have */
	size_t less;         /* datasets of these on which it has less loss, by however little */
	size_t both;         /* datasets that both have */
} cop_bakeoff_pair;

typedef struct cop_bakeoff_score {
	cop_bakeoff_field *field; /* datasets */
	size_t fields, common;
	cop_bakeoff_contender *contender;
	size_t contenders;
	cop_bakeoff_cell *cell; /* fields x contenders */
	size_t *best;           /* fields: contender of least loss, hindsight aside */
	cop_bakeoff_pair *pair; /* contenders x contenders */
} cop_bakeoff_score;

typedef struct cop_bakeoff_score_settings {
	const cop_bakeoff_rows *own;   /* only what is to be compared */
	const cop_bakeoff_rows *peers; /* files of them; datasets without an own row are left out */
	const char *const *peer_names; /* files */
	size_t files;
	const char *const *datasets; /* their order; count, all of which may have rows */
	size_t datasets_count;
	double risk;           /* of a comparison */
	const char *reference; /* a contender's name; NULL: the least loss */
} cop_bakeoff_score_settings;

/* Caller finishes with fini, also on error. Newer rows of a run replace older ones. COP_EINVAL: no such reference;
 * COP_ENOMEM. */
COP_CHECK cop_err cop_bakeoff_score_init(
        cop_bakeoff_score *score, const cop_bakeoff_score_settings *settings, cop_diag *diag);
void cop_bakeoff_score_fini(cop_bakeoff_score *score);

static inline const cop_bakeoff_cell *cop_bakeoff_score_cell(
        const cop_bakeoff_score *score, size_t field, size_t contender)
{
	return &score->cell[field * score->contenders + contender];
}

#endif
