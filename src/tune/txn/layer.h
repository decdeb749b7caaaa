/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several transactions may have written one knob: their entries lie on each other like layers. The
 * top one's value is in force. Taking out a lower one changes nothing on the machine, but what the
 * one above it goes back to.
 */
#ifndef TXN_LAYER_H
#define TXN_LAYER_H

#include "tune/txn/journal.h"

#define NOTE_COVERED "covered"
#define NOTE_LEFT "left"

/* It may still hold a value. */
bool entry_is_active(const struct entry *e);
/* Which of two was written later. */
bool entry_is_newer(const struct entry *x, const struct entry *y);
/* The next active entry of the same knob above (newer than) e; NULL. */
struct entry *layer_above(struct journal *j, const struct entry *e);
/* The oldest active entry of the knob that is newer than e, which is of another one; NULL. */
struct entry *layer_above_side_effect(struct journal *j, const struct knob *k,
				      const struct entry *e);
/* The oldest active entry newer than e whose write has reset e's knob, with *side the place in its
 * sides; NULL. */
struct entry *layer_resets(struct journal *j, const struct entry *e, size_t *side);
/* The newest active entry of the knob; NULL. */
struct entry *layer_top(struct journal *j, const struct knob *k);
/* The newest active entry of the same knob that is older than e; NULL. */
struct entry *layer_below(struct journal *j, const struct entry *e);
/* The oldest active entry of the knob; NULL. */
struct entry *layer_bottom(struct journal *j, const struct knob *k);
/*
 * What was there before anything of ours, where before is what a layer of k goes back to. Of two
 * sysctls of which writing one zeroes the other, before may be a value of the other that is ours:
 * "vm.dirty_ratio=40" of vm.dirty_bytes.
 */
const char *layer_original(struct arena *a, struct journal *j, const struct knob *k,
			   const char *before);
/* Whether the one above, when e is taken out, goes back to what was there before e. Not when
 * somebody changed the knob between the two: then that value is what it goes back to. */
bool layer_hands_down(const struct entry *e, const struct entry *above);

#endif
