/* SPDX-License-Identifier: Apache-2.0 */
/* GPU code in files as JSON. Keys and meanings are API: schemas/stack-arch.json holds them. */
#include "look/stack/elf.h"
#include "render/json_value.h"
#include "look/stack/page_stack.h"

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *code_json(const struct gpu_code *c)
{
	struct arena a = { 0 };
	json_t *j = json_object();

	json_object_set_new(j, "name", json_string(code_name(&a, c)));
	json_object_set_new(j, "kind", json_string(code_kind_name(c->kind)));
	json_object_set_new(j, "sm", number(c->sm));
	json_object_set_new(j, "suffix",
			    json_string(c->suffix == 'a'   ? "a"
					: c->suffix == 'f' ? "f"
							   : ""));
	if (c->ptx)
		json_object_set_new(j, "ptx_version",
				    json_sprintf("%u.%u", c->ptx / 10, c->ptx % 10));
	json_object_set_new(j, "entries", number(c->n));
	json_object_set_new(j, "entries_inside_data", number(c->inside));
	json_object_set_new(j, "entries_without_kernels", number(c->empty));
	json_object_set_new(j, "size_bytes", number(c->size));
	arena_free(&a);
	return j;
}

static json_t *answers_json(const struct scan *s, const struct scan_options *how)
{
	json_t *list = json_array();

	for (size_t g = 0; g < how->n_gpus; g++) {
		const struct gpu_code *by = NULL;
		enum code_answer best = code_best(&s->codes, &how->gpus[g], &by);
		json_t *j = json_object(), *served = json_object();
		struct arena a = { 0 };

		json_object_set_new(j, "gpu", json_sprintf("sm_%u", how->gpus[g].sm));
		json_object_set_new(j, "answer", json_string(code_answer_name(best)));
		json_object_set_new(j, "by",
				    by && best < CODE_CANNOT ? json_string(code_name(&a, by))
							     : json_null());
		for (size_t k = 0; k < CODE_ANSWERS; k++)
			json_object_set_new(served, code_answer_name((enum code_answer)k),
					    number(s->served[g][k]));
		json_object_set_new(j, "containers", served);
		json_array_append_new(list, j);
		arena_free(&a);
	}
	return list;
}

static const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case ELF_X86_64:
		return "x86_64";
	case ELF_AARCH64:
		return "aarch64";
	default:
		return machine ? "other" : NULL;
	}
}

static json_t *file_json(const struct scan *s, const struct scan_options *how)
{
	json_t *j = json_object(), *codes = json_array(), *problems = json_array();

	json_object_set_new(j, "path", json_text(s->path));
	json_object_set_new(j, "kind", json_string(scan_kind_name(s->kind)));
	json_object_set_new(j, "machine", json_text(machine_name(s->machine)));
	json_object_set_new(j, "size_bytes", number(s->size));
	json_object_set_new(j, "error", json_text(s->error));
	json_object_set_new(j, "containers", number(s->containers));
	json_object_set_new(j, "entries", number(s->entries));
	json_object_set_new(j, "registered", number(s->registered));
	json_object_set_new(j, "opened", number(s->opened));
	for (size_t i = 0; i < s->codes.n; i++)
		json_array_append_new(codes, code_json(&s->codes.items[i]));
	json_object_set_new(j, "codes", codes);
	json_object_set_new(j, "answers", answers_json(s, how));
	for (size_t i = 0; i < s->n_problems && i < SCAN_PROBLEMS; i++)
		json_array_append_new(problems, json_text(s->problems[i]));
	json_object_set_new(j, "problems", problems);
	json_object_set_new(j, "problem_count", number(s->n_problems));
	if (s->n_parts) {
		json_t *parts = json_array();

		for (size_t i = 0; i < s->n_parts; i++)
			json_array_append_new(parts, file_json(&s->parts[i], how));
		json_object_set_new(j, "parts", parts);
	}
	return j;
}

json_t *stack_arch_json(const struct arch_view *v, long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.stack-arch/1", time_s, exit_code);
	json_t *gpus = json_array(), *files = json_array();

	for (size_t g = 0; g < v->how->n_gpus; g++)
		json_array_append_new(gpus, json_sprintf("sm_%u", v->how->gpus[g].sm));
	json_object_set_new(j, "gpus", gpus);
	json_object_set_new(j, "gpus_from", json_text(v->gpus_from));
	for (size_t i = 0; i < v->n; i++)
		if (v->files[i].entries || v->files[i].error || v->all || v->n == 1)
			json_array_append_new(files, file_json(&v->files[i], v->how));
	json_object_set_new(j, "files", files);
	json_object_set_new(j, "files_looked_at", number(v->n));
	return j;
}
