/* SPDX-License-Identifier: Apache-2.0 */
/* Mounted file systems that hold data or huge pages; the kernel's many pseudo file systems are left
 * out. */
#include <string.h>

#include "base/text.h"
#include "look/probe/disk.h"

enum { SIZED_MAX = 32 };

/* Kinds that hold data. A remote one whose server is gone would hang the question for its size. */
static const struct kind {
	const char *type;
	bool sized;
} kinds[] = {
	{ "ext4", true },	{ "xfs", true },   { "btrfs", true },	  { "zfs", true },
	{ "overlay", true },	{ "ext3", true },  { "ext2", true },	  { "f2fs", true },
	{ "bcachefs", true },	{ "vfat", true },  { "exfat", true },	  { "ntfs3", true },
	{ "hugetlbfs", false }, { "nfs", false },  { "nfs4", false },	  { "cifs", false },
	{ "smb3", false },	{ "9p", false },   { "virtiofs", false }, { "lustre", false },
	{ "beegfs", false },	{ "ceph", false }, { "gpfs", false },	  { "wekafs", false },
	{ "ocfs2", false },	{ "gfs2", false },
};

static const struct kind *kind_of(const char *type, const char *where)
{
	static const struct kind memory = { "tmpfs", true }, user = { "fuse", false };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].type, type) == 0)
			return &kinds[i];
	/* NCCL and data loaders live in it; other tmpfs hold nothing of weight. */
	if (strcmp(type, "tmpfs") == 0 && strcmp(where, "/dev/shm") == 0)
		return &memory;
	/* "fuse.sshfs"; the controls of FUSE itself are "fusectl", of LXC "fuse.lxcfs". */
	if (str_starts(type, "fuse.") && strcmp(type, "fuse.lxcfs") != 0 &&
	    strcmp(type, "fuse.portal") != 0 && strcmp(type, "fuse.gvfsd-fuse") != 0)
		return &user;
	return NULL;
}

static bool is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
	       s[2] <= '7';
}

/* Blanks, tabs, newlines and backslashes stand as \040 and so on. */
static char *unescape(struct probe *p, const char *s, size_t n)
{
	char *out = arena_alloc(p->a, n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\' && i + 3 < n && is_octal(s + i + 1)) {
			out[len++] = (char)((s[i + 1] - '0') << 6 | (s[i + 2] - '0') << 3 |
					    (s[i + 3] - '0'));
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

static char *word_at(struct probe *p, const char *line, unsigned n)
{
	size_t len;
	const char *w = word(line, n, &len);

	return unescape(p, w, len);
}

/* Those of the mount, then those of the file system, which repeat "rw". */
static char *options(struct probe *p, const char *line, const char *tail)
{
	const char *mount = word_at(p, line, 5), *super = word_at(p, tail, 2);
	size_t n = strcspn(mount, ",");

	if (strncmp(mount, super, n) == 0 && (super[n] == ',' || !super[n]))
		super += n + (super[n] == ',');
	return arena_printf(p->a, "%s%s%s", mount, *super ? "," : "", super);
}

/* "36 35 98:0 /root /mnt rw,noatime shared:1 - ext3 /dev/root rw,errors=continue",
 * proc_pid_mountinfo(5). */
static void add(struct probe *p, const char *line)
{
	static const char from[] = "/proc/self/mountinfo";
	const char *tail = strstr(line, " - "), *where, *type;
	const struct kind *kind;
	struct mount *m;

	if (!tail)
		return;
	tail += strlen(" - ");
	type = word_at(p, tail, 0);
	where = word_at(p, line, 4);
	kind = kind_of(type, where);
	if (!kind)
		return;
	m = list_add(p->a, &p->m->storage.mounts, sizeof(*m));
	m->name = where;
	m->type = fact_str_of(type, "", from);
	m->device = fact_str_of(word_at(p, tail, 1), "", from);
	m->options = fact_str_of(options(p, line, tail), "", from);
	if (kind->sized && p->m->storage.mounts.n <= SIZED_MAX) {
		m->size_bytes = probe_ask_int(p, "statfs", where, "total_bytes");
		m->free_bytes = probe_ask_int(p, "statfs", where, "avail_bytes");
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
