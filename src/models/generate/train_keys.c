/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up keys: by path, by what is near, by where else the name belongs. */
#include <string.h>

#include "models/generate/train_keys.h"
#include "base/text.h"

const struct train_schema train_schemas[TRAIN_FORMATS] = {
	[DEEPSPEED_FILE] = { "DeepSpeed", "0.9.0", "0.19.6",
			     "DeepSpeed's sources (runtime/config.py)" },
	[ACCELERATE_FILE] = { "Accelerate", "0.20.0", "1.15.0",
			      "Accelerate's sources (commands/launch.py)" },
	[TRAINER_FILE] = { "transformers", "4.40", "5",
			   "transformers' sources (training_args.py)" },
	[FSDP_FILE] = { "FSDP", "4.40", "5", "transformers' sources (training_args.py)" },
};

static const struct train_key *exactly(enum train_format f, const char *path)
{
	for (size_t i = 0; i < n_train_keys; i++)
		if (train_keys[i].file == f && strcmp(train_keys[i].path, path) == 0)
			return &train_keys[i];
	return NULL;
}

/* "fsdp_config.version" is "fsdp_config.fsdp_version"; the Trainer's own file has it the other way.
 */
static const struct train_key *gen_train_keys_with_prefix(enum train_format f, const char *path)
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
		k = gen_train_keys_with_prefix(f, path);
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
	const char *name = last_name(path), *best = NULL;
	size_t front = (size_t)(name - path), nearest = 3 + strlen(name) / 12;

	if (strlen(name) < 4)
		nearest = 2;
	for (size_t i = 0; i < n_train_keys; i++) {
		const char *other = train_keys[i].path, *theirs = last_name(other);
		size_t d;

		if (train_keys[i].file != f || (size_t)(theirs - other) != front ||
		    strncmp(other, path, front) != 0)
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
	const char *name = last_name(path), *found = NULL;

	for (size_t i = 0; i < n_train_keys; i++) {
		if (train_keys[i].file != f || strcmp(last_name(train_keys[i].path), name) != 0)
			continue;
		if (found)
			return NULL;
		found = train_keys[i].path;
	}
	return found;
}

bool zero_key_dead(const struct train_key *k, int stage)
{
	return k && k->stages[0] && (stage < k->stages[0] || stage > k->stages[1]);
}
