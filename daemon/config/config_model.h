/* daemon/config/config_model.h: a configured model in the terms of lib/online. Any thread. */
#ifndef COP_DAEMON_CONFIG_CONFIG_MODEL_H
#define COP_DAEMON_CONFIG_CONFIG_MODEL_H

#include "daemon/config/config.h"
#include "online/model.h"

/* The library's settings of a configured model. */
void cop_config_model_settings(const cop_config_model *config, cop_model_settings *settings);

#endif
