"""checksum.py - checks a model file's checksum without the library. SPDX-License-Identifier: Apache-2.0"""
import hashlib
import json
import sys

with open(sys.argv[1], "rb") as file:
    raw = file.read()
length = int.from_bytes(raw[:8], "little")
digest = json.loads(raw[8:8 + length])["__metadata__"]["sha256"]
assert hashlib.sha256(raw.replace(digest.encode(), b"0" * 64, 1)).hexdigest() == digest
print("valid")
