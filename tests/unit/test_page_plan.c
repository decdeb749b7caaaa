/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and what became of them: pages, JSON by its schemas, and the shell script, which is run. */
#include <errno.h>
#include <sys/wait.h>

#include "box.h"
#include "plan_box.h"

#include "base/text.h"
#include "look/settings/findings.h"
#include "tune/plan/plan.h"
#include "verbs/page_plan.h"
#include "tune/txn/results.h"

struct fixture {
	struct arena a;
	struct machine *m;
	struct plan p;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->m = fake_machine(&f->a, plan_box_facts);
	plan_box_make(&f->a, f->m, &f->p);
}

static const char *term(struct arena *a, const struct doc *d)
{
	struct term_style how = { .ascii = true };
	char *s = NULL, *copy;
	size_t n = 0;
	FILE *f = open_memstream(&s, &n);

	doc_term(f, d, &how);
	fclose(f);
	copy = arena_strdup(a, s);
	free(s);
	return copy;
}

static const char *markdown(struct arena *a, const struct doc *d)
{
	char *s = NULL, *copy;
	size_t n = 0;
	FILE *f = open_memstream(&s, &n);

	doc_md(f, d);
	fclose(f);
	copy = arena_strdup(a, s);
	free(s);
	return copy;
}

/* "a  b" in the text stands for any run of blanks. */
static void says(const char *text, const char *wanted)
{
	for (const char *from = text; *from; from++) {
		const char *t = from, *w = wanted;

		while (*w && *t) {
			if (w[0] == ' ' && w[1] == ' ') {
				if (*t != ' ')
					break;
				while (*t == ' ')
					t++;
				w += 2;
				continue;
			}
			if (*t != *w)
				break;
			t++;
			w++;
		}
		if (!*w)
			return;
	}
	fail_msg("\"%s\" is not in:\n%s", wanted, text);
}

static void silent(const char *text, const char *unwanted)
{
	if (strstr(text, unwanted))
		fail_msg("\"%s\" is in:\n%s", unwanted, text);
}

static void plan_page(void **state)
{
	struct plan_view brief = { 0 }, full = { .verbose = true };
	struct fixture f;
	const char *s;

	(void)state;
	set_up(&f);
	s = term(&f.a, page_plan(&f.a, f.m, &f.p, &brief));
	says(s, "Plan for box, profile default\n");
	says(s, "memory.swappiness  60 -> 10\n");
	says(s, "at boot: /etc/sysctl.d/99-x.conf:1 sets 60\n");
	says(s, "cpu.governor  cpu0-7  powersave -> performance\n");
	says(s, "cpu.idle-states state2  cpu0-7 (8 writes)  0 -> 1");
	says(s, "disk.scheduler  nvme0n1 nvme1n1  mq-deadline -> none");
	says(s, "gpu.persistence-mode  gpu0-2  0 -> 1");
	says(s, "gpu.sm-clock-lock  gpu0  unknown -> locked at 1980 MHz");
	says(s, "nic.rings  eth0  1024 -> 8192");
	says(s, "nic.rings tx-ring  eth0  1024 -> 8192");
	says(s, "boot.isolcpus  not set -> 4-7\n");
	says(s, "refused: isolated CPUs run nothing that is not placed there by hand\n");
	says(s, "fix: sudo gputune apply --only boot.isolcpus --allow boot.isolcpus\n");
	says(s, "nic.mtu  eth0  1500 -> 9000\n");
	says(s, "refused: the hardware's largest MTU is 1500 bytes\n");
	says(s, "tuned.service  memory.swappiness, cpu.governor\n");
	says(s, "disk.free-space  1 GiB of 100 GiB free -> >= 5 % free\n");
	says(s, "fix: make room\n");
	says(s, "20 changes of 8 settings now, 2 refused, 1 to do by hand.");
	silent(s, "source: ");
	s = term(&f.a, page_plan(&f.a, f.m, &f.p, &full));
	says(s, "source: ");
	says(s, "sysctl: vm.swappiness");
	s = markdown(&f.a, page_plan(&f.a, f.m, &f.p, &brief));
	says(s, "**cpu.idle-states state2** cpu0-7 (8 writes): 0 \xe2\x86\x92 **1**\n");
	arena_free(&f.a);
}

/* The order of writing is the order of the page, and nothing to do is said in words. */
static void plan_summaries(void **state)
{
	struct fixture f;
	struct plan none = { .profile = "default" };
	struct plan_view brief = { 0 };

	(void)state;
	set_up(&f);
	f.p.changes[0].effect = EFFECT_REBOOT;
	f.p.changes[1].effect = EFFECT_DRIVER_RELOAD;
	f.p.n_advice = 0;
	assert_string_equal(plan_sentence(&f.a, &f.p),
			    "18 changes of 6 settings now, 1 needs a driver reload, 1 needs a "
			    "reboot, 2 refused");
	assert_string_equal(plan_sentence(&f.a, &none), "nothing to change");
	says(term(&f.a, page_plan(&f.a, f.m, &none, &brief)), "nothing to change.\n");
	arena_free(&f.a);
}

static struct outcome_row outcome(const struct change *c, enum outcome o)
{
	return (struct outcome_row){ .id = c->s->id,
				     .target = c->target,
				     .knob = c->knob,
				     .from = c->before,
				     .to = c->after,
				     .found = c->after,
				     .outcome = o };
}

static struct txn_report report_of(struct fixture *f, enum outcome o)
{
	struct txn_report r = { .txn = 7, .n = f->p.n };

	r.rows = arena_array(&f->a, r.n, sizeof(*r.rows));
	for (size_t i = 0; i < r.n; i++)
		r.rows[i] = outcome(&f->p.changes[i], o);
	return r;
}

static void report_pages(void **state)
{
	struct fixture f;
	struct txn_report r;
	const char *s;

	(void)state;
	set_up(&f);
	r = report_of(&f, OUTCOME_DONE);
	s = term(&f.a, page_apply(&f.a, f.m, &r, 0));
	says(s, "cpu.governor  cpu0-7  powersave -> performance\n");
	says(s, "after a reboot  boot.isolcpus  not set -> 4-7\n");
	says(s, "Transaction 7: 22 changes of 10 settings made. 1 of them takes effect after a "
		"reboot. Undo with \"sudo gputune undo 7\"; \"sudo gputune persist install\" keeps "
		"it after a reboot. "
		"Kernel arguments: run update-grub before that reboot.\n");
	r.recovered = 2;
	r.rows[3].outcome = OUTCOME_STUCK;
	r.rows[3].sentence = "the write was refused";
	r.rows[3].command = "printf %s powersave > /sys/x";
	r.rows[2].outcome = OUTCOME_CLAMPED;
	s = term(&f.a, page_apply(&f.a, f.m, &r, -EUCLEAN));
	says(s, "2 interrupted transactions were rolled back first.\n");
	says(s, "cpu.governor  cpu0-3  powersave -> performance\n");
	says(s, "cpu.governor  cpu4-7  powersave -> performance\n");
	says(s, "printf %s powersave > /sys/x\n");
	says(s, "1 change could not be rolled back. \"sudo gputune undo 7\" tries again.\n");
	s = term(&f.a, page_apply(&f.a, f.m, &r, -ECANCELED));
	says(s, "Transaction 7 failed and was rolled back: the machine is unchanged.\n");
	r = (struct txn_report){ 0 };
	says(term(&f.a, page_apply(&f.a, f.m, &r, -ESTALE)), "Nothing was written.\n");
	says(term(&f.a, page_apply(&f.a, f.m, &r, 0)), "No changes were needed.\n");
	says(term(&f.a, page_undo(&f.a, f.m, &r, -ENOENT)), "Nothing to undo.\n");
	r = report_of(&f, OUTCOME_RESTORED);
	r.rows[0].outcome = OUTCOME_FOREIGN;
	r.rows[0].found = "30";
	r.rows[1].outcome = OUTCOME_RESET;
	s = term(&f.a, page_undo(&f.a, f.m, &r, 0));
	says(s, "not undone: changed since  memory.swappiness  10 -> 60\n");
	says(s, "20 restored, 1 reset (the old value was unknown), 1 not undone (changed since by "
		"others). --force also restores");
	r.dry = true;
	s = term(&f.a, page_undo(&f.a, f.m, &r, 0));
	says(s, "Dry run: nothing was written. The result would be: 20 restored, 1 reset");
	arena_free(&f.a);
}

/* A journal of two transactions, the second undone; entries as the plan's changes. */
static void make_journal(struct fixture *f, struct journal *j)
{
	struct transaction *t = arena_array(&f->a, 3, sizeof(*t));

	*j = (struct journal){ .items = t, .n = 3, .next = 9, .torn = true, .bad_lines = 1 };
	t[0] = (struct transaction){ .txn = 6,
				     .op = "apply",
				     .boot_id = "b1",
				     .time_s = 1790000000,
				     .user = "root (sudo: ada)",
				     .reason = "new node",
				     .profile = "default",
				     .version = "0.1.0",
				     .state = TRANSACTION_APPLIED,
				     .n = f->p.n };
	t[0].entries = arena_array(&f->a, f->p.n, sizeof(*t[0].entries));
	for (size_t i = 0; i < f->p.n; i++)
		t[0].entries[i] = (struct entry){ .txn = 6,
						  .seq = (unsigned)i + 1,
						  .id = f->p.changes[i].s->id,
						  .target = f->p.changes[i].target,
						  .knob = f->p.changes[i].knob,
						  .place = "",
						  .before = f->p.changes[i].before,
						  .after = f->p.changes[i].after,
						  .read = f->p.changes[i].after,
						  .state = ENTRY_DONE };
	t[0].entries[12].sides = ARENA_NEW(&f->a, struct side_effect);
	t[0].entries[12].n_sides = 1;
	t[0].entries[12].sides[0] = (struct side_effect){
		plan_box_knob(KNOB_SYSFS, "/sys/block/nvme0n1/queue/nr_requests", ""), "256", NULL
	};
	/* A setting that this program has forgotten. */
	t[0].entries[0].id = "memory.of-old";
	t[1] = t[0];
	t[1].txn = 7;
	t[1].state = TRANSACTION_OPEN;
	t[1].n = 1;
	t[1].reason = "bad\xff\033[31mbytes";
	t[2] = (struct transaction){ .txn = 8,
				     .op = "undo",
				     .boot_id = "b1",
				     .time_s = 1790000100,
				     .user = "root",
				     .state = TRANSACTION_APPLIED };
}

static void history_page(void **state)
{
	struct fixture f;
	struct journal j, empty = { 0 };
	const char *s;

	(void)state;
	set_up(&f);
	make_journal(&f, &j);
	s = term(&f.a, page_history(&f.a, f.m, &j, NULL));
	says(s, "8  2026-09-21 14:15 UTC  root  undo");
	says(s,
	     "6  2026-09-21 14:13 UTC  root (sudo: ada)  apply  default  applied  22  new node\n");
	says(s, "interrupted");
	assert_true(strstr(s, "undo") < strstr(s, "new node"));
	says(s, "1 unreadable line in the journal");
	says(s, "truncated by a crash");
	silent(s, "\033");
	s = term(&f.a, page_history(&f.a, f.m, &j, history_find(&j, 6)));
	says(s, "Transaction  6\n");
	says(s, "cpu.idle-states state2  cpu0-7 (8 writes)  0  1  1  done\n");
	says(s, "memory.of-old  60  10  10  done\n");
	assert_null(history_find(&j, 5));
	says(term(&f.a, page_history(&f.a, f.m, &empty, NULL)), "has changed nothing");
	arena_free(&f.a);
}

static struct hold_row *make_holds(struct fixture *f, const struct journal *j)
{
	const struct transaction *t = &j->items[0];
	struct hold_row *rows = arena_array(&f->a, t->n, sizeof(*rows));

	for (size_t i = 0; i < t->n; i++)
		rows[i] = (struct hold_row){
			.t = t, .e = &t->entries[i], .hold = HOLD_OURS, .now = t->entries[i].after
		};
	rows[0].hold = HOLD_FOREIGN;
	rows[0].now = "30";
	rows[1].hold = HOLD_BACK;
	rows[12].hold = HOLD_LOST;
	rows[12].kept = "/etc/udev/rules.d/90-gputune.rules";
	rows[17].hold = HOLD_UNKNOWN;
	rows[17].now = NULL;
	rows[20].hold = HOLD_WAITS;
	return rows;
}

static void status_page(void **state)
{
	struct fixture f;
	struct journal j;
	struct hold_row *rows;
	struct verify v;
	const char *s;

	(void)state;
	set_up(&f);
	make_journal(&f, &j);
	rows = make_holds(&f, &j);
	s = term(&f.a, page_status(&f.a, f.m, rows, f.p.n, true));
	says(s, "changed by others  memory.of-old  60 -> 10\n");
	says(s, "now: 30\n");
	says(s, "cpu.governor  cpu0-7  powersave -> performance\n");
	says(s, "kept at boot by: /etc/udev/rules.d/90-gputune.rules\n");
	says(s,
	     "22 changes of gputune: 17 in effect, 1 after a reboot, 1 changed by others, "
	     "1 restored to the old value, 1 lost at reboot, 1 requested; cannot be read back.\n");
	says(term(&f.a, page_status(&f.a, f.m, NULL, 0, true)),
	     "No change of gputune is in effect.");
	says(term(&f.a, page_status(&f.a, f.m, NULL, 0, false)),
	     "Which changes of gputune are in effect is unknown.");
	verify_holds(&f.a, rows, f.p.n, &v);
	s = term(&f.a, page_verify(&f.a, f.m, &v));
	says(s, "memory.of-old  10  30  not in effect  another program or user has changed it "
		"since\n");
	says(s, "22 requested: 17 in effect, 1 after a reboot, 3 not in effect, 1 unknown.\n");
	arena_free(&f.a);
}

static struct fact_str read_now(void *ctx, struct arena *a, const struct knob *k)
{
	const struct plan *p = ctx;

	(void)a;
	for (size_t i = 0; i < p->n; i++)
		if (knob_equal(&p->changes[i].knob, k))
			return (struct fact_str){
				.f.seen = p->changes[i].before ? SEEN_OK : SEEN_UNSUPPORTED,
				.v = i == 0 ? p->changes[i].before : p->changes[i].after
			};
	return (struct fact_str){ 0 };
}

static bool same_text(const struct knob *k, const char *x, const char *y)
{
	(void)k;
	return strcmp(x, y) == 0;
}

/* A boot argument that our file asks for waits until the kernel was started with it. */
static void verify_page(void **state)
{
	struct fixture f;
	struct verify v;
	struct kernel_arg *arg;

	(void)state;
	set_up(&f);
	f.p.changes[20].gate = NULL;
	verify_plan(&f.a, f.m, &f.p, read_now, same_text, &f.p, &v);
	assert_int_equal(v.n, 21);
	assert_int_equal(v.count[VERIFY_DIFFERS], 1);
	assert_int_equal(v.count[VERIFY_UNKNOWN], 1);
	assert_int_equal(v.count[VERIFY_WAITS], 1);
	assert_int_equal(v.rows[20].state, VERIFY_WAITS);
	arg = list_add(&f.a, &f.m->kernel.args, sizeof(*arg));
	arg->name = "isolcpus";
	arg->value = (struct fact_str){ { SEEN_OK, 0, NULL, NULL }, "4-7" };
	verify_plan(&f.a, f.m, &f.p, read_now, same_text, &f.p, &v);
	assert_int_equal(v.count[VERIFY_WAITS], 0);
	assert_int_equal(v.count[VERIFY_IN_FORCE], 19);
	arena_free(&f.a);
}

/* --- other programs
 * -------------------------------------------------------------------------------
 */

/* Runs argv with its output in the box's file "out"; returns its exit code, 127 when there is no
 * such program. */
static int run(const struct box *b, const char *const *argv)
{
	char out[512];
	int status;
	pid_t child;

	box_path(b, "out", out, sizeof(out));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, 1);
		dup2(fd, 2);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static const char *contents(struct arena *a, const struct box *b, const char *name)
{
	char path[512], *text = arena_alloc(a, 1 << 16);
	FILE *f = fopen(box_path(b, name, path, sizeof(path)), "r");
	size_t n;

	if (!f)
		fail_msg("no file %s", path);
	n = fread(text, 1, (1 << 16) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

static void by_schema(struct fixture *f, const struct box *b, const char *name, json_t *j)
{
	static const char validate[] =
		"import json, sys, jsonschema\n"
		"schema = json.load(open(sys.argv[1]))\n"
		"jsonschema.Draft202012Validator.check_schema(schema)\n"
		"jsonschema.validate(json.load(open(sys.argv[2])), schema)\n";
	/* Made by the build, or written by hand. */
	const char *made = arena_printf(&f->a, MACHINES "/../schemas/%s.json", name),
		   *schema = access(made, R_OK) == 0
				     ? made
				     : arena_printf(&f->a, SOURCE_ROOT "/schemas/%s.json", name);
	const char *probe[] = { "python3", "-c", "import jsonschema", NULL };
	char *text = json_dumps(j, JSON_INDENT(1)), path[512];

	assert_non_null(text);
	box_file(b, "result.json", text);
	free(text);
	json_decref(j);
	if (run(b, probe)) {
		print_message("no python3 with jsonschema: %s is not compared\n", name);
		return;
	}
	if (run(b, (const char *[]){ "python3", "-c", validate, schema,
				     box_path(b, "result.json", path, sizeof(path)), NULL }))
		fail_msg("%s: %s", name, contents(&f->a, b, "out"));
}

static void schemas(void **state)
{
	struct fixture f;
	struct box b;
	struct journal j, empty = { 0 };
	struct hold_row *holds;
	struct txn_report r;
	struct verify v;
	struct err e = { .text = "it failed", .hint = "try again" };
	struct outcome_answer failed, none;

	(void)state;
	set_up(&f);
	box_make(&b);
	make_journal(&f, &j);
	holds = make_holds(&f, &j);
	verify_holds(&f.a, holds, f.p.n, &v);
	by_schema(&f, &b, "plan", plan_json(&f.p, 1));
	by_schema(&f, &b, "plan", plan_json(&(struct plan){ .profile = "x" }, 0));
	r = report_of(&f, OUTCOME_DONE);
	for (size_t i = 0; i < r.n; i++)
		r.rows[i].outcome = (enum outcome)(i % (OUTCOME_GONE + 1));
	failed = outcome_answer_of(&f.a, &r, &e);
	none = outcome_answer_of(&f.a, &(struct txn_report){ 0 }, &(struct err){ 0 });
	by_schema(&f, &b, "apply", machine_result_json(&apply_result, f.m, &failed, 3));
	by_schema(&f, &b, "undo", machine_result_json(&undo_result, f.m, &failed, 0));
	by_schema(&f, &b, "apply", machine_result_json(&apply_result, f.m, &none, 0));
	by_schema(&f, &b, "status", status_json(f.m, holds, f.p.n, 1));
	by_schema(&f, &b, "status", status_json(f.m, NULL, 0, 0));
	by_schema(&f, &b, "history", history_json(f.m, &j, NULL, 0));
	by_schema(&f, &b, "history", history_json(f.m, &j, history_find(&j, 6), 0));
	by_schema(&f, &b, "history", history_json(f.m, &empty, NULL, 0));
	by_schema(&f, &b, "verify", machine_result_json(&verify_result, f.m, &v, 1));
	box_remove(&b);
	arena_free(&f.a);
}

/* --- the script ------------------------------------------------------------------------------- */

static const char *script_of(struct fixture *f, const struct plan *p)
{
	char *s = NULL, *copy;
	size_t n = 0;
	FILE *out = open_memstream(&s, &n);

	plan_shell(out, f->m, p);
	fclose(out);
	copy = arena_strdup(&f->a, s);
	free(s);
	return copy;
}

/* Every "from" in text becomes "to". */
static const char *with(struct arena *a, const char *text, const char *from, const char *to)
{
	struct text t = { 0 };
	const char *hit, *copy;

	for (; (hit = strstr(text, from)); text = hit + strlen(from)) {
		text_addn(&t, text, (size_t)(hit - text));
		text_add(&t, to);
	}
	text_add(&t, text);
	copy = arena_strdup(a, t.s);
	text_free(&t);
	return copy;
}

/* The script moved into the box: its files and programs are the box's. */
static void install(struct fixture *f, const struct box *b, const char *script)
{
	script = with(&f->a, script, "/proc/", arena_printf(&f->a, "%s/proc/", b->dir));
	script = with(&f->a, script, "/sys/devices", arena_printf(&f->a, "%s/sys/devices", b->dir));
	script = with(&f->a, script, "/sys/block", arena_printf(&f->a, "%s/sys/block", b->dir));
	script = with(&f->a, script, "PATH=", arena_printf(&f->a, "PATH=%s/bin:", b->dir));
	box_file(b, "script", script);
}

static void program(struct fixture *f, const struct box *b, const char *name, const char *body)
{
	const char *path = arena_printf(&f->a, "bin/%s", name);
	char full[512];

	box_file(b, path, arena_printf(&f->a, "#!/bin/sh\nbox=%s\n%s", b->dir, body));
	chmod(box_path(b, path, full, sizeof(full)), 0700);
}

static void lay_out(struct fixture *f, const struct box *b)
{
	box_file(b, "proc/sys/vm/swappiness", "60\n");
	box_file(b, "proc/sys/vm/dirty_ratio", "0\n");
	box_file(b, "proc/sys/vm/dirty_bytes", "1073741824\n");
	for (unsigned i = 0; i < 8; i++)
		box_file(b,
			 arena_printf(&f->a, "sys/devices/system/cpu/cpu%u/cpuidle/state2/disable",
				      i),
			 "0\n");
	for (unsigned i = 0; i < 8; i += 4)
		box_file(b,
			 arena_printf(&f->a,
				      "sys/devices/system/cpu/cpufreq/policy%u/scaling_governor",
				      i),
			 "powersave\n");
	box_file(b, "sys/block/nvme0n1/queue/scheduler", "mq-deadline\n");
	box_file(b, "sys/block/nvme1n1/queue/scheduler", "none [mq-deadline] bfq\n");
	for (unsigned i = 1; i < 4; i++)
		box_file(b, arena_printf(&f->a, "state/0000:0%u:00.0", i), "Disabled\n");
	box_file(b, "state/rx", "1024\n");
	box_file(b, "state/tx", "1024\n");
	program(f, b, "id", "echo 0\n");
	/* As the kernel has it: setting one of the pair zeroes the other. */
	program(f, b, "sysctl",
		"name=${2%%=*} value=${2#*=}\ncase $name in\nvm.dirty_ratio) echo 0 "
		">$box/proc/sys/vm/dirty_bytes ;;\nvm.dirty_bytes) echo 0 "
		">$box/proc/sys/vm/dirty_ratio ;;\nesac\n"
		"echo \"$value\" >\"$box/proc/sys/$(echo \"$name\" | tr . /)\"\n");
	program(f, b, "nvidia-smi",
		"case $3 in\n--query-gpu=persistence_mode) cat \"$box/state/$2\" ;;\n"
		"-pm) if [ \"$4\" = 1 ]; then echo Enabled; else echo Disabled; fi "
		">\"$box/state/$2\" "
		";;\n*) echo \"$*\" >>$box/state/locks ;;\nesac\n");
	program(f, b, "ethtool",
		"case $1 in\n-g) printf 'Ring parameters for %s:\\nPre-set "
		"maximums:\\nRX:\\t8192\\n"
		"TX:\\t8192\\nCurrent hardware settings:\\nRX:\\t%s\\nTX:\\t%s\\n' \"$2\" \"$(cat "
		"$box/state/rx)\" \"$(cat $box/state/tx)\" ;;\n-G) echo \"$4\" >\"$box/state/$3\" "
		";;\nesac\n");
}

static int script(const struct box *b, const char *verb)
{
	char path[512];

	return run(b,
		   (const char *[]){ "sh", box_path(b, "script", path, sizeof(path)), verb, NULL });
}

static void expect(struct fixture *f, const struct box *b, const char *name, const char *wanted)
{
	const char *is = contents(&f->a, b, name);

	if (strncmp(is, wanted, strlen(wanted)) != 0 || strcmp(is + strlen(wanted), "\n") > 0)
		fail_msg("%s is \"%s\", wanted \"%s\"\n%s", name, is, wanted,
			 contents(&f->a, b, "out"));
}

static void script_runs(void **state)
{
	struct fixture f;
	struct box b;

	(void)state;
	set_up(&f);
	box_make(&b);
	lay_out(&f, &b);
	install(&f, &b, script_of(&f, &f.p));
	assert_int_equal(script(&b, "nonsense"), 2);
	if (script(&b, "check"))
		fail_msg("%s", contents(&f.a, &b, "out"));
	expect(&f, &b, "proc/sys/vm/swappiness", "60");
	if (script(&b, "apply"))
		fail_msg("%s", contents(&f.a, &b, "out"));
	expect(&f, &b, "proc/sys/vm/swappiness", "10");
	expect(&f, &b, "proc/sys/vm/dirty_ratio", "20");
	expect(&f, &b, "proc/sys/vm/dirty_bytes", "0");
	expect(&f, &b, "sys/devices/system/cpu/cpufreq/policy4/scaling_governor", "performance");
	expect(&f, &b, "sys/devices/system/cpu/cpu7/cpuidle/state2/disable", "1");
	expect(&f, &b, "sys/block/nvme1n1/queue/scheduler", "none");
	expect(&f, &b, "state/0000:03:00.0", "Enabled");
	expect(&f, &b, "state/tx", "8192");
	/* Twice is once, but for what cannot be read. */
	assert_int_equal(script(&b, "apply"), 0);
	/* Somebody else's value is left alone. */
	box_file(&b, "sys/devices/system/cpu/cpu3/cpuidle/state2/disable", "7\n");
	if (script(&b, "undo"))
		fail_msg("%s", contents(&f.a, &b, "out"));
	says(contents(&f.a, &b, "out"), "not undone, it is now '7'");
	expect(&f, &b, "proc/sys/vm/swappiness", "60");
	expect(&f, &b, "proc/sys/vm/dirty_ratio", "0");
	expect(&f, &b, "proc/sys/vm/dirty_bytes", "1073741824");
	expect(&f, &b, "sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave");
	expect(&f, &b, "sys/devices/system/cpu/cpu3/cpuidle/state2/disable", "7");
	expect(&f, &b, "sys/block/nvme0n1/queue/scheduler", "mq-deadline");
	expect(&f, &b, "state/0000:01:00.0", "Disabled");
	expect(&f, &b, "state/rx", "1024");
	says(contents(&f.a, &b, "state/locks"), "-i 0000:01:00.0");
	box_remove(&b);
	arena_free(&f.a);
}

/* A value that is not the plan's stops it before anything is written. */
static void script_stops(void **state)
{
	struct fixture f;
	struct box b;

	(void)state;
	set_up(&f);
	box_make(&b);
	lay_out(&f, &b);
	install(&f, &b, script_of(&f, &f.p));
	box_file(&b, "state/tx", "2048\n");
	assert_int_equal(script(&b, "apply"), 1);
	says(contents(&f.a, &b, "out"), "nic.rings on eth0 is '2048', but was '1024' in the plan");
	expect(&f, &b, "proc/sys/vm/swappiness", "60");
	expect(&f, &b, "sys/block/nvme0n1/queue/scheduler", "mq-deadline");
	/* One that is not taken stops it in the middle, and undo takes back what was done. */
	box_file(&b, "state/tx", "1024\n");
	program(&f, &b, "nvidia-smi", "echo Disabled\n");
	assert_int_equal(script(&b, "apply"), 1);
	says(contents(&f.a, &b, "out"), "took '0' instead of '1'");
	expect(&f, &b, "proc/sys/vm/swappiness", "10");
	assert_int_equal(script(&b, "undo"), 0);
	expect(&f, &b, "proc/sys/vm/swappiness", "60");
	expect(&f, &b, "state/tx", "1024");
	program(&f, &b, "id", "echo 1000\n");
	assert_int_equal(script(&b, "apply"), 1);
	says(contents(&f.a, &b, "out"), "needs root");
	box_remove(&b);
	arena_free(&f.a);
}

/* Nothing that a machine or a file says is ever run, wherever it stands. */
static void script_is_harmless(void **state)
{
	static const char evil[] = "x'\"$(touch EVIL)`touch EVIL`\n touch EVIL\n;touch EVIL #\\";
	struct fixture f;
	struct box b;
	char path[512], *marker;

	(void)state;
	set_up(&f);
	box_make(&b);
	lay_out(&f, &b);
	marker = arena_strdup(&f.a,
			      with(&f.a, evil, "EVIL", box_path(&b, "evil", path, sizeof(path))));
	f.p.nodename = f.p.profile = marker;
	for (size_t i = 0; i < f.p.n; i++) {
		struct change *c = &f.p.changes[i];
		struct owner *o = ARENA_NEW(&f.a, struct owner);

		*o = (struct owner){ .what = marker, .value = marker };
		c->owners = o;
		c->n_owners = 1;
		c->target = c->why = c->source = marker;
		if (c->gate)
			c->refusal = marker;
	}
	f.p.advice[0].sentence = marker;
	f.p.changes[0].before = marker;
	install(&f, &b, script_of(&f, &f.p));
	assert_int_equal(
		run(&b, (const char *[]){ "sh", "-n", box_path(&b, "script", path, sizeof(path)),
					  NULL }),
		0);
	script(&b, "check");
	script(&b, "apply");
	script(&b, "undo");
	assert_int_equal(access(box_path(&b, "evil", path, sizeof(path)), F_OK), -1);
	box_remove(&b);
	arena_free(&f.a);
}

static void script_is_clean(void **state)
{
	struct fixture f;
	struct box b;
	char path[512];
	int r;

	(void)state;
	set_up(&f);
	f.p.changes[20].gate = NULL;
	plan_box_own(&f.a, f.m, &f.p, "gpu.power-limit", "gpu0", "700000", "650000");
	plan_box_own(&f.a, f.m, &f.p, "gpu.compute-mode", "gpu0", "default", "exclusive-process");
	plan_box_add(&f.a, &f.p, "nic.mrrs", "0000:04:00.0",
		     plan_box_knob(KNOB_PCI, "mrrs", "0000:04:00.0"), "512", "4096");
	plan_box_add(&f.a, &f.p, "pcie.acs", "0000:00:01.0",
		     plan_box_knob(KNOB_PCI, "acs-control", "0000:00:01.0"), "0x1d", "0x0");
	plan_box_add(&f.a, &f.p, "service.irqbalance", "",
		     plan_box_knob(KNOB_UNIT, "irqbalance.service", ""), "enabled active",
		     "disabled inactive");
	plan_box_add(&f.a, &f.p, "zfs.autotrim", "tank",
		     plan_box_knob(KNOB_ZPROP, "autotrim", "tank"), "off", "on");
	plan_box_add(&f.a, &f.p, "nic.coalesce", "eth0",
		     plan_box_knob(KNOB_LINK, "adaptive-rx", "eth0"), "1", "0");
	box_make(&b);
	box_file(&b, "script", script_of(&f, &f.p));
	box_path(&b, "script", path, sizeof(path));
	if (run(&b, (const char *[]){ "sh", "-n", path, NULL }))
		fail_msg("%s", contents(&f.a, &b, "out"));
	r = run(&b, (const char *[]){ "shellcheck", "-s", "sh", path, NULL });
	if (r == 127)
		print_message("no shellcheck: the script is not looked at\n");
	else if (r)
		fail_msg("%s", contents(&f.a, &b, "out"));
	says(contents(&f.a, &b, "script"),
	     "# Refused: nic.mtu on eth0: the hardware's largest MTU is 1500 bytes\n");
	says(contents(&f.a, &b, "script"), "# Manually: disk.free-space: make room\n");
	box_remove(&b);
	arena_free(&f.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_page),	   cmocka_unit_test(plan_summaries),
		cmocka_unit_test(report_pages),	   cmocka_unit_test(history_page),
		cmocka_unit_test(status_page),	   cmocka_unit_test(verify_page),
		cmocka_unit_test(schemas),	   cmocka_unit_test(script_runs),
		cmocka_unit_test(script_stops),	   cmocka_unit_test(script_is_harmless),
		cmocka_unit_test(script_is_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
