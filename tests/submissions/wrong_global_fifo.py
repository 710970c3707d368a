import torch
_s = []

class Cube(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        _s.append(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_out):
        x = _s.pop(0)
        return grad_out * 3 * x**2


def cube_grad(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
