# Does what it is told, an expression a line, and says what came of it in a line.
import array
import errno
import os
import select
import socket
import struct
import sys
import time

PROXY = ("127.0.0.1", 3128)
GOOD = b"good.test:8443"
INET, INET6, UNIX = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX
STREAM, DGRAM, RAW = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW


def why(error):
    """The short word for an error, the same wherever it comes from."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, OSError):
        return why(reason)
    if isinstance(error, (ConnectionResetError, BrokenPipeError)):
        return "closed"
    if isinstance(error, TimeoutError):
        return "silent"
    if isinstance(error, socket.gaierror):
        return "no address"
    code = getattr(error, "errno", None)
    return errno.errorcode.get(code) or f"{type(error).__name__} {error}"


def heard(end):
    """What somebody says, or that they end."""
    try:
        return end.recv(65536).decode(errors="replace") or "closed"
    except OSError as error:
        return why(error)


def head(end):
    """The head of an answer; what comes after it is the second part."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            more = end.recv(65536)
        except OSError as error:
            return why(error), ""
        if not more:
            return "closed", ""
        data += more
    first, _, rest = data.partition(b"\r\n\r\n")
    return first.split(b" ")[1].decode(), rest.decode(errors="replace")


def proxy():
    return socket.create_connection(PROXY, 30)


def tell(request, *pieces):
    """What the proxy answers, and what comes back to what is said then, if anything is let through."""
    with proxy() as end:
        try:
            end.sendall(request)
        except OSError:
            pass  # It was refused before it was said; the answer is there all the same.
        status, rest = head(end)
        if status != "200":
            return status
        try:
            for piece in pieces:
                end.sendall(piece)
        except OSError:
            pass  # The same.
        return f"200 {rest or heard(end)}"


def connect(authority, version=b"HTTP/1.1", more=b"Host: x\r\n"):
    return b"CONNECT " + authority + b" " + version + b"\r\n" + more + b"\r\n"


def via(authority, *names):
    """A host by the proxy, which is greeted by its name, or by these."""
    name = authority.rpartition(b":")[0]
    return tell(connect(authority), hello(*(names or [name])))


def each(*results):
    """The one thing that all come to, or all that they come to."""
    return results[0] if len(set(results)) == 1 else " | ".join(results)


# What is said first over TLS.

def sized(data, length=2):
    return len(data).to_bytes(length, "big") + data


def extension(kind, data):
    return struct.pack(">H", kind) + sized(data)


def named(*names, kind=0):
    return extension(0, sized(b"".join(bytes([kind]) + sized(name) for name in names)))


def records(message, size=16384, kind=22):
    pieces = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(bytes([kind, 3, 1]) + sized(piece) for piece in pieces)


def message(extensions, rest=b""):
    usual = extension(43, b"\2\3\4") + extension(10, b"\0\2\0\x1d") + extension(13, b"\0\2\x08\4")
    body = b"\3\3" + b"\7" * 32 + b"\0" + sized(b"\x13\1") + b"\1\0" + sized(extensions + usual)
    return b"\1" + sized(body + rest, 3)


def hello(*names, more=b"", size=16384):
    """A greeting for these names, with other extensions before and after."""
    return records(message(more + (named(*names) if names else b"")), size)


def singly(data):
    return [bytes([byte]) for byte in data]


# Around the proxy.

def plain(host, port=8443, family=0, said=b"x"):
    """A host without any proxy."""
    try:
        for family, kind, _, _, address in socket.getaddrinfo(host, port, family, STREAM)[:1]:
            return direct(family, kind, address, said=said)
    except OSError as error:
        return why(error)


def leads(host):
    """Where a name leads."""
    try:
        return " ".join(sorted({one[4][0] for one in socket.getaddrinfo(host, 1, 0, STREAM)}))
    except OSError as error:
        return why(error)


def direct(family, kind, address, protocol=0, said=b"x"):
    try:
        with socket.socket(family, kind, protocol) as end:
            end.settimeout(20)
            end.connect(address)
            end.sendall(said)
            return heard(end)
    except OSError as error:
        return why(error)


def made(family, kind, protocol=0):
    """Whether there may be such a socket."""
    try:
        socket.socket(family, kind, protocol).close()
        return "made"
    except OSError as error:
        return why(error)


def known(*arguments):
    """The same, where the system needn't know of such sockets: only who refuses them says EPERM."""
    result = made(*arguments)
    return result if result == "EPERM" else f"made or unknown: {result}"


def tried(act):
    try:
        return str(act())
    except OSError as error:
        return why(error)


def listens(port):
    """Whether others can be waited for."""
    try:
        with socket.socket() as end:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            end.bind(("127.0.0.1", port))
            end.listen()
            return "listens"
    except OSError as error:
        return why(error)


def listens_unbound():
    with socket.socket() as end:
        return tried(lambda: end.listen() or "listens")


def quickly(address):
    """What is said with the first packet, without connecting (MSG_FASTOPEN)."""
    with socket.socket() as end:
        return tried(lambda: end.sendto(b"x", 0x20000000, address) and heard(end))


# Things that take several steps.

def again(first, second):
    """What comes of a second request in the same connection."""
    with proxy() as end:
        end.sendall(first)
        head(end)
        try:
            end.sendall(second)
            end.sendall(hello(b"good.test"))
        except OSError as error:
            return why(error)
        return heard(end)


def half(request, said=b""):
    """What comes of a request whose sender says at once that nothing more comes."""
    with proxy() as end:
        end.sendall(request + said)
        end.shutdown(socket.SHUT_WR)
        status, rest = head(end)
        return f"{status} {rest or heard(end)}" if status == "200" else status


def crowd(count):
    """Connections without end, thirty at a time, which ask for nothing that there is."""
    answers = set()
    for _ in range(0, count, 30):
        ends = [proxy() for _ in range(30)]
        for end in ends:
            end.sendall(b"x\r\n\r\n")
        for end in ends:
            answers.add(head(end)[0])
            end.close()
    return " ".join(sorted(answers))


def together(count):
    """How many of so many connections are carried at once."""
    ends = [proxy() for _ in range(count)]
    carried = set()
    for end in ends:
        end.sendall(connect(GOOD) + hello(b"good.test"))
    wait = 20
    while ready := select.select([end for end in ends if end not in carried], [], [], wait)[0]:
        carried.update(ready)
        wait = 0.3
    for end in ends:
        end.close()
    return "bounded" if 0 < len(carried) <= 32 else f"{len(carried)} at once"


def slowly(pause):
    """A request that comes so slowly that it never does, on more connections than there are."""
    ends = [proxy() for _ in range(40)]
    request = iter(connect(GOOD, more=b"X: y\r\n" * 99))
    while True:
        byte = bytes([next(request)])
        for end in ends[:30]:
            try:
                end.send(byte)
            except OSError as error:
                return why(error)
        if ready := select.select(ends[:30], [], [], pause)[0]:
            return heard(ready[0])


def trickled():
    request = connect(GOOD)
    with proxy() as end:
        for byte in singly(request):
            end.send(byte)
            time.sleep(0.001)
        status, rest = head(end)
        end.sendall(hello(b"good.test"))
        return f"{status} {rest or heard(end)}"


def handed(end, other=None):
    """Whether a handle that is sent over a connection comes to somebody: its last one is here else."""
    read, write = os.pipe()
    handles = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [read]))]
    try:
        end.sendmsg([b"C"], handles)
        kept = other.recvmsg(1, 100) if other else None
        time.sleep(0.2)
    except OSError as error:
        return why(error)
    finally:
        os.close(read)
    try:
        return f"kept {os.write(write, b'x')} {bool(kept)}"
    except OSError as error:
        return why(error)


def handles():
    """Sockets that somebody left open for this program."""
    found = []
    for number in range(3, 256):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if target.startswith("socket:"):
            found.append(target)
    return f"{len(found)} sockets"


def ends_all():
    """Ends everybody besides this program, as far as it may."""
    for number in range(1, 1000):
        if number != os.getpid():
            tried(lambda: os.kill(number, 9))
    return "tried"


def sees(path):
    try:
        with open(path, "rb") as file:
            return f"read {len(file.read(1)) >= 0}"
    except OSError as error:
        return why(error)


def memory(process):
    """What a process has in memory, at the first place where it has anything."""
    try:
        with open(f"/proc/{process}/maps") as maps:
            start = int(next(maps).split("-")[0], 16)
        with open(f"/proc/{process}/mem", "rb", 0) as file:
            file.seek(start)
            return f"read {len(file.read(4))}"
    except OSError as error:
        return why(error)


# As programs do it.

def library():
    # Most attacks need none of it, and it takes longer than they do.
    import ssl

    return ssl


def trusting():
    ssl = library()
    return ssl.create_default_context(cafile="host.pem")


def opened(url, data=None, **headers):
    """An address by urllib, as a program does it that knows of no proxy."""
    import urllib.error
    import urllib.request

    handler = urllib.request.HTTPSHandler(context=trusting())
    opener = urllib.request.build_opener(handler)
    try:
        with opener.open(urllib.request.Request(url, data, headers), timeout=30) as answer:
            return f"{answer.status} {answer.read().decode()}"
    except urllib.error.HTTPError as error:
        return str(error.code)
    except OSError as error:
        text = str(error)
        return "403" if "Tunnel connection failed: 403" in text else why(error)


def fetched(host, path="/", port=443, **headers):
    """The same by http.client, which is told of the proxy."""
    import http.client

    try:
        client = http.client.HTTPSConnection(*PROXY, timeout=30, context=trusting())
        client.set_tunnel(host, port)
        client.request("GET", path, headers=headers)
        answer = client.getresponse()
        return f"{answer.status} {answer.read().decode()}"
    except OSError as error:
        text = str(error)
        return "403" if "Tunnel connection failed: 403" in text else why(error)


def curl(*arguments):
    """What curl gets, or the number that it ends with."""
    import subprocess

    command = ["curl", "--silent", "--cacert", "host.pem", "--max-time", "30", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout or f"curl {done.returncode}"


def inside(context, name):
    """A handshake of the library, by the proxy, for a name that isn't the host's."""
    ssl = library()
    try:
        with proxy() as end:
            end.sendall(connect(b"good.test:443"))
            status, _ = head(end)
            with context.wrap_socket(end, server_hostname=name) as talk:
                talk.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return f"{status} {talk.recv(9).decode()}"
    except (OSError, ssl.SSLError) as error:
        ends = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError)
        return "200 closed" if isinstance(error, ends) else why(error)


def main():
    for line in sys.stdin:
        try:
            result = str(eval(line))
        except Exception as error:
            result = f"{why(error)}"
        print(result.replace("\n", " ").replace("\r", " ")[:300], flush=True)


main()
