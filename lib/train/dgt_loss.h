/* train/dgt_loss.h: the losses of a supervised dense gradient tree, of one row.
 *
 *     cross-entropy  -log softmax(f)_label
 *     squared        mean over the K outputs of (f_k - y_k)^2
 *     huber          mean over the outputs of e^2 / 2 where |e| <= delta, else delta (|e| - delta / 2)
 *     custom         the caller's
 *
 * Any thread; a custom loss on the threads that its owner allows. */
#ifndef COP_TRAIN_DGT_LOSS_H
#define COP_TRAIN_DGT_LOSS_H

#include "train/dgt_fit.h"

/* Loss of row number `row` of the sample's rows under predictions f (K), and its gradient g (K). Not weighted. */
double cop_dgt_loss_row(
        const cop_dgt_fit_settings *settings, const cop_sample *sample, size_t row, const float *f, float *g);

#endif
