"""The shape of a decoder transformer: its products, its parameters and its FLOPs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One matrix multiplication of the forward pass, in bf16. Each of the two products of its
    backward pass has the same three sides, so the same FLOPs and bytes."""

    rows: float
    columns: float
    depth: float

    @property
    def flops(self) -> float:
        return 2 * self.rows * self.columns * self.depth

    @property
    def bytes(self) -> float:
        sides = (
            self.rows * self.columns,
            self.rows * self.depth,
            self.columns * self.depth,
        )
        return 2.0 * sum(sides)


@dataclass(frozen=True)
class Model:
    """A decoder transformer. `gated`: its feed-forward part has three matrices, not two."""

    name: str
    layers: int
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    vocabulary: int
    gated: bool
    tied: bool  # whether the embedding's table is the output layer's matrix too

    @property
    def head_size(self) -> float:
        return self.hidden / self.heads

    @property
    def kv_hidden(self) -> float:
        return self.kv_heads * self.head_size

    @property
    def layer_parameters(self) -> float:
        attention = self.hidden * (2 * self.hidden + 2 * self.kv_hidden)
        return attention + (3 if self.gated else 2) * self.hidden * self.feed_forward

    @property
    def multiplied_parameters(self) -> float:
        """All that a token is multiplied with: the layers' matrices and the output layer's."""
        return self.layers * self.layer_parameters + self.hidden * self.vocabulary

    @property
    def parameters(self) -> float:
        table = 0 if self.tied else self.hidden * self.vocabulary
        return self.multiplied_parameters + table

    def flops_per_token(self, sequence: int) -> float:
        """What MFU counts: 6 per parameter that multiplies, and attention without a mask, forward
        and backward. What is computed again does not count."""
        return 6 * self.multiplied_parameters + 12.0 * self.layers * self.hidden * sequence

    def layer_products(self, tokens: float, tensor: int) -> list[Product]:
        """The products of one layer on one of `tensor` GPUs."""
        up = Product(tokens, self.feed_forward / tensor, self.hidden)
        return [
            Product(tokens, (self.hidden + 2 * self.kv_hidden) / tensor, self.hidden),
            Product(tokens, self.hidden, self.hidden / tensor),
            *([up, up] if self.gated else [up]),
            Product(tokens, self.hidden, self.feed_forward / tensor),
        ]

    def output_product(self, tokens: float, tensor: int) -> Product:
        return Product(tokens, self.vocabulary / tensor, self.hidden)

    def attention_flops(self, tokens: float, sequence: int, tensor: int) -> float:
        """Forward, of one layer on one GPU: half of the scores are masked."""
        return 2.0 * tokens * sequence * self.hidden / tensor
