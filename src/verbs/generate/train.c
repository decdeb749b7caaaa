/* SPDX-License-Identifier: Apache-2.0 */
/* gputune generate deepspeed and the like: files of trainings, and changes of the user's own. */
#include "verbs/generate/generate.h"

#include <string.h>

#include "base/text.h"
#include "models/training/fit.h"
#include "verbs/model_files.h"

/* The machines that were looked at as a place to train on. */
static int cluster_place(struct door *d, const struct gen_cluster *c, struct target_hw *p)
{
	const struct gen_node *n = &c->nodes[0];
	struct err e = { 0 };
	double mbps = 0;

	*p = (struct target_hw){ .gpu = gpu_kind_of(c->known, n->gpu) };
	if (n->facts && place_of(d->arena, c->known, n->facts, p, &e) < 0)
		return door_fail(d, EXIT_BLIND, &e);
	if (!p->gpu)
		return door_refuse(d, EXIT_BLIND, "the GPU of %s is not in the list (\"%s\")",
				   n->name, n->gpu);
	p->nodes = (int)c->n;
	p->gpus = (int)(n->gpus * c->n);
	for (size_t i = 0; i < c->n; i++)
		if (c->nodes[i].gpus != n->gpus || strcmp(c->nodes[i].gpu, n->gpu) != 0)
			return door_refuse(d, EXIT_USAGE, "%s and %s have different GPUs",
					   c->nodes[i].name, n->name);
	for (size_t i = 0; i < n->n_ports; i++)
		if (gen_port_used(n, &n->ports[i]))
			mbps += (double)n->ports[i].rate_mbps;
	if (c->n > 1 && mbps > 0 && n->gpus)
		p->network = mbps / 8e3 / (double)n->gpus;
	return 0;
}

static int open_edit(struct door *d, const char *path, enum train_target target,
		     struct train_edit *e)
{
	const char *other;
	struct err err = { 0 };
	size_t len;
	char *text = door_file(d, path, LINT_TEXT_MAX, &len, NULL);

	if (!text)
		return -EXIT_USAGE;
	if (train_edit_open(d->arena, path, text, len, e, &err) < 0)
		return door_fail(d, EXIT_USAGE, &err);
	other = train_edit_other(e, target);
	return other ? door_refuse(d, EXIT_USAGE, "%s", other) : 0;
}

/* What the options and the user's file say, as a question. */
static int train_question(struct generated *g, const struct generate_ask *ask,
			  struct train_edit *edit, struct train_config *q)
{
	const struct machine_ask *from = &ask->nodes.machine;
	const struct constants_ask *constants = &ask->constants;
	struct door *d = g->d;
	struct target_hw *place = ARENA_NEW(d->arena, struct target_hw);
	struct train_fit *fit = ARENA_NEW(d->arena, struct train_fit);
	struct train_options w;
	struct err e = { 0 };
	int code = ask->train.w.model ? door_train_options(d, &ask->train, from->capture, &w)
				      : door_refuse(d, EXIT_USAGE, "generate %s requires --model",
						    g->view.kind);

	if (code)
		return code;
	w.on = ask->nodes.on;
	if (!w.on && (code = cluster_place(d, &g->nodes.cluster, place)) != 0)
		return code;
	w.place = w.on ? NULL : place;
	if (edit)
		train_edit_read(edit, w.on ? 1 : place->gpus, &w);
	if (train_config_make(d->arena, &w, q, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	code = door_train_effect(d, &ask->train, q);
	if (!code && constants->calibration) {
		code = door_train_fit(d, constants->calibration, fit);
		q->fit = fit;
	}
	return code ? code
		    : door_train_curves(d, &ask->train, from,
					constants->no_calibration ? NULL : &constants->state, q);
}

static void make_files(struct arena *a, enum train_target target, const struct train_meeting *m,
		       struct train_view *v)
{
	if (target == TARGET_DEEPSPEED) {
		v->file.name = "ds_config.json";
		train_items_deepspeed(a, v->setup, &v->file.items);
		v->file.text = train_write_json(a, &v->file.items);
	} else if (target == TARGET_ACCELERATE) {
		v->file.name = "accelerate.yaml";
		train_items_accelerate(a, v->setup, m, &v->file.items);
		v->file.text = train_write_yaml(
			a, &v->file.items,
			arena_printf(a, "accelerate launch --config_file accelerate.yaml PROGRAM"));
	} else if (target == TARGET_FSDP) {
		v->file.name = "fsdp_config.json";
		train_items_fsdp(a, v->setup, &v->file.items);
		v->file.text = train_write_json(a, &v->file.items);
		v->torch_call = train_torch_call(a, v->setup);
	}
	train_items_trainer(a, v->setup, &v->arguments);
}

static int make_edit(struct generated *g, struct train_edit *e, const struct train_meeting *m,
		     struct train_setup *s)
{
	const struct gen_cluster *c = &g->nodes.cluster;
	struct lint_on on = { .node = c->n && c->nodes[0].facts ? &c->nodes[0] : NULL,
			      .nccl = c->n ? c->nodes[0].nccl : NULL,
			      .nccl_from = "the system's library" };
	TEXT_AUTO now = { 0 };
	TEXT_AUTO diff = { 0 };
	struct err err = { 0 };

	train_edit_make(e, s, m, &on);
	if (train_edit_settle(e, s->before->q.place.gpus, &on, s, &err) < 0)
		return door_fail(g->d, EXIT_USAGE, &err);
	edits_apply(&e->edits, &now);
	edits_diff(g->d->arena, &e->edits, e->name, g->d->file ? g->d->file : e->name, &diff);
	e->diff = arena_strdup(g->d->arena, diff.s ? diff.s : "");
	g->train.edit = e;
	g->edited = arena_strndup(g->d->arena, now.s ? now.s : "", now.len);
	g->edited_len = now.len;
	return 0;
}

/* Named machines, of which nothing was seen, for the page. */
static void named_machines(struct generated *g, const struct target_hw *p, const char *head)
{
	size_t n = p->nodes > 0 && p->nodes <= GEN_NODES_MAX ? (size_t)p->nodes : 1;

	generate_named(g->d->arena, p, n, head, &g->nodes.cluster);
	gen_cluster_judge(g->d->arena, &g->nodes.cluster);
}

static int train_files(struct generated *g, const struct generate_ask *ask,
		       enum train_target target, struct train_edit *e, struct train_config *q)
{
	struct train_setup *s = ARENA_NEW(g->d->arena, struct train_setup);
	struct train_bounds bounds = e ? train_edit_bounds(e) : (struct train_bounds){ 0 };
	struct gen_cluster *c = &g->nodes.cluster;
	struct train_meeting m = { .head = ask->head, .port = ask->port ? ask->port : 29500 };
	struct err err = { 0 };
	int code = 0;

	if (ask->nodes.on)
		named_machines(g, &q->place, ask->head);
	if (!m.head && c->n && *c->nodes[0].address)
		m.head = c->nodes[0].address;
	gen_envs_make(g->d->arena, c, FOR_OTHERS, &g->envs);
	bounds.bucket = e && ask->train.w.bucket_bytes > 0;
	if (train_setup_within(g->d->arena, q, target, c, &bounds, s, &err) < 0)
		return door_fail(g->d, EXIT_USAGE, &err);
	g->train.setup = s;
	make_files(g->d->arena, target, &m, &g->train);
	if (e)
		code = make_edit(g, e, &m, s);
	return code ? code : s->fits && !(e && e->n_faults) ? EXIT_CLEAN : EXIT_FINDINGS;
}

int generate_train(struct generated *g, const struct generate_ask *ask, enum train_target target)
{
	struct train_config *q = ARENA_NEW(g->d->arena, struct train_config);
	struct train_edit *e = ask->edit ? ARENA_NEW(g->d->arena, struct train_edit) : NULL;
	int code = 0;

	g->view.named = ask->nodes.on != NULL;
	g->view.train = &g->train;
	/* Named machines are read by the prediction, which counts their GPUs. */
	if (!ask->nodes.on)
		code = generate_nodes(g->d, ask, &g->nodes);
	if (!code && e)
		code = open_edit(g->d, ask->edit, target, e);
	code = code ? code : train_question(g, ask, e, q);
	return code ? code : train_files(g, ask, target, e, q);
}

int generate_train_launch(struct generated *g, const struct generate_ask *ask)
{
	struct train_config *q = ARENA_NEW(g->d->arena, struct train_config);
	struct train_setup *s = ARENA_NEW(g->d->arena, struct train_setup);
	struct err e = { 0 };
	int code;

	if (!ask->train.w.model)
		return 0;
	if ((code = train_question(g, ask, NULL, q)) != 0)
		return code;
	if (train_setup_make(g->d->arena, q, TARGET_LAUNCH, &g->nodes.cluster, s, &e) < 0)
		return door_fail(g->d, EXIT_USAGE, &e);
	train_launch_fill(g->d->arena, s, &g->envs, &g->launch);
	return 0;
}
