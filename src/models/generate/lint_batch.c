/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slurm's directives and PyTorch's launcher in one script: directives that come too late, and
 * numbers of machines and processes that do not go together.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "models/generate/lint.h"

/* 0: not told. */
struct batch {
	long long nodes, tasks, gpus; /* of #SBATCH */
	unsigned line_nodes, line_tasks;
	long long nnodes, per_node; /* of torchrun; per_node -1: as many as there are GPUs */
	unsigned line_torchrun;
	bool launched; /* torchrun is there: on a command line it has no line */
};

/* The value of "--name=VALUE" or of "--name VALUE"; NULL: it is another option. "_" is "-". */
static const char *value_of(const struct lint_word *w, size_t n, const char *name)
{
	const char *s = w->text;
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if ((s[i] == '_' ? '-' : s[i]) != name[i])
			return NULL;
	if (s[len] == '=')
		return s + len + 1;
	return !s[len] && n > 1 && !w[1].end ? w[1].text : NULL;
}

static bool number(const char *s, long long *out)
{
	return s && parse_i64(s, out) == 0 && *out > 0;
}

/* "h100:8" and "gpu:8" are 8. */
static bool gpu_count(const char *s, long long *out)
{
	const char *colon = s ? strrchr(s, ':') : NULL;

	return number(colon ? colon + 1 : s, out);
}

static void directive(struct batch *b, const struct lint_word *w, size_t n)
{
	long long v;

	for (size_t i = 0; i < n && w[i].line == w[0].line; i++) {
		size_t left = n - i;

		if (number(value_of(&w[i], left, "--nodes"), &v) ||
		    number(value_of(&w[i], left, "-N"), &v)) {
			b->nodes = v;
			b->line_nodes = w[i].line;
		} else if (number(value_of(&w[i], left, "--ntasks-per-node"), &v)) {
			b->tasks = v;
			b->line_tasks = w[i].line;
		} else if (gpu_count(value_of(&w[i], left, "--gpus-per-node"), &v) ||
			   gpu_count(value_of(&w[i], left, "--gres"), &v)) {
			b->gpus = v;
		}
	}
}

static void torchrun(struct batch *b, const struct lint_word *w, size_t n)
{
	b->line_torchrun = w[0].line;
	b->launched = true;
	b->per_node = 1;
	b->nnodes = 1;
	for (size_t i = 1; i < n && !w[i].end; i++) {
		const char *nodes = value_of(&w[i], n - i, "--nnodes");
		const char *each = value_of(&w[i], n - i, "--nproc-per-node");

		if (nodes && !number(nodes, &b->nnodes))
			b->nnodes = 0; /* "1:4", or a variable */
		if (each && !number(each, &b->per_node))
			b->per_node = strchr(each, '$') ? 0 : -1;
		if (w[i].text[0] != '-' && str_ends(w[i].text, ".py"))
			return;
	}
}

static void judge(struct lint *l, const struct batch *b)
{
	size_t have = l->on->node ? l->on->node->gpus : 0;

	if (!b->launched)
		return;
	if (b->tasks > 1 && (b->per_node > 1 || b->per_node < 0))
		lint_add(l, LINT_ERROR, "too-many-processes", b->line_torchrun, "torchrun",
			 "#SBATCH --ntasks-per-node=1", "torchrun and srun documentation",
			 "line %u has %lld tasks a machine, and each starts torchrun, which starts "
			 "its own processes: each GPU is used %lld times",
			 b->line_tasks, b->tasks, b->tasks);
	if (b->nodes && b->nnodes && b->nodes != b->nnodes)
		lint_add(l, LINT_ERROR, "machines-differ", b->line_torchrun, "--nnodes",
			 "--nnodes=\"$SLURM_JOB_NUM_NODES\"", "torchrun documentation",
			 "torchrun has --nnodes %lld, and line %u asks for %lld machines: %s",
			 b->nnodes, b->line_nodes, b->nodes,
			 b->nnodes > b->nodes ? "it waits for ever" : "they work each for itself");
	if (b->gpus && b->per_node > b->gpus)
		lint_add(l, LINT_ERROR, "too-many-processes", b->line_torchrun, "--nproc-per-node",
			 "--nproc-per-node=gpu", "torchrun documentation",
			 "%lld processes a machine, and %lld GPUs", b->per_node, b->gpus);
	else if (!b->gpus && have && b->per_node > (long long)have)
		lint_add(l, LINT_ERROR, "too-many-processes", b->line_torchrun, "--nproc-per-node",
			 "--nproc-per-node=gpu", "torchrun documentation",
			 "%lld processes a machine, and this one has %zu GPUs", b->per_node, have);
}

/* "accelerate launch": its processes are those of all machines. */
static void accelerate(struct lint *l, const struct lint_word *w, size_t n)
{
	long long all = 0, machines = 1;
	size_t have = l->on->node ? l->on->node->gpus : 0;

	for (size_t i = 1; i < n && !w[i].end; i++) {
		const char *processes = value_of(&w[i], n - i, "--num-processes");
		const char *of = value_of(&w[i], n - i, "--num-machines");

		if (processes && !number(processes, &all))
			return;
		if (of && !number(of, &machines))
			return;
		if (w[i].text[0] != '-' && str_ends(w[i].text, ".py"))
			break;
	}
	if (all % machines)
		lint_add(l, LINT_ERROR, "batch-arithmetic", w[0].line, "--num_processes", NULL,
			 "Accelerate's sources (commands/launch.py)",
			 "--num_processes is of all machines: %lld do not divide by %lld", all,
			 machines);
	else if (have && all > (long long)have * machines)
		lint_add(l, LINT_ERROR, "too-many-processes", w[0].line, "--num_processes",
			 arena_printf(l->a, "%lld", (long long)have * machines),
			 "Accelerate's sources (commands/launch.py)",
			 "%lld processes on %lld machine%s, and this one has %zu GPUs", all,
			 machines, machines == 1 ? "" : "s", have);
}

/* "deepspeed": --num_gpus of each machine, which its launcher does not compare with what is there.
 */
static void deepspeed(struct lint *l, const struct lint_word *w, size_t n)
{
	size_t have = l->on->node ? l->on->node->gpus : 0;
	long long each = 0;

	for (size_t i = 1; i < n && !w[i].end; i++) {
		const char *gpus = value_of(&w[i], n - i, "--num-gpus");

		if (gpus && !number(gpus, &each))
			return;
		if (w[i].text[0] != '-' && str_ends(w[i].text, ".py"))
			break;
	}
	if (have && each > (long long)have)
		lint_add(l, LINT_ERROR, "too-many-processes", w[0].line, "--num_gpus",
			 arena_printf(l->a, "%zu", have),
			 "DeepSpeed's sources (launcher/runner.py)",
			 "%lld processes a machine, and this one has %zu GPUs: DeepSpeed starts "
			 "them all, and the others find no GPU",
			 each, have);
}

enum launcher { LAUNCH_NONE, LAUNCH_TORCH, LAUNCH_ACCELERATE, LAUNCH_DEEPSPEED };

/* What word i starts, by its name or behind "python -m". */
static enum launcher launcher_at(const struct lint_word *w, size_t n, size_t i)
{
	static const struct {
		const char *name;
		enum launcher what;
	} modules[] = {
		{ "torch.distributed.run", LAUNCH_TORCH },
		{ "torch.distributed.launch", LAUNCH_TORCH },
		{ "accelerate.commands.launch", LAUNCH_ACCELERATE },
		{ "deepspeed.launcher.runner", LAUNCH_DEEPSPEED },
	};
	const char *name = path_name(w[i].text);

	for (size_t k = 0; i && k < sizeof(modules) / sizeof(modules[0]); k++)
		if (strcmp(w[i - 1].text, "-m") == 0 && strcmp(w[i].text, modules[k].name) == 0)
			return modules[k].what;
	if (strcmp(name, "torchrun") == 0)
		return LAUNCH_TORCH;
	if (strcmp(name, "accelerate") == 0 && i + 1 < n && strcmp(w[i + 1].text, "launch") == 0)
		return LAUNCH_ACCELERATE;
	return strcmp(name, "deepspeed") == 0 ? LAUNCH_DEEPSPEED : LAUNCH_NONE;
}

static void launched(struct lint *l, struct batch *b, const struct lint_word *w, size_t n, size_t i)
{
	switch (launcher_at(w, n, i)) {
	case LAUNCH_TORCH:
		torchrun(b, w + i, n - i);
		break;
	case LAUNCH_ACCELERATE:
		accelerate(l, w + i, n - i);
		break;
	case LAUNCH_DEEPSPEED:
		deepspeed(l, w + i, n - i);
		break;
	case LAUNCH_NONE:
		break;
	}
}

/* Each process of a machine has so many threads. */
static void threads(struct lint *l, const struct lint_word *w)
{
	static const char name[] = "OMP_NUM_THREADS=";
	const struct gen_node *node = l->on->node;
	const struct machine *m = node ? node->facts : NULL;
	long long cpus = m ? fact_or(&m->cpu.threads, 0) : 0, v;
	long long gpus = node ? (long long)node->gpus : 0;

	/* A machine without a GPU is not the one that trains. */
	if (gpus < 1 || !str_starts(w->text, name) || !number(w->text + strlen(name), &v) ||
	    cpus < 1 || v * gpus <= cpus || v > 1 << 20)
		return;
	lint_add(l, LINT_WARNING, "too-many-threads", w->line, "OMP_NUM_THREADS",
		 arena_printf(l->a, "%lld", cpus / gpus > 1 ? cpus / gpus : 1), NULL,
		 v > cpus ? "%lld threads in each of %lld processes, one a GPU: one alone has more "
			    "than the %lld CPUs of this machine"
			  : "%lld threads in each of %lld processes, one a GPU, share %lld CPUs",
		 v, gpus, cpus);
}

void lint_batch(struct lint *l, const struct lint_word *w, size_t n)
{
	struct batch b = { 0 };
	bool directives = true;
	unsigned line = 0;

	for (size_t i = 0; i < n; i++) {
		threads(l, &w[i]);
		if (w[i].end && strcmp(w[i].text, "#SBATCH") == 0) {
			line = w[i].line;
			if (directives)
				directive(&b, w + i, n - i);
			else
				lint_add(l, LINT_ERROR, "directive-late", line, "#SBATCH",
					 "move it up, behind the first line",
					 "sbatch documentation",
					 "sbatch stops reading directives at the first command: "
					 "this "
					 "one is a comment");
		} else if (!w[i].line || w[i].line != line) {
			directives = false;
			launched(l, &b, w, n, i);
		}
	}
	judge(l, &b);
}
