/* SPDX-License-Identifier: Apache-2.0 */
/* How much may wait to be written to disk: two limits, each a ratio or a number of bytes. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Less than that lets nobody write: who says so means another unit. */
enum { LEAST_BYTES = 1 << 20 };

/* Numbers up to 100 are per cent of available memory, larger ones bytes. */
static const struct opinion dirty_limit[] = {
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "40",
	  "published as: better write coalescing; on 120 GiB it lets 48 GiB wait to be written",
	  "S0" },
};
static const struct opinion dirty_background[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_MOST, "10",
	  "writing starts early, so that the limit is rarely reached", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "10", "published unchanged from the kernel's default",
	  "S0" },
};

static bool want_dirty_limit(const struct question *q, struct opinion *o)
{
	bool unified = has_unified_memory(q->m);

	if (q->profile == PROFILE_PUBLISHED)
		return false;
	/* 4 GiB drain in about two seconds on one NVMe disk, and are what unified memory can spare.
	 */
	*o = (struct opinion){ .rel = WANT_AT_MOST,
			       .value = unified ? "4294967296" : "17179869184",
			       .because = unified ? "a writer that reaches the limit stalls until "
						    "the disk catches up, and CUDA cannot have "
						    "that memory"
						  : "a writer that reaches the limit stalls until "
						    "the disk catches up" };
	return true;
}

/* "20", "20 %", "16 GiB", "16384 MiB", "17179869184"; what is neither per cent nor a sensible
 * number of bytes may be mebibytes as well, and is not guessed. */
static const char *dirty_wish(struct arena *a, const char *text)
{
	unsigned long long bytes;
	long long percent;
	char number[40];
	size_t n = strspn(text, "0123456789");
	const char *unit = text + n + strspn(text + n, " ");

	snprintf(number, sizeof(number), "%.*s", (int)n, text);
	if (parse_i64(number, &percent))
		return NULL;
	if ((!*unit || strcmp(unit, "%") == 0) && percent <= 100)
		return arena_printf(a, "%lld", percent);
	/* parse_size knows "GiB" as "G". */
	if (*unit && (!strchr("KMGT", *unit) || (unit[1] && strcmp(unit + 1, "iB") != 0)))
		return NULL;
	if (parse_size(arena_printf(a, "%s%.1s", number, unit), &bytes) || bytes < LEAST_BYTES ||
	    bytes > LLONG_MAX)
		return NULL;
	return arena_printf(a, "%llu", bytes);
}

/* A limit as it is set: the ratio, or "NAME=BYTES" of its twin. False: neither can be read from
 * it. */
struct limit {
	long long ratio; /* -1: the bytes are in force */
	long long bytes; /* what the ratio comes to, -1 when that is not known */
};

static bool parse_limit(const struct question *q, struct limit *out)
{
	const char *twin = strchr(q->current.v, '=');
	long long available = fact_or(&q->m->memory.available_kb, -1) * 1024, n;

	if (parse_i64(twin ? twin + 1 : q->current.v, &n) || n < 0)
		return false;
	*out = (struct limit){ .ratio = twin ? -1 : n,
			       .bytes = twin		? n
					: available < 0 ? -1
							: available / 100 * n };
	return true;
}

static bool is_percent(const struct opinion *o, long long *n)
{
	return parse_i64(o->value, n) == 0 && *n >= 0 && *n <= 100;
}

static bool dirty_met(const struct question *q, const struct limit *have, long long want)
{
	struct opinion in_bytes = *q->wish;

	if (!is_percent(q->wish, &want))
		return opinion_met(q->wish, arena_printf(q->a, "%lld", have->bytes));
	if (have->ratio >= 0)
		return opinion_met(q->wish, arena_printf(q->a, "%lld", have->ratio));
	in_bytes.value = arena_printf(q->a, "%lld",
				      fact_or(&q->m->memory.available_kb, 0) * 1024 / 100 * want);
	return q->wish->rel != WANT_IS &&
	       opinion_met(&in_bytes, arena_printf(q->a, "%lld", have->bytes));
}

/*
 * The ratio and the byte count are one setting: writing one zeroes the other. What counts is how
 * much may be dirty before a writer has to wait, in bytes.
 */
static void dirty(const struct question *q, struct verdict *v)
{
	struct limit have;
	long long want;

	if (!has_wish(q, v))
		return;
	v->why = q->wish->because;
	if (!seen_ok(&q->current.f)) {
		verdict_unseen(q, v, &q->current.f, NULL);
		return;
	}
	if (!parse_limit(q, &have)) {
		verdict_unknown(v, CODE_ERROR, "neither per cent nor a number of bytes");
		return;
	}
	v->current = have.ratio < 0   ? arena_printf(q->a, "%lld MiB", have.bytes >> 20)
		     : have.bytes < 0 ? arena_printf(q->a, "%lld %%", have.ratio)
				      : arena_printf(q->a, "%lld %% = %lld MiB", have.ratio,
						     have.bytes >> 20);
	if (parse_i64(q->wish->value, &want)) {
		verdict_unknown(v, CODE_ERROR, "the profile names neither per cent nor bytes");
		return;
	}
	v->wanted = is_percent(q->wish, &want)
			    ? opinion_text(q->a, q->wish, "%")
			    : opinion_text(q->a,
					   &(struct opinion){ .rel = q->wish->rel,
							      .value = arena_printf(q->a, "%lld",
										    want >> 20) },
					   "MiB");
	/* Above the start of writing in the background, which may be zero. */
	if (have.ratio == 0 && strcmp(q->s->name, "vm.dirty_ratio") == 0)
		verdict_fail(
			v, v->wanted,
			"neither per cent nor bytes may wait to be written: every writer waits "
			"for the disk");
	else if (have.bytes < 0 && !is_percent(q->wish, &want))
		verdict_unseen(q, v, &q->m->memory.available_kb.f, NULL);
	else if (dirty_met(q, &have, want))
		verdict_pass(v, is_percent(q->wish, &want)
					? "as wanted"
					: "what may wait to be written is drained in seconds");
	else
		verdict_fail(v, v->wanted,
			     is_percent(q->wish, &want)
				     ? arena_printf(q->a, "is %s, wanted %s", v->current, v->wanted)
				     : arena_printf(q->a, "%lld GiB may wait to be written: %s",
						    have.bytes >> 30, q->wish->because));
}

/* Of what is available; at least 1, for 0 stops every writer. */
static long long percent_of(const struct question *q, long long bytes)
{
	long long one = fact_or(&q->m->memory.available_kb, 0) * 1024 / 100,
		  n = one > 0 ? bytes / one : 1;

	return n < 1 ? 1 : n > 100 ? 100 : n;
}

/* Whichever of the twins the wish is in; where both are zero the ratio, which alone can be put
 * back to that. */
static void aim_dirty(const struct question *q, struct aims *out)
{
	long long n;

	if (is_percent(q->wish, &n))
		aim_value(q, out, q->wish->value);
	else if (q->current.v && strcmp(q->current.v, "0") == 0 &&
		 parse_i64(q->wish->value, &n) == 0)
		aim_value(q, out, arena_printf(q->a, "%lld", percent_of(q, n)));
	else
		aim_knob(q, out,
			 (struct knob){ KNOB_SYSCTL,
					arena_printf(q->a, "%.*sbytes",
						     (int)(strlen(q->s->name) - strlen("ratio")),
						     q->s->name),
					"" },
			 q->wish->value);
}

#define SYSCTL_ROW .scope = SCOPE_HOST, .knob = KNOB_SYSCTL, .effect = EFFECT_NOW

static const struct setting rows[] = {
	{ .id = "memory.dirty-ratio",
	  .title = "Writeback limit",
	  SYSCTL_ROW,
	  .name = "vm.dirty_ratio",
	  .why = "How much may wait to be written before a writer must wait. vm.dirty_bytes "
		 "replaces it; writing one zeroes the "
		 "other. ZFS has its own limit.",
	  .note = "40 is published; of 120 GiB that is 48 GiB, 24 s of a 2 GB/s disk, and on "
		  "unified memory not available to "
		  "CUDA.",
	  .source = "S0; vm.rst",
	  .shown_by = "disk/write-seq:1MiB:buffered",
	  .settle_s = 1,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  OPINIONS(dirty_limit),
	  .want = want_dirty_limit,
	  .wish = dirty_wish,
	  .wish_form = "per cent (20) or bytes with their unit (4 GiB)",
	  .judge = dirty,
	  .aim = aim_dirty },
	{ .id = "memory.dirty-background-ratio",
	  .title = "Writeback start",
	  SYSCTL_ROW,
	  .name = "vm.dirty_background_ratio",
	  .why = "When writing starts in the background. 0 means that vm.dirty_background_bytes is "
		 "in force.",
	  .source = "S0; vm.rst",
	  .shown_by = "disk/write-seq:1MiB:buffered",
	  .settle_s = 1,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(dirty_background),
	  .wish = dirty_wish,
	  .wish_form = "per cent (20) or bytes with their unit (4 GiB)",
	  .judge = dirty,
	  .aim = aim_dirty },
};

const struct setting_table settings_memory_writeback = SETTING_TABLE(rows);
