/* Both sets are read from their bytes and compared by the names that the models have in journals. */
#include "daemon/replica/replica_models.h"

#include <stdio.h>
#include <string.h>

#include "daemon/models/model_set.h"
#include "wire/wire_models.h"

/* The model of that name in the set; false: there is none. */
static bool find(const void *set, size_t length, const cop_wire_model *like, cop_wire_model *out)
{
	cop_wire_models models;
	if (cop_wire_models_open(&models, set, length, NULL) != COP_OK)
		return false;
	while (cop_wire_models_next(&models, out, NULL) == COP_OK)
		if (out->name_length == like->name_length && memcmp(out->name, like->name, like->name_length) == 0)
			return true;
	return false;
}

/* mine may have more arms and features. */
static bool alike(const cop_wire_model *mine, const cop_wire_model *theirs)
{
	cop_wire_model grown = *theirs;
	if (mine->learner_length != theirs->learner_length ||
	        memcmp(mine->learner, theirs->learner, mine->learner_length) != 0)
		return false;
	if (theirs->arms > 0 && mine->arms > theirs->arms)
		grown.arms = mine->arms;
	if (theirs->features > 0 && mine->features > theirs->features)
		grown.features = mine->features;
	return cop_wire_models_same_shape(mine, &grown);
}

/* Every model of `one` has its like in `other`; else why. mine: one is this instance's. */
static bool within(const void *one, size_t one_length, const cop_bytes *other, bool mine, char *why, size_t room)
{
	cop_wire_models models;
	cop_wire_model model, found;
	if (cop_wire_models_open(&models, one, one_length, NULL) != COP_OK) {
		(void)snprintf(why, room, "the models cannot be read");
		return false;
	}
	while (cop_wire_models_next(&models, &model, NULL) == COP_OK) {
		bool there = find(other->data, other->length, &model, &found);
		if (there && alike(mine ? &model : &found, mine ? &found : &model))
			continue;
		(void)snprintf(why, room, "model \"%.*s\" %s", (int)model.name_length, model.name,
		        there  ? "has another shape here than the leader's"
		        : mine ? "is not served by the leader"
		               : "of the leader is not served here");
		return false;
	}
	return true;
}

bool cop_replica_models_fit(const cop_config *config, const void *set, size_t length, char *why, size_t room)
{
	cop_bytes mine, theirs;
	cop_bytes_init(&mine);
	cop_bytes_init(&theirs);
	(void)cop_model_set_put(config, NULL, &mine);
	cop_bytes_put(&theirs, set, length);
	bool fit = mine.err == COP_OK && theirs.err == COP_OK &&
	           within(mine.data, mine.length, &theirs, true, why, room) &&
	           within(set, length, &mine, false, why, room);
	cop_bytes_fini(&mine);
	cop_bytes_fini(&theirs);
	return fit;
}
