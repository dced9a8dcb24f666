#!/usr/bin/env python3
"""Serves a folder on localhost until Ctrl-C, with Python's http.server.

    serve.py FOLDER [PORT]      port 8000; 0 chooses a free one

SPDX-License-Identifier: Apache-2.0
"""
import functools
import http.server
import re
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    """Sends the policy of the page with each file, because that of the page does not apply to its workers."""
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript",
                      ".wasm": "application/wasm", ".webmanifest": "application/manifest+json"}
    policy = ""

    def end_headers(self):
        """Browsers check whether a file has changed before they use a stored copy."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        """Requests are not logged."""


def make_server(folder, port):
    """A server of a folder."""
    with open(f"{folder}/index.html", encoding="utf-8") as page:
        Handler.policy = re.search(r'"Content-Security-Policy" content="([^"]+)"', page.read())[1]
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=folder))


def main():
    """Serves until Ctrl-C."""
    folder = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    try:
        server = make_server(folder, port)
    except OSError as error:
        sys.exit(f"serve.py: port {port} cannot be used: {error.strerror}; choose another port")
    print(f"The page is on http://localhost:{server.server_port}. Ctrl-C ends the server.", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    server.server_close()


if __name__ == "__main__":
    main()
