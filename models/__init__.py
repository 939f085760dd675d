"""The clients: one LightningModule per system, and their parts."""
