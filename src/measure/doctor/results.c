/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses, a row a figure. Keys and meanings are API. */
#include <math.h>

#include "look/settings/findings.h"
#include "measure/doctor/page_doctor.h"

/* clang-format off */

static unsigned code_style(const void *object)
{
	(void)object;
	return STYLE_CODE;
}

/* --- doctor list --- */

static const struct shape cause_shape = SHAPE_OF(cause, cause,
	{ "id", NULL, SHAPE_TEXT(cause, id) },
	{ "title", NULL, SHAPE_TEXT(cause, title) },
	{ "fix", "Setting that fixes it.", SHAPE_TEXT(cause, fix), .unknown = SHAPE_NULL });

static const void *diagnosis_tests(struct arena *a, const void *object, size_t *n)
{
	const struct diagnosis *d = object;
	const char **names = arena_array(a, TESTS, sizeof(*names));

	for (unsigned i = 0; i < TESTS; i++)
		if (d->tests & TEST_BIT(i))
			names[(*n)++] = doctor_tests[i].name;
	return names;
}

static const struct shape diagnosis_shape = SHAPE_OF(diagnosis, diagnosis,
	{ "id", NULL, SHAPE_TEXT(diagnosis, id), .title = "Diagnosis", .style_of = code_style },
	{ "symptom", "Everyday description.", SHAPE_TEXT(diagnosis, symptom), .title = "~Symptom" },
	{ "missing", "Parts that this machine cannot see, and how to check them.",
	  SHAPE_TEXT(diagnosis, missing), .unknown = SHAPE_NULL },
	{ "tests", NULL, SHAPE_TEXTS_MADE(diagnosis_tests), .title = "~Tests" },
	{ "causes", NULL, SHAPE_LIST(diagnosis, causes, n, cause) });

static const struct shape doctor_list_shape = SHAPE_OF(chosen, doctor_list,
	{ "diagnoses", NULL, SHAPE_POINTERS(chosen, items, n, diagnosis) });

const struct result_shape doctor_list_result = {
	.name = "doctor-list", .title = "gputune doctor list", .meaning = "Every diagnosis with its symptom.",
	.shape = &doctor_list_shape, .list = "diagnoses", .no_time = true,
};

static const struct shape doctor_summary_shape = SHAPE_OF(doctor_view, doctor_summary,
	{ "found", NULL, SHAPE_COUNT(doctor_view, count[DOCTOR_FOUND]) },
	{ "fine", NULL, SHAPE_COUNT(doctor_view, count[DOCTOR_FINE]) },
	{ "not_tested", "Number of tests that ran, including partial ones.", SHAPE_COUNT(doctor_view,
	  count[DOCTOR_OPEN]) },
	{ "not_here", "true: not applicable to the machine.", SHAPE_COUNT(doctor_view, count[DOCTOR_NOT_HERE]) });

/* A test that was asked for. */
struct test_run {
	const char *name, *why; /* it did not run; NULL: it did */
};

SHAPE_GIVES(bool, test_ran, test_run, !x->why)

static const struct shape test_run_shape = SHAPE_OF(test_run, test_run,
	{ "name", NULL, SHAPE_TEXT(test_run, name) },
	{ "ran", NULL, SHAPE_FLAG_OF(test_ran) },
	{ "why", "true: the test did not run.", SHAPE_TEXT(test_run, why), .unknown = SHAPE_NULL });

static const void *doctor_test_runs(struct arena *a, const void *object, size_t *n)
{
	const struct doctor_view *v = object;
	struct test_run *out = arena_array(a, TESTS, sizeof(*out));

	for (unsigned i = 0; i < TESTS; i++)
		if (v->tests & TEST_BIT(i))
			out[(*n)++] = (struct test_run){ doctor_tests[i].name, v->e->not_run[i] };
	return out;
}

struct test_figure {
	const struct record_case *of;
	const struct record_series *series;
};

#define OF_CASE SHAPE_VIA(test_figure, of, record_case)
#define OF_SERIES SHAPE_VIA(test_figure, series, record_series)

static const struct shape test_figure_shape = SHAPE_OF(test_figure, test_figure,
	{ "bench", NULL, SHAPE_TEXT(record_case, bench), OF_CASE },
	{ "case", NULL, SHAPE_TEXT(record_case, name), OF_CASE },
	{ "figure", NULL, SHAPE_TEXT(record_series, key), OF_SERIES },
	{ "unit", NULL, SHAPE_TEXT(record_series, unit), OF_SERIES },
	{ "median", NULL, SHAPE_REAL(record_series, s.median), OF_SERIES },
	{ "samples", NULL, SHAPE_COUNT(record_series, s.n), OF_SERIES },
	{ "verified", "The result was checked and correct.", SHAPE_FLAG(record_case, verified), OF_CASE });

static const void *doctor_test_figures(struct arena *a, const void *object, size_t *n)
{
	const struct record *r = ((const struct doctor_view *)object)->e->record;
	struct test_figure *out = arena_array(a, r ? r->n * BENCH_FIGURES + 1 : 1, sizeof(*out));

	for (size_t i = 0; r && i < r->n; i++)
		for (size_t k = 0; k < r->cases[i].n_series; k++)
			if (r->cases[i].series[k].has_summary && isfinite(r->cases[i].series[k].s.median))
				out[(*n)++] = (struct test_figure){ &r->cases[i], &r->cases[i].series[k] };
	return out;
}

#define OF_CAUSE SHAPE_VIA(cause_result, c, cause)

SHAPE_GIVES(const char *, cause_judged_by, cause, x->rule ? NULL : x->setting)

static const struct shape cause_result_shape = SHAPE_OF(cause_result, cause_result,
	{ "id", NULL, SHAPE_TEXT(cause, id), OF_CAUSE },
	{ "title", NULL, SHAPE_TEXT(cause, title), OF_CAUSE },
	{ "likelihood", NULL, SHAPE_CHOICE_BY(cause_result, v.likelihood, likelihood_name, LIKELIHOODS) },
	{ "evidence", NULL, SHAPE_TEXT(cause_result, v.text) },
	{ "judged_by", "The setting whose findings are the evidence.",
	  SHAPE_TEXT_OF(cause_judged_by), OF_CAUSE, .unknown = SHAPE_NULL },
	{ "fix", "Setting that fixes it.", SHAPE_TEXT(cause, fix), OF_CAUSE, .unknown = SHAPE_NULL },
	{ "by_hand", "Manual action.", SHAPE_TEXT(cause_result, step), .unknown = SHAPE_NULL });

#define OF_DIAGNOSIS SHAPE_VIA(examined, d, diagnosis)

static const struct shape symptom_match_shape = SHAPE_OF(symptom_match, symptom_match,
	{ "probability", "Probability that it fits the description.", SHAPE_REAL(symptom_match, probability) },
	{ "words", "Score of the words of the description.", SHAPE_REAL(symptom_match, words) },
	{ "known", "Share of the description's words that this diagnosis knows.", SHAPE_REAL(symptom_match, known) },
	{ "lines", "Weight of the log lines that match.", SHAPE_REAL(symptom_match, lines) },
	{ "hints", "Weight of matching log lines that can have other causes.", SHAPE_REAL(symptom_match, hints) },
	{ "line", "Pattern of the first matching line.", SHAPE_TEXT(symptom_match, line),
	  .unknown = SHAPE_NULL });

static const struct shape examined_shape = SHAPE_OF(examined, examined,
	{ "id", NULL, SHAPE_TEXT(diagnosis, id), OF_DIAGNOSIS },
	{ "symptom", "Everyday description.", SHAPE_TEXT(diagnosis, symptom), OF_DIAGNOSIS },
	{ "state", NULL, SHAPE_CHOICE_BY(examined, state, doctor_state_name, DOCTOR_STATES) },
	{ "why", "Skipped tests, or the reason why it does not apply.",
	  SHAPE_TEXT(examined, why), .unknown = SHAPE_NULL },
	{ "missing", "Parts that this machine cannot see, and how to check them.",
	  SHAPE_TEXT(diagnosis, missing), OF_DIAGNOSIS, .unknown = SHAPE_NULL },
	{ "normal", "true: the finding is not a fault.", SHAPE_FLAG(diagnosis, normal), OF_DIAGNOSIS },
	{ "leads", "Command of another verb that answers the question.", SHAPE_TEXT(diagnosis, leads), OF_DIAGNOSIS,
	  .unknown = SHAPE_NULL },
	{ "match", "How well it fits the description.", SHAPE_POINTER(examined, match, symptom_match),
	  .unknown = SHAPE_NULL },
	{ "causes", "Figures, the most significant first.", SHAPE_LIST(examined, causes, n, cause_result) });

static const struct shape doctor_fix_shape = SHAPE_OF(doctor_fix, doctor_fix,
	{ "diagnosis", NULL, SHAPE_TEXT(doctor_fix, diagnosis) },
	{ "settings", "Ids, comma-separated.", SHAPE_TEXT(doctor_fix, settings) },
	{ "transaction", NULL, SHAPE_COUNT(doctor_fix, txn), .unknown = SHAPE_ZERO },
	{ "verdict", NULL,
	  SHAPE_CHOICE_BY(doctor_fix, v.how, remeasured_name, FIX_STAYS + 1),
	  SHAPE_WHEN(doctor_fix, measured) },
	{ "measured", "With figures.", SHAPE_TEXT(doctor_fix, v.says), SHAPE_WHEN(doctor_fix, measured) },
	{ "kept", NULL, SHAPE_FLAG(doctor_fix, kept) },
	{ "left", "Settings left unchanged, with the reason.", SHAPE_TEXT(doctor_fix, left), .unknown = SHAPE_NULL },
	{ "trouble", "Reason why the fix was not applied or not undone.",
	  SHAPE_TEXT(doctor_fix, trouble), .unknown = SHAPE_NULL });

static const struct shape log_defect_shape = SHAPE_OF(log_defect, log_defect,
	{ "id", NULL, SHAPE_TEXT(log_defect, id) },
	{ "title", NULL, SHAPE_TEXT(log_defect, title) },
	{ "fix", NULL, SHAPE_TEXT(log_defect, fix) },
	{ "line", "Pattern that matches the line.", SHAPE_TEXT(log_defect, line) });

static const struct shape doctor_shape = SHAPE_OF(doctor_view, doctor,
	{ "summary", "Number of diagnoses by state.", SHAPE_PART(doctor_summary_shape) },
	{ "unknown", "true: no diagnosis fits the description; those listed were found on this machine.",
	  SHAPE_FLAG(doctor_view, unknown) },
	{ "read", "Log files that were read.", SHAPE_TEXT_LIST(doctor_view, sources, n_sources) },
	{ "defects", "Known defects that print lines found in the log.",
	  SHAPE_LIST(doctor_view, defects, n_defects, log_defect) },
	{ "tests", "Requested ones.", SHAPE_LIST_MADE(doctor_test_runs, test_run) },
	{ "measurements", "Measurements of the tests that ran.", SHAPE_LIST_MADE(doctor_test_figures, test_figure) },
	{ "diagnoses", NULL, SHAPE_LIST(doctor_view, items, n, examined) },
	{ "fixes", NULL, SHAPE_LIST(doctor_view, fixes, n_fixes, doctor_fix) });

const struct result_shape doctor_result = {
	.name = "doctor", .title = "gputune doctor",
	.meaning = "Checked symptoms, with causes and evidence.",
	.shape = &doctor_shape, .list = "tests", .host = &host_shape, .exit_codes = 0x3f,
};
