/* Arbitrary bytes as a whole checkpoint, three layers deep: the file, the models in it, what each model is made of.
 * Once as they are, and once with every length and checksum set right, so that the parsers behind them are reached. A
 * model that can be loaded must work, and be saved to bytes that load again and are saved the same; with a learner in
 * the shadow also after every change of places. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "learn/footprint.h"
#include "learn/learner.h"
#include "online/model_apprentice.h"
#include "online/model_shadow.h"
#include "store/checkpoint_file.h"
#include "store/section_file.h"

#define CONTAINER    28
#define FILE_HEAD    24
#define SECTION_HEAD 32
#define NAME_MAX_    64
#define AFFORDABLE   ((uint64_t)1 << 17) /* weights of a model that is made here */
#define MOST_BYTES   0x1p25              /* that it takes */
#define ROW_MAX      4096
#define CANDIDATES   2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- setting right ---- */

static void seal_file(uint8_t *data, size_t size, int depth);

/* A model's payload: its name, then a file. */
static void seal_model(uint8_t *payload, size_t length, int depth)
{
	uint32_t name;
	if (length < sizeof name)
		return;
	memcpy(&name, payload, sizeof name);
	if (name <= length - sizeof name)
		seal_file(payload + sizeof name + name, length - sizeof name - name, depth + 1);
}

static void seal_file(uint8_t *data, size_t size, int depth)
{
	uint64_t length = size;
	uint32_t count = 0;
	if (size < FILE_HEAD || depth > 1)
		return;
	for (size_t at = FILE_HEAD; size - at >= SECTION_HEAD; at += SECTION_HEAD + (size_t)length) {
		memcpy(&length, data + at + 20, sizeof length);
		if (length > size - at - SECTION_HEAD) { /* the last one takes the rest */
			length = size - at - SECTION_HEAD;
			memcpy(data + at + 20, &length, sizeof length);
		}
		if (memcmp(data + at, "model", 6) == 0)
			seal_model(data + at + SECTION_HEAD, (size_t)length, depth);
		uint32_t crc = cop_crc32c(0, data + at, SECTION_HEAD - 4);
		crc = cop_crc32c(crc, data + at + SECTION_HEAD, (size_t)length);
		memcpy(data + at + SECTION_HEAD - 4, &crc, sizeof crc);
		count++;
	}
	length = size;
	memcpy(data, "COPF\1\0\0\0", 8);
	memcpy(data + 8, &length, sizeof length);
	memcpy(data + 16, &count, sizeof count);
	uint32_t crc = cop_crc32c(0, data, FILE_HEAD - 4);
	memcpy(data + FILE_HEAD - 4, &crc, sizeof crc);
}

static void seal_container(uint8_t *data, size_t size)
{
	if (size < CONTAINER)
		return;
	uint64_t length = size - CONTAINER;
	seal_file(data + CONTAINER, (size_t)length, 0);
	memcpy(data, "COPCHECK\1\0\0\0", 12);
	uint32_t crc = cop_crc32c(0, data, 12);
	memcpy(data + 12, &crc, sizeof crc);
	memcpy(data + 16, &length, sizeof length);
	crc = cop_crc32c(cop_crc32c(0, &length, sizeof length), data + CONTAINER, (size_t)length);
	memcpy(data + 24, &crc, sizeof crc);
}

/* ---- using ---- */

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t out;
	return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

/* Hostile settings may ask for more than a fuzzer has the time for; the limits themselves are the configuration's. */
static bool affordable(const cop_model_settings *s)
{
	const cop_learner_settings *l = &s->learner;
	uint64_t d = l->features != 0 ? l->features : (uint64_t)1 << (l->bits < 30 ? l->bits : 30);
	uint64_t arms = l->arms != 0 ? l->arms : 1;
	if (strcmp(l->learner, "rank") == 0) /* leaves have a value for each feature of a candidate */
		arms = l->features != 0 ? l->candidate_features : d;
	uint64_t trees = l->trees == COP_LEARNER_DEFAULT_TREES ? 8 : l->trees + 1;
	uint64_t nodes = (uint64_t)1 << (l->height != 0 && l->height < 13 ? l->height : 6);
	bool valid = l->arms > 0 && d <= ROW_MAX && l->bits <= COP_LEARNER_MAX_BITS &&
	             l->height <= COP_LEARNER_MAX_HEIGHT && trees <= COP_LEARNER_MAX_TREES + 1;
	bool light = strcmp(l->learner, "ensemble") != 0 || !valid || cop_footprint(l, 0) <= MOST_BYTES;
	return d <= ROW_MAX && arms <= ROW_MAX && l->max_nonzeros <= ROW_MAX &&
	       product(product(trees, nodes), d + arms) <= AFFORDABLE && product(d, arms) <= AFFORDABLE && light;
}

static void check_decision(const cop_model *model, const cop_decision *d)
{
	const cop_learner_settings *l = &cop_model_get_settings(model)->learner;
	if (strcmp(l->learner, "rank") == 0) {
		COP_ASSERT(d->arm < CANDIDATES && d->p > 0.0 && d->p <= 1.0);
		return;
	}
	COP_ASSERT(l->arms != 0 ? d->arm < l->arms && d->p > 0.0 && d->p <= 1.0 : isfinite(d->y));
}

static void check_same(const cop_model *model)
{
	cop_bytes first, second;
	cop_model *copy = NULL;
	cop_model_settings settings;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	size_t mark = cop_section_file_begin(&first);
	cop_model_save(model, &first);
	cop_section_file_end(&first, mark);
	COP_ASSERT(first.err == COP_OK && cop_model_peek(first.data, first.length, &settings, NULL) == COP_OK);
	COP_ASSERT(cop_model_new(&settings, &copy, NULL) == COP_OK);
	COP_ASSERT(cop_model_load(copy, first.data, first.length, NULL) == COP_OK);
	mark = cop_section_file_begin(&second);
	cop_model_save(copy, &second);
	cop_section_file_end(&second, mark);
	COP_ASSERT(second.err == COP_OK && second.length == first.length);
	COP_ASSERT(memcmp(first.data, second.data, first.length) == 0);
	cop_model_free(copy);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static cop_err observe(cop_model *model, const cop_model_context *context, double now, cop_decision *decision)
{
	bool repeated;
	cop_model_observed made = { .decision = { .p = 0.25 } };
	cop_apprentice_summary is;
	cop_err err = cop_model_observe(model, context, now, &made, &repeated);
	*decision = made.decision;
	cop_model_get_apprentice(model, &is);
	COP_ASSERT(err != COP_OK || (made.own_p >= 0.0 && made.own_p <= 1.0 && is.agreed <= is.observed));
	return err;
}

static void use(cop_model *model)
{
	static float dense[ROW_MAX];
	static const uint32_t index = 0;
	static const float value = 0.5f;
	const cop_model_settings *s = cop_model_get_settings(model);
	cop_row x = { .d = cop_learner_dimension(&s->learner), .nnz = 1, .index = &index, .value = &value };
	if (s->learner.features != 0)
		x = (cop_row){ .d = s->learner.features, .dense = dense };
	const double loss[2] = { s->loss_low, s->loss_high };
	bool ranks = cop_model_learner(model)->class->candidates;
	size_t losses = cop_learner_losses(&s->learner);
	cop_row candidate[CANDIDATES];
	for (size_t i = 0; i < CANDIDATES; i++)
		candidate[i] = x;
	if (s->learner.features != 0)
		candidate[0].d = candidate[1].d = s->learner.candidate_features;
	for (uint64_t i = 0; i < 4; i++) {
		cop_event_id id;
		cop_decision decision;
		const cop_explanation *why;
		cop_feedback_result result;
		bool repeated, kept;
		double now = 1e9 + (double)i;
		cop_event_id_from_unsigned(&id, i);
		cop_model_context context = { .id = &id, .x = &x, .defer = i == 3 };
		if (ranks) {
			context.candidate = candidate;
			context.candidates = 1 + i % CANDIDATES;
		}
		if (i % 2 == 0 || (s->learner.arms == 0 && !ranks)) {
			if (cop_model_decide(model, &context, now, &decision, &repeated) != COP_OK)
				return;
		} else if (observe(model, &context, now, &decision) != COP_OK) {
			return;
		}
		check_decision(model, &decision);
		(void)!cop_model_explain(model, &id, &decision, &why, &kept);
		if (i != 2)
			(void)!cop_model_feedback(model, &id, loss, losses, now, &result);
	}
	check_same(model);
	(void)cop_model_expire(model, 1e15, 64);
}

static void check_evidence(const cop_model *model)
{
	cop_model_evidence is;
	cop_model_get_evidence(model, &is);
	const cop_promotion_test_summary *s = &is.summary;
	COP_ASSERT(cop_model_verdict(model) == (is.shadow ? s->verdict : COP_PROMOTION_TEST_OPEN));
	for (size_t i = 0; i < COP_PROMOTION_TEST_ESTIMATORS && s->events > 0; i++)
		COP_ASSERT(s->low[i] >= -1.0 && s->high[i] <= 1.0 && !isnan(s->low[i]) && !isnan(s->high[i]));
}

/* All that may become of a second learner, with events between. */
static void succeed(cop_model *model)
{
	check_evidence(model);
	cop_model_freeze(model, false);
	use(model);
	cop_err promoted = cop_model_promote(model);
	cop_err back = promoted == COP_OK ? COP_OK : cop_model_rollback(model);
	check_evidence(model);
	if (promoted == COP_OK || back == COP_OK)
		use(model);
	if (cop_model_retire(model) == COP_OK)
		use(model);
	COP_ASSERT(cop_model_promote(model) == COP_ENOTFOUND && cop_model_rollback(model) == COP_ENOTFOUND);
}

static void try_model(const uint8_t *data, size_t size)
{
	cop_model_settings settings;
	cop_model *model;
	cop_diag diag = { .message = "" };
	if (cop_model_peek(data, size, &settings, &diag) != COP_OK) {
		COP_ASSERT(diag.message[0] != '\0');
		return;
	}
	if (settings.explain_keep > 2)
		settings.explain_keep = 2; /* it is no part of what is loaded, and takes time to make */
	if (!affordable(&settings) || cop_model_new(&settings, &model, &diag) != COP_OK)
		return;
	if (cop_model_load(model, data, size, &diag) == COP_OK) {
		check_same(model);
		use(model);
		succeed(model);
	} else {
		COP_ASSERT(diag.message[0] != '\0');
	}
	cop_model_free(model);
}

static void try_body(const uint8_t *data, size_t size)
{
	cop_section_file file;
	cop_model_section section;
	size_t at = 0;
	if (cop_section_file_open(&file, data, size, NULL, NULL) != COP_OK)
		return;
	while (cop_section_file_next(&file, &at, &section)) {
		char name[NAME_MAX_ + 1];
		cop_cursor cursor;
		cop_cursor_init(&cursor, section.data, section.length);
		cop_cursor_text(&cursor, name, sizeof name);
		if (strcmp(section.name, "model") != 0 || cursor.err != COP_OK)
			continue;
		size_t left = cop_cursor_left(&cursor);
		try_model(cop_cursor_take(&cursor, left), left);
	}
}

static const char *place(void)
{
	static char path[64];
	if (path[0] == '\0')
		(void)snprintf(path, sizeof path, "%s/fuzz_checkpoint.%ld",
		        access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
	return path;
}

static void drop_place(void) { (void)unlink(place()); }

static void try_container(const uint8_t *data, size_t size)
{
	cop_bytes body;
	cop_diag diag = { .message = "" };
	FILE *file = fopen(place(), "wb");
	COP_ASSERT(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
	cop_bytes_init(&body);
	if (cop_checkpoint_read(place(), &body, &diag) == COP_OK)
		try_body(body.data, body.length);
	else
		COP_ASSERT(diag.message[0] != '\0' && body.length == 0);
	cop_bytes_fini(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int registered;
	if (!registered)
		registered = 1 + atexit(drop_place);
	try_container(data, size);
	uint8_t *copy = malloc(size == 0 ? 1 : size);
	if (copy != NULL && size >= CONTAINER) {
		memcpy(copy, data, size);
		seal_container(copy, size);
		try_container(copy, size);
	}
	free(copy);
	return 0;
}
