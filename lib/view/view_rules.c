/* Every leaf's way down becomes one rule. Tests of the same number are gathered to one range, and of the same category
 * to one statement: a way holds few enough of them to be compared each with each. */
#include <string.h>

#include "view/tree_phrases.h"
#include "view/view.h"

/* A condition of a rule: a test and whether it holds, or both ends of a number's range. */
typedef struct condition {
	cop_tree_test test;
	bool holds;
	bool ranged; /* a number: the ends below */
	bool has_low, has_high, low_in, high_in;
	double low, high;
} condition;

typedef struct rule {
	size_t count;
	condition at[COP_TREE_MAX_DEPTH];
} rule;

static void narrow(condition *c, const cop_tree_test *test, bool holds)
{
	bool greater = test->turned != holds;
	double t = test->threshold;
	if (greater && (!c->has_low || t > c->low || (t == c->low && !holds))) {
		c->low_in = holds;
		c->low = t;
		c->has_low = true;
	}
	if (!greater && (!c->has_high || t < c->high || (t == c->high && !holds))) {
		c->high_in = holds;
		c->high = t;
		c->has_high = true;
	}
}

/* Whether the condition contains the test already; ranges are not compared. */
static bool same_statement(const condition *c, const cop_tree_test *test, bool holds)
{
	if (c->test.kind != test->kind)
		return false;
	if (test->kind == COP_TREE_TEST_ALWAYS)
		return true;
	return test->kind == COP_TREE_TEST_CATEGORY && c->test.feature == test->feature &&
	       (c->test.turned != c->holds) == (test->turned != holds);
}

static void add(rule *r, const cop_tree_test *test, bool holds)
{
	for (size_t i = 0; i < r->count; i++) {
		condition *c = &r->at[i];
		if (same_statement(c, test, holds))
			return;
		if (c->ranged && test->kind == COP_TREE_TEST_NUMBER && c->test.feature == test->feature) {
			narrow(c, test, holds);
			return;
		}
	}
	condition *c = &r->at[r->count++];
	*c = (condition){ .test = *test, .holds = holds, .ranged = test->kind == COP_TREE_TEST_NUMBER };
	if (c->ranged)
		narrow(c, test, holds);
}

static void put_condition(const cop_tree_phrases *words, const condition *c, cop_bytes *out)
{
	if (!c->ranged) {
		cop_tree_phrases_test(words, &c->test, c->holds, out);
		return;
	}
	if (c->has_low && c->has_high) {
		cop_tree_phrases_number(c->low, out);
		cop_tree_phrases_put(out, c->low_in ? " <= " : " < ");
	}
	cop_tree_phrases_feature(words, c->test.feature, out);
	if (c->has_high) {
		cop_tree_phrases_put(out, c->high_in ? " <= " : " < ");
		cop_tree_phrases_number(c->high, out);
	} else {
		cop_tree_phrases_put(out, c->low_in ? " >= " : " > ");
		cop_tree_phrases_number(c->low, out);
	}
}

/* ---- the walk ---- */

typedef struct way {
	size_t node;
	bool right;
} way;

typedef struct walk {
	const cop_tree_phrases *words;
	size_t tree, depth;
	way at[COP_TREE_MAX_DEPTH]; /* from the root down */
	rule rule;
	cop_bytes *out;
} walk;

/* Are two features categories of the same column? Those stand side by side. */
static bool same_column(const cop_encoder *preparation, size_t a, size_t b)
{
	size_t length = cop_encoder_stem(preparation, a);
	const char *name = cop_encoder_feature(preparation, a);
	size_t low = a < b ? a : b, high = a < b ? b : a;
	for (size_t j = low; j <= high; j++)
		if (cop_encoder_stem(preparation, j) != length ||
		        strncmp(cop_encoder_feature(preparation, j), name, length) != 0)
			return false;
	return length > 0;
}

static bool is_category(const condition *c, bool is)
{
	return c->test.kind == COP_TREE_TEST_CATEGORY && (c->test.turned != c->holds) == is;
}

/* "is not blue" is left out where the rule has "is red". */
static bool is_implied(const walk *w, size_t i)
{
	const rule *r = &w->rule;
	if (!is_category(&r->at[i], false))
		return false;
	for (size_t other = 0; other < r->count; other++)
		if (is_category(&r->at[other], true) &&
		        same_column(w->words->preparation, r->at[i].test.feature, r->at[other].test.feature))
			return true;
	return false;
}

static void put_rule(walk *w, size_t leaf)
{
	cop_bytes *out = w->out;
	w->rule.count = 0;
	for (size_t i = 0; i < w->depth; i++) {
		cop_tree_test test = cop_tree_phrases_test_of(w->words, w->at[i].node);
		add(&w->rule, &test, w->at[i].right);
	}
	cop_tree_phrases_put(out, "\nrule %zu.%zu", w->tree, leaf);
	if (w->words->census != NULL) {
		cop_tree_phrases_put(out, "  [");
		(void)cop_tree_phrases_rows(w->words, ~(int32_t)leaf, out);
		cop_tree_phrases_put(out, "]");
	}
	size_t said = 0;
	for (size_t i = 0; i < w->rule.count; i++) {
		if (is_implied(w, i))
			continue;
		cop_tree_phrases_put(out, "\n  %s ", said++ == 0 ? "if " : "and");
		put_condition(w->words, &w->rule.at[i], out);
	}
	cop_tree_phrases_put(out, said > 0 ? "\n  then " : "\n  always ");
	cop_tree_phrases_leaf(w->words, leaf, out);
	cop_tree_phrases_put(out, "\n");
}

/* Leaves from left to right: down to the left as far as it goes, then back up to the first left turn. */
static void put_rules(walk *w)
{
	const cop_tree_parts *parts = cop_tree_view(w->words->tree);
	int32_t child = parts->nodes.count == 0 ? ~0 : 0;
	while (w->out->err == COP_OK) {
		for (; child >= 0; child = parts->left[child])
			w->at[w->depth++] = (way){ (size_t)child, false };
		put_rule(w, (size_t)~child);
		while (w->depth > 0 && w->at[w->depth - 1].right)
			w->depth--;
		if (w->depth == 0)
			return;
		w->at[w->depth - 1].right = true;
		child = parts->right[w->at[w->depth - 1].node];
	}
}

cop_err cop_view_rules(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out)
{
	cop_view_scope scope;
	cop_err err = cop_view_begin(model, settings, &scope);
	if (err != COP_OK)
		return err;
	cop_view_summary(model, &scope, "# ", out);
	for (size_t i = scope.from; i < scope.to; i++) {
		cop_tree_phrases words = cop_tree_phrases_of(model, i, scope.top);
		if (cop_trees_count(model->trees) > 1)
			cop_tree_phrases_put(out, "\n# tree %zu, weight %.4g\n", i, cop_trees_weight(model->trees, i));
		walk w = { .words = &words, .tree = i, .out = out };
		put_rules(&w);
	}
	return out->err;
}
