"""Lets tests start scripts/sglang_controller.py without an import each time: a process that has imported a tree and
forks for every call.

    sglang_resident.py serve SOCKET SCRIPT TREE TRANSPORT    says "ready" on standard output when the tree is imported
    sglang_resident.py join SOCKET ARGUMENT ...              is, for who runs it, SCRIPT with those arguments

A joiner hands over its standard streams and waits; what it runs as is forked from the server, and executes the whole
script from its first line, for which the modules of the tree are there already. If the joiner dies, so does the script.
The script is run from its file at each call, so it can be changed meanwhile.
"""

import json
import os
import runpy
import select
import signal
import socket
import sys


def serve(path, script, tree, transport):
    runpy.run_path(script)["Tree"](tree, transport, {}).warm_up()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    poll, joined, children = select.poll(), {}, {}
    poll.register(listener, select.POLLIN)
    poll.register(0, 0)  # the end of input ends this process
    while True:
        for ready, _ in poll.poll():
            if ready == 0:
                os._exit(0)
            elif ready == listener.fileno():
                connection, _ = listener.accept()
                child = os.pidfd_open(pid := start(connection, script))
                joined[connection.fileno()], children[child] = (connection, pid), connection
                poll.register(connection, 0)
                poll.register(child, select.POLLIN)
            elif ready in children:
                connection = children.pop(ready)
                _, pid = joined.pop(connection.fileno())
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                poll.unregister(ready)
                os.close(ready)
                try:
                    poll.unregister(connection)
                    connection.send(json.dumps(status).encode())
                except (KeyError, BrokenPipeError):
                    pass  # the joiner has died
                connection.close()
            elif ready in joined:  # the joiner has died
                os.kill(joined[ready][1], signal.SIGTERM)
                poll.unregister(ready)


def start(connection, script):
    """Forks, takes the joiner's streams and arguments, and runs the script."""
    data, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        for stream in streams:
            os.close(stream)
        return pid
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
    os.closerange(3, 1024)
    sys.argv = [script, *json.loads(data)]
    sys.path.insert(0, os.path.dirname(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    os._exit(0)


def join(path, *arguments):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(path)
    socket.send_fds(connection, [json.dumps(arguments).encode()], [0, 1, 2])
    for stream in (0, 1):  # the script alone holds them now
        os.close(stream)
    status = connection.recv(100)
    os._exit(json.loads(status) % 256 if status else 1)


if __name__ == "__main__":
    {"serve": serve, "join": join}[sys.argv[1]](*sys.argv[2:])
