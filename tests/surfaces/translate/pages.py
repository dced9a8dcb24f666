"""Checks the data in the pages that pages.sh made: shapes, sums, escapes, the policy's hashes, the size.

    pages.py HOSTILE_TEXT

SPDX-License-Identifier: Apache-2.0
"""
import base64
import hashlib
import html.parser
import json
import math
import re
import sys

LAYERS, HEADS, SENTENCES = 2, 4, 3
failed = checks = 0


def holds(what, good):
    """Counts a condition, and prints it when it is false."""
    global failed, checks
    checks += 1
    if not good:
        failed += 1
        print("FAILED:", what)


class Page(html.parser.HTMLParser):
    """The elements of a page, with the text of its scripts and styles."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.attributes, self.text, self.inside = [], [], {}, None
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.feed(self.source)
        self.close()
        self.data = json.loads(self.text["data"])

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("script", "style"):
            self.inside = dict(attrs).get("id", tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.text[self.inside] = self.text.get(self.inside, "") + data


def check_page(name):
    """Checks properties of every page."""
    page = Page(name)
    policy = next(value for tag, attribute, value in page.attributes
                  if tag == "meta" and attribute == "content" and value.startswith("default-src"))
    holds(f"{name}: the policy forbids all that is not listed", policy.startswith("default-src 'none';"))
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.text[kind].encode()).digest()).decode()
        holds(f"{name}: the policy has the hash of its {kind}", f"{kind}-src 'sha256-{digest}'" in policy)
    holds(f"{name}: one style, one script and one block of data",
          page.tags.count("style") == 1 and page.tags.count("script") == 2)
    holds(f"{name}: no handler or address in an attribute",
          not [one for one in page.attributes if one[1].startswith("on") or one[1] in ("src", "href", "style")])
    holds(f"{name}: nothing is fetched",
          not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", page.source))
    holds(f"{name}: the data has no letter of markup", not re.search("[<>&]", page.text["data"]))
    return page


def check_weights(name, one):
    """One sentence's weights."""
    source, target = len(one["source"]), len(one["target"])
    holds(f"{name}: both sides end with the end symbol", one["source"][-1] == one["target"][-1] == "</s>")
    for kind, queries, keys in (("encoder", source, source), ("decoder", target, None), ("cross", target, source)):
        layers = one[kind]
        holds(f"{name} {kind}: {LAYERS} layers of {HEADS} heads",
              len(layers) == LAYERS and all(len(layer) == HEADS for layer in layers))
        for layer in layers:
            for head in layer:
                holds(f"{name} {kind}: {queries} queries", len(head) == queries)
                for at, row in enumerate(head):
                    wanted = keys if keys is not None else at + 1
                    if len(row) != wanted or min(row) < 0 or abs(sum(row) - 1000) > 0.5 * len(row) + 1e-9:
                        holds(f"{name} {kind} row {at}: {len(row)} weights of sum {sum(row)}", False)


def check_attention(hostile):
    """The pages of attention weights."""
    page = check_page("attention.html")
    data = page.data
    holds("the page names the model", data["model"] == "m.xf")
    holds("heads", data["heads"] == HEADS)
    holds("the start symbol", data["start"] == ["<s>"])
    holds("the lines that have an answer", len(data["sentences"]) == SENTENCES)
    holds("lines are unchanged", data["sentences"][0]["text"] == hostile
          and data["sentences"][1]["text"] == "Choose File." and data["sentences"][2]["text"] == "Add the file.")
    for at, one in enumerate(data["sentences"]):
        check_weights(f"sentence {at}", one)
    with open("plain.txt", encoding="utf-8") as file:
        answers = [line.rstrip("\n") for line in file]
    holds("answers are those that were printed",
          [one["answer"] for one in data["sentences"]] == [answers[0], answers[2], answers[4]])
    pieces = data["sentences"][0]["source"]
    holds("some piece holds markup as it is", any("<" in piece and piece != "</s>" for piece in pieces))
    holds("a printable byte is shown as its character",
          not any(re.search("<0x([2-6].|7[0-9A-E])>", piece) for piece in pieces) and "<" in "".join(pieces[:-1]))
    text = "".join(chr(int(piece[3:5], 16)) if re.fullmatch("<0x[0-9A-F]{2}>", piece) else piece
                   for piece in pieces[:-1])
    holds("the pieces make the line", text.replace("\u2581", " ").strip() == hostile)
    holds("one sentence makes a page", len(check_page("one.html").data["sentences"]) == 1)
    weight = len(page.text["data"]) / sum(len(row) for one in data["sentences"]
                                          for kind in ("encoder", "decoder", "cross")
                                          for layer in one[kind] for head in layer for row in head)
    # Three digits and a comma: the 109,000 weights of 6 layers of 8 heads, 30 words a side, stay below a megabyte.
    holds(f"{weight:.2f} bytes a weight, expected at most 5", weight < 5)


def check_report():
    """The pages of training runs."""
    data = check_page("report.html").data
    whole = check_page("whole.html").data
    holds("the run is finished", data["state"] == "finished" and data["step"] == data["last_step"] == 30)
    holds("a row for each step, of both parts", [row[0] for row in data["steps"]] == list(range(1, 31)))
    holds("the losses are those of one run",
          [row[3:5] for row in data["steps"]] == [row[3:5] for row in whole["steps"]])
    holds("an evaluation each 10 steps", [row[0] for row in data["evaluations"]] == [10, 20, 30])
    holds("the same ones as in one run",
          [row[3:] for row in data["evaluations"]] == [row[3:] for row in whole["evaluations"]])
    holds("the time goes on", all(a[2] <= b[2] for a, b in zip(data["steps"], data["steps"][1:])))
    for _, _, _, loss, perplexity, bleu, kind in data["evaluations"]:
        holds(f"an evaluation: {loss}, {perplexity}, {bleu}, {kind}",
              0 < loss < 20 and 1 < perplexity < math.exp(20) and 0 <= bleu <= 100 and kind == "dev")
    for _, _, _, loss, rate, speed in data["steps"]:
        holds(f"a step: {loss}, {rate}, {speed}", 0 < loss < 20 and 0 < rate < 1 and speed > 0)
    settings = dict(data["settings"])
    holds("the settings", settings["data.batch_tokens"] == "800" and "model.d_model" in settings
          and "train.warmup_steps" in settings)
    bare = check_page("bare.html").data
    holds("a run without evaluations", bare["evaluations"] == [] and len(bare["steps"]) == 3)
    stopped = check_page("stopped.html").data
    holds("a run that was interrupted", stopped["state"] == "stopped" and stopped["step"] > 0)
    holds("its rows end with its last step",
          stopped["steps"][-1][0] == stopped["step"] and len(stopped["steps"]) <= 1000)


check_attention(sys.argv[1])
check_report()
print(f"{checks} checks of the data, {failed} failed")
sys.exit(1 if failed or checks < 100 else 0)
