/* SPDX-License-Identifier: Apache-2.0 */
/* Proposals, approvals and their one use, as files of the state folder. */
#include "tune/txn/approval.h"

#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/command.h"
#include "machine/host/libraries.h"
#include "machine/write/write.h"
#include "tune/txn/boot.h"
#include "tune/txn/txn.h"

enum { FILE_MAX = 16 << 20, CHAIN_MAX = 64, NO_SESSION = -1, PKCHECK_MAX = 4096 };

static long long boottime_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return 1000LL * t.tv_sec + t.tv_nsec / 1000000;
}

static const char *file_of(struct arena *a, const char *hash, const char *end)
{
	return arena_printf(a, APPROVAL_DIR "/%s.%s", hash, end);
}

static bool is_hash(const char *s)
{
	return strlen(s) == APPROVAL_HASH && !s[strspn(s, "0123456789abcdef")];
}

static const char *machine_of(struct host *h, struct arena *a)
{
	char id[128] = "";

	host_read_line(h, "/etc/machine-id", id, sizeof(id));
	return arena_printf(a, "%s %s", h->id.nodename, id);
}

static const char *digest_of(struct arena *a, const char *text, size_t len)
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(sum) + 1];

	crypto_hash_sha256(sum, (const unsigned char *)text, len);
	sodium_bin2hex(hex, sizeof(hex), sum, sizeof(sum));
	return arena_strndup(a, hex, APPROVAL_HASH);
}

/* A file that nobody but its owner, root or this user, can have written. */
static int read_own(struct host *h, struct arena *a, const char *path, char **text, size_t *len,
		    struct err *e)
{
	struct host_stat st;
	int r = state_check(h, e);

	if (r)
		return r;
	r = host_stat(h, path, &st);
	if (!r && (st.kind != HOST_FILE || (st.uid != h->id.euid && st.uid != 0) ||
		   (st.mode & 022) || st.links > 1))
		return err_set(e, HOST_NOT_OURS, "%s: other users may have written it", path);
	return r ? r : host_read(h, path, FILE_MAX, a, text, len);
}

/* --- proposals -------------------------------------------------------------------------------- */

/* Removes what has expired or is of another boot; how many proposals are left. */
static size_t tidy(struct host *h, struct arena *a)
{
	static const char *const ends[] = { "plan", "approved", "asked", "taken" };
	const char *boot = boot_id_of(h, a);
	char **names, line[128];
	size_t n = 0, left = 0;
	struct err ignored = { 0 };

	if (host_list(h, APPROVAL_DIR, a, &names, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *hash = arena_strndup(a, names[i], strcspn(names[i], "."));
		struct approval p;

		if (str_ends(names[i], ".plan") && approval_read(h, a, hash, &p, &ignored) == 0) {
			left += strcmp(p.state, "used") != 0;
			approval_free(&p);
		} else if (str_ends(names[i], ".plan")) {
			for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
				host_remove(h, file_of(a, hash, ends[k]));
		} else if (str_ends(names[i], ".applied") &&
			   host_read_line(h, file_of(a, hash, "applied"), line, sizeof(line)) ==
				   0 &&
			   strcmp(line + strcspn(line, " "), arena_printf(a, " %s", boot)) != 0) {
			host_remove(h, file_of(a, hash, "applied"));
		}
	}
	return left;
}

int approval_propose(struct host *h, struct arena *a, json_t *plan, const char *allow,
		     const char **hash, struct err *e)
{
	json_t *doc = json_pack("{s:o, s:s*, s:s, s:s, s:I}", "plan", plan, "allow", allow,
				"machine", machine_of(h, a), "boot_id", boot_id_of(h, a),
				"expires_ms", (json_int_t)(boottime_ms() + 1000 * APPROVAL_S));
	char *text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);
	int r = text ? library_open(LIBRARY_SODIUM, e) : -ENOMEM;

	json_decref(doc);
	r = r ? r : host_own_dir(h, TXN_DIR);
	r = r ? r : host_own_dir(h, APPROVAL_DIR);
	r = r ? r : state_check(h, e);
	if (!r && tidy(h, a) >= APPROVAL_WAITING)
		r = err_set(e, -EAGAIN, "%d plans wait for approval; each expires after %d minutes",
			    APPROVAL_WAITING, APPROVAL_S / 60);
	if (!r) {
		*hash = digest_of(a, text, strlen(text));
		r = host_put(h, file_of(a, *hash, "plan"), text, strlen(text), 0600);
	}
	free(text);
	if (r && !e->text[0])
		err_set(e, r, "cannot write below %s: %s", APPROVAL_DIR, strerror(-r));
	return r;
}

int approval_read(struct host *h, struct arena *a, const char *hash, struct approval *out,
		  struct err *e)
{
	char *text = NULL;
	size_t len = 0;
	const char *machine, *boot;
	struct host_stat st;
	int r;

	*out = (struct approval){ .hash = hash };
	if (!is_hash(hash))
		return err_set(e, -EINVAL,
			       "\"%.64s\" is not a plan's hash, which has %d hexadecimal digits",
			       hash, APPROVAL_HASH);
	r = library_open(LIBRARY_SODIUM, e);
	r = r ? r : read_own(h, a, file_of(a, hash, "plan"), &text, &len, e);
	if (r)
		return e->text[0] ? r
				  : err_set(e, r, "no plan %s waits for approval: %s", hash,
					    strerror(-r));
	out->doc = strcmp(digest_of(a, text, len), hash) == 0
			   ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL)
			   : NULL;
	out->plan = json_object_get(out->doc, "plan");
	out->allow = json_string_value(json_object_get(out->doc, "allow"));
	machine = json_string_value(json_object_get(out->doc, "machine"));
	boot = json_string_value(json_object_get(out->doc, "boot_id"));
	out->left_ms = json_integer_value(json_object_get(out->doc, "expires_ms")) - boottime_ms();
	if (!out->plan || !machine || !boot)
		r = err_set(e, -EINVAL, "plan %s was changed since it was proposed", hash);
	else if (strcmp(machine, machine_of(h, a)) != 0 || strcmp(boot, boot_id_of(h, a)) != 0)
		r = err_set(e, -EPERM, "plan %s is for another machine or boot", hash);
	else if (out->left_ms <= 0 || out->left_ms > 1000 * APPROVAL_S)
		r = err_set(e, -EPERM, "plan %s has expired: propose it again", hash);
	out->state = host_stat(h, file_of(a, hash, "taken"), &st) == 0	    ? "used"
		     : host_stat(h, file_of(a, hash, "approved"), &st) == 0 ? "approved"
									    : "waits";
	if (r)
		approval_free(out);
	return r;
}

void approval_free(struct approval *p)
{
	json_decref(p->doc);
	*p = (struct approval){ .hash = p->hash };
}

/* --- who approves, and who applies ------------------------------------------------------------ */

struct process {
	long long pid, parent, tty;
	const char *began;
	bool root;
	bool system; /* a service of the system's, which any session comes from */
};

static bool read_process(struct host *live, struct arena *a, long long pid, struct process *out)
{
	char path[64];
	struct host_stat st;
	struct process_stat p;

	if (!process_stat_read(live, pid, 0, &p))
		return false;
	*out =
		(struct process){ pid,	 p.parent, p.tty, txn_process_began(live, a, pid),
				  false, false };
	snprintf(path, sizeof(path), "/proc/%lld", pid);
	out->root = host_stat(live, path, &st) == 0 && st.uid == 0;
	out->system = pid == 1 || (out->parent == 1 && out->tty == 0 && out->root);
	return true;
}

/* The process and its ancestors; how many. */
static size_t chain_of(struct host *live, struct arena *a, long long pid, struct process *chain)
{
	size_t n = 0;

	while (pid > 0 && n < CHAIN_MAX && read_process(live, a, pid, &chain[n]))
		pid = chain[n++].parent;
	return n;
}

/* The login session that the kernel's audit counts; NO_SESSION: none. */
static long long session_of(struct host *live, struct arena *a, long long pid)
{
	char line[32];
	long long id;

	if (host_read_line(live, arena_printf(a, "/proc/%lld/sessionid", pid), line,
			   sizeof(line)) ||
	    parse_i64(line, &id) || id == 0xffffffffLL)
		return NO_SESSION;
	return id;
}

struct approval_asker approval_asker_of(long long pid, long long uid)
{
	struct approval_asker who = { .pid = pid, .uid = uid };
	struct host *live = host_open_live();
	struct arena a = { 0 };
	struct host_stat st;

	if (host_stat(live, arena_printf(&a, "/proc/%lld", pid), &st) == 0 && st.uid == uid)
		snprintf(who.began, sizeof(who.began), "%s", txn_process_began(live, &a, pid));
	arena_free(&a);
	host_close(live);
	return who;
}

/* A number of a process that has ended may be another's by now. */
static bool is_there(const struct approval_asker *who)
{
	struct approval_asker now = approval_asker_of(who->pid, who->uid);

	return now.began[0] && strcmp(now.began, who->began) == 0;
}

const char *approval_no_person(struct arena *a)
{
	struct host *live = host_open_live();
	struct process self;
	struct stat st;
	bool known = read_process(live, a, getpid(), &self);
	unsigned tty = known ? (unsigned)self.tty : 0;

	host_close(live);
	if (geteuid() != 0)
		return "only root approves: sudo gputune approve HASH";
	if (!isatty(STDIN_FILENO) || !tty || fstat(STDIN_FILENO, &st) ||
	    major(st.st_rdev) != ((tty >> 8) & 0xfff) ||
	    minor(st.st_rdev) != ((tty & 0xff) | ((tty >> 12) & 0xfff00)))
		return "a person must approve it, in their own terminal";
	return NULL;
}

int approval_grant(struct host *h, struct arena *a, const struct approval *p, struct err *e)
{
	struct process chain[CHAIN_MAX];
	struct host *live = host_open_live();
	size_t n = chain_of(live, a, getpid(), chain);
	json_t *ancestors = json_array(), *j;
	char *text;
	int r;

	for (size_t i = 0; i < n; i++)
		if (!chain[i].system)
			json_array_append_new(
				ancestors, json_sprintf("%lld %s", chain[i].pid, chain[i].began));
	j = json_pack("{s:I, s:I, s:o}", "tty", (json_int_t)chain[0].tty, "session",
		      (json_int_t)session_of(live, a, getpid()), "ancestors", ancestors);
	host_close(live);
	text = json_dumps(j, JSON_COMPACT);
	r = host_put(h, file_of(a, p->hash, "approved"), text, strlen(text), 0600);
	json_decref(j);
	free(text);
	return r ? err_set(e, r, "cannot write below %s: %s", APPROVAL_DIR, strerror(-r)) : 0;
}

/*
 * Whether the approval came from where pid comes from. Who asks and is root's alone can make
 * terminals and leave its ancestors, so there it is another login session, as the kernel's audit
 * counts them, or it is nobody else's.
 */
static bool shares(struct host *live, struct arena *a, const json_t *approved, long long pid,
		   bool asks)
{
	struct process chain[CHAIN_MAX];
	size_t n = chain_of(live, a, pid, chain), k;
	long long tty = json_integer_value(json_object_get(approved, "tty")),
		  session = json_integer_value(json_object_get(approved, "session"));
	const json_t *v, *ancestors = json_object_get(approved, "ancestors");
	bool root = true;

	if (!n) /* it has ended: nobody knows where it came from */
		return true;
	for (size_t i = 0; i < n; i++) {
		const char *me = arena_printf(a, "%lld %s", chain[i].pid, chain[i].began);

		root = root && chain[i].root;
		if (chain[i].tty && chain[i].tty == tty)
			return true;
		json_array_foreach(ancestors, k,
				   v) if (json_is_string(v) &&
					  strcmp(json_string_value(v), me) == 0) return true;
	}
	if (session == NO_SESSION)
		return asks && root;
	return session_of(live, a, pid) == session;
}

/* polkit's own program makes the call to its authority: what pkcheck(1) ends with, or -errno. */
static int pkcheck(struct arena *a, const struct approval_asker *who, const struct approval *p,
		   bool ask)
{
	const char *process = arena_printf(a, "%lld,%s,%lld", who->pid, who->began, who->uid),
		   *message = arena_printf(
			   a, "Authentication is required to let plan %s be applied", p->hash);
	const char *argv[] = { "pkcheck",
			       "--action-id",
			       "io.gputune.approve",
			       "--process",
			       process,
			       "--detail",
			       "plan",
			       p->hash,
			       "--detail",
			       "polkit.message",
			       message,
			       ask ? "--allow-user-interaction" : NULL,
			       NULL };
	struct command_result ended;
	int r = command_run(a, (char *const *)(uintptr_t)argv, (int)p->left_ms, PKCHECK_MAX,
			    &ended);

	return r ? r : ended.status;
}

/*
 * Whether an administrator gives their password for it, which who asks does not hold: once a plan.
 * Where polkit would let it be without a question, as it lets root, nobody was asked.
 */
static bool polkit_approves(struct host *h, struct arena *a, const struct approval *p,
			    const struct approval_asker *who)
{
	enum { AUTHORIZED = 0, WOULD_ASK = 2 };
	const char *asked = file_of(a, p->hash, "asked");
	long long begin = boottime_ms();
	int r;

	if (!who->uid || pkcheck(a, who, p, false) != WOULD_ASK || host_make_dir(h, asked, 0700))
		return false;
	r = pkcheck(a, who, p, true);
	if (r == WOULD_ASK) /* no agent of polkit's is there that could ask */
		host_remove(h, asked);
	return r == AUTHORIZED && boottime_ms() - begin < p->left_ms && is_there(who);
}

int approval_take(struct host *h, struct arena *a, const struct approval *p,
		  const struct approval_asker *asker, struct err *e)
{
	struct host *live;
	json_t *approved;
	char *text = NULL;
	size_t len = 0;
	bool given = !read_own(h, a, file_of(a, p->hash, "approved"), &text, &len, e), own;
	int r;

	*e = (struct err){ 0 };
	if (strcmp(p->state, "used") == 0)
		return err_set(e, -EPERM, "the approval of plan %s was used", p->hash);
	if (asker && !is_there(asker))
		return err_set(e, -EPERM, "the process that connected has ended: connect again");
	if (!given && (!asker || !polkit_approves(h, a, p, asker))) {
		err_set(e, -EPERM, "plan %s is not approved", p->hash);
		err_hint(e, "a person approves it with: sudo gputune approve %s", p->hash);
		return -EPERM;
	}
	approved = given ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	live = host_open_live();
	own = given && (!json_is_array(json_object_get(approved, "ancestors")) ||
			shares(live, a, approved, getpid(), !asker) ||
			(asker && shares(live, a, approved, asker->pid, true)));
	host_close(live);
	json_decref(approved);
	if (own)
		return err_set(e, -EPERM,
			       "plan %s was approved in the login session that requests it: "
			       "approve it in another login session",
			       p->hash);
	r = host_make_dir(h, file_of(a, p->hash, "taken"), 0700);
	if (r)
		return err_set(e, -EPERM, "the approval of plan %s %s", p->hash,
			       r == -EEXIST ? "was used"
					    : "cannot be used: no folder can be created");
	host_remove(h, file_of(a, p->hash, "approved"));
	return 0;
}

int approval_done(struct host *h, struct arena *a, const char *hash, unsigned long txn)
{
	const char *line = arena_printf(a, "%lu %s\n", txn, boot_id_of(h, a));

	return host_put(h, file_of(a, hash, "applied"), line, strlen(line), 0600);
}

unsigned long approval_txn(struct host *h, struct arena *a, const char *hash, struct err *e)
{
	char *text = NULL, *boot;
	size_t len;

	if (!is_hash(hash) || read_own(h, a, file_of(a, hash, "applied"), &text, &len, e) ||
	    !(boot = strchr(text, ' ')) ||
	    strncmp(boot + 1, boot_id_of(h, a), strcspn(boot + 1, "\n")) != 0) {
		if (!e->text[0])
			err_set(e, -ENOENT, "no plan with that hash was applied in this boot");
		return 0;
	}
	return strtoul(text, NULL, 10);
}
