/* SPDX-License-Identifier: Apache-2.0 */
/* The way to another machine, as routes and one connection tell it. Nothing is sent over it. */
#ifndef DOCTOR_PATH_H
#define DOCTOR_PATH_H

#include <stdatomic.h>

#include "measure/doctor/doctor.h"

/* 0; -errno and *e when the peer does not answer: out then holds what the routes tell. */
int path_take(struct arena *a, const struct machine *m, const char *peer, const atomic_bool *stop,
	      struct path_look *out, struct err *e);

#endif
