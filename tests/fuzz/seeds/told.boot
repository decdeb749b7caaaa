b {
 "schema": "gputune.boot-report/1",
 "boot_id": "00000000-0000-4000-8000-000000000000",
 "reboot_by": null,
 "verify": {
  "schema": "gputune.verify/1",
  "tool_version": "0.1.0",
  "host": {
   "nodename": "spark",
   "platform": "dgx-spark",
   "kernel": "6.17.0-1014-nvidia",
   "arch": "aarch64",
   "captured": true
  },
  "time": "2026-02-25T06:13:20Z",
  "exit_code": 1,
  "summary": {
   "in-force": 0,
   "waits-for-reboot": 0,
   "differs": 11,
   "unknown": 0
  },
  "rows": [
   {
    "id": "memory.dirty-ratio",
    "target": "",
    "knob": {
     "kind": "sysctl",
     "name": "vm.dirty_bytes",
     "object": ""
    },
    "wanted": "4294967296",
    "now": "vm.dirty_ratio=20",
    "state": "differs",
    "sentence": null
   },
   {
    "id": "nic.mtu",
    "target": "enP2p1s0f0np0",
    "knob": {
     "kind": "link",
     "name": "mtu",
     "object": "enP2p1s0f0np0"
    },
    "wanted": "9000",
    "now": "1500",
    "state": "differs",
    "sentence": null
   },
   {
    "id": "nic.mtu",
    "target": "enp1s0f0np0",
    "knob": {
     "kind": "link",
     "name": "mtu",
     "object": "enp1s0f0np0"
    },
    "wanted": "9000",
    "now": "1500",
    "state": "differs",
    "sentence": null
   },
   {
    "id": "memory.swappiness",
    "target": "",
    "knob": {
     "kind": "sysctl",
     "name": "vm.swappiness",
     "object": ""
    },
    "wanted": "10",
    "now": "60",
    "state": "differs",
    "sentence": null
   }
  ]
 }
}