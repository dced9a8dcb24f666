"""A server with the interface of examples/serve and a toy translation, to test and develop its page.

    mock.py FOLDER [PORT]     serves the page in FOLDER; prints its URL

A text is translated word by word with a small dictionary. Each word is aligned with the word in the same position;
words of more than 8 letters have two aligned tokens. Only the Python standard library is used.

SPDX-License-Identifier: Apache-2.0
"""
import email.parser
import email.policy
import http.server
import json
import os
import re
import sys
import threading
import time

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
FILES = {"/": ("index.html", "text/html; charset=utf-8"), "/page.js": ("page.js", "text/javascript; charset=utf-8"),
         "/page.css": ("page.css", "text/css; charset=utf-8")}
NAMES = {"en": "English", "de": "German", "ar": "Arabic"}
# English; German and its alternatives; Arabic.
WORDS = [line.split("|") for line in """the|das der die|ال
a|ein eine|أ
house|Haus Gebäude Heim Zuhause|بيت
is|ist liegt bleibt wird|هو
small|klein gering winzig|صغير
old|alt betagt|قديم
and|und sowie|و
river|Fluss Strom|نهر
near|nahe neben|قرب
garden|Garten Park|حديقة
has|hat besitzt enthält|لديه
trees|Bäume Gehölze|أشجار
we|wir|نحن
live|leben wohnen|نعيش
in|in im|في
it|es ihm|ذلك
good|gut brav schön|جيد
morning|Morgen Vormittag|صباح
neighbourhood|Nachbarschaft Umgebung|حي
water|Wasser Gewässer|ماء
since|seit weil|منذ
many|viele zahlreiche|كثير
years|Jahre Jahren|سنوات""".splitlines()]


def table(source, target):
    """The dictionary of a language pair: {word: [translations]}."""
    column = {"en": 0, "de": 1, "ar": 2}
    return {word.lower(): row[column[target]].split() for row in WORDS for word in row[column[source]].split()[:1]}


def detect(text):
    """The language of a text and the confidence."""
    if re.search("[\u0600-\u06ff]", text):
        return "ar", 98.0
    words = set(re.findall(r"\w+", text.lower()))
    return ("de", 90.0) if words & {"das", "haus", "ist", "und", "der", "ein"} else ("en", 92.0)


def sentences(text):
    """The ranges of the sentences of a text."""
    return [found.span() for found in re.finditer(r"[^\s.!?][^.!?\n]*[.!?]*", text)]


def translate_word(word, words, choice=0):
    """A word with its punctuation, in another language."""
    core = re.sub(r"^\W+|\W+$", "", word)
    found = words.get(core.lower(), [core[::-1].lower() or core])
    result = found[choice] if choice < len(found) else found[0] + "aeiou"[choice % 5]
    return word.replace(core, result.capitalize() if core[:1].isupper() else result) if core else word


def translate_sentence(text, words, prefix=None, choice=0):
    """The words of a translation and the ranges of the source words."""
    ranges = [found.span() for found in re.finditer(r"\S+", text)]
    result = [translate_word(text[begin:end], words) for begin, end in ranges]
    if prefix is not None:
        begun = prefix.split()
        result[:len(begun)] = begun
        if choice and len(begun) < len(ranges):
            result[len(begun)] = translate_word(text[slice(*ranges[len(begun)])], words, choice)
    return result, ranges


def align(result, ranges, source_begin, target_begin):
    """The entry of one sentence in `alignment`."""
    spans, at = [], target_begin
    for word, (begin, end) in zip(result, ranges):
        cut = len(word) // 2 if len(word) > 8 else len(word)
        for first, last in ((0, cut), (cut, len(word))):
            if first < last:
                spans.append([source_begin + begin, source_begin + end, at + first, at + last])
        at += len(word) + 1
    return spans


class Mock(http.server.ThreadingHTTPServer):
    """The server. A test may change the attributes at any time."""
    daemon_threads = True

    def __init__(self, folder, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.folder = folder
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.delay = 0.004            # seconds per word
        self.fault = None             # (status, message, headers): the response to each POST
        self.sources = list(NAMES)    # languages that have targets
        self.settings = {}            # replaces values of /frontend/settings
        self.bodies, self.cancelled, self.documents = [], 0, {}

    def handle_error(self, request, client_address):
        """A client that disconnects is expected."""

    def start(self):
        """Serves in a thread."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    def log_message(self, *_):
        pass

    def reply(self, body, kind="application/json", status=200, headers=()):
        """Sends a response."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", len(data)), ("Content-Security-Policy", POLICY),
                            ("Cache-Control", "no-store"), *headers):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        """Files, settings, languages, downloads."""
        path = self.path.split("?")[0]
        if path in FILES:
            name, kind = FILES[path]
            with open(os.path.join(self.server.folder, name), "rb") as file:
                self.reply(file.read(), kind)
        elif path == "/languages":
            self.reply([{"code": code, "name": name, "targets": list(NAMES) if code in self.server.sources else []}
                        for code, name in NAMES.items()])
        elif path == "/frontend/settings":
            self.reply({"apiKeys": False, "charLimit": 5000, "frontendTimeout": 300, "keyRequired": False,
                        "language": {"source": {"code": "auto", "name": "Auto Detect"},
                                     "target": {"code": "de", "name": "German"}}, "suggestions": False,
                        "supportedFilesFormat": [".txt", ".html", ".srt", ".vtt"], "filesTranslation": True,
                        **self.server.settings})
        elif path in self.server.documents:
            self.reply(self.server.documents[path], "application/octet-stream")
        else:
            self.reply({"error": "Not found"}, status=404)

    def do_POST(self):
        """Translations."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.fault:
            status, message, headers = self.server.fault
            self.reply({"error": message}, status=status, headers=headers)
        elif self.path == "/translate":
            self.translate(json.loads(body))
        elif self.path == "/translate_file":
            self.translate_file(body)
        else:
            self.reply({"error": "Not found"}, status=404)

    def translate(self, body):
        """Translates one text; sends events if the client accepts them."""
        self.server.bodies.append(body)
        text, result = body["q"], {}
        source = body["source"]
        if source == "auto":
            source, confidence = detect(text)
            result["detectedLanguage"] = {"language": source, "confidence": confidence}
        words = table(source, body["target"])
        streamed = "text/event-stream" in self.headers.get("Accept", "")
        if streamed:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
        done, at, alignment, ranges = "", 0, [], sentences(text)
        try:
            for number, (begin, end) in enumerate(ranges):
                done += text[at:begin]
                at = end
                translated, spans = translate_sentence(text[begin:end], words, body.get("prefix"))
                start = len(done)
                for index, word in enumerate(translated):
                    done += word + (" " if index < len(translated) - 1 else "")
                    time.sleep(self.server.delay)
                    if streamed:
                        self.event("partial", {"index": 0, "translatedText": done})
                alignment.append({"source": [begin, end], "target": [start, len(done)],
                                  "words": align(translated, spans, begin, start)})
                if streamed:
                    self.event("progress", {"done": number + 1, "total": len(ranges)})
            result["translatedText"] = done + text[at:]
            if body.get("alignment"):
                result["alignment"] = alignment
            if body.get("alternatives"):
                result["alternatives"] = [
                    " ".join(translate_sentence(text, words, body.get("prefix", ""), choice)[0])
                    for choice in range(1, body["alternatives"] + 1)]
            if streamed:
                self.event("result", result)
            else:
                self.reply(result)
        except OSError:
            self.server.cancelled += 1

    def event(self, name, data):
        """Sends one event."""
        self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())

    def translate_file(self, body):
        """Translates a text file."""
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts = {part.get_param("name", header="content-disposition"): part
                 for part in email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body).iter_parts()}
        words = table("en", parts["target"].get_content().strip())
        text = parts["file"].get_payload(decode=True).decode()
        name = f"/download_file/{len(self.server.documents)}_{parts['file'].get_filename()}"
        time.sleep(50 * self.server.delay)
        self.server.documents[name] = "\n".join(
            " ".join(translate_sentence(line, words)[0]) for line in text.splitlines()).encode()
        self.reply({"translatedFileUrl": f"http://{self.headers['Host']}{name}"})


if __name__ == "__main__":
    SERVER = Mock(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(SERVER.url, flush=True)
    SERVER.serve_forever()
