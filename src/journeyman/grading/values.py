"""Values in free text: money, dates, ids, numbers, percentages and phone numbers, with where they stand.

Every expression here takes linear time: runs of digits are bounded or possessive, and matches start only where a
run starts, so no text can make one slow. Nothing here knows of sentences, cues or speakers.

    >>> [(value.type, value.value) for value in Scanner([]).scan("$1,010.50 on March 5, 2026")]
    []
    >>> slots = [Slot("due", "money", ["due"]), Slot("due_date", "date", ["due"])]
    >>> [(value.type, value.value) for value in Scanner(slots).scan("$1,010.50 on March 5, 2026")]
    [('money', 1010.5), ('date', '2026-03-05')]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

from journeyman.task import Scalar
from journeyman.world.lexicon import Slot, SlotType

_NUM = r"(?:\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,6}+)?|\d{1,15}+(?:\.\d{1,6}+)?)(?!\w|[.,]\d)"
_UNITS = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SPELT = rf"(?:{_TENS})(?:[-\s](?:{_UNITS}))?|{_TEENS}|{_UNITS}"
_MONEY = re.compile(
    rf"(?P<minus>(?<![^\s(])[-−])?(?<![\w$€£¥])(?:US)?(?P<sign>[$€£¥])\s?(?P<a>{_NUM})(?!\s?(?:million|billion|thousand)\b)"
    rf"|(?<!\w)(?P<code>USD|EUR|GBP)\s?(?P<b>{_NUM})"
    rf"|(?<![\w.,$€£¥-])(?:(?P<c>{_NUM})|(?P<words>{_SPELT})(?=\s(?:US )?(?:dollar|buck|cent|euro|pound)))"
    rf"\s?(?P<unit>US dollars?|dollars?|bucks|USD|cents?|euros?|EUR|GBP|pounds?)\b"
    rf"(?:,?\s(?:and\s)?(?P<cents>\d{{1,2}})\scents?\b)?"
    r"|(?<![\w.,$€£¥-])(?P<d>\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,2})?|\d{1,12}+(?:\.\d{1,2})?)(?P<after>[$€£¥])(?![\w$€£¥])",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATE = re.compile(
    r"(?<![\w-])(?P<y1>\d{4})(?P<gap>[-/])(?P<m1>\d{2})(?P=gap)(?P<d1>\d{2})(?![\d/-])"
    rf"|(?<!\w){_MONTH.format('m2')}\s(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?!\w)(?:,?\s(?P<y2>\d{{4}})(?!\w|[.,]\d))?"
    rf"|(?<![\w.,$/-])(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH.format('m3')}(?:,?\s(?P<y3>\d{{4}})(?!\w|[.,]\d))?"
    r"|(?<![\w./-])(?P<m4>\d{1,2})/(?P<d4>\d{1,2})/(?P<y4>\d{4}|\d{2})(?![\w/])"
    r"|(?<![\w./$-])(?P<d5>\d{1,2})\.(?P<m5>\d{1,2})\.(?P<y5>\d{4})(?!\w|[.,]\d)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\w:.,$/-])(?:(?P<h1>\d{1,2}):(?P<m1>\d{2})(?P<s1>\s?[ap]\.?m\b\.?)?Z?"
    r"|(?P<h2>\d{1,2})(?P<s2>\s?[ap]\.?m\b\.?)"
    r"|(?P<h3>\d{1,2})\.(?P<m3>\d{2})(?P<s3>)(?=\s?(?:utc|gmt|hours|local|o'clock)\b))(?![\w:])",
    re.IGNORECASE,
)
_PERCENT = re.compile(rf"(?<![\w.,$-])(?P<n>{_NUM})\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)
_PHONE = re.compile(
    r"(?<![\w.-])(?:\+?1[-. ]?)?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?![\w-])"
    r"|(?<![\w.-])\d{3}-\d{4}(?![\w-])|(?<![\w.-])\+?\d{10,11}+(?![\w-])"
)
_NUMBER = re.compile(rf"(?<![\w.,$€£¥#/-])(?P<n>{_NUM})(?![%/]|-\w)")
_WORDS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
    if word != "one"  # "one moment", "this one": far more often a pronoun than a count
}
_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(_WORDS)})(?![\w-])", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_PHONE_SHAPE = re.compile(r"\+?[\d\s().-]{7,20}")
_PARTIAL_DATE = re.compile(r"--\d\d-\d\d")


class Value(NamedTuple):
    """A value read from text. `slots` are the slots it could belong to; [start, end) counts characters."""

    type: SlotType
    value: Scalar
    slots: frozenset[str]
    start: int
    end: int


class Scanner:
    """Finds the values that the slots of a lexicon can take; text for which no slot cares is not looked at."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        names: dict[str, frozenset[str]] = {}
        patterns: dict[str, set[str]] = {}
        for slot in slots:
            names[slot.type] = names.get(slot.type, frozenset()) | {slot.name}
            if slot.type == "id" and slot.pattern:
                patterns.setdefault(slot.pattern, set()).add(slot.name)
        self._names = names
        self._patterns = [_IdPattern(pattern, owners) for pattern, owners in patterns.items()]
        self._any_id = _union(list(patterns))

    def scan(self, text: str) -> list[Value]:
        """All values in `text`, in order. A stretch of text is read once: an id that holds a number is no number."""
        has_digit = _DIGIT.search(text) is not None
        ids: list[Value] = []
        if self._any_id is None or self._any_id.search(text):
            ids = [value for p in self._patterns if has_digit or not p.needs_digit for value in p.find(text)]
        found = [value for value in ids if not str(value.value).isdigit()]
        lower = text.lower()
        if has_digit or any(unit in lower for unit in _SPELT_UNITS):
            for kind, pattern, read, hints in _READERS:
                # Money and dates are looked for even if no slot takes them, so that their digits are nothing else.
                if not any(hint in lower for hint in hints):
                    continue
                found += _clear(_scan(kind, pattern, read, text, self._names.get(kind, frozenset())), found)
            digits = [value for value in ids if str(value.value).isdigit()]
            phones = _scan("phone", _PHONE, _phone, text, self._names["phone"]) if "phone" in self._names else []
            found += _clear(digits + phones, found)
        if "number" in self._names:
            found += _clear(_scan("number", _NUMBER, _number, text, self._names["number"]), found)
            found += _clear(_scan("number", _WORD, _word, text, self._names["number"]), found)
        return sorted((value for value in found if value.slots), key=lambda value: (value.start, value.end))


def _union(patterns: list[str]) -> re.Pattern[str] | None:
    """One expression that finds whether a text holds any id at all; None where groups forbid to join them."""
    if any("(?P" in pattern or re.search(r"\\[1-9]", pattern) for pattern in patterns):
        return None
    joined = "|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)"
    return re.compile(rf"(?<![\w-])(?:{joined})", re.IGNORECASE)


class _IdPattern:
    """Ids of one form. Case is ignored where an id has a digit ("ln-0001"), and respected where it has none."""

    def __init__(self, pattern: str, owners: set[str]) -> None:
        plain = re.sub(r"\\.", "", pattern)
        self._expression = re.compile(rf"(?<![\w-])(?:{pattern})(?!\w|-\w)", re.IGNORECASE)
        self._exact = re.compile(pattern)
        self._owners = frozenset(owners)
        self._upper = not any(char.islower() for char in plain)
        self.needs_digit = "\\d" in pattern and "?" not in plain and "|" not in plain

    def find(self, text: str) -> list[Value]:
        """Ids in `text`, in upper case where the pattern has no lower case letter."""
        values = []
        for match in self._expression.finditer(text):
            body = match.group()
            if _DIGIT.search(body) or self._exact.fullmatch(body):
                values.append(
                    Value("id", body.upper() if self._upper else body, self._owners, match.start(), match.end())
                )
        return values


def spoken_equal(said: Scalar, meant: object) -> bool:
    """Whether two values of a dialogue are the same to a person.

    Numbers are compared to the cent; strings without regard to case and spacing; a date said without its year
    (`--03-05`) equals that day of any year; phone numbers are compared by their digits. A number is never a string.
    """
    if isinstance(said, str) and isinstance(meant, str):
        if said == meant:
            return True
        a, b = _plain(said), _plain(meant)
        if a == b:
            return True
        if _PARTIAL_DATE.fullmatch(a):
            return a[2:] == b[5:10] and len(b) >= 10
        if _PARTIAL_DATE.fullmatch(b):
            return b[2:] == a[5:10] and len(a) >= 10
        if _PHONE_SHAPE.fullmatch(a) and _PHONE_SHAPE.fullmatch(b) and not _iso(a) and not _iso(b):
            return phone_digits(a) == phone_digits(b)
        return False
    if said is None or meant is None or isinstance(said, bool) or isinstance(meant, bool):
        return said == meant and (said is None) == (meant is None)
    if isinstance(said, int | float) and isinstance(meant, int | float):
        return abs(said - meant) < 0.005
    return False


def phone_digits(text: str) -> str:
    """The digits of a phone number, without a leading 1 of eleven."""
    digits = "".join(char for char in text if char.isdigit())
    return digits[1:] if len(digits) == 11 and digits[0] == "1" else digits


def as_argument(value: Scalar, name: str) -> Scalar:
    """`value` as the argument or column `name` holds it: money goes into `…_cents` as whole cents."""
    if name.endswith("_cents") and isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * 100) if abs(value) < 1e12 else value
    return value


def from_column(value: Scalar, name: str) -> Scalar:
    """The inverse of `as_argument`: what people say for the content of column `name`."""
    if name.endswith("_cents") and isinstance(value, int) and not isinstance(value, bool):
        return value / 100
    return value


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _iso(text: str) -> bool:
    return len(text) >= 10 and text[4] == "-" and text[7] == "-"


def _clear(new: list[Value], taken: list[Value]) -> list[Value]:
    if not taken or not new:
        return new
    return [v for v in new if not any(v.start < other.end and other.start < v.end for other in taken)]


_Read = Callable[["re.Match[str]"], Scalar]


def _scan(kind: SlotType, pattern: re.Pattern[str], read: _Read, text: str, slots: frozenset[str]) -> list[Value]:
    values = []
    for match in pattern.finditer(text):
        value = read(match)
        values.append(Value(kind, value, slots if value is not None else frozenset(), match.start(), match.end()))
    return values


def _money(match: re.Match[str]) -> Scalar:
    digits = match["a"] or match["b"] or match["c"] or match["d"]
    amount = float(digits.replace(",", "")) if digits else float(_spelt(match["words"]))
    unit = (match["unit"] or match["code"] or match["sign"] or match["after"]).lower()
    if unit.startswith("cent"):
        amount /= 100
    elif unit not in {"$", "usd", "dollar", "dollars", "us dollar", "us dollars", "bucks"}:
        return None  # another currency is no amount of ours, and no number either
    if match["cents"] and not unit.startswith("cent"):
        amount += int(match["cents"]) / 100
    return round(-amount if match["minus"] else amount, 2)


def _spelt(words: str) -> int:
    """A number from one to ninety-nine in words."""
    total = 0
    for word in words.lower().replace("-", " ").split():
        for factor, first, names in ((1, 1, _UNITS), (1, 10, _TEENS), (10, 2, _TENS)):
            if word in names.split("|"):
                total += (names.split("|").index(word) + first) * factor
    return total


def _date(match: re.Match[str]) -> Scalar:
    group = match.groupdict()
    for part in "12345":
        if group[f"d{part}"]:
            year, month, day = group[f"y{part}"], group[f"m{part}"], group[f"d{part}"]
            if year and len(year) == 2:
                year = f"20{year}"
            number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
            try:
                full = date(int(year) if year else 2000, number, int(day)).isoformat()
            except ValueError:
                # A day that does not exist is asserted all the same, and is wrong; 30/2/2026 may be another order.
                if part == "4":
                    return None
                full = f"{year or 2000}-{number:02d}-{int(day):02d}"
            return full if year else f"--{full[5:]}"
    return None


def _time(match: re.Match[str]) -> Scalar:
    hour = int(match["h1"] or match["h2"] or match["h3"])
    minute = int(match["m1"] or match["m3"] or 0)
    half = (match["s1"] or match["s2"] or "").strip().lower()[:1]
    if hour > (12 if half else 24) or minute > 59:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02d}:{minute:02d}"


def _number(match: re.Match[str]) -> Scalar:
    text = match["n"].replace(",", "")
    return float(text) if "." in text else int(text)


def _word(match: re.Match[str]) -> Scalar:
    return _WORDS[match.group().lower()]


def _phone(match: re.Match[str]) -> Scalar:
    return phone_digits(match.group())


_SPELT_UNITS = ("dollar", "buck", " cent")
_READERS: tuple[tuple[SlotType, re.Pattern[str], _Read, tuple[str, ...]], ...] = (
    ("date", _DATE, _date, (*_MONTHS, "-", "/", ".")),
    ("time", _TIME, _time, (":", "am", "pm", "a.m", "p.m", ".")),
    ("money", _MONEY, _money, ("$", "€", "£", "¥", "usd", "dollar", "cent", "bucks", "eur", "gbp", "pound")),
    ("percent", _PERCENT, _number, ("%", "cent")),
)
"""(type, expression, reader, what the text must hold for it to be worth looking)."""
