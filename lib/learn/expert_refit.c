/* Takes raw rows, unlike the others, and joins the mixture only when a refit comes: it is made elsewhere. */
#include "learn/expert.h"

static void predict(void *expert, const cop_row *raw, float *loss) { cop_refit_predict(expert, raw, loss); }

static cop_err learn(void *expert, const cop_row *raw, size_t arm, double loss, bool again)
{
	cop_refit_learn(expert, raw, arm, loss, again);
	return COP_OK;
}

static void explain(void *expert, const cop_row *raw, size_t arm, cop_explanation *e, cop_explained_expert *out)
{
	cop_refit_explain(expert, raw, arm, e, out);
}

const cop_expert_class cop_expert_refit = {
	.member = { .name = "refit" }, /* the mixture itself keeps it */
	.raw = true,
	.predict = predict,
	.learn = learn,
	.explain = explain,
};
