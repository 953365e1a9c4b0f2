# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit's report as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator

from .records import AuditFinding, AuditReport

_HEADINGS = {
    "forbidden": "forbidden",
    "suspicious": "to be looked at by a person",
    "note": "told, and allowed",
}


def report_lines(report: AuditReport) -> Iterator[str]:
    """The findings by severity, one line each with what it is, where it is and why it matters; last the verdict."""
    for severity, heading in _HEADINGS.items():
        found = [finding for finding in report.findings if finding.severity == severity]
        if found:
            yield f"{heading}:"
            yield from (f"  {finding_line(finding)}" for finding in found)
            yield ""
    for note in report.notes:
        yield f"note: {note}"
    yield verdict(report)


def finding_line(finding: AuditFinding) -> str:
    """`image 'wall.png': File …. MATCHES THE REFERENCE: frame 12 (0.98). Where: material 'Wall' …. The protocol …`."""
    parts = [finding.what]
    if finding.matches:
        parts.append(_matches(finding))
    if finding.where:
        parts.append(f"where: {'; '.join(finding.where)}")
    return f"{finding.type} '{finding.name}': {'. '.join(_sentence(part) for part in [*parts, finding.why])}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _matches(finding: AuditFinding) -> str:
    told = []
    for match in finding.matches[:3]:
        part = "" if match.how == "whole" else "a part of "
        which = f"{match.picture}: " if match.picture else ""
        told.append(f"{which}{part}frame {match.frame} ({match.score:.2f})")
    more = f" and {len(finding.matches) - 3} more" if len(finding.matches) > 3 else ""
    return f"MATCHES THE REFERENCE: {', '.join(told)}{more}"


def verdict(report: AuditReport) -> str:
    """The last line: passed or not, and how much was found."""
    counts = {name: sum(finding.severity == name for finding in report.findings) for name in _HEADINGS}
    told = f"{counts['forbidden']} forbidden, {counts['suspicious']} to be looked at, {counts['note']} notes"
    return f"{'passed' if report.passed else 'NOT PASSED'}: {told}"
