/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tables. A table is a NAME.rows, a NAME.c with its columns, a line here and a word in
 * meson.build. */
#include "knowledge/tables.h"

#include "knowledge/gpus.h"
#include "knowledge/models.h"

const struct row_table *const row_tables[] = {
	&gpu_table,
	&model_table,
	NULL,
};
