"""A stand-in: answers a handshake as an SGLang controller does, and no trial."""
import json
import sys

for line in map(json.loads, sys.stdin):
    if line["type"] == "stop":
        said = {"type": "stopped"}
    elif line["type"] == "hello":
        said = {"type": "receipt", "version": 1, "runtime": "sglang", "runtime_version": "0", "transports": ["msgpack", "pickle"],
                "transport": line["transport"], "strategy": "none", "options": line["options"], "pids": [1], "packages": {},
                "sources": [], "binary_sha256": [], "counters": [], "endpoints": [""] * line["http_workers"], "router": "none",
                "again": True, "messages": [{"name": "BatchStrOutput", "fields": []}]}
    else:
        said = {"type": "error", "message": "a stand-in plays no trial"}
    print(json.dumps(said), flush=True)
    if said["type"] == "error":
        sys.exit(1)
