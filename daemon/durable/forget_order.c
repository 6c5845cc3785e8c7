/* Body: u8 whether by id, u8 kind and u8 length of whom, its bytes, the model, f64 time. An order that has
 * ended leaves nothing: its file names the one who is to be forgotten. */
#include "daemon/durable/forget_order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "store/state_dir.h"

static void path_of(const char *state_dir, uint64_t number, char *path, size_t size)
{
	char name[COP_CHECKPOINT_NAME_ROOM];
	cop_checkpoint_name(COP_STATE_DIR_FORGET, number, name);
	(void)snprintf(path, size, "%s/%s", state_dir, name);
}

static cop_err number_order(const char *state_dir, cop_forget_order *order, cop_diag *diag)
{
	uint64_t *all;
	size_t count;
	cop_err err = cop_checkpoint_list(state_dir, COP_STATE_DIR_FORGET, &all, &count, diag);
	if (err != COP_OK)
		return err;
	uint64_t newest = count > 0 ? all[0] : 0;
	order->number = order->number > newest ? order->number : newest + 1;
	cop_mem_free(all);
	return COP_OK;
}

cop_err cop_forget_order_put(const char *state_dir, cop_forget_order *order, cop_diag *diag)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_bytes_put_u8(&body, order->by_id);
	cop_bytes_put_u8(&body, order->whom.kind);
	cop_bytes_put_u8(&body, order->whom.length);
	cop_bytes_put(&body, order->whom.bytes, order->whom.length);
	cop_bytes_put_text(&body, order->model);
	cop_bytes_put_f64(&body, order->time);
	cop_err err = body.err;
	if (err == COP_OK)
		err = number_order(state_dir, order, diag);
	if (err == COP_OK)
		err = cop_checkpoint_write(
		        state_dir, COP_STATE_DIR_FORGET, order->number, body.data, body.length, diag);
	cop_bytes_fini(&body);
	return err;
}

static cop_err read_order(const cop_bytes *body, cop_forget_order *order)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, body->data, body->length);
	order->by_id = cop_cursor_u8(&cursor) != 0;
	order->whom.kind = cop_cursor_u8(&cursor);
	order->whom.length = cop_cursor_u8(&cursor);
	const uint8_t *bytes = cop_cursor_take(&cursor, order->whom.length);
	bool good = bytes != NULL && order->whom.length > 0 && order->whom.length <= COP_EVENT_ID_MAX &&
	            order->whom.kind >= COP_EVENT_ID_STRING && order->whom.kind <= COP_EVENT_ID_NEGATIVE;
	if (good)
		memcpy(order->whom.bytes, bytes, order->whom.length);
	cop_cursor_text(&cursor, order->model, sizeof order->model);
	order->time = cop_cursor_f64(&cursor);
	return good ? cursor.err : COP_EFORMAT;
}

cop_err cop_forget_order_first(const char *state_dir, cop_forget_order *order, size_t *count, cop_diag *diag)
{
	uint64_t *all;
	char path[4096 + COP_CHECKPOINT_NAME_ROOM];
	cop_bytes body;
	cop_err err = cop_checkpoint_list(state_dir, COP_STATE_DIR_FORGET, &all, count, diag);
	if (err != COP_OK)
		return err;
	*order = (cop_forget_order){ .number = *count > 0 ? all[*count - 1] : 0 };
	cop_mem_free(all);
	if (*count == 0)
		return COP_EEND;
	cop_bytes_init(&body);
	path_of(state_dir, order->number, path, sizeof path);
	err = cop_checkpoint_read(path, &body, diag);
	if (err == COP_OK) {
		err = read_order(&body, order);
		if (err != COP_OK)
			cop_diag_of(diag, path, "%s", cop_err_text(err));
	}
	cop_bytes_fini(&body);
	return err;
}

cop_err cop_forget_order_end(const char *state_dir, uint64_t number, cop_diag *diag)
{
	char path[4096 + COP_CHECKPOINT_NAME_ROOM];
	path_of(state_dir, number, path, sizeof path);
	if (unlink(path) == 0 || errno == ENOENT)
		return COP_OK;
	cop_diag_of(diag, path, "cannot be removed: %s", strerror(errno));
	return COP_EIO;
}
