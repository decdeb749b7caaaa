/* SPDX-License-Identifier: Apache-2.0 */
/* Is a wheelhouse what its manifest says, and its manifest what somebody signed? */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "look/stack/wheelhouse_sign.h"

static void add(struct arena *a, struct house_verdict *v, const char *file, const char *what)
{
	v->items = arena_grow(a, v->items, v->n, sizeof(*v->items));
	v->items[v->n++] = (struct house_problem){ arena_strdup(a, file), arena_strdup(a, what) };
}

static const char *check_wheel(struct arena *a, const struct wheelhouse *h,
			       const struct house_wheel *w)
{
	struct wheel_target t = { h->arch, h->python };
	struct scan_options how = { 0 };
	struct input_file f;
	struct err e = { 0 };
	struct wheel inside;
	char sha256[65];
	int fd = openat(h->fd, w->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP	 ? "it is a link, not a file"
		       : errno == ENOENT ? "it is missing"
					 : strerror(errno);
	if (input_open_fd(&f, fd, w->file, &e))
		return arena_strdup(a, e.text);
	if (f.in.size != w->size)
		err_set(&e, -EBADMSG, "it has %llu bytes, the manifest says %llu",
			(unsigned long long)f.in.size, (unsigned long long)w->size);
	else if (file_sha256(&f.in, sha256))
		err_set(&e, -EIO, "it cannot be read");
	else if (strcmp(sha256, w->sha256) != 0)
		err_set(&e, -EBADMSG, "its SHA-256 is another one than in the manifest");
	else if (wheel_read(a, &f.in, w->file, &how, &inside, &e) == 0)
		wheel_fits(&inside, &t, &e);
	input_close(&f);
	return *e.text ? arena_strdup(a, e.text) : NULL;
}

/* pip would take a wheel that nobody entered. */
static int strangers(struct arena *a, const struct wheelhouse *h, struct house_verdict *v,
		     struct err *e)
{
	int fd = openat(h->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *it;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return err_set(e, -EIO, "%s cannot be listed", h->dir);
	}
	while ((it = readdir(d))) {
		bool known = !str_ends(it->d_name, ".whl") || it->d_name[0] == '.';

		for (size_t i = 0; i < h->n && !known; i++)
			known = strcmp(h->wheels[i].file, it->d_name) == 0;
		if (!known)
			add(a, v, it->d_name, "it is not in the manifest");
	}
	closedir(d);
	return 0;
}

int wheelhouse_verify(struct arena *a, const struct wheelhouse *h, const char *signers,
		      struct house_verdict *out, struct err *e)
{
	*out = (struct house_verdict){ 0 };
	for (size_t i = 0; i < h->n; i++) {
		const char *what = check_wheel(a, h, &h->wheels[i]);

		if (what)
			add(a, out, h->wheels[i].file, what);
		else
			out->checked++;
	}
	if (signers) {
		out->signer = h->is_signed ? house_signer(a, h, signers) : NULL;
		if (!out->signer)
			add(a, out, WHEELHOUSE_MANIFEST,
			    h->is_signed ? "none of the allowed signers signed it as it is"
					 : "nobody signed it");
	}
	return strangers(a, h, out, e);
}
