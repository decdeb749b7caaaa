/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text where a small parser stands: outputs of programs, lines of logs, words of the command
 * line, lists of numbers, and what a capture has redacted. The first byte says which. What is taken
 * is within its bounds; what is written and read again is the same.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/clock.h"
#include "base/text.h"
#include "measure/bench/net/socket.h"
#include "machine/host/ranks.h"
#include "many/cluster/address.h"
#include "many/cluster/node.h"
#include "machine/cuda/nccl.h"
#include "machine/host/ask.h"
#include "machine/host/nvml.h"
#include "machine/host/record.h"
#include "tune/persist/netplan.h"
#include "models/inference/gpu.h"
#include "measure/prove/window.h"
#include "look/stack/fatbin.h"
#include "tune/watch/policy.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void netplan(struct arena *a, const char *s)
{
	const char *section = NULL, *id = netplan_find(a, s, "eth0", "aa:bb:cc:dd:ee:ff", &section);

	if (id && !section)
		abort();
	if (id) {
		netplan_value(a, s, section, id, "mtu");
		netplan_is_by_address(a, s, section, id);
	}
	networkd_matches(a, s, "eth0", "aa:bb:cc:dd:ee:ff");
}

static void outputs(struct arena *a, const char *s)
{
	struct nccl_paths paths = { 0 };
	unsigned max = 0, level = 0;
	long long v;
	bool all;

	mlxconfig_parse(s, "LINK_TYPE_P1", &v);
	boost_parse(s, &max, &level);
	nvpmodel_parse(s, &v);
	jetson_clocks_parse(s, &all);
	nccl_log_parse(s, &paths);
	if (strlen(paths.via) >= sizeof(paths.via) ||
	    strlen(paths.algorithm) >= sizeof(paths.algorithm))
		abort();
	if (!xid_summary(a, s, "0000:a3:00.0", 1000))
		abort();
	if (sxid_count(s, "Fatal") < 0)
		abort();
}

static void sets(struct arena *a, const char *s)
{
	struct idset x = { 0 }, y = { 0 };
	const char *again;

	if (idset_parse(a, s, &x))
		return;
	for (size_t i = 0; i < x.n; i++)
		if (x.r[i].lo > x.r[i].hi || x.r[i].hi > IDSET_MAX ||
		    (i && x.r[i].lo <= x.r[i - 1].hi))
			abort();
	again = idset_format(a, &x);
	if (idset_parse(a, again, &y) || !idset_equal(&x, &y))
		abort();
}

static void numbers(struct arena *a, const char *s)
{
	struct cluster_prefix prefix;
	char stamp[STAMP_SIZE];
	unsigned long long u;
	struct ipv4 ip;
	long long v;

	parse_i64(s, &v);
	parse_u64(s, &u);
	parse_hex(s, &u);
	parse_size(s, &u);
	if (stamp_parse(s, &v) == 0 && (stamp_format(v, stamp) || strcmp(stamp, s) != 0))
		abort();
	if (ipv4_parse(s, &ip) == 0 && (ip.bits > 32 || !*ipv4_text(a, ip)))
		abort();
	cluster_prefix_parse(s, &prefix);
}

struct environment {
	struct arena *a;
	const char *s;
};

/* Lines "NAME=VALUE" as an environment. */
static const char *get(void *ctx, const char *name)
{
	const struct environment *env = ctx;
	size_t n = strlen(name);

	for (const char *line = env->s; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, n) == 0 && line[n] == '=')
			return arena_strndup(env->a, line + n + 1, strcspn(line + n + 1, "\n"));
	}
	return NULL;
}

static void words(struct arena *a, const char *s)
{
	struct environment env = { a, s };
	struct net_address address;
	struct target_hw place = { 0 };
	struct ranks ranks = { 0 };
	struct err e = { 0 };
	char **argv;
	unsigned sm;

	if (words_split(a, s, &argv, &e) == 0 && !argv)
		abort();
	if (place_parse(a, NULL, s, &place, &e) == 0 && (!place.gpu || place.gpus < 1))
		abort();
	gpu_target_parse(s, &sm, &e);
	net_address_parse(s, true, &address, &e);
	if (ranks_from_environment(a, get, &env, &ranks, &e) == 0 && ranks.ranks &&
	    ranks.rank >= ranks.ranks)
		abort();
	ranks_host(a, s, 1);
}

/* The first line is the pattern, the rest what a program printed. */
static void metric(struct arena *a, const char *s)
{
	const char *nl = strchr(s, '\n');
	struct metric *m = NULL;
	struct err e = { 0 };
	double v;

	if (!nl || nl - s > 200 || metric_parse(a, arena_strndup(a, s, (size_t)(nl - s)), &m, &e))
		return;
	if (!metric_is_wall(m) && metric_find(m, nl + 1, &v, &e) == 0 && !isfinite(v))
		abort();
	metric_free(m);
}

static void redact(struct arena *a, char *s, size_t n)
{
	struct redactor r = { .arena = a, .nodename = "box-17" };
	size_t len = n;

	if (!redact_text(&r, s, &len) || !redact_addresses(&r, s))
		abort();
	redact_serial(&r, s, strlen(s));
	redact_config_space((unsigned char *)s, n);
}

static void nvml(const char *s)
{
	static const struct nvml_args *const all[] = { &nvml_args_clock,  &nvml_args_threshold,
						       &nvml_args_sensor, &nvml_args_ecc,
						       &nvml_args_link,	  &nvml_args_link_error,
						       &nvml_args_p2p };
	unsigned arg;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		nvml_args_parse(all[i], s, strlen(s), &arg);
}

static void csv(struct arena *a, const char *s)
{
	const char *field[8];
	size_t n, records = 0;

	for (const char *at = s; at && *at && records++ < 4096;) {
		const char *next = csv_record(a, at, field, 8, &n);

		if (next && (next <= at || n > 8))
			abort();
		at = next;
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	char *s;

	if (!size)
		return 0;
	/* Of its own size: a byte too far is seen. */
	s = malloc(size);
	if (!s)
		abort();
	memcpy(s, data + 1, size - 1);
	s[size - 1] = '\0';
	switch (*data) {
	case 'p':
		netplan(&a, s);
		break;
	case 'o':
		outputs(&a, s);
		break;
	case 's':
		sets(&a, s);
		break;
	case 'n':
		numbers(&a, s);
		break;
	case 'w':
		words(&a, s);
		break;
	case 'm':
		metric(&a, s);
		break;
	case 'r':
		redact(&a, s, size - 1);
		break;
	case 'v':
		nvml(s);
		break;
	case 'c':
		csv(&a, s);
		break;
	case 'u':
		if (!utf8_clean(&a, s))
			abort();
		break;
	default:
		break;
	}
	free(s);
	arena_free(&a);
	return 0;
}
