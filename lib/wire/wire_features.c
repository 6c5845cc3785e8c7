/* Maps of names and numbers alone, of models whose names are no more than that, are read here (`flat`); where anything
 * else comes, the map is read again by wire_names, which takes every form.
 * Dense maps: the workspace is first filled with NaN, "not given yet", which no accepted value can be; so a second
 * value for one index is seen without further memory. Sparse maps: entries are collected as they come, sorted in place
 * by index (heap sort: no memory, and no order of keys makes it slow) and merged. */
#include "wire/wire_features.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "wire/wire_keys.h"
#include "wire/wire_names.h"

#define EXPECTED "an array of numbers, binary float32, or a map"

static cop_err refuse_shape(cop_wire_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

static cop_err refuse_shape(cop_wire_fault *fault, const char *format, ...)
{
	char text[160];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)cop_wire_fault_set(fault, COP_WIRE_BAD_FEATURES, "%s", text);
	return COP_ESHAPE;
}

static cop_err refuse_value(cop_wire_fault *fault, cop_err err, const cop_wire_cursor *cursor, size_t i)
{
	char path[32];
	(void)snprintf(path, sizeof path, "x[%zu]", i);
	return cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, path, "a number");
}

/* The key of a map's entry as a person would write it. */
static void key_path(char *out, size_t size, cop_wire_cursor key)
{
	const char *name;
	size_t length;
	uint64_t index;
	if (cop_wire_cursor_string(&key, &name, &length) == COP_OK) {
		char clean[80];
		cop_wire_text_clean(clean, sizeof clean, name, length);
		(void)snprintf(out, size, "x[\"%s\"]", clean);
	} else if (cop_wire_cursor_unsigned(&key, &index) == COP_OK) {
		(void)snprintf(out, size, "x[%llu]", (unsigned long long)index);
	} else {
		(void)snprintf(out, size, "x");
	}
}

/* How many values an array or packed binary holds; for the latter *packed points to them. */
static cop_err value_count(cop_wire_cursor *cursor, size_t *count, const uint8_t **packed, cop_wire_fault *fault)
{
	*packed = NULL;
	cop_err err = cop_wire_cursor_array(cursor, count);
	if (err == COP_EINVAL)
		err = cop_wire_cursor_binary(cursor, packed, count);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, "x", EXPECTED);
	if (*packed != NULL && *count % sizeof(float) != 0)
		return refuse_shape(fault, "x: got %zu bytes of binary, expected 4 for each float32", *count);
	if (*packed != NULL)
		*count /= sizeof(float);
	return COP_OK;
}

static cop_err read_values(
        cop_wire_cursor *cursor, const uint8_t *packed, float *out, size_t count, cop_wire_fault *fault)
{
	size_t bad = 0;
	cop_err err = packed != NULL ? cop_wire_cursor_packed(packed, out, count, &bad)
	                             : cop_wire_cursor_floats(cursor, out, count, &bad);
	return err == COP_OK ? COP_OK : refuse_value(fault, err, cursor, bad);
}

/* The first features, which no context lacks. */
static size_t known_of(const cop_wire_shape *shape)
{
	return shape->least_features != 0 ? shape->least_features : shape->features;
}

static cop_err refuse_count(const cop_wire_shape *shape, size_t count, cop_wire_fault *fault)
{
	if (known_of(shape) < shape->features)
		return refuse_shape(fault, "x: got %zu values, expected %zu, or fewer, down to %zu", count,
		        shape->features, known_of(shape));
	return refuse_shape(fault, "x: got %zu values, expected %zu", count, shape->features);
}

/* Whether what is no number among recorded values is unknown, and nothing else. */
static bool are_recorded(const cop_wire_shape *shape, const float *value, size_t count)
{
	bool all = shape->recorded;
	for (size_t i = 0; i < count && all; i++)
		all = isfinite(value[i]) || (isnan(value[i]) && i >= known_of(shape));
	return all;
}

static cop_err dense_values(cop_wire_cursor *cursor, const cop_wire_shape *shape, float *dense, cop_wire_fault *fault)
{
	size_t count;
	const uint8_t *packed;
	cop_err err = value_count(cursor, &count, &packed, fault);
	if (err != COP_OK)
		return err;
	if (count > shape->features || count < known_of(shape))
		return refuse_count(shape, count, fault);
	for (size_t i = count; i < shape->features; i++)
		dense[i] = NAN;
	err = read_values(cursor, packed, dense, count, fault);
	return err == COP_ENONFINITE && packed != NULL && are_recorded(shape, dense, count) ? COP_OK : err;
}

/* A name that is nothing but a feature's. */
static bool is_flat(const char *name, size_t length)
{
	return length > 0 && name[0] != '_' && memchr(name, '^', length) == NULL;
}

static bool is_number(const cop_wire_cursor *cursor)
{
	cop_wire_type type = cop_wire_cursor_peek(cursor);
	return type == COP_WIRE_TYPE_UNSIGNED || type == COP_WIRE_TYPE_NEGATIVE || type == COP_WIRE_TYPE_FLOAT;
}

/* A name that is hashed here, of a naming that keeps names. */
static void name_place(const cop_wire_naming *naming, uint32_t hash, size_t place, const char *name, size_t length)
{
	cop_place_names *names = cop_feature_space_names(naming->space);
	const cop_place_name whole = { .name = name, .name_length = length };
	if (names != NULL && cop_place_names_wants(names, (uint32_t)place))
		cop_place_names_meet(names, hash, &whole);
}

/* The index that a map's key means, below the dimension. COP_ENOTFOUND: it is for wire_names to read. */
static cop_err read_key(cop_wire_cursor *cursor, const cop_wire_shape *shape, const cop_wire_naming *naming,
        size_t *out, cop_wire_fault *fault)
{
	cop_wire_cursor key = *cursor;
	char path[120];
	uint64_t number;
	const char *name;
	size_t length;
	size_t d = shape->features != 0 ? shape->features : (size_t)1 << shape->bits;
	cop_err err = cop_wire_cursor_string(cursor, &name, &length);
	if (err == COP_OK && shape->features == 0) {
		if (naming != NULL && (!naming->plain || !is_flat(name, length) || !is_number(cursor)))
			return COP_ENOTFOUND;
		uint32_t hash = cop_hash_feature(name, length, 0);
		*out = hash & (d - 1);
		if (naming != NULL)
			name_place(naming, hash, *out, name, length);
		return COP_OK;
	}
	if (err == COP_OK) {
		if (naming != NULL && (!naming->strict || !is_number(cursor)))
			return COP_ENOTFOUND;
		if (naming != NULL && (*out = cop_wire_names_column(naming->space, name, length)) != SIZE_MAX)
			return COP_OK;
		key_path(path, sizeof path, key);
		return refuse_shape(fault, "%s: %s", path,
		        naming != NULL ? "no feature of the model has this name"
		                       : "the model has no feature names, expected indices");
	}
	if (err == COP_EINVAL)
		err = cop_wire_cursor_unsigned(cursor, &number);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, "x: key", "a name or an index");
	if (number >= d)
		return refuse_shape(fault, "x[%llu]: expected an index below %zu", (unsigned long long)number, d);
	*out = (size_t)number;
	return COP_OK;
}

/* One entry of a map. COP_ENOTFOUND: it is for wire_names to read. */
static cop_err read_entry(cop_wire_cursor *cursor, const cop_wire_shape *shape, const cop_wire_naming *naming,
        size_t *index, float *value, cop_wire_fault *fault)
{
	cop_wire_cursor key = *cursor;
	cop_err err = read_key(cursor, shape, naming, index, fault);
	if (err != COP_OK)
		return err;
	err = cop_wire_cursor_float(cursor, value);
	if (err != COP_OK) {
		char path[120];
		key_path(path, sizeof path, key);
		return cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, path, "a number");
	}
	return COP_OK;
}

static cop_err dense_map(cop_wire_cursor *cursor, const cop_wire_shape *shape, const cop_wire_workspace *workspace,
        cop_wire_fault *fault)
{
	float *dense = workspace->dense;
	size_t pairs;
	cop_err err = cop_wire_cursor_map(cursor, &pairs);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, "x", EXPECTED);
	for (size_t i = 0; i < shape->features; i++)
		dense[i] = NAN;
	while (pairs-- > 0) {
		cop_wire_cursor key = *cursor;
		size_t index;
		float value;
		err = read_entry(cursor, shape, shape->naming, &index, &value, fault);
		if (err != COP_OK)
			return err;
		if (!isnan(dense[index])) {
			char path[120];
			key_path(path, sizeof path, key);
			return refuse_shape(fault, "%s: feature %zu is given twice", path, index);
		}
		dense[index] = value;
	}
	for (size_t i = 0; i < (shape->recorded ? shape->features : known_of(shape)); i++)
		if (isnan(dense[i]))
			dense[i] = 0.0F;
	return COP_OK;
}

static void swap(uint32_t *index, float *value, size_t a, size_t b)
{
	uint32_t i = index[a];
	float v = value[a];
	index[a] = index[b];
	value[a] = value[b];
	index[b] = i;
	value[b] = v;
}

static void sift(uint32_t *index, float *value, size_t root, size_t n)
{
	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && index[child + 1] > index[child])
			child++;
		if (index[root] >= index[child])
			return;
		swap(index, value, root, child);
	}
}

static void sort_entries(uint32_t *index, float *value, size_t n)
{
	size_t sorted = 1;
	while (sorted < n && index[sorted - 1] <= index[sorted])
		sorted++;
	if (sorted >= n)
		return;
	for (size_t i = n / 2; i-- > 0;)
		sift(index, value, i, n);
	for (size_t last = n - 1; last > 0; last--) {
		swap(index, value, 0, last);
		sift(index, value, 0, last);
	}
}

/* Sums what shares an index and drops zeros; entries sorted. COP_ENONFINITE when a sum overflows, at *n.
 * COP_ENOTFOUND (ordered): three or more share one, whose sum depends on their order, which the sort has not kept. */
static cop_err merge_entries(uint32_t *index, float *value, size_t *n, bool ordered)
{
	size_t kept = 0;
	for (size_t i = 0; i < *n;) {
		uint32_t at = index[i];
		float sum = value[i++];
		if (ordered && i + 1 < *n && index[i + 1] == at)
			return COP_ENOTFOUND;
		while (i < *n && index[i] == at)
			sum += value[i++];
		if (!isfinite(sum)) {
			*n = at;
			return COP_ENONFINITE;
		}
		if (sum == 0.0F)
			continue;
		index[kept] = at;
		value[kept++] = sum;
	}
	*n = kept;
	return COP_OK;
}

static cop_err sparse_map(cop_wire_cursor *cursor, const cop_wire_shape *shape, const cop_wire_workspace *workspace,
        size_t *nnz, cop_wire_fault *fault)
{
	size_t pairs;
	cop_err err = cop_wire_cursor_map(cursor, &pairs);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, "x", EXPECTED);
	if (pairs > shape->max_nonzeros)
		return refuse_shape(fault, "x: got %zu entries, at most %zu allowed", pairs, shape->max_nonzeros);
	cop_place_names *names = shape->naming != NULL ? cop_feature_space_names(shape->naming->space) : NULL;
	if (names != NULL)
		cop_place_names_row(names);
	for (size_t i = 0; i < pairs; i++) {
		size_t index;
		err = read_entry(cursor, shape, shape->naming, &index, &workspace->value[i], fault);
		if (err != COP_OK)
			return err;
		workspace->index[i] = (uint32_t)index;
	}
	sort_entries(workspace->index, workspace->value, pairs);
	err = merge_entries(workspace->index, workspace->value, &pairs, shape->naming != NULL);
	if (err == COP_ENONFINITE) {
		(void)cop_wire_fault_set(fault, COP_WIRE_BAD_FEATURES,
		        "x: the sum of the entries that share index %zu is not a finite number", pairs);
		return err;
	}
	*nnz = pairs;
	return err;
}

static cop_err sparse_values(cop_wire_cursor *cursor, const cop_wire_shape *shape, const cop_wire_workspace *workspace,
        size_t *nnz, cop_wire_fault *fault)
{
	size_t count;
	const uint8_t *packed;
	cop_err err = value_count(cursor, &count, &packed, fault);
	if (err != COP_OK)
		return err;
	size_t most = (size_t)1 << shape->bits;
	most = shape->max_nonzeros < most ? shape->max_nonzeros : most;
	if (count > most)
		return refuse_shape(fault, "x: got %zu values, at most %zu allowed", count, most);
	err = read_values(cursor, packed, workspace->value, count, fault);
	if (err != COP_OK)
		return err;
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (workspace->value[i] == 0.0F)
			continue;
		workspace->index[kept] = (uint32_t)i;
		workspace->value[kept++] = workspace->value[i];
	}
	*nnz = kept;
	return COP_OK;
}

/* COP_ENOTFOUND: a map that only the naming understands. */
static cop_err read_flat(cop_wire_cursor *cursor, const cop_wire_shape *shape, const cop_wire_workspace *workspace,
        cop_row *row, cop_wire_fault *fault)
{
	bool map = cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_MAP;
	if (shape->features != 0) {
		*row = (cop_row){ .d = shape->features, .dense = workspace->dense };
		return map ? dense_map(cursor, shape, workspace, fault)
		           : dense_values(cursor, shape, workspace->dense, fault);
	}
	COP_ASSERT(shape->bits >= 1 && shape->bits <= 31);
	*row = (cop_row){ .d = (size_t)1 << shape->bits, .index = workspace->index, .value = workspace->value };
	return map ? sparse_map(cursor, shape, workspace, &row->nnz, fault)
	           : sparse_values(cursor, shape, workspace, &row->nnz, fault);
}

/* candidate: where its row will lie, if the naming reads it. */
static cop_err read_row(cop_wire_cursor *cursor, const cop_wire_shape *shape, const cop_wire_workspace *workspace,
        cop_feature_span *candidate, cop_row *row, cop_wire_fault *fault)
{
	const cop_wire_cursor start = *cursor;
	cop_err err = read_flat(cursor, shape, workspace, row, fault);
	if (err != COP_ENOTFOUND)
		return err;
	*cursor = start;
	return cop_wire_names_read(cursor, shape->naming, candidate, row, fault);
}

cop_err cop_wire_features_read(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_row *row, cop_wire_fault *fault)
{
	if (cop_wire_features_candidates_wait(shape)) /* what the last context shared is over */
		cop_feature_space_abandon(shape->naming->space);
	return read_row(cursor, shape, workspace, NULL, row, fault);
}

/* NULL: their features have no names. The contexts' are theirs, too, where there are as many, unless contexts were
 * given features, which may be unknown. */
static cop_wire_naming *naming_of_candidates(const cop_wire_shape *shape)
{
	cop_wire_naming *shared = shape->least_features == 0 ? shape->naming : NULL;
	cop_wire_naming *naming = shape->candidate_naming != NULL ? shape->candidate_naming : shared;
	bool fits = naming != NULL &&
	            (shape->features == 0 || cop_feature_space_dimension(naming->space) == shape->candidate_features);
	return fits ? naming : NULL;
}

/* The shape and room of candidate i, whose predecessors took `used` entries of the room. */
static void candidate_place(const cop_wire_shape *shape, const cop_wire_workspace *workspace, size_t used,
        cop_wire_shape *own, cop_wire_workspace *room)
{
	*own = (cop_wire_shape){
		.features = shape->candidate_features,
		.bits = shape->bits,
		.max_nonzeros = shape->max_nonzeros,
		.naming = naming_of_candidates(shape),
	};
	*room = (cop_wire_workspace){
		.dense = workspace->candidate_value + used,
		.value = workspace->candidate_value + used,
		.index = shape->features != 0 ? NULL : workspace->candidate_index + used,
	};
}

/* Messages about a candidate begin as those about a context do, with x. */
static void rename_x(cop_wire_fault *fault, const char *name)
{
	char text[sizeof fault->message];
	if (fault == NULL || fault->message[0] != 'x')
		return;
	(void)snprintf(text, sizeof text, "%s", fault->message + 1);
	(void)snprintf(fault->message, sizeof fault->message, "%s%.200s", name, text);
}

static cop_err check_ranks(const cop_wire_shape *shape, cop_wire_fault *fault)
{
	if (shape->max_candidates > 0)
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "c: the model has %s, expected no candidates",
	        shape->arms != 0 ? "arms" : "values");
}

bool cop_wire_features_candidates_wait(const cop_wire_shape *shape)
{
	return shape->naming != NULL && cop_feature_space_has_pairs(shape->naming->space);
}

static void begin_candidates(const cop_wire_shape *shape)
{
	cop_wire_naming *naming = naming_of_candidates(shape);
	if (naming != NULL)
		cop_feature_room_clear(&naming->own);
}

/* Their room has grown to what it is: now their rows stay where they are. */
static void settle_candidates(const cop_wire_shape *shape, const cop_wire_workspace *workspace, size_t count)
{
	const cop_wire_naming *naming = naming_of_candidates(shape);
	for (size_t i = 0; naming != NULL && i < count; i++)
		if (naming->span[i].start != SIZE_MAX)
			cop_feature_space_row(naming->space, &naming->own, &naming->span[i], &workspace->candidate[i]);
}

cop_err cop_wire_features_read_candidates(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, size_t *count, cop_wire_fault *fault)
{
	cop_err err = check_ranks(shape, fault);
	if (err != COP_OK)
		return err;
	err = cop_wire_cursor_array(cursor, count);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_FEATURES, err, cursor, "c", "an array of candidates");
	if (*count == 0 || *count > shape->max_candidates)
		return refuse_shape(fault, "c: got %zu candidates, expected 1 to %zu (max_candidates)", *count,
		        shape->max_candidates);
	size_t used = 0;
	const cop_wire_naming *naming = naming_of_candidates(shape);
	begin_candidates(shape);
	for (size_t i = 0; i < *count; i++) {
		cop_wire_shape own;
		cop_wire_workspace room;
		cop_row *row = &workspace->candidate[i];
		cop_feature_span nowhere = { 0 }, *span = naming != NULL ? &naming->span[i] : &nowhere;
		span->start = SIZE_MAX;
		candidate_place(shape, workspace, used, &own, &room);
		err = read_row(cursor, &own, &room, span, row, fault);
		if (err != COP_OK) {
			char name[32];
			(void)snprintf(name, sizeof name, "c[%zu]", i);
			rename_x(fault, name);
			return err;
		}
		used += span->start != SIZE_MAX ? 0 : row->dense != NULL ? row->d : row->nnz;
	}
	settle_candidates(shape, workspace, *count);
	return COP_OK;
}

cop_err cop_wire_features_read_candidate(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_row *row, cop_wire_fault *fault)
{
	cop_wire_shape own;
	cop_wire_workspace room;
	cop_err err = check_ranks(shape, fault);
	if (err != COP_OK)
		return err;
	cop_feature_span span;
	candidate_place(shape, workspace, 0, &own, &room);
	begin_candidates(shape);
	err = read_row(cursor, &own, &room, &span, row, fault);
	if (err != COP_OK)
		rename_x(fault, "c");
	return err;
}

/* The name at the cursor, which stands at path in the message, as an arm. */
static cop_err named_arm(
        cop_wire_cursor *cursor, const cop_name_table *names, const char *path, uint32_t *arm, cop_wire_fault *fault)
{
	const char *name;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &name, &length);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, path, "an arm's name");
	*arm = cop_name_table_find(names, 0, name, length);
	if (*arm != COP_NAME_NONE)
		return COP_OK;
	char clean[80];
	cop_wire_text_clean(clean, sizeof clean, name, length);
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%s: no arm has the name \"%s\"", path, clean);
}

cop_err cop_wire_features_read_action(
        cop_wire_cursor *cursor, const cop_wire_shape *shape, uint64_t *out, cop_wire_fault *fault)
{
	const cop_name_table *names = shape->arm_names;
	if (names != NULL && cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_STRING) {
		uint32_t arm = 0;
		cop_err err = named_arm(cursor, names, "a", &arm, fault);
		*out = arm;
		return err;
	}
	cop_err err = cop_wire_cursor_unsigned(cursor, out);
	if (err == COP_OK)
		return COP_OK;
	return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "a",
	        names != NULL ? "an arm's number or name" : "an arm's number");
}

static cop_err mask_bits(
        const uint8_t *bits, size_t length, size_t arms, const char *what, uint8_t *mask, cop_wire_fault *fault)
{
	if (length != (arms + 7) / 8)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "mask: got %zu bytes, expected %zu for %zu %ss",
		        length, (arms + 7) / 8, arms, what);
	if (arms % 8 != 0 && bits[length - 1] >> (arms % 8) != 0)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "mask: a bit beyond the last of %zu %ss is set", arms, what);
	for (size_t i = 0; i < arms; i++)
		mask[i] = bits[i / 8] >> (i % 8) & 1;
	return COP_OK;
}

static cop_err mask_array(
        cop_wire_cursor *cursor, size_t count, size_t arms, const char *what, uint8_t *mask, cop_wire_fault *fault)
{
	if (count != arms)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "mask: got %zu entries, expected %zu, one per %s", count, arms, what);
	for (size_t i = 0; i < arms; i++) {
		bool flag = false;
		uint64_t number = 0;
		cop_wire_cursor from = *cursor;
		cop_err err = cop_wire_cursor_bool(cursor, &flag);
		if (err == COP_OK)
			number = flag;
		else if (err == COP_EINVAL)
			err = cop_wire_cursor_unsigned(cursor, &number);
		if (err == COP_OK && number > 1)
			err = COP_EINVAL;
		if (err != COP_OK) {
			char path[40];
			(void)snprintf(path, sizeof path, "mask[%zu]", i);
			return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, &from, path, "a boolean, 0 or 1");
		}
		mask[i] = (uint8_t)number;
	}
	return COP_OK;
}

/* The count names of eligible arms; as many arms as the table has names. */
static cop_err mask_names(
        cop_wire_cursor *cursor, size_t count, const cop_name_table *names, uint8_t *mask, cop_wire_fault *fault)
{
	memset(mask, 0, names->count);
	for (size_t i = 0; i < count; i++) {
		uint32_t arm = 0;
		char path[40];
		(void)snprintf(path, sizeof path, "mask[%zu]", i);
		cop_err err = named_arm(cursor, names, path, &arm, fault);
		if (err != COP_OK)
			return err;
		if (mask[arm] != 0)
			return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
			        "%s: the name stands twice, expected each name once", path);
		mask[arm] = 1;
	}
	return COP_OK;
}

static cop_err read_mask(cop_wire_cursor *cursor, size_t count, uint8_t *mask, const char *what, cop_wire_fault *fault)
{
	size_t length;
	const uint8_t *bits = NULL;
	cop_err err = cop_wire_cursor_array(cursor, &length);
	if (err == COP_EINVAL)
		err = cop_wire_cursor_binary(cursor, &bits, &length);
	if (err != COP_OK)
		return cop_wire_refuse(
		        fault, COP_WIRE_BAD_REQUEST, err, cursor, "mask", "an array of booleans, or a binary bit set");
	err = bits != NULL ? mask_bits(bits, length, count, what, mask, fault)
	                   : mask_array(cursor, length, count, what, mask, fault);
	if (err != COP_OK)
		return err;
	if (memchr(mask, 1, count) == NULL)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "mask: no %s is eligible, expected at least one", what);
	return COP_OK;
}

/* A sender may not know yet of arms that were added: they are not eligible then. */
static cop_err read_arms(cop_wire_cursor *cursor, const cop_wire_shape *shape, uint8_t *mask, cop_wire_fault *fault)
{
	cop_wire_cursor ahead = *cursor;
	size_t count = shape->arms, given = 0;
	if (shape->least_mask != 0 && cop_wire_cursor_array(&ahead, &given) == COP_OK && given >= shape->least_mask &&
	        given < shape->arms) {
		count = given;
		memset(mask + count, 0, shape->arms - count);
	}
	return read_mask(cursor, count, mask, "arm", fault);
}

cop_err cop_wire_features_read_mask(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_fault *fault)
{
	if (shape->arms == 0)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "mask: the model has no arms");
	if (shape->arm_names != NULL && cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_ARRAY) {
		cop_wire_cursor inner = *cursor;
		size_t count = 0;
		cop_err err = cop_wire_cursor_array(&inner, &count);
		if (err == COP_OK && count > 0 && cop_wire_cursor_peek(&inner) == COP_WIRE_TYPE_STRING) {
			err = mask_names(&inner, count, shape->arm_names, workspace->mask, fault);
			*cursor = inner;
			return err;
		}
	}
	return read_arms(cursor, shape, workspace->mask, fault);
}

cop_err cop_wire_features_read_candidates_mask(
        cop_wire_cursor *cursor, size_t count, const cop_wire_workspace *workspace, cop_wire_fault *fault)
{
	return read_mask(cursor, count, workspace->mask, "candidate", fault);
}
