/* SPDX-License-Identifier: Apache-2.0 */
/* A machine recorded while it is probed and checked, saved and opened again, is the same machine;
 * and the sink. */
#include "box.h"

#include <jansson.h>
#include <stdbool.h>

#include "machine/host/record.h"
#include "machine/host/sink.h"
#include "machine/knob/io.h"
#include "look/probe/probe.h"
#include "look/settings/check.h"

static const char *const machines[] = { "dgx-spark", "cpu-256", "hgx-h100", "igx-orin", "nothing" };

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct host *capture_open(const char *path)
{
	struct err e = { 0 };
	struct host *h = host_open_capture(path, &e);

	if (!h)
		fail_msg("%s", e.text);
	return h;
}

/* All facts as JSON. */
static char *facts(struct host *h, struct arena *a)
{
	struct probe p = { .h = h, .a = a, .m = ARENA_NEW(a, struct machine), .deep = true };
	char *text, *copy;
	json_t *j;

	probe_machine(&p);
	/* The only fact that is about the capture and not about the machine. */
	p.m->captured = (struct fact_int){ 0 };
	j = shape_object_json(&machine_shape, p.m);
	text = json_dumps(j, JSON_INDENT(1));
	assert_non_null(text);
	json_decref(j);
	copy = arena_strdup(a, text);
	free(text);
	return copy;
}

/* All verdicts as lines. */
static char *verdicts(struct host *h, struct arena *a)
{
	struct probe p = { .h = h, .a = a, .m = ARENA_NEW(a, struct machine), .deep = true };
	struct profile profile;
	struct findings f;
	struct err e = { 0 };
	char *buf = NULL;
	size_t n;
	FILE *out = open_memstream(&buf, &n);
	char *text;

	assert_non_null(out);
	probe_machine(&p);
	assert_int_equal(profile_load(a, "default", &profile, &e), 0);
	settings_check(a, p.m, &profile, read_knob, h, &f);
	for (size_t i = 0; i < f.n; i++)
		fprintf(out, "%s %s %d %s %s %s\n", f.items[i].s->id, f.items[i].target,
			f.items[i].v.kind, f.items[i].v.code,
			f.items[i].v.current ? f.items[i].v.current : "-", f.items[i].v.reason);
	fclose(out);
	text = arena_strdup(a, buf);
	free(buf);
	return text;
}

/* The first difference, because whole machines are too long to read. */
static void same(const char *what, const char *x, const char *y)
{
	size_t at = 0, from;

	if (strcmp(x, y) == 0)
		return;
	while (x[at] == y[at])
		at++;
	from = at > 300 ? at - 300 : 0;
	fail_msg("%s differ:\n--- before\n%.500s\n--- after\n%.500s", what, x + from, y + from);
}

static void round_trip(const char *machine, bool tar)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct host *h = capture_open(arena_printf(&a, MACHINES "/%s", machine));
	char path[512], *before = facts(h, &a), *judged = verdicts(h, &a);
	struct box box;

	box_make(&box);
	box_path(&box, tar ? "c.tar" : "c", path, sizeof(path));
	h = record_open(h);
	same("facts seen through a recorder", before, facts(h, &a));
	same("verdicts seen through a recorder", judged, verdicts(h, &a));
	if (record_save(h, path, false, &e))
		fail_msg("%s", e.text);
	host_close(h);
	h = capture_open(path);
	same(machine, before, facts(h, &a));
	same(machine, judged, verdicts(h, &a));
	host_close(h);
	arena_free(&a);
	box_remove(&box);
}

static void test_folder(void **state)
{
	(void)state;
	/* Thousands of small files take seconds: the first machine and the empty one here, all of
	 * them as tars. */
	round_trip("dgx-spark", false);
	round_trip("nothing", false);
}

static void test_tar(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		round_trip(machines[i], true);
}

static size_t entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *de; (de = readdir(d));)
		n += strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
	closedir(d);
	return n;
}

static void sink_cases(const char *name)
{
	struct box box;
	struct err e = { 0 };
	struct sink *s;
	char path[512];

	box_make(&box);
	box_path(&box, name, path, sizeof(path));
	/* Given up half-way: nothing stays. */
	s = sink_open(path, &e);
	assert_non_null(s);
	assert_int_equal(sink_folder(s, "root", &e), 0);
	assert_int_equal(sink_file(s, "root/f", "x", 1, &e), 0);
	assert_int_equal(sink_link(s, "root/l", "/etc", &e), 0);
	assert_int_equal(sink_close(s, 0, &e), 0);
	assert_int_equal(entries(box.dir), 0);
	/* What appears under the name meanwhile is kept, and so is nothing of ours. */
	s = sink_open(path, &e);
	assert_non_null(s);
	assert_int_equal(sink_file(s, "f", "x", 1, &e), 0);
	box_file(&box, name, "theirs");
	assert_int_equal(sink_close(s, 1, &e), -EEXIST);
	assert_int_equal(entries(box.dir), 1);
	/* It stands there: refused at once. A dangling link stands there too. */
	assert_null(sink_open(path, &e));
	assert_non_null(strstr(e.text, "exists already"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/nowhere/at/all", path), 0);
	assert_null(sink_open(path, &e));
	assert_int_equal(unlink(path), 0);
	if (geteuid() != 0) {
		assert_int_equal(chmod(box.dir, 0500), 0);
		assert_null(sink_open(path, &e));
		assert_non_null(strstr(e.text, "cannot write"));
		assert_int_equal(chmod(box.dir, 0700), 0);
	}
	box_path(&box, "missing/folder/c.tar", path, sizeof(path));
	assert_null(sink_open(path, &e));
	assert_non_null(strstr(e.text, "No such file"));
	assert_int_equal(entries(box.dir), 0);
	box_remove(&box);
}

static void test_sink(void **state)
{
	(void)state;
	sink_cases("c");
	sink_cases("c.tar");
}

/* What has the name beforehand is somebody's, and stays. */
static void test_temporary_of_others(void **state)
{
	static const char *const names[] = { "c", "c.tar" };
	char name[64], path[512], other[512];
	struct err e = { 0 };
	struct box box;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		box_make(&box);
		snprintf(name, sizeof(name), "%s.partial-%ld", names[i], (long)getpid());
		box_file(&box, name, "theirs");
		box_path(&box, name, other, sizeof(other));
		assert_null(sink_open(box_path(&box, names[i], path, sizeof(path)), &e));
		assert_non_null(strstr(e.text, "not written: File exists"));
		assert_int_equal(access(other, F_OK), 0);
		box_remove(&box);
	}
}

/* Names and targets at and beyond what an old header holds. */
static void test_long_names(void **state)
{
	char name[400], target[400], path[512], got[400], asked[400];
	struct err e = { 0 };
	struct host *h;
	struct sink *s;
	struct box box;

	(void)state;
	for (size_t len = 95; len < 300; len += len < 105 ? 1 : 50) {
		box_make(&box);
		memset(name, 'n', sizeof(name));
		memcpy(name, "root/", 5);
		name[len] = '\0';
		if (len > 250)
			name[120] = '/';
		memset(target, 't', sizeof(target));
		target[len] = '\0';
		s = sink_open(box_path(&box, "c.tar", path, sizeof(path)), &e);
		assert_non_null(s);
		assert_int_equal(sink_file(s, "meta.json", BOX_META("absent"),
					   strlen(BOX_META("absent")), &e),
				 0);
		assert_int_equal(sink_link(s, name, target, &e), 0);
		assert_int_equal(sink_close(s, 1, &e), 0);
		h = capture_open(path);
		snprintf(asked, sizeof(asked), "%s", name + 4);
		assert_int_equal(host_link(h, asked, got, sizeof(got)), 0);
		assert_string_equal(got, target);
		host_close(h);
		box_remove(&box);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder),	   cmocka_unit_test(test_tar),
		cmocka_unit_test(test_sink),	   cmocka_unit_test(test_temporary_of_others),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
