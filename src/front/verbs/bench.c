/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench NAME...: measure, print, store. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <sodium.h>

#include "base/text.h"
#include "look/settings/findings.h"
#include "measure/bench/conditions.h"
#include "measure/bench/gpu_ahead.h"
#include "measure/bench/record.h"
#include "front/session.h"
#include "machine/write/write.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/bench.h"
#include "measure/bench/page_bench.h"
#include "measure/bench/net/serve.h"
#include "measure/bench/net/handshake.h"
#include "front/terminal.h"
#include "measure/bench/ranks.h"
#include "machine/host/libraries.h"

struct bench_ranks {
	struct collective_shared *team; /* NULL: this process alone */
	struct ranks_children children;
};

/* gputune bench list, bench show and compare: results that are there. */

/* A file when there is one of that name, otherwise a kept result of that id. Its text; NULL, and a
 * complaint. */
static const char *bench_load(struct run *r, struct host *h, const char *name, struct record *out)
{
	const char *path = name;
	struct err e = { 0 };
	char here[PATH_MAX], *text = NULL;
	int code;

	if (name[0] != '/' && getcwd(here, sizeof(here)))
		path = arena_printf(&r->arena, "%s/%s", here, name);
	code = host_read(h, path, BENCH_FILE_MAX, &r->arena, &text, NULL);
	if (code == -ENOENT && store_id_valid(name))
		code = store_get(&r->arena, h, bench_state(r), name, &text, &e);
	else if (code)
		err_set(&e, code, "%s cannot be read: %s", path, strerror(-code));
	if (code == 0)
		code = bench_from_json(&r->arena, name, text, out, &e);
	if (code)
		complain(EXIT_USAGE, &e);
	return code ? NULL : text;
}

static struct doc *list_page(struct run *r, const struct record *kept, size_t n)
{
	struct record_pair *names = arena_array(&r->arena, bench_count, sizeof(*names));
	struct doc *d = page_bench_list(&r->arena, kept, n);

	for (size_t i = 0; i < bench_count; i++)
		names[i] = (struct record_pair){ benches[i]->name, benches[i]->title };
	page_bench_names(d, names, bench_count);
	return d;
}

static int bench_list(struct run *r, struct host *h)
{
	struct err e = { 0 };
	struct record *kept;
	size_t n = 0, k = 0;
	char **ids, *text;

	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "\"bench list\" takes no argument");
	if (store_list(&r->arena, h, bench_state(r), &ids, &n, &e))
		/* What can be measured is worth listing all the same. */
		complain(0, &e);
	kept = arena_array(&r->arena, n, sizeof(*kept));
	for (size_t i = 0; i < n; i++) {
		if (store_get(&r->arena, h, bench_state(r), ids[i], &text, &e) ||
		    bench_from_json(&r->arena, ids[i], text, &kept[k], &e))
			complain(0, &e);
		else
			k++;
	}
	if (r->value[OPT_QUIET])
		return EXIT_CLEAN;
	if (!run_wants_json(r))
		return run_print_doc(r, list_page(r, kept, k), "gputune bench list", EXIT_CLEAN);
	return run_print_result(r, &bench_list_result,
				&(struct bench_list){ benches, bench_count, kept, k }, EXIT_CLEAN);
}

/* In the asked format. m: who asks. */
static int bench_print(struct run *r, const struct machine *m, const struct record *record,
		       int code)
{
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_json(r, machine_result_json(&bench_result, m, record, code), code);
	return run_print_doc(r, page_bench(&r->arena, record, r->value[OPT_VERBOSE] != NULL),
			     "gputune bench", code);
}

static int bench_show(struct run *r, struct host *h)
{
	struct record record;
	const char *text;

	if (r->n_args != 2)
		return complain_text(EXIT_USAGE,
				     "\"bench show\" needs one ID; \"bench list\" lists them");
	text = bench_load(r, h, r->args[1], &record);
	if (!text)
		return EXIT_USAGE;
	/* The file itself is the JSON of it. */
	if (run_wants_json(r) && !r->value[OPT_QUIET]) {
		fputs(text, r->out);
		return EXIT_CLEAN;
	}
	return bench_print(r, NULL, &record, EXIT_CLEAN);
}

/* gputune bench serve: the other machine of a network measurement. */

static void print_note(void *ctx, const char *text)
{
	fprintf(ctx, "%s\n", text);
	fflush(ctx);
}

static int serve_at(struct run *r, struct net_address *a, const struct token *t)
{
	struct serve s = { .wake = -1, .token = t };
	struct err e = { 0 };
	sigset_t set, old;
	int code;

	if (serve_listen(a, &s.listener, &e))
		return complain(EXIT_BLIND, &e);
	if (!r->value[OPT_QUIET]) {
		s.say = print_note;
		s.ctx = r->out;
		fprintf(r->out, "listening on %s%s\n", a->text,
			net_address_loopback(a)
				? ", for this machine alone (--listen ADDRESS: for others)"
				: "");
		fflush(r->out);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	s.wake = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	code = serve_run(&s, &e) ? complain(EXIT_BLIND, &e) : EXIT_CLEAN;
	if (s.wake >= 0)
		close(s.wake);
	close(s.listener);
	return code;
}

/* Serves until SIGINT or SIGTERM; an exit code. */
static int bench_serve(struct run *r)
{
	const char *listen = r->value[OPT_LISTEN] ? r->value[OPT_LISTEN] : "127.0.0.1";
	struct net_address a;
	struct token t;
	struct err e = { 0 };
	int code;

	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "\"bench serve\" takes no argument");
	if (!r->value[OPT_TOKEN])
		return complain_text(EXIT_USAGE,
				     "\"bench serve\" needs --token FILE: a secret of 16 bytes or "
				     "more that the measuring machine knows too");
	if (net_address_parse(listen, true, &a, &e) || token_load(r->value[OPT_TOKEN], &t, &e))
		return complain(EXIT_USAGE, &e);
	code = serve_at(r, &a, &t);
	explicit_bzero(&t, sizeof(t));
	return code;
}

/* Options and environment of bench collectives in several processes. */

/* What children get to end by themselves. */
#define LEAVE_S 5.0

static const char *from_environment(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static bool is_collective(const char *arg)
{
	size_t n = strcspn(arg, "/");

	return n == strlen("collectives") && strncmp(arg, "collectives", n) == 0;
}

static size_t collectives(const struct run *r)
{
	size_t n = 0;

	for (int i = 0; i < r->n_args; i++)
		n += is_collective(r->args[i]);
	return n;
}

/* 0, or the exit code of a complaint. */
static int verb_bench_number(struct run *r, enum option_id id, unsigned most, unsigned *out)
{
	unsigned long long v;

	if (parse_u64(r->value[id], &v) || v > most)
		return complain_text(EXIT_USAGE, "--%s takes a number up to %u, not \"%s\"",
				     option_rows[id].name, most, r->value[id]);
	*out = (unsigned)v;
	return 0;
}

/* --rank and --ranks, or what a launcher says. */
static int read_ranks(struct run *r, struct ranks *out)
{
	struct err e = { 0 };
	int code;

	*out = (struct ranks){ 0 };
	if (!r->value[OPT_RANKS] && !r->value[OPT_RANK])
		return ranks_from_environment(&r->arena, from_environment, NULL, out, &e)
			       ? complain(EXIT_USAGE, &e)
			       : 0;
	if (!r->value[OPT_RANKS])
		return complain_text(EXIT_USAGE, "--rank needs --ranks: of how many");
	code = verb_bench_number(r, OPT_RANKS, RANKS_MAX, &out->ranks);
	if (code || out->ranks < 2) {
		out->ranks = 0;
		return code;
	}
	if (!r->value[OPT_RANK])
		return complain_text(EXIT_USAGE, "--ranks %u needs --rank: which one this is",
				     out->ranks);
	out->by = "--ranks";
	return verb_bench_number(r, OPT_RANK, out->ranks - 1, &out->rank);
}

static int local_job(struct run *r, char **job)
{
	struct err e = { 0 };
	uint64_t bits[2];

	if (library_open(LIBRARY_SODIUM, &e))
		return complain(EXIT_BLIND, &e);
	randombytes_buf(bits, sizeof(bits));
	*job = arena_printf(&r->arena, "local-%d-%016llx%016llx", (int)getpid(),
			    (unsigned long long)bits[0], (unsigned long long)bits[1]);
	return 0;
}

/* One process a GPU: this one is rank 0, the others are children. */
static int start_children(struct run *r, struct bench_env *env, struct ranks *ranks,
			  struct bench_ranks *out)
{
	char *gpus = (char *)r->value[OPT_GPUS], *job = NULL;
	char *argv[] = { "gputune", "bench", "collectives", "--quiet", gpus ? "--gpus" : NULL,
			 gpus,	    NULL };
	struct err e = { 0 };
	const char *why;
	size_t n = team_gpus(env, &why);
	int code = local_job(r, &job);

	if (code)
		return code;
	if (n < 2 || n > RANKS_MAX)
		return complain_text(
			EXIT_BLIND,
			"--local-processes: two GPUs at least are needed, %zu can be used here%s%s",
			n, why ? ": " : "", why ? why : "");
	*ranks = (struct ranks){
		.ranks = (unsigned)n, .locals = (unsigned)n, .by = "--local-processes", .job = job
	};
	if (ranks_spawn(argv, (unsigned)n, job, &out->children, &e))
		return complain(EXIT_BLIND, &e);
	return 0;
}

static const char *token_file(const struct run *r)
{
	const char *file = r->value[OPT_TOKEN];

	return file ? file : getenv("GPUTUNE_TOKEN_FILE");
}

/* Ctrl-C reaches all processes of a terminal; rank 0 decides, and says good-bye or is gone. */
static int verb_bench_follow(struct run *r, const struct bench_env *env,
			     struct collective_shared *team)
{
	struct err e = { 0 };
	int code;

	signal(SIGINT, SIG_IGN);
	code = team_follow(env, team, &e);
	/* What rank 0 says it has printed itself. */
	if (code && code != -ECANCELED && !r->value[OPT_QUIET])
		complain(EXIT_BLIND, &e);
	team_end(team);
	return code ? EXIT_BLIND : EXIT_CLEAN;
}

/* Ends the others. */
static void bench_ranks_end(struct bench_ranks *b)
{
	team_end(b->team);
	b->team = NULL;
	ranks_reap(&b->children, LEAVE_S);
}

static int verb_bench_join(struct run *r, struct bench_env *env, const struct ranks *ranks,
			   struct bench_ranks *out)
{
	struct err e = { 0 };
	int code = team_join(env, ranks, token_file(r), &out->team, &e);

	if (code == 0)
		return 0;
	bench_ranks_end(out);
	return complain(code == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &e);
}

/*
 * False: go on; env->ask.team is set where others take part. True: all is done, *code is the exit
 * code: this was not rank 0, or something was wrong, which is said then.
 */
static bool bench_ranks_begin(struct run *r, struct bench_env *env, struct bench_ranks *out,
			      int *code)
{
	size_t n = collectives(r);
	struct ranks ranks;

	*out = (struct bench_ranks){ 0 };
	*code = read_ranks(r, &ranks);
	if (*code)
		return true;
	if (!ranks.ranks && !r->value[OPT_LOCAL_PROCESSES])
		return false;
	/* Others in a job measure each for itself. */
	if (!n && !r->value[OPT_RANKS] && !r->value[OPT_LOCAL_PROCESSES])
		return false;
	if (n != (size_t)r->n_args) {
		*code = complain_text(EXIT_USAGE,
				      "in several processes (%s) only collectives are measured, "
				      "and nothing else with them",
				      ranks.by ? ranks.by : "--local-processes");
		return true;
	}
	if (r->value[OPT_LOCAL_PROCESSES])
		*code = ranks.ranks ? complain_text(EXIT_USAGE,
						    "--local-processes starts the processes "
						    "itself; here %s has done so already",
						    ranks.by)
				    : start_children(r, env, &ranks, out);
	if (*code)
		return true;
	if (r->value[OPT_PEER]) {
		ranks.meet = r->value[OPT_PEER];
		ranks.job = NULL;
	}
	*code = verb_bench_join(r, env, &ranks, out);
	if (*code)
		return true;
	env->ask.team = out->team;
	if (ranks.rank) {
		*code = verb_bench_follow(r, env, out->team);
		return true;
	}
	return false;
}

enum { LOOK_MS = 400, PROGRESS_MS = 200, PROGRESS_SAMPLES = 9, LONG_S = 120 };

/* One measurement under way. */
struct measuring {
	struct run *r;
	struct host *h;
	struct machine *m;
	struct frame frame;
	struct record record;
	struct bench_ranks ranks;
	struct watch_list watch;
	atomic_bool stop;
	int left_out;	    /* exit code for what was asked for by name and has no case here; 0 */
	bool live_line;	    /* a progress line is on the terminal */
	long long drawn_ms; /* when it was drawn */
};

/* Five times a second at most: drawing must not be what is measured. */
static void verb_bench_progress(void *ctx, const struct record_case *c, size_t done, size_t of)
{
	struct measuring *g = ctx;
	double last[PROGRESS_SAMPLES], value;
	size_t n = c->n < PROGRESS_SAMPLES ? c->n : PROGRESS_SAMPLES;
	struct timespec t;
	long long now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	now = t.tv_sec * 1000LL + t.tv_nsec / 1000000;
	if (now - g->drawn_ms < PROGRESS_MS)
		return;
	g->drawn_ms = now;
	g->live_line = true;
	fprintf(stderr, "\r\033[K%s %s: round %zu of %zu, ", c->bench, c->name, done + 1, of);
	if (n) {
		memcpy(last, c->series[0].x + c->n - n, n * sizeof(*last));
		value = stat_median_in_place(last, n);
		fprintf(stderr, "%zu samples, %.4g %s", c->n, value, c->series[0].unit_text);
	} else if (c->early.known) {
		fprintf(stderr, "%.4g %s so far, %s", c->early.last, c->series[0].unit_text,
			c->early.how);
	} else {
		fputs("warming up", stderr);
	}
	fflush(stderr);
}

/* A node of eight GPUs has some hundred copies to measure: whoever waits should know. */
static void verb_bench_begins(void *ctx, const struct bench *b, size_t n, double seconds)
{
	const struct measuring *g = ctx;
	/* Warm-up and set-ups take at least half as long again. */
	double all = 1.5 * (double)n * seconds;

	if (all >= LONG_S && !g->frame.samples && !g->r->value[OPT_QUIET])
		fprintf(stderr,
			"gputune: %s: %zu cases of %.3g s, about %.0f minutes; a case's name or "
			"--for TIME makes it shorter\n",
			b->name, n, seconds, all / 60);
}

static void end_line(struct measuring *g)
{
	if (g->live_line)
		fputs("\r\033[K", stderr);
	g->live_line = false;
}

/* Every readable setting with its value: what a later compare can say has changed. */
static void note_settings(struct measuring *g)
{
	struct arena *a = &g->r->arena;
	struct record *rec = &g->record;
	struct profile p;
	struct findings f;
	struct err e = { 0 };

	if (profile_load(a, "default", &p, &e))
		return;
	settings_check(a, g->m, &p, run_read_knob, g->h, &f);
	rec->settings = arena_array(a, f.n, sizeof(*rec->settings));
	for (size_t i = 0; i < f.n; i++) {
		const struct finding *it = &f.items[i];
		const char *meaning;

		if (it->s->health || !it->s->knob || !it->v.current || !*it->v.current)
			continue;
		meaning = strstr(it->v.current, " = ");
		rec->settings[rec->n_settings++] = (struct record_pair){
			*it->target ? arena_printf(a, "%s (%s)", it->s->id, it->target) : it->s->id,
			/* "10 % = 2191 MiB": what is set, without what it comes to at the moment.
			 */
			meaning ? arena_strndup(a, it->v.current, (size_t)(meaning - it->v.current))
				: it->v.current
		};
	}
	rec->settings_digest = record_digest(a, rec->settings, rec->n_settings);
}

static int verb_bench_read_options(struct measuring *g)
{
	const char *time = g->r->value[OPT_FOR], *runs = g->r->value[OPT_RUNS];
	long long n;

	if (time && parse_seconds(time, &g->frame.seconds))
		return complain_text(EXIT_USAGE, "--for takes a time like 10s, not \"%s\"", time);
	if (runs) {
		if (parse_i64(runs, &n) || n < 1 || n > RECORD_SAMPLES_MAX)
			return complain_text(EXIT_USAGE, "--runs takes 1 to %d, not \"%s\"",
					     RECORD_SAMPLES_MAX, runs);
		g->frame.samples = (size_t)n;
	}
	return bench_asked(g->r, &g->frame.env.ask, &g->frame.env.cpus);
}

/* A wrong name is found before anything is measured. */
static int check_names(const struct run *r)
{
	for (int i = 0; i < r->n_args; i++) {
		char name[64] = "";
		size_t n = strcspn(r->args[i], "/");

		if (n < sizeof(name))
			memcpy(name, r->args[i], n);
		if (strcmp(name, "all") != 0 && !bench_find(name))
			return complain_text(
				EXIT_USAGE,
				"there is no bench \"%s\"; \"gputune bench list\" lists them",
				r->args[i]);
	}
	return 0;
}

static int measure_one(struct measuring *g, const char *arg)
{
	const char *slash = strchr(arg, '/');
	char *name = arena_strndup(&g->r->arena, arg, slash ? (size_t)(slash - arg) : strlen(arg));
	const struct bench *b = bench_find(name);

	if (!b) {
		/* "all"; other names were refused. */
		frame_run_all(&g->frame, benches, bench_count, &g->record);
		return 0;
	}
	switch (frame_run(&g->frame, b, slash ? slash + 1 : NULL, &g->record)) {
	case -ENOENT:
		return complain_text(EXIT_USAGE, "%s has no case \"%s\" on this machine", name,
				     slash ? slash + 1 : "");
	case -EINVAL:
		g->left_out = EXIT_USAGE;
		break;
	case -ENODATA:
		g->left_out = g->left_out ? g->left_out : EXIT_BLIND;
		break;
	}
	return 0;
}

/* What was asked for by name and has no case here. Without any other result there is none. */
static int check_left_out(struct measuring *g)
{
	const struct record *r = &g->record;

	if (!g->left_out || r->n)
		return 0;
	for (size_t i = 0; i + 1 < r->n_skipped; i++)
		complain_text(g->left_out, "%s: %s", r->skipped[i].bench, r->skipped[i].reason);
	return complain_text(g->left_out, "%s: %s", r->skipped[r->n_skipped - 1].bench,
			     r->skipped[r->n_skipped - 1].reason);
}

static int verb_bench_measure(struct measuring *g)
{
	struct record_conditions *c = &g->record.conditions;
	struct record_moment first;
	struct sampler *s;
	int code = 0;

	watch_list_make(&g->r->arena, g->h, g->m, &g->watch);
	c->cpus = g->watch.cpus;
	conditions_look(g->h, &g->watch, &first);
	usleep(LOOK_MS * 1000);
	conditions_look(g->h, &g->watch, &c->before);
	c->idle_others = conditions_others(&first, &c->before);
	c->others = -1;
	c->steal_percent = conditions_steal(&first, &c->before);
	if (g->r->value[OPT_REQUIRE_IDLE] && record_busy(c))
		return complain_text(EXIT_NOT_APPLIED,
				     "the machine is busy: others use %.2f CPUs, %.1f %% of its "
				     "time is stolen; nothing was measured",
				     fmax(c->idle_others, 0), fmax(c->steal_percent, 0));
	s = sampler_start(g->h, &g->watch, &g->stop);
	frame_start(&g->frame);
	for (int i = 0; i < g->r->n_args && code == 0 && !atomic_load(&g->stop); i++)
		code = measure_one(g, g->r->args[i]);
	if (s)
		sampler_end(&g->r->arena, s, c);
	end_line(g);
	g->record.partial = g->record.partial || atomic_load(&g->stop);
	conditions_look(g->h, &g->watch, &c->after);
	/* The other ranks are no others: they are what is measured. */
	c->after.own_s += team_near_cpu_s(g->ranks.team);
	c->others = conditions_others(&c->before, &c->after);
	c->steal_percent = conditions_steal(&c->before, &c->after);
	return code;
}

static int write_json_file(struct measuring *g, const char *text)
{
	const char *path = g->r->value[OPT_JSON];
	char here[HOST_PATH_MAX];
	int r;

	if (path[0] != '/' && getcwd(here, sizeof(here)))
		path = arena_printf(&g->r->arena, "%s/%s", here, path);
	r = host_put(g->h, path, text, strlen(text), 0644);
	return r ? complain_text(EXIT_BLIND, "%s cannot be written: %s", path, strerror(-r)) : 0;
}

/* In the state folder, and where --json says. A result that cannot be kept is still printed; one
 * without any figure is not kept among those that have some. */
static int verb_bench_keep(struct measuring *g, int code)
{
	json_t *j = machine_result_json(&bench_result, g->m, &g->record, code);
	char *text = json_dumps(j, JSON_INDENT(1));
	struct err e = { 0 };
	int failed = 0;

	json_decref(j);
	if (!text)
		return complain_text(EXIT_BLIND, "no memory for the result");
	if (record_empty(&g->record))
		g->record.unkept = true;
	else
		failed = store_put(g->h, bench_state(g->r), g->record.id, text, &e);
	if (failed) {
		complain(0, &e);
		record_note(&g->r->arena, &g->record, "not kept: %s", e.text);
		g->record.unkept = true;
	}
	/* Where nobody asked for it by name, a user without the right to write there still
	 * measures. */
	if (failed && (g->r->value[OPT_STATE] || (failed != -EACCES && failed != -EPERM)))
		code = EXIT_BLIND;
	if (g->r->value[OPT_JSON] && write_json_file(g, text))
		code = EXIT_BLIND;
	free(text);
	return code;
}

static int result_code(const struct record *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->cases[i].error)
			return EXIT_FINDINGS;
	return r->partial ? EXIT_BLIND : EXIT_CLEAN;
}

static const char *id_word(struct run *r)
{
	char *word = arena_strndup(&r->arena, r->args[0], strcspn(r->args[0], "/"));

	return r->n_args > 1 ? arena_printf(&r->arena, "%s-and-more", word) : word;
}

/* What the first of the benches can begin before there are facts. */
static struct gpu_preinit *begin_preinit(const struct measuring *g)
{
	const char *arg = g->r->args[0], *slash = strchr(arg, '/');
	const struct bench *b = bench_find(
		arena_strndup(&g->r->arena, arg, slash ? (size_t)(slash - arg) : strlen(arg)));

	return b && b->ahead ? b->ahead(&g->frame.env.ask, slash ? slash + 1 : NULL) : NULL;
}

static int run_checked(struct measuring *g)
{
	struct run *r = g->r;
	int code;

	g->m = run_machine(r, g->h, false);
	g->frame.env.a = &r->arena;
	g->frame.env.m = g->m;
	g->frame.env.h = g->h;
	g->frame.env.stop = &g->stop;
	g->frame.ctx = g;
	g->frame.begins = verb_bench_begins;
	if (isatty(STDERR_FILENO) && !r->value[OPT_QUIET])
		g->frame.progress = verb_bench_progress;
	if (bench_ranks_begin(r, &g->frame.env, &g->ranks, &code))
		return code;
	g->record.version = GPUTUNE_VERSION;
	g->record.time_s = fact_or(&g->m->time_s, 0);
	record_fingerprint(&r->arena, g->h, g->m, &g->record);
	note_settings(g);
	g->record.id = store_new_id(&r->arena, g->h, bench_state(r), g->record.time_s, id_word(r));
	code = verb_bench_measure(g);
	bench_ranks_end(&g->ranks);
	code = code ? code : check_left_out(g);
	if (code)
		return code;
	record_summarise(&g->record);
	record_judge(&r->arena, &g->record);
	code = result_code(&g->record);
	code = verb_bench_keep(g, code ? code : g->left_out);
	return bench_print(r, g->m, &g->record, code);
}

static int verb_bench_run(struct measuring *g)
{
	int code = check_names(g->r);

	code = code ? code : verb_bench_read_options(g);
	code = code ? code : run_check_result_file(g->r);
	if (code)
		return code;
	g->frame.env.ahead = begin_preinit(g);
	code = run_checked(g);
	gpu_preinit_end(g->frame.env.ahead);
	return code;
}

int verb_bench(struct run *r)
{
	struct measuring g = { .r = r, .h = host_open_live() };
	int code;

	if (strcmp(r->args[0], "list") == 0)
		code = bench_list(r, g.h);
	else if (strcmp(r->args[0], "show") == 0)
		code = bench_show(r, g.h);
	else if (strcmp(r->args[0], "serve") == 0)
		code = bench_serve(r);
	else
		code = verb_bench_run(&g);
	host_close(g.h);
	return code;
}
