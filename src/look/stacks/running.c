/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C frames of threads that run: a one-shot timer of their CPU time (perf_event_open(2),
 * PERF_EVENT_IOC_REFRESH) copies registers and the top of the stack. A thread pays nothing while it
 * is not armed, some microseconds when its time is up, and is not stopped.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "look/stack/input.h"
#include "look/stacks/stacks.h"

/* Frame pointer, link, stack pointer and place, in this order. */
#if defined(__aarch64__)
#define REGISTERS (1ULL << 29 | 1ULL << 30 | 1ULL << 31 | 1ULL << 32)
enum { N_REGISTERS = 4 };
#else
#define REGISTERS (1ULL << 6 | 1ULL << 7 | 1ULL << 8)
enum { N_REGISTERS = 3 };
#endif
enum {
	SOON_NS = 100000, /* of its CPU time, after it was armed */
	STACK_BYTES = 8192,
	RING_BYTES = 1 << 16, /* behind the first page; a multiple of all sizes of pages */
	HEAD = sizeof(struct perf_event_header),
	REGS = HEAD + 8,		    /* behind their kind */
	STACK = REGS + 8 * N_REGISTERS + 8, /* behind its size */
	LOOK = STACK + STACK_BYTES + 8
};

int stack_watch_open(struct stack_watch *w, pid_t tid, struct err *e)
{
	struct perf_event_attr what = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(what),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = SOON_NS,
					.sample_type =
						PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
					.sample_regs_user = REGISTERS,
					.sample_stack_user = STACK_BYTES,
					.disabled = 1 };

	/* Without the right to look while the kernel works: while the program does. */
	for (int alone = 0; alone < 2; alone++) {
		what.exclude_kernel = alone > 0;
		w->fd = (int)syscall(SYS_perf_event_open, &what, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (w->fd >= 0 || (errno != EACCES && errno != EPERM))
			break;
	}
	*w = (struct stack_watch){ .fd = w->fd };
	if (w->fd < 0)
		return err_set(e, -errno, "perf_event_open: %s%s", strerror(errno),
			       errno == EACCES || errno == EPERM
				       ? " (kernel.perf_event_paranoid above 2, or a sandbox)"
				       : "");
	w->ring = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES, PROT_READ | PROT_WRITE,
		       MAP_SHARED, w->fd, 0);
	if (w->ring != MAP_FAILED)
		return 0;
	err_set(e, -errno, "memory for perf_event_open: %s", strerror(errno));
	close(w->fd);
	return e->code;
}

void stack_watch_close(struct stack_watch *w)
{
	munmap(w->ring, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
	close(w->fd);
}

void stack_watch_arm(struct stack_watch *w)
{
	/* One whose time was not up yet still has it. */
	if (!w->armed)
		w->armed = ioctl(w->fd, PERF_EVENT_IOC_REFRESH, 1) == 0;
}

/* Whether the program called the kernel here. */
static bool is_call(pid_t pid, unsigned long long pc)
{
	unsigned char b[4];

#if defined(__aarch64__)
	return stacks_peek(pid, pc - 4, b, 4) && le32(b) == 0xd4000001;
#else
	return stacks_peek(pid, pc - 4, b, 4) && b[2] == 0x0f && b[3] == 0x05;
#endif
}

size_t stack_watch_take(struct stack_watch *w, struct stack_maps *m, struct stack_frame *out,
			size_t most)
{
	struct perf_event_mmap_page *page = (void *)w->ring;
	const unsigned char *data = w->ring + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;
	unsigned char b[LOOK] = { 0 };
	struct perf_event_header h;
	struct stack_regs r;
	size_t found = 0, n;

	/* One record each time that it was armed. */
	for (size_t i = 0; i < LOOK && at + i < head; i++)
		b[i] = data[(at + i) % RING_BYTES];
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	w->armed = w->armed && head == at;
	memcpy(&h, b, sizeof(h));
	if (head == at || h.type != PERF_RECORD_SAMPLE || h.size != LOOK ||
	    le64(b + HEAD) != PERF_SAMPLE_REGS_ABI_64 || le64(b + STACK - 8) != STACK_BYTES)
		return 0;
	r = (struct stack_regs){ .fp = le64(b + REGS),
				 .link = N_REGISTERS == 4 ? le64(b + REGS + 8) : 0,
				 .sp = le64(b + STACK - 24),
				 .pc = le64(b + STACK - 16) };
	if ((h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL &&
	    !is_call(m->pid, r.pc))
		out[found++] = (struct stack_frame){ .function = "[page fault]", .file = "kernel" };
	n = le64(b + LOOK - 8) < STACK_BYTES ? le64(b + LOOK - 8) : STACK_BYTES;
	return found + native_read(m, r, b + STACK, n, out + found, most - found);
}
