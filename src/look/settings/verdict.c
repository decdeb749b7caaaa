/* SPDX-License-Identifier: Apache-2.0 */
/* How rules speak: the four verdicts, and what an unseen fact means. */
#include "base/err.h"
#include "look/settings/settings.h"

void verdict_pass(struct verdict *v, const char *reason)
{
	v->kind = VERDICT_PASS;
	v->code = CODE_OK;
	v->reason = reason;
}

void verdict_fail(struct verdict *v, const char *wanted, const char *reason)
{
	v->kind = VERDICT_FAIL;
	v->code = CODE_DIFFERS;
	v->wanted = wanted;
	v->reason = reason;
}

void verdict_na(struct verdict *v, const char *code, const char *reason)
{
	v->kind = VERDICT_NA;
	v->code = code;
	v->reason = reason;
}

void verdict_unknown(struct verdict *v, const char *code, const char *reason)
{
	v->kind = VERDICT_UNKNOWN;
	v->code = code;
	v->reason = reason;
}

void verdict_unseen(const struct question *q, struct verdict *v, const struct fact *f,
		    const char *absent_reason)
{
	const char *from = fact_from(q->a, f);

	switch (f->seen) {
	case SEEN_ABSENT:
	case SEEN_UNSUPPORTED:
		verdict_na(v, CODE_NO_SUPPORT,
			   absent_reason
				   ? absent_reason
				   : arena_printf(q->a, "this machine does not have it (%s: %s)",
						  from, errno_name(f->err)));
		return;
	case SEEN_DENIED:
		verdict_unknown(v, CODE_DENIED,
				arena_printf(q->a, "%s may only be read by root (%s)", from,
					     errno_name(f->err)));
		return;
	case SEEN_ERROR:
		verdict_unknown(
			v, CODE_ERROR,
			arena_printf(q->a, "%s could not be read (%s)", from, errno_name(f->err)));
		return;
	default:
		/* Asked of a capture that does not know, against not asked at all because it is
		 * slow. */
		if (*from)
			verdict_unknown(v, CODE_NOT_CAPTURED,
					arena_printf(q->a, "the capture does not hold %s", from));
		else
			verdict_na(v, CODE_NEEDS_DEEP,
				   "not asked, because it takes time: --deep asks");
		return;
	}
}
