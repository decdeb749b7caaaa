/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands before a line because something passed the job's output on: whose line it is
 * (torchrun, srun --label, mpirun, Hydra, Ray), when it came (kubectl logs --timestamps, docker
 * logs -t, journalctl) and where from (kubectl logs --prefix, docker compose, pdsh). Tables are
 * known by how their rows begin, so each prefix is taken with the one blank that it puts there, and
 * blanks of the line itself stay.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

/* Of pods and containers there are long names; what is longer than that is no name. */
enum { RANK_MOST = 1000000, PREFIXES_MOST = 6, NAME_MOST = 600 };

/* Each takes one prefix off s; NULL: there is none of that kind. */
typedef const char *(*taker)(const char *s, struct prefix *p);

/* Behind one blank, or at the end of an empty line, whose blank gets lost on the way. */
static const char *one_blank(const char *s)
{
	if (!s || !*s)
		return s;
	return *s == ' ' ? s + 1 : NULL;
}

/* Behind text like the form, where '0' is a digit, 'a' a letter and '_' a digit or blank. */
static const char *formed(const char *s, const char *form)
{
	for (; *form; s++, form++) {
		unsigned char c = (unsigned char)*s;
		bool ok = *form == '0'	 ? isdigit(c)
			  : *form == 'a' ? isalpha(c)
			  : *form == '_' ? isdigit(c) || c == ' '
					 : *s == *form;

		if (!ok)
			return NULL;
	}
	return s;
}

/* Behind a name of a host, program, pod or container, of letters, digits and more. */
static const char *name(const char *s, const char *more)
{
	const char *p = s;

	while (p - s < NAME_MOST && *p && (isalnum((unsigned char)*p) || strchr(more, *p)))
		p++;
	return p > s ? p : NULL;
}

static bool prefix_rank_of(const char *s, int *rank, const char **end)
{
	char *stop;
	long v;

	if (!isdigit((unsigned char)*s))
		return false;
	v = strtol(s, &stop, 10);
	if (v > RANK_MOST || stop - s > 7)
		return false;
	*rank = (int)v;
	*end = stop;
	return true;
}

/* --- whose line it is ------------------------------------------------------------------------- */

/* "[rank3]:", "[default3]:": the role's name and the rank on its node. */
static const char *prefix_torchrun(const char *s, struct prefix *p)
{
	static const char *const roles[] = { "[rank", "[default", "[trainer" };
	const char *end;
	int r;

	s += strspn(s, " ");
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (str_starts(s, roles[i]) && prefix_rank_of(s + strlen(roles[i]), &r, &end) &&
		    str_starts(end, "]:")) {
			p->local = r;
			return end + 2;
		}
	return NULL;
}

/* "<stdout>:", with the one blank that PMIx (Open MPI 5) puts behind it. Open MPI 4 puts none, and
 * more than one are the line's. */
static const char *stream(const char *s)
{
	if (!str_starts(s, "<std") || !(s = strchr(s, ':')))
		return NULL;
	return s[1] == ' ' && s[2] != ' ' ? s + 2 : s + 1;
}

/* "[1,3]<stdout>:"; since Open MPI 5 also "[3]<stdout>: ", "[prterun-node1-412@1,3]<stdout>: ",
 * "[1,3][node1:412]<stdout>: ", and each of them behind "[Sun Nov 22 10:00:00 2026]". */
static const char *mpirun(const char *s, struct prefix *p)
{
	const char *at, *end;
	int r = -1;

	s += strspn(s, " ");
	if ((at = formed(s, "[aaa aaa _0 00:00:00 0000]"))) {
		if ((end = stream(at)))
			return end;
		s = at;
	}
	if (*s != '[')
		return NULL;
	if (!(at = name(s + 1, "._-@")) || (*at == ',' && !prefix_rank_of(at + 1, &r, &at)) ||
	    *at != ']')
		return NULL;
	/* Without a comma the name is the rank. */
	if (!memchr(s, ',', (size_t)(at - s)) && (!prefix_rank_of(s + 1, &r, &end) || end != at))
		return NULL;
	at++;
	if (*at == '[') {
		if (!(end = name(at + 1, "._-:")) || *end != ']')
			return NULL;
		at = end + 1;
	}
	if (!(at = stream(at)))
		return NULL;
	p->task = r;
	return at;
}

/* "3: ", or " 3: " where there are ten tasks */
static const char *srun(const char *s, struct prefix *p)
{
	const char *end;
	int r;

	s += strspn(s, " ");
	if (!prefix_rank_of(s, &r, &end) || *end != ':' || (end[1] && end[1] != ' '))
		return NULL;
	p->task = r;
	return one_blank(end + 1);
}

/* "(pid=412) ", "(Worker pid=412, ip=10.0.0.5) " */
static const char *ray(const char *s, struct prefix *p)
{
	const char *pid = *s == '(' ? strstr(s, "pid=") : NULL,
		   *end = *s == '(' ? strchr(s, ')') : NULL;

	(void)p;
	if (!pid || !end || pid > end || end - s > NAME_MOST || !isdigit((unsigned char)pid[4]))
		return NULL;
	return one_blank(end + 1);
}

/* --- when it came ----------------------------------------------------------------------------- */

/* ".123456789" or ",123", then "Z", "+01:00" or "+0100"; each may be missing. */
static const char *fraction_and_zone(const char *s)
{
	const char *zone;

	if ((*s == '.' || *s == ',') && isdigit((unsigned char)s[1]))
		s += 1 + strspn(s + 1, "0123456789");
	if (*s == 'Z')
		return s + 1;
	if (*s != '+' && *s != '-')
		return s;
	zone = formed(s + 1, "00:00");
	return zone ? zone : formed(s + 1, "0000");
}

/* "host program[412]: " of a journal, or "host kernel: ". pid: without a number it is none. */
static const char *journal(const char *s, bool pid)
{
	const char *p = name(s, "._-"), *end;

	p = p && *p == ' ' ? name(p + 1, "._-/@") : NULL;
	if (!p)
		return NULL;
	if (*p == '[') {
		end = p + 1 + strspn(p + 1, "0123456789");
		if (end == p + 1 || *end != ']')
			return NULL;
		p = end + 1;
	} else if (pid) {
		return NULL;
	}
	return *p == ':' ? one_blank(p + 1) : NULL;
}

/* "2026-11-22T10:00:00.123456789Z ", with the stream of a container's log file ("stdout F ") or a
 * journal's host and program behind it. */
static const char *iso(const char *s, struct prefix *prefix)
{
	static const char *const streams[] = { "stdout F", "stdout P", "stderr F", "stderr P" };
	const char *p = formed(s, "aaa 0000-00-00 00:00:00"), *zone, *more;
	bool full = p != NULL;

	(void)prefix;
	if (!p)
		p = formed(s, "0000-00-00T00:00:00");
	if (!p)
		p = formed(s, "0000-00-00 00:00:00");
	p = p ? one_blank(fraction_and_zone(p)) : NULL;
	if (!p)
		return NULL;
	/* "Sun 2026-11-22 10:00:00 UTC host ..." */
	zone = full ? name(p, "+-") : NULL;
	if (zone && *zone == ' ')
		p = zone + 1;
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
		if (str_starts(p, streams[i]) && (more = one_blank(p + strlen(streams[i]))))
			return more;
	more = journal(p, true);
	return more ? more : p;
}

/* "Nov 22 10:00:00 host program[412]: " */
static const char *syslog_line(const char *s, struct prefix *prefix)
{
	const char *p = formed(s, "aaa _0 00:00:00");

	(void)prefix;
	p = p ? one_blank(fraction_and_zone(p)) : NULL;
	return p ? journal(p, false) : NULL;
}

/* --- where from ------------------------------------------------------------------------------- */

/* "[pod/train-0/main] " */
static const char *pod(const char *s, struct prefix *prefix)
{
	const char *p = str_starts(s, "[pod/") ? name(s + 5, "._-/") : NULL;

	if (!p || *p != ']')
		return NULL;
	prefix->from = s;
	prefix->from_n = (size_t)(p - s);
	return one_blank(p + 1);
}

/* "train-1  | " */
static const char *compose(const char *s, struct prefix *prefix)
{
	const char *p = name(s, "._-"), *digits = p;

	while (digits && digits > s && isdigit((unsigned char)digits[-1]))
		digits--;
	if (!p || digits == p || digits == s || !strchr("-_", digits[-1]) || *p != ' ')
		return NULL;
	prefix->from_n = (size_t)(p - s);
	p += strspn(p, " ");
	if (*p != '|')
		return NULL;
	prefix->from = s;
	return one_blank(p + 1);
}

/* "node01: " of pdsh (and what starts jobs by it, as DeepSpeed does) and clush: only where all of
 * the file is like that, since many other words stand before a colon. */
static const char *prefix_host(const char *s, struct prefix *prefix)
{
	const char *p = isalpha((unsigned char)*s) ? name(s, "._-") : NULL;
	char word[64];
	bool odd = false;

	if (!p || *p != ':' || (size_t)(p - s) >= sizeof(word) || str_starts(s, "rank"))
		return NULL;
	memcpy(word, s, (size_t)(p - s));
	word[p - s] = '\0';
	for (const char *c = word; *c; c++)
		odd = odd || isdigit((unsigned char)*c) || *c == '-' || *c == '.';
	if (!odd || read_own_name(word))
		return NULL;
	prefix->host = true;
	prefix->from = s;
	prefix->from_n = (size_t)(p - s);
	return one_blank(p + 1);
}

/* "[0] " of Hydra (MPICH, Intel MPI, MVAPICH) with -prepend-rank: only where all of the file is
 * like that, since steps are numbered so too. */
static const char *hydra(const char *s, struct prefix *p)
{
	const char *end;
	int r;

	if (*s != '[' || !prefix_rank_of(s + 1, &r, &end) || *end != ']')
		return NULL;
	p->hydra = true;
	p->task = r;
	return one_blank(end + 1);
}

static const char *prefix_take(const struct prefix_kinds *k, const char *s, struct prefix *p)
{
	static const taker takers[] = { prefix_torchrun, mpirun, srun,	 ray, iso,
					syslog_line,	 pod,	 compose };
	const char *next = NULL;

	for (size_t i = 0; !next && i < sizeof(takers) / sizeof(takers[0]); i++)
		next = takers[i](s, p);
	if (!next && k && k->host)
		next = prefix_host(s, p);
	if (!next && k && k->hydra)
		next = hydra(s, p);
	return next;
}

const char *read_prefix(const struct prefix_kinds *k, const char *s, struct prefix *p)
{
	*p = (struct prefix){ .task = -1, .local = -1 };
	for (int left = PREFIXES_MOST; left; left--) {
		const char *next = prefix_take(k, s, p);

		if (!next)
			break;
		s = next;
	}
	return s;
}

int prefix_rank(const struct prefix_kinds *k, const struct prefix *p)
{
	if (p->local < 0)
		return p->task;
	if (!k || !k->nodes)
		return p->local;
	/* torchrun counts node by node. */
	return k->per_node && p->task >= 0 && p->local < k->per_node
		       ? p->task * k->per_node + p->local
		       : -1;
}

unsigned prefix_owner(const struct prefix *p)
{
	unsigned h = (unsigned)(p->task + 1) * 65599U + (unsigned)(p->local + 1);

	for (size_t i = 0; i < p->from_n && p->from; i++)
		h = h * 31 + (unsigned char)p->from[i];
	return h;
}

/* What the lines of a file begin with: which prefixes it has that could be anything else in one
 * line alone. */

enum { LOOK_AT = 1 << 20, LINE_HEAD = 1024, NUMBERS_LEAST = 3, TASKS_MAX = 1024, LOCALS_MAX = 64 };

/* What is counted over the lines of a file's beginning. */
struct tally {
	size_t lines, host, hydra;
	int first, last; /* numbers in brackets: the first, the one before */
	bool differ, falls;
	unsigned from; /* where the first line came from */
	bool begun, many;
	uint64_t local[TASKS_MAX]; /* bit i: a line of that task's i-th rank */
	int tasks;
};

static void numbers(struct tally *t, int number)
{
	t->first = t->hydra++ ? t->first : number;
	t->differ = t->differ || number != t->first;
	t->falls = t->falls || (t->hydra > 1 && number < t->last);
	t->last = number;
}

static void count(struct tally *t, const struct prefix *p)
{
	t->lines++;
	t->host += p->host;
	if (p->hydra)
		numbers(t, p->task);
}

/* Beside a rank on a node the other labels are the node's. */
static void prefix_nodes(struct tally *t, const struct prefix *p)
{
	struct prefix node = *p;
	unsigned from;

	if (p->task < 0 && !p->from)
		return;
	node.local = -1;
	if (p->task >= 0 && p->task < TASKS_MAX && p->local >= 0 && p->local < LOCALS_MAX) {
		t->local[p->task] |= (uint64_t)1 << p->local;
		t->tasks = p->task >= t->tasks ? p->task + 1 : t->tasks;
	}
	from = prefix_owner(&node);
	t->many = t->many || p->task > 0 || (t->begun && from != t->from);
	t->from = t->begun ? t->from : from;
	t->begun = true;
}

/* Ranks on a node; 0: some are missing, or one is all that anybody shows, which says nothing of how
 * many there are. */
static int per_node(const struct tally *t)
{
	uint64_t all = t->local[0];
	int n = 0;

	while (n < LOCALS_MAX && all >> n & 1)
		n++;
	if (n < 2 || (n < LOCALS_MAX && all >> n))
		return 0;
	for (int i = 0; i < t->tasks; i++)
		if (t->local[i] != all)
			return 0;
	return n;
}

static void each_line(const struct prefix_kinds *k, const char *text, size_t size, struct tally *t,
		      void (*look)(struct tally *, const struct prefix *))
{
	const char *end = text + (size < LOOK_AT ? size : LOOK_AT);
	char head[LINE_HEAD];
	struct prefix p;

	for (const char *s = text; s < end;) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((stop ? stop : end) - s);
		size_t cut = n < sizeof(head) ? n : sizeof(head) - 1;

		memcpy(head, s, cut);
		head[cut] = '\0';
		if (*read_prefix(k, head, &p))
			look(t, &p);
		s += n + 1;
	}
}

void prefix_look(struct prefix_kinds *k, const char *text, size_t size)
{
	static const struct prefix_kinds any = { .host = true, .hydra = true };
	struct tally t = { 0 };

	each_line(&any, text, size, &t, count);
	/* The launcher's own lines have no name; steps rise, ranks print in any order. */
	k->host = t.host > 0 && 3 * t.host >= 2 * t.lines;
	k->hydra = t.hydra >= NUMBERS_LEAST && 3 * t.hydra >= 2 * t.lines &&
		   (t.falls || (!t.differ && t.first == 0));
	each_line(k, text, size, &t, prefix_nodes);
	k->nodes = t.many;
	k->per_node = per_node(&t);
}
