/* store/state_dir.h: names of what a daemon keeps in its state folder.
 *
 *     lock                                       held while a daemon serves the folder
 *     journal/                                   segments (store/journal_segment.h)
 *     coppice.SEQUENCE.checkpoint                checkpoints (store/checkpoint_file.h)
 *     refit/refit.MODEL.NUMBER.checkpoint        challengers that refits made
 *     live.json                                  changes of the models while it served
 *     forget.NUMBER.checkpoint                   orders to forget somebody that are not carried out yet
 *     replica.tmp                                what a follower takes from its leader, until it is whole
 *     replica.SEQUENCE.checkpoint                the leader's checkpoint, which the next start begins from
 *     renew.SEQUENCE.checkpoint                  the same, for which what is there is erased
 *     diverged.N/                                journal, checkpoints and challengers that its leader does not have
 *
 * Section COP_STATE_DIR_MARK of a checkpoint: store/state_mark.h. */
#ifndef COP_STORE_STATE_DIR_H
#define COP_STORE_STATE_DIR_H

#define COP_STATE_DIR_LOCK         "lock"
#define COP_STATE_DIR_LIVE         "live.json"
#define COP_STATE_DIR_FORGET       "forget" /* prefix of the orders' names */
#define COP_STATE_DIR_REPLICA      "replica"
#define COP_STATE_DIR_RENEW        "renew"
#define COP_STATE_DIR_DIVERGED     "diverged"
#define COP_STATE_DIR_JOURNAL      "journal"
#define COP_STATE_DIR_CHECKPOINT   "coppice"     /* prefix of the checkpoints' names */
#define COP_STATE_DIR_ENDING       ".checkpoint" /* of checkpoints and challengers */
#define COP_STATE_DIR_CHALLENGERS  "refit"
#define COP_STATE_DIR_CHALLENGER   "refit." /* before the model's name, in a challenger's prefix */
#define COP_STATE_DIR_MARK         "daemon"
#define COP_STATE_DIR_MARK_VERSION 1
#define COP_STATE_DIR_LIVE_PART    "live" /* a checkpoint's section of live changes, as in COP_STATE_DIR_LIVE */
#define COP_STATE_DIR_LIVE_VERSION 1
#define COP_STATE_DIR_MODEL        "model" /* a checkpoint's sections of models: the name, then a model file */

#endif
