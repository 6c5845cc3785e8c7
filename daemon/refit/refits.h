/* daemon/refit/refits.h: the supervisor of refits: when one begins, what became of it, who serves then.
 *
 * One worker process at a time (coppice-refit, daemon/refit/worker.h), never waited for. A refit begins when the
 * model's configuration says so and feedback has come that none has seen, or when somebody asks; one that went wrong is
 * tried again after a pause that doubles. Its challenger goes into the shadow of the serving learner; evidence decides,
 * where the configuration lets it. The loop's thread. */
#ifndef COP_DAEMON_REFIT_REFITS_H
#define COP_DAEMON_REFIT_REFITS_H

#include "daemon/durable/challenger_load.h"
#include "daemon/durable/durability.h"
#include "daemon/refit/worker_job.h"
#include "daemon/refit/worker_process.h"

typedef struct cop_refits {
	cop_durability *durable; /* kept: the models, their journal */
	cop_worker_process process;
	cop_challenger_load load;   /* of what the worker made, before the model takes it in */
	cop_worker_line end;        /* while that is under way: what the worker said */
	cop_model_slot *running;    /* whose refit it is, until its challenger was taken in; NULL: none */
	char state_dir[4096];       /* absolute */
	const cop_model_slot *next; /* whose is due; NULL: none */
	uint64_t wanted;            /* journal record that is to be synced before it begins */
	uint64_t learned;           /* the model's counter when it became due */
	uint64_t memory;            /* bytes that it may take */
	double began;               /* monotonic seconds */
	double next_look;           /* monotonic seconds */
} cop_refits;

/* durable is kept; its state folder is there. */
void cop_refits_init(cop_refits *refits, cop_durability *durable);
/* Kills the worker, if there is one, and waits for what it made to be read. */
void cop_refits_stop(cop_refits *refits);
/* The slot goes: what was under way for it ends. */
void cop_refits_forget(cop_refits *refits, const cop_model_slot *slot);
/* The model has another slot now. */
void cop_refits_move(cop_refits *refits, const cop_model_slot *from, cop_model_slot *to);
/* Readable when a turn is worth while; -1: none. */
int cop_refits_fd(const cop_refits *refits);
/* Logs which models would have refits by default, and why they have none; after a start and a reload. */
void cop_refits_announce(const cop_refits *refits);

/* Once a turn of the loop: takes in what a worker says, begins what is due, and lets evidence decide. */
void cop_refits_turn(cop_refits *refits, double now);

typedef enum cop_refits_answer {
	COP_REFITS_QUEUED,  /* it begins as soon as can be */
	COP_REFITS_RUNNING, /* one of this model is under way */
	COP_REFITS_NOTHING, /* no feedback since the last one */
	COP_REFITS_OFF,     /* not enabled, or without a journal */
	COP_REFITS_ANSWERS
} cop_refits_answer;

/* "queued" ...; never NULL. */
const char *cop_refits_answer_text(cop_refits_answer answer);
/* Somebody asks for one, whatever is due. */
cop_refits_answer cop_refits_ask(cop_refits *refits, cop_model_slot *slot);

/* The worker of the running refit has ended, and what it made is being read. */
bool cop_refits_is_loading(const cop_refits *refits);
/* What a model's refits are at: "off", "waiting", "queued" or "running"; never NULL. */
const char *cop_refits_state_text(const cop_refits *refits, const cop_model_slot *slot);
/* Why they are off, or what the next one waits for: "feedback", "share", "memory" ...
 * (docs/reference/protocol.md); never NULL. */
const char *cop_refits_why_text(const cop_refits *refits, const cop_model_slot *slot);
/* Event time when refits have rested enough, by what they spent; 0: none has been. */
double cop_refits_rested(const cop_refits *refits);

#endif
