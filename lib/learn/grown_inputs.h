/* learn/grown_inputs.h: where the inputs of a saved state lie in one of more features.
 *
 * A row's last input is its constant; features that were added stand before it. Any thread. */
#ifndef COP_LEARN_GROWN_INPUTS_H
#define COP_LEARN_GROWN_INPUTS_H

#include <stddef.h>

/* Of input j of `saved` ones, among `inputs`, which are at least as many. */
static inline size_t cop_grown_inputs_place(size_t j, size_t saved, size_t inputs)
{
	return j + 1 == saved ? inputs - 1 : j;
}

#endif
