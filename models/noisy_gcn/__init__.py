"""The client of federated node classification on noisy graphs, and its parts."""
