/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between ways to shard: by need and by predicted speed. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "models/generate/train_setup.h"
#include "base/text.h"

/* Plainer ways are taken unless another is faster by this much. */
#define WORTH 1.02
/* And a step that may run out of memory, as its interval says: over one that does not. */
#define DARING 1.1
/* Host memory of a machine with eight GPUs: 2 TB are usual, twice as much is rare. */
#define HOST_MOST 4e12
/* One way, of a GPU: PCIe 5.0 x16 as measured on an H200 host (55.5 GB/s), 4.0 half of it. */
#define PCIE_GBS 55.5

struct choice {
	enum train_parallelism way;
	bool reshard;
};

/* From the plainest to what shards most. */
static size_t choices(enum train_target t, const struct train_config *q, bool fixed,
		      struct choice *out)
{
	int each = place_per_node(&q->place) / q->tp;
	size_t n = 0;

	if (fixed || t == TARGET_LAUNCH || q->tp * q->pp * q->cp * q->ep > 1) {
		out[n++] = (struct choice){ q->way, q->reshard };
		return n;
	}
	if (t == TARGET_DEEPSPEED || t == TARGET_ACCELERATE)
		out[n++] = (struct choice){ TRAIN_DDP, false };
	if (t == TARGET_DEEPSPEED) {
		out[n++] = (struct choice){ TRAIN_ZERO1, false };
		out[n++] = (struct choice){ TRAIN_ZERO2, false };
		out[n++] = (struct choice){ TRAIN_ZERO3, true };
		return n;
	}
	out[n++] = (struct choice){ TRAIN_FSDP, false };
	out[n++] = (struct choice){ TRAIN_FSDP, true };
	if (q->place.nodes > 1 && each > 1 && q->dp * q->cp % each == 0)
		out[n++] = (struct choice){ TRAIN_HSDP, true };
	return n;
}

void train_setup_parallelism(struct train_config *q, enum train_target target,
			     enum train_parallelism way, bool reshard)
{
	if (way != q->way) {
		q->way = way;
		q->sync_each_micro = train_parallelism_shards(way) || way == TRAIN_ZERO2;
		q->reduce_fp32 = target != TARGET_DEEPSPEED && train_parallelism_fp32(way);
	}
	q->reshard = reshard;
	/* Groups of a machine each, unless others were told. */
	if (way == TRAIN_HSDP && q->shard <= 1)
		q->shard = place_per_node(&q->place) / q->tp;
	/* As the files say that are written. */
	if (target != TARGET_LAUNCH)
		q->overlap = target != TARGET_DEEPSPEED || way != TRAIN_DDP;
	if (target == TARGET_DEEPSPEED && way == TRAIN_DDP) {
		q->reduce_fp32 = false;
		q->bucket_bytes = DEEPSPEED_REDUCE;
	}
}

/* What may not fit counts for less. */
static double worth(const struct train_try *t)
{
	return t->sure ? t->tokens_s : t->tokens_s / DARING;
}

/* The fastest micro-batch of the same global batch; a larger one has to be worth it. */
static void train_setup_try_one(struct arena *a, const struct train_config *told,
				enum train_target target, const struct train_bounds *b,
				double parameters, struct train_try *t, struct train_config *best)
{
	struct train_answer *p = ARENA_NEW(a, struct train_answer);
	struct train_config *q = ARENA_NEW(a, struct train_config);
	struct train_try now;
	struct err e = { 0 };
	int most, all = told->global_batch;

	*q = *told;
	train_setup_parallelism(q, b->way ? TARGET_LAUNCH : target, t->way, t->reshard);
	q->recompute = t->recompute;
	if (target == TARGET_DEEPSPEED && t->way != TRAIN_DDP)
		q->bucket_bytes = 2 * train_bucket(parameters);
	else if (b->bucket && t->way == told->way)
		q->bucket_bytes = told->bucket_bytes;
	*best = *q;
	if (train_config_complete(a, q, &e) < 0)
		return;
	most = train_largest_micro_batch(a, q, true);
	for (int m = 1; m <= most; m++) {
		if (q->dp < 1 || all % (m * q->dp) != 0 ||
		    (b->micro_batch && m != told->micro_batch))
			continue;
		q->micro_batch = m;
		q->accumulation = all / (m * q->dp);
		q->global_batch = all;
		train_predict(a, q, p);
		now = *t;
		now.fits = p->memory.fits;
		now.sure = p->memory.all.high <= p->memory.limit;
		now.tokens_s = p->tokens_s.value;
		now.step_s = p->time.total.value;
		now.memory = p->memory.total;
		now.memory_high = p->memory.all.high;
		now.micro_batch = m;
		now.accumulation = q->accumulation;
		if (!now.fits || (t->fits && worth(&now) < worth(t) * 1.005))
			continue;
		*t = now;
		*best = *q;
	}
}

static const char *train_setup_name_of(struct arena *a, const struct train_try *t)
{
	const char *way = train_way_names[t->way];

	if (t->way == TRAIN_FSDP)
		way = t->reshard ? "FSDP" : "FSDP without resharding";
	return arena_printf(a, "%s%s", way,
			    t->recompute == TRAIN_FULL ? " with recomputation" : "");
}

/* Which of all is taken: the first of those that are as fast as the fastest. */
static size_t train_setup_pick(const struct train_setup *s)
{
	double most = 0;

	for (size_t i = 0; i < s->n_tries; i++)
		most = fmax(most, s->tries[i].fits ? worth(&s->tries[i]) : 0);
	for (size_t i = 0; i < s->n_tries; i++)
		if (s->tries[i].fits && worth(&s->tries[i]) * WORTH >= most)
			return i;
	return s->n_tries;
}

/* "2.1 % faster" */
static const char *apart(struct arena *a, const struct train_try *t, const struct train_try *than)
{
	double part = 100 * (t->tokens_s / than->tokens_s - 1);

	return arena_printf(a, "%.1f %% %s", fabs(part), part < 0 ? "slower" : "faster");
}

static const char *choice_why(struct arena *a, const struct train_setup *s, size_t taken)
{
	const struct train_try *t = &s->tries[taken], *faster = NULL, *plainer = NULL;

	for (size_t i = 0; i < s->n_tries; i++) {
		const struct train_try *o = &s->tries[i];

		if (i < taken && (!plainer || o->fits))
			plainer = o;
		if (o->fits && o->tokens_s > t->tokens_s &&
		    (!faster || o->tokens_s > faster->tokens_s))
			faster = o;
	}
	if (!plainer)
		return arena_printf(
			a, "%s fits (%.1f GB per GPU, predicted), and %s%s",
			train_setup_name_of(a, t), t->memory / 1e9,
			!faster ? "no option with more sharding is predicted to be faster"
				: arena_printf(a, "%s is predicted to be only %s",
					       train_setup_name_of(a, faster), apart(a, faster, t)),
			!faster || faster->sure ? ""
						: arena_printf(a, " and may need up to %.1f GB",
							       faster->memory_high / 1e9));
	if (!plainer->fits)
		return arena_printf(a, "%s does not fit; %s does (%.1f GB per GPU, predicted)",
				    train_setup_name_of(a, plainer), train_setup_name_of(a, t),
				    t->memory / 1e9);
	if (t->sure && !plainer->sure)
		return arena_printf(
			a,
			"%s may need up to %.1f GB per GPU, which does not fit; %s fits with a "
			"margin (%.1f GB, predicted) and is predicted to be %s",
			train_setup_name_of(a, plainer), plainer->memory_high / 1e9,
			train_setup_name_of(a, t), t->memory / 1e9, apart(a, t, plainer));
	return arena_printf(
		a, "%s (%.1f GB per GPU) is predicted to be %.0f %% faster than %s (%.1f GB%s)",
		train_setup_name_of(a, t), t->memory / 1e9,
		100 * (t->tokens_s / plainer->tokens_s - 1), train_setup_name_of(a, plainer),
		plainer->memory / 1e9,
		plainer->micro_batch == t->micro_batch
			? ""
			: arena_printf(a, " with its largest micro-batch, %d",
				       plainer->micro_batch));
}

/* Where CPU and GPU share one memory, what is moved to the host stays where it was. */
static void train_setup_no_offload(struct arena *a, struct train_setup *s)
{
	*s->after = *s->before;
	s->fits = false;
	s->compile_why = "the model does not fit";
	s->fits_why = arena_printf(a,
				   "%.1f GB of %.1f GB required on each GPU, and no other option "
				   "fits. CPU and GPU share one memory, so offload frees nothing: "
				   "use more machines or a shorter sequence",
				   s->before->memory.total / 1e9, s->before->memory.limit / 1e9);
	s->why = "nothing fits";
}

/*
 * Bytes of a parameter that cross PCI Express in a step, at least. FSDP keeps its FP32 shard on the
 * host: it comes for the forward and for the backward pass of each micro-batch, whose gradient goes
 * back. DeepSpeed sends each micro-batch's 16-bit gradient and takes it back to add the next to it,
 * and takes the weights once; if they are on the host as well, forward and backward.
 */
static double crossing(const struct train_offload *o, bool deepspeed, double micros)
{
	if (!deepspeed)
		return (4 + 4 + 4) * micros;
	return (2 + 2) * micros + (o->weights ? (2 + 2) * micros : 0) + 2;
}

static void train_setup_offload(struct arena *a, struct train_setup *s, struct train_config *q)
{
	struct train_answer *p = s->after;
	struct train_offload *o = &s->offload;
	bool deepspeed = s->target == TARGET_DEEPSPEED;
	bool narrow = deepspeed && (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP16);
	double parts;

	train_setup_parallelism(q, s->target, deepspeed ? TRAIN_ZERO3 : TRAIN_FSDP, true);
	q->recompute = TRAIN_FULL;
	q->micro_batch = 1;
	q->accumulation = q->dp > 0 && q->global_batch >= q->dp ? q->global_batch / q->dp : 1;
	train_predict(a, q, p);
	parts = p->q.dp > 0 ? p->q.dp : 1;
	o->optimizer = true;
	o->saved_bytes = p->memory.master + p->memory.states + p->memory.gradients;
	/* FSDP's switch takes the weights as well, whether or not they would fit. */
	o->weights = !deepspeed || p->memory.total - o->saved_bytes > p->memory.limit;
	if (o->weights)
		o->saved_bytes += p->memory.weights;
	o->moved_bytes = crossing(o, deepspeed, p->q.accumulation) * p->parameters / parts;
	/* The host's update takes FP32 gradients. */
	o->host_bytes = o->saved_bytes + (narrow ? p->memory.gradients : 0);
	o->host_bytes *= s->gpus_each > 0 ? s->gpus_each : 1;
	o->step_s_least = o->moved_bytes / 1e9 / PCIE_GBS;
	s->fits = p->memory.total - o->saved_bytes <= p->memory.limit && o->host_bytes <= HOST_MOST;
	o->why = arena_printf(
		a,
		"required to fit: it frees %.1f GB on each GPU (at least %.0f GB of "
		"host memory per machine). It moves %.2f GB per GPU in every step, "
		"at least %.2f s over PCIe 5.0 x16 (%.1f GB/s, measured on an H200 "
		"host). The weight update on the CPU comes on top; it is not predicted",
		o->saved_bytes / 1e9, o->host_bytes / 1e9, o->moved_bytes / 1e9, o->step_s_least,
		PCIE_GBS);
	if (o->host_bytes > HOST_MOST)
		s->fits_why =
			arena_printf(a,
				     "offload requires %.1f TB of host memory on each machine, "
				     "more than usual: use more GPUs or a smaller model",
				     o->host_bytes / 1e12);
	else if (!s->fits)
		s->fits_why = arena_printf(a,
					   "even with offload %.1f GB of %.1f GB is required on "
					   "each GPU: use more GPUs or a shorter sequence",
					   (p->memory.total - o->saved_bytes) / 1e9,
					   p->memory.limit / 1e9);
}

/* "1.12 times (1.05 to 1.19)". */
static const char *train_gain_text(struct arena *a, const struct figure *gain)
{
	return arena_printf(a, "%.2f times (%.2f to %.2f)", gain->value, gain->low, gain->high);
}

static void train_setup_compile(struct arena *a, struct train_setup *s,
				const struct train_config *told)
{
	struct train_config *with = ARENA_NEW(a, struct train_config);
	struct figure gain;

	*with = s->after->q;
	if (with->compile) {
		s->compile = true;
		s->compile_why = "as given";
		return;
	}
	if (with->way == TRAIN_ZERO3) {
		s->compile_why = "ZeRO-3 fetches weights by hooks, which break compiled graphs";
		return;
	}
	with->compile = true;
	gain = train_ratio(with, &s->after->q);
	s->compile = gain.value > WORTH && told->attention != TRAIN_EAGER;
	s->compile_why = arena_printf(
		a, "predicted: %s of the tokens/s without it%s", train_gain_text(a, &gain),
		s->compile			 ? ""
		: told->attention == TRAIN_EAGER ? "; off, because attention is eager"
						 : "; not worth the compile time");
}

/* Every way with everything kept comes before those that recompute. */
static void list_tries(const struct choice *c, size_t n, const struct train_config *told,
		       bool fixed, struct train_setup *out)
{
	static const enum train_recompute both[] = { TRAIN_KEEP_ALL, TRAIN_FULL };

	for (size_t k = 0; k < (fixed ? 1 : 2); k++)
		for (size_t i = 0; i < n && out->n_tries < TRAIN_TRIES; i++)
			out->tries[out->n_tries++] =
				(struct train_try){ .way = c[i].way,
						    .reshard = c[i].reshard,
						    .recompute =
							    fixed ? told->recompute : both[k] };
}

int train_setup_within(struct arena *a, const struct train_config *told, enum train_target target,
		       const struct gen_cluster *cluster, const struct train_bounds *bounds,
		       struct train_setup *out, struct err *e)
{
	struct train_config *best = arena_array(a, TRAIN_TRIES, sizeof(*best));
	struct train_config *q = ARENA_NEW(a, struct train_config);
	struct choice c[8];
	size_t n = choices(target, told, bounds->way, c), taken;

	*out = (struct train_setup){ .target = target, .fits = true, .clip = true };
	if (told->place.nodes < 1 || told->place.gpus < told->place.nodes)
		return err_set(e, -EINVAL, "%d GPUs in %d machines", told->place.gpus,
			       told->place.nodes);
	out->gpus_each = told->place.gpus / told->place.nodes;
	out->before = ARENA_NEW(a, struct train_answer);
	out->after = ARENA_NEW(a, struct train_answer);
	train_predict(a, told, out->before);
	list_tries(c, n, told, bounds->recompute, out);
	for (size_t i = 0; i < out->n_tries; i++)
		train_setup_try_one(a, told, target, bounds, out->before->parameters,
				    &out->tries[i], &best[i]);
	taken = train_setup_pick(out);
	*q = *told;
	if (taken < out->n_tries) {
		train_predict(a, &best[taken], out->after);
		out->why = choice_why(a, out, taken);
		out->gain = train_ratio(&out->after->q, told);
		train_setup_compile(a, out, told);
	} else if (target == TARGET_LAUNCH) {
		*out->after = *out->before;
		out->fits = false;
		out->fits_why = out->before->limit_why;
	} else if (told->place.gpu && told->place.gpu->unified) {
		train_setup_no_offload(a, out);
	} else {
		train_setup_offload(a, out, q);
		out->why = out->offload.why;
		out->compile_why = "with offload the GPU waits for PCIe, not for kernels";
	}
	train_setup_cores(a, cluster, out);
	return 0;
}

int train_setup_make(struct arena *a, const struct train_config *told, enum train_target target,
		     const struct gen_cluster *cluster, struct train_setup *out, struct err *e)
{
	return train_setup_within(a, told, target, cluster, &(struct train_bounds){ 0 }, out, e);
}

/* What the CPUs of a machine are for beside its GPUs: workers that load data, threads. */

enum { WORKERS_MOST = 16, WORKERS_GUESS = 4 };

/* CPUs and cores of the poorest machine; 0: not known. */
static void cpus_of(const struct gen_cluster *c, long long *threads, long long *cores, int *nodes)
{
	*threads = *cores = *nodes = 0;
	for (size_t i = 0; c && i < c->n; i++) {
		const struct machine *m = c->nodes[i].facts;
		long long t = m ? fact_or(&m->cpu.threads, 0) : 0;
		long long k = m ? fact_or(&m->cpu.cores, 0) : 0;

		if (t > 0 && (!*threads || t < *threads)) {
			*threads = t;
			*cores = k > 0 ? k : t;
			*nodes = (int)m->cpu.nodes.n;
		}
	}
}

static void workers(struct arena *a, struct train_setup *s, long long threads)
{
	const struct train_config *q = &s->after->q;
	double rate = s->after->time.total.value > 0
			      ? q->micro_batch * q->accumulation / s->after->time.total.value
			      : 0;
	/* One CPU of a GPU's share stays with the process that trains. */
	int room = threads > 0 ? (int)(threads / s->gpus_each) - 1 : WORKERS_GUESS;
	double need;

	room = room < 1 ? 1 : room > WORKERS_MOST ? WORKERS_MOST : room;
	if (q->loader_s > 0 && rate > 0) {
		need = fmax(1, ceil(rate * q->loader_s * 1.25));
		s->workers = (int)fmin(need, room);
		s->workers_why =
			arena_printf(a,
				     "%.2f samples/s per GPU (predicted) x %.4g s per sample "
				     "(measured) keep %.2f workers busy; plus 25 %%%s",
				     rate, q->loader_s, rate * q->loader_s,
				     need > room ? arena_printf(a,
								", but only %d fit on the CPUs: "
								"loading will limit training",
								room)
						 : "");
	} else {
		s->workers = room < WORKERS_GUESS ? room : WORKERS_GUESS;
		s->workers_why =
			arena_printf(a, "time per sample unknown (--loader): %d, %s", s->workers,
				     threads > 0 ? arena_printf(a, "of the %lld CPUs per GPU",
								threads / s->gpus_each)
						 : "and the number of CPUs is unknown");
	}
	s->prefetch = q->loader_s > 0 && s->workers == room ? 4 : 2;
	s->prefetch_why =
		s->prefetch == 4
			? "batches prefetched per worker: more, because no more workers fit"
			: "batches prefetched per worker: enough if the workers keep up";
}

void train_setup_cores(struct arena *a, const struct gen_cluster *cluster, struct train_setup *s)
{
	long long threads, cores;
	int each;

	cpus_of(cluster, &threads, &cores, &s->numa_nodes);
	workers(a, s, threads);
	each = cores > 0 ? (int)(cores / s->gpus_each) - s->workers : 1;
	s->threads = each < 1 ? 1 : each > 8 ? 8 : each;
	s->threads_why = cores > 0 ? arena_printf(a,
						  "%lld cores per GPU, %d of them for loader "
						  "workers; at most 8 are used; torchrun's "
						  "default is 1",
						  cores / s->gpus_each, s->workers)
				   : "number of cores unknown: torchrun's default";
}

/*
 * OMP_NUM_THREADS, which torchrun sets to 1 where nobody does; --numa-binding of torchrun (PyTorch
 * 2.9, docs.pytorch.org/docs/2.9/elastic/numa.html; it needs numactl), read 2026-11-21.
 */

static void threads(struct arena *a, const struct train_setup *s, struct gen_env *e)
{
	ARENA_ADD(a, e->vars, e->n) = (struct gen_var){ .name = "OMP_NUM_THREADS",
							.value = arena_printf(a, "%d", s->threads),
							.library = "OpenMP, PyTorch",
							.reason = s->threads_why };
}

/* In front of what is started, which is the word with this reason. */
static void bind(struct arena *a, const struct train_setup *s, struct gen_command *c)
{
	size_t at = 0;

	while (at < c->n &&
	       !(c->words[at].reason && str_starts(c->words[at].reason, "the command")))
		at++;
	if (at == c->n || c->n >= GEN_WORDS_MAX)
		return;
	gen_word_add(a, c, "", NULL);
	memmove(&c->words[at + 1], &c->words[at], (c->n - 1 - at) * sizeof(*c->words));
	c->words[at] = (struct gen_word){
		"--numa-binding=node",
		arena_printf(a,
			     "%d NUMA nodes: each process stays on the CPUs of its GPU (PyTorch "
			     "2.9 and later, with numactl; remove it for older releases)",
			     s->numa_nodes)
	};
}

void train_launch_fill(struct arena *a, const struct train_setup *s, struct gen_envs *envs,
		       struct gen_launch *l)
{
	struct train_items items = { 0 };

	for (size_t i = 0; i < envs->c->n; i++)
		threads(a, s, &envs->of[i]);
	for (size_t i = 0; i < l->n && s->numa_nodes > 1; i++)
		bind(a, s, &l->commands[i]);
	if (!s->fits) {
		gen_note_add(a, l, arena_printf(a, "does not fit: %s", s->fits_why));
		return;
	}
	train_items_trainer(a, s, &items);
	gen_note_add(a, l,
		     arena_printf(a, "predicted: %.4g tokens/s (%.4g to %.4g) with %s",
				  s->after->tokens_s.value, s->after->tokens_s.low,
				  s->after->tokens_s.high, train_way_names[s->after->q.way]));
	for (size_t i = 0; i < items.n; i++)
		gen_note_add(a, l,
			     arena_printf(a, "for the program: --%s %s (%s)", items.at[i].path,
					  items.at[i].value, items.at[i].reason));
}
