/* [share, baseline, place], and with a bound also its allowance and whether that kept the policy back. */
#include "wire/wire_split.h"

#include "wire/wire_put.h"

const char *cop_wire_split_maker_text(cop_wire_maker maker)
{
	static const char *const texts[COP_WIRE_MAKERS] = { "policy", "holdout", "conservative", "observed" };
	return texts[maker];
}

const char *cop_wire_split_limit_text(cop_wire_limit limit)
{
	static const char *const texts[COP_WIRE_LIMITS] = { "none", "share_min", "share_max", "least_propensity" };
	return texts[limit];
}

cop_wire_maker cop_wire_split_maker(bool observed, const cop_wire_split *split)
{
	if (!observed)
		return COP_WIRE_BY_POLICY;
	if (split == NULL)
		return COP_WIRE_BY_OBSERVED;
	return split->kept ? COP_WIRE_BY_CONSERVATIVE : COP_WIRE_BY_HOLDOUT;
}

void cop_wire_split_put(cop_bytes *bytes, const cop_wire_split *split)
{
	bool bounded = split->allowance < 1.0;
	cop_wire_put_array(bytes, bounded ? 5 : 3);
	cop_wire_put_double(bytes, split->share);
	cop_wire_put_signed(bytes, split->baseline);
	cop_wire_put_unsigned(bytes, split->place);
	if (!bounded)
		return;
	cop_wire_put_double(bytes, split->allowance);
	cop_wire_put_bool(bytes, split->kept);
}

static cop_err read_allowance(cop_wire_cursor *cursor, cop_wire_split *split)
{
	cop_err err = cop_wire_cursor_double(cursor, &split->allowance);
	if (err == COP_OK)
		err = cop_wire_cursor_bool(cursor, &split->kept);
	return err == COP_OK && !(split->allowance >= 0.0 && split->allowance < 1.0) ? COP_EFORMAT : err;
}

cop_err cop_wire_split_read(cop_wire_cursor *cursor, cop_wire_split *out)
{
	size_t count;
	uint64_t place = 0;
	*out = (cop_wire_split){ .allowance = 1.0 };
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && count != 3 && count != 5)
		err = COP_EFORMAT;
	if (err == COP_OK)
		err = cop_wire_cursor_double(cursor, &out->share);
	if (err == COP_OK)
		err = cop_wire_cursor_signed(cursor, &out->baseline);
	if (err == COP_OK)
		err = cop_wire_cursor_unsigned(cursor, &place);
	if (err == COP_OK && !(out->share > 0.0 && out->share < 1.0 && place <= UINT32_MAX))
		err = COP_EFORMAT;
	if (err == COP_OK && count == 5)
		err = read_allowance(cursor, out);
	out->place = (uint32_t)place;
	return err;
}
