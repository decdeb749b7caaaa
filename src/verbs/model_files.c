/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a model: config.json with its quantization and safetensors headers, GGUF. */
#include "verbs/model_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "models/inference/gguf.h"

/* A safetensors header holds every tensor's name. */
#define MOST_CONFIG (4u << 20)

#define MOST_HEADER (100u << 20)

#define MOST_FILES 1000

static ssize_t read_whole(int fd, char *to, size_t most)
{
	size_t got = 0;

	while (got < most) {
		ssize_t n = read(fd, to + got, most - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

char *door_file(struct door *d, const char *path, size_t most, size_t *len, bool *cut)
{
	bool input = strcmp(path, "-") == 0;
	TEXT_AUTO t = { 0 };
	int r = input ? fd_read_all(STDIN_FILENO, most, &t) : fd_read_input(path, most, &t);
	bool over = r == -EFBIG;

	if (cut)
		*cut = over;
	path = input ? "standard input" : path;
	if (over && !cut)
		door_refuse(d, EXIT_USAGE, "%s is larger than %zu MiB", path, most >> 20);
	else if (r && !over)
		door_refuse(d, EXIT_USAGE, "%s: cannot read: %s", path,
			    r == -EINVAL ? "not a file" : strerror(-r));
	if (r && !(over && cut))
		return NULL;
	*len = over ? most : t.len;
	return arena_strndup(d->arena, t.s, *len);
}

/* One safetensors file: eight bytes of length, then the header. */
static int add_header(struct door *d, const char *path, double *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t len = 0;
	struct err e = { 0 };
	char *text;
	int code = 0;

	if (fd < 0 || read_whole(fd, (char *)&len, 8) != 8 || len < 2 || len > MOST_HEADER) {
		if (fd >= 0)
			close(fd);
		return door_refuse(d, EXIT_USAGE, "%s has no safetensors header", path);
	}
	text = malloc((size_t)len);
	if (!text || read_whole(fd, text, (size_t)len) != (ssize_t)len)
		code = door_refuse(d, EXIT_USAGE, "%s is truncated within its header", path);
	else if (safetensors_read(text, (size_t)len, bytes, &e) < 0)
		code = door_refuse(d, EXIT_USAGE, "%s: %s", path, e.text);
	free(text);
	close(fd);
	return code;
}

/* Exact bytes of the checkpoint beside a configuration: its index, or every file's header. */
static int folder_bytes(struct door *d, const char *folder, double *bytes)
{
	const char *index = arena_printf(d->arena, "%s/model.safetensors.index.json", folder);
	const char *single = arena_printf(d->arena, "%s/model.safetensors", folder);
	struct dirent *entry;
	struct err e = { 0 };
	size_t len;
	DIR *dir;
	int code = 0, files = 0;

	if (access(index, R_OK) == 0) {
		char *text = door_file(d, index, MOST_HEADER, &len, NULL);

		if (!text)
			return -EXIT_USAGE;
		return safetensors_read(text, len, bytes, &e) < 0
			       ? door_refuse(d, EXIT_USAGE, "%s: %s", index, e.text)
			       : 0;
	}
	/* One file may lie there a second time, under another program's name. */
	if (access(single, R_OK) == 0)
		return add_header(d, single, bytes);
	dir = opendir(folder);
	while (dir && !code && (entry = readdir(dir)) && files < MOST_FILES)
		if (str_ends(entry->d_name, ".safetensors")) {
			files++;
			code = add_header(d, arena_printf(d->arena, "%s/%s", folder, entry->d_name),
					  bytes);
		}
	if (dir)
		closedir(dir);
	return code;
}

/* Quantizers that write a file of their own beside config.json. */
static int quantization_beside(struct door *d, const char *path, struct model_file *f)
{
	static const char *const names[] = { "hf_quant_config.json", "quantize_config.json",
					     "quant_config.json" };
	const char *name = strrchr(path, '/');
	int folder = name ? (int)(name - path) + 1 : 0;
	struct err e = { 0 };
	size_t len;

	if (f->quantized || strcmp(path + folder, "config.json") != 0)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *other = arena_printf(d->arena, "%.*s%s", folder, path, names[i]);
		char *text;

		if (access(other, F_OK) != 0)
			continue;
		text = door_file(d, other, MOST_CONFIG, &len, NULL);
		if (!text)
			return -EXIT_USAGE;
		return config_quantization_beside(d->arena, other, text, len, f, &e) < 0
			       ? door_fail(d, EXIT_USAGE, &e)
			       : 0;
	}
	return 0;
}

static int config_file(struct door *d, const char *path, const char *folder, struct model_file *f)
{
	struct err e = { 0 };
	size_t len;
	char *text = door_file(d, path, MOST_CONFIG, &len, NULL);

	if (!text)
		return -EXIT_USAGE;
	if (config_read(d->arena, path, text, len, f, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	if (quantization_beside(d, path, f) != 0)
		return -EXIT_USAGE;
	if (folder && folder_bytes(d, folder, &f->bytes) != 0)
		return -EXIT_USAGE;
	return 1;
}

/* A header holds the whole vocabulary; those of later files names of tensors alone. */
#define MOST_FIRST (64u << 20)

#define MOST_LATER (1u << 20)

#define GGUF_MOST_FILES 999

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
static const char *path_of(struct door *d, const char *path, int i)
{
	const char *at = number_in(path);

	return at ? arena_printf(d->arena, "%.*s%05d%s", (int)(at - path), path, i, at + 5) : path;
}

static int gguf_later(struct door *d, const char *path, int i, struct gguf *g, struct err *e)
{
	const char *name = path_of(d, path, i);
	bool cut;
	size_t len;
	char *data = door_file(d, name, MOST_LATER, &len, &cut);

	if (!data)
		return -EXIT_USAGE;
	return gguf_more(g, name, (const uint8_t *)data, len, e) < 0 ? door_fail(d, EXIT_USAGE, e)
								     : 0;
}

static int gguf_file(struct door *d, const char *path, struct model_file *f)
{
	const char *first = path_of(d, path, 1);
	struct err e = { 0 };
	struct gguf *g;
	size_t len;
	bool cut;
	char *data = door_file(d, first, MOST_FIRST, &len, &cut);
	int code = 0;

	if (!data)
		return -EXIT_USAGE;
	if (gguf_open(d->arena, first, (const uint8_t *)data, len, &g, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	for (int i = 2; number_in(path) && i <= gguf_files(g) && i <= GGUF_MOST_FILES && !code; i++)
		code = gguf_later(d, path, i, g, &e);
	if (code)
		return code;
	return gguf_model(g, f, &e) < 0 ? door_fail(d, EXIT_USAGE, &e) : 1;
}

int door_model_file(struct door *d, const char *path, struct model_file *f)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		if (str_ends(path, ".json") || str_ends(path, ".gguf"))
			return door_refuse(d, EXIT_USAGE, "%s: cannot read: %s", path,
					   strerror(errno));
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return config_file(d, arena_printf(d->arena, "%s/config.json", path), path, f);
	if (!str_ends(path, ".gguf"))
		return config_file(d, path, NULL, f);
	return gguf_file(d, path, f);
}
