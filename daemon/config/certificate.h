/* daemon/config/certificate.h: what a listener shows to say who it is: a chain of certificates and the private key of
 * its first one, from two files in PEM.
 *
 * A loaded pair is not changed: any thread may read. */
#ifndef COP_DAEMON_CONFIG_CERTIFICATE_H
#define COP_DAEMON_CONFIG_CERTIFICATE_H

#include <stdint.h>

#include "base/err.h"

#define COP_CERTIFICATE_CHAIN 16           /* certificates of one file */
#define COP_CERTIFICATE_SOON  (30 * 86400) /* seconds before its end, from which on there are warnings */

struct gnutls_pcert_st;
struct gnutls_privkey_st;
typedef struct cop_certificate cop_certificate;

/* Caller frees with cop_certificate_free; on error *out is NULL and *diag names the file. COP_EIO: one cannot be read,
 * or everybody can read the key. COP_EFORMAT: no certificate or key in PEM, a key with a password, or one that belongs
 * to another certificate. COP_ENOMEM. A pair whose time is over is read all the same. */
COP_CHECK cop_err cop_certificate_read(const char *chain, const char *key, cop_certificate **out, cop_diag *diag);
void cop_certificate_free(cop_certificate *certificate);

/* Unix seconds after which the first certificate of the chain to end is no longer valid. */
int64_t cop_certificate_ends(const cop_certificate *certificate);
/* For the TLS library; both stay the certificate's. */
unsigned cop_certificate_chain(cop_certificate *certificate, struct gnutls_pcert_st **chain);
struct gnutls_privkey_st *cop_certificate_key(const cop_certificate *certificate);

#endif
