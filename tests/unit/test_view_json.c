/* SPDX-License-Identifier: Apache-2.0 */
/* Facts to JSON to facts to JSON; and what reading refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "test_view_machine.h"

static void same_fact(enum shape_kind kind, const struct fact *x, const struct fact *y)
{
	struct arena a = { 0 };

	assert_int_equal(x->seen, y->seen);
	assert_int_equal(x->err, y->err);
	assert_string_equal(fact_from(&a, x), fact_from(&a, y));
	if (x->seen == SEEN_OK && kind == SHAPE_KIND_FACT_TEXT)
		assert_string_equal(((const struct fact_str *)x)->v,
				    ((const struct fact_str *)y)->v);
	else if (x->seen == SEEN_OK && kind == SHAPE_KIND_FACT_SET)
		assert_true(idset_equal(&((const struct fact_set *)x)->v,
					&((const struct fact_set *)y)->v));
	else if (x->seen == SEEN_OK)
		assert_int_equal(((const struct fact_int *)x)->v, ((const struct fact_int *)y)->v);
	arena_free(&a);
}

/* Returns how many facts it has compared. */
static size_t same_object(const struct shape *s, const void *x, const void *y)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *f = &s->rows[i];
		const void *p = (const char *)x + f->offset, *q = (const char *)y + f->offset;
		const struct list *l = p, *k = q;

		switch (f->kind) {
		case SHAPE_KIND_TEXT:
			assert_string_equal(*(const char *const *)p, *(const char *const *)q);
			break;
		case SHAPE_KIND_COUNT:
			assert_int_equal(*(const unsigned *)p, *(const unsigned *)q);
			break;
		case SHAPE_KIND_OBJECT:
			n += same_object(f->sub, p, q);
			break;
		case SHAPE_KIND_LIST:
			assert_int_equal(l->n, k->n);
			for (size_t c = 0; c < l->n; c++)
				n += same_object(f->sub, list_at(l, f->sub, c),
						 list_at(k, f->sub, c));
			break;
		default:
			same_fact(f->kind, p, q);
			n++;
		}
	}
	return n;
}

static void round_trip(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 7; seed++) {
		struct arena a = { 0 };
		struct machine *m = make_machine(&a, seed), *back = ARENA_NEW(&a, struct machine);
		json_t *j = shape_object_json(&machine_shape, m), *again, *parsed;
		char *text = json_dumps(j, JSON_INDENT(1)), *text2;
		struct err e = { 0 };

		parsed = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(parsed);
		if (shape_read(&a, &machine_shape, parsed, back, &e))
			fail_msg("%s", e.text);
		assert_true(same_object(&machine_shape, m, back) > 1000);
		again = shape_object_json(&machine_shape, back);
		text2 = json_dumps(again, JSON_INDENT(1));
		assert_string_equal(text, text2);
		free(text);
		free(text2);
		json_decref(j);
		json_decref(again);
		json_decref(parsed);
		arena_free(&a);
	}
}

static void order_and_forms(void **state)
{
	struct arena a = { 0 };
	struct nvlink l = { .index = 3,
			    .active = { { SEEN_OK, 0, "nvml 0 ", "nvmlDeviceGetNvLinkState(3)" },
					1 },
			    .version = { { SEEN_DENIED, EACCES, NULL, "x" }, 0 },
			    .crc_errors = { { SEEN_OK, 0, NULL, NULL }, 12 } };
	json_t *j = shape_object_json(&nvlink_shape, &l);
	char *text = json_dumps(j, JSON_COMPACT);

	(void)state;
	assert_string_equal(text,
			    "{\"index\":3,\"active\":{\"value\":true,"
			    "\"from\":\"nvml 0 nvmlDeviceGetNvLinkState(3)\"},"
			    "\"version\":{\"seen\":\"denied\",\"error\":\"EACCES\",\"from\":\"x\"},"
			    "\"crc_errors\":{\"value\":12}}");
	free(text);
	json_decref(j);
	arena_free(&a);
}

static void not_utf8(void **state)
{
	struct arena a = { 0 };
	struct machine *m = ARENA_NEW(&a, struct machine), *back = ARENA_NEW(&a, struct machine);
	struct err e = { 0 };
	json_t *j;

	(void)state;
	m->nodename = (struct fact_str){ { SEEN_OK, 0, NULL, "\xff" }, "a\xc0\xaf\xed\xa0\x80z" };
	j = shape_object_json(&machine_shape, m);
	assert_non_null(json_object_get(j, "nodename"));
	assert_int_equal(shape_read(&a, &machine_shape, j, back, &e), 0);
	assert_string_equal(back->nodename.v,
			    "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
	assert_string_equal(utf8_clean(&a, "gr\xc3\xbc\xf0\x9f\x98\x80"),
			    "gr\xc3\xbc\xf0\x9f\x98\x80");
	assert_string_equal(utf8_clean(&a, "cut\xf0\x9f"), "cut\xef\xbf\xbd\xef\xbf\xbd");
	json_decref(j);
	arena_free(&a);
}

static void refused(void **state)
{
	static const struct {
		const char *json, *says;
	} rows[] = {
		{ "[]", "the result: not an object" },
		{ "{\"nodename\": \"x\"}", "nodename: requires \"value\" or" },
		{ "{\"nodename\": {\"value\": 1}}", "nodename: not a string" },
		{ "{\"nodename\": {\"value\": \"x\", \"seen\": \"denied\"}}",
		  "nodename: requires \"value\" or" },
		{ "{\"nodename\": {\"value\": \"x\", \"error\": \"EIO\"}}",
		  "nodename: requires \"value\" or" },
		{ "{\"nodename\": {\"from\": \"x\"}}", "nodename: requires \"value\" or" },
		{ "{\"nodename\": {\"seen\": \"ok\"}}", "nodename: invalid \"seen\"" },
		{ "{\"nodename\": {\"seen\": \"unasked\"}}", "nodename: invalid \"seen\"" },
		{ "{\"nodename\": {\"seen\": 1}}", "nodename: invalid \"seen\"" },
		{ "{\"nodename\": {\"seen\": \"denied\", \"error\": \"EFOO\"}}",
		  "nodename: \"error\"" },
		{ "{\"nodename\": {\"seen\": \"denied\", \"error\": 13}}", "nodename: \"error\"" },
		{ "{\"nodename\": {\"value\": \"x\", \"from\": 1}}", "nodename: not a string" },
		{ "{\"nodename\": {\"value\": \"a\\u0000b\"}}", "nodename: NUL in a string" },
		{ "{\"euid\": {\"value\": 1.5}}", "euid: not a whole number" },
		{ "{\"captured\": {\"value\": 1}}", "captured: not true or false" },
		{ "{\"pci\": {}}", "pci: not a list" },
		{ "{\"pci\": [{}]}", "pci[0].name: missing" },
		{ "{\"gpu\": {\"gpus\": [{\"index\": 0, \"pci\": \"x\"}, {\"index\": -1, \"pci\": "
		  "\"x\"}]}}",
		  "gpu.gpus[1].index: out of range" },
		{ "{\"cpu\": {\"online\": {\"value\": \"4-1\"}}}", "cpu.online: not a list like" },
		{ "{\"cpu\": {\"online\": {\"value\": \"0-99999999999\"}}}",
		  "cpu.online: not a list like" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a = { 0 };
		struct err e = { 0 };
		json_t *j = json_loads(rows[i].json, JSON_ALLOW_NUL, NULL);

		assert_non_null(j);
		assert_int_equal(
			shape_read(&a, &machine_shape, j, ARENA_NEW(&a, struct machine), &e),
			-EINVAL);
		if (strncmp(e.text, rows[i].says, strlen(rows[i].says)) != 0)
			fail_msg("%s: \"%s\" does not begin with \"%s\"", rows[i].json, e.text,
				 rows[i].says);
		json_decref(j);
		arena_free(&a);
	}
}

/* A list that was read has the room that list_add counts on. */
static void grows(void **state)
{
	struct arena a = { 0 };
	struct machine *m = ARENA_NEW(&a, struct machine);
	struct err e = { 0 };
	json_t *j = json_pack("{s:{s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]}}", "storage", "mounts",
			      "name", "/a", "name", "/b", "name", "/c", "name", "/d", "name", "/e");

	(void)state;
	assert_int_equal(shape_read(&a, &machine_shape, j, m, &e), 0);
	json_decref(j);
	assert_int_equal(m->storage.mounts.n, 5);
	for (size_t i = 0; i < 8; i++) {
		char *behind = arena_strdup(&a, "behind");
		struct mount *more = list_add(&a, &m->storage.mounts, sizeof(*more));

		assert_null(more->name);
		more->name = "/more";
		assert_string_equal(behind, "behind");
	}
	assert_string_equal(((struct mount *)m->storage.mounts.items)[4].name, "/e");
	arena_free(&a);
}

static void look_ups(void **state)
{
	struct arena a = { 0 };
	struct machine *m = ARENA_NEW(&a, struct machine);
	static const char *const points[] = { "/", "/var", "/var/lib", "/var/library" };
	static const char *const args[][2] = { { "quiet", "" },
					       { "isolcpus", "1" },
					       { "isolcpus", "2-3" } };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		((struct mount *)list_add(&a, &m->storage.mounts, sizeof(struct mount)))->name =
			points[i];
	for (size_t i = 0; i < 3; i++) {
		struct kernel_arg *k = list_add(&a, &m->kernel.args, sizeof(*k));

		k->name = args[i][0];
		k->value = (struct fact_str){ { SEEN_OK, 0, NULL, NULL }, args[i][1] };
	}
	assert_string_equal(machine_mount_of(m, "/var/libx")->name, "/var");
	assert_string_equal(machine_mount_of(m, "/var/lib")->name, "/var/lib");
	assert_string_equal(machine_mount_of(m, "/var/library/a")->name, "/var/library");
	assert_string_equal(machine_mount_of(m, "/home")->name, "/");
	assert_string_equal(kernel_arg_value(&m->kernel, "isolcpus"), "2-3");
	assert_string_equal(kernel_arg_value(&m->kernel, "quiet"), "");
	assert_null(kernel_arg_value(&m->kernel, "quie"));
	assert_null(machine_big_cpus(m));
	assert_null(machine_pci(m, "0000:00:00.0"));
	assert_null(machine_gpu(m, 0));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip), cmocka_unit_test(order_and_forms),
		cmocka_unit_test(not_utf8),   cmocka_unit_test(refused),
		cmocka_unit_test(grows),      cmocka_unit_test(look_ups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
