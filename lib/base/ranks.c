/* In every other round the ranks stand in the other order, so that the first does not get the largest task of each. A
 * rank's part of an exchange is its error, the length of what follows, and that. */
#include "base/ranks.h"

static size_t place(const cop_ranks *ranks, size_t round)
{
	return round % 2 == 0 ? ranks->rank : ranks->count - 1 - ranks->rank;
}

size_t cop_ranks_tasks(const cop_ranks *ranks, size_t tasks)
{
	if (ranks == NULL)
		return tasks;
	size_t rounds = tasks / ranks->count;
	return rounds + (place(ranks, rounds) < tasks % ranks->count);
}

size_t cop_ranks_task(const cop_ranks *ranks, size_t i)
{
	return ranks == NULL ? i : i * ranks->count + place(ranks, i);
}

/* Every part is read twice: nothing is taken where one rank met an error. */
static cop_err first_error(const cop_ranks *ranks, cop_cursor cursor)
{
	for (unsigned r = 0; r < ranks->count; r++) {
		cop_err err = (cop_err)cop_cursor_u32(&cursor);
		(void)cop_cursor_take(&cursor, (size_t)cop_cursor_u64(&cursor));
		if (cursor.err != COP_OK)
			return COP_EFORMAT;
		if (err != COP_OK)
			return err;
	}
	return cop_cursor_left(&cursor) == 0 ? COP_OK : COP_EFORMAT;
}

static cop_err take_all(const cop_ranks *ranks, cop_cursor cursor, cop_ranks_take *take, void *context)
{
	cop_err err = COP_OK;
	for (unsigned r = 0; r < ranks->count && err == COP_OK; r++) {
		(void)cop_cursor_u32(&cursor);
		size_t length = (size_t)cop_cursor_u64(&cursor);
		cop_cursor part;
		cop_cursor_init(&part, cop_cursor_take(&cursor, length), length);
		if (r == ranks->rank)
			continue;
		err = take(context, &part);
		if (err == COP_OK && (part.err != COP_OK || cop_cursor_left(&part) != 0))
			err = COP_EFORMAT;
	}
	return err;
}

cop_err cop_ranks_exchange(
        const cop_ranks *ranks, cop_err err, const cop_bytes *mine, cop_ranks_take *take, void *context)
{
	cop_bytes part, all;
	cop_cursor cursor;
	if (err == COP_OK)
		err = mine->err;
	if (ranks == NULL)
		return err;
	cop_bytes_init(&part);
	cop_bytes_init(&all);
	cop_bytes_put_u32(&part, (uint32_t)err);
	cop_bytes_put_u64(&part, err == COP_OK ? mine->length : 0);
	if (err == COP_OK)
		cop_bytes_put(&part, mine->data, mine->length);
	err = part.err;
	if (err == COP_OK)
		err = ranks->gather(ranks->context, &part, &all);
	if (err == COP_OK)
		err = all.err;
	if (err == COP_OK) {
		cop_cursor_init(&cursor, all.data, all.length);
		err = first_error(ranks, cursor);
	}
	if (err == COP_OK)
		err = take_all(ranks, cursor, take, context);
	cop_bytes_fini(&part);
	cop_bytes_fini(&all);
	return err;
}
