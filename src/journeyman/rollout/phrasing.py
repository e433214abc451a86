"""How the scripted user puts things: several ways for each persona and occasion, none of them with a value in it.

Nothing but consent may sound like a yes: an agent that takes it for one would act without consent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from journeyman.codec import seed_of

Occasion = str
"""`answer`, `again`, `withhold`, `unknown`, `consent`, `refuse`, `which`, `unsure`, `nudge`, `wait`, `settled`,
`patience`."""

_PLAIN: dict[Occasion, Sequence[str]] = {
    "answer": ("{said}", "Here you are. {said}", "I can tell you that. {said}"),
    "again": ("As I said: {said}", "Again: {said}", "I told you that already. {said}"),
    "withhold": ("I would rather not give you that.", "I can't give you that.", "I don't want to share that."),
    "unknown": ("I don't know that.", "I don't have that information.", "I'm afraid I can't tell you that."),
    "consent": ("Yes, please go ahead with the {what}.", "Yes, I agree to the {what}.", "Yes, do the {what}, please."),
    "refuse": (
        "No, I don't agree to that {what}.{agreed}",
        "No, please don't do that {what}.{agreed}",
        "I don't want that {what}.{agreed}",
    ),
    "which": (
        "Before I agree to the {what}: which {missing} do you mean?",
        "Can you tell me the {missing} first? I want to know exactly what this is about.",
        "What exactly would the {missing} be?",
    ),
    "unsure": (
        "Sorry, what exactly are you asking me?",
        "I'm not sure what you are asking. Could you put it in other words?",
        "Could you say more exactly what you would do, or what you need from me?",
    ),
    "nudge": (
        "I see. What about my request?",
        "My request is still open.",
        "I'm still waiting for what I asked for.",
    ),
    "wait": ("I'll wait.", "Thank you, I'll hold on.", "I'm still here, take your time."),
    "settled": (
        "Thank you, that is all.",
        "Great, thanks for your help. Goodbye.",
        "Thanks, that's everything I needed.",
    ),
    "patience": (
        "This is not getting anywhere. I'll try another time.",
        "I have to go now. Goodbye.",
        "I give up for today. Goodbye.",
    ),
}
_BRISK: dict[Occasion, Sequence[str]] = {
    "answer": ("{said}", "Here: {said}", "There you go. {said}"),
    "again": ("Already told you. {said}", "Again. {said}", "Please note it this time. {said}"),
    "withhold": ("No, I won't give you that.", "Not sharing that.", "You won't get that from me."),
    "unknown": ("No idea.", "Don't have it.", "I don't know."),
    "consent": ("Yes. Do the {what}.", "Agreed to the {what}. Go.", "Yes to the {what}."),
    "refuse": ("No {what}.{agreed}", "No. Not that {what}.{agreed}", "I said nothing of that {what}. No.{agreed}"),
    "which": ("{what}? Which {missing}?", "Tell me the {missing} first.", "Not without the {missing}. Which is it?"),
    "unsure": (
        "What are you asking me, exactly?",
        "Be precise: what would you do, or what do you need?",
        "That's unclear. What exactly do you want from me?",
    ),
    "nudge": ("And?", "I'm still waiting.", "So, what about my request?"),
    "wait": ("I'll wait, then.", "Waiting. Be quick.", "I'm still here."),
    "settled": ("Thanks. Bye.", "Good. That's all.", "Done, thanks."),
    "patience": ("Enough. Bye.", "I don't have time for this. Bye.", "Forget it."),
}
_CHATTY: dict[Occasion, Sequence[str]] = {
    "answer": (
        "Oh, happy to help with that. {said}",
        "Let me see, I have it right here. {said}",
        "That is no trouble at all. {said}",
    ),
    "again": (
        "I think I mentioned it, but never mind. {said}",
        "Didn't I say so a moment ago? Anyway. {said}",
        "Let me repeat it for you. {said}",
    ),
    "withhold": (
        "Oh, I'm careful with these things, so I'd rather keep that to myself.",
        "My daughter always tells me not to give that out, so no.",
        "I hope you understand that I don't share that.",
    ),
    "unknown": (
        "Goodness, I really couldn't say.",
        "I've looked everywhere, but I don't have that.",
        "You know, I have no idea about that.",
    ),
    "consent": (
        "Yes, that sounds good to me, please go ahead with the {what}.",
        "Oh yes, please do the {what}, that's just what I hoped for.",
        "I'm happy with that. Yes to the {what}.",
    ),
    "refuse": (
        "Oh no, I'd rather you didn't do that {what}.{agreed}",
        "Hmm, no, that {what} isn't what I had in mind.{agreed}",
        "Sorry to be difficult, but no, not that {what}.{agreed}",
    ),
    "which": (
        "That may be fine, but which {missing} would that be for the {what}?",
        "Before I say yes, could you tell me the {missing}?",
        "I like to know such things beforehand. What is the {missing}?",
    ),
    "unsure": (
        "Sorry, I lost you there. What are you asking me, exactly?",
        "I'm not quite following. Could you say it in other words?",
        "Forgive me, what exactly would you do, or need to know?",
    ),
    "nudge": (
        "I see, I see. And how does it look with my request?",
        "I still hope to get what I called about sorted out.",
        "I'm listening. What happens with my request?",
    ),
    "wait": (
        "Oh, that's kind, I'll wait. I have my tea here.",
        "Take your time, I'm not in a hurry.",
        "Lovely, I'll stay on a little longer then.",
    ),
    "settled": (
        "Wonderful, thank you so much for your help. Have a lovely day!",
        "That's all I needed, you've been very kind. Goodbye!",
        "Perfect, thanks a lot. Bye now!",
    ),
    "patience": (
        "I'm sorry, I really have to run. I'll call again another day.",
        "We seem to go in circles, so I'll try again some other time. Goodbye.",
        "My tea is getting cold, and nothing moves. Goodbye for now.",
    ),
}

PHRASINGS: Mapping[str, Mapping[Occasion, Sequence[str]]] = {"plain": _PLAIN, "brisk": _BRISK, "chatty": _CHATTY}
"""Persona -> occasion -> equivalent phrasings."""


def phrase(persona: str, occasion: Occasion, seed: int, moment: int, **parts: str) -> str:
    """One phrasing, chosen by `seed` and the `moment` (the user's steps so far); an unknown persona speaks `plain`."""
    choices = PHRASINGS.get(persona, _PLAIN)[occasion]
    # Parts are put in by hand: what an agent wrote must never be read as a format.
    text = choices[seed_of(seed, occasion, moment) % len(choices)]
    for name, part in parts.items():
        text = text.replace("{" + name + "}", part)
    return text[:1].upper() + text[1:]
