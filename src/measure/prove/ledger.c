/* SPDX-License-Identifier: Apache-2.0 */
/* The file of verdicts, through the host interface: read as a whole, added to line by line. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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
		bad_line(l, number, "there are too many rows before it");
	else if (ledger_row_parse(a, line, len, &row, &e))
		bad_line(l, number, arena_strdup(a, e.text));
	else {
		l->rows = arena_grow(a, l->rows, l->n, sizeof(*l->rows));
		l->rows[l->n++] = row;
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
			bad_line(out, number, "it was cut short");
		at += n + 1;
	}
}

/* --- adding ----------------------------------------------------------------------------------- */
static int make_folder(struct host *h, const char *dir, struct err *e)
{
	int r = host_own_dir(h, dir);

	return r ? err_set(e, r, "%s cannot be made: %s", dir, strerror(-r)) : 0;
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
	err_set(e, r, "%s cannot be read: %s", file, strerror(-r));
	if (r == -EFBIG)
		err_hint(e, "move it away: a new one is begun");
	return r;
}

static int ledger_add_line(struct host *h, const char *file, const struct ledger_row *row,
			   struct err *e)
{
	TEXT_AUTO line = { 0 };
	json_t *j = ledger_row_json(row);
	char *text = json_dumps(j, JSON_COMPACT);
	bool torn = false;
	int r;

	json_decref(j);
	if (!text)
		abort();
	r = is_torn(h, file, &torn, e);
	if (r == 0) {
		text_printf(&line, "%s%s\n", torn ? "\n" : "", text);
		r = host_append(h, file, line.s, line.len);
		if (r)
			err_set(e, r, "%s cannot be added to: %s", file, strerror(-r));
	}
	free(text);
	return r;
}

int ledger_add(struct host *h, const char *dir, const struct ledger_row *row, struct err *e)
{
	struct arena a = { 0 };
	int r = ledger_row_check(row, e);

	if (r == 0)
		r = make_folder(h, dir ? dir : LEDGER_DIR, e);
	if (r == 0)
		r = ledger_add_line(h, file_in(&a, dir), row, e);
	arena_free(&a);
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
		out = arena_printf(a, "%s%sthe hardware is another", out ? out : "",
				   out ? ", " : "");
	return out;
}

/* Where the setting stands in "a+b+c"; NULL: it does not. */
static const char *ledger_part_of(const char *joined, const char *setting)
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
		text = arena_printf(a, "together with %s: %s", w->with, text);
	switch (w->valid) {
	case LEDGER_VALID:
		return text;
	case LEDGER_EXPIRED:
		return arena_printf(a, "%s; expired: %s", text, w->changed);
	case LEDGER_UNSEEN:
		return "unknown: the ledger cannot be read";
	default:
		return "unmeasured";
	}
}

/* One verdict as a line of JSON and back. What is read was written by anybody. */

enum { PAIRS_MAX = 1000000 };
/* No setting makes a machine a million times faster; such a row is a mistake. */
#define RATIO_MAX 1e6

/* The texts of a row, so that writing, reading and checking cannot forget one. */
struct text_key {
	const char *key;
	size_t at;
	bool may_lack;
};
static const struct text_key texts[] = {
	{ "setting", offsetof(struct ledger_row, setting), false },
	{ "target", offsetof(struct ledger_row, target), false },
	{ "before", offsetof(struct ledger_row, before), true },
	{ "after", offsetof(struct ledger_row, after), true },
	{ "bench", offsetof(struct ledger_row, bench), true },
	{ "command", offsetof(struct ledger_row, command), true },
	{ "figure", offsetof(struct ledger_row, figure), false },
	{ "unit", offsetof(struct ledger_row, unit), true },
	{ "machine", offsetof(struct ledger_row, where.machine), false },
	{ "name", offsetof(struct ledger_row, where.name), false },
	{ "kernel", offsetof(struct ledger_row, where.kernel), false },
	{ "driver", offsetof(struct ledger_row, where.driver), false },
	{ "firmware", offsetof(struct ledger_row, where.firmware), false },
	{ "hardware", offsetof(struct ledger_row, where.hardware), false },
	{ "tool_version", offsetof(struct ledger_row, version), false },
};
enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

static const char **text_at(struct ledger_row *row, const struct text_key *t)
{
	return (const char **)((char *)row + t->at);
}

static const char *text_of(const struct ledger_row *row, const struct text_key *t)
{
	return *(const char *const *)((const char *)row + t->at);
}

static bool is_setting(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+:_-"
			      "@/");

	return n && !id[n];
}

/* NULL: it is valid. */
static const char *ledger_unsound(const struct ledger_row *r)
{
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = text_of(r, &texts[i]);

		if (!text && !texts[i].may_lack)
			return "a text is missing";
		if (text && strlen(text) > LEDGER_TEXT_MAX)
			return "a text is too long";
	}
	if (!is_setting(r->setting))
		return "the setting is no id";
	if (!*r->where.machine)
		return "it does not say which machine it is of";
	if (!r->bench == !r->command)
		return "it has to name either a bench or a command";
	if (r->verdict <= RULING_GO_ON || r->verdict > RULING_UNDECIDED)
		return "it has no verdict";
	if (!(r->ratio > 0 && r->ratio < RATIO_MAX) || !(r->low >= 0 && r->low <= r->ratio) ||
	    !(r->high >= r->ratio))
		return "the effect makes no sense";
	if (!(r->min_effect >= 0 && r->min_effect < RATIO_MAX))
		return "what matters makes no sense";
	if (r->pairs > PAIRS_MAX)
		return "there are too many pairs";
	return NULL;
}

int ledger_row_check(const struct ledger_row *row, struct err *e)
{
	const char *why = ledger_unsound(row);
	char stamp[STAMP_SIZE];

	if (!why && stamp_format(row->time_s, stamp))
		why = "the time makes no sense";
	return why ? err_set(e, -EINVAL, "%s", why) : 0;
}

static void put_text(json_t *j, const char *key, const char *text)
{
	struct arena a = { 0 };

	json_object_set_new(j, key, text ? json_string(utf8_clean(&a, text)) : json_null());
	arena_free(&a);
}

json_t *ledger_row_json(const struct ledger_row *r)
{
	json_t *j = json_object();
	char stamp[STAMP_SIZE] = "", seed[24];

	stamp_format(r->time_s, stamp);
	/* 64 bits are more than a number in JSON is sure to keep. */
	snprintf(seed, sizeof(seed), "%016" PRIx64, r->seed);
	json_object_set_new(j, "schema", json_string(LEDGER_SCHEMA));
	json_object_set_new(j, "time", json_string(stamp));
	for (size_t i = 0; i < TEXTS; i++)
		put_text(j, texts[i].key, text_of(r, &texts[i]));
	json_object_set_new(j, "verdict", json_string(ruling_name(r->verdict)));
	json_object_set_new(j, "ratio", json_real(r->ratio));
	json_object_set_new(j, "low", r->low > 0 ? json_real(r->low) : json_null());
	json_object_set_new(j, "high", isfinite(r->high) ? json_real(r->high) : json_null());
	json_object_set_new(j, "min_effect", json_real(r->min_effect));
	json_object_set_new(j, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(j, "seed", json_string(seed));
	json_object_set_new(j, "kept", json_boolean(r->kept));
	return j;
}

static double number_or(const json_t *j, const char *key, double missing)
{
	const json_t *v = json_object_get(j, key);

	return json_is_number(v) ? json_number_value(v) : missing;
}

static enum ruling_kind verdict_of(const char *name)
{
	for (int k = RULING_HELPS; name && k <= RULING_UNDECIDED; k++)
		if (strcmp(name, ruling_name((enum ruling_kind)k)) == 0)
			return (enum ruling_kind)k;
	return RULING_GO_ON;
}

static int read_numbers(const json_t *j, struct ledger_row *r, struct err *e)
{
	const char *time = json_string_value(json_object_get(j, "time")),
		   *seed = json_string_value(json_object_get(j, "seed"));
	double pairs = number_or(j, "pairs", -1);
	unsigned long long bits = 0;

	if (!time || stamp_parse(time, &r->time_s))
		return err_set(e, -EINVAL, "it has no time");
	if (seed && (strlen(seed) > 16 || parse_hex(seed, &bits)))
		return err_set(e, -EINVAL, "the seed is none");
	if (!(pairs >= 0 && pairs <= PAIRS_MAX))
		return err_set(e, -EINVAL, "the number of pairs makes no sense");
	r->seed = bits;
	r->pairs = (size_t)pairs;
	r->ratio = number_or(j, "ratio", 0);
	r->low = number_or(j, "low", 0);
	r->high = number_or(j, "high", (double)INFINITY);
	r->min_effect = number_or(j, "min_effect", -1);
	r->kept = json_is_true(json_object_get(j, "kept"));
	r->verdict = verdict_of(json_string_value(json_object_get(j, "verdict")));
	return 0;
}

static int read_row(struct arena *a, const json_t *j, struct ledger_row *r, struct err *e)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));
	int code;

	if (!schema || strcmp(schema, LEDGER_SCHEMA) != 0)
		return err_set(e, -EINVAL, "it is no row of a ledger");
	code = read_numbers(j, r, e);
	if (code)
		return code;
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = json_string_value(json_object_get(j, texts[i].key));

		if (text)
			*text_at(r, &texts[i]) = arena_strdup(a, text);
	}
	return ledger_row_check(r, e);
}

int ledger_row_parse(struct arena *a, const char *line, size_t len, struct ledger_row *out,
		     struct err *e)
{
	struct ledger_row row = { 0 };
	json_error_t why;
	json_t *j;
	int code;

	if (len > LEDGER_LINE_MAX)
		return err_set(e, -EINVAL, "it is longer than %d bytes", LEDGER_LINE_MAX);
	j = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	if (!j)
		return err_set(e, -EINVAL, "it is no JSON: %s", why.text);
	code = read_row(a, j, &row, e);
	json_decref(j);
	if (code == 0)
		*out = row;
	return code;
}
