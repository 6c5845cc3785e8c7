/* door/door_trained.h: predicting a row that is at the scale of training, for lib/door alone. */
#ifndef COP_DOOR_DOOR_TRAINED_H
#define COP_DOOR_DOOR_TRAINED_H

#include "door/door_private.h"

/* Outputs into out, and their greatest (NULL allowed). row->d is the model's number of features. */
void cop_door_trained_predict(coppice_trained *trained, const cop_row *row, double *out, size_t *best);

#endif
