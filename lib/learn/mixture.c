#include "learn/mixture.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define PRIOR_LOSS 0.5f   /* the origin where no member is */
#define SHARE      0.0015 /* of what choosing is worth, that the choice without a member may cost */

_Static_assert(COP_LEARNER_EXPERTS <= COP_STACKING_MOST, "COP_STACKING_MOST is too small");

static void destroy(void *member) { cop_refit_free(member); }
static void save(const void *member, cop_bytes *bytes) { cop_refit_save(member, bytes); }
static cop_err load(void *member, cop_cursor *cursor) { return cop_refit_load(member, cursor); }

static cop_err make_room(void *member, const void *from) { return cop_refit_make_room(member, from); }
static void inherit(void *member, void *from) { cop_refit_inherit(member, from); }

static const cop_member_class refits = {
	.name = "refit", .destroy = destroy, .save = save, .load = load, .make_room = make_room, .inherit = inherit
};

cop_err cop_mixture_init(cop_mixture *mixture, size_t room)
{
	*mixture = (cop_mixture){ .room = room, .origin = COP_LEARNER_EXPERTS };
	mixture->mixed = cop_mem_alloc(cop_kernel_pad(room), sizeof *mixture->mixed);
	return mixture->mixed == NULL ? COP_ENOMEM : cop_dormancy_init(&mixture->rest);
}

void cop_mixture_fini(cop_mixture *mixture)
{
	for (size_t i = 0; i < mixture->count; i++) {
		mixture->class[i]->destroy(mixture->member[i]);
		cop_mem_free(mixture->loss[i]);
	}
	cop_mem_free(mixture->mixed);
	cop_dormancy_fini(&mixture->rest);
}

cop_err cop_mixture_join(cop_mixture *mixture, const cop_member_class *class, void *member)
{
	COP_ASSERT(mixture->count < COP_LEARNER_EXPERTS);
	size_t i = mixture->count++;
	mixture->class[i] = class;
	mixture->member[i] = member;
	mixture->loss[i] = cop_mem_alloc(cop_kernel_pad(mixture->room), sizeof *mixture->loss[i]);
	return mixture->loss[i] == NULL ? COP_ENOMEM : COP_OK;
}

void cop_mixture_originate(cop_mixture *mixture, size_t i) { mixture->origin = i; }

void cop_mixture_may_rest(cop_mixture *mixture, size_t i, double cost) { mixture->rest.member[i].cost = cost; }

bool cop_mixture_rests(const cop_mixture *mixture, size_t i) { return mixture->stack.away[i]; }

void cop_mixture_begin(cop_mixture *mixture)
{
	mixture->own = mixture->count;
	cop_stacking_begin(&mixture->stack, mixture->count);
}

cop_err cop_mixture_take(cop_mixture *mixture, cop_refit *refit)
{
	const size_t i = mixture->own;
	COP_ASSERT(i < COP_LEARNER_EXPERTS);
	if (mixture->refit == NULL) {
		mixture->loss[i] = cop_mem_alloc(cop_kernel_pad(mixture->room), sizeof *mixture->loss[i]);
		if (mixture->loss[i] == NULL) {
			cop_refit_free(refit);
			return COP_ENOMEM;
		}
		mixture->class[i] = &refits;
		mixture->count = i + 1;
		cop_stacking_join(&mixture->stack);
	}
	cop_dormancy_give_up(&mixture->rest);
	cop_refit_free(mixture->refit);
	mixture->refit = mixture->member[i] = refit;
	return COP_OK;
}

cop_err cop_mixture_expect(cop_mixture *mixture, const cop_cursor *cursor, size_t features, size_t outputs)
{
	bool wanted = cop_dormancy_saved(cursor) == mixture->own + 1;
	if (wanted && mixture->refit == NULL) {
		cop_refit *empty;
		cop_err err = cop_refit_empty(features, outputs, &empty);
		return err == COP_OK ? cop_mixture_take(mixture, empty) : err;
	}
	if (!wanted && mixture->refit != NULL) {
		cop_refit_free(mixture->refit);
		cop_mem_free(mixture->loss[mixture->own]);
		mixture->refit = NULL;
		mixture->count = mixture->own;
		cop_stacking_begin(&mixture->stack, mixture->count);
	}
	return COP_OK;
}

void cop_mixture_expect_refit(cop_mixture *mixture, size_t outputs, size_t features)
{
	if (mixture->refit != NULL)
		cop_refit_expect_saved(mixture->refit, outputs, features);
}

bool cop_mixture_lacks(const cop_mixture *mixture, size_t i, uint64_t rev)
{
	if (i == mixture->own)
		return rev < cop_refit_rev(mixture->refit);
	return rev < mixture->rest.member[i].woke && !mixture->stack.away[i];
}

double cop_mixture_weight(const cop_mixture *mixture, size_t which)
{
	double others = 0.0;
	for (size_t i = 0; i < mixture->count; i++)
		others += i == mixture->origin ? 0.0 : mixture->stack.weight[i];
	return which == mixture->origin ? 1.0 - others : mixture->stack.weight[which];
}

/* Of loss k; NULL: 1/2 of each. */
static const float *origins(const cop_mixture *mixture)
{
	return mixture->origin < mixture->count ? mixture->loss[mixture->origin] : NULL;
}

void cop_mixture_mix(cop_mixture *mixture, size_t n)
{
	const float *origin = origins(mixture);
	for (size_t k = 0; k < n; k++)
		mixture->mixed[k] = origin == NULL ? PRIOR_LOSS : origin[k];
	for (size_t i = 0; i < mixture->count; i++) {
		float *loss = mixture->loss[i];
		float weight = (float)mixture->stack.weight[i];
		if (i == mixture->origin)
			continue;
		for (size_t k = 0; k < n; k++) {
			float from = origin == NULL ? PRIOR_LOSS : origin[k];
			if (!isfinite(loss[k]) || mixture->stack.away[i])
				loss[k] = from;
			mixture->mixed[k] += weight * (loss[k] - from);
		}
	}
}

void cop_mixture_predictions(const cop_mixture *mixture, size_t which, float *prediction)
{
	for (size_t i = 0; i < mixture->count; i++)
		prediction[i] = mixture->loss[i][which];
}

/* Of what members predicted for one loss. */
static double origin_of(const cop_mixture *mixture, const float *prediction)
{
	return (double)(mixture->origin < mixture->count ? prediction[mixture->origin] : PRIOR_LOSS);
}

double cop_mixture_sum(const cop_mixture *mixture, const float *prediction)
{
	const double origin = origin_of(mixture, prediction);
	double sum = origin;
	for (size_t i = 0; i < mixture->count; i++)
		sum += mixture->stack.weight[i] * ((double)prediction[i] - origin);
	return sum;
}

bool cop_mixture_tries(const cop_mixture *mixture) { return mixture->rest.tried < COP_STACKING_MOST; }

/* What a stack says of one of the losses. */
static double stacked(const cop_mixture *mixture, const cop_stacking *stack, size_t k)
{
	const float *origins_of = origins(mixture);
	const double origin = (double)(origins_of == NULL ? PRIOR_LOSS : origins_of[k]);
	double sum = origin;
	for (size_t i = 0; i < mixture->count; i++)
		if (!stack->away[i] && isfinite(mixture->loss[i][k]))
			sum += stack->weight[i] * ((double)mixture->loss[i][k] - origin);
	return sum;
}

cop_dormancy_choice cop_mixture_choice(const cop_mixture *mixture, const uint8_t *mask, size_t n)
{
	double least = (double)INFINITY, least_without = (double)INFINITY, chosen = (double)INFINITY;
	double sum = 0.0, squares = 0.0, count = 0.0;
	for (size_t k = 0; k < n; k++) {
		if (mask != NULL && mask[k] == 0)
			continue;
		double with = stacked(mixture, &mixture->stack, k);
		double without = stacked(mixture, &mixture->rest.without, k);
		least = fmin(least, with);
		sum += with;
		squares += with * with;
		count += 1.0;
		if (without < least_without) {
			least_without = without;
			chosen = with;
		}
	}
	if (!isfinite(least))
		return (cop_dormancy_choice){ .regret = 0.0 };
	const double mean = sum / count;
	return (cop_dormancy_choice){
		.regret = fmin(chosen - least, 1.0) - SHARE * fmin(mean - least, 1.0),
		.spread = fmin(fmax(squares / count - mean * mean, 0.0), 1.0),
	};
}

void cop_mixture_settle(
        cop_mixture *mixture, const float *prediction, double loss, const cop_dormancy_choice *choice, uint64_t since)
{
	const double origin = origin_of(mixture, prediction);
	cop_dormancy_event event = { .y = loss - origin, .since = since };
	if (choice != NULL)
		event.choice = *choice;
	for (size_t i = 0; i < mixture->count; i++)
		event.z[i] = (double)prediction[i] - origin;
	cop_dormancy_settle(&mixture->rest, &mixture->stack, &event);
}

void cop_mixture_save_weights(const cop_mixture *mixture, cop_bytes *bytes)
{
	cop_dormancy_save(&mixture->rest, &mixture->stack, bytes);
}

cop_err cop_mixture_load_weights(cop_mixture *mixture, cop_cursor *cursor)
{
	return cop_dormancy_load(&mixture->rest, &mixture->stack, cursor);
}

void cop_mixture_save_members(const cop_mixture *mixture, cop_bytes *bytes)
{
	for (size_t i = 0; i < mixture->count; i++) {
		cop_bytes_put_text(bytes, mixture->class[i] -> name);
		mixture->class[i]->save(mixture->member[i], bytes);
	}
}

cop_err cop_mixture_load_members(cop_mixture *mixture, cop_cursor *cursor)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < mixture->count && err == COP_OK; i++) {
		char name[16];
		cop_cursor_text(cursor, name, sizeof name);
		err = cursor->err;
		if (err == COP_OK)
			err = strcmp(name, mixture->class[i] -> name) == 0
			              ? mixture->class[i]->load(mixture->member[i], cursor)
			              : COP_ESHAPE;
	}
	return err;
}

static size_t trees_of(const cop_mixture *mixture, size_t i)
{
	return mixture->class[i]->trees == NULL ? 0 : mixture->class[i]->trees(mixture->member[i]);
}

size_t cop_mixture_anatomy(const cop_mixture *mixture, cop_anatomy_part *parts)
{
	_Static_assert(COP_ANATOMY_PARTS >= COP_LEARNER_EXPERTS, "each member has a part");
	size_t trees = 0;
	for (size_t i = 0; i < mixture->count; i++) {
		parts[i] = (cop_anatomy_part){
			.name = mixture->class[i] -> name,
			.weight = cop_mixture_weight(mixture, i),
			.resting = cop_mixture_rests(mixture, i),
			.first_tree = trees,
			.trees = trees_of(mixture, i),
			.refit = mixture->refit != NULL && i == mixture->own,
		};
		trees += parts[i].trees;
		if (mixture->class[i] -> anatomy != NULL)
			mixture->class[i]->anatomy(mixture->member[i], &parts[i]);
	}
	return mixture->count;
}

size_t cop_mixture_trees(const cop_mixture *mixture)
{
	size_t count = 0;
	for (size_t i = 0; i < mixture->count; i++)
		count += trees_of(mixture, i);
	return count;
}

cop_err cop_mixture_tree(const cop_mixture *mixture, size_t m, cop_oblique_tree **out)
{
	*out = NULL;
	for (size_t i = 0; i < mixture->count; i++) {
		size_t count = trees_of(mixture, i);
		if (m < count)
			return mixture->class[i]->tree(mixture->member[i], m, out);
		m -= count;
	}
	return COP_ENOTFOUND;
}

size_t cop_mixture_grown(const cop_mixture *mixture)
{
	size_t most = 0;
	for (size_t i = 0; i < mixture->count; i++) {
		size_t leaves = mixture->class[i]->grown == NULL ? 0 : mixture->class[i]->grown(mixture->member[i]);
		most = leaves > most ? leaves : most;
	}
	return most;
}

cop_err cop_mixture_hold(cop_mixture *mixture, size_t leaves)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < mixture->count && err == COP_OK; i++)
		if (mixture->class[i] -> hold != NULL)
			err = mixture->class[i]->hold(mixture->member[i], leaves);
	return err;
}

/* Of a member that hands nothing over to one of more inputs. */
static cop_err load_member(const cop_member_class *class, void *member, const void *from)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	class->save(from, &bytes);
	cop_err err = bytes.err;
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	if (err == COP_OK)
		err = class->load(member, &cursor);
	cop_bytes_fini(&bytes);
	return err;
}

static cop_err make_member(cop_mixture *mixture, const cop_mixture *from, size_t i, bool wider)
{
	const cop_member_class *class = mixture->class[i];
	if (class != from->class[i] || class->make_room == NULL)
		return COP_ESHAPE;
	return wider && !class->widens ? load_member(class, mixture->member[i], from->member[i])
	                               : class->make_room(mixture->member[i], from->member[i]);
}

cop_err cop_mixture_make_room(cop_mixture *mixture, const cop_mixture *from, const cop_mixture_growth *growth)
{
	cop_err err = COP_OK;
	if (from->refit != NULL) {
		cop_refit *empty;
		err = cop_refit_empty(growth->features, growth->outputs, &empty);
		if (err == COP_OK)
			err = cop_mixture_take(mixture, empty);
		if (err == COP_OK && growth->wider)
			cop_mixture_expect_refit(mixture, growth->outputs_before, growth->known);
	}
	if (err == COP_OK && mixture->count != from->count)
		err = COP_ESHAPE;
	for (size_t i = 0; i < from->count && err == COP_OK; i++)
		err = make_member(mixture, from, i, growth->wider);
	return err;
}

void cop_mixture_inherit(cop_mixture *mixture, cop_mixture *from, bool wider)
{
	mixture->stack = from->stack;
	cop_dormancy_inherit(&mixture->rest, &from->rest);
	for (size_t i = 0; i < mixture->count; i++)
		if (!wider || mixture->class[i] -> widens)
			mixture->class[i]->inherit(mixture->member[i], from->member[i]);
}
