/* SPDX-License-Identifier: Apache-2.0 */
/* A backend that counts operations, and fails the one that was asked for. */
#include "fault.h"

#include <stdlib.h>
#include <unistd.h>

#include "machine/write/write.h"

struct fault {
	struct host host;
	struct host *inner;
	struct fault_plan plan;
	size_t operations;
	bool late; /* the operation that is under way fails when it is done */
	const char *where;
};

static int happens(struct fault *f)
{
	if (!f->plan.code)
		_exit(FAULT_EXIT);
	return f->plan.code;
}

/* Counts an operation; what it must fail with before the inner host is asked, or 0. */
static int due(struct fault *f, const char *api, const char *object, const char *what)
{
	f->late = false;
	if (++f->operations != f->plan.at)
		return 0;
	f->where = *api ? arena_printf(&f->host.arena, "%s %s %s", api, object, what)
			: arena_strdup(&f->host.arena, what);
	f->late = f->plan.late;
	return f->late ? 0 : happens(f);
}

/* What an operation that the inner host has answered with r fails with, or r. */
static int done(struct fault *f, int r)
{
	return f->late ? happens(f) : r;
}

static int fault_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, f->inner->ops->read(f->inner, path, buf, cap, len));
}

static int fault_link(struct host *h, const char *path, char *buf, size_t cap)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, f->inner->ops->link(f->inner, path, buf, cap));
}

static int fault_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, f->inner->ops->list(f->inner, path, a, names, n));
}

static int fault_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, f->inner->ops->kind(f->inner, path, out));
}

static int fault_stat(struct host *h, const char *path, struct host_stat *out)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, host_stat(f->inner, path, out));
}

static int fault_ask(struct host *h, const char *api, const char *object, const char *field,
		     struct answer *out)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, api, object, field);

	return r ? r : done(f, f->inner->ops->ask(f->inner, api, object, field, out));
}

static int fault_write(struct host *h, const char *path, long long offset, const void *data,
		       size_t len)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, host_write_at(f->inner, path, offset, data, len));
}

static int fault_set(struct host *h, const char *api, const char *object, const char *field,
		     const struct answer *value)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, api, object, field);

	return r ? r : done(f, host_set(f->inner, api, object, field, value));
}

/* How much of what is to be written a run that ends in the middle leaves; false: it does not. */
static bool tears(const struct fault *f, size_t len, size_t *kept)
{
	*kept = !f->plan.keep ? len / 2 : f->plan.keep < len ? f->plan.keep : len;
	return f->plan.torn && f->operations + 1 == f->plan.at;
}

static int fault_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode)
{
	struct fault *f = (struct fault *)h;
	size_t kept;
	int r;

	if (tears(f, len, &kept))
		host_put(f->inner, arena_printf(&h->arena, "%s" HOST_NEW, path), data, kept, 0600);
	r = due(f, "", "", path);
	r = r ? r : done(f, host_put(f->inner, path, data, len, mode));
	h->lost = f->inner->lost;
	return r;
}

/* Dying in the middle of adding a line leaves a part of it, as a full disk or a power cut does. */
static int fault_append(struct host *h, const char *path, const void *data, size_t len)
{
	struct fault *f = (struct fault *)h;
	size_t kept;
	int r;

	if (tears(f, len, &kept))
		host_append(f->inner, path, data, kept);
	r = due(f, "", "", path);
	return r ? r : done(f, host_append(f->inner, path, data, len));
}

static int fault_make(struct host *h, enum host_kind kind, const char *path, const char *target,
		      unsigned mode)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	if (r)
		return r;
	return done(f, kind == HOST_DIR ? host_make_dir(f->inner, path, mode)
					: host_make_link(f->inner, path, target));
}

static int fault_remove(struct host *h, const char *path)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, host_remove(f->inner, path));
}

static int fault_lock(struct host *h, const char *path)
{
	struct fault *f = (struct fault *)h;
	int r = due(f, "", "", path);

	return r ? r : done(f, host_lock(f->inner, path));
}

static const struct host_writes fault_writes = {
	.write = fault_write,
	.tell = fault_set,
	.put = fault_put,
	.append = fault_append,
	.make = fault_make,
	.remove = fault_remove,
	.lock = fault_lock,
};

static void fault_close(struct host *h)
{
	struct fault *f = (struct fault *)h;

	host_close(f->inner);
	arena_free(&h->arena);
	free(f);
}

static const struct host_ops fault_ops = {
	.read = fault_read,
	.link = fault_link,
	.list = fault_list,
	.kind = fault_kind,
	.ask = fault_ask,
	.close = fault_close,
	.writes = &fault_writes,
	.stat = fault_stat,
};

struct host *fault_open(struct host *inner, struct fault_plan plan)
{
	struct fault *f = calloc(1, sizeof(*f));

	if (!f)
		out_of_memory(0);
	f->host.ops = &fault_ops;
	f->host.id = inner->id;
	f->inner = inner;
	f->plan = plan;
	f->where = "";
	return &f->host;
}

size_t fault_operations(const struct host *fault)
{
	return ((const struct fault *)fault)->operations;
}

const char *fault_where(const struct host *fault)
{
	return ((const struct fault *)fault)->where;
}
