/* SPDX-License-Identifier: Apache-2.0 */
/* A model in a GGUF file, or in several that lie side by side: NAME-00001-of-00003.gguf and so on.
 */
#include <ctype.h>
#include <string.h>

#include "front/verbs/predict.h"
#include "models/inference/gguf.h"

/* A header holds the whole vocabulary; those of later files names of tensors alone. */
#define MOST_FIRST (64u << 20)
#define MOST_LATER (1u << 20)
#define MOST_FILES 999

static const char form[] = "-00001-of-00001.gguf";

/* Where a path has the number of its file; NULL: its name is not of that form. */
static const char *number_in(const char *path)
{
	size_t len = strlen(path), n = sizeof(form) - 1;
	const char *s;

	if (len < n)
		return NULL;
	s = path + len - n;
	for (size_t i = 0; i < n; i++)
		if (isdigit((unsigned char)form[i]) ? !isdigit((unsigned char)s[i])
						    : s[i] != form[i])
			return NULL;
	return s + 1;
}

/* The path of another of the model's files. */
static const char *path_of(struct run *r, const char *path, int i)
{
	const char *at = number_in(path);

	return at ? arena_printf(&r->arena, "%.*s%05d%s", (int)(at - path), path, i, at + 5) : path;
}

static int later(struct run *r, const char *path, int i, struct gguf *g, struct err *e)
{
	const char *name = path_of(r, path, i);
	bool cut;
	size_t len;
	char *data = predict_file(r, name, MOST_LATER, &len, &cut);

	if (!data)
		return EXIT_USAGE;
	return gguf_more(g, name, (const uint8_t *)data, len, e) < 0 ? complain(EXIT_USAGE, e) : 0;
}

int predict_gguf(struct run *r, const char *path, struct model_file *f)
{
	const char *first = path_of(r, path, 1);
	struct err e = { 0 };
	struct gguf *g;
	size_t len;
	bool cut;
	char *data = predict_file(r, first, MOST_FIRST, &len, &cut);
	int code = 0;

	if (!data)
		return -EXIT_USAGE;
	if (gguf_open(&r->arena, first, (const uint8_t *)data, len, &g, &e) < 0)
		return -complain(EXIT_USAGE, &e);
	for (int i = 2; number_in(path) && i <= gguf_files(g) && i <= MOST_FILES && !code; i++)
		code = later(r, path, i, g, &e);
	if (code)
		return -code;
	return gguf_model(g, f, &e) < 0 ? -complain(EXIT_USAGE, &e) : 1;
}
