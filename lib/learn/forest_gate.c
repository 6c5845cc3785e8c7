/* Whether contexts tell of losses, by a test that holds however often it is looked at. A player bets that the forest's
 * squared errors are less than those of each arm's mean loss: with D the one less the other, in [-1, 1],
 *     wealth <- (wealth + 1 / (t (t + 1))) (1 + s D)
 * s, the stake, is known before D, and what is put in sums to 1. Where trees tell nothing, D is below 0 on average,
 * the game is fair at best, and wealth ever reaches ENOUGH with a probability of at most 1 / ENOUGH (Ville). */
#include "learn/forest_parts.h"

#define ENOUGH   20.0
#define BOLDEST  0.9   /* stake */
#define REMEMBER 0.995 /* of what was won, by which stakes are chosen */

void cop_forest_gate_learn(cop_forest_gate *gate, size_t arm, double loss, double prediction)
{
	if (gate->open)
		return;
	double t = (double)++gate->events;
	double said = fmin(fmax(prediction, 0.0), 1.0);
	double mean = (gate->loss[arm] + 0.5) / (gate->n[arm] + 1.0);
	double won = (loss - mean) * (loss - mean) - (loss - said) * (loss - said);
	double stake = gate->squares > 0.0 ? fmin(fmax(gate->sum / gate->squares, 0.0), BOLDEST) : 0.0;
	gate->wealth = (gate->wealth + 1.0 / (t * (t + 1.0))) * (1.0 + stake * won);
	gate->open = gate->wealth >= ENOUGH;
	gate->sum = REMEMBER * gate->sum + won;
	gate->squares = REMEMBER * gate->squares + won * won;
	gate->n[arm] += 1.0;
	gate->loss[arm] += loss;
}

void cop_forest_gate_save(const cop_forest_gate *gate, size_t arms, cop_bytes *bytes)
{
	cop_bytes_put_u8(bytes, gate->open);
	cop_bytes_put_u64(bytes, gate->events);
	cop_bytes_put_f64(bytes, gate->wealth);
	cop_bytes_put_f64(bytes, gate->sum);
	cop_bytes_put_f64(bytes, gate->squares);
	for (size_t k = 0; k < arms; k++) {
		cop_bytes_put_f64(bytes, gate->n[k]);
		cop_bytes_put_f64(bytes, gate->loss[k]);
	}
}

void cop_forest_gate_load(cop_forest_gate *gate, size_t all, size_t arms, cop_cursor *cursor)
{
	for (size_t k = arms; k < all; k++)
		gate->n[k] = gate->loss[k] = 0.0;
	uint8_t open = cop_cursor_u8(cursor);
	gate->open = open != 0;
	gate->events = cop_cursor_u64(cursor);
	gate->wealth = cop_cursor_f64(cursor);
	gate->sum = cop_cursor_f64(cursor);
	gate->squares = cop_cursor_f64(cursor);
	bool fits = open <= 1 && gate->events <= (uint64_t)1 << 62 && gate->wealth >= 0.0 &&
	            gate->wealth <= 2.0 * ENOUGH + 2.0 && fabs(gate->sum) <= 1e3 && gate->squares >= 0.0 &&
	            gate->squares <= 1e3;
	for (size_t k = 0; k < arms && cursor->err == COP_OK; k++) {
		gate->n[k] = cop_cursor_f64(cursor);
		gate->loss[k] = cop_cursor_f64(cursor);
		fits = fits && gate->n[k] >= 0.0 && gate->n[k] <= 1e18 && gate->loss[k] >= 0.0 &&
		       gate->loss[k] <= gate->n[k];
	}
	if (cursor->err == COP_OK && !fits)
		cursor->err = COP_EFORMAT;
}

void cop_forest_parts_gate_inherit(cop_forest_gate *gate, size_t all, size_t arms, const cop_forest_gate *from)
{
	const cop_forest_gate own = *gate;
	*gate = *from;
	gate->n = own.n;
	gate->loss = own.loss;
	for (size_t k = 0; k < all; k++) {
		gate->n[k] = k < arms ? from->n[k] : 0.0;
		gate->loss[k] = k < arms ? from->loss[k] : 0.0;
	}
}
