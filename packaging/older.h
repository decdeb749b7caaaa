/* SPDX-License-Identifier: Apache-2.0 */
/* What the C library of Debian 11 has no name for, though its system has it: included first in a
 * build there, with newer kernel headers. System calls by uapi/asm-generic/unistd.h of the kernel:
 * numbers from 424 on are the same on all architectures. Errors by uapi/asm-generic/errno.h. */
#ifndef PACKAGING_OLDER_H
#define PACKAGING_OLDER_H

#include <errno.h>
#include <spawn.h>
#include <sys/syscall.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_fsopen
#define SYS_fsopen 430
#endif
#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif
#ifndef SYS_fsmount
#define SYS_fsmount 432
#endif
#ifndef SYS_fspick
#define SYS_fspick 433
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

/* Since glibc 2.32: "ENOENT"; NULL: unknown. */
#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 32)
static inline const char *strerrorname_np(int number)
{
#define OLDER(name) [name] = #name
	static const char *const names[] = { "0",
					     OLDER(EPERM),
					     OLDER(ENOENT),
					     OLDER(ESRCH),
					     OLDER(EINTR),
					     OLDER(EIO),
					     OLDER(ENXIO),
					     OLDER(E2BIG),
					     OLDER(ENOEXEC),
					     OLDER(EBADF),
					     OLDER(ECHILD),
					     OLDER(EAGAIN),
					     OLDER(ENOMEM),
					     OLDER(EACCES),
					     OLDER(EFAULT),
					     OLDER(ENOTBLK),
					     OLDER(EBUSY),
					     OLDER(EEXIST),
					     OLDER(EXDEV),
					     OLDER(ENODEV),
					     OLDER(ENOTDIR),
					     OLDER(EISDIR),
					     OLDER(EINVAL),
					     OLDER(ENFILE),
					     OLDER(EMFILE),
					     OLDER(ENOTTY),
					     OLDER(ETXTBSY),
					     OLDER(EFBIG),
					     OLDER(ENOSPC),
					     OLDER(ESPIPE),
					     OLDER(EROFS),
					     OLDER(EMLINK),
					     OLDER(EPIPE),
					     OLDER(EDOM),
					     OLDER(ERANGE),
					     OLDER(EDEADLK),
					     OLDER(ENAMETOOLONG),
					     OLDER(ENOLCK),
					     OLDER(ENOSYS),
					     OLDER(ENOTEMPTY),
					     OLDER(ELOOP),
					     OLDER(ENOMSG),
					     OLDER(EIDRM),
					     OLDER(ECHRNG),
					     OLDER(EL2NSYNC),
					     OLDER(EL3HLT),
					     OLDER(EL3RST),
					     OLDER(ELNRNG),
					     OLDER(EUNATCH),
					     OLDER(ENOCSI),
					     OLDER(EL2HLT),
					     OLDER(EBADE),
					     OLDER(EBADR),
					     OLDER(EXFULL),
					     OLDER(ENOANO),
					     OLDER(EBADRQC),
					     OLDER(EBADSLT),
					     OLDER(EBFONT),
					     OLDER(ENOSTR),
					     OLDER(ENODATA),
					     OLDER(ETIME),
					     OLDER(ENOSR),
					     OLDER(ENONET),
					     OLDER(ENOPKG),
					     OLDER(EREMOTE),
					     OLDER(ENOLINK),
					     OLDER(EADV),
					     OLDER(ESRMNT),
					     OLDER(ECOMM),
					     OLDER(EPROTO),
					     OLDER(EMULTIHOP),
					     OLDER(EDOTDOT),
					     OLDER(EBADMSG),
					     OLDER(EOVERFLOW),
					     OLDER(ENOTUNIQ),
					     OLDER(EBADFD),
					     OLDER(EREMCHG),
					     OLDER(ELIBACC),
					     OLDER(ELIBBAD),
					     OLDER(ELIBSCN),
					     OLDER(ELIBMAX),
					     OLDER(ELIBEXEC),
					     OLDER(EILSEQ),
					     OLDER(ERESTART),
					     OLDER(ESTRPIPE),
					     OLDER(EUSERS),
					     OLDER(ENOTSOCK),
					     OLDER(EDESTADDRREQ),
					     OLDER(EMSGSIZE),
					     OLDER(EPROTOTYPE),
					     OLDER(ENOPROTOOPT),
					     OLDER(EPROTONOSUPPORT),
					     OLDER(ESOCKTNOSUPPORT),
					     OLDER(ENOTSUP),
					     OLDER(EPFNOSUPPORT),
					     OLDER(EAFNOSUPPORT),
					     OLDER(EADDRINUSE),
					     OLDER(EADDRNOTAVAIL),
					     OLDER(ENETDOWN),
					     OLDER(ENETUNREACH),
					     OLDER(ENETRESET),
					     OLDER(ECONNABORTED),
					     OLDER(ECONNRESET),
					     OLDER(ENOBUFS),
					     OLDER(EISCONN),
					     OLDER(ENOTCONN),
					     OLDER(ESHUTDOWN),
					     OLDER(ETOOMANYREFS),
					     OLDER(ETIMEDOUT),
					     OLDER(ECONNREFUSED),
					     OLDER(EHOSTDOWN),
					     OLDER(EHOSTUNREACH),
					     OLDER(EALREADY),
					     OLDER(EINPROGRESS),
					     OLDER(ESTALE),
					     OLDER(EUCLEAN),
					     OLDER(ENOTNAM),
					     OLDER(ENAVAIL),
					     OLDER(EISNAM),
					     OLDER(EREMOTEIO),
					     OLDER(EDQUOT),
					     OLDER(ENOMEDIUM),
					     OLDER(EMEDIUMTYPE),
					     OLDER(ECANCELED),
					     OLDER(ENOKEY),
					     OLDER(EKEYEXPIRED),
					     OLDER(EKEYREVOKED),
					     OLDER(EKEYREJECTED),
					     OLDER(EOWNERDEAD),
					     OLDER(ENOTRECOVERABLE),
					     OLDER(ERFKILL) };

	return number >= 0 && number < (int)(sizeof(names) / sizeof(*names)) ? names[number] : 0;
}
#undef OLDER
#endif

/* Since glibc 2.34. No more headers than these: sources have names of their own. */
#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 34)
enum { OLDER_FILES = 65536 };
long syscall(long number, ...);

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(436, first, last, flags);
}

static inline int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions,
							   int from)
{
	int r = 0;

	for (int fd = from; r == 0 && fd < OLDER_FILES; fd++)
		if (syscall(SYS_fcntl, fd, 1 /* F_GETFD */) >= 0)
			r = posix_spawn_file_actions_addclose(actions, fd);
	return r;
}
#endif

#endif
