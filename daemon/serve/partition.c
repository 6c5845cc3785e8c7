/* Counted whether it is refused or taken; the log has a line now and then, since a publisher that hashes otherwise
 * sends many. */
#include "daemon/serve/partition.h"

#include <inttypes.h>

#include "daemon/common/clock.h"

#define LINES 1.0 /* a second, and at once */

void cop_partition_init(cop_partition *p, const cop_config *config, cop_log *log)
{
	*p = (cop_partition){ .config = config, .log = log };
	cop_log_limiter_init(&p->limiter, LINES, LINES);
}

cop_err cop_partition_check(
        cop_partition *p, const char *model, const cop_event_id *id, const cop_event_id *unit, cop_wire_fault *fault)
{
	if (p == NULL)
		return COP_OK;
	const cop_config *config = p->config;
	const bool by_unit = unit->kind != 0;
	const uint32_t part = cop_event_id_part(by_unit ? unit : id, config->partition_of);
	if (part == config->partition_number)
		return COP_OK;
	const bool refuse = config->partition_foreign == COP_FOREIGN_REFUSE;
	p->foreign++;
	p->refused += refuse;
	cop_log_limited(p->log, &p->limiter, cop_clock_monotonic_us(), COP_LOG_EVENT(partition_foreign),
	        "model=\"%s\" part=%u number=%u of=%u refused=%d events=%" PRIu64, model, part,
	        config->partition_number, config->partition_of, refuse, p->foreign);
	if (!refuse)
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_OTHER_PART,
	        "%s: its key belongs to part %u of %u; expected a key of part %u", by_unit ? "unit" : "id", part,
	        config->partition_of, config->partition_number);
}
