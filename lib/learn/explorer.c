/* Choosing is a view, one draw from its probabilities and one more decision on the clock. A view spends nothing, so
 * that what is evaluated or followed leaves generator and clock as they were. Saved are the generator and the clock
 * alone: the probabilities are those of the last call. */
#include "learn/explorer.h"

#include "base/mem.h"

enum { POLICY_STREAM = 1 };

cop_err cop_explorer_init(cop_explorer *explorer, const cop_learner_settings *settings)
{
	*explorer = (cop_explorer){ .policy = cop_policy_find(settings->policy), .arms = settings->arms };
	cop_rng_init(&explorer->rng, settings->seed, POLICY_STREAM);
	explorer->p = cop_mem_alloc(settings->arms, sizeof *explorer->p);
	explorer->was = cop_mem_alloc(settings->arms, sizeof *explorer->was);
	return explorer->p == NULL || explorer->was == NULL ? COP_ENOMEM : COP_OK;
}

void cop_explorer_fini(cop_explorer *explorer)
{
	cop_mem_free(explorer->p);
	cop_mem_free(explorer->was);
}

/* Evenly over the eligible arms. */
static void spread(cop_explorer *explorer, const uint8_t *mask, size_t eligible)
{
	for (size_t k = 0; k < explorer->arms; k++)
		explorer->p[k] = mask == NULL || mask[k] != 0 ? 1.0 / (double)eligible : 0.0;
}

cop_err cop_explorer_view(cop_explorer *explorer, const cop_policy_settings *settings, const float *loss,
        const uint8_t *mask, cop_policy_view *out)
{
	size_t eligible;
	*out = (cop_policy_view){ .arms = explorer->arms, .p = explorer->p, .loss = loss };
	explorer->viewed = explorer->decisions;
	cop_err err = cop_policy_best(explorer->arms, loss, mask, &out->best, &eligible);
	if (err != COP_OK)
		return err;
	if (explorer->decisions < settings->first)
		spread(explorer, mask, eligible);
	else
		explorer->policy->probabilities(settings, explorer->decisions, explorer->arms, loss, mask, out->best,
		        eligible, explorer->belief, explorer->p);
	explorer->limited =
	        cop_shares_keep(&settings->shares, explorer->arms, mask, eligible, explorer->p, explorer->was);
	explorer->eligible = eligible;
	return COP_OK;
}

cop_err cop_explorer_view_as(const cop_explorer *explorer, const cop_policy_other *other, const float *loss,
        const uint8_t *mask, cop_policy_view *out)
{
	cop_explorer like = *explorer;
	like.policy = other->policy;
	like.decisions = explorer->viewed;
	like.p = other->p;
	return cop_explorer_view(&like, other->settings, loss, mask, out);
}

cop_err cop_explorer_choose(cop_explorer *explorer, const cop_policy_settings *settings, const float *loss,
        const uint8_t *mask, cop_decision *out)
{
	cop_policy_view view;
	cop_err err = cop_explorer_view(explorer, settings, loss, mask, &view);
	if (err != COP_OK)
		return err;
	size_t arm = cop_policy_draw(explorer->arms, explorer->p, &explorer->rng);
	explorer->decisions++;
	out->arm = (uint32_t)arm;
	out->p = explorer->p[arm];
	out->greedy = arm == view.best;
	if (explorer->limited)
		out->limit = (uint8_t)cop_shares_limit_of(
		        &settings->shares, explorer->eligible, arm, explorer->was[arm], out->p);
	return COP_OK;
}

cop_policy_view cop_explorer_last(const cop_explorer *explorer, const float *loss)
{
	return (cop_policy_view){ .arms = explorer->arms, .p = explorer->p, .loss = loss };
}

void cop_explorer_advance(cop_explorer *explorer)
{
	(void)cop_rng_u64(&explorer->rng); /* a draw takes one number, whatever its outcome */
	explorer->decisions++;
}

size_t cop_explorer_best(const cop_explorer *explorer, const float *loss, const uint8_t *mask)
{
	size_t best = 0;
	size_t eligible;
	(void)!cop_policy_best(explorer->arms, loss, mask, &best, &eligible); /* one is, says the contract */
	return best;
}

void cop_explorer_save(const cop_explorer *explorer, cop_bytes *bytes)
{
	cop_bytes_put_rng(bytes, &explorer->rng);
	cop_bytes_put_u64(bytes, explorer->decisions);
}

void cop_explorer_load(cop_explorer *explorer, cop_cursor *cursor)
{
	cop_cursor_rng(cursor, &explorer->rng);
	explorer->decisions = cop_cursor_u64(cursor);
}

void cop_explorer_inherit(cop_explorer *explorer, const cop_explorer *from)
{
	explorer->rng = from->rng;
	explorer->decisions = from->decisions;
}
