/* SPDX-License-Identifier: Apache-2.0 */
/* The file of verdicts, through the host interface: read as a whole, added to line by line. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/prove/ledger.h"
#include "base/text.h"
#include "measure/bench/bench.h"
#include "machine/write/write.h"
#include "base/clock.h"

/* --- which machine ---------------------------------------------------------------------------- */
static const char *pair_value(const struct record *r, const char *name)
{
	for (size_t i = 0; i < r->n_fingerprint; i++)
		if (strcmp(r->fingerprint[i].name, name) == 0)
			return r->fingerprint[i].value;
	return "";
}

/* What stays the same until somebody opens the case: not memory, which huge pages and boot
 * arguments change as it is shown, nor anything that a setting is about. */
static bool is_hardware(const char *name)
{
	static const char *const names[] = { "product", "cpu", "sockets", "cores" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return str_starts(name, "gpu") && strcmp(name, "gpu_driver") != 0;
}

static const char *hardware_digest(struct arena *a, const struct record *r)
{
	struct record_pair *pairs = arena_array(a, r->n_fingerprint, sizeof(*pairs));
	size_t n = 0;

	for (size_t i = 0; i < r->n_fingerprint; i++)
		if (is_hardware(r->fingerprint[i].name))
			pairs[n++] = r->fingerprint[i];
	return record_digest(a, pairs, n);
}

void ledger_here(struct arena *a, struct host *h, const struct machine *m, struct ledger_here *out)
{
	struct record r = { 0 };

	record_fingerprint(a, h, m, &r);
	*out = (struct ledger_here){ .machine = r.machine,
				     .name = fact_text(&m->nodename, ""),
				     .kernel = pair_value(&r, "kernel"),
				     .driver = pair_value(&r, "gpu_driver"),
				     .firmware = pair_value(&r, "firmware"),
				     .hardware = hardware_digest(a, &r) };
}

/* --- reading ---------------------------------------------------------------------------------- */
static const char *file_in(struct arena *a, const char *dir)
{
	return dir ? arena_printf(a, "%s/ledger.jsonl", dir) : LEDGER_FILE;
}

static void bad_line(struct ledger *l, size_t line, const char *why)
{
	if (l->n_bad < LEDGER_BAD_MAX)
		l->bad[l->n_bad] = (struct ledger_bad){ line, why };
	l->n_bad++;
}

static void ledger_take_line(struct arena *a, struct ledger *l, size_t number, const char *line,
			     size_t len)
{
	struct ledger_row row;
	struct err e = { 0 };

	if (l->n == LEDGER_ROWS_MAX)
		bad_line(l, number, "the ledger has too many rows");
	else if (ledger_row_parse(a, line, len, &row, &e))
		bad_line(l, number, arena_strdup(a, e.text));
	else {
		ARENA_ADD(a, l->rows, l->n) = row;
	}
}

void ledger_load(struct arena *a, struct host *h, const struct machine *m, const char *dir,
		 struct ledger *out)
{
	size_t len = 0, number = 0;
	char *text = NULL;
	int r;

	*out = (struct ledger){ .file = file_in(a, dir) };
	ledger_here(a, h, m, &out->here);
	r = host_read(h, out->file, LEDGER_FILE_MAX, a, &text, &len);
	if (r) {
		/* A captured machine that was not asked has no ledger for us either. */
		out->state = r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED ? 0 : r;
		return;
	}
	for (const char *at = text, *end = text + len; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at);

		number++;
		/* What a crash cut short was never a row. */
		if (n && nl)
			ledger_take_line(a, out, number, at, n);
		else if (n)
			bad_line(out, number, "the ledger was truncated");
		at += n + 1;
	}
}

/* --- adding ----------------------------------------------------------------------------------- */
static int make_folder(struct host *h, const char *dir, struct err *e)
{
	int r = host_own_dir(h, dir);

	return r ? err_set(e, r, "cannot create %s: %s", dir, strerror(-r)) : 0;
}

/* Whether the file ends within a line. */
static int is_torn(struct host *h, const char *file, bool *torn, struct err *e)
{
	struct arena a = { 0 };
	size_t len = 0;
	char *text;
	int r = host_read(h, file, LEDGER_FILE_MAX - LEDGER_LINE_MAX, &a, &text, &len);

	*torn = r == 0 && len && text[len - 1] != '\n';
	arena_free(&a);
	if (r == 0 || r == -ENOENT)
		return 0;
	err_set(e, r, "%s: cannot read: %s", file, strerror(-r));
	if (r == -EFBIG)
		err_hint(e, "move it away, and gputune creates a new one");
	return r;
}

static int ledger_add_line(struct host *h, const char *file, const struct ledger_row *row,
			   struct err *e)
{
	TEXT_AUTO line = { 0 };
	json_auto_t *j = result_shape_json(&ledger_result, row, 0, 0);
	char *text = json_dumps(j, JSON_COMPACT);
	bool torn = false;
	int r;

	if (!text)
		abort();
	r = is_torn(h, file, &torn, e);
	if (r == 0) {
		text_printf(&line, "%s%s\n", torn ? "\n" : "", text);
		r = host_append(h, file, line.s, line.len);
		if (r)
			err_set(e, r, "cannot append to %s: %s", file, strerror(-r));
	}
	free(text);
	return r;
}

int ledger_add(struct host *h, const char *dir, const struct ledger_row *row, struct err *e)
{
	ARENA_AUTO a = { 0 };
	int r = ledger_row_check(row, e);

	if (r == 0)
		r = make_folder(h, dir ? dir : LEDGER_DIR, e);
	if (r == 0)
		r = ledger_add_line(h, file_in(&a, dir), row, e);
	return r;
}

/* What the ledger says of a setting on this machine today. */

/* "kernel 6.17 became 6.18, driver 580 became 590"; NULL: all as it was. */
static const char *ledger_changed(struct arena *a, const struct ledger_here *then,
				  const struct ledger_here *now)
{
	const struct {
		const char *what, *then, *now;
	} parts[] = { { "kernel", then->kernel, now->kernel },
		      { "driver", then->driver, now->driver },
		      { "firmware", then->firmware, now->firmware } };
	const char *out = NULL;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *was = *parts[i].then ? parts[i].then : "none",
			   *is = *parts[i].now ? parts[i].now : "none";

		if (strcmp(parts[i].then, parts[i].now) != 0)
			out = arena_printf(a, "%s%s%s %s became %s", out ? out : "",
					   out ? ", " : "", parts[i].what, was, is);
	}
	if (strcmp(then->hardware, now->hardware) != 0)
		out = arena_printf(a, "%s%sthe hardware differs", out ? out : "", out ? ", " : "");
	return out;
}

const char *ledger_part_of(const char *joined, const char *setting)
{
	size_t n = strlen(setting);
	const char *at = joined;

	while (strncmp(at, setting, n) != 0 || (at[n] && at[n] != '+')) {
		at = strchr(at, '+');
		if (!at)
			return NULL;
		at++;
	}
	return at;
}

/* "a+c" of "a+b+c", where b of n bytes stands in it; NULL: it is this setting's alone. */
static const char *ledger_others(struct arena *a, const char *joined, const char *at, size_t n)
{
	const char *after = at + n;
	int before = (int)(at - joined);

	if (!before && !*after)
		return NULL;
	/* The sign behind it goes with it, at the end the one before it. */
	return arena_printf(a, "%.*s%s", *after ? before : before - 1, joined,
			    *after ? after + 1 : "");
}

/* What is valid before what is not, what is decided before what is not, the setting's own before
 * what it shares with others, and then the newest. */
static bool outranks(const struct ledger_answer *x, const struct ledger_answer *y)
{
	bool x_decided = x->row->verdict != RULING_UNDECIDED,
	     y_decided = y->row->verdict != RULING_UNDECIDED;

	if (x->valid != y->valid)
		return x->valid == LEDGER_VALID;
	if (x_decided != y_decided)
		return x_decided;
	if (!x->with != !y->with)
		return !x->with;
	return x->row->time_s >= y->row->time_s;
}

bool ledger_judge(struct arena *a, const struct ledger *l, const struct ledger_row *row,
		  const char *setting, struct ledger_answer *out)
{
	const char *at = ledger_part_of(row->setting, setting);

	if (!at || strcmp(row->where.machine, l->here.machine) != 0)
		return false;
	*out = (struct ledger_answer){ .row = row,
				       .changed = ledger_changed(a, &row->where, &l->here),
				       .with = ledger_others(a, row->setting, at,
							     strlen(setting)) };
	out->valid = out->changed ? LEDGER_EXPIRED : LEDGER_VALID;
	return true;
}

void ledger_find(struct arena *a, const struct ledger *l, const char *setting, const char *target,
		 struct ledger_answer *out)
{
	ledger_find_where(a, l, setting, target, NULL, NULL, out);
}

void ledger_find_where(struct arena *a, const struct ledger *l, const char *setting,
		       const char *target,
		       bool (*counts)(const void *ctx, const struct ledger_row *row),
		       const void *ctx, struct ledger_answer *out)
{
	*out = (struct ledger_answer){ .valid = l->state ? LEDGER_UNSEEN : LEDGER_NONE };
	for (size_t i = 0; i < l->n; i++) {
		const struct ledger_row *row = &l->rows[i];
		struct ledger_answer one;

		/* A verdict on all targets holds for each. */
		if ((target && *row->target && strcmp(row->target, target) != 0) ||
		    (counts && !counts(ctx, row)) || !ledger_judge(a, l, row, setting, &one))
			continue;
		if (!out->row || outranks(&one, out))
			*out = one;
	}
}

static double percent(double ratio)
{
	return 100 * (ratio - 1);
}

/* "+3.1 % [2.4, 3.9]"; without an interval the estimate alone. */
static const char *ledger_effect(struct arena *a, const struct ledger_row *r)
{
	double widest = fmax(fabs(percent(r->low)), fabs(percent(r->high)));

	switch (r->verdict) {
	case RULING_NO_DIFFERENCE:
		if (!isfinite(r->high) || r->low <= 0)
			return "no difference";
		return arena_printf(a, "no difference (less than %.2g %%)", widest);
	case RULING_UNDECIDED:
		if (!isfinite(r->high) || r->low <= 0)
			return "undecided";
		return arena_printf(a, "undecided (%+.1f %% [%.1f, %.1f])", percent(r->ratio),
				    percent(r->low), percent(r->high));
	default:
		if (!isfinite(r->high) || r->low <= 0)
			return r->verdict == RULING_HELPS ? "helps" : "hurts";
		return arena_printf(a, "%+.1f %% [%.1f, %.1f]", percent(r->ratio), percent(r->low),
				    percent(r->high));
	}
}

const char *ledger_row_text(struct arena *a, const struct ledger_row *r)
{
	const char *on = r->bench ? r->bench : r->command,
		   *driver =
			   *r->where.driver ? arena_printf(a, ", driver %s", r->where.driver) : "";

	return arena_printf(a, "%s on %s%s%s, kernel %s%s", ledger_effect(a, r),
			    r->bench ? "" : "\"", on, r->bench ? "" : "\"",
			    *r->where.kernel ? r->where.kernel : "unknown", driver);
}

const char *ledger_text(struct arena *a, const struct ledger_answer *w)
{
	const char *text = w->row ? ledger_row_text(a, w->row) : NULL;

	if (text && w->with)
		text = arena_printf(a, "combined with %s: %s", w->with, text);
	switch (w->valid) {
	case LEDGER_VALID:
		return text;
	case LEDGER_EXPIRED:
		return arena_printf(a, "%s; expired: %s", text, w->changed);
	case LEDGER_UNSEEN:
		return "unknown: the ledger is unreadable";
	default:
		return "unmeasured";
	}
}

/* One verdict as a line of JSON and back. What is read was written by anybody. */

enum { PAIRS_MAX = 1000000, SEED_MAX = 16 };
/* No setting makes a machine a million times faster; such a row is a mistake. */
#define RATIO_MAX 1e6

/* clang-format off */
static const struct shape_row ledger_row_rows[] = {
	{ "time", NULL, SHAPE_TIME(ledger_row, time_s) },
	{ "setting", "Id of the setting; for several at once \"profile:NAME\" or ids joined by \"+\".",
	  SHAPE_TEXT(ledger_row, setting) },
	{ "target", "Target; empty: the machine, or all targets at once.", SHAPE_TEXT(ledger_row, target) },
	{ "before", NULL, SHAPE_TEXT(ledger_row, before), .unknown = SHAPE_NULL },
	{ "after", NULL, SHAPE_TEXT(ledger_row, after), .unknown = SHAPE_NULL },
	{ "bench", "\"bench/case\"; null if there is a command.", SHAPE_TEXT(ledger_row, bench),
	  .unknown = SHAPE_NULL },
	{ "command", NULL, SHAPE_TEXT(ledger_row, command), .unknown = SHAPE_NULL },
	{ "figure", NULL, SHAPE_TEXT(ledger_row, figure) },
	{ "unit", NULL, SHAPE_TEXT(ledger_row, unit), .unknown = SHAPE_NULL },
	{ "machine", "Digest of the machine: the same on one machine, different on others.", SHAPE_TEXT(ledger_row,
	  where.machine) },
	{ "name", NULL, SHAPE_TEXT(ledger_row, where.name) },
	{ "kernel", NULL, SHAPE_TEXT(ledger_row, where.kernel) },
	{ "driver", NULL, SHAPE_TEXT(ledger_row, where.driver) },
	{ "firmware", NULL, SHAPE_TEXT(ledger_row, where.firmware) },
	{ "hardware", "Digest of product, processor and GPUs.", SHAPE_TEXT(ledger_row, where.hardware) },
	{ "tool_version", NULL, SHAPE_TEXT(ledger_row, version) },
	{ "verdict", NULL, SHAPE_CHOICE_BY(ledger_row, verdict, ruling_verdict, RULING_UNDECIDED + 1) },
	{ "ratio", "Improvement with the setting.", SHAPE_REAL(ledger_row, ratio) },
	{ "low", NULL, SHAPE_REAL(ledger_row, low), .unknown = SHAPE_ZERO },
	{ "high", NULL, SHAPE_REAL(ledger_row, high), .unknown = SHAPE_NULL },
	{ "min_effect", NULL, SHAPE_REAL(ledger_row, min_effect) },
	{ "pairs", NULL, SHAPE_COUNT(ledger_row, pairs) },
	{ "seed", "64 bits in hexadecimal digits.", SHAPE_TEXT(ledger_row, seed), .later = true },
	{ "kept", NULL, SHAPE_FLAG(ledger_row, kept), .later = true },
	{ "job", "Kind of job: resources used and libraries loaded.",
	  SHAPE_TEXT(ledger_row, job), .unknown = SHAPE_NULL, .later = true },
};
static const struct shape ledger_row_shape = SHAPE(ledger_row, ledger_row);

const struct result_shape ledger_result = {
	.name = "ledger", .title = "One line of gputune's ledger of A/B tests",
	.meaning = "Proven effect of a setting.",
	.shape = &ledger_row_shape, .no_time = true, .no_version = true,
};
/* clang-format on */

static bool is_setting(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+:_-"
			      "@/");

	return n && !id[n];
}

/* NULL: it is valid. */
static const char *ledger_unsound(const struct ledger_row *r)
{
	for (size_t i = 0; i < ledger_row_shape.n; i++) {
		const struct shape_row *row = &ledger_row_rows[i];
		const char *text = row->kind == SHAPE_KIND_TEXT ? shape_text(row, r) : "";

		if (!text && row->unknown == SHAPE_KNOWN)
			return "a text field is missing";
		if (text && strlen(text) > LEDGER_TEXT_MAX)
			return "a text field is too long";
	}
	if (strlen(r->seed) > SEED_MAX || r->seed[strspn(r->seed, "0123456789abcdefABCDEF")])
		return "invalid seed";
	if (!is_setting(r->setting))
		return "invalid setting id";
	if (!*r->where.machine)
		return "machine not given";
	if (!r->bench == !r->command)
		return "requires either a bench or a command";
	if (r->verdict <= RULING_GO_ON || r->verdict > RULING_UNDECIDED)
		return "no verdict";
	if (!(r->ratio > 0 && r->ratio < RATIO_MAX) || !(r->low >= 0 && r->low <= r->ratio) ||
	    !(r->high >= r->ratio))
		return "invalid effect";
	if (!(r->min_effect >= 0 && r->min_effect < RATIO_MAX))
		return "invalid min_effect (smallest effect that counts)";
	if (r->pairs > PAIRS_MAX)
		return "too many pairs";
	return NULL;
}

int ledger_row_check(const struct ledger_row *row, struct err *e)
{
	const char *why = ledger_unsound(row);
	char stamp[STAMP_SIZE];

	if (!why && stamp_format(row->time_s, stamp))
		why = "invalid time";
	return why ? err_set(e, -EINVAL, "%s", why) : 0;
}

int ledger_row_parse(struct arena *a, const char *line, size_t len, struct ledger_row *out,
		     struct err *e)
{
	struct ledger_row row;
	struct err said = { 0 };
	int code;

	if (len > LEDGER_LINE_MAX)
		return err_set(e, -EINVAL, "longer than %d bytes", LEDGER_LINE_MAX);
	code = result_shape_read(a, &ledger_result, line, len, &row, &said);
	if (code)
		/* Which line it is, the caller says. */
		return err_set(
			e, code, "%s",
			said.text + (str_starts(said.text, "line 1: ") ? strlen("line 1: ") : 0));
	if (isnan(row.high))
		row.high = (double)INFINITY;
	if (!row.seed)
		row.seed = "0";
	code = ledger_row_check(&row, e);
	if (code == 0)
		*out = row;
	return code;
}
