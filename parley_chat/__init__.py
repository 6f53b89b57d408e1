"""The one name that the wheel brings: `parley_chat.bot`, `parley_chat.tools` and so on; `setup.py` writes them.

In a clone the packages lie beside this one and have their short names.
"""
