/* SPDX-License-Identifier: Apache-2.0 */
/* Which tests there are, and running them one after the other. */
#include "measure/doctor/doctor.h"
#include "measure/bench/net/socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

/* --- the way to another machine -----------------------------------------------------------------
 * The interface by the routes; both ends' largest segment and the path's MTU by a connection: an
 * end with a smaller MTU announces a smaller segment in its first packet. Nothing is sent over it.
 */

/* The first packet may wait for an address to be resolved, and any for a busy machine: the round
 * trip of the way is the shortest of some. */
enum { DIAL_MS = 3000, DIALS = 3 };

static void by_facts(const struct machine *m, struct path_look *out)
{
	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		long long speed = fact_or(&n->speed_mbps, 0);
		bool up = fact_is(&n->operstate, "up") && *n->pci;

		if (strcmp(n->name, out->interface) == 0) {
			out->wireless = fact_or(&n->wireless, 0) != 0;
			out->speed_mbps = *n->pci && speed > 0 ? speed : 0;
		}
		if (up && speed > out->fastest_mbps) {
			out->fastest_mbps = speed;
			out->fastest = n->name;
		}
	}
}

static void by_connection(int fd, struct path_look *out)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return;
	out->path_mtu = info.tcpi_pmtu;
	out->own_segment = info.tcpi_advmss;
	out->segment = info.tcpi_snd_mss;
	if (!(out->rtt_s > 0) || info.tcpi_rtt / 1e6 < out->rtt_s)
		out->rtt_s = info.tcpi_rtt / 1e6;
}

/* 0; -errno and *e when the peer does not answer: out then holds what the routes tell. */
static int path_take(struct arena *a, const struct machine *m, const char *peer,
		     const atomic_bool *stop, struct path_look *out, struct err *e)
{
	const struct net_wait wait = { .ms = DIAL_MS, .stop = stop };
	struct net_address to;
	struct net_link link;
	int fd, r;

	*out = (struct path_look){ .to = peer, .interface = "", .fastest = "" };
	r = net_address_parse(peer, false, &to, e);
	if (r)
		return r;
	link_to(&to, &link);
	out->interface = arena_strdup(a, link.name);
	out->mtu = link.mtu;
	by_facts(m, out);
	for (int i = 0; i < DIALS; i++) {
		fd = net_dial(&to, 0, &wait);
		if (fd < 0 && i == 0)
			return err_set(e, fd, "%s does not answer: %s", to.text, strerror(-fd));
		if (fd < 0)
			break;
		by_connection(fd, out);
		net_drop(fd);
	}
	return 0;
}

/* Less would take memory that running programs may need. */
enum { SPARE_KB = 2 << 20, BUSY_PERCENT = 20 };

/* Cases a test may have on an ordinary machine, for the estimate of its time. */
enum { OVERHEAD_S = 1 };

const struct doctor_test doctor_tests[TESTS] = {
	[TEST_GPU_LOAD] = { TEST_GPU_LOAD, "gpu-load", "gpu-load", "signature", 12, NEED_GPU,
			    false },
	[TEST_GPU_COPY] = { TEST_GPU_COPY, "gpu-copy", "copy", "h2d:gpu", 1, NEED_GPU, false },
	[TEST_GPU_MEMORY] = { TEST_GPU_MEMORY, "gpu-memory", "gpu-memory", "copy:gpu", 1, NEED_GPU,
			      false },
	[TEST_GPU_STEADY] = { TEST_GPU_STEADY, "gpu-steady", "gpu-memory", "read:gpu", 60, NEED_GPU,
			      true },
	[TEST_MEMORY_ONE] = { TEST_MEMORY_ONE, "memory-bandwidth-1", "memory-bandwidth",
			      "triad:1-thread", 1, NEED_NOTHING, false },
	[TEST_MEMORY_PAGES] = { TEST_MEMORY_PAGES, "memory-latency-huge", "memory-latency",
				"64MiB:huge", 0.6, NEED_NOTHING, false },
	[TEST_CPU_CLOCK] = { TEST_CPU_CLOCK, "cpu-frequency", "cpu-frequency", NULL, 0.5,
			     NEED_NOTHING, false },
	[TEST_WAKE] = { TEST_WAKE, "idle-wake-up", "idle-wake-up", "10m", 0.6, NEED_NOTHING,
			false },
	[TEST_TIMER] = { TEST_TIMER, "timer-wake-up", "timer-wake-up", "1ms", 0.6, NEED_NOTHING,
			 false },
	[TEST_TCP] = { TEST_TCP, "tcp", "tcp", "send:1", 2, NEED_PEER, false },
	[TEST_TCP_BACK] = { TEST_TCP_BACK, "tcp-back", "tcp", "receive:1", 2, NEED_PEER, false },
	[TEST_TCP_IDLE] = { TEST_TCP_IDLE, "tcp-idle", "tcp-idle", NULL, 2, NEED_PEER, false },
	[TEST_RDMA] = { TEST_RDMA, "rdma", "rdma", "write:1MiB", 2, NEED_PEER, false },
	[TEST_PATH] = { TEST_PATH, "path", NULL, NULL, 1, NEED_PEER, false },
	[TEST_FILES] = { TEST_FILES, "model-load", "model-load", "cold:", 2, NEED_FILES, false },
	[TEST_DISK] = { TEST_DISK, "disk", "disk", "read-", 2, NEED_DIR, false },
};

static const char *gpu_gate(struct arena *a, const struct machine *m)
{
	if (!m->gpu.gpus.n)
		return machine_no_gpu(a, m);
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			if (fact_is(&p->kind, "compute"))
				return arena_printf(a,
						    "GPU %u is in use by process %u (%s), which "
						    "the test would disturb",
						    g->index, p->index,
						    fact_text(&p->command, "unnamed"));
		if (fact_or(&g->util_gpu_pct, 0) >= BUSY_PERCENT)
			return arena_printf(
				a, "GPU %u is %lld %% busy, and the test would disturb its job",
				g->index, g->util_gpu_pct.v);
	}
	return NULL;
}

const char *doctor_test_gate(struct arena *a, const struct machine *m, const struct bench_ask *ask,
			     enum doctor_need need)
{
	if (need == NEED_PEER && !ask->peer)
		return "requires another machine that runs \"gputune bench serve\": --peer and "
		       "--token";
	if (need == NEED_FILES && !ask->files)
		return "requires files to read: --files";
	if (need == NEED_DIR && !ask->dir)
		return "requires a folder for a test file: --dir";
	if (need == NEED_GPU && gpu_gate(a, m))
		return gpu_gate(a, m);
	if ((need == NEED_GPU || need == NEED_NOTHING) && seen_ok(&m->memory.available_kb.f) &&
	    m->memory.available_kb.v < SPARE_KB)
		return arena_printf(a,
				    "only %lld MiB of memory are available, and the test would use "
				    "part of them",
				    m->memory.available_kb.v / 1024);
	return NULL;
}

double doctor_tests_seconds(const struct doctor_plan *p)
{
	double out = 0;

	for (unsigned t = 0; t < TESTS; t++)
		if ((p->tests & TEST_BIT(t)) && (p->named || !doctor_tests[t].by_name))
			out += OVERHEAD_S + (p->seconds > 0 ? p->seconds : doctor_tests[t].seconds);
	return out;
}

static const char *run_path(struct frame *f, struct path_look **path)
{
	struct arena *a = f->env.a;
	struct path_look *p = ARENA_NEW(a, struct path_look);
	struct err e = { 0 };

	if (path_take(a, f->env.m, f->env.ask.peer, f->env.stop, p, &e))
		return arena_strdup(a, e.text);
	*path = p;
	return NULL;
}

static const char *doctor_test_run_bench(struct frame *f, const struct doctor_test *t,
					 double seconds, struct record *r)
{
	const struct bench *b = bench_find(t->bench);
	size_t skipped = r->n_skipped, first = r->n;
	const char *error = NULL;
	int code;

	f->seconds = seconds > 0 ? seconds : t->seconds;
	code = frame_run(f, b, t->cases, r);
	if (code == -ENOENT)
		return arena_printf(f->env.a, "%s has no case %s here", t->bench, t->cases);
	if (code == -ENODATA || code == -EINVAL)
		return r->n_skipped > skipped ? r->skipped[r->n_skipped - 1].reason
					      : "nothing to measure here";
	/* What gave figures and was then found wrong or ill did run. */
	for (size_t i = first; i < r->n; i++) {
		if (r->cases[i].n)
			return NULL;
		error = r->cases[i].error;
	}
	return error ? error : "interrupted";
}

void doctor_run_tests(struct frame *f, const struct doctor_plan *p, struct record *r,
		      const char *why[TESTS], struct path_look **path)
{
	for (unsigned t = 0; t < TESTS; t++) {
		const struct doctor_test *test = &doctor_tests[t];

		why[t] = "not requested";
		if (!(p->tests & TEST_BIT(t)))
			continue;
		why[t] = p->forbidden
				 ? p->forbidden
				 : doctor_test_gate(f->env.a, f->env.m, &f->env.ask, test->need);
		if (why[t])
			continue;
		if (test->by_name && !p->named)
			why[t] = arena_printf(
				f->env.a, "takes %.0f s, so it only runs if its symptom is named",
				test->seconds);
		else if (f->env.stop && atomic_load(f->env.stop))
			why[t] = "interrupted before it started";
		else
			why[t] = test->bench ? doctor_test_run_bench(f, test, p->seconds, r)
					     : run_path(f, path);
	}
}
