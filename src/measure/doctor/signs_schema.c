/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind measure/doctor/signs.h. */
#include "measure/doctor/signs.h"

static const struct field sign_var_fields[] = {
	FIELD_ROW(sign_var, name, FIELD_NAME, "name", "Variable", NULL),
	FIELD_ROW(sign_var, value, FIELD_STR, "value", "Value", NULL),
	FIELD_ROW(sign_var, origin, FIELD_STR, "origin", "Set in", NULL),
};
const struct schema schema_sign_var = SCHEMA(sign_var, sign_var_fields);

static const struct field sign_process_fields[] = {
	FIELD_ROW(sign_process, index, FIELD_ID, "pid", "Process", NULL),
	FIELD_ROW(sign_process, command, FIELD_STR, "command", "Command", NULL),
	FIELD_ROW(sign_process, nccl, FIELD_STR, "nccl", "NCCL in use", NULL),
	FIELD_ROW(sign_process, memlock, FIELD_INT, "memlock_bytes", "Locked memory", "bytes"),
};
const struct schema schema_sign_process = SCHEMA(sign_process, sign_process_fields);

static const struct field sign_port_fields[] = {
	FIELD_ROW(sign_port, name, FIELD_NAME, "name", "Port", NULL),
	FIELD_ROW(sign_port, retransmits, FIELD_INT, "retransmits", "Adaptive retransmits", NULL),
	FIELD_ROW(sign_port, sequence_errors, FIELD_INT, "sequence_errors", "Sequence errors",
		  NULL),
	FIELD_ROW(sign_port, timeouts, FIELD_INT, "timeouts", "Acknowledge timeouts", NULL),
	FIELD_ROW(sign_port, rnr_retries, FIELD_INT, "rnr_retries", "Receiver not ready", NULL),
	FIELD_ROW(sign_port, congestion_marks, FIELD_INT, "congestion_marks", "Congestion marks",
		  NULL),
	FIELD_ROW(sign_port, out_of_sequence, FIELD_INT, "out_of_sequence", "Out of sequence",
		  NULL),
	FIELD_ROW(sign_port, symbol_errors, FIELD_INT, "symbol_errors", "Symbol errors", NULL),
	FIELD_ROW(sign_port, link_downed, FIELD_INT, "link_downed", "Times down", NULL),
	FIELD_ROW(sign_port, receive_errors, FIELD_INT, "receive_errors", "Receive errors", NULL),
	FIELD_ROW(sign_port, sent, FIELD_INT, "sent_words", "Sent", "4-byte words"),
	FIELD_ROW(sign_port, received, FIELD_INT, "received_words", "Received", "4-byte words"),
};
const struct schema schema_sign_port = SCHEMA(sign_port, sign_port_fields);

static const struct field sign_link_fields[] = {
	FIELD_ROW(sign_link, name, FIELD_NAME, "name", "Interface", NULL),
	FIELD_ROW(sign_link, receive_errors, FIELD_INT, "receive_errors", "Receive errors", NULL),
	FIELD_ROW(sign_link, crc_errors, FIELD_INT, "crc_errors", "CRC errors", NULL),
	FIELD_ROW(sign_link, missed, FIELD_INT, "missed", "Missed", NULL),
	FIELD_ROW(sign_link, dropped, FIELD_INT, "dropped", "Dropped", NULL),
	FIELD_ROW(sign_link, arp_ignore, FIELD_INT, "arp_ignore", "arp_ignore", NULL),
	FIELD_ROW(sign_link, arp_announce, FIELD_INT, "arp_announce", "arp_announce", NULL),
	FIELD_ROW(sign_link, rp_filter, FIELD_INT, "rp_filter", "rp_filter", NULL),
	FIELD_ROW(sign_link, wifi_power_save, FIELD_INT, "wifi_power_save", "Wi-Fi power save",
		  NULL),
};
const struct schema schema_sign_link = SCHEMA(sign_link, sign_link_fields);

static const struct field signs_fields[] = {
	FIELD_ROW(signs, ksm_run, FIELD_INT, "ksm_run", "KSM", NULL),
	FIELD_ROW(signs, ksm_sharing, FIELD_INT, "ksm_sharing_pages", "KSM shares", "pages"),
	FIELD_ROW(signs, swapped_in, FIELD_INT, "swapped_in_pages", "Swapped in", "pages"),
	FIELD_ROW(signs, swapped_out, FIELD_INT, "swapped_out_pages", "Swapped out", "pages"),
	FIELD_ROW(signs, compaction_stalls, FIELD_INT, "compaction_stalls", "Compaction stalls",
		  NULL),
	FIELD_ROW(signs, thp_fallback, FIELD_INT, "thp_fallback", "Huge-page faults that failed",
		  NULL),
	FIELD_ROW(signs, numa_moved, FIELD_INT, "numa_moved_pages", "Moved between nodes", "pages"),
	FIELD_ROW(signs, pressure_memory, FIELD_INT, "pressure_memory", "Memory pressure",
		  "1/100 %"),
	FIELD_ROW(signs, pressure_cpu, FIELD_INT, "pressure_cpu", "CPU pressure", "1/100 %"),
	FIELD_ROW(signs, load, FIELD_INT, "load", "Load", "1/100"),
	FIELD_ROW(signs, rdma_devices, FIELD_INT, "rdma_devices", "RDMA device files", NULL),
	FIELD_ROW(signs, ip_forward, FIELD_INT, "ip_forward", "Forwarding", NULL),
	FIELD_ROW(signs, crash_dumps, FIELD_INT, "crash_dumps", "Kept crash records", NULL),
	FIELD_ROW(signs, ssh_folder, FIELD_INT, "ssh_folder", "~/.ssh", NULL),
	FIELD_ROW(signs, avahi, FIELD_INT, "avahi", "Discovery daemon", NULL),
	FIELD_ROW(signs, log_no_memory, FIELD_INT, "log_no_memory", "Log: driver out of memory",
		  "lines"),
	FIELD_ROW(signs, log_xid, FIELD_INT, "log_xid", "Log: Xid", "lines"),
	FIELD_ROW(signs, log_nic_wedged, FIELD_INT, "log_nic_wedged", "Log: NIC firmware", "lines"),
	FIELD_ROW(signs, log_nic_health, FIELD_INT, "log_nic_health", "Log: NIC health", "lines"),
	FIELD_ROW(signs, log_doe, FIELD_INT, "log_doe", "Log: PCI DOE", "lines"),
	FIELD_ROW(signs, log_aer, FIELD_INT, "log_aer", "Log: PCI errors", "lines"),
	FIELD_ROW(signs, log_oom, FIELD_INT, "log_oom", "Log: killed for memory", "lines"),
	FIELD_ROW(signs, log_throttled, FIELD_INT, "log_throttled", "Log: CPU too warm", "lines"),
	FIELD_ROW(signs, module, FIELD_STR, "module", "Loaded nvidia module", NULL),
	FIELD_SUB(signs, vars, FIELD_LIST, "vars", "Variables", &schema_sign_var),
	FIELD_SUB(signs, processes, FIELD_LIST, "processes", "Processes", &schema_sign_process),
	FIELD_SUB(signs, ports, FIELD_LIST, "ports", "RDMA counters", &schema_sign_port),
	FIELD_SUB(signs, links, FIELD_LIST, "links", "Interface counters", &schema_sign_link),
};
const struct schema schema_signs = SCHEMA(signs, signs_fields);
