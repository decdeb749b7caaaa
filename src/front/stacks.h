/* SPDX-License-Identifier: Apache-2.0 */
/* Where the Python processes of a job are, added up to a file beside its recording. */
#ifndef FRONT_STACKS_H
#define FRONT_STACKS_H

#include <stdbool.h>
#include <sys/types.h>

struct stack_samples;
/* Begins, in a thread of its own: 20 times a second; unless often, more rarely where that takes
 * over 1 % of a CPU. NULL: there is no thread to be had. */
struct stack_samples *stack_samples_begin(pid_t job, bool often);
/* Ends, and writes RECORDING.stacks: a line of JSON for each process. quiet: nothing is said. */
void stack_samples_end(struct stack_samples *s, const char *recording, bool quiet);

#endif
