/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen and dlsym, and the one place that turns an object pointer into a function pointer. */
#include "machine/host/vendor.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym returns functions as objects");

static void set_pointer(void *table, const struct vendor_symbol *s, void *lib)
{
	void *found = lib ? dlsym(lib, s->name) : NULL;
	void (*fn)(void) = s->fallback;

	/* ISO C has no conversion from void * to a function pointer; POSIX says the bits are the
	 * same. */
	if (found)
		memcpy(&fn, &found, sizeof(fn));
	memcpy((char *)table + s->offset, &fn, sizeof(fn));
}

bool vendor_literal(const char *soname)
{
	return !strchr(soname, '$');
}

int vendor_open(const char *soname, const struct vendor_symbol *symbols, size_t n, void *table,
		void **lib)
{
	*lib = vendor_literal(soname) ? dlopen(soname, RTLD_NOW | RTLD_LOCAL) : NULL;
	for (size_t i = 0; i < n; i++)
		set_pointer(table, &symbols[i], *lib);
	return *lib ? 0 : -ELIBACC;
}

const char *vendor_lacks(const struct vendor_symbol *symbols, size_t n, const void *table)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp((const char *)table + symbols[i].offset, &symbols[i].fallback,
			   sizeof(symbols[i].fallback)) == 0)
			return symbols[i].name;
	return NULL;
}

bool vendor_publish(const char *soname)
{
	return dlopen(soname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) != NULL;
}

void vendor_close(void *lib)
{
	if (lib)
		dlclose(lib);
}

struct quiet_call {
	void (*fn)(void *ctx);
	void *ctx;
};

static void *quiet_main(void *arg)
{
	struct quiet_call *c = arg;

	c->fn(c->ctx);
	return NULL;
}

void vendor_call(void (*fn)(void *ctx), void *ctx)
{
	/* Those that a fault of the thread itself raises stay as they are. */
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
	struct quiet_call c = { fn, ctx };
	sigset_t all, before;
	pthread_t thread;
	bool begun;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	/* A thread begins with the mask of who begins it. */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	begun = pthread_create(&thread, NULL, quiet_main, &c) == 0;
	if (!begun)
		fn(ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (begun)
		pthread_join(thread, NULL);
}

static bool is_roots_alone(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

bool vendor_trusted(const char *path)
{
	char part[PATH_MAX];
	char *slash;

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return false;
	while (*part) {
		if (!is_roots_alone(part))
			return false;
		slash = strrchr(part, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	/* Who may write to the top can put another folder in the place of any below it. */
	return is_roots_alone("/");
}
