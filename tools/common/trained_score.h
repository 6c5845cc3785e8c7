/* tools/common/trained_score.h: what trees predict of labelled rows, and how good that is. */
#ifndef COP_TOOLS_COMMON_TRAINED_SCORE_H
#define COP_TOOLS_COMMON_TRAINED_SCORE_H

#include "base/json.h"
#include "base/pool.h"
#include "labelled_rows.h"
#include "tree/trees.h"

typedef struct cop_trained_score {
	double error; /* classes: share of wrong ones */
	double auc;   /* two classes; else NaN */
	double rmse;  /* values, in the file's unit; else NaN */
	double flops; /* mean over the rows */
} cop_trained_score;

/* K outputs of rows row[0..n) (NULL: 0 to n - 1), n x K: probabilities, or values to the file's scale. COP_ENOMEM. */
COP_CHECK cop_err cop_trained_score_outputs(const cop_trees *trees, const cop_encoder *preparation,
        const cop_labelled *rows, size_t n, const uint32_t *row, cop_pool *pool, double *out);
/* The class of greatest output, the least among equals. */
uint32_t cop_trained_score_best(size_t outputs, const double *out);

/* Over those rows, which have labels or targets. flops only when asked for (else NaN). COP_ENOMEM. */
COP_CHECK cop_err cop_trained_score_rate(const cop_trees *trees, const cop_encoder *preparation,
        const cop_labelled *rows, size_t n, const uint32_t *row, bool flops, cop_pool *pool, cop_trained_score *out);

/* Of many classes. */
typedef struct cop_trained_many {
	double top5;       /* share of rows whose class is not among the five of greatest output */
	double perplexity; /* over the rows whose class has a probability above 0 */
	double covered;    /* their share */
	double smoothed;   /* over all rows, smoothed */
} cop_trained_many;

/* Of rows with labels. Smoothed: each class of probability 0 gets `smoothing` (> 0), then all are divided by their sum.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_trained_score_many(const cop_trees *trees, const cop_encoder *preparation,
        const cop_labelled *rows, double smoothing, cop_pool *pool, cop_trained_many *out);

/* Keys PREFIX_error and PREFIX_auc, or PREFIX_rmse; prefix may be empty: error, auc, rmse. */
void cop_trained_score_put(const cop_trained_score *score, const char *prefix, cop_json_writer *json);

#endif
