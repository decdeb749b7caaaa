/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of either architecture, run here: what it answers to a call. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "machine/host/confine.h"

enum {
	ALLOW = SECCOMP_RET_ALLOW,
	REFUSE = SECCOMP_RET_ERRNO | EPERM,
	UNKNOWN = SECCOMP_RET_ERRNO | ENOSYS
};
#define KILL SECCOMP_RET_KILL_PROCESS

static const uint32_t audit[CONFINE_ARCHES] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };

/* Those instructions of classic BPF that the kernel takes in a filter and ours uses. Any other, a
 * jump out of the program or an odd place of the data fails the test. */
static uint32_t evaluate(const struct sock_filter *f, unsigned n, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (unsigned at = 0; at < n; at++) {
		const struct sock_filter *i = &f[at];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*d));
			memcpy(&a, (const char *)d + i->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			at += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("instruction %#x", i->code);
		}
	}
	fail_msg("the program ends without an answer");
	return 0;
}

static uint32_t asked(enum confine_arch arch, unsigned needs, struct seccomp_data d)
{
	struct sock_filter f[CONFINE_PROGRAM_MAX];
	unsigned n = confine_program(arch, needs, f);

	assert_in_range(n, 10, CONFINE_PROGRAM_MAX);
	return evaluate(f, n, &d);
}

static uint32_t call(enum confine_arch arch, unsigned needs, int nr, uint64_t a0, uint64_t a1,
		     uint64_t a2)
{
	struct seccomp_data d = { .nr = nr, .arch = audit[arch], .args = { a0, a1, a2 } };

	return asked(arch, needs, d);
}

/* Numbers as the kernel's tables have them: of x86-64, of aarch64 (-1: it has none). */
struct numbers {
	const char *name;
	int nr[CONFINE_ARCHES];
	uint32_t answer;
};

static const struct numbers table[] = {
	{ "read", { 0, 63 }, ALLOW },
	{ "write", { 1, 64 }, ALLOW },
	{ "close", { 3, 57 }, ALLOW },
	{ "memfd_create", { 319, 279 }, ALLOW }, /* memory, of which nothing is executed */
	{ "newfstatat", { 262, 79 }, ALLOW },
	{ "getdents64", { 217, 61 }, ALLOW },
	{ "brk", { 12, 214 }, ALLOW },
	{ "mmap", { 9, 222 }, ALLOW },
	{ "munmap", { 11, 215 }, ALLOW },
	{ "exit_group", { 231, 94 }, ALLOW },
	{ "getrandom", { 318, 278 }, ALLOW },
	{ "clock_gettime", { 228, 113 }, ALLOW },
	{ "openat", { 257, 56 }, ALLOW },
	{ "readlink", { 89, -1 }, ALLOW },

	{ "open", { 2, -1 }, REFUSE },
	{ "creat", { 85, -1 }, REFUSE },
	{ "ioctl", { 16, 29 }, REFUSE },
	{ "fork", { 57, -1 }, REFUSE },
	{ "vfork", { 58, -1 }, REFUSE },
	{ "clone", { 56, 220 }, REFUSE },
	{ "clone3", { 435, 435 }, UNKNOWN },
	{ "openat2", { 437, 437 }, UNKNOWN },
	{ "socket", { 41, 198 }, REFUSE },
	{ "socketpair", { 53, 199 }, REFUSE },
	{ "connect", { 42, 203 }, REFUSE },
	{ "sendmsg", { 46, 211 }, REFUSE },
	{ "kill", { 62, 129 }, REFUSE },
	{ "tgkill", { 234, 131 }, REFUSE },
	{ "pidfd_send_signal", { 424, 424 }, UNKNOWN },
	{ "setpriority", { 141, 140 }, REFUSE },
	{ "sched_setaffinity", { 203, 122 }, REFUSE },
	{ "sched_setscheduler", { 144, 119 }, REFUSE },
	{ "ioprio_set", { 251, 30 }, REFUSE },
	{ "setrlimit", { 160, 164 }, REFUSE },
	{ "utimensat", { 280, 88 }, REFUSE },
	{ "fchmodat", { 268, 53 }, REFUSE },
	{ "fchownat", { 260, 54 }, REFUSE },
	{ "fsetxattr", { 190, 7 }, REFUSE },
	{ "truncate", { 76, 45 }, REFUSE },
	{ "unlinkat", { 263, 35 }, REFUSE },
	{ "renameat2", { 316, 276 }, REFUSE },
	{ "linkat", { 265, 37 }, REFUSE },
	{ "symlinkat", { 266, 36 }, REFUSE },
	{ "mkdirat", { 258, 34 }, REFUSE },
	{ "mknodat", { 259, 33 }, REFUSE },
	{ "fallocate", { 285, 47 }, REFUSE },
	{ "shmget", { 29, 194 }, REFUSE },
	{ "msgget", { 68, 186 }, REFUSE },
	{ "semget", { 64, 190 }, REFUSE },
	{ "mq_open", { 240, 180 }, REFUSE },
	{ "setuid", { 105, 146 }, REFUSE },
	{ "setgroups", { 116, 159 }, REFUSE },
	{ "capset", { 126, 91 }, REFUSE },
	{ "prctl", { 157, 167 }, REFUSE },
	{ "seccomp", { 317, 277 }, REFUSE },
	{ "personality", { 135, 92 }, REFUSE },
	{ "syslog", { 103, 116 }, REFUSE },
	{ "fanotify_init", { 300, 262 }, REFUSE },
	{ "inotify_init1", { 294, 26 }, REFUSE },
	{ "quotactl", { 179, 60 }, REFUSE },
	{ "clock_settime", { 227, 112 }, REFUSE },
	{ "clock_adjtime", { 305, 266 }, REFUSE },
	{ "sethostname", { 170, 161 }, REFUSE },
	{ "process_madvise", { 440, 440 }, UNKNOWN },
	{ "signalfd4", { 289, 74 }, REFUSE },

	{ "execve", { 59, 221 }, KILL },
	{ "execveat", { 322, 281 }, KILL },
	{ "ptrace", { 101, 117 }, KILL },
	{ "process_vm_readv", { 310, 270 }, KILL },
	{ "process_vm_writev", { 311, 271 }, KILL },
	{ "pidfd_getfd", { 438, 438 }, KILL },
	{ "mount", { 165, 40 }, KILL },
	{ "move_mount", { 429, 429 }, KILL },
	{ "chroot", { 161, 51 }, KILL },
	{ "unshare", { 272, 97 }, KILL },
	{ "finit_module", { 313, 273 }, KILL },
	{ "kexec_load", { 246, 104 }, KILL },
	{ "reboot", { 169, 142 }, KILL },
	{ "bpf", { 321, 280 }, KILL },
	{ "userfaultfd", { 323, 282 }, KILL },
	{ "io_uring_setup", { 425, 425 }, KILL },
	{ "open_by_handle_at", { 304, 265 }, KILL },
	{ "keyctl", { 250, 219 }, KILL },
	{ "iopl", { 172, -1 }, KILL },
};

static void numbers(void **state)
{
	(void)state;
	for (int arch = 0; arch < CONFINE_ARCHES; arch++)
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
			const struct numbers *t = &table[i];
			uint32_t got;

			if (t->nr[arch] < 0)
				continue;
			got = call((enum confine_arch)arch, 0, t->nr[arch], 0, 0, 0);
			if (got != t->answer)
				fail_msg("%s of architecture %d: %#x", t->name, arch, got);
		}
}

/* Of all numbers that there are as many are let through as are said to be. */
static void no_other(void **state)
{
	(void)state;
	for (int arch = 0; arch < CONFINE_ARCHES; arch++) {
		size_t n = 0;

		for (int nr = 0; nr < 1024; nr++)
			n += call((enum confine_arch)arch, 0, nr, 0, 0, 0) == ALLOW;
		/* fcntl(fd, 0) copies a descriptor without O_CLOEXEC, which nobody does. */
		assert_int_equal(n + 1, confine_allowed((enum confine_arch)arch, 0));
		assert_in_range(n, 30, 51);
	}
}

static void other_architectures(void **state)
{
	struct seccomp_data d = { .nr = 0, .arch = AUDIT_ARCH_I386 };

	(void)state;
	assert_int_equal(asked(CONFINE_X86_64, 0, d), KILL);
	assert_int_equal(asked(CONFINE_AARCH64, 0, d), KILL);
	d.arch = AUDIT_ARCH_AARCH64;
	assert_int_equal(asked(CONFINE_X86_64, 0, d), KILL);
	d.arch = AUDIT_ARCH_ARM;
	assert_int_equal(asked(CONFINE_AARCH64, 0, d), KILL);
	/* x32's read and execve */
	assert_int_equal(call(CONFINE_X86_64, 0, 0x40000000, 0, 0, 0), KILL);
	assert_int_equal(call(CONFINE_X86_64, 0, 0x40000000 + 520, 0, 0, 0), KILL);
	assert_int_equal(call(CONFINE_X86_64, 0, -1, 0, 0, 0), KILL);
}

/* O_DIRECTORY, O_NOFOLLOW, O_LARGEFILE and O_DIRECT, which the two have in other places. */
static void opening(void **state)
{
	static const struct {
		int nr;
		uint64_t directory, nofollow, largefile, direct;
	} of[CONFINE_ARCHES] = { { 257, 0200000, 0400000, 0100000, 040000 },
				 { 56, 040000, 0100000, 0400000, 0200000 } };
	static const uint64_t writing[] = { O_WRONLY,  O_RDWR,	 3,	    O_CREAT, O_TRUNC,
					    O_APPEND,  O_EXCL,	 020000000, O_SYNC,  O_ASYNC,
					    040000000, 01 << 30, 1u << 31u };

	(void)state;
	for (int i = 0; i < CONFINE_ARCHES; i++) {
		enum confine_arch arch = (enum confine_arch)i;
		uint64_t good = of[i].directory | of[i].nofollow | of[i].largefile | O_CLOEXEC |
				O_NONBLOCK | O_NOCTTY;

		assert_int_equal(call(arch, 0, of[i].nr, 0, 0, good), ALLOW);
		assert_int_equal(call(arch, 0, of[i].nr, 0, 0, good | 010000000), ALLOW);
		/* The kernel takes an int: what is above does not count. */
		assert_int_equal(call(arch, 0, of[i].nr, 0, 0, 1ull << 40), ALLOW);
		assert_int_equal(call(arch, 0, of[i].nr, 0, 0, of[i].direct), REFUSE);
		for (size_t k = 0; k < sizeof(writing) / sizeof(writing[0]); k++) {
			assert_int_equal(call(arch, 0, of[i].nr, 0, 0, writing[k]), REFUSE);
			assert_int_equal(call(arch, 0, of[i].nr, 0, 0, good | writing[k]), REFUSE);
		}
	}
	assert_int_equal(call(CONFINE_X86_64, CONFINE_OPENAT2, 437, 0, 0, 0), ALLOW);
	assert_int_equal(call(CONFINE_AARCH64, CONFINE_OPENAT2, 437, 0, 0, 0), ALLOW);
}

static void arguments(void **state)
{
	enum { TIOCGWINSZ_NR = 0x5413, TIOCSTI_NR = 0x5412, TIOCLINUX_NR = 0x541c };
	static const struct {
		int mmap, mprotect, fcntl, prlimit64, clone, ioctl;
	} nr[CONFINE_ARCHES] = { { 9, 10, 72, 302, 56, 16 }, { 222, 226, 25, 261, 220, 29 } };
	const uint64_t thread = 0x3d0f00; /* what the C library asks for */

	(void)state;
	for (int i = 0; i < CONFINE_ARCHES; i++) {
		enum confine_arch arch = (enum confine_arch)i;

		assert_int_equal(call(arch, 0, nr[i].mmap, 0, 0, 3), ALLOW);
		assert_int_equal(call(arch, 0, nr[i].mmap, 0, 0, 5), REFUSE);
		assert_int_equal(call(arch, 0, nr[i].mprotect, 0, 0, 7), REFUSE);
		assert_int_equal(call(arch, CONFINE_CODE, nr[i].mmap, 0, 0, 5), ALLOW);
		assert_int_equal(call(arch, 0, nr[i].fcntl, 0, F_GETFL, 0), ALLOW);
		assert_int_equal(call(arch, 0, nr[i].fcntl, 0, F_DUPFD_CLOEXEC, 0), ALLOW);
		/* What is unpacked grows in memory up to a bound. */
		assert_int_equal(call(arch, 0, nr[i].fcntl, 0, F_ADD_SEALS, 0), ALLOW);
		assert_int_equal(call(arch, 0, nr[i].fcntl, 0, F_SETLKW, 0), REFUSE);
		assert_int_equal(call(arch, 0, nr[i].fcntl, 0, F_SETOWN, 0), REFUSE);
		assert_int_equal(call(arch, 0, nr[i].prlimit64, 0, 7, 0), ALLOW);
		assert_int_equal(call(arch, 0, nr[i].prlimit64, 1, 7, 0), REFUSE);
		assert_int_equal(call(arch, 0, nr[i].prlimit64, 0, 7, 8), REFUSE);
		assert_int_equal(call(arch, 0, nr[i].prlimit64, 0, 7, 1ull << 32), REFUSE);
		assert_int_equal(call(arch, 0, nr[i].clone, thread, 0, 0), REFUSE);
		assert_int_equal(call(arch, CONFINE_THREADS, nr[i].clone, thread, 0, 0), ALLOW);
		assert_int_equal(call(arch, CONFINE_THREADS, nr[i].clone, 17, 0, 0), REFUSE);
		assert_int_equal(
			call(arch, CONFINE_THREADS, nr[i].clone, CLONE_VM | CLONE_VFORK, 0, 0),
			REFUSE);
		assert_int_equal(
			call(arch, CONFINE_THREADS, nr[i].clone, thread | CLONE_NEWUSER, 0, 0),
			REFUSE);
		assert_int_equal(call(arch, 0, nr[i].ioctl, 0, TIOCGWINSZ_NR, 0), REFUSE);
		assert_int_equal(call(arch, CONFINE_SCREEN, nr[i].ioctl, 0, TIOCGWINSZ_NR, 0),
				 ALLOW);
		assert_int_equal(call(arch, CONFINE_SCREEN, nr[i].ioctl, 0, TIOCSTI_NR, 0), REFUSE);
		assert_int_equal(
			call(arch, CONFINE_SCREEN, nr[i].ioctl, 0, TIOCSTI_NR | 1ull << 32, 0),
			REFUSE);
		assert_int_equal(call(arch, CONFINE_SCREEN, nr[i].ioctl, 0, TIOCLINUX_NR, 0),
				 REFUSE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),   cmocka_unit_test(no_other),
		cmocka_unit_test(opening),   cmocka_unit_test(other_architectures),
		cmocka_unit_test(arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
