/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured machine of which the input says some things differently: any text or bytes where a
 * file of sysfs or procfs, a link, a folder or a library's answer is. The input is sections, each
 * a line "@@KEY" and what comes after it until the next one:
 *
 *   @@/proc/meminfo             the file's bytes
 *   @@ln /sys/class/net/eth0    a link's target
 *   @@ls /sys/class/net         names, one a line
 *   @@nvml 0 nvmlDeviceGetName  an answer: a number, "!N" for the errno N, or text
 *
 * Everything else answers as the capture does, from memory after the first time.
 */
#ifndef FUZZ_HOST_H
#define FUZZ_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "machine/host/host.h"

struct section {
	const char *s;
	size_t n;
};

/* What the capture answered once: r, or data. */
struct kept_answer {
	int r;
	char *data;
	size_t n;
	char **names;
	enum host_kind kind;
	unsigned mode;
	struct answer said;
};

struct fuzz_host {
	struct host host;
	struct host *base;
	struct arena *keep; /* outlives inputs */
	struct map known;   /* key -> struct kept_answer, in keep */
	struct arena now;   /* of this input */
	struct map said;    /* key -> struct section */
	const char *seeds;  /* a folder: what is read is written there as seeds */
	struct map shapes;  /* keys with digits made equal that have a seed */
	bool asked;	    /* something that the input says was asked before */
};

static inline const char *fuzz_key(struct fuzz_host *h, const char *kind, const char *path)
{
	return arena_printf(&h->now, "%s%s", kind, path);
}

static inline struct kept_answer *fuzz_known(struct fuzz_host *h, const char *key, bool *fresh)
{
	void **place = map_at(h->keep, &h->known, key);

	*fresh = !*place;
	if (*fresh)
		*place = ARENA_NEW(h->keep, struct kept_answer);
	return *place;
}

/* One seed for every shape of key; a large one is cut. */
static inline void fuzz_seed(struct fuzz_host *h, const char *key, const void *s, size_t n)
{
	char shape[512], *o = shape, path[1024];
	void **place;
	FILE *f;

	if (!h->seeds || n > 8000)
		return;
	for (const char *c = key; *c && o < shape + sizeof(shape) - 1; c++)
		if (*c < '0' || *c > '9')
			*o++ = *c;
		else if (o == shape || o[-1] != '#')
			*o++ = '#';
	*o = '\0';
	place = map_at(h->keep, &h->shapes, shape);
	if (*place)
		return;
	*place = h;
	snprintf(path, sizeof(path), "%s/%zu", h->seeds, h->shapes.n);
	f = fopen(path, "wb");
	if (!f)
		abort();
	fprintf(f, "@@%s\n", key);
	fwrite(s, 1, n, f);
	fclose(f);
}

static inline int fuzz_read(struct host *host, const char *path, char *buf, size_t cap, size_t *len)
{
	struct fuzz_host *h = (struct fuzz_host *)host;
	const struct section *x = map_get(&h->said, path);
	struct kept_answer *k;
	bool fresh;

	if (x) {
		*len = x->n > cap ? cap + 1 : x->n;
		if (x->n)
			memcpy(buf, x->s, x->n < cap ? x->n : cap);
		return 0;
	}
	k = fuzz_known(h, fuzz_key(h, "read ", path), &fresh);
	if (fresh) {
		k->r = host_read(h->base, path, 4 << 20, h->keep, &k->data, &k->n);
		if (k->r == 0)
			fuzz_seed(h, path, k->data, k->n);
	}
	if (k->r)
		return k->r;
	*len = k->n > cap ? cap + 1 : k->n;
	memcpy(buf, k->data, k->n < cap ? k->n : cap);
	return 0;
}

static inline int fuzz_link(struct host *host, const char *path, char *buf, size_t cap)
{
	struct fuzz_host *h = (struct fuzz_host *)host;
	const struct section *x = map_get(&h->said, fuzz_key(h, "ln ", path));
	char target[HOST_PATH_MAX];
	struct kept_answer *k;
	bool fresh;

	if (x) {
		if (x->n >= cap || memchr(x->s, '\0', x->n))
			return -ENAMETOOLONG;
		memcpy(buf, x->s, x->n);
		buf[x->n] = '\0';
		return 0;
	}
	k = fuzz_known(h, fuzz_key(h, "ln ", path), &fresh);
	if (fresh) {
		k->r = h->base->ops->link(h->base, path, target, sizeof(target));
		if (k->r == 0) {
			k->data = arena_strdup(h->keep, target);
			fuzz_seed(h, fuzz_key(h, "ln ", path), target, strlen(target));
		}
	}
	if (k->r)
		return k->r;
	if (strlen(k->data) >= cap)
		return -ENAMETOOLONG;
	memcpy(buf, k->data, strlen(k->data) + 1);
	return 0;
}

/* Names as a kernel's or a capture's folder can have them. */
static inline int fuzz_names(const struct section *x, struct arena *a, char ***names, size_t *n)
{
	char **out = NULL;

	*n = 0;
	for (size_t at = 0; at < x->n && *n < 64;) {
		const char *nl = memchr(x->s + at, '\n', x->n - at);
		size_t len = nl ? (size_t)(nl - x->s) - at : x->n - at;
		char *name = arena_strndup(a, x->s + at, len);

		at += len + 1;
		if (!*name || len > 255 || strchr(name, '/') || strcmp(name, ".") == 0 ||
		    strcmp(name, "..") == 0)
			continue;
		out = arena_grow(a, out, *n, sizeof(*out));
		out[(*n)++] = name;
	}
	*names = out;
	return 0;
}

static inline int fuzz_list(struct host *host, const char *path, struct arena *a, char ***names,
			    size_t *n)
{
	struct fuzz_host *h = (struct fuzz_host *)host;
	const struct section *x = map_get(&h->said, fuzz_key(h, "ls ", path));
	struct kept_answer *k;
	bool fresh;

	if (x)
		return fuzz_names(x, a, names, n);
	k = fuzz_known(h, fuzz_key(h, "ls ", path), &fresh);
	if (fresh)
		k->r = h->base->ops->list(h->base, path, h->keep, &k->names, &k->n);
	if (k->r)
		return k->r;
	/* The caller sorts it. */
	*names = arena_array(a, k->n, sizeof(**names));
	if (k->n)
		memcpy(*names, k->names, k->n * sizeof(**names));
	*n = k->n;
	return 0;
}

static inline int fuzz_kind(struct host *host, const char *path, enum host_kind *out)
{
	struct fuzz_host *h = (struct fuzz_host *)host;
	struct kept_answer *k;
	bool fresh;

	if (map_get(&h->said, path)) {
		*out = HOST_FILE;
		return 0;
	}
	k = fuzz_known(h, fuzz_key(h, "kind ", path), &fresh);
	if (fresh)
		k->r = h->base->ops->kind(h->base, path, &k->kind);
	*out = k->kind;
	return k->r;
}

static inline int fuzz_ask(struct host *host, const char *api, const char *object,
			   const char *field, struct answer *out)
{
	struct fuzz_host *h = (struct fuzz_host *)host;
	const char *key = arena_printf(&h->now, "%s %s %s", api, object, field);
	const struct section *x = map_get(&h->said, key);
	struct kept_answer *k;
	char number[32];
	bool fresh;

	if (x) {
		*out = (struct answer){ .kind = ANSWER_TEXT,
					.text = arena_strndup(&h->now, x->s, x->n) };
		if (x->n && x->n < 24 && parse_i64(out->text + (*x->s == '!'), &out->i) == 0) {
			if (*x->s == '!')
				return out->i > 0 && out->i < 4000 ? -(int)out->i : -EIO;
			out->kind = ANSWER_INT;
		}
		return 0;
	}
	k = fuzz_known(h, fuzz_key(h, "ask ", key), &fresh);
	if (fresh) {
		k->r = h->base->ops->ask(h->base, api, object, field, &k->said);
		snprintf(number, sizeof(number), "%lld", k->said.i);
		if (k->r == 0 && k->said.kind == ANSWER_TEXT)
			k->said.text = arena_strdup(h->keep, k->said.text);
		if (k->r == 0)
			fuzz_seed(h, key, k->said.kind == ANSWER_INT ? number : k->said.text,
				  strlen(k->said.kind == ANSWER_INT ? number : k->said.text));
	}
	*out = k->said;
	return k->r;
}

static inline int fuzz_stat(struct host *host, const char *path, struct host_stat *out)
{
	(void)host;
	(void)path;
	(void)out;
	return HOST_NOT_CAPTURED;
}

static const struct host_ops fuzz_host_ops = {
	.read = fuzz_read,
	.link = fuzz_link,
	.list = fuzz_list,
	.kind = fuzz_kind,
	.ask = fuzz_ask,
	.stat = fuzz_stat,
};

/* Over the captured machine of that name; once a process. */
static inline void fuzz_host_open(struct fuzz_host *h, const char *machine)
{
	struct err e = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", MACHINES, machine);
	h->base = host_open_capture(path, &e);
	if (!h->base) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	h->keep = calloc(1, sizeof(*h->keep));
	if (!h->keep)
		abort();
	h->host.ops = &fuzz_host_ops;
	h->host.id = h->base->id;
	h->seeds = getenv("FUZZ_SEEDS");
}

static inline bool fuzz_was_asked(struct fuzz_host *h, const char *said)
{
	static const char *const kinds[] = { "", "read ", "kind ", "ask " };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (map_get(&h->known, fuzz_key(h, kinds[i], said)))
			return true;
	return false;
}

/* From now on it says what the input does. asked is false when that changes nothing that was ever
 * looked at: who looks first at the machine as it is need not look again then. */
static inline void fuzz_host_say(struct fuzz_host *h, const unsigned char *data, size_t size)
{
	const char *s = size ? (const char *)data : "", *end = s + size;

	arena_free(&h->now);
	arena_free(&h->host.arena);
	h->now = (struct arena){ 0 };
	h->host.arena = (struct arena){ 0 };
	h->said = (struct map){ 0 };
	h->asked = false;
	for (size_t n = 0; n < 64 && end - s > 2 && s[0] == '@' && s[1] == '@'; n++) {
		const char *nl = memchr(s, '\n', (size_t)(end - s)), *next;
		struct section *x = ARENA_NEW(&h->now, struct section);
		const char *key;

		if (!nl)
			return;
		next = memmem(nl, (size_t)(end - nl), "\n@@", 3);
		x->s = nl + 1;
		x->n = next && next > nl ? (size_t)(next - x->s) : next ? 0 : (size_t)(end - x->s);
		/* Of its own size: a byte too far is seen. */
		x->s = memcpy(arena_alloc(&h->now, x->n), x->s, x->n);
		key = arena_strndup(&h->now, s + 2, (size_t)(nl - s) - 2);
		*map_at(&h->now, &h->said, key) = x;
		h->asked = h->asked || fuzz_was_asked(h, key);
		s = next ? next + 1 : end;
	}
}

#endif
