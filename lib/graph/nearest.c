/* A binary max-heap by cop_nearest_before: the root is the worst of those kept, and one that is offered to a full heap
 * either replaces it or is dropped. Sorting takes the root off repeatedly, so the heap becomes an array from best to
 * worst. Distances sum squared differences in double, never as |a|^2 - 2ab + |b|^2, which cancels for close points. */
#include "graph/nearest.h"

#include "base/assert.h"
#include "base/mem.h"

static void swap(cop_near *a, cop_near *b)
{
	cop_near c = *a;
	*a = *b;
	*b = c;
}

/* Restores the heap of `count` entries below `at`. */
static void sink(cop_near *heap, size_t count, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= count)
			return;
		if (child + 1 < count && cop_nearest_before(&heap[child], &heap[child + 1]))
			child++;
		if (!cop_nearest_before(&heap[at], &heap[child]))
			return;
		swap(&heap[at], &heap[child]);
		at = child;
	}
}

void cop_nearest_offer(cop_nearest *nearest, float key, uint32_t index)
{
	cop_near *heap = nearest->entry;
	cop_near offered = { .key = key, .index = index };
	if (cop_nearest_full(nearest)) {
		if (nearest->most == 0 || !cop_nearest_before(&offered, &heap[0]))
			return;
		heap[0] = offered;
		sink(heap, nearest->count, 0);
		return;
	}
	size_t at = nearest->count++;
	heap[at] = offered;
	for (; at > 0 && cop_nearest_before(&heap[(at - 1) / 2], &heap[at]); at = (at - 1) / 2)
		swap(&heap[(at - 1) / 2], &heap[at]);
}

void cop_nearest_sort(cop_nearest *nearest)
{
	for (size_t left = nearest->count; left > 1; left--) {
		swap(&nearest->entry[0], &nearest->entry[left - 1]);
		sink(nearest->entry, left - 1, 0);
	}
}

static double dense_distance2(size_t d, const float *a, const float *b)
{
	double sum = 0.0;
#pragma omp simd reduction(+ : sum)
	for (size_t j = 0; j < d; j++) {
		float difference = a[j] - b[j];
		sum += (double)difference * (double)difference;
	}
	return sum;
}

static double sparse_distance2(const cop_points *a, size_t i, const cop_points *b, size_t j)
{
	size_t s = a->start[i], s_end = a->start[i + 1];
	size_t t = b->start[j], t_end = b->start[j + 1];
	double sum = 0.0;
	while (s < s_end || t < t_end) {
		bool left = s < s_end && (t == t_end || a->index[s] <= b->index[t]);
		bool right = t < t_end && (s == s_end || b->index[t] <= a->index[s]);
		float difference = (left ? a->value[s] : 0.0f) - (right ? b->value[t] : 0.0f);
		sum += (double)difference * (double)difference;
		s += left;
		t += right;
	}
	return sum;
}

float cop_nearest_distance2(const cop_points *a, size_t i, const cop_points *b, size_t j)
{
	size_t r = cop_nearest_row(a, i), s = cop_nearest_row(b, j);
	if (a->x == NULL)
		return (float)sparse_distance2(a, r, b, s);
	return (float)dense_distance2(a->d, a->x + r * a->d, b->x + s * b->d);
}

cop_err cop_nearest_begin(const cop_points *points, const cop_points *queries, size_t k, cop_neighbours *out)
{
	*out = (cop_neighbours){ .n = 0 };
	size_t others = queries == NULL && points->n > 0 ? points->n - 1 : points->n;
	size_t n = queries == NULL ? points->n : queries->n;
	size_t count;
	if (k < 1 || k > others || points->n > UINT32_MAX || n > UINT32_MAX)
		return COP_EINVAL;
	if (points->d == 0 || (queries != NULL && (queries->d != points->d || !queries->x != !points->x)))
		return COP_ESHAPE;
	if (__builtin_mul_overflow(n, k, &count))
		return COP_ENOMEM;
	*out = (cop_neighbours){ .n = n, .k = k };
	out->index = cop_mem_alloc(count, sizeof *out->index);
	out->distance2 = cop_mem_alloc(count, sizeof *out->distance2);
	if (out->index != NULL && out->distance2 != NULL)
		return COP_OK;
	cop_neighbours_fini(out);
	return COP_ENOMEM;
}

void cop_nearest_put(cop_neighbours *out, size_t q, const cop_nearest *nearest)
{
	COP_ASSERT(nearest->count >= out->k);
	for (size_t i = 0; i < out->k; i++) {
		out->index[q * out->k + i] = nearest->entry[i].index;
		out->distance2[q * out->k + i] = nearest->entry[i].key;
	}
}

void cop_neighbours_fini(cop_neighbours *neighbours)
{
	cop_mem_free(neighbours->index);
	cop_mem_free(neighbours->distance2);
	*neighbours = (cop_neighbours){ .n = 0 };
}
