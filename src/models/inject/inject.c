/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into a job from within, half a second at a time: CUDA's driver loads this object
 * into each process that uses a GPU (CUDA_INJECTION64_PATH). CUPTI, which the process or the
 * toolkit has, records kernels and waits; their sums are a line of JSON in a file. Between
 * two looks nothing is enabled. The job is never hurt: whatever fails here ends the looking alone,
 * and where another profiler is at work it is left to itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "models/inject/look.h"

int InitializeInjection(void);

/* --- CUPTI, as its headers have it since CUDA 11 ---------------------------------------------- */

/*
 * Kernels, and where the host waits for the GPU; the host's other calls cost a tenth of a step.
 * Measured on an H100 with CUDA 13.0: kernels cost the host 0.6 us a launch and the GPU 0.05 us a
 * kernel (0.45 us in a CUDA graph).
 *
 * Never copies (MEMCPY = 1): where that kind is disabled while the job copies, CUPTI's own thread
 * reads memory that it has freed. Seen with CUPTI 13.0.85 on an H200: 19 of 46 jobs ended so, which
 * enabled and disabled it 14 times a second; of 35 that did so with these kinds, none.
 */
enum { KIND_KERNEL = 10, KIND_WAIT = 38 };
enum { WAIT_OF_STREAM = 2 }; /* a stream waits there, and not the host */
enum { OTHER_SUBSCRIBER = 39 };

/* Where things stand in a record. */
enum {
	AT_START = 16,
	AT_END = 24,
	KERNEL_DEVICE = 40,
	KERNEL_NAME = 104,
	WAIT_TYPE = 4,
	WAIT_START = 8,
	WAIT_END = 16,
};

typedef void requested(uint8_t **buffer, size_t *size, size_t *records);
typedef void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

static struct {
	int (*callbacks)(requested *, completed *);
	int (*enable)(unsigned);
	int (*disable)(unsigned);
	int (*flush)(uint32_t);
	int (*next)(uint8_t *, size_t, void **);
	int (*now)(uint64_t *);
	int (*subscribe)(void **, void (*)(void), void *);
	int (*unsubscribe)(void *);
} cupti;

/* --- what a look gathers ---------------------------------------------------------------------- */

/* A launch is recorded, not what waits to run: at most 1,024 launches do, so it is waited for those
 * before what runs counts, and for the last kernel afterwards. */
enum {
	BUFFER_BYTES = 1 << 20,
	BUFFERS_MOST = 64,
	LEAD_MS = 250,
	LOOK_MS = 250,
	LAST_MS = 20,
	FLUSHES_MOST = 50,
	NAMES_KEPT = 1024,
	STACK_BYTES = 2 << 20,
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stop;
	struct {
		uint8_t *at;
		size_t valid;
	} buffers[BUFFERS_MOST];      /* complete ones */
	uint8_t *spare[BUFFERS_MOST]; /* buffers are kept: CUPTI may write to one late */
	size_t n, spares, lent;	      /* lent: CUPTI has them */
	struct {
		const char *at;
		char text[LOOK_NAME_BYTES];
	} names[NAMES_KEPT]; /* of this look, by the address that CUPTI gave */
	struct trace_look now;
	char path[4096];
	int rank;
	pid_t pid;
} look = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

static uint64_t u64_at(const uint8_t *r, size_t at)
{
	uint64_t v;

	memcpy(&v, r + at, sizeof(v));
	return v;
}

static uint32_t u32_at(const uint8_t *r, size_t at)
{
	uint32_t v;

	memcpy(&v, r + at, sizeof(v));
	return v;
}

/* A module that was unloaded takes its names along: they are read as another process reads. */
static const char *name_at(const char *at)
{
	size_t slot = ((uintptr_t)at >> 3) % NAMES_KEPT, n = LOOK_NAME_BYTES - 1,
	       here = 4096 - (uintptr_t)at % 4096, first = here < n ? here : n;
	char *text = look.names[slot].text;
	struct iovec to = { text, n };
	const struct iovec from[] = { { (void *)(uintptr_t)at, first },
				      { (void *)((uintptr_t)at + first), n - first } };

	if (look.names[slot].at == at)
		return text;
	look.names[slot].at = at;
	memset(text, 0, n + 1);
	if (!at || (process_vm_readv(look.pid, &to, 1, from, 2, 0) < 0 && errno == EFAULT))
		memcpy(text, "?", 2);
	else if (!*text) /* a sandbox refuses the call */
		memcpy(text, at, strnlen(at, n));
	return text;
}

static void on_record(const uint8_t *r)
{
	const char *name = NULL;

	if (u32_at(r, 0) == KIND_WAIT && u32_at(r, WAIT_TYPE) != WAIT_OF_STREAM)
		look_wait(&look.now, u64_at(r, WAIT_START), u64_at(r, WAIT_END));
	/* What did not end yet has no times. */
	if (u32_at(r, 0) != KIND_KERNEL || !u64_at(r, AT_START) || !u64_at(r, AT_END))
		return;
	memcpy(&name, r + KERNEL_NAME, sizeof(name));
	look_kernel(&look.now, name_at(name), u32_at(r, KERNEL_DEVICE), u64_at(r, AT_START),
		    u64_at(r, AT_END));
}

/* The job's own threads come here: nothing is waited for long, and nothing is refused, since CUPTI
 * before CUDA 12.9 may crash then. */
static void on_request(uint8_t **buffer, size_t *size, size_t *records)
{
	pthread_mutex_lock(&look.lock);
	*buffer = look.spares ? look.spare[--look.spares] : NULL;
	look.lent++;
	pthread_mutex_unlock(&look.lock);
	if (!*buffer)
		*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*records = 0;
}

static void keep(uint8_t *buffer)
{
	if (look.spares < BUFFERS_MOST)
		look.spare[look.spares++] = buffer;
	else
		free(buffer);
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&look.lock);
	look.lent--;
	if (buffer && valid && look.n < BUFFERS_MOST) {
		look.buffers[look.n].at = buffer;
		look.buffers[look.n++].valid = valid;
	} else if (buffer) {
		look.now.full |= valid > 0;
		keep(buffer);
	}
	pthread_mutex_unlock(&look.lock);
}

/* Read after tracing is disabled; no thread of the job waits meanwhile. */
static void read_buffers(void)
{
	uint8_t *buffer = NULL;

	memset(look.names, 0, sizeof(look.names));
	do {
		void *record = NULL;
		size_t valid = 0;

		pthread_mutex_lock(&look.lock);
		if (buffer)
			keep(buffer);
		buffer = look.n ? look.buffers[--look.n].at : NULL;
		valid = buffer ? look.buffers[look.n].valid : 0;
		pthread_mutex_unlock(&look.lock);
		while (buffer && cupti.next(buffer, valid, &record) == 0)
			on_record(record);
	} while (buffer);
}

static void report_none(const char *why)
{
	look_write_none(&look.now, look.path, (int)look.pid, look.rank, why);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void on_api(void)
{
}

/* Another profiler subscribed to CUPTI: it gets all of it. */
static bool other_profiler(void)
{
	void *handle = NULL;
	int e = cupti.subscribe(&handle, on_api, NULL);

	if (e == 0)
		cupti.unsubscribe(handle);
	return e == OTHER_SUBSCRIBER;
}

/* Waits so many milliseconds; false: the process ends. */
static bool rest(unsigned ms)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&look.lock);
	while (!look.stop && pthread_cond_timedwait(&look.wake, &look.lock, &until) != ETIMEDOUT)
		;
	stop = look.stop;
	pthread_mutex_unlock(&look.lock);
	return !stop;
}

/*
 * What was recorded is fetched once it is complete: a buffer that is fetched before (with the flag
 * FLUSH_FORCED) is one that CUPTI still writes to. False: no time is left, or CUPTI refuses.
 */
static bool fetch(void)
{
	for (unsigned i = 0; i < FLUSHES_MOST; i++) {
		bool all;

		if (cupti.flush(0))
			return false;
		pthread_mutex_lock(&look.lock);
		all = !look.lent;
		pthread_mutex_unlock(&look.lock);
		if (all)
			return true;
		if (!rest(LAST_MS))
			return false;
	}
	/* A kernel that runs for long: the look is not whole. */
	look.now.full = true;
	return true;
}

/* One look; false: it was the last. CUPTI is asked for other subscribers while nothing is enabled,
 * and the job's threads have left what was. */
static bool look_once(void)
{
	const char *why = other_profiler() ? "another profiler uses CUPTI in this process"
			  : cupti.callbacks(on_request, on_complete) || cupti.enable(KIND_KERNEL)
				  ? "CUPTI refused"
				  : NULL;
	struct timespec end;
	bool goes;

	if (why) {
		report_none(why);
		return false;
	}
	look.now.waits_seen = cupti.enable(KIND_WAIT) == 0;
	goes = rest(LEAD_MS);
	cupti.now(&look.now.from);
	goes = goes && rest(LOOK_MS);
	cupti.now(&look.now.to);
	clock_gettime(CLOCK_REALTIME, &end);
	look.now.at_s = (double)end.tv_sec + 1e-9 * (double)end.tv_nsec;
	if (look.now.waits_seen)
		cupti.disable(KIND_WAIT);
	cupti.disable(KIND_KERNEL);
	/* At its end the process has no time to wait for the GPU. */
	if (!goes || !rest(LAST_MS))
		return false;
	if (other_profiler()) {
		/* It came meanwhile: what it records is enabled again. */
		cupti.enable(KIND_KERNEL);
		if (look.now.waits_seen)
			cupti.enable(KIND_WAIT);
		report_none("another profiler began in this process");
		return false;
	}
	if (!fetch())
		return false;
	read_buffers();
	return look_write(&look.now, look.path, (int)look.pid, look.rank);
}

static void *looking(void *unused)
{
	/* Often at first, so that a short job is seen; a 120th of the time in the end. */
	static const struct {
		unsigned looks, rest_ms;
	} pace[] = { { 15, 1750 }, { 30, 9750 }, { UINT32_MAX, 59750 } };

	for (size_t i = 0; i < sizeof(pace) / sizeof(pace[0]); i++)
		for (unsigned k = 0; k < pace[i].looks; k++)
			if (!rest(pace[i].rest_ms) || !look_once())
				return unused;
	return unused;
}

static void at_end(void)
{
	struct timespec until;

	if (!look.running || look.pid != getpid())
		return;
	pthread_mutex_lock(&look.lock);
	look.stop = true;
	pthread_cond_broadcast(&look.wake);
	pthread_mutex_unlock(&look.lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	(void)!pthread_timedjoin_np(look.thread, NULL, &until);
}

/* --- CUPTI is found --------------------------------------------------------------------------- */

static bool has_all(void *lib)
{
	const struct {
		void *to;
		const char *name;
	} all[] = {
		{ &cupti.callbacks, "cuptiActivityRegisterCallbacks" },
		{ &cupti.enable, "cuptiActivityEnable" },
		{ &cupti.disable, "cuptiActivityDisable" },
		{ &cupti.flush, "cuptiActivityFlushAll" },
		{ &cupti.next, "cuptiActivityGetNextRecord" },
		{ &cupti.now, "cuptiGetTimestamp" },
		{ &cupti.subscribe, "cuptiSubscribe" },
		{ &cupti.unsubscribe, "cuptiUnsubscribe" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *f = dlsym(lib, all[i].name);

		if (!f)
			return false;
		memcpy(all[i].to, &f, sizeof(f));
	}
	return true;
}

/* The one that the process has is the one that its own profiler would use. */
static bool find_cupti(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					     "libcupti.so" };
	static const char *const folders[] = { "", "/usr/local/cuda/lib64/",
					       "/usr/local/cuda/extras/CUPTI/lib64/",
					       "/usr/lib/x86_64-linux-gnu/",
					       "/usr/lib/aarch64-linux-gnu/" };
	void *lib = NULL;
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !lib; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	for (size_t f = 0; f < sizeof(folders) / sizeof(folders[0]); f++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !lib; i++) {
			snprintf(path, sizeof(path), "%s%s", folders[f], names[i]);
			lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		}
	return lib && has_all(lib);
}

static int rank_of(void)
{
	static const char *const names[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					     "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *s = getenv(names[i]);

		if (s && *s >= '0' && *s <= '9')
			return atoi(s);
	}
	return -1;
}

static bool begin(void)
{
	sigset_t all, before;
	pthread_attr_t attr;

	if (!look_make(&look.now) || pthread_attr_init(&attr))
		return false;
	/* The job's limit of stacks may be too small for CUPTI; its signals are its own. */
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	look.running = pthread_create(&look.thread, &attr, looking, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return look.running && atexit(at_end) == 0;
}

/* Called by CUDA's driver as it begins. It goes on whatever is answered. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *path = secure_getenv("GPUTUNE_TRACE_FILE");

	if (!path || *path != '/' || strlen(path) >= sizeof(look.path) || look.pid)
		return 1;
	memcpy(look.path, path, strlen(path) + 1);
	look.pid = getpid();
	look.rank = rank_of();
	if (!find_cupti())
		report_none("libcupti is neither loaded nor found");
	else if (!begin())
		report_none("no memory or no thread");
	return 1;
}
