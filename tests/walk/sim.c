/* SPDX-License-Identifier: Apache-2.0 */
/* Moves on the simulated machine, through the verbs of the program itself. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "boot.h"
#include "front/session.h"
#include "disk.h"
#include "door.h"
#include "machine/write/write.h"
#include "kernel.h"
#include "trial.h"
#include "tune/txn/approval.h"
#include "tune/txn/txn.h"

#define CMDLINE "root/proc/cmdline"
#define BOOT_ID "root/proc/sys/kernel/random/boot_id"
#define OWN "root/var/lib/gputune"
/* Other values than "published" has, for the same knobs. */
#define OTHER SOURCE_ROOT "/tests/walk/regressions/other.ini"

int gputune_main(int argc, char **argv);
struct host *__real_host_open_overlay(const char *capture, const char *overlay, struct err *e);
struct host *__wrap_host_open_overlay(const char *capture, const char *overlay, struct err *e);

/* What a rival sets: values that no profile asks for, outside of what lies between. */
static const struct {
	const char *path, *values[2];
} rivals[] = {
	{ "/proc/sys/vm/dirty_ratio", { "55", "61" } },
	{ "/proc/sys/vm/vfs_cache_pressure", { "150", "170" } },
	{ "/proc/sys/net/core/netdev_max_backlog", { "7000", "300" } },
	{ "/proc/sys/net/core/rmem_max", { "33554432", "100000" } },
	{ "/sys/kernel/mm/transparent_hugepage/defrag", { "never", "defer" } },
	{ "/sys/class/net/eth0/mtu", { "1400", "9200" } },
};
enum { RIVALS = sizeof(rivals) / sizeof(rivals[0]), LONGEST = 400 };

static const char *const happenings[HAPPENINGS] = { "",	    "eio",	 "enospc", "eio-late",
						    "kill", "kill-late", "power",  "rival" };
static const char *const groups[] = { "memory", "net", "cpu", "nic", "gpu", "disk", "boot" };
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static struct {
	const char *machine;
	unsigned boots;
	size_t rival, value;
	bool wrote[RIVALS][2], installs, faulty;
	char *why;
} sim;

__attribute__((format(printf, 1, 2))) static bool wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sim.why, WHY_MAX, fmt, ap);
	va_end(ap);
	return false;
}

static struct host *open_disk(enum disk_name which)
{
	struct err e = { 0 };
	struct host *h;

	disk_use(which);
	h = __real_host_open_overlay(sim.machine, "/memory", &e);
	disk_use(DISK_MACHINE);
	if (!h) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	return h;
}

/* The program opens the machine. */
struct host *__wrap_host_open_overlay(const char *capture, const char *overlay, struct err *e)
{
	struct host *h = __real_host_open_overlay(capture, overlay, e);

	return h ? door_open(h) : NULL;
}

/* --- verbs ------------------------------------------------------------------------------------ */

enum { KILLED = -1 };

static int run(const char *const *words, size_t n)
{
	char *argv[20];
	int argc = 0;

	argv[argc++] = (char *)"gputune";
	for (size_t i = 0; i < n; i++)
		argv[argc++] = (char *)words[i];
	argv[argc++] = (char *)"--host";
	argv[argc++] = (char *)sim.machine;
	argv[argc++] = (char *)"--overlay";
	argv[argc++] = (char *)"/memory";
	argv[argc] = NULL;
	if (setjmp(door_end))
		return KILLED;
	return gputune_main(argc, argv);
}

#define RUN(...)                                                                                   \
	run((const char *const[]){ __VA_ARGS__ },                                                  \
	    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* A module that is loaded in the capture, and that a boot does not load by itself. */
static void unload(enum disk_name which)
{
	disk_use(which);
	disk_put("root/sys/module/nvidia_peermem", (struct node){ .kind = NODE_GONE });
	disk_use(DISK_MACHINE);
}

static void boot_disk(enum disk_name which)
{
	struct host *h;

	disk_use(which);
	disk_boot();
	unload(which);
	h = open_disk(which);
	disk_use(which);
	boot_replay(h, sim.boots);
	disk_use(DISK_MACHINE);
	host_close(h);
}

static void lose_power(unsigned dice)
{
	kernel_lose(dice);
}

static void reboot(struct door_plan in_unit)
{
	struct host *h;
	bool has_unit;

	sim.boots++;
	kernel_sync();
	boot_disk(DISK_TWIN);
	boot_disk(DISK_MACHINE);
	h = open_disk(DISK_MACHINE);
	has_unit = boot_has_unit(h);
	host_close(h);
	door_arm(in_unit);
	if (has_unit && RUN("apply", "--boot", "--yes") == KILLED &&
	    in_unit.what == HAPPENS_POWER) {
		lose_power(in_unit.dice);
		reboot((struct door_plan){ 0 });
	}
}

static void rival_writes(void *ctx, struct host *h)
{
	struct host *twin = open_disk(DISK_TWIN);
	const char *path = rivals[sim.rival].path, *value = rivals[sim.rival].values[sim.value];

	(void)ctx;
	sim.wrote[sim.rival][sim.value] = true;
	host_write(h, path, value);
	host_write(twin, path, value);
	host_close(twin);
}

static void rival_alone(void)
{
	struct host *h = open_disk(DISK_MACHINE);

	rival_writes(NULL, h);
	host_close(h);
}

/* "... @17 power 5": what happens in the run; cuts it off the move. */
static struct door_plan read_plan(char *move)
{
	struct door_plan p = { .rival = rival_writes };
	char *at = strchr(move, '@'), word[16] = "";
	unsigned n = 0, dice = 0, value = 0;

	if (!at)
		return (struct door_plan){ 0 };
	sscanf(at, "@%u %15s %u %u", &n, word, &dice, &value);
	while (at > move && at[-1] == ' ')
		at--;
	*at = '\0';
	p.at = n;
	p.dice = dice;
	sim.rival = dice % RIVALS;
	sim.value = value % 2;
	for (int i = 0; i < HAPPENINGS; i++)
		if (strcmp(word, happenings[i]) == 0)
			p.what = (enum happening)i;
	return p;
}

/* The lock is the trial's from its begin on. */
static int try(const char *profile, const char *only, bool keep)
{
	struct err e = { 0 };

	if (setjmp(door_end))
		return KILLED;
	trial_run(host_open_overlay(sim.machine, "/memory", &e), profile, only, keep);
	return EXIT_CLEAN;
}

/* The one proposal that waits is approved, as by root at a terminal of another login session. */
static bool approve_one(char hash[static APPROVAL_HASH + 1])
{
	static const char by[] = "{\"tty\":0,\"session\":2147483646,\"ancestors\":[]}";
	struct host *h = open_disk(DISK_MACHINE);
	struct arena a = { 0 };
	char **names;
	size_t n = 0;
	bool found = false;

	if (host_list(h, APPROVAL_DIR, &a, &names, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = arena_strndup(&a, names[i], strcspn(names[i], "."));

		/* One that was used is none. */
		if (strstr(names[i], ".plan") &&
		    !host_exists(h, arena_printf(&a, APPROVAL_DIR "/%s.taken", name))) {
			snprintf(hash, APPROVAL_HASH + 1, "%s", name);
			found = host_put(h, arena_printf(&a, APPROVAL_DIR "/%s.approved", name), by,
					 sizeof(by) - 1, 0600) == 0;
		}
	}
	arena_free(&a);
	host_close(h);
	return found;
}

/* An approved plan is applied once, whatever happens meanwhile. */
static int approved(const char *profile, const char *only)
{
	char hash[APPROVAL_HASH + 1];
	int code = RUN("propose", "--profile", profile, "--only", only), again;

	if (code != EXIT_FINDINGS || !approve_one(hash))
		return code;
	code = RUN("apply", "--yes", "--approved", hash);
	if (code == KILLED)
		return code;
	again = RUN("apply", "--yes", "--approved", hash);
	if (code == EXIT_CLEAN && again != EXIT_NOT_APPLIED)
		wrong("an approval was used again: %d", again);
	return code == EXIT_CLEAN && again != EXIT_NOT_APPLIED ? EXIT_BLIND : code;
}

static int run_words(char **w, size_t n)
{
	const char *verb = w[0], *one = n > 1 ? w[1] : "", *two = n > 2 ? w[2] : NULL;

	if (strcmp(one, "other") == 0)
		one = OTHER;
	if (strcmp(verb, "apply") == 0 && two)
		return RUN("apply", "--yes", "--profile", one, "--only", two, "--allow", "boot");
	if (strcmp(verb, "apply") == 0)
		return RUN("apply", "--yes", "--profile", one, "--skip", "service", "--allow",
			   "boot");
	if (strcmp(verb, "install") == 0 && strcmp(one, "only") == 0)
		return RUN("persist", "install", "--yes", "--only", two ? two : "memory", "--allow",
			   "boot");
	if (strcmp(verb, "install") == 0 && *one)
		return RUN("persist", "install", "--yes", "--profile", one, "--skip", "service",
			   "--allow", "boot");
	if (strcmp(verb, "install") == 0)
		return RUN("persist", "install", "--yes");
	if (strcmp(verb, "remove") == 0 && *one)
		return RUN("persist", "remove", "--yes", "--only", one);
	if (strcmp(verb, "remove") == 0)
		return RUN("persist", "remove", "--yes");
	if (strcmp(verb, "undo") == 0 && strcmp(one, "all") == 0)
		return RUN("undo", "--yes", "--all");
	if (strcmp(verb, "undo") == 0 && strspn(one, "0123456789") && !two)
		return RUN("undo", "--yes", one);
	if (strcmp(verb, "undo") == 0 && *one)
		return RUN("undo", "--yes", "--only", one);
	if (strcmp(verb, "undo") == 0)
		return RUN("undo", "--yes");
	if (strcmp(verb, "approved") == 0)
		return approved("published", *one ? one : "memory");
	if (strcmp(verb, "trial") == 0)
		return try("published", *one ? one : "memory", two != NULL);
	if (strcmp(verb, "status") == 0)
		return RUN("status");
	fprintf(stderr, "there is no move \"%s\"\n", verb);
	exit(2);
}

/* A fault may make a run fail; without one nothing is stuck. */
static bool make_move(const char *text)
{
	char move[MOVE_MAX], *words[4] = { NULL }, *save = NULL;
	struct door_plan p;
	size_t n = 0;
	int code;

	snprintf(move, sizeof(move), "%s", text);
	p = read_plan(move);
	sim.faulty = sim.faulty || p.what;
	for (char *w = strtok_r(move, " ", &save); w && n < 4; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (!n)
		return true;
	if (strcmp(words[0], "reboot") == 0) {
		reboot(p);
		return true;
	}
	if (strcmp(words[0], "power") == 0) {
		sim.faulty = true;
		lose_power(n > 1 ? (unsigned)strtoul(words[1], NULL, 10) : 0);
		reboot((struct door_plan){ 0 });
		return true;
	}
	if (strcmp(words[0], "rival") == 0) {
		sim.rival = (n > 1 ? strtoul(words[1], NULL, 10) : 0) % RIVALS;
		sim.value = (n > 2 ? strtoul(words[2], NULL, 10) : 0) % 2;
		rival_alone();
		return true;
	}
	sim.installs = sim.installs || strcmp(words[0], "install") == 0;
	door_arm(p);
	code = run_words(words, n);
	if (code == KILLED && p.what == HAPPENS_POWER) {
		lose_power(p.dice);
		reboot((struct door_plan){ 0 });
	}
	/* A lock of clocks cannot be read: status says so. */
	return code != EXIT_BLIND || p.what || strcmp(words[0], "status") == 0
		       ? true
		       : wrong("\"%s\" ends with %d", text, code);
}

/* --- judging ---------------------------------------------------------------------------------- */

struct compared {
	struct host *ours, *twin;
	bool all; /* files for the next boot too, below /etc and /boot */
	bool same;
};

static bool is_apart(const char *path)
{
	return strcmp(path, CMDLINE) == 0 || strcmp(path, BOOT_ID) == 0 || str_starts(path, OWN) ||
	       strncmp(OWN, path, strlen(path)) == 0;
}

/*
 * What was there when files for the next boot were made is their original. Where somebody had set
 * it by hand the boot itself would have set another, which nobody can know.
 */
static bool is_rivals(const char *path, const char *text)
{
	for (size_t i = 0; i < RIVALS; i++)
		for (size_t v = 0; v < 2; v++)
			if (sim.wrote[i][v] &&
			    strcmp(strrchr(path, '/'), strrchr(rivals[i].path, '/')) == 0 &&
			    strstr(text, rivals[i].values[v]))
				return sim.boots && sim.installs;
	return false;
}

static bool says_same(struct compared *c, const char *path)
{
	struct arena a = { 0 };
	enum host_kind k[2] = { HOST_OTHER, HOST_OTHER };
	char *x = NULL, *y = NULL, to[2][HOST_PATH_MAX] = { "", "" };
	size_t n[2] = { 0, 0 };
	bool same;

	if (host_kind(c->ours, path, &k[0]))
		k[0] = HOST_OTHER;
	if (host_kind(c->twin, path, &k[1]))
		k[1] = HOST_OTHER;
	if (k[0] == HOST_LINK && k[1] == HOST_LINK) {
		host_link(c->ours, path, to[0], sizeof(to[0]));
		host_link(c->twin, path, to[1], sizeof(to[1]));
	} else if (k[0] == HOST_FILE && k[1] == HOST_FILE) {
		host_read(c->ours, path, HOST_READ_MAX, &a, &x, &n[0]);
		host_read(c->twin, path, HOST_READ_MAX, &a, &y, &n[1]);
	}
	same = k[0] == k[1] && strcmp(to[0], to[1]) == 0 && n[0] == n[1] &&
	       (!x || !y || memcmp(x, y, n[0]) == 0);
	same = same || (x && y && is_rivals(path, x));
	if (!same)
		wrong("%s is \"%.60s\", and not \"%.60s\"", path,
		      x			   ? x
		      : k[0] == HOST_OTHER ? "not there"
					   : to[0],
		      y			   ? y
		      : k[1] == HOST_OTHER ? "not there"
					   : to[1]);
	arena_free(&a);
	return same;
}

static bool answers_same(struct compared *c, const char *path, const struct node *n)
{
	json_t *page = json_loadb(n->data, n->len, 0, NULL), *fields, *told;
	const char *object, *field;
	char api[64];
	bool same = true;

	snprintf(api, sizeof(api), "%.*s", (int)strcspn(path + 5, "."), path + 5);
	json_object_foreach(page, object, fields)
	{
		json_object_foreach(fields, field, told)
		{
			struct answer x = { 0 }, y = { 0 };
			int r = host_ask(c->ours, api, object, field, &x),
			    s = host_ask(c->twin, api, object, field, &y);

			if (!same ||
			    ((r != 0) == (s != 0) &&
			     (r ||
			      (x.kind == y.kind &&
			       (x.kind == ANSWER_INT ? x.i == y.i : strcmp(x.text, y.text) == 0)))))
				continue;
			same = wrong("%s %s %s answers another thing", api, object, field);
		}
	}
	json_decref(page);
	return same;
}

static void compare_one(void *ctx, const char *path, const struct node *n)
{
	struct compared *c = ctx;

	if (!c->same || is_apart(path) ||
	    (!c->all && (str_starts(path, "root/etc") || str_starts(path, "root/boot"))))
		return;
	if (str_starts(path, "told/"))
		c->same = n->kind != NODE_FILE || answers_same(c, path, n);
	else if (str_starts(path, "root/"))
		c->same = says_same(c, path + 4);
}

/* Whether the machine is what it would be without gputune; all: its files too. */
static bool is_untouched(bool all)
{
	struct compared c = { .ours = open_disk(DISK_MACHINE),
			      .twin = open_disk(DISK_TWIN),
			      .all = all,
			      .same = true };

	for (int d = DISK_TWIN; d >= DISK_MACHINE; d--) {
		disk_use((enum disk_name)d);
		disk_each(compare_one, &c);
	}
	host_close(c.ours);
	host_close(c.twin);
	return c.same;
}

static bool holds_nothing(void)
{
	struct host *h = open_disk(DISK_MACHINE);
	struct arena a = { 0 };
	struct hold_row *rows;
	struct err e = { 0 };
	struct journal j;
	size_t n = 0;
	bool nothing = journal_load(h, &a, false, &j, &e) == 0;

	if (nothing)
		txn_status(h, &a, &j, &rows, &n);
	for (size_t i = 0; nothing && i < j.n; i++)
		nothing = j.items[i].state != TRANSACTION_OPEN || !transaction_holds(&j.items[i]);
	host_close(h);
	arena_free(&a);
	return nothing && !n;
}

static bool judge_status(void)
{
	return !holds_nothing() || is_untouched(false);
}

static bool same_text(const char *x, const char *y)
{
	return x && y ? strcmp(x, y) == 0 : x == y;
}

static bool same_entries(const struct transaction *x, const struct transaction *y)
{
	for (size_t i = 0, k = 0; i < x->n; i++, k++) {
		const struct entry *a = &x->entries[i], *b;

		while (k < y->n && y->entries[k].seq < a->seq)
			k++;
		/* Of a file that only root may read nothing is said. */
		if (k == y->n || y->entries[k].seq != a->seq) {
			if (a->knob.kind != KNOB_FILE)
				return false;
			k--;
			continue;
		}
		b = &y->entries[k];
		if (a->state != b->state || !same_text(a->before, b->before) ||
		    !same_text(a->after, b->after) || !same_text(a->id, b->id))
			return false;
	}
	return true;
}

/* What a user who is not root reads is what the journal says, or said to be stale. */
static bool judge_public(void)
{
	struct host *h = open_disk(DISK_MACHINE), *u = door_open(open_disk(DISK_MACHINE));
	struct arena a = { 0 };
	struct journal truth, seen;
	struct err e = { 0 };
	int r = journal_load(h, &a, false, &truth, &e), s;
	bool good;

	door_arm((struct door_plan){ 0 });
	door_as_user(true);
	s = journal_load(u, &a, false, &seen, &e);
	door_as_user(false);
	good = r || s ? r || !truth.files.format || sim.faulty
		      : (!seen.files.stale || sim.faulty) && seen.files.redacted;
	if (!r && !s && good && !seen.files.stale) {
		good = truth.n == seen.n && truth.bad_lines == seen.bad_lines;
		for (size_t i = 0; good && i < truth.n; i++)
			good = truth.items[i].txn == seen.items[i].txn &&
			       truth.items[i].state == seen.items[i].state &&
			       same_entries(&truth.items[i], &seen.items[i]);
	}
	host_close(h);
	host_close(u);
	arena_free(&a);
	return good || wrong("a user reads other changes than root: %s (%zu and %zu transactions)",
			     s			    ? e.text
			     : seen.files.stale	    ? "stale"
			     : !seen.files.redacted ? "not redacted"
						    : "another",
			     truth.n, seen.n);
}

static bool end(bool remove_first)
{
	int code[2];

	door_arm((struct door_plan){ 0 });
	for (int i = 0; i < 2; i++) {
		bool remove = (i == 0) == remove_first;

		code[i] =
			remove ? RUN("persist", "remove", "--yes") : RUN("undo", "--yes", "--all");
		if (code[i])
			return wrong("%s ends with %d", remove ? "persist remove" : "undo --all",
				     code[i]);
	}
	if (!is_untouched(true))
		return false;
	return holds_nothing() || wrong("all is as before, but status says that values are held");
}

bool sim_walk(const char *machine, const struct walk *w, char *why)
{
	sim.machine = machine;
	sim.why = why;
	sim.boots = 0;
	sim.installs = sim.faulty = false;
	memset(sim.wrote, 0, sizeof(sim.wrote));
	*why = '\0';
	disk_clear();
	unload(DISK_MACHINE);
	unload(DISK_TWIN);
	for (size_t i = 0; i < w->n; i++) {
		if (strcmp(w->moves[i], "end remove") == 0)
			return end(true);
		if (!make_move(w->moves[i]))
			return false;
		if (!judge_public())
			return false;
		if (!judge_status()) {
			char text[WHY_MAX];

			snprintf(text, sizeof(text), "%.900s", why);
			return wrong("status says that nothing is held, and %.900s", text);
		}
	}
	return end(false);
}

/* --- choosing --------------------------------------------------------------------------------- */

static void choose_happening(char *out, size_t cap, unsigned (*next)(void *ctx), void *ctx)
{
	int what = HAPPENS_EIO + (int)(next(ctx) % (HAPPENINGS - 1));
	unsigned most = 1 + next(ctx) % LONGEST, at = 1 + next(ctx) % most, dice = next(ctx) % 1000;

	*out = '\0';
	snprintf(out, cap, " @%u %s", at, happenings[what]);
	if (what == HAPPENS_POWER || what == HAPPENS_RIVAL)
		snprintf(out + strlen(out), cap - strlen(out), " %u %u", dice, next(ctx) % 2);
}

void sim_choose(char *move, unsigned (*next)(void *ctx), void *ctx)
{
	static const char *const plain[] = {
		"apply published",   "apply default", "undo",	"undo all", "install",	  "remove",
		"install published", "undo 1",	      "undo 2", "undo 3",   "apply other"
	};
	enum { PLAIN = sizeof(plain) / sizeof(plain[0]) };
	static const char *const some[] = { "apply published", "apply default", "undo",
					    "install only",    "remove",	"trial",
					    "approved" };
	/* One by one: the order of arguments is the compiler's. */
	unsigned dice = next(ctx) % 20, x = next(ctx), y = next(ctx);
	size_t n;

	if (dice < 3 && x % 3 == 0) {
		snprintf(move, MOVE_MAX, "power %u", y % 1000);
		return;
	} else if (dice < 3) {
		snprintf(move, MOVE_MAX, "reboot");
	} else if (dice < 6) {
		snprintf(move, MOVE_MAX, "rival %u %u", x % RIVALS, y % 2);
		return;
	} else if (dice < 15) {
		snprintf(move, MOVE_MAX, "%s", plain[x % PLAIN]);
	} else {
		snprintf(move, MOVE_MAX, "%s %s", some[x % 7], groups[y % GROUPS]);
	}
	n = strlen(move);
	if (strncmp(move, "trial", 5) == 0 && next(ctx) % 2)
		n += (size_t)snprintf(move + n, MOVE_MAX - n, " keep");
	if (next(ctx) % 3 == 0)
		choose_happening(move + n, MOVE_MAX - n, next, ctx);
}
