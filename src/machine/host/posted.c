/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that owners post: unpacking them, and which part of them is what. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "machine/host/libraries.h"
#include "machine/host/posted.h"
#include "machine/host/store.h"

enum { XZ_SECONDS = 60, RULE_MIN = 20, DEPTH_MAX = 24, NAMES_MAX = 20000, PIECE = 1 << 16 };

struct posted *posted_open(struct arena *a)
{
	struct posted *p = ARENA_NEW(a, struct posted);

	p->arena = a;
	p->record = record_posted("gputune reads this text instead of the machine; facts that the "
				  "text lacks are unknown");
	p->record->id = (struct host_identity){ .nodename = "posted",
						.release = "unknown",
						.version = "unknown",
						.machine = "unknown",
						.page_size = 4096,
						.captured = true,
						.source = "posted" };
	p->functions = arena_array(a, POSTED_FUNCTIONS_MAX, sizeof(*p->functions));
	p->smi.gpu = p->smi.row = -1;
	p->smi.reasons = -1;
	return p;
}

/* Only what this program reads of a machine: not its logs, accounts and keys. */
static bool is_wanted(const char *path)
{
	static const char wanted[] =
		"/proc/\0/sys/\0/etc/sysctl.conf\0/etc/sysctl.d/\0/etc/modprobe.d/\0"
		"/etc/modules-load.d/\0/etc/tmpfiles.d/\0/etc/default/grub\0/etc/tuned/\0"
		"/etc/udev/rules.d/\0/etc/os-release\0/etc/dgx-release\0/etc/systemd/system/\0"
		"/usr/lib/sysctl.d/\0/usr/lib/os-release\0/lib/modprobe.d/\0/boot/extlinux/\0";
	char plain[HOST_PATH_MAX];

	if (path_join("/", path, plain, sizeof(plain)))
		return false;
	for (const char *w = wanted; *w; w += strlen(w) + 1)
		if (str_starts(plain, w))
			return true;
	return false;
}

static void put_file(struct posted *p, const char *path, const char *data, size_t len)
{
	if (!is_wanted(path))
		return;
	record_put_file(p->record, path, data, len < HOST_READ_MAX ? len : HOST_READ_MAX);
	p->files++;
}

/* "Linux NAME 6.17.0-1014-nvidia #14-Ubuntu SMP ... aarch64 GNU/Linux", as uname -a says it. */
static void take_uname(struct posted *p, const char *line)
{
	struct host_identity *id = &p->record->id;
	const char *machine = strstr(line, " aarch64")	? "aarch64"
			      : strstr(line, " x86_64") ? "x86_64"
							: NULL;
	char name[65], release[65];
	int n = 0;

	if (!machine || sscanf(line, "Linux %64s %64s #%n", name, release, &n) != 2 || !n ||
	    strcmp(id->machine, "unknown") != 0)
		return;
	id->nodename = arena_strdup(p->arena, name);
	id->release = arena_strdup(p->arena, release);
	id->version = arena_strndup(p->arena, line + n - 1, strcspn(line + n - 1, "\n"));
	id->machine = machine;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Where a line stands: in a file that was copied, or in the output of a program. */
struct place {
	enum { NOWHERE, COPIED, REPORT } kind;
	const char *path; /* of the file */
	struct text copy; /* what stands in it so far */
	struct posted_function *function;
};

static void leave(struct posted *p, struct place *at)
{
	size_t n = at->copy.len;

	/* The report's own empty line, and the shell's next one. */
	if (at->kind == COPIED && n) {
		if (n >= 2 && at->copy.s[n - 1] == '\n' && at->copy.s[n - 2] == '\n')
			n--;
		put_file(p, at->path, at->copy.s, n);
	}
	if (at->kind == REPORT)
		posted_smi_finish(p);
	text_clear(&at->copy);
	at->kind = NOWHERE;
	at->function = NULL;
}

static bool is_rule(const char *line)
{
	size_t n = strspn(line, "_");

	return n >= RULE_MIN && line[n] == '\0';
}

/* "*** /proc/cmdline", "*** /proc/x does not exist", "$ cat /proc/cmdline": a file begins, or is
 * not there. */
static bool begins_file(struct posted *p, struct place *at, const char *line)
{
	static const char *const heads[] = { "*** /", "$ cat /", "# cat /", "==> /" };
	static const struct {
		const char *words;
		int code;
	} ends[] = { { " does not exist", ENOENT }, { " not readable", EACCES } };
	const char *path = NULL;
	size_t n;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (str_starts(line, heads[i]))
			path = line + strlen(heads[i]) - 1;
	if (!path)
		return false;
	leave(p, at);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_ends(path, ends[i].words)) {
			path = arena_strndup(p->arena, path, strlen(path) - strlen(ends[i].words));
			if (is_wanted(path))
				record_put_refusal(p->record, path, ends[i].code);
			return true;
		}
	n = strcspn(path, " ");
	if (path[n] && strcmp(path + n, " <==") != 0)
		return true; /* several files, or words of the report */
	at->kind = COPIED;
	at->path = arena_strndup(p->arena, path, n);
	return true;
}

/* "/usr/bin/lspci -nnDvvvxxxx" with no filter: all functions follow. */
static bool is_whole_lspci(const char *line)
{
	const char *s = strstr(line, "lspci ");

	return s && (s == line || s[-1] == '/' || s[-1] == ' ') && !strstr(s, " -d") &&
	       !strstr(s, " -s") && !strstr(s, "|") && !strstr(s, "grep");
}

static void text_line(struct posted *p, struct place *at, const char *line, bool *whole)
{
	struct posted_function *f;

	if (is_rule(line)) {
		leave(p, at);
		*whole = false;
		return;
	}
	if (begins_file(p, at, line))
		return;
	/* A shell's prompt ends what the command before it printed. */
	if (at->kind == COPIED && !str_starts(line, "$ ") && !str_starts(line, "# ")) {
		if (!str_starts(line, "*** ls: ") && at->copy.len + strlen(line) < HOST_READ_MAX)
			text_printf(&at->copy, "%s\n", line);
		return;
	}
	if (at->kind == COPIED)
		leave(p, at);
	take_uname(p, str_starts(line, "uname: ") ? line + 7 : line);
	*whole = *whole || is_whole_lspci(line);
	if (strstr(line, "==NVSMI LOG==")) {
		leave(p, at);
		at->kind = REPORT;
		p->smi.gpu = -1;
		return;
	}
	f = posted_lspci_line(p, line, at->function);
	if (f && f != at->function) {
		leave(p, at);
		p->all_functions = p->all_functions || *whole;
	}
	at->function = f;
	if (!f && at->kind == REPORT && !posted_smi_line(p, line))
		leave(p, at);
	else if (!f && at->kind == NOWHERE)
		posted_smi_table(p, line);
}

void posted_text(struct posted *p, char *text, size_t len, bool whole)
{
	struct place at = { 0 };

	for (char *s = text, *end = text + len, *line; s < end; s = line) {
		char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t n = stop ? (size_t)(stop - s) : (size_t)(end - s);
		const char *xml = memmem(s, n, "<nvidia_smi_log", 15);

		line = s + n + 1;
		if (xml) {
			leave(p, &at);
			line = text + (posted_smi_xml(p, xml, end) - text);
			continue;
		}
		for (size_t i = 0; i < n; i++)
			s[i] = s[i] ? s[i] : ' ';
		if (n && s[n - 1] == '\r')
			n--;
		s[n] = '\0';
		text_line(p, &at, s, &whole);
	}
	leave(p, &at);
	text_free(&at.copy);
}

/* --- archives --------------------------------------------------------------------------------- */

/* A file of sosreport whose text is the output of a program. */
static bool is_output(const char *name, bool *whole)
{
	static const char *const names[] = { "lspci", "nvidia-smi", "uname_-a" };

	*whole = str_starts(name, "lspci_-") && !strstr(name, "_-d") && !strstr(name, "_-s");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_starts(name, names[i]))
			return true;
	return false;
}

static void take_member(struct posted *p, struct store *s, const char *name, const char *path)
{
	const char *file = path_name(name);
	bool output, whole;
	size_t len = 0;
	char *room;

	output = str_starts(path, "/sos_commands/") && is_output(file, &whole);
	if (!output && !is_wanted(path))
		return;
	room = malloc(HOST_READ_MAX + 1);
	if (!room)
		out_of_memory(HOST_READ_MAX);
	if (s->ops->read(s, name, room, HOST_READ_MAX, &len) == 0) {
		len = len < HOST_READ_MAX ? len : HOST_READ_MAX;
		room[len] = '\0';
		if (output)
			posted_text(p, room, len, whole);
		else
			put_file(p, path, room, len);
	}
	free(room);
}

/* path: as on the machine. */
static void walk(struct posted *p, struct store *s, const char *name, const char *path, int depth,
		 size_t *left)
{
	char target[HOST_PATH_MAX];
	enum host_kind kind;
	char **names;
	size_t n;

	if (!*left || s->ops->kind(s, name, &kind))
		return;
	--*left;
	if (kind == HOST_LINK && is_wanted(path) &&
	    s->ops->link(s, name, target, sizeof(target)) == 0)
		record_put_link(p->record, path, target);
	if (kind == HOST_FILE)
		take_member(p, s, name, path);
	if (kind != HOST_DIR || depth == DEPTH_MAX || s->ops->list(s, name, p->arena, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		walk(p, s, arena_printf(p->arena, "%s/%s", name, names[i]),
		     arena_printf(p->arena, "%s/%s", path, names[i]), depth + 1, left);
}

static int take_archive(struct posted *p, const char *path, struct err *e)
{
	struct store *s = store_open_tar(path, e);
	size_t left = NAMES_MAX, n;
	enum host_kind kind;
	char **names;

	if (!s)
		return e->code ? e->code : -EBADMSG;
	if (s->ops->kind(s, "meta.json", &kind) == 0) {
		s->ops->close(s);
		err_set(e, -EINVAL, "the archive is itself a capture");
		err_hint(e, "--host reads a plain tar: unpack it with \"gunzip -k\" or \"xz -dk\"");
		return -EINVAL;
	}
	/* The one folder of the archive is the machine. */
	if (s->ops->list(s, "", p->arena, &names, &n) == 0)
		for (size_t i = 0; i < n; i++)
			walk(p, s, names[i], "", 0, &left);
	s->ops->close(s);
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file in memory that takes so much and no more. */
static int bounded_file(struct err *e)
{
	int fd = memfd_create("gputune-posted", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, POSTED_ARCHIVE_MAX) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) < 0) {
		if (fd >= 0)
			close(fd);
		return err_set(e, -ENOMEM, "not enough memory to unpack the archive");
	}
	return fd;
}

static int unpack_gz(const char *path, int fd, size_t *len, struct err *e)
{
	gzFile in = gzopen(path, "rbe");
	char piece[PIECE];
	int got = 0, r = 0;

	if (!in)
		return err_set(e, errno ? -errno : -EIO, "%s: unreadable", path);
	while (r == 0 && (got = gzread(in, piece, sizeof(piece))) > 0) {
		r = fd_write_all(fd, piece, (size_t)got);
		*len += (size_t)got;
	}
	/* zlib reports a truncated file only when it is closed. */
	if (gzclose(in) == Z_BUF_ERROR && !r && !got)
		return err_set(e, -EBADMSG, "%s: truncated: the compressed file ends early", path);
	if (r)
		return err_set(e, -EFBIG, "%s: larger than %d MiB", path, POSTED_ARCHIVE_MAX >> 20);
	return got < 0 ? err_set(e, -EBADMSG, "%s: broken compressed file", path) : 0;
}

static int unpack_xz(const char *path, int fd, struct err *e)
{
	char *argv[] = { "xz", "-dc", "--memlimit=512MiB", NULL };
	struct command_front f = { .argv = argv,
				   .input = path,
				   .output = fd,
				   .errors_apart = true,
				   .limit_s = XZ_SECONDS };
	int r = command_front(&f, e);

	if (r > 0)
		return err_set(e, -EBADMSG, "%s: xz cannot unpack it, or it is larger than %d MiB",
			       path, POSTED_ARCHIVE_MAX >> 20);
	return r;
}

static int take_text(struct posted *p, const char *path, int fd, size_t len, struct err *e)
{
	char *text;
	ssize_t n;
	size_t at = 0;

	if (len > POSTED_TEXT_MAX)
		return err_set(e, -EFBIG, "%s: larger than %d MiB", path, POSTED_TEXT_MAX >> 20);
	text = malloc(len + 1);
	if (!text)
		return err_set(e, -ENOMEM, "%s: out of memory", path);
	while (at < len && (n = pread(fd, text + at, len - at, (off_t)at)) > 0)
		at += (size_t)n;
	posted_text(p, text, at, false);
	free(text);
	return 0;
}

static int take_file(struct posted *p, const char *path, int fd, size_t len, struct err *e)
{
	char name[32], magic[6] = "";

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (pread(fd, magic, 5, 257) == 5 && strcmp(magic, "ustar") == 0)
		return take_archive(p, name, e);
	return take_text(p, path, fd, len, e);
}

int posted_add(struct posted *p, const char *path, struct err *e)
{
	static const char xz[] = "\xfd"
				 "7zXZ";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), memory, r;
	unsigned char begin[6] = { 0 };
	struct stat st;
	size_t len = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		r = err_set(e, fd < 0 ? -errno : -EINVAL, "%s: %s", path,
			    fd < 0 ? strerror(errno) : "not a regular file");
		if (fd >= 0)
			close(fd);
		return r;
	}
	p->record->id.time_s = st.st_mtime;
	if (pread(fd, begin, sizeof(begin), 0) < 0)
		begin[0] = 0;
	if ((begin[0] != 0x1f || begin[1] != 0x8b) && memcmp(begin, xz, 5) != 0) {
		r = take_file(p, path, fd, (size_t)st.st_size, e);
		close(fd);
		return r;
	}
	close(fd);
	memory = bounded_file(e);
	if (memory < 0)
		return memory;
	if (begin[0] != 0x1f)
		r = unpack_xz(path, memory, e);
	else if ((r = library_open(LIBRARY_ZLIB, e)) == 0)
		r = unpack_gz(path, memory, &len, e);
	if (r == 0)
		r = take_file(p, path, memory, len ? len : (size_t)lseek(memory, 0, SEEK_CUR), e);
	close(memory);
	return r;
}

int posted_finish(struct posted *p, struct host **out, struct err *e)
{
	posted_lspci_finish(p);
	if (p->gpus && p->gpus <= POSTED_GPUS_MAX) {
		struct answer count = { .kind = ANSWER_INT, .i = (long long)p->gpus };

		record_put_answer(p->record, "nvml", "", "nvmlDeviceGetCount", 0, &count);
	}
	if (p->refused)
		p->record->id.euid = 1000;
	if (!p->gpus && !p->n_functions && !p->files)
		return err_set(e, -ENODATA, "no output of lspci, nvidia-smi, /proc, /sys or /etc");
	*out = p->record;
	return 0;
}

struct host *posted_machine(struct posted *p, struct err *e)
{
	struct host *record, *h = NULL;
	char tar[32];
	int fd;

	if (posted_finish(p, &record, e))
		return NULL;
	fd = memfd_create("gputune-posted", MFD_CLOEXEC);
	snprintf(tar, sizeof(tar), "/proc/self/fd/%d", fd);
	if (record_save(record, tar, false, e) == 0)
		h = host_open_packed(tar, e);
	if (fd >= 0)
		close(fd);
	return h;
}

void posted_close(struct posted *p)
{
	host_close(p->record);
}

/* A bug report, an archive of sosreport or pasted output in the place of a capture. */
static struct host *open_posted(const char *path, struct err *e)
{
	struct arena a = { 0 };
	struct posted *p = posted_open(&a);
	struct host *h = posted_add(p, path, e) ? NULL : posted_machine(p, e);

	posted_close(p);
	arena_free(&a);
	if (h)
		h->id.source = arena_strdup(&h->arena, path);
	return h;
}

struct host *host_open_capture(const char *path, struct err *e)
{
	struct host *h = host_open_packed(path, e);
	struct err why = { 0 };

	if (h || str_starts(path, "demo:"))
		return h;
	h = open_posted(path, &why);
	if (h)
		return h;
	if (str_ends(path, "gz") || str_ends(path, "xz"))
		*e = why;
	else if (why.code == -ENODATA && !str_ends(path, ".tar") && !store_is_packed(path)) {
		*e = (struct err){ 0 };
		err_set(e, -ENODATA, "%s: not a capture or output that gputune reads", path);
		err_hint(e, "--host reads captures (folder, tar, tar.zst), "
			    "nvidia-bug-report.log.gz, a "
			    "sosreport, and text of lspci, nvidia-smi, nvidia-smi -q (-x)");
	}
	if (str_ends(path, "xz"))
		err_hint(e,
			 "for a capture: \"xz -dk %s\", then --host FILE.tar; for a sosreport: "
			 "first \"gputune capture --from %s -o FILE.tar\"",
			 path, path);
	return NULL;
}
