/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into a job from within, half a second at a time: CUDA's driver loads this object
 * into each process that uses a GPU (CUDA_INJECTION64_PATH). CUPTI, which the process or the
 * toolkit has, tells kernels and copies; what they add up to is a line of JSON in a file. Between
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
#include <time.h>
#include <unistd.h>

#include "models/inject/look.h"

int InitializeInjection(void);

/* --- CUPTI, as its headers have it since CUDA 11 ---------------------------------------------- */

/*
 * Kernels, and in some looks copies; the host's calls cost a tenth of a step. Measured on an H100
 * with CUDA 13.0: kernels cost the host 0.6 us a launch and the GPU 0.05 us a kernel (0.45 us in a
 * CUDA graph); with copies the host 0.9 us.
 */
enum { KIND_MEMCPY = 1, KIND_KERNEL = 10, COPIES_EVERY = 4 };
enum { COPY_TO_GPU = 1, COPY_FROM_GPU = 2, COPY_ON_GPU = 8, MEMORY_PAGEABLE = 1 };
enum { OTHER_SUBSCRIBER = 39 };

/* Where things stand in a record. */
enum {
	AT_START = 16,
	AT_END = 24,
	KERNEL_DEVICE = 40,
	KERNEL_NAME = 104,
	COPY_KIND = 4,
	COPY_FROM = 5,
	COPY_TO = 6,
	COPY_DEVICE = 32,
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
enum { BUFFER_BYTES = 1 << 20, BUFFERS_MOST = 64, LEAD_MS = 250, LOOK_MS = 250, LAST_MS = 20 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stop;
	struct {
		uint8_t *at;
		size_t valid;
	} buffers[BUFFERS_MOST]; /* complete ones */
	size_t n, looks;
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

static void on_record(const uint8_t *r)
{
	unsigned kind = u32_at(r, 0);
	uint64_t from = u64_at(r, AT_START), to = u64_at(r, AT_END);
	const char *name = "copy on the GPU";

	if ((kind != KIND_KERNEL && kind != KIND_MEMCPY) || !from)
		return;
	if (kind == KIND_MEMCPY && r[COPY_KIND] != COPY_ON_GPU) {
		look_copy(&look.now, u32_at(r, COPY_DEVICE), from, to,
			  r[COPY_FROM] == MEMORY_PAGEABLE || r[COPY_TO] == MEMORY_PAGEABLE);
		return;
	}
	if (kind == KIND_KERNEL)
		memcpy(&name, r + KERNEL_NAME, sizeof(name));
	look_kernel(&look.now, name ? name : "?",
		    u32_at(r, kind == KIND_KERNEL ? KERNEL_DEVICE : COPY_DEVICE), from, to);
}

/* The job's own threads come here: nothing is waited for, and nothing is refused, since CUPTI
 * before CUDA 12.9 may crash then. */
static void on_request(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*records = 0;
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&look.lock);
	if (buffer && valid && look.n < BUFFERS_MOST) {
		look.buffers[look.n].at = buffer;
		look.buffers[look.n++].valid = valid;
		buffer = NULL;
	}
	look.now.full |= buffer && valid;
	pthread_mutex_unlock(&look.lock);
	free(buffer);
}

/* What CUPTI gave is read when it looks no more. */
static void read_buffers(void)
{
	pthread_mutex_lock(&look.lock);
	for (size_t i = 0; i < look.n; i++) {
		void *record = NULL;

		while (cupti.next(look.buffers[i].at, look.buffers[i].valid, &record) == 0)
			on_record(record);
		free(look.buffers[i].at);
	}
	look.n = 0;
	pthread_mutex_unlock(&look.lock);
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
 * One look; false: it was the last. CUPTI is asked for other subscribers while nothing is enabled,
 * and kinds are enabled and disabled once: where that was done twelve times a second, two of 34
 * jobs on an H200 ended by a segmentation fault (CUDA 13.0, launches of 27 kernels a millisecond).
 */
static bool look_once(void)
{
	const char *why = other_profiler() ? "another profiler uses CUPTI in this process"
			  : cupti.callbacks(on_request, on_complete) || cupti.enable(KIND_KERNEL)
				  ? "CUPTI refused"
				  : NULL;
	struct timespec end;
	bool on, goes;

	if (why) {
		report_none(why);
		return false;
	}
	look.now.copies = look.looks % COPIES_EVERY == 1;
	on = look.now.copies && cupti.enable(KIND_MEMCPY) == 0;
	goes = rest(LEAD_MS);
	cupti.now(&look.now.from);
	goes = goes && rest(LOOK_MS);
	cupti.now(&look.now.to);
	clock_gettime(CLOCK_REALTIME, &end);
	look.now.at_s = (double)end.tv_sec + 1e-9 * (double)end.tv_nsec;
	if (on)
		cupti.disable(KIND_MEMCPY);
	cupti.disable(KIND_KERNEL);
	if (other_profiler()) {
		/* It came meanwhile: what it records is enabled again. */
		cupti.enable(KIND_KERNEL);
		if (on)
			cupti.enable(KIND_MEMCPY);
		report_none("another profiler began in this process");
		return false;
	}
	/* At its end the process has no time to wait for the GPU. */
	if (!goes || !rest(LAST_MS) || cupti.flush(1))
		return false;
	read_buffers();
	/* Before there is work, no look is the one for copies. */
	look.looks += look.now.n > 0;
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

	if (!look_make(&look.now))
		return false;
	/* The job's signals are the job's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	look.running = pthread_create(&look.thread, NULL, looking, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
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
