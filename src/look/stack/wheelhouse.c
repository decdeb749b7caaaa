/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of a wheelhouse: read, written, locked, signed. */
#include "look/stack/wheelhouse.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "look/stack/wheelhouse_sign.h"

enum { MANIFEST_MAX = 1 << 24, WHEELS_MAX = 100000 };
static const char schema[] = "gputune.wheelhouse/1";

int file_sha256(struct input *in, char out[65])
{
	enum { BLOCK = 1 << 18 };
	uint8_t sum[SHA256_BYTES];
	struct sha256 s;
	unsigned char *buf = malloc(BLOCK);
	int code = buf ? 0 : -ENOMEM;

	sha256_begin(&s);
	for (uint64_t at = 0; at < in->size && !code; at += BLOCK) {
		size_t n = in->size - at < BLOCK ? (size_t)(in->size - at) : BLOCK;

		code = input_read(in, at, buf, n);
		if (!code)
			sha256_add(&s, buf, n);
	}
	free(buf);
	sha256_end(&s, sum);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", sum[i]);
	return code;
}

json_t *wheelhouse_json(const struct wheelhouse *h)
{
	json_t *j = json_object(), *list = json_array();

	json_object_set_new(j, "schema", json_string(schema));
	json_object_set_new(j, "arch", json_string(h->arch));
	json_object_set_new(j, "python", h->python ? json_string(h->python) : json_null());
	json_object_set_new(j, "gpus", json_string(h->gpus));
	for (size_t i = 0; i < h->n; i++) {
		const struct house_wheel *w = &h->wheels[i];
		json_t *o = json_pack(
			"{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:s}", "file",
			w->file, "sha256", w->sha256, "size_bytes", (json_int_t)w->size, "name",
			w->name, "version", w->version, "build", w->build, "python", w->python,
			"abi", w->abi, "platform", w->platform, "requires_python",
			w->requires_python, "gpu_code", w->gpu_code, "added", w->added);

		json_array_append_new(list, o ? o : json_null());
	}
	json_object_set_new(j, "wheels", list);
	return j;
}

static const char *copy(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

/* Names become paths: the rules of wheel names hold for what a manifest says, too. */
static int read_wheel(struct arena *a, json_t *o, struct house_wheel *out, struct err *e)
{
	struct house_wheel w = { 0 };
	struct wheel name;
	json_int_t size = -1;
	json_t *requires = NULL;
	int code = json_unpack(o, "{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s}",
			       "file", &w.file, "sha256", &w.sha256, "size_bytes", &size, "name",
			       &w.name, "version", &w.version, "build", &w.build, "python",
			       &w.python, "abi", &w.abi, "platform", &w.platform, "requires_python",
			       &requires, "gpu_code", &w.gpu_code, "added", &w.added);

	if (code || size < 0 || strlen(w.sha256) != 64 ||
	    strspn(w.sha256, "0123456789abcdef") != 64)
		return err_set(e, -EBADMSG, "its manifest has an entry that is none");
	code = wheel_name(a, w.file, &name, e);
	if (code)
		return code;
	*out = (struct house_wheel){ .file = name.file,
				     .sha256 = copy(a, w.sha256),
				     .size = (uint64_t)size,
				     .name = name.name,
				     .version = name.version,
				     .build = name.build,
				     .python = name.python,
				     .abi = name.abi,
				     .platform = name.platform,
				     .requires_python = copy(a, json_string_value(requires)),
				     .gpu_code = copy(a, w.gpu_code),
				     .added = copy(a, w.added) };
	return 0;
}

static int read_manifest(struct arena *a, json_t *j, struct wheelhouse *h, struct err *e)
{
	const char *said = NULL, *arch = NULL, *gpus = NULL;
	json_t *list = NULL, *python = NULL;

	if (json_unpack(j, "{s:s, s:s, s:o, s:s, s:o}", "schema", &said, "arch", &arch, "python",
			&python, "gpus", &gpus, "wheels", &list) ||
	    strcmp(said, schema) != 0 || !json_is_array(list) || json_array_size(list) > WHEELS_MAX)
		return err_set(e, -EBADMSG, "%s: its manifest is none of a wheelhouse", h->dir);
	h->arch = copy(a, arch);
	h->python = copy(a, json_string_value(python));
	h->gpus = copy(a, gpus);
	h->wheels = arena_array(a, json_array_size(list) + 1, sizeof(*h->wheels));
	for (size_t i = 0; i < json_array_size(list); i++) {
		int code = read_wheel(a, json_array_get(list, i), &h->wheels[i], e);

		if (code)
			return code;
		h->n++;
	}
	return 0;
}

static int load_manifest(struct arena *a, struct wheelhouse *h, struct err *e)
{
	int fd = openat(h->fd, WHEELHOUSE_MANIFEST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct input_file f;
	char *text;
	json_t *j;
	int code;

	if (fd < 0) {
		err_set(e, -errno, "%s is no wheelhouse: it has no " WHEELHOUSE_MANIFEST, h->dir);
		err_hint(e, "\"gputune stack wheelhouse create %s\" makes one", h->dir);
		return -ENOENT;
	}
	code = input_open_fd(&f, fd, WHEELHOUSE_MANIFEST, e);
	if (code)
		return code;
	if (f.in.size > MANIFEST_MAX) {
		input_close(&f);
		return err_set(e, -EFBIG, "%s: its manifest is larger than any", h->dir);
	}
	text = arena_alloc(a, (size_t)f.in.size + 1);
	code = input_read(&f.in, 0, text, (size_t)f.in.size);
	j = code ? NULL : json_loadb(text, (size_t)f.in.size, JSON_REJECT_DUPLICATES, NULL);
	if (code || !j)
		code = err_set(e, -EBADMSG, "%s: its manifest cannot be read as JSON", h->dir);
	else
		code = read_manifest(a, j, h, e);
	h->manifest = text;
	h->manifest_len = (size_t)f.in.size;
	json_decref(j);
	input_close(&f);
	return code;
}

int wheelhouse_open(struct arena *a, const char *dir, bool lock, struct wheelhouse *out,
		    struct err *e)
{
	struct wheelhouse h = { .dir = dir, .gpus = "" };
	int code;

	h.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h.fd < 0)
		return err_set(e, -errno, "%s: %s", dir, strerror(errno));
	if (lock && flock(h.fd, LOCK_EX | LOCK_NB)) {
		code = err_set(e, -EBUSY, "%s is being changed by another gputune", dir);
	} else {
		code = load_manifest(a, &h, e);
		h.is_signed = faccessat(h.fd, WHEELHOUSE_SIGNATURE, F_OK, 0) == 0;
	}
	if (code)
		close(h.fd);
	else
		*out = h;
	return code;
}

void wheelhouse_close(struct wheelhouse *h)
{
	close(h->fd);
}

static bool empty_folder(const char *dir)
{
	return rmdir(dir) == 0 && mkdir(dir, 0755) == 0;
}

int wheelhouse_create(struct arena *a, const char *dir, const struct wheel_target *t,
		      const char *gpus, struct wheelhouse *out, struct err *e)
{
	struct wheelhouse h = { .dir = dir, .arch = t->arch, .python = t->python, .gpus = gpus };

	(void)a;
	if (mkdir(dir, 0755) && !(errno == EEXIST && empty_folder(dir)))
		return err_set(e, -EEXIST, "%s cannot be made: %s", dir,
			       errno == ENOTEMPTY ? "it is there, and not empty" : strerror(errno));
	h.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h.fd < 0 || flock(h.fd, LOCK_EX | LOCK_NB))
		return err_set(e, -errno, "%s: %s", dir, strerror(errno));
	*out = h;
	return 0;
}

/* --- writing --- */

static int write_new(struct wheelhouse *h, const char *name, const char *text, struct err *e)
{
	int fd = openat(h->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int code;

	if (fd < 0)
		return err_set(e, -errno, "%s/%s cannot be written: %s", h->dir, name,
			       strerror(errno));
	code = fd_write_all(fd, text, strlen(text));
	if (!code && fsync(fd))
		code = -errno;
	close(fd);
	return code ? err_set(e, code, "%s/%s cannot be written: %s", h->dir, name, strerror(-code))
		    : 0;
}

int wheelhouse_save(struct arena *a, struct wheelhouse *h, const char *key, struct err *e)
{
	const char *name = arena_printf(a, ".%s.%ld", WHEELHOUSE_MANIFEST, (long)getpid());
	const char *sig = arena_printf(a, "%s.sig", name);
	char *text, *signature;
	json_t *j;
	int code;

	if (h->is_signed && !key)
		return err_set(e, -EPERM, "%s is signed: changing it needs --key", h->dir);
	j = wheelhouse_json(h);
	text = json_dumps(j, JSON_INDENT(2));
	json_decref(j);
	if (!text)
		return err_set(e, -EINVAL, "the manifest is no text");
	code = write_new(h, name, text, e);
	if (!code && key)
		code = house_sign(a, text, key, &signature, e);
	free(text);
	if (!code && key)
		code = write_new(h, sig, signature, e);
	if (!code && key && renameat(h->fd, sig, h->fd, WHEELHOUSE_SIGNATURE))
		code = err_set(e, -errno, "the signature cannot be written");
	if (!code && renameat(h->fd, name, h->fd, WHEELHOUSE_MANIFEST))
		code = err_set(e, -errno, "the manifest cannot be written: %s", strerror(errno));
	if (code) {
		unlinkat(h->fd, name, 0);
		unlinkat(h->fd, sig, 0);
	} else {
		fsync(h->fd);
		h->is_signed = key != NULL;
	}
	return code;
}
