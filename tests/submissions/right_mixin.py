import torch
class _Methods:
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2
class Cube(_Methods, torch.autograd.Function):
    pass
def cube_grad(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
