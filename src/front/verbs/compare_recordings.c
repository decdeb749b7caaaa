/* SPDX-License-Identifier: Apache-2.0 */
/* gputune compare A B of two recordings. */
#include "front/verbs/compare_recordings.h"

#include <string.h>
#include <time.h>

#include "front/verbs/page.h"
#include "front/verbs/report.h"
#include "look/monitor/page_contrast.h"

enum which { NEITHER, ONE, BOTH };

static enum which which(const struct run *r)
{
	int n = report_is_recording(r->args[0]) + report_is_recording(r->args[1]);

	return n == 2 ? BOTH : n == 1 ? ONE : NEITHER;
}

bool compare_are_recordings(struct run *r, int *code)
{
	const char *format = r->value[OPT_FORMAT];
	enum which n = which(r);
	struct err e = { 0 };
	struct contrast v;

	if (n == NEITHER)
		return false;
	if (n == ONE) {
		*code = complain_text(EXIT_USAGE, "one is a recording and the other is not: they "
						  "have nothing in common");
		return true;
	}
	if (contrast_read(&r->arena, r->args[0], r->args[1], &v, &e)) {
		*code = complain(EXIT_USAGE, &e);
		return true;
	}
	*code = v.n == v.count[CONTRAST_CANNOT] ? EXIT_BLIND : EXIT_CLEAN;
	if (r->value[OPT_QUIET])
		return true;
	if (format && strcmp(format, "json") == 0) {
		run_print_json(r, contrast_json(&v, (long long)time(NULL), *code));
	} else {
		int failed = run_print_doc(r, page_contrast(&r->arena, &v), "gputune compare");

		*code = failed ? failed : *code;
	}
	return true;
}
