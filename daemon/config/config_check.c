/* What single values cannot show: options against each other, missing ones, and the files of names. */
#include "daemon/config/config_reach.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "learn/footprint.h"

#define LEAST_PENDING (64u << 10) /* bytes of decisions that wait: the least of pending_bytes */
#define MOST_BYTES    1e17        /* of one model: sums of 64 do not overflow */
#define MIB(bytes)    ((unsigned long long)(((bytes) + (1u << 20) - 1) >> 20))

uint64_t cop_config_model_bytes(const cop_config_model *model)
{
	const cop_learner_settings *l = &model->set.learner;
	if (cop_config_model_is(model, COP_SETTING_OF_ENSEMBLE) &&
	        l->arms == 0) /* missing, as somebody says elsewhere */
		return 0;
	double bytes = cop_footprint(l, model->set.explain_keep);
	if (l->features == 0)
		bytes += (double)model->names_bytes;
	if (model->refit.enabled) /* a challenger beside it; what is explained is the serving learner's alone */
		bytes += cop_footprint(l, 0);
	if (cop_config_model_is(model, COP_SETTING_OF_RANK)) { /* the room that messages are read into */
		size_t entry = l->features != 0 ? l->candidate_features * sizeof(float)
		                                : l->max_nonzeros * (sizeof(float) + sizeof(uint32_t));
		bytes += (double)l->max_candidates * (double)(entry + sizeof(cop_row));
	}
	return bytes < MOST_BYTES ? (uint64_t)bytes : (uint64_t)MOST_BYTES;
}

/* UINT64_MAX: not known. */
static uint64_t machine_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

static bool is_trained(const cop_config_model *model)
{
	const cop_learner_class *class = cop_learner_find(model->set.learner.learner);
	return class != NULL && class->fixed;
}

static cop_config_refit_off default_of(const cop_config *config, const cop_config_model *model, bool program)
{
	if (cop_config_model_is(model, COP_SETTING_OF_VALUE) || cop_config_model_is(model, COP_SETTING_OF_RIDGE) ||
	        is_trained(model))
		return COP_REFIT_OFF_LEARNER;
	return !config->journal_enabled ? COP_REFIT_OFF_JOURNAL : !program ? COP_REFIT_OFF_PROGRAM : COP_REFIT_ON;
}

static void set_refits(cop_config_refit *refit, cop_config_refit_off off)
{
	refit->enabled = off == COP_REFIT_ON;
	refit->off = off;
}

void cop_config_default_refits(cop_config *config, bool program)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < config->model_count; i++) {
		cop_config_model *model = &config->models[i];
		if (!model->refit.said)
			set_refits(&model->refit, default_of(config, model, program));
		else
			model->refit.off = model->refit.enabled ? COP_REFIT_ON : COP_REFIT_OFF_SAID;
		sum += cop_config_model_bytes(model);
	}
	for (size_t i = 0; i < config->model_count && sum > machine_bytes(); i++) {
		cop_config_model *model = &config->models[i];
		if (model->refit.said || !model->refit.enabled)
			continue;
		sum -= cop_config_model_bytes(model);
		set_refits(&model->refit, COP_REFIT_OFF_MEMORY);
		sum += cop_config_model_bytes(model);
	}
}

/* Models that cannot all be made on this machine, said of the largest. */
static void check_memory(cop_config_reading *reading, cfg_t *root, const cop_config *config)
{
	uint64_t most = 0, sum = 0, have = machine_bytes();
	size_t largest = 0;
	for (size_t i = 0; i < config->model_count; i++) {
		uint64_t bytes = cop_config_model_bytes(&config->models[i]);
		sum += bytes;
		if (bytes > most) {
			most = bytes;
			largest = i;
		}
	}
	if (sum > have)
		cop_config_complain(reading, (uint64_t)cfg_getnsec(root, "model", (unsigned)largest)->line, "model",
		        "\"%s\" takes about %llu MiB, all models %llu MiB, expected at most this machine's %llu MiB: "
		        "lower bits, arms, candidates, trees or height",
		        config->models[largest].name, MIB(most), MIB(sum), MIB(have));
}

/* Decisions that wait have what the model, with the refits that it may come to have, and waiting contexts leave. */
static void fit_memory(cop_config_reading *reading, cfg_t *section, cop_config_model *model)
{
	cop_config_model with = *model;
	with.refit.enabled = model->refit.enabled || !model->refit.said;
	uint64_t bytes = cop_config_model_bytes(&with) + model->unheard_bytes;
	uint64_t least = bytes + LEAST_PENDING;
	if (model->memory == 0)
		return;
	if (model->memory < least) {
		cop_config_complain(reading, cop_config_line(section, "memory"), "memory",
		        "model \"%s\" takes about %llu MiB with its waiting contexts and a refit's learner, expected "
		        "at "
		        "least %llu MiB",
		        model->name, MIB(bytes), MIB(least));
		return;
	}
	uint64_t rest = model->memory - bytes;
	if (cop_config_has(section, "pending_bytes") && model->set.pending_bytes > rest)
		cop_config_complain(reading, cop_config_line(section, "pending_bytes"), "pending_bytes",
		        "more than the %llu MiB that memory leaves for decisions that wait, expected at most that",
		        (unsigned long long)(rest >> 20));
	else if (model->set.pending_bytes > rest)
		model->set.pending_bytes = (size_t)rest;
}

void cop_config_check(cop_config_reading *reading, cfg_t *root, cop_config *config)
{
	for (size_t i = 0; i < config->model_count; i++)
		fit_memory(reading, cfg_getnsec(root, "model", (unsigned)i), &config->models[i]);
	cop_config_reach_check(reading, root, config);
	check_memory(reading, root, config);
	if (config->queue_limit < COP_CONFIG_QUEUE_SHARE * config->message_limit)
		cop_config_complain(reading, cop_config_line(cfg_getsec(root, "sockets"), "queue_limit"), "queue_limit",
		        "less than %d messages, expected at least %d times message_limit", COP_CONFIG_QUEUE_SHARE,
		        COP_CONFIG_QUEUE_SHARE);
	if (config->journal_keep < config->journal_segment)
		cop_config_complain(reading, cop_config_line(cfg_getsec(root, "journal"), "keep"), "keep",
		        "less than one segment, expected at least journal's segment");
}

static void check_present(cop_config_reading *reading, cfg_t *section, const char *option, const char *expected)
{
	if (!reading->adopted && !cop_config_has(section, option))
		cop_config_complain(reading, (uint64_t)section->line, option, "missing in model \"%.64s\", expected %s",
		        cfg_title(section), expected);
}

static void check_loss(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const cop_model_settings *s = &model->set;
	double loss = s->default_loss;
	if (s->has_default_loss && (loss < s->loss_low || loss > s->loss_high))
		cop_config_complain(reading, cop_config_line(section, "default_loss"), "default_loss",
		        "%.12g is outside loss_range, expected none or a number from %.12g to %.12g", loss, s->loss_low,
		        s->loss_high);
}

static void check_candidates(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const cop_learner_settings *l = &model->set.learner;
	bool dense = l->features != 0;
	if (dense && l->candidate_features == 0)
		cop_config_complain(reading, cop_config_line(section, "candidate_features"), "candidate_features",
		        "missing in model \"%.64s\", expected the number of a candidate's features, at least 1",
		        cfg_title(section));
	else if (!dense && l->candidate_features != 0 && cop_config_has(section, "features"))
		cop_config_complain(reading, cop_config_line(section, "candidate_features"), "candidate_features",
		        "candidates are sparse when contexts are, expected this only with features > 0");
	if (l->max_candidates > COP_LEARNER_MAX_CANDIDATES)
		cop_config_complain(reading, cop_config_line(section, "max_candidates"), "max_candidates",
		        "%zu, expected 1 to %d", l->max_candidates, COP_LEARNER_MAX_CANDIDATES);
	else if (l->max_candidates * (dense ? l->candidate_features : l->max_nonzeros) > COP_LEARNER_MAX_CANDIDATE_ROOM)
		cop_config_complain(reading, cop_config_line(section, "max_candidates"), "max_candidates",
		        "%zu candidates of %zu %s are too many, expected at most %zu in all", l->max_candidates,
		        dense ? l->candidate_features : l->max_nonzeros,
		        dense ? "features (candidate_features)" : "entries (max_nonzeros)",
		        COP_LEARNER_MAX_CANDIDATE_ROOM);
}

/* Of experts that are chosen one at least must have something to add. */
static void check_experts(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const cop_learner_settings *l = &model->set.learner;
	const cop_learner_class *class = cop_learner_find(l->learner);
	if (l->experts != 0 && l->arms != 0 && class->experts && !(class->footprint(l) > 0.0))
		cop_config_complain(reading, cop_config_line(section, "experts"), "experts",
		        "none of them can help with so many arms and features, expected also linear or trees");
}

static void check_bins(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	for (size_t i = 0; cop_model_options[i].name != NULL; i++) {
		const char *option = cop_model_options[i].name;
		if (cop_model_options_is_of_probes(&cop_model_options[i]) && cop_config_has(section, option))
			cop_config_complain(reading, cop_config_line(section, option), option,
			        "feedback \"bins\" has no such option, expected it only with feedback = \"one\" or "
			        "\"two\"");
	}
	if (model->refit.enabled)
		cop_config_complain(reading, (uint64_t)cfg_getsec(section, "refit")->line, "refit",
		        "feedback \"bins\" has no trees to replace, expected enabled = true only with "
		        "feedback = \"one\" or \"two\"");
}

static void check_decay(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const cop_learner_settings *l = &model->set.learner;
	if (l->delta_floor > l->delta && cop_config_model_is(model, COP_SETTING_OF_VALUE))
		cop_config_complain(reading, cop_config_line(section, "delta_floor"), "delta_floor",
		        "%.12g is above delta, expected 0 to %.12g", l->delta_floor, l->delta);
	if (l->delta_decay > 0 && model->refit.enabled)
		cop_config_complain(reading, cop_config_line(section, "delta_decay"), "delta_decay",
		        "refits need a delta that stays, expected 0 beside refits");
}

static void check_refit(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	if (!model->refit.given || !cop_config_model_is(model, COP_SETTING_OF_DGT) ||
	        model->refit.height <= model->set.learner.height)
		return;
	cop_config_complain(reading, cop_config_line(cfg_getsec(section, "refit"), "height"), "height",
	        "%u in section refit is more than the model's, expected 1 to %u", model->refit.height,
	        model->set.learner.height);
}

/* What it is comes from the file. A journal's configuration has none: the state is in its checkpoints. */
static void check_trained(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	if (model->start_from == NULL && reading->folder != NULL)
		cop_config_complain(reading, cop_config_line(section, "learner"), "learner",
		        "%s serves a file of coppice train, expected start_from with its name",
		        model->set.learner.learner);
	if (model->refit.enabled)
		cop_config_complain(reading, (uint64_t)cfg_getsec(section, "refit")->line, "refit",
		        "a trained model does not change, expected enabled = true only with learners that learn");
}

static void check_ridge(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const char *wrong = cop_learner_ridge.refusal(&model->set.learner);
	char option[32];
	if (wrong != NULL && cop_config_has(section, "features") && cop_config_has(section, "arms")) {
		const char *text = strchr(wrong, ':') + 2;
		(void)snprintf(option, sizeof option, "%.*s", (int)(text - 2 - wrong), wrong);
		cop_config_complain(reading, cop_config_line(section, option), option, "%s", text);
	}
	if (model->refit.enabled)
		cop_config_complain(reading, (uint64_t)cfg_getsec(section, "refit")->line, "refit",
		        "learner ridge has no trees to replace, expected enabled = false");
}

/* What the learner asks for. */
static void check_learner(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	if (cop_config_model_is(model, COP_SETTING_OF_RANK))
		check_candidates(reading, section, model);
	else if (!cop_learner_plays_values(&model->set.learner))
		check_present(reading, section, "arms", "their number, at least 2");
	if (cop_config_model_is(model, COP_SETTING_OF_VALUE) && model->set.learner.feedback == COP_VALUE_BINS)
		check_bins(reading, section, model);
	if (is_trained(model))
		check_trained(reading, section, model);
	if (cop_config_model_is(model, COP_SETTING_OF_RIDGE))
		check_ridge(reading, section, model);
	if (cop_config_model_is(model, COP_SETTING_OF_ENSEMBLE))
		check_experts(reading, section, model);
	bool mixture =
	        cop_config_model_is(model, COP_SETTING_OF_ENSEMBLE) || cop_config_model_is(model, COP_SETTING_OF_RANK);
	if (mixture && model->set.learner.height > COP_LEARNER_MAX_ENSEMBLE_HEIGHT)
		cop_config_complain(reading, cop_config_line(section, "height"), "height",
		        "%u is too high for this learner, expected 1 to %d", model->set.learner.height,
		        COP_LEARNER_MAX_ENSEMBLE_HEIGHT);
}

/* Whether the option's value was complained of already. */
static bool is_wrong(const cop_config_reading *reading, uint64_t line, const char *option)
{
	size_t length = strlen(option);
	for (size_t i = 0; i < reading->report->count; i++) {
		const cop_diag *item = &reading->report->items[i];
		if (item->line == line && strncmp(item->message, option, length) == 0 && item->message[length] == ':')
			return true;
	}
	return false;
}

/* Options of a policy that the model does not have. A journal's configuration was judged when it was read from a file.
 */
static void check_policy(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	for (size_t i = 0; cop_model_options[i].name != NULL && reading->folder != NULL; i++) {
		const cop_setting *rule = &cop_model_options[i];
		if (!cop_config_has(section, rule->name) || cop_model_options_has(&model->set, rule) ||
		        is_wrong(reading, cop_config_line(section, rule->name), rule->name))
			continue;
		cop_config_complain(reading, cop_config_line(section, rule->name), rule->name,
		        "policy %s has no such option, expected it only with policy = \"%s\"",
		        model->set.learner.policy,
		        rule->policies == 1 ? "epsilon" : "matching\", \"fastcb\" or \"squarecb");
	}
}

/* Least and largest shares against each other, said of the option that is named first. */
static void check_shares(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const cop_learner_settings *l = &model->set.learner;
	const char *wrong = l->arms == 0 ? NULL : cop_shares_refusal(&l->exploration.shares, l->arms);
	if (wrong == NULL)
		return;
	const char *text = strchr(wrong, ':') + 2;
	char option[32];
	(void)snprintf(option, sizeof option, "%.*s", (int)(text - 2 - wrong), wrong);
	cop_config_complain(reading, cop_config_line(section, option), option, "%s", text);
}

static void check_control(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const cop_model_settings *s = &model->set;
	bool ranks = cop_config_model_is(model, COP_SETTING_OF_RANK);
	double arms = ranks ? (double)s->learner.max_candidates : (double)s->learner.arms;
	if (s->holdout > 0.0 && model->apprentice)
		cop_config_complain(reading, cop_config_line(section, "holdout"), "holdout",
		        "an apprentice does not decide, so there is nothing to hold out; expected 0");
	/* One that is switched off by a holdout of 0 may come back. */
	if (s->holdout <= 0.0 && cop_config_has(section, "baseline") && !cop_config_has(section, "holdout"))
		cop_config_complain(reading, cop_config_line(section, "baseline"), "baseline",
		        "there is no control group; expected this only with a holdout above 0");
	if (s->holdout <= 0.0 && s->conservative > 0.0)
		cop_config_complain(reading, cop_config_line(section, "conservative"), "conservative",
		        "there is no control group to compare with; expected a holdout above 0");
	if (s->has_baseline && (s->baseline != floor(s->baseline) || s->baseline >= arms))
		cop_config_complain(reading, cop_config_line(section, "baseline"), "baseline",
		        "got %.12g, expected uniform, caller, or %s from 0 to %.12g", s->baseline,
		        ranks ? "a candidate's place" : "an arm", arms - 1.0);
	else if (s->has_baseline && !ranks && cop_shares_retired(&s->learner.exploration.shares, (size_t)s->baseline))
		cop_config_complain(reading, cop_config_line(section, "baseline"), "baseline",
		        "share_max gives arm %.12g 0; expected one that is not retired", s->baseline);
}

/* The option that is wrong stands before the colon. */
static void check_losses(cop_config_reading *reading, cfg_t *section, const cop_config_model *model)
{
	const cop_model_settings *s = &model->set;
	char wrong[COP_NAMED_LOSSES_TEXT];
	if (cop_named_losses_fit(&s->losses, s->loss_low, s->loss_high, wrong))
		return;
	char *colon = strchr(wrong, ':');
	*colon = '\0';
	cop_config_complain(reading, cop_config_line(section, wrong), wrong, "%s", colon + 2);
}

void cop_config_check_model(
        cop_config_reading *reading, cfg_t *section, const cop_config_model *model, bool learner_known)
{
	const cop_learner_settings *l = &model->set.learner;
	const cop_policy_settings *e = &l->exploration;
	check_present(reading, section, "features", "their number, or 0 for sparse names");
	if (learner_known)
		check_learner(reading, section, model);
	if (learner_known && l->policy[0] != '\0')
		check_policy(reading, section, model);
	bool floor_counts = learner_known || cop_config_has(section, "epsilon"); /* its default is the learner's */
	if (e->epsilon_floor > e->epsilon && floor_counts)
		cop_config_complain(reading, cop_config_line(section, "epsilon_floor"), "epsilon_floor",
		        "%.12g is above epsilon, expected 0 to %.12g", e->epsilon_floor, e->epsilon);
	if (l->delta > 0 && 2 * l->delta > model->set.value_high - model->set.value_low)
		cop_config_complain(reading, cop_config_line(section, "delta"), "delta",
		        "both probes do not fit into value_range, expected at most half its width");
	check_decay(reading, section, model);
	if (model->apprentice && cop_config_model_is(model, COP_SETTING_OF_VALUE))
		cop_config_complain(reading, cop_config_line(section, "apprentice"), "apprentice",
		        "contexts have no place for a value that was played and its density, expected true only in "
		        "models of learner "
		        "ensemble, dgt, ridge or rank");
	if (learner_known)
		check_shares(reading, section, model);
	if (learner_known)
		check_control(reading, section, model);
	check_loss(reading, section, model);
	if (learner_known)
		check_losses(reading, section, model);
	check_refit(reading, section, model);
	for (size_t n = 0; n + 1 < COP_CONFIG_NAMES; n++) {
		const cop_config_names *names = &cop_config_name_files[n];
		if (*cop_config_rules_names_text(names, model) != NULL && l->features == 0 &&
		        cop_config_has(section, "features"))
			cop_config_complain(reading, cop_config_line(section, names->option), names->option,
			        "sparse features bring their own names, expected this only with features > 0");
	}
}

typedef struct names_file {
	cop_config_reading *reading;
	uint64_t option_line;
	const char *option;
	const char *path;
} names_file;

/* About line `line` of the file of names; 0: the file. */
static void complain_names(const names_file *names, uint64_t line, const char *what)
{
	char where[32] = "";
	if (line != 0)
		(void)snprintf(where, sizeof where, ":%llu", (unsigned long long)line);
	cop_config_complain(
	        names->reading, names->option_line, names->option, "%.250s%s: %s", names->path, where, what);
}

/* One line without its end into buffer: its length, -1 at the end of the file, -2 when it does not fit. */
static int next_line(FILE *file, char buffer[COP_CONFIG_LISTED_NAME + 1])
{
	int length = 0, c = getc(file);
	if (c == EOF)
		return -1;
	for (; c != EOF && c != '\n'; c = getc(file)) {
		if (length == COP_CONFIG_LISTED_NAME || (c < 0x20 && c != '\r' && c != '\t') || c == 0x7f)
			return -2;
		buffer[length++] = (char)c;
	}
	while (length > 0 && (buffer[length - 1] == '\r' || buffer[length - 1] == ' ' || buffer[length - 1] == '\t'))
		length--;
	buffer[length] = '\0';
	return length;
}

static bool read_lines(const names_file *names, FILE *file, size_t count, cop_config_list *list)
{
	char buffer[COP_CONFIG_LISTED_NAME + 1];
	int length;
	while ((length = next_line(file, buffer)) != -1) {
		if (length <= 0) {
			complain_names(names, list->count + 1, "expected a name of 1 to 256 printable characters");
			return false;
		}
		if (list->count == count) {
			complain_names(names, list->count + 1, "too many lines, expected one name for each");
			return false;
		}
		char *copy = cop_mem_strdup(buffer);
		if (copy == NULL) {
			names->reading->out_of_memory = true;
			return false;
		}
		list->items[list->count++] = copy;
	}
	if (ferror(file)) {
		complain_names(names, 0, "cannot be read");
		return false;
	}
	return true;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Each name once: looked at in a sorted copy of the pointers. */
static void check_unique(const names_file *names, const cop_config_list *list)
{
	char **sorted = cop_mem_alloc(list->count, sizeof *sorted);
	if (sorted == NULL) {
		names->reading->out_of_memory = true;
		return;
	}
	memcpy(sorted, list->items, list->count * sizeof *sorted);
	qsort(sorted, list->count, sizeof *sorted, compare_names);
	for (size_t i = 1; i < list->count; i++) {
		if (strcmp(sorted[i - 1], sorted[i]) == 0) {
			char what[COP_CONFIG_LISTED_NAME + 64];
			(void)snprintf(what, sizeof what, "\"%s\" stands twice, expected each name once", sorted[i]);
			complain_names(names, 0, what);
			break;
		}
	}
	cop_mem_free(sorted);
}

static void read_names_file(const names_file *names, size_t count, cop_config_list *list)
{
	list->items = cop_mem_alloc(count, sizeof *list->items);
	if (list->items == NULL) {
		names->reading->out_of_memory = true;
		return;
	}
	FILE *file = fopen(names->path, "re");
	if (file == NULL) {
		complain_names(names, 0, strerror(errno));
		return;
	}
	if (read_lines(names, file, count, list)) {
		if (list->count == count) {
			check_unique(names, list);
		} else {
			char what[96];
			(void)snprintf(what, sizeof what, "%zu lines, expected %zu", list->count, count);
			complain_names(names, 0, what);
		}
	}
	(void)fclose(file); /* only read from */
}

bool cop_config_locate(cop_config_reading *reading, cfg_t *section, const char *option, char path[COP_CONFIG_PATH])
{
	const cop_config_text *value = cop_config_has(section, option) ? cfg_getptr(section, option) : NULL;
	if (value == NULL || reading->folder == NULL)
		return false;
	bool absolute = value->text[0] == '/';
	int length = snprintf(
	        path, COP_CONFIG_PATH, "%s%s%s", absolute ? "" : reading->folder, absolute ? "" : "/", value->text);
	if (length >= 0 && length < COP_CONFIG_PATH)
		return true;
	cop_config_complain(reading, value->line, option, "the path is too long");
	return false;
}

/* The names of one option, when it is given and its number is known. */
static void read_names(
        cop_config_reading *reading, cfg_t *section, const cop_config_names *names, cop_config_model *model)
{
	char path[COP_CONFIG_PATH];
	size_t count;
	memcpy(&count, (const char *)&model->set.learner + names->count, sizeof count);
	if (*cop_config_rules_names_text(names, model) == NULL || count == 0 ||
	        !cop_config_locate(reading, section, names->option, path))
		return;
	names_file file = { reading, cop_config_line(section, names->option), names->option, path };
	read_names_file(&file, count, cop_config_rules_names_list(names, model));
}

void cop_config_rules_read_arm_names(cop_config_reading *reading, cfg_t *section, cop_config_model *model)
{
	read_names(reading, section, &cop_config_name_files[COP_CONFIG_NAMES - 1], model);
}

void cop_config_read_names(cop_config_reading *reading, cfg_t *section, cop_config_model *model)
{
	for (size_t n = 0; n + 1 < COP_CONFIG_NAMES; n++)
		read_names(reading, section, &cop_config_name_files[n], model);
	char path[COP_CONFIG_PATH];
	if (model->start_from == NULL || !cop_config_locate(reading, section, "start_from", path))
		return;
	model->start_from_path = cop_mem_strdup(path);
	reading->out_of_memory |= model->start_from_path == NULL;
}
