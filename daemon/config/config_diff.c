/* Comparing two configurations and exchanging what a running daemon may take over. A model whose shape, learner, policy
 * or loss range changed keeps all its settings until the restart: the new ones were judged against the new shape. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "daemon/config/config_rules.h"

static size_t field_size(const cop_setting *rule)
{
	if (rule->kind < COP_SETTING_OTHER)
		return cop_setting_size(rule);
	return cop_config_rules_is_list(rule) ? sizeof(cop_config_list) : sizeof(char *);
}

static bool is_text(const cop_setting *rule)
{
	return rule->kind == COP_KIND_TEXT || rule->kind == COP_KIND_FACILITY || rule->kind == COP_KIND_LISTEN;
}

bool cop_config_value_set(const cop_setting *rule, const void *base)
{
	const void *field = (const char *)base + rule->offset;
	if (rule->kind < COP_SETTING_OTHER && cop_setting_is_silent(rule, base))
		return false;
	if (rule->kind == COP_SETTING_SHARES)
		return ((const cop_arm_shares *)field)->count > 0;
	return !is_text(rule) || *(char *const *)field != NULL;
}

static bool text_equal(const char *a, const char *b) { return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0; }

bool cop_config_list_equal(const cop_config_list *a, const cop_config_list *b)
{
	bool equal = a->count == b->count;
	for (size_t i = 0; equal && i < a->count; i++)
		equal = strcmp(a->items[i], b->items[i]) == 0;
	return equal;
}

bool cop_config_value_equal(const cop_setting *rule, const void *a, const void *b)
{
	const void *left = (const char *)a + rule->offset, *right = (const char *)b + rule->offset;
	if (is_text(rule))
		return text_equal(*(char *const *)left, *(char *const *)right);
	if (cop_config_rules_is_list(rule))
		return cop_config_list_equal(left, right);
	return cop_setting_equal(rule, a, b);
}

static void swap_bytes(void *a, void *b, size_t size)
{
	unsigned char kept[sizeof(cop_arm_shares)]; /* the largest */
	COP_ASSERT(size <= sizeof kept);
	memcpy(kept, a, size);
	memcpy(a, b, size);
	memcpy(b, kept, size);
}

void cop_config_value_swap(const cop_setting *rule, void *a, void *b)
{
	swap_bytes((char *)a + rule->offset, (char *)b + rule->offset, field_size(rule));
}

void cop_config_list_free(cop_config_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		cop_mem_free(list->items[i]);
	cop_mem_free(list->items);
	memset(list, 0, sizeof *list);
}

void cop_config_value_free(const cop_setting *rule, void *base)
{
	void *field = (char *)base + rule->offset;
	if (is_text(rule))
		cop_mem_free(*(char **)field);
	else if (cop_config_rules_is_list(rule))
		cop_config_list_free(field);
}

static cop_config_model *find_model(const cop_config *config, const char *name)
{
	for (size_t i = 0; i < config->model_count; i++)
		if (strcmp(config->models[i].name, name) == 0)
			return &config->models[i];
	return NULL;
}

/* Whether next has the same model with more arms, or features. */
static bool gets_arms(const cop_config_model *a, const cop_config_model *b)
{
	return a->set.learner.arms > 0 && a->set.learner.arms < b->set.learner.arms;
}

static bool gets_features(const cop_config_model *a, const cop_config_model *b)
{
	const cop_learner_settings *l = &a->set.learner, *m = &b->set.learner;
	return l->features < m->features && cop_learner_takes_features(l, m->features) &&
	       cop_learner_takes_features(m, l->features);
}

static bool grows(const cop_config_model *a, const cop_config_model *b)
{
	return gets_arms(a, b) || gets_features(a, b);
}

/* May a running model take over next's settings? */
static bool same_shape(const cop_config_model *a, const cop_config_model *b)
{
	static const char *const options[] = { "learner", "candidate_features", "policy", "loss_range", NULL };
	size_t i = 0;
	while (options[i] != NULL && cop_setting_equal(cop_model_options_find(options[i]), a, b))
		i++;
	return options[i] == NULL && (a->set.learner.arms == b->set.learner.arms || gets_arms(a, b)) &&
	       (a->set.learner.features == b->set.learner.features || gets_features(a, b));
}

cop_config_change *cop_config_changes_add(cop_config_changes *changes, cop_config_change_kind kind, const char *model)
{
	cop_config_change *items = cop_mem_resize(changes->items, changes->count, changes->count + 1, sizeof *items);
	if (items == NULL)
		return NULL;
	changes->items = items;
	cop_config_change *change = &items[changes->count++];
	change->kind = kind;
	(void)snprintf(change->model, sizeof change->model, "%s", model);
	return change;
}

static cop_config_change_kind kind_of(bool applied) { return applied ? COP_CHANGE_APPLIED : COP_CHANGE_RESTART; }

/* "where: option: old -> new" */
static cop_err describe(
        const char *where, const cop_setting *rule, const void *old, const void *next, cop_config_change *change)
{
	cop_bytes text;
	cop_bytes_init(&text);
	cop_bytes_put(&text, where, strlen(where));
	cop_bytes_put(&text, rule->name, strlen(rule->name));
	cop_bytes_put(&text, ": ", 2);
	cop_config_value_print(rule, old, &text);
	cop_bytes_put(&text, " -> ", 4);
	cop_config_value_print(rule, next, &text);
	cop_bytes_put_u8(&text, 0);
	cop_err err = text.err;
	if (err == COP_OK)
		(void)snprintf(change->text, sizeof change->text, "%s", (const char *)text.data);
	cop_bytes_fini(&text);
	return err;
}

/* model: its name, "" outside models. */
static cop_err diff_rules(const char *where, const cop_config_section *section, const char *model, bool live,
        const void *old, const void *next, cop_config_changes *changes)
{
	for (size_t i = 0; section->rules[i].name != NULL; i++) {
		const cop_setting rule = cop_config_rules_at(section, i);
		if (cop_config_value_equal(&rule, old, next))
			continue;
		bool size = model[0] != '\0' && (strcmp(rule.name, "arms") == 0 || strcmp(rule.name, "features") == 0);
		bool applied = live && (size || (rule.flags & COP_SETTING_IS_LIVE) != 0);
		cop_config_change *change = cop_config_changes_add(changes, kind_of(applied), model);
		if (change == NULL)
			return COP_ENOMEM;
		change->of = size && applied ? COP_CHANGE_GROWS : COP_CHANGE_OF_SETTINGS;
		cop_err err = describe(where, &rule, old, next, change);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

static cop_err note(
        cop_config_changes *changes, bool applied, cop_config_change_of of, const char *name, const char *what)
{
	cop_config_change *change = cop_config_changes_add(changes, kind_of(applied), name);
	if (change == NULL)
		return COP_ENOMEM;
	change->of = of;
	(void)snprintf(change->text, sizeof change->text, "model %s: %s", name, what);
	return COP_OK;
}

/* Further arms and features come only with nothing beside them that takes a restart; else nothing of the model is
 * applied. */
static void settle_growth(const char *model, cop_config_changes *changes)
{
	bool all = true;
	for (size_t i = 0; i < changes->count; i++)
		all = all &&
		      (strcmp(changes->items[i].model, model) != 0 || changes->items[i].kind == COP_CHANGE_APPLIED);
	for (size_t i = 0; i < changes->count && !all; i++) {
		cop_config_change *change = &changes->items[i];
		if (strcmp(change->model, model) != 0)
			continue;
		change->of = COP_CHANGE_OF_SETTINGS;
		change->kind = COP_CHANGE_RESTART;
	}
}

/* Behind further features, why they cannot come. */
static void add_reason(
        const char *where, const cop_config_model *old, const cop_config_model *next, cop_config_changes *changes)
{
	const cop_learner_settings *l = &old->set.learner, *m = &next->set.learner;
	const char *reason = cop_learner_keeps_features(l, m->features);
	char begins[COP_CONFIG_NAME_MAX + 32];
	const int length = snprintf(begins, sizeof begins, "%sfeatures: ", where);
	if (reason == NULL || l->features == 0 || l->features >= m->features || strcmp(l->learner, m->learner) != 0)
		return;
	for (size_t i = 0; i < changes->count; i++) {
		char *text = changes->items[i].text;
		const size_t end = strlen(text);
		if (strncmp(text, begins, (size_t)length) == 0)
			(void)snprintf(text + end, sizeof changes->items[i].text - end, " (%s)", reason);
	}
}

static cop_err diff_model(const cop_config_model *old, const cop_config_model *next, cop_config_changes *changes)
{
	char where[COP_CONFIG_NAME_MAX + 16], refit[sizeof where + 8];
	if (old->life != next->life)
		return note(changes, true, COP_CHANGE_RENEWS, old->name, "begun anew");
	(void)snprintf(where, sizeof where, "model %s: ", old->name);
	(void)snprintf(refit, sizeof refit, "%srefit.", where);
	bool live = same_shape(old, next);
	cop_err err = diff_rules(where, &cop_config_model_section, old->name, live, old, next, changes);
	if (err == COP_OK)
		add_reason(where, old, next, changes);
	if (err == COP_OK)
		err = diff_rules(refit, &cop_config_refit_section, old->name, live, old, next, changes);
	for (size_t n = 0; n < COP_CONFIG_NAMES; n++) {
		const cop_config_names *names = &cop_config_name_files[n];
		char what[64];
		(void)snprintf(what, sizeof what, "%s: the file's names changed", names->option);
		if (err == COP_OK &&
		        text_equal(
		                *cop_config_rules_names_text(names, old), *cop_config_rules_names_text(names, next)) &&
		        !cop_config_list_equal(
		                cop_config_rules_names_list(names, old), cop_config_rules_names_list(names, next)))
			err = note(changes, live, COP_CHANGE_OF_SETTINGS, old->name, what);
	}
	if (err == COP_OK && grows(old, next))
		settle_growth(old->name, changes);
	return err;
}

static cop_err diff_models(const cop_config *old, const cop_config *next, cop_config_changes *changes)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < old->model_count && err == COP_OK; i++) {
		const cop_config_model *there = find_model(next, old->models[i].name);
		err = there == NULL ? note(changes, true, COP_CHANGE_REMOVES, old->models[i].name, "removed")
		                    : diff_model(&old->models[i], there, changes);
	}
	for (size_t i = 0; i < next->model_count && err == COP_OK; i++)
		if (find_model(old, next->models[i].name) == NULL)
			err = note(changes, true, COP_CHANGE_ADDS, next->models[i].name, "added");
	return err;
}

cop_err cop_config_diff(const cop_config *old, const cop_config *next, cop_config_changes *changes)
{
	memset(changes, 0, sizeof *changes);
	cop_err err = COP_OK;
	for (size_t i = 0; i < COP_CONFIG_SECTIONS && err == COP_OK; i++) {
		char where[32] = "";
		if (i != 0)
			(void)snprintf(where, sizeof where, "%s.", cop_config_sections[i].name);
		err = diff_rules(where, &cop_config_sections[i], "", true, old, next, changes);
	}
	if (err == COP_OK && text_equal(old->curve_key, next->curve_key) &&
	        strcmp(old->curve_secret, next->curve_secret) != 0) {
		cop_config_change *change = cop_config_changes_add(changes, COP_CHANGE_RESTART, "");
		err = change == NULL ? COP_ENOMEM : COP_OK;
		if (change != NULL)
			(void)snprintf(change->text, sizeof change->text, "curve.key: the file's key changed");
	}
	if (err == COP_OK)
		err = diff_models(old, next, changes);
	return err;
}

void cop_config_changes_free(cop_config_changes *changes)
{
	cop_mem_free(changes->items);
	memset(changes, 0, sizeof *changes);
}

static void apply_rules(const cop_config_section *section, void *live, void *next)
{
	for (size_t i = 0; section->rules[i].name != NULL; i++) {
		const cop_setting rule = cop_config_rules_at(section, i);
		if ((rule.flags & COP_SETTING_IS_LIVE) != 0)
			cop_config_value_swap(&rule, live, next);
	}
}

static void apply_model(cop_config_model *model, cop_config_model *from)
{
	if (!same_shape(model, from))
		return;
	apply_rules(&cop_config_model_section, model, from);
	apply_rules(&cop_config_refit_section, model, from);
	model->refit.given = from->refit.given;
	model->refit.said = from->refit.said;
	model->refit.off = from->refit.off;
	for (size_t n = 0; n < COP_CONFIG_NAMES; n++)
		swap_bytes(cop_config_rules_names_list(&cop_config_name_files[n], model),
		        cop_config_rules_names_list(&cop_config_name_files[n], from), sizeof(cop_config_list));
}

bool cop_config_changes_has(const cop_config_changes *changes, cop_config_change_of of, const char *model)
{
	for (size_t i = 0; i < changes->count; i++) {
		const cop_config_change *change = &changes->items[i];
		if (change->of == of && change->kind == COP_CHANGE_APPLIED && strcmp(change->model, model) == 0)
			return true;
	}
	return false;
}

static void move(cop_config_model *list, size_t *count, cop_config_model *model)
{
	list[(*count)++] = *model;
	memset(model, 0, sizeof *model);
}

typedef struct sorted {
	cop_config_model *kept, *left; /* left: to be freed */
	size_t kept_count, left_count;
} sorted;

/* Those that stay and those that come, in next's order, then those that a change which is not applied would remove. */
static void sort_models(cop_config *live, cop_config *next, const cop_config_changes *changes, sorted *out)
{
	for (size_t i = 0; i < next->model_count; i++) {
		cop_config_model *theirs = &next->models[i], *ours = find_model(live, theirs->name);
		if (cop_config_changes_has(changes, ours == NULL ? COP_CHANGE_ADDS : COP_CHANGE_RENEWS, theirs->name) ||
		        cop_config_changes_has(changes, COP_CHANGE_GROWS, theirs->name)) {
			move(out->kept, &out->kept_count, theirs);
		} else if (ours != NULL) {
			if (ours->life == theirs->life && !grows(ours, theirs))
				apply_model(ours, theirs);
			move(out->kept, &out->kept_count, ours);
		}
	}
	for (size_t i = 0; i < live->model_count; i++) {
		cop_config_model *ours = &live->models[i];
		if (ours->name[0] == '\0')
			continue;
		if (cop_config_changes_has(changes, COP_CHANGE_REMOVES, ours->name) ||
		        cop_config_changes_has(changes, COP_CHANGE_RENEWS, ours->name) ||
		        cop_config_changes_has(changes, COP_CHANGE_GROWS, ours->name))
			move(out->left, &out->left_count, ours);
		else
			move(out->kept, &out->kept_count, ours);
	}
	for (size_t i = 0; i < next->model_count; i++)
		if (next->models[i].name[0] != '\0')
			move(out->left, &out->left_count, &next->models[i]);
}

cop_err cop_config_apply(cop_config *live, cop_config *next, const cop_config_changes *changes)
{
	size_t all = live->model_count + next->model_count;
	sorted s = { cop_mem_alloc(all, sizeof *s.kept), cop_mem_alloc(all, sizeof *s.left), 0, 0 };
	if (s.kept == NULL || s.left == NULL) {
		cop_mem_free(s.kept);
		cop_mem_free(s.left);
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < COP_CONFIG_SECTIONS; i++)
		apply_rules(&cop_config_sections[i], live, next);
	sort_models(live, next, changes, &s);
	cop_mem_free(live->models);
	cop_mem_free(next->models);
	live->models = s.kept;
	live->model_count = s.kept_count;
	next->models = s.left;
	next->model_count = s.left_count;
	const cop_live_changes were = live->live;
	live->live = next->live;
	next->live = were;
	return COP_OK;
}
