/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knobs of every kind on a machine that is made up (fuzz_knobs_machine.h, fuzz_kernel.h): read,
 * judged, written, applied, cut off, undone, and watched while somebody changes things by hand. A
 * line is a step, its words stand between tabs:
 *
 *   f PATH VALUE        by hand: a file, a link, a folder or none, as a file's knob has them
 *   q QUESTION ANSWER   by hand: what a library says, a number, a text or "!N" for the errno N
 *   s KNOB VALUE        the knob alone: sound, read, written, put back
 *   a KNOB VALUE        one change more of the plan
 *   A N, D N            the plan is applied; write N is refused, or the process dies there
 *   u, U                everything is undone, or by force
 *   w HOW               the watcher looks on, until "e"; see watch_begin
 *   t MS, b             time passes; somebody takes the lock, or lets go of it
 *   h KIND WHAT PID UID NAME           the watcher gets a hint; see give_hint
 *
 * A KNOB is a letter of the machine's table, or kind, name and object.
 *
 * What holds: no name that is sound leads out of its kind's places; who writes without a sound
 * value writes nothing; a write that fails leaves what was there; what was applied and undone,
 * rolled back or cut off leaves the machine to the byte where nobody else changed it; what the
 * journal was told it can be asked. The watcher writes under the lock, only what was applied and is
 * not undone, not too often, nothing when it is told to report, and says it in harmless lines.
 */
#include "fuzz_knobs_watch.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { FIELDS = 6, LONGEST_MS = 7200000 };

/* --- a knob alone ----------------------------------------------------------------------------- */

/* Texts of the kernel with more than one choice are none that a kernel has: they go back by value.
 * Clocks go with the lock, and the lock with persistence mode. Which CPU of those that may serves
 * an interrupt is the kernel's choice. */
static bool goes_back_by_value(void *ctx, const char *path)
{
	const struct kernel_node *n = kernel_node(ctx, path);
	const char *open = kernel_is_kernels(path) && n->base ? strchr(n->base, '[') : NULL;

	return strstr(path, "nvmlDeviceGetClockInfo") ||
	       str_ends(path, "/effective_affinity_list") || (open && strchr(open + 1, '['));
}

static void same_machine(struct play *p, const struct kernel_shot *was)
{
	const char *path = kernel_differs(&p->k, was, goes_back_by_value, &p->k);

	if (path)
		broken("not as it was", NULL, path);
}

/* A text of the kernel may be read as something else than what was written: "[x]". */
static bool keeps_what_is_written(const struct knob *k)
{
	return k->kind != KNOB_SYSCTL && k->kind != KNOB_SYSFS && k->kind != KNOB_MODPARAM;
}

static void describe(struct host *h, struct arena *a, const struct knob *k, const char *value)
{
	const char *command = knob_command(a, k, value);
	size_t n;

	for (const char *c = command ? command : ""; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
	knob_path(a, k);
	knob_text(a, k);
	knob_place(h, a, k);
	knob_disturbs(h, a, k, &n);
	knob_neutral(k);
	knob_read(h, a, k);
	knob_exact(h, a, k);
}

static void put_back(struct play *p, struct host *h, const struct knob *k, const char *was,
		     const struct kernel_shot *shot)
{
	struct err e = { 0 };
	const char *now = NULL;
	int r;

	if (!knob_valid(k, was, NULL)) {
		by_hand(p);
		return;
	}
	r = knob_set(h, &p->k.now, k, was, &e);
	if (r || knob_get(h, &p->k.now, k, &now, &e) || !knob_same(k, now, was))
		broken("not put back", k, r ? e.text : now);
	same_machine(p, shot);
}

static void alone(struct play *p, const struct knob *k, const char *value)
{
	struct host *h = kernel_open(&p->k);
	struct arena *a = &p->k.now;
	struct kernel_shot shot = kernel_shoot(&p->k);
	const char *was = NULL, *now = NULL;
	bool sound = knob_valid(k, NULL, NULL);
	unsigned writes = p->k.writes;
	struct err e = { 0 };
	int got, set;

	p->k.belongs = &k->kind;
	got = knob_get(h, a, k, &was, &e);
	if (sound)
		describe(h, a, k, value);
	if ((got == 0) != (was != NULL) || (got && got != -ENODATA && !*e.text) ||
	    writes != p->k.writes || (!sound && got != -EINVAL))
		broken("reading", k, was);
	set = knob_set(h, a, k, value, &e);
	if (!knob_valid(k, value, NULL) && (set != -EINVAL || writes != p->k.writes))
		broken("unsound, and written", k, value);
	if (set && got == 0 && (knob_get(h, a, k, &now, &e) || !knob_same(k, now, was)))
		broken("refused, and changed", k, now);
	if (set)
		same_machine(p, &shot);
	else if (got == 0 && keeps_what_is_written(k) &&
		 (knob_get(h, a, k, &now, &e) || !knob_same(k, now, value)))
		broken("not what was written", k, now);
	if (set == 0 && got == 0)
		put_back(p, h, k, was, &shot);
	/* What nobody knew is reset. */
	else if (set == 0 && (!knob_neutral(k) || knob_set(h, a, k, knob_neutral(k), &e)))
		by_hand(p);
	p->k.belongs = NULL;
	host_close(h);
}

/* --- transactions ----------------------------------------------------------------------------- */

static const struct txn_who who = { .user = "u", .version = "1" };

/* Of two that exclude each other a plan has one. */
static bool excludes(struct arena *a, const struct knob *x, const struct knob *y)
{
	size_t n;
	struct knob *resets = knob_disturbs(NULL, a, x, &n);

	for (size_t i = 0; i < n; i++)
		if (knob_equal(&resets[i], y))
			return true;
	return knob_equal(x, y) ||
	       (str_starts(x->name, "vm.dirty_") && str_starts(y->name, "vm.dirty_"));
}

static void add_change(struct play *p, const struct knob *k, const char *id, const char *value)
{
	struct setting s = { .id = id, .title = "made", .source = "made" };
	struct host *h = kernel_open(&p->k);
	struct arena *a = &p->k.now;
	struct err e = { 0 };
	const char *before = NULL;
	int r = knob_valid(k, value, NULL) ? knob_get(h, a, k, &before, &e) : -EINVAL;
	bool fits = p->n < CHANGES && (r == 0 || r == -ENODATA);

	for (size_t i = 0; i < p->n && fits; i++)
		fits = !excludes(a, k, &p->changes[i].knob) && !excludes(a, &p->changes[i].knob, k);
	host_close(h);
	if (!fits)
		return;
	memcpy(&p->settings[p->n], &s, sizeof(s));
	p->changes[p->n] = (struct change){
		.s = &p->settings[p->n], .target = "", .knob = *k, .before = before, .after = value
	};
	p->n++;
}

static void every_value(struct play *p, struct host *h, struct fact_str *out)
{
	for (size_t i = 0; i < p->n; i++)
		out[i] = knob_exact(h, &p->k.now, &p->changes[i].knob);
}

static void as_before(struct play *p, struct host *h, const struct fact_str *was,
		      const struct kernel_shot *shot)
{
	struct fact_str is[CHANGES] = { 0 };

	every_value(p, h, is);
	for (size_t i = 0; i < p->n; i++)
		if (is[i].f.seen != was[i].f.seen ||
		    (is[i].v && !knob_same(&p->changes[i].knob, is[i].v, was[i].v)))
			broken("not as before", &p->changes[i].knob, is[i].v);
	same_machine(p, shot);
}

static void in_force(struct play *p, struct host *h)
{
	for (size_t i = 0; i < p->n; i++) {
		struct fact_str is = knob_exact(h, &p->k.now, &p->changes[i].knob);

		if (is.v && !knob_same(&p->changes[i].knob, is.v, p->changes[i].after))
			broken("not in force", &p->changes[i].knob, is.v);
	}
}

/* Who comes after a process that died. */
static int recovered(struct play *p, struct err *e)
{
	struct host *h = kernel_open(&p->k);
	struct txn_report report = { 0 };
	int r;

	p->k.refuse = p->k.dies = 0;
	r = txn_recover(h, &p->k.now, &who, &report, e);
	host_close(h);
	return r;
}

/* Who died behind the last line of the journal left everything applied. */
static bool whole(struct play *p)
{
	struct host *h = kernel_open(&p->k);
	struct err e = { 0 };
	struct journal j;
	bool r = journal_load(h, &p->k.now, true, &j, &e) == 0 && j.n &&
		 j.items[j.n - 1].state == TRANSACTION_APPLIED;

	host_close(h);
	return r;
}

static void stuck(const struct txn_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].outcome == OUTCOME_STUCK)
			broken("stuck", &r->rows[i].knob, r->rows[i].sentence);
	broken("not taken back", NULL, NULL);
}

static void apply(struct play *p, unsigned refuse, unsigned dies)
{
	struct plan plan = { .profile = "default", .changes = p->changes, .n = p->n };
	struct kernel_shot shot = kernel_shoot(&p->k);
	struct fact_str was[CHANGES] = { 0 };
	struct host *h = kernel_open(&p->k);
	struct txn_report report = { 0 };
	struct err e = { 0 };
	struct journal j;
	int r;

	if (!p->applied)
		p->origin = shot;
	p->applied = true;
	every_value(p, h, was);
	p->k.writes = 0;
	p->k.refuse = refuse;
	p->k.dies = dies;
	r = txn_apply(h, &p->k.now, &plan, &who, &report, &e);
	if (r && !*e.text)
		abort();
	if (dies && p->k.writes >= dies)
		r = recovered(p, &e) ? -EUCLEAN : whole(p) ? 0 : -ECANCELED;
	p->k.refuse = p->k.dies = 0;
	if (r == 0)
		in_force(p, h);
	/* The refused write was one that was to take another back: that is for undo, then. */
	else if (r == -EUCLEAN && !p->by_hand && !p->planted && (!refuse || p->k.writes < refuse))
		stuck(&report);
	else if (r != -EUCLEAN && !p->planted)
		as_before(p, h, was, &shot);
	host_close(h);
	journal_holds(p, &j);
	p->n = 0;
}

static void undo(struct play *p, bool force)
{
	struct host *h = kernel_open(&p->k);
	struct txn_select all = { .all = true, .force = force };
	struct txn_report report = { 0 };
	struct err e = { 0 };
	struct journal j;
	int r = txn_undo(h, &p->k.now, &all, &who, &report, &e);

	if (r && !*e.text)
		abort();
	if (p->applied && !p->by_hand && !p->planted) {
		if (r && r != -ENOENT && r != -EWOULDBLOCK)
			stuck(&report);
		if (r != -EWOULDBLOCK)
			same_machine(p, &p->origin);
	}
	host_close(h);
	journal_holds(p, &j);
}

/* --- the input -------------------------------------------------------------------------------- */

static const char *knob_at(char *const *f, struct knob *k, const char **value)
{
	int kind;

	for (size_t i = 0; i < TABLE; i++)
		if (f[1][0] == table[i].letter && !f[1][1]) {
			*k = table[i].k;
			*value = f[2];
			return table[i].id;
		}
	kind = knob_kind_parse(f[1]);
	*k = (struct knob){ kind < 0 ? KNOB_NONE : (enum knob_kind)kind, f[2], f[3] };
	*value = f[4];
	return "made.knob";
}

/* What runs beside the watcher as well. */
static void do_step(struct play *p, char *const *f)
{
	unsigned n = (unsigned)strtoul(f[1], NULL, 10);
	const char *value, *id;
	struct knob k;

	switch (**f) {
	case 'f':
		file_by_hand(p, f[1], f[2]);
		break;
	case 'q':
		answer_by_hand(p, f[1], f[2]);
		break;
	case 's':
		knob_at(f, &k, &value);
		alone(p, &k, value);
		break;
	case 'a':
		id = knob_at(f, &k, &value);
		add_change(p, &k, id, value);
		break;
	case 'A':
	case 'D':
		p->tries = (struct map){ 0 };
		apply(p, **f == 'A' ? n : 0, **f == 'D' ? n : 0);
		break;
	case 'u':
	case 'U':
		p->tries = (struct map){ 0 };
		undo(p, **f == 'U');
		break;
	case 'b':
		p->k.busy = !p->k.busy;
		break;
	case 't':
		n = n > LONGEST_MS ? LONGEST_MS : n;
		p->until = (p->until > p->now ? p->until : p->now) + n;
		break;
	default:
		break;
	}
}

/* One line; hint NULL: nobody watches. False: the watcher is to stop. */
static bool step(struct play *p, struct hint *hint)
{
	const char *nl = memchr(p->at, '\n', (size_t)(p->end - p->at));
	size_t len = nl ? (size_t)(nl - p->at) : (size_t)(p->end - p->at);
	char *line = arena_strndup(&p->k.now, p->at, len), *f[FIELDS], *tab = line;

	p->at += len + (nl != NULL);
	p->steps++;
	for (size_t i = 0; i < FIELDS; i++) {
		f[i] = tab;
		tab += strcspn(tab, "\t");
		if (*tab)
			*tab++ = '\0';
	}
	if (*line == 'w' && !hint)
		watch_begin(p, f[1]);
	else if (*line == 'h' && hint)
		give_hint(p, f, hint);
	else
		do_step(p, f);
	return *line != 'e';
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct play p = { .at = size ? (const char *)data : "", .said = { -1, -1 }, .how = "" };

	p.end = p.at + size;
	playing = &p;
	machine_is(&p.k);
	while (p.at < p.end && p.steps < STEPS)
		step(&p, NULL);
	p.k.busy = false;
	undo(&p, false);
	arena_free(&p.k.now);
	return 0;
}
