/* SPDX-License-Identifier: Apache-2.0 */
/* The other machine when there is none: a child with a server of its own on 127.0.0.1. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/reap.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/serve.h"

enum { CHILD_LISTENER = 3 };

/* The C library lets a child of a process with threads allocate and start threads of its own. */
static void loopback_child_main(int listener, const struct token *t, pid_t parent)
{
	struct serve s = { .listener = CHILD_LISTENER, .wake = -1, .token = t };
	struct err e;

	/* A parent that is killed takes the child along, also if it died before this. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	/* Nothing of the parent's is held open here: no lock, no pipe that somebody waits on. */
	if (listener != CHILD_LISTENER && dup2(listener, CHILD_LISTENER) < 0)
		_exit(1);
	close_range(CHILD_LISTENER + 1, ~0u, 0);
	_exit(serve_run(&s, &e) ? 1 : 0);
}

int loopback_start(const struct token *t, struct net_address *out, pid_t *child, struct err *e)
{
	pid_t parent = getpid();
	int listener, r = net_address_parse("127.0.0.1:0", true, out, e);

	r = r ? r : serve_listen(out, &listener, e);
	if (r)
		return r;
	*child = fork();
	if (*child == 0)
		loopback_child_main(listener, t, parent);
	close(listener);
	if (*child < 0) {
		*child = 0;
		return err_set(e, -errno, "no child process: %s", strerror(errno));
	}
	return 0;
}

void loopback_end(pid_t child)
{
	int status;

	if (child > 0)
		reap_kill(child, false, &status, NULL);
}
