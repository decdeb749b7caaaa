/* SPDX-License-Identifier: Apache-2.0 */
/* From a file of any kind to the GPU code in it. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "look/stack/scan.h"
#include "base/text.h"
#include "look/stack/elf.h"
#include "base/arena.h"

enum { PROGBITS = 1, ALLOC = 2, EXEC = 4, LEAST = 256 };
enum { WRAPPER = 24, WRAPPER_MAGIC = 0x466243b1, WRAPPERS_MAX = 1 << 20 };

struct scanner {
	struct arena *a;
	struct scan *s;
	const struct scan_options *how;
	struct input *in;
	const char *member; /* of an archive */
	bool inside;	    /* in a library's data, not in a section of its own */
	enum code_answer best[GPU_TARGETS_MAX];
};

static void problem(struct scanner *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void problem(struct scanner *c, const char *fmt, ...)
{
	va_list ap;

	c->s->n_problems++;
	if (c->s->n_kept == SCAN_PROBLEMS)
		return;
	va_start(ap, fmt);
	c->s->problems[c->s->n_kept++] = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
}

static void on_problem(void *ctx, uint64_t at, const char *what)
{
	struct scanner *c = ctx;

	problem(c, "%s%sbyte %llu: %s", c->member ? c->member : "", c->member ? ", " : "",
		(unsigned long long)at, what);
}

static void best_reset(struct scanner *c)
{
	for (size_t i = 0; i < c->how->n_gpus; i++)
		c->best[i] = CODE_NONE;
}

static void scan_add_code(struct scanner *c, const struct gpu_code *code)
{
	code_add(c->a, &c->s->codes, code);
	c->s->entries++;
	for (size_t i = 0; i < c->how->n_gpus && !code->empty; i++) {
		enum code_answer now = code_answer(code, &c->how->gpus[i]);

		if (now < c->best[i])
			c->best[i] = now;
	}
}

static void on_container(void *ctx)
{
	struct scanner *c = ctx;

	c->s->containers++;
	for (size_t i = 0; i < c->how->n_gpus; i++)
		c->s->answers[i].containers[c->best[i]]++;
	best_reset(c);
}

/* One wrapper a container that the runtime knows by name; in object files their number alone. */
static int count_wrappers(struct scanner *c, const struct elf_section *s)
{
	unsigned char w[WRAPPER];
	int code = 0;

	if (s->size / WRAPPER > WRAPPERS_MAX)
		return 0;
	for (uint64_t at = 0; at + WRAPPER <= s->size && !code; at += WRAPPER) {
		code = input_read(c->in, s->at + at, w, sizeof(w));
		c->s->registered += !code && le32(w) == WRAPPER_MAGIC;
	}
	return code;
}

static void fail(struct scanner *c, int code, const struct err *e)
{
	if (c->s->error)
		return;
	c->s->error = e->text[0] ? arena_strdup(c->a, e->text) : strerror(-code);
}

void scan_target(struct scan_options *how, unsigned sm, unsigned driver_cuda)
{
	for (size_t i = 0; i < how->n_gpus; i++)
		if (how->gpus[i].sm == sm)
			return;
	if (how->n_gpus < GPU_TARGETS_MAX)
		how->gpus[how->n_gpus++] = (struct gpu_target){ sm, driver_cuda };
}

int scan_targets(struct arena *a, const char *text, struct scan_options *how, struct err *e)
{
	char *list = arena_strdup(a, text), *save = NULL;
	unsigned sm;

	for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		int code = gpu_target_parse(p, &sm, e);

		if (code)
			return code;
		scan_target(how, sm, 0);
	}
	return 0;
}

/* Fills out, whatever the file is like; what went wrong is in it. Texts live in a. */
static void scan_file(struct arena *a, const char *path, const struct scan_options *how,
		      struct scan *out)
{
	struct input_file f;
	struct err e = { 0 };

	if (input_open(&f, path, &e)) {
		*out = (struct scan){ .path = path, .error = arena_strdup(a, e.text) };
		return;
	}
	scan_input(a, &f.in, path, how, out);
	input_close(&f);
}

/* Targets as cubins and PTX name them, and whether a fat binary's headers tell the truth. */

enum { EMPTY_MAX = 2048, CUBIN_HEAD = 64, ABI_OLD = 7, FLAG_A_OLD = 0x800, FLAG_A = 0x8 };

/*
 * Since ABI 8 the target is the second byte, before the first. The flag for "a" is set where the
 * code uses what only that target has; a cubin without it need not run elsewhere.
 */
static void cubin_target(unsigned abi, uint32_t flags, unsigned *sm, char *suffix)
{
	if (abi <= ABI_OLD) {
		*sm = flags & 0xff;
		*suffix = flags & FLAG_A_OLD ? 'a' : '\0';
	} else {
		*sm = flags >> 8 & 0xff;
		*suffix = flags & FLAG_A ? 'a' : '\0';
	}
}

/* The value of a directive at the begin of a line: ".target sm_121a". */
static const char *scan_directive(const char *text, const char *name)
{
	size_t n = strlen(name);

	while (text) {
		while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
			text++;
		if (strncmp(text, name, n) == 0 && isblank((unsigned char)text[n]))
			return text + n + 1;
		text = strchr(text, '\n');
	}
	return NULL;
}

static unsigned digits(const char **p)
{
	unsigned v = 0;

	for (int i = 0; i < 4 && isdigit((unsigned char)**p); i++)
		v = v * 10 + (unsigned)(*(*p)++ - '0');
	return v;
}

/* -EINVAL when text does not begin like PTX. ptx: 90 for ".version 9.0". */
static int ptx_target(const char *text, unsigned *sm, char *suffix, unsigned *ptx)
{
	const char *version = scan_directive(text, ".version"),
		   *target = scan_directive(text, ".target");
	unsigned major;

	if (!version || !target)
		return -EINVAL;
	while (isblank((unsigned char)*version))
		version++;
	while (isblank((unsigned char)*target))
		target++;
	major = digits(&version);
	if (!major || *version++ != '.' || strncmp(target, "sm_", 3) != 0)
		return -EINVAL;
	*ptx = major * 10 + digits(&version);
	target += 3;
	*sm = digits(&target);
	*suffix = *target == 'a' || *target == 'f' ? *target : '\0';
	return *sm >= 10 && *sm <= 999 ? 0 : -EINVAL;
}

static int scan_ptx(struct scanner *c, struct input *in, bool *is)
{
	char text[PTX_HEAD + 1];
	size_t n = in->size < PTX_HEAD ? (size_t)in->size : PTX_HEAD;
	struct gpu_code code_of = { .kind = CODE_PTX, .n = 1, .size = in->size };
	int code = input_read(in, 0, text, n);

	text[code ? 0 : n] = '\0';
	*is = !code && ptx_target(text, &code_of.sm, &code_of.suffix, &code_of.ptx) == 0;
	if (*is) {
		c->s->kind = SCAN_PTX;
		best_reset(c);
		scan_add_code(c, &code_of);
		on_container(c);
	}
	return code;
}

static int compare_cubin(struct arena *a, const unsigned char *head, size_t n,
			 const struct fatbin_entry *entry, const char **why)
{
	unsigned sm;
	char suffix;

	if (n < CUBIN_HEAD || memcmp(head, "\177ELF", 4) != 0 || le16(head + 18) != ELF_CUDA) {
		*why = "an entry marked as cubin is not a cubin";
		return -EBADMSG;
	}
	cubin_target(head[8], le32(head + 48), &sm, &suffix);
	/* 'a' in the entry alone is usual: see cubin_target. */
	if (sm != entry->code.sm || (suffix && suffix != entry->code.suffix)) {
		*why = arena_printf(a, "an entry for sm_%u%.1s contains a cubin for sm_%u%.1s",
				    entry->code.sm, &entry->code.suffix, sm, &suffix);
		return -EBADMSG;
	}
	return 0;
}

static int compare_ptx(struct arena *a, const char *head, const struct fatbin_entry *entry,
		       const char **why)
{
	unsigned sm, ptx;
	char suffix;

	if (ptx_target(head, &sm, &suffix, &ptx)) {
		*why = "an entry marked as PTX is not PTX";
		return -EBADMSG;
	}
	if (sm != entry->code.sm || suffix != entry->code.suffix || ptx != entry->code.ptx) {
		*why = arena_printf(
			a,
			"an entry for compute_%u%.1s, PTX %u.%u contains compute_%u%.1s, PTX %u.%u",
			entry->code.sm, &entry->code.suffix, entry->code.ptx / 10,
			entry->code.ptx % 10, sm, &suffix, ptx / 10, ptx % 10);
		return -EBADMSG;
	}
	return 0;
}

/*
 * Unpacks the head of an entry and compares it with the entry's header. 0: they agree; -ENOTSUP:
 * such code says nothing of itself; anything else: they do not, or it cannot be unpacked, and *why
 * says so.
 */
static int head_compare(struct arena *a, struct input *in, const struct fatbin_entry *entry,
			const char **why)
{
	char head[PTX_HEAD + 1];
	size_t n = entry->code.kind == CODE_PTX ? PTX_HEAD : CUBIN_HEAD, got = 0;
	int code;

	if (entry->code.kind != CODE_PTX && entry->code.kind != CODE_CUBIN)
		return -ENOTSUP;
	code = fatbin_head(in, entry, (unsigned char *)head, n, &got);
	if (code) {
		*why = code == -ELIBACC ? "an entry cannot be unpacked: libzstd is not installed"
					: "an entry cannot be unpacked";
		return code;
	}
	head[got] = '\0';
	if (entry->code.kind == CODE_PTX)
		return compare_ptx(a, head, entry, why);
	return compare_cubin(a, (const unsigned char *)head, got, entry, why);
}

/* True for a cubin without any kernel. Only small ones are looked into: a kernel takes room. */
static bool head_empty(struct input *in, const struct fatbin_entry *entry)
{
	unsigned char head[EMPTY_MAX];
	size_t got = 0;

	return entry->code.kind == CODE_CUBIN && entry->unpacked_size <= EMPTY_MAX &&
	       fatbin_head(in, entry, head, sizeof(head), &got) == 0 &&
	       got == entry->unpacked_size && !memmem(head, got, ".text.", 6) &&
	       !memmem(head, got, ".nv.global", 10) && !memmem(head, got, ".nv.constant", 12);
}

static void on_entry(void *ctx, struct input *in, const struct fatbin_entry *entry)
{
	struct scanner *c = ctx;
	struct gpu_code code = entry->code;
	const char *why = NULL;

	code.inside = c->inside;
	code.empty = head_empty(in, entry);
	scan_add_code(c, &code);
	if (!c->how->deep)
		return;
	switch (head_compare(c->a, in, entry, &why)) {
	case 0:
		c->s->opened++;
		break;
	case -ENOTSUP:
		break;
	default:
		on_problem(c, entry->at, why);
	}
}

static int walk(struct scanner *c, struct input *in, uint64_t at, uint64_t size)
{
	struct fatbin_visitor v = { c, on_entry, on_container, on_problem };

	best_reset(c);
	return fatbin_walk(in, at, size, &v);
}

static int scan_search(struct scanner *c, const struct elf_section *s)
{
	struct fatbin_visitor v = { c, on_entry, on_container, on_problem };
	int code;

	best_reset(c);
	c->inside = true;
	code = fatbin_search(c->in, s->at, s->size, &v);
	c->inside = false;
	return code;
}

static int on_section(void *ctx, const struct elf_section *s)
{
	struct scanner *c = ctx;

	if (strcmp(s->name, ".nv_fatbin") == 0 || strcmp(s->name, "__nv_relfatbin") == 0)
		return walk(c, c->in, s->at, s->size);
	if (strcmp(s->name, ".nvFatBinSegment") == 0)
		return count_wrappers(c, s);
	if (s->type == PROGBITS && (s->flags & ALLOC) && !(s->flags & EXEC) && s->size >= LEAST)
		return scan_search(c, s);
	return 0;
}

static int scan_elf(struct scanner *c, struct input *in, struct err *e)
{
	struct elf f;
	int code = elf_open(in, &f, e);

	/* Other people's processors are no fault: they carry no GPU code. */
	if (code)
		return code == -EPROTONOSUPPORT ? 0 : code;
	c->in = in;
	if (f.machine == ELF_CUDA) {
		struct gpu_code code_of = { .kind = CODE_CUBIN, .n = 1, .size = in->size };

		cubin_target(f.abi, f.flags, &code_of.sm, &code_of.suffix);
		best_reset(c);
		scan_add_code(c, &code_of);
		on_container(c);
		c->s->kind = SCAN_CUBIN;
		return 0;
	}
	c->s->machine = f.machine;
	return elf_each(in, &f, on_section, c, e);
}

static int on_member(void *ctx, const char *name, uint64_t at, uint64_t size)
{
	struct scanner *c = ctx;
	struct input_window w;
	struct err e = { 0 };
	unsigned char magic[4];
	int code;

	if (size < 64 || input_window(&w, c->in, at, size) || input_read(&w.in, 0, magic, 4) ||
	    memcmp(magic, "\177ELF", 4) != 0)
		return 0;
	c->member = name;
	code = scan_elf(c, &w.in, &e);
	if (code)
		problem(c, "%s: %s", name, e.text[0] ? e.text : strerror(-code));
	c->member = NULL;
	c->in = w.of;
	return 0;
}

static int scan_archive(struct scanner *c, struct input *in, struct err *e)
{
	c->in = in;
	return archive_each(in, on_member, c, e);
}

static int scan_by_magic(struct scanner *c, struct input *in, const char *name, struct err *e)
{
	unsigned char magic[8] = { 0 };
	struct zip z;
	bool ptx = false;
	int code = input_read(in, 0, magic, in->size < 8 ? (size_t)in->size : 8);

	if (code || in->size < 8)
		return code;
	if (memcmp(magic, "\177ELF", 4) == 0) {
		c->s->kind = SCAN_ELF;
		return scan_elf(c, in, e);
	}
	if (archive_is(magic)) {
		c->s->kind = SCAN_ARCHIVE;
		return scan_archive(c, in, e);
	}
	if (le32(magic) == FATBIN_MAGIC) {
		c->s->kind = SCAN_FATBIN;
		return walk(c, in, 0, in->size);
	}
	if (memcmp(magic, "PK\3\4", 4) == 0 || memcmp(magic, "PK\5\6", 4) == 0 ||
	    str_ends(name, ".whl")) {
		c->s->kind = SCAN_WHEEL;
		code = zip_open(c->a, in, &z, e);
		if (!code)
			scan_wheel(c->a, &z, c->how, c->s);
		return code;
	}
	return scan_ptx(c, in, &ptx);
}

void scan_input(struct arena *a, struct input *in, const char *name, const struct scan_options *how,
		struct scan *out)
{
	struct scanner c = { .a = a, .s = out, .how = how, .in = in };
	struct err e = { 0 };
	int code;

	*out = (struct scan){ .path = name, .size = in->size };
	code = scan_by_magic(&c, in, name, &e);
	if (code)
		fail(&c, code, &e);
	code_sort(&out->codes);
}

/* A folder of libraries, several at a time. */

enum { DEEP = 40, FILES_MAX = 1 << 20, THREADS_MAX = 16, TREE_LEAST = 16 };

struct found {
	struct arena *a;
	char **paths;
	size_t n;
	struct map seen; /* "device:inode" */
};

/* One file under several names is scanned once. */
static bool first_time(struct found *f, const struct stat *st)
{
	char key[64];
	void **at;

	snprintf(key, sizeof(key), "%llx:%llx", (unsigned long long)st->st_dev,
		 (unsigned long long)st->st_ino);
	at = map_at(f->a, &f->seen, key);
	if (*at)
		return false;
	*at = f;
	return true;
}

static void scan_gather(struct found *f, int dir, const char *path, int depth)
{
	DIR *d = fdopendir(dir);
	struct dirent *it;

	if (!d) {
		close(dir);
		return;
	}
	while ((it = readdir(d)) && f->n < FILES_MAX) {
		struct stat st;
		char *child;

		if (strcmp(it->d_name, ".") == 0 || strcmp(it->d_name, "..") == 0 ||
		    fstatat(dirfd(d), it->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEEP) {
			int fd = openat(dirfd(d), it->d_name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			child = arena_printf(f->a, "%s/%s", path, it->d_name);
			if (fd >= 0)
				scan_gather(f, fd, child, depth + 1);
		} else if (S_ISREG(st.st_mode) && st.st_size >= TREE_LEAST &&
			   scan_name(it->d_name) && first_time(f, &st)) {
			ARENA_ADD(f->a, f->paths, f->n) =
				arena_printf(f->a, "%s/%s", path, it->d_name);
		}
	}
	closedir(d);
}

/* --- the threads --- */

struct job {
	const struct found *files;
	const struct scan_options *how;
	struct scan *out;
	size_t *next; /* index of the first file that nobody has taken */
};

struct worker {
	const struct job *job;
	struct arena arena; /* its results' own */
	pthread_t thread;
	bool started;
};

static void *scan_work(void *ctx)
{
	struct worker *w = ctx;
	const struct job *j = w->job;
	size_t i;

	while ((i = __atomic_fetch_add(j->next, 1, __ATOMIC_RELAXED)) < j->files->n)
		scan_file(&w->arena, j->files->paths[i], j->how, &j->out[i]);
	return NULL;
}

/* By the codes as they lie now. */
static void scan_answer(struct scan *s, const struct scan_options *how)
{
	s->n_answers = how->n_gpus;
	for (size_t i = 0; i < s->n_answers; i++) {
		struct code_served *o = &s->answers[i];

		o->gpu = how->gpus[i];
		o->answer = code_best(&s->codes, &o->gpu, &o->by);
		if (o->answer >= CODE_CANNOT)
			o->by = NULL;
	}
}

/* Into the caller's arena, so that the threads' can go. */
static void adopt(struct arena *a, struct scan *s, const struct scan_options *how)
{
	if (s->error)
		s->error = arena_strdup(a, s->error);
	for (size_t i = 0; i < s->n_kept; i++)
		s->problems[i] = arena_strdup(a, s->problems[i]);
	if (s->codes.n) {
		struct gpu_code *items = arena_array(a, s->codes.n, sizeof(*items));

		memcpy(items, s->codes.items, s->codes.n * sizeof(*items));
		s->codes.items = items;
	}
	if (s->n_parts) {
		struct scan *parts = arena_array(a, s->n_parts, sizeof(*parts));

		memcpy(parts, s->parts, s->n_parts * sizeof(*parts));
		s->parts = parts;
		for (size_t i = 0; i < s->n_parts; i++) {
			parts[i].path = arena_strdup(a, parts[i].path);
			adopt(a, &parts[i], how);
		}
	}
	scan_answer(s, how);
}

static unsigned scan_how_many(unsigned threads, size_t files)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!threads)
		threads = cpus > 0 && cpus < THREADS_MAX ? (unsigned)cpus : THREADS_MAX;
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	return files < threads ? (unsigned)files : threads;
}

static void scan_run(struct arena *a, const struct found *f, const struct scan_options *how,
		     unsigned threads, struct scan *out)
{
	size_t next = 0;
	struct job j = { f, how, out, &next };
	struct worker w[THREADS_MAX] = { 0 };

	/* The first one is this thread. */
	for (unsigned i = 0; i < threads; i++) {
		w[i].job = &j;
		w[i].started = i && pthread_create(&w[i].thread, NULL, scan_work, &w[i]) == 0;
	}
	scan_work(&w[0]);
	for (unsigned i = 1; i < threads; i++)
		if (w[i].started)
			pthread_join(w[i].thread, NULL);
	for (size_t i = 0; i < f->n; i++)
		adopt(a, &out[i], how);
	for (unsigned i = 0; i < threads; i++)
		arena_free(&w[i].arena);
}

int scan_tree(struct arena *a, const char *path, const struct scan_options *how, unsigned threads,
	      struct scan **out, size_t *n, struct err *e)
{
	struct found f = { .a = a };
	size_t len = strlen(path);
	struct stat st;
	int fd;

	if (stat(path, &st))
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return err_set(e, -errno, "%s: %s", path, strerror(errno));
		while (len > 1 && path[len - 1] == '/')
			len--;
		scan_gather(&f, fd, len == 1 && *path == '/' ? "" : arena_strndup(a, path, len), 0);
		if (f.n)
			qsort(f.paths, f.n, sizeof(*f.paths), str_natural_qsort);
	} else {
		f.paths = arena_grow(a, NULL, 0, sizeof(*f.paths));
		f.paths[f.n++] = arena_strdup(a, path);
	}
	*out = arena_array(a, f.n + 1, sizeof(**out));
	*n = f.n;
	if (f.n)
		scan_run(a, &f, how, scan_how_many(threads, f.n), *out);
	return 0;
}

/* The libraries inside a wheel, one by one, without unpacking any to disk. */

const char *scan_kind_name(unsigned k)
{
	static const char *const names[] = { "other",  "elf",	"archive", "wheel",
					     "fatbin", "cubin", "ptx" };

	return names[k];
}

/* "libx.so.13.1": digits and dots after ".so." */
static bool versioned(const char *name)
{
	const char *p = strstr(name, ".so.");

	if (!p)
		return false;
	for (p += 4; *p; p++)
		if (!isdigit((unsigned char)*p) && *p != '.')
			return strstr(p, ".so.") && versioned(p);
	return true;
}

bool scan_name(const char *name)
{
	static const char *const ends[] = { ".so",     ".a",   ".o",   ".cubin",
					    ".fatbin", ".ptx", ".whl", ".pyd" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_ends(name, ends[i]))
			return true;
	return versioned(name);
}

static void scan_add_part(struct arena *a, struct scan *out, const struct scan *part)
{
	for (size_t i = 0; i < part->codes.n; i++)
		code_add(a, &out->codes, &part->codes.items[i]);
	out->containers += part->containers;
	out->entries += part->entries;
	out->registered += part->registered;
	out->opened += part->opened;
	for (size_t g = 0; g < GPU_TARGETS_MAX; g++)
		for (size_t k = 0; k < CODE_ANSWERS; k++)
			out->answers[g].containers[k] += part->answers[g].containers[k];
	if (part->n_problems || part->error) {
		if (out->n_kept < SCAN_PROBLEMS)
			out->problems[out->n_kept++] =
				arena_printf(a, "%s: %s", part->path,
					     part->error ? part->error : part->problems[0]);
		out->n_problems++;
	}
	if (!part->entries && !part->error)
		return;
	ARENA_ADD(a, out->parts, out->n_parts) = *part;
}

void scan_wheel(struct arena *a, const struct zip *z, const struct scan_options *how,
		struct scan *out)
{
	for (size_t i = 0; i < z->n; i++) {
		const struct zip_entry *entry = &z->entries[i];
		struct zip_member m;
		struct scan part;
		struct err e = { 0 };

		/* A wheel in a wheel is data: nothing loads it. */
		if (entry->folder || !scan_name(entry->name) || str_ends(entry->name, ".whl"))
			continue;
		if (zip_member(z, entry, &m, &e)) {
			part = (struct scan){ .path = entry->name,
					      .error = arena_strdup(a, e.text) };
		} else {
			scan_input(a, m.in, entry->name, how, &part);
			zip_close(&m);
		}
		scan_add_part(a, out, &part);
	}
	code_sort(&out->codes);
}
