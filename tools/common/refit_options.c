/* A table over cop_sim_refit_settings; names are those of the daemon's section refit. */
#include "refit_options.h"

#include <string.h>

#include "train/tao.h"

static const char *const methods[] = { "tao", "laptao", "forest", NULL };
static const char *const promotes[] = { "evidence", "bound", NULL };
static const char *const detectors[] = { "adwin", "page-hinkley", "none", NULL };
static const char *const automatic[] = { "auto", NULL };

#define ROW(option, type, member, value)                                                                               \
	.name = option, .line = "refit-" option, .argument = value, .kind = COP_SETTING_##type,                        \
	.offset = offsetof(cop_sim_refit_settings, member)

static const cop_setting rows[] = {
	{ ROW("every", WHOLE, every, "N"), .low = 1, .high = 0x1p63,
	        .text = "refits beside the learner, one every N losses, by the rules of the daemon's section refit "
	                "(docs/concepts/refit.md), which has the following options too" },
	{ ROW("window", WHOLE, window, "N"), .low = 1, .high = UINT32_MAX,
	        .text = "number of newest decisions that a refit is fitted to" },
	{ ROW("holdout", NUMBER, holdout, "H"), .low = 0, .high = 0.9,
	        .text = "share of those decisions, the newest, that judge it instead" },
	{ ROW("method", WORD, method, "M"), .words = methods,
	        .text = "how a tree is fitted (learner dgt, sparse rows: tao unless given)" },
	{ ROW("height", COUNT, height, "H"), .low = 1, .high = COP_TAO_MAX_DEPTH, .text = "height of the tree" },
	{ ROW("alpha", MAYBE, alpha, "A"), .low = 0, .high = 1e6, .words = automatic,
	        .text = "penalty on the weights of the tree, in units of noise" },
	{ ROW("promote", WORD, promote, "P"), .words = promotes,
	        .text = "when a refit is promoted (bound: by the interval of losses alone)" },
	{ ROW("margin", NUMBER, margin, "G"), .low = 0, .high = 1,
	        .text = "by how much its loss must be lower for that, in units of loss_range" },
	{ ROW("risk", NUMBER, risk, "R"), .low = 1e-12, .high = 0.999,
	        .text = "risk of promoting a refit that is not better" },
	{ ROW("on-drift", NAME, drift, "D"), .words = detectors,
	        .text = "detector of rising losses, at whose alarm a refit begins at once" },
	{ .name = NULL },
};

void cop_refit_options_init(cop_refit_options *options, const char *command)
{
	*options = (cop_refit_options){ .command = command };
	cop_sim_refit_defaults(&options->settings);
}

void cop_refit_options_join(struct option *table, size_t room)
{
	cop_option_rows_join(rows, COP_REFIT_FIRST, table, room);
}

void cop_refit_options_usage(void)
{
	cop_sim_refit_settings usual;
	cop_sim_refit_defaults(&usual);
	for (const cop_setting *row = rows; row->name != NULL; row++) {
		cop_bytes standard;
		cop_bytes_init(&standard);
		if (row->offset == offsetof(cop_sim_refit_settings, height)) /* 0: as below */
			cop_bytes_put(&standard, "6; dgt: its own", 15);
		else if (row->offset != offsetof(cop_sim_refit_settings, every)) /* 0: none are made */
			cop_setting_print(row, &cop_setting_on_line, &usual, &standard);
		cop_bytes_put_u8(&standard, 0);
		cop_option_rows_usage(row, "", standard.err == COP_OK ? (const char *)standard.data : "");
		cop_bytes_fini(&standard);
	}
}

bool cop_refit_options_read(cop_refit_options *options, int option, const char *text)
{
	options->given[option - COP_REFIT_FIRST] = true;
	return cop_option_rows_read(options->command, &rows[option - COP_REFIT_FIRST], text, &options->settings);
}

int cop_refit_options_find(const char *name)
{
	bool takes;
	return cop_option_rows_find(rows, COP_REFIT_FIRST, name, strlen(name), &takes);
}

const char *cop_refit_options_wrong(const cop_refit_options *options, const char *learner)
{
	if (options->settings.every > 0)
		return strcmp(learner, "value") == 0 ? "--refit-every: of values there is no evidence to promote by"
		                                     : NULL;
	return memchr(options->given, 1, sizeof options->given) != NULL ? "--refit-... goes with --refit-every" : NULL;
}

void cop_refit_options_write(const cop_refit_options *options, char *out, size_t size)
{
	cop_option_rows_write(rows, options->given, &options->settings, out, size);
}
