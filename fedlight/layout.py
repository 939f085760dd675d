"""Where the clients' rows lie in the server's tables."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from fedlight.client import ClientSpec


class TableLayout:
    """Where each client's rows of one table lie in the server's table; agreed once, at alignment.

    Attributes:
        ids: ``[n]`` the federation's numbers of the rows that anybody sends, ascending.
        upload, download: per client, positions in ``ids``.
    """

    def __init__(self, name: str, clients: Sequence[ClientSpec], device: torch.device) -> None:
        rows = {spec.client_id: spec.rows[name] for spec in clients if name in spec.rows}
        sent = [index.ids[index.upload] for index in rows.values()]
        ids = torch.unique(torch.cat(sent))
        self.ids = ids.to(device)
        self.upload = {c: torch.searchsorted(ids, i.ids[i.upload]).to(device) for c, i in rows.items()}
        self.download = {c: torch.searchsorted(ids, i.ids[i.download]).to(device) for c, i in rows.items()}
