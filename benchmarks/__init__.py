"""Speed and scale, with the peer beside in the same run."""
