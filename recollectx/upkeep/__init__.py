"""Upkeep: looking a memory over and mending it, feeding an index anew, moving everything to another database."""
