/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a drain is, names folded, and what makes machines equal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "many/fleet/fleet.h"
#include "many/fleet/node.h"

static struct arena arena;

static struct node_state node(const char *rest)
{
	struct node_state s;
	struct err e = { 0 };
	const char *line = arena_printf(&arena, "NodeName=n1 Arch=x86_64 %s\n", rest);

	assert_int_equal(node_parse(&arena, "n1", line, &s, &e), 0);
	return s;
}

/* Names before a node's line, as launchers write them, and what is none. */
static void test_lines(void **state)
{
	static const struct {
		const char *line, *name, *rest;
		bool document;
	} all[] = {
		{ "node7: {\"a\":1}", "node7", "{\"a\":1}", true },
		{ "{\"a\":1}", "", "{\"a\":1}", true },
		{ "12: {}", "12", "{}", true },
		{ "node7 | CHANGED | rc=0 | (stdout) {}", "node7", "{}", true },
		{ "node7 | CHANGED | rc=0 >>", "node7", "CHANGED | rc=0 >>", false },
		{ "[pod/look-x7k2p/look] {}", "look-x7k2p", "{}", true },
		{ "a.b-c_d: ssh: refused", "a.b-c_d", "ssh: refused", false },
		{ "pdsh@head: node3: lost", "pdsh@head", "node3: lost", false },
		{ "two words {}", "", "{}", true },
		{ "", "", "", false },
		{ "no name", "", "no name", false },
		{ "$(id): {}", "", "{}", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *name, *rest;

		assert_int_equal(read_line(&arena, all[i].line, strlen(all[i].line), &name, &rest),
				 all[i].document);
		assert_string_equal(name, all[i].name);
		assert_string_equal(rest, all[i].rest);
	}
}

/* A text as read_text takes it apart: what came as what machine's, and what was refused. */
static struct {
	const char *machines, *refused;
} came;

static int came_document(void *ctx, const struct read_from *from, const char **at, const char *end,
			 struct err *e)
{
	json_error_t why;
	json_t *j = json_loadb(*at, (size_t)(end - *at), JSON_DISABLE_EOF_CHECK, &why);
	const char *name;

	(void)ctx;
	if (!j)
		return err_set(e, -EINVAL, "torn");
	*at += why.position;
	name = read_machine(j, from, e);
	if (name)
		came.machines = arena_printf(&arena, "%s%s ", came.machines, name);
	json_decref(j);
	return name ? 0 : -EINVAL;
}

static void came_refused(void *owner, const char *file, const char *why)
{
	(void)owner;
	came.refused = arena_printf(&arena, "%s%s: %s;", came.refused, file, why);
}

static void test_texts(void **state)
{
	static const struct {
		const char *text, *machines, *refused;
	} all[] = {
		{ "{\"name\":\"a\"}{\"name\":\"b\"}\n{\"name\":\n\"c\"}\n", "a b c ", "" },
		{ "", "", "f: empty;" },
		{ "{}", "", "f: the result's machine has no name; give --machine NAME;" },
		{ "n1: {}\nn2: {\"name\":\"n2.lab\"}\nn3: {\"name\":\"n3-ib0\"}",
		  "n1 n2.lab n3-ib0 ", "" },
		{ "n1: {\"name\":\"n2\"}\nn2: {}", "n2 ",
		  "f: sent by n1, but the result names n2;" },
		{ "n1: {\"name\":\"n12\"}", "", "f: sent by n1, but the result names n12;" },
		{ "7: {\"name\":\"n7\"}\n10.0.0.2: {\"name\":\"n8\"}", "n7 n8 ", "" },
		{ "web | CHANGED | rc=0 | (stdout) {\"name\":\"n7\"}", "n7 ", "" },
		{ "web | CHANGED | rc=0 >>\n{}\n{}", "web ",
		  "f: line 3: the result's machine has no name; give --machine NAME;" },
		{ "{\"name\":\"a\"\n{\"name\":\"b\"}\nn3: ssh: lost\n\x01\nn4: {", "b ",
		  "f: line 1: torn, and 3 more;" },
		{ "[pod/a-b/look] {\"name\":\"n1\"}", "n1 ", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct read_ask ask = { .document = came_document, .refuse = came_refused };

		came.machines = came.refused = "";
		read_text(&ask, "f", NULL, all[i].text, strlen(all[i].text));
		assert_string_equal(came.machines, all[i].machines);
		assert_string_equal(came.refused, all[i].refused);
	}
}

static void test_node(void **state)
{
	struct node_state s = node("State=IDLE ThreadsPerCore=1");
	struct err e = { 0 };

	(void)state;
	assert_false(s.drained || s.ours);
	assert_int_equal(node_decide(&s, NULL), NODE_LEAVE);
	assert_int_equal(node_decide(&s, "gputune: x"), NODE_DRAIN);
	s = node("State=IDLE+DRAIN Reason=gputune: gpu.ecc: bad [root@2026-01-01T00:00:00]");
	assert_string_equal(s.reason, "gputune: gpu.ecc: bad");
	assert_int_equal(node_decide(&s, NULL), NODE_UNDRAIN);
	assert_int_equal(node_decide(&s, "gputune: gpu.ecc: bad"), NODE_LEAVE);
	assert_int_equal(node_decide(&s, "gputune: other"), NODE_DRAIN);
	s = node("State=MIXED+DRAIN Reason=fan noise, gputune: said nothing "
		 "[ada@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, NULL), NODE_THEIRS);
	assert_int_equal(node_decide(&s, "gputune: x"), NODE_THEIRS);
	/* A node that is down with an old reason of ours is not ours to bring back. */
	s = node("State=DOWN Reason=gputune: gpu.ecc: bad [root@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, NULL), NODE_LEAVE);
	/* Somebody took it out without a drain: draining it would make the way back ours. */
	s = node("State=DOWN Reason=RMA 4711 [ada@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, "gputune: x"), NODE_THEIRS);
	s = node("State=FAIL* Reason=bad module [ada@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, "gputune: x"), NODE_THEIRS);
	s = node("State=IDLE+FAILING Reason=bad module [ada@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, "gputune: x"), NODE_THEIRS);
	/* What saves power is not out, and an old reason keeps nobody from draining. */
	s = node("State=IDLE+POWERED_DOWN Reason=RMA 4711 [ada@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, "gputune: x"), NODE_DRAIN);
	/* The way back from a drain of ours leads neither out of DOWN nor past a reboot. */
	s = node("State=DOWN*+DRAIN Reason=gputune: gpu.ecc: bad [root@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, NULL), NODE_LEAVE);
	s = node("State=IDLE+DRAIN+REBOOT_REQUESTED Reason=gputune: x [root@2026-01-01T00:00:00]");
	assert_int_equal(node_decide(&s, NULL), NODE_LEAVE);
	assert_int_equal(node_decide(&s, "gputune: y"), NODE_DRAIN);
	assert_int_equal(node_parse(&arena, "n2", "NodeName=n1 State=IDLE\n", &s, &e), -EINVAL);
	assert_int_equal(node_parse(&arena, "n1", "NodeName=n10 State=IDLE\n", &s, &e), -EINVAL);
	assert_int_equal(node_parse(&arena, "n1", "", &s, &e), -EINVAL);
}

static void test_reason(void **state)
{
	const char *r = node_reason(&arena, "a [b] \"c\" \x1b$(d)\n\xc3\xa9");
	char longer[1000];

	(void)state;
	assert_string_equal(r, "gputune: a (b) ?c? ?\?(d)?\?\?");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(strlen(node_reason(&arena, longer)), NODE_REASON_MAX);
	assert_true(node_name_ok("gpu-0.lab_1"));
	assert_false(node_name_ok("") || node_name_ok("-n") || node_name_ok("a b") ||
		     node_name_ok("n[1-4]") || node_name_ok("n;x"));
}

static const char *folded(size_t max, size_t n, const char *const *names)
{
	struct fleet_machine *m = arena_array(&arena, n, sizeof(*m));
	const struct fleet_machine **list = arena_array(&arena, n, sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		m[i].name = names[i];
		list[i] = &m[i];
	}
	return fleet_hosts(&arena, list, n, max);
}
#define FOLDED(max, ...)                                                                           \
	folded(max, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *),                      \
	       (const char *[]){ __VA_ARGS__ })

static void test_hosts(void **state)
{
	(void)state;
	assert_string_equal(FOLDED(0, "n1"), "n1");
	assert_string_equal(FOLDED(0, "n1", "n2", "n3"), "n[1-3]");
	assert_string_equal(FOLDED(0, "n8", "n9", "n10", "n12"), "n[8-10,12]");
	assert_string_equal(FOLDED(0, "n08", "n09", "n10"), "n[08-10]");
	assert_string_equal(FOLDED(0, "n9", "n010"), "n9,n010");
	assert_string_equal(FOLDED(0, "a", "b1", "b2", "c"), "a,b[1-2],c");
	assert_string_equal(FOLDED(0, "r1-gpu.lab", "r2-gpu.lab"), "r[1-2]-gpu.lab");
	assert_string_equal(FOLDED(6, "n1", "n3", "n5", "n7"), "n[1,3,5] and 1 more");
	assert_string_equal(FOLDED(1, "a", "b", "c"), "a and 2 more");
}

static void add(struct fleet *f, const char *name, const char *time, const char *value)
{
	const char *text = arena_printf(
		&arena,
		"{\"schema\":\"gputune.check/1\",\"time\":\"%s\",\"host\":{\"nodename\":\"%s\"},"
		"\"findings\":[{\"id\":\"a.b\",\"target\":\"\",\"verdict\":\"fail\",\"current\":\"%"
		"s\"},"
		"{\"id\":\"h.t\",\"target\":\"\",\"verdict\":\"pass\",\"current\":\"%s%s\"}]}",
		time, name, value, name, value);

	fleet_add(f, name, name, text, strlen(text));
}

static void test_settle(void **state)
{
	struct fleet *f = fleet_new(&arena, false);

	(void)state;
	add(f, "n1", "2026-01-01T00:00:00Z", "1");
	add(f, "n2", "2026-01-01T00:00:00Z", "1");
	add(f, "n3", "2026-01-01T00:00:00Z", "1");
	add(f, "n4", "2026-01-03T00:00:00Z", "2");
	/* Older than what is there: left out, in whatever order they come. */
	add(f, "n4", "2026-01-02T00:00:00Z", "1");
	fleet_settle(f);
	assert_int_equal(f->n, 4);
	assert_int_equal(f->replaced, 1);
	assert_int_equal(f->n_refused, 0);
	assert_int_equal(f->n_groups, 2);
	assert_int_equal(f->groups[0]->n, 3);
	/* What is right differs in value and is no difference. */
	assert_int_equal(f->n_differs, 1);
	assert_int_equal(f->n_outliers, 1);
	assert_string_equal(f->groups[1]->machines[0]->name, "n4");
	assert_int_equal(f->groups[1]->machines[0]->n_rare, 1);
	fleet_free(f);
}

/* A line of a ledger. */
static const char *proof(const char *machine, const char *day, const char *verdict, double ratio)
{
	return arena_printf(
		&arena,
		"{\"schema\":\"gputune.ledger/1\",\"time\":\"2026-01-%sT00:00:00Z\",\"setting\":"
		"\"a.b\",\"target\":\"\",\"before\":null,\"after\":null,\"bench\":\"disk/x\","
		"\"command\":null,\"figure\":\"rate\",\"unit\":null,\"machine\":\"%s\",\"name\":"
		"\"%s\",\"kernel\":\"6.8\",\"driver\":\"\",\"firmware\":\"\",\"hardware\":\"h\","
		"\"tool_version\":\"0.1.0\",\"verdict\":\"%s\",\"ratio\":%g,\"low\":%g,\"high\":"
		"null,\"min_effect\":0.01,\"pairs\":9}\n",
		day, machine, machine, verdict, ratio, ratio / 2);
}

static void add_ledger(struct fleet *f, const char *text)
{
	fleet_add(f, "ledger.jsonl", "ledger", text, strlen(text));
}

static void test_proofs(void **state)
{
	struct fleet *f = fleet_new(&arena, false);
	const char *row = proof("n1", "02", "helps", 1.5);

	(void)state;
	add_ledger(f, arena_printf(&arena, "%s%s", row, proof("n1", "01", "hurts", 0.5)));
	add_ledger(f, proof("n2", "01", "hurts", 0.9));
	/* The same twice, as when a ledger is collected every day. */
	add_ledger(f, row);
	add(f, "n1", "2026-01-01T00:00:00Z", "1");
	fleet_settle(f);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->n_refused, 0);
	assert_int_equal(f->n_proofs, 1);
	assert_int_equal(f->verdicts, 4);
	assert_int_equal(f->proofs[0]->n, 2);
	/* The newer of n1 counts, in whatever order they come. */
	assert_int_equal(f->proofs[0]->count[RULING_HELPS - RULING_HELPS], 1);
	assert_int_equal(f->proofs[0]->count[RULING_HURTS - RULING_HELPS], 1);
	assert_string_equal(f->proofs[0]->by[1]->name, "n2");
	assert_true(f->proofs[0]->least < 0.91 && f->proofs[0]->most > 1.49);
	fleet_free(f);
}

/* One bad line of a ledger is named and does not take the others with it. */
static void test_proofs_refused(void **state)
{
	static const char *const bad[] = {
		"rubbish", "{}", "[]", "{\"schema\":\"gputune.check/1\"}", "\xff",
	};
	char *row = arena_strdup(&arena, proof("n1", "02", "helps", 1.5));

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fleet *f = fleet_new(&arena, false);

		add_ledger(f, arena_printf(&arena, "%s%s\n%s", row, bad[i],
					   proof("n2", "01", "hurts", 0.9)));
		fleet_settle(f);
		assert_int_equal(f->n_refused, 1);
		assert_memory_equal(f->refused[0].why, "line 2: ", 8);
		assert_int_equal(f->proofs[0]->n, 2);
		fleet_free(f);
	}
	/* Any byte of a row changed: taken or refused. */
	for (size_t i = 0; row[i]; i++) {
		struct fleet *f = fleet_new(&arena, false);
		char was = row[i];

		row[i] = (char)(was ^ 0x11);
		add_ledger(f, row);
		fleet_settle(f);
		assert_true(f->n_proofs + f->n_refused >= 1);
		assert_true(!f->n_proofs || f->proofs[0]->n == 1);
		row[i] = was;
		fleet_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),  cmocka_unit_test(test_node),
		cmocka_unit_test(test_texts),  cmocka_unit_test(test_reason),
		cmocka_unit_test(test_hosts),  cmocka_unit_test(test_settle),
		cmocka_unit_test(test_proofs), cmocka_unit_test(test_proofs_refused),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_free(&arena);
	return failed;
}
