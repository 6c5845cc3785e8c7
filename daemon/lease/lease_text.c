/* The gateway's names are those of etcd's protocol buffers. */
#include "daemon/lease/lease_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#define ENCODED ((COP_LEASE_TEXT_KEY + 2) / 3 * 4 + 1)

/* Texts longer than COP_LEASE_TEXT_KEY are cut. */
static void encode(const char *text, char out[ENCODED])
{
	size_t length = strnlen(text, COP_LEASE_TEXT_KEY), put = 0;
	for (size_t i = 0; i < length; i += 3) {
		uint32_t bits = (uint32_t)(uint8_t)text[i] << 16;
		if (i + 1 < length)
			bits |= (uint32_t)(uint8_t)text[i + 1] << 8;
		if (i + 2 < length)
			bits |= (uint8_t)text[i + 2];
		out[put++] = letters[bits >> 18];
		out[put++] = letters[bits >> 12 & 63];
		out[put++] = i + 1 < length ? letters[bits >> 6 & 63] : '=';
		out[put++] = i + 2 < length ? letters[bits & 63] : '=';
	}
	out[put] = '\0';
}

/* Terminated; what is no letter is passed over. */
static void decode(const char *text, char *out, size_t room)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t put = 0;
	for (; *text != '\0' && put + 1 < room; text++) {
		const char *at = strchr(letters, *text);
		if (at == NULL)
			continue;
		bits = bits << 6 | (uint32_t)(at - letters);
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[put++] = (char)(uint8_t)(bits >> have);
		}
	}
	out[put] = '\0';
}

/* ---- requests ---- */

static void put_base64(cop_json_writer *json, const char *key, const char *text)
{
	char encoded[ENCODED];
	encode(text, encoded);
	cop_json_put_text(json, key, encoded);
}

static void put_lease(cop_json_writer *json, const char *key, int64_t lease)
{
	char text[24];
	(void)snprintf(text, sizeof text, "%" PRId64, lease);
	cop_json_put_text(json, key, text);
}

/* The writer of an object that is begun; NULL when memory is short. */
static cop_json_writer *begin(cop_bytes *out)
{
	cop_json_writer *json = NULL;
	if (out->err == COP_OK)
		out->err = cop_json_writer_new(COP_JSON_COMPACT, &json);
	if (json != NULL)
		cop_json_begin_object(json);
	return json;
}

static void finish(cop_bytes *out, cop_json_writer *json)
{
	const char *text;
	size_t length;
	cop_json_end_object(json);
	cop_err err = cop_json_writer_finish(json, &text, &length);
	if (err == COP_OK)
		cop_bytes_put(out, text, length + 1);
	else
		out->err = err;
	cop_json_writer_free(json);
}

void cop_lease_text_grant(cop_bytes *out, uint64_t seconds)
{
	cop_json_writer *json = begin(out);
	if (json == NULL)
		return;
	put_lease(json, "TTL", (int64_t)seconds);
	finish(out, json);
}

void cop_lease_text_lease(cop_bytes *out, int64_t lease)
{
	cop_json_writer *json = begin(out);
	if (json == NULL)
		return;
	put_lease(json, "ID", lease);
	finish(out, json);
}

static void put_pair(cop_json_writer *json, const char *key, const char *value, int64_t lease)
{
	put_base64(json, "key", key);
	put_base64(json, "value", value);
	put_lease(json, "lease", lease);
}

void cop_lease_text_take(cop_bytes *out, const char *key, const char *value, int64_t lease)
{
	cop_json_writer *json = begin(out);
	if (json == NULL)
		return;
	cop_json_put_array(json, "compare");
	cop_json_begin_object(json);
	put_base64(json, "key", key);
	cop_json_put_text(json, "target", "CREATE");
	cop_json_put_text(json, "result", "EQUAL");
	put_lease(json, "create_revision", 0);
	cop_json_end_object(json);
	cop_json_end_array(json);
	cop_json_put_array(json, "success");
	cop_json_begin_object(json);
	cop_json_put_object(json, "request_put");
	put_pair(json, key, value, lease);
	cop_json_end_object(json);
	cop_json_end_object(json);
	cop_json_end_array(json);
	finish(out, json);
}

void cop_lease_text_put(cop_bytes *out, const char *key, const char *value, int64_t lease)
{
	cop_json_writer *json = begin(out);
	if (json == NULL)
		return;
	put_pair(json, key, value, lease);
	finish(out, json);
}

void cop_lease_text_prefix(cop_bytes *out, const char *prefix)
{
	char end[COP_LEASE_TEXT_KEY + 1];
	size_t length = strnlen(prefix, COP_LEASE_TEXT_KEY);
	cop_json_writer *json = begin(out);
	if (json == NULL)
		return;
	memcpy(end, prefix, length);
	end[length] = '\0';
	if (length > 0)
		end[length - 1]++; /* texts: no byte is 255 */
	put_base64(json, "key", prefix);
	put_base64(json, "range_end", end);
	finish(out, json);
}

/* ---- answers ---- */

static cop_err unreadable(cop_diag *diag, const char *what)
{
	cop_diag_message(diag, "etcd answered %.300s", what);
	return COP_EFORMAT;
}

/* The root, unless it is an error. Caller frees it. */
static cop_err open_answer(const cop_bytes *answer, cop_json **out, cop_diag *diag)
{
	const char *text;
	cop_err err = cop_json_parse((const char *)answer->data, answer->length, out, NULL);
	if (err == COP_ENOMEM)
		return err;
	if (err != COP_OK || cop_json_type_of(*out) != COP_JSON_OBJECT) {
		cop_json_free(*out);
		*out = NULL;
		return unreadable(diag, "no JSON object");
	}
	const cop_json *error = cop_json_member(*out, "error");
	if (error == NULL)
		return COP_OK;
	if (cop_json_get_text(error, &text, NULL) != COP_OK &&
	        cop_json_get_text(cop_json_member(error, "message"), &text, NULL) != COP_OK)
		text = "an error without a text";
	err = unreadable(diag, text);
	cop_json_free(*out);
	*out = NULL;
	return err;
}

/* A text, or a number where it is short; 0 where it is missing. False: neither. */
static bool read_integer(const cop_json *object, const char *key, int64_t *out)
{
	const cop_json *value = cop_json_member(object, key);
	const char *text;
	char *end;
	*out = 0;
	if (value == NULL || cop_json_get_integer(value, out) == COP_OK)
		return true;
	if (cop_json_get_text(value, &text, NULL) != COP_OK || *text == '\0')
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool read_unsigned(const cop_json *object, const char *key, uint64_t *out)
{
	int64_t value;
	bool ok = read_integer(object, key, &value) && value >= 0;
	*out = ok ? (uint64_t)value : 0;
	return ok;
}

cop_err cop_lease_text_read_lease(const cop_bytes *answer, int64_t *lease, uint64_t *seconds, cop_diag *diag)
{
	cop_json *root;
	cop_err err = open_answer(answer, &root, diag);
	if (err != COP_OK)
		return err;
	const cop_json *result = cop_json_member(root, "result"); /* of a stream's answers */
	const cop_json *from = result != NULL ? result : root;
	bool ok = read_integer(from, "ID", lease) && *lease != 0 && read_unsigned(from, "TTL", seconds);
	cop_json_free(root);
	return ok ? COP_OK : unreadable(diag, "no lease");
}

cop_err cop_lease_text_read_take(const cop_bytes *answer, bool *taken, uint64_t *revision, cop_diag *diag)
{
	cop_json *root;
	*taken = false;
	cop_err err = open_answer(answer, &root, diag);
	if (err != COP_OK)
		return err;
	bool ok = read_unsigned(cop_json_member(root, "header"), "revision", revision) && *revision > 0;
	const cop_json *succeeded = cop_json_member(root, "succeeded");
	if (ok && succeeded != NULL)
		ok = cop_json_get_boolean(succeeded, taken) == COP_OK;
	cop_json_free(root);
	return ok ? COP_OK : unreadable(diag, "no transaction's result");
}

static bool read_base64(const cop_json *object, const char *key, char *out, size_t room)
{
	const char *text = "";
	const cop_json *value = cop_json_member(object, key);
	if (value != NULL && cop_json_get_text(value, &text, NULL) != COP_OK)
		return false;
	decode(text, out, room);
	return true;
}

cop_err cop_lease_text_read_range(
        const cop_bytes *answer, cop_lease_text_listener *listener, void *context, cop_diag *diag)
{
	cop_json *root;
	cop_err err = open_answer(answer, &root, diag);
	if (err != COP_OK)
		return err;
	const cop_json *pairs = cop_json_member(root, "kvs");
	bool ok = cop_json_member(root, "header") != NULL;
	for (size_t i = 0; ok && i < cop_json_size(pairs); i++) {
		const cop_json *from = cop_json_element(pairs, i);
		cop_lease_text_pair pair;
		ok = read_base64(from, "key", pair.key, sizeof pair.key) &&
		     read_base64(from, "value", pair.value, sizeof pair.value) &&
		     read_unsigned(from, "create_revision", &pair.created) && read_integer(from, "lease", &pair.lease);
		if (ok)
			listener(context, &pair);
	}
	cop_json_free(root);
	return ok ? COP_OK : unreadable(diag, "no keys and values");
}
