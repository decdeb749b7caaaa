/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a machine answered while it was recorded, the recording answers too: refusals, absences,
 * links and long files, asked in any order. The machine is a table, so that it can refuse what a
 * test as root cannot be refused. */
#include "box.h"

#include <stdbool.h>

#include "base/text.h"
#include "machine/host/record.h"
#include "machine/host/resolve.h"

enum { LONG_FILE = 9000, STEPS = 25, ROUNDS = 400 };
/* Apart from what the resolver itself makes of a missing folder. */
enum { NOT_THERE = -ENODEV };

struct thing {
	const char *path; /* without links */
	enum host_kind kind;
	const char *data; /* content, or a link's target; NULL: LONG_FILE bytes */
	int refused;	  /* reading it, or listing it */
};

static const struct thing things[] = {
	{ "/d", HOST_DIR, "", 0 },
	{ "/d/text", HOST_FILE, "one\n", 0 },
	{ "/d/empty", HOST_FILE, "", 0 },
	{ "/d/long", HOST_FILE, NULL, 0 },
	{ "/d/secret", HOST_FILE, "x", -EACCES },
	{ "/d/odd", HOST_FILE, "x", -ENODATA },
	{ "/d/rare", HOST_FILE, "x", -ENOBUFS },
	{ "/d/link", HOST_LINK, "text", 0 },
	{ "/d/up", HOST_LINK, "../e/far", 0 },
	{ "/d/gone", HOST_LINK, "/e/nothing", 0 },
	{ "/d/e", HOST_LINK, "/e", 0 },
	{ "/d/loop", HOST_LINK, "loop", 0 },
	{ "/d/tab\tand\nline", HOST_FILE, "x", -EACCES },
	{ "/e", HOST_DIR, "", 0 },
	{ "/e/far", HOST_FILE, "two\n", 0 },
	{ "/e/sub", HOST_DIR, "", 0 },
	{ "/e/sub/deep", HOST_FILE, "three", 0 },
	{ "/shut", HOST_DIR, "", -EACCES },
	{ "/bare", HOST_DIR, "", 0 },
};
enum { THINGS = sizeof(things) / sizeof(things[0]) };

static const char *const asked[] = {
	"/d",	       "/d/text",
	"/d/empty",    "/d/long",
	"/d/secret",   "/d/odd",
	"/d/rare",     "/d/link",
	"/d/up",       "/d/gone",
	"/d/e",	       "/d/e/far",
	"/d/e/sub",    "/d/e/sub/deep",
	"/d/loop",     "/d/loop/x",
	"/d/missing",  "/d/text/x",
	"/e",	       "/e/far",
	"/e/sub/none", "/e/sub",
	"/shut",       "/shut/x",
	"/bare",       "/bare/x/y",
	"/none",       "/none/x",
	"/d/gone/x",   "/",
	"/d/e/sub/..", "/d/../e/far",
	"/e/sub/deep", "/d/tab\tand\nline",
};
enum { ASKED = sizeof(asked) / sizeof(asked[0]) };

struct fake {
	struct host host;
	struct resolver resolver;
};

static const struct thing *thing_at(const char *phys)
{
	static const struct thing root = { "", HOST_DIR, "", 0 };

	if (!*phys)
		return &root;
	for (size_t i = 0; i < THINGS; i++)
		if (strcmp(things[i].path, phys) == 0)
			return &things[i];
	return NULL;
}

static int fake_phys_kind(void *ctx, const char *phys, enum host_kind *out)
{
	const struct thing *t = thing_at(phys);
	const struct thing *folder;
	char dir[256];

	(void)ctx;
	if (!t) {
		snprintf(dir, sizeof(dir), "%s", phys);
		if (!strrchr(dir, '/'))
			return NOT_THERE;
		*strrchr(dir, '/') = '\0';
		folder = thing_at(dir);
		return folder && folder->refused	    ? folder->refused
		       : folder && folder->kind != HOST_DIR ? -ENOTDIR
							    : NOT_THERE;
	}
	*out = t->kind;
	return 0;
}

static int fake_phys_link(void *ctx, const char *phys, char *buf, size_t cap)
{
	const struct thing *t = thing_at(phys);

	(void)ctx;
	if (!t || t->kind != HOST_LINK)
		return t ? -EINVAL : NOT_THERE;
	snprintf(buf, cap, "%s", t->data);
	return 0;
}

/* Where path leads, as the kernel would say it. */
static int fake_find(struct fake *f, const char *path, bool follow, const struct thing **out)
{
	char phys[HOST_PATH_MAX];
	int r = resolve_walk(&f->resolver, path, follow, phys, sizeof(phys));

	if (r)
		return r == NOT_THERE ? -ENOENT : r;
	*out = thing_at(phys);
	return 0;
}

static int fake_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	const struct thing *t = NULL;
	int r = fake_find((struct fake *)h, path, true, &t);
	size_t n;

	if (r)
		return r;
	if (t->kind == HOST_DIR)
		return -EISDIR;
	if (t->refused)
		return t->refused;
	n = t->data ? strlen(t->data) : LONG_FILE;
	*len = n > cap ? cap + 1 : n;
	for (size_t i = 0; i < n && i < cap; i++)
		buf[i] = t->data ? t->data[i] : (char)(i % 251);
	return 0;
}

static int fake_link(struct host *h, const char *path, char *buf, size_t cap)
{
	const struct thing *t = NULL;
	int r = fake_find((struct fake *)h, path, false, &t);

	return r ? r : fake_phys_link(NULL, t->path, buf, cap);
}

static int fake_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	const struct thing *t = NULL;
	int r = fake_find((struct fake *)h, path, true, &t);
	size_t len;

	if (r)
		return r;
	if (t->kind != HOST_DIR)
		return -ENOTDIR;
	if (t->refused)
		return t->refused;
	len = strlen(t->path);
	*names = NULL;
	*n = 0;
	for (size_t i = 0; i < THINGS; i++) {
		const char *p = things[i].path;

		if (strncmp(p, t->path, len) != 0 || p[len] != '/' || strchr(p + len + 1, '/'))
			continue;
		*names = arena_grow(a, *names, *n, sizeof(**names));
		(*names)[(*n)++] = arena_strdup(a, p + len + 1);
	}
	return 0;
}

static int fake_kind(struct host *h, const char *path, enum host_kind *out)
{
	const struct thing *t = NULL;
	int r = fake_find((struct fake *)h, path, false, &t);

	if (r == 0)
		*out = t->kind;
	return r;
}

static int fake_ask(struct host *h, const char *api, const char *object, const char *field,
		    struct answer *out)
{
	(void)h;
	(void)api;
	(void)object;
	if (strcmp(field, "int") == 0)
		*out = (struct answer){ .kind = ANSWER_INT, .i = INT64_MIN };
	else if (strcmp(field, "text") == 0)
		*out = (struct answer){ .kind = ANSWER_TEXT, .text = "tab\t\"quoted\"" };
	else if (strcmp(field, "bytes") == 0)
		*out = (struct answer){ .kind = ANSWER_TEXT, .text = "a\xffz" };
	else
		return -ENOTCONN;
	return 0;
}

static void fake_close(struct host *h)
{
	arena_free(&h->arena);
	free(h);
}

static const struct host_ops fake_ops = {
	.read = fake_read,
	.link = fake_link,
	.list = fake_list,
	.kind = fake_kind,
	.ask = fake_ask,
	.close = fake_close,
};

static struct host *fake_open(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->host.ops = &fake_ops;
	f->host.id = (struct host_identity){
		.nodename = "n", .release = "6", .version = "v", .machine = "m", .source = "live"
	};
	f->resolver = (struct resolver){
		.ctx = f, .kind = fake_phys_kind, .link = fake_phys_link, .arena = &f->host.arena
	};
	return &f->host;
}

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* The answer to a question as one text. */
static char *answer(struct host *h, struct arena *a, unsigned question)
{
	static const char *const fields[] = { "int", "text", "refused" };
	static const size_t caps[] = { 3, 4, 5, 64, 5000, 20000 };
	const char *path = asked[question / 16 % ASKED];
	char buf[HOST_PATH_MAX], *text, **names;
	enum host_kind kind;
	struct answer said;
	size_t n = 0;
	char *out;
	int r;

	switch (question % 16) {
	case 0:
	case 1:
		r = host_link(h, path, buf, sizeof(buf));
		return arena_printf(a, "link %s: %d %s", path, r, r ? "" : buf);
	case 2:
	case 3:
	case 4:
		r = host_kind(h, path, &kind);
		return arena_printf(a, "kind %s: %d %d", path, r, r ? -1 : (int)kind);
	case 5:
	case 6:
	case 7:
		r = host_list(h, path, a, &names, &n);
		out = arena_printf(a, "list %s: %d", path, r);
		for (size_t i = 0; r == 0 && i < n; i++)
			out = arena_printf(a, "%s <%s>", out, names[i]);
		return out;
	case 8:
		r = host_ask(h, "nvml", "0", fields[question / 16 % 3], &said);
		return arena_printf(a, "ask: %d %lld %s", r,
				    r || said.kind != ANSWER_INT ? 0 : said.i,
				    r || said.kind != ANSWER_TEXT ? "" : said.text);
	default:
		n = caps[question / 16 / ASKED % (sizeof(caps) / sizeof(caps[0]))];
		if (question % 2) {
			r = host_read_line(h, path, buf, n > sizeof(buf) ? sizeof(buf) : n);
			return arena_printf(a, "line %s in %zu: %d %s", path, n, r, r ? "" : buf);
		}
		r = host_read(h, path, n, a, &text, &n);
		out = arena_printf(a, "read %s: %d %zu", path, r, r ? 0 : n);
		for (size_t i = 0; r == 0 && i < n && i < 20; i++)
			out = arena_printf(a, "%s %02x", out, (unsigned char)text[i]);
		return out;
	}
}

static void one_round(uint64_t *seed, bool tar)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct host *h = record_open(fake_open());
	unsigned questions[STEPS];
	char *before[STEPS], *again, path[512];
	size_t n = 1 + next(seed) % STEPS;
	struct box box;

	box_make(&box);
	for (size_t i = 0; i < n; i++) {
		questions[i] = (unsigned)(next(seed) >> 20);
		before[i] = answer(h, &a, questions[i]);
	}
	if (record_save(h, box_path(&box, tar ? "c.tar" : "c", path, sizeof(path)), false, &e))
		fail_msg("%s", e.text);
	host_close(h);
	h = host_open_capture(path, &e);
	if (!h)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < n; i++) {
		again = answer(h, &a, questions[i]);
		if (strcmp(before[i], again) == 0)
			continue;
		for (size_t k = 0; k < n; k++)
			fprintf(stderr, "  asked: %s\n", before[k]);
		fail_msg("machine:   %s\nrecording: %s", before[i], again);
	}
	host_close(h);
	box_remove(&box);
	arena_free(&a);
}

static void test_law(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15u;

	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		one_round(&seed, i % 2);
}

/* Bytes that are not UTF-8, in what was asked about, in what was asked and in what was answered. */
static void test_bytes(void **state)
{
	struct host *h = record_open(fake_open());
	struct err e = { 0 };
	struct answer got;
	struct box box;
	char path[512];

	(void)state;
	assert_int_equal(host_ask(h, "statfs", "/mnt/\xe9t\xe9", "int", &got), 0);
	assert_int_equal(host_ask(h, "statfs", "/mnt/\xe9t\xe9", "\xff", &got), -ENOTCONN);
	assert_int_equal(host_ask(h, "statfs", "/mnt/\xe9t\xe9", "bytes", &got), 0);
	box_make(&box);
	assert_int_equal(record_save(h, box_path(&box, "c", path, sizeof(path)), false, &e), 0);
	host_close(h);
	h = host_open_capture(path, &e);
	assert_non_null(h);
	assert_int_equal(host_ask(h, "statfs", "/mnt/\xe9t\xe9", "int", &got), 0);
	assert_true(got.i == INT64_MIN);
	assert_int_equal(host_ask(h, "statfs", "/mnt/\xe9t\xe9", "\xff", &got), -ENOTCONN);
	assert_int_equal(host_ask(h, "statfs", "/mnt/\xe9t\xe9", "bytes", &got), 0);
	assert_string_equal(got.text, "a\xef\xbf\xbdz");
	assert_int_equal(host_ask(h, "statfs", "/mnt/\xe9t", "bytes", &got), HOST_NOT_CAPTURED);
	host_close(h);
	box_remove(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_law),
					    cmocka_unit_test(test_bytes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
