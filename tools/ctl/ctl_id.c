/* An integer has no leading zeros and fits 64 bits; 017 is a string. */
#include "ctl_id.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool cop_ctl_id_is_digits(const char *text) { return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0'; }

static bool is_integer(const char *text)
{
	const char *digits = text + (text[0] == '-');
	if (!cop_ctl_id_is_digits(digits) || (digits[0] == '0' && strcmp(text, "0") != 0))
		return false;
	errno = 0;
	if (text[0] == '-')
		(void)strtoll(text, NULL, 10);
	else
		(void)strtoull(text, NULL, 10);
	return errno == 0;
}

static unsigned digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	return (unsigned)(strchr(digits, tolower((unsigned char)c)) - digits);
}

static bool read_bytes(const char *text, cop_event_id *id)
{
	uint8_t bytes[COP_EVENT_ID_MAX];
	size_t length = strlen(text);
	if (length % 2 != 0 || length > 2 * sizeof bytes || text[strspn(text, "0123456789abcdefABCDEF")] != '\0')
		return false;
	for (size_t i = 0; i < length / 2; i++)
		bytes[i] = (uint8_t)(16 * digit_of(text[2 * i]) + digit_of(text[2 * i + 1]));
	return cop_event_id_from_bytes(id, COP_EVENT_ID_BINARY, bytes, length / 2);
}

cop_err cop_ctl_id_read(
        const cop_ctl_id_rule *rule, const char *name, const char *text, cop_event_id *id, cop_diag *diag)
{
	bool whole = !rule->string && !rule->binary && is_integer(text);
	bool good = true;
	if (rule->binary)
		good = read_bytes(text, id);
	else if (whole && text[0] == '-')
		cop_event_id_from_signed(id, strtoll(text, NULL, 10));
	else if (whole)
		cop_event_id_from_unsigned(id, strtoull(text, NULL, 10));
	else
		good = cop_event_id_from_bytes(id, COP_EVENT_ID_STRING, text, strlen(text));
	if (good)
		return COP_OK;
	cop_diag_of(diag, name,
	        rule->binary ? "expected 1 to 64 bytes, two hexadecimal digits each" : "expected 1 to 64 bytes");
	return COP_EINVAL;
}
