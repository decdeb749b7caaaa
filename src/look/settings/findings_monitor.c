/* SPDX-License-Identifier: Apache-2.0 */
/* One line and a code: what Nagios and node-problem-detector read. */
#include "look/settings/findings_monitor.h"

#include <string.h>

#include "base/text.h"

enum { NAMES = 8 };

/* What makes a machine unfit: a failed health check of high severity or worse. */
static bool finding_unfit(const struct finding *f)
{
	return f->v.kind == VERDICT_FAIL && f->s->health && f->s->severity >= SEVERITY_HIGH;
}

const char *findings_unfit(struct arena *a, const struct findings *f, bool any)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];

		if (it->v.kind != VERDICT_FAIL || (!any && !finding_unfit(it)))
			continue;
		text_printf(&t, "%s%s", t.len ? "; " : "", it->s->id);
		if (*it->target)
			text_printf(&t, " (%s)", it->target);
		text_printf(&t, ": %s", it->v.reason);
	}
	return t.len ? arena_strdup(a, t.s) : NULL;
}

/* The line ends at '|' and at a line break. */
static void word(FILE *out, const char *s)
{
	for (; *s; s++)
		fputc((unsigned char)*s < ' ' || *s == '|' ? ' ' : *s, out);
}

static void names(FILE *out, const struct findings *f, enum verdict_kind kind, bool unfit)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];

		if (it->v.kind != kind || (unfit && !finding_unfit(it)))
			continue;
		if (n++ < NAMES) {
			fputs(n == 1 ? ": " : ", ", out);
			word(out, it->s->id);
			if (*it->target) {
				fputc(' ', out);
				word(out, it->target);
			}
		}
	}
	if (n > NAMES)
		fprintf(out, " and %zu more", n - NAMES);
}

static size_t count_unfit(const struct findings *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += finding_unfit(&f->items[i]);
	return n;
}

int findings_nagios(FILE *out, const struct findings *f)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	size_t unfit = count_unfit(f), fail = f->count[VERDICT_FAIL],
	       unknown = f->count[VERDICT_UNKNOWN];
	int code = unfit ? 2 : fail ? 1 : unknown || f->score < 0 ? 3 : 0;

	fprintf(out, "GPUTUNE %s - ", words[code]);
	if (unfit) {
		fprintf(out, "%zu of the machine's health", unfit);
		names(out, f, VERDICT_FAIL, true);
	} else if (fail) {
		fprintf(out, "%zu not as wanted", fail);
		names(out, f, VERDICT_FAIL, false);
	} else if (unknown) {
		fprintf(out, "%zu could not be seen", unknown);
		names(out, f, VERDICT_UNKNOWN, false);
	} else if (f->score < 0) {
		fputs("nothing could be judged", out);
	} else {
		fprintf(out, "%zu settings as wanted", f->count[VERDICT_PASS]);
	}
	fprintf(out, " | unfit=%zu;;0;0 fail=%zu;0;;0 unknown=%zu;;;0 pass=%zu;;;0 na=%zu;;;0",
		unfit, fail, unknown, f->count[VERDICT_PASS], f->count[VERDICT_NA]);
	if (f->score >= 0)
		fprintf(out, " score=%d%%;;;0;100", f->score);
	fputc('\n', out);
	return code;
}

int findings_npd(FILE *out, const struct findings *f)
{
	size_t unfit = count_unfit(f);

	if (unfit) {
		fprintf(out, "%zu unhealthy", unfit);
		names(out, f, VERDICT_FAIL, true);
		fputc('\n', out);
		return 1;
	}
	if (f->score < 0) {
		fputs("nothing could be judged\n", out);
		return 2;
	}
	fputs("healthy\n", out);
	return 0;
}
