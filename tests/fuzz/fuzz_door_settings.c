/* A model's settings as text: whatever it is, it is refused with a message, or gives settings in their ranges that a
 * second reading gives again. */
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "door/door_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const cop_model_settings *s)
{
	const cop_learner_settings *l = &s->learner;
	COP_ASSERT(memchr(l->learner, '\0', sizeof l->learner) != NULL &&
	           memchr(l->policy, '\0', sizeof l->policy) != NULL);
	COP_ASSERT(l->features <= COP_LEARNER_MAX_FEATURES && l->arms <= COP_LEARNER_MAX_ARMS);
	COP_ASSERT(l->bits >= 1 && l->bits <= COP_LEARNER_MAX_BITS && l->height <= COP_LEARNER_MAX_HEIGHT);
	COP_ASSERT(l->max_nonzeros >= 1 && l->max_nonzeros <= COP_LEARNER_MAX_NONZEROS);
	COP_ASSERT(l->experts <= COP_EXPERT_ALL && (unsigned)l->feedback < COP_VALUE_FEEDBACKS);
	COP_ASSERT(l->exploration.epsilon <= 1.0 && l->exploration.shares.min.count <= COP_SHARES_ARMS);
	COP_ASSERT(s->reward_window > 0.0 && s->loss_low < s->loss_high && s->value_low < s->value_high);
	COP_ASSERT(s->pending_max >= 1 && (unsigned)s->reward <= COP_REWARD_FIRST);
}

static void read_text(const char *text, bool living)
{
	cop_model_settings first, second;
	cop_diag diag = { .message = "" };
	memset(&first, 0, sizeof first);
	memset(&second, 0, sizeof second);
	cop_model_settings_init(&first);
	cop_model_settings_init(&second);
	if (cop_door_settings_read(text, living, &first, &diag) != COP_OK) {
		COP_ASSERT(diag.message[0] != '\0');
		return;
	}
	check(&first);
	COP_ASSERT(cop_door_settings_read(text, living, &second, NULL) == COP_OK);
	COP_ASSERT(first.learner.features == second.learner.features && first.loss_high == second.loss_high);
	COP_ASSERT(memcmp(&first.learner.exploration.shares, &second.learner.exploration.shares,
	                   sizeof first.learner.exploration.shares) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = cop_mem_alloc(size + 1, 1);
	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	read_text(text, false);
	read_text(text, true);
	cop_mem_free(text);
	return 0;
}
