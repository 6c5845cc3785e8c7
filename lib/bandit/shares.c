/* c rises from pass to pass: arms that reach their most are taken out, and what they leave goes to the rest, which can
 * only lift more arms to their most. So an arm taken out stays out, and passes end. */
#include "bandit/shares.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"

#define SLACK    1e-9 /* in sums of shares and their proportions, for rounding */
#define MOST_ARM 9    /* digits */

_Static_assert(COP_SHARES_ARMS <= 64, "arms at their most are bits of a word");
_Static_assert(sizeof(cop_arm_shares) == sizeof(uint64_t) + COP_SHARES_ARMS * (sizeof(uint32_t) + sizeof(double)),
        "compared and copied as bytes");

static const char *insert(cop_arm_shares *shares, uint32_t arm, double share)
{
	size_t at = 0;
	while (at < shares->count && shares->arm[at] < arm)
		at++;
	if (at < shares->count && shares->arm[at] == arm)
		return "expected each arm once";
	if (shares->count == COP_SHARES_ARMS)
		return "expected at most 64 arms";
	size_t after = (size_t)shares->count - at;
	memmove(&shares->arm[at + 1], &shares->arm[at], after * sizeof *shares->arm);
	memmove(&shares->share[at + 1], &shares->share[at], after * sizeof *shares->share);
	shares->arm[at] = arm;
	shares->share[at] = share;
	shares->count++;
	return NULL;
}

const char *cop_shares_add(cop_arm_shares *shares, const char *text)
{
	static const char expected[] = "expected ARM=SHARE, an arm's number from 0 and a share from 0 to 1";
	size_t digits = strspn(text, "0123456789");
	uint32_t arm = 0;
	double share;
	if (digits == 0 || digits > MOST_ARM || text[digits] != '=')
		return expected;
	for (size_t i = 0; i < digits; i++)
		arm = 10 * arm + (uint32_t)(text[i] - '0');
	text += digits + 1;
	if (cop_number_parse(text, strlen(text), &share) != COP_OK || !(share >= 0.0 && share <= 1.0))
		return expected;
	return insert(shares, arm, share);
}

/* ---- limits of one arm ---- */

/* Arms come in rising order. */
typedef struct cursor {
	const cop_arm_shares *shares;
	size_t at;
} cursor;

/* Whether arm k has a share of its own, *place its place among them. */
static bool find(cursor *c, size_t k, size_t *place)
{
	while (c->at < c->shares->count && c->shares->arm[c->at] < k)
		c->at++;
	*place = c->at;
	return c->at < c->shares->count && c->shares->arm[c->at] == k;
}

typedef struct limits {
	cursor min, max;
	double floor; /* f / n */
	double scale; /* of maxima that add to less than 1 */
} limits;

typedef struct bounds {
	double least, most;
	uint64_t bit; /* of an arm that has a share_max */
} bounds;

static limits begin(const cop_shares *shares, size_t eligible, double scale)
{
	return (limits){ { &shares->min, 0 }, { &shares->max, 0 }, shares->least_propensity / (double)eligible, scale };
}

static bounds next(limits *l, size_t k)
{
	size_t place;
	bounds out = { l->floor, 1.0, 0 };
	if (find(&l->max, k, &place)) {
		out.most = fmin(1.0, l->max.shares->share[place] * l->scale);
		out.bit = UINT64_C(1) << place;
		out.least = fmin(out.least, out.most);
	}
	if (find(&l->min, k, &place))
		out.least = fmin(fmax(out.least, l->min.shares->share[place]), out.most);
	return out;
}

static bool plays(const uint8_t *mask, size_t k) { return mask == NULL || mask[k] != 0; }

bool cop_shares_retired(const cop_shares *shares, size_t arm)
{
	for (size_t i = 0; i < shares->max.count; i++)
		if (shares->max.arm[i] == arm)
			return shares->max.share[i] == 0.0;
	return false;
}

bool cop_shares_without_retired(const cop_shares *shares, size_t arms, const uint8_t *mask, uint8_t *out)
{
	bool any = false, left = false;
	for (size_t i = 0; i < shares->max.count; i++)
		any = any || shares->max.share[i] == 0.0;
	if (!any)
		return false;
	for (size_t k = 0; k < arms; k++)
		out[k] = plays(mask, k);
	for (size_t i = 0; i < shares->max.count; i++)
		if (shares->max.share[i] == 0.0 && shares->max.arm[i] < arms)
			out[shares->max.arm[i]] = 0;
	for (size_t k = 0; k < arms && !left; k++)
		left = out[k] != 0;
	return left;
}

/* ---- contradictions ---- */

static double sum_of(const cop_arm_shares *shares)
{
	double sum = 0.0;
	for (size_t i = 0; i < shares->count; i++)
		sum += shares->share[i];
	return sum;
}

static bool in_range(const cop_arm_shares *shares, size_t arms)
{
	for (size_t i = 0; i < shares->count; i++)
		if (shares->arm[i] >= arms || !(shares->share[i] >= 0.0 && shares->share[i] <= 1.0) ||
		        (i > 0 && shares->arm[i] <= shares->arm[i - 1]))
			return false;
	return shares->count <= COP_SHARES_ARMS;
}

static bool crossed(const cop_shares *shares)
{
	cursor max = { &shares->max, 0 };
	size_t place;
	for (size_t i = 0; i < shares->min.count; i++)
		if (find(&max, shares->min.arm[i], &place) && shares->max.share[place] < shares->min.share[i])
			return true;
	return false;
}

/* The most that least(k) can add to where n arms are eligible: those with the largest minima, and others beside. */
static double most_of_leasts(const cop_shares *shares, size_t n)
{
	double floor = shares->least_propensity / (double)n, sum = 0.0;
	size_t above = 0;
	for (size_t i = 0; i < shares->min.count; i++)
		if (shares->min.share[i] > floor) {
			sum += shares->min.share[i];
			above++;
		}
	return above >= n ? 0.0 : sum + (double)(n - above) * floor; /* minima alone add to no more than 1 */
}

const char *cop_shares_refusal(const cop_shares *shares, size_t arms)
{
	if (!(shares->least_propensity >= 0.0 && shares->least_propensity <= 1.0))
		return "least_propensity: expected 0 to 1";
	if (arms == 0 && shares->min.count + shares->max.count > 0)
		return "share_min, share_max: candidates and values have none, expected them only in models of arms";
	if (!in_range(&shares->min, arms))
		return "share_min: expected arms that there are, each once, with shares from 0 to 1";
	if (!in_range(&shares->max, arms))
		return "share_max: expected arms that there are, each once, with shares from 0 to 1";
	if (crossed(shares))
		return "share_min: above the same arm's share_max, expected at most that";
	if (sum_of(&shares->min) > 1.0 + SLACK)
		return "share_min: the arms' shares add to more than 1, expected at most 1 in all";
	if (arms > 0 && shares->max.count == arms && sum_of(&shares->max) < 1.0 - SLACK)
		return "share_max: all arms' shares add to less than 1, expected at least 1 in all";
	for (size_t n = 1; n <= arms && shares->min.count > 0; n++)
		if (most_of_leasts(shares, n) > 1.0 + SLACK)
			return "share_min: with least_propensity for the other arms they can add to more than 1, "
			       "expected "
			       "less of either";
	return NULL;
}

/* ---- the distribution within ---- */

/* Whether p keeps the limits; *maxima: what the eligible arms may have in all. */
static bool is_within(
        const cop_shares *shares, size_t arms, const uint8_t *mask, size_t eligible, const double *p, double *maxima)
{
	limits l = begin(shares, eligible, 1.0);
	bool within = true;
	*maxima = 0.0;
	for (size_t k = 0; k < arms; k++) {
		if (!plays(mask, k))
			continue;
		bounds limit = next(&l, k);
		within = within && p[k] >= limit.least && p[k] <= limit.most;
		*maxima += limit.most;
	}
	return within;
}

typedef struct spread {
	limits limits; /* at the first arm */
	size_t arms;
	const uint8_t *mask;
	uint64_t full; /* arms that are at their most */
	bool even;     /* w is 1 */
	double c;
} spread;

static double weight(const spread *s, const double *p, size_t k, const bounds *limit)
{
	return s->even ? 1.0 : fmax(p[k] - limit->least, 0.0);
}

/* c from the arms that are not at their most. False: no arm among them has a weight. */
static bool divide(spread *s, const double *p)
{
	limits l = s->limits;
	double left = 1.0, weights = 0.0;
	for (size_t k = 0; k < s->arms; k++) {
		if (!plays(s->mask, k))
			continue;
		bounds limit = next(&l, k);
		bool full = (s->full & limit.bit) != 0;
		left -= full ? limit.most : limit.least;
		weights += full ? 0.0 : weight(s, p, k, &limit);
	}
	s->c = weights > DBL_MIN ? fmax(left, 0.0) / weights : 0.0;
	return weights > DBL_MIN || left <= SLACK;
}

/* Notes arms that c lifts to their most; false: none. */
static bool fill(spread *s, const double *p)
{
	limits l = s->limits;
	uint64_t before = s->full;
	for (size_t k = 0; k < s->arms; k++) {
		if (!plays(s->mask, k))
			continue;
		bounds limit = next(&l, k);
		if (limit.bit != 0 && limit.least + s->c * weight(s, p, k, &limit) >= limit.most)
			s->full |= limit.bit;
	}
	return s->full != before;
}

static void settle(const spread *s, double *p)
{
	limits l = s->limits;
	for (size_t k = 0; k < s->arms; k++) {
		if (!plays(s->mask, k))
			continue;
		bounds limit = next(&l, k);
		bool full = (s->full & limit.bit) != 0;
		p[k] = full ? limit.most : fmin(1.0, limit.least + s->c * weight(s, p, k, &limit));
	}
}

bool cop_shares_keep(
        const cop_shares *shares, size_t arms, const uint8_t *mask, size_t eligible, double *p, double *was)
{
	double maxima;
	if (shares->least_propensity == 0.0 && shares->min.count + shares->max.count == 0)
		return false;
	if (is_within(shares, arms, mask, eligible, p, &maxima))
		return false;
	if (was != NULL)
		memcpy(was, p, arms * sizeof *p);
	if (maxima <= 0.0) {
		for (size_t k = 0; k < arms; k++)
			p[k] = plays(mask, k) ? 1.0 / (double)eligible : 0.0;
		return true;
	}
	spread s = { .limits = begin(shares, eligible, maxima < 1.0 ? 1.0 / maxima : 1.0), .arms = arms, .mask = mask };
	do {
		if (!divide(&s, p)) {
			s.even = true;
			(void)divide(&s, p);
		}
	} while (fill(&s, p));
	settle(&s, p);
	return true;
}

cop_shares_limit cop_shares_limit_of(const cop_shares *shares, size_t eligible, size_t arm, double was, double q)
{
	limits l = begin(shares, eligible, 1.0);
	const bounds limit = next(&l, arm);
	if (q < was)
		return limit.bit != 0 && q >= limit.most ? COP_SHARES_LIMIT_MAX : COP_SHARES_LIMIT_NONE;
	if (q <= was * (1.0 + SLACK))
		return COP_SHARES_LIMIT_NONE;
	if (was >= limit.least || q > limit.least * (1.0 + SLACK))
		return shares->max.count > 0 ? COP_SHARES_LIMIT_MAX : COP_SHARES_LIMIT_NONE;
	return limit.least > l.floor ? COP_SHARES_LIMIT_MIN : COP_SHARES_LIMIT_LEAST;
}
