/* Everything that can fail without changing the model comes first: the journal's state, room in the list of needed
 * challengers, the file. Then the model changes, then the record is put, so a refused promotion leaves neither a
 * change of the model nor a record. Replay takes the same functions on the record's values; a challenge is applied
 * only if the checksum of its file is the recorded one. `taken` is the number of losses learned when a trial began. */
#include "daemon/durable/promotion.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/durable/challenger.h"
#include "online/model_shadow.h"
#include "store/state_dir.h"

static uint64_t learned_of(const cop_model_slot *slot) { return cop_model_get_counters(slot->model)->learned; }

static cop_err challenge_from_file(
        cop_model_slot *slot, const char *state_dir, uint64_t number, uint32_t *crc, bool given, cop_diag *diag)
{
	cop_trees *trees;
	uint32_t is;
	cop_err err = cop_challenger_read(state_dir, slot->stored, number, &trees, &is, diag);
	if (err == COP_OK && given && is != *crc) {
		cop_diag_message(diag,
		        "challenger %" PRIu64
		        " of model \"%s\" is not the one that was recorded: its checksum is %08x, "
		        "expected %08x",
		        number, slot->name, is, *crc);
		err = COP_EFORMAT;
	}
	if (err == COP_OK)
		err = cop_model_challenge(slot->model, trees, diag);
	cop_trees_free(trees);
	*crc = is;
	if (err == COP_OK)
		cop_refit_controller_challenge(&slot->refit.controller, number, learned_of(slot));
	return err;
}

static cop_err challenge(const cop_promotion *s, uint64_t number, uint32_t *crc, cop_diag *diag)
{
	cop_challenger_load *load = s->load;
	if (load == NULL)
		return challenge_from_file(s->slot, s->durable->config->state_dir, number, crc, false, diag);
	*crc = load->crc;
	cop_err err = cop_model_challenge_with(s->slot->model, load->trees, &load->spare, diag);
	if (err == COP_OK)
		cop_refit_controller_challenge(&s->slot->refit.controller, number, learned_of(s->slot));
	return err;
}

static cop_err retire(cop_model_slot *slot)
{
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(slot->model, &roles);
	cop_err err = cop_model_retire(slot->model);
	if (err == COP_OK)
		cop_refit_controller_retire(&slot->refit.controller, roles.promoted);
	return err;
}

static cop_err freeze(cop_model_slot *slot, bool frozen)
{
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(slot->model, &roles);
	if (roles.frozen == frozen)
		return COP_EEXIST;
	if (cop_model_learner(slot->model)->class->fixed)
		return COP_ESHAPE;
	cop_model_freeze(slot->model, frozen);
	return COP_OK;
}

static cop_err simple(cop_model_slot *slot, cop_wire_promotion kind, cop_diag *diag)
{
	static const char *const missing[COP_WIRE_PROMOTIONS] = {
		[COP_WIRE_PROMOTION_PROMOTE] = "there is no challenger that does not serve yet",
		[COP_WIRE_PROMOTION_ROLLBACK] = "there is no promotion whose predecessor is still there",
		[COP_WIRE_PROMOTION_RETIRE] = "there is no second learner",
		[COP_WIRE_PROMOTION_FREEZE] = "it is frozen already",
		[COP_WIRE_PROMOTION_THAW] = "it is not frozen",
	};
	cop_err err = kind == COP_WIRE_PROMOTION_PROMOTE    ? cop_model_promote(slot->model)
	              : kind == COP_WIRE_PROMOTION_ROLLBACK ? cop_model_rollback(slot->model)
	              : kind == COP_WIRE_PROMOTION_RETIRE   ? retire(slot)
	                                                    : freeze(slot, kind == COP_WIRE_PROMOTION_FREEZE);
	if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", slot->name,
		        err == COP_ESHAPE ? "a trained model has nothing that could learn" : missing[kind]);
	else if (kind == COP_WIRE_PROMOTION_PROMOTE)
		cop_refit_controller_promote(&slot->refit.controller, learned_of(slot));
	return err;
}

static void log_change(const cop_promotion *s, cop_wire_promotion kind, const cop_model_evidence *before)
{
	const cop_promotion_test_summary *e = &before->summary;
	cop_log_line(s->durable->log, COP_LOG_EVENT(promotion),
	        "model=%s kind=%s number=%" PRIu64 " by=%s events=%" PRIu64 " gain=%.6g low=%.6g high=%.6g",
	        s->slot->name, cop_wire_promotion_text(kind), s->slot->refit.controller.current, s->by, e->events,
	        e->value[COP_PROMOTION_TEST_DR], e->low[COP_PROMOTION_TEST_DR], e->high[COP_PROMOTION_TEST_DR]);
}

/* The challenger that it is about. */
static uint64_t subject(const cop_model_slot *slot, cop_wire_promotion kind, uint64_t number)
{
	return kind == COP_WIRE_PROMOTION_CHALLENGE ? number : slot->refit.controller.current;
}

/* What can fail of recording comes first. */
static cop_err prepare(const cop_promotion *s, cop_wire_promotion kind, uint64_t number, cop_diag *diag)
{
	const bool swaps = kind != COP_WIRE_PROMOTION_FREEZE && kind != COP_WIRE_PROMOTION_THAW;
	if (s->durable->held && swaps && !s->held_too) {
		cop_diag_message(diag, "an order to forget is carried out; expected to be asked again when it is done");
		return COP_EIO;
	}
	if (s->durable->journal == NULL)
		return COP_OK;
	if (cop_journaler_broken(s->durable->journal)) {
		cop_diag_message(diag, "the journal is broken; expected to be asked again later");
		return COP_EIO;
	}
	if (kind != COP_WIRE_PROMOTION_CHALLENGE)
		return COP_OK;
	cop_err err = cop_refit_state_need(&s->slot->refit, cop_journaler_next(s->durable->journal), number);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

cop_err cop_promotion_do(
        const cop_promotion *s, cop_wire_promotion kind, uint64_t number, uint64_t *sequence, cop_diag *diag)
{
	cop_model_evidence before;
	cop_wire_record record = {
		.model = s->slot->stored,
		.model_length = strlen(s->slot->stored),
		.time = s->durable->time,
		.promotion = kind,
		.count = number,
	};
	cop_err err = prepare(s, kind, number, diag);
	if (err != COP_OK)
		return err;
	cop_model_get_evidence(s->slot->model, &before);
	uint64_t of = subject(s->slot, kind, number);
	err = kind == COP_WIRE_PROMOTION_CHALLENGE ? challenge(s, number, &record.crc, diag)
	                                           : simple(s->slot, kind, diag);
	if (err != COP_OK)
		return err;
	uint64_t recorded = cop_journaler_put(s->durable->journal, COP_WIRE_RECORD_PROMOTION, &record);
	if (sequence != NULL)
		*sequence = recorded;
	s->slot->refit.promotions[kind]++;
	cop_refit_history_change(&s->slot->refit.history, kind, of, record.time, &before.summary);
	log_change(s, kind, &before);
	return COP_OK;
}

static cop_err replay(
        cop_model_slot *slot, const char *state_dir, const cop_wire_record *record, uint64_t sequence, cop_diag *diag)
{
	uint32_t crc = record->crc;
	if (record->promotion != COP_WIRE_PROMOTION_CHALLENGE)
		return simple(slot, record->promotion, diag);
	cop_err err = cop_refit_state_need(&slot->refit, sequence, record->count);
	if (err == COP_OK)
		err = challenge_from_file(slot, state_dir, record->count, &crc, true, diag);
	if (err == COP_ENOTFOUND)
		cop_diag_message(diag,
		        "its challenger is gone; expected it in " COP_STATE_DIR_CHALLENGERS "/refit.%.64s.%020" PRIu64
		        ".checkpoint; put that file back, or start with --salvaged, which goes on without it",
		        slot->name, record->count);
	return err;
}

cop_err cop_promotion_replay(
        cop_model_slot *slot, const char *state_dir, const cop_wire_record *record, uint64_t sequence, cop_diag *diag)
{
	cop_model_evidence before;
	if (record->promotion == COP_WIRE_PROMOTION_NONE)
		return COP_OK;
	cop_model_get_evidence(slot->model, &before);
	uint64_t of = subject(slot, record->promotion, record->count);
	cop_err err = replay(slot, state_dir, record, sequence, diag);
	if (err == COP_OK)
		cop_refit_history_change(&slot->refit.history, record->promotion, of, record->time, &before.summary);
	return err;
}

void cop_promotion_look(cop_model_slot *slot, const char *state_dir)
{
	uint64_t *all;
	size_t count;
	cop_refit_state *s = &slot->refit;
	if (cop_challenger_list(state_dir, slot->stored, &all, &count, NULL) != COP_OK)
		count = 0;
	s->kept_count = count < COP_REFIT_STATE_KEPT ? count : COP_REFIT_STATE_KEPT;
	for (size_t i = 0; i < s->kept_count; i++)
		s->kept[i] = all[i];
	cop_mem_free(all);
}
