/* SPDX-License-Identifier: Apache-2.0 */
/* gputune diagnose hang: why a job does not go on. */
#include "verbs/hang.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "measure/bench/net/socket.h"
#include "models/hang/hang.h"
#include "verbs/model_files.h"
#include "verbs/ranks.h"

enum { DUMP_BYTES_MAX = 64 << 20, BETWEEN_MS = 400, RAS_BYTES_MAX = 1 << 20 };

struct hang_ask {
	struct ask_texts what;
	struct ranks_ask ranks;
};

static const struct ask_row hang_ask_rows[] = {
	{ "PID|FILE",
	  "processes, with their children, and dumps of PyTorch's flight recorder (one per rank)",
	  ASK_TEXTS(hang_ask, what), .argument = true, .files = true },
	{ ASK_PART(hang_ask, ranks, ranks_ask) },
};

/* A process that is looked at twice. */
struct looked {
	struct stack_reader *reader;
	struct stack_process before, now;
};

struct hanging {
	struct door *d;
	struct looked *at;
	size_t n;
	struct hang_view *out;
};

static bool is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")] && strlen(word) < 10;
}

static int hang_dump(struct hanging *g, const char *path)
{
	struct hang_view *v = g->out;
	struct err e = { 0 };
	size_t len;
	char *data = door_file(g->d, path, DUMP_BYTES_MAX, &len, NULL);

	if (!data)
		return -EXIT_USAGE;
	v->dumps = arena_grow(g->d->arena, v->dumps, v->n_dumps, sizeof(*v->dumps));
	if (flight_read(g->d->arena, path, data, len, &v->dumps[v->n_dumps], &e) < 0)
		return door_fail(g->d, EXIT_USAGE, &e);
	v->n_dumps++;
	return 0;
}

static int hang_tree(struct hanging *g, const char *word)
{
	pid_t *pids = arena_array(g->d->arena, STACK_PROCESSES_MAX, sizeof(*pids));
	unsigned long long pid = 0;
	struct err e = { 0 };
	size_t n;

	if (parse_u64(word, &pid) || !pid)
		return door_refuse(g->d, EXIT_USAGE, "%s is not a process", word);
	n = stacks_tree((pid_t)pid, pids, STACK_PROCESSES_MAX);
	for (size_t i = 0; i < n; i++) {
		struct stack_reader *r = stacks_open(g->d->arena, pids[i], &e);

		if (!r && !i)
			return door_fail(g->d, EXIT_USAGE, &e);
		if (!r)
			continue;
		ARENA_ADD(g->d->arena, g->at, g->n) = (struct looked){ .reader = r };
	}
	return 0;
}

/* Helpers of a rank (workers of its loader) have its environment: they are no rank of their own. */
static void helpers_are_no_ranks(struct hanging *g)
{
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < i; k++)
			if (g->at[i].now.rank >= 0 && g->at[i].now.rank == g->at[k].now.rank)
				g->at[i].now.rank = -1;
}

static int hang_look(struct hanging *g)
{
	struct arena *a = g->d->arena;
	double began = clock_mono_s();
	int code;

	for (size_t i = 0; i < g->n; i++)
		stacks_read(g->at[i].reader, a, false, &g->at[i].before);
	code = g->n ? door_wait(g->d, clock_mono_ms() + BETWEEN_MS) : 0;
	for (size_t i = 0; i < g->n; i++) {
		stacks_read(g->at[i].reader, a, false, &g->at[i].now);
		g->at[i].now.nccl = stacks_nccl(g->at[i].reader);
	}
	helpers_are_no_ranks(g);
	g->out->processes = arena_array(a, g->n ? g->n : 1, sizeof(*g->out->processes));
	for (size_t i = 0; i < g->n; i++) {
		struct hang_process *p = &g->out->processes[g->out->n++];

		*p = (struct hang_process){ .at = g->at[i].now };
		hang_classify(a, &g->at[i].before, clock_mono_s() - began, p);
	}
	return code < 0 ? code : 0;
}

/* What the first process that has NCCL answers on its RAS port, if it does. */
static const char *ask_ras(struct hanging *g)
{
	static const char ask[] = "CLIENT PROTOCOL 2\nTIMEOUT 3\nVERBOSE STATUS\n";
	const char *at = NULL;
	struct err e = { 0 };

	for (size_t i = 0; i < g->n && !at; i++)
		if (g->at[i].now.nccl)
			at = g->at[i].now.ras ? g->at[i].now.ras : "localhost:28028";
	return at ? net_exchange(g->d->arena, at, 28028, ask, RAS_BYTES_MAX, &e) : NULL;
}

static int hang_answer(struct door *d, const struct hang_ask *ask, struct hang_view *out)
{
	struct hanging g = { .d = d, .out = out };
	int code = 0;

	if (!ask->what.n)
		return door_refuse(d, EXIT_USAGE,
				   "diagnose hang needs PID, or a FILE of the flight recorder");
	for (size_t i = 0; i < ask->what.n && !code; i++)
		code = is_pid(ask->what.items[i]) ? hang_tree(&g, ask->what.items[i])
						  : hang_dump(&g, ask->what.items[i]);
	code = code ? code : hang_look(&g);
	if (code)
		return code;
	out->ras = ask_ras(&g);
	hang_judge(d->arena, out);
	return strcmp(out->kind, "unknown") == 0  ? EXIT_BLIND
	       : strcmp(out->kind, "moving") == 0 ? EXIT_CLEAN
						  : EXIT_FINDINGS;
}

static struct doc *hang_page(struct arena *a, const struct hang_ask *ask, const struct hang_view *v,
			     const struct page_view *view)
{
	(void)ask;
	return page_hang(a, v, view->verbose);
}

VERB_ANSWER(hang_ask_any, hang_answer, hang_ask, hang_view)
VERB_PAGE(hang_page_any, hang_page, hang_ask, hang_view)
VERB_RANKS(hang_ranks, hang_ask, true)

const struct verb diagnose_hang_verb = {
	.name = "hang",
	.summary = "find why a job is stuck: which rank, in which operation",
	.about = "Reads Python stacks and system calls of a process and its children, without "
		 "stopping them, and dumps of PyTorch's flight recorder. Names the rank that the "
		 "others wait for, its line of code, the collective, and the kind of hang.",
	.exits = "0: the job makes progress; 1: a cause was found; 5: undecided",
	.examples = EXAMPLES(
		{ "diagnose hang 4242", "the job that this process started" },
		{ "diagnose hang nccl_trace_rank_0 nccl_trace_rank_1", "dumps of two ranks" }),
	.ask = ASK_OF(hang_ask, NULL, hang_ask_rows),
	.answer = hang_ask_any,
	.result = &hang_result,
	.page = hang_page_any,
	.ranks = hang_ranks,
	.own_process = true,
};
