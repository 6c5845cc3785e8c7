/* tools/replay/replay_state.h: a replayed model in a file: to go on from, to evaluate, and for a daemon to start from.
 *
 * A model file (store/section_file.h) with the sections of cop_model_save, "features" (the feature space) and "replay"
 * (what was added up, and where the replay stood). Going on gives the same bits as never having stopped. One thread. */
#ifndef COP_TOOLS_REPLAY_REPLAY_STATE_H
#define COP_TOOLS_REPLAY_REPLAY_STATE_H

#include "estimates.h"
#include "events/feature_space.h"
#include "online/model.h"
#include "replay_feed.h"
#include "store/section_file.h"

#define COP_REPLAY_SECTION "replay"

typedef struct cop_replay_state {
	cop_model *model;
	cop_feature_space *space;
	cop_replay_limits limits; /* nothing open */
	cop_estimates tally;
	uint64_t events;  /* fed so far */
	uint64_t in_pass; /* of the pass that was under way, or over */
	uint64_t skipped[COP_REPLAY_SKIPS];
	bool exploring; /* what is estimated */
} cop_replay_state;

/* Replaces the file as a whole; beside a dense model also FILE.features.txt, the columns' names, one a line. Errors of
 * cop_section_file_save. */
COP_CHECK cop_err cop_replay_state_save(const char *path, const cop_replay_state *state, cop_diag *diag);
/* Caller frees model and space; on error both are NULL. Errors of cop_section_file_load and cop_model_load;
 * COP_EFORMAT: no file of a replay. */
COP_CHECK cop_err cop_replay_state_load(const char *path, cop_replay_state *out, cop_diag *diag);
/* The same without the model, from a file that is open. */
COP_CHECK cop_err cop_replay_state_peek(const cop_section_file *file, cop_replay_state *out, cop_diag *diag);
void cop_replay_state_fini(cop_replay_state *state);

#endif
