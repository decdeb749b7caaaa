/* SPDX-License-Identifier: Apache-2.0 */
/* From a value and a wish to a verdict; equal answers become one finding; the score and what does
 * not count. */
#include "box.h"

#include <stdbool.h>

#include "machine/knob/io.h"
#include "look/probe/probe.h"
#include "look/settings/check.h"
#include "look/settings/vendor.h"

static void test_relations(void **state)
{
	static const struct {
		enum relation rel;
		const char *value, *current;
		bool met;
	} table[] = {
		{ WANT_IS, "10", "10", true },
		{ WANT_IS, "10", "11", false },
		{ WANT_IS, "never", "never", true },
		{ WANT_IS, "never", "Never", false },
		{ WANT_IS, "10", "ten", false },
		{ WANT_NOT, "60", "10", true },
		{ WANT_NOT, "60", "60", false },
		{ WANT_NOT, "a", "b", true },
		{ WANT_NOT, "a", "a", false },
		{ WANT_AT_LEAST, "10", "10", true },
		{ WANT_AT_LEAST, "10", "9", false },
		{ WANT_AT_LEAST, "10", "100", true },
		{ WANT_AT_LEAST, "9", "10", true },
		{ WANT_AT_LEAST, "10", "max", false },
		{ WANT_AT_LEAST, "10", "", false },
		{ WANT_AT_MOST, "10", "9", true },
		{ WANT_AT_MOST, "10", "11", false },
		{ WANT_AT_MOST, "10", "-1", true },
		{ WANT_AT_MOST, "10", "many", false },
		{ WANT_ONE_OF, "none mq-deadline", "none", true },
		{ WANT_ONE_OF, "none mq-deadline", "mq-deadline", true },
		{ WANT_ONE_OF, "none mq-deadline", "mq", false },
		{ WANT_ONE_OF, "none mq-deadline", "deadline", false },
		{ WANT_ONE_OF, "none mq-deadline", "", false },
		{ WANT_ONE_OF, "none", "non", false },
		{ WANT_LEAVE, "", "anything", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct recommendation o = { .rel = table[i].rel, .value = table[i].value };

		if (recommendation_met(&o, table[i].current) != table[i].met)
			fail_msg("relation %d of \"%s\" and \"%s\"", (int)o.rel, o.value,
				 table[i].current);
	}
}

static void test_texts(void **state)
{
	static const struct {
		struct recommendation o;
		const char *unit, *text;
	} table[] = {
		{ { .rel = WANT_IS, .value = "10" }, NULL, "10" },
		{ { .rel = WANT_IS, .value = "10" }, "kB", "10 kB" },
		{ { .rel = WANT_AT_LEAST, .value = "4096" }, "bytes", ">= 4096 bytes" },
		{ { .rel = WANT_AT_MOST, .value = "5" }, NULL, "<= 5" },
		{ { .rel = WANT_NOT, .value = "0" }, NULL, "not 0" },
		{ { .rel = WANT_ONE_OF, .value = "none" }, NULL, "none" },
		{ { .rel = WANT_ONE_OF, .value = "none mq-deadline" },
		  NULL,
		  "none or mq-deadline" },
		{ { .rel = WANT_ONE_OF, .value = "a b c" }, NULL, "a, b or c" },
		{ { .rel = WANT_LEAVE }, NULL, "left alone" },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_string_equal(recommendation_text(&a, &table[i].o, table[i].unit),
				    table[i].text);
	arena_free(&a);
}

/* An opinion of the profile, else the default's; "published" takes nothing from us. */
static void test_which_opinion(void **state)
{
	static const struct recommendation list[] = {
		{ PROFILE_DEFAULT, ON_SPARK, WANT_IS, "spark", NULL, NULL },
		{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "default", NULL, NULL },
		{ PROFILE_TRAINING, ON_HGX, WANT_IS, "training", NULL, NULL },
		{ PROFILE_PUBLISHED, ON_IGX, WANT_IS, "published", NULL, NULL },
	};
	static const struct setting s = { .id = "x.y", .opinions = list, .n_opinions = 4 };

	(void)state;
	assert_string_equal(setting_recommendation(&s, PROFILE_DEFAULT, ON_SPARK)->value, "spark");
	assert_string_equal(setting_recommendation(&s, PROFILE_DEFAULT, ON_HGX)->value, "default");
	assert_string_equal(setting_recommendation(&s, PROFILE_TRAINING, ON_HGX)->value,
			    "training");
	assert_string_equal(setting_recommendation(&s, PROFILE_TRAINING, ON_SPARK)->value, "spark");
	assert_string_equal(setting_recommendation(&s, PROFILE_BALANCED, ON_GENERIC)->value,
			    "default");
	assert_string_equal(setting_recommendation(&s, PROFILE_PUBLISHED, ON_IGX)->value,
			    "published");
	assert_null(setting_recommendation(&s, PROFILE_PUBLISHED, ON_SPARK));
}

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

struct judged {
	struct arena a;
	struct findings f;
	struct host *h;
};

static void judge(struct judged *j, const char *path, const char *profile, const char *only)
{
	struct probe p = { .a = &j->a, .deep = true };
	struct profile wishes;
	struct err e = { 0 };

	p.m = ARENA_NEW(&j->a, struct machine);
	p.h = j->h = host_open_capture(path, &e);
	if (!j->h || profile_load(&j->a, profile, &wishes, &e) ||
	    (only && profile_narrow(&j->a, &wishes, only, false, &e)))
		fail_msg("%s", e.text);
	probe_machine(&p);
	settings_check(&j->a, p.m, &wishes, read_knob, j->h, &j->f);
}

static void done(struct judged *j)
{
	host_close(j->h);
	arena_free(&j->a);
}

/* 255 CPUs alike and one apart are two findings with ranges. */
static void test_grouping(void **state)
{
	struct judged j = { 0 };
	const struct finding *pass = NULL, *fail = NULL;

	(void)state;
	judge(&j, MACHINES "/cpu-256", "default", "cpu.governor");
	assert_int_equal(j.f.n, 2);
	for (size_t i = 0; i < j.f.n; i++)
		*(j.f.items[i].v.kind == VERDICT_PASS ? &pass : &fail) = &j.f.items[i];
	assert_non_null(pass);
	assert_non_null(fail);
	assert_int_equal(fail->v.kind, VERDICT_FAIL);
	assert_int_equal(fail->n_targets, 1);
	assert_int_equal(pass->n_targets, 255);
	assert_int_equal(strncmp(pass->target, "cpu0-", 5), 0);
	assert_non_null(strchr(pass->target, ','));
	assert_string_equal(fail->v.current, "powersave");
	assert_string_equal(fail->v.wanted, "performance");
	assert_string_equal(fail->v.code, CODE_DIFFERS);
	/* One pass and one failure of the same weight. */
	assert_int_equal(j.f.score, 50);
	assert_int_equal(j.f.tuning, 50);
	assert_int_equal(j.f.health, -1);
	assert_null(j.f.capped_by);
	done(&j);
}

/* One fault among many things that are right is no 95 of 100: the gravest failure caps its share,
 * and the line says which. What is waived or not seen caps nothing. */
static void test_capped(void **state)
{
	static const struct {
		const char *machine, *profile, *only;
		int score, health, tuning;
		const char *capped_by;
	} table[] = {
		{ "hgx-h100", "", "pcie.*,gpu.*", 49, 49, 79,
		  "critical: pcie.link 0000:a3:00.0: lanes are missing" },
		{ "hgx-h100", "[pcie.link]\nwaive = known\n", "pcie.*,gpu.*", 79, 100, 79,
		  "high: pcie.acs 0000:82:00.0 +7: traffic between GPU and NIC behind this switch "
		  "goes up to the processor and back" },
		{ "hgx-h100", "", "pcie.acs", 50, -1, 50, NULL },
		{ "dgx-spark", "", "gpu.*", 100, 100, 100, NULL },
		{ "nothing", "", "gpu.*", -1, -1, -1, NULL },
	};
	char path[512], profile[512];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct judged j = { 0 };
		struct box b;

		box_make(&b);
		box_file(&b, "site.ini", table[i].profile);
		snprintf(path, sizeof(path), MACHINES "/%s", table[i].machine);
		judge(&j, path, box_path(&b, "site.ini", profile, sizeof(profile)), table[i].only);
		if (j.f.score != table[i].score || j.f.health != table[i].health ||
		    j.f.tuning != table[i].tuning)
			fail_msg("row %zu: score %d, health %d, tuning %d", i, j.f.score,
				 j.f.health, j.f.tuning);
		if (table[i].capped_by)
			assert_string_equal(j.f.capped_by, table[i].capped_by);
		else
			assert_null(j.f.capped_by);
		done(&j);
		box_remove(&b);
	}
}

/* What could not be read is unknown; the score takes no notice, and is absent when nothing else is
 * there. */
static void test_unknown(void **state)
{
	static const struct {
		const char *meta, *answers;
		enum verdict_kind kind;
		const char *code;
	} table[] = {
		{ BOX_META("absent"), "/proc/sys/vm/swappiness\tEACCES\n", VERDICT_UNKNOWN,
		  CODE_DENIED },
		{ BOX_META("absent"), "/proc/sys/vm/swappiness\tEIO\n", VERDICT_UNKNOWN,
		  CODE_ERROR },
		{ BOX_META("absent"), "", VERDICT_NA, CODE_NO_SUPPORT },
		{ BOX_META("unknown"), "", VERDICT_UNKNOWN, CODE_NOT_CAPTURED },
	};
	char path[512], profile[512];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct judged j = { 0 };
		struct box b;

		box_make(&b);
		box_file(&b, "c/meta.json", table[i].meta);
		box_file(&b, "c/answers.tsv", table[i].answers);
		box_file(&b, "site.ini", "[memory.swappiness]\nwant = 10\n");
		judge(&j, box_path(&b, "c", path, sizeof(path)),
		      box_path(&b, "site.ini", profile, sizeof(profile)), "memory.swappiness");
		assert_int_equal(j.f.n, 1);
		if (j.f.items[0].v.kind != table[i].kind)
			fail_msg("row %zu: %s", i, j.f.items[0].v.reason);
		assert_string_equal(j.f.items[0].v.code, table[i].code);
		assert_null(j.f.items[0].v.current);
		assert_int_equal(j.f.score, -1);
		assert_int_equal(j.f.count[table[i].kind], 1);
		done(&j);
		box_remove(&b);
	}
}

/* A file's own wish is compared like a built-in one, and a waiver takes the failure away. */
static void test_profile_file(void **state)
{
	static const struct {
		const char *value, *text;
		enum verdict_kind kind;
	} table[] = {
		{ "60", "[memory.swappiness]\nwant = 60\n", VERDICT_PASS },
		{ "60", "[memory.swappiness]\nwant = <= 59\n", VERDICT_FAIL },
		{ "60", "[memory.swappiness]\nwant = leave\n", VERDICT_NA },
		{ "60", "[memory.swappiness]\nwant = 1\nwaive = why\n", VERDICT_NA },
		{ "60", "[memory.swappiness]\nwant = 1\nwaive = why\nexpires = 2020-01-01\n",
		  VERDICT_FAIL },
		{ "60", "[memory.swappiness]\nwant = 1\nwaive = why\nexpires = 2099-01-01\n",
		  VERDICT_NA },
		{ "nonsense", "[memory.swappiness]\nwant = 1\n", VERDICT_FAIL },
	};
	char path[512], profile[512];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct judged j = { 0 };
		struct box b;

		box_make(&b);
		box_file(&b, "c/meta.json", BOX_META("absent"));
		box_file(&b, "c/root/proc/sys/vm/swappiness", table[i].value);
		box_file(&b, "site.ini", table[i].text);
		judge(&j, box_path(&b, "c", path, sizeof(path)),
		      box_path(&b, "site.ini", profile, sizeof(profile)), "memory.swappiness");
		assert_int_equal(j.f.n, 1);
		if (j.f.items[0].v.kind != table[i].kind)
			fail_msg("%s of %s: %s", table[i].text, table[i].value,
				 j.f.items[0].v.reason);
		done(&j);
		box_remove(&b);
	}
}

/* Whole machines in every profile: every finding is complete, sums are right, failed health stands
 * first. */
static void test_complete(void **state)
{
	static const char *const machines[] = { "dgx-spark", "cpu-256", "hgx-h100", "igx-orin",
						"nothing" };

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		for (int p = 0; p < PROFILES; p++) {
			struct judged j = { 0 };
			bool settings_now = false;
			size_t sum = 0;

			judge(&j, arena_printf(&j.a, MACHINES "/%s", machines[i]),
			      profile_name((enum profile_id)p), NULL);
			for (size_t k = 0; k < j.f.n; k++) {
				const struct finding *f = &j.f.items[k];
				bool first = f->s->health && f->v.kind == VERDICT_FAIL;

				if (!f->v.code || !*f->v.code || !f->v.reason || !*f->v.reason ||
				    !f->v.why || !f->target)
					fail_msg("%s on %s: %s is incomplete", f->s->id,
						 machines[i], f->target);
				if (first && settings_now)
					fail_msg("%s on %s stands too late", f->s->id, machines[i]);
				settings_now = settings_now || !first;
				if (f->v.kind == VERDICT_FAIL && !f->v.wanted)
					fail_msg("%s on %s fails without a wish", f->s->id,
						 machines[i]);
			}
			for (int k = 0; k < 4; k++)
				sum += j.f.count[k];
			assert_int_equal(sum, j.f.n);
			assert_true(j.f.score >= -1 && j.f.score <= 100);
			done(&j);
		}
}

/* Two rows of makers agree where both hold: either one's value meets the other's wish. */
static bool makers_agree(const struct vendor_opinion *x, const struct vendor_opinion *y)
{
	struct recommendation a = vendor_recommends(x), b = vendor_recommends(y);

	return recommendation_met(&a, b.value) || recommendation_met(&b, a.value);
}

/* A vendor's wish is the default's, or the row says why not, and says so only then. Where makers
 * disagree, the profile vendor picks none of them. */
static void test_vendors(void **state)
{
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < n_vendor_opinions; i++) {
		const struct vendor_opinion *w = &vendor_opinions[i];
		const struct setting *s = setting_find(w->setting);
		struct recommendation room;

		if (!s)
			fail_msg("unknown setting %s", w->setting);
		if ((vendor_stand(s, w) == VENDOR_DIFFERS) != (w->differs != NULL))
			bad++, print_error("%s by %s, %s: the default %s, and differs is %s",
					   w->setting, w->by, w->where,
					   vendor_stand_name(vendor_stand(s, w)),
					   w->differs ? w->differs : "not told\n");
		for (const struct vendor_opinion *y = w; w->maker && (y = vendor_next(s, y));)
			if (y->maker && y->on & w->on && w->relation != WANT_LEAVE &&
			    (y->relation == WANT_LEAVE || !makers_agree(w, y)))
				bad++, print_error("%s: makers disagree, and the first is taken",
						   w->setting);
		if (w->maker && !vendor_recommendation(s, w->on, &room))
			bad++, print_error("%s is not in the profile vendor", w->setting);
	}
	assert_int_equal(bad, 0);
}

/* The profile vendor: what makers set; nothing is filled in from ours. */
static void test_vendor_profile(void **state)
{
	static const struct {
		const char *machine, *id;
		enum verdict_kind kind;
		const char *code, *wanted;
	} table[] = {
		{ "dgx-spark", "memory.thp-enabled", VERDICT_PASS, CODE_OK, "madvise" },
		{ "dgx-spark", "memory.zone-reclaim", VERDICT_NA, CODE_NOT_IN_PROFILE, NULL },
		{ "hgx-h100", "cpu.governor", VERDICT_FAIL, CODE_DIFFERS, "performance" },
		{ "hgx-h100", "memory.swappiness", VERDICT_FAIL, CODE_DIFFERS, "1" },
		{ "hgx-h100", "net.rmem-max", VERDICT_NA, CODE_LEFT_ALONE, NULL },
		{ "cpu-256", "cpu.governor", VERDICT_NA, CODE_NOT_IN_PROFILE, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct judged j = { 0 };
		const struct verdict *v;

		judge(&j, arena_printf(&j.a, MACHINES "/%s", table[i].machine), "vendor",
		      table[i].id);
		v = &j.f.items[0].v;
		if (v->kind != table[i].kind || strcmp(v->code, table[i].code) != 0 ||
		    !v->wanted != !table[i].wanted ||
		    (v->wanted && strcmp(v->wanted, table[i].wanted) != 0))
			fail_msg("%s on %s: %s (%s), wanted %s", table[i].id, table[i].machine,
				 v->reason, v->code, v->wanted ? v->wanted : "nothing");
		done(&j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relations),     cmocka_unit_test(test_texts),
		cmocka_unit_test(test_which_opinion), cmocka_unit_test(test_grouping),
		cmocka_unit_test(test_unknown),	      cmocka_unit_test(test_profile_file),
		cmocka_unit_test(test_complete),      cmocka_unit_test(test_capped),
		cmocka_unit_test(test_vendors),	      cmocka_unit_test(test_vendor_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
