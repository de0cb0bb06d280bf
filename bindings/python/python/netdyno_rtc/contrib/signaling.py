"""Signalling for examples: descriptions and candidates as lines of JSON, over a TCP or Unix socket or by copy and paste.

The format is that of aiortc's module of the same name, so that both can talk to each other. The side that sends first
listens.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
from typing import Callable, Optional, Tuple, Union

from ..description import RTCIceCandidate, RTCSessionDescription

#: Limit of a line in bytes, enough for a description with many candidates.
LINE_BYTES_MAX = 1 << 17


class Bye:
    """The end of signalling."""


BYE = Bye()
Signal = Union[RTCSessionDescription, RTCIceCandidate, Bye]
Stream = Tuple[asyncio.StreamReader, asyncio.StreamWriter]


def to_line(signal: Signal) -> str:
    """A signal as JSON."""
    if isinstance(signal, RTCSessionDescription):
        fields: dict[str, object] = {"sdp": signal.sdp, "type": signal.type}
    elif isinstance(signal, RTCIceCandidate):
        fields = {"candidate": signal.candidate, "id": signal.sdpMid, "label": signal.sdpMLineIndex, "type": "candidate"}
    else:
        fields = {"type": "bye"}
    return json.dumps(fields, sort_keys=True)


def from_line(line: str) -> Signal:
    """Parse a signal from JSON. Raises ``ValueError`` if it is invalid."""
    fields = json.loads(line)
    kind = fields.get("type") if isinstance(fields, dict) else None
    if kind in ("offer", "answer"):
        return RTCSessionDescription(sdp=str(fields.get("sdp", "")), type=kind)
    if kind == "candidate":
        return RTCIceCandidate(str(fields.get("candidate", "")), fields.get("id"), fields.get("label"))
    if kind == "bye":
        return BYE
    raise ValueError(f"unknown signal type {kind!r}")


class Signaling:
    """Signals over one stream, which is opened when the first signal is sent or awaited."""

    def __init__(self) -> None:
        self._reader: Optional[asyncio.StreamReader] = None
        self._writer: Optional[asyncio.StreamWriter] = None

    async def connect(self) -> None:
        """Do nothing: the stream is opened on first use."""

    async def send(self, signal: Signal) -> None:
        writer = self._writer or await self._open(listens=True)
        writer.write((to_line(signal) + "\n").encode())
        await writer.drain()

    async def receive(self) -> Signal:
        """The next signal; ``BYE`` also if the other side has disconnected."""
        if self._reader is None:
            await self._open(listens=False)
        assert self._reader is not None
        line = await self._reader.readline()
        return from_line(line.decode()) if line.strip() else BYE

    async def close(self) -> None:
        """Send ``BYE`` and close the stream."""
        if self._writer is not None:
            with contextlib.suppress(ConnectionError):
                await self.send(BYE)
            self._writer.close()
            self._reader = self._writer = None

    async def _open(self, listens: bool) -> asyncio.StreamWriter:
        self._reader, self._writer = await (self._accept() if listens else self._dial())
        return self._writer

    async def _accept(self) -> Stream:
        raise NotImplementedError

    async def _dial(self) -> Stream:
        raise NotImplementedError


class TcpSignaling(Signaling):
    """Signalling over a TCP socket."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._address = (host, port)

    async def _accept(self) -> Stream:
        accepted, take = _taker()
        return await _first(accepted, await asyncio.start_server(take, *self._address, limit=LINE_BYTES_MAX))

    async def _dial(self) -> Stream:
        return await asyncio.open_connection(*self._address, limit=LINE_BYTES_MAX)


class UnixSignaling(Signaling):
    """Signalling over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    async def _accept(self) -> Stream:
        accepted, take = _taker()
        stream = await _first(accepted, await asyncio.start_unix_server(take, self._path, limit=LINE_BYTES_MAX))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        return stream

    async def _dial(self) -> Stream:
        return await asyncio.open_unix_connection(self._path, limit=LINE_BYTES_MAX)


class StdioSignaling(Signaling):
    """Signalling by copy and paste between terminals."""

    async def send(self, signal: Signal) -> None:
        print("-- Copy this line to the other side --", to_line(signal), sep="\n", flush=True)

    async def receive(self) -> Signal:
        print("-- Paste the other side's line --", flush=True)
        line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        return from_line(line) if line.strip() else BYE


def _taker() -> tuple[asyncio.Future[Stream], Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]]:
    """A callback for a server, and a future with the first accepted stream."""
    accepted: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()

    def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if accepted.done():
            writer.close()
        else:
            accepted.set_result((reader, writer))

    return accepted, take


async def _first(accepted: asyncio.Future[Stream], server: asyncio.Server) -> Stream:
    try:
        return await accepted
    finally:
        server.close()


def add_signaling_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that ``create_signaling`` reads."""
    parser.add_argument("-s", "--signaling", choices=["copy-and-paste", "tcp-socket", "unix-socket"], default="copy-and-paste",
                        help="how to exchange descriptions (default: copy-and-paste)")
    parser.add_argument("--signaling-host", default="127.0.0.1", help="address for tcp-socket (default: 127.0.0.1)")
    parser.add_argument("--signaling-port", default=1234, type=int, help="port for tcp-socket (default: 1234)")
    parser.add_argument("--signaling-path", default="netdyno.socket", help="path for unix-socket (default: netdyno.socket)")


def create_signaling(args: argparse.Namespace) -> Signaling:
    """Create the signalling selected by the options."""
    if args.signaling == "tcp-socket":
        return TcpSignaling(args.signaling_host, args.signaling_port)
    if args.signaling == "unix-socket":
        return UnixSignaling(args.signaling_path)
    return StdioSignaling()
