/* tools/replay/replay_options.h: what `coppice replay` is told, read and checked. */
#ifndef COP_TOOLS_REPLAY_REPLAY_OPTIONS_H
#define COP_TOOLS_REPLAY_REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy_run.h"
#include "tools/common/learner_options.h"
#include "tools/common/reader_options.h"

#define COP_REPLAY_NAME          "replay"
#define COP_REPLAY_MOST_SETTINGS 16
#define COP_REPLAY_NAME_ROOM     96

/* One policy to replay. */
typedef struct cop_replay_setting {
	char name[COP_REPLAY_NAME_ROOM];
	cop_replay_kind kind;
	uint32_t constant;            /* COP_REPLAY_CONSTANT */
	cop_learner_settings learner; /* COP_REPLAY_LEARNS */
	bool learner_given;           /* by name */
} cop_replay_setting;

typedef struct cop_replay_options cop_replay_options;
struct cop_replay_options {
	const char *path;
	cop_reader_options reader;
	cop_learner_options learner;
	size_t arms, candidates, max_nonzeros; /* 0: not given */
	cop_loss_weights losses;               /* of a journal's named ones, the cost; count 0: what was learned */
	bool has_range;
	double low, high;
	uint64_t seed, events, passes, skip, threads;
	bool holds_out;
	uint64_t holdout_after;
	bool exploring;
	const char *frozen;   /* --evaluate FILE */
	uint64_t names_bytes; /* hashed: for the names of places in what is saved */
	const char *columns;  /* file of a dense space's names */
	const char *save, *resume, *dump;
	bool has_progress;
	double progress;
	bool progress_adds;
	const char *interval; /* method; NULL: the default one */
	double level;
	double clip; /* weights above it are heavy; 0: the default */
	const char *live, *model;
	double pace; /* events a second; 0: as fast as it goes */
	bool ask;
	uint64_t first_id;
	bool compares;
	cop_replay_setting setting[COP_REPLAY_MOST_SETTINGS]; /* at least one */
	size_t settings;
	bool json;
};

/* -1: go on; else the exit status (help was printed, or what is wrong). */
int cop_replay_options_read(int argc, char **argv, cop_replay_options *out);

/* Adds the settings of a --compare text (tools/replay/replay_specs.c); base: the learner's options of the command line,
 * which hold for all of them. False: complained. */
bool cop_replay_specs_read(const char *text, const cop_learner_options *base, cop_replay_options *out);
/* A policy without a model: logged, uniform, constant:K. False: it is none of them. */
bool cop_replay_plain_policy(const char *text, cop_replay_setting *out);

#endif
