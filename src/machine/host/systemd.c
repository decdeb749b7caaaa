/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services are told through systemctl(1), because systemd has to load what changed. What state they
 * have stands in files (machine/knob/unit.c), so that nothing is asked here. Object: the unit.
 * Fields: "enabled" takes "enabled", "disabled" or "masked"; "active" takes "active" or "inactive".
 */
#include <string.h>

#include "machine/host/ask.h"
#include "machine/host/command.h"
#include "machine/host/unit_file.h"

/* systemd itself gives a service 90 s to stop before it kills it. */
enum { LIMIT_MS = 120000, SOON_MS = 30000, OUTPUT_MAX = 64 * 1024, STEPS = 2 };

static const struct {
	const char *field, *value;
	/* A masked unit can be neither enabled nor disabled: the mask goes first, as a step that
	 * does nothing to others. */
	const char *steps[STEPS];
	const char *back; /* what replaces its job when that does not end; NULL: it has none */
} rows[] = {
	{ "enabled", "enabled", { "unmask", "enable" }, NULL },
	{ "enabled", "disabled", { "unmask", "disable" }, NULL },
	{ "enabled", "masked", { "mask" }, NULL },
	{ "active", "active", { "start" }, "stop" },
	{ "active", "inactive", { "stop" }, "start" },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static int run(struct arena *a, const char *verb, const char *unit)
{
	char *argv[] = { "systemctl",		"--no-ask-password",   "--quiet", "--system",
			 arena_strdup(a, verb), arena_strdup(a, unit), NULL };

	return command_say(a, argv, LIMIT_MS, OUTPUT_MAX, NULL);
}

/* We gave up, systemd has not: later, unseen, the unit would have the state that it does not have
 * now. The opposite takes the place of the job that waits or runs. */
static void give_up(struct arena *a, const char *back, const char *unit)
{
	char *argv[] = { "systemctl",
			 "--no-ask-password",
			 "--quiet",
			 "--system",
			 "--no-block",
			 "--job-mode=replace",
			 arena_strdup(a, back),
			 arena_strdup(a, unit),
			 NULL };

	command_say(a, argv, SOON_MS, OUTPUT_MAX, NULL);
}

static int systemd_ask(void **state, struct arena *a, const char *object, const char *field,
		       struct answer *out)
{
	(void)state;
	(void)a;
	(void)object;
	(void)field;
	(void)out;
	return -EOPNOTSUPP;
}

static int systemd_tell(void **state, struct arena *a, const char *object, const char *field,
			const struct answer *value)
{
	size_t i = 0;
	int r = 0;

	(void)state;
	if (value->kind != ANSWER_TEXT || !unit_name_is_sound(object))
		return -EINVAL;
	while (i < ROWS &&
	       (strcmp(rows[i].field, field) != 0 || strcmp(rows[i].value, value->text) != 0))
		i++;
	if (i == ROWS)
		return -EINVAL;
	for (size_t k = 0; r == 0 && k < STEPS && rows[i].steps[k]; k++)
		r = run(a, rows[i].steps[k], object);
	if (r == -ETIME && rows[i].back)
		give_up(a, rows[i].back, object);
	return r;
}

const struct provider provider_systemd = {
	.api = "systemd",
	.ask = systemd_ask,
	.tell = systemd_tell,
};
