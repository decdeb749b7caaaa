/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a GPU software stack: what they are called by the loader, by pip and by apt. */
#ifndef STACK_COMPONENT_H
#define STACK_COMPONENT_H

#include <stdbool.h>
#include <stddef.h>

enum component {
	COMPONENT_CUDART,
	COMPONENT_CUBLAS,
	COMPONENT_CUBLASLT,
	COMPONENT_CUDNN,
	COMPONENT_CUFILE,
	COMPONENT_CUSPARSELT,
	COMPONENT_NCCL,
	COMPONENT_NVRTC,
	COMPONENT_LLVM,
	COMPONENT_TRITON,
	COMPONENT_TORCH,
	COMPONENT_TORCHVISION,
	COMPONENT_TORCHAUDIO,
	COMPONENT_FLASH_ATTN,
	COMPONENT_VLLM,
	COMPONENT_SGLANG,
	COMPONENT_SGL_KERNEL,
	COMPONENT_TENSORRT_LLM,
	COMPONENT_FLASHINFER,
	COMPONENT_CUTLASS_DSL,
	COMPONENT_TRANSFORMERS,
	COMPONENT_ACCELERATE,
	COMPONENT_PEFT,
	COMPONENT_TRL,
	COMPONENT_DATASETS,
	COMPONENT_BITSANDBYTES,
	COMPONENT_DEEPSPEED,
	COMPONENT_ONNXRUNTIME,
	COMPONENT_ONNX,
	COMPONENTS,
};

struct component_row {
	const char *name;	  /* "NCCL" */
	const char *id;		  /* "nccl" */
	const char *soname;	  /* "libnccl.so.": what a loader's name begins with; NULL */
	const char *const *dists; /* names in pip, without -cuXX; NULL-terminated */
	/* Files that hold its GPU code: names in the folder of soname or, with a slash, below
	 * site-packages; '*' at the end matches the rest. NULL-terminated; NULL: it has none. */
	const char *const *code;
	const char *apt; /* package of NVIDIA's repository; %d: the CUDA major version; NULL */
	const char *pip; /* what to install; %d: the CUDA major version; NULL */
	const char *why; /* what it is good for */
};

extern const struct component_row components[COMPONENTS];

/* "nvidia-cudnn-cu13" -> COMPONENT_CUDNN; COMPONENTS when it is none. name is normalised. */
enum component component_of_dist(const char *name);
/* "nvidia-cudnn-cu13" is "nvidia-cudnn". */
bool component_dist_is(const char *name, const char *bare);
enum component component_of_soname(const char *name);
/* Lower case, runs of "-_." as one "-": PEP 503. */
void dist_normalise(const char *name, char *out, size_t cap);

#endif
