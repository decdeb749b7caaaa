/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of several this is, as launchers say it; and processes that come together: those
 * that fit, and each that does not.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/bench/net/serve.h"
#include "measure/bench/net/wire.h"
#include "measure/bench/net/world.h"
#include "measure/bench/ranks.h"

/* --- environments ----------------------------------------------------------------------------- */

/* "NAME=value" lines. */
static const char *get(void *ctx, const char *name)
{
	static char values[32][256];
	static unsigned turn;
	const char *at = ctx;
	char *value = values[turn++ % 32];
	size_t n = strlen(name);

	for (; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, name, n) == 0 && at[n] == '=') {
			snprintf(value, sizeof(values[0]), "%.*s", (int)strcspn(at + n + 1, "\n"),
				 at + n + 1);
			return value;
		}
	return NULL;
}

static int ask(struct arena *a, const char *environment, struct ranks *out)
{
	struct err e = { 0 };

	return ranks_from_environment(a, get, (void *)(uintptr_t)environment, out, &e);
}

static void test_launchers(void **state)
{
	struct arena a = { 0 };
	struct ranks r;

	(void)state;
	assert_int_equal(ask(&a, "", &r), 0);
	assert_int_equal(r.ranks, 0);
	assert_int_equal(ask(&a,
			     "OMPI_COMM_WORLD_RANK=3\nOMPI_COMM_WORLD_SIZE=4\n"
			     "OMPI_COMM_WORLD_LOCAL_RANK=3\nOMPI_COMM_WORLD_LOCAL_SIZE=4\n"
			     "PMIX_NAMESPACE=prte host/1@2\n",
			     &r),
			 0);
	assert_int_equal(r.ranks, 4);
	assert_int_equal(r.rank, 3);
	assert_int_equal(r.local, 3);
	assert_string_equal(r.by, "Open MPI");
	/* Nothing but letters of a name. */
	assert_string_equal(r.job, "prte_host_1_2");
	assert_null(r.meet);
	assert_int_equal(ask(&a,
			     "RANK=5\nWORLD_SIZE=8\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=4\n"
			     "MASTER_ADDR=node-a\nMASTER_PORT=29500\n",
			     &r),
			 0);
	assert_int_equal(r.rank, 5);
	assert_int_equal(r.locals, 4);
	assert_null(r.job);
	assert_string_equal(r.meet, "node-a");
	assert_string_equal(r.by, "torchrun");
	/* A job of one process is none. */
	assert_int_equal(ask(&a, "OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=1\n", &r), 0);
	assert_int_equal(r.ranks, 0);
	assert_int_equal(ask(&a, "GPUTUNE_RANK=1\nGPUTUNE_RANKS=2\nGPUTUNE_MEET=10.0.0.1:99\n", &r),
			 0);
	assert_string_equal(r.meet, "10.0.0.1:99");
	assert_int_equal(
		ask(&a, "PMI_RANK=1\nPMI_SIZE=2\nMPI_LOCALRANKID=1\nMPI_LOCALNRANKS=2\n", &r), 0);
	assert_non_null(strstr(r.job, "parent-"));
	/* By their documents alone. */
	assert_int_equal(ask(&a,
			     "FLUX_TASK_RANK=3\nFLUX_JOB_SIZE=4\nFLUX_TASK_LOCAL_ID=3\n"
			     "FLUX_JOB_NNODES=1\nFLUX_JOB_ID=f2Bv\n",
			     &r),
			 0);
	assert_string_equal(r.by, "Flux");
	assert_string_equal(r.job, "f2Bv");
	assert_int_equal(r.local, 3);
	/* A pod that knows its index alone is alone. */
	assert_int_equal(ask(&a, "JOB_COMPLETION_INDEX=2\nHOSTNAME=q-2\n", &r), 0);
	assert_int_equal(r.ranks, 0);
	assert_int_equal(
		ask(&a, "JOB_COMPLETION_INDEX=12\nGPUTUNE_RANKS=16\nHOSTNAME=q-1-12\n", &r), 0);
	assert_int_equal(r.rank, 12);
	assert_string_equal(r.meet, "q-1-0");
	assert_int_equal(ask(&a, "JOB_COMPLETION_INDEX=2\nGPUTUNE_RANKS=4\nHOSTNAME=other\n", &r),
			 0);
	assert_null(r.meet);
	arena_free(&a);
}

/* MPICH starts its proxies as a step of Slurm's, one a machine: their variables are not ours. */
static void test_nested(void **state)
{
	static const char proxy[] = "SLURM_PROCID=1\nSLURM_STEP_NUM_TASKS=2\nSLURM_LOCALID=0\n"
				    "SLURM_STEP_ID=0\nSLURM_JOB_ID=7\nSLURM_STEP_NUM_NODES=2\n"
				    "SLURM_STEP_NODELIST=n[1-2]\n"
				    "PMI_RANK=3\nPMI_SIZE=4\nMPI_LOCALRANKID=1\n"
				    "MPI_LOCALNRANKS=2\n";
	struct arena a = { 0 };
	struct ranks r;

	(void)state;
	assert_int_equal(ask(&a, proxy, &r), 0);
	assert_int_equal(r.rank, 3);
	assert_int_equal(r.ranks, 4);
	assert_int_equal(r.locals, 2);
	/* One that tells of a single process hides no other. */
	assert_int_equal(ask(&a,
			     "SLURM_PROCID=0\nSLURM_STEP_NUM_TASKS=1\nSLURM_STEP_ID=0\n"
			     "SLURM_JOB_ID=7\nSLURM_STEP_NUM_NODES=1\nPMI_RANK=1\nPMI_SIZE=4\n",
			     &r),
			 0);
	assert_string_equal(r.by, "PMI");
	assert_int_equal(r.rank, 1);
	/* srun --mpi=pmi2 sets both. */
	assert_int_equal(ask(&a,
			     "SLURM_PROCID=2\nSLURM_STEP_NUM_TASKS=4\nSLURM_STEP_ID=0\n"
			     "SLURM_JOB_ID=7\nSLURM_STEP_NUM_NODES=4\nPMI_RANK=2\nPMI_SIZE=4\n",
			     &r),
			 0);
	assert_string_equal(r.by, "Slurm");
	arena_free(&a);
}

static void test_slurm(void **state)
{
	struct arena a = { 0 };
	struct ranks r;

	(void)state;
	/* The script that a batch job begins with is no step. */
	assert_int_equal(ask(&a, "SLURM_PROCID=0\nSLURM_NTASKS=4\nSLURM_JOB_ID=7\n", &r), 0);
	assert_int_equal(r.ranks, 0);
	assert_int_equal(ask(&a,
			     "SLURM_PROCID=2\nSLURM_STEP_NUM_TASKS=4\nSLURM_LOCALID=2\n"
			     "SLURM_STEP_ID=0\nSLURM_JOB_ID=7\nSLURM_STEP_NUM_NODES=1\n"
			     "SLURM_STEP_NODELIST=n1\n",
			     &r),
			 0);
	assert_string_equal(r.job, "7.0");
	assert_int_equal(r.local, 2);
	assert_int_equal(r.locals, 4);
	assert_int_equal(ask(&a,
			     "SLURM_PROCID=1\nSLURM_STEP_NUM_TASKS=2\nSLURM_LOCALID=0\n"
			     "SLURM_STEP_ID=3\nSLURM_JOB_ID=7\nSLURM_STEP_NUM_NODES=2\n"
			     "SLURM_STEP_NODELIST=gpu[07-09,12],x\n",
			     &r),
			 0);
	assert_null(r.job);
	assert_string_equal(r.meet, "gpu07");
	arena_free(&a);
}

static void test_nonsense(void **state)
{
	static const char *const all[] = {
		"OMPI_COMM_WORLD_RANK=4\nOMPI_COMM_WORLD_SIZE=4\n",
		"OMPI_COMM_WORLD_RANK=-1\nOMPI_COMM_WORLD_SIZE=4\n",
		"OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=16385\n",
		"OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=two\n",
		("OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK="
		 "16384\n"),
		"GPUTUNE_RANK=0\nGPUTUNE_RANKS=99999999999999999999\n",
	};
	struct arena a = { 0 };
	struct ranks r;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(ask(&a, all[i], &r), -EINVAL);
		assert_int_equal(r.ranks, 0);
	}
	arena_free(&a);
}

static void test_hosts(void **state)
{
	static const char *const pairs[][2] = {
		{ "n1", "n1" },	    { "n1,n2", "n1" },
		{ "n[1-4]", "n1" }, { "gpu-[007,9]", "gpu-007" },
		{ "[3-4]", "3" },   { "a.b.c,d", "a.b.c" },
		{ "n[]", NULL },    { "", NULL },
		{ "n[x]", NULL },   { "bad name", NULL },
		{ "$(id)", NULL },  { "a;b", NULL },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const char *got = ranks_host(&a, pairs[i][0], 0);

		if (!pairs[i][1])
			assert_null(got);
		else
			assert_string_equal(got, pairs[i][1]);
	}
	assert_string_equal(ranks_host(&a, "n[07-09,12],x", 2), "n09");
	assert_string_equal(ranks_host(&a, "n[07-09,12],x", 3), "n12");
	assert_string_equal(ranks_host(&a, "n[07-09,12],x", 4), "x");
	assert_string_equal(ranks_host(&a, "a,b[1],c", 2), "c");
	assert_null(ranks_host(&a, "n[07-09,12],x", 5));
	assert_null(ranks_host(&a, "r[1-2]n[1-2]", 0));
	assert_null(ranks_host(&a, "n[9-1]", 0));
	arena_free(&a);
}

/* --- frames ----------------------------------------------------------------------------------- */

static int there_and_back(const struct wire_frame *f, struct wire_frame *out)
{
	static const uint8_t key[WIRE_SECRET] = { 1, 2, 3 };
	struct wire_side client, server, reader;
	uint8_t bytes[WIRE_FRAME_MAX];
	size_t n;

	wire_sides(key, &client, &server);
	reader = client;
	n = frame_write(f, &client, bytes);
	assert_true(n <= WIRE_FRAME_MAX);
	return frame_read(bytes, n, &reader, out);
}

static void test_frames(void **state)
{
	struct wire_frame f = { .kind = FRAME_JOIN }, out;

	(void)state;
	f.join = (struct frame_join){ .rank = 3,
				      .ranks = 4,
				      .nccl = 22809,
				      .gpus = 1,
				      .machine = 77,
				      .gpu = { 5 },
				      .tool = "0.1",
				      .text = "box" };
	assert_int_equal(there_and_back(&f, &out), 0);
	assert_int_equal(out.join.rank, f.join.rank);
	assert_int_equal(out.join.ranks, f.join.ranks);
	assert_int_equal(out.join.nccl, f.join.nccl);
	assert_int_equal(out.join.gpus, f.join.gpus);
	assert_int_equal(out.join.machine, f.join.machine);
	assert_memory_equal(out.join.gpu, f.join.gpu, sizeof(f.join.gpu));
	assert_string_equal(out.join.tool, f.join.tool);
	assert_string_equal(out.join.text, f.join.text);
	f.join.ranks = WIRE_RANKS_MAX + 1;
	assert_int_equal(there_and_back(&f, &out), -EBADMSG);
	f.join.ranks = 4;
	f.join.gpus = WIRE_GPUS_MAX + 1;
	assert_int_equal(there_and_back(&f, &out), -EBADMSG);
	f.join.gpus = 1;
	f.join.text[1] = '\033';
	assert_int_equal(there_and_back(&f, &out), -EBADMSG);
	f = (struct wire_frame){ .kind = FRAME_ORDER,
				 .order = { .what = 4,
					    .op = 1,
					    .times = 200,
					    .first = 2,
					    .total = 4,
					    .bytes = 8ull << 30,
					    .id = { [127] = 9 } } };
	assert_int_equal(there_and_back(&f, &out), 0);
	assert_memory_equal(&out.order, &f.order, sizeof(f.order));
	f.order.bytes = 2ull << 40;
	assert_int_equal(there_and_back(&f, &out), -EBADMSG);
	f = (struct wire_frame){ .kind = FRAME_DONE,
				 .done = { .error = EIO, .picoseconds = 5, .text = "a\tfault" } };
	assert_int_equal(there_and_back(&f, &out), 0);
	assert_string_equal(out.done.text, "a?fault");
	f.done.error = 5000;
	assert_int_equal(there_and_back(&f, &out), -EBADMSG);
}

/* --- coming together -------------------------------------------------------------------------- */

struct rank {
	struct world_ask ask;
	struct frame_join join;
	pthread_t thread;
	int code;
	struct err e;
	bool silent; /* takes an order, and answers none */
	unsigned served;
};

/* Answers every order with its own number of picoseconds. */
static void *rank_main(void *arg)
{
	struct rank *r = arg;
	struct frame_order o;
	struct world *w;

	r->code = world_open(&r->ask, &r->join, &w, &r->e);
	if (r->code)
		return NULL;
	while ((r->code = world_next(w, &o, &r->e)) == 0) {
		struct frame_done d = { .picoseconds = 1000 * r->ask.rank,
					.flags = r->ask.rank == 2 ? 1 : 0 };

		r->served++;
		if (r->silent)
			break;
		if (o.op == r->ask.rank) {
			d.error = EILSEQ;
			snprintf(d.text, sizeof(d.text), "wrong data");
		}
		world_answer(w, &d, &r->e);
	}
	world_close(w);
	return NULL;
}

static void start(struct rank *all, unsigned n, const char *job, const char *address)
{
	for (unsigned i = 0; i < n; i++) {
		struct err e;

		all[i] =
			(struct rank){ .ask = { .rank = i, .ranks = n, .job = job, .limit_s = 5 } };
		all[i].ask.meet.token = (struct token){ "0123456789abcdef", 16 };
		if (address)
			assert_int_equal(
				net_address_parse(address, true, &all[i].ask.meet.address, &e), 0);
		all[i].join = (struct frame_join){
			.nccl = 22809, .gpus = 1, .machine = i / 2, .gpu = { 100 + i }, .tool = "1"
		};
		snprintf(all[i].join.text, sizeof(all[i].join.text), "box%u", i / 2);
	}
}

static void go(struct rank *all, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		assert_int_equal(pthread_create(&all[i].thread, NULL, rank_main, &all[i]), 0);
}

static void join(struct rank *all, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		pthread_join(all[i].thread, NULL);
}

static const char *job_name(void)
{
	static char name[64];
	static int turn;

	snprintf(name, sizeof(name), "test-%d-%d", (int)getpid(), turn++);
	return name;
}

static const char *free_port(void)
{
	static char text[NET_TEXT];
	struct net_address a;
	struct err e;
	int fd;

	assert_int_equal(net_address_parse("127.0.0.1:0", true, &a, &e), 0);
	assert_int_equal(serve_listen(&a, &fd, &e), 0);
	snprintf(text, sizeof(text), "%s", a.text);
	close(fd);
	return text;
}

static void measure(struct rank *all, unsigned n)
{
	struct frame_order o = { .what = 4, .op = 9 };
	struct arena a = { 0 };
	struct frame_done d;
	struct world *w;
	struct err e = { 0 };

	go(all, n);
	if (world_open(&all[0].ask, &all[0].join, &w, &e))
		fail_msg("%s", e.text);
	assert_true(world_leads(w));
	assert_int_equal(world_total(w), n);
	assert_int_equal(world_machines(w), 2);
	assert_string_equal(world_text(&a, w), "3 processes on 2 machines");
	assert_non_null(strstr(world_placement(&a, w), "rank 2: 1 GPU of box1"));
	assert_int_equal(world_command(w, &o, &e), 0);
	assert_int_equal(world_gather(w, 5, "a test", &d, &e), 0);
	assert_int_equal(d.picoseconds, 2000);
	assert_int_equal(d.flags, 1);
	/* Rank 1 is on rank 0's machine, rank 2 is not. Here all are threads of one process. */
	assert_true(world_near_cpu_s(w) > 0 && world_near_cpu_s(w) < 60);
	/* One fails: named, and the others go on. */
	o.op = 2;
	assert_int_equal(world_command(w, &o, &e), 0);
	assert_int_equal(world_gather(w, 5, "a test", &d, &e), -EILSEQ);
	assert_string_equal(e.text, "rank 2 (box1): wrong data");
	o.op = 9;
	assert_int_equal(world_command(w, &o, &e), 0);
	assert_int_equal(world_gather(w, 5, "a test", &d, &e), 0);
	world_close(w);
	join(all, n);
	for (unsigned i = 1; i < n; i++) {
		assert_int_equal(all[i].code, 1);
		assert_int_equal(all[i].served, 3);
	}
	arena_free(&a);
}

static void test_together(void **state)
{
	struct rank all[3];

	(void)state;
	start(all, 3, job_name(), NULL);
	measure(all, 3);
	start(all, 3, NULL, free_port());
	measure(all, 3);
}

/* Takes the place of rank 0 until it has turned one away in mid-handshake. */
static void turn_away(const char *address, struct rank *other)
{
	struct net_address a;
	struct err e;
	int listener, fd;

	assert_int_equal(net_address_parse(address, true, &a, &e), 0);
	assert_int_equal(serve_listen(&a, &listener, &e), 0);
	assert_int_equal(pthread_create(&other->thread, NULL, rank_main, other), 0);
	do
		fd = accept(listener, NULL, NULL);
	while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	assert_true(fd >= 0);
	close(fd);
	close(listener);
}

static void test_turned_away(void **state)
{
	const char *address = free_port();
	struct rank all[2];
	struct world *w;
	struct err e = { 0 };

	(void)state;
	start(all, 2, NULL, address);
	turn_away(address, &all[1]);
	if (world_open(&all[0].ask, &all[0].join, &w, &e))
		fail_msg("%s", e.text);
	world_close(w);
	join(all, 2);
	assert_int_equal(all[1].code, 1);
}

/* Rank 0 says why, and so do the others as far as they hear it. */
static void refuse(struct rank *all, unsigned n, const char *words)
{
	struct world *w;
	struct err e = { 0 };

	go(all, n);
	assert_true(world_open(&all[0].ask, &all[0].join, &w, &e) < 0);
	if (!strstr(e.text, words))
		fail_msg("\"%s\", not \"%s\"", e.text, words);
	join(all, n);
	for (unsigned i = 1; i < n; i++)
		assert_true(all[i].code < 0);
}

static void test_refused(void **state)
{
	struct rank all[3];

	(void)state;
	start(all, 3, job_name(), NULL);
	all[2].join.nccl = 22702;
	refuse(all, 3, "rank 2 (box1) has NCCL 2.27.2, rank 0 (box0) has 2.28.9");
	assert_non_null(strstr(all[1].e.text, "2.27.2"));
	start(all, 3, job_name(), NULL);
	all[1].join.gpu[0] = 100;
	refuse(all, 3, "rank 0 (box0) and rank 1 (box0) use the same GPU");
	start(all, 3, job_name(), NULL);
	all[1].join.gpus = 0;
	refuse(all, 3, "rank 1 (box0) has no usable GPU");
	start(all, 3, job_name(), NULL);
	all[1].join.nccl = 0;
	refuse(all, 3, "rank 1 (box0) has no usable NCCL");
	start(all, 3, job_name(), NULL);
	snprintf(all[1].join.tool, sizeof(all[1].join.tool), "2");
	refuse(all, 3, "rank 1 (box0) has gputune 2, rank 0 1");
	start(all, 3, job_name(), NULL);
	all[2].ask.ranks = 4;
	refuse(all, 3, "rank 2 (box1) was started with 4 ranks");
}

static void test_missing(void **state)
{
	struct rank all[3];
	struct world *w;
	struct err e = { 0 };

	(void)state;
	start(all, 3, job_name(), NULL);
	all[0].ask.limit_s = 1.5;
	go(all, 2);
	assert_int_equal(world_open(&all[0].ask, &all[0].join, &w, &e), -ETIME);
	assert_non_null(strstr(e.text, "rank 2 of 3 is missing"));
	join(all, 2);
	/* Another token is nobody. */
	start(all, 3, NULL, free_port());
	all[0].ask.limit_s = 1.5;
	all[2].ask.meet.token = (struct token){ "another secret...", 17 };
	go(all, 3);
	assert_int_equal(world_open(&all[0].ask, &all[0].join, &w, &e), -ETIME);
	assert_non_null(strstr(e.text, "rank 2 of 3"));
	join(all, 3);
	assert_int_equal(all[2].code, -EKEYREJECTED);
	/* Nobody leads. */
	start(all, 3, job_name(), NULL);
	all[1].ask.limit_s = 0.3;
	go(all, 2);
	join(all, 2);
	assert_int_equal(all[1].code, -ECONNREFUSED);
}

static void test_vanished(void **state)
{
	struct frame_order o = { .what = 4, .op = 9 };
	struct rank all[3];
	struct frame_done d;
	struct world *w;
	struct err e = { 0 };

	(void)state;
	start(all, 3, job_name(), NULL);
	all[2].silent = true;
	go(all, 3);
	assert_int_equal(world_open(&all[0].ask, &all[0].join, &w, &e), 0);
	assert_int_equal(world_command(w, &o, &e), 0);
	assert_int_equal(world_gather(w, 5, "a test", &d, &e), -ECONNRESET);
	assert_non_null(strstr(e.text, "rank 2 (box1) disappeared during a test"));
	assert_true(world_trouble(w));
	/* Nobody is asked any more. */
	assert_true(world_command(w, &o, &e) < 0);
	world_close(w);
	join(all, 3);
	assert_true(all[1].code < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launchers), cmocka_unit_test(test_nested),
		cmocka_unit_test(test_slurm),	  cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_hosts),	  cmocka_unit_test(test_frames),
		cmocka_unit_test(test_together),  cmocka_unit_test(test_turned_away),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_missing),
		cmocka_unit_test(test_vanished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
