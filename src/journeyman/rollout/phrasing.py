"""How the scripted user puts things: several ways for each persona and occasion, none of them with a value in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from journeyman.codec import seed_of

Occasion = str
"""`answer`, `again`, `withhold`, `unknown`, `consent`, `refuse`, `which`, `unsure`, `nudge`, `settled`, `patience`."""

_PLAIN: dict[Occasion, Sequence[str]] = {
    "answer": ("{said}", "Sure. {said}", "Of course. {said}"),
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
        "Can you tell me the {missing} first? I want to know exactly what I agree to.",
        "What exactly would the {missing} be?",
    ),
    "unsure": (
        "Sorry, which detail do you need?",
        "I'm not sure what you are asking. Which detail do you need?",
        "Could you say more exactly what you need from me?",
    ),
    "nudge": (
        "All right. What about my request?",
        "Okay. Can you take care of it?",
        "I see. Please go on with what I asked for.",
    ),
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
    "answer": ("{said}", "Here: {said}", "Fine. {said}"),
    "again": ("Already told you. {said}", "Again. {said}", "Please note it this time. {said}"),
    "withhold": ("No, I won't give you that.", "Not sharing that.", "You won't get that from me."),
    "unknown": ("No idea.", "Don't have it.", "I don't know."),
    "consent": ("Yes. Do the {what}.", "Agreed to the {what}. Go.", "Yes to the {what}."),
    "refuse": ("No {what}.{agreed}", "No. Not that {what}.{agreed}", "I said nothing of that {what}. No.{agreed}"),
    "which": ("{what}? Which {missing}?", "Tell me the {missing} first.", "Not without the {missing}. Which is it?"),
    "unsure": ("Which detail do you need?", "What do you need exactly?", "Be precise: what do you want to know?"),
    "nudge": ("And?", "Get on with it, please.", "So, what about my request?"),
    "settled": ("Thanks. Bye.", "Good. That's all.", "Done, thanks."),
    "patience": ("Enough. Bye.", "I don't have time for this. Bye.", "Forget it."),
}
_CHATTY: dict[Occasion, Sequence[str]] = {
    "answer": (
        "Oh sure, happy to help with that. {said}",
        "Let me see, I have it right here. {said}",
        "Of course, no trouble at all. {said}",
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
        "I like to know what I agree to. What is the {missing}?",
    ),
    "unsure": (
        "Sorry, I lost you there. Which detail do you need?",
        "I'm not quite following. What would you like to know?",
        "Forgive me, which detail do you need from me?",
    ),
    "nudge": (
        "I see, I see. And how does it look with my request?",
        "That's nice. I'm still hoping you can sort out what I called about.",
        "All right, I'm listening. What happens now?",
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
