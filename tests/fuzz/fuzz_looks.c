/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any texts as what a diagnosis and a monitor look at (fuzz_host.h): processes, counters, logs,
 * NCCL's files. All diagnoses are judged, two looks are taken and shown, and the cluster's part of
 * the machine's files is read; nothing is said without a sentence.
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>

#include "many/cluster/setup.h"
#include "measure/doctor/doctor.h"
#include "fuzz_mutate.h"
#include "machine/knob/io.h"
#include "look/monitor/monitor.h"
#include "look/probe/probe.h"
#include "look/monitor/page_monitor.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

/* Read once, from the capture as it is. */
struct subject {
	struct fuzz_host host;
	struct machine m;
	struct findings findings;
	struct monitor mon;
};

static struct subject *subject_of(const char *name)
{
	struct subject *s = calloc(1, sizeof(*s));
	struct profile profile = { 0 };
	struct err e = { 0 };
	struct probe p = { 0 };

	if (!s)
		abort();
	fuzz_host_open(&s->host, name);
	p = (struct probe){ .h = s->host.base, .a = s->host.keep, .m = &s->m, .deep = true };
	probe_machine(&p);
	if (profile_load(s->host.keep, "default", &profile, &e))
		abort();
	settings_check(s->host.keep, &s->m, &profile, read_knob, s->host.base, &s->findings);
	monitor_make(s->host.keep, s->host.base, &s->m, &s->mon);
	return s;
}

static void diagnose(struct subject *s, struct arena *a)
{
	struct observations *first = ARENA_NEW(a, struct observations),
			    *second = ARENA_NEW(a, struct observations);
	struct rule_facts ev = {
		.a = a, .m = &s->m, .findings = &s->findings, .signs = second, .earlier = first
	};

	observations_read(a, &s->host.host, &s->m, true, first);
	observations_read_machine(a, s->host.base, &s->m, second);
	ev.apart_s = 1;
	for (int i = 0; i < TESTS; i++)
		ev.not_run[i] = "nobody asked";
	for (int turn = 0; turn < 2; turn++) {
		DIAGNOSIS_FOR_EACH (d) {
			struct examined out = { 0 };

			doctor_examine(&ev, d, &out);
			for (size_t i = 0; i < d->n; i++)
				if (out.state != DOCTOR_NOT_HERE && !out.causes[i].v.text)
					abort();
		}
		ev.signs = first;
		ev.earlier = second;
	}
	json_decref(shape_object_json(&observations_shape, first));
}

static void monitor(struct subject *s, struct arena *a)
{
	double *now = arena_array(a, s->mon.n, sizeof(*now)),
	       *before = arena_array(a, s->mon.n, sizeof(*before));
	struct monitor_head head = { .when = "now" };
	struct monitor_state state = { 0 };
	struct term_style how = { 0 };
	struct instant f;
	TEXT_AUTO out = { 0 };
	json_t *j;
	char *text = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&text, &n);

	if (!mem)
		abort();
	monitor_look(&s->mon, s->host.base, &state, 1, before);
	monitor_look(&s->mon, &s->host.host, &state, 2.5, now);
	f = instant_of(&s->mon, &state, 2.5, now, 1, before);
	for (size_t i = 0; i < s->mon.n; i++)
		if (isinf(instant_column(&f, i)))
			abort();
	how.width = 80;
	monitor_page(&f, &f, &head, &how, &out);
	text_clear(&out);
	monitor_line_add(monitor_line_make(a, &s->mon), &f, 2500, &out);
	j = json_loads(out.s, JSON_REJECT_DUPLICATES, NULL);
	if (!j)
		abort();
	json_decref(j);
	monitor_exposition(mem, &f, EXPOSITION_TEXT);
	monitor_exposition(mem, &f, EXPOSITION_OPENMETRICS);
	fclose(mem);
	free(text);
	monitor_state_free(&state);
}

static void cluster(struct subject *s, struct arena *a)
{
	struct setup_want want = { .hosts = "", .known_hosts = "" };
	struct setup setup = { 0 };

	LIST_FOR_EACH (struct nic, n, &s->m.net.nics) {
		if (want.n == 4)
			break;
		want.ports[want.n++] = (struct setup_port){ n->name, "192.168.100.1/24", 9000 };
	}
	setup_make(a, &s->host.host, &s->m, &want, &setup);
	if (!setup_digest(a, &setup))
		abort();
	setup_rdma_openers(a, &s->host.host);
}

static void look(struct subject *s)
{
	struct arena a = { 0 };

	diagnose(s, &a);
	monitor(s, &a);
	cluster(s, &a);
	arena_free(&a);
}

/* Looked at once as they are. */
static struct subject *subject(bool spark)
{
	static struct subject *all[2];

	if (!all[0]) {
		all[0] = subject_of("h200-x4");
		all[1] = subject_of("dgx-spark");
		for (int i = 0; i < 2; i++) {
			fuzz_host_say(&all[i]->host, NULL, 0);
			look(all[i]);
		}
	}
	return all[spark];
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct subject *s = subject(size && data[size - 1] % 2);

	fuzz_host_say(&s->host, data, size);
	if (s->host.asked)
		look(s);
	return 0;
}

#ifdef FUZZ_MUTATES
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct fuzz_host *const of[] = { &subject(false)->host, &subject(true)->host };

	return mutate_sections(of, data, size, max, seed);
}
#endif
