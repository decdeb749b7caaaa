/* SPDX-License-Identifier: Apache-2.0 */
/* The table of components. */
#include "look/stack/component.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

const struct component_row components[COMPONENTS] = {
	[COMPONENT_CUDART] = { "CUDA runtime", "cudart", "libcudart.so.",
			       LIST("nvidia-cuda-runtime"), NULL, "cuda-cudart-%d-0",
			       "nvidia-cuda-runtime-cu%d", "CUDA runtime" },
	[COMPONENT_CUBLAS] = { "cuBLAS", "cublas", "libcublas.so.", LIST("nvidia-cublas"),
			       LIST("libcublas.so.*"), "libcublas-%d-0", "nvidia-cublas-cu%d",
			       "matrix multiplications" },
	[COMPONENT_CUBLASLT] = { "cuBLASLt", "cublaslt", "libcublasLt.so.", NULL,
				 LIST("libcublasLt.so.*"), "libcublas-%d-0", "nvidia-cublas-cu%d",
				 "matrix products of PyTorch" },
	[COMPONENT_CUDNN] = { "cuDNN", "cudnn", "libcudnn.so.", LIST("nvidia-cudnn"),
			      LIST("libcudnn_ops.so.*", "libcudnn_engines_precompiled.so.*",
				   "libcudnn_adv.so.*"),
			      "libcudnn9-cuda-%d", "nvidia-cudnn-cu%d",
			      "convolutions and attention" },
	[COMPONENT_CUFILE] = { "cuFile", "cufile", "libcufile.so.", LIST("nvidia-cufile"), NULL,
			       "nvidia-gds-%d-0", "nvidia-cufile-cu%d",
			       "direct reads from disk to GPU memory" },
	[COMPONENT_CUSPARSELT] = { "cuSPARSELt", "cusparselt", "libcusparseLt.so.",
				   LIST("nvidia-cusparselt"), LIST("libcusparseLt.so.*"),
				   "libcusparselt0-cuda-%d", "nvidia-cusparselt-cu%d",
				   "matrix products with 2:4 sparsity" },
	[COMPONENT_NCCL] = { "NCCL", "nccl", "libnccl.so.", LIST("nvidia-nccl"),
			     LIST("libnccl.so.*"), "libnccl2", "nvidia-nccl-cu%d",
			     "collectives between GPUs and machines" },
	[COMPONENT_NVRTC] = { "NVRTC", "nvrtc", "libnvrtc.so.", LIST("nvidia-cuda-nvrtc"), NULL,
			      "cuda-nvrtc-%d-0", "nvidia-cuda-nvrtc-cu%d",
			      "run-time compilation of kernels" },
	[COMPONENT_LLVM] = { "LLVM", "llvm", "libLLVM", LIST("llvmlite"), NULL, "llvm", NULL,
			     "compilers; Triton brings its own" },
	[COMPONENT_TRITON] = { "Triton", "triton", NULL, LIST("triton", "pytorch-triton"), NULL,
			       NULL, "triton", "kernels of torch.compile" },
	[COMPONENT_TORCH] = { "PyTorch", "torch", NULL, LIST("torch"),
			      LIST("torch/lib/libtorch_cuda.so",
				   "torch/lib/libtorch_cuda_linalg.so"),
			      NULL, "torch", "training and inference" },
	[COMPONENT_TORCHVISION] = { "torchvision", "torchvision", NULL, LIST("torchvision"),
				    LIST("torchvision/_C.so", "torchvision/_C.*"), NULL,
				    "torchvision", "image models" },
	[COMPONENT_TORCHAUDIO] = { "torchaudio", "torchaudio", NULL, LIST("torchaudio"),
				   LIST("torchaudio/lib/*"), NULL, "torchaudio", "audio models" },
	[COMPONENT_FLASH_ATTN] = { "flash-attention", "flash-attn", NULL,
				   LIST("flash-attn", "flash-attn-3"),
				   LIST("flash_attn_2_cuda.*", "flash_attn_3/_C.*"), NULL,
				   "flash-attn", "fused attention" },
	[COMPONENT_VLLM] = { "vLLM", "vllm", NULL, LIST("vllm"),
			     LIST("vllm/_C.*", "vllm/_moe_C.*",
				  "vllm/vllm_flash_attn/_vllm_fa2_C.*",
				  "vllm/vllm_flash_attn/_vllm_fa3_C.*"),
			     NULL, "vllm", "serving of language models" },
	[COMPONENT_SGLANG] = { "SGLang", "sglang", NULL, LIST("sglang"), NULL, NULL, "sglang",
			       "serving of language models" },
	[COMPONENT_SGL_KERNEL] = { "SGLang's kernels", "sgl-kernel", NULL,
				   LIST("sgl-kernel", "sglang-kernel"),
				   LIST("sgl_kernel/common_ops.*", "sgl_kernel/sm90/common_ops.*",
					"sgl_kernel/sm100/common_ops.*",
					"sgl_kernel/sm121/common_ops.*"),
				   NULL, "sgl-kernel", "kernels of SGLang" },
	[COMPONENT_TENSORRT_LLM] = { "TensorRT-LLM", "tensorrt-llm", NULL, LIST("tensorrt-llm"),
				     LIST("tensorrt_llm/libs/libtensorrt_llm.so"), NULL,
				     "tensorrt-llm", "serving of language models" },
	[COMPONENT_FLASHINFER] = { "FlashInfer", "flashinfer", NULL,
				   LIST("flashinfer-python", "flashinfer"), NULL, NULL,
				   "flashinfer-python", "attention and FP4 kernels of engines" },
	[COMPONENT_CUTLASS_DSL] = { "CUTLASS DSL", "cutlass-dsl", NULL, LIST("nvidia-cutlass-dsl"),
				    NULL, NULL, "nvidia-cutlass-dsl", "kernels of FlashInfer" },
	[COMPONENT_TRANSFORMERS] = { "transformers", "transformers", NULL, LIST("transformers"),
				     NULL, NULL, "transformers", "models and the Trainer" },
	[COMPONENT_ACCELERATE] = { "Accelerate", "accelerate", NULL, LIST("accelerate"), NULL, NULL,
				   "accelerate", "launching and sharding of the Trainer" },
	[COMPONENT_PEFT] = { "PEFT", "peft", NULL, LIST("peft"), NULL, NULL, "peft", "adapters" },
	[COMPONENT_TRL] = { "TRL", "trl", NULL, LIST("trl"), NULL, NULL, "trl",
			    "fine-tuning by instruction and preference" },
	[COMPONENT_DATASETS] = { "Datasets", "datasets", NULL, LIST("datasets"), NULL, NULL,
				 "datasets", "training data" },
	[COMPONENT_BITSANDBYTES] = { "bitsandbytes", "bitsandbytes", NULL, LIST("bitsandbytes"),
				     LIST("bitsandbytes/libbitsandbytes_cuda*.so"), NULL,
				     "bitsandbytes", "8-bit optimizers, 4-bit weights" },
	[COMPONENT_DEEPSPEED] = { "DeepSpeed", "deepspeed", NULL, LIST("deepspeed"), NULL, NULL,
				  "deepspeed", "sharded training" },
	[COMPONENT_ONNXRUNTIME] = { "ONNX Runtime", "onnxruntime", "libonnxruntime.so.",
				    LIST("onnxruntime-gpu", "onnxruntime"),
				    LIST("onnxruntime/capi/libonnxruntime_providers_cuda.so"), NULL,
				    "onnxruntime-gpu", "inference of ONNX models" },
	[COMPONENT_ONNX] = { "ONNX", "onnx", NULL, LIST("onnx"), NULL, NULL, "onnx",
			     "exchanges models between frameworks" },
};

/* Without "-cu12" at its end. */
static size_t bare_length(const char *name)
{
	size_t n = strlen(name), i = n;

	while (i && isdigit((unsigned char)name[i - 1]))
		i--;
	return i < n && i >= 3 && strncmp(name + i - 3, "-cu", 3) == 0 ? i - 3 : n;
}

bool component_dist_is(const char *name, const char *bare)
{
	size_t n = strlen(bare);

	return strncmp(bare, name, n) == 0 && bare_length(name) == n;
}

enum component component_of_dist(const char *name)
{
	for (size_t i = 0; i < COMPONENTS; i++)
		for (const char *const *d = components[i].dists; d && *d; d++)
			if (component_dist_is(name, *d))
				return (enum component)i;
	return COMPONENTS;
}

enum component component_of_soname(const char *name)
{
	for (size_t i = 0; i < COMPONENTS; i++)
		if (components[i].soname && str_starts(name, components[i].soname))
			return (enum component)i;
	return COMPONENTS;
}

void dist_normalise(const char *name, char *out, size_t cap)
{
	size_t n = 0;

	for (; *name && n + 1 < cap; name++) {
		bool dash = *name == '-' || *name == '_' || *name == '.';

		if (dash && n && out[n - 1] == '-')
			continue;
		out[n++] = dash ? '-' : (char)tolower((unsigned char)*name);
	}
	out[n] = '\0';
}
