/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher, with a clock and events that a test makes up, on a captured machine that takes
 * writes. */
#include "lab.h"

#include <jansson.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/text.h"
#include "tune/txn/write.h"
#include "tune/watch/guard.h"
#include "tune/watch/item.h"
#include "tune/watch/watch.h"

#define SWAP "/proc/sys/vm/swappiness"
#define SWAP_ID "memory.swappiness"
#define CONF "m/root/etc/gputune/watch.conf"

/* --- a source that is told what happens when -------------------------------------------------- */

struct fake;

struct step {
	long long at;		     /* ms */
	void (*run)(struct fake *f); /* what happens on the machine; NULL: nothing */
	enum hint_kind kind;	     /* of the hint that follows, when via says one does */
	const char *via, *what;
	struct who who;
};

struct fake {
	struct source source;
	struct lab *lab;
	const struct step *steps;
	size_t n, at;
	long long now;
	bool busy;
	int waits, listened;
	bool gpus, marked; /* what was asked to be heard of */
};

static struct fake *fake_of(struct source *s)
{
	return (struct fake *)s;
}

static long long fake_now(struct source *s)
{
	return fake_of(s)->now;
}

static long long fake_time(struct source *s)
{
	return 1790000000 + fake_of(s)->now / 1000;
}

static size_t fake_wait(struct source *s, long long until, struct hint *out, size_t cap)
{
	struct fake *f = fake_of(s);
	const struct step *next = f->at < f->n ? &f->steps[f->at] : NULL;

	assert_true(cap >= 1);
	assert_true(f->waits++ < 100000);
	if (next && next->at > until) {
		f->now = until > f->now ? until : f->now + 1;
		return 0;
	}
	if (!next) {
		out[0] = (struct hint){ .kind = HINT_STOP, .via = "signal" };
		return 1;
	}
	f->at++;
	f->now = next->at > f->now ? next->at : f->now;
	if (next->run)
		next->run(f);
	if (!next->via)
		return 0;
	out[0] = (struct hint){ .kind = next->kind, .via = next->via, .who = next->who };
	if (next->what)
		strcpy(out[0].what, next->what);
	return 1;
}

static bool fake_busy(struct source *s)
{
	return fake_of(s)->busy;
}

static unsigned long long fake_stamp(struct source *s)
{
	struct lab *l = fake_of(s)->lab;
	unsigned long long sum = 5381;
	char *text;
	size_t n;

	if (host_read(l->h, TXN_JOURNAL, 1 << 20, &l->a, &text, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		sum = sum * 33 + (unsigned char)text[i];
	return sum | 1;
}

static void fake_listen(struct source *s, const struct mark *marks, size_t n, bool gpus)
{
	struct fake *f = fake_of(s);

	f->listened++;
	f->gpus = gpus;
	f->marked = false;
	for (size_t i = 0; i < n; i++)
		f->marked = f->marked || strcmp(marks[i].path, SWAP) == 0;
}

static const struct source_ops fake_ops = { fake_now,	fake_time,   fake_wait, fake_busy,
					    fake_stamp, fake_listen, NULL };

/* --- a run ------------------------------------------------------------------------------------ */

enum { LINES = 200 };

struct trial {
	struct lab lab;
	struct fake fake;
	struct watch watch;
	struct watch_sum sum;
	struct err e;
	json_t *lines[LINES]; /* but for "started" and "stopped" */
	size_t n;
	int opened;
};

static struct host *trial_open(void *ctx, struct err *e)
{
	struct trial *t = ctx;

	(void)e;
	t->opened++;
	return lab_host(&t->lab);
}

static void trial_begin(struct trial *t)
{
	memset(t, 0, sizeof(*t));
	lab_open(&t->lab);
	t->watch = (struct watch){ .open = trial_open,
				   .ctx = t,
				   .policy_file = WATCH_CONF,
				   .reaction = -1,
				   .notify_fd = -1 };
}

static int trial_run(struct trial *t, const struct step *steps, size_t n)
{
	struct reporter say = { .json = true, .journal_fd = -1 };
	char *text = NULL, *save = NULL;
	size_t len = 0;
	int code;

	for (size_t i = 0; i < t->n; i++)
		json_decref(t->lines[i]);
	t->n = 0;
	t->fake = (struct fake){ .source = { &fake_ops }, .lab = &t->lab, .steps = steps, .n = n };
	say.out = open_memstream(&text, &len);
	assert_non_null(say.out);
	t->watch.source = &t->fake.source;
	t->watch.reporter = &say;
	code = watch_run(&t->watch, &t->sum, &t->e);
	fclose(say.out);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_error_t why;
		json_t *j = json_loads(line, 0, &why);
		const char *event = json_string_value(json_object_get(j, "event"));

		assert_non_null(j);
		assert_true(t->n < LINES);
		if (strcmp(event, "started") == 0 || strcmp(event, "stopped") == 0)
			json_decref(j);
		else
			t->lines[t->n++] = j;
	}
	free(text);
	return code;
}

#define RUN(t, ...)                                                                                \
	do {                                                                                       \
		const struct step steps_[] = { __VA_ARGS__ };                                      \
		assert_int_equal(trial_run(t, steps_, sizeof(steps_) / sizeof(steps_[0])), 0);     \
	} while (0)

static void trial_end(struct trial *t)
{
	for (size_t i = 0; i < t->n; i++)
		json_decref(t->lines[i]);
	lab_close(&t->lab);
}

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "-";
}

/* "changed memory.swappiness 10 60 poll", ended by a bar. */
static void expect(struct trial *t, const char *want)
{
	TEXT_AUTO all = { 0 };

	text_add(&all, "");
	for (size_t i = 0; i < t->n; i++)
		text_printf(&all, "%s %s %s %s %s|", text_of(t->lines[i], "event"),
			    text_of(t->lines[i], "id"), text_of(t->lines[i], "from"),
			    text_of(t->lines[i], "to"), text_of(t->lines[i], "via"));
	assert_string_equal(all.s, want);
}

static void policy(struct trial *t, const char *text)
{
	box_file(&t->lab.box, CONF, text);
}

static void apply_swap(struct trial *t)
{
	lab_make(&t->lab, SWAP_ID, KNOB_SYSCTL, "vm.swappiness", "10");
}

static void set60(struct fake *f)
{
	lab_by_hand(f->lab, SWAP, "60\n");
}

static void set33(struct fake *f)
{
	lab_by_hand(f->lab, SWAP, "33\n");
}

static void set10(struct fake *f)
{
	lab_by_hand(f->lab, SWAP, "10\n");
}

#define END(ms)                                                                                    \
	{                                                                                          \
		.at = (ms)                                                                         \
	}
#define WROTE .kind = HINT_PATH, .via = "fanotify", .what = SWAP

/* --- noticing --------------------------------------------------------------------------------- */

static void test_quiet(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	RUN(&t, END(3600000));
	expect(&t, "");
	assert_int_equal(t.sum.watched, 1);
	assert_int_equal(t.sum.state[ITEM_OURS], 1);
	assert_true(t.fake.marked);
	/* 4 polls at 30 s, 4 at a minute, 4 at 2, 4 at 4, then 5 minutes: far fewer than 120. */
	assert_in_range(t.fake.waits, 15, 30);
	trial_end(&t);
}

static void test_poll(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	RUN(&t, { .at = 40000, .run = set60 }, { .at = 100000, .run = set10 }, END(200000));
	expect(&t, "changed memory.swappiness 10 60 poll|returned memory.swappiness 60 10 poll|");
	assert_string_equal(text_of(t.lines[0], "noticed_by"), "poll");
	assert_string_equal(text_of(t.lines[0], "time"), "2026-09-21T14:14:20Z");
	assert_true(json_is_null(json_object_get(t.lines[0], "who")));
	/* Reported, and left as it is. */
	trial_end(&t);
}

static void test_event(void **state)
{
	struct trial t;
	const json_t *who;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	RUN(&t,
	    { .at = 5000,
	      .run = set60,
	      WROTE,
	      .who = { .pid = 77, .name = "sysctl", .unit = "tuned.service", .login_uid = -1 } },
	    END(6000));
	expect(&t, "changed memory.swappiness 10 60 fanotify|");
	assert_string_equal(text_of(t.lines[0], "noticed_by"), "event");
	who = json_object_get(t.lines[0], "who");
	assert_int_equal(json_integer_value(json_object_get(who, "pid")), 77);
	assert_string_equal(text_of(who, "name"), "sysctl");
	assert_string_equal(text_of(who, "unit"), "tuned.service");
	assert_true(json_is_null(json_object_get(who, "login_uid")));
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "60");
	trial_end(&t);
}

static void test_start(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	lab_by_hand(&t.lab, SWAP, "33\n");
	RUN(&t, END(1000));
	expect(&t, "changed memory.swappiness 10 33 start|");
	t.watch.once = true;
	assert_int_equal(trial_run(&t, NULL, 0), 0);
	expect(&t, "changed memory.swappiness 10 33 start|");
	assert_int_equal(t.sum.state[ITEM_CHANGED], 1);
	trial_end(&t);
}

static void lie(struct fake *f)
{
	(void)f;
}

static void test_hint_is_not_believed(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	RUN(&t, { .at = 1000, .run = lie, WROTE },
	    { .at = 2000, .kind = HINT_ALL, .via = "inotify" },
	    { .at = 3000, .kind = HINT_LINK, .via = "netlink", .what = "eth0" },
	    { .at = 4000, .kind = HINT_DEVICE, .via = "uevent", .what = "/sys/devices/x" },
	    { .at = 5000, .kind = HINT_GPU, .via = "nvml", .what = "" }, END(9000));
	expect(&t, "");
	trial_end(&t);
}

#define QUEUE_FILE "root/sys/devices/pci0/nvme0n1/queue/scheduler"

static void remove_queue(struct fake *f)
{
	char path[512];

	assert_int_equal(unlink(box_path(&f->lab->box, "m/" QUEUE_FILE, path, sizeof(path))), 0);
	assert_int_equal(unlink(box_path(&f->lab->box, "o/" QUEUE_FILE, path, sizeof(path))), 0);
}

static void bring_queue(struct fake *f)
{
	box_file(&f->lab->box, "m/" QUEUE_FILE, "none [mq-deadline] kyber\n");
}

static void test_device(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	lab_change(&t.lab, "disk.scheduler", KNOB_SYSFS, LAB_QUEUE "scheduler", "none");
	lab_change(&t.lab, "gpu.persistence-mode", KNOB_NVML, "persistence-mode", "1");
	assert_int_equal(lab_apply(&t.lab), 0);
	RUN(&t, { .at = 1000, .run = remove_queue, .kind = HINT_ALL, .via = "inotify" },
	    { .at = 9000,
	      .run = bring_queue,
	      .kind = HINT_DEVICE,
	      .via = "uevent",
	      .what = "/sys/devices/pci0/nvme0n1" },
	    END(20000));
	/* The library stays out of this process unless its events are asked for. */
	assert_false(t.fake.gpus);
	expect(&t, "gone disk.scheduler none - inotify|changed disk.scheduler none mq-deadline "
		   "uevent|");
	trial_end(&t);
}

static void unlock_clock(struct fake *f)
{
	struct knob k = { KNOB_NVML, "gpu-clock-lock", LAB_GPU };
	struct err e = { 0 };

	assert_int_equal(knob_set(f->lab->h, &f->lab->a, &k, "unlocked", &e), 0);
}

/* --- transactions of our own ------------------------------------------------------------------ */

static void apply_again(struct fake *f)
{
	lab_make(f->lab, SWAP_ID, KNOB_SYSCTL, "vm.swappiness", "33");
}

static void undo_all(struct fake *f)
{
	assert_int_equal(lab_undo(f->lab, (struct txn_select){ .all = true }), 0);
}

static void test_own_transaction(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	/* Seen by its write, before anything said that the journal had changed. */
	RUN(&t, { .at = 1000, .run = apply_again, WROTE }, END(100000));
	expect(&t, "");
	assert_int_equal(t.sum.watched, 1);
	/* Now 33 is ours, and 10 is not. */
	RUN(&t, { .at = 1000, .run = set10, WROTE }, { .at = 50000, .run = undo_all, WROTE },
	    END(200000));
	expect(&t, "changed memory.swappiness 33 10 fanotify|");
	assert_int_equal(t.sum.watched, 0);
	trial_end(&t);
}

static void begin_change(struct fake *f)
{
	f->busy = true;
	set60(f);
}

static void end_change(struct fake *f)
{
	set10(f);
	f->busy = false;
}

static void leave_changed(struct fake *f)
{
	f->busy = false;
}

static void test_busy(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	RUN(&t, { .at = 1000, .run = begin_change, WROTE }, { .at = 20000, .run = end_change },
	    END(100000));
	expect(&t, "");
	RUN(&t, { .at = 1000, .run = begin_change, WROTE }, { .at = 20000, .run = leave_changed },
	    END(100000));
	expect(&t, "changed memory.swappiness 10 60 fanotify|");
	/* A lock that is never let go of hides nothing for ever. */
	RUN(&t, { .at = 1000, .run = set10 }, { .at = 100000, .run = begin_change, WROTE },
	    END(2000000));
	assert_string_equal(text_of(t.lines[t.n - 1], "event"), "changed");
	trial_end(&t);
}

/* Made from other things, and the same knob: what was applied last is what is to be. */
static void test_one_knob_twice(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	lab_change(&t.lab, SWAP_ID, KNOB_SYSCTL, "vm.swappiness", "20")->knob.object = "host";
	assert_int_equal(lab_apply(&t.lab), 0);
	t.watch.reaction = REACT_REAPPLY;
	RUN(&t, END(300000));
	expect(&t, "");
	assert_int_equal(t.sum.watched, 1);
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "20");
	trial_end(&t);
}

/* A journal may hold what no GPU takes for a lock. */
static void test_lock_of_nonsense(void **state)
{
	static const char text[] =
		"{\"t\":\"begin\",\"txn\":1,\"op\":\"apply\",\"boot\":\"" LAB_BOOT
		"\",\"time\":1}\n"
		"{\"t\":\"intend\",\"txn\":1,\"seq\":1,\"id\":\"gpu.sm-clock-lock\",\"target\":"
		"\"\",\"knob\":{\"kind\":\"nvml\",\"name\":\"gpu-clock-lock\",\"object\":"
		"\"" LAB_GPU "\"},\"before\":null,\"after\":\"0,999999\"}\n"
		"{\"t\":\"done\",\"txn\":1,\"seq\":1,\"read\":null}\n"
		"{\"t\":\"end\",\"txn\":1,\"result\":\"applied\"}\n";
	struct trial t;

	(void)state;
	trial_begin(&t);
	assert_int_equal(host_put(t.lab.h, TXN_JOURNAL, text, strlen(text), 0600), 0);
	RUN(&t, END(40000));
	expect(&t, "");
	assert_int_equal(t.sum.watched, 1);
	trial_end(&t);
}

static void set_turned(struct fake *f)
{
	static const char text[] = "a\xe2\x80\xae"
				   "b\xc2\x9b"
				   "c\n";

	assert_int_equal(host_put(f->lab->h, "/sys/module/zfs/parameters/zfs_prefetch_disable",
				  text, strlen(text), 0644),
			 0);
}

/* Neither what turns the direction of writing nor the controls behind ASCII. */
static void test_line_is_harmless(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	box_file(&t.lab.box, "m/root/sys/module/zfs/parameters/zfs_prefetch_disable", "0\n");
	lab_make(&t.lab, "zfs.prefetch", KNOB_MODPARAM, "zfs.zfs_prefetch_disable", "1");
	RUN(&t, { .at = 1000, .run = set_turned, .kind = HINT_ALL, .via = "inotify" }, END(9000));
	assert_int_equal(t.n, 1);
	assert_non_null(strstr(text_of(t.lines[0], "sentence"), "1 became a b c;"));
	trial_end(&t);
}

static void replace_journal(struct fake *f)
{
	static const char text[] =
		"{\"t\":\"begin\",\"txn\":7,\"op\":\"apply\",\"boot\":\"" LAB_BOOT
		"\",\"time\":1}\nno line\n";

	assert_int_equal(host_put(f->lab->h, TXN_JOURNAL, text, sizeof(text) - 1, 0600), 0);
	assert_int_equal(host_remove(f->lab->h, TXN_COPY), 0);
}

static void spoil_journal(struct fake *f)
{
	assert_int_equal(host_remove(f->lab->h, TXN_JOURNAL), 0);
	assert_int_equal(host_make_dir(f->lab->h, TXN_JOURNAL, 0700), 0);
}

static void test_journal_replaced(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	RUN(&t,
	    { .at = 1000,
	      .run = replace_journal,
	      .kind = HINT_PATH,
	      .via = "inotify",
	      .what = TXN_JOURNAL },
	    { .at = 2000, .run = set60, WROTE }, END(100000));
	expect(&t, "trouble - - - -|");
	assert_int_equal(t.sum.watched, 0);
	assert_true(t.sum.bad_lines > 0);
	assert_false(t.sum.blind);
	RUN(&t,
	    { .at = 1000,
	      .run = spoil_journal,
	      .kind = HINT_PATH,
	      .via = "inotify",
	      .what = TXN_JOURNAL },
	    END(100000));
	expect(&t, "trouble - - - -|trouble - - - -|");
	assert_true(t.sum.blind);
	trial_end(&t);
}

/* --- policies --------------------------------------------------------------------------------- */

static void test_reapply(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	policy(&t, "[memory]\npolicy = re-apply\n");
	apply_swap(&t);
	lab_make(&t.lab, "disk.scheduler", KNOB_SYSFS, LAB_QUEUE "scheduler", "none");
	RUN(&t, { .at = 1000, .run = set60, WROTE },
	    { .at = 90000, .kind = HINT_STOP, .via = "signal" });
	expect(&t, "reapplied memory.swappiness 10 60 fanotify|");
	assert_string_equal(text_of(t.lines[0], "policy"), "re-apply");
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "10");
	/* Its journal holds what it held: two transactions. */
	{
		struct journal j;

		lab_journal(&t.lab, &j);
		assert_int_equal(j.n, 2);
		assert_int_equal(j.items[0].n, 1);
	}
	/* What is not named is only reported. */
	lab_by_hand(&t.lab, LAB_QUEUE "scheduler", "kyber");
	RUN(&t, END(1000));
	expect(&t, "changed disk.scheduler none kyber start|");
	assert_string_equal(lab_queue(&t.lab, "scheduler"), "kyber");
	trial_end(&t);
}

/* Each time it is 10 somebody makes it 60. */
static const struct step fight[] = {
	{ .at = 1000, .run = set60, WROTE },   { .at = 10000, .run = set60, WROTE },
	{ .at = 100000, .run = set60, WROTE }, { .at = 400000, .run = set60, WROTE },
	{ .at = 500000, .run = set10, WROTE }, { .at = 600000, .run = set60, WROTE },
	{ .at = 900000, .run = set33, WROTE }, { .at = 3000000 },
};

static void test_no_fight(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	t.watch.reaction = REACT_REAPPLY;
	apply_swap(&t);
	assert_int_equal(trial_run(&t, fight, sizeof(fight) / sizeof(fight[0])), 0);
	expect(&t, "reapplied memory.swappiness 10 60 fanotify|"
		   "changed memory.swappiness 10 60 fanotify|"
		   "reapplied memory.swappiness 10 60 poll|"
		   "changed memory.swappiness 10 60 fanotify|"
		   "reapplied memory.swappiness 10 60 poll|"
		   "gave-up memory.swappiness 10 60 fanotify|");
	assert_non_null(strstr(text_of(t.lines[1], "sentence"), "re-applying in "));
	assert_non_null(strstr(text_of(t.lines[5], "sentence"), "reverted each time by: unknown"));
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "33");
	assert_int_equal(t.sum.state[ITEM_GIVEN_UP], 1);
	trial_end(&t);
}

static void test_limit_and_reload(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	policy(&t, "[watch]\npolicy = re-apply\n[memory.swappiness]\nlimit = 1\n");
	apply_swap(&t);
	RUN(&t, { .at = 1000, .run = set60, WROTE }, { .at = 10000, .run = set60, WROTE },
	    { .at = 60000, .kind = HINT_RELOAD, .via = "signal" }, END(70000));
	expect(&t, "reapplied memory.swappiness 10 60 fanotify|"
		   "gave-up memory.swappiness 10 60 fanotify|reloaded - - - -|"
		   "reapplied memory.swappiness 60 60 start|");
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "10");
	/* Two that are further apart than an hour are no fight. */
	RUN(&t, { .at = 1000, .run = set60, WROTE }, { .at = 3700000, .run = set60, WROTE },
	    END(3800000));
	expect(&t, "reapplied memory.swappiness 10 60 fanotify|"
		   "reapplied memory.swappiness 10 60 fanotify|");
	trial_end(&t);
}

static void set_back(struct fake *f)
{
	set60(f);
	f->busy = false;
}

static void test_back_off(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	policy(&t, "[memory.swappiness]\npolicy = back-off\n");
	apply_swap(&t);
	/* What was there before us: something reset it. */
	RUN(&t, { .at = 1000, .run = set_back, WROTE }, END(40000));
	expect(&t, "reapplied memory.swappiness 10 60 fanotify|");
	/* A third value is somebody's decision: said once. */
	RUN(&t, { .at = 1000, .run = set33, WROTE }, { .at = 60000, .run = set60, WROTE },
	    END(400000));
	expect(&t, "left memory.swappiness 10 33 fanotify|");
	assert_int_equal(t.sum.state[ITEM_LEFT], 1);
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "60");
	/* So is a reset by somebody who is logged in. */
	RUN(&t, { .at = 1000, .run = set10, WROTE },
	    { .at = 60000,
	      .run = set60,
	      WROTE,
	      .who = { .pid = 5, .name = "bash", .login_uid = 1000 } },
	    END(400000));
	assert_string_equal(text_of(t.lines[t.n - 1], "event"), "left");
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "60");
	trial_end(&t);
}

static void test_lost_at_reboot(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	lab_by_hand(&t.lab, "/proc/sys/kernel/random/boot_id", "22222222-2222\n");
	lab_by_hand(&t.lab, SWAP, "60\n");
	/* It is over with that boot: nobody could take back what is written now. */
	for (int i = 0; i < 3; i++) {
		static const int reactions[] = { REACT_REPORT, REACT_REAPPLY, REACT_BACK_OFF };

		t.watch.reaction = reactions[i];
		RUN(&t, END(100000));
		expect(&t, "lost memory.swappiness 10 60 start|");
		assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "60");
	}
	trial_end(&t);
}

/* A transaction that was interrupted, and a change that an undo has begun to take back: neither is
 * to hold, whatever the policy. */
static void test_open_is_not_held(void **state)
{
	static const struct entry first = { .txn = 1, .seq = 1 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct trial t;
		char *text, *end;
		size_t n;

		trial_begin(&t);
		apply_swap(&t);
		assert_int_equal(host_read(t.lab.h, TXN_JOURNAL, 1 << 20, &t.lab.a, &text, &n), 0);
		end = strstr(text, "{\"t\":\"end\"");
		assert_non_null(end);
		if (i) {
			*end = '\0';
			lab_set_journal(&t.lab, text);
		} else {
			struct journal_writer w = { .h = t.lab.h };

			write_undoing(&w, &first);
			assert_int_equal(write_flush(&w), 0);
			text_free(&w.waiting);
		}
		lab_by_hand(&t.lab, SWAP, "44\n");
		t.watch.reaction = REACT_REAPPLY;
		RUN(&t, END(100000));
		expect(&t, "");
		assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "44");
		trial_end(&t);
	}
}

static void test_flapping_is_quiet(void **state)
{
	enum { N = 600 };
	struct step *steps = calloc(N, sizeof(*steps));
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	for (int i = 0; i < N; i++)
		steps[i] =
			(struct step){ .at = 1000 + i * 500, .run = i % 2 ? set33 : set60, WROTE };
	assert_int_equal(trial_run(&t, steps, N), 0);
	/* Five minutes of it: the gaps double from one second. */
	assert_in_range(t.n, 4, 12);
	free(steps);
	trial_end(&t);
}

static void refuse(struct fake *f)
{
	set60(f);
	lab_by_hand(f->lab, SWAP, "60\n");
}

static void test_read_only(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	t.watch.reaction = REACT_REAPPLY;
	apply_swap(&t);
	/* Somebody else holds the lock all the time: nothing is written under their hands. */
	assert_int_equal(host_lock(t.lab.h, TXN_LOCK), 0);
	RUN(&t, { .at = 1000, .run = refuse, WROTE }, END(20000));
	expect(&t, "");
	assert_string_equal(lab_sysctl(&t.lab, "vm.swappiness"), "60");
	lab_next(&t.lab);
	RUN(&t, END(20000));
	expect(&t, "reapplied memory.swappiness 10 60 start|");
	trial_end(&t);
}

static void clock_lock(bool apart)
{
	struct trial t;

	trial_begin(&t);
	t.watch.apart = apart;
	t.watch.reaction = REACT_REAPPLY;
	lab_change(&t.lab, "gpu.clock-lock", KNOB_NVML, "gpu-clock-lock", "300,300");
	assert_int_equal(lab_apply(&t.lab), 0);
	/* A program resets the lock: the clock runs faster than it allows. */
	unlock_clock(&(struct fake){ .lab = &t.lab });
	RUN(&t, END(5000));
	assert_int_equal(t.n, 1);
	assert_string_equal(text_of(t.lines[0], "event"), "reapplied");
	assert_string_equal(text_of(t.lines[0], "to"), "no lock: the SM clock is above 300 MHz");
	lab_next(&t.lab);
	assert_int_equal(lab_clock(&t.lab), 300);
	trial_end(&t);
}

static void test_clock_lock(void **state)
{
	(void)state;
	clock_lock(false);
	clock_lock(true);
}

/* However long nothing happened: nobody else tells of a lock that went. */
static void test_clock_lock_in_time(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	t.watch.apart = true;
	lab_change(&t.lab, "gpu.clock-lock", KNOB_NVML, "gpu-clock-lock", "300,300");
	lab_change(&t.lab, SWAP_ID, KNOB_SYSCTL, "vm.swappiness", "10");
	assert_int_equal(lab_apply(&t.lab), 0);
	/* Later than the interval only by what a dear look stretches it. */
	RUN(&t, { .at = 7200000, .run = unlock_clock }, END(7400000));
	expect(&t, "changed gpu.clock-lock 300,300 no lock: the SM clock is above 300 MHz poll|");
	trial_end(&t);
}

static void hear_gpus(struct fake *f)
{
	box_file(&f->lab->box, CONF, "[watch]\ngpu-events = on\n");
}

/* Hearing of GPUs begins when it is asked for, and takes the place of no look: events tell of
 * states and errors, not of limits. */
static void test_gpu_events(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	t.watch.apart = true;
	lab_change(&t.lab, "gpu.clock-lock", KNOB_NVML, "gpu-clock-lock", "300,300");
	assert_int_equal(lab_apply(&t.lab), 0);
	RUN(&t, { .at = 1000, .run = hear_gpus, .kind = HINT_RELOAD, .via = "signal" }, END(2000));
	assert_true(t.fake.gpus);
	expect(&t, "reloaded - - - -|");
	RUN(&t, { .at = 7200000, .run = unlock_clock }, END(7260000));
	expect(&t, "changed gpu.clock-lock 300,300 no lock: the SM clock is above 300 MHz poll|");
	trial_end(&t);
}

/* A tree for each controller, and in each a container: the file is long, and the last line tells.
 */
static void test_who_in_container(void **state)
{
	static const char pod[] = "/kubepods.slice/kubepods-burstable.slice/"
				  "kubepods-burstable-pod0123456789abcdef.slice/";
	TEXT_AUTO text = { 0 };
	struct who w;
	struct trial t;

	(void)state;
	trial_begin(&t);
	for (int i = 13; i >= 0; i--)
		text_printf(&text, "%d:controller%d:%scri-containerd-0123456789abcdef.scope\n", i,
			    i, pod);
	assert_true(text.len > 1024);
	box_file(&t.lab.box, "m/root/proc/4242/cgroup", text.s);
	who_look(t.lab.h, 4242, &w);
	assert_string_equal(w.unit, "cri-containerd-0123456789abcdef.scope");
	trial_end(&t);
}

/* What only a program can read is not looked at by every poll. */
static void test_dear(void **state)
{
	static const enum knob_kind dear[] = { KNOB_ZPROP, KNOB_HELPER, KNOB_FIRMWARE };

	(void)state;
	for (size_t i = 0; i < sizeof(dear) / sizeof(dear[0]); i++)
		assert_true(item_is_dear(&(struct watched_knob){ .knob.kind = dear[i] }));
	assert_false(item_is_dear(&(struct watched_knob){ .knob.kind = KNOB_SYSCTL }));
}

static void say_much(void *ctx, struct text *reply)
{
	for (int i = 0; i < *(int *)ctx; i++)
		text_addc(reply, 'x');
}

static void die(void *ctx, struct text *reply)
{
	text_add(reply, "half");
	_exit(*(int *)ctx);
}

static void work_ms(void *ctx, struct text *reply)
{
	clock_t end = clock() + *(int *)ctx * (CLOCKS_PER_SEC / 1000) * 2;

	(void)reply;
	while (clock() < end)
		;
}

static void hang(void *ctx, struct text *reply)
{
	(void)ctx;
	(void)reply;
	for (;;)
		pause();
}

static void test_apart(void **state)
{
	TEXT_AUTO reply = { 0 };
	int n = 200000, status = 3, spent = 20;
	long long cpu_us = 0;
	pid_t stuck = 0;

	(void)state;
	assert_int_equal(apart_run(work_ms, &spent, 10000, &reply, &stuck, &cpu_us), 0);
	assert_true(cpu_us >= spent * 1000);
	assert_int_equal(apart_run(say_much, &n, 10000, &reply, &stuck, NULL), 0);
	assert_int_equal(reply.len, 200000);
	text_clear(&reply);
	n = APART_MAX + 1;
	assert_int_equal(apart_run(say_much, &n, 10000, &reply, &stuck, NULL), -EIO);
	assert_int_equal(reply.len, 0);
	assert_int_equal(apart_run(die, &status, 10000, &reply, &stuck, NULL), -EIO);
	assert_int_equal(apart_run(hang, NULL, 100, &reply, &stuck, NULL), -ETIME);
	/* None is left behind. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* While one of them hangs in the kernel no other is started. */
static void test_apart_stuck(void **state)
{
	TEXT_AUTO reply = { 0 };
	siginfo_t info;
	pid_t pid = fork(), stuck = pid;
	int few = 3;

	(void)state;
	if (pid == 0)
		hang(NULL, NULL);
	assert_int_equal(apart_run(say_much, &few, 60000, &reply, &stuck, NULL), -ETIME);
	assert_int_equal(stuck, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(apart_run(say_much, &few, 60000, &reply, &stuck, NULL), 0);
	assert_int_equal(stuck, 0);
	assert_string_equal(reply.s, "xxx");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* --- the policy file -------------------------------------------------------------------------- */

static void refused(struct trial *t, const char *text, const char *where, const char *what)
{
	struct step none = { 0 };

	policy(t, text);
	t->e = (struct err){ 0 };
	assert_int_equal(trial_run(t, &none, 0), -EINVAL);
	if (!strstr(t->e.text, where) || !strstr(t->e.text, what))
		fail_msg("%s", t->e.text);
}

static void test_policy_errors(void **state)
{
	struct trial t;
	char large[400];

	(void)state;
	trial_begin(&t);
	refused(&t, "[memory.swappiness]\nploicy = report\n", "watch.conf:2:", "\"ploicy\"");
	refused(&t, "[memory.swapiness]\npolicy = report\n", ":2:", "memory.swappiness");
	refused(&t, "\n[memory]\npolicy = fight\n", ":3:", "\"fight\"");
	refused(&t, "[memory]\nlimit = 0\n", ":2:", "limit");
	refused(&t, "[memory]\nlimit = 99\n", ":2:", "limit");
	refused(&t, "[watch]\ninterval = soon\n", ":2:", "interval");
	refused(&t, "[watch]\ngpu-events = maybe\n", ":2:", "gpu-events");
	refused(&t, "[watch]\nmax-interval = 99h\n", ":2:", "max-interval");
	refused(&t, "[watch]\nonly = cpu\n", ":2:", "unknown key \"only\"");
	refused(&t, "policy = report\n", ":1:", "before any section");
	refused(&t, "[watch]\npolicy = report\nnonsense\n", ":3:", "comment");
	memset(large, 'x', sizeof(large) - 1);
	memcpy(large, "[watch]\n", 8);
	large[sizeof(large) - 1] = '\0';
	refused(&t, large, ":2:", "exceeds");
	trial_end(&t);
}

static void break_policy(struct fake *f)
{
	box_file(&f->lab->box, CONF, "[watch]\npolicy = fight\n");
}

static void test_policy_kept(void **state)
{
	struct trial t;

	(void)state;
	trial_begin(&t);
	policy(&t, "[watch]\npolicy = re-apply\n");
	apply_swap(&t);
	RUN(&t, { .at = 1000, .run = break_policy, .kind = HINT_RELOAD, .via = "signal" },
	    { .at = 2000, .run = set60, WROTE }, END(9000));
	expect(&t, "trouble - - - -|reapplied memory.swappiness 10 60 fanotify|");
	assert_non_null(strstr(text_of(t.lines[0], "sentence"), "watch.conf:2:"));
	trial_end(&t);
}

static void test_policy_of(void **state)
{
	struct trial t;
	struct policy p;
	enum reaction r;
	int limit;

	(void)state;
	trial_begin(&t);
	policy(&t, "[watch]\nlimit = 2\n[memory.swappiness]\npolicy = report\n[memory]\npolicy = "
		   "re-apply\nlimit = 5\n[memory.swappiness]\nlimit = 7\n");
	assert_int_equal(policy_load(t.lab.h, &t.lab.a, WATCH_CONF, &p, &t.e), 0);
	policy_of(&p, "memory.swappiness", &r, &limit);
	assert_int_equal(r, REACT_REPORT);
	assert_int_equal(limit, 7);
	policy_of(&p, "memory.thp", &r, &limit);
	assert_int_equal(r, REACT_REAPPLY);
	assert_int_equal(limit, 5);
	policy_of(&p, "cpu.governor", &r, &limit);
	assert_int_equal(r, REACT_REPORT);
	assert_int_equal(limit, 2);
	trial_end(&t);
}

/* --- the service manager and the journal ------------------------------------------------------ */

static int listener(struct trial *t, const char *name, char *path, size_t cap)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	box_path(&t->lab.box, name, path, cap);
	assert_true(strlen(path) < sizeof(at.sun_path));
	strcpy(at.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* All datagrams that wait, each ended by a bar. */
static void received(int fd, struct text *out)
{
	char buf[4096];
	ssize_t n;

	text_add(out, "");
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		text_addn(out, buf, (size_t)n);
		text_addc(out, '|');
	}
}

static void test_notify(void **state)
{
	struct trial t;
	char path[128];
	TEXT_AUTO got = { 0 };
	int fd;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	fd = listener(&t, "notify", path, sizeof(path));
	t.watch.notify_fd = datagram_open(path);
	assert_true(t.watch.notify_fd >= 0);
	t.watch.watchdog_ms = 60000;
	RUN(&t, { .at = 1000, .run = set60, WROTE }, END(65000));
	received(fd, &got);
	assert_string_equal(
		got.s,
		"STATUS=1 settings watched, 0 changed, 0 left changed, 0 no longer "
		"re-applied\nREADY=1|"
		"WATCHDOG=1|"
		"STATUS=1 settings watched, 1 changed, 0 left changed, 0 no longer re-applied|"
		"WATCHDOG=1|WATCHDOG=1|STOPPING=1|");
	close(t.watch.notify_fd);
	close(fd);
	assert_int_equal(datagram_open(NULL), -1);
	assert_int_equal(datagram_open("relative"), -1);
	assert_int_equal(datagram_open("/nonexistent/socket"), -1);
	trial_end(&t);
}

static bool has(const struct text *t, const char *part)
{
	return memmem(t->s, t->len, part, strlen(part)) != NULL;
}

static void test_journal_fields(void **state)
{
	struct trial t;
	struct watched_knob it = { .knob = { KNOB_SYSCTL, "vm.swappiness", "" },
				   .id = SWAP_ID,
				   .target = "",
				   .after = "10",
				   .txn = 4 };
	struct event e = { .kind = EVENT_CHANGED,
			   .item = &it,
			   .from = "10",
			   .to = "6\n0",
			   .via = "poll",
			   .likely = "tuned.service" };
	struct reporter say = { .journal_fd = -1 };
	char path[128];
	TEXT_AUTO got = { 0 };
	int fd;

	(void)state;
	trial_begin(&t);
	fd = listener(&t, "journal", path, sizeof(path));
	say.journal_fd = datagram_open(path);
	report_events(&say, 1790000000, &e, 1);
	received(fd, &got);
	assert_true(has(&got, "\nMESSAGE_ID="));
	assert_true(has(&got, "PRIORITY=4\nSYSLOG_IDENTIFIER=gputune\n"));
	assert_true(has(&got, "GPUTUNE_ID=memory.swappiness\n"));
	assert_true(has(&got, "GPUTUNE_FROM=10\n"));
	assert_true(has(&got, "GPUTUNE_TRANSACTION=4\n"));
	assert_true(has(&got, "GPUTUNE_WHO=unknown\n"));
	assert_true(has(&got, "GPUTUNE_LIKELY=tuned.service\n"));
	/* A value of two lines: its length in eight bytes, then itself. */
	assert_non_null(memmem(got.s, got.len,
			       "GPUTUNE_TO\n\3\0\0\0\0\0\0\0"
			       "6\n0\n",
			       23));
	close(say.journal_fd);
	close(fd);
	trial_end(&t);
}

static void test_only(void **state)
{
	static const char *const only[] = { "disk" };
	struct trial t;

	(void)state;
	trial_begin(&t);
	apply_swap(&t);
	lab_make(&t.lab, "disk.scheduler", KNOB_SYSFS, LAB_QUEUE "scheduler", "none");
	t.watch.only = only;
	t.watch.n_only = 1;
	lab_by_hand(&t.lab, SWAP, "33\n");
	RUN(&t, END(1000));
	expect(&t, "");
	assert_int_equal(t.sum.watched, 1);
	trial_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_poll),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_hint_is_not_believed),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_own_transaction),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_journal_replaced),
		cmocka_unit_test(test_reapply),
		cmocka_unit_test(test_no_fight),
		cmocka_unit_test(test_limit_and_reload),
		cmocka_unit_test(test_back_off),
		cmocka_unit_test(test_lost_at_reboot),
		cmocka_unit_test(test_open_is_not_held),
		cmocka_unit_test(test_flapping_is_quiet),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_clock_lock),
		cmocka_unit_test(test_policy_errors),
		cmocka_unit_test(test_policy_kept),
		cmocka_unit_test(test_policy_of),
		cmocka_unit_test(test_clock_lock_in_time),
		cmocka_unit_test(test_gpu_events),
		cmocka_unit_test(test_who_in_container),
		cmocka_unit_test(test_dear),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_apart_stuck),
		cmocka_unit_test(test_notify),
		cmocka_unit_test(test_journal_fields),
		cmocka_unit_test(test_only),
		cmocka_unit_test(test_one_knob_twice),
		cmocka_unit_test(test_lock_of_nonsense),
		cmocka_unit_test(test_line_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
