"""What a training script's syntax tree shows; importing this registers every observation."""

from denpex_kb.check.shapes import data, deepspeed, devices, hub, ranks, sharded, steps
from denpex_kb.check.shapes.registry import SHAPES, Hit

__all__ = ["SHAPES", "Hit", "data", "deepspeed", "devices", "hub", "ranks", "sharded", "steps"]
