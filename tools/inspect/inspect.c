/* coppice inspect: what a checkpoint or model file holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect_model.h"
#include "online/model_page.h"
#include "inspect_trained.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
#include "tools/common/saved_file.h"
#include "tools/replay/replay_inspect.h"
#include "view/tree_phrases.h"

#define NAME "inspect"

static const char usage_text[] = "usage: coppice inspect FILE [OPTION ...]\n\n"
                                 "Shows what a daemon's checkpoint or a model file holds: its sections, each\n"
                                 "model's settings, counters, experts and trees. Everything is checked: a damaged\n"
                                 "file is refused, with what is wrong.\n\n"
                                 "A model that `coppice train` wrote is shown in one of several views: split by\n"
                                 "split, with the rows that came by. Served and replayed models have one, html:\n"
                                 "experts, linear terms, forests and trees, as a page.\n\n"
                                 "  --model NAME    only this model\n"
                                 "  --tree N|all    show tree N (from 0), or all, with their weights (over\n"
                                 "                  standardised features) and leaves; of a trained forest: only\n"
                                 "                  tree N\n"
                                 "  --names FILE    with --tree or --view html: names of all features, one a\n"
                                 "                  line (default: those saved with the model)\n"
                                 "  --candidate-names FILE\n"
                                 "                  the same of the features of candidates\n"
                                 "  --arm-names FILE\n"
                                 "                  the same of arms, else arm 0, arm 1 ...\n"
                                 "  --view NAME     of a trained model: text (default), rules, json, dot\n"
                                 "                  (Graphviz), html (a page of its own), c; of others: html\n"
                                 "  --top N         views: heaviest features shown of a sum (default 4; of linear\n"
                                 "                  terms on pages of served models 8)\n"
                                 "  --importance    of a trained model: each feature's share in what the splits\n"
                                 "                  achieve\n"
                                 "  --out FILE      views: write there instead of standard output\n"
                                 "  --json          one JSON object on standard output (of a trained model: --view\n"
                                 "                  json)\n";

typedef struct inspection {
	const char *only; /* NULL: all models */
	bool json;
	cop_inspect_view view;
	cop_inspect_trained trained; /* how, should it be a trained model */
	cop_model_page_given given[COP_MODEL_PAGE_GIVEN];
	size_t shown; /* models */
	cop_saved_file saved;
} inspection;

static bool has_names(const inspection *in)
{
	bool has = false;
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN; i++)
		has |= in->given[i].file != NULL;
	return has;
}

/* ---- showing ---- */

static void show_sections(const inspection *in)
{
	cop_model_section section;
	size_t at = 0;
	cop_json_writer *json = in->view.json;
	char name[COP_SAVED_FILE_NAME];
	if (json == NULL) {
		FILE *out = in->view.out;
		(void)fprintf(out, "%s: %s, format version %u, %zu bytes\n", in->saved.path,
		        in->saved.checkpoint ? "checkpoint" : "model file", (unsigned)in->saved.file.version,
		        in->saved.bytes.length);
		(void)fprintf(out, "  %-15s %8s %12s\n", "section", "version", "bytes");
		while (cop_section_file_next(&in->saved.file, &at, &section)) {
			bool named = cop_saved_file_names(&section, name);
			(void)fprintf(out, "  %-15s %8u %12zu%s%s\n", section.name, (unsigned)section.version,
			        section.length, named ? "  " : "", name);
		}
		return;
	}
	cop_json_put_text(json, "kind", in->saved.checkpoint ? "checkpoint" : "model");
	cop_json_put_unsigned(json, "version", in->saved.file.version);
	cop_json_put_unsigned(json, "bytes", in->saved.bytes.length);
	cop_json_put_array(json, "sections");
	while (cop_section_file_next(&in->saved.file, &at, &section)) {
		cop_json_begin_object(json);
		cop_json_put_text(json, "name", section.name);
		if (cop_saved_file_names(&section, name))
			cop_json_put_text(json, "model", name);
		cop_json_put_unsigned(json, "version", section.version);
		cop_json_put_unsigned(json, "bytes", section.length);
		cop_json_end_object(json);
	}
	cop_json_end_array(json);
}

static cop_err show_models(inspection *in, cop_diag *diag)
{
	char name[COP_SAVED_FILE_NAME];
	const void *data;
	size_t length, at = 0;
	cop_err err;
	while ((err = cop_saved_file_next(&in->saved, &at, name, &data, &length, diag)) == COP_OK) {
		if (in->only != NULL && strcmp(in->only, name) != 0)
			continue;
		in->shown++;
		err = cop_inspect_model(&in->view, in->saved.checkpoint ? name : NULL, data, length, diag);
		if (err != COP_OK)
			return err;
	}
	return err == COP_EEND ? COP_OK : err;
}

static cop_err show(inspection *in, cop_diag *diag)
{
	show_sections(in);
	if (in->json)
		cop_json_put_array(in->view.json, "models");
	cop_err err = show_models(in, diag);
	if (err == COP_OK && in->only != NULL && in->shown == 0) {
		cop_diag_of(diag, in->saved.path, "no model '%s' in it", in->only);
		err = COP_ENOTFOUND;
	}
	if (err == COP_OK && in->json) {
		cop_json_end_array(in->view.json);
		cop_json_put_array(in->view.json, "trees"); /* those outside of a model: none */
		cop_json_end_array(in->view.json);
	}
	if (err == COP_OK)
		err = cop_replay_inspect(&in->saved.file, in->view.out, in->view.json, diag);
	if (err != COP_OK && diag->source[0] == '\0')
		(void)snprintf(diag->source, sizeof diag->source, "%s", in->saved.path);
	return err;
}

/* All or nothing: what a fault follows is not printed. */
static cop_err show_as_text(inspection *in, cop_diag *diag)
{
	char *text = NULL;
	size_t length = 0;
	in->view.out = open_memstream(&text, &length);
	cop_err err = in->view.out != NULL ? show(in, diag) : COP_ENOMEM;
	if (in->view.out != NULL && fclose(in->view.out) != 0 && err == COP_OK)
		err = COP_ENOMEM;
	if (err == COP_OK)
		(void)fwrite(text, 1, length, stdout);
	else if (diag->message[0] == '\0')
		cop_diag_of(diag, in->saved.path, "%s", cop_err_text(err));
	free(text);
	return err;
}

static cop_err show_as_json(inspection *in, cop_diag *diag)
{
	const char *text;
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &in->view.json);
	if (err == COP_OK) {
		cop_json_begin_object(in->view.json);
		err = show(in, diag);
		if (err != COP_OK)
			return err;
		cop_json_end_object(in->view.json);
		err = cop_json_writer_finish(in->view.json, &text, NULL);
	}
	if (err == COP_OK)
		(void)puts(text);
	else
		cop_diag_of(diag, in->saved.path, "%s", cop_err_text(err));
	return err;
}

static bool is_trained(const inspection *in)
{
	cop_model_section section;
	return cop_section_file_find(&in->saved.file, COP_TRAINED_SECTION, 0, UINT32_MAX, &section) == COP_OK;
}

static cop_err show_trained(inspection *in, cop_diag *diag)
{
	cop_inspect_trained *trained = &in->trained;
	trained->path = trained->settings.title = in->saved.path;
	trained->json = in->json;
	trained->settings.tree = in->view.tree < COP_INSPECT_NO_TREE ? (size_t)in->view.tree : COP_VIEW_ALL;
	if (trained->view == NULL)
		trained->view = cop_view_find(in->json ? "json" : "text");
	if (in->only == NULL && !has_names(in))
		return cop_inspect_trained_show(trained, &in->saved.bytes, diag);
	cop_diag_of(diag, in->saved.path, "a trained model has one model and names of its own: no --model, no --names");
	return COP_EINVAL;
}

/* The models alone, with what can be drawn of them. */
static cop_err put_page(inspection *in, cop_model_page *page, cop_bytes *out, cop_diag *diag)
{
	char about[160];
	in->view.page = page;
	cop_err err = show_models(in, diag);
	(void)snprintf(about, sizeof about, "%s, %zu model%s, %zu bytes",
	        in->saved.checkpoint ? "checkpoint" : "model file", in->shown, in->shown == 1 ? "" : "s",
	        in->saved.bytes.length);
	if (err == COP_OK && in->shown == 0) {
		cop_diag_of(diag, in->saved.path, in->only != NULL ? "no model '%s' in it" : "no model in it%s",
		        in->only != NULL ? in->only : "");
		err = COP_ENOTFOUND;
	}
	return err == COP_OK ? cop_model_page_put(page, in->saved.path, about, out) : err;
}

static cop_err show_as_page(inspection *in, cop_diag *diag)
{
	cop_model_page page = { .top = in->trained.settings.top,
		.only_tree = in->view.tree < COP_INSPECT_NO_TREE ? in->view.tree : UINT64_MAX };
	cop_bytes out;
	cop_bytes_init(&out);
	cop_err err = cop_model_page_begin(&page);
	if (err == COP_OK)
		err = put_page(in, &page, &out, diag);
	if (err == COP_OK)
		err = cop_inspect_trained_write(in->trained.out, &out, diag);
	else if (diag->message[0] == '\0')
		cop_diag_of(diag, in->saved.path, "%s", cop_err_text(err));
	else if (diag->source[0] == '\0')
		(void)snprintf(diag->source, sizeof diag->source, "%s", in->saved.path);
	cop_model_page_fini(&page);
	cop_bytes_fini(&out);
	return err;
}

static cop_err show_others(inspection *in, cop_diag *diag)
{
	const cop_inspect_trained *trained = &in->trained;
	bool page = trained->view != NULL && strcmp(trained->view->name, "html") == 0;
	if ((trained->view != NULL && !page) || trained->importance ||
	        (!page && (trained->settings.top != 0 || strcmp(trained->out, "-") != 0))) {
		cop_diag_of(diag, in->saved.path,
		        "views other than html, --importance, and --top and --out without --view html, are for models "
		        "of "
		        "coppice train");
		return COP_EINVAL;
	}
	cop_err err = COP_OK;
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN && err == COP_OK; i++)
		err = cop_model_page_names_given_read(&in->given[i], diag);
	if (err == COP_OK)
		err = page ? show_as_page(in, diag) : in->json ? show_as_json(in, diag) : show_as_text(in, diag);
	return err;
}

static cop_err run(inspection *in, cop_diag *diag)
{
	cop_err err = cop_saved_file_open(&in->saved, diag);
	if (err == COP_OK && is_trained(in))
		err = show_trained(in, diag);
	else if (err == COP_OK)
		err = show_others(in, diag);
	cop_json_writer_free(in->view.json);
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN; i++)
		cop_model_page_names_given_fini(&in->given[i]);
	cop_saved_file_close(&in->saved);
	return err;
}

/* ---- arguments ---- */

static bool read_view(void *inspection_, const cop_option *row, char *text)
{
	inspection *in = inspection_;
	char names[128];
	(void)row;
	in->trained.view = cop_view_find(text);
	if (in->trained.view != NULL)
		return true;
	cop_inspect_trained_view_names(names, sizeof names);
	return cop_command_complain(NAME, "--view: '%s' given, expected one of %s", text, names);
}

static bool read_tree(void *inspection_, const cop_option *row, char *text)
{
	inspection *in = inspection_;
	(void)row;
	in->view.tree = COP_INSPECT_ALL_TREES;
	return strcmp(text, "all") == 0 || cop_command_whole(NAME, "--tree", text, 0, UINT32_MAX, &in->view.tree);
}

#define OF(member) COP_OPTION_OF(inspection, member)

static const cop_option rows[] = {
	{ "model", COP_OPTION_TEXT, OF(only) },
	{ "tree", COP_OPTION_CALL, .read = read_tree },
	{ "names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_FEATURES].file) },
	{ "candidate-names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_CANDIDATES].file) },
	{ "arm-names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_ARMS].file) },
	{ "view", COP_OPTION_CALL, .read = read_view },
	{ "top", COP_OPTION_WHOLE, OF(trained.settings.top), 1, COP_TREE_PHRASES_MOST },
	{ "importance", COP_OPTION_FLAG, OF(trained.importance) },
	{ "out", COP_OPTION_TEXT, OF(trained.out) },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ .name = NULL },
};

int cop_command_inspect(int argc, char **argv)
{
	inspection in = { .view = { .tree = COP_INSPECT_NO_TREE }, .trained = { .out = "-" } };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &in, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind + 1 != argc)
		return cop_command_misused(NAME, "expected one FILE (coppice inspect --help)");
	if (has_names(&in) && in.view.tree == COP_INSPECT_NO_TREE && in.trained.view == NULL)
		return cop_command_misused(NAME, "--names goes with --tree or --view html (coppice inspect --help)");
	in.saved.path = argv[optind];
	in.view.given = in.given;
	cop_diag diag = { 0 };
	return cop_command_end(NAME, run(&in, &diag), NULL, &diag);
}
