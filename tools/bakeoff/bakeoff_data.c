/* A file's name gives its dataset and its part: packing, format and part are cut off the end of the name, one after
 * another. Test rows without training rows are the whole dataset. */
#include "bakeoff_data.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

/* ---- names ---- */

static const char *const formats[] = { ".csv", ".libsvm", ".svm" };
static const char *const packings[] = { "", ".gz", ".zst" };

typedef enum part { TRAIN, TEST, WHOLE, ITEMS, NO_PART } part;

static bool cut_end(char *name, const char *end)
{
	size_t length = strlen(name);
	size_t tail = strlen(end);
	if (length <= tail || strcmp(name + length - tail, end) != 0)
		return false;
	name[length - tail] = '\0';
	return true;
}

/* What a file is by its name, which is cut to the dataset's. */
static part part_of(char *name)
{
	bool known = false;
	for (size_t i = 1; i < sizeof packings / sizeof *packings; i++)
		if (cut_end(name, packings[i]))
			break;
	for (size_t i = 0; i < sizeof formats / sizeof *formats && !known; i++)
		known = cut_end(name, formats[i]);
	if (!known || name[0] == '.')
		return NO_PART;
	part found = cut_end(name, ".train")   ? TRAIN
	             : cut_end(name, ".test")  ? TEST
	             : cut_end(name, ".items") ? ITEMS
	                                       : WHOLE;
	if (found == WHOLE && cut_end(name, ".log")) /* a bandit log holds no losses of actions that were not played */
		return NO_PART;
	return cop_bakeoff_settings_name_wrong(name, strlen(name)) == NULL ? found : NO_PART;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const cop_bakeoff_files *)a)->name, ((const cop_bakeoff_files *)b)->name);
}

static cop_bakeoff_files *find_or_add(cop_bakeoff_folder *folder, size_t *room, const char *name)
{
	for (size_t i = 0; i < folder->count; i++)
		if (strcmp(folder->files[i].name, name) == 0)
			return &folder->files[i];
	if (folder->count == *room) {
		size_t more = *room == 0 ? 32 : 2 * *room;
		cop_bakeoff_files *files = cop_mem_resize(folder->files, folder->count, more, sizeof *files);
		if (files == NULL)
			return NULL;
		folder->files = files;
		*room = more;
	}
	cop_bakeoff_files *files = &folder->files[folder->count++];
	*files = (cop_bakeoff_files){ .bytes = 0 };
	(void)snprintf(files->name, sizeof files->name, "%s", name);
	return files;
}

/* A dataset's two places: training rows or all, and test rows. */
static cop_err take_file(cop_bakeoff_folder *folder, size_t *room, const char *path, const char *file, cop_diag *diag)
{
	char name[COP_BAKEOFF_PATH_ROOM];
	char whole[COP_BAKEOFF_PATH_ROOM];
	struct stat status;
	if (strlen(path) + strlen(file) + 2 > sizeof whole)
		return COP_OK;
	(void)snprintf(name, sizeof name, "%s", file);
	(void)snprintf(whole, sizeof whole, "%.*s/%.*s", (int)sizeof whole / 2, path, (int)sizeof whole / 3, file);
	part is = part_of(name);
	if (is == NO_PART || stat(whole, &status) != 0 || !S_ISREG(status.st_mode))
		return COP_OK;
	cop_bakeoff_files *files = find_or_add(folder, room, name);
	if (files == NULL) {
		cop_diag_of(diag, path, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	char *place = is == ITEMS ? files->items : files->path[is == TEST ? 1 : 0];
	if (place[0] != '\0') {
		cop_diag_of(diag, whole, "it and %s are both dataset '%s'", place, name);
		return COP_EFORMAT;
	}
	(void)snprintf(place, COP_BAKEOFF_PATH_ROOM, "%s", whole);
	files->bytes += (uint64_t)status.st_size;
	return COP_OK;
}

/* Items without rows, or test rows alone, are no dataset: test rows alone become the whole. */
static void keep_datasets(cop_bakeoff_folder *folder)
{
	size_t kept = 0;
	for (size_t i = 0; i < folder->count; i++) {
		cop_bakeoff_files *files = &folder->files[i];
		if (files->path[0][0] == '\0') {
			memcpy(files->path[0], files->path[1], sizeof files->path[0]);
			files->path[1][0] = '\0';
		}
		if (files->path[0][0] != '\0')
			folder->files[kept++] = *files;
	}
	folder->count = kept;
}

cop_err cop_bakeoff_folder_init(cop_bakeoff_folder *folder, const char *path, cop_diag *diag)
{
	const struct dirent *entry;
	size_t room = 0;
	cop_err err = COP_OK;
	*folder = (cop_bakeoff_folder){ .files = NULL };
	DIR *dir = opendir(path);
	if (dir == NULL) {
		cop_diag_of(diag, path, "%s; expected a folder of datasets", strerror(errno));
		return COP_EIO;
	}
	while (err == COP_OK && (entry = readdir(dir)) != NULL)
		err = take_file(folder, &room, path, entry->d_name, diag);
	(void)closedir(dir);
	keep_datasets(folder);
	if (folder->count > 0)
		qsort(folder->files, folder->count, sizeof *folder->files, by_name);
	return err;
}

void cop_bakeoff_folder_fini(cop_bakeoff_folder *folder)
{
	cop_mem_free(folder->files);
	*folder = (cop_bakeoff_folder){ .files = NULL };
}

const cop_bakeoff_files *cop_bakeoff_folder_find(const cop_bakeoff_folder *folder, const char *name)
{
	for (size_t i = 0; i < folder->count; i++)
		if (strcmp(folder->files[i].name, name) == 0)
			return &folder->files[i];
	return NULL;
}

/* ---- rows ---- */

cop_err cop_bakeoff_data_init(cop_bakeoff_data *data, const cop_bakeoff_files *files, bool ranks, cop_diag *diag)
{
	const char *paths[2] = { files->path[0], files->path[1] };
	cop_sim_files sim = { .data = paths, .count = files->path[1][0] != '\0' ? 2 : 1, .only_classes = true };
	cop_dataset *holdout = NULL;
	*data = (cop_bakeoff_data){ .has_items = files->items[0] != '\0' };
	cop_learner_settings_init(&data->shape);
	cop_err err = cop_sim_read(&sim, &data->rows, &holdout, diag);
	if (err == COP_OK)
		err = cop_dataset_classes(data->rows, &data->classes, diag);
	if (err != COP_OK)
		return err;
	if (data->classes < 2) {
		cop_diag_of(diag, paths[0], "every row is of class 0, expected at least two classes");
		return COP_EINVAL;
	}
	data->features = data->rows->d;
	err = cop_sim_fit_dimension(&data->shape, false, paths[0], data->rows, NULL, diag);
	if (err == COP_OK && (ranks || data->has_items))
		err = cop_sim_fit_items(&data->shape, data->rows, data->classes, data->has_items ? files->items : NULL,
		        &data->items, diag);
	return err;
}

void cop_bakeoff_data_fini(cop_bakeoff_data *data)
{
	cop_dataset_free(data->rows);
	cop_sim_items_fini(&data->items);
	*data = (cop_bakeoff_data){ .rows = NULL };
}

const cop_sim_items *cop_bakeoff_data_model(
        const cop_bakeoff_data *data, const cop_bakeoff_setting *setting, uint64_t seed, cop_model_settings *out)
{
	static const cop_sim_items none = { .count = 0 };
	cop_model_settings_init(out);
	cop_learner_settings *l = &out->learner;
	*l = setting->learner;
	l->seed = seed;
	l->features = data->shape.features;
	l->bits = data->shape.bits;
	l->max_nonzeros = data->shape.max_nonzeros;
	if (data->has_items && strcmp(l->learner, "ensemble") == 0)
		strcpy(l->learner, "rank");
	if (!cop_learner_plays_candidates(l)) {
		l->arms = data->classes;
		return &none;
	}
	l->candidate_features = data->shape.candidate_features;
	l->max_candidates = data->shape.max_candidates;
	return &data->items;
}
