"""Fixtures: the URL of a running server, and a `client` with which LibreTranslate's tests of its API run unchanged,
except that they translate to German instead of Spanish.

SPDX-License-Identifier: Apache-2.0
"""
import os

import pytest
import requests


class Response:
    """The attributes of a response of Flask's test client that the tests use."""

    def __init__(self, response):
        self.status_code, self.data, self.response = response.status_code, response.content, response

    @property
    def json(self):
        return self.response.json()


class Client:
    def __init__(self, url):
        self.url = url

    def get(self, path):
        return Response(requests.get(self.url + path, timeout=60))

    def post(self, path, **body):
        for fields in body.values():
            if fields.get("target") == "es":
                fields["target"] = "de"
        return Response(requests.post(self.url + path, timeout=60, **body))


@pytest.fixture()
def url():
    return os.environ["SERVE_URL"]


@pytest.fixture()
def client(url):
    return Client(url)
