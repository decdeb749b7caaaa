/* SPDX-License-Identifier: Apache-2.0 */
/* What a command needs in a container besides: the model where the command looks for it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "front/verbs/generate.h"

/* Without links and steps up: the words of a command mean the same wherever it runs. The last part
 * stays as it is named, since files of the hub's cache are links to others without a type. */
static const char *whole_path(struct arena *a, const char *path)
{
	const char *last = path_name(path);
	bool steps = !*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
	char *real;
	const char *out;

	if (*path == '/')
		return path;
	real = realpath(steps ? path : path_folder(a, path), NULL);
	if (!real)
		return path;
	out = steps ? arena_strdup(a, real)
		    : arena_printf(a, "%s/%s", strcmp(real, "/") == 0 ? "" : real, last);
	free(real);
	return out;
}

/* A file's own folder: a GGUF file may be one of several. In the hub's cache
 * (models--OWNER--NAME/snapshots/REVISION) files are links to what lies beside the snapshots. */
static const char *folder_of(struct arena *a, const char *path)
{
	const char *hub = strstr(path, "/snapshots/"), *folder = path_folder(a, path);

	if (hub && hub > path)
		return arena_strndup(a, path, (size_t)(hub - path));
	/* Of what lies in the root that file alone. */
	return str_ends(path, ".gguf") && folder[1] ? folder : path;
}

static bool is_local(const char *model)
{
	struct stat st;

	return *model == '/' || *model == '.' || str_ends(model, ".gguf") || stat(model, &st) == 0;
}

static void replace(const struct gen_launch *l, const char *old, const char *by)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->commands[i].n; k++)
			if (strcmp(l->commands[i].words[k].text, old) == 0)
				l->commands[i].words[k].text = by;
}

const char *generate_in_container(struct run *r, struct generate_view *v)
{
	const struct gen_launch *l = v->launch;
	const char *path;

	if (!v->serve || !l->n)
		return "";
	/* llama.cpp's images have their server outside of every path
	 * (.devops/cuda.Dockerfile, read 2026-11-22). */
	if (strcmp(l->commands[0].words[0].text, "llama-server") == 0)
		l->commands[0].words[0].text = "/app/llama-server";
	if (is_local(v->ask->model)) {
		path = whole_path(&r->arena, v->ask->model);
		replace(l, v->ask->model, path);
		v->model_folder = folder_of(&r->arena, path);
		return "# The model's folder has to be there on each machine.\n";
	}
	v->model_cache = v->ask->engine == ENGINE_LLAMACPP ? "LLAMA_CACHE" : "HF_HOME";
	return "# Models are fetched into the volume \"models\", which stays when a container goes;"
	       " a folder in\n# its place (as your own ~/.cache/huggingface) is used with what it "
	       "has. To be added: HF_TOKEN,\n# where a model asks for one.\n";
}
