/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up keys: by path, by what is near, by where else the name belongs. */
#include "models/generate/train_keys.h"

#include <string.h>

#include "base/text.h"

const struct train_schema train_schemas[TRAIN_FORMATS] = {
	[DEEPSPEED_FILE] = { "DeepSpeed",
			     "0.9.0",
			     "0.19.6",
			     "DeepSpeed's sources (runtime/config.py)",
			     { deepspeed_keys, zero_keys },
			     { &deepspeed_keys_count, &zero_keys_count } },
	[ACCELERATE_FILE] = { "Accelerate",
			      "0.20.0",
			      "1.15.0",
			      "Accelerate's sources (commands/launch.py)",
			      { accelerate_keys, NULL },
			      { &accelerate_keys_count, NULL } },
	[TRAINER_FILE] = { "transformers",
			   "4.40",
			   "5",
			   "transformers' sources (training_args.py)",
			   { trainer_keys, NULL },
			   { &trainer_keys_count, NULL } },
	[FSDP_FILE] = { "FSDP",
			"4.40",
			"5",
			"transformers' sources (training_args.py)",
			{ fsdp_keys, NULL },
			{ &fsdp_keys_count, NULL } },
};

static const struct train_key *exactly(enum train_format f, const char *path)
{
	const struct train_schema *s = &train_schemas[f];

	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; s->keys[p] && i < *s->n[p]; i++)
			if (strcmp(s->keys[p][i].path, path) == 0)
				return &s->keys[p][i];
	return NULL;
}

/* "fsdp_config.version" is "fsdp_config.fsdp_version"; the Trainer's own file has it the other way.
 */
static const struct train_key *with_prefix(enum train_format f, const char *path)
{
	static const char *const sections[][2] = {
		{ "fsdp_config.", "fsdp_" },
		{ "dynamo_config.", "dynamo_" },
		{ "fp8_config.", "fp8_" },
		{ "parallelism_config.", "parallelism_config_" },
	};
	char full[192];

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t n = strlen(sections[i][0]);

		if (!str_starts(path, sections[i][0]) || strlen(path) > 128)
			continue;
		memcpy(full, sections[i][0], n);
		memcpy(full + n, sections[i][1], strlen(sections[i][1]));
		memcpy(full + n + strlen(sections[i][1]), path + n, strlen(path + n) + 1);
		return exactly(f, full);
	}
	return NULL;
}

const struct train_key *train_key(enum train_format f, const char *path)
{
	const struct train_key *k = exactly(f, path);

	if (!k && f == ACCELERATE_FILE)
		k = with_prefix(f, path);
	if (!k && f == FSDP_FILE && str_starts(path, "fsdp_"))
		k = exactly(f, path + strlen("fsdp_"));
	return k;
}

static const char *last_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

const char *train_key_near(struct arena *a, enum train_format f, const char *path)
{
	const struct train_schema *s = &train_schemas[f];
	const char *name = last_name(path), *best = NULL;
	size_t front = (size_t)(name - path), nearest = 3 + strlen(name) / 12;

	if (strlen(name) < 4)
		nearest = 2;
	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; s->keys[p] && i < *s->n[p]; i++) {
			const char *other = s->keys[p][i].path, *theirs = last_name(other);
			size_t d;

			if ((size_t)(theirs - other) != front || strncmp(other, path, front) != 0)
				continue;
			d = str_distance(name, theirs, nearest - 1);
			if (d < nearest) {
				nearest = d;
				best = theirs;
			}
		}
	return best ? arena_strdup(a, best) : NULL;
}

const char *train_key_elsewhere(enum train_format f, const char *path)
{
	const struct train_schema *s = &train_schemas[f];
	const char *name = last_name(path), *found = NULL;

	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; s->keys[p] && i < *s->n[p]; i++) {
			if (strcmp(last_name(s->keys[p][i].path), name) != 0)
				continue;
			if (found)
				return NULL;
			found = s->keys[p][i].path;
		}
	return found;
}
