"""What a node class promises about running it again."""

import pytest

from pflow.core.flow_safe import flow_safe


@pytest.mark.requirement("security:9.1-1")
def test_flow_safe_marks_a_class_as_pure() -> None:
    @flow_safe
    class Pure: ...

    assert getattr(Pure, "purity") == "pure"
    assert isinstance(Pure, type)


def test_flow_safe_without_cache_marks_a_class_as_reading() -> None:
    @flow_safe(cache=False)
    class Reads: ...

    assert getattr(Reads, "purity") == "read"
    assert getattr(flow_safe()(Reads), "purity") == "pure"
