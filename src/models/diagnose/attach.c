/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of looks: machine and GPUs by the monitor's looks, the job by what /proc says. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/attach.h"
#include "models/diagnose/read.h"
#include "base/idset.h"
#include "machine/host/command.h"

static void attach_emit(struct attach *s, enum figure_kind k, double v, int rank, const char *text)
{
	evidence_figure(s->ev, (struct metric_sample){ .kind = k,
						       .value = v,
						       .at = NAN,
						       .over_s = NAN,
						       .rank = rank,
						       .step = -1,
						       .text = text,
						       .file = s->file });
}

static void trait(struct attach *s, enum trait_kind k, const char *text, double v)
{
	evidence_trait(s->ev, (struct run_attribute){ k, text, v, -1, s->file, 0 });
}

static struct read_place place_of(const struct attach *s)
{
	return (struct read_place){ .ev = s->ev, .file = s->file, .rank = -1, .step = -1 };
}

static void machine_look(struct attach *s)
{
	const struct read_place at = place_of(s);
	struct instant f;

	monitor_look(&s->mon, s->h, &s->state, s->now_s, s->values);
	f = instant_of(&s->mon, &s->state, s->now_s, s->values, s->before_s,
		       s->looks ? s->before : NULL);
	for (size_t i = 0; i < s->mon.n; i++)
		s->rates[i] = instant_column(&f, i);
	recording_columns(&at, &s->mon, s->rates, NAN, true);
	memcpy(s->before, s->values, s->mon.n * sizeof(*s->values));
	s->before_s = s->now_s;
}

static void add_gpu_pids(struct attach *s, const struct machine *m)
{
	int *pids = NULL;

	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (const struct gpu_process, p, &g->processes) {
			ARENA_ADD(s->a, pids, s->n_gpu_pids) = (int)p->index;
		}
	s->gpu_pids = pids;
}

static const struct attach_process *attach_process_of(const struct attach *s, int pid)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].pid == pid)
			return &s->processes[i];
	return NULL;
}

enum { ENVIRON_MAX = 1 << 18, VALUE_MAX = 200 };

static bool uses_gpu(const struct attach *s, int pid)
{
	for (size_t i = 0; i < s->n_gpu_pids; i++)
		if (s->gpu_pids[i] == pid)
			return true;
	return false;
}

/* The variable's value in a block of "NAME=value\0"; NULL. */
static const char *attach_variable(const char *block, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = block; p < block + len; p += strlen(p) + 1)
		if (strncmp(p, name, n) == 0 && p[n] == '=')
			return p + n + 1;
	return NULL;
}

static bool environment(struct attach *s, struct arena *a, int pid, char **block, size_t *len)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	return host_read(s->h, path, ENVIRON_MAX, a, block, len) == 0;
}

/* A launcher's child has a number; its own children inherit it: they are workers. */
static bool attach_is_rank(struct attach *s, const struct attach_process *p)
{
	const struct attach_process *above = attach_process_of(s, p->parent);
	ARENA_AUTO own = { 0 };
	char *block;
	size_t len;
	bool yes = false;

	if (above && above->rank)
		return false;
	if (uses_gpu(s, p->pid))
		return true;
	if (!s->n_gpu_pids && environment(s, &own, p->pid, &block, &len))
		yes = attach_variable(block, len, "RANK") != NULL;
	return yes;
}

static void add_process(struct attach *s, int pid, const struct process_stat *line)
{
	struct attach_process *p;
	const struct attach_process *above;

	if (attach_process_of(s, pid) || s->n_processes >= ATTACH_PROCESSES_MAX)
		return;
	s->processes = arena_grow(s->a, s->processes, s->n_processes, sizeof(*s->processes));
	p = &s->processes[s->n_processes];
	*p = (struct attach_process){ .pid = pid, .parent = line->parent };
	snprintf(p->name, sizeof(p->name), "%s", line->name);
	p->rank = attach_is_rank(s, p);
	above = attach_process_of(s, line->parent);
	p->worker = above && (above->rank || above->worker);
	s->n_processes++;
}

/* Where processes cannot be listed, those whose numbers are known. */
static void named_ones(struct attach *s)
{
	struct process_stat line;

	for (size_t i = 0; i <= s->n_gpu_pids; i++) {
		int pid = i < s->n_gpu_pids ? s->gpu_pids[i] : s->root;

		if (pid > 0 && (!s->root || pid == s->root) &&
		    process_stat_read(s->h, pid, 0, &line))
			add_process(s, pid, &line);
	}
}

/* All processes once; whose parent belongs to the job belongs to it, whatever their order. */
static void attach_processes(struct attach *s)
{
	ARENA_AUTO own = { 0 };
	struct process_stat *lines;
	char **names;
	size_t n, before;

	if (host_list(s->h, "/proc", &own, &names, &n)) {
		named_ones(s);
		return;
	}
	lines = arena_array(&own, n + 1, sizeof(*lines));
	for (size_t i = 0; i < n; i++) {
		int pid = atoi(names[i]);

		if (pid <= 0 || !process_stat_read(s->h, pid, 0, &lines[i])) {
			lines[i].state = '\0';
			continue;
		}
		if (pid == s->root || (!s->root && uses_gpu(s, pid)))
			add_process(s, pid, &lines[i]);
	}
	do {
		before = s->n_processes;
		for (size_t i = 0; i < n; i++)
			if (lines[i].state && attach_process_of(s, lines[i].parent))
				add_process(s, atoi(names[i]), &lines[i]);
	} while (s->n_processes != before);
}

static struct attach_thread *thread_of(struct attach *s, int pid, int tid)
{
	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].tid == tid && s->threads[i].pid == pid)
			return &s->threads[i];
	if (s->n_threads >= ATTACH_THREADS_MAX)
		return NULL;
	s->threads = arena_grow(s->a, s->threads, s->n_threads, sizeof(*s->threads));
	s->threads[s->n_threads] =
		(struct attach_thread){ .pid = pid, .tid = tid, .main = pid == tid };
	return &s->threads[s->n_threads++];
}

static bool one_process(struct attach *s, struct arena *own, int pid)
{
	char path[96], **names;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (host_list(s->h, path, own, &names, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct attach_thread *t = thread_of(s, pid, atoi(names[i]));
		struct process_stat line;

		if (!t || !process_stat_read(s->h, pid, atoi(names[i]), &line))
			continue;
		if (!t->looks)
			t->first = line.ticks;
		snprintf(t->name, sizeof(t->name), "%s", line.name);
		t->last = line.ticks;
		t->looks++;
		t->waits_disk += line.state == 'D';
	}
	return n > 0;
}

static bool attach_threads(struct attach *s)
{
	ARENA_AUTO own = { 0 };
	bool any = false;

	for (size_t i = 0; i < s->n_processes; i++)
		any = one_process(s, &own, s->processes[i].pid) || any;
	return any;
}

/* "Cpus_allowed_list:	0-3" of each rank, put together. */
static double attach_cpus_allowed(struct attach *s)
{
	ARENA_AUTO own = { 0 };
	struct idset all = { 0 }, one;
	char path[64], *text, *cpus;

	for (size_t i = 0; i < s->n_processes; i++) {
		snprintf(path, sizeof(path), "/proc/%d/status", s->processes[i].pid);
		if (!s->processes[i].rank ||
		    host_read(s->h, path, ENVIRON_MAX, &own, &text, NULL) ||
		    !(cpus = str_value(&own, text, "Cpus_allowed_list", ':')) ||
		    idset_parse(&own, cpus, &one))
			continue;
		IDSET_FOR_EACH (id, &one)
			idset_add(&own, &all, id);
	}
	return all.n ? (double)idset_count(&all) : (double)NAN;
}

static void attach_environment(struct attach *s, int pid)
{
	static const char *const told[] = {
		"NCCL_ALGO",	       "NCCL_PROTO",	   "NCCL_IB_DISABLE",
		"NCCL_P2P_DISABLE",    "NCCL_SHM_DISABLE", "NCCL_NET",
		"NCCL_SOCKET_IFNAME",  "OMP_NUM_THREADS",  "CUDA_DEVICE_MAX_CONNECTIONS",
		"CUDA_LAUNCH_BLOCKING"
	};
	ARENA_AUTO own = { 0 };
	char *block;
	size_t len;

	if (environment(s, &own, pid, &block, &len))
		for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
			const char *v = attach_variable(block, len, told[i]);

			if (v)
				evidence_trait(s->ev, (struct run_attribute){
							      TRAIT_VARIABLE,
							      arena_printf(s->a, "%s=%.*s", told[i],
									   (int)VALUE_MAX, v),
							      NAN, -1, s->file, 0 });
		}
}

int attach_open(struct arena *a, struct host *h, const struct machine *m, int root,
		struct run_evidence *ev, struct attach *s, struct err *e)
{
	*s = (struct attach){ .a = a, .h = h, .root = root, .ev = ev, .file = ev->n_files };
	add_gpu_pids(s, m);
	if (!root && !s->n_gpu_pids) {
		err_set(e, -ENOENT, "no visible process uses a GPU");
		err_hint(e, "give the job's process: gputune diagnose --attach PID");
		return -ENOENT;
	}
	attach_processes(s);
	if (!s->n_processes)
		return root ? err_set(e, -ESRCH, "process %d not found", root)
			    : err_set(e, -ESRCH,
				      "the processes on the GPUs are not visible from here");
	monitor_make(a, h, m, &s->mon);
	s->values = arena_array(a, s->mon.n + 1, sizeof(*s->values));
	s->before = arena_array(a, s->mon.n + 1, sizeof(*s->before));
	s->rates = arena_array(a, s->mon.n + 1, sizeof(*s->rates));
	ARENA_ADD(a, ev->files, ev->n_files) =
		(struct evidence_file){ .path = root ? arena_printf(a, "process %d", root)
						     : "processes on GPUs",
					.format = "live processes" };
	return 0;
}

bool attach_look(struct attach *s, double now_s)
{
	enum { AGAIN = 8 };

	s->now_s = now_s;
	if (!s->looks)
		s->begun_s = now_s;
	if (s->looks && s->looks % AGAIN == 0)
		attach_processes(s);
	machine_look(s);
	s->looks++;
	s->ev->files[s->file].lines = s->ev->files[s->file].used = s->looks;
	return attach_threads(s);
}

/* Ticks of CPU that a thread took between its first and its last look. */
static double busy_of(const struct attach *s, const struct attach_thread *t)
{
	double over = s->now_s - s->begun_s;

	return over > 0 ? (double)(t->last - t->first) / 100 / over : (double)NAN;
}

/* CPUs that a process used. */
static double process_busy(const struct attach *s, int pid)
{
	double sum = 0;

	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].pid == pid && s->threads[i].looks > 1)
			sum += busy_of(s, &s->threads[i]);
	return sum;
}

/* Without a launcher's numbers and a GPU's process list, processes that compute are ranks. Parents
 * stand before their children. */
static void guess_ranks(struct attach *s)
{
	bool any = false;

	for (size_t i = 0; i < s->n_processes; i++)
		any = any || s->processes[i].rank;
	for (size_t i = 0; i < s->n_processes && !any; i++) {
		struct attach_process *p = &s->processes[i];
		const struct attach_process *above = attach_process_of(s, p->parent);

		p->worker = above && (above->rank || above->worker);
		p->rank = !p->worker && process_busy(s, p->pid) > 0.2;
	}
}

static void attach_emit_threads(struct attach *s)
{
	const struct attach_thread *top = NULL;
	double all = 0, disk = 0, mains = 0;
	size_t workers = 0;

	for (size_t i = 0; i < s->n_threads; i++) {
		const struct attach_thread *t = &s->threads[i];
		const struct attach_process *p = attach_process_of(s, t->pid);
		double busy = busy_of(s, t);

		all += isfinite(busy) ? busy : 0;
		if (!p)
			continue;
		if (p->worker && t->main) {
			workers++;
			attach_emit(s, FIGURE_THREAD_BUSY, fmin(busy, 1), -1, "loader worker");
		}
		if (!p->worker && (!top || t->last - t->first > top->last - top->first))
			top = t;
		if (p->rank && t->main && t->looks) {
			disk += (double)t->waits_disk / (double)t->looks;
			mains++;
		}
	}
	if (top)
		attach_emit(s, FIGURE_THREAD_BUSY, fmin(busy_of(s, top), 1), -1,
			    arena_printf(s->a, "thread %d (%s)", top->tid, top->name));
	attach_emit(s, FIGURE_PROCESS_CPUS, all, -1, NULL);
	if (mains > 0)
		attach_emit(s, FIGURE_WAITING_IO, disk / mains, -1, "main threads of the ranks");
	if (mains > 0)
		trait(s, TRAIT_WORKERS, arena_printf(s->a, "%zu loader workers", workers),
		      (double)workers / mains);
}

void attach_close(struct attach *s)
{
	double ranks = 0;

	recording_machine(place_of(s), &s->mon.machine);
	guess_ranks(s);
	attach_emit_threads(s);
	attach_emit(s, FIGURE_CPUS, attach_cpus_allowed(s), -1, "allowed");
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].rank) {
			ranks++;
			attach_environment(s, s->processes[i].pid);
		}
	if (ranks > 0)
		trait(s, TRAIT_WORLD_SIZE, arena_printf(s->a, "%.0f ranks run here", ranks), ranks);
	monitor_state_free(&s->state);
}

/* Processes of a job and what their threads do, by /proc alone. */
