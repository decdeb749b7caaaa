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
#include "machine/host/folder.h"

const char *host_demo_folder(size_t i, char out[static HOST_PATH_MAX])
{
	static const char *const folders[] = { "machines", "../share/gputune/machines" };
	char self[HOST_PATH_MAX / 2];

	if (i >= sizeof(folders) / sizeof(folders[0]))
		return NULL;
	folder_of_program(self, sizeof(self));
	snprintf(out, HOST_PATH_MAX, "%s/%s", self, folders[i]);
	return out;
}

/* A machine, the same packed, what was discovered of a cluster. */
static const char *const demo_ends[] = { ".tar", ".tar.zst", ".json" };
enum { DEMO_ENDS = sizeof(demo_ends) / sizeof(demo_ends[0]) };

/* Without its end. 0: it is none. */
static size_t demo_name_length(const char *file)
{
	for (size_t i = 0; i < DEMO_ENDS; i++)
		if (str_ends(file, demo_ends[i]))
			return strlen(file) - strlen(demo_ends[i]);
	return 0;
}

const char *host_demo_about(const char *name)
{
	static const struct {
		const char *name, *about;
	} known[] = {
		{ "cpu-256", "a server of 256 CPUs with ZFS and a slow USB disk, without a GPU" },
		{ "dev-vm", "a small virtual machine without a GPU" },
		{ "dgx-spark", "DGX Spark: GB10, 128 GB of unified memory, ConnectX-7" },
		{ "gx10", "a GB10 whose NIC has too few lanes; use it as a peer of dgx-spark" },
		{ "hgx-b200", "DGX B200: eight GPUs and NVSwitch" },
		{ "igx-orin", "IGX Orin with a discrete GPU (RTX 6000 Ada), ConnectX-7" },
		{ "nothing", "a machine on which almost nothing is readable" },
		{ "hgx-h100", "HGX H100: eight GPUs, NVSwitch, eight InfiniBand ports; one GPU is "
			      "degraded" },
		{ "two-sparks", "two DGX Sparks and a cable, for --from of cluster discover, "
				"check, plan and undo" },
		{ "h200-x4", "four H200 in a virtual machine, captured in use" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].about;
	return "a variant of the machine in the line above";
}

bool host_is_demo(const char *name)
{
	char file[HOST_DEMO_MAX], word[HOST_PATH_MAX];
	struct err ignored = { 0 };

	snprintf(word, sizeof(word), "demo:%s", name);
	return host_demo_file(word, file, &ignored) != NULL;
}

size_t host_demos(struct arena *a, char ***names)
{
	char folder[HOST_PATH_MAX];
	size_t n = 0;

	*names = NULL;
	for (size_t i = 0; n == 0 && host_demo_folder(i, folder); i++) {
		DIR *d = opendir(folder);

		for (struct dirent *e; d && (e = readdir(d));) {
			size_t len = demo_name_length(e->d_name);

			if (!len)
				continue;
			ARENA_ADD(a, *names, n) = arena_strndup(a, e->d_name, len);
		}
		if (d)
			closedir(d);
	}
	if (n)
		qsort(*names, n, sizeof(**names), str_natural_qsort);
	return n;
}

/* The machines of a cluster, which are alike, are one that comes by itself. */
static const struct {
	const char *name, *machine;
} demo_nodes[] = { { "two-sparks/spark-1", "dgx-spark" }, { "two-sparks/spark-2", "dgx-spark" } };

const char *host_demo_file(const char *path, char room[static HOST_DEMO_MAX], struct err *e)
{
	const char *name = path + strlen("demo:");
	char folder[HOST_PATH_MAX], **names;
	struct near_word near;
	ARENA_AUTO a = { 0 };
	size_t n;

	if (!str_starts(path, "demo:"))
		return path;
	for (size_t i = 0; i < sizeof(demo_nodes) / sizeof(demo_nodes[0]); i++)
		if (strcmp(name, demo_nodes[i].name) == 0)
			name = demo_nodes[i].machine;
	for (size_t i = 0; !strchr(name, '/') && host_demo_folder(i / DEMO_ENDS, folder); i++)
		if (snprintf(room, HOST_DEMO_MAX, "%s/%s%s", folder, name,
			     demo_ends[i % DEMO_ENDS]) < HOST_DEMO_MAX &&
		    access(room, F_OK) == 0)
			return room;
	err_set(e, -ENOENT, "unknown captured machine \"%s\"", path);
	near = near_word_to(name);
	n = host_demos(&a, &names);
	for (size_t i = 0; i < n; i++)
		near_word_try(&near, names[i], arena_printf(&a, "demo:%s", names[i]));
	err_hint_near(e, near.word,
		      n ? "\"gputune list demos\" lists all"
			: "\"gputune demo\" says where demos belong");
	return NULL;
}
