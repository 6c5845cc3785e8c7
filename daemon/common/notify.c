/* Results of sd_notify are not looked at: outside a service there is nobody to tell, and inside the service manager
 * notices by itself what it was not told. */
#include "daemon/common/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#define STATUS_MAX 256

/* `state`, then STATUS= with the text on one line, as the protocol wants it. */
static void send_status(const char *state, const char *status)
{
	char text[STATUS_MAX];
	(void)snprintf(text, sizeof text, "%s", status);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\n')
			*c = ' ';
	(void)sd_notifyf(0, "%sSTATUS=%s", state, text);
}

void cop_notify_init(cop_notify *notify, uint64_t now)
{
	uint64_t limit = 0;
	bool enabled = sd_watchdog_enabled(0, &limit) > 0;
	notify->interval = enabled && limit >= 2 ? limit / 2 : 0;
	notify->next = now;
}

void cop_notify_ready(const char *status) { send_status("READY=1\n", status); }

void cop_notify_status(const char *status) { send_status("", status); }

void cop_notify_reloading(uint64_t now) { (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now); }

void cop_notify_stopping(const char *status) { send_status("STOPPING=1\n", status); }

uint64_t cop_notify_tick(cop_notify *notify, uint64_t now)
{
	if (notify->interval == 0)
		return UINT64_MAX;
	if (now >= notify->next) {
		(void)sd_notify(0, "WATCHDOG=1");
		notify->next = now + notify->interval;
	}
	return notify->next - now;
}
