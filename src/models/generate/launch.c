/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchrun (PyTorch 2), mpirun (Open MPI 4 and 5), hostfiles, DeepSpeed's environment file. Options
 * by docs.pytorch.org/docs/stable/elastic/run.html, docs.open-mpi.org and
 * deepspeed.ai/getting-started, read 2026-11-21.
 */
#include "models/generate/launch.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

void gen_word_add(struct arena *a, struct gen_command *c, const char *text, const char *reason)
{
	if (c->n >= GEN_WORDS_MAX)
		return;
	c->words = arena_grow(a, c->words, c->n, sizeof(*c->words));
	c->words[c->n++] = (struct gen_word){ text, reason };
}

void gen_option_add(struct arena *a, struct gen_command *c, const char *name, const char *value,
		    const char *reason)
{
	gen_word_add(a, c, name, reason);
	if (value)
		gen_word_add(a, c, value, NULL);
}

void gen_note_add(struct arena *a, struct gen_launch *l, const char *text)
{
	l->notes = arena_grow(a, l->notes, l->n_notes, sizeof(*l->notes));
	l->notes[l->n_notes++] = text;
}

struct gen_command *gen_command_add(struct arena *a, struct gen_launch *l,
				    const struct gen_command *c)
{
	l->commands = arena_grow(a, l->commands, l->n, sizeof(*l->commands));
	l->commands[l->n] = *c;
	return &l->commands[l->n++];
}

/* How the others reach a node: its address, or the name that the user gave it. */
static const char *reach(const struct gen_node *n)
{
	return *n->address ? n->address : n->name;
}

/* reached: others have to get there by name or address. */
static int check_nodes(const struct gen_cluster *c, bool reached, struct err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct gen_node *n = &c->nodes[i];

		if (reached && n->invented && !*n->address)
			return err_set(e, -EINVAL,
				       "neither name nor address of machine %zu is known; use "
				       "--node NAME=CAPTURE or --cluster",
				       i);
		if (!gen_name_valid(reach(n)))
			return err_set(e, -EINVAL,
				       "\"%.80s\" is no name that a launcher takes for a machine",
				       reach(n));
		if (!n->gpus)
			return err_set(e, -ENODEV, "no GPU is seen on %.80s", n->name);
	}
	return 0;
}

static void add_program(struct arena *a, struct gen_command *c, char *const *program, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gen_word_add(a, c, program[i], i ? NULL : "what is started, as it was given");
}

int gen_torchrun(struct arena *a, const struct gen_envs *e, char *const *program, size_t n,
		 const char *head, int port, struct gen_launch *out, struct err *err)
{
	const struct gen_cluster *cl = e->c;
	int r = check_nodes(cl, false, err);

	*out = (struct gen_launch){ 0 };
	if (r < 0)
		return r;
	if (!head)
		head = reach(&cl->nodes[0]);
	for (size_t i = 0; i < cl->n; i++) {
		struct gen_command c = { .node = &cl->nodes[i], .rank = i, .env = &e->of[i] };
		const char *gpus = arena_printf(a, "%zu", cl->nodes[i].gpus);

		gen_word_add(a, &c, "torchrun", "PyTorch's launcher, on every machine");
		if (cl->n == 1) {
			gen_word_add(a, &c, "--standalone", "one machine: no meeting point needed");
		} else {
			gen_word_add(a, &c, arena_printf(a, "--nnodes=%zu", cl->n), "machines");
			gen_word_add(a, &c, arena_printf(a, "--node-rank=%zu", i),
				     "this machine's number, so that ranks stay the same");
			gen_word_add(a, &c, arena_printf(a, "--master-addr=%s", head),
				     "where rank 0 waits: an address that all machines reach");
			gen_word_add(a, &c, arena_printf(a, "--master-port=%d", port),
				     "a port that is free there");
		}
		gen_word_add(a, &c, arena_printf(a, "--nproc-per-node=%s", gpus),
			     "one process a GPU");
		add_program(a, &c, program, n);
		gen_command_add(a, out, &c);
	}
	return 0;
}

/* -x NAME=VALUE of a node. */
static void export_vars(struct arena *a, struct gen_command *c, const struct gen_env *e)
{
	for (size_t i = 0; i < e->n; i++)
		gen_option_add(a, c, "-x",
			       arena_printf(a, "%s=%s", e->vars[i].name, e->vars[i].value),
			       e->vars[i].reason);
}

int gen_mpi(struct arena *a, const struct gen_envs *e, char *const *program, size_t n,
	    struct gen_launch *out, struct err *err)
{
	const struct gen_cluster *cl = e->c;
	struct gen_command c = { 0 };
	int r = check_nodes(cl, cl->n > 1, err);

	*out = (struct gen_launch){ 0 };
	if (r < 0)
		return r;
	gen_word_add(a, &c, "mpirun", "Open MPI's launcher, on the first machine");
	if (*cl->common) {
		gen_word_add(a, &c, "--mca",
			     "MPI's own messages over the network that all share; by "
			     "its subnet, because interfaces have different names");
		gen_word_add(a, &c, "btl_tcp_if_include", NULL);
		gen_word_add(a, &c, cl->common, NULL);
		gen_word_add(a, &c, "--mca", "its daemons' as well (Open MPI 4; 5 ignores it)");
		gen_word_add(a, &c, "oob_tcp_if_include", NULL);
		gen_word_add(a, &c, cl->common, NULL);
	}
	for (size_t i = 0; i < cl->n; i++) {
		const struct gen_node *d = &cl->nodes[i];

		if (i)
			gen_word_add(a, &c, ":", "the next machine: its own variables");
		gen_option_add(a, &c, "-np", arena_printf(a, "%zu", d->gpus), "one process a GPU");
		if (cl->n > 1)
			gen_option_add(a, &c, "--host",
				       arena_printf(a, "%s:%zu", reach(d), d->gpus),
				       "on this machine");
		export_vars(a, &c, &e->of[i]);
		add_program(a, &c, program, n);
	}
	gen_command_add(a, out, &c);
	return 0;
}

int gen_sbatch(struct arena *a, const struct gen_envs *e, char *const *program, size_t n, int port,
	       struct gen_launch *out, struct err *err)
{
	const struct gen_cluster *cl = e->c;
	struct gen_command c = { .env = &e->of[0], .meeting_port = port };
	int r = check_nodes(cl, false, err);

	*out = (struct gen_launch){ 0 };
	if (r < 0)
		return r;
	for (size_t i = 1; i < cl->n; i++)
		if (cl->nodes[i].gpus != cl->nodes[0].gpus)
			return err_set(err, -EINVAL, "%.80s has another number of GPUs than %.80s",
				       cl->nodes[i].name, cl->nodes[0].name);
	if (!e->same) {
		err_set(err, -EINVAL,
			"the machines need different values, and which of them a job "
			"gets is known when it starts");
		err_hint(err, "a TaskProlog that prints those of its machine: \"generate nccl "
			      "--format shell\" has them by name");
		return -EINVAL;
	}
	gen_word_add(a, &c, "torchrun", "PyTorch's launcher, once a machine");
	gen_word_add(a, &c, arena_printf(a, "--nnodes=%zu", cl->n), "machines");
	gen_word_add(a, &c, arena_printf(a, "--nproc-per-node=%zu", cl->nodes[0].gpus),
		     "one process a GPU");
	add_program(a, &c, program, n);
	gen_command_add(a, out, &c);
	return 0;
}

int gen_hostfile(struct arena *a, const struct gen_envs *e, struct gen_launch *out, struct err *err)
{
	TEXT_AUTO t = { 0 };
	int r = check_nodes(e->c, true, err);

	*out = (struct gen_launch){ .file_name = "hostfile" };
	if (r < 0)
		return r;
	for (size_t i = 0; i < e->c->n; i++)
		text_printf(&t, "%s slots=%zu\n", reach(&e->c->nodes[i]), e->c->nodes[i].gpus);
	out->file_text = arena_strdup(a, t.s);
	gen_note_add(a, out, "for mpirun --hostfile and deepspeed --hostfile");
	return 0;
}

/* DeepSpeed puts each line behind "export" of a shell on every machine. */
static bool plain_value(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			     "=,:._/^-");

	return !s[n];
}

int gen_deepspeed_env(struct arena *a, const struct gen_envs *e, struct gen_launch *out,
		      struct err *err)
{
	const struct gen_env *first = &e->of[0];
	TEXT_AUTO t = { 0 };

	*out = (struct gen_launch){ .file_name = ".deepspeed_env" };
	if (!e->same) {
		err_set(err, -EINVAL,
			"the machines need different values (interfaces or devices have other "
			"names), and DeepSpeed's launcher gives every machine the same");
		err_hint(err,
			 "use \"generate torchrun\", one line a machine, or deepspeed --no_ssh "
			 "--node_rank N with \"generate nccl\" on each");
		return -EINVAL;
	}
	for (size_t i = 0; i < first->n; i++) {
		if (!plain_value(first->vars[i].value))
			return err_set(err, -EINVAL,
				       "the value of %s has characters that DeepSpeed's launcher "
				       "would not keep",
				       first->vars[i].name);
		text_printf(&t, "%s=%s\n", first->vars[i].name, first->vars[i].value);
	}
	out->file_text = arena_strdup(a, t.s ? t.s : "");
	gen_note_add(
		a, out,
		"in the folder where deepspeed is started, or in the home folder; the launcher "
		"exports every line on all machines");
	return 0;
}
