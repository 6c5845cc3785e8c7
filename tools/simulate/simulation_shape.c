/* The daemon's status is read as JSON; keys that an older daemon does not send are not compared. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "simulation.h"
#include "clients/c/client.h"
#include "wire/wire_json.h"

typedef struct comparison {
	const cop_sim_endpoints *set;
	const cop_json *model;
	cop_diag *diag;
} comparison;

static cop_err differs(const comparison *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static cop_err differs(const comparison *c, const char *format, ...)
{
	char what[256];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(what, sizeof what, format, args);
	va_end(args);
	cop_diag_of(c->diag, c->set->requests, "model '%s' %s", c->set->model, what);
	return COP_ESHAPE;
}

static const char *text_of(const comparison *c, const char *key)
{
	const char *text;
	return cop_json_get_text(cop_json_member(c->model, key), &text, NULL) == COP_OK ? text : "";
}

/* A count that the status has. */
static bool count_of(const comparison *c, const char *key, size_t *out)
{
	int64_t whole;
	bool there = cop_json_get_integer(cop_json_member(c->model, key), &whole) == COP_OK && whole >= 0;
	if (there)
		*out = (size_t)whole;
	return there;
}

/* A sparse model takes dense rows too, and a dense one sparse rows as long as their indices are its own. */
static cop_err compare_features(const comparison *c, const cop_sim_shape *shape)
{
	size_t features;
	size_t bits;
	if (!count_of(c, "features", &features))
		return COP_OK;
	if (features != 0 && shape->features != 0 && features != shape->features)
		return differs(c, "has %zu features, the rows have %zu", features, shape->features);
	if (shape->features != 0 || !count_of(c, "bits", &bits))
		return COP_OK;
	if (shape->bits_given ? bits != shape->bits : bits < shape->bits)
		return differs(c, "has bits = %zu, expected %u%s", bits, shape->bits,
		        shape->bits_given ? " (--bits)" : " or more for these rows");
	return COP_OK;
}

static cop_err compare_arms(const comparison *c, const cop_sim_shape *shape)
{
	size_t arms;
	if (count_of(c, "arms", &arms) && arms < shape->arms)
		return differs(
		        c, "has %zu arms, the rows have %zu classes (numbers need --learner value)", arms, shape->arms);
	return COP_OK;
}

static cop_err compare_candidates(const comparison *c, const cop_sim_shape *shape)
{
	size_t most;
	size_t features;
	if (count_of(c, "max_candidates", &most) && most < shape->candidates)
		return differs(
		        c, "takes %zu candidates (max_candidates), expected %zu or more", most, shape->candidates);
	if (shape->features != 0 && count_of(c, "candidate_features", &features) && features != 0 &&
	        features != shape->candidate_features)
		return differs(c, "has candidate_features = %zu, the candidates have %zu", features,
		        shape->candidate_features);
	return COP_OK;
}

static cop_err compare_feedback(const comparison *c, cop_sim_shape *shape)
{
	const char *feedback = text_of(c, "feedback_points");
	if (feedback[0] == '\0')
		return COP_OK;
	const char *said = cop_value_feedback_words[shape->feedback];
	if (shape->feedback_given && strcmp(feedback, said) != 0)
		return differs(c, "has feedback = \"%s\", --feedback is %s", feedback, said);
	for (int i = 0; i < COP_VALUE_FEEDBACKS; i++)
		if (strcmp(feedback, cop_value_feedback_words[i]) == 0)
			shape->feedback = (cop_value_feedback)i;
	return COP_OK;
}

static cop_err compare_range(const comparison *c, cop_sim_shape *shape)
{
	const cop_json *range = cop_json_member(c->model, "value_range");
	double low;
	double high;
	double delta;
	if (cop_json_get_number(cop_json_element(range, 0), &low) != COP_OK ||
	        cop_json_get_number(cop_json_element(range, 1), &high) != COP_OK)
		return COP_OK;
	if (shape->range_given && (low != shape->low || high != shape->high))
		return differs(
		        c, "has value_range = { %g, %g }, --value-range is %g,%g", low, high, shape->low, shape->high);
	shape->low = low;
	shape->high = high;
	if (shape->delta > 0.0 && cop_json_get_number(cop_json_member(c->model, "delta"), &delta) == COP_OK &&
	        fabs(delta - shape->delta * (high - low)) > 1e-6 * delta)
		return differs(c, "has delta = %g, --delta %g of its range is %g", delta, shape->delta,
		        shape->delta * (high - low));
	return COP_OK;
}

static cop_err compare(const comparison *c, cop_sim_shape *shape)
{
	bool values = strcmp(text_of(c, "learner"), "value") == 0;
	if (values != shape->values)
		return differs(c, values ? "learns values, expected arms (--learner value?)"
		                         : "has arms, expected values (without --learner value?)");
	bool ranks = strcmp(text_of(c, "learner"), "rank") == 0;
	if (ranks != (shape->candidates > 0))
		return differs(c, ranks ? "ranks candidates, expected arms (--learner rank?)"
		                        : "has arms, expected candidates (without --learner rank?)");
	cop_err err = compare_features(c, shape);
	if (ranks)
		return err == COP_OK ? compare_candidates(c, shape) : err;
	if (!values)
		return err == COP_OK ? compare_arms(c, shape) : err;
	if (err == COP_OK)
		err = compare_feedback(c, shape);
	return err == COP_OK ? compare_range(c, shape) : err;
}

cop_err cop_sim_live_fit(const cop_sim_endpoints *endpoints, cop_sim_shape *shape, cop_diag *diag)
{
	cop_client *client;
	cop_client_reply reply;
	cop_bytes text;
	cop_json *status = NULL;
	cop_bytes_init(&text);
	cop_err err = cop_client_open(endpoints->requests, endpoints->timeout, &client, diag);
	if (err == COP_OK)
		err = cop_client_request(client, "status", endpoints->model, "\x80", 1, &reply, diag);
	if (err == COP_OK) {
		err = cop_wire_json(&text, reply.body, reply.length, 0);
		if (err == COP_OK)
			err = cop_json_parse((const char *)text.data, text.length, &status, NULL);
		if (err != COP_OK)
			cop_diag_of(diag, endpoints->requests, "its status cannot be read: %s", cop_err_text(err));
	}
	const cop_json *models = cop_json_member(status, "models");
	if (err == COP_OK && cop_json_size(models) == 1) {
		comparison c = { .set = endpoints, .model = cop_json_element(models, 0), .diag = diag };
		err = compare(&c, shape);
	}
	cop_json_free(status);
	cop_bytes_fini(&text);
	cop_client_close(client);
	return err;
}
