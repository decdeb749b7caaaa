/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the software stack, a row a figure. Keys and meanings are API. */
#include "look/stack/elf.h"
#include "base/json.h"
#include "look/stack/page_stack.h"
#include "look/settings/findings.h"

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

/* The software stack as JSON. Keys and meanings are API: schemas/stack-check.json holds them. */

static json_t *stack_json_finding(const struct stack_finding *f)
{
	static const char *const verdicts[] = { "pass", "fail", "na", "unknown" };
	json_t *j = json_object();

	json_object_set_new(j, "id", json_string(f->id));
	json_object_set_new(j, "title", json_string(f->title));
	json_object_set_new(j, "target", json_text(f->target));
	json_object_set_new(j, "verdict", json_string(verdicts[f->verdict]));
	json_object_set_new(j, "serious", json_boolean(f->verdict == VERDICT_FAIL && f->serious));
	json_object_set_new(j, "current", json_text(f->current));
	json_object_set_new(j, "wanted", json_text(f->wanted));
	json_object_set_new(j, "reason", json_text(f->reason));
	json_object_set_new(j, "source", json_text(f->source));
	json_object_set_new(j, "read_from", json_text(f->from));
	json_object_set_new(j, "command", json_text(f->command));
	return j;
}

static json_t *item_json(const struct stack_view *v, const struct stack_item *it)
{
	json_t *j = json_object(), *codes = json_array();
	struct arena a = { 0 };

	json_object_set_new(j, "component", json_string(components[it->c].id));
	json_object_set_new(j, "place", json_text(v->inv->places[it->place].path));
	json_object_set_new(j, "path", json_text(it->path));
	json_object_set_new(j, "soname", json_text(it->soname));
	json_object_set_new(j, "version", json_text(it->version));
	json_object_set_new(j, "version_from", json_text(it->version_from));
	json_object_set_new(j, "loaded_version", json_text(it->said));
	for (size_t i = 0; i < it->code.codes.n; i++)
		json_array_append_new(codes, json_string(code_name(&a, &it->code.codes.items[i])));
	json_object_set_new(j, "gpu_code", it->scanned ? codes : json_null());
	if (!it->scanned)
		json_decref(codes);
	arena_free(&a);
	return j;
}

static json_t *stack_json_place(const struct stack_place *p)
{
	static const char *const kinds[] = { "system", "toolkit", "python" };
	json_t *j = json_object();

	json_object_set_new(j, "kind", json_string(kinds[p->kind]));
	json_object_set_new(j, "path", json_text(p->path));
	json_object_set_new(j, "version", json_text(p->version));
	json_object_set_new(j, "packages", json_text(p->packages));
	json_object_set_new(j, "torch_cuda", json_text(p->torch_cuda));
	return j;
}

json_t *stack_check_json(const struct stack_view *v, long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.stack-check/1", time_s, exit_code);
	json_t *gpus = json_array(), *found = json_array(), *items = json_array(),
	       *places = json_array();
	const size_t *n = v->found->count;

	json_object_set_new(j, "host", host_json(v->m));
	json_object_set_new(j, "rootfs", json_text(v->rootfs));
	for (size_t g = 0; g < v->how->n_gpus; g++)
		json_array_append_new(gpus, json_sprintf("sm_%u", v->how->gpus[g].sm));
	json_object_set_new(j, "gpus", gpus);
	json_object_set_new(j, "gpus_from", json_text(v->gpus_from));
	json_object_set_new(j, "summary",
			    json_pack("{s:I, s:I, s:I, s:I}", "pass", (json_int_t)n[VERDICT_PASS],
				      "fail", (json_int_t)n[VERDICT_FAIL], "na",
				      (json_int_t)n[VERDICT_NA], "unknown",
				      (json_int_t)n[VERDICT_UNKNOWN]));
	for (size_t i = 0; i < v->found->n; i++)
		json_array_append_new(found, stack_json_finding(&v->found->items[i]));
	json_object_set_new(j, "findings", found);
	for (size_t i = 0; i < v->inv->n_places; i++)
		json_array_append_new(places, stack_json_place(&v->inv->places[i]));
	json_object_set_new(j, "places", places);
	for (size_t i = 0; i < v->inv->n_items; i++)
		json_array_append_new(items, item_json(v, &v->inv->items[i]));
	json_object_set_new(j, "items", items);
	return j;
}

/* clang-format off */

/* --- stack env --- */

static const struct shape_row build_line_rows[] = {
	{ "name", NULL, SHAPE_TEXT(build_line, name) },
	{ "value", NULL, SHAPE_TEXT(build_line, value) },
	{ "prepend", "Put before what the variable holds already.", SHAPE_FLAG(build_line, before) },
	{ "reason", NULL, SHAPE_TEXT(build_line, reason) },
};
static const struct shape build_line_shape = SHAPE(build_line, build_line);

#define OF_FLAG SHAPE_VIA(flag_here, flag, dead_flag)

static const struct shape_row flag_here_rows[] = {
	{ "flag", NULL, SHAPE_TEXT(dead_flag, flag), OF_FLAG },
	{ "why", NULL, SHAPE_TEXT(dead_flag, why), OF_FLAG },
	{ "instead", "Null: leave it out.", SHAPE_TEXT(dead_flag, instead), OF_FLAG, .unknown = SHAPE_NULL },
	{ "set_here", "Its value in this shell.", SHAPE_TEXT(flag_here, set_here), .unknown = SHAPE_NULL },
};
static const struct shape flag_here_shape = SHAPE(flag_here, flag_here);

static const struct shape_row stack_env_rows[] = {
	{ "toolkit", NULL, SHAPE_TEXT(build_env, toolkit), .unknown = SHAPE_NULL },
	{ "missing", "Why nothing for CUDA can be built.", SHAPE_TEXT(build_env, missing), .unknown = SHAPE_NULL },
	{ "unseen", "What could not be looked at.", SHAPE_TEXT(build_env, unseen), .unknown = SHAPE_NULL },
	{ "jobs", "Compilers at a time.", SHAPE_COUNT(build_env, jobs) },
	{ "variables", NULL, SHAPE_LIST(build_env, lines, n, build_line) },
	{ "dead_flags", "Flags of common recipes that do nothing, or harm.",
	  SHAPE_LIST(build_env, flags, n_flags, flag_here) },
};
static const struct shape stack_env_shape = SHAPE(build_env, stack_env);

const struct result_shape stack_env_result = {
	.name = "stack-env", .title = "gputune stack env",
	.meaning = "What to set before PyTorch and what belongs to it are built here.",
	.shape = &stack_env_shape, .exit_codes = 1u << 0 | 1u << 1,
};

/* --- stack build-plan --- */

const char *const step_state_names[STEP_LACKS + 1] = { "to do", "done", "lacks" };

static const struct shape_row build_step_rows[] = {
	{ "id", NULL, SHAPE_TEXT(build_step, id) },
	{ "title", NULL, SHAPE_TEXT(build_step, title) },
	{ "state", NULL, SHAPE_CHOICE(build_step, state, step_state_names) },
	{ "lacks", "Why it cannot start.", SHAPE_TEXT(build_step, lacks), .unknown = SHAPE_NULL },
	{ "argv", NULL, SHAPE_TEXT_LIST(build_step, argv, n_argv) },
	{ "disk_gib", NULL, SHAPE_COUNT(build_step, disk_gib) },
	{ "memory_gib", NULL, SHAPE_COUNT(build_step, memory_gib) },
	{ "log", NULL, SHAPE_TEXT(build_step, log) },
};
static const struct shape build_step_shape = SHAPE(build_step, build_step);

static const struct shape_row build_plan_rows[] = {
	{ "dir", NULL, SHAPE_TEXT(build_plan, dir) },
	{ "disk_gib", "That all steps to do take.", SHAPE_COUNT(build_plan, disk_gib) },
	{ "disk_free_gib", NULL, SHAPE_REAL(build_plan, disk_free_gib) },
	{ "memory_available_gib", NULL, SHAPE_REAL(build_plan, memory_gib) },
	{ "jobs", "Compilers at a time.", SHAPE_COUNT(build_plan, jobs) },
	{ "hours", "An estimate.", SHAPE_REAL(build_plan, hours) },
	{ "lacks", "Why nothing should be started.", SHAPE_TEXT(build_plan, lacks), .unknown = SHAPE_NULL },
	{ "steps", NULL, SHAPE_LIST(build_plan, steps, n, build_step) },
};
static const struct shape build_plan_shape = SHAPE(build_plan, build_plan);

const struct result_shape build_plan_result = {
	.name = "stack-build-plan", .title = "gputune stack build-plan",
	.meaning = "Steps that build wheels, in order, and how far they are.",
	.shape = &build_plan_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3,
};

/* --- stack wheelhouse --- */

static const struct shape_row house_wheel_rows[] = {
	{ "file", NULL, SHAPE_TEXT(house_wheel, file) },
	{ "sha256", NULL, SHAPE_TEXT(house_wheel, sha256) },
	{ "size_bytes", NULL, SHAPE_COUNT(house_wheel, size) },
	{ "name", NULL, SHAPE_TEXT(house_wheel, name) },
	{ "version", NULL, SHAPE_TEXT(house_wheel, version) },
	{ "build", "Its build number.", SHAPE_TEXT(house_wheel, build) },
	{ "python", NULL, SHAPE_TEXT(house_wheel, python) },
	{ "abi", NULL, SHAPE_TEXT(house_wheel, abi) },
	{ "platform", NULL, SHAPE_TEXT(house_wheel, platform) },
	{ "requires_python", NULL, SHAPE_TEXT(house_wheel, requires_python), .unknown = SHAPE_NULL },
	{ "gpu_code", "\"sm_90, sm_120\".", SHAPE_TEXT(house_wheel, gpu_code) },
	{ "added", NULL, SHAPE_TEXT(house_wheel, added) },
};
static const struct shape house_wheel_shape = SHAPE(house_wheel, house_wheel);

static const char *const arches[] = { "x86_64", "aarch64" };

#define MANIFEST_ROWS                                                                                   \
	{ "arch", NULL, SHAPE_TEXT(wheelhouse, arch), SHAPE_NAMES(arches) },                                   \
	{ "python", "Null: any.", SHAPE_TEXT(wheelhouse, python), .unknown = SHAPE_NULL },                     \
	{ "gpus", "That wheels with GPU code have to serve.", SHAPE_TEXT(wheelhouse, gpus) },                  \
	{ "wheels", NULL, SHAPE_LIST(wheelhouse, wheels, n, house_wheel) }

static const struct shape_row manifest_rows[] = {
	{ "schema", NULL, SHAPE_WORD("gputune.wheelhouse/1") },
	MANIFEST_ROWS,
};
const struct shape manifest_shape = SHAPE(wheelhouse, manifest);

static const struct shape_row house_problem_rows[] = {
	{ "file", NULL, SHAPE_TEXT(house_problem, file) },
	{ "what", NULL, SHAPE_TEXT(house_problem, what) },
};
static const struct shape house_problem_shape = SHAPE(house_problem, house_problem);

static const struct shape_row wheelhouse_rows[] = {
	{ "dir", NULL, SHAPE_TEXT(wheelhouse, dir) },
	{ "signed", NULL, SHAPE_FLAG(wheelhouse, is_signed) },
	MANIFEST_ROWS,
	{ "verified", "Every wheel was held against the manifest.", SHAPE_FLAG(wheelhouse, verified) },
	{ "problems", NULL, SHAPE_LIST(wheelhouse, verdict.items, verdict.n, house_problem) },
	{ "signer", NULL, SHAPE_TEXT(wheelhouse, verdict.signer), .unknown = SHAPE_NULL },
};
static const struct shape wheelhouse_shape = SHAPE(wheelhouse, wheelhouse);

const struct result_shape wheelhouse_result = {
	.name = "stack-wheelhouse", .title = "gputune stack wheelhouse",
	.meaning = "A folder of wheels, and what is wrong with it.",
	.shape = &wheelhouse_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 2,
};
