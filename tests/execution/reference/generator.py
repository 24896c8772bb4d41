"""Random documents that end, and whose result does not depend on which of two parallel steps is the faster."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.execution.reference.flow import Flow, Raw, Reach, choices_of, derive, named_by

KINDS = ["echo"] * 4 + ["let"] * 3 + ["work"] * 3 + ["switch"] * 3 + ["fail", "batch", "batch", "workflow"]

FIELDS = {"echo": "said", "let": "v", "work": "value", "switch": "case", "workflow": "v", "batch": "results"}
"""An output of each kind of node; a batch is one of several types."""


LETTERS = {"": "n", "on_failure": "f", "finally": "z"}
"""What the names of the nodes of each part begin with."""


def kind_of(node: Raw) -> str:
    """What a node is, as far as its outputs go."""
    return "batch" if "batch" in node else str(node["type"])


class Generator:
    """Makes one document, out of what a source of chance says."""

    def __init__(self, chance: Random, *, size: int = 12, is_child: bool = False) -> None:
        self.chance = chance
        self.is_child = is_child
        self.nodes: list[Raw] = []
        self.edges: list[Any] = []
        count = chance.randint(3, size) if not is_child else chance.randint(1, size)
        for index in range(count):
            self.nodes.append(self._node(f"n{index}", chance.choice(KINDS)))
        self.document: Raw = {"nodes": self.nodes}

    # ---- the whole

    def make(self) -> Raw | None:
        """A document, or none if chance led nowhere."""
        document = self._make_main()
        if document is not None and self.chance.random() < 0.5:
            self._add_sections()
        return document

    def _make_main(self) -> Raw | None:
        if self.chance.random() < 0.15:
            return self._by_data()
        if self.chance.random() < 0.3:
            self._write_all()
        else:
            self._write_some()
        self.document["edges"] = self.edges
        if not self._mend() or not is_sound(self.document):
            return None
        for _ in range(self.chance.randint(0, 3)):
            self._loop()
        if not self.edges:
            del self.document["edges"]
        self._fill()
        self._declare()
        return self.document

    def draft(self) -> Raw:
        """A document that says where some nodes lead, whether or not that makes sense."""
        self._write_some()
        self.document["edges"] = self.edges
        self._fill()
        if self.chance.random() < 0.4:
            self._add_sections()
        return self.document

    def _by_data(self) -> Raw:
        """Nodes in any order, each after those that it names."""
        names = [node["id"] for node in self.nodes]
        for index, node in enumerate(self.nodes):
            if self.chance.random() < 0.3:
                node["on"] = {"error": self.chance.choice(["next", "end"])}
            self._fill_node(node, self.nodes[: index and self.chance.randint(0, index)])
        extra = []
        if len(names) > 1 and self.chance.random() < 0.4:
            first, second = sorted(self.chance.sample(range(len(names)), 2))
            extra = [{"from": names[first], "to": names[second]}]
        self.document["edges"] = ["data", *extra] if extra else "data"
        self.chance.shuffle(self.nodes)
        self._declare()
        return self.document

    def _write_some(self) -> None:
        """Say of some nodes where they lead; the order of the document says the rest."""
        for index, node in enumerate(self.nodes):
            if self.chance.random() < 0.45:
                self._route(node, index, "default")
            if node["type"] in ("work", "fail", "workflow") and self.chance.random() < 0.6:
                self._route(node, index, "error")
            if choices_of(node) and self.chance.random() < 0.7:
                for choice in choices_of(node):
                    if choice != "else" or self.chance.random() < 0.7:
                        self._route(node, index, choice)

    def _write_all(self) -> None:
        """Edges that need no order: every node but the first is named by one before it."""
        for index, node in enumerate(self.nodes):
            if index:
                self._name(self.nodes[self.chance.randrange(index)], node["id"])
        for index, node in enumerate(self.nodes):
            if self.chance.random() < 0.3 and index + 1 < len(self.nodes):
                self._name(node, self.chance.choice(self.nodes[index + 1 :])["id"])
            for choice in choices_of(node):
                if not self._said(node, choice):
                    self._say(node, choice, ["end"])
        if self.chance.random() < 0.4:
            first = self.nodes[0]["id"]
            self.chance.shuffle(self.nodes)
            if self.nodes[0]["id"] != first or self.chance.random() < 0.5:
                self.document["start_node"] = first
        self.chance.shuffle(self.edges)

    def _name(self, node: Raw, target: str) -> None:
        """Let a node lead to another in one of the ways that it can end."""
        actions = choices_of(node) or (["error"] if node["type"] == "fail" else ["default", "default", "error"])
        action = self.chance.choice(actions)
        self.edges.append(_edge(node["id"], target, action))

    def _route(self, node: Raw, index: int, action: str) -> None:
        later = [node["id"] for node in self.nodes[index + 1 :]]
        targets = [*later[:4], "next", "end"]
        if action == "default" and self.chance.random() < 0.4 and not choices_of(node):
            for _ in range(self.chance.randint(1, 2)):
                target = self.chance.choice(targets)
                self.edges.append({"from": node["id"], "to": target, "when": "?"})
            if self.chance.random() < 0.4:
                self.edges.append({"from": node["id"], "to": self.chance.choice(targets), "when": "else"})
            return
        if later and self.chance.random() < 0.4:
            self._say(node, action, self.chance.sample(later, min(len(later), self.chance.randint(1, 3))))
        else:
            self._say(node, action, [self.chance.choice(targets)])

    def _say(self, node: Raw, action: str, targets: list[str]) -> None:
        """Write edges of one action, as `on` or as `edges`."""
        if self.chance.random() < 0.5:
            node.setdefault("on", {})[action] = targets[0] if len(targets) == 1 else targets
        elif len(targets) > 1 and self.chance.random() < 0.5:
            self.edges.append(_edge(node["id"], targets, action))
        else:
            self.edges += [_edge(node["id"], target, action) for target in targets]

    def _said(self, node: Raw, action: str) -> bool:
        written = any(edge["from"] == node["id"] and edge.get("action", "default") == action for edge in self.edges)
        return written or action in node.get("on", {})

    def _mend(self) -> bool:
        """Say what is unclear, and lead to what nothing leads to; whether that was possible."""
        for _ in range(3 * len(self.nodes)):
            flow = derive(self.document)
            names = [node["id"] for node in self.nodes]
            if flow.unclear:
                node = self.nodes[names.index(flow.unclear[0])]
                following = names[names.index(node["id"]) + 1]
                target = self.chance.choice([following, following, "end"])
                if any(edge["from"] == node["id"] and "when" in edge for edge in self.edges):
                    self.edges.append({"from": node["id"], "to": target, "when": "else"})
                elif choices_of(node) and not node.get("when"):
                    open_ = [choice for choice in choices_of(node) if not self._said(node, choice)]
                    for choice in open_:
                        self._say(node, choice, [target])
                else:
                    self._say(node, "default", [target])
                continue
            reached = Reach(flow).reached
            lost = [name for name in names if name not in reached]
            if not lost:
                return True
            before = [node for node in self.nodes[: names.index(lost[0])] if node["id"] in reached]
            self._lead(self.chance.choice(before), lost[0])
        return False

    def _lead(self, node: Raw, target: str) -> None:
        """One more edge to a node that nothing leads to."""
        if any(edge["from"] == node["id"] and "when" in edge for edge in self.edges):
            place = next(at for at, edge in enumerate(self.edges) if edge["from"] == node["id"])
            self.edges.insert(place, {"from": node["id"], "to": target, "when": "?"})
        elif choices_of(node):
            for choice in choices_of(node):
                if not self._said(node, choice):
                    self._say(node, choice, [target])
                    return
            self.edges.append(_edge(node["id"], target, self.chance.choice(choices_of(node))))
        else:
            action = "error" if node["type"] == "fail" else self.chance.choice(["default", "error"])
            self.edges.append(_edge(node["id"], target, action))

    def _loop(self) -> None:
        """An edge back, left after a few visits, if the document stays one that has a single result."""
        reach = Reach(derive(self.document))
        pairs = [
            (source, target)
            for source in self.nodes
            for target in self.nodes
            if source is target or reach.can(target["id"], source["id"])
        ]
        source, target = self.chance.choice(pairs)
        name = source["id"]
        own = [edge for edge in self.edges if edge["from"] == name]
        kept, on = list(self.edges), dict(source.get("on", {}))
        if source["type"] == "work" and "error" not in on and not any(e.get("action") == "error" for e in own):
            source["on"] = {**on, "error": target["id"]}
            source["params"] = {"value": "${visit}", "bad": 1}
        elif choices_of(source):
            if "again" in source["params"]["cases"]:
                return
            written = {choice: self._said(source, choice) for choice in choices_of(source)}
            if not any(written.values()):
                return
            cases = dict(source["params"]["cases"])
            source["params"]["cases"] = {"again": f"visit < {self.chance.randint(2, 3)}", **cases}
            self.edges.append(_edge(name, target["id"], "again"))
            if not is_sound(self.document):
                self.edges[:] = kept
                source["params"]["cases"] = cases
            return
        elif source["type"] != "fail":
            back = {"from": name, "to": target["id"], "when": f"visit < {self.chance.randint(2, 4)}"}
            plain = [edge for edge in own if edge.get("action", "default") == "default" and "when" not in edge]
            if len(plain) > 1 or any(isinstance(edge["to"], list) for edge in plain):
                return
            said = on.get("default")
            if isinstance(said, list) or (said and plain):
                return
            at = min((self.edges.index(edge) for edge in own if "when" in edge), default=0)
            if plain:
                plain[0]["when"] = "else"
            self.edges.insert(0 if plain else at, back)
            if said:
                source["on"] = {action: where for action, where in on.items() if action != "default"}
                self.edges.append({"from": name, "to": said, "when": "else"})
            if not is_sound(self.document) and plain:
                del plain[0]["when"]
        if not is_sound(self.document):
            self.edges[:] = kept
            source["on"] = on
        elif self.chance.random() < 0.1:
            target["max_visits"] = self.chance.randint(1, 3)

    # ---- how it ends

    def _add_sections(self) -> None:
        """What runs at the end: one or two nodes for `on_failure`, `finally` or both."""
        mode = derive(self.document).mode
        for section in self.chance.choice([["on_failure"], ["finally"], ["on_failure", "finally"]]):
            names = [f"{LETTERS[section]}{at}" for at in range(self.chance.randint(1, 2))]
            first, *rest = [self._node(name, self.chance.choice(KINDS)) for name in names]
            known = [*self.nodes]
            self.document[section] = first["id"]
            for node in (first, *rest):
                self._fill_node(node, known)
                self._tell(node, section)
                known.append(node)
            self.nodes += [first, *rest]
            for last in rest:
                self._link(first, last, mode)
            self._declare_some(first, *rest)

    def _tell(self, node: Raw, section: str) -> None:
        """Let a node of a section use what only such a node can know."""
        is_final = section == "finally"
        if node["type"] == "echo":
            node["params"]["told"] = "${error.node:-none}" + (" ${run.status}" if is_final else "")
        if "when" in node and self.chance.random() < 0.5:
            final = ["run.status == 'failed'", "run.status != 'failed'", "has(error.node)"]
            node["when"] = self.chance.choice(final if is_final else ["error.node != 'n1'", "has(error.node)"])

    def _link(self, first: Raw, last: Raw, mode: str) -> None:
        """Let the first node of a section lead to the other."""
        chance, name = self.chance, first["id"]
        if mode == "data":
            if name not in named_by(last) or chance.random() < 0.5:
                written = self.document["edges"]
                extra = written[1:] if isinstance(written, list) else []
                self.document["edges"] = ["data", *extra, _edge(name, last["id"], "default")]
            return
        if mode == "complete":
            self._name(first, last["id"])
            for choice in choices_of(first):
                if not self._said(first, choice):
                    self._say(first, choice, ["end"])
        elif first["type"] == "fail":
            first["on"] = {"error": "next"}
        elif chance.random() < 0.5:
            first["on"] = {"error": chance.choice(["next", "end"])}
        if mode == "order" and self.edges and not choices_of(last) and last["type"] != "fail" and chance.random() < 0.3:
            self.edges.append({"from": last["id"], "to": name, "when": "visit % 2 == 1"})
            self.edges.append({"from": last["id"], "to": "end", "when": "else"})
        if self.edges:
            self.document["edges"] = self.edges

    def _declare_some(self, *nodes: Raw) -> None:
        for node in nodes:
            if "outputs" in self.document and node["type"] != "fail" and self.chance.random() < 0.5:
                self.document["outputs"][node["id"]] = {"source": f"${{{node['id']}.{FIELDS[kind_of(node)]}}}"}

    # ---- what the nodes do

    def _node(self, name: str, kind: str) -> Raw:
        chance = self.chance
        if kind == "workflow" and self.is_child:
            kind = "echo"
        if kind == "batch":
            batch: Raw = {"items": [chance.randint(0, 4) for _ in range(chance.randint(0, 4))]}
            if chance.random() < 0.5:
                batch["where"] = chance.choice(["item % 2 == 0", "item > 1 && item_index < 3", "false"])
            if chance.random() < 0.6:
                batch |= {"on_error": "continue", "concurrency": chance.randint(1, 3)}
                if chance.random() < 0.5:
                    batch["max_failed"] = chance.choice([0, 1, "100%"])
            params = {"value": "${item}", "bad": chance.randint(0, 6)}
            return {"id": name, "type": "work", "params": params, "batch": batch}
        node: Raw = {"id": name, "type": kind, "params": {}}
        if kind == "switch":
            cases = {"left": "?", "right": "?"} if chance.random() < 0.5 else {"left": "?"}
            node["params"] = {"cases": cases}
        if chance.random() < 0.25 or (kind == "fail" and chance.random() < 0.8):
            node["when"] = "?"
        return node

    def _fill(self) -> None:
        """Params and conditions, of what cannot run at the same time."""
        flow = derive(self.document)
        reach = Reach(flow)
        everywhere = {node["id"]: _follow(flow, node["id"]) for node in self.nodes}
        for node in self.nodes:
            name = node["id"]
            before = [other for other in self.nodes if name in everywhere[other["id"]]]
            known = [
                other
                for other in before
                if other is node or reach.can(other["id"], name) or reach.can(name, other["id"])
            ]
            self._fill_node(node, known, has_error=known == before)  # an error is looked for in all that came before
            for edge in self.edges:
                if edge["from"] == name and edge.get("when") == "?":
                    edge["when"] = self._condition([*known, node])

    def _fill_node(self, node: Raw, known: list[Raw], *, has_error: bool = True) -> None:
        params, kind, name = node["params"], node["type"], node["id"]
        if node.get("when") == "?":
            node["when"] = self._condition([other for other in known if other is not node])
        if kind == "echo":
            texts = [self._template(other) for other in self.chance.sample(known, min(2, len(known)))]
            params["said"] = " ".join([f"{name}:", *texts, *self.chance.choice([[], ["${visit}"], ["${run.name}"]])])
            if has_error and self.chance.random() < 0.2:
                params["told"] = "${error.node:-no error}"
        elif kind == "let":
            params["v"] = " + ".join(["visit", *(self._number(other) for other in known[:2])])
        elif kind == "work" and not params:
            params |= {"value": self.chance.randint(0, 3), "bad": self.chance.randint(0, 3)}
        elif kind == "fail":
            params["message"] = " ".join([name, *(self._template(other) for other in known[:1])])
        elif kind == "switch":
            for case in [case for case, text in params["cases"].items() if text == "?"]:
                params["cases"][case] = self._condition(known)
        elif kind == "workflow":
            child = None
            while child is None:
                child = Generator(self.chance, size=4, is_child=True).make()
            sources = [declared["source"] for declared in child["outputs"].values()]
            child["outputs"] = {"v": {"source": self.chance.choice([*sources, "nothing"])}}
            params |= {"workflow": child}

    def _template(self, other: Raw) -> str:
        kind = kind_of(other)
        if kind == "batch":
            return f"${{{other['id']}.count:-none}}"
        if kind == "fail":
            return f"${{{other['id']}.error.message:-none}}" if self._said(other, "error") else "failed"
        if kind == "workflow":
            return "sub"
        return f"${{{other['id']}.{FIELDS[kind]}:-none}}"

    def _number(self, other: Raw) -> str:
        name, kind = other["id"], kind_of(other)
        if kind in ("let", "work"):
            path = f"{name}.{FIELDS[kind]}"
            return f"(has({path}) ? {path} : 0)"
        if kind == "batch":
            return f"(has({name}.count) ? {name}.count : 0)"
        return f"(has(steps.{name}) ? 10 : 0)"

    def _condition(self, known: list[Raw]) -> str:
        chance = self.chance
        forms: list[Callable[[], str]] = [
            lambda: f"visit < {chance.randint(1, 3)}",
            lambda: chance.choice(["visit % 2 == 1", "visit > 1", "true", "false", "run.name == 'graph'"]),
            lambda: f"{self._number(chance.choice(known))} > {chance.randint(0, 6)}",
            lambda: f"!has(steps.{chance.choice(known)['id']})",
            lambda: f"{self._number(chance.choice(known))} % 2 == 0",
        ]
        return chance.choice(forms if known else forms[:2])()

    def _declare(self) -> None:
        if self.is_child or self.chance.random() < 0.7:
            outputs = {}
            for node in self.nodes:
                field = FIELDS.get(kind_of(node), "error.message")
                if node["type"] == "fail" and not self._said(node, "error"):
                    continue
                outputs[node["id"]] = {"source": f"${{{node['id']}.{field}}}"}
            self.document["outputs"] = outputs


def is_sound(document: Raw) -> bool:
    """Whether a document is valid, and while a loop goes round nothing outside of it can be under way."""
    flow = derive(document)
    reach = Reach(flow)
    names = set(flow.ways)
    if flow.unclear or reach.reached != names or reach.has_other_loops:
        return False
    if any(way.when == "else" for own in flow.ways.values() for ways in own.values() for way in ways[:-1]):
        return False
    for node in document["nodes"]:
        own = flow.ways[node["id"]]
        if own and not own.keys() >= set(choices_of(node)):
            return False
    for source, target in reach.loops:
        body = {name for name in names if _within(reach, target, name, source)}
        after = _after_choice(flow, reach, source, target)
        if not all(reach.can(name, target) or name in after for name in names - body):
            return False
        if any(b in body and b != target and a not in body for a, b in reach.forward):
            return False
    return True


def _after_choice(flow: Flow, reach: Reach, source: str, target: str) -> set[str]:
    """What waits while a node goes back to another: a choice between edges is a step that has only these to lead on."""
    found = set(reach.after[source])
    for ways in flow.ways[source].values():
        if any(way.when and way.target == target for way in ways):
            found &= reach.by(source, ways)
    return found


def _within(reach: Reach, first: str, name: str, last: str) -> bool:
    return (name == first or reach.can(first, name)) and (name == last or reach.can(name, last))


def _follow(flow: Flow, name: str) -> set[str]:
    """Everything that can run after a node, loops and all."""
    found: set[str] = set()
    waiting = flow.targets(name)
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting += flow.targets(here)
    return found


def _edge(source: str, target: object, action: str) -> Raw:
    return {"from": source, "to": target, **({} if action == "default" else {"action": action})}
