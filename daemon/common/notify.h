/* daemon/common/notify.h: what the daemon tells the service manager (systemd, Type=notify), and its watchdog.
 *
 * Does nothing outside a service (no NOTIFY_SOCKET), and never fails the daemon. Time is CLOCK_MONOTONIC in
 * microseconds, an argument. One thread: the serving loop, so that a ping means that the loop turns. */
#ifndef COP_DAEMON_COMMON_NOTIFY_H
#define COP_DAEMON_COMMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cop_notify {
	uint64_t interval; /* microseconds between pings, half the watchdog's limit; 0: no watchdog */
	uint64_t next;     /* when the next ping is due */
} cop_notify;

/* Reads the watchdog's limit from the environment. */
void cop_notify_init(cop_notify *notify, uint64_t now);

/* Serving; status is shown by systemctl status. Also ends a reload. */
void cop_notify_ready(const char *status);
void cop_notify_status(const char *status);
/* A reload begins: RELOADING=1 with the time; end it with cop_notify_ready. */
void cop_notify_reloading(uint64_t now);
void cop_notify_stopping(const char *status);

/* Pings when it is due. Returns the microseconds until the next one is; UINT64_MAX without a watchdog. */
uint64_t cop_notify_tick(cop_notify *notify, uint64_t now);

#endif
