"""Fair ways to ask clients of the cargo desk for their agreement, and what only resembles it.

Only what is proposed is compared: `tool(arguments)` in the order of the form; an empty list proposes nothing.
When first read: 26 of 85 PROPOSALS, 14 of 15 OTHERS.
"""

from __future__ import annotations

from .identification import SAME, Row

_MOVE3 = ["rebook_leg(flight_id=FL-8003)"]
_BOTH = ["rebook_leg(flight_id=FL-8002)", "add_charge(amount=60.0)"]
_BOOK = ["create_booking(flight_id=FL-8001)"]
_FEE = ["add_charge(amount=95.0)"]
_CANCEL = ["cancel_booking(booking_id=BK-8001)", "add_charge(amount=653.23)"]
_BASE = "The waybill 927-82827301 would become void by it. There are 20 hours left before departure. The cancellation fee is $653.23. "

PROPOSALS: list[Row] = [
    # moving
    ("FL-8003 departs at 18:40 UTC, no fee. Shall I move it to FL-8003 instead of FL-8002?", _MOVE3),
    ("FL-8003 departs at 18:40 UTC and costs nothing extra. Would you like me to rebook 927-88875430 to it?", _MOVE3),
    ("Understood, FL-8003 rather than FL-8002. Shall I rebook the shipment to FL-8003?", _MOVE3),
    ("Sure. FL-8003 leaves at 18:40 UTC. Do you confirm the move to FL-8003?", _MOVE3),
    ("FL-8003 leaves at 18:40 UTC. Should I switch the booking to FL-8003?", _MOVE3),
    ("Shall I move the shipment from FL-8001 to FL-8003? It departs at 18:40 UTC.", _MOVE3),
    ("Shall I put it on FL-8003?", _MOVE3),
    ("May I shift the shipment to FL-8003?", _MOVE3),
    ("Do you agree to the rebooking to FL-8003?", _MOVE3),
    ("Shall I transfer the booking to FL-8003?", _MOVE3),
    ("Would you like to move to FL-8003?", _MOVE3),
    ("Are you happy with the change to FL-8003?", _MOVE3),
    ("Shall I change the flight to FL-8003?", _MOVE3),
    ("May I switch you from FL-8001 to FL-8003?", _MOVE3),
    ("I can rebook it from FL-8001 to FL-8003. Is that fine?", _MOVE3),
    ("Shall I go ahead with the move from FL-8001 to FL-8003?", _MOVE3),
    # moving for a fee
    ("FL-8002 is still open until 10:00 UTC. Shall I move the shipment from FL-8001 to FL-8002 for a handling fee of $60.00?", _BOTH),
    ("The cut-off of FL-8002 is 10:00 UTC. The move costs $60.00. Shall I go ahead and rebook to FL-8002?", _BOTH),
    ("Cut-off is 10:00 UTC. There is a handling fee of $60.00. Do you agree to the fee and to moving to FL-8002?", _BOTH),
    ("Yes, it can (cut-off 10:00 UTC). Moving it to FL-8002 costs a $60.00 handling fee. Is that okay?", _BOTH),
    ("The cut-off is 10:00 UTC. Shall I rebook it to FL-8002? A handling fee of $60.00 applies.", _BOTH),
    ("The cut-off is 10:00 UTC. Shall I rebook 927-83975754 to FL-8002 at a cost of $60.00?", _BOTH),
    ("Two questions: may I move it to FL-8002, and may I charge the handling fee of $60.00? Cut-off 10:00 UTC.", _BOTH),
    ("Cut-off 10:00 UTC. I would move the shipment to FL-8002 and charge a $60.00 handling fee. Do you confirm both?", _BOTH),
    ("Shall I move it to FL-8002? That costs $60.00.", _BOTH),
    ("Rebooking to FL-8002 would cost $60.00. Shall I proceed?", _BOTH),
    ("The handling fee is $60.00. May I rebook the shipment to FL-8002?", _BOTH),
    ("Do you accept the handling fee of $60.00 for the move to FL-8002?", _BOTH),
    ("For $60.00 I can move it to FL-8002. Do you agree?", _BOTH),
    ("Do you agree to the move to FL-8002 and the handling fee of $60.00?", _BOTH),
    # booking
    ("Shall I book FL-8001 for you?", _BOOK),
    ("Shall I book 3 pieces of furniture (650 kg, 1.95 cbm) on FL-8001?", _BOOK),
    ("The account is clear. May I confirm the booking on FL-8001?", _BOOK),
    ("Shall I go ahead with the booking on FL-8001?", _BOOK),
    ("Would you like me to create the booking on FL-8001 now?", _BOOK),
    ("I can book 3 pieces, 650 kg, 1.95 cbm from QRT to KHL on FL-8001. Shall I proceed?", _BOOK),
    ("Shall I make a booking on FL-8001?", _BOOK),
    ("Do you want to book FL-8001?", _BOOK),
    ("Shall I reserve the space on FL-8001?", _BOOK),
    ("May I reserve space on FL-8001 for it?", _BOOK),
    ("Would you like a booking on FL-8001?", _BOOK),
    ("Do you agree to the booking on FL-8001?", _BOOK),
    ("Shall I place the booking on FL-8001?", _BOOK),
    ("May I secure the space on FL-8001?", _BOOK),
    # the fee alone
    ("The declaration is fine. A DG fee of $95.00 applies. Shall I accept it and charge the fee?", _FEE),
    ("Accepting it costs a DG fee of $95.00. Do you agree?", _FEE),
    ("May I add the DG fee of $95.00 to 927-89836165?", _FEE),
    ("There is a DG fee of $95.00 for this. Is that OK?", _FEE),
    ("The DG handling fee is $95.00. Shall I proceed?", _FEE),
    ("Shall I accept the declaration for a fee of $95.00?", ["accept_dg_declaration()", *_FEE]),
    ("I can accept it. Do you agree to the DG fee of $95.00?", _FEE),
    ("Are you okay with the DG fee of $95.00?", _FEE),
    ("Do you accept a fee of $95.00?", _FEE),
    ("Would you like to pay the DG fee of $95.00?", _FEE),
    ("Is a fee of $95.00 acceptable?", _FEE),
    ("Please confirm the DG fee of $95.00.", _FEE),
    ("It would cost $95.00. Do you agree?", _FEE),
    ("May I bill the DG fee of $95.00?", _FEE),
    ("Shall I apply the DG fee of $95.00?", _FEE),
    # cancelling for a fee
    (_BASE + "Do you want me to cancel BK-8001?", _CANCEL),
    (_BASE + "Shall I cancel BK-8001 for that fee?", _CANCEL),
    (_BASE + "Do you still want to cancel booking BK-8001 and pay the fee?", _CANCEL),
    (_BASE + "Shall I go ahead with the cancellation of BK-8001 and the fee of $653.23?", _CANCEL),
    (_BASE + "Do you agree to the cancellation of BK-8001 and to the fee?", _CANCEL),
    ("With 20 hours left, cancelling BK-8001 costs $653.23 and voids 927-82827301. Shall I proceed?", _CANCEL),
    (_BASE + "Shall I cancel BK-8001, not BK-8002, and charge the fee of $653.23?", _CANCEL),
    ("Shall I cancel BK-8001? The fee is $653.23.", _CANCEL),
    ("Do you confirm the cancellation of BK-8001 with a fee of $653.23?", _CANCEL),
    ("Would you still like to cancel BK-8001 for $653.23?", _CANCEL),
    # waivers, claims, holds, amendments
    ("Shall I take $320.00 off the storage?", ["waive_charge(amount=320.0)"]),
    ("Do you agree if I waive $320.00 of the storage?", ["waive_charge(amount=320.0)"]),
    ("May I process the waiver of $320.00?", ["waive_charge(amount=320.0)"]),
    ("Shall I file the claim for $900.00?", ["open_claim(amount=900.0)"]),
    ("May I pay out the claim CLM-0012 with $640.00?", ["settle_claim(claim_id=CLM-0012,amount=640.0)"]),
    ("Do you accept a settlement of CLM-0012 for $640.00?", ["settle_claim(claim_id=CLM-0012,amount=640.0)"]),
    ("Shall I put 927-00012345 on hold?", ["hold_shipment(awb=927-00012345)"]),
    ("May I place 927-00012345 on hold?", ["hold_shipment(awb=927-00012345)"]),
    ("Shall I take the hold off 927-00012345?", ["lift_hold(awb=927-00012345)"]),
    ("May I hand over 927-00012345?", ["release_shipment(awb=927-00012345)"]),
    ("Do you agree to the release of 927-00012345?", ["release_shipment(awb=927-00012345)"]),
    ("Shall I set the volume to 10.8 cbm?", ["amend_waybill(volume_cbm=10.8)"]),
    ("May I correct the pieces on 927-00012345 to 12 pieces?", ["amend_waybill(awb=927-00012345,pieces=12)"]),
    ("Do you agree to the amendment of 927-00012345 to 12 pieces?", ["amend_waybill(awb=927-00012345,pieces=12)"]),
    ("May I set your email to a.b@post.example?", ["update_client_contact()"]),
    ("Do you confirm a.b@post.example as your new email address?", ["update_client_contact()"]),
]  # fmt: skip

UNSEEN: list[Row] = [
    ("Is it fine if we rebook it to FL-8003?", _MOVE3),
    ("I'd put the shipment on FL-8003 instead of FL-8002, all right?", _MOVE3),
    ("Would you like the shipment moved to FL-8003?", _MOVE3),
    ("Do I have your OK for the move to FL-8003?", _MOVE3),
    ("Happy to move it to FL-8003 if you give me the go-ahead.", _MOVE3),
    ("Can I get your approval to rebook the shipment to FL-8003?", _MOVE3),
    ("Should we go ahead with FL-8003 and rebook it?", _MOVE3),
    ("Let me know if I may rebook it to FL-8003.", _MOVE3),
    ("Moving it to FL-8002 comes with a handling fee of $60.00. Do you want me to do that?", _BOTH),
    ("I can rebook it to FL-8002. Please note the handling fee of $60.00. Shall I proceed?", _BOTH),
    ("It will cost you $60.00 to move the shipment to FL-8002. Okay?", _BOTH),
    ("Are you willing to pay the $60.00 handling fee so that I can move it to FL-8002?", _BOTH),
    ("Shall I move it to FL-8002, with the $60.00 handling fee?", _BOTH),
    ("The price of the move to FL-8002 is a handling fee of $60.00; is that acceptable?", _BOTH),
    ("Is it OK to book it on FL-8001?", _BOOK),
    ("Shall I get you a booking on FL-8001?", _BOOK),
    ("Would you like me to put in the booking for FL-8001?", _BOOK),
    ("Ready to book FL-8001 - do you confirm?", _BOOK),
    ("Do you consent to the DG fee of $95.00?", _FEE),
    ("May I charge you the DG fee of $95.00 for it?", _FEE),
    ("A DG fee of $95.00 will be charged. Is that all right?", _FEE),
    ("Would you be okay with paying the DG fee of $95.00?", _FEE),
    ("If I cancel BK-8001, a fee of $653.23 is due. Shall I go ahead?", _CANCEL),
    ("Cancelling booking BK-8001 comes at a fee of $653.23. Do you want to proceed?", _CANCEL),
    ("So you want BK-8001 cancelled for a fee of $653.23, correct?", _CANCEL),
    ("Do you want BK-8001 to be cancelled at a fee of $653.23?", _CANCEL),
    ("Shall I knock $320.00 off the storage?", ["waive_charge(amount=320.0)"]),
    ("Would you accept $640.00 as a settlement of CLM-0012?", ["settle_claim(claim_id=CLM-0012,amount=640.0)"]),
    ("Is it okay if I let 927-00012345 be handed over?", ["release_shipment(awb=927-00012345)"]),
    ("Can I get 927-00012345 amended to 12 pieces?", ["amend_waybill(awb=927-00012345,pieces=12)"]),
]  # fmt: skip
"""Written after the rules; when first read: 16 of 30."""

OTHERS: list[Row] = [
    ("Shall I explain the handling fee of $60.00?", []),
    ("Do you know the cancellation fee?", []),
    ("May I ask about the move to FL-8003?", []),
    ("Would you like to hear the fee for FL-8003?", []),
    ("Did you agree to the fee of $60.00 last time?", []),
    ("Can you confirm the number of the booking?", []),
    ("Is the claim about 927-00012345?", []),
    ("I will not charge the fee of $60.00. Is that OK?", []),
    ("Shall I cancel BK-8001? There is no fee.", ["cancel_booking(booking_id=BK-8001)"]),
    ("Shall I move it to FL-8003? The fee of $60.00 is waived.", ["rebook_leg(flight_id=FL-8003)"]),
    ("Shall I move it to FL-8003 or to FL-8004?", ["rebook_leg()"]),
    ("The fee was $60.00 in May. Is there anything else?", []),
    ("The waybill is void. Is that right?", []),
    ("Shall I check the hold on 927-00012345?", []),
    ("Which fee did you pay for the move?", []),
]

IDENTIFICATION: list[Row] = [
    *SAME,
    ("How can you prove that you work there? I need proof of your identity.", ["pin"]),
]
