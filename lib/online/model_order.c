/* Candidates in the order of their predicted losses: a heap, so that ties go by place and nothing is allocated. */
#include "online/model_state.h"

static bool better(const float *loss, uint32_t a, uint32_t b)
{
	float one = loss[a];
	float other = loss[b];
	return one < other || (one == other && a < b);
}

/* Of a heap whose top is the worst. */
static void sift(const float *loss, uint32_t *order, size_t root, size_t n)
{
	uint32_t moved = order[root];
	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && better(loss, order[child], order[child + 1]))
			child++;
		if (!better(loss, moved, order[child]))
			break;
		order[root] = order[child];
		order[child] = moved;
	}
}

cop_err cop_model_order(cop_model *model, const cop_model_context *context, uint32_t *order, size_t *count)
{
	const cop_candidates set = cop_model_candidates(context);
	cop_policy_view view;
	cop_decision any = { .p = 1.0 };
	if (!model->learner->class->candidates)
		return COP_EINVAL;
	cop_err err = cop_learner_view(model->learner, context->x, &set, &any, &view);
	if (err != COP_OK)
		return err;
	size_t n = 0;
	for (size_t k = 0; k < set.count; k++)
		if (set.mask == NULL || set.mask[k])
			order[n++] = (uint32_t)k;
	for (size_t i = n / 2; i-- > 0;)
		sift(view.loss, order, i, n);
	for (size_t last = n; last-- > 1;) {
		uint32_t worst = order[0];
		order[0] = order[last];
		order[last] = worst;
		sift(view.loss, order, 0, last);
	}
	*count = n;
	return COP_OK;
}
