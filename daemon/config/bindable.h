/* daemon/config/bindable.h: whether endpoints and addresses of a configuration can be bound, as far as that can be
 * known without binding them: folders of ipc endpoints are there and can be written, addresses in digits are this
 * machine's. Whether they are taken is not looked at. */
#ifndef COP_DAEMON_CONFIG_BINDABLE_H
#define COP_DAEMON_CONFIG_BINDABLE_H

#include "daemon/config/config.h"

/* COP_EIO with a message: the first that cannot. What is below /run comes with the service, and is passed over. */
COP_CHECK cop_err cop_bindable_check(const cop_config *config, cop_diag *diag);

#endif
