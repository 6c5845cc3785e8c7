/* view/view.h: a trained model as a document: text, if-then rules, JSON, Graphviz dot, an HTML page, C source.
 *
 * Names and texts of a model may hold anything: every format escapes them. Splits of one feature are shown in the
 * file's own units, those of several over prepared features, which the document notes. Any thread. */
#ifndef COP_VIEW_VIEW_H
#define COP_VIEW_VIEW_H

#include "view/trained.h"

#define COP_VIEW_ALL SIZE_MAX

typedef struct cop_view_settings {
	size_t tree;          /* which one, from 0, or COP_VIEW_ALL; c ignores it */
	size_t top;           /* heaviest features of a sum that are shown, 1 to COP_TREE_PHRASES_MOST; 0: 4 */
	const char *title;    /* what the model is called, a file's name, for example; NULL: "model" */
	const char *function; /* c: the function's name, an identifier; NULL: predict */
} cop_view_settings;

typedef struct cop_view {
	const char *name;
	const char *about; /* a line for --help */
	/* Appends the document, without a terminator. COP_ENOTFOUND: no such tree. COP_EINVAL: top, or function is no
	 * identifier. COP_EFULL: too much for this format (c: more than INT32_MAX numbers). COP_ENOMEM. */
	cop_err (*put)(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out);
} cop_view;

/* By name: text, rules, json, dot, html, c. NULL: none of that name. */
const cop_view *cop_view_find(const char *name);
/* The i-th, NULL behind the last. */
const cop_view *cop_view_at(size_t i);

/* The documents themselves; c is of all trees together. */
COP_CHECK cop_err cop_view_text(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out);
COP_CHECK cop_err cop_view_rules(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out);
COP_CHECK cop_err cop_view_json(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out);
COP_CHECK cop_err cop_view_dot(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out);
COP_CHECK cop_err cop_view_html(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out);
COP_CHECK cop_err cop_view_c(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out);

/* What the documents share: settings with defaults filled in; the range of trees they are about. */
typedef struct cop_view_scope {
	size_t from, to; /* trees */
	size_t top;
	const char *title;
	bool sums; /* among them are splits or leaves of several features */
} cop_view_scope;
COP_CHECK cop_err cop_view_begin(const cop_trained *model, const cop_view_settings *settings, cop_view_scope *scope);
/* What a model is, in a few plain lines, each after `prefix`. */
void cop_view_summary(const cop_trained *model, const cop_view_scope *scope, const char *prefix, cop_bytes *out);

#endif
