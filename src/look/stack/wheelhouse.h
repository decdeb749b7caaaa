/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of wheels with a manifest: what each is, its SHA-256, the GPU code in it. The manifest
 * is replaced as a whole; a wheel stands in the folder only after it was checked there.
 */
#ifndef STACK_WHEELHOUSE_H
#define STACK_WHEELHOUSE_H

#include "base/shape.h"
#include "look/stack/scan.h"

/*
 * Wheels: what their name, metadata and record promise (PEP 427, 425, 491), whether that is what
 * is inside, and which machine they are for.
 */

enum { WHEEL_TAGS = 64 };

struct wheel {
	const char *file; /* its name, without folders */
	const char *name, *version;
	const char *build;		     /* "" or a build number */
	const char *python, *abi, *platform; /* as in the name: "cp312", "abi3", "linux_aarch64" */
	const char *requires_python;	     /* NULL: any */
	struct scan code;		     /* its GPU code */
	size_t members;
	const char *machine; /* of its libraries: "x86_64", "aarch64"; NULL: it has none */
};

/* Whom it is wanted for. */
struct wheel_target {
	const char *arch;   /* "aarch64" */
	const char *python; /* "3.12"; NULL: any */
};

/*
 * Reads and checks a whole wheel: its name against its metadata and tags, every member against its
 * check sum and against RECORD, its libraries against the platform it names. -EBADMSG (or another
 * -errno) and *e, which names what is wrong. file is shown and taken apart.
 */
int wheel_read(struct arena *a, struct input *in, const char *file, const struct scan_options *how,
	       struct wheel *out, struct err *e);
/* The name alone: name, version, build, python, abi, platform. */
int wheel_name(struct arena *a, const char *file, struct wheel *out, struct err *e);
/* -ENOEXEC and *e when it is for another architecture or Python. */
int wheel_fits(const struct wheel *w, const struct wheel_target *t, struct err *e);

/* RECORD: the list of a wheel's files with their SHA-256. */

#define WHEELHOUSE_MANIFEST "manifest.json"
#define WHEELHOUSE_SIGNATURE "manifest.json.sig"
#define WHEELHOUSE_OLDER "older"

struct house_wheel {
	const char *file, *sha256;
	uint64_t size;
	const char *name, *version, *build, *python, *abi, *platform, *requires_python;
	const char *gpu_code; /* "sm_90, sm_120"; "" */
	const char *added;    /* time */
};

struct house_problem {
	const char *file;
	const char *what; /* a sentence */
};
struct house_verdict {
	struct house_problem *items;
	size_t n;
	size_t checked;	    /* wheels that are what the manifest says */
	const char *signer; /* who signed it; NULL: not asked, or nobody */
};

struct wheelhouse {
	const char *dir;
	int fd;			   /* of the folder, locked when it is to be changed */
	const char *arch, *python; /* whom it is for; python NULL: any */
	const char *gpus;	   /* "sm_121": wheels with GPU code have to serve them; "" */
	struct house_wheel *wheels;
	size_t n;
	bool is_signed;	      /* there is a signature */
	const char *manifest; /* what was read: this, and not what lies there later, is verified */
	size_t manifest_len;
	bool verified; /* verdict holds */
	struct house_verdict verdict;
};

/* A new, empty one; the folder must not exist or be empty. */
int wheelhouse_create(struct arena *a, const char *dir, const struct wheel_target *t,
		      const char *gpus, struct wheelhouse *out, struct err *e);
/* lock: nobody else may change it meanwhile (-EBUSY). */
int wheelhouse_open(struct arena *a, const char *dir, bool lock, struct wheelhouse *out,
		    struct err *e);
void wheelhouse_close(struct wheelhouse *h);
enum house_added { HOUSE_ADDED, HOUSE_SAME, HOUSE_REPLACED };
/*
 * Checks a wheel, copies it, checks the copy, and takes it into the list (not yet to disk). One of
 * that name with other contents is refused (-EEXIST), or, with replace, kept in a folder of its
 * own.
 */
int wheelhouse_add(struct arena *a, struct wheelhouse *h, const char *path, bool replace,
		   enum house_added *what, struct err *e);
/* Writes the manifest; with key (NULL: none) signs it by ssh-keygen. A signed wheelhouse is not
 * changed without a key (-EPERM). */
int wheelhouse_save(struct arena *a, struct wheelhouse *h, const char *key, struct err *e);

/* Every wheel against the manifest, whole; signers (NULL: not asked) is a file of allowed signers.
 */
int wheelhouse_verify(struct arena *a, struct wheelhouse *h, const char *signers, struct err *e);

struct house_difference {
	const char *file;
	const char *only_in; /* the folder that has it; NULL: both, with other contents */
};
struct wheelhouse_diff {
	struct wheelhouse a, b;
	struct house_difference *items;
	size_t n;
};
/* Fills items by what the manifests say: the names, and the SHA-256 of what both have. */
void wheelhouse_differ(struct arena *a, struct wheelhouse_diff *d);

extern const struct shape manifest_shape; /* of a struct wheelhouse, as it lies in its folder */
/* Whom it is for and its wheels, as a manifest says; -EBADMSG and *e: it is none. */
int manifest_read(struct arena *a, const char *text, size_t len, struct wheelhouse *h,
		  struct err *e);

/*
 * Signatures of a manifest, made and checked by ssh-keygen. It gets the bytes that we read or
 * wrote, and no name of theirs: the folder may be another's, and hold others by now.
 */

/* Whether key (a private key, or the public half of one in the agent) signed it as it was read:
 * -EKEYREJECTED when it did not. */
int house_signed_by(struct arena *a, const struct wheelhouse *h, const char *key, struct err *e);

#endif
