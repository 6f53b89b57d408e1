"""Agents of frameworks as Parley's: `from parley_chat.agents.pydantic_ai import PydanticAgent`; see docs/agents.md."""
