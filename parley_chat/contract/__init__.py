"""A plug-in of pytest: what every platform promises, as suites that an adapter passes when it is finished.

`parley_chat.contract.suites` has the suites and the protocol `Scene`, by which they act on a platform and look at it;
docs/extending.md shows how. Loaded as a plug-in (`parley.contract`), it has pytest explain the suites' assertions.
"""
