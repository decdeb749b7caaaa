/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what other programs told: sftp of the folder that wheels are copied into ('l': a
 * listing, then a manifest behind a NUL), the process that measures one side of a comparison ('c',
 * its exit status, what it printed, and behind a NUL what it complained of), the report of the
 * last boot ('b'), and the requests of a confined reader, which may be anything ('q').
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/host/asked.h"
#include "tune/txn/results.h"
#include "verbs/stack/stack.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Every wheel and the manifest get their names at the end, whatever was said. */
static void listing(struct arena *a, char *list, const char *manifest)
{
	static struct house_wheel wheels[] = {
		{ .file = "a-1.0-py3-none-any.whl",
		  .size = 1234,
		  .sha256 = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8" },
		{ .file = "b_c-2-cp312-cp312-linux_aarch64.whl",
		  .size = 1ull << 33,
		  .sha256 = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4" },
	};
	struct wheelhouse h = { .wheels = wheels, .n = 2, .is_signed = *list == 's' };
	struct over_there t = { .list = list };
	const struct sync_pair pair = { &h, "here", "/there" };
	TEXT_AUTO out = { 0 };
	struct err e = { 0 };
	size_t lines = 0;

	manifest_read(a, manifest, strlen(manifest), &t.house, &e);
	sync_lines(a, &pair, &t, &out);
	if (!strstr(out.s,
		    "rename /there/." WHEELHOUSE_MANIFEST ".new /there/" WHEELHOUSE_MANIFEST "\n"))
		abort();
	for (const char *s = out.s; *s; s++)
		lines += *s == '\n';
	if (lines > 9)
		abort();
}

static void answer(struct arena *a, int status, char *output, char *errors)
{
	const struct library_variant side = { .folder = "/opt/a",
					      .file = "/opt/a/libcublas.so.12" };
	const struct command_result said = { .output = output, .errors = errors, .status = status };
	struct compare_reading r = { 0 };
	struct err e = { 0 };
	int code = compare_answer(a, &side, &said, &r, &e);

	if (code ? !*e.text
		 : status || !r.n || r.n > VERSUS_FIGURES || !r.name || !(r.figures[0].value > 0))
		abort();
	for (size_t i = 0; code == 0 && i < r.n; i++)
		if (!r.figures[i].is.key || !r.figures[i].is.title || !isfinite(r.figures[i].value))
			abort();
}

static void report(struct arena *a, const char *text, size_t n)
{
	struct boot_report b;
	size_t sum = 0;

	if (boot_report_read(a, text, n, &b)) {
		for (size_t i = 0; i < b.verify.n; i++)
			if (!b.verify.rows[i].id || !b.verify.rows[i].knob.name)
				abort();
		for (int s = 0; s <= VERIFY_UNKNOWN; s++)
			sum += b.verify.count[s];
		if (sum != b.verify.n)
			abort();
	}
}

/* --- requests --------------------------------------------------------------------------------- */

/* Whatever is asked for is asked of the machine by a path from the root. */
static int path_holds(const char *path)
{
	size_t n = strlen(path);

	if (*path != '/' || n >= HOST_PATH_MAX)
		abort();
	return n % 3 ? 0 : -ENOENT;
}

static int read_some(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	(void)h;
	*len = strlen(path) * 100;
	memset(buf, 'x', *len < cap ? *len : cap);
	return path_holds(path);
}

static int link_some(struct host *h, const char *path, char *buf, size_t cap)
{
	(void)h;
	strncpy(buf, path, cap);
	return path_holds(path);
}

static int list_some(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	(void)h;
	*n = strlen(path) % 7;
	*names = arena_array(a, *n, sizeof(**names));
	for (size_t i = 0; i < *n; i++)
		(*names)[i] = arena_strdup(a, path + i % 2);
	return path_holds(path);
}

static int kind_of(struct host *h, const char *path, enum host_kind *out)
{
	(void)h;
	*out = HOST_DIR;
	return path_holds(path);
}

static int stat_of(struct host *h, const char *path, struct host_stat *out)
{
	(void)h, (void)path;
	*out = (struct host_stat){ .kind = HOST_FILE, .mode = 0644, .links = 1 };
	return 0;
}

static int ask_some(struct host *h, const char *api, const char *object, const char *field,
		    struct answer *out)
{
	bool text = strlen(field) % 2;

	if (strlen(api) + strlen(object) + strlen(field) >= 3 * HOST_PATH_MAX)
		abort();
	*out = (struct answer){ .kind = text ? ANSWER_TEXT : ANSWER_INT, .i = 7 };
	out->text = text ? arena_strdup(&h->arena, object) : NULL;
	return 0;
}

/* Into a pipe, which takes that many bytes at once; answers go nowhere. */
static void requests(const unsigned char *data, size_t size)
{
	static const struct host_ops ops = { .read = read_some,
					     .link = link_some,
					     .list = list_some,
					     .kind = kind_of,
					     .stat = stat_of,
					     .ask = ask_some };
	struct host h = { .ops = &ops };
	int ends[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), r;

	size = size < 65536 ? size : 65536;
	if (nowhere < 0 || pipe(ends) || write(ends[1], data, size) != (ssize_t)size)
		abort();
	close(ends[1]);
	while ((r = host_answer_one(&h, ends[0], nowhere)) == 0)
		;
	if (r != -EPIPE && r != -EPROTO)
		abort();
	close(ends[0]);
	close(nowhere);
	arena_free(&h.arena);
}

/* Of its own size: a byte too far is seen. */
static char *copy(const unsigned char *from, size_t n)
{
	char *out = strndup((const char *)from, n);

	if (!out)
		abort();
	return out;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	char *text, *second;
	size_t n;

	if (size < 2)
		return 0;
	text = copy(data + 2, size - 2);
	n = 2 + strlen(text) + 1;
	second = n < size ? copy(data + n, size - n) : copy(data, 0);
	switch (*data) {
	case 'l':
		listing(&a, text, second);
		break;
	case 'c':
		answer(&a, data[1], text, second);
		break;
	case 'b':
		report(&a, text, strlen(text));
		break;
	case 'q':
		requests(data + 2, size - 2);
		break;
	default:
		break;
	}
	free(text);
	free(second);
	arena_free(&a);
	return 0;
}
