"""Fixed data of Meridian Air Cargo: stations, aircraft, legs, commodities, dangerous goods, rates, and words for names."""

from __future__ import annotations

AS_OF = "2026-05-11"
"""The day the base image shows, a Monday. Tasks play on its morning, in UTC."""
PREFIX = "927"
"""The airline's number, in front of each air waybill."""
HUBS = ("HVP", "QRT", "NHW", "LNM", "CDN")
"""Stations at which a shipment may change flights."""

STATION_COLUMNS = (
    "station", "city", "country", "utc_offset", "cutoff_general", "cutoff_express", "cutoff_perishable", "cutoff_pharma",
    "cutoff_live_animals", "dg_acceptance", "live_animals", "cold_room", "controlled_room", "freezer", "max_piece_grams",
    "max_height_cm", "transit_minutes", "free_days", "storage_cents_per_kg", "storage_minimum_cents", "weekend_closed",
    "amend_until", "advance_filing",
)  # fmt: skip
STATIONS: list[tuple[str | int, ...]] = [
    ("HVP", "Havenport", "Norland", 0, 180, 90, 120, 150, 180, "full", "yes", "yes", "yes", "yes", 20_000_000, 300, 120, 3, 20, 25_00, "no", "departure", "no"),
    ("BKW", "Brackwater", "Norland", 0, 240, 120, 180, 240, 240, "limited", "no", "yes", "yes", "no", 3_000_000, 160, 150, 2, 22, 25_00, "yes", "acceptance", "no"),
    ("LNM", "Lundmark", "Svaria", 60, 180, 90, 120, 150, 180, "full", "yes", "yes", "yes", "no", 10_000_000, 270, 120, 2, 24, 30_00, "no", "departure", "no"),
    ("OSG", "Ostergrad", "Svaria", 60, 240, 150, 180, 240, 300, "none", "no", "no", "yes", "no", 2_500_000, 200, 180, 3, 15, 20_00, "yes", "acceptance", "no"),
    ("CDN", "Calderon", "Iberra", 60, 180, 120, 150, 180, 240, "full", "yes", "yes", "no", "no", 6_800_000, 300, 150, 2, 21, 25_00, "no", "departure", "no"),
    ("TRS", "Tarsis", "Levanta", 180, 240, 150, 180, 180, 240, "limited", "yes", "yes", "yes", "no", 6_800_000, 300, 180, 2, 18, 20_00, "no", "departure", "yes"),
    ("QRT", "Qirat", "Levanta", 240, 180, 90, 120, 120, 180, "full", "yes", "yes", "yes", "yes", 20_000_000, 300, 90, 3, 26, 40_00, "no", "departure", "no"),
    ("SMD", "Samundra", "Indara", 330, 300, 180, 240, 240, 300, "limited", "yes", "yes", "yes", "no", 5_000_000, 244, 240, 1, 30, 35_00, "no", "acceptance", "yes"),
    ("KHL", "Kholan", "Zhonghai", 480, 240, 120, 180, 180, 240, "full", "yes", "yes", "yes", "yes", 20_000_000, 300, 120, 2, 28, 40_00, "no", "departure", "yes"),
    ("PJR", "Penjara", "Malura", 480, 240, 120, 180, 180, 240, "limited", "no", "yes", "no", "no", 3_000_000, 160, 180, 3, 16, 20_00, "yes", "departure", "no"),
    ("NHW", "Newhallow", "Atlantica", -300, 240, 120, 180, 180, 240, "full", "yes", "yes", "yes", "yes", 20_000_000, 300, 150, 2, 32, 45_00, "no", "departure", "yes"),
    ("SVX", "Sierra Vista", "Atlantica", -420, 300, 180, 240, 240, 300, "limited", "no", "yes", "yes", "no", 6_800_000, 300, 180, 2, 25, 35_00, "yes", "acceptance", "yes"),
    ("RLT", "Rio Lento", "Austrela", -180, 240, 150, 180, 240, 240, "limited", "yes", "yes", "no", "no", 6_800_000, 300, 180, 3, 17, 20_00, "no", "departure", "no"),
    ("ZMB", "Zambira", "Kafue", 120, 300, 180, 240, 300, 300, "none", "yes", "no", "no", "no", 3_000_000, 160, 240, 3, 12, 15_00, "yes", "acceptance", "no"),
]  # fmt: skip

# aircraft, kind, heaviest piece in grams, tallest and longest in cm, live animals, pharma
AIRCRAFT: list[tuple[str, str, int, int, int, str, str]] = [
    ("B74F", "freighter", 20_000_000, 300, 1200, "yes", "yes"),
    ("B77F", "freighter", 6_800_000, 300, 600, "yes", "yes"),
    ("A31F", "freighter", 2_500_000, 200, 310, "no", "yes"),
    ("A33P", "passenger", 3_000_000, 160, 315, "yes", "yes"),
    ("A32P", "passenger", 80_000, 110, 150, "no", "no"),
    ("TRK", "truck", 10_000_000, 270, 1300, "no", "no"),
]
CAPACITY = {
    "B74F": (110_000, 620),
    "B77F": (100_000, 560),
    "A31F": (38_000, 200),
    "A33P": (16_000, 95),
    "A32P": (2_400, 14),
    "TRK": (20_000, 80),
}
"""Tonnage in kg and room in cbm that a flight of the type sells."""

# One station, the other, (aircraft, hour of departure by the clock of the first, minutes on the way, every how many days).
LEGS: list[tuple[str, str, tuple[tuple[str, int, int, int], ...]]] = [
    ("HVP", "LNM", (("A32P", 7, 95, 2), ("TRK", 18, 720, 2))),
    ("HVP", "CDN", (("A33P", 9, 150, 2),)),
    ("HVP", "TRS", (("A33P", 11, 300, 2),)),
    ("HVP", "QRT", (("B77F", 22, 405, 2), ("A33P", 13, 400, 2))),
    ("HVP", "NHW", (("B77F", 15, 480, 2), ("A33P", 10, 475, 2))),
    ("HVP", "KHL", (("B74F", 20, 660, 2),)),
    ("HVP", "ZMB", (("A33P", 21, 590, 3),)),
    ("HVP", "BKW", (("TRK", 6, 240, 2),)),
    ("LNM", "OSG", (("A31F", 12, 80, 3),)),
    ("QRT", "SMD", (("A33P", 16, 190, 2),)),
    ("QRT", "KHL", (("B77F", 14, 430, 2),)),
    ("QRT", "PJR", (("A33P", 17, 445, 3),)),
    ("NHW", "SVX", (("A31F", 19, 290, 2),)),
    ("NHW", "RLT", (("B77F", 23, 560, 3),)),
    ("CDN", "RLT", (("A33P", 20, 640, 3),)),
]
SUSPENDED = {("CDN", "TRS"), ("TRS", "CDN")}
"""Routes that are on the books and closed."""

# commodity, name, product, sensitive
COMMODITIES: list[tuple[str, str, str, str]] = [
    ("garments", "Garments", "general", "no"),
    ("machinery", "Machine parts", "general", "no"),
    ("auto_parts", "Vehicle parts", "general", "no"),
    ("electronics", "Consumer electronics", "general", "no"),
    ("books", "Books and print", "general", "no"),
    ("furniture", "Furniture", "general", "no"),
    ("chemicals", "Chemicals", "general", "yes"),
    ("paints", "Paints and varnish", "general", "yes"),
    ("batteries", "Batteries", "general", "yes"),
    ("art", "Works of art", "general", "yes"),
    ("ecommerce", "E-commerce parcels", "express", "no"),
    ("spare_parts", "Aircraft spares", "express", "no"),
    ("documents", "Documents", "express", "no"),
    ("flowers", "Cut flowers", "perishable", "no"),
    ("seafood", "Fresh seafood", "perishable", "no"),
    ("fruit", "Fresh fruit", "perishable", "no"),
    ("vaccines", "Vaccines", "pharma", "yes"),
    ("blood_products", "Blood products", "pharma", "yes"),
    ("lab_samples", "Laboratory samples", "pharma", "yes"),
    ("tablets", "Finished medicines", "pharma", "no"),
    ("dogs", "Dogs", "live_animals", "yes"),
    ("horses", "Horses", "live_animals", "yes"),
    ("day_old_chicks", "Day-old chicks", "live_animals", "yes"),
]

# UN number, packing group, name, class, unit, passenger and cargo limit per package in grams or millilitres (None: forbidden)
DANGEROUS_GOODS: list[tuple[str, str, str, str, str, int | None, int | None]] = [
    ("UN0323", "none", "Cartridges, power device", "1.4S", "kg", 25_000, 100_000),
    ("UN1006", "none", "Argon, compressed", "2.2", "kg", 75_000, 150_000),
    ("UN1072", "none", "Oxygen, compressed", "2.2", "kg", 75_000, 150_000),
    ("UN1090", "II", "Acetone", "3", "L", 5_000, 60_000),
    ("UN1133", "II", "Adhesives", "3", "L", 5_000, 60_000),
    ("UN1170", "II", "Ethanol solution", "3", "L", 5_000, 60_000),
    ("UN1170", "III", "Ethanol solution", "3", "L", 60_000, 220_000),
    ("UN1203", "II", "Gasoline", "3", "L", 5_000, 60_000),
    ("UN1263", "II", "Paint", "3", "L", 5_000, 60_000),
    ("UN1263", "III", "Paint", "3", "L", 60_000, 220_000),
    ("UN1760", "II", "Corrosive liquid, n.o.s.", "8", "L", 1_000, 30_000),
    ("UN1830", "II", "Sulphuric acid", "8", "L", 1_000, 30_000),
    ("UN1845", "none", "Dry ice", "9", "kg", 200_000, 200_000),
    ("UN1950", "none", "Aerosols, flammable", "2.1", "kg", 75_000, 150_000),
    ("UN1993", "II", "Flammable liquid, n.o.s.", "3", "L", 5_000, 60_000),
    ("UN1993", "III", "Flammable liquid, n.o.s.", "3", "L", 60_000, 220_000),
    ("UN2031", "I", "Nitric acid", "8", "L", None, 2_500),
    ("UN2794", "none", "Batteries, wet, filled with acid", "8", "kg", 30_000, 400_000),
    ("UN2814", "none", "Infectious substance", "6.2", "kg", 50, 4_000),
    ("UN2910", "none", "Radioactive material, excepted package", "7", "kg", 10_000, 10_000),
    ("UN3077", "none", "Environmentally hazardous substance, solid", "9", "kg", 400_000, 400_000),
    ("UN3090", "none", "Lithium metal batteries", "9", "kg", None, 35_000),
    ("UN3091", "none", "Lithium metal batteries packed with equipment", "9", "kg", 5_000, 35_000),
    ("UN3480", "none", "Lithium ion batteries", "9", "kg", None, 35_000),
    ("UN3481", "none", "Lithium ion batteries packed with equipment", "9", "kg", 5_000, 35_000),
]
# surcharge, from, to, basis, cents
SURCHARGES: list[tuple[str, str, str | None, str, int]] = [
    ("fuel", "2025-10-01", "2026-03-31", "chargeable_kg", 48),
    ("fuel", "2026-04-01", None, "chargeable_kg", 55),
    ("security", "2024-01-01", None, "gross_kg", 15),
    ("waybill_fee", "2024-01-01", None, "waybill", 18_00),
    ("dg_fee", "2024-01-01", "2025-12-31", "waybill", 80_00),
    ("dg_fee", "2026-01-01", None, "waybill", 95_00),
]
LIABILITY_RATES = [
    ("2024-01-01", "2025-12-31", 131),
    ("2026-01-01", "2026-06-30", 134),
    ("2026-07-01", "2026-12-31", 137),
]
PRODUCTS = ("general", "express", "perishable", "pharma", "live_animals")
PRODUCT_PRICE = {"general": 100, "express": 165, "perishable": 125, "pharma": 190, "live_animals": 210}
"""Percent of a leg's general price."""

# station, direction, commodity, announced, starts, ends, exempt, cause, status
EMBARGOES: list[tuple[str, str, str | None, str, str, str | None, str, str, str]] = [
    ("SMD", "import", None, "2026-05-04", "2026-05-09", "2026-05-17", "medical", "capacity", "active"),
    ("SVX", "export", "fruit", "2026-04-20", "2026-05-01", "2026-05-31", "none", "regulation", "active"),
    ("ZMB", "import", "electronics", "2026-02-10", "2026-03-01", None, "contract", "regulation", "active"),
    ("BKW", "any", "chemicals", "2026-05-06", "2026-05-12", "2026-05-20", "none", "security", "active"),
    ("TRS", "import", "flowers", "2026-04-28", "2026-05-10", "2026-05-24", "contract", "capacity", "active"),
    ("NHW", "transit", "batteries", "2026-03-15", "2026-04-01", None, "none", "security", "active"),
    ("KHL", "export", "garments", "2026-05-08", "2026-05-14", "2026-05-16", "contract", "capacity", "active"),
    ("OSG", "any", None, "2026-04-01", "2026-04-03", "2026-04-19", "medical", "weather", "active"),
    ("KHL", "import", "seafood", "2026-03-20", "2026-04-01", "2026-06-30", "none", "regulation", "lifted"),
    ("RLT", "import", "horses", "2026-04-10", "2026-05-15", "2026-06-15", "none", "regulation", "active"),
    ("HVP", "export", None, "2026-04-22", "2026-04-24", "2026-04-26", "medical", "strike", "lifted"),
    ("PJR", "import", "machinery", "2026-05-07", "2026-05-18", "2026-05-30", "contract", "capacity", "active"),
]  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _words(
    "Aline Anders Aruna Bela Bo Carmen Cato Dara Devi Elif Emil Faye Gita Goran Hugo Ilse Imran Jana Jorge Katia Kiran "
    "Leif Lucia Malik Mirja Nils Noor Otto Paola Pavel Quincy Ravi Renata Sanne Stellan Tamsin Tove Umberto Vera Wim Yusuf Zita"
)
LAST_NAMES = _words(
    "Aldane Bergqvist Castellan Dorrit Eklund Farouk Galvan Hartog Iyer Janssens Kettle Lorca Moravec Nkosi Ostrander "
    "Pellerin Quayle Rostova Santoro Tindall Ulvang Varga Westrup Xavier Yilmaz Zuber"
)
FORWARDER_STEMS = _words(
    "Alder Bluegate Cordillera Dunefield Eastmark Fairway Greycliff Halyard Ironwood Keystone Longshore Mistral Norfolk "
    "Oakline Portside Quayside Redstone Seabridge Trident Upland Vantage Westwind"
)
FORWARDER_TRADES = ("Forwarding", "Logistics", "Cargo Services", "Freight")
SHIPPER_STEMS = _words(
    "Arbour Bexley Calyx Delmar Embry Foundry Glasswell Hollis Indigo Jasper Kilburn Lumen Marlow Nimbus Orchard Pollen "
    "Quarry Rowan Sable Tallis Umber Verity Wickham Yarrow"
)
SHIPPER_TRADES = ("Biotech", "Flowers", "Seafoods", "Textiles", "Instruments", "Motors", "Press", "Paints")
CONSIGNEE_STEMS = _words(
    "Amber Beacon Cobalt Dorian Ember Falcon Granite Harbor Ivory Juno Kite Laurel Meadow Nectar Onyx Pearl Quartz Ridge "
    "Summit Topaz Union Vista Willow Zenith"
)
CONSIGNEE_TRADES = ("Imports", "Trading", "Clinics", "Markets", "Works", "Retail", "Supply", "Labs")
