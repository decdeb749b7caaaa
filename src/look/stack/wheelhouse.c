/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of a wheelhouse: read, written, locked, signed. */
#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "look/stack/wheelhouse.h"
#include "base/fd.h"
#include "base/clock.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "machine/host/libraries.h"

enum { MANIFEST_MAX = 1 << 24 };

/* SHA-256 of a file's contents as hexadecimal text, 65 bytes with the NUL. */
static int file_sha256(struct input *in, char out[65])
{
	enum { BLOCK = 1 << 18 };
	uint8_t sum[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state s;
	unsigned char *buf = malloc(BLOCK);
	int code = buf ? 0 : -ENOMEM;

	crypto_hash_sha256_init(&s);
	for (uint64_t at = 0; at < in->size && !code; at += BLOCK) {
		size_t n = in->size - at < BLOCK ? (size_t)(in->size - at) : BLOCK;

		code = input_read(in, at, buf, n);
		if (!code)
			crypto_hash_sha256_update(&s, buf, n);
	}
	free(buf);
	crypto_hash_sha256_final(&s, sum);
	sodium_bin2hex(out, 65, sum, sizeof(sum));
	return code;
}

/* Names become paths: the rules of wheel names hold for what a manifest says, too. */
static int check_entry(struct arena *a, struct house_wheel *w, struct err *e)
{
	struct wheel name;
	int code;

	if (strlen(w->sha256) != 64 || strspn(w->sha256, "0123456789abcdef") != 64)
		return err_set(e, -EBADMSG, "%.200s has no SHA-256", w->file);
	code = wheel_name(a, w->file, &name, e);
	if (code)
		return code;
	w->file = name.file;
	w->name = name.name;
	w->version = name.version;
	w->build = name.build;
	w->python = name.python;
	w->abi = name.abi;
	w->platform = name.platform;
	return 0;
}

int manifest_read(struct arena *a, const char *text, size_t len, struct wheelhouse *h,
		  struct err *e)
{
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	struct wheelhouse said;
	int code;

	if (!j)
		return err_set(e, -EBADMSG, "invalid JSON");
	code = shape_read(a, &manifest_shape, j, &said, e) ? -EBADMSG : 0;
	json_decref(j);
	for (size_t i = 0; !code && i < said.n; i++)
		code = check_entry(a, &said.wheels[i], e);
	if (code)
		return code;
	h->arch = said.arch;
	h->python = said.python;
	h->gpus = said.gpus;
	h->wheels = said.wheels;
	h->n = said.n;
	return 0;
}

static int load_manifest(struct arena *a, struct wheelhouse *h, struct err *e)
{
	int fd = openat(h->fd, WHEELHOUSE_MANIFEST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct input_file f;
	struct err why = { 0 };
	char *text;
	int code;

	if (fd < 0) {
		err_set(e, -errno, "%s is not a wheelhouse: it has no " WHEELHOUSE_MANIFEST,
			h->dir);
		err_hint(e, "\"gputune stack wheelhouse create %s\" creates one", h->dir);
		return -ENOENT;
	}
	code = input_open_fd(&f, fd, WHEELHOUSE_MANIFEST, e);
	if (code)
		return code;
	if (f.in.size > MANIFEST_MAX) {
		input_close(&f);
		return err_set(e, -EFBIG, "%s: manifest too large", h->dir);
	}
	text = arena_alloc(a, (size_t)f.in.size + 1);
	code = input_read(&f.in, 0, text, (size_t)f.in.size);
	code = code ? err_set(&why, -EBADMSG, "unreadable")
		    : manifest_read(a, text, (size_t)f.in.size, h, &why);
	if (code)
		err_set(e, code, "%s: manifest: %.300s", h->dir, why.text);
	h->manifest = text;
	h->manifest_len = (size_t)f.in.size;
	input_close(&f);
	return code;
}

int wheelhouse_open(struct arena *a, const char *dir, bool lock, struct wheelhouse *out,
		    struct err *e)
{
	struct wheelhouse h = { .dir = dir, .gpus = "" };
	int code = library_open(LIBRARY_SODIUM, e);

	if (code)
		return code;
	h.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h.fd < 0)
		return err_set(e, -errno, "%s: %s", dir, strerror(errno));
	if (lock && flock(h.fd, LOCK_EX | LOCK_NB)) {
		code = err_set(e, -EBUSY, "%s is in use by another gputune", dir);
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

static void differ_from(struct arena *a, struct wheelhouse_diff *d, const struct wheelhouse *x,
			const struct wheelhouse *y, bool contents)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct house_wheel *w = &x->wheels[i], *o = NULL;

		for (size_t k = 0; k < y->n && !o; k++)
			o = strcmp(y->wheels[k].file, w->file) == 0 ? &y->wheels[k] : NULL;
		if (o && (!contents || strcmp(o->sha256, w->sha256) == 0))
			continue;
		ARENA_ADD(a, d->items, d->n) =
			(struct house_difference){ w->file, o ? NULL : x->dir };
	}
}

void wheelhouse_differ(struct arena *a, struct wheelhouse_diff *d)
{
	differ_from(a, d, &d->a, &d->b, true);
	differ_from(a, d, &d->b, &d->a, false);
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
		return err_set(e, -EEXIST, "cannot create %s: %s", dir,
			       errno == ENOTEMPTY ? "the folder exists and is not empty"
						  : strerror(errno));
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
		return err_set(e, -errno, "cannot write %s/%s: %s", h->dir, name, strerror(errno));
	code = fd_write_all(fd, text, strlen(text));
	if (!code && fsync(fd))
		code = -errno;
	close(fd);
	return code ? err_set(e, code, "cannot write %s/%s: %s", h->dir, name, strerror(-code)) : 0;
}

/* A wheel on its way into a wheelhouse: checked, copied, and the copy compared. */

static const char *wheelhouse_codes_text(struct arena *a, const struct code_set *set)
{
	const char *text = "";

	for (size_t i = 0; i < set->n; i++)
		text = arena_printf(a, "%s%s%s", text, *text ? ", " : "",
				    code_name(a, &set->items[i]));
	return text;
}

static int serves(const struct wheelhouse *h, const struct wheel *w, const struct scan_options *how,
		  struct err *e)
{
	for (size_t g = 0; g < how->n_gpus; g++)
		if (w->code.entries &&
		    code_best(&w->code.codes, &how->gpus[g], NULL) == CODE_CANNOT)
			return err_set(e, -ENOEXEC,
				       "%.200s: none of its GPU code runs on sm_%u, a target of "
				       "this wheelhouse (%s)",
				       w->file, how->gpus[g].sm, h->gpus);
	return 0;
}

static int copy_to(struct input *in, int fd)
{
	enum { BLOCK = 1 << 18 };
	unsigned char *buf = malloc(BLOCK);
	int code = buf ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < in->size && !code; at += BLOCK) {
		size_t n = in->size - at < BLOCK ? (size_t)(in->size - at) : BLOCK;

		code = input_read(in, at, buf, n);
		if (!code)
			code = fd_write_all(fd, buf, n);
	}
	free(buf);
	return code ? code : fsync(fd) ? -errno : 0;
}

/* What stands on the disk now, read anew, has to be what was checked. */
static int copy_wheel(struct wheelhouse *h, struct input *in, const char *name, const char *sha256,
		      struct err *e)
{
	int fd = openat(h->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	struct input_file f;
	char again[65] = "";
	int code;

	if (fd < 0)
		return err_set(e, -errno, "%s/%s: %s", h->dir, name, strerror(errno));
	code = copy_to(in, fd);
	if (code) {
		err_set(e, code, "cannot write %s: %s", h->dir, strerror(-code));
		close(fd);
		unlinkat(h->fd, name, 0);
		return code;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	code = input_open_fd(&f, fd, name, e);
	if (code)
		return code;
	code = file_sha256(&f.in, again);
	if (code || strcmp(again, sha256) != 0)
		code = err_set(e, -EIO, "the copy in %s differs from the original", h->dir);
	input_close(&f);
	if (code)
		unlinkat(h->fd, name, 0);
	return code;
}

/* older/SHA/NAME: out of pip's sight, and still there. */
static int set_aside(struct arena *a, struct wheelhouse *h, const struct house_wheel *old,
		     struct err *e)
{
	const char *dir = arena_printf(a, WHEELHOUSE_OLDER "/%.12s", old->sha256);

	if ((mkdirat(h->fd, WHEELHOUSE_OLDER, 0755) && errno != EEXIST) ||
	    (mkdirat(h->fd, dir, 0755) && errno != EEXIST) ||
	    renameat(h->fd, old->file, h->fd, arena_printf(a, "%s/%s", dir, old->file)))
		return err_set(e, -errno, "cannot move %s/%s aside: %s", h->dir, old->file,
			       strerror(errno));
	return 0;
}

static struct house_wheel *find(struct wheelhouse *h, const char *file)
{
	for (size_t i = 0; i < h->n; i++)
		if (strcmp(h->wheels[i].file, file) == 0)
			return &h->wheels[i];
	return NULL;
}

static void enter(struct arena *a, struct wheelhouse *h, const struct wheel *w, const char *sha256,
		  uint64_t size)
{
	struct house_wheel *old = find(h, w->file), *to = old;
	char stamp[STAMP_SIZE];

	if (!to) {
		struct house_wheel *list = arena_array(a, h->n + 1, sizeof(*list));

		if (h->n)
			memcpy(list, h->wheels, h->n * sizeof(*list));
		h->wheels = list;
		to = &list[h->n++];
	}
	stamp_format((long long)time(NULL), stamp);
	*to = (struct house_wheel){ .file = w->file,
				    .sha256 = arena_strdup(a, sha256),
				    .size = size,
				    .name = w->name,
				    .version = w->version,
				    .build = w->build,
				    .python = w->python,
				    .abi = w->abi,
				    .platform = w->platform,
				    .requires_python = w->requires_python,
				    .gpu_code = wheelhouse_codes_text(a, &w->code.codes),
				    .added = arena_strdup(a, stamp) };
}

static int take_in(struct arena *a, struct wheelhouse *h, struct input *in, const struct wheel *w,
		   bool replace, enum house_added *what, struct err *e)
{
	const char *temporary = arena_printf(a, ".%s.%ld", w->file, (long)getpid());
	struct house_wheel *old = find(h, w->file);
	char sha256[65];
	int code = file_sha256(in, sha256);

	if (code)
		return err_set(e, code, "%s: cannot read: %s", w->file, strerror(-code));
	*what = old ? HOUSE_SAME : HOUSE_ADDED;
	if (old && strcmp(old->sha256, sha256) == 0)
		return 0;
	if (old && !replace) {
		err_set(e, -EEXIST, "%s has a different %s", h->dir, w->file);
		err_hint(e, "\"stack wheelhouse update\" replaces it and keeps the old one");
		return -EEXIST;
	}
	if (!old && faccessat(h->fd, w->file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, -EEXIST, "%s/%s exists, but is not in the manifest", h->dir,
			       w->file);
	code = copy_wheel(h, in, temporary, sha256, e);
	if (!code && old) {
		code = set_aside(a, h, old, e);
		*what = HOUSE_REPLACED;
	}
	if (!code && renameat(h->fd, temporary, h->fd, w->file))
		code = err_set(e, -errno, "%s/%s: %s", h->dir, w->file, strerror(errno));
	if (code)
		unlinkat(h->fd, temporary, 0);
	else
		enter(a, h, w, sha256, in->size);
	return code;
}

int wheelhouse_add(struct arena *a, struct wheelhouse *h, const char *path, bool replace,
		   enum house_added *what, struct err *e)
{
	struct wheel_target t = { h->arch, h->python };
	struct scan_options how = { 0 };
	struct input_file f;
	struct wheel w;
	int code = scan_targets(a, h->gpus, &how, e);

	if (!code)
		code = input_open(&f, path, e);
	if (code)
		return code;
	code = wheel_read(a, &f.in, path_name(path), &how, &w, e);
	if (!code)
		code = wheel_fits(&w, &t, e);
	if (!code)
		code = serves(h, &w, &how, e);
	if (!code)
		code = take_in(a, h, &f.in, &w, replace, what, e);
	input_close(&f);
	return code;
}

/* ssh-keygen, asked to sign, who signed, and whether it was us. */

#define NAMESPACE "gputune-wheelhouse"

enum { LIMIT_S = 60, SAID_MAX = 16384 };

/* Runs ssh-keygen with these bytes on its standard input; *said is what it printed, and, unless
 * apart, complained of. Its exit status, or -errno. */
static int keygen(struct arena *a, char *const *argv, const char *bytes, size_t n, bool apart,
		  char **said, struct err *e)
{
	int in = fd_nameless(bytes, n), out = fd_nameless("", 0), status = -EIO;
	struct command_front p = { .argv = argv,
				   .input = arena_printf(a, "/proc/self/fd/%d", in),
				   .output = out,
				   .errors_apart = apart,
				   .limit_s = LIMIT_S };
	ssize_t got = 0;

	*said = arena_alloc(a, SAID_MAX);
	if (in >= 0 && out >= 0)
		status = command_front(&p, e);
	else
		err_set(e, status, "cannot create a file in memory");
	if (out >= 0)
		got = pread(out, *said, SAID_MAX - 1, 0);
	(*said)[got > 0 ? got : 0] = '\0';
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return status;
}

static char *signature_of(struct arena *a, const struct wheelhouse *h)
{
	return arena_printf(a, "%s/" WHEELHOUSE_SIGNATURE, h->dir);
}

/* Who of the allowed signers (a file) signed the manifest as it was read; NULL: nobody. */
static const char *house_signer(struct arena *a, const struct wheelhouse *h, const char *signers)
{
	char *sig = signature_of(a, h), *allowed = arena_strdup(a, signers), *who, *said;
	char *find[] = { "ssh-keygen", "-Y", "find-principals", "-s", sig, "-f", allowed, NULL };
	struct err e = { 0 };

	if (keygen(a, find, "", 0, false, &who, &e) != 0)
		return NULL;
	who[strcspn(who, "\r\n")] = '\0';
	/* A name that looks like an option would be one. */
	if (*who && *who != '-') {
		char *verify[] = { "ssh-keygen", "-Y", "verify",  "-q", "-f", allowed, "-I",
				   who,		 "-n", NAMESPACE, "-s", sig,  NULL };

		if (keygen(a, verify, h->manifest, h->manifest_len, false, &said, &e) == 0)
			return who;
	}
	return NULL;
}

/* "256 SHA256:... comment (ED25519)", "Good ... signature with ED25519 key SHA256:...": the word
 * with the fingerprint; "": there is none. */
static char *fingerprint(struct arena *a, const char *said)
{
	const char *at = strstr(said, "SHA256:");

	return at ? arena_strndup(a, at, strcspn(at, " \r\n")) : arena_strdup(a, "");
}

int house_signed_by(struct arena *a, const struct wheelhouse *h, const char *key, struct err *e)
{
	char *check[] = { "ssh-keygen", "-Y", "check-novalidate", "-n",
			  NAMESPACE,	"-s", signature_of(a, h), NULL };
	char *print[] = { "ssh-keygen", "-l", "-E", "sha256", "-f", arena_strdup(a, key), NULL };
	char *by, *ours;
	int r = keygen(a, check, h->manifest, h->manifest_len, false, &by, e);

	if (r < 0)
		return r;
	if (r == 0 && keygen(a, print, "", 0, false, &ours, e) == 0 && *fingerprint(a, ours) &&
	    strcmp(fingerprint(a, ours), fingerprint(a, by)) == 0)
		return 0;
	err_set(e, -EKEYREJECTED, "the current manifest of %s is not signed by %s", h->dir, key);
	err_hint(e, "verify it first; to trust it anyway, remove " WHEELHOUSE_SIGNATURE
		    " and add again");
	return -EKEYREJECTED;
}

/* The signature of text by key; -EPERM when there is none. */
static int house_sign(struct arena *a, const char *text, const char *key, char **signature,
		      struct err *e)
{
	char *argv[] = { "ssh-keygen",	       "-Y", "sign",	"-q", "-f",
			 arena_strdup(a, key), "-n", NAMESPACE, NULL };
	int r = keygen(a, argv, text, strlen(text), true, signature, e);

	if (r < 0)
		return r;
	if (r == 0 && str_starts(*signature, "-----BEGIN SSH SIGNATURE-----"))
		return 0;
	err_set(e, -EPERM, "ssh-keygen cannot sign with %s", key);
	err_hint(e, "a key with a passphrase must be in the ssh agent: give the public key");
	return -EPERM;
}

int wheelhouse_save(struct arena *a, struct wheelhouse *h, const char *key, struct err *e)
{
	const char *name = arena_printf(a, ".%s.%ld", WHEELHOUSE_MANIFEST, (long)getpid());
	const char *sig = arena_printf(a, "%s.sig", name);
	char *text, *signature;
	json_t *j = json_object();
	int code;

	if (h->is_signed && !key)
		return err_set(e, -EPERM, "%s is signed: changing it requires --key", h->dir);
	shape_json(j, &manifest_shape, h);
	text = json_dumps(j, JSON_INDENT(2));
	json_decref(j);
	if (!text)
		return err_set(e, -EINVAL, "cannot write the manifest as text");
	code = write_new(h, name, text, e);
	if (!code && key)
		code = house_sign(a, text, key, &signature, e);
	free(text);
	if (!code && key)
		code = write_new(h, sig, signature, e);
	if (!code && key && renameat(h->fd, sig, h->fd, WHEELHOUSE_SIGNATURE))
		code = err_set(e, -errno, "cannot write the signature");
	if (!code && renameat(h->fd, name, h->fd, WHEELHOUSE_MANIFEST))
		code = err_set(e, -errno, "cannot write the manifest: %s", strerror(errno));
	if (code) {
		unlinkat(h->fd, name, 0);
		unlinkat(h->fd, sig, 0);
	} else {
		fsync(h->fd);
		h->is_signed = key != NULL;
	}
	return code;
}

/* Is a wheelhouse what its manifest says, and its manifest what somebody signed? */

static void add(struct arena *a, struct house_verdict *v, const char *file, const char *what)
{
	ARENA_ADD(a, v->items, v->n) =
		(struct house_problem){ arena_strdup(a, file), arena_strdup(a, what) };
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
		return errno == ELOOP	 ? "a link, not a file"
		       : errno == ENOENT ? "missing"
					 : strerror(errno);
	if (input_open_fd(&f, fd, w->file, &e))
		return arena_strdup(a, e.text);
	if (f.in.size != w->size)
		err_set(&e, -EBADMSG, "%llu bytes; %llu in the manifest",
			(unsigned long long)f.in.size, (unsigned long long)w->size);
	else if (file_sha256(&f.in, sha256))
		err_set(&e, -EIO, "unreadable");
	else if (strcmp(sha256, w->sha256) != 0)
		err_set(&e, -EBADMSG, "its SHA-256 differs from the manifest");
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
		return err_set(e, -EIO, "cannot list %s", h->dir);
	}
	while ((it = readdir(d))) {
		bool known = !str_ends(it->d_name, ".whl") || it->d_name[0] == '.';

		for (size_t i = 0; i < h->n && !known; i++)
			known = strcmp(h->wheels[i].file, it->d_name) == 0;
		if (!known)
			add(a, v, it->d_name, "not in the manifest");
	}
	closedir(d);
	return 0;
}

int wheelhouse_verify(struct arena *a, struct wheelhouse *h, const char *signers, struct err *e)
{
	struct house_verdict *out = &h->verdict;

	*out = (struct house_verdict){ 0 };
	h->verified = true;
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
			    h->is_signed ? "not signed by an allowed signer in its current form"
					 : "not signed");
	}
	return strangers(a, h, out, e);
}
