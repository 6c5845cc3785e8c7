/* daemon/common/http.h: the pages over HTTP: /metrics, /healthz, /readyz; the home of libmicrohttpd.
 *
 * One thread of the library's own answers requests and never touches what the loop owns: a scrape asks the loop for a
 * fresh page and waits for it, at most a second. Functions are for the loop's thread; a NULL server (off) is allowed
 * everywhere and does nothing. Times are CLOCK_MONOTONIC in nanoseconds. */
#ifndef COP_DAEMON_COMMON_HTTP_H
#define COP_DAEMON_COMMON_HTTP_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* What /readyz says: 200 only while serving. Pages of the loop are given out only then too. */
typedef enum cop_http_phase { COP_HTTP_STARTING, COP_HTTP_SERVING, COP_HTTP_STOPPING } cop_http_phase;

typedef struct cop_http cop_http;

/* Listens on ADDRESS:PORT (borrowed; IPv6 in brackets, port 0: any) and starts the thread. Caller closes.
 * COP_EIO with a message that names the address, COP_ENOMEM; then *out is NULL. */
COP_CHECK cop_err cop_http_open(const char *listen, cop_http **out, cop_diag *diag);
/* A scrape that waits is answered 503; then thread and socket are gone. */
void cop_http_close(cop_http *http);
/* The port that it listens on. */
uint16_t cop_http_port(const cop_http *http);

void cop_http_set_phase(cop_http *http, cop_http_phase phase);
/* The loop's thread gets on: /healthz is 200 for five seconds from `now`. Costs an atomic store. */
void cop_http_alive(cop_http *http, uint64_t now);

/* Readable when somebody waits for cop_http_answer; -1 when off. */
int cop_http_fd(const cop_http *http);
/* Renders the page of /metrics if somebody waits for it; else costs an atomic load. `render` appends to `out`; when it
 * leaves an error there, the answer is 503. */
void cop_http_answer(cop_http *http, void (*render)(const void *context, cop_bytes *out), const void *context);
/* Scrapes that the loop did not answer in time. */
uint64_t cop_http_missed(const cop_http *http);

#endif
