/* SPDX-License-Identifier: Apache-2.0 */
/* What nvidia-smi prints of one GPU's boost slider. */
#ifndef HOST_BOOST_H
#define HOST_BOOST_H

/* Largest and present level out of the table that "boost-slider -i GPU -l" prints. -EOPNOTSUPP: it
 * has no row of that slider; -EPROTO: the row is not what is known, or there are two. */
int boost_parse(const char *output, unsigned *max, unsigned *level);

#endif
