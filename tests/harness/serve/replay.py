"""A day's traffic in a few minutes for attack.py: the rate has a peak in the morning and one in the afternoon, and
requests of all kinds are mixed, with cancellations and model changes. Memory, descriptors, and threads must not grow.

SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import collections
import json
import math
import pathlib
import random
import shutil
import signal
import statistics
import time

import hostile
from client import Connection, closed_loop

SAMPLES = 180  # of memory; in 30 minutes, one each 10 s
RELOADS = 30


class Traffic:
    def __init__(self, server, texts):
        self.server, self.texts, self.draw = server, texts, random.Random(1)
        self.idle, self.expected, self.counts, self.errors = [], {}, collections.Counter(), []

    def text(self):
        return self.draw.choice(self.texts)

    async def call(self, connection, allowed, *request, **more):
        status, _, body = await asyncio.wait_for(connection.request(*request, **more), 120)
        if status not in allowed:
            raise ValueError(f"{request[:2]}: status {status}, {body[:100]!r}")
        return body

    async def translate(self, connection, **more):
        return json.loads(await self.call(connection, [200], "POST", "/translate",
                                          {"source": "en", "target": "de", **more}))["translatedText"]

    async def short(self, connection):
        text = self.text()
        translation = await self.translate(connection, q=text)
        if self.expected.setdefault(text, translation) != translation:
            raise ValueError(f"the translation of {text!r} changed to {translation!r}")

    async def several(self, connection):
        texts = [self.text() for _ in range(self.draw.randint(2, 20))]
        if len(await self.translate(connection, q=texts)) != len(texts):
            raise ValueError("a text has no translation")

    async def html(self, connection):
        page = "".join(f"<p>A <b>{self.text()}</b></p>" for _ in range(5))
        result = await self.translate(connection, q=page, format="html")
        if [result.count(tag) for tag in ("<p>", "<b>", "</b>", "</p>")] != [5, 5, 5, 5]:
            raise ValueError(f"the markup changed: {result}")

    async def options(self, connection):
        await self.translate(connection, q=self.text(), source="auto", alternatives=self.draw.randint(0, 3),
                             alignment=True, beam=self.draw.randint(1, 8))

    async def stream(self, connection):
        body = await self.call(connection, [200], "POST", "/translate", {
            "q": " ".join(self.text() for _ in range(5)), "source": "en", "target": "de", "stream": True})
        if b"event: result" not in body:
            raise ValueError(f"a stream without a result: {body[-200:]!r}")

    async def cancelled(self, connection):
        """Disconnects before the reply, or within a stream."""
        await connection.open()
        text = " ".join(self.text() for _ in range(30))
        connection.writer.write(hostile.translate(text, stream=self.draw.random() < 0.5))
        await asyncio.sleep(self.draw.uniform(0, 0.3))
        connection.close()

    async def file(self, connection):
        body = hostile.part("source", "en") + hostile.part("target", "de") + hostile.part(
            "file", "\n\n".join(self.text() for _ in range(10)), '; filename="a.txt"') + b"--AaB03x--\r\n"
        url = json.loads(await self.call(connection, [200], "POST", "/translate_file", body,
                                         content_type=hostile.MULTIPART))["translatedFileUrl"]
        await self.call(connection, [200], "GET", "/" + url.split("/", 3)[3])

    async def detect(self, connection):
        await self.call(connection, [200], "POST", "/detect", {"q": self.text()})

    async def read(self, connection):
        for path in ("/languages", "/frontend/settings", "/metrics", "/health", "/openapi.json", "/", "/page.js"):
            await self.call(connection, [200], "GET", path)

    async def wrong(self, connection):
        await self.call(connection, [400], "POST", "/translate", self.draw.choice(
            [b"{", {"q": "a", "source": "en", "target": "xx"}, {"source": "en", "target": "de"}]))
        await self.call(connection, [404], "GET", f"/{self.draw.random()}")

    async def request(self, kind):
        connection = self.idle.pop() if self.idle and kind != "cancelled" else Connection(self.server.port)
        try:
            await getattr(self, kind)(connection)
        except (OSError, EOFError, ValueError, KeyError) as error:
            self.errors.append(f"{kind}: {type(error).__name__} {error}")
            connection.close()
        self.counts[kind] += 1
        if kind != "cancelled":
            self.idle.append(connection)


# Requests of each kind, in percent.
MIX = {"short": 62, "several": 5, "html": 4, "options": 6, "stream": 4, "cancelled": 5, "file": 2, "detect": 5,
       "read": 5, "wrong": 2}


def replace_model(server):
    """A new file with the same content, then SIGHUP."""
    command = pathlib.Path(f"/proc/{server.process.pid}/cmdline").read_text().split("\0")
    model = command[command.index("--model") + 1].split("=")[1]
    shutil.copy(model, model + ".new")
    pathlib.Path(model + ".new").rename(model)
    server.process.send_signal(signal.SIGHUP)


async def run(server, texts, seconds):
    from attack import Table
    capacity = (await closed_loop(server.port, texts, 1000)).rate()
    traffic, began, tasks, samples = Traffic(server, texts), time.monotonic(), set(), []
    table = Table(f"A day in {seconds} s; at most 60 % of {capacity:.0f} sentences/s", "hour", "MB", "descriptors",
                  "threads", "requests", "errors")
    # A request has more than one sentence; the mean is an estimate.
    peak, reloads = 0.6 * capacity / 2.5, 0
    while (now := time.monotonic() - began) < seconds and server.alive():
        day = now / seconds
        await asyncio.sleep(traffic.draw.expovariate(peak * (0.55 - 0.45 * math.cos(4 * math.pi * day))))
        kind = traffic.draw.choices(list(MIX), MIX.values())[0]
        task = asyncio.create_task(traffic.request(kind))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if day * RELOADS > reloads + 1:
            reloads += 1
            replace_model(server)
        if day * SAMPLES > len(samples):
            samples.append((server.status("VmRSS") / 1e6, server.descriptors(), server.status("Threads")))
            if len(samples) % (SAMPLES // 12) == 0:
                table.row(True, f"{24 * day:.0f}", *samples[-1], sum(traffic.counts.values()), len(traffic.errors))
    await asyncio.gather(*tasks)
    for connection in traffic.idle:
        connection.close()
    await asyncio.sleep(2)
    if not server.alive():
        table.row(False, "the server ended")
        return 1
    # Medians of the second and the last quarter, which have the same traffic.
    for name, index, slack in (("MB", 0, 1.05), ("threads", 2, 1.0)):
        values, quarter = [sample[index] for sample in samples], len(samples) // 4
        second, last = (statistics.median(values[i * quarter:(i + 1) * quarter]) for i in (1, 3))
        table.row(last <= slack * second, f"median {name}, second and last quarter", second, last)
    table.row(not traffic.errors, "errors", len(traffic.errors), *traffic.errors[:3])
    table.row(True, "at the end", server.status("VmRSS") / 1e6, server.descriptors(), server.status("Threads"))
    print(f"\n{reloads} model changes; " + ", ".join(f"{count} {kind}" for kind, count in traffic.counts.items()))
    return table.failed
