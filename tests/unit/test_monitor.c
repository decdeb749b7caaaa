/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at captured machines, recordings that are whole, cut and wrong, and the page of a look. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "look/monitor/recording.h"
#include "look/probe/probe.h"
#include "render/display_text.h"
#include "look/monitor/page_monitor.h"

static char folder[64];

static void assert_near(double got, double wanted, double within)
{
	if (!(fabs(got - wanted) <= within))
		fail_msg("%.12g, not %.12g", got, wanted);
}

static const char *file_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

struct sight_of {
	struct arena a;
	struct host *h;
	struct monitor mon;
	struct monitor_state state;
};

static void see(struct sight_of *s, const char *machine)
{
	char path[512];
	struct err e = { 0 };
	struct machine *m;
	struct probe p;

	memset(s, 0, sizeof(*s));
	snprintf(path, sizeof(path), MACHINES "/%s", machine);
	s->h = host_open_capture(path, &e);
	if (!s->h)
		fail_msg("%s", e.text);
	m = ARENA_NEW(&s->a, struct machine);
	p = (struct probe){ .h = s->h, .a = &s->a, .m = m };
	probe_machine(&p);
	monitor_make(&s->a, s->h, m, &s->mon);
}

static void unsee(struct sight_of *s)
{
	monitor_state_free(&s->state);
	host_close(s->h);
	arena_free(&s->a);
}

/* Two looks a second apart. */
static struct instant instant_two(const struct monitor *mon, double *before, const double *now)
{
	return (struct instant){ .mon = mon,
				 .at_s = 2,
				 .before_s = 1,
				 .now = now,
				 .before = before,
				 .beats = {
					 { 2, 1, before }, { 2, 1, before }, { 2, 1, before } } };
}

/* --- looks ------------------------------------------------------------------------------------ */

static void test_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < column_types_n; i++) {
		assert_ptr_equal(column_type_find(column_types[i].name), &column_types[i]);
		assert_non_null(strchr(column_types[i].name, '.'));
		assert_non_null(strchr(column_types[i].metric, '_'));
		assert_true(column_types[i].factor > 0);
	}
}

static void test_machines(void **state)
{
	static const char *const names[] = { "h200-x4",	 "hgx-h100", "dgx-spark",
					     "igx-orin", "cpu-256",  "nothing" };
	static const size_t gpus[] = { 4, 8, 1, 1, 0, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sight_of s;
		double *values;

		see(&s, names[i]);
		assert_int_equal(s.mon.machine.n_gpus, gpus[i]);
		values = arena_array(&s.a, s.mon.n + 1, sizeof(*values));
		values[s.mon.n] = 42;
		monitor_look(&s.mon, s.h, &s.state, 100, values);
		/* No look fills more columns than it has. */
		assert_true(values[s.mon.n] >= 42 && values[s.mon.n] <= 42);
		for (size_t k = 0; k < s.mon.n; k++)
			assert_true(isnan(values[k]) || values[k] >= 0);
		for (size_t k = 0; k < gpus[i]; k++) {
			char target[32];
			long at;

			snprintf(target, sizeof(target), "gpu%zu", k);
			at = monitor_find(&s.mon, "gpu.sm-clock", target);
			assert_true(at >= 0);
			assert_true(values[at] >= 0);
		}
		unsee(&s);
	}
}

/* A door that answers as the machine does, but for one question. */
struct hushed {
	struct host host;
	struct host *behind;
	const char *hushed; /* NULL: all are answered */
	int with;
};

static int hushed_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	struct host *behind = ((struct hushed *)h)->behind;

	return behind->ops->read(behind, path, buf, cap, len);
}

static int hushed_ask(struct host *h, const char *api, const char *object, const char *field,
		      struct answer *out)
{
	const struct hushed *x = (struct hushed *)h;

	if (x->hushed && strcmp(field, x->hushed) == 0)
		return x->with;
	return x->behind->ops->ask(x->behind, api, object, field, out);
}

/* Half of a total at one look and all of it at the next would be a rate that nothing had. */
static void test_half_a_total(void **state)
{
	static const char hardware[] =
		"nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN)";
	static const struct host_ops ops = { .read = hushed_read, .ask = hushed_ask };
	struct sight_of s;
	struct hushed door;
	double *values;
	long at;

	(void)state;
	see(&s, "hgx-h100");
	door = (struct hushed){ .host = { .ops = &ops }, .behind = s.h };
	values = arena_array(&s.a, s.mon.n, sizeof(*values));
	at = monitor_find(&s.mon, "gpu.warm", "gpu0");
	assert_true(at >= 0);
	monitor_look(&s.mon, &door.host, &s.state, 100, values);
	assert_near(values[at], 0, 0);
	door.hushed = hardware;
	door.with = -EIO;
	monitor_look(&s.mon, &door.host, &s.state, 200, values);
	assert_true(isnan(values[at]));
	/* What is never counted is no half. */
	door.with = -EOPNOTSUPP;
	monitor_look(&s.mon, &door.host, &s.state, 300, values);
	assert_near(values[at], 0, 0);
	arena_free(&door.host.arena);
	unsee(&s);
}

/* What the GPU shares with its host is not told as memory of its own. */
static void test_unified(void **state)
{
	struct sight_of s;

	(void)state;
	see(&s, "dgx-spark");
	assert_true(s.mon.machine.gpus[0].integrated);
	unsee(&s);
}

/* --- instants --------------------------------------------------------------------------------- */

static const struct column_of two[] = { { NULL, "", false }, { NULL, "eth0", false } };

static struct monitor pair_of(struct column_of *room)
{
	memcpy(room, two, sizeof(two));
	room[0].type = column_type_find("memory.dirty");
	room[1].type = column_type_find("net.received");
	return (struct monitor){ .machine = { .name = "here" }, .columns = room, .n = 2 };
}

static void test_frames(void **state)
{
	struct column_of room[2];
	struct monitor mon = pair_of(room);
	double before[] = { 5, 1000 }, now[] = { 7, 3000 };
	struct instant f = {
		.mon = &mon, .at_s = 12, .before_s = 10, .now = now, .before = before
	};

	(void)state;
	assert_near(instant_value(&f, "memory.dirty", ""), 7, 1e-9);
	assert_near(instant_value(&f, "net.received", "eth0"), 1000, 1e-9);
	assert_true(isnan(instant_value(&f, "net.received", "eth1")));
	/* A driver was loaded again: no rate, and no huge one. */
	now[1] = 10;
	assert_true(isnan(instant_value(&f, "net.received", "eth0")));
	f.before = NULL;
	assert_true(isnan(instant_value(&f, "net.received", "eth0")));
	/* What is slow is compared with when it was asked before. */
	room[1].beat = BEAT_SLOW;
	now[1] = 3000;
	f.beats[BEAT_SLOW] = (struct beat_asked){ 11, 10, before };
	assert_near(instant_value(&f, "net.received", "eth0"), 2000, 1e-9);
}

/* --- recordings ------------------------------------------------------------------------------- */

struct tally {
	size_t rows;
	int64_t ms;
	double last[2];
};

static bool count(void *ctx, int64_t ms, const double *values)
{
	struct tally *t = ctx;

	assert_true(ms >= t->ms);
	t->ms = ms;
	t->rows++;
	memcpy(t->last, values, sizeof(t->last));
	return true;
}

static void write_one(const char *path, size_t rows)
{
	static char *const words[] = { "train", "a b", "", NULL };
	struct recording_end end = { true, 3, 0.25, 7.5, rows };
	struct column_of room[2];
	struct monitor_gpu g = { .name = "GPU of \"tests\"",
				 .sm_max_mhz = 1980,
				 .lock_low_mhz = -1,
				 .lock_high_mhz = -1,
				 .power_limit_w = 700,
				 .memory_bytes = 1e11,
				 .slowdown_c = 87 };
	struct monitor mon = pair_of(room);
	struct recorder *r;
	struct err e = { 0 };

	mon.machine.gpus = &g;
	mon.machine.n_gpus = 1;
	r = recorder_open(path, &mon, words, 1700000000, 500, &e);
	if (!r)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < rows; i++) {
		double v[] = { i % 3 == 2 ? NAN : (double)(i / 4), 1e9 + 1.5 * (double)i };

		assert_int_equal(recorder_row(r, (int64_t)i * 500, v), 0);
	}
	assert_int_equal(recorder_close(r, &end), 0);
}

static void test_round(void **state)
{
	const char *path = file_of("round");
	struct recording rec;
	struct tally t = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	struct stat st;

	(void)state;
	write_one(path, 1000);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(recording_read(&a, path, &rec, count, &t, &e), 0);
	assert_int_equal(t.rows, 1000);
	assert_true(rec.end.whole);
	assert_int_equal(rec.end.rows, 1000);
	assert_int_equal(rec.end.status, 3);
	assert_near(rec.end.command_cpu_s, 7.5, 1e-9);
	assert_near(t.last[0], 249, 1e-9);
	assert_near(t.last[1], 1e9 + 1.5 * 999, 1e-6);
	assert_int_equal(rec.started_s, 1700000000);
	assert_string_equal(rec.command[1], "a b");
	assert_null(rec.command[3]);
	assert_string_equal(rec.mon.machine.gpus[0].name, "GPU of \"tests\"");
	assert_true(rec.mon.machine.gpus[0].lock_low_mhz < 0);
	assert_int_equal(rec.mon.columns[1].type->kind, COLUMN_TOTAL);
	/* Nobody's file is overwritten. */
	assert_null(recorder_open(path, &rec.mon, NULL, 0, 500, &e));
	assert_non_null(strstr(e.text, path));
	arena_free(&a);
}

static void put(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

/* Cut anywhere, what was there before the cut is read, and it is no error once it has a head. */
static void test_cut(void **state)
{
	char data[1 << 16];
	size_t n, last = 0, readable = 0;
	FILE *f;

	(void)state;
	write_one(file_of("whole"), 40);
	f = fopen(file_of("whole"), "re");
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t cut = 0; cut < n; cut++) {
		struct recording rec;
		struct tally t = { 0 };
		struct arena a = { 0 };
		struct err e = { 0 };
		int r;

		put(file_of("cut"), data, cut);
		r = recording_read(&a, file_of("cut"), &rec, count, &t, &e);
		assert_true(r == 0 || r == -EBADMSG);
		assert_true(t.rows >= last);
		/* What is cut may be the checksum behind the last line alone. */
		assert_false(r == 0 && rec.end.whole && cut + 8 < n);
		readable += r == 0;
		last = t.rows;
		arena_free(&a);
	}
	/* Rows are flushed every second: all but the last seconds survive. */
	assert_true(last >= 36);
	assert_true(readable > n / 2);
}

/* Where power failed, zeros may stand for what was written last: what was before them is read. */
static void test_torn(void **state)
{
	char data[1 << 16], zeros[1 << 12] = { 0 };
	size_t n;
	FILE *f;

	(void)state;
	write_one(file_of("untorn"), 40);
	f = fopen(file_of("untorn"), "re");
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t cut = 0; cut + 8 < n; cut++) {
		struct recording rec;
		struct tally cut_off = { 0 }, torn = { 0 };
		struct arena a = { 0 };
		struct err e = { 0 };
		int r;

		put(file_of("torn"), data, cut);
		r = recording_read(&a, file_of("torn"), &rec, count, &cut_off, &e);
		f = fopen(file_of("torn"), "ae");
		assert_int_equal(fwrite(zeros, 1, sizeof(zeros), f), sizeof(zeros));
		fclose(f);
		if (r == 0 && recording_read(&a, file_of("torn"), &rec, count, &torn, &e))
			fail_msg("cut at %zu of %zu: %s", cut, n, e.text);
		assert_true(r != 0 || torn.rows >= cut_off.rows);
		arena_free(&a);
	}
}

#define HEAD                                                                                       \
	"{\"schema\":\"gputune.recording/1\",\"started_s\":1,\"interval_ms\":500,"                 \
	"\"machine\":{\"name\":\"x\",\"gpus\":[]},\"columns\":["                                   \
	"{\"name\":\"memory.dirty\",\"target\":\"\",\"unit\":\"bytes\",\"kind\":\"gauge\"},"       \
	"{\"name\":\"later.thing\",\"target\":\"a\",\"unit\":\"m\",\"kind\":\"total\"}]}\n"

static int read_text(const char *text, struct recording *rec, struct tally *t, struct err *e)
{
	char packed[1 << 14];
	size_t n = ZSTD_compress(packed, sizeof(packed), text, strlen(text), 3);
	struct arena a = { 0 };
	int r;

	assert_false(ZSTD_isError(n));
	put(file_of("text"), packed, n);
	r = recording_read(&a, file_of("text"), rec, count, t, e);
	arena_free(&a);
	return r;
}

static void test_wrong(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "text: not a recording, or truncated within the first line" },
		{ "nothing\n", "line 1: not JSON" },
		{ "[1]\n", "line 1: not a recording" },
		{ "{\"schema\":\"gputune.bench/1\"}\n", "line 1: not a recording" },
		{ HEAD "[0,0]\n", "line 2: a row must be" },
		{ HEAD "[0,2,1]\n", "line 2: unknown column" },
		{ HEAD "[0,-1,1]\n", "line 2: unknown column" },
		{ HEAD "[0,0,\"a\"]\n", "line 2: unknown column" },
		{ HEAD "[5,0,1]\n[4,0,1]\n", "line 3: the time" },
		{ HEAD "[-1,0,1]\n", "line 2: the time" },
		{ HEAD "[99999999999999,0,1]\n", "line 2: the time" },
		{ HEAD "[0,0,1]\n{\"rows\":2}\n", "line 3: rows are missing" },
		{ HEAD "[0,0,1]\n{\"rows\":1}\n[1,0,1]\n", "line 4: data after" },
		{ "{\"schema\":\"gputune.recording/1\",\"machine\":{},\"columns\":[]}\n",
		  "no columns" },
		{ "{\"schema\":\"gputune.recording/1\",\"machine\":{},\"columns\":[{\"name\":"
		  "\"memory.dirty\",\"target\":\"\",\"unit\":\"s\",\"kind\":\"gauge\"}]}\n",
		  "a column has an unexpected unit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct recording rec;
		struct tally t = { 0 };
		struct err e = { 0 };

		assert_int_equal(read_text(rows[i].text, &rec, &t, &e), -EBADMSG);
		if (!strstr(e.text, rows[i].says))
			fail_msg("%s: \"%s\"", rows[i].says, e.text);
	}
}

/* A column of a later version is kept; what is not told any more is not told. */
static void test_later(void **state)
{
	struct recording rec;
	struct tally t = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(read_text(HEAD "[0,0,5,1,7]\n[500,0,null]\n{\"rows\":2}\n", &rec, &t, &e),
			 0);
	assert_int_equal(t.rows, 2);
	assert_true(isnan(t.last[0]));
	assert_near(t.last[1], 7, 1e-9);
	assert_true(rec.end.whole);
	assert_int_equal(rec.end.status, -1);
}

/* Any single byte may be another one. */
static void test_flipped(void **state)
{
	char data[1 << 16];
	size_t n;
	FILE *f;

	(void)state;
	write_one(file_of("flip"), 20);
	f = fopen(file_of("flip"), "re");
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t i = 0; i < n; i++) {
		struct recording rec;
		struct tally t = { 0 };
		struct arena a = { 0 };
		struct err e = { 0 };

		data[i] = (char)(data[i] ^ (1 << (int)(i % 8)));
		put(file_of("flipped"), data, n);
		recording_read(&a, file_of("flipped"), &rec, count, &t, &e);
		data[i] = (char)(data[i] ^ (1 << (int)(i % 8)));
		arena_free(&a);
	}
}

/* --- pages ------------------------------------------------------------------------------------ */

static void test_page(void **state)
{
	static const char *const names[] = { "h200-x4", "hgx-h100", "dgx-spark", "cpu-256",
					     "nothing" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int width = 40; width <= 200; width += 20) {
			struct term_style how = { .width = width, .ascii = true };
			struct monitor_head head = { "10:22:31", "every 1 s", NULL };
			TEXT_AUTO page = { 0 };
			struct sight_of s;
			double *v;

			see(&s, names[i]);
			v = arena_array(&s.a, s.mon.n + 1, sizeof(*v));
			monitor_look(&s.mon, s.h, &s.state, 100, v);
			struct instant f = instant_two(&s.mon, v, v),
				       first = { .mon = &s.mon, .now = v };

			monitor_page(&f, &first, &head, &how, &page);
			for (char *line = page.s, *end; *line; line = end + 1) {
				end = strchr(line, '\n');
				assert_non_null(end);
				*end = '\0';
				assert_true(display_width(line) <= (size_t)width);
			}
			unsee(&s);
		}
}

/* What goes over a GPU's links, who uses it, and a terminal that is too narrow for it. */
static void test_links_and_users(void **state)
{
	struct monitor_gpu gpu = { .index = 0,
				   .name = "NVIDIA H200",
				   .sm_max_mhz = 1980,
				   .lock_low_mhz = 1200,
				   .lock_high_mhz = 1500 };
	struct column_of columns[] = { { column_type_find("gpu.pcie-received"), "gpu0", true },
				       { column_type_find("gpu.pcie-sent"), "gpu0", true },
				       { column_type_find("gpu.nvlink-received"), "gpu0", true },
				       { column_type_find("gpu.nvlink-sent"), "gpu0", true } };
	struct monitor mon = { .machine = { .name = "here", .gpus = &gpu, .n_gpus = 1 },
			       .columns = columns,
			       .n = 4 };
	double before[] = { 0, 5e9, 0, NAN }, now[] = { 55.5e9, 6e9, 360e9, NAN };
	struct monitor_processes users = { .n = 12, .left_out = 3 };
	struct instant f = instant_two(&mon, before, now);
	struct term_style how = { .width = 100 };
	struct monitor_head head = { "now", NULL, NULL };
	TEXT_AUTO page = { 0 }, line = { 0 };
	struct arena a = { 0 };
	json_t *j;

	(void)state;
	for (int i = 0; i < 12; i++) {
		users.items[i] = (struct monitor_process){ .pid = 100 + i,
							   .kind = "compute",
							   .command = "python3",
							   .memory = 0x1p30 * (12 - i) };
	}
	users.items[1] = (struct monitor_process){ .pid = 7, .kind = "graphics", .memory = NAN };
	f.users = &users;
	monitor_page(&f, &f, &head, &how, &page);
	assert_non_null(strstr(page.s, "locked to 1200-1500 MHz"));
	assert_non_null(strstr(page.s, "PCIe  in     56 GB/s  out   1.00 GB/s"));
	assert_non_null(strstr(page.s, "NVLink  in    360 GB/s\n"));
	assert_non_null(strstr(page.s, "12.0  python3"));
	assert_non_null(strstr(page.s, "not visible"));
	assert_non_null(strstr(page.s, "and 7 more"));
	assert_null(strstr(page.s, "left out: "));
	monitor_line_add(monitor_line_make(&a, &mon), &f, 5, &line);
	j = json_loads(line.s, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(j);
	assert_int_equal(json_array_size(json_object_get(j, "processes")), 12);
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(j, "processes"), 1), "command")));
	json_decref(j);
	arena_free(&a);
	text_clear(&page);
	how.width = 40;
	monitor_page(&f, &f, &head, &how, &page);
	assert_non_null(strstr(page.s, " beyond 40 columns"));
}

static void page_of_gpus(struct monitor_gpu *gpus, size_t n, int width, struct text *page)
{
	struct monitor mon = { .machine = { .name = "here", .gpus = gpus, .n_gpus = n } };
	double v[1] = { 0 };
	struct instant f = instant_two(&mon, v, v);
	struct term_style how = { .width = width };
	struct monitor_head head = { "now", NULL, NULL };

	text_clear(page);
	monitor_page(&f, &f, &head, &how, page);
}

/* Names that begin alike are told apart where there is room, and in the least that a terminal has;
 * what they are made of breaks no column. */
static void test_names(void **state)
{
	struct monitor_gpu gpus[] = {
		{ .index = 0, .name = "NVIDIA RTX PRO 6000 Blackwell Server Edition" },
		{ .index = 1, .name = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition" },
		{ .index = 2, .name = "NVIDIA A100-SXM4-80GB" },
	};
	struct monitor_gpu strange[] = {
		{ .index = 0, .name = "NVIDIA " },
		{ .index = 1, .name = NULL },
		{ .index = 2,
		  .name = "\033[2J \xc3\xa9\xc3\xa9\xff GPU of a machine that says anything" },
	};
	TEXT_AUTO page = { 0 };

	(void)state;
	page_of_gpus(gpus, 3, 120, &page);
	assert_non_null(strstr(page.s, "  0 RTX PRO 6000 Blackwell Server Edition       "));
	assert_non_null(strstr(page.s, "  1 RTX PRO 6000 Blackwell Workstation Edition  "));
	assert_non_null(strstr(page.s, "  2 A100-SXM4-80GB     "));
	page_of_gpus(gpus, 3, 80, &page);
	assert_non_null(strstr(page.s, "  0 RTX PRO 6000 Blackwell S "));
	assert_non_null(strstr(page.s, "  1 RTX PRO 6000 Blackwell W "));
	assert_null(strstr(page.s, "omitted"));
	for (int width = 20; width < 200; width++) {
		page_of_gpus(strange, 3, width, &page);
		assert_null(strchr(page.s, '\033'));
		for (char *line = page.s, *end; *line; line = end + 1) {
			end = strchr(line, '\n');
			*end = '\0';
			assert_true(display_width(line) <= (size_t)width);
		}
	}
}

static void test_hostile(void **state)
{
	struct column_of room[2];
	struct monitor mon = pair_of(room);
	double v[] = { 1, 2 };
	struct instant f = instant_two(&mon, v, v);
	struct term_style how = { .width = 80 };
	struct monitor_head head = { "now", NULL, NULL };
	TEXT_AUTO page = { 0 };

	(void)state;
	room[1].target = "e\033[2J\"\\\n0";
	mon.machine.name = "\033]0;title\007";
	monitor_page(&f, &f, &head, &how, &page);
	assert_null(strchr(page.s, '\033'));
	assert_null(strchr(page.s, '\007'));
}

static char *exposed(const struct instant *now, enum exposition how)
{
	char *out = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	monitor_exposition(f, now, how);
	fclose(f);
	assert_non_null(strstr(out, "# TYPE gputune_gpu_power_watts gauge\n"));
	assert_non_null(strstr(out, "gputune_gpu_power_watts{gpu=\"3\"} "));
	assert_null(strstr(strstr(out, "# TYPE gputune_gpu_power_watts") + 1,
			   "# TYPE gputune_gpu_power_watts"));
	assert_non_null(strstr(out, "\ngputune_gpu_power_cap_seconds_total{gpu=\"0\"} "));
	return out;
}

static void test_metrics(void **state)
{
	struct sight_of s;
	char *out;
	double *v;

	(void)state;
	see(&s, "h200-x4");
	v = arena_array(&s.a, s.mon.n + 1, sizeof(*v));
	monitor_look(&s.mon, s.h, &s.state, 100, v);
	struct instant now = instant_two(&s.mon, v, v);

	/* There a counter is called as its samples are; here without the end of their name. */
	out = exposed(&now, EXPOSITION_TEXT);
	assert_non_null(strstr(out, "# TYPE gputune_gpu_power_cap_seconds_total counter\n"));
	assert_null(strstr(out, "# UNIT"));
	assert_null(strstr(out, "# EOF"));
	free(out);
	out = exposed(&now, EXPOSITION_OPENMETRICS);
	assert_non_null(strstr(out, "# TYPE gputune_gpu_power_cap_seconds counter\n"));
	assert_non_null(strstr(out, "# UNIT gputune_gpu_power_cap_seconds seconds\n"));
	assert_string_equal(out + strlen(out) - 6, "# EOF\n");
	free(out);
	unsee(&s);
}

static void test_reasons(void **state)
{
	TEXT_AUTO t = { 0 };

	(void)state;
	monitor_reasons(0x4 | 0x20, &t);
	assert_string_equal(t.s, "thermal, power cap");
	text_clear(&t);
	monitor_reasons(NAN, &t);
	assert_int_equal(t.len, 0);
}

static int begin(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/gputune-monitor-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_half_a_total),
		cmocka_unit_test(test_unified),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_links_and_users),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
