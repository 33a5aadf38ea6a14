"""The Markdown body of an entry, taken apart by its fixed headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from denpex_kb.catalog.findings import FileBroken, Finding
from denpex_kb.model.entry import Body, ChecklistItem, Fix, Snippet, Variant, Verification

HEADINGS = (
    "Summary",
    "Symptoms",
    "Root cause",
    "Affected setups",
    "Fix",
    "Verify",
    "Checklist",
    "If this is not it",
)
_BOX = re.compile(r"^\[[ xX]\]\s+")
_CODE_SPAN = re.compile(r"`+\s?(.+?)\s?`+")
# only blocks are told apart here; what stands inside a paragraph stays text
_PARSER = MarkdownIt("commonmark").disable("inline")


class _Section:
    """The tokens and the source lines under one heading."""

    def __init__(self, title: str, line: int) -> None:
        self.title = title
        self.line = line  # from 0, within the body
        self.tokens: list[Token] = []

    def text(self, lines: list[str], end: int) -> str:
        return "\n".join(lines[self.line + 1 : end]).strip()


def parse_body(markdown: str, file: str, first_line: int) -> Body:
    """Take a body apart.

    Raises:
        FileBroken: a heading is missing, empty or out of order, or a section lacks what it must hold.
    """
    lines = markdown.splitlines()
    sections = _sections(_PARSER.parse(markdown))
    findings = [Finding(file, first_line + line, message) for line, message in _heading_faults(sections, len(lines))]
    if findings:
        raise FileBroken(findings)
    ends = [section.line for section in sections[1:]] + [len(lines)]
    texts = {section.title: section.text(lines, end) for section, end in zip(sections, ends, strict=True)}
    by_title = {section.title: section for section in sections}
    for title, text in texts.items():
        if not text:
            findings.append(Finding(file, first_line + by_title[title].line, f"`## {title}` is empty; fill it"))
    fix = _fix(by_title["Fix"])
    verify = _verification(by_title["Verify"])
    checklist = _checklist(by_title["Checklist"])
    for title, missing in (
        (
            "Fix",
            ""
            if fix.variants and all(v.steps or v.snippets or v.notes for v in fix.variants)
            else "a step or code in every variant",
        ),
        ("Verify", "" if verify.command else "a fenced code block with the command"),
        ("Verify", "" if verify.expect else "a line `Expect: …` that says what it prints when the fix worked"),
        ("Checklist", "" if len(checklist) >= 3 else "at least three `- [ ]` boxes"),
    ):
        if missing:
            findings.append(Finding(file, first_line + by_title[title].line, f"`## {title}` needs {missing}"))
    if findings:
        raise FileBroken(findings)
    return Body(
        summary=" ".join(texts["Summary"].split()),
        symptoms=texts["Symptoms"],
        root_cause=texts["Root cause"],
        affected_setups=texts["Affected setups"],
        fix=fix,
        verify=verify,
        checklist=checklist,
        if_not=texts["If this is not it"],
        markdown=markdown.strip() + "\n",
    )


def _sections(tokens: list[Token]) -> list[_Section]:
    sections: list[_Section] = []
    heading = False
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag in ("h1", "h2") and token.level == 0:
            sections.append(_Section(tokens[index + 1].content.strip(), token.map[0] if token.map else 0))
            heading = True
        elif heading:
            heading = token.type != "heading_close"
        elif sections:
            sections[-1].tokens.append(token)
    return sections


def _heading_faults(sections: list[_Section], length: int) -> Iterator[tuple[int, str]]:
    titles = [section.title for section in sections]
    for title in HEADINGS:
        if title not in titles:
            yield length - 1, f"the heading `## {title}` is missing; the headings are, in order: {', '.join(HEADINGS)}"
    for section in sections:
        if section.title not in HEADINGS:
            yield section.line, f"unknown heading {section.title!r}; the headings are, in order: {', '.join(HEADINGS)}"
    if not set(HEADINGS) ^ set(titles) and titles != list(HEADINGS):
        yield sections[0].line, f"headings out of order or twice; the order is: {', '.join(HEADINGS)}"


def _blocks(tokens: list[Token]) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, text, language) of the paragraphs, list items and code blocks of a section."""
    items: list[list[str]] = []  # one list of texts per open list item
    for token in tokens:
        if token.type == "list_item_open":
            items.append([])
        elif token.type == "list_item_close":
            text = "\n".join(items.pop())
            if not items:
                yield "item", text, ""
            else:
                items[-1].append("- " + text.replace("\n", " "))
        elif token.type in ("fence", "code_block"):
            yield "code", token.content.rstrip("\n"), token.info.strip().split(" ")[0]
        elif token.type == "inline":
            if items:
                items[-1].append(token.content)
            else:
                yield "text", token.content, ""


def _variants(tokens: list[Token]) -> Iterator[tuple[str, list[Token]]]:
    title, heading = "", False
    held: list[Token] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            yield title, held
            title, held, heading = tokens[index + 1].content.strip(), [], True
        elif heading:
            heading = token.type != "heading_close"
        else:
            held.append(token)
    yield title, held


def _variant(title: str, tokens: list[Token]) -> Variant:
    when: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    steps: list[str] = []
    snippets: list[Snippet] = []
    notes: list[str] = []
    for kind, text, language in _blocks(tokens):
        if kind == "text" and text.startswith(("When:", "Needs:")):
            lines = text.split("\n")
            while lines and lines[0].startswith(("When:", "Needs:")):
                line = lines.pop(0)
                spans = tuple(match.group(1) for match in _CODE_SPAN.finditer(line))
                when, needs = (spans, needs) if line.startswith("When:") else (when, spans)
            if rest := "\n".join(lines).strip():
                notes.append(rest)
        elif kind == "text":
            notes.append(text)
        elif kind == "item":
            steps.append(text)
        else:
            snippets.append(Snippet(language, text))
    return Variant(title, when, tuple(steps), tuple(snippets), tuple(notes), needs)


def _fix(section: _Section) -> Fix:
    parts = list(_variants(section.tokens))
    head = _variant("", parts[0][1])
    variants = [_variant(title, tokens) for title, tokens in parts[1:]]
    summary = head.notes[0] if head.notes else ""
    if head.steps or head.snippets or not variants:
        variants.insert(0, Variant("Fix", head.when, head.steps, head.snippets, head.notes[1:], head.needs))
    return Fix(" ".join(summary.split()), tuple(variants))


def _verification(section: _Section) -> Verification:
    command, language, expect, notes = "", "bash", "", []
    for kind, text, info in _blocks(section.tokens):
        if kind == "code" and not command:
            command, language = text, info or "bash"
        elif text.startswith("Expect:"):
            expect = " ".join(text.removeprefix("Expect:").split())
        elif kind != "code":
            notes.append(text)
        else:
            notes.append(f"```{info}\n{text}\n```")
    return Verification(command, language, expect, tuple(notes))


def _checklist(section: _Section) -> tuple[ChecklistItem, ...]:
    items: list[ChecklistItem] = []
    for kind, text, _ in _blocks(section.tokens):
        box = _BOX.match(text)
        if kind == "item" and box:
            said = " ".join(text[box.end() :].split())
            spans = _CODE_SPAN.findall(said)
            items.append(ChecklistItem(said, spans[-1] if spans else None))
    return tuple(items)
