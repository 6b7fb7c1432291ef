#!/usr/bin/env python3
"""A worker that takes a lock of etcd's, works, and writes its result under the lock's revision.

    ETCD=http://127.0.0.1:2379 EPOCH=1 worker.py NAME SECONDS_OF_WORK

Needs Python's standard library and psql, which connects as PGHOST and so on say.
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
EPOCH = int(os.environ["EPOCH"])  # under which etcd's revisions count: see README.md
LOCK = "jobs/nightly"
TTL = 2  # seconds


def ask(call, **body):
    """One call of etcd's JSON interface. Its numbers are strings, as they are too big for JSON's."""
    request = urllib.request.Request(f"{ETCD}/v3/{call}", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def text(value):
    return base64.b64encode(value.encode()).decode()


def take_lock():
    """Waits for the lock. Gives its lease and its token: the revision at which its key was created."""
    lease = ask("lease/grant", TTL=TTL)["ID"]
    threading.Thread(target=keep_alive, args=(lease,), daemon=True).start()
    key = ask("lock/lock", name=text(LOCK), lease=lease)["key"]
    owner = ask("kv/range", key=key)["kvs"][0]
    return lease, int(owner["create_revision"])


def keep_alive(lease):
    while int(ask("lease/keepalive", ID=lease)["result"].get("TTL", 0)) > 0:
        time.sleep(TTL / 4)


def write(name, token):
    """Writes under the token, as an autocommitted statement. Whether it holds is not asked here."""
    sql = "SELECT set_config('report.name', :'name', true) AS name, fencing.make_token(:epoch, :revision) AS token \\gset\n"
    sql += "BEGIN; SELECT fencing.present('jobs', 'nightly', :token); "
    sql += "UPDATE report SET body = 'by ' || :'name'; COMMIT"
    command = ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-v", f"name={name}"]
    command += ["-v", f"epoch={EPOCH}", "-v", f"revision={token}"]
    return subprocess.run(command, input=sql, text=True, capture_output=True)


def main(name, seconds):
    lease, token = take_lock()
    print(f"{name}: holds {LOCK}, revision {token}", flush=True)
    time.sleep(seconds)
    result = write(name, token)
    if result.returncode == 0:
        print(f"{name}: written", flush=True)
    else:
        print(f"{name}: rejected\n{result.stderr.rstrip()}", flush=True)
    ask("lease/revoke", ID=lease) if result.returncode == 0 else None
    return 0 if result.returncode == 0 else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
