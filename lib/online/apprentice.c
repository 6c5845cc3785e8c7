/* Sums are compensated (cop_sum), so a load can check them against their counts: agreed <= observed, explored <=
 * losses <= observed, and the sum of q within [0, observed] up to SLACK. The order of doubts matters: too few losses,
 * then weights that are too high (a wrong p), then too low (no exploration), then too spread; only without doubt is a
 * gain given. */
#include "online/apprentice.h"

#include <math.h>

#include "base/assert.h"

#define NEAR   0.05 /* how far from 1 the mean weight may be, */
#define ERRORS 3.0  /* allowing for so many standard errors; */
#define FAR    0.1  /* and without allowing for them */
#define SLACK  1e-6 /* of sums */
#define CLIP   1e6  /* costs nothing where weight_most is not told, and leaves nothing out */

void cop_apprentice_init(cop_apprentice *apprentice)
{
	cop_promotion_test_settings rule;
	*apprentice = (cop_apprentice){ 0 };
	cop_promotion_test_defaults(&rule);
	rule.estimator = COP_PROMOTION_TEST_DR;
	rule.clip = CLIP;
	cop_err err = cop_promotion_test_init(&apprentice->evidence, &rule);
	COP_ASSERT(err == COP_OK);
}

bool cop_apprentice_is_used(const cop_apprentice *apprentice)
{
	return apprentice->observed > 0 || apprentice->evidence.n > 0;
}

void cop_apprentice_note(cop_apprentice *apprentice, double own_p, bool agrees)
{
	apprentice->observed++;
	apprentice->agreed += agrees;
	cop_sum_add(&apprentice->own, own_p);
}

void cop_apprentice_weigh(cop_apprentice *apprentice, double p, double own_p, double loss)
{
	const cop_promotion_test_event event = { .p = p, .loss = loss, .champion = p, .challenger = own_p };
	if (cop_promotion_test_add(&apprentice->evidence, &event) == COP_OK)
		apprentice->explored += p < 1.0;
}

static cop_apprentice_doubt doubt_of(const cop_apprentice *a, double support)
{
	double n = (double)a->evidence.n;
	if (a->evidence.n < COP_APPRENTICE_LEAST)
		return COP_APPRENTICE_FEW;
	double square = cop_sum_value(&a->evidence.challenger_square) / n;
	double error = sqrt(fmax(square - support * support, 0.0) / n);
	if (support - ERRORS * error > 1.0 + NEAR)
		return COP_APPRENTICE_WRONG;
	if (a->explored == 0 || support + ERRORS * error < 1.0 - NEAR)
		return COP_APPRENTICE_NARROW;
	return fabs(support - 1.0) <= FAR ? COP_APPRENTICE_SURE : COP_APPRENTICE_FEW;
}

void cop_apprentice_summarise(const cop_apprentice *apprentice, cop_apprentice_summary *out)
{
	const double unknown = (double)NAN;
	cop_promotion_test_summary evidence;
	double n = (double)apprentice->observed;
	cop_promotion_test_summarise(&apprentice->evidence, &evidence);
	*out = (cop_apprentice_summary){
		.observed = apprentice->observed,
		.agreed = apprentice->agreed,
		.losses = evidence.events,
		.agreement = n > 0.0 ? (double)apprentice->agreed / n : unknown,
		.own_p = n > 0.0 ? cop_sum_value(&apprentice->own) / n : unknown,
		.support = evidence.events > 0 ? evidence.challenger_weight : unknown,
		.gain = unknown,
		.low = unknown,
		.high = unknown,
	};
	out->doubt = doubt_of(apprentice, evidence.challenger_weight);
	if (out->doubt != COP_APPRENTICE_SURE)
		return;
	out->gain = evidence.value[COP_PROMOTION_TEST_DR];
	out->low = evidence.low[COP_PROMOTION_TEST_DR];
	out->high = evidence.high[COP_PROMOTION_TEST_DR];
}

const char *cop_apprentice_doubt_text(cop_apprentice_doubt doubt)
{
	static const char *const texts[COP_APPRENTICE_DOUBTS] = {
		[COP_APPRENTICE_SURE] = "",
		[COP_APPRENTICE_FEW] = "too few losses so far",
		[COP_APPRENTICE_NARROW] = "the existing system explores too little: it must play all arms sometimes",
		[COP_APPRENTICE_WRONG] = "p is not the propensity: it is too low for how often the arms are played",
	};
	return (unsigned)doubt < COP_APPRENTICE_DOUBTS ? texts[doubt] : "";
}

void cop_apprentice_save(const cop_apprentice *apprentice, cop_bytes *out)
{
	cop_bytes_put_u64(out, apprentice->observed);
	cop_bytes_put_u64(out, apprentice->agreed);
	cop_bytes_put_u64(out, apprentice->explored);
	cop_bytes_put_f64(out, apprentice->own.total);
	cop_bytes_put_f64(out, apprentice->own.rest);
	cop_promotion_test_save(&apprentice->evidence, out);
}

cop_err cop_apprentice_load(cop_apprentice *apprentice, cop_cursor *in)
{
	cop_apprentice new;
	double own[2];
	new.observed = cop_cursor_u64(in);
	new.agreed = cop_cursor_u64(in);
	new.explored = cop_cursor_u64(in);
	cop_cursor_f64s(in, own, 2);
	if (in->err != COP_OK)
		return in->err;
	new.own = (cop_sum){ own[0], own[1] };
	cop_err err = cop_promotion_test_load(&new.evidence, in);
	if (err != COP_OK)
		return err;
	double most = (double)new.observed, sum = cop_sum_value(&new.own);
	if (new.observed > UINT64_MAX / 2 || new.agreed > new.observed || new.explored > new.evidence.n ||
	        new.evidence.n > new.observed || sum < -SLACK || sum > most *(1.0 + SLACK) + SLACK)
		return COP_EFORMAT;
	*apprentice = new;
	return COP_OK;
}
