/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp, Landlock and capabilities, by their system calls: what a parser that went wrong could
 * not do. */
#include "machine/host/confine.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	bool root = geteuid() == 0, gone = true;

	setsid();
	if (COVERAGE)
		return 0;
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
