/* A cookie's value is NAME.END.SIGNATURE, END in unix seconds and the signature in hexadecimal digits. A name may have
 * points, so it is taken apart from behind. */
#include "daemon/api/api_session.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#define SIGNATURE 32 /* bytes */
#define DIGITS    (2 * SIGNATURE)
#define VALUE     (COP_ACCESS_NAME + 24 + DIGITS)

cop_err cop_api_session_init(cop_api_session *session, bool secure)
{
	session->secure = secure;
	bool drawn = getrandom(session->secret, sizeof session->secret, 0) == (ssize_t)sizeof session->secret;
	return drawn ? COP_OK : COP_EIO;
}

static void sign(const cop_api_session *session, const cop_access_entry *entry, int64_t end, char out[DIGITS + 1])
{
	char text[COP_ACCESS_NAME + COP_ACCESS_MOST + 32];
	unsigned char signature[SIGNATURE] = { 0 };
	int length = snprintf(text, sizeof text, "%lld %s %s", (long long)end, entry->name, entry->token);
	out[0] = '\0'; /* fits no cookie */
	if (gnutls_hmac_fast(
	            GNUTLS_MAC_SHA256, session->secret, sizeof session->secret, text, (size_t)length, signature) != 0)
		return;
	for (size_t i = 0; i < SIGNATURE; i++)
		(void)snprintf(&out[2 * i], 3, "%02x", signature[i]);
}

static void put_header(
        const cop_api_session *session, const char *value, int seconds, char header[COP_API_SESSION_ROOM])
{
	(void)snprintf(header, COP_API_SESSION_ROOM, "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
	        COP_API_SESSION_COOKIE, value, seconds, session->secure ? "; Secure" : "");
}

void cop_api_session_begin(
        const cop_api_session *session, const cop_access_entry *entry, double now, char header[COP_API_SESSION_ROOM])
{
	char value[VALUE], signature[DIGITS + 1];
	int64_t end = (int64_t)now + COP_API_SESSION_SECONDS;
	sign(session, entry, end, signature);
	(void)snprintf(value, sizeof value, "%s.%lld.%s", entry->name, (long long)end, signature);
	put_header(session, value, COP_API_SESSION_SECONDS, header);
}

void cop_api_session_end(const cop_api_session *session, char header[COP_API_SESSION_ROOM])
{
	put_header(session, "", 0, header);
}

/* In a time that does not depend on where they differ. */
static bool is_same(const char *a, const char *b)
{
	unsigned char differs = 0;
	for (size_t i = 0; i < DIGITS; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return differs == 0;
}

/* The part behind the last point, which becomes the text's end; NULL: there is none. */
static char *cut_last(char *text)
{
	char *point = strrchr(text, '.');
	if (point == NULL)
		return NULL;
	*point = '\0';
	return point + 1;
}

const cop_access_entry *cop_api_session_find(
        const cop_api_session *session, const cop_access *access, const char *cookie, double now)
{
	char text[VALUE], expected[DIGITS + 1];
	if (cookie == NULL || strlen(cookie) >= sizeof text)
		return NULL;
	(void)snprintf(text, sizeof text, "%s", cookie);
	const char *signature = cut_last(text);
	const char *end = cut_last(text);
	if (signature == NULL || end == NULL || strlen(signature) != DIGITS)
		return NULL;
	const cop_access_entry *entry = cop_access_named(access, text);
	int64_t ends = strtoll(end, NULL, 10);
	if (entry == NULL || now >= (double)ends)
		return NULL;
	sign(session, entry, ends, expected);
	return expected[0] != '\0' && is_same(signature, expected) ? entry : NULL;
}
