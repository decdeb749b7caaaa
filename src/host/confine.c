/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp and Landlock, by their system calls: what a parser that went wrong could not do. */
#include "host/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

/* The leak checker stops its own threads by ptrace. */
#if defined(__SANITIZE_ADDRESS__)
#define LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAKS 1
#endif
#endif

/* Which older headers do not name; both architectures have the same. */
enum { FCHMODAT2 = 452, SETXATTRAT = 463, REMOVEXATTRAT = 466, OPEN_TREE_ATTR = 467 };

/* Numbers are those of the architecture that this is compiled for. */
static const unsigned refused[] = {
	SYS_execve,
	SYS_execveat,
	SYS_socket,
	SYS_connect,
	SYS_mount,
	SYS_umount2,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_open_tree,
	SYS_move_mount,
	SYS_mount_setattr,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_getfd,
	SYS_open_by_handle_at,
	SYS_userfaultfd,
	SYS_mknodat,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_sethostname,
	SYS_setdomainname,
#ifdef SYS_io_uring_setup
	SYS_io_uring_setup,
#endif
	/* What Landlock lets through: a file's mode, owner, attributes and length, by its name. */
	SYS_fchmod,
	SYS_fchmodat,
	SYS_fchown,
	SYS_fchownat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
	SYS_truncate,
	FCHMODAT2,
	SETXATTRAT,
	REMOVEXATTRAT,
	OPEN_TREE_ATTR,
#ifdef SYS_chmod
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_mknod,
#endif
#ifdef SYS_iopl
	SYS_iopl,
	SYS_ioperm,
#endif
#ifndef LEAKS
	SYS_ptrace,
#endif
};
enum { REFUSED = sizeof(refused) / sizeof(refused[0]), FIRST = 4, X32 = 0x40000000 };

/* if (arch != ARCH) kill; if (nr is x32's) refuse; if (nr is one of them) refuse; allow */
static bool confine_calls(void)
{
	struct sock_filter f[FIRST + 1 + REFUSED + 2];
	struct sock_fprog program = { .filter = f };
	unsigned short n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, arch));
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr));
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, REFUSED + 1, 0);
	for (unsigned i = 0; i < REFUSED; i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i],
						      (uint8_t)(REFUSED - i), 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* Every way of writing is handled and none allowed: a rule set without rules. */
static bool confine_files(void)
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
		return false;
	if (version >= 2)
		all.handled_access_fs |= REFER;
	if (version >= 3)
		all.handled_access_fs |= TRUNCATE;
	fd = syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (fd < 0)
		return false;
	stands = syscall(SYS_landlock_restrict_self, (int)fd, 0) == 0;
	close((int)fd);
	return stands;
}

unsigned confine(bool files)
{
	unsigned stand = 0;

	if (!ARCH || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 0;
#ifdef COUNTS_COVERAGE
	/* What was covered is written at the end. */
	files = false;
#endif
	if (files && confine_files())
		stand |= CONFINED_FILES;
	if (confine_calls())
		stand |= CONFINED_CALLS;
	return stand;
}
