/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp, Landlock and capabilities, by their system calls: what a parser that went wrong could
 * not do. */
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/host/confine.h"

#if defined(__x86_64__)
#define ARCH CONFINE_X86_64
#elif defined(__aarch64__)
#define ARCH CONFINE_AARCH64
#else
#define ARCH CONFINE_ARCHES
#endif

/* The leak checker looks at its process from another one, by ptrace. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WATCHED CONFINE_WATCHED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WATCHED CONFINE_WATCHED
#endif
#endif
/* What was covered is written at the end. */
#ifdef COUNTS_COVERAGE
#define COVERAGE true
#undef WATCHED
#define WATCHED CONFINE_WATCHED
#else
#define COVERAGE false
#endif
#ifndef WATCHED
#define WATCHED 0
#endif

enum { NOBODY = 65534, TRUNCATE_SINCE = 3 };

static bool confine_calls(unsigned needs)
{
	struct sock_filter f[CONFINE_PROGRAM_MAX];
	struct sock_fprog program = { .filter = f };

	if (ARCH == CONFINE_ARCHES)
		return false;
	program.len = confine_program(ARCH, needs, f);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* Every way of writing is handled and none allowed: a rule set without rules. Landlock's version; 0
 * where it does not stand. */
static long confine_files(void)
{
	/* LANDLOCK_ACCESS_FS_REFER and _TRUNCATE, which older headers do not name. */
	enum { REFER = 1 << 13, TRUNCATE = 1 << 14 };
	struct landlock_ruleset_attr all = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
				     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
				     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
				     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
	};
	long version =
		     syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION),
	     fd;
	bool stands;

	if (version < 1)
		return 0;
	if (version >= 2)
		all.handled_access_fs |= REFER;
	if (version >= TRUNCATE_SINCE)
		all.handled_access_fs |= TRUNCATE;
	fd = syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (fd < 0)
		return 0;
	stands = syscall(SYS_landlock_restrict_self, (int)fd, 0) == 0;
	close((int)fd);
	return stands ? version : 0;
}

unsigned confine(unsigned needs)
{
	unsigned stand = 0;
	long files;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 0;
	files = COVERAGE ? 0 : confine_files();
	if (files)
		stand |= CONFINED_FILES;
	if (COVERAGE || files >= TRUNCATE_SINCE)
		needs |= CONFINE_OPENAT2;
	if (confine_calls(needs | WATCHED))
		stand |= CONFINED_CALLS;
	return stand;
}

/* Of all capabilities these few; version 3 has two words of each set. */
static bool keep_capabilities(unsigned keep)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = keep, .permitted = keep } };

	return syscall(SYS_capset, &head, data) == 0;
}

unsigned confine_rights(void)
{
	bool root, gone = true;

	setsid();
	if (COVERAGE)
		return 0;
	root = geteuid() == 0;
	if (root) {
		/* A change of user takes no capability away, and access() looks with those that are
		 * left. Before SETPCAP goes. */
		prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
		prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
		for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		gone = setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		       setresuid(NOBODY, NOBODY, NOBODY) == 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Containers often have the second alone, and what it allows besides is refused by calls.
	 */
	gone = ((root && (keep_capabilities(1u << CAP_DAC_READ_SEARCH) ||
			  keep_capabilities(1u << CAP_DAC_OVERRIDE))) ||
		keep_capabilities(0)) &&
	       gone;
	if (WATCHED)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return gone ? CONFINED_RIGHTS : 0;
}

/*
 * A list of what may be called, for both architectures at once, and the filter made of it. Numbers
 * are written out so that either one's filter can be made, and tested, on the other; those of this
 * machine's headers are compared with them when it is compiled.
 */

enum {
	NONE = -1, /* that architecture has no such call */
	X32 = 0x40000000,
	NEWER = 424, /* from here on, since Linux 5.1, both have the same numbers */
};

/* What is asked of a call before it is let through. */
enum rule {
	ALWAYS,
	READS,		/* openat: flags that neither write nor make */
	NO_CODE,	/* mmap, mprotect: nothing that can be executed, but with CONFINE_CODE */
	OWN_FLAGS,	/* fcntl: a descriptor's own flags; no locks, no signals */
	ASKS,		/* prlimit64: this process's limits, and to set none */
	THREADS,	/* clone: a thread of this process, with CONFINE_THREADS */
	TERMINAL,	/* ioctl: size and mode of a terminal, with CONFINE_SCREEN */
	SCREEN,		/* with CONFINE_SCREEN */
	THREADED,	/* with CONFINE_THREADS */
	OPENAT2,	/* with CONFINE_OPENAT2 */
	FILTER_WATCHED, /* with CONFINE_WATCHED */
	NEVER,		/* no reader can mean it */
};

/* name, number of x86-64, of aarch64, rule; what is called most stands first. */
#define CALLS(X)                                                                                   \
	X(read, 0, 63, ALWAYS)                                                                     \
	X(close, 3, 57, ALWAYS)                                                                    \
	X(fstat, 5, 80, ALWAYS)                                                                    \
	X(newfstatat, 262, 79, ALWAYS)                                                             \
	X(readlinkat, 267, 78, ALWAYS)                                                             \
	X(getdents64, 217, 61, ALWAYS)                                                             \
	X(pread64, 17, 67, ALWAYS)                                                                 \
	X(lseek, 8, 62, ALWAYS)                                                                    \
	X(write, 1, 64, ALWAYS)                                                                    \
	X(writev, 20, 66, ALWAYS)                                                                  \
	X(readv, 19, 65, ALWAYS)                                                                   \
	X(brk, 12, 214, ALWAYS)                                                                    \
	X(munmap, 11, 215, ALWAYS)                                                                 \
	X(mremap, 25, 216, ALWAYS)                                                                 \
	X(madvise, 28, 233, ALWAYS)                                                                \
	X(futex, 202, 98, ALWAYS)                                                                  \
	X(rt_sigaction, 13, 134, ALWAYS)                                                           \
	X(rt_sigprocmask, 14, 135, ALWAYS)                                                         \
	X(rt_sigreturn, 15, 139, ALWAYS)                                                           \
	X(restart_syscall, 219, 128, ALWAYS)                                                       \
	X(faccessat, 269, 48, ALWAYS)                                                              \
	X(faccessat2, 439, 439, ALWAYS)                                                            \
	X(statx, 332, 291, ALWAYS)                                                                 \
	X(fstatfs, 138, 44, ALWAYS)                                                                \
	X(fadvise64, 221, 223, ALWAYS)                                                             \
	X(ftruncate, 77, 46, ALWAYS)                                                               \
	X(memfd_create, 319, 279, ALWAYS)                                                          \
	X(getcwd, 79, 17, ALWAYS)                                                                  \
	X(getpid, 39, 172, ALWAYS)                                                                 \
	X(gettid, 186, 178, ALWAYS)                                                                \
	X(getuid, 102, 174, ALWAYS)                                                                \
	X(geteuid, 107, 175, ALWAYS)                                                               \
	X(uname, 63, 160, ALWAYS)                                                                  \
	X(sysinfo, 99, 179, ALWAYS)                                                                \
	X(getrandom, 318, 278, ALWAYS)                                                             \
	X(clock_gettime, 228, 113, ALWAYS)                                                         \
	X(gettimeofday, 96, 169, ALWAYS)                                                           \
	X(clock_nanosleep, 230, 115, ALWAYS)                                                       \
	X(getrusage, 98, 165, ALWAYS)                                                              \
	X(sched_getaffinity, 204, 123, ALWAYS)                                                     \
	X(sched_yield, 24, 124, ALWAYS)                                                            \
	X(exit, 60, 93, ALWAYS)                                                                    \
	X(exit_group, 231, 94, ALWAYS)                                                             \
	X(openat, 257, 56, READS)                                                                  \
	X(mmap, 9, 222, NO_CODE)                                                                   \
	X(mprotect, 10, 226, NO_CODE)                                                              \
	X(fcntl, 72, 25, OWN_FLAGS)                                                                \
	X(prlimit64, 302, 261, ASKS)                                                               \
	X(clone, 56, 220, THREADS)                                                                 \
	X(set_robust_list, 273, 99, THREADED)                                                      \
	X(rseq, 334, 293, THREADED)                                                                \
	X(ioctl, 16, 29, TERMINAL)                                                                 \
	X(ppoll, 271, 73, SCREEN)                                                                  \
	X(signalfd4, 289, 74, SCREEN)                                                              \
	X(openat2, 437, 437, OPENAT2)                                                              \
	X(ptrace, 101, 117, FILTER_WATCHED)                                                        \
	X(prctl, 157, 167, FILTER_WATCHED)                                                         \
	X(wait4, 61, 260, FILTER_WATCHED)                                                          \
	X(getppid, 110, 173, FILTER_WATCHED)                                                       \
	X(sigaltstack, 131, 132, FILTER_WATCHED)                                                   \
	X(mkdirat, 258, 34, FILTER_WATCHED)                                                        \
	X(execve, 59, 221, NEVER)                                                                  \
	X(execveat, 322, 281, NEVER)                                                               \
	X(ptrace, 101, 117, NEVER)                                                                 \
	X(process_vm_readv, 310, 270, NEVER)                                                       \
	X(process_vm_writev, 311, 271, NEVER)                                                      \
	X(pidfd_getfd, 438, 438, NEVER)                                                            \
	X(mount, 165, 40, NEVER)                                                                   \
	X(umount2, 166, 39, NEVER)                                                                 \
	X(open_tree, 428, 428, NEVER)                                                              \
	X(move_mount, 429, 429, NEVER)                                                             \
	X(fsopen, 430, 430, NEVER)                                                                 \
	X(fsconfig, 431, 431, NEVER)                                                               \
	X(fsmount, 432, 432, NEVER)                                                                \
	X(fspick, 433, 433, NEVER)                                                                 \
	X(pivot_root, 155, 41, NEVER)                                                              \
	X(chroot, 161, 51, NEVER)                                                                  \
	X(setns, 308, 268, NEVER)                                                                  \
	X(unshare, 272, 97, NEVER)                                                                 \
	X(init_module, 175, 105, NEVER)                                                            \
	X(finit_module, 313, 273, NEVER)                                                           \
	X(delete_module, 176, 106, NEVER)                                                          \
	X(kexec_load, 246, 104, NEVER)                                                             \
	X(kexec_file_load, 320, 294, NEVER)                                                        \
	X(reboot, 169, 142, NEVER)                                                                 \
	X(bpf, 321, 280, NEVER)                                                                    \
	X(perf_event_open, 298, 241, NEVER)                                                        \
	X(userfaultfd, 323, 282, NEVER)                                                            \
	X(open_by_handle_at, 304, 265, NEVER)                                                      \
	X(keyctl, 250, 219, NEVER)                                                                 \
	X(io_uring_setup, 425, 425, NEVER)
/* What aarch64 never had. stat and lstat: a program built with glibc before 2.33. */
#define ONLY_X86(X)                                                                                \
	X(readlink, 89, NONE, ALWAYS)                                                              \
	X(access, 21, NONE, ALWAYS)                                                                \
	X(poll, 7, NONE, SCREEN)                                                                   \
	X(open, 2, NONE, FILTER_WATCHED)                                                           \
	X(stat, 4, NONE, ALWAYS)                                                                   \
	X(lstat, 6, NONE, ALWAYS)                                                                  \
	X(getdents, 78, NONE, FILTER_WATCHED)                                                      \
	X(mkdir, 83, NONE, FILTER_WATCHED)                                                         \
	X(iopl, 172, NONE, NEVER)                                                                  \
	X(ioperm, 173, NONE, NEVER)

#if defined(__x86_64__)
#define SAME(name, x86, arm, rule) _Static_assert(SYS_##name == (x86), #name);
CALLS(SAME)
ONLY_X86(SAME)
#elif defined(__aarch64__)
#define SAME(name, x86, arm, rule) _Static_assert(SYS_##name == (arm), #name);
CALLS(SAME)
#endif

static const struct call {
	short nr[CONFINE_ARCHES];
	enum rule rule;
} calls[] = {
#define ROW(name, x86, arm, rule) { { x86, arm }, rule },
	CALLS(ROW) ONLY_X86(ROW)
};
enum { N_CALLS = sizeof(calls) / sizeof(calls[0]) };

/* Of openat: what changes nothing. O_DIRECTORY, O_NOFOLLOW and O_LARGEFILE differ. */
static const uint32_t reads[CONFINE_ARCHES] = {
	[CONFINE_X86_64] = 0200000 | 0400000 | 0100000 | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
	[CONFINE_AARCH64] = 040000 | 0100000 | 0400000 | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
};
static const uint32_t audit[CONFINE_ARCHES] = {
	[CONFINE_X86_64] = AUDIT_ARCH_X86_64,
	[CONFINE_AARCH64] = AUDIT_ARCH_AARCH64,
};
enum { O_PATH_FLAG = 010000000 };

struct writing {
	struct sock_filter *f;
	unsigned short n;
};

static void put(struct writing *w, unsigned code, uint32_t k)
{
	w->f[w->n++] = (struct sock_filter)BPF_STMT((unsigned short)code, k);
}

/* Over skip instructions unless what is loaded compares with k. */
static void unless(struct writing *w, unsigned how, uint32_t k, unsigned skip)
{
	w->f[w->n++] = (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | how | BPF_K), k, 0,
						    (uint8_t)skip);
}

static void answer(struct writing *w, uint32_t what)
{
	put(w, BPF_RET | BPF_K, what);
}

static void load(struct writing *w, size_t at)
{
	put(w, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at);
}

/* The low half of an argument: all that the kernel takes of an int; both are little-endian. */
static void load_arg(struct writing *w, unsigned i)
{
	load(w, offsetof(struct seccomp_data, args) + 8 * (size_t)i);
}

static void put_equal(struct writing *w, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unless(w, BPF_JEQ, words[i], 1);
		answer(w, SECCOMP_RET_ALLOW);
	}
}

/* Allowed when none of these bits is set. */
static void put_without(struct writing *w, uint32_t bits)
{
	put(w, BPF_ALU | BPF_AND | BPF_K, bits);
	put_equal(w, &(uint32_t){ 0 }, 1);
}

/* A thread shares everything with its process, and has no namespace of its own. */
static void put_thread(struct writing *w)
{
	const uint32_t shared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	const uint32_t other = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
			       CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE |
			       CLONE_VFORK | CLONE_UNTRACED | CLONE_IO;

	load_arg(w, 0);
	put(w, BPF_ALU | BPF_AND | BPF_K, shared | other);
	put_equal(w, &shared, 1);
}

static void put_asks(struct writing *w)
{
	load_arg(w, 0);
	unless(w, BPF_JEQ, 0, 5);
	load_arg(w, 2);
	unless(w, BPF_JEQ, 0, 3);
	load(w, offsetof(struct seccomp_data, args) + 8 * 2 + 4);
	put_equal(w, &(uint32_t){ 0 }, 1);
}

/* What is allowed of one call; falls through where it is not. */
static void put_rule(struct writing *w, enum confine_arch arch, enum rule rule)
{
	static const uint32_t own_flags[] = { F_GETFD, F_SETFD,		F_GETFL,
					      F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS };
	static const uint32_t terminal[] = { TCGETS, TCSETS, TIOCGWINSZ };

	switch (rule) {
	case READS:
		load_arg(w, 2);
		put_without(w, ~(reads[arch] | O_PATH_FLAG));
		break;
	case NO_CODE:
		load_arg(w, 2);
		put_without(w, PROT_EXEC);
		break;
	case OWN_FLAGS:
		load_arg(w, 1);
		put_equal(w, own_flags, sizeof(own_flags) / sizeof(own_flags[0]));
		break;
	case ASKS:
		put_asks(w);
		break;
	case THREADS:
		put_thread(w);
		break;
	case TERMINAL:
		load_arg(w, 1);
		put_equal(w, terminal, sizeof(terminal) / sizeof(terminal[0]));
		break;
	default:
		break;
	}
	answer(w, SECCOMP_RET_ERRNO | EPERM);
}

enum treat { FREE, ASKED, UNLISTED, FATAL };

static enum treat treat(enum rule rule, unsigned needs)
{
	/* Which needs lift a rule, and which set a call on the list at all. */
	static const struct {
		unsigned lift, list;
	} by[] = {
		[READS] = { CONFINE_WATCHED, ~0u },
		[OWN_FLAGS] = { CONFINE_WATCHED, ~0u },
		[NO_CODE] = { CONFINE_WATCHED | CONFINE_CODE, ~0u },
		[ASKS] = { 0, ~0u },
		[THREADS] = { CONFINE_WATCHED, CONFINE_THREADS },
		[TERMINAL] = { 0, CONFINE_SCREEN },
		[SCREEN] = { CONFINE_SCREEN, 0 },
		[THREADED] = { CONFINE_THREADS | CONFINE_WATCHED, 0 },
		[OPENAT2] = { CONFINE_OPENAT2, 0 },
		[FILTER_WATCHED] = { CONFINE_WATCHED, 0 },
	};

	if (rule == ALWAYS || rule == NEVER)
		return rule == ALWAYS ? FREE : FATAL;
	if (needs & by[rule].lift)
		return FREE;
	return by[rule].list == ~0u || needs & by[rule].list ? ASKED : UNLISTED;
}

/* Those of one treatment: the same answer for each, behind the last. */
static void put_list(struct writing *w, enum confine_arch arch, unsigned needs, enum treat which,
		     uint32_t what)
{
	unsigned short from = w->n, end;

	for (size_t i = 0; i < N_CALLS; i++)
		if (calls[i].nr[arch] != NONE && treat(calls[i].rule, needs) == which)
			unless(w, BPF_JEQ, (uint32_t)calls[i].nr[arch], 0);
	end = w->n;
	for (unsigned short i = from; i < end; i++)
		w->f[i].jt = (uint8_t)(end - i);
	put(w, BPF_JMP | BPF_JA, 1);
	answer(w, what);
}

unsigned short confine_program(enum confine_arch arch, unsigned needs, struct sock_filter *out)
{
	struct writing w = { out, 0 };

	load(&w, offsetof(struct seccomp_data, arch));
	w.f[w.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, audit[arch], 1, 0);
	answer(&w, SECCOMP_RET_KILL_PROCESS);
	load(&w, offsetof(struct seccomp_data, nr));
	if (arch == CONFINE_X86_64) {
		unless(&w, BPF_JGE, X32, 1);
		answer(&w, SECCOMP_RET_KILL_PROCESS);
	}
	put_list(&w, arch, needs, FREE, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < N_CALLS; i++) {
		unsigned short at = w.n;

		if (calls[i].nr[arch] == NONE || treat(calls[i].rule, needs) != ASKED)
			continue;
		unless(&w, BPF_JEQ, (uint32_t)calls[i].nr[arch], 0);
		put_rule(&w, arch, calls[i].rule);
		w.f[at].jf = (uint8_t)(w.n - at - 1);
	}
	put_list(&w, arch, needs, FATAL, SECCOMP_RET_KILL_PROCESS);
	unless(&w, BPF_JGE, NEWER, 1);
	answer(&w, SECCOMP_RET_ERRNO | ENOSYS);
	answer(&w, SECCOMP_RET_ERRNO | EPERM);
	return w.n;
}

size_t confine_allowed(enum confine_arch arch, unsigned needs)
{
	size_t n = 0;

	for (size_t i = 0; i < N_CALLS; i++)
		n += calls[i].nr[arch] != NONE &&
		     (treat(calls[i].rule, needs) == FREE || treat(calls[i].rule, needs) == ASKED);
	return n;
}
