/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers over two pipes between processes of one program: fixed heads, then bytes. */
#include "machine/host/asked.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum what { READ, LINK, LIST, KIND, STAT, ASK, WHATS };
enum { WORDS = 3, WORD_MAX = HOST_PATH_MAX, READ_MAX = 1 << 29, SHORT = 4096, HEAD = 1 << 16 };
/* The largest file that is read for somebody else. */
#define ROOM_MAX ((off_t)1 << 31)

struct request {
	uint32_t what, len[WORDS]; /* ASK: api, object, field; else a path */
	uint64_t cap;		   /* READ: as of host_ops.read */
};

struct reply {
	int32_t r;
	uint32_t kind; /* of an answer; KIND: what it is */
	int64_t i;
	uint64_t len; /* of what follows; READ: at most cap of i bytes; STAT: a struct host_stat */
};

/* All of it: 0, or -EPIPE. */
static int asked_take(int fd, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(fd, (char *)to + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

/* --- the side that looks ---------------------------------------------------------------------- */

struct looking {
	struct host *h;
	struct arena a; /* of this request */
	char *words[WORDS];
	struct request ask;
	struct reply reply;
	const char *bytes;
};

static void look_read(struct looking *l)
{
	size_t cap = l->ask.cap, len = 0;
	struct stat st;
	bool is = stat(l->words[0], &st) == 0;
	char *buf;

	/* Whoever asks for more than there is gets room for what there is. */
	if (cap > READ_MAX && is && st.st_size < ROOM_MAX)
		cap = st.st_size < READ_MAX ? READ_MAX : (size_t)st.st_size + 1;
	buf = cap <= (size_t)ROOM_MAX ? malloc(cap + 1) : NULL;
	if (!buf) {
		l->reply.r = -ENOMEM;
		return;
	}
	if (is && !S_ISREG(st.st_mode))
		l->reply.r = S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
	else
		l->reply.r = l->h->ops->read(l->h, l->words[0], buf, cap, &len);
	l->reply.i = (int64_t)len;
	/* A short look at the beginning is one; a room that proved too small is asked for again. */
	l->reply.len = l->reply.r || (len > cap && cap > HEAD) ? 0 : len < cap ? len : cap;
	l->bytes = buf;
}

static void look_link(struct looking *l)
{
	char *buf = arena_alloc(&l->a, HOST_PATH_MAX);

	l->reply.r = l->h->ops->link(l->h, l->words[0], buf, HOST_PATH_MAX);
	l->reply.len = l->reply.r ? 0 : strlen(buf);
	l->bytes = buf;
}

static void asked_look_list(struct looking *l)
{
	struct text all = { 0 };
	char **names = NULL;
	size_t n = 0;

	l->reply.r = l->h->ops->list(l->h, l->words[0], &l->a, &names, &n);
	for (size_t i = 0; !l->reply.r && i < n; i++)
		text_addn(&all, names[i], strlen(names[i]) + 1);
	l->reply.i = (int64_t)n;
	l->reply.len = all.len;
	l->bytes = all.s;
}

static void look_stat(struct looking *l)
{
	struct host_stat st = { 0 };
	char *bytes;

	l->reply.r = host_stat(l->h, l->words[0], &st);
	bytes = l->reply.r ? NULL : malloc(sizeof(st));
	if (!bytes)
		return;
	memcpy(bytes, &st, sizeof(st));
	l->bytes = bytes;
	l->reply.len = sizeof(st);
}

static void look_ask(struct looking *l)
{
	struct answer said = { 0 };

	l->reply.r = host_ask(l->h, l->words[0], l->words[1], l->words[2], &said);
	if (l->reply.r)
		return;
	l->reply.kind = said.kind;
	l->reply.i = said.kind == ANSWER_INT ? said.i : 0;
	l->bytes = said.kind == ANSWER_TEXT ? strdup(said.text) : NULL;
	l->reply.len = l->bytes ? strlen(l->bytes) : 0;
}

static void asked_look(struct looking *l)
{
	enum host_kind kind = HOST_OTHER;

	switch (l->ask.what) {
	case READ:
		look_read(l);
		break;
	case LINK:
		look_link(l);
		break;
	case LIST:
		asked_look_list(l);
		break;
	case KIND:
		l->reply.r = host_kind(l->h, l->words[0], &kind);
		l->reply.kind = kind;
		break;
	case STAT:
		look_stat(l);
		break;
	default:
		look_ask(l);
		break;
	}
}

/* Paths are absolute; nothing is longer than a path, and no word holds a NUL. */
static int take_request(struct looking *l, int fd)
{
	int r = asked_take(fd, &l->ask, sizeof(l->ask));
	size_t all = 0;
	char *p;

	if (r)
		return r;
	for (unsigned i = 0; i < WORDS; i++) {
		if (l->ask.what >= WHATS || l->ask.len[i] >= WORD_MAX)
			return -EPROTO;
		all += l->ask.len[i];
	}
	p = arena_alloc(&l->a, all + 1);
	r = asked_take(fd, p, all);
	for (unsigned i = 0; i < WORDS && r == 0; p += l->ask.len[i++]) {
		l->words[i] = arena_strndup(&l->a, p, l->ask.len[i]);
		if (strlen(l->words[i]) != l->ask.len[i])
			r = -EPROTO;
	}
	return r == 0 && l->ask.what != ASK && *l->words[0] != '/' ? -EPROTO : r;
}

/* Mostly it is short, and goes at once. */
static int send_reply(const struct looking *l, int fd)
{
	char both[sizeof(l->reply) + SHORT];
	size_t n = l->reply.len <= SHORT ? l->reply.len : 0;
	int r;

	memcpy(both, &l->reply, sizeof(l->reply));
	if (n)
		memcpy(both + sizeof(l->reply), l->bytes, n);
	r = fd_write_all(fd, both, sizeof(l->reply) + n);
	if (r == 0 && l->reply.len > n)
		r = fd_write_all(fd, l->bytes, l->reply.len);
	return r ? -EPIPE : 0;
}

int host_answer_one(struct host *h, int requests, int answers)
{
	struct looking l = { .h = h };
	int r = take_request(&l, requests);

	if (r == 0) {
		asked_look(&l);
		r = send_reply(&l, answers);
		if (l.ask.what != LINK)
			free((void *)(uintptr_t)l.bytes);
	}
	arena_free(&l.a);
	return r;
}

/* --- the side that asks ----------------------------------------------------------------------- */

struct asked {
	struct host host;
	pthread_mutex_t one;
	int requests, answers;
};

/* Asks and reads the head; what follows is read into buf, of which there are cap bytes. A machine
 * that nobody looks at any more cannot be seen. */
static int asked_ask_one(struct host *h, enum what what, const char *const *words, size_t cap,
			 char *buf, struct reply *out)
{
	struct asked *x = (struct asked *)h;
	char q[sizeof(struct request) + WORDS * (size_t)WORD_MAX];
	struct request head = { .what = what, .cap = cap };
	size_t n = sizeof(head);
	int r;

	for (unsigned i = 0; i < WORDS; i++) {
		size_t len = words[i] ? strnlen(words[i], WORD_MAX) : 0;

		if (len == WORD_MAX)
			return -ENAMETOOLONG;
		head.len[i] = (uint32_t)len;
		if (len)
			memcpy(q + n, words[i], len);
		n += len;
	}
	memcpy(q, &head, sizeof(head));
	r = fd_write_all(x->requests, q, n);
	r = r ? r : asked_take(x->answers, out, sizeof(*out));
	if (r == 0 && buf && out->len <= cap)
		r = asked_take(x->answers, buf, out->len);
	return r ? -EIO : out->r;
}

static int ask_path(struct host *h, enum what what, const char *path, size_t cap, char *buf,
		    struct reply *out)
{
	struct asked *x = (struct asked *)h;
	int r;

	pthread_mutex_lock(&x->one);
	r = asked_ask_one(h, what, (const char *const[WORDS]){ path }, cap, buf, out);
	pthread_mutex_unlock(&x->one);
	return r;
}

static int asked_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct reply got;
	int r = ask_path(h, READ, path, cap, buf, &got);

	if (r == 0)
		*len = (size_t)got.i;
	return r;
}

static int asked_link(struct host *h, const char *path, char *buf, size_t cap)
{
	char target[HOST_PATH_MAX];
	struct reply got;
	int r = ask_path(h, LINK, path, sizeof(target), target, &got);

	if (r)
		return r;
	if (got.len >= cap)
		return -ENAMETOOLONG;
	memcpy(buf, target, got.len);
	buf[got.len] = '\0';
	return 0;
}

/* What follows an answer whose length is not known before. */
static int take_bytes(struct asked *x, struct arena *a, uint64_t len, char **out)
{
	*out = arena_alloc(a, len + 1);
	return asked_take(x->answers, *out, len) ? -EIO : 0;
}

static int asked_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	struct asked *x = (struct asked *)h;
	struct reply got;
	char *p = NULL;
	int r;

	pthread_mutex_lock(&x->one);
	r = asked_ask_one(h, LIST, (const char *const[WORDS]){ path }, 0, NULL, &got);
	if (r == 0)
		r = take_bytes(x, a, got.len, &p);
	pthread_mutex_unlock(&x->one);
	if (r)
		return r;
	*n = (size_t)got.i;
	*names = arena_array(a, *n + 1, sizeof(**names));
	for (size_t i = 0; i < *n; i++, p += strlen(p) + 1)
		(*names)[i] = p;
	return 0;
}

static int asked_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct reply got;
	int r = ask_path(h, KIND, path, 0, NULL, &got);

	if (r == 0)
		*out = (enum host_kind)got.kind;
	return r;
}

static int asked_stat(struct host *h, const char *path, struct host_stat *out)
{
	struct host_stat st = { 0 };
	struct reply got;
	int r = ask_path(h, STAT, path, sizeof(st), (char *)&st, &got);

	if (r == 0 && got.len == sizeof(st))
		*out = st;
	return r ? r : got.len == sizeof(st) ? 0 : -EIO;
}

static int asked_ask(struct host *h, const char *api, const char *object, const char *field,
		     struct answer *out)
{
	struct asked *x = (struct asked *)h;
	struct reply got;
	char *text = NULL;
	int r;

	pthread_mutex_lock(&x->one);
	r = asked_ask_one(h, ASK, (const char *const[WORDS]){ api, object, field }, 0, NULL, &got);
	if (r == 0)
		r = take_bytes(x, &h->arena, got.len, &text);
	pthread_mutex_unlock(&x->one);
	if (r == 0)
		*out = (struct answer){ .kind = got.kind == ANSWER_INT ? ANSWER_INT : ANSWER_TEXT,
					.i = got.i,
					.text = text };
	return r;
}

static void asked_close(struct host *h)
{
	struct asked *x = (struct asked *)h;

	pthread_mutex_destroy(&x->one);
	arena_free(&h->arena);
	free(x);
}

static const struct host_ops asked_ops = {
	.read = asked_read,
	.link = asked_link,
	.list = asked_list,
	.kind = asked_kind,
	.ask = asked_ask,
	.close = asked_close,
	.stat = asked_stat,
};

struct host *host_open_asked(const struct host_identity *id, int requests, int answers)
{
	struct asked *x = heap_array(1, sizeof(*x));
	struct arena *a;

	pthread_mutex_init(&x->one, NULL);
	a = &x->host.arena;
	x->host.ops = &asked_ops;
	x->host.id = *id;
	x->host.id.nodename = arena_strdup(a, id->nodename);
	x->host.id.release = arena_strdup(a, id->release);
	x->host.id.version = arena_strdup(a, id->version);
	x->host.id.machine = arena_strdup(a, id->machine);
	x->requests = requests;
	x->answers = answers;
	return &x->host;
}
