/* wire/wire_names.h: features by name, as the dsjson reader takes them (events/event_dsjson_features.c), from a map.
 *
 * At the top a name is a feature of the default namespace, or NAMESPACE^FEATURE; a map, and an array, is a namespace.
 * A number is a feature with that value, true one with 1, a string the feature name + text with 1; false, nil and zeros
 * are none. Numbers in an array are features without names. Of names that begin with an underscore only "_text", whose
 * words are features, counts. The feature space finds the places, so that a model made from a log is asked as the log
 * is written, to the bit. A dense space is frozen: names that it lacks are left out and counted by the space, or
 * refused (strict).
 *
 * Steady messages allocate nothing: rooms grow to what the largest needed. One thread per naming. */
#ifndef COP_WIRE_WIRE_NAMES_H
#define COP_WIRE_WIRE_NAMES_H

#include "base/bytes.h"
#include "events/feature_space.h"
#include "wire/wire_code.h"
#include "wire/wire_cursor.h"

/* Maps and arrays of features that may lie in one another. */
#define COP_WIRE_NAMES_DEPTH 10

typedef struct cop_wire_naming {
	cop_feature_space *space; /* owned */
	bool strict;              /* dense: names that the space lacks are refused */
	bool plain;               /* of the space */
	size_t most;              /* features of a row that are not zero, before products */
	cop_bytes text;           /* a name and its text */
	cop_feature_room shared;  /* the row of x, */
	cop_feature_room own;     /* and those of candidates */
	cop_feature_span *span;   /* of each candidate; start SIZE_MAX: it lies elsewhere */
} cop_wire_naming;

/* space: taken (*space NULL afterwards, also on error); a dense one must be frozen. most: see above. candidates: how
 * many there may be. COP_ENOMEM. */
COP_CHECK cop_err cop_wire_names_new(cop_feature_space **space, size_t most, size_t candidates, cop_wire_naming **out);
/* The same for a dense model whose columns are called so, in their order (names borrowed, no two alike):
 * NAMESPACE^FEATURE or without a namespace. Other names are refused. Also COP_EFULL: all names together are too long.
 */
COP_CHECK cop_err cop_wire_names_new_list(
        const char *const *names, size_t count, size_t candidates, cop_wire_naming **out);
void cop_wire_names_free(cop_wire_naming *naming);

/* The map at the cursor as a row: of the context, or of the candidate that `candidate` is the span of (else NULL),
 * whose context, if pairs are made of both, was read before. *row is valid until its room grows. name: what messages
 * call it, "x". Errors as cop_wire_features_read. */
COP_CHECK cop_err cop_wire_names_read(cop_wire_cursor *cursor, cop_wire_naming *naming, cop_feature_span *candidate,
        cop_row *row, cop_wire_fault *fault);

/* A name without a namespace: the column that it, or NAMESPACE^FEATURE, has in a dense space; SIZE_MAX: none. */
size_t cop_wire_names_column(const cop_feature_space *space, const char *name, size_t length);

#endif
