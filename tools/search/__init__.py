"""What search_web is made of: the source without a key, and how an answer is written for a model."""
