/*
 * The cheapest row trigger there can be: what PostgreSQL itself charges for
 * having one. The guards are measured against it.
 */
#include "postgres.h"

#include "commands/trigger.h"
#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(empty_trigger);

Datum
empty_trigger(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		PG_RETURN_POINTER(trigger->tg_newtuple);
	PG_RETURN_POINTER(trigger->tg_trigtuple);
}
