/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the files of the state folder from outside: kind, owner, mode, names, file system. Knows
 * nothing of what they say. */

#include <ctype.h>
#include <linux/magic.h>
#include <string.h>

#include "machine/write/write.h"
#include "tune/txn/journal.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "tune/txn/txn.h"

/* Each says what undo does. */
static const char *const believed[] = { TXN_JOURNAL, TXN_COPY, TXN_HISTORY, TXN_PUBLIC };

static int check_one(struct host *h, const char *path, struct err *e)
{
	struct host_stat st;

	if (host_stat(h, path, &st))
		return 0;
	if (st.kind != HOST_FILE) {
		err_set(e, HOST_NOT_OURS, "%s is not a regular file: not trusted", path);
		err_hint(e, "\"ls -l %s\" shows its type; replace it with a regular file", path);
	} else if (st.uid != h->id.euid && st.uid != 0) {
		err_set(e, HOST_NOT_OURS, "%s belongs to user %lld: not trusted", path, st.uid);
		err_hint(e, "to trust it, run: chown root: %s", path);
	} else if (st.mode & 022) {
		err_set(e, HOST_NOT_OURS, "other users may write to %s (mode %04o): not trusted",
			path, st.mode);
		err_hint(e, "to trust it, run: chmod 600 %s", path);
	} else if (st.links > 1) {
		err_set(e, HOST_NOT_OURS,
			"%s has %lu hard links, through which it can be changed: not trusted", path,
			st.links);
		err_hint(e, "to trust it, run: cp -p %s %s.one && mv %s.one %s", path, path, path,
			 path);
	} else {
		return 0;
	}
	return HOST_NOT_OURS;
}

int state_folder_refused(struct err *e)
{
	err_set(e, HOST_NOT_OURS,
		"%s is a link, belongs to another user, or is writable by others: its contents are "
		"not trusted",
		TXN_DIR);
	err_hint(e, "check it with ls -ld; if you trust it: chown root: %s; chmod 755 %s", TXN_DIR,
		 TXN_DIR);
	return HOST_NOT_OURS;
}

int state_check(struct host *h, struct err *e)
{
	struct host_stat st;
	int r = 0;

	if (host_stat(h, TXN_DIR, &st) == 0 &&
	    (st.kind != HOST_DIR || (st.uid != h->id.euid && st.uid != 0) || st.mode & 022))
		return state_folder_refused(e);

	for (size_t i = 0; r == 0 && i < sizeof(believed) / sizeof(believed[0]); i++)
		r = check_one(h, believed[i], e);
	return r;
}

const char *state_is_lost_at_boot(struct host *h)
{
	long long type;
	int r = host_ask_int(h, "statfs", TXN_DIR, "type", &type);

	/* The first change makes the folder. */
	if (r == -ENOENT)
		r = host_ask_int(h, "statfs", "/var/lib", "type", &type);
	if (r || (type != TMPFS_MAGIC && type != RAMFS_MAGIC))
		return NULL;
	return TXN_DIR " is in memory (tmpfs): a reboot deletes the journal, and values kept for "
		       "the next boot then cannot be undone";
}

/* Who is changing the machine. */

const char *txn_process_began(struct host *h, struct arena *a, long long pid)
{
	struct process_stat p;

	return process_stat_read(h, pid, 0, &p) ? arena_printf(a, "%llu", p.began) : "";
}

const char *txn_holder(struct host *h, struct arena *a)
{
	char line[256], *at, *what;
	long long pid;

	if (host_read_line(h, TXN_HOLDER, line, sizeof(line)))
		return NULL;
	at = strchr(line, ' ');
	what = at ? strchr(at + 1, ' ') : NULL;
	if (!what)
		return NULL;
	*at++ = '\0';
	*what++ = '\0';
	if (parse_i64(line, &pid) || pid < 1 || !*at ||
	    strcmp(txn_process_began(h, a, pid), at) != 0)
		return NULL;
	for (char *c = what; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	return arena_printf(a, "\"gputune %s\", process %lld", what, pid);
}
