/* SPDX-License-Identifier: Apache-2.0 */
/* OpenZFS: version, cache sizes, pools. Nothing is asked of a machine without the module. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "probe/disk.h"

/* "c_max                           4    67108864000": the third column. */
static struct fact_int arc(const char *text, int r, const char *key)
{
	static const char from[] = "/proc/spl/kstat/zfs/arcstats";
	size_t n = strlen(key);
	long long v;

	for (const char *line = r ? NULL : text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, key, n) == 0 && line[n] == ' ' && sscanf(line + n, " %*d %lld", &v) == 1)
			return fact_int_of(v, "", from);
	return (struct fact_int){ .f = fact_unseen(r ? r : -EPROTO, "", from) };
}

/* One line a pool: name, TAB, value. */
static struct fact_str autotrim(struct probe *p, const char *pool)
{
	static const char command[] = "zpool get -Hp -o name,value autotrim";
	struct fact_str all = probe_ask_str(p, "exec", command, "stdout");
	size_t n = strlen(pool);

	if (!seen_ok(&all.f))
		return all;
	for (const char *line = all.v; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, pool, n) == 0 && line[n] == '\t')
			return fact_str_of(arena_strndup(p->a, line + n + 1, strcspn(line + n + 1, "\n")), "", command);
	return (struct fact_str){ .f = fact_unseen(-ENOENT, "", command) };
}

/* Which pool a member belongs to stands in udev's record, but not everywhere: with one pool it is that one. */
static struct fact_str members(struct probe *p, size_t pools)
{
	TEXT_AUTO t = { 0 };

	if (pools != 1)
		return (struct fact_str){ .f = fact_unseen(-EOPNOTSUPP, "", "/run/udev/data") };
	LIST_FOR_EACH(struct disk, d, &p->m->storage.disks)
		if (seen_ok(&d->content.f) && strstr(d->content.v, "zfs_member"))
			text_printf(&t, "%s%s", t.len ? " " : "", d->name);
	return fact_str_of(arena_strdup(p->a, t.s ? t.s : ""), "", "/run/udev/data");
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
		pool->autotrim = autotrim(p, names[i]);
	}
	LIST_FOR_EACH(struct zpool, pool, list)
		pool->members = members(p, list->n);
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
	s->zfs_arc_size = arc(text, r, "size");
	s->zfs_arc_c_max = arc(text, r, "c_max");
	s->zfs_arc_max = probe_int(p, "/sys/module/zfs/parameters/", "zfs_arc_max");
	pools(p);
}
