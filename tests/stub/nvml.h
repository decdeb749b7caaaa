/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the NVML stub share. */
#ifndef STUB_NVML_H
#define STUB_NVML_H

struct nvml_device;

/* Counts a call about d. 0 and its object and question, or the result that the call has to give. */
int stub_enter(struct nvml_device *d, const char *name, const char *rest, char object[16],
	       char question[128]);
/* The same, and the number it gives. rest is what follows the name: "(SM)", ".total". */
int stub_number(struct nvml_device *d, const char *name, const char *rest, long long *out);
/* What the description says of a slice of MIG: SMs, MiB, slices of the instance and of compute, and
 * its name where name is not NULL. */
int stub_slice(struct nvml_device *d, unsigned long long v[4], char *name, unsigned size);
int stub_is_slice(const struct nvml_device *d);
/* Counts a question with its arguments. */
void stub_note(const char *object, const char *question);
unsigned stub_index(const struct nvml_device *d);
/* The handle answers nothing from now on. */
void stub_make_stale(struct nvml_device *d);
/* Called with every call about d, and when the library is shut down: what it forgets by itself. */
void stub_time_passes(unsigned index);
void stub_shut(unsigned gpus);

#endif
