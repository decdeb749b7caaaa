/* SPDX-License-Identifier: Apache-2.0 */
/* Causes in how NCCL goes: sockets, no direct way between GPUs, choices forced on it. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/diagnose/judge.h"

/* What the ways of NCCL can cost: all communication that nothing hides. */
static double comm_share(const struct judging *j)
{
	double comm = judging_share(j, PART_COMM);

	return isfinite(comm) ? comm : j->r->sums[FIGURE_COMM_EXPOSED_S].mean / j->r->step_s;
}

static bool is_on(const char *v)
{
	return v && strcmp(v, "0") != 0 && *v;
}

/* Several machines: by what is told, or by a network transport that was used. */
static bool many_nodes(const struct judging *j)
{
	return j->r->nodes > 1 || (!isfinite(j->r->nodes) &&
				   run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "NET/") != NULL);
}

void rule_socket(const struct judging *j, struct judged_cause *out)
{
	const struct trait_seen *net = run_trait_with(j->r, TRAIT_NCCL_NET, "socket");
	const struct trait_seen *way = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "NET/Socket");
	/* A plug-in's network has a name of its own: "AWS Libfabric", "FasTrak". */
	const struct trait_seen *other = net ? NULL : run_trait_with(j->r, TRAIT_NCCL_NET, ""),
				*off = NULL;
	double share = comm_share(j);
	const char *disabled = run_variable(j->r, "NCCL_IB_DISABLE", &off);

	if (judging_alone(j))
		return;
	if (!net && !way && !other && (!is_on(disabled) || !many_nodes(j))) {
		judged_cite_trait(j, out, off);
		if (j->r->nodes > 1)
			judged_say(j, out, IS_UNSEEN, NAN, "which network NCCL uses is not told");
		return;
	}
	judged_cite_trait(j, out, net ? net : other);
	judged_cite_trait(j, out, way);
	judged_cite_trait(j, out, off);
	if (way)
		judged_say(j, out, isfinite(share) ? IS_CERTAIN : IS_LIKELY, share,
			   "NCCL's channels go over TCP sockets%s",
			   is_on(disabled) ? ": NCCL_IB_DISABLE is set" : "");
	else if (net && many_nodes(j))
		judged_say(j, out, IS_LIKELY, share, "NCCL uses sockets between the machines%s",
			   is_on(disabled) ? ": NCCL_IB_DISABLE is set" : "");
	else if (is_on(disabled) && many_nodes(j))
		judged_say(j, out, IS_LIKELY, share, "NCCL_IB_DISABLE is set");
	else
		judged_say(
			j, out, IS_EXCLUDED, NAN, "%s",
			!other ? "sockets are NCCL's network, but no channel between GPUs is seen "
				 "to use them"
			: str_starts(other->text, "IB")
				? "NCCL goes over RDMA"
				: arena_printf(j->a, "NCCL's network is %s", other->text));
}

/* GeForce since the 40 series: the driver lets none read another's memory. */
static bool never_peers(const struct judging *j)
{
	return run_trait_with(j->r, TRAIT_GPU, "GeForce RTX 40") ||
	       run_trait_with(j->r, TRAIT_GPU, "GeForce RTX 50");
}

void rule_peer(const struct judging *j, struct judged_cause *out)
{
	const struct trait_seen *shm = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "SHM");
	const struct trait_seen *p2p = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "P2P"),
				*off = NULL;
	const struct trait_seen *way = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "NET/");
	const char *disabled = run_variable(j->r, "NCCL_P2P_DISABLE", &off);
	double share = comm_share(j);
	bool one = j->r->nodes <= 1;

	/* Of machines with one GPU each none has a neighbour. */
	if (judging_alone(j) || j->r->gpus <= j->r->nodes ||
	    (!shm && !p2p && !off && !(way && one)))
		return;
	judged_cite_trait(j, out, shm ? shm : (way && one ? way : p2p));
	judged_cite_trait(j, out, off);
	if (never_peers(j))
		judged_say(j, out, IS_EXCLUDED, NAN,
			   "%s has no direct way to another GPU, whatever is set",
			   j->r->traits[TRAIT_GPU]->text);
	else if (is_on(disabled))
		judged_say(j, out, IS_CERTAIN, share,
			   "NCCL_P2P_DISABLE is set: NVLink and direct copies over PCI Express are "
			   "not "
			   "used");
	else if (!p2p && (shm || way))
		judged_say(j, out, IS_LIKELY, share,
			   "GPUs of one machine talk through %s: no direct way was found",
			   shm ? "the host's memory (SHM)" : "the network");
	else
		judged_say(j, out, IS_EXCLUDED, NAN, "direct ways between GPUs are used");
}

void rule_forced(const struct judging *j, struct judged_cause *out)
{
	static const char *const names[] = { "NCCL_ALGO",	   "NCCL_PROTO",
					     "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS",
					     "NCCL_NTHREADS",	   "NCCL_BUFFSIZE",
					     "NCCL_NET_GDR_LEVEL", "NCCL_SHM_DISABLE",
					     "NCCL_CUMEM_ENABLE" };
	const struct trait_seen *at = NULL;
	const char *list = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (run_variable(j->r, names[i], &at)) {
			judged_cite_trait(j, out, at);
			list = arena_printf(j->a, "%s%s%s", list, *list ? ", " : "", at->text);
		}
	if (*list)
		judged_say(j, out, IS_POSSIBLE, comm_share(j),
			   "set by hand, for all sizes alike: %s", list);
}

void rule_warning(const struct judging *j, struct judged_cause *out)
{
	const struct trait_seen *t = j->r->traits[TRAIT_NCCL_WARNING],
				*w = j->r->traits[TRAIT_WRONG];

	judged_cite_trait(j, out, t);
	if (t)
		out->cites[0].says = "NCCL WARN";
	judged_cite_trait(j, out, w);
	if (w && w->value > 0)
		judged_say(j, out, IS_CERTAIN, NAN, "nccl-tests counted %.0f wrong results",
			   w->value);
	else if (t)
		judged_say(j, out, IS_POSSIBLE, NAN, "%s", t->text);
}
