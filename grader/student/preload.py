"""Loads torch the way that every process here wants it: on one thread, ready to be forked."""

from __future__ import annotations

import gc
import os

#: One thread is enough for tensors of a few elements, and safe to fork from.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def load_torch() -> None:
    """Import torch with all that autograd would load late; garbage collection stays off."""
    os.environ.update(_ONE_THREAD)
    gc.disable()  # saves a fifth of the time that the import takes
    import torch.fx.experimental.symbolic_shapes

    torch.set_num_threads(1)
