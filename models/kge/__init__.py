"""Knowledge-graph embedding: scorers, loss, negatives and the client."""
