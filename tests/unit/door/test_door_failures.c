/* Each call of the front door that takes memory or a file, with every allocation and every call to the operating system
 * failing in turn (support_fail.h): the error is reported with its reason, and nothing is left. */
#include "support.h"

#include <stdlib.h>
#include <unistd.h>

#include "door_fixture.h"
#include "support_fail.h"
#include "unit/view/trained_fixture.h"

static char folder[] = "/tmp/cop_door_fail_XXXXXX";
static char model_path[64], trained_path[64], csv_path[64], saved_path[64];
static coppice_model *live;
static coppice_trained *trained;

static cop_err pass_on(coppice_err err, const char *message, cop_diag *diag)
{
	if (err != COPPICE_OK)
		cop_diag_message(diag, "%s", message);
	return (cop_err)err;
}

/* ---- making ---- */

static cop_err make(const char *settings, cop_diag *diag)
{
	coppice_model *model;
	coppice_message message = { "" };
	coppice_err err = coppice_model_new(settings, &model, &message);
	assert_int_equal(model != NULL, err == COPPICE_OK);
	coppice_model_free(model);
	return pass_on(err, message.text, diag);
}

static cop_err make_arms(void *context, cop_diag *diag)
{
	(void)context;
	return make(ARMS_TEXT "  explain_keep = 2", diag);
}

static cop_err make_sparse(void *context, cop_diag *diag)
{
	(void)context;
	return make(SPARSE_TEXT, diag);
}

static cop_err make_rank(void *context, cop_diag *diag)
{
	(void)context;
	return make(RANK_TEXT, diag);
}

static cop_err make_value(void *context, cop_diag *diag)
{
	(void)context;
	return make(TWO_TEXT, diag);
}

/* ---- a living model ---- */

static void begin(const char *settings)
{
	cop_rng rng;
	cop_rng_init(&rng, 21, 0);
	live = door_model(settings);
	if (coppice_model_features(live) == 0)
		return;
	for (uint64_t n = 0; n < 20; n++)
		(void)door_step(live, &rng, n, 0.0, n == 0);
}

static void begin_arms(void *context)
{
	(void)context;
	begin(ARMS_TEXT);
}

static void begin_sparse(void *context)
{
	(void)context;
	begin(SPARSE_TEXT);
}

/* Whatever failed, the model decides and learns. */
static void end_live(void *context, bool failed)
{
	(void)context;
	(void)failed;
	cop_rng rng;
	cop_rng_init(&rng, 22, 0);
	if (coppice_model_features(live) > 0)
		(void)door_step(live, &rng, 1000, 0.0, false);
	coppice_model_free(live);
	live = NULL;
}

/* The first context of a sparse model with names takes memory for both. */
static cop_err decide(void *context, cop_diag *diag)
{
	static const char *const names[2] = { "red", "shop^tea" };
	const float values[2] = { 1.0f, 2.0f };
	const coppice_row row = coppice_row_names(names, values, 2);
	coppice_counters counters;
	coppice_decision d;
	(void)context;
	coppice_err err = coppice_model_decide(live, coppice_id_text("a"), &row, NULL, 0.0, &d);
	coppice_model_counters(live, &counters);
	assert_int_equal(counters.decisions, err == COPPICE_OK);
	assert_int_equal(counters.waiting, err == COPPICE_OK);
	return pass_on(err, coppice_model_message(live), diag);
}

static cop_err name(void *context, cop_diag *diag)
{
	static const char *const names[2] = { "age", "mood" };
	(void)context;
	return pass_on(coppice_model_name_features(live, names), coppice_model_message(live), diag);
}

static cop_err adjust(void *context, cop_diag *diag)
{
	(void)context;
	return pass_on(coppice_model_adjust(live, "explain_keep = 3"), coppice_model_message(live), diag);
}

static cop_err explain(void *context, cop_diag *diag)
{
	const char *json;
	(void)context;
	coppice_err err = coppice_model_explain(live, coppice_id_number(0), &json);
	assert_int_equal(json != NULL, err == COPPICE_OK);
	return pass_on(err, coppice_model_message(live), diag);
}

/* ---- files ---- */

static cop_err save(void *context, cop_diag *diag)
{
	(void)context;
	return pass_on(coppice_model_save(live, saved_path), coppice_model_message(live), diag);
}

static void end_saved(void *context, bool failed)
{
	coppice_model *model;
	assert_int_equal(coppice_model_load(saved_path, &model, NULL), COPPICE_OK); /* this one, or the one before */
	coppice_model_free(model);
	end_live(context, failed);
}

static cop_err load(void *context, cop_diag *diag)
{
	coppice_model *model;
	coppice_message message = { "" };
	(void)context;
	coppice_err err = coppice_model_load(model_path, &model, &message);
	assert_int_equal(model != NULL, err == COPPICE_OK);
	coppice_model_free(model);
	return pass_on(err, message.text, diag);
}

static cop_err load_trained(void *context, cop_diag *diag)
{
	coppice_trained *own;
	coppice_message message = { "" };
	(void)context;
	coppice_err err = coppice_trained_load(trained_path, &own, &message);
	assert_int_equal(own != NULL, err == COPPICE_OK);
	coppice_trained_free(own);
	return pass_on(err, message.text, diag);
}

static cop_err load_table(void *context, cop_diag *diag)
{
	coppice_table *table;
	coppice_message message = { "" };
	(void)context;
	coppice_err err = coppice_table_load(trained, csv_path, &table, &message);
	assert_int_equal(table != NULL, err == COPPICE_OK);
	coppice_table_free(table);
	return pass_on(err, message.text, diag);
}

static cop_err parse_table(void *context, cop_diag *diag)
{
	static const char csv[] = "30,170,red,900,Oslo,keep\n";
	coppice_table *table;
	coppice_message message = { "" };
	(void)context;
	coppice_err err = coppice_table_parse(trained, csv, strlen(csv), &table, &message);
	assert_int_equal(table != NULL, err == COPPICE_OK);
	coppice_table_free(table);
	return pass_on(err, message.text, diag);
}

enum {
	OPEN = COP_TEST_IO_OPEN,
	WRITE = COP_TEST_IO_WRITE,
	SYNC = COP_TEST_IO_SYNC,
	RENAME = COP_TEST_IO_RENAME,
	READ = COP_TEST_IO_READ,
	STAT = COP_TEST_IO_STAT,
	CLOSE = COP_TEST_IO_CLOSE
};

static cop_test_attempt attempts[] = {
	{ "new, arms", NULL, make_arms, NULL, .allocations = 20 },
	{ "new, sparse", NULL, make_sparse, NULL, .allocations = 20 },
	{ "new, rank", NULL, make_rank, NULL, .allocations = 20 },
	{ "new, values", NULL, make_value, NULL, .allocations = 10 },
	{ "decide", begin_sparse, decide, end_live, .spares_memory = true, .allocations = 3 },
	{ "name", begin_arms, name, end_live, .allocations = 4 },
	{ "adjust", begin_arms, adjust, end_live, .allocations = 4 },
	{ "explain", begin_arms, explain, end_live, .allocations = 2 },
	{ "save", begin_arms, save, end_saved, .calls = OPEN | WRITE | SYNC | RENAME, .tolerated = CLOSE,
	        .allocations = 2, .failures = 5 },
	{ "load", NULL, load, NULL, .calls = OPEN | READ | STAT, .tolerated = CLOSE, .spares_memory = true,
	        .allocations = 20, .failures = 3 },
	{ "trained load", NULL, load_trained, NULL, .calls = OPEN | READ | STAT, .tolerated = CLOSE, .allocations = 10,
	        .failures = 3 },
	{ "table load", NULL, load_table, NULL, .calls = OPEN | READ, .tolerated = CLOSE | STAT, .allocations = 5,
	        .failures = 2 },
	{ "table parse", NULL, parse_table, NULL, .allocations = 5 },
};

static void write_trained(void)
{
	const people_shape shape = { .trees = 2, .depth = 2, .classes = 3, .link = COP_TREE_PROBABILITIES };
	people p;
	cop_bytes csv;
	people_init(&p, &shape);
	assert_int_equal(cop_trained_save(p.model, trained_path, NULL), COP_OK);
	cop_bytes_init(&csv);
	people_csv(&p, &csv);
	assert_int_equal(cop_section_file_save(csv_path, &csv, NULL), COP_OK);
	cop_bytes_fini(&csv);
	people_fini(&p);
}

static int begin_all(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return 1;
	(void)snprintf(model_path, sizeof model_path, "%s/a.model", folder);
	(void)snprintf(saved_path, sizeof saved_path, "%s/b.model", folder);
	(void)snprintf(trained_path, sizeof trained_path, "%s/t.model", folder);
	(void)snprintf(csv_path, sizeof csv_path, "%s/t.csv", folder);
	begin(ARMS_TEXT);
	int failed = coppice_model_save(live, model_path) != COPPICE_OK ||
	             coppice_model_save(live, saved_path) != COPPICE_OK;
	coppice_model_free(live);
	write_trained();
	return failed || coppice_trained_load(trained_path, &trained, NULL) != COPPICE_OK;
}

static int end_all(void **state)
{
	char command[64];
	(void)state;
	coppice_trained_free(trained);
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	return cop_test_fail_group(attempts, sizeof attempts / sizeof *attempts, NULL, NULL, begin_all, end_all);
}
