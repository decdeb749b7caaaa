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
static bool variable(struct log *l, const char *s)
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
static bool sizes(struct log *l, const char *s)
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

static bool plain(struct log *l, const char *s)
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
	return way(l, s) || variable(l, s) || devices(l, s) || algorithm(l, s) || plain(l, s) ||
	       sizes(l, s);
}

static const char *const marks[] = { "NCCL INFO", "NCCL WARN", "NCCL version ", NULL };
const struct log_reader log_nccl = { .format = "NCCL log", .marks = marks, .line = line };
