/* Naming goes through three sources: the saved state's own names, the configuration's files, plain hashes. */
#include <stdio.h>
#include <string.h>

#include "daemon/models/model_slot_private.h"
#include "online/model_names.h"

static void replace_naming(cop_model_slot *slot, cop_wire_naming *naming)
{
	slot->unknown_past = cop_model_slot_unknown_names(slot);
	cop_wire_names_free(slot->shape.naming);
	slot->shape.naming = naming;
	if (naming != NULL)
		cop_feature_space_set_known(naming->space, slot->shape.least_features);
}

/* What the model was given since it began may be unknown in contexts. */
void cop_model_slot_know_features(cop_model_slot *slot)
{
	const size_t known = cop_model_known(slot->model);
	slot->shape.least_features = known < slot->shape.features ? known : 0;
	if (slot->shape.naming != NULL)
		cop_feature_space_set_known(slot->shape.naming->space, slot->shape.least_features);
}

/* The configuration's names, or plain hashes, unless the saved state has a better way; how many a sparse model keeps is
 * the configuration's in any case. */
cop_err cop_model_slot_name_features(cop_model_slot *slot)
{
	const cop_config_list *list = &slot->config->feature_name_list;
	const cop_feature_space_settings hashed = { .bits = slot->config->set.learner.bits };
	cop_wire_naming *naming = NULL;
	cop_feature_space *space = NULL;
	cop_err err = COP_OK;
	if (slot->shape.naming != NULL && slot->shape.features == 0)
		return cop_feature_space_keep_names(slot->shape.naming->space, slot->config->names_bytes);
	if (slot->names_saved)
		return COP_OK;
	if (slot->shape.features == 0) {
		err = cop_feature_space_new(&hashed, &space, NULL);
		if (err == COP_OK)
			err = cop_feature_space_keep_names(space, slot->config->names_bytes);
		if (err == COP_OK)
			err = cop_wire_names_new(&space, slot->shape.max_nonzeros, slot->shape.max_candidates, &naming);
		cop_feature_space_free(space);
	} else if (list->count > 0) {
		const size_t count = list->count < slot->shape.features ? list->count : slot->shape.features;
		err = cop_wire_names_new_list(
		        (const char *const *)list->items, count, slot->shape.max_candidates, &naming);
	}
	if (err == COP_OK)
		replace_naming(slot, naming);
	return err;
}

/* The configuration's; on error the names of before stay. */
cop_err cop_model_slot_name_candidates(cop_model_slot *slot)
{
	const cop_config_list *list = &slot->config->candidate_name_list;
	cop_wire_naming *naming = NULL;
	cop_err err = COP_OK;
	if (list->count > 0)
		err = cop_wire_names_new_list(
		        (const char *const *)list->items, list->count, slot->shape.max_candidates, &naming);
	if (err != COP_OK)
		return err;
	cop_wire_names_free(slot->shape.candidate_naming);
	slot->shape.candidate_naming = naming;
	return COP_OK;
}

cop_err cop_model_slot_name_arms(cop_model_slot *slot)
{
	const cop_config_list *list = &slot->config->arm_name_list;
	const cop_name_prefix none = { 0 };
	cop_name_table names;
	cop_name_table_init(&names);
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && i < list->count; i++) {
		uint32_t arm;
		err = cop_name_table_add(&names, 0, none, list->items[i], strlen(list->items[i]), &arm);
	}
	if (err != COP_OK) {
		cop_name_table_fini(&names);
		return err;
	}
	cop_name_table_fini(&slot->arm_names);
	slot->arm_names = names;
	slot->shape.arm_names = list->count > 0 ? &slot->arm_names : NULL;
	return COP_OK;
}

/* Columns of features that were added are named as configured, else by their numbers. */
static cop_err add_columns(const cop_model_slot *slot, cop_feature_space *space)
{
	const cop_config_list *list = &slot->config->feature_name_list;
	cop_err err = COP_OK;
	for (size_t i = cop_feature_space_dimension(space); i < slot->shape.features && err == COP_OK; i++) {
		char number[24];
		const char *name = number;
		(void)snprintf(number, sizeof number, "%zu", i);
		if (i < list->count)
			name = list->items[i];
		err = cop_feature_space_add_columns(space, &name, 1);
		if (err == COP_OK && cop_feature_space_dimension(space) != i + 1)
			err = COP_EEXIST;
	}
	return err;
}

static cop_err fit_space(const cop_model_slot *slot, cop_feature_space *space, cop_diag *diag)
{
	const cop_learner_settings *l = &cop_model_get_settings(slot->model)->learner;
	const bool dense = cop_feature_space_is_dense(space);
	const size_t d = cop_feature_space_dimension(space), wanted = cop_learner_dimension(l);
	cop_err err = dense != (l->features != 0) || (dense ? d > wanted : d != wanted) ? COP_EFORMAT : COP_OK;
	if (err == COP_OK && d < wanted)
		err = add_columns(slot, space);
	if (err == COP_EEXIST)
		cop_diag_message(
		        diag, "the name of an added feature is that of another one; expected names of their own");
	else if (err != COP_OK)
		cop_diag_message(diag, "names of features: %s", cop_err_text(err));
	return err;
}

static cop_err take_space(cop_model_slot *slot, const cop_section_file *file, cop_diag *diag)
{
	cop_feature_space *space;
	cop_wire_naming *naming;
	cop_err err = cop_model_names_load(file, NULL, &space, diag);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_OK : err;
	err = fit_space(slot, space, diag);
	if (err != COP_OK) {
		cop_feature_space_free(space);
		return err;
	}
	err = cop_wire_names_new(&space, slot->shape.max_nonzeros, slot->shape.max_candidates, &naming);
	if (err != COP_OK)
		return err;
	replace_naming(slot, naming);
	slot->names_saved = true;
	return COP_OK;
}

/* The space that stands beside the model in its file, if one does, and the names that were kept. */
cop_err cop_model_slot_take_names(cop_model_slot *slot, const void *data, size_t length, cop_diag *diag)
{
	cop_section_file file;
	cop_err err = cop_section_file_open(&file, data, length, NULL, diag);
	if (err == COP_OK)
		err = take_space(slot, &file, diag);
	if (err == COP_OK && slot->shape.naming != NULL)
		err = cop_model_names_load_places(&file, slot->config->names_bytes, slot->shape.naming->space, diag);
	return err;
}

static cop_place_names *place_names(const cop_model_slot *slot)
{
	return slot->shape.naming == NULL ? NULL : cop_feature_space_names(slot->shape.naming->space);
}

bool cop_model_slot_place_name(const cop_model_slot *slot, size_t place, char *out, size_t size)
{
	return cop_place_names_text(place_names(slot), place, out, size) > 0;
}

cop_err cop_model_slot_drop_names(cop_model_slot *slot)
{
	cop_feature_space *space = slot->shape.naming == NULL ? NULL : slot->shape.naming->space;
	if (place_names(slot) == NULL)
		return COP_OK;
	cop_err err = cop_feature_space_keep_names(space, 0);
	return err == COP_OK ? cop_feature_space_keep_names(space, slot->config->names_bytes) : err;
}

void cop_model_slot_insist_on_names(cop_model_slot *slot, bool on)
{
	cop_place_names *names = place_names(slot);
	if (names != NULL)
		cop_place_names_insist(names, on);
}

const char *cop_model_slot_feature_name(const cop_model_slot *slot, size_t index)
{
	const cop_config_list *list = &slot->config->feature_name_list;
	const cop_wire_naming *naming = slot->shape.naming;
	if (index < list->count)
		return list->items[index];
	bool dense = naming != NULL && cop_feature_space_is_dense(naming->space);
	return dense && index < cop_feature_space_dimension(naming->space)
	               ? cop_feature_space_column(naming->space, index)
	               : NULL;
}

const char *cop_model_slot_candidate_name(const cop_model_slot *slot, size_t index)
{
	const cop_config_list *list = &slot->config->candidate_name_list;
	if (index < list->count)
		return list->items[index];
	return slot->names_saved && slot->shape.candidate_features == slot->shape.features &&
	                       slot->shape.least_features == 0
	               ? cop_model_slot_feature_name(slot, index)
	               : NULL;
}

uint64_t cop_model_slot_unknown_names(const cop_model_slot *slot)
{
	const cop_wire_naming *naming = slot->shape.naming;
	return slot->unknown_past + (naming == NULL ? 0 : cop_feature_space_dropped(naming->space));
}

/* By which names feedback is read and history is kept: the model's, as they are now. */
void cop_model_slot_name_losses(cop_model_slot *slot)
{
	const cop_named_losses *losses = &cop_model_get_settings(slot->model)->losses;
	slot->shape.named = losses->weights.count > 0 ? losses : NULL;
	cop_loss_series_name(&slot->timeline.named, losses);
}
