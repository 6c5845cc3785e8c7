/* view/view_frame.h: what HTML pages of models share: the beginning, the stage on which the script draws trees, the
 * end.
 *
 * Everything that comes from a model goes through the data, in which < is written as an escape, or is escaped for HTML;
 * the page's policy lets it load nothing. Any thread; failures are in out->err. */
#ifndef COP_VIEW_VIEW_FRAME_H
#define COP_VIEW_VIEW_FRAME_H

#include "base/bytes.h"

/* From the doctype to the title as a heading; <body> and <header> are open. */
void cop_view_frame_head(const char *title, cop_bytes *out);
/* The list of trees and the buttons; then where they are drawn. */
void cop_view_frame_bar(cop_bytes *out);
void cop_view_frame_stage(cop_bytes *out);
/* The data of the trees (view/view_draw.h), at least one, and the script that draws them. */
void cop_view_frame_scripts(const char *json, size_t length, cop_bytes *out);

/* Text as HTML; words: with what could steer the reader made visible. */
void cop_view_frame_escaped(const char *text, size_t length, cop_bytes *out);
void cop_view_frame_words(const char *text, cop_bytes *out);

#endif
