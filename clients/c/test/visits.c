/* Many threads that decide and reward without a pause, until a line comes on standard input; each hundredth reward
 * prints a line. Then, as JSON on one line: how many visits there were, what their feedback came to, and how often a
 * decision was repeated.
 *
 *     visits ENDPOINT MODEL THREADS [KEY SERVER_KEY] */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <coppice_client.h>

#define MOST 256

static coppice_client *client;
static const char *model;
static atomic_ulong next, done, repeated, results[5];
static atomic_int stop, failed;

static void fail(unsigned long id, const coppice_message *why)
{
	atomic_store(&failed, 1);
	fprintf(stderr, "visit %lu: %s\n", id, why->text);
}

static void *work(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop) && !atomic_load(&failed)) {
		const unsigned long id = atomic_fetch_add(&next, 1);
		const float x[3] = { (float)(id % 7) / 7.0f, (float)(id % 3), 1.0f };
		const coppice_client_context context = { .x = coppice_row_dense(x, 3) };
		coppice_action action;
		coppice_result result;
		coppice_message why;
		if (coppice_client_decide(client, model, coppice_id_number(id), &context, &action, &why) !=
		                COPPICE_CLIENT_OK ||
		        coppice_client_feedback(client, model, coppice_id_number(id),
		                action.action == id % 3 ? 0.0 : 1.0, &result, &why) != COPPICE_CLIENT_OK) {
			fail(id, &why);
			return NULL;
		}
		atomic_fetch_add(&repeated, (unsigned long)action.repeated);
		atomic_fetch_add(&results[result], 1);
		if (atomic_fetch_add(&done, 1) % 100 == 99) {
			printf("%lu\n", atomic_load(&done));
			fflush(stdout);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	coppice_message why;
	pthread_t threads[MOST];
	const int count = argc > 3 ? atoi(argv[3]) : 0;
	if (count < 1 || count > MOST)
		return 2;
	const coppice_client_options options = { .endpoint = argv[1],
		.timeout = 120.0,
		.retry = 0.1,
		.key = argc > 5 ? argv[4] : NULL,
		.server_key = argc > 5 ? argv[5] : NULL };
	model = argv[2];
	if (coppice_client_new(&options, &client, &why) != COPPICE_CLIENT_OK) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	(void)getchar();
	atomic_store(&stop, 1);
	for (int i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
	coppice_client_free(client);
	printf("{\"visits\": %lu, \"repeated\": %lu, \"applied\": %lu, \"duplicate\": %lu, \"late\": %lu, \"unknown\": "
	       "%lu}\n",
	        atomic_load(&done), atomic_load(&repeated), atomic_load(&results[COPPICE_APPLIED]),
	        atomic_load(&results[COPPICE_DUPLICATE]), atomic_load(&results[COPPICE_LATE]),
	        atomic_load(&results[COPPICE_UNKNOWN]));
	return atomic_load(&failed);
}
