/* SPDX-License-Identifier: Apache-2.0 */
/* The captured machines that come with the program. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/captured.h"

/* "demo:NAME" is the captured machine NAME that comes with the program: beside it where it was
 * built, below share/ where it is installed. The i-th folder; NULL: no more. */
static const char *demo_folder(size_t i, char out[static HOST_PATH_MAX])
{
	static const char *const folders[] = { "machines", "../share/gputune/machines" };
	char self[HOST_PATH_MAX / 2];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (i >= sizeof(folders) / sizeof(folders[0]))
		return NULL;
	self[n > 0 ? n : 0] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	snprintf(out, HOST_PATH_MAX, "%s/%s", self, folders[i]);
	return out;
}

size_t host_demos(struct arena *a, char ***names)
{
	char folder[HOST_PATH_MAX];
	size_t n = 0;

	*names = NULL;
	for (size_t i = 0; n == 0 && demo_folder(i, folder); i++) {
		DIR *d = opendir(folder);

		for (struct dirent *e; d && (e = readdir(d));) {
			if (!str_ends(e->d_name, ".tar"))
				continue;
			*names = arena_grow(a, *names, n, sizeof(**names));
			(*names)[n++] = arena_strndup(a, e->d_name, strlen(e->d_name) - 4);
		}
		if (d)
			closedir(d);
	}
	if (n)
		qsort(*names, n, sizeof(**names), str_natural_qsort);
	return n;
}

int demo_path(const char *name, char *out, size_t cap, struct err *e)
{
	struct near_word near = near_word_to(name);
	char folder[HOST_PATH_MAX], **names;
	struct arena a = { 0 };
	size_t n;

	for (size_t i = 0; !strchr(name, '/') && demo_folder(i, folder); i++)
		if (snprintf(out, cap, "%s/%s.tar", folder, name) < (int)cap &&
		    access(out, F_OK) == 0)
			return 0;
	err_set(e, -ENOENT, "unknown captured machine \"demo:%s\"", name);
	n = host_demos(&a, &names);
	for (size_t i = 0; i < n; i++)
		near_word_try(&near, names[i], names[i]);
	if (near.word)
		err_hint(e, "did you mean \"demo:%s\"? \"gputune list demos\" lists all",
			 near.word);
	else
		err_hint(e, "%s",
			 n ? "\"gputune list demos\" lists all" : "no demos are installed");
	arena_free(&a);
	return -ENOENT;
}
