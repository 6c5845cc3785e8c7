/* A feature has the name that was given, else its column's in the log, else the one that its hashed place keeps,
 * else its number. For a hashed product, all pairs of the most frequent places are tried. */
#include "online/model_page_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stream.h"
#include "online/model_names.h"

#define MOST_NAMES ((size_t)1 << 24)
#define MOST_OFTEN 1000 /* places whose products are looked for */
#define BETWEEN    " | "
#define SELDOM     100 /* of so many rows fewer than one */

static cop_err add_name(cop_model_page_given *given, const char *name)
{
	if (given->count == given->room) {
		size_t room = given->room == 0 ? 64 : 2 * given->room;
		char **list = room > MOST_NAMES ? NULL : cop_mem_resize(given->name, given->count, room, sizeof *list);
		if (list == NULL)
			return COP_ENOMEM;
		given->name = list;
		given->room = room;
	}
	char *copy = cop_mem_strdup(name);
	if (copy == NULL)
		return COP_ENOMEM;
	given->name[given->count++] = copy;
	return COP_OK;
}

cop_err cop_model_page_names_given_read(cop_model_page_given *given, cop_diag *diag)
{
	cop_stream *stream;
	if (given->file == NULL)
		return COP_OK;
	cop_err err = cop_stream_open_read(given->file, &stream, diag);
	if (err != COP_OK)
		return err;
	while (err == COP_OK) {
		char *line;
		size_t length;
		err = cop_stream_line(stream, &line, &length);
		if (err != COP_OK && err != COP_EEND)
			*diag = *cop_stream_diag(stream);
		if (err == COP_OK && (err = add_name(given, line)) != COP_OK)
			cop_diag_of(diag, given->file, "%s", cop_err_text(err));
	}
	cop_stream_free(stream);
	return err == COP_EEND ? COP_OK : err;
}

void cop_model_page_names_given_fini(cop_model_page_given *given)
{
	for (size_t i = 0; i < given->count; i++)
		cop_mem_free(given->name[i]);
	cop_mem_free(given->name);
	given->name = NULL;
	given->count = given->room = 0;
}

cop_err cop_model_page_names_check(
        const cop_model_page_names *names, const cop_learner_settings *settings, cop_diag *diag)
{
	const struct {
		size_t count;
		const char *of;
	} needed[COP_MODEL_PAGE_GIVEN] = {
		[COP_MODEL_PAGE_FEATURES] = { names->contexts, "feature" },
		[COP_MODEL_PAGE_CANDIDATES] = { names->ranks ? settings->candidate_features : 0,
		        "feature of candidates" },
		[COP_MODEL_PAGE_ARMS] = { settings->arms, "arm" },
	};
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN; i++) {
		const cop_model_page_given *given = &names->given[i];
		if (given->file == NULL || given->count == needed[i].count)
			continue;
		cop_diag_of(diag, given->file, "%zu names, expected %zu, one for each %s", given->count,
		        needed[i].count, needed[i].of);
		return COP_ESHAPE;
	}
	return COP_OK;
}

static int most_first(const void *a, const void *b)
{
	const cop_model_page_often *x = a, *y = b;
	int order = (x->uses < y->uses) - (x->uses > y->uses);
	return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Each place once, however many names it has. */
static cop_err find_often(cop_model_page_names *names)
{
	size_t count = names->places == NULL ? 0 : cop_place_names_count(names->places), kept = 0;
	names->often = cop_mem_alloc(count, sizeof *names->often);
	if (names->often == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t place = cop_place_names_place(names->places, i);
		names->often[i] = (cop_model_page_often){ cop_place_names_uses(names->places, place), place };
	}
	qsort(names->often, count, sizeof *names->often, most_first);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || names->often[kept - 1].place != names->often[i].place)
			names->often[kept++] = names->often[i];
	names->often_count = kept;
	return COP_OK;
}

cop_err cop_model_page_names_read(cop_model_page_names *names, const cop_learner_settings *settings, const void *data,
        size_t length, cop_diag *diag)
{
	cop_section_file file;
	names->space = NULL;
	names->places = NULL;
	names->often = NULL;
	names->often_count = 0;
	names->ranks = cop_learner_plays_candidates(settings);
	names->contexts = cop_learner_dimension(settings);
	names->same = settings->features == 0 || settings->candidate_features == settings->features;
	cop_err err = cop_section_file_open(&file, data, length, NULL, diag);
	if (err != COP_OK)
		return err;
	if (settings->features == 0)
		err = cop_model_names_read_places(&file, COP_MODEL_NAMES_ALL, settings->bits, &names->places, diag);
	if (err == COP_OK && settings->features == 0)
		err = find_often(names);
	if (err != COP_OK || settings->features == 0)
		return err;
	err = cop_model_names_load(&file, settings, &names->space, diag);
	if (err != COP_ENOTFOUND)
		return err;
	*diag = (cop_diag){ 0 }; /* a model without names is no failure, and its message must not go to a later one */
	return COP_OK;
}

void cop_model_page_names_fini(cop_model_page_names *names)
{
	cop_feature_space_free(names->space);
	cop_place_names_free(names->places);
	cop_mem_free(names->often);
}

void cop_model_page_names_arm(const cop_model_page_names *names, size_t k, char *out, size_t size)
{
	const cop_model_page_given *given = &names->given[COP_MODEL_PAGE_ARMS];
	if (k < given->count)
		(void)snprintf(out, size, "%s", given->name[k]);
	else
		(void)snprintf(out, size, "arm %zu", k);
}

bool cop_model_page_names_feature(const cop_model_page_names *names, size_t i, char *out, size_t size)
{
	bool candidate = names->ranks && i >= names->contexts;
	size_t own = candidate ? i - names->contexts : i;
	const cop_model_page_given *given =
	        &names->given[candidate ? COP_MODEL_PAGE_CANDIDATES : COP_MODEL_PAGE_FEATURES];
	const char *name = NULL;
	if (own < given->count)
		name = given->name[own];
	else if (names->space != NULL && (!candidate || names->same) && own < cop_feature_space_dimension(names->space))
		name = cop_feature_space_column(names->space, own);
	if (name != NULL)
		(void)snprintf(out, size, "%s", name);
	else if (given->count > 0 || cop_place_names_text(names->places, own, out, size) == 0)
		(void)snprintf(out, size, candidate ? "c%zu" : "x%zu", own);
	else
		return true;
	return name != NULL;
}

static void put_product(const cop_model_page_names *names, size_t i, size_t j, char *out, size_t size)
{
	char first[COP_MODEL_PAGE_NAME_ROOM], second[COP_MODEL_PAGE_NAME_ROOM];
	(void)cop_model_page_names_feature(names, i, first, sizeof first);
	(void)cop_model_page_names_feature(names, j, second, sizeof second);
	(void)snprintf(out, size, "%s*%s", first, second);
}

/* Pairs of places that are hashed to an input, the two that come most; a pair comes as often as the rarer of the two.
 */
typedef struct hashed_pairs {
	size_t pair[2][2];
	uint64_t uses[2];
} hashed_pairs;

static void find_hashed(
        const cop_model_page_names *names, const cop_learner *learner, size_t input, hashed_pairs *found)
{
	size_t most = names->often_count < MOST_OFTEN ? names->often_count : MOST_OFTEN;
	*found = (hashed_pairs){ .uses = { 0, 0 } };
	for (size_t i = 0; i < most; i++)
		for (size_t j = 0; j < most; j++) {
			const cop_model_page_often *a = &names->often[i], *b = &names->often[j];
			uint64_t both = a->uses < b->uses ? a->uses : b->uses;
			if (both <= found->uses[1] || cop_learner_hashed(learner, a->place, b->place) != input)
				continue;
			bool first = both > found->uses[0];
			if (first) {
				memcpy(found->pair[1], found->pair[0], sizeof found->pair[0]);
				found->uses[1] = found->uses[0];
			}
			found->pair[first ? 0 : 1][0] = a->place;
			found->pair[first ? 0 : 1][1] = b->place;
			found->uses[first ? 0 : 1] = both;
		}
}

static void name_hashed(
        const cop_model_page_names *names, const cop_learner *learner, size_t input, char *out, size_t size)
{
	hashed_pairs found;
	find_hashed(names, learner, input, &found);
	(void)snprintf(out, size, "product");
	if (found.uses[0] > 0)
		put_product(names, found.pair[0][0], names->contexts + found.pair[0][1], out, size);
	size_t used = strlen(out);
	if (2 * found.uses[1] <= found.uses[0] || used + sizeof BETWEEN >= size)
		return;
	memcpy(out + used, BETWEEN, sizeof BETWEEN);
	used += sizeof BETWEEN - 1;
	put_product(names, found.pair[1][0], names->contexts + found.pair[1][1], out + used, size - used);
}

static void name_part(
        const cop_model_page_names *names, const cop_learner_feature *f, size_t part, char *out, size_t size)
{
	size_t index = f->part[part].index + (f->part[part].candidate ? names->contexts : 0);
	if (f->part[part].constant)
		(void)snprintf(out, size, "constant");
	else
		(void)cop_model_page_names_feature(names, index, out, size);
}

void cop_model_page_names_input(
        const cop_model_page_names *names, const cop_learner *learner, size_t i, char *out, size_t size)
{
	char first[COP_MODEL_PAGE_NAME_ROOM], second[COP_MODEL_PAGE_NAME_ROOM];
	cop_learner_feature f;
	cop_learner_describe(learner, i, &f);
	if (f.count == 0) {
		name_hashed(names, learner, i, out, size);
		return;
	}
	name_part(names, &f, 0, first, sizeof first);
	if (f.count > 1)
		name_part(names, &f, 1, second, sizeof second);
	(void)snprintf(out, size, "%s%s%s", first, f.count > 1 ? "*" : "", f.count > 1 ? second : "");
}

static bool is_known(const cop_model_page_names *names, size_t i, bool named)
{
	if (names->often_count == 0 || names->given[COP_MODEL_PAGE_FEATURES].count > 0 || !named)
		return named;
	size_t place = names->ranks && i >= names->contexts ? i - names->contexts : i;
	return SELDOM * cop_place_names_uses(names->places, place) >= names->often[0].uses;
}

cop_err cop_model_page_names_list(
        const cop_model_page_names *names, size_t from, size_t count, cop_model_page_name_list *out)
{
	char name[COP_MODEL_PAGE_NAME_ROOM];
	cop_bytes all;
	cop_bytes_init(&all);
	*out = (cop_model_page_name_list){ .known = cop_mem_alloc(count, 1), .count = count };
	out->name = cop_mem_alloc(count, sizeof *out->name);
	if (out->known == NULL || out->name == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		bool named = cop_model_page_names_feature(names, from + i, name, sizeof name);
		out->known[i] = is_known(names, from + i, named);
		cop_bytes_put(&all, name, strlen(name) + 1);
	}
	out->texts = (char *)all.data;
	const char *at = out->texts;
	for (size_t i = 0; all.err == COP_OK && i < count; i++, at += strlen(at) + 1)
		out->name[i] = at;
	return all.err;
}

void cop_model_page_names_list_free(cop_model_page_name_list *list)
{
	cop_mem_free(list->name);
	cop_mem_free(list->texts);
	cop_mem_free(list->known);
	*list = (cop_model_page_name_list){ .name = NULL };
}
