/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGBUS on a stack of its own, at whose low end stands which pages are guarded: the handler finds
 * them by the stack that it runs on. Any other SIGBUS ends the program as it would have.
 */
#include "measure/bench/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK = 256 << 10 };

struct map_guard_ctx {
	const struct map_guard_ctx *self; /* no other stack begins like that */
	pthread_t thread;
	uintptr_t from, to;
	size_t page;
	atomic_bool lost;
};

/* The guard of the thread that was interrupted, when the address is one of its own. */
static struct map_guard_ctx *guard_of(const ucontext_t *u, const siginfo_t *s)
{
	struct map_guard_ctx *g = u->uc_stack.ss_sp;
	uintptr_t at = (uintptr_t)s->si_addr;

	if (!g || (u->uc_stack.ss_flags & SS_DISABLE) || u->uc_stack.ss_size != STACK)
		return NULL;
	if (g->self != g || !pthread_equal(g->thread, pthread_self()))
		return NULL;
	return s->si_code == BUS_ADRERR && at >= g->from && at < g->to ? g : NULL;
}

/* What comes behind it is gone as well. Reads go on, and find zeros. */
static bool map_guard_replace(struct map_guard_ctx *g, uintptr_t at)
{
	uintptr_t page = at / g->page * g->page;
	void *p = mmap((void *)page, g->to - page, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED)
		return false;
	atomic_store(&g->lost, true);
	return true;
}

static void on_bus(int sig, siginfo_t *s, void *context)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	struct map_guard_ctx *g = guard_of(context, s);
	int error = errno;

	/* Without a cure the same access faults again, and ends the program. */
	if (!g || !map_guard_replace(g, (uintptr_t)s->si_addr))
		sigaction(sig, &usual, NULL);
	errno = error;
}

int map_guard_begin(struct map_guard *g, void *p, size_t n)
{
	struct sigaction a = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stack_t own = { .ss_sp = stack, .ss_size = STACK };
	int r;

	if (stack == MAP_FAILED)
		return -errno;
	g->ctx = stack;
	g->ctx->self = g->ctx;
	g->ctx->thread = pthread_self();
	g->ctx->from = (uintptr_t)p;
	g->ctx->to = ((uintptr_t)p + n + page - 1) / page * page;
	g->ctx->page = page;
	atomic_init(&g->ctx->lost, false);
	sigemptyset(&a.sa_mask);
	if (sigaltstack(&own, &g->stack)) {
		r = -errno;
		munmap(stack, STACK);
		return r;
	}
	if (sigaction(SIGBUS, &a, &g->action)) {
		r = -errno;
		sigaltstack(&g->stack, NULL);
		munmap(stack, STACK);
		return r;
	}
	return 0;
}

bool map_guard_lost(const struct map_guard *g)
{
	return atomic_load(&g->ctx->lost);
}

void map_guard_end(struct map_guard *g)
{
	sigaction(SIGBUS, &g->action, NULL);
	sigaltstack(&g->stack, NULL);
	munmap(g->ctx, STACK);
	g->ctx = NULL;
}
