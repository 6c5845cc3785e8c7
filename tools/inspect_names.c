#include "inspect_names.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "online/model_names.h"
#include "online/ranking.h"

cop_err cop_inspect_names_read(
        cop_inspect_names *names, const cop_learner_settings *settings, const void *data, size_t length, cop_diag *diag)
{
	cop_model_file file;
	names->space = NULL;
	names->places = NULL;
	names->ranks = settings->max_candidates > 0 && settings->arms == 0 && strcmp(settings->learner, "rank") == 0;
	names->contexts = cop_learner_dimension(settings);
	names->same = settings->features == 0 || settings->candidate_features == settings->features;
	cop_err err = cop_model_file_open(&file, data, length, NULL, diag);
	if (err != COP_OK)
		return err;
	if (settings->features == 0)
		return cop_model_names_read_places(&file, COP_MODEL_NAMES_ALL, settings->bits, &names->places, diag);
	err = cop_model_names_load(&file, settings, &names->space, diag);
	return err == COP_ENOTFOUND ? COP_OK : err;
}

void cop_inspect_names_fini(cop_inspect_names *names)
{
	cop_feature_space_free(names->space);
	cop_place_names_free(names->places);
}

bool cop_inspect_names_feature(const cop_inspect_names *names, size_t i, char *out, size_t size)
{
	bool candidate = names->ranks && i >= names->contexts;
	size_t own = candidate ? i - names->contexts : i;
	const char *name = NULL;
	if (!candidate && own < names->count)
		name = names->given[own];
	else if (names->space != NULL && (!candidate || names->same) && own < cop_feature_space_dimension(names->space))
		name = cop_feature_space_column(names->space, own);
	if (name != NULL)
		(void)snprintf(out, size, "%s", name);
	else if (names->count > 0 || cop_place_names_text(names->places, own, out, size) == 0)
		(void)snprintf(out, size, candidate ? "c%zu" : "x%zu", own);
	else
		return true;
	return name != NULL;
}

static void put_product(const cop_inspect_names *names, size_t i, size_t j, char *out, size_t size)
{
	char first[COP_INSPECT_NAME_ROOM], second[COP_INSPECT_NAME_ROOM];
	(void)cop_inspect_names_feature(names, i, first, sizeof first);
	(void)cop_inspect_names_feature(names, j, second, sizeof second);
	(void)snprintf(out, size, "%s*%s", first, second);
}

static void name_joint(const cop_inspect_names *names, const cop_learner *learner, size_t i, char *out, size_t size)
{
	cop_ranking_feature f;
	cop_ranking_describe(learner, i, &f);
	if (f.constant)
		(void)snprintf(out, size, "constant");
	else if (f.has_feature && f.has_candidate_feature)
		put_product(names, f.feature, names->contexts + f.candidate_feature, out, size);
	else if (f.has_feature)
		(void)cop_inspect_names_feature(names, f.feature, out, size);
	else if (f.has_candidate_feature)
		(void)cop_inspect_names_feature(names, names->contexts + f.candidate_feature, out, size);
	else
		(void)snprintf(out, size, "product");
}

void cop_inspect_names_input(
        const cop_inspect_names *names, const cop_learner *learner, size_t i, char *out, size_t size)
{
	size_t j, k;
	if (names->ranks)
		name_joint(names, learner, i, out, size);
	else if (i == names->contexts)
		(void)snprintf(out, size, "constant");
	else if (cop_learner_product(learner, i, &j, &k))
		put_product(names, j, k, out, size);
	else
		(void)cop_inspect_names_feature(names, i, out, size);
}

cop_err cop_inspect_names_list(const cop_inspect_names *names, size_t from, size_t count, cop_inspect_name_list *out)
{
	char name[COP_INSPECT_NAME_ROOM];
	cop_bytes all;
	cop_bytes_init(&all);
	*out = (cop_inspect_name_list){ .known = cop_mem_alloc(count, 1), .count = count };
	out->name = cop_mem_alloc(count, sizeof *out->name);
	if (out->known == NULL || out->name == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		out->known[i] = cop_inspect_names_feature(names, from + i, name, sizeof name);
		cop_bytes_put(&all, name, strlen(name) + 1);
	}
	out->texts = (char *)all.data;
	const char *at = out->texts;
	for (size_t i = 0; all.err == COP_OK && i < count; i++, at += strlen(at) + 1)
		out->name[i] = at;
	return all.err;
}

void cop_inspect_names_list_free(cop_inspect_name_list *list)
{
	cop_mem_free(list->name);
	cop_mem_free(list->texts);
	cop_mem_free(list->known);
	*list = (cop_inspect_name_list){ .name = NULL };
}
