/* tests/support_page.h: tables of docs/reference that are written from tables of the source.
 *
 * A test makes the Markdown and checks that the page has it; with COPPICE_REFERENCE=renew in the environment the page
 * is written anew first. What else stands on a page is written by hand. One thread. */
#ifndef COP_TESTS_SUPPORT_PAGE_H
#define COP_TESTS_SUPPORT_PAGE_H

#include "base/bytes.h"

/* Appends a row of a table: each of the count cells between bars. */
void cop_test_page_row(cop_bytes *out, const char *const *cells, size_t count);
/* Appends the two lines on top of a table. */
void cop_test_page_head(cop_bytes *out, const char *const *titles, size_t count);

/* Fails the test unless the first table below the text `after` (of which the page has one) is `table`. page: a file of
 * docs/reference. */
void cop_test_page_check(const char *page, const char *after, const cop_bytes *table);

#endif
