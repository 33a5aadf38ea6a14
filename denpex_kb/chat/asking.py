"""The question that tells most: facts that part the entries in view, and lines that only one of them prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from denpex_kb.chat.belief import Chances, entropy, expected_gain
from denpex_kb.chat.case import Case, CaseReader
from denpex_kb.chat.contrast import contrasts
from denpex_kb.chat.likelihood import line_chances, value_chances
from denpex_kb.chat.missing import PART, log_itself
from denpex_kb.chat.question import Choice, Question
from denpex_kb.chat.told import Fits, Passed, Sign, Signs, Stated, Told, asked, handed_in, sign_key, unseen
from denpex_kb.chat.weighing import missing_for
from denpex_kb.model.conditions import Condition, spell
from denpex_kb.model.facts import FactDeclaration
from denpex_kb.model.rules import Rule

LEAST = 0.05  # bits below which a question is not worth the user's time
LEAST_WITH_ANSWER = 0.2  # the same where an answer stands already, if only of the kind of failure
_LEADING = 8  # entries whose lines are worth showing
_MOST_LINES = 5  # in one question
_LEAST_SHARE = 0.01  # of the belief, for an entry's line to be among several
_MOST_VALUES = 7  # in one question
_READING = 0.02  # bits that each further line costs a tired reader
# Before anything was asked: one of four is not known, and half of the time there is no more to paste.
# Who could not tell which sign fits can most often tell of no other.
_UNSURE_FACT, _UNSURE_LINES, _UNSURE_SIGNS, _UNSURE_PARTS = (1.0, 4.0), (0.6, 4.0), (0.5, 2.0), (1.0, 2.5)
_LITTLE = 0.1  # share of the belief
_LOTTERY = 0.4  # what a question of lines or signs is worth then
_LONGEST = 600  # characters of an example


_OVER = frozenset({"crash", "oom"})  # no step completes any more


Offer = tuple[Sign, str, frozenset[str]]  # a line, the strength that it lends its entry, all entries that it matches


def next_question(case: Case, told: Sequence[Told], reader: CaseReader, *, last: bool = False) -> Question | None:
    """Return the question with the largest expected gain of information; None where none is worth asking.

    Args:
        case: where the conversation stands.
        told: what was told.
        reader: has the index.
        last: no further question will be asked, so that it is the one for the output itself.
    """
    done = asked(told)
    passed = [item for item in told if isinstance(item, Passed)]
    parts_unknown = sum(item.key.startswith(PART) for item in passed)
    facts_unknown = len(passed) - parts_unknown
    facts_asked = facts_unknown + sum(isinstance(item, Stated) for item in told)
    lines = [item for item in told if isinstance(item, Signs)]
    lines_unknown = sum(not item.seen and not item.shift for item in lines)
    unsure_fact = (_UNSURE_FACT[0] + facts_unknown) / (_UNSURE_FACT[1] + facts_asked)
    unsure_lines = (_UNSURE_LINES[0] + lines_unknown) / (_UNSURE_LINES[1] + len(lines))
    unsure_parts = (_UNSURE_PARTS[0] + parts_unknown) / (_UNSURE_PARTS[1] + parts_unknown + len(handed_in(told)))
    signs = [item for item in told if isinstance(item, Fits)]
    signs_unknown = sum(not item.shift for item in signs)
    unsure_signs = (_UNSURE_SIGNS[0] + signs_unknown) / (_UNSURE_SIGNS[1] + len(signs))
    found = [
        *_facts(case, done, reader, unsure_fact),
        *_lines(case, done, reader, unsure_lines, unseen(told)),
        *contrasts(case.view.belief, done, reader.index, unsure_signs, _unchosen(signs)),
        *_parts(case, done, unsure_parts),
        *(_log(case, done, unsure_parts) if _says_little(case) else ()),
    ]
    least = LEAST_WITH_ANSWER if case.answered and case.settles else LEAST
    # where little was told, one line or sign of very many entries is a lottery: a fact of the run says more
    worth = _LOTTERY if not case.has_log and _says_little(case) else 1.0
    for offered in ([] if last else found, _again(case, done, unsure_parts)):
        best = max(
            (question for question in offered if question.gain >= least),
            key=lambda question: question.gain * (worth if question.kind in ("lines", "signs") else 1.0),
            default=None,
        )
        if best is not None:
            return best
    return None


def cross_check(case: Case, told: Sequence[Told], reader: CaseReader) -> Question | None:
    """Ask once for lines of the look-alikes of an answer that rests on a line which the user says they see.

    Such a line may stand in the output of a look-alike as well; of a whole log the matcher would know.
    """
    best = case.diagnosis.hypotheses[0].id
    lines = [item for item in told if isinstance(item, Signs)]
    shown = {sign.entry for item in lines for sign in item.shown}
    if sum(bool(item.seen) for item in lines) != 1 or not any(sign.entry == best for sign in lines[-1].seen):
        return None
    out = {item.id for item in case.diagnosis.ruled_out}
    others = [item.id for item in reader.index.entry(best).meta.lookalikes]
    others += [item.id for item in case.diagnosis.hypotheses[1:_LEADING]]
    offers: dict[str, Offer] = {}
    for entry_id in dict.fromkeys(others):
        rule = reader.index.by_id[entry_id]
        if entry_id in shown or entry_id in out or rule.standing != "specific" or len(offers) == _MOST_LINES - 1:
            continue
        strong = [offer for offer in _signs(entry_id, case, frozenset(), reader) if best not in offer[2]]
        if strong:
            offers[entry_id] = max(strong, key=lambda offer: _ORDER[offer[1]])
    if not offers:
        return None
    question = _line_question(list(offers.values()), case, _rules(case, reader), 0.0, {})
    return structs.replace(question, text="To be safe: do you see any of these as well?")


def _unchosen(signs: Sequence[Fits]) -> frozenset[str]:
    return frozenset(entry for item in signs for entry in item.shown if entry not in item.chosen)


def _rules(case: Case, reader: CaseReader) -> dict[str, Rule]:
    return {entry_id: reader.index.by_id[entry_id] for entry_id in case.view.titles}


# --- facts


def _facts(case: Case, done: frozenset[str], reader: CaseReader, unsure: float) -> Iterator[Question]:
    rules = _rules(case, reader)
    if not rules:
        return
    spoken = reader.index.spoken(rules)
    by_find = {fact.find: fact for fact in reader.index.kb.facts if fact.type == "version"}
    for fact in reader.index.kb.facts:
        if not _open(fact, case, done):
            continue
        conditions = _conditions(fact.name, rules.values())
        version = fact if fact.type == "version" else by_find.get(fact.find)
        if version is not None:
            # what decides may follow from a version, which is what a person can tell
            if conditions and _open(version, case, done):
                yield _version_question(fact, version, conditions, case, rules, unsure)
        elif fact.name == "progress" and not conditions:
            continue  # what is seen says it already
        elif values := _values(fact, conditions, reader):
            question = _value_question(fact, values, case, rules, spoken, unsure)
            if question is not None:
                yield question


def _open(fact: FactDeclaration, case: Case, done: frozenset[str]) -> bool:
    """Say whether a fact is worth asking for: not known, not asked for already, and no detail of the catalog's own."""
    if fact.name in case.facts or fact.name in done or not fact.telling:
        return False
    if fact.name == "progress" and _OVER & {str(item.value) for item in case.facts.of("symptom")}:
        return False
    return not (fact.name == "symptom" and case.seen_as)


def _conditions(name: str, rules: Iterable[Rule]) -> list[Condition]:
    found: dict[Condition, None] = {}
    for rule in rules:
        signed = [signature.condition for signature in rule.signatures if signature.condition is not None]
        for condition in (*rule.requires, *rule.excludes, *signed):
            if condition.fact == name:
                found.setdefault(condition)
    return list(found)


def _values(fact: FactDeclaration, conditions: Sequence[Condition], reader: CaseReader) -> list[str]:
    if fact.type == "bool":
        return ["true", "false"]
    if fact.values:
        return [value for value in fact.values if value not in fact.concluded]
    if fact.type != "int" or not conditions:
        return []
    named = {spell(words.value) for words in reader.index.kb.words if words.fact == fact.name}
    named |= {value for condition in conditions if condition.operator != "in" for value in condition.values}
    return sorted(named, key=lambda value: (len(value), value))


def _value_question(
    fact: FactDeclaration,
    values: list[str],
    case: Case,
    rules: Mapping[str, Rule],
    spoken: Mapping[str, frozenset[str]],
    unsure: float,
) -> Question | None:
    chances = value_chances(fact.name, values, rules, spoken)
    gain = expected_gain(case.view.belief, chances) * (1 - unsure)
    if gain < LEAST:
        return None
    likely = [sum(case.view.belief.of(entry) * share for entry, share in chance.items()) for chance in chances]
    order = sorted(range(len(values)), key=lambda place: -likely[place])[:_MOST_VALUES]
    if len(values) <= _MOST_VALUES:
        order = list(range(len(values)))  # the order that people know
    choices = tuple(_choice(fact, values[place], number) for number, place in enumerate(order, 1))
    shown = tuple(chances[place] for place in order)
    return Question(
        fact.name,
        "value",
        fact.question,
        fact.find,
        choices,
        gain,
        _speaks(choices, shown, case),
        shown,
        fact.name,
    )


def _choice(fact: FactDeclaration, value: str, number: int) -> Choice:
    if fact.type == "bool":
        return Choice("y" if value == "true" else "n", "yes" if value == "true" else "no", value == "true")
    if fact.type == "int":
        return Choice(value, "", int(value))
    return Choice(str(number), value, value)


def _speaks(
    choices: Sequence[Choice], chances: Sequence[Chances], case: Case
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Say which of the leading entries the answers speak for; the likeliest answers first, equal ones together."""
    belief = case.view.belief
    leading = belief.best(4)
    told: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for choice, chance in zip(choices, chances, strict=False):
        mean = sum(chance.get(entry, 0.0) for entry in leading) / max(len(leading), 1)
        for_it = tuple(entry for entry in leading if chance.get(entry, 0.0) > 1.25 * mean)
        if for_it and len(for_it) < len(leading):
            likely = sum(belief.of(entry) * chance.get(entry, 0.0) for entry in leading)
            told.setdefault(for_it, []).append((likely, choice.label or choice.key))
    ordered = sorted(told.items(), key=lambda item: -sum(likely for likely, _ in item[1]))
    return tuple((" or ".join(label for _, label in named[:3]), for_it) for for_it, named in ordered)


def _version_question(
    fact: FactDeclaration,
    asked_for: FactDeclaration,
    conditions: Sequence[Condition],
    case: Case,
    rules: Mapping[str, Rule],
    unsure: float,
) -> Question:
    """Ask for a version; of its answers only inside and outside of the first condition are told apart."""
    condition = conditions[0]
    inside: dict[str, float] = {"": 0.5}
    for entry_id, rule in rules.items():
        required = any(item.fact == fact.name for item in rule.requires)
        excluded = any(item.fact == fact.name for item in rule.excludes)
        inside[entry_id] = 0.95 if required else 0.05 if excluded else 0.5
    outside = {entry_id: 1.0 - chance for entry_id, chance in inside.items()}
    gain = expected_gain(case.view.belief, [inside, outside]) * (1 - unsure)
    named = tuple(entry for entry in case.view.belief.best(4) if inside.get(entry, 0.5) != 0.5)
    why = ((str(condition), named),) if named else ()
    return Question(asked_for.name, "version", fact.question, asked_for.find, (), gain, why, (), asked_for.name)


# --- more of the output


def _parts(case: Case, done: frozenset[str], unsure: float) -> Iterator[Question]:
    doubt = entropy(list(case.view.belief.shares.values()))
    for part in case.missing:
        if part.key not in done:
            gain = part.share * doubt * (1 - unsure)
            yield Question(part.key, "paste", part.text, part.find, (), gain, (), part=part)


def _again(case: Case, done: frozenset[str], unsure: float) -> Iterator[Question]:
    """Ask, where nothing else tells more, for the output itself: it decides most, and costs most to look for."""
    doubt = entropy(list(case.view.belief.shares.values()))
    yield from _log(case, done, unsure)
    for part in case.missing:
        key = f"{PART}again"
        # the user was shown by now where to find what was not at hand
        if part.key in done and part.key not in case.met and key not in done:
            text = f"Nothing else would tell more than this one. {part.text}"
            yield Question(key, "paste", text, part.find, (), part.share * doubt * (1 - unsure), (), part=part)


def _log(case: Case, done: frozenset[str], unsure: float) -> Iterator[Question]:
    """Ask for the run's output, where there is none yet."""
    part = log_itself()
    if not case.has_log and case.view.titles and part.key not in done:
        doubt = entropy(list(case.view.belief.shares.values()))
        yield Question(part.key, "paste", part.text, part.find, (), part.share * doubt * (1 - unsure), (), part=part)


def _says_little(case: Case) -> bool:
    """Say whether what was told fits so much that questions about one entry or another are a lottery."""
    best = case.view.belief.best(1)
    return not best or case.view.belief.of(best[0]) < _LITTLE


# --- lines


def _lines(
    case: Case, done: frozenset[str], reader: CaseReader, unsure: float, denied: Mapping[str, int]
) -> Iterator[Question]:
    rules = _rules(case, reader)
    offers: list[Offer] = []
    belief = case.view.belief
    for entry_id in belief.best(2 * _LEADING):
        if belief.of(entry_id) < _LEAST_SHARE and offers:
            break
        if rules[entry_id].standing != "specific" or rules[entry_id].role != "initiating":
            continue  # that it happened says nothing of what stands behind it
        if len(offers) == _LEADING:
            break
        best: tuple[float, Offer] | None = None
        for offer in _signs(entry_id, case, done, reader):
            gain = expected_gain(belief, _chances([offer], rules, denied))
            if best is None or gain > best[0] + 1e-9:
                best = (gain, offer)
        if best is not None and best[1][0].line not in {sign.line for sign, _, _ in offers}:
            offers.append(best[1])
    shown = [[offer] for offer in offers[:3]]
    shown += [offers[:count] for count in range(2, min(len(offers), _MOST_LINES) + 1)]
    for group in shown:
        yield _line_question(group, case, rules, unsure, denied)


def _chances(group: Sequence[Offer], rules: Mapping[str, Rule], told: Mapping[str, int]) -> list[dict[str, float]]:
    return line_chances([(sign.entry, strength, alike) for sign, strength, alike in group], rules, told)


def _line_question(
    group: Sequence[Offer], case: Case, rules: Mapping[str, Rule], unsure: float, denied: Mapping[str, int]
) -> Question:
    chances = _chances(group, rules, denied)
    gain = expected_gain(case.view.belief, chances) * (1 - unsure) - _READING * (len(group) - 1)
    signs = [sign for sign, _, _ in group]
    if len(signs) == 1:
        text = f"Do you see a line like this {_place(signs[0].where)}?"
        choices: tuple[Choice, ...] = (Choice("y", signs[0].line, signs[0]),)
    else:
        wheres = {sign.where for sign in signs}
        text = f"Which of these lines do you see{' ' + _place(wheres.pop()) if len(wheres) == 1 else ''}?"
        choices = tuple(Choice(str(number), sign.line, sign) for number, sign in enumerate(signs, 1))
    why = tuple(
        (choice.key if len(signs) > 1 else "yes", (sign.entry,)) for choice, sign in zip(choices, signs, strict=True)
    )
    key = "+".join(sign_key(sign) for sign in signs)
    worded = not case.has_log
    return Question(key, "lines", text, _where_to_look(signs), choices, gain, why, tuple(chances), worded=worded)


_PLACES = {
    "log": "in the log",
    "stack": "in the stacks of the ranks",
    "kernel": "in the kernel's log",
    "scheduler": "in the scheduler's output",
    "launcher": "in the launcher's output",
    "config": "in the config",
}
_LOOK = {
    "log": "search every rank's log, its end first",
    "stack": "py-spy dump --pid PID on every rank, or the traceback",
    "kernel": "dmesg -T | tail -200, on the node that failed",
    "scheduler": "the job's output file; sacct -j JOB; kubectl describe pod POD",
    "launcher": "the output of torchrun, deepspeed or accelerate launch",
    "config": "the config that the run was started with",
}


def _place(where: str) -> str:
    return _PLACES.get(where, "in the log")


def _where_to_look(signs: Sequence[Sign]) -> str:
    return "; ".join(dict.fromkeys(_LOOK.get(sign.where, _LOOK["log"]) for sign in signs))


def _signs(entry_id: str, case: Case, done: frozenset[str], reader: CaseReader) -> Iterator[Offer]:
    """Go through the lines of an entry that are worth asking about: not seen yet, and they would prove something."""
    rule = reader.index.by_id[entry_id]
    seen = frozenset(case.hits.get(entry_id, {}))
    for signature in reader.index.entry(entry_id).meta.signatures:
        if signature.pattern is None or signature.name in seen or f"{entry_id}/{signature.name}" in done:
            continue
        strength: str = signature.strength
        if strength in ("part", "supporting"):
            if not missing_for(rule, seen, case.facts, signature.name):
                continue
            strength = "strong"
        example = next((line for line in signature.examples if len(line) <= _LONGEST), None)
        alike = reader.entries_with(example) if example is not None else {}
        if example is None or entry_id not in alike:
            continue
        if any(_ORDER[_strength(other, example, reader)] > _ORDER[signature.strength] for other in alike):
            continue  # it would prove another entry
        pattern = alike[entry_id][0].matches[0].pattern
        yield Sign(entry_id, signature.name, pattern, example.strip(), signature.where), strength, frozenset(alike)


_ORDER = {"part": 0, "supporting": 1, "strong": 2, "decisive": 3}


def _strength(entry_id: str, line: str, reader: CaseReader) -> str:
    """Return the most that a line lends an entry."""
    named = {name for name, _ in reader.names_in(entry_id, line)}
    strengths = [item.strength for item in reader.index.by_id[entry_id].signatures if item.name in named]
    return max(strengths, key=_ORDER.__getitem__, default="part")
