/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs, memory and pressure, as /proc tells them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look/monitor/look.h"

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

/* --- memory -------------------------------------------------------------------------------------
 */

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

void look_system(struct arena *a, struct monitor *mon)
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
