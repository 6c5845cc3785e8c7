/* Vowpal Wabbit text. */
#include "data/event_reader.h"

static cop_err create(
        cop_stream **stream, const cop_event_reader_settings *settings, cop_event_reader **out, cop_diag *diag)
{
	(void)settings;
	*out = NULL;
	cop_diag_set(diag, cop_stream_name(*stream), 0, 0, "the format vw cannot be read");
	cop_stream_free(*stream);
	*stream = NULL;
	return COP_EINVAL;
}

const cop_event_format cop_event_format_vw = { "vw", create };
