/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the software stack, a row a figure. Keys and meanings are API. */
#include "look/stack/elf.h"
#include "look/stack/page_stack.h"
#include "look/settings/findings.h"
#include "render/shape_page.h"

/* clang-format off */

/* --- stack env --- */

static const struct shape build_line_shape = SHAPE_OF(build_line, build_line,
	{ "name", NULL, SHAPE_TEXT(build_line, name) },
	{ "value", NULL, SHAPE_TEXT(build_line, value) },
	{ "prepend", "Prepended to the variable's current value.", SHAPE_FLAG(build_line, before) },
	{ "reason", NULL, SHAPE_TEXT(build_line, reason) });

#define OF_FLAG SHAPE_VIA(flag_here, flag, dead_flag)

static const struct shape flag_here_shape = SHAPE_OF(flag_here, flag_here,
	{ "flag", NULL, SHAPE_TEXT(dead_flag, flag), OF_FLAG },
	{ "why", NULL, SHAPE_TEXT(dead_flag, why), OF_FLAG },
	{ "instead", "Null: remove it.", SHAPE_TEXT(dead_flag, instead), OF_FLAG, .unknown = SHAPE_NULL },
	{ "set_here", "Current value in this shell.", SHAPE_TEXT(flag_here, set_here), .unknown = SHAPE_NULL });

static const struct shape stack_env_shape = SHAPE_OF(build_env, stack_env,
	{ "toolkit", NULL, SHAPE_TEXT(build_env, toolkit), .unknown = SHAPE_NULL },
	{ "missing", "Why CUDA builds are not possible.", SHAPE_TEXT(build_env, missing), .unknown = SHAPE_NULL },
	{ "unseen", "What was unreadable.", SHAPE_TEXT(build_env, unseen), .unknown = SHAPE_NULL },
	{ "jobs", "Parallel compilers.", SHAPE_COUNT(build_env, jobs) },
	{ "variables", NULL, SHAPE_LIST(build_env, lines, n, build_line) },
	{ "dead_flags", "Recipe flags without effect, or harmful.",
	  SHAPE_LIST(build_env, flags, n_flags, flag_here) });

const struct result_shape stack_env_result = {
	.name = "stack-env", .title = "gputune stack env",
	.meaning = "Variables to set for building PyTorch and its companions on this machine.",
	.shape = &stack_env_shape, .list = "variables", .exit_codes = 1u << 0 | 1u << 1,
};

/* --- stack build-plan --- */

const char *const step_state_names[STEP_LACKS + 1] = { "to do", "done", "lacks" };

static const struct shape build_step_shape = SHAPE_OF(build_step, build_step,
	{ "id", NULL, SHAPE_TEXT(build_step, id) },
	{ "title", NULL, SHAPE_TEXT(build_step, title) },
	{ "state", NULL, SHAPE_CHOICE(build_step, state, step_state_names) },
	{ "lacks", "Reason why the step cannot start.", SHAPE_TEXT(build_step, lacks), .unknown = SHAPE_NULL },
	{ "argv", NULL, SHAPE_TEXT_LIST(build_step, argv, n_argv) },
	{ "disk_gib", NULL, SHAPE_COUNT(build_step, disk_gib) },
	{ "memory_gib", NULL, SHAPE_COUNT(build_step, memory_gib) },
	{ "log", NULL, SHAPE_TEXT(build_step, log) });

static const struct shape build_plan_shape = SHAPE_OF(build_plan, build_plan,
	{ "dir", NULL, SHAPE_TEXT(build_plan, dir) },
	{ "disk_gib", "Total of all remaining steps.", SHAPE_COUNT(build_plan, disk_gib) },
	{ "disk_free_gib", NULL, SHAPE_REAL(build_plan, disk_free_gib) },
	{ "memory_available_gib", NULL, SHAPE_REAL(build_plan, memory_gib) },
	{ "jobs", "Parallel compilers.", SHAPE_COUNT(build_plan, jobs) },
	{ "hours", "An estimate.", SHAPE_REAL(build_plan, hours) },
	{ "lacks", "Reason why the build should not be started.", SHAPE_TEXT(build_plan, lacks),
	  .unknown = SHAPE_NULL },
	{ "steps", NULL, SHAPE_LIST(build_plan, steps, n, build_step) });

const struct result_shape build_plan_result = {
	.name = "stack-build-plan", .title = "gputune stack build-plan",
	.meaning = "Steps that build wheels, in order, with their state.",
	.shape = &build_plan_shape, .list = "steps", .exit_codes = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3,
};

/* --- stack wheelhouse --- */

static const struct shape house_wheel_shape = SHAPE_OF(house_wheel, house_wheel,
	{ "file", NULL, SHAPE_TEXT(house_wheel, file) },
	{ "sha256", NULL, SHAPE_TEXT(house_wheel, sha256) },
	{ "size_bytes", NULL, SHAPE_COUNT(house_wheel, size) },
	{ "name", NULL, SHAPE_TEXT(house_wheel, name) },
	{ "version", NULL, SHAPE_TEXT(house_wheel, version) },
	{ "build", "Build number of the wheel.", SHAPE_TEXT(house_wheel, build) },
	{ "python", NULL, SHAPE_TEXT(house_wheel, python) },
	{ "abi", NULL, SHAPE_TEXT(house_wheel, abi) },
	{ "platform", NULL, SHAPE_TEXT(house_wheel, platform) },
	{ "requires_python", NULL, SHAPE_TEXT(house_wheel, requires_python), .unknown = SHAPE_NULL },
	{ "gpu_code", "\"sm_90, sm_120\".", SHAPE_TEXT(house_wheel, gpu_code) },
	{ "added", NULL, SHAPE_TEXT(house_wheel, added) });

static const char *const arches[] = { "x86_64", "aarch64" };

#define MANIFEST_ROWS                                                                                   \
	{ "arch", NULL, SHAPE_TEXT(wheelhouse, arch), SHAPE_NAMES(arches) },                                   \
	{ "python", "Null: any.", SHAPE_TEXT(wheelhouse, python), .unknown = SHAPE_NULL },                     \
	{ "gpus", "Architectures that wheels with GPU code must support.", SHAPE_TEXT(wheelhouse, gpus) }, \
	{ "wheels", NULL, SHAPE_LIST(wheelhouse, wheels, n, house_wheel) }

const struct shape manifest_shape = SHAPE_OF(wheelhouse, manifest,
	{ "schema", NULL, SHAPE_WORD("gputune.wheelhouse/1") },
	MANIFEST_ROWS);

static const struct shape house_problem_shape = SHAPE_OF(house_problem, house_problem,
	{ "file", NULL, SHAPE_TEXT(house_problem, file) },
	{ "what", NULL, SHAPE_TEXT(house_problem, what) });

static const struct shape wheelhouse_shape = SHAPE_OF(wheelhouse, wheelhouse,
	{ "dir", NULL, SHAPE_TEXT(wheelhouse, dir) },
	{ "signed", NULL, SHAPE_FLAG(wheelhouse, is_signed) },
	MANIFEST_ROWS,
	{ "verified", "true: every wheel was compared with the manifest.", SHAPE_FLAG(wheelhouse, verified) },
	{ "problems", NULL, SHAPE_LIST(wheelhouse, verdict.items, verdict.n, house_problem) },
	{ "signer", NULL, SHAPE_TEXT(wheelhouse, verdict.signer), .unknown = SHAPE_NULL });

const struct result_shape wheelhouse_result = {
	.name = "stack-wheelhouse", .title = "gputune stack wheelhouse",
	.meaning = "A wheelhouse and its faults.",
	.shape = &wheelhouse_shape, .list = "wheels", .exit_codes = 1u << 0 | 1u << 1 | 1u << 2,
};

static const char *difference_shown(struct arena *a, const void *object)
{
	const struct house_difference *d = object;

	return d->only_in ? arena_printf(a, "only in %s", d->only_in)
			  : "different contents under the same name";
}

static unsigned difference_style(const void *object)
{
	(void)object;
	return STYLE_WARN;
}

const struct shape house_difference_shape = SHAPE_OF(house_difference, house_difference,
	{ "file", NULL, SHAPE_TEXT(house_difference, file), .title = "Wheel", .style_of = shape_strong },
	{ "only_in", "Folder that has the wheel; null: both, with different contents.",
	  SHAPE_TEXT(house_difference, only_in), .unknown = SHAPE_NULL, .title = "How",
	  .shown = difference_shown, .style_of = difference_style });

static const struct shape wheelhouse_diff_shape = SHAPE_OF(wheelhouse_diff, wheelhouse_diff,
	{ "a", "The first folder of wheels.", SHAPE_TEXT(wheelhouse_diff, a.dir) },
	{ "b", "The second folder of wheels.", SHAPE_TEXT(wheelhouse_diff, b.dir) },
	{ "differ", "Wheels that are missing from one side, or differ.",
	  SHAPE_LIST(wheelhouse_diff, items, n, house_difference) });

const struct result_shape wheelhouse_diff_result = {
	.name = "stack-wheelhouse-diff", .title = "gputune stack wheelhouse diff",
	.meaning = "Differences between two wheelhouses.",
	.shape = &wheelhouse_diff_shape, .exit_codes = 1u << 0 | 1u << 1,
};

/* --- GPU code and the GPUs that it is for --- */

static const void *target_name(struct arena *a, const void *object, size_t *n)
{
	(void)n;
	return arena_printf(a, "sm_%u", ((const struct gpu_target *)object)->sm);
}

static const struct shape gpu_target_shape = SHAPE_OF(gpu_target, gpu_target,
	{ NULL, NULL, SHAPE_TEXT_MADE(target_name) });

static const void *gpu_code_name(struct arena *a, const void *object, size_t *n)
{
	(void)n;
	return code_name(a, object);
}

/* By its name alone. */
static const struct shape code_name_shape = SHAPE_OF(gpu_code, code_name,
	{ NULL, NULL, SHAPE_TEXT_MADE(gpu_code_name) });

/* --- stack arch --- */

static const char *const suffixes[] = { "", "a", "f" };

static const char *gpu_code_suffix(const void *object)
{
	char suffix = ((const struct gpu_code *)object)->suffix;

	return suffixes[suffix == 'a' ? 1 : suffix == 'f' ? 2 : 0];
}

static const void *gpu_code_ptx(struct arena *a, const void *object, size_t *n)
{
	unsigned ptx = ((const struct gpu_code *)object)->ptx;

	(void)n;
	return ptx ? arena_printf(a, "%u.%u", ptx / 10, ptx % 10) : NULL;
}

static const struct shape gpu_code_shape = SHAPE_OF(gpu_code, gpu_code,
	{ "name", NULL, SHAPE_TEXT_MADE(gpu_code_name) },
	{ "kind", NULL, SHAPE_CHOICE_BY(gpu_code, kind, code_kind_name, CODE_KINDS) },
	{ "sm", "121: compute capability 12.1.", SHAPE_COUNT(gpu_code, sm) },
	{ "suffix", "a: only for this architecture, f: for its family.",
	  SHAPE_TEXT_OF(gpu_code_suffix), SHAPE_NAMES(suffixes) },
	{ "ptx_version", NULL, SHAPE_TEXT_MADE(gpu_code_ptx), .unknown = SHAPE_NULL, .absent = true },
	{ "entries", NULL, SHAPE_COUNT(gpu_code, n) },
	{ "entries_inside_data", "Number of entries in a library's data; tools that read only sections miss them.",
	  SHAPE_COUNT(gpu_code, inside) },
	{ "entries_without_kernels", NULL, SHAPE_COUNT(gpu_code, empty) },
	{ "size_bytes", "Size in the file.", SHAPE_COUNT(gpu_code, size) });

static const struct shape containers_shape = SHAPE_OF(code_served, containers,
	{ "native", NULL, SHAPE_COUNT(code_served, containers[CODE_NATIVE]) },
	{ "same-family", NULL, SHAPE_COUNT(code_served, containers[CODE_FAMILY]) },
	{ "ptx-jit", NULL, SHAPE_COUNT(code_served, containers[CODE_JIT]) },
	{ "cannot-run", NULL, SHAPE_COUNT(code_served, containers[CODE_CANNOT]) },
	{ "no-gpu-code", NULL, SHAPE_COUNT(code_served, containers[CODE_NONE]) });

static const struct shape code_served_shape = SHAPE_OF(code_served, code_served,
	{ "gpu", NULL, SHAPE_OBJECT(code_served, gpu, gpu_target) },
	{ "answer", NULL, SHAPE_CHOICE_BY(code_served, answer, code_answer_name, CODE_ANSWERS) },
	{ "by", "The GPU code that would run.",
	  SHAPE_POINTER_AS(code_served, by, gpu_code, code_name_shape), .unknown = SHAPE_NULL },
	{ "containers", "Number of files with this result.", SHAPE_PART(containers_shape) });

static const char *const machines[] = { "x86_64", "aarch64", "other" };

static const char *scan_machine(const void *object)
{
	uint16_t machine = ((const struct scan *)object)->machine;

	return machine ? machines[machine == ELF_X86_64 ? 0 : machine == ELF_AARCH64 ? 1 : 2] : NULL;
}

SHAPE_GIVES(bool, scan_has_parts, scan, x->n_parts > 0)

static const struct shape scan_shape;
static const struct shape scan_shape = SHAPE_OF(scan, scan,
	{ "path", "For a wheel's member: its name in the wheel.", SHAPE_TEXT(scan, path) },
	{ "kind", NULL, SHAPE_CHOICE_BY(scan, kind, scan_kind_name, SCAN_PTX + 1) },
	{ "machine", "Details of an ELF file.", SHAPE_TEXT_OF(scan_machine), SHAPE_NAMES(machines),
	  .unknown = SHAPE_NULL },
	{ "size_bytes", NULL, SHAPE_COUNT(scan, size) },
	{ "error", "Why it is unreadable.", SHAPE_TEXT(scan, error), .unknown = SHAPE_NULL },
	{ "containers", NULL, SHAPE_COUNT(scan, containers) },
	{ "entries", NULL, SHAPE_COUNT(scan, entries) },
	{ "registered", "Wrappers in .nvFatBinSegment, which register with the CUDA runtime.",
	  SHAPE_COUNT(scan, registered) },
	{ "opened", "Entries whose head was unpacked and compared with the header.", SHAPE_COUNT(scan, opened) },
	{ "codes", NULL, SHAPE_LIST(scan, codes.items, codes.n, gpu_code) },
	{ "answers", "One row per GPU.", SHAPE_ARRAY(scan, answers, n_answers, code_served) },
	{ "problems", "First error.", SHAPE_TEXT_ARRAY(scan, problems, n_kept) },
	{ "problem_count", NULL, SHAPE_COUNT(scan, n_problems) },
	{ "parts", "Members of a wheel with GPU code or an error.",
	  SHAPE_LIST(scan, parts, n_parts, scan), .when_of = scan_has_parts, .absent = true });

bool arch_shows(const void *scan, const void *view)
{
	const struct scan *s = scan;
	const struct arch_view *v = view;

	return s->entries || s->error || v->all || v->n == 1;
}

#define GPU_ROWS(type)                                                                                     \
	{ "gpus", "GPUs that the files are judged for.",                                              \
	  SHAPE_ARRAY(scan_options, gpus, n_gpus, gpu_target),                                        \
	  SHAPE_VIA(type, how, scan_options) },                                                            \
	{ "gpus_from", "Source of the GPU list.", SHAPE_TEXT(type, gpus_from) }

static const struct shape stack_arch_shape = SHAPE_OF(arch_view, stack_arch,
	GPU_ROWS(arch_view),
	{ "files", NULL, SHAPE_LIST(arch_view, files, n, scan), .keeps = arch_shows },
	{ "files_looked_at", NULL, SHAPE_COUNT(arch_view, n) });

const struct result_shape stack_arch_result = {
	.name = "stack-arch", .title = "gputune stack arch",
	.meaning = "GPU code in files, and whether it runs.",
	.shape = &stack_arch_shape, .list = "files", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};

/* --- stack check --- */

SHAPE_GIVES(bool, finding_serious, stack_finding, x->verdict == VERDICT_FAIL && x->serious)

static const char *const verdicts[] = { "pass", "fail", "na", "unknown" };

static const struct shape stack_finding_shape = SHAPE_OF(stack_finding, stack_finding,
	{ "id", NULL, SHAPE_TEXT(stack_finding, id) },
	{ "title", NULL, SHAPE_TEXT(stack_finding, title) },
	{ "target", NULL, SHAPE_TEXT(stack_finding, target) },
	{ "verdict", NULL, SHAPE_CHOICE(stack_finding, verdict, verdicts) },
	{ "serious", "true: it does not work; false: it works slowly.", SHAPE_FLAG_OF(finding_serious) },
	{ "current", NULL, SHAPE_TEXT(stack_finding, current), .unknown = SHAPE_NULL },
	{ "wanted", NULL, SHAPE_TEXT(stack_finding, wanted), .unknown = SHAPE_NULL },
	{ "reason", NULL, SHAPE_TEXT(stack_finding, reason) },
	{ "source", NULL, SHAPE_TEXT(stack_finding, source), .unknown = SHAPE_NULL },
	{ "read_from", NULL, SHAPE_TEXT(stack_finding, from), .unknown = SHAPE_NULL },
	{ "command", "Command that fixes it.", SHAPE_TEXT(stack_finding, command), .unknown = SHAPE_NULL });

static const struct shape stack_summary_shape = SHAPE_OF(stack_findings, stack_summary,
	{ "pass", NULL, SHAPE_COUNT(stack_findings, count[VERDICT_PASS]) },
	{ "fail", NULL, SHAPE_COUNT(stack_findings, count[VERDICT_FAIL]) },
	{ "na", NULL, SHAPE_COUNT(stack_findings, count[VERDICT_NA]) },
	{ "unknown", NULL, SHAPE_COUNT(stack_findings, count[VERDICT_UNKNOWN]) });

static const char *const place_kinds[] = { "system", "toolkit", "python" };

static const struct shape stack_place_shape = SHAPE_OF(stack_place, stack_place,
	{ "kind", NULL, SHAPE_CHOICE(stack_place, kind, place_kinds) },
	{ "path", NULL, SHAPE_TEXT(stack_place, path) },
	{ "version", "Version of the toolkit or of Python.", SHAPE_TEXT(stack_place, version), .unknown = SHAPE_NULL },
	{ "packages", "Its site-packages folder.", SHAPE_TEXT(stack_place, packages), .unknown = SHAPE_NULL },
	{ "torch_cuda", "CUDA version that its PyTorch is built for; empty: none.",
	  SHAPE_TEXT(stack_place, torch_cuda), .unknown = SHAPE_NULL });

SHAPE_GIVES(const char *, item_component, stack_item, components[x->c].id)

static const struct shape stack_item_shape = SHAPE_OF(stack_item, stack_item,
	{ "component", NULL, SHAPE_TEXT_OF(item_component) },
	{ "place", NULL, SHAPE_TEXT(stack_item, place_path) },
	{ "path", NULL, SHAPE_TEXT(stack_item, path) },
	{ "soname", "Null: a Python package.", SHAPE_TEXT(stack_item, soname), .unknown = SHAPE_NULL },
	{ "version", NULL, SHAPE_TEXT(stack_item, version), .unknown = SHAPE_NULL },
	{ "version_from", NULL, SHAPE_TEXT(stack_item, version_from), .unknown = SHAPE_NULL },
	{ "loaded_version", "Version reported by the loaded library.", SHAPE_TEXT(stack_item, said),
	  .unknown = SHAPE_NULL },
	{ "gpu_code", NULL, SHAPE_LIST_AS(stack_item, code.codes.items, code.codes.n, gpu_code, code_name_shape),
	  SHAPE_WHEN(stack_item, scanned) });

#define OF_FOUND SHAPE_VIA(stack_view, found, stack_findings)
#define OF_INVENTORY SHAPE_VIA(stack_view, inv, inventory)

static const struct shape stack_check_shape = SHAPE_OF(stack_view, stack_check,
	{ "host", NULL, SHAPE_POINTER_AS(stack_view, m, machine, host_shape) },
	{ "rootfs", "Root folder that was inspected; null: the machine.",
	  SHAPE_TEXT(stack_view, rootfs), .unknown = SHAPE_NULL },
	GPU_ROWS(stack_view),
	{ "summary", "Findings by verdict.", SHAPE_PART(stack_summary_shape), OF_FOUND },
	{ "findings", NULL, SHAPE_LIST(stack_findings, items, n, stack_finding), OF_FOUND },
	{ "places", NULL, SHAPE_LIST(inventory, places, n_places, stack_place), OF_INVENTORY },
	{ "items", NULL, SHAPE_LIST(inventory, items, n_items, stack_item), OF_INVENTORY });

const struct result_shape stack_check_result = {
	.name = "stack-check", .title = "gputune stack check",
	.meaning = "The installed software stack, and whether its parts fit this GPU and each other.",
	.shape = &stack_check_shape, .list = "findings", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
