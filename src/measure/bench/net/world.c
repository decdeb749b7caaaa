/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and answers between processes that have found each other. */
#include "measure/bench/net/world_inside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAME_MS = 5000, LOOK_MS = 20 };

bool world_leads(const struct world *w)
{
	return w->rank == 0;
}

unsigned world_total(const struct world *w)
{
	return w->total;
}

size_t world_machines(const struct world *w)
{
	size_t n = 0;

	for (unsigned i = 0; i < w->ranks; i++) {
		bool seen = false;

		for (unsigned k = 0; k < i; k++)
			seen = seen || w->member[k].join.machine == w->member[i].join.machine;
		n += !seen;
	}
	return n;
}

const char *world_text(struct arena *a, const struct world *w)
{
	size_t n = world_machines(w);

	return arena_printf(a, "%u processes on %zu machine%s", w->ranks, n, n > 1 ? "s" : "");
}

const char *world_placement(struct arena *a, const struct world *w)
{
	const char *text = "";

	for (unsigned i = 0; i < w->ranks; i++)
		text = arena_printf(a, "%s%srank %u: %u GPU%s of %s", text, i ? "; " : "", i,
				    w->member[i].join.gpus, w->member[i].join.gpus > 1 ? "s" : "",
				    w->member[i].join.text);
	return text;
}

/* --- rank 0 -------------------------------------------------------------------------------------
 */

void world_break(struct world *w, const char *why)
{
	if (!*w->over)
		snprintf(w->over, sizeof(w->over), "%s", why);
	for (unsigned i = 0; i < w->ranks; i++) {
		if (w->member[i].frames.fd >= 0)
			close(w->member[i].frames.fd);
		w->member[i].frames.fd = -1;
	}
}

int world_tell(struct world *w, const struct frame_order *o, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_ORDER, .order = *o };
	unsigned first = w->member[0].join.gpus;

	if (*w->over)
		return err_set(e, -ECONNRESET, "%s", w->over);
	f.order.total = w->total;
	for (unsigned i = 1; i < w->ranks; i++) {
		struct member *m = &w->member[i];
		int r;

		f.order.first = first;
		first += m->join.gpus;
		m->answered = false;
		r = frames_put(&m->frames, &f, FRAME_MS);
		if (r) {
			err_set(e, r, "%s is not there any more: %s", m->name, strerror(-r));
			world_break(w, e->text);
			return r;
		}
	}
	return 0;
}

/* What has come from one of them, waiting at most that long for the first byte. */
static void hear(struct member *m, int ms)
{
	struct pollfd p = { .fd = m->frames.fd, .events = POLLIN | POLLRDHUP };
	struct wire_frame f;
	int r;

	if (m->answered || m->gone || poll(&p, 1, ms) <= 0)
		return;
	r = frames_get(&m->frames, &f, FRAME_MS);
	if (r == 0 && f.kind == FRAME_DONE) {
		m->done = f.done;
		m->answered = true;
	} else {
		m->gone = r ? r : -EBADMSG;
	}
}

bool world_trouble(struct world *w)
{
	struct pollfd p = { .fd = w->member[0].frames.fd, .events = POLLRDHUP };

	if (*w->over)
		return true;
	if (w->rank)
		return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
	for (unsigned i = 1; i < w->ranks; i++) {
		struct member *m = &w->member[i];

		hear(m, 0);
		if (m->gone || (m->answered && m->done.error))
			return true;
	}
	return false;
}

static int gone(struct world *w, const struct member *m, const char *what, struct err *e)
{
	int r = m->gone == -EBADMSG || m->gone == -EKEYREJECTED ? m->gone : -ECONNRESET;

	if (r == -ECONNRESET)
		err_set(e, r,
			"%s vanished during %s: its process ended, or its machine cannot be "
			"reached any more",
			m->name, what);
	else
		err_set(e, r, "what %s sent cannot be understood", m->name);
	world_break(w, e->text);
	return r;
}

/* Who failed; one that only gave up because of others (-ECANCELED) where there is no better. */
static const struct member *failed(const struct world *w)
{
	const struct member *victim = NULL;

	for (unsigned i = 1; i < w->ranks; i++) {
		const struct member *m = &w->member[i];

		if (m->answered && m->done.error && m->done.error != ECANCELED)
			return m;
		if (m->answered && m->done.error)
			victim = m;
	}
	return victim;
}

/* Who is gone comes before who failed: the others fail because of it. */
static int judge(struct world *w, const char *what, struct frame_done *out, struct err *e)
{
	const struct member *bad = failed(w);

	*out = (struct frame_done){ 0 };
	for (unsigned i = 1; i < w->ranks; i++)
		if (w->member[i].gone)
			return gone(w, &w->member[i], what, e);
	if (bad)
		return err_set(e, -(int)bad->done.error, "%s: %s", bad->name, bad->done.text);
	for (unsigned i = 1; i < w->ranks; i++) {
		const struct member *m = &w->member[i];

		if (!m->answered)
			continue;
		if (m->done.picoseconds > out->picoseconds)
			out->picoseconds = m->done.picoseconds;
		out->flags |= m->done.flags;
		if (strlen(m->done.text) > strlen(out->text))
			memcpy(out->text, m->done.text, sizeof(out->text));
	}
	return 0;
}

int world_gather(struct world *w, double limit_s, const char *what, struct frame_done *out,
		 struct err *e)
{
	long long end = net_now_ms() + (long long)(limit_s * 1e3);
	const struct member *late;
	int r;

	if (*w->over)
		return err_set(e, -ECONNRESET, "%s", w->over);
	do {
		late = NULL;
		for (unsigned i = 1; i < w->ranks; i++) {
			struct member *m = &w->member[i];

			hear(m, late ? 0 : LOOK_MS);
			late = m->answered || m->gone ? late : m;
		}
		if (late && world_trouble(w) && end > net_now_ms() + WORLD_GRACE_MS)
			end = net_now_ms() + WORLD_GRACE_MS;
	} while (late && net_now_ms() < end);
	r = judge(w, what, out, e);
	if (r == 0 && late) {
		r = err_set(e, -ETIME, "%s did not answer within %.0f s, %s", late->name, limit_s,
			    what);
		world_break(w, e->text);
	}
	return r;
}

double world_near_cpu_s(const struct world *w)
{
	double sum = 0;

	for (unsigned i = 1; i < w->ranks; i++)
		if (w->member[i].join.machine == w->member[0].join.machine)
			sum += (double)w->member[i].done.cpu_ns / 1e9;
	return sum;
}

/* --- the others ---------------------------------------------------------------------------------
 */

int world_next(struct world *w, struct frame_order *out, struct err *e)
{
	struct member *lead = &w->member[0];
	struct wire_frame f = { 0 };
	int r = frames_get(&lead->frames, &f, WORLD_QUIET_S * 1000);

	if (r)
		return handshake_fail(lead->name, r, "before it said good-bye", e);
	if (f.kind == FRAME_BYE)
		return 1;
	if (f.kind == FRAME_ERROR)
		return err_set(e, -ECANCELED, "%s says: %s", lead->name, f.error.text);
	if (f.kind != FRAME_ORDER)
		return err_set(e, -EBADMSG, "%s sent what rank 0 never sends", lead->name);
	*out = f.order;
	return 0;
}

int world_answer(struct world *w, const struct frame_done *d, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_DONE, .done = *d };
	int r;

	f.done.cpu_ns = net_cpu_ns() - w->cpu_ns;
	r = frames_put(&w->member[0].frames, &f, FRAME_MS);
	return r ? handshake_fail(w->member[0].name, r, "telling it how it went", e) : 0;
}

void world_close(struct world *w)
{
	struct wire_frame bye = { .kind = FRAME_BYE };

	if (!w)
		return;
	for (unsigned i = 1; w->rank == 0 && i < w->ranks; i++)
		if (w->member[i].frames.fd >= 0)
			frames_put(&w->member[i].frames, &bye, FRAME_MS);
	for (unsigned i = 0; i < w->ranks; i++) {
		if (w->member[i].frames.fd >= 0)
			close(w->member[i].frames.fd);
		explicit_bzero(&w->member[i].frames, sizeof(w->member[i].frames));
	}
	free(w);
}
