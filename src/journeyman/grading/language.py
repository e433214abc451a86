"""The words that belong to the language, not to a world: how people ask, agree, refuse, deny and hedge.

Lists to read and extend. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from journeyman.grading.phrases import PhraseIndex


def _product(*parts: str) -> list[str]:
    """Every combination of the alternatives (separated by |) of each part."""
    phrases = [""]
    for part in parts:
        phrases = [f"{head} {tail}".strip() for head in phrases for tail in part.split("|")]
    return phrases


def add_language(index: PhraseIndex) -> None:
    """Register the words that belong to the language, not to a world.

    Kinds: `propose`, `generic`, `condition`, `request`, `opener`, `refuse`, `double`, `announce`, `negate`, `hedge`, `modal`,
    `done`. Owners tell the phrases of a kind apart: `neutral` ones only hide shorter ones; of the announcements, `that` ones
    reach into a clause with "that"; of the refusals, `firm` ones hold now even where "yet" stands beside them, and `whole`
    ones refuse all that the sentence names; of the hedges, `request` ones hedge no refusal.
    """
    for kind, groups in _LANGUAGE.items():
        for owner, phrases in groups:
            for phrase in phrases:
                index.add(kind, owner, phrase)


def _words(text: str) -> Iterable[str]:
    return text.split("|")


_OK = "ok|okay|alright|all right|fine|acceptable"
_AGREE = (
    "confirm|agree|approve|consent|authorize|authorise|say yes|give me the go ahead|are ok with it|are happy with that"
)
_ASSENT = "permission|consent|approval|authorization|authorisation|confirmation|agreement|ok|okay|go ahead"
_NOT = (
    "can't|cannot|can not|could not|couldn't|will not|won't|am unable to|are unable to|unable to|not able to"
    "|isn't able to|aren't able to|wasn't able to|weren't able to"
)

_LANGUAGE: dict[str, list[tuple[str, Iterable[str]]]] = {
    "propose": [
        ("ask", _product("shall|should|may|can|could", "i|we")),
        ("ask", _product("do you want|would you like|want|are you ready for|you'd like", "me|us", "to")),
        ("ask", _product("would you like|do you want", "to|a|an|the")),
        ("ask", _product("are you|would you be", "happy|comfortable", "with")),
        ("ask", _product("are you|would you be", "willing|prepared", "to")),
        ("ask", _product("would you", "accept|agree to|approve|allow|consent to")),
        ("ask", _product("can|could|may", "i|we", "have|get", "your", _ASSENT)),
        ("ask", _product("can|could|may|shall|should", "i|we", "get you")),
        ("ask", _product("do|will|would", "you give", "|me|us", "your", _ASSENT)),
        ("ask", _product("let me know|tell me", "if|whether", "i|we", "may|can|should|shall")),
        ("ask", _product("would you|do you", "still|also|now|really", "like|want", "me to|us to|to")),
        ("ask", _product("is it|is that|would it be|are you|would you be", _OK, "if|for|to|with|that")),
        (
            "ask",
            _product("would you mind if|how about if|how about|what if|ok if|okay if|are you happy", "i|we|for me to"),
        ),
        ("ask", _product("do you", "agree|consent|authorize|authorise|approve|accept|allow|permit")),
        ("ask", _product("do i have", "your", _ASSENT)),
        ("confirm", _product("can|could|would|will|do", "you", "confirm|please confirm|authorize|authorise|approve")),
        ("confirm", _words("please confirm|please approve|please authorize|confirm that|to confirm")),
        ("confirm", _product("i need|i will need|i'll need|i'd need|i would need", "your", _ASSENT)),
        ("", _product("may|can|could|shall|should", "i|we", "have|get|ask|know|help|see|assist|do for you|suggest")),
    ],
    "generic": [
        (
            "",
            _product("shall|should|may|can|could", "i|we", "proceed|go ahead|do that|do this|do so|continue|do it"),
        ),
        ("", _product("do you want|would you like", "me to|us to|to", "proceed|go ahead|do that|do this|do so|do it")),
        ("", _product("is that|is this|would that be|are you", _OK)),
        ("", _product("does that|does this", "work|sound ok|sound good|sound right|suit you")),
        ("", _product("do you", "agree|confirm|consent|approve|authorize this|authorize that|accept")),
        ("", _product("do i have", "your", _ASSENT)),
        ("", _product("can|could", "you", "confirm|please confirm|approve")),
        ("", _words("please confirm|please approve|please authorize|just say yes|reply yes|say yes|answer yes")),
        ("tail", _words("ok|okay|alright|all right|agreed")),
        ("", _words("ok with you|okay with you|all right with you|sound good|sounds good|yes or no")),
    ],
    "condition": [
        ("", _product("if you|once you|when you|after you|as soon as you|unless you", _AGREE)),
        ("", _product("if you'd|if you would", "like|prefer")),
        ("", _product("if you", "want|wish|like|prefer|please")),
        ("", _product("if that's|if that is|if this is|if it's|if it is", _OK)),
        ("", _product("if that|if this", "works|sounds good|suits you")),
        ("", _product("with|upon|on|after|pending", "your", _ASSENT)),
    ],
    "request": [
        (
            "yes",
            _product("please", "provide|tell|give|share|enter|send|state|specify|supply|confirm|verify|let me know"),
        ),
        (
            "yes",
            _words("tell me|give me|let me know|provide me|share your|provide your|confirm your|verify your|send me"),
        ),
        (
            "yes",
            _product("i need|i will need|i'll need|i'd need|we need|i require|i would need", "your|the|you to|a|an"),
        ),
        ("yes", _product("i need|i will need|i'll need|we need", "to know|to have|to verify your|to confirm your")),
        (
            "yes",
            _words(
                "may i have|can i have|could i have|may i ask|may i know|could you|can you|would you|what is|what's"
            ),
        ),
        (
            "",
            _words(
                "let me know if|let me know whether|let me know when|let me know once|tell me if|please let me know if"
            ),
        ),
        ("", _product("please|would you", "let me know if|let me know when|let me know should")),
    ],
    "opener": [
        ("", _product("shall|should|may|can|could", "i|we")),
        ("", _product("do|did|would|could|can|will|are|have|were", "you")),
        ("", _product("is|does|was|would|will", "it|that|this|there|your")),
        (
            "",
            _words("what|which|when|where|who|why|how|do i have|want me to|ok|okay|alright|please confirm|please tell"),
        ),
    ],
    "refuse": [
        ("", _product(_NOT, "be able to|")),
        (
            "firm",
            _words(
                "not eligible|ineligible|not entitled|not possible|isn't possible|not allowed|not permitted|impossible"
            ),
        ),
        (
            "firm",
            _words(
                "don't qualify|doesn't qualify|does not qualify|do not qualify|not qualify|isn't eligible|aren't eligible"
            ),
        ),
        (
            "",
            [
                *_words("not covered|isn't covered"),
                *_product("must|have to|had to|need to|needed to", "decline|refuse|reject|deny"),
                *_words("did not approve|didn't approve|has not approved|hasn't approved"),
            ],
        ),
        (
            "",
            _words(
                "doesn't allow|does not allow|don't allow|do not allow|not refundable|non refundable|against our policy"
            ),
        ),
        (
            "whole",
            _words(
                "answer is no|answer is a no|answer remains no|answer has to be no|answer must be no|has to be a no"
            ),
        ),
        ("", _product("nobody|no one|none of us|neither of us", "can|could|may|will be able to")),
        (
            "firm",
            _words("not available|isn't available|not offer|don't offer|doesn't offer|not offered|no longer available"),
        ),
        (
            "",
            _words(
                "has been declined|have been declined|is declined|was declined|has been denied|was denied|is denied|has been rejected|was rejected|is rejected|has been refused|was refused|is refused"
                "|was not approved|has not been approved|is not approved|was turned down|has been turned down"
            ),
        ),
        (
            "",
            _words(
                "rules out|excludes|prohibits|forbids|prevents|there is no|there's no|there will be no|there can be no"
            ),
        ),
        (
            "firm",
            [
                *_words("no longer possible|not possible any more|too late to|too late for|out of the question"),
                *_product("has to|have to|must|needs to", "stay|remain|stand"),
            ],
        ),
        (
            "neutral",
            _product(
                "there is|there's|there will be|there was", "no", "fee|charge|cost|costs|price|extra charge|reason"
            ),
        ),
        ("firm", _product("isn't|aren't|is not|are not", "entitled|possible|available|eligible|allowed|permitted")),
        ("", _product("we", "don't|do not")),
        ("neutral", _product("we", "don't|do not", "have|see|find|know|need|want")),
        ("neutral", _product(_NOT, "find|see|locate|wait|verify|access|confirm|tell|hear|read|open|be sure|log in")),
        ("neutral", _words("can't help but|cannot help but|won't take long|won't be a problem|cannot be sure")),
    ],
    # What turns the refusals after it around: "nothing prevents", "it is not true that I cannot".
    "double": [
        (
            "",
            [
                *_product("not|isn't|never|wasn't", "true|right|correct|the case"),
                *_product("no reason|no reasons", "why|that|for me|not to|to refuse|to decline"),
                *_product("nothing|nobody|no rule", "prevents|stops|keeps|forbids|excludes|rules out|hinders"),
                *_product("nothing", "that|which", "prevents|stops|keeps|forbids|excludes|rules out|hinders"),
                *_words("never said|did not say|didn't say|can't be that|cannot be that|never refuse|don't refuse"),
            ],
        ),
    ],
    # What is going to be, may be or is due: no deed.
    "announce": [
        (
            "",
            [
                *_words(
                    "will|i'll|we'll|it'll|you'll|that'll|this'll|they'll|shall|going to|gonna|about to|let me|let us"
                ),
                *_words("let's|can|could|may|might|should|like to|i'd|we'd|want to|wants to|plan to|ready to|able to"),
                *_words("offer|offers|qualify for|qualifies for|eligible for|entitled to|owed|to pay|to be"),
                *_words("need to|needs to|has to|have to|must|before i|while i|once i|so that|in order to|as soon as"),
                *_words("until|would|due to you|planned|intend to"),
            ],
        ),
        ("that", _words("allow|allows|i propose|i suggest|i recommend")),
        (
            "neutral",
            [
                *_product(
                    "can|could|may|will|i'll|happy to|glad to|like to|pleased to|let me|i'd like to|able to",
                    "|now|also|gladly",
                    "see|tell|confirm|inform|say|report|let you know|find|assure|share",
                ),
                *_words("so that you|so that we know"),
            ],
        ),
    ],
    "negate": [
        ("", _words("nobody says|no one says|hardly|far from")),
        (
            "",
            _words(
                "not|no|never|without|cannot|neither|nor|none|unable|failed|declined|refused|instead of|rather than"
            ),
        ),
        (
            "",
            _words("other than|denied|fails|except|unlike|incorrect|wrong|mistaken|false|cancelled|canceled|reversed"),
        ),
        (
            "",
            [
                f"{verb}n't"
                for verb in [
                    "ca",
                    "could",
                    "wo",
                    "would",
                    "is",
                    "was",
                    "are",
                    "were",
                    "has",
                    "have",
                    "had",
                    "did",
                    "does",
                    "do",
                    "should",
                    "need",
                    "must",
                ]
            ],
        ),
        (
            "neutral",
            _words(
                "not only|no problem|no worries|not a problem|don't worry|do not worry|can't wait|why not|no longer than"
            ),
        ),
        (
            "neutral",
            _words("no later than|don't hesitate|do not hesitate|no doubt|not to worry|don't need to do anything"),
        ),
    ],
    "hedge": [
        ("neutral", _words("i would like to|we would like to|if you have any|if you have other|if you need anything")),
        (
            "",
            _words("usually|normally|generally|typically|in general|as a rule|ordinarily|in most cases|by default"),
        ),
        (
            "",
            _words(
                "if|unless|whether|suppose|assuming|might|maybe|perhaps|probably|possibly|likely|potentially|presumably"
            ),
        ),
        (
            "",
            _words(
                "i think|i believe|i guess|i assume|i suppose|i expect|seems|seem|appears|estimated|estimate|guess|could be"
            ),
        ),
        (
            "",
            _words(
                "would|should be|or so|ish|not sure|unsure|uncertain|roughly speaking|in theory|hypothetically|for example"
            ),
        ),
        (
            "",
            _product(
                "you|you've|you have|customer", "said|mentioned|asked|wanted|want|told|claimed|claim|reported|agreed"
            ),
        ),
        (
            "",
            _words("you'd like|you would like|as you said|according to you"),
        ),
        (
            "",
            _product(
                "you|you've|you have", "wrote|written|write|stated|quoted|say|think|believe|expected|feared|hoped"
            ),
        ),
        ("request", _words("your request|you are asking|you're asking|you asked for|you've asked for|you requested")),
        ("request", _words("you've requested|you have requested|you have asked for|customer requested")),
        (
            "",
            _product(
                "note|notes|remark|remarks|message",
                "mentions|mention|says|say|speaks|speak|claims|claim|states|demands|promises|quotes|suggests",
            ),
        ),
        ("neutral", _product("whatever|no matter what|what", "a|the|any|that|your", "note|remark|message", "says")),
        ("", _words("pretend|let's say|someone else's|somebody else's|neighbour's|neighbor's|last year your")),
    ],
    "modal": [
        (
            "",
            _words(
                "can|will|could|would|to|i'll|we'll|i'd|we'd|me|this'll|that'll|propose|suggest|recommend|about|ready"
            ),
        ),
    ],
    "intent": [
        ("will", _product("i'll|i will|i shall|i'm going to|i am going to|i'm about to|i am about to")),
        ("will", _words("let me|allow me to|i have to|i need to|i must|i'll have to|i'll need to")),
        ("will", _product("i", "just|also|now|only|still", "have to|need to")),
        ("we", _product("we'll|we will|let us|let's")),
        ("elided", _product("and|but", "will|am going to")),
        ("am", _words("i'm|i am")),
        ("wait", _product("one|a|just a|give me a", "moment|second|minute|moment please")),
        ("wait", _words("bear with me|hang on|please hold|please wait|stay on the line|hold the line")),
        ("wait", _product("hold on", "i|i'll|i'm|please|while|for|a|one|let")),
    ],
    "done": [
        ("", _words("approved|processed|issued|granted|applied|completed|arranged|given you|gave you|refunded|waived")),
    ],
}

WORKING = frozenset(
    _words(
        "add|amend|apply|arrange|book|cancel|change|charge|close|complete|connect|create|credit|document|do|email|e-mail"
        "|file|finish|hand|issue|lift|log|mail|make|note|open|order|prepare|proceed|process|put|record|refund|register|release|replace"
        "|restore|schedule|send|set|submit|suspend|switch|take|text|transfer|turn|update|waive|write"
    )
)
READING = frozenset(["check", "look", "pull", "read", "review", "see", "verify"])
"""What an agent says it will do. To look at something is often said of what follows at once: it needs a word of `FURTHER`."""
FURTHER = frozenset(["now", "also", "then", "next", "still", "additionally", "finally", "too"])
AT_ONCE = FURTHER.union(
    _words("just|first|quickly|go|ahead|and|immediately|right|away|briefly|only|to"),
)
"""Words between an intent and its work: "I'll now also note it"."""
SPEAKING = frozenset(["add that", "make sure", "put it", "take your", "see if", "do my", "note that"])
"""Beginnings that only sound like work."""
PUT_OFF = frozenset(
    _words(
        "tomorrow|tonight|later|within|week|weeks|days|hours|month|months|monday|tuesday|wednesday|thursday|friday|saturday"
        "|sunday|once|when|whenever|until|unless|if|afternoon|evening|future"
    )
)
MODALS = frozenset(["may", "can", "could", "must", "should", "shall", "will", "would", "cannot", "can't"])
QUANTITY_HEDGES = frozenset(
    [
        "about",
        "around",
        "approximately",
        "roughly",
        "over",
        "under",
        "nearly",
        "almost",
        "least",
        "most",
        "than",
        "between",
        "circa",
    ]
)
"""Hedges only directly before a value: "about $20"."""
SUBJECTS = frozenset(
    [
        "i",
        "you",
        "he",
        "she",
        "it",
        "we",
        "they",
        "the",
        "your",
        "my",
        "our",
        "its",
        "this",
        "that",
        "these",
        "those",
        "there",
        "a",
        "an",
        "his",
        "her",
        "their",
        "which",
        "who",
        "but",
        "however",
        "so",
        "because",
        "since",
        "although",
        "though",
        "while",
        "not",
        "no",
        "never",
        "however",
        "yet",
        "then",
        "please",
        "therefore",
        "hence",
        "thus",
        "only",
        "just",
    ]
)
"""Words that open a new clause after a comma or "and"; so do their contractions ("it's")."""
BREAKS = frozenset(["but", "however", "because", "although", "though", "whereas", "instead", "rather", "while"])
"""Words that open a new clause wherever they stand."""
FINITE = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "will",
        "remains",
        "stays",
        "stands",
        "applies",
        "costs",
        "departs",
        "leaves",
        "flies",
        "goes",
        "runs",
        "went",
    ]
)
"""Verbs that no negation before a comma or "and" governs: "it could not be waived and remains"."""
BASE_NEGATIONS = frozenset(["cannot", "can't", "couldn't", "didn't", "don't", "doesn't", "won't", "wouldn't", "unable"])
SUPPORTING = frozenset(["can", "could", "did", "do", "does", "will", "would"])
"""With "not" after them, as the words above, they negate a verb in its base form: none in the past ("and credited")."""
CORRECTING = frozenset(["but", "only", "just", "it's", "that's"])
"""Words that put another value in the place of a denied one: "not $60.00, only $45.00"."""
UNITS = {
    **dict.fromkeys(("cm", "centimeters", "centimetres"), "cm"),
    **dict.fromkeys(("kg", "kgs", "kilo", "kilos", "kilograms"), "kg"),
    **dict.fromkeys(("cbm", "m3"), "cbm"),
    **dict.fromkeys(("gb", "gigabytes"), "gb"),
    **{word: word + "s" for word in ("hour", "minute", "day", "month")},
    **{word: word for word in ("hours", "minutes", "days", "months")},
}
"""Word after a number -> the unit as it stands in the names of slots."""
ENUMERATING = frozenset(
    [
        "or",
        "and",
        "to",
        "from",
        "either",
        "nor",
        "then",
        "than",
        "even",
        "maybe",
        "also",
        "possibly",
        "a",
        "of",
        "into",
        "now",
        "the",
        "is",
        "it",
        "was",
        "are",
        "before",
        "previously",
        "earlier",
        "changed",
        *CORRECTING,
    ]
)
"""Words that may stand between two values of one list."""
INTERROGATIVES = frozenset(
    [
        "is",
        "are",
        "am",
        "do",
        "does",
        "did",
        "what",
        "what's",
        "who's",
        "where's",
        "when's",
        "how's",
        "which",
        "who",
        "whose",
        "when",
        "where",
        "why",
        "how",
        "can",
        "could",
        "would",
        "will",
        "shall",
        "should",
        "may",
        "has",
        "have",
        "had",
        "was",
        "were",
    ]
)
PROGRESSIVE = frozenset(["i'm", "we're", "am"])
"""Words before the -ing form of what somebody is doing just now."""
NO_DEED = frozenset(
    [
        *(
            "including",
            "following",
            "regarding",
            "during",
            "concerning",
            "pending",
            "according",
            "starting",
            "beginning",
        ),
        *("counting", "departing", "leaving", "arriving", "coming", "ending", "outstanding", "nothing", "something"),
        *("anything", "everything", "billing", "calling", "roaming", "handling", "barring", "morning", "evening"),
        *("booking", "rebooking", "shipping", "heading", "seeing", "speaking", "thinking"),
        *("checking", "remaining", "running", "being", "having", "going", "looking", "reading", "reviewing"),
    ]
)
"""Words in -ing that open no announcement."""
HAPPENED = frozenset(
    ["i", "we", "i've", "we've", "have", "has", "was", "were", "been", "is", "are", "just", "now", "already"]
)
"""Words before the past form of a verb that say that it happened."""
CALLER_DOES = frozenset(
    [
        *("tell", "told", "give", "given", "confirm", "confirmed", "verify", "verified", "agree", "agreed", "provide"),
        *("provided", "say", "said", "share", "shared", "send", "sent", "name", "named", "know", "have"),
    ]
)
"""What a caller can do in the conversation: a refusal until then is none."""
OTHERS = frozenset(["other", "another", "different"])
"""Words before a cue that make it one of another record."""
WH = frozenset(["what", "which", "who", "whose", "when", "where", "how"])
