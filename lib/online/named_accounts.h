/* online/named_accounts.h: what each of a model's named losses (events/named_losses.h) comes to.
 *
 * Of each name three running means (evaluate/unit_mean.h) of the losses that were told with a loss that was learned,
 * cut to the name's range: of all of them, and, of decisions with a control group (online/control.h), of the policy's
 * and of the control group's. The bounds of the first hold with probability 1 - COP_NAMED_ACCOUNTS_RISK, those of the
 * other two together, and so the interval of
 *     gain = mean of the control group - mean of the policy   (where the weight is below 0: the negative)
 * with that probability too: for each name by itself, at all times at once, in the name's own units. Above 0 the policy
 * is better. An account is of a name and its range; with another range it begins again. Memory is taken once for each
 * set of names. Distinct objects on distinct threads. */
#ifndef COP_ONLINE_NAMED_ACCOUNTS_H
#define COP_ONLINE_NAMED_ACCOUNTS_H

#include "events/named_losses.h"
#include "evaluate/cluster_mean.h"
#include "evaluate/unit_mean.h"

#define COP_NAMED_ACCOUNTS_RISK 0.05

typedef enum cop_named_of {
	COP_NAMED_OF_POLICY = 0, /* as enum cop_control_by */
	COP_NAMED_OF_CONTROL = 1,
	COP_NAMED_OF_NEITHER = 2, /* there was no control group, or it is of none of the two */
} cop_named_of;

typedef struct cop_named_account {
	cop_unit_mean all, group[2];
	cop_cluster_mean clusters[2]; /* the groups' by clusters of units */
} cop_named_account;

/* Zeroed: of no names. */
typedef struct cop_named_accounts {
	cop_named_account *item; /* owned; by the order of the names */
	size_t count;
} cop_named_accounts;

/* From the names of `was` to those of `is`: accounts whose name and range stay are kept. COP_ENOMEM: nothing changed.
 */
COP_CHECK cop_err cop_named_accounts_change(
        cop_named_accounts *accounts, const cop_named_losses *was, const cop_named_losses *is);
void cop_named_accounts_fini(cop_named_accounts *accounts);
/* The control group begins again. */
void cop_named_accounts_clear_groups(cop_named_accounts *accounts);
/* names: those that the accounts are of. cluster: of the decision's unit; not looked at of neither group. */
void cop_named_accounts_add(cop_named_accounts *accounts, const cop_named_losses *names, const cop_loss_values *losses,
        cop_named_of of, unsigned cluster);

/* In the name's own units; what is not known is NaN. */
typedef struct cop_named_summary {
	const char *name; /* borrowed of names */
	double weight, range[2];
	cop_unit_mean_figures all, group[2];
	double gain, low, high; /* NaN unless both groups have losses */
} cop_named_summary;

/* returning: units come again, so the groups' bounds are those over clusters where these are farther
 * (online/control.h). */
void cop_named_accounts_get(const cop_named_accounts *accounts, const cop_named_losses *names, size_t i, bool returning,
        cop_named_summary *out);

void cop_named_accounts_save(const cop_named_accounts *accounts, cop_bytes *out);
/* Into those of the same names. Errors stay in the cursor's err; COP_EFORMAT: another number of names, or nothing gives
 * such sums. */
void cop_named_accounts_load(cop_named_accounts *accounts, cop_cursor *in);

#endif
