/* The files are read whole before anything of them is understood. The key belongs to the first certificate if the
 * public key made from it has the same digest. */
#include "daemon/config/certificate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

#include "base/bytes.h"
#include "base/file_guarded.h"
#include "base/mem.h"

#define LONGEST (1u << 20) /* bytes of a file */
#define DIGEST  64         /* bytes at most */

struct cop_certificate {
	gnutls_pcert_st chain[COP_CERTIFICATE_CHAIN];
	unsigned count;
	gnutls_privkey_t key;
	int64_t ends;
};

/* ---- the files ---- */

static cop_err read_all(const char *path, FILE *file, cop_bytes *out, cop_diag *diag)
{
	char piece[4096];
	for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;) {
		cop_bytes_put(out, piece, got);
		if (out->length > LONGEST) {
			cop_diag_of(diag, path, "the file is too long; expected at most %u bytes", LONGEST);
			return COP_EFORMAT;
		}
	}
	explicit_bzero(piece, sizeof piece);
	if (ferror(file) != 0) {
		cop_diag_of(diag, path, "%s", strerror(errno));
		return COP_EIO;
	}
	if (out->err != COP_OK)
		cop_diag_of(diag, path, "%s", cop_err_text(out->err));
	return out->err;
}

static cop_err read_file(const char *path, cop_file_guard guard, cop_bytes *out, cop_diag *diag)
{
	FILE *file;
	cop_err err = cop_file_guarded_open(path, guard, &file, diag);
	if (err != COP_OK)
		return err;
	err = read_all(path, file, out, diag);
	(void)fclose(file);
	return err;
}

/* ---- what is in them ---- */

static cop_err refuse_tls(cop_diag *diag, const char *path, const char *expected, int code)
{
	cop_diag_of(diag, path, "expected %s: %s", expected, gnutls_strerror(code));
	return code == GNUTLS_E_MEMORY_ERROR ? COP_ENOMEM : COP_EFORMAT;
}

static cop_err take_chain(cop_certificate *c, const char *path, const cop_bytes *text, cop_diag *diag)
{
	const gnutls_datum_t datum = { text->data, (unsigned)text->length };
	c->count = COP_CERTIFICATE_CHAIN;
	int code = gnutls_pcert_list_import_x509_raw(
	        c->chain, &c->count, &datum, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
	if (code >= 0 && c->count > 0)
		return COP_OK;
	c->count = 0;
	return refuse_tls(diag, path, "1 to 16 certificates in PEM, the server's own first", code);
}

static cop_err take_end(cop_certificate *c, const char *path, cop_diag *diag)
{
	for (unsigned i = 0; i < c->count; i++) {
		gnutls_x509_crt_t one;
		int code = gnutls_pcert_export_x509(&c->chain[i], &one);
		if (code < 0)
			return refuse_tls(diag, path, "certificates that can be read", code);
		int64_t ends = (int64_t)gnutls_x509_crt_get_expiration_time(one);
		gnutls_x509_crt_deinit(one);
		if (i == 0 || ends < c->ends)
			c->ends = ends;
	}
	return COP_OK;
}

static cop_err take_key(cop_certificate *c, const char *path, const cop_bytes *text, cop_diag *diag)
{
	const gnutls_datum_t datum = { text->data, (unsigned)text->length };
	int code = gnutls_privkey_init(&c->key);
	if (code >= 0)
		code = gnutls_privkey_import_x509_raw(c->key, &datum, GNUTLS_X509_FMT_PEM, NULL, 0);
	return code >= 0 ? COP_OK : refuse_tls(diag, path, "a private key in PEM, without a password", code);
}

static int digest_of(gnutls_pubkey_t key, unsigned char digest[DIGEST], size_t *size)
{
	*size = DIGEST;
	return gnutls_pubkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, digest, size);
}

/* Whether the key is the first certificate's. */
static cop_err check_pair(const cop_certificate *c, const char *path, cop_diag *diag)
{
	unsigned char own[DIGEST], other[DIGEST];
	size_t size, length;
	gnutls_pubkey_t made;
	int code = gnutls_pubkey_init(&made);
	if (code < 0)
		return refuse_tls(diag, path, "a key", code);
	code = gnutls_pubkey_import_privkey(made, c->key, 0, 0);
	if (code >= 0)
		code = digest_of(made, own, &size);
	if (code >= 0)
		code = digest_of(c->chain[0].pubkey, other, &length);
	gnutls_pubkey_deinit(made);
	if (code < 0)
		return refuse_tls(diag, path, "a key whose public part can be told", code);
	if (size == length && memcmp(own, other, size) == 0)
		return COP_OK;
	cop_diag_of(diag, path, "the key belongs to another certificate; expected that of the first one");
	return COP_EFORMAT;
}

static cop_err take_both(cop_certificate *c, const char *chain, const char *key, cop_bytes *texts, cop_diag *diag)
{
	cop_err err = read_file(chain, COP_FILE_PUBLIC, &texts[0], diag);
	if (err == COP_OK)
		err = take_chain(c, chain, &texts[0], diag);
	if (err == COP_OK)
		err = take_end(c, chain, diag);
	if (err == COP_OK)
		err = read_file(key, COP_FILE_SECRET, &texts[1], diag);
	if (err == COP_OK)
		err = take_key(c, key, &texts[1], diag);
	return err == COP_OK ? check_pair(c, key, diag) : err;
}

/* Of a key. */
static void forget(cop_bytes *text)
{
	if (text->data != NULL)
		explicit_bzero(text->data, text->length);
	cop_bytes_fini(text);
}

cop_err cop_certificate_read(const char *chain, const char *key, cop_certificate **out, cop_diag *diag)
{
	cop_bytes texts[2];
	*out = NULL;
	cop_certificate *c = cop_mem_alloc(1, sizeof *c);
	if (c == NULL) {
		cop_diag_of(diag, chain, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	cop_bytes_init(&texts[0]);
	cop_bytes_init(&texts[1]);
	cop_err err = take_both(c, chain, key, texts, diag);
	cop_bytes_fini(&texts[0]);
	forget(&texts[1]);
	if (err == COP_OK)
		*out = c;
	else
		cop_certificate_free(c);
	return err;
}

void cop_certificate_free(cop_certificate *certificate)
{
	if (certificate == NULL)
		return;
	for (unsigned i = 0; i < certificate->count; i++)
		gnutls_pcert_deinit(&certificate->chain[i]);
	if (certificate->key != NULL)
		gnutls_privkey_deinit(certificate->key);
	cop_mem_free(certificate);
}

int64_t cop_certificate_ends(const cop_certificate *certificate) { return certificate->ends; }

unsigned cop_certificate_chain(cop_certificate *certificate, struct gnutls_pcert_st **chain)
{
	*chain = certificate->chain;
	return certificate->count;
}

struct gnutls_privkey_st *cop_certificate_key(const cop_certificate *certificate) { return certificate->key; }
