/* SPDX-License-Identifier: Apache-2.0 */
/* Setting one knob again: under the lock that apply and undo take, and only over the value that was
 * seen. */
#include <string.h>

#include "machine/write/write.h"
#include "machine/knob/io.h"
#include "tune/watch/guard.h"

static int reapply_lock(struct watcher *g, const char **why)
{
	struct err e = { 0 };
	int code;

	if (g->writer)
		return 0;
	g->writer = g->w->open(g->w->ctx, &e);
	if (!g->writer) {
		*why = arena_strdup(&g->round, e.text);
		return -EIO;
	}
	code = host_lock(g->writer, TXN_LOCK);
	/* Who had it before us may have changed what is ours. */
	if (code == 0 && g->w->source->ops->stamp(g->w->source) == g->stamp)
		return 0;
	guard_unlock(g);
	*why = code == -EROFS ? "changes are not possible here: the machine was opened read-only"
	       : code	      ? arena_printf(&g->round, "%s: %s", TXN_LOCK, strerror(-code))
			      : "";
	return code == 0 || code == -EWOULDBLOCK ? -EAGAIN : code;
}

void guard_unlock(struct watcher *g)
{
	host_close(g->writer);
	g->writer = NULL;
}

/* What writing it resets besides, and what was there. */
struct disturbed {
	struct knob *knobs;
	const char **before;
	size_t n;
};

static struct disturbed note_disturbed(struct watcher *g, const struct knob *k)
{
	struct disturbed d = { 0 };
	struct err ignored = { 0 };

	d.knobs = knob_disturbs(g->writer, &g->round, k, &d.n);
	d.before = arena_array(&g->round, d.n, sizeof(*d.before));
	for (size_t i = 0; i < d.n; i++)
		if (knob_get(g->writer, &g->round, &d.knobs[i], &d.before[i], &ignored))
			d.before[i] = NULL;
	return d;
}

static void reapply_put_back(struct watcher *g, const struct disturbed *d)
{
	struct err ignored = { 0 };
	const char *now;

	for (size_t i = 0; i < d->n; i++)
		if (d->before[i] &&
		    knob_get(g->writer, &g->round, &d->knobs[i], &now, &ignored) == 0 &&
		    !knob_same(&d->knobs[i], now, d->before[i]))
			/* What does not go back is seen as a change of its own, if it is ours. */
			knob_set(g->writer, &g->round, &d->knobs[i], d->before[i], &ignored);
}

static int reapply_swap(struct watcher *g, const struct watched_knob *it, const char **why)
{
	struct disturbed d = note_disturbed(g, &it->knob);
	struct err e = { 0 };
	const char *now = NULL;
	int code = knob_set(g->writer, &g->round, &it->knob, it->after, &e), got;

	reapply_put_back(g, &d);
	got = knob_get(g->writer, &g->round, &it->knob, &now, &e);
	if (got == 0 && item_compare(it, now) == SIGHT_OURS)
		return 0;
	if (code == 0 && got == -ENODATA)
		return 0;
	*why = code || got
		       ? arena_strdup(&g->round, e.text)
		       : arena_printf(&g->round, "%s was written, but it is %s", it->after, now);
	return code ? code : -EIO;
}

static int compare_and_swap(struct watcher *g, const struct watched_knob *it,
			    enum observation sight, const char *seen, const char **why)
{
	struct err e = { 0 };
	const char *now = NULL;
	int code;

	code = knob_get(g->writer, &g->round, &it->knob, &now, &e);
	/* A lock of the clocks has no getter: that it was seen is the reason. */
	if (code == -ENODATA ? sight != SIGHT_OTHER : code || !knob_same(&it->knob, now, seen))
		return -EAGAIN;
	return reapply_swap(g, it, why);
}

/* --- in a process of its own ------------------------------------------------------------------ */

enum { SWAP_MS = 60000 };

struct swapping {
	struct watcher *g;
	const struct watched_knob *it;
	enum observation sight;
	const char *seen;
};

static void swap_in_child(void *ctx, struct text *reply)
{
	const struct swapping *s = ctx;
	const char *why = "";
	int code = compare_and_swap(s->g, s->it, s->sight, s->seen, &why);

	text_addn(reply, (const char *)&code, sizeof(code));
	text_add(reply, why);
}

static int swap_apart(struct swapping *s, const char **why)
{
	TEXT_AUTO reply = { 0 };
	int code, r = apart_run(swap_in_child, s, SWAP_MS, &reply, &s->g->stuck, NULL);

	*why = r == -ETIME ? "the driver does not answer"
			   : "the process that queries the driver failed";
	if (r || reply.len < sizeof(code))
		return r ? r : -EIO;
	memcpy(&code, reply.s, sizeof(code));
	*why = arena_strndup(&s->g->round, reply.s + sizeof(code), reply.len - sizeof(code));
	return code;
}

int guard_reapply(struct watcher *g, struct watched_knob *it, enum observation sight,
		  const char *seen, const char **why)
{
	struct swapping s = { .g = g, .it = it, .sight = sight, .seen = seen };
	int code = reapply_lock(g, why);

	if (code)
		return code;
	return nvml_worker_handles(g, it) ? swap_apart(&s, why)
					  : compare_and_swap(g, it, sight, seen, why);
}
