/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several verbs read in the same way: times, shares, seeds, processors. */
#include <string.h>

#include "front/session.h"
#include "base/text.h"
#include "measure/prove/rule.h"
#include "measure/bench/bench.h"

int prove_time(const struct run *r, enum option_id o, double *out)
{
	const char *text = r->value[o];

	if (!text || parse_seconds(text, out) == 0)
		return 0;
	return complain_text(EXIT_USAGE, "--%s takes a time like 10s, not \"%s\"",
			     option_rows[o].name, text);
}

/* "1%", "0.5", "0.5 %": a share. */
int prove_min_effect(const struct run *r, double *out)
{
	const char *text = r->value[OPT_MIN_EFFECT];
	const char *end;
	double v;

	*out = 0.01;
	if (!text)
		return 0;
	if (parse_decimal(text, &v, &end) == 0) {
		end += strspn(end, " ");
		end += *end == '%';
		*out = v / 100;
	} else {
		end = text;
	}
	if (end == text || *end || !(v >= 0.01 && v <= 100))
		return complain_text(EXIT_USAGE, "--min-effect takes 0.01%% to 100%%, not \"%s\"",
				     text);
	return 0;
}

int prove_seed(const struct run *r, uint64_t *out)
{
	unsigned long long v;

	*out = 0;
	if (r->value[OPT_SEED] && (parse_u64(r->value[OPT_SEED], &v) || !v))
		return complain_text(EXIT_USAGE, "--seed takes a whole number above 0, not \"%s\"",
				     r->value[OPT_SEED]);
	*out = r->value[OPT_SEED] ? v : order_seed();
	return 0;
}

static int read_cpus(struct run *r, struct idset *out)
{
	const char *list = r->value[OPT_CPUS];
	struct idset allowed = bench_allowed(&r->arena), asked;

	*out = allowed;
	if (!list)
		return 0;
	if (idset_parse(&r->arena, list, &asked) || !idset_count(&asked))
		return complain_text(EXIT_USAGE, "--cpus takes a list like 0-3,8, not \"%s\"",
				     list);
	if (!idset_contains(&allowed, &asked))
		return complain_text(EXIT_USAGE, "--cpus %s: this process may only run on %s", list,
				     idset_format(&r->arena, &allowed));
	*out = asked;
	return 0;
}

int bench_asked(struct run *r, struct bench_ask *ask, struct idset *cpus)
{
	*ask = (struct bench_ask){ .dir = r->value[OPT_DIR],
				   .files = r->value[OPT_FILES],
				   .peer = r->value[OPT_PEER],
				   .token = r->value[OPT_TOKEN],
				   .gpus = r->value[OPT_GPUS] };
	return read_cpus(r, cpus);
}
