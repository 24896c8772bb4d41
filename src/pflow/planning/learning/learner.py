"""Makes a document of the calls that were chosen: bindings, batches, gaps and inputs. Writes no files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pflow.core.json_type import Json, type_of
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.act import Act
from pflow.planning.learning.around import Around, find_arounds
from pflow.planning.learning.bind import Candidate, Confidence, Sources
from pflow.planning.learning.dependence import idle_calls, is_ordered_by_data
from pflow.planning.learning.gap import Gap
from pflow.planning.learning.leaf import at, leaves, named, replaced, spell_path
from pflow.planning.learning.learned import Bound, Learned, LearnedStep, Question, Wishes
from pflow.planning.learning.literal import Inputs, Task
from pflow.planning.learning.loops import Loop, find_loop, varying
from pflow.planning.learning.nodes import Nodes
from pflow.planning.learning.outcome import find_outputs
from pflow.planning.learning.select import is_written
from pflow.planning.learning.source import Produced
from pflow.planning.learning.turns import find_turns, inner_workflow, joined_runs, segments
from pflow.planning.learning.wording import (
    find_wording,
    option_of,
    said_of,
    shown_output,
    slug_of,
    span_of,
    spell,
)

_MOST_PARTS = 3
_MOST_ODD = 3
"""Calls beside a loop that are made with the same tool, and are no turns of it."""

_LIST_TURNS = 3
"""From so many calls on, a loop over a list that no result holds is one over an input."""


def learn_document(acts: Sequence[Act], task: Task, answer: str = "", wishes: Wishes | None = None) -> Learned:
    """A document that makes the same calls; text that equals no result comes from a model, or from a person."""
    learner = _Learner(task, wishes or Wishes())
    learner.inputs.count(act.params for act in acts)
    waiting = segments(acts)
    while waiting:
        waiting = waiting[learner.add(waiting) :]
    return learner.finish(answer)


class _Learner:
    def __init__(self, task: Task, wishes: Wishes) -> None:
        self.inputs = Inputs(task)
        self._task = task
        self._wishes = wishes
        self._gap = "llm" if wishes.llm else "ask"
        self._nodes = Nodes(self.inputs.names)
        self._sources = Sources()
        self._steps: list[LearnedStep] = []
        self._questions: list[Question] = []
        self._bounds: list[Bound] = []
        self._related: set[str] = set()
        self._last = ""

    def add(self, waiting: Sequence[Sequence[Sequence[Act]]]) -> int:
        """Write what comes next; how many of the segments that is."""
        for joined in joined_runs(waiting, self._sources.produced):
            if self._add_turns(joined):
                return len(joined[0])
        self._add_segment(waiting[0])
        return 1

    def _add_segment(self, turns: Sequence[Sequence[Act]]) -> None:
        acts = [act for turn in turns for act in turn]
        if len(turns[0]) == 1:
            self._add_run(acts)
        elif not self._add_turns(turns):
            for act in acts:
                self._add_one(act)

    def _add_run(self, acts: Sequence[Act]) -> None:
        first, last, loop = self._find_part(acts)
        if loop is not None:
            for act in acts[:first]:
                self._add_one(act)
            self._add_loop(acts[first:last], loop)
            for act in acts[last:]:
                self._add_one(act)
        elif len(acts) >= _LIST_TURNS and self._may_list(acts):
            self._add_list(acts)
        else:
            for act in acts:
                self._add_one(act)

    def _find_part(self, acts: Sequence[Act]) -> tuple[int, int, Loop | None]:
        """Which of the calls are turns of a loop: all of them, or all but a few before and after the loop."""
        for odd in range(min(_MOST_ODD, len(acts) - 2) + 1):
            for first in range(odd + 1):
                last = len(acts) - odd + first
                loop = self._find_loop(acts[first:last])
                if loop is not None and (loop.is_whole if odd else loop.has_rule):
                    return first, last, loop
        return 0, len(acts), None

    def _find_loop(self, acts: Sequence[Act]) -> Loop | None:
        is_bindable = not any(act.is_cut or act.number in self._wishes.literal for act in acts)
        return find_loop(acts, self._sources.produced) if len(acts) > 1 and is_bindable else None

    def finish(self, answer: str) -> Learned:
        document: Json = {"nodes": self._nodes.all}
        if self.inputs.declared:
            document = {"inputs": self.inputs.declared, **document}
        if is_ordered_by_data(document, self._steps):
            document["edges"] = "data"
        if self._last:
            outputs = find_outputs(answer, self._sources.produced) or {"result": f"${{{self._last}}}"}
            document["outputs"] = {name: {"source": source} for name, source in outputs.items()}
        return Learned(
            document=document,
            steps=tuple(self._steps),
            inputs=self.inputs.values,
            questions=tuple(self._questions),
            idle=idle_calls(document, self._steps, self._related),
        )

    # Steps

    def _add_one(self, act: Act) -> None:
        self._bounds = []
        bound = {path: self._bound(act, path, value) for path, value in leaves(act.params)}
        name = self._name(act)
        self._put(name, act, replaced(act.params, bound), (act,))
        if act.is_cut:
            self._ask(
                f"call {act.number}: its result was cut, so that nothing is bound to it", f"--bind N.ARG={name}.…"
            )
        else:
            self._sources.add(Produced(id=name, outputs=act.told))

    def _add_loop(self, acts: Sequence[Act], loop: Loop) -> None:
        self._bounds = []
        batch, items, source, confidence = self._batch(acts, loop)
        bound = self._constants(acts, loop.parts)
        for path, part in loop.parts.items():
            field = spell_path(part.field)
            before = self.inputs.literal(part.around.pieces[0], path)
            bound[path] = part.around.template(f"${{item{field}}}", before)
            values = tuple(part.around.value_in(str(at(act.params, path))) for act in acts)
            what = f"{items}[]{field}"
            self._bounds.append(
                Bound(argument=spell(path), source=what, confidence=confidence, origin=source, values=values)
            )
        self._put_batch(acts, bound, batch)

    def _add_turns(self, turns: Sequence[Sequence[Act]]) -> bool:
        """A batch of a small workflow; False if the calls are no such thing."""
        acts = [act for turn in turns for act in turn]
        if any(act.is_cut or act.number in self._wishes.literal for act in acts):
            return False
        taken: list[str] = []
        for act in turns[0]:
            taken.append(self._nodes.free(slug_of(act.label), taken))
        found = find_turns(turns, taken, self._sources.produced, self.inputs.literal)
        if found is None:
            return False
        batch, items, source, confidence = self._batch(acts, found.loop)
        name = self._nodes.free(f"each-{taken[-1]}")
        nodes: list[Json] = []
        for id, member, inner, origins in zip(taken, found.members, found.inner, found.origins, strict=True):
            self._bounds = []
            bound = {**self._constants(member, inner), **inner}
            for path, (field, values) in origins.items():
                self._bounds.append(
                    Bound(
                        argument=spell(path),
                        source=f"{items}[]{field}",
                        confidence=confidence,
                        origin=source,
                        values=values,
                    )
                )
            said = said_of(member[0])
            nodes.append({"id": id, "type": member[0].type, **said, "params": replaced(member[0].params, bound)})
            step = LearnedStep(id=f"{name}/{id}", type=member[0].type, acts=member, bounds=tuple(self._bounds))
            self._steps.append(step)
        main = f"{taken[-1]}.{turns[0][-1].main}"
        element = at(found.loop.column.source.outputs, (*found.loop.column.array, 0))
        document, given = inner_workflow(nodes, main, type_of(element))
        params = {"workflow": document, "inputs": given}
        self._nodes.add({"id": name, "type": "workflow", "params": params, "batch": batch})
        self._last = f"{name}.results"
        results = [{"result": turn[-1].outputs.get(turn[-1].main)} for turn in turns]
        self._sources.add(Produced(id=name, outputs={"results": results}, is_loop=True))
        return True

    def _batch(self, acts: Sequence[Act], loop: Loop) -> tuple[Json, str, str, Confidence]:
        """The batch of a loop, the array that it is over, the step that gives that, and how sure it is."""
        source = loop.column.source
        if source.parse is not None:
            source = self._nodes.parsed(source)
        items = f"{source.id}{spell_path(loop.column.array)}"
        batch: Json = {"items": f"${{{items}}}", "as": "item"}
        place = f'steps["{source.id}"]{spell_path(loop.column.array)}'
        confidence: Confidence = "high" if loop.is_whole and source.parse is None else "medium"
        if loop.is_whole:
            pass
        elif loop.is_sorted:
            key = f"x{spell_path(loop.column.field)}"
            batch["items"] = f"${{{self._nodes.let(source.id, 'sorted', f'{place}.sortBy(x, {key})')}.items}}"
        elif loop.condition:
            batch["where"] = loop.condition
            confidence = "medium" if len(loop.used) > 1 else "low"
            self._ask(
                f"calls {span_of(acts)} are those of `{items}` with `{loop.condition}`: is that why?", "--calls LIST"
            )
        else:
            count = len(loop.used)
            first = f"{place}.first({count})"
            batch["items"] = f"${{{self._nodes.let(source.id, 'first', first)}.items}}"
            confidence = "low"
            of = len(loop.column.values)
            self._ask(
                f"calls {span_of(acts)} are the first {count} of the {of} elements of `{items}`; "
                f"the others have no turn unless `first({count})` goes",
                "--calls LIST",
            )
        return batch, items, loop.column.source.origin or source.id, confidence

    def _may_list(self, acts: Sequence[Act]) -> bool:
        if any(act.is_cut or act.number in self._wishes.literal for act in acts):
            return False
        differing = varying(acts)
        texts = [value for values in differing.values() for value in values]
        same = len({str(sorted(act.params.items(), key=str)) for act in acts}) != len(acts)
        bound = any(self._sources.find(value, path).best for path, each in differing.items() for value in each)
        return len(differing) == 1 and not same and not bound and not any(map(is_written, texts))

    def _add_list(self, acts: Sequence[Act]) -> None:
        """Turns over values that no result holds: the list is an input."""
        self._bounds = []
        [(path, values)] = varying(acts).items()
        around = Around()
        if all(isinstance(value, str) for value in values):
            around = next(find_arounds([str(value) for value in values]), around)
        cores = values if around == Around() else [around.value_in(str(value)) for value in values]
        name = self.inputs.items(f"{acts[0].label.replace('-', '_').lower()}_items", list(cores))
        bound = self._constants(acts, {path: None})
        bound[path] = around.template("${item}", self.inputs.literal(around.pieces[0], path))
        self._bounds.append(Bound(argument=spell(path), source=f"inputs.{name}[]", confidence="medium"))
        self._ask(
            f"calls {span_of(acts)} go through a list that no result holds; it is the input `{name}`", "--calls LIST"
        )
        self._put_batch(acts, bound, {"items": f"${{{name}}}", "as": "item"})

    def _constants(self, acts: Sequence[Act], without: Mapping[ValuePath, object]) -> dict[ValuePath, object]:
        given = {path: value for path, value in leaves(acts[0].params) if path not in without}
        return {path: self._bound(acts[0], path, value) for path, value in given.items()}

    def _put_batch(self, acts: Sequence[Act], bound: Mapping[ValuePath, object], batch: Json) -> None:
        name = self._name(acts[0])
        self._put(name, acts[0], replaced(acts[0].params, bound), acts)
        self._nodes.all[-1]["batch"] = batch
        self._last = f"{name}.results"
        outputs = {"results": [act.outputs for act in acts]}
        self._sources.add(Produced(id=name, outputs=outputs, is_loop=True))

    def _put(self, name: str, act: Act, params: object, acts: Sequence[Act]) -> None:
        self._nodes.add({"id": name, "type": act.type, **said_of(act), "params": params})
        self._steps.append(LearnedStep(id=name, type=act.type, acts=tuple(acts), bounds=tuple(self._bounds)))
        self._last = f"{name}.{act.main}"

    # Arguments

    def _bound(self, act: Act, path: ValuePath, value: object) -> object:
        """A template for an argument, or the argument itself."""
        wish = self._wishes.bindings.get((act.number, spell(path)))
        if wish is not None:
            self._bounds.append(Bound(argument=spell(path), source=wish or "as it was", confidence="high"))
            reading = self._sources.reading(re.split(r"[.\[]", wish)[0])
            if reading is not None:
                self._nodes.parsed(reading)
            return f"${{{wish}}}" if wish else self._literal(value, path)
        if act.number in self._wishes.literal:
            return self._literal(value, path)
        self.inputs.option = option_of(act, path)
        said = self.inputs.said(value, path)
        if said is not None:
            return said
        if not (path[0] == "command" and (path[-1] == 0 or len(path) == 1)) and path not in (("cwd",), *act.fixed):
            choice = self._sources.find(value, path)
            if choice.best is not None:
                end = value[len(choice.best.text) :] if isinstance(value, str) else ""
                return self._take(choice.best, path, is_text=isinstance(value, str)) + end
            if choice.tied:
                self._ask_tied(act, path, choice.tied)
                return self._literal(value, path)
        whole = self.inputs.whole(value, path)
        if whole is not None:
            return whole
        if is_written(value) and path[0] != "command" and self._sources.produced:
            return self._add_gap(act, path, str(value))
        parts = self._parts(act, value, path)
        if parts == value and not act.fixed:
            self._ask_constant(act, path, parts)
        return parts

    def _parts(self, act: Act, value: object, path: ValuePath) -> object:
        """A text in which earlier results stand."""
        if not isinstance(value, str) or path[0] == "cwd" or path[-1:] == (0,):
            return self._literal(value, path)
        parts: list[str | Candidate] = [value]
        for _ in range(_MOST_PARTS):
            for position, part in enumerate(parts):
                choice = self._sources.inside(part, path).best if isinstance(part, str) else None
                if choice is not None and isinstance(part, str):
                    left, _, right = part.partition(choice.text)
                    parts[position : position + 1] = [left, choice, right]
                    break
            else:
                break
        texts = [
            self._literal(part, path) if isinstance(part, str) else self._take(part, path) for part in parts if part
        ]
        return "".join(map(str, texts))

    def _take(self, candidate: Candidate, path: ValuePath, *, is_text: bool = True) -> str:
        source = candidate.source
        template = candidate.template
        if source.parse is not None:
            source = self._nodes.parsed(source)
            candidate = candidate._replace(source=source)
            template = candidate.template
        if candidate.is_end:
            end = f'steps["{source.id}"]{spell_path(candidate.path)}.split("/").last()'
            name = self._nodes.let(source.id, "end", end if is_text else f"int({end})", "value")
            template = f"${{{name}.value}}"
        self._bounds.append(
            Bound(
                argument=spell(path),
                source=candidate.template[2:-1],
                confidence=candidate.confidence,
                origin=source.origin or source.id,
                values=(candidate.text,),
            )
        )
        return template

    def _add_gap(self, act: Act, path: ValuePath, text: str) -> str:
        gap = Gap(self._gap, self._nodes.free(f"{slug_of(act.label)}-{named(path)}"), act, path, text)
        produced = self._sources.produced
        self._nodes.add(gap.node(produced, self._task.words))
        self._steps.append(gap.step(produced))
        self._questions.append(gap.question())
        self._bounds.append(Bound(argument=spell(path), source=gap.source, confidence="low"))
        return f"${{{gap.source}}}"

    def _literal(self, value: object, path: ValuePath) -> object:
        return self.inputs.literal(value, path) if isinstance(value, str) else value

    def _ask_tied(self, act: Act, path: ValuePath, tied: Sequence[Candidate]) -> None:
        places = [one.template[2:-1] for one in tied]
        shown = ", ".join(f"`{place}`" for place in places[:3]) + (", …" if len(places) > 3 else "")
        self._ask(
            f"call {act.number}: `{spell(path)}` may be {shown}; the value of the session is kept",
            f"--bind {act.number}.{spell(path)}={places[0]}",
        )

    def _ask_constant(self, act: Act, path: ValuePath, text: object) -> None:
        """Ask about text that is the same each time, though it may come from a result."""
        source = find_wording(text, path, self._sources.produced, self.inputs.is_said)
        if source is not None:
            self._related.add(source.id)
            shown = "results[0]" if source.is_loop else shown_output(source)
            self._ask(
                f"call {act.number}: `{spell(path)}` is the same text each time; should it come from a result?",
                f"--bind {act.number}.{spell(path)}={source.id}.{shown}",
            )

    def _ask(self, text: str, settle: str = "") -> None:
        self._questions.append(Question(text=text, settle=settle))

    def _name(self, act: Act) -> str:
        return self._nodes.free(slug_of(act.label))
