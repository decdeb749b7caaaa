/* SPDX-License-Identifier: Apache-2.0 */
/* What programs of vendors print, taken apart. */
#ifndef HOST_PROGRAM_H
#define HOST_PROGRAM_H

#include "base/arena.h"

/* Largest and present level out of the table that "boost-slider -i GPU -l" prints. -EOPNOTSUPP: it
 * has no row of that slider; -EPROTO: the row is not what is known, or there are two. */
int boost_parse(const char *output, unsigned *max, unsigned *level);

/* The value that holds from the next boot on, of the row "LINK_TYPE_P1   ETH(2)" (or with more
 * columns before it). -EOPNOTSUPP: there is no such row; -EPROTO: it is not what is known. */
int mlxconfig_parse(const char *output, const char *name, long long *out);

/* "570.133.20" of "Fabric Manager version is : 570.133.20", in the arena; NULL when said has
 * another shape. */
const char *fabric_manager_version(struct arena *a, const char *said);

#endif
