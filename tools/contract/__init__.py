"""What a tool and its caller agree on, and how values from outside are read; knows nothing else of ours."""
