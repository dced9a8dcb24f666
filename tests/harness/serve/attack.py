#!/usr/bin/env python3
"""Attacks the translation server examples/serve and prints a table for each scenario. Ends with 1 if a limit is missed.

    attack.py BUILD [idle|clients|hostile|replay|all] [--seconds 60] [--options "..."] [--requests NAME]

BUILD: a build of this tree with xformer-serve and the plugins. --options: more options of xformer-serve. Needs only
the standard library of Python. Not part of run.sh: it takes minutes and compares times, so the machine must be quiet.

- idle: 10,000 keep-alive connections. Limit: 200 MB of memory; a translation takes at most twice the time.
- clients: Poisson arrivals at 60 % of the capacity, while clients send a byte per second, lie about their length, do
  not read, or disconnect. Limit: the p99 of the others is at most twice that without attack, and all their
  translations are identical to those before.
- hostile: malformed, huge, and split requests (hostile.py). Limit: an error or a reply, and the server still serves.
  --requests: only those whose name contains NAME.
- replay: a day's traffic in --seconds (replay.py). Limit: memory, descriptors, and threads do not grow.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import asyncio
import json
import pathlib
import random
import resource
import shutil
import sys
import tempfile
import time

from client import HOST, Connection, Server, closed_loop, open_loop

ROOT = pathlib.Path(__file__).resolve().parents[3]
IDLE, MEMORY_LIMIT, ATTACKERS = 10000, 200e6, 50


def start(build, work, options="", weights="int8"):
    """A server with a copy of the model, which replay.py replaces."""
    model = work / "en-de.xf"
    if not model.exists():
        shutil.copy(ROOT / "examples/translate/en-de.xf", model)
    command = f"{build}/bin/xformer-serve --port {{port}} --model en-de={model} --model.weights {weights} {options}"
    return Server(command, work / "serve.log", {"XF_BACKEND_PATH": f"{build}/lib"})


def sources():
    with open(ROOT / "examples/translate/data/small.tsv", encoding="utf-8") as file:
        lines = [line.split("\t")[0].strip() for line in file]
    return [line for line in lines if line and "." not in line[:-1]][:500]


class Table:
    def __init__(self, title, *columns):
        print(f"\n## {title}\n\n| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)
        self.failed = 0

    def row(self, good, *cells):
        self.failed += not good
        print("| " + " | ".join(f"{cell:.1f}" if isinstance(cell, float) else str(cell).replace("|", "\\|")
                                for cell in cells) + (" |" if good else " **failed** |"), flush=True)


async def idle(server, texts, _):
    table = Table(f"{IDLE} idle keep-alive connections", "state", "open", "MB", "descriptors",
                  "p50 of a translation, ms")

    async def state(title, connections=(), limit=float("inf"), slowest=float("inf")):
        load = await closed_loop(server.port, texts, 100, 1)
        memory, p50 = server.status("VmRSS") / 1e6, 1000 * load.percentile(50)
        still = sum(connection.reader is not None and not connection.reader.at_eof() for connection in connections)
        good = not load.errors and memory * 1e6 <= limit and p50 <= slowest and still == len(connections)
        table.row(good, title, still, memory, server.descriptors(), p50)
        return p50

    before = await state("before")
    connections = [Connection(server.port) for _ in range(IDLE)]
    for begin in range(0, IDLE, 250):
        replies = await asyncio.gather(*(c.request("GET", "/health") for c in connections[begin:begin + 250]),
                                       return_exceptions=True)
        for reply in replies:
            if not isinstance(reply, tuple) or reply[0] != 200:
                raise SystemExit(f"a connection of {IDLE} was refused after {begin}: {reply}")
    await state("connected", connections, MEMORY_LIMIT, 2 * before + 5)
    replies = await asyncio.gather(*(c.request("GET", "/health") for c in connections[::10]), return_exceptions=True)
    served = sum(isinstance(reply, tuple) and reply[0] == 200 for reply in replies)
    await state(f"{served} of {len(replies)} second requests served", connections, MEMORY_LIMIT, 2 * before + 5)
    table.failed += served < len(replies)
    for connection in connections:
        connection.close()
    await asyncio.sleep(2)
    await state("after they closed", (), MEMORY_LIMIT, 2 * before + 5)
    return table.failed


HEAD = f"POST /translate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"


def request_bytes(text, extra=""):
    body = json.dumps({"q": text, "source": "en", "target": "de", "stream": extra == "stream"}).encode()
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode(), body


# Each attack sends one request on a new connection; text is a random source.
async def slow_head(send, receive, text):
    for byte in b"".join(request_bytes(text)):
        await send(bytes([byte]))
        await asyncio.sleep(1)


async def slow_body(send, receive, text):
    head, body = request_bytes(text * 10)
    await send(head)
    for byte in body:
        await send(bytes([byte]))
        await asyncio.sleep(1)


async def slow_reader(send, receive, text):
    await send(b"".join(request_bytes(" ".join([text] * 20), "stream")))
    await asyncio.sleep(20)


async def long_length(send, receive, text):
    await send(f"{HEAD}Content-Length: 5000\r\n\r\n".encode() + request_bytes(text)[1])
    await asyncio.sleep(random.uniform(0, 10))


async def short_length(send, receive, text):
    await send(f"{HEAD}Content-Length: 10\r\n\r\n".encode() + request_bytes(text)[1])
    await receive()


async def bad_chunks(send, receive, text):
    await send(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nXYZ{text}\r\n".encode())
    await receive()


async def two_lengths(send, receive, text):
    body = request_bytes(text)[1]
    await send(f"{HEAD}Content-Length: {len(body)}\r\nContent-Length: 3\r\n\r\n".encode() + body)
    await receive()


async def leaves_in_request(send, receive, text):
    head, body = request_bytes(text)
    await send(head + body[:len(body) // 2])


async def leaves_at_once(send, receive, text):
    await send(b"".join(request_bytes(" ".join([text] * 20))))


async def leaves_in_stream(send, receive, text):
    await send(b"".join(request_bytes(" ".join([text] * 20), "stream")))
    await receive(300)


# The pauses between the requests of one client, in seconds: disconnected requests cause work until they are cancelled.
ATTACKS = {"one byte per second, headers": (slow_head, 0), "one byte per second, body": (slow_body, 0),
           "does not read": (slow_reader, 20), "Content-Length too large": (long_length, 1),
           "Content-Length too small": (short_length, 1), "invalid chunks": (bad_chunks, 1),
           "two Content-Length": (two_lengths, 1), "disconnects within the request": (leaves_in_request, 1),
           "disconnects after the request": (leaves_at_once, 10),
           "disconnects within the stream": (leaves_in_stream, 10)}


async def attack_once(port, attack, text):
    reader, writer = await asyncio.open_connection(HOST, port)

    async def send(data):
        writer.write(data)
        await writer.drain()

    try:
        await attack(send, lambda n=1 << 16: asyncio.wait_for(reader.read(n), 10), text)
    finally:
        writer.transport.abort()


async def attacker(port, attack, pause, texts):
    draw = random.Random(id(attack))
    await asyncio.sleep(draw.uniform(0, pause))
    while True:
        try:
            await attack_once(port, attack, draw.choice(texts))
        except OSError:
            pass  # the server may close the connection
        await asyncio.sleep(pause)


async def clients(server, texts, seconds):
    await closed_loop(server.port, texts, len(texts))
    capacity = (await closed_loop(server.port, texts, 1000)).rate()
    rate, expected = 0.6 * capacity, {}
    connection = Connection(server.port)
    for text in texts:
        expected[text] = await connection.translate(text)
    connection.close()
    table = Table(f"{rate:.1f} requests/s, 60 % of the capacity, for {seconds} s each, {ATTACKERS} clients per attack",
                  "attack", "p50, ms", "p95, ms", "p99, ms", "errors", "MB", "descriptors after")
    limit = float("inf")

    async def measure(title, attacks):
        tasks = [asyncio.create_task(attacker(server.port, *ATTACKS[name], texts))
                 for name in attacks for _ in range(ATTACKERS)]
        await asyncio.sleep(2 if tasks else 0)
        load = await open_loop(server.port, texts, rate, int(rate * seconds), expected=expected)
        memory = server.status("VmRSS") / 1e6
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(2)
        p50, p95, p99 = (1000 * load.percentile(p) for p in (50, 95, 99))
        table.row(not load.errors and p99 <= limit, title, p50, p95, p99, len(load.errors), memory,
                  server.descriptors())
        for error in load.errors[:3]:
            print(f"  {error}")
        return p99

    first = [await measure("none", []) for _ in range(2)]
    limit = 2 * max(first)
    for name in ATTACKS:
        await measure(name, [name])
    await measure("all together", list(ATTACKS))
    await measure("none, afterwards", [])
    return table.failed


def main():
    import hostile
    import replay
    scenarios = {"idle": idle, "clients": clients, "hostile": hostile.run, "replay": replay.run}
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("scenario", choices=[*scenarios, "all"], nargs="?", default="all")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--options", default="")
    parser.add_argument("--requests", default="")
    arguments = parser.parse_args()
    hostile.ONLY = arguments.requests
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if limit < IDLE + 100:
        sys.exit(f"the limit of open files is {limit}; {IDLE + 100} are needed (ulimit -Hn)")
    failed = 0
    for name in scenarios if arguments.scenario == "all" else [arguments.scenario]:
        with tempfile.TemporaryDirectory() as work:
            options = arguments.options + " --translation-timeout 30 --timeout 10" * (name == "hostile")
            server = start(pathlib.Path(arguments.build).resolve(), pathlib.Path(work), options)
            try:
                failed += asyncio.run(scenarios[name](server, sources(), arguments.seconds))
            finally:
                alive, began, status = server.alive(), time.monotonic(), server.stop()
                if alive and status == 0:
                    print(f"\nThe server ended {time.monotonic() - began:.1f} s after SIGTERM.", flush=True)
                else:
                    failed += 1
                    print(f"\nThe server ended with {status}, before SIGTERM: {not alive}\n{server.tail()}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
