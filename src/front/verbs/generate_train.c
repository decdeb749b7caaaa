/* SPDX-License-Identifier: Apache-2.0 */
/* gputune generate deepspeed and the like: files of trainings, and changes of the user's own. */
#include "front/verbs/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "front/session.h"
#include "front/model_ask.h"
#include "models/generate/train_setup.h"
#include "models/training/fit.h"
#include "models/generate/page_generate.h"

/* The machines that were looked at as a place to train on. */
static int cluster_place(struct run *r, const struct gen_cluster *c, struct target_hw *p)
{
	const struct gen_node *n = &c->nodes[0];
	struct err e = { 0 };
	double mbps = 0;

	*p = (struct target_hw){ .gpu = gpu_kind_of(c->known, n->gpu) };
	if (n->facts && place_of(&r->arena, c->known, n->facts, p, &e) < 0)
		return complain(EXIT_BLIND, &e);
	if (!p->gpu)
		return complain_text(EXIT_BLIND, "%s has no GPU that is in the list (\"%s\")",
				     n->name, n->gpu);
	p->nodes = (int)c->n;
	p->gpus = (int)(n->gpus * c->n);
	for (size_t i = 0; i < c->n; i++)
		if (c->nodes[i].gpus != n->gpus || strcmp(c->nodes[i].gpu, n->gpu) != 0)
			return complain_text(EXIT_USAGE, "%s has other GPUs than %s",
					     c->nodes[i].name, n->name);
	for (size_t i = 0; i < n->n_ports; i++)
		if (gen_port_used(n, &n->ports[i]))
			mbps += (double)n->ports[i].rate_mbps;
	if (c->n > 1 && mbps > 0 && n->gpus)
		p->network = mbps / 8e3 / (double)n->gpus;
	return 0;
}

/* Named machines, of which nothing was seen, for the page. */
static void verb_generate_train_named(struct run *r, const struct target_hw *p,
				      struct gen_cluster *c)
{
	c->n = p->nodes > 0 && p->nodes <= GEN_NODES_MAX ? (size_t)p->nodes : 1;
	c->nodes = arena_array(&r->arena, c->n, sizeof(*c->nodes));
	for (size_t i = 0; i < c->n; i++)
		c->nodes[i] =
			(struct gen_node){ .name = arena_printf(&r->arena, "node-%zu", i),
					   .address = i || !r->value[OPT_HEAD] ? ""
									       : r->value[OPT_HEAD],
					   .control = "",
					   .from = "named",
					   .invented = true,
					   .platform = "",
					   .gpu = p->gpu->name,
					   .gpus = (size_t)p->gpus / c->n,
					   .unified = p->gpu->unified };
	gen_cluster_judge(&r->arena, c);
}

static int open_edit(struct run *r, enum train_target target, struct train_edit *e)
{
	const char *path = r->value[OPT_EDIT], *out = r->value[OPT_OUTPUT];
	const char *other;
	struct err err = { 0 };
	struct stat st;
	size_t len;
	char *text;

	if (out && lstat(out, &st) == 0)
		return complain_text(EXIT_USAGE,
				     "%s is there already: --edit writes new files alone", out);
	text = predict_file(r, path, LINT_TEXT_MAX, &len, NULL);
	if (!text)
		return EXIT_USAGE;
	if (train_edit_open(&r->arena, path, text, len, e, &err) < 0)
		return complain(EXIT_USAGE, &err);
	other = train_edit_other(e, target);
	return other ? complain_text(EXIT_USAGE, "%s", other) : 0;
}

/* What the options and the user's file say, as a question. */
static int verb_generate_train_ask(struct run *r, const struct gen_cluster *c,
				   struct train_edit *edit, struct train_config *q)
{
	struct target_hw *place = ARENA_NEW(&r->arena, struct target_hw);
	struct train_options w;
	struct err e = { 0 };
	int code;

	if (!r->value[OPT_MODEL])
		return complain_text(EXIT_USAGE, "generate %s needs --model", r->args[0]);
	if ((code = train_ask_words(r, &w)) != 0)
		return code;
	if (!w.on && (code = cluster_place(r, c, place)) != 0)
		return code;
	w.place = w.on ? NULL : place;
	if (edit)
		train_edit_read(edit, w.on ? 1 : place->gpus, &w);
	if (train_config_make(&r->arena, &w, q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	if ((code = train_ask_without_effect(r, q)) != 0)
		return code;
	if (r->value[OPT_CALIBRATION]) {
		struct train_fit *fit = ARENA_NEW(&r->arena, struct train_fit);

		if ((code = train_ask_constants(r, fit)) != 0)
			return code;
		q->fit = fit;
	}
	return train_ask_curves(r, q);
}

static int verb_generate_train_meeting(struct run *r, const struct gen_cluster *c,
				       struct train_meeting *m)
{
	long long port = 29500;

	m->head = r->value[OPT_HEAD] ? r->value[OPT_HEAD] : NULL;
	if (!m->head && c->n && *c->nodes[0].address)
		m->head = c->nodes[0].address;
	if (m->head && !gen_name_valid(m->head))
		return complain_text(EXIT_USAGE, "--head \"%s\" is no name or address of a machine",
				     m->head);
	if (r->value[OPT_PORT] &&
	    (parse_i64(r->value[OPT_PORT], &port) || port < 1 || port > 65535))
		return complain_text(EXIT_USAGE, "--port takes 1 to 65535, not \"%s\"",
				     r->value[OPT_PORT]);
	m->port = (int)port;
	return 0;
}

static void verb_generate_train_make_files(struct run *r, enum train_target target,
					   const struct train_meeting *m, struct train_view *v)
{
	struct arena *a = &r->arena;

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

int generate_write_new(struct run *r, const char *text, size_t len)
{
	const char *path = r->value[OPT_OUTPUT];
	int fd, why;

	if (r->file >= 0)
		return run_hand_over(r, text, len);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return complain_text(EXIT_USAGE, "%s cannot be written: %s", path, strerror(errno));
	why = fd_write_all(fd, text, len);
	if (why == 0 && fsync(fd) < 0)
		why = -errno;
	if (close(fd) < 0 && why == 0)
		why = -errno;
	if (why == 0)
		return 0;
	unlink(path);
	return complain_text(EXIT_BLIND, "%s cannot be written: %s", path, strerror(-why));
}

static int make_edit(struct run *r, struct train_edit *e, const struct gen_cluster *c,
		     const struct train_meeting *m, struct train_setup *s, struct train_view *v)
{
	const char *out = r->value[OPT_OUTPUT];
	struct lint_on on = { .node = c->n && c->nodes[0].facts ? &c->nodes[0] : NULL,
			      .nccl = c->n ? c->nodes[0].nccl : NULL,
			      .nccl_from = "the system's library" };
	TEXT_AUTO now = { 0 };
	TEXT_AUTO diff = { 0 };
	struct err err = { 0 };

	train_edit_make(e, s, m, &on);
	if (train_edit_settle(e, s->before->q.place.gpus, &on, s, &err) < 0)
		return complain(EXIT_USAGE, &err);
	edits_apply(&e->edits, &now);
	edits_diff(&r->arena, &e->edits, e->name, out ? out : e->name, &diff);
	v->edit = e;
	e->diff = arena_strdup(&r->arena, diff.s ? diff.s : "");
	return out ? generate_write_new(r, now.s ? now.s : "", now.len) : 0;
}

static int verb_generate_train_print_answer(struct run *r, const struct generate_view *v)
{
	const struct train_edit *e = v->train->edit;
	bool clean = v->train->setup->fits && !(e && e->n_faults);
	int code = clean ? EXIT_CLEAN : EXIT_FINDINGS;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &generate_result, v, code);
	if (r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "shell") == 0) {
		if (!v->train->setup->fits)
			return complain_text(code, "it does not fit: %s",
					     v->train->setup->fits_why);
		fputs(v->train->edit ? v->train->edit->diff : v->train->file.text, r->out);
		return code;
	}
	return run_print_doc(r, page_generate(&r->arena, v), "gputune generate", code);
}

static int run_train(struct run *r, enum train_target target, struct generate_nodes *nodes)
{
	struct train_config *q = ARENA_NEW(&r->arena, struct train_config);
	struct train_setup *s = ARENA_NEW(&r->arena, struct train_setup);
	struct train_edit *e = r->value[OPT_EDIT] ? ARENA_NEW(&r->arena, struct train_edit) : NULL;
	struct train_view train = { .setup = s };
	struct gen_envs envs;
	struct generate_view v = { .kind = r->args[0],
				   .cluster = &nodes->cluster,
				   .envs = &envs,
				   .only = -1,
				   .named = r->value[OPT_ON] != NULL,
				   .train = &train };
	struct train_bounds bounds = { 0 };
	struct train_meeting m;
	struct err err = { 0 };
	int code = e ? open_edit(r, target, e) : 0;

	if (!code)
		code = verb_generate_train_ask(r, &nodes->cluster, e, q);
	if (code)
		return code;
	if (r->value[OPT_ON])
		verb_generate_train_named(r, &q->place, &nodes->cluster);
	if ((code = verb_generate_train_meeting(r, &nodes->cluster, &m)) != 0)
		return code;
	gen_envs_make(&r->arena, &nodes->cluster, FOR_OTHERS, &envs);
	if (e)
		bounds = train_edit_bounds(e);
	bounds.bucket = e && r->value[OPT_BUCKET];
	if (train_setup_within(&r->arena, q, target, &nodes->cluster, &bounds, s, &err) < 0)
		return complain(EXIT_USAGE, &err);
	verb_generate_train_make_files(r, target, &m, &train);
	if (e && (code = make_edit(r, e, &nodes->cluster, &m, s, &train)) != 0)
		return code;
	return verb_generate_train_print_answer(r, &v);
}

int generate_train_launch(struct run *r, const struct gen_cluster *c, struct gen_envs *envs,
			  struct gen_launch *l)
{
	struct train_config *q = ARENA_NEW(&r->arena, struct train_config);
	struct train_setup *s = ARENA_NEW(&r->arena, struct train_setup);
	struct err e = { 0 };
	int code;

	if (!r->value[OPT_MODEL])
		return 0;
	if ((code = verb_generate_train_ask(r, c, NULL, q)) != 0)
		return code;
	if (train_setup_make(&r->arena, q, TARGET_LAUNCH, c, s, &e) < 0)
		return complain(EXIT_USAGE, &e);
	train_launch_fill(&r->arena, s, envs, l);
	return 0;
}

int generate_train(struct run *r, enum train_target target)
{
	struct generate_nodes nodes = { 0 };
	int code = 0;

	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "generate %s takes no argument \"%s\"", r->args[0],
				     r->args[1]);
	if (r->value[OPT_FORMAT] && (strcmp(r->value[OPT_FORMAT], "systemd") == 0 ||
				     strcmp(r->value[OPT_FORMAT], "compose") == 0))
		return complain_text(EXIT_USAGE, "%s is no command: there is no %s of it",
				     r->args[0], r->value[OPT_FORMAT]);
	/* Named machines are read by the prediction, which counts their GPUs. */
	if (!r->value[OPT_ON])
		code = generate_nodes(r, &nodes);
	if (!code)
		code = run_train(r, target, &nodes);
	generate_nodes_close(&nodes);
	return code;
}
