/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's own profiler, asked from outside for a moment every so often: the protocol between
 * Kineto and its daemon (libkineto/src/IpcFabricConfigClient.cpp, dynolog's ipcfabric; tried with
 * PyTorch 2.11). Nothing of ours is in the job.
 */
#ifndef FRONT_KINETO_H
#define FRONT_KINETO_H

#include "base/err.h"

struct kineto;
/* Listens in a folder of its own for processes of the job that is started next, of which the
 * environment says so. What they tell goes to the file trace, a line each time. NULL: *e. */
struct kineto *kineto_begin(const char *trace, struct err *e);
/* The variables in our own environment are as they were. */
void kineto_environment_back(void);
void kineto_end(struct kineto *k);

#endif
