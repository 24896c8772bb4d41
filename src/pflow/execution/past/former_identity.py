"""The definitions under which earlier releases recorded work that today's nodes would do in the same way.

Until 0.1.0 a built-in node was known by a hash of its source, and batch and mapping by their Python representation. A
node whose `version` is raised has no entry here: what was recorded of it runs again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import orjson

from pflow.engine.value import digest, digest_all

_NODE_HASHES: Mapping[str, tuple[str, ...]] = {
    "code@1": ("7e99bb5d7b4df65fb60d176ae80221023b392cee6c01afc032aa377621f2a52d",),
    "copy-file@1": ("ccfa2e53c6861e0a0022cb6ff9193a1f924dffb2a9f17de77a700b67e7870730",),
    "delete-file@1": ("901efbfc966a6608608dafbb2412b015379715b80dc33350672b0660f4c651e7",),
    "echo@1": ("798d770878a3ba1d2c26a15fb139af4d6fcc5b35d0a4923b8704a24f686e8d2b",),
    "git-checkout@1": ("a9662aa6c46144b25607739ce2c2ac6f6002323f6f1c24841c3ffe22c65a906f",),
    "git-commit@1": ("fba400acf256cb77d4be46f5e3c1bb57ce3635474cbf70ba0188c7418662f665",),
    "git-diff@1": ("531eb137a80659ee0ca61c2f6e4bd1210b1484b2e6834183153ba1feb17de838",),
    "git-log@1": ("c2f549ed1ed8a342652976cd4b41e7e35253b37f4c767981fa2ae0d114e33e38",),
    "git-status@1": ("5d5a65c26010eccd9bcd3c13a8ddded5c08cb1347aa3112dd8771fa7901e8404",),
    "github@1": ("a999ccf7d10d7c451000b217d9e3cc8de3be64bc6a9822ca38d49b303d79c5b5",),
    "github-create-issue@1": ("b868285a38948b471d1d8368967d23ba3bb3133c5738a8f5fc0dc6279f7ad35b",),
    "github-create-pr@1": ("812c83343d51ca2a8a3348c1ab57fe5c24a7e216b82cbe1cd35cfba86b53f20d",),
    "github-get-issue@1": ("ec285c3115eeed2e95286b369f11e1fab1a61f8a1caa350a43433371211033b3",),
    "github-list-issues@1": ("db2589cd3ff894a5be285e5412ffd6a0cb8d265d699672970fb30f89f0f3f64b",),
    "github-list-prs@1": ("6028b63a166ff2a2bab50f8d5da602ad55b49f4b5a5d060cf0938d5eddfb3801",),
    "http@1": ("7e2490b6302458aa0b003f8125c81f73716071334ba1c060a3d10f896ec4bbd6",),
    "list-files@1": ("66d6baefe0adbfa9e52837a186248c7029852bd4fd532684542c7e6cabcb2052",),
    "move-file@1": ("a1da03c5e6e55c316151367dbb5e00b21ffc3dba6d3fba624e8b49fa5572f1ed",),
    "read-file@1": ("aa51eba625c18e4e2917c4687380b5586806b976dded10d1fd4671c10c84400c",),
    "shell@1": ("b317c263afb11c6c088b3b00909369b4cbacf6b25f8468efdaa89f7866386db0",),
    "write-file@1": ("8943c4cf1c14fe85c6f5871374a64dcaedb9d18a65dae66dc806ee9e8223f180",),
}
"""By today's `node_hash`: those of earlier releases."""


_BATCH = {"items": None, "name": "item", "on_error": "stop"}
_MAPPING: Mapping[str, object] = {"input_mappings": {}, "output_mappings": {}}


def former_definitions(
    node_type: str,
    node_hashes: Sequence[str],
    params: bytes,
    batch: Mapping[str, object] | None,
    mapping: Mapping[str, object] | None,
) -> tuple[str, ...]:
    """How earlier releases identified a node; `batch` and `mapping` hold the fields that are not at their defaults."""
    if not (batch or {}).keys() <= _BATCH.keys() or not (mapping or {}).keys() <= _MAPPING.keys():
        return ()  # earlier releases did not have such a field
    batch_shown = None if batch is None else tuple({**_BATCH, **batch}.values())
    mapping_shown = None if mapping is None else _shown({**_MAPPING, **mapping})
    shape = f"({batch_shown!r}, {mapping_shown})".encode()
    return tuple(
        digest_all([node_type.encode(), former.encode(), params, shape])
        for node_hash in node_hashes
        for former in (node_hash, *_NODE_HASHES.get(node_hash, ()))
    )


def former_child_hash(child: Mapping[str, object]) -> str:
    """How a sub-workflow was identified while documents without edges were stored with those of their order."""
    return digest(orjson.dumps(_with_edges(child)))


def _with_edges(bundle: Mapping[str, object]) -> dict[str, object]:
    document, children = bundle["document"], bundle["children"]
    if isinstance(document, Mapping) and not document.get("edges"):
        nodes = document["nodes"]
        ids = [node["id"] for node in nodes] if isinstance(nodes, list) else []
        document = {**document, "edges": [{"from": source, "to": target} for source, target in pairwise(ids)]}
    inner = children if isinstance(children, Mapping) else {}
    return {"document": document, "children": {key: _with_edges(child) for key, child in inner.items()}}


def _shown(mapping: Mapping[str, object]) -> str:
    return f"KeyMapping({', '.join(f'{name}={keys!r}' for name, keys in mapping.items())})"
