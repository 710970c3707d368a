import torch


class Cube(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        ctx.k = 3
        return x**3

    @staticmethod
    def backward(ctx, grad_out):
        x = ctx.x
        g = grad_out * ctx.k * x**2
        ctx.k += 1
        return g


def cube_grad(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
