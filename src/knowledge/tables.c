/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tables. A table is a NAME.rows, a NAME.c with its columns, a line here and a word in
 * meson.build. */
#include "knowledge/tables.h"

#include "knowledge/formats.h"
#include "knowledge/gpus.h"
#include "knowledge/model_types.h"
#include "knowledge/models.h"

const struct row_table *const row_tables[] = {
	&gpu_table, &model_table, &model_type_table, &format_table, NULL,
};
