/* Three hashes of one keyed function, by salts: who is held out, a unit's place, and a baseline's even draw. They are
 * independent of one another, so counting by places says nothing of who is held out. */
#include "online/control.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"

#define SALT_SPLIT UINT64_C(0x6a09e667f3bcc909)
#define SALT_PLACE UINT64_C(0xbb67ae8584caa73b)
#define SALT_DRAW  UINT64_C(0x3c6ef372fe94f82b)
#define PRIOR      100.0 /* units that the promised share is worth */
#define LEVEL      (COP_CONTROL_RISK / 4.0)
#define MOST_ODDS  690.0 /* as a logarithm */
#define FIND_EACH  16    /* losses until the bounds are found anew */
#define AGAIN      1.05  /* decisions for each unit, from which on units come again */
#define UNEVEN     (0.001 / 4.0)

static double unit_interval(uint64_t hash) { return (double)(hash >> 11) * 0x1p-53; }

uint32_t cop_control_place(const cop_event_id *unit, uint64_t key)
{
	return (uint32_t)(cop_event_id_hash(unit, key ^ SALT_PLACE) % COP_CONTROL_PLACES);
}

cop_control_split cop_control_find(const cop_control_terms *terms, const cop_event_id *unit, uint64_t key)
{
	return (cop_control_split){
		.terms = *terms,
		.place = cop_control_place(unit, key),
		.by = unit_interval(cop_event_id_hash(unit, key ^ SALT_SPLIT)) < terms->share ? COP_CONTROL_HELD
		                                                                              : COP_CONTROL_POLICY,
	};
}

static bool eligible(const uint8_t *mask, size_t arm) { return mask == NULL || mask[arm] != 0; }

/* The one arm that a baseline plays; false: none in particular. */
static bool names_arm(int64_t baseline, const cop_control_caller *caller, size_t arms, const uint8_t *mask, size_t *arm)
{
	if (baseline == COP_CONTROL_UNIFORM || (baseline == COP_CONTROL_CALLER && caller->p <= 0.0))
		return false;
	*arm = baseline == COP_CONTROL_CALLER ? caller->arm : (size_t)baseline;
	return *arm < arms && eligible(mask, *arm);
}

static size_t count_eligible(size_t arms, const uint8_t *mask)
{
	size_t count = 0;
	for (size_t k = 0; k < arms; k++)
		count += eligible(mask, k);
	return count;
}

double cop_control_play(int64_t baseline, const cop_control_caller *caller, const cop_event_id *id, uint64_t key,
        size_t arms, const uint8_t *mask, uint32_t *arm)
{
	size_t named;
	if (names_arm(baseline, caller, arms, mask, &named)) {
		*arm = (uint32_t)named;
		return baseline == COP_CONTROL_CALLER ? caller->p : 1.0;
	}
	size_t count = count_eligible(arms, mask);
	COP_ASSERT(count > 0);
	size_t left = (size_t)(unit_interval(cop_event_id_hash(id, key ^ SALT_DRAW)) * (double)count);
	size_t k = 0;
	while (!eligible(mask, k) || left-- > 0)
		k++;
	*arm = (uint32_t)k;
	return 1.0 / (double)count;
}

void cop_control_probabilities(
        int64_t baseline, const cop_control_caller *caller, size_t arms, const uint8_t *mask, double *p)
{
	size_t named;
	bool one = names_arm(baseline, caller, arms, mask, &named);
	double each = 1.0 / (double)count_eligible(arms, mask);
	for (size_t k = 0; k < arms; k++)
		p[k] = one ? (k == named) : eligible(mask, k) ? each : 0.0;
}

/* ---- what is counted ---- */

void cop_control_init(cop_control *control)
{
	memset(control, 0, sizeof *control);
	control->high = 1.0;
	for (size_t g = 0; g < 2; g++)
		cop_unit_mean_init(&control->group[g].loss);
}

/* By what the mixture had predicted of such a unit, over what was promised. */
static void count_unit(cop_control *control, bool held)
{
	double share = control->terms.share, held_before = (double)control->held;
	double before = (double)control->units + PRIOR;
	double predicted = held ? held_before + PRIOR * share : before - held_before - PRIOR * share;
	control->log_odds += log(predicted / before / (held ? share : 1.0 - share));
	control->units++;
	control->held += held;
}

/* As many as would leave so many places free. */
static double estimate_units(const cop_control *control)
{
	const double places = COP_CONTROL_PLACES;
	return -places * log1p(-fmin((double)control->units, places - 0.5) / places);
}

static double count_decisions(const cop_control *control)
{
	return (double)(control->group[0].decisions + control->group[1].decisions + control->kept);
}

bool cop_control_returning(const cop_control *control)
{
	return count_decisions(control) > AGAIN * estimate_units(control) + 1.0;
}

static bool same_terms(const cop_control_terms *a, const cop_control_terms *b)
{
	return a->share == b->share && a->baseline == b->baseline && a->allowance == b->allowance;
}

bool cop_control_note(cop_control *control, const cop_control_split *split, double now)
{
	bool begins = !same_terms(&control->terms, &split->terms);
	if (begins) {
		cop_control_init(control);
		control->terms = split->terms;
		control->since = now;
	}
	if (split->by == COP_CONTROL_KEPT)
		control->kept++;
	else
		control->group[split->by].decisions++;
	control->waiting += split->by == COP_CONTROL_POLICY;
	control->group[split->by == COP_CONTROL_HELD].units[cop_control_cluster(split->place)]++;
	uint8_t *seen = &control->seen[split->place / 8], bit = (uint8_t)(1u << split->place % 8);
	if ((*seen & bit) == 0)
		count_unit(control, split->by == COP_CONTROL_HELD);
	*seen |= bit;
	return begins;
}

bool cop_control_allows(const cop_control *control, const cop_control_terms *terms)
{
	if (terms->allowance >= 1.0)
		return true;
	if (!same_terms(&control->terms, terms)) /* nothing is known yet */
		return false;
	const cop_control_group *policy = &control->group[0];
	double told = (double)policy->loss.value.n, judged = (double)control->judged;
	double untold = (double)(policy->decisions - policy->loss.value.n - control->waiting);
	double next = (double)control->waiting + 1.0;
	double all = count_decisions(control) + 1.0;
	double most = (judged + untold) * control->high + (told - judged + next);
	return most <= (told + untold + next) * control->low + terms->allowance * all;
}

/* Of the group's mean loss, each with a quarter of the risk. */
static void bound(const cop_control *control, size_t g, double *low, double *high)
{
	const cop_control_group *group = &control->group[g];
	*low = cop_unit_mean_low(&group->loss, LEVEL);
	*high = cop_unit_mean_high(&group->loss, LEVEL);
	if (!cop_control_returning(control))
		return;
	double lowest, highest;
	cop_cluster_mean_bounds(&group->losses, LEVEL, &lowest, &highest);
	*low = fmin(*low, lowest);
	*high = fmax(*high, highest);
}

/* As far as they are needed, and seldom: each costs some hundred exponentials. */
static void find_bounds(cop_control *control)
{
	uint64_t told = control->group[0].loss.value.n, held = control->group[1].loss.value.n;
	if (control->terms.allowance >= 1.0 || (told + held) % FIND_EACH != 0)
		return;
	double other;
	control->judged = told;
	bound(control, 0, &other, &control->high);
	bound(control, 1, &control->low, &other);
}

void cop_control_end(cop_control *control, cop_control_by by, unsigned cluster, double decided, const double *loss)
{
	if (decided < control->since || by == COP_CONTROL_KEPT)
		return;
	cop_control_group *group = &control->group[by];
	if (by == COP_CONTROL_POLICY && control->waiting > 0)
		control->waiting--;
	if (group->loss.value.n >= group->decisions)
		return;
	cop_cluster_mean_add(&group->told, cluster, loss != NULL);
	if (loss == NULL)
		return;
	cop_unit_mean_add(&group->loss, *loss);
	cop_cluster_mean_add(&group->losses, cluster, *loss);
	find_bounds(control);
}

static void figures_of(const cop_control *control, size_t g, cop_control_figures *out)
{
	const cop_control_group *group = &control->group[g];
	const uint64_t ended = cop_cluster_mean_count(&group->told), losses = group->loss.value.n;
	*out = (cop_control_figures){
		.decisions = group->decisions,
		.losses = losses,
		.loss = losses > 0 ? cop_running_bound_mean(&group->loss.value) : (double)NAN,
		.high = 1.0,
		.told = ended > 0 ? (double)losses / (double)ended : (double)NAN,
	};
	if (losses > 0)
		bound(control, g, &out->low, &out->high);
}

static bool told_unevenly(const cop_control *control)
{
	double low[2], high[2];
	for (size_t g = 0; g < 2; g++)
		cop_cluster_mean_bounds(&control->group[g].told, UNEVEN, &low[g], &high[g]);
	return low[0] > high[1] || low[1] > high[0];
}

/* By decisions, over clusters, as a logarithm. What h promises is the variance if the units of a cluster, all as many
 * as in the others, came equally often; of fewer units than clusters, if each cluster with any had one. */
static double log_odds_of_decisions(const cop_control *control)
{
	const double h = control->terms.share, units = estimate_units(control), each = fmax(units / COP_CLUSTERS, 1.0);
	double sum = 0.0, squares = 0.0, promised = 0.0, all = 0.0;
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		double held = (double)control->group[1].units[c], n = held + (double)control->group[0].units[c];
		double more = held - h * n;
		sum += more;
		squares += more * more;
		promised += h * (1.0 - h) * n * n / each;
		all += n;
	}
	double visits = all / fmax(units, 1.0), prior = PRIOR * h * (1.0 - h) * visits * visits;
	double v = fmax(squares, promised) + prior;
	return sum * sum / (2.0 * v) + 0.5 * log(prior / v);
}

static double log_odds(const cop_control *control)
{
	bool enough = control->units < COP_CONTROL_PLACES / 4 * 3 && !cop_control_returning(control);
	if (control->units == 0 || enough)
		return control->log_odds;
	double a = control->log_odds, b = log_odds_of_decisions(control);
	return fmax(a, b) + log1p(exp(-fabs(a - b))) - log(2.0);
}

void cop_control_summarise(const cop_control *control, cop_control_summary *out)
{
	*out = (cop_control_summary){
		.kept = control->kept,
		.units = control->units,
		.held = control->held,
		.odds = exp(fmin(log_odds(control), MOST_ODDS)),
		.gain = (double)NAN,
		.low = (double)NAN,
		.high = (double)NAN,
	};
	out->suspicious = out->odds >= COP_CONTROL_SUSPECT;
	out->uneven = told_unevenly(control);
	const cop_control_figures *policy = &out->group[0], *held = &out->group[1];
	for (size_t g = 0; g < 2; g++)
		figures_of(control, g, &out->group[g]);
	if (policy->losses == 0 || held->losses == 0)
		return;
	out->gain = held->loss - policy->loss;
	out->low = held->low - policy->high;
	out->high = held->high - policy->low;
}

/* ---- saved ---- */

void cop_control_save(const cop_control *control, cop_bytes *out)
{
	cop_bytes_put_f64(out, control->terms.share);
	cop_bytes_put_u64(out, (uint64_t)control->terms.baseline);
	cop_bytes_put_f64(out, control->terms.allowance);
	cop_bytes_put_f64(out, control->since);
	for (size_t g = 0; g < 2; g++) {
		cop_bytes_put_u64(out, control->group[g].decisions);
		cop_unit_mean_save(&control->group[g].loss, out);
		cop_cluster_mean_save(&control->group[g].losses, out);
		cop_cluster_mean_save(&control->group[g].told, out);
		for (size_t c = 0; c < COP_CLUSTERS; c++)
			cop_bytes_put_u64(out, control->group[g].units[c]);
	}
	cop_bytes_put_u64(out, control->kept);
	cop_bytes_put_u64(out, control->waiting);
	cop_bytes_put_u64(out, control->judged);
	cop_bytes_put_f64(out, control->high);
	cop_bytes_put_f64(out, control->low);
	cop_bytes_put_u64(out, control->units);
	cop_bytes_put_u64(out, control->held);
	cop_bytes_put_f64(out, control->log_odds);
	cop_bytes_put(out, control->seen, sizeof control->seen);
}

static bool sound(const cop_control *c)
{
	bool groups = true;
	for (size_t g = 0; g < 2; g++)
		groups = groups && c->group[g].loss.value.n <= c->group[g].decisions;
	bool bounds = c->judged <= c->group[0].loss.value.n &&
	              c->waiting <= c->group[0].decisions - c->group[0].loss.value.n && c->low >= 0.0 &&
	              c->low <= 1.0 && c->high >= 0.0 && c->high <= 1.0;
	return groups && bounds && c->terms.allowance >= 0.0 && c->terms.allowance <= 1.0 && c->terms.share > 0.0 &&
	       c->terms.share < 1.0 && c->terms.baseline >= COP_CONTROL_CALLER && c->terms.baseline <= UINT32_MAX &&
	       isfinite(c->since) && isfinite(c->log_odds) && c->held <= c->units && c->units <= COP_CONTROL_PLACES;
}

void cop_control_load(cop_control *control, cop_cursor *in)
{
	cop_control_init(control);
	control->terms.share = cop_cursor_f64(in);
	control->terms.baseline = (int64_t)cop_cursor_u64(in);
	control->terms.allowance = cop_cursor_f64(in);
	control->since = cop_cursor_f64(in);
	for (size_t g = 0; g < 2; g++) {
		control->group[g].decisions = cop_cursor_u64(in);
		cop_unit_mean_load(&control->group[g].loss, in);
		cop_cluster_mean_load(&control->group[g].losses, in);
		cop_cluster_mean_load(&control->group[g].told, in);
		for (size_t c = 0; c < COP_CLUSTERS; c++)
			control->group[g].units[c] = cop_cursor_u64(in);
	}
	control->kept = cop_cursor_u64(in);
	control->waiting = cop_cursor_u64(in);
	control->judged = cop_cursor_u64(in);
	control->high = cop_cursor_f64(in);
	control->low = cop_cursor_f64(in);
	control->units = cop_cursor_u64(in);
	control->held = cop_cursor_u64(in);
	control->log_odds = cop_cursor_f64(in);
	const uint8_t *seen = cop_cursor_take(in, sizeof control->seen);
	if (seen != NULL)
		memcpy(control->seen, seen, sizeof control->seen);
	if (in->err == COP_OK && !sound(control))
		in->err = COP_EFORMAT;
}
