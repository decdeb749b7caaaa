/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured machine (fuzz_host.h) that takes writes, in memory: what was written is what is read
 * from then on, until the next input. It judges no value: a kernel is stricter.
 */
#ifndef FUZZ_BOX_H
#define FUZZ_BOX_H

#include "fuzz_host.h"
#include "machine/write/write.h"

struct fuzz_box {
	struct fuzz_host f;
	struct map gone; /* what was removed */
	unsigned refuse; /* this write is refused, counted from 1; 0: none */
	unsigned writes; /* to the kernel and to libraries */
};

static inline bool box_is_gone(struct host *h, const char *path)
{
	return map_get(&((struct fuzz_box *)h)->gone, path) != NULL;
}

static inline void box_say(struct fuzz_box *b, const char *key, const void *data, size_t n)
{
	struct section *x = ARENA_NEW(&b->f.now, struct section);

	/* Of its own size: a byte too far is seen. */
	x->s = memcpy(arena_alloc(&b->f.now, n + 1), n ? data : "", n);
	x->n = n;
	*map_at(&b->f.now, &b->f.said, key) = x;
	*map_at(&b->f.now, &b->gone, key) = NULL;
}

static inline int box_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	return box_is_gone(h, path) ? -ENOENT : fuzz_read(h, path, buf, cap, len);
}

static inline int box_link(struct host *h, const char *path, char *buf, size_t cap)
{
	return box_is_gone(h, path) ? -ENOENT : fuzz_link(h, path, buf, cap);
}

static inline int box_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct fuzz_box *b = (struct fuzz_box *)h;

	if (box_is_gone(h, path))
		return -ENOENT;
	if (map_get(&b->f.said, fuzz_key(&b->f, "ln ", path))) {
		*out = HOST_LINK;
		return 0;
	}
	if (map_get(&b->f.said, fuzz_key(&b->f, "dir ", path))) {
		*out = HOST_DIR;
		return 0;
	}
	return fuzz_kind(h, path, out);
}

static inline bool box_refuses(struct fuzz_box *b)
{
	return ++b->writes == b->refuse;
}

static inline int box_write(struct host *h, const char *path, long long offset, const void *data,
			    size_t len)
{
	struct fuzz_box *b = (struct fuzz_box *)h;
	char whole[4096]; /* of a configuration space */
	size_t n;
	int r = box_read(h, path, whole, sizeof(whole), &n);

	if (r || box_refuses(b))
		return r ? r : -EIO;
	if (offset < 0) {
		box_say(b, path, data, len);
		return 0;
	}
	if (n > sizeof(whole) || (size_t)offset + len > n)
		return -EINVAL;
	memcpy(whole + offset, data, len);
	box_say(b, path, whole, n);
	return 0;
}

static inline int box_tell(struct host *h, const char *api, const char *object, const char *field,
			   const struct answer *value)
{
	struct fuzz_box *b = (struct fuzz_box *)h;
	const char *text = value->kind == ANSWER_TEXT ? value->text
						      : arena_printf(&b->f.now, "%lld", value->i);

	if (box_refuses(b))
		return -EIO;
	box_say(b, arena_printf(&b->f.now, "%s %s %s", api, object, field), text, strlen(text));
	return 0;
}

static inline int box_put(struct host *h, const char *path, const void *data, size_t len,
			  unsigned mode)
{
	(void)mode;
	box_say((struct fuzz_box *)h, path, data, len);
	return 0;
}

static inline int box_append(struct host *h, const char *path, const void *data, size_t len)
{
	struct fuzz_box *b = (struct fuzz_box *)h;
	const struct section *x = map_get(&b->f.said, path);
	size_t old = x && !box_is_gone(h, path) ? x->n : 0;
	char *all = arena_alloc(&b->f.now, old + len + 1);

	if (old)
		memcpy(all, x->s, old);
	if (len)
		memcpy(all + old, data, len);
	box_say(b, path, all, old + len);
	return 0;
}

static inline int box_make(struct host *h, enum host_kind kind, const char *path,
			   const char *target, unsigned mode)
{
	struct fuzz_box *b = (struct fuzz_box *)h;
	enum host_kind there;

	(void)mode;
	if (box_kind(h, path, &there) == 0)
		return -EEXIST;
	*map_at(&b->f.now, &b->gone, path) = NULL;
	box_say(b, fuzz_key(&b->f, kind == HOST_LINK ? "ln " : "dir ", path),
		kind == HOST_LINK ? target : "", kind == HOST_LINK ? strlen(target) : 0);
	return 0;
}

static inline int box_remove(struct host *h, const char *path)
{
	struct fuzz_box *b = (struct fuzz_box *)h;
	enum host_kind there;

	if (box_kind(h, path, &there))
		return -ENOENT;
	*map_at(&b->f.now, &b->gone, path) = b;
	*map_at(&b->f.now, &b->f.said, path) = NULL;
	*map_at(&b->f.now, &b->f.said, fuzz_key(&b->f, "ln ", path)) = NULL;
	*map_at(&b->f.now, &b->f.said, fuzz_key(&b->f, "dir ", path)) = NULL;
	return 0;
}

static inline int box_lock(struct host *h, const char *path)
{
	(void)h;
	(void)path;
	return 0;
}

static const struct host_writes fuzz_box_writes = {
	.write = box_write,
	.tell = box_tell,
	.put = box_put,
	.append = box_append,
	.make = box_make,
	.remove = box_remove,
	.lock = box_lock,
};

static const struct host_ops fuzz_box_ops = {
	.read = box_read,
	.link = box_link,
	.list = fuzz_list,
	.kind = box_kind,
	.ask = fuzz_ask,
	.stat = fuzz_stat,
	.writes = &fuzz_box_writes,
};

static inline void fuzz_box_open(struct fuzz_box *b, const char *machine)
{
	fuzz_host_open(&b->f, machine);
	b->f.host.ops = &fuzz_box_ops;
}

/* As it was captured. */
static inline void fuzz_box_begin(struct fuzz_box *b, unsigned refuse)
{
	fuzz_host_say(&b->f, NULL, 0);
	b->refuse = refuse;
	b->writes = 0;
	b->gone = (struct map){ 0 };
}

#endif
