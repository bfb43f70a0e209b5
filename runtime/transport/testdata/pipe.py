"""A pyzmq socket as a process, for the conformance suite and the benchmark: pipe.py MODE SIDE ENDPOINT.

SIDE is bind or connect. A frame on a pipe is its length in 4 bytes, big endian, and its bytes.

push        sends every frame of standard input; a length of ffffffff asks for a byte when all are handed over.
            At the end of the input it waits for libzmq to have sent everything.
pull        writes every message to standard output as a frame. At the end of standard input it takes what
            still comes in 200 ms, and ends.
consumer    writes the number at the head of each message to standard output, a line each.
burst-push  sends a burst of rows for each byte of standard input, and an empty message at its end.
burst-pull  writes a byte when it has a whole burst, and ends at an empty message.
"""
import struct
import sys

import zmq

ROWS, SIZE = 310, 200
FLUSH = 0xFFFFFFFF
source, sink = sys.stdin.buffer, sys.stdout.buffer


def push(socket):
    while head := source.read(4):
        (size,) = struct.unpack(">I", head)
        if size == FLUSH:
            sink.write(b"f")
            sink.flush()
        else:
            socket.send(source.read(size), copy=False)


def pull(socket):
    poller = zmq.Poller()
    poller.register(socket, zmq.POLLIN)
    poller.register(source.fileno(), zmq.POLLIN)
    ended = False
    while True:
        ready = dict(poller.poll(200 if ended else None))
        if socket in ready:
            message = socket.recv()
            sink.write(struct.pack(">I", len(message)) + message)
            if not socket.poll(0):
                sink.flush()
        elif ended:
            break
        elif ready:
            ended = True
            poller.unregister(source.fileno())
    sink.flush()


def consumer(socket):
    while True:
        sink.write(socket.recv().split(b" ", 1)[0] + b"\n")
        sink.flush()


def burst_push(socket):
    row = bytes(SIZE)
    while source.read(1):
        for _ in range(ROWS):
            socket.send(row)
    socket.send(b"")


def burst_pull(socket):
    rows = 0
    while socket.recv():
        rows += 1
        if rows % ROWS == 0:
            sink.write(b"f")
            sink.flush()


def main():
    mode, side, endpoint = sys.argv[1:]
    socket = zmq.Context().socket(zmq.PUSH if mode.endswith("push") else zmq.PULL)
    socket.sndhwm = socket.rcvhwm = 16 if mode in ("push", "pull") else 0
    getattr(socket, side)(endpoint)
    if mode in ("push", "pull"):
        sink.write(b"r")
        sink.flush()
    {"push": push, "pull": pull, "consumer": consumer, "burst-push": burst_push, "burst-pull": burst_pull}[mode](socket)
    socket.close(linger=10_000 if mode.endswith("push") else 0)
    socket.context.term()


main()
