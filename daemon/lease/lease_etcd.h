/* daemon/lease/lease_etcd.h: a lease in etcd, and the keys that live as long as it does, over the JSON gateway by
 * libcurl.
 *
 * Each call asks the endpoints in turn, beginning with the one that answered last, and waits for each at most the
 * timeout. A lease's time counts from before the request was sent that began or renewed it. One thread. */
#ifndef COP_DAEMON_LEASE_LEASE_ETCD_H
#define COP_DAEMON_LEASE_LEASE_ETCD_H

#include "daemon/lease/lease_text.h"

#define COP_LEASE_ETCD_ENDPOINTS 16

typedef struct cop_lease_etcd_settings {
	const char *endpoints;         /* URLs, divided by commas */
	const char *authority;         /* files of PEM: whom the server's certificate is to be of; NULL: the system's */
	const char *certificate, *key; /* of the client; NULL: none */
	double timeout;                /* seconds, of one endpoint */
} cop_lease_etcd_settings;

typedef struct cop_lease_etcd cop_lease_etcd;

typedef struct cop_lease_etcd_lease {
	int64_t id; /* 0: none */
	double end; /* seconds of cop_lease_etcd_now */
} cop_lease_etcd_lease;

/* Seconds since the machine began, those asleep too. */
double cop_lease_etcd_now(void);

/* Texts are kept. Caller closes; on error *out is NULL. COP_EINVAL: an endpoint. COP_ENOMEM. */
COP_CHECK cop_err cop_lease_etcd_open(const cop_lease_etcd_settings *settings, cop_lease_etcd **out, cop_diag *diag);
void cop_lease_etcd_close(cop_lease_etcd *etcd);

/* Of all that follow: COP_EIO: no endpoint answered. COP_EFORMAT: with an error, or nothing of the kind. COP_ENOMEM. */

COP_CHECK cop_err cop_lease_etcd_grant(
        cop_lease_etcd *etcd, uint64_t seconds, cop_lease_etcd_lease *out, cop_diag *diag);
/* COP_ENOTFOUND: the lease is gone. */
COP_CHECK cop_err cop_lease_etcd_renew(cop_lease_etcd *etcd, cop_lease_etcd_lease *lease, cop_diag *diag);
/* Its keys go with it. */
COP_CHECK cop_err cop_lease_etcd_revoke(cop_lease_etcd *etcd, cop_lease_etcd_lease *lease, cop_diag *diag);
/* Whether the key was not there, and now is, until the lease ends; then the revision that made it. */
COP_CHECK cop_err cop_lease_etcd_take(cop_lease_etcd *etcd, const char *key, const char *value,
        const cop_lease_etcd_lease *lease, bool *taken, uint64_t *revision, cop_diag *diag);
COP_CHECK cop_err cop_lease_etcd_put(
        cop_lease_etcd *etcd, const char *key, const char *value, const cop_lease_etcd_lease *lease, cop_diag *diag);
/* All keys that begin so, each told to the listener. */
COP_CHECK cop_err cop_lease_etcd_list(
        cop_lease_etcd *etcd, const char *prefix, cop_lease_text_listener *listener, void *context, cop_diag *diag);

#endif
