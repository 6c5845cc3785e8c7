/* learn/sums.h: what a model of sums has learned: its own sums, and the newest that it knows of other instances.
 *
 * For each of `arms` arms the numbers of learn/arm_sums.h, each a sum over the losses that were learned, so what
 * several instances learned of distinct events is the sum of their sums. A summary is everything that one instance
 * learned by itself, since its model began, under that model's `life` and with a `number` that only rises. The newest
 * one of each life is kept and takes the place of the one before: one that comes twice, late or never counts nothing
 * twice and loses nothing. What is learned of the others is added up in the order of part and life, so the same
 * summaries give the same bits.
 *
 * Features may come later, to one instance before another: of two numbers of features the first ones are the same. A
 * summary is kept with the features that it came with. Rows that lack a feature count as rows with the value at which
 * it is pinned, once it is; until then it is `open`, and no weight can be found for it.
 *
 * One thread per object. */
#ifndef COP_LEARN_SUMS_H
#define COP_LEARN_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_SUMS_PEERS 256 /* lives of other instances, at most */

typedef struct cop_summary {
	uint32_t part;       /* of the instance */
	uint64_t life;       /* above 0 */
	uint64_t number;     /* above 0 */
	double time;         /* when it was made */
	const uint8_t *sums; /* doubles, little-endian; borrowed */
	size_t length;       /* bytes */
} cop_summary;

typedef struct cop_sums_peer {
	uint32_t part;
	uint64_t life, number;
	double time;
	size_t features;
	double *value; /* arms x their width */
} cop_sums_peer;

typedef struct cop_sums {
	size_t arms, features, width;
	uint64_t life;  /* of this model; 0: it has none yet */
	double *own;    /* arms x width */
	double *others; /* the same, of all peers */
	cop_sums_peer *peer;
	size_t peers;
	size_t open;     /* features that are */
	double *pin;     /* features */
	uint8_t *pinned; /* features: the pin is there */
	uint8_t *lacked; /* features: some peer's rows lack it */
	double *room;    /* width */
} cop_sums;

/* What becomes of a summary. */
typedef enum cop_sums_verdict {
	COP_SUMS_NEW,    /* it can be taken */
	COP_SUMS_SAME,   /* it says what is known */
	COP_SUMS_OLD,    /* a newer one was taken */
	COP_SUMS_OWN,    /* it is of this model's life */
	COP_SUMS_MOVED,  /* its life was another part's: a state folder was copied */
	COP_SUMS_SHAPE,  /* no features have as many numbers, or more than may be kept */
	COP_SUMS_BROKEN, /* numbers that are not finite, no life, no number */
	COP_SUMS_FULL,   /* of COP_SUMS_PEERS lives already */
	COP_SUMS_VERDICTS
} cop_sums_verdict;

/* COP_ENOMEM. Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_sums_init(cop_sums *sums, size_t arms, size_t features);
void cop_sums_fini(cop_sums *sums);
/* Bytes that one takes without peers. */
double cop_sums_footprint(size_t arms, size_t features);

/* Whether feature j is; whether this instance's own rows lack it. */
bool cop_sums_is_open(const cop_sums *sums, size_t j);
bool cop_sums_lacks(const cop_sums *sums, size_t j);
/* Rows that lack feature j count with that value from here on: those of this instance at once, those of others when
 * they are added up. */
void cop_sums_pin(cop_sums *sums, size_t j, double value);
/* As if feature j of this instance's rows, unless they lack it, had been that value; where it is pinned, at this one
 * now. True: that moved a pin. */
bool cop_sums_begin_anew(cop_sums *sums, size_t j, double value);
/* After the last pin that moved, before anything else. */
void cop_sums_add_up(cop_sums *sums);

/* The features of a summary of so many bytes; false: there are none such, or the sums are too many. */
bool cop_sums_features(const cop_sums *sums, size_t length, size_t *features);
/* The sums of a summary of this instance. */
void cop_sums_put_own(const cop_sums *sums, cop_bytes *bytes);
/* The sums of a peer, as they came. */
void cop_sums_put_peer(const cop_sums *sums, const cop_sums_peer *peer, cop_bytes *bytes);
cop_sums_verdict cop_sums_judge(const cop_sums *sums, const cop_summary *summary);
/* COP_EINVAL: its verdict is not COP_SUMS_NEW; COP_ENOMEM. Nothing changed then. */
COP_CHECK cop_err cop_sums_take(cop_sums *sums, const cop_summary *summary);

void cop_sums_save(const cop_sums *sums, cop_bytes *bytes);
/* What was saved of so many arms and features, into one of at least as many: further arms are 0, and all rows lack
 * further features. COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM; then its state is undefined. */
COP_CHECK cop_err cop_sums_load(cop_sums *sums, size_t arms, size_t features, cop_cursor *cursor);
/* As learn/learner.h's: room for the peers of one of as many features and at most as many arms, then its state. */
COP_CHECK cop_err cop_sums_make_room(cop_sums *sums, const cop_sums *from);
void cop_sums_inherit(cop_sums *sums, const cop_sums *from);

#endif
