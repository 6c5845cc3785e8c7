/* view/tree_text.h: a tree as indented text for people.
 *
 *     node 0: +0.83 size -0.41 colour (3 lighter) +0.1 >= 0
 *       left: leaf 0: output 2 (1.25)
 *       right: node 1: ...
 *
 * A node shows its test as view/tree_phrases.h writes it; right is where it holds. A leaf shows what it predicts. With
 * a census the rows that came by follow in brackets. Nothing is allocated but the text. Any thread. */
#ifndef COP_VIEW_TREE_TEXT_H
#define COP_VIEW_TREE_TEXT_H

#include "view/tree_phrases.h"

/* Appends the text (lines end in \n, no terminator). Errors stay in out->err. */
void cop_tree_text(const cop_tree_phrases *words, cop_bytes *out);

#endif
