"""The attack suite: scripted policies that try to earn what they did not do. See `base` for what an attack is."""

from journeyman.rollout.attacks.base import MARK, Attack, Standard
from journeyman.rollout.attacks.deeds import DEEDS
from journeyman.rollout.attacks.hostile import HOSTILE
from journeyman.rollout.attacks.words import WORDS

ATTACKS: dict[str, Attack] = {attack.name: attack for attack in (*HOSTILE, *WORDS, *DEEDS)}
"""Every attack, by name, in the order in which they are played."""

__all__ = ["ATTACKS", "MARK", "Attack", "Standard"]
