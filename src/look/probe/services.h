/* SPDX-License-Identifier: Apache-2.0 */
/* The services that set what gputune judges, and those that its users' machines were left with. */
#ifndef PROBE_SERVICES_H
#define PROBE_SERVICES_H

#include "look/probe/probe.h"

void probe_services(struct probe *p);

#endif
