"""Speed and scale, with a peer beside ours in the same run."""
