/* Every function once against a live daemon with the models m (arms = 3, features = 3), r (ranks, features = 0) and v
 * (values, features = 3, feedback = two), h (as m, holdout = 0.99, baseline = 2) and s (as m, losses click, weight 1,
 * and seconds), which a line for each reports.
 *
 *     calls REQUESTS CONTEXTS FEEDBACK ACTIONS */
#include <stdio.h>
#include <stdlib.h>

#include <coppice_client.h>

#define MANY 200

static coppice_message why;

/* The line begins; ends the program if the call failed. */
static void check(const char *what, coppice_client_err err)
{
	printf("%s: ", what);
	if (err == COPPICE_CLIENT_OK)
		return;
	printf("error %d, %s\n", (int)err, why.text);
	fflush(stdout);
	exit(1);
}

static void refused(const char *what, coppice_client_err err)
{
	printf("%s: error %d, %s\n", what, (int)err, err == COPPICE_CLIENT_OK ? "none" : why.text);
}

static const float x[3] = { 0.25f, 1.0f, 3.5f };

static void arms(coppice_client *c)
{
	coppice_action first, again;
	coppice_result result;
	char *text;
	const unsigned char mask[3] = { 0, 1, 0 };
	const coppice_id bytes = { COPPICE_ID_BYTES, 0, "\0b", 2 };
	const coppice_client_context context = { .x = coppice_row_dense(x, 3) },
	                             masked = { .x = coppice_row_dense(x, 3), .mask = mask, .masked = 3, .defer = 1 };
	check("decide", coppice_client_decide(c, "m", coppice_id_text("a"), &context, &first, &why));
	printf("%d %d %d\n", first.action < 3, first.repeated, first.durable);
	check("repeated", coppice_client_decide(c, "m", coppice_id_text("a"), &context, &again, &why));
	printf("%d %d\n", first.action == again.action && first.p == again.p, again.repeated);
	check("explain", coppice_client_explain(c, "m", coppice_id_text("a"), &text, &why));
	printf("%s\n", text);
	coppice_client_free_text(text);
	check("feedback", coppice_client_feedback(c, "m", coppice_id_text("a"), 0.5, &result, &why));
	printf("%d\n", (int)result);
	check("duplicate", coppice_client_feedback(c, "m", coppice_id_text("a"), 0.5, &result, &why));
	printf("%d\n", (int)result);
	check("masked", coppice_client_decide(c, "m", bytes, &masked, &first, &why));
	printf("%u %g\n", (unsigned)first.action, first.p);
	check("activate", coppice_client_activate(c, "m", bytes, &result, &why));
	printf("%d\n", (int)result);
	check("status", coppice_client_status(c, "m", &text, &why));
	printf("%s\n", text);
	coppice_client_free_text(text);
}

static void others(coppice_client *c)
{
	static const char *const names[2] = { "price", "brand^new" };
	coppice_action action;
	coppice_result result;
	const double losses[2] = { 0.25, 0.5 };
	const coppice_row candidates[2] = { coppice_row_names(names, x, 2), coppice_row_names(names, x, 1) };
	const coppice_client_context ranked = {
		.x = coppice_row_names(names, x, 1), .candidate = candidates, .candidates = 2
	};
	const coppice_client_context context = { .x = coppice_row_dense(x, 3) };
	check("rank", coppice_client_decide(c, "r", coppice_id_number(1), &ranked, &action, &why));
	printf("%d\n", action.action < 2);
	static const char *const brands[2] = { "cheap", "dear" };
	coppice_client_context named = ranked;
	named.names = brands;
	named.eligible = &brands[1];
	named.eligible_count = 1;
	check("named", coppice_client_decide(c, "r", coppice_id_number(4), &named, &action, &why));
	printf("%s %u\n", action.arm, (unsigned)action.action);
	const unsigned chosen = 2;
	const coppice_client_context caller = { .x = coppice_row_dense(x, 3), .caller = &chosen, .caller_p = 0.5 };
	check("caller", coppice_client_decide(c, "t", coppice_id_number(5), &caller, &action, &why));
	printf("%s %u %g\n", action.arm, (unsigned)action.action, action.p);
	check("value", coppice_client_decide(c, "v", coppice_id_number(2), &context, &action, &why));
	printf("%d\n", action.probe[0] != action.probe[1]);
	check("two", coppice_client_feedback_two(c, "v", coppice_id_number(2), losses, &result, &why));
	printf("%d\n", (int)result);
	const coppice_loss told[2] = { { "click", 1.0 }, { "seconds", 0.25 } }, nameless[1] = { { NULL, 1.0 } };
	coppice_call *call;
	check("losses", coppice_client_feedback_named(c, "s", coppice_id_number(6), told, 2, &result, &why));
	printf("%d\n", (int)result);
	check("decided", coppice_client_decide(c, "s", coppice_id_number(6), &context, &action, &why));
	puts("");
	check("begun", coppice_client_begin_feedback_named(c, "s", coppice_id_number(6), told, 2, &call, &why));
	check("", coppice_client_end_feedback(c, call, &result, &why));
	printf("%d\n", (int)result);
	refused("unknown loss", coppice_client_feedback_named(c, "m", coppice_id_number(6), told, 2, &result, &why));
	refused("no losses", coppice_client_feedback_named(c, "s", coppice_id_number(6), told, 0, &result, &why));
	refused("nameless", coppice_client_feedback_named(c, "s", coppice_id_number(6), nameless, 1, &result, &why));
	const coppice_id unit = coppice_id_text("somebody");
	const coppice_client_context whom = { .x = coppice_row_dense(x, 3), .unit = &unit };
	check("held", coppice_client_decide(c, "h", coppice_id_number(3), &whom, &action, &why));
	printf("%d %u %g %s\n", action.held, (unsigned)action.action, action.p,
	        action.limit == NULL ? "-" : action.limit);
	check("limit", coppice_client_decide(c, "l", coppice_id_number(3), &whom, &action, &why));
	printf("%u %g %s\n", (unsigned)action.action, action.p, action.limit == NULL ? "-" : action.limit);
}

static void errors(coppice_client *c)
{
	coppice_action action;
	coppice_client *none;
	char *text;
	const coppice_client_context context = { .x = coppice_row_dense(x, 2) };
	coppice_client_options options = { .endpoint = "nowhere" };
	refused("shape", coppice_client_decide(c, "m", coppice_id_text("x"), &context, &action, &why));
	refused("model", coppice_client_decide(c, "nobody", coppice_id_text("x"), &context, &action, &why));
	refused("id", coppice_client_decide(c, "m", coppice_id_text(""), &context, &action, &why));
	static const float far_too_many[600000], too_many[270000];
	const coppice_client_context cut = { .x = coppice_row_dense(far_too_many, 600000) },
	                             long_one = { .x = coppice_row_dense(too_many, 270000) };
	refused("too long", coppice_client_decide(c, "m", coppice_id_text("x"), &long_one, &action, &why));
	refused("cut", coppice_client_decide(c, "m", coppice_id_text("x"), &cut, &action, &why));
	const coppice_id empty = coppice_id_text("");
	const coppice_client_context nobody = { .x = coppice_row_dense(x, 3), .unit = &empty };
	refused("unit", coppice_client_decide(c, "m", coppice_id_text("x"), &nobody, &action, &why));
	refused("waits", coppice_client_explain(c, "m", coppice_id_text("nobody"), &text, &why));
	refused("endpoint", coppice_client_new(&options, &none, &why));
	options = (coppice_client_options){ .endpoint = "tcp://127.0.0.1:1", .key = "missing" };
	refused("keys", coppice_client_new(&options, &none, &why));
	options.server_key = "missing";
	refused("file", coppice_client_new(&options, &none, &why));
	options = (coppice_client_options){ .endpoint = "tcp://127.0.0.1:1", .timeout = 0.05 };
	check("nobody there", coppice_client_new(&options, &none, &why));
	puts("made");
	refused("timeout", coppice_client_status(none, "", &text, &why));
	coppice_client_free(none);
}

static void many(coppice_client *c)
{
	coppice_call *calls[MANY];
	coppice_action action;
	const coppice_client_context context = { .x = coppice_row_dense(x, 3) };
	size_t good = 0;
	for (size_t i = 0; i < MANY; i++)
		check("", coppice_client_begin_decide(c, "m", coppice_id_number(i), &context, &calls[i], &why));
	for (size_t i = 0; i < MANY; i++)
		good += coppice_client_end_decide(c, calls[i], &action, &why) == COPPICE_CLIENT_OK;
	for (size_t i = 0; i < MANY; i++)
		check("", coppice_client_begin_feedback(c, "m", coppice_id_number(i), 0.0, &calls[i], &why));
	for (size_t i = 0; i < MANY; i++)
		good += coppice_client_end_feedback(c, calls[i], NULL, &why) == COPPICE_CLIENT_OK;
	printf("\nmany: %zu\n", good);
}

static void streams(char **argv)
{
	coppice_publisher *contexts, *feedback;
	coppice_subscriber *actions;
	coppice_client_options options = { .endpoint = argv[2] };
	const coppice_client_context context = { .x = coppice_row_dense(x, 3) };
	check("contexts", coppice_publisher_new(&options, COPPICE_CONTEXTS, "web-1", &contexts, &why));
	options.endpoint = argv[3];
	check("feedback", coppice_publisher_new(&options, COPPICE_FEEDBACK, "web-1", &feedback, &why));
	options.endpoint = argv[4];
	check("actions", coppice_subscriber_new(&options, "m", &actions, &why));
	for (unsigned i = 0; i < MANY; i++)
		check("", coppice_publisher_context(contexts, "m", coppice_id_number(1000 + i), &context, &why));
	size_t good = 0;
	const coppice_loss click = { "click", 1.0 };
	check("", coppice_publisher_feedback_named(feedback, "s", coppice_id_number(7), &click, 1, &why));
	for (unsigned i = 0; i < MANY; i++) {
		coppice_id id;
		coppice_action action;
		check("", coppice_subscriber_next(actions, 60.0, &id, &action, &why));
		good += id.kind == COPPICE_ID_NUMBER && id.number == 1000 + i;
		check("", coppice_publisher_feedback(feedback, "m", id, 0.5, &why));
	}
	coppice_id id;
	coppice_action action;
	printf("\nstreamed: %zu\n", good);
	refused("no more", coppice_subscriber_next(actions, 0.01, &id, &action, &why));
	coppice_publisher_free(contexts);
	coppice_publisher_free(feedback);
	coppice_subscriber_free(actions);
}

int main(int argc, char **argv)
{
	coppice_client *client;
	const coppice_client_options options = { .endpoint = argc > 4 ? argv[1] : NULL };
	check("new", coppice_client_new(&options, &client, &why));
	puts("");
	arms(client);
	others(client);
	errors(client);
	many(client);
	streams(argv);
	coppice_client_free(client);
	coppice_client_free(NULL);
	return 0;
}
