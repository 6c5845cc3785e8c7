/* A task is a stack of its own. The loop resumes one that can run, drawn from the seed; when none can, time goes on to
 * the first moment for which one waits, or at which a message arrives. What takes the place of threads, mutexes and
 * conditions is here too: since one task runs at a time, a mutex is taken or it is not. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK ((size_t)1 << 20)
#define MOST  2048

typedef enum task_state { TASK_READY, TASK_WAITS, TASK_DONE } task_state;

typedef struct task {
	ucontext_t context;
	task_state state;
	int node;
	bool woken;
	const void *key;
	uint64_t until;
	void *(*work)(void *);
	void *argument;
	void *stack;
} task;

sim_settings sim_run;

static task *tasks[MOST];
static size_t task_count;
static task *current;
static ucontext_t loop_context;
static uint64_t now, state;
static bool ended;
static int status;
static char keys[SIM_NODES];

uint64_t sim_now(void) { return now; }
int sim_node(void) { return current == NULL ? -1 : current->node; }
const void *sim_wake_key(int node) { return &keys[node]; }

/* splitmix64 */
static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t sim_draw(uint64_t below) { return below == 0 ? 0 : draw() % below; }
bool sim_chance(double probability) { return (double)(draw() >> 11) * 0x1p-53 < probability; }

void sim_trace(const char *format, ...)
{
	va_list list;
	if (!sim_run.trace)
		return;
	(void)fprintf(stderr, "%4llu.%09llu %d ", (unsigned long long)(now / SIM_SECOND),
	        (unsigned long long)(now % SIM_SECOND), sim_node());
	va_start(list, format);
	(void)vfprintf(stderr, format, list);
	va_end(list);
	(void)fputc('\n', stderr);
}

static void enter(void)
{
	current->work(current->argument);
	current->state = TASK_DONE;
	sim_wake(current);
	(void)swapcontext(&current->context, &loop_context);
	abort();
}

static task *start(int node, void *(*work)(void *), void *argument)
{
	if (task_count == MOST)
		abort();
	task *t = calloc(1, sizeof *t);
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t == NULL || stack == MAP_FAILED || getcontext(&t->context) != 0)
		abort();
	t->context.uc_stack.ss_sp = t->stack = stack;
	t->context.uc_stack.ss_size = STACK;
	t->node = node;
	t->work = work;
	t->argument = argument;
	makecontext(&t->context, enter, 0);
	return tasks[task_count++] = t;
}

void sim_start(int node, void *(*work)(void *), void *context) { (void)start(node, work, context); }

static void leave(void)
{
	task *t = current;
	(void)swapcontext(&t->context, &loop_context);
}

bool sim_wait(const void *key, uint64_t until)
{
	current->state = TASK_WAITS;
	current->key = key;
	current->until = until;
	current->woken = false;
	leave();
	return current->woken;
}

void sim_wake(const void *key)
{
	for (size_t i = 0; i < task_count; i++)
		if (tasks[i]->state == TASK_WAITS && tasks[i]->key == key) {
			tasks[i]->state = TASK_READY;
			tasks[i]->woken = true;
		}
}

void sim_sleep(uint64_t ns) { (void)sim_wait(NULL, now + ns); }

void sim_stop_tasks(int node)
{
	for (size_t i = 0; i < task_count; i++)
		if (tasks[i]->node == node)
			tasks[i]->state = TASK_DONE;
}

_Noreturn void sim_die(void)
{
	sim_daemon_kill(current->node);
	leave();
	abort();
}

_Noreturn void sim_end(int with)
{
	ended = true;
	status = with;
	leave();
	abort();
}

static void forget_done(void)
{
	size_t kept = 0;
	for (size_t i = 0; i < task_count; i++) {
		if (tasks[i]->state != TASK_DONE) {
			tasks[kept++] = tasks[i];
			continue;
		}
		(void)munmap(tasks[i]->stack, STACK);
		/* The task itself stays: somebody may join it yet. */
	}
	task_count = kept;
}

static void pass_time(void)
{
	uint64_t next = sim_net_next();
	for (size_t i = 0; i < task_count; i++)
		if (tasks[i]->state == TASK_WAITS && tasks[i]->until < next)
			next = tasks[i]->until;
	if (next == SIM_NEVER) {
		(void)fprintf(stderr, "sim: seed %llu: nobody waits for anything\n", (unsigned long long)sim_run.seed);
		exit(2);
	}
	now = next > now ? next : now;
}

static task *choose(void)
{
	size_t ready = 0;
	sim_net_deliver();
	for (size_t i = 0; i < task_count; i++) {
		task *t = tasks[i];
		if (t->state == TASK_WAITS && t->until <= now)
			t->state = TASK_READY;
		ready += t->state == TASK_READY;
	}
	for (size_t i = 0, at = ready == 0 ? 0 : sim_draw(ready); i < task_count && ready > 0; i++)
		if (tasks[i]->state == TASK_READY && at-- == 0)
			return tasks[i];
	return NULL;
}

void sim_loop(void)
{
	state = sim_run.seed * 0x2545f4914f6cdd1du + 1;
	while (!ended) {
		forget_done();
		task *t = choose();
		if (t == NULL) {
			pass_time();
			continue;
		}
		current = t;
		now += 200 + sim_draw(1800);
		(void)swapcontext(&loop_context, &t->context);
		current = NULL;
	}
	exit(status);
}

/* ---- in place of threads ---- */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *argument);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_detach(pthread_t thread);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_sem_wait(sem_t *semaphore);
int __wrap_sem_post(sem_t *semaphore);
int __real_sem_post(sem_t *semaphore);
uint64_t sim_clock_moment(int node, const struct timespec *monotonic);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *argument)
{
	(void)how;
	*thread = (pthread_t)(uintptr_t)start(sim_node(), work, argument);
	return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	task *t = (task *)(uintptr_t)thread; // NOLINT
	(void)result;
	while (t->state != TASK_DONE)
		(void)sim_wait(t, SIM_NEVER);
	return 0;
}

int __wrap_pthread_detach(pthread_t thread)
{
	(void)thread;
	return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	while (pthread_mutex_trylock(mutex) == EBUSY)
		(void)sim_wait(mutex, SIM_NEVER);
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int failed = __real_pthread_mutex_unlock(mutex);
	sim_wake(mutex);
	return failed;
}

static bool wait_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until)
{
	(void)__wrap_pthread_mutex_unlock(mutex);
	bool woken = sim_wait(condition, until);
	(void)__wrap_pthread_mutex_lock(mutex);
	return woken;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	(void)wait_condition(condition, mutex, SIM_NEVER);
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	return wait_condition(condition, mutex, sim_clock_moment(sim_node(), until)) ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
	sim_wake(condition);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
	sim_wake(condition);
	return 0;
}

int __wrap_sem_wait(sem_t *semaphore)
{
	while (sem_trywait(semaphore) != 0)
		(void)sim_wait(semaphore, SIM_NEVER);
	return 0;
}

int __wrap_sem_post(sem_t *semaphore)
{
	int failed = __real_sem_post(semaphore);
	sim_wake(semaphore);
	return failed;
}
