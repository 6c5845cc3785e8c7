/* evaluate/change_kind.h: what a change detector is behind evaluate/change.h. Internal to evaluate. */
#ifndef COP_EVALUATE_CHANGE_KIND_H
#define COP_EVALUATE_CHANGE_KIND_H

#include <stdbool.h>

#include "evaluate/change.h"

typedef struct cop_change_kind {
	const char *name;
	/* Settings are in range. COP_ENOMEM. */
	cop_err (*create)(const cop_change_settings *settings, void **out);
	void (*destroy)(void *state);
	/* loss in [0, 1]; every finding is reported. */
	cop_change_alarm (*add)(void *state, double loss);
	void (*window)(const void *state, uint64_t *width, double *sum);
	void (*save)(const void *state, cop_bytes *out);
	/* Into one just made. Errors stay in the cursor's err. */
	void (*load)(void *state, cop_cursor *in);
} cop_change_kind;

extern const cop_change_kind cop_change_adwin;

#endif
