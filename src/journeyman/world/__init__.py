"""The kit that worlds are made of: schema and images, tools, articles, families, sessions."""

from journeyman.world.database import Database
from journeyman.world.family import HELDOUT_SEED, Family, task_id
from journeyman.world.knowledge import Article, Library
from journeyman.world.lexicon import DenialForm, Lexicon, ProposalForm, Slot, SlotType
from journeyman.world.protocol import Session
from journeyman.world.rules import leaks, schema_rules
from journeyman.world.schema import Table
from journeyman.world.session import Snapshot, ToolContext, WorldSession, open_session
from journeyman.world.tools import Tool, ToolSpec, tool
from journeyman.world.world import World

__all__ = [
    "HELDOUT_SEED",
    "Article",
    "Database",
    "DenialForm",
    "Family",
    "Lexicon",
    "Library",
    "ProposalForm",
    "Session",
    "Slot",
    "SlotType",
    "Snapshot",
    "Table",
    "Tool",
    "ToolContext",
    "ToolSpec",
    "World",
    "WorldSession",
    "leaks",
    "open_session",
    "schema_rules",
    "task_id",
    "tool",
]
