/* SPDX-License-Identifier: Apache-2.0 */
/* ar with the long names of GNU ("/123") and BSD ("#1/12"), and zip. */
#include "look/stack/archive.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "machine/host/libraries.h"

enum { MAGIC = 8, HEADER = 60, NAME = 16, MEMBERS_MAX = 1 << 20 };

struct member {
	uint64_t at, size; /* of the data */
	char name[ARCHIVE_NAME_MAX];
	bool table; /* names or symbols */
};

bool archive_is(const unsigned char magic[8])
{
	return memcmp(magic, "!<arch>\n", MAGIC) == 0 || memcmp(magic, "!<thin>\n", MAGIC) == 0;
}

static int ar_broken(struct err *e, uint64_t at, const char *what)
{
	return err_set(e, -EBADMSG, "broken archive at byte %llu: %s", (unsigned long long)at,
		       what);
}

/* Decimal digits, then blanks. */
static bool archive_number(const unsigned char *p, size_t n, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(p[i] - '0');
	if (!i)
		return false;
	for (; i < n; i++)
		if (p[i] != ' ')
			return false;
	*out = v;
	return true;
}

static void copy_name(char *out, const unsigned char *p, size_t n, const char *ends)
{
	size_t i = 0;

	while (i < n && i < ARCHIVE_NAME_MAX - 1 && p[i] && !strchr(ends, p[i])) {
		out[i] = (char)p[i];
		i++;
	}
	out[i] = '\0';
}

/* "/123" is a place in the table of long names, which ends each with "/\n". */
static void long_name(struct input *in, const struct input_window *table, uint64_t at,
		      struct member *m)
{
	unsigned char buf[ARCHIVE_NAME_MAX];
	uint64_t left = table->in.read && at < table->in.size ? table->in.size - at : 0;
	size_t n = left < sizeof(buf) ? (size_t)left : sizeof(buf);

	if (n && input_read(in, table->at + at, buf, n) == 0)
		copy_name(m->name, buf, n, "/\n");
}

static int bsd_name(struct input *in, uint64_t length, struct member *m, struct err *e)
{
	unsigned char buf[ARCHIVE_NAME_MAX];
	size_t n = length < sizeof(buf) ? (size_t)length : sizeof(buf);

	if (length > m->size)
		return ar_broken(e, m->at, "its name is longer than the member");
	if (input_read(in, m->at, buf, n))
		return ar_broken(e, m->at, "truncated");
	copy_name(m->name, buf, n, "");
	m->at += length;
	m->size -= length;
	m->table = strncmp(m->name, "__.SYMDEF", 9) == 0;
	return 0;
}

static int read_member(struct input *in, uint64_t at, struct input_window *names, struct member *m,
		       struct err *e)
{
	unsigned char h[HEADER];
	uint64_t place;

	*m = (struct member){ .at = at + HEADER };
	if (input_read(in, at, h, HEADER))
		return ar_broken(e, at, "truncated");
	if (h[58] != '`' || h[59] != '\n' || !archive_number(h + 48, 10, &m->size))
		return ar_broken(e, at, "no member header there");
	if (m->size > in->size - m->at)
		return ar_broken(e, at, "the member is longer than the file");
	if (memcmp(h, "#1/", 3) == 0 && archive_number(h + 3, NAME - 3, &place))
		return bsd_name(in, place, m, e);
	if (h[0] == '/' && h[1] == '/') {
		m->table = true;
		input_window(names, in, m->at, m->size);
	} else if (h[0] == '/' && archive_number(h + 1, NAME - 1, &place)) {
		long_name(in, names, place, m);
	} else if (h[0] == '/') {
		m->table = true; /* "/" and "/SYM64/" */
	} else {
		copy_name(m->name, h, NAME, "/");
	}
	return 0;
}

int archive_each(struct input *in,
		 int (*each)(void *ctx, const char *name, uint64_t at, uint64_t size), void *ctx,
		 struct err *e)
{
	struct input_window names = { 0 };
	unsigned char magic[MAGIC];
	uint64_t at = MAGIC;
	size_t n = 0;
	int code = 0;

	if (input_read(in, 0, magic, MAGIC) || !archive_is(magic))
		return ar_broken(e, 0, "no magic number");
	if (magic[2] == 't')
		return err_set(e, -EPROTONOSUPPORT,
			       "is a thin archive: it lists files but does not contain them");
	while (!code && at < in->size) {
		struct member m;

		if (++n > MEMBERS_MAX)
			return ar_broken(e, at, "more than a million members");
		code = read_member(in, at, &names, &m, e);
		if (!code && !m.table)
			code = each(ctx, m.name, m.at, m.size);
		at = m.at + m.size;
		at += at & 1;
	}
	return code;
}

/* Members of a zip archive as inputs, and their check sums. */

/* Unpacking deflate with a bounded memory: what was unpacked last stays in a ring. */

enum { RING = 1 << 19, CHUNK = 1 << 16 };

struct inflate_state {
	z_stream z;
	struct input *packed;
	uint64_t taken; /* packed bytes handed to zlib */
	uint64_t made;	/* bytes unpacked so far; the last RING of them are in ring */
	bool started;
	size_t ring_size, chunk_size; /* what little data needs is little */
	unsigned char *ring, *chunk;
};

static int restart(struct inflate_state *s)
{
	int code = s->started ? inflateReset(&s->z) : inflateInit2(&s->z, -MAX_WBITS);

	if (code != Z_OK)
		return -ENOMEM;
	s->started = true;
	s->taken = s->made = 0;
	s->z.avail_in = 0;
	return 0;
}

static int feed(struct inflate_state *s)
{
	uint64_t left = s->packed->size - s->taken;
	size_t n = left < s->chunk_size ? (size_t)left : s->chunk_size;
	int code;

	if (!n)
		return -EBADMSG; /* it ends before the size that was promised */
	code = input_read(s->packed, s->taken, s->chunk, n);
	if (code)
		return code;
	s->taken += n;
	s->z.next_in = s->chunk;
	s->z.avail_in = (uInt)n;
	return 0;
}

/* Unpacks until `until` bytes are made, or the ring's end is reached. */
static int zip_step(struct inflate_state *s, uint64_t until)
{
	size_t at = (size_t)(s->made % s->ring_size), room = s->ring_size - at, want;
	int code = s->z.avail_in ? 0 : feed(s);

	if (code)
		return code;
	want = until - s->made < room ? (size_t)(until - s->made) : room;
	s->z.next_out = s->ring + at;
	s->z.avail_out = (uInt)want;
	code = inflate(&s->z, Z_NO_FLUSH);
	s->made += want - s->z.avail_out;
	if (code == Z_OK || code == Z_BUF_ERROR)
		return 0;
	return code == Z_STREAM_END && s->made == until ? 0 : -EBADMSG;
}

static int read_inflate(struct input *in, uint64_t at, void *buf, size_t n)
{
	struct inflate_state *s = ((struct input_inflate *)in)->state;
	unsigned char *out = buf;
	int code;

	if (!s->started || (at < s->made && s->made - at > s->ring_size)) {
		code = restart(s);
		if (code)
			return code;
	}
	while (n) {
		uint64_t until = at + n;
		size_t from, have;

		/* Never so far that what is asked for would leave the ring. */
		if (until > at + s->ring_size / 2 + 1)
			until = at + s->ring_size / 2 + 1;
		while (s->made < until) {
			code = zip_step(s, until);
			if (code)
				return code;
		}
		from = (size_t)(at % s->ring_size);
		have = s->ring_size - from < until - at ? s->ring_size - from
							: (size_t)(until - at);
		memcpy(out, s->ring + from, have);
		out += have;
		at += have;
		n -= have;
	}
	return 0;
}

int input_inflate(struct input_inflate *f, struct input *packed, uint64_t size)
{
	size_t ring = size < RING ? (size_t)size + 1 : RING;
	size_t chunk = packed->size < CHUNK ? (size_t)packed->size + 1 : CHUNK;
	struct inflate_state *s = malloc(sizeof(*s) + ring + chunk);

	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->packed = packed;
	s->ring_size = ring;
	s->chunk_size = chunk;
	s->ring = (unsigned char *)(s + 1);
	s->chunk = s->ring + ring;
	f->in = (struct input){ read_inflate, size };
	f->state = s;
	return 0;
}

void input_inflate_close(struct input_inflate *f)
{
	if (f->state && f->state->started)
		inflateEnd(&f->state->z);
	free(f->state);
	f->state = NULL;
}

/* Members of an archive. */

enum { LOCAL = 30, LOCAL_MAGIC = 0x04034b50, PASS = 1 << 16 };

static int entry_broken(struct err *e, const struct zip_entry *entry, const char *what)
{
	return err_set(e, -EBADMSG, "broken member %.200s: %s", entry->name, what);
}

const struct zip_entry *zip_find(const struct zip *z, const char *name)
{
	return map_get(&z->names, name);
}

/* What stands before the member has to be of the same name and method as the directory says. */
static int data_place(const struct zip *z, const struct zip_entry *entry, uint64_t *at,
		      struct err *e)
{
	size_t n = strlen(entry->name);
	unsigned char h[LOCAL];
	char *name;
	bool same;

	if (input_read(z->in, entry->header_at, h, LOCAL) || le32(h) != LOCAL_MAGIC)
		return entry_broken(e, entry, "no member at the offset in the directory");
	if (le16(h + 26) != n || le16(h + 8) != (entry->packed ? 8 : 0))
		return entry_broken(e, entry, "its local header differs from the directory");
	name = malloc(n + 1);
	if (!name)
		return err_set(e, -ENOMEM, "out of memory");
	same = input_read(z->in, entry->header_at + LOCAL, name, n) == 0 &&
	       memcmp(name, entry->name, n) == 0;
	free(name);
	if (!same)
		return entry_broken(e, entry, "its name differs from the directory");
	*at = entry->header_at + LOCAL + n + le16(h + 28);
	return 0;
}

int zip_member(const struct zip *z, const struct zip_entry *entry, struct zip_member *out,
	       struct err *e)
{
	uint64_t at = 0;
	int code = data_place(z, entry, &at, e);

	if (code)
		return code;
	memset(out, 0, sizeof(*out));
	if (input_window(&out->window, z->in, at, entry->packed_size))
		return entry_broken(e, entry, "it ends beyond the end of the file");
	out->in = &out->window.in;
	if (!entry->packed)
		return 0;
	if (input_inflate(&out->inflate, &out->window.in, entry->size))
		return err_set(e, -ENOMEM, "out of memory for unpacking %.200s", entry->name);
	out->in = &out->inflate.in;
	return 0;
}

void zip_close(struct zip_member *m)
{
	input_inflate_close(&m->inflate);
}

int zip_pass(const struct zip *z, const struct zip_entry *entry,
	     void (*each)(void *ctx, const void *data, size_t n), void *ctx, struct err *e)
{
	uLong crc = crc32(0, NULL, 0);
	struct zip_member m = { 0 };
	unsigned char *buf = malloc(entry->size < PASS ? (size_t)entry->size + 1 : PASS);
	int code = buf ? zip_member(z, entry, &m, e) : err_set(e, -ENOMEM, "out of memory");

	if (code) {
		free(buf);
		return code;
	}
	for (uint64_t at = 0; at < entry->size && !code;) {
		size_t n = entry->size - at < PASS ? (size_t)(entry->size - at) : PASS;

		code = input_read(m.in, at, buf, n);
		if (code) {
			entry_broken(e, entry, "it cannot be unpacked");
			code = code == -ENODATA ? -EBADMSG : code;
			break;
		}
		crc = crc32(crc, buf, (uInt)n);
		if (each)
			each(ctx, buf, n);
		at += n;
	}
	if (!code && crc != entry->crc)
		code = entry_broken(e, entry, "its checksum does not match");
	zip_close(&m);
	free(buf);
	return code;
}

struct cached_entry {
	char *out;
	size_t n;
};

static void keep(void *ctx, const void *data, size_t n)
{
	struct cached_entry *k = ctx;

	memcpy(k->out + k->n, data, n);
	k->n += n;
}

int zip_text(struct arena *a, const struct zip *z, const struct zip_entry *entry, size_t max,
	     char **out, struct err *e)
{
	struct cached_entry k = { 0 };
	int code;

	if (entry->size > max)
		return err_set(e, -EFBIG, "member %.200s is too large: %llu bytes", entry->name,
			       (unsigned long long)entry->size);
	k.out = arena_alloc(a, (size_t)entry->size + 1);
	code = zip_pass(z, entry, keep, &k, e);
	if (!code)
		*out = k.out;
	return code;
}

/* The directory of a zip archive: found from its end, read whole, and held against the file. */

enum {
	END = 22,
	END_MAGIC = 0x06054b50,
	END64 = 56,
	END64_MAGIC = 0x06064b50,
	LOCATOR = 20,
	LOCATOR_MAGIC = 0x07064b50,
	ENTRY = 46,
	ENTRY_MAGIC = 0x02014b50,
	COMMENT_MAX = 65535,
	DIRECTORY_MAX = 1 << 26, /* bytes */
	DIRECTORY_LOCAL = 30,
	PACKING = 1032, /* deflate makes at most so many bytes of one */
	NAME_MAX_ = 4096,
};

struct directory {
	uint64_t at, size, n;
	uint64_t end_at; /* where the records after it begin */
};

static int directory_broken(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG, "broken zip archive: %s", what);
}

static int end64(struct input *in, uint64_t end_at, struct directory *d, struct err *e)
{
	unsigned char l[LOCATOR], h[END64];
	uint64_t at;

	if (end_at < LOCATOR || input_read(in, end_at - LOCATOR, l, LOCATOR) ||
	    le32(l) != LOCATOR_MAGIC)
		return 0;
	at = le64(l + 8);
	if (input_read(in, at, h, END64) || le32(h) != END64_MAGIC)
		return directory_broken(e, "misplaced zip64 end record");
	*d = (struct directory){
		.at = le64(h + 48), .size = le64(h + 40), .n = le64(h + 32), .end_at = at
	};
	return 0;
}

/* The end record stands last, but for a comment. */
static int find_end(struct input *in, struct directory *d, struct err *e)
{
	size_t n = in->size < END + COMMENT_MAX ? (size_t)in->size : END + COMMENT_MAX;
	uint64_t base = in->size - n;
	unsigned char *tail;
	int code = -1;

	if (n < END)
		return directory_broken(e, "shorter than an empty archive");
	tail = malloc(n);
	if (!tail || input_read(in, base, tail, n)) {
		free(tail);
		return err_set(e, -EIO, "its end is unreadable");
	}
	for (size_t i = n - END + 1; i-- > 0 && code < 0;) {
		const unsigned char *p = tail + i;

		if (le32(p) != END_MAGIC || i + END + le16(p + 20) != n)
			continue;
		*d = (struct directory){ le32(p + 16), le32(p + 12), le16(p + 10), base + i };
		code = le16(p + 4) || le16(p + 6)
			       ? directory_broken(e, "part of a multi-file archive")
			       : end64(in, base + i, d, e);
	}
	free(tail);
	if (code == -1)
		return directory_broken(e, "no ZIP central directory at the end (truncated?)");
	if (!code && (d->size > DIRECTORY_MAX || d->at > d->end_at || d->size > d->end_at - d->at ||
		      d->n > d->size / ENTRY))
		return directory_broken(e, "the directory exceeds the file");
	return code;
}

/* Names are later looked for and shown, and become files when somebody installs the wheel. */
static const char *bad_name(const char *name, size_t n)
{
	if (!n || n > NAME_MAX_ || memchr(name, '\0', n))
		return "an empty, too long or truncated name";
	if (name[0] == '/' || memchr(name, '\\', n) || (n > 1 && name[1] == ':'))
		return "an absolute name";
	for (size_t i = 0; i < n;) {
		const char *slash = memchr(name + i, '/', n - i);
		size_t k = slash ? (size_t)(slash - name) - i : n - i;

		if (k == 2 && name[i] == '.' && name[i + 1] == '.')
			return "a name that leaves the folder";
		i += k + 1;
	}
	return NULL;
}

/* Sizes and places beyond 4 GiB stand in the extra field 1, in this order, only where needed. */
static bool zip_wide(const unsigned char *x, size_t n, struct zip_entry *z)
{
	uint64_t *const want[] = { &z->size, &z->packed_size, &z->header_at };

	if (z->size != UINT32_MAX && z->packed_size != UINT32_MAX && z->header_at != UINT32_MAX)
		return true;
	while (n >= 4) {
		size_t len = le16(x + 2), at = 4;

		if (len > n - 4)
			return false;
		if (le16(x) == 1) {
			for (size_t i = 0; i < 3; i++) {
				if (*want[i] != UINT32_MAX)
					continue;
				if (at + 8 > 4 + len)
					return false;
				*want[i] = le64(x + at);
				at += 8;
			}
			return true;
		}
		x += 4 + len;
		n -= 4 + len;
	}
	return false;
}

static int zip_judge(const struct zip_entry *z, unsigned flags, unsigned method,
		     const struct directory *d, struct err *e)
{
	if (flags & 1)
		return err_set(e, -EBADMSG, "member %.200s is encrypted", z->name);
	if (method != 0 && method != 8)
		return err_set(e, -EPROTONOSUPPORT,
			       "member %.200s is compressed by method %u; wheels use deflate",
			       z->name, method);
	if (method == 0 && z->size != z->packed_size)
		return err_set(e, -EBADMSG,
			       "member %.200s is not compressed, but its two sizes differ",
			       z->name);
	if (z->packed && z->size / PACKING > z->packed_size + 1)
		return err_set(e, -EBADMSG,
			       "member %.200s claims more data than its bytes can contain",
			       z->name);
	if (z->header_at > d->at || z->packed_size > d->at - z->header_at ||
	    d->at - z->header_at - z->packed_size < DIRECTORY_LOCAL + strlen(z->name))
		return err_set(e, -EBADMSG, "member %.200s is beyond the end of the file", z->name);
	return 0;
}

static int read_entry(struct arena *a, const unsigned char *p, size_t left, struct zip_entry *z,
		      const struct directory *d, size_t *taken, struct err *e)
{
	size_t name, extra;
	const char *bad;

	if (left < ENTRY || le32(p) != ENTRY_MAGIC)
		return directory_broken(e, "the directory ends early");
	name = le16(p + 28);
	extra = le16(p + 30);
	*taken = ENTRY + name + extra + le16(p + 32);
	if (*taken > left)
		return directory_broken(e, "the directory is truncated");
	bad = bad_name((const char *)p + ENTRY, name);
	if (bad)
		return err_set(e, -EBADMSG, "the zip archive contains %s: \"%.*s\"", bad,
			       name > 200 ? 200 : (int)name, (const char *)p + ENTRY);
	*z = (struct zip_entry){ .name = arena_strndup(a, (const char *)p + ENTRY, name),
				 .packed = le16(p + 10) == 8,
				 .folder = p[ENTRY + name - 1] == '/',
				 .crc = le32(p + 16),
				 .packed_size = le32(p + 20),
				 .size = le32(p + 24),
				 .header_at = le32(p + 42) };
	if (!zip_wide(p + ENTRY + name, extra, z))
		return err_set(e, -EBADMSG, "member %.200s has no zip64 sizes", z->name);
	return zip_judge(z, le16(p + 8), le16(p + 10), d, e);
}

static int by_place(const void *a, const void *b)
{
	const struct zip_entry *x = *(const struct zip_entry *const *)a,
			       *y = *(const struct zip_entry *const *)b;

	return x->header_at < y->header_at ? -1 : x->header_at > y->header_at;
}

/* One name for one member, one place for one member. */
static int zip_distinct(struct arena *a, struct zip *z, struct err *e)
{
	const struct zip_entry **by = arena_array(a, z->n, sizeof(*by));

	for (size_t i = 0; i < z->n; i++) {
		void **at = map_at(a, &z->names, z->entries[i].name);

		if (*at)
			return err_set(e, -EBADMSG, "the zip archive contains %.200s twice",
				       z->entries[i].name);
		*at = &z->entries[i];
		by[i] = &z->entries[i];
	}
	if (z->n)
		qsort(by, z->n, sizeof(*by), by_place);
	for (size_t i = 1; i < z->n; i++) {
		const struct zip_entry *x = by[i - 1];

		if (by[i]->header_at - x->header_at <
		    DIRECTORY_LOCAL + strlen(x->name) + x->packed_size)
			return err_set(e, -EBADMSG, "members %.200s and %.200s overlap", x->name,
				       by[i]->name);
	}
	return 0;
}

int zip_open(struct arena *a, struct input *in, struct zip *out, struct err *e)
{
	struct zip z = { .in = in };
	struct directory d = { 0 };
	unsigned char *p;
	size_t at = 0, taken = 0;
	int code = library_open(LIBRARY_ZLIB, e);

	code = code ? code : find_end(in, &d, e);
	if (code)
		return code;
	p = malloc((size_t)d.size + 1);
	if (!p)
		return err_set(e, -ENOMEM, "out of memory for the directory");
	if (input_read(in, d.at, p, (size_t)d.size))
		code = err_set(e, -EIO, "the directory is unreadable");
	z.entries = arena_array(a, (size_t)d.n + 1, sizeof(*z.entries));
	for (; z.n < d.n && !code; at += taken) {
		code = read_entry(a, p + at, (size_t)d.size - at, &z.entries[z.n], &d, &taken, e);
		z.n += !code;
	}
	free(p);
	if (!code)
		code = zip_distinct(a, &z, e);
	if (!code)
		*out = z;
	return code;
}
