/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's files: no damage to one of the two loses anything, none to both loses anything in
 * silence, and an earlier format is carried over. */
#include <stdbool.h>

#include "lab.h"

#include "base/text.h"
#include "tune/txn/store.h"
#include "tune/txn/write.h"

#define JOURNAL_FILE "o/root" TXN_JOURNAL

static const struct seal_file none = { "", 0 };

static struct seal_file file_of(struct lab *l, const char *path)
{
	struct seal_file f = none;
	char *text;

	if (host_read(l->h, path, 1 << 22, &l->a, &text, &f.len) == 0)
		f.text = text;
	return f;
}

static void set_file(struct lab *l, const char *path, struct seal_file f)
{
	assert_int_equal(host_put(l->h, path, f.text, f.len, 0600), 0);
	lab_next(l);
}

/* Two that hold, and one that is undone. */
static void open_lab(struct lab *l)
{
	lab_open(l);
	lab_make(l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
	lab_make(l, "disk.scheduler", KNOB_SYSFS, LAB_QUEUE "scheduler", "kyber");
	lab_undo_txn(l, 2);
	lab_make(l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
}

static void assert_whole(const struct seal_read *got, struct seal_file want)
{
	assert_int_equal(got->bad, 0);
	assert_int_equal(got->len, want.len);
	assert_memory_equal(got->text, want.text, want.len);
}

static void test_crc(void **state)
{
	(void)state;
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c("", 0), 0);
}

static void test_same(void **state)
{
	struct seal_file journal, copy;
	struct seal_read got;
	struct lab l;

	(void)state;
	open_lab(&l);
	journal = file_of(&l, TXN_JOURNAL);
	copy = file_of(&l, TXN_COPY);
	seal_merge(&l.a, journal, copy, &got);
	assert_true(got.sealed && got.same && !got.mended);
	assert_whole(&got, journal);
	seal_merge(&l.a, none, none, &got);
	assert_false(got.sealed);
	lab_close(&l);
}

/* How a byte is damaged. */
static char damaged(char c, int way)
{
	static const char marks[] = { '\n', '"', '\0' };

	return way < 2 ? (char)(c ^ (way ? 0x80 : 1)) : marks[way - 2];
}

enum { WAYS = 5 };

/* Every byte of one file, and every length of it: the other one has it all. Alone it tells that
 * something is lost, and holds nothing that was not written. */
static void test_every_byte(void **state)
{
	struct seal_file whole;
	struct lab l;

	(void)state;
	open_lab(&l);
	whole = file_of(&l, TXN_JOURNAL);
	for (size_t i = 0; i < whole.len * WAYS; i++) {
		char *bytes = arena_strndup(&l.a, whole.text, whole.len), *at = &bytes[i / WAYS],
		     c = damaged(*at, (int)(i % WAYS));
		struct seal_file bad = { bytes, whole.len };
		struct arena a = { 0 };
		struct seal_read got;

		if (c == *at)
			continue;
		*at = c;
		seal_merge(&a, bad, whole, &got);
		assert_whole(&got, whole);
		seal_merge(&a, whole, bad, &got);
		assert_whole(&got, whole);
		seal_merge(&a, bad, none, &got);
		if (!got.bad && (got.len != whole.len || memcmp(got.text, whole.text, got.len)))
			fail_msg("byte %zu, way %zu: lost in silence", i / WAYS, i % WAYS);
		for (const char *s = got.text, *nl; (nl = strchr(s, '\n')); s = nl + 1)
			assert_non_null(memmem(whole.text, whole.len, s, (size_t)(nl - s) + 1));
		arena_free(&a);
	}
	for (size_t n = 0; n < whole.len; n++) {
		struct seal_file cut = { whole.text, n };
		struct seal_read got;

		seal_merge(&l.a, cut, whole, &got);
		assert_whole(&got, whole);
		seal_merge(&l.a, whole, cut, &got);
		assert_whole(&got, whole);
		/* What a crash leaves: nothing that was said to be written is missing. */
		seal_merge(&l.a, cut, none, &got);
		assert_int_equal(got.bad, 0);
	}
	lab_close(&l);
}

static struct seal_file without(struct lab *l, struct seal_file f, size_t line, size_t n)
{
	TEXT_AUTO text = { 0 };
	size_t i = 0;

	for (const char *s = f.text, *nl; (nl = strchr(s, '\n')); s = nl + 1, i++)
		if (i < line || i >= line + n)
			text_addn(&text, s, (size_t)(nl - s) + 1);
	return (struct seal_file){ arena_strndup(&l->a, text.s, text.len), text.len };
}

static size_t count_lines(struct seal_file f)
{
	size_t n = 0;

	for (size_t i = 0; i < f.len; i++)
		n += f.text[i] == '\n';
	return n;
}

/* Lines that went whole, from one or from both. */
static void test_lines_gone(void **state)
{
	struct seal_file whole;
	struct seal_read got;
	struct lab l;
	size_t n;

	(void)state;
	open_lab(&l);
	whole = file_of(&l, TXN_JOURNAL);
	n = count_lines(whole);
	for (size_t i = 0; i + 1 < n; i++)
		for (size_t k = 0; k + 1 < n; k++) {
			struct seal_file x = without(&l, whole, i, 1), y = without(&l, whole, k, 1);

			seal_merge(&l.a, x, y, &got);
			if (i != k) {
				assert_whole(&got, whole);
				continue;
			}
			assert_int_equal(got.bad, 1);
			assert_int_equal(got.bad_at, i + 1);
			assert_int_equal(count_lines((struct seal_file){ got.text, got.len }),
					 n - 1);
		}
	lab_close(&l);
}

/* An addition that failed when some of it was on disk, and was made again. */
static void test_repeated(void **state)
{
	struct seal_file whole;
	struct lab l;

	(void)state;
	open_lab(&l);
	whole = file_of(&l, TXN_JOURNAL);
	for (const char *from = whole.text; *from; from = strchr(from, '\n') + 1)
		for (size_t cut = (size_t)(from - whole.text); cut <= whole.len; cut += 7) {
			TEXT_AUTO text = { 0 };
			struct seal_read got;
			struct seal_file twice;

			text_addn(&text, whole.text, cut);
			text_addc(&text, '\n');
			text_add(&text, from);
			twice = (struct seal_file){ text.s, text.len };
			seal_merge(&l.a, twice, none, &got);
			assert_whole(&got, whole);
			seal_merge(&l.a, twice, whole, &got);
			assert_whole(&got, whole);
		}
	lab_close(&l);
}

/* The program over each: what it cannot read stays open and is named, and no value is written that
 * was not there before. */
static void test_undo_damaged(void **state)
{
	struct seal_file whole;
	struct lab l;
	size_t lost = 0, undone = 0;

	(void)state;
	open_lab(&l);
	whole = file_of(&l, TXN_JOURNAL);
	for (size_t i = 0; i < whole.len; i += 11) {
		char *bytes = arena_strndup(&l.a, whole.text, whole.len);
		struct journal j;

		lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
		lab_by_hand(&l, "/proc/sys/vm/dirty_ratio", "5");
		bytes[i] = damaged(bytes[i], 0);
		set_file(&l, TXN_JOURNAL, (struct seal_file){ bytes, whole.len });
		host_remove(l.h, TXN_COPY);
		lab_undo(&l, (struct txn_select){ .all = true });
		lab_journal(&l, &j);
		if (lab_is_original(&l)) {
			undone++;
		} else {
			lost++;
			assert_true(j.bad_lines > 0);
			assert_true(strcmp(lab_sysctl(&l, "vm.swappiness"), "60") == 0 ||
				    strcmp(lab_sysctl(&l, "vm.swappiness"), "10") == 0);
			assert_true(strcmp(lab_sysctl(&l, "vm.dirty_ratio"), "20") == 0 ||
				    strcmp(lab_sysctl(&l, "vm.dirty_ratio"), "5") == 0);
		}
	}
	/* Of the two intents alone too little is left. */
	assert_true(undone > lost);
	lab_close(&l);
}

/* From the copy all of it is undone, and both are whole again. */
static void test_healed(void **state)
{
	struct seal_file whole, journal, copy;
	struct seal_read got;
	struct lab l;

	(void)state;
	open_lab(&l);
	whole = file_of(&l, TXN_JOURNAL);
	for (size_t i = 0; i < whole.len; i += 97) {
		char *bytes = arena_strndup(&l.a, whole.text, whole.len);

		bytes[i] ^= 4;
		set_file(&l, i % 2 ? TXN_JOURNAL : TXN_COPY,
			 (struct seal_file){ bytes, whole.len });
		set_file(&l, i % 2 ? TXN_COPY : TXN_JOURNAL, whole);
		lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
		lab_by_hand(&l, "/proc/sys/vm/dirty_ratio", "5");
		assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
		assert_true(lab_is_original(&l));
		journal = file_of(&l, TXN_JOURNAL);
		copy = file_of(&l, TXN_COPY);
		seal_merge(&l.a, journal, copy, &got);
		assert_true(got.same && !got.bad);
	}
	lab_close(&l);
}

#define OLD_BEGIN(n, op)                                                                           \
	"{\"t\":\"begin\",\"txn\":" n ",\"op\":\"" op "\",\"boot\":\"" LAB_BOOT                    \
	"\",\"time\":1790000000,\"user\":\"root\",\"reason\":null,\"profile\":null,"               \
	"\"version\":\"0.1.0\",\"changes\":1}\n"
#define OLD_CHANGE(n, before, after)                                                               \
	OLD_BEGIN(n, "apply")                                                                      \
	"{\"t\":\"intend\",\"txn\":" n ",\"seq\":1,\"id\":\"memory.swappiness\",\"target\":\"\","  \
	"\"knob\":{\"kind\":\"sysctl\",\"name\":\"vm.swappiness\",\"object\":\"\"},"               \
	"\"place\":\"\",\"before\":\"" before "\",\"after\":\"" after "\"}\n"                      \
	"{\"t\":\"done\",\"txn\":" n ",\"seq\":1,\"read\":\"" after "\"}\n"                        \
	"{\"t\":\"end\",\"txn\":" n ",\"result\":\"applied\"}\n"

/* Nothing of an earlier format is lost, lines that cannot be read neither. */
static void test_old_format(void **state)
{
	static const char junk[] = "x\xff\"y\\\n";
	struct seal_file now;
	struct seal_read got;
	struct journal j;
	struct lab l;

	(void)state;
	lab_open(&l);
	lab_set_journal(
		&l, OLD_CHANGE("7", "60", "10") "x\xff\"y\\\n{\"t\":\"closed\",\"txn\":9999999}\n");
	lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
	lab_journal(&l, &j);
	assert_int_equal(j.bad_lines, 2);
	assert_int_equal(j.next, 8);
	lab_make(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	now = file_of(&l, TXN_JOURNAL);
	seal_merge(&l.a, now, file_of(&l, TXN_COPY), &got);
	assert_true(got.sealed && got.same);
	assert_non_null(strstr(now.text, "\"bytes\":\"x\xc3\xbf\\\"y\\\\\""));
	assert_int_equal(strlen(junk), 6);
	lab_journal(&l, &j);
	assert_int_equal(j.bad_lines, 2);
	assert_int_equal(j.n, 2);
	assert_int_equal(j.items[1].txn, 8);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

/* The same between two lines of one transaction, which are read in one go. */
static void test_between(void **state)
{
	static const char change[] = OLD_CHANGE("7", "60", "10");
	const char *second = strchr(change, '\n') + 1;
	TEXT_AUTO text = { 0 };
	struct journal j;
	struct lab l;

	(void)state;
	text_addn(&text, change, (size_t)(second - change));
	text_add(&text, "{\"t\":\"closed\",\"txn\":9999999}\n"
			"{\"t\":\"closed\",\"txn\":10000000}\nnonsense\n");
	text_add(&text, second);
	lab_open(&l);
	lab_set_journal(&l, text.s);
	lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
	for (int i = 0; i < 2; i++) {
		lab_journal(&l, &j);
		assert_int_equal(j.bad_lines, 3);
		assert_int_equal(j.items[0].n, 1);
		assert_int_equal(j.items[0].entries[0].state, ENTRY_DONE);
		/* It is written anew, with the lines that cannot be read in it. */
		if (i == 0)
			lab_make(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	}
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_true(lab_is_original(&l));
	lab_close(&l);
}

static int tend(struct lab *l, enum txn_tend how)
{
	struct txn_who who = { .user = "tester", .version = "1" };
	int r = txn_tend(l->h, &l->a, how, &who, &l->report, &l->e);

	lab_next(l);
	return r;
}

/* What is over goes to the history by itself; what holds stays, and is undone. */
static void test_long(void **state)
{
	enum { OVER = 4000 };
	TEXT_AUTO text = { 0 };
	struct seal_file now;
	struct journal j;
	struct lab l;
	struct err e;

	(void)state;
	lab_open(&l);
	text_add(&text, OLD_CHANGE("1", "60", "10"));
	for (int i = 2; i < OVER; i++)
		text_printf(&text, OLD_CHANGE("%d", "10", "11") "{\"t\":\"closed\",\"txn\":%d}\n",
			    i, i, i, i, i);
	lab_set_journal(&l, text.s);
	lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
	lab_make(&l, "memory.dirty", KNOB_SYSCTL, "vm.dirty_ratio", "5");
	now = file_of(&l, TXN_JOURNAL);
	assert_true(now.len < 4096);
	assert_int_equal(journal_load(l.h, &l.a, false, &j, &e), 0);
	assert_int_equal(j.n, 2);
	assert_int_equal(j.items[1].txn, OVER);
	lab_journal(&l, &j);
	assert_int_equal(j.n, OVER);
	for (size_t i = 0; i < j.n; i++)
		assert_int_equal(j.items[i].txn, i + 1);
	assert_int_equal(j.bad_lines, 0);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), 0);
	assert_true(lab_is_original(&l));
	/* What has just become over goes there when it is asked for, and no number is used again.
	 */
	assert_int_equal(tend(&l, TXN_COMPACT), 0);
	assert_int_equal(journal_load(l.h, &l.a, false, &j, &e), 0);
	assert_int_equal(j.n, 0);
	assert_int_equal(j.next, OVER + 2);
	lab_journal(&l, &j);
	assert_int_equal(j.n, OVER + 1);
	lab_close(&l);
}

static void test_newer(void **state)
{
	static const char text[] = SEAL_FIRST "\"format\":3," SEAL_TIMES "1,\"next\":1}";
	TEXT_AUTO sealed = { 0 };
	uint32_t chain = 0;
	struct journal j;
	struct lab l;

	(void)state;
	seal_line(&sealed, text, strlen(text), &chain);
	lab_open(&l);
	lab_set_journal(&l, sealed.s);
	assert_int_equal(journal_load(l.h, &l.a, false, &j, &l.e), -EPROTONOSUPPORT);
	lab_change(&l, "memory.swappiness", KNOB_SYSCTL, "vm.swappiness", "10");
	assert_int_equal(lab_apply(&l), -EPROTONOSUPPORT);
	assert_int_equal(lab_undo(&l, (struct txn_select){ .all = true }), -EPROTONOSUPPORT);
	assert_true(lab_is_original(&l));
	assert_string_equal(file_of(&l, TXN_JOURNAL).text, sealed.s);
	lab_close(&l);
}

/* What both files have lost is named until it is given up; the rest is not touched by that. */
static void test_give_up(void **state)
{
	struct seal_file whole;
	struct journal j;
	struct lab l;
	size_t n;

	(void)state;
	open_lab(&l);
	whole = file_of(&l, TXN_JOURNAL);
	n = count_lines(whole);
	for (size_t i = 0; i + 1 < n; i++) {
		lab_by_hand(&l, "/proc/sys/vm/swappiness", "10");
		lab_by_hand(&l, "/proc/sys/vm/dirty_ratio", "5");
		set_file(&l, TXN_JOURNAL, without(&l, whole, i, 1));
		host_remove(l.h, TXN_COPY);
		lab_next(&l);
		assert_int_equal(tend(&l, TXN_REPAIR), 0);
		lab_journal(&l, &j);
		assert_true(j.bad_lines > 0);
		assert_int_equal(tend(&l, TXN_GIVE_UP), 0);
		lab_journal(&l, &j);
		if (j.bad_lines)
			fail_msg("line %zu is still missed", i + 1);
		for (size_t t = 0; t < j.n; t++)
			for (size_t k = 0; k < j.items[t].n; k++)
				assert_false(j.items[t].entries[k].unread);
		lab_undo(&l, (struct txn_select){ .all = true });
		assert_true(strcmp(lab_sysctl(&l, "vm.swappiness"), "60") == 0 ||
			    strcmp(lab_sysctl(&l, "vm.dirty_ratio"), "20") == 0);
	}
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc),	   cmocka_unit_test(test_same),
		cmocka_unit_test(test_every_byte), cmocka_unit_test(test_lines_gone),
		cmocka_unit_test(test_repeated),   cmocka_unit_test(test_undo_damaged),
		cmocka_unit_test(test_healed),	   cmocka_unit_test(test_old_format),
		cmocka_unit_test(test_between),	   cmocka_unit_test(test_long),
		cmocka_unit_test(test_newer),	   cmocka_unit_test(test_give_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
