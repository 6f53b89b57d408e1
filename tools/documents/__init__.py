"""Read documents that people send (PDF, Office, EPUB, HTML, CSV, text) as Markdown, in a process that can be killed."""
