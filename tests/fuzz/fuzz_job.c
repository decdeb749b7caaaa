/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any texts as /proc of a job that is looked at from outside, as files of systemd units, and as
 * what scontrol says of a node: sections as in fuzz_host.h, over a captured machine. What is seen
 * is finite and within its bounds; names of units and links stay where units are.
 */
#include <math.h>
#include <stdint.h>

#include "base/text.h"
#include "models/diagnose/attach.h"
#include "many/fleet/node.h"
#include "fuzz_host.h"
#include "machine/host/unit_file.h"
#include "look/probe/probe.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { JOB = 100 };

static const struct machine *machine(struct fuzz_host *h)
{
	static struct machine *m;

	if (m)
		return m;
	m = ARENA_NEW(h->keep, struct machine);
	probe_machine(&(struct probe){ .h = h->base, .a = h->keep, .m = m, .lean = true });
	return m;
}

static void job(struct fuzz_host *h, struct arena *a, int root)
{
	struct run_evidence ev = { .arena = a };
	struct attach *s = ARENA_NEW(a, struct attach);
	struct err e = { 0 };
	double now = 1;

	if (attach_open(a, &h->host, machine(h), root, &ev, s, &e)) {
		if (!*e.text)
			abort();
		return;
	}
	for (int i = 0; i < 2 && attach_look(s, now); i++)
		now += 1;
	if (s->n_threads > ATTACH_THREADS_MAX || s->n_processes > ATTACH_PROCESSES_MAX)
		abort();
	attach_close(s);
	for (size_t i = 0; i < ev.n_figures; i++)
		if (!isfinite(ev.figures[i].value) || ev.figures[i].file >= ev.n_files)
			abort();
}

static void units(struct fuzz_host *h, struct arena *a)
{
	static const char *const names[] = { "x.service", "a@b.service" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = NULL, **links = NULL;
		size_t n = 0;

		unit_is_masked(&h->host, names[i]);
		if (unit_file_find(&h->host, a, names[i], &path))
			continue;
		unit_file_is_generated(path);
		if (unit_file_links(&h->host, a, names[i], path, &links, &n) == 0)
			for (size_t k = 0; k < n; k++)
				if (!str_starts(links[k], UNIT_ETC "/") || strstr(links[k], "/../"))
					abort();
		unit_links(&h->host, a, names[i], &links, &n);
		unit_cgroup(&h->host, a, names[i]);
	}
}

static void slurm(struct fuzz_host *h, struct arena *a)
{
	const struct section *x = map_get(&h->said, "scontrol");
	struct node_state state = { 0 };
	struct err e = { 0 };
	const char *reason;

	if (!x)
		return;
	if (node_parse(a, "gpu1", arena_strndup(a, x->s, x->n), &state, &e)) {
		if (!*e.text)
			abort();
		return;
	}
	if (!state.state || !state.reason)
		abort();
	reason = node_reason(a, state.reason);
	if (strlen(reason) > NODE_REASON_MAX || !str_starts(reason, NODE_MARK))
		abort();
	for (const char *c = reason; *c; c++)
		if (*c < ' ' || *c > '~')
			abort();
	/* Somebody else's drain is never taken back, and what he took out is not made ours. */
	if (state.drained && !state.ours && node_decide(&state, NULL) == NODE_UNDRAIN)
		abort();
	if ((state.drained || state.out) && !state.ours &&
	    node_decide(&state, "gputune: x") == NODE_DRAIN)
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct fuzz_host h;
	struct arena a = { 0 };

	if (!h.base)
		fuzz_host_open(&h, "nothing");
	fuzz_host_say(&h, data, size);
	job(&h, &a, JOB);
	job(&h, &a, 0);
	units(&h, &a);
	slurm(&h, &a);
	arena_free(&a);
	return 0;
}
