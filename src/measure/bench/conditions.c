/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the machine: load, stolen time, interrupts, frequencies, temperatures, throttling. */
#include "measure/bench/conditions.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

enum { WATCH_MOST = 4, WATCH_THROTTLE_MOST = 64, STAT_MAX = 4 << 20 };

static void add_throttles(struct arena *a, struct host *h, const struct machine *m,
			  struct watch_list *w)
{
	const struct idset *cpus = &m->cpu.online.v;
	size_t n = idset_count(cpus), step = n / WATCH_THROTTLE_MOST + 1, i = 0;

	IDSET_FOR_EACH (cpu, cpus) {
		const char *path = arena_printf(
			a, "/sys/devices/system/cpu/cpu%u/thermal_throttle/core_throttle_count",
			cpu);

		if (i++ % step == 0 && host_exists(h, path))
			ARENA_ADD(a, w->throttle, w->n_throttle) = path;
		else if (!w->n_throttle && i > 1)
			return;
	}
}

void watch_list_make(struct arena *a, struct host *h, const struct machine *m,
		     struct watch_list *out)
{
	size_t step = m->cpu.policies.n / WATCH_MOST + 1, i = 0, zones = 0;
	char **names;

	*out = (struct watch_list){ .cpus = (unsigned)idset_count(&m->cpu.online.v) };
	/* Spread over the policies, so that each core type and socket is likely to be among them.
	 */
	LIST_FOR_EACH (const struct freq_policy, p, &m->cpu.policies)
		if (i++ % step == 0)
			ARENA_ADD(a, out->freq, out->n_freq) = arena_printf(
				a, "/sys/devices/system/cpu/cpufreq/policy%u/scaling_cur_freq",
				p->index);
	if (host_list(h, "/sys/class/thermal", a, &names, &zones) == 0)
		for (size_t k = 0; k < zones && out->n_temp < WATCH_MOST; k++)
			if (str_starts(names[k], "thermal_zone"))
				ARENA_ADD(a, out->temp, out->n_temp) =
					arena_printf(a, "/sys/class/thermal/%s/temp", names[k]);
	add_throttles(a, h, m, out);
}

static bool read_number(struct host *h, const char *path, long long *out)
{
	char line[64];

	return host_read_line(h, path, line, sizeof(line)) == 0 && parse_i64(line, out) == 0;
}

void conditions_track(struct host *h, const struct watch_list *w, struct record_track *out)
{
	long long v;

	out->mhz_min = out->mhz_max = -1;
	out->temp_c = NAN;
	for (size_t i = 0; i < w->n_freq; i++) {
		if (!read_number(h, w->freq[i], &v))
			continue;
		v /= 1000;
		if (out->mhz_min < 0 || v < out->mhz_min)
			out->mhz_min = v;
		if (v > out->mhz_max)
			out->mhz_max = v;
	}
	for (size_t i = 0; i < w->n_temp; i++)
		if (read_number(h, w->temp[i], &v) && !((double)v / 1000 <= out->temp_c))
			out->temp_c = (double)v / 1000;
}

/* The value after "name " at the start of a line. */
static bool conditions_line_number(const char *text, const char *name, double *out)
{
	size_t n = strlen(name);

	for (const char *l = text; l; l = strchr(l, '\n')) {
		l += *l == '\n';
		if (strncmp(l, name, n) == 0 && (l[n] == ' ' || l[n] == ':')) {
			*out = strtod(l + n + 1, NULL);
			return true;
		}
	}
	return false;
}

static void read_stat(struct host *h, struct record_moment *out)
{
	double per_s = (double)sysconf(_SC_CLK_TCK), t[8] = { 0 }, v;
	ARENA_AUTO a = { 0 };
	char *text, *c;

	if (host_read(h, "/proc/stat", STAT_MAX, &a, &text, NULL) == 0 &&
	    str_starts(text, "cpu ")) {
		c = text + 4;
		for (size_t i = 0; i < 8; i++)
			t[i] = strtod(c, &c) / per_s;
		/* user nice system idle iowait irq softirq steal */
		out->idle_s = t[3] + t[4];
		out->irq_s = t[5] + t[6];
		out->busy_s = t[0] + t[1] + t[2] + out->irq_s;
		out->steal_s = t[7];
		if (conditions_line_number(text, "intr", &v))
			out->interrupts = (long long)v;
		if (conditions_line_number(text, "ctxt", &v))
			out->switches = (long long)v;
	}
}

static void read_pm_qos(struct host *h, struct record_moment *out)
{
	ARENA_AUTO a = { 0 };
	char *bytes;
	int32_t v;
	size_t n;

	/* Reading only: a write would hold all CPUs out of deep idle states. */
	if (host_read(h, "/dev/cpu_dma_latency", sizeof(v), &a, &bytes, &n) == 0 &&
	    n == sizeof(v)) {
		memcpy(&v, bytes, sizeof(v));
		out->pm_qos_us = v;
	}
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

void conditions_look(struct host *h, const struct watch_list *w, struct record_moment *out)
{
	struct record_track track;
	struct arena a = { 0 };
	struct rusage u, children;
	char line[128], *text;
	long long v;
	double d;

	*out = (struct record_moment){ .load1 = -1,
				       .available_mib = -1,
				       .busy_s = -1,
				       .steal_s = -1,
				       .irq_s = -1,
				       .idle_s = -1,
				       .interrupts = -1,
				       .switches = -1,
				       .throttles = -1,
				       .pm_qos_us = -1 };
	conditions_track(h, w, &track);
	out->mhz_min = track.mhz_min;
	out->mhz_max = track.mhz_max;
	out->temp_c = track.temp_c;
	if (host_read_line(h, "/proc/loadavg", line, sizeof(line)) == 0)
		out->load1 = strtod(line, NULL);
	if (host_read(h, "/proc/meminfo", HOST_READ_MAX, &a, &text, NULL) == 0 &&
	    conditions_line_number(text, "MemAvailable", &d))
		out->available_mib = d / 1024;
	arena_free(&a);
	for (size_t i = 0; i < w->n_throttle; i++)
		if (read_number(h, w->throttle[i], &v))
			out->throttles = (out->throttles < 0 ? 0 : out->throttles) + v;
	read_pm_qos(h, out);
	read_stat(h, out);
	out->at_s = clock_mono_s();
	/* The other side over loopback, a workload: they are what is measured. */
	getrusage(RUSAGE_SELF, &u);
	getrusage(RUSAGE_CHILDREN, &children);
	out->own_s = seconds_of(&u.ru_utime) + seconds_of(&u.ru_stime) +
		     seconds_of(&children.ru_utime) + seconds_of(&children.ru_stime);
}

double conditions_others(const struct record_moment *from, const struct record_moment *to)
{
	double wall = to->at_s - from->at_s;

	if (from->busy_s < 0 || to->busy_s < 0 || !(wall > 0))
		return -1;
	return fmax((to->busy_s - from->busy_s - (to->own_s - from->own_s)) / wall, 0);
}

double conditions_steal(const struct record_moment *from, const struct record_moment *to)
{
	double steal = to->steal_s - from->steal_s,
	       all = to->busy_s - from->busy_s + to->idle_s - from->idle_s + steal;

	if (from->busy_s < 0 || to->busy_s < 0)
		return -1;
	return all > 0 ? 100 * steal / all : 0;
}

/* Which machine this is and what runs it, from facts: what figures depend on. */

struct idset bench_allowed(struct arena *a)
{
	enum { MOST = 1 << 16 };
	size_t size = CPU_ALLOC_SIZE(MOST);
	cpu_set_t *set = CPU_ALLOC(MOST);
	struct idset out = { 0 };

	if (set && sched_getaffinity(0, size, set) == 0)
		for (unsigned i = 0; i < MOST; i++)
			if (CPU_ISSET_S(i, size, set))
				idset_add(a, &out, i);
	if (set)
		CPU_FREE(set);
	return out;
}

static void pair(struct arena *a, struct record *r, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	ARENA_ADD(a, r->fingerprint, r->n_fingerprint) = (struct record_pair){ name, value };
}

static void number(struct arena *a, struct record *r, const char *name, const struct fact_int *f)
{
	if (seen_ok(&f->f))
		pair(a, r, name, arena_printf(a, "%lld", f->v));
}

static void gpu_pairs(struct arena *a, const struct machine *m, struct record *r)
{
	size_t i = 0;

	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus) {
		pair(a, r, arena_printf(a, "gpu%zu", i), fact_text(&g->name, NULL));
		pair(a, r, arena_printf(a, "gpu%zu_vbios", i), fact_text(&g->vbios, NULL));
		i++;
	}
	pair(a, r, "gpu_driver", fact_text(&m->gpu.driver, NULL));
}

/* "cache_l2_unified": "10 x 2048 KiB". One pair a level and kind, however many sizes it has. */
static void cache_pairs(struct arena *a, const struct machine *m, struct record *r)
{
	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches) {
		const char *kind = fact_text(&c->type, "");
		const char *name = arena_printf(a, "cache_l%u_%s", c->level, kind);
		const char *value = arena_printf(a, "%lld x %lld KiB", fact_or(&c->count, 0),
						 fact_or(&c->size_bytes, 0) >> 10);
		struct record_pair *last = r->fingerprint + r->n_fingerprint - 1;

		if (strcmp(kind, "Instruction") == 0 || !seen_ok(&c->size_bytes.f))
			continue;
		if (r->n_fingerprint && strcmp(last->name, name) == 0)
			last->value = arena_printf(a, "%s, %s", last->value, value);
		else
			pair(a, r, name, value);
	}
}

struct adapter {
	long long vendor, device;
	size_t count;
};

static int by_id(const void *a, const void *b)
{
	const struct adapter *x = a, *y = b;

	if (x->vendor != y->vendor)
		return x->vendor < y->vendor ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

/* "8 x 15b3:1021, 2 x 15b3:101f": network adapters by PCI id, whatever their links do now. Virtual
 * functions come and go and are no adapters. */
static void adapter_pair(struct arena *a, const struct machine *m, struct record *r)
{
	const char *text = NULL;
	size_t n = 0;
	struct adapter *seen = NULL;

	LIST_FOR_EACH (const struct pci_function, p, &m->pci) {
		size_t i = 0;

		if (pci_base_class(p) != 0x02 || fact_or(&p->is_vf, 0) || is_switch_management(p) ||
		    !seen_ok(&p->vendor.f) || !seen_ok(&p->device.f))
			continue;
		while (i < n && (seen[i].vendor != p->vendor.v || seen[i].device != p->device.v))
			i++;
		if (i == n) {
			ARENA_ADD(a, seen, n) = (struct adapter){ p->vendor.v, p->device.v, 0 };
		}
		seen[i].count++;
	}
	if (n)
		qsort(seen, n, sizeof(*seen), by_id);
	for (size_t i = 0; i < n; i++)
		text = arena_printf(a, "%s%s%zu x %04llx:%04llx", text ? text : "",
				    text ? ", " : "", seen[i].count,
				    (unsigned long long)seen[i].vendor,
				    (unsigned long long)seen[i].device);
	pair(a, r, "adapters", text);
}

void record_fingerprint(struct arena *a, struct host *h, const struct machine *m, struct record *r)
{
	char id[64] = "";
	struct record_pair who[4];

	if (host_read_line(h, "/etc/machine-id", id, sizeof(id)))
		id[0] = '\0';
	who[0] = (struct record_pair){ "id", arena_strdup(a, id) };
	who[1] = (struct record_pair){ "name", fact_text(&m->nodename, "") };
	who[2] = (struct record_pair){ "cpu", fact_text(&m->cpu.model, "") };
	who[3] = (struct record_pair){ "product", fact_text(&m->platform.product, "") };
	r->machine = record_digest(a, who, 4);

	pair(a, r, "product", fact_text(&m->platform.product, NULL));
	pair(a, r, "firmware", fact_text(&m->platform.bios_version, NULL));
	pair(a, r, "cpu", fact_text(&m->cpu.model, NULL));
	number(a, r, "sockets", &m->cpu.sockets);
	number(a, r, "cores", &m->cpu.cores);
	number(a, r, "threads", &m->cpu.threads);
	number(a, r, "numa_nodes",
	       &(struct fact_int){ { .seen = SEEN_OK }, (long long)m->cpu.nodes.n });
	number(a, r, "memory_kib", &m->memory.total_kb);
	cache_pairs(a, m, r);
	pair(a, r, "kernel", fact_text(&m->kernel.release, NULL));
	pair(a, r, "kernel_build", fact_text(&m->kernel.version, NULL));
	pair(a, r, "kernel_arguments", fact_text(&m->kernel.cmdline, NULL));
	pair(a, r, "preempt", fact_text(&m->kernel.preempt, NULL));
	pair(a, r, "clocksource", fact_text(&m->kernel.clocksource, NULL));
	pair(a, r, "glibc", fact_text(&m->software.glibc, NULL));
	pair(a, r, "transparent_hugepages", fact_text(&m->memory.thp_enabled, NULL));
	gpu_pairs(a, m, r);
	adapter_pair(a, m, r);
}
