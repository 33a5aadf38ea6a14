"""One attempt, before anybody is accused: its events, exits, hangs and the relations between its ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from denpex_kb.derive.blocks import mark_values
from denpex_kb.derive.clocks import Clocks
from denpex_kb.derive.collectives import Relation, compare, find_hangs, rank_list
from denpex_kb.derive.compared import alone_in_hang, beside_the_steps, differs, without_input
from denpex_kb.derive.devices import idle_device, slow_device
from denpex_kb.derive.events import CLASSES, classify
from denpex_kb.derive.exits import Exit, read_exits
from denpex_kb.derive.groups import away_from_groups
from denpex_kb.derive.locate import (
    aside,
    behind_in_log,
    left_early,
    lost_peer,
    named_lost,
    on_main_process,
    silent_in,
    stuck_watchdog,
)
from denpex_kb.derive.nouns import Overtaken, Scene
from denpex_kb.derive.order import as_ends, dated
from denpex_kb.derive.places import place_of
from denpex_kb.derive.progress import ended_while_others_work
from denpex_kb.derive.ranks import Ranks
from denpex_kb.derive.ras import ras_relation
from denpex_kb.model.events import Line, Reading, Seen
from denpex_kb.model.rules import RuleSet


def build_scene(
    readings: Sequence[Reading],
    seen: Sequence[Seen],
    progress: Sequence[Seen],
    rules: RuleSet,
    ranks: Ranks,
    clocks: Clocks,
    overtaken: Overtaken,
    reasons: Mapping[str, str],
    attempt: int,
) -> Scene:
    """Collect what one attempt shows.

    Args:
        readings: everything that was read.
        seen: the matched lines of this attempt.
        progress: its lines of progress.
        rules: the compiled catalog.
        ranks: the ranks of the job.
        clocks: the times of all lines.
        overtaken: lines (file, number) after which the run made progress.
        reasons: mark id → why such a line is collateral.
        attempt: the number of the attempt.
    """
    collateral = frozenset(rule.id for rule in rules.rules if rule.role == "collateral")
    events = classify(seen, rules, collateral, ranks, clocks)
    ends = list(_exits(readings, rules, ranks, attempt))
    exits = [(rank, end) for rank, end in ends if rank is not None]
    unnamed = tuple(end for rank, end in ends if rank is None)
    events = dated(as_ends(events, (end for _, end in ends)), exits, clocks)
    standing = [event for event in events if not overtaken.get((event.line.file, event.line.number), False)]
    hangs = find_hangs(events)
    lasts = last_lines(readings, attempt)
    relations: list[Relation] = []
    if (early := left_early(events, exits, ranks)) is not None:
        relations.append(early)
    for first in (
        stuck_watchdog(standing, hangs, clocks),
        alone_in_hang(hangs, _through(seen, rules), _leaving(seen, rules), ranks),
        away_from_groups(hangs, ranks),
    ):
        relations += () if first is None else (first,)
    for hang in hangs:
        stated = compare(hang, ranks)
        silent = silent_in(hang, standing, lasts, ranks, clocks, exits) if hang.group != "fingerprint" else []
        # several ranks that have yet to enqueue it may be late for one that is busy with something else
        relations += silent + stated if _busy_alone(stated, silent) else stated + silent
    ended = ended_while_others_work(readings, seen, progress, rules)
    alone = ""
    if ended and not any(event.kind in ("collateral", "summary") for event in events):
        alone = f"{rank_list(sorted(ended))} reached the end, others stand in mid-step"
        relations.append(
            Relation("rank-exited-early", alone, tuple(sorted(ended)), tuple(ended.values()), culprit=True)
        )
    failing = any(event.kind in ("collateral", "summary", *CLASSES) for event in events)
    ended_by_force = failing or bool(exits) or bool(unnamed) or any(event.kind == "teardown" for event in events)
    lagging, still = ras_relation(seen, ranks, rules, failing=failing)
    idle = None if failing else idle_device(seen, ranks, rules)
    still = still or (idle.text if idle is not None else "")
    for relation in (
        lagging,
        differs(events, ranks),
        without_input(seen, relations, rules),
        beside_the_steps(seen, progress, hangs, relations, rules),
        idle,
        on_main_process(seen, progress, hangs, rules),
        behind_in_log(seen, rules) if ended_by_force else None,  # in mid-flight some rank is always behind
        aside(readings, seen, progress, events, rules) if ended_by_force and not hangs else None,
        lost_peer(events, ranks),
        named_lost(events),
    ):
        if relation is not None:
            relations.append(relation)
    slow = slow_device(seen, ranks, rules)
    # a slow device may be why its rank is late, but a failure of another rank does not follow from it
    if slow is not None and (not failing or any(found.culprit and found.ranks == slow.ranks for found in relations)):
        relations.append(slow)
    return Scene(
        tuple(events),
        tuple(exits),
        unnamed,
        tuple(hangs),
        tuple(relations),
        ranks,
        clocks,
        overtaken,
        reasons,
        alone,
        still,
    )


def _busy_alone(stated: Sequence[Relation], silent: Sequence[Relation]) -> bool:
    several = any(relation.name == "rank-lags" and len(relation.ranks) > 1 for relation in stated)
    return several and any(item.name == "busy-while-others-wait" and len(item.ranks) == 1 for item in silent)


def _leaving(seen: Iterable[Seen], rules: RuleSet) -> dict[int, Seen]:
    """Return the ranks that say why they leave the loop, with their last such lines."""
    return {
        item.line.rank: item for item in seen if item.line.rank is not None and "leaves" in mark_values(item, rules)
    }


def _through(seen: Iterable[Seen], rules: RuleSet) -> dict[int, Seen]:
    """Return the ranks that say of themselves that they are through, with their lines."""
    found: dict[int, Seen] = {}
    for item in seen:
        values = mark_values(item, rules)
        if "through" not in values and values.get("status") != "0":
            continue
        rank = int(values["through_rank"]) if "through_rank" in values else item.line.rank
        if rank is not None:
            found.setdefault(rank, item)
    return found


def _exits(
    readings: Iterable[Reading], rules: RuleSet, ranks: Ranks, attempt: int
) -> Iterable[tuple[int | None, Exit]]:
    ends = [item for reading in readings for item in read_exits(reading, rules) if item.seen.line.attempt == attempt]
    # a block that states the global rank of a process tells whose its local rank on other lines is
    stated = {(item.seen.line.file, item.pid): item.rank for item in ends if item.rank is not None and item.pid}
    for item in ends:
        known = item.rank if item.rank is not None else stated.get((item.seen.line.file, item.pid or 0))
        if known is not None:
            yield known, item
        elif item.tasks:
            if ranks.task_is_rank:
                yield from ((task, item) for task in item.tasks)
        else:
            rank = ranks.of_pid(item.pid, item.host) if item.pid is not None else None
            if rank is None and item.local_rank is not None:
                rank = ranks.of_local(item.local_rank, item.host)
            yield (rank if _told(item, ranks) else None), item


def _told(exit_: Exit, ranks: Ranks) -> bool:
    """DeepSpeed names the command that it started last, whichever process failed: only another number tells."""
    return exit_.named or exit_.local_rank is None or ranks.per_node is None or exit_.local_rank != ranks.per_node - 1


def last_lines(readings: Iterable[Reading], attempt: int) -> dict[int, Line]:
    """Return the last line of every rank, as far as the ends of files show them."""
    lasts: dict[int, Line] = {}
    for reading in readings:
        for line in reading.lasts.values():
            if line.rank is None or line.attempt != attempt:
                continue
            held = lasts.get(line.rank)
            if held is None or (line.clock or 0.0) >= (held.clock or 0.0):
                lasts[line.rank] = line
    return lasts


def learn_skew(readings: Iterable[Reading], rules: RuleSet, clocks: Clocks) -> None:
    """Estimate the skew of the hosts' clocks by the steps that several of them print."""
    steps: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for reading in readings:
        for item in reading.progress:
            step, time, place = mark_values(item, rules).get("step"), clocks.of(item.line), place_of(item.line)
            if step is not None and time is not None and place is not None:
                steps[step].append((place, time))
    shared: list[tuple[str, float]] = []
    for times in steps.values():
        if len({place for place, _ in times}) > 1:
            middle = sorted(time for _, time in times)[len(times) // 2]
            shared += [(place, time - middle) for place, time in times]
    clocks.learn_skew(shared)
