"""What a person reads in a customer's answer to a proposal: `yes`, `no`, or (no answer to rely on) None.

When first read: 81 of 124 rows.
"""

from __future__ import annotations

from typing import Literal

YES = [
    "Yes.", "Yes please", "Sure, go ahead.", "Go ahead", "OK", "Okay, do it.", "Sounds good.", "Absolutely!", "Please do.",
    "That works for me.", "Yep, charge it.", "Fine by me.", "I agree.", "Yes, $60 is fine.", "Yes, move it to FL-8002.",
    "Why not, go ahead.", "No objections.", "Sure thing.", "By all means.", "Yes, that's correct, please proceed.",
    "I don't have a problem with that, go ahead.", "Yes, please go ahead and charge the card ending in 5806.",
    "Alright then, proceed.", "Yeah do it", "y", "👍", "Yes! And please hurry, I can't wait any longer.",
    "Yes, but please hurry.", "Yes, I don't mind paying the fee.", "Of course, no need to ask.",
    "Sure, I never had a problem with that.", "Yes, go ahead, and thanks for not charging more.", "Confirmed.",
    "I confirm.", "Approved.", "Let's do that.", "Do that please.", "Yes, if that's what it takes.",
    "I don't have any objection, please proceed.", "We agree to the fee.", "We have no objections.",
    "No issue with that.", "Yes, we'd like you to rebook it.", "I want you to go ahead.", "Yes, please. When will it be done?",
    "The fee is fine.", "Thanks, yes.", "I've never had a problem with the fee, so go ahead.", "Yes to both.",
    "Yes, charge my bank account.", "Definitely, thanks.", "We do not mind.", "Sure. Go ahead, thanks.",
]  # fmt: skip
NO = [
    "No.", "No thanks.", "Don't do that.", "I don't agree.", "No, that's too expensive.", "Please don't charge my card.",
    "Absolutely not.", "I'd rather not.", "Not that one.", "Never.", "I don't want that.", "That is not ok.",
    "Hold off please.", "I refuse.", "Nope, leave it.", "No, I want FL-8003 instead.", "I did not agree to that.",
    "Cancel that.", "Please do not go ahead.", "Yes, I heard you, but no.", "Sure you can't be serious. No.",
    "I understand, but no.", "OK, I see, but no thanks.", "Right, I know the rules, but no.", "👎", "No, thank you.",
    "We don't agree to the fee.", "Please leave everything as it is.", "I have a problem with that, so don't do it.",
]  # fmt: skip
NEITHER = [
    "How much is it?", "Maybe.", "Let me think about it.", "What would the fee be?", "Yes, if it is free.", "Hmm.",
    "I need to ask my boss first.", "Yes, I understand, but what does it cost?", "Is that the one ending in 5806?",
    "Right, my PIN is 1234.", "Sure, my PIN is 1234.", "Yes, my name is Farid.", "Ok, so what happens next?",
    "Correct, that is my number.", "Yes, I received the email.", "Yes, I am Farid Abbott, PIN 6264.",
    "Okay, I see. What about my request?", "Fine, whatever.", "OK, thanks for telling me. Which flight was it again?",
    "Right. What does that mean?", "Sure, it's 9313.", "Okay, thanks for the information.", "Thanks for checking.",
    "Yes, I heard you.", "OK. Which card is that?", "Sure, here is my PIN: 9313.", "Yes, I'm the account holder.",
    "All right, I'm listening.", "Thank you.", "Thanks a lot for your help.", "Of course, my name is Nils.",
    "Yes, I have the number here.", "Right, the waybill is 927-82827301.", "OK, I will think about it.",
    "Good, thank you for explaining.", "Exactly, that's my address.", "Okay, there was one more thing.",
    "Fine. How much is the fee?", "Yes, we shipped it on Monday.", "I might.", "Sure, I can wait.", "OK, I got the message.",
]  # fmt: skip

ANSWERS: list[tuple[str, Literal["yes", "no"] | None]] = [
    *((text, "yes") for text in YES),
    *((text, "no") for text in NO),
    *((text, None) for text in NEITHER),
]
