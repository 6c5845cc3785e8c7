/* wire/wire_record.h: bodies of journal records: what happened to a model, complete enough to do it again.
 *
 * MessagePack maps with short keys, every number exact. A decision carries context and candidates as given, the action
 * with its propensity and the experts' predictions; applying it needs no draw. Every record lists the waiting decisions
 * that it ended beside its own, with the losses that were learned of them: applying it needs no rule. Times are event
 * times, seconds since 1970. Decoding allocates nothing; views point into the workspace and the body. No state: any
 * thread. */
#ifndef COP_WIRE_WIRE_RECORD_H
#define COP_WIRE_WIRE_RECORD_H

#include "base/bytes.h"
#include "wire/wire_context.h"
#include "wire/wire_position.h"
#include "wire/wire_settled.h"
#include "wire/wire_split.h"

#define COP_WIRE_RECORD_PREDICTIONS 6
#define COP_WIRE_RECORD_ANY_ARM     UINT32_MAX
#define COP_WIRE_RECORD_MODEL       64 /* bytes of a model's name */

typedef enum cop_wire_record_type {
	COP_WIRE_RECORD_DECISION = 1,   /* a new decision */
	COP_WIRE_RECORD_FEEDBACK = 2,   /* a feedback that was accepted, whatever its result */
	COP_WIRE_RECORD_EXPIRY = 3,     /* reward windows that ended */
	COP_WIRE_RECORD_ACTIVATION = 4, /* a deferred decision was shown */
	COP_WIRE_RECORD_CONFIG = 5,     /* the configuration from here on */
	COP_WIRE_RECORD_PROMOTION = 6,  /* what became of a challenger (online/model_shadow.h) */
	COP_WIRE_RECORD_UNHEARD = 7,    /* no subscriber was given the action of a waiting decision */
	COP_WIRE_RECORD_FORGOTTEN = 8,  /* what it was of was erased (history/forget.h); what it ended beside remains */
	COP_WIRE_RECORD_POSITION = 9,   /* an event of an event log was taken in that has no other record */
	COP_WIRE_RECORD_MERGE = 10,     /* what another instance learned was taken in, or a model's life began */
} cop_wire_record_type;

/* What a promotion record is of. */
typedef enum cop_wire_promotion {
	COP_WIRE_PROMOTION_NONE = 0, /* not told; nothing happened */
	COP_WIRE_PROMOTION_CHALLENGE = 1,
	COP_WIRE_PROMOTION_PROMOTE = 2,
	COP_WIRE_PROMOTION_ROLLBACK = 3,
	COP_WIRE_PROMOTION_RETIRE = 4,
	COP_WIRE_PROMOTION_FREEZE = 5,
	COP_WIRE_PROMOTION_THAW = 6,
	COP_WIRE_PROMOTIONS
} cop_wire_promotion;

/* "challenge" ...; never NULL. */
const char *cop_wire_promotion_text(cop_wire_promotion kind);

typedef struct cop_wire_record {
	const char *model; /* borrowed, not terminated */
	size_t model_length;
	double time;
	cop_event_id id;        /* decision, feedback, activation, unheard */
	cop_wire_position from; /* where the event stood; at source NULL: not told */
	cop_event_id unit;      /* whom a decision, or self-contained feedback, is of; kind 0: not told */
	cop_row x;              /* decision; feedback that is self-contained */
	bool has_x;
	const cop_row *candidate; /* of a model that ranks. Decision: all; self-contained feedback: the played one */
	size_t candidates;
	const char
	        *played; /* decision of a model that ranks: the played candidate's name, not terminated; NULL: none */
	size_t played_length;
	const uint8_t *mask;  /* decision: arms (or candidates) flags; NULL: all are eligible */
	size_t arms;          /* their number, where it is known */
	bool values;          /* decision of a value model: y and u instead of a, p and greedy */
	uint32_t a;           /* feedback with a candidate: COP_WIRE_RECORD_ANY_ARM when its place was not told */
	double p;             /* values, with density: that of y, per unit of [0, 1] */
	bool density;         /* decision of a value model: p is there */
	cop_wire_limit limit; /* decision: what decided about p, beside the policy */
	bool greedy;
	bool observed; /* a decision, or self-contained feedback, of an existing system; greedy: the model agrees */
	double own_p;  /* observed: the model's own probability of a, in [0, 1] */
	bool split;    /* a decision where there is a control group: observed, the baseline made it */
	cop_wire_split split_by;
	double y; /* in [0, 1] */
	int8_t u;
	uint64_t rev;
	bool defer;
	uint32_t owner; /* decision: whose it is (online/pending.h); 0: nobody's in particular */
	float prediction[COP_WIRE_RECORD_PREDICTIONS];
	unsigned predictions;
	double loss[2]; /* feedback, as sent */
	unsigned losses;
	cop_wire_named named;   /* feedback: its named losses, of which `loss` is the weighted sum; count 0: none */
	cop_wire_result result; /* feedback, activation */
	bool joined;            /* self-contained feedback: its decision waited, with this action, and was learned of */
	cop_wire_settled settled; /* decision, feedback, activation, expiry, forgotten */
	uint64_t count;           /* challenge: the number of the challenger's file; merge: of the summary */
	cop_wire_promotion promotion;
	uint32_t crc;  /* challenge: CRC32C of the file's body */
	uint64_t life; /* merge: under which the summary's model learned; without sums, this model's own from here on */
	uint32_t part; /* merge: of the instance that made the summary */
	double at;     /* merge: when */
	const uint8_t *sums; /* merge: doubles, little-endian; borrowed; NULL: none */
	size_t sums_length;
	const char *text; /* configuration, as printed; borrowed */
	size_t text_length;
	const uint8_t *models; /* configuration: its models (wire/wire_models.h); borrowed; NULL: not told */
	size_t models_length;
	const char *live; /* configuration: what was changed live, over its file; borrowed; NULL: nothing */
	size_t live_length;
	const uint8_t *listed; /* configuration: names that files give, in MessagePack; borrowed; NULL: not told */
	size_t listed_length;
} cop_wire_record;

/* Appends the body for a record of that type; failure is in bytes->err. */
void cop_wire_record_put(cop_bytes *bytes, cop_wire_record_type type, const cop_wire_record *record);

/* Only the model's name, to find its shape; NULL and 0 when the record has none. COP_EFORMAT. */
COP_CHECK cop_err cop_wire_record_model(const void *body, size_t length, const char **model, size_t *model_length);
/* shape and workspace are the model's; of types that are no decision or feedback, any. COP_EFORMAT, COP_ESHAPE,
 * COP_EINVAL, COP_ENONFINITE with the fault filled (NULL allowed). */
COP_CHECK cop_err cop_wire_record_decode(cop_wire_record_type type, const void *body, size_t length,
        const cop_wire_shape *shape, const cop_wire_workspace *workspace, cop_wire_record *out, cop_wire_fault *fault);

#endif
