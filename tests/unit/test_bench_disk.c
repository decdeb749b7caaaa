/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk and model-load benches on the disk below the temporary folder and on one in memory:
 * every case, planted faults that must not pass, no space, no io_uring, nothing left behind. No
 * figure is judged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/bench/disk.h"
#include "measure/bench/bench.h"
#include "measure/bench/model_load.h"

static const struct machine no_machine;

/* What file system the program is told that it is on; 0: the real one. */
static long told_type;

/* In the place of the C library's. */
int statfs(const char *path, struct statfs *out)
{
	int r = (int)syscall(SYS_statfs, path, out);

	if (r == 0 && told_type)
		out->f_type = told_type;
	return r;
}

struct lab {
	struct arena a;
	atomic_bool stop;
	struct frame f;
	struct record r;
	char dir[64];
};

static void lab_open(struct lab *l, const char *below)
{
	memset(l, 0, sizeof(*l));
	snprintf(l->dir, sizeof(l->dir), "%s/gputune-test-XXXXXX", below);
	assert_non_null(mkdtemp(l->dir));
	l->f = (struct frame){ .env = { .a = &l->a,
					.m = &no_machine,
					.cpus = bench_allowed(&l->a),
					.stop = &l->stop,
					.ask = { .dir = l->dir },
					.small = true },
			       .samples = 6,
			       .seconds = 0.02 };
	frame_start(&l->f);
}

static size_t entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void lab_close(struct lab *l)
{
	assert_int_equal(entries(l->dir), 0);
	assert_int_equal(rmdir(l->dir), 0);
	arena_free(&l->a);
}

static const char *places[] = { "/var/tmp", "/dev/shm" };

/* --- pages that describe themselves ----------------------------------------------------------- */
static void pages(void **state)
{
	enum { N = 4 };
	static _Alignas(4096) uint8_t block[N * DISK_PAGE];
	uint32_t turns[2 * N] = { 0, 0, 0, 0, 7, 7, 7, 7 };
	struct err e = { 0 };

	(void)state;
	disk_fill(block, sizeof(block), 42, 1000);
	disk_stamp(block, sizeof(block), N * DISK_PAGE, 7);
	assert_int_equal(disk_check(block, sizeof(block), 42, N * DISK_PAGE, turns, &e), 0);
	assert_true(disk_is(block, 42, N * DISK_PAGE, 7));
	assert_false(disk_is(block, 42, 0, 7));
	assert_false(disk_is(block, 42, N * DISK_PAGE, 6));
	assert_false(disk_is(block, 41, N * DISK_PAGE, 7));
	assert_int_equal(disk_check(block, sizeof(block), 42, 0, turns, &e), -EILSEQ);
	assert_non_null(strstr(e.text, "byte 0 belongs to byte 16384"));
	assert_int_equal(disk_check(block, sizeof(block), 41, N * DISK_PAGE, turns, &e), -EILSEQ);
	assert_non_null(strstr(e.text, "never written"));
	turns[6] = 8;
	assert_int_equal(disk_check(block, sizeof(block), 42, N * DISK_PAGE, turns, &e), -EILSEQ);
	assert_non_null(strstr(e.text, "is from write 7, the last was 8"));
	turns[6] = 7;
	/* Any single bit. */
	for (size_t i = 0; i < sizeof(block); i += 97) {
		block[i] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(disk_check(block, sizeof(block), 42, N * DISK_PAGE, turns, &e),
				 -EILSEQ);
		block[i] ^= (uint8_t)(1u << i % 8);
	}
	/* No two pages alike. */
	for (size_t i = 1; i < N; i++)
		assert_int_not_equal(memcmp(block + 64, block + i * DISK_PAGE + 64, 64), 0);
}

/* --- every case ------------------------------------------------------------------------------- */
static void check_cases(const struct record *r, bool direct)
{
	size_t through = 0;

	assert_true(r->n >= 3);
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (c->error || !c->verified || !c->n)
			fail_msg("%s: %s", c->name, c->error ? c->error : "not verified");
		for (size_t k = 0; k < c->n_series; k++)
			for (size_t j = 0; j < c->n; j++)
				assert_true(c->series[k].x[j] > 0);
		assert_true(c->observed.n > 0 && c->observed.p50 > 0 &&
			    c->observed.max >= c->observed.p99);
		assert_int_equal(c->observed.of, DISK_P50);
		assert_non_null(strstr(c->variant,
				       strstr(c->name, "buffered") ? "page cache" : "O_DIRECT"));
		through += strstr(c->name, "buffered") == NULL;
	}
	assert_int_equal(through > 0, direct);
}

static void every_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct lab l;
		struct disk_direct d;
		int fd;

		lab_open(&l, places[i]);
		fd = disk_file_make(l.dir, &(struct err){ 0 });
		assert_true(fd >= 0);
		d = disk_file_direct(fd);
		close(fd);
		assert_int_equal(frame_run(&l.f, &bench_disk, NULL, &l.r), 0);
		check_cases(&l.r, d.can);
		if (!d.can)
			assert_true(l.r.n_skipped > 0 && strstr(l.r.skipped[0].reason, d.why));
		lab_close(&l);
	}
}

/* --- one case by hand ------------------------------------------------------------------------- */
struct one {
	struct lab l;
	struct bench_cases all;
	const struct bench_case *c;
	struct disk_shared *shared;
	struct disk_load *s;
	const char *variant;
	struct err e;
};

static int one_start(struct one *o, const char *name)
{
	void *load = NULL;
	int r;

	if (!o->all.n)
		bench_disk.cases(&o->l.f.env, &o->all);
	assert_null(o->all.none);
	o->c = NULL;
	for (size_t i = 0; i < o->all.n; i++)
		if (strcmp(o->all.items[i].name, name) == 0)
			o->c = &o->all.items[i];
	if (!o->c)
		return -ENOENT;
	o->shared = ((const struct disk_arg *)o->c->arg)->shared;
	r = bench_set_up(&bench_disk, &o->l.f.env, o->c, &load, &o->variant, &o->e);
	o->s = load;
	return r;
}

static void one_open(struct one *o, const char *name)
{
	int r;

	memset(o, 0, sizeof(*o));
	lab_open(&o->l, "/var/tmp");
	r = one_start(o, name);
	if (r == -ENOENT) {
		/* No O_DIRECT here. */
		lab_close(&o->l);
		skip();
	}
	if (r)
		fail_msg("%s", o->e.text);
}

static int one_run(struct one *o)
{
	struct bench_sample s = { 0 };

	return bench_disk.run(o->s, &s, &o->e);
}

static void one_close(struct one *o)
{
	if (o->s)
		bench_tear_down(&bench_disk, o->s);
	bench_disk.end(&o->all);
	assert_int_equal(o->shared->file.fd, -1);
	lab_close(&o->l);
}

/* Puts bytes of each page's place at into the file, past what the bench knows of. */
static void spoil(struct one *o, size_t at, const void *bytes, size_t n)
{
	const struct disk_file *f = &o->shared->file;
	int flags = fcntl(f->fd, F_GETFL);

	assert_int_equal(fcntl(f->fd, F_SETFL, flags & ~O_DIRECT), 0);
	for (uint64_t page = 0; page < f->bytes; page += DISK_PAGE)
		assert_int_equal(pwrite(f->fd, bytes, n, (off_t)(page + at)), n);
	assert_int_equal(fdatasync(f->fd), 0);
	page_cache_drop(f->fd);
	assert_int_equal(fcntl(f->fd, F_SETFL, flags), 0);
}

static void wrong_reads(void **state)
{
	static const struct {
		const char *name;
		size_t at;
		const char *say;
	} rows[] = {
		{ "read-seq:128KiB:buffered", 2048, "differs from the data written" },
		{ "read-seq:1MiB:qd32", 0, "never written" },
		{ "read-rand:4KiB:qd32", 8, "belongs to byte" },
		{ "read-rand:4KiB:qd1", 16, "the last was" },
		{ "read-seq:1MiB:qd32", 2048, "differs from the data written" },
	};
	const uint64_t junk = 0x5a5a5a5a5a5a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct one o;

		one_open(&o, rows[i].name);
		assert_int_equal(one_run(&o), 0);
		assert_int_equal(bench_disk.verify(o.s, &o.e), 0);
		spoil(&o, rows[i].at, &junk, sizeof(junk));
		assert_int_equal(one_run(&o), 0);
		assert_int_equal(bench_disk.verify(o.s, &o.e), -EILSEQ);
		if (!strstr(o.e.text, rows[i].say))
			fail_msg("%s: %s", rows[i].name, o.e.text);
		one_close(&o);
	}
}

static void wrong_writes(void **state)
{
	static const char *const names[] = { "write-seq:1MiB:buffered", "write-seq:1MiB:qd32",
					     "write-rand:4KiB:qd32" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const uint64_t old = 0;
		struct one o;

		one_open(&o, names[i]);
		assert_int_equal(one_run(&o), 0);
		assert_int_equal(bench_disk.verify(o.s, &o.e), 0);
		/* And again after verify, which used a buffer. */
		assert_int_equal(one_run(&o), 0);
		assert_int_equal(bench_disk.verify(o.s, &o.e), 0);
		/* As if the writes had been lost. */
		spoil(&o, offsetof(struct disk_head, turn), &old, sizeof(old));
		assert_int_equal(bench_disk.verify(o.s, &o.e), -EILSEQ);
		assert_non_null(strstr(o.e.text, "is from write 0"));
		one_close(&o);
	}
}

static void shorter(void **state)
{
	static const char *const names[] = { "read-seq:128KiB:buffered", "read-seq:1MiB:qd32" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct one o;

		one_open(&o, names[i]);
		assert_int_equal(ftruncate(o.shared->file.fd, DISK_PAGE), 0);
		assert_int_equal(one_run(&o), -EIO);
		assert_non_null(strstr(o.e.text, "stopped after"));
		one_close(&o);
	}
}

/* After a write that failed nobody knows what the file holds: the next case gets another one. */
static int lost_write(struct one *o)
{
	struct rlimit most = { 4 << 20, RLIM_INFINITY };
	uint64_t id;
	bool failed = false;

	if (one_start(o, "write-seq:1MiB:buffered"))
		return 1;
	id = o->shared->file.id;
	signal(SIGXFSZ, SIG_IGN);
	/* The end is cut off, and may not be put on again. */
	if (ftruncate(o->shared->file.fd, 4 << 20) || setrlimit(RLIMIT_FSIZE, &most))
		return 2;
	for (size_t i = 0; i < 1000 && !failed; i++)
		failed = one_run(o) != 0;
	if (!failed || !strstr(o->e.text, "writing at byte"))
		return 3;
	bench_tear_down(&bench_disk, o->s);
	most.rlim_cur = RLIM_INFINITY;
	if (setrlimit(RLIMIT_FSIZE, &most) || one_start(o, "read-rand:4KiB:buffered"))
		return 4;
	if (o->shared->file.id == id || one_run(o) || bench_disk.verify(o->s, &o->e))
		return 5;
	bench_tear_down(&bench_disk, o->s);
	bench_disk.end(&o->all);
	return 0;
}

/* So many requests are under way as the name says. */
static void depth(void **state)
{
	static const struct {
		const char *name;
		unsigned depth;
	} rows[] = { { "read-rand:4KiB:qd1", 1 },
		     { "read-rand:4KiB:qd128", 128 },
		     { "write-seq:1MiB:qd32", 32 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct one o;

		one_open(&o, rows[i].name);
		assert_int_equal(one_run(&o), 0);
		assert_int_equal(o.s->under_way, rows[i].depth);
		assert_int_equal(one_run(&o), 0);
		assert_int_equal(o.s->under_way, rows[i].depth);
		assert_int_equal(bench_disk.verify(o.s, &o.e), 0);
		assert_int_equal(o.s->under_way, 0);
		one_close(&o);
	}
}

static void interrupted(void **state)
{
	struct one o;

	(void)state;
	one_open(&o, "read-rand:4KiB:qd32");
	atomic_store(&o.l.stop, true);
	assert_int_equal(one_run(&o), -EINTR);
	assert_int_equal(bench_disk.verify(o.s, &o.e), 0);
	bench_tear_down(&bench_disk, o.s);
	bench_disk.end(&o.all);
	o.s = NULL;
	/* While the file is made. */
	assert_int_equal(one_start(&o, "read-rand:4KiB:qd32"), -EINTR);
	assert_non_null(strstr(o.e.text, "interrupted"));
	one_close(&o);
}

/* --- what cannot be measured ------------------------------------------------------------------ */
static const char *none_for(struct lab *l, const char *dir)
{
	struct bench_cases all = { 0 };

	l->f.env.ask.dir = dir;
	bench_disk.cases(&l->f.env, &all);
	assert_int_equal(all.n, 0);
	assert_true(all.usage);
	assert_non_null(all.none);
	return all.none;
}

static void no_place(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l, "/var/tmp");
	assert_non_null(strstr(none_for(&l, NULL), "--dir"));
	assert_non_null(strstr(none_for(&l, "/var/tmp/not/there"), "No such file"));
	assert_non_null(strstr(none_for(&l, "/etc/passwd"), "/etc/passwd is not a folder"));
	assert_non_null(strstr(none_for(&l, "/proc"), "/proc"));
	lab_close(&l);
}

/* In a process of its own, which ends with 0 when all is well and with 77 when it may not do that.
 */
static void apart(int (*work)(struct one *o))
{
	struct one *o = calloc(1, sizeof(*o));
	pid_t pid;
	int status;

	assert_non_null(o);
	lab_open(&o->l, "/var/tmp");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		status = work(o);
		if (status && status != 77)
			fprintf(stderr, "%d: %s; %s\n", status, o->variant ? o->variant : "",
				o->e.text);
		arena_free(&o->l.a);
		free(o);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	lab_close(&o->l);
	free(o);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool own_mount(const struct one *o, unsigned long flags, const char *options)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", o->l.dir, "tmpfs", flags, options) == 0;
}

static int read_only(struct one *o)
{
	if (!own_mount(o, MS_RDONLY, "size=64m"))
		return 77;
	return strstr(none_for(&o->l, o->l.dir), "read-only file system") ? 0 : 1;
}

static int little_space(struct one *o)
{
	if (!own_mount(o, 0, "size=20m"))
		return 77;
	return strstr(none_for(&o->l, o->l.dir), "MiB free; the test requires 32") ? 0 : 1;
}

/* Somebody else takes the space between the look and the file. */
static int lost_space(struct one *o)
{
	char path[128];
	void *load;
	int fd;

	if (!own_mount(o, 0, "size=40m"))
		return 77;
	bench_disk.cases(&o->l.f.env, &o->all);
	snprintf(path, sizeof(path), "%s/other", o->l.dir);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	if (!o->all.n || fd < 0 || fallocate(fd, 0, 0, 30 << 20))
		return 1;
	if (bench_set_up(&bench_disk, &o->l.f.env, &o->all.items[0], &load, &o->variant, &o->e) !=
	    -ENOSPC)
		return 2;
	return strstr(o->e.text, "no space left") && entries(o->l.dir) == 1 ? 0 : 3;
}

static int limited(struct one *o)
{
	struct rlimit most = { 1 << 20, 1 << 20 };
	void *load;

	bench_disk.cases(&o->l.f.env, &o->all);
	if (!o->all.n || setrlimit(RLIMIT_FSIZE, &most))
		return 1;
	if (bench_set_up(&bench_disk, &o->l.f.env, &o->all.items[0], &load, &o->variant, &o->e) !=
	    -EFBIG)
		return 2;
	return strstr(o->e.text, "ulimit -f") && entries(o->l.dir) == 0 ? 0 : 3;
}

/* Refuses io_uring_setup, which has one number on all machines. */
static int refuse_ring(unsigned answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
			       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0
		       ? 0
		       : 77;
}

static int by_threads(struct one *o, unsigned answer, const char *say)
{
	int r = refuse_ring(answer);

	if (r)
		return r;
	if (one_start(o, "read-rand:4KiB:qd32"))
		return 1;
	if (!strstr(o->variant, "32 threads: ") || !strstr(o->variant, say))
		return 2;
	for (size_t i = 0; i < 3; i++)
		if (one_run(o) || o->s->under_way != 32)
			return 3;
	if (bench_disk.verify(o->s, &o->e))
		return 4;
	bench_tear_down(&bench_disk, o->s);
	bench_disk.end(&o->all);
	return 0;
}

static int not_permitted(struct one *o)
{
	return by_threads(o, EPERM, "disabled for this process");
}

static int not_there(struct one *o)
{
	return by_threads(o, ENOSYS, "no io_uring, or a filter blocks it");
}

static void in_trouble(void **state)
{
	/* The state is a row of the list below. */
	apart(**(int (***)(struct one *))state);
}

/* The file has no name from the start. */
static void killed(void **state)
{
	struct lab l;
	pid_t pid;
	int status, tell[2];
	char byte;

	(void)state;
	lab_open(&l, "/var/tmp");
	assert_int_equal(pipe(tell), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct disk_file f;

		if (disk_file_open(&f, l.dir, 16 << 20, false, NULL, &(struct err){ 0 }) == 0 &&
		    write(tell[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(tell[1]);
	assert_int_equal(read(tell[0], &byte, 1), 1);
	close(tell[0]);
	assert_int_equal(entries(l.dir), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	lab_close(&l);
}

/* --- the way to the disk ---------------------------------------------------------------------- */
static struct fact_int seen_int(long long v)
{
	return (struct fact_int){ .f = { .seen = SEEN_OK, .leaf = "test" }, .v = v };
}

static struct fact_str seen_text(const char *v)
{
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "test" }, .v = v };
}

static void links(void **state)
{
	struct pci_function pci[] = {
		{ .name = "0000:00:01.0",
		  .parent = "",
		  .speed_mts = seen_int(16000),
		  .width = seen_int(16) },
		{ .name = "0000:01:00.0",
		  .parent = "0000:00:01.0",
		  .speed_mts = seen_int(16000),
		  .width = seen_int(4) },
		{ .name = "0000:02:00.0",
		  .parent = "",
		  .speed_mts = seen_int(5000),
		  .width = seen_int(2) },
	};
	struct disk disks[] = {
		{ .name = "nvme0n1", .pci = "0000:01:00.0", .transport = seen_text("nvme") },
		{ .name = "nvme1n1", .pci = "0000:02:00.0", .transport = seen_text("nvme") },
		{ .name = "sda", .pci = "0000:02:00.0", .transport = seen_text("sata") },
	};
	struct machine m = { .pci = { .items = pci, .n = 3 },
			     .storage = { .disks = { .items = disks, .n = 3 } } };
	struct arena a = { 0 };
	struct bench_env env = { .a = &a, .m = &m };
	struct disk_place p = { .disks = { &disks[0] }, .n_disks = 1, .names = "nvme0n1" };
	struct bench_limit limit = disk_place_limit(&env, &p);

	(void)state;
	assert_true(limit.known && fabs(limit.value - 16.0 * 4 / 8 * 128 / 130) < 1e-9);
	/* Two below one folder carry together. */
	p.disks[1] = &disks[1];
	p.n_disks = 2;
	assert_true(fabs(disk_place_limit(&env, &p).value - 16.0 * 4 / 8 * 128 / 130 - 1) < 1e-9);
	/* The narrowest on the way counts. */
	p.n_disks = 1;
	pci[0].width = seen_int(1);
	assert_true(fabs(disk_place_limit(&env, &p).value - 16.0 / 8 * 128 / 130) < 1e-9);
	/* One that nobody knows: none is known. */
	p.disks[1] = &disks[2];
	p.n_disks = 2;
	limit = disk_place_limit(&env, &p);
	assert_true(!limit.known && strstr(limit.source, "unknown:"));
	arena_free(&a);
}

/* --- files that are there --------------------------------------------------------------------- */
static void put_file(const char *dir, const char *name, size_t bytes)
{
	char path[256];
	uint8_t *p = malloc(bytes + 1);
	int fd;

	assert_non_null(p);
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(i * 31 + bytes + i / 4096);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, bytes), bytes);
	fsync(fd);
	close(fd);
	free(p);
}

/* Three files that count, a small one, one in a folder below, names that lead elsewhere. */
static void put_model(const char *dir)
{
	char path[256];

	put_file(dir, "model-10.bin", (5 << 20) + 4099);
	put_file(dir, "model-2.bin", 1 << 20);
	put_file(dir, "config.json", 100);
	snprintf(path, sizeof(path), "%s/blobs", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	put_file(dir, "blobs/x", 70001);
	snprintf(path, sizeof(path), "%s/inside", dir);
	assert_int_equal(symlink("blobs/x", path), 0);
	snprintf(path, sizeof(path), "%s/outside", dir);
	assert_int_equal(symlink("/bin/sh", path), 0);
	snprintf(path, sizeof(path), "%s/back", dir);
	assert_int_equal(symlink("..", path), 0);
	snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void take_model(const char *dir)
{
	static const char *const names[] = { "model-10.bin", "model-2.bin", "config.json",
					     "blobs/x",	     "inside",	    "outside",
					     "back",	     "pipe" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/blobs", dir);
	rmdir(path);
}

static void found(void **state)
{
	struct lab l;
	struct load_set set;
	struct err e = { 0 };
	struct open_how how = { .flags = O_RDONLY };
	char path[256];
	int fd;

	(void)state;
	lab_open(&l, "/var/tmp");
	put_model(l.dir);
	assert_int_equal(load_find(&l.a, l.dir, 4096, 1 << 30, &set, &e), 0);
	assert_int_equal(set.n, 3);
	assert_string_equal(set.files[0].name, "blobs/x");
	assert_string_equal(set.files[1].name, "model-2.bin");
	assert_string_equal(set.files[2].name, "model-10.bin");
	assert_int_equal(set.files[2].base, 70001 + (1 << 20));
	assert_int_equal(set.bytes, 70001 + (1 << 20) + (5 << 20) + 4099);
	/* Without openat2 no link is followed. */
	fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
	assert_int_equal(set.left_out, fd >= 0 ? 2 : 3);
	if (fd >= 0)
		close(fd);
	/* As much as may be read at most. */
	assert_int_equal(load_find(&l.a, l.dir, 4096, 100000, &set, &e), 0);
	assert_int_equal(set.n, 2);
	assert_int_equal(set.n_all, 3);
	assert_int_equal(set.bytes, 100000);
	assert_int_equal(set.files[1].bytes, 100000 - 70001);
	/* One file; and another one in its place. */
	snprintf(path, sizeof(path), "%s/model-2.bin", l.dir);
	assert_int_equal(load_find(&l.a, path, 4096, 1 << 30, &set, &e), 0);
	assert_int_equal(set.n, 1);
	assert_int_equal(set.bytes, 1 << 20);
	assert_int_equal(rename(path, "/var/tmp/gputune-test-aside"), 0);
	put_file(l.dir, "model-2.bin", 1 << 20);
	assert_int_equal(load_open(&set, &e), -ESTALE);
	unlink("/var/tmp/gputune-test-aside");
	/* Only links that lead out. */
	snprintf(path, sizeof(path), "%s/blobs", l.dir);
	assert_int_equal(load_find(&l.a, path, 1 << 20, 1 << 30, &set, &e), -ENODATA);
	assert_non_null(strstr(e.text, "contains no readable file"));
	assert_int_equal(load_find(&l.a, "/dev/null", 0, 1, &set, &e), -EINVAL);
	take_model(l.dir);
	lab_close(&l);
}

/* All ways read the same bytes, and any change of one bit or of places is seen. */
static void same_sum(void **state)
{
	struct lab l;
	struct load_set set;
	struct err e = { 0 };
	struct load_result first = { 0 }, now;
	struct load_job job = { .set = &set, .threads = 4, .sum = true };
	char path[256], block[2][4096];
	int fd;

	(void)state;
	lab_open(&l, "/var/tmp");
	put_model(l.dir);
	assert_int_equal(load_find(&l.a, l.dir, 4096, 1 << 30, &set, &e), 0);
	assert_int_equal(load_open(&set, &e), 0);
	job.buffers = aligned_alloc(4096, LOAD_THREADS * (size_t)LOAD_BLOCK);
	assert_non_null(job.buffers);
	for (int way = LOAD_MMAP; way <= LOAD_PARALLEL; way++) {
		job.way = (enum load_way)way;
		if (way == LOAD_POPULATE && !load_can_populate())
			continue;
		assert_int_equal(load_run(&job, &now, &e), 0);
		assert_int_equal(now.bytes, set.bytes);
		if (way == LOAD_MMAP)
			first = now;
		assert_true(now.sum == first.sum);
	}
	snprintf(path, sizeof(path), "%s/model-10.bin", l.dir);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	/* Two blocks change places. */
	assert_int_equal(pread(fd, block, sizeof(block), 0), sizeof(block));
	assert_int_equal(pwrite(fd, block[1], 4096, 0), 4096);
	assert_int_equal(pwrite(fd, block[0], 4096, 4096), 4096);
	assert_int_equal(load_run(&job, &now, &e), 0);
	assert_true(now.sum != first.sum);
	assert_int_equal(pwrite(fd, block, sizeof(block), 0), sizeof(block));
	assert_int_equal(load_run(&job, &now, &e), 0);
	assert_true(now.sum == first.sum);
	/* The last byte. */
	block[0][0] = 'x';
	assert_int_equal(pwrite(fd, block, 1, (5 << 20) + 4098), 1);
	assert_int_equal(load_run(&job, &now, &e), 0);
	assert_true(now.sum != first.sum);
	/* It loses its end. */
	assert_int_equal(load_same(&set, &e), 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(load_same(&set, &e), -ESTALE);
	assert_int_equal(load_run(&job, &now, &e), -EIO);
	assert_non_null(strstr(e.text, "model-10.bin ended at byte"));
	/* Mapped, it would have ended this program. */
	for (int way = LOAD_MMAP; way <= LOAD_POPULATE; way++) {
		job.way = (enum load_way)way;
		if (way == LOAD_POPULATE && !load_can_populate())
			continue;
		assert_int_equal(load_run(&job, &now, &e), -ESTALE);
		assert_non_null(strstr(e.text, "model-10.bin was truncated"));
	}
	close(fd);
	free(job.buffers);
	load_close(&set);
	take_model(l.dir);
	lab_close(&l);
}

/* On ZFS the page cache can be told what one likes: what is read comes from another one. Neither
 * bench calls that a disk's figure; what does not read from the disk stays. */
static void own_cache(void **state)
{
	struct lab l;
	size_t skipped = 0, cold = 0;

	(void)state;
	lab_open(&l, "/var/tmp");
	put_model(l.dir);
	l.f.env.ask.files = l.dir;
	told_type = ZFS_MAGIC;
	assert_int_equal(frame_run(&l.f, &bench_disk, "read-seq:128KiB:buffered", &l.r), -ENODATA);
	assert_int_equal(l.r.n_skipped, 1);
	assert_string_equal(l.r.skipped[0].reason, DISK_OWN_CACHE);
	assert_int_equal(frame_run(&l.f, &bench_disk, "write-seq:1MiB:buffered", &l.r), 0);
	assert_non_null(strstr(l.r.cases[0].setup, "zfs"));
	l.r = (struct record){ 0 };
	assert_int_equal(frame_run(&l.f, &bench_model_load, NULL, &l.r), 0);
	told_type = 0;
	for (size_t i = 0; i < l.r.n_skipped; i++)
		skipped += strcmp(l.r.skipped[i].reason, DISK_OWN_CACHE) == 0;
	for (size_t i = 0; i < l.r.n; i++)
		cold += strncmp(l.r.cases[i].name, "cold:", 5) == 0;
	assert_true(skipped > 0 && cold == 0 && l.r.n > 0);
	take_model(l.dir);
	lab_close(&l);
}

static void every_load(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct lab l;
		size_t cold = 0;

		lab_open(&l, places[i]);
		put_model(l.dir);
		l.f.env.ask.files = l.dir;
		assert_int_equal(frame_run(&l.f, &bench_model_load, NULL, &l.r), 0);
		for (size_t k = 0; k < l.r.n; k++) {
			const struct record_case *c = &l.r.cases[k];

			if (c->error || !c->verified || !c->n)
				fail_msg("%s: %s", c->name, c->error ? c->error : "not verified");
			for (size_t j = 0; j < c->n; j++)
				assert_true(c->series[0].x[j] > 0 && c->series[1].x[j] > 0);
			cold += strncmp(c->name, "cold:", 5) == 0;
		}
		assert_true(l.r.n >= 3);
		/* In memory nothing is ever cold. */
		if (cold == 0)
			assert_non_null(strstr(l.r.skipped[0].reason, "in memory"));
		take_model(l.dir);
		lab_close(&l);
	}
}

/* A file that changes between the ways is no result. */
static void changed_load(void **state)
{
	struct lab l;
	struct bench_cases all = { 0 };
	struct bench_sample s = { 0 };
	struct err e = { 0 };
	const char *variant;
	char path[256];
	void *load;
	int fd;

	(void)state;
	lab_open(&l, "/var/tmp");
	put_model(l.dir);
	l.f.env.ask.files = l.dir;
	bench_model_load.cases(&l.f.env, &all);
	assert_true(all.n > 0);
	assert_int_equal(
		bench_set_up(&bench_model_load, &l.f.env, &all.items[0], &load, &variant, &e), 0);
	assert_int_equal(bench_model_load.run(load, &s, &e), 0);
	assert_int_equal(bench_model_load.verify(load, &e), 0);
	snprintf(path, sizeof(path), "%s/model-10.bin", l.dir);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "changed", 7, 1 << 20), 7);
	assert_int_equal(bench_model_load.verify(load, &e), -EILSEQ);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(bench_model_load.run(load, &s, &e), -ESTALE);
	close(fd);
	atomic_store(&l.stop, true);
	bench_tear_down(&bench_model_load, load);
	bench_model_load.end(&all);
	l.f.env.ask.files = NULL;
	all = (struct bench_cases){ 0 };
	bench_model_load.cases(&l.f.env, &all);
	assert_true(!all.n && all.usage && strstr(all.none, "--files"));
	take_model(l.dir);
	lab_close(&l);
}

/* --- a mapped file that is cut ---------------------------------------------------------------- */

/* Half is read, then the file gets another length. The sum of what was read; whether it was lost.
 */
static size_t read_cut(int fd, char *p, size_t n, off_t length, bool *lost)
{
	struct map_guard g;
	size_t sum = 0;

	assert_int_equal(map_guard_begin(&g, p, n), 0);
	for (size_t i = 0; i < n / 2; i++)
		sum += (unsigned char)p[i];
	assert_false(map_guard_lost(&g));
	assert_int_equal(ftruncate(fd, length), 0);
	for (size_t i = n / 2; i < n; i++)
		sum += (unsigned char)p[i];
	*lost = map_guard_lost(&g);
	map_guard_end(&g);
	return sum;
}

static void bus_error(const char *file)
{
	int fd = open(file, O_RDWR);
	char *p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	char *other = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	struct rlimit none = { 0 };
	struct map_guard g;

	signal(SIGBUS, SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	if (p == MAP_FAILED || other == MAP_FAILED || map_guard_begin(&g, p, 8192) ||
	    ftruncate(fd, 0))
		_exit(2);
	/* Guarded; and the one beside it, which nobody guards. */
	if (*(volatile char *)p || !map_guard_lost(&g))
		_exit(3);
	_exit(*(volatile char *)other);
}

static void cut_while_mapped(void **state)
{
	const size_t n = (1 << 20) - 100;
	struct sigaction before, after;
	size_t half = 0, all = 0;
	struct lab l;
	char path[256], *p;
	pid_t child;
	int status, fd;
	bool lost;

	(void)state;
	lab_open(&l, "/var/tmp");
	sigaction(SIGBUS, NULL, &before);
	put_file(l.dir, "cut", n);
	snprintf(path, sizeof(path), "%s/cut", l.dir);
	fd = open(path, O_RDWR);
	p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(fd >= 0 && p != MAP_FAILED);
	for (size_t i = 0; i < n; i++) {
		all += (unsigned char)p[i];
		half += i < n / 2 ? (unsigned char)p[i] : 0;
	}
	/* Longer is nothing lost; shorter is, and zeros stand there. */
	assert_int_equal(read_cut(fd, p, n, 1 << 20, &lost), all);
	assert_false(lost);
	assert_int_equal(read_cut(fd, p, n, 4096, &lost), half);
	assert_true(lost);
	sigaction(SIGBUS, NULL, &after);
	assert_true(before.sa_handler == after.sa_handler);
	assert_int_equal(ftruncate(fd, 8192), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		bus_error(path);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	munmap(p, n);
	close(fd);
	unlink(path);
	lab_close(&l);
}

/* --- what a folder stands on ------------------------------------------------------------------ */
static const struct {
	const char *path, *target; /* "": a file; NULL: a folder */
} tree[] = {
	/* A volume on a RAID of two partitions, one of them named twice. */
	{ "/sys/dev/block/253:0", "../../devices/virtual/block/dm-0" },
	{ "/sys/devices/virtual/block/dm-0/slaves/md0", "../../md0" },
	{ "/sys/devices/virtual/block/md0/slaves/nvme0n1p2",
	  "../../../../pci/nvme0/nvme0n1/nvme0n1p2" },
	{ "/sys/devices/virtual/block/md0/slaves/nvme1n1", "../../../../pci/nvme1/nvme1n1" },
	{ "/sys/devices/virtual/block/md0/slaves/nvme1n1p1",
	  "../../../../pci/nvme1/nvme1n1/nvme1n1p1" },
	{ "/sys/devices/pci/nvme0/nvme0n1/nvme0n1p2/partition", "" },
	{ "/sys/devices/pci/nvme1/nvme1n1/nvme1n1p1/partition", "" },
	/* One that stands on itself. */
	{ "/sys/dev/block/253:1", "../../devices/virtual/block/dm-1" },
	{ "/sys/devices/virtual/block/dm-1/slaves/dm-1", "../../dm-1" },
};

static int tree_link(struct host *h, const char *path, char *buf, size_t cap)
{
	(void)h;
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++)
		if (strcmp(tree[i].path, path) == 0 && *tree[i].target) {
			snprintf(buf, cap, "%s", tree[i].target);
			return 0;
		}
	return -ENOENT;
}

static int tree_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	char **list = NULL;

	(void)h;
	*n = 0;
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++)
		if (strncmp(tree[i].path, path, strlen(path)) == 0 &&
		    tree[i].path[strlen(path)] == '/' &&
		    !strchr(tree[i].path + strlen(path) + 1, '/')) {
			list = arena_grow(a, list, *n, sizeof(*list));
			list[(*n)++] = arena_strdup(a, tree[i].path + strlen(path) + 1);
		}
	*names = list;
	return *n ? 0 : -ENOENT;
}

static int tree_kind(struct host *h, const char *path, enum host_kind *out)
{
	(void)h;
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++)
		if (strcmp(tree[i].path, path) == 0) {
			*out = *tree[i].target ? HOST_LINK : HOST_FILE;
			return 0;
		}
	return -ENOENT;
}

static void members(void **state)
{
	static const struct host_ops ops = { .link = tree_link,
					     .list = tree_list,
					     .kind = tree_kind };
	struct host h = { .ops = &ops };
	struct disk disks[] = { { .name = "nvme0n1", .pci = "", .numa_node = seen_int(1) },
				{ .name = "nvme1n1", .pci = "", .numa_node = seen_int(1) } };
	struct machine m = { .storage = { .disks = { .items = disks, .n = 2 } } };
	struct arena a = { 0 };
	struct bench_env env = { .a = &a, .m = &m, .h = &h };
	struct disk_place p = { 0 };

	(void)state;
	disk_place_members(&env, makedev(253, 0), &p);
	assert_int_equal(p.n_disks, 2);
	assert_string_equal(p.names, "nvme0n1 nvme1n1");
	assert_int_equal(p.node, 1);
	disks[1].numa_node = seen_int(0);
	p = (struct disk_place){ 0 };
	disk_place_members(&env, makedev(253, 0), &p);
	assert_int_equal(p.node, -1);
	p = (struct disk_place){ 0 };
	disk_place_members(&env, makedev(253, 1), &p);
	assert_int_equal(p.n_disks, 0);
	assert_string_equal(p.names, "");
	arena_free(&a);
}

int main(void)
{
	static int (*const troubles[])(struct one *) = { read_only, little_space,  lost_space,
							 limited,   not_permitted, not_there,
							 lost_write };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages),
		cmocka_unit_test(every_case),
		cmocka_unit_test(wrong_reads),
		cmocka_unit_test(wrong_writes),
		cmocka_unit_test(shorter),
		cmocka_unit_test(depth),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(no_place),
		cmocka_unit_test_prestate(in_trouble, (void *)&troubles[0]),
		cmocka_unit_test_prestate(in_trouble, (void *)&troubles[1]),
		cmocka_unit_test_prestate(in_trouble, (void *)&troubles[2]),
		cmocka_unit_test_prestate(in_trouble, (void *)&troubles[3]),
		cmocka_unit_test_prestate(in_trouble, (void *)&troubles[4]),
		cmocka_unit_test_prestate(in_trouble, (void *)&troubles[5]),
		cmocka_unit_test_prestate(in_trouble, (void *)&troubles[6]),
		cmocka_unit_test(killed),
		cmocka_unit_test(links),
		cmocka_unit_test(members),
		cmocka_unit_test(found),
		cmocka_unit_test(same_sum),
		cmocka_unit_test(every_load),
		cmocka_unit_test(own_cache),
		cmocka_unit_test(changed_load),
		cmocka_unit_test(cut_while_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
