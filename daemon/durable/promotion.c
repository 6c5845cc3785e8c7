/* Everything that can fail without changing the model comes first: the journal's state, room in the list of needed
 * challengers, the file. Then the model changes, then the record is put, so a refused promotion leaves neither a
 * change of the model nor a record. Replay takes the same functions on the record's values; a challenge is applied
 * only if the checksum of its file is the recorded one. `taken` is the number of losses learned when a trial began. */
#include "daemon/durable/promotion.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/durable/challenger.h"
#include "online/model_shadow.h"
#include "store/state_dir.h"

static uint64_t learned_of(const cop_served *served) { return cop_model_get_counters(served->model)->learned; }

static cop_err challenge_from_file(
        cop_served *served, const char *state_dir, uint64_t number, uint32_t *crc, bool given, cop_diag *diag)
{
	cop_trees *trees;
	uint32_t is;
	cop_err err = cop_challenger_read(state_dir, served->name, number, &trees, &is, diag);
	if (err == COP_OK && given && is != *crc) {
		cop_diag_message(diag,
		        "challenger %" PRIu64
		        " of model \"%s\" is not the one that was recorded: its checksum is %08x, "
		        "expected %08x",
		        number, served->name, is, *crc);
		err = COP_EFORMAT;
	}
	if (err == COP_OK)
		err = cop_model_challenge(served->model, trees, diag);
	cop_trees_free(trees);
	*crc = is;
	if (err == COP_OK)
		cop_refit_controller_challenge(&served->refit.controller, number, learned_of(served));
	return err;
}

static cop_err challenge(const cop_promotion *s, uint64_t number, uint32_t *crc, cop_diag *diag)
{
	cop_challenger_load *load = s->load;
	if (load == NULL)
		return challenge_from_file(s->served, s->durable->config->state_dir, number, crc, false, diag);
	*crc = load->crc;
	cop_err err = cop_model_challenge_with(s->served->model, load->trees, &load->spare, diag);
	if (err == COP_OK)
		cop_refit_controller_challenge(&s->served->refit.controller, number, learned_of(s->served));
	return err;
}

static cop_err retire(cop_served *served)
{
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(served->model, &roles);
	cop_err err = cop_model_retire(served->model);
	if (err == COP_OK)
		cop_refit_controller_retire(&served->refit.controller, roles.promoted);
	return err;
}

static cop_err freeze(cop_served *served, bool frozen)
{
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(served->model, &roles);
	if (roles.frozen == frozen)
		return COP_EEXIST;
	cop_model_freeze(served->model, frozen);
	return COP_OK;
}

static cop_err simple(cop_served *served, cop_wire_promotion kind, cop_diag *diag)
{
	static const char *const missing[COP_WIRE_PROMOTIONS] = {
		[COP_WIRE_PROMOTION_PROMOTE] = "there is no challenger that does not serve yet",
		[COP_WIRE_PROMOTION_ROLLBACK] = "there is no promotion whose predecessor is still there",
		[COP_WIRE_PROMOTION_RETIRE] = "there is no second learner",
		[COP_WIRE_PROMOTION_FREEZE] = "it is frozen already",
		[COP_WIRE_PROMOTION_THAW] = "it is not frozen",
	};
	cop_err err = kind == COP_WIRE_PROMOTION_PROMOTE    ? cop_model_promote(served->model)
	              : kind == COP_WIRE_PROMOTION_ROLLBACK ? cop_model_rollback(served->model)
	              : kind == COP_WIRE_PROMOTION_RETIRE   ? retire(served)
	                                                    : freeze(served, kind == COP_WIRE_PROMOTION_FREEZE);
	if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", served->name, missing[kind]);
	else if (kind == COP_WIRE_PROMOTION_PROMOTE)
		cop_refit_controller_promote(&served->refit.controller, learned_of(served));
	return err;
}

static void tell(const cop_promotion *s, cop_wire_promotion kind, const cop_model_evidence *before)
{
	const cop_promotion_test_summary *e = &before->summary;
	cop_log_line(s->durable->log, COP_LOG_NOTICE, "promotion",
	        "model=%s kind=%s number=%" PRIu64 " by=%s events=%" PRIu64 " gain=%.6g low=%.6g high=%.6g",
	        s->served->name, cop_wire_promotion_text(kind), s->served->refit.controller.current, s->by, e->events,
	        e->value[COP_PROMOTION_TEST_DR], e->low[COP_PROMOTION_TEST_DR], e->high[COP_PROMOTION_TEST_DR]);
}

/* What can fail of recording comes first. */
static cop_err prepare(const cop_promotion *s, cop_wire_promotion kind, uint64_t number, cop_diag *diag)
{
	if (s->durable->journal == NULL)
		return COP_OK;
	if (cop_journaler_broken(s->durable->journal)) {
		cop_diag_message(diag, "the journal is broken; expected to be asked again later");
		return COP_EIO;
	}
	if (kind != COP_WIRE_PROMOTION_CHALLENGE)
		return COP_OK;
	cop_err err = cop_refit_state_need(&s->served->refit, cop_journaler_next(s->durable->journal), number);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

cop_err cop_promotion_do(
        const cop_promotion *s, cop_wire_promotion kind, uint64_t number, uint64_t *sequence, cop_diag *diag)
{
	cop_model_evidence before;
	cop_wire_record record = {
		.model = s->served->name,
		.model_length = strlen(s->served->name),
		.time = s->durable->time,
		.promotion = kind,
		.count = number,
	};
	cop_err err = prepare(s, kind, number, diag);
	if (err != COP_OK)
		return err;
	cop_model_get_evidence(s->served->model, &before);
	err = kind == COP_WIRE_PROMOTION_CHALLENGE ? challenge(s, number, &record.crc, diag)
	                                           : simple(s->served, kind, diag);
	if (err != COP_OK)
		return err;
	uint64_t recorded = cop_journaler_put(s->durable->journal, COP_WIRE_RECORD_PROMOTION, &record);
	if (sequence != NULL)
		*sequence = recorded;
	s->served->refit.promotions[kind]++;
	tell(s, kind, &before);
	return COP_OK;
}

cop_err cop_promotion_replay(
        cop_served *served, const char *state_dir, const cop_wire_record *record, uint64_t sequence, cop_diag *diag)
{
	uint32_t crc = record->crc;
	if (record->promotion == COP_WIRE_PROMOTION_NONE)
		return COP_OK;
	if (record->promotion != COP_WIRE_PROMOTION_CHALLENGE)
		return simple(served, record->promotion, diag);
	cop_err err = cop_refit_state_need(&served->refit, sequence, record->count);
	if (err == COP_OK)
		err = challenge_from_file(served, state_dir, record->count, &crc, true, diag);
	if (err == COP_ENOTFOUND)
		cop_diag_message(diag,
		        "its challenger is gone; expected it in " COP_STATE_DIR_CHALLENGERS "/refit.%.64s.%020" PRIu64
		        ".checkpoint; put that file back, or start with --salvaged, which goes on without it",
		        served->name, record->count);
	return err;
}
