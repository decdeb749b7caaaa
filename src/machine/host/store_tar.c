/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture in a tar (ustar, with the pax and GNU extensions for long names). Headers are indexed
 * when it is opened; data are read when asked. The archive may be hostile: every size and name is
 * checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "machine/host/libraries.h"
#include "machine/host/store.h"
#include "base/text.h"
#include "machine/host/host.h"

enum { TAR_RECORD = 512 };

/* POSIX header; numbers are octal text. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
		magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_RECORD, "a tar header is one record");

/* Empty: the header's own name and link target hold. */
struct tar_extension {
	char name[HOST_PATH_MAX], link[HOST_PATH_MAX];
};

/* NAMES_MAX bounds what the index takes: a short archive can imply very many very long folders. */
enum {
	MEMBERS_MAX = 200000,
	EXTENSION_MAX = 65536,
	NAMES_MAX = 28 << 20,
	PLAIN_FIRST = 1 << 22, /* bytes of a packed archive, unpacked */
	PLAIN_MAX = 1 << 28,
	FIRST_NODES = 1 << 14
};

/*
 * Found by its folder and its name, so that no path is kept whole. Captures have tens of thousands
 * of them: they stand in one array and name each other by their place in it. The root is the first;
 * as it is in no folder, 0 also stands for none.
 */
struct node {
	uint32_t name;	       /* where it begins in tar.texts */
	uint32_t folder, next; /* next: of the same folder */
	uint32_t at; /* of a file: its record; of a link: its target in tar.texts; of a folder: its
			first child */
	uint32_t size; /* of a file; UINT32_MAX, more than any reader takes, for larger ones too */
	uint32_t kind; /* enum host_kind */
};

/* A place of the hash table: another name's hash tells without a look at its node. */
struct slot {
	uint32_t hash, node; /* node 0: free */
};

/* A field that need not end in NUL. */
static void field_text(char *out, const char *field, size_t size)
{
	size_t n = strnlen(field, size);

	memcpy(out, field, n);
	out[n] = '\0';
}

/* Whether a file begins as zstd's do. */
static bool fd_is_packed(int fd)
{
	static const char magic[4] = "\x28\xb5\x2f\xfd";
	char begin[sizeof(magic)];

	return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	       memcmp(begin, magic, sizeof(magic)) == 0;
}

bool store_is_packed(const char *path)
{
	char demo[HOST_DEMO_MAX];
	struct err ignored = { 0 };
	const char *file = host_demo_file(path, demo, &ignored);
	int fd = open(file ? file : path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && fd_is_packed(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Reading one tar header: numbers, check sum, and names that stay inside. */

/* An octal field of n bytes; -EINVAL when it holds anything else. */
static int tar_octal(const char *s, size_t n, long long *out)
{
	long long v = 0;
	size_t i = 0;

	while (i < n && s[i] == ' ')
		i++;
	for (; i < n && s[i] >= '0' && s[i] <= '7'; i++)
		v = v * 8 + (s[i] - '0');
	if (i < n && s[i] != '\0' && s[i] != ' ')
		return -EINVAL;
	*out = v;
	return 0;
}

static bool tar_checksum_fits(const struct tar_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	long long want;
	unsigned sum = 0;

	/* In sums that 16 bits hold, which are added eight at a time. */
	for (size_t at = 0; at < TAR_RECORD; at += TAR_RECORD / 2) {
		uint16_t part = 0;

		for (size_t i = 0; i < TAR_RECORD / 2; i++)
			part = (uint16_t)(part + p[at + i]);
		sum += part;
	}
	/* The sum's own field counts as blanks. */
	for (size_t i = 0; i < sizeof(h->checksum); i++)
		sum += ' ' - (unsigned)(unsigned char)h->checksum[i];
	return tar_octal(h->checksum, sizeof(h->checksum), &want) == 0 && sum == want;
}

/* "./root//proc/" -> "root/proc"; false for "..", an absolute name or one that is too long. */
static bool tar_clean_name(const char *raw, char *out, size_t cap)
{
	size_t len = 0;

	if (raw[0] == '/')
		return false;
	while (*raw) {
		size_t n = (size_t)(strchrnul(raw, '/') - raw);

		if (n == 2 && raw[0] == '.' && raw[1] == '.')
			return false;
		if (n && !(n == 1 && raw[0] == '.')) {
			if (len + n + 2 > cap)
				return false;
			if (len)
				out[len++] = '/';
			memcpy(out + len, raw, n);
			len += n;
		}
		raw += n;
		while (*raw == '/')
			raw++;
	}
	out[len] = '\0';
	return true;
}

/* Reading pax and GNU records; the archive may be hostile. */

static int broken(const char **why, const char *what)
{
	*why = what;
	return -EBADMSG;
}

static int store_tar_keep(char *out, const char *value, size_t n, const char **why)
{
	n = strnlen(value, n);
	if (n >= HOST_PATH_MAX)
		return broken(why, "name too long");
	memcpy(out, value, n);
	out[n] = '\0';
	return 0;
}

/* "key=value\n", n bytes with the newline. */
static int one_key(struct tar_extension *x, const char *key, size_t n, const char **why)
{
	const char *value = memchr(key, '=', n - 1);
	size_t left;

	if (!value)
		return broken(why, "broken pax record");
	value++;
	left = n - 1 - (size_t)(value - key);
	if (str_starts(key, "path="))
		return store_tar_keep(x->name, value, left, why);
	if (str_starts(key, "linkpath="))
		return store_tar_keep(x->link, value, left, why);
	if (str_starts(key, "size=") || str_starts(key, "GNU.sparse"))
		return broken(why, "unsupported pax extension");
	return 0;
}

/* One "LEN key=value\n" record after another. */
static int pax(struct tar_extension *x, const char *text, size_t n, const char **why)
{
	while (n) {
		char *end;
		unsigned long len = strtoul(text, &end, 10);
		size_t digits = (size_t)(end - text);
		int r;

		/* strtoul skips blanks and newlines: the number must begin the record, and end
		 * inside it. */
		if (*text < '1' || *text > '9' || len < 5 || len > n || *end != ' ' ||
		    text[len - 1] != '\n' || digits + 1 >= len)
			return broken(why, "broken pax record");
		r = one_key(x, end + 1, len - digits - 1, why);
		if (r)
			return r;
		text += len;
		n -= len;
	}
	return 0;
}

/*
 * Takes the n bytes of a record: of type 'x' (pax), 'L' or 'K' (GNU long name, long link target).
 * text is NUL-terminated behind them. -EBADMSG, and *why names what is wrong.
 */
static int tar_extension_read(struct tar_extension *x, char type, const char *text, size_t n,
			      const char **why)
{
	if (type == 'x')
		return pax(x, text, n, why);
	return store_tar_keep(type == 'L' ? x->name : x->link, text, n, why);
}

struct tar {
	struct store store;
	int fd;
	char *path;
	char *plain;	  /* the archive, unpacked or mapped */
	long long mapped; /* bytes of fd that are; 0: plain is on the heap */
	long long size;
	struct node *nodes;
	uint32_t n_nodes, nodes_cap;
	struct text texts;  /* names and link targets */
	struct slot *slots; /* a hash table of nodes with linear probing, at most half full */
	uint32_t slots_cap; /* a power of two */
	uint32_t last;	    /* folder of the last path */
	char last_path[HOST_PATH_MAX]; /* of the folder, with a slash */
	size_t members;
	size_t names; /* bytes of names and nodes so far */
	struct tar_extension extension;
	struct err *e;
};

static int wrong(struct tar *t, long long at, const char *what, const char *name)
{
	return err_set(t->e, -EBADMSG, "%s: invalid tar: %s%s%s at byte %lld", t->path, what,
		       *name ? " " : "", name, at);
}

static int read_at(const struct tar *t, char *buf, size_t n, long long at)
{
	if (at > t->size || (long long)n > t->size - at)
		return -ENODATA;
	memcpy(buf, t->plain + at, n);
	return 0;
}

/* Maps an uncompressed archive, so that only the files that are read are loaded. If it is truncated
 * meanwhile, SIGBUS ends the reader, which has written nothing. */
static int map(struct tar *t, long long size)
{
	char *bytes = size ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, t->fd, 0) : NULL;

	if (bytes == MAP_FAILED)
		return err_set(t->e, -errno, "%s is unreadable: %s", t->path, strerror(errno));
	t->plain = bytes;
	t->mapped = t->size = size;
	return 0;
}

/* What one piece of a packed archive becomes; *room grows with it. 0, or what zstd says. */
static size_t unpack_piece(struct tar *t, ZSTD_DCtx *z, ZSTD_inBuffer *in, size_t *room)
{
	size_t left = 0;

	while (in->pos < in->size && !ZSTD_isError(left)) {
		ZSTD_outBuffer out;

		if ((size_t)t->size == *room) {
			*room = *room ? *room * 2 : PLAIN_FIRST;
			if (*room > PLAIN_MAX)
				return (size_t)-ZSTD_error_dstSize_tooSmall;
			t->plain = realloc(t->plain, *room);
			if (!t->plain)
				out_of_memory(*room);
		}
		out = (ZSTD_outBuffer){ t->plain, *room, (size_t)t->size };
		left = ZSTD_decompressStream(z, &out, in);
		t->size = (long long)out.pos;
	}
	return left;
}

/* An archive that zstd has packed, unpacked into memory; any other stays as it is. */
static int unpack(struct tar *t, long long packed)
{
	char piece[1 << 15];
	size_t left = 1, room = 0;
	ZSTD_DCtx *z;
	int r;

	if (!fd_is_packed(t->fd))
		return map(t, packed);
	r = library_open(LIBRARY_ZSTD, t->e);
	if (r)
		return r;
	z = ZSTD_createDCtx();
	if (!z)
		out_of_memory(0);
	t->size = 0;
	for (long long at = 0; at < packed && !ZSTD_isError(left); at += (long long)sizeof(piece)) {
		size_t n = sizeof(piece);
		ZSTD_inBuffer in;

		if (packed - at < (long long)n)
			n = (size_t)(packed - at);
		in = (ZSTD_inBuffer){ piece, n, 0 };

		if (pread(t->fd, piece, n, (off_t)at) != (ssize_t)n) {
			ZSTD_freeDCtx(z);
			return err_set(t->e, -EIO, "%s is unreadable", t->path);
		}
		left = unpack_piece(t, z, &in, &room);
	}
	ZSTD_freeDCtx(z);
	if (!left)
		return 0;
	if (room > PLAIN_MAX)
		return err_set(t->e, -EFBIG, "%s: more than 256 MiB of contents", t->path);
	return err_set(t->e, -EBADMSG, "%s: invalid zstd file: %s", t->path,
		       ZSTD_isError(left) ? ZSTD_getErrorName(left) : "truncated");
}

static void slots_widen(struct tar *t, uint32_t cap)
{
	struct slot *old = t->slots;
	uint32_t n = t->slots_cap;

	t->slots_cap = cap;
	t->slots = heap_array(t->slots_cap, sizeof(*t->slots));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t h = old[i].hash;

		while (old[i].node && t->slots[h & (t->slots_cap - 1)].node)
			h++;
		if (old[i].node)
			t->slots[h & (t->slots_cap - 1)] = old[i];
	}
	free(old);
}

/* Where the node of a name in a folder stands among the slots, or would. */
static struct slot *node_slot(const struct tar *t, uint32_t folder, const char *name, size_t len,
			      uint32_t hash)
{
	struct slot *slot;

	for (uint32_t h = hash; (slot = &t->slots[h & (t->slots_cap - 1)])->node; h++) {
		const struct node *n = &t->nodes[slot->node];

		if (slot->hash == hash && n->folder == folder &&
		    strncmp(t->texts.s + n->name, name, len) == 0 && !t->texts.s[n->name + len])
			break;
	}
	return slot;
}

/* Where a text stands in tar.texts now. */
static uint32_t text_keep(struct tar *t, const char *s, size_t len)
{
	uint32_t at = (uint32_t)t->texts.len;

	text_addn(&t->texts, s, len);
	text_addc(&t->texts, '\0');
	return at;
}

static uint32_t node_add(struct tar *t, struct node n)
{
	if (t->n_nodes == t->nodes_cap) {
		t->nodes_cap = t->nodes_cap ? t->nodes_cap * 2 : FIRST_NODES;
		t->nodes = reallocarray(t->nodes, t->nodes_cap, sizeof(n));
		if (!t->nodes)
			out_of_memory(t->nodes_cap * sizeof(n));
	}
	t->nodes[t->n_nodes] = n;
	return t->n_nodes++;
}

/* The node of a name in a folder: 0, -ENOENT. make: made as a folder when there is none; then
 * -ENOTDIR when the folder is a file, -E2BIG when that would take too much memory. */
static int node_below(struct tar *t, uint32_t folder, const char *name, size_t len, bool make,
		      uint32_t *out)
{
	uint32_t hash = (uint32_t)hash_bytes(folder, name, len);
	struct slot *slot = node_slot(t, folder, name, len, hash);

	*out = slot->node;
	if (*out)
		return 0;
	if (!make)
		return -ENOENT;
	if (t->nodes[folder].kind != HOST_DIR)
		return -ENOTDIR;
	t->names += len + sizeof(struct node);
	if (t->names > NAMES_MAX)
		return -E2BIG;
	*out = node_add(t, (struct node){ .name = text_keep(t, name, len),
					  .folder = folder,
					  .next = t->nodes[folder].at,
					  .kind = HOST_DIR });
	*slot = (struct slot){ hash, *out };
	t->nodes[folder].at = *out;
	if (t->n_nodes > t->slots_cap / 2)
		slots_widen(t, t->slots_cap * 2);
	return 0;
}

/* How much of a clean path is folders of the path before it, and the last of them: most paths begin
 * like the one before. */
static size_t same_folders(const struct tar *t, const char *path, uint32_t *folder)
{
	const char *last = t->last_path;
	size_t same = 0;

	*folder = t->last;
	if (str_starts(path, last))
		return strlen(last);
	for (size_t i = 0; last[i] && last[i] == path[i]; i++)
		if (last[i] == '/')
			same = i + 1;
	for (last += same; *last; last++)
		if (*last == '/')
			*folder = t->nodes[*folder].folder;
	return same;
}

/* The node of a clean path; make: made with its folders. As node_below. */
static int node_walk(struct tar *t, const char *path, bool make, uint32_t *out)
{
	uint32_t at;
	size_t from = same_folders(t, path, &at), n = from, len;
	int r;

	*out = 0;
	if (!*path)
		return 0;
	for (;; n += len + 1) {
		len = (size_t)(strchrnul(path + n, '/') - (path + n));
		if (!path[n + len])
			break;
		r = node_below(t, at, path + n, len, make, &at);
		if (r)
			return r;
		if (!make && t->nodes[at].kind == HOST_LINK)
			return -ELOOP;
	}
	if (n > from || t->last_path[from]) {
		t->last = at;
		memcpy(t->last_path + from, path + from, n - from);
		t->last_path[n] = '\0';
	}
	return node_below(t, at, path + n, len, make, out);
}

/* -ENOENT: there is none; -ELOOP: a link is on the way. */
static int node_at(struct tar *t, const char *path, const struct node **n)
{
	uint32_t at = 0;
	int r = strlen(path) >= HOST_PATH_MAX ? -ENOENT : node_walk(t, path, false, &at);

	*n = &t->nodes[at];
	return r;
}

/* The node of a member's name, made. Most lie in the folder of the one before. -EXDEV: outside the
 * archive. */
static int node_of_member(struct tar *t, const char *raw, uint32_t *out)
{
	const char *rest = raw + (str_starts(raw, "./") ? 2 : 0);
	size_t n = strlen(t->last_path), len;
	char name[HOST_PATH_MAX];
	int r;

	if (n && strncmp(rest, t->last_path, n) == 0 && rest[n] != '.') {
		len = (size_t)(strchrnul(rest + n, '/') - (rest + n));
		if (len && (!rest[n + len] || !rest[n + len + 1])) {
			r = node_below(t, t->last, rest + n, len, true, out);
			/* What is in a folder stands behind it. */
			if (r == 0 && rest[n + len]) {
				t->last = *out;
				strcpy(t->last_path + n, rest + n);
			}
			return r;
		}
	}
	return tar_clean_name(raw, name, sizeof(name)) ? node_walk(t, name, true, out) : -EXDEV;
}

static int add_member(struct tar *t, const struct tar_header *h, const char *raw, const char *link,
		      long long at, long long size)
{
	uint32_t before = t->n_nodes, made = 0;
	struct node *n;
	int r = node_of_member(t, raw, &made);

	if (r == -EXDEV)
		return wrong(t, at, "path outside the archive:", raw);
	if (r == -E2BIG)
		return wrong(t, at, "all names together are too long:", raw);
	if (r)
		return wrong(t, at, "file used as a folder:", raw);
	if (!made)
		return 0;
	if (++t->members > MEMBERS_MAX)
		return wrong(t, at, "more than 200000 members", "");
	n = &t->nodes[made];
	if (made < before && (h->type != '5' || n->kind != HOST_DIR))
		return wrong(t, at, "duplicate name:", raw);
	switch (h->type) {
	case '0':
	case '\0':
		n->kind = HOST_FILE;
		n->at = (uint32_t)(at / TAR_RECORD);
		n->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
		return 0;
	case '2':
		n->kind = HOST_LINK;
		n->at = text_keep(t, link, strlen(link));
		return 0;
	case '5':
		return 0;
	default:
		return wrong(t, at, "not a file, folder or symbolic link:", raw);
	}
}

/* Records that describe the next member: 'x' pax, 'g' pax for all, 'L' and 'K' GNU long names. */
static int extension(struct tar *t, char type, long long at, long long size)
{
	const char *why = "truncated extension record";
	char *text;
	int r;

	if (type == 'g')
		return 0;
	if (size > EXTENSION_MAX)
		return wrong(t, at, "extension record too large", "");
	text = heap_array(1, (size_t)size + 1);
	r = read_at(t, text, (size_t)size, at + TAR_RECORD);
	if (r == 0)
		r = tar_extension_read(&t->extension, type, text, (size_t)size, &why);
	free(text);
	return r ? wrong(t, at, why, "") : 0;
}

static int one_record(struct tar *t, const struct tar_header *h, long long *at, long long end)
{
	char name[sizeof(h->prefix) + sizeof(h->name) + 2], link[sizeof(h->link) + 1];
	long long size;
	int r;

	if (!tar_checksum_fits(h))
		return wrong(t, *at, "header with a wrong checksum", "");
	if (tar_octal(h->size, sizeof(h->size), &size) || size < 0 || size > end - *at - TAR_RECORD)
		return wrong(t, *at, "member larger than the archive", "");
	if (strchr("xgLK", h->type) && h->type) {
		r = extension(t, h->type, *at, size);
	} else {
		size_t n = 0;

		if (memcmp(h->magic, "ustar", 6) == 0 && h->prefix[0]) {
			n = strnlen(h->prefix, sizeof(h->prefix));
			memcpy(name, h->prefix, n);
			name[n++] = '/';
		}
		field_text(name + n, h->name, sizeof(h->name));
		field_text(link, h->link, h->type == '2' ? sizeof(h->link) : 0);
		r = add_member(t, h, *t->extension.name ? t->extension.name : name,
			       *t->extension.link ? t->extension.link : link, *at, size);
		*t->extension.name = *t->extension.link = '\0';
	}
	*at += TAR_RECORD + (size + TAR_RECORD - 1) / TAR_RECORD * TAR_RECORD;
	return r;
}

static int index_all(struct tar *t)
{
	static const struct tar_header zero;
	const struct tar_header *h;
	uint32_t cap = FIRST_NODES;
	long long at = 0;
	int r = 0;

	/* Most members are a header and a record. */
	while (cap < MEMBERS_MAX && cap < t->size / TAR_RECORD)
		cap *= 2;
	slots_widen(t, cap);
	while (r == 0) {
		/* An empty file has no bytes to point at. */
		if (at + TAR_RECORD > t->size)
			return wrong(t, at, "no end mark (truncated)", "");
		h = (const struct tar_header *)(t->plain + at);
		if (memcmp(h, &zero, sizeof(zero)) == 0)
			break;
		r = one_record(t, h, &at, t->size);
	}
	return r;
}

static int tar_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	struct tar *t = (struct tar *)s;
	const struct node *n;
	size_t want;
	int r = node_at(t, path, &n);

	if (r)
		return r;
	if (n->kind != HOST_FILE)
		return n->kind == HOST_LINK ? -ELOOP : -EISDIR;
	want = n->size > cap ? cap : n->size;
	r = read_at(t, buf, want, ((long long)n->at + 1) * TAR_RECORD);
	if (r == 0)
		*len = n->size > cap ? cap + 1 : want;
	return r;
}

static int tar_link(struct store *s, const char *path, char *buf, size_t cap)
{
	struct tar *t = (struct tar *)s;
	const struct node *n;
	const char *target;
	int r = node_at(t, path, &n);

	if (r)
		return r;
	if (n->kind != HOST_LINK)
		return -EINVAL;
	target = t->texts.s + n->at;
	if (strlen(target) >= cap)
		return -ENAMETOOLONG;
	strcpy(buf, target);
	return 0;
}

static int tar_list(struct store *s, const char *path, struct arena *a, char ***names, size_t *n)
{
	struct tar *t = (struct tar *)s;
	const struct node *dir;
	char **list = NULL;
	size_t count = 0;
	int r = node_at(t, path, &dir);

	if (r)
		return r;
	if (dir->kind != HOST_DIR)
		return -ENOTDIR;
	for (uint32_t c = dir->at; c; c = t->nodes[c].next) {
		ARENA_ADD(a, list, count) = arena_strdup(a, t->texts.s + t->nodes[c].name);
	}
	*names = list;
	*n = count;
	return 0;
}

static int tar_kind(struct store *s, const char *path, enum host_kind *out)
{
	const struct node *n;
	int r = node_at((struct tar *)s, path, &n);

	if (r == 0)
		*out = (enum host_kind)n->kind;
	return r;
}

static void tar_close(struct store *s)
{
	struct tar *t = (struct tar *)s;

	close(t->fd);
	if (t->mapped)
		munmap(t->plain, (size_t)t->mapped);
	else
		free(t->plain);
	free(t->nodes);
	free(t->slots);
	text_free(&t->texts);
	free(t->path);
	free(t);
}

static const struct store_ops tar_ops = {
	.read = tar_read,
	.link = tar_link,
	.list = tar_list,
	.kind = tar_kind,
	.close = tar_close,
};

struct store *store_open_tar(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	struct tar *t;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(e, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	t = heap_array(1, sizeof(*t));
	*t = (struct tar){ .store = { .ops = &tar_ops, .finds_links = true }, .fd = fd, .e = e };
	t->path = strdup(path);
	if (!t->path)
		out_of_memory(0);
	text_addc(&t->texts, '\0'); /* the root's name */
	node_add(t, (struct node){ .kind = HOST_DIR });
	if (!S_ISREG(st.st_mode))
		err_set(e, -EINVAL, "%s is neither a folder nor a tar", path);
	else if (st.st_size / TAR_RECORD > UINT32_MAX)
		err_set(e, -EFBIG, "%s is too large for a capture", path);
	else if (unpack(t, st.st_size) == 0 && index_all(t) == 0)
		return &t->store;
	tar_close(&t->store);
	return NULL;
}
