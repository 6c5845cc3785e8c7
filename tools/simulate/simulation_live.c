/* The daemon sees exactly the sequence of calls that cop_sim_local makes. Through requests each event waits for its
 * action and each feedback for its result. On streams, where an action may be lost, a context whose action does not
 * come is published again, and the daemon repeats its first decision; and as a context could overtake the feedback
 * published before it, the daemon's count of received feedback (in its status) is waited for first. */
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/mem.h"
#include "simulation.h"
#include "clients/c/client.h"
#include "clients/c/client_streams.h"
#include "tools/common/command.h"
#include "wire/wire_context.h"
#include "wire/wire_feedback.h"
#include "wire/wire_items.h"
#include "wire/wire_reply.h"

#define PATIENCE      0.25 /* seconds until a context is published again, doubled each time up to: */
#define PATIENCE_MOST 1.0
#define CONTEXT_NAME  "coppice.simulate.contexts"
#define FEEDBACK_NAME "coppice.simulate.feedback"
#define EAGER         50 /* times that the status is asked for without a pause */

typedef struct live {
	cop_sim_endpoints set;
	cop_client *client;
	cop_streams *streams; /* NULL: requests only */
	cop_bytes body;
	uint64_t contexts_sent, feedback_sent;
	uint64_t feedback_seen; /* of feedback_sent, known to have arrived */
	uint64_t feedback_base; /* the daemon's count when this began */
} live;

static cop_err complain(const live *l, cop_err err, const char *what, cop_diag *diag)
{
	cop_diag_of(diag, l->set.requests, "model '%s': %s", l->set.model, what);
	return err;
}

static cop_err request(live *l, const char *verb, cop_client_reply *reply, cop_diag *diag)
{
	if (l->body.err != COP_OK)
		return complain(l, l->body.err, cop_err_text(l->body.err), diag);
	return cop_client_request(l->client, verb, l->set.model, l->body.data, l->body.length, reply, diag);
}

/* ---- the daemon's count of feedback received on streams, from its status ---- */

/* The value of a key of the map at the cursor; false when it is not there. */
static bool find_key(cop_wire_cursor map, const char *key, cop_wire_cursor *out)
{
	const char *names[] = { key };
	cop_wire_keys keys;
	unsigned which;
	if (cop_wire_keys_open(&keys, &map, names, 1, NULL) != COP_OK || cop_wire_keys_next(&keys, &which) != COP_OK)
		return false;
	*out = map;
	return true;
}

static cop_err feedback_received(live *l, uint64_t *out, cop_diag *diag)
{
	cop_client_reply reply;
	cop_err err = cop_client_request(l->client, "status", l->set.model, "\x80", 1, &reply, diag);
	if (err != COP_OK)
		return err;
	cop_wire_cursor at;
	size_t count;
	cop_wire_cursor_init(&at, reply.body, reply.length);
	if (find_key(at, "models", &at) && cop_wire_cursor_array(&at, &count) == COP_OK && count == 1 &&
	        find_key(at, "feedback_stream", &at) && find_key(at, "received", &at) &&
	        cop_wire_cursor_unsigned(&at, out) == COP_OK)
		return COP_OK;
	return complain(l, COP_EFORMAT, "its status lacks how much feedback was received", diag);
}

/* Until the daemon has received all published feedback. */
static cop_err settle(live *l, cop_diag *diag)
{
	if (l->streams == NULL || l->feedback_seen == l->feedback_sent)
		return COP_OK;
	double deadline = cop_command_now() + l->set.timeout;
	for (unsigned tries = 0;; tries++) {
		uint64_t received;
		cop_err err = feedback_received(l, &received, diag);
		if (err != COP_OK)
			return err;
		uint64_t arrived = received - l->feedback_base;
		if (arrived >= l->feedback_sent) {
			l->feedback_seen = l->feedback_sent;
			return COP_OK;
		}
		if (arrived > l->feedback_seen) {
			l->feedback_seen = arrived;
			deadline = cop_command_now() + l->set.timeout;
		}
		if (cop_command_now() >= deadline) {
			cop_diag_of(diag, l->set.feedback,
			        "%" PRIu64 " of %" PRIu64 " feedback messages did not arrive",
			        l->feedback_sent - arrived, l->feedback_sent);
			return COP_EEND;
		}
		if (tries >= EAGER)
			(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* ---- the three calls ---- */

static double unscaled(const live *l, double value)
{
	return (value - l->set.value_low) / (l->set.value_high - l->set.value_low);
}

static cop_err take_action(const live *l, const cop_wire_action *action, cop_decision *out, cop_diag *diag)
{
	unsigned probes = action->value ? action->probes : 0;
	if (probes != l->set.probes)
		return complain(l, COP_EINVAL,
		        probes == 0          ? "it answers with arms, expected values (without --learner value)?"
		        : l->set.probes == 0 ? "it answers with values, expected arms (--learner value?)"
		        : probes == 1        ? "it gives one probe, expected two (--feedback one?)"
		                             : "it gives two probes, expected one (--feedback two?)",
		        diag);
	*out = (cop_decision){
		.arm = (uint32_t)action->a, .greedy = action->greedy, .p = action->p, .rev = action->rev
	};
	if (!action->value)
		return COP_OK;
	out->p = 1.0;
	out->y = unscaled(l, action->y);
	for (unsigned i = 0; i < probes; i++)
		out->probe[i] = unscaled(l, action->probe[i]);
	return COP_OK;
}

static void put_context(live *l, const cop_event_id *id, const cop_row *x)
{
	const cop_sim_items *items = l->set.items;
	cop_wire_context context = { .has_x = true, .x = *x, .candidate = items->row, .candidates = items->count };
	if (id != NULL)
		context.id = *id;
	if (id != NULL && l->streams != NULL)
		context.source = (cop_wire_source){
			.name = CONTEXT_NAME, .length = sizeof CONTEXT_NAME - 1, .n = l->contexts_sent++, .has_n = true
		};
	cop_bytes_clear(&l->body);
	cop_wire_context_put(&l->body, &context, COP_WIRE_FORM_PACKED);
}

static cop_err decide_requested(
        live *l, const cop_event_id *id, const cop_row *x, cop_wire_action *action, cop_diag *diag)
{
	cop_client_reply reply;
	cop_wire_fault fault;
	put_context(l, id, x);
	cop_err err = request(l, l->set.items->count > 0 ? "rank" : "decide", &reply, diag);
	if (err != COP_OK)
		return err;
	err = cop_wire_reply_action_decode(reply.body, reply.length, action, &fault);
	if (err != COP_OK)
		return complain(l, err, fault.message, diag);
	return cop_event_id_equal(&action->id, id) ? COP_OK
	                                           : complain(l, COP_EFORMAT, "the action has another id", diag);
}

/* The action with this id within `seconds`, others passed over. COP_EEND: none. */
static cop_err await_action(live *l, const cop_event_id *id, double seconds, cop_wire_action *action, cop_diag *diag)
{
	for (double deadline = cop_command_now() + seconds;;) {
		const uint8_t *body;
		size_t length;
		cop_wire_items items;
		cop_err err = cop_client_streams_action(l->streams, deadline - cop_command_now(), &body, &length, diag);
		if (err != COP_OK)
			return err;
		if (cop_wire_items_stream(&items, body, length, NULL) != COP_OK)
			continue;
		const void *item;
		while (cop_wire_items_next(&items, &item, &length))
			if (cop_wire_reply_action_decode(item, length, action, NULL) == COP_OK &&
			        cop_event_id_equal(&action->id, id))
				return COP_OK;
	}
}

static cop_err decide_streamed(
        live *l, const cop_event_id *id, const cop_row *x, cop_wire_action *action, cop_diag *diag)
{
	double patience = PATIENCE;
	cop_err err = settle(l, diag);
	if (err != COP_OK)
		return err;
	for (double waited = 0.0; waited < l->set.timeout; waited += patience, patience *= 2.0) {
		patience = fmin(patience, PATIENCE_MOST);
		put_context(l, id, x);
		err = l->body.err;
		if (err != COP_OK)
			return complain(l, err, cop_err_text(err), diag);
		err = cop_client_streams_context(l->streams, l->body.data, l->body.length, diag);
		if (err == COP_OK)
			err = await_action(l, id, patience, action, diag);
		if (err != COP_EEND)
			return err;
	}
	cop_diag_of(diag, l->set.actions,
	        "model '%s': no action within %g s; the daemon's log has a line if it refused the context",
	        l->set.model, l->set.timeout);
	return COP_EEND;
}

static cop_err decide(void *state, uint64_t id, const cop_row *x, cop_decision *out, cop_diag *diag)
{
	live *l = state;
	cop_event_id name;
	cop_wire_action action;
	cop_event_id_from_unsigned(&name, l->set.first_id + id);
	cop_err err = l->streams != NULL ? decide_streamed(l, &name, x, &action, diag)
	                                 : decide_requested(l, &name, x, &action, diag);
	return err != COP_OK ? err : take_action(l, &action, out, diag);
}

static cop_err feedback_streamed(live *l, cop_diag *diag)
{
	cop_err err = cop_client_streams_feedback(l->streams, l->body.data, l->body.length, diag);
	l->feedback_sent += err == COP_OK;
	return err;
}

static cop_err feedback(void *state, uint64_t id, const double *loss, size_t count, cop_diag *diag)
{
	live *l = state;
	cop_wire_feedback message = { .losses = (unsigned)count };
	cop_event_id_from_unsigned(&message.id, l->set.first_id + id);
	for (size_t i = 0; i < count; i++)
		message.loss[i] = loss[i];
	if (l->streams != NULL)
		message.source = (cop_wire_source){
			.name = FEEDBACK_NAME, .length = sizeof FEEDBACK_NAME - 1, .n = l->feedback_sent, .has_n = true
		};
	cop_bytes_clear(&l->body);
	cop_wire_feedback_put(&l->body, &message, COP_WIRE_FORM_PACKED);
	if (l->body.err != COP_OK)
		return complain(l, l->body.err, cop_err_text(l->body.err), diag);
	if (l->streams != NULL)
		return feedback_streamed(l, diag);
	cop_client_reply reply;
	cop_wire_fault fault;
	cop_event_id answered;
	cop_wire_result result;
	cop_wire_seq seq;
	cop_err err = request(l, "feedback", &reply, diag);
	if (err != COP_OK)
		return err;
	err = cop_wire_reply_result_decode(reply.body, reply.length, &answered, &result, &seq, &fault);
	if (err != COP_OK)
		return complain(l, err, fault.message, diag);
	if (result == COP_WIRE_APPLIED || result == COP_WIRE_RECORDED)
		return COP_OK;
	cop_diag_of(diag, l->set.requests, "feedback for id %" PRIu64 ": %s, expected applied or recorded",
	        l->set.first_id + id, cop_wire_result_text(result));
	return COP_EINVAL;
}

static cop_err greedy(void *state, const cop_row *x, double *out, cop_diag *diag)
{
	live *l = state;
	cop_client_reply reply;
	cop_err err = settle(l, diag);
	if (err != COP_OK)
		return err;
	put_context(l, NULL, x);
	err = request(l, "explain", &reply, diag);
	if (err != COP_OK)
		return err;
	cop_wire_cursor at;
	cop_wire_cursor_init(&at, reply.body, reply.length);
	if (!find_key(at, l->set.probes > 0 ? "y" : "a", &at) || cop_wire_cursor_double(&at, out) != COP_OK)
		return complain(l, COP_EFORMAT, "its explanation has no action of the expected kind", diag);
	if (l->set.probes > 0)
		*out = unscaled(l, *out);
	return COP_OK;
}

static void close_live(void *state)
{
	live *l = state;
	cop_client_streams_close(l->streams);
	cop_client_close(l->client);
	cop_bytes_fini(&l->body);
	cop_mem_free(l);
}

static cop_err open_streams(live *l, cop_diag *diag)
{
	cop_streams_settings settings = {
		.contexts = l->set.contexts,
		.feedback = l->set.feedback,
		.actions = l->set.actions,
		.model = l->set.model,
		.timeout = l->set.timeout,
	};
	cop_err err = feedback_received(l, &l->feedback_base, diag);
	return err != COP_OK ? err : cop_client_streams_open(&settings, &l->streams, diag);
}

cop_err cop_sim_live(const cop_sim_endpoints *endpoints, cop_sim_backend *out, cop_diag *diag)
{
	live *l = cop_mem_alloc(1, sizeof *l);
	if (l == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	l->set = *endpoints;
	cop_bytes_init(&l->body);
	cop_err err = cop_client_open(endpoints->requests, endpoints->timeout, &l->client, diag);
	if (err == COP_OK && endpoints->contexts != NULL)
		err = open_streams(l, diag);
	if (err != COP_OK) {
		close_live(l);
		return err;
	}
	*out = (cop_sim_backend){
		.state = l, .decide = decide, .feedback = feedback, .greedy = greedy, .close = close_live
	};
	return COP_OK;
}
