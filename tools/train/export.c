/* coppice export: a trained model as source code of another program. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "store/model_file.h"
#include "tools/common/command.h"
#include "tools/inspect/inspect_trained.h"

#define NAME "export"

static const char usage_text[] = "usage: coppice export --c MODEL [--function NAME] [--out FILE]\n\n"
                                 "Writes the model that `coppice train` wrote as a C source that needs nothing but\n"
                                 "a C99 compiler. It has one function, which takes a row's features as they stand\n"
                                 "in the file (categories as 0 and 1) and predicts what the model does.\n\n"
                                 "  --c               C99 source\n"
                                 "  --function NAME   of the function (default predict)\n"
                                 "  --out FILE        write there instead of standard output\n"
                                 "  --json            one JSON object: the function's name, and the source\n";

enum { C = 256, FUNCTION, OUT, JSON, HELP };

static const struct option long_options[] = {
	{ "c", no_argument, NULL, C },
	{ "function", required_argument, NULL, FUNCTION },
	{ "out", required_argument, NULL, OUT },
	{ "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static bool is_identifier(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t length = strlen(text);
	return length > 0 && length <= 63 && strspn(text, letters) == length && (text[0] < '0' || text[0] > '9');
}

static bool read_option(cop_inspect_trained *in, int option)
{
	switch (option) {
	case C:
		in->view = cop_view_find("c");
		return true;
	case FUNCTION:
		in->settings.function = optarg;
		if (is_identifier(optarg))
			return true;
		cop_command_complain(NAME, "--function: '%s' given, expected an identifier", optarg);
		return false;
	case OUT:
		in->out = optarg;
		return true;
	case JSON:
		return in->source_json = true;
	default:
		return false;
	}
}

int cop_export_command(int argc, char **argv)
{
	cop_inspect_trained in = { .out = "-", .settings = { .tree = COP_VIEW_ALL } };
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			return 0;
		}
		if (!read_option(&in, option))
			return COP_EXIT_USAGE;
	}
	if (optind + 1 != argc || in.view == NULL) {
		cop_command_complain(NAME, "expected --c and one MODEL (coppice export --help)");
		return COP_EXIT_USAGE;
	}
	in.path = argv[optind];
	in.settings.title = in.path;
	cop_diag diag = { 0 };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_err err = cop_model_file_load(in.path, &bytes, &diag);
	if (err == COP_OK)
		err = cop_inspect_trained_show(&in, &bytes, &diag);
	cop_bytes_fini(&bytes);
	return err == COP_OK ? 0 : cop_command_failed(NAME, &diag);
}
