"""A pyzmq peer for the tests: peer.py push|pull|push-heartbeat|pull-heartbeat ENDPOINT COUNT [SIDE].

A push connects and a pull binds, unless SIDE (bind or connect) says otherwise.

It says on standard output what it saw and stays until its standard input ends.
"""
import hashlib
import random
import sys
import time

import zmq
from zmq.utils.monitor import recv_monitor_message

INTERVAL_MS = 50  # between two PINGs
TIMEOUT_MS = 300  # without an answer the connection is dropped


def say(*words):
    print(*words, flush=True)


def digest(message):
    return hashlib.sha256(message).hexdigest()


def push(socket, count):
    rng = random.Random(7)
    whole = hashlib.sha256()
    for i in range(count):
        size = rng.choice([0, 1, 255, 256, rng.randrange(600), rng.randrange(600), rng.randrange(70_000)])
        if i % 1000 == 500:
            size = 1 << 20
        message = rng.randbytes(size)
        socket.send(message)
        whole.update(f"{i} {digest(message)}\n".encode())
    say(whole.hexdigest())


def pull(socket, count):
    whole = hashlib.sha256()
    for i in range(count):
        whole.update(f"{i} {digest(socket.recv())}\n".encode())
    say(whole.hexdigest())


def disconnects(monitor):
    n = 0
    while monitor.poll(0):
        if recv_monitor_message(monitor)["event"] == zmq.EVENT_DISCONNECTED:
            n += 1
    return n


def push_heartbeat(socket, count):
    monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    for i in range(count):
        socket.send(str(i).encode())
        time.sleep(INTERVAL_MS / 2000)
    say("disconnects", disconnects(monitor))


def pull_heartbeat(socket, count):
    monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    for _ in range(count):
        message = socket.recv()
        time.sleep(INTERVAL_MS / 2000)
        say("got", message.decode())
    say("disconnects", disconnects(monitor))
    if count == 1:  # nobody sends or flushes now: PINGs go unanswered
        say("dropped" if monitor.poll(10 * TIMEOUT_MS) else "not dropped")


def main():
    name, endpoint, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    side = sys.argv[4] if len(sys.argv) > 4 else "connect" if name.startswith("push") else "bind"
    socket = zmq.Context().socket(zmq.PUSH if name.startswith("push") else zmq.PULL)
    socket.sndhwm = socket.rcvhwm = 0
    if name.endswith("heartbeat"):
        socket.setsockopt(zmq.HEARTBEAT_IVL, INTERVAL_MS)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, TIMEOUT_MS)
    getattr(socket, side)(endpoint)
    {"push": push, "pull": pull, "push-heartbeat": push_heartbeat, "pull-heartbeat": pull_heartbeat}[name](
        socket, count
    )
    sys.stdin.read()
    socket.close(linger=0)


main()
