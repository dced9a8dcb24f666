"""The page of examples/serve in a headless Chromium: typing, alignment, alternatives, history, files, errors, layout.

    page_browser.py FOLDER|URL [PICTURES]

FOLDER holds the page, which the mock server in mock.py serves. URL is a running server; errors and limits that need the
mock server are not tested then. With PICTURES, screenshots go there, to be looked at. Exit status 77 when there is no
Chromium (Debian: apt install chromium).

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "translate"))
from browser import Browser, find_chromium  # noqa: E402
from mock import POLICY, Mock               # noqa: E402

failed = checks = 0
TEXT = "The old house is small. We live near the river and it has a garden."
LONG = " ".join(f"The house number {number} is old and it has a small garden near the river." for number in range(40))
READY = "document.querySelector('#output .word') !== null && state.running === null"
# Runs before the page's script: records requests, aborts, spoken texts, stages of the output, and policy violations.
RECORD = """
  window.record = { calls: [], violations: [], stages: [], spoken: [] };
  addEventListener("securitypolicyviolation", (event) => record.violations.push(event.violatedDirective));
  const real = window.fetch;
  window.fetch = (path, options = {}) => {
    record.calls.push({ path: String(path), signal: options.signal, headers: options.headers,
      body: typeof options.body === "string" ? JSON.parse(options.body) : null });
    return real(path, options);
  };
  addEventListener("DOMContentLoaded", () => {
    for (const [id, list] of [["output", record.stages], ["spoken", record.spoken]])
      new MutationObserver(() => list.push(document.getElementById(id).textContent)).observe(
        document.getElementById(id), { childList: true, subtree: true, characterData: true });
  });
"""


def holds(what, good):
    """Counts a condition, and prints it when it is false."""
    global failed, checks
    checks += 1
    if not good:
        failed += 1
        print("FAILED:", what)


def equal(what, found, expected):
    """Counts a comparison."""
    holds(f"{what}: found {found!r}, expected {expected!r}", found == expected)


def until(browser, what, expression, seconds=60):
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


def pick(browser, select, code):
    """Chooses a language."""
    browser.run(f"{select}.value = '{code}'; {select}.dispatchEvent(new Event('change', {{ bubbles: true }}))")


def focused(browser):
    """The index of the word of the translation that has the focus."""
    return browser.run("state.words.target.indexOf(document.activeElement.word)")


def fresh(browser, url, text=""):
    """Loads the page without stored data, and translates a text."""
    browser.open(url)
    browser.run("localStorage.clear()")
    browser.open(url)
    until(browser, "languages", "state.ready")
    if text:
        type_text(browser, text)
        until(browser, "a translation", READY)


def quiet(browser, what, url):
    """Checks that only the server was contacted and that there were no errors."""
    browser.settle()
    holds(f"{what}: other hosts: {browser.requests}", all(one.startswith((url, "data:")) for one in browser.requests))
    equal(f"{what}: errors", browser.errors, [])
    equal(f"{what}: policy violations", browser.run("record.violations"), [])


def lit(browser, side):
    """The highlighted words of one side."""
    return browser.run(f"state.words.{side}.filter((one) => one.element.classList.length > 1)"
                       ".map((one) => one.element.textContent)")


def shortcut(browser, key, code, modifiers):
    """Presses a key with Alt (1), Ctrl (2), Shift (8)."""
    for kind in ("rawKeyDown", "keyUp"):
        browser.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers)
    browser.settle()


def check_typing(browser, url, mock):
    """Drafts, streaming, the final translation, cancellation."""
    fresh(browser, url)
    equal("the text has the focus", browser.run("document.activeElement.id"), "source")
    equal("nothing is translated yet", browser.run("[output.textContent, byId('copy').disabled]"), ["", True])
    for part in (TEXT[:10], TEXT[10:30], TEXT[30:]):
        type_text(browser, part)
        time.sleep(0.05)
    until(browser, "the final translation", READY)
    calls = browser.run("record.calls.filter((one) => one.path === 'translate').map((one) => one.body)")
    equal("one draft and one final translation", [(one["q"], one.get("beam"), one.get("alignment")) for one in calls],
          [(TEXT, 1, None), (TEXT, None, True)])
    equal("a stream is accepted", browser.run("record.calls.at(-1).headers.Accept"), "text/event-stream")
    result = browser.run("output.textContent")
    stages = [one for one in browser.run("record.stages") if one]
    holds(f"the text grows: {stages}", len(set(stages)) > 2 and len(stages[0]) < len(result) / 2)
    equal("it is spoken once", browser.run("record.spoken"), [result])
    equal("languages", browser.run("[source.lang, mirror.lang, output.lang, byId('spoken').lang, from.value]"),
          ["en", "en", browser.run("to.value"), browser.run("to.value"), "auto"])
    equal("the detected language is shown", browser.run("from.selectedOptions[0].textContent"), "English (detected)")
    holds("characters are counted", browser.run("byId('count').textContent").startswith(f"{len(TEXT)} "))
    quiet(browser, "typing", url)

    # New input cancels a request that is running.
    browser.run("byId('clear').click(); record.calls.length = 0; record.status = []; new MutationObserver(() => "
                "record.status.push(byId('status').textContent)).observe(byId('status'), { childList: true })")
    before = mock and mock.cancelled
    type_text(browser, LONG)
    until(browser, "a partial translation", "output.textContent.length > 20")
    type_text(browser, " We live in it.")
    equal("the request was aborted", browser.run("record.calls.map((one) => one.signal.aborted)"), [True])
    holds("the text remains", browser.run("output.textContent.length > 20"))
    until(browser, "the next translation", READY)
    equal("the next requests", browser.run("record.calls.map((one) => one.signal.aborted)"), [True, False, False])
    holds("progress is shown", any(" of 41 sentences" in one for one in browser.run("record.status")))
    equal("progress ends", browser.run("[byId('progress').hidden, byId('status').textContent]"), [True, ""])
    if mock:
        holds("the server noticed", mock.cancelled > before)
    equal("the mirror has the height of the text", browser.run("[source.scrollHeight, source.clientHeight]"),
          [browser.run("mirror.offsetHeight")] * 2)
    browser.click("#clear")
    equal("all is cleared", browser.run("[source.value, output.textContent, document.activeElement.id, "
                                        "from.selectedOptions[0].textContent]"), ["", "", "source", "Detect language"])
    quiet(browser, "cancellation", url)


def check_alignment(browser, url):
    """Highlights by pointer and keyboard."""
    fresh(browser, url, TEXT)
    count = browser.run("state.words.target.length")
    aligned = browser.run("state.words.target.map((one) => [...one.links].map((other) => other.element.textContent))")
    holds(f"most words are aligned: {aligned}", sum(map(bool, aligned)) > count / 2)
    index = next(at for at, one in enumerate(aligned) if one)
    browser.hover(f"#output .word:nth-of-type({index + 1})")
    equal("words of the source are highlighted", lit(browser, "source"), aligned[index])
    equal("and the word", len(lit(browser, "target")), 1)
    browser.hover("h1")
    equal("until the pointer leaves", lit(browser, "source") + lit(browser, "target"), [])
    browser.hover("#mirror .word:nth-of-type(3)")
    equal("a word of the source", lit(browser, "source"), ["house"])
    equal("highlights the translation", lit(browser, "target"),
          browser.run("[...state.words.source[2].links].map((one) => one.element.textContent)"))
    holds("the text field receives the pointer", browser.run(
        "(() => { const box = state.words.source[2].element.getBoundingClientRect();"
        "return document.elementFromPoint(box.left + 2, box.top + 2) === source; })()"))
    browser.hover("h1")
    browser.run("source.setSelectionRange(6, 6)")
    browser.settle()
    equal("the caret highlights its word", lit(browser, "source"), ["old"])

    browser.run("byId('copy').focus()")
    shortcut(browser, "Tab", 9, 8)
    equal("Tab reaches the first word", focused(browser), 0)
    equal("it is a button", browser.run("[document.activeElement.role, document.activeElement.ariaHasPopup]"),
          ["button", "listbox"])
    holds("the focus is seen", browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none")
    browser.key("ArrowRight", index + 1)
    browser.key("ArrowLeft")
    equal("arrows move and highlight", lit(browser, "source"), aligned[index])
    browser.key("End")
    equal("End", focused(browser), count - 1)
    equal("one word is in the tab order", browser.run("output.querySelectorAll('[tabindex], [role]').length"), 1)
    browser.key("Escape")
    equal("Escape returns to the text", browser.run("document.activeElement.id"), "source")
    quiet(browser, "alignment", url)


def check_alternatives(browser, url):
    """The menu by keyboard and pointer."""
    fresh(browser, url, TEXT)
    old = browser.run("output.textContent")
    first, second = [old[slice(*one)] for one in browser.run("state.sentences.map((one) => one.target)")]
    browser.run("focusWord(state.words.target[2])")
    prefix = old[:browser.run("state.words.target[2].begin")]
    browser.key("Enter")
    until(browser, "alternatives", "options.children.length > 1")
    body = browser.run("record.calls.at(-1).body")
    equal("the request", [body.get(key) for key in ("q", "source", "prefix", "alternatives", "beam")],
          ["The old house is small.", "en", prefix.strip(), 5, 1])
    equal("the list has the focus", browser.run("[document.activeElement.id, document.activeElement.role]"),
          ["options", "listbox"])
    equal("roles", browser.run("[...options.children].every((one) => one.role === 'option')"), True)
    active = "options.getAttribute('aria-activedescendant')"
    equal("the first is active", browser.run(active), "option-0")
    browser.key("ArrowDown")
    equal("arrows", browser.run(active), "option-1")
    equal("one is selected", browser.run("options.querySelectorAll('[aria-selected=true]').length"), 1)
    browser.key("ArrowUp", 2)
    equal("around the end", browser.run(active), browser.run("options.lastElementChild.id"))
    browser.key("Escape")
    equal("Escape closes", [browser.run("menu.hidden"), focused(browser)], [True, 2])
    equal("and changes nothing", browser.run("output.textContent"), old)

    browser.key("Enter")
    until(browser, "alternatives", "options.children.length > 1")
    rests = [one.strip() for one in browser.run("[...options.children].map((one) => one.textContent)")]
    # Another length moves the second sentence.
    index = next((at for at, one in enumerate(rests) if len(prefix + one) != len(first)), 0)
    browser.key("ArrowDown", index)
    picked = rests[index]
    browser.key("Enter")
    new = browser.run("output.textContent")
    equal("the rest of the sentence is replaced", new, prefix + picked + old[len(first):])
    holds(f"another sentence remains: {new}", new.endswith(second) and new != old)
    equal("the word has the focus", focused(browser), 2)
    until(browser, "the new alignment", "state.sentences[0].words.length > 0")
    body = browser.run("record.calls.at(-1).body")
    equal("the alignment's request", [body["prefix"], body["alignment"]], [prefix + picked, True])
    equal("the second sentence has moved",
          browser.run("output.textContent.slice(...state.sentences[1].target)"), second)
    holds("with its alignment", browser.run("state.sentences[1].words.every(([a, b, c, d]) => "
                                            "c >= state.sentences[1].target[0] && d <= output.textContent.length)"))
    equal("the history has the new text", browser.run("[entries.length, entries[0].translation]"), [1, new])
    browser.click("#output .word:nth-of-type(2)")
    until(browser, "alternatives", "options.children.length > 0")
    browser.click("#options li:nth-child(1)")
    holds("the pointer chooses too", browser.run("menu.hidden && output.textContent") not in (False, new))
    browser.click("#output .word:nth-of-type(2)")
    browser.click("h1")
    equal("a click elsewhere closes", browser.run("menu.hidden"), True)
    quiet(browser, "alternatives", url)


def check_history(browser, url):
    """Restoring, deleting, turning off, and browsers without storage."""
    fresh(browser, url, TEXT)
    first = browser.run("output.textContent")
    type_text(browser, " We live in it.")
    until(browser, "the continued text", READY + " && entries[0].text.endsWith('live in it.')")
    equal("continuing a text adds no entry", browser.run("entries.length"), 1)
    browser.run("byId('clear').click()")
    type_text(browser, "A small garden.")
    until(browser, "another", READY)
    browser.open(url)
    until(browser, "languages", "state.ready")
    equal("entries survive a reload", browser.run("entries.map((one) => one.text)"),
          ["A small garden.", TEXT + " We live in it."])
    equal("the count", browser.run("byId('history-count').textContent"), "(2)")
    browser.click("#history summary")
    browser.click("#entries li:nth-child(2) .entry")
    equal("the text is restored", browser.run("source.value"), TEXT + " We live in it.")
    holds("and its translation, at once", browser.run("output.textContent").startswith(first[:20]))
    until(browser, "its words", READY)
    equal("with the language", browser.run("[from.value, state.detected]"), ["auto", "en"])
    browser.click("#entries li:nth-child(2) .icon")
    equal("an entry is deleted", browser.run("JSON.parse(localStorage['serve.history']).map((one) => one.text)"),
          ["A small garden."])
    browser.click("#keep")
    equal("off deletes all", browser.run("localStorage['serve.history']"), "[]")
    equal("off is stored", browser.run("localStorage['serve.keep']"), "false")
    browser.run("byId('clear').click()")
    type_text(browser, TEXT)
    until(browser, "a translation", READY)
    equal("nothing is stored", browser.run("localStorage['serve.history']"), "[]")
    quiet(browser, "history", url)

    denied = ("Object.defineProperty(window, 'localStorage', "
              "{ get() { throw new DOMException('denied', 'SecurityError'); } });")
    script = browser.send("Page.addScriptToEvaluateOnNewDocument", source=denied)["identifier"]
    browser.open(url)
    until(browser, "languages", "state.ready")
    type_text(browser, TEXT)
    until(browser, "without storage", READY)
    holds("it says so", "does not store" in browser.run("byId('history-note').textContent"))
    equal("the history works until the page is closed", browser.run("byId('entries').children.length"), 1)
    quiet(browser, "without storage", url)
    browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def check_errors(browser, url, mock):
    """Sentences near the place of the error, and Retry."""
    error = "byId('error').hidden ? '' : byId('error').firstElementChild.textContent"
    fresh(browser, url)
    limit = browser.run("state.settings.charLimit")
    if limit >= 0:
        type_text(browser, "a" * (limit + 1))
        equal("too long", browser.run("byId('limit').textContent").split(";")[0],
              f"The text has {limit + 1:,} characters")
        time.sleep(0.6)
        equal("nothing is sent", browser.run("record.calls.filter((one) => one.path === 'translate').length"), 0)
        browser.run("byId('clear').click()")
        equal("the error ends", browser.run("byId('limit').hidden"), True)
    quiet(browser, "too long", url)

    conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.send("Network.emulateNetworkConditions", offline=True, **conditions)
    type_text(browser, TEXT)
    until(browser, "an error", error)
    equal("unreachable", browser.run(error), "The server cannot be reached. Check the connection and try again.")
    equal("it is an alert", browser.run("byId('error').role"), "alert")
    holds("with the network's error only", all("ERR_INTERNET_DISCONNECTED" in one for one in browser.errors))
    browser.send("Network.emulateNetworkConditions", offline=False, **conditions)
    browser.run("byId('error').lastElementChild.click()")
    until(browser, "Retry", READY)
    equal("no error", browser.run(error), "")
    browser.errors = []
    if not mock:
        return
    mock.fault = (429, "Slowdown", [("Retry-After", 7)])
    type_text(browser, " We live.")
    until(browser, "an error", error)
    equal("429", browser.run(error), "The server received too many requests. Try again in 7 s.")
    equal("the earlier translation is marked", browser.run("output.children[0].className"), "stale")
    mock.fault = (403, "Invalid API key", [])
    browser.run("byId('error').lastElementChild.click()")
    until(browser, "another error", f"({error}).startsWith('Inv')")
    mock.fault = None
    type_text(browser, " It is good.")
    until(browser, "a draft", "state.done === source.value")
    mock.fault = (503, "The server is busy.", [])
    until(browser, "an error after the draft", error)
    equal("the draft remains", browser.run("[output.textContent === state.translation, byId('copy').disabled]"),
          [True, False])
    mock.fault = None
    type_text(browser, " It is old.")
    until(browser, "typing retries", READY)
    browser.errors = []
    mock.settings = {"keyRequired": True}
    browser.open(url)
    until(browser, "the field for the key", "!byId('key-field').hidden")
    browser.run("byId('key').focus()")
    browser.send("Input.insertText", text="secret")
    type_text(browser, TEXT)
    until(browser, "a translation", READY)
    equal("the key is sent", mock.bodies[-1].get("api_key"), "secret")
    mock.settings = {}
    quiet(browser, "the key", url)
    mock.sources = ["en"]
    check_controls(browser, url)
    equal("sources are the languages with targets", browser.run("[...from.options].map((one) => one.value)"),
          ["auto", "en"])
    mock.sources = ["en", "de", "ar"]


def check_files(browser, url):
    """Upload by the button and by dropping, download."""
    fresh(browser, url)
    pick(browser, "from", "en")
    folder = tempfile.mkdtemp()
    paths = [os.path.join(folder, name) for name in ("garden.txt", "picture.png")]
    for path in paths:
        with open(path, "w", encoding="utf-8") as file:
            file.write("The house is old.\nThe garden is small.\n")
    node = browser.send("DOM.querySelector", nodeId=browser.send("DOM.getDocument")["root"]["nodeId"], selector="#file")
    browser.send("DOM.setFileInputFiles", files=paths, nodeId=node["nodeId"])
    until(browser, "a link", "document.querySelector('#files a') !== null")
    holds("a download", browser.run("document.querySelector('#files a').download").endswith(".txt"))
    lines = browser.run("fetch(document.querySelector('#files a').href).then((one) => one.text())").strip().split("\n")
    holds(f"lines are translated: {lines}", len(lines) == 2 and all(lines) and "house" not in lines[0])
    holds("another type is refused", "does not translate files of this type" in
          browser.run("document.querySelector('#files .failed span').textContent"))
    for _ in range(2):
        browser.click("#files .icon")
    equal("rows are removed", browser.run("byId('files').hidden"), True)
    drag = """((kind) => { const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["The house."], "dropped.txt"));
        const event = new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true });
        source.dispatchEvent(event);
        return [event.defaultPrevented, getComputedStyle(byId("drop")).display]; })"""
    equal("the target of the drop is shown", browser.run(drag + "('dragover')"), [True, "grid"])
    equal("it is hidden again", browser.run(drag + "('drop')"), [True, "none"])
    until(browser, "a link", "document.querySelector('#files a') !== null")
    equal("the dropped file", browser.run("document.querySelector('#files b').textContent"), "dropped.txt")
    quiet(browser, "files", url)
    for path in paths:
        os.remove(path)
    os.rmdir(folder)


def check_controls(browser, url):
    """Swap, copy, help, shortcuts, focus order, names."""
    fresh(browser, url, TEXT)
    result, target = browser.run("[output.textContent, to.value]")
    browser.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.click("#copy")
    equal("copied", browser.run("navigator.clipboard.readText()"), result)
    equal("it says so", browser.run("byId('copy').textContent.trim()"), "Copied")
    browser.run("source.focus()")
    shortcut(browser, "/", 191, 2)
    equal("help", browser.run("byId('help').open"), True)
    browser.key("Escape")
    equal("help is closed", browser.run("[byId('help').open, document.activeElement.id]"), [False, "source"])
    browser.run("byId('theme').focus()")
    order = []
    expected = ["from", "swap", "to", "source", "file-open", "clear", "word chosen", "copy", "summary"]
    if browser.run("byId('swap').disabled"):
        expected.remove("swap")
    for _ in expected:
        browser.key("Tab")
        order.append(browser.run("document.activeElement.id || document.activeElement.className || "
                                 "document.activeElement.localName"))
    equal("focus order", order, expected)
    roles = ("button", "checkbox", "combobox", "textbox", "link", "DisclosureTriangle")
    nodes = [node for node in browser.send("Accessibility.getFullAXTree")["nodes"]
             if node.get("role", {}).get("value") in roles]
    holds(f"every control has a name: {[node['name'] for node in nodes]}",
          len(nodes) > 8 and all(node["name"]["value"] for node in nodes))
    browser.run("source.focus(); record.calls.length = 0")
    shortcut(browser, "Enter", 13, 2)
    until(browser, "a translation", READY + " && record.calls.length > 0")
    equal("Ctrl+Enter translates", browser.run("record.calls.map((one) => one.body.beam ?? 0)"), [1, 0])
    if browser.run("byId('swap').disabled"):  # The server translates in one direction only.
        shortcut(browser, "Enter", 13, 1)
        equal("nothing is swapped", browser.run("[to.value, source.value]"), [target, TEXT])
        quiet(browser, "controls", url)
        return
    pick(browser, "from", "en")
    until(browser, "a translation", READY)
    pick(browser, "from", target)
    equal("choosing the target as source swaps them", browser.run("[from.value, to.value]"), [target, "en"])
    pick(browser, "from", "auto")
    pick(browser, "to", target)
    until(browser, "a translation", READY)
    shortcut(browser, "Enter", 13, 1)
    equal("swapped", browser.run("[from.value, to.value, source.value]"), [target, "en", result])
    until(browser, "the translation back", READY)
    equal("languages", browser.run("[source.lang, output.lang]"), [target, "en"])
    quiet(browser, "controls", url)

    right = browser.run("['ar', 'he', 'fa'].find((code) => [...to.options].some((one) => one.value === code)) ?? null")
    if right:
        fresh(browser, url, TEXT)
        pick(browser, "to", right)
        until(browser, "right to left", READY)
        direction = "[source, mirror, output].map((one) => getComputedStyle(one).direction)"
        equal("directions", browser.run(direction), ["ltr", "ltr", "rtl"])
        browser.run("focusWord(state.words.target[0])")
        browser.key("ArrowLeft")
        equal("the arrow follows the direction", focused(browser), 1)
        browser.run("byId('swap').click()")
        until(browser, "the translation back", READY)
        equal("directions after a swap", browser.run(direction), ["rtl", "rtl", "ltr"])
        quiet(browser, "right to left", url)


CONTRAST = """(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const ink = canvas.getContext("2d", { willReadFrequently: true });
  const light = (colors) => {
    for (const color of colors) { ink.fillStyle = color; ink.fillRect(0, 0, 1, 1); }
    return [...ink.getImageData(0, 0, 1, 1).data].slice(0, 3).map((one) => one / 255).map((one) =>
      one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4).reduce((sum, one, at) =>
      sum + [0.2126, 0.7152, 0.0722][at] * one, 0);
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if ((!own && element !== source) || !element.checkVisibility() || mirror.contains(element) || element.disabled ||
        element.closest(":disabled, .unseen")) continue;
    const grounds = [];
    for (let at = element; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
    if (element === source) grounds.push(getComputedStyle(document.querySelector(".linked") ?? output).backgroundColor);
    const both = [light(grounds), light([...grounds, getComputedStyle(element).color])].sort((a, b) => b - a);
    found.push([(both[0] + 0.05) / (both[1] + 0.05), element.id || element.className || element.localName]);
  }
  return found;
})()"""


def check_layout(browser, url):
    """Contrast, width, touch targets, in the states of the page."""
    browser.send("Emulation.setEmulatedMedia", media="",
                 features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    fresh(browser, url, TEXT)
    equal("no motion", browser.run("getComputedStyle(state.words.target[0].element).transitionDuration"), "0s")
    for scheme in ("light", "dark"):
        browser.media(scheme)
        fresh(browser, url, TEXT)
        browser.run("byId('history').open = true; byId('error').hidden = byId('limit').hidden = false;"
                    "byId('error').firstElementChild.textContent = byId('limit').textContent = 'Error'")
        browser.run("focusWord(state.words.target[2])")
        browser.key("Enter")
        until(browser, "alternatives", "options.children.length > 1")
        found = browser.run(CONTRAST)
        holds(f"{scheme}: much text was measured: {len(found)}", len(found) > 25)
        holds(f"{scheme}: contrast below 4.5: {[one for one in found if one[0] < 4.5]}", min(found)[0] >= 4.5)
        for width in (1400, 760, 390):
            browser.resize(width, 844)
            browser.settle()
            found = browser.run("document.documentElement.scrollWidth")
            equal(f"{scheme}: width of the contents at {width}", found, width)
        small = browser.run("""[...document.querySelectorAll("button, select, summary, .switch, textarea, #options li")]
            .filter((one) => one.checkVisibility() && !one.closest("dialog:not([open])"))
            .map((one) => [one.id || one.className || one.textContent, one.getBoundingClientRect()])
            .filter(([name, box]) => box.width < 44 || box.height < 44).map(([name]) => name)""")
        equal("touch targets below 44 pixels", small, [])
        holds("panes are stacked", browser.run("byId('target').getBoundingClientRect().top >= "
                                               "byId('source-box').getBoundingClientRect().bottom"))
        browser.resize(1280, 800)
    browser.media("light")
    browser.resize(390, 844)
    fresh(browser, url, LONG)
    browser.run("focusWord(state.words.target.at(-1))")
    holds("on a phone, the aligned word scrolls into view", browser.run(
        "(() => { const box = byId('source-box').getBoundingClientRect(), word = "
        "[...state.words.target.at(-1).links][0].element.getBoundingClientRect();"
        "return byId('source-box').scrollTop > 0 && word.top >= box.top && word.bottom <= box.bottom; })()"))
    browser.resize(1280, 800)
    fresh(browser, url)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(ground)
    browser.click("#theme")
    dark = browser.run(ground)
    browser.open(url)
    holds("the theme can be switched, and remains", browser.run(ground) == dark != light)
    quiet(browser, "layout", url)


def take_pictures(browser, url, mock, pictures):
    """Screenshots for an eye."""
    os.makedirs(pictures, exist_ok=True)
    for scheme in ("light", "dark"):
        for width, height, scale in ((1400, 900, 1), (390, 844, 2)):
            browser.media(scheme)
            browser.resize(width, height, scale)

            def picture(name, whole=False):
                browser.settle()
                time.sleep(0.3)
                browser.screenshot(f"{pictures}/{name}-{width}-{scheme}.png", whole)

            fresh(browser, url)
            picture("empty")
            browser.run("byId('help-open').click()")
            picture("help")
            browser.run("byId('help').close()")
            type_text(browser, TEXT)
            until(browser, "a translation", READY)
            browser.run("focusWord(state.words.target[2])")
            picture("words")
            browser.key("Enter")
            until(browser, "alternatives", "options.children.length > 1")
            picture("menu")
            browser.key("Escape")
            browser.run("byId('history').open = true; translateFile(new File(['The garden.'], 'garden.txt'));"
                        "translateFile(new File(['x'], 'picture.png')); source.focus()")
            until(browser, "a link", "document.querySelector('#files a') !== null")
            picture("history", True)
            browser.run("byId('history').open = false; byId('clear').click()")
            type_text(browser, LONG)
            until(browser, "progress", "output.textContent.length > 300")
            browser.run("scrollTo(0, 0)")
            picture("progress")
            until(browser, "a translation", READY)
            picture("long", True)
            if mock:
                mock.fault = (429, "Slowdown", [("Retry-After", 7)])
                browser.run("byId('clear').click()")
                type_text(browser, TEXT)
                until(browser, "an error", "!byId('error').hidden")
                picture("error")
                mock.fault = None
            browser.run("byId('clear').click()")
            type_text(browser, "a " * 2501)
            picture("limit", True)
    browser.media("light")
    browser.resize(1280, 800)


def main():
    """Runs all checks."""
    program = find_chromium()
    if program is None:
        print("SKIPPED: there is no Chromium to open the page in (Debian: apt install chromium)")
        sys.exit(77)
    mock = None if "://" in sys.argv[1] else Mock(sys.argv[1]).start()
    url = mock.url + "/" if mock else urllib.parse.urljoin(sys.argv[1], "/")
    for path in ("", "page.js", "page.css"):
        with urllib.request.urlopen(url + path) as response:
            equal(f"/{path}: policy", response.headers["Content-Security-Policy"], POLICY)
    browser = Browser(program)
    browser.send("Page.addScriptToEvaluateOnNewDocument", source=RECORD)
    try:
        check_typing(browser, url, mock)
        check_alignment(browser, url)
        check_alternatives(browser, url)
        check_history(browser, url)
        check_errors(browser, url, mock)
        check_files(browser, url)
        check_controls(browser, url)
        check_layout(browser, url)
        if len(sys.argv) > 2:
            take_pictures(browser, url, mock, sys.argv[2])
    finally:
        browser.close()
    print(f"{checks} checks in the browser, {failed} failed")
    sys.exit(1 if failed or checks < 100 else 0)


main()
