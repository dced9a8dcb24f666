"""Malformed, huge, and split requests for attack.py, which limits the time of a translation to 30 s, and that of
a request to 10 s.

SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import json
import time

from client import HOST, Connection

ONLY = ""  # a part of the names of the requests that are sent
JSON, FORM, LIMIT = "application/json", "application/x-www-form-urlencoded", 60
MULTIPART = "multipart/form-data; boundary=AaB03x"


def post(path, body, content_type=JSON, length=None, *headers):
    body = body if isinstance(body, bytes) else body.encode()
    lines = [f"POST {path} HTTP/1.1", f"Host: {HOST}", f"Content-Type: {content_type}",
             f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def translate(q, **more):
    return post("/translate", json.dumps({"q": q, "source": "en", "target": "de", **more}))


def raw(q):
    """A request whose q is JSON text that json.dumps() does not write."""
    q = q if isinstance(q, bytes) else q.encode()
    return post("/translate", b'{"source": "en", "target": "de", "q": ' + q + b"}")


def get(path, *headers, method="GET", version="HTTP/1.1"):
    path = path if isinstance(path, bytes) else path.encode()
    lines = "\r\n".join([f" {version}", f"Host: {HOST}", *headers, "", ""]).encode()
    return method.encode() + b" " + path + lines


def part(name, value, file=""):
    value = value if isinstance(value, bytes) else value.encode()
    return (f'--AaB03x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n').encode() + value + b"\r\n"


def upload(name, content, source="en", end=b"--AaB03x--\r\n"):
    return post("/translate_file", part("source", source) + part("target", "de")
                + part("file", content, f'; filename="{name}"') + end, MULTIPART)


def chunked(*chunks):
    return (f"POST /translate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
            .encode() + b"".join(chunks))


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


GOOD = json.dumps({"q": "Hello", "source": "en", "target": "de"}).encode()
MB = 1 << 20
# Name, request, and the statuses that are allowed: 2: 200 to 299, 4: 400 to 499, 5: 501 and 505 (a method or version
# that is not supported), 0: the connection is closed without a reply, t: 503, because the translation took too long.
CASES = [
    # Size
    ("10 MB of JSON, q is one word", lambda: raw('"' + "a" * (10 * MB - 100) + '"'), "24t"),
    ("10 MB of JSON, invalid", lambda: post("/translate", "x" * (10 * MB)), "4"),
    ("11 MB of JSON", lambda: raw('"' + "a" * 11 * MB + '"'), "4"),
    ("100 MB announced", lambda: post("/translate", GOOD, JSON, 100 * MB), "4"),
    ("10 MB of a form", lambda: post("/translate", "source=en&target=de&q=" + "%20" * (3 * MB), FORM), "24t"),
    ("10 MB of form fields", lambda: post("/translate", "a=&" * (3 * MB), FORM), "4"),
    ("9 MB of a text file", lambda: upload("a.txt", b"a\n" * (9 * MB // 2)), "24t"),
    ("100,000 texts", lambda: translate([""] * 100000), "24t"),
    ("100,000 empty lines", lambda: translate("\n" * 100000), "24t"),
    ("1 MB without a space", lambda: translate("x" * MB), "24t"),
    ("500 kB of combining characters", lambda: translate("a" + "\u0301" * 250000), "24t"),
    ("500 kB of emoji sequences", lambda: translate("\U0001f469\u200d" * 70000), "24t"),
    ("200 kB of periods", lambda: translate("." * 200000), "24t"),
    ("100 kB in one header", lambda: get("/health", "X: " + "a" * 100000), "04"),
    ("10,000 headers", lambda: get("/health", *(f"X{i}: a" for i in range(10000))), "04"),
    ("a path of 100 kB", lambda: get("/" + "a" * 100000), "04"),
    ("100,000 parameters", lambda: get("/languages?" + "a=b&" * 100000), "04"),
    # Text
    ("invalid UTF-8 in JSON", lambda: raw(b'"caf\xe9 \xff\xfe"'), "4"),
    ("an overlong character", lambda: raw(b'"\xc0\xaf"'), "4"),
    ("a surrogate in UTF-8", lambda: raw(b'"\xed\xa0\x80"'), "4"),
    ("invalid UTF-8 in a form", lambda: post("/translate", "q=%ff%fe&source=en&target=de", FORM), "4"),
    ("invalid UTF-8 in a file", lambda: upload("a.txt", b"\xff\xfe\x00text"), "4"),
    ("invalid UTF-8 in a file name", lambda: upload("a.txt\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
                                                     "text"), "24"),
    ("invalid UTF-8 in a language", lambda: post("/translate", "q=a&source=%ff&target=de", FORM), "4"),
    ("invalid UTF-8 in the path", lambda: get(b"/\xff\xfe"), "04"),
    ("invalid UTF-8 in a header", lambda: get("/health", "Accept-Language: \xff"), "024"),
    ("half a surrogate pair", lambda: raw(r'"\ud800"'), "4"),
    ("NUL in JSON", lambda: raw(r'"a\u0000b"'), "24"),
    ("NUL in a form", lambda: post("/translate", "q=a%00b&source=en&target=de%00", FORM), "4"),
    ("control characters", lambda: translate("".join(map(chr, range(1, 32))) + "\x7f\x80\u2028\ufeff"), "2"),
    ("only white space", lambda: translate(" \t\u3000\u00a0 "), "2"),
    # JSON
    ("100,000 nested arrays", lambda: raw("[" * 100000 + "]" * 100000), "4"),
    ("5 MB of [", lambda: post("/translate", "[" * 5 * MB), "4"),
    ("100,000 nested objects", lambda: raw('{"a":' * 100000 + "1" + "}" * 100000), "4"),
    ("JSON that is not an object", lambda: post("/translate", "[1]"), "4"),
    ("q is a number", lambda: translate(5), "4"),
    ("q contains an array", lambda: translate([["a"], "b"]), "4"),
    ("q is null", lambda: translate(None), "4"),
    ("q is an empty array", lambda: translate([]), "24"),
    ("a number of 100,000 digits", lambda: post("/translate", GOOD[:-1] + b', "beam": ' + b"9" * 100000 + b"}"), "4"),
    ("beam 1e999", lambda: post("/translate", GOOD[:-1] + b', "beam": 1e999}'), "4"),
    ("beam -1", lambda: translate("Hello", beam=-1), "4"),
    ("beam 9", lambda: translate("Hello", beam=9), "4"),
    ("beam 1.5", lambda: translate("Hello", beam=1.5), "4"),
    ("alternatives 2^31", lambda: translate("Hello", alternatives=2**31), "4"),
    ("alternatives is an object", lambda: translate("Hello", alternatives={}), "4"),
    ("stream is a text", lambda: translate("Hello", stream="maybe"), "24"),
    ("a prefix of 100,000 words", lambda: translate("Hello", prefix="Haus " * 100000), "24t"),
    ("a prefix with several texts", lambda: translate(["Hello", "You"], prefix="Sie"), "4"),
    ("a duplicate field", lambda: post("/translate", GOOD[:-1] + b', "q": ["a"], "q": {}}'), "24"),
    ("trailing bytes", lambda: post("/translate", GOOD + b"]"), "4"),
    ("an unknown format", lambda: translate("Hello", format="pdf"), "4"),
    ("an unknown language", lambda: post("/translate", '{"q": "a", "source": "en", "target": "../de"}'), "4"),
    ("an unknown content type", lambda: post("/translate", GOOD, "text/plain"), "4"),
    # Documents
    ("100,000 nested <div>", lambda: translate("<div>" * 100000 + "a" + "</div>" * 100000, format="html"), "24t"),
    ("200,000 unclosed <b>", lambda: translate("<b>a" * 200000, format="html"), "24t"),
    ("1 MB of <", lambda: translate("<" * MB, format="html"), "24t"),
    ("1 MB of &", lambda: translate("&" * MB, format="html"), "24t"),
    ("1 MB of <!--", lambda: translate("<!--" * (MB // 4), format="html"), "24t"),
    ("an attribute of 1 MB", lambda: translate('<a title="' + "a" * MB, format="html"), "24t"),
    ("50,000 entities", lambda: translate("&#x110000;&#0;&lt;&unknown;" * 12500, format="html"), "24t"),
    ("<script> without an end", lambda: translate("<script>" + "</scrip" * 100000, format="html"), "24t"),
    ("tags that overlap", lambda: translate("<b>Save <i>the</b> file</i></p></td>.", format="html"), "2"),
    ("subtitles without texts", lambda: upload("a.srt", "1\n00:00 --> x\n\n" * 10000), "24t"),
    ("subtitles with a number of 1 MB", lambda: upload("a.srt", "9" * MB), "24t"),
    ("WebVTT, one line of 1 MB", lambda: upload("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<c>" * (MB // 3)),
     "24t"),
    ("a file with an unknown extension", lambda: upload("a.exe", "MZ"), "4"),
    ("a file name of 100 kB", lambda: upload("a" * 100000 + ".txt", "Hello"), "24t"),
    ("a file name with a path", lambda: upload("../../etc/passwd.txt", "Hello"), "24t"),
    ("an empty file", lambda: upload("a.txt", ""), "24t"),
    # Paths
    ("a download of /etc/passwd", lambda: get("/download_file/../../../../etc/passwd"), "4"),
    ("the same, encoded", lambda: get("/download_file/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd"), "4"),
    ("NUL in the path", lambda: get("/health%00/a"), "024"),
    ("a broken percent sign", lambda: get("/%zz%"), "4"),
    # HTTP
    *((f"method {m}", lambda m=m: get("/translate", "Content-Length: 0", method=m), "0245")
      for m in ("GET", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "CONNECT", "HEAD", "SPAM", "a" * 5000)),
    ("HTTP/0.9", lambda: b"GET /health\r\n", "024"),
    ("HTTP/1.0", lambda: get("/health", version="HTTP/1.0"), "2"),
    ("HTTP/9.9", lambda: get("/health", version="HTTP/9.9"), "045"),
    ("no Host", lambda: b"GET /health HTTP/1.1\r\n\r\n", "4"),
    ("line feeds only", lambda: b"GET /health HTTP/1.1\nHost: a\n\n", "024"),
    ("a header without a colon", lambda: get("/health", "no colon"), "024"),
    ("a header with a space before the colon", lambda: get("/health", "Content-Length : 5"), "04"),
    ("NUL in a header", lambda: get("/health", "X: a\0b"), "04"),
    ("a TLS greeting", lambda: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)), "04"),
    ("random bytes", lambda: bytes(i * 7919 % 256 for i in range(100000)) + b"\r\n\r\n", "04"),
    ("two different Content-Length", lambda: post("/translate", GOOD, JSON, len(GOOD), "Content-Length: 3"), "04"),
    ("Content-Length -1", lambda: post("/translate", GOOD, JSON, -1), "04"),
    ("Content-Length 2^64", lambda: post("/translate", GOOD, JSON, 2**64), "04"),
    ("Content-Length 0x10", lambda: post("/translate", GOOD, JSON, "0x10"), "04"),
    ("Content-Length and chunks", lambda: post("/translate", chunk(GOOD) + b"0\r\n\r\n", JSON, 5,
                                               "Transfer-Encoding: chunked"), "024"),
    ("an unknown Transfer-Encoding", lambda: post("/translate", GOOD, JSON, len(GOOD), "Transfer-Encoding: gzip"),
     "045"),
    ("chunks", lambda: chunked(chunk(GOOD[:5]), chunk(GOOD[5:]), b"0\r\n\r\n"), "2"),
    ("chunks with extensions", lambda: chunked(b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)), "24"),
    ("a chunk of 2^64 - 1", lambda: chunked(b"ffffffffffffffff\r\n", GOOD), "04"),
    ("a chunk of 2^64 + 1", lambda: chunked(b"10000000000000001\r\n", GOOD), "04"),
    ("an invalid chunk size", lambda: chunked(b"zz\r\n", GOOD), "04"),
    ("a chunk that is too long", lambda: chunked(b"2\r\n", GOOD, b"\r\n0\r\n\r\n"), "04"),
    ("11 MB in chunks", lambda: chunked(*[chunk(b"a" * 65536)] * 176, b"0\r\n\r\n"), "4"),
    ("1 MB in chunks of one byte", lambda: chunked(b'1\r\n{\r\n', b"1\r\n \r\n" * MB, b"0\r\n\r\n"), "4"),
    ("multipart without a boundary", lambda: post("/translate", "--x\r\n", "multipart/form-data"), "4"),
    ("multipart without an end", lambda: upload("a.txt", "Hello", end=b""), "4"),
    ("10,000 parts", lambda: post("/translate", part("a", "b") * 10000 + b"--AaB03x--\r\n", MULTIPART), "4"),
    ("a part with a header of 1 MB", lambda: post("/translate", part("a" * MB, "b") + b"--AaB03x--\r\n", MULTIPART),
     "4"),
    ("Expect: 100-continue", lambda: post("/translate", GOOD, JSON, None, "Expect: 100-continue"), "2"),
]


async def reply_of(port, data, split=False):
    """(status or 0, body) of a request."""
    connection = Connection(port)

    async def send():
        try:
            for piece in [data[i:i + 1] for i in range(len(data))] if split else [data]:
                connection.writer.write(piece)
                await connection.writer.drain()
                await asyncio.sleep(0.001 if split else 0)
        except OSError:
            pass  # a reply may have been sent

    sender = None
    try:
        await connection.open()
        sender = asyncio.create_task(send())
        status, _, body = await asyncio.wait_for(connection.response(data[:4].decode("latin-1")), LIMIT)
        return status, body
    except TimeoutError:
        return "none", b""
    except (OSError, EOFError):
        return 0, b""
    finally:
        if sender:
            sender.cancel()
        connection.close()


async def run(server, texts, _):
    from attack import Table
    table = Table("Hostile requests", "request", "allowed", "status", "seconds", "reply", "peak MB")

    async def check(name, data, allowed, split=False, expected=None):
        began = time.monotonic()
        status, body = await reply_of(server.port, data, split)
        seconds = time.monotonic() - began
        served = server.alive() and (await reply_of(server.port, get("/health")))[0] == 200
        kind = "t" if status == 503 else "-" if status == 500 else str(status)[0]
        good = served and kind in allowed and b"root:" not in body and expected in (None, body)
        table.row(good, name, allowed, status, seconds, body[:60].decode("utf-8", "replace").replace("\n", " "),
                  server.status("VmHWM") / 1e6 if server.alive() else "the server ended")

    for name, make, allowed in CASES:
        if ONLY in name and server.alive():
            await check(name[:60], make(), allowed)
    _, expected = await reply_of(server.port, post("/translate", GOOD))
    parts = part("q", "Hello") + part("source", "en") + part("target", "de") + b"--AaB03x--\r\n"
    for name, data in (("JSON in single bytes", post("/translate", GOOD)),
                       ("chunks in single bytes", chunked(chunk(GOOD[:9]), chunk(GOOD[9:]), b"0\r\n\r\n")),
                       ("a form in single bytes", post("/translate", "q=Hello&source=en&target=de", FORM)),
                       ("multipart in single bytes", post("/translate", parts, MULTIPART))):
        if ONLY in name:
            await check(name, data, "2", True, expected)
    if ONLY in "100 requests in one write":
        connection = await Connection(server.port).open()
        connection.writer.write(post("/translate", GOOD) * 100)
        replies = [await asyncio.wait_for(connection.response(), LIMIT) for _ in range(100)]
        connection.close()
        good = all(status == 200 and body == expected for status, _, body in replies)
        table.row(good, "100 requests in one write", "2", 200, 0.0, "", server.status("VmHWM") / 1e6)
    return table.failed
