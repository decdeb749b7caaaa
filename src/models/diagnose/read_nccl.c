/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL says of itself under NCCL_DEBUG=INFO (2.4 to 2.28): version, network, devices, ways
 * between ranks, channels, algorithms, variables that were set. It says it once a rank and channel:
 * each thing is kept once a file, where it stands first.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { VALUE_MOST = 200 };

/* Up to one of ends, without blanks at its end. */
static const char *upto(const char *s, const char *ends, char *buf)
{
	size_t n = strcspn(s, ends);

	n = n < VALUE_MOST ? n : VALUE_MOST - 1;
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	memcpy(buf, s, n);
	buf[n] = '\0';
	return buf;
}

/* "NCCL_IB_DISABLE set by environment to 1.", and of a file or of a plugin; since 2.28 some are
 * "set to" alone, as other things are that are no variables. */
static bool nccl_variable(struct log *l, const char *s)
{
	static const char *const words[] = { " set by environment to ", " set to " };
	const char *at = strstr(s, words[0]), *name;
	char buf[2 * VALUE_MOST], value[VALUE_MOST];
	bool bare = !at;
	size_t n;

	if (bare)
		at = strstr(s, words[1]);
	if (!at)
		return false;
	for (name = at; name > s && (isalnum((unsigned char)name[-1]) || name[-1] == '_');)
		name--;
	if (name == at || (bare && !str_starts(name, "NCCL_")))
		return false;
	upto(at + strlen(words[bare]), "", value);
	n = strlen(value);
	if (n && value[n - 1] == '.')
		value[n - 1] = '\0';
	snprintf(buf, sizeof(buf), "%.*s=%s", (int)(at - name < VALUE_MOST ? at - name : 0), name,
		 value);
	log_trait_once(l, TRAIT_VARIABLE, buf, (double)NAN);
	return true;
}

/* "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>" */
static bool devices(struct log *l, const char *s)
{
	const char *at = strstr(s, " : Using ["), *stop;
	/* A socket's has its address behind it, which is nobody's business. */
	const char *ends = strstr(s, "NET/Socket") ? " <;[:" : " <;[";
	char buf[VALUE_MOST];

	if (!at || !strstr(s, "NET/"))
		return false;
	stop = strchr(at, ';');
	for (at = strchr(at, '['); at && (!stop || at < stop); at = strchr(at + 1, '['))
		if (isdigit((unsigned char)at[1]) && strchr(at, ']'))
			log_trait_once(l, TRAIT_NCCL_DEVICE, upto(strchr(at, ']') + 1, ends, buf),
				       (double)NAN);
	return true;
}

/* "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "... [send] via NET/IB/0/GDRDMA"; a plugin's name
 * has blanks: "NET/AWS Libfabric/0/GDRDMA". */
static bool way(struct log *l, const char *s)
{
	const char *at = strstr(s, " via ");
	char buf[VALUE_MOST], *comm;

	if (!at || !strstr(s, "->"))
		return false;
	upto(at + 5, str_starts(at + 5, "NET/") ? "" : " ", buf);
	if ((comm = strstr(buf, " comm ")))
		*comm = '\0';
	if (!str_starts(buf, "P2P/") && !str_starts(buf, "SHM") && !str_starts(buf, "NET/") &&
	    !str_starts(buf, "direct") && !str_starts(buf, "COLLNET"))
		return false;
	log_trait_once(l, TRAIT_NCCL_TRANSPORT, buf, (double)NAN);
	return true;
}

/* "comm 0x1 rank 3 nranks 16 ... - Init COMPLETE", "comm 0x1 rank 0 nRanks 32 nNodes 4 ...",
 * "comm:0x2, nRanks:2, nNodes:1, coll channels:2", "24 coll channels, 16 nvls channels, ..." */
static bool nccl_sizes(struct log *l, const char *s)
{
	double ranks = read_after(s, " nranks "), nodes = read_after(s, "nNodes"), channels;
	const char *at = strstr(s, " coll channels"), *p = at;
	char buf[32];

	ranks = isnan(ranks) ? read_after(s, "nRanks") : ranks;
	if (ranks >= 1 && ranks < 1e7) {
		snprintf(buf, sizeof(buf), "%.0f", ranks);
		log_trait_once(l, TRAIT_WORLD_SIZE, buf, ranks);
	}
	if (nodes >= 1 && nodes < 1e7) {
		snprintf(buf, sizeof(buf), "%.0f", nodes);
		log_trait_once(l, TRAIT_NODES, buf, nodes);
	}
	while (p && p > s && isdigit((unsigned char)p[-1]))
		p--;
	channels = p && p < at ? read_number(p, NULL) : read_after(s, " coll channels:");
	if (channels >= 1 && channels < 1e4) {
		snprintf(buf, sizeof(buf), "%.0f", channels);
		log_trait_once(l, TRAIT_NCCL_CHANNELS, buf, channels);
	}
	return ranks >= 1 || nodes >= 1 || channels >= 1;
}

/* "AllReduce: 1048576 Bytes -> Algo 1 proto 2 time 12.3", since 2.24 "Algo RING proto LL". */
static bool algorithm(struct log *l, const char *s)
{
	static const char *const names[] = { "Tree",	     "Ring", "CollNetDirect",
					     "CollNetChain", "NVLS", "NVLSTree",
					     "PAT" };
	enum { ALGORITHMS = sizeof(names) / sizeof(names[0]) };
	const char *at = strstr(s, "-> Algo ");
	char buf[VALUE_MOST];
	double n;

	if (!at)
		return false;
	at += strlen("-> Algo ");
	n = read_number(at, NULL);
	if (read_rank(n, ALGORITHMS) < ALGORITHMS)
		log_trait_once(l, TRAIT_NCCL_ALGO, names[read_rank(n, 0)], n);
	else if (isnan(n))
		log_trait_once(l, TRAIT_NCCL_ALGO, upto(at, " ,", buf), (double)NAN);
	return true;
}

static bool nccl_plain(struct log *l, const char *s)
{
	static const struct {
		const char *words, *ends;
		enum trait_kind kind;
	} says[] = {
		{ "NCCL version ", " ", TRAIT_NCCL_VERSION },
		{ "Using network ", "", TRAIT_NCCL_NET },
		{ "NCCL WARN ", "", TRAIT_NCCL_WARNING },
	};
	char buf[VALUE_MOST];

	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		const char *at = strstr(s, says[i].words);

		if (!at)
			continue;
		at += strlen(says[i].words);
		if (says[i].kind == TRAIT_NCCL_VERSION && !isdigit((unsigned char)*at))
			continue;
		log_trait_once(l, says[i].kind, upto(at, says[i].ends, buf), (double)NAN);
		return true;
	}
	return false;
}

static bool line(struct log *l, const char *s)
{
	return way(l, s) || nccl_variable(l, s) || devices(l, s) || algorithm(l, s) ||
	       nccl_plain(l, s) || nccl_sizes(l, s);
}

static const char *const marks[] = { "NCCL INFO", "NCCL WARN", "NCCL version ", NULL };
const struct log_reader log_nccl = { .format = "NCCL log", .marks = marks, .line = line };

/*
 * Output of nccl-tests (2019 to 2025): its devices, and a row a size. Which columns there are, the
 * head of the table tells; they come twice, out of place and in place.
 */

/* "#       size         count      type   redop    root     time   algbw   busbw #wrong ..." */
static bool nccl_head(struct log *l, char **w, size_t n)
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

static void nccl_in_or_out_of_place(struct log *l, char **w, size_t n, int from, double bytes,
				    const char *name)
{
	static const enum figure_kind kinds[] = { FIGURE_COLLECTIVE_US, FIGURE_ALGBW_GBS,
						  FIGURE_BUSBW_GBS };
	const int columns[] = { l->table.time, l->table.algbw, l->table.busbw };
	int move = from - l->table.time, wrong = l->table.wrong + move;
	struct metric_sample f = read_seen(&l->at, FIGURE_BUSBW_GBS, 0);

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

static enum log_row nccl_row(struct log *l, const char *s)
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
	nccl_in_or_out_of_place(l, w, n, l->table.time, bytes, test_of(l));
	if (l->table.time2 > 0) {
		snprintf(name, sizeof(name), "%s, in place", test_of(l));
		nccl_in_or_out_of_place(l, w, n, l->table.time2, bytes, name);
	}
	return LOG_ROW;
}

/* "all_reduce_perf" out of a command line or "# Collective test starting: all_reduce_perf". */
static bool nccl_which(struct log *l, const char *s)
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
static bool nccl_device(struct log *l, const char *s)
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

static bool tests_line(struct log *l, const char *s)
{
	const char *p = s + strspn(s, "# ");
	char copy[1024], *w[LOG_CELLS];
	double v = read_after(s, "Avg bus bandwidth");

	if (!isnan(v)) {
		struct metric_sample f = read_seen(&l->at, FIGURE_BUSBW_GBS, v);
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
		return nccl_head(l, w, read_words(copy, " \t", w, LOG_CELLS));
	}
	return nccl_device(l, s) || (strstr(s, "_perf") && nccl_which(l, s));
}

static const char *const tests_marks[] = { " busbw ", "Avg bus bandwidth", " device ", "_perf",
					   NULL };
const struct log_reader log_nccl_tests = {
	.format = "nccl-tests output", .marks = tests_marks, .line = tests_line, .row = nccl_row
};
