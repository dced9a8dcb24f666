"""The client libretranslatepy, and the requests that LibreTranslate documents but this client does not send.

SPDX-License-Identifier: Apache-2.0
"""
import urllib.error

import pytest
import requests
from libretranslatepy import LibreTranslateAPI

TEXT = "Do you want to save the changes?"


@pytest.fixture()
def api(url):
    return LibreTranslateAPI(url)


def test_translate(api):
    assert "Änderungen" in api.translate(TEXT, "en", "de")
    assert "Änderungen" in api.translate(TEXT, "auto", "de")


def test_translate_lines(api):
    lines = api.translate(f"{TEXT}\n\n{TEXT}\n", "en", "de").split("\n")
    assert len(lines) == 4 and lines[0] == lines[2] and lines[1] == lines[3] == ""


@pytest.mark.parametrize("text, target", [(TEXT, "zz"), ("", "de")])
def test_translate_refused(api, text, target):
    with pytest.raises(urllib.error.HTTPError) as error:
        api.translate(text, "en", target)
    assert error.value.code == 400


def test_detect(api):
    first = api.detect("Möchten Sie die Änderungen speichern, bevor Sie das Programm beenden?")[0]
    assert first["language"] == "de" and 50 < first["confidence"] <= 100
    assert api.detect(TEXT)[0]["language"] == "en"


def test_languages(api):
    languages = {language["code"]: language for language in api.languages()}
    assert languages["en"]["name"] == "English" and "de" in languages["en"]["targets"] and "de" in languages


def test_settings(url):
    settings = requests.get(f"{url}/frontend/settings", timeout=60).json()
    assert set(settings) >= {"apiKeys", "charLimit", "frontendTimeout", "keyRequired", "language", "suggestions",
                             "supportedFilesFormat", "filesTranslation"}
    assert {"code", "name"} == set(settings["language"]["source"]) == set(settings["language"]["target"])


def test_alternatives(url):
    reply = requests.post(f"{url}/translate", timeout=60, json={
        "q": [TEXT, "Hello"], "source": "auto", "target": "de", "alternatives": 3}).json()
    assert [len(texts) for texts in reply["alternatives"]] == [3, 3]
    assert all(text not in others for text, others in zip(reply["translatedText"], reply["alternatives"]))
    assert [detected["language"] for detected in reply["detectedLanguage"]] == ["en", "en"]


@pytest.mark.parametrize("name, content, unchanged", [
    ("a.txt", f"{TEXT}\n\n{TEXT}\n", ["\n\n"]),
    ("page.html", f"<html><body><p id=a>{TEXT}</p></body></html>", ["<p id=a>", "</p></body></html>"]),
    ("film.srt", f"1\n00:00:01,000 --> 00:00:02,500\n{TEXT}\n\n2\n00:00:03,000 --> 00:00:04,000\n<i>{TEXT}</i>\n",
     ["00:00:01,000 --> 00:00:02,500", "00:00:03,000 --> 00:00:04,000", "<i>", "</i>"]),
    ("film.vtt", f"WEBVTT\n\n00:01.000 --> 00:02.500 align:start\n{TEXT}\n",
     ["WEBVTT\n\n00:01.000 --> 00:02.500 align:start"])])
def test_translate_file(url, name, content, unchanged):
    reply = requests.post(f"{url}/translate_file", timeout=60, files={"file": (name, content.encode())},
                          data={"source": "en", "target": "de"}).json()
    file = requests.get(reply["translatedFileUrl"], timeout=60)
    assert file.status_code == 200 and "attachment" in file.headers["Content-Disposition"]
    text = file.content.decode()
    assert all(part in text for part in unchanged)
    assert text.count("Änderungen") == content.count(TEXT)
