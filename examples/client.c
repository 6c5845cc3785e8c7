/* Decides through a running coppiced and rewards it, on a made-up site: visitors of three kinds, of whom each likes
 * another of three offers best. Prints how the average loss falls.
 *
 *     ./client tcp://127.0.0.1:5590 front-page 5000 1
 *
 * The model has arms = 3 and features = 3. */
#include <stdio.h>
#include <stdlib.h>

#include <coppice_client.h>

#define PARTS 10

static unsigned long drawn; /* a generator of its own, so that every machine draws the same */

static unsigned below(unsigned n)
{
	drawn = (drawn * 1103515245UL + 12345UL) & 0x7fffffffUL;
	return (unsigned)(drawn >> 8) % n;
}

/* One visitor; the loss, or -1 with the reason printed. */
static double visit(coppice_client *client, const char *model, unsigned long number)
{
	const unsigned kind = below(3);
	float x[3] = { 0.0f, 0.0f, 0.0f };
	char name[32];
	coppice_action action;
	coppice_message why;
	coppice_client_context context = coppice_client_context_of(coppice_row_dense(x, 3));
	x[kind] = 1.0f;
	snprintf(name, sizeof name, "visit-%lu", number);
	if (coppice_client_decide(client, model, coppice_id_text(name), &context, &action, &why) == COPPICE_CLIENT_OK) {
		const double loss = below(10) < (action.action == kind ? 2u : 8u) ? 1.0 : 0.0;
		if (coppice_client_feedback(client, model, coppice_id_text(name), loss, NULL, &why) ==
		        COPPICE_CLIENT_OK)
			return loss;
	}
	fprintf(stderr, "%s: %s\n", name, why.text);
	return -1.0;
}

int main(int argc, char **argv)
{
	coppice_client *client;
	coppice_message why;
	coppice_client_options options = { NULL, NULL, NULL, 0.0, 0.0, 0, 0 };
	const unsigned long visits = argc < 5 ? 0 : strtoul(argv[3], NULL, 10);
	if (visits < PARTS) {
		fprintf(stderr, "usage: client ENDPOINT MODEL VISITS SEED, with at least %d visits\n", PARTS);
		return 2;
	}
	options.endpoint = argv[1];
	drawn = strtoul(argv[4], NULL, 10);
	if (coppice_client_new(&options, &client, &why) != COPPICE_CLIENT_OK) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	double sum = 0.0;
	for (unsigned long i = 0, part = 0; i < visits && sum >= 0.0; i++) {
		const double loss = visit(client, argv[2], i);
		sum = loss < 0.0 ? -1.0 : sum + loss;
		if ((i + 1) % (visits / PARTS) == 0 && sum >= 0.0) {
			printf("%lu visitors: average loss %.3f\n", i + 1, sum / (double)(i + 1 - part));
			part = i + 1;
			sum = 0.0;
		}
	}
	coppice_client_free(client);
	return sum < 0.0 ? 1 : 0;
}
