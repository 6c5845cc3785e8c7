/* An entry with room left for the outer map is put while it fits; reading checks all entries when the set is opened, so
 * that a walk meets no malformed one. */
#include "wire/wire_models.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

/* Bytes for the outer map with its keys and counts. */
#define AROUND 64

enum {
	NAME,
	LEARNER,
	FEATURES,
	BITS,
	NONZEROS,
	ARMS,
	CANDIDATES,
	CANDIDATE_FEATURES,
	LOSSES,
	LOSSES_IN,
	VALUES_IN,
	DELTA,
	REWARD,
	WINDOW,
	DEFAULT,
	NAMED,
	APART,
	ANEW,
	BEGAN,
	KEYS
};

static const char *const names[KEYS] = { "name", "learner", "features", "bits", "max_nonzeros", "arms",
	"max_candidates", "candidate_features", "losses", "loss_range", "value_range", "delta", "reward",
	"reward_window", "default_loss", "named", "apart", "anew", "began" };

static const char *const rewards[COP_WIRE_REWARD_COUNT] = { "earliest", "last", "sum", "first" };

const char *cop_wire_models_reward_text(cop_wire_reward reward)
{
	return (unsigned)reward < COP_WIRE_REWARD_COUNT ? rewards[reward] : rewards[COP_WIRE_REWARD_EARLIEST];
}

/* ---- out ---- */

static void put_range(cop_bytes *bytes, const char *key, const double range[2])
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_array(bytes, 2);
	cop_wire_put_double(bytes, range[0]);
	cop_wire_put_double(bytes, range[1]);
}

static void put_context(cop_bytes *bytes, const cop_wire_model *model)
{
	if (model->features != 0) {
		cop_wire_put_key_unsigned(bytes, names[FEATURES], model->features);
		return;
	}
	cop_wire_put_key_unsigned(bytes, names[BITS], model->bits);
	cop_wire_put_key_unsigned(bytes, names[NONZEROS], model->max_nonzeros);
}

static void put_actions(cop_bytes *bytes, const cop_wire_model *model)
{
	if (model->arms != 0) {
		cop_wire_put_key_unsigned(bytes, names[ARMS], model->arms);
		return;
	}
	if (model->max_candidates != 0) {
		cop_wire_put_key_unsigned(bytes, names[CANDIDATES], model->max_candidates);
		if (model->features != 0)
			cop_wire_put_key_unsigned(bytes, names[CANDIDATE_FEATURES], model->candidate_features);
		return;
	}
	put_range(bytes, names[VALUES_IN], model->value_range);
	cop_wire_put_key_double(bytes, names[DELTA], model->delta);
}

static void put_named(cop_bytes *bytes, const cop_named_losses *losses)
{
	cop_wire_put_text(bytes, names[NAMED]);
	cop_wire_put_map(bytes, (size_t)losses->weights.count);
	for (size_t i = 0; i < losses->weights.count; i++) {
		double low, high;
		cop_named_losses_range(losses, i, &low, &high);
		cop_wire_put_text(bytes, losses->weights.name[i]);
		cop_wire_put_array(bytes, 3);
		cop_wire_put_double(bytes, losses->weights.weight[i]);
		cop_wire_put_double(bytes, low);
		cop_wire_put_double(bytes, high);
	}
}

/* What a record has of it beside. */
static void put_notes(cop_bytes *bytes, const cop_wire_model *model)
{
	if (model->apart)
		cop_wire_put_key_bool(bytes, names[APART], true);
	if (model->anew)
		cop_wire_put_key_bool(bytes, names[ANEW], true);
	if (model->has_began)
		cop_wire_put_key_unsigned(bytes, names[BEGAN], model->began);
}

static void put_model(cop_bytes *bytes, const cop_wire_model *model)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_text(bytes, names[NAME]);
	cop_wire_put_string(bytes, model->name, model->name_length);
	cop_wire_put_text(bytes, names[LEARNER]);
	cop_wire_put_string(bytes, model->learner, model->learner_length);
	put_context(bytes, model);
	put_actions(bytes, model);
	cop_wire_put_key_unsigned(bytes, names[LOSSES], model->losses);
	put_range(bytes, names[LOSSES_IN], model->loss_range);
	cop_wire_put_key_text(bytes, names[REWARD], cop_wire_models_reward_text(model->reward));
	cop_wire_put_key_double(bytes, names[WINDOW], model->reward_window);
	if (model->has_default_loss)
		cop_wire_put_key_double(bytes, names[DEFAULT], model->default_loss);
	if (model->named.put != NULL)
		put_named(bytes, model->named.put);
	put_notes(bytes, model);
	cop_wire_put_map_close(bytes, map);
}

size_t cop_wire_models_put(cop_bytes *bytes, const cop_wire_model *models, size_t count, size_t room)
{
	COP_ASSERT(room >= AROUND);
	size_t start = bytes->length;
	size_t put = 0;
	size_t outer = cop_wire_put_map_open(bytes);
	cop_wire_put_text(bytes, "models");
	size_t list = cop_wire_put_array_open(bytes);
	while (put < count && bytes->err == COP_OK) {
		size_t before = bytes->length;
		put_model(bytes, &models[put]);
		if (bytes->length - start > room - AROUND) {
			bytes->length = before;
			break;
		}
		put++;
	}
	cop_wire_put_array_close(bytes, list, put);
	if (put < count)
		cop_wire_put_key_unsigned(bytes, "left_out", count - put);
	cop_wire_put_map_close(bytes, outer);
	return put;
}

/* ---- in ---- */

static cop_err bad(cop_wire_fault *fault, const char *key, const char *expected)
{
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "models: %s: expected %s", key, expected);
}

static cop_err read_text(cop_wire_cursor *cursor, const char **text, size_t *length)
{
	cop_err err = cop_wire_cursor_string(cursor, text, length);
	return err == COP_OK && (*length == 0 || *length > COP_WIRE_MODEL_NAME) ? COP_EFORMAT : err;
}

static cop_err read_count(cop_wire_cursor *cursor, uint64_t least, uint64_t most, size_t *out)
{
	uint64_t word = 0;
	cop_err err = cop_wire_cursor_unsigned(cursor, &word);
	if (err == COP_OK && (word < least || word > most))
		err = COP_EFORMAT;
	*out = (size_t)word;
	return err;
}

static cop_err read_small(cop_wire_cursor *cursor, uint64_t most, unsigned *out)
{
	size_t word = 0;
	cop_err err = read_count(cursor, 1, most, &word);
	*out = (unsigned)word;
	return err;
}

static cop_err read_began(cop_wire_cursor *cursor, cop_wire_model *out)
{
	size_t word = 0;
	cop_err err = read_count(cursor, 0, UINT32_MAX, &word);
	out->has_began = true;
	out->began = (uint32_t)word;
	return err;
}

static cop_err read_range(cop_wire_cursor *cursor, double out[2])
{
	size_t count = 0;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && count != 2)
		err = COP_EFORMAT;
	for (size_t i = 0; i < 2 && err == COP_OK; i++)
		err = cop_wire_cursor_double(cursor, &out[i]);
	return err == COP_OK && !(out[0] < out[1]) ? COP_EFORMAT : err;
}

static cop_err read_positive(cop_wire_cursor *cursor, double *out)
{
	cop_err err = cop_wire_cursor_double(cursor, out);
	return err == COP_OK && !(*out > 0.0) ? COP_EFORMAT : err;
}

/* 0: a model of values that plays none beside its own, as a trained one. */
static cop_err read_delta(cop_wire_cursor *cursor, double *out)
{
	cop_err err = cop_wire_cursor_double(cursor, out);
	return err == COP_OK && !(*out >= 0.0) ? COP_EFORMAT : err;
}

static cop_err read_reward(cop_wire_cursor *cursor, cop_wire_reward *out)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return err;
	for (unsigned i = 0; i < COP_WIRE_REWARD_COUNT; i++) {
		if (strlen(rewards[i]) == length && memcmp(rewards[i], text, length) == 0) {
			*out = (cop_wire_reward)i;
			return COP_OK;
		}
	}
	return COP_EFORMAT;
}

/* One name with its weight and range, behind those of `out`. */
static cop_err read_named_loss(cop_wire_cursor *cursor, cop_named_losses *out)
{
	const char *name;
	size_t length, count = 0;
	double number[3] = { 0.0 };
	cop_err err = cop_wire_cursor_string(cursor, &name, &length);
	if (err == COP_OK)
		err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && count != 3)
		err = COP_EFORMAT;
	for (size_t i = 0; i < 3 && err == COP_OK; i++)
		err = cop_wire_cursor_double(cursor, &number[i]);
	if (err == COP_OK &&
	        (cop_named_losses_put_weight(&out->weights, name, length, number[0]) != NULL ||
	                cop_named_losses_put_range(&out->ranges, name, length, number[1], number[2]) != NULL))
		err = COP_EFORMAT;
	return err;
}

static cop_err read_named(cop_wire_cursor *cursor, cop_wire_model_losses *out)
{
	cop_named_losses losses = { .weights.count = 0 };
	cop_err err = cop_wire_cursor_map(cursor, &out->count);
	out->pairs = *cursor;
	for (size_t i = 0; i < out->count && err == COP_OK; i++)
		err = read_named_loss(cursor, &losses);
	return err;
}

void cop_wire_models_losses(const cop_wire_model *model, cop_named_losses *out)
{
	cop_wire_cursor cursor = model->named.pairs;
	*out = (cop_named_losses){ .weights.count = 0 };
	for (size_t i = 0; i < model->named.count; i++) {
		cop_err err = read_named_loss(&cursor, out);
		COP_ASSERT(err == COP_OK); /* it was checked */
	}
}

static cop_err read_field(cop_wire_cursor *cursor, unsigned which, cop_wire_model *out)
{
	switch (which) {
	case NAME:
		return read_text(cursor, &out->name, &out->name_length);
	case LEARNER:
		return read_text(cursor, &out->learner, &out->learner_length);
	case FEATURES:
		return read_count(cursor, 1, COP_WIRE_MODEL_WIDEST, &out->features);
	case BITS:
		return read_small(cursor, 31, &out->bits);
	case NONZEROS:
		return read_count(cursor, 1, COP_WIRE_MODEL_WIDEST, &out->max_nonzeros);
	case ARMS:
		return read_count(cursor, 1, COP_WIRE_MODEL_WIDEST, &out->arms);
	case CANDIDATES:
		return read_count(cursor, 1, COP_WIRE_MODEL_WIDEST, &out->max_candidates);
	case CANDIDATE_FEATURES:
		return read_count(cursor, 1, COP_WIRE_MODEL_WIDEST, &out->candidate_features);
	case LOSSES:
		return read_small(cursor, 2, &out->losses);
	case LOSSES_IN:
		return read_range(cursor, out->loss_range);
	case VALUES_IN:
		return read_range(cursor, out->value_range);
	case DELTA:
		return read_delta(cursor, &out->delta);
	case REWARD:
		return read_reward(cursor, &out->reward);
	case WINDOW:
		return read_positive(cursor, &out->reward_window);
	case NAMED:
		return read_named(cursor, &out->named);
	case APART:
		return cop_wire_cursor_bool(cursor, &out->apart);
	case ANEW:
		return cop_wire_cursor_bool(cursor, &out->anew);
	case BEGAN:
		return read_began(cursor, out);
	default:
		out->has_default_loss = true;
		return cop_wire_cursor_double(cursor, &out->default_loss);
	}
}

/* What must be there: an input of one kind and an action of one kind. */
static cop_err check(const cop_wire_keys *keys, cop_wire_fault *fault)
{
	const uint32_t always =
	        1u << NAME | 1u << LEARNER | 1u << LOSSES | 1u << LOSSES_IN | 1u << REWARD | 1u << WINDOW;
	const uint32_t sparse = 1u << BITS | 1u << NONZEROS;
	const uint32_t values = 1u << VALUES_IN | 1u << DELTA;
	bool dense = (keys->seen & 1u << FEATURES) != 0;
	bool arms = (keys->seen & 1u << ARMS) != 0;
	bool ranks = (keys->seen & 1u << CANDIDATES) != 0;
	bool sized = (keys->seen & 1u << CANDIDATE_FEATURES) != 0;
	if (dense && (keys->seen & sparse) != 0)
		return bad(fault, names[FEATURES], "no bits and max_nonzeros beside it");
	if (arms && (keys->seen & values) != 0)
		return bad(fault, names[ARMS], "no value_range and delta beside it");
	if (ranks && (arms || (keys->seen & values) != 0))
		return bad(fault, names[CANDIDATES], "no arms, value_range and delta beside it");
	if (sized != (ranks && dense))
		return bad(fault, names[CANDIDATE_FEATURES], "it beside max_candidates and features, and only there");
	return cop_wire_keys_need(keys, always | (dense ? 0 : sparse) | (arms || ranks ? 0 : values));
}

static cop_err read_model(cop_wire_cursor *cursor, cop_wire_model *out, cop_wire_fault *fault)
{
	cop_wire_keys keys;
	unsigned which;
	*out = (cop_wire_model){ .name = NULL };
	cop_err err = cop_wire_keys_open(&keys, cursor, names, KEYS, fault);
	if (err != COP_OK)
		return COP_EFORMAT;
	while ((err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		if (read_field(cursor, which, out) != COP_OK)
			return bad(fault, names[which], "another value");
	return err == COP_EEND ? check(&keys, fault) : COP_EFORMAT;
}

/* The one value at the cursor, which moves behind it, as a cursor of its own. */
static cop_err cut_value(cop_wire_cursor *cursor, cop_wire_cursor *value)
{
	const uint8_t *start = cursor->at;
	cop_err err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	if (err == COP_OK)
		cop_wire_cursor_init(value, start, (size_t)(cursor->at - start));
	return err;
}

static cop_err open_set(cop_wire_models *models, const void *data, size_t length, cop_wire_fault *fault)
{
	static const char *const keys_of_set[] = { "models", "left_out" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, data, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, keys_of_set, 2, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == 0)
			err = cut_value(&cursor, &models->cursor);
		else
			err = cop_wire_cursor_unsigned(&cursor, &models->left_out);
		if (err != COP_OK)
			return bad(fault, keys_of_set[which], "another value");
	}
	if (err == COP_EEND)
		err = cop_wire_keys_need(&keys, 1u);
	return err == COP_OK ? COP_OK : COP_EFORMAT;
}

cop_err cop_wire_models_open(cop_wire_models *models, const void *data, size_t length, cop_wire_fault *fault)
{
	*models = (cop_wire_models){ .left = 0 };
	if (length == 0)
		return COP_OK;
	cop_err err = open_set(models, data, length, fault);
	if (err == COP_OK && cop_wire_cursor_array(&models->cursor, &models->left) != COP_OK)
		err = bad(fault, "models", "an array");
	cop_wire_models walk = *models;
	cop_wire_model model;
	while (err == COP_OK)
		err = cop_wire_models_next(&walk, &model, fault);
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_wire_models_next(cop_wire_models *models, cop_wire_model *out, cop_wire_fault *fault)
{
	cop_wire_cursor value;
	if (models->left == 0)
		return COP_EEND;
	models->left--;
	if (cut_value(&models->cursor, &value) != COP_OK)
		return bad(fault, "models", "maps");
	return read_model(&value, out, fault);
}

void cop_wire_models_shape(const cop_wire_model *model, cop_wire_shape *shape)
{
	*shape = (cop_wire_shape){
		.features = model->features,
		.bits = model->bits,
		.max_nonzeros = model->max_nonzeros,
		.arms = model->arms,
		.losses = model->losses,
		.max_candidates = model->max_candidates,
		.candidate_features = model->candidate_features,
	};
}

bool cop_wire_models_same_shape(const cop_wire_model *a, const cop_wire_model *b)
{
	bool same = a->features == b->features && a->bits == b->bits && a->arms == b->arms && a->losses == b->losses &&
	            (a->max_candidates != 0) == (b->max_candidates != 0) &&
	            a->candidate_features == b->candidate_features && a->loss_range[0] == b->loss_range[0] &&
	            a->loss_range[1] == b->loss_range[1];
	return same && (a->arms != 0 || a->max_candidates != 0 ||
	                       (a->value_range[0] == b->value_range[0] && a->value_range[1] == b->value_range[1] &&
	                               a->delta == b->delta));
}
