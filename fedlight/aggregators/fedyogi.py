"""FedYogi: Yogi at the server (Reddi et al., Adaptive Federated Optimization, ICLR 2021, algorithm 2)."""

from torch import Tensor

from fedlight.aggregators.fedadam import FedAdam


class FedYogi(FedAdam):
    """FedAdam with ``v = v - (1 - b2) D^2 sign(v - D^2)``, which forgets large steps slowly."""

    def second_moment(self, v: Tensor, squared: Tensor) -> Tensor:
        """The next v."""
        moment: Tensor = v - (1 - self.beta2) * squared * (v - squared).sign()
        return moment
