/* Every request is a POST of one JSON object to ENDPOINT/v3/... and gives one back. */
#include "daemon/lease/lease_etcd.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/common/clock.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define URL_ROOM   512

struct cop_lease_etcd {
	CURL *curl;
	struct curl_slist *headers;
	char *endpoints; /* with ends in place of commas */
	const char *url[COP_LEASE_ETCD_ENDPOINTS];
	size_t count;
	size_t last; /* that answered */
	cop_bytes body, answer;
	char why[CURL_ERROR_SIZE];
};

double cop_lease_etcd_now(void) { return cop_clock_read(CLOCK_BOOTTIME); }

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
	cop_bytes *answer = context;
	if (answer->length + size * count > ANSWER_MAX)
		return 0;
	cop_bytes_put(answer, data, size * count);
	return answer->err == COP_OK ? size * count : 0;
}

static cop_err divide(cop_lease_etcd *etcd, cop_diag *diag)
{
	char *rest = etcd->endpoints;
	for (char *url; (url = strsep(&rest, ",")) != NULL;) {
		bool known = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
		if (!known || strlen(url) + 32 > URL_ROOM || etcd->count == COP_LEASE_ETCD_ENDPOINTS) {
			cop_diag_message(diag,
			        "--etcd: '%.100s' given, expected up to %d of http://HOST:PORT or "
			        "https://HOST:PORT, divided by commas",
			        url, COP_LEASE_ETCD_ENDPOINTS);
			return COP_EINVAL;
		}
		etcd->url[etcd->count++] = url;
	}
	return COP_OK;
}

static bool set_options(cop_lease_etcd *etcd, const cop_lease_etcd_settings *settings)
{
	CURL *curl = etcd->curl;
	long milliseconds = (long)(1000.0 * settings->timeout) + 1;
	bool ok = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds) == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds) == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_HTTPHEADER, etcd->headers) == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer) == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_WRITEDATA, &etcd->answer) == CURLE_OK &&
	          curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, etcd->why) == CURLE_OK;
	if (ok && settings->authority != NULL)
		ok = curl_easy_setopt(curl, CURLOPT_CAINFO, settings->authority) == CURLE_OK;
	if (ok && settings->certificate != NULL)
		ok = curl_easy_setopt(curl, CURLOPT_SSLCERT, settings->certificate) == CURLE_OK;
	if (ok && settings->key != NULL)
		ok = curl_easy_setopt(curl, CURLOPT_SSLKEY, settings->key) == CURLE_OK;
	return ok;
}

cop_err cop_lease_etcd_open(const cop_lease_etcd_settings *settings, cop_lease_etcd **out, cop_diag *diag)
{
	*out = NULL;
	cop_lease_etcd *etcd = cop_mem_alloc(1, sizeof *etcd);
	if (etcd == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		cop_mem_free(etcd);
		return COP_ENOMEM;
	}
	cop_bytes_init(&etcd->body);
	cop_bytes_init(&etcd->answer);
	etcd->curl = curl_easy_init();
	etcd->headers = curl_slist_append(NULL, "Content-Type: application/json");
	etcd->endpoints = cop_mem_strdup(settings->endpoints);
	cop_err err =
	        etcd->curl != NULL && etcd->headers != NULL && etcd->endpoints != NULL && set_options(etcd, settings)
	                ? COP_OK
	                : COP_ENOMEM;
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	else
		err = divide(etcd, diag);
	if (err != COP_OK)
		cop_lease_etcd_close(etcd);
	else
		*out = etcd;
	return err;
}

void cop_lease_etcd_close(cop_lease_etcd *etcd)
{
	if (etcd == NULL)
		return;
	if (etcd->curl != NULL)
		curl_easy_cleanup(etcd->curl);
	curl_slist_free_all(etcd->headers);
	cop_bytes_fini(&etcd->body);
	cop_bytes_fini(&etcd->answer);
	cop_mem_free(etcd->endpoints);
	cop_mem_free(etcd);
	curl_global_cleanup();
}

static cop_err post(cop_lease_etcd *etcd, const char *endpoint, const char *path, cop_diag *diag)
{
	char url[URL_ROOM];
	size_t length = strlen(endpoint);
	bool slash = length > 0 && endpoint[length - 1] == '/';
	(void)snprintf(url, sizeof url, "%.*s/v3/%s", (int)(length - slash), endpoint, path);
	cop_bytes_clear(&etcd->answer);
	etcd->why[0] = '\0';
	CURLcode code = curl_easy_setopt(etcd->curl, CURLOPT_URL, url);
	if (code == CURLE_OK) /* which it keeps until it is done */
		code = curl_easy_setopt(etcd->curl, CURLOPT_POSTFIELDS, (const char *)etcd->body.data);
	if (code == CURLE_OK)
		code = curl_easy_perform(etcd->curl);
	if (code == CURLE_OK && etcd->answer.err == COP_OK)
		return COP_OK;
	cop_diag_message(diag, "%.200s: %.200s", endpoint, etcd->why[0] != '\0' ? etcd->why : curl_easy_strerror(code));
	return COP_EIO;
}

/* 503 and 504, as a member gives that has no majority: another one may have it. */
static cop_err judge(const cop_lease_etcd *etcd, const char *endpoint, cop_diag *diag)
{
	long status = 0;
	(void)curl_easy_getinfo(etcd->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 500)
		return COP_OK;
	cop_diag_message(diag, "%.200s: HTTP %ld", endpoint, status);
	return COP_EIO;
}

/* etcd->body goes to the first that answers, whose answer is in etcd->answer. */
static cop_err ask(cop_lease_etcd *etcd, const char *path, cop_diag *diag)
{
	cop_err err = etcd->body.err;
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < etcd->count; i++) {
		size_t at = (etcd->last + i) % etcd->count;
		err = post(etcd, etcd->url[at], path, diag);
		if (err == COP_OK)
			err = judge(etcd, etcd->url[at], diag);
		if (err != COP_OK)
			continue;
		etcd->last = at;
		return COP_OK;
	}
	etcd->last = (etcd->last + 1) % etcd->count;
	return err;
}

static cop_bytes *body_of(cop_lease_etcd *etcd)
{
	cop_bytes_clear(&etcd->body);
	return &etcd->body;
}

static cop_err ask_lease(cop_lease_etcd *etcd, const char *path, cop_lease_etcd_lease *lease, cop_diag *diag)
{
	uint64_t seconds;
	double before = cop_lease_etcd_now();
	cop_err err = ask(etcd, path, diag);
	if (err == COP_OK)
		err = cop_lease_text_read_lease(&etcd->answer, &lease->id, &seconds, diag);
	if (err != COP_OK)
		return err;
	if (seconds == 0) {
		cop_diag_message(diag, "the lease has run out");
		return COP_ENOTFOUND;
	}
	lease->end = before + (double)seconds;
	return COP_OK;
}

cop_err cop_lease_etcd_grant(cop_lease_etcd *etcd, uint64_t seconds, cop_lease_etcd_lease *out, cop_diag *diag)
{
	*out = (cop_lease_etcd_lease){ 0 };
	cop_lease_text_grant(body_of(etcd), seconds);
	return ask_lease(etcd, "lease/grant", out, diag);
}

cop_err cop_lease_etcd_renew(cop_lease_etcd *etcd, cop_lease_etcd_lease *lease, cop_diag *diag)
{
	cop_lease_etcd_lease renewed = { 0 };
	cop_lease_text_lease(body_of(etcd), lease->id);
	cop_err err = ask_lease(etcd, "lease/keepalive", &renewed, diag);
	if (err == COP_OK)
		lease->end = renewed.end;
	return err;
}

cop_err cop_lease_etcd_revoke(cop_lease_etcd *etcd, cop_lease_etcd_lease *lease, cop_diag *diag)
{
	cop_lease_text_lease(body_of(etcd), lease->id);
	cop_err err = ask(etcd, "lease/revoke", diag);
	if (err == COP_OK)
		*lease = (cop_lease_etcd_lease){ 0 };
	return err;
}

cop_err cop_lease_etcd_take(cop_lease_etcd *etcd, const char *key, const char *value, const cop_lease_etcd_lease *lease,
        bool *taken, uint64_t *revision, cop_diag *diag)
{
	cop_lease_text_take(body_of(etcd), key, value, lease->id);
	cop_err err = ask(etcd, "kv/txn", diag);
	return err == COP_OK ? cop_lease_text_read_take(&etcd->answer, taken, revision, diag) : err;
}

cop_err cop_lease_etcd_put(
        cop_lease_etcd *etcd, const char *key, const char *value, const cop_lease_etcd_lease *lease, cop_diag *diag)
{
	cop_lease_text_put(body_of(etcd), key, value, lease->id);
	return ask(etcd, "kv/put", diag);
}

cop_err cop_lease_etcd_list(
        cop_lease_etcd *etcd, const char *prefix, cop_lease_text_listener *listener, void *context, cop_diag *diag)
{
	cop_lease_text_prefix(body_of(etcd), prefix);
	cop_err err = ask(etcd, "kv/range", diag);
	return err == COP_OK ? cop_lease_text_read_range(&etcd->answer, listener, context, diag) : err;
}
