/* SPDX-License-Identifier: Apache-2.0 */
/* Looking after the journal's files, for "gputune journal". */
#include <string.h>

#include "machine/write/write.h"
#include "tune/txn/run.h"
#include "tune/txn/store.h"

/* Changes of which too little can be read to take them back. */
static void tend_give_up(struct txn_run *r)
{
	for (size_t i = 0; i < r->journal.n; i++) {
		struct transaction *t = &r->journal.items[i];

		for (size_t k = 0; k < t->n; k++) {
			struct entry *x = &t->entries[k];

			if (!x->unread || !entry_is_active(x))
				continue;
			x->state = ENTRY_UNDONE;
			x->note = "given up: unreadable";
			write_undone(&r->writer, x, x->txn);
		}
		run_settle(r, t);
	}
}

int txn_tend(struct host *h, struct arena *a, enum txn_tend how, const struct txn_who *who,
	     struct txn_report *out, struct err *e)
{
	static const enum store_how hows[] = { STORE_MEND, STORE_GIVE_UP, STORE_COMPACT };
	struct store_end end;
	struct txn_run r;
	int code;

	*out = (struct txn_report){ 0 };
	code = run_open(&r, h, a, who, out, (struct txn_how){ .all = how == TXN_GIVE_UP }, e);
	if (code)
		return code;
	if (how == TXN_GIVE_UP)
		tend_give_up(&r);
	code = run_close(&r, e);
	if (code)
		return code;
	code = store_ready(h, hows[how], &end);
	return code ? err_set(e, code, "%s: %s", TXN_JOURNAL, strerror(-code)) : 0;
}

int txn_export(struct host *h, struct arena *a, const char **text, size_t *len, struct err *e)
{
	struct seal_read past;
	struct journal_store now;
	char *all;
	int code = store_load(h, a, &now, e);

	if (code == 0)
		code = store_history(h, a, &now.files, &past, e);
	if (code)
		return code;
	*len = past.len + now.read.len;
	all = arena_alloc(a, *len + 1);
	memcpy(all, past.text, past.len);
	memcpy(all + past.len, now.read.text, now.read.len);
	all[*len] = '\0';
	*text = all;
	return 0;
}
