/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any lines as requests to a node of a cluster, which answers for a captured machine: each line
 * gets one answer of our schema, and nothing stays open. The process has a network of its own, in
 * which nobody is; what takes long is told to stop.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "many/cluster/ask.h"
#include "many/cluster/rsh.h"
#include "look/probe/probe.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { LONGEST = 1 << 16, LIMIT_MS = 300 };

static atomic_bool stop, alone;

/* Before any thread is: a user name space may only be made then. */
__attribute__((constructor)) static void leave_network(void)
{
	atomic_store(&alone,
		     unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
}

static void on_alarm(int n)
{
	(void)n;
	atomic_store(&stop, true);
}

static const struct machine *look(struct ask_node *n, bool full)
{
	(void)full;
	return n->look_state;
}

/* The captured machine, looked at once. */
static struct ask_node *node(void)
{
	static struct arena kept;
	static struct ask_node *n;
	struct err e = { 0 };
	struct machine *m;

	if (n)
		return n;
	m = ARENA_NEW(&kept, struct machine);
	n = ARENA_NEW(&kept, struct ask_node);
	n->h = host_open_capture(MACHINES "/dgx-spark", &e);
	if (!n->h)
		abort();
	probe_machine(
		&(struct probe){ .h = n->h, .a = &kept, .m = m, .lean = true, .config = true });
	n->arena = ARENA_NEW(&kept, struct arena);
	n->look = look;
	n->look_state = m;
	n->stop = &stop;
	n->captured = true;
	return n;
}

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

static size_t count_lines(const unsigned char *data, size_t size)
{
	size_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n' && i && data[i - 1] != '\n';
	return lines;
}

/* One line of the answers. */
static void answer_holds(const char *line, size_t n, size_t which)
{
	json_t *j = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
	const char *schema = json_string_value(json_object_get(j, "schema"));
	bool ok = json_is_true(json_object_get(j, "ok"));

	if (!schema || strcmp(schema, CLUSTER_NODE_SCHEMA) != 0 ||
	    !json_is_integer(json_object_get(j, "id")))
		abort();
	if (ok ? !json_is_object(json_object_get(j, "answer"))
	       : !*json_string_value(json_object_get(j, "error")))
		abort();
	if (!which && json_integer_value(json_object_get(j, "id")))
		abort();
	json_decref(j);
}

static void answers_hold(int fd, size_t lines)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)size + 1);
	size_t n = 0;

	if (!text || pread(fd, text, (size_t)size, 0) != (ssize_t)size)
		abort();
	for (char *at = text, *nl; (nl = memchr(at, '\n', (size_t)(text + size - at))); at = nl + 1)
		answer_holds(at, (size_t)(nl - at), n++);
	if (n > lines + 1 || (n < lines + 1 && !atomic_load(&stop)))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const struct itimerval off;
	const struct itimerval limit = { .it_value = { .tv_usec = LIMIT_MS * 1000 } };
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after, in, out;

	/* What a request may do to the network is for nobody's network. */
	close(before);
	if (!atomic_load(&alone) || size > LONGEST)
		return 0;
	signal(SIGALRM, on_alarm);
	atomic_store(&stop, false);
	in = file_of(data, size);
	out = memfd_create("fuzz", MFD_CLOEXEC);
	setitimer(ITIMER_REAL, &limit, NULL);
	ask_serve(node(), in, out);
	setitimer(ITIMER_REAL, &off, NULL);
	answers_hold(out, count_lines(data, size));
	close(in);
	close(out);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(after);
	if (before != after)
		abort();
	return 0;
}
