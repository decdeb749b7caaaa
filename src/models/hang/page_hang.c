/* SPDX-License-Identifier: Apache-2.0 */
/* A hang as a result and as a page. */
#include "base/text.h"
#include "models/hang/hang.h"

/* clang-format off */
static const struct shape stack_frame_shape = SHAPE_OF(stack_frame, stack_frame,
	{ "function", NULL, SHAPE_TEXT(stack_frame, function) },
	{ "file", NULL, SHAPE_TEXT(stack_frame, file) },
	{ "line", NULL, SHAPE_COUNT(stack_frame, line) });

static const char *thread_state(const void *object)
{
	switch (((const struct stack_thread *)object)->state) {
	case 'R': return "running";
	case 'S': return "sleeping";
	case 'D': return "disk";
	case 'T': case 't': return "stopped";
	case 'Z': return "zombie";
	default: return "unknown";
	}
}

static const struct shape stack_thread_shape = SHAPE_OF(stack_thread, stack_thread,
	{ "tid", NULL, SHAPE_COUNT(stack_thread, tid) },
	{ "name", NULL, SHAPE_TEXT(stack_thread, name) },
	{ "state", NULL, SHAPE_TEXT_OF(thread_state) },
	{ "system_call", NULL, SHAPE_TEXT(stack_thread, syscall) },
	{ "kernel_function", NULL, SHAPE_TEXT(stack_thread, wait) },
	{ "library", "Rank that made the call.", SHAPE_TEXT(stack_thread, library) },
	{ "frames", "Python frames, innermost first.", SHAPE_LIST(stack_thread, frames, n, stack_frame) },
	{ "c_frames", "C frames, innermost first; may include frames of calls that have returned.",
	  SHAPE_LIST(stack_thread, c_frames, n_c, stack_frame) });

static const struct shape hang_process_shape = SHAPE_OF(hang_process, hang_process,
	{ "pid", NULL, SHAPE_COUNT(hang_process, at.pid) },
	{ "rank", NULL, SHAPE_COUNT(hang_process, at.rank), .unknown = SHAPE_NEGATIVE },
	{ "command", NULL, SHAPE_TEXT(hang_process, at.command) },
	{ "python", "Version.", SHAPE_TEXT(hang_process, at.python), .unknown = SHAPE_NULL },
	{ "kind", "Operation that the process is in.", SHAPE_TEXT(hang_process, kind) },
	{ "operation", "The collective.", SHAPE_TEXT(hang_process, operation), .unknown = SHAPE_NULL },
	{ "nccl", "Mapped libnccl of the process.", SHAPE_TEXT(hang_process, at.nccl), .unknown = SHAPE_NULL },
	{ "file", "Innermost line of the user's program.", SHAPE_TEXT(hang_process, file), .unknown = SHAPE_NULL },
	{ "line", NULL, SHAPE_COUNT(hang_process, line) },
	{ "cpus", "CPU time used between two samples.", SHAPE_REAL(hang_process, busy) },
	{ "moves", "true: the stack changed between two samples.", SHAPE_FLAG(hang_process, moves) },
	{ "missing", "Reason for missing Python frames.", SHAPE_TEXT(hang_process, at.missing), .unknown = SHAPE_NULL },
	{ "threads", NULL, SHAPE_LIST(hang_process, at.threads, at.n, stack_thread) });

static const struct shape flight_dump_shape = SHAPE_OF(flight_dump, flight_dump,
	{ "file", NULL, SHAPE_TEXT(flight_dump, from) },
	{ "rank", NULL, SHAPE_COUNT(flight_dump, rank), .unknown = SHAPE_NEGATIVE },
	{ "collectives", NULL, SHAPE_COUNT(flight_dump, n) });

static const struct shape hang_shape = SHAPE_OF(hang_view, hang,
	{ "kind", "straggler, mismatch, dead, network, moving, or the operation of the process.",
	  SHAPE_TEXT(hang_view, kind) },
	{ "verdict", NULL, SHAPE_TEXT(hang_view, verdict) },
	{ "rank", "Rank that the others wait for.", SHAPE_COUNT(hang_view, rank), .unknown = SHAPE_NEGATIVE },
	{ "operation", NULL, SHAPE_TEXT(hang_view, operation), .unknown = SHAPE_NULL },
	{ "next", "Next step.", SHAPE_TEXT(hang_view, next), .unknown = SHAPE_NULL },
	{ "evidence", NULL, SHAPE_TEXT_LIST(hang_view, evidence, n_evidence) },
	{ "processes", NULL, SHAPE_LIST(hang_view, processes, n, hang_process) },
	{ "flight_recorders", NULL, SHAPE_LIST(hang_view, dumps, n_dumps, flight_dump) });

const struct result_shape hang_result = {
	.name = "hang", .title = "gputune diagnose hang",
	.meaning = "The place where each process of a job waits, and the process that the others wait for.",
	.shape = &hang_shape, .list = "processes", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

enum { FRAMES_SHOWN = 6 };

static void page_thread(struct doc *d, const struct hang_process *p, const struct stack_thread *t,
			size_t most)
{
	TEXT_AUTO s = { 0 };

	text_printf(&s, "thread %d %s: %s%s%s%s%s\n", (int)t->tid, t->name, thread_state(t),
		    *t->syscall ? ", in " : "", t->syscall, *t->wait ? ", kernel " : "", t->wait);
	for (size_t i = 0; i < t->n && i < most; i++)
		text_printf(&s, "  %s  %s:%d%s%s\n", t->frames[i].function, t->frames[i].file,
			    t->frames[i].line, t->frames[i].source ? "  " : "",
			    t->frames[i].source ? t->frames[i].source : "");
	if (t->n > most)
		text_printf(&s, "  and %zu more (--verbose)\n", t->n - most);
	for (size_t i = 0; i < t->n_c && i < most; i++)
		text_printf(&s, "  C: %s  %s\n", t->c_frames[i].function, t->c_frames[i].file);
	if (!t->n && p->at.missing)
		text_printf(&s, "  %s\n", p->at.missing);
	doc_code(d, arena_strdup(d->arena, s.s));
}

struct doc *page_hang(struct arena *a, const struct hang_view *v, bool verbose)
{
	struct doc *d = doc_new(a);
	struct node *n;

	doc_verdict(d, STYLE_BAD, v->kind, v->verdict);
	n = doc_bullets(d);
	if (v->next)
		node_bullet(d, n, cell(v->next));
	for (size_t i = v->n; i < v->n_evidence; i++) /* those before are in the headings below */
		node_bullet(d, n, cell(v->evidence[i]));
	for (size_t i = 0; i < v->n; i++) {
		const struct hang_process *p = &v->processes[i];

		doc_heading(d, 2,
			    p->at.rank >= 0
				    ? arena_printf(a, "Rank %d, process %d: %s", p->at.rank,
						   (int)p->at.pid, p->says)
				    : arena_printf(a, "Process %d: %s", (int)p->at.pid, p->says));
		for (size_t t = 0; t < p->at.n && (verbose || t < 1); t++)
			page_thread(d, p, &p->at.threads[t],
				    verbose ? STACK_FRAMES_MAX : FRAMES_SHOWN);
		if (p->at.n > 1 && !verbose)
			node_span(d, doc_paragraph(d),
				  cellf(d, "%zu more threads (--verbose).", p->at.n - 1));
	}
	return d;
}
