/* daemon/config/config_live.h: private to config*.c: the live changes that a reading carries, over the file. */
#ifndef COP_DAEMON_CONFIG_CONFIG_LIVE_H
#define COP_DAEMON_CONFIG_CONFIG_LIVE_H

#include "daemon/config/config_rules.h"

/* Puts them into the scanned file. */
void cop_config_live_merge(cop_config_reading *reading, cfg_t *root);
/* The model's life, and its name in the state folder. */
void cop_config_live_name(cop_config_reading *reading, cop_config_model *model);
/* Complains of what the file says by itself (file) and the changes, over it (both), contradict. */
void cop_config_live_judge(cop_config_reading *reading, const cop_config *file, const cop_config *both);

#endif
