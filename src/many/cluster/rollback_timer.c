/* SPDX-License-Identifier: Apache-2.0 */
/* Arming, disarming and firing. What has to be taken back is known by the journal alone; nothing
 * of it stands in the claim. */
#include "many/cluster/rollback_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/folder.h"
#include "many/cluster/setup.h"
#include "machine/host/command.h"
#include "machine/write/write.h"

enum {
	RUN_MS = 10000,
	SAID_MAX = 1 << 14,
	GONE_MS = 5000,
	TRIES = 50,
	TRY_MS = 200,
	LATE_MS = 60000,
	DECIDE_TRIES = 300,
};

const char *rollback_timer_how(const struct rollback_timer *d)
{
	return d->child ? "a separate process" : "a systemd timer";
}

/* --- arming ----------------------------------------------------------------------------------- */

char *const *rollback_timer_timer(struct arena *a, const char *unit, const char *program,
				  int limit_s)
{
	const char *const words[] = { "systemd-run",
				      "--quiet",
				      "--collect",
				      arena_printf(a, "--unit=%s", unit),
				      "--description=gputune: undoes an unconfirmed network change",
				      arena_printf(a, "--on-active=%ds", limit_s),
				      "--timer-property=AccuracySec=100ms",
				      "--",
				      program,
				      "cluster",
				      "rollback" };
	size_t n = sizeof(words) / sizeof(words[0]);
	char **argv = arena_array(a, n + 1, sizeof(*argv));

	for (size_t i = 0; i < n; i++)
		argv[i] = arena_strdup(a, words[i]);
	return argv;
}

static int start_timer(struct arena *a, const char *program, struct rollback_timer *d)
{
	snprintf(d->unit, sizeof(d->unit), "gputune-rollback-%ld", (long)getpid());
	return command_report(a, rollback_timer_timer(a, d->unit, program, d->limit_s), RUN_MS,
			      SAID_MAX, NULL);
}

/* In a session of its own, with nothing of ours open. */
static int start_process(struct arena *a, const char *program, struct rollback_timer *d)
{
	char *const argv[] = { arena_strdup(a, program),	   arena_strdup(a, "cluster"),
			       arena_strdup(a, "rollback"),	   arena_strdup(a, "--for"),
			       arena_printf(a, "%ds", d->limit_s), NULL };
	char *const env[] = { arena_strdup(a, "PATH=/usr/sbin:/usr/bin:/sbin:/bin"),
			      arena_strdup(a, "LC_ALL=C"), NULL };

	return spawn_start(&(struct spawn){ .path = program,
					    .argv = argv,
					    .env = env,
					    .output = -1,
					    .errors = -1,
					    .apart = true },
			   &d->child);
}

/* Number and beginning of the process that a claim names, and until when (monotonic ms; 0: it does
 * not say); false: it is none of ours. */
static bool read_claim(struct host *h, struct arena *a, const char *path, long long *pid,
		       const char **began, long long *until)
{
	char line[128], *rest, *last;

	if (host_read_line(h, path, line, sizeof(line)) || !(rest = strchr(line, ' ')))
		return false;
	*rest++ = '\0';
	*began = arena_strndup(a, rest, strcspn(rest, " "));
	last = strrchr(rest, ' ');
	if (!last || parse_i64(last + 1, until))
		*until = 0;
	return parse_i64(line, pid) == 0;
}

/* Time is long over: the timer itself was ended. What is open is rolled back by whoever
 * writes next, and that is us. */
static bool rollback_timer_is_stale(struct host *h, struct arena *a)
{
	long long pid, until;
	const char *began;

	return read_claim(h, a, DEADMAN_CLAIM, &pid, &began, &until) && until &&
	       clock_mono_ms() > until + LATE_MS;
}

static int put_claim(struct host *h, struct arena *a, int limit_s, struct err *e)
{
	const char *line =
		arena_printf(a, "%ld %s %lld\n", (long)getpid(), txn_process_began(h, a, getpid()),
			     clock_mono_ms() + limit_s * 1000LL);
	int r;

	if (host_exists(h, DEADMAN_CLAIM) && !rollback_timer_is_stale(h, a)) {
		err_set(e, -EBUSY, "another network change is waiting for confirmation here");
		err_hint(e, "that change is undone automatically within %d s of its start",
			 DEADMAN_S);
		return -EBUSY;
	}
	r = host_own_dir(h, DEADMAN_DIR);
	if (r == 0)
		r = host_put(h, DEADMAN_CLAIM, line, strlen(line), 0600);
	return r ? err_set(e, r, "%s: %s", DEADMAN_CLAIM, strerror(-r)) : 0;
}

int rollback_timer_arm(struct host *h, struct arena *a, int limit_s, struct rollback_timer *out,
		       struct err *e)
{
	char program[HOST_PATH_MAX];
	int r = folder_program(program, sizeof(program));

	if (r == 0 && access(program, X_OK) < 0)
		r = -errno;
	*out = (struct rollback_timer){ .limit_s = limit_s };
	if (r)
		return err_set(e, r, "cannot find this program's own file: %s", strerror(-r));
	r = put_claim(h, a, limit_s, e);
	if (r)
		return r;
	if (!host_exists(h, "/run/systemd/system") || start_timer(a, program, out))
		r = start_process(a, program, out);
	if (r == 0)
		return 0;
	(void)host_remove(h, DEADMAN_CLAIM);
	return err_set(e, r, "cannot start the rollback timer: %s", strerror(-r));
}

static void rollback_timer_stop(struct arena *a, struct rollback_timer *d)
{
	if (d->child) {
		kill(d->child, SIGKILL);
		while (waitpid(d->child, NULL, 0) < 0 && errno == EINTR)
			;
	} else {
		char *const argv[] = { arena_strdup(a, "systemctl"), arena_strdup(a, "stop"),
				       arena_printf(a, "%s.timer", d->unit), NULL };

		/* Without the claim it does nothing anyway. */
		(void)command_report(a, argv, RUN_MS, SAID_MAX, NULL);
	}
	*d = (struct rollback_timer){ 0 };
}

int rollback_timer_decide(struct host *h, struct err *e)
{
	char line[128];
	int r = host_read_line(h, DEADMAN_CLAIM, line, sizeof(line));

	if (r == 0)
		r = host_put(h, DEADMAN_DECIDED, line, strlen(line), 0600);
	if (r == 0)
		r = host_remove(h, DEADMAN_CLAIM);
	if (r == 0)
		return 0;
	(void)host_remove(h, DEADMAN_DECIDED);
	if (r == -ENOENT)
		return err_set(e, -ESTALE, "too late: the old configuration is being restored");
	return err_set(e, r, "%s: %s", DEADMAN_CLAIM, strerror(-r));
}

void rollback_timer_end(struct host *h, struct arena *a, struct rollback_timer *d)
{
	(void)host_remove(h, DEADMAN_CLAIM);
	rollback_timer_stop(a, d);
	(void)host_remove(h, DEADMAN_DECIDED);
}

/* --- firing ----------------------------------------------------------------------------------- */

/* The node program, if it is still that one. It holds the lock, and it was told to be quicker. */
static void end_node(struct host *h, struct arena *a, long long pid, const char *began)
{
	int fd = pid > 1 && *began ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return;
	if (strcmp(txn_process_began(h, a, pid), began) == 0) {
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		poll(&p, 1, GONE_MS);
	}
	close(fd);
}

/* What is only waited for by its parent does nothing any more. */
static bool lives(struct host *h, struct arena *a, long long pid, const char *began)
{
	struct process_stat p;

	return process_stat_read(h, pid, 0, &p) && !strchr("ZX", p.state) &&
	       strcmp(arena_printf(a, "%llu", p.began), began) == 0;
}

/* The node program confirms just now: it is left alone while it lives. 0: it ended without having
 * said that it is done. */
static int await_decider(struct host *h, struct arena *a)
{
	const char *began = "";
	long long pid = 0, until;

	for (int i = 0; i < DECIDE_TRIES; i++) {
		if (!read_claim(h, a, DEADMAN_DECIDED, &pid, &began, &until))
			return -ENOENT;
		if (!lives(h, a, pid, began))
			return host_remove(h, DEADMAN_DECIDED);
		poll(NULL, 0, TRY_MS);
	}
	end_node(h, a, pid, began);
	return host_remove(h, DEADMAN_DECIDED);
}

static int claim(struct host *h, struct arena *a)
{
	const char *began;
	long long pid, until;
	bool known = read_claim(h, a, DEADMAN_CLAIM, &pid, &began, &until);
	int r = host_remove(h, DEADMAN_CLAIM);

	if (r == -ENOENT)
		return await_decider(h, a);
	if (r == 0 && known)
		end_node(h, a, pid, began);
	return r;
}

/* What the transactions that are open have written: it tells whose files were touched. */
static struct knob *open_knobs(struct host *h, struct arena *a, size_t *n)
{
	struct knob *out = NULL;
	struct err ignored;
	struct journal j;

	*n = 0;
	if (journal_load(h, a, false, &j, &ignored))
		return NULL;
	for (size_t i = 0; i < j.n; i++)
		for (size_t k = 0; k < j.items[i].n; k++) {
			if (j.items[i].state != TRANSACTION_OPEN ||
			    strcmp(j.items[i].op, SETUP_OP) != 0)
				continue;
			ARENA_ADD(a, out, *n) = j.items[i].entries[k].knob;
		}
	return out;
}

/* Another command may hold the lock for a moment. */
static int rollback_timer_recover(struct host *h, struct arena *a, const struct txn_who *who,
				  struct txn_report *report, struct err *e)
{
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		r = txn_recover(h, a, who, report, e);
		if (r != -EWOULDBLOCK)
			return r;
		poll(NULL, 0, TRY_MS);
	}
	return r;
}

int rollback_timer_fire(struct host *h, struct arena *a, const struct txn_who *who,
			struct rollback_report *out, struct err *e)
{
	struct txn_report report = { 0 };
	struct err late = { 0 };
	struct knob *knobs;
	int r = claim(h, a), reloaded;
	size_t n;

	*out = (struct rollback_report){ 0 };
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r)
		return err_set(e, r, "%s: %s", DEADMAN_CLAIM, strerror(-r));
	out->fired = true;
	knobs = open_knobs(h, a, &n);
	r = rollback_timer_recover(h, a, who, &report, e);
	out->recovered = report.recovered;
	reloaded = n ? setup_reload(a, h, knobs, n, &late) : 0;
	if (r == 0 && reloaded) {
		*e = late;
		r = reloaded;
	}
	return r;
}
