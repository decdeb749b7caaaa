/* SPDX-License-Identifier: Apache-2.0 */
/* Services that set what gputune judges, and what published scripts left behind. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <string.h>

#include "base/text.h"

static const char no_systemd[] = "no systemd: services are not seen";

static bool with_systemd(const struct machine *m, const void *object)
{
	(void)object;
	return fact_is(&m->software.init, "systemd");
}

/* More than one of them active means that the last writer wins. */
static void tuners(const struct question *q, struct verdict *v)
{
	static const char *const units[] = { "tuned.service", "power-profiles-daemon.service",
					     "tlp.service", "auto-cpufreq.service",
					     "cpupower.service" };
	TEXT_AUTO t = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (service_active(q->m, units[i])) {
			text_printf(&t, "%s%.*s", n ? ", " : "", (int)strcspn(units[i], "."),
				    units[i]);
			n++;
		}
	v->current = n ? arena_strdup(q->a, t.s) : "none";
	if (n > 1)
		verdict_fail(v, "one", "they set the same knobs and overwrite each other");
	else
		verdict_pass(v, n ? "one tuner; what it owns it will set again"
				  : "no other tuner runs");
}

static void irqbalance(const struct question *q, struct verdict *v)
{
	bool active = service_active(q->m, "irqbalance.service");

	v->current = active ? "active" : "not active";
	if (active && has_isolated_cpus(q->m))
		verdict_fail(v, "not active, or banned from the isolated CPUs",
			     "it may move interrupts onto isolated CPUs");
	else
		verdict_pass(v, active ? "no CPU is isolated" : "not active");
}

static void persistenced(const struct question *q, struct verdict *v)
{
	const struct service *s = machine_service(q->m, "nvidia-persistenced.service");

	if (!q->m->gpu.gpus.n) {
		verdict_na(v, CODE_NO_HARDWARE, "no NVIDIA GPU");
		return;
	}
	v->current = !s		    ? "not installed"
		     : s->active.v  ? "active"
		     : s->enabled.v ? "enabled"
				    : "installed, not enabled";
	if (s && (s->active.v || s->enabled.v))
		verdict_pass(v, "keeps the driver loaded, also after a reboot");
	else if (fact_or(&q->m->platform.virtual_, 0) || seen_ok(&q->m->software.container.f))
		verdict_na(v, CODE_VIRTUAL,
			   "a virtual machine or container: the host keeps the driver loaded");
	else
		verdict_fail(
			v, "enabled",
			"persistence mode set by hand is lost at reboot; the service keeps it");
}

static void leftovers(const struct question *q, struct verdict *v)
{
	static const char *const units[] = { "dgx-optimize.service", "gpu-max-clocks.service",
					     "cpu-performance.service", "nic-mrrs.service" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const struct service *s = machine_service(q->m, units[i]);

		if (!s)
			continue;
		v->current = units[i];
		verdict_fail(v, "removed",
			     i == 0 ? "a published script's unit: it sets clocks in a fixed way "
				      "and its stop action "
				      "resets the GPU to guessed defaults at every shutdown"
				    : "a published recipe's unit: fixed commands that fail on "
				      "several GPUs or after "
				      "hot-plug");
		return;
	}
	verdict_pass(v, "none found");
}

static void rc_local(const struct question *q, struct verdict *v)
{
	const struct service *s = machine_service(q->m, "rc-local.service");

	if (!s || (!s->active.v && !s->enabled.v)) {
		verdict_pass(v, "not in use");
		return;
	}
	v->current = s->active.v ? "active" : "enabled";
	verdict_fail(v, "tmpfiles.d or a unit of its own",
		     "settings written by /etc/rc.local come late, unordered and unchecked");
}

static void fabric_manager(const struct question *q, struct verdict *v)
{
	bool switches = false;

	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		switches = switches || (fact_or(&p->vendor, 0) == 0x10de &&
					fact_or(&p->class_, 0) >> 8 == 0x0680);
	if (!switches) {
		verdict_na(v, CODE_NO_HARDWARE, "no NVSwitch is visible on this machine");
		return;
	}
	if (service_active(q->m, "nvidia-fabricmanager.service")) {
		v->current = "active";
		verdict_pass(v, "active");
	} else {
		v->current = fact_text(&q->m->gpu.fabric_manager, "not installed");
		verdict_fail(v, "active",
			     "without it CUDA does not start on a machine with NVSwitches");
	}
}

#define SERVICE                                                                                    \
	.scope = SCOPE_HOST, .select = with_systemd, .none = no_systemd,                           \
	.none_code = CODE_NO_SUPPORT, .read = "systemd unit files, links and control groups"

static const struct setting rows[] = {
	{ .id = "service.fabric-manager",
	  .title = "NVIDIA Fabric Manager",
	  SERVICE,
	  .knob = KNOB_UNIT,
	  .name = "nvidia-fabricmanager.service",
	  .health = true,
	  .not_when = "the machine has no NVSwitch",
	  .why = "Sets up the NVSwitch fabric that CUDA needs.",
	  .source = "NVIDIA Fabric Manager user guide",
	  .severity = SEVERITY_CRITICAL,
	  .risk = RISK_SERVICE,
	  .judge = fabric_manager },
	{ .id = "service.persistenced",
	  .title = "NVIDIA Persistence Daemon",
	  SERVICE,
	  .knob = KNOB_UNIT,
	  .name = "nvidia-persistenced.service",
	  .not_when = "there is no NVIDIA GPU, or a host keeps the driver loaded",
	  .why = "Keeps the driver's state when no program uses the GPU, from boot on.",
	  .source = "S0; S1; nvml",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  .judge = persistenced },
	{ .id = "service.tuners",
	  .title = "Services that set the same knobs",
	  SERVICE,
	  .why = "Two tuners overwrite each other; one will overwrite what is set by hand.",
	  .source = "TuneD documentation",
	  .severity = SEVERITY_LOW,
	  .judge = tuners },
	{ .id = "service.irqbalance",
	  .title = "irqbalance and isolation",
	  SERVICE,
	  .knob = KNOB_UNIT,
	  .name = "irqbalance.service",
	  .not_when = "no CPU is isolated",
	  .why = "Moves interrupts between CPUs by load.",
	  .source = "S1; irqbalance(1)",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  .judge = irqbalance },
	{ .id = "service.published-units",
	  .title = "Units of published scripts",
	  SERVICE,
	  .why = "They re-apply fixed values at every boot, whatever else is configured.",
	  .source = "S0; S1",
	  .severity = SEVERITY_MEDIUM,
	  .judge = leftovers },
	{ .id = "service.rc-local",
	  .title = "Settings by rc.local",
	  SERVICE,
	  .why = "A published script writes transparent huge pages there, replacing the file "
		 "without a copy.",
	  .source = "S0",
	  .severity = SEVERITY_LOW,
	  .judge = rc_local },
};

const struct setting_table settings_service = SETTING_TABLE(rows);
