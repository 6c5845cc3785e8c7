#include "replay_table.h"

#include <inttypes.h>
#include <math.h>

#define NUMBER_ROOM 340

void cop_replay_table_init(cop_replay_table *table, FILE *out, double step, bool adds)
{
	*table = (cop_replay_table){ .out = out, .step = step, .adds = adds, .mark = adds ? step : 1.0 };
}

void cop_replay_table_loss(char *out, double loss, int width)
{
	char text[400];
	if (isnan(loss))
		(void)snprintf(text, sizeof text, "n.a.");
	else
		(void)snprintf(text, sizeof text, "%.6f", loss);
	(void)snprintf(out, 32, "%-*.*s", width, width, text);
}

static void print_header(const cop_replay_table *table)
{
	(void)fprintf(table->out, "%-8s %-8s %12s %14s %14s %14s %8s\n", "average", "since", "example", "example",
	        "current", "current", "current");
	(void)fprintf(table->out, "%-8s %-8s %12s %14s %14s %14s %8s\n", "loss", "last", "counter", "weight", "label",
	        "predict", "features");
}

/* At most two decimals, and no zeros at their end: as Vowpal Wabbit prints numbers in its table. */
static const char *short_number(double value, char out[NUMBER_ROOM])
{
	int length = snprintf(out, NUMBER_ROOM, "%.2f", value);
	while (length > 1 && out[length - 1] == '0')
		out[--length] = '\0';
	if (length > 1 && out[length - 1] == '.')
		out[--length] = '\0';
	return out;
}

static void print_line(
        cop_replay_table *table, const cop_estimates *tally, const cop_logged_event *event, const cop_replay_seen *seen)
{
	char average[32], since[32], label[2 * NUMBER_ROOM] = "unknown", predict[NUMBER_ROOM + 16];
	char cost[NUMBER_ROOM], p[NUMBER_ROOM];
	double weight = tally->labelled_weight - table->weight_before;
	bool shows_p = table->exploring || !seen->has_model;
	cop_replay_table_loss(average, cop_estimates_average(tally), 8);
	cop_replay_table_loss(since, weight > 0.0 ? (tally->loss_sum - table->loss_before) / weight : (double)NAN, 8);
	if (event->labelled)
		(void)snprintf(label, sizeof label, "%" PRIu32 ":%s:%s", event->action + table->base,
		        short_number(event->cost, cost), short_number(event->p, p));
	(void)snprintf(predict, sizeof predict, "%" PRIu32 ":%s", seen->best + table->base,
	        short_number(shows_p ? seen->best_p : seen->best_cost, p));
	if (!table->begun)
		print_header(table);
	table->begun = true;
	(void)fprintf(table->out, "%s %s %12" PRIu64 " %14.1f %14s %14s %8zu\n", average, since, tally->examples,
	        tally->weight, label, predict, event->features);
	table->loss_before = tally->loss_sum;
	table->weight_before = tally->labelled_weight;
}

static void move_mark(cop_replay_table *table, double weight)
{
	if (table->adds && table->mark <= weight)
		table->mark += table->step * (floor((weight - table->mark) / table->step) + 1.0);
	while (!table->adds && table->mark <= weight)
		table->mark *= table->step;
}

void cop_replay_table_resume(cop_replay_table *table, const cop_estimates *tally)
{
	table->loss_before = tally->loss_sum;
	table->weight_before = tally->labelled_weight;
	if (table->out != NULL)
		move_mark(table, tally->weight);
}

void cop_replay_table_add(
        cop_replay_table *table, const cop_estimates *tally, const cop_logged_event *event, const cop_replay_seen *seen)
{
	if (table->out == NULL || tally->weight < table->mark)
		return;
	print_line(table, tally, event, seen);
	move_mark(table, tally->weight);
}
