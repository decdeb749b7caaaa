/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries outlive a boot, and which only seem to. */
#include "txn/boot.h"

#include <string.h>

#include "txn/layer.h"

bool boot_differs(const struct transaction *t, const char *boot_id)
{
	return *boot_id && t->boot_id && strcmp(t->boot_id, boot_id) != 0;
}

/* How files for the next boot call it: a sysctl by its name, a path by its end, which is the same
 * for every CPU and disk. */
static const char *name_in_files(struct arena *a, const struct knob *k)
{
	const char *leaf = strrchr(k->name, '/'), *parent = leaf;

	if (!leaf || k->kind == KNOB_SYSCTL)
		return k->name;
	while (parent > k->name && parent[-1] != '/')
		parent--;
	for (const char *c = parent; c < leaf; c++)
		if (*c >= '0' && *c <= '9')
			return leaf + 1;
	return arena_strdup(a, parent);
}

bool boot_is_kept(struct arena *a, const struct journal *j, const struct entry *e)
{
	const char *name = name_in_files(a, &e->knob);

	for (size_t i = 0; i < j->n; i++) {
		if (strcmp(j->items[i].op, "persist") != 0)
			continue;
		for (size_t k = 0; k < j->items[i].n; k++) {
			const struct entry *f = &j->items[i].entries[k];

			if (f->knob.kind == KNOB_FILE && entry_is_active(f) &&
			    strstr(f->after, name))
				return true;
		}
	}
	return false;
}
