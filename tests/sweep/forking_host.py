"""A host that has imported what the models need: a sweep of many short runs would spend its time on that.
    forking_host.py --serve ADDRESS       listens, and forks a host for each request
    forking_host.py ADDRESS SOURCE...     what Vernier starts: hands its channel to one, and waits for it
"""

import json
import os
import socket
import sys
import threading

CHANNEL = ("VERNIER_HOST_SOCKET", "VERNIER_HOST_RING")


def serve(address):
    sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", "..", "python")]
    import timm  # noqa: F401
    import torchvision  # noqa: F401
    import transformers  # noqa: F401

    import vernier_host.torch_host  # noqa: F401

    threading.Thread(target=end_with_sweep, daemon=True).start()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            request, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                be_host(request)
            request.close()
            reap()


def end_with_sweep():
    """Also when it was killed: then its end of the pipe is closed."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def be_host(request):
    from vernier_host.main import main

    text, descriptors, _, _ = socket.recv_fds(request, 1 << 16, len(CHANNEL))
    for name, descriptor in zip(CHANNEL, descriptors):
        os.environ[name] = str(descriptor)
    code = 1
    try:
        code = main(json.loads(text))
    finally:
        os._exit(code)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def hand_over(address, arguments):
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        descriptors = [int(os.environ[name]) for name in CHANNEL]
        socket.send_fds(server, [json.dumps(arguments).encode()], descriptors)
        server.recv(1)  # until the host has ended


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        hand_over(sys.argv[1], sys.argv[2:])
