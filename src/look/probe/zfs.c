/* SPDX-License-Identifier: Apache-2.0 */
/* OpenZFS: version, cache sizes, pools. Nothing is asked of a machine without the module. */
#include <string.h>

#include "base/text.h"
#include "look/probe/disk.h"

/* "c_max                           4    67108864000": the third column; 4 is a 64-bit number. */
static struct fact_int arc(struct probe *p, const char *text, int r, const char *key)
{
	static const char from[] = "/proc/spl/kstat/zfs/arcstats";
	const char *rest = r ? NULL : text_value(p->a, text, arena_printf(p->a, "%s ", key), '4');
	long long v;

	if (!rest || parse_i64(rest, &v))
		return (struct fact_int){ .f = fact_unseen(r ? r : -EPROTO, "", from) };
	return fact_int_of(v, "", from);
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

/* The label of a member is its pool's name. Where udev kept none, the only pool there is has them
 * all. */
static struct fact_str members(struct probe *p, const char *pool, bool only)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct disk, d, &p->m->storage.disks) {
		struct fact_str label;

		if (!seen_ok(&d->content.f) || !has_word(d->content.v, "zfs_member"))
			continue;
		label = disk_udev(p, d->name, "ID_FS_LABEL");
		if (seen_ok(&label.f) && (*label.v ? has_word(label.v, pool) : only))
			text_printf(&t, "%s%s", t.len ? " " : "", d->name);
	}
	if (!t.len)
		return (struct fact_str){ .f = fact_unseen(-ENOENT, "", "/run/udev/data") };
	return fact_str_of(arena_strdup(p->a, t.s), "", "/run/udev/data");
}

static void pools(struct probe *p)
{
	static const char base[] = "/proc/spl/kstat/zfs";
	struct list *list = &p->m->storage.pools;
	char **names;
	size_t n;

	if (host_list(p->h, base, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(p->a, "%s/%s/", base, names[i]);
		struct fact_str state = probe_str(p, dir, "state");
		struct zpool *pool;

		/* Statistics stand beside the pools as files. */
		if (!seen_ok(&state.f))
			continue;
		pool = list_add(p->a, list, sizeof(*pool));
		pool->name = names[i];
		pool->state = state;
		pool->autotrim = probe_ask_str(p, "zpool", names[i], "autotrim");
	}
	LIST_FOR_EACH (struct zpool, pool, list)
		pool->members = members(p, pool->name, list->n == 1);
}

void probe_zfs(struct probe *p)
{
	struct storage *s = &p->m->storage;
	char *text = NULL;
	int r;

	s->zfs_version = probe_str(p, "/sys/module/zfs/", "version");
	if (!seen_ok(&s->zfs_version.f))
		return;
	r = host_read(p->h, "/proc/spl/kstat/zfs/arcstats", HOST_READ_MAX, p->a, &text, NULL);
	s->zfs_arc_size = arc(p, text, r, "size");
	s->zfs_arc_c_max = arc(p, text, r, "c_max");
	s->zfs_arc_max = probe_int(p, "/sys/module/zfs/parameters/", "zfs_arc_max");
	pools(p);
}
