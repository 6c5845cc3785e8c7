/* Reads a log from standard input and prints every estimate, for the comparison with numpy.
 *
 * First line: cost_low cost_high level threshold clip. Then one event a line:
 * p cost weight has_model q, then target target_max m of policy A, then of policy B, then their distance. */
#include <stdio.h>

#include "evaluate/offpolicy.h"
#include "evaluate/offpolicy_pair.h"

static bool read_event(cop_offpolicy_event *a, cop_offpolicy_event *b, double *distance)
{
	int model;
	if (scanf("%lf %lf %lf %d %lf", &a->p, &a->cost, &a->weight, &model, &a->model_logged) != 5)
		return false;
	a->has_model = model != 0;
	*b = *a;
	return scanf("%lf %lf %lf %lf %lf %lf %lf", &a->target, &a->target_max, &a->model_target, &b->target,
	               &b->target_max, &b->model_target, distance) == 7;
}

static void print_estimate(const char *kind, const char *name, const char *method, cop_err err, const cop_estimate *e)
{
	if (err == COP_OK)
		printf("%s %s %s %.17g %.17g %.17g %.17g\n", kind, name, method, e->value, e->error, e->low, e->high);
}

static void print_all(const cop_offpolicy *o, const cop_offpolicy_pair *pair, double level)
{
	static const char *const pair_methods[] = { "robust", "delta", "sequence" };
	cop_offpolicy_summary s;
	cop_estimate e;
	cop_offpolicy_summarise(o, &s);
	printf("summary ess %.17g\nsummary matched %.17g\nsummary target %.17g\nsummary largest %.17g\n",
	        s.effective_sample_size, s.matched_share, s.mean_target, s.largest_weight);
	printf("summary weight %.17g\nsummary z %.17g\nsummary n %llu\n", s.mean_weight, s.mean_weight_z,
	        (unsigned long long)s.events);
	for (size_t i = 0; cop_offpolicy_estimator_at(i) != NULL; i++) {
		const cop_offpolicy_estimator *by = cop_offpolicy_estimator_at(i);
		for (size_t k = 0; cop_offpolicy_method_at(k) != NULL; k++)
			print_estimate("single", by->name, cop_offpolicy_method_at(k),
			        cop_offpolicy_estimate(o, by, cop_offpolicy_method_at(k), level, &e), &e);
		for (size_t k = 0; k < 3; k++)
			print_estimate("pair", by->name, pair_methods[k],
			        cop_offpolicy_pair_estimate(pair, by, pair_methods[k], level, &e), &e);
	}
}

int main(void)
{
	cop_offpolicy_settings settings;
	cop_offpolicy o;
	cop_offpolicy_pair pair;
	cop_offpolicy_event a = { 0 }, b = { 0 };
	double distance;
	if (scanf("%lf %lf %lf %lf %lf", &settings.cost_low, &settings.cost_high, &settings.level, &settings.threshold,
	            &settings.clip) != 5 ||
	        cop_offpolicy_init(&o, &settings) != COP_OK || cop_offpolicy_pair_init(&pair, &settings) != COP_OK)
		return 2;
	while (read_event(&a, &b, &distance))
		if (cop_offpolicy_add(&o, &a) != COP_OK || cop_offpolicy_pair_add(&pair, &a, &b, distance) != COP_OK)
			return 1;
	print_all(&o, &pair, settings.level);
	return 0;
}
