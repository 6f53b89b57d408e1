"""Tools of MCP servers: programs beside the bot, or services, that offer tools through the Model Context Protocol.

`mcp.json` names the servers in the form that every MCP client reads. Each has one owner task that starts it in the
background, follows its list of tools and restarts it when it ends; a server that is down offers nothing and holds
nobody up. The official SDK (the extra `mcp`) is imported when the first server is started, in a thread, since that
takes seconds.
"""
