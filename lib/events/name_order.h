/* events/name_order.h: the fast way through a dense feature space: features in the order of the row before.
 *
 * A hint is which name is expected next and where its value goes. A reader of text compares the name in place with
 * the hint's bytes, and so neither seeks its end nor hashes it. Whatever does not fit goes through
 * cop_feature_space_put, which sets the lane right again. */
#ifndef COP_EVENTS_NAME_ORDER_H
#define COP_EVENTS_NAME_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct cop_name_order_hint {
	uint64_t head;    /* the name's first bytes, little-endian, zeros behind it */
	uint64_t mask;    /* all bits of those bytes */
	const char *name; /* length bytes */
	uint32_t length;
	uint32_t space;   /* number of the namespace */
	uint32_t slot;    /* where in `slot` its value belongs */
	uint32_t ordinal; /* what an unnamed feature in this place would be; UINT32_MAX: none can be */
} cop_name_order_hint;

typedef struct cop_name_order {
	const cop_name_order_hint *hint; /* count of them */
	size_t at, count;
	float *slot;     /* the values of the row under way, zero where none came */
	size_t features; /* values put that are not zero */
	uint32_t space;  /* number of the namespace under way */
	bool open;       /* false: no hint counts now */
	double scale;    /* of the namespace under way */
} cop_name_order;

/* Whether the hint's name, of namespace `space`, stands at text[0, hint->length), of which `left` bytes can be read. It
 * may be a longer name that only starts so: the caller looks at text[hint->length], which can be read then. */
static inline bool cop_name_order_hint_match(
        const cop_name_order_hint *hint, uint32_t space, const char *text, size_t left)
{
	uint64_t word;
	if (left <= sizeof word)
		return false;
	memcpy(&word, text, sizeof word);
	if (((word ^ hint->head) & hint->mask) != 0 || hint->space != space)
		return false;
	return hint->length <= sizeof word ||
	       (hint->length < left &&
	               memcmp(text + sizeof word, hint->name + sizeof word, hint->length - sizeof word) == 0);
}

/* The value of the hint that lane->at stands at, or of a later one. */
static inline void cop_name_order_put(cop_name_order *lane, const cop_name_order_hint *hint, float value)
{
	lane->slot[hint->slot] += value;
	lane->features += value != 0.0F;
	lane->at = (size_t)(hint - lane->hint) + 1;
}

#endif
