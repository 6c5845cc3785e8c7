/* learn/outliers.h: how many values lay too far out to enter a model's running statistics as they were. */
#ifndef COP_LEARN_OUTLIERS_H
#define COP_LEARN_OUTLIERS_H

#include "base/bytes.h"

typedef struct cop_outliers {
	uint64_t values;   /* that entered cut to the limit */
	uint64_t rescaled; /* times that a feature's scale was made anew: its values stayed outside, or far inside */
	uint32_t feature;  /* of the last value that was cut */
	float value;       /* which it was */
} cop_outliers;

static inline void cop_outliers_save(const cop_outliers *o, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, o->values);
	cop_bytes_put_u64(bytes, o->rescaled);
	cop_bytes_put_u32(bytes, o->feature);
	cop_bytes_put_f32(bytes, o->value);
}

/* Of d features; errors stay in the cursor. */
static inline void cop_outliers_load(cop_outliers *o, size_t d, cop_cursor *cursor)
{
	o->values = cop_cursor_u64(cursor);
	o->rescaled = cop_cursor_u64(cursor);
	o->feature = cop_cursor_u32(cursor);
	o->value = cop_cursor_f32(cursor);
	if (cursor->err == COP_OK && o->feature >= d)
		cursor->err = COP_EFORMAT;
}

#endif
