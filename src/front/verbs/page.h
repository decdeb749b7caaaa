/* SPDX-License-Identifier: Apache-2.0 */
/* Printing a verb's result: a document in the asked format, or JSON. */
#ifndef VERBS_PAGE_H
#define VERBS_PAGE_H

#include <jansson.h>

#include "front/verbs/cmd.h"
#include "render/doc.h"

/* Colours, width and character set as options, environment and terminal have them. */
struct term_style run_style(const struct run *r);
/* term, md or html; EXIT_USAGE after complaining about a format that a document has not. */
int run_print_doc(struct run *r, const struct doc *d, const char *title);
/* --format json was given. */
bool run_wants_json(const struct run *r);
/* Takes the reference. */
void run_print_json(struct run *r, json_t *j);
/* --json must not take the place of a file that is something else than an earlier result of the
 * verb: 0, or an exit code after complaining. */
int run_check_result_file(const struct run *r);

#endif
