/* The file is JSON, so that a person can read it: {"version": 1, "models": [{"name", "change", "life", "options":
 * {OPTION: [VALUE, ...]}, "file": {OPTION: [TEXT]}}]}. It is replaced by renaming, so it is always whole; a file that
 * is not understood was changed by somebody else, and is refused. */
#include "daemon/config/live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file_atomic.h"
#include "base/json.h"
#include "base/mem.h"
#include "store/state_dir.h"

#define VERSION    1
#define MOST_BYTES (4u << 20)

static const char *const kinds[] = { "set", "added", "removed" };

const char *cop_live_kind_text(cop_live_kind kind) { return kinds[kind]; }

/* ---- values ---- */

void cop_live_values_clear(cop_live_values *values)
{
	for (size_t i = 0; i < values->count; i++) {
		cop_mem_free(values->items[i].option);
		cop_mem_free(values->items[i].text);
	}
	cop_mem_free(values->items);
	*values = (cop_live_values){ 0 };
}

bool cop_live_values_add(cop_live_values *values, const char *option, const char *text)
{
	cop_live_value *items = cop_mem_resize(values->items, values->count, values->count + 1, sizeof *items);
	if (items == NULL)
		return false;
	values->items = items;
	cop_live_value *value = &items[values->count++];
	value->option = cop_mem_strdup(option);
	value->text = cop_mem_strdup(text);
	return value->option != NULL && value->text != NULL;
}

size_t cop_live_values_remove(cop_live_values *values, const char *option)
{
	size_t kept = 0, count = values->count;
	for (size_t i = 0; i < count; i++) {
		cop_live_value *value = &values->items[i];
		if (strcmp(value->option, option) != 0) {
			values->items[kept++] = *value;
			continue;
		}
		cop_mem_free(value->option);
		cop_mem_free(value->text);
	}
	values->count = kept;
	return count - kept;
}

/* ---- models ---- */

void cop_live_free(cop_live_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		cop_live_values_clear(&changes->items[i].values);
		cop_live_values_clear(&changes->items[i].were);
	}
	cop_mem_free(changes->items);
	*changes = (cop_live_changes){ 0 };
}

cop_live_model *cop_live_find(const cop_live_changes *changes, const char *name)
{
	for (size_t i = 0; i < changes->count; i++)
		if (strcmp(changes->items[i].name, name) == 0)
			return &changes->items[i];
	return NULL;
}

cop_live_model *cop_live_put(cop_live_changes *changes, const char *name)
{
	cop_live_model *found = cop_live_find(changes, name);
	if (found != NULL)
		return found;
	cop_live_model *items = cop_mem_resize(changes->items, changes->count, changes->count + 1, sizeof *items);
	if (items == NULL)
		return NULL;
	changes->items = items;
	cop_live_model *model = &items[changes->count++];
	(void)snprintf(model->name, sizeof model->name, "%s", name);
	return model;
}

void cop_live_drop(cop_live_changes *changes, const char *name)
{
	cop_live_model *model = cop_live_find(changes, name);
	if (model == NULL)
		return;
	cop_live_values_clear(&model->values);
	cop_live_values_clear(&model->were);
	size_t after = changes->count - (size_t)(model - changes->items) - 1;
	memmove(model, model + 1, after * sizeof *model);
	changes->count--;
}

static bool copy_values(const cop_live_values *values, cop_live_values *out)
{
	for (size_t i = 0; i < values->count; i++)
		if (!cop_live_values_add(out, values->items[i].option, values->items[i].text))
			return false;
	return true;
}

cop_err cop_live_copy(const cop_live_changes *changes, cop_live_changes *out)
{
	*out = (cop_live_changes){ 0 };
	for (size_t i = 0; i < changes->count; i++) {
		const cop_live_model *model = &changes->items[i];
		cop_live_model *copy = cop_live_put(out, model->name);
		if (copy == NULL)
			return COP_ENOMEM;
		copy->kind = model->kind;
		copy->life = model->life;
		if (!copy_values(&model->values, &copy->values) || !copy_values(&model->were, &copy->were))
			return COP_ENOMEM;
	}
	return COP_OK;
}

/* ---- the file ---- */

static cop_err read_values(const cop_json *object, cop_live_values *out)
{
	const cop_json *list;
	if (object == NULL || cop_json_type_of(object) != COP_JSON_OBJECT)
		return COP_EFORMAT;
	for (const char *option = NULL; (list = cop_json_next_member(object, &option)) != NULL;) {
		if (cop_json_type_of(list) != COP_JSON_ARRAY)
			return COP_EFORMAT;
		for (size_t i = 0; i < cop_json_size(list); i++) {
			const char *text;
			if (cop_json_get_text(cop_json_element(list, i), &text, NULL) != COP_OK)
				return COP_EFORMAT;
			if (!cop_live_values_add(out, option, text))
				return COP_ENOMEM;
		}
	}
	return COP_OK;
}

static cop_err read_kind(const cop_json *model, cop_live_kind *kind)
{
	const char *text;
	if (cop_json_get_text(cop_json_member(model, "change"), &text, NULL) != COP_OK)
		return COP_EFORMAT;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		*kind = (cop_live_kind)i;
		if (strcmp(kinds[i], text) == 0)
			return COP_OK;
	}
	return COP_EFORMAT;
}

static cop_err read_model(const cop_json *json, cop_live_changes *out)
{
	const char *name;
	double life;
	cop_live_kind kind;
	if (cop_json_get_text(cop_json_member(json, "name"), &name, NULL) != COP_OK ||
	        strlen(name) > COP_LIVE_NAME_MAX || cop_live_find(out, name) != NULL ||
	        read_kind(json, &kind) != COP_OK ||
	        cop_json_get_number(cop_json_member(json, "life"), &life) != COP_OK || !(life >= 0) ||
	        life > COP_LIVE_LIFE_MAX || life != (double)(uint32_t)life)
		return COP_EFORMAT;
	cop_live_model *model = cop_live_put(out, name);
	if (model == NULL)
		return COP_ENOMEM;
	model->kind = kind;
	model->life = (uint32_t)life;
	cop_err err = read_values(cop_json_member(json, "options"), &model->values);
	return err == COP_OK ? read_values(cop_json_member(json, "file"), &model->were) : err;
}

static cop_err read_all(const cop_json *root, cop_live_changes *out)
{
	double version;
	const cop_json *models = cop_json_member(root, "models");
	if (cop_json_get_number(cop_json_member(root, "version"), &version) != COP_OK || models == NULL ||
	        cop_json_type_of(models) != COP_JSON_ARRAY)
		return COP_EFORMAT;
	if (version > VERSION)
		return COP_EVERSION;
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && i < cop_json_size(models); i++)
		err = read_model(cop_json_element(models, i), out);
	return err;
}

/* All of the file; COP_ENOTFOUND: there is none. */
static cop_err read_text(const char *path, cop_bytes *out, cop_diag *diag)
{
	FILE *file = fopen(path, "re");
	if (file == NULL && (errno == ENOENT || errno == ENOTDIR))
		return COP_ENOTFOUND;
	size_t got = 1;
	while (file != NULL && got > 0 && out->err == COP_OK && out->length <= MOST_BYTES) {
		char part[4096];
		got = fread(part, 1, sizeof part, file);
		cop_bytes_put(out, part, got);
	}
	bool failed = file == NULL || ferror(file) != 0;
	if (failed)
		cop_diag_of(diag, path, "cannot be read: %s", strerror(errno));
	if (file != NULL)
		(void)fclose(file);
	return failed ? COP_EIO : out->err;
}

static void path_of(const char *state_dir, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/" COP_STATE_DIR_LIVE, state_dir);
}

cop_err cop_live_parse(const void *text, size_t length, const char *source, cop_live_changes *out, cop_diag *diag)
{
	cop_json *root = NULL;
	cop_diag why = { 0 };
	*out = (cop_live_changes){ 0 };
	cop_err err = length <= MOST_BYTES ? cop_json_parse(text, length, &root, &why) : COP_EFULL;
	if (err == COP_OK)
		err = read_all(root, out);
	if (err == COP_EFORMAT || err == COP_EVERSION || err == COP_EFULL) {
		cop_diag_at_line(diag, source, why.line,
		        "not what coppiced wrote (%s); expected the live changes of its models, or no such file",
		        why.message[0] != '\0' ? why.message : cop_err_text(err));
		err = COP_EFORMAT;
	}
	if (err == COP_ENOMEM)
		cop_diag_of(diag, source, "cannot be read: %s", cop_err_text(err));
	cop_json_free(root);
	return err;
}

cop_err cop_live_read(const char *state_dir, cop_live_changes *out, cop_diag *diag)
{
	char path[4096];
	cop_bytes text;
	path_of(state_dir, path, sizeof path);
	*out = (cop_live_changes){ 0 };
	cop_bytes_init(&text);
	cop_err err = read_text(path, &text, diag);
	if (err == COP_ENOMEM)
		cop_diag_of(diag, path, "cannot be read: %s", cop_err_text(err));
	if (err == COP_OK)
		err = cop_live_parse(text.data, text.length, path, out, diag);
	cop_bytes_fini(&text);
	return err == COP_ENOTFOUND ? COP_OK : err;
}

static void write_values(cop_json_writer *json, const char *key, const cop_live_values *values)
{
	cop_json_key(json, key);
	cop_json_begin_object(json);
	for (size_t i = 0; i < values->count;) {
		const char *option = values->items[i].option;
		cop_json_key(json, option);
		cop_json_begin_array(json);
		for (; i < values->count && strcmp(values->items[i].option, option) == 0; i++)
			cop_json_text(json, values->items[i].text);
		cop_json_end_array(json);
	}
	cop_json_end_object(json);
}

static void write_all(cop_json_writer *json, const cop_live_changes *changes)
{
	cop_json_begin_object(json);
	cop_json_key(json, "version");
	cop_json_unsigned(json, VERSION);
	cop_json_key(json, "models");
	cop_json_begin_array(json);
	for (size_t i = 0; i < changes->count; i++) {
		const cop_live_model *model = &changes->items[i];
		cop_json_begin_object(json);
		cop_json_key(json, "name");
		cop_json_text(json, model->name);
		cop_json_key(json, "change");
		cop_json_text(json, kinds[model->kind]);
		cop_json_key(json, "life");
		cop_json_unsigned(json, model->life);
		write_values(json, "options", &model->values);
		write_values(json, "file", &model->were);
		cop_json_end_object(json);
	}
	cop_json_end_array(json);
	cop_json_end_object(json);
}

void cop_live_put_text(const cop_live_changes *changes, cop_bytes *out)
{
	const char *text;
	size_t length;
	cop_json_writer *json = NULL;
	cop_err err = cop_json_writer_new(COP_JSON_INDENTED, &json);
	if (err == COP_OK) {
		write_all(json, changes);
		err = cop_json_writer_finish(json, &text, &length);
	}
	if (err == COP_OK)
		cop_bytes_put(out, text, length);
	else
		out->err = err;
	cop_json_writer_free(json);
}

bool cop_live_is_there(const char *state_dir)
{
	char path[4096];
	path_of(state_dir, path, sizeof path);
	return access(path, F_OK) == 0 || errno != ENOENT;
}

cop_err cop_live_write(const char *state_dir, const cop_live_changes *changes, cop_diag *diag)
{
	char path[4096];
	cop_bytes text;
	path_of(state_dir, path, sizeof path);
	cop_bytes_init(&text);
	cop_live_put_text(changes, &text);
	cop_err err = text.err == COP_OK && text.length > MOST_BYTES ? COP_EFULL : text.err;
	if (err == COP_OK)
		err = cop_file_atomic_save(path, text.data, text.length, diag);
	else
		cop_diag_of(diag, path, "%s", cop_err_text(err));
	cop_bytes_fini(&text);
	return err;
}
