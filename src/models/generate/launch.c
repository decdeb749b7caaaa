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

/* Which variables a node gets, and why. */

/* How machines are joined follows from the ports of all of them. */
#define JOINED .given = "net.nics.* net.rdma.*"

const struct gen_code gen_codes[] = {
	{ .code = "half-a-cage", .setting = "nic.twins", JOINED },
	/* The features that it needs depend on how the machines are joined. */
	{ .code = "nccl-too-old", .given = "software.libraries.version net.nics.* net.rdma.*" },
	{ .code = "nccl-differs", .given = "software.libraries.version" },
	{ .code = "known-defect", .given = "platform.* gpu.* kernel.* net.nics.*" },
	{ .code = "not-neighbours", JOINED },
	{ .code = "not-joined", JOINED },
	{ .code = "no-interface", JOINED },
	{ .code = NULL },
};

static void env_add(struct arena *a, struct gen_env *e, struct gen_var v)
{
	const char *since = NULL, *until;

	if (nccl_name(v.name, &since, &until)) {
		v.since = since;
		v.library = "NCCL";
		v.known = nccl_knows(v.name, e->node->nccl);
	}
	ARENA_ADD(a, e->vars, e->n) = v;
}

void gen_problem_add(struct arena *a, struct gen_envs *e, const struct gen_problem *p)
{
	for (size_t i = 0; i < e->n_problems; i++)
		if (strcmp(e->problems[i].code, p->code) == 0 &&
		    strcmp(e->problems[i].node, p->node) == 0 &&
		    strcmp(e->problems[i].says, p->says) == 0)
			return;
	ARENA_ADD(a, e->problems, e->n_problems) = *p;
}

static void leave(struct arena *a, struct gen_envs *e, const char *name, const char *why)
{
	ARENA_ADD(a, e->left, e->n_left) = (struct gen_left){ name, why };
}

bool gen_env_drop(struct arena *a, struct gen_envs *all, const char *text, const char *why)
{
	const char *dropped = NULL;

	for (size_t i = 0; i < all->c->n; i++)
		for (size_t k = 0; k < all->of[i].n; k++) {
			struct gen_env *e = &all->of[i];
			const char *name = e->vars[k].name;
			size_t n = strlen(name);

			if (strncmp(text, name, n) != 0 || text[n] != '=')
				continue;
			dropped = name;
			memmove(&e->vars[k], &e->vars[k + 1], (--e->n - k) * sizeof(*e->vars));
			break;
		}
	if (dropped)
		leave(a, all, dropped, why);
	return dropped != NULL;
}

/* "=a:1,b:1" of the ports that carry traffic; *left_out: ports that are up and do not. */
static const char *hca_list(struct arena *a, const struct gen_node *n, size_t *used,
			    size_t *left_out)
{
	TEXT_AUTO t = { 0 };

	*used = *left_out = 0;
	for (size_t i = 0; i < n->n_ports; i++) {
		const struct gen_port *p = &n->ports[i];

		if (!gen_port_used(n, p)) {
			*left_out += p->up;
			continue;
		}
		text_printf(&t, "%c%s:%u", *used ? ',' : '=', p->device, p->number);
		++*used;
	}
	return arena_strdup(a, t.s ? t.s : "");
}

static bool is_spark(const struct gen_node *n)
{
	return strcmp(n->platform, "dgx-spark") == 0;
}

/* A cage is two functions on two PCI domains, each with half of the cable's speed. */
static void judge_twins(struct arena *a, struct gen_envs *e, const struct gen_node *n)
{
	for (size_t i = 0; i < n->n_ports; i++) {
		const struct gen_port *p = &n->ports[i];

		if (!p->twin || !gen_port_used(n, p))
			continue;
		gen_problem_add(a, e,
				&(struct gen_problem){
					.code = "half-a-cage",
					.node = n->name,
					.says = arena_printf(a,
							     "port %s: only %s is used (%s); half "
							     "of the cable's bandwidth is lost",
							     p->cage, p->device, p->twin),
					.fix = p->twin_wanted,
				});
	}
}

static void network_vars(struct arena *a, struct gen_envs *e, struct gen_env *out)
{
	const struct gen_node *n = out->node;
	size_t used, left_out;
	const char *list = hca_list(a, n, &used, &left_out);
	const char *exactly = e->c->shape == SHAPE_UNKNOWN
				      ? "exactly the ports that are up; without \"=\" a name also "
					"matches longer names"
				      : "exactly the ports that are up and reach the others; "
					"without \"=\" a name also matches longer names";

	if (e->c->shape == SHAPE_SOCKETS)
		return;
	env_add(a, out,
		(struct gen_var){ "NCCL_NET", "IB",
				  .reason = "without RDMA the job fails at start instead of "
					    "running many times slower over sockets" });
	if (used && (is_spark(n) || left_out))
		env_add(a, out,
			(struct gen_var){
				"NCCL_IB_HCA", list,
				.reason =
					left_out && !is_spark(n)
						? arena_printf(a,
							       "exactly the %zu fast port%s; %zu "
							       "other%s slower or without address",
							       used, PLURAL(used), left_out,
							       left_out == 1 ? " that is up is"
									     : "s that are up are")
						: exactly });
	if (is_spark(n))
		judge_twins(a, e, n);
}

static void ring_vars(struct arena *a, struct gen_envs *e, struct gen_env *out)
{
	if (e->c->shape != SHAPE_RING && e->c->shape != SHAPE_NEIGHBOURS)
		return;
	env_add(a, out,
		(struct gen_var){ "NCCL_IB_SUBNET_AWARE_ROUTING", "1",
				  .reason = "each cable has its own subnet: a port must connect to "
					    "the peer's port in the same subnet" });
	if (e->c->prefix && e->c->prefix != 24)
		env_add(a, out,
			(struct gen_var){ "NCCL_IB_SUBNET_PREFIX_LEN",
					  arena_printf(a, "%u", e->c->prefix),
					  .reason = "the subnets are not /24" });
	env_add(a, out,
		(struct gen_var){ "NCCL_IB_MERGE_NICS", "0",
				  .reason = "merging would combine different physical ports, which "
					    "lead to different neighbours" });
	env_add(a, out,
		(struct gen_var){ "NCCL_NET_PLUGIN", "none",
				  .reason = "the plug-in in the image may not support subnets" });
	env_add(a, out,
		(struct gen_var){
			"NCCL_CROSS_NIC", "1",
			.reason =
				"in a ring, data must leave by a different port than it enters" });
}

static void control_vars(struct arena *a, struct gen_envs *e, struct gen_env *out,
			 enum gen_for what)
{
	const struct gen_node *n = out->node;
	const char *why = *e->c->common ? "the network shared by all machines"
					: "the fast network is the only one shared by all machines";

	if (!*n->control)
		return;
	env_add(a, out,
		(struct gen_var){
			"NCCL_SOCKET_IFNAME", arena_printf(a, "=%s", n->control),
			.reason = arena_printf(a, "interface for the bootstrap of the ranks: %s",
					       why) });
	if (what == FOR_TORCH || what == FOR_VLLM || what == FOR_SGLANG) {
		env_add(a, out,
			(struct gen_var){ "GLOO_SOCKET_IFNAME", n->control,
					  .library = "PyTorch (gloo)",
					  .reason = "interface for Gloo, as a full name: Gloo "
						    "knows no \"=\" before a name" });
		env_add(a, out,
			(struct gen_var){ "TP_SOCKET_IFNAME", n->control,
					  .library = "PyTorch (tensorpipe)",
					  .reason = "interface for PyTorch's RPC" });
	}
	if (!*n->address || (what != FOR_VLLM && what != FOR_SGLANG))
		return;
	env_add(a, out,
		(struct gen_var){ what == FOR_VLLM ? "VLLM_HOST_IP" : "SGLANG_HOST_IP", n->address,
				  .library = what == FOR_VLLM ? "vLLM" : "SGLang",
				  .reason =
					  "the address that this machine announces to the others; "
					  "without it, a program may pick another interface" });
}

static void memory_vars(struct arena *a, struct gen_env *out, enum gen_for what)
{
	if (what == FOR_VLLM && out->node->unified)
		env_add(a, out,
			(struct gen_var){ "RAY_memory_monitor_refresh_ms", "0", .library = "Ray",
					  .reason =
						  "Ray counts weights in memory shared by CPU and "
						  "GPU as memory pressure and kills workers" });
}

static void judge_versions(struct arena *a, struct gen_envs *e)
{
	const struct gen_node *first = &e->c->nodes[0];

	for (size_t i = 0; i < e->c->n; i++) {
		const struct gen_env *v = &e->of[i];

		for (size_t k = 0; k < v->n; k++)
			if (v->vars[k].known == NCCL_NOT_YET)
				gen_problem_add(a, e,
						&(struct gen_problem){
							.code = "nccl-too-old",
							.node = v->node->name,
							.fatal = true,
							.says = arena_printf(
								a,
								"this node has NCCL %s, but %s "
								"requires %s or later: older "
								"releases silently ignore it",
								v->node->nccl, v->vars[k].name,
								v->vars[k].since),
							.fix = arena_printf(a, "NCCL %s or later",
									    v->vars[k].since) });
		if (i && first->nccl && v->node->nccl && strcmp(first->nccl, v->node->nccl) != 0)
			gen_problem_add(a, e,
					&(struct gen_problem){
						.code = "nccl-differs",
						.node = v->node->name,
						.fatal = true,
						.says = arena_printf(
							a,
							"NCCL %s here, %s on %s: ranks of "
							"different releases hang or fail",
							v->node->nccl, first->nccl, first->name),
						.fix = "use the same image and NCCL everywhere" });
	}
}

static void env_judge_shape(struct arena *a, struct gen_envs *e)
{
	static const struct gen_problem no_address = {
		.code = "not-joined",
		.node = "",
		.says = "RDMA ports are up, but their topology is unknown: no addresses found",
		.fix = "assign addresses (gputune cluster plan), or use --cluster FILE"
	};
	static const struct gen_problem only_counted = {
		.code = "not-joined",
		.node = "",
		.says = "RDMA ports are up, but their topology is unknown: the other machines' "
			"addresses are unknown",
		.fix = "give --cluster FILE (gputune cluster discover), or --node NAME=CAPTURE for "
		       "each"
	};
	const struct gen_cluster *c = e->c;

	if (c->shape == SHAPE_NEIGHBOURS)
		gen_problem_add(
			a, e,
			&(struct gen_problem){
				.code = "not-neighbours",
				.node = "",
				.fatal = true,
				.says = "machines that are not neighbours cannot reach each other; "
					"NCCL connects trees across all machines and fails",
				.fix = "use a switch, or three machines in a ring" });
	if (c->shape == SHAPE_UNKNOWN)
		gen_problem_add(a, e, c->nodes[0].invented ? &only_counted : &no_address);
	if (c->n > 1 && !*c->nodes[0].control)
		gen_problem_add(a, e,
				&(struct gen_problem){
					.code = "no-interface",
					.node = "",
					.says = "no interface shared by all machines is known; "
						"NCCL guesses NCCL_SOCKET_IFNAME",
					.fix = "set it to the management network's interface" });
}

static void env_left_alone(struct arena *a, struct gen_envs *e)
{
	bool spark = false;

	for (size_t i = 0; i < e->c->n; i++)
		spark = spark || is_spark(&e->c->nodes[i]);
	if (e->c->shape == SHAPE_SOCKETS)
		leave(a, e, "NCCL_NET",
		      "not every machine has an active RDMA port for NCCL's own transport; IB "
		      "would fail at start");
	leave(a, e, "NCCL_IB_GID_INDEX", known_var("NCCL_IB_GID_INDEX")->harm);
	leave(a, e, "NCCL_ALGO", known_var("NCCL_ALGO")->harm);
	leave(a, e, "NCCL_PROTO", known_var("NCCL_PROTO")->harm);
	leave(a, e, "NCCL_NET_GDR_LEVEL",
	      spark ? "a GB10 has no GPUDirect RDMA; host and GPU memory are the same"
		    : "NCCL chooses by the distance of NIC and GPU");
	if (e->c->shape == SHAPE_COMMON && spark)
		leave(a, e, "NCCL_IB_SUBNET_AWARE_ROUTING",
		      "only for rings; here all machines share their subnets");
}

static bool same_vars(const struct gen_env *x, const struct gen_env *y)
{
	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->vars[i].name, y->vars[i].name) != 0 ||
		    strcmp(x->vars[i].value, y->vars[i].value) != 0)
			return false;
	return true;
}

void gen_envs_make(struct arena *a, const struct gen_cluster *c, enum gen_for what,
		   struct gen_envs *out)
{
	*out = (struct gen_envs){ .c = c, .same = true };
	out->of = arena_array(a, c->n, sizeof(*out->of));
	for (size_t i = 0; i < c->n; i++) {
		struct gen_env *e = &out->of[i];

		e->node = &c->nodes[i];
		e->rank = i;
		if (what == FOR_OTHERS)
			continue;
		if (c->n > 1) {
			network_vars(a, out, e);
			if (c->shape != SHAPE_SOCKETS)
				ring_vars(a, out, e);
			control_vars(a, out, e, what);
			memory_vars(a, e, what);
		}
		out->same = out->same && same_vars(&out->of[0], e);
	}
	if (what == FOR_OTHERS || c->n < 2)
		return;
	judge_versions(a, out);
	env_judge_shape(a, out);
	env_left_alone(a, out);
}

void gen_word_add(struct arena *a, struct gen_command *c, const char *text, const char *reason)
{
	if (c->n >= GEN_WORDS_MAX)
		return;
	ARENA_ADD(a, c->words, c->n) = (struct gen_word){ text, reason };
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
	ARENA_ADD(a, l->notes, l->n_notes) = text;
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
				       "name and address of machine %zu are unknown; use --node "
				       "NAME=CAPTURE or --cluster",
				       i);
		if (!gen_name_valid(reach(n)))
			return err_set(e, -EINVAL,
				       "\"%.80s\": not a valid machine name for a launcher",
				       reach(n));
		if (!n->gpus)
			return err_set(e, -ENODEV, "no GPU found on %.80s", n->name);
	}
	return 0;
}

static void add_program(struct arena *a, struct gen_command *c, char *const *program, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gen_word_add(a, c, program[i], i ? NULL : "the command, as given");
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
			gen_word_add(a, &c, "--standalone", "one machine: no rendezvous required");
		} else {
			gen_word_add(a, &c, arena_printf(a, "--nnodes=%zu", cl->n), "machines");
			gen_word_add(a, &c, arena_printf(a, "--node-rank=%zu", i),
				     "this machine's number, to keep ranks stable");
			gen_word_add(a, &c, arena_printf(a, "--master-addr=%s", head),
				     "address of rank 0, reachable from all machines");
			gen_word_add(a, &c, arena_printf(a, "--master-port=%d", port),
				     "a free port on that machine");
		}
		gen_word_add(a, &c, arena_printf(a, "--nproc-per-node=%s", gpus),
			     "one process per GPU");
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
			     "MPI's own messages use the shared network, given by subnet because "
			     "interface names differ");
		gen_word_add(a, &c, "btl_tcp_if_include", NULL);
		gen_word_add(a, &c, cl->common, NULL);
		gen_word_add(a, &c, "--mca",
			     "the same for its daemons' messages (Open MPI 5 ignores this)");
		gen_word_add(a, &c, "oob_tcp_if_include", NULL);
		gen_word_add(a, &c, cl->common, NULL);
	}
	for (size_t i = 0; i < cl->n; i++) {
		const struct gen_node *d = &cl->nodes[i];

		if (i)
			gen_word_add(a, &c, ":", "variables of the next machine");
		gen_option_add(a, &c, "-np", arena_printf(a, "%zu", d->gpus),
			       "one process per GPU");
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
			return err_set(err, -EINVAL,
				       "%.80s and %.80s have different numbers of GPUs",
				       cl->nodes[i].name, cl->nodes[0].name);
	if (!e->same) {
		err_set(err, -EINVAL,
			"the machines need different values, and Slurm selects a job's machines "
			"only at its start");
		err_hint(err, "use a TaskProlog that prints the machine's values: \"generate nccl "
			      "--format shell\" lists them by machine name");
		return -EINVAL;
	}
	gen_word_add(a, &c, "torchrun", "PyTorch's launcher, once per machine");
	gen_word_add(a, &c, arena_printf(a, "--nnodes=%zu", cl->n), "machines");
	gen_word_add(a, &c, arena_printf(a, "--nproc-per-node=%zu", cl->nodes[0].gpus),
		     "one process per GPU");
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
	size_t n =
		strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=,:._/^-");

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
			"the machines need different values (interface or device names differ), "
			"but DeepSpeed's launcher sets the same everywhere");
		err_hint(err, "use \"generate torchrun\", one line per machine, or deepspeed "
			      "--no_ssh --node_rank N with \"generate nccl\" on each");
		return -EINVAL;
	}
	for (size_t i = 0; i < first->n; i++) {
		if (!plain_value(first->vars[i].value))
			return err_set(err, -EINVAL,
				       "the value of %s has characters that DeepSpeed's launcher "
				       "does not preserve",
				       first->vars[i].name);
		text_printf(&t, "%s=%s\n", first->vars[i].name, first->vars[i].value);
	}
	out->file_text = arena_strdup(a, t.s ? t.s : "");
	gen_note_add(a, out,
		     "in deepspeed's working directory or the home directory; the launcher exports "
		     "every line on all machines");
	return 0;
}
