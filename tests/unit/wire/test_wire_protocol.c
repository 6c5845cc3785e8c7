/* docs/reference/protocol.md: every block of bytes in it is what its first line says, is decoded by the decoder of its
 * kind, and what the daemon writes itself is written to the same bytes. */
#include "support.h"

#include <stdio.h>

#include "wire/wire_feedback.h"
#include "wire/wire_items.h"
#include "wire/wire_json.h"
#include "wire/wire_reply.h"
#include "wire_fixture.h"

typedef struct block {
	char kind[24];
	char json[512];
	cop_bytes bytes;
} block;

/* Opens the manual beside this source's tree; NULL when only the program is there. */
static FILE *open_manual(void)
{
	char path[1024];
	static const char tail[] = "tests/unit/wire/test_wire_protocol.c";
	size_t length = strlen(__FILE__);
	if (length < sizeof tail - 1 || length >= sizeof path - 32)
		return NULL;
	memcpy(path, __FILE__, length - (sizeof tail - 1));
	memcpy(path + length - (sizeof tail - 1), "docs/reference/protocol.md", sizeof "docs/reference/protocol.md");
	return fopen(path, "r");
}

/* The next block; false at the end of the manual. */
static bool next_block(FILE *file, block *b)
{
	char line[1024];
	while (fgets(line, sizeof line, file) != NULL && strncmp(line, "```msgpack", strlen("```msgpack")) != 0)
		continue;
	if (feof(file))
		return false;
	assert_string_equal(line, "```msgpack\n"); /* else its lines were joined */
	if (fgets(line, sizeof line, file) == NULL)
		return false;
	assert_int_equal(sscanf(line, "%23s %511[^\n]", b->kind, b->json), 2);
	cop_bytes_clear(&b->bytes);
	while (fgets(line, sizeof line, file) != NULL && strcmp(line, "```\n") != 0) {
		line[strcspn(line, "\n")] = '\0';
		put_hex(&b->bytes, line);
	}
	return true;
}

static void check_json(const block *b)
{
	cop_bytes text;
	cop_bytes_init(&text);
	assert_int_equal(cop_wire_json(&text, b->bytes.data, b->bytes.length, 0), COP_OK);
	json_t *got = json_loadb((const char *)text.data, text.length, JSON_DECODE_ANY, NULL);
	json_t *want = json_loads(b->json, JSON_DECODE_ANY, NULL);
	assert_non_null(got);
	assert_non_null(want);
	assert_true(json_equal(got, want));
	json_decref(got);
	json_decref(want);
	cop_bytes_fini(&text);
}

static void check_request(const block *b, fixture *f)
{
	cop_wire_context context;
	cop_wire_feedback feedback;
	cop_wire_seq seq;
	cop_wire_fault fault = { 0 };
	const void *body = b->bytes.data;
	size_t length = b->bytes.length;
	cop_wire_shape shape = f->dense;
	cop_err err;
	shape.features = 3;
	const char *const names[] = { "a", "b", "price" };
	assert_int_equal(cop_wire_names_new_list(names, 3, 0, &shape.naming), COP_OK);
	cop_wire_shape ranks = f->ranks;
	ranks.features = 3;
	if (strcmp(b->kind, "context") == 0) {
		err = cop_wire_context_decode(body, length, &shape, &f->workspace, &context, &fault);
		const float x[] = { 0.25F, 1.0F, 3.5F }, sparse[] = { 0.25F, 0.0F, 3.5F };
		assert_true(memcmp(f->x, x, sizeof x) == 0 || memcmp(f->x, sparse, sizeof sparse) == 0);
		assert_int_equal(f->mask[2], context.has_mask ? 0 : 1);
	} else if (strcmp(b->kind, "observed") == 0) {
		shape.apprentice = true;
		err = cop_wire_context_decode(body, length, &shape, &f->workspace, &context, &fault);
		assert_true(context.observed && context.a == 4 && context.p == 0.925);
	} else if (strcmp(b->kind, "explain") == 0 || strcmp(b->kind, "activate") == 0) { /* by id: the same body */
		err = cop_wire_explain_decode(body, length, &shape, &f->workspace, &context, &fault);
	} else if (strcmp(b->kind, "rank") == 0) {
		err = cop_wire_context_decode(body, length, &ranks, &f->workspace, &context, &fault);
		assert_true(context.candidates == 3 && context.candidate[1].dense[2] == 0.5F && context.order);
	} else if (strcmp(b->kind, "rank-feedback") == 0) {
		err = cop_wire_feedback_decode(body, length, &ranks, &f->workspace, &feedback, &fault);
		assert_true(feedback.has_c && !feedback.has_a);
	} else if (strcmp(b->kind, "ordered") == 0) { /* clients of this library do not read the order */
		cop_wire_action action;
		err = cop_wire_reply_action_decode(body, length, &action, &fault);
	} else if (strcmp(b->kind, "sparse") == 0) {
		err = cop_wire_context_decode(body, length, &f->sparse, &f->workspace, &context, &fault);
	} else if (strcmp(b->kind, "feedback") == 0) {
		err = cop_wire_feedback_decode(body, length, &shape, &f->workspace, &feedback, &fault);
	} else if (strcmp(b->kind, "feedback-two") == 0) {
		shape.losses = 2;
		err = cop_wire_feedback_decode(body, length, &shape, &f->workspace, &feedback, &fault);
	} else if (strcmp(b->kind, "feedback-named") == 0) {
		cop_named_losses losses = { .weights.count = 0 };
		assert_null(cop_named_losses_add_weight(&losses.weights, "click=1"));
		assert_null(cop_named_losses_add_weight(&losses.weights, "revenue=-0.02"));
		assert_null(cop_named_losses_add_range(&losses.ranges, "revenue=0:50"));
		shape.named = &losses;
		err = cop_wire_feedback_decode(body, length, &shape, &f->workspace, &feedback, &fault);
		assert_true(feedback.named.told == 3 && feedback.named.value[1] == 3.25);
	} else {
		assert_string_equal(b->kind, "plain");
		err = cop_wire_plain_decode(body, length, &seq, &fault);
	}
	if (err != COP_OK)
		print_error("%s: %s\n", b->json, fault.message);
	assert_int_equal(err, COP_OK);
	cop_wire_names_free(shape.naming);
}

/* Reads a reply and writes it again. */
static void copy_reply(const void *body, size_t length, cop_bytes *out)
{
	cop_wire_action action;
	cop_wire_result result;
	cop_wire_fault error;
	cop_event_id id;
	cop_wire_seq seq;
	if (cop_wire_reply_action_decode(body, length, &action, NULL) == COP_OK)
		cop_wire_reply_action_put(out, &action);
	else if (cop_wire_reply_result_decode(body, length, &id, &result, &seq, NULL) == COP_OK)
		cop_wire_reply_result_put(out, &id, result, &seq);
	else if (cop_wire_reply_error_decode(body, length, &error, &id, &seq, NULL) == COP_OK)
		cop_wire_reply_error_put(out, error.code, error.message, &id, &seq);
	else
		cop_wire_put_raw(out, body, length); /* a request's item */
}

static void check_reply(const block *b)
{
	cop_bytes out;
	cop_bytes_init(&out);
	copy_reply(b->bytes.data, b->bytes.length, &out);
	assert_int_equal(out.length, b->bytes.length);
	assert_memory_equal(out.data, b->bytes.data, out.length);
	cop_bytes_fini(&out);
}

/* Batches, of requests and replies: the frame around the items too. */
static void check_batch(const block *b, bool stream)
{
	cop_wire_items items;
	cop_wire_seq seq = { 0 };
	cop_bytes out;
	const void *item;
	size_t length;
	cop_bytes_init(&out);
	cop_err err = stream ? cop_wire_items_stream(&items, b->bytes.data, b->bytes.length, NULL)
	                     : cop_wire_items_batch(&items, b->bytes.data, b->bytes.length, &seq, NULL);
	assert_int_equal(err, COP_OK);
	assert_int_equal(items.count, 2);
	if (stream)
		cop_wire_put_array(&out, 2);
	else
		cop_wire_items_put(&out, 2, &seq);
	while (cop_wire_items_next(&items, &item, &length))
		copy_reply(item, length, &out);
	assert_int_equal(out.length, b->bytes.length);
	if (strstr(b->json, "\"x\"") == NULL || stream) /* a request may name its keys in another order */
		assert_memory_equal(out.data, b->bytes.data, out.length);
	cop_bytes_fini(&out);
}

static void test_protocol_manual_bytes_are_what_it_says(void **state)
{
	(void)state;
	FILE *file = open_manual();
	if (file == NULL) {
		print_message("docs/reference/protocol.md is not beside the source: skipped\n");
		skip();
	}
	block b;
	fixture f;
	fixture_init(&f);
	cop_bytes_init(&b.bytes);
	unsigned count = 0;
	for (; next_block(file, &b); count++) {
		check_json(&b);
		if (strcmp(b.kind, "action") == 0 || strcmp(b.kind, "result") == 0 || strcmp(b.kind, "error") == 0)
			check_reply(&b);
		else if (strcmp(b.kind, "batch") == 0 || strcmp(b.kind, "stream") == 0)
			check_batch(&b, b.kind[0] == 's');
		else
			check_request(&b, &f);
	}
	assert_true(count >= 20);
	cop_bytes_fini(&b.bytes);
	(void)fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protocol_manual_bytes_are_what_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
