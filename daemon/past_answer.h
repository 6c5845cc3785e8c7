/* daemon/past_answer.h: answers about decisions of the past, from the state folder alone: for `coppiced --explain`, and
 * for a daemon that asks in a process of its own (daemon/report/past_desk.h).
 *
 * The folder is only read. One thread. */
#ifndef COP_DAEMON_PAST_ANSWER_H
#define COP_DAEMON_PAST_ANSWER_H

#include "daemon/durable/past.h"

/* Prints the explanation as JSON, or to standard error what is wrong. An exit status. */
int cop_past_answer_explain(cop_config *config, const cop_past_question *question);

/* `verb` (`decision` or `decisions`) for a model, its body from standard input; on behalf of the process `parent`, with
 * which this one ends. Writes the reply's body, or with another exit status than 0 what is wrong. config: kept, and set
 * to keep explanations. */
int cop_past_answer_aside(cop_config *config, int parent, const char *verb, const char *model);

#endif
