/* Few distinct prefixes matter, mostly one: "", "act." or a model's topic. So they are an unordered array, of which the
 * last takes the place of one that goes. */
#include "daemon/serve/subscriptions.h"

#include <string.h>

#include "base/mem.h"

#define TOPIC "act."

void cop_subscriptions_init(cop_subscriptions *subscriptions, const cop_config *config)
{
	*subscriptions = (cop_subscriptions){ .config = config };
}

void cop_subscriptions_fini(cop_subscriptions *subscriptions)
{
	cop_mem_free(subscriptions->items);
	*subscriptions = (cop_subscriptions){ 0 };
}

static bool is_prefix(const char *prefix, size_t length, const char *text)
{
	return length <= strlen(text) && memcmp(prefix, text, length) == 0;
}

bool cop_subscriptions_matters(const cop_subscriptions *s, const char *prefix, size_t length)
{
	size_t head = strlen(TOPIC);
	if (length <= head)
		return is_prefix(prefix, length, TOPIC);
	if (!is_prefix(TOPIC, head, prefix))
		return false;
	for (size_t i = 0; i < s->config->model_count; i++)
		if (is_prefix(prefix + head, length - head, s->config->models[i].name))
			return true;
	return false;
}

static cop_subscription *find(const cop_subscriptions *s, const char *prefix, size_t length)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].length == length && memcmp(s->items[i].prefix, prefix, length) == 0)
			return &s->items[i];
	return NULL;
}

void cop_subscriptions_add(cop_subscriptions *s, const void *prefix, size_t length)
{
	if (!cop_subscriptions_matters(s, prefix, length))
		return;
	cop_subscription *known = find(s, prefix, length);
	if (known != NULL) {
		known->count++;
		return;
	}
	cop_subscription *items = cop_mem_resize(s->items, s->count, s->count + 1, sizeof *items);
	if (items == NULL) {
		s->unkept++;
		return;
	}
	s->items = items;
	cop_subscription *fresh = &items[s->count++];
	*fresh = (cop_subscription){ .count = 1, .length = length };
	memcpy(fresh->prefix, prefix, length);
}

void cop_subscriptions_remove(cop_subscriptions *s, const void *prefix, size_t length)
{
	cop_subscription *known = find(s, prefix, length);
	if (known == NULL)
		s->unkept -= s->unkept > 0 && cop_subscriptions_matters(s, prefix, length);
	else if (--known->count == 0)
		*known = s->items[--s->count];
}

bool cop_subscriptions_has(const cop_subscriptions *s, const void *prefix, size_t length)
{
	return find(s, prefix, length) != NULL;
}

bool cop_subscriptions_cover(const cop_subscriptions *s, const char *topic)
{
	for (size_t i = 0; i < s->count; i++)
		if (is_prefix(s->items[i].prefix, s->items[i].length, topic))
			return true;
	return s->unkept > 0;
}
