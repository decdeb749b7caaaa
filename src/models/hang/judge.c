/* SPDX-License-Identifier: Apache-2.0 */
/* What processes wait in, and which of them holds the others. */
#include <string.h>

#include "base/text.h"
#include "models/hang/hang.h"

/* --- a process -------------------------------------------------------------------------------- */

/* A function is named as a whole, or by how it begins ("eval*"): "wait" is not "waiting", but is
 * the end of "Event.wait". */
static bool is_function(const char *words, const char *function)
{
	const char *last = strrchr(function, '.');

	last = last ? last + 1 : function;
	for (; words && *words; words += strcspn(words, "|"), words += *words == '|') {
		size_t n = strcspn(words, "|");
		bool part = n && words[n - 1] == '*';

		if ((part || n == strlen(last)) && strncmp(words, last, n - part) == 0)
			return true;
	}
	return !words;
}

static bool of_frame(const struct wait_sign *s)
{
	return s->function || s->file || s->source;
}

static bool fits_frame(const struct wait_sign *s, const struct stack_frame *f)
{
	return is_function(s->function, f->function) && str_has_any(s->file, f->file) &&
	       (!s->source || (f->source && str_has_any(s->source, f->source)));
}

const struct wait_sign *hang_native(const char *frame)
{
	for (size_t i = 0; i < n_wait_signs; i++)
		if (wait_signs[i].native && str_has_any(wait_signs[i].native, frame))
			return &wait_signs[i];
	return NULL;
}

/* Of a thread that sleeps, frames of calls that have returned may be among them. */
static bool fits_native(const struct wait_sign *s, const struct stack_thread *t)
{
	ARENA_AUTO a = { 0 };

	for (size_t i = 0; s->native && t->state == 'R' && i < t->n_c; i++)
		if (str_has_any(s->native, arena_printf(&a, "%s:%s", t->c_frames[i].file,
							t->c_frames[i].function)))
			return true;
	return !s->native;
}

static bool fits_thread(const struct wait_sign *s, const struct stack_thread *t)
{
	size_t n = s->top && t->n ? 1 : t->n;

	if (!fits_native(s, t) || !str_has_any(s->library, t->library) ||
	    !str_has_any(s->syscall, t->syscall) || !str_has_any(s->kernel, t->wait))
		return false;
	for (size_t i = 0; of_frame(s) && i < n; i++)
		if (fits_frame(s, &t->frames[i]))
			return true;
	return !of_frame(s);
}

/* Files of Python and of packages are not the user's. */
static bool is_users(const struct stack_frame *f)
{
	return !strstr(f->file, "/site-packages/") && !strstr(f->file, "/dist-packages/") &&
	       !strstr(f->file, "/lib/python") && *f->file != '<';
}

static void users_frame(struct hang_process *p, const struct stack_thread *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (is_users(&t->frames[i])) {
			p->function = t->frames[i].function;
			p->file = t->frames[i].file;
			p->line = t->frames[i].line;
			p->source = t->frames[i].source;
			return;
		}
}

/* The collective's name: the outermost function of torch.distributed, or as the line calls it. */
static const char *collective_of(struct arena *a, const struct stack_thread *t)
{
	static const char names[] =
		"all_reduce|all_gather_into_tensor|all_gather|reduce_scatter_tensor|"
		"reduce_scatter|broadcast|barrier|all_to_all_single|all_to_all|gather|scatter|"
		"reduce|send|recv|monitored_barrier|Allreduce|Barrier|Bcast|";

	for (size_t i = t->n; i-- > 0;)
		for (const char *w = names; *w; w = strchr(w, '|') + 1) {
			const char *name = arena_strndup(a, w, strcspn(w, "|"));

			if (is_function(name, t->frames[i].function) ||
			    (t->frames[i].source &&
			     strstr(t->frames[i].source, arena_printf(a, ".%s(", name))))
				return name;
		}
	return NULL;
}

static bool same_stack(const struct stack_thread *x, const struct stack_thread *y)
{
	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (x->frames[i].line != y->frames[i].line ||
		    strcmp(x->frames[i].function, y->frames[i].function) != 0)
			return false;
	return true;
}

static const struct stack_thread *thread_before(const struct stack_process *before, pid_t tid)
{
	for (size_t i = 0; i < before->n; i++)
		if (before->threads[i].tid == tid)
			return &before->threads[i];
	return NULL;
}

static void set_kind(struct hang_process *p, const char *kind, const char *says, const char *next)
{
	p->kind = kind;
	p->says = says;
	p->next = next;
}

void hang_classify(struct arena *a, const struct stack_process *before, double seconds,
		   struct hang_process *p)
{
	const struct stack_thread *t = p->at.n ? &p->at.threads[0] : NULL;
	const struct stack_thread *old = t ? thread_before(before, t->tid) : NULL;

	p->thread = t;
	if (p->at.ends || !t) {
		set_kind(p, "ended", "has ended",
			 "look at its log and exit code; search dmesg for the OOM killer");
		return;
	}
	p->busy = old && seconds > 0 ? (t->cpu_s - old->cpu_s) / seconds : 0;
	p->moves = old && (!same_stack(t, old));
	users_frame(p, t);
	if (t->state == 'T' || t->state == 't') {
		set_kind(p, "stopped", "is stopped (signal, debugger or freezer)",
			 "kill -CONT continues it, if a signal stopped it");
		return;
	}
	for (size_t i = 0; i < n_wait_signs; i++)
		if (fits_thread(&wait_signs[i], t)) {
			set_kind(p, wait_signs[i].kind, wait_signs[i].says, wait_signs[i].next);
			if (strcmp(p->kind, "collective") == 0)
				p->operation = collective_of(a, t);
			return;
		}
	if (p->busy > 0.5 || (t->state == 'R' && old && old->state == 'R'))
		set_kind(p, "spinning", p->moves ? "computes on the CPU" : "spins on the CPU",
			 "that line is an endless loop, or takes long");
	else
		set_kind(p, "unknown", "waits for an unknown event",
			 "run as root to see kernel functions and other users' processes");
}

/* --- evidence --------------------------------------------------------------------------------- */

static void evidence(struct arena *a, struct hang_view *v, const char *text)
{
	ARENA_ADD(a, v->evidence, v->n_evidence) = text;
}

static const char *name_of(struct arena *a, const struct hang_process *p)
{
	return p->at.rank >= 0 ? arena_printf(a, "rank %d", p->at.rank)
			       : arena_printf(a, "process %d", (int)p->at.pid);
}

static const char *place_of_frame(struct arena *a, const struct hang_process *p)
{
	return p->file ? arena_printf(a, " at %s:%d (%s)", p->file, p->line, p->function) : "";
}

/* Ranks of one job with several builds of NCCL do not understand each other. */
static void different_nccl(struct arena *a, struct hang_view *v)
{
	const struct hang_process *first = NULL;

	for (size_t i = 0; i < v->n; i++) {
		const struct hang_process *p = &v->processes[i];

		if (!p->at.nccl)
			continue;
		if (!first)
			first = p;
		else if (strcmp(first->at.nccl, p->at.nccl) != 0)
			evidence(a, v,
				 arena_printf(
					 a,
					 "%s has NCCL %s, %s has %s: all ranks need the same build",
					 name_of(a, first), first->at.nccl, name_of(a, p),
					 p->at.nccl));
	}
}

/* The lines of RAS that report a fault. */
static void ras_faults(struct arena *a, struct hang_view *v)
{
	static const char words[] = "INCOMPLETE|MISMATCH|ERROR|DEAD|missing|lag|timed out";

	for (const char *s = v->ras, *end; s && *s && v->n_evidence < 64; s = end) {
		size_t n = strcspn(s, "\n");
		const char *line = utf8_clean(a, arena_strndup(a, s, n < 200 ? n : 200));

		end = s + n + (s[n] != '\0');
		if (str_has_any(words, line))
			evidence(a, v, arena_printf(a, "NCCL RAS: %s", line));
	}
}

static bool in_collective(const struct hang_process *p)
{
	return strcmp(p->kind, "collective") == 0;
}

/* --- the flight recorders --------------------------------------------------------------------- */

static const struct flight_entry *entry_of(const struct flight_dump *d, const char *group,
					   long long sequence)
{
	for (size_t i = d->n; i-- > 0;)
		if (d->entries[i].sequence == sequence && strcmp(d->entries[i].group, group) == 0)
			return &d->entries[i];
	return NULL;
}

/* The oldest collective that some rank has not completed. */
static const struct flight_entry *first_open(const struct hang_view *v)
{
	const struct flight_entry *open = NULL;

	for (size_t d = 0; d < v->n_dumps; d++)
		for (size_t i = 0; i < v->dumps[d].n; i++) {
			const struct flight_entry *e = &v->dumps[d].entries[i];

			if (strcmp(e->state, "completed") != 0 &&
			    (!open || e->sequence < open->sequence))
				open = e;
		}
	return open;
}

static void blame(struct hang_view *v, const char *kind, int rank, const char *operation,
		  const char *verdict, const char *next)
{
	v->kind = kind;
	v->rank = rank;
	v->operation = operation;
	v->verdict = verdict;
	v->next = next;
}

static const char *called_at(struct arena *a, const struct flight_entry *e)
{
	return e->file ? arena_printf(a, ", called at %s:%lld", e->file, e->line) : "";
}

static bool judge_dumps(struct arena *a, struct hang_view *v)
{
	const struct flight_entry *open = first_open(v);

	for (size_t d = 0; open && d < v->n_dumps; d++) {
		const struct flight_dump *dump = &v->dumps[d];
		const struct flight_entry *e = entry_of(dump, open->group, open->sequence);
		const char *last = dump->n ? dump->entries[dump->n - 1].operation : "nothing";

		if (!e) {
			blame(v, "straggler", dump->rank, open->operation,
			      arena_printf(a,
					   "rank %d never called %s (number %lld of group %s%s); "
					   "its last call was %s",
					   dump->rank, open->operation, open->sequence, open->group,
					   called_at(a, open), last),
			      "look at that rank: gputune diagnose hang PID on its node");
			return true;
		}
		if (strcmp(e->operation, open->operation) != 0 ||
		    strcmp(e->sizes, open->sizes) != 0) {
			blame(v, "mismatch", dump->rank, open->operation,
			      arena_printf(a,
					   "rank %d called %s %s where others called %s %s (number "
					   "%lld of group %s%s)",
					   dump->rank, e->operation, e->sizes, open->operation,
					   open->sizes, open->sequence, open->group,
					   called_at(a, e)),
			      "ranks take different paths through the program: compare the lines");
			return true;
		}
	}
	if (open)
		blame(v, "network", -1, open->operation,
		      arena_printf(a,
				   "all %zu ranks called %s (number %lld of group %s), but it does "
				   "not complete: check network and NCCL",
				   v->n_dumps, open->operation, open->sequence, open->group),
		      "gputune cluster check; gputune stack check for NCCL's known defects");
	return open != NULL;
}

/* --- the processes ---------------------------------------------------------------------------- */

/* The operation that most are in. */
static const char *most_called(const struct hang_view *v)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < v->n; i++) {
		size_t same = 0;

		for (size_t k = 0; v->processes[i].operation && k < v->n; k++)
			same += v->processes[k].operation &&
				strcmp(v->processes[k].operation, v->processes[i].operation) == 0;
		if (same > most) {
			most = same;
			best = v->processes[i].operation;
		}
	}
	return best;
}

/* Ranks that are elsewhere than in the collective of the others. */
static bool judge_ranks(struct arena *a, struct hang_view *v, size_t waiting)
{
	const char *operation = most_called(v);

	for (size_t i = 0; i < v->n; i++) {
		const struct hang_process *p = &v->processes[i];

		if (p->at.rank < 0 && v->n > 1 && !in_collective(p) &&
		    strcmp(p->kind, "ended") != 0)
			continue;
		if (in_collective(p) &&
		    (!p->operation || !operation || strcmp(p->operation, operation) == 0))
			continue;
		if (in_collective(p))
			blame(v, "mismatch", p->at.rank, operation,
			      arena_printf(a, "%s is in %s%s while others are in %s", name_of(a, p),
					   p->operation, place_of_frame(a, p), operation),
			      "ranks take different paths through the program: compare the lines");
		else
			blame(v, strcmp(p->kind, "ended") == 0 ? "dead" : "straggler", p->at.rank,
			      operation,
			      arena_printf(a, "%s %s%s; %zu rank%s wait%s for it in %s",
					   name_of(a, p), p->says, place_of_frame(a, p), waiting,
					   PLURAL(waiting), waiting == 1 ? "s" : "",
					   operation ? operation : "a collective"),
			      p->next);
		return true;
	}
	return false;
}

static void judge_one(struct arena *a, struct hang_view *v)
{
	const struct hang_process *p = NULL;

	/* The most telling: what has ended or is stopped, then what is known, of a rank first. */
	for (size_t i = 0; i < v->n; i++) {
		const struct hang_process *q = &v->processes[i];
		bool telling = strcmp(q->kind, "child") != 0 && strcmp(q->kind, "unknown") != 0;

		if (!p || (strcmp(q->kind, "ended") == 0 && strcmp(p->kind, "ended") != 0) ||
		    (telling &&
		     (strcmp(p->kind, "child") == 0 || strcmp(p->kind, "unknown") == 0 ||
		      (p->at.rank < 0 && q->at.rank >= 0 && strcmp(p->kind, "ended") != 0))))
			p = q;
	}
	if (!p)
		return;
	if (p->moves && p->busy > 0.05)
		blame(v, "moving", p->at.rank, p->operation,
		      arena_printf(a, "%s makes progress: its stack changes%s", name_of(a, p),
				   place_of_frame(a, p)),
		      "the job is slow, not hung: run gputune diagnose --attach");
	else
		blame(v, p->kind, p->at.rank, p->operation,
		      arena_printf(a, "%s %s%s", name_of(a, p), p->says, place_of_frame(a, p)),
		      p->next);
}

/* What a process that has ended was is not to be read any more: it is the one rank that is missing.
 */
static void rank_of_ended(struct hang_view *v)
{
	int top = -1, missing = -1, gaps = 0;
	bool there;

	for (size_t i = 0; i < v->n; i++)
		top = v->processes[i].at.rank > top ? v->processes[i].at.rank : top;
	for (int rank = 0; rank < top; rank++) {
		there = false;
		for (size_t i = 0; i < v->n; i++)
			there = there || v->processes[i].at.rank == rank;
		missing = there ? missing : rank;
		gaps += !there;
	}
	for (size_t i = 0; gaps == 1 && i < v->n; i++)
		if (v->processes[i].at.ends && v->processes[i].at.rank < 0)
			v->processes[i].at.rank = missing;
}

/* A collective of NCCL is launched, and its rank waits for the GPU later. */
static bool waits_for_nccl(const struct hang_process *p)
{
	return p->at.rank >= 0 && p->at.nccl && !p->moves && strcmp(p->kind, "synchronizing") == 0;
}

/* Where a rank does not go on, and is not at its GPU, the ones that are wait for it. */
static void launched_collectives(struct hang_view *v)
{
	bool elsewhere = false;

	for (size_t i = 0; i < v->n; i++)
		elsewhere = elsewhere || (v->processes[i].at.rank >= 0 && !v->processes[i].moves &&
					  !waits_for_nccl(&v->processes[i]));
	for (size_t i = 0; i < v->n && elsewhere; i++)
		if (waits_for_nccl(&v->processes[i]))
			v->processes[i].kind = "collective";
}

/* NCCL's RAS does not reach all ranks of the job. */
static bool judge_missing(struct arena *a, struct hang_view *v)
{
	for (size_t i = 0; i < v->n && v->ras && strstr(v->ras, "INCOMPLETE"); i++) {
		const struct hang_process *p = &v->processes[i];

		if (!waits_for_nccl(p) && !in_collective(p))
			continue;
		blame(v, "dead", -1, p->operation,
		      arena_printf(a,
				   "%s %s%s, and NCCL's RAS does not reach all ranks: a rank has "
				   "ended, or its node is unreachable",
				   name_of(a, p), p->says, place_of_frame(a, p)),
		      "find the rank that is missing: its log and exit code, dmesg of its node");
		return true;
	}
	return false;
}

void hang_judge(struct arena *a, struct hang_view *v)
{
	size_t waiting = 0;

	rank_of_ended(v);
	launched_collectives(v);

	v->rank = -1;
	v->kind = "unknown";
	v->verdict = "no further step";
	for (size_t i = 0; i < v->n; i++) {
		const struct hang_process *p = &v->processes[i];

		waiting += in_collective(p);
		evidence(a, v,
			 arena_printf(a, "%s %s%s", name_of(a, p), p->says, place_of_frame(a, p)));
	}
	different_nccl(a, v);
	ras_faults(a, v);
	if (v->n_dumps && judge_dumps(a, v))
		return;
	if ((waiting && judge_ranks(a, v, waiting)) || judge_missing(a, v))
		return;
	if (waiting > 1)
		blame(v, "network", -1, most_called(v),
		      arena_printf(a,
				   "all %zu ranks are in %s, but it does not complete: check "
				   "network and NCCL",
				   waiting, most_called(v) ? most_called(v) : "a collective"),
		      "gputune cluster check; gputune stack check for NCCL's known defects");
	else if (v->n)
		judge_one(a, v);
	else if (v->n_dumps)
		v->verdict = "every collective of these dumps completed";
}
