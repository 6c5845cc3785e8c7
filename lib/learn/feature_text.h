/* learn/feature_text.h: the name of an explained feature: a context's, a candidate's, a product of two, "constant".
 *
 * Pure function; any thread. */
#ifndef COP_LEARN_FEATURE_TEXT_H
#define COP_LEARN_FEATURE_TEXT_H

#include "learn/learner.h"

/* Where names come from: that of a context's or a candidate's feature, in at most size bytes. */
typedef struct cop_feature_names {
	void (*name)(const void *source, size_t index, bool candidate, char *out, size_t size);
	const void *source;
	size_t room; /* bytes of the longest name, its end included */
} cop_feature_names;

/* As "x3", "x3*c1", "constant". Hashed products that share the index are those of the rows (candidate: the explained
 * one's), " | " between them; "product" where they hold none. size: room for a few names. */
void cop_feature_text(const cop_learner *learner, size_t index, const cop_feature_names *names,
        const cop_row *const rows[2], char *out, size_t size);

#endif
