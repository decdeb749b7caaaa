/* SPDX-License-Identifier: Apache-2.0 */
/* What launchers tell their processes. Sources: the documentation of each, named at its row. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "machine/host/pmix.h"
#include "machine/host/ranks.h"

/* Names of variables; NULL: it has none. */
struct launcher {
	const char *by;
	const char *rank, *ranks, *local, *locals;
	const char *needs; /* set for processes of a job alone, not for the shell that starts it */
	const char *nodes; /* how many machines */
	const char *job[2];
	/* Of rank 0; list: of all machines, the first is meant; pod: of this one, which ends in its
	 * index. */
	const char *host, *list, *pod;
};

static const struct launcher launchers[] = {
	/* Our own, for launchers that are not known here. */
	{ .by = "GPUTUNE_RANKS",
	  .rank = "GPUTUNE_RANK",
	  .ranks = "GPUTUNE_RANKS",
	  .local = "GPUTUNE_LOCAL_RANK",
	  .locals = "GPUTUNE_LOCAL_RANKS",
	  .job = { "GPUTUNE_JOB" },
	  .host = "GPUTUNE_MEET" },
	/* Open MPI 2 to 5, "Environmental variables of mpirun". */
	{ .by = "Open MPI",
	  .rank = "OMPI_COMM_WORLD_RANK",
	  .ranks = "OMPI_COMM_WORLD_SIZE",
	  .local = "OMPI_COMM_WORLD_LOCAL_RANK",
	  .locals = "OMPI_COMM_WORLD_LOCAL_SIZE",
	  .job = { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid" },
	  .host = "MASTER_ADDR" },
	/* MPICH's Hydra and Intel MPI, which is made from it: "Hydra Process Management Framework".
	 * Inside a Slurm allocation its proxies are a step of Slurm's, whose variables its
	 * processes see too: it comes before Slurm. */
	{ .by = "Hydra",
	  .rank = "PMI_RANK",
	  .ranks = "PMI_SIZE",
	  .local = "MPI_LOCALRANKID",
	  .locals = "MPI_LOCALNRANKS",
	  .needs = "MPI_LOCALNRANKS",
	  .host = "MASTER_ADDR" },
	/* Flux, flux-environment(7) and flux-run(1): "environment only", no Flux was at hand. */
	{ .by = "Flux",
	  .rank = "FLUX_TASK_RANK",
	  .ranks = "FLUX_JOB_SIZE",
	  .local = "FLUX_TASK_LOCAL_ID",
	  .nodes = "FLUX_JOB_NNODES",
	  .job = { "FLUX_JOB_ID" },
	  .host = "MASTER_ADDR" },
	/* PyTorch, torchrun's "Environment variables". Its port is taken by its own store. */
	{ .by = "torchrun",
	  .rank = "RANK",
	  .ranks = "WORLD_SIZE",
	  .local = "LOCAL_RANK",
	  .locals = "LOCAL_WORLD_SIZE",
	  .needs = "MASTER_ADDR",
	  .job = { "TORCHELASTIC_RUN_ID", "MASTER_PORT" },
	  .host = "MASTER_ADDR" },
	/* Slurm, srun's "Output environment variables": those of a step. */
	{ .by = "Slurm",
	  .rank = "SLURM_PROCID",
	  .ranks = "SLURM_STEP_NUM_TASKS",
	  .local = "SLURM_LOCALID",
	  .needs = "SLURM_STEP_ID",
	  .nodes = "SLURM_STEP_NUM_NODES",
	  .job = { "SLURM_JOB_ID", "SLURM_STEP_ID" },
	  .host = "MASTER_ADDR",
	  .list = "SLURM_STEP_NODELIST" },
	/* Others that speak PMI. */
	{ .by = "PMI", .rank = "PMI_RANK", .ranks = "PMI_SIZE", .host = "MASTER_ADDR" },
	/* Kubernetes, "Indexed Job" (and each Job of a JobSet): how many pods there are stands
	 * nowhere, so the manifest repeats it. Processes of an MPIJob are mpirun's. */
	{ .by = "Kubernetes",
	  .rank = "JOB_COMPLETION_INDEX",
	  .ranks = "GPUTUNE_RANKS",
	  .host = "GPUTUNE_MEET",
	  .pod = "HOSTNAME" },
};

struct reader {
	struct arena *a;
	const char *(*get)(void *ctx, const char *name);
	void *ctx;
};

static const char *value(const struct reader *r, const char *name)
{
	const char *v = name ? r->get(r->ctx, name) : NULL;

	return v && *v ? v : NULL;
}

static int ranks_number(const struct reader *r, const char *name, unsigned most, unsigned *out,
			struct err *e)
{
	const char *v = value(r, name);
	unsigned long long n;

	if (!v || parse_u64(v, &n) || n > most)
		return err_set(e, -EINVAL, "%s is \"%.40s\", not a number up to %u", name,
			       v ? v : "", most);
	*out = (unsigned)n;
	return 0;
}

static bool name_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '-' || c == '.' || c == '_' || c == ':';
}

/* "07-09": how many, and how it is written; 0: not a range. */
static unsigned range_of(const char *at, size_t *len, unsigned *first, int *digits)
{
	unsigned last;
	int used = 0, more = 0;

	if (sscanf(at, "%8u%n", first, &used) != 1)
		return 0;
	*digits = used;
	last = *first;
	if (at[used] == '-' && sscanf(at + used, "-%8u%n", &last, &more) != 1)
		return 0;
	*len = (size_t)used + (size_t)more;
	return last >= *first && (at[*len] == ',' || at[*len] == ']') ? last - *first + 1 : 0;
}

/* The names in brackets behind a head of so many letters. *at: behind them. */
static const char *in_brackets(struct arena *a, const char **at, size_t head, unsigned *which)
{
	const char *name = *at, *p = *at + head + 1;
	unsigned n, first;
	int digits;
	size_t len;

	for (;; p += len + 1) {
		n = range_of(p, &len, &first, &digits);
		*at = n ? p + len + 1 : NULL;
		if (!n)
			return NULL;
		if (*which < n)
			return arena_printf(a, "%.*s%0*u", (int)head, name, digits, first + *which);
		*which -= n;
		if (p[len] == ']')
			return NULL;
	}
}

const char *ranks_host(struct arena *a, const char *list, unsigned which)
{
	const char *at = list, *found;
	size_t head;

	while (at && *at) {
		for (head = 0; name_letter(at[head]);)
			head++;
		if (head > 200)
			return NULL;
		if (at[head] == '[') {
			const char *end = strchr(at, ']');

			if (!end || (end[1] && end[1] != ','))
				return NULL;
			found = in_brackets(a, &at, head, &which);
			if (found || !at)
				return found;
		} else if (!head || (at[head] && at[head] != ',')) {
			return NULL;
		} else if (which-- == 0) {
			return arena_strndup(a, at, head);
		} else {
			at += head;
		}
		at += *at == ',';
	}
	return NULL;
}

/* Only letters that can stand in a socket's name. */
static const char *job_of(const struct reader *r, const struct launcher *l)
{
	const char *one = value(r, l->job[0]), *two = value(r, l->job[1]);
	/* Where nothing names the job, all processes of a machine have one parent. */
	char *text = !one && !two ? arena_printf(r->a, "parent-%d", (int)getppid())
				  : arena_printf(r->a, "%s%s%s", one ? one : "", two ? "." : "",
						 two ? two : "");

	for (char *c = text; *c; c++)
		*c = name_letter(*c) ? *c : '_';
	return text;
}

/* "job-0" where this pod is "job-17": the name that an Indexed Job gives its pods. */
static const char *first_pod(const struct reader *r, const struct launcher *l)
{
	const char *pod = value(r, l->pod), *end = pod ? strrchr(pod, '-') : NULL;

	if (!end || strcmp(end + 1, value(r, l->rank)) != 0)
		return NULL;
	return arena_printf(r->a, "%.*s-0", (int)(end - pod), pod);
}

static const char *meet_of(const struct reader *r, const struct launcher *l)
{
	const char *host = value(r, l->host), *list = value(r, l->list);

	if (!host && list)
		host = ranks_host(r->a, list, 0);
	return host ? host : first_pod(r, l);
}

static bool launched_by(const struct reader *r, const struct launcher *l)
{
	return value(r, l->rank) && value(r, l->ranks) && (!l->needs || value(r, l->needs));
}

static int read_launcher(const struct reader *r, const struct launcher *l, struct ranks *out,
			 struct err *e)
{
	unsigned nodes = 0;
	int s = ranks_number(r, l->ranks, RANKS_MOST, &out->ranks, e);

	s = s || out->ranks < 2 ? s : ranks_number(r, l->rank, out->ranks - 1, &out->rank, e);
	if (s == 0 && value(r, l->local))
		s = ranks_number(r, l->local, RANKS_MOST - 1, &out->local, e);
	if (s == 0 && value(r, l->locals))
		s = ranks_number(r, l->locals, RANKS_MOST, &out->locals, e);
	if (s == 0 && value(r, l->nodes))
		s = ranks_number(r, l->nodes, 1u << 20, &nodes, e);
	if (s)
		return s;
	out->by = l->by;
	if (nodes == out->ranks)
		out->hosts = value(r, l->list);
	if (nodes == 1)
		out->locals = out->ranks;
	if (out->locals == out->ranks)
		out->job = job_of(r, l);
	else
		out->meet = meet_of(r, l);
	return 0;
}

int ranks_from_environment(struct arena *a, const char *(*get)(void *ctx, const char *name),
			   void *ctx, struct ranks *out, struct err *e)
{
	struct reader r = { a, get, ctx };

	*out = (struct ranks){ 0 };
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		int s;

		if (!launched_by(&r, &launchers[i]))
			continue;
		s = read_launcher(&r, &launchers[i], out, e);
		if (s == 0 && out->ranks > 1)
			return 0;
		*out = (struct ranks){ 0 };
		if (s)
			return s;
	}
	return 0;
}

static const char *from_environment(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

int ranks_find(struct arena *a, struct ranks *out, struct err *e)
{
	static const struct launcher by = { .by = "PMIx", .job = { "PMIX_NAMESPACE" } };
	const struct reader r = { a, from_environment, NULL };
	struct pmix_place at;
	int code = ranks_from_environment(a, from_environment, NULL, out, e);

	if (code == 0 && !out->ranks && pmix_join(&at) == 0 && at.ranks > 1) {
		*out = (struct ranks){ at.rank, at.ranks, at.local, at.locals, .by = by.by };
		out->job = at.locals == at.ranks ? job_of(&r, &by) : NULL;
	}
	out->pmix = value(&r, "PMIX_NAMESPACE") != NULL;
	if (!out->ranks)
		pmix_leave();
	return code;
}

/* Other ranks of this machine as processes of their own: this program again, each told its rank. */

extern char **environ;

enum { VARIABLES = 5, VARIABLE_MAX = 128 };

/* The environment of rank i: ours, with what tells a process its rank put before it. */
struct rank_environment {
	char text[VARIABLES][VARIABLE_MAX];
	char **all;
};

static int ranks_environment(struct rank_environment *t, unsigned rank, unsigned ranks,
			     const char *job)
{
	size_t n = 0, k = VARIABLES;

	while (environ && environ[n])
		n++;
	t->all = calloc(n + VARIABLES + 1, sizeof(*t->all));
	if (!t->all)
		return -ENOMEM;
	snprintf(t->text[0], VARIABLE_MAX, "GPUTUNE_RANK=%u", rank);
	snprintf(t->text[1], VARIABLE_MAX, "GPUTUNE_RANKS=%u", ranks);
	snprintf(t->text[2], VARIABLE_MAX, "GPUTUNE_LOCAL_RANK=%u", rank);
	snprintf(t->text[3], VARIABLE_MAX, "GPUTUNE_LOCAL_RANKS=%u", ranks);
	snprintf(t->text[4], VARIABLE_MAX, "GPUTUNE_JOB=%s", job);
	for (size_t i = 0; i < VARIABLES; i++)
		t->all[i] = t->text[i];
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "GPUTUNE_RANK", 12) != 0 &&
		    strncmp(environ[i], "GPUTUNE_LOCAL_RANK", 18) != 0 &&
		    strncmp(environ[i], "GPUTUNE_JOB=", 12) != 0)
			t->all[k++] = environ[i];
	return 0;
}

/* Only what may be called between fork and exec in a process with threads. */
static void ranks_child_main(char *const *argv, char *const *environment, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);

	/* Ctrl-C reaches all; rank 0 decides, and its going ends the others. */
	signal(SIGINT, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0)
		_exit(1);
	dup2(null, 0);
	dup2(null, 1);
	close_range(3, ~0u, 0);
	execve("/proc/self/exe", argv, environment);
	_exit(127);
}

int ranks_spawn(char *const *argv, unsigned ranks, const char *job, struct ranks_children *out,
		struct err *e)
{
	pid_t self = getpid();

	*out = (struct ranks_children){ .n = 0 };
	for (unsigned i = 1; i < ranks && i < RANKS_MAX; i++) {
		struct rank_environment t;
		pid_t pid;

		if (ranks_environment(&t, i, ranks, job)) {
			ranks_reap(out, 0);
			return err_set(e, -ENOMEM, "out of memory");
		}
		pid = fork();
		if (pid == 0)
			ranks_child_main(argv, t.all, self);
		free(t.all);
		if (pid < 0) {
			ranks_reap(out, 0);
			return err_set(e, -EAGAIN, "cannot create a process for rank %u", i);
		}
		out->pid[out->n++] = pid;
	}
	return 0;
}

void ranks_reap(struct ranks_children *c, double seconds)
{
	long long until = clock_mono_ms() + (long long)(seconds * 1000);
	int status;

	for (size_t i = 0; i < c->n; i++) {
		long long left = until - clock_mono_ms();

		if (reap_wait(c->pid[i], left > 0 ? (int)left : 0, &status, NULL) == -ETIME)
			reap_kill(c->pid[i], false, &status, NULL);
	}
	c->n = 0;
}
