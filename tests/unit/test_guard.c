/* SPDX-License-Identifier: Apache-2.0 */
/* What run does before and beside a job: a kernel that gives page cache up, or does not; what a
 * control group says of itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "front/job_group.h"
#include "base/text.h"
#include "front/reclaim.h"

/* --- a kernel --------------------------------------------------------------------------------- */

struct kernel {
	struct host host;
	long long free_kb, cache_kb; /* free_kb below 0: meminfo cannot be read */
	bool old;		     /* knows no swappiness= */
	int refuses;		     /* every write fails so */
	int part;		     /* of what is asked for that it gives, % */
	int fails_from;		     /* writes from this number on fail with -EINTR; 0: none */
	int writes;
	long long most;		 /* bytes that were asked for in one write, at most */
	const char *file, *text; /* what one file of the group holds */
};

static int kernel_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	const struct kernel *k = (const struct kernel *)h;
	char text[256];

	if (strcmp(path, "/proc/meminfo") == 0 && k->free_kb >= 0)
		snprintf(text, sizeof(text),
			 "MemTotal:  1000 kB\nMemFree:   %lld kB\nHugePages_Free: 7\n", k->free_kb);
	else if (k->file && strcmp(path_name(path), k->file) == 0)
		snprintf(text, sizeof(text), "%s", k->text);
	else
		return -ENOENT;
	*len = strlen(text);
	assert_true(*len < cap);
	memcpy(buf, text, *len + 1);
	return 0;
}

static int kernel_write(struct host *h, const char *path, long long offset, const void *data,
			size_t len)
{
	struct kernel *k = (struct kernel *)h;
	char text[64];
	long long asked, got;
	char *end;

	assert_string_equal(path, "/sys/fs/cgroup/memory.reclaim");
	assert_true(offset < 0 && len < sizeof(text));
	memcpy(text, data, len);
	text[len] = '\0';
	asked = strtoll(text, &end, 10) / 1024;
	k->writes++;
	if (k->refuses)
		return k->refuses;
	if (*end && k->old)
		return -EINVAL;
	if (k->fails_from && k->writes >= k->fails_from)
		return -EINTR;
	k->most = asked * 1024 > k->most ? asked * 1024 : k->most;
	/* Pages come in bundles. */
	got = asked * k->part / 100 > 64 ? asked * k->part / 100 : 64;
	got = got > k->cache_kb ? k->cache_kb : got;
	k->cache_kb -= got;
	k->free_kb += got;
	return got < asked ? -EAGAIN : 0;
}

static const struct host_writes kernel_writes = { .write = kernel_write };
static const struct host_ops kernel_ops = { .read = kernel_read, .writes = &kernel_writes };

enum { GIB = 1 << 20 };

static void test_reclaim(void **state)
{
	static const struct {
		const char *what;
		struct kernel k;
		long long want_kb;
		bool swap;
		int code, writes;
		long long after_kb;
		const char *why;
	} rows[] = {
		{ "no more than is asked for, in steps of a GiB",
		  { .free_kb = GIB, .cache_kb = 20 * GIB, .part = 100 },
		  3 * GIB + 64,
		  true,
		  0,
		  3,
		  3 * GIB + 64,
		  NULL },
		{ "so much is free",
		  { .free_kb = 5, .cache_kb = 9, .part = 100 },
		  5,
		  true,
		  0,
		  0,
		  5,
		  NULL },
		{ "it gives half of each step",
		  { .free_kb = 0, .cache_kb = 99 * GIB, .part = 50 },
		  GIB / 2 + 1,
		  true,
		  0,
		  15,
		  GIB / 2 + 64,
		  NULL },
		{ "all is given",
		  { .free_kb = 0, .cache_kb = GIB, .part = 100 },
		  3 * GIB,
		  true,
		  0,
		  4,
		  GIB,
		  "the kernel releases no more memory" },
		{ "none is given",
		  { .free_kb = 8, .cache_kb = 0, .part = 100 },
		  GIB,
		  true,
		  0,
		  3,
		  8,
		  "the kernel releases no more memory" },
		{ "an older kernel, with swap",
		  { .free_kb = 0, .cache_kb = GIB, .part = 100, .old = true },
		  4,
		  true,
		  -EINVAL,
		  1,
		  0,
		  NULL },
		{ "and without",
		  { .free_kb = 0, .cache_kb = GIB, .part = 100, .old = true },
		  64,
		  false,
		  0,
		  2,
		  64,
		  NULL },
		{ "no such file", { .refuses = -ENOENT }, 4, false, -ENOENT, 1, 0, NULL },
		{ "not root", { .refuses = -EACCES }, 4, false, -EACCES, 1, 0, NULL },
		{ "a signal under way",
		  { .cache_kb = 9 * GIB, .part = 100, .fails_from = 2 },
		  5 * GIB,
		  true,
		  0,
		  2,
		  GIB,
		  "interrupted" },
		{ "nothing can be seen", { .free_kb = -1 }, 4, true, -ENODATA, 0, -1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kernel k = rows[i].k;
		struct reclaim r = { .want_kb = rows[i].want_kb, .swap = rows[i].swap };
		struct err e = { 0 };
		int code;

		k.host.ops = &kernel_ops;
		code = reclaim_cache(&k.host, &r, &e);
		if (code != rows[i].code || k.writes != rows[i].writes ||
		    r.after_kb != rows[i].after_kb || !r.why != !rows[i].why ||
		    (r.why && strcmp(r.why, rows[i].why) != 0) || !*e.text != !code)
			fail_msg("%s: %d, %d writes, %lld KiB free, %s, \"%s\"", rows[i].what, code,
				 k.writes, r.after_kb, r.why ? r.why : "-", e.text);
		assert_true(k.most <= 1LL << 30);
	}
}

/* --- what it says ----------------------------------------------------------------------------- */

static void test_figures(void **state)
{
	static const char events[] = "low 0\nhigh 12\nmax 3\noom 1\noom_kill 2\noom_group_kill 1";
	static const char full[] = "some avg10=1.00 avg60=0.10\nfull avg10=7.25 avg60=0.10";

	(void)state;
	assert_true(kernel_figure(events, "oom_kill") == 2);
	assert_true(kernel_figure(events, "oom") == 1);
	assert_true(kernel_figure(events, "kill") < 0);
	assert_true(kernel_figure("", "oom") < 0);
	assert_true(kernel_figure(full, "full avg10=") == 7.25);
	assert_true(kernel_figure("HugePages_Free: 7\nMemFree:  9 kB", "MemFree:") == 9);
}

static void test_look(void **state)
{
	const struct job_group g = { .dir = "/group", .limits = true }, none = { .limits = true };
	struct kernel k = { .file = "memory.current", .text = "1073741824" };
	struct job_group_state s;

	(void)state;
	k.host.ops = &kernel_ops;
	job_group_look(&k.host, &g, &s);
	assert_true(!s.populated && s.held_bytes == 1 << 30 && s.oom_kills == -1 && s.full == -1);
	k.file = "cgroup.events";
	k.text = "populated 1\nfrozen 0";
	job_group_look(&k.host, &g, &s);
	assert_true(s.populated && s.held_bytes == -1);
	k.text = "frozen 0";
	job_group_look(&k.host, &g, &s);
	assert_false(s.populated);
	job_group_look(&k.host, &none, &s);
	assert_true(!s.populated && s.held_bytes == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reclaim),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
