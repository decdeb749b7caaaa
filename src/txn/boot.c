/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries outlive a boot, and which only seem to. */
#include "txn/boot.h"

#include <string.h>

#include "knob/io.h"
#include "txn/layer.h"
#include "txn/txn.h"

bool boot_differs(const struct transaction *t, const char *boot_id)
{
	return *boot_id && t->boot_id && strcmp(t->boot_id, boot_id) != 0;
}

/* The request as it was written last. */
static void read_request(struct boot_kept *k)
{
	const struct knob file = { KNOB_FILE, PERSIST_REQUEST, "" };
	/* Looking for layers needs no change of them. */
	const struct entry *e = layer_top((struct journal *)k->j, &file);
	struct err ignored = { 0 };
	const char *text;
	unsigned mode;
	size_t len;

	k->read = true;
	if (e)
		k->unsure = !knob_file_parse(k->a, e->after, &mode, &text, &len) ||
			    persist_request_read(k->a, text, len, &k->rows, &k->n, &ignored);
}

bool boot_is_kept(struct boot_kept *k, const struct entry *e)
{
	if (!k->read)
		read_request(k);
	for (size_t i = 0; i < k->n && !k->unsure; i++)
		if (knob_equal(&k->rows[i].knob, &e->knob) &&
		    knob_same(&e->knob, k->rows[i].value, e->after))
			return true;
	return k->unsure;
}

bool boot_has_lost(struct boot_kept *k, const struct transaction *t, const struct entry *e,
		   const char *boot_id)
{
	return boot_differs(t, boot_id) && knob_is_runtime(e->knob.kind) && !boot_is_kept(k, e);
}

const char *boot_id_of(struct host *h, struct arena *a)
{
	char buf[64];

	return host_read_line(h, "/proc/sys/kernel/random/boot_id", buf, sizeof(buf))
		       ? ""
		       : arena_strdup(a, buf);
}

void txn_mark_lost(struct host *h, struct arena *a, struct journal *j)
{
	const char *boot = boot_id_of(h, a);
	struct boot_kept kept = { .a = a, .j = j };

	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->items[i].n; k++) {
			struct entry *e = &j->items[i].entries[k];

			e->lost = boot_has_lost(&kept, &j->items[i], e, boot);
		}
}
