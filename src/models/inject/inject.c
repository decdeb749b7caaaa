/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into a job from within, a quarter of a second at a time: CUDA's driver loads this object
 * into each process that uses a GPU (CUDA_INJECTION64_PATH). CUPTI, which the process or the
 * toolkit has, tells kernels and copies; what they add up to is a line of JSON in a file. Between
 * two looks nothing is enabled. The job is never hurt: whatever fails here ends the looking alone,
 * and where another profiler is at work it is left to itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "models/diagnose/spans.h"

int InitializeInjection(void);

/* --- CUPTI, as its headers have it since CUDA 11 ---------------------------------------------- */

/* Kernels and copies alone: the host's calls cost a tenth of a step. */
enum { KIND_MEMCPY = 1, KIND_KERNEL = 10 };
enum { COPY_TO_GPU = 1, COPY_FROM_GPU = 2, COPY_ON_GPU = 8, MEMORY_PAGEABLE = 1 };
enum { OTHER_SUBSCRIBER = 39 };

static const unsigned kinds[] = { KIND_KERNEL, KIND_MEMCPY };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

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

enum {
	BUFFER_BYTES = 1 << 20,
	BUFFERS_MOST = 32,
	RECORDS_MOST = 400000,
	NAMES_MOST = 2048,
	NAME_BYTES = 120,
	TOLD_MOST = 48, /* kernels of a line, the longest first */
	DEVICES_MOST = 16,
	LINE_BYTES = 16384,
	FILE_BYTES_MOST = 64 << 20,
	LOOK_MS = 250,
};

struct record {
	uint64_t from, to;
	uint16_t name; /* of a kernel */
	uint8_t device, kind;
};

struct name {
	char text[NAME_BYTES];
	uint64_t ns;
	unsigned n;
	bool comm;
};

/* Idle time by the length of its gaps. */
static const uint64_t gap_ns[] = { 20000, 100000, 1000000, 10000000, UINT64_MAX };
enum { GAPS = sizeof(gap_ns) / sizeof(gap_ns[0]) };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stop, full;
	unsigned buffers;
	struct record *records;
	size_t n;
	struct name *names;
	size_t n_names;
	uint16_t slots[2 * NAMES_MOST]; /* hash of a name's text: its number and one */
	uint64_t pageable_ns;
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

/* Its number; names beyond the table share the last one. */
static uint16_t name_of(const char *s)
{
	uint32_t h = 2166136261u;
	size_t n = 0, mask = 2 * NAMES_MOST - 1;
	struct name *x;

	for (; s[n] && n < NAME_BYTES - 1; n++)
		h = (h ^ (unsigned char)s[n]) * 16777619u;
	for (h &= (uint32_t)mask; look.slots[h]; h = (h + 1) & (uint32_t)mask) {
		x = &look.names[look.slots[h] - 1];
		if (strncmp(x->text, s, n) == 0 && !x->text[n])
			return (uint16_t)(look.slots[h] - 1);
	}
	if (look.n_names == NAMES_MOST)
		return NAMES_MOST - 1;
	x = &look.names[look.n_names];
	memcpy(x->text, s, n);
	x->text[n] = '\0';
	for (char *p = x->text; *p; p++)
		*p = (char)(*p < ' ' || *p == '"' || *p == '\\' || *p > '~' ? '?' : *p);
	x->comm = span_is_comm(x->text);
	look.slots[h] = (uint16_t)++look.n_names;
	return (uint16_t)(look.n_names - 1);
}

static void on_record(const uint8_t *r)
{
	unsigned kind = u32_at(r, 0);
	struct record x = { u64_at(r, AT_START), u64_at(r, AT_END), 0, 0, SPAN_COMPUTE };

	if (kind != KIND_KERNEL && kind != KIND_MEMCPY)
		return;
	if (!x.from || x.to < x.from || look.n == RECORDS_MOST) {
		look.full |= look.n == RECORDS_MOST;
		return;
	}
	x.device = (uint8_t)(u32_at(r, kind == KIND_KERNEL ? KERNEL_DEVICE : COPY_DEVICE) %
			     DEVICES_MOST);
	if (kind == KIND_KERNEL) {
		const char *s;

		memcpy(&s, r + KERNEL_NAME, sizeof(s));
		x.name = name_of(s ? s : "?");
		x.kind = look.names[x.name].comm ? SPAN_COMM : SPAN_COMPUTE;
		look.names[x.name].ns += x.to - x.from;
		look.names[x.name].n++;
	} else if (r[COPY_KIND] != COPY_ON_GPU) {
		x.kind = SPAN_COPY;
		if (r[COPY_FROM] == MEMORY_PAGEABLE || r[COPY_TO] == MEMORY_PAGEABLE)
			look.pageable_ns += x.to - x.from;
	}
	look.records[look.n++] = x;
}

static void on_request(uint8_t **buffer, size_t *size, size_t *records)
{
	pthread_mutex_lock(&look.lock);
	*buffer = look.buffers < BUFFERS_MOST ? aligned_alloc(8, BUFFER_BYTES) : NULL;
	look.buffers += *buffer != NULL;
	look.full |= !*buffer;
	pthread_mutex_unlock(&look.lock);
	*size = *buffer ? BUFFER_BYTES : 0;
	*records = 0;
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	void *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&look.lock);
	while (valid && cupti.next(buffer, valid, &record) == 0)
		on_record(record);
	look.buffers -= buffer != NULL;
	pthread_mutex_unlock(&look.lock);
	free(buffer);
}

/* --- a line ----------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int by_time(const void *a, const void *b)
{
	const struct name *x = *(const struct name *const *)a, *y = *(const struct name *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* One write, so that lines of several processes do not mix. False: there is no room. */
static bool put(const char *line, size_t n)
{
	int fd = open(look.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	bool done = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_size < FILE_BYTES_MOST && write(fd, line, n) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return done;
}

static void report_none(const char *why)
{
	char line[512];
	int n = snprintf(line, sizeof(line),
			 "{\"gputune_trace\":1,\"pid\":%d,\"rank\":%d,\"none\":\"%s\"}\n",
			 (int)look.pid, look.rank, why);

	put(line, n > 0 ? (size_t)n : 0);
}

struct line {
	char text[LINE_BYTES];
	size_t n;
};

static void add(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->n, sizeof(l->text) - l->n, fmt, ap);
	va_end(ap);
	if (n > 0 && l->n + (size_t)n < sizeof(l->text))
		l->n += (size_t)n;
}

/* One GPU's records, in order. */
static void add_device(struct line *l, const struct record *r, size_t n, uint64_t from, uint64_t to)
{
	struct spans s = { 0 };
	uint64_t gap[GAPS] = { 0 }, until = from;

	for (size_t i = 0; i < n; i++) {
		uint64_t a = r[i].from > from ? r[i].from : from, b = r[i].to < to ? r[i].to : to;

		if (b < a)
			continue;
		for (size_t g = 0; a > until; g++)
			if (a - until < gap_ns[g]) {
				gap[g] += a - until;
				break;
			}
		until = b > until ? b : until;
		spans_add(&s, (enum span_kind)r[i].kind, (double)(a - from), (double)(b - from));
	}
	for (size_t g = 0; to > until; g++)
		if (to - until < gap_ns[g]) {
			gap[g] += to - until;
			break;
		}
	add(l,
	    "{\"device\":%u,\"compute_ns\":%.0f,\"comm_ns\":%.0f,\"copy_ns\":%.0f,"
	    "\"kernels_ns\":%.0f,\"any_ns\":%.0f,\"kernels\":%zu,\"comms\":%zu,\"copies\":%zu,"
	    "\"gaps_ns\":[",
	    r->device, s.sum[SPAN_COMPUTE], s.sum[SPAN_COMM], s.sum[SPAN_COPY], s.kernels, s.any,
	    s.n[SPAN_COMPUTE], s.n[SPAN_COMM], s.n[SPAN_COPY]);
	for (size_t g = 0; g < GAPS; g++)
		add(l, "%s%llu", g ? "," : "", (unsigned long long)gap[g]);
	add(l, "]}");
}

static void add_names(struct line *l)
{
	static struct name *order[NAMES_MOST];

	for (size_t i = 0; i < look.n_names; i++)
		order[i] = &look.names[i];
	qsort(order, look.n_names, sizeof(*order), by_time);
	add(l, "],\"names\":[");
	for (size_t i = 0; i < look.n_names && i < TOLD_MOST && order[i]->n; i++)
		add(l, "%s[\"%s\",%llu,%u]", i ? "," : "", order[i]->text,
		    (unsigned long long)order[i]->ns, order[i]->n);
	for (size_t i = 0; i < look.n_names; i++) {
		look.names[i].ns = 0;
		look.names[i].n = 0;
	}
	add(l, "]}\n");
}

/* What was seen from from to to (ns) is written; false: it could not be. */
static bool write_look(uint64_t from, uint64_t to)
{
	static struct line l;
	struct timespec now;
	bool any = false, done;

	clock_gettime(CLOCK_REALTIME, &now);
	l.n = 0;
	pthread_mutex_lock(&look.lock);
	qsort(look.records, look.n, sizeof(*look.records), by_place);
	add(&l,
	    "{\"gputune_trace\":1,\"pid\":%d,\"rank\":%d,\"at_s\":%lld,\"ns\":%llu,\"cut\":%s,"
	    "\"pageable_ns\":%llu,\"devices\":[",
	    (int)look.pid, look.rank, (long long)now.tv_sec, (unsigned long long)(to - from),
	    look.full ? "true" : "false", (unsigned long long)look.pageable_ns);
	for (size_t i = 0, n; i < look.n; i += n, any = true) {
		for (n = 1; i + n < look.n && look.records[i + n].device == look.records[i].device;)
			n++;
		add(&l, any ? "," : "");
		add_device(&l, look.records + i, n, from, to);
	}
	add_names(&l);
	look.n = 0;
	look.full = false;
	look.pageable_ns = 0;
	pthread_mutex_unlock(&look.lock);
	done = l.text[l.n - 1] != '\n' || put(l.text, l.n);
	return done;
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

/* One look; false: it was the last. */
static bool look_once(void)
{
	uint64_t from = 0, to = 0;
	size_t on = 0;
	bool on_goes;

	if (other_profiler()) {
		report_none("another profiler uses CUPTI in this process");
		return false;
	}
	if (cupti.callbacks(on_request, on_complete)) {
		report_none("CUPTI refused");
		return false;
	}
	while (on < KINDS && cupti.enable(kinds[on]) == 0)
		on++;
	cupti.now(&from);
	on_goes = on > 0 && rest(LOOK_MS);
	cupti.now(&to);
	/* Who came meanwhile has our kinds now. */
	if (other_profiler()) {
		report_none("another profiler began in this process");
		return false;
	}
	while (on > 0)
		cupti.disable(kinds[--on]);
	/* At its end the process has no time to wait for the GPU. */
	if (!on_goes)
		return false;
	return cupti.flush(1) == 0 && write_look(from, to);
}

static void *looking(void *unused)
{
	/* Often at first, so that a short job is seen; a 240th of the time in the end. */
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

	look.records = malloc(RECORDS_MOST * sizeof(*look.records));
	look.names = calloc(NAMES_MOST, sizeof(*look.names));
	if (!look.records || !look.names)
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
		report_none("no libcupti is loaded, nor found");
	else if (!begin())
		report_none("no memory or no thread");
	return 1;
}
