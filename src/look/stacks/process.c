/* SPDX-License-Identifier: Apache-2.0 */
/* A process's threads: from /proc, with Python's frames. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "look/stack/elf.h"
#include "look/stack/rodata.h"
#include "look/stacks/stacks.h"

enum {
	MAPS_MAX = 4096, /* mapped files that are kept */
	PROC_MAX = 1 << 22,
	SYMBOLS_MAX = 32 << 20,
	SOURCE_MAX = 4 << 20, /* of a file whose line is shown */
	SOURCE_FRAMES = 8,
	SOURCE_LINE = 160,
	TRIES = 3,
	SOURCES = 1024,	    /* lines that are remembered */
	NATIVE_MAX = 20,    /* C frames */
	STACK_BYTES = 8192, /* of the stack, for them */
	STACK_ONCE = 1024,
	NATIVE_THREADS = 64, /* that have some */
};

struct stack_reader {
	struct arena *a;
	pid_t pid;
	struct stack_maps maps;
	struct python *python;
	const char *missing, *command, *nccl, *ras;
	int rank, local_rank;
	size_t misses; /* places in no file */
	struct source {
		const char *file, *text;
		int line;
	} sources[SOURCES];
};

/* A file of /proc, at most so many bytes; "" where it is not to be read. */
static char *proc_text(struct arena *a, const char *path, size_t most, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	TEXT_AUTO t = { 0 };

	if (fd >= 0) {
		fd_read_all(fd, most, &t);
		close(fd);
	}
	if (len)
		*len = t.len;
	return arena_strndup(a, t.s ? t.s : "", t.len);
}

static char *proc_of(struct arena *a, pid_t pid, const char *file, size_t *len)
{
	return proc_text(a, arena_printf(a, "/proc/%d/%s", (int)pid, file), PROC_MAX, len);
}

/* --- what is mapped --------------------------------------------------------------------------- */

static void read_maps(struct stack_reader *r)
{
	char *line = proc_of(r->a, r->pid, "maps", NULL), *next;

	r->maps = (struct stack_maps){ .a = r->a, .pid = r->pid };
	for (; *line && r->maps.n < MAPS_MAX; line = next) {
		struct stack_map now, *m = &now;
		char *end = strchr(line, '\n'), *path, rights[5] = "";

		next = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		path = strchr(line, '/');
		if (path &&
		    sscanf(line, "%llx-%llx %4s %llx", &m->from, &m->to, rights, &m->offset) == 4) {
			m->path = path;
			m->code = rights[2] == 'x';
			ARENA_ADD(r->a, r->maps.items, r->maps.n) = now;
		}
	}
}

/* "python3.11", "libpython3.12.so.1.0": 11, 12; below 0: another file. */
static int python_version(const char *path)
{
	const char *name = path_name(path), *at = strstr(name, "python3.");

	if (!at || (at != name && strncmp(name, "lib", 3) != 0) || !isdigit((unsigned char)at[8]))
		return -1;
	return atoi(at + 8);
}

/* Where a file defines a symbol; 0: nowhere. */
static unsigned long long symbol_at(struct arena *a, struct input *in, const struct elf *elf,
				    const char *symbol)
{
	struct elf_section sym, str;
	unsigned char *syms;
	char *names;

	if (!elf_section(in, elf, ".dynsym", &sym) || !elf_section(in, elf, ".dynstr", &str) ||
	    sym.size > SYMBOLS_MAX || str.size > SYMBOLS_MAX)
		return 0;
	syms = arena_alloc(a, sym.size + 1);
	names = arena_alloc(a, str.size + 1);
	if (input_read(in, sym.at, syms, sym.size) || input_read(in, str.at, names, str.size))
		return 0;
	for (size_t i = 0; i + 24 <= sym.size; i += 24) {
		uint32_t name = le32(syms + i);

		if (name < str.size && strcmp(names + name, symbol) == 0)
			return le32(syms + i + 8) | (unsigned long long)le32(syms + i + 12) << 32;
	}
	return 0;
}

/* The address of _PyRuntime in a mapped file; 0: it has none. */
static unsigned long long runtime_at(struct stack_reader *r, const struct stack_map *m)
{
	unsigned long long at = 0;
	ARENA_AUTO scratch = { 0 };
	struct err e = { 0 };
	struct input_file f;
	struct elf elf;

	if (!stacks_open_mapped(&r->maps, m, &f))
		return 0;
	if (elf_open(&f.in, &elf, &e) == 0) {
		at = symbol_at(&scratch, &f.in, &elf, "_PyRuntime");
		if (at && elf.type == 3) /* moved to where it is mapped */
			at += m->from;
	}
	input_close(&f);
	return at;
}

static void find_python(struct stack_reader *r)
{
	struct err e = { 0 };

	for (size_t i = 0; i < r->maps.n && !r->python; i++) {
		int minor = python_version(r->maps.items[i].path);
		unsigned long long at;

		if (minor < 0 || r->maps.items[i].offset)
			continue;
		at = runtime_at(r, &r->maps.items[i]);
		if (at)
			r->python = python_open(r->a, r->pid, at, minor, &e);
		if (at)
			r->missing = r->python ? NULL : arena_strdup(r->a, e.text);
	}
}

/* Which NCCL it has: processes of one job may have several builds. */
const char *stacks_nccl(struct stack_reader *r)
{
	for (size_t i = 0; i < r->maps.n && !r->nccl; i++) {
		char version[64] = "";
		struct err e = { 0 };
		struct input_file f;
		struct elf elf;

		if (!str_starts(path_name(r->maps.items[i].path), "libnccl.so"))
			continue;
		r->nccl = r->maps.items[i].path;
		if (!stacks_open_mapped(&r->maps, &r->maps.items[i], &f))
			return r->nccl;
		if (elf_open(&f.in, &elf, &e) == 0)
			rodata_version(&f.in, &elf, "NCCL version ", NULL, 0, version,
				       sizeof(version));
		input_close(&f);
		if (*version)
			r->nccl = arena_printf(r->a, "NCCL %s (%s)", version, r->nccl);
	}
	return r->nccl;
}

/* --- opening ---------------------------------------------------------------------------------- */

static const char *variable_in(const char *env, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (size_t at = 0; at < len; at += strlen(env + at) + 1)
		if (strncmp(env + at, name, n) == 0 && env[at + n] == '=')
			return env + at + n + 1;
	return NULL;
}

static int first_of(const char *env, size_t len, const char *const *names)
{
	const char *text = NULL;

	for (; *names && (!text || atoi(text) < 0); names++)
		text = variable_in(env, len, *names);
	return text ? atoi(text) : -1;
}

int stacks_rank(struct arena *a, pid_t pid)
{
	static const char *const ranks[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					     "SLURM_PROCID", NULL };
	size_t len = 0;
	const char *env = proc_of(a, pid, "environ", &len);

	return first_of(env, len, ranks);
}

struct stack_reader *stacks_open(struct arena *a, pid_t pid, struct err *e)
{
	static const char *const locals[] = { "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
					      "SLURM_LOCALID", NULL };
	struct stack_reader *r = ARENA_NEW(a, struct stack_reader);
	char *line, *env;
	size_t len = 0;
	char probe;

	*r = (struct stack_reader){ .a = a, .pid = pid };
	if (kill(pid, 0) < 0 && errno == ESRCH) {
		err_set(e, -ESRCH, "no process %d", (int)pid);
		return NULL;
	}
	line = proc_of(a, pid, "cmdline", &len);
	for (size_t i = 0; i + 1 < len; i++)
		line[i] = line[i] ? line[i] : ' ';
	r->command =
		utf8_clean(a, *line ? line : str_trim(proc_of(a, pid, "comm", NULL), 64, &len));
	env = proc_of(a, pid, "environ", &len);
	r->rank = stacks_rank(a, pid);
	r->local_rank = first_of(env, len, locals);
	r->ras = variable_in(env, len, "NCCL_RAS_ADDR");
	read_maps(r);
	if (r->maps.n && !stacks_peek(pid, r->maps.items[0].from, &probe, 1) && errno == EPERM)
		r->missing = "no permission to read its memory: run as root, or as its user with "
			     "kernel.yama.ptrace_scope=0";
	else
		find_python(r);
	return r;
}

/* --- threads ---------------------------------------------------------------------------------- */

static const char *library_at(const struct stack_reader *r, unsigned long long pc)
{
	for (size_t i = 0; i < r->maps.n; i++)
		if (pc >= r->maps.items[i].from && pc < r->maps.items[i].to)
			return path_name(r->maps.items[i].path);
	return "";
}

struct call_number {
	const char *id;
	long x86, arm;
};
#include "look/stacks_calls_rows.h"

/* Calls that threads wait in, by number. */
static const char *call_name(struct arena *a, long n)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
#if defined(__aarch64__)
		if (calls[i].arm == n)
#else
		if (calls[i].x86 == n)
#endif
			return calls[i].id;
	return arena_printf(a, "call %ld", n);
}

/* State and CPU time: behind the name, which may hold anything. */
static void read_stat(const char *stat, struct stack_thread *t)
{
	const char *at = strrchr(stat, ')');
	unsigned long user = 0, kernel = 0;

	if (at && sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &t->state,
			 &user, &kernel) == 3)
		t->cpu_s = (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

size_t stacks_take(struct stack_reader *r, struct stack_watch *w, struct stack_frame *out,
		   size_t most)
{
	size_t n = stack_watch_take(w, &r->maps, out, most);

	/* What was loaded since; more and more rarely: code made at run time is in no file. */
	r->misses += r->maps.missed;
	if (r->maps.missed && !(r->misses & (r->misses - 1)))
		read_maps(r);
	r->maps.missed = false;
	return n;
}

/* Where a thread is that runs, as soon as it did; else where the call left it, and what made that,
 * if it is no interpreter's. */
static void read_native(struct stack_reader *r, struct arena *a, struct stack_regs at,
			struct stack_thread *t)
{
	struct stack_frame *f = arena_array(a, NATIVE_MAX, sizeof(*f));
	unsigned char stack[STACK_BYTES];
	struct stack_watch w;
	struct err e = { 0 };
	size_t n = 0;

	t->c_frames = f;
	if (t->state == 'R' && stack_watch_open(&w, t->tid, &e) == 0) {
		stack_watch_arm(&w);
		for (int i = 0; i < 20 && !t->n_c; i++) {
			nanosleep(&(struct timespec){ 0, 500000 }, NULL);
			t->n_c = stacks_take(r, &w, f, NATIVE_MAX);
		}
		stack_watch_close(&w);
	}
	if (!at.sp || t->n_c)
		return;
	while (n < STACK_BYTES && stacks_peek(r->pid, at.sp + n, stack + n, STACK_ONCE))
		n += STACK_ONCE;
	n = native_read(&r->maps, at, stack, n, f, NATIVE_MAX);
	/* The interpreter has frames of its own. */
	for (size_t i = 0; i < n && !(r->python && python_version(f[i].file) >= 0); i++)
		if (!native_libc(f[i].file))
			f[t->n_c++] = f[i];
	if (t->n_c && !r->python)
		t->library = f[0].file;
}

static void read_thread(struct stack_reader *r, struct arena *a, bool native,
			struct stack_thread *t)
{
	const char *at = arena_printf(a, "/proc/%d/task/%d/", (int)r->pid, (int)t->tid);
	struct stack_regs regs = { .pc = 0 };
	const char *syscall = proc_text(a, arena_printf(a, "%ssyscall", at), 512, NULL);
	const char *wait = proc_text(a, arena_printf(a, "%swchan", at), 128, NULL);
	const char *pc_text = strrchr(syscall, ' '), *sp_text = pc_text;
	char *name = proc_text(a, arena_printf(a, "%scomm", at), 64, NULL);

	while (sp_text && sp_text > syscall && *--sp_text != ' ')
		;
	name[strcspn(name, "\n")] = '\0';
	t->name = utf8_clean(a, name);
	t->state = '?';
	read_stat(proc_text(a, arena_printf(a, "%sstat", at), 1024, NULL), t);
	t->wait = strcmp(wait, "0") == 0 ? "" : wait;
	t->syscall = isdigit((unsigned char)*syscall) ? call_name(a, atol(syscall)) : "";
	if (*t->syscall && pc_text) {
		regs.pc = strtoull(pc_text, NULL, 16);
		regs.sp = strtoull(sp_text, NULL, 16);
	}
	t->library = regs.pc ? library_at(r, regs.pc) : "";
	if (native)
		read_native(r, a, regs, t);
}

static int by_number(const void *x, const void *y)
{
	const struct stack_thread *a = x, *b = y;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static void list_threads(struct stack_reader *r, struct arena *a, bool main_only,
			 struct stack_process *out)
{
	DIR *dir = opendir(arena_printf(a, "/proc/%d/task", (int)r->pid));

	for (struct dirent *d; dir && (d = readdir(dir)) && out->n < STACK_THREADS_MAX;) {
		if (!isdigit((unsigned char)*d->d_name) || (main_only && atoi(d->d_name) != r->pid))
			continue;
		out->threads = arena_grow(a, out->threads, out->n, sizeof(*out->threads));
		out->threads[out->n] = (struct stack_thread){ .tid = (pid_t)atoi(d->d_name) };
		read_thread(r, a, !main_only && out->n < NATIVE_THREADS, &out->threads[out->n]);
		out->n++;
	}
	if (dir)
		closedir(dir);
	if (out->n)
		qsort(out->threads, out->n, sizeof(*out->threads), by_number);
	out->ends = !out->n || out->threads[0].state == 'Z';
}

size_t stacks_running(const struct stack_reader *r, pid_t *out, size_t n)
{
	ARENA_AUTO a = { 0 };
	DIR *dir = opendir(arena_printf(&a, "/proc/%d/task", (int)r->pid));
	size_t found = 0;

	for (struct dirent *d; dir && found < n && (d = readdir(dir));) {
		struct stack_thread t = { .tid = (pid_t)atoi(d->d_name) };

		read_stat(proc_of(&a, r->pid, arena_printf(&a, "task/%d/stat", t.tid), NULL), &t);
		if (t.state == 'R' && t.tid != r->pid)
			out[found++] = t.tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* --- source lines ----------------------------------------------------------------------------- */

static const char *read_source(const struct stack_reader *r, struct arena *a, const char *file,
			       int line)
{
	const char *at;
	size_t len = 0;

	if (*file != '/' || line < 1)
		return NULL;
	at = proc_text(a, arena_printf(a, "/proc/%d/root%s", (int)r->pid, file), SOURCE_MAX, &len);
	for (int i = 1; i < line && at; i++) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (!at || !*at)
		return NULL;
	at = str_trim(at, strcspn(at, "\n"), &len);
	return utf8_clean(a, arena_strndup(a, at, len < SOURCE_LINE ? len : SOURCE_LINE));
}

/* Files' names live as long as the reader. */
static const char *source_line(struct stack_reader *r, const char *file, int line)
{
	struct source *s = &r->sources[((uintptr_t)file / 16 + (unsigned)line) % SOURCES];
	ARENA_AUTO scratch = { 0 };
	const char *text;

	if (s->file == file && s->line == line)
		return s->text;
	text = read_source(r, &scratch, file, line);
	*s = (struct source){ file, text ? arena_strdup(r->a, text) : NULL, line };
	return s->text;
}

struct giving {
	struct stack_reader *r;
	struct stack_process *out;
};

static void take_frames(void *ctx, pid_t tid, struct stack_frame *frames, size_t n)
{
	struct giving *g = ctx;

	for (size_t i = 0; i < g->out->n; i++)
		if (g->out->threads[i].tid == tid) {
			g->out->threads[i].frames = frames;
			g->out->threads[i].n = n;
		}
	for (size_t i = 0; i < n && i < SOURCE_FRAMES; i++)
		frames[i].source = source_line(g->r, frames[i].file, frames[i].line);
}

void stacks_read(struct stack_reader *r, struct arena *a, bool main_only, struct stack_process *out)
{
	struct giving g = { r, out };
	bool whole = !r->python;

	*out = (struct stack_process){ .pid = r->pid,
				       .command = r->command,
				       .rank = r->rank,
				       .local_rank = r->local_rank,
				       .missing = r->missing,
				       .ras = r->ras };
	list_threads(r, a, main_only, out);
	if (r->python)
		out->python = arena_printf(a, "3.%d", python_minor(r->python));
	for (int i = 0; i < TRIES && !whole; i++)
		whole = python_read(r->python, a, take_frames, &g);
	if (!whole && !out->ends)
		out->missing = "its memory changed while it was read";
}

/* --- a job ------------------------------------------------------------------------------------ */

size_t stacks_tree(pid_t pid, pid_t *out, size_t n)
{
	ARENA_AUTO a = { 0 };
	size_t found = 0;

	if (n)
		out[found++] = pid;
	for (size_t i = 0; i < found; i++) {
		DIR *tasks = opendir(arena_printf(&a, "/proc/%d/task", (int)out[i]));

		for (struct dirent *d; tasks && (d = readdir(tasks));) {
			char *list = isdigit((unsigned char)*d->d_name)
					     ? proc_of(&a, out[i],
						       arena_printf(&a, "task/%.20s/children",
								    d->d_name),
						       NULL)
					     : NULL;

			for (char *end; list && *list && found < n; list = end) {
				long child = strtol(list, &end, 10);

				if (end == list)
					break;
				out[found++] = (pid_t)child;
			}
		}
		if (tasks)
			closedir(tasks);
	}
	return found;
}
