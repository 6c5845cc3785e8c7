#include "history/gone.h"

#define SLACK 1.0 /* seconds between a window's end and the record that says so */

void cop_gone_record(cop_gone *b, double time, double window)
{
	if (!b->begun)
		b->first = b->shown = time;
	b->begun = true;
	b->window = window > b->window ? window : b->window;
	b->endless = b->endless || !(window > 0.0);
}

bool cop_gone_is_near(const cop_gone *b, double time)
{
	return b->cut && (b->endless || b->behind || time < b->shown + b->window + SLACK);
}

void cop_gone_doubt(cop_gone *b, uint64_t sequence, double time)
{
	if (cop_gone_is_near(b, time))
		b->doubtful = sequence;
}

/* While no decision read here can be over, ends of windows are those of earlier ones alone. */
void cop_gone_expire(cop_gone *b, uint64_t sequence, double time, bool many)
{
	bool ours = b->endless || (many && time >= b->first + b->window);
	if (ours)
		cop_gone_doubt(b, sequence, time);
	b->behind = many;
}

void cop_gone_show(cop_gone *b, double time)
{
	if (cop_gone_is_near(b, time) && time > b->shown)
		b->shown = time;
}
