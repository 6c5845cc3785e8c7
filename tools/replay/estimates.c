#include "estimates.h"

#include <math.h>

cop_err cop_estimates_init(cop_estimates *tally, double low, double high, double clip)
{
	cop_offpolicy_settings settings;
	*tally = (cop_estimates){ .examples = 0 };
	cop_offpolicy_defaults(&settings);
	settings.cost_low = low;
	settings.cost_high = high;
	settings.threshold = settings.clip = clip;
	cop_err err = cop_offpolicy_init(&tally->seen, &settings);
	return err != COP_OK ? err : cop_offpolicy_init(&tally->held, &settings);
}

static cop_err estimate(cop_offpolicy *o, const cop_logged_event *event, const cop_replay_seen *seen)
{
	cop_offpolicy_event e = {
		.p = event->p,
		.cost = event->cost,
		.weight = event->weight,
		.target = seen->target,
		.target_max = seen->target_max,
		.has_model = seen->has_model,
		.model_logged = seen->q,
		.model_target = seen->m,
	};
	return cop_offpolicy_add(o, &e);
}

cop_err cop_estimates_add(
        cop_estimates *tally, const cop_logged_event *event, const cop_replay_seen *seen, cop_replay_place place)
{
	tally->refused += seen->refused;
	if (place.held && !place.last_pass)
		return COP_OK;
	if (place.held) {
		tally->held_examples++;
		return event->labelled ? estimate(&tally->held, event, seen) : COP_OK;
	}
	tally->examples++;
	tally->weight += event->weight;
	tally->features += event->features;
	if (!event->labelled)
		return COP_OK;
	tally->labelled_weight += event->weight;
	tally->loss_sum += event->weight * event->cost * (seen->target / event->p);
	return place.first_pass ? estimate(&tally->seen, event, seen) : COP_OK;
}

double cop_estimates_average(const cop_estimates *tally)
{
	return tally->labelled_weight > 0.0 ? tally->loss_sum / tally->labelled_weight : (double)NAN;
}

void cop_estimates_save(const cop_estimates *tally, cop_bytes *bytes)
{
	cop_offpolicy_save(&tally->seen, bytes);
	cop_offpolicy_save(&tally->held, bytes);
	cop_bytes_put_u64(bytes, tally->examples);
	cop_bytes_put_u64(bytes, tally->held_examples);
	cop_bytes_put_f64(bytes, tally->weight);
	cop_bytes_put_f64(bytes, tally->labelled_weight);
	cop_bytes_put_f64(bytes, tally->loss_sum);
	cop_bytes_put_u64(bytes, tally->features);
	cop_bytes_put_u64(bytes, tally->refused);
}

cop_err cop_estimates_load(cop_estimates *tally, cop_cursor *cursor)
{
	cop_err err = cop_offpolicy_load(&tally->seen, cursor);
	if (err == COP_OK)
		err = cop_offpolicy_load(&tally->held, cursor);
	if (err != COP_OK)
		return err;
	tally->examples = cop_cursor_u64(cursor);
	tally->held_examples = cop_cursor_u64(cursor);
	tally->weight = cop_cursor_f64(cursor);
	tally->labelled_weight = cop_cursor_f64(cursor);
	tally->loss_sum = cop_cursor_f64(cursor);
	tally->features = cop_cursor_u64(cursor);
	tally->refused = cop_cursor_u64(cursor);
	return cursor->err;
}
