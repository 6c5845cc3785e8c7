/* daemon/config/access.h: who may do what: a file of names, tokens or public keys of CURVE, and rights.
 *
 *     # NAME     TOKEN                             RIGHTS            [MODELS]    [LIMITS]
 *     checkout   ue6mu3Eiph7ohb0iechaiW5d          decide,feedback   front-page  rate=2000 bytes=4MiB pending=50000
 *     grafana    aiShoo4AhWoh2oXeiChahx9e          read
 *
 * RIGHTS are decide, feedback, read, admin and replicate, divided by commas, or all, which is the first four; MODELS,
 * divided by commas, are those that the rights are for, all when they are left out; LIMITS (daemon/common/quota.h) are
 * none when they are left out. A token is compared in a time that does not depend on where it differs. A loaded file,
 * but for the quotas, is plain data: any thread may read. */
#ifndef COP_DAEMON_CONFIG_ACCESS_H
#define COP_DAEMON_CONFIG_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "daemon/common/quota.h"

typedef enum cop_access_kind {
	COP_ACCESS_TOKENS, /* secrets */
	COP_ACCESS_KEYS,   /* public keys: anybody may read the file */
} cop_access_kind;

#define COP_ACCESS_NAME      64 /* characters of a name */
#define COP_ACCESS_LEAST     16 /* of a token */
#define COP_ACCESS_MOST      256
#define COP_ACCESS_MOST_ROWS 4096

enum {
	COP_ACCESS_DECIDE = 1,
	COP_ACCESS_FEEDBACK = 2,
	COP_ACCESS_READ = 4,
	COP_ACCESS_ADMIN = 8,
	COP_ACCESS_REPLICATE = 16, /* by name alone */
	COP_ACCESS_ALL = 15,       /* but that */
};

typedef struct cop_access_entry {
	char name[COP_ACCESS_NAME + 1];
	char token[COP_ACCESS_MOST + 1]; /* or key */
	unsigned rights;                 /* COP_ACCESS_... */
	char *models;                    /* names divided by commas; NULL: all */
	uint32_t owner;                  /* of its decisions: a hash of the name, not 0 */
	cop_quota_limits limits;
	cop_quota *quota; /* of the thread that takes its messages, which alone looks at it */
} cop_access_entry;

typedef struct cop_access {
	size_t count;
	cop_access_entry *entries; /* by name */
} cop_access;

/* Caller frees with cop_access_free; on error *out is NULL and *diag names file and line. COP_EIO: it cannot be read,
 * or everybody can write it, or read tokens. COP_EFORMAT: a line is wrong, a name or token comes twice, or there is
 * none. COP_ENOMEM. */
COP_CHECK cop_err cop_access_read(const char *path, cop_access_kind kind, cop_access **out, cop_diag *diag);
void cop_access_free(cop_access *access);

/* Whose token it is (length bytes, borrowed); NULL: nobody's. */
const cop_access_entry *cop_access_find(const cop_access *access, const char *token, size_t length);
/* Whose name it is; NULL: nobody's. */
const cop_access_entry *cop_access_named(const cop_access *access, const char *name);
/* Whether the entry has the right for the model; model "": for all models. */
bool cop_access_allows(const cop_access_entry *entry, unsigned right, const char *model);
/* Calls tell for each name whose line came, went, or is another one: how is "added", "removed" or "changed". Either may
 * be NULL, which is empty. */
typedef void cop_access_tell(void *context, const char *name, const char *how);
void cop_access_compare(const cop_access *was, const cop_access *is, cop_access_tell *tell, void *context);
/* "decide" ... of one right. */
const char *cop_access_right_text(unsigned right);

#endif
