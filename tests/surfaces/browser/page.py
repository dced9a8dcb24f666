"""The page of examples/browser in a headless Chromium: speed, translation, learning, damaged models, offline use.

    page.py FOLDER [PICTURES]

FOLDER is the result of examples/browser/assemble.mjs. With PICTURES, screenshots go there, to be looked at. Exit status
77 when there is no Chromium (Debian: apt install chromium).

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[1:1] = [os.path.join(HERE, "..", "translate"), os.path.join(ROOT, "examples", "browser")]
from browser import Browser, find_chromium  # noqa: E402
from serve import make_server               # noqa: E402

failed = checks = 0
TEXT = "The file was saved. Do you want to close the window?"
TRANSLATION = "Die Datei wurde gespeichert. Möchten Sie das Fenster schließen?"
PRINTER = "The printer is out of paper."
CORRECTION = "Der Drucker hat kein Papier mehr."
READY = "document.querySelector('#output .word') !== null && state.running === null"
TOOLS = f"{READY} && !byId('tools').classList.contains('stale') && byId('others').children.length > 1"
# Runs before the scripts of the page: the time of the first translation, and policy violations.
RECORD = """
  window.record = { violations: [], loaded: 0, first: 0, calls: [] };
  addEventListener("securitypolicyviolation", (event) => record.violations.push(event.violatedDirective));
  addEventListener("DOMContentLoaded", () => {
    new MutationObserver(() => { record.first ||= performance.now(); }).observe(
      document.getElementById("output"), { childList: true });
    const call = engine.call;
    engine.call("about").then(() => { record.loaded = performance.now(); });
    engine.call = function (name, values, options) {
      record.calls.push({ name, values, signal: options?.signal });
      return call.call(engine, name, values, options);
    };
  });
"""


class WorkerBrowser(Browser):
    """A browser that also notes the requests of the page's workers."""

    def __init__(self, program):
        self.workers = []
        super().__init__(program)
        self.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        self.send("Page.addScriptToEvaluateOnNewDocument", source=RECORD)

    def _note(self, message):
        if message.get("method") == "Target.attachedToTarget":
            page, self.session = self.session, message["params"]["sessionId"]
            self.workers.append(message["params"]["targetInfo"]["type"])
            for method in ("Network.enable", "Runtime.enable", "Runtime.runIfWaitingForDebugger"):
                self._post(method, {})
            self.session = page
        else:
            super()._note(message)

    def cpu_seconds(self):
        """CPU time of all processes of the browser so far: other programs on the machine hardly change it."""
        parents, times = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(pid)], times[int(pid)] = int(fields[1]), int(fields[11]) + int(fields[12])
        own = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in own} - own:
            own |= more
        return sum(times[pid] for pid in own if pid in times) / os.sysconf("SC_CLK_TCK")


class Site:
    """The folder on a local server that can be stopped and started."""

    def __init__(self, folder):
        self.folder, self.port = folder, 0
        self.start()

    def start(self):
        """Starts with the same port as before."""
        self.server = make_server(self.folder, self.port)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://localhost:{self.port}/"

    def stop(self):
        """Closes the port."""
        self.server.shutdown()
        self.server.server_close()


def holds(what, good):
    """Counts a condition, and prints it when it is false."""
    global failed, checks
    checks += 1
    if not good:
        failed += 1
        print("FAILED:", what, flush=True)


def equal(what, found, expected):
    """Counts a comparison."""
    holds(f"{what}: found {found!r}, expected {expected!r}", found == expected)


def until(browser, what, expression, seconds=120):
    """Waits for a condition in the page."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if browser.run(expression):
            return
        time.sleep(0.03)
    holds(f"{what}: {expression} was not true in {seconds} s", False)


def type_text(browser, text):
    """Types at the caret of the source text."""
    browser.run("source.focus()")
    browser.send("Input.insertText", text=text)


def enter(browser, text):
    """Replaces the source text and waits for the translation and the tools."""
    browser.run("source.value = ''; change()")
    type_text(browser, text)
    until(browser, "a translation", TOOLS)


def quiet(browser, what, site):
    """Checks that no other host was contacted and that there were no errors."""
    browser.settle()
    foreign = [one for one in browser.requests if not one.startswith((site.url, "data:", f"blob:{site.url}"))]
    equal(f"{what}: other hosts", foreign, [])
    equal(f"{what}: errors", browser.errors, [])
    equal(f"{what}: policy violations", browser.run("record.violations"), [])


def check_first(browser, site):
    """The first visit: speed, requests, service worker."""
    before = browser.cpu_seconds()
    browser.open(site.url)
    type_text(browser, "The file could not be found.")
    until(browser, "the first translation", "record.first > 0")
    used = browser.cpu_seconds() - before
    loaded, first = [seconds / 1000 for seconds in browser.run("[record.loaded, record.first]")]
    print(f"first translation: {first:.2f} s after the page was opened, {first - loaded:.2f} s after the model was loaded, "
          f"{used:.2f} s of CPU time of all processes")
    # The bar is 2 s. CPU time includes drawing the page, but not the waiting for other programs.
    holds("the first translation takes less than 4 s of CPU time", used < 4)
    until(browser, "a translation", TOOLS)
    equal("it is right", browser.run("output.textContent"), "Die Datei konnte nicht gefunden werden.")
    paths = {one.removeprefix(site.url) for one in browser.requests}
    holds(f"requests of the worker are seen: {browser.workers} {paths}",
          {"", "worker.js", "wasm.js", "xformer.wasm", "model.xf"} <= paths)
    until(browser, "the page is stored", "byId('offline').textContent.startsWith('Works without')")
    stored = browser.run("caches.open('xformer-page').then((one) => one.keys())"
                         ".then((keys) => keys.map((key) => key.url))")
    names = sorted(re.sub(r"\?[0-9a-f]{64}$", "", one).removeprefix(site.url) for one in stored)
    equal("stored files", names, sorted("" if one == "index.html" else one for one in os.listdir(site.folder)
                                        if one != "sw.js"))
    quiet(browser, "first visit", site)


def check_speed(browser):
    """Words per second of greedy search with int8 weights, on the one thread of the worker."""
    with open(os.path.join(ROOT, "examples", "translate", "data", "small.test.tsv"), encoding="utf-8") as file:
        text = "\n".join(line.split("\t")[0] for line in file.readlines()[:120])
    for number in range(3):
        before, start = browser.cpu_seconds(), time.monotonic()
        reply = browser.run(f"engine.call('translate', {json.dumps({'q': text, 'beam': 1})})")
        used, seconds = browser.cpu_seconds() - before, time.monotonic() - start
        words = len(reply["translatedText"].split())
        print(f"greedy, int8, pass {number + 1}: {words / seconds:.0f} words/s, {words / used:.0f} words/s of CPU time")
        equal("lines are kept", len(reply["translatedText"].split("\n")), 120)
        if number:  # The first pass also compiles.
            holds("the bar is 500 words/s", words / used > 400)


def check_typing(browser, site):
    """Streaming, cancellation, sentences, and line breaks."""
    browser.run("record.calls.length = 0; source.value = ''; change()")
    long = " ".join(f"Enter the name of the file number {number} and click the button." for number in range(40))
    type_text(browser, long)
    until(browser, "a partial translation", "output.textContent.length > 40")
    type_text(browser, " Open the file.")
    browser.settle()
    equal("typing ends the request", browser.run(
        "record.calls.filter((one) => one.name === 'translate').map((one) => one.signal.aborted)"), [True])
    holds("the old text remains meanwhile", browser.run("output.textContent.length > 40"))
    until(browser, "a translation", READY)
    equal("sentences", browser.run("[state.sentences.length, byId('sentence').options.length]"), [41, 41])
    # The page remains responsive while the worker computes.
    enter(browser, "First line.\n\n  The file was saved. Open the file.\n")
    result = browser.run("output.textContent")
    equal("line breaks and spaces are kept", re.findall(r"\n+ *", result), ["\n\n  ", "\n"])
    equal("sentences are aligned", browser.run("state.sentences.every((one) => one.words.length > 0)"), True)
    quiet(browser, "typing", site)


def check_words(browser, site):
    """Alignment, alternatives, other translations, attention."""
    enter(browser, TEXT)
    equal("the translation", browser.run("output.textContent"), TRANSLATION)
    browser.hover("#output .word:nth-of-type(2)")
    lit = "state.words.source.filter((one) => one.element.classList.length > 1).map((one) => one.element.textContent)"
    equal("Datei is aligned with file", browser.run(lit), ["file"])
    browser.hover("h1")
    browser.run("focusWord(state.words.target[7])")
    equal("and with the keyboard", browser.run(lit), ["window"])
    equal("the tools show its sentence", browser.run("byId('sentence').selectedIndex"), 1)
    browser.run("focusWord(state.words.target[2])")
    browser.key("Enter")
    until(browser, "alternatives", "options.children.length > 2")
    browser.key("ArrowDown")
    browser.key("Enter")
    until(browser, "the new text", TOOLS)
    changed = browser.run("output.textContent")
    holds(f"an alternative replaces the rest of the sentence: {changed}",
          changed.startswith("Die Datei ") and changed.endswith(TRANSLATION[28:]) and changed != TRANSLATION)
    until(browser, "the new alignment", "state.sentences[0].words.length > 2")
    until(browser, "the tools", "byId('sentence').selectedIndex === 0 && byId('correction').value === textOf('target')")
    others = browser.run("[...byId('others').querySelectorAll('span')].map((one) => one.textContent)")
    equal("other translations", (len(set(others)), others[0]), (4, TRANSLATION[:28]))
    browser.click("#others li:nth-child(1) button")
    until(browser, "it is used", f"output.textContent === {json.dumps(TRANSLATION)} && {TOOLS}")

    rows = "[...byId('heat').querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('td')]" \
           ".map((cell) => Number(cell.textContent)))"
    until(browser, "attention", f"{rows}.length === 6")
    weights = browser.run(rows)
    holds(f"rows are distributions: {weights}", all(abs(sum(row) - 100) <= 4 and len(row) == 6 for row in weights))
    browser.hover("#heat tbody tr:nth-child(2) td:nth-of-type(2)")
    equal("a cell is explained", browser.run("byId('attention-note').textContent"),
          f"“Datei” looks at “file” with {weights[1][1]} %.")
    for select in ("head", "layer"):
        browser.run(f"byId('{select}').selectedIndex = 1; byId('{select}').dispatchEvent(new Event('change'))")
        until(browser, f"another {select}", f"JSON.stringify({rows}) !== '{json.dumps(weights, separators=(',', ':'))}'")
        weights = browser.run(rows)
    browser.run("byId('head').selectedIndex = 0; byId('layer').selectedIndex = 2;"
                "byId('layer').dispatchEvent(new Event('change'))")
    quiet(browser, "words", site)


def check_bad_input(browser, site):
    """Texts and model files that no user should enter."""
    for text in ("\ud800 \0 \ufffe\u202e", "a" * 800, "😀" * 200, "字" * 300, "\n" * 500, "\u0301" * 99):
        browser.run(f"source.value = {json.dumps(text)}; change({{ now: true }})")
        until(browser, repr(text[:5]), "state.running === null")
        holds(f"{text[:5]!r} is no error", browser.run("byId('error').hidden"))
    node = browser.send("DOM.querySelector", nodeId=browser.send("DOM.getDocument")["root"]["nodeId"],
                        selector="#model-file")["nodeId"]
    with open(os.path.join(site.folder, "model.xf"), "rb") as file:
        model = file.read()
    folder = tempfile.mkdtemp()
    for name, content in (("short", model[:-1]), ("flipped", model[:5000000] + bytes([model[5000000] ^ 1]) +
                          model[5000001:]), ("empty", b""), ("text", b"not a model\n" * 1000)):
        path = os.path.join(folder, f"{name}.xf")
        with open(path, "wb") as file:
            file.write(content)
        browser.run("byId('model-error').hidden = true")
        browser.send("DOM.setFileInputFiles", files=[path], nodeId=node)
        until(browser, name, "!byId('model-error').hidden")
        message = browser.run("byId('model-error').textContent")
        print(f"damaged model '{name}': {message}")
        holds(f"a sentence: {message}", message.startswith(f"'{name}.xf'") and len(message) > 30)
    shutil.rmtree(folder)
    enter(browser, TEXT)
    equal("the earlier model remains", browser.run("output.textContent"), TRANSLATION)
    quiet(browser, "bad input", site)
    return node


def teach(browser):
    """Corrects the translation of a sentence."""
    enter(browser, PRINTER)
    browser.run("byId('correction').focus(); byId('correction').select()")
    browser.send("Input.insertText", text=CORRECTION)
    equal("a changed text can be learned", browser.run("byId('learn').disabled"), False)
    browser.key("Enter")


def check_learning(browser, site):
    """Learning, stopping, undo, keeping, download, opening the downloaded file."""
    enter(browser, PRINTER)
    old = browser.run("output.textContent")
    holds(f"the model does not know it: {old}", old != CORRECTION)
    equal("an unchanged text is not learned", browser.run("byId('learn').disabled"), True)
    teach(browser)
    until(browser, "a step", "byId('learn-status').textContent.startsWith('Step 2')")
    browser.click("#learn-stop")
    until(browser, "it stops", f"byId('learn-status').textContent.startsWith('Stopped') && {TOOLS}")
    equal("and changes nothing", browser.run("output.textContent"), old)

    teach(browser)
    until(browser, "progress", "byId('learn-status').textContent.startsWith('Step 3')")
    until(browser, "learned", f"byId('learn-status').textContent === 'Learned.' && {TOOLS}")
    equal("the page shows the correction", browser.run("output.textContent"), CORRECTION)
    before, after = browser.run("[...byId('compare').querySelectorAll('dd')].map((one) => one.textContent)")
    equal("before and after", (before, after), (old, CORRECTION))
    figures = browser.run("document.querySelector('#lesson figcaption').textContent")
    print("learning:", figures, "·", browser.run("byId('lesson-note').textContent"))
    first, last = map(float, re.match(r"Loss ([\d.]+) → ([\d.]+) in \d+ steps", figures).groups())
    holds("the loss falls", last < 0.3 * first)
    same, total = map(int, re.findall(r"\d+", browser.run("byId('lesson-note').textContent")))
    holds("other sentences are translated as before", same >= total - 2 and total >= 7)
    holds("the model is named", "with 1 correction" in browser.run("byId('model-about').textContent"))

    folder = tempfile.mkdtemp()
    browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
    browser.click("#model-save")
    deadline = time.monotonic() + 60
    while not os.path.exists(f"{folder}/en-de.xf") and time.monotonic() < deadline:
        browser.settle()
    size = os.path.getsize(f"{folder}/en-de.xf") if os.path.exists(f"{folder}/en-de.xf") else 0
    holds(f"a complete fp16 model: {size} bytes", abs(size - 14183392) < 65536)

    browser.click("#keep-model")
    until(browser, "it is kept", "tools.model.kept && !byId('keep-model').disabled")
    browser.open(site.url)
    until(browser, "the kept model", "tools.model !== null && state.ready")
    equal("it has its correction", browser.run("tools.model.learned"), [[PRINTER, CORRECTION]])
    enter(browser, PRINTER)
    equal("learning survives a reload", browser.run("output.textContent"), CORRECTION)

    browser.click("#model-restore")
    until(browser, "undo", f"tools.model.learned.length === 0 && {TOOLS}")
    equal("the original weights translate as before", browser.run("output.textContent"), old)
    browser.open(site.url)
    until(browser, "the model", "tools.model !== null && state.ready")
    equal("undo survives a reload", browser.run("[tools.model.kept, tools.model.learned.length]"), [False, 0])

    node = browser.send("DOM.querySelector", nodeId=browser.send("DOM.getDocument")["root"]["nodeId"],
                        selector="#model-file")["nodeId"]
    browser.send("DOM.setFileInputFiles", files=[f"{folder}/en-de.xf"], nodeId=node)
    until(browser, "the opened file", "tools.model.own")
    enter(browser, PRINTER)
    equal("the downloaded model knows the correction", browser.run("output.textContent"), CORRECTION)
    shutil.rmtree(folder)
    quiet(browser, "learning", site)


def check_controls(browser, site):
    """Names of the controls, and the way of the focus through the tools."""
    browser.open(site.url)
    until(browser, "the model", "tools.model !== null && state.ready")
    enter(browser, TEXT)
    roles = ("button", "checkbox", "combobox", "textbox", "link", "DisclosureTriangle", "image")
    nodes = [node for node in browser.send("Accessibility.getFullAXTree")["nodes"]
             if node.get("role", {}).get("value") in roles and not node.get("ignored")]
    holds(f"every control has a name: {[node['name'] for node in nodes]}",
          len(nodes) > 15 and all(node["name"]["value"] for node in nodes))
    browser.run("byId('copy').focus()")
    order = []
    for _ in range(6):
        browser.key("Tab")
        order.append(browser.run("document.activeElement.id || document.activeElement.textContent"))
    equal("examples follow", order[0], "The file could not be found.")
    browser.run("byId('try').lastElementChild.focus()")
    order = []
    for _ in range(7):
        browser.key("Tab")
        order.append(browser.run("document.activeElement.id || document.activeElement.localName"))
    equal("then the tools", order, ["sentence", "correction", "button", "button", "button", "button", "layer"])
    browser.click("#try button:nth-of-type(2)")
    until(browser, "an example", TOOLS)
    equal("it is translated", browser.run("output.textContent"), "Möchten Sie die Änderungen speichern?")
    quiet(browser, "controls", site)


def check_offline(browser, site):
    """Works without the server, and receives a new version."""
    site.stop()
    browser.open(site.url)
    until(browser, "the model without a server", "tools.model !== null && state.ready")
    enter(browser, TEXT)
    equal("translates without a server", browser.run("output.textContent"), TRANSLATION)
    # The browser looks for a new service worker, which fails without a server.
    browser.errors = [one for one in browser.errors if "sw.js" not in one]
    quiet(browser, "offline", site)
    site.start()
    path = os.path.join(site.folder, "tools.css")
    with open(path, encoding="utf-8") as file:
        style = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(style + "h1 { letter-spacing: 0.5em; }\n")
    until(browser, "an incomplete version is not used", "navigator.serviceWorker.getRegistration().then((one) => "
          "one.update()).then(() => byId('update').hidden)")
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    with open(os.path.join(site.folder, "sw.js"), "r+", encoding="utf-8") as file:
        script = re.sub(r'("tools.css": ")[0-9a-f]{64}', r"\g<1>" + digest, file.read())
        file.seek(0)
        file.write(script)
    browser.run("navigator.serviceWorker.getRegistration().then((one) => { one.update(); })")
    until(browser, "a new version", "!byId('update').hidden")
    browser.errors, loads = [], browser.loads
    browser.run("byId('update').click()")
    deadline = time.monotonic() + 60
    while browser.loads == loads and time.monotonic() < deadline:
        time.sleep(0.1)
        browser.send("Target.getTargets")
    until(browser, "its style", "document.readyState === 'complete' && "
                                "getComputedStyle(document.querySelector('h1')).letterSpacing !== '-0.224px' && "
                                "parseFloat(getComputedStyle(document.querySelector('h1')).letterSpacing) > 5")
    until(browser, "the old file is removed", "caches.open('xformer-page').then((one) => one.keys())"
          ".then((keys) => keys.filter((key) => key.url.includes('tools.css')).length === 1)")
    until(browser, "the model", "tools.model !== null && state.ready")
    quiet(browser, "new version", site)


def check_layout(browser, site, pictures):
    """No horizontal scrolling; screenshots at the widths of a desktop and a phone, light and dark."""
    def picture(name):
        if pictures:
            browser.screenshot(os.path.join(pictures, f"{name}.png"), True)

    def each(what):
        for width, height in ((1400, 900), (390, 844), (320, 640)):
            browser.resize(width, height)
            for scheme in ("light", "dark"):
                browser.media(scheme)
                browser.settle()
                equal(f"{what}, width {width}", browser.run("document.documentElement.scrollWidth"), width)
                picture(f"{what}-{width}-{scheme}")

    if pictures:
        os.makedirs(pictures, exist_ok=True)
    browser.open(site.url)
    until(browser, "the model", "tools.model !== null && state.ready")
    each("empty")
    enter(browser, f"{TEXT} {TEXT}")
    browser.run("focusWord(state.words.target[7])")
    until(browser, "the sentence", "byId('sentence').selectedIndex === 1")
    each("text")
    browser.key("Enter")
    until(browser, "alternatives", "options.children.length > 2")
    each("menu")
    browser.key("Escape")
    teach(browser)
    until(browser, "learned", f"byId('learn-status').textContent === 'Learned.' && {TOOLS}")
    each("learned")
    browser.resize(1280, 800)
    browser.media("light")


def main():
    """Runs all checks."""
    program = find_chromium()
    if program is None:
        print("SKIPPED: there is no Chromium to open the page in (Debian: apt install chromium)")
        sys.exit(77)
    scratch = tempfile.mkdtemp()
    site = Site(shutil.copytree(sys.argv[1], os.path.join(scratch, "page")))
    browser = WorkerBrowser(program)
    try:
        check_first(browser, site)
        check_speed(browser)
        check_typing(browser, site)
        check_words(browser, site)
        check_bad_input(browser, site)
        check_learning(browser, site)
        check_controls(browser, site)
        check_layout(browser, site, sys.argv[2] if len(sys.argv) > 2 else None)
        check_offline(browser, site)
    finally:
        browser.close()
        site.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{checks} checks in the browser, {failed} failed")
    sys.exit(1 if failed or checks < 80 else 0)


main()
