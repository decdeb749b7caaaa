/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes are worth it: what the prediction gains by, what memory needs, what is wrong. */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/train_edit.h"

/* Below this a change is noise. */
#define WORTH 1.02

static bool pays(const struct train_setup *s)
{
	return s->fits && (!s->before->memory.fits || s->gain.value >= WORTH);
}

static const char *train_edit_make_gain_of(const struct train_edit *e, const struct train_setup *s)
{
	if (!s->before->memory.fits)
		return arena_printf(
			e->a,
			"does not fit as configured: %.1f GB of %.1f GB on each GPU (predicted)",
			s->before->memory.total / 1e9, s->before->memory.limit / 1e9);
	return "predicted to be faster in combination with the other changes";
}

/* One item of the file that would be written, with its own reason. */
static void apply(struct train_edit *e, const struct train_items *items, const char *path,
		  const char *more)
{
	const struct train_item *i = train_item_find(items, path);

	if (i)
		train_edit_set(e, path, i->value, i->text,
			       more ? arena_printf(e->a, "%s; %s", i->reason, more) : i->reason);
}

static bool on(const struct train_edit *e, const char *path)
{
	struct markup_node own;
	bool v;

	return markup_bool(train_edit_bare(train_edit_at(e, path), &own), &v) && v;
}

static double number(const struct train_edit *e, const char *path, double usual)
{
	struct markup_node own;
	double v;

	return markup_number(train_edit_bare(train_edit_at(e, path), &own), &v) ? v : usual;
}

static const char *const of_one[] = {
	"backward_prefetch",  "forward_prefetch",  "use_orig_params",
	"sync_module_states", "limit_all_gathers", "sharding_strategy"
};

/* near, with its prefix, is a key that FSDP 2 does not use, and the file is of version 2. */
static bool gone_in_two(const struct train_edit *e, const char *prefix, const char *near)
{
	const char *name = strrchr(near, '.') ? strrchr(near, '.') + 1 : near;
	const char *dot = *prefix ? "." : "";

	if (number(e, arena_printf(e->a, "%s%sfsdp_version", prefix, dot), 1) != 2 &&
	    number(e, arena_printf(e->a, "%s%sversion", prefix, dot), 1) != 2)
		return false;
	name += strncmp(name, "fsdp_", 5) == 0 ? 5 : 0;
	for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++)
		if (strcmp(name, of_one[i]) == 0)
			return true;
	return false;
}

/* --- what any of these files can have --------------------------------------------------------- */
static void slips(struct train_edit *e, const struct markup_node *map, const char *prefix,
		  int depth)
{
	for (const struct markup_node *c = map->first; c; c = c->next) {
		const char *name = c->key && c->key->kind == MARKUP_SCALAR ? c->key->text : NULL;
		const char *path, *near;
		const struct train_key *k;

		if (!name || strcmp(name, "<<") == 0 || strlen(name) > 100)
			continue;
		path = *prefix ? arena_printf(e->a, "%s.%s", prefix, name) : name;
		k = train_key(e->format, path);
		if (k && c->kind == MARKUP_MAP && (k->type == KEY_OBJECT || k->type == KEY_STRICT))
			slips(e, c, path, depth + 1);
		else if (!k && e->format == TRAINER_FILE && c->kind == MARKUP_MAP && depth < 3)
			slips(e, c, "", depth + 1);
		if (k || (near = train_key_near(e->a, e->format, path)) == NULL)
			continue;
		near = *prefix ? arena_printf(e->a, "%s.%s", prefix, near) : near;
		if (train_edit_at(e, near))
			continue;
		if (gone_in_two(e, prefix, near)) {
			train_edit_drop(e, c, "misspelled key of FSDP 1; version 2 ignores it");
			continue;
		}
		train_edit_rename(e, c, near,
				  arena_printf(e->a, "%s has no key %s",
					       train_schemas[e->format].name, path));
	}
}

static void drop(struct train_edit *e, const char *path, const char *reason)
{
	const struct markup_node *n = train_edit_at(e, path);

	if (n)
		train_edit_drop(e, n, reason);
}

/* --- DeepSpeed -------------------------------------------------------------------------------- */
/* In the order of the file, so that what is taken out from one map does not overlap. */
static void dead_in_stage(struct train_edit *e, int stage)
{
	const struct markup_node *map = train_edit_at(e, "zero_optimization");

	for (const struct markup_node *c = map && map->kind == MARKUP_MAP ? map->first : NULL; c;
	     c = c->next) {
		const char *name = c->key && c->key->kind == MARKUP_SCALAR ? c->key->text : "";
		const char *path = arena_printf(e->a, "zero_optimization.%s", name);

		/* Offload has reasons of its own. */
		if (zero_key_dead(train_key(DEEPSPEED_FILE, path), stage) &&
		    !str_starts(name, "offload_"))
			train_edit_drop(e, c,
					arena_printf(e->a, "%s has no effect with ZeRO stage %d",
						     name, stage));
	}
}

static void train_edit_make_no_offload(struct train_edit *e, const struct train_setup *s,
				       const char *section)
{
	const char *path = arena_printf(e->a, "zero_optimization.offload_%s", section);
	const char *device = markup_text(train_edit_at(e, arena_printf(e->a, "%s.device", path)));

	if (s->offload.optimizer || !device ||
	    (strcasecmp(device, "cpu") != 0 && strcasecmp(device, "nvme") != 0))
		return;
	if (s->after->q.place.gpu && s->after->q.place.gpu->unified) {
		drop(e, path, "CPU and GPU share one memory: offload frees nothing");
		return;
	}
	if (!s->fits)
		return;
	drop(e, path,
	     arena_printf(e->a,
			  "training fits without offload (%.1f GB of %.1f GB on each GPU, "
			  "predicted); offload moves data over PCIe in each step",
			  s->after->memory.total / 1e9, s->after->memory.limit / 1e9));
}

static void train_edit_make_batches(struct train_edit *e, const struct train_setup *s,
				    const struct train_items *items, const char *why)
{
	double all = number(e, "train_batch_size", 0);
	double micro = number(e, "train_micro_batch_size_per_gpu", 0);
	double steps = number(e, "gradient_accumulation_steps", 1);
	bool wrong = all > 0 && micro > 0 && steps > 0 && all != micro * steps * s->before->q.dp;

	if (!pays(s) && !wrong)
		return;
	apply(e, items, "train_micro_batch_size_per_gpu", why);
	apply(e, items, "gradient_accumulation_steps", NULL);
	if (wrong)
		train_edit_set(e, "train_batch_size",
			       arena_printf(e->a, "%d", s->after->q.global_batch), false,
			       arena_printf(e->a,
					    "%.0f is not %.0f x %.0f x %d GPUs: the values per GPU "
					    "are used, which give %d in total",
					    all, micro, steps, s->before->q.dp,
					    s->after->q.global_batch));
	else if (train_edit_at(e, "train_batch_size"))
		apply(e, items, "train_batch_size", NULL);
}

static void train_edit_make_deepspeed(struct train_edit *e, const struct train_setup *s,
				      const struct train_items *items)
{
	static const char *const slow[] = { "wall_clock_breakdown", "comms_logger.enabled",
					    "flops_profiler.enabled", "memory_breakdown" };
	const char *why = pays(s) ? train_edit_make_gain_of(e, s) : NULL;
	double told = number(e, "zero_optimization.stage", 0);
	int was = told > 0 && told <= 3 ? (int)told : 0, stage = was;
	double bucket = number(e, "zero_optimization.reduce_bucket_size", 5e8);

	train_edit_make_batches(e, s, items, why);
	if (on(e, "bf16.enabled") && on(e, "fp16.enabled"))
		train_edit_set(e, "fp16.enabled", "false", false,
			       "fp16 and bf16 are both on: DeepSpeed fails with an assertion");
	if (pays(s) && s->after->q.way <= TRAIN_ZERO3) {
		stage = (int)s->after->q.way;
		if (stage != was)
			apply(e, items, "zero_optimization.stage", why);
	}
	train_edit_make_no_offload(e, s, "optimizer");
	train_edit_make_no_offload(e, s, "param");
	if (s->offload.optimizer && !train_edit_at(e, "zero_optimization.offload_optimizer"))
		train_edit_set(e, "zero_optimization.offload_optimizer",
			       "{\"device\": \"cpu\", \"pin_memory\": true}", false,
			       s->offload.why);
	if (stage > 0 && !on(e, "zero_optimization.overlap_comm") &&
	    (stage < 3 || train_edit_at(e, "zero_optimization.overlap_comm")))
		train_edit_set(e, "zero_optimization.overlap_comm", "true", false,
			       "when off, gradient reduction does not overlap");
	if (stage > 0 && (bucket < 1e7 || bucket * 2 > s->after->parameters))
		apply(e, items, "zero_optimization.reduce_bucket_size",
		      bucket < 1e7 ? "smaller buckets are latency-bound"
				   : "the old size gave one or two collectives at the end");
	dead_in_stage(e, stage);
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		if (on(e, slow[i]))
			train_edit_set(e, slow[i], "false", false,
				       "the option waits for the GPU; enable it only to measure");
}

/* --- the Trainer ------------------------------------------------------------------------------ */
static void train_edit_make_loaders(struct train_edit *e, const struct train_setup *s,
				    const struct train_items *items)
{
	const struct markup_node *n = train_edit_at(e, "dataloader_num_workers");
	double has = number(e, "dataloader_num_workers", 0);
	bool known = s->after->q.loader_s > 0;

	if (known ? has < s->workers : n && has <= 0)
		apply(e, items, "dataloader_num_workers", NULL);
	if (known && s->prefetch > 2)
		apply(e, items, "dataloader_prefetch_factor", NULL);
	n = train_edit_at(e, "dataloader_pin_memory");
	if (n && !on(e, "dataloader_pin_memory"))
		apply(e, items, "dataloader_pin_memory", NULL);
}

static void train_edit_make_trainer(struct train_edit *e, const struct train_setup *s,
				    const struct train_items *items)
{
	const struct markup_node *kwargs = train_edit_at(e, "gradient_checkpointing_kwargs");
	const struct markup_node *how = kwargs ? markup_get(kwargs, "use_reentrant") : NULL;
	const char *why = pays(s) ? train_edit_make_gain_of(e, s) : NULL;
	bool reentrant;

	if (pays(s)) {
		if (s->after->q.micro_batch != s->before->q.micro_batch) {
			apply(e, items, "per_device_train_batch_size", why);
			apply(e, items, "gradient_accumulation_steps", NULL);
		}
		if (s->after->q.recompute != s->before->q.recompute)
			apply(e, items, "gradient_checkpointing", why);
	}
	if (s->fits && s->compile && !s->before->q.compile)
		apply(e, items, "torch_compile", NULL);
	if (on(e, "bf16") && on(e, "fp16"))
		train_edit_set(e, "fp16", "false", false,
			       "fp16 and bf16 are both on: the Trainer fails");
	if (on(e, "ddp_find_unused_parameters"))
		apply(e, items, "ddp_find_unused_parameters", NULL);
	if (how && markup_bool(how, &reentrant) && reentrant)
		train_edit_set(e, "gradient_checkpointing_kwargs.use_reentrant", "false", false,
			       "re-entrant checkpointing runs a nested backward pass");
	train_edit_make_loaders(e, s, items);
	if (s->after->q.way != TRAIN_DDP && s->after->q.place.gpus > 1 &&
	    !markup_text(train_edit_at(e, "deepspeed")) && !markup_text(train_edit_at(e, "fsdp")))
		train_edit_leave(
			e, 0, "deepspeed, fsdp",
			arena_printf(e->a,
				     "neither is set, and %s: generate its file with \"gputune "
				     "generate %s\" and name it here",
				     s->why, s->target == TARGET_DEEPSPEED ? "deepspeed" : "fsdp"));
}

/* --- Accelerate and FSDP ---------------------------------------------------------------------- */
/* The Trainer's file has another key for it than Accelerate's. */
static void train_edit_make_offload(struct train_edit *e, const char *front,
				    const struct train_items *items)
{
	const char *old = arena_printf(e->a, "%soffload_params", front),
		   *its = arena_printf(e->a, "%scpu_offload", front),
		   *why = "transformers' Trainer ignores offload_params";
	const struct train_item *i = train_item_find(items, "cpu_offload");

	if (e->format == ACCELERATE_FILE) {
		if (on(e, old))
			apply(e, items, old, NULL);
		return;
	}
	if (on(e, its))
		apply(e, items, its, NULL);
	if (on(e, old) && i && strcmp(i->value, "true") == 0 && !train_edit_at(e, its))
		train_edit_rename(e, train_edit_at(e, old), its, why);
	else
		drop(e, old, why);
}

static void train_edit_make_fsdp(struct train_edit *e, const char *section,
				 const struct train_items *items)
{
	const char *prefix = *section ? arena_printf(e->a, "%s.", section) : "";

	for (int named = 0; named < 2; named++) {
		const char *front = arena_printf(e->a, "%s%s", prefix, named ? "fsdp_" : "");

		if (number(e, arena_printf(e->a, "%sversion", front), 1) != 2)
			continue;
		for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++)
			drop(e, arena_printf(e->a, "%s%s", front, of_one[i]),
			     arena_printf(e->a, "%s is a key of FSDP 1; version 2 ignores it",
					  of_one[i]));
		if (markup_text(
			    train_edit_at(e, arena_printf(e->a, "%sreshard_after_forward", front))))
			apply(e, items, arena_printf(e->a, "%sreshard_after_forward", front),
			      "FSDP 2 expects true or false");
		train_edit_make_offload(e, front, items);
	}
}

static void train_edit_make_accelerate(struct train_edit *e, const struct train_setup *s,
				       const struct train_items *items)
{
	const char *why = pays(s) ? train_edit_make_gain_of(e, s) : NULL;
	const char *mixed = markup_text(train_edit_at(e, "mixed_precision"));

	if (train_edit_at(e, "num_processes"))
		apply(e, items, "num_processes", NULL);
	if (train_edit_at(e, "num_machines"))
		apply(e, items, "num_machines", NULL);
	if (s->after->q.place.nodes > 1 && !train_edit_at(e, "main_process_ip")) {
		apply(e, items, "main_process_ip", NULL);
		apply(e, items, "main_process_port", NULL);
	}
	if (mixed && strcasecmp(mixed, "no") == 0)
		apply(e, items, "mixed_precision", NULL);
	train_edit_make_fsdp(e, "fsdp_config", items);
	if (!pays(s))
		return;
	if (s->after->q.way == s->before->q.way && s->after->q.recompute != s->before->q.recompute)
		apply(e, items, "fsdp_config.fsdp_activation_checkpointing", why);
	if (s->after->q.way != s->before->q.way)
		train_edit_leave(e, 0, "distributed_type",
				 arena_printf(e->a,
					      "another parallelism is better (%s) and requires "
					      "another section: gputune generate accelerate",
					      s->why));
}

/* What was changed has to be of its language still: odd forms (tags beside commas) may not be. */
static void read_again(struct train_edit *e)
{
	TEXT_AUTO now = { 0 };
	struct markup m;
	struct err err = { 0 };

	if (!e->edits.n)
		return;
	edits_apply(&e->edits, &now);
	if (markup_read(e->a, now.s ? now.s : "", now.len, e->m.json, &m, NULL, &err) == 0)
		return;
	e->edits.n = 0;
	train_edit_leave(e, 0, "all changes",
			 "cannot parse the changed text: this file's form is not supported");
}

void train_edit_make(struct train_edit *e, const struct train_setup *s,
		     const struct train_meeting *m, const struct lint_on *lint)
{
	struct train_items items = { 0 };

	if (e->shell) {
		train_edit_shell(e, s, lint);
		return;
	}
	if (!e->root || e->root->kind != MARKUP_MAP)
		return;
	slips(e, e->root, "", 0);
	if (e->format == DEEPSPEED_FILE) {
		train_items_deepspeed(e->a, s, &items);
		train_edit_make_deepspeed(e, s, &items);
	} else if (e->format == TRAINER_FILE) {
		train_items_trainer(e->a, s, &items);
		train_edit_make_trainer(e, s, &items);
	} else if (e->format == ACCELERATE_FILE) {
		train_items_accelerate(e->a, s, m, &items);
		train_edit_make_accelerate(e, s, &items);
	} else {
		train_items_fsdp(e->a, s, &items);
		train_edit_make_fsdp(e, "", &items);
	}
	train_edit_types(e, e->root, "", 0);
	read_again(e);
}
