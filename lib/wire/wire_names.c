/* A walk over the map, one call for each map or array in it, at most COP_WIRE_NAMES_DEPTH in one another. The space
 * has one namespace entered at a time: before a feature is put, its own is entered again if another was since. */
#include "wire/wire_names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/wire_keys.h"

#define PATH_ROOM 96

/* A namespace. */
typedef struct group {
	const char *name;
	size_t length;
	size_t id;      /* from 1 in each row */
	size_t ordinal; /* of the next feature without a name */
} group;

typedef struct walk {
	cop_wire_naming *naming;
	cop_feature_space *space;
	cop_wire_cursor *cursor;
	cop_wire_fault *fault;
	size_t active, groups; /* the group whose namespace is entered (0: none), and how many there are */
} walk;

/* A key, as messages show it. */
typedef struct key {
	const char *name;
	size_t length;
} key;

cop_err cop_wire_names_new(cop_feature_space **space, size_t most, size_t candidates, cop_wire_naming **out)
{
	cop_wire_naming *naming = cop_mem_alloc(1, sizeof *naming);
	*out = NULL;
	if (naming == NULL) {
		cop_feature_space_free(*space);
		*space = NULL;
		return COP_ENOMEM;
	}
	naming->space = *space;
	*space = NULL;
	naming->most = cop_feature_space_is_dense(naming->space) ? SIZE_MAX : most;
	naming->plain = cop_feature_space_is_plain(naming->space);
	cop_bytes_init(&naming->text);
	naming->span = cop_mem_alloc(candidates, sizeof *naming->span);
	cop_err err = naming->span == NULL ? COP_ENOMEM : cop_feature_space_reserve(naming->space, most);
	if (err != COP_OK)
		cop_wire_names_free(naming);
	else
		*out = naming;
	return err;
}

cop_err cop_wire_names_new_list(const char *const *names, size_t count, size_t candidates, cop_wire_naming **out)
{
	const cop_feature_space_settings settings = { .dense = true };
	cop_feature_space *space;
	*out = NULL;
	cop_err err = cop_feature_space_new(&settings, &space, NULL);
	if (err == COP_OK)
		err = cop_feature_space_add_columns(space, names, count);
	if (err != COP_OK) {
		cop_feature_space_free(space);
		return err;
	}
	err = cop_wire_names_new(&space, count, candidates, out);
	if (err == COP_OK)
		(*out)->strict = true;
	return err;
}

void cop_wire_names_free(cop_wire_naming *naming)
{
	if (naming == NULL)
		return;
	cop_feature_space_free(naming->space);
	cop_bytes_fini(&naming->text);
	cop_feature_room_fini(&naming->shared);
	cop_feature_room_fini(&naming->own);
	cop_mem_free(naming->span);
	cop_mem_free(naming);
}

/* x, or x["NAME"]. */
static void path_of(const key *at, char out[PATH_ROOM])
{
	char clean[PATH_ROOM - 8] = "";
	if (at->name != NULL)
		cop_wire_text_clean(clean, sizeof clean, at->name, at->length);
	(void)snprintf(out, PATH_ROOM, at->name != NULL ? "x[\"%s\"]" : "x%s", clean);
}

static cop_err refuse(walk *w, const key *at, const char *format, ...) __attribute__((format(printf, 3, 4)));

static cop_err refuse(walk *w, const key *at, const char *format, ...)
{
	char text[160], path[PATH_ROOM];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	path_of(at, path);
	(void)cop_wire_fault_set(w->fault, COP_WIRE_BAD_FEATURES, "%s: %s", path, text);
	return COP_ESHAPE;
}

/* The value at the cursor is none of a feature. */
static cop_err refuse_value(walk *w, const key *at, cop_err err, const char *expected)
{
	char path[PATH_ROOM];
	path_of(at, path);
	return cop_wire_refuse(w->fault, COP_WIRE_BAD_FEATURES, err, w->cursor, path, expected);
}

static cop_err no_memory(walk *w)
{
	(void)cop_wire_fault_set(w->fault, COP_WIRE_INTERNAL, "x: %s", cop_err_text(COP_ENOMEM));
	return COP_ENOMEM;
}

static group enter(walk *w, const char *name, size_t length) { return (group){ name, length, ++w->groups, 0 }; }

static void use(walk *w, const group *g)
{
	if (w->active == g->id)
		return;
	w->active = g->id;
	cop_feature_space_namespace(w->space, g->name, g->length, 1.0);
}

/* After something was put: there must not be too much. */
static cop_err look(walk *w, const key *at)
{
	cop_err err = cop_feature_space_failure(w->space);
	if (err == COP_ENONFINITE)
		return refuse_value(w, at, err, "a number");
	if (cop_feature_space_features(w->space) > w->naming->most)
		return refuse(w, at, "more features than the model takes, at most %zu allowed", w->naming->most);
	return COP_OK;
}

static cop_err put(walk *w, const group *g, const key *at, double value)
{
	if (w->naming->strict && cop_feature_space_find(w->space, g->name, g->length, at->name, at->length) == SIZE_MAX)
		return refuse(w, at, "no feature of the model has this name");
	use(w, g);
	cop_feature_space_put(w->space, at->name, at->length, value);
	return look(w, at);
}

/* name + between + text into the naming's room. */
static bool join(walk *w, const key *at, const char *between, const char *text, size_t length, key *out)
{
	cop_bytes *whole = &w->naming->text;
	cop_bytes_clear(whole);
	cop_bytes_put(whole, at->name, at->length);
	cop_bytes_put(whole, between, strlen(between));
	cop_bytes_put(whole, text, length);
	*out = (key){ (const char *)whole->data, whole->length };
	return whole->err == COP_OK;
}

/* The column NAME=TEXT of a category, as trained models have them; else name + text, in which blanks, bars and colons
 * of the text become underscores. */
static cop_err put_string(walk *w, const group *g, const key *at)
{
	const char *text;
	size_t length;
	key whole;
	cop_bytes *both = &w->naming->text;
	if (w->naming->strict && cop_feature_space_find(w->space, g->name, g->length, at->name, at->length) != SIZE_MAX)
		return refuse_value(w, at, COP_EINVAL, "a number");
	cop_err err = cop_wire_cursor_string(w->cursor, &text, &length);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a string");
	if (cop_feature_space_is_dense(w->space)) {
		if (!join(w, at, "=", text, length, &whole))
			return no_memory(w);
		if (cop_feature_space_find(w->space, g->name, g->length, whole.name, whole.length) != SIZE_MAX)
			return put(w, g, &whole, 1.0);
	}
	if (!join(w, at, "", text, length, &whole))
		return no_memory(w);
	for (size_t i = at->length; i < both->length; i++)
		if (strchr(" \t|:", both->data[i]) != NULL && both->data[i] != '\0')
			both->data[i] = '_';
	return put(w, g, &whole, 1.0);
}

/* "_text": every word is a feature. */
static cop_err put_words(walk *w, const group *g, const key *at)
{
	const char *text;
	size_t length;
	cop_bytes *words = &w->naming->text;
	cop_err err = cop_wire_cursor_string(w->cursor, &text, &length);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a string");
	cop_bytes_clear(words);
	cop_bytes_put(words, text, length);
	if (words->err != COP_OK)
		return no_memory(w);
	char *data = (char *)words->data;
	for (size_t i = 0, start = 0; i <= length && err == COP_OK; i++) {
		if (i < length && (data[i] == ':' || data[i] == '|'))
			data[i] = '_';
		if (i < length && data[i] != ' ' && data[i] != '\t')
			continue;
		const key word = { data + start, i - start };
		if (i > start)
			err = put(w, g, &word, 1.0);
		start = i + 1;
	}
	return err;
}

/* ---- names at the top ---- */

/* NAMESPACE^FEATURE: the place of its '^'; NULL: there is none, or the dense space has the name as it is. */
static const char *caret(const cop_feature_space *space, const key *at)
{
	const char *end = at->name + at->length;
	const char *first = memchr(at->name, '^', at->length);
	if (first == NULL || !cop_feature_space_is_dense(space))
		return first;
	if (cop_feature_space_find(space, "", 0, at->name, at->length) != SIZE_MAX)
		return NULL;
	for (const char *c = first; c != NULL; c = memchr(c + 1, '^', (size_t)(end - c - 1)))
		if (cop_feature_space_find(space, at->name, (size_t)(c - at->name), c + 1, (size_t)(end - c - 1)) !=
		        SIZE_MAX)
			return c;
	return first;
}

size_t cop_wire_names_column(const cop_feature_space *space, const char *name, size_t length)
{
	const key at = { name, length };
	const char *c = caret(space, &at);
	if (c == NULL)
		return cop_feature_space_find(space, "", 0, name, length);
	return cop_feature_space_find(space, name, (size_t)(c - name), c + 1, (size_t)(name + length - c - 1));
}

/* A number behind NAMESPACE^FEATURE. Vowpal Wabbit's FEATURE:TEXT is a text, which hashes as one. */
static cop_err put_spelled(walk *w, const key *at, const char *c, double value)
{
	const char *end = at->name + at->length;
	const char *colon = memchr(c + 1, ':', (size_t)(end - c - 1));
	group g = enter(w, at->name, (size_t)(c - at->name));
	const key rest = { c + 1, (size_t)(end - c - 1) };
	if (colon == NULL || cop_feature_space_is_dense(w->space))
		return put(w, &g, &rest, value);
	cop_feature_space_namespace(w->space, g.name, g.length, value);
	w->active = 0;
	if (value != 0.0)
		cop_feature_space_put_text(
		        w->space, c + 1, (size_t)(colon - c - 1), colon + 1, (size_t)(end - colon - 1));
	return look(w, at);
}

/* ---- the walk ---- */

static cop_err read_map(walk *w, group *g, const key *at, unsigned depth);
static cop_err read_array(walk *w, group *g, const key *at, unsigned depth);

static cop_err read_number(walk *w, const group *g, const key *at, bool top)
{
	double value;
	cop_err err = cop_wire_cursor_double(w->cursor, &value);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a number");
	const char *c = top ? caret(w->space, at) : NULL;
	return c != NULL ? put_spelled(w, at, c, value) : put(w, g, at, value);
}

static cop_err read_bool(walk *w, const group *g, const key *at, bool top)
{
	bool value;
	cop_err err = cop_wire_cursor_bool(w->cursor, &value);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a boolean");
	const char *c = top ? caret(w->space, at) : NULL;
	if (!value)
		return COP_OK;
	return c != NULL ? put_spelled(w, at, c, 1.0) : put(w, g, at, 1.0);
}

static cop_err skip(walk *w, const key *at)
{
	cop_err err = cop_wire_cursor_skip(w->cursor, COP_WIRE_NAMES_DEPTH);
	return err == COP_OK ? COP_OK : refuse_value(w, at, err, "features");
}

/* A name that begins with an underscore; a dense space may have it of a log that is no dsjson. */
static cop_err read_special(walk *w, const group *g, const key *at, bool top)
{
	if (at->length == 5 && memcmp(at->name, "_text", 5) == 0)
		return put_words(w, g, at);
	if (at->length == 6 && memcmp(at->name, "_multi", 6) == 0)
		return refuse(w, at, "candidates have a key of their own, expected them in c");
	cop_wire_type type = cop_wire_cursor_peek(w->cursor);
	bool number = type == COP_WIRE_TYPE_UNSIGNED || type == COP_WIRE_TYPE_NEGATIVE || type == COP_WIRE_TYPE_FLOAT;
	if (top && number && cop_feature_space_is_dense(w->space) &&
	        cop_wire_names_column(w->space, at->name, at->length) != SIZE_MAX)
		return read_number(w, g, at, true);
	return skip(w, at);
}

static cop_err read_value(walk *w, group *g, const key *at, unsigned depth)
{
	group inner;
	switch (cop_wire_cursor_peek(w->cursor)) {
	case COP_WIRE_TYPE_STRING:
		return put_string(w, g, at);
	case COP_WIRE_TYPE_BOOL:
		return read_bool(w, g, at, depth == 0);
	case COP_WIRE_TYPE_NIL:
		return skip(w, at);
	case COP_WIRE_TYPE_MAP:
		inner = enter(w, at->name, at->length);
		return read_map(w, &inner, at, depth + 1);
	case COP_WIRE_TYPE_ARRAY:
		inner = enter(w, at->name, at->length);
		return read_array(w, &inner, at, depth + 1);
	default:
		return read_number(w, g, at, depth == 0);
	}
}

static cop_err read_place(walk *w, const key *at)
{
	uint64_t place;
	double value;
	size_t d = cop_feature_space_dimension(w->space);
	cop_err err = cop_wire_cursor_unsigned(w->cursor, &place);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a name or an index as a key");
	if (place >= d)
		return refuse(w, at, "index %llu, expected one below %zu", (unsigned long long)place, d);
	err = cop_wire_cursor_double(w->cursor, &value);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a number behind an index");
	cop_feature_space_put_place(w->space, (size_t)place, value);
	return look(w, at);
}

static cop_err read_member(walk *w, group *g, const key *at, unsigned depth)
{
	key name = { NULL, 0 };
	cop_err err = cop_wire_cursor_string(w->cursor, &name.name, &name.length);
	if (err == COP_EINVAL && depth == 0)
		return read_place(w, at);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a name as a key");
	if (name.length > 0 && name.name[0] == '_')
		return read_special(w, g, &name, depth == 0);
	return read_value(w, g, &name, depth);
}

static cop_err read_map(walk *w, group *g, const key *at, unsigned depth)
{
	size_t left;
	if (depth > COP_WIRE_NAMES_DEPTH)
		return refuse(w, at, "nested too deeply, at most %d maps or arrays in one another allowed",
		        COP_WIRE_NAMES_DEPTH);
	cop_err err = cop_wire_cursor_map(w->cursor, &left);
	if (err != COP_OK)
		return refuse_value(w, at, err, "a map");
	while (left-- > 0 && err == COP_OK)
		err = read_member(w, g, at, depth);
	return err;
}

static cop_err read_element(walk *w, group *g, const key *at, unsigned depth)
{
	double value;
	cop_wire_type type = cop_wire_cursor_peek(w->cursor);
	if (type == COP_WIRE_TYPE_MAP)
		return read_map(w, g, at, depth + 1);
	if (type == COP_WIRE_TYPE_NIL)
		return skip(w, at);
	cop_err err = cop_wire_cursor_double(w->cursor, &value);
	if (err != COP_OK)
		return refuse_value(w, at, err, "numbers or maps in an array of features");
	use(w, g);
	cop_feature_space_put_unnamed(w->space, g->ordinal++, value);
	return look(w, at);
}

static cop_err read_array(walk *w, group *g, const key *at, unsigned depth)
{
	size_t left;
	if (depth > COP_WIRE_NAMES_DEPTH)
		return refuse(w, at, "nested too deeply, at most %d maps or arrays in one another allowed",
		        COP_WIRE_NAMES_DEPTH);
	cop_err err = cop_wire_cursor_array(w->cursor, &left);
	if (err != COP_OK)
		return refuse_value(w, at, err, "an array");
	while (left-- > 0 && err == COP_OK)
		err = read_element(w, g, at, depth);
	return err;
}

/* The space's row, which the walk has filled. */
static cop_err finish(walk *w, cop_feature_room *room, cop_feature_span *span, cop_row *row)
{
	const key whole = { NULL, 0 };
	size_t features;
	cop_err err = cop_feature_space_end(w->space, room, span, &features);
	if (err == COP_ENONFINITE) {
		(void)cop_wire_fault_set(w->fault, COP_WIRE_BAD_FEATURES,
		        "x: a feature, or the sum or product of some, is not a finite number");
		return err;
	}
	if (err == COP_EFULL)
		return refuse(w, &whole, "more features than a row can have, at most %u allowed",
		        COP_FEATURE_SPACE_MAX_ENTRIES);
	if (err != COP_OK)
		return no_memory(w);
	cop_feature_space_row(w->space, room, span, row);
	if (row->dense == NULL && row->nnz > w->naming->most)
		return refuse(
		        w, &whole, "%zu features with their products, at most %zu allowed", row->nnz, w->naming->most);
	return COP_OK;
}

cop_err cop_wire_names_read(cop_wire_cursor *cursor, cop_wire_naming *naming, cop_feature_span *candidate, cop_row *row,
        cop_wire_fault *fault)
{
	walk w = { .naming = naming, .space = naming->space, .cursor = cursor, .fault = fault, .groups = 1 };
	group top = { "", 0, 1, 0 };
	const key whole = { NULL, 0 };
	cop_feature_span span;
	if (candidate != NULL) {
		cop_feature_space_begin_candidate(w.space);
	} else {
		cop_feature_room_clear(&naming->shared);
		cop_feature_space_begin(w.space);
	}
	cop_err err = read_map(&w, &top, &whole, 0);
	if (err != COP_OK) {
		cop_feature_space_abandon(w.space);
		return err;
	}
	return candidate != NULL ? finish(&w, &naming->own, candidate, row) : finish(&w, &naming->shared, &span, row);
}
