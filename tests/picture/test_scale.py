"""The ruler of the picture: pauses are shortened, the order stays."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from denpex_kb.model.diagnosis import Course
from denpex_kb.render.picture.scale import Labels, Scale, duration

MOMENTS = st.lists(st.floats(0, 1e7, allow_nan=False), min_size=1, max_size=60)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(MOMENTS)
def test_later_never_stands_to_the_left(moments: list[float]) -> None:
    scale = Scale(moments)

    places = [scale.x(moment) for moment in sorted(moments)]

    assert all(before <= after + 1e-6 for before, after in pairwise(places))
    assert all(0 <= place <= 100 for place in places)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(MOMENTS)
def test_labels_do_not_touch(moments: list[float]) -> None:
    ticks = Scale(moments).ticks(moments[:1], Labels(Course()))

    assert all(after.x - before.x >= 14.9 for before, after in pairwise(ticks))


def test_a_pause_of_ten_minutes_leaves_room_for_seconds() -> None:
    scale = Scale([0.0, 30.0, 31.0, 631.0, 632.0, 636.0])

    assert scale.x(31.0) - scale.x(30.0) > 2
    assert [pause.text for pause in scale.pauses()] == ["30 s", "10 min"]


def test_times_are_written_as_the_clock_showed_them() -> None:
    assert Labels(Course((), "2025-11-03T08:00:00.000", 60.0)).of(12.4) == "08:00:12"
    assert Labels(Course((), "2025-11-03T23:59:50.000", 60.0)).of(12.4) == "04 Nov 00:00:02"
    assert Labels(Course((), "--11-03T08:00:00.000", 60.0)).day == "03 Nov"
    assert Labels(Course()).of(75) == "+1 min 15 s"


def test_durations_are_short() -> None:
    assert [duration(item) for item in (0.2, 59, 61, 660, 7260, 200_000)] == [
        "200 ms",
        "59 s",
        "1 min 1 s",
        "11 min",
        "2 h 1 min",
        "2 days",
    ]
