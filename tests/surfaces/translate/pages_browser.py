"""The pages of examples/translate in a headless Chromium: pointer, keyboard, light and dark, hostile text, no network.

    pages_browser.py FOLDER [PICTURES]

FOLDER holds the pages that pages.sh made. With PICTURES, screenshots go there, to be looked at. Exit status 77 when
there is no Chromium (Debian: apt install chromium).

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import sys
import tempfile

from browser import Browser, find_chromium

failed = checks = 0
QUERY = "#queries li:nth-child({}) button"
KEY = "#keys li:nth-child({}) button"
MARKUP = "document.querySelector('.page').outerHTML"


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


def data_of(path):
    """The JSON of a page."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search(r'id="data">(.*?)</script>', file.read(), re.S)[1])


def with_data(path, data):
    """A page like that of a path with other data; the text is escaped as the program does it."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    text = re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(data))
    begin = page.index('id="data">') + len('id="data">')
    handle, name = tempfile.mkstemp(suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(page[:begin] + text + page[page.index("</script>", begin):])
    return name


def links(browser):
    """How many links are drawn, by head."""
    return browser.run("""(() => { const found = {}; for (const path of document.querySelectorAll("#links path"))
        found[path.dataset.head] = (found[path.dataset.head] ?? 0) + path.getAttribute("d").split("M").length - 1;
        return found; })()""")


def expected_links(layer, heads, picks=lambda query, key: True):
    """The same from the weights."""
    found = {}
    for head in heads:
        count = sum(value >= 20 and picks(query, key) for query, row in enumerate(layer[head])
                    for key, value in enumerate(row))
        if count:
            found[str(head)] = count
    return found


def quiet(browser, what, path):
    """Checks that only the page itself was requested and that there were no errors."""
    equal(f"{what}: requests", browser.requests, ["file://" + os.path.abspath(path)])
    equal(f"{what}: errors", browser.errors, [])


def texts(browser, selector):
    """The text of each element."""
    return browser.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)")


def check_attention(browser, path):
    """Choosing, pointing, keys."""
    data = data_of(path)
    one = data["sentences"][0]
    every = range(data["heads"])
    holds("there is something to see", min(len(one["source"]), len(one["target"])) > 3)
    browser.open(path)
    quiet(browser, "attention", path)
    equal("words that look", texts(browser, "#queries .token"), one["target"])
    equal("words looked at", texts(browser, "#keys .token"), one["source"])
    layer = one["cross"][-1]
    equal("all links of the last layer", links(browser), expected_links(layer, every))

    browser.click("#all")
    equal("no links", links(browser), {})
    browser.hover(QUERY.format(1))
    equal("links of the word pointed at", links(browser), expected_links(layer, every, lambda query, key: query == 0))
    equal("it is named", browser.run("byId('word').textContent"), one["target"][0])
    shown = sum(float(text) for text in texts(browser, "#strongest .number"))
    strongest = sorted((sum(layer[head][0][key] for head in every) / len(every) / 1000
                        for key in range(len(one["source"]))), reverse=True)[:8]
    holds(f"its strongest links are shown: {shown} and {sum(strongest)}", abs(shown - sum(strongest)) < 0.0045)
    browser.hover("h1")
    equal("pointing elsewhere ends that", links(browser), {})
    browser.hover(KEY.format(2))
    equal("links to the word pointed at", links(browser), expected_links(layer, every, lambda query, key: key == 1))
    browser.hover("h1")
    browser.click(QUERY.format(1))
    browser.hover(KEY.format(3))
    equal("a word clicked stays", browser.run("byId('word').textContent"), one["target"][0])
    equal("that is told", browser.run(f"document.querySelector({QUERY.format(1)!r}).ariaPressed"), "true")
    browser.key("Escape")
    holds("until Escape", links(browser) == {})
    browser.hover("h1")

    browser.click("#layers label:nth-child(1)")
    browser.click("#all")
    equal("the first layer", links(browser), expected_links(one["cross"][0], every))
    browser.click("#heads label:nth-child(2)")
    rest = [head for head in every if head != 1]
    equal("a head less", links(browser), expected_links(one["cross"][0], rest))
    browser.click("#none")
    equal("no head", links(browser), {})
    browser.click("#heads label:nth-child(3)")
    equal("one head", links(browser), expected_links(one["cross"][0], [2]))
    browser.click("#every")
    equal("all heads", links(browser), expected_links(one["cross"][0], every))
    for at, kind in enumerate(("encoder", "decoder"), 1):
        browser.click(f"#kinds label:nth-child({at})")
        equal(kind, links(browser), expected_links(one[kind][0], every))
    equal("the decoder's keys", texts(browser, "#keys .token"), data["start"] + one["target"][:-1])

    # With the keyboard only: Tab moves to the kinds and to each column, arrows move inside.
    browser.run("byId('sentence').focus()")
    browser.key("Tab")
    browser.key("ArrowLeft")
    equal("an arrow chooses a kind", browser.run("state.kind"), "encoder")
    browser.key("Tab")
    browser.key("ArrowRight")
    equal("and a layer", browser.run("state.layer"), 1)
    layer = one["encoder"][1]
    browser.key("Tab")
    browser.key(" ")
    equal("Space takes a head away", links(browser), expected_links(layer, list(every)[1:]))
    browser.key(" ")
    browser.key("Tab", data["heads"] + 3)
    equal("a word has the focus", browser.run("document.activeElement.closest('ol').id"), "queries")
    holds("the focus is seen", browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none")
    browser.key("ArrowDown")
    equal("its links are drawn", links(browser), expected_links(layer, every, lambda query, key: query == 1))
    holds("a screen reader receives it", re.fullmatch(r"looks at (\S.* 0\.\d\d(, )?)+",
                                                        browser.run("byId('spoken').textContent")))
    browser.key("ArrowRight")
    equal("to the other column", links(browser), expected_links(layer, every, lambda query, key: key == 1))
    browser.key("End")
    equal("its end", browser.run("[state.word.side, state.word.index]"), ["keys", len(one["source"]) - 1])
    browser.key("Home")
    browser.key("Enter")
    browser.key("Tab")
    equal("Enter keeps a word", browser.run("[state.word.side, state.word.index, state.kept]"), ["keys", 0, True])
    browser.key("Enter")
    browser.key("Escape")
    equal("the summary opens by Enter", browser.run("byId('table').open"), True)

    # The table is the same weights.
    equal("rows", len(texts(browser, "#table tbody tr")), len(layer[0]))
    equal("the table's sum", round(sum(map(float, texts(browser, "#table td.weight"))) / len(layer[0]), 1), 1.0)
    browser.run("document.querySelector('#none').click(); document.querySelector('#heads input').click()")
    equal("one head's weights", [round(1000 * float(text)) for text in texts(browser, "#table td.weight")],
          [value for row in layer[0] for value in row])
    names = [node["name"]["value"] for node in browser.send("Accessibility.getFullAXTree")["nodes"]
             if node.get("role", {}).get("value") in ("button", "checkbox", "radio", "combobox")]
    holds("every control has a name", len(names) > 20 and all(names))

    # Another sentence, chosen by its list.
    browser.run("byId('sentence').focus()")
    browser.key("ArrowDown")
    equal("the next sentence", browser.run("state.sentence"), 1)
    browser.run("document.querySelector('#every').click()")
    quiet(browser, "attention after all of that", path)


def check_hostile(browser, path):
    """Text that would be markup; words of any length; more heads than colours; long sentences."""
    data = data_of(path)
    hostile = ['</script><img src=x onerror="alert(1)">', "<!--<script>", "&lt;b&gt;", "\u2581<svg/onload=alert(2)>",
               '" onmouseover="alert(3)', "a" * 300, "\u202eabc", "<0xE2>", "\u2581", "\u00a0\t", "{{1}}", "</s>"]
    size = len(hostile)
    head = [[1000 // size] * size for _ in range(size)]
    triangle = [[1000 // (at + 1)] * (at + 1) for at in range(size)]
    data.update(model=hostile[0], heads=20, sentences=[{
        "text": hostile[0], "answer": hostile[1], "source": hostile, "target": hostile, "encoder": [[head] * 20],
        "decoder": [[triangle] * 20], "cross": [[head] * 20]}])
    name = with_data(path, data)
    browser.open(name)
    equal("pieces are text", texts(browser, "#keys .token"), hostile)
    browser.run("byId('table').open = true")
    browser.hover(KEY.format(1))
    for kind in (1, 2, 3):
        browser.click(f"#kinds label:nth-child({kind})")
    browser.hover(QUERY.format(4))
    equal("it creates no element", browser.run("document.querySelectorAll('img, #keys script, svg svg').length"), 0)
    equal("scripts", browser.run("document.scripts.length"), 2)
    for width in (1280, 360):
        browser.resize(width, 800)
        browser.settle()
        equal(f"nothing sticks out at {width}", browser.run("document.documentElement.scrollWidth"), width)
    browser.resize(1280, 800)
    quiet(browser, "hostile text", name)
    browser.open(name)
    try:
        browser.run("(() => { document.body.innerHTML = '<img src=x onerror=alert(4)>'; })()")
        holds("the policy refuses markup from text", False)
    except RuntimeError as error:
        holds(f"the policy says why: {error}", "TrustedHTML" in str(error))
    fetched = browser.run("fetch('file:///etc/hostname').then(() => 'read', (error) => error.message)")
    equal("the policy refuses the network", fetched, "Failed to fetch")
    holds("it says so", any("Content Security Policy" in error for error in browser.errors))
    os.remove(name)

    size = 150
    head = [[1000 if key == size - 1 - query else 0 for key in range(size)] for query in range(size)]
    data.update(heads=2, sentences=[{
        "text": "long", "answer": "long", "source": ["\u2581word"] * size, "target": ["\u2581Wort"] * size,
        "encoder": [[head] * 2], "decoder": [[[[1000] + [0] * at for at in range(size)]] * 2], "cross": [[head] * 2]}])
    name = with_data(path, data)
    browser.open(name)
    equal("a long sentence's links", links(browser), {"0": size, "1": size})
    browser.hover(QUERY.format(size))
    equal("its last word's", links(browser), {"0": 1, "1": 1})
    equal("the choices stay in view", browser.run("Math.round(byId('controls').getBoundingClientRect().top)"), 0)
    quiet(browser, "a long sentence", name)
    os.remove(name)


CONTRAST = """(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const ink = canvas.getContext("2d", { willReadFrequently: true });
  /* The colour of layers over each other: [colour, opacity]. */
  const pixel = (layers) => {
    for (const [colour, opacity] of layers) {
      ink.globalAlpha = opacity;
      ink.fillStyle = colour;
      ink.fillRect(0, 0, 1, 1);
    }
    return [...ink.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => colour.map((one) => one / 255).map((one) =>
    one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4).reduce((sum, one, at) =>
    sum + [0.2126, 0.7152, 0.0722][at] * one, 0);
  const ratio = (below, colour) => {
    const both = [light(pixel(below)), light(pixel([...below, [colour, 1]]))].sort((a, b) => b - a);
    return (both[0] + 0.05) / (both[1] + 0.05);
  };
  const style = (element) => getComputedStyle(element);
  const surface = [style(byId("figure")).backgroundColor, 1];
  const found = { tokens: [], chips: [], cells: [] };
  for (const button of document.querySelectorAll("#keys button")) {
    found.tokens.push(ratio([surface], style(button).color));
    for (const cell of button.querySelectorAll(".cells span"))
      found.tokens.push(ratio([surface, [style(cell).backgroundColor, style(cell).opacity]], style(button).color));
  }
  for (const chip of document.querySelectorAll("#heads span"))
    found.chips.push(ratio([[style(chip).backgroundColor, 1]], style(chip).color));
  for (const cell of document.querySelectorAll("#table td.weight"))
    found.cells.push(ratio([surface, [style(cell).backgroundColor, 1]], style(cell).color));
  return found;
})()"""


def check_contrast(browser, path):
    """Text over the colours of heads and weights can be read: WCAG's 4.5, light and dark."""
    data = data_of(path)
    head = [[1000, 0], [0, 1000]]
    data.update(heads=16, sentences=[{
        "text": "a b", "answer": "a b", "source": ["\u2581a", "</s>"], "target": ["\u2581a", "</s>"],
        "encoder": [[head] * 16], "decoder": [[[[1000], [0, 1000]]] * 16], "cross": [[head] * 16]}])
    name = with_data(path, data)
    for scheme in ("light", "dark"):
        browser.media(scheme)
        browser.open(name)
        browser.run("byId('table').open = true")
        browser.settle()
        browser.hover(QUERY.format(1))
        found = browser.run(CONTRAST)
        equal(f"{scheme}: what is measured", [len(found[what]) for what in ("tokens", "chips", "cells")], [34, 16, 4])
        for what, ratios in found.items():
            holds(f"{scheme}: the least contrast of {what} is {min(ratios):.2f}, expected 4.5", min(ratios) >= 4.5)
    browser.media("light")
    os.remove(name)


def check_looks(browser, path):
    """Light, dark and print."""
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.media("light")
    browser.open(path)
    light = browser.run(ground)
    equal("the button offers the other", browser.run("byId('theme').textContent"), "Dark")
    browser.media("dark")
    browser.settle()
    dark = browser.run(ground)
    holds("the page follows the system", light != dark)
    browser.click("#theme")
    equal("the button changes it", browser.run(ground), light)
    browser.media("light")
    browser.click("#theme")
    equal("and back", browser.run(ground), dark)
    browser.media("light", "print")
    browser.settle()
    equal("print is on white", browser.run(ground), "rgb(255, 255, 255)")
    holds("a page of print", len(browser.send("Page.printToPDF", printBackground=True)["data"]) > 5000)
    browser.media("light")
    for width in (1280, 600, 360):
        browser.resize(width, 800)
        browser.settle()
        equal(f"{path}: nothing sticks out at {width}", browser.run("document.documentElement.scrollWidth"), width)
    browser.resize(1280, 800)
    quiet(browser, "light and dark", path)


def check_report(browser, path):
    """Charts: lines, values under the pointer and by keys, tables."""
    data = data_of(path)
    browser.open(path)
    quiet(browser, "report", path)
    titles = ["Loss", "BLEU", "Perplexity", "Learning rate", "Tokens per second"]
    equal("charts", texts(browser, "#charts h2"), titles)
    equal("each has its lines", browser.run("CHARTS.map((chart) => chart.svg.querySelectorAll('path').length)"),
          [3, 1, 1, 1, 2])
    equal("a line goes through every step", browser.run(
        "CHARTS[3].svg.querySelector('path').getAttribute('d').split('L').length"), len(data["steps"]))
    holds("no number is missing", not re.search("NaN|Infinity|undefined", browser.run(MARKUP)))
    counts = browser.run("CHARTS.map((chart) => chart.svg.querySelectorAll('text').length)")
    holds(f"ticks: {counts}", min(counts) >= 4)
    browser.hover("#charts figure:nth-child(4) .chart", 0.99)
    last = data["steps"][-1]
    read = texts(browser, "#charts .read")
    equal("the last step's loss", read[0],
          f"step {last[0]}: training {last[3]:.3f}, dev {data['evaluations'][-1][3]:.3f}")
    holds("the other charts read out the same step", all(text.startswith(f"step {last[0]}:") for text in read))
    browser.hover("h1")
    equal("nothing is read out elsewhere", texts(browser, "#charts .read"), [""] * 5)
    browser.run("byId('theme').focus()")
    browser.key("Tab")
    browser.key("ArrowRight", 2)
    holds("arrows read out a step", texts(browser, "#charts .read")[0].startswith("step 2: training "))
    holds("a screen reader receives the step", browser.run("byId('spoken').textContent").startswith("Loss, step 2: training "))
    browser.key("End")
    holds("End is the last", texts(browser, "#charts .read")[0].startswith(f"step {last[0]}:"))
    browser.key("Escape")
    equal("Escape ends it", texts(browser, "#charts .read"), [""] * 5)
    holds("a chart says what it shows", browser.run("CHARTS[0].svg.getAttribute('aria-label')").startswith(
        "Loss against step. training from "))
    equal("evaluations", len(texts(browser, "#evaluations tbody tr")), len(data["evaluations"]))
    holds("every column has a name", all(texts(browser, "#evaluations thead th")))
    browser.click("#steps summary")
    equal("steps", len(texts(browser, "#steps tbody tr")), len(data["steps"]))
    browser.click("#settings summary")
    equal("settings", len(texts(browser, "#settings tbody tr")), len(data["settings"]))
    quiet(browser, "report after all of that", path)
    for values in ((4.4, 2.4), (8.2, 5.6), (60.0, 3.1), (2.0, 2.0)):
        data.update(evaluations=[[10 * at, 0, 1, 2.5, value, 9.5, "dev"] for at, value in enumerate(values, 1)])
        name = with_data(path, data)
        browser.open(name)
        scale = browser.run("[...CHARTS[2].svg.querySelectorAll('text[text-anchor=end]')].map((one) => one.textContent)")
        holds(f"perplexity from {values[0]} to {values[1]} has a scale: {scale}", len(set(scale)) == len(scale) >= 3)
        os.remove(name)
    data.update(model="</script><img src=x onerror=alert(1)>", corpus="<b>", state="<i>",
                steps=[[1, 0, 0, None, 0, None]], settings=[["<", ">"]],
                evaluations=[[1, 0, 1, 30.5, None, None, "dev"], [1, 0, 1, 4.5, 1e12, 0, "<u>"]])
    name = with_data(path, data)
    browser.open(name)
    equal("text creates no element", browser.run("document.querySelectorAll('img, b, i, u').length"), 0)
    holds("there is no invalid number", not re.search("NaN|Infinity|undefined", browser.run(MARKUP)))
    quiet(browser, "a report of hardly anything", name)
    os.remove(name)


def check_bare(browser, path):
    """A run without evaluations."""
    browser.open(path)
    equal("charts without a value say so", texts(browser, "#charts svg").count("nothing measured yet"), 2)
    quiet(browser, path, path)


def take_pictures(browser, folder, pictures):
    """Screenshots for an eye."""
    os.makedirs(pictures, exist_ok=True)
    for page in ("attention", "report"):
        for name, scheme, width, height, scale in (("light", "light", 1280, 800, 1), ("dark", "dark", 1280, 800, 1),
                                                   ("narrow", "light", 390, 844, 2)):
            browser.media(scheme)
            browser.resize(width, height, scale)
            browser.open(f"{folder}/{page}.html")
            browser.hover(QUERY.format(1) if page == "attention" else "#charts figure:nth-child(1) .chart")
            browser.run("scrollTo(0, 0)")
            browser.screenshot(f"{pictures}/{page}-{name}.png")
    browser.media("light")


def main():
    """Runs all checks."""
    program = find_chromium()
    if program is None:
        print("SKIPPED: there is no Chromium to open the pages in (Debian: apt install chromium)")
        sys.exit(77)
    folder = sys.argv[1]
    browser = Browser(program)
    try:
        check_attention(browser, f"{folder}/attention.html")
        check_hostile(browser, f"{folder}/attention.html")
        check_contrast(browser, f"{folder}/attention.html")
        check_report(browser, f"{folder}/report.html")
        check_bare(browser, f"{folder}/bare.html")
        for page in ("attention", "report", "bare", "one", "stopped"):
            check_looks(browser, f"{folder}/{page}.html")
        if len(sys.argv) > 2:
            take_pictures(browser, folder, sys.argv[2])
    finally:
        browser.close()
    print(f"{checks} checks in the browser, {failed} failed")
    sys.exit(1 if failed or checks < 120 else 0)


main()
