"""Dates, times, zones and repeats as people write them, in English and Chinese."""
