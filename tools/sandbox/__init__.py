"""Run a model's code confined and limited, in one live interpreter per chat, or not at all.

limits.py     how much a cell may use
cell.py       what a cell came to, and the contract every backend keeps
layout.py     the few files of this machine that a sandbox sees
launch.py     the command line of bubblewrap
syscalls.py   the system calls a sandbox may not make
processes.py  what a sandbox's processes use, read from procfs
launcher.py   starts a program in a sandbox
session.py    one live sandbox: start, run a cell, watch it, freeze it, end it
places.py     an interpreter per chat, the least used ended first
bwrap.py      the backend of confined sessions
worker.py     the program inside; runs alone, imports nothing of ours
notebook.py   the worker's side of a Jupyter kernel: an option of the worker, runs alone too
kernel.py     the Jupyter kernel inside; runs alone too
selftest.py   proves the confinement before the first cell
monty.py      the backend for machines without namespaces
e2b.py        the remote backend
choice.py     which backend this machine gets, and why
"""
