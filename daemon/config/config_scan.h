/* daemon/config/config_scan.h: private to config*.c: the file's text by libconfuse, options and their lines. */
#ifndef COP_DAEMON_CONFIG_CONFIG_SCAN_H
#define COP_DAEMON_CONFIG_CONFIG_SCAN_H

#include "daemon/config/config_rules.h"

#define COP_CONFIG_SCAN_MAX (1u << 20) /* bytes of a text */

/* The text scanned into *root; caller frees it with free below, also on error. COP_EFORMAT: complained of. COP_ENOMEM.
 */
COP_CHECK cop_err cop_config_scan(cop_config_reading *reading, const char *text, size_t length, cfg_t **root);
void cop_config_scan_free(cfg_t *root); /* NULL is allowed */
/* One more value of an option, as if it stood in the file, at COP_CONFIG_LIVE_LINE. */
void cop_config_scan_put(cop_config_reading *reading, cfg_t *section, cfg_opt_t *option, const char *text);

#endif
