"""Your own pages and programs as a platform."""
