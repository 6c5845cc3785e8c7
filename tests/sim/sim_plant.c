/* Defects that the tests of the tests plant, each where the daemon's own code calls another part of it. */
#include "tests/sim/sim.h"

#include "daemon/durable/journaler.h"
#include "daemon/durable/recovery.h"
#include "daemon/replica/replica.h"

uint64_t __real_cop_journaler_put(cop_journaler *j, cop_wire_record_type type, const cop_wire_record *record);
uint64_t __wrap_cop_journaler_put(cop_journaler *j, cop_wire_record_type type, const cop_wire_record *record);
uint64_t __real_cop_journaler_committed(const cop_journaler *j);
uint64_t __wrap_cop_journaler_committed(const cop_journaler *j);
cop_err __real_cop_recovery_apply(cop_recovery *r, cop_model_table *models, const cop_journal_record *raw);
cop_err __wrap_cop_recovery_apply(cop_recovery *r, cop_model_table *models, const cop_journal_record *raw);
uint64_t __real_cop_replica_higher(const cop_replica *r);
uint64_t __wrap_cop_replica_higher(const cop_replica *r);

#define ONE_IN 40 /* records */

static bool strikes(sim_plant which)
{
	static unsigned count;
	return sim_run.plant == which && ++count % ONE_IN == 0;
}

uint64_t __wrap_cop_journaler_put(cop_journaler *j, cop_wire_record_type type, const cop_wire_record *record)
{
	if (type == COP_WIRE_RECORD_FEEDBACK && strikes(SIM_PLANT_DROP))
		return cop_journaler_written(j);
	if (type == COP_WIRE_RECORD_FEEDBACK && strikes(SIM_PLANT_TWICE))
		(void)__real_cop_journaler_put(j, type, record);
	return __real_cop_journaler_put(j, type, record);
}

uint64_t __wrap_cop_journaler_committed(const cop_journaler *j)
{
	return sim_run.plant == SIM_PLANT_EARLY ? cop_journaler_written(j) : __real_cop_journaler_committed(j);
}

cop_err __wrap_cop_recovery_apply(cop_recovery *r, cop_model_table *models, const cop_journal_record *raw)
{
	if (raw->type == COP_WIRE_RECORD_FEEDBACK && strikes(SIM_PLANT_SKIP))
		return COP_OK;
	return __real_cop_recovery_apply(r, models, raw);
}

uint64_t __wrap_cop_replica_higher(const cop_replica *r)
{
	return sim_run.plant == SIM_PLANT_DEAF ? 0 : __real_cop_replica_higher(r);
}
