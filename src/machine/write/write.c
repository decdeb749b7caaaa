/* SPDX-License-Identifier: Apache-2.0 */
/* What all hosts share of writing: refusing where a host takes none. And the host that refuses
 * always. */
#include "machine/write/write.h"

#include <stdlib.h>
#include <string.h>

int host_write_at(struct host *h, const char *path, long long offset, const void *data, size_t len)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->write(h, path, offset, data, len) : -EROFS;
}

int host_write(struct host *h, const char *path, const char *text)
{
	return host_write_at(h, path, -1, text, strlen(text));
}

int host_set(struct host *h, const char *api, const char *object, const char *field,
	     const struct answer *value)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->tell(h, api, object, field, value) : -EROFS;
}

int host_set_int(struct host *h, const char *api, const char *object, const char *field,
		 long long value)
{
	struct answer a = { .kind = ANSWER_INT, .i = value };

	return host_set(h, api, object, field, &a);
}

int host_set_text(struct host *h, const char *api, const char *object, const char *field,
		  const char *value)
{
	struct answer a = { .kind = ANSWER_TEXT, .text = value };

	return host_set(h, api, object, field, &a);
}

int host_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->put(h, path, data, len, mode) : -EROFS;
}

int host_append(struct host *h, const char *path, const void *data, size_t len)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->append(h, path, data, len) : -EROFS;
}

int host_make_dir(struct host *h, const char *path, unsigned mode)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->make(h, HOST_DIR, path, NULL, mode) : -EROFS;
}

int host_own_dir(struct host *h, const char *path)
{
	int r = host_make_dir(h, path, 0700);

	return r == -EEXIST ? 0 : r;
}

int host_open_dir(struct host *h, const char *path)
{
	const struct host_writes *w = h->ops->writes;
	int r = w ? w->make(h, HOST_DIR, path, "", 0755) : -EROFS;

	return r == -EEXIST ? 0 : r;
}

int host_make_link(struct host *h, const char *path, const char *target)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->make(h, HOST_LINK, path, target, 0) : -EROFS;
}

int host_remove(struct host *h, const char *path)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->remove(h, path) : -EROFS;
}

int host_lock(struct host *h, const char *path)
{
	const struct host_writes *w = h->ops->writes;

	return w ? w->lock(h, path) : -EROFS;
}

/* --- a host that only reads ------------------------------------------------------------------- */

struct readonly {
	struct host host;
	struct host *inner;
};

static struct host *inner_of(struct host *h)
{
	return ((struct readonly *)h)->inner;
}

static int readonly_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	return inner_of(h)->ops->read(inner_of(h), path, buf, cap, len);
}

static int readonly_link(struct host *h, const char *path, char *buf, size_t cap)
{
	return inner_of(h)->ops->link(inner_of(h), path, buf, cap);
}

static int readonly_list(struct host *h, const char *path, struct arena *a, char ***names,
			 size_t *n)
{
	return inner_of(h)->ops->list(inner_of(h), path, a, names, n);
}

static int readonly_kind(struct host *h, const char *path, enum host_kind *out)
{
	return inner_of(h)->ops->kind(inner_of(h), path, out);
}

static int readonly_stat(struct host *h, const char *path, struct host_stat *out)
{
	return host_stat(inner_of(h), path, out);
}

static int readonly_ask(struct host *h, const char *api, const char *object, const char *field,
			struct answer *out)
{
	return inner_of(h)->ops->ask(inner_of(h), api, object, field, out);
}

static void readonly_close(struct host *h)
{
	host_close(inner_of(h));
	arena_free(&h->arena);
	free(h);
}

static const struct host_ops readonly_ops = {
	.read = readonly_read,
	.link = readonly_link,
	.list = readonly_list,
	.kind = readonly_kind,
	.ask = readonly_ask,
	.close = readonly_close,
	.stat = readonly_stat,
};

struct host *host_open_readonly(struct host *inner)
{
	struct readonly *r = heap_array(1, sizeof(*r));

	r->host.ops = &readonly_ops;
	r->host.id = inner->id;
	r->inner = inner;
	return &r->host;
}
