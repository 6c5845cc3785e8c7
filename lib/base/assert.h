/* base/assert.h: contracts of our own callers, kept on in release builds.
 *
 * Only for what a correct program cannot do; whatever comes from outside gets an error code instead. */
#ifndef COP_BASE_ASSERT_H
#define COP_BASE_ASSERT_H

#define COP_ASSERT(condition) ((condition) ? (void)0 : cop_assert_failed(#condition, __FILE__, __LINE__))

/* Writes the place to standard error and aborts. */
_Noreturn void cop_assert_failed(const char *condition, const char *file, int line);

#endif
