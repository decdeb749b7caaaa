/* SPDX-License-Identifier: Apache-2.0 */
/* Hostfiles of Open MPI and DeepSpeed: "HOST slots=N". */
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "models/generate/lint.h"

static void judge_slots(struct lint *l, const char *host, const char *line_text, unsigned line)
{
	const char *slots = strstr(line_text, "slots=");
	unsigned long long n;
	const char *digits;

	if (!slots) {
		lint_add(l, LINT_WARNING, "hostfile-slots", line, host, "HOST slots=GPUS", NULL,
			 "without slots= Open MPI counts cores, and DeepSpeed refuses the line");
		return;
	}
	digits = arena_strndup(l->a, slots + 6, strcspn(slots + 6, " \t#"));
	if (parse_u64(digits, &n) || n == 0 || n > 1024)
		lint_add(l, LINT_ERROR, "hostfile-slots", line, host, "slots=GPUS", NULL,
			 "slots=%.20s is no number of processes", digits);
	else if (l->on->node && l->on->node->gpus && n != l->on->node->gpus)
		lint_add(l, LINT_WARNING, "hostfile-slots", line, host, NULL, NULL,
			 "slots=%llu, and a machine like this one has %zu GPU%s", n,
			 l->on->node->gpus, l->on->node->gpus == 1 ? "" : "s");
}

void lint_hostfile(struct lint *l, const char *text, size_t len)
{
	struct map seen = { 0 };
	unsigned line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at, trimmed;
		const char *s = str_trim(text + at, n, &trimmed), *own, *host;
		void **place;

		at += n + 1;
		own = arena_strndup(l->a, s, trimmed);
		if (!*own || *own == '#')
			continue;
		host = arena_strndup(l->a, own, strcspn(own, " \t#"));
		l->hosts++;
		if (!gen_name_sound(host))
			lint_add(l, LINT_ERROR, "hostfile-name", line, host, NULL, NULL,
				 "\"%.60s\" is no name of a machine", host);
		place = map_at(l->a, &seen, host);
		if (*place)
			lint_add(l, LINT_ERROR, "hostfile-twice", line, host, "one line a machine",
				 NULL, "%.60s stands in this file twice: ranks would share GPUs",
				 host);
		*place = l;
		judge_slots(l, host, own, line);
	}
}
