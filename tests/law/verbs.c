/* SPDX-License-Identifier: Apache-2.0 */
/* check, doctor, cluster, generate, lint, monitor and watch on one machine, in process. */
#include "verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "look/monitor/marks.h"
#include "look/settings/predicates.h"
#include "many/cluster/inventory.h"
#include "many/cluster/links.h"
#include "measure/doctor/rule.h"
#include "models/generate/launch.h"
#include "models/generate/lint.h"
#include "tune/watch/item.h"

const struct diagnosis *law_planted;
const struct law_second *law_second;

const char *law_verb_name(enum law_verb v)
{
	static const char *const names[] = { "check", "doctor",	 "cluster", "generate",
					     "lint",  "monitor", "watch" };

	return names[v];
}

const char *law_state_name(enum law_state s)
{
	static const char *const names[] = { "right", "wrong", "may be wrong", "open" };

	return names[s];
}

bool is_word_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list ? list : ""; *p; p += strcspn(p, " ")) {
		size_t n;

		p += strspn(p, " ");
		n = strcspn(p, " ");
		if (n && p[n - 1] == '*' ? strncmp(p, word, n - 1) == 0
					 : n == len && strncmp(p, word, n) == 0)
			return true;
	}
	return false;
}

static struct judgement *verbs_add(struct arena *a, struct judgements *out, enum law_verb verb,
				   const char *what)
{
	out->items = arena_grow(a, out->items, out->n, sizeof(*out->items));
	out->items[out->n] = (struct judgement){ .verb = verb, .what = what, .target = "" };
	return &out->items[out->n++];
}

/* --- check ------------------------------------------------------------------------------------ */

static void verbs_check(struct arena *a, const struct findings *f, struct judgements *out)
{
	static const enum law_state states[] = { [VERDICT_PASS] = LAW_RIGHT,
						 [VERDICT_FAIL] = LAW_WRONG,
						 [VERDICT_NA] = LAW_OPEN,
						 [VERDICT_UNKNOWN] = LAW_OPEN };

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->items[i];

		for (size_t k = 0; k < (x->n_targets ? x->n_targets : 1); k++) {
			struct judgement *j = verbs_add(a, out, LAW_CHECK, x->s->id);

			j->target = x->n_targets ? x->targets[k] : "";
			j->object = x->n_targets ? x->objects[k] : NULL;
			j->state = states[x->v.kind];
			j->unknown = x->v.kind == VERDICT_UNKNOWN;
			j->text = x->v.reason;
			j->s = x->s;
		}
	}
}

/* --- doctor ----------------------------------------------------------------------------------- */

static void verbs_diagnosis(const struct rule_facts *e, const struct diagnosis *d,
			    struct judgements *out)
{
	static const enum law_state states[LIKELIHOODS] = {
		[CAUSE_CERTAIN] = LAW_WRONG,  [CAUSE_LIKELY] = LAW_WRONG,
		[CAUSE_POSSIBLE] = LAW_MAYBE, [CAUSE_UNSEEN] = LAW_OPEN,
		[CAUSE_EXCLUDED] = LAW_RIGHT, [CAUSE_NOT_HERE] = LAW_OPEN,
	};
	struct examined x;

	doctor_examine(e, d, &x);
	for (size_t i = 0; i < x.n; i++) {
		const struct cause *c = x.causes[i].c;
		struct judgement *j =
			verbs_add(e->a, out, LAW_DOCTOR, arena_printf(e->a, "%s/%s", d->id, c->id));

		j->state = states[x.causes[i].v.likelihood];
		j->unknown = x.causes[i].v.likelihood == CAUSE_UNSEEN;
		j->text = x.causes[i].v.text;
		j->by = c->setting;
		j->judges = c->judges;
		j->given = c->given;
		j->weighs = c->rule != NULL && c->weighs;
		/* What is no fault is not wrong. */
		if (d->normal && j->state == LAW_WRONG)
			j->state = LAW_MAYBE;
	}
}

static void verbs_doctor(struct world *w, struct arena *a, const struct findings *f,
			 const struct observations *earlier, struct judgements *out)
{
	static const struct record no_record;
	struct rule_facts e = { .a = a,
				.m = w->m,
				.findings = f,
				.signs = &w->signs,
				.earlier = earlier,
				.apart_s = earlier ? 2 : 0,
				.record = &no_record,
				.own_unkept = "",
				.own_overwritten = "" };

	for (unsigned t = 0; t < TESTS; t++)
		e.not_run[t] = "it was not run";
	DIAGNOSIS_FOR_EACH (d)
		verbs_diagnosis(&e, d, out);
	if (law_planted)
		verbs_diagnosis(&e, law_planted, out);
}

/* --- cluster ---------------------------------------------------------------------------------- */

static struct fact_str verbs_word(const char *v)
{
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "frame" }, .v = v };
}

/* Each data port hears the port of the same name at the other end of its cable. */
static void verbs_wire(struct arena *a, struct cluster_node *n, const struct cluster_node *other)
{
	NODE_PORTS(p, n)
	{
		const struct cluster_port *q = cluster_port_find(other, p->name);
		struct cluster_neighbor *h;

		if (!q || !*p->pci || !q->data)
			continue;
		h = list_add(a, &n->heard, sizeof(*h));
		*h = (struct cluster_neighbor){ .name = p->name,
						.way = "link",
						.node = verbs_word(other->name),
						.port = verbs_word(q->name),
						.address = q->nic.mac,
						.pci = verbs_word(q->pci),
						.port_name = q->nic.port,
						.switch_id = q->nic.switch_id,
						.mtu = q->nic.mtu,
						.speed_mbps = q->nic.speed_mbps };
		p->listened = verbs_word("frames");
	}
}

static void verbs_cluster(struct arena *a, const struct machine *m, const struct machine *peer,
			  struct judgements *out)
{
	struct cluster_node nodes[2] = { { .name = "here", .address = "here", .failure = "" },
					 { .name = "there", .address = "there", .failure = "" } };
	struct cluster c = { .nodes = nodes, .n_nodes = 2 };

	cluster_inventory(a, m, false, &nodes[0]);
	cluster_inventory(a, peer, false, &nodes[1]);
	cluster_find_data(a, &nodes[0]);
	cluster_find_data(a, &nodes[1]);
	verbs_wire(a, &nodes[0], &nodes[1]);
	verbs_wire(a, &nodes[1], &nodes[0]);
	cluster_link(a, &c);
	cluster_judge(a, &c, NULL);
	for (size_t i = 0; cluster_codes[i].code; i++) {
		const struct cluster_code *code = &cluster_codes[i];
		struct judgement *j = verbs_add(a, out, LAW_CLUSTER, code->code);

		*j = (struct judgement){ .verb = LAW_CLUSTER,
					 .what = code->code,
					 .target = "",
					 .state = LAW_RIGHT,
					 .text = code->fix,
					 .by = code->setting,
					 .judges = code->judges,
					 .given = code->given,
					 .weighs = true };
		for (size_t k = 0; k < c.n_findings; k++) {
			const struct cluster_finding *f = &c.findings[k];

			if (strcmp(f->code, code->code) != 0 || strcmp(f->node, "there") == 0)
				continue;
			if (j->state != LAW_WRONG)
				j->state = f->severity == CLUSTER_NOTE ? LAW_MAYBE : LAW_WRONG;
			j->text = f->text;
		}
	}
}

/* --- generate --------------------------------------------------------------------------------- */

static void verbs_generate(struct arena *a, const struct machine *m, const struct machine *peer,
			   struct judgements *out)
{
	struct gen_node nodes[2];
	struct gen_cluster c = { .nodes = nodes, .n = 2 };
	struct gen_envs e;

	gen_node_of(a, m, "here", "here", &nodes[0]);
	gen_node_of(a, peer, "there", "there", &nodes[1]);
	gen_cluster_judge(a, &c);
	gen_envs_make(a, &c, FOR_VLLM, &e);
	/* The ports that it sends over are well. */
	for (size_t i = 0; i < nodes[0].n_ports; i++) {
		const struct gen_port *p = &nodes[0].ports[i];
		struct judgement *j = verbs_add(a, out, LAW_GENERATE, "port");

		j->target = j->of = arena_printf(a, "%s/%u", p->device, p->number);
		j->state = gen_port_used(&nodes[0], p) ? LAW_RIGHT : LAW_OPEN;
		j->text = "used, or not";
		j->by = "rdma.state rdma.rate";
	}
	for (size_t i = 0; gen_codes[i].code; i++) {
		struct judgement *j = verbs_add(a, out, LAW_GENERATE, gen_codes[i].code);

		j->state = LAW_RIGHT;
		j->text = "no such problem";
		j->by = gen_codes[i].setting;
		j->given = gen_codes[i].given;
		j->weighs = true;
		for (size_t k = 0; k < e.n_problems; k++)
			if (strcmp(e.problems[k].code, j->what) == 0 &&
			    strcmp(e.problems[k].node, "there") != 0) {
				j->state = LAW_WRONG;
				j->text = e.problems[k].says;
			}
	}
}

/* --- lint ------------------------------------------------------------------------------------- */

static void verbs_lint_look(struct lint *l, const char *about, struct judgements *out)
{
	for (size_t i = 0; lint_codes[i].code; i++) {
		const struct lint_code *c = &lint_codes[i];
		struct judgement *j = verbs_add(l->a, out, LAW_LINT, c->code);

		j->target = about;
		j->state = LAW_RIGHT;
		j->text = "no such finding";
		j->by = c->setting;
		j->judges = c->judges;
		j->given = c->given;
		j->weighs = true;
		for (size_t k = 0; k < l->n; k++) {
			const struct lint_finding *f = &l->findings[k];

			if (strcmp(f->code, c->code) != 0 || j->state == LAW_WRONG)
				continue;
			j->state = f->level == LINT_NOTE ? LAW_MAYBE : LAW_WRONG;
			j->text = f->says;
		}
	}
	l->n = 0;
	l->findings = NULL;
}

static void verbs_lint_var(struct lint *l, const char *name, const char *value, const char *of,
			   struct judgements *out)
{
	struct lint_var v = { .name = name, .value = value };
	size_t first = out->n;

	lint_var(l, &v);
	verbs_lint_look(l, arena_printf(l->a, "%s=%s", name, value), out);
	for (size_t i = first; i < out->n; i++)
		out->items[i].of = of;
}

/* What people write, with the names that this machine has. */
static void verbs_lint(struct arena *a, const struct machine *m, struct judgements *out)
{
	enum { NAMED = 3 };
	static const char *const engine[] = { "vllm", "serve", "m", "--gpu-memory-utilization",
					      "0.9" };
	struct gen_node node;
	struct lint_on on = { .node = &node };
	struct lint l = { .a = a, .on = &on, .file = "command line" };
	size_t n = 0;

	gen_node_of(a, m, "here", "here", &node);
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		if (n++ < NAMED)
			verbs_lint_var(&l, "NCCL_IB_HCA", arena_printf(a, "=%s", p->device),
				       arena_printf(a, "%s/%u", p->device, p->number), out);
	n = 0;
	LIST_FOR_EACH (struct nic, c, &m->net.nics)
		if (*c->pci && n++ < NAMED)
			verbs_lint_var(&l, "NCCL_SOCKET_IFNAME", c->name, c->name, out);
	verbs_lint_var(&l, "NCCL_IB_GID_INDEX", "3", NULL, out);
	verbs_lint_var(&l, "NCCL_NET_GDR_LEVEL", "PHB", NULL, out);
	lint_words(&l, engine, sizeof(engine) / sizeof(engine[0]));
	verbs_lint_look(&l, "vllm", out);
}

/* --- monitor ---------------------------------------------------------------------------------- */

static void verbs_gauge(const struct monitor *mon, double *now, const char *type,
			const char *target, const struct fact_int *f, double factor)
{
	long i = monitor_find(mon, type, target);

	if (i >= 0)
		now[i] = seen_ok(&f->f) ? (double)f->v * factor : (double)NAN;
}

static void verbs_mark(struct arena *a, const struct findings *f, const char *what,
		       const char *target, struct judgements *out)
{
	static const enum law_state states[] = { [VERDICT_PASS] = LAW_RIGHT,
						 [VERDICT_FAIL] = LAW_WRONG,
						 [VERDICT_NA] = LAW_OPEN,
						 [VERDICT_UNKNOWN] = LAW_OPEN };
	const struct finding *x = monitor_finding(f, what, target);
	struct judgement *j = verbs_add(a, out, LAW_MONITOR, what);

	j->target = target;
	j->of = target;
	j->state = x ? states[x->v.kind] : LAW_OPEN;
	j->text = x ? x->v.reason : "not marked";
	for (size_t i = 0; i < monitor_marks_n; i++)
		if (strcmp(monitor_marks[i].what, what) == 0)
			j->by = monitor_marks[i].setting;
}

/* One look at what the facts say. */
static void verbs_monitor(struct world *w, struct arena *a, struct judgements *out)
{
	const struct machine *m = w->m;
	struct monitor mon;
	struct instant now = { .mon = &mon };
	struct findings f;
	double *row;

	monitor_make(a, w->h, m, &mon);
	row = arena_array(a, mon.n + 1, sizeof(*row));
	for (size_t i = 0; i < mon.n; i++)
		row[i] = NAN;
	now.now = row;
	verbs_gauge(&mon, row, "memory.available", "", &m->memory.available_kb, 1024);
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		const char *name = arena_printf(a, "gpu%u", g->index);

		verbs_gauge(&mon, row, "gpu.busy", name, &g->util_gpu_pct, 1);
		verbs_gauge(&mon, row, "gpu.sm-clock", name, &g->clock_sm_mhz, 1);
		verbs_gauge(&mon, row, "gpu.power", name, &g->power_mw, 1e-3);
		verbs_gauge(&mon, row, "gpu.reasons", name, &g->event_reasons, 1);
		verbs_gauge(&mon, row, "gpu.temperature", name, &g->temperature_c, 1);
	}
	monitor_judge(a, &now, &f);
	verbs_mark(a, &f, "memory.available", "", out);
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		for (size_t i = 0; i < monitor_marks_n; i++)
			if (strncmp(monitor_marks[i].what, "gpu.", 4) == 0)
				verbs_mark(a, &f, monitor_marks[i].what,
					   arena_printf(a, "gpu%u", g->index), out);
}

/* --- watch ------------------------------------------------------------------------------------ */

static const struct recommendation *verbs_only_wish(const struct world *w, const struct setting *s)
{
	const struct recommendation *o =
		s->want || s->judge
			? NULL
			: setting_recommendation(s, PROFILE_DEFAULT, platform_bits(w->m));

	return o && o->rel == WANT_IS ? o : NULL;
}

/* What is as wanted was set by gputune; what is not, is set. */
static void verbs_items(struct world *w, struct arena *a, const struct profile *p,
			const struct findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->items[i].n_targets; k++) {
			const struct finding *x = &f->items[i];
			struct world_item it = { .s = x->s,
						 .object = x->objects[k],
						 .target = arena_strdup(&w->a, x->targets[k]),
						 .wish = verbs_only_wish(w, x->s) };
			struct remediations r = { 0 };

			if (x->s->knob == KNOB_NONE)
				continue;
			if (x->v.kind == VERDICT_FAIL)
				settings_remediations(a, w->m, p, x, k, world_knob, w, &r);
			it.knob = setting_place(&w->a, x->s, it.object);
			if (x->v.kind == VERDICT_PASS)
				it.value = setting_current(&w->a, x->s, w->m, it.object, true,
							   world_knob, w)
						   .v;
			else if (r.n == 1 && r.items[0].knob.kind == it.knob.kind &&
				 strcmp(r.items[0].knob.name, it.knob.name) == 0)
				it.value = arena_strdup(&w->a, r.items[0].value);
			if (!it.value || !*it.value)
				continue;
			it.value = arena_strdup(&w->a, it.value);
			w->items = arena_grow(&w->a, w->items, w->n_items, sizeof(it));
			w->items[w->n_items++] = it;
		}
}

static void verbs_watch(struct world *w, struct arena *a, struct judgements *out)
{
	for (size_t i = 0; i < w->n_items; i++) {
		const struct world_item *it = &w->items[i];
		struct watched_knob knob = { .knob = it->knob, .after = it->value };
		struct fact_str now =
			setting_current(a, it->s, w->m, it->object, true, world_knob, w);
		struct judgement *j = verbs_add(a, out, LAW_WATCH, it->s->id);
		bool ours = seen_ok(&now.f) && item_compare(&knob, now.v) == SIGHT_OURS;

		j->target = j->of = it->target;
		j->by = it->s->id;
		j->text = ours ? "as it was set" : "somebody changed it";
		/* Another value may be as good, unless one alone is wanted. */
		j->state = !seen_ok(&now.f)					? LAW_OPEN
			   : !it->wish || it->wish != verbs_only_wish(w, it->s) ? LAW_MAYBE
			   : ours						? LAW_RIGHT
										: LAW_WRONG;
		j->weighs = !ours;
	}
}

/* --- all -------------------------------------------------------------------------------------- */

static int verbs_order(const void *x, const void *y)
{
	const struct judgement *a = x, *b = y;
	int r = a->verb != b->verb   ? (a->verb > b->verb) - (a->verb < b->verb)
		: a->what == b->what ? 0
				     : strcmp(a->what, b->what);

	return r ? r : strcmp(a->target, b->target);
}

void judge_all(struct world *w, struct arena *a, const struct observations *earlier,
	       const struct machine *peer, struct judgements *out)
{
	const struct profile p = { .name = "default", .base = PROFILE_DEFAULT };
	struct findings f;

	*out = (struct judgements){ 0 };
	settings_check(a, w->m, &p, world_knob, w, &f);
	verbs_check(a, &f, out);
	verbs_doctor(w, a, &f, earlier, out);
	if (peer) {
		verbs_cluster(a, w->m, peer, out);
		verbs_generate(a, w->m, peer, out);
	}
	verbs_lint(a, w->m, out);
	verbs_monitor(w, a, out);
	if (!w->items)
		verbs_items(w, a, &p, &f);
	verbs_watch(w, a, out);
	for (size_t i = 0; law_second && i < out->n; i++) {
		struct judgement *j = &out->items[i];

		if (j->verb != law_second->verb || strcmp(j->what, law_second->what) != 0)
			continue;
		j->state = law_second->rule(w);
		j->weighs = j->weighs && !(j->verb == LAW_WATCH && j->state == LAW_RIGHT);
	}
	qsort(out->items, out->n, sizeof(*out->items), verbs_order);
}
