/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hints of a real machine. Files: fanotify, which also says what process wrote, else inotify;
 * both see what programs write to /proc/sys and /sys, and neither sees the kernel or a driver
 * change a value of its own: those are polled. Links: rtnetlink. Devices: the kernel's uevents.
 * GPUs: NVML's events, when the library is there. For watch/ alone but for opening.
 */
#ifndef WATCH_LIVE_H
#define WATCH_LIVE_H

#include <stdint.h>

#include "tune/watch/source.h"

/* root: the folder in which the machine's files lie, "" for this machine; NULL: there is none (a
 * capture). devices: also links, devices and GPUs, which are this machine's. Takes over SIGTERM,
 * SIGINT and SIGHUP. h is asked about processes. */
struct source *live_source_open(struct host *h, const char *root, bool devices, struct err *e);

/* --- for watch/ alone ------------------------------------------------------------------------- */

struct live_mark {
	char *path; /* on the machine */
	uint64_t dev, ino;
	int wd;	  /* of inotify; -1: none */
	int hold; /* a descriptor; -1: none */
	bool folder;
};

struct live_gpu;

struct live_source {
	struct source source;
	struct host *h;
	char *root; /* NULL: none */
	int epoll, signals, fanotify, inotify, route, uevent;
	struct live_mark *marks;
	size_t n;
	bool devices;
	struct live_gpu *gpu; /* NULL: not started */
	int gpu_event;	      /* an eventfd; -1 */
	bool gpu_tried;
};

/* Where hints go; full: the rest counts as lost. */
struct hint_list {
	struct hint *list;
	size_t n, cap;
};

void live_fanotify_read(struct live_source *s, struct hint_list *l);
void live_inotify_read(struct live_source *s, struct hint_list *l);

void live_route_read(struct live_source *s, struct hint_list *l);
void live_uevent_read(struct live_source *s, struct hint_list *l);

#endif
