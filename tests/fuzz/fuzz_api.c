/* What comes over HTTP: the first byte chooses the path, the rest is the body. A body that is taken becomes one whole
 * value of MessagePack; every request that is not taken has an answer. A reply of arbitrary bytes is shown or refused.
 */
#include <string.h>

#include "base/assert.h"
#include "daemon/api/api_request.h"
#include "wire/wire_cursor.h"
#include "wire/wire_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const cop_api_request *request)
{
	COP_ASSERT(request->status >= 200 && request->status < 600);
	COP_ASSERT(request->status == 204 || request->answer.length > 0);
}

static void check_body(const cop_bytes *out)
{
	cop_wire_cursor cursor;
	cop_bytes text;
	uint64_t number = 0;
	cop_wire_cursor_init(&cursor, out->data, out->length);
	COP_ASSERT(out->data[0] == 0xdf);
	cop_err err = cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH); /* deeper ones are refused by the verb */
	COP_ASSERT(err != COP_OK || cop_wire_cursor_left(&cursor) == 0);
	cop_bytes_init(&text);
	if (cop_wire_json(&text, out->data, out->length, 0) == COP_OK)
		COP_ASSERT(!cop_api_request_number(out->data, out->length, &number) || number == 77);
	cop_bytes_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "/v1/models/m/decide", "/v1/models/m", "/v1/models",
		"/personalizer/v1.0/rank", "/personalizer/v1.0/events/e/reward",
		"/personalizer/v1.0/events/e/activate" };
	if (size == 0)
		return 0;
	cop_api_request request;
	cop_bytes out;
	char name[COP_CONFIG_NAME_MAX + 1];
	cop_api_request_init(&request);
	cop_bytes_init(&out);
	bool whole;
	request.route = cop_api_route_find(paths[data[0] % 6], name, &whole);
	memcpy(request.event, "e", 2);
	cop_bytes_put(&request.body, data + 1, size - 1);
	if (cop_api_request_put(&request, 77, &out))
		check_body(&out);
	else
		check_answer(&request);
	cop_api_request_take(&request, (data[0] & 64) == 0, data + 1, size - 1);
	check_answer(&request);
	cop_api_request_fini(&request);
	cop_bytes_fini(&out);
	return 0;
}
