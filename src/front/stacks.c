/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of a job's stacks. */
#include "front/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "front/terminal.h"
#include "models/hang/hang.h"

enum {
	EVERY_MS = 50,
	LOOKED_MAX = 8192,
	READERS_MAX = 512, /* at once */
	PLACES_MAX = 16384,
	MODULES_MAX = 1024,
	REFRESH = 20,
	AWAY = 10, /* a kind of place that was left for as many samples is come to again */
	TRIES_MAX = 5,
	COST = 100, /* of as much time one part is spent on samples */
	COST_OFTEN = 5
};

/* What a process was in, at one line of the user's program. */
struct place {
	size_t process;
	const char *kind, *file, *function, *source;
	int line;
	unsigned samples, times, last; /* times: that it was come to; last: the sample it was in */
};

/* A module of an installed package that a process had in its stack: "peft/tuners/lora". */
struct module {
	size_t process;
	const char *name;
	unsigned samples, last; /* last: the sample that it was counted in */
};

/* A process of the job. */
struct looked_at {
	pid_t pid;
	int rank, tries;
	bool over;
	struct stack_reader *reader; /* NULL: no Python, or over */
	struct arena a;		     /* the reader's */
	unsigned samples, seen;	     /* seen: in the last list of processes */
};

struct stack_samples {
	struct arena a; /* texts of places */
	pid_t job;
	bool often;
	pthread_t thread;
	atomic_bool end;
	struct looked_at at[LOOKED_MAX];
	struct place places[PLACES_MAX];
	struct module modules[MODULES_MAX];
	pid_t pids[STACK_PROCESSES_MAX];
	size_t n, n_readers, n_places, n_modules;
	unsigned lists;
	double cpu_s, every_s;
	const char *missing;
};

static void close_reader(struct stack_samples *s, struct looked_at *at)
{
	s->n_readers -= at->reader != NULL;
	at->reader = NULL;
	arena_free(&at->a);
}

static void open_python(struct stack_samples *s, struct looked_at *at)
{
	ARENA_AUTO scratch = { 0 };
	struct stack_process p = { 0 };
	struct err e = { 0 };

	at->tries++;
	at->reader = stacks_open(&at->a, at->pid, &e);
	s->n_readers += at->reader != NULL;
	if (at->reader)
		stacks_read(at->reader, &scratch, true, &p);
	if (p.python)
		return;
	if (p.missing && !s->missing)
		s->missing = arena_strdup(&s->a, p.missing);
	close_reader(s, at);
}

/* The process's place; that of one that left nothing is free again. NULL: there is none. */
static struct looked_at *looked_of(struct stack_samples *s, pid_t pid)
{
	size_t at = s->n;

	for (size_t k = 0; k < s->n; k++) {
		if (s->at[k].pid == pid && !s->at[k].over)
			return &s->at[k];
		if (at == s->n && s->at[k].over && !s->at[k].samples)
			at = k;
	}
	if (at == LOOKED_MAX)
		return NULL;
	s->n += at == s->n;
	s->at[at] = (struct looked_at){ .pid = pid };
	return &s->at[at];
}

/* New processes; those in which Python had not begun are opened again. */
static void refresh(struct stack_samples *s)
{
	size_t n = stacks_tree(s->job, s->pids, STACK_PROCESSES_MAX);

	s->lists++;
	for (size_t i = 0; i < n; i++) {
		struct looked_at *at = looked_of(s, s->pids[i]);

		if (!at)
			continue;
		at->seen = s->lists;
		if (!at->reader && at->tries <= TRIES_MAX && s->n_readers < READERS_MAX)
			open_python(s, at);
	}
	for (size_t k = 0; k < s->n; k++)
		s->at[k].over |= !s->at[k].reader && s->at[k].seen != s->lists;
}

static bool same(const char *x, const char *y)
{
	return x == y || (x && y && strcmp(x, y) == 0);
}

static const char *lasting(struct stack_samples *s, const char *text)
{
	return text ? arena_strdup(&s->a, text) : NULL;
}

/* What the user's line called is neither PyTorch nor a trainer: other work than training. */
static bool computes(const struct hang_process *p)
{
	const struct stack_frame *f = p->at.threads[0].frames;
	size_t k = 0, n = p->file ? p->at.threads[0].n : 0;

	for (; k < n && !same(f[k].file, p->file); k++)
		if (strstr(f[k].file, "/torch/") || strstr(f[k].file, "/transformers/") ||
		    strstr(f[k].file, "/accelerate/") || strstr(f[k].file, "lightning/"))
			return false;
	return k > 0 && k < n;
}

static void count(struct stack_samples *s, size_t process, const struct hang_process *p)
{
	const char *kind = strcmp(p->kind, "unknown") == 0		     ? "other"
			   : strcmp(p->kind, "spinning") == 0 && computes(p) ? "computing"
									     : p->kind;
	size_t i = s->n_places;
	long last = -1 - AWAY;

	for (size_t k = 0; k < s->n_places; k++) {
		const struct place *x = &s->places[k];

		if (x->process != process || strcmp(x->kind, kind) != 0)
			continue;
		last = x->last > last ? (long)x->last : last;
		if (x->line == p->line && same(x->file, p->file))
			i = k;
	}
	if (i == PLACES_MAX)
		return;
	/* What there is lives as long as the reader at most. */
	if (i == s->n_places)
		s->places[s->n_places++] = (struct place){ .process = process,
							   .kind = arena_strdup(&s->a, kind),
							   .file = lasting(s, p->file),
							   .function = lasting(s, p->function),
							   .source = lasting(s, p->source),
							   .line = p->line };
	s->places[i].samples++;
	s->places[i].times += (long)s->at[process].samples - last > AWAY;
	s->places[i].last = s->at[process].samples;
}

/* At most four names of its path below the folder of packages; 0: the file is none of theirs. */
static int module_of(const char *file, const char **name)
{
	const char *at = strstr(file, "-packages/");
	int n = 0;

	if (!at)
		return 0;
	*name = at + strlen("-packages/");
	for (int parts = 0; (*name)[n] && (*name)[n] != '.'; n++)
		if ((*name)[n] == '/' && ++parts == 4)
			break;
	return n;
}

static void count_module(struct stack_samples *s, size_t process, const char *file)
{
	const char *name = "";
	int n = module_of(file, &name);
	size_t i = 0;

	while (i < s->n_modules &&
	       (s->modules[i].process != process ||
		strncmp(s->modules[i].name, name, (size_t)n) != 0 || s->modules[i].name[n]))
		i++;
	if (!n || i == MODULES_MAX)
		return;
	if (i == s->n_modules)
		s->modules[s->n_modules++] =
			(struct module){ process, arena_printf(&s->a, "%.*s", n, name), 0, 0 };
	s->modules[i].samples += s->modules[i].last != s->at[process].samples;
	s->modules[i].last = s->at[process].samples;
}

static void sample(struct stack_samples *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct looked_at *at = &s->at[i];
		ARENA_AUTO scratch = { 0 };
		struct hang_process p = { 0 };

		if (!at->reader || at->over)
			continue;
		stacks_read(at->reader, &scratch, true, &p.at);
		at->over = p.at.ends;
		at->rank = p.at.rank;
		if (p.at.missing && !s->missing)
			s->missing = arena_strdup(&s->a, p.at.missing);
		if (!at->over && p.at.n && p.at.threads[0].n) {
			hang_classify(&scratch, &p.at, 0, &p);
			count(s, i, &p);
			at->samples++;
			/* A module that is imported does not work yet. */
			for (size_t k = 0;
			     strcmp(p.kind, "importing") != 0 && k < p.at.threads[0].n; k++)
				count_module(s, i, p.at.threads[0].frames[k].file);
		}
		if (at->over)
			close_reader(s, at);
	}
}

static double thread_cpu_s(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *sampling(void *ctx)
{
	struct stack_samples *s = ctx;
	double begin = clock_mono_s();
	unsigned n = 0;

	for (; !atomic_load(&s->end); n++) {
		double rest = EVERY_MS / 1e3, before = s->cpu_s;

		if (n % REFRESH == 0)
			refresh(s);
		sample(s);
		s->cpu_s = thread_cpu_s();
		rest = fmax(rest, (s->often ? COST_OFTEN : COST) * (s->cpu_s - before));
		for (double end = clock_mono_s() + rest;
		     !atomic_load(&s->end) && clock_mono_s() < end;)
			nanosleep(&(struct timespec){ 0, EVERY_MS * 1000000L }, NULL);
	}
	s->every_s = (clock_mono_s() - begin) / n;
	return NULL;
}

struct stack_samples *stack_samples_begin(pid_t job, bool often)
{
	struct stack_samples *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->job = job;
	s->often = often;
	if (pthread_create(&s->thread, NULL, sampling, s) == 0)
		return s;
	free(s);
	return NULL;
}

static int by_samples(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return (a->samples < b->samples) - (a->samples > b->samples);
}

static json_t *process_json(const struct stack_samples *s, size_t i)
{
	json_t *list = json_array(), *modules = json_object();

	for (size_t k = 0; k < s->n_modules; k++)
		if (s->modules[k].process == i)
			json_object_set_new(modules, s->modules[k].name,
					    json_integer((json_int_t)s->modules[k].samples));
	for (size_t k = 0; k < s->n_places; k++) {
		const struct place *p = &s->places[k];

		if (p->process == i)
			json_array_append_new(
				list, json_pack("{ss si si ss* ss* ss* si}", "kind", p->kind,
						"samples", (int)p->samples, "times", (int)p->times,
						"file", p->file, "function", p->function, "source",
						p->source, "line", p->line));
	}
	return json_pack("{si si si si sf so so}", "gputune_stacks", 1, "pid", (int)s->at[i].pid,
			 "rank", s->at[i].rank, "samples", (int)s->at[i].samples, "every_s",
			 s->every_s, "places", list, "modules", modules);
}

static size_t stack_samples_write(const struct stack_samples *s, FILE *f)
{
	size_t written = 0;

	for (size_t i = 0; i < s->n; i++) {
		json_auto_t *j = s->at[i].samples ? process_json(s, i) : NULL;

		if (j && json_dumpf(j, f, JSON_COMPACT) == 0) {
			fputc('\n', f);
			written++;
		}
	}
	return written;
}

void stack_samples_end(struct stack_samples *s, const char *recording, bool quiet)
{
	char *path;
	size_t n = 0;
	FILE *f = NULL;
	int fd;

	atomic_store(&s->end, true);
	pthread_join(s->thread, NULL);
	for (size_t i = 0; i < s->n; i++)
		close_reader(s, &s->at[i]);
	qsort(s->places, s->n_places, sizeof(*s->places), by_samples);
	path = arena_printf(&s->a, "%s.stacks", recording);
	fd = s->n_places ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	if (fd >= 0 && (f = fdopen(fd, "w")) != NULL)
		n = stack_samples_write(s, f);
	if (s->n_places && (!f || fclose(f) != 0))
		complain_text(0, "cannot write %s: %s", path, strerror(errno));
	else if (!quiet && n)
		fprintf(stderr,
			"gputune: stacks of %zu processes in %s; sampling took %.2f s of CPU\n", n,
			path, s->cpu_s);
	else if (!quiet && s->missing)
		fprintf(stderr, "gputune: no stacks: %s\n", s->missing);
	arena_free(&s->a);
	free(s);
}
