/* daemon/api/api_tls.h: the certificate that the api's listeners show, which may be exchanged while they serve, and the
 * warning before it ends.
 *
 * One thread, the listeners', calls begin and watch; exchange may be called by another one. */
#ifndef COP_DAEMON_API_API_TLS_H
#define COP_DAEMON_API_API_TLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "daemon/common/log.h"
#include "daemon/config/certificate.h"

typedef struct cop_api_tls {
	pthread_mutex_t lock;     /* of what follows; nothing is called with it that waits */
	cop_certificate *current; /* owned; NULL: no TLS */
	cop_certificate **past;   /* shown before; handshakes that began with them may still run */
	size_t past_count;
	bool told;              /* that this one ends */
	double told_at;         /* monotonic seconds */
	_Atomic(int64_t) *ends; /* Unix seconds at which `current` ends, for others to read; 0: there is none */
} cop_api_tls;

/* Takes *certificate (NULL: no TLS), NULL afterwards. ends: kept. Caller finishes with fini, when the listeners are
 * closed. */
void cop_api_tls_init(cop_api_tls *tls, cop_certificate **certificate, _Atomic(int64_t) *ends);
void cop_api_tls_fini(cop_api_tls *tls);
/* What is shown from the next handshake on. Takes *certificate, NULL afterwards. Without TLS, without a certificate,
 * and without memory nothing changes. */
void cop_api_tls_exchange(cop_api_tls *tls, cop_certificate **certificate);

/* The calling thread's handshakes show this one's certificate from here on. */
void cop_api_tls_begin(cop_api_tls *tls);
/* Logs, once a day, that the certificate ends within COP_CERTIFICATE_SOON. now: Unix seconds. */
void cop_api_tls_watch(cop_api_tls *tls, cop_log *log, double now);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK. */
void *cop_api_tls_callback(void);

#endif
