/* SPDX-License-Identifier: Apache-2.0 */
/* Mounted file systems that hold data or huge pages; the kernel's many pseudo file systems are left out. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "probe/disk.h"

enum { SIZED_MAX = 32 };

static bool in(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

/* Blanks, tabs, newlines and backslashes stand as \040 and so on. */
static char *unescape(struct probe *p, const char *s, size_t n)
{
	char *out = arena_alloc(p->a, n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\' && i + 3 < n && s[i + 1] >= '0' && s[i + 1] <= '3') {
			out[len++] = (char)((s[i + 1] - '0') << 6 | (s[i + 2] - '0') << 3 | (s[i + 3] - '0'));
			i += 3;
		} else {
			out[len++] = s[i];
		}
	}
	return out;
}

/* The n-th blank-separated word of a line, from 0. */
static const char *word(const char *line, unsigned n, size_t *len)
{
	for (;; n--) {
		line += strspn(line, " ");
		*len = strcspn(line, " ");
		if (n == 0)
			return line;
		line += *len;
	}
}

static void add(struct probe *p, const char *line)
{
	static const char *const real[] = { "ext4", "ext3", "ext2", "xfs", "btrfs", "zfs", "f2fs", "vfat", "nfs", "nfs4", "cifs",
					    "9p", "lustre", "beegfs", "ceph", "fuse.ceph", "gpfs", "overlay", "virtiofs", NULL };
	static const char from[] = "/proc/self/mountinfo";
	const char *tail = strstr(line, " - "), *w;
	const char *type, *options;
	struct mount *m;
	size_t len;
	bool sized;

	if (!tail)
		return;
	w = word(tail + 3, 0, &len);
	type = arena_strndup(p->a, w, len);
	sized = in(real, type);
	if (!sized && strcmp(type, "hugetlbfs") != 0)
		return;
	m = list_add(p->a, &p->m->storage.mounts, sizeof(*m));
	w = word(line, 4, &len);
	m->name = unescape(p, w, len);
	m->type = fact_str_of(type, "", from);
	w = word(tail + 3, 1, &len);
	m->device = fact_str_of(unescape(p, w, len), "", from);
	w = word(tail + 3, 2, &len);
	options = arena_strndup(p->a, w, len);
	m->options = fact_str_of(options, "", from);
	/* A network file system whose server is gone would hang the question. */
	if (sized && p->m->storage.mounts.n <= SIZED_MAX && !str_starts(type, "nfs") && strcmp(type, "cifs") != 0) {
		m->size_bytes = probe_ask_int(p, "statfs", m->name, "total_bytes");
		m->free_bytes = probe_ask_int(p, "statfs", m->name, "avail_bytes");
	}
}

void probe_fs(struct probe *p)
{
	char *text, *line, *save = NULL;

	if (host_read(p->h, "/proc/self/mountinfo", HOST_READ_MAX, p->a, &text, NULL) == 0)
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			add(p, line);
	probe_zfs(p);
}
