/* tests/bench/traffic/traffic_stream.h: a scene's events as one file, made by stream.py and played by drive.c.
 *
 * Little-endian. After the header, in this order and without gaps (n events, K arms or candidates of one):
 *     dense contexts    float32 n x features             sparse: uint32 names n x nonzeros, float32 n x nonzeros
 *     losses            float32 n x K                    values: losses at `grid` places of [0, 1], evenly
 *                                                        from 0 to 1, float32 n x grid; then float32 n x 2, the noise
 *                                                        of both probes
 *     feedback          uint32 n: before which event it comes, above the event's own number; TRAFFIC_NEVER
 *     candidates        uint32 n x K, which items; float32 items x item_features       (TRAFFIC_RANK alone)
 *     eligible          uint8 n x K, 0 or 1                                            (TRAFFIC_MASKED alone)
 *     names             texts that end with 0, `names` of them                         (sparse alone)
 */
#ifndef TRAFFIC_STREAM_H
#define TRAFFIC_STREAM_H

#include <stdint.h>

#define TRAFFIC_MAGIC "COPTRAF1"
#define TRAFFIC_NEVER UINT32_MAX

enum { TRAFFIC_ARMS, TRAFFIC_RANK, TRAFFIC_VALUES };
enum { TRAFFIC_MASKED = 1, TRAFFIC_CONVERSIONS = 2 /* losses of 1 are not told: the window's end tells them */ };

typedef struct traffic_header {
	char magic[8];
	uint32_t kind, flags;
	uint32_t events, arms;
	uint32_t features, nonzeros; /* dense contexts have features, sparse ones nonzeros; the other is 0 */
	uint32_t names, items, item_features, grid;
	double window; /* events after which a decision without feedback ends, its loss taken for 1; 0: none */
} traffic_header;

/* The file's parts; those that a stream does not have are NULL. */
typedef struct traffic_stream {
	const traffic_header *head;
	const float *x;
	const uint32_t *name;
	const float *value;
	const float *loss;
	const float *noise;
	const uint32_t *due;
	const uint32_t *candidate;
	const float *item;
	const uint8_t *eligible;
	const char *names;
} traffic_stream;

#endif
