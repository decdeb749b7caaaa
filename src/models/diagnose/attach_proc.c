/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a job and what their threads do, by /proc alone. */
#include "models/diagnose/attach_proc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/text.h"

enum { STAT_MAX = 1024, ENVIRON_MAX = 1 << 18, VALUE_MAX = 200 };

struct stat_line {
	char name[32];
	char state;
	int parent;
	unsigned long long ticks; /* of CPU, user and kernel */
};

/* "PID (NAME) STATE PPID ...": the name may hold anything. */
static bool stat_read(struct host *h, const char *path, struct stat_line *out)
{
	char text[STAT_MAX], *open, *close;
	unsigned long long user, kernel;
	size_t n;

	if (host_read_line(h, path, text, sizeof(text)))
		return false;
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open)
		return false;
	n = (size_t)(close - open - 1);
	n = n < sizeof(out->name) - 1 ? n : sizeof(out->name) - 1;
	memcpy(out->name, open + 1, n);
	out->name[n] = '\0';
	if (sscanf(close + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &out->state,
		   &out->parent, &user, &kernel) != 4)
		return false;
	out->ticks = user + kernel;
	return true;
}

const struct attach_process *attach_process_of(const struct attach *s, int pid)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].pid == pid)
			return &s->processes[i];
	return NULL;
}

static bool uses_gpu(const struct attach *s, int pid)
{
	for (size_t i = 0; i < s->n_gpu_pids; i++)
		if (s->gpu_pids[i] == pid)
			return true;
	return false;
}

/* The variable's value in a block of "NAME=value\0"; NULL. */
static const char *variable(const char *block, size_t len, const char *name)
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
static bool is_rank(struct attach *s, const struct attach_process *p)
{
	const struct attach_process *above = attach_process_of(s, p->parent);
	struct arena own = { 0 };
	char *block;
	size_t len;
	bool yes = false;

	if (above && above->rank)
		return false;
	if (uses_gpu(s, p->pid))
		return true;
	if (!s->n_gpu_pids && environment(s, &own, p->pid, &block, &len))
		yes = variable(block, len, "RANK") != NULL;
	arena_free(&own);
	return yes;
}

static void add_process(struct attach *s, int pid, const struct stat_line *line)
{
	struct attach_process *p;
	const struct attach_process *above;

	if (attach_process_of(s, pid) || s->n_processes >= ATTACH_PROCESSES_MAX)
		return;
	s->processes = arena_grow(s->a, s->processes, s->n_processes, sizeof(*s->processes));
	p = &s->processes[s->n_processes];
	*p = (struct attach_process){ .pid = pid, .parent = line->parent };
	snprintf(p->name, sizeof(p->name), "%s", line->name);
	p->rank = is_rank(s, p);
	above = attach_process_of(s, line->parent);
	p->worker = above && (above->rank || above->worker);
	s->n_processes++;
}

/* Where processes cannot be listed, those whose numbers are known. */
static void named_ones(struct attach *s)
{
	struct stat_line line;
	char path[64];

	for (size_t i = 0; i <= s->n_gpu_pids; i++) {
		int pid = i < s->n_gpu_pids ? s->gpu_pids[i] : s->root;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (pid > 0 && (!s->root || pid == s->root) && stat_read(s->h, path, &line))
			add_process(s, pid, &line);
	}
}

/* All processes once; whose parent belongs to the job belongs to it, whatever their order. */
void attach_processes(struct attach *s)
{
	struct arena own = { 0 };
	struct stat_line *lines;
	char **names, path[64];
	size_t n, before;

	if (host_list(s->h, "/proc", &own, &names, &n)) {
		named_ones(s);
		arena_free(&own);
		return;
	}
	lines = arena_array(&own, n + 1, sizeof(*lines));
	for (size_t i = 0; i < n; i++) {
		int pid = atoi(names[i]);

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (pid <= 0 || !stat_read(s->h, path, &lines[i])) {
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
	arena_free(&own);
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
		struct stat_line line;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, atoi(names[i]));
		if (!t || !stat_read(s->h, path, &line))
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

bool attach_threads(struct attach *s)
{
	struct arena own = { 0 };
	bool any = false;

	for (size_t i = 0; i < s->n_processes; i++)
		any = one_process(s, &own, s->processes[i].pid) || any;
	arena_free(&own);
	return any;
}

/* "Cpus_allowed_list:	0-3" of each rank, put together. */
double attach_cpus_allowed(struct attach *s)
{
	static const char key[] = "Cpus_allowed_list:";
	struct arena own = { 0 };
	struct idset all = { 0 }, one;
	char path[64], *text, *at;
	double count;

	for (size_t i = 0; i < s->n_processes; i++) {
		snprintf(path, sizeof(path), "/proc/%d/status", s->processes[i].pid);
		if (!s->processes[i].rank ||
		    host_read(s->h, path, ENVIRON_MAX, &own, &text, NULL) ||
		    !(at = strstr(text, key)))
			continue;
		at += strlen(key);
		at[strcspn(at, "\n")] = '\0';
		if (idset_parse(&own, at + strspn(at, " \t"), &one))
			continue;
		IDSET_FOR_EACH (id, &one)
			idset_add(&own, &all, id);
	}
	count = all.n ? (double)idset_count(&all) : (double)NAN;
	arena_free(&own);
	return count;
}

void attach_environment(struct attach *s, int pid)
{
	static const char *const told[] = {
		"NCCL_ALGO",	       "NCCL_PROTO",	   "NCCL_IB_DISABLE",
		"NCCL_P2P_DISABLE",    "NCCL_SHM_DISABLE", "NCCL_NET",
		"NCCL_SOCKET_IFNAME",  "OMP_NUM_THREADS",  "CUDA_DEVICE_MAX_CONNECTIONS",
		"CUDA_LAUNCH_BLOCKING"
	};
	struct arena own = { 0 };
	char *block;
	size_t len;

	if (environment(s, &own, pid, &block, &len))
		for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
			const char *v = variable(block, len, told[i]);

			if (v)
				evidence_trait(s->ev, (struct trait_seen){
							      TRAIT_VARIABLE,
							      arena_printf(s->a, "%s=%.*s", told[i],
									   (int)VALUE_MAX, v),
							      NAN, -1, s->file, 0 });
		}
	arena_free(&own);
}
