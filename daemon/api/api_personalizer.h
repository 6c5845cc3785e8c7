/* daemon/api/api_personalizer.h: the paths of Azure Personalizer, which was retired, for a model that ranks.
 *
 * Contexts are the merged objects of contextFeatures, candidates those of an action's features. The loss is 1 - reward.
 * The first action is what an apprentice's system shows. The listener's thread. */
#ifndef COP_DAEMON_API_API_PERSONALIZER_H
#define COP_DAEMON_API_API_PERSONALIZER_H

#include "daemon/api/api_request.h"

/* The verb's body, a map whose header takes five bytes, to which the caller adds; *pairs is its count. An event without
 * an id gets one. COP_EFORMAT with the fault, COP_ENOMEM. */
COP_CHECK cop_err cop_api_personalizer_put(
        cop_api_request *request, cop_bytes *out, uint32_t *pairs, cop_wire_fault *fault);
/* The answer, from the verb's `ok` reply. */
void cop_api_personalizer_take(cop_api_request *request, const void *body, size_t length);

#endif
