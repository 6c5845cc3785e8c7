/* The checkpoint alone has all that was acknowledged before it was asked for; the journal adds what came since. Closed
 * segments never change and are copied whole. The newest one is being written: it is read record by record up to the
 * first that is not whole, and copied as far as that. Below that place it never changes either. What must be in the
 * copy is checked in the copy: it is whole, begins at or before the checkpoint's place and reaches at least as far as
 * the daemon reported as written before the segments were listed.
 *
 * Meanwhile the daemon may remove what it no longer needs; then everything is taken anew, from a new checkpoint. */
#include "backup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "backup_files.h"
#include "ctl_text.h"
#include "store/checkpoint_file.h"
#include "store/journal_stat.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "store/state_mark.h"
#include "clients/c/client.h"
#include "tools/common/command.h"
#include "wire/wire_json.h"

#define ATTEMPTS    4
#define MOST_MISSED 64 /* checkpoints of an attempt that the daemon removed before they were opened */
#define CLOCK_SLACK 60 /* seconds that the state folder's file system may be behind the clock */

typedef struct backup {
	const cop_backup_request *request;
	cop_client *client;
	char *journal; /* in the copy */
	bool made;     /* the copy's folder was not there */
	bool again;    /* what failed may be different with a new checkpoint */
	/* Of this attempt. */
	char *state; /* the daemon's state folder */
	char *from;  /* its journal */
	bool has_journal;
	uint64_t sequence;  /* of the checkpoint */
	uint64_t bytes;     /* of its body, as the daemon reported */
	uint64_t committed; /* last journal record that must be in the copy */
	cop_bytes body;
	uint64_t next;   /* first journal record that the checkpoint has not */
	cop_diag damage; /* where the newest segment could not be read on; "" if it ends there */
	/* Of the copy's journal. */
	uint64_t segments, journal_bytes, last;
} backup;

/* ---- what the daemon reports ---- */

static cop_err ask(const backup *b, cop_json **out, cop_diag *diag)
{
	cop_client_reply reply;
	cop_bytes text;
	cop_bytes_init(&text);
	cop_err err = cop_client_request(b->client, "backup", "", "", 0, &reply, diag);
	if (err == COP_OK) {
		err = cop_wire_json(&text, reply.body, reply.length, 0);
		if (err != COP_OK)
			cop_diag_of(diag, b->request->endpoint, "the answer is no MessagePack: %s", cop_err_text(err));
	}
	if (err == COP_OK)
		err = cop_json_parse((const char *)text.data, text.length, out, diag);
	cop_bytes_fini(&text);
	return err;
}

static cop_err lacks(const backup *b, const char *key, cop_diag *diag)
{
	cop_diag_of(
	        diag, b->request->endpoint, "the answer to backup has no %s; is the daemon of another version?", key);
	return COP_EFORMAT;
}

static bool get_unsigned(const cop_json *map, const char *key, uint64_t *out)
{
	int64_t value;
	if (cop_json_get_integer(cop_json_member(map, key), &value) != COP_OK || value < 0)
		return false;
	*out = (uint64_t)value;
	return true;
}

static cop_err read_journal_state(backup *b, const cop_json *journal, cop_diag *diag)
{
	const char *state;
	if (cop_json_get_text(cop_json_member(journal, "state"), &state, NULL) != COP_OK)
		return lacks(b, "journal state", diag);
	b->has_journal = strcmp(state, "off") != 0;
	if (b->has_journal && !get_unsigned(journal, "committed", &b->committed))
		return lacks(b, "journal's committed", diag);
	return COP_OK;
}

static cop_err ask_checkpoint(backup *b, cop_diag *diag)
{
	const char *state;
	cop_json *reply = NULL;
	cop_err err = ask(b, &reply, diag);
	if (err == COP_OK &&
	        !(get_unsigned(reply, "sequence", &b->sequence) && get_unsigned(reply, "bytes", &b->bytes)))
		err = lacks(b, "sequence and bytes", diag);
	if (err == COP_OK &&
	        (cop_json_get_text(cop_json_member(reply, "state_dir"), &state, NULL) != COP_OK || state[0] != '/'))
		err = lacks(b, "absolute state_dir", diag);
	if (err == COP_OK)
		err = read_journal_state(b, cop_json_member(reply, "journal"), diag);
	if (err == COP_OK) {
		cop_mem_free(b->state);
		b->state = cop_mem_strdup(state);
		err = b->state == NULL ? cop_backup_files_no_memory(diag)
		                       : cop_backup_files_join(b->state, COP_STATE_DIR_JOURNAL, &b->from, diag);
	}
	cop_json_free(reply);
	if (err == COP_OK && access(b->state, R_OK | X_OK) != 0) {
		const char *why = strerror(errno);
		cop_diag_of(diag, b->state,
		        "the daemon's state folder cannot be read here: %s; a backup is made on the daemon's machine, "
		        "by a user with the right to read its state",
		        why);
		err = COP_ENOTFOUND;
	}
	return err;
}

/* ---- the checkpoint ---- */

/* Another machine's daemon may have a state folder of the same name. */
static cop_err check_origin(const backup *b, const char *path, time_t began, cop_diag *diag)
{
	struct stat status;
	bool old = stat(path, &status) == 0 && status.st_mtime < began - CLOCK_SLACK;
	if (old || b->body.length != b->bytes) {
		cop_diag_of(diag, path,
		        "this is not what the daemon at %s has just written; a backup is made on the daemon's machine",
		        b->request->endpoint);
		return COP_EINVAL;
	}
	return COP_OK;
}

static cop_err read_mark(backup *b, const char *path, cop_diag *diag)
{
	cop_section_file file;
	cop_state_mark mark;
	cop_err err = cop_section_file_open(&file, b->body.data, b->body.length, path, diag);
	if (err != COP_OK)
		return err;
	err = cop_state_mark_read(&file, &mark);
	b->next = mark.journal_next == 0 ? 1 : mark.journal_next;
	if (err != COP_OK)
		cop_diag_of(diag, path, "section \"" COP_STATE_DIR_MARK "\": %s", cop_err_text(err));
	return err;
}

/* Whether there is a newer checkpoint than that of this attempt; it is taken instead. */
static bool take_newer(backup *b)
{
	uint64_t *sequences;
	size_t count;
	if (cop_checkpoint_list(b->state, COP_STATE_DIR_CHECKPOINT, &sequences, &count, NULL) != COP_OK)
		return false;
	bool newer = count > 0 && sequences[0] > b->sequence;
	if (newer)
		b->sequence = sequences[0];
	cop_mem_free(sequences);
	return newer;
}

/* The one that was asked for or, where the daemon has removed it meanwhile, a newer one, which has all that it had. */
static cop_err read_newest(backup *b, char **path, cop_diag *diag)
{
	char name[COP_CHECKPOINT_NAME_ROOM];
	uint64_t asked = b->sequence;
	cop_err err;
	int missed = 0;
	do {
		cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, b->sequence, name);
		err = cop_backup_files_join(b->state, name, path, diag);
		if (err == COP_OK)
			err = cop_checkpoint_read(*path, &b->body, diag);
	} while (err == COP_ENOTFOUND && ++missed < MOST_MISSED && take_newer(b));
	if (b->sequence != asked)
		b->bytes = b->body.length; /* the daemon reported the length of the other */
	return err;
}

static cop_err read_checkpoint(backup *b, time_t began, cop_diag *diag)
{
	char *path = NULL;
	cop_err err = read_newest(b, &path, diag);
	if (err == COP_ENOTFOUND) {
		b->again = true;
		cop_diag_of(diag, path,
		        "the checkpoint is not there: the daemon has removed it meanwhile, or this is another "
		        "machine's");
	}
	if (err == COP_OK)
		err = check_origin(b, path, began, diag);
	if (err == COP_OK)
		err = read_mark(b, path, diag);
	cop_mem_free(path);
	return err;
}

/* The last step: with it the copy is a backup. */
static cop_err write_checkpoint(const backup *b, cop_diag *diag)
{
	char name[COP_CHECKPOINT_NAME_ROOM];
	char *path = NULL;
	cop_bytes copy;
	cop_bytes_init(&copy);
	cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, b->sequence, name);
	cop_err err = cop_backup_files_join(b->request->folder, name, &path, diag);
	if (err == COP_OK)
		err = cop_checkpoint_write(
		        b->request->folder, COP_STATE_DIR_CHECKPOINT, b->sequence, b->body.data, b->body.length, diag);
	if (err == COP_OK)
		err = cop_checkpoint_read(path, &copy, diag);
	if (err == COP_OK && (copy.length != b->body.length || memcmp(copy.data, b->body.data, copy.length) != 0)) {
		cop_diag_of(diag, path, "reads back otherwise than it was written");
		err = COP_EIO;
	}
	if (err != COP_OK && path != NULL)
		(void)unlink(path);
	cop_mem_free(path);
	cop_bytes_fini(&copy);
	return err;
}

/* ---- the journal ---- */

/* Where the records end that are whole by now. */
static cop_err find_end(backup *b, const cop_journal_file *file, uint64_t *end, cop_diag *diag)
{
	cop_journal_walk walk;
	cop_journal_record record;
	cop_err err = cop_journal_walk_open(&walk, b->from, file, UINT64_MAX, diag);
	if (err != COP_OK)
		return err;
	while (err == COP_OK)
		err = cop_journal_walk_next(&walk, &record, &b->damage);
	*end = walk.end_offset;
	cop_journal_walk_close(&walk);
	/* Records that were written while it was read look like damage; whether it is will be seen by what is missing.
	 */
	if (err == COP_EEND || err == COP_EFORMAT)
		return COP_OK;
	*diag = b->damage;
	return err;
}

static cop_err copy_segment(backup *b, const cop_journal_file *file, bool newest, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	uint64_t end = UINT64_MAX;
	cop_journal_name(file->base, file->compressed, name);
	cop_err err = newest && !file->compressed ? find_end(b, file, &end, diag) : COP_OK;
	if (err == COP_OK)
		err = cop_backup_files_copy(b->from, b->journal, name, end, diag);
	b->again = err == COP_ENOTFOUND || err == COP_EEND;
	return err;
}

/* Of the segments the one that has the checkpoint's next record, or would have; `count`: none. */
static size_t find_first(const backup *b, const cop_journal_file *files, size_t count)
{
	size_t first = count;
	for (size_t i = 0; i < count && files[i].base <= b->next; i++)
		first = i;
	return first;
}

static void tell_progress(size_t done, size_t all)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, done < all ? "\r\033[Kcopying segment %zu of %zu" : "\r\033[K", done + 1, all);
}

static cop_err copy_segments(backup *b, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	cop_err err = cop_journal_list(b->from, &files, &count, diag);
	if (err != COP_OK)
		return err;
	size_t first = find_first(b, files, count);
	if (first == count) {
		b->again = true;
		cop_diag_of(diag, b->from, "no segment holds record %" PRIu64 ", where the checkpoint ends", b->next);
		err = COP_ENOTFOUND;
	}
	for (size_t i = first; i < count && err == COP_OK; i++) {
		tell_progress(i - first, count - first);
		err = copy_segment(b, &files[i], i + 1 == count, diag);
	}
	tell_progress(0, 0);
	cop_mem_free(files);
	return err;
}

static void count_segment(void *context, const cop_journal_stat *stat)
{
	backup *b = context;
	b->segments++;
	b->journal_bytes += stat->file.bytes;
	b->last = stat->last;
}

/* Reads the copy. */
static cop_err verify(backup *b, cop_diag *diag)
{
	cop_journal_stat_listener listener = { count_segment, b };
	b->segments = b->journal_bytes = b->last = 0;
	cop_err err = cop_journal_stat_verify(b->journal, &listener, diag);
	if (err == COP_OK && b->last < b->committed) {
		err = COP_EFORMAT;
		cop_diag_of(diag, b->from,
		        "record %" PRIu64 " was written, but only those up to %" PRIu64
		        " can be read (%s); see coppice "
		        "journal verify",
		        b->committed, b->last,
		        b->damage.message[0] != '\0' ? b->damage.message : "the others are gone");
	}
	b->again = err == COP_EFORMAT;
	return err;
}

static cop_err copy_journal(backup *b, cop_diag *diag)
{
	if (mkdir(b->journal, COP_BACKUP_FILES_MODE) != 0)
		return cop_journal_segment_refused(b->journal, "cannot be made", diag);
	cop_err err = copy_segments(b, diag);
	if (err == COP_OK)
		err = cop_backup_files_sync(b->journal, diag);
	return err == COP_OK ? verify(b, diag) : err;
}

/* ---- all of it ---- */

/* Segments and parts are all that an attempt can have left: the folder was empty. */
static void discard(const backup *b)
{
	cop_backup_files_discard_parts(b->request->folder);
	cop_journal_file *files;
	size_t count;
	if (cop_journal_list(b->journal, &files, &count, NULL) != COP_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		char name[COP_JOURNAL_NAME_ROOM];
		cop_journal_name(files[i].base, files[i].compressed, name);
		cop_backup_files_discard(b->journal, name);
	}
	cop_mem_free(files);
	(void)rmdir(b->journal);
}

static cop_err attempt(backup *b, cop_diag *diag)
{
	time_t began = time(NULL);
	b->again = false;
	b->damage = (cop_diag){ 0 };
	cop_err err = ask_checkpoint(b, diag);
	if (err == COP_OK)
		err = read_checkpoint(b, began, diag);
	if (err == COP_OK && b->has_journal)
		err = copy_journal(b, diag);
	if (err == COP_OK)
		err = cop_backup_files_copy_parts(b->state, b->request->folder, diag);
	if (err == COP_OK)
		err = write_checkpoint(b, diag);
	if (err != COP_OK)
		discard(b);
	return err;
}

static cop_err copy(backup *b, cop_diag *diag)
{
	const cop_backup_request *request = b->request;
	cop_err err = cop_client_open_keyed(request->endpoint, &request->keys, request->timeout, &b->client, diag);
	if (err == COP_OK)
		err = cop_backup_files_join(request->folder, COP_STATE_DIR_JOURNAL, &b->journal, diag);
	if (err == COP_OK)
		err = cop_backup_files_make_folder(request->folder, &b->made, diag);
	b->again = err == COP_OK;
	for (int i = 0; i < ATTEMPTS && b->again; i++)
		err = attempt(b, diag);
	if (err != COP_OK && b->made)
		(void)rmdir(request->folder);
	return err;
}

static void describe(const backup *b, double seconds, cop_json_writer *json)
{
	cop_json_begin_object(json);
	cop_json_put_text(json, "folder", b->request->folder);
	cop_json_put_text(json, "state_dir", b->state);
	cop_json_put_unsigned(json, "sequence", b->sequence);
	cop_json_put_unsigned(json, "bytes", b->body.length);
	if (b->has_journal) {
		cop_json_put_unsigned(json, "segments", b->segments);
		cop_json_put_unsigned(json, "journal_bytes", b->journal_bytes);
		cop_json_put_unsigned(json, "records", b->last < b->next ? 0 : b->last - b->next + 1);
		cop_json_put_unsigned(json, "last", b->last);
	}
	cop_json_put_number(json, "seconds", seconds);
	cop_json_end_object(json);
}

static cop_err print(const backup *b, double seconds, cop_diag *diag)
{
	const char *text;
	size_t length;
	cop_json *tree = NULL;
	cop_json_writer *json;
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &json);
	if (err != COP_OK)
		return cop_backup_files_no_memory(diag);
	describe(b, seconds, json);
	err = cop_json_writer_finish(json, &text, &length);
	if (err != COP_OK)
		err = cop_backup_files_no_memory(diag);
	else if (b->request->json)
		(void)puts(text);
	else if ((err = cop_json_parse(text, length, &tree, diag)) == COP_OK)
		cop_ctl_text_table(tree, 0, stdout);
	cop_json_free(tree);
	cop_json_writer_free(json);
	return err;
}

cop_err cop_backup(const cop_backup_request *request, cop_diag *diag)
{
	backup b = { .request = request };
	double began = cop_command_now();
	cop_bytes_init(&b.body);
	cop_err err = copy(&b, diag);
	if (err == COP_OK)
		err = print(&b, cop_command_now() - began, diag);
	cop_client_close(b.client);
	cop_bytes_fini(&b.body);
	cop_mem_free(b.journal);
	cop_mem_free(b.state);
	cop_mem_free(b.from);
	return err;
}
