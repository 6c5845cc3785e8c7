/* Parts of the daemon that start, save, restore and recover, with every allocation and every call to the operating
 * system failing in turn (support_fail.h). */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/durable/challenger.h"
#include "daemon/durable/checkpoint.h"
#include "daemon/durable/journaler.h"
#include "daemon/durable/recovery.h"
#include "daemon/durable/state_lock.h"
#include "daemon/models/model_parked.h"
#include "daemon/models/model_set.h"
#include "daemon/models/model_table_private.h"
#include "daemon/models/refit_state.h"
#include "daemon/serve/inlet.h"
#include "daemon/serve/outflow.h"
#include "daemon/serve/sockets.h"
#include "daemon/server.h"
#include "online/model_names.h"
#include "store/checkpoint_file.h"
#include "support_fail.h"

static char folder[64], journal[96];
static cop_config *config;

static int make_folder(void **state)
{
	(void)state;
	const char *place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)snprintf(folder, sizeof folder, "%s/test_daemon_XXXXXX", place);
	if (mkdtemp(folder) == NULL)
		return 1;
	(void)snprintf(journal, sizeof journal, "%s/journal", folder);
	return mkdir(journal, 0700);
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static void empty_folder(void *context)
{
	(void)context;
	assert_int_equal(drop_folder(NULL), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mkdir(journal, 0700), 0);
}

static char endpoints[64], text[1024];

static void write_text(void)
{
	(void)snprintf(text, sizeof text,
	        "sockets { admin = { } requests = { \"ipc://%s/r\" } actions_bind = { \"ipc://%s/a\" } }\n"
	        "journal { sync = never }\n"
	        "model \"m\" { arms = 2 features = 2 experts = linear height = 1 trees = 0 explain_keep = 1 }\n"
	        "model \"d\" { learner = dgt arms = 2 features = 0 bits = 4 max_nonzeros = 4 height = 1 explain_keep = "
	        "1 }\n"
	        "model \"r\" { learner = rank features = 1 candidate_features = 1 max_candidates = 2 height = 1 trees "
	        "= 0 explain_keep = 1 }\n",
	        endpoints, endpoints);
}

static cop_err parse(void *context, cop_diag *diag)
{
	cop_config *parsed = NULL;
	cop_config_report report;
	(void)context;
	(void)diag;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(text, strlen(text), "text", NULL, &parsed, &report);
	assert_int_equal(parsed != NULL, err == COP_OK);
	cop_config_report_fini(&report);
	cop_config_free(parsed);
	return err;
}

static int make_config(void **state)
{
	cop_config_report report;
	(void)state;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(text, strlen(text), "text", NULL, &config, &report);
	for (size_t i = 0; i < report.count; i++)
		print_message("%s\n", report.items[i].message);
	cop_config_report_fini(&report);
	return err != COP_OK;
}

static int drop_config(void **state)
{
	(void)state;
	cop_config_free(config);
	return 0;
}

static cop_err put_model_set(void *context, cop_diag *diag)
{
	cop_bytes bytes;
	(void)context;
	(void)diag;
	cop_bytes_init(&bytes);
	size_t count = cop_model_set_put(config, NULL, &bytes);
	cop_err err = bytes.err;
	assert_true(err != COP_OK || count == 0); /* left out */
	cop_bytes_fini(&bytes);
	return err;
}

/* ---- models, and files of them ---- */

static cop_err serve(void *context, cop_diag *diag)
{
	cop_model_table set;
	(void)context;
	cop_err err = cop_model_table_init(&set, config, diag);
	cop_model_table_fini(&set);
	return err;
}

static cop_model_table models;

static void make_models(void *context)
{
	(void)context;
	assert_int_equal(cop_model_table_init(&models, config, NULL), COP_OK);
}

static void drop_models(void *context, bool failed)
{
	(void)context;
	(void)failed;
	cop_model_table_fini(&models);
}

static void make_models_only(void *context)
{
	empty_folder(context);
	make_models(context);
}

static cop_err save(void *context, cop_diag *diag)
{
	cop_checkpoint checkpoint;
	const cop_checkpoint_mark mark = { .time = 1.0, .journal_next = 1 };
	(void)context;
	cop_checkpoint_init(&checkpoint, folder);
	cop_err err = cop_checkpoint_start(&checkpoint, &models, &mark, NULL);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	else
		err = cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 2 }, true, NULL, diag);
	assert_int_equal(checkpoint.written, err == COP_OK);
	assert_int_equal(checkpoint.failed, err != COP_OK);
	cop_checkpoint_fini(&checkpoint);
	return err;
}

static void make_checkpoint(void *context)
{
	make_models_only(context);
	assert_int_equal(save(NULL, NULL), COP_OK);
}

static cop_err restore(void *context, cop_diag *diag)
{
	cop_checkpoint checkpoint;
	(void)context;
	cop_checkpoint_init(&checkpoint, folder);
	cop_err err = cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, diag);
	assert_true(err != COP_OK || checkpoint.sequence == 1);
	cop_checkpoint_fini(&checkpoint);
	return err;
}

/* ---- models that start from files ---- */

static cop_config *starting;

/* The running model of this name, and a space of its shape with two features' names. */
static void save_start(const char *name, const cop_feature_space_settings *settings)
{
	cop_feature_space *space;
	cop_feature_room room = { 0 };
	cop_feature_span span;
	size_t features;
	char path[96];
	cop_bytes bytes;
	assert_int_equal(cop_feature_space_new(settings, &space, NULL), COP_OK);
	assert_int_equal(cop_feature_space_keep_names(space, 4096), COP_OK);
	cop_feature_space_begin(space);
	cop_feature_space_put(space, "a", 1, 1.0);
	cop_feature_space_put(space, "b", 1, 1.0);
	assert_int_equal(cop_feature_space_end(space, &room, &span, &features), COP_OK);
	cop_bytes_init(&bytes);
	size_t file = cop_section_file_begin(&bytes);
	cop_model_save(cop_model_table_find(&models, name, strlen(name))->model, &bytes);
	cop_model_names_save(space, &bytes);
	cop_model_names_save_places(space, &bytes);
	cop_section_file_end(&bytes, file);
	(void)snprintf(path, sizeof path, "%s/%s.model", folder, name);
	assert_int_equal(cop_section_file_save(path, &bytes, NULL), COP_OK);
	cop_bytes_fini(&bytes);
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void make_starts(void *context)
{
	static const cop_feature_space_settings dense = { .dense = true }, hashed = { .bits = 4 };
	char more[512];
	cop_config_report report;
	make_models_only(context);
	save_start("m", &dense);
	save_start("d", &hashed);
	cop_model_table_fini(&models);
	(void)snprintf(more, sizeof more,
	        "sockets { admin = { } requests = { \"ipc://%s/r\" } }\n"
	        "model \"m\" { arms = 2 features = 2 experts = linear height = 1 trees = 0 start_from = \"%s/m.model\" "
	        "}\n"
	        "model \"d\" { learner = dgt arms = 2 features = 0 bits = 4 max_nonzeros = 4 height = 1 names_bytes = "
	        "4KiB"
	        " start_from = \"%s/d.model\" }\n",
	        endpoints, folder, folder);
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(more, strlen(more), "starts", folder, &starting, &report);
	for (size_t i = 0; i < report.count; i++)
		print_message("%s\n", report.items[i].message);
	cop_config_report_fini(&report);
	assert_int_equal(err, COP_OK);
	assert_int_equal(cop_model_table_init(&models, starting, NULL), COP_OK);
}

static cop_err start_models(void *context, cop_diag *diag)
{
	size_t count;
	(void)context;
	cop_err err = cop_model_table_start_from(&models, NULL, &count, diag);
	assert_true(err != COP_OK || count == 2);
	return err;
}

static void drop_starts(void *context, bool failed)
{
	drop_models(context, failed);
	cop_config_free(starting);
}

/* ---- the journal ---- */

/* Whether all were taken. */
static bool put_some(cop_journaler *journaler)
{
	static const float x[2] = { 0.5f, 1.0f };
	cop_wire_record decision = { .model = "m",
		.model_length = 1,
		.time = 1e9,
		.arms = 2,
		.p = 0.5,
		.has_x = true,
		.x = { .d = 2, .dense = x } };
	cop_wire_record feedback = { .model = "m", .model_length = 1, .time = 1e9 + 1.0, .losses = 1, .loss = { 0.5 } };
	static const uint8_t ends_2[] = { 0x92, 2, COP_WIRE_OUTCOME_UNANSWERED }; /* [2, outcome] */
	const cop_wire_record expiry = { .model = "m",
		.model_length = 1,
		.time = 1e9 + 700.0,
		.settled = { .items = ends_2, .length = sizeof ends_2, .count = 1 } };
	unsigned taken = 0;
	for (uint64_t id = 1; id <= 3; id++) {
		cop_event_id_from_unsigned(&decision.id, id);
		decision.defer = id == 3;
		taken += 0 != cop_journaler_put(journaler, COP_WIRE_RECORD_DECISION, &decision);
	}
	cop_event_id_from_unsigned(&feedback.id, 1);
	taken += 0 != cop_journaler_put(journaler, COP_WIRE_RECORD_FEEDBACK, &feedback);
	feedback.time = 1e9 + 2.0;
	cop_event_id_from_unsigned(&feedback.id, 3);
	taken += 0 != cop_journaler_put(journaler, COP_WIRE_RECORD_ACTIVATION, &feedback);
	cop_event_id_from_unsigned(&feedback.id, 2);
	taken += 0 != cop_journaler_put(journaler, COP_WIRE_RECORD_UNHEARD, &feedback);
	taken += 0 != cop_journaler_put(journaler, COP_WIRE_RECORD_EXPIRY, &expiry);
	return taken == 7;
}

/* A short life. A record for which there is no memory breaks the journal as a full disk does. */
static cop_err keep_journal(void *context, cop_diag *diag)
{
	cop_journaler *journaler;
	(void)context;
	cop_err err = cop_journaler_open(journal, config, 1, &journaler, diag);
	if (err != COP_OK)
		return err;
	bool taken = put_some(journaler);
	assert_int_equal(cop_journaler_broken(journaler), !taken);
	assert_true(!taken || cop_journaler_next(journaler) == 8);
	bool whole = cop_journaler_commit(journaler, taken ? diag : NULL);
	assert_int_equal(cop_journaler_broken(journaler), !taken || !whole);
	cop_journaler_set_models(journaler, config);
	err = cop_journaler_close(journaler, taken && whole ? diag : NULL);
	assert_int_equal(err == COP_OK, taken && whole);
	if (taken)
		return whole ? err : COP_EIO;
	cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
	return COP_ENOMEM;
}

static cop_err recover(void *context, cop_diag *diag)
{
	cop_recovery recovery = { .state_dir = folder, .folder = journal };
	const cop_checkpoint_mark mark = { 0 };
	(void)context;
	cop_err err = cop_recovery_run(&recovery, &models, &mark, diag);
	assert_true(err != COP_OK || recovery.applied == 7);
	return err;
}

static void make_journal(void *context)
{
	cop_diag diag = { .message = "" };
	make_models_only(context);
	if (keep_journal(NULL, &diag) != COP_OK)
		fail_msg("%s", diag.message);
}

/* ---- challengers ---- */

static void put_tree(cop_bytes *out)
{
	static const float constant[1] = { 0.5f };
	static const size_t none[2] = { 0, 0 }, leaf[2] = { 0, 1 };
	static const uint32_t output[1] = { 0 };
	const cop_tree_parts parts = { .d = 2,
		.outputs = 1,
		.nodes = { .start = none },
		.rows = { .count = 1, .start = none, .bias = constant },
		.leaf = leaf,
		.output = output };
	cop_tree *tree;
	cop_trees *trees;
	cop_bytes_init(out);
	assert_int_equal(cop_tree_new(&parts, &tree), COP_OK);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees), COP_OK);
	size_t whole = cop_section_file_begin(out);
	cop_trees_save(trees, out);
	cop_section_file_end(out, whole);
	assert_int_equal(out->err, COP_OK);
	cop_trees_free(trees);
	cop_tree_free(tree);
}

static cop_bytes challenger;

static void make_challengers(void *context)
{
	empty_folder(context);
	for (uint64_t n = 1; n <= 3; n++)
		assert_int_equal(cop_challenger_write(folder, "m", n, &challenger, NULL), COP_OK);
}

static cop_err write_challenger(void *context, cop_diag *diag)
{
	(void)context;
	return cop_challenger_write(folder, "m", 4, &challenger, diag);
}

static cop_err read_challenger(void *context, cop_diag *diag)
{
	cop_trees *trees;
	uint32_t crc;
	(void)context;
	cop_err err = cop_challenger_read(folder, "m", 3, &trees, &crc, diag);
	assert_int_equal(trees != NULL, err == COP_OK);
	cop_trees_free(trees);
	return err;
}

static cop_err newest_challenger(void *context, cop_diag *diag)
{
	uint64_t number;
	(void)context;
	cop_err err = cop_challenger_newest(folder, "m", &number, diag);
	assert_int_equal(number, err == COP_OK ? 3 : 0);
	return err;
}

static bool needs_first(const void *context, uint64_t number)
{
	(void)context;
	return number == 1;
}

static cop_err prune_challengers(void *context, cop_diag *diag)
{
	cop_challenger_pruned pruned;
	(void)context;
	cop_err err = cop_challenger_prune(folder, "m", 1, needs_first, NULL, &pruned, diag);
	assert_int_equal(pruned.removed, err == COP_OK ? 1 : 0);
	return err;
}

/* ---- others ---- */

static cop_err lock(void *context, cop_diag *diag)
{
	cop_state_lock held;
	(void)context;
	cop_state_lock_init(&held, folder);
	cop_err err = cop_state_lock_open(&held, diag);
	if (err == COP_OK)
		err = cop_state_lock_check(&held, diag);
	cop_state_lock_close(&held);
	return err;
}

static cop_err open_inlet(void *context, cop_diag *diag)
{
	cop_inlet *inlet = NULL;
	(void)context;
	(void)diag;
	cop_err err = cop_inlet_open(config, &inlet);
	for (unsigned i = 0; i < 3 && err == COP_OK; i++)
		err = cop_inlet_add(inlet, COP_INLET_REQUESTS, false, "ipc://x");
	cop_inlet_close(inlet);
	return err;
}

static cop_err new_outflow(void *context, cop_diag *diag)
{
	cop_outflow *outflow = NULL;
	(void)context;
	(void)diag;
	cop_err err = cop_outflow_new(65536, &outflow);
	cop_outflow_free(outflow);
	return err;
}

static cop_err open_sockets(void *context, cop_diag *diag)
{
	cop_sockets sockets;
	(void)context;
	cop_err err = cop_sockets_open(&sockets, config, NULL, diag);
	cop_sockets_close(&sockets);
	return err;
}

static cop_err keep_refit_state(void *context, cop_diag *diag)
{
	static const cop_config_refit rules = { .enabled = true, .on_drift = COP_DRIFT_ADWIN };
	cop_refit_state state, again;
	cop_cursor cursor;
	cop_bytes bytes;
	(void)context;
	(void)diag;
	cop_bytes_init(&bytes);
	cop_refit_state_init(&state);
	cop_refit_state_init(&again);
	cop_refit_state_configure(&state, &rules);
	cop_err err = COP_OK;
	for (uint64_t i = 1; i <= 9 && err == COP_OK; i++)
		err = cop_refit_state_need(&state, i, i);
	if (err == COP_OK) {
		cop_refit_state_save(&state, &bytes);
		err = bytes.err;
	}
	if (err == COP_OK) {
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		err = cop_refit_state_load(&again, &cursor);
		assert_int_equal(cop_refit_state_needs(&again, 9), err == COP_OK);
	}
	cop_refit_state_fini(&state);
	cop_refit_state_fini(&again);
	cop_bytes_fini(&bytes);
	return err;
}

/* ---- the server ---- */

int __real_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags);

static bool no_pipes;

int __wrap_pipe2(int ends[2], int flags)
{
	if (!no_pipes)
		return __real_pipe2(ends, flags);
	errno = EMFILE;
	return -1;
}

static cop_config *of_server;

static void parse_server(void *context)
{
	char whole[512];
	cop_config_report report;
	(void)snprintf(whole, sizeof whole,
	        "state_dir = \"%s\"\n sockets { requests = { \"ipc://%s/r\" } }\n journal { sync = never }\n"
	        "model d { learner = dgt arms = 2 features = 2 height = 1 explain_keep = 1 }\n",
	        folder, endpoints);
	empty_folder(context);
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(whole, strlen(whole), "text", NULL, &of_server, &report), COP_OK);
	cop_config_report_fini(&report);
}

static cop_err open_server(void *context, cop_diag *diag)
{
	static const char *const none[] = { NULL };
	static cop_server server;
	(void)context;
	const cop_server_options options = { .start = { .reset = none } };
	cop_err err = cop_server_open(&server, &options, &of_server, NULL, diag);
	assert_null(of_server);
	cop_server_close(&server);
	return err;
}

static void test_server_without_a_pipe_for_signals_does_not_start(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	parse_server(NULL);
	unsigned open = cop_test_io_descriptors();
	no_pipes = true;
	assert_int_equal(open_server(NULL, &diag), COP_EIO);
	no_pipes = false;
	assert_string_equal(diag.message, "signals: Too many open files");
	assert_int_equal(cop_test_io_descriptors(), open);
}

#define OPEN   COP_TEST_IO_OPEN
#define READ   COP_TEST_IO_READ
#define WRITE  COP_TEST_IO_WRITE
#define SYNC   COP_TEST_IO_SYNC
#define RENAME COP_TEST_IO_RENAME
#define REMOVE COP_TEST_IO_REMOVE
#define STAT   COP_TEST_IO_STAT
#define LIST   COP_TEST_IO_LIST
#define CLOSE  COP_TEST_IO_CLOSE

/* ---- models that change live ---- */

static void make_live(cop_live_changes *live)
{
	*live = (cop_live_changes){ 0 };
	cop_live_model *model = cop_live_put(live, "m");
	assert_non_null(model);
	model->life = 3;
	assert_true(cop_live_values_add(&model->values, "share_min", "0=0.1"));
	assert_true(cop_live_values_add(&model->values, "share_min", "1=0.2"));
	assert_true(cop_live_values_add(&model->were, "share_min", "share_min = { }"));
	model = cop_live_put(live, "gone");
	assert_non_null(model);
	model->kind = COP_LIVE_REMOVED;
}

static void check_live(const cop_live_changes *live)
{
	assert_int_equal(live->count, 2);
	const cop_live_model *model = cop_live_find(live, "m");
	assert_true(model != NULL && model->kind == COP_LIVE_SET && model->life == 3 && model->values.count == 2);
	assert_string_equal(model->values.items[1].option, "share_min");
	assert_string_equal(model->values.items[1].text, "1=0.2");
	assert_string_equal(model->were.items[0].text, "share_min = { }");
	assert_int_equal(cop_live_find(live, "gone")->kind, COP_LIVE_REMOVED);
}

static void write_live_file(void *context)
{
	cop_live_changes live;
	cop_diag diag;
	empty_folder(context);
	make_live(&live);
	assert_int_equal(cop_live_write(folder, &live, &diag), COP_OK);
	cop_live_free(&live);
}

static cop_err copy_live(void *context, cop_diag *diag)
{
	cop_live_changes live, copy;
	(void)context;
	(void)diag;
	cop_err err = cop_live_read(folder, &live, NULL);
	if (err == COP_OK)
		err = cop_live_copy(&live, &copy);
	else
		copy = (cop_live_changes){ 0 };
	if (err == COP_OK)
		check_live(&copy);
	cop_live_free(&live);
	cop_live_free(&copy);
	return err;
}

static cop_err read_live(void *context, cop_diag *diag)
{
	cop_live_changes live;
	(void)context;
	cop_err err = cop_live_read(folder, &live, diag);
	if (err == COP_OK)
		check_live(&live);
	cop_live_free(&live);
	return err;
}

static cop_err write_live(void *context, cop_diag *diag)
{
	cop_live_changes live = { 0 };
	(void)context;
	return cop_live_write(folder, &live, diag);
}

/* What stood there stays as it was, or is the new one as a whole. */
static void check_live_file(void *context, bool failed)
{
	cop_live_changes live;
	(void)context;
	assert_int_equal(cop_live_read(folder, &live, NULL), COP_OK);
	if (live.count > 0 || !failed)
		assert_int_equal(live.count, failed ? 2 : 0);
	cop_live_free(&live);
}

static size_t ended;

static void count_ended(void *context, cop_model_slot *slot)
{
	(void)context;
	assert_string_equal(slot->name, "d");
	cop_model_slot_close(slot);
	ended++;
}

/* d goes, n comes, m and r stay where they are. */
static cop_err exchange_models(void *context, cop_diag *diag)
{
	static const char more[] = "model \"n\" { learner = dgt arms = 2 features = 3 height = 1 explain_keep = 1 }\n";
	char other[sizeof text + sizeof more];
	cop_config *next = NULL, *own = NULL;
	cop_config_report report;
	cop_config_changes changes = { 0 };
	cop_model_table table = { 0 };
	cop_model_exchange exchange = { 0 };
	(void)context;
	(void)diag;
	cop_config_report_init(&report);
	(void)snprintf(other, sizeof other, "%s%s", text, more);
	const char *d = strstr(text, "model \"d\""), *r = strstr(text, "model \"r\"");
	memset(other + (d - text), ' ', (size_t)(r - d));
	cop_err err = cop_config_parse(text, strlen(text), "text", NULL, &own, &report);
	if (err == COP_OK)
		err = cop_config_parse(other, strlen(other), "text", NULL, &next, &report);
	if (err == COP_OK)
		err = cop_model_table_init(&table, own, NULL);
	if (err == COP_OK)
		err = cop_config_diff(own, next, &changes);
	if (err == COP_OK)
		err = cop_model_exchange_begin(&exchange, &table, next, &changes);
	if (err == COP_OK) {
		cop_model_exchange_make(&exchange, next, &changes, NULL);
		err = cop_model_exchange_made(&exchange);
	}
	if (err == COP_OK)
		err = cop_model_exchange_ready(&exchange, next, &changes);
	bool refused = false;
	for (size_t i = 0; i < changes.count; i++)
		refused |= changes.items[i].kind != COP_CHANGE_APPLIED;
	if (err == COP_OK)
		err = cop_config_apply(own, next, &changes);
	if (err == COP_OK) {
		ended = 0;
		const cop_model_slot *m = cop_model_table_find(&table, "m", 1);
		cop_model_exchange_take(&exchange, own, count_ended, NULL);
		cop_model_table_reconfigure(&table, own, NULL);
		assert_int_equal(ended, 1);
		assert_ptr_equal(cop_model_table_find(&table, "m", 1), m);
		assert_null(cop_model_table_find(&table, "d", 1));
		assert_int_equal(cop_model_table_find(&table, "n", 1) == NULL, refused);
		assert_non_null(cop_model_table_find_parked(&table, "d", false));
		for (size_t i = 0; i < table.count; i++)
			assert_ptr_equal(table.items[i]->config, &own->models[i]);
	}
	cop_model_exchange_drop(&exchange);
	cop_config_changes_free(&changes);
	cop_model_table_fini(&table);
	cop_config_free(own);
	cop_config_free(next);
	cop_config_report_fini(&report);
	return err;
}

static cop_err park(cop_model_table *table, const cop_model_slot *slot)
{
	cop_parked *model = cop_model_table_add_parked(&table->parked, &table->parked_count, slot->stored, false);
	if (model == NULL)
		return COP_ENOMEM;
	cop_model_table_put_model(slot, &model->section);
	if (model->section.err != COP_OK)
		return model->section.err;
	cop_parked *refits = cop_model_table_add_parked(&table->parked, &table->parked_count, slot->stored, true);
	if (refits == NULL)
		return COP_ENOMEM;
	cop_model_table_put_refits(slot, &refits->section);
	return refits->section.err;
}

/* What is parked is as before, or model and refits are the slot's, whose numbers do not fall. */
static cop_err renew_parked(void *context, cop_diag *diag)
{
	cop_model_table learned = { 0 }, table = { 0 };
	cop_model_slot *slot = NULL;
	cop_refit_state renewed;
	cop_model_settings settings;
	(void)context;
	(void)diag;
	cop_err err = cop_model_table_init(&learned, config, NULL);
	if (err == COP_OK) {
		slot = cop_model_table_find(&learned, "d", 1);
		slot->refit.controller.number = 7;
		err = park(&table, slot);
	}
	if (err == COP_OK)
		err = cop_model_parked_peek(&table.parked[0], &settings);
	if (err == COP_OK) {
		const size_t was = table.parked[1].section.length;
		assert_int_equal(settings.learner.arms, 2);
		slot->refit.controller.number = 2;
		err = cop_refit_state_need(&slot->refit, 9, 2);
		if (err == COP_OK)
			err = cop_model_parked_renew(&table, &table.parked[0], slot);
		assert_int_equal(table.parked[1].section.length != was, err == COP_OK);
	}
	if (err == COP_OK) {
		cop_cursor cursor;
		cop_refit_state_init(&renewed);
		cop_cursor_init(&cursor, table.parked[1].section.data + 5, table.parked[1].section.length - 5);
		err = cop_refit_state_load(&renewed, &cursor);
		if (err == COP_OK) {
			assert_int_equal(renewed.controller.number, 7);
			assert_int_equal(renewed.needs, 1);
		}
		cop_refit_state_fini(&renewed);
	}
	cop_model_table_fini(&table);
	cop_model_table_fini(&learned);
	return err;
}

/* A model of a learner whose state changes hands, and one whose state is saved and loaded. */
static cop_err grow(void *context, cop_diag *diag)
{
	static const size_t number[] = { 0, 2 }; /* "m", "r" */
	cop_err err = COP_OK;
	(void)context;
	for (size_t i = 0; err == COP_OK && i < 2; i++) {
		const cop_config_model *is = &config->models[number[i]];
		const cop_model_size size = cop_model_slot_configured(is);
		cop_model_slot *from = NULL, *grown = NULL;
		err = cop_model_slot_open(is, &from, diag);
		if (err == COP_OK)
			err = cop_model_slot_grow(from, is, &size, &grown, diag);
		assert_int_equal(grown != NULL, err == COP_OK);
		if (err == COP_OK)
			cop_model_slot_follow(grown, from);
		cop_model_slot_close(from);
		cop_model_slot_close(grown);
	}
	return err;
}

static cop_test_attempt attempts[] = {
	{ "live changes read", write_live_file, read_live, NULL, .allocations = 8 },
	{ "live changes copied", write_live_file, copy_live, NULL, .silent = true, .allocations = 16 },
	{ "live changes written", write_live_file, write_live, check_live_file, .calls = WRITE | RENAME,
	        .tolerated = OPEN | SYNC | CLOSE | STAT, .allocations = 2, .failures = 2 },
	{ "models that come and go", NULL, exchange_models, NULL, .silent = true, .spares_memory = true,
	        .allocations = 60 },
	{ "models that grow", NULL, grow, NULL, .allocations = 60 },
	{ "what is parked renewed", NULL, renew_parked, NULL, .silent = true, .allocations = 30 },
	{ "configuration", NULL, parse, NULL, .silent = true, .allocations = 5 },
	{ "model set", NULL, put_model_set, NULL, .silent = true, .allocations = 1 },
	{ "models", NULL, serve, NULL, .allocations = 60 },
	{ "checkpoint", make_models_only, save, drop_models, .calls = WRITE | RENAME,
	        .tolerated = OPEN | SYNC | LIST | CLOSE, .spares_memory = true, .allocations = 5, .failures = 3 },
	/* Without memory for what is known of older files, or of ids that were learned, less is known. */
	{ "restoring", make_checkpoint, restore, drop_models, .calls = LIST, .spares_memory = true, .allocations = 3,
	        .failures = 3 },
	{ "start from files", make_starts, start_models, drop_starts, .calls = OPEN | READ, .spares_memory = true,
	        .allocations = 10, .failures = 4 },
	{ "journal", empty_folder, keep_journal, NULL, .calls = RENAME, .spares_memory = true,
	        .tolerated = OPEN | LIST | WRITE, .allocations = 8, .failures = 1 },
	{ "recovery", make_journal, recover, drop_models, .calls = OPEN | LIST | STAT, .tolerated = READ | CLOSE,
	        .spares_memory = true, .allocations = 10, .failures = 6 },
	{ "challenger written", make_challengers, write_challenger, NULL, .calls = OPEN | WRITE | SYNC | RENAME,
	        .failures = 6 },
	{ "challenger read", make_challengers, read_challenger, NULL, .calls = OPEN | READ | STAT, .allocations = 4,
	        .failures = 3 },
	{ "newest challenger", make_challengers, newest_challenger, NULL, .calls = LIST, .allocations = 3,
	        .failures = 5 },
	{ "old challengers", make_challengers, prune_challengers, NULL, .calls = LIST | REMOVE, .allocations = 3,
	        .failures = 6 },
	{ "lock", empty_folder, lock, NULL, .calls = OPEN, .tolerated = STAT | CLOSE, .failures = 2 },
	{ "inlet", NULL, open_inlet, NULL, .silent = true, .allocations = 6 },
	{ "outflow", NULL, new_outflow, NULL, .silent = true, .allocations = 1 },
	{ "sockets", NULL, open_sockets, NULL, .allocations = 6 },
	{ "server", parse_server, open_server, NULL, .spares_memory = true, .allocations = 30 },
	{ "refit state", NULL, keep_refit_state, NULL, .silent = true, .spares_memory = true, .allocations = 4 },
};

static int make_all(void **state)
{
	put_tree(&challenger);
	(void)snprintf(endpoints, sizeof endpoints, "/tmp/test_daemon_XXXXXX");
	if (mkdtemp(endpoints) == NULL)
		return 1;
	write_text();
	return make_config(state);
}

static int drop_all(void **state)
{
	cop_bytes_fini(&challenger);
	(void)rmdir(endpoints);
	return drop_config(state);
}

/* It has what came before, and nothing else, until there is room. */
static void test_journal_on_a_full_disk_begins_broken_and_heals(void **state)
{
	(void)state;
	cop_journaler *journaler;
	cop_diag diag = { .message = "" };
	cop_test_io_fail(WRITE, 1, true, ENOSPC);
	assert_int_equal(cop_journaler_open(journal, config, 7, &journaler, &diag), COP_OK);
	cop_test_io_fail(COP_TEST_IO_EVERY, 0, false, 0);
	assert_true(cop_journaler_broken(journaler) && !cop_journaler_gone(journaler));
	assert_int_equal(cop_journaler_get_counts(journaler)->failures, 1);
	assert_int_equal(cop_journaler_next(journaler), 7);
	assert_int_equal(cop_journaler_committed(journaler), 6);
	assert_int_equal(cop_journaler_durable(journaler), 6);
	assert_int_equal(cop_journaler_base(journaler), 0);
	assert_false(put_some(journaler));
	assert_int_equal(cop_journaler_heal(journaler, &diag), COP_OK);
	assert_false(cop_journaler_broken(journaler));
	assert_int_equal(cop_journaler_base(journaler), 7);
	assert_int_equal(cop_journaler_durable(journaler), 6);
	assert_true(put_some(journaler));
	assert_int_equal(cop_journaler_close(journaler, &diag), COP_OK);
}

/* A file system that does not answer does not make the folder another one's. */
static void test_lock_whose_names_cannot_be_looked_at_is_still_held(void **state)
{
	(void)state;
	cop_state_lock held;
	cop_state_lock_init(&held, folder);
	assert_int_equal(cop_state_lock_open(&held, NULL), COP_OK);
	for (unsigned long n = 1; n <= 4; n++) {
		cop_test_io_fail(STAT, n, false, EIO);
		assert_int_equal(cop_state_lock_check(&held, NULL), COP_OK);
		assert_true(cop_test_io_failed());
	}
	cop_test_io_fail(STAT, 2, false, ENOENT);
	assert_int_equal(cop_state_lock_check(&held, NULL), COP_ENOTFOUND);
	cop_test_io_fail(STAT, 0, false, 0);
	cop_state_lock_close(&held);
}

static void test_folder_in_its_place_that_cannot_be_listed_is_not_taken(void **state)
{
	(void)state;
	char moved[80];
	cop_state_lock held;
	cop_diag diag = { .message = "" };
	(void)snprintf(moved, sizeof moved, "%s.moved", folder);
	cop_state_lock_init(&held, folder);
	assert_int_equal(cop_state_lock_open(&held, NULL), COP_OK);
	assert_int_equal(rename(folder, moved), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	cop_test_io_fail(LIST, 1, true, EIO);
	assert_int_equal(cop_state_lock_renew(&held, &diag), COP_EEXIST);
	cop_test_io_fail(LIST, 0, false, 0);
	assert_int_equal(cop_state_lock_renew(&held, &diag), COP_OK);
	cop_state_lock_close(&held);
	assert_int_equal(drop_folder(NULL), 0);
	assert_int_equal(rename(moved, folder), 0);
}

int main(void)
{
	const struct CMUnitTest others[] = {
		cmocka_unit_test_setup_teardown(
		        test_lock_whose_names_cannot_be_looked_at_is_still_held, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_folder_in_its_place_that_cannot_be_listed_is_not_taken, make_folder, drop_folder),
	};
	const struct CMUnitTest servers[] = {
		cmocka_unit_test_setup_teardown(
		        test_journal_on_a_full_disk_begins_broken_and_heals, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_server_without_a_pipe_for_signals_does_not_start, make_folder, drop_folder),
	};
	int failed = cmocka_run_group_tests(others, NULL, NULL) + cmocka_run_group_tests(servers, make_all, drop_all);
	return failed + cop_test_fail_group(attempts, sizeof attempts / sizeof *attempts, make_folder, drop_folder,
	                        make_all, drop_all);
}
