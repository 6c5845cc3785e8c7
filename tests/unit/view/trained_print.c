/* trained_print SHAPE VIEW: a view of a made-up model, or with the view "file" its model file, on standard output. */
#include <stdlib.h>

#include "trained_fixture.h"
#include "view/view.h"

typedef struct named_shape {
	const char *name;
	people_shape shape;
} named_shape;

static const named_shape shapes[] = {
	{ "axis", { .trees = 1, .depth = 4, .classes = 3, .link = COP_TREE_PROBABILITIES } },
	{ "oblique", { .trees = 1, .depth = 4, .classes = 3, .link = COP_TREE_PROBABILITIES, .oblique = true } },
	{ "values", { .trees = 1, .depth = 4, .link = COP_TREE_VALUES } },
	{ "linear", { .trees = 1, .depth = 3, .link = COP_TREE_VALUES, .oblique = true, .linear = true } },
	{ "softmax",
	        { .trees = 1, .depth = 3, .classes = 6, .link = COP_TREE_LOGITS, .oblique = true, .linear = true } },
	{ "leaf", { .trees = 1, .depth = 0, .classes = 3, .link = COP_TREE_PROBABILITIES } },
	{ "deep", { .trees = 1,
	                  .depth = 12,
	                  .classes = 26,
	                  .link = COP_TREE_PROBABILITIES,
	                  .oblique = true,
	                  .rows = 6000 } },
	{ "forest", { .trees = 30, .depth = 5, .classes = 3, .rule = COP_TREES_VOTE, .link = COP_TREE_PROBABILITIES } },
	{ "boosted", { .trees = 12, .depth = 3, .rule = COP_TREES_SUM, .link = COP_TREE_VALUES } },
	{ "hostile", { .trees = 3,
	                     .depth = 3,
	                     .classes = 3,
	                     .link = COP_TREE_PROBABILITIES,
	                     .oblique = true,
	                     .hostile = true } },
	{ "bare", { .trees = 1, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES, .no_census = true } },
};

int main(int argc, char **argv)
{
	const people_shape *shape = NULL;
	const cop_view *view = argc == 3 ? cop_view_find(argv[2]) : NULL;
	for (size_t i = 0; argc == 3 && i < sizeof shapes / sizeof *shapes; i++)
		if (strcmp(shapes[i].name, argv[1]) == 0)
			shape = &shapes[i].shape;
	if (shape == NULL || (view == NULL && strcmp(argv[2], "file") != 0)) {
		(void)fputs("usage: trained_print SHAPE VIEW|file\n", stderr);
		return 2;
	}
	people f;
	cop_bytes out;
	cop_view_settings settings = { .tree = COP_VIEW_ALL, .title = "people.model" };
	cop_bytes_init(&out);
	people_init(&f, shape);
	if (view == NULL)
		cop_trained_put(f.model, &out);
	cop_err err = view != NULL ? view->put(f.model, &settings, &out) : out.err;
	if (err == COP_OK)
		(void)fwrite(out.data, 1, out.length, stdout);
	else
		(void)fprintf(stderr, "trained_print: %s\n", cop_err_text(err));
	cop_bytes_fini(&out);
	people_fini(&f);
	return err == COP_OK && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
