/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the journal: read, looked at, and undone on a machine that has nothing. What was
 * read is sound; nothing is written outside of what the journal names. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/host.h"
#include "machine/write/write.h"
#include "tune/txn/txn.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* A machine with a journal and a sysctl, in memory. */
struct toy {
	struct host host;
	const unsigned char *journal;
	size_t n;
	char swappiness[64];
	char *added; /* to the journal */
	size_t n_added;
};

static int toy_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct toy *m = (struct toy *)h;
	const void *text = NULL;
	size_t n = 0;

	if (strcmp(path, TXN_JOURNAL) == 0) {
		text = m->journal;
		n = m->n;
	} else if (strcmp(path, "/proc/sys/vm/swappiness") == 0) {
		text = m->swappiness;
		n = strlen(m->swappiness);
	} else if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
		text = "b\n";
		n = 2;
	} else {
		return -ENOENT;
	}
	*len = n > cap ? cap + 1 : n;
	if (n)
		memcpy(buf, text, n < cap ? n : cap);
	return 0;
}

static int toy_link(struct host *h, const char *path, char *buf, size_t cap)
{
	(void)h;
	(void)path;
	(void)buf;
	(void)cap;
	return -ENOENT;
}

static int toy_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	(void)h;
	(void)path;
	(void)a;
	(void)names;
	(void)n;
	return -ENOENT;
}

static int toy_kind(struct host *h, const char *path, enum host_kind *out)
{
	(void)h;
	(void)path;
	(void)out;
	return -ENOENT;
}

static int toy_ask(struct host *h, const char *api, const char *object, const char *field,
		   struct answer *out)
{
	(void)h;
	(void)api;
	(void)object;
	(void)field;
	(void)out;
	return -ENOENT;
}

static int toy_write(struct host *h, const char *path, long long offset, const void *data,
		     size_t len)
{
	struct toy *m = (struct toy *)h;

	if (strcmp(path, "/proc/sys/vm/swappiness") != 0)
		return -ENOENT;
	/* A value of one line, as the knob's contract says. */
	if (offset >= 0 || len >= sizeof(m->swappiness) - 1)
		return -EINVAL;
	if (memchr(data, '\n', len) && len > 1)
		abort();
	memcpy(m->swappiness, data, len);
	m->swappiness[len] = '\n';
	m->swappiness[len + 1] = '\0';
	return 0;
}

static int toy_tell(struct host *h, const char *api, const char *object, const char *field,
		    const struct answer *value)
{
	(void)h;
	(void)api;
	(void)object;
	(void)field;
	(void)value;
	return -ENOENT;
}

static int toy_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode)
{
	(void)h;
	(void)path;
	(void)data;
	(void)len;
	(void)mode;
	return -EROFS;
}

static int toy_append(struct host *h, const char *path, const void *data, size_t len)
{
	struct toy *m = (struct toy *)h;

	if (strcmp(path, TXN_JOURNAL) != 0)
		abort();
	m->added = realloc(m->added, m->n_added + len);
	if (!m->added)
		abort();
	memcpy(m->added + m->n_added, data, len);
	m->n_added += len;
	return 0;
}

static int toy_make(struct host *h, enum host_kind kind, const char *path, const char *target,
		    unsigned mode)
{
	(void)h;
	(void)kind;
	(void)path;
	(void)target;
	(void)mode;
	return -EEXIST;
}

static int toy_remove(struct host *h, const char *path)
{
	(void)h;
	(void)path;
	return -ENOENT;
}

static int toy_lock(struct host *h, const char *path)
{
	(void)h;
	(void)path;
	return 0;
}

static const struct host_writes toy_writes = {
	.write = toy_write,
	.tell = toy_tell,
	.put = toy_put,
	.append = toy_append,
	.make = toy_make,
	.remove = toy_remove,
	.lock = toy_lock,
};

static const struct host_ops toy_ops = {
	.read = toy_read,
	.link = toy_link,
	.list = toy_list,
	.kind = toy_kind,
	.ask = toy_ask,
	.writes = &toy_writes,
};

/* A change that cannot be read names no knob: it is not written, and nothing is written for it. */
static bool is_valid(const struct entry *x)
{
	const char *why;

	return x->unread ? x->knob.kind == KNOB_NONE && !x->n_sides
			 : knob_valid(&x->knob, NULL, &why);
}

/* How many of those that cannot be read are open. */
static size_t look(struct host *h, struct arena *a, bool all, struct journal *j)
{
	struct hold_row *rows;
	struct err e = { 0 };
	const char *why;
	size_t n, open = 0;

	if (journal_load(h, a, all, j, &e))
		abort();
	for (size_t i = 0; i < j->n; i++) {
		const struct transaction *t = &j->items[i];

		if (!t->op || !t->txn || t->txn >= j->next)
			abort();
		for (size_t k = 0; k < t->n; k++) {
			const struct entry *x = &t->entries[k];

			if (x->txn != t->txn || x->seq <= (k ? t->entries[k - 1].seq : 0) ||
			    !x->id || !x->target || !x->place || !x->after || !is_valid(x))
				abort();
			open += x->unread && x->state != ENTRY_UNDONE;
			for (size_t s = 0; s < x->n_sides; s++)
				if (!knob_valid(&x->sides[s].knob, NULL, &why))
					abort();
		}
	}
	txn_status(h, a, j, &rows, &n);
	return open;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const struct txn_who who = { .user = "u", .version = "1" };
	struct toy m = { .host.ops = &toy_ops, .journal = data, .n = size, .swappiness = "10\n" };
	struct txn_report report;
	struct arena a = { 0 };
	struct err e = { 0 };
	struct journal j;
	size_t open;
	char *whole;

	look(&m.host, &a, false, &j);
	open = look(&m.host, &a, true, &j);
	txn_undo(&m.host, &a, &(struct txn_select){ .all = true }, &who, &report, &e);
	/* What was added to it can be read, and leaves nothing to recover. */
	whole = malloc(size + m.n_added + 1);
	if (!whole)
		abort();
	if (size)
		memcpy(whole, data, size);
	if (m.n_added)
		memcpy(whole + size, m.added, m.n_added);
	m.journal = (const unsigned char *)whole;
	m.n = size + m.n_added;
	/* A last line that was not ended says something once it is. */
	if (look(&m.host, &a, true, &j) != open && (!size || data[size - 1] == '\n'))
		abort();
	free(whole);
	free(m.added);
	arena_free(&m.host.arena);
	arena_free(&a);
	return 0;
}
