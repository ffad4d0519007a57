"""A server that speaks as much of OpenML's language as scikit-learn needs, and can be made to fail."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import threading
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any, Self

import pytest

#: Makes scikit-learn use this server as OpenML, for a process of its own.
REDIRECT = """
import urllib.request
from types import SimpleNamespace
from sklearn.datasets import _openml
def elsewhere(request):
    request.full_url = re.sub("^https?://[^/]+", {address!r}, request.full_url)
    return urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request)
_openml.urlopen = elsewhere
"""


@dataclass
class Server:
    """OpenML with one table, whatever its id."""

    #: The attributes of an ARFF file: names and types.
    attributes: dict[str, str]
    lines: list[str]
    #: None, the number of an error, "cut", "silent" or "half".
    fault: int | str | None = None
    requests: list[str] = field(default_factory=list)
    #: Set when half of a file was sent that is held back then.
    half_sent: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.respond(self)

            def log_message(self, *_: Any) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def arff(self) -> bytes:
        head = [f"@attribute '{name}' {kind}" for name, kind in self.attributes.items()]
        return "\n".join(["@relation made_up", *head, "@data", *self.lines, ""]).encode()

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append(request.path)
        if self.fault == "silent":
            self.done.wait(20)
            return
        if isinstance(self.fault, int):
            request.send_error(self.fault)
            return
        is_table = "/download/" in request.path
        body = gzip.compress(self.arff if is_table else json.dumps(self.described(request.path)).encode())
        request.send_response(200)
        request.send_header("Content-Encoding", "gzip")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if is_table and self.fault in ("cut", "half"):
            request.wfile.write(body[: len(body) // 2])
            request.wfile.flush()
            self.half_sent.set()
            if self.fault == "half":
                self.done.wait(20)
        else:
            request.wfile.write(body)

    def described(self, path: str) -> dict[str, Any]:
        if "/features/" in path:
            features = [
                {
                    "index": str(i),
                    "name": name,
                    "data_type": "nominal" if kind.startswith("{") else kind,
                    "is_target": "false",
                    "is_ignore": "false",
                    "is_row_identifier": "false",
                    "number_of_missing_values": "0",
                }
                for i, (name, kind) in enumerate(self.attributes.items())
            ]
            return {"data_features": {"feature": features}}
        if "/qualities/" in path:
            return {
                "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(len(self.lines))}]}
            }
        return {
            "data_set_description": {
                "id": "1",
                "name": "made_up",
                "version": "1",
                "status": "active",
                "format": "ARFF",
                "description": "",
                "file_id": "1",
                "url": "https://www.openml.org/data/v1/download/1/made_up.arff",
                "md5_checksum": hashlib.md5(self.arff).hexdigest(),
            }
        }

    def is_openml(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make scikit-learn take this server for OpenML, and not wait before it asks again."""
        from sklearn.datasets import _openml

        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        def elsewhere(request: Any) -> Any:
            request.full_url = re.sub(r"^https?://[^/]+", self.address, request.full_url)
            return opener.open(request)

        monkeypatch.setattr(_openml, "urlopen", elsewhere)
        monkeypatch.setattr(_openml, "time", SimpleNamespace(sleep=lambda _: None))
