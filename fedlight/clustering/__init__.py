"""Clustering of embeddings: two-stage K-means, mixtures, the number of clusters, and plain references."""
