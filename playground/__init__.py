"""A person's view of Parley without accounts: loopback emulators, a scripted model, and a page with three chats.

Imports nothing of the product: the emulators are a second, independent reading of what the services do.
"""
