/* tools/bakeoff/bakeoff_data.h: the labelled datasets of a folder, by name.
 *
 * NAME.train.csv and NAME.test.csv together (or NAME.csv alone) are dataset NAME, also as .libsvm or .svm, each also
 * with .gz or .zst; the last column (libsvm: the first) is the class, from 0. NAME.items.csv beside it has features of
 * each class: then learners that can rank get them instead of the classes' numbers. A dataset that is loaded may
 * be read by many threads. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_DATA_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_DATA_H

#include "bakeoff_settings.h"
#include "bakeoff_store.h"
#include "tools/simulate/simulation.h"

typedef struct cop_bakeoff_files {
	char name[COP_BAKEOFF_NAME_ROOM];
	char path[2][COP_BAKEOFF_PATH_ROOM]; /* the second one may be "" */
	char items[COP_BAKEOFF_PATH_ROOM];   /* may be "" */
	uint64_t bytes;                      /* of the files */
} cop_bakeoff_files;
typedef struct cop_bakeoff_folder {
	cop_bakeoff_files *files; /* by name */
	size_t count;
} cop_bakeoff_folder;

/* All datasets of a folder. Caller finishes with fini, also on error. COP_EIO: it cannot be read; COP_EFORMAT: two sets
 * of files have one name; COP_ENOMEM. */
COP_CHECK cop_err cop_bakeoff_folder_init(cop_bakeoff_folder *folder, const char *path, cop_diag *diag);
void cop_bakeoff_folder_fini(cop_bakeoff_folder *folder);
/* NULL: there is none. */
const cop_bakeoff_files *cop_bakeoff_folder_find(const cop_bakeoff_folder *folder, const char *name);

typedef struct cop_bakeoff_data {
	cop_dataset *rows;
	size_t features, classes;
	cop_learner_settings shape; /* as the rows need it; nothing else is set */
	bool has_items;             /* of a file */
	cop_sim_items items;        /* the file's, else one-hot ones; empty unless asked for */
} cop_bakeoff_data;

/* Caller finishes with fini, also on error. ranks: a setting's learner is rank, so items are needed in any case.
 * Errors of cop_sim_read and cop_sim_items_init; COP_EINVAL: fewer than two classes. */
COP_CHECK cop_err cop_bakeoff_data_init(
        cop_bakeoff_data *data, const cop_bakeoff_files *files, bool ranks, cop_diag *diag);
void cop_bakeoff_data_fini(cop_bakeoff_data *data);
/* The model that a setting makes of the dataset, and the items that go with it (none: an empty list that lives as long
 * as the program). Learner ensemble becomes rank where items have a file. */
const cop_sim_items *cop_bakeoff_data_model(
        const cop_bakeoff_data *data, const cop_bakeoff_setting *setting, uint64_t seed, cop_model_settings *out);

#endif
