/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnoses: every rule on evidence for it and against it, and what is made of the answers. A rule
 * without both fails here, so that none can be added that always or never speaks.
 */
#include <math.h>

#include "doctor_rows.h"

#include "measure/doctor/doctor.h"
#include "knowledge/nccl_vars.h"

#include "base/text.h"

enum { ROWS = sizeof(doctor_rows) / sizeof(doctor_rows[0]) };

static const struct cause *cause_find(const char *id, const struct diagnosis **of)
{
	DIAGNOSIS_FOR_EACH (d)
		for (size_t i = 0; i < d->n; i++) {
			size_t n = strlen(d->id);

			if (strncmp(id, d->id, n) == 0 && id[n] == '/' &&
			    strcmp(id + n + 1, d->causes[i].id) == 0) {
				*of = d;
				return &d->causes[i];
			}
		}
	return NULL;
}

static const struct judged *judged_of(const struct examined *x, const struct cause *c)
{
	for (size_t i = 0; i < x->d->n; i++)
		if (x->causes[i].c == c)
			return &x->causes[i].v;
	fail();
	return NULL;
}

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const struct doctor_case *row = &doctor_rows[i];
		const struct diagnosis *d = NULL;
		const struct cause *c = cause_find(row->id, &d);
		struct arena a = { 0 };
		struct rule_facts e;
		struct judged v;

		if (!c || !c->rule)
			fail_msg("row %zu: no rule %s", i, row->id);
		case_evidence(&a, row, &e);
		c->rule(&e, &v);
		if (v.likelihood != row->want || (row->says && !strstr(v.text, row->says)))
			fail_msg("row %zu, %s: %s: %s; expected %s: %s", i, row->id,
				 likelihood_name(v.likelihood), v.text, likelihood_name(row->want),
				 row->says ? row->says : "");
		assert_true(v.text && *v.text);
		arena_free(&a);
	}
}

/* What one machine can never say yes to. A rule counts once, whichever diagnoses it serves. */
static bool only_from_both_ends(const char *id)
{
	return strcmp(id, "rdma.connect-times-out/wrong-leg") == 0 ||
	       strcmp(id, "nccl.ring-of-four/diagonal") == 0;
}

static void test_both_ways(void **state)
{
	(void)state;
	DIAGNOSIS_FOR_EACH (d)
		for (size_t i = 0; i < d->n; i++) {
			char id[128];
			size_t yes = 0, no = 0;
			const struct diagnosis *of;

			if (!d->causes[i].rule)
				continue;
			snprintf(id, sizeof(id), "%s/%s", d->id, d->causes[i].id);
			for (size_t k = 0; k < ROWS; k++)
				if (cause_find(doctor_rows[k].id, &of)->rule == d->causes[i].rule) {
					yes += doctor_rows[k].want <= CAUSE_POSSIBLE;
					no += doctor_rows[k].want >= CAUSE_EXCLUDED;
				}
			if ((!yes && !only_from_both_ends(id)) || !no)
				fail_msg("%s: %zu rows for it, %zu against it", id, yes, no);
		}
}

/* Causes that a setting judges: each verdict has its likelihood. */
static void test_by_setting(void **state)
{
	static const struct {
		const char *verdict;
		enum likelihood how;
	} rows[] = { { "pass", CAUSE_EXCLUDED },
		     { "na", CAUSE_NOT_HERE },
		     { "na:" CODE_NEEDS_LOAD, CAUSE_UNSEEN },
		     { "na:" CODE_NEEDS_DEEP, CAUSE_UNSEEN },
		     { "na:" CODE_NEEDS_EARLIER, CAUSE_UNSEEN },
		     { "unknown", CAUSE_UNSEEN } };

	(void)state;
	DIAGNOSIS_FOR_EACH (d)
		for (size_t i = 0; i < d->n; i++) {
			const struct cause *c = &d->causes[i];
			struct arena a = { 0 };
			struct rule_facts e;
			struct judged v;
			struct doctor_case row = { 0 };

			if (c->rule || !c->setting)
				continue;
			assert_non_null(setting_find(c->setting));
			assert_true(c->weight <= CAUSE_POSSIBLE);
			for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
				row.findings =
					arena_printf(&a, "%s=%s", c->setting, rows[k].verdict);
				case_evidence(&a, &row, &e);
				rule_by_setting(&e, c->setting, c->weight, &v);
				assert_int_equal(v.likelihood, rows[k].how);
			}
			row.findings = arena_printf(&a, "%s=pass %s=fail", c->setting, c->setting);
			case_evidence(&a, &row, &e);
			rule_by_setting(&e, c->setting, c->weight, &v);
			assert_int_equal(v.likelihood, c->weight);
			row.findings = NULL;
			case_evidence(&a, &row, &e);
			rule_by_setting(&e, c->setting, c->weight, &v);
			assert_int_equal(v.likelihood, CAUSE_UNSEEN);
			arena_free(&a);
		}
}

static size_t times(const struct diagnosis *d)
{
	size_t n = 0;

	DIAGNOSIS_FOR_EACH (o)
		n += strcmp(o->id, d->id) == 0 || strcmp(o->symptom, d->symptom) == 0;
	return n;
}

/* What the tables promise. */
static void test_tables(void **state)
{
	static const char *const kinds[] = { "dgx-spark", "igx-orin", "hgx", "generic" };
	struct arena a = { 0 };

	(void)state;
	DIAGNOSIS_FOR_EACH (d) {
		size_t same = times(d);

		assert_int_equal(same, 1);
		assert_non_null(strchr(d->id, '.'));
		assert_true((d->n > 0) == !d->leads && d->words && *d->words);
		for (size_t i = 0; i < d->n; i++) {
			const struct cause *c = &d->causes[i];
			const struct setting *s = c->fix ? setting_find(c->fix) : NULL;

			if (c->fix && !s)
				fail_msg("%s/%s: no setting %s", d->id, c->id, c->fix);
			for (size_t k = 0; k < 4; k++) {
				struct machine *m = fake_machine(
					&a,
					arena_printf(&a, "{'platform': {'kind': '%s'}}", kinds[k]));

				if (!doctor_step(c, m, NULL))
					fail_msg("%s/%s: nothing to do on %s", d->id, c->id,
						 kinds[k]);
			}
		}
	}
	for (unsigned t = 0; t < TESTS; t++) {
		assert_int_equal(doctor_tests[t].id, t);
		if (doctor_tests[t].bench)
			assert_non_null(bench_find(doctor_tests[t].bench));
	}
	arena_free(&a);
}

/* --- what is made of the answers -------------------------------------------------------------- */
static void state_is(const char *id, const struct doctor_case *row, enum doctor_state want,
		     const char *why)
{
	struct arena a = { 0 };
	struct rule_facts e;
	struct examined x;

	case_evidence(&a, row, &e);
	doctor_examine(&e, case_diagnosis(id), &x);
	if (x.state != want || (why && (!x.why || !strstr(x.why, why))))
		fail_msg("%s: %s (%s), expected %s (%s)", id, doctor_state_name(x.state),
			 x.why ? x.why : "-", doctor_state_name(want), why ? why : "-");
	for (size_t i = 1; i < x.d->n; i++)
		assert_true(x.causes[i - 1].v.likelihood <= x.causes[i].v.likelihood);
	(void)judged_of(&x, x.d->causes);
	arena_free(&a);
}

static void test_states(void **state)
{
	const char *gone = "gpu.driver=pass gpu.count=pass";

	(void)state;
	state_is("gpu.gone",
		 &(struct doctor_case){ .findings = gone,
					.facts = "{'gpu': {'driver': '580.1'}}",
					.signs = "{'module': '580.1'}" },
		 DOCTOR_FINE, NULL);
	state_is("gpu.gone",
		 &(struct doctor_case){ .findings = gone,
					.facts = "{'gpu': {'driver': '580.1'}}",
					.signs = "{'module': '580.2'}" },
		 DOCTOR_FOUND, NULL);
	/* One cause that was not seen, and it is not fine. */
	state_is("gpu.gone",
		 &(struct doctor_case){ .findings = "gpu.driver=pass gpu.count=unknown" },
		 DOCTOR_OPEN, "not usable");
	state_is("gpu.too-warm", &(struct doctor_case){ 0 }, DOCTOR_NOT_HERE, "no NVIDIA GPU");
	state_is("nic.mtu-mismatch",
		 &(struct doctor_case){
			 .facts = "{'net': {'nics': [" DATA("a", "10.0.0.1/24", "p0") "]}}" },
		 DOCTOR_OPEN, "--peer");
	/* What one machine cannot see keeps it open, however much is excluded. */
	state_is("nccl.hangs",
		 &(struct doctor_case){
			 .facts = "{" GB10 "}",
			 .signs = "{'processes': [{'pid': 1, 'nccl': '/a/libnccl.so.2'}]}" },
		 DOCTOR_OPEN, "the other ranks");
	/* And the test that shows it closes it. */
	state_is("rdma.losses",
		 &(struct doctor_case){ .facts = "{" ONE_RDMA "}",
					.signs = PORT("'retransmits': 0, 'symbol_errors': 0"),
					.tests = WRITES("190") },
		 DOCTOR_FINE, NULL);
}

static void test_search(void **state)
{
	static const struct {
		const char *words, *id;
		size_t most;
	} rows[] = {
		{ "half speed", "nic.half-speed-twin", 3 },
		{ "gpu.low-clock-low-power", "gpu.low-clock-low-power", 1 },
		{ "GPU stuck at 721 MHz, 15 W", "gpu.low-clock-low-power", 8 },
		{ "slow nccl socket", "nccl.over-sockets", 3 },
		{ "ibv_reg_mr enomem", "memory.register-fails", 1 },
		{ "vanished addresses after reboot", "nic.address-lost", 3 },
		{ "wi-fi drops at night", "net.wifi-sleeps", 3 },
		{ "ksmd", "memory.page-merging", 1 },
		{ "no memory shown in nvidia-smi", "gpu.memory-not-shown", 3 },
		{ "checkpoint stalls", "disk.stalls-saving", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a = { 0 };
		struct chosen c;
		bool there = false;

		assert_true(doctor_choose(&a, &rows[i].words, 1, NULL, &c));
		for (size_t k = 0; k < c.n; k++)
			there = there || strcmp(c.items[k]->id, rows[i].id) == 0;
		if (!there || c.n > rows[i].most)
			fail_msg("%s: %zu diagnoses, the first is %s", rows[i].words, c.n,
				 c.items[0]->id);
		arena_free(&a);
	}
}

static void test_choosing(void **state)
{
	const char *const topic[] = { "gpu" }, *const nonsense[] = { "xyzzy" },
			  *const noise[] = { "is the" }, *bad = NULL;
	struct arena a = { 0 };
	struct chosen c;

	(void)state;
	assert_true(doctor_choose(&a, NULL, 0, NULL, &c));
	assert_false(c.named);
	for (size_t i = 0; i < c.n; i++)
		assert_false(c.items[i]->ask_only);
	assert_true(doctor_choose(&a, topic, 1, NULL, &c));
	assert_true(c.named);
	for (size_t i = 0; i < c.n; i++)
		assert_true(str_starts(c.items[i]->id, "gpu."));
	assert_false(doctor_choose(&a, nonsense, 1, NULL, &c));
	assert_false(doctor_choose(&a, noise, 1, NULL, &c));
	c = (struct chosen){ 0 };
	assert_false(doctor_only(&a, nonsense, 1, &c, &bad));
	assert_string_equal(bad, "xyzzy");
	arena_free(&a);
}

/* --- before a test ---------------------------------------------------------------------------- */
static void test_gate(void **state)
{
	static const struct {
		const char *facts;
		enum doctor_need need;
		const char *says; /* NULL: it may run */
	} rows[] = {
		{ "{}", NEED_NOTHING, NULL },
		{ "{}", NEED_GPU, "no NVIDIA GPU" },
		{ "{" H200 "}", NEED_GPU, NULL },
		{ "{'gpu': {'gpus': [{'util_gpu_pct': 50}]}}", NEED_GPU, "50 % busy" },
		{ "{'gpu': {'gpus': [{'processes': [{'index': 7, 'kind': 'compute', 'command': "
		  "'vllm'}]}]}}",
		  NEED_GPU, "process 7 (vllm)" },
		{ "{'memory': {'available_kb': 1000}}", NEED_NOTHING, "0 MiB" },
		{ "{}", NEED_PEER, "--peer" },
		{ "{}", NEED_FILES, "--files" },
		{ "{}", NEED_DIR, "--dir" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a = { 0 };
		const struct bench_ask ask = { 0 };
		const char *says =
			doctor_test_gate(&a, fake_machine(&a, rows[i].facts), &ask, rows[i].need);

		if (!says != !rows[i].says || (says && !strstr(says, rows[i].says)))
			fail_msg("row %zu: %s", i, says ? says : "it may run");
		arena_free(&a);
	}
}

/* --- after a fix ------------------------------------------------------------------------------ */
static struct record *run_of(struct arena *a, double level, double spread, unsigned seed)
{
	enum { N = 60, EACH = 20 };
	struct record *r = ARENA_NEW(a, struct record);
	struct record_case *c = ARENA_NEW(a, struct record_case);
	struct stat_random dice = { seed };

	*c = (struct record_case){ .bench = "tcp",
				   .name = "send:1",
				   .method = "m",
				   .version = 1,
				   .setup = "",
				   .placement = "",
				   .variant = "",
				   .limit_source = "",
				   .n_series = 1,
				   .n = N,
				   .rounds = N / EACH,
				   .first = arena_array(a, N / EACH, sizeof(size_t)),
				   .at_s = arena_array(a, N, sizeof(double)),
				   .verified = true,
				   .steady = true };
	c->series[0] = (struct record_series){ .key = "rate",
					       .title = "rate",
					       .unit = "gbit_per_s",
					       .unit_text = "Gbit/s",
					       .better = BENCH_HIGHER,
					       .x = arena_array(a, N, sizeof(double)) };
	for (size_t i = 0; i < N; i++) {
		c->series[0].x[i] = level * exp(spread * stat_random_normal(&dice));
		c->at_s[i] = (double)i;
	}
	for (size_t i = 0; i < c->rounds; i++)
		c->first[i] = i * EACH;
	r->cases = c;
	r->n = 1;
	r->machine = "m";
	record_summarise(r);
	return r;
}

static void test_remeasure(void **state)
{
	static const struct {
		double a, b, c, spread;
		bool gone;
		enum remeasured how;
		bool keep;
	} rows[] = {
		{ 10, 10, 20, 0.005, true, FIX_BETTER, true },
		{ 10, 10, 20, 0.005, false, FIX_BETTER, true },
		{ 10, 10, 10, 0.005, true, FIX_SAME, false },
		{ 10, 10, 5, 0.005, true, FIX_WORSE, false },
		/* It was getting faster before anything was set. */
		{ 10, 12, 14, 0.005, true, FIX_UNDECIDED, false },
		{ 10, 10.3, 20, 0.005, true, FIX_BETTER, true },
		/* Half as much again would not have been noticed. */
		{ 10, 10, 10, 0.9, true, FIX_UNDECIDED, false },
	};
	struct fix_verdict v;
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		doctor_remeasure(&a, run_of(&a, rows[i].a, rows[i].spread, 1),
				 run_of(&a, rows[i].b, rows[i].spread, 2),
				 run_of(&a, rows[i].c, rows[i].spread, 3), rows[i].gone, &v);
		if (v.how != rows[i].how || v.keep != rows[i].keep)
			fail_msg("row %zu: %s: %s", i, remeasured_name(v.how), v.says);
		assert_non_null(strstr(v.says, "Gbit/s"));
	}
	doctor_remeasure(&a, NULL, NULL, NULL, true, &v);
	assert_true(v.how == FIX_GONE && v.keep);
	doctor_remeasure(&a, NULL, NULL, NULL, false, &v);
	assert_true(v.how == FIX_STAYS && !v.keep);
	arena_free(&a);
}

static void test_versions(void **state)
{
	(void)state;
	assert_int_equal(version_order("2.28.9", "2.30.7"), -1);
	assert_int_equal(version_order("2.30.7", "2.30.7"), 0);
	assert_int_equal(version_order("2.31", "2.30.7"), 1);
	assert_int_equal(version_order("2.9", "2.10"), -1);
	assert_int_equal(version_order("2.30", "2.30.7"), -1);
	assert_int_equal(version_order("dev", "2.30.7"), 0);
}

static void test_lists(void **state)
{
	(void)state;
	assert_true(var_list_names("=mlx5_0:1,mlx5_10", "mlx5_0"));
	assert_true(var_list_names("=mlx5_0:1,mlx5_10", "mlx5_10"));
	assert_false(var_list_names("=mlx5_0:1,mlx5_10", "mlx5_1"));
	assert_true(var_list_names("mlx5_1", "mlx5_10"));
	assert_false(var_list_names("mlx5_10", "mlx5_1"));
	assert_false(var_list_names("", "mlx5_1"));
	assert_false(var_list_names("=", "mlx5_1"));
	assert_false(var_list_names(",,:1", "mlx5_1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),	   cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_by_setting), cmocka_unit_test(test_tables),
		cmocka_unit_test(test_states),	   cmocka_unit_test(test_search),
		cmocka_unit_test(test_choosing),   cmocka_unit_test(test_gate),
		cmocka_unit_test(test_remeasure),  cmocka_unit_test(test_versions),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
