/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of modules against what a configuration writes for them: a plain name, a glob with * and ?,
 * or an expression after "re:". The patterns are somebody else's: work is counted and limited.
 */
#ifndef INFERENCE_NAME_MATCH_H
#define INFERENCE_NAME_MATCH_H

#include <stdbool.h>
#include <stddef.h>

enum name_kind { NAME_PLAIN, NAME_GLOB, NAME_EXPRESSION };

/*
 * Without groups (name_alternatives resolves them): characters, ., [...], \d, \., and *, + or ?
 * behind one; ^ and $. It may begin anywhere and, without $, end anywhere.
 */
bool name_expression(const char *pattern, const char *module, long *left);
/* A pattern of expressions as those without "(a|b)"; 0: more than most, or nested. */
size_t name_alternatives(const char *pattern, char (*out)[256], size_t most);

#endif
