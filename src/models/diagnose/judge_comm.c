/* SPDX-License-Identifier: Apache-2.0 */
/* Causes between ranks: communication that nothing hides, slow ranks, more GPUs that give little.
 */
#include <math.h>
#include <string.h>

#include "models/diagnose/judge.h"
#include "base/text.h"

enum { STEPS_SURE = 8 };

/* The last of the gradients can never be hidden: less than this is as it should be, unless nothing
 * is hidden at all. */
#define COMM_WORTH 0.1
#define NOTHING_HIDDEN 0.97

/* Communication over what there is to hide it behind; NAN: not known. */
static double against_compute(const struct judging *j)
{
	const struct run_summary *r = j->r;
	double back = r->sums[FIGURE_BACKWARD_S].mean;

	if (!isfinite(back))
		back = r->sums[FIGURE_COMPUTE_S].mean;
	return r->sums[FIGURE_COMM_S].mean / back;
}

/* Exposed of all communication; NAN: not known. */
static double exposed_part(const struct judging *j)
{
	return j->r->sums[FIGURE_COMM_EXPOSED_S].mean / j->r->sums[FIGURE_COMM_S].mean;
}

static const char *of_what(const struct judging *j)
{
	return j->r->split.window ? "recorded" : "per step";
}

static const char *a_step(const struct judging *j)
{
	return j->r->split.window ? "in total" : "per step";
}

static void cite_comm(const struct judging *j, struct judged_cause *out)
{
	judged_cite_sum(j, out, FIGURE_COMM_EXPOSED_S);
	judged_cite_sum(j, out, FIGURE_COMM_S);
	judged_cite_sum(j, out, FIGURE_BACKWARD_S);
	/* A wait for the GPU is one for these. */
	if (judging_places(j, "collective: ", out) > 0)
		judging_places(j, "synchronizing: ", out);
}

void rule_overlap(const struct judging *j, struct judged_cause *out)
{
	double share = judging_share(j, PART_COMM), part = exposed_part(j),
	       over = against_compute(j);

	if (judging_alone(j))
		return;
	if (!isfinite(share)) {
		judged_set_text(j, out, IS_UNSEEN, NAN,
				"no file contains the exposed share of the communication");
		return;
	}
	cite_comm(j, out);
	if (share < (part > NOTHING_HIDDEN ? DIAGNOSE_WORTH : COMM_WORTH) || part < 0.5) {
		judged_set_text(j, out, IS_EXCLUDED, share,
				"%.1f %% of a step is exposed communication%s", 100 * share,
				part < 0.5 ? ", less than half of all communication" : "");
		return;
	}
	if (isfinite(over) && over > 1 && !(part > NOTHING_HIDDEN)) {
		judged_set_text(j, out, IS_POSSIBLE, share,
				"communication takes %.1f times as long as the computation that "
				"could overlap it",
				over);
		return;
	}
	/* No more can be hidden than there is to hide it behind. */
	if (over > 1)
		share /= over;
	if (!isfinite(part)) {
		judged_set_text(j, out, IS_LIKELY, share,
				"up to %.3g of %.3g s %s are exposed communication",
				j->r->split.s[PART_COMM], j->r->split.step_s, of_what(j));
		out->against = "the overlapped share of the communication is unknown";
		return;
	}
	judged_set_text(j, out, part > NOTHING_HIDDEN ? IS_CERTAIN : IS_LIKELY, share,
			"%.0f %% of the communication is exposed, %.3g of %.3g s %s",
			100 * fmin(part, 1), j->r->split.s[PART_COMM], j->r->split.step_s,
			of_what(j));
}

void rule_network(const struct judging *j, struct judged_cause *out)
{
	double share = judging_share(j, PART_COMM), over = against_compute(j);
	double part = exposed_part(j);

	if (judging_alone(j) || !isfinite(share))
		return;
	cite_comm(j, out);
	if (share < COMM_WORTH)
		judged_set_text(j, out, share < DIAGNOSE_WORTH ? IS_EXCLUDED : IS_POSSIBLE, share,
				"%.1f %% of a step is exposed communication", 100 * share);
	else if (isfinite(over) && over > 1 && part < NOTHING_HIDDEN) {
		/* Who waits for a slower rank is in a collective meanwhile. */
		bool apart = isfinite(judging_share(j, PART_WAIT));

		judged_set_text(j, out, apart ? IS_CERTAIN : IS_LIKELY, share,
				"collectives take %.3g s %s, %.1f times as long as the computation "
				"that could overlap them",
				j->r->sums[FIGURE_COMM_S].mean, a_step(j), over);
		if (!apart)
			out->against = "the share that waits for a slower rank is unknown: figures "
				       "of every rank are required";
	} else if (isfinite(over) && over > 1)
		judged_set_text(j, out, IS_LIKELY, share * (1 - 1 / over),
				"collectives take %.3g s %s, %.1f times as long as the "
				"computation: overlap cannot hide them",
				j->r->sums[FIGURE_COMM_S].mean, a_step(j), over);
	else if (part < 0.5)
		judged_set_text(j, out, IS_LIKELY, share,
				"most communication is overlapped; %.0f %% of a step is exposed, "
				"because the last collective follows the computation",
				100 * share);
	else
		judged_set_text(j, out, IS_EXCLUDED, share,
				"there is enough computation to overlap the communication");
}

static const struct rank_summary *rank_of(const struct run_summary *r, int rank)
{
	for (size_t i = 0; i < r->n_ranks; i++)
		if (r->ranks[i].rank == rank)
			return &r->ranks[i];
	return NULL;
}

static double idle_of(const struct rank_summary *r)
{
	return r->idle_s;
}

static double kernels_of_rank(const struct rank_summary *r)
{
	return r->kernels;
}

static double clock_of(const struct rank_summary *r)
{
	return r->clock_mhz;
}

/* The mean of the other ranks; NAN. */
static double judge_comm_others(const struct judging *j, const struct rank_summary *slow,
				double (*of)(const struct rank_summary *))
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < j->r->n_ranks; i++)
		if (&j->r->ranks[i] != slow && isfinite(of(&j->r->ranks[i]))) {
			sum += of(&j->r->ranks[i]);
			n++;
		}
	return n ? sum / (double)n : (double)NAN;
}

/* Where what it takes longer is time in which its GPU has nothing to do, that; else NAN. */
static double rests_longer(const struct judging *j, const struct rank_summary *slow)
{
	double more = slow->idle_s - judge_comm_others(j, slow, idle_of);

	return more >= j->r->slow.slowest_s / 2 ? more : (double)NAN;
}

static bool does_more(const struct judging *j, const struct rank_summary *slow)
{
	return slow->kernels > 1.1 * judge_comm_others(j, slow, kernels_of_rank);
}

/* What the slow rank's GPU did differently. */
static const char *because(const struct judging *j, const struct rank_summary *slow)
{
	double clock = judge_comm_others(j, slow, clock_of), idle = rests_longer(j, slow);

	if (does_more(j, slow))
		return arena_printf(
			j->a, "; it launches %.0f kernels %s, the other ranks launch %.0f",
			slow->kernels, a_step(j), judge_comm_others(j, slow, kernels_of_rank));
	if (isfinite(idle))
		return arena_printf(j->a, "; its GPU idles %.3g s longer: the host is slower",
				    idle);
	if (!isfinite(clock) || !isfinite(slow->clock_mhz))
		return "";
	if (slow->clock_mhz > 0.95 * clock)
		return arena_printf(j->a, "; its GPU clock equals that of the others, %.0f MHz",
				    slow->clock_mhz);
	return arena_printf(j->a, "; its GPU runs at %.0f MHz, the others at %.0f%s",
			    slow->clock_mhz, clock,
			    slow->throttled > 0.05 ? ", throttled by power or heat" : "");
}

/* The same work by a slower host: nsys slows one host more than another. */
static bool may_be_nsys(const struct judging *j, const struct rank_summary *slow)
{
	return judging_by_nsys(j) && isfinite(rests_longer(j, slow)) && !does_more(j, slow);
}

void rule_straggler(const struct judging *j, struct judged_cause *out)
{
	const struct rank_judged *s = &j->r->slow;
	const struct rank_summary *slow = rank_of(j->r, s->slowest);
	/* A profiler does not make all ranks equally slow. */
	bool traced = s->format && j->r->split.format && strcmp(s->format, j->r->split.format) == 0;
	double share = (s->slowest_s - (traced ? j->r->profiler_s : 0)) / j->r->split.step_s;

	if (judging_alone(j))
		return;
	if (!slow || !isfinite(share)) {
		judged_set_text(j, out, IS_UNSEEN, NAN, "the files do not name their ranks");
		return;
	}
	judged_cite(j, out, slow->at,
		    arena_printf(j->a,
				 "rank %d: its own work in a step, without waiting, takes %.4g s",
				 s->slowest, slow->own_s));
	for (size_t i = 0; i < j->r->n_ranks && out->n_cites < 3; i++)
		if (&j->r->ranks[i] != slow)
			judged_cite(
				j, out, j->r->ranks[i].at,
				isfinite(j->r->ranks[i].wait_s)
					? arena_printf(j->a, "rank %d: %.4g s, and waits %.4g s",
						       j->r->ranks[i].rank, j->r->ranks[i].own_s,
						       j->r->ranks[i].wait_s)
					: arena_printf(j->a, "rank %d: %.4g s", j->r->ranks[i].rank,
						       j->r->ranks[i].own_s));
	if (s->steps < DIAGNOSE_STEPS_LEAST) {
		judged_set_text(
			j, out, share >= DIAGNOSE_WORTH ? IS_POSSIBLE : IS_UNSEEN, fmax(share, 0),
			"rank %d takes %.3g s longer, but only %zu step%s can be compared, and "
			"some rank is always last. %d steps are required, %d for certainty",
			s->slowest, s->slowest_s, s->steps, PLURAL(s->steps), DIAGNOSE_STEPS_LEAST,
			STEPS_SURE);
		return;
	}
	/* By chance one of n is last in every n-th step. */
	if (s->often >= 0.7 && s->often > 1.4 / (double)j->r->n_ranks && share >= DIAGNOSE_WORTH) {
		bool nsys = may_be_nsys(j, slow);

		judged_set_text(j, out,
				nsys			 ? IS_POSSIBLE
				: s->steps >= STEPS_SURE ? IS_CERTAIN
							 : IS_LIKELY,
				share, "rank %d is last in %.0f %% of %zu steps, by %.3g s%s",
				s->slowest, 100 * s->often, s->steps, s->slowest_s,
				because(j, slow));
		if (nsys)
			out->against = judging_nsys_slows;
	} else
		judged_set_text(j, out, IS_EXCLUDED, fmax(share, 0),
				"rank %d is last most often: %.0f %% of %zu steps, by %.3g s",
				s->slowest, 100 * s->often, s->steps, s->slowest_s);
}

void rule_uneven(const struct judging *j, struct judged_cause *out)
{
	const struct rank_judged *s = &j->r->slow;
	double share = judging_share(j, PART_WAIT);
	const char *model = run_trait(j->a, j->r, TRAIT_MODEL);
	bool moe = strstr(model, "moe") || strstr(model, "x7b") || strstr(model, "-a3b");

	if (judging_alone(j) || s->slowest < 0 || !isfinite(share))
		return;
	judged_cite_sum(j, out, FIGURE_COMM_EXPOSED_S);
	if (s->steps < DIAGNOSE_STEPS_LEAST)
		judged_set_text(j, out, share >= DIAGNOSE_WORTH ? IS_POSSIBLE : IS_UNSEEN, share,
				"ranks wait %.1f %% of a step for the slowest; %d steps are "
				"required to see whether it changes",
				100 * share, DIAGNOSE_STEPS_LEAST);
	else if (share < DIAGNOSE_WORTH || s->often >= 0.7)
		judged_set_text(j, out, IS_EXCLUDED, share,
				"ranks wait %.1f %% of a step for the slowest%s", 100 * share,
				s->often >= 0.7 ? ", always the same rank" : "");
	else
		judged_set_text(j, out,
				s->steps >= STEPS_SURE && share > 0.1 ? IS_LIKELY : IS_POSSIBLE,
				share,
				"ranks wait %.0f %% of a step for the slowest rank, which changes: "
				"rank %d in %.0f %% of the steps%s",
				100 * share, s->slowest, 100 * s->often,
				moe ? "; unbalanced experts cause this" : "");
}

void rule_scaling(const struct judging *j, struct judged_cause *out)
{
	const struct scaling *s = j->scale;
	const struct scale_point *p = NULL;
	const struct run_summary *r = j->r;

	for (size_t i = 0; s && i < s->n; i++)
		if (s->points[i].run == r->run && s->points[i].run != s->base)
			p = &s->points[i];
	if (!p || p->kind == SCALE_SAME || !isfinite(p->efficiency))
		return;
	judged_cite_sum(j, out, FIGURE_TOKENS_PER_S);
	judged_cite_sum(j, out, FIGURE_TOKENS_PER_S_PER_GPU);
	judged_cite_sum(j, out, FIGURE_STEP_S);
	judged_cite(j, out, s->bandwidth.at,
		    s->bandwidth.at
			    ? arena_printf(j->a, "bus bandwidth %.4g GB/s", s->bandwidth.at->value)
			    : NULL);
	if (p->efficiency >= 0.9) {
		judged_set_text(j, out, IS_EXCLUDED, 1 - p->efficiency,
				"%.0f GPUs reach %.0f %% of linear scaling", p->gpus,
				100 * p->efficiency);
		return;
	}
	judged_set_text(
		j, out, p->kind == SCALE_WEAK ? IS_CERTAIN : IS_LIKELY, 1 - p->efficiency,
		"with %.0f GPUs each GPU reaches %.0f %% of its throughput with %.0f GPUs (%s); "
		"%s%s. Measure: step time of each rank, exposed communication by a trace on both "
		"nodes, network and transport by NCCL_DEBUG=INFO, gputune bench collectives "
		"between the nodes",
		p->gpus, 100 * p->efficiency, s->points[s->base < s->n ? s->base : 0].gpus, p->why,
		s->bandwidth.told ? s->bandwidth.says
				  : "give the parameter count and the bus bandwidth of a large "
				    "all-reduce to see whether bandwidth explains the loss",
		p->kind == SCALE_STRONG ? "; some loss is expected, since each GPU has less work"
					: "");
}

/* Causes in how NCCL goes: sockets, no direct way between GPUs, choices forced on it. */

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
	const struct run_attribute *net = run_trait_with(j->r, TRAIT_NCCL_NET, "socket");
	const struct run_attribute *way = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "NET/Socket");
	/* A plug-in's network has a name of its own: "AWS Libfabric", "FasTrak". */
	const struct run_attribute *other = net ? NULL : run_trait_with(j->r, TRAIT_NCCL_NET, ""),
				   *off = NULL;
	double share = comm_share(j);
	const char *disabled = run_variable(j->r, "NCCL_IB_DISABLE", &off);

	if (judging_alone(j))
		return;
	if (!net && !way && !other && (!is_on(disabled) || !many_nodes(j))) {
		judged_cite_trait(j, out, off);
		if (j->r->nodes > 1)
			judged_set_text(j, out, IS_UNSEEN, NAN, "NCCL's network is unknown");
		return;
	}
	judged_cite_trait(j, out, net ? net : other);
	judged_cite_trait(j, out, way);
	judged_cite_trait(j, out, off);
	if (way)
		judged_set_text(j, out, isfinite(share) ? IS_CERTAIN : IS_LIKELY, share,
				"NCCL's channels use TCP sockets%s",
				is_on(disabled) ? ": NCCL_IB_DISABLE is set" : "");
	else if (net && many_nodes(j))
		judged_set_text(j, out, IS_LIKELY, share,
				"NCCL uses sockets between the machines%s",
				is_on(disabled) ? ": NCCL_IB_DISABLE is set" : "");
	else if (is_on(disabled) && many_nodes(j))
		judged_set_text(j, out, IS_LIKELY, share, "NCCL_IB_DISABLE is set");
	else
		judged_set_text(
			j, out, IS_EXCLUDED, NAN, "%s",
			!other ? "NCCL has chosen sockets, but no channel between GPUs uses them"
			: str_starts(other->text, "IB")
				? "NCCL uses RDMA"
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
	const struct run_attribute *shm = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "SHM");
	const struct run_attribute *p2p = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "P2P"),
				   *off = NULL;
	const struct run_attribute *way = run_trait_with(j->r, TRAIT_NCCL_TRANSPORT, "NET/");
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
		judged_set_text(
			j, out, IS_EXCLUDED, NAN,
			"%s has no peer-to-peer access to another GPU, regardless of settings",
			j->r->traits[TRAIT_GPU]->text);
	else if (is_on(disabled))
		judged_set_text(j, out, IS_CERTAIN, share,
				"NCCL_P2P_DISABLE is set: NVLink and direct copies over PCI "
				"Express are not used");
	else if (!p2p && (shm || way))
		judged_set_text(
			j, out, IS_LIKELY, share,
			"GPUs of one machine communicate through %s: NCCL found no direct path",
			shm ? "host memory (SHM)" : "the network");
	else
		judged_set_text(j, out, IS_EXCLUDED, NAN, "direct paths between GPUs are used");
}

void rule_forced(const struct judging *j, struct judged_cause *out)
{
	static const char *const names[] = { "NCCL_ALGO",	   "NCCL_PROTO",
					     "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS",
					     "NCCL_NTHREADS",	   "NCCL_BUFFSIZE",
					     "NCCL_NET_GDR_LEVEL", "NCCL_SHM_DISABLE",
					     "NCCL_CUMEM_ENABLE" };
	const struct run_attribute *at = NULL;
	const char *list = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (run_variable(j->r, names[i], &at)) {
			judged_cite_trait(j, out, at);
			list = arena_printf(j->a, "%s%s%s", list, *list ? ", " : "", at->text);
		}
	if (*list)
		judged_set_text(j, out, IS_POSSIBLE, comm_share(j),
				"a variable overrides the choice for all message sizes: %s", list);
}

void rule_warning(const struct judging *j, struct judged_cause *out)
{
	const struct run_attribute *t = j->r->traits[TRAIT_NCCL_WARNING],
				   *w = j->r->traits[TRAIT_WRONG];

	judged_cite_trait(j, out, t);
	if (t)
		out->cites[0].says = "NCCL WARN";
	judged_cite_trait(j, out, w);
	if (w && w->value > 0)
		judged_set_text(j, out, IS_CERTAIN, NAN, "nccl-tests reports %.0f wrong results",
				w->value);
	else if (t)
		judged_set_text(j, out, IS_POSSIBLE, NAN, "%s", t->text);
}
