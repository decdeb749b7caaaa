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

/* "NAME.tar", or packed. 0: it is none. */
static size_t demo_name_length(const char *file)
{
	size_t n = strlen(file);

	return str_ends(file, ".tar") ? n - 4 : str_ends(file, ".tar.zst") ? n - 8 : 0;
}

const char *host_demo_about(const char *name)
{
	static const struct {
		const char *name, *about;
	} known[] = {
		{ "dgx-spark", "DGX Spark: GB10, 128 GB of unified memory, ConnectX-7" },
		{ "gx10", "a second machine with GB10 and other settings, for a cluster of two" },
		{ "igx-orin", "IGX Orin: integrated and discrete GPU, ConnectX-7" },
		{ "hgx-h100", "HGX H100: eight GPUs, NVSwitch, eight InfiniBand ports; one GPU is "
			      "degraded" },
		{ "h200-x4", "four H200 in a virtual machine; captured from a machine in use" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].about;
	return "a captured machine, for --host";
}

size_t host_demos(struct arena *a, char ***names)
{
	char folder[HOST_PATH_MAX];
	size_t n = 0;

	*names = NULL;
	for (size_t i = 0; n == 0 && demo_folder(i, folder); i++) {
		DIR *d = opendir(folder);

		for (struct dirent *e; d && (e = readdir(d));) {
			size_t len = demo_name_length(e->d_name);

			if (!len)
				continue;
			*names = arena_grow(a, *names, n, sizeof(**names));
			(*names)[n++] = arena_strndup(a, e->d_name, len);
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

	for (size_t i = 0; !strchr(name, '/') && demo_folder(i / 2, folder); i++)
		if (snprintf(out, cap, "%s/%s.tar%s", folder, name, i % 2 ? ".zst" : "") <
			    (int)cap &&
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
