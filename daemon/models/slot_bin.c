/* A slot is in one of two lists: the loop's, or the thread's, which gets the whole list whenever it has ended the one
 * before. Where there is no thread the loop closes them itself. */
#include "daemon/models/slot_bin.h"

static void close_all(void *context)
{
	cop_slot_bin *bin = context;
	for (cop_model_slot *slot = bin->going, *behind; slot != NULL; slot = behind) {
		behind = slot->behind;
		cop_model_slot_close(slot);
	}
	bin->going = NULL;
}

void cop_slot_bin_put(cop_slot_bin *bin, cop_model_slot *slot)
{
	slot->behind = bin->first;
	bin->first = slot;
}

void cop_slot_bin_turn(cop_slot_bin *bin)
{
	if ((bin->first == NULL && !bin->job.started) || cop_job_is_busy(&bin->job))
		return;
	cop_job_finish(&bin->job);
	bin->going = bin->first;
	bin->first = NULL;
	if (bin->going != NULL && cop_job_start(&bin->job, close_all, bin) != COP_OK)
		close_all(bin);
}

void cop_slot_bin_fini(cop_slot_bin *bin)
{
	cop_job_finish(&bin->job);
	bin->going = bin->first;
	bin->first = NULL;
	close_all(bin);
}
