/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of docs/design/PROOF.md: how often each rule is wrong about a setting that does
 * nothing, how often it finds one that does something, and what that costs. Use: prove_rules
 * [TRIALS [SEED]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rules.h"

struct count {
	size_t kind[RULING_UNDECIDED + 1];
	double windows; /* of all trials */
};

static struct count trials(const struct candidate *c, enum scene_kind kind, double noise,
			   double effect, double min_effect, size_t n, unsigned long long seed)
{
	struct count out = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct scene s;
		struct trial t;

		scene_start(&s, kind, noise, seed + i);
		t = c->run(&s, log1p(effect), min_effect, ~seed - i);
		out.kind[t.kind]++;
		out.windows += (double)t.windows;
	}
	return out;
}

static void errors(size_t n, unsigned long long seed)
{
	printf("Wrong verdicts (helps or hurts) in 100 for a setting that does nothing; 3 %% "
	       "noise,\n"
	       "what matters set to 0.1 %% so that it excuses nothing; %zu trials, seed %llu.\n\n| "
	       "rule |",
	       n, seed);
	for (int k = 0; k < SCENES; k++)
		printf(" %s |", scene_name((enum scene_kind)k));
	printf("\n|---|");
	for (int k = 0; k < SCENES; k++)
		printf("---|");
	for (size_t i = 0; i < candidate_count; i++) {
		printf("\n| %s |", candidates[i].name);
		for (int k = 0; k < SCENES; k++) {
			struct count c = trials(&candidates[i], (enum scene_kind)k, 0.03, 0, 0.001,
						n, seed + (unsigned long long)k * 1000003);

			printf(" %.1f |",
			       100.0 * (double)(c.kind[RULING_HELPS] + c.kind[RULING_HURTS]) /
				       (double)n);
			fflush(stdout);
		}
	}
	printf("\n\n");
}

static void power(enum scene_kind scene, double noise, size_t n, unsigned long long seed)
{
	static const double effects[] = { 0, 0.005, 0.01, 0.02, 0.05 };

	printf("\"Helps\" in 100 (mean windows), scene \"%s\", noise %.1f %%, 1 %% matters:\n\n"
	       "| rule | 0 | +0.5 %% | +1 %% | +2 %% | +5 %% |\n|---|---|---|---|---|---|",
	       scene_name(scene), 100 * noise);
	for (size_t i = 0; i < candidate_count; i++) {
		printf("\n| %s |", candidates[i].name);
		for (size_t k = 0; k < sizeof(effects) / sizeof(effects[0]); k++) {
			struct count c = trials(&candidates[i], scene, noise, effects[k], 0.01, n,
						seed + k * 7919);

			printf(" %.1f (%.0f) |", 100.0 * (double)c.kind[RULING_HELPS] / (double)n,
			       c.windows / (double)n);
			fflush(stdout);
		}
	}
	printf("\n\n");
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
	unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 20261121;

	if (!n)
		return 2;
	errors(n, seed);
	for (size_t i = 0; i < 3; i++)
		power(SCENE_QUIET, (double[]){ 0.003, 0.01, 0.03 }[i], n, seed);
	power(SCENE_SKEWED, 0.01, n, seed);
	power(SCENE_STATES, 0.01, n, seed);
	power(SCENE_WANDER, 0.03, n, seed);
	power(SCENE_RESTART, 0.01, n, seed);
	return 0;
}
