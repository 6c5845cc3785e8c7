/* Dense rows lie in `row` as they are: near is its first near entries. Sparse: context entries, then the candidate's
 * shifted by 2^bits, then the constant, are in index/value; `pairs` are the hashed products in the order of their
 * entries, which cop_cross_features_make_rows sorts and merges behind them. */
#include "learn/cross_features.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"

enum { PAIR_STREAM = 3 };

struct cop_cross_features {
	cop_cross_features_settings set;
	size_t near, whole;
	cop_row context, candidate; /* as they were set */
	float *row;                 /* dense: whole */
	uint32_t *left, *right;     /* dense: features of each product when they are drawn; NULL: all pairs */
	uint32_t *index;            /* sparse: entries of whole rows */
	float *value;
	size_t context_entries; /* sparse */
	size_t entries;         /* sparse: of the near row */
	size_t pairs;           /* sparse: behind them, unsorted */
};

static bool all_pairs(const cop_cross_features_settings *s)
{
	size_t count;
	return !__builtin_mul_overflow(s->features, s->candidate_features, &count) &&
	       count <= COP_CROSS_FEATURES_PRODUCTS;
}

static size_t products(const cop_cross_features_settings *s)
{
	if (s->sparse)
		return s->candidate_features;
	return all_pairs(s) ? s->features * s->candidate_features : COP_CROSS_FEATURES_PRODUCTS;
}

static size_t room(const cop_cross_features_settings *s)
{
	return 2 * s->max_nonzeros + 1 + (size_t)COP_CROSS_FEATURES_PAIRED * COP_CROSS_FEATURES_PAIRED;
}

void cop_cross_features_sizes(const cop_cross_features_settings *s, size_t *near, size_t *whole)
{
	*near = s->features + s->candidate_features + 1;
	*whole = *near + products(s);
}

/* Whole rows have (1 + d_c) (1 + d_a) inputs. */
size_t cop_cross_features_fewer(const cop_cross_features_settings *s, size_t whole)
{
	const size_t each = s->candidate_features + 1, features = whole / each - (whole < each ? 0 : 1);
	const bool pairs = !s->sparse && all_pairs(s) && whole % each == 0;
	return pairs && features >= 1 && features <= s->features ? features : 0;
}

double cop_cross_features_footprint(const cop_cross_features_settings *s)
{
	size_t near, whole;
	cop_cross_features_sizes(s, &near, &whole);
	if (s->sparse)
		return (double)room(s) * (sizeof(uint32_t) + sizeof(float));
	return (double)whole * sizeof(float) +
	       (all_pairs(s) ? 0.0 : 2.0 * sizeof(uint32_t) * COP_CROSS_FEATURES_PRODUCTS);
}

/* Ascending by context feature, so that folding walks the context once. */
static void draw_pairs(cop_cross_features *joint)
{
	const cop_cross_features_settings *s = &joint->set;
	cop_rng rng;
	cop_rng_init(&rng, s->seed, PAIR_STREAM);
	for (size_t i = 0; i < COP_CROSS_FEATURES_PRODUCTS; i++) {
		joint->left[i] = (uint32_t)(i * s->features / COP_CROSS_FEATURES_PRODUCTS);
		joint->right[i] = (uint32_t)cop_rng_below(&rng, s->candidate_features);
		if (s->features > COP_CROSS_FEATURES_PRODUCTS)
			joint->left[i] = (uint32_t)cop_rng_below(&rng, s->features);
	}
}

static cop_err allocate(cop_cross_features *joint)
{
	const cop_cross_features_settings *s = &joint->set;
	if (s->sparse) {
		joint->index = cop_mem_alloc(room(s), sizeof *joint->index);
		joint->value = cop_mem_alloc(room(s), sizeof *joint->value);
		return joint->index == NULL || joint->value == NULL ? COP_ENOMEM : COP_OK;
	}
	joint->row = cop_mem_alloc(joint->whole, sizeof *joint->row);
	if (joint->row == NULL)
		return COP_ENOMEM;
	if (all_pairs(s))
		return COP_OK;
	joint->left = cop_mem_alloc(COP_CROSS_FEATURES_PRODUCTS, sizeof *joint->left);
	joint->right = cop_mem_alloc(COP_CROSS_FEATURES_PRODUCTS, sizeof *joint->right);
	if (joint->left == NULL || joint->right == NULL)
		return COP_ENOMEM;
	draw_pairs(joint);
	return COP_OK;
}

cop_err cop_cross_features_new(const cop_cross_features_settings *settings, cop_cross_features **out)
{
	*out = NULL;
	if (settings->features == 0 || settings->candidate_features == 0)
		return COP_EINVAL;
	if (settings->sparse && (settings->max_nonzeros == 0 || settings->features != settings->candidate_features))
		return COP_EINVAL;
	cop_cross_features *joint = cop_mem_alloc(1, sizeof *joint);
	if (joint == NULL)
		return COP_ENOMEM;
	joint->set = *settings;
	cop_cross_features_sizes(settings, &joint->near, &joint->whole);
	cop_err err = allocate(joint);
	if (err != COP_OK) {
		cop_cross_features_free(joint);
		return err;
	}
	*out = joint;
	return COP_OK;
}

void cop_cross_features_free(cop_cross_features *joint)
{
	if (joint == NULL)
		return;
	cop_mem_free(joint->row);
	cop_mem_free(joint->left);
	cop_mem_free(joint->right);
	cop_mem_free(joint->index);
	cop_mem_free(joint->value);
	cop_mem_free(joint);
}

size_t cop_cross_features_near(const cop_cross_features *joint) { return joint->near; }
size_t cop_cross_features_whole(const cop_cross_features *joint) { return joint->whole; }

bool cop_cross_features_pair(const cop_cross_features *joint, size_t input, size_t *feature, size_t *candidate_feature)
{
	if (joint->set.sparse || input < joint->near || input >= joint->whole)
		return false;
	size_t i = input - joint->near;
	*feature = joint->left != NULL ? joint->left[i] : i / joint->set.candidate_features;
	*candidate_feature = joint->left != NULL ? joint->right[i] : i % joint->set.candidate_features;
	return true;
}

void cop_cross_features_set_context(cop_cross_features *joint, const cop_row *x)
{
	COP_ASSERT(x->d == joint->set.features + 1 && (x->dense == NULL) == joint->set.sparse);
	joint->context = *x;
	if (!joint->set.sparse) {
		memcpy(joint->row, x->dense, joint->set.features * sizeof *joint->row);
		joint->row[joint->near - 1] = 1.0f;
		return;
	}
	COP_ASSERT(x->nnz <= joint->set.max_nonzeros + 1);
	joint->context_entries = x->nnz - 1;
	memcpy(joint->index, x->index, joint->context_entries * sizeof *joint->index);
	memcpy(joint->value, x->value, joint->context_entries * sizeof *joint->value);
}

/* Finalising mix of the pair's two indices. */
static uint32_t pair_hash(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(h >> 32);
}

static size_t paired(size_t entries)
{
	return entries < COP_CROSS_FEATURES_PAIRED ? entries : COP_CROSS_FEATURES_PAIRED;
}

size_t cop_cross_features_hashed(const cop_cross_features *joint, size_t feature, size_t candidate_feature)
{
	uint32_t mask = (uint32_t)(joint->set.features - 1);
	return joint->near + (pair_hash((uint32_t)feature, (uint32_t)candidate_feature) & mask);
}

bool cop_cross_features_find_pair(
        const cop_cross_features *joint, const cop_row *x, const cop_row *a, size_t input, size_t skip, size_t pair[2])
{
	uint32_t mask = (uint32_t)(joint->set.features - 1);
	if (!joint->set.sparse || input < joint->near || input >= joint->whole)
		return false;
	for (size_t i = 0; i < paired(x->nnz); i++)
		for (size_t k = 0; k < paired(a->nnz); k++) {
			if (joint->near + (pair_hash(x->index[i], a->index[k]) & mask) != input || skip-- > 0)
				continue;
			pair[0] = x->index[i];
			pair[1] = a->index[k];
			return true;
		}
	return false;
}

static void make_pairs(cop_cross_features *joint, const cop_row *a)
{
	size_t n = 0;
	uint32_t mask = (uint32_t)(joint->set.features - 1);
	uint32_t *index = joint->index + joint->entries;
	float *value = joint->value + joint->entries;
	for (size_t i = 0; i < paired(joint->context_entries); i++) {
		for (size_t k = 0; k < paired(a->nnz - 1); k++) {
			index[n] = (uint32_t)joint->near + (pair_hash(joint->index[i], a->index[k]) & mask);
			value[n++] = joint->value[i] * a->value[k];
		}
	}
	joint->pairs = n;
}

void cop_cross_features_set_candidate(cop_cross_features *joint, const cop_row *a)
{
	const cop_cross_features_settings *s = &joint->set;
	COP_ASSERT(a->d == s->candidate_features + 1 && (a->dense == NULL) == s->sparse);
	joint->candidate = *a;
	if (!s->sparse) {
		memcpy(joint->row + s->features, a->dense, s->candidate_features * sizeof *joint->row);
		return;
	}
	COP_ASSERT(a->nnz <= s->max_nonzeros + 1);
	size_t at = joint->context_entries;
	for (size_t k = 0; k < a->nnz; k++) { /* its constant becomes the row's */
		joint->index[at] = (uint32_t)s->features + a->index[k];
		joint->value[at++] = a->value[k];
	}
	joint->entries = at;
	make_pairs(joint, a);
}

/* Heap sort by index, then equal indices summed; how many are left. */
static void sift(uint32_t *index, float *value, size_t root, size_t n)
{
	uint32_t i = index[root];
	float v = value[root];
	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && index[child + 1] > index[child])
			child++;
		if (i >= index[child])
			break;
		index[root] = index[child];
		value[root] = value[child];
		index[child] = i;
		value[child] = v;
	}
}

static size_t sort_and_merge(uint32_t *index, float *value, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(index, value, i, n);
	for (size_t last = n; last-- > 1;) {
		uint32_t i = index[0];
		float v = value[0];
		index[0] = index[last];
		value[0] = value[last];
		index[last] = i;
		value[last] = v;
		sift(index, value, 0, last);
	}
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && index[kept - 1] == index[i]) {
			value[kept - 1] += value[i];
			continue;
		}
		index[kept] = index[i];
		value[kept++] = value[i];
	}
	return kept;
}

static void multiply(cop_cross_features *joint)
{
	const cop_cross_features_settings *s = &joint->set;
	const float *x = joint->row;
	const float *a = joint->row + s->features;
	float *out = joint->row + joint->near;
	if (joint->left != NULL) {
		for (size_t i = 0; i < COP_CROSS_FEATURES_PRODUCTS; i++)
			out[i] = x[joint->left[i]] * a[joint->right[i]];
		return;
	}
	for (size_t j = 0; j < s->features; j++)
		for (size_t k = 0; k < s->candidate_features; k++)
			out[j * s->candidate_features + k] = x[j] * a[k];
}

const cop_row *cop_cross_features_context(const cop_cross_features *joint) { return &joint->context; }
const cop_row *cop_cross_features_candidate(const cop_cross_features *joint) { return &joint->candidate; }

void cop_cross_features_make_rows(cop_cross_features *joint, cop_cross_features_rows *rows)
{
	cop_row *near = &rows->near;
	cop_row *whole = &rows->whole;
	rows->context = joint->context;
	rows->candidate = joint->candidate;
	if (!joint->set.sparse) {
		multiply(joint);
		*near = (cop_row){ .d = joint->near, .dense = joint->row };
		*whole = (cop_row){ .d = joint->whole, .dense = joint->row };
		return;
	}
	joint->pairs = sort_and_merge(joint->index + joint->entries, joint->value + joint->entries, joint->pairs);
	*near = (cop_row){ .d = joint->near, .nnz = joint->entries, .index = joint->index, .value = joint->value };
	*whole = *near;
	whole->d = joint->whole;
	whole->nnz += joint->pairs;
}

void cop_cross_features_first(const cop_cross_features *joint, cop_row *first)
{
	const cop_cross_features_settings *s = &joint->set;
	*first = (cop_row){ .d = s->features };
	if (!s->sparse) {
		first->dense = joint->row;
		return;
	}
	first->nnz = joint->context_entries;
	first->index = joint->index;
	first->value = joint->value;
}

void cop_cross_features_rest(const cop_cross_features *joint, cop_row *rest, size_t *at)
{
	const cop_cross_features_settings *s = &joint->set;
	*at = s->sparse ? 0 : s->features;
	*rest = (cop_row){ .d = joint->near - *at };
	if (!s->sparse) {
		rest->dense = joint->row + s->features;
		return;
	}
	rest->nnz = joint->entries - joint->context_entries;
	rest->index = joint->index + joint->context_entries;
	rest->value = joint->value + joint->context_entries;
}

/* v = w's candidate part plus the products' part with the context put in; elements apart from one another, so that a
 * vector unit gives the same bits. */
static void fold_dense(const cop_cross_features *joint, const float *w, float *restrict v)
{
	const cop_cross_features_settings *s = &joint->set;
	const float *x = joint->row;
	const float *products_at = w + joint->near;
	memcpy(v, w + s->features, s->candidate_features * sizeof *v);
	if (joint->left != NULL) {
		for (size_t i = 0; i < COP_CROSS_FEATURES_PRODUCTS; i++)
			v[joint->right[i]] += x[joint->left[i]] * products_at[i];
		return;
	}
	for (size_t j = 0; j < s->features; j++) {
		const float *restrict row = products_at + j * s->candidate_features;
		float xj = x[j];
#pragma omp simd
		for (size_t k = 0; k < s->candidate_features; k++)
			v[k] += xj * row[k];
	}
}

void cop_cross_features_fold_context(const cop_cross_features *joint, const float *w, cop_cross_features_fold *fold)
{
	const cop_cross_features_settings *s = &joint->set;
	if (!s->sparse) {
		fold->base = w[joint->near - 1] + s->kernel->dot(s->features, joint->row, w);
		fold_dense(joint, w, fold->v);
		return;
	}
	fold->base = 0.0f;
	for (size_t i = 0; i < joint->context_entries; i++)
		fold->base += joint->value[i] * w[joint->index[i]];
}

float cop_cross_features_folded(const cop_cross_features *joint, const float *w, const cop_cross_features_fold *fold)
{
	const cop_cross_features_settings *s = &joint->set;
	if (!s->sparse)
		return fold->base + s->kernel->dot(s->candidate_features, joint->row + s->features, fold->v);
	float sum = fold->base;
	for (size_t i = joint->context_entries; i < joint->entries + joint->pairs; i++)
		sum += joint->value[i] * w[joint->index[i]];
	return sum;
}
