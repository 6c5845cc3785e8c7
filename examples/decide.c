/* decide.c: a program that decides and learns in process, on a made-up site.
 *
 *     decide [EVENTS [SEED]]
 *
 * A visitor has a mood and a time of day, both in [0, 1), and a country. Of four banners each suits other visitors; a
 * banner that is not clicked costs 1, a click 0. The model sees the features and the clicks alone. Printed is, for each
 * tenth of the events, the average loss; then what a uniform choice would have lost, and why the model chooses as it
 * does. The same seed gives the same lines. */
#include <coppice.h>
#include <stdio.h>
#include <stdlib.h>

#define BANNERS  4
#define FEATURES 4

static uint64_t state;

/* A number in [0, 1): xorshift64*. */
static double draw(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)((state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

static void visit(float x[FEATURES])
{
	int abroad = draw() < 0.3;
	x[0] = (float)draw();
	x[1] = (float)draw();
	x[2] = abroad ? 0.0f : 1.0f;
	x[3] = abroad ? 1.0f : 0.0f;
}

/* How often this visitor clicks the banner. */
static double clicks(const float x[FEATURES], uint32_t banner)
{
	switch (banner) {
	case 0:
		return x[0] > 0.5f ? 0.8 : 0.1;
	case 1:
		return x[0] <= 0.5f && x[2] == 1.0f ? 0.7 : 0.1;
	case 2:
		return x[3] == 1.0f ? 0.6 : 0.1;
	default:
		return 0.2 + 0.2 * (double)x[1];
	}
}

static int failed(const char *what, const char *why)
{
	fprintf(stderr, "decide: %s: %s\n", what, why);
	return 1;
}

/* One visitor: decide, show, learn. The loss into *loss; what a uniform choice loses on average is added to *uniform.
 */
static coppice_err serve(coppice_model *model, uint64_t visitor, double *loss, double *uniform)
{
	float x[FEATURES];
	coppice_decision decision;
	double now = (double)visitor; /* one visitor a second */
	visit(x);
	coppice_row row = coppice_row_dense(x, FEATURES);
	coppice_err err = coppice_model_decide(model, coppice_id_number(visitor), &row, NULL, now, &decision);
	if (err != COPPICE_OK)
		return err;
	*loss = draw() < clicks(x, decision.action) ? 0.0 : 1.0;
	for (uint32_t k = 0; k < BANNERS; k++)
		*uniform += (1.0 - clicks(x, k)) / BANNERS;
	return coppice_model_feedback(model, coppice_id_number(visitor), *loss, now + 0.5, NULL);
}

static int explain(coppice_model *model)
{
	const float x[FEATURES] = { 0.9f, 0.1f, 1.0f, 0.0f };
	coppice_row row = coppice_row_dense(x, FEATURES);
	const char *json;
	if (coppice_model_explain_row(model, &row, NULL, NULL, &json) != COPPICE_OK)
		return failed("explain", coppice_model_message(model));
	printf("explanation: %.100s...\n", json);
	return 0;
}

static int run(coppice_model *model, uint64_t events)
{
	static const char *const names[FEATURES] = { "mood", "daytime", "home", "abroad" };
	double sum = 0.0, uniform = 0.0, loss = 0.0;
	uint64_t part = events / 10, visitor = 0;
	if (coppice_model_name_features(model, names) != COPPICE_OK)
		return failed("names", coppice_model_message(model));
	for (; visitor < events; visitor++) {
		if (serve(model, visitor, &loss, &uniform) != COPPICE_OK)
			return failed("serve", coppice_model_message(model));
		sum += loss;
		if ((visitor + 1) % part == 0) {
			printf("%7llu visitors: average loss %.3f\n", (unsigned long long)(visitor + 1),
			        sum / (double)part);
			sum = 0.0;
		}
	}
	printf("uniform choice: average loss %.3f\n", uniform / (double)events);
	return explain(model);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	char settings[128];
	coppice_model *model;
	coppice_message message;
	if (events < 10)
		return failed("EVENTS", "expected at least 10");
	state = seed * 2 + 1;
	snprintf(settings, sizeof settings, "arms = %d  features = %d  seed = %llu", BANNERS, FEATURES,
	        (unsigned long long)seed);
	if (coppice_model_new(settings, &model, &message) != COPPICE_OK)
		return failed("model", message.text);
	int status = run(model, events);
	coppice_model_free(model);
	return status;
}
