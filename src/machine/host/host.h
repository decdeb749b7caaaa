/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host interface: the only code that reads the machine, and (machine/write/write.h) writes it.
 * A probe cannot tell a live machine from a captured one. Backends: live (live.c), live through
 * another process (asked.c), a captured folder or tar (captured.c), a recorder that stores every
 * answer (record.c); tests have one that fails on purpose (tests/kit/fault.c).
with time left)
 *
 * Every call returns 0 or a negative errno. The values that matter to a probe:
 *   -ENOENT, -ENOTDIR   the machine does not have it
 *   -EACCES, -EPERM     this user may not see it
 *   -EOPNOTSUPP, -ENOSYS, -EINVAL   the kernel, driver or library answers "not supported"
 *   HOST_NOT_CAPTURED   a captured machine that never asked this; nothing is known
 *   -EFBIG              larger than the caller's bound
 * Paths are absolute on the machine ("/proc/meminfo"), whatever folder a capture lies in.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define HOST_NOT_CAPTURED (-ENOMEDIUM)

/* The largest file a probe ever reads unless it says otherwise. sysfs and procfs texts are far
 * below. */
enum { HOST_READ_MAX = 1 << 20, HOST_PATH_MAX = 4096, HOST_LIST_MAX = 1 << 17 };

/* What cannot be read from a file. On a captured machine it comes from meta.json. */
struct host_identity {
	const char *nodename;
	const char *release; /* uname -r */
	const char *version; /* uname -v */
	const char *machine; /* uname -m: "x86_64", "aarch64" */
	long long euid;	     /* of the process that reads, or that captured */
	long long page_size; /* bytes */
	long long time_s;    /* seconds since 1970, UTC */
	bool captured;
	bool partial;	    /* of what somebody posted: what it lacks says nothing of the machine */
	const char *source; /* "live", or the capture's path as the user gave it */
	const char *reading; /* of commands that read it: " --host PATH"; NULL: none */
	const char *options; /* of commands that change it; NULL: none */
};

enum host_kind { HOST_FILE, HOST_DIR, HOST_LINK, HOST_OTHER };

/* What is known of a name besides; a captured machine's files are its own user's, with one name. */
struct host_stat {
	enum host_kind kind;
	unsigned mode; /* permission bits */
	long long uid;
	unsigned long links;
	long long size; /* bytes; below 0: not known */
};

/* What a library, ioctl or command answered. Integers stay exact; text is owned by the host. */
struct answer {
	enum { ANSWER_INT, ANSWER_TEXT } kind;
	long long i;
	const char *text;
};

struct host;

struct host_ops {
	/* Reads at most cap bytes; *len gets the file's length, which may exceed cap (up to cap +
	 * 1). */
	int (*read)(struct host *h, const char *path, char *buf, size_t cap, size_t *len);
	int (*link)(struct host *h, const char *path, char *buf, size_t cap);
	/* Unsorted names in arena memory. */
	int (*list)(struct host *h, const char *path, struct arena *a, char ***names, size_t *n);
	int (*kind)(struct host *h, const char *path, enum host_kind *out);
	int (*ask)(struct host *h, const char *api, const char *object, const char *field,
		   struct answer *out);
	void (*close)(struct host *h);
	const struct host_writes *writes; /* NULL: it takes none */
	/* As host_stat. NULL: not known. */
	int (*stat)(struct host *h, const char *path, struct host_stat *out);
};

/* The writing half, as machine/write/write.h describes it. offset < 0: the whole file. */
struct host_writes {
	int (*write)(struct host *h, const char *path, long long offset, const void *data,
		     size_t len);
	int (*tell)(struct host *h, const char *api, const char *object, const char *field,
		    const struct answer *value);
	int (*put)(struct host *h, const char *path, const void *data, size_t len, unsigned mode);
	int (*append)(struct host *h, const char *path, const void *data, size_t len);
	/* HOST_DIR (mode; target not NULL: one of this user's alone that is there becomes readable
	 * by all) or HOST_LINK (target) */
	int (*make)(struct host *h, enum host_kind kind, const char *path, const char *target,
		    unsigned mode);
	int (*remove)(struct host *h, const char *path);
	int (*lock)(struct host *h, const char *path);
};

/* Implementations embed this as their first member. */
struct host {
	const struct host_ops *ops;
	struct host_identity id;
	struct arena arena; /* identity texts and answers */
	const char *lost;   /* what the last put that said HOST_NOT_KEPT could not keep */
};

/* --- opening ---------------------------------------------------------------------------------- */

/* This machine. Never fails; a library that is missing is found out when it is asked. */
struct host *host_open_live(void);
/* A captured machine: a folder with meta.json, root/ and api/, or a tar of one. -errno and *e. */
struct host *host_open_capture(const char *path, struct err *e);
/* The same without a log, an archive of sosreport or pasted output in its place (posted.h). */
struct host *host_open_packed(const char *path, struct err *e);
enum { HOST_DEMO_MAX = HOST_PATH_MAX + 64 };
/* The file of demo:NAME, in room; any other path is itself. NULL: there is none; a sentence. */
const char *host_demo_file(const char *path, char room[static HOST_DEMO_MAX], struct err *e);
/* The captured machines, and clusters of them, that come with the program: demo:NAME. */
size_t host_demos(struct arena *a, char ***names);
/* The i-th folder of them: beside the program, below share/ where it is installed. NULL: no more.
 */
const char *host_demo_folder(size_t i, char out[static HOST_PATH_MAX]);
/* "hgx-h100" of demo:hgx-h100. */
bool host_is_demo(const char *name);
/* What the machine is, in a line. */
const char *host_demo_about(const char *name);
void host_close(struct host *h);
#define HOST_AUTO __attribute__((cleanup(host_close_ptr))) struct host
void host_close_ptr(struct host **h);

/* --- asking ----------------------------------------------------------------------------------- */

/*
 * The whole file, NUL-terminated, in arena memory; *len (may be NULL) gets its length. max bounds
 * it: -EFBIG when the file is larger. Binary files are returned as they are.
 */
int host_read(struct host *h, const char *path, size_t max, struct arena *a, char **out,
	      size_t *len);
/* Into the caller's buffer, NUL-terminated, trailing newline cut: for the one-line files of sysfs.
 */
int host_read_line(struct host *h, const char *path, char *buf, size_t cap);
/* A link's target as stored, NUL-terminated. -EINVAL when it is not a link. */
int host_link(struct host *h, const char *path, char *buf, size_t cap);
/* The link's target as an absolute path on the machine ("/sys/devices/..."), by text alone. */
int host_link_path(struct host *h, const char *path, char *buf, size_t cap);
/* Names in a directory without "." and "..", in natural order ("cpu2" before "cpu10"). */
int host_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n);
/* Does not follow a link in the last component. */
int host_kind(struct host *h, const char *path, enum host_kind *out);
/* Links are not followed in the last component. HOST_NOT_CAPTURED: a capture does not have it. */
int host_stat(struct host *h, const char *path, struct host_stat *out);
/* The permission bits alone. */
int host_mode(struct host *h, const char *path, unsigned *out);
/* True for anything that is there, links followed in all but the last component. */
bool host_exists(struct host *h, const char *path);

/*
 * Asks a library, an ioctl or a command. api names the provider ("nvml", "cuda", "ethtool",
 * "statfs", "zpool", "boost-slider", "env", "if"), object the thing asked about ("0" for GPU 0,
 * "eth0", "/"), field the question, in the provider's own words ("nvmlDeviceGetClockInfo(SM)").
 * The lists of questions stand in the providers.
 */
int host_ask(struct host *h, const char *api, const char *object, const char *field,
	     struct answer *out);
int host_ask_int(struct host *h, const char *api, const char *object, const char *field,
		 long long *out);

/* Lexically joins dir and a relative or absolute target, resolving "." and "..": "/sys/a" + "../b"
 * is
 * "/sys/b"; ".." at the root stays at the root. -ENAMETOOLONG when it does not fit. */
int path_join(const char *dir, const char *target, char *buf, size_t cap);

/* Files that several folders hold together, by the rule of systemd's .d folders. */

/* Where systemd's own programs look for them, the first rank first. */
#define MERGED_FOLDERS(name)                                                                       \
	{                                                                                          \
		"/etc/systemd/" name, "/run/systemd/" name, "/usr/local/lib/systemd/" name,        \
			"/usr/lib/systemd/" name                                                   \
	}
enum { MERGED_N = 4, MERGED_FILES_MAX = 1024 /* of one set of folders */ };

/*
 * The paths of the files whose names end in suffix: a name in an earlier folder hides the same name
 * in later ones, and files stand in the order of their names, whatever their folder. A link to
 * /dev/null hides a name and is not in the list. In arena memory, *n of them.
 * why (may be NULL) gets for each folder why it could not be listed: 0 or -errno.
 */
char **host_merged(struct host *h, struct arena *a, const char *const *folders, size_t n_folders,
		   const char *suffix, int *why, size_t *n);

#endif
