/* daemon/durable/trial.h: what a start with a configuration would run into, found out without changing anything.
 *
 * For `coppiced --check`, and for a reload, which reports what a restart would refuse. */
#ifndef COP_DAEMON_DURABLE_TRIAL_H
#define COP_DAEMON_DURABLE_TRIAL_H

#include "daemon/common/log.h"
#include "daemon/config/config.h"
#include "daemon/models/model_table.h"

/* Goes through a start up to the sockets: the state folder can be made and written, the models can be made, the newest
 * checkpoint fits them (those named in `reset`, NULL-terminated, begin anew), and files of start_from can be read. The
 * journal is not read. Takes the memory of all models while it runs. log (NULL: none) gets the warnings of a start.
 * COP_EIO, COP_ESHAPE, COP_EVERSION, COP_EFORMAT, COP_ENOTFOUND, COP_EINVAL, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_trial_start(const cop_config *config, const char *const *reset, cop_log *log, cop_diag *diag);

/* Marks those changes as refused that a restart would refuse, since a model that is served or parked could not be
 * restored into the shape that `next` gives it, and adds one that gives the reason. COP_ENOMEM. */
COP_CHECK cop_err cop_trial_changes(
        cop_model_table *set, const cop_config *old, const cop_config *next, cop_config_changes *changes);

#endif
