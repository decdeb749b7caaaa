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
#include "base/text.h"
#include "front/terminal.h"
#include "models/hang/hang.h"

enum {
	EVERY_MS = 50,
	LOOKED_MAX = 8192,
	READERS_MAX = 512, /* at once */
	PLACES_MAX = 16384,
	COUNTS_MAX = 1024, /* names of a process, or of a place */
	REFRESH = 20,
	WATCHES_MAX = 128, /* threads whose C frames are looked at, at once */
	WATCHES_EACH = 8,  /* of a process */
	NATIVE_MAX = 16,
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
	json_t *native;		       /* samples by "LIBRARY:FUNCTION" of the innermost C frame */
	unsigned late, late_times;     /* those since the last backward pass */
};

/* A process of the job. */
struct looked_at {
	pid_t pid;
	int rank, tries;
	bool over;
	struct stack_reader *reader; /* NULL: no Python, or over */
	struct arena a;		     /* the reader's */
	unsigned samples, seen;	     /* seen: in the last list of processes */
	struct arena look;	     /* the newest, which counts when the next one begins */
	struct hang_process now;
	/* Of packages in its stack, "peft/tuners/lora"; of other threads, as of places. */
	json_t *modules, *threads;
	struct stack_watch watches[WATCHES_EACH]; /* the main thread first */
	size_t n_watches;
	/* The last sample in a backward pass and how many passes were come to; from the second one
	 * on it trains: what was before is set-up, what is behind the last is the end. */
	unsigned backward, passes, trained;
	double from_s, to_s; /* of that, seconds since 1970 */
};

struct stack_samples {
	struct arena a; /* texts of places */
	pid_t job;
	bool often;
	pthread_t thread;
	atomic_bool end;
	struct looked_at at[LOOKED_MAX];
	struct place places[PLACES_MAX];
	pid_t pids[STACK_PROCESSES_MAX];
	size_t n, n_readers, n_places, n_watches;
	unsigned lists;
	double cpu_s, every_s;
	const char *missing, *native_missing;
};

/* All but the first n. */
static void unwatch(struct stack_samples *s, struct looked_at *at, size_t n)
{
	for (; at->n_watches > n; s->n_watches--)
		stack_watch_close(&at->watches[--at->n_watches]);
}

static void watch(struct stack_samples *s, struct looked_at *at, pid_t tid)
{
	struct err e = { 0 };
	int code;

	if (at->n_watches == WATCHES_EACH || s->n_watches == WATCHES_MAX)
		return;
	code = stack_watch_open(&at->watches[at->n_watches], tid, &e);
	at->n_watches += !code;
	s->n_watches += !code;
	if (code && code != -ESRCH && !at->n_watches && !s->native_missing)
		s->native_missing = arena_strdup(&s->a, e.text);
}

/* The main thread, and others that run when they are looked for. */
static void watch_process(struct stack_samples *s, struct looked_at *at)
{
	pid_t threads[WATCHES_EACH];
	size_t n;

	unwatch(s, at, 1);
	if (!at->n_watches)
		watch(s, at, at->pid);
	n = at->n_watches ? stacks_running(at->reader, threads, WATCHES_EACH) : 0;
	for (size_t k = 0; k < n; k++)
		watch(s, at, threads[k]);
}

static void close_reader(struct stack_samples *s, struct looked_at *at)
{
	s->n_readers -= at->reader != NULL;
	at->reader = NULL;
	unwatch(s, at, 0);
	at->threads = at->samples ? at->threads : (json_decref(at->threads), NULL);
	at->now = (struct hang_process){ 0 };
	arena_free(&at->look);
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
		if (at->reader)
			watch_process(s, at);
	}
	for (size_t k = 0; k < s->n; k++)
		s->at[k].over |= !s->at[k].reader && s->at[k].seen != s->lists;
}

static void count_name(json_t **counts, const char *name)
{
	json_t *n = json_object_get(*counts, name);

	if (!*counts)
		*counts = json_object();
	if (n)
		json_integer_set(n, json_integer_value(n) + 1);
	else if (json_object_size(*counts) < COUNTS_MAX)
		json_object_set_new(*counts, name, json_integer(1));
}

/* The innermost C frame; without a name: the function of its library that it works for. Of libc or
 * the kernel: also whose code called it. */
static void count_native(json_t **counts, const struct stack_frame *f, size_t n)
{
	ARENA_AUTO a = { 0 };
	const char *name = n ? f->function : NULL, *from = NULL;
	size_t k = 1;

	for (; k < n && strcmp(f[k].file, f->file) == 0; k++)
		name = strcmp(name, "?") == 0 ? f[k].function : name;
	for (; k < n && !from && (native_libc(f->file) || strcmp(f->file, "kernel") == 0); k++)
		from = native_libc(f[k].file) ? NULL : f[k].file;
	if (n)
		count_name(counts, arena_printf(&a, "%s:%s%s%s", f->file, name,
						from ? " from " : "", from ? from : ""));
}

static bool same(const char *x, const char *y)
{
	return x == y || (x && y && strcmp(x, y) == 0);
}

static const char *lasting(struct stack_samples *s, const char *text)
{
	return text ? arena_strdup(&s->a, text) : NULL;
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

/* Whether code belongs to PyTorch or CUDA, or to a trainer that calls them. */
static bool is_training(const char *name)
{
	static const char *const words[] = { "torch/",	    "libtorch",	 "libc10",
					     "libcuda",	    "libcub",	 "libcudnn",
					     "libcufft",    "libcurand", "libcus",
					     "libnv",	    "libnccl",	 "triton",
					     "libtriton",   "libcupti",	 "transformers/",
					     "accelerate/", "lightning", "pytorch_lightning/",
					     "deepspeed/",  "peft/" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_starts(name, words[i]))
			return true;
	return false;
}

/* What the user's line called, or does itself, is other work than training: by Python's frames
 * where it called Python, by the code that ran else. */
static bool computes(const struct hang_process *p)
{
	const struct stack_thread *t = &p->at.threads[0];
	size_t k = 0, c = 0, n = p->file ? t->n : 0;
	const char *name;

	for (; k < n && !same(t->frames[k].file, p->file); k++)
		if (module_of(t->frames[k].file, &name) && is_training(name))
			return false;
	while (c < t->n_c &&
	       (native_libc(t->c_frames[c].file) || strcmp(t->c_frames[c].file, "kernel") == 0))
		c++;
	return k < n && (k > 0 || (c < t->n_c && !is_training(t->c_frames[c].file)));
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
	s->places[i].late++;
	s->places[i].late_times += (long)s->at[process].samples - last > AWAY;
	s->places[i].last = s->at[process].samples;
	count_native(&s->places[i].native, p->thread->c_frames, p->thread->n_c);
}

/* Adds the samples since the last backward pass to those of the places; keep: false drops all. */
static void settle(struct stack_samples *s, size_t process, bool keep)
{
	for (size_t k = 0; k < s->n_places; k++) {
		struct place *x = &s->places[k];

		if (x->process != process)
			continue;
		x->samples = keep ? x->samples + x->late : 0;
		x->times = keep ? x->times + x->late_times : 0;
		x->late = x->late_times = 0;
		if (!keep) {
			json_decref(x->native);
			x->native = NULL;
		}
	}
}

static bool in_backward(const struct stack_thread *t)
{
	for (size_t k = 0; k < t->n; k++)
		if (strstr(t->frames[k].file, "torch/autograd/") &&
		    (strcmp(t->frames[k].function, "_engine_run_backward") == 0 ||
		     strcmp(t->frames[k].function, "backward") == 0))
			return true;
	return false;
}

/* Seconds since 1970. */
static double wall_s(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Begins the training at the second backward pass: the first step loads and compiles. */
static void follow_training(struct stack_samples *s, size_t process, const struct stack_thread *t)
{
	struct looked_at *at = &s->at[process];
	unsigned now = at->samples + 1;

	if (!in_backward(t))
		return;
	at->passes += !at->backward || now - at->backward > 1;
	at->backward = now;
	at->to_s = wall_s();
	if (at->passes < 2)
		return;
	settle(s, process, at->from_s > 0);
	if (at->from_s > 0)
		return;
	at->from_s = at->to_s;
	at->trained = now;
	json_decref(at->modules);
	json_decref(at->threads);
	at->modules = at->threads = NULL;
}

static void count_modules(struct looked_at *at, const struct stack_thread *t)
{
	ARENA_AUTO a = { 0 };
	struct map seen = { 0 };
	const char *name;

	for (size_t k = 0; k < t->n; k++) {
		int n = module_of(t->frames[k].file, &name);
		const char *module = arena_printf(&a, "%.*s", n, n ? name : "");

		if (n && !map_get(&seen, module))
			count_name(&at->modules, module);
		*map_at(&a, &seen, module) = at;
	}
}

/* The newest look, with the C frames that came since: each thread that ran is looked at once. */
static void count_look(struct stack_samples *s, size_t i)
{
	struct looked_at *at = &s->at[i];
	struct hang_process *p = &at->now;
	struct stack_thread *t =
		p->at.n && !p->at.ends && p->at.threads[0].n ? p->at.threads : NULL;
	struct stack_frame frames[NATIVE_MAX];

	for (size_t k = 0; k < at->n_watches; k++) {
		size_t n = stacks_take(at->reader, &at->watches[k], frames, NATIVE_MAX);

		if (k) {
			count_native(&at->threads, frames, n);
			stack_watch_arm(&at->watches[k]);
		} else if (t && t->state == 'R') { /* One that slept was woken long after. */
			t->n_c = n;
			t->c_frames = arena_array(&at->look, NATIVE_MAX, sizeof(*frames));
			memcpy(t->c_frames, frames, sizeof(frames));
		}
	}
	if (!t)
		return;
	hang_classify(&at->look, &p->at, 0, p);
	count(s, i, p);
	follow_training(s, i, t);
	at->samples++;
	/* A module that is imported does not work yet. */
	if (strcmp(p->kind, "importing") != 0)
		count_modules(at, t);
}

static void sample(struct stack_samples *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct looked_at *at = &s->at[i];
		struct stack_process *p = &at->now.at;

		if (!at->reader || at->over)
			continue;
		count_look(s, i);
		arena_free(&at->look);
		at->now = (struct hang_process){ 0 };
		stacks_read(at->reader, &at->look, true, p);
		at->over = p->ends;
		at->rank = p->rank;
		if (p->missing && !s->missing)
			s->missing = arena_strdup(&s->a, p->missing);
		if (at->n_watches && p->n && p->threads[0].state == 'R')
			stack_watch_arm(&at->watches[0]);
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
	json_t *list = json_array();

	for (size_t k = 0; k < s->n_places; k++) {
		const struct place *p = &s->places[k];

		if (p->process == i && p->samples)
			json_array_append_new(
				list, json_pack("{ss si si ss* ss* ss* si so*}", "kind", p->kind,
						"samples", (int)p->samples, "times", (int)p->times,
						"file", p->file, "function", p->function, "source",
						p->source, "line", p->line, "native", p->native));
	}
	return json_pack("{si si si si sf so so* so* ss* so*}", "gputune_stacks", 1, "pid",
			 (int)s->at[i].pid, "rank", s->at[i].rank, "samples", (int)s->at[i].samples,
			 "every_s", s->every_s, "places", list, "modules",
			 s->at[i].modules ? s->at[i].modules : json_object(), "threads",
			 s->at[i].threads, "native_missing", s->native_missing, "training",
			 s->at[i].from_s > 0 ? json_pack("[ff]", s->at[i].from_s, s->at[i].to_s)
					     : NULL);
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
	for (size_t i = 0; i < s->n; i++) {
		struct looked_at *at = &s->at[i];

		if (at->reader)
			count_look(s, i);
		close_reader(s, at);
		/* A job that never comes back to the next step is not at its end. */
		if (!(at->from_s > 0) ||
		    at->samples - at->backward > (at->backward - at->trained) / 2) {
			settle(s, i, true);
			at->to_s = wall_s();
		} else
			at->samples = at->backward;
		at->samples -= at->trained;
	}
	qsort(s->places, s->n_places, sizeof(*s->places), by_samples);
	path = arena_printf(&s->a, "%s.stacks", recording);
	fd = s->n_places ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	if (fd >= 0 && (f = fdopen(fd, "w")) != NULL)
		n = stack_samples_write(s, f);
	if (s->n_places && (!f || fclose(f) != 0))
		complain_text(0, "cannot write %s: %s", path, strerror(errno));
	else if (!quiet && n)
		fprintf(stderr,
			"gputune: stacks of %zu processes in %s; sampling took %.2f s of CPU%s%s\n",
			n, path, s->cpu_s, s->native_missing ? "; no C frames: " : "",
			s->native_missing ? s->native_missing : "");
	else if (!quiet && s->missing)
		fprintf(stderr, "gputune: no stacks: %s\n", s->missing);
	arena_free(&s->a);
	free(s);
}
