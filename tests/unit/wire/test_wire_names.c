/* Maps of names against the same features put into a space by hand. */
#include "support.h"
#include "wire/wire_context.h"
#include "wire/wire_names.h"
#include "wire_fixture.h"

typedef struct attempt {
	cop_wire_naming *naming;
	cop_feature_space *by_hand;
	cop_feature_room room;
	cop_feature_span span;
	cop_bytes bytes;
	cop_wire_fault fault;
	cop_row row, want;
} attempt;

static cop_feature_space *space_of(const cop_feature_space_settings *settings)
{
	cop_feature_space *space;
	assert_int_equal(cop_feature_space_new(settings, &space, NULL), COP_OK);
	return space;
}

static int setup(void **state)
{
	static attempt a;
	static const char *const pairs[] = { "Ug" };
	const cop_feature_space_settings settings = { .bits = 12, .pairs = pairs, .pair_count = 1 };
	memset(&a, 0, sizeof a);
	cop_feature_space *space = space_of(&settings);
	a.by_hand = space_of(&settings);
	assert_int_equal(cop_wire_names_new(&space, 20, 2, &a.naming), COP_OK);
	assert_null(space);
	cop_bytes_init(&a.bytes);
	*state = &a;
	return 0;
}

static int teardown(void **state)
{
	attempt *a = *state;
	cop_wire_names_free(a->naming);
	cop_feature_space_free(a->by_hand);
	cop_feature_room_fini(&a->room);
	cop_bytes_fini(&a->bytes);
	return 0;
}

static cop_err read_names(attempt *a, const char *text)
{
	cop_wire_cursor cursor;
	cop_bytes_clear(&a->bytes);
	put_message(&a->bytes, text);
	cop_wire_cursor_init(&cursor, a->bytes.data, a->bytes.length);
	a->fault = (cop_wire_fault){ 0 };
	return cop_wire_names_read(&cursor, a->naming, NULL, &a->row, &a->fault);
}

/* The same from bytes, whose keys may be numbers. */
static cop_err read_raw(attempt *a, const char *bytes, size_t length)
{
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, (const uint8_t *)bytes, length);
	a->fault = (cop_wire_fault){ 0 };
	return cop_wire_names_read(&cursor, a->naming, NULL, &a->row, &a->fault);
}

static void begin(attempt *a)
{
	cop_feature_room_clear(&a->room);
	cop_feature_space_begin(a->by_hand);
}

static void put(attempt *a, const char *namespace, const char *name, double value)
{
	cop_feature_space_namespace(a->by_hand, namespace, strlen(namespace), 1.0);
	cop_feature_space_put(a->by_hand, name, strlen(name), value);
}

static void assert_read(attempt *a, const char *text)
{
	size_t features;
	assert_int_equal(cop_feature_space_end(a->by_hand, &a->room, &a->span, &features), COP_OK);
	cop_feature_space_row(a->by_hand, &a->room, &a->span, &a->want);
	cop_err err = read_names(a, text);
	if (err != COP_OK)
		print_error("%s: %s\n", text, a->fault.message);
	assert_int_equal(err, COP_OK);
	assert_int_equal(a->row.nnz, a->want.nnz);
	assert_memory_equal(a->row.index, a->want.index, a->row.nnz * sizeof *a->row.index);
	assert_memory_equal(a->row.value, a->want.value, a->row.nnz * sizeof *a->row.value);
}

static void test_names_of_objects_are_what_a_log_has(void **state)
{
	attempt *a = *state;
	begin(a);
	put(a, "User", "usertom", 1);
	put(a, "User", "age", 31);
	put(a, "User", "on", 1);
	put(a, "", "x", 2);
	assert_read(a, "{'User': {'user': 'tom', 'age': 31, 'on': true, 'off': false, 'no': null}, 'x': 2, '_y': 1}");
	begin(a);
	put(a, "User", "a_b_c", 1);
	put(a, "geo", "in", 4);
	put(a, "User", "z", 0.5);
	assert_read(a, "{'User': {'a': ' b|c', 'geo': {'in': 4}, 'z': 0.5}}");
	begin(a);
	cop_feature_space_namespace(a->by_hand, "tags", 4, 1.0);
	cop_feature_space_put_unnamed(a->by_hand, 0, 3);
	cop_feature_space_put_unnamed(a->by_hand, 1, 4);
	put(a, "tags", "big", 1);
	assert_read(a, "{'tags': [3, {'_text': 'big'}, null, 4]}");
}

static void test_names_as_vowpal_wabbit_spells_them(void **state)
{
	attempt *a = *state;
	begin(a);
	put(a, "User", "user=tom", 2);
	put(a, "", "_x", 1);
	cop_feature_space_namespace(a->by_hand, "geo", 3, 3.0);
	cop_feature_space_put_text(a->by_hand, "city", 4, "rome", 4);
	assert_read(a, "{'User^user=tom': 2, '^_x': true, 'geo^city:rome': 3}");
}

static void test_names_of_a_dense_space_are_found_or_counted(void **state)
{
	attempt *a = *state;
	static const char *const names[] = { "a", "U^b", "c^d^e", "_f", "U^t:x" };
	cop_wire_names_free(a->naming);
	assert_int_equal(cop_wire_names_new_list(names, 5, 0, &a->naming), COP_OK);
	a->naming->strict = false;
	assert_int_equal(
	        read_names(a, "{'a': 1, 'U': {'b': 2, 'q': 9}, 'c^d^e': 3, '_f': 4, '_g': 4, 'U^t:x': 5}"), COP_OK);
	const float want[] = { 1, 2, 3, 4, 5 };
	assert_int_equal(a->row.d, 5);
	assert_memory_equal(a->row.dense, want, sizeof want);
	assert_int_equal(cop_feature_space_dropped(a->naming->space), 1);
	assert_int_equal(read_names(a, "{'a': 1, 'a': 2, 'V^b': 1, 'x': 'y', 'z': [1, 2]}"), COP_OK);
	assert_int_equal(cop_feature_space_dropped(a->naming->space), 5);
	a->naming->strict = true;
	assert_int_equal(read_names(a, "{'U': {'q': 1}}"), COP_ESHAPE);
	assert_string_equal(a->fault.message, "x[\"q\"]: no feature of the model has this name");
}

static void test_names_more_than_there_may_be_are_refused(void **state)
{
	attempt *a = *state;
	assert_int_equal(read_names(a, "{'U': [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}"), COP_OK);
	assert_int_equal(read_names(a, "{'U': [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}"), COP_ESHAPE);
	assert_non_null(strstr(a->fault.message, "at most 20"));
	/* 5 x 4 products beside 9 features */
	assert_int_equal(read_names(a, "{'U': [1,2,3,4,5], 'g': [1,2,3,4]}"), COP_ESHAPE);
	assert_non_null(strstr(a->fault.message, "with their products, at most 20"));
	assert_int_equal(read_names(a, "{'U': [1,2,3,4], 'g': [1,2,3]}"), COP_OK);
	assert_int_equal(a->row.nnz, 4 + 3 + 12);
}

static void test_names_that_make_no_sense_say_where_and_why(void **state)
{
	attempt *a = *state;
	static const struct {
		const char *text;
		cop_err err;
		const char *says;
	} cases[] = {
		{ "{'U': {'_multi': [1]}}", COP_ESHAPE,
		        "x[\"_multi\"]: candidates have a key of their own, expected them in c" },
		{ "{'_multi': []}", COP_ESHAPE,
		        "x[\"_multi\"]: candidates have a key of their own, expected them in c" },
		{ "{'U': 1e300}", COP_ENONFINITE, "x[\"U\"]: not a finite number in range, expected a number" },
		{ "{'x': [['a']]}", COP_EINVAL,
		        "x[\"x\"]: got an array, expected numbers or maps in an array of features" },
		{ "[1]", COP_EINVAL, "x: got an array, expected a map" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_err err = read_names(a, cases[i].text);
		assert_int_equal(err, cases[i].err);
		assert_string_equal(a->fault.message, cases[i].says);
	}
	begin(a);
	put(a, "", "x", 3);
	assert_read(a, "{'x': 3, '_label': 1, '_texts': 'a', '_': {'a': 1}}"); /* what begins so is seldom a feature */
}

static void test_places_are_numbers_below_the_spaces(void **state)
{
	attempt *a = *state;
	static const struct {
		const char *bytes;
		size_t length;
		cop_err err;
		const char *says;
	} cases[] = {
		{ "\x81\xcd\x0f\xff\x02", 5, COP_OK, "" }, /* {4095: 2} */
		{ "\x81\xcd\x10\x00\x02", 5, COP_ESHAPE, "x: index 4096, expected one below 4096" },
		{ "\x81\x05\xa1\x61", 4, COP_EINVAL, "x: got a string, expected a number behind an index" },
		{ "\x81\x90\x01", 3, COP_EINVAL, "x: got an array, expected a name or an index as a key" },
		{ "\x81\xa1U\x81\x01\x02", 6, COP_EINVAL, "x[\"U\"]: got an integer, expected a name as a key" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_err err = read_raw(a, cases[i].bytes, cases[i].length);
		assert_int_equal(err, cases[i].err);
		assert_string_equal(a->fault.message, cases[i].says);
	}
	assert_int_equal(read_raw(a, "\x82\xcd\x0f\xff\x02\x00\xca\x3f\x00\x00\x00", 11), COP_OK);
	assert_true(a->row.nnz == 2 && a->row.index[0] == 0 && a->row.index[1] == 4095);
	assert_true(a->row.value[0] == 0.5F && a->row.value[1] == 2.0F);
}

/* As deep as the protocol says, and no deeper. */
static void test_names_nest_as_deep_as_they_may(void **state)
{
	attempt *a = *state;
	for (int array = 0; array < 2; array++) /* at the end */
		for (int depth = COP_WIRE_NAMES_DEPTH; depth <= COP_WIRE_NAMES_DEPTH + 1; depth++) {
			char text[256] = "{'a': ";
			for (int i = array; i < depth; i++)
				strcat(text, "{'a': ");
			strcat(text, array ? "[1]" : "1");
			for (int i = array; i <= depth; i++)
				strcat(text, "}");
			bool fits = depth == COP_WIRE_NAMES_DEPTH;
			assert_int_equal(read_names(a, text), fits ? COP_OK : COP_ESHAPE);
			assert_string_equal(a->fault.message,
			        fits ? ""
			             : "x[\"a\"]: nested too deeply, at most 10 maps or arrays in one another allowed");
		}
}

static void test_names_nothing_is_left_of_a_refused_map(void **state)
{
	attempt *a = *state;
	assert_int_equal(read_names(a, "{'U': {'a': 1, 'b': 1e300}}"), COP_ENONFINITE);
	assert_int_equal(read_names(a, "{'U': {'a': 1, 'b': ['c']}}"), COP_EINVAL);
	begin(a);
	put(a, "U", "a", 1);
	assert_read(a, "{'U': {'a': 1}}");
}

static void test_names_steady_messages_allocate_nothing(void **state)
{
	attempt *a = *state;
	static const char *const messages[] = {
		"{'User': {'user': 'tom', 'age': 31}, 'tags': [1, 2, 3], 'g^a': 1}",
		"{'g': {'x': 0.5, '_text': 'a b c'}, 'User': {'user': 'ann', 'zip': '12345'}}",
	};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(read_names(a, messages[i % 2]), COP_OK);
	for (size_t i = 0; i < 2; i++) {
		cop_wire_cursor cursor;
		cop_bytes_clear(&a->bytes);
		put_message(&a->bytes, messages[i]);
		cop_wire_cursor_init(&cursor, a->bytes.data, a->bytes.length);
		cop_test_alloc_fail(1, 1);
		assert_int_equal(cop_wire_names_read(&cursor, a->naming, NULL, &a->row, &a->fault), COP_OK);
		cop_test_alloc_fail(0, 0);
	}
}

/* Products need both: in whichever order x and its candidates come, the rows are the same, and take the same room. */
static void test_names_of_candidates_before_or_behind_their_context_are_the_same(void **state)
{
	attempt *a = *state;
	static const char *const texts[] = {
		"{'id': 1, 'x': {'U^age': 0.5, 'n': 2}, 'c': [{'g^a': 1, 'b': 'text'}, {'g^b': -1}]}",
		"{'id': 1, 'c': [{'g^a': 1, 'b': 'text'}, {'g^b': -1}], 'x': {'U^age': 0.5, 'n': 2}}"
	};
	fixture f;
	fixture_init(&f);
	float value[20], candidate_value[40], first[2][20];
	uint32_t index[20], candidate_index[40], places[2][20];
	size_t nnz[2] = { 0 }, used = 0;
	f.workspace.value = value;
	f.workspace.index = index;
	f.workspace.candidate_value = candidate_value;
	f.workspace.candidate_index = candidate_index;
	const cop_wire_shape shape = {
		.bits = 12, .max_nonzeros = 20, .max_candidates = 2, .losses = 1, .naming = a->naming
	};
	for (size_t round = 0; round < 6; round++) {
		cop_wire_context context;
		cop_bytes_clear(&a->bytes);
		put_message(&a->bytes, texts[round % 2]);
		assert_int_equal(cop_wire_context_decode(
		                         a->bytes.data, a->bytes.length, &shape, &f.workspace, &context, &a->fault),
		        COP_OK);
		assert_int_equal(context.candidates, 2);
		for (size_t i = 0; i < 2; i++) {
			const cop_row *row = &context.candidate[i];
			if (round == 0) {
				nnz[i] = row->nnz;
				memcpy(first[i], row->value, row->nnz * sizeof *row->value);
				memcpy(places[i], row->index, row->nnz * sizeof *row->index);
			}
			assert_int_equal(row->nnz, nnz[i]);
			assert_memory_equal(row->value, first[i], row->nnz * sizeof *row->value);
			assert_memory_equal(row->index, places[i], row->nnz * sizeof *row->index);
		}
		assert_int_equal(nnz[0], 3);
		assert_int_equal(nnz[1], 2);
		used = round == 0 ? a->naming->own.used : used;
		assert_int_equal(a->naming->own.used, used);
	}
}

/* A name may be cut at any of its carets; one without a namespace comes first. */
static void test_names_with_carets_are_found_in_a_dense_space(void **state)
{
	(void)state;
	static const char *const columns[][2] = { { "", "x" }, { "a^b", "c" }, { "a", "b^d" }, { "", "a^b^e" },
		{ "a^b^c", "f" }, { "a", "x" } };
	const cop_feature_space_settings settings = { .dense = true };
	cop_feature_space *space = space_of(&settings);
	cop_feature_room room = { 0 };
	cop_feature_span span;
	size_t features;
	cop_feature_space_begin(space);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		cop_feature_space_namespace(space, columns[i][0], strlen(columns[i][0]), 1.0);
		cop_feature_space_put(space, columns[i][1], strlen(columns[i][1]), 1.0);
	}
	assert_int_equal(cop_feature_space_end(space, &room, &span, &features), COP_OK);
	cop_feature_space_freeze(space);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		char name[32];
		(void)snprintf(
		        name, sizeof name, "%s%s%s", columns[i][0], columns[i][0][0] == '\0' ? "" : "^", columns[i][1]);
		assert_int_equal(cop_wire_names_column(space, name, strlen(name)), i);
		assert_int_equal(cop_wire_names_column(space, name, strlen(name) - 1), SIZE_MAX);
	}
	assert_int_equal(cop_wire_names_column(space, "a^x^", 4), SIZE_MAX);
	assert_int_equal(cop_wire_names_column(space, "a^b^c", 3), SIZE_MAX); /* what is behind it is not its own */
	assert_int_equal(cop_wire_names_column(space, "^x", 2), 0);           /* of the default namespace */
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

/* Maps that could be read without the naming give the rows that it gives. */
static void test_names_of_flat_maps_are_read_as_the_naming_reads_them(void **state)
{
	attempt *a = *state;
	static const char *const pairs[] = { "Ug" };
	const cop_feature_space_settings spaces[] = { { .bits = 12 }, { .bits = 12, .hash_all = true },
		{ .bits = 12, .ignore = " " }, { .bits = 12, .pairs = pairs, .pair_count = 1 } };
	static const char *const texts[] = { "{}", "{\"age\": 0.5, \"city\": 2}", "{\"12\": 0.5, \"7\": 2, \"a\": -1}",
		"{\"U^age\": 0.5, \"age\": 2}", "{\"_age\": 0.5, \"age\": 2}", "{\"\": 0.5, \"age\": 2}",
		"{\"age\": true, \"city\": \"Rome\", \"n\": 3}", "{\"age\": 0, \"city\": null, \"n\": 3}",
		"{\"U\": {\"a\": 1}, \"g\": [1, 0, 2], \"n\": 3}" };
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
			cop_wire_naming *naming;
			float value[20];
			uint32_t index[20];
			cop_wire_cursor cursor;
			cop_row row;
			cop_feature_space *space = space_of(&spaces[i]);
			assert_int_equal(cop_wire_names_new(&space, 20, 0, &naming), COP_OK);
			const cop_wire_shape shape = { .bits = 12, .max_nonzeros = 20, .naming = naming };
			const cop_wire_workspace workspace = { .value = value, .index = index };
			cop_bytes_clear(&a->bytes);
			put_message(&a->bytes, texts[k]);
			cop_wire_cursor_init(&cursor, a->bytes.data, a->bytes.length);
			assert_int_equal(cop_wire_features_read(&cursor, &shape, &workspace, &row, &a->fault), COP_OK);
			float got[20];
			uint32_t at[20];
			assert_true(row.nnz <= 20);
			memcpy(got, row.value, row.nnz * sizeof *got);
			memcpy(at, row.index, row.nnz * sizeof *at);
			size_t nnz = row.nnz;
			cop_feature_space_abandon(naming->space);
			cop_wire_cursor_init(&cursor, a->bytes.data, a->bytes.length);
			assert_int_equal(cop_wire_names_read(&cursor, naming, NULL, &row, &a->fault), COP_OK);
			assert_int_equal(row.nnz, nnz);
			assert_memory_equal(row.value, got, nnz * sizeof *got);
			assert_memory_equal(row.index, at, nnz * sizeof *at);
			cop_wire_names_free(naming);
		}
}

/* A map of numbers alone is read without the naming, and names its places all the same. */
static void test_names_of_a_flat_map_in_a_plain_space_are_kept(void **state)
{
	attempt *a = *state;
	const cop_feature_space_settings settings = { .bits = 12 };
	cop_wire_naming *naming;
	float value[20];
	uint32_t index[20];
	char name[COP_PLACE_NAMES_ROOM];
	cop_feature_space *space = space_of(&settings);
	assert_int_equal(cop_feature_space_keep_names(space, COP_PLACE_NAMES_BYTES), COP_OK);
	assert_int_equal(cop_wire_names_new(&space, 20, 0, &naming), COP_OK);
	const cop_wire_shape shape = { .bits = 12, .max_nonzeros = 20, .naming = naming };
	const cop_wire_workspace workspace = { .value = value, .index = index };
	cop_wire_cursor cursor;
	put_message(&a->bytes, "{\"age\": 0.5, \"city\": 2}");
	cop_wire_cursor_init(&cursor, a->bytes.data, a->bytes.length);
	assert_int_equal(cop_wire_features_read(&cursor, &shape, &workspace, &a->row, &a->fault), COP_OK);
	assert_int_equal(a->row.nnz, 2);
	assert_ptr_equal(a->row.index, index);
	for (size_t i = 0; i < 2; i++) {
		(void)cop_place_names_text(cop_feature_space_names(naming->space), index[i], name, sizeof name);
		assert_string_equal(name, value[i] == 2.0F ? "city" : "age");
	}
	cop_wire_names_free(naming);
}

static void test_names_nth_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	static const char *const names[] = { "a", "U^b", "U^c" };
	const cop_feature_space_settings settings = { .bits = 12 };
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_wire_naming *naming;
		cop_test_alloc_fail(n, 0);
		err = cop_wire_names_new_list(names, 3, 2, &naming);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK ? naming != NULL : err == COP_ENOMEM && naming == NULL);
		cop_wire_names_free(naming);
	}
	err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_feature_space *space = space_of(&settings);
		cop_wire_naming *naming;
		cop_test_alloc_fail(n, 0);
		err = cop_wire_names_new(&space, 100, 2, &naming);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(space == NULL && (err == COP_OK ? naming != NULL : err == COP_ENOMEM && naming == NULL));
		cop_wire_names_free(naming);
	}
}

/* Candidates share the names of contexts that have as many features, but not of contexts that were given features. */
static void test_names_are_shared_where_no_features_were_added(void **state)
{
	attempt *a = *state;
	static const char *const names[] = { "a", "b", "c" };
	float value[3], candidate_value[6];
	fixture f;
	fixture_init(&f);
	cop_wire_names_free(a->naming);
	assert_int_equal(cop_wire_names_new_list(names, 3, 2, &a->naming), COP_OK);
	f.workspace.dense = value;
	f.workspace.candidate_value = candidate_value;
	cop_wire_shape shape = {
		.features = 3, .candidate_features = 3, .max_candidates = 2, .losses = 1, .naming = a->naming
	};
	put_message(&a->bytes, "{'id': 1, 'c': [{'c': 2}, [1, 2, 3]], 'x': {'b': 0.5}}");
	for (shape.least_features = 0; shape.least_features < 2; shape.least_features++) {
		cop_wire_context context;
		cop_err err = cop_wire_context_decode(
		        a->bytes.data, a->bytes.length, &shape, &f.workspace, &context, &a->fault);
		assert_int_equal(err, shape.least_features == 0 ? COP_OK : COP_ESHAPE);
		if (err == COP_OK)
			assert_true(candidate_value[0] == 0.0f && candidate_value[2] == 2.0f && value[2] == 0.0f);
		else
			assert_non_null(strstr(a->fault.message, "the model has no feature names"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names_of_objects_are_what_a_log_has, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_as_vowpal_wabbit_spells_them, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_of_a_dense_space_are_found_or_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_more_than_there_may_be_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_that_make_no_sense_say_where_and_why, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places_are_numbers_below_the_spaces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_nest_as_deep_as_they_may, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_nothing_is_left_of_a_refused_map, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_steady_messages_allocate_nothing, setup, teardown),
		cmocka_unit_test(test_names_nth_allocation_fails_gives_enomem),
		cmocka_unit_test_setup_teardown(test_names_of_a_flat_map_in_a_plain_space_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_with_carets_are_found_in_a_dense_space, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_are_shared_where_no_features_were_added, setup, teardown),
		cmocka_unit_test_setup_teardown(
		        test_names_of_flat_maps_are_read_as_the_naming_reads_them, setup, teardown),
		cmocka_unit_test_setup_teardown(
		        test_names_of_candidates_before_or_behind_their_context_are_the_same, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
