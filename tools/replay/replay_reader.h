/* tools/replay/replay_reader.h: a log opened for reading, whatever it is written in: also a daemon's journal.
 *
 * One thread. */
#ifndef COP_TOOLS_REPLAY_REPLAY_READER_H
#define COP_TOOLS_REPLAY_REPLAY_READER_H

#include "replay_options.h"

bool cop_replay_is_journal(const cop_replay_options *options);
/* space: for formats with named features, kept; NULL for journals. Caller frees with cop_event_reader_free. Errors of
 * cop_reader_options_open and cop_journal_history_open. */
COP_CHECK cop_err cop_replay_reader_open(
        const cop_replay_options *options, cop_feature_space *space, cop_event_reader **out, cop_diag *diag);

/* What a journal tells of its model; the rows' places have no names. Once an event was read. */
typedef struct cop_replay_journal {
	bool told;
	bool values; /* arms: their bins */
	size_t arms, entries;
	double low, high;
} cop_replay_journal;
/* And a space of the rows' shape, whose columns are called 0, 1, 2 ...; caller frees. COP_ENOMEM. */
COP_CHECK cop_err cop_replay_journal_shape(
        const cop_event_reader *reader, cop_replay_journal *out, cop_feature_space **space, cop_diag *diag);

/* A dense space with the columns that a file names, one a line, frozen; caller frees. Errors of cop_stream_open_read;
 * COP_EFORMAT: no name in it, or one twice. */
COP_CHECK cop_err cop_replay_columns_read(const char *path, cop_feature_space **space, cop_diag *diag);

#endif
