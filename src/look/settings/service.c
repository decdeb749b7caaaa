/* SPDX-License-Identifier: Apache-2.0 */
/* Services that set what gputune judges, and what published scripts left behind. */
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

static bool with_systemd(const struct machine *m, const void *object)
{
	(void)object;
	return fact_is(&m->software.init, "systemd");
}

/* A unit that runs once and ends leaves no trace but that it is enabled. */
static bool in_use(const struct service *s)
{
	return s && (fact_or(&s->active, 0) == 1 || fact_or(&s->enabled, 0) == 1);
}

/* NVIDIA's profiles of TuneD: nvidia-base and those of its machines, dgx-...-performance. */
static const char *vendor_profile(const struct machine *m)
{
	const char *name = fact_text(&m->config.tuned_profile, "");

	return str_starts(name, "dgx-") || str_starts(name, "nvidia-") ? name : NULL;
}

static const char *lone_tuner(const struct rule_ctx *q, const struct service *s)
{
	const char *profile = strcmp(s->name, "tuned.service") == 0 ? vendor_profile(q->m) : NULL;

	return profile ? arena_printf(q->a,
				      "NVIDIA's own TuneD profile %s: put changes into a profile "
				      "that includes it",
				      profile)
		       : arena_printf(q->a, "one tuner; it will reset the knobs it owns: %s",
				      fact_text(&s->owns, "?"));
}

/* More than one of them means that the last writer wins. */
static void tuners(const struct rule_ctx *q, struct verdict *v)
{
	static const struct {
		const char *unit;
		bool once;
	} units[] = { { "tuned.service", false },
		      { "power-profiles-daemon.service", false },
		      { "tlp.service", true },
		      { "auto-cpufreq.service", false },
		      { "cpupower.service", true } };
	TEXT_AUTO t = { 0 };
	const struct service *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const struct service *s = machine_service(q->m, units[i].unit);

		if (!s || (fact_or(&s->active, 0) != 1 && !(units[i].once && in_use(s))))
			continue;
		text_printf(&t, "%s%.*s", n ? ", " : "", (int)strcspn(units[i].unit, "."),
			    units[i].unit);
		n++;
		last = s;
	}
	v->current = n ? arena_strdup(q->a, t.s) : "none";
	if (n > 1)
		verdict_fail(v, "one",
			     "these services set the same knobs and overwrite each other");
	else if (n)
		verdict_pass(v, lone_tuner(q, last));
	else
		verdict_pass(v, "no other tuner is running");
}

/* Started now and at every boot; what is not installed has to be installed first. */
static void remediate_start(const struct rule_ctx *q, struct remediations *out)
{
	if (machine_service(q->m, q->s->name))
		remediate_value(q, out, "enabled active");
}

/* Isolated CPUs and a program that moves interrupts about do not go together. */
static void remediate_stop(const struct rule_ctx *q, struct remediations *out)
{
	remediate_value(q, out, "disabled inactive");
}

static void irqbalance(const struct rule_ctx *q, struct verdict *v)
{
	bool active = service_active(q->m, "irqbalance.service");

	v->current = active ? "active" : "not active";
	if (active && has_isolated_cpus(q->m))
		verdict_fail(v, "not active, or excluded from the isolated CPUs",
			     "irqbalance may move interrupts to isolated CPUs");
	else
		verdict_pass(v, active ? "no CPU is isolated" : "not active");
}

/* Persistence mode is off on some GPU that has it. */
static bool some_not_persistent(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (seen_ok(&g->persistence.f) && g->persistence.v == 0)
			return true;
	return false;
}

static void persistenced(const struct rule_ctx *q, struct verdict *v)
{
	const struct service *s = machine_service(q->m, "nvidia-persistenced.service");
	bool active = s && fact_or(&s->active, 0) == 1;

	if (!q->m->gpu.gpus.n) {
		verdict_na(v, CODE_NO_HARDWARE, machine_no_gpu(q->a, q->m));
		return;
	}
	v->current = !s	      ? "not installed"
		     : active ? "active"
			      : (fact_or(&s->enabled, 0) ? "enabled, not active"
							 : "installed, not enabled");
	if (seen_ok(&q->m->software.container.f))
		verdict_na(v, CODE_VIRTUAL, "a container: its host keeps the driver loaded");
	else if (!in_use(s))
		verdict_fail(
			v, "enabled",
			"persistence mode set by hand is lost at reboot; the service restores it");
	else if (!active)
		verdict_fail(v, "active", "the service is enabled, but it is not running");
	else if (!some_not_persistent(q->m))
		verdict_pass(v, "keeps the driver loaded, also after a reboot");
	else {
		verdict_fail(v, "active, with persistence mode",
			     "the service is running, but persistence mode is off: some packages "
			     "start it with --no-persistence-mode");
		v->by_hand = "\"sudo gputune apply --only gpu.persistence-mode\"; for every boot, "
			     "override the option with \"systemctl edit nvidia-persistenced\"";
	}
}

/* A daemon that runs without persistence mode was started so on purpose, by a drop-in or package.
 */
static void remediate_persistenced(const struct rule_ctx *q, struct remediations *out)
{
	if (!service_active(q->m, q->s->name))
		remediate_start(q, out);
}

static void leftovers(const struct rule_ctx *q, struct verdict *v)
{
	static const char *const units[] = { "dgx-optimize.service", "gpu-max-clocks.service",
					     "cpu-performance.service", "nic-mrrs.service" };
	TEXT_AUTO t = { 0 };
	bool undoes = false;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const struct service *s = machine_service(q->m, units[i]);

		if (!s)
			continue;
		text_printf(&t, "%s%s%s", t.len ? ", " : "", units[i],
			    in_use(s) ? "" : " (not enabled)");
		undoes = undoes || i == 0;
	}
	if (!t.len) {
		v->current = "none";
		verdict_pass(v, "none found");
		return;
	}
	v->current = arena_strdup(q->a, t.s);
	verdict_fail(v, "removed",
		     undoes ? "a published script's unit sets fixed clocks, and its stop action "
			      "resets the GPU to guessed defaults at every shutdown"
			    : "units of a published recipe: their fixed commands fail with several "
			      "GPUs or after hot plug");
}

static void service_rc_local(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_str *file = &q->m->software.rc_local;
	const struct service *s = machine_service(q->m, "rc-local.service");

	v->current = seen_ok(&file->f) ? "/etc/rc.local exists" : in_use(s) ? "in use" : "none";
	if (seen_ok(&file->f) && machine_service(q->m, "dgx-optimize.service"))
		verdict_fail(v, "tmpfiles.d, sysctl.d or a separate unit",
			     "the published script that installed dgx-optimize.service also "
			     "overwrote /etc/rc.local: such settings apply late and unchecked");
	else if (seen_ok(&file->f) || in_use(s))
		verdict_na(v, CODE_LEFT_ALONE,
			   "an administrator's script: check whether it changes settings that "
			   "gputune judges; gputune does not read it");
	else
		verdict_pass(v, "not in use");
}

/* DGX Spark's own service for its NIC: takes it off the bus without a cable, updates its firmware.
 */
static void spark_nic(const struct rule_ctx *q, struct verdict *v)
{
	const struct service *s =
		machine_service(q->m, "nvidia-spark-mlnx-firmware-manager.service");

	if (!(q->platform & ON_SPARK)) {
		verdict_na(v, CODE_NOT_HERE, "DGX Spark only");
		return;
	}
	v->current = !s ? "not installed" : in_use(s) ? "enabled" : "installed, not enabled";
	if (in_use(s))
		verdict_pass(v, "enabled, as DGX OS ships it");
	else if (s)
		verdict_fail(v, "enabled",
			     "the platform's NIC management is disabled: hot plug and firmware of "
			     "the ConnectX-7 depend on it");
	else
		verdict_na(v, CODE_NO_SUPPORT, "not installed: this system is not DGX OS");
}

static bool manager_differs(const struct gpus *g)
{
	return seen_ok(&g->fabric_manager_version.f) && seen_ok(&g->driver.f) &&
	       strcmp(g->fabric_manager_version.v, g->driver.v) != 0;
}

/* Starting one of another version mends nothing. */
static void remediate_manager(const struct rule_ctx *q, struct remediations *out)
{
	if (!manager_differs(&q->m->gpu))
		remediate_start(q, out);
}

/* NULL: a Fabric Manager belongs on the machine. */
static const char *no_manager_here(const struct machine *m)
{
	switch (machine_fabric(m)) {
	case FABRIC_SWITCHES:
	case FABRIC_BRIDGED:
		return NULL;
	case FABRIC_RACK:
		return "a compute node of a rack: Fabric Manager runs on the switch trays";
	case FABRIC_ELSEWHERE:
		return "the NVSwitches are managed by the host of this virtual machine or "
		       "container";
	default:
		return "no NVSwitch is visible on the machine";
	}
}

static void fabric_manager(const struct rule_ctx *q, struct verdict *v)
{
	const char *version = fact_text(&q->m->gpu.fabric_manager_version, NULL),
		   *elsewhere = no_manager_here(q->m);
	bool active = service_active(q->m, "nvidia-fabricmanager.service");
	const struct service *unit = machine_service(q->m, "nvidia-fabricmanager.service");
	const struct fact *runs = unit ? &unit->active.f : NULL;

	if (elsewhere) {
		verdict_na(v, CODE_NO_HARDWARE, elsewhere);
		return;
	}
	v->current = active ? "active" : fact_text(&q->m->gpu.fabric_manager, "not installed");
	if (version)
		v->current = arena_printf(q->a, "%s, version %s", v->current, version);
	if (manager_differs(&q->m->gpu))
		verdict_fail(v, arena_printf(q->a, "version %s", q->m->gpu.driver.v),
			     "Fabric Manager's version differs from the driver's, and it fails to "
			     "start");
	else if (active)
		verdict_pass(v, "active");
	else if (runs && first_untold(&runs, 1))
		verdict_unseen(q, v, runs, NULL);
	else
		verdict_fail(
			v, "active",
			"CUDA does not start without Fabric Manager on a machine with NVSwitches");
}

/* Fourth-generation switches are managed by InfiniBand datagrams, and routed by nvlsm. */
static void subnet_manager(const struct rule_ctx *q, struct verdict *v)
{
	const struct network *net = &q->m->net;
	bool ib = seen_ok(&net->mlx5_ib.f), umad = seen_ok(&net->ib_umad.f);

	if (machine_fabric(q->m) != FABRIC_BRIDGED) {
		verdict_na(v, CODE_NO_HARDWARE,
			   "the machine has no fourth-generation NVSwitch to manage");
		return;
	}
	v->current = arena_printf(q->a, "nvlsm %s, mlx5_ib %s, ib_umad %s",
				  seen_ok(&q->m->gpu.nvlsm.f) ? "installed" : "not installed",
				  fact_text(&net->mlx5_ib, "not loaded"),
				  fact_text(&net->ib_umad, "not loaded"));
	if (!ib || !umad)
		verdict_fail(v, "mlx5_ib and ib_umad loaded",
			     "Fabric Manager needs both modules to reach the switches; without "
			     "them CUDA fails with error 802");
	else if (q->m->gpu.nvlsm.f.seen == SEEN_ABSENT)
		verdict_fail(v, "nvlsm installed",
			     "the NVLinks are not routed: the GPUs stay in the state in-progress");
	else if (is_seen(q, v, &q->m->gpu.nvlsm.f, NULL))
		verdict_pass(v, "installed, and both modules are loaded");
}

/* Needed by jobs that span nodes: programs map memory of another node's GPUs. */
static void imex(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpus *g = &q->m->gpu;
	const char *state = fact_text(&g->imex_state, NULL);
	/* What the daemon says counts before its unit: it may run in a container. */
	bool active = service_active(q->m, "nvidia-imex.service") ||
		      (state && strcmp(state, "ready") == 0);
	long long nodes = fact_or(&g->imex_nodes, 0), channels = fact_or(&g->imex_channels, 0);

	if (machine_fabric(q->m) != FABRIC_RACK) {
		verdict_na(v, CODE_NO_HARDWARE, "no NVLink to another machine");
		return;
	}
	v->current = arena_printf(q->a, "%s, %lld nodes, %lld channels",
				  active && state ? state
				  : active	  ? "active"
						  : "not active",
				  nodes, channels);
	if (active && nodes == 0)
		verdict_fail(v, "every node of the rack in nodes_config.cfg",
			     "the service runs without a list of nodes and connects to none");
	else if (active && channels == 0)
		verdict_fail(
			v, "a channel",
			"no channel device: CUDA cannot access memory of other nodes (permission)");
	else if (active && state && strcmp(state, "ready") != 0)
		verdict_fail(v, "ready",
			     "the daemon is not ready: it waits for other nodes of its list, or "
			     "its list differs from theirs");
	else if (active)
		verdict_pass(v, state ? "memory of the rack's other GPUs can be mapped"
				      : "the service is running; nvidia-imex-ctl, which shows "
					"more, did not respond");
	else if (channels > 0)
		verdict_na(v, CODE_LEFT_ALONE,
			   "channels exist: a Kubernetes driver may run the service in containers, "
			   "which gputune does not inspect");
	else
		verdict_fail(v, "active",
			     "jobs over several nodes cannot map each other's memory: NCCL falls "
			     "back to the network");
}

/* Of this process: a service or a container may have others. */
static void process_limit(const struct rule_ctx *q, struct verdict *v)
{
	const struct memory *m = &q->m->memory;
	bool files = strcmp(q->s->fact, "open_files") == 0;
	const struct fact_int *now = files ? &m->open_files : &m->stack;

	if (!is_seen(q, v, &now->f, NULL))
		return;
	v->current = now->v < 0 ? "unlimited" : arena_printf(q->a, "%lld", now->v);
	if (now->v < -1)
		verdict_unknown(v, CODE_ERROR, "invalid limit: below 0");
	else if (now->v == -1)
		verdict_pass(v, "unlimited");
	else if (!has_target(q, v))
		return;
	else if (recommendation_met(q->wish, v->current))
		verdict_pass(v, "at target value, in this session");
	else
		verdict_fail(
			v, recommendation_text(q->a, q->wish, q->s->unit),
			files ? "jobs with many processes fail with EMFILE, \"too many open files\""
			      : "below the vendor's value for its containers");
}

/* The task scheduler. */

#include "look/settings_service_rows.h"
