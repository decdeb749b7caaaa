/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined process can do on this kernel, and what it cannot: each in a process of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/host/confine.h"

enum { NO_FENCE = 200, KILLED = 201 };

/* Sanitizers need some of what is refused otherwise. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WATCHED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WATCHED true
#endif
#endif
#ifndef WATCHED
#define WATCHED false
#endif

static int kept_open;
static char kept_name[] = "/tmp/gputune-confine-XXXXXX";

/* What a call came to: its errno, or 0. */
static int came_to(long r)
{
	return r < 0 ? errno : 0;
}

static int reads(void)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char c;

	return fd >= 0 && read(fd, &c, 1) == 1 ? 0 : errno;
}

static int writes_open(void)
{
	return write(kept_open, "x", 1) == 1 ? 0 : errno;
}

static int takes_memory(void)
{
	size_t n = 64 << 20;
	char *p = malloc(n);

	if (!p)
		return ENOMEM;
	memset(p, 1, n);
	p = realloc(p, 2 * n);
	free(p);
	return p ? 0 : ENOMEM;
}

static int prints(void)
{
	FILE *f = fopen("/proc/self/stat", "re");
	char line[64];
	int r = f && fgets(line, sizeof(line), f) ? 0 : EIO;

	if (f)
		fclose(f);
	fflush(stdout);
	return r;
}

static int asks_limits(void)
{
	struct rlimit l;

	return came_to(getrlimit(RLIMIT_NOFILE, &l));
}

static int runs(void)
{
	return came_to(execl("/bin/true", "true", NULL));
}

static int mounts(void)
{
	return came_to(chroot("/"));
}

static int looks_into_others(void)
{
	return came_to(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return came_to(pid);
}

static int writes_new(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/gputune-confined-%d", (int)getpid());
	return came_to(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

/* Whose flags no filter sees: Landlock's to refuse. */
static int writes_by_openat2(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { O_WRONLY | O_CLOEXEC, 0, 0 };

	return came_to(syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof(how)));
}

static int makes_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int adjusts_clock(void)
{
	struct timex t = { 0 };

	return came_to(syscall(SYS_clock_adjtime, CLOCK_REALTIME, &t));
}

static int limits_others(void)
{
	struct rlimit l;

	return came_to(syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, &l));
}

/* Each would be done, or fail with another errno, without a fence: by anybody, on what is ours. */
#define TRY(name, call)                                                                            \
	static int name(void)                                                                      \
	{                                                                                          \
		return came_to(call);                                                              \
	}
TRY(connects, socket(AF_INET, SOCK_STREAM, 0))
TRY(signals_others, kill(getppid(), 0))
TRY(hurries_others, setpriority(PRIO_PROCESS, (id_t)getppid(), 0))
TRY(changes_times, utimensat(AT_FDCWD, "/proc/self/cmdline", NULL, 0))
TRY(shares_memory, syscall(SYS_shmget, 0, 4096, 01600))
TRY(becomes, setuid(getuid()))
TRY(changes_mode, fchmod(kept_open, 0600))
TRY(changes_owner, fchown(kept_open, geteuid(), (gid_t)-1))
TRY(changes_attributes, syscall(SYS_fsetxattr, kept_open, "user.gputune", "x", 1, 0))
TRY(cuts_by_name, truncate("/proc/self/gputune-is-not-there", 0))
TRY(changes_itself, syscall(SYS_personality, 0xffffffff))
TRY(hears_files, syscall(SYS_fanotify_init, 0, 0))
TRY(reads_kernel_log, syscall(SYS_syslog, 10, 0, 0))
TRY(types, ioctl(STDIN_FILENO, TIOCSTI, "x"))
TRY(pastes, ioctl(STDIN_FILENO, TIOCLINUX, "\2"))
TRY(asks_terminal, ioctl(STDIN_FILENO, TIOCGWINSZ, &(struct winsize){ 0 }))

/* In a process of its own; what it comes to. */
static int confined(unsigned needs, unsigned must, int (*what)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit((confine(needs) & must) == must ? what() : NO_FENCE);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : -WTERMSIG(status);
	return WEXITSTATUS(status);
}

static void calls(void **state)
{
	static int (*const work[])(void) = { reads, writes_open, takes_memory, prints,
					     asks_limits };
	static int (*const refused[])(void) = {
		connects,	    signals_others, hurries_others, changes_times,
		shares_memory,	    becomes,	    changes_mode,   changes_owner,
		changes_attributes, cuts_by_name,   changes_itself, hears_files,
		reads_kernel_log,   types,	    pastes,	    asks_terminal,
		adjusts_clock,	    limits_others,
	};
	static int (*const fatal[])(void) = { runs, mounts, looks_into_others };

	(void)state;
	if (confined(0, CONFINED_CALLS, reads) == NO_FENCE)
		skip();
	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		assert_int_equal(confined(0, CONFINED_CALLS, work[i]), 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(confined(0, CONFINED_CALLS, refused[i]), EPERM);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		assert_int_equal(confined(0, CONFINED_CALLS, fatal[i]), KILLED);
	if (WATCHED)
		return;
	assert_int_equal(confined(0, CONFINED_CALLS, forks), EPERM);
	assert_int_equal(confined(0, CONFINED_CALLS, makes_code), EPERM);
	assert_int_equal(confined(CONFINE_CODE, CONFINED_CALLS, makes_code), 0);
	assert_int_equal(confined(CONFINE_THREADS, CONFINED_CALLS, forks), EPERM);
	/* By the filter where the flags are seen, else by Landlock. */
	assert_int_equal(confined(0, CONFINED_CALLS, writes_new), EPERM);
	assert_int_equal(confined(0, CONFINED_FILES, writes_by_openat2) == EACCES ||
				 confined(0, CONFINED_CALLS, writes_by_openat2) == ENOSYS,
			 true);
}

static void *work(void *out)
{
	*(int *)out = 1;
	return NULL;
}

static int starts_thread(void)
{
	pthread_t thread;
	int done = 0, r = pthread_create(&thread, NULL, work, &done);

	return r ? r : pthread_join(thread, NULL) || !done;
}

static void threads(void **state)
{
	(void)state;
	if (confined(0, CONFINED_CALLS, reads) == NO_FENCE)
		skip();
	assert_int_equal(confined(CONFINE_THREADS, CONFINED_CALLS, starts_thread), 0);
	if (!WATCHED)
		assert_int_equal(confined(0, CONFINED_CALLS, starts_thread), EPERM);
}

/* --- a terminal ------------------------------------------------------------------------------- */

/* In a session whose terminal this is, as root's shell has one: 1 when a key was put into it. */
static int in_terminal(unsigned needs, bool fenced)
{
	int status, main_side, n = 0;
	pid_t pid = forkpty(&main_side, NULL, NULL, NULL);

	assert_true(pid >= 0);
	if (pid == 0) {
		if (fenced && !(confine(needs) & CONFINED_CALLS))
			_exit(NO_FENCE);
		types();
		pastes();
		if (ioctl(STDIN_FILENO, FIONREAD, &n) < 0)
			n = fenced ? 0 : -1;
		_exit(types() == 0 || n > 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(main_side);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void terminal(void **state)
{
	(void)state;
	/* Where the kernel takes no keys from anybody the fence is not what refuses them. */
	print_message("without a fence keys can be typed here: %s\n",
		      in_terminal(0, false) == 1 ? "yes" : "no");
	if (in_terminal(0, true) == NO_FENCE)
		skip();
	assert_int_equal(in_terminal(0, true), 0);
	assert_int_equal(in_terminal(CONFINE_SCREEN, true), 0);
}

/* --- rights ----------------------------------------------------------------------------------- */

static int without_rights(void)
{
	char line[256];
	bool readable = prctl(PR_CAPBSET_READ, 2, 0, 0, 0) == 1;
	unsigned long long caps = ~0ull;
	FILE *f;

	if (!(confine_rights() & CONFINED_RIGHTS))
		return NO_FENCE;
	if (getsid(0) != getpid())
		return 1;
	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapPrm: %llx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	/* CAP_DAC_READ_SEARCH at most, or in its place _OVERRIDE, and root's files can be read. */
	if (caps & (readable ? ~4ull : ~2ull) || geteuid() == 0 || setuid(0) == 0 ||
	    kill(1, 0) == 0)
		return 2;
	if (caps && (access(kept_name, R_OK) || open(kept_name, O_RDONLY | O_CLOEXEC) < 0))
		return 4;
	if (caps == 4 && open(kept_name, O_WRONLY | O_CLOEXEC) >= 0)
		return 5;
	return open("/proc/1/mem", O_RDONLY | O_CLOEXEC) < 0 ? 0 : 3;
}

static void rights(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(without_rights());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FENCE)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A file that its owner alone may read. */
static int make_file(void **state)
{
	(void)state;
	kept_open = mkstemp(kept_name);
	return kept_open < 0;
}

static int remove_file(void **state)
{
	(void)state;
	close(kept_open);
	return unlink(kept_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(threads),
		cmocka_unit_test(terminal),
		cmocka_unit_test(rights),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
