/* Answers count twice: in the sum of all, and in their requester's bucket, which is one of a few that the hash of its
 * identity leads to: its own, or one in which nobody holds anything; only when all are held is one shared. A bucket may
 * hold half of the share, and all of them three quarters; beyond, only a bucket that holds next to nothing gets an
 * answer, so that those who read are served on while others hold what they do not read. A first one, however large,
 * always has room. */
#include "daemon/serve/outflow.h"

#include "base/hash.h"
#include "base/mem.h"

/* The part of the share that a bucket may leave uncounted while memory is short, and that may be on its way to one who
 * reads. */
#define SMALL_SHARE 64u
#define SMALL       1024u /* such an answer, "busy" for example, is no reason to be refused */
#define TOGETHER    8u    /* small answers that are counted as one */
#define PLACES      8u    /* buckets among which an identity has one */

typedef struct bucket {
	uint32_t whose; /* hash of the identity that it was taken for last */
	atomic_size_t held;
	size_t uncounted; /* bytes of small answers since the last that was counted */
	unsigned answers; /* how many they are */
} bucket;

struct cop_outflow {
	size_t share;
	atomic_size_t answers, actions;
	bucket buckets[COP_OUTFLOW_BUCKETS]; /* of answers */
};

typedef struct counted {
	zmq_msg_t body;
	size_t cost;
	atomic_size_t *sum, *held;
} counted;

cop_err cop_outflow_new(size_t share, cop_outflow **out)
{
	*out = cop_mem_alloc(1, sizeof **out);
	if (*out == NULL)
		return COP_ENOMEM;
	(*out)->share = share;
	return COP_OK;
}

void cop_outflow_free(cop_outflow *outflow) { cop_mem_free(outflow); }

static void let_go(void *data, void *hint)
{
	counted *answer = hint;
	(void)data;
	atomic_fetch_sub(answer->sum, answer->cost);
	atomic_fetch_sub(answer->held, answer->cost);
	(void)zmq_msg_close(&answer->body);
	cop_mem_free(answer);
}

static bool has_room(const cop_outflow *outflow, size_t held, size_t cost)
{
	size_t before = atomic_load(&outflow->answers), all = before + cost;
	if (held <= outflow->share / SMALL_SHARE)
		return before == 0 || all <= outflow->share;
	size_t most = outflow->share - outflow->share / 4;
	return all <= most && held + cost <= (cost < SMALL ? most : outflow->share / 2);
}

/* Puts a message in body's place that counts until ZeroMQ lets it go. */
static bool wrap(cop_outflow *outflow, bucket *b, size_t cost, zmq_msg_t *body)
{
	counted *answer = cop_mem_alloc(1, sizeof *answer);
	if (answer == NULL)
		return false;
	*answer = (counted){ .cost = cost, .sum = &outflow->answers, .held = &b->held };
	(void)zmq_msg_init(&answer->body);
	(void)zmq_msg_move(&answer->body, body);
	zmq_msg_t outer;
	if (zmq_msg_init_data(&outer, zmq_msg_data(&answer->body), zmq_msg_size(&answer->body), let_go, answer) != 0) {
		(void)zmq_msg_move(body, &answer->body);
		(void)zmq_msg_close(&answer->body);
		cop_mem_free(answer);
		return false;
	}
	atomic_fetch_add(answer->sum, cost);
	atomic_fetch_add(answer->held, cost);
	(void)zmq_msg_move(body, &outer);
	(void)zmq_msg_close(&outer);
	return true;
}

static bucket *find(cop_outflow *outflow, zmq_msg_t *to)
{
	uint32_t whose = cop_hash_murmur3(zmq_msg_data(to), zmq_msg_size(to), 0);
	bucket *unheld = NULL;
	for (unsigned i = 0; i < PLACES; i++) {
		bucket *b = &outflow->buckets[(whose + i) % COP_OUTFLOW_BUCKETS];
		if (b->whose == whose)
			return b;
		if (unheld == NULL && atomic_load(&b->held) == 0)
			unheld = b;
	}
	if (unheld == NULL)
		return &outflow->buckets[whose % COP_OUTFLOW_BUCKETS];
	unheld->whose = whose;
	return unheld;
}

bool cop_outflow_answer(cop_outflow *outflow, zmq_msg_t *to, zmq_msg_t *body)
{
	bucket *b = find(outflow, to);
	size_t cost = zmq_msg_size(body) + COP_OUTFLOW_COST;
	if (!has_room(outflow, atomic_load(&b->held), cost))
		return false;
	if (cost < SMALL && ++b->answers < TOGETHER) {
		b->uncounted += cost;
		return true;
	}
	if (!wrap(outflow, b, cost + b->uncounted, body)) { /* memory is short: the answer goes, to be counted later */
		b->uncounted += cost;
		return b->uncounted <= outflow->share / SMALL_SHARE;
	}
	b->uncounted = 0;
	b->answers = 0;
	return true;
}

bool cop_outflow_add_action(cop_outflow *outflow, size_t length)
{
	size_t cost = length + COP_OUTFLOW_COST;
	size_t before = atomic_load(&outflow->actions);
	if (before > 0 && before + cost > outflow->share / 2)
		return false;
	atomic_fetch_add(&outflow->actions, cost);
	return true;
}

void cop_outflow_remove_action(cop_outflow *outflow, size_t length)
{
	atomic_fetch_sub(&outflow->actions, length + COP_OUTFLOW_COST);
}

size_t cop_outflow_answers(const cop_outflow *outflow) { return outflow == NULL ? 0 : atomic_load(&outflow->answers); }
size_t cop_outflow_actions(const cop_outflow *outflow) { return outflow == NULL ? 0 : atomic_load(&outflow->actions); }

bool cop_outflow_answers_press(const cop_outflow *outflow)
{
	return atomic_load(&outflow->answers) > outflow->share / 2;
}

bool cop_outflow_actions_press(const cop_outflow *outflow)
{
	return atomic_load(&outflow->actions) > outflow->share / 16 * 7;
}
