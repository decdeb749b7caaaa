/* SPDX-License-Identifier: Apache-2.0 */
/* The task scheduler. */
#include "look/settings/tables.h"

static const struct opinion autogroup[] = {
	{ .profile = PROFILE_DEFAULT,
	  .on = ON_ALL,
	  .rel = WANT_LEAVE,
	  .because = "it acts only on tasks in the root task group; services under systemd's CPU "
		     "controller are "
		     "outside it, so neither value changes what a server gets" },
	{ .profile = PROFILE_PUBLISHED,
	  .on = ON_ALL,
	  .rel = WANT_IS,
	  .value = "0",
	  .because = "published as: desktop sessions no longer throttle the server process",
	  .source = "S0" },
};

static const struct setting rows[] = {
	{ .id = "scheduler.autogroup",
	  .title = "Session autogrouping",
	  .why = "Groups tasks by session so that a desktop stays responsive. It only acts on "
		 "tasks that no cgroup "
		 "controller governs.",
	  .source = "S0; kernel sched(7)",
	  .not_when = "the kernel is built without CONFIG_SCHED_AUTOGROUP",
	  .note = "The published guide expects relief for its server; the server runs as a service "
		  "and is not "
		  "grouped by session.",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSCTL,
	  .name = "kernel.sched_autogroup_enabled",
	  .shown_by = "hand-over timer-wake-up/1ms",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  .effect = EFFECT_NOW,
	  OPINIONS(autogroup) },
};

const struct setting_table settings_scheduler = SETTING_TABLE(rows);
