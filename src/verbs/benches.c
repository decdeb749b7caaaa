/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of verbs that measure: GPUs and CPUs, files, peers, pairs; and reading kept results. */
#include "verbs/benches.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/bench/bench_json.h"
#include "measure/prove/rule.h"

/* --- what is asked ---------------------------------------------------------------------------- */

/* Indices, ranges of them and (the beginnings of) UUIDs: whether there is such a GPU is the bench's
 * to say, and a bench without GPUs never asks. */
static int gpus_check(const char *list, struct err *e)
{
	struct arena a = { 0 };
	struct idset set;
	bool some = false, bad = false;

	for (const char *at = list; *at;) {
		size_t n = strcspn(at, ",");
		const char *word = arena_strndup(&a, at, n);

		some = some || n;
		bad = bad || (isdigit((unsigned char)*word) && n < 8
				      ? idset_parse(&a, word, &set) != 0
				      : n && (n < 8 || word[strcspn(word, " \t")]));
		at += n + (at[n] == ',');
	}
	arena_free(&a);
	if (some && !bad)
		return 0;
	return err_set(e, -EINVAL, "expected indices or UUIDs like 0-3, got \"%s\"", list);
}

int cpus_check(const char *list, struct err *e)
{
	ARENA_AUTO a = { 0 };
	struct idset allowed = bench_allowed(&a), asked;
	int code = 0;

	if (idset_parse(&a, list, &asked) || !idset_count(&asked))
		code = err_set(e, -EINVAL, "expected a list like 0-3,8, got \"%s\"", list);
	else if (!idset_contains(&allowed, &asked))
		code = err_set(e, -EINVAL, "cannot run on %s: this process may run only on %s",
			       list, idset_format(&a, &allowed));
	return code;
}

struct idset door_cpus(struct door *d, const char *list)
{
	struct idset out;

	if (!list || idset_parse(d->arena, list, &out))
		out = bench_allowed(d->arena);
	return out;
}

const char *bench_proposal(size_t i)
{
	return i < bench_count ? benches[i]->name : NULL;
}

static int place_check(const char *path, struct err *e)
{
	return access(path, F_OK) == 0 ? 0 : err_set(e, -errno, "%s: %s", path, strerror(errno));
}

static const struct ask_row bench_ask_rows[] = {
	{ "gpus", "run only on these GPUs (0-3), or on one MIG slice (its UUID)",
	  ASK_TEXT(bench_ask, gpus), .arg = "LIST", .check = gpus_check },
	{ "dir", "disk: folder for the test file", ASK_TEXT(bench_ask, dir), .arg = "DIR",
	  .files = true, .check = place_check },
	{ "files", "model-load: read this file, or the files in this folder",
	  ASK_TEXT(bench_ask, files), .arg = "PATH", .files = true, .check = place_check },
};
const struct ask_shape bench_ask_shape = ASK_SHAPE(bench_ask, "Measurement", bench_ask_rows);

static const struct ask_row bench_peer_rows[] = {
	{ "peer",
	  "tcp, rdma: the machine that runs \"bench serve\"; collectives: the address of rank 0",
	  ASK_TEXT(bench_ask, peer), .arg = "HOST[:PORT]" },
	{ "token", "the file with the secret that both machines share", ASK_TEXT(bench_ask, token),
	  .arg = "FILE", .files = true },
};
const struct ask_shape bench_peer_shape = ASK_SHAPE(bench_ask, "Measurement", bench_peer_rows);

static int seed_check(const char *text, struct err *e)
{
	unsigned long long v;

	if (parse_u64(text, &v) == 0 && v)
		return 0;
	return err_set(e, -EINVAL, "expected a whole number above 0, got \"%s\"", text);
}

static const struct ask_row pairs_ask_rows[] = {
	{ "for", "time for each case: 10s, 500ms, 2m", ASK_TIME(pairs_ask, seconds) },
	{ "min-effect", "smallest effect that counts as a difference",
	  ASK_SHARE(pairs_ask, min_effect, 0.0001, 1), .fallback = "1%" },
	{ "time-limit", "time limit (default: 10m; 2h for many settings)",
	  ASK_TIME(pairs_ask, budget_s) },
	{ "timeout", "time limit for one run of the workload", ASK_TIME(pairs_ask, limit_s),
	  .fallback = "10m" },
	{ "seed", "repeat the order of an earlier A/B test (default: random)",
	  ASK_TEXT(pairs_ask, seed), .arg = "N", .check = seed_check },
};
const struct ask_shape pairs_ask_shape = ASK_SHAPE(pairs_ask, "Measurement", pairs_ask_rows);

uint64_t pairs_seed(const struct pairs_ask *ask)
{
	unsigned long long v;

	return ask->seed && parse_u64(ask->seed, &v) == 0 ? v : order_seed();
}

/* --- what is kept ----------------------------------------------------------------------------- */

int door_bench(struct door *d, struct host *h, const struct state_ask *state, const char *name,
	       struct record *out, const char **text)
{
	const char *path = name;
	struct err e = { 0 };
	const struct store_where where = door_where(d, state);
	char here[PATH_MAX], *got = NULL;
	int code;

	if (name[0] != '/' && getcwd(here, sizeof(here)))
		path = arena_printf(d->arena, "%s/%s", here, name);
	code = host_read(h, path, BENCH_FILE_MAX, d->arena, &got, NULL);
	if (code == -ENOENT && store_id_valid(name) && !str_ends(name, ".json"))
		code = store_get(d->arena, h, &where, name, &got, &e);
	else if (code)
		err_set(&e, code, "%s: cannot read: %s; see \"gputune bench list\"", path,
			strerror(-code));
	if (code == 0)
		code = bench_from_json(d->arena, name, got, out, &e);
	if (code)
		return door_fail(d, EXIT_USAGE, &e);
	if (text)
		*text = got;
	return 0;
}
