/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables about which more is known than their name: values, harm, what to do instead. Defaults
 * and meanings by NCCL's documentation and sources of 2.30.7; what owners measured by the place
 * that says it. The order is that in which environments are read out.
 */
#include "knowledge/nccl_vars.h"

#include <string.h>

#define DOCS "NCCL user guide, environment variables (2.31)"
#define SPARK_NO_GDR                                                                               \
	"docs.nvidia.com/dgx/dgx-spark-porting-guide: no GPUDirect RDMA on GB10 (read 2026-11-21)"
/* Words, or their old numbers. */
#define LEVELS "LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS 0 1 2 3 4 5"
#define FAULTS_ONLY "unset it; it is made for finding faults"

#define CUDA "CUDA programming guide, environment variables"
#define TORCH_NCCL "PyTorch documentation, ProcessGroupNCCL environment variables"
#define ALLOCATOR                                                                                  \
	"PyTorch sources, c10/core/AllocatorConfig.cpp and c10/cuda/CUDAAllocatorConfig.cpp"

#define WATCHED .flags = VAR_WATCHED
#define WATCHED_FORCES .flags = VAR_WATCHED | VAR_FORCES
#define WATCHED_OFF .flags = VAR_WATCHED | VAR_OFF

const struct known_var known_vars[] = {
	{ "NCCL_NET", "NCCL", WATCHED, .does = "which network NCCL has to use",
	  .harm = "Socket takes RDMA away: 0.4 to 1 GB/s instead of 20 and more",
	  .instead = "IB where RDMA is there: a fall-back is an error then", .source = DOCS },
	{ "NCCL_NET_PLUGIN", "NCCL", WATCHED, .does = "the network plug-in, or none",
	  .source = DOCS },
	{ "NCCL_IB_DISABLE", "NCCL", WATCHED_OFF, VALUES_BOOL, .does = "no RDMA at all",
	  .harm = "everything goes over sockets", .instead = "unset it; NCCL_NET=IB",
	  .source = DOCS },
	{ "NCCL_IB_HCA", "NCCL", WATCHED, .does = "which RDMA devices are used",
	  .harm = "a name without \"=\" in front takes every device that begins so",
	  .instead = "=DEVICE:PORT,...", .source = DOCS },
	{ "NCCL_IB_GID_INDEX", "NCCL", WATCHED, VALUES_INT,
	  .does = "which row of the GID table RoCE uses",
	  .harm = "rows move when addresses change: an index that was right gives errors after "
		  "the next change of the network; on InfiniBand it is not read",
	  .instead = "unset it: NCCL finds the row itself (-1) since 2.21",
	  .source = "NCCL sources 2.30.7 (default -1); owners' reports of rows that moved" },
	{ "NCCL_IB_ECE_ENABLE", "NCCL", WATCHED, VALUES_BOOL,
	  .does = "enhanced connection establishment", .source = DOCS },
	{ "NCCL_IB_MERGE_NICS", "NCCL", WATCHED, VALUES_BOOL,
	  .does = "ports of one adapter become one device",
	  .harm = "on a DGX Spark it joins ports of different cages, never the twins of one",
	  .source = "NCCL sources 2.30.7 (default 1)" },
	{ "NCCL_IB_SUBNET_AWARE_ROUTING", "NCCL", WATCHED, VALUES_BOOL,
	  .does = "a port talks to the peer's port of the same subnet",
	  .harm = "releases before 2.30.7 do not read it, and say nothing",
	  .source = "NCCL sources: first in 2.30.7" },
	{ "NCCL_SOCKET_IFNAME", "NCCL", WATCHED,
	  .does = "interfaces for the first contact of all ranks, and for sockets",
	  .harm = "an interface that not all machines share lets the start hang; a name without "
		  "\"=\" takes all that begin so",
	  .instead = "=INTERFACE of the network that all machines share", .source = DOCS },
	{ "NCCL_ALGO", "NCCL", WATCHED_FORCES, .does = "forces algorithms",
	  .harm = "Ring alone caps two nodes of eight ports at the sum of the ports (400 GB/s of "
		  "8 x 50), which trees and NVLS exceed",
	  .instead = FAULTS_ONLY, .source = "NVIDIA/nccl-tests issue 290 (a diagnosis); " DOCS },
	{ "NCCL_PROTO", "NCCL", WATCHED_FORCES, VALUES_LIST, "LL LL128 Simple",
	  .does = "forces protocols",
	  .harm = "Simple alone makes small messages slow; LL128 where it is not safe corrupts "
		  "data",
	  .instead = FAULTS_ONLY, .source = DOCS },
	{ "NCCL_NET_GDR_LEVEL", "NCCL", WATCHED_FORCES, VALUES_WORDS, LEVELS,
	  .does = "how near NIC and GPU must be",
	  .harm = "forces a path that topology would choose or rule out", .instead = "unset it",
	  .source = DOCS },
	{ "NCCL_P2P_DISABLE", "NCCL", .flags = VAR_WATCHED | VAR_FORCES | VAR_OFF, VALUES_BOOL,
	  .does = "no GPU reads another's memory",
	  .harm = "NVLink and PCIe between GPUs are not used", .instead = FAULTS_ONLY,
	  .source = DOCS },
	{ "NCCL_P2P_LEVEL", "NCCL", 0, VALUES_WORDS, LEVELS,
	  .does = "how near GPUs must be to read each other", .source = DOCS },
	{ "NCCL_SHM_DISABLE", "NCCL", .flags = VAR_WATCHED | VAR_FORCES | VAR_OFF, VALUES_BOOL,
	  .does = "no shared memory between processes of a machine",
	  .harm = "GPUs without peer access talk over the network to themselves",
	  .instead = FAULTS_ONLY, .source = DOCS },
	{ "NCCL_CROSS_NIC", "NCCL", WATCHED, VALUES_INT,
	  .does = "0: rings stay on one rail; 1: they may change; 2: chosen", .source = DOCS,
	  .most = 2 },
	{ "GLOO_SOCKET_IFNAME", "PyTorch (gloo)", WATCHED,
	  .does = "interfaces of PyTorch's CPU collectives; whole names, no \"=\"",
	  .source = "PyTorch documentation, torch.distributed" },
	{ "TP_SOCKET_IFNAME", "PyTorch (tensorpipe)", WATCHED, .does = "interface of PyTorch's RPC",
	  .source = "tensorpipe sources" },
	{ "UCX_NET_DEVICES", "UCX", WATCHED,
	  .does = "devices of UCX (Open MPI, NIXL): RDMA as device:port", .source = "UCX FAQ" },
	{ "CUDA_LAUNCH_BLOCKING", "CUDA", WATCHED_OFF, VALUES_BOOL,
	  .does = "each launch waits for its end", .harm = "nothing overlaps any more",
	  .instead = FAULTS_ONLY, .source = "CUDA programming guide" },
	{ "PYTORCH_NO_CUDA_MEMORY_CACHING", "PyTorch", .flags = VAR_WATCHED | VAR_SET,
	  .does = "every tensor is a cudaMalloc",
	  .harm = "many times slower; PyTorch looks whether it is set, not to what",
	  .instead = FAULTS_ONLY,
	  .source = "PyTorch documentation, CUDA semantics; PyTorch sources, "
		    "c10/cuda/CUDACachingAllocator.cpp" },
	{ "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA", WATCHED, VALUES_INT,
	  .does = "hardware queues for launches",
	  .harm = "1 orders communication behind compute: Megatron's tensor parallelism wants "
		  "that, FSDP overlaps nothing with it",
	  .instead = "unset it for FSDP", .source = "Megatron-LM and PyTorch FSDP documentation" },
	{ "PYTORCH_ALLOC_CONF", "PyTorch", 0, .does = "how the GPU's memory is cached",
	  .source = ALLOCATOR },
	{ "PYTORCH_CUDA_ALLOC_CONF", "PyTorch", 0,
	  .does = "the same by its old name, which does not count beside the new one",
	  .source = ALLOCATOR },
	{ "TORCH_NCCL_ASYNC_ERROR_HANDLING", "PyTorch", 0, VALUES_INT,
	  .does = "what follows a collective that fails: 1 and 3 end the process",
	  .harm = "nobody looks after collectives that fail: the other ranks wait for ever",
	  .instead = "unset it (3)", .source = TORCH_NCCL, .most = 3 },
	{ "TORCH_NCCL_BLOCKING_WAIT", "PyTorch", 0, VALUES_WORDS, "0 1 n no f false y yes t true",
	  .does = "a wait for a collective waits on the host",
	  .harm = "the host stands until each collective ends, and launches nothing meanwhile",
	  .instead = "unset it", .source = TORCH_NCCL },
	{ "TORCH_DISTRIBUTED_DEBUG", "PyTorch", 0, VALUES_WORDS, "OFF INFO DETAIL",
	  .does = "checks of collectives",
	  .harm = "before each collective all ranks compare what they are about to do",
	  .instead = "OFF when all works", .source = "PyTorch documentation, torch.distributed" },
	{ "CUDA_DEVICE_ORDER", "CUDA", 0, VALUES_WORDS, "FASTEST_FIRST PCI_BUS_ID",
	  .does = "which GPU is number 0; nvidia-smi's is that of PCI_BUS_ID", .source = CUDA },
	{ "CUDA_VISIBLE_DEVICES", "CUDA", 0, .does = "which GPUs programs see", .source = CUDA },
	{ "CUDA_MODULE_LOADING", "CUDA", 0, VALUES_WORDS, "DEFAULT LAZY EAGER",
	  .does = "when kernels are loaded",
	  .harm = "every kernel of every library is loaded at the start, needed or not: that takes "
		  "time and the GPU's memory",
	  .instead = "unset it (LAZY since CUDA 12.2)", .source = CUDA },
	{ "CUDA_CACHE_DISABLE", "CUDA", VAR_OFF, VALUES_BOOL,
	  .does = "code that is compiled for this GPU at run time is not kept",
	  .harm = "it is compiled anew at every start", .instead = "unset it", .source = CUDA },
	{ "CUBLAS_WORKSPACE_CONFIG", "cuBLAS", 0, .does = "memory that products may use meanwhile",
	  .instead = "unset it, or :4096:8 for results that are the same each time",
	  .source = "cuBLAS documentation, results reproducibility" },
	{ "NCCL_NET_GDR_READ", "NCCL", 0, VALUES_BOOL, .does = "GPUDirect also for sending",
	  .source = DOCS },
	{ "NCCL_DMABUF_ENABLE", "NCCL", 0, VALUES_BOOL, .does = "GPUDirect by dma-buf",
	  .source = DOCS },
	{ "NCCL_GDRCOPY_ENABLE", "NCCL", 0, VALUES_BOOL, .does = "GDRCopy for flags",
	  .source = "NCCL sources 2.30.7" },
	{ "NCCL_NET_GDR_C2C", "NCCL", 0, VALUES_BOOL,
	  .does = "GPUDirect through a CPU that is joined by C2C",
	  .source = "NCCL sources: first in 2.26.2" },
	{ "NCCL_IB_CUDA_SUPPORT", "NCCL", 0, VALUES_BOOL, .does = "GPUDirect, until NCCL 2.4",
	  .harm = "no release of today reads it", .instead = "take it out", .source = DOCS },
	{ "NCCL_IB_GDR_LEVEL", "NCCL", 0, .does = "the old name of NCCL_NET_GDR_LEVEL",
	  .harm = "no release of today reads it", .instead = "take it out", .source = DOCS },
	{ "NCCL_RINGS", "NCCL", 0, .does = "rings by hand, until NCCL 2.4",
	  .harm = "no release of today reads it", .instead = "take it out", .source = DOCS },
	{ "NCCL_TREE_THRESHOLD", "NCCL", 0, .does = "where trees end, until NCCL 2.4",
	  .harm = "no release of today reads it", .instead = "take it out", .source = DOCS },
	{ "NCCL_DEBUG", "NCCL", 0, VALUES_WORDS, "VERSION WARN INFO ABORT TRACE NONE",
	  .does = "how much NCCL says", .source = DOCS },
	{ "NCCL_DEBUG_SUBSYS", "NCCL", 0, .does = "of what it says it", .source = DOCS },
	{ "NCCL_IB_TIMEOUT", "NCCL", 0, VALUES_INT,
	  .does = "4.096 us * 2^N until a packet is sent again", .source = DOCS, .most = 31 },
	{ "NCCL_IB_RETRY_CNT", "NCCL", 0, VALUES_INT, .does = "how often", .source = DOCS,
	  .most = 7 },
	{ "NCCL_IB_SL", "NCCL", 0, VALUES_INT, .does = "service level", .source = DOCS,
	  .most = 15 },
	{ "NCCL_IB_TC", "NCCL", 0, VALUES_INT, .does = "traffic class", .source = DOCS,
	  .most = 255 },
	{ "NCCL_SOCKET_NTHREADS", "NCCL", 0, VALUES_INT, .does = "threads of a connection",
	  .source = DOCS, .least = 1, .most = 16 },
	{ "NCCL_NSOCKS_PERTHREAD", "NCCL", 0, VALUES_INT, .does = "sockets of such a thread",
	  .source = DOCS, .least = 1, .most = 16 },
	{ "NCCL_IB_QPS_PER_CONNECTION", "NCCL", 0, VALUES_INT,
	  .does = "queue pairs of a connection", .source = DOCS },
	{ "NCCL_IB_PCI_RELAXED_ORDERING", "NCCL", 0, VALUES_INT,
	  .does = "0 never, 1 always, 2 where it helps", .source = DOCS, .most = 2 },
	{ "NCCL_IB_SUBNET_PREFIX_LEN", "NCCL", 0, VALUES_INT,
	  .does = "bits of a subnet for subnet-aware routing (24)",
	  .source = "NCCL sources: first in 2.30.7" },
	{ "NCCL_BUFFSIZE", "NCCL", 0, VALUES_INT, .does = "bytes of a buffer", .source = DOCS },
	{ "NCCL_NTHREADS", "NCCL", 0, VALUES_INT, .does = "threads of a block", .source = DOCS,
	  .least = 64, .most = 512 },
	{ "NCCL_MAX_NCHANNELS", "NCCL", 0, VALUES_INT, .does = "channels at most", .source = DOCS },
	{ "NCCL_MIN_NCHANNELS", "NCCL", 0, VALUES_INT, .does = "channels at least",
	  .source = DOCS },
	{ "NCCL_NVLS_ENABLE", "NCCL", 0, VALUES_INT, .does = "NVLink's multicast", .source = DOCS },
	{ "NCCL_CUMEM_ENABLE", "NCCL", 0, VALUES_INT, .does = "memory by CUDA's VMM",
	  .source = DOCS },
	{ "NCCL_RUNTIME_CONNECT", "NCCL", 0, VALUES_BOOL, .does = "connections at first use",
	  .source = DOCS },
	{ "NCCL_LAUNCH_MODE", "NCCL", 0, VALUES_WORDS, "PARALLEL GROUP",
	  .does = "one launch for all GPUs of a process", .source = DOCS },
	{ "NCCL_PXN_DISABLE", "NCCL", VAR_OFF, VALUES_BOOL,
	  .does = "no way through another GPU's NIC",
	  .harm = "traffic between rails takes the long way", .instead = "unset it",
	  .source = DOCS },
	{ "NCCL_TOPO_FILE", "NCCL", 0, .does = "a topology instead of the machine's own",
	  .harm = "a file from another machine makes NCCL choose wrong ways",
	  .instead = "unset it, unless this machine's provider gave the file", .source = DOCS },
	{ "NCCL_IGNORE_CPU_AFFINITY", "NCCL", 0, VALUES_BOOL,
	  .does = "threads near the GPU, whatever the launcher set", .source = DOCS },
};
const size_t known_var_count = sizeof(known_vars) / sizeof(known_vars[0]);

const struct known_var *known_var(const char *name)
{
	for (size_t i = 0; i < known_var_count; i++)
		if (strcmp(known_vars[i].name, name) == 0)
			return &known_vars[i];
	return NULL;
}

bool var_takes_away(const struct known_var *k, const char *value)
{
	return (k->flags & VAR_SET) || ((k->flags & VAR_OFF) && *value && strcmp(value, "0") != 0);
}

const char *var_list_next(const char **list, size_t *n)
{
	const char *at = *list + strspn(*list, ",");

	if (!*at)
		return NULL;
	*n = strcspn(at, ",:");
	*list = at + strcspn(at, ",");
	return at;
}

bool var_list_names(const char *list, const char *device)
{
	bool exact = *list == '=';
	const char *name;
	size_t n;

	for (list += exact; (name = var_list_next(&list, &n)) != NULL;)
		if (n && strncmp(name, device, n) == 0 && (!exact || !device[n]))
			return true;
	return false;
}
