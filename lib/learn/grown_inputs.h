/* learn/grown_inputs.h: where the inputs of a saved state lie in one of more features.
 *
 * Behind the features come inputs of another kind, the last of them or all the constant; features that were added stand
 * before these. Any thread. */
#ifndef COP_LEARN_GROWN_INPUTS_H
#define COP_LEARN_GROWN_INPUTS_H

#include <stddef.h>

/* Of input j of `saved` ones, of which `behind` are no features, where `added` features came. */
static inline size_t cop_grown_inputs_behind(size_t j, size_t saved, size_t behind, size_t added)
{
	return j + behind >= saved ? j + added : j;
}

/* Of input j of `saved` ones, the constant their last, among `inputs`, which are at least as many. */
static inline size_t cop_grown_inputs_place(size_t j, size_t saved, size_t inputs)
{
	return cop_grown_inputs_behind(j, saved, 1, inputs - saved);
}

#endif
