/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the network probe. */
#ifndef PROBE_NIC_H
#define PROBE_NIC_H

#include "look/probe/probe.h"

/* The names of the files in which programs keep interfaces. */
struct nic_owners;
const struct nic_owners *nic_owners_read(struct probe *p);
/* Who configures an interface: the first of them that names it. */
struct fact_str nic_owner(const struct nic_owners *owners, const char *name);
/* Pairs of physical interfaces that are up and share an IPv4 subnet. */
struct fact_int nic_bad_subnets(const struct list *nics);
/* PCI address of the function that a class device hangs from, "" when there is none. dir is the
 * class folder's link with a "/" at its end: "/sys/class/net/eth0/". */
const char *class_device_pci(struct probe *p, const char *dir);

#endif
