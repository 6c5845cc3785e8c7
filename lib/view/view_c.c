/* All trees share one set of tables: nodes, entries of sums, rows of leaves. Only features that a sum uses are
 * prepared, each when it is needed. Constants are written as hexadecimal floats, so nothing is lost; sums are formed in
 * double, which may differ from the library's floats in the last digits. */
#include <string.h>

#include "base/mem.h"
#include "view/tree_phrases.h"
#include "view/view.h"

typedef struct source {
	const cop_trained *model;
	const char *name; /* of the function */
	size_t nodes, rows, facets, entries, used, most_rows;
	uint32_t *place; /* d: of a used feature in the table, from 1; 0: not used */
	bool softmax;
	cop_bytes clean; /* a name on its way into a comment */
	cop_bytes *out;
} source;

#define PUT(...) cop_tree_phrases_put(s->out, __VA_ARGS__)

static const cop_tree_parts *parts_at(const source *s, size_t i)
{
	return cop_tree_view(cop_trees_at(s->model->trees, i));
}

static size_t trees_of(const source *s) { return cop_trees_count(s->model->trees); }
static bool is_classes(const source *s) { return cop_encoder_classes(s->model->preparation) > 0; }

/* ---- texts ---- */

/* Inside a string literal, only ASCII, or with `comment` a comment, of clean text: nothing that ends it, no trigraph.
 */
static void put_literal(const char *text, bool comment, cop_bytes *out)
{
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
		if (*at < ' ' || (*at > '~' && !comment) || *at == '"' || *at == '\\' || *at == '?' ||
		        (comment && *at == '*'))
			cop_tree_phrases_put(out, "\\%03o", *at);
		else
			cop_bytes_put(out, at, 1);
}

static bool is_identifier(const char *name)
{
	static const char *const taken[] = { "auto", "break", "case", "char", "const", "continue", "default", "do",
		"double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
		"restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
		"unsigned", "void", "volatile", "while", "main" };
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t length = strlen(name);
	if (length == 0 || length > 63 || strspn(name, allowed) != length || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		if (strcmp(name, taken[i]) == 0)
			return false;
	return name[0] != '_' && strncmp(name, "cop_", 4) != 0; /* tables and helpers */
}

/* The summary as comment lines: it holds line ends and clean text. */
static cop_err put_summary(const source *s, const char *title)
{
	cop_view_scope scope;
	cop_view_settings settings = { .tree = COP_VIEW_ALL, .title = title };
	cop_bytes text;
	cop_err err = cop_view_begin(s->model, &settings, &scope);
	if (err != COP_OK)
		return err;
	scope.sums = false;
	cop_bytes_init(&text);
	cop_view_summary(s->model, &scope, "", &text);
	cop_bytes_put_u8(&text, 0);
	err = text.err;
	for (char *at = (char *)text.data, *end; err == COP_OK && (end = strchr(at, '\n')) != NULL; at = end + 1) {
		*end = '\0';
		PUT(" *   ");
		put_literal(at, true, s->out);
		PUT("\n");
	}
	cop_bytes_fini(&text);
	return err;
}

static bool uses_exp(const source *s)
{
	return s->facets > 0 || s->softmax || cop_trees_how(s->model->trees) == COP_TREES_SOFTMAX;
}

static void put_contract(const source *s)
{
	size_t outputs = cop_trees_outputs(s->model->trees);
	PUT(" *\n *     double %s(const double *raw, double *outputs);\n *\n", s->name);
	PUT(" * raw: %zu features in the file's units, not scaled; those of a category, \"column=category\", are 1 "
	    "where\n",
	        cop_trees_features(s->model->trees));
	PUT(" * the column is of it and else 0. All that are used stand in the table cop_feature; they must be "
	    "finite.\n");
	if (is_classes(s)) {
		PUT(" * outputs: room for %zu, gets what speaks for each class. Returns the class, from 0; its name "
		    "is\n",
		        outputs);
		PUT(" * %s_class(class).\n", s->name);
	} else {
		PUT(" * outputs: room for %zu, gets the predicted values. Returns the first.\n", outputs);
	}
	PUT(" * C99%s. Any number of threads. */\n", uses_exp(s) ? "; link with the mathematical library (-lm)" : "");
	if (uses_exp(s))
		PUT("#include <math.h>\n\n");
}

/* ---- tables ---- */

static void count_vectors(source *s, const cop_tree_vectors *vectors)
{
	size_t to = vectors->count == 0 ? 0 : vectors->start[vectors->count];
	for (size_t e = 0; e < to; e++)
		s->place[vectors->index[e]] = 1;
	s->entries += to;
}

static void count(source *s)
{
	size_t d = cop_trees_features(s->model->trees);
	for (size_t i = 0; i < trees_of(s); i++) {
		const cop_tree_parts *parts = parts_at(s, i);
		s->nodes += parts->nodes.count;
		s->rows += parts->rows.count;
		s->facets += parts->facets.count;
		count_vectors(s, &parts->nodes);
		count_vectors(s, &parts->rows);
		count_vectors(s, &parts->facets);
		for (size_t l = 0; l <= parts->nodes.count; l++) {
			size_t rows = parts->leaf[l + 1] - parts->leaf[l];
			s->most_rows = rows > s->most_rows ? rows : s->most_rows;
		}
	}
	for (size_t j = 0; j < d; j++)
		if (s->place[j] != 0)
			s->place[j] = (uint32_t)++s->used;
	s->softmax = parts_at(s, 0)->link == COP_TREE_LOGITS && cop_trees_how(s->model->trees) != COP_TREES_VOTE;
}

static void put_name(source *s, const char *name)
{
	s->clean.length = 0;
	cop_tree_phrases_clean(name, &s->clean);
	cop_bytes_put_u8(&s->clean, 0);
	if (s->clean.err == COP_OK)
		put_literal((const char *)s->clean.data, true, s->out);
}

static void put_features(source *s)
{
	const cop_encoder *preparation = s->model->preparation;
	PUT("static const struct {\n\tunsigned long at; /* in raw */\n\tdouble shift, scale;\n} cop_feature[] = {\n");
	for (size_t j = 0; j < cop_trees_features(s->model->trees) && s->out->err == COP_OK; j++) {
		double shift, scale;
		if (s->place[j] == 0)
			continue;
		cop_encoder_scale(preparation, j, &shift, &scale);
		PUT("\t{ %zu, %a, %a }, /* ", j, shift, scale);
		put_name(s, cop_encoder_feature(preparation, j));
		PUT(" */\n");
	}
	PUT("%s};\n\n", s->used == 0 ? "\t{ 0, 0.0, 0.0 },\n" : "");
}

static void put_entries_of(const source *s, const cop_tree_vectors *vectors)
{
	size_t to = vectors->count == 0 ? 0 : vectors->start[vectors->count];
	for (size_t e = 0; e < to && s->out->err == COP_OK; e++)
		PUT("%s{ %u, %af },%s", e % 4 == 0 ? "\t" : " ", s->place[vectors->index[e]] - 1,
		        (double)vectors->weight[e], e % 4 == 3 || e + 1 == to ? "\n" : "");
}

static void put_entries(const source *s)
{
	PUT("/* Terms of sums: those of nodes, then those of leaves. */\n");
	PUT("static const struct {\n\tunsigned long feature;\n\tfloat weight;\n} cop_entry[] = {\n");
	for (size_t i = 0; i < trees_of(s); i++)
		put_entries_of(s, &parts_at(s, i)->nodes);
	for (size_t i = 0; i < trees_of(s); i++)
		put_entries_of(s, &parts_at(s, i)->rows);
	for (size_t i = 0; i < trees_of(s); i++)
		put_entries_of(s, &parts_at(s, i)->facets);
	PUT("%s};\n\n", s->entries == 0 ? "\t{ 0, 0.0f },\n" : "");
}

/* A child's number among those of all trees: nodes from `nodes`, leaves from `leaves`. */
static long number(int32_t child, size_t nodes, size_t leaves)
{
	return child >= 0 ? (long)((size_t)child + nodes) : -1 - (long)((size_t)~child + leaves);
}

/* Returns the entries that are behind all nodes'. */
static size_t put_nodes(const source *s)
{
	size_t nodes = 0, leaves = 0, entries = 0;
	PUT("/* Right where the sum is at least 0; c >= 0 is node c, else leaf -1 - c. */\n");
	PUT("static const struct {\n\tlong left, right;\n\tunsigned long first;\n\tfloat bias;\n} cop_node[] = {\n");
	for (size_t i = 0; i < trees_of(s); i++) {
		const cop_tree_parts *parts = parts_at(s, i);
		for (size_t t = 0; t < parts->nodes.count && s->out->err == COP_OK; t++)
			PUT("\t{ %ld, %ld, %zu, %af },\n", number(parts->left[t], nodes, leaves),
			        number(parts->right[t], nodes, leaves), entries + parts->nodes.start[t],
			        (double)parts->nodes.bias[t]);
		entries += parts->nodes.count == 0 ? 0 : parts->nodes.start[parts->nodes.count];
		nodes += parts->nodes.count;
		leaves += parts->nodes.count + 1;
	}
	PUT("\t{ 0, 0, %zu, 0.0f },\n};\n\n", entries);
	return entries;
}

/* entries: those before the facets'. */
static void put_facets(const source *s, size_t entries)
{
	size_t facets = 0;
	if (s->facets == 0)
		return;
	PUT("/* Of nodes with facets, r ln(1 + e^sum) of each is added to the bias. */\n");
	PUT("static const struct {\n\tunsigned long first;\n\tfloat bias, r;\n} cop_facet[] = {\n");
	for (size_t i = 0; i < trees_of(s); i++) {
		const cop_tree_parts *parts = parts_at(s, i);
		for (size_t k = 0; k < parts->facets.count && s->out->err == COP_OK; k++)
			PUT("\t{ %zu, %af, %af },\n", entries + parts->facets.start[k], (double)parts->facets.bias[k],
			        (double)parts->r[k]);
		entries += parts->facets.count == 0 ? 0 : parts->facets.start[parts->facets.count];
	}
	PUT("\t{ %zu, 0.0f, 0.0f },\n};\n\n", entries);
	PUT("/* The first facet of each node. */\nstatic const unsigned long cop_node_facet[] = {");
	for (size_t i = 0, at = 0; i < trees_of(s); i++) {
		const cop_tree_parts *parts = parts_at(s, i);
		for (size_t t = 0; t < parts->nodes.count && s->out->err == COP_OK; t++, at++)
			PUT("%s%zu,", at % 12 == 0 ? "\n\t" : " ",
			        facets + (parts->facets.count == 0 ? 0 : parts->facet[t]));
		facets += parts->facets.count;
	}
	PUT("\n\t%zu\n};\n\n", facets);
}

/* Returns the entries that are behind all rows'. */
static size_t put_rows(const source *s, size_t entries)
{
	PUT("/* Values of the leaves, for each output. */\n");
	PUT("static const struct {\n\tunsigned long output, first;\n\tfloat bias;\n} cop_row[] = {\n");
	for (size_t i = 0; i < trees_of(s); i++) {
		const cop_tree_parts *parts = parts_at(s, i);
		for (size_t r = 0; r < parts->rows.count && s->out->err == COP_OK; r++)
			PUT("\t{ %u, %zu, %af },\n", parts->output[r], entries + parts->rows.start[r],
			        (double)parts->rows.bias[r]);
		entries += parts->rows.start[parts->rows.count];
	}
	PUT("\t{ 0, %zu, 0.0f },\n};\n\n", entries);
	return entries;
}

static void put_leaves(const source *s)
{
	size_t rows = 0, at = 0;
	PUT("/* The first row of each leaf. */\nstatic const unsigned long cop_leaf[] = {");
	for (size_t i = 0; i < trees_of(s); i++) {
		const cop_tree_parts *parts = parts_at(s, i);
		for (size_t l = 0; l <= parts->nodes.count && s->out->err == COP_OK; l++, at++)
			PUT("%s%zu,", at % 12 == 0 ? "\n\t" : " ", rows + parts->leaf[l]);
		rows += parts->rows.count;
	}
	PUT("%s%zu\n};\n\n", at % 12 == 0 ? "\n\t" : " ", rows);
}

static void put_roots(const source *s)
{
	size_t nodes = 0, leaves = 0;
	PUT("static const struct {\n\tlong root;\n\tdouble weight;\n} cop_tree[] = {\n");
	for (size_t i = 0; i < trees_of(s); i++) {
		size_t count_here = parts_at(s, i)->nodes.count;
		PUT("\t{ %ld, %a },\n", number(count_here == 0 ? ~0 : 0, nodes, leaves),
		        cop_trees_weight(s->model->trees, i));
		nodes += count_here;
		leaves += count_here + 1;
	}
	PUT("};\n\n");
}

static void put_base(const source *s)
{
	PUT("static const double cop_base[] = {");
	for (size_t k = 0; k < cop_trees_outputs(s->model->trees); k++)
		PUT("%s%a,", k % 6 == 0 ? "\n\t" : " ", cop_trees_base(s->model->trees)[k]);
	PUT("\n};\n\n");
}

static void put_classes(const source *s)
{
	const cop_encoder *preparation = s->model->preparation;
	PUT("static const char *const cop_class[] = {\n");
	for (size_t k = 0; k < cop_encoder_classes(preparation) && s->out->err == COP_OK; k++) {
		PUT("\t\"");
		put_literal(cop_encoder_class(preparation, k), false, s->out);
		PUT("\",\n");
	}
	PUT("};\n\nconst char *%s_class(unsigned long k);\n", s->name);
	PUT("const char *%s_class(unsigned long k)\n{\n\treturn cop_class[k];\n}\n\n", s->name);
}

/* ---- code ---- */

static const char walk_code[] =
        "static float cop_float(double x)\n"
        "{\n"
        "\tconst double most = 0x1.fffffep+127;\n"
        "\treturn (float)(x > most ? most : x < -most ? -most : x);\n"
        "}\n\n"
        "static double cop_sum(const double *raw, unsigned long from, unsigned long to, float bias)\n"
        "{\n"
        "\tdouble sum = 0.0;\n"
        "\tfor (; from < to; from++) {\n"
        "\t\tunsigned long f = cop_entry[from].feature;\n"
        "\t\tdouble x = (double)cop_float(raw[cop_feature[f].at]);\n"
        "\t\tx = (double)cop_float((x - cop_feature[f].shift) * cop_feature[f].scale);\n"
        "\t\tsum += (double)cop_entry[from].weight * x;\n"
        "\t}\n"
        "\treturn sum + (double)bias;\n"
        "}\n\n"
        "static float cop_score(const double *raw, unsigned long r)\n"
        "{\n"
        "\treturn cop_float(cop_sum(raw, cop_row[r].first, cop_row[r + 1].first, cop_row[r].bias));\n"
        "}\n\n"
        "";

static const char reach_code[] =
        "static unsigned long cop_reach(const double *raw, long at)\n"
        "{\n"
        "\twhile (at >= 0) {\n"
        "\t\tdouble sum = cop_sum(raw, cop_node[at].first, cop_node[at + 1].first, cop_node[at].bias);\n"
        "\t\tat = sum >= 0.0 ? cop_node[at].right : cop_node[at].left;\n"
        "\t}\n"
        "\treturn (unsigned long)(-1 - at);\n"
        "}\n\n";

static const char facets_code[] =
        "static double cop_facets(const double *raw, unsigned long k, unsigned long to)\n"
        "{\n"
        "\tdouble sum = 0.0;\n"
        "\tfor (; k < to; k++) {\n"
        "\t\tdouble z = cop_sum(raw, cop_facet[k].first, cop_facet[k + 1].first, cop_facet[k].bias);\n"
        "\t\tsum += (double)cop_facet[k].r * ((z > 0.0 ? z : 0.0) + log1p(exp(-fabs(z))));\n"
        "\t}\n"
        "\treturn sum;\n"
        "}\n\n"
        "static unsigned long cop_reach(const double *raw, long at)\n"
        "{\n"
        "\twhile (at >= 0) {\n"
        "\t\tdouble sum = cop_sum(raw, cop_node[at].first, cop_node[at + 1].first, cop_node[at].bias);\n"
        "\t\tsum += cop_facets(raw, cop_node_facet[at], cop_node_facet[at + 1]);\n"
        "\t\tat = sum >= 0.0 ? cop_node[at].right : cop_node[at].left;\n"
        "\t}\n"
        "\treturn (unsigned long)(-1 - at);\n"
        "}\n\n";

static const char linear_code[] =
        "static void cop_add(const double *raw, unsigned long l, double weight, double *outputs)\n"
        "{\n"
        "\tunsigned long r;\n"
        "\tfor (r = cop_leaf[l]; r < cop_leaf[l + 1]; r++)\n"
        "\t\toutputs[cop_row[r].output] += weight * (double)cop_score(raw, r);\n"
        "}\n\n";

static const char softmax_code[] =
        "static void cop_add(const double *raw, unsigned long l, double weight, double *outputs)\n"
        "{\n"
        "\tfloat score[COP_MOST_ROWS], most = -0x1.fffffep+127f;\n"
        "\tdouble sum = 0.0;\n"
        "\tunsigned long from = cop_leaf[l], rows = cop_leaf[l + 1] - from, r;\n"
        "\tfor (r = 0; r < rows; r++) {\n"
        "\t\tscore[r] = cop_score(raw, from + r);\n"
        "\t\tmost = score[r] > most ? score[r] : most;\n"
        "\t}\n"
        "\tfor (r = 0; r < rows; r++) {\n"
        "\t\tscore[r] = expf(score[r] - most);\n"
        "\t\tsum += (double)score[r];\n"
        "\t}\n"
        "\tfor (r = 0; r < rows; r++)\n"
        "\t\toutputs[cop_row[from + r].output] += weight * (double)(float)((double)score[r] / sum);\n"
        "}\n\n";

/* An output without a row is 0, or with logits not there. */
static const char vote_code[] =
        "static void cop_add(const double *raw, unsigned long l, double weight, double *outputs)\n"
        "{\n"
        "\tunsigned long r = cop_leaf[l], k, best = COP_OUTPUTS;\n"
        "\tfloat most = 0.0f;\n"
        "\tfor (k = 0; k < COP_OUTPUTS; k++) {\n"
        "\t\tint present = r < cop_leaf[l + 1] && cop_row[r].output == k;\n"
        "\t\tfloat score = present ? cop_score(raw, r) : 0.0f;\n"
        "\t\tr += (unsigned long)present;\n"
        "\t\tif ((present || !COP_LOGITS) && (best == COP_OUTPUTS || score > most)) {\n"
        "\t\t\tmost = score;\n"
        "\t\t\tbest = k;\n"
        "\t\t}\n"
        "\t}\n"
        "\toutputs[best] += weight;\n"
        "}\n\n";

/* Of all trees together. */
static const char sum_softmax_code[] = "\tmost = outputs[0];\n"
                                       "\tfor (k = 1; k < COP_OUTPUTS; k++)\n"
                                       "\t\tmost = outputs[k] > most ? outputs[k] : most;\n"
                                       "\tfor (k = 0; k < COP_OUTPUTS; k++)\n"
                                       "\t\tsum += outputs[k] = exp(outputs[k] - most);\n"
                                       "\tfor (k = 0; k < COP_OUTPUTS; k++)\n"
                                       "\t\toutputs[k] /= sum;\n";

static void put_function(const source *s)
{
	const cop_encoder *preparation = s->model->preparation;
	cop_trees_rule rule = cop_trees_how(s->model->trees);
	double total = 0.0, origin = is_classes(s) ? 0.0 : cop_encoder_from_scale(preparation, 0.0);
	for (size_t i = 0; i < trees_of(s); i++)
		total += cop_trees_weight(s->model->trees, i);
	PUT("double %s(const double *raw, double *outputs);\n", s->name);
	PUT("double %s(const double *raw, double *outputs)\n{\n\tunsigned long i, k%s;\n%s", s->name,
	        is_classes(s) ? ", best = 0" : "", rule == COP_TREES_SOFTMAX ? "\tdouble most, sum = 0.0;\n" : "");
	PUT("\tfor (k = 0; k < COP_OUTPUTS; k++)\n\t\toutputs[k] = cop_base[k];\n");
	PUT("\tfor (i = 0; i < sizeof cop_tree / sizeof *cop_tree; i++)\n");
	PUT("\t\tcop_add(raw, cop_reach(raw, cop_tree[i].root), cop_tree[i].weight, outputs);\n");
	if (rule == COP_TREES_SOFTMAX)
		cop_bytes_put(s->out, sum_softmax_code, sizeof sum_softmax_code - 1);
	if (!cop_trees_adds(s->model->trees))
		PUT("\tfor (k = 0; k < COP_OUTPUTS; k++)\n\t\toutputs[k] /= %a;\n", total);
	if (is_classes(s)) {
		PUT("\tfor (k = 1; k < COP_OUTPUTS; k++)\n\t\tif (outputs[k] > outputs[best])\n\t\t\tbest = k;\n");
		PUT("\treturn (double)best;\n}\n");
		return;
	}
	PUT("\tfor (k = 0; k < COP_OUTPUTS; k++)\n\t\toutputs[k] = %a + outputs[k] * %a;\n", origin,
	        cop_encoder_from_scale(preparation, 1.0) - origin);
	PUT("\treturn outputs[0];\n}\n");
}

static void put_code(const source *s)
{
	bool vote = cop_trees_how(s->model->trees) == COP_TREES_VOTE;
	const char *add = vote ? vote_code : s->softmax ? softmax_code : linear_code;
	PUT("#define COP_OUTPUTS   %zuUL\n", cop_trees_outputs(s->model->trees));
	if (s->softmax)
		PUT("#define COP_MOST_ROWS %zu\n", s->most_rows);
	if (vote)
		PUT("#define COP_LOGITS    %d\n", parts_at(s, 0)->link == COP_TREE_LOGITS);
	PUT("\n");
	cop_bytes_put(s->out, walk_code, sizeof walk_code - 1);
	if (s->facets > 0)
		cop_bytes_put(s->out, facets_code, sizeof facets_code - 1);
	else
		cop_bytes_put(s->out, reach_code, sizeof reach_code - 1);
	cop_bytes_put(s->out, add, strlen(add));
	if (is_classes(s))
		put_classes(s);
	put_function(s);
}

cop_err cop_view_c(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out)
{
	source source_of = { .model = model, .out = out, .name = settings->function }, *s = &source_of;
	if (s->name == NULL)
		s->name = "predict";
	if (!is_identifier(s->name))
		return COP_EINVAL;
	if (cop_trees_latent(model->trees) != NULL)
		return COP_ESHAPE;
	cop_bytes_init(&s->clean);
	s->place = cop_mem_alloc(cop_trees_features(model->trees), sizeof *s->place);
	if (s->place == NULL)
		return COP_ENOMEM;
	count(s);
	cop_err err = s->entries > INT32_MAX || s->rows > INT32_MAX ? COP_EFULL : COP_OK;
	if (err == COP_OK) {
		PUT("/* A model that coppice trained:\n *\n");
		err = put_summary(s, settings->title);
	}
	if (err == COP_OK) {
		put_contract(s);
		put_features(s);
		put_entries(s);
		put_facets(s, put_rows(s, put_nodes(s)));
		put_leaves(s);
		put_roots(s);
		put_base(s);
		put_code(s);
		err = s->clean.err != COP_OK ? s->clean.err : out->err;
	}
	cop_bytes_fini(&s->clean);
	cop_mem_free(s->place);
	return err;
}
