/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hold files: static libraries (ar), and zip. */
#ifndef STACK_ARCHIVE_H
#define STACK_ARCHIVE_H

#include <stdbool.h>

#include "base/arena.h"
#include "look/stack/input.h"

enum { ARCHIVE_NAME_MAX = 256 };

/* True for "!<arch>" and "!<thin>" files. */
bool archive_is(const unsigned char magic[8]);
/*
 * Calls each for every member but the tables of names and symbols; what it returns ends the walk.
 * A thin archive, which only names files, is refused (-EPROTONOSUPPORT); -EBADMSG when broken.
 */
int archive_each(struct input *in,
		 int (*each)(void *ctx, const char *name, uint64_t at, uint64_t size), void *ctx,
		 struct err *e);

/*
 * Zip archives (wheels are such), zip64 too: the directory at the end, checked before anything is
 * believed, and the members as inputs. Nothing is ever written to disk.
 */

/*
 * A deflated stream (zlib's raw format) as an input. Reading on is one pass; the last half MiB can
 * be read again for nothing, anything before that starts the stream anew.
 */
struct inflate_state;

struct input_inflate {
	struct input in;
	struct inflate_state *state;
};

/* size: the unpacked bytes that the archive promises. -ENOMEM. packed has to outlive it. */
int input_inflate(struct input_inflate *f, struct input *packed, uint64_t size);
void input_inflate_close(struct input_inflate *f);

struct zip_entry {
	const char *name; /* relative, without "..", as the directory names it */
	bool packed;	  /* deflated; else stored */
	bool folder;
	uint32_t crc;
	uint64_t size, packed_size; /* bytes */
	uint64_t header_at;
};

struct zip {
	struct input *in;
	struct zip_entry *entries; /* in the directory's order */
	size_t n;
	struct map names; /* name -> struct zip_entry */
};

/* A member being read; the input is valid until zip_close. */
struct zip_member {
	struct input *in;
	struct input_window window;
	struct input_inflate inflate;
};

/*
 * Reads the directory. -EBADMSG and *e, naming the member, for what is broken or not to be trusted:
 * cut off, names that climb out ("../x", "/x", "a\b"), twice the same name, members that overlap or
 * lie outside, sizes that cannot be, encryption. -EPROTONOSUPPORT: packed by another method.
 */
int zip_open(struct arena *a, struct input *in, struct zip *out, struct err *e);
/* NULL when there is no such member. */
const struct zip_entry *zip_find(const struct zip *z, const char *name);
int zip_member(const struct zip *z, const struct zip_entry *entry, struct zip_member *out,
	       struct err *e);
void zip_close(struct zip_member *m);
/* The whole member with its check sum compared, NUL-terminated; -EFBIG above max bytes. */
int zip_text(struct arena *a, const struct zip *z, const struct zip_entry *entry, size_t max,
	     char **out, struct err *e);
/*
 * Unpacks the whole member and compares its check sum; each (may be NULL) sees the bytes pass.
 * -EBADMSG and *e when it is not what the directory promises.
 */
int zip_pass(const struct zip *z, const struct zip_entry *entry,
	     void (*each)(void *ctx, const void *data, size_t n), void *ctx, struct err *e);

#endif
