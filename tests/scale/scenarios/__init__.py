"""The scenarios: what happens to a job, and what is true of it."""

from __future__ import annotations

from tests.scale.scenarios import alike, attempts, crashes, hangs, machines, quiet
from tests.scale.scenarios.registry import SCENARIOS, Scenario

__all__ = ["SCENARIOS", "Scenario", "alike", "attempts", "crashes", "hangs", "machines", "quiet"]
