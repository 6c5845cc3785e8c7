/* coppice export: a trained model as source code of another program. */
#include <stdio.h>
#include <string.h>

#include "store/section_file.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
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

static bool is_identifier(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t length = strlen(text);
	return length > 0 && length <= 63 && strspn(text, letters) == length && (text[0] < '0' || text[0] > '9');
}

static bool read_c(void *in, const cop_option *row, char *text)
{
	(void)row;
	(void)text;
	((cop_inspect_trained *)in)->view = cop_view_find("c");
	return true;
}

static bool read_function(void *in, const cop_option *row, char *text)
{
	(void)row;
	((cop_inspect_trained *)in)->settings.function = text;
	return is_identifier(text) ||
	       cop_command_complain(NAME, "--function: '%s' given, expected an identifier", text);
}

#define OF(member) COP_OPTION_OF(cop_inspect_trained, member)

static const cop_option rows[] = {
	{ "c", COP_OPTION_CALL_BARE, .read = read_c },
	{ "function", COP_OPTION_CALL, .read = read_function },
	{ "out", COP_OPTION_TEXT, OF(out) },
	{ "json", COP_OPTION_FLAG, OF(source_json) },
	{ .name = NULL },
};

int cop_command_export(int argc, char **argv)
{
	cop_inspect_trained in = { .out = "-", .settings = { .tree = COP_VIEW_ALL } };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &in, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind + 1 != argc || in.view == NULL)
		return cop_command_misused(NAME, "expected --c and one MODEL (coppice export --help)");
	in.path = argv[optind];
	in.settings.title = in.path;
	cop_diag diag = { 0 };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_err err = cop_section_file_load(in.path, &bytes, &diag);
	if (err == COP_OK)
		err = cop_inspect_trained_show(&in, &bytes, &diag);
	cop_bytes_fini(&bytes);
	return err == COP_OK ? 0 : cop_command_failed(NAME, &diag);
}
