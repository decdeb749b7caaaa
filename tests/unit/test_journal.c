/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal: what was written is read back equal, and what is cut, garbled or hostile
 * neither crashes nor reaches the machine. */
#include <stdbool.h>

#include "lab.h"

#include "base/text.h"
#include "tune/txn/write.h"

#define JOURNAL_FILE "o/root" TXN_JOURNAL
#define BEGIN(n)                                                                                   \
	"{\"t\":\"begin\",\"txn\":" #n ",\"op\":\"apply\",\"boot\":\"" LAB_BOOT                    \
	"\",\"time\":1790000000,"                                                                  \
	"\"user\":\"root\",\"reason\":null,\"profile\":\"default\",\"version\":\"1\","             \
	"\"changes\":1}\n"
#define INTEND(n, seq, name, before, after)                                                        \
	"{\"t\":\"intend\",\"txn\":" #n ",\"seq\":" #seq                                           \
	",\"id\":\"memory.swappiness\",\"target\":\"\",\"knob\":{\"kind\":\"sysctl\","             \
	"\"name\":\"" name "\",\"object\":\"\"},\"place\":\"\",\"before\":\"" before               \
	"\",\"after\":\"" after "\"}\n"
#define DONE(n, seq, read)                                                                         \
	"{\"t\":\"done\",\"txn\":" #n ",\"seq\":" #seq ",\"read\":\"" read "\"}\n"
#define END(n, result) "{\"t\":\"end\",\"txn\":" #n ",\"result\":\"" result "\"}\n"

static void assert_text(const char *x, const char *y)
{
	if (!x || !y)
		assert_ptr_equal(x, y);
	else
		assert_string_equal(x, y);
}

static void assert_knob(const struct knob *x, const struct knob *y)
{
	assert_int_equal(x->kind, y->kind);
	assert_string_equal(x->name, y->name);
	assert_string_equal(x->object, y->object);
}

static void assert_entry(const struct entry *x, const struct entry *y)
{
	assert_int_equal(x->txn, y->txn);
	assert_int_equal(x->seq, y->seq);
	assert_text(x->id, y->id);
	assert_text(x->target, y->target);
	assert_knob(&x->knob, &y->knob);
	assert_text(x->place, y->place);
	assert_text(x->before, y->before);
	assert_text(x->after, y->after);
	assert_text(x->read, y->read);
	assert_int_equal(x->state, y->state);
	assert_text(x->note, y->note);
	assert_int_equal(x->n_sides, y->n_sides);
	for (size_t i = 0; i < x->n_sides; i++) {
		assert_knob(&x->sides[i].knob, &y->sides[i].knob);
		assert_text(x->sides[i].before, y->sides[i].before);
	}
}

static const struct knob swappiness = { KNOB_SYSCTL, "vm.swappiness", "" };

static void test_round_trip(void **state)
{
	struct side_effect side = { .knob = { KNOB_SYSFS, LAB_QUEUE "nr_requests", "" },
				    .before = "64" };
	struct entry entries[] = {
		{ 3, 1, "memory.swappiness", "", swappiness, "", "60", "10", "10", NULL, 0,
		  ENTRY_DONE, NULL, false, false, false, false, false, 0 },
		{ 3,
		  2,
		  "disk.scheduler",
		  "nvme0n1",
		  { KNOB_SYSFS, LAB_QUEUE "scheduler", "" },
		  "/sys/devices/pci0/nvme0n1",
		  "none",
		  "kyber",
		  "kyber",
		  &side,
		  1,
		  ENTRY_UNDONE,
		  "restored",
		  false,
		  false,
		  false,
		  false,
		  false,
		  0 },
		{ 3,
		  3,
		  "gpu.clocks",
		  "gpu0",
		  { KNOB_NVML, "gpu-clock-lock", LAB_GPU },
		  "/sys/devices/pci0/" LAB_GPU,
		  NULL,
		  "1000,1500",
		  NULL,
		  NULL,
		  0,
		  ENTRY_STUCK,
		  "no \"quotes\" \\ lost",
		  false,
		  false,
		  false,
		  false,
		  false,
		  0 },
		{ 3,
		  4,
		  "memory.dirty",
		  "",
		  { KNOB_SYSCTL, "vm.dirty_ratio", "" },
		  "",
		  "vm.dirty_bytes=4096",
		  "5",
		  NULL,
		  NULL,
		  0,
		  ENTRY_INTENDED,
		  NULL,
		  false,
		  false,
		  false,
		  false,
		  false,
		  0 },
	};
	struct transaction t = { 3,
				 "apply",
				 LAB_BOOT,
				 1790000000,
				 "root (sudo: ada)",
				 "\xc3\xa9t\xc3\xa9, \"op\":\"undo\"",
				 "published",
				 "0.1",
				 TRANSACTION_OPEN,
				 entries,
				 4 };
	struct journal_writer w = { 0 };
	struct journal j;
	struct lab l;

	(void)state;
	lab_open(&l);
	w.h = l.h;
	write_begin(&w, &t, 4);
	for (size_t i = 0; i < 4; i++) {
		write_intend(&w, &t, &entries[i]);
		if (entries[i].state != ENTRY_INTENDED)
			write_done(&w, &entries[i]);
	}
	write_undone(&w, &entries[1], 4);
	write_stuck(&w, &entries[2], 4, "nvidia-smi -rgc");
	if (write_flush(&w))
		fail();
	text_free(&w.waiting);
	for (int all = 0; all < 2; all++) {
		assert_int_equal(journal_load(l.h, &l.a, all, &j, &l.e), 0);
		assert_int_equal(j.bad_lines, 0);
		assert_false(j.torn);
		assert_int_equal(j.next, 4);
		assert_int_equal(j.n, 1);
		assert_int_equal(j.items[0].n, 4);
		assert_text(j.items[0].op, t.op);
		assert_text(j.items[0].boot_id, t.boot_id);
		assert_text(j.items[0].user, t.user);
		assert_text(j.items[0].reason, t.reason);
		assert_text(j.items[0].profile, t.profile);
		assert_text(j.items[0].version, t.version);
		assert_true(j.items[0].time_s == t.time_s);
		for (size_t i = 0; i < 4; i++)
			assert_entry(&j.items[0].entries[i], &entries[i]);
	}
	lab_close(&l);
}

static void load(struct lab *l, const char *text, struct journal *j)
{
	lab_open(l);
	box_file(&l->box, JOURNAL_FILE, text);
	lab_next(l);
	lab_journal(l, j);
}

static void test_missing(void **state)
{
	struct journal j;
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_journal(&l, &j);
	assert_int_equal(j.n, 0);
	assert_int_equal(j.next, 1);
	lab_close(&l);
	load(&l, "", &j);
	assert_int_equal(j.n, 0);
	lab_close(&l);
}

#define WHOLE                                                                                      \
	BEGIN(1)                                                                                   \
	INTEND(1, 1, "vm.swappiness", "60", "10")                                                  \
	DONE(1, 1, "10")                                                                           \
	END(1, "applied")                                                                          \
	BEGIN(2) INTEND(2, 1, "vm.swappiness", "10", "5") DONE(2, 1, "5") END(2, "applied")

/* Cut after any number of bytes: what is whole is read, and the next lines can be added. */
static void test_torn(void **state)
{
	static const char whole[] = WHOLE;

	(void)state;
	for (size_t n = 0; n < sizeof(whole); n++) {
		struct journal_writer w = { 0 };
		struct transaction t = { .txn = 9, .op = "apply", .boot_id = LAB_BOOT };
		struct journal j;
		struct lab l;

		lab_open(&l);
		box_bytes(&l.box, JOURNAL_FILE, whole, n);
		lab_next(&l);
		lab_journal(&l, &j);
		assert_int_equal(j.bad_lines, 0);
		assert_int_equal(j.torn, n > 0 && whole[n - 1] != '\n');
		w = (struct journal_writer){ .h = l.h };
		write_begin(&w, &t, 1);
		if (write_flush(&w))
			fail();
		text_free(&w.waiting);
		lab_journal(&l, &j);
		assert_false(j.torn);
		assert_int_equal(j.bad_lines, 0);
		assert_true(j.n >= 1 && j.items[j.n - 1].txn == 9);
		lab_close(&l);
	}
}

static void test_garbage(void **state)
{
	/* From here on what has the shape of a change stays open. */
	enum { SHAPED = 4 };
	static const char *const junk[] = {
		"\n",
		"nonsense\n",
		"{\"t\":\"begin\"\n",
		"{\"t\":\"begin\",\"txn\":1\n",
		"{\"t\":\"done\",\"txn\":1,\"seq\":1,\"read\":\"10\",\"read\":\"10\"}\n",
		"{\"t\":\"done\",\"txn\":7,\"seq\":1,\"read\":\"10\"}\n",
		"{\"t\":\"done\",\"txn\":1,\"seq\":0,\"read\":\"10\"}\n",
		"{\"t\":\"done\",\"txn\":1,\"seq\":-1,\"read\":\"10\"}\n",
		"{\"t\":\"done\",\"txn\":1,\"seq\":4294967297,\"read\":\"10\"}\n",
		"{\"t\":\"done\",\"txn\":1,\"seq\":1e300,\"read\":\"10\"}\n",
		"{\"t\":\"done\",\"txn\":1,\"seq\":\"1\",\"read\":\"10\"}\n",
		"{\"t\":\"what\",\"txn\":1,\"seq\":1}\n",
		"{\"t\":\"\",\"txn\":1,\"seq\":1}\n",
		"{\"t\":\"end\",\"txn\":1,\"result\":\"fine\"}\n",
		"{\"t\":\"end\",\"txn\":1,\"result\":1}\n",
		"{\"t\":\"begin\",\"txn\":0}\n",
		"{\"t\":\"begin\",\"txn\":-5}\n",
		"{\"t\":\"begin\",\"txn\":99999999999999999999}\n",
		"{\"t\":\"begin\",\"txn\":1,\"op\":\"apply\"}\n",
		INTEND(1, 1, "vm.swappiness", "60", "11"),
		INTEND(1, 1, "vm.dirty_ratio", "60", "10"),
		INTEND(1, 0, "vm.swappiness", "60", "10"),
		"{\"txn\":1,\"t\":\"begin\"}\n",
		" {\"t\":\"begin\",\"txn\":1}\n",
		"\xff\xfe\xfd\n",
		"{\"t\":\"done\",\"txn\":1,\"seq\":2,\"read\":\"10\"}\n",
		"{\"t\":\"intend\",\"txn\":1,\"seq\":2}\n",
		INTEND(1, 2, "vm.../../etc/passwd", "60", "10"),
		/* Sound by itself, behind one that is missing. */
		INTEND(1, 3, "vm.dirty_ratio", "20", "20"),
	};
	const size_t n = sizeof(junk) / sizeof(junk[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		bool shaped = i >= n - SHAPED, sound = i == n - 1;
		static const char first[] = BEGIN(1) INTEND(1, 1, "vm.swappiness", "60", "10"),
				  last[] = DONE(1, 1, "10") END(1, "applied");
		TEXT_AUTO text = { 0 };
		struct journal j;
		struct lab l;

		text_add(&text, first);
		text_add(&text, junk[i]);
		text_add(&text, last);
		load(&l, text.s, &j);
		if (j.bad_lines != (i != 0 && !sound) || j.n != 1 ||
		    j.items[0].n != (size_t)1 + shaped + sound ||
		    (shaped && !j.items[0].entries[1].unread))
			fail_msg("%s: %zu bad lines, %zu transactions", junk[i], j.bad_lines, j.n);
		assert_int_equal(j.next, strstr(junk[i], "\"txn\":7") ? 8 : 2);
		assert_int_equal(j.items[0].state, TRANSACTION_APPLIED);
		assert_int_equal(j.items[0].entries[0].state, ENTRY_DONE);
		lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
		assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }),
				 shaped ? -EUCLEAN : 0);
		assert_true(lab_is_original(&l));
		lab_close(&l);
	}
}

/* An addition failed when a part of it, or all, was on disk, and was made again. */
static void test_again(void **state)
{
	static const char first[] = BEGIN(1) INTEND(1, 1, "vm.swappiness", "60", "10")
		INTEND(1, 2, "vm.dirty_ratio", "20", "5"),
			  rest[] = DONE(1, 1, "10") DONE(1, 2, "5") END(1, "applied");

	(void)state;
	for (size_t cut = 0; cut < sizeof(first); cut++) {
		TEXT_AUTO text = { 0 };
		struct journal j;
		struct lab l;

		text_addn(&text, first, cut);
		text_add(&text, "\n");
		text_add(&text, first);
		text_add(&text, rest);
		text_add(&text, rest);
		load(&l, text.s, &j);
		/* No more than the line that was cut. */
		assert_true(j.bad_lines <= 1);
		assert_int_equal(j.n, 1);
		assert_int_equal(j.items[0].n, 2);
		assert_int_equal(j.items[0].state, TRANSACTION_APPLIED);
		assert_int_equal(j.items[0].entries[1].state, ENTRY_DONE);
		lab_close(&l);
	}
}

static void test_zero_bytes(void **state)
{
	static const char text[] = BEGIN(1) "{\"t\":\"x\0\",\"txn\":1}\n\0\0\0\n" END(1, "applied");
	struct journal j;
	struct lab l;

	(void)state;
	lab_open(&l);
	box_bytes(&l.box, JOURNAL_FILE, text, sizeof(text) - 1);
	lab_next(&l);
	lab_journal(&l, &j);
	assert_int_equal(j.n, 1);
	assert_int_equal(j.items[0].state, TRANSACTION_APPLIED);
	assert_int_equal(j.bad_lines, 2);
	lab_close(&l);
}

/* A line of ten megabytes, and one as deep as it is long. */
static void test_large(void **state)
{
	enum { LONG = 10 << 20 };
	TEXT_AUTO text = { 0 };
	struct journal j;
	struct lab l;

	(void)state;
	text_add(&text, BEGIN(1));
	text_add(&text, "{\"t\":\"intend\",\"txn\":1,\"seq\":1,\"id\":\"");
	text_reserve(&text, LONG + 10);
	memset(text.s + text.len, 'x', LONG);
	text.len += LONG;
	text_add(&text, "\",\"target\":\"\"}\n{\"t\":\"done\",\"txn\":1,\"seq\":");
	for (int i = 0; i < 1 << 20; i++)
		text_addc(&text, '[');
	text_addc(&text, '\n');
	text_add(&text, INTEND(1, 1, "vm.swappiness", "60", "10"));
	load(&l, text.s, &j);
	/* The first is a change that cannot be read, and has the number of the last. */
	assert_int_equal(j.bad_lines, 3);
	assert_int_equal(j.n, 1);
	assert_int_equal(j.items[0].n, 1);
	assert_true(j.items[0].entries[0].unread);
	lab_close(&l);
}

/* What no plan would hold is not undone into the machine. */
static void test_unsound(void **state)
{
	static const char *const knobs[] = {
		"{\"kind\":\"sysctl\",\"name\":\"vm.../../../etc/passwd\",\"object\":\"\"}",
		"{\"kind\":\"sysctl\",\"name\":\"kernel.core_pattern\",\"object\":\"\"}",
		"{\"kind\":\"sysfs\",\"name\":\"/sys/block/sda/queue/nomerges\",\"object\":\"\"}",
		"{\"kind\":\"boot-argument\",\"name\":\"init\",\"object\":\"\"}",
		"{\"kind\":\"unit\",\"name\":\"ssh.service\",\"object\":\"\"}",
		"{\"kind\":\"sysfs\",\"name\":\"/etc/passwd\",\"object\":\"\"}",
		"{\"kind\":\"sysfs\",\"name\":\"/sys/../etc/passwd\",\"object\":\"\"}",
		"{\"kind\":\"sysfs\",\"name\":\"/sys/class/net/../../../etc/x\",\"object\":\"\"}",
		"{\"kind\":\"sysfs\",\"name\":\"/sys/bus/pci/devices/x/remove\",\"object\":\"\"}",
		"{\"kind\":\"module-parameter\",\"name\":\"../../x.y\",\"object\":\"\"}",
		"{\"kind\":\"unit\",\"name\":\"../../x.service\",\"object\":\"\"}",
		"{\"kind\":\"unit\",\"name\":\"a b.service\",\"object\":\"\"}",
		"{\"kind\":\"nvml\",\"name\":\"gpu-clock-lock\",\"object\":\"0;rm\"}",
		"{\"kind\":\"nvml\",\"name\":\"reset\",\"object\":\"" LAB_GPU "\"}",
		"{\"kind\":\"pci\",\"name\":\"mrrs\",\"object\":\"../x\"}",
		"{\"kind\":\"link\",\"name\":\"mtu\",\"object\":\"a/b\"}",
		"{\"kind\":\"zfs-property\",\"name\":\"autotrim\",\"object\":\"-x\"}",
		"{\"kind\":\"boot-argument\",\"name\":\"a b\",\"object\":\"\"}",
		"{\"kind\":\"helper\",\"name\":\"sh\",\"object\":\"\"}",
		"{\"kind\":\"none\",\"name\":\"x\",\"object\":\"\"}",
		"{\"kind\":\"file\",\"name\":\"/etc/passwd\",\"object\":\"\"}",
		"{\"kind\":1,\"name\":\"vm.swappiness\",\"object\":\"\"}",
		"{\"kind\":\"sysctl\",\"name\":\"vm.swappiness\"}",
		"[]",
		"null",
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(knobs) / sizeof(knobs[0]); i++) {
		const char *knob = knobs[i / 2];
		TEXT_AUTO text = { 0 };
		struct journal j;
		struct lab l;

		text_add(&text, BEGIN(1));
		if (i % 2) /* as what another write resets */
			text_printf(&text,
				    "{\"t\":\"intend\",\"txn\":1,\"seq\":1,\"id\":\"x.y\","
				    "\"target\":\"\",\"knob\":{\"kind\":\"sysctl\",\"name\":"
				    "\"vm.swappiness\",\"object\":\"\"},\"place\":\"\",\"before\":"
				    "\"60\",\"after\":\"10\",\"sides\":[{\"knob\":%s,"
				    "\"before\":\"1\"}]}\n",
				    knob);
		else
			text_printf(&text,
				    "{\"t\":\"intend\",\"txn\":1,\"seq\":1,\"id\":\"x.y\","
				    "\"target\":\"\",\"knob\":%s,\"place\":\"\",\"before\":\"60\","
				    "\"after\":\"10\"}\n",
				    knob);
		load(&l, text.s, &j);
		if (j.bad_lines != 1 || j.n != 1 || j.items[0].n != 1 ||
		    !j.items[0].entries[0].unread || j.items[0].entries[0].knob.kind != KNOB_NONE ||
		    j.items[0].entries[0].n_sides)
			fail_msg("was taken: %s", knob);
		lab_close(&l);
	}
}

/* Values are checked where they are written: an unsound one leaves the entry stuck, not the
 * machine changed. */
static void test_unsound_value(void **state)
{
	static const char text[] = BEGIN(1) INTEND(1, 1, "vm.swappiness", "60", "10")
		DONE(1, 1, "10") "{\"t\":\"rebase\",\"txn\":1,\"seq\":1,\"before\":\"6\\n1\"}"
				 "\n" END(1, "applied");
	struct journal j;
	struct lab l;

	(void)state;
	load(&l, text, &j);
	lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
	lab_undo(&l, (struct txn_select){ .all = true });
	assert_true(strcmp(lab_sysctl(&l, "vm.swappiness"), "10") == 0 || lab_is_original(&l));
	lab_close(&l);
}

/* What a version with other bounds has set is taken back all the same, and not set again. */
static void test_other_bounds(void **state)
{
	static const char text[] = BEGIN(1) INTEND(1, 1, "vm.dirty_ratio", "20", "100")
		DONE(1, 1, "100") END(1, "applied");
	struct journal j;
	struct lab l;

	(void)state;
	load(&l, text, &j);
	assert_int_equal(j.bad_lines, 0);
	lab_by_hand(&l, "/proc/sys/vm/dirty_ratio", "100");
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_true(lab_is_original(&l));
	lab_change(&l, "memory.dirty-ratio", KNOB_SYSCTL, "vm.dirty_ratio", "100");
	assert_int_equal(lab_apply(&l), -EINVAL);
	assert_non_null(strstr(l.e.text, "memory.dirty-ratio: vm.dirty_ratio takes 1 to 90 %"));
	lab_change(&l, "kernel.core", KNOB_SYSCTL, "kernel.random.boot_id", "1");
	assert_int_equal(lab_apply(&l), -EINVAL);
	assert_non_null(strstr(l.e.text, "gputune does not change"));
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* The number of the next transaction is one that can be read again. */
static void test_last_number(void **state)
{
	struct journal j;
	struct lab l;
	int r;

	(void)state;
	load(&l, "{\"t\":\"closed\",\"txn\":10000000}\n", &j);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
	r = lab_apply(&l);
	if (r == 0) {
		lab_journal(&l, &j);
		assert_int_equal(j.n, 1);
		assert_int_equal(lab_undo(&l, (struct txn_select){ 0 }), 0);
	} else {
		assert_true(*l.e.text);
	}
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* Transactions that are over are not even looked at, unless all are asked for. */
static void test_skips(void **state)
{
	struct journal j;
	struct lab l;

	(void)state;
	lab_open(&l);
	for (int i = 0; i < 3; i++) {
		lab_make(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
		lab_undo_txn(&l, (unsigned long)(2 * i + 1));
	}
	lab_make(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
	assert_int_equal(journal_load(l.h, &l.a, false, &j, &l.e), 0);
	assert_int_equal(j.n, 1);
	assert_int_equal(j.items[0].txn, 7);
	assert_int_equal(j.next, 8);
	lab_journal(&l, &j);
	assert_int_equal(j.n, 7);
	assert_int_equal(j.items[0].state, TRANSACTION_UNDONE);
	assert_string_equal(j.items[1].op, "undo");
	assert_int_equal(j.bad_lines, 0);
	lab_close(&l);
}

/* Lines that begin as the two before them did, but for the end of the number. */
static void test_alike(void **state)
{
	static const char text[] = BEGIN(1) BEGIN(12) BEGIN(123)
		INTEND(1, 1, "vm.swappiness", "60", "10") INTEND(12, 1, "vm.swappiness", "10", "9")
			INTEND(123, 1, "vm.swappiness", "9", "8") DONE(12, 1, "9") DONE(1, 1, "10")
				DONE(123, 1, "8") DONE(12, 1, "9") END(12, "rolled-back")
					END(1, "applied") "{\"t\":\"end\",\"txn\":1\n"
							  "{\"t\":\"end\",\"txn\":1x\n"
							  "{\"t\":\"end\",\"txn\":123}\n";
	struct journal j;
	struct lab l;

	(void)state;
	load(&l, text, &j);
	assert_int_equal(j.n, 3);
	assert_int_equal(j.next, 124);
	assert_int_equal(j.bad_lines, 3);
	for (size_t i = 0; i < j.n; i++)
		assert_int_equal(j.items[i].n, 1);
	assert_int_equal(j.items[1].txn, 12);
	assert_int_equal(j.items[1].state, TRANSACTION_ROLLED_BACK);
	assert_int_equal(journal_load(l.h, &l.a, false, &j, &l.e), 0);
	assert_int_equal(j.n, 2);
	assert_int_equal(j.items[0].txn, 1);
	assert_int_equal(j.items[0].state, TRANSACTION_APPLIED);
	assert_int_equal(j.items[1].txn, 123);
	assert_int_equal(j.items[1].state, TRANSACTION_OPEN);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_missing),
		cmocka_unit_test(test_torn),	      cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_again),	      cmocka_unit_test(test_zero_bytes),
		cmocka_unit_test(test_large),	      cmocka_unit_test(test_unsound),
		cmocka_unit_test(test_unsound_value), cmocka_unit_test(test_other_bounds),
		cmocka_unit_test(test_last_number),   cmocka_unit_test(test_skips),
		cmocka_unit_test(test_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
