/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger says of a setting on this machine today. */
#include <math.h>
#include <string.h>

#include "base/stamp.h"
#include "measure/prove/ledger.h"

/* "kernel 6.17 became 6.18, driver 580 became 590"; NULL: all as it was. */
static const char *changed(struct arena *a, const struct ledger_here *then,
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
static const char *part_of(const char *joined, const char *setting)
{
	size_t n = strlen(setting);
	const char *at = joined;

	while (strncmp(at, setting, n) != 0 || (at[n] && at[n] != '+')) {
		at = strchr(at, '+');
		if (!at++)
			return NULL;
	}
	return at;
}

/* "a+c" of "a+b+c", where b of n bytes stands in it; NULL: it is this setting's alone. */
static const char *others(struct arena *a, const char *joined, const char *at, size_t n)
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
	const char *at = part_of(row->setting, setting);

	if (!at || strcmp(row->where.machine, l->here.machine) != 0)
		return false;
	*out = (struct ledger_answer){ .row = row,
				       .changed = changed(a, &row->where, &l->here),
				       .with = others(a, row->setting, at, strlen(setting)) };
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
static const char *effect(struct arena *a, const struct ledger_row *r)
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

	return arena_printf(a, "%s on %s%s%s, kernel %s%s", effect(a, r), r->bench ? "" : "\"", on,
			    r->bench ? "" : "\"", *r->where.kernel ? r->where.kernel : "unknown",
			    driver);
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

json_t *ledger_answer_json(struct arena *a, const struct ledger_answer *w)
{
	const struct ledger_row *r = w->row;
	json_t *j = json_object();
	char stamp[STAMP_SIZE] = "";

	if (!r) {
		json_decref(j);
		return json_null();
	}
	stamp_format(r->time_s, stamp);
	json_object_set_new(j, "verdict", json_string(ruling_name(r->verdict)));
	json_object_set_new(j, "with", w->with ? json_string(w->with) : json_null());
	json_object_set_new(j, "valid", json_boolean(w->valid == LEDGER_VALID));
	json_object_set_new(j, "expired_because",
			    w->changed ? json_string(w->changed) : json_null());
	json_object_set_new(j, "ratio", json_real(r->ratio));
	json_object_set_new(j, "low", r->low > 0 ? json_real(r->low) : json_null());
	json_object_set_new(j, "high", isfinite(r->high) ? json_real(r->high) : json_null());
	json_object_set_new(j, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(j, "before", r->before ? json_string(r->before) : json_null());
	json_object_set_new(j, "after", r->after ? json_string(r->after) : json_null());
	json_object_set_new(j, "bench", r->bench ? json_string(r->bench) : json_null());
	json_object_set_new(j, "command", r->command ? json_string(r->command) : json_null());
	json_object_set_new(j, "figure", json_string(r->figure));
	json_object_set_new(j, "time", json_string(stamp));
	json_object_set_new(j, "kernel", json_string(r->where.kernel));
	json_object_set_new(j, "driver", json_string(r->where.driver));
	json_object_set_new(j, "text", json_string(ledger_text(a, w)));
	return j;
}
