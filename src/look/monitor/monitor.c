/* SPDX-License-Identifier: Apache-2.0 */
/* The plan, and one look at all of it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look/monitor/monitor.h"
#include "look/settings/predicates.h"

/* A wake-up comes a little early or late: what is asked once a second is not left out for it. */
#define EARLY 0.95

static enum monitor_beat beat_of(double every_s)
{
	enum monitor_beat b = BEAT_RARE;

	while (b > BEAT_LOOK && every_s < beat_seconds[b])
		b--;
	return b;
}

/* Adds one column; the types by name. */
static void look_column(struct arena *a, struct monitor *mon, const char *type, const char *target)
{
	const struct column_type *t = column_type_find(type);

	if (!t || mon->n == MONITOR_COLUMNS_MAX)
		return;
	mon->columns = arena_grow(a, mon->columns, mon->n, sizeof(*mon->columns));
	/* A column is added right after its look. */
	mon->columns[mon->n++] = (struct column_of){
		t, target, mon->n_looks ? beat_of(mon->looks[mon->n_looks - 1].every_s) : BEAT_LOOK
	};
}

static struct look *look_add(struct arena *a, struct monitor *mon)
{
	mon->looks = arena_grow(a, mon->looks, mon->n_looks, sizeof(*mon->looks));
	mon->looks[mon->n_looks] = (struct look){ .first = mon->n };
	return &mon->looks[mon->n_looks++];
}

/* A file of the kernel's, whole, until the next call; NULL: not readable. */
static const char *look_file(struct host *h, const char *path, struct monitor_state *s)
{
	if (!s->file)
		s->file = malloc(HOST_READ_MAX);
	return s->file && host_read_line(h, path, s->file, HOST_READ_MAX) == 0 ? s->file : NULL;
}

static const char *text_of(struct arena *a, const struct fact_str *f)
{
	return f->v ? arena_strdup(a, f->v) : NULL;
}

/* NULL: no memory, and nothing is remembered. */
static double *row_of_nothing(size_t n)
{
	double *row = malloc((n ? n : 1) * sizeof(*row));

	for (size_t i = 0; row && i < n; i++)
		row[i] = NAN;
	return row;
}

/* True when it is time for a beat; remembers how it was. */
static bool beat_due(struct beat_asked *b, bool all, double every_s, const double *last, size_t n,
		     double now_s)
{
	if (b->at_s > 0 && !all && now_s < b->at_s + EARLY * every_s)
		return false;
	if (b->at_s > 0 && last) {
		if (!b->before)
			b->before = row_of_nothing(n);
		if (b->before)
			memcpy(b->before, last, n * sizeof(*last));
		b->before_s = b->at_s;
	}
	b->at_s = now_s;
	return true;
}

/* True when it is time for this look. due: of the next one; NULL: not remembered. */
static bool look_due(const struct look *l, double *due, const bool beats[], double now_s)
{
	enum monitor_beat b = beat_of(l->every_s);

	if (b != BEAT_LOOK)
		return beats[b];
	if (l->every_s <= 0 || !due)
		return true;
	if (now_s < *due)
		return false;
	*due = now_s + EARLY * l->every_s;
	return true;
}

void monitor_look(const struct monitor *mon, struct host *h, struct monitor_state *s, double now_s,
		  double *values)
{
	bool beats[BEATS] = { true };

	for (size_t b = BEAT_SLOW; b < BEATS; b++)
		beats[b] = beat_due(&s->beats[b], s->all, beat_seconds[b], s->last, mon->n, now_s);
	if (!s->last) {
		s->last = row_of_nothing(mon->n);
		s->due_s = calloc(mon->n_looks + 1, sizeof(*s->due_s));
		s->refused_s = calloc(mon->n + 1, sizeof(*s->refused_s));
	}
	s->now_s = now_s;
	for (size_t i = 0; i < mon->n; i++)
		values[i] = s->last ? s->last[i] : (double)NAN;
	for (size_t i = 0; i < mon->n_looks; i++)
		if (look_due(&mon->looks[i], s->due_s ? &s->due_s[i] : NULL, beats, now_s))
			mon->looks[i].take(&mon->looks[i], h, s, values + mon->looks[i].first);
	if (s->last)
		memcpy(s->last, values, mon->n * sizeof(*values));
}

struct instant instant_of(const struct monitor *mon, const struct monitor_state *s, double at_s,
			  const double *now, double before_s, const double *before)
{
	struct instant out = {
		.mon = mon, .at_s = at_s, .before_s = before_s, .now = now, .before = before
	};

	memcpy(out.beats, s->beats, sizeof(out.beats));
	return out;
}

void monitor_state_free(struct monitor_state *s)
{
	free(s->busy);
	free(s->total);
	free(s->last);
	free(s->due_s);
	free(s->refused_s);
	for (size_t b = 0; b < BEATS; b++)
		free(s->beats[b].before);
	free(s->file);
	*s = (struct monitor_state){ 0 };
}

/* GPUs, by NVML: each question as often as its answer can change, since the answers are what a look
 * costs. */

#define FIELD(name) "nvmlDeviceGetFieldValues(" name ")"
#define REASON(name) FIELD("CLOCKS_EVENT_REASON_" name)

struct gpu_question {
	const char *type;
	const char *ask, *plus; /* plus: added to it, where the driver counts it */
	double factor;
};

/* Questions that are asked equally often. */
struct gpu_tier {
	double every_s;
	const struct gpu_question *q;
	size_t n;
};

static const struct gpu_question each[] = {
	{ "gpu.sm-clock", "nvmlDeviceGetClockInfo(SM)", NULL, 1 },
	{ "gpu.reasons", "nvmlDeviceGetCurrentClocksEventReasons", NULL, 1 },
};
/* The driver takes both as means of its own: power of the last second (from Ampere on, but for the
 * A100), use of the last sixth of a second to a second (nvml.h). Asking more often tells nothing.
 */
static const struct gpu_question paced[] = {
	{ "gpu.power", "nvmlDeviceGetPowerUsage", NULL, 1e-3 },
	{ "gpu.busy", "nvmlDeviceGetUtilizationRates.gpu", NULL, 1 },
	{ "gpu.memory-busy", "nvmlDeviceGetUtilizationRates.memory", NULL, 1 },
};
static const struct gpu_question slow[] = {
	{ "gpu.temperature", "nvmlDeviceGetTemperature(GPU)", NULL, 1 },
	{ "gpu.memory-used", "nvmlDeviceGetMemoryInfo.used", NULL, 1 },
	/* The driver counts nanoseconds. */
	{ "gpu.capped", REASON("SW_POWER_CAP"), NULL, 1e-9 },
};
/* What costs the driver much (measured on an H200, 580.159: link width 0.12 ms, PCIe bytes 0.7 ms,
 * hardware's slowing down 1.1 ms, NVLink's 3.0 ms; the others 0.03 to 0.08 ms), and what changes
 * with the state of power or with who works here. */
static const struct gpu_question rare[] = {
	{ "gpu.warm", REASON("SW_THERM_SLOWDOWN"), REASON("HW_THERM_SLOWDOWN"), 1e-9 },
	{ "gpu.brake", REASON("HW_POWER_BRAKE_SLOWDOWN"), NULL, 1e-9 },
	{ "gpu.pcie-sent", FIELD("PCIE_COUNT_TX_BYTES"), NULL, 1 },
	{ "gpu.pcie-received", FIELD("PCIE_COUNT_RX_BYTES"), NULL, 1 },
	{ "gpu.nvlink-sent", FIELD("NVLINK_THROUGHPUT_DATA_TX"), NULL, 1024 },
	{ "gpu.nvlink-received", FIELD("NVLINK_THROUGHPUT_DATA_RX"), NULL, 1024 },
	{ "gpu.memory-clock", "nvmlDeviceGetClockInfo(MEM)", NULL, 1 },
	{ "gpu.link-generation", "nvmlDeviceGetCurrPcieLinkGeneration", NULL, 1 },
	{ "gpu.link-width", "nvmlDeviceGetCurrPcieLinkWidth", NULL, 1 },
	{ "gpu.processes", "nvmlDeviceGetComputeRunningProcesses", NULL, 1 },
};

#define TIER(s, list)                                                                              \
	{                                                                                          \
		(s), (list), sizeof(list) / sizeof((list)[0])                                      \
	}
static const struct gpu_tier tiers[] = { TIER(0, each), TIER(0.25, paced), TIER(LOOK_SLOW_S, slow),
					 TIER(LOOK_RARE_S, rare) };

/* What this driver does not know for this GPU is asked again after a minute. */
enum { REFUSED_S = 60 };

static void monitor_monitor_take(const struct look *l, struct host *h, struct monitor_state *s,
				 double *out)
{
	for (size_t i = 0; i < l->tier->n; i++) {
		const struct gpu_question *q = &l->tier->q[i];
		double *refused = s->refused_s ? &s->refused_s[l->first + i] : NULL;
		long long v, more = 0;
		int e;

		out[i] = NAN;
		if (refused && *refused > 0 && s->now_s < *refused + REFUSED_S)
			continue;
		e = host_ask_int(h, "nvml", l->target, q->ask, &v);
		if (refused)
			*refused = e == -EOPNOTSUPP ? s->now_s : 0;
		if (e)
			continue;
		e = q->plus ? host_ask_int(h, "nvml", l->target, q->plus, &more) : 0;
		/* Half of a total now and all of it next time would be a rate of its own. */
		if (e == 0 || e == -EOPNOTSUPP)
			out[i] = (double)(v + more) * q->factor;
	}
}

static void monitor_monitor_add(struct arena *a, struct monitor *mon, const struct gpu *g,
				const struct gpu_tier *t)
{
	const char *target = arena_printf(a, "gpu%u", g->index);
	struct look *l = look_add(a, mon);

	l->take = monitor_monitor_take;
	l->tier = t;
	l->every_s = t->every_s;
	l->target = arena_printf(a, "%u", g->index);
	for (size_t i = 0; i < t->n; i++)
		look_column(a, mon, t->q[i].type, target);
}

static void monitor_monitor_describe(struct arena *a, const struct gpu *g, struct monitor_gpu *out)
{
	const char *lock = fact_text(&g->clock_sm_lock, "");

	*out = (struct monitor_gpu){
		.index = g->index,
		.name = g->name.v ? arena_strdup(a, g->name.v) : NULL,
		.sm_max_mhz = (double)fact_or(&g->clock_sm_max_mhz, -1),
		.lock_low_mhz = -1,
		.lock_high_mhz = -1,
		.power_limit_w = 1e-3 * (double)fact_or(&g->power_limit_enforced_mw, -1),
		.memory_bytes = (double)fact_or(&g->memory_bytes, -1),
		.slowdown_c = (double)gpu_heat(g).limit_c,
		.integrated = fact_or(&g->integrated, 0) == 1,
	};
	if (sscanf(lock, "%lf,%lf", &out->lock_low_mhz, &out->lock_high_mhz) != 2)
		out->lock_low_mhz = out->lock_high_mhz = -1;
}

static void look_gpus(struct arena *a, const struct machine *m, struct monitor *mon)
{
	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus) {
		struct monitor_machine *mm = &mon->machine;

		monitor_monitor_describe(a, g, &ARENA_ADD(a, mm->gpus, mm->n_gpus));
		for (size_t i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++)
			monitor_monitor_add(a, mon, g, &tiers[i]);
	}
}

/* Interfaces, RDMA ports and disks: bytes that went through. */

/* One number in a file of its own. */
static double monitor_monitor_number(struct host *h, const char *path, double factor)
{
	char line[64], *end;
	unsigned long long v;

	if (host_read_line(h, path, line, sizeof(line)))
		return NAN;
	v = strtoull(line, &end, 10);
	return end == line || *end ? (double)NAN : (double)v * factor;
}

static double below(struct host *h, const char *folder, const char *name, double factor)
{
	char path[256];

	return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path)
		       ? monitor_monitor_number(h, path, factor)
		       : (double)NAN;
}

static void take_nic(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	(void)s;
	out[0] = below(h, l->path, "rx_bytes", 1);
	out[1] = below(h, l->path, "tx_bytes", 1);
}

/* The port counts words of four bytes (InfiniBand Architecture Specification, PortRcvData). */
static void take_rdma(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	(void)s;
	out[0] = below(h, l->path, "port_rcv_data", 4);
	out[1] = below(h, l->path, "port_xmit_data", 4);
}

/* Fields of /sys/block/NAME/stat: 2 sectors read, 6 sectors written, 9 milliseconds in use; sectors
 * of 512 bytes whatever the disk has. */
static void take_disk(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	char line[512], *p = line;
	double v[11];

	(void)s;
	out[0] = out[1] = out[2] = NAN;
	if (host_read_line(h, l->path, line, sizeof(line)))
		return;
	for (size_t i = 0; i < 11; i++) {
		char *end;

		v[i] = strtod(p, &end);
		if (end == p)
			return;
		p = end;
	}
	out[0] = 512 * v[2];
	out[1] = 512 * v[6];
	out[2] = 1e-3 * v[9];
}

static void monitor_monitor_pair(struct arena *a, struct monitor *mon, const char *in,
				 const char *out, const char *target, const char *folder,
				 double every_s,
				 void (*taker)(const struct look *, struct host *,
					       struct monitor_state *, double *))
{
	struct look *l = look_add(a, mon);

	l->take = taker;
	l->path = folder;
	l->every_s = every_s;
	look_column(a, mon, in, target);
	look_column(a, mon, out, target);
}

static void look_net(struct arena *a, const struct machine *m, struct monitor *mon)
{
	bool cards = false;

	LIST_FOR_EACH (const struct nic, n, &m->net.nics)
		cards = cards || (*n->pci && fact_is(&n->operstate, "up"));
	LIST_FOR_EACH (const struct nic, n, &m->net.nics) {
		const char *name = arena_strdup(a, n->name);

		/* Beside cards, bridges and the like carry what those have carried already. */
		if ((cards && !*n->pci) || !fact_is(&n->operstate, "up"))
			continue;
		monitor_monitor_pair(a, mon, "net.received", "net.sent", name,
				     arena_printf(a, "/sys/class/net/%s/statistics", name), 0,
				     take_nic);
	}
	LIST_FOR_EACH (const struct rdma_port, p, &m->net.rdma)
		if (fact_is(&p->state, "ACTIVE"))
			monitor_monitor_pair(
				a, mon, "rdma.received", "rdma.sent", arena_strdup(a, p->name),
				arena_printf(a, "/sys/class/infiniband/%s/ports/%u/counters",
					     p->device, p->number),
				/* The adapter's firmware is asked for them. */
				LOOK_SLOW_S, take_rdma);
}

static void look_disks(struct arena *a, const struct machine *m, struct monitor *mon)
{
	LIST_FOR_EACH (const struct disk, d, &m->storage.disks) {
		const char *name = arena_strdup(a, d->name);
		struct look *l;

		if (!fact_is(&d->role, "disk"))
			continue;
		l = look_add(a, mon);
		l->take = take_disk;
		l->path = arena_printf(a, "/sys/block/%s/stat", name);
		look_column(a, mon, "disk.read", name);
		look_column(a, mon, "disk.written", name);
		look_column(a, mon, "disk.busy", name);
	}
}

/* CPUs, memory and pressure, as /proc tells them. */

enum { CPUS_MANY = 64, TICKS = 10, BUSY = 0, WAITING, STOLEN, BUSIEST, RUNNABLE, CPU_COLUMNS };

static double seconds(unsigned long long ticks)
{
	long hz = sysconf(_SC_CLK_TCK);

	return (double)ticks / (double)(hz > 0 ? hz : 100);
}

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice": guests are in user and
 * nice already. False: not such a line. */
static bool ticks_of(const char *line, unsigned long long t[TICKS])
{
	const char *p = line + strcspn(line, " ");

	for (size_t i = 0; i < TICKS; i++) {
		char *end;

		t[i] = strtoull(p, &end, 10);
		if (end == p)
			return i >= 4;
		p = end;
	}
	return true;
}

static unsigned long long busy_of(const unsigned long long t[TICKS])
{
	return t[0] + t[1] + t[2] + t[5] + t[6];
}

static unsigned long long total_of(const unsigned long long t[TICKS])
{
	return busy_of(t) + t[3] + t[4] + t[7];
}

static bool room_for(struct monitor_state *s, size_t cpu)
{
	size_t n = cpu + 64;
	unsigned long long *busy, *total;

	if (cpu < s->cpus)
		return true;
	busy = realloc(s->busy, n * sizeof(*busy));
	s->busy = busy ? busy : s->busy;
	total = realloc(s->total, n * sizeof(*total));
	s->total = total ? total : s->total;
	if (!busy || !total)
		return false;
	memset(busy + s->cpus, 0, (n - s->cpus) * sizeof(*busy));
	memset(total + s->cpus, 0, (n - s->cpus) * sizeof(*total));
	s->cpus = n;
	return true;
}

/* Per cent of one CPU since the last look; NAN at the first. */
static double use_of(struct monitor_state *s, size_t cpu, const unsigned long long t[TICKS])
{
	unsigned long long busy = busy_of(t), total = total_of(t);
	double use = NAN;

	if (cpu > 65535 || !room_for(s, cpu))
		return NAN;
	if (s->total[cpu] && total > s->total[cpu] && busy >= s->busy[cpu])
		use = 100 * (double)(busy - s->busy[cpu]) / (double)(total - s->total[cpu]);
	s->busy[cpu] = busy;
	s->total[cpu] = total;
	return use;
}

static void take_cpus(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	unsigned long long t[TICKS] = { 0 };
	const char *line = look_file(h, l->path, s);

	for (size_t i = 0; i < CPU_COLUMNS; i++)
		out[i] = NAN;
	for (; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, "cpu ", 4) == 0 && ticks_of(line, t)) {
			out[BUSY] = seconds(busy_of(t));
			out[WAITING] = seconds(t[4]);
			out[STOLEN] = seconds(t[7]);
		} else if (strncmp(line, "cpu", 3) == 0 && ticks_of(line, t)) {
			double use = use_of(s, strtoul(line + 3, NULL, 10), t);

			if (!isnan(use) && !(out[BUSIEST] >= use))
				out[BUSIEST] = use;
		} else if (strncmp(line, "procs_running ", 14) == 0) {
			out[RUNNABLE] = strtod(line + 14, NULL);
		}
	}
}

/* --- memory ----------------------------------------------------------------------------------- */

static double kib_after(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, key, n) == 0 && p[n] == ':')
			return 1024 * strtod(p + n + 1, NULL);
	return NAN;
}

static void take_memory(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	const char *text = look_file(h, l->path, s);

	out[0] = kib_after(text, "MemAvailable");
	out[1] = kib_after(text, "Cached");
	out[2] = kib_after(text, "Dirty");
	out[3] = kib_after(text, "SwapTotal") - kib_after(text, "SwapFree");
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345" microseconds. */
static void take_pressure(const struct look *l, struct host *h, struct monitor_state *s,
			  double *out)
{
	char line[512];
	const char *total;

	(void)s;
	*out = NAN;
	if (host_read_line(h, l->path, line, sizeof(line)))
		return;
	total = strstr(line, "total=");
	if (strncmp(line, "some ", 5) == 0 && total)
		*out = 1e-6 * strtod(total + 6, NULL);
}

static void add_pressure(struct arena *a, struct monitor *mon, const char *type, const char *path)
{
	struct look *l = look_add(a, mon);

	l->take = take_pressure;
	l->path = path;
	l->every_s = LOOK_SLOW_S;
	look_column(a, mon, type, "");
}

/* The processor, memory and what else the machine has one of. */
static void monitor_monitor_look_system(struct arena *a, struct monitor *mon)
{
	static const char *const cpu[CPU_COLUMNS] = { "cpu.busy", "cpu.waiting", "cpu.stolen",
						      "cpu.busiest", "cpu.runnable" };
	static const char *const memory[] = { "memory.available", "memory.cached", "memory.dirty",
					      "memory.swap-used" };
	struct look *l = look_add(a, mon);

	l->take = take_cpus;
	l->path = "/proc/stat";
	/* The kernel adds up every interrupt of every CPU for this file. */
	l->every_s = mon->machine.cpus > CPUS_MANY ? LOOK_SLOW_S : 0;
	for (size_t i = 0; i < CPU_COLUMNS; i++)
		look_column(a, mon, cpu[i], "");
	l = look_add(a, mon);
	l->take = take_memory;
	l->path = "/proc/meminfo";
	l->every_s = LOOK_SLOW_S;
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		look_column(a, mon, memory[i], "");
	add_pressure(a, mon, "pressure.cpu", "/proc/pressure/cpu");
	add_pressure(a, mon, "pressure.io", "/proc/pressure/io");
	add_pressure(a, mon, "pressure.memory", "/proc/pressure/memory");
}

void monitor_make(struct arena *a, const struct host *h, const struct machine *m,
		  struct monitor *out)
{
	*out = (struct monitor){ 0 };
	out->machine.name = arena_strdup(a, h->id.nodename ? h->id.nodename : "");
	out->machine.kernel = arena_strdup(a, h->id.release ? h->id.release : "");
	out->machine.platform = text_of(a, &m->platform.kind);
	out->machine.driver = text_of(a, &m->gpu.driver);
	out->machine.cpus = (unsigned)idset_count(&m->cpu.online.v);
	out->machine.memory_bytes = 1024.0 * (double)fact_or(&m->memory.total_kb, -1);
	look_gpus(a, m, out);
	monitor_monitor_look_system(a, out);
	look_net(a, m, out);
	look_disks(a, m, out);
	monitor_index(a, out);
}

/* Who uses the GPUs: the driver's list of processes, named by the kernel. */

static const struct {
	const char *question, *kind;
} lists[] = { { "nvmlDeviceGetComputeRunningProcesses", "compute" },
	      { "nvmlDeviceGetGraphicsRunningProcesses", "graphics" } };

static void processes_add(struct host *h, const char *gpu, size_t list, long long i,
			  struct monitor_processes *out)
{
	struct monitor_process *p = &out->items[out->n];
	char question[96], path[48], group[512];
	const char *last;
	long long pid, memory;

	snprintf(question, sizeof(question), "%s(%lld).pid", lists[list].question, i);
	if (host_ask_int(h, "nvml", gpu, question, &pid) || pid <= 0 || pid > 1 << 22)
		return;
	if (out->n == MONITOR_PROCESSES_MAX) {
		out->left_out++;
		return;
	}
	*p = (struct monitor_process){ .gpu = (unsigned)strtoul(gpu, NULL, 10),
				       .pid = (int)pid,
				       .kind = lists[list].kind,
				       .memory = NAN };
	snprintf(question, sizeof(question), "%s(%lld).usedGpuMemory", lists[list].question, i);
	if (host_ask_int(h, "nvml", gpu, question, &memory) == 0)
		p->memory = (double)memory;
	/* In a container the driver may tell numbers of processes that are not ours to see. */
	snprintf(path, sizeof(path), "/proc/%lld/comm", pid);
	if (host_read_line(h, path, p->command, sizeof(p->command)) < 0)
		p->command[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%lld/cgroup", pid);
	if (host_read_line(h, path, group, sizeof(group)) >= 0 && (last = strrchr(group, '/')))
		snprintf(p->group, sizeof(p->group), "%.63s", last + 1);
	out->n++;
}

static int by_memory(const void *a, const void *b)
{
	const struct monitor_process *x = a, *y = b;
	double m = isnan(x->memory) ? -1 : x->memory, n = isnan(y->memory) ? -1 : y->memory;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return m != n ? (m > n ? -1 : 1) : (x->pid > y->pid) - (x->pid < y->pid);
}

void monitor_processes(const struct monitor *mon, struct host *h, struct monitor_processes *out)
{
	out->n = out->left_out = 0;
	for (size_t g = 0; g < mon->machine.n_gpus; g++)
		for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
			char gpu[16];
			long long n;

			snprintf(gpu, sizeof(gpu), "%u", mon->machine.gpus[g].index);
			if (host_ask_int(h, "nvml", gpu, lists[l].question, &n))
				continue;
			for (long long i = 0; i < n && i < 1024; i++)
				processes_add(h, gpu, l, i, out);
		}
	qsort(out->items, out->n, sizeof(*out->items), by_memory);
}
