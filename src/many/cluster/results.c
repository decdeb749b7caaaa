/* SPDX-License-Identifier: Apache-2.0 */
/* What planning a cluster's links and undoing it say, a row a figure; and of the same rows what
 * nodes answer about it. Keys and meanings are API. */
#include "many/cluster/page_cluster.h"
#include "render/shape_page.h"

static const char *apply_state_name(enum apply_state s)
{
	static const char *const names[APPLY_STATES] = {
		[APPLY_ASKED] = "planned",   [APPLY_NOTHING] = "nothing-to-do",
		[APPLY_SET] = "unconfirmed", [APPLY_KEPT] = "kept",
		[APPLY_BACK] = "taken-back", [APPLY_FAILED] = "failed",
		[APPLY_LOST] = "lost",	     [APPLY_STUCK] = "stuck",
	};

	return names[s];
}

SHAPE_GIVES(unsigned, trouble_style, wiring_trouble, x->stops ? STYLE_BAD : STYLE_WARN)
SHAPE_GIVES(unsigned, echo_style, apply_echo, x->good ? STYLE_GOOD : STYLE_BAD)
SHAPE_GIVES(unsigned, outcome_style, outcome_row,
	    x->outcome == OUTCOME_STUCK ? STYLE_BAD : STYLE_GOOD)

/* clang-format off */

/* --- plan ------------------------------------------------------------------------------------- */

static const char *const setup_steps[] = { "trial", "keep" };

static const struct shape setup_change_shape = SHAPE_OF(setup_change, setup_change,
	{ "kind", NULL, SHAPE_CHOICE_BY(setup_change, knob.kind, knob_kind_name, KNOB_KINDS) },
	{ "name", NULL, SHAPE_TEXT(setup_change, knob.name) },
	{ "object", NULL, SHAPE_TEXT(setup_change, knob.object), .unknown = SHAPE_BLANK },
	{ "before", NULL, SHAPE_TEXT(setup_change, before), .unknown = SHAPE_NULL },
	{ "after", NULL, SHAPE_TEXT(setup_change, after), .unknown = SHAPE_NULL },
	{ "step", "When the file is written: immediately, or on confirmation.", SHAPE_EITHER(setup_change, keep,
	  setup_steps) });

static const struct shape setup_file_shape = SHAPE_OF(setup_file, setup_file,
	{ "path", NULL, SHAPE_TEXT(setup_file, path) },
	{ "text", NULL, SHAPE_TEXT(setup_file, text) });

static const struct shape setup_refusal_shape = SHAPE_OF(setup_refusal, setup_refusal,
	{ "code", NULL, SHAPE_TEXT(setup_refusal, code) },
	{ "port", NULL, SHAPE_TEXT(setup_refusal, port) },
	{ "text", NULL, SHAPE_TEXT(setup_refusal, text) },
	{ "fix", NULL, SHAPE_TEXT(setup_refusal, fix) });

/* What a node would change, where m is the struct setup_answer in type. */
#define SETUP_ANSWER_ROWS(type, m)                                                                          \
	{ "changes", NULL, SHAPE_LIST(type, m changes, m n_changes, setup_change) },                        \
	{ "files", NULL, SHAPE_LIST(type, m files, m n_files, setup_file) },                                \
	{ "refusals", NULL, SHAPE_LIST(type, m refusals, m n_refusals, setup_refusal) },                    \
	{ "notes", NULL, SHAPE_TEXT_LIST(type, m notes, m n_notes) },                                       \
	{ "owners", "Owners of the ports: \"enp1s0f0np0: netplan\".", SHAPE_TEXT_LIST(type, m owners, m n_owners) },   \
	{ "commands", "Programs that the node runs after the change.", SHAPE_TEXT_LIST(type, m commands, m n_commands) }

const struct shape setup_answer_shape = SHAPE_OF(setup_answer, setup_answer,
	SETUP_ANSWER_ROWS(setup_answer, ),
	{ "digest", NULL, SHAPE_TEXT(setup_answer, digest) });

static const struct shape wiring_key_shape = SHAPE_OF(wiring_key, wiring_key,
	{ "file", NULL, SHAPE_TEXT(wiring_key, file) },
	{ "digest", NULL, SHAPE_TEXT(wiring_key, digest) });

const struct shape wiring_node_shape = SHAPE_OF(wiring_node, wiring_node,
	{ "user", NULL, SHAPE_TEXT(wiring_node, user) },
	{ "euid", NULL, SHAPE_COUNT(wiring_node, euid) },
	{ "time_ms", NULL, SHAPE_COUNT(wiring_node, time_ms) },
	{ "version", NULL, SHAPE_TEXT(wiring_node, version) },
	{ "networks", NULL, SHAPE_TEXT_LIST(wiring_node, network_texts, n_network_texts), .max = WIRING_NETWORKS_MAX },
	{ "keys", NULL, SHAPE_LIST(wiring_node, keys, n_keys, wiring_key), .max = WIRING_KEYS_MAX },
	{ "host_keys", NULL, SHAPE_TEXT_LIST(wiring_node, host_keys, n_host_keys), .max = WIRING_KEYS_MAX });

static const struct shape wiring_port_shape = SHAPE_OF(wiring_port, wiring_port,
	{ "node", NULL, SHAPE_TEXT(wiring_port, node) },
	{ "port", NULL, SHAPE_TEXT(wiring_port, port) },
	{ "address", NULL, SHAPE_TEXT(wiring_port, address) },
	{ "there", "true: the port has that address now.", SHAPE_FLAG(wiring_port, there) },
	{ "mtu_now_bytes", NULL, SHAPE_COUNT(wiring_port, mtu_now), .unknown = SHAPE_NEGATIVE });

static const struct shape wiring_path_shape = SHAPE_OF(wiring_path, wiring_path,
	{ "subnet", NULL, SHAPE_TEXT(wiring_path, subnet) },
	{ "way", NULL, SHAPE_CHOICE_BY(wiring_path, way, cluster_way_name, CLUSTER_WAYS) },
	{ "kept", "true: the path exists now, with at least one of its ports.", SHAPE_FLAG(wiring_path, kept) },
	{ "mtu_bytes", NULL, SHAPE_COUNT(wiring_path, mtu) },
	{ "speed_mbps", NULL, SHAPE_COUNT(wiring_path, speed_mbps), .unknown = SHAPE_ZERO },
	{ "ports", NULL, SHAPE_LIST(wiring_path, ports, n, wiring_port) });

static const struct shape wiring_trouble_shape = SHAPE_OF(wiring_trouble, wiring_trouble,
	{ "code", NULL, SHAPE_TEXT(wiring_trouble, code) },
	{ "stops", "true: this finding prevents applying the plan.", "Blocks", NULL,
	  SHAPE_FLAG(wiring_trouble, stops), .style_of = trouble_style },
	{ "node", NULL, "Node", NULL, SHAPE_TEXT(wiring_trouble, node), .unknown = SHAPE_BLANK },
	{ "port", NULL, "Port", NULL, SHAPE_TEXT(wiring_trouble, port), .unknown = SHAPE_BLANK },
	{ "text", NULL, "~What", NULL, SHAPE_TEXT(wiring_trouble, text) },
	{ "fix", NULL, "~Fix", NULL, SHAPE_TEXT(wiring_trouble, fix) });

static const struct shape wiring_switch_shape = SHAPE_OF(wiring_switch, wiring_switch,
	{ "node", NULL, SHAPE_TEXT(wiring_switch, name) },
	{ "pci", NULL, SHAPE_TEXT(wiring_switch, pci) },
	{ "port", "Port of the adapter, from 1.", SHAPE_COUNT(wiring_switch, port) });

#define FROM SHAPE_VIA(apply_echo, from, wiring_port)
#define TO SHAPE_VIA(apply_echo, to, wiring_port)
static const struct shape apply_echo_shape = SHAPE_OF(apply_echo, apply_echo,
	{ "from_node", NULL, "From", NULL, SHAPE_TEXT(wiring_port, node), FROM },
	{ "from", NULL, "Node address", NULL, SHAPE_TEXT(wiring_port, address), FROM },
	{ "to_node", NULL, "To", NULL, SHAPE_TEXT(wiring_port, node), TO },
	{ "to", NULL, "Address exists", NULL, SHAPE_TEXT(wiring_port, address), TO },
	{ "bytes", "Payload bytes.", "Data", "bytes", SHAPE_COUNT(apply_echo, bytes) },
	{ "good", "true: the ping was answered.", "Answered", NULL, SHAPE_FLAG(apply_echo, good),
	  .style_of = echo_style },
	{ "us", "Round trip.", "Round trip", "us", SHAPE_REAL(apply_echo, us), .unknown = SHAPE_NULL },
	{ "trouble", NULL, "~Trouble", NULL, SHAPE_TEXT(apply_echo, trouble), .unknown = SHAPE_NULL });

#define BEFORE SHAPE_VIA(apply_node, before, wiring_node)
static const struct shape plan_node_shape = SHAPE_OF(apply_node, plan_node,
	{ "name", NULL, SHAPE_TEXT(apply_node, name) },
	{ "label", "Name of this node in the files of other nodes.", SHAPE_TEXT(apply_node, label) },
	{ "user", "User that runs the program there.", SHAPE_TEXT(wiring_node, user), BEFORE, .unknown = SHAPE_NULL },
	{ "version", "Version of gputune there.", SHAPE_TEXT(wiring_node, version), BEFORE, .unknown = SHAPE_NULL },
	{ "clock_skew_ms", "The node's clock minus this machine's.", SHAPE_REAL(wiring_node, skew_ms), BEFORE,
	  .unknown = SHAPE_NULL },
	{ "clock_skew_by_ms", "Uncertainty of clock_skew_ms.",
	  SHAPE_REAL(wiring_node, skew_by_ms), BEFORE, .unknown = SHAPE_NULL },
	{ "host_keys", "Number of keys of its ssh server.", SHAPE_COUNT(wiring_node, n_host_keys), BEFORE },
	{ "state", "null: not read.",
	  SHAPE_CHOICE_BY(apply_node, state, apply_state_name, APPLY_STATES), .unknown = SHAPE_NULL },
	{ "sentence", NULL, SHAPE_TEXT(apply_node, sentence), .unknown = SHAPE_NULL },
	{ "dead_man", "Rollback timer that undoes an unconfirmed change.",
	  SHAPE_TEXT(apply_node, dead_man), .unknown = SHAPE_NULL },
	SETUP_ANSWER_ROWS(apply_node, plan.));

#define OF_CLUSTER SHAPE_VIA(cluster_plan_view, c, cluster)
#define OF_WIRING SHAPE_VIA(cluster_plan_view, w, wiring)
#define OF_APPLY SHAPE_VIA(cluster_plan_view, apply, apply)
static const struct shape cluster_plan_shape = SHAPE_OF(cluster_plan_view, cluster_plan,
	{ "topology", NULL,
	  SHAPE_CHOICE_BY(cluster, topology, cluster_topology_name, CLUSTER_TOPOLOGIES), OF_CLUSTER },
	{ "topology_why", NULL, SHAPE_TEXT(cluster, topology_why), OF_CLUSTER },
	{ "supported", "true: gputune can plan for this topology.", SHAPE_FLAG(cluster, supported), OF_CLUSTER },
	{ "applied", "true: the plan was applied, or an attempt was made.", SHAPE_FLAG(cluster_plan_view, applied) },
	{ "paths", "Subnets.", SHAPE_LIST(wiring, paths, n_paths, wiring_path), OF_WIRING },
	{ "nodes", NULL, SHAPE_LIST_AS(apply, nodes, n_nodes, apply_node, plan_node_shape), OF_APPLY },
	{ "troubles", NULL, SHAPE_LIST(wiring, troubles, n_troubles, wiring_trouble), OF_WIRING },
	{ "link_types", "Ports whose link layer must become Ethernet.",
	  SHAPE_LIST(wiring, switches, n_switches, wiring_switch), OF_WIRING },
	{ "echoes", "Packet as large as the MTU.", SHAPE_LIST(apply, echoes, n_echoes, apply_echo), OF_APPLY },
	{ "failure", "Reason why no change was kept.", SHAPE_TEXT(apply, failure), OF_APPLY, .unknown = SHAPE_NULL },
	{ "seconds", "Time from the first write to the last confirmation.",
	  SHAPE_REAL(apply, seconds), OF_APPLY, .unknown = SHAPE_NULL },
	{ "limit_s", "Time after which an unconfirmed node undoes all changes.",
	  SHAPE_COUNT(apply, limit_s), OF_APPLY, .unknown = SHAPE_ZERO });

const struct result_shape cluster_plan_result = {
	.name = "cluster-plan", .title = "gputune cluster plan",
	.meaning = "Address and MTU for each port, changes on each node, and their result.",
	.shape = &cluster_plan_shape, .exit_codes = 0x3f,
};

/* --- undo ------------------------------------------------------------------------------------- */

static const struct shape outcome_row_shape = SHAPE_OF(outcome_row, outcome_row,
	{ "kind", NULL, SHAPE_CHOICE_BY(outcome_row, knob.kind, knob_kind_name, KNOB_KINDS) },
	{ "name", NULL, "~What", NULL, SHAPE_TEXT(outcome_row, knob.name), .style_of = shape_code },
	{ "object", NULL, "Of", NULL, SHAPE_TEXT(outcome_row, knob.object), .unknown = SHAPE_BLANK },
	{ "before", "Value before.", SHAPE_TEXT(outcome_row, from), .unknown = SHAPE_NULL },
	{ "after", "Target value.", SHAPE_TEXT(outcome_row, to), .unknown = SHAPE_NULL },
	{ "outcome", NULL, "Outcome", NULL, .style_of = outcome_style,
	  SHAPE_CHOICE_BY(outcome_row, outcome, outcome_name, OUTCOME_GONE + 1) },
	{ "sentence", "Result.", "~Why", NULL, SHAPE_TEXT(outcome_row, sentence), .unknown = SHAPE_NULL },
	{ "command", "Command to run by hand if the undo failed.", "~Manual fix", NULL,
	  SHAPE_TEXT(outcome_row, command), .unknown = SHAPE_NULL });

const struct shape apply_undone_shape = SHAPE_OF(txn_report, apply_undone,
	{ "changes", NULL, SHAPE_LIST(txn_report, rows, n, outcome_row) });

static const struct shape undone_node_shape = SHAPE_OF(apply_node, undone_node,
	{ "name", NULL, SHAPE_TEXT(apply_node, name) },
	{ "state", NULL, SHAPE_CHOICE_BY(apply_node, state, apply_state_name, APPLY_STATES) },
	{ "sentence", NULL, SHAPE_TEXT(apply_node, sentence), .unknown = SHAPE_NULL },
	{ "changes", NULL, SHAPE_LIST(apply_node, undone.rows, undone.n, outcome_row) });

static const struct shape cluster_undo_shape = SHAPE_OF(apply, cluster_undo,
	{ "nodes", NULL, SHAPE_LIST_AS(apply, nodes, n_nodes, apply_node, undone_node_shape) });

const struct result_shape cluster_undo_result = {
	.name = "cluster-undo", .title = "gputune cluster undo",
	.meaning = "Result of undoing each change of the cluster's links.",
	.shape = &cluster_undo_shape, .list = "nodes", .exit_codes = 0x3f,
};
