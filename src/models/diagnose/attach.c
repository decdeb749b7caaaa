/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of looks: machine and GPUs by the monitor's looks, the job by attach_proc.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/attach_proc.h"

/* The driver's bits of why the clock is not higher, as far as something holds it down. */
static const struct {
	unsigned long long bits;
	const char *text;
} reasons[] = {
	{ 0x04, "power cap" },
	{ 0x20 | 0x40, "too warm" },
	{ 0x80, "power brake" },
};

/* What a column of the monitor is a figure of. */
static const struct {
	const char *column;
	enum figure_kind kind;
	double factor;
} gauges[] = {
	{ "gpu.busy", FIGURE_GPU_UTIL, 0.01 },	     { "gpu.power", FIGURE_GPU_POWER_W, 1 },
	{ "gpu.sm-clock", FIGURE_SM_MHZ, 1 },	     { "gpu.temperature", FIGURE_GPU_C, 1 },
	{ "gpu.memory-used", FIGURE_GPU_MEMORY, 1 }, { "cpu.busiest", FIGURE_CPU_ONE_MAX, 0.01 },
	{ "pressure.io", FIGURE_WAITING_IO, 1 },
};

static void tell(struct attach *s, enum figure_kind k, double v, int rank, const char *text)
{
	evidence_figure(s->ev, (struct figure_seen){ .kind = k,
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
	evidence_trait(s->ev, (struct trait_seen){ k, text, v, -1, s->file, 0 });
}

static int gpu_of(const char *target)
{
	return strncmp(target, "gpu", 3) == 0 ? atoi(target + 3) : -1;
}

static void tell_reasons(struct attach *s, double bits, int gpu)
{
	if (!(bits >= 0 && bits < 0x1p64))
		return;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		tell(s, FIGURE_THROTTLED, ((unsigned long long)bits & reasons[i].bits) != 0, gpu,
		     reasons[i].text);
}

static void machine_look(struct attach *s)
{
	struct instant f;
	double net = NAN, disk = NAN;

	monitor_look(&s->mon, s->h, &s->state, s->now_s, s->values);
	f = instant_of(&s->mon, &s->state, s->now_s, s->values, s->before_s,
		       s->looks ? s->before : NULL);
	for (size_t i = 0; i < s->mon.n; i++) {
		const char *name = s->mon.columns[i].type->name, *target = s->mon.columns[i].target;
		double v = instant_column(&f, i);

		for (size_t k = 0; k < sizeof(gauges) / sizeof(gauges[0]); k++)
			if (strcmp(gauges[k].column, name) == 0)
				tell(s, gauges[k].kind, gauges[k].factor * v, gpu_of(target), NULL);
		if (strcmp(name, "gpu.reasons") == 0)
			tell_reasons(s, v, gpu_of(target));
		if (strcmp(name, "cpu.busy") == 0 && s->mon.machine.cpus)
			tell(s, FIGURE_CPU_BUSY, v / s->mon.machine.cpus, -1, NULL);
		if (strcmp(name, "net.received") == 0 || strcmp(name, "rdma.received") == 0)
			net = fmax(net, 1e-9 * v);
		if (strcmp(name, "disk.read") == 0)
			disk = fmax(disk, 1e-9 * v);
	}
	tell(s, FIGURE_NET_GBS, net, -1, NULL);
	tell(s, FIGURE_DISK_GBS, disk, -1, NULL);
	memcpy(s->before, s->values, s->mon.n * sizeof(*s->values));
	s->before_s = s->now_s;
}

static void machine_tell(struct attach *s)
{
	for (size_t i = 0; i < s->mon.machine.n_gpus; i++) {
		const struct monitor_gpu *g = &s->mon.machine.gpus[i];

		if (g->name)
			trait(s, TRAIT_GPU, g->name, NAN);
		if (g->sm_max_mhz > 0)
			tell(s, FIGURE_SM_MAX_MHZ, g->sm_max_mhz, (int)g->index, NULL);
		if (g->memory_bytes > 0 && !g->integrated)
			tell(s, FIGURE_GPU_MEMORY_TOTAL, g->memory_bytes, (int)g->index, NULL);
		if (g->power_limit_w > 0)
			tell(s, FIGURE_GPU_POWER_LIMIT_W, g->power_limit_w, (int)g->index, NULL);
	}
	if (s->mon.machine.cpus)
		tell(s, FIGURE_CPUS, s->mon.machine.cpus, -1, NULL);
}

static void add_gpu_pids(struct attach *s, const struct machine *m)
{
	int *pids = NULL;

	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (const struct gpu_process, p, &g->processes) {
			pids = arena_grow(s->a, pids, s->n_gpu_pids, sizeof(*pids));
			pids[s->n_gpu_pids++] = (int)p->index;
		}
	s->gpu_pids = pids;
}

int attach_open(struct arena *a, struct host *h, const struct machine *m, int root,
		struct evidence *ev, struct attach *s, struct err *e)
{
	*s = (struct attach){ .a = a, .h = h, .root = root, .ev = ev, .file = ev->n_files };
	add_gpu_pids(s, m);
	if (!root && !s->n_gpu_pids) {
		err_set(e, -ENOENT, "no process is seen to use a GPU");
		err_hint(e, "name the job's process: gputune diagnose --attach PID");
		return -ENOENT;
	}
	attach_processes(s);
	if (!s->n_processes)
		return root ? err_set(e, -ESRCH, "there is no process %d", root)
			    : err_set(e, -ESRCH, "of the processes on GPUs none can be seen here");
	monitor_make(a, h, m, &s->mon);
	s->values = arena_array(a, s->mon.n + 1, sizeof(*s->values));
	s->before = arena_array(a, s->mon.n + 1, sizeof(*s->before));
	ev->files = arena_grow(a, ev->files, ev->n_files, sizeof(*ev->files));
	ev->files[ev->n_files++] =
		(struct evidence_file){ .path = root ? arena_printf(a, "process %d", root)
						     : "processes on GPUs",
					.format = "look at what runs" };
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

/* No launcher numbered the ranks and no GPU tells: those that compute are taken for them. Parents
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

static void tell_threads(struct attach *s)
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
			tell(s, FIGURE_THREAD_BUSY, fmin(busy, 1), -1, "loader worker");
		}
		if (!p->worker && (!top || t->last - t->first > top->last - top->first))
			top = t;
		if (p->rank && t->main && t->looks) {
			disk += (double)t->waits_disk / (double)t->looks;
			mains++;
		}
	}
	if (top)
		tell(s, FIGURE_THREAD_BUSY, fmin(busy_of(s, top), 1), -1,
		     arena_printf(s->a, "thread %d (%s)", top->tid, top->name));
	tell(s, FIGURE_PROCESS_CPUS, all, -1, NULL);
	if (mains > 0)
		tell(s, FIGURE_WAITING_IO, disk / mains, -1, "main threads of the ranks");
	if (mains > 0)
		trait(s, TRAIT_WORKERS, arena_printf(s->a, "%zu loader workers are seen", workers),
		      (double)workers / mains);
}

void attach_close(struct attach *s)
{
	double ranks = 0;

	machine_tell(s);
	guess_ranks(s);
	tell_threads(s);
	tell(s, FIGURE_CPUS, attach_cpus_allowed(s), -1, "allowed");
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].rank) {
			ranks++;
			attach_environment(s, s->processes[i].pid);
		}
	if (ranks > 0)
		trait(s, TRAIT_WORLD_SIZE, arena_printf(s->a, "%.0f ranks run here", ranks), ranks);
	monitor_state_free(&s->state);
}
