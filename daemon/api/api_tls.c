/* A handshake takes the current certificate and may use it for as long as it lasts, so one that was exchanged is kept
 * until the listeners are closed; it is a few kilobytes, and one is exchanged a few times a year.
 *
 * The HTTP library's callback has no argument of ours: the thread tells whose certificate it is. */
#include "daemon/api/api_tls.h"

#include <time.h>

#include <gnutls/abstract.h>

#include "base/mem.h"
#include "daemon/common/clock.h"

#define DAY 86400.0

static _Thread_local cop_api_tls *serving;

static int show(gnutls_session_t session, const gnutls_datum_t *issuers, int issuer_count,
        const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain, unsigned *length,
        gnutls_privkey_t *key)
{
	(void)session, (void)issuers, (void)issuer_count, (void)algorithms, (void)algorithm_count;
	if (serving == NULL)
		return -1;
	(void)pthread_mutex_lock(&serving->lock);
	cop_certificate *current = serving->current;
	(void)pthread_mutex_unlock(&serving->lock);
	*length = cop_certificate_chain(current, chain);
	*key = cop_certificate_key(current);
	return 0;
}

void *cop_api_tls_callback(void)
{
	gnutls_certificate_retrieve_function2 *callback = show;
	void *plain;
	_Static_assert(sizeof plain == sizeof callback, "the HTTP library takes it as a plain pointer");
	__builtin_memcpy(&plain, &callback, sizeof plain);
	return plain;
}

static void tell_end(cop_api_tls *tls)
{
	atomic_store(tls->ends, tls->current == NULL ? 0 : cop_certificate_ends(tls->current));
}

void cop_api_tls_init(cop_api_tls *tls, cop_certificate **certificate, _Atomic(int64_t) *ends)
{
	*tls = (cop_api_tls){ .current = *certificate, .ends = ends };
	*certificate = NULL;
	(void)pthread_mutex_init(&tls->lock, NULL);
	tell_end(tls);
}

void cop_api_tls_fini(cop_api_tls *tls)
{
	for (size_t i = 0; i < tls->past_count; i++)
		cop_certificate_free(tls->past[i]);
	cop_mem_free(tls->past);
	cop_certificate_free(tls->current);
	(void)pthread_mutex_destroy(&tls->lock);
}

void cop_api_tls_exchange(cop_api_tls *tls, cop_certificate **certificate)
{
	cop_certificate *next = *certificate;
	*certificate = NULL;
	(void)pthread_mutex_lock(&tls->lock);
	size_t count = tls->past_count;
	cop_certificate **past = NULL;
	if (next != NULL && tls->current != NULL)
		past = cop_mem_resize(tls->past, count, count + 1, sizeof(*tls->past));
	if (past != NULL) {
		tls->past = past;
		past[tls->past_count++] = tls->current;
		tls->current = next;
		tls->told = false;
		next = NULL;
		tell_end(tls);
	}
	(void)pthread_mutex_unlock(&tls->lock);
	cop_certificate_free(next);
}

void cop_api_tls_begin(cop_api_tls *tls) { serving = tls; }

void cop_api_tls_watch(cop_api_tls *tls, cop_log *log, double now)
{
	double at = cop_clock_monotonic();
	(void)pthread_mutex_lock(&tls->lock);
	time_t ends = tls->current == NULL ? 0 : (time_t)cop_certificate_ends(tls->current);
	bool due = tls->current != NULL && (double)ends - now < COP_CERTIFICATE_SOON &&
	           (!tls->told || at - tls->told_at > DAY);
	if (due) {
		tls->told = true;
		tls->told_at = at;
	}
	(void)pthread_mutex_unlock(&tls->lock);
	if (!due)
		return;
	char text[32] = "";
	struct tm parts;
	if (gmtime_r(&ends, &parts) != NULL)
		(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	cop_log_line(log, COP_LOG_EVENT(certificate_ends), "section=api ends=%s days=%.0f", text,
	        ((double)ends - now) / DAY);
}
