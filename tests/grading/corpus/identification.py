"""Questions that ask for identification, the same in every world."""

from __future__ import annotations

Row = tuple[str, list[str]]

SAME: list[Row] = [
    ("Please verify your identity.", ["pin"]),
    ("That PIN didn't match. Please double-check it and try again.", ["pin"]),
    ("I need to verify your identity first.", ["pin"]),
    ("Could you verify your identity, please?", ["pin"]),
    ("Before we go on, I have to verify your identity.", ["pin"]),
    ("Can you confirm your identity?", ["pin"]),
    ("The PIN is wrong. Could you try again?", ["pin"]),
    ("That PIN is not correct. Please try again.", ["pin"]),
    ("Your PIN did not match our records. Please check it once more.", ["pin"]),
    ("The PIN you gave doesn't match. Please enter it again.", ["pin"]),
    ("That PIN was wrong. Would you double-check it?", ["pin"]),
    ("Please authenticate yourself.", ["pin"]),
    ("Please identify yourself.", ["pin"]),
    ("I have verified your identity.", []),
    ("Thanks, your identity is verified.", []),
    ("Your PIN matches. I will try again to load the page.", []),
    ("Please try turning it off and on again.", []),
    ("The page didn't load. Please try again later.", []),
    ("I will check it once more.", []),
]
