/* SPDX-License-Identifier: Apache-2.0 */
/* What mlxconfig prints of one parameter of an adapter's firmware. */
#ifndef HOST_MLXCONFIG_H
#define HOST_MLXCONFIG_H

/* The value that holds from the next boot on, of the row "LINK_TYPE_P1   ETH(2)" (or with more
 * columns before it). -EOPNOTSUPP: there is no such row; -EPROTO: it is not what is known. */
int mlxconfig_parse(const char *output, const char *name, long long *out);

#endif
