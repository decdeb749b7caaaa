/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule on this machine's own noise: trials in which both sides of every pair are the same, and
 * trials in which one side has a little more to do. What is timed is a chain of additions over a
 * block of memory, while the machine does whatever else it does.
 * Use: prove_real [TRIALS [SEED]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/stat.h"
#include "measure/prove/rule.h"

enum { WORDS = 1 << 15, ROUNDS = 20 };

/* Seconds for n percent of the work. */
static double window(volatile unsigned *block, unsigned percent)
{
	long long from = clock_mono_ns();

	for (unsigned r = 0; r < ROUNDS; r++)
		for (unsigned i = 0; i < WORDS * percent / 100; i++)
			block[i % WORDS] += i;
	return (double)(clock_mono_ns() - from) * 1e-9;
}

static struct ruling trial(volatile unsigned *block, unsigned percent, unsigned long long seed)
{
	double d[RULE_PAIRS_MAX];
	struct ruling out;
	struct rule rule;
	size_t n = 0;

	rule_default(&rule, 0.001);
	do {
		for (size_t next = rule_next(&rule, n); n < next; n++) {
			bool b_first = order_b_first(seed, n);
			double first = window(block, b_first ? 100 : percent),
			       second = window(block, b_first ? percent : 100);

			d[n] = b_first ? log(second / first) : log(first / second);
		}
		rule_look(&rule, d, n, !rule_next(&rule, n), &out);
	} while (out.kind == RULING_GO_ON);
	return out;
}

int main(int argc, char **argv)
{
	static const unsigned work[] = { 100, 102, 105 };
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 20261121;
	volatile unsigned *block = calloc(WORDS, sizeof(*block));

	if (!n || !block)
		return 2;
	printf("%zu trials each, seed %llu, 0.1 %% matters\n\n| work of the other side | helps | "
	       "hurts | "
	       "no difference | undecided | median width of the interval | mean pairs |\n"
	       "|---|---|---|---|---|---|---|\n",
	       n, seed);
	for (size_t k = 0; k < sizeof(work) / sizeof(work[0]); k++) {
		size_t count[RULING_UNDECIDED + 1] = { 0 };
		double pairs = 0, *width = calloc(n, sizeof(*width));

		for (size_t i = 0; i < n && width; i++) {
			struct ruling r = trial(block, work[k], seed + 1000 * k + i);

			count[r.kind]++;
			pairs += (double)r.pairs / (double)n;
			width[i] = r.high - r.low;
		}
		printf("| %u %% | %zu | %zu | %zu | %zu | %.2f %% | %.0f |\n", work[k],
		       count[RULING_HELPS], count[RULING_HURTS], count[RULING_NO_DIFFERENCE],
		       count[RULING_UNDECIDED], width ? 100 * stat_median_in_place(width, n) : 0,
		       pairs);
		free(width);
	}
	free((void *)block);
	return 0;
}
