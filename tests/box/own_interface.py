"""A network with one more interface, `172.17.0.1` as a bridge has it: what the proxy answers to each of three names."""

import asyncio
import fcntl
import socket
import struct

from tools.box.sandbox_proxy import SandboxProxy

BRIDGE = "172.17.0.1"
_SET_FLAGS, _SET_ADDRESS = 0x8914, 0x8916  # SIOCSIFFLAGS, SIOCSIFADDR: if.h
_UP = 1


def _add_interface() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        place = struct.pack("16sH2s4s8s", b"lo:1", socket.AF_INET, b"", socket.inet_aton(BRIDGE), b"")
        fcntl.ioctl(asking, _SET_FLAGS, struct.pack("16sH14s", b"lo", _UP, b""))
        fcntl.ioctl(asking, _SET_ADDRESS, place)


async def _allow(host: str, port: int, caller: str) -> bool:
    return True


async def _resolve(host: str, port: int) -> list[str]:
    return {"bridge.example": [BRIDGE], "mapped.example": [f"::ffff:{BRIDGE}"]}.get(host, ["192.0.2.9"])


async def _connect(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if address != BRIDGE and not address.endswith(f":{BRIDGE}"):
        raise OSError("another machine")
    return await asyncio.open_connection(address, port)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(_serve, "0.0.0.0", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection(BRIDGE, port)  # it is reached without the proxy
    writer.close()
    proxy = SandboxProxy(_allow, resolve=_resolve, connect=_connect)
    listening = socket.create_server(("127.0.0.1", 0))
    await proxy.serve(listening)
    for host in ("bridge.example", "mapped.example", "neighbour.example"):
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
        print(" ".join((await reader.read()).decode().split()), flush=True)
        writer.close()
    proxy.close()
    server.close()


if __name__ == "__main__":
    _add_interface()
    asyncio.run(main())
