"""Graph-level clustering with separated invariant and variant knowledge (FGCN-DKS)."""
