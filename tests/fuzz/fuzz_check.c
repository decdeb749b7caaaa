/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other machines say to who drives them, by the first byte:
 *
 *   c  a whole "cluster check" with nodes that answer as the input says (fuzz_talk.h): discovery,
 *      check, verdicts, page, JSON, and launch files of what they said. Behind it how many nodes
 *      there are and letters up to the end of the line: r a ring, t twins, v IPv6, i Ctrl-C after
 *      a few requests.
 *   d  a discovery that was kept, as nodes for launch files
 *   w  lines: the name, the address, --rsh, the program, known hosts and key for ssh
 *   r  a folder as the root of a machine: sections "@@f NAME" with a file's bytes, "@@l NAME"
 *      with a link's target, "@@p NAME" a pipe, and "@@q PATH" what is looked at besides
 */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/text.h"
#include "measure/bench/net/socket.h"
#include "many/cluster/links.h"
#include "verbs/generate/generate.h"
#include "fuzz_plain.h"
#include "fuzz_talk.h"
#include "look/stack/root.h"
#include "many/cluster/page_cluster.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { GPUS_MAX = 4096, SENTENCE_MAX = 4096 };

/* --- texts ------------------------------------------------------------------------------------ */

static void no_control(const char *s)
{
	fuzz_plain(s, strlen(s), "");
}

/* For people: UTF-8, and of a length that somebody reads. */
static void sentence(const char *s)
{
	uint32_t cp;

	if (!s)
		return;
	no_control(s);
	if (strlen(s) > SENTENCE_MAX)
		abort();
	for (size_t n; (n = utf8_next(s, &cp)) > 0; s += n)
		if (cp == UTF8_BAD)
			abort();
}

static void draw(const struct doc *d)
{
	static const struct term_style narrow = { .width = 60 };

	for (int md = 0; md < 2; md++) {
		char *text = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);

		if (!out)
			abort();
		if (md)
			doc_md(out, d);
		else
			doc_term(out, d, &narrow);
		if (fclose(out))
			abort();
		fuzz_plain(text, n, "\n");
		free(text);
	}
}

/* --- nodes for launch files ------------------------------------------------------------------- */

int __wrap_complain(int code, const struct err *e);
int __wrap_complain_text(int code, const char *fmt, ...);

int __wrap_complain(int code, const struct err *e)
{
	if (!*e->text)
		abort();
	return code;
}

int __wrap_complain_text(int code, const char *fmt, ...)
{
	return *fmt ? code : 0;
}

static bool has_interface(const struct gen_node *n, const char *name)
{
	for (size_t i = 0; i < n->n_links; i++)
		if (strcmp(n->links[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < n->n_ports; i++)
		if (strcmp(n->ports[i].netdev, name) == 0)
			return true;
	return false;
}

static void nodes_hold(const struct gen_cluster *c)
{
	struct ipv4 net;

	if (c->shape >= SHAPES || !c->shape_why || (c->shape == SHAPE_RING && c->n != 3) ||
	    c->prefix > 32 || (*c->common && !gen_subnet(c->common, &net)))
		abort();
	for (size_t i = 0; i < c->n; i++) {
		const struct gen_node *n = &c->nodes[i];

		if (n->gpus > GPUS_MAX || n->total_bytes < 0 || n->n_ports > GEN_PORTS_MAX ||
		    n->n_links > GEN_PORTS_MAX)
			abort();
		for (size_t k = 0; k < n->n_ports; k++)
			if (!n->ports[k].number || n->ports[k].number > 255)
				abort();
		if ((*n->control && !has_interface(n, n->control)) ||
		    (*c->common && (!*n->control || !*n->address)))
			abort();
	}
}

static void words_hold(const struct gen_launch *l)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->commands[i].n; k++)
			no_control(l->commands[i].words[k].text);
}

/* A line for each machine, and of it a name and a number. */
static void hostfile_holds(const char *text, const struct gen_cluster *c)
{
	for (size_t i = 0; i < c->n; i++) {
		size_t n = strcspn(text, " ");
		char name[256];

		if (n >= sizeof(name))
			abort();
		memcpy(name, text, n);
		name[n] = '\0';
		if (!gen_name_valid(name) ||
		    strtoull(text + n + strlen(" slots="), NULL, 10) != c->nodes[i].gpus)
			abort();
		text = strchr(text, '\n');
		if (!text++)
			abort();
	}
	if (*text)
		abort();
}

static void launch_files(struct arena *a, struct gen_cluster *c)
{
	char *program[] = { (char *)(uintptr_t) "train.py" };

	gen_cluster_judge(a, c);
	nodes_hold(c);
	for (enum gen_for f = FOR_NCCL; f <= FOR_OTHERS; f++) {
		struct gen_launch l;
		struct gen_envs e;
		struct err err = { 0 };

		gen_envs_make(a, c, f, &e);
		for (size_t i = 0; i < c->n; i++)
			for (size_t k = 0; k < e.of[i].n; k++)
				no_control(e.of[i].vars[k].value);
		if (gen_torchrun(a, &e, program, 1, NULL, 29500, &l, &err) == 0)
			words_hold(&l);
		if (gen_mpi(a, &e, program, 1, &l, &err) == 0)
			words_hold(&l);
		if (gen_sbatch(a, &e, program, 1, 29500, &l, &err) == 0)
			words_hold(&l);
		if (gen_hostfile(a, &e, &l, &err) == 0)
			hostfile_holds(l.file_text, c);
		gen_deepspeed_env(a, &e, &l, &err);
	}
}

/* What stands in the file, without a file: a room for the largest there may be takes longer than
 * all else. */
static const json_t *in_file;

int __wrap_cluster_load(struct arena *a, const char *path, struct cluster *out, struct err *e);

int __wrap_cluster_load(struct arena *a, const char *path, struct cluster *out, struct err *e)
{
	(void)path;
	return cluster_read(a, in_file, out, e);
}

static void say_nothing(void *ctx, int code, const struct err *e)
{
	(void)ctx;
	(void)code;
	(void)e;
}

static void discovery(struct arena *a, const json_t *j)
{
	struct gen_cluster c = { 0 };
	struct door d = { .arena = a, .say = say_nothing };

	in_file = j;
	if (generate_cluster(&d, "a file", &c) == 0)
		launch_files(a, &c);
}

static void kept_discovery(struct arena *a, const char *text, size_t n)
{
	json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);

	discovery(a, j);
	json_decref(j);
}

/* --- a check ---------------------------------------------------------------------------------- */

static void qualify_holds(const struct qualify *q)
{
	if (q->drained + q->unknown > q->n)
		abort();
	for (size_t i = 0; i < q->n; i++) {
		sentence(q->nodes[i].name);
		sentence(q->nodes[i].unreadable);
		if (q->nodes[i].state >= QUALIFY_STATES ||
		    (q->nodes[i].state != QUALIFY_FIT) != (q->nodes[i].n_reasons > 0))
			abort();
		for (size_t k = 0; k < q->nodes[i].n_reasons; k++)
			sentence(q->nodes[i].reasons[k]);
	}
	for (size_t i = 0; i < q->n_faults; i++) {
		sentence(q->faults[i].what);
		sentence(q->faults[i].others);
		sentence(q->faults[i].evidence);
		if (!*q->faults[i].what || (q->faults[i].certain && q->faults[i].others))
			abort();
	}
	for (size_t i = 0; i < q->n_rails; i++)
		if (q->rails[i].n < 2 || q->rails[i].n > q->n)
			abort();
}

static void shown_holds(struct arena *a, const struct cluster *c, const struct qualify *q)
{
	const struct cluster_check_view v = { .cluster = c, .q = q, .version = "" };
	json_t *j = result_shape_json(&cluster_discover_result, c, 0, 0);

	if (!j)
		abort();
	discovery(a, j);
	json_decref(j);
	json_decref(result_shape_json(&cluster_check_result, &v, 0, 0));
	draw(page_cluster_check(a, &v));
}

static int ask_nodes(void *ctx, const char *what, json_t **with, int limit_ms,
		     struct rsh_reply *replies)
{
	bool which[TALK_NODES] = { false };
	struct rsh *r = ctx;

	for (size_t i = 0; i < r->n; i++)
		which[i] = with[i] != NULL;
	return rsh_ask_all(r, what, which, with, limit_ms, replies);
}

/* The first line says how; returns where sections begin. */
static const char *read_how(const char *s, const char *end, struct talk *t)
{
	t->n = s < end ? 2 + (unsigned char)*s++ % (TALK_NODES - 1) : 2;
	for (; s < end && *s != '\n'; s++) {
		t->ring = t->ring || *s == 'r';
		t->twins = t->twins || *s == 't';
		t->wide = t->wide || *s == 'v';
		if (*s == 'i')
			t->stop_at = 1 + (unsigned char)(s + 1 < end ? s[1] : 0) % 64;
	}
	return s < end ? s + 1 : end;
}

static void keep_seed(const struct talk *t, const char *head, size_t n)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/check.kept", t->kept);
	f = fopen(path, "w");
	if (!f || fwrite(head, 1, n, f) != n || fputs(t->seed.s ? t->seed.s : "", f) < 0 ||
	    fclose(f))
		abort();
}

static void conversation(struct arena *a, const char *s, const char *end)
{
	struct talk *t = ARENA_NEW(a, struct talk);
	struct rsh_target targets[TALK_NODES];
	const struct rsh_how rsh_how = { 0 };
	const struct discover_how discover_how = { 0 };
	struct cluster cluster = { 0 };
	struct qualify q;
	const char *names[TALK_NODES];
	struct channel channel = { .names = names, .named = true, .ask = ask_nodes };
	const struct qualify_how how = { .budget_s = 5, .no_bench = true };
	struct err e = { 0 };
	const char *begin = s;
	struct rsh *r;
	int code;

	t->kept = getenv("FUZZ_SEEDS");
	s = read_how(s, end, t);
	talk_cut(t, a, s, end);
	for (size_t i = 0; i < t->n; i++) {
		targets[i].name = arena_printf(a, "n%zu", i);
		targets[i].address = names[i] = targets[i].name;
	}
	r = talk_open(t, a, targets, &rsh_how);
	code = cluster_discover(a, r, targets, &discover_how, &cluster, &e);
	if (code == 0) {
		channel.n = (unsigned)t->n;
		channel.ctx = r;
		code = qualify_run(a, &channel, &how, &q);
		if (q.interrupted != (code == -EINTR) || (code && code != -EINTR))
			abort();
		qualify_holds(&q);
		/* Answers live as long as the programs: what is kept of them must not. */
		if (t->kept)
			keep_seed(t, begin - 1, (size_t)(s - begin) + 1);
		talk_close(t, r);
		shown_holds(a, &cluster, &q);
		return;
	}
	if (code != -EINTR || !*e.text)
		abort();
	talk_close(t, r);
}

/* --- words for ssh ---------------------------------------------------------------------------- */

static void words(struct arena *a, char *text)
{
	char *at[6];
	struct rsh_target t;
	struct rsh_how how = { .self = "/usr/bin/gputune" };
	struct err e = { 0 };
	char **argv;
	size_t n = 0, most = 64 + (text ? strlen(text) : 0);

	for (size_t i = 0; i < 6; i++)
		at[i] = strsep(&text, "\n");
	t = (struct rsh_target){ .name = at[0] ? at[0] : "", .address = at[1] ? at[1] : "" };
	how.rsh = at[2] && *at[2] ? at[2] : NULL;
	how.program = at[3] && *at[3] ? at[3] : NULL;
	how.known_hosts = at[4] && *at[4] ? at[4] : NULL;
	how.identity = at[5] && *at[5] ? at[5] : NULL;
	argv = rsh_words(a, &t, &how, &e);
	if (!argv) {
		if (!*e.text)
			abort();
		return;
	}
	while (argv[n])
		n++;
	if (n < 2 || n > most || !cluster_name_valid(t.name) || !cluster_name_valid(t.address))
		abort();
	/* Behind the address everything is for the other machine's shell. */
	for (size_t i = 0, there = 0; !how.rsh && i < n; i++) {
		if (there && (!*argv[i] || strpbrk(argv[i], " \t\n\"'`$&|;<>(){}[]*?!~#\\")))
			abort();
		if (there == 0 && strcmp(argv[i], "--") == 0) {
			if (strcmp(argv[i + 1], t.address) != 0 || *argv[i + 1] == '-')
				abort();
			there = ++i;
		}
	}
}

/* --- a folder as root ------------------------------------------------------------------------- */

#define OUTSIDE "nothing of this is inside"

/* Beside it lies a file that nobody inside can get at. */
struct folder {
	char path[64];
	int beside, root, below; /* below: its folder "d" */
};

static int make_folder(int at, const char *name)
{
	if (mkdirat(at, name, 0700) && errno != EEXIST)
		abort();
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void put_file(int at, const char *name, const void *s, size_t n)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && write(fd, s, n) != (ssize_t)n)
		abort();
	if (fd >= 0)
		close(fd);
}

static void folder_open(struct folder *f)
{
	const char *in = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	snprintf(f->path, sizeof(f->path), "%s/gputune-fuzz-%d", in, (int)getpid());
	f->beside = make_folder(AT_FDCWD, f->path);
	f->root = make_folder(f->beside, "root");
	f->below = make_folder(f->root, "d");
	if (f->beside < 0 || f->root < 0 || f->below < 0)
		abort();
	put_file(f->beside, "outside", OUTSIDE, strlen(OUTSIDE));
	snprintf(f->path, sizeof(f->path), "%s/gputune-fuzz-%d/root", in, (int)getpid());
}

/* Where the section's name lies: a plain name, or one in "d". -1: it is neither. */
static int where_of(const struct folder *f, const struct talk_section *x, char name[40])
{
	bool below = x->ask_n > 2 && memcmp(x->ask, "d/", 2) == 0;
	const char *s = x->ask + (below ? 2 : 0);
	size_t n = x->ask_n - (below ? 2 : 0);

	if (!n || n > 32)
		return -1;
	memcpy(name, s, n);
	name[n] = '\0';
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") == n && strcmp(name, "d") != 0
		       ? (below ? f->below : f->root)
		       : -1;
}

static void folder_fill(const struct folder *f, struct arena *a, const struct talk_section *x)
{
	char name[40];
	int at = where_of(f, x, name);

	if (at < 0)
		return;
	if (x->node == 'f')
		put_file(at, name, x->s, x->n);
	else if (x->node == 'l' && symlinkat(arena_strndup(a, x->s, x->n), at, name) &&
		 errno != EEXIST && errno != ENOENT && errno != ENAMETOOLONG)
		abort();
	else if (x->node == 'p' && mkfifoat(at, name, 0600) && errno != EEXIST)
		abort();
}

static void folder_close(struct folder *f, const struct talk *t)
{
	char name[40];

	for (size_t i = 0; i < t->n_of; i++) {
		int at = where_of(f, &t->of[i], name);

		if (at >= 0)
			unlinkat(at, name, 0);
	}
	unlinkat(f->root, "d", AT_REMOVEDIR);
	unlinkat(f->beside, "outside", 0);
	unlinkat(f->beside, "root", AT_REMOVEDIR);
	*strrchr(f->path, '/') = '\0';
	if (rmdir(f->path))
		abort();
	close(f->beside);
	close(f->root);
	close(f->below);
}

static void look_inside(struct arena *a, const struct stack_root *root, const char *path)
{
	enum { MOST = 1 << 16 };
	char target[256], **names, *text = NULL;
	enum host_kind kind;
	size_t n = 0, k = 0;
	int r = host_read(root->h, path, MOST, a, &text, &n);

	if (r == 0 && (n > MOST || memmem(text, n, OUTSIDE, strlen(OUTSIDE))))
		abort();
	if (host_link(root->h, path, target, sizeof(target)) == 0 &&
	    (host_kind(root->h, path, &kind) || kind != HOST_LINK))
		abort();
	if (host_list(root->h, path, a, &names, &k) == 0)
		for (size_t i = 0; i < k; i++)
			if (strcmp(names[i], "outside") == 0 || strchr(names[i], '/'))
				abort();
}

static void root_folder(struct arena *a, const char *s, const char *end)
{
	struct talk *t = ARENA_NEW(a, struct talk);
	struct stack_root root = { .contents = true };
	struct folder f;
	struct err e = { 0 };

	talk_cut(t, a, s, end);
	folder_open(&f);
	for (size_t i = 0; i < t->n_of; i++)
		folder_fill(&f, a, &t->of[i]);
	root.h = rootfs_open(f.path, &root.fd, &e);
	for (size_t i = 0; root.h && i < t->n_of; i++)
		look_inside(a, &root, arena_strndup(a, t->of[i].ask, t->of[i].ask_n));
	for (size_t i = 0; root.h && i < t->n_of; i++)
		look_inside(a, &root, arena_printf(a, "/%.*s", (int)t->of[i].ask_n, t->of[i].ask));
	if (root.h)
		host_close(root.h);
	else if (!*e.text)
		abort();
	folder_close(&f, t);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after;
	struct arena a = { 0 };

	close(before);
	if (size && *data == 'c')
		conversation(&a, (const char *)data + 1, (const char *)data + size);
	else if (size && *data == 'd')
		kept_discovery(&a, (const char *)data + 1, size - 1);
	else if (size && *data == 'w')
		words(&a, arena_strndup(&a, (const char *)data + 1, size - 1));
	else if (size && *data == 'r')
		root_folder(&a, (const char *)data + 1, (const char *)data + size);
	arena_free(&a);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(after);
	if (before != after)
		abort();
	return 0;
}
