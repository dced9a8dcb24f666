"""examples/serve: the HTTP interface, by a client that sends what browsers do not: parts of requests, and nonsense.

    server.py PROGRAM MODEL README

SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import uuid

PROGRAM, MODEL, README = (os.path.abspath(path) for path in sys.argv[1:4])
TEXT = "The file could not be found."


class Server:
    """A running server on a free port."""

    def __init__(self, *options, models=None):
        arguments = [PROGRAM, "--port", "0"]
        for model in models or ["en-de=" + MODEL]:
            arguments += ["--model", model]
        self.process = subprocess.Popen(arguments + list(options), stdout=subprocess.PIPE, text=True)
        self.lines, self.port = [], None
        self.arrived = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.port = int(self.wait_for("serving on")["message"].rsplit(":", 1)[1])

    def read(self):
        for line in self.process.stdout:
            with self.arrived:
                self.lines.append(json.loads(line))
                self.arrived.notify_all()

    def wait_for(self, text, seconds=60):
        """Returns the first log line that contains a text."""
        found = lambda: next((line for line in self.lines if text in line.get("message", "")), None)
        with self.arrived:
            assert self.arrived.wait_for(found, seconds), f"no line contains '{text}': {self.lines}"
            return found()

    def request(self, method, path, body=None, headers=None, connection=None):
        """Returns the status, the headers, and the body of a reply."""
        used = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=240)
        if isinstance(body, dict) and (headers or {}).get("Content-Type") is None:
            body, headers = json.dumps(body), dict(headers or {}, **{"Content-Type": "application/json"})
        used.request(method, path, body, headers or {})
        reply = used.getresponse()
        content = reply.read()
        if not connection:
            used.close()
        return reply.status, reply.headers, content

    def json(self, method, path, body=None, **more):
        status, _, content = self.request(method, path, body, **more)
        return status, json.loads(content)

    def translate(self, q=TEXT, **more):
        return self.json("POST", "/translate", dict({"q": q, "source": "en", "target": "de"}, **more))

    def form(self, path, **fields):
        return self.json("POST", path, urllib.parse.urlencode(fields),
                         headers={"Content-Type": "application/x-www-form-urlencoded"})

    def file(self, name, content, **fields):
        boundary = uuid.uuid4().hex
        parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
                 for key, value in dict({"source": "en", "target": "de"}, **fields).items()]
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
                     + content + f"\r\n--{boundary}--\r\n".encode())
        return self.json("POST", "/translate_file", b"".join(parts),
                         headers={"Content-Type": "multipart/form-data; boundary=" + boundary})

    def metric(self, name):
        text = self.request("GET", "/metrics")[2].decode()
        return next(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))

    def raw(self, data, wait=10):
        """Sends bytes and returns everything that arrives until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as client:
            try:
                client.sendall(data)
                received = b""
                while part := client.recv(65536):
                    received += part
            except (ConnectionError, socket.timeout):
                pass
            return received

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(240)
        self.reader.join(10)
        self.process.stdout.close()
        return status


def events_of(content):
    """The events of a stream as pairs of name and data."""
    blocks = [dict(line.split(": ", 1) for line in block.split("\n"))
              for block in content.decode().split("\n\n") if block]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


def save_other_model(path):
    """Saves a copy of the model with another tensor, so that it translates differently."""
    root = os.path.dirname(os.path.abspath(__file__)) + "/../../.."
    os.environ["XFORMER_LIBRARY"] = os.path.dirname(PROGRAM) + "/../lib/libxformer.so"
    sys.path.insert(1, root + "/bindings/python")
    import xformer
    model = xformer.Model.load(xformer.Context({"context.device": "cpu"}), MODEL, {"model.weights": "fp32"})
    model.write("decoder.norm.weight", [-value for value in model.read("decoder.norm.weight")])
    model.save(path)


def wait_until(test, holds, seconds=60):
    """Fails if the condition, which is examined repeatedly, never holds within the time."""
    end = time.time() + seconds
    while not holds():
        test.assertLess(time.time(), end)
        time.sleep(0.05)


class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.german = cls.server.translate()[1]["translatedText"]

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def check_error(self, result, status, text):
        self.assertEqual(result[0], status, result)
        self.assertIn(text, result[1]["error"])

    def test_forms_and_json_are_equal(self):
        self.assertIn("Datei", self.german)
        self.assertEqual(self.server.form("/translate", q=TEXT, source="en", target="de"),
                         (200, {"translatedText": self.german}))
        query = urllib.parse.urlencode({"q": TEXT, "source": "en", "target": "de"})
        self.assertEqual(self.server.json("POST", "/translate?" + query)[1], {"translatedText": self.german})

    def test_batches(self):
        status, reply = self.server.translate([TEXT, "", "Open the file.", "1 + 1 = 2"], source="auto", alternatives=2)
        self.assertEqual(status, 200)
        self.assertEqual(reply["translatedText"][0], self.german)
        self.assertEqual(reply["translatedText"][1::2], ["", "1 + 1 = 2"])
        self.assertEqual([one["language"] for one in reply["detectedLanguage"]], ["en"] * 4)
        self.assertTrue(all(self.german not in others for others in reply["alternatives"]))
        self.assertGreater(len(reply["alternatives"][0]), 0)

    def test_layout_of_text_is_kept(self):
        text = f"  {TEXT}  {TEXT}\n\n\t- Open the file.\n"
        lines = self.server.translate(text)[1]["translatedText"].split("\n")
        self.assertEqual(lines[0], f"  {self.german}  {self.german}")
        self.assertEqual(lines[1], "")
        self.assertTrue(lines[2].startswith("\t- "))
        self.assertEqual(lines[3], "")

    def test_markup(self):
        text = '<p class="a">Save <b>all</b> changes?</p><script>let a = "b";</script>'
        reply = self.server.translate(text, format="html")[1]
        self.assertRegex(reply["translatedText"], '^<p class="a">.*<b>.+</b>.*</p><script>let a = "b";</script>$')

    def test_alignment(self):
        source = "Open the file.\n\n\U0001F600 " + TEXT
        reply = self.server.translate(source, alignment=True)[1]
        german = reply["translatedText"]
        found = [(source[slice(*one["source"])], german[slice(*one["target"])]) for one in reply["alignment"]]
        self.assertEqual([one[0] for one in found if one[0][0] != "\U0001F600"][0], "Open the file.")
        self.assertEqual(found[-1][1][-1], ".")
        words = [(source[a:b], german[c:d]) for one in reply["alignment"] for a, b, c, d in one["words"]]
        self.assertIn(("file", "Datei"), words)

    def test_prefix_and_alternatives(self):
        reply = self.server.translate(prefix="Die Akte")[1]
        self.assertTrue(reply["translatedText"].startswith("Die Akte"))
        reply = self.server.translate(prefix="Die", alternatives=3)[1]
        all_of = [reply["translatedText"]] + reply["alternatives"]
        self.assertEqual(len({text.split()[1] for text in all_of}), 4, all_of)

    def test_stream(self):
        long = "Do you want to save the changes to this document before the window is closed? " * 12
        body = {"q": long, "source": "en", "target": "de", "beam": 1, "stream": True}
        status, headers, content = self.server.request("POST", "/translate", body)
        events = events_of(content)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        self.assertEqual(events[-1][0], "result")
        result = events[-1][1]["translatedText"]
        self.assertEqual(result, self.server.translate(long, beam=1)[1]["translatedText"])
        partial = [data["translatedText"] for name, data in events if name == "partial"]
        self.assertGreater(len(partial), 1)
        for text in partial:
            self.assertTrue(result.startswith(text.rstrip()), (text, result))
        self.assertIn(("progress", {"done": 12, "total": 12}), events)
        content = self.server.request("POST", "/translate", dict(body, target="en", stream=False),
                                      {"Accept": "text/event-stream", "Content-Type": None})[2]
        self.assertIn("error", json.loads(content))  # found before the stream begins

    def test_errors(self):
        check, server = self.check_error, self.server
        check(server.form("/translate", source="en", target="de"), 400, "Invalid request: missing q parameter")
        check(server.form("/translate", q="a", target="de"), 400, "missing source parameter")
        check(server.form("/translate", q="a", source="en"), 400, "missing target parameter")
        check(server.translate(target="zz"), 400, "zz is not supported")
        check(server.translate(source="de", target="en"), 400,
              "English (en) is not available as a target language from German (de)")
        check(server.translate(format="pdf"), 400, "pdf format is not supported")
        check(server.translate(alternatives="x"), 400, "alternatives parameter is not a number")
        check(server.translate(alternatives=99), 400, "must be <= 10")
        check(server.translate(beam=0), 400, "must be >= 1")
        check(server.translate(q=3), 400, "q parameter is not a string")
        check(server.translate(q=["a", 3]), 400, "array of strings")
        check(server.translate(alignment="maybe"), 400, "not true or false")
        check(server.translate(q=["a", "b"], prefix="c"), 400, "prefix requires a single q")
        for body in ("[]", "{", ""):
            result = server.json("POST", "/translate", body, headers={"Content-Type": "application/json"})
            check(result, 400, "Invalid JSON")
        check(server.json("POST", "/translate", "a", headers={"Content-Type": "text/plain"}), 415, "content type")
        check(server.json("POST", "/nothing"), 404, "no such path")
        check(server.json("POST", "/languages"), 405, "expected GET")
        check(server.json("GET", "/detect"), 405, "expected POST")
        check(server.json("POST", "/detect"), 400, "missing q")
        check(server.form("/suggest", q="a", s="b", source="en", target="de"), 403, "Suggestions are disabled")

    def test_hostile_bodies(self):
        def post(body, kind="application/json"):
            return self.server.json("POST", "/translate", body, headers={"Content-Type": kind})

        form = "application/x-www-form-urlencoded"
        self.check_error(post(b'{"q": "\xff", "source": "en", "target": "de"}'), 400, "Invalid JSON")
        self.check_error(post(b'{"q": "\\ud800", "source": "en", "target": "de"}'), 400, "Invalid JSON")
        self.check_error(post(b"q=%ff&source=en&target=de", form), 400, "not valid UTF-8")
        deep = b"[" * 1000000
        self.check_error(post(b'{"q": ' + deep), 400, "Invalid JSON")
        nested = b'{"q": ' + deep + b"]" * 1000000 + b', "source": "en", "target": "de"}'
        self.check_error(post(nested), 400, "array of strings")
        self.check_error(post(b"&".join(b"a%d=1" % i for i in range(1000)), form), 400, "64 fields")
        html = "<div>" * 100000 + "Open the file." + "</div>" * 100000
        reply = self.server.translate(html, format="html")[1]["translatedText"]
        self.assertEqual(reply.count("<div>"), 100000)
        self.assertEqual(self.server.translate(" \n" * 2000000)[1]["translatedText"], " \n" * 2000000)
        self.check_error(self.server.translate("a\n" * 2000000), 413, "more than 200,000 sentences")

    def test_size_limit(self):
        head = b"POST /translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n"
        length = b"Content-Length: %d\r\n\r\n" % (11 << 20)
        self.assertIn(b" 413 ", self.server.raw(head + length).split(b"\r\n")[0])
        part = b"100000\r\n" + b"a" * 0x100000 + b"\r\n"
        chunked = b"Transfer-Encoding: chunked\r\n\r\n" + part * 11 + b"0\r\n\r\n"
        self.assertIn(b" 413 ", self.server.raw(head + chunked, 30).split(b"\r\n")[0])

    def test_requests_in_single_bytes(self):
        body = json.dumps({"q": TEXT, "source": "en", "target": "de"}).encode()
        request = (b"POST /translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with socket.create_connection(("127.0.0.1", self.server.port)) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(request)):
                client.sendall(request[i:i + 1])
            received = b""
            while part := client.recv(65536):
                received += part
        self.assertEqual(json.loads(received.split(b"\r\n\r\n", 1)[1]), {"translatedText": self.german})

    def test_ambiguous_lengths_are_refused(self):
        length, chunked = b"Content-Length: 2\r\n", b"Transfer-Encoding: chunked\r\n"
        for headers in (length + b"Content-Length: 5\r\n", length + chunked, chunked + chunked,
                        b"Content-Length : 2\r\n"):
            reply = self.server.raw(b"POST /translate HTTP/1.1\r\nHost: a\r\n" + headers + b"\r\n{}")
            self.assertTrue(reply.startswith(b"HTTP/1.1 400 "), reply)
            self.assertEqual(reply.count(b"HTTP/1.1 "), 1)
        # A proxy could read this as one request, and the server as two.
        hidden = b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length : %d\r\n\r\n" % len(hidden)
        reply = self.server.raw(head + hidden)
        self.assertNotIn(b'"ok"', reply)
        reply = self.server.raw(b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}")
        self.assertTrue(reply.startswith(b"HTTP/1.1 501 "), reply)

    def test_parts_of_single_bytes(self):
        part = lambda name, value: b'--xyz\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name, value)
        body = part(b"q", TEXT.encode()) + part(b"source", b"en") + part(b"target", b"de") + b"--xyz--\r\n"
        chunks = b"".join(b"1\r\n" + body[i:i + 1] + b"\r\n" for i in range(len(body))) + b"0\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.server.port)) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(b"POST /translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
                           b"Content-Type: multipart/form-data; boundary=xyz\r\n\r\n")
            for i in range(len(chunks)):
                client.sendall(chunks[i:i + 1])
            received = b""
            while part := client.recv(65536):
                received += part
        self.assertEqual(json.loads(received.split(b"\r\n\r\n", 1)[1]), {"translatedText": self.german})

    def test_nonsense(self):
        for data in (b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 100000 + b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10000 + b"\r\n",
                     b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                     b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            self.server.raw(data, 2)
        self.assertEqual(self.server.translate()[1]["translatedText"], self.german)

    def test_disconnected_clients_are_cancelled(self):
        before = self.server.metric("serve_sentences_cancelled_total")
        text = "We want to save the changes to this document. " * 2000
        body = json.dumps({"q": text, "source": "en", "target": "de", "beam": 8})
        client = http.client.HTTPConnection("127.0.0.1", self.server.port)
        client.request("POST", "/translate", body, {"Content-Type": "application/json"})
        wait_until(self, lambda: self.server.metric("serve_sentences_active") > 0)
        client.close()
        wait_until(self, lambda: self.server.metric("serve_requests_active") == 1)  # the request for the metrics
        self.assertGreater(self.server.metric("serve_sentences_cancelled_total"), before)

    def test_clients_that_disconnect_while_sending(self):
        before = self.server.metric("serve_connections")
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", self.server.port)) as client:
                client.sendall(b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{}")
        wait_until(self, lambda: self.server.metric("serve_connections") <= before)

    def test_detection_of_long_texts(self):
        text = ("y " * 100)[:13] + "Die Tür öffnet sich für die übrigen Gäste am Abend. " * 100
        found = self.server.translate(text[:6000], source="auto", beam=1)[1]["detectedLanguage"]
        self.assertEqual(found["language"], "de")

    def test_many_clients_together(self):
        results = []
        ask = lambda i: results.append((i, self.server.translate(f"Open file {i}.")[1]["translatedText"]))
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, text in results[:8]:
            self.assertEqual(text, self.server.translate(f"Open file {i}.")[1]["translatedText"])
        self.assertEqual(len(results), 64)

    def test_files(self):
        subtitles = (b"1\n00:00:01,000 --> 00:00:02,000\nThe file could\nnot be found.\n\n"
                     b"2\n00:00:03,000 --> 00:00:04,000\nOpen the file.\n")
        for name, content, expected in (("a.txt", TEXT.encode() + b"\r\n", self.german + "\r\n"),
                                        ("b c.html", b"<p>" + TEXT.encode() + b"</p>", f"<p>{self.german}</p>"),
                                        ("s.srt", subtitles, "00:00:03,000 --> 00:00:04,000")):
            status, reply = self.server.file(name, content)
            self.assertEqual(status, 200, reply)
            path = urllib.parse.urlsplit(reply["translatedFileUrl"]).path
            status, headers, content = self.server.request("GET", path)
            self.assertIn("attachment", headers["Content-Disposition"])
            self.assertIn(expected, content.decode())
        self.check_error(self.server.file("a.pdf", b"x"), 400, "file format not supported")
        self.check_error(self.server.file("a.txt", b""), 400, "empty file")
        self.check_error(self.server.file("a.txt", b"\xff\xfe"), 400, "not valid UTF-8")
        self.check_error(self.server.form("/translate_file", source="en", target="de"), 400, "missing file")
        self.check_error(self.server.json("GET", "/download_file/../../etc/passwd"), 404, "does not exist")

    def test_information(self):
        languages = self.server.json("GET", "/languages")[1]
        self.assertEqual([tuple(one.values()) for one in languages], [("de", "German", []), ("en", "English", ["de"])])
        self.assertEqual(self.server.json("GET", "/health"), (200, {"status": "ok"}))
        self.assertEqual(self.server.json("GET", "/frontend/settings")[1]["language"]["target"]["code"], "de")
        self.assertEqual(self.server.form("/detect", q="Guten Morgen, wie geht es Ihnen?")[1][0]["language"], "de")
        paths = self.server.json("GET", "/openapi.json")[1]["paths"]
        self.assertIn("/translate", paths)
        status, headers, page = self.server.request("GET", "/")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        for line in page.decode().split('"'):
            if line.startswith("/page."):
                self.assertEqual(self.server.request("GET", line)[0], 200)
        status, headers, content = self.server.request("OPTIONS", "/translate")
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, "*"))
        self.assertEqual(self.server.request("HEAD", "/health")[::2], (200, b""))


    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_commands_of_the_guide(self):
        with open(README) as file:
            blocks = re.findall(r"```sh\n(.*?)```", file.read(), re.DOTALL)
        lines = "".join(blocks).replace("\\\n", "").splitlines()
        commands = [line for line in lines if line.startswith("curl")]
        self.assertEqual(len(commands), 4)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "notes.html"), "w") as file:
                file.write("<p>Open the file.</p>")
            for command in commands:
                command = command.replace("localhost:5000", f"127.0.0.1:{self.server.port}")
                done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=60)
                self.assertNotIn("error", json.loads(done.stdout), command)


class Operation(unittest.TestCase):
    def start(self, *options, models=None):
        server = Server(*options, models=models)
        self.addCleanup(server.process.kill)  # if the test fails
        return server

    def test_limits(self):
        with tempfile.TemporaryDirectory() as folder:
            keys, suggestions = os.path.join(folder, "keys"), os.path.join(folder, "suggestions")
            with open(keys, "w") as file:
                file.write("# comment\nfirst\nsecond 1000\n")
            server = self.start("--api-keys", keys, "--require-key", "--requests-per-minute", "6", "--char-limit", "30",
                                "--batch-limit", "2", "--suggestions", suggestions)
            self.assertEqual(server.translate()[0], 400)
            self.assertEqual(server.translate(api_key="wrong")[0], 403)
            self.assertEqual(server.translate(api_key="second")[0], 200)
            self.assertIn("exceeds text limit (30)", server.translate("a" * 31, api_key="second")[1]["error"])
            self.assertIn("exceeds text limit (2)", server.translate(["a"] * 3, api_key="second")[1]["error"])
            self.assertEqual(server.translate(["Open."] * 2, api_key="first")[0], 200)
            self.assertEqual([server.translate(api_key="first")[0] for _ in range(5)], [200] * 4 + [429])
            self.assertIn("Slowdown", server.translate(api_key="first")[1]["error"])
            self.assertEqual(server.translate(api_key="second")[0], 200)
            suggestion = {"q": TEXT, "s": "Ja", "source": "en", "target": "de"}
            self.assertEqual(server.form("/suggest", api_key="second", **suggestion)[1], {"success": True})
            with open(suggestions, "r+") as file:
                self.assertEqual(json.loads(file.read()), suggestion)
                file.write('{"q":"the disk was fu')
            self.assertEqual(server.form("/suggest", api_key="second", **suggestion)[0], 200)
            with open(suggestions) as file:
                self.assertEqual(json.loads(file.read().splitlines()[2]), suggestion)
            self.assertEqual(server.stop(), 0)

    def test_full_disk(self):
        server = self.start("--suggestions", "/dev/full")
        status, reply = server.form("/suggest", q=TEXT, s="Ja", source="en", target="de")
        self.assertEqual((status, reply["error"]), (500, "the suggestion could not be stored"))
        self.assertEqual(server.stop(), 0)

    def test_slow_and_full(self):
        server = self.start("--timeout", "1", "--translation-timeout", "1", "--engine.max_requests", "4")
        begin = time.time()
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            try:
                for _ in range(100):
                    client.sendall(b"G")
                    time.sleep(0.1)
            except ConnectionError:
                pass
        self.assertLess(time.time() - begin, 5)
        status, reply = server.translate("We want to save the changes to this document. " * 5000, beam=8)
        self.assertEqual((status, reply["error"]), (503, "the translation took too long; send a shorter text"))
        statuses = []
        ask = lambda: statuses.append(server.translate("We want to save it. " * 8, beam=8)[0])
        threads = [threading.Thread(daemon=True, target=ask) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIn(503, statuses)
        self.assertEqual(set(statuses) - {200, 503}, set())
        wait_until(self, lambda: server.translate()[0] == 200)  # usable again
        self.assertEqual(server.stop(), 0)

    def test_models_are_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(MODEL, os.path.join(folder, "en-de.xf"))
            server = self.start(models=[folder])
            failed, stopped = [], threading.Event()

            def ask():
                while not stopped.is_set():
                    if server.translate()[0] != 200:
                        failed.append(server.lines[-1])

            threads = [threading.Thread(daemon=True, target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            before = server.translate()[1]
            save_other_model(os.path.join(folder, "new.part"))
            os.replace(os.path.join(folder, "new.part"), os.path.join(folder, "en-de.xf"))
            shutil.copy(MODEL, os.path.join(folder, "de-en.xf"))
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("replaced the model en-de")
            server.wait_for("loaded the model de-en")
            self.assertNotEqual(server.translate()[1], before)
            targets = [one["targets"] for one in server.json("GET", "/languages")[1]]
            self.assertEqual(targets, [["en"], ["de"]])
            with open(os.path.join(folder, "de-en.xf"), "w") as file:
                file.write("not a model")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("the model de-en was not replaced")
            self.assertEqual(server.translate(source="de", target="en")[0], 200)
            os.remove(os.path.join(folder, "de-en.xf"))
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("removed the model de-en")
            self.assertEqual(server.translate(source="de", target="en")[0], 400)
            stopped.set()
            for thread in threads:
                thread.join()
            self.assertEqual(failed, [])
            self.assertEqual(server.stop(), 0)

    def test_accepted_requests_are_answered(self):
        server = self.start()
        results = []
        ask = lambda i: results.append(server.translate(f"Please open the files in folder {i}. " * 20)[0])
        threads = [threading.Thread(daemon=True, target=ask, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        wait_until(self, lambda: server.metric("serve_requests_active") - 1 + len(results) >= 24)
        idle = socket.create_connection(("127.0.0.1", server.port))
        status = server.stop()
        for thread in threads:
            thread.join()
        idle.close()
        self.assertEqual((status, results), (0, [200] * 24))

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = os.path.join(folder, "certificate"), os.path.join(folder, "key")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
                            "-days", "1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
            server = self.start("--tls-certificate", certificate, "--tls-key", key)
            context = ssl.create_default_context(cafile=certificate)
            context.check_hostname = False
            client = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
            body = {"q": TEXT, "source": "en", "target": "de", "stream": True}
            content = server.request("POST", "/translate", body, connection=client)[2]
            self.assertIn("Datei", events_of(content)[-1][1]["translatedText"])
            client.close()
            self.assertEqual(server.stop(), 0)

    def test_command_line(self):
        def run(*arguments):
            return subprocess.run([PROGRAM] + list(arguments), capture_output=True, text=True, timeout=60)

        for arguments, text in (((), "--model is missing"), (("--model", "en-de=/nothing.xf"), "/nothing.xf"),
                                (("--model", "a=" + MODEL), "expected a pair of languages"),
                                (("--model", "en-de=" + MODEL, "--address", "here"), "not an IPv4 or IPv6 address"),
                                (("--model", "en-de=" + MODEL, "--tls-certificate", "/none", "--tls-key", README),
                                 "cannot read /none"),
                                (("--model", "en-de=" + MODEL, "--tls-key", README), "TLS needs both"),
                                (("--model", "en-de=" + MODEL, "--tls-certificate", README, "--tls-key", README),
                                 "the certificate or the key is invalid"),
                                (("--model", "en-de=" + MODEL, "--require-key"), "--require-key needs --api-keys"),
                                (("--modl", "x"), "--model")):
            done = run(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
        self.assertIn("--requests-per-minute", run("--help").stdout)
        server = self.start()
        again = run("--model", "en-de=" + MODEL, "--port", str(server.port))
        self.assertIn("another program uses it", again.stderr)
        self.assertEqual(server.stop(signal.SIGINT), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
