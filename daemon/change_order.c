/* A body is read into texts in the configuration file's words, which go over those that there are; what that comes to
 * is found out by reading file and changes together, as a start would, and judged by what differs then. */
#include "daemon/change_order.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "daemon/config/config_hint.h"

static const char *const deeds[COP_MODEL_DEEDS] = { "add", "set", "unset", "reset", "remove" };

const char *cop_change_order_deed(const cop_change_order *o) { return deeds[o->deed < COP_MODEL_DEEDS ? o->deed : 0]; }

void cop_change_order_fini(cop_change_order *o) { cop_live_values_clear(&o->values); }

/* ---- what is asked ---- */

cop_err cop_change_order_refuse_memory(cop_wire_fault *fault)
{
	(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "model: %s", cop_err_text(COP_ENOMEM));
	return COP_ENOMEM;
}

/* "A, B" or "{ A, B }" of an option that has several values; any other text as it is. */
static cop_err add_text(cop_change_order *o, const char *option, const char *text, cop_wire_fault *fault)
{
	char part[1024];
	if (!cop_config_live_is_list(option))
		return cop_live_values_add(&o->values, option, text) ? COP_OK : cop_change_order_refuse_memory(fault);
	size_t before = o->values.count;
	for (const char *at = text + strspn(text, "{ "); *at != '\0';) {
		size_t length = strcspn(at, ",}"), next = length + strspn(at + length, ",} ");
		while (length > 0 && at[length - 1] == ' ')
			length--;
		(void)snprintf(part, sizeof part, "%.*s", (int)length, at);
		if (length > 0 && !cop_live_values_add(&o->values, option, part))
			return cop_change_order_refuse_memory(fault);
		at += next > 0 ? next : 1;
		at += strspn(at, " ");
	}
	bool nothing = o->values.count == before; /* said by an empty text */
	return !nothing || cop_live_values_add(&o->values, option, "") ? COP_OK : cop_change_order_refuse_memory(fault);
}

/* One value as the text that the file would have. */
static cop_err read_value(cop_wire_cursor *cursor, cop_change_order *o, const char *option, cop_wire_fault *fault)
{
	char text[1024 + 1], number[COP_NUMBER_ROOM];
	const char *string;
	size_t length;
	double value;
	bool on;
	switch (cop_wire_cursor_peek(cursor)) {
	case COP_WIRE_TYPE_NIL:
		if (cop_wire_cursor_nil(cursor) != COP_OK)
			break;
		return cop_live_values_add(&o->values, option, "") ? COP_OK : cop_change_order_refuse_memory(fault);
	case COP_WIRE_TYPE_BOOL:
		if (cop_wire_cursor_bool(cursor, &on) != COP_OK)
			break;
		return add_text(o, option, on ? "true" : "false", fault);
	case COP_WIRE_TYPE_STRING:
		if (cop_wire_cursor_string(cursor, &string, &length) != COP_OK || length >= sizeof text ||
		        memchr(string, '\0', length) != NULL)
			break;
		(void)snprintf(text, sizeof text, "%.*s", (int)length, string);
		return add_text(o, option, text, fault);
	default:
		if (cop_wire_cursor_double(cursor, &value) != COP_OK)
			break;
		(void)cop_number_format(value, number);
		return add_text(o, option, number, fault);
	}
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
	        "options: %.64s: expected a number, a boolean, a string of at most 1024 bytes, or an array of them",
	        option);
}

static cop_err read_option(cop_wire_cursor *cursor, cop_change_order *o, cop_wire_fault *fault)
{
	char option[64];
	const char *string;
	size_t length, count = 1;
	if (cop_wire_cursor_string(cursor, &string, &length) != COP_OK || length == 0 || length >= sizeof option)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "options: expected names of options, as OPTION or refit.OPTION");
	cop_wire_text_clean(option, sizeof option, string, length);
	for (size_t i = 0; i < o->values.count; i++)
		if (strcmp(o->values.items[i].option, option) == 0)
			return cop_wire_fault_set(
			        fault, COP_WIRE_BAD_REQUEST, "options: %s: given twice; expected once", option);
	if (cop_wire_cursor_peek(cursor) == COP_WIRE_TYPE_ARRAY && cop_wire_cursor_array(cursor, &count) != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "options: %s: expected an array", option);
	if (count != 1 && !cop_config_live_is_list(option))
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "options: %s: got %zu values; expected one", option, count);
	if (count == 0)
		return cop_live_values_add(&o->values, option, "") ? COP_OK : cop_change_order_refuse_memory(fault);
	cop_err err = COP_OK;
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = read_value(cursor, o, option, fault);
	return err;
}

static cop_err read_options(cop_wire_cursor *cursor, cop_change_order *o, cop_wire_fault *fault)
{
	size_t count;
	cop_err err = cop_wire_cursor_map(cursor, &count);
	if (err != COP_OK)
		return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "options", "a map of options");
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = read_option(cursor, o, fault);
	return err;
}

static cop_err read_deed(cop_wire_cursor *cursor, cop_change_order *o, cop_wire_fault *fault)
{
	const char *text;
	size_t length;
	if (cop_wire_cursor_string(cursor, &text, &length) == COP_OK)
		for (o->deed = COP_MODEL_ADD; o->deed < COP_MODEL_DEEDS; o->deed++)
			if (strlen(deeds[o->deed]) == length && memcmp(deeds[o->deed], text, length) == 0)
				return COP_OK;
	return cop_wire_fault_set(
	        fault, COP_WIRE_BAD_REQUEST, "do: expected \"add\", \"set\", \"unset\", \"reset\" or \"remove\"");
}

cop_err cop_change_order_decode(const void *body, size_t length, cop_change_order *o, cop_wire_fault *fault)
{
	static const char *const names[] = { "do", "options", "fresh", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 4, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == 0) {
			err = read_deed(&cursor, o, fault);
		} else if (which == 1) {
			err = read_options(&cursor, o, fault);
		} else if (which == 3) {
			err = cop_wire_read_seq(&cursor, &o->seq, fault);
		} else {
			err = cop_wire_cursor_bool(&cursor, &o->fresh);
			if (err != COP_OK)
				err = cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, &cursor, "fresh", "a boolean");
		}
	}
	return err == COP_EEND ? cop_wire_keys_need(&keys, 1U) : err;
}

/* ---- into the live changes ---- */

cop_err cop_change_order_check(const cop_change_order *o, const cop_config *config, cop_wire_fault *fault)
{
	bool served = cop_config_find(config, o->name, strlen(o->name)) != NULL;
	size_t options = o->values.count;
	if (o->deed == COP_MODEL_ADD && served)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "add: the model %s is there; expected set or reset, or another name", o->name);
	if (o->deed != COP_MODEL_ADD && !served)
		return cop_wire_fault_set(fault, COP_WIRE_UNKNOWN_MODEL,
		        "%s: no model '%s'; expected one that is served", deeds[o->deed], o->name);
	if ((o->deed == COP_MODEL_SET || o->deed == COP_MODEL_UNSET) && options == 0)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "%s: expected options", deeds[o->deed]);
	if (o->deed == COP_MODEL_REMOVE && options > 0)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "remove: has no options; expected none");
	if (o->deed != COP_MODEL_ADD && o->fresh)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "fresh: goes with add; expected reset for a model that is served");
	return COP_OK;
}

static cop_err refuse_option(const char *option, cop_wire_fault *fault)
{
	char text[256];
	const int length = snprintf(text, sizeof text, "no such option '%.64s'", option);
	cop_config_hint(text, sizeof text);
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "options: %.64s: no such option of a model%s", option,
	        text[length] == '\0' ? ", expected one of coppice.conf(5)" : &text[length]);
}

/* The order's options over those of the change; file: the file's model, or NULL. */
static cop_err put_options(
        const cop_change_order *o, const cop_config_model *file, cop_live_model *change, cop_wire_fault *fault)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < o->values.count && err == COP_OK; i++) {
		const char *option = o->values.items[i].option;
		(void)cop_live_values_remove(&change->values, option);
		(void)cop_live_values_remove(&change->were, option);
	}
	for (size_t i = 0; i < o->values.count && err == COP_OK; i++) {
		const cop_live_value *value = &o->values.items[i];
		bool first = i == 0 || strcmp(o->values.items[i - 1].option, value->option) != 0;
		cop_bytes was;
		if (!cop_live_values_add(&change->values, value->option, value->text))
			return cop_change_order_refuse_memory(fault);
		if (!first || file == NULL)
			continue;
		cop_bytes_init(&was);
		if (!cop_config_live_print(value->option, file, &was))
			err = refuse_option(value->option, fault);
		else if (was.err != COP_OK ||
		         !cop_live_values_add(&change->were, value->option, (const char *)was.data))
			err = cop_change_order_refuse_memory(fault);
		cop_bytes_fini(&was);
	}
	return err;
}

static cop_err unset_options(const cop_change_order *o, cop_live_model *change, cop_wire_fault *fault)
{
	for (size_t i = 0; i < o->values.count; i++) {
		const char *option = o->values.items[i].option;
		(void)cop_live_values_remove(&change->were, option);
		if (cop_live_values_remove(&change->values, option) == 0)
			return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
			        "unset: %.64s was not set live; expected an option that was", option);
	}
	return COP_OK;
}

static void forget_values(cop_live_model *change)
{
	cop_live_values_clear(&change->values);
	cop_live_values_clear(&change->were);
}

cop_err cop_change_order_edit(
        const cop_change_order *o, const cop_config *file, cop_live_changes *live, cop_wire_fault *fault)
{
	const cop_config_model *there = cop_config_find(file, o->name, strlen(o->name));
	cop_live_model *change = cop_live_put(live, o->name);
	if (change == NULL)
		return cop_change_order_refuse_memory(fault);
	if (there != NULL && change->kind == COP_LIVE_ADDED) /* it was written into the file since */
		forget_values(change);
	change->kind = there != NULL ? COP_LIVE_SET : COP_LIVE_ADDED;
	if (o->deed == COP_MODEL_REMOVE) {
		change->kind = COP_LIVE_REMOVED;
		forget_values(change);
		if (there == NULL && change->life == 0) /* nothing is left to say */
			cop_live_drop(live, o->name);
		return COP_OK;
	}
	if (o->deed == COP_MODEL_UNSET)
		return unset_options(o, change, fault);
	if (o->deed == COP_MODEL_RESET || o->fresh) {
		if (change->life == COP_LIVE_LIFE_MAX)
			return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
			        "reset: %s was begun anew too often; expected a new name", o->name);
		change->life++;
	}
	return put_options(o, there, change, fault);
}

/* ---- what comes of it ---- */

/* Whether the change is of an option that the order names, and not of one whose default hangs on it. */
static bool is_ordered(const cop_change_order *o, const cop_config_change *change)
{
	char named[sizeof o->name + 96];
	for (size_t i = 0; i < o->values.count; i++) {
		(void)snprintf(named, sizeof named, "model %s: %.64s: ", o->name, o->values.items[i].option);
		if (strncmp(change->text, named, strlen(named)) == 0)
			return true;
	}
	return false;
}

cop_err cop_change_order_judge(const cop_change_order *o, const cop_config_changes *changes, cop_wire_fault *fault)
{
	const cop_config_change *against = NULL; /* what was asked for itself says most, then the last one */
	for (size_t i = 0; i < changes->count; i++) {
		const cop_config_change *change = &changes->items[i];
		if (change->kind != COP_CHANGE_APPLIED && (against == NULL || !is_ordered(o, against)))
			against = change;
		if (strcmp(change->model, o->name) != 0)
			return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
			        "%s: the configuration file was changed since it was read (%.200s); expected a reload "
			        "first",
			        deeds[o->deed], change->text);
	}
	if (against == NULL)
		return COP_OK;
	if (o->deed == COP_MODEL_ADD && !o->again)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "add: the model cannot be made: %.300s", against->text);
	if (o->deed == COP_MODEL_ADD)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "add: expected the options that the model had, or fresh, which begins it anew: %.300s",
		        against->text);
	return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
	        "%s: expected what can change in a model that has learned, or reset, which begins it anew: %.300s",
	        deeds[o->deed], against->text);
}
