/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet is, a row a figure. Keys and meanings are API. */
#include "many/fleet/fleet.h"
#include "render/shape_page.h"

/* --- what follows ----------------------------------------------------------------------------- */

/* clang-format off */
#define MADE(name, type, text)                                                                 \
	static const void *name(struct arena *a, const void *object, size_t *n)                \
	{                                                                                      \
		(void)n; \
		const struct type *x = object;                                                 \
		return text;                                                                   \
	}
MADE(group_hosts, fleet_group, fleet_hosts(a, x->machines, x->n, 0))
MADE(answer_hosts, fleet_answer, fleet_hosts(a, x->by, x->n_by, 0))
MADE(state_hosts, fleet_state, fleet_hosts(a, x->machines, x->n, 0))
MADE(value_unusual, fleet_value, fleet_unusual(a, x->bench, x->machine))

SHAPE_GIVES(const char *, rare_id, fleet_rare, x->answer->subject->id)
SHAPE_GIVES(const char *, rare_from, fleet_rare, fleet_kinds[x->answer->subject->kind])
SHAPE_GIVES(const char *, proof_bench, fleet_proof, x->command ? NULL : x->on)
SHAPE_GIVES(const char *, proof_command, fleet_proof, x->command ? x->on : NULL)

#define KEEPS(name, type, when)                                                                \
	static bool name(const void *item, const void *object)                                 \
	{                                                                                      \
		(void)object; \
		const struct type *x = item;                                                   \
		return when;                                                                   \
	}
KEEPS(answer_is_there, fleet_answer, x->count > 0)
KEEPS(subject_differs, fleet_subject, x->differs || x->between)
KEEPS(machine_is_rare, fleet_machine, x->n_rare > 0)
KEEPS(value_is_outlier, fleet_value, x->outlier)
/* clang-format on */

SHAPE_GIVES(long long, group_unknown, fleet_group, (long long)(x->n_answers - x->n_bad))
SHAPE_GIVES(bool, has_golden, fleet, x->golden)

const void *fleet_drifts(struct arena *a, const void *object, size_t *n)
{
	const struct fleet *f = object;
	struct fleet_drift *list = NULL;

	*n = 0;
	for (size_t s = 0; s < f->n_subjects; s++) {
		const struct fleet_subject *it = f->subjects[s];
		const struct fleet_answer *wanted = f->golden->answers[it->number];

		if (it->kind != FLEET_HOST && !f->golden->times[it->kind])
			continue;
		for (size_t i = 0; i < it->n_answers; i++) {
			if (it->answers[i] == wanted || !it->answers[i]->n_by)
				continue;
			ARENA_ADD(a, list, *n) = (struct fleet_drift){ it, wanted, it->answers[i] };
		}
	}
	return list ? list : arena_array(a, 1, sizeof(*list));
}

static const void *refused_rows(struct arena *a, const void *object, size_t *n)
{
	const struct fleet *f = object;

	*n = f->n_refused < FLEET_REFUSED_MAX ? f->n_refused : FLEET_REFUSED_MAX;
	return *n ? (const void *)f->refused : arena_array(a, 1, sizeof(*f->refused));
}

/* --- rows ------------------------------------------------------------------------------------- */

/* clang-format off */

static const char *const fleet_marks[] = { "good", "neutral", "unknown", "bad" };
static const char *const fleet_better[] = { "higher", "lower" };

#define SUBJECT_ROWS(...)                                                                      \
	{ "id", NULL, SHAPE_TEXT(fleet_subject, id), __VA_ARGS__ },                            \
	{ "from", "Kind of the result.", SHAPE_CHOICE_OF(fleet_subject, kind, fleet_kinds, FLEET_KINDS), __VA_ARGS__ }

static const struct shape fleet_part_shape = SHAPE_OF(fleet_part, fleet_part,
	{ "target", "\"\" for the machine.", SHAPE_TEXT(fleet_part, target) },
	{ "state", NULL, SHAPE_TEXT(fleet_part, state) },
	{ "now", NULL, SHAPE_TEXT(fleet_part, now), .unknown = SHAPE_NULL },
	{ "wanted", NULL, SHAPE_TEXT(fleet_part, wanted), .unknown = SHAPE_NULL });

#define ANSWER_ROWS                                                                            \
	{ "mark", "The worst state of all parts.", SHAPE_CHOICE(fleet_answer, mark, fleet_marks) },  \
	{ "text", NULL, SHAPE_TEXT(fleet_answer, text) },                                      \
	{ "parts", "By target.", SHAPE_POINTERS(fleet_answer, parts, n_parts, fleet_part) }

static const struct shape fleet_answer_shape = SHAPE_OF(fleet_answer, fleet_answer,
	ANSWER_ROWS);

static const struct shape fleet_shared_shape = SHAPE_OF(fleet_answer, fleet_shared,
	ANSWER_ROWS,
	{ "machines", "Machines with this value.", SHAPE_COUNT(fleet_answer, n_by) },
	{ "hosts", "Host names in Slurm's folded form.", SHAPE_TEXT_MADE(answer_hosts) });

static const struct shape fleet_finding_shape = SHAPE_OF(fleet_answer, fleet_finding,
	SUBJECT_ROWS(SHAPE_VIA(fleet_answer, subject, fleet_subject)),
	{ "answer", NULL, SHAPE_PART(fleet_answer_shape) });

static const struct shape fleet_name_shape = SHAPE_OF(fleet_machine, fleet_name,
	{ NULL, NULL, SHAPE_TEXT(fleet_machine, name) });

static const struct shape fleet_group_shape = SHAPE_OF(fleet_group, fleet_group,
	{ "group", "Group number; 1 is the largest group.", SHAPE_COUNT(fleet_group, number) },
	{ "machines", NULL, SHAPE_COUNT(fleet_group, n) },
	{ "bad", NULL, SHAPE_COUNT(fleet_group, n_bad) },
	{ "unknown", NULL, SHAPE_COUNT_OF(group_unknown) },
	{ "hosts", "Host names in Slurm's folded form.", SHAPE_TEXT_MADE(group_hosts) },
	{ "names", NULL, SHAPE_POINTERS_AS(fleet_group, machines, n, fleet_machine, fleet_name_shape) },
	{ "findings", "Failed settings first, then unknown ones.",
	  SHAPE_POINTERS_AS(fleet_group, answers, n_answers, fleet_answer, fleet_finding_shape) });

static const struct shape fleet_subject_shape = SHAPE_OF(fleet_subject, fleet_subject,
	SUBJECT_ROWS(.via = 0),
	{ "within_platform", "true: the machines also differ within a platform.", SHAPE_FLAG(fleet_subject, differs) },
	{ "silent", "Machines without a value.", SHAPE_COUNT(fleet_subject, silent) },
	{ "answers", "Values, the most frequent first.", .keeps = answer_is_there,
	  SHAPE_POINTERS_AS(fleet_subject, answers, n_answers, fleet_answer, fleet_shared_shape) });

static const struct shape fleet_rare_shape = SHAPE_OF(fleet_rare, fleet_rare,
	{ "id", NULL, SHAPE_TEXT_OF(rare_id) },
	{ "from", "Kind of the result.", SHAPE_TEXT_OF(rare_from), .names = fleet_kinds, .n_names = FLEET_KINDS },
	{ "here", NULL, SHAPE_POINTER(fleet_rare, answer, fleet_answer) },
	{ "usual", NULL, SHAPE_POINTER(fleet_rare, usual, fleet_answer) },
	{ "shared_by", "Machines with this answer.",
	  SHAPE_COUNT(fleet_answer, count), SHAPE_VIA(fleet_rare, answer, fleet_answer) },
	{ "peers", "Machines of the same class.", SHAPE_COUNT(fleet_rare, peers) });

static const struct shape fleet_outlier_shape = SHAPE_OF(fleet_machine, fleet_outlier,
	{ "name", NULL, SHAPE_TEXT(fleet_machine, name) },
	{ "file", NULL, SHAPE_TEXT(fleet_machine, file) },
	{ "group", NULL, SHAPE_COUNT(fleet_group, number), SHAPE_VIA(fleet_machine, group, fleet_group) },
	{ "rare", "Values of this machine that few of its peers have.", SHAPE_LIST(fleet_machine, rare, n_rare,
	  fleet_rare) });

static const struct shape fleet_drift_shape = SHAPE_OF(fleet_drift, fleet_drift,
	SUBJECT_ROWS(SHAPE_VIA(fleet_drift, subject, fleet_subject)),
	{ "golden", NULL, SHAPE_POINTER(fleet_drift, golden, fleet_answer), .unknown = SHAPE_NULL },
	{ "here", NULL, SHAPE_POINTER_AS(fleet_drift, here, fleet_answer, fleet_shared_shape) });

#define OF_GOLDEN SHAPE_VIA(fleet, golden, fleet_machine)
static const struct shape golden_shape = SHAPE_OF(fleet, golden,
	{ "golden", "The reference machine.", SHAPE_TEXT(fleet_machine, name), OF_GOLDEN },
	{ "file", NULL, SHAPE_TEXT(fleet_machine, file), OF_GOLDEN },
	{ "machines", "Machines that differ from the reference machine.", SHAPE_COUNT(fleet, n_drifted) },
	{ "rows", NULL, SHAPE_LIST_MADE(fleet_drifts, fleet_drift) });

static const struct shape fleet_verdict_shape = SHAPE_OF(fleet_verdict, fleet_verdict,
	{ "name", NULL, SHAPE_TEXT(fleet_verdict, name) },
	{ "verdict", NULL, SHAPE_CHOICE_BY(fleet_verdict, kind, ruling_verdict, RULING_UNDECIDED + 1) },
	{ "ratio", "Machines on which the setting helps.", SHAPE_REAL(fleet_verdict, ratio) },
	{ "low", NULL, SHAPE_REAL(fleet_verdict, low), .unknown = SHAPE_ZERO },
	{ "high", NULL, SHAPE_REAL(fleet_verdict, high), .unknown = SHAPE_NULL },
	{ "kernel", NULL, SHAPE_TEXT(fleet_verdict, kernel) },
	{ "driver", NULL, SHAPE_TEXT(fleet_verdict, driver) },
	{ "time", NULL, SHAPE_TIME(fleet_verdict, time_s) });

static const struct shape fleet_proof_shape = SHAPE_OF(fleet_proof, fleet_proof,
	{ "setting", NULL, SHAPE_TEXT(fleet_proof, setting) },
	{ "bench", NULL, SHAPE_TEXT_OF(proof_bench), .unknown = SHAPE_NULL },
	{ "command", NULL, SHAPE_TEXT_OF(proof_command), .unknown = SHAPE_NULL },
	{ "helps", NULL, SHAPE_COUNT(fleet_proof, count[0]) },
	{ "hurts", NULL, SHAPE_COUNT(fleet_proof, count[1]) },
	{ "no_difference", NULL, SHAPE_COUNT(fleet_proof, count[2]) },
	{ "undecided", NULL, SHAPE_COUNT(fleet_proof, count[3]) },
	{ "verdicts", NULL, SHAPE_POINTERS(fleet_proof, by, n, fleet_verdict) });

static const struct shape fleet_value_shape = SHAPE_OF(fleet_value, fleet_value,
	{ "name", NULL, SHAPE_TEXT(fleet_machine, name), SHAPE_VIA(fleet_value, machine, fleet_machine) },
	{ "value", NULL, SHAPE_REAL(fleet_value, value) },
	{ "robust_z", NULL, SHAPE_REAL(fleet_value, z) },
	{ "worse", NULL, SHAPE_FLAG(fleet_value, worse) },
	{ "unlike_most", "Versions (driver, kernel, firmware, VBIOS) of this machine that more than "
	  "half of its peers do not have.",
	  SHAPE_TEXT_MADE(value_unusual), .unknown = SHAPE_NULL });

static const struct shape fleet_state_shape = SHAPE_OF(fleet_state, fleet_state,
	{ "machines", NULL, SHAPE_COUNT(fleet_state, n) },
	{ "median", NULL, SHAPE_REAL(fleet_state, median) },
	{ "worse", NULL, SHAPE_FLAG(fleet_state, worse) },
	{ "hosts", NULL, SHAPE_TEXT_MADE(state_hosts) });

#define STATE_MEANING "Machines that differ in this direction; they are too many to be outliers."
static const struct shape fleet_bench_shape = SHAPE_OF(fleet_bench, fleet_bench,
	{ "figure", NULL, "Measured", NULL, SHAPE_TEXT(fleet_bench, name), .style_of = shape_strong },
	{ "unit", NULL, "Unit", NULL, SHAPE_TEXT(fleet_bench, unit) },
	{ "hardware", NULL, "~Hardware", NULL, SHAPE_TEXT(fleet_bench, hardware), .style_of = shape_muted },
	{ "better", NULL, SHAPE_EITHER(fleet_bench, lower, fleet_better) },
	{ "machines", NULL, "Machines", NULL, SHAPE_COUNT(fleet_bench, n) },
	{ "median", NULL, "Median", NULL, SHAPE_REAL(fleet_bench, median) },
	{ "mad", "Median absolute deviation, not scaled.", "MAD", NULL, SHAPE_REAL(fleet_bench, mad) },
	{ "outliers", NULL, SHAPE_POINTERS(fleet_bench, by, n, fleet_value), .keeps = value_is_outlier },
	{ "state_below", STATE_MEANING, SHAPE_OBJECT(fleet_bench, below, fleet_state), .unknown = SHAPE_ZERO },
	{ "state_above", STATE_MEANING, SHAPE_OBJECT(fleet_bench, above, fleet_state), .unknown = SHAPE_ZERO });

static const struct shape fleet_refused_shape = SHAPE_OF(fleet_refused, fleet_refused,
	{ "file", NULL, SHAPE_TEXT(fleet_refused, file) },
	{ "why", NULL, SHAPE_TEXT(fleet_refused, why) });

static const struct shape fleet_summary_shape = SHAPE_OF(fleet, fleet_summary,
	{ "files", NULL, SHAPE_COUNT(fleet, files) },
	{ "results", NULL, SHAPE_COUNT(fleet, documents) },
	{ "older_results", "Results superseded by newer ones of the same machine.", SHAPE_COUNT(fleet, replaced) },
	{ "machines", NULL, SHAPE_COUNT(fleet, n) },
	{ "groups", NULL, SHAPE_COUNT(fleet, n_groups) },
	{ "differences", NULL, SHAPE_COUNT(fleet, n_differs) },
	{ "between_platforms", NULL, SHAPE_COUNT(fleet, n_between) },
	{ "outliers", NULL, SHAPE_COUNT(fleet, n_outliers) },
	{ "figures", NULL, SHAPE_COUNT(fleet, n_benches) },
	{ "bench_outliers", NULL, SHAPE_COUNT(fleet, n_bench_outliers) },
	{ "verdicts", NULL, SHAPE_COUNT(fleet, verdicts) },
	{ "unreadable", NULL, SHAPE_COUNT(fleet, n_refused) });

static const struct shape fleet_shape = SHAPE_OF(fleet, fleet,
	{ "summary", NULL, SHAPE_PART(fleet_summary_shape) },
	{ "groups", "Machines with the same failed and unknown answers.",
	  SHAPE_POINTERS(fleet, groups, n_groups, fleet_group) },
	{ "differences", NULL, SHAPE_POINTERS(fleet, subjects, n_subjects, fleet_subject), .keeps = subject_differs },
	{ "outliers", NULL, .keeps = machine_is_rare,
	  SHAPE_POINTERS_AS(fleet, machines, n, fleet_machine, fleet_outlier_shape) },
	{ "drift", NULL, SHAPE_PART(golden_shape), .when_of = has_golden },
	{ "proofs", "Verdicts on settings from the ledgers of machines; empty without ledgers.",
	  SHAPE_POINTERS(fleet, proofs, n_proofs, fleet_proof) },
	{ "benches", "Measured figures, those with outliers first; medians of machines with the same hardware.",
	  SHAPE_POINTERS(fleet, benches, n_benches, fleet_bench) },
	{ "unreadable", NULL, SHAPE_LIST_MADE(refused_rows, fleet_refused) });

const struct result_shape fleet_result = {
	.name = "fleet", .title = "gputune fleet", .meaning = "Comparison of many machines, from their results.",
	.shape = &fleet_shape, .list = "groups", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
