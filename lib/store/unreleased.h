/* store/unreleased.h: journals, checkpoints and model files from before 0.1.0, the first release.
 *
 * Their formats changed from week to week; no version reads them. They begin with letters of their own, so that they
 * are refused by name and not taken for damage. No state: any thread. */
#ifndef COP_STORE_UNRELEASED_H
#define COP_STORE_UNRELEASED_H

#include <stdbool.h>
#include <stddef.h>

/* Completes "FILE: it ". */
#define COP_UNRELEASED_REFUSAL                                                                                         \
	"was written by a coppice from before 0.1.0, whose files are not read any more; the way out: there, `coppice " \
	"convert --from journal` writes the events, `coppice replay --save` learns them, and a new state_dir begins "  \
	"with start_from"

/* Whether a file begins as one of those does. */
bool cop_unreleased_begins(const void *data, size_t length);

#endif
