"""Fixed data of Northline Telecom: plans, add-ons, promotions, cities, and the words names are made of."""

from __future__ import annotations

AS_OF = "2026-03-02"
"""The day the base image shows. Tasks play on it or shortly after."""

# id, name, kind, cents a month, GB, hotspot, status
PLANS: list[tuple[str, str, str, int, int, str, str]] = [
    ("lite", "Lite", "personal", 20_00, 3, "no", "current"),
    ("senior", "Senior", "personal", 24_00, 6, "no", "current"),
    ("core", "Core", "personal", 32_00, 10, "no", "current"),
    ("flex", "Flex", "personal", 38_00, 15, "yes", "current"),
    ("plus", "Plus", "personal", 45_00, 25, "yes", "current"),
    ("max", "Max", "personal", 60_00, 100, "yes", "current"),
    ("saver", "Saver", "personal", 18_00, 2, "no", "retired"),
    ("plus-24", "Plus 2024", "personal", 42_00, 20, "yes", "retired"),
    ("biz-core", "Business Core", "business", 36_00, 15, "yes", "current"),
    ("biz-plus", "Business Plus", "business", 52_00, 50, "yes", "current"),
    ("biz-max", "Business Max", "business", 75_00, 200, "yes", "current"),
    ("biz-lite", "Business Lite", "business", 28_00, 5, "no", "retired"),
]

# id, name, cents a month, status
ADDONS: list[tuple[str, str, int, str]] = [
    ("roam-pass", "Roaming Pass", 10_00, "current"),
    ("intl-calls", "International Calls", 8_00, "current"),
    ("device-care", "Device Care", 9_00, "current"),
    ("extra-data", "Extra Data 10 GB", 12_00, "current"),
    ("spam-shield", "Spam Shield", 3_00, "current"),
    ("music-pack", "Music Pack", 5_00, "retired"),
]

# id, name, audience, cents off a month, months, last day to join
PROMOTIONS: list[tuple[str, str, str, int, int, str]] = [
    ("SPRING26", "Spring 2026", "personal", 5_00, 6, "2026-04-30"),
    ("FAMILY4", "Four lines", "personal", 12_00, 12, "2026-12-31"),
    ("BIZSTART", "Business start", "business", 10_00, 6, "2026-06-30"),
    ("LOYAL5", "Five years with us", "any", 4_00, 12, "2026-12-31"),
    ("WINTER25", "Winter 2025", "personal", 8_00, 3, "2026-01-31"),
]

# city, postcode stem, streets
CITIES: list[tuple[str, str, tuple[str, ...]]] = [
    ("Alderport", "41", ("Harbour Road", "Quay Street", "Lantern Lane")),
    ("Brindleford", "42", ("Mill Lane", "Bridge Street", "Orchard Way")),
    ("Castlemere", "43", ("Tower Street", "Abbey Road", "Moat Lane")),
    ("Dunmere", "44", ("Heather Close", "Station Road", "Peat Lane")),
    ("Eastvale", "45", ("Valley Road", "Sunrise Avenue", "Chapel Street")),
    ("Fernhill", "46", ("Fern Avenue", "Hilltop Road", "Badger Lane")),
    ("Graymouth", "47", ("Dock Street", "Signal Road", "Herring Row")),
    ("Holloway Cross", "48", ("Market Street", "Cross Lane", "Tanner Row")),
]


def _words(text: str) -> list[str]:
    return text.split()


FIRST_NAMES = _words(
    "Ada Alan Amir Anya Ben Bianca Carla Cedric Chloe Dana Dario Edith Elias Emma Farid Fiona Gavin Grace Hana Henry "
    "Ines Ivan Jonas Joyce Kara Kofi Lena Liam Mara Marcus Mina Nadia Niall Olga Omar Petra Priya Quentin Rosa Rufus "
    "Salma Simon Tara Theo Uma Victor Wanda Willem Yara Zoe"
)
LAST_NAMES = _words(
    "Abbott Adeyemi Barlow Beck Calloway Castro Dalton Drummond Ellison Farrow Fenwick Gallo Greaves Haddad Holt "
    "Ibarra Jensen Keane Kowalski Lindqvist Lowry Marlow Mensah Nakata Norris Okafor Osborne Pascoe Petrov Quill Rahman "
    "Redfern Salter Sato Thackeray Tully Underhill Vance Vogel Whitlock Wren Yates Zeller"
)
BUSINESS_STEMS = _words(
    "Ashdown Birchwood Copperline Deepwater Elmgate Foxglove Granary Hawthorn Ironbridge Juniper Kestrel Larkfield "
    "Mossbank Northgate Oakhurst Pinecrest Quarryside Ravenscar Silverbirch Thornbury"
)
BUSINESS_TRADES = ("Bakery", "Dental", "Freight", "Joinery", "Optics", "Print", "Repairs", "Veterinary")
DEVICES = ("Nova 7", "Nova 8", "Nova 8 Mini", "Atlas X2", "Atlas X3", "Pebble 5", "Pebble 6")
CARD_BRANDS = ("Visa", "Mastercard", "Amex")
BANKS = ("Harbour Bank", "First Vale Bank", "Meridian Bank")
CARRIERS = ("Bluewave", "Telora", "Mobi-One")
