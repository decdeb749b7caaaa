/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is against a change: the gates in the order in which they are asked, those that concern the
 * plan as a whole, the user's own connection and the kernel's lockdown. The first that holds is
 * the change's gate; those that somebody may lift come last.
 */
#include "tune/plan/gate.h"

#include <string.h>

#include "base/text.h"
#include "tune/plan/owner_match.h"
#include "look/settings/predicates.h"

static const char perf[] = "pcie_bus_perf";

bool gate_has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(words, word); n && at; at = strstr(at + 1, word))
		if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

/* --- the present value --------------------------------------------------------------------------
 */

static bool has_getter(const struct knob *k)
{
	return k->kind != KNOB_NVML || (strcmp(k->name, "gpu-clock-lock") != 0 &&
					strcmp(k->name, "memory-clock-lock") != 0);
}

static const char *unreadable(struct gates *g, const struct change *c)
{
	if (c->before || !has_getter(&c->knob))
		return NULL;
	return arena_printf(g->a,
			    "the present value of %s could not be read, so it could not be put "
			    "back: run as root, or set it by hand",
			    knob_text(g->a, &c->knob));
}

/* --- conflicts ----------------------------------------------------------------------------------
 */

/* One of the comma-separated words. */
static bool has_option(const char *value, const char *option)
{
	size_t n = strlen(option);

	for (const char *at = value; *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, option, n) == 0 && (!at[n] || at[n] == ','))
			return true;
	return false;
}

/* A larger read request than the payload size, which that argument makes the limit of both. */
static bool is_above_payload(const struct machine *m, const struct change *c)
{
	const struct pci_function *f = machine_pci(m, c->knob.object);
	long long bytes;

	return c->knob.kind == KNOB_PCI && strcmp(c->knob.name, "mrrs") == 0 && f &&
	       parse_i64(c->after, &bytes) == 0 && bytes > fact_or(&f->mps, 0);
}

static bool asks_perf(const struct change *c)
{
	return c->knob.kind == KNOB_BOOTARG && strcmp(c->knob.name, "pci") == 0 &&
	       has_option(c->after, perf);
}

/* The argument writes the same value as text; those with words of their own are left out. */
static bool is_plain_argument(const char *name)
{
	return strcmp(name, "numa_balancing") != 0 && strcmp(name, "noautogroup") != 0;
}

static bool argument_against(const struct machine *m, const struct change *argument,
			     const struct change *c)
{
	return argument->knob.kind == KNOB_BOOTARG && c->knob.kind != KNOB_BOOTARG &&
	       is_plain_argument(argument->knob.name) &&
	       argument_match(m, argument->knob.name, &c->knob) == MATCH_YES &&
	       strcmp(argument->after, c->after) != 0;
}

static bool exclude(const struct machine *m, const struct change *x, const struct change *y)
{
	const char *partner;

	if (x->knob.kind == y->knob.kind && knob_equal(&x->knob, &y->knob))
		return strcmp(x->after, y->after) != 0;
	if (x->knob.kind == KNOB_SYSCTL && y->knob.kind == KNOB_SYSCTL) {
		partner = sysctl_partner(x->knob.name);
		return partner && strcmp(partner, y->knob.name) == 0;
	}
	return argument_against(m, x, y) || argument_against(m, y, x) ||
	       (asks_perf(x) && is_above_payload(m, y)) || (asks_perf(y) && is_above_payload(m, x));
}

static const char *overridden(struct gates *g, const struct change *c)
{
	const char *pci = kernel_arg_with(&g->m->kernel, "pci", perf);

	if (pci && is_above_payload(g->m, c))
		return arena_printf(g->a,
				    "the kernel argument pci=%s makes the payload size the limit "
				    "of read requests: take it away and boot again first",
				    pci);
	for (size_t i = 0; i < g->i; i++) {
		const struct change *x = &g->p->changes[i];

		if (!x->gate && exclude(g->m, x, c))
			return arena_printf(g->a,
					    "%s sets %s to %s in this plan, and both cannot hold: "
					    "leave one out with --skip %s or --skip %s",
					    x->s->id, knob_text(g->a, &x->knob), x->after, x->s->id,
					    c->s->id);
	}
	return NULL;
}

/* --- the user's own link, lockdown --------------------------------------------------------------
 */

/* The driver takes the link down for these; coalescing changes in place. */
static bool resets_link(const struct change *c)
{
	static const char *const names[] = { "mtu", "rx-ring", "tx-ring", "rings", "channels" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(c->knob.name, names[i]) == 0)
			return true;
	return false;
}

/* The module of "mlx5_core.parameter" drives n. */
static bool is_driver_of(const struct nic *n, const char *parameter)
{
	const char *driver = fact_text(&n->driver, "");
	size_t len = strlen(driver);

	return len && strncmp(parameter, driver, len) == 0 && parameter[len] == '.';
}

/* The interface that the change would drop, of those that carry the connection. */
static const char *dropped(const struct machine *m, const struct change *c, const char *links)
{
	static const char *const managers[] = { "NetworkManager.service",
						"systemd-networkd.service", "openibd.service" };

	if (c->knob.kind == KNOB_LINK && resets_link(c) && gate_has_word(links, c->knob.object))
		return c->knob.object;
	for (size_t i = 0; c->knob.kind == KNOB_UNIT && i < 3; i++)
		if (strcmp(c->knob.name, managers[i]) == 0)
			return links;
	if (c->effect == EFFECT_DRIVER_RELOAD && c->knob.kind == KNOB_MODPARAM)
		LIST_FOR_EACH (struct nic, n, &m->net.nics)
			if (is_driver_of(n, c->knob.name) && gate_has_word(links, n->name))
				return n->name;
	return NULL;
}

static const char *own_link(struct gates *g, const struct change *c)
{
	const struct session *s = &g->m->config.session;
	const char *name;

	if (seen_ok(&s->links.f)) {
		name = dropped(g->m, c, s->links.v);
		return name ? arena_printf(g->a,
					   "your own connection to %s comes in over %s, and this "
					   "takes the link down for a moment: use the console, or "
					   "say --allow %s",
					   fact_text(&s->address, "this machine"), name, c->s->id)
			    : NULL;
	}
	/* No connection, or nobody looked. One that could not be placed may be anywhere. */
	if (s->links.f.seen != SEEN_ERROR && s->links.f.seen != SEEN_DENIED)
		return NULL;
	if (c->knob.kind == KNOB_LINK && resets_link(c))
		return arena_printf(g->a,
				    "which interface your own connection comes in over could not "
				    "be found out, and this takes the link of %s down for a "
				    "moment: use the console, or say --allow %s",
				    c->knob.object, c->s->id);
	return NULL;
}

static const char *lockdown(struct gates *g, const struct change *c)
{
	if (c->knob.kind != KNOB_PCI || !is_locked_down(g->m))
		return NULL;
	return arena_printf(g->a,
			    "kernel lockdown (%s) refuses writes to configuration space: it is on "
			    "with Secure Boot, and only the firmware's setup turns that off",
			    g->m->kernel.lockdown.v);
}

static const char *dangerous(struct gates *g, const struct change *c)
{
	if (c->risk != RISK_DANGER)
		return NULL;
	return arena_printf(g->a,
			    "it can hang or overheat the machine, weaken it, or keep it from "
			    "booting: read \"gputune explain %s\", then say --allow %s",
			    c->s->id, c->s->id);
}

/* What no machine is asked for, by a profile file: those above say more where they hold. */
static const char *out_of_bounds(struct gates *g, const struct change *c)
{
	const char *why = NULL;

	if (knob_known(&c->knob))
		(void)knob_allows(g->a, &c->knob, c->after, &why);
	return why;
}

/* --- all ----------------------------------------------------------------------------------------
 */

static const struct {
	const char *code;
	bool lifts; /* by --allow */
	const char *(*why)(struct gates *g, const struct change *c);
} rows[] = {
	{ GATE_UNREADABLE, false, unreadable },
	{ GATE_OVERRIDDEN, false, overridden },
	{ GATE_LIMIT, false, gate_limit },
	{ GATE_HOUSEKEEPING, false, gate_housekeeping },
	{ GATE_LIMIT, false, out_of_bounds },
	{ GATE_LOCKDOWN, false, lockdown },
	{ GATE_OWN_LINK, true, own_link },
	{ GATE_GPU_BUSY, true, gate_gpu_busy },
	{ GATE_ALLOW, true, dangerous },
	/* Last, because it counts what all others let through. */
	{ GATE_LIMIT, false, gate_huge_pages },
};

static bool is_allowed(const struct plan_wish *w, const struct setting *s)
{
	for (size_t i = 0; i < w->n_allow; i++)
		if (id_matches(s->id, w->allow[i]))
			return true;
	return false;
}

void plan_gates(struct arena *a, const struct machine *m, const struct plan_wish *w, struct plan *p)
{
	struct gates g = { .a = a, .m = m, .p = p };

	for (g.i = 0; g.i < p->n; g.i++) {
		struct change *c = &p->changes[g.i];
		bool allowed = is_allowed(w, c->s);

		for (size_t k = 0; !c->gate && k < sizeof(rows) / sizeof(rows[0]); k++) {
			const char *why = allowed && rows[k].lifts ? NULL : rows[k].why(&g, c);

			if (why) {
				c->gate = rows[k].code;
				c->refusal = why;
			}
		}
	}
}
