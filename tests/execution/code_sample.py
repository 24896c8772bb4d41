"""Python as authors write it in documents: code with all its names, and code that reads what nothing defines."""

from __future__ import annotations

_CLEAN = r"""
result = sum(x for x in items)
---
def f(n):
    return 1 if n < 2 else n * f(n - 1)
result = f(3)
---
import json
result = json.loads(items[0])
---
from math import sqrt as root
result = root(4)
---
for result in items: pass
---
if (result := len(items)) > 3: print(result)
---
with open("/dev/null") as result: pass
---
import os.path as result
---
def set_it():
    global result
    result = 1
set_it()
---
class A:
    x = 1
    y = x + 1
    def go(self): return self.x, __class__
result = A().go()
---
match items:
    case [first, *rest]: result = first
    case {"a": a, **more}: result = a, more
    case str() as s: result = s
    case _: result = None
---
try:
    result = 1
except ValueError as e:
    result = str(e)
---
try:
    unicode
except NameError:
    unicode = str
result = unicode("x")
---
try:
    import numpy as np
except ImportError:
    np = None
result = np is None
---
result = [y for x in items for y in x if y]
---
result = {k: v for k, v in enumerate(items)}
---
from functools import wraps
def deco(f):
    @wraps(f)
    def inner(*args, **kw): return f(*args, **kw)
    return inner
@deco
def go(): return 1
result = go()
---
exec("zz = 1")
result = zz
---
globals()["zz"] = 1
result = zz
---
from math import *
result = sqrt(4)
---
result = (lambda a, b=2, *c, d, **e: a + b)(1, d=2)
---
async def main():
    async with thing() as t: return t
def thing(): pass
import asyncio
result = 1
---
x: int = 1
y: Undefined
result = x
---
def f(a: Foo) -> Bar: return a
result = 1
---
a, (b, *c) = 1, (2, 3)
result = a, b, c
---
a[0] = 1 if (a := [0]) else 2
result = a
---
del items
result = 1
---
result = __name__, __doc__
---
print(f"{items!r:>{len(items)}}")
result = f"{[i for i in items]}"
---
def outer():
    x = 1
    def inner():
        nonlocal x
        x += 1
        return x
    return inner()
result = outer()
---
import sys
print("x", file=sys.stderr)
result = 1
---
class Meta(type): pass
class B(metaclass=Meta):
    z = [i for i in range(3)]
result = B.z
---
while True:
    result = 1
    break
else:
    result = 2
---
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: "Later" = None
result = P(1).x
---
result = list(map(str, filter(None, sorted(items, key=lambda i: -i))))
---
def gen():
    yield from items
    got = yield 1
result = list(gen())
---
result = [*items, *range(3)]
result[0:2] = []
---
import xml.etree.ElementTree
result = xml.etree.ElementTree.tostring
---
result: list = items
---
result = (yield_ := 1)
---
try:
    pass
finally:
    result = 1
---
try:
    missing_thing
except Exception:
    result = 1
---
from collections import Counter, defaultdict
counts = Counter(w for line in items for w in line.split())
result = counts.most_common(3)
---
def f():
    import re
    return re.findall
result = f()
---
if items:
    value = 1
result = value
---
assert isinstance(items, list), f"got {type(items)}"
result = 1
---
result = vars()["items"]
---
import builtins
builtins.foo = 1
result = foo
---
import __main__
__main__.foo = 1
result = foo
---
result = {**{"a": 1}, "b": items}
---
type_ = lambda: result_
result_ = 1
result = type_()
---
def later(): return helper()
def helper(): return 2
result = later()
---
for i, (a, b) in enumerate(zip(items, items)):
    pass
result = i
---
raise SystemExit
result = 1
---
import datetime as dt
result = dt.datetime.now(dt.timezone.utc).isoformat()
---
result = [x for x in items if (last := x)]
print(last)
---
async def f():
    return [x async for x in aiter(items)]
result = 1
---
result = exit
---
class A:
    def m(self):
        def n(): return super().__init__()
        return n
result = A
---
result = NotImplemented, Ellipsis, __debug__
"""

CLEAN = tuple(code.strip("\n") for code in _CLEAN.split("---\n"))
"""Code that starts with the variable `items`."""

UNKNOWN = (
    ("result = itemz", "itemz", "error"),
    ("def f(): return foo\nresult = f()", "foo", "warning"),
    ("result = [x for x in itms]", "itms", "warning"),
    ("if items:\n    print(nope)\nresult=1", "nope", "warning"),
    ("result = data['x']\n", "data", "error"),
    ("class A:\n    y = 1\n    def m(self): return y\nresult = A", "y", "warning"),
    ("result = json.dumps(items)", "json", "error"),
    ("x += 1\nresult = y", "y", "error"),
    ("[q for q in items]\nresult = q", "q", "error"),
)
"""The same, with the name that is unknown and how sure that is."""
