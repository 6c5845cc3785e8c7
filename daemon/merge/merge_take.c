/* A summary is judged before anything changes; only one that says something new is applied and recorded. */
#include "daemon/merge/merge_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/crc32c.h"
#include "daemon/common/clock.h"
#include "daemon/durable/healing.h"
#include "online/model_record.h"

static void complain(cop_merge *m, const cop_merge_message *told, const char *reason)
{
	char model[COP_CONFIG_NAME_MAX + 1];
	cop_wire_text_clean(model, sizeof model, told->model.text, told->model.length);
	cop_log_limited(m->durable->log, &m->limiter, cop_clock_monotonic_us(), COP_LOG_EVENT(merge_refused),
	        "model=\"%s\" part=%" PRIu64 " life=%016" PRIx64 " number=%" PRIu64 " reason=\"%s\"", model, told->part,
	        told->life, told->number, reason);
}

/* Features may have been added to a model, here or there first: its sums are then of so many. */
static bool has_features(const cop_merge *m, const cop_merge_message *told, const cop_model_slot *slot, size_t length)
{
	size_t features;
	return cop_sums_features(cop_merge_sums_of(m, slot), length, &features) && features == told->features;
}

/* What is wrong with a summary, whatever it says; NULL: nothing. */
static const char *unfit(
        const cop_merge *m, const cop_merge_message *told, cop_model_slot *slot, const void *sums, size_t length)
{
	const cop_config *config = m->durable->config;
	if (told->version != COP_MERGE_VERSION)
		return "another version of this protocol; expected 1";
	if (told->of != config->partition_of || told->part >= config->partition_of)
		return "of another number of instances";
	if (cop_crc32c(0, sums, length) != told->crc)
		return "damaged: its checksum is another";
	if (slot == NULL || cop_merge_sums_of(m, slot) == NULL)
		return "of a model that is not merged here";
	const cop_learner_settings *s = &cop_model_get_settings(slot->model)->learner;
	if (told->learner.length != strlen(s->learner) ||
	        memcmp(told->learner.text, s->learner, told->learner.length) != 0)
		return "of another learner";
	if (told->arms != s->arms)
		return "of another number of arms";
	return told->features == s->features || has_features(m, told, slot, length)
	               ? NULL
	               : "of features that it has no sums of";
}

/* A life was heard from itself. */
static void note_life(cop_merge *m, uint64_t life, double now)
{
	size_t i = 0, oldest = 0;
	for (; i < m->lives && m->heard[i].life != life; i++)
		oldest = m->heard[i].mark < m->heard[oldest].mark ? i : oldest;
	if (i == m->lives && m->lives < COP_SUMS_PEERS)
		m->lives++;
	else if (i == m->lives)
		i = oldest;
	m->heard[i] = (cop_merge_heard){ life, now };
}

static void record(cop_merge *m, cop_model_slot *slot, const cop_summary *summary)
{
	const cop_wire_record made = { .model = slot->stored,
		.model_length = strlen(slot->stored),
		.time = m->durable->time,
		.life = summary->life,
		.count = summary->number,
		.part = summary->part,
		.at = summary->time,
		.sums = summary->sums,
		.sums_length = summary->length };
	cop_err err = cop_model_apply(slot->model, COP_WIRE_RECORD_MERGE, &made);
	if (err != COP_OK) { /* short of memory: it is told again */
		m->counts.put_off++;
		return;
	}
	(void)cop_journaler_put(m->durable->journal, COP_WIRE_RECORD_MERGE, &made);
	m->counts.bytes += summary->length;
}

/* What others tell of this instance's own life is an echo, unless it is more than there is here. */
static void hear_own(cop_merge *m, const cop_merge_message *told)
{
	if (told->part != m->durable->config->partition_number)
		complain(m, told, "its life is this instance's; was the state folder copied?");
	else if (told->number >= cop_journaler_next(m->durable->journal) && !m->behind) {
		m->behind = true;
		cop_log_line(m->durable->log, COP_LOG_EVENT(merge_behind),
		        "model=\"%.*s\" life=%016" PRIx64 " number=%" PRIu64 " next=%" PRIu64, (int)told->model.length,
		        told->model.text, told->life, told->number, cop_journaler_next(m->durable->journal));
	}
}

static cop_sums_verdict judge(
        cop_merge *m, cop_model_slot *slot, const cop_merge_message *told, const cop_summary *summary)
{
	const cop_sums_verdict verdict = cop_sums_judge(cop_merge_sums_of(m, slot), summary);
	m->counts.verdicts[verdict]++;
	switch (verdict) {
	case COP_SUMS_NEW:
		if (cop_model_learner(slot->model)->frozen || !cop_healing_stands(m->durable))
			m->counts.put_off++;
		else
			record(m, slot, summary);
		break;
	case COP_SUMS_OWN:
		hear_own(m, told);
		break;
	case COP_SUMS_MOVED:
		complain(m, told, "its life was another part's; was the state folder copied?");
		break;
	case COP_SUMS_SHAPE:
	case COP_SUMS_BROKEN:
		complain(m, told, "its sums are not as many finite numbers as the model has");
		break;
	case COP_SUMS_FULL:
		complain(m, told, "there is no room for another life");
		break;
	case COP_SUMS_SAME:
	case COP_SUMS_OLD:
	case COP_SUMS_VERDICTS:
		break;
	}
	return verdict;
}

void cop_merge_take(cop_merge *m, const cop_merge_message *told, const void *sums, size_t length, double now)
{
	cop_model_slot *slot = cop_model_table_find(&m->durable->models, told->model.text, told->model.length);
	const char *wrong = unfit(m, told, slot, sums, length);
	if (wrong != NULL) {
		m->counts.unfit++;
		complain(m, told, wrong);
		return;
	}
	const cop_summary summary = { (uint32_t)told->part, told->life, told->number, told->time, sums, length };
	const cop_sums_verdict verdict = judge(m, slot, told, &summary);
	if (isfinite(told->time))
		m->newest[told->part] = fmax(m->newest[told->part], told->time);
	/* One that goes on from an older state counts as silent, so that it is told what is known of it. */
	if (told->own != 0 && verdict != COP_SUMS_OLD)
		note_life(m, told->life, now);
}
