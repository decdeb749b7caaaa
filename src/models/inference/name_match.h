/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of modules against what a configuration writes for them: a plain name, a glob, or an
 * expression after "re:". The patterns are somebody else's: work is counted and limited.
 */
#ifndef INFERENCE_NAME_MATCH_H
#define INFERENCE_NAME_MATCH_H

#include <regex.h>
#include <stdbool.h>

/* An expression of Python as one of POSIX; it may begin and end anywhere. false: repeated so many
 * times, looking around, back references, and what regcomp refuses. */
bool name_expression(const char *pattern, regex_t *out);

#endif
