/* daemon/config/config_reach.h: the part of a configuration's check that is about who can reach the daemon: sockets,
 * listeners, keys and tokens. */
#ifndef COP_DAEMON_CONFIG_CONFIG_REACH_H
#define COP_DAEMON_CONFIG_CONFIG_REACH_H

#include "daemon/config/config_rules.h"

/* Complains of what is wrong; what files of keys, tokens and certificates hold is in the configuration afterwards. */
void cop_config_reach_check(cop_config_reading *reading, cfg_t *root, cop_config *config);

#endif
