/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small machine that is made up, in memory, whose kernel, libraries and programs take writes as
 * real ones do (simulator.h; control groups are here). It is honest: who puts back
 * what was there has the machine that was there, to the byte. One write can be refused, and from
 * one on all can be, as when the process dies there. Answers of libraries are nodes too: "?API
 * OBJECT FIELD".
 */
#ifndef FUZZ_KERNEL_H
#define FUZZ_KERNEL_H

#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/arena.h"
#include "base/text.h"
#include "machine/host/simulator.h"
#include "machine/write/write.h"
#include "machine/knob/knob.h"

#define KERNEL_GROUPS "/sys/fs/cgroup"
#define KERNEL_HANDED KERNEL_GROUPS "/cgroup.subtree_control"
#define KERNEL_GROUP KERNEL_GROUPS "/gputune-isolated"
#define KERNEL_STATE "/var/lib/gputune"

enum { KERNEL_CPUS = 600, KERNEL_LINKS = 8 };

struct kernel_node {
	const char *path;
	bool there;
	enum host_kind kind;
	const char *s; /* bytes, a link's target, an answer as text */
	size_t n;
	unsigned mode;
	int error;	  /* of an answer: a negative errno; 0: none */
	const char *base; /* what was there before anybody of ours wrote */
	size_t base_n;
	unsigned base_mode;
};

struct made {
	struct arena now; /* of this input */
	struct map names; /* path -> struct kernel_node */
	struct kernel_node **nodes;
	size_t n;
	unsigned writes;	       /* so far */
	unsigned refuse, dies;	       /* this write, from this write on; 0: none */
	bool inside;		       /* what a library does by itself is no write */
	bool busy;		       /* somebody else has the lock */
	bool watching;		       /* who writes now is the watcher */
	const enum knob_kind *belongs; /* whose places alone may be written; NULL: any */
};

/* One opening of it, as a process has it. */
struct kernel_door {
	struct host host;
	struct made *k;
	bool locked;
};

static inline struct made *kernel_of(struct host *h)
{
	return ((struct kernel_door *)h)->k;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static inline struct kernel_node *kernel_find(struct made *k, const char *path)
{
	struct kernel_node *n = map_get(&k->names, path);

	return n && n->there ? n : NULL;
}

static inline struct kernel_node *kernel_node(struct made *k, const char *path)
{
	void **place = map_at(&k->now, &k->names, path);
	struct kernel_node *n = *place;

	if (n)
		return n;
	n = *place = ARENA_NEW(&k->now, struct kernel_node);
	n->path = map_key(place);
	k->nodes = arena_grow(&k->now, k->nodes, k->n, sizeof(struct kernel_node *));
	k->nodes[k->n++] = n;
	return n;
}

static inline struct kernel_node *kernel_say(struct made *k, enum host_kind kind, const char *path,
					     const void *data, size_t n)
{
	struct kernel_node *x = kernel_node(k, path);
	char *copy = arena_alloc(&k->now, n + 1);

	if (n)
		memcpy(copy, data, n);
	if (!x->there || x->kind != kind)
		x->mode = kind == HOST_DIR ? 0755 : 0644;
	x->there = true;
	x->kind = kind;
	x->s = copy;
	x->n = n;
	x->error = 0;
	return x;
}

static inline bool kernel_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && path[n] == '/' && path[n + 1];
}

/* With what is in it. */
static inline void kernel_drop(struct made *k, const char *path)
{
	kernel_node(k, path)->there = false;
	for (size_t i = 0; i < k->n; i++)
		if (kernel_below(k->nodes[i]->path, path))
			k->nodes[i]->there = false;
}

/* By whoever made the machine, or a person with a shell: it is what there is, from then on. */
static inline struct kernel_node *kernel_is(struct made *k, enum host_kind kind, const char *path,
					    const void *data, size_t n)
{
	struct kernel_node *x = kernel_say(k, kind, path, data, n);

	/* With the folders on the way. */
	for (size_t at = strlen(path); *path == '/' && at > 1;) {
		while (path[--at] != '/')
			;
		path = arena_strndup(&k->now, path, at);
		if (!at || kernel_find(k, path))
			break;
		kernel_say(k, HOST_DIR, path, "", 0);
	}
	x->base = x->s;
	x->base_n = n;
	x->base_mode = x->mode;
	return x;
}

static inline bool kernel_has_below(struct made *k, const char *folder)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->nodes[i]->there && kernel_below(k->nodes[i]->path, folder))
			return true;
	return false;
}

/* The path without links in its folders, and without one in its last part where follow says so. */
static inline const char *kernel_place(struct made *k, const char *path, bool follow)
{
	for (int links = 0; links < KERNEL_LINKS; links++) {
		char to[HOST_PATH_MAX];
		const char *end = NULL, *dir;
		struct kernel_node *n = NULL;

		for (const char *p = path + 1; *path && *p && !n; p = *end ? end + 1 : end) {
			end = p + strcspn(p, "/");
			if (!*end && !follow)
				break;
			n = kernel_find(k, arena_strndup(&k->now, path, (size_t)(end - path)));
			n = n && n->kind == HOST_LINK ? n : NULL;
		}
		if (!n)
			return path;
		dir = arena_strndup(&k->now, n->path, (size_t)(strrchr(n->path, '/') - n->path));
		if (path_join(*dir ? dir : "/", n->s, to, sizeof(to)))
			return path;
		path = arena_printf(&k->now, "%s%s", to, end);
	}
	return path;
}

static inline struct kernel_node *kernel_at(struct made *k, const char *path, bool follow)
{
	struct kernel_node *n = kernel_find(k, path);

	if (n && (n->kind != HOST_LINK || !follow))
		return n;
	return kernel_find(k, kernel_place(k, path, follow));
}

/* --- reading ---------------------------------------------------------------------------------- */

static inline int kernel_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct made *k = kernel_of(h);
	struct kernel_node *n = kernel_at(k, path, true);

	if (!n || n->kind != HOST_FILE)
		return !n ? -ENOENT : n->kind == HOST_DIR ? -EISDIR : -ELOOP;
	*len = n->n > cap ? cap + 1 : n->n;
	memcpy(buf, n->s, n->n < cap ? n->n : cap);
	return 0;
}

static inline int kernel_link(struct host *h, const char *path, char *buf, size_t cap)
{
	struct kernel_node *n = kernel_at(kernel_of(h), path, false);

	if (!n || n->kind != HOST_LINK)
		return n ? -EINVAL : -ENOENT;
	if (n->n >= cap)
		return -ENAMETOOLONG;
	memcpy(buf, n->s, n->n + 1);
	return 0;
}

static inline int kernel_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct made *k = kernel_of(h);
	struct kernel_node *n = kernel_at(k, path, false);

	if (!n)
		return -ENOENT;
	*out = n->kind;
	return 0;
}

static inline int kernel_list(struct host *h, const char *path, struct arena *a, char ***names,
			      size_t *n)
{
	struct made *k = kernel_of(h);
	const char *dir = kernel_place(k, path, true);
	struct map seen = { 0 };
	enum host_kind kind;
	int r = kernel_kind(h, dir, &kind);

	*names = NULL;
	*n = 0;
	for (size_t i = 0; r == 0 && i < k->n; i++) {
		const char *name;
		void **place;

		if (!k->nodes[i]->there || !kernel_below(k->nodes[i]->path, dir))
			continue;
		name = k->nodes[i]->path + strlen(dir) + 1;
		place = map_at(a, &seen, arena_strndup(a, name, strcspn(name, "/")));
		if (*place)
			continue;
		*place = k;
		*names = arena_grow(a, *names, *n, sizeof(**names));
		(*names)[(*n)++] = arena_strdup(a, map_key(place));
	}
	return r ? r : kind == HOST_DIR ? 0 : -ENOTDIR;
}

static inline const char *kernel_question(struct made *k, const char *api, const char *object,
					  const char *field)
{
	return arena_printf(&k->now, "?%s %s %s", api, object, field);
}

static inline int kernel_ask(struct host *h, const char *api, const char *object, const char *field,
			     struct answer *out)
{
	struct made *k = kernel_of(h);
	struct kernel_node *n = kernel_find(k, kernel_question(k, api, object, field));

	if (!n || n->error)
		return n ? n->error : -EOPNOTSUPP;
	*out = (struct answer){ .kind = ANSWER_TEXT, .text = n->s };
	if (n->mode == ANSWER_INT && parse_i64(n->s, &out->i) == 0)
		*out = (struct answer){ .kind = ANSWER_INT, .i = out->i };
	return 0;
}

static inline int kernel_stat(struct host *h, const char *path, struct host_stat *out)
{
	struct made *k = kernel_of(h);
	struct kernel_node *n = kernel_at(k, path, false);

	if (!n)
		return -ENOENT;
	*out = (struct host_stat){ .kind = n->kind, .mode = n->mode, .links = 1 };
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What knobs of a kind may write to: the beginnings of paths and questions. */
static inline bool kernel_belongs(enum knob_kind kind, const char *path)
{
	static const char *const all[KNOB_KINDS][4] = {
		[KNOB_SYSCTL] = { "/proc/sys/" },
		[KNOB_SYSFS] = { "/sys/" },
		[KNOB_MODPARAM] = { "/sys/module/" },
		[KNOB_BOOTARG] = { "/etc/default/", "/etc/kernel/cmdline",
				   "/boot/extlinux/extlinux.conf" },
		[KNOB_NVML] = { "?nvml " },
		[KNOB_PCI] = { "/sys/bus/pci/devices/" },
		[KNOB_LINK] = { "/sys/class/net/", "?ethtool ", "/proc/irq/", "?dcb " },
		[KNOB_UNIT] = { "?systemd " },
		[KNOB_ZPROP] = { "?zpool " },
		[KNOB_HELPER] = { "?boost-slider ", "?jetson-clocks " },
		[KNOB_MODULE] = { "?kmod " },
		[KNOB_POWER] = { "?nvpmodel " },
		[KNOB_FILE] = { "/etc/", "/run/" },
		[KNOB_ADDRESS] = { "?if " },
		[KNOB_BLOCK] = { "/etc/hosts", "/etc/ssh/ssh_known_hosts" },
		[KNOB_FIRMWARE] = { "?mlxconfig " },
		[KNOB_CPUSET] = { KERNEL_HANDED, KERNEL_GROUP },
	};

	for (size_t i = 0; i < 4 && all[kind][i]; i++)
		if (str_starts(path, all[kind][i]))
			return true;
	return false;
}

/* 0; or what the write fails with. Nothing writes where it has no business. */
static inline int kernel_writes(struct host *h, const char *path)
{
	struct made *k = kernel_of(h);

	if (k->inside)
		return 0;
	if (k->watching && !((struct kernel_door *)h)->locked)
		abort();
	if (k->belongs && !kernel_belongs(*k->belongs, path))
		abort();
	if (*path != '?' && (strstr(path, "/../") || strstr(path, "/./") || strstr(path, "//")))
		abort();
	k->writes++;
	if (k->dies && k->writes >= k->dies)
		return -EROFS;
	return k->writes == k->refuse ? -EIO : 0;
}

static inline bool kernel_is_kernels(const char *path)
{
	return str_starts(path, "/proc/") || str_starts(path, "/sys/");
}

static inline size_t kernel_word(const char *s, size_t n, size_t *at)
{
	size_t from;

	while (*at < n && memchr(" \t\n", s[*at], 3))
		++*at;
	for (from = *at; *at < n && !memchr(" \t\n", s[*at], 3); ++*at)
		;
	return *at - from;
}

/* The same words: what the kernel puts between them is its own. */
static inline bool kernel_same_words(const char *x, size_t nx, const char *y, size_t ny)
{
	size_t at_x = 0, at_y = 0, n;

	do {
		n = kernel_word(x, nx, &at_x);
		if (n != kernel_word(y, ny, &at_y) || memcmp(x + at_x - n, y + at_y - n, n) != 0)
			return false;
	} while (n);
	return true;
}

static inline bool kernel_was(const struct kernel_node *n, const char *text)
{
	return n->base && kernel_same_words(n->base, n->base_n, text, strlen(text));
}

static inline int kernel_beside(void *ctx, const char *path, const char *text)
{
	struct made *k = ctx;
	struct kernel_node *n = kernel_at(k, path, true);

	if (!n || n->kind != HOST_FILE)
		return 0;
	if (kernel_was(n, text))
		kernel_say(k, HOST_FILE, n->path, n->base, n->base_n);
	else
		kernel_say(k, HOST_FILE, n->path, text, strlen(text));
	return 0;
}

/* The files that the controller has in a group, where the root group hands it on. */
static inline void kernel_groups(struct made *k)
{
	static const char *const files[][2] = { { KERNEL_GROUP "/cpuset.cpus", "\n" },
						{ KERNEL_GROUP "/cpuset.cpus.partition",
						  "member\n" } };
	struct kernel_node *handed = kernel_find(k, KERNEL_HANDED),
			   *group = kernel_find(k, KERNEL_GROUP);
	bool on = handed && group && strstr(handed->s, "cpuset");

	for (size_t i = 0; i < 2; i++)
		if (!on)
			kernel_node(k, files[i][0])->there = false;
		else if (!kernel_find(k, files[i][0]))
			kernel_say(k, HOST_FILE, files[i][0], files[i][1], strlen(files[i][1]));
}

static inline bool kernel_takes_cpus(struct made *k)
{
	struct kernel_node *n = kernel_find(k, KERNEL_GROUP "/cpuset.cpus");
	struct idset cpus = { 0 };

	if (!n || idset_parse(&k->now, arena_strndup(&k->now, n->s, strcspn(n->s, "\n")), &cpus) ||
	    !idset_count(&cpus))
		return false;
	for (unsigned i = KERNEL_CPUS; i < 4 * KERNEL_CPUS; i++)
		if (idset_has(&cpus, i))
			return false;
	return !idset_has(&cpus, 13);
}

static inline int kernel_write_group(struct made *k, struct kernel_node *n, const char *text)
{
	if (strcmp(n->path, KERNEL_HANDED) == 0) {
		if (strcmp(text, "+cpuset") == 0 && !strstr(n->s, "cpuset"))
			kernel_say(k, HOST_FILE, n->path, arena_printf(&k->now, "cpuset %s", n->s),
				   n->n + 7);
		else if (strcmp(text, "-cpuset") == 0 && str_starts(n->s, "cpuset "))
			kernel_say(k, HOST_FILE, n->path, n->s + 7, n->n - 7);
		kernel_groups(k);
		return 0;
	}
	if (str_ends(n->path, "/cpuset.cpus.partition")) {
		if (strcmp(text, "member") != 0 && strcmp(text, "isolated") != 0)
			return -EINVAL;
		if (*text == 'i' && !kernel_takes_cpus(k))
			text = "isolated invalid (cpu list in cpuset.cpus not exclusive)";
	}
	text = arena_printf(&k->now, "%s\n", text);
	kernel_say(k, HOST_FILE, n->path, text, strlen(text));
	return 0;
}

static inline int kernel_write_text(struct host *h, struct kernel_node *n, const char *text)
{
	struct made *k = kernel_of(h);
	struct kernel_file f = { .h = h, .a = &k->now, .path = n->path, .old = n->s };
	int r;

	if (kernel_below(n->path, KERNEL_GROUPS))
		return kernel_write_group(k, n, text);
	r = kernel_file_write(&f, text, kernel_beside, k);
	/* What was there is taken, whatever it was. */
	if (kernel_was(n, text))
		kernel_say(k, HOST_FILE, n->path, n->base, n->base_n);
	else if (r == 0)
		kernel_say(k, HOST_FILE, n->path, f.now, strlen(f.now));
	else
		return r;
	return 0;
}

static inline int kernel_write(struct host *h, const char *path, long long offset, const void *data,
			       size_t len)
{
	struct made *k = kernel_of(h);
	struct kernel_node *n = kernel_at(k, path, true);
	int r = kernel_writes(h, path);
	char *all;

	/* Only the kernel's files are written in place, as one line. */
	if (!kernel_is_kernels(path) ||
	    (offset < 0 && (!len || (len > 1 && memchr(data, '\n', len)))))
		abort();
	if (r || !n)
		return r ? r : -ENOENT;
	if (n->kind != HOST_FILE)
		return -EISDIR;
	if (offset < 0)
		return kernel_write_text(h, n, arena_strndup(&k->now, data, len));
	if (len > n->n || (size_t)offset > n->n - len)
		return -EINVAL;
	all = arena_alloc(&k->now, n->n);
	memcpy(all, n->s, n->n);
	memcpy(all + offset, data, len);
	kernel_say(k, HOST_FILE, n->path, all, n->n);
	return 0;
}

static inline void kernel_answer(struct made *k, const char *key, const struct answer *value)
{
	const char *s =
		value->kind == ANSWER_TEXT ? value->text : arena_printf(&k->now, "%lld", value->i);

	kernel_say(k, HOST_OTHER, key, s, strlen(s))->mode = (unsigned)value->kind;
}

static inline void kernel_told(void *ctx, const char *api, const char *object, const char *field,
			       const struct answer *value)
{
	struct made *k = ctx;
	const char *key = kernel_question(k, api, object, field);
	struct kernel_node *n = kernel_node(k, key);

	if (value)
		kernel_answer(k, key, value);
	else if (n->base)
		kernel_say(k, HOST_OTHER, key, n->base, n->base_n)->mode = n->base_mode;
	else
		n->there = false;
}

static inline int kernel_tell(struct host *h, const char *api, const char *object,
			      const char *field, const struct answer *value)
{
	struct made *k = kernel_of(h);
	int r = kernel_writes(h, kernel_question(k, api, object, field));

	if (r)
		return r;
	k->inside = true;
	r = simulate_write(h, api, object, field, value, kernel_told, k);
	k->inside = false;
	return r;
}

/* Files of ours lie where ours may. */
static inline bool kernel_is_ours(struct made *k, const char *path)
{
	return k->inside || str_starts(path, "/etc/") || str_starts(path, "/run/") ||
	       str_starts(path, KERNEL_STATE) || str_starts(path, KERNEL_GROUP);
}

static inline bool kernel_has_folder(struct made *k, const char *path)
{
	const char *dir = arena_strndup(&k->now, path, (size_t)(strrchr(path, '/') - path));
	struct kernel_node *n = kernel_at(k, dir, true);

	return n && n->kind == HOST_DIR;
}

static inline int kernel_put(struct host *h, const char *path, const void *data, size_t len,
			     unsigned mode)
{
	struct made *k = kernel_of(h);
	enum host_kind kind;
	int r = kernel_writes(h, path);

	if (!kernel_is_ours(k, path))
		abort();
	if (r == 0 && !kernel_has_folder(k, path))
		r = -ENOENT;
	if (r == 0 && kernel_kind(h, path, &kind) == 0 && kind == HOST_DIR)
		r = -EISDIR;
	if (r == 0)
		kernel_say(k, HOST_FILE, path, data, len)->mode = mode;
	return r;
}

static inline int kernel_append(struct host *h, const char *path, const void *data, size_t len)
{
	struct made *k = kernel_of(h);
	struct kernel_node *n = kernel_find(k, path);
	size_t old = n ? n->n : 0;
	char *all;

	if (k->watching || !str_starts(path, KERNEL_STATE "/"))
		abort();
	if (k->dies && k->writes >= k->dies)
		return -EROFS;
	all = arena_alloc(&k->now, old + len + 1);
	if (old)
		memcpy(all, n->s, old);
	memcpy(all + old, data, len);
	kernel_say(k, HOST_FILE, path, all, old + len)->mode = 0600;
	return 0;
}

static inline int kernel_make(struct host *h, enum host_kind kind, const char *path,
			      const char *target, unsigned mode)
{
	struct made *k = kernel_of(h);
	enum host_kind there;
	bool state = strcmp(path, KERNEL_STATE) == 0;
	int r = state ? 0 : kernel_writes(h, path);

	if (!kernel_is_ours(k, path))
		abort();
	if (r == 0 && kernel_kind(h, path, &there) == 0)
		r = -EEXIST;
	if (r == 0 && !state && !kernel_has_folder(k, path))
		r = -ENOENT;
	if (r)
		return r;
	mode = kind == HOST_LINK ? 0644 : mode;
	target = kind == HOST_LINK ? target : "";
	if (strlen(target) >= HOST_PATH_MAX)
		return -ENAMETOOLONG;
	kernel_say(k, kind, path, target, strlen(target))->mode = mode;
	kernel_groups(k);
	return 0;
}

static inline int kernel_remove(struct host *h, const char *path)
{
	struct made *k = kernel_of(h);
	struct kernel_node *n = kernel_find(k, path);
	int r = kernel_writes(h, path);

	if (!kernel_is_ours(k, path))
		abort();
	if (r)
		return r;
	/* What the kernel keeps in a group is nothing in its way. */
	if (!str_starts(path, KERNEL_GROUP) && kernel_has_below(k, path))
		return -ENOTEMPTY;
	if (!n)
		return -ENOENT;
	n->there = false;
	kernel_groups(k);
	return 0;
}

static inline int kernel_lock(struct host *h, const char *path)
{
	struct kernel_door *d = (struct kernel_door *)h;

	(void)path;
	if (d->k->busy)
		return -EWOULDBLOCK;
	d->locked = true;
	return 0;
}

static inline void kernel_close(struct host *h)
{
	arena_free(&h->arena);
	free(h);
}

static inline struct host *kernel_open(struct made *k)
{
	static const struct host_writes writes = {
		.write = kernel_write,
		.tell = kernel_tell,
		.put = kernel_put,
		.append = kernel_append,
		.make = kernel_make,
		.remove = kernel_remove,
		.lock = kernel_lock,
	};
	static const struct host_ops ops = {
		.read = kernel_read,
		.link = kernel_link,
		.list = kernel_list,
		.kind = kernel_kind,
		.ask = kernel_ask,
		.stat = kernel_stat,
		.close = kernel_close,
		.writes = &writes,
	};
	struct kernel_door *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	*d = (struct kernel_door){ .host = { .ops = &ops }, .k = k };
	d->host.id = (struct host_identity){ .nodename = "made",
					     .release = "6.8.0",
					     .version = "1",
					     .machine = "x86_64",
					     .page_size = 4096,
					     .time_s = 1790000000,
					     .source = "made" };
	return &d->host;
}

/* --- the machine as it was at a moment -------------------------------------------------------- */

struct kernel_shot {
	struct kernel_node *nodes;
	size_t n;
};

static inline struct kernel_shot kernel_shoot(struct made *k)
{
	struct kernel_shot s = { arena_array(&k->now, k->n, sizeof(struct kernel_node)), k->n };

	for (size_t i = 0; i < k->n; i++)
		s.nodes[i] = *k->nodes[i];
	return s;
}

/* Whether it is the same but for what gputune keeps of itself: NULL, or the first that is not.
 * aside says of what else does not count. */
static inline const char *kernel_differs(struct made *k, const struct kernel_shot *s,
					 bool (*aside)(void *ctx, const char *path), void *ctx)
{
	static const struct kernel_node none = { 0 };

	for (size_t i = 0; i < k->n; i++) {
		const struct kernel_node *x = k->nodes[i], *was = i < s->n ? &s->nodes[i] : &none;

		if (str_starts(x->path, KERNEL_STATE) || (!x->there && !was->there) ||
		    aside(ctx, x->path))
			continue;
		if (x->there != was->there || x->kind != was->kind || x->mode != was->mode)
			return x->path;
		if ((x->n != was->n || memcmp(x->s, was->s, x->n) != 0) &&
		    !(kernel_is_kernels(x->path) && !str_ends(x->path, "/config") &&
		      kernel_same_words(x->s, x->n, was->s, was->n)))
			return x->path;
	}
	return NULL;
}

#endif
