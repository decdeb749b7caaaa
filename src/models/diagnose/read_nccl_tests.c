/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of nccl-tests (2019 to 2025): its devices, and a row a size. Which columns there are, the
 * head of the table tells; they come twice, out of place and in place.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

/* "#       size         count      type   redop    root     time   algbw   busbw #wrong ..." */
static bool head(struct log *l, char **w, size_t n)
{
	int *const at[] = { &l->table.time, &l->table.algbw, &l->table.busbw, &l->table.wrong };
	static const char *const names[] = { "time", "algbw", "busbw", "#wrong" };

	log_table(l, &log_nccl_tests);
	l->table.time2 = -1;
	for (size_t k = 0; k < 4; k++) {
		*at[k] = -1;
		for (size_t i = 0; i < n; i++) {
			if (strcmp(w[i], names[k]) != 0 && (k != 3 || strcmp(w[i], "error") != 0))
				continue;
			if (*at[k] < 0)
				*at[k] = (int)i;
			else if (k == 0 && l->table.time2 < 0)
				l->table.time2 = (int)i;
		}
	}
	l->table.columns = (unsigned)n;
	if (l->table.time < 0 || l->table.busbw < l->table.time || l->table.algbw < l->table.time)
		l->open = NULL;
	return l->open != NULL;
}

static void half(struct log *l, char **w, size_t n, int from, double bytes, const char *name)
{
	static const enum figure_kind kinds[] = { FIGURE_COLLECTIVE_US, FIGURE_ALGBW_GBS,
						  FIGURE_BUSBW_GBS };
	const int columns[] = { l->table.time, l->table.algbw, l->table.busbw };
	int move = from - l->table.time, wrong = l->table.wrong + move;
	struct figure_seen f = read_seen(&l->at, FIGURE_BUSBW_GBS, 0);

	f.at = bytes;
	f.step = -1;
	f.text = name;
	for (size_t i = 0; i < 3; i++) {
		int column = columns[i] + move;
		size_t c = column < 0 ? n : (size_t)column;

		f.kind = kinds[i];
		f.value = c < n ? read_number(w[c], NULL) : (double)NAN;
		evidence_figure(l->at.ev, f);
	}
	if (l->table.wrong > 0 && (size_t)wrong < n && isdigit((unsigned char)*w[wrong]) &&
	    read_number(w[wrong], NULL) >= 1 && l->table.columns > (unsigned)wrong)
		read_trait_count(&l->at, TRAIT_WRONG, read_number(w[wrong], NULL));
}

static const char *test_of(const struct log *l)
{
	return *l->test ? l->test : "collective";
}

static enum log_row row(struct log *l, const char *s)
{
	char copy[1024], *w[LOG_CELLS], name[96];
	const char *p = s + strspn(s, " ");
	size_t n;
	double bytes;

	if (!isdigit((unsigned char)*p) || strlen(s) >= sizeof(copy))
		return LOG_OTHER;
	strcpy(copy, s);
	n = read_words(copy, " \t", w, LOG_CELLS);
	/* "error" had a column of its own; without checks it says N/A. */
	if (n < l->table.columns || n > l->table.columns + 1)
		return LOG_OTHER;
	bytes = read_number(w[0], NULL);
	half(l, w, n, l->table.time, bytes, test_of(l));
	if (l->table.time2 > 0) {
		snprintf(name, sizeof(name), "%s, in place", test_of(l));
		half(l, w, n, l->table.time2, bytes, name);
	}
	return LOG_ROW;
}

/* "all_reduce_perf" out of a command line or "# Collective test starting: all_reduce_perf". */
static bool which(struct log *l, const char *s)
{
	static const char *const tests[] = { "all_reduce", "all_gather", "reduce_scatter",
					     "alltoall",   "broadcast",	 "sendrecv",
					     "hypercube",  "scatter",	 "gather",
					     "reduce" };

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		const char *at = strstr(s, tests[i]);

		if (!at || strncmp(at + strlen(tests[i]), "_perf", 5) != 0)
			continue;
		snprintf(l->test, sizeof(l->test), "%s", tests[i]);
		return true;
	}
	return false;
}

/* "#  Rank  0 Group  0 Pid 1234 on node1 device  0 [0x00] NVIDIA H200" */
static bool device(struct log *l, const char *s)
{
	double r = read_after(s, "Rank ");
	const char *name = strstr(s, " device "), *close = name ? strchr(name, ']') : NULL;

	if (!(r >= 0 && r <= 1e6) || !close || !strstr(s, " Pid "))
		return false;
	l->ranks = fmax(l->ranks, r + 1);
	l->at.rank = (int)r;
	if (close[1] == ' ' && close[2])
		read_trait(&l->at, TRAIT_GPU, close + 2 + strspn(close + 2, " "), (double)NAN);
	return true;
}

static bool line(struct log *l, const char *s)
{
	const char *p = s + strspn(s, "# ");
	char copy[1024], *w[LOG_CELLS];
	double v = read_after(s, "Avg bus bandwidth");

	if (!isnan(v)) {
		struct figure_seen f = read_seen(&l->at, FIGURE_BUSBW_GBS, v);
		char name[96];

		snprintf(name, sizeof(name), "%s, average of all rows", test_of(l));
		f.step = -1;
		f.text = name;
		evidence_figure(l->at.ev, f);
		return true;
	}
	if (strstr(s, "busbw") && strlen(p) < sizeof(copy)) {
		if (l->ranks > 0)
			read_trait_count(&l->at, TRAIT_WORLD_SIZE, l->ranks);
		strcpy(copy, p);
		return head(l, w, read_words(copy, " \t", w, LOG_CELLS));
	}
	return device(l, s) || (strstr(s, "_perf") && which(l, s));
}

static const char *const marks[] = { " busbw ", "Avg bus bandwidth", " device ", "_perf", NULL };
const struct log_reader log_nccl_tests = {
	.format = "nccl-tests output", .marks = marks, .line = line, .row = row
};
