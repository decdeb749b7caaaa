/* SPDX-License-Identifier: Apache-2.0 */
/* The map of names that folders hold together: first rank first, then by name. Knows no file's
 * meaning. */
#include "machine/host/merged.h"

#include <string.h>

#include "base/map.h"
#include "base/text.h"

static bool is_masked(struct host *h, const char *path)
{
	char target[HOST_PATH_MAX];

	return host_link(h, path, target, sizeof(target)) == 0 && strcmp(target, "/dev/null") == 0;
}

static void merged_add_folder(struct arena *a, struct map *found, const char *folder,
			      const char *suffix, char **names, size_t n)
{
	for (size_t i = 0; i < n && found->n < MERGED_FILES_MAX; i++) {
		void **at;

		if (!str_ends(names[i], suffix))
			continue;
		at = map_at(a, found, names[i]);
		if (!*at)
			*at = arena_printf(a, "%s/%s", folder, names[i]);
	}
}

char **host_merged(struct host *h, struct arena *a, const char *const *folders, size_t n_folders,
		   const char *suffix, int *why, size_t *n)
{
	struct map found = { 0 };
	struct map_entry *sorted;
	char **paths, **names;
	size_t count;

	for (size_t i = 0; i < n_folders; i++) {
		int r = host_list(h, folders[i], a, &names, &count);

		if (why)
			why[i] = r;
		if (r == 0)
			merged_add_folder(a, &found, folders[i], suffix, names, count);
	}
	sorted = map_sorted(a, &found);
	paths = arena_array(a, found.n + 1, sizeof(*paths));
	*n = 0;
	for (size_t i = 0; i < found.n; i++)
		if (!is_masked(h, sorted[i].value))
			paths[(*n)++] = sorted[i].value;
	return paths;
}
