/* SPDX-License-Identifier: Apache-2.0 */
/* The map of commands for programs: what each does to the machine, what it costs, an example. */
#include <string.h>

#include "base/json.h"
#include "front/session.h"

static const char *const effect_names[VERB_EFFECTS] = { "reads", "loads", "writes", "reboots" };

/* Verbs that do more than look, or take more than a second; of those with sub-verbs or options the
 * strongest effect. */
static const struct {
	const char *verb;
	enum verb_effect effect;
	const char *cost;
} effects[] = {
	{ "doctor", EFFECT_OF_WRITE, "up to 2 min; --passive: 1 s; only --fix writes" },
	{ "monitor", EFFECT_OF_LOOK, "until ended" },
	{ "top", EFFECT_OF_LOOK, "until ended" },
	{ "record", EFFECT_OF_LOOK, "until ended" },
	{ "stack", EFFECT_OF_LOAD, "1 s; compare: minutes" },
	{ "capture", EFFECT_OF_LOOK, "10 s" },
	{ "apply", EFFECT_OF_WRITE, "seconds" },
	{ "undo", EFFECT_OF_WRITE, "seconds" },
	{ "approve", EFFECT_OF_WRITE, "1 s" },
	{ "propose", EFFECT_OF_WRITE, "1 s" },
	{ "verify", EFFECT_OF_REBOOT, "1 s; --reboot: minutes" },
	{ "persist", EFFECT_OF_WRITE, "seconds" },
	{ "watch", EFFECT_OF_WRITE, "until ended" },
	{ "journal", EFFECT_OF_WRITE, "1 s" },
	{ "bench", EFFECT_OF_LOAD, "10 s a case" },
	{ "prove", EFFECT_OF_WRITE, "minutes" },
	{ "run", EFFECT_OF_WRITE, "as long as the command; --free drops page cache" },
	{ "tune", EFFECT_OF_WRITE, "to 2 h" },
	{ "qualify", EFFECT_OF_LOAD, "minutes; --no-bench: 1 s" },
	{ "kubernetes", EFFECT_OF_WRITE, "until ended; taints the node" },
	{ "calibrate", EFFECT_OF_LOAD, "minutes" },
	{ "diagnose", EFFECT_OF_LOOK, "to 1 min" },
	{ "cluster", EFFECT_OF_WRITE, "minutes; check loads" },
	{ "slurm", EFFECT_OF_WRITE, "2 s; drains the node" },
	{ "data", EFFECT_OF_WRITE, "1 s" },
	{ "mcp", EFFECT_OF_LOOK, "until ended" },
};

/* *cost: how long it takes. */
static enum verb_effect verb_effect_of(const char *verb, const char **cost)
{
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
		if (strcmp(effects[i].verb, verb) == 0) {
			*cost = effects[i].cost;
			return effects[i].effect;
		}
	*cost = "1 s";
	return EFFECT_OF_LOOK;
}

int verbs_map(FILE *out)
{
	json_auto_t *map =
		json_pack("{s:s, s:s, s:s}", "schema", "gputune.help/1", "usage",
			  "gputune VERB [OPTIONS]; --format json, --budget TOKENS, --top N; "
			  "help VERB shows more",
			  "rows", "verb: [what it does, cost, example]");

	for (unsigned e = 0; e < VERB_EFFECTS; e++) {
		json_t *of = json_object();

		for (size_t i = 0; verbs[i]; i++) {
			const struct verb_example *x = verbs[i]->examples;
			const char *cost;

			if (verb_effect_of(verbs[i]->name, &cost) != e)
				continue;
			json_object_set_new(of, verbs[i]->name,
					    json_pack("[s, s, s]", verbs[i]->summary, cost,
						      x && x->line ? x->line : verbs[i]->name));
		}
		json_object_set_new(map, effect_names[e], of);
	}
	json_print(out, map, JSON_COMPACT);
	fputc('\n', out);
	return EXIT_CLEAN;
}
