/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables about which more is known than their name: values, harm, what to do instead. Defaults
 * and meanings by NCCL's documentation and sources of 2.30.7; what owners measured by the place
 * that says it. The order is that in which environments are read out.
 */
#include <stdlib.h>
#include <string.h>

#include "knowledge/nccl_vars.h"
#include "base/text.h"

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

/*
 * Which variables NCCL reads, by version: every name that stands in the sources of the releases
 * 2.12.7 to 2.30.7 (github.com/NVIDIA/nccl, tags v2.12.7-1 to v2.30.7-1, read 2026-11-21), with the
 * first release that has it and the first that has it no more.
 */

/* Names without "NCCL_", blank-separated. since NULL: 2.12.7 or earlier; until NULL: still there.
 */
static const struct {
	const char *since, *until, *names;
} releases[] = {
	{ NULL, "2.20.3", "AGG_CHANNEL_SIZE" },
	{ NULL, "2.23.4", "PROXY_PROFILE" },
	{ NULL, NULL,
	  "ALGO BUFFSIZE CHECK_POINTERS CHUNK_SIZE COLLNET_ENABLE "
	  "COLLNET_NODE_THRESHOLD COMM_ID CROSS_NIC DEBUG DEBUG_FILE "
	  "DEBUG_SUBSYS GDRCOPY_ENABLE GDRCOPY_FIFO_ENABLE "
	  "GDRCOPY_FLUSH_ENABLE GDRCOPY_SYNC_ENABLE GDR_FLUSH_DISABLE "
	  "GRAPH_DUMP_FILE GRAPH_DUMP_FILE_RANK GRAPH_FILE "
	  "GRAPH_HELPER_DISABLE GRAPH_REGISTER GROUP_CUDA_STREAM HOSTID "
	  "IB_AR_THRESHOLD IB_DISABLE IB_GID_INDEX IB_HCA "
	  "IB_PCI_RELAXED_ORDERING IB_PKEY IB_QPS_PER_CONNECTION "
	  "IB_RETRY_CNT IB_SL IB_TC IB_TIMEOUT IB_USE_INLINE "
	  "IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P LAUNCH_MODE "
	  "LL128_BUFFSIZE LL128_NTHREADS LL_BUFFSIZE MAX_NCHANNELS "
	  "MAX_NRINGS MAX_P2P_NCHANNELS MIN_NCHANNELS MIN_NRINGS "
	  "MIN_P2P_NCHANNELS NCHANNELS_PER_NET_PEER NET NET_DISABLE_INTRA "
	  "NET_GDR_LEVEL NET_GDR_READ NET_PLUGIN NET_SHARED_BUFFERS "
	  "NET_SHARED_COMMS NSOCKS_PERTHREAD NTHREADS NVB_DISABLE "
	  "NVB_PRECONNECT P2P_DISABLE P2P_LEVEL P2P_PXN_LEVEL "
	  "P2P_READ_ENABLE PROTO PXN_DISABLE SET_STACK_SIZE "
	  "SET_THREAD_NAME SHM_DISABLE SOCKET_FAMILY SOCKET_IFNAME "
	  "SOCKET_NTHREADS THREAD_THRESHOLDS TOPO_DUMP_FILE "
	  "TOPO_DUMP_FILE_RANK TOPO_FILE" },
	{ "2.12.10", NULL, "L1_SHARED_MEMORY_CARVEOUT" },
	{ "2.12.12", NULL, "P2P_DIRECT_DISABLE" },
	{ "2.13.4", "2.22.3", "WORK_FIFO_DEPTH" },
	{ "2.13.4", "2.30.7", "CREATE_THREAD_CONTEXT SHM_MEMCPY_MODE SHM_USE_CUDA_MEMCPY" },
	{ "2.13.4", NULL,
	  "DMABUF_ENABLE GRAPH_MIXING_SUPPORT P2P_USE_CUDA_MEMCPY "
	  "SHM_LOCALITY" },
	{ "2.14.3", NULL,
	  "ALLOC_P2P_NET_LL_BUFFERS COMM_BLOCKING P2P_LL_THRESHOLD "
	  "P2P_NET_CHUNKSIZE PROXY_DUMP_SIGNAL" },
	{ "2.15.1", NULL, "CGA_CLUSTER_SIZE NET_FORCE_FLUSH" },
	{ "2.16.2", NULL,
	  "IB_ADAPTIVE_ROUTING MEM_SYNC_DOMAIN P2P_NVL_CHUNKSIZE "
	  "P2P_PCI_CHUNKSIZE PROXY_APPEND_BATCH_SIZE" },
	{ "2.16.5", NULL, "PROGRESS_APPENDOP_FREQ" },
	{ "2.17.1", NULL, "MAX_CTAS MIN_CTAS NVLS_ENABLE NVLS_NCHANNELS" },
	{ "2.18.1", NULL,
	  "COMM_SPLIT_SHARE_RESOURCES CUMEM_ENABLE IB_MERGE_VFS "
	  "IB_SPLIT_DATA_ON_QPS NET_OVERHEAD" },
	{ "2.19.1", NULL, "LOCAL_REGISTER TUNER_PLUGIN" },
	{ "2.19.4", NULL,
	  "CONNECT_ROUND_MAX_PEERS REPORT_CONNECT_PROGRESS "
	  "WARN_ENABLE_DEBUG_INFO" },
	{ "2.20.3", "2.21.5", "MNNVL" },
	{ "2.20.3", NULL, "IB_MERGE_NICS NVLSTREE_MAX_CHUNKSIZE" },
	{ "2.21.5", NULL,
	  "IB_ADDR_FAMILY IB_ADDR_RANGE IB_ROCE_VERSION_NUM MNNVL_ENABLE "
	  "NVLS_CHUNKSIZE" },
	{ "2.22.3", NULL,
	  "IB_FIFO_TC IB_ROUTABLE_FLID_GID_INDEX RUNTIME_CONNECT "
	  "UNPACK_DOUBLE_NCHANNELS WORK_ARGS_BYTES WORK_FIFO_BYTES" },
	{ "2.23.4", NULL,
	  "CONF_FILE CUMEM_HOST_ENABLE IB_ECE_ENABLE "
	  "IB_RETURN_ASYNC_EVENTS MNNVL_CLIQUE_ID OOB_NET_ENABLE "
	  "OOB_NET_IFNAME PAT_ENABLE PROFILER_PLUGIN "
	  "PROFILE_COLL_POOL_SIZE PROFILE_DUMP_FILE PROFILE_EVENT_MASK "
	  "PROFILE_GROUP_POOL_SIZE PROFILE_P2P_POOL_SIZE "
	  "PROFILE_PROXY_CTRL_POOL_SIZE PROFILE_PROXY_DETACH_POOL_SIZE "
	  "UID_STAGGER_RATE UID_STAGGER_THRESHOLD" },
	{ "2.24.3", NULL,
	  "IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT IB_MQP_RETRY_SLEEP_MSEC "
	  "IB_WARN_RAIL_LOCAL LEGACY_CUDA_REGISTER NET_FORCE_MERGE "
	  "NET_MERGE_LEVEL NET_OPTIONAL_RECV_COMPLETION RAS_ADDR "
	  "RAS_ENABLE RAS_TIMEOUT_FACTOR SOCKET_RETRY_CNT "
	  "SOCKET_RETRY_SLEEP_MSEC" },
	{ "2.25.1", NULL, "MNNVL_UUID" },
	{ "2.26.2", NULL,
	  "DEBUG_TIMESTAMP_FORMAT DEBUG_TIMESTAMP_LEVELS "
	  "LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL NET_GDR_C2C "
	  "NET_PLUGIN_REF_COUNT" },
	{ "2.27.3", NULL,
	  "COMM_SHRINK_SHARE_RESOURCES CTA_POLICY IB_DATA_DIRECT "
	  "LL128_C2C NVLINK_UTIL_CENTRIC_SCHED_ENABLE PXN_C2C "
	  "SOCKET_INLINE SOCKET_MIN_TASKSIZE SOCKET_RCVBUF SOCKET_SNDBUF "
	  "SYM_CTAS SYM_KERNEL WIN_ENABLE WIN_STRIDE" },
	{ "2.27.5", NULL, "MNNVL_SCATTER_NETS_ENABLE TUNER_CONFIG_FILE" },
	{ "2.28.3", NULL,
	  "INSPECTOR_DUMP_DIR INSPECTOR_DUMP_THREAD_ENABLE "
	  "INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS "
	  "INSPECTOR_DUMP_VERBOSE INSPECTOR_ENABLE NETDEVS_POLICY "
	  "NVTX_DISABLE PROFILE_COLL_API_POOL_SIZE "
	  "PROFILE_GROUP_API_POOL_SIZE PROFILE_KERNEL_LAUNCH_POOL_SIZE "
	  "PROFILE_P2P_API_POOL_SIZE PROXY_CPUSET SET_CPU_STACK_SIZE "
	  "SINGLE_PROC_MEM_REG_ENABLE" },
	{ "2.28.7", "2.30.3", "GIN_COUNTER_POOL_SIZE GIN_NCONTEXTS GIN_SIGNAL_POOL_SIZE" },
	{ "2.28.7", NULL,
	  "ENV_PLUGIN GIN_ENABLE GIN_ERROR_QUERY_SEC "
	  "GIN_GDAKI_NIC_HANDLER GIN_GDAKI_QP_DEPTH GIN_PROXY_QUEUE_SIZE "
	  "GIN_TYPE MNNVL_RAIL_PER_HOST P2P_SCHEDULE_GROUP_SIZE" },
	{ "2.29.2", NULL,
	  "ALLGATHERV_ENABLE ENABLE_VERSION_CHECK IPC_USE_ABSTRACT_SOCKET "
	  "MULTI_SEGMENT_REGISTER NUM_RMA_CTX P2P_EPOCH_ENABLE "
	  "P2P_PER_CHANNEL_NET_BW RMA_PROXY_DUMP_SIGNAL "
	  "RMA_PROXY_QUEUE_SIZE SOCKET_POLL_TIMEOUT_MSEC SYM_CE_THRESHOLD "
	  "SYM_NOWIN_ENABLE" },
	{ "2.29.3", NULL,
	  "INSPECTOR_PROM_DUMP PROFILER_CE_POLLER_INTERVAL_MICROSECONDS "
	  "PROFILER_CE_TIMING PROFILE_CE_BATCH_POOL_SIZE "
	  "PROFILE_CE_COLL_POOL_SIZE PROFILE_CE_SYNC_POOL_SIZE" },
	{ "2.29.7", "2.30.3", "GIN_EXCLUSIVE_CONTEXTS" },
	{ "2.29.7", NULL,
	  "CHECK_MODE DISABLE_MEM_MANAGER GDAKI_USE_RELIABLE_DB "
	  "GIN_NCONNECTIONS GIN_PLUGIN GIN_PLUGIN_REF_COUNT "
	  "IB_DEVICE_PCI_ORDER IB_PREPOST_RECEIVE_WORK_REQUESTS "
	  "IB_RECEIVER_SIDE_MATCHING_SCHEME IB_RESILIENCY_PORT_FAILOVER "
	  "IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS "
	  "IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY LSA_TEAM_SIZE NO_CACHE "
	  "SYM_GIN_KERNELS_ENABLE" },
	{ "2.30.3", NULL,
	  "ELASTIC_BUFFER_REGISTER GIN_GDAKI_MAX_DEST_RD_ATOMIC "
	  "GIN_GDAKI_MAX_QP_RD_ATOMIC IBVERBS_LIB IB_OOO_RQ "
	  "IB_RESILIENCY_PORT_RECOVERY "
	  "IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT "
	  "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL "
	  "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE "
	  "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE "
	  "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT "
	  "IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX "
	  "IB_RESILIENCY_PORT_RECOVERY_START_DELAY "
	  "IGNORE_COLLNET_MISMATCH IGNORE_NET_MISMATCH "
	  "INSPECTOR_COLL_POOL_SIZE INSPECTOR_COMM_POOL_SIZE "
	  "INSPECTOR_DUMP_COLL_RING_SIZE INSPECTOR_DUMP_MIN_SIZE_BYTES "
	  "INSPECTOR_DUMP_P2P_RING_SIZE INSPECTOR_ENABLE_P2P "
	  "INSPECTOR_P2P_POOL_SIZE INSPECTOR_POOL_GROW "
	  "INSPECTOR_REQUIRE_KERNEL_TIMING MNNVL_CROSS_CLIQUE "
	  "MULTI_RANK_GPU_ENABLE P2P_MAX_PEERS PARAM_DUMP_ALL "
	  "SYM_TMA_ENABLE" },
	{ "2.30.4", NULL, "SYM_REUSE_SYSMEM_HANDLES" },
	{ "2.30.7", NULL,
	  "DEV_API_JIT GIN_CONNECTION_RAIL GIN_IB_TC "
	  "GRAPH_STREAM_ORDERING IB_QUERY_PORT_SPEED "
	  "IB_SUBNET_AWARE_ROUTING IB_SUBNET_PREFIX_LEN "
	  "MLOPART_RDMA_ENABLE NET_GDR_MLOPART NET_MERGE_POLICY "
	  "RMA_DISABLE RMA_PLUGIN RMA_PLUGIN_REF_COUNT "
	  "SHADOW_MEMPOOL_MAX_SIZE SOCKET_MAGIC SYM_RS_GIN_CHUNK_SIZE "
	  "TOPO_SPLIT_MLOPART" },
};
enum { RELEASES = sizeof(releases) / sizeof(releases[0]) };

const char nccl_oldest[] = "2.12.7", nccl_newest[] = "2.30.7";

static bool has_word(const char *list, const char *word, size_t n)
{
	for (const char *at = list; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == n && strncmp(at, word, n) == 0)
			return true;
	return false;
}

bool nccl_name(const char *name, const char **since, const char **until)
{
	*since = *until = NULL;
	if (!str_starts(name, "NCCL_"))
		return false;
	for (size_t i = 0; i < RELEASES; i++)
		if (has_word(releases[i].names, name + 5, strlen(name + 5))) {
			*since = releases[i].since;
			*until = releases[i].until;
			return true;
		}
	return false;
}

const char *nccl_near(struct arena *a, const char *name)
{
	size_t best = 4;
	const char *near = NULL;

	if (strlen(name) < 8 || strlen(name) > 64 || !str_starts(name, "NCCL_"))
		return NULL;
	for (size_t i = 0; i < RELEASES; i++)
		for (const char *at = releases[i].names; *at;
		     at += strcspn(at, " "), at += strspn(at, " ")) {
			const char *word = arena_strndup(a, at, strcspn(at, " "));
			size_t d = str_distance(word, name + 5, best - 1);

			if (d < best) {
				best = d;
				near = word;
			}
		}
	return near ? arena_printf(a, "NCCL_%s", near) : NULL;
}

/* The number at *s and what stands behind its dot; false where there is none. */
static bool part(const char **s, unsigned long *out)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	*out = strtoul(*s, &end, 10);
	*s = *end == '.' ? end + 1 : end;
	return true;
}

int version_order(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long x = 0, y = 0;

		if ((*a && !part(&a, &x)) || (*b && !part(&b, &y)))
			return 0;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

enum nccl_knows nccl_knows(const char *name, const char *version)
{
	const char *since, *until;

	if (!nccl_name(name, &since, &until))
		return version && version_order(version, nccl_newest) > 0 ? NCCL_NOT_TOLD
									  : NCCL_NEVER;
	if (!version)
		return NCCL_NOT_TOLD;
	if (since && version_order(version, since) < 0)
		return NCCL_NOT_YET;
	return until && version_order(version, until) >= 0 ? NCCL_NO_MORE : NCCL_KNOWN;
}
