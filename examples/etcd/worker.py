#!/usr/bin/env python3
"""A worker that takes a lock of etcd's, works, and writes its result under the lock's revision.

    ETCD=http://127.0.0.1:2379 EPOCH=1 worker.py NAME SECONDS_OF_WORK

Needs Python's standard library, and psql, which connects as PGHOST and so on say.
"""

import base64
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request

ETCD = os.environ["ETCD"]
EPOCH = os.environ["EPOCH"]  # in which etcd's revisions count: see README.md
TTL = 2  # seconds


def etcd(call, **body):
    """One call of etcd's JSON interface: bytes are in base64, numbers are strings."""
    request = urllib.request.Request(f"{ETCD}/v3/{call}", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def keep_alive(lease):
    while int(etcd("lease/keepalive", ID=lease)["result"].get("TTL", 0)) > 0:
        time.sleep(TTL / 4)


def take_lock(name):
    """Waits for the lock. Gives its lease, and the revision at which its key was created.

    Among all keys that ever wait for a lock, the one created first gets it: so of two holders the later
    one has the higher revision.
    """
    lease = etcd("lease/grant", TTL=TTL)["ID"]
    threading.Thread(target=keep_alive, args=(lease,), daemon=True).start()
    key = etcd("lock/lock", name=base64.b64encode(name.encode()).decode(), lease=lease)["key"]
    return lease, etcd("kv/range", key=key)["kvs"][0]["create_revision"]


def sql(statement, **variables):
    """Runs a statement in psql; raises what the database says to it."""
    command = ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose"]
    for name, value in variables.items():
        command += ["-v", f"{name}={value}"]
    result = subprocess.run(command, input=statement, text=True, capture_output=True)
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if not line.startswith("LOCATION:")]
        raise PermissionError("\n".join(lines))


def work(name, seconds):
    lease, revision = take_lock("jobs/nightly")
    print(f"{name} has the lock: revision {revision}", flush=True)
    token = {"epoch": EPOCH, "revision": revision}
    # From here on no older holder writes, and what is read is what it left.
    sql("SELECT fencing.seal('etcd', 'jobs', 'nightly', fencing.make_token(:epoch, :revision))", **token)
    time.sleep(seconds)
    # Whether it still has the lock is not asked: the answer could be old before the write arrives.
    sql(
        "UPDATE report SET body = 'by ' || :'name', fence = fencing.make_token(:epoch, :revision) WHERE id = 1",
        name=name, **token,
    )
    print(f"{name} has written", flush=True)
    etcd("lease/revoke", ID=lease)


if __name__ == "__main__":
    try:
        work(sys.argv[1], float(sys.argv[2]))
    except PermissionError as refusal:
        print(f"{sys.argv[1]} was refused: {refusal}", flush=True)
        sys.exit(3)
