/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the stand-in for the CUDA driver behaves, read from the environment variable
 * GPUTUNE_STUB_CUDA at each call, as words "name=value":
 *
 *   gpus=2          how many there are (0: CUDA_ERROR_NO_DEVICE)
 *   version=13000   what the driver says of itself
 *   gb10=1          it calls itself NVIDIA GB10
 *   cc=100          its compute capability, ten times (90)
 *   mhz=1500        the clock that kernels see
 *   init=803        cuInit fails so
 *   memory=67108864 bytes of each GPU
 *   exclusive=1     no context can be had
 *   refuse=1        kernels do not compile
 *   nogate=1        the hardware cannot wait for a word
 *   nopeer=1        GPUs cannot reach each other
 *   corrupt=copy    kernels whose names begin so turn one bit of what they wrote; "engine": copies
 *   blind=1         comparisons find nothing
 *   lost_after=20   every launch after that many fails, and the context with it
 *   stuck=1         nothing that was started is ever over
 */
#ifndef STUB_DEVICE_SETTINGS_H
#define STUB_DEVICE_SETTINGS_H

#include <stdbool.h>

long long stub_number(const char *name, long long fallback);
/* Whether the setting's text is the beginning of s. */
bool stub_begins(const char *name, const char *s);

#endif
