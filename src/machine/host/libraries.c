/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libraries.def, each of which opens its library when it is called first. */
#include "machine/host/libraries.h"

#include <errno.h>
#include <libmnl/libmnl.h>
/* Until liburing 2.1 this was no inline function; the library has it in any release. */
#define io_uring_get_sqe io_uring_get_sqe_inline
#include <liburing.h>
#undef io_uring_get_sqe
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

#include "machine/host/vendor.h"

struct io_uring_sqe *io_uring_get_sqe(struct io_uring *u);

static const struct {
	const char *soname, *name, *package; /* of Debian and Ubuntu */
} libraries[LIBRARIES] = {
	[LIBRARY_MNL] = { "libmnl.so.0", "libmnl", "libmnl0" },
	[LIBRARY_SODIUM] = { "libsodium.so.23", "libsodium", "libsodium23" },
	[LIBRARY_URING] = { "liburing.so.2", "liburing", "liburing2" },
	[LIBRARY_YAML] = { "libyaml-0.so.2", "libyaml", "libyaml-0-2" },
	[LIBRARY_ZLIB] = { "libz.so.1", "zlib", "zlib1g" },
	[LIBRARY_ZSTD] = { "libzstd.so.1", "libzstd", "libzstd1" },
};

/* Written once a library, under the lock; the one state that a process has of them. */
static struct calls {
#define LIBRARY_CALL(library, type, name, params, args, missing) type(*name) params;
#define LIBRARY_VOID(library, name, params, args, missing) void(*name) params;
#include "machine/host/libraries.def"
} library_calls;

static const struct vendor_symbol symbols[] = {
#define LIBRARY_CALL(library, type, name, params, args, missing)                                   \
	{ #name, offsetof(struct calls, name), NULL },
#define LIBRARY_VOID(library, name, params, args, missing) LIBRARY_CALL(, , name, , , )
#include "machine/host/libraries.def"
};

static const enum system_library owners[] = {
#define LIBRARY_CALL(library, type, name, params, args, missing) LIBRARY_##library,
#define LIBRARY_VOID(library, name, params, args, missing) LIBRARY_##library,
#include "machine/host/libraries.def"
};

enum { UNTRIED, OPEN, MISSING };
static atomic_int library_states[LIBRARIES];
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

/* One that lacks a function is too old, and as good as none. It stays open until the end. */
static int load_library(enum system_library l)
{
	size_t first = 0, n = 0;
	void *handle;

	while (owners[first] != l)
		first++;
	while (first + n < sizeof(owners) / sizeof(owners[0]) && owners[first + n] == l)
		n++;
	if (vendor_open(libraries[l].soname, symbols + first, n, &library_calls, &handle))
		return MISSING;
	if (vendor_lacks(symbols + first, n, &library_calls))
		return MISSING;
	return l == LIBRARY_SODIUM && library_calls.sodium_init() < 0 ? MISSING : OPEN;
}

static bool library_ready(enum system_library l)
{
	int state = atomic_load_explicit(&library_states[l], memory_order_acquire);

	if (state != UNTRIED)
		return state == OPEN;
	pthread_mutex_lock(&library_lock);
	state = atomic_load_explicit(&library_states[l], memory_order_relaxed);
	if (state == UNTRIED)
		state = load_library(l);
	atomic_store_explicit(&library_states[l], state, memory_order_release);
	pthread_mutex_unlock(&library_lock);
	return state == OPEN;
}

int library_open(enum system_library l, struct err *e)
{
	if (library_ready(l))
		return 0;
	err_set(e, -ELIBACC, "%s is not installed, or too old", libraries[l].name);
	err_hint(e, "install the package %s (Debian, Ubuntu)", libraries[l].package);
	return -ELIBACC;
}

#define LIBRARY_CALL(library, type, name, params, args, missing)                                   \
	type name params                                                                           \
	{                                                                                          \
		return library_ready(LIBRARY_##library) ? library_calls.name args : missing;       \
	}
#define LIBRARY_VOID(library, name, params, args, missing)                                         \
	void name params                                                                           \
	{                                                                                          \
		if (library_ready(LIBRARY_##library))                                              \
			library_calls.name args;                                                   \
		else                                                                               \
			missing;                                                                   \
	}
#include "machine/host/libraries.def"
