"""How people ask for things: expressions over the words of a sentence, and words with a part in what is asked for.

Data to read and extend, as in `language.py`; `asking.py` decides with it. An expression sees the words of a sentence in
lower case, separated by single spaces, without punctuation.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SOFT = (
    r"(?:(?:please|kindly|just|also|now|then|quickly|first|still|only|again|maybe|and|so|possibly|simply|really|perhaps"
    r"|therefore|once|more|next|briefly|either|additionally|further|always|at least|to start|for a start) )*+"
)
_TO_ME = r"(?: (?:me|us|out|in|over|back|off|again|with|to me|here|once more|once again|please|also|just|down|quickly)(?![^ ]))*+"
_TELLS = (
    r"(?:tell|give|provide|supply|share|confirm|verify|identify|authenticate|state|specify|enter|spell|indicate|repeat|submit|disclose|clarify"
    r"|choose|pick|select|type in|type|key in|read out|read me|read back|read off|send me|send us|send over|text me"
    r"|remind me of|remind me|let me know|let us know|let me have|let us have|pass me|pass on|help me with|say|double check"
    r"|quote|name|get me|have|recall|reply with|respond with|answer with|come back with|start with|begin with"
    r"|try again with|try once more with|write down|write|fill in|put in|insert|type out|spell out)" + _TO_ME
)
# As bare imperatives, words with an everyday use besides are left out ("check your phone", "have a nice day").
_ORDERS = (
    r"(?:tell me|give me|give us|provide|supply|share|confirm|verify|identify|authenticate|state|specify|enter|spell|indicate|repeat|submit"
    r"|type in|key in|read out|send me|send us|let me know|let us know|let me have|choose|pick|select|tell us|remind me of)"
    + _TO_ME
)
_TELLING = (
    r"(?:telling|giving|sharing|confirming|providing|repeating|spelling|sending|entering|stating|verifying|specifying"
    r"|reading|passing|letting me have|letting me know|reminding me of)" + _TO_ME
)
_KNOW = r"(?:know|have|ask(?: you)?(?: for)?|ask about|hear|get|see|learn|collect|obtain|verify|confirm|take down|note down|be told)"
_HEADS: list[tuple[str, str]] = [
    # "could you please tell me …", "I'd ask you to give me …", "I need you to confirm …"
    (
        "you",
        rf"(?:can|could|would|will|might|may|must|should) you {_SOFT}(?:be (?:so )?(?:kind|able) (?:as |enough )?to )?{_TELLS}",
    ),
    (
        "you kind kindness possible could",
        rf"(?:you|kind|kindness|possible|(?:great|helpful|good|nice) if you could) to {_TELLS}",
    ),
    ("you you'll", rf"you(?:'ll|'d)? {_SOFT}(?:will |would )?(?:have|need|got) to {_SOFT}{_TELLS}"),
    (
        "required obliged supposed asked told meant allowed",
        rf"(?:i'm|i am|we're|we are) {_SOFT}(?:required|obliged|supposed|asked|told|meant|allowed) to {_SOFT}(?:{_KNOW}|request|check)",
    ),
    ("you", rf"(?:if|that) you (?:could|would|can) {_SOFT}{_TELLS}"),
    ("mind by try", rf"(?:mind|by|try|start by|begin by) {_SOFT}{_TELLING}"),
    ("please kindly", rf"(?:please|kindly) {_SOFT}{_TELLS}"),
    ("you", rf"(?:have|ask|get|let|want|need|like|love) you {_SOFT}(?:to )?{_SOFT}{_TELLS}"),
    # "may I have …", "can I ask you for …"
    (
        "can could may might shall possible",
        rf"(?:can|could|may|might|shall|would it be possible for) (?:i|we) {_SOFT}(?:have|get|ask(?: you)?(?: again)?(?: for)?"
        r"|know|hear|take(?: down)?|trouble you for|bother you for|note down|note|request|confirm|verify|double check"
        r"|write down|collect)(?! you\b)",
    ),
    # "I need …", "we still require …", "I have to know …", "I'd like to know …", "I'm missing …"
    (
        "need require",
        r"(?:i|we)(?:'ll|'d)? (?:(?:will|would|do|must|still|just|also|only|first|then|now|really|therefore|may|might|shall) )*"
        rf"(?:need|require)(?:(?: from)? you| from you)?(?: to {_KNOW})?",
    ),
    (
        "going",
        rf"(?:i'm|i am|we're|we are) {_SOFT}going to {_SOFT}(?:need|require|ask(?: you)?(?: for)?)(?: to {_KNOW})?",
    ),
    (
        "to",
        rf"(?:i|we)(?:'ll|'d|'m|'ve)? (?:(?:will|would|still|just|also|first|then|now|got|am|going|have) )*to {_KNOW}",
    ),
    ("have need must ought", rf"(?:i|we) (?:have|need|must|ought) (?:to )?{_KNOW}"),
    (
        "like love glad grateful",
        rf"(?:i|we)(?:'d| would| should) (?:(?:just|also|still) )*(?:like|love|be glad|be grateful)(?: (?:to {_KNOW}|for|you to))",
    ),
    ("like love", r"(?:i|we)(?:'d| would| should) (?:(?:just|also|still) )*(?:like|love)"),
    (
        "missing lacking looking waiting asking after short",
        r"(?:i'm|i am|we're|we are) (?:(?:still|also|just|now|only) )*(?:missing|lacking|looking for|waiting for|asking for|after|short of)",
    ),
    # "do you have …", "do you happen to know …"
    (
        "know remember recall have",
        r"(?:do|did|would|don't|can) you (?:(?:also|still|even|happen to|by any chance|please) )*(?:know|remember|recall|have)"
        r"(?: (?:to hand|at hand|handy))?",
    ),
    ("got chance", r"(?:have you got|got|any chance (?:i could have|of|you have|you could tell me|you could give me))"),
    # "all I need is …", "the next thing is …", "let's start with …"
    (
        "is are be",
        r"(?:need|missing|left|lacking|required|question|thing|detail|step|piece|lack)"
        r"(?: (?:now|next|still|from you|first|for this|today|of all|to know|to do so|here))* (?:is|are|would be|will be)",
    ),
    (
        "with let's to how what now next followed as along",
        r"(?:(?:start|begin|continue|starting|beginning|go on) with|let's (?:have|get|take)|moving on to|how about|what about"
        r"|now for|next up|followed by|as well as|along with)",
    ),
]
HEADS = [(_words(needs), re.compile(rf"(?<![^ ]){head}(?![^ ])")) for needs, head in _HEADS]
"""What asks, each with words one of which a sentence must hold for it to be worth looking."""
AGAIN = re.compile(
    r"(?<![^ ])(?:you|please|and)(?: (?:please|just|perhaps|then|also))* (?:have|know|send|repeat|give|give me|tell me|enter|type|spell|say"
    r"|read|read out|confirm|verify|check|provide|share|send me|try|remember|find) (?=(?:it|them|that)(?![^ ]))"
)
_RETRIED = r"(?:(?:double |re )?(?:check|verify|enter|read|type|send)|recheck|reenter|try|repeat|say|give|provide|spell|look at)"
RETRY = re.compile(
    rf"(?:^|(?<= ))(?:please|kindly|could you|can you|would you|will you|you could|may i ask you to)(?: (?:please|kindly|just|perhaps|maybe|quickly))*"
    rf" {_RETRIED}(?: (?:it|them|that|this|me|to me|out|over))*"
    rf"(?: (?:and|then) {_RETRIED}(?: (?:it|them|that|this|me))*)?(?P<again>(?: (?:again|once more|once again|another time|for me|please|now))*)$"
)
"""A request to tell once more what was named just before: "please double-check it and try again"."""
ORDER = re.compile(rf"{_SOFT}{_ORDERS}(?![^ ])")
WONDERING = re.compile(
    r"(?:wondering|wonder|not sure|unsure|unclear|curious|can't tell|don't know|do not know|cannot tell|can't see|cannot see|not clear)"
    r"(?: (?:about|to me|yet|of))* (?=(?:what|which|whose|how many)\b)"
)
_COPULA = r"(?:is|are|was|were|would|will|should|might|could)(?: (?:be|again|now))*"
WH_IS = re.compile(
    rf"(?<![^ ])(?:(?:what|which|who|which one|which ones) {_COPULA}|what's|who's|which's|what're)(?: (?:then|exactly|again|please))*(?![^ ])"
)
WH_NOUN = re.compile(
    r"(?<![^ ])(?:what|which|whose|how many|who(?= (?:the|your)))(?: (?:exactly|exact|one of|ones of|of|other))*(?![^ ])"
)
WHEN = re.compile(
    r"(?<![^ ])(?:when|what day|what date|which day|which date|since when|until when)"
    r" (?:is|was|were|are|does|did|do|should|would|will|can|could|shall|has|have)(?![^ ])"
)
NEEDED = re.compile(
    r"(?:is|are|will be|would be|'s)(?: (?:also|still|now|all that is|all i))* (?:required|needed|necessary|missing|mandatory|need)(?![^ ])"
)

STOPS = _words(
    "so because since if unless before after until while when once whether why how where than though although "
    "but can't cannot please could would"
)
"""Words that end what is asked for."""
PREPOSITIONS = _words(
    "of on for in with from at to under by about over during linked associated registered connected attached "
    "used ending you we i that which who is are was were be shown printed listed belonging as it i'm you're "
    "we're you'd i'd do does did shall should will may can has have had am where near per into through across "
    "among"
)
"""Words that end the thing named: what follows describes it."""
LISTING = _words("and or plus also & then nor")
"""Words between the items of a list."""
DETERMINERS = _words(
    "a an the your this that these those my our its their his her any some another which what whose both "
    "either all youre ur yer one of ones other exactly exact many"
)
"""Words that open the name of a thing."""
CLAUSE_STARTS = _words("the your you i we it this there they my our all")
"""Words after "that" which show that a clause follows, no thing."""
BETWEEN = _words("now then please also just again from you is are first still next only me once more today here")
"""Words passed over between those that ask and the thing."""
PRONOUNS = _words("it that them those this")
"""Words that stand for a thing named before."""
QUESTION_WORDS = _words("how who what which where whom when why who's")
"""Words that open a question."""
AGREEABLE = _words("fine ok okay alright acceptable")
"""Words that make a yes-or-no question one about agreement."""
PLAIN_WORDS = _words(
    "full current new old last four six digit digits security exact correct other same preferred registered "
    "complete legal right valid first second third final total desired latest actual personal secret me us "
    "again out down with in over back off once more please also just here now future next only maybe either "
    "the best possible direct"
)
"""Words that may stand in the name of a thing, or between the words that ask and the thing."""
GENERIC = _words(
    "number numbers digits id identifier code name names kind type model sort amount value reference one ones "
    "date day month time"
)
"""Words that name a thing only together with what follows: "the number of the invoice"."""
FILLERS = _words(
    "and your the please also again ok okay so now full first then thanks thank you as well a an one more "
    "time once just sorry sir madam great perfect alright right finally next lastly to start with for begin "
    "good fine mr mrs ms my me both too of is was are confirm verify check repeat hello hi morning afternoon "
    "verification identification security purposes last current exact"
)
"""All that may stand beside things in a question that is nothing but things: "And your PIN, please?"."""
YES_NO = _words("is are was isn't aren't wasn't so")
"""Words that open a question to be answered with yes or no."""
