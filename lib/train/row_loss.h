/* train/row_loss.h: smooth losses of one row's K predictions f, and their gradients g (K, overwritten). Any thread. */
#ifndef COP_TRAIN_ROW_LOSS_H
#define COP_TRAIN_ROW_LOSS_H

#include <stddef.h>
#include <stdint.h>

/* -log softmax(f)_label. */
double cop_row_loss_cross_entropy(size_t outputs, uint32_t label, const float *f, float *g);
/* Mean over the outputs of (f_k - y_k)^2. */
double cop_row_loss_squared(size_t outputs, const float *y, const float *f, float *g);

#endif
