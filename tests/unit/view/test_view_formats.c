#include "support.h"

#include "base/json.h"
#include "trained_fixture.h"
#include "view/view.h"

static const people_shape shapes[] = {
	{ .trees = 1, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES },
	{ .trees = 1, .depth = 0, .classes = 3, .link = COP_TREE_PROBABILITIES },
	{ .trees = 1, .depth = 12, .classes = 26, .link = COP_TREE_PROBABILITIES, .oblique = true, .rows = 2000 },
	{ .trees = 3, .depth = 3, .link = COP_TREE_VALUES, .rule = COP_TREES_SUM },
	{ .trees = 2, .depth = 2, .link = COP_TREE_VALUES, .oblique = true, .linear = true },
	{ .trees = 30, .depth = 2, .classes = 3, .link = COP_TREE_PROBABILITIES, .rule = COP_TREES_VOTE },
	{ .trees = 2,
	        .depth = 2,
	        .classes = 6,
	        .link = COP_TREE_LOGITS,
	        .oblique = true,
	        .linear = true,
	        .no_census = true },
	{ .trees = 2, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES, .oblique = true, .hostile = true },
	{ .trees = 2, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES, .hostile = true },
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static const cop_view_settings whole = { .tree = COP_VIEW_ALL, .title = "people \x1b[2J</title>" };

static size_t count(const cop_bytes *out, const char *what)
{
	size_t found = 0, length = strlen(what);
	for (size_t i = 0; i + length <= out->length; i++)
		found += memcmp(out->data + i, what, length) == 0;
	return found;
}

/* Text of a view, terminated. */
static void put(const people *f, const char *view, const cop_view_settings *settings, cop_bytes *out)
{
	cop_bytes_init(out);
	assert_int_equal(cop_view_find(view)->put(f->model, settings, out), COP_OK);
	cop_bytes_put_u8(out, 0);
	assert_int_equal(out->err, COP_OK);
	assert_int_equal(strlen((const char *)out->data), out->length - 1);
	for (size_t i = 0; i + 1 < out->length; i++) /* nothing that steers a terminal */
		assert_true(out->data[i] >= ' ' || out->data[i] == '\n' || out->data[i] == '\t');
}

static size_t leaves_of(const people *f)
{
	size_t leaves = 0;
	for (size_t i = 0; i < cop_trees_count(f->model->trees); i++)
		leaves += cop_tree_leaves(cop_trees_at(f->model->trees, i));
	return leaves;
}

static void test_every_view_shows_every_leaf_of_every_model(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		people f;
		cop_bytes out;
		people_init(&f, &shapes[i]);
		size_t leaves = leaves_of(&f), trees = shapes[i].trees;
		put(&f, "text", &whole, &out);
		assert_int_equal(count(&out, "leaf "), leaves);
		assert_int_equal(count(&out, "node "), leaves - trees);
		assert_int_equal(
		        count(&out, "units: sums are over prepared"), shapes[i].oblique && shapes[i].depth > 0);
		cop_bytes_fini(&out);
		put(&f, "rules", &whole, &out);
		assert_int_equal(count(&out, "\nrule "), leaves);
		cop_bytes_fini(&out);
		put(&f, "dot", &whole, &out);
		assert_int_equal(count(&out, " -> "), 2 * (leaves - trees));
		assert_int_equal(count(&out, "subgraph cluster_"), trees);
		cop_bytes_fini(&out);
		people_fini(&f);
	}
}

/* Quotes of a line of dot that are not escaped come in pairs, and so do braces outside of them. */
static void test_dot_is_balanced(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		people f;
		cop_bytes out;
		people_init(&f, &shapes[i]);
		put(&f, "dot", &whole, &out);
		bool quoted = false;
		int depth = 0;
		for (const char *at = (const char *)out.data; *at != '\0'; at++) {
			if (*at == '\n')
				assert_false(quoted);
			if (quoted && *at == '\\')
				at++;
			else if (*at == '"')
				quoted = !quoted;
			else if (!quoted)
				depth += (*at == '{') - (*at == '}');
			assert_true(depth >= 0);
		}
		assert_true(depth == 0 && !quoted);
		cop_bytes_fini(&out);
		people_fini(&f);
	}
}

static void test_json_tells_all_that_is_in_the_tree(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		people f;
		cop_bytes out;
		cop_json *json;
		cop_diag diag = { .message = "" };
		people_init(&f, &shapes[i]);
		cop_bytes_init(&out);
		assert_int_equal(cop_view_json(f.model, &whole, &out), COP_OK);
		if (cop_json_parse((const char *)out.data, out.length, &json, &diag) != COP_OK)
			fail_msg("%s", diag.message);
		const cop_json *trees = cop_json_member(json, "trees");
		assert_int_equal(cop_json_size(trees), shapes[i].trees);
		assert_int_equal(cop_json_size(cop_json_member(json, "features")), f.rows->d);
		assert_int_equal(cop_json_size(cop_json_member(json, "classes")), shapes[i].classes);
		assert_true((cop_json_member(json, "importance") == NULL) == shapes[i].no_census);
		for (size_t t = 0; t < shapes[i].trees; t++) {
			const cop_tree *tree = cop_trees_at(f.model->trees, t);
			const cop_json *one = cop_json_element(trees, t), *nodes = cop_json_member(one, "nodes");
			assert_int_equal(cop_json_size(nodes), cop_tree_leaves(tree) - 1);
			assert_int_equal(cop_json_size(cop_json_member(one, "leaves")), cop_tree_leaves(tree));
			for (size_t n = 0; n < cop_json_size(nodes); n++) {
				const cop_tree_vectors *stored = &cop_tree_view(tree)->nodes;
				const cop_json *node = cop_json_element(nodes, n);
				size_t entries = stored->start[n + 1] - stored->start[n];
				double bias;
				assert_int_equal(cop_json_size(cop_json_member(node, "weights")), entries);
				assert_int_equal(cop_json_size(cop_json_member(node, "index")), entries);
				assert_int_equal(cop_json_get_number(cop_json_member(node, "bias"), &bias), COP_OK);
				assert_true((float)bias == stored->bias[n]);
				assert_non_null(cop_json_member(node, "test"));
				assert_true((cop_json_member(node, "rows") == NULL) == shapes[i].no_census);
			}
		}
		cop_json_free(json);
		cop_bytes_fini(&out);
		people_fini(&f);
	}
}

/* One script that runs, nothing from elsewhere, and no name outside of the data but escaped. */
static void test_html_holds_names_as_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		people f;
		cop_bytes out;
		people_init(&f, &shapes[i]);
		put(&f, "html", &whole, &out);
		assert_int_equal(count(&out, "<script>"), 1);
		assert_int_equal(count(&out, "<script"), 2);
		assert_int_equal(count(&out, "</script>"), 2);
		assert_int_equal(count(&out, "<img"), 0);
		assert_int_equal(count(&out, "</title>"), 1);
		assert_int_equal(count(&out, "src="), shapes[i].hostile ? count(&out, "img src=x") : 0);
		assert_int_equal(
		        count(&out, "http"), count(&out, "http-equiv") + count(&out, "http://www.w3.org/2000/svg"));
		const char *data = strstr((const char *)out.data, "id=\"data\">");
		assert_non_null(data);
		data += strlen("id=\"data\">");
		cop_json *json;
		assert_int_equal(cop_json_parse(data, (size_t)(strstr(data, "</script>") - data), &json, NULL), COP_OK);
		assert_int_equal(cop_json_size(cop_json_member(json, "trees")), shapes[i].trees);
		cop_json_free(json);
		cop_bytes_fini(&out);
		people_fini(&f);
	}
}

static double number_in(const cop_json *json)
{
	double value;
	assert_int_equal(cop_json_get_number(json, &value), COP_OK);
	return value;
}

/* Pairs of a class and its count or probability, at most 8, the commonest first. */
static void check_pairs(const cop_json *pairs, size_t classes, const double *want)
{
	size_t count = 0;
	double last = HUGE_VAL;
	for (size_t k = 0; k < classes; k++)
		count += want[k] > 0.0;
	assert_int_equal(cop_json_size(pairs), count < 8 ? count : 8);
	for (size_t i = 0; i < cop_json_size(pairs); i++) {
		const cop_json *pair = cop_json_element(pairs, i);
		double value = number_in(cop_json_element(pair, 1));
		assert_true(fabs(value - want[(size_t)number_in(cop_json_element(pair, 0))]) <= 1e-4 * (1.0 + value));
		assert_true(value <= last);
		last = value;
	}
}

static void check_places(const people *f, const cop_json *drawn)
{
	const cop_tree *tree = cop_trees_at(f->model->trees, 0);
	const cop_node_counts *census = f->model->census;
	const cop_json *leaves = cop_json_member(drawn, "leaves"), *nodes = cop_json_member(drawn, "nodes");
	size_t classes = f->shape.classes;
	assert_int_equal(cop_json_size(leaves), cop_tree_leaves(tree));
	assert_int_equal(cop_json_size(nodes), cop_tree_leaves(tree) - 1);
	for (size_t t = 0; t < cop_json_size(nodes); t++) {
		const cop_json *node = cop_json_element(nodes, t);
		assert_true(number_in(cop_json_member(node, "rows")) == (double)census->node_rows[t]);
		check_pairs(cop_json_member(node, "c"), classes, census->node_mix + t * classes);
	}
	for (size_t l = 0; l < cop_json_size(leaves); l++) {
		const cop_json *leaf = cop_json_element(leaves, l);
		float outputs[PEOPLE_K];
		double rates[PEOPLE_K];
		size_t best = cop_tree_leaf_class(tree, l, NULL);
		cop_tree_leaf_outputs(tree, l, NULL, outputs);
		for (size_t k = 0; k < classes; k++)
			rates[k] = (double)outputs[k];
		assert_true(number_in(cop_json_member(leaf, "k")) == (double)best);
		assert_true(fabs(number_in(cop_json_member(leaf, "q")) - rates[best]) < 1e-4);
		check_pairs(cop_json_member(leaf, "d"), classes, rates);
		assert_true(number_in(cop_json_member(leaf, "rows")) == (double)census->leaf_rows[l]);
		check_pairs(cop_json_member(leaf, "c"), classes, census->leaf_mix + l * classes);
	}
}

static void test_html_draws_what_the_tree_holds(void **state)
{
	(void)state;
	static const people_shape drawn[] = {
		{ .trees = 1, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES },
		{ .trees = 1, .depth = 2, .classes = 12, .link = COP_TREE_PROBABILITIES },
	};
	for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
		people f;
		cop_bytes out;
		cop_json *json;
		people_init(&f, &drawn[i]);
		put(&f, "html", &whole, &out);
		assert_true(count(&out, "<dt>") > 0);
		assert_int_equal(count(&out, "<dt>"), count(&out, "</dt><dd>"));
		assert_int_equal(count(&out, "<dt>"), count(&out, "</dd>\n"));
		const char *data = strstr((const char *)out.data, "id=\"data\">");
		assert_non_null(data);
		data += strlen("id=\"data\">");
		assert_int_equal(cop_json_parse(data, (size_t)(strstr(data, "</script>") - data), &json, NULL), COP_OK);
		check_places(&f, cop_json_element(cop_json_member(json, "trees"), 0));
		cop_json_free(json);
		cop_bytes_fini(&out);
		people_fini(&f);
	}
}

static void test_one_tree_of_a_forest_is_shown_alone(void **state)
{
	(void)state;
	static const char *const names[] = { "text", "rules", "json", "dot", "html" };
	people f;
	people_init(&f, &shapes[5]);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		cop_bytes all, one;
		cop_view_settings settings = { .tree = 7 };
		put(&f, names[i], &whole, &all);
		put(&f, names[i], &settings, &one);
		assert_true(one.length < all.length);
		cop_bytes_fini(&one);
		cop_bytes_fini(&all);
		settings.tree = 30;
		cop_bytes_init(&one);
		assert_int_equal(cop_view_find(names[i])->put(f.model, &settings, &one), COP_ENOTFOUND);
		settings.tree = 0;
		settings.top = 33;
		assert_int_equal(cop_view_find(names[i])->put(f.model, &settings, &one), COP_EINVAL);
		assert_int_equal(one.length, 0);
		cop_bytes_fini(&one);
	}
	people_fini(&f);
}

static void test_views_are_found_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; cop_view_at(i) != NULL; i++)
		assert_ptr_equal(cop_view_find(cop_view_at(i)->name), cop_view_at(i));
	assert_null(cop_view_find("svg"));
	assert_null(cop_view_find(""));
}

static void test_views_without_memory_say_so(void **state)
{
	(void)state;
	static const people_shape small = {
		.trees = 2, .depth = 2, .classes = 3, .link = COP_TREE_PROBABILITIES, .oblique = true
	};
	people f;
	people_init(&f, &small);
	for (size_t i = 0; cop_view_at(i) != NULL; i++) {
		unsigned long n = 1;
		for (;; n++) {
			cop_bytes out;
			cop_bytes_init(&out);
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_view_at(i)->put(f.model, &whole, &out);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			cop_bytes_fini(&out);
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
		}
		assert_true(n > 1);
	}
	people_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_view_shows_every_leaf_of_every_model),
		cmocka_unit_test(test_dot_is_balanced),
		cmocka_unit_test(test_json_tells_all_that_is_in_the_tree),
		cmocka_unit_test(test_html_holds_names_as_texts),
		cmocka_unit_test(test_html_draws_what_the_tree_holds),
		cmocka_unit_test(test_one_tree_of_a_forest_is_shown_alone),
		cmocka_unit_test(test_views_are_found_by_name),
		cmocka_unit_test(test_views_without_memory_say_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
