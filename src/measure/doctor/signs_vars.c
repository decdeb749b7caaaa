/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs are told: NCCL's files, this shell, and the processes that use GPUs. Of
 * environments only the names that the table of variables watches are kept; they may hold secrets.
 */
#include "measure/doctor/signs.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "knowledge/nccl_vars.h"

enum { ENVIRON_MAX = 1 << 20, CONF_MAX = 1 << 16, MAPS_MAX = 8 << 20, PROCESSES_MAX = 32 };

static void add(struct arena *a, struct signs *s, const char *name, const char *value, size_t n,
		const char *origin)
{
	struct sign_var *v = list_add(a, &s->vars, sizeof(*v));

	v->name = name;
	v->value = sign_text(arena_strndup(a, value, n), origin);
	v->origin = sign_text(origin, origin);
}

/* "NAME=value" when NAME is one of ours, or (prefix) any of NCCL's, which its files may hold. */
static void add_line(struct arena *a, struct signs *s, const char *line, size_t n, bool all_nccl,
		     const char *origin)
{
	const char *is = memchr(line, '=', n);
	size_t len, len_value;
	const char *name = is ? str_trim(line, (size_t)(is - line), &len) : NULL;
	const char *value = is ? str_trim(is + 1, n - (size_t)(is + 1 - line), &len_value) : NULL;

	if (!name || !len || *name == '#')
		return;
	for (size_t i = 0; i < known_var_count; i++)
		if ((known_vars[i].flags & VAR_WATCHED) && strlen(known_vars[i].name) == len &&
		    strncmp(known_vars[i].name, name, len) == 0) {
			add(a, s, known_vars[i].name, value, len_value, origin);
			return;
		}
	if (all_nccl && len > 5 && strncmp(name, "NCCL_", 5) == 0)
		add(a, s, arena_strndup(a, name, len), value, len_value, origin);
}

static void read_conf(struct arena *a, struct host *h, struct signs *s, const char *path)
{
	char *text, *line;

	if (host_read(h, path, CONF_MAX, a, &text, NULL))
		return;
	while ((line = strsep(&text, "\n")) != NULL)
		add_line(a, s, line, strlen(line), true, path);
}

static void read_environ(struct arena *a, struct host *h, struct signs *s, const char *path,
			 const char *origin)
{
	char *text;
	size_t len;

	if (host_read(h, path, ENVIRON_MAX, a, &text, &len))
		return;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		add_line(a, s, text + at, strlen(text + at), false, origin);
}

/* The path at the end of the first line that names NCCL's library. */
static struct fact_str loaded_nccl(struct arena *a, struct host *h, const char *path)
{
	char *text, *at;
	int r = host_read(h, path, MAPS_MAX, a, &text, NULL);

	if (r == 0) {
		at = strstr(text, "libnccl.so");
		if (at) {
			char *begin = at;

			while (begin > text && begin[-1] != ' ' && begin[-1] != '\n')
				begin--;
			return sign_text(arena_strndup(a, begin, strcspn(begin, "\n")), path);
		}
		r = -ENOENT;
	}
	return (struct fact_str){
		.f = { .seen = seen_from_errno(r), .err = -r, .dir = "", .leaf = path }
	};
}

static struct fact_int memlock_of(struct arena *a, struct host *h, const char *path)
{
	static const char key[] = "Max locked memory";
	char *text, *at;
	int r = host_read(h, path, CONF_MAX, a, &text, NULL);

	if (r == 0) {
		at = strstr(text, key);
		if (at) {
			at += sizeof(key) - 1;
			at += strspn(at, " ");
			return sign_int(str_starts(at, "unlimited") ? -1 : strtoll(at, NULL, 10),
					path);
		}
		r = -EPROTO;
	}
	return sign_unseen(r, path);
}

static void read_process(struct arena *a, struct host *h, struct signs *s,
			 const struct gpu_process *p)
{
	const char *base = arena_printf(a, "/proc/%u", p->index);
	struct sign_process *out;

	LIST_FOR_EACH (struct sign_process, known, &s->processes)
		if (known->index == p->index)
			return;
	out = list_add(a, &s->processes, sizeof(*out));
	out->index = p->index;
	out->command = p->command;
	out->nccl = loaded_nccl(a, h, arena_printf(a, "%s/maps", base));
	out->memlock = memlock_of(a, h, arena_printf(a, "%s/limits", base));
	read_environ(
		a, h, s, arena_printf(a, "%s/environ", base),
		arena_printf(a, "process %u (%s)", p->index, fact_text(&p->command, "unnamed")));
	read_conf(a, h, s, arena_printf(a, "%s/root/etc/nccl.conf", base));
}

void signs_read_conf(struct arena *a, struct host *h, struct signs *out)
{
	read_conf(a, h, out, "/etc/nccl.conf");
}

void signs_read_vars(struct arena *a, struct host *h, const struct machine *m, struct signs *out)
{
	struct answer v;

	if (host_ask(h, "env", "", "HOME", &v) == 0 && v.kind == ANSWER_TEXT && v.text[0] == '/')
		read_conf(a, h, out, arena_printf(a, "%s/.nccl.conf", v.text));
	for (size_t i = 0; i < known_var_count; i++) {
		const char *name = known_vars[i].name;

		if ((known_vars[i].flags & VAR_WATCHED) && host_ask(h, "env", "", name, &v) == 0 &&
		    v.kind == ANSWER_TEXT)
			add(a, out, name, v.text, strlen(v.text), "this shell");
	}
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			if (out->processes.n < PROCESSES_MAX)
				read_process(a, h, out, p);
}
