/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order the windows come: by chance, but the same again for the same seed. Each pair is
 * the toss of a coin of its own, which is all that the rule rests on (rule.h).
 *
 * The state of a window has to be made anew before each window, also where the window before it had
 * the same one: go to the other state and back. Otherwise two neighbouring pairs share whatever
 * chance a switch brings (where memory came to lie, which CPU a queue fell on), their signs are no
 * independent coins any more, and wrong verdicts rise from 3 to 7 in 100 (docs/PROVE.md).
 */
#ifndef PROVE_ORDER_H
#define PROVE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the setting's window is the first of pair number i (a void pair's number is used up). */
bool order_b_first(uint64_t seed, size_t i);
/* Shuffles 0 .. n - 1 into at. */
void order_shuffle(uint64_t seed, size_t *at, size_t n);
/* A seed of the system's; never 0. */
uint64_t order_seed(void);

#endif
