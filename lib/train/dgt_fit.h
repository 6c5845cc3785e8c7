/* train/dgt_fit.h: dense gradient trees learned from labelled rows, in mini-batches (Karthikeyan et al., Algorithm 3
 * and appendix C.3.1).
 *
 * a = W^(L) ... W^(1) [x; 1], L linear layers of the widths of table 12 (L = 3) or any given; after training their
 * product collapses to one (2^h - 1) x (d + 1) matrix, and the tree returned is a plain oblique tree of height h with
 * constant leaves (classes: link logits, values: link values). Gradients of the factors follow from that of the product
 * where that is cheaper, else layer by layer. The epoch with the least validation loss is kept. BLAS does the work:
 * equal seeds give equal trees on the same kind of processor with the same number of BLAS threads. */
#ifndef COP_TRAIN_DGT_FIT_H
#define COP_TRAIN_DGT_FIT_H

#include "base/rng.h"
#include "train/sample.h"
#include "tree/tree.h"

#define COP_DGT_FIT_MAX_LAYERS 8

typedef enum cop_dgt_loss {
	COP_DGT_CROSS_ENTROPY = 0, /* classes */
	COP_DGT_SQUARED,           /* values */
	COP_DGT_HUBER,
	COP_DGT_CUSTOM,
	COP_DGT_LOSSES
} cop_dgt_loss;

/* Loss of one row and its gradient g by the K predictions f; row: its number in the sample's dataset. */
typedef double cop_dgt_custom(void *context, size_t row, const float *f, float *g);

typedef enum cop_dgt_gradients { COP_DGT_CHEAPER = 0, COP_DGT_COLLAPSED, COP_DGT_LAYERED } cop_dgt_gradients;

typedef struct cop_dgt_fit_settings {
	unsigned height; /* 1..COP_DGT_MAX_HEIGHT */
	unsigned layers; /* L, 1..COP_DGT_FIT_MAX_LAYERS */
	size_t width;    /* of hidden layers; 0: table 12, between its heights interpolated */
	cop_dgt_gradients gradients;
	cop_dgt_loss loss;
	double huber; /* where it turns linear, in target units */
	cop_dgt_custom *custom;
	void *custom_context;
	size_t batch; /* rows of a mini-batch */
	unsigned epochs;
	unsigned patience;     /* epochs without a better validation loss before it ends; 0: never early */
	const char *optimiser; /* of optim/optim.h */
	double lr, minimum_lr, momentum;
	unsigned restarts;   /* of the cosine schedule */
	double clip;         /* most gradient norm; 0: none */
	double l1, l2;       /* lambda_1 sum |w| or lambda_2 / 2 sum w^2 over the factors with their biases, not both */
	bool regularise_one; /* also when L = 1 (forests) */
	bool shared_bias;    /* one trained scalar in all leaves (the authors' program) */
	bool scaled_quantiser; /* fac = mean |a| (the authors' program) instead of 1 */
	bool product_paths;    /* ablation: product form of paths (eq. 2) */
	bool anneal;           /* ablation: scaled sigmoid, ever steeper, instead of sign */
	double anneal_first, anneal_last;
} cop_dgt_fit_settings;

/* Those of the authors' program, for a task. */
void cop_dgt_fit_defaults(cop_task task, cop_dgt_fit_settings *settings);

typedef struct cop_dgt_fit_report {
	double validation_loss;      /* the least; NaN without validation */
	unsigned best_epoch, epochs; /* from 1 */
	uint64_t updates;
} cop_dgt_fit_report;

/* validation NULL: the last epoch is kept. Values should be scaled to about [0, 1]. progress and report may be NULL.
 * Caller frees *out. COP_EINVAL: a setting outside its range or not for the task (costs are none of its), shapes that
 * differ, n 0. COP_EDIVERGED: a parameter would not be finite. COP_ENOMEM. */
COP_CHECK cop_err cop_dgt_fit(const cop_dgt_fit_settings *settings, const cop_sample *sample,
        const cop_sample *validation, cop_rng *rng, const cop_progress *progress, cop_dgt_fit_report *report,
        cop_tree **out);

#endif
