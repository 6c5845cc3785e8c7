/* predict.c: predictions of a tree that `coppice train --model MODEL` made.
 *
 *     predict MODEL FILE.csv           a line for each row, as `coppice predict` prints them
 *     predict MODEL NAME=VALUE ...     one row: features by name, "age=30", or "colour=red" for a category
 *     predict MODEL                    what the features are called
 *
 * Of classes the line has the predicted one and the probabilities of all. */
#include <coppice.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what, const char *why)
{
	fprintf(stderr, "predict: %s: %s\n", what, why);
	return 1;
}

static void print(const coppice_trained *trained, const double *out, size_t best)
{
	size_t classes = coppice_trained_classes(trained);
	if (classes == 0) {
		printf("%.9g\n", out[0]);
		return;
	}
	printf("%s", coppice_trained_class(trained, best));
	for (size_t k = 0; k < classes; k++)
		printf(",%.6g", out[k]);
	printf("\n");
}

static int predict_file(coppice_trained *trained, const char *path, double *out)
{
	coppice_table *table;
	coppice_message message;
	size_t best;
	if (coppice_table_load(trained, path, &table, &message) != COPPICE_OK)
		return failed("table", message.text);
	for (size_t i = 0; i < coppice_table_rows(table); i++) {
		if (coppice_table_predict(table, i, trained, out, &best) != COPPICE_OK) {
			coppice_table_free(table);
			return failed("row", coppice_trained_message(trained));
		}
		print(trained, out, best);
	}
	coppice_table_free(table);
	return 0;
}

/* "age=30" is 30 for the feature "age"; of "colour=red" the whole is the name of a feature that is 1. */
static void read_feature(const coppice_trained *trained, char *text, float *value)
{
	char *equals;
	*value = 1.0f;
	for (size_t j = 0; j < coppice_trained_features(trained); j++)
		if (strcmp(coppice_trained_feature(trained, j), text) == 0)
			return;
	equals = strrchr(text, '=');
	if (equals == NULL)
		return;
	*equals = '\0';
	*value = strtof(equals + 1, NULL);
}

static int predict_words(coppice_trained *trained, char **word, int count, double *out)
{
	float value[64];
	const char *name[64];
	size_t best;
	if (count > 64)
		return failed("NAME=VALUE", "expected at most 64");
	for (int i = 0; i < count; i++) {
		read_feature(trained, word[i], &value[i]);
		name[i] = word[i];
	}
	coppice_row row = coppice_row_names(name, value, (size_t)count);
	if (coppice_trained_predict(trained, &row, out, &best) != COPPICE_OK)
		return failed("row", coppice_trained_message(trained));
	print(trained, out, best);
	return 0;
}

static int list(const coppice_trained *trained)
{
	printf("%s:", coppice_trained_target(trained));
	for (size_t k = 0; k < coppice_trained_classes(trained); k++)
		printf(" %s", coppice_trained_class(trained, k));
	printf("\n");
	for (size_t j = 0; j < coppice_trained_features(trained); j++)
		printf("%s\n", coppice_trained_feature(trained, j));
	return 0;
}

int main(int argc, char **argv)
{
	coppice_trained *trained;
	coppice_message message;
	if (argc < 2)
		return failed("usage", "predict MODEL [FILE.csv | NAME=VALUE ...]");
	if (coppice_trained_load(argv[1], &trained, &message) != COPPICE_OK)
		return failed("model", message.text);
	double *out = malloc(coppice_trained_outputs(trained) * sizeof *out);
	int status = 1;
	if (out == NULL)
		status = failed("model", "out of memory");
	else if (argc == 2)
		status = list(trained);
	else if (argc == 3 && strchr(argv[2], '=') == NULL)
		status = predict_file(trained, argv[2], out);
	else
		status = predict_words(trained, argv + 2, argc - 2, out);
	free(out);
	coppice_trained_free(trained);
	return status;
}
