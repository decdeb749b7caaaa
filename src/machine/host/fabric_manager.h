/* SPDX-License-Identifier: Apache-2.0 */
/* What nv-fabricmanager --version prints. */
#ifndef HOST_FABRIC_MANAGER_H
#define HOST_FABRIC_MANAGER_H

#include "base/arena.h"

/* "570.133.20" of "Fabric Manager version is : 570.133.20", in the arena; NULL when said has
 * another shape. */
const char *fabric_manager_version(struct arena *a, const char *said);

#endif
