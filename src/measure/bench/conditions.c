/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the machine: load, stolen time, interrupts, frequencies, temperatures, throttling. */
#include "measure/bench/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

enum { WATCH_MOST = 4, WATCH_THROTTLE_MOST = 64, STAT_MAX = 4 << 20 };

static void add(struct arena *a, const char ***list, size_t *n, const char *path)
{
	*list = arena_grow(a, *list, *n, sizeof(**list));
	(*list)[(*n)++] = path;
}

static void add_throttles(struct arena *a, struct host *h, const struct machine *m,
			  struct watch_list *w)
{
	const struct idset *cpus = &m->cpu.online.v;
	size_t n = idset_count(cpus), step = n / WATCH_THROTTLE_MOST + 1, i = 0;

	IDSET_FOR_EACH (cpu, cpus) {
		const char *path = arena_printf(a,
						"/sys/devices/system/cpu/cpu%u/thermal_throttle/"
						"core_throttle_count",
						cpu);

		if (i++ % step == 0 && host_exists(h, path))
			add(a, &w->throttle, &w->n_throttle, path);
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
			add(a, &out->freq, &out->n_freq,
			    arena_printf(
				    a, "/sys/devices/system/cpu/cpufreq/policy%u/scaling_cur_freq",
				    p->index));
	if (host_list(h, "/sys/class/thermal", a, &names, &zones) == 0)
		for (size_t k = 0; k < zones && out->n_temp < WATCH_MOST; k++)
			if (str_starts(names[k], "thermal_zone"))
				add(a, &out->temp, &out->n_temp,
				    arena_printf(a, "/sys/class/thermal/%s/temp", names[k]));
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
static bool line_number(const char *text, const char *name, double *out)
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
	struct arena a = { 0 };
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
		if (line_number(text, "intr", &v))
			out->interrupts = (long long)v;
		if (line_number(text, "ctxt", &v))
			out->switches = (long long)v;
	}
	arena_free(&a);
}

static void read_pm_qos(struct host *h, struct record_moment *out)
{
	struct arena a = { 0 };
	char *bytes;
	int32_t v;
	size_t n;

	/* Reading only: a write would hold all CPUs out of deep idle states. */
	if (host_read(h, "/dev/cpu_dma_latency", sizeof(v), &a, &bytes, &n) == 0 &&
	    n == sizeof(v)) {
		memcpy(&v, bytes, sizeof(v));
		out->pm_qos_us = v;
	}
	arena_free(&a);
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

void conditions_look(struct host *h, const struct watch_list *w, struct record_moment *out)
{
	struct record_track track;
	struct arena a = { 0 };
	struct timespec now;
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
	    line_number(text, "MemAvailable", &d))
		out->available_mib = d / 1024;
	arena_free(&a);
	for (size_t i = 0; i < w->n_throttle; i++)
		if (read_number(h, w->throttle[i], &v))
			out->throttles = (out->throttles < 0 ? 0 : out->throttles) + v;
	read_pm_qos(h, out);
	read_stat(h, out);
	clock_gettime(CLOCK_MONOTONIC, &now);
	out->at_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
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
