/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tables. A table is a NAME.rows, its columns in a .c file, a line here and its words
 * in meson.build. */
#include "knowledge/tables.h"

#include "knowledge/bands.h"
#include "knowledge/dead_flags.h"
#include "knowledge/engine_options.h"
#include "knowledge/formats.h"
#include "knowledge/gpus.h"
#include "knowledge/health.h"
#include "knowledge/model_types.h"
#include "knowledge/models.h"
#include "knowledge/nccl_vars.h"
#include "knowledge/train_keys.h"

const struct row_table *const row_tables[] = {
	&gpu_table,	     &model_table,	   &model_type_table,
	&format_table,	     &band_table,	   &cluster_band_table,
	&dead_flag_table,    &engine_option_table, &health_limit_table,
	&xid_table,	     &known_var_table,	   &memory_limit_table,
	&nccl_release_table, &train_key_table,	   NULL,
};
