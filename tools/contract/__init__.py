"""The agreement between a tool and its caller, and the reading of values from outside; knows nothing else of ours."""
