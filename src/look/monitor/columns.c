/* SPDX-License-Identifier: Apache-2.0 */
/* Every quantity that is looked at, in the order of a page: one line each. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "look/monitor/monitor.h"

#define GAUGE COLUMN_GAUGE
#define TOTAL COLUMN_TOTAL

const struct column_type column_types[] = {
	{ "gpu.sm-clock", "MHz", GAUGE, "gpu_sm_clock_hertz", 1e6, "clock of the GPU's cores" },
	{ "gpu.power", "W", GAUGE, "gpu_power_watts", 1,
	  "power draw of the GPU; a mean of the last second on most chips" },
	{ "gpu.busy", "%", GAUGE, "gpu_busy_ratio", 0.01,
	  "share of the driver's last sampling period in which a kernel ran" },
	{ "gpu.memory-busy", "%", GAUGE, "gpu_memory_busy_ratio", 0.01,
	  "share of the driver's last sampling period in which memory was read or written" },
	{ "gpu.reasons", "bits", GAUGE, "gpu_clock_event_reasons", 1,
	  "clock throttle reasons, as the driver's bit mask" },
	{ "gpu.memory-clock", "MHz", GAUGE, "gpu_memory_clock_hertz", 1e6,
	  "clock of the GPU's memory" },
	{ "gpu.temperature", "C", GAUGE, "gpu_temperature_celsius", 1, "temperature of the GPU" },
	{ "gpu.memory-used", "bytes", GAUGE, "gpu_memory_used_bytes", 1,
	  "GPU memory in use; not reported for a GPU that shares the host's memory" },
	{ "gpu.capped", "s", TOTAL, "gpu_power_cap_seconds", 1,
	  "time during which the power cap limited the clock" },
	{ "gpu.warm", "s", TOTAL, "gpu_thermal_slowdown_seconds", 1,
	  "time of thermal throttling, by driver and hardware" },
	{ "gpu.brake", "s", TOTAL, "gpu_power_brake_seconds", 1,
	  "time during which an external power brake was asserted" },
	{ "gpu.link-generation", "", GAUGE, "gpu_pcie_generation", 1,
	  "current PCI Express link generation" },
	{ "gpu.link-width", "lanes", GAUGE, "gpu_pcie_lanes", 1,
	  "current number of PCI Express lanes" },
	{ "gpu.pcie-sent", "bytes", TOTAL, "gpu_pcie_transmit_bytes", 1,
	  "sent by the GPU over PCI Express" },
	{ "gpu.pcie-received", "bytes", TOTAL, "gpu_pcie_receive_bytes", 1,
	  "received by the GPU over PCI Express" },
	{ "gpu.nvlink-sent", "bytes", TOTAL, "gpu_nvlink_transmit_bytes", 1,
	  "data sent by the GPU over all its NVLinks, without protocol overhead" },
	{ "gpu.nvlink-received", "bytes", TOTAL, "gpu_nvlink_receive_bytes", 1,
	  "data received by the GPU over all its NVLinks, without protocol overhead" },
	{ "gpu.processes", "processes", GAUGE, "gpu_compute_processes", 1,
	  "processes that use the GPU for compute" },
	{ "cpu.busy", "s", TOTAL, "cpu_busy_seconds", 1, "CPU time in use, sum of all CPUs" },
	{ "cpu.waiting", "s", TOTAL, "cpu_iowait_seconds", 1,
	  "CPU time idle during disk I/O (I/O wait)" },
	{ "cpu.stolen", "s", TOTAL, "cpu_steal_seconds", 1,
	  "CPU time that a hypervisor gave to other virtual machines" },
	{ "cpu.busiest", "%", GAUGE, "cpu_busiest_ratio", 0.01,
	  "use of the busiest CPU since the last sample" },
	{ "cpu.runnable", "tasks", GAUGE, "cpu_runnable_tasks", 1,
	  "tasks that run or are runnable" },
	{ "memory.available", "bytes", GAUGE, "memory_available_bytes", 1,
	  "memory available to programs, including reclaimable page cache" },
	{ "memory.cached", "bytes", GAUGE, "memory_cached_bytes", 1, "page cache" },
	{ "memory.dirty", "bytes", GAUGE, "memory_dirty_bytes", 1,
	  "data waiting to be written to disk" },
	{ "memory.swap-used", "bytes", GAUGE, "memory_swap_used_bytes", 1, "swap in use" },
	{ "pressure.cpu", "s", TOTAL, "pressure_cpu_seconds", 1,
	  "time during which some task waited for a CPU" },
	{ "pressure.io", "s", TOTAL, "pressure_io_seconds", 1,
	  "time during which some task waited for a disk" },
	{ "pressure.memory", "s", TOTAL, "pressure_memory_seconds", 1,
	  "time during which some task waited for memory" },
	{ "net.received", "bytes", TOTAL, "network_receive_bytes", 1, "received by the interface" },
	{ "net.sent", "bytes", TOTAL, "network_transmit_bytes", 1, "sent by the interface" },
	{ "rdma.received", "bytes", TOTAL, "rdma_receive_bytes", 1, "received by the RDMA port" },
	{ "rdma.sent", "bytes", TOTAL, "rdma_transmit_bytes", 1, "sent by the RDMA port" },
	{ "disk.read", "bytes", TOTAL, "disk_read_bytes", 1, "read from the disk" },
	{ "disk.written", "bytes", TOTAL, "disk_written_bytes", 1, "written to the disk" },
	{ "disk.busy", "s", TOTAL, "disk_busy_seconds", 1,
	  "time during which the disk had a request to serve" },
};
const size_t column_types_n = sizeof(column_types) / sizeof(column_types[0]);

const struct column_type *column_type_find(const char *name)
{
	for (size_t i = 0; i < column_types_n; i++)
		if (strcmp(column_types[i].name, name) == 0)
			return &column_types[i];
	return NULL;
}

const double beat_seconds[BEATS] = { 0, LOOK_SLOW_S, LOOK_RARE_S };

/* Open addressing; 0: free, otherwise a column's number and one. */
struct column_index {
	size_t mask;
	uint32_t at[];
};

static size_t hash_of(const char *type, const char *target)
{
	uint64_t x = 14695981039346656037u;

	/* FNV-1a. */
	for (; *type; type++)
		x = (x ^ (unsigned char)*type) * 1099511628211u;
	for (x *= 31; *target; target++)
		x = (x ^ (unsigned char)*target) * 1099511628211u;
	return (size_t)(x ^ x >> 32);
}

void monitor_index(struct arena *a, struct monitor *mon)
{
	size_t size = 16;

	while (size < 2 * mon->n)
		size *= 2;
	mon->index = arena_alloc(a, sizeof(*mon->index) + size * sizeof(mon->index->at[0]));
	mon->index->mask = size - 1;
	memset(mon->index->at, 0, size * sizeof(mon->index->at[0]));
	for (size_t i = 0; i < mon->n; i++) {
		const struct column_of *c = &mon->columns[i];
		size_t k = hash_of(c->type->name, c->target) & (size - 1);

		while (mon->index->at[k])
			k = (k + 1) & (size - 1);
		mon->index->at[k] = (uint32_t)i + 1;
	}
}

long monitor_find(const struct monitor *mon, const char *type, const char *target)
{
	const struct column_index *x = mon->index;

	/* Of two that are the same, which only a file can have, the first one. */
	for (size_t k = x ? hash_of(type, target) & x->mask : 0; x; k = (k + 1) & x->mask) {
		const struct column_of *c = x->at[k] ? &mon->columns[x->at[k] - 1] : NULL;

		if (!c)
			return -1;
		if (strcmp(c->target, target) == 0 && strcmp(c->type->name, type) == 0)
			return (long)x->at[k] - 1;
	}
	for (size_t i = 0; i < mon->n; i++)
		if (strcmp(mon->columns[i].type->name, type) == 0 &&
		    strcmp(mon->columns[i].target, target) == 0)
			return (long)i;
	return -1;
}

double column_grown(const struct column_type *t, double now, double before, double s)
{
	/* A driver's time comes in pieces of a second and more; that of all CPUs is a sum. */
	bool one = strcmp(t->unit, "s") == 0 && !str_starts(t->name, "cpu.");

	return now < before || (one && now - before > 2 * s + 2) ? (double)NAN : now - before;
}

double instant_column(const struct instant *f, size_t i)
{
	const struct column_of *c = &f->mon->columns[i];
	const struct beat_asked *b = &f->beats[c->beat];
	const double *before = c->beat ? b->before : f->before;
	double s;

	if (c->type->kind == COLUMN_GAUGE)
		return f->now[i];
	s = c->beat ? b->at_s - b->before_s : f->at_s - f->before_s;
	/* The kernel counts in ticks of 10 ms: in a moment there is no rate. */
	if (!before || s < 0.05)
		return NAN;
	return column_grown(c->type, f->now[i], before[i], s) / s;
}

double instant_value(const struct instant *f, const char *type, const char *target)
{
	long i = monitor_find(f->mon, type, target);

	return i < 0 ? (double)NAN : instant_column(f, (size_t)i);
}
