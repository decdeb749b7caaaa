/* SPDX-License-Identifier: Apache-2.0 */
/* The common archive format with the long names of GNU ("/123") and BSD ("#1/12"). */
#include "look/stack/archive.h"

#include <string.h>

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

static int broken(struct err *e, uint64_t at, const char *what)
{
	return err_set(e, -EBADMSG, "the archive is broken at byte %llu: %s",
		       (unsigned long long)at, what);
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
		return broken(e, m->at, "a name longer than its member");
	if (input_read(in, m->at, buf, n))
		return broken(e, m->at, "cut off");
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
		return broken(e, at, "cut off");
	if (h[58] != '`' || h[59] != '\n' || !archive_number(h + 48, 10, &m->size))
		return broken(e, at, "no member begins there");
	if (m->size > in->size - m->at)
		return broken(e, at, "the member is longer than the file");
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
		return broken(e, 0, "no magic number");
	if (magic[2] == 't')
		return err_set(e, -EPROTONOSUPPORT,
			       "is a thin archive: it names files and holds none");
	while (!code && at < in->size) {
		struct member m;

		if (++n > MEMBERS_MAX)
			return broken(e, at, "more than a million members");
		code = read_member(in, at, &names, &m, e);
		if (!code && !m.table)
			code = each(ctx, m.name, m.at, m.size);
		at = m.at + m.size;
		at += at & 1;
	}
	return code;
}
