#include "wire/wire_bare.h"

#include <string.h>

#include <msgpack.h>

#include "base/mem.h"

struct cop_wire_bare {
	msgpack_unpacked message;
	msgpack_sbuffer answer;
};

cop_err cop_wire_bare_new(cop_wire_bare **out)
{
	*out = cop_mem_alloc(1, sizeof **out);
	if (*out == NULL)
		return COP_ENOMEM;
	msgpack_unpacked_init(&(*out)->message);
	msgpack_sbuffer_init(&(*out)->answer);
	return COP_OK;
}

void cop_wire_bare_free(cop_wire_bare *bare)
{
	if (bare == NULL)
		return;
	msgpack_unpacked_destroy(&bare->message);
	msgpack_sbuffer_destroy(&bare->answer);
	cop_mem_free(bare);
}

static const msgpack_object *find(const msgpack_object *map, const char *key)
{
	size_t length = strlen(key);
	for (uint32_t i = 0; map->type == MSGPACK_OBJECT_MAP && i < map->via.map.size; i++) {
		const msgpack_object *name = &map->via.map.ptr[i].key;
		if (name->type == MSGPACK_OBJECT_STR && name->via.str.size == length &&
		        memcmp(name->via.str.ptr, key, length) == 0)
			return &map->via.map.ptr[i].val;
	}
	return NULL;
}

static int put_text(msgpack_packer *packer, const char *text)
{
	return msgpack_pack_str(packer, strlen(text)) | msgpack_pack_str_body(packer, text, strlen(text));
}

/* The value under a key of its own, unless there is none. */
static int put_back(msgpack_packer *packer, const char *key, const msgpack_object *value)
{
	return value == NULL ? 0 : put_text(packer, key) | msgpack_pack_object(packer, *value);
}

static int answer_one(msgpack_packer *packer, const msgpack_object *request)
{
	const msgpack_object *id = find(request, "id");
	const msgpack_object *seq = find(request, "seq");
	size_t both = (id != NULL) + (size_t)(seq != NULL);
	bool feedback = find(request, "loss") != NULL;
	int failed = msgpack_pack_map(packer, both + (feedback ? 1 : 4)) | put_back(packer, "id", id);
	if (feedback) {
		failed |= put_text(packer, "result") | put_text(packer, "applied");
	} else {
		failed |= put_text(packer, "a") | msgpack_pack_uint64(packer, 3);
		failed |= put_text(packer, "p") | msgpack_pack_double(packer, 0.9);
		failed |= put_text(packer, "rev") | msgpack_pack_uint64(packer, 100000);
		failed |= put_text(packer, "greedy") | msgpack_pack_true(packer);
	}
	return failed | put_back(packer, "seq", seq);
}

static int answer_items(msgpack_packer *packer, const msgpack_object *request, const msgpack_object *items)
{
	const msgpack_object *seq = find(request, "seq");
	size_t count = items->type == MSGPACK_OBJECT_ARRAY ? items->via.array.size : 0;
	int failed = msgpack_pack_map(packer, 1 + (size_t)(seq != NULL)) | put_back(packer, "seq", seq) |
	             put_text(packer, "items") | msgpack_pack_array(packer, count);
	for (size_t i = 0; i < count; i++)
		failed |= answer_one(packer, &items->via.array.ptr[i]);
	return failed;
}

cop_err cop_wire_bare_answer(cop_wire_bare *bare, const void *body, size_t length, const char **out, size_t *out_length)
{
	size_t at = 0;
	msgpack_packer packer;
	msgpack_unpack_return got = msgpack_unpack_next(&bare->message, body, length, &at);
	const msgpack_object *request = &bare->message.data;
	if (got == MSGPACK_UNPACK_NOMEM_ERROR)
		return COP_ENOMEM;
	if (got != MSGPACK_UNPACK_SUCCESS || request->type != MSGPACK_OBJECT_MAP)
		return COP_EFORMAT;
	msgpack_sbuffer_clear(&bare->answer);
	msgpack_packer_init(&packer, &bare->answer, msgpack_sbuffer_write);
	const msgpack_object *items = find(request, "items");
	if ((items != NULL ? answer_items(&packer, request, items) : answer_one(&packer, request)) != 0)
		return COP_ENOMEM;
	*out = bare->answer.data;
	*out_length = bare->answer.size;
	return COP_OK;
}
