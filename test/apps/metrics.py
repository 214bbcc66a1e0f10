# SPDX-License-Identifier: Apache-2.0
"""Reads the metrics of --metrics for the tests, as a scraper does."""
import re
import socket

SERIES = re.compile(r'^(\w+)(?:\{((?:\w+="(?:[^"\\]|\\["\\])*",?)+)\})? (\d+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\["\\])*)"')
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
TIMEOUT = 240


def connect(where):
    """Connects to an address in the form in which iwarp prints it: "unix:PATH" or "http://HOST:PORT/metrics"."""
    if where.startswith("unix:"):
        out = socket.socket(socket.AF_UNIX)
        out.settimeout(TIMEOUT)
        out.connect(where[len("unix:"):])
        return out
    host, port = re.fullmatch(r"http://(.*):(\d+)/metrics", where).groups()
    return socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT)


def place_of(process):
    """Returns the address of the metrics, which a command prints as its first line on standard error."""
    line = process.stderr.readline()
    match = re.fullmatch(r"iwarp: metrics at (\S+)\n", line)
    assert match, line + process.stderr.read()
    return match[1]


def exchange(where, request=GET):
    """Requests the metrics. Returns (status line, body)."""
    with connect(where) as peer:
        peer.sendall(request)
        parts = []
        while part := peer.recv(65536):
            parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), body.decode()


class Figures:
    """The metrics that one scrape has returned."""

    def __init__(self, where):
        status, self.text = exchange(where)
        assert status == "HTTP/1.0 200 OK", status
        self.series = []
        for line in self.text.splitlines():
            if line.startswith("#"):
                continue
            name, labels, value = SERIES.fullmatch(line).groups()
            self.series.append((name, dict(LABEL.findall(labels or "")), int(value)))

    def all(self, name, **labels):
        return [value for found, its, value in self.series
                if found == name and all(its.get(key) == want for key, want in labels.items())]

    def __call__(self, name, **labels):
        """Returns the value of the only series with that name and these labels, or 0 if there is no such series."""
        values = self.all(name, **labels)
        assert len(values) <= 1, (name, labels, values)
        return values[0] if values else 0
