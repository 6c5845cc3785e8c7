/* daemon/durable/forgetting.h: orders to forget somebody, carried out one after another while the daemon serves.
 *
 * What the journal has of a unit, or under an id, is found (history/forget.h); their waiting decisions end; the models
 * that had anything of theirs are learned again without it, beside the ones that serve, and take their places; a
 * checkpoint is written, what older files hold of theirs is erased, and followers begin anew from it. An order stands
 * in the state folder until then, so a daemon that is killed begins it anew. Nothing here waits, but for the disk when
 * the journal's segment is ended. One that follows carries out none. The loop's thread. */
#ifndef COP_DAEMON_DURABLE_FORGETTING_H
#define COP_DAEMON_DURABLE_FORGETTING_H

#include "daemon/durable/durability.h"
#include "daemon/durable/forget_order.h"
#include "daemon/durable/forget_report.h"
#include "daemon/durable/forget_work.h"

/* What the daemon around it does. */
typedef struct cop_forgetting_hooks {
	/* A copy of the configuration that is served, from its files; the caller's then. COP_EINVAL: they say something
	 * else by now. */
	cop_err (*copy_config)(void *context, cop_config **out, cop_diag *diag);
	/* The model has another slot now; the old one is closed next. */
	void (*moved)(void *context, cop_model_slot *was, cop_model_slot *now);
	/* A refit of the model that is under way, and may have seen what is forgotten, ends. */
	void (*stop_refit)(void *context, const cop_model_slot *slot);
	/* A process of the daemon reads the journal, which an erased segment would disturb. */
	bool (*is_read)(void *context);
	/* Followers of the journal whose state is of before begin anew from here, one after another; counted in the
	 * report. True: all that are there have. */
	bool (*renew)(void *context, double now, cop_forget_report *report);
	void *context;
} cop_forgetting_hooks;

typedef enum cop_forgetting_state {
	COP_FORGETTING_NOTHING,  /* no order */
	COP_FORGETTING_PAUSE,    /* one that went wrong is begun anew in a while */
	COP_FORGETTING_SCAN,     /* the journal is read for what is theirs */
	COP_FORGETTING_REST,     /* and what came meanwhile */
	COP_FORGETTING_LEARN,    /* the models are learned again */
	COP_FORGETTING_CATCH_UP, /* and what came meanwhile */
	COP_FORGETTING_SAVE,     /* a checkpoint is written */
	COP_FORGETTING_ERASE,
	COP_FORGETTING_RENEW, /* followers begin anew */
	COP_FORGETTING_STATES
} cop_forgetting_state;

/* "nothing", "pause", "scan" ...; never NULL. */
const char *cop_forgetting_state_text(cop_forgetting_state state);

typedef struct cop_forgetting {
	cop_durability *durable; /* kept */
	cop_forgetting_hooks hooks;
	cop_forgetting_state state;
	cop_forget_order order;
	size_t waiting; /* orders, with this one */
	bool unread;    /* it could not be read */
	unsigned unfit; /* times that the journal's records did not fit the models */
	uint64_t last_number;
	cop_forget_work work;
	cop_bytes heard;     /* records put since the loop listens */
	size_t taken;        /* bytes of them */
	uint64_t saved_from; /* the checkpoint's first record that is not in it, at least */
	uint64_t sequence;   /* without a journal: checkpoints so far */
	double began, next;  /* monotonic seconds; next: not before then */
	uint64_t done, failed;
	char reason[256];         /* of the last failure */
	cop_forget_report report; /* of the order under way, */
	cop_forget_report last;   /* and of the last one that was carried out */
} cop_forgetting;

/* Takes up orders that stand in the state folder. */
void cop_forgetting_init(cop_forgetting *forgetting, cop_durability *durable, const cop_forgetting_hooks *hooks);
/* Ends what is under way; its order stays. */
void cop_forgetting_stop(cop_forgetting *forgetting);

/* One more order, which is on disk when this returns; its number is filled in. COP_EIO, COP_EFULL, COP_ENOMEM, with
 * *diag. */
COP_CHECK cop_err cop_forgetting_add(cop_forgetting *forgetting, cop_forget_order *order, cop_diag *diag);
/* Once a turn of the loop, after what was put has been committed. */
void cop_forgetting_turn(cop_forgetting *forgetting, double now);

#endif
