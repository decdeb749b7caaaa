/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was generated, as the files themselves: a shell script, systemd units, a compose file. Every
 * word of a command stays one word, whatever it holds; what a format cannot say is refused.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "render/display_text.h"
#include "tune/persist/quote.h"
#include "base/json.h"
#include "models/generate/page_generate.h"
#include "machine/knob/knob.h"

/* The first word is no assignment. */
static const char *command_word(struct arena *a, const char *s, bool first)
{
	return first && strchr(s, '=') ? shell_quote(a, s) : shell_word(a, s);
}

const char *command_line(struct arena *a, const struct gen_command *c)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < c->n; i++)
		text_printf(&t, "%s%s",
			    !i				  ? ""
			    : c->words[i].reason && i > 1 ? " \\\n    "
							  : " ",
			    command_word(a, c->words[i].text, i == 0));
	return arena_strdup(a, t.s ? t.s : "");
}

/* A comment ends at a line's end, whatever it holds. */
static void comment(FILE *out, const char *indent, const char *s)
{
	TEXT_AUTO t = { 0 };

	text_printf(&t, "%s# ", indent);
	display_clean(&t, s, false);
	fprintf(out, "%s\n", t.s);
}

static void exports(FILE *out, struct arena *a, const struct gen_env *e, const char *indent)
{
	for (size_t i = 0; i < e->n; i++) {
		comment(out, indent, e->vars[i].reason);
		fprintf(out, "%sexport %s=%s\n", indent, e->vars[i].name,
			shell_quote(a, e->vars[i].value));
	}
}

static void reasons(FILE *out, struct arena *a, const struct gen_command *c, const char *indent)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->words[i].reason)
			comment(out, indent,
				arena_printf(a, "%s: %s", c->words[i].text, c->words[i].reason));
}

static void one_command(FILE *out, struct arena *a, const struct gen_command *c, const char *indent)
{
	if (c->env)
		exports(out, a, c->env, indent);
	reasons(out, a, c, indent);
	fprintf(out, "%sexec %s\n", indent, command_line(a, c));
}

/* A job of Slurm: one task a machine with all its CPUs, and the first machine as meeting point. */
static void job(FILE *out, struct arena *a, const struct generate_view *v,
		const struct gen_command *c)
{
	const struct gen_cluster *cl = v->envs->c;

	fprintf(out,
		"#!/bin/bash\n#SBATCH --nodes=%zu\n#SBATCH --ntasks-per-node=1\n"
		"#SBATCH --gpus-per-node=%zu\n#SBATCH --exclusive\n"
		"# One task per machine: torchrun starts a process for each GPU. More tasks would "
		"start all of them again.\n",
		cl->n, cl->nodes[0].gpus);
	exports(out, a, c->env, "");
	reasons(out, a, c, "");
	fprintf(out,
		"# The first machine of the job runs the rendezvous.\n"
		"head=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
		"# By default srun gives a task one CPU, which is too few for data loaders.\n"
		"exec srun --kill-on-bad-exit=1 --cpus-per-task=\"$SLURM_CPUS_ON_NODE\" \\\n"
		"    %s %s %s --rdzv-id=\"$SLURM_JOB_ID\" --rdzv-backend=c10d "
		"--rdzv-endpoint=\"$head:%d\"",
		c->words[0].text, c->words[1].text, c->words[2].text, c->meeting_port);
	for (size_t i = 3; i < c->n; i++)
		fprintf(out, "%s%s", i == 3 ? " \\\n    " : " ",
			command_word(a, c->words[i].text, i == 0));
	fputc('\n', out);
}

/* The part of the machine that runs it: by its name, or by the first argument. */
static void begin_case(FILE *out)
{
	fputs("# Runs the commands of this machine (by its name), or of the machine named as the "
	      "argument.\nnode=${1:-$(uname -n)}\ncase \"$node\" in\n",
	      out);
}

static void end_case(FILE *out, const char *way_out)
{
	fprintf(out, "*)\n    echo \"no part for $node\" >&2\n    %s\n    ;;\nesac\n", way_out);
}

static bool wanted(const struct generate_view *v, size_t rank)
{
	return v->only < 0 || (size_t)v->only == rank;
}

static void shell_variables(FILE *out, struct arena *a, const struct generate_view *v)
{
	const struct gen_envs *e = v->envs;

	fputs("# Source this file: it only sets variables.\n", out);
	if (e->same || v->only >= 0) {
		exports(out, a, &e->of[v->only < 0 ? 0 : v->only], "");
		return;
	}
	fputs("case \"$(uname -n)\" in\n", out);
	for (size_t i = 0; i < e->c->n; i++) {
		fprintf(out, "%s)\n", shell_quote(a, e->of[i].node->name));
		exports(out, a, &e->of[i], "    ");
		fputs("    ;;\n", out);
	}
	fputs("*)\n    echo \"no variables for $(uname -n)\" >&2\n    ;;\nesac\n", out);
}

void generate_shell(FILE *out, struct arena *a, const struct generate_view *v)
{
	const struct gen_launch *l = v->launch;

	if (!l) {
		shell_variables(out, a, v);
		return;
	}
	if (l->file_text) {
		fputs(l->file_text, out);
		return;
	}
	if (l->commands[0].meeting_port) {
		job(out, a, v, &l->commands[0]);
		return;
	}
	fputs("#!/bin/sh\n", out);
	for (size_t i = 0; i < l->n_notes; i++)
		comment(out, "", l->notes[i]);
	if (l->n == 1 || v->only >= 0) {
		for (size_t i = 0; i < l->n; i++)
			if (l->n == 1 || wanted(v, l->commands[i].rank))
				one_command(out, a, &l->commands[i], "");
		return;
	}
	begin_case(out);
	for (size_t i = 0; i < l->n; i++) {
		fprintf(out, "%s)\n", shell_quote(a, l->commands[i].node->name));
		one_command(out, a, &l->commands[i], "    ");
		fputs("    ;;\n", out);
	}
	end_case(out, "exit 2");
}

/* --- systemd ---------------------------------------------------------------------------------- */
static int unit_word(struct arena *a, const char *s, const char **out, struct err *e)
{
	const char *why = NULL;

	*out = quote_unit(a, s, &why);
	return *out ? 0 : err_set(e, -EINVAL, "\"%.80s\" is not allowed in a unit: %s", s, why);
}

static int generate_shell_unit_of(FILE *out, struct arena *a, const struct generate_view *v,
				  const struct gen_command *c, struct err *e)
{
	const char *word;
	int r;

	comment(out, "",
		arena_printf(a, "/etc/systemd/system/%s.service on %s", v->kind,
			     c->node ? c->node->name : "the first machine"));
	fprintf(out,
		"[Unit]\nDescription=%s\nAfter=network-online.target "
		"nvidia-persistenced.service\nWants=network-online.target\n\n[Service]\n",
		v->kind);
	for (size_t i = 0; c->env && i < c->env->n; i++) {
		if (strchr(c->env->vars[i].value, '$'))
			return err_set(e, -EINVAL, "the value of %s is not allowed in a unit",
				       c->env->vars[i].name);
		r = unit_word(a,
			      arena_printf(a, "%s=%s", c->env->vars[i].name, c->env->vars[i].value),
			      &word, e);
		if (r < 0)
			return r;
		comment(out, "", c->env->vars[i].reason);
		fprintf(out, "Environment=%s\n", word);
	}
	reasons(out, a, c, "");
	fputs("ExecStart=/usr/bin/env", out);
	for (size_t i = 0; i < c->n; i++) {
		r = unit_word(a, c->words[i].text, &word, e);
		if (r < 0)
			return r;
		fprintf(out, " %s", word);
	}
	fputs("\nRestart=on-failure\nRestartSec=10\nLimitMEMLOCK=infinity\n\n[Install]\n"
	      "WantedBy=multi-user.target\n",
	      out);
	return 0;
}

int generate_systemd(FILE *out, struct arena *a, const struct generate_view *v, struct err *e)
{
	if (!v->launch || !v->launch->n || v->launch->commands[0].meeting_port)
		return err_set(e, -EINVAL, "no unit for %s, because it starts nothing", v->kind);
	for (size_t i = 0; i < v->launch->n; i++) {
		const struct gen_command *c = &v->launch->commands[i];
		int r;

		if (v->launch->n > 1 && !wanted(v, c->rank))
			continue;
		r = generate_shell_unit_of(out, a, v, c, e);
		if (r < 0)
			return r;
		if (i + 1 < v->launch->n)
			fputc('\n', out);
	}
	return 0;
}

/* --- compose ---------------------------------------------------------------------------------- */
static const char models_inside[] = "/models";

/* JSON's strings are YAML's; a "$" of compose is written twice. */
static void generate_shell_scalar(FILE *out, const char *s)
{
	ARENA_AUTO a = { 0 };
	const char *text = json_take_text(&a, json_text(s), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	for (const char *at = text ? text : "\"\""; *at; at++) {
		if (*at == '$')
			fputc('$', out);
		fputc(*at, out);
	}
}

static void generate_shell_environment(FILE *out, const struct generate_view *v,
				       const struct gen_command *c)
{
	if ((c->env && c->env->n) || v->model_cache)
		fputs("    environment:\n", out);
	for (size_t i = 0; c->env && i < c->env->n; i++) {
		comment(out, "      ", c->env->vars[i].reason);
		fprintf(out, "      %s: ", c->env->vars[i].name);
		generate_shell_scalar(out, c->env->vars[i].value);
		fputc('\n', out);
	}
	if (v->model_cache)
		fprintf(out, "      # folder for downloaded models\n      %s: \"%s\"\n",
			v->model_cache, models_inside);
}

/* A folder of the machine has the same name inside, so that the command means the same. Where it is
 * not there, nothing is made in its place. */
static void volumes(FILE *out, const struct generate_view *v)
{
	if (v->model_folder) {
		fputs("    volumes:\n      - type: bind\n        source: ", out);
		generate_shell_scalar(out, v->model_folder);
		fputs("\n        target: ", out);
		generate_shell_scalar(out, v->model_folder);
		fputs("\n        read_only: true\n        bind:\n"
		      "          create_host_path: false\n",
		      out);
	} else if (v->model_cache) {
		fprintf(out, "    volumes: [\"models:%s\"]\n", models_inside);
	}
}

static void service(FILE *out, const struct generate_view *v, const struct gen_command *c)
{
	bool rdma = false;

	for (size_t i = 0; c->node && i < c->node->n_ports; i++)
		rdma = rdma || gen_port_used(c->node, &c->node->ports[i]);
	fprintf(out, "  %s-%zu:\n    image: ", v->kind, c->rank);
	generate_shell_scalar(out, v->image);
	fputs("\n    network_mode: host\n    ipc: host\n    ulimits:\n      memlock: -1\n", out);
	if (rdma && v->envs->c->n > 1)
		fputs("    cap_add: [\"IPC_LOCK\"]\n    devices: [\"/dev/infiniband:/dev/"
		      "infiniband\"]\n",
		      out);
	fputs("    deploy:\n      resources:\n        reservations:\n          devices:\n"
	      "            - driver: nvidia\n              count: all\n"
	      "              capabilities: [\"gpu\"]\n",
	      out);
	generate_shell_environment(out, v, c);
	volumes(out, v);
	fputs("    entrypoint: [", out);
	generate_shell_scalar(out, c->words[0].text);
	fputs("]\n    command:\n", out);
	for (size_t i = 1; i < c->n; i++) {
		if (c->words[i].reason)
			comment(out, "      ", c->words[i].reason);
		fputs("      - ", out);
		generate_shell_scalar(out, c->words[i].text);
		fputc('\n', out);
	}
}

int generate_compose(FILE *out, struct arena *a, const struct generate_view *v, struct err *e)
{
	(void)a;
	if (!v->launch || !v->launch->n || v->launch->commands[0].meeting_port)
		return err_set(e, -EINVAL, "no service for %s, because it starts nothing", v->kind);
	if (!v->image)
		return err_set(e, -EINVAL, "a compose file needs --image");
	fputs("# docker compose -f FILE up SERVICE, on each machine its own service.\nservices:\n",
	      out);
	for (size_t i = 0; i < v->launch->n; i++)
		if (v->launch->n == 1 || wanted(v, v->launch->commands[i].rank))
			service(out, v, &v->launch->commands[i]);
	if (!v->model_folder && v->model_cache)
		fputs("volumes:\n  models: {}\n", out);
	return 0;
}
