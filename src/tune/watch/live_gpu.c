/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hearing of GPUs: NVML's event set, waited for in a thread of its own, because it has no
 * descriptor to poll. A state of performance or a clock that changes says that a lock may be gone;
 * a critical error, that the driver may have set itself anew. Interface: NVML's reference manual,
 * "Event Handling Methods"; declared here by hand, because it is called from nowhere else.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "machine/host/nvml.h"
#include "machine/host/vendor.h"
#include "tune/watch/live.h"

enum { EVENT_PSTATE = 0x4, EVENT_XID = 0x8, EVENT_CLOCK = 0x10, GPUS_MAX = 64 };
/* A wait that ends without an event costs a waking; one that is long costs nothing at the end, as
 * nobody waits for the thread. */
enum { WAIT_MS = 60000, STACK = 256 << 10, PAUSE_S = 5 };

struct nvml_event_set;

struct nvml_event {
	struct nvml_device *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_event) == 32, "nvmlEventData_t");

/* As nvml.h has it: a member a function. */
struct api {
	int (*init)(void);
	int (*count)(unsigned *n);
	int (*handle)(unsigned index, struct nvml_device **out);
	int (*supported)(struct nvml_device *d, unsigned long long *types);
	int (*create)(struct nvml_event_set **out);
	int (*enlist)(struct nvml_device *d, unsigned long long types, struct nvml_event_set *set);
	int (*wait)(struct nvml_event_set *set, struct nvml_event *out, unsigned ms);
};

static int no_init(void)
{
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_count(unsigned *n)
{
	(void)n;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_handle(unsigned index, struct nvml_device **out)
{
	(void)index;
	(void)out;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_supported(struct nvml_device *d, unsigned long long *types)
{
	(void)d;
	(void)types;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_create(struct nvml_event_set **out)
{
	(void)out;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_enlist(struct nvml_device *d, unsigned long long types, struct nvml_event_set *set)
{
	(void)d;
	(void)types;
	(void)set;
	return NVML_FUNCTION_NOT_FOUND;
}

static int no_wait(struct nvml_event_set *set, struct nvml_event *out, unsigned ms)
{
	(void)set;
	(void)out;
	(void)ms;
	return NVML_FUNCTION_NOT_FOUND;
}

static const struct vendor_symbol symbols[] = {
	{ "nvmlInit_v2", offsetof(struct api, init), (void (*)(void))no_init },
	{ "nvmlDeviceGetCount_v2", offsetof(struct api, count), (void (*)(void))no_count },
	{ "nvmlDeviceGetHandleByIndex_v2", offsetof(struct api, handle),
	  (void (*)(void))no_handle },
	{ "nvmlDeviceGetSupportedEventTypes", offsetof(struct api, supported),
	  (void (*)(void))no_supported },
	{ "nvmlEventSetCreate", offsetof(struct api, create), (void (*)(void))no_create },
	{ "nvmlDeviceRegisterEvents", offsetof(struct api, enlist), (void (*)(void))no_enlist },
	{ "nvmlEventSetWait_v2", offsetof(struct api, wait), (void (*)(void))no_wait },
};

/* Shared with the thread, which outlives the watcher or ends before it. */
struct live_gpu {
	struct api api;
	struct nvml_event_set *set;
	int event; /* its own: the watcher's is closed, and its number used again, while it waits */
	atomic_bool stop;
	atomic_int users;
};

static void drop(struct live_gpu *g)
{
	if (atomic_fetch_sub(&g->users, 1) == 1)
		free(g);
}

static void *listen_to_gpus(void *ctx)
{
	struct live_gpu *g = ctx;
	struct nvml_event ev;

	while (!atomic_load(&g->stop)) {
		int r = g->api.wait(g->set, &ev, WAIT_MS);
		uint64_t one = 1;

		if (atomic_load(&g->stop))
			break;
		/* A wait that fails is news as well: a GPU fell off the bus, or the driver went. */
		if (r != NVML_TIMEOUT && write(g->event, &one, sizeof(one)) < 0)
			break;
		if (r != NVML_TIMEOUT && r != NVML_SUCCESS)
			break;
		/* A busy GPU changes its state all the time. */
		if (r == NVML_SUCCESS)
			sleep(PAUSE_S);
	}
	close(g->event);
	drop(g);
	return NULL;
}

static bool enlist_all(struct live_gpu *g)
{
	unsigned long long types = 0;
	struct nvml_device *d;
	bool any = false;
	unsigned n = 0;

	if (g->api.wait == no_wait || g->api.count(&n) != NVML_SUCCESS ||
	    g->api.create(&g->set) != NVML_SUCCESS)
		return false;
	for (unsigned i = 0; i < n && i < GPUS_MAX; i++) {
		if (g->api.handle(i, &d) != NVML_SUCCESS ||
		    g->api.supported(d, &types) != NVML_SUCCESS)
			continue;
		types &= EVENT_PSTATE | EVENT_XID | EVENT_CLOCK;
		any = (types && g->api.enlist(d, types, g->set) == NVML_SUCCESS) || any;
	}
	return any;
}

static bool start_thread(struct live_gpu *g)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok;

	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	atomic_init(&g->users, 2);
	ok = pthread_create(&thread, &attr, listen_to_gpus, g) == 0;
	pthread_attr_destroy(&attr);
	return ok;
}

void live_gpu_start(struct live_source *s)
{
	struct live_gpu *g = calloc(1, sizeof(*g));
	void *lib;

	if (!g)
		out_of_memory(0);
	s->gpu_tried = true;
	/* The library stays open: its thread may be in it when the program ends. */
	if (vendor_open("libnvidia-ml.so.1", symbols, sizeof(symbols) / sizeof(symbols[0]), &g->api,
			&lib) == 0 &&
	    g->api.init() == NVML_SUCCESS && enlist_all(g)) {
		s->gpu_event = live_add(s, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		g->event = s->gpu_event < 0 ? -1 : fcntl(s->gpu_event, F_DUPFD_CLOEXEC, 0);
		if (g->event >= 0 && start_thread(g)) {
			s->gpu = g;
			return;
		}
		if (g->event >= 0)
			close(g->event);
	}
	free(g);
}

void live_gpu_read(struct live_source *s, struct hint_list *l)
{
	uint64_t n;

	if (read(s->gpu_event, &n, sizeof(n)) == (ssize_t)sizeof(n))
		hint_add(l, HINT_GPU, "nvml", "");
}

void live_gpu_stop(struct live_source *s)
{
	/* What it uses is left to it; the process ends soon. */
	if (!s->gpu)
		return;
	atomic_store(&s->gpu->stop, true);
	drop(s->gpu);
	s->gpu = NULL;
}
