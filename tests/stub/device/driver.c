/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 that runs our kernels on the CPU: memory is the process's own, streams do at once
 * what they are told, but for a kernel that answers the host, which gets a thread. Kernels are
 * known by their names, and must stand in the PTX that was loaded.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "settings.h"

#include "machine/cuda/driver.h"

enum { GPUS_MAX = 8, LAUNCH_FAILED = 719, NOT_READY = 600, BLOCKS_MAX = 4096 };

#define CUDA_CALL(field, symbol, params) int stub_##field params __asm__(symbol);
#include "machine/cuda/driver.def"

struct cuda_context {
	int device;
};

struct cuda_stream {
	pthread_t thread;
	bool running;
	atomic_bool over;
	struct stub_echo echo;
	struct cuda_graph *capturing;
};

struct cuda_event {
	double at_s;
};

struct cuda_module {
	char *text;
};

struct cuda_function {
	char name[64];
};

struct cuda_graph {
	int kernels;
};

struct cuda_graph_exec {
	int kernels;
};

/* Memory of the GPUs, to count and to check what is freed. */
static struct block {
	void *p;
	size_t bytes;
	int device;
} blocks[BLOCKS_MAX];
static struct cuda_context contexts[GPUS_MAX];
/* Contexts are a thread's own. */
static _Thread_local int current = -1;
static atomic_int launches;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool dead;

/*
 * What was made and not given back belongs to the driver until the process ends, as with the real
 * one: a list of it, so that no leak is seen in that.
 */
static struct made {
	struct made *next;
	void *p;
} * all_made;

static void *make(size_t size)
{
	struct made *m = malloc(sizeof(*m));
	void *p = NULL;

	/* Whole pages, as the driver's: files are read into them past the page cache. */
	if (!m || posix_memalign(&p, 4096, size))
		abort();
	memset(p, 0, size);
	pthread_mutex_lock(&lock);
	*m = (struct made){ all_made, p };
	all_made = m;
	pthread_mutex_unlock(&lock);
	return p;
}

static void drop(void *p)
{
	struct made *m = NULL;

	pthread_mutex_lock(&lock);
	for (struct made **at = &all_made; *at; at = &(*at)->next)
		if ((*at)->p == p) {
			m = *at;
			*at = m->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (!m)
		abort();
	free(m);
	free(p);
}

long long stub_number(const char *name, long long fallback)
{
	const char *all = getenv("GPUTUNE_STUB_CUDA"), *at = all;
	size_t n = strlen(name);

	while (at && (at = strstr(at, name))) {
		if ((at == all || at[-1] == ' ') && at[n] == '=')
			return strtoll(at + n + 1, NULL, 0);
		at += n;
	}
	return fallback;
}

bool stub_begins(const char *name, const char *s)
{
	const char *all = getenv("GPUTUNE_STUB_CUDA"), *at = all ? strstr(all, name) : NULL;
	size_t n = strlen(name), len;

	if (!at || at[n] != '=')
		return false;
	len = strcspn(at + n + 1, " ");
	return strncmp(at + n + 1, s, len) == 0;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- devices ---------------------------------------------------------------------------------- */

static int count(void)
{
	long long n = stub_number("gpus", 2);

	return (int)(n > GPUS_MAX ? GPUS_MAX : n);
}

int stub_init(unsigned flags)
{
	(void)flags;
	launches = 0;
	dead = false;
	return (int)stub_number("init", 0);
}

int stub_driver_version(int *out)
{
	*out = (int)stub_number("version", 13000);
	return 0;
}

int stub_error_name(int result, const char **out)
{
	(void)result;
	*out = "CUDA_ERROR_OF_THE_STUB";
	return 0;
}

int stub_error_string(int result, const char **out)
{
	(void)result;
	*out = "a number of the stub's";
	return 0;
}

int stub_device_count(int *out)
{
	*out = count();
	return *out ? 0 : 100;
}

int stub_device_get(int *out, int ordinal)
{
	*out = ordinal;
	return ordinal < count() ? 0 : 101;
}

int stub_device_name(char *text, int size, int device)
{
	if (stub_number("gb10", 0))
		snprintf(text, (size_t)size, "NVIDIA GB10");
	else
		snprintf(text, (size_t)size, "Stub GPU %d%s", device,
			 stub_number("mig", 0) ? " MIG 1g.10gb" : "");
	return 0;
}

int stub_device_uuid(unsigned char uuid[16], int device)
{
	memset(uuid, (int)stub_number("uuid", 0x10) + device, 16);
	return 0;
}

int stub_device_uuid_old(unsigned char uuid[16], int device)
{
	return stub_device_uuid(uuid, device);
}

/* Numbered from the last bus: the order is not that of the management library. */
int stub_device_pci(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:%02X:00.0", 0x40 + count() - device);
	return 0;
}

int stub_device_attribute(int *out, int attribute, int device)
{
	static const struct {
		int attribute, value;
	} rows[] = { { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2 },
		     { CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 12 << 20 },
		     { CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3 },
		     { CU_DEVICE_ATTRIBUTE_INTEGRATED, 0 },
		     { CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000 },
		     { CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256 } };

	(void)device;
	if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ||
	    attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
		int cc = (int)stub_number("cc", 90);

		*out = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? cc / 10
										 : cc % 10;
		return 0;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].attribute == attribute) {
			*out = rows[i].value;
			return 0;
		}
	return 1;
}

int stub_device_memory(size_t *out, int device)
{
	(void)device;
	*out = (size_t)stub_number("memory", 256 << 20);
	return 0;
}

int stub_device_can_peer(int *out, int device, int peer)
{
	*out = device != peer && !stub_number("nopeer", 0);
	return 0;
}

int stub_device_p2p(int *out, int attribute, int source, int target)
{
	(void)attribute;
	return stub_device_can_peer(out, source, target);
}

int stub_primary_retain(struct cuda_context **out, int device)
{
	if (stub_number("exclusive", 0))
		return 46;
	contexts[device].device = device;
	*out = &contexts[device];
	return 0;
}

int stub_primary_release(int device)
{
	(void)device;
	return 0;
}

int stub_context_set(struct cuda_context *c)
{
	current = c ? c->device : -1;
	return dead ? LAUNCH_FAILED : 0;
}

int stub_context_peer(struct cuda_context *peer, unsigned flags)
{
	(void)peer;
	(void)flags;
	return 704;
}

/* --- memory ----------------------------------------------------------------------------------- */

static size_t used(int device)
{
	size_t sum = 0;

	for (size_t i = 0; i < BLOCKS_MAX; i++)
		if (blocks[i].p && blocks[i].device == device)
			sum += blocks[i].bytes;
	return sum;
}

int stub_memory_info(size_t *left, size_t *total)
{
	stub_device_memory(total, current);
	*left = *total - used(current);
	return 0;
}

int stub_memory_alloc(cuda_address *out, size_t bytes)
{
	size_t total;
	void *p = NULL;

	int r = 2;

	stub_device_memory(&total, current);
	pthread_mutex_lock(&lock);
	if (current >= 0 && used(current) + bytes <= total && !posix_memalign(&p, 256, bytes))
		for (size_t i = 0; i < BLOCKS_MAX && r; i++)
			if (!blocks[i].p) {
				blocks[i] = (struct block){ p, bytes, current };
				*out = (uintptr_t)p;
				r = 0;
			}
	pthread_mutex_unlock(&lock);
	if (r)
		free(p);
	return r;
}

int stub_memory_free(cuda_address at)
{
	void *p = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BLOCKS_MAX; i++)
		if (blocks[i].p && (uintptr_t)blocks[i].p == at) {
			p = blocks[i].p;
			blocks[i].p = NULL;
		}
	pthread_mutex_unlock(&lock);
	free(p);
	return p ? 0 : 1;
}

int stub_host_alloc(void **out, size_t bytes, unsigned flags)
{
	(void)flags;
	*out = make(bytes);
	return 0;
}

int stub_host_free(void *p)
{
	drop(p);
	return 0;
}

int stub_host_register(void *p, size_t bytes, unsigned flags)
{
	(void)p;
	(void)bytes;
	(void)flags;
	return 0;
}

int stub_host_unregister(void *p)
{
	(void)p;
	return 0;
}

int stub_host_address(cuda_address *out, void *p, unsigned flags)
{
	(void)flags;
	*out = (uintptr_t)p;
	return 0;
}

static int copy(cuda_address to, cuda_address from, size_t bytes)
{
	memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
	if (stub_begins("corrupt", "engine") && bytes > 4096)
		((unsigned char *)(uintptr_t)to)[bytes / 3] ^= 4;
	return dead ? LAUNCH_FAILED : 0;
}

int stub_copy_in(cuda_address to, const void *from, size_t bytes, struct cuda_stream *s)
{
	(void)s;
	return copy(to, (uintptr_t)from, bytes);
}

int stub_copy_out(void *to, cuda_address from, size_t bytes, struct cuda_stream *s)
{
	(void)s;
	return copy((uintptr_t)to, from, bytes);
}

int stub_copy_device(cuda_address to, cuda_address from, size_t bytes, struct cuda_stream *s)
{
	(void)s;
	return copy(to, from, bytes);
}

int stub_copy_any(cuda_address to, cuda_address from, size_t bytes, struct cuda_stream *s)
{
	(void)s;
	return copy(to, from, bytes);
}

int stub_copy_peer(cuda_address to, struct cuda_context *to_context, cuda_address from,
		   struct cuda_context *from_context, size_t bytes, struct cuda_stream *s)
{
	(void)s;
	return to_context && from_context ? copy(to, from, bytes) : 1;
}

int stub_set_words(cuda_address to, unsigned word, size_t words, struct cuda_stream *s)
{
	unsigned *w = (unsigned *)(uintptr_t)to;

	(void)s;
	for (size_t i = 0; i < words; i++)
		w[i] = word;
	return 0;
}

int stub_set_bytes(cuda_address to, unsigned char byte, size_t bytes, struct cuda_stream *s)
{
	(void)s;
	memset((void *)(uintptr_t)to, byte, bytes);
	return 0;
}

/* --- streams and events ----------------------------------------------------------------------- */

int stub_stream_create(struct cuda_stream **out, unsigned flags)
{
	(void)flags;
	*out = make(sizeof(**out));
	return *out ? 0 : 2;
}

static void join(struct cuda_stream *s)
{
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
}

int stub_stream_destroy(struct cuda_stream *s)
{
	join(s);
	drop(s);
	return 0;
}

int stub_stream_query(struct cuda_stream *s)
{
	if (stub_number("stuck", 0) || (s->running && !atomic_load(&s->over)))
		return NOT_READY;
	join(s);
	return dead ? LAUNCH_FAILED : 0;
}

int stub_stream_wait_event(struct cuda_stream *s, struct cuda_event *e, unsigned flags)
{
	(void)s;
	(void)e;
	(void)flags;
	return 0;
}

int stub_stream_wait_value(struct cuda_stream *s, cuda_address at, unsigned value, unsigned flags)
{
	(void)s;
	(void)at;
	(void)value;
	(void)flags;
	return stub_number("nogate", 0) ? 801 : 0;
}

int stub_stream_write_value(struct cuda_stream *s, cuda_address at, unsigned value, unsigned flags)
{
	(void)s;
	(void)flags;
	atomic_store((_Atomic unsigned *)(uintptr_t)at, value);
	return 0;
}

int stub_event_create(struct cuda_event **out, unsigned flags)
{
	(void)flags;
	*out = make(sizeof(**out));
	return *out ? 0 : 2;
}

int stub_event_destroy(struct cuda_event *e)
{
	drop(e);
	return 0;
}

int stub_event_record(struct cuda_event *e, struct cuda_stream *s)
{
	(void)s;
	e->at_s = now_s();
	return 0;
}

int stub_event_query(struct cuda_event *e)
{
	(void)e;
	return stub_number("stuck", 0) ? NOT_READY : dead ? LAUNCH_FAILED : 0;
}

int stub_event_elapsed(float *ms, struct cuda_event *from, struct cuda_event *to)
{
	*ms = (float)((to->at_s - from->at_s) * 1e3);
	return 0;
}

/* --- kernels ---------------------------------------------------------------------------------- */

int stub_module_load(struct cuda_module **out, const void *image, unsigned n, const int *options,
		     void **values)
{
	for (unsigned i = 0; stub_number("refuse", 0) && i < n; i++)
		if (options[i] == 5)
			snprintf(values[i], 64, "ptxas: line 7: no such thing\nmore");
	if (stub_number("refuse", 0))
		return 218;
	*out = make(sizeof(**out));
	if (!*out)
		return 2;
	(*out)->text = make(strlen(image) + 1);
	strcpy((*out)->text, image);
	return 0;
}

int stub_module_unload(struct cuda_module *m)
{
	drop(m->text);
	drop(m);
	return 0;
}

int stub_module_function(struct cuda_function **out, struct cuda_module *m, const char *name)
{
	/* One of each name, for good: functions are not given back. */
	static struct cuda_function known[128];
	char entry[96];
	size_t i = 0;

	snprintf(entry, sizeof(entry), ".entry %s(", name);
	if (!strstr(m->text, entry))
		return 500;
	pthread_mutex_lock(&lock);
	while (known[i].name[0] && strcmp(known[i].name, name) != 0)
		i++;
	snprintf(known[i].name, sizeof(known[i].name), "%s", name);
	pthread_mutex_unlock(&lock);
	*out = &known[i];
	return 0;
}

int stub_function_set(struct cuda_function *f, int attribute, int value)
{
	(void)f;
	(void)attribute;
	(void)value;
	return 0;
}

int stub_blocks_per_sm(int *out, struct cuda_function *f, int threads, size_t shared)
{
	(void)f;
	(void)shared;
	*out = 2048 / threads;
	return 0;
}

static void *echo(void *stream)
{
	struct cuda_stream *s = stream;

	stub_answer(&s->echo);
	atomic_store(&s->over, true);
	return NULL;
}

int stub_launch(struct cuda_function *f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
		struct cuda_stream *s, void **arguments, void **extra)
{
	long long after = stub_number("lost_after", -1);

	(void)grid_x;
	(void)grid_y;
	(void)grid_z;
	(void)block_x;
	(void)block_y;
	(void)block_z;
	(void)shared;
	(void)extra;
	dead = dead || (after >= 0 && ++launches > after);
	if (dead)
		return LAUNCH_FAILED;
	if (s->capturing) {
		s->capturing->kernels++;
		return 0;
	}
	if (strcmp(f->name, "echo") != 0)
		return stub_kernel(f->name, arguments);
	join(s);
	atomic_store(&s->over, false);
	s->echo = stub_echo_of(arguments);
	s->running = pthread_create(&s->thread, NULL, echo, s) == 0;
	return s->running ? 0 : 2;
}

int stub_capture_begin(struct cuda_stream *s, int mode)
{
	(void)mode;
	s->capturing = make(sizeof(*s->capturing));
	return s->capturing ? 0 : 2;
}

int stub_capture_end(struct cuda_stream *s, struct cuda_graph **out)
{
	*out = s->capturing;
	s->capturing = NULL;
	return *out ? 0 : 1;
}

int stub_graph_instantiate(struct cuda_graph_exec **out, struct cuda_graph *g,
			   unsigned long long flags)
{
	(void)flags;
	*out = make(sizeof(**out));
	if (!*out)
		return 2;
	(*out)->kernels = g->kernels;
	return g->kernels ? 0 : 1;
}

int stub_graph_launch(struct cuda_graph_exec *x, struct cuda_stream *s)
{
	(void)s;
	return x->kernels ? 0 : 1;
}

int stub_graph_exec_destroy(struct cuda_graph_exec *x)
{
	drop(x);
	return 0;
}

int stub_graph_destroy(struct cuda_graph *g)
{
	drop(g);
	return 0;
}
