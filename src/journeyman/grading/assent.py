"""Whether a customer's answer to a proposal is a yes, a no, or nothing to rely on.

Rules over the words of the answer. A sentence that says what to do ("go ahead", "don't charge it") weighs more than one
that merely opens with yes or no, which may answer another question. What is conditional, doubtful or contradictory is
no answer. Questions are passed over. It knows no world: a message that names a record is read like any other.
"""

from __future__ import annotations

import re
from typing import Literal

from journeyman.grading.phrases import tokens_of
from journeyman.grading.sentences import PLAIN, split

_HARMLESS = re.compile(
    r"\b(?:no (?:problem|problems|worries|objections?|doubt|issue|issues|trouble|need to ask)|not a problem"
    r"|(?:don't|do not|didn't|never|haven't|have not|have never|won't|will not)(?: ever)? (?:had|have|has|got|see|saw) (?:a|any)? ?(?:problems?|issues?|objections?)"
    r"|(?:don't|do not|wouldn't|would not) mind|why not|can't wait(?: any longer)?|cannot wait(?: any longer)?|nothing against (?:it|that)|not at all"
    r"|thank(?:s| you) for not \w+(?: more| it| me)?|if (?:that's|that is) what it takes|if (?:you must|you have to|necessary|needed|need be|that's needed))\b"
)
_AGREEABLE = re.compile(
    r"\b(?:no (?:problem|problems|objections?|issues?)|not a problem|(?:a|any) ?(?:problems?|issues?|objections?) with|(?:don't|do not|wouldn't|would not) mind)\b"
)
"""Of the harmless ones, those that agree by themselves."""
_NO_WORD = re.compile(
    r"^(?:oh |well |um |uh |hmm |hm |sorry |thanks |thank you )*(?:no|nope|nah|never|negative|no way)\b"
)
_YES_WORD = re.compile(
    r"^(?:oh |well |um |uh |hmm |hm |and |great |perfect |good |thanks |thank you |so )*(?:yes|yep|yeah|yup|ya|y|sure|ok|okay|of course|certainly|definitely"
    r"|absolutely|agreed|alright|all right|fine|correct|right|exactly|gladly|affirmative|granted|by all means|indeed|confirmed|approved|authorized|authorised)\b"
)
_TAKING_NOTE = re.compile(
    r"^(?:oh |well |and |so )*(?:ok|okay|alright|all right|fine|right|correct|good|great|exactly|sure|indeed)\b"
)
"""Words that as often only take note of what was said."""
_TELLING = re.compile(
    r"^(?:(?:sir|madam|please|so|well|and|then|now|thanks|thank you|thank you very much|of course|yes|ok|okay|sure) )*"
    r"(?:my|our|i|i'm|i've|i'll|i'd|we|we're|we've|it|it's|its|there|there's|here|here's|he|she|they|that is (?:my|our|the)|that's (?:my|our|the)"
    r"|this is|the|his|her|for (?:telling|letting|explaining|checking|the|your|that|confirming|looking|helping)|whatever|pin|\d+)\b"
)
"""What follows a yes that answers another question or thanks: "right, my PIN is …", "OK, thanks for telling me"."""
_DOUBT_THE_YES = re.compile(r"\b(?:what|how much|which|why|how come)\b")
"""Questions beside a yes that leave it open what it was said to."""
_AFTER_ALL_NO = re.compile(r"\bbut (?:no|nope|no thanks|no thank you|no way|not|not now)$")
_DO_NOT = re.compile(
    r"\b(?:don't|do not|won't|will not|wouldn't|would not|can't|cannot|not|never|nothing|isn't|didn't|haven't|refuse|refuses"
    r"|decline|object|stop|cancel that|forget it|leave it|leave (?:my|the|everything|things)|hold off|rather not|disagree"
    r"|without my|against it|no longer|reject)\b"
)
_DO = re.compile(
    r"\b(?:go ahead|go for it|go on with|do (?:it|that|so|this)|please do|please proceed|proceed|carry on|let's do|(?:i|we) (?:do |fully |hereby )?(?:agree|consent|approve|accept|confirm|authorize|authorise|allow)"
    r"|i'm (?:ok|okay|fine|happy|good) with|i am (?:ok|okay|fine|happy|good) with|you (?:may|can|have my|have the|are welcome to)"
    r"|(?:sounds|sound|looks|seems) (?:good|great|fine|right|perfect|ok|okay|reasonable)|works for me|that works|fine (?:with|by) me|(?:ok|okay|all right|alright) (?:with|by) me"
    r"|that's (?:fine|ok|okay|good|right|correct|alright|all right|perfect|great)|that is (?:fine|ok|okay|good|right|correct|alright|all right|perfect|great)"
    r"|(?:is|are) (?:fine|ok|okay|alright|all right|acceptable|no problem)|(?:i would|i'd|we would|we'd|i do|we do) like (?:you )?to(?! (?:know|hear|ask|think|see|understand|talk|speak|check|read|be told)\b)"
    r"|(?:i|we) want (?:you )?to(?! (?:know|hear|ask|think|see|understand|talk|speak|check|read|be told)\b)"
    r"|that would be (?:fine|ok|okay|good|great|perfect|lovely)|(?:my|our) (?:permission|consent|blessing|approval|ok|okay)"
    r"|(?:please|just) (?:charge|take|use|refund|change|add|remove|book|open|send|replace|restore|suspend|cancel|waive|amend|move|switch|port|release|make|put|set|turn)"
    r"|(?:no problem|no objections?|not a problem|don't mind|do not mind|nothing against|no issue|by all means|be my guest|suits me|i'd like that|i would like that|i want that|i'll take it|yes please|go right ahead|let's go))\b"
)
_DOUBT = re.compile(
    r"\b(?:if|unless|maybe|perhaps|possibly|depends|depending|provided|as long as|only|not sure|unsure|think about|think it over|sleep on"
    r"|later|first|before|until|might|guess|wait|instead|let me see|let me check|on condition|in that case|though|except|hmm+)\b"
)
_HARD_NO = re.compile(r"\b(?:absolutely|definitely|certainly|of course|please|sure) (?:not|don't|do not)\b")


_SIGNS = str.maketrans({"👍": "yes ", "✅": "yes ", "👎": "no "})


def assent(text: str) -> Literal["yes", "no"] | None:
    """What a customer's message answers to a proposal made just before it.

    Returns:
        `yes` or `no`; None where the message does not answer, answers with conditions, or contradicts itself.
    """
    strong: set[str | None] = set()
    weak: set[str | None] = set()
    plain = text.translate(PLAIN).translate(_SIGNS)
    asking = noted = False
    last: str | None = None
    for span in split(plain):
        words = " ".join(tokens_of(plain[span.start : span.end]).words)
        if span.question:
            asking |= _DOUBT_THE_YES.search(words) is not None
            continue
        verdict, firm = _sentence(words)
        if verdict:
            (strong if firm else weak).add(verdict)
            noted |= verdict == "yes" and _DO.search(words) is None
            last = verdict if firm else last
    if strong == {"doubt", "no"} and last == "no":
        return "no"  # "you can't be serious. No."
    if asking and noted and strong | weak == {"yes"}:
        return None  # "OK. Which flight was it again?"
    for verdicts in (strong, weak):
        if "doubt" in verdicts or len(verdicts) > 1:
            return None
        if verdicts:
            return "yes" if "yes" in verdicts else "no"
    return None


def _sentence(words: str) -> tuple[str | None, bool]:
    """(`yes`, `no`, `doubt` or None, whether the sentence says what to do or not to do)."""
    bare = " ".join(_HARMLESS.sub(" ", words).split())
    told = _DO.search(words) is not None or _AGREEABLE.search(words) is not None
    opening = _YES_WORD.match(words) or _YES_WORD.match(bare)
    yes = opening is not None
    no = _NO_WORD.match(bare) is not None
    refused = _DO_NOT.search(bare) is not None
    if _HARD_NO.search(bare) or _AFTER_ALL_NO.search(bare):
        return "no", True
    if not (told or yes or no or refused):
        return None, False
    short = len(words.split()) <= 3
    if (yes or told) and (no or refused):
        if no and told and not refused:
            return "doubt", True  # "no, go ahead": who knows
        return ("no", True) if refused and not yes and not _contrasted(bare) else ("doubt", True)
    if opening is not None and not told and _TELLING.match(opening.string[opening.end() :].strip()):
        return None, False
    if _DOUBT.search(bare) and (yes or told):
        return "doubt", True
    if told:
        return "yes", True
    if yes:
        return "yes", short
    if refused:
        return ("no", True) if not _doubted(bare) else (None, False)
    return "no", short


def _contrasted(words: str) -> bool:
    return " but " in f" {words} "


def _doubted(words: str) -> bool:
    """Doubt or ignorance is no refusal: "I'm not sure", "I don't know"."""
    return re.search(r"\b(?:sure|know|understand|remember|certain|recall|have|hear|see|think|get)\b", words) is not None
