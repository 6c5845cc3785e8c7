/* Arbitrary records, framed with right lengths, numbers and checksums, applied to models as the daemon does at its
 * start. The first byte is how the journal is taken (bit 0: as salvaged) and which model is served. Then each record is
 * a byte of its kind and, either, what is to happen (id, time, loss), from which a right record is made, or a length
 * and as many bytes of a body.
 *
 * What must hold: records that do not fit are refused by file and offset, and with --salvaged passed over; event time
 * stays finite; the same records give the same bytes of state again; and a checkpoint of that state can be read back to
 * the same bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/durable/recovery.h"
#include "daemon/durable/challenger.h"
#include "store/journal_segment.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "tree/tree_build.h"
#include "wire/wire_record.h"

#include "fuzz_settled.h"

#define FEATURES     2
#define BITS         4
#define ARMS         3
#define CANDIDATES   3
#define RECORDS_MOST 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SMALL " height = 1 seed = 1 pending_max = 20 explain_keep = 0 reward_window = \"60s\" }\n"
#define BEGIN "sockets { requests = { \"ipc://r\" } }\nmodel \"m\" { trees = 1 "

/* One of these is served; the challenger's trees fit the first. */
static const struct {
	const char *text;
	bool sparse, values, ranks, observed;
	unsigned losses;
} models[] = {
	{ BEGIN "learner = \"ensemble\" policy = \"epsilon\" arms = 3 features = 2" SMALL, false, false, false, false,
	        1 },
	{ BEGIN "learner = \"ensemble\" arms = 3 features = 0 bits = 4 max_nonzeros = 4 reward = \"sum\""
	        " default_loss = 0.5" SMALL,
	        true, false, false, false, 1 },
	{ BEGIN "learner = \"value\" features = 2 feedback = \"two\"" SMALL, false, true, false, false, 2 },
	{ BEGIN "learner = \"value\" features = 2 feedback = \"one\" reward = \"last\"" SMALL, false, true, false,
	        false, 1 },
	{ BEGIN "learner = \"rank\" features = 2 candidate_features = 2 max_candidates = 3" SMALL, false, false, true,
	        false, 1 },
	{ BEGIN "learner = \"ensemble\" arms = 3 features = 2 apprentice = true" SMALL, false, false, false, true, 1 },
	{ "sockets { requests = { \"ipc://r\" } }\nmodel \"m\" { learner = \"dgt\" arms = 3 features = 2" SMALL, false,
	        false, false, false, 1 },
};
#define MODELS (sizeof models / sizeof *models)

typedef struct input {
	const uint8_t *at, *end;
} input;

static unsigned take(input *in) { return in->at < in->end ? *in->at++ : 0; }

static cop_config *configs[MODELS];
static unsigned model; /* the one that is served */
static uint32_t challenger_crc;
static char state_dir[64], journal[96], segment[160];

/* ---- records ---- */

static cop_bytes ended; /* of the record in hand */

static cop_row row_of(unsigned bits, float value[FEATURES], uint32_t index[FEATURES])
{
	value[0] = (float)(bits & 15) / 4.0f - 2.0f;
	value[1] = bits & 128 ? -1e30f : (float)(bits >> 4);
	index[0] = bits & 7;
	index[1] = 8 + (bits >> 4 & 7);
	if (models[model].sparse)
		return (cop_row){ .d = 1u << BITS, .nnz = FEATURES, .index = index, .value = value };
	return (cop_row){ .d = FEATURES, .dense = value };
}

/* What only some types have. */
static void fill_rest(cop_wire_record *r, cop_wire_record_type type, unsigned flags, bool keeps_x)
{
	r->has_x = type == COP_WIRE_RECORD_DECISION || (type == COP_WIRE_RECORD_FEEDBACK && keeps_x);
	r->defer = (flags & 4) != 0;
	r->values = models[model].values;
	r->u = flags & 64 ? 1 : -1;
	r->greedy = (flags & 16) != 0;
	r->observed = models[model].observed && r->has_x && type <= COP_WIRE_RECORD_FEEDBACK;
	r->own_p = r->observed ? (double)(flags & 3) / 3.0 : 0.0;
	r->predictions = flags % (COP_WIRE_RECORD_PREDICTIONS + 1);
	r->losses = flags & 128 ? 3 - models[model].losses : models[model].losses;
	r->loss[0] = (double)(flags >> 4) / 8.0;
	r->loss[1] = 0.5;
	r->result = (cop_wire_result)(flags % COP_WIRE_RESULT_COUNT);
	r->joined = type == COP_WIRE_RECORD_FEEDBACK && r->has_x && r->result <= COP_WIRE_RECORDED && (flags & 8) != 0;
	r->promotion = (cop_wire_promotion)(flags % COP_WIRE_PROMOTIONS);
	if (r->promotion == COP_WIRE_PROMOTION_CHALLENGE)
		r->count = 1 + (flags >> 7);
	r->crc = flags & 64 ? flags : challenger_crc;
	r->text = flags & 1 ? "no configuration" : models[model].text;
	r->text_length = strlen(r->text);
}

static void put_right(cop_bytes *body, cop_wire_record_type type, input *in, double *now)
{
	static const uint8_t mask[ARMS] = { 1, 1, 0 };
	float value[1 + CANDIDATES][FEATURES];
	uint32_t index[1 + CANDIDATES][FEATURES];
	cop_row candidate[CANDIDATES];
	unsigned which = take(in), id = take(in), step = take(in), flags = take(in), features = take(in);
	bool ranks = models[model].ranks;
	cop_wire_record r = { .model = which % 16 == 15 ? "n" : "m", .model_length = 1 };
	r.time = *now += step & 1 ? 0.25 * step : -0.25 * (step >> 4);
	cop_event_id_from_unsigned(&r.id, id & 15);
	r.a = (id >> 4) % ARMS;
	r.p = which & 128 ? 1e-9 : 0.25;
	r.y = (double)(id >> 4) / 15.0;
	r.rev = id >> 6;
	r.x = row_of(features, value[0], index[0]);
	fill_rest(&r, type, flags, (which & 64) != 0);
	r.arms = ranks ? 1 + which / 16 % CANDIDATES : ARMS;
	r.mask = which & 32 ? mask : NULL;
	for (size_t c = 0; c < CANDIDATES; c++)
		candidate[c] = row_of(features + 17 * (unsigned)c, value[1 + c], index[1 + c]);
	r.candidate = candidate;
	if (ranks && r.has_x)
		r.candidates = type == COP_WIRE_RECORD_DECISION ? r.arms : 1;
	if (type == COP_WIRE_RECORD_CONFIG)
		r.model = NULL;
	if (type != COP_WIRE_RECORD_CONFIG && type != COP_WIRE_RECORD_PROMOTION && type != COP_WIRE_RECORD_UNHEARD)
		r.settled = settled_of(&ended, which & 3, features, flags >> 5, r.losses);
	cop_wire_record_put(body, type, &r);
}

static void put_records(cop_bytes *bytes, input *in)
{
	cop_bytes body;
	double now = 1.0e9;
	cop_bytes_init(&body);
	for (uint64_t sequence = 1; in->at < in->end && sequence <= RECORDS_MOST; sequence++) {
		unsigned kind = take(in);
		unsigned type = 1 + (kind >> 1) % COP_WIRE_RECORD_FORGOTTEN;
		cop_bytes_clear(&body);
		if (kind & 1 && type <= COP_WIRE_RECORD_FORGOTTEN) {
			put_right(&body, (cop_wire_record_type)type, in, &now);
		} else {
			size_t length = take(in);
			length = length < (size_t)(in->end - in->at) ? length : (size_t)(in->end - in->at);
			cop_bytes_put(&body, in->at, length);
			in->at += length;
		}
		cop_journal_record_put(bytes, sequence, (uint8_t)type, body.data, body.length);
	}
	cop_bytes_fini(&body);
}

/* ---- the state folder ---- */

static void write_challenger(void)
{
	static const float w[FEATURES] = { 0.5f, -1.0f }, losses[ARMS + 1] = { 0.25f, 0.75f, 0.5f, 0.25f };
	cop_tree_build *build;
	cop_tree *tree;
	cop_trees *trees;
	cop_bytes body;
	cop_bytes_init(&body);
	COP_ASSERT(cop_tree_build_new(FEATURES, ARMS, COP_TREE_VALUES, &build) == COP_OK);
	int32_t node = cop_tree_build_node(build, w, 0.125f);
	int32_t left = cop_tree_build_constant(build, losses), right = cop_tree_build_constant(build, losses + 1);
	cop_tree_build_children(build, node, left, right);
	COP_ASSERT(cop_tree_build_finish(build, node, &tree) == COP_OK);
	cop_tree_build_free(build);
	COP_ASSERT(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees) == COP_OK);
	size_t file = cop_section_file_begin(&body);
	cop_trees_save(trees, &body);
	cop_section_file_end(&body, file);
	cop_trees_free(trees);
	COP_ASSERT(body.err == COP_OK && cop_challenger_write(state_dir, "m", 1, &body, NULL) == COP_OK);
	COP_ASSERT(cop_challenger_read(state_dir, "m", 1, &trees, &challenger_crc, NULL) == COP_OK);
	cop_trees_free(trees);
	cop_bytes_fini(&body);
}

static void drop_place(void)
{
	char path[160];
	for (size_t i = 0; i < MODELS; i++)
		cop_config_free(configs[i]);
	(void)unlink(segment);
	(void)rmdir(journal);
	(void)snprintf(path, sizeof path, "%s/" COP_STATE_DIR_CHALLENGERS "/refit.m.%020d.checkpoint", state_dir, 1);
	(void)unlink(path);
	(void)snprintf(path, sizeof path, "%s/" COP_STATE_DIR_CHALLENGERS, state_dir);
	(void)rmdir(path);
	(void)rmdir(state_dir);
}

static void prepare(void)
{
	cop_config_report report;
	(void)snprintf(state_dir, sizeof state_dir, "%s/fuzz_recovery_XXXXXX",
	        access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	COP_ASSERT(mkdtemp(state_dir) != NULL);
	(void)snprintf(journal, sizeof journal, "%s/journal", state_dir);
	(void)snprintf(segment, sizeof segment, "%s/%020d.journal", journal, 1);
	COP_ASSERT(mkdir(journal, 0700) == 0);
	cop_config_report_init(&report);
	for (size_t i = 0; i < MODELS; i++) {
		const char *text = models[i].text;
		cop_err err = cop_config_parse(text, strlen(text), "fuzz", NULL, &configs[i], &report);
		for (size_t k = 0; k < report.count; k++)
			(void)fprintf(stderr, "%s\n", report.items[k].message);
		COP_ASSERT(err == COP_OK);
	}
	cop_config_report_fini(&report);
	write_challenger();
	(void)atexit(drop_place);
}

static void write_segment(input *in)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_journal_segment_header_put(&bytes, 1, 0, "", 0);
	put_records(&bytes, in);
	COP_ASSERT(bytes.err == COP_OK);
	FILE *file = fopen(segment, "wb");
	COP_ASSERT(file != NULL && fwrite(bytes.data, 1, bytes.length, file) == bytes.length && fclose(file) == 0);
	cop_bytes_fini(&bytes);
}

/* ---- recovery ---- */

static void save(const cop_model_table *set, cop_bytes *out)
{
	size_t file = cop_section_file_begin(out);
	cop_model_table_save(set, out);
	cop_section_file_end(out, file);
	COP_ASSERT(out->err == COP_OK);
}

/* The state after all records into *out; and what a checkpoint of it is read back to is the same. */
static cop_err recover(bool salvaged, cop_bytes *out)
{
	cop_model_table set, back;
	cop_bytes again;
	cop_diag diag = { .message = "" };
	const cop_checkpoint_mark mark = { 0 };
	cop_recovery recovery = { .state_dir = state_dir, .folder = journal, .salvaged = salvaged };
	COP_ASSERT(cop_model_table_init(&set, configs[model], NULL) == COP_OK);
	cop_err err = cop_recovery_run(&recovery, &set, &mark, &diag);
	COP_ASSERT(isfinite(recovery.time));
	COP_ASSERT(err == COP_OK ||
	           (err == COP_EFORMAT && !salvaged && diag.offset > 0 && strcmp(diag.source, segment) == 0));
	save(&set, out);
	cop_bytes_init(&again);
	COP_ASSERT(cop_model_table_init(&back, configs[model], NULL) == COP_OK);
	cop_err loaded = cop_model_table_load(&back, out, NULL, &diag);
	if (loaded != COP_OK)
		(void)fprintf(stderr, "%s\n", diag.message);
	COP_ASSERT(loaded == COP_OK);
	save(&back, &again);
	COP_ASSERT(again.length == out->length && memcmp(again.data, out->data, out->length) == 0);
	cop_bytes_fini(&again);
	cop_model_table_fini(&back);
	cop_model_table_fini(&set);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input in = { data, data + size };
	cop_bytes first, second;
	if (configs[0] == NULL)
		prepare();
	unsigned how = take(&in);
	bool salvaged = how & 1;
	model = (how >> 1) % MODELS;
	write_segment(&in);
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_err err = recover(salvaged, &first);
	COP_ASSERT(recover(salvaged, &second) == err);
	COP_ASSERT(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	return 0;
}
