#include "wire_bare.h"

#include <string.h>

#include <msgpack.h>

#include "base/mem.h"

struct cop_wire_bare {
	msgpack_unpacked message;
	msgpack_sbuffer answer;
	bool cut; /* memory ran out while it was packed */
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

static void put_text(msgpack_packer *packer, const char *text)
{
	(void)msgpack_pack_str(packer, strlen(text));
	(void)msgpack_pack_str_body(packer, text, strlen(text));
}

/* The value under a key of its own, unless there is none. */
static void put_back(msgpack_packer *packer, const char *key, const msgpack_object *value)
{
	if (value == NULL)
		return;
	put_text(packer, key);
	(void)msgpack_pack_object(packer, *value);
}

static void answer_one(msgpack_packer *packer, const msgpack_object *request)
{
	const msgpack_object *id = find(request, "id");
	const msgpack_object *seq = find(request, "seq");
	size_t both = (id != NULL ? 1U : 0U) + (seq != NULL ? 1U : 0U);
	bool feedback = find(request, "loss") != NULL;
	(void)msgpack_pack_map(packer, both + (feedback ? 1 : 4));
	put_back(packer, "id", id);
	if (feedback) {
		put_text(packer, "result");
		put_text(packer, "applied");
	} else {
		put_text(packer, "a");
		(void)msgpack_pack_uint64(packer, 3);
		put_text(packer, "p");
		(void)msgpack_pack_double(packer, 0.9);
		put_text(packer, "rev");
		(void)msgpack_pack_uint64(packer, 100000);
		put_text(packer, "greedy");
		(void)msgpack_pack_true(packer);
	}
	put_back(packer, "seq", seq);
}

static void answer_items(msgpack_packer *packer, const msgpack_object *request, const msgpack_object *items)
{
	const msgpack_object *seq = find(request, "seq");
	size_t count = items->type == MSGPACK_OBJECT_ARRAY ? items->via.array.size : 0;
	(void)msgpack_pack_map(packer, seq != NULL ? 2 : 1);
	put_back(packer, "seq", seq);
	put_text(packer, "items");
	(void)msgpack_pack_array(packer, count);
	for (size_t i = 0; i < count; i++)
		answer_one(packer, &items->via.array.ptr[i]);
}

/* Remembers that a piece was not taken. */
static int append(void *data, const char *piece, size_t length)
{
	cop_wire_bare *bare = data;
	int failed = msgpack_sbuffer_write(&bare->answer, piece, length);
	bare->cut = bare->cut || failed != 0;
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
	bare->cut = false;
	msgpack_packer_init(&packer, bare, append);
	const msgpack_object *items = find(request, "items");
	if (items != NULL)
		answer_items(&packer, request, items);
	else
		answer_one(&packer, request);
	if (bare->cut)
		return COP_ENOMEM;
	*out = bare->answer.data;
	*out_length = bare->answer.size;
	return COP_OK;
}
