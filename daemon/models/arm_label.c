/* A name is escaped, a number needs no escape. */
#include "daemon/models/arm_label.h"

#include <stdio.h>

void cop_arm_label(const cop_model_slot *slot, size_t arm, char out[COP_ARM_LABEL_ROOM])
{
	char name[COP_CONFIG_LISTED_NAME * COP_EXPOSITION_ESCAPED + 1];
	const cop_config_list *names = &slot->config->arm_name_list;
	(void)snprintf(name, sizeof name, "%zu", arm);
	if (arm < names->count)
		cop_exposition_escape(names->items[arm], name);
	(void)snprintf(out, COP_ARM_LABEL_ROOM, "model=\"%s\",arm=\"%s\"", slot->name, name);
}
