/* Readers stand in the order of the sections, those of a section side by side, by partition. */
#include "daemon/streams/bridge_carrier.h"

#include "base/mem.h"

static void fill(const cop_bridge_config *config, const cop_bridge_stream *stream, uint32_t partition, cop_log *log,
        cop_bridge_reader_settings *out)
{
	*out = (cop_bridge_reader_settings){
		.class = stream->class,
		.daemon = { .endpoint = config->daemon,
		        .keys = { config->key[0] == '\0' ? NULL : config->key,
		                config->server_key[0] == '\0' ? NULL : config->server_key },
		        .model = stream->model,
		        .feedback = stream->feedback,
		        .timeout = config->timeout },
		.batch = stream->batch,
		.json = stream->json,
		.shared = stream->group[0] != '\0',
		.log = log,
	};
	cop_bridge_config_broker(stream, partition, &out->broker);
}

static cop_err start_stream(cop_bridge_carrier *carrier, const cop_bridge_stream *stream)
{
	cop_bridge_readers *readers = &carrier->readers;
	cop_bridge_reader *first = &readers->items[readers->count];
	for (uint32_t p = 0; p < stream->partitions; p++) {
		cop_bridge_reader_settings settings;
		fill(carrier->config, stream, p, readers->log, &settings);
		cop_err err = cop_bridge_reader_start(&readers->items[readers->count], &settings);
		if (err != COP_OK)
			return err;
		readers->count++;
	}
	if (stream->group[0] == '\0')
		return COP_OK;
	cop_err err = cop_bridge_group_start(&carrier->groups[carrier->group_count], first, stream->partitions);
	carrier->group_count += err == COP_OK;
	return err;
}

cop_err cop_bridge_carrier_start(const cop_bridge_config *config, cop_log *log, cop_bridge_carrier *out)
{
	*out = (cop_bridge_carrier){ .config = config, .readers = { .log = log } };
	out->readers.items = cop_mem_alloc(config->readers, sizeof *out->readers.items);
	out->groups = cop_mem_alloc(config->count, sizeof *out->groups);
	cop_err err = out->readers.items == NULL || out->groups == NULL ? COP_ENOMEM : COP_OK;
	for (size_t i = 0; i < config->count && err == COP_OK; i++)
		err = start_stream(out, &config->streams[i]);
	if (err != COP_OK)
		cop_bridge_carrier_stop(out);
	return err;
}

void cop_bridge_carrier_stop(cop_bridge_carrier *carrier)
{
	cop_bridge_readers *readers = &carrier->readers;
	for (size_t i = 0; i < readers->count; i++)
		cop_bridge_reader_end(&readers->items[i]);
	for (size_t i = 0; i < carrier->group_count; i++)
		cop_bridge_group_end(&carrier->groups[i]);
	for (size_t i = 0; i < carrier->group_count; i++)
		cop_bridge_group_join(&carrier->groups[i]);
	for (size_t i = 0; i < readers->count; i++)
		cop_bridge_reader_join(&readers->items[i]);
	cop_mem_free(readers->items);
	cop_mem_free(carrier->groups);
	*carrier = (cop_bridge_carrier){ .config = NULL };
}
