/* A request without an answer in time takes its connection with it, so that a late answer is not taken for the next. */
#include "daemon/lease/lease_daemon.h"

#include "daemon/common/clock.h"
#include "wire/wire_cursor.h"
#include "wire/wire_put.h"

static double now(void) { return cop_clock_read(CLOCK_BOOTTIME); }

void cop_lease_daemon_init(cop_lease_daemon *daemon, const char *endpoint, const cop_client_keys *keys, double timeout)
{
	*daemon = (cop_lease_daemon){ .endpoint = endpoint, .keys = keys, .timeout = timeout };
}

static void hang_up(cop_lease_daemon *daemon)
{
	cop_client_close(daemon->client);
	daemon->client = NULL;
}

void cop_lease_daemon_fini(cop_lease_daemon *daemon) { hang_up(daemon); }

static cop_err dial(cop_lease_daemon *daemon, cop_diag *diag)
{
	return daemon->client != NULL
	               ? COP_OK
	               : cop_client_open_keyed(daemon->endpoint, daemon->keys, daemon->timeout, &daemon->client, diag);
}

static cop_err ask(
        cop_lease_daemon *daemon, const char *verb, const cop_bytes *body, cop_client_reply *reply, cop_diag *diag)
{
	cop_err err = body->err == COP_OK ? dial(daemon, diag) : body->err;
	if (err == COP_OK)
		err = cop_client_request(daemon->client, verb, "", body->data, body->length, reply, diag);
	if (err != COP_OK && err != COP_EINVAL)
		hang_up(daemon);
	return err;
}

/* The value of a key of the map that the cursor stands at; false: there is none. */
static bool find(cop_wire_cursor cursor, const char *key, cop_wire_cursor *out)
{
	size_t pairs, length;
	const char *name;
	if (cop_wire_cursor_map(&cursor, &pairs) != COP_OK)
		return false;
	for (; pairs > 0; pairs--) {
		if (cop_wire_cursor_string(&cursor, &name, &length) != COP_OK)
			return false;
		if (length == strlen(key) && memcmp(name, key, length) == 0) {
			*out = cursor;
			return true;
		}
		if (cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH) != COP_OK)
			return false;
	}
	return false;
}

static bool find_unsigned(cop_wire_cursor map, const char *key, uint64_t *out)
{
	return find(map, key, &map) && cop_wire_cursor_unsigned(&map, out) == COP_OK;
}

/* It was read before its answer was here: what it shows ahead of us then is the least. */
static bool take_clock(cop_lease_daemon *daemon, cop_wire_cursor map)
{
	double clock;
	daemon->heard = find(map, "clock", &map) && cop_wire_cursor_double(&map, &clock) == COP_OK;
	if (daemon->heard)
		daemon->ahead = clock - now();
	return daemon->heard;
}

static cop_err strange(const cop_lease_daemon *daemon, cop_diag *diag)
{
	cop_diag_of(diag, daemon->endpoint, "what came is no answer of a coppiced that has replicas");
	return COP_EFORMAT;
}

static bool read_state(cop_wire_cursor replica, cop_lease_daemon_state *out)
{
	cop_wire_cursor at;
	const char *role;
	size_t length;
	if (!find(replica, "role", &at) || cop_wire_cursor_string(&at, &role, &length) != COP_OK)
		return false;
	out->leads = length == 6 && memcmp(role, "leader", length) == 0;
	return find_unsigned(replica, "epoch", &out->epoch) && find_unsigned(replica, "held", &out->held) &&
	       find_unsigned(replica, "next", &out->next);
}

cop_err cop_lease_daemon_look(cop_lease_daemon *daemon, cop_lease_daemon_state *out, cop_diag *diag)
{
	cop_bytes body;
	cop_client_reply reply;
	cop_wire_cursor map;
	cop_bytes_init(&body);
	cop_wire_put_map(&body, 0);
	cop_err err = ask(daemon, "status", &body, &reply, diag);
	cop_bytes_fini(&body);
	if (err != COP_OK)
		return err;
	cop_wire_cursor_init(&map, reply.body, reply.length);
	if (!find(map, "replica", &map) || !read_state(map, out) || !take_clock(daemon, map))
		return strange(daemon, diag);
	return COP_OK;
}

cop_err cop_lease_daemon_lead(cop_lease_daemon *daemon, uint64_t epoch, double until, cop_diag *diag)
{
	cop_bytes body;
	cop_client_reply reply;
	cop_wire_cursor map;
	cop_bytes_init(&body);
	size_t at = cop_wire_put_map_open(&body);
	cop_wire_put_key_unsigned(&body, "epoch", epoch);
	cop_wire_put_key_double(&body, "until", until + daemon->ahead);
	cop_wire_put_map_close(&body, at);
	cop_err err = daemon->heard ? ask(daemon, "lead", &body, &reply, diag) : strange(daemon, diag);
	cop_bytes_fini(&body);
	if (err != COP_OK)
		return err;
	cop_wire_cursor_init(&map, reply.body, reply.length);
	return take_clock(daemon, map) ? COP_OK : strange(daemon, diag);
}

cop_err cop_lease_daemon_begin_follow(cop_lease_daemon *daemon, cop_diag *diag)
{
	static const uint8_t empty = 0x80; /* a map of nothing */
	cop_err err = dial(daemon, diag);
	return err == COP_OK ? cop_client_send(daemon->client, "follow", "", &empty, 1, diag) : err;
}

cop_err cop_lease_daemon_end_follow(cop_lease_daemon *daemon, double seconds, cop_diag *diag)
{
	cop_client_reply reply;
	cop_err err = cop_client_receive_within(daemon->client, seconds, &reply, diag);
	return err != COP_OK || reply.ok ? err : cop_client_refused(daemon->client, &reply, diag);
}
