/* SPDX-License-Identifier: Apache-2.0 */
/* Plans to JSON and back; and plan files that somebody broke, edited or made up. */
#include <errno.h>

#include "plan_box.h"

#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "look/probe/probe.h"

struct fixture {
	struct arena a;
	struct machine *m;
	struct plan p;
	json_t *j;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->m = fake_machine(&f->a, plan_box_facts);
	plan_box_make(&f->a, f->m, &f->p);
	f->j = plan_json(&f->p, 1);
	assert_non_null(f->j);
}

static void tear_down(struct fixture *f)
{
	json_decref(f->j);
	arena_free(&f->a);
}

static void same(const struct fixture *f, json_t *x, json_t *y, const char *key)
{
	char *text_x = json_dumps(json_object_get(x, key), JSON_ENCODE_ANY | JSON_COMPACT),
	     *text_y = json_dumps(json_object_get(y, key), JSON_ENCODE_ANY | JSON_COMPACT);

	(void)f;
	assert_non_null(text_x);
	assert_non_null(text_y);
	assert_string_equal(text_x, text_y);
	free(text_x);
	free(text_y);
}

/* What was reviewed is what is read; gates alone are left to be judged anew. */
static void round_trip(void **state)
{
	static const char *const keys[] = { "schema",  "tool_version", "host",	"time",
					    "profile", "changes",      "advice" };
	struct fixture f;
	struct plan again;
	struct err e = { 0 };
	json_t *j;

	(void)state;
	set_up(&f);
	if (plan_from_json(&f.a, f.m, f.j, "plan.json", &again, &e))
		fail_msg("%s", e.text);
	assert_int_equal(again.n, f.p.n);
	assert_int_equal(again.time_s, f.p.time_s);
	for (size_t i = 0; i < again.n; i++) {
		assert_ptr_equal(again.changes[i].s, f.p.changes[i].s);
		assert_true(knob_equal(&again.changes[i].knob, &f.p.changes[i].knob));
		assert_null(again.changes[i].gate);
		again.changes[i].gate = f.p.changes[i].gate;
		again.changes[i].refusal = f.p.changes[i].refusal;
	}
	j = plan_json(&again, 1);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		same(&f, f.j, j, keys[i]);
	json_decref(j);
	tear_down(&f);
}

/* Bytes that are no UTF-8 do not make the file unreadable. */
static void any_bytes(void **state)
{
	struct fixture f;
	json_t *j;

	(void)state;
	set_up(&f);
	f.p.nodename = "b\xffx";
	f.p.changes[0].before = "\xc3(";
	f.p.changes[0].refusal = NULL;
	j = plan_json(&f.p, 0);
	assert_int_equal(json_array_size(json_object_get(j, "changes")), f.p.n);
	assert_true(json_is_string(
		json_object_get(json_array_get(json_object_get(j, "changes"), 0), "before")));
	json_decref(j);
	tear_down(&f);
}

/* Replaces, or with value NULL removes, what stands at the path "changes.0.knob.name". */
static void edit(json_t *j, const char *path, const char *value)
{
	json_t *v = value ? json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
	char part[64];

	assert_true(!value || v);
	for (;;) {
		size_t n = strcspn(path, ".");
		bool last = !path[n], item = *path >= '0' && *path <= '9';

		assert_true(n < sizeof(part));
		memcpy(part, path, n);
		part[n] = '\0';
		if (!last) {
			j = item ? json_array_get(j, strtoul(part, NULL, 10))
				 : json_object_get(j, part);
			assert_non_null(j);
			path += n + 1;
			continue;
		}
		if (item)
			json_array_set_new(j, strtoul(part, NULL, 10), v);
		else if (v)
			json_object_set_new(j, part, v);
		else
			json_object_del(j, part);
		return;
	}
}

static void refused(void **state)
{
	static const struct {
		const char *path, *value, *says;
	} rows[] = {
		{ "schema", NULL, "schema" },
		{ "schema", "\"gputune.check/1\"", "gputune.check/1" },
		{ "schema", "\"gputune.plan/2\"", "gputune.plan/2" },
		{ "schema", "7", "schema" },
		{ "more", "1", "unknown key \"more\"" },
		{ "profile", NULL, "profile" },
		{ "profile", "null", "profile" },
		{ "time", "\"yesterday\"", "yesterday" },
		{ "time", "\"2026-02-31T00:00:00Z\"", "2026-02-31" },
		{ "exit_code", "\"0\"", "exit_code" },
		{ "host", "[]", "host" },
		{ "host.nodename", "\"other\"", "the plan is for \"other\"" },
		{ "summary", "{}", "summary" },
		{ "summary.now", "\"many\"", "now" },
		{ "changes", "{}", "changes" },
		{ "changes", "null", "changes" },
		{ "changes.0", "7", "change 1: " },
		{ "changes.1", "null", "change 2: " },
		{ "changes.0.id", "\"memory.nothing\"", "change 1: unknown setting" },
		{ "changes.0.id", "\"disk.root-local\"", "does not write" },
		{ "changes.0.id", "\"memory.vfs-cache-pressure\"", "does not write" },
		{ "changes.0.more", "1", "change 1: the change has an unknown key" },
		{ "changes.0.before", NULL, "does not have the key \"before\"" },
		{ "changes.0.before", "60", "\"before\" is not a text" },
		{ "changes.0.after", "null", "\"after\" is not a text" },
		{ "changes.0.after", "\"10\\n20\"", "control characters" },
		{ "changes.0.after", "\"10\\u0000\"", "control characters" },
		{ "changes.0.why", "\"a\\u001b[2Jb\"", "control characters" },
		{ "changes.0.risk", "\"little\"", "little" },
		{ "changes.0.effect", "\"later\"", "later" },
		{ "changes.0.target", "\"gpu0\"", "no target \"gpu0\"" },
		{ "changes.2.target", "\"cpu4-9\"", "no target \"cpu4-9\"" },
		{ "changes.2.target", "\"cpu2-9\"", "no target \"cpu2-9\"" },
		{ "changes.2.target", "\"cpu0-\"", "no target \"cpu0-\"" },
		{ "changes.4.target", "\"cpu4-7\"", "no target \"cpu4-7\"" },
		{ "changes.0.owners", "7", "owners" },
		{ "changes.0.owners.0", "[]", "an owner is not an object" },
		{ "changes.0.owners.0.wins", "\"yes\"", "wins" },
		{ "changes.0.knob", "\"vm.swappiness\"", "the knob is not an object" },
		{ "changes.0.knob.kind", "\"shell\"", "unknown kind of knob" },
		{ "changes.0.knob.kind", "\"check\"", "unknown kind of knob" },
		{ "changes.0.knob.kind", "\"sysfs\"", "change 1: " },
		{ "changes.0.knob.name", "\"vm.overcommit_memory\"", "does not write" },
		{ "changes.0.knob.name", "\"kernel.core_pattern\"", "does not write" },
		{ "changes.0.knob.name", "\"vm/../kernel/core_pattern\"", "change 1: " },
		{ "changes.2.knob.name", "\"/etc/passwd\"", "change 3: " },
		{ "changes.2.knob.name", "\"/sys/../etc/passwd\"", "change 3: " },
		{ "changes.2.knob.name",
		  "\"/sys/devices/system/cpu/cpufreq/policy4/scaling_governor\"",
		  "does not write" },
		{ "changes.4.knob.name", "\"/sys/devices/system/cpu/cpu8/cpuidle/state2/disable\"",
		  "does not write" },
		{ "changes.4.knob.name",
		  "\"/sys/devices/system/cpu/cpu1/cpuidle/state2/x/disable\"", "does not write" },
		{ "changes.4.knob.name", "\"/sys/devices/system/cpu/cpu/cpuidle/state2/disable\"",
		  "does not write" },
		{ "changes.12.knob.name", "\"/sys/block/nvme1n1/queue/scheduler\"",
		  "does not write" },
		{ "changes.14.knob.object", "\"0000:02:00.0\"", "does not write" },
		{ "changes.14.knob.name", "\"ecc-mode\"", "change 15: " },
		{ "changes.18.knob.name", "\"mtu\"", "does not write" },
		{ "changes.18.knob.object", "\"eth1\"", "does not write" },
		{ "changes.18.knob.object", "\"eth0; reboot\"", "change 19: " },
		{ "changes.20.gate", "\"open\"", "unknown gate \"open\"" },
		{ "changes.20.refusal", "[]", "refusal" },
		{ "advice.0", "null", "advice 1: " },
		{ "advice.0.id", "\"nothing\"", "advice 1: unknown setting" },
		{ "advice.0.sentence", "{}", "advice 1: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct plan out = { .n = 77 };
		struct err e = { 0 };

		set_up(&f);
		edit(f.j, rows[i].path, rows[i].value);
		if (plan_from_json(&f.a, f.m, f.j, "p.json", &out, &e) != -EINVAL ||
		    !strstr(e.text, rows[i].says) || strncmp(e.text, "p.json: ", 8) != 0)
			fail_msg("%s = %s: \"%s\", wanted \"%s\"", rows[i].path,
				 rows[i].value ? rows[i].value : "nothing", e.text, rows[i].says);
		assert_int_equal(out.n, 77);
		tear_down(&f);
	}
}

/* What a person would not ask of any machine is not taken from a file, whatever risk it names. */
static void out_of_bounds(void **state)
{
	static const struct {
		const char *id, *before, *after, *says;
	} rows[] = {
		{ "net.rmem-max", "212992", "2147483647", "2304 to 1073741824 bytes" },
		{ "net.wmem-max", "212992", "2147483647", "4608 to 1073741824 bytes" },
		{ "memory.dirty-ratio", "20", "100", "1 to 90 %" },
		{ "memory.vfs-cache-pressure", "100", "0", "1 to 1000" },
		{ "net.netdev-max-backlog", "1000", "1", "100 to 1000000 packets" },
		{ "net.tcp-fastopen", "1", "1027", "0 to 3" },
		{ "memory.thp-enabled", "always", "sometimes", "one of: always madvise never" },
		{ "net.tcp-rmem", "4096 131072 6291456", "1 1 1 1",
		  "three non-decreasing numbers" },
	};
	static const char *const gates[] = { NULL, GATE_LIMIT };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const char *gate = gates[i % 2], *id = rows[i / 2].id;
		struct arena a = { 0 };
		struct machine *m = fake_machine(&a, plan_box_facts);
		struct plan p = { .profile = "default", .nodename = "box", .boot_id = "" }, out;
		struct change *c =
			plan_box_own(&a, m, &p, id, "", rows[i / 2].before, rows[i / 2].after);
		struct err e = { 0 };
		json_t *j;
		int code;

		c->gate = gate;
		c->refusal = gate ? "the change was refused" : NULL;
		j = plan_json(&p, 0);
		code = plan_from_json(&a, m, j, "p.json", &out, &e);
		/* What was refused when the plan was made is read, and refused again. */
		if (gate ? code || !out.changes[0].gate ||
				    strcmp(out.changes[0].gate, GATE_LIMIT) != 0 ||
				    !strstr(out.changes[0].refusal, rows[i / 2].says)
			 : code != -EINVAL || !strstr(e.text, rows[i / 2].says) ||
				    !strstr(e.text, id) || !strstr(e.text, rows[i / 2].after) ||
				    strncmp(e.text, "p.json: change 1: ", 18) != 0)
			fail_msg("%s = %s: \"%s\"", id, rows[i / 2].after, e.text);
		json_decref(j);
		arena_free(&a);
	}
}

/* The one of a pair that the kernel uses, huge pages by node, a disk's scheduler before its depth.
 */
static void beside(void **state)
{
	static const struct {
		const char *id, *target;
		struct knob k;
		bool reached;
	} rows[] = {
		{ "memory.dirty-ratio", "", { KNOB_SYSCTL, "vm.dirty_bytes", "" }, true },
		{ "memory.dirty-ratio",
		  "",
		  { KNOB_SYSCTL, "vm.dirty_background_bytes", "" },
		  false },
		{ "memory.dirty-background-ratio",
		  "",
		  { KNOB_SYSCTL, "vm.dirty_background_bytes", "" },
		  true },
		{ "memory.hugepages-1g",
		  "1048576kB",
		  { KNOB_SYSFS, "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "" },
		  true },
		{ "memory.hugepages-1g",
		  "1048576kB",
		  { KNOB_SYSFS, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "" },
		  false },
		{ "disk.nr-requests",
		  "nvme0n1",
		  { KNOB_SYSFS, "/sys/block/nvme0n1/queue/scheduler", "nvme0n1" },
		  false },
		{ "nic.coalesce", "eth0", { KNOB_LINK, "adaptive-rx", "eth0" }, true },
		{ "nic.coalesce", "eth0", { KNOB_LINK, "rx-ring", "eth0" }, false },
	};
	struct arena a = { 0 };
	struct machine *m = fake_machine(&a, plan_box_facts);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct setting *s = setting_find(rows[i].id);
		const void *object = map_get(setting_targets(&a, m, s), rows[i].target);

		assert_non_null(object);
		if (setting_reaches(&a, s, object, &rows[i].k) != rows[i].reached)
			fail_msg("row %zu: %s and %s", i, rows[i].id, rows[i].k.name);
	}
	arena_free(&a);
}

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static size_t all_reached(const struct machine *m, struct host *h, enum profile_id id)
{
	struct arena a = { 0 };
	struct profile p = { .name = profile_name(id), .base = id };
	struct findings f;
	size_t n = 0;

	settings_check(&a, m, &p, read_knob, h, &f);
	for (size_t i = 0; i < f.n; i++)
		for (size_t t = 0; t < f.items[i].n_targets; t++) {
			const struct finding *it = &f.items[i];
			const void *object = map_get(setting_targets(&a, m, it->s), it->targets[t]);
			struct remediations aims;

			if (it->v.kind != VERDICT_FAIL)
				continue;
			settings_remediations(&a, m, &p, it, t, read_knob, h, &aims);
			for (size_t k = 0; k < aims.n; k++, n++)
				if (!object ||
				    !setting_reaches(&a, it->s, object, &aims.items[k].knob))
					fail_msg("%s on \"%s\": a plan of ours with %s would be "
						 "refused",
						 it->s->id, it->targets[t],
						 aims.items[k].knob.name);
		}
	arena_free(&a);
	return n;
}

/* Whatever our own rules want to write can be read back from a plan. */
static void our_own(void **state)
{
	static const char *const machines[] = { "dgx-spark", "cpu-256", "hgx-h100",
						"igx-orin",  "h200-x4", "dev-vm" };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		struct arena a = { 0 };
		struct err e = { 0 };
		struct probe p = { .a = &a, .m = ARENA_NEW(&a, struct machine) };

		p.h = host_open_capture(arena_printf(&a, "%s/%s", MACHINES, machines[i]), &e);
		if (!p.h)
			fail_msg("%s", e.text);
		probe_machine(&p);
		for (int id = 0; id < PROFILES; id++)
			n += all_reached(p.m, p.h, (enum profile_id)id);
		host_close(p.h);
		arena_free(&a);
	}
	print_message("%zu writes of our own\n", n);
	assert_true(n > 100);
}

/* A file cannot make a change look harmless. */
static void not_milder(void **state)
{
	struct fixture f;
	struct plan out;
	struct err e = { 0 };

	(void)state;
	set_up(&f);
	edit(f.j, "changes.20.risk", "\"none\"");
	edit(f.j, "changes.20.effect", "\"now\"");
	edit(f.j, "changes.20.gate", "null");
	edit(f.j, "changes.0.gate", "\"unreadable\"");
	edit(f.j, "changes.1.gate", "\"needs-allow\"");
	if (plan_from_json(&f.a, f.m, f.j, "p.json", &out, &e))
		fail_msg("%s", e.text);
	assert_string_equal(out.changes[0].gate, GATE_UNREADABLE);
	assert_non_null(out.changes[0].refusal);
	assert_null(out.changes[1].gate);
	assert_string_equal(out.changes[20].s->id, "boot.isolcpus");
	assert_int_equal(out.changes[20].risk, out.changes[20].s->risk);
	assert_int_equal(out.changes[20].effect, EFFECT_REBOOT);
	tear_down(&f);
}

/* Lists without end and long texts are refused before they cost anything. */
static void bounded(void **state)
{
	struct fixture f;
	struct plan out;
	struct err e = { 0 };
	json_t *many = json_array(), *one;
	char *text = malloc(5001);

	(void)state;
	set_up(&f);
	memset(text, 'x', 5000);
	text[5000] = '\0';
	one = json_object_get(json_array_get(json_object_get(f.j, "changes"), 0), "knob");
	json_object_set_new(one, "name", json_string(text));
	assert_int_equal(plan_from_json(&f.a, f.m, f.j, "p.json", &out, &e), -EINVAL);
	assert_non_null(strstr(e.text, "longer than"));
	one = json_array_get(json_object_get(f.j, "changes"), 1);
	for (size_t i = 0; i < 70000; i++)
		json_array_append(many, one);
	json_object_set_new(f.j, "changes", many);
	assert_int_equal(plan_from_json(&f.a, f.m, f.j, "p.json", &out, &e), -EINVAL);
	assert_non_null(strstr(e.text, "more than"));
	free(text);
	tear_down(&f);
}

/* Cut after every byte: jansson refuses what is cut, and what it takes we refuse or read. */
static void truncated(void **state)
{
	struct fixture f;
	char *text;

	(void)state;
	set_up(&f);
	text = json_dumps(f.j, JSON_COMPACT);
	for (size_t n = 0; n < strlen(text); n += 7) {
		struct err e = { 0 };
		struct plan out;
		json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);

		if (j)
			assert_int_equal(plan_from_json(&f.a, f.m, j, "p.json", &out, &e), -EINVAL);
		json_decref(j);
	}
	free(text);
	tear_down(&f);
}

/* The caller's count of values below j; number *left gets *value in its place. */
static bool replace(json_t *j, size_t *left, json_t *value)
{
	const char *key;
	json_t *it;
	size_t i;

	json_object_foreach(j, key, it)
	{
		if ((*left)-- == 0)
			return json_object_set(j, key, value) == 0;
		if (replace(it, left, value))
			return true;
	}
	json_array_foreach(j, i, it)
	{
		if ((*left)-- == 0)
			return json_array_set(j, i, value) == 0;
		if (replace(it, left, value))
			return true;
	}
	return false;
}

/* Every value of a file in turn as every other type: read or refused with a sentence, never more.
 */
static void every_type(void **state)
{
	static const char *const values[] = { "null", "true", "-1",	"1e300",      "\"\"",
					      "[]",   "{}",   "[[[]]]", "\"\\u0000\"" };
	struct fixture f;
	size_t taken = 0, refusals = 0;

	(void)state;
	set_up(&f);
	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
		json_t *value = json_loads(values[v], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

		for (size_t n = 0;; n++) {
			json_t *copy = json_deep_copy(f.j);
			struct arena a = { 0 };
			struct err e = { 0 };
			struct plan out;
			size_t left = n;
			bool replaced = replace(copy, &left, value);
			int r = replaced ? plan_from_json(&a, f.m, copy, "p", &out, &e) : 0;

			json_decref(copy);
			arena_free(&a);
			if (!replaced)
				break;
			assert_true(r == 0 || (r == -EINVAL && *e.text));
			taken += r == 0;
			refusals += r != 0;
		}
		json_decref(value);
	}
	print_message("%zu refused, %zu taken\n", refusals, taken);
	assert_true(refusals > taken * 4 && taken > 50);
	tear_down(&f);
}

/* One CPU was changed, or taken offline, since: its group is called otherwise by now. */
static void regrouped(void **state)
{
	struct fixture f;
	struct plan again;
	struct err e = { 0 };
	struct idle_group *idle;
	struct freq_policy *policies;

	(void)state;
	set_up(&f);
	idle = list_add(&f.a, &f.m->cpu.idle, sizeof(*idle));
	*idle = *(struct idle_group *)f.m->cpu.idle.items;
	assert_int_equal(idset_parse(&f.a, "1", &idle->cpus.v), 0);
	idle = f.m->cpu.idle.items;
	policies = f.m->cpu.policies.items;
	assert_int_equal(idset_parse(&f.a, "0,2-7", &idle[0].cpus.v), 0);
	assert_int_equal(idset_parse(&f.a, "0-1,3", &policies[0].cpus.v), 0);
	if (plan_from_json(&f.a, f.m, f.j, "plan.json", &again, &e))
		fail_msg("%s", e.text);
	assert_string_equal(again.changes[2].target, f.p.changes[2].target);
	assert_string_equal(again.changes[4].target, "cpu0-7");
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip), cmocka_unit_test(any_bytes),
		cmocka_unit_test(refused),    cmocka_unit_test(out_of_bounds),
		cmocka_unit_test(beside),     cmocka_unit_test(our_own),
		cmocka_unit_test(not_milder), cmocka_unit_test(bounded),
		cmocka_unit_test(truncated),  cmocka_unit_test(every_type),
		cmocka_unit_test(regrouped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
