/* tree/tree_text.h: an oblique tree as indented text for people.
 *
 *     node 0: +0.83 size -0.41 colour (3 lighter) +0.1
 *       left: leaf 0: output 2 (1.25)
 *       right: node 1: ...
 *
 * A node shows its heaviest features by |weight| (those of weight 0 never), how many non-zero ones were left out, then
 * its bias; right is where the sum is >= 0. A leaf shows its largest output and that value. Nothing is allocated but
 * the text. Any thread. */
#ifndef COP_TREE_TREE_TEXT_H
#define COP_TREE_TREE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "tree/oblique_tree.h"

#define COP_TREE_TEXT_MAX_TOP 32

typedef struct cop_tree_names {
	const char *const *features; /* d names, or NULL: x0, x1, ... */
	const char *const *outputs;  /* K names, or NULL: output 0, ... */
} cop_tree_names;

/* Indices of the at most `top` weights of greatest magnitude, heaviest first, ties by index, zeros left out; their
 * number is returned. index has room for top <= COP_TREE_TEXT_MAX_TOP. */
size_t cop_tree_heaviest(size_t d, const float *w, size_t top, uint32_t *index);

/* Appends the text (lines end in \n, no terminator). names may be NULL. Errors stay in out->err. */
void cop_tree_text(const cop_oblique_tree *tree, const cop_tree_names *names, size_t top, cop_bytes *out);

#endif
