/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that the stub libraries pretend to be. It is read when a library is initialised, from
 * the file named by the environment variable GPUTUNE_STUB, in one of two forms:
 *
 *   a capture's api/nvml.json (docs/design/CAPTURE.md), or
 *   lines "OBJECT QUESTION=VALUE": OBJECT "-" is the machine, else a GPU's index; VALUE is a
 * number, a text, or
 *   "!" and an error by NVML's name or errno's ("!NOT_SUPPORTED"). '#' starts a comment.
 *
 * A GPU's question "*" is the answer to all that are not listed; without one that is NOT_SUPPORTED.
 * The object "stub" steers the stub itself:
 *
 *   init=ERROR         nvmlInit or cuInit fails
 *   handle(0)=ERROR    the GPU cannot be opened
 *   lost_gpu=1, lost_after=20   GPU 1 is lost after 20 calls about it
 *   refuse(FUNCTION)=ERROR      a function that sets fails
 *   clamps=1           power limit and clock locks beyond the board's range are cut to it, and the
 *                      call succeeds; otherwise they are refused
 *   forgets_after=5    the clock lock is gone 5 calls after it was set: a CUDA program started
 *   unloads=1          what was set is gone at the shutdown of the library, of GPUs without
 *                      persistence mode: the driver unloads
 *   anew=1             the description is read again for each list of processes
 *   coherent=1         a GPU's handle is void after persistence mode was switched off
 *   state=PATH         what was set is kept in this file, also for the next process; without it,
 *                      until the library is shut down
 */
#ifndef STUB_STUB_H
#define STUB_STUB_H

#include <stddef.h>

/* Reads the description anew; none gives a machine that supports nothing. */
void stub_load(void);
void stub_unload(void);
/* An answer. 0, or an NVML result. A text where a number is asked for, or the reverse, is
 * NVML_UNKNOWN. */
int stub_int(const char *object, const char *question, long long *out);
int stub_text(const char *object, const char *question, char *buf, size_t size);
/* Same as stub_int, with a value for what is not listed. */
long long stub_setting(const char *question, long long fallback);
/* Whether the description has this object at all. */
int stub_has(const char *object);
/* From now on the answer; and no longer so: the description's again. */
void stub_set_int(const char *object, const char *question, long long v);
void stub_forget(const char *object, const char *question);
/* Forgets all that was set of an object. */
void stub_forget_all(const char *object);
/* The description's own number, whatever was set. As stub_int. */
int stub_own_int(const char *object, const char *question, long long *out);
/* The error that "stub QUESTION" holds, 0 without one. */
int stub_error(const char *question);

#endif
