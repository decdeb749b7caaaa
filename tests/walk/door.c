/* SPDX-License-Identifier: Apache-2.0 */
/* Counting operations, and letting one thing happen at one of them. */
#include "door.h"

#include <stdlib.h>
#include <string.h>

#include "machine/write/write.h"
#include "kernel.h"

struct door {
	struct host host;
	struct host *inner;
};

jmp_buf door_end;
static struct door_plan plan;
static size_t operations;
static bool locked, happened, as_user;

void door_arm(struct door_plan p)
{
	plan = p;
	operations = 0;
	locked = happened = false;
}

bool door_happened(void)
{
	return happened;
}

__attribute__((noreturn)) static void die(struct door *d)
{
	kernel_cut_at(0, NULL, NULL);
	host_close(d->inner);
	arena_free(&d->host.arena);
	free(d);
	longjmp(door_end, 1);
}

/* What an operation is to the disk. */
enum sort { LOOKS, SETS, ADDS, FILES };

static bool is_due(enum sort sort)
{
	if (!locked || happened || plan.what == HAPPENS_NOTHING || ++operations < plan.at)
		return false;
	/* Between the last look at a value and its write nobody can stand. */
	if ((plan.what == HAPPENS_RIVAL && sort == SETS) ||
	    (plan.what == HAPPENS_ENOSPC && sort != ADDS && sort != FILES))
		return false;
	return happened = true;
}

/* Before an operation: its error, or 0. */
static int before(struct door *d, enum sort sort)
{
	if (!is_due(sort))
		return 0;
	switch (plan.what) {
	case HAPPENS_RIVAL:
		plan.rival(plan.ctx, d->inner);
		return 0;
	case HAPPENS_EIO:
		return -EIO;
	case HAPPENS_ENOSPC:
		return -ENOSPC;
	case HAPPENS_KILL:
		if (sort == LOOKS || sort == SETS || !plan.dice)
			die(d);
		return 1;
	case HAPPENS_POWER:
		/* What only looks has no middle. */
		if (sort == LOOKS)
			die(d);
		return 1;
	default:
		return 1;
	}
}

/* After it; hit: what before() said. */
static int after(struct door *d, int hit, int r)
{
	if (hit != 1)
		return r;
	if (plan.what == HAPPENS_EIO_LATE)
		return -EIO;
	die(d);
}

#define PASS(sort, call)                                                                           \
	do {                                                                                       \
		int hit_ = before(d, sort);                                                        \
                                                                                                   \
		return hit_ < 0 ? hit_ : after(d, hit_, call);                                     \
	} while (0)

void door_as_user(bool is)
{
	as_user = is;
}

static int door_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct door *d = (struct door *)h;

	if (as_user && strstr(path, "/var/lib/gputune/") && !strstr(path, "status.jsonl"))
		return -EACCES;
	PASS(LOOKS, d->inner->ops->read(d->inner, path, buf, cap, len));
}

static int door_link(struct host *h, const char *path, char *buf, size_t cap)
{
	struct door *d = (struct door *)h;

	PASS(LOOKS, d->inner->ops->link(d->inner, path, buf, cap));
}

static int door_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	struct door *d = (struct door *)h;

	PASS(LOOKS, d->inner->ops->list(d->inner, path, a, names, n));
}

static int door_kind(struct host *h, const char *path, enum host_kind *out)
{
	struct door *d = (struct door *)h;

	PASS(LOOKS, d->inner->ops->kind(d->inner, path, out));
}

static int door_stat(struct host *h, const char *path, struct host_stat *out)
{
	struct door *d = (struct door *)h;

	if (as_user) {
		struct arena a = { 0 };
		size_t len = 0;
		char *text;
		int r = host_stat(d->inner, path, out);

		if (r == 0 && host_read(d->inner, path, HOST_READ_MAX, &a, &text, &len) == 0)
			out->size = (long long)len;
		arena_free(&a);
		return r;
	}
	PASS(LOOKS, host_stat(d->inner, path, out));
}

static int door_ask(struct host *h, const char *api, const char *object, const char *field,
		    struct answer *out)
{
	struct door *d = (struct door *)h;

	PASS(LOOKS, d->inner->ops->ask(d->inner, api, object, field, out));
}

static int door_write(struct host *h, const char *path, long long offset, const void *data,
		      size_t len)
{
	struct door *d = (struct door *)h;

	PASS(SETS, host_write_at(d->inner, path, offset, data, len));
}

static int door_tell(struct host *h, const char *api, const char *object, const char *field,
		     const struct answer *value)
{
	struct door *d = (struct door *)h;

	PASS(SETS, host_set(d->inner, api, object, field, value));
}

static void power_goes(void *ctx)
{
	die(ctx);
}

/* Power may go, and the process end, at each of its system calls, or when it is done. */
static void arm_kernel(struct door *d, int hit)
{
	enum { CALLS = 9 };

	if (hit == 1 && (plan.what == HAPPENS_POWER || plan.what == HAPPENS_KILL))
		kernel_cut_at(plan.dice % CALLS, power_goes, d);
}

#define PASS_FILES(sort, call)                                                                     \
	do {                                                                                       \
		int hit_ = before(d, sort);                                                        \
                                                                                                   \
		if (hit_ < 0)                                                                      \
			return hit_;                                                               \
		arm_kernel(d, hit_);                                                               \
		return after(d, hit_, call);                                                       \
	} while (0)

static int door_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode)
{
	struct door *d = (struct door *)h;

	PASS_FILES(FILES, host_put(d->inner, path, data, len, mode));
}

static int door_append(struct host *h, const char *path, const void *data, size_t len)
{
	struct door *d = (struct door *)h;

	PASS_FILES(ADDS, host_append(d->inner, path, data, len));
}

static int door_make(struct host *h, enum host_kind kind, const char *path, const char *target,
		     unsigned mode)
{
	struct door *d = (struct door *)h;

	PASS_FILES(FILES, kind == HOST_DIR ? host_make_dir(d->inner, path, mode)
					   : host_make_link(d->inner, path, target));
}

static int door_remove(struct host *h, const char *path)
{
	struct door *d = (struct door *)h;

	PASS_FILES(FILES, host_remove(d->inner, path));
}

static int door_lock(struct host *h, const char *path)
{
	struct door *d = (struct door *)h;

	locked = true;
	return host_lock(d->inner, path);
}

static void door_close(struct host *h)
{
	struct door *d = (struct door *)h;

	host_close(d->inner);
	arena_free(&h->arena);
	free(d);
}

static const struct host_writes door_writes = { .write = door_write,
						.tell = door_tell,
						.put = door_put,
						.append = door_append,
						.make = door_make,
						.remove = door_remove,
						.lock = door_lock };
static const struct host_ops door_ops = { .read = door_read,
					  .link = door_link,
					  .list = door_list,
					  .kind = door_kind,
					  .ask = door_ask,
					  .close = door_close,
					  .writes = &door_writes,
					  .stat = door_stat };

struct host *door_open(struct host *inner)
{
	struct door *d = calloc(1, sizeof(*d));

	if (!d)
		out_of_memory(0);
	d->host.ops = &door_ops;
	d->host.id = inner->id;
	d->inner = inner;
	return &d->host;
}
