/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which a test tells the stand-in of NVML what it answers. */
#ifndef TESTS_STUB_FILE_H
#define TESTS_STUB_FILE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Makes it, empty, from a template of mkstemp, and names it to the stand-in. The caller removes it.
 */
static inline bool stub_file_make(char *name)
{
	int fd = mkstemp(name);

	if (fd < 0)
		return false;
	close(fd);
	return setenv("GPUTUNE_STUB", name, 1) == 0;
}

/* This machine has an NVML of its own: what is said without one cannot be tried. */
static inline bool stub_is_real(void)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW);

	if (lib)
		dlclose(lib);
	return lib != NULL;
}

#endif
