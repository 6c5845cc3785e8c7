/* Values are scaled by their range to [0, 1] as they are added, and back as they are shown. */
#include "online/named_accounts.h"

#include <math.h>

#include "base/mem.h"

#define LEVEL_ALL   (COP_NAMED_ACCOUNTS_RISK / 2.0) /* of each side */
#define LEVEL_GROUP (COP_NAMED_ACCOUNTS_RISK / 4.0)

static void begin_groups(cop_named_account *account)
{
	for (size_t g = 0; g < 2; g++) {
		cop_unit_mean_init(&account->group[g]);
		account->clusters[g] = (cop_cluster_mean){ .count = { 0 } };
	}
}

static void begin(cop_named_account *account)
{
	cop_unit_mean_init(&account->all);
	begin_groups(account);
}

static bool same_range(const cop_named_losses *a, size_t i, const cop_named_losses *b, size_t k)
{
	double from[2], to[2];
	cop_named_losses_range(a, i, &from[0], &to[0]);
	cop_named_losses_range(b, k, &from[1], &to[1]);
	return from[0] == from[1] && to[0] == to[1];
}

cop_err cop_named_accounts_change(cop_named_accounts *accounts, const cop_named_losses *was, const cop_named_losses *is)
{
	int8_t from[COP_NAMED_LOSSES_MOST];
	size_t count = (size_t)is->weights.count;
	if (count == 0) {
		cop_named_accounts_fini(accounts);
		return COP_OK;
	}
	cop_named_account *item = cop_mem_alloc(count, sizeof *item);
	if (item == NULL)
		return COP_ENOMEM;
	cop_named_losses_places(&was->weights, &is->weights, from);
	for (size_t i = 0; i < count; i++) {
		size_t at = from[i] < 0 ? accounts->count : (size_t)from[i];
		if (at < accounts->count && same_range(was, at, is, i))
			item[i] = accounts->item[at];
		else
			begin(&item[i]);
	}
	cop_named_accounts_fini(accounts);
	*accounts = (cop_named_accounts){ item, count };
	return COP_OK;
}

void cop_named_accounts_fini(cop_named_accounts *accounts)
{
	cop_mem_free(accounts->item);
	*accounts = (cop_named_accounts){ .count = 0 };
}

void cop_named_accounts_clear_groups(cop_named_accounts *accounts)
{
	for (size_t i = 0; i < accounts->count; i++)
		begin_groups(&accounts->item[i]);
}

void cop_named_accounts_add(cop_named_accounts *accounts, const cop_named_losses *names, const cop_loss_values *losses,
        cop_named_of of, unsigned cluster)
{
	for (size_t i = 0; i < accounts->count; i++) {
		double low, high;
		if ((losses->told >> i & 1u) == 0)
			continue;
		cop_named_losses_range(names, i, &low, &high);
		double scaled = fmin(fmax((losses->value[i] - low) / (high - low), 0.0), 1.0);
		cop_unit_mean_add(&accounts->item[i].all, scaled);
		if (of == COP_NAMED_OF_NEITHER)
			continue;
		cop_unit_mean_add(&accounts->item[i].group[of], scaled);
		cop_cluster_mean_add(&accounts->item[i].clusters[of], cluster, scaled);
	}
}

/* clusters: NULL: its own bounds alone. */
static void show(const cop_unit_mean *mean, const cop_cluster_mean *clusters, double risk, const double range[2],
        cop_unit_mean_figures *out)
{
	double width = range[1] - range[0], low = 1.0, high = 0.0;
	cop_unit_mean_get(mean, risk, out);
	if (clusters != NULL)
		cop_cluster_mean_bounds(clusters, risk, &low, &high);
	out->low = fmin(out->low, low);
	out->high = fmax(out->high, high);
	out->mean = range[0] + width * out->mean;
	out->low = range[0] + width * out->low;
	out->high = range[0] + width * out->high;
}

void cop_named_accounts_get(const cop_named_accounts *accounts, const cop_named_losses *names, size_t i, bool returning,
        cop_named_summary *out)
{
	const cop_named_account *account = &accounts->item[i];
	*out = (cop_named_summary){
		.name = names->weights.name[i],
		.weight = names->weights.weight[i],
		.gain = (double)NAN,
		.low = (double)NAN,
		.high = (double)NAN,
	};
	cop_named_losses_range(names, i, &out->range[0], &out->range[1]);
	show(&account->all, NULL, LEVEL_ALL, out->range, &out->all);
	for (size_t g = 0; g < 2; g++)
		show(&account->group[g], returning ? &account->clusters[g] : NULL, LEVEL_GROUP, out->range,
		        &out->group[g]);
	const cop_unit_mean_figures *policy = &out->group[0], *control = &out->group[1];
	if (policy->n == 0 || control->n == 0)
		return;
	bool more = out->weight < 0.0; /* is better */
	out->gain = more ? policy->mean - control->mean : control->mean - policy->mean;
	out->low = more ? policy->low - control->high : control->low - policy->high;
	out->high = more ? policy->high - control->low : control->high - policy->low;
}

static void save_group(const cop_named_account *account, size_t g, cop_bytes *out)
{
	cop_unit_mean_save(&account->group[g], out);
	cop_cluster_mean_save(&account->clusters[g], out);
}

void cop_named_accounts_save(const cop_named_accounts *accounts, cop_bytes *out)
{
	cop_bytes_put_u64(out, accounts->count);
	for (size_t i = 0; i < accounts->count; i++) {
		cop_unit_mean_save(&accounts->item[i].all, out);
		for (size_t g = 0; g < 2; g++)
			save_group(&accounts->item[i], g, out);
	}
}

void cop_named_accounts_load(cop_named_accounts *accounts, cop_cursor *in)
{
	uint64_t count = cop_cursor_u64(in);
	if (in->err == COP_OK && count != accounts->count)
		in->err = COP_EFORMAT;
	for (size_t i = 0; i < accounts->count && in->err == COP_OK; i++) {
		cop_named_account *one = &accounts->item[i];
		cop_unit_mean_load(&one->all, in);
		for (size_t g = 0; g < 2; g++) {
			cop_unit_mean_load(&one->group[g], in);
			cop_cluster_mean_load(&one->clusters[g], in);
		}
		bool sound = one->group[0].value.n + one->group[1].value.n <= one->all.value.n;
		if (in->err == COP_OK && !sound)
			in->err = COP_EFORMAT;
	}
}
