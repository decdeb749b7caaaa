/* SPDX-License-Identifier: Apache-2.0 */
/* check, doctor, cluster, generate and monitor on one machine, in process. */
#include "verbs.h"

#include <stdlib.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "many/cluster/inventory.h"
#include "many/cluster/links.h"
#include "measure/doctor/rule.h"

const struct diagnosis *law_planted;

const char *law_verb_name(enum law_verb v)
{
	static const char *const names[] = { "check", "doctor", "cluster", "generate", "monitor" };

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
				.own_unkept = "" };

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
						.address = q->mac,
						.pci = verbs_word(q->pci),
						.port_name = q->port_name,
						.switch_id = q->switch_id,
						.mtu = q->mtu,
						.speed_mbps = q->speed_mbps };
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
					 .text = code->means,
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

/* --- all -------------------------------------------------------------------------------------- */

static int verbs_order(const void *x, const void *y)
{
	const struct judgement *a = x, *b = y;
	int r = a->verb != b->verb ? (a->verb > b->verb) - (a->verb < b->verb)
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
	if (peer)
		verbs_cluster(a, w->m, peer, out);
	qsort(out->items, out->n, sizeof(*out->items), verbs_order);
}
