/* A learner describes an index as up to two parts; a part has one name. Only the rows show what a hashed product is of.
 */
#include "learn/feature_text.h"

#include <stdio.h>

#define BETWEEN   " | " /* products of one place */
#define NAME_ROOM 1024

/* The parts' names, "*" between them; bytes that this took. */
static size_t put_parts(
        const cop_learner_feature *f, const cop_feature_names *names, size_t room, char *out, size_t size)
{
	char part[NAME_ROOM];
	size_t used = 0;
	room = room < sizeof part ? room : sizeof part;
	for (size_t i = 0; i < f->count && used < size; i++) {
		if (f->part[i].constant)
			(void)snprintf(part, room, "constant");
		else
			names->name(names->source, f->part[i].index, f->part[i].candidate, part, room);
		int length = snprintf(out + used, size - used, "%s%s", i > 0 ? "*" : "", part);
		used += length > 0 ? (size_t)length : 0;
	}
	return used;
}

void cop_feature_text(const cop_learner *learner, size_t index, const cop_feature_names *names,
        const cop_row *const rows[2], char *out, size_t size)
{
	cop_learner_feature f;
	cop_learner_describe(learner, index, &f);
	if (f.count > 0) {
		(void)put_parts(&f, names, names->room, out, size);
		return;
	}
	(void)snprintf(out, size, "product");
	size_t used = 0;
	for (size_t skip = 0; used + names->room < size; skip++) {
		if (!cop_learner_find_product(learner, rows[0], rows[1], index, skip, &f))
			return;
		int length = snprintf(out + used, size - used, "%s", used > 0 ? BETWEEN : "");
		used += length > 0 ? (size_t)length : 0;
		used += put_parts(&f, names, names->room / 2, out + used, size - used);
	}
}
