/* As recovery does it, but for what the daemon keeps of refits beside the model. */
#include "whatif_promote.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/checkpoint_file.h"
#include "store/state_dir.h"
#include "tree/trees_checkpoint.h"

static cop_err challenge(
        cop_model *model, const char *state, const char *name, const cop_wire_record *record, cop_diag *diag)
{
	char prefix[COP_CHECKPOINT_PREFIX_MAX + 1], file[COP_CHECKPOINT_NAME_ROOM];
	char path[4096];
	cop_trees *trees = NULL;
	uint32_t crc = 0;
	(void)snprintf(prefix, sizeof prefix, COP_STATE_DIR_CHALLENGER "%s", name);
	cop_checkpoint_name(prefix, record->count, file);
	(void)snprintf(path, sizeof path, "%s/" COP_STATE_DIR_CHALLENGERS "/%s", state, file);
	cop_err err = cop_trees_checkpoint_read(path, &trees, &crc, diag);
	if (err == COP_ENOTFOUND)
		cop_diag_message(diag, "challenger %" PRIu64 " is gone; expected it in %.200s", record->count, path);
	if (err == COP_OK && crc != record->crc) {
		cop_diag_message(diag, "challenger %" PRIu64 " is not the one that was recorded: its checksum differs",
		        record->count);
		err = COP_EFORMAT;
	}
	if (err == COP_OK)
		err = cop_model_challenge(model, trees, diag);
	cop_trees_free(trees);
	return err;
}

cop_err cop_whatif_promote(
        cop_model *model, const char *state, const char *name, const cop_wire_record *record, cop_diag *diag)
{
	cop_err err = COP_OK;
	switch (record->promotion) {
	case COP_WIRE_PROMOTION_CHALLENGE:
		return challenge(model, state, name, record, diag);
	case COP_WIRE_PROMOTION_PROMOTE:
		err = cop_model_promote(model);
		break;
	case COP_WIRE_PROMOTION_ROLLBACK:
		err = cop_model_rollback(model);
		break;
	case COP_WIRE_PROMOTION_RETIRE:
		err = cop_model_retire(model);
		break;
	case COP_WIRE_PROMOTION_FREEZE:
	case COP_WIRE_PROMOTION_THAW:
		cop_model_freeze(model, record->promotion == COP_WIRE_PROMOTION_FREEZE);
		break;
	case COP_WIRE_PROMOTION_NONE:
	case COP_WIRE_PROMOTIONS:
		break;
	}
	if (err != COP_OK)
		cop_diag_message(diag, "there is no second learner to %s", cop_wire_promotion_text(record->promotion));
	return err;
}
