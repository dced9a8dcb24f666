"""Starts a translation server and sends HTTP/1.1 requests to it, for attack.py and bench_http.py. Needs only the
standard library of Python.

SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import json
import os
import pathlib
import random
import shlex
import signal
import socket
import subprocess
import time
import urllib.request

HOST = "127.0.0.1"


class Server:
    """A server process. `command` contains {port}; the server is ready when GET `ready` returns 200."""

    def __init__(self, command, log, env=None, ready="/health", timeout=120):
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self.log = pathlib.Path(log)
        with open(log, "wb") as output:
            self.process = subprocess.Popen(shlex.split(command.format(port=self.port)), stdout=output,
                                            stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        deadline = time.monotonic() + timeout
        while True:
            try:
                urllib.request.urlopen(f"http://{HOST}:{self.port}{ready}", timeout=5).read()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.process.kill()
                    raise SystemExit(f"the server did not start: {command}\n{self.tail()}") from None
                time.sleep(0.1)

    def tail(self):
        return self.log.read_text(errors="replace")[-2000:]

    def alive(self):
        return self.process.poll() is None

    def status(self, field):
        """A number of /proc/PID/status, for example VmRSS (in bytes) or Threads."""
        with open(f"/proc/{self.process.pid}/status") as file:
            words = next(line.split() for line in file if line.startswith(field + ":"))
        return int(words[1]) * (1024 if words[2:] == ["kB"] else 1)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu(self):
        """Processor seconds used so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Sends SIGTERM and returns the exit status."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "killed: it did not stop within 60 s of SIGTERM"


class Connection:
    """A keep-alive connection. Any failure raises OSError, EOFError, or ValueError."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(HOST, self.port, limit=1 << 26)
        return self

    def close(self):
        if self.writer:
            self.writer.transport.abort()
        self.reader = self.writer = None

    async def response(self, method="GET"):
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split()[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        if status == 100:
            return await self.response(method)
        if method == "HEAD":
            body = b""
        elif "chunked" in headers.get("transfer-encoding", ""):
            body = b""
            while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readuntil(b"\r\n")
        elif "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
        else:
            body = b"" if status in (204, 304) else await self.reader.read()
        if headers.get("connection", "").lower() == "close":
            self.close()
        return status, headers, body

    async def request(self, method, path, body=None, content_type="application/json", headers=()):
        """Sends a request; a `body` that is not bytes is sent as JSON. Returns (status, headers, body). A connection
        that the server has closed is opened again."""
        if self.writer is None or self.reader.at_eof():
            await self.open()
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}:{self.port}", *headers]
        if body is not None:
            lines += [f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        return await self.response(method)

    async def translate(self, text, **more):
        status, _, body = await self.request("POST", "/translate",
                                             {"q": text, "source": "en", "target": "de", "format": "text", **more})
        if status != 200:
            raise ValueError(f"status {status}: {body[:200]!r}")
        return json.loads(body)["translatedText"]


class Load:
    """Latencies in seconds and errors of translations. expected: the translations by text; others are errors."""

    def __init__(self, expected=None):
        self.expected = expected or {}
        self.latencies, self.errors, self.seconds, self.characters = [], [], 0.0, 0

    def rate(self):
        return len(self.latencies) / self.seconds

    def percentile(self, percent):
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else float("nan")

    async def one(self, connection, text, began):
        try:
            translation = await asyncio.wait_for(connection.translate(text), 120)
            if translation != self.expected.get(text, translation):
                raise ValueError(f"the translation of {text!r} is {translation!r}, expected {self.expected[text]!r}")
            self.characters += len(translation)
            self.latencies.append(time.perf_counter() - began)
        except (OSError, EOFError, ValueError) as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            connection.close()


async def closed_loop(port, texts, count, connections=64):
    """`connections` clients that each send the next text when the previous translation has arrived."""
    load, remaining, began = Load(), iter(range(count)), time.perf_counter()

    async def client():
        connection = Connection(port)
        for i in remaining:
            await load.one(connection, texts[i % len(texts)], time.perf_counter())
        connection.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    load.seconds = time.perf_counter() - began
    return load


async def open_loop(port, texts, rate, count, seed=1, expected=None):
    """Poisson arrivals at `rate` per second. A latency includes the wait for a late client, and, if all connections
    are busy, opening one."""
    load, draw, idle, tasks = Load(expected), random.Random(seed), [], []
    arrival = began = time.perf_counter()

    async def client(text, arrival):
        connection = idle.pop() if idle else Connection(port)
        await load.one(connection, text, arrival)
        idle.append(connection)

    for i in range(count):
        arrival += draw.expovariate(rate)
        await asyncio.sleep(max(0, arrival - time.perf_counter()))
        tasks.append(asyncio.create_task(client(texts[i % len(texts)], arrival)))
    await asyncio.gather(*tasks)
    load.seconds = time.perf_counter() - began
    for connection in idle:
        connection.close()
    return load
