/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a question names. */
#ifndef VERBS_MODEL_FILES_H
#define VERBS_MODEL_FILES_H

#include "models/inference/query.h"
#include "verbs/door.h"

/* Everything in the file, ended by a NUL, in the arena; NULL: it was said why. At most most bytes
 * are taken; a longer file is refused, or with *cut told, cut there. */
char *door_file(struct door *d, const char *path, size_t most, size_t *len, bool *cut);
/* A model as a file or folder: fills *f and returns 1; 0: it is a name; below 0 as answers. */
int door_model_file(struct door *d, const char *path, struct model_file *f);

#endif
