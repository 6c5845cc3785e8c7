#include "learn/candidate_expert_additive.h"

#include <math.h>

#include "base/mem.h"

#define LINEAR_RATE 0.3f

void cop_candidate_expert_additive_free(void *scorer)
{
	cop_candidate_expert_additive *s = scorer;
	if (s == NULL)
		return;
	cop_additive_free(s->model);
	cop_cross_linear_fini(&s->linear);
	cop_mem_free(s->scores);
	cop_mem_free(s);
}

cop_err cop_candidate_expert_additive_new(const cop_candidate_expert_settings *settings,
        const cop_additive_settings *of_trees, bool products_only, size_t scores, cop_rng *rng, void **out)
{
	*out = NULL;
	float rate = LINEAR_RATE * settings->rate / sqrtf((float)settings->candidate_entries);
	cop_candidate_expert_additive *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->kernel = settings->joint.kernel;
	s->estimator = cop_estimator_find("direct");
	cop_err err = cop_cross_linear_init(&s->linear, &settings->joint, products_only, rate);
	if (err == COP_OK && scores > 0) {
		s->scores = cop_mem_alloc(cop_kernel_pad(scores), sizeof *s->scores);
		err = s->scores == NULL ? COP_ENOMEM : COP_OK;
	}
	if (err == COP_OK)
		err = cop_additive_new(of_trees, rng, &s->model);
	if (err != COP_OK) {
		cop_candidate_expert_additive_free(s);
		return err;
	}
	*out = s;
	return COP_OK;
}

void cop_candidate_expert_additive_save(const void *scorer, cop_bytes *bytes)
{
	const cop_candidate_expert_additive *s = scorer;
	cop_additive_save(s->model, bytes);
	cop_cross_linear_save(&s->linear, bytes);
}

cop_err cop_candidate_expert_additive_load(void *scorer, cop_cursor *cursor)
{
	cop_candidate_expert_additive *s = scorer;
	cop_err err = cop_additive_load(s->model, cursor);
	return err != COP_OK ? err : cop_cross_linear_load(&s->linear, cursor);
}

void cop_candidate_expert_additive_anatomy(const void *scorer, cop_anatomy_part *out)
{
	const cop_cross_linear *l = &((const cop_candidate_expert_additive *)scorer)->linear;
	out->unit = COP_ANATOMY_LOGIT;
	out->linear = (cop_anatomy_linear){ l->w, l->inputs, 1, 1, 1, l->inputs, 1.0f };
}

size_t cop_candidate_expert_additive_trees(const void *scorer)
{
	return cop_additive_trees(((const cop_candidate_expert_additive *)scorer)->model);
}

cop_err cop_candidate_expert_additive_tree(const void *scorer, size_t m, cop_oblique_tree **out)
{
	return cop_additive_tree(((const cop_candidate_expert_additive *)scorer)->model, m, out);
}
