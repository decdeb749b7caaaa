/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine in memory that can be written: a list of files, folders, links and answers. Files of
 * the kernel move the brackets of a choice and refuse other words; one operation can be made to
 * fail, and every one is counted.
 */
#ifndef TESTS_MEMORY_HOST_H
#define TESTS_MEMORY_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "machine/write/write.h"

enum { MEMORY_PLACES = 64, MEMORY_BYTES = 4096 };

struct memory_place {
	char path[256]; /* "" : free; of an answer "api object field" */
	enum { MEMORY_FILE, MEMORY_DIR, MEMORY_LINK, MEMORY_ANSWER } kind;
	char data[MEMORY_BYTES + 1];
	size_t len;
	long long answer;
	int refuses; /* negative errno for whoever writes */
};

struct memory_host {
	struct host host;
	struct memory_place places[MEMORY_PLACES];
	int writes;  /* that were let through */
	int fail_at; /* the write with this number, from 1, fails with -EIO; and those behind it */
	int tried;
	bool fail_once; /* not those behind it */
	bool fail_late; /* a put that fails has put the file all the same */
};

static inline struct memory_host *memory_of(struct host *h)
{
	return (struct memory_host *)h;
}

static inline struct memory_place *memory_find(struct host *h, const char *path)
{
	for (int i = 0; i < MEMORY_PLACES; i++)
		if (strcmp(memory_of(h)->places[i].path, path) == 0)
			return &memory_of(h)->places[i];
	return NULL;
}

static inline struct memory_place *memory_add(struct host *h, const char *path)
{
	struct memory_place *p = memory_find(h, path);

	if (!p)
		p = memory_find(h, "");
	assert_non_null(p);
	/* That it does not go on from there is something that compilers do not know. */
	if (!p)
		abort();
	assert_true(strlen(path) < sizeof(p->path));
	memset(p, 0, sizeof(*p));
	strcpy(p->path, path);
	return p;
}

static inline struct memory_place *memory_bytes(struct host *h, const char *path, const void *data,
						size_t len)
{
	struct memory_place *p = memory_add(h, path);

	assert_true(len <= MEMORY_BYTES);
	memcpy(p->data, data, len);
	p->len = len;
	return p;
}

static inline struct memory_place *memory_file(struct host *h, const char *path, const char *text)
{
	return memory_bytes(h, path, text, strlen(text));
}

static inline void memory_folder(struct host *h, const char *path)
{
	memory_add(h, path)->kind = MEMORY_DIR;
}

static inline void memory_link(struct host *h, const char *path, const char *target)
{
	memory_file(h, path, target)->kind = MEMORY_LINK;
}

static inline struct memory_place *memory_answer(struct host *h, const char *words, long long v)
{
	struct memory_place *p = memory_add(h, words);

	p->kind = MEMORY_ANSWER;
	p->answer = v;
	return p;
}

static inline const char *memory_text(struct host *h, const char *path)
{
	struct memory_place *p = memory_find(h, path);

	return p ? p->data : NULL;
}

static inline int memory_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct memory_place *p = memory_find(h, path);

	if (!p)
		return -ENOENT;
	if (p->kind != MEMORY_FILE)
		return p->kind == MEMORY_DIR ? -EISDIR : -ENOENT;
	memcpy(buf, p->data, p->len < cap ? p->len : cap);
	*len = p->len;
	return 0;
}

static inline int memory_read_link(struct host *h, const char *path, char *buf, size_t cap)
{
	struct memory_place *p = memory_find(h, path);

	if (!p || p->kind != MEMORY_LINK)
		return p ? -EINVAL : -ENOENT;
	if (p->len >= cap)
		return -ENAMETOOLONG;
	memcpy(buf, p->data, p->len + 1);
	return 0;
}

static inline int memory_list(struct host *h, const char *path, struct arena *a, char ***names,
			      size_t *n)
{
	(void)h;
	(void)path;
	(void)a;
	(void)names;
	(void)n;
	return -ENOSYS;
}

static inline int memory_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct memory_place *p = memory_find(h, path);

	if (!p)
		return -ENOENT;
	*out = p->kind == MEMORY_DIR ? HOST_DIR : p->kind == MEMORY_LINK ? HOST_LINK : HOST_FILE;
	return 0;
}

static inline struct memory_place *memory_asked(struct host *h, const char *api, const char *object,
						const char *field)
{
	char words[256];

	snprintf(words, sizeof(words), "%s %s %s", api, object, field);
	return memory_find(h, words);
}

static inline int memory_ask(struct host *h, const char *api, const char *object, const char *field,
			     struct answer *out)
{
	struct memory_place *p = memory_asked(h, api, object, field);

	if (!p)
		return -EOPNOTSUPP;
	*out = (struct answer){ .kind = ANSWER_INT, .i = p->answer };
	return 0;
}

/* Counts a write; the error that it is to fail with. */
static inline int memory_gate(struct host *h, const struct memory_place *p)
{
	struct memory_host *m = memory_of(h);

	if (m->fail_at && ++m->tried >= m->fail_at && !(m->fail_once && m->tried > m->fail_at))
		return -EIO;
	if (p && p->refuses)
		return p->refuses;
	m->writes++;
	return 0;
}

static inline int memory_tell(struct host *h, const char *api, const char *object,
			      const char *field, const struct answer *value)
{
	struct memory_place *p = memory_asked(h, api, object, field);
	int r = p ? memory_gate(h, p) : -EOPNOTSUPP;

	if (r == 0)
		p->answer = value->i;
	return r;
}

/* "[a] b c" told "b": "a [b] c". */
static inline int memory_choose(struct memory_place *p, const char *word, size_t n)
{
	char fresh[MEMORY_BYTES + 1] = "";
	bool found = false;
	char *save = NULL;

	for (char *w = strtok_r(p->data, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
		bool bracketed = w[0] == '[';
		size_t len = strlen(w) - (bracketed ? 2 : 0);
		bool it = len == n && strncmp(w + bracketed, word, n) == 0;

		found = found || it;
		snprintf(fresh + strlen(fresh), sizeof(fresh) - strlen(fresh), "%s%s%.*s%s",
			 *fresh ? " " : "", it ? "[" : "", (int)len, w + bracketed, it ? "]" : "");
	}
	if (found)
		p->len = (size_t)snprintf(p->data, sizeof(p->data), "%s\n", fresh);
	return found ? 0 : -EINVAL;
}

static inline int memory_write_file(struct host *h, const char *path, long long offset,
				    const void *data, size_t len)
{
	struct memory_place *p = memory_find(h, path), keep;
	int r;

	if (!p || p->kind != MEMORY_FILE)
		return -ENOENT;
	r = memory_gate(h, p);
	if (r)
		return r;
	if (offset >= 0) {
		assert_true((size_t)offset + len <= p->len);
		memcpy(p->data + offset, data, len);
		return 0;
	}
	/* Nothing reaches the kernel's side. */
	if (!len)
		return 0;
	keep = *p;
	if (strchr(p->data, '[')) {
		r = memory_choose(p, data, len);
		if (r) {
			*p = keep;
			memory_of(h)->writes--;
		}
		return r;
	}
	p->len = (size_t)snprintf(p->data, sizeof(p->data), "%.*s\n", (int)len, (const char *)data);
	return 0;
}

static inline bool memory_parent(struct host *h, const char *path)
{
	char dir[256];
	struct memory_place *p;

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	p = memory_find(h, dir);
	return p && p->kind == MEMORY_DIR;
}

static inline int memory_put(struct host *h, const char *path, const void *data, size_t len,
			     unsigned mode)
{
	int r = memory_gate(h, NULL);

	assert_int_equal(mode, 0644);
	if (r && !memory_of(h)->fail_late)
		return r;
	if (!memory_parent(h, path))
		return -ENOENT;
	memory_bytes(h, path, data, len);
	return r;
}

static inline int memory_append(struct host *h, const char *path, const void *data, size_t len)
{
	(void)h;
	(void)path;
	(void)data;
	(void)len;
	return -ENOSYS;
}

static inline int memory_make(struct host *h, enum host_kind kind, const char *path,
			      const char *target, unsigned mode)
{
	int r = memory_gate(h, NULL);

	(void)target;
	assert_int_equal(kind, HOST_DIR);
	assert_int_equal(mode, 0755);
	if (r)
		return r;
	if (memory_find(h, path))
		return -EEXIST;
	if (!memory_parent(h, path))
		return -ENOENT;
	memory_folder(h, path);
	return 0;
}

static inline int memory_remove(struct host *h, const char *path)
{
	struct memory_place *p = memory_find(h, path);
	size_t n = strlen(path);
	int r = memory_gate(h, p);

	if (r || !p)
		return r ? r : -ENOENT;
	for (int i = 0; i < MEMORY_PLACES; i++)
		if (strncmp(memory_of(h)->places[i].path, path, n) == 0 &&
		    memory_of(h)->places[i].path[n] == '/')
			return -ENOTEMPTY;
	memset(p, 0, sizeof(*p));
	return 0;
}

static inline int memory_lock(struct host *h, const char *path)
{
	(void)h;
	(void)path;
	return 0;
}

static inline void memory_close(struct host *h)
{
	arena_free(&h->arena);
	free(h);
}

static inline struct host *memory_open(void)
{
	static const struct host_writes writes = {
		.write = memory_write_file,
		.tell = memory_tell,
		.put = memory_put,
		.append = memory_append,
		.make = memory_make,
		.remove = memory_remove,
		.lock = memory_lock,
	};
	static const struct host_ops ops = {
		.read = memory_read,
		.link = memory_read_link,
		.list = memory_list,
		.kind = memory_kind,
		.ask = memory_ask,
		.close = memory_close,
		.writes = &writes,
	};
	struct memory_host *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->host.ops = &ops;
	m->host.id.nodename = "memory";
	return &m->host;
}

#endif
