/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a job, looked at from a thread beside it. */
#include "measure/prove/seen.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "look/monitor/monitor.h"
#include "look/settings/settings.h"
#include "machine/host/command.h"

enum { IDLE_MS = 300, FIRST_MS = 20, SLOWEST_MS = 1000, TREE_MAX = 256, MAPS_MAX = 4 << 20 };
enum { ALONE_GPUS = 64, ALONE_LOOK = 20, ALONE_FIRST = 5, DEPTH_MAX = 64 };

struct job_watch {
	struct arena *a;
	struct host *h;
	struct monitor mon;
	struct monitor_state state;
	double *first, *last, *idle; /* rows; idle: rates without the job */
	double first_s, last_s, idle_gpu;
	struct job_seen seen;
	struct rusage before;
	pthread_t thread;
	atomic_bool over;
};

/* --- the job's processes ---------------------------------------------------------------------- */

/* 0: it is gone. */
static long parent_of(struct host *h, long pid)
{
	struct process_stat p;

	return process_stat_read(h, pid, 0, &p) ? p.parent : 0;
}

/* Processes below this one. A child may have a smaller number than its parent: until none is new.
 */
static size_t seen_tree(struct host *h, long *pids, size_t max)
{
	ARENA_AUTO a = { 0 };
	char **names = NULL;
	size_t n = 0, found = 0, before;
	long *parents, own = getpid();

	if (host_list(h, "/proc", &a, &names, &n))
		n = 0;
	parents = arena_array(&a, n, sizeof(*parents));
	for (size_t i = 0; i < n; i++)
		parents[i] = parent_of(h, strtol(names[i], NULL, 10));
	do {
		before = found;
		for (size_t i = 0; i < n && found < max; i++) {
			bool ours = parents[i] == own;

			for (size_t k = 0; !ours && parents[i] && k < found; k++)
				ours = parents[i] == pids[k];
			if (!ours)
				continue;
			pids[found++] = strtol(names[i], NULL, 10);
			parents[i] = 0;
		}
	} while (found > before);
	return found;
}

static double status_bytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? 1024 * strtod(at + strlen(key), NULL) : 0;
}

/* A file whose name begins so. */
static bool maps_library(const char *maps, const char *library)
{
	size_t n = strlen(library);

	for (const char *at = maps; (at = strstr(at, library)) != NULL; at += n)
		if (at > maps && at[-1] == '/')
			return true;
	return false;
}

static void processes_look(struct job_watch *w)
{
	long pids[TREE_MAX];
	size_t n = seen_tree(w->h, pids, TREE_MAX);
	double memory = 0, pinned = 0;

	for (size_t i = 0; i < n; i++) {
		ARENA_AUTO a = { 0 };
		char path[64], *text = NULL;

		snprintf(path, sizeof(path), "/proc/%ld/status", pids[i]);
		if (host_read(w->h, path, 1 << 16, &a, &text, NULL) == 0) {
			memory += status_bytes(text, "RssAnon:");
			pinned += status_bytes(text, "VmPin:") + status_bytes(text, "VmLck:");
		}
		snprintf(path, sizeof(path), "/proc/%ld/maps", pids[i]);
		if (host_read(w->h, path, MAPS_MAX, &a, &text, NULL) == 0)
			for (size_t k = 0; k < n_job_vars && k < 64; k++)
				if (job_vars[k].library && maps_library(text, job_vars[k].library))
					w->seen.libraries |= 1ULL << k;
	}
	w->seen.memory = fmax(w->seen.memory, memory);
	w->seen.pinned = fmax(w->seen.pinned, pinned);
}

/* --- the machine ------------------------------------------------------------------------------ */

static double column_sum(const struct job_watch *w, const char *type, const double *row)
{
	double sum = 0;

	for (size_t i = 0; i < w->mon.n; i++)
		if (strcmp(w->mon.columns[i].type->name, type) == 0 && isfinite(row[i]))
			sum += row[i];
	return sum;
}

static void machine_look(struct job_watch *w, double *row)
{
	w->last_s = clock_mono_s();
	w->state.all = true;
	monitor_look(&w->mon, w->h, &w->state, w->last_s, row);
	for (size_t i = 0; i < w->mon.n; i++) {
		const char *type = w->mon.columns[i].type->name;

		if (strcmp(type, "gpu.busy") == 0)
			w->seen.gpu = fmax(w->seen.gpu, 0.01 * row[i]);
		else if (strcmp(type, "gpu.memory-used") == 0)
			w->seen.gpu_bytes = fmax(w->seen.gpu_bytes, row[i] - w->first[i]);
	}
}

static void *watch_thread(void *ctx)
{
	struct job_watch *w = ctx;
	long long pause = FIRST_MS;

	while (!atomic_load(&w->over)) {
		long long end = clock_mono_ms() + pause;

		while (!atomic_load(&w->over) && clock_mono_ms() < end)
			usleep(FIRST_MS * 500);
		machine_look(w, w->last);
		processes_look(w);
		pause = pause * 2 < SLOWEST_MS ? pause * 2 : SLOWEST_MS;
	}
	machine_look(w, w->last);
	return NULL;
}

/* Of bytes that its counters say while the job ran, what is more than without it. */
static double more_than_idle(const struct job_watch *w, const char *type)
{
	double s = w->last_s - w->first_s,
	       rate = s > 0 ? (column_sum(w, type, w->last) - column_sum(w, type, w->first)) / s
			    : 0;

	return fmax(0, rate - column_sum(w, type, w->idle));
}

struct job_watch *job_seen_begin(struct arena *a, struct host *h, const struct machine *m)
{
	struct job_watch *w = ARENA_NEW(a, struct job_watch);
	double began;

	*w = (struct job_watch){ .a = a, .h = h };
	monitor_make(a, h, m, &w->mon);
	w->first = arena_array(a, w->mon.n + 1, sizeof(*w->first));
	w->last = arena_array(a, w->mon.n + 1, sizeof(*w->last));
	w->idle = arena_array(a, w->mon.n + 1, sizeof(*w->idle));
	machine_look(w, w->idle);
	began = w->last_s;
	usleep(IDLE_MS * 1000);
	machine_look(w, w->first);
	w->first_s = w->last_s;
	for (size_t i = 0; i < w->mon.n; i++)
		w->idle[i] = (w->first[i] - w->idle[i]) / (w->first_s - began);
	w->idle_gpu = w->seen.gpu;
	w->seen = (struct job_seen){ 0 };
	getrusage(RUSAGE_CHILDREN, &w->before);
	if (pthread_create(&w->thread, NULL, watch_thread, w))
		return NULL;
	return w;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

void job_seen_end(struct job_watch *w, double wall_s, struct job_seen *out)
{
	struct job_seen *s = &w->seen;
	struct rusage now;
	double per = wall_s > 0 ? 1 / wall_s : 0;

	atomic_store(&w->over, true);
	pthread_join(w->thread, NULL);
	getrusage(RUSAGE_CHILDREN, &now);
	s->wall_s = wall_s;
	s->gpu = fmax(0, s->gpu - w->idle_gpu);
	s->cpus = per * (seconds(&now.ru_utime) - seconds(&w->before.ru_utime) +
			 seconds(&now.ru_stime) - seconds(&w->before.ru_stime));
	s->wakes = per * (double)(now.ru_nvcsw - w->before.ru_nvcsw);
	s->faults = per * (double)(now.ru_minflt - w->before.ru_minflt);
	/* Blocks of 512 bytes; the machine's own count has what its kernel threads did for it. */
	s->disk = fmax(per * 512 *
			       (double)(now.ru_inblock - w->before.ru_inblock + now.ru_oublock -
					w->before.ru_oublock),
		       more_than_idle(w, "disk.read") + more_than_idle(w, "disk.written"));
	s->net = more_than_idle(w, "net.received") + more_than_idle(w, "net.sent");
	s->rdma = more_than_idle(w, "rdma.received") + more_than_idle(w, "rdma.sent");
	s->copies = more_than_idle(w, "gpu.pcie-sent") + more_than_idle(w, "gpu.pcie-received");
	monitor_state_free(&w->state);
	job_seen_judge(s);
	*out = *s;
}

/* --- what that means -------------------------------------------------------------------------- */

/* Below these a setting for the resource cannot be worth 1 %: a tenth of what one request, one wake
 * or one page costs (100 us, of a disk 4 ms; 5 us, 0.25 us) a second. */
static const struct {
	size_t offset;
	double least;
	const char *unit;
	double scale;
} limits[JOB_USES] = {
	[USE_CPU] = { offsetof(struct job_seen, cpus), 0.05, "CPUs", 1 },
	[USE_WAKE] = { offsetof(struct job_seen, wakes), 200, "wake-ups/s", 1 },
	[USE_MEMORY] = { offsetof(struct job_seen, memory), 64e6, "MB", 1e-6 },
	[USE_FAULTS] = { offsetof(struct job_seen, faults), 4000, "page faults/s", 1 },
	[USE_DISK] = { offsetof(struct job_seen, disk), 1e5, "MB/s", 1e-6 },
	[USE_NET] = { offsetof(struct job_seen, net), 1e5, "MB/s", 1e-6 },
	[USE_RDMA] = { offsetof(struct job_seen, rdma), 1e6, "MB/s", 1e-6 },
	[USE_GPU] = { offsetof(struct job_seen, gpu), 0.02, "% busy", 100 },
	[USE_COPY] = { offsetof(struct job_seen, copies), 1e8, "MB/s", 1e-6 },
	[USE_PINNED] = { offsetof(struct job_seen, pinned), 1e6, "MB", 1e-6 },
};

static double seen_value(const struct job_seen *s, size_t use)
{
	double out;

	memcpy(&out, (const char *)s + limits[use].offset, sizeof(out));
	return out;
}

void job_seen_judge(struct job_seen *s)
{
	s->uses = 0;
	for (size_t i = 0; i < JOB_USES; i++)
		if (seen_value(s, i) >= limits[i].least)
			s->uses |= USE_BIT(i);
	/* Its memory there says so as well, and a GPU without counters of copies is fed all the
	 * same. */
	if (s->gpu_bytes >= 64e6)
		s->uses |= USE_BIT(USE_GPU);
	if (s->uses & USE_BIT(USE_GPU))
		s->uses |= USE_BIT(USE_COPY);
}

struct use_row *job_seen_rows(struct arena *a, const struct job_seen *s)
{
	struct use_row *out = arena_array(a, JOB_USES, sizeof(*out));

	for (size_t i = 0; i < JOB_USES; i++) {
		double value = limits[i].scale * seen_value(s, i);

		out[i] = (struct use_row){ job_use_names[i], s->uses & USE_BIT(i),
					   arena_printf(a, value < 1000 ? "%.3g %s" : "%.0f %s",
							value, limits[i].unit) };
	}
	return out;
}

static unsigned uses_of_word(const char *word, size_t len)
{
	for (size_t i = 0; i < n_setting_uses; i++)
		if (strlen(setting_uses[i].name) == len &&
		    strncmp(setting_uses[i].name, word, len) == 0)
			return setting_uses[i].uses;
	return 0;
}

unsigned setting_uses_of(const char *id, const char *shown_by)
{
	unsigned uses = 0;

	for (const char *at = shown_by ? shown_by : ""; *at;
	     at += strcspn(at, " "), at += strspn(at, " "))
		uses |= uses_of_word(at, strcspn(at, "/ "));
	return uses ? uses : uses_of_word(id, strcspn(id, "."));
}

const char *job_uses_text(struct arena *a, unsigned uses)
{
	const char *out = NULL;

	for (size_t i = 0; i < JOB_USES; i++)
		if (uses & USE_BIT(i))
			out = arena_printf(a, "%s%s%s", out ? out : "", out ? ", " : "",
					   job_use_names[i]);
	return out ? out : "";
}

/* clang-format off */
const struct shape use_row_shape = SHAPE_OF(use_row, use_row,
	{ "resource", NULL, SHAPE_TEXT(use_row, name) },
	{ "used", NULL, SHAPE_FLAG(use_row, used) },
	{ "seen", "Resources that one run used; disk, net, rdma and copies are those of the whole machine, minus the "
		"load before the run.",
	  SHAPE_TEXT(use_row, seen) });
/* clang-format on */

/* --- who else uses the GPUs ------------------------------------------------------------------- */

struct alone {
	struct host *h;
	struct monitor mon; /* no more than the GPUs */
	struct monitor_processes list;
	bool used[ALONE_GPUS]; /* by what is measured, by NVML's index */
	int *known;
	size_t n_known;
	const char *names;
	char who[128]; /* the other user; "": none */
	pthread_t thread;
	bool watching;
	atomic_bool over;
};

static bool is_below(struct host *h, long pid)
{
	for (int i = 0; i < DEPTH_MAX && pid > 1 && pid != getpid(); i++)
		pid = parent_of(h, pid);
	return pid == getpid();
}

/* Not the server of MPS, whose clients are listed too, and nothing that cannot be seen from here.
 */
static bool is_other(const struct alone *w, const struct monitor_process *p)
{
	for (size_t i = 0; i < w->n_known; i++)
		if (w->known[i] == p->pid)
			return false;
	return p->pid && *p->command && !str_starts(p->command, "nvidia-cuda-mps");
}

/* What is measured has pid 0 in the list afterwards. */
static void alone_list(struct alone *w)
{
	monitor_processes(&w->mon, w->h, &w->list);
	for (size_t i = 0; i < w->list.n; i++) {
		struct monitor_process *p = &w->list.items[i];

		for (char *c = p->command; *c; c++)
			*c = *c > ' ' && *c < 127 ? *c : '_';
		if (!is_below(w->h, p->pid))
			continue;
		w->used[p->gpu] = true;
		p->pid = 0;
	}
}

const char *alone_look(struct alone *w)
{
	if (!w)
		return NULL;
	alone_list(w);
	for (size_t i = 0; i < w->list.n; i++) {
		const struct monitor_process *p = &w->list.items[i];

		if (!w->used[p->gpu] || !is_other(w, p))
			continue;
		snprintf(w->who, sizeof(w->who), "%s (process %d) on GPU %u", p->command, p->pid,
			 p->gpu);
		return w->who;
	}
	return NULL;
}

struct alone *alone_begin(struct arena *a, struct host *h, const char *names)
{
	struct alone *w = ARENA_NEW(a, struct alone);
	struct monitor_machine *m = &w->mon.machine;
	long long n = 0, mig;

	*w = (struct alone){ .h = h, .names = "" };
	(void)host_ask_int(h, "nvml", "", "nvmlDeviceGetCount", &n);
	/* Instances of one GPU are apart from each other. */
	for (unsigned i = 0; i < n && i < ALONE_GPUS; i++)
		if (host_ask_int(h, "nvml", arena_printf(a, "%u", i),
				 "nvmlDeviceGetMigMode.current", &mig) ||
		    !mig)
			ARENA_ADD(a, m->gpus, m->n_gpus) = (struct monitor_gpu){ .index = i };
	if (!m->n_gpus)
		return NULL;
	alone_list(w);
	for (size_t i = 0; i < w->list.n; i++) {
		const struct monitor_process *p = &w->list.items[i];

		if (!is_other(w, p) || (names && !str_has_word(names, p->command)))
			continue;
		ARENA_ADD(a, w->known, w->n_known) = p->pid;
		w->names = arena_printf(a, "%s%s%s", w->names, *w->names ? " " : "", p->command);
	}
	return w;
}

const char *alone_names(const struct alone *w)
{
	return w ? w->names : "";
}

static void *alone_thread(void *ctx)
{
	struct alone *w = ctx;

	for (int i = 1; !atomic_load(&w->over); i++) {
		usleep(FIRST_MS * 1000);
		if (i % ALONE_LOOK == ALONE_FIRST && alone_look(w))
			break;
	}
	return NULL;
}

void alone_watch(struct alone *w)
{
	if (!w)
		return;
	w->who[0] = '\0';
	atomic_store(&w->over, false);
	w->watching = pthread_create(&w->thread, NULL, alone_thread, w) == 0;
}

const char *alone_end(struct alone *w)
{
	if (!w)
		return NULL;
	atomic_store(&w->over, true);
	if (w->watching)
		pthread_join(w->thread, NULL);
	return *w->who ? w->who : alone_look(w);
}
